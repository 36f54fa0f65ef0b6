"""A cohort out of submissions, where there is no reference."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from isocenter.ensembles._error import EnsembleError
from isocenter.ensembles._open import AsksForMasks, Path, slots
from isocenter.submissions import FileSpec, Listing, list_files, match
from isocenter.volumes import File, Grid, VolumeError, read_header


@dataclass(frozen=True, slots=True)
class Gathered:
    """Cases without a truth: those of which at least one submission has a mask."""

    name: str
    grids: Mapping[str, Grid]
    weight: float = 1.0
    files: Mapping[str, File] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GatheredCohort:
    """All cases that any submission has, in the order of their names."""

    cases: tuple[Gathered, ...]


def gather_cases(challenge: AsksForMasks, submissions: Mapping[str, Path]) -> GatheredCohort:
    """The cases of submissions that have no reference; each on the grid of the first submission that has a usable file.

    First is meant in the order of the mapping.
    """
    slot, reference = slots(challenge)
    spec = challenge.output[slot]
    grids: dict[str, Grid] = {}
    for path in submissions.values():
        listing = list_files(path)
        names = _case_names(listing, spec)
        for case, files in match(listing, {slot: spec}, cases=names).files.items():
            try:
                if case not in grids and slot in files:
                    grids[case] = read_header(files[slot]).grid
            except (VolumeError, OSError):
                continue
    if not grids:
        msg = f"no submission holds a mask that {challenge.name} can read"
        raise EnsembleError(msg)
    return GatheredCohort(tuple(Gathered(case, {reference: grids[case]}) for case in sorted(grids)))


def _case_names(listing: Listing, spec: FileSpec) -> list[str]:
    """The cases that the names of files tell, in a folder or in the one folder of a zip."""
    names = set()
    for suffix in spec.suffixes:
        before, _, after = spec.name("\0", suffix).partition("\0")
        plain = re.compile(rf"{re.escape(before)}([^/]+){re.escape(after)}")
        nested = re.compile(rf"[^/]+/{plain.pattern}")
        found = [plain.fullmatch(entry.name) or nested.fullmatch(entry.name) for entry in listing.entries]
        names |= {one[1] for one in found if one and not one[1].startswith(".")}
    return sorted(names)
