"""`isocenter power`: how many readers and cases a reader study needs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isocenter.cli._arguments import Json
from isocenter.cli._mrmc import open_reads, refuse_reads
from isocenter.cli._tables import give_up, refuse_out
from isocenter.cli._terminal import progress

if TYPE_CHECKING:
    from isocenter.stats import Design, PowerGrid, SimulatedPower, VarianceComponents

_FACTORS = ("N", "D", "ND", "R", "NR", "DR", "RND")
_LARGEST = 1 << 20
# Differences by reader, negative and positive case of a simulated study: half a gigabyte.
_MOST_DRAWN = 1 << 26


def power(
    *,
    components: Annotated[
        Path | None,
        typer.Option(help="Variance components of the difference (.json): N, D, ND, R, NR, DR, RND.", exists=True),
    ] = None,
    pilot: Annotated[
        Path | None,
        typer.Option(
            help="Or the reads of a pilot of two modalities, as `isocenter mrmc` takes them.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    readers: Annotated[str, typer.Option(help="Numbers of readers.")] = "20,40,60",
    cases: Annotated[str, typer.Option(help="Numbers of cases.")] = "200,400",
    ratio: Annotated[str, typer.Option(help="Negative to positive cases; several with commas.")] = "70:30",
    blocks: Annotated[str, typer.Option(help="Numbers of blocks that readers and cases are dealt to.")] = "1",
    effect: Annotated[
        float | None, typer.Option(help="The true difference of AUCs.", show_default="0.05, or 0 with --margin")
    ] = None,
    margin: Annotated[
        float, typer.Option(min=0.0, help="Above 0: power to show non-inferiority by this margin.")
    ] = 0.0,
    alpha: Annotated[float, typer.Option(help="Of the two-sided test.")] = 0.05,
    simulate: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="Also play each design so many times; 0: do not.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of the simulation.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Also write the grid: .csv or .json.", dir_okay=False)] = None,
    as_json: Json = False,
) -> None:
    r"""Say how likely a reader study of some size shows what it is made to show.

    All readers and cases are the same in both modalities. In several blocks,
    readers read the cases of their own block only. With a pilot, degrees of
    freedom are estimated; components without `biased` ones take the normal
    distribution.

    Example: isocenter power --pilot reads.csv --readers 20,40 \
             --cases 200,400 --ratio 70:30,60:40 --blocks 1,4 --effect 0.05
    """
    from isocenter import atomic
    from isocenter.stats import power_grid

    refuse_out(out, [], components, pilot)
    true = effect if effect is not None else 0.0 if margin else 0.05
    if not (math.isfinite(true) and math.isfinite(margin) and 0 < alpha < 1 and true + margin > 0):
        msg = f"effect + margin is above 0 and alpha within 0 and 1; found {true}, {margin} and {alpha}"
        raise typer.BadParameter(msg, param_hint="--effect, --margin, --alpha")
    grid = _designs(readers, cases, ratio, blocks, divisible=simulate > 0)
    of_difference, biased, remarks = _source(components, pilot, as_json=as_json)
    try:
        found = power_grid(of_difference, grid, effect=true, margin=margin, alpha=alpha, biased=biased)
    except ValueError as error:
        give_up(f"{(components or pilot or Path()).name}: {error}", remarks)
    played = _played(found, of_difference, simulate, seed, remarks) if simulate else []
    data = _data(found, of_difference, biased, played, (components or pilot or Path()).name)
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if out is not None:
        atomic.write_text(text if out.suffix == ".json" else _csv(found, played), out)
    if as_json:
        typer.echo(text, nl=False)
    else:
        typer.echo(_text(found, played))
        if out is not None:
            typer.echo(f"Written to {out}")
    for remark in remarks:
        typer.echo(remark, err=True)


def _numbers(text: str, option: str) -> list[int]:
    try:
        found = [int(number) for number in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        msg = f"{text!r} should be whole numbers above 0 with commas between them, for example 20,40"
        raise typer.BadParameter(msg, param_hint=option)
    return found


def _ratios(text: str) -> list[tuple[float, float]]:
    """Shares of negative and positive cases."""
    found = []
    for part in text.split(","):
        try:
            negative, positive = (float(number) for number in part.split(":"))
        except ValueError:
            negative, positive = 0.0, 0.0
        if not (0 < negative < math.inf and 0 < positive < math.inf):
            msg = f"{part!r} should be negative to positive cases, for example 70:30"
            raise typer.BadParameter(msg, param_hint="--ratio")
        found.append((negative / (negative + positive), positive / (negative + positive)))
    return found


def _designs(readers: str, cases: str, ratio: str, blocks: str, *, divisible: bool) -> list[Design]:
    """All combinations; one error for all that are no studies."""
    from isocenter.stats import designs

    of_readers, of_cases = _numbers(readers, "--readers"), _numbers(cases, "--cases")
    of_blocks = _numbers(blocks, "--blocks")
    split = [
        (number - round(number * share), round(number * share)) for _, share in _ratios(ratio) for number in of_cases
    ]
    found: list[Design] = []
    problems: dict[str, None] = {}
    for g in of_blocks:
        for pair in split:
            for r in of_readers:
                try:
                    found += designs(readers=[r], cases=[pair], blocks=[g])
                except ValueError as error:
                    problems[str(error)] = None
    if divisible:
        uneven = [design for design in found if any(number % design.blocks for number in design.per_modality)]
        problems |= dict.fromkeys(f"cannot be simulated, as blocks would differ in size: {one}" for one in uneven)
        large = [one for one in found if math.prod(one.per_modality) / one.blocks**2 > _MOST_DRAWN]
        problems |= dict.fromkeys(f"too large to be simulated: {one}" for one in large)
    if problems:
        raise typer.BadParameter("; ".join(problems), param_hint="--readers, --cases, --blocks")
    return found


def _source(
    components: Path | None, pilot: Path | None, *, as_json: bool
) -> tuple[VarianceComponents, VarianceComponents | None, list[str]]:
    """Components of the difference, the biased ones if there are any, and what is to be remarked."""
    if (components is None) == (pilot is None):
        msg = "give the variance components or a pilot, and not both"
        raise typer.BadParameter(msg, param_hint="--components, --pilot")
    if components is not None:
        return _read_components(components)
    assert pilot is not None
    return _of_pilot(pilot, as_json=as_json)


def _read_components(path: Path) -> tuple[VarianceComponents, VarianceComponents | None, list[str]]:
    """From JSON: an object with the components by name, and perhaps one of the biased ones under `biased`."""
    if path.stat().st_size > _LARGEST:
        give_up(f"{path.name}: {path.stat().st_size} bytes, at most {_LARGEST} are read", ())
    try:
        given = json.loads(path.read_text(encoding="utf-8"), parse_int=float)
    except (ValueError, RecursionError) as error:
        give_up(f"{path.name} is not JSON: {error}", ())
    if not isinstance(given, dict):
        give_up(f"{path.name}: expected an object with some of {', '.join(_FACTORS)}", ())
    biased = given.pop("biased", None)
    problems = _wrong(given, "") + ([] if biased is None else _wrong(biased, "biased "))
    if problems:
        give_up("\n  ".join([f"{path.name} has no variance components:", *problems]), ())
    return _components(given), None if biased is None else _components(biased), []


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


def _of_pilot(path: Path, *, as_json: bool) -> tuple[VarianceComponents, VarianceComponents, list[str]]:
    from isocenter.stats import PairComponents
    from isocenter.stats.mrmc import ReadsError, analyse

    try:
        study = analyse(open_reads(path))
        if len(study.modalities) != 2:
            raise ReadsError([f"a pilot has two modalities, found {', '.join(study.modalities)}"])
    except ReadsError as error:
        refuse_reads(error, path, as_json=as_json)
    (pair,) = study.pairs.values()
    tables = [*(modality.tables["bck"] for modality in study.modalities.values()), pair.tables["bck"]]
    unbiased, biased = (
        PairComponents(*(_components(table[kind]) for table in tables)).difference for kind in ("unbiased", "mle")
    )
    remarks = [f"Pilot: {note}." for note in study.notes]
    panels = [set(modality.readers) for modality in study.modalities.values()]
    if panels[0] != panels[1]:
        remarks.append(
            "Pilot: its modalities have other readers each; the readers of a design are those of each panel."
        )
    return unbiased, biased, remarks


def _played(
    grid: PowerGrid, components: VarianceComponents, replicates: int, seed: int, remarks: list[str]
) -> list[SimulatedPower]:
    """Each design simulated; a variance below 0, which cannot be drawn with, is taken for 0."""
    from dataclasses import asdict, replace

    from isocenter.stats import simulated_power

    below = [name for name, value in asdict(components).items() if value < 0]
    if below:
        remarks.append(f"Simulated with 0 for components below 0: {', '.join(name.upper() for name in below)}.")
    drawn = replace(components, **dict.fromkeys(below, 0.0))
    found = []
    with progress() as start:
        move = start("playing studies")
        for number, row in enumerate(grid.rows):
            move(number, len(grid.rows), str(row.design))
            found.append(
                simulated_power(
                    drawn,
                    row.design,
                    effect=row.effect,
                    margin=row.margin,
                    alpha=row.alpha,
                    replicates=replicates,
                    seed=seed,
                )
            )
        move(len(grid.rows), len(grid.rows), "")
    return found


def _data(
    grid: PowerGrid,
    components: VarianceComponents,
    biased: VarianceComponents | None,
    played: list[SimulatedPower],
    name: str,
) -> dict[str, Any]:
    from dataclasses import asdict

    import numpy as np
    import scipy

    from isocenter import __version__

    return {
        "ok": True,
        "file": name,
        "components": asdict(components),
        "biased": None if biased is None else asdict(biased),
        **grid.to_dict(),
        "simulated": [one.to_dict() for one in played],
        "versions": {"isocenter": __version__, "numpy": np.__version__, "scipy": scipy.__version__},
    }


def _text(grid: PowerGrid, played: list[SimulatedPower]) -> str:
    """The grid; beside the power that of the simulation, with its standard error."""
    lines = str(grid).splitlines()
    if not played:
        return "\n".join(lines)
    cells = ["simulated", *(f"{one.power:.2f} ± {one.monte_carlo_error:.2f}" for one in played)]
    first = len(lines) - len(cells)
    return "\n".join([*lines[:first], *(f"{a}  {b:>11}" for a, b in zip(lines[first:], cells, strict=True))])


def _csv(grid: PowerGrid, played: list[SimulatedPower]) -> str:
    import polars as pl

    rows = []
    for number, row in enumerate(grid.rows):
        of = row.design
        cells = {
            "cases": of.negatives + of.positives,
            "negatives": of.negatives,
            "positives": of.positives,
            "blocks": of.blocks,
            "readers": of.readers,
            "effect": row.effect,
            "margin": row.margin,
            "alpha": row.alpha,
            "standard_error": row.standard_error,
            "df": None if math.isinf(row.df) else row.df,
            "power": row.power,
        }
        if played:
            one = played[number]
            cells |= {"simulated_power": one.power, "monte_carlo_error": one.monte_carlo_error}
        rows.append(cells)
    return pl.DataFrame(rows, infer_schema_length=None).write_csv()
