"""Where `isocenter power` has its variances from: a file of components, or the reads of a pilot."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from isocenter.cli._mrmc import open_reads, refuse_reads
from isocenter.cli._tables import give_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isocenter.stats import Design, PairComponents, VarianceComponents
    from isocenter.stats.mrmc import Analysis

_FACTORS = ("N", "D", "ND", "R", "NR", "DR", "RND")
_LARGEST = 1 << 20
# What modalities may not have in common, by the component of it: words, the field of a design, and its pairing.
_APART = {
    "R": ("readers", "readers", "paired_readers"),
    "N": ("negative cases", "negatives", "paired_negatives"),
    "D": ("positive cases", "positives", "paired_positives"),
}


class Source(NamedTuple):
    """What is known of the variance.

    Attributes
    ----------
    name
        Of the file.
    components, biased
        Of the difference; of both modalities and their covariance where something is apart. None: no biased ones.
    apart
        R, N or D: readers or cases that are others in each modality.
    remarks
        What a reader of the result must know.
    """

    name: str
    components: VarianceComponents | PairComponents
    biased: VarianceComponents | PairComponents | None
    apart: tuple[str, ...]
    remarks: list[str]

    def dealt(self, designs: Sequence[Design]) -> list[Design]:
        """The designs with as many readers and cases in each modality, others where they are so in the pilot."""
        from dataclasses import replace

        changed = [_APART[factor][1:] for factor in self.apart]
        return [
            replace(
                one,
                **{number: 2 * getattr(one, number) for number, _ in changed},
                **{paired: False for _, paired in changed},
            )
            for one in designs
        ]


def open_source(components: Path | None, pilot: Path | None, *, as_json: bool) -> Source:
    """The one of the two that is given; what is wrong with it ends the command."""
    if (components is None) == (pilot is None):
        msg = "give the variance components or a pilot, and not both"
        raise typer.BadParameter(msg, param_hint="--components, --pilot")
    if components is not None:
        return _read_components(components)
    assert pilot is not None
    return _of_pilot(pilot, as_json=as_json)


def _read_components(path: Path) -> Source:
    """From JSON: an object with the components by name, and perhaps one of the biased ones under `biased`."""
    if path.stat().st_size > _LARGEST:
        give_up(f"{path.name}: {path.stat().st_size} bytes, at most {_LARGEST} are read", ())
    repeated: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        names = [name for name, _ in pairs]
        repeated.extend(f"{name!r} is given {names.count(name)} times" for name in set(names) if names.count(name) > 1)
        return dict(pairs)

    try:
        given = json.loads(path.read_text(encoding="utf-8-sig"), parse_int=float, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        give_up(f"{path.name} is not JSON: {error}", ())
    if not isinstance(given, dict):
        give_up(f"{path.name}: expected an object with some of {', '.join(_FACTORS)}", ())
    biased = given.pop("biased", None)
    problems = [*sorted(repeated), *_wrong(given, ""), *([] if biased is None else _wrong(biased, "biased "))]
    if problems:
        give_up("\n  ".join([f"{path.name} has no variance components:", *problems]), ())
    return Source(path.name, _components(given), None if biased is None else _components(biased), (), [])


def _wrong(given: Any, prefix: str) -> list[str]:
    if not isinstance(given, dict) or not given:
        return [f"{prefix}expected an object with some of {', '.join(_FACTORS)}"]
    problems = [f"{prefix}{name!r} is not one of {', '.join(_FACTORS)}" for name in given if name not in _FACTORS]
    problems += [
        f"{prefix}{name}: {value!r} is not a finite number"
        for name, value in given.items()
        if name in _FACTORS and not (isinstance(value, float) and math.isfinite(value))
    ]
    return problems


def _components(named: dict[str, float]) -> VarianceComponents:
    from isocenter.stats import VarianceComponents

    return VarianceComponents(**{name.lower(): float(value) for name, value in named.items()})


def _of_pilot(path: Path, *, as_json: bool) -> Source:
    from isocenter.stats import PairComponents
    from isocenter.stats.mrmc import ReadsError, analyse

    try:
        study = analyse(open_reads(path))
        if len(study.modalities) != 2:
            raise ReadsError([f"a pilot has two modalities, found {', '.join(study.modalities)}"])
    except ReadsError as error:
        refuse_reads(error, path, as_json=as_json)
    except ValueError:
        lone = "one modality has a single reader, who also reads in the other: how readers differ cannot be estimated"
        refuse_reads(ReadsError([lone]), path, as_json=as_json)
    (pair,) = study.pairs.values()
    tables = [*(modality.tables["bck"] for modality in study.modalities.values()), pair.tables["bck"]]
    unbiased, biased = (PairComponents(*(_components(table[kind]) for table in tables)) for kind in ("unbiased", "mle"))
    apart = tuple(factor for factor in _APART if _is_apart(factor, [table["coefficients"] for table in tables]))
    remarks = [f"Pilot: {note}." for note in study.notes] + _about_panels(study, apart)
    if apart:
        return Source(path.name, unbiased, biased, apart, remarks)
    return Source(path.name, unbiased.difference, biased.difference, (), remarks)


def _is_apart(factor: str, coefficients: Sequence[dict[str, float]]) -> bool:
    """Whether both modalities have such a part of their variance, and nothing of it in common."""
    first, second, cross = (table[factor] for table in coefficients)
    return first > 0 and second > 0 and cross == 0


def _about_panels(study: Analysis, apart: Sequence[str]) -> list[str]:
    if apart:
        words = " and ".join(_APART[factor][0] for factor in apart)
        each = "numbers asked for are those of each modality, and stand as 2 × the number"
        return [f"Pilot: its modalities have other {words} each, and so have the designs: {each}."]
    panels = [set(modality.readers) for modality in study.modalities.values()]
    if panels[0] == panels[1]:
        return []
    return ["Pilot: its modalities have other readers each; the readers of a design are those of each panel."]
