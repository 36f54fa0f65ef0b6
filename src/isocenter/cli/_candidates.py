"""What `isocenter convert to-candidates` does: soft maps in, detection maps and the likelihoods of their cases out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from rich.markup import escape

from isocenter import atomic
from isocenter.cli._terminal import Move
from isocenter.metrics import Candidates, case_likelihood, extract_candidates
from isocenter.problems import Problem, SubmissionRefused, code_of_error, printable
from isocenter.submissions import VOLUME_SUFFIXES, Entry, ImageFile, is_junk, list_files, match
from isocenter.volumes import NUMPY_SUFFIXES, File, Grid, Volume, VolumeError, read, read_header, read_numpy, write

_NNUNET = ("softmax", "probabilities")
_NO_GEOMETRY = "a numpy file says nothing of geometry; give --geometry-of, a folder or zip of volumes by case"


@dataclass(frozen=True, slots=True)
class Extraction:
    """How candidates are found, and how likely they and their cases are."""

    rule: Literal["dynamic-v2", "dynamic", "dynamic-fast"] | float
    likelihood: Literal["max", "mean"]
    case_likelihood: Literal["max", "bayesian"]


@dataclass(frozen=True, slots=True)
class Written:
    """What was made: the number of candidates by case; and how many files were not soft maps."""

    candidates: Mapping[str, int]
    ignored: int


def convert(soft: Path, out: Path, how: Extraction, *, geometry_of: Path | None, progress: Move) -> Written:
    """Write a detection map for every soft map, and `likelihoods.json`, into a folder that appears when it is complete.

    Raises
    ------
    SubmissionRefused
        Has all problems of all files; nothing was written.
    """
    # In a folder that nnU-Net has left, the volumes beside its likelihoods are masks.
    itself = geometry_of is not None and geometry_of.resolve() == soft.resolve()
    maps, problems, ignored = _find(soft, NUMPY_SUFFIXES if itself else (*VOLUME_SUFFIXES, *NUMPY_SUFFIXES))
    grids, unplaced = _geometry({case: entry for case, entry in maps.items() if _is_numpy(entry)}, geometry_of)
    problems += unplaced
    ready = {case: entry for case, entry in sorted(maps.items()) if case in grids or not _is_numpy(entry)}
    counts: dict[str, int] = {}
    likelihoods: dict[str, float] = {}
    with atomic.replacing(out) as folder:
        folder.mkdir()
        for done, (case, entry) in enumerate(ready.items()):
            progress(done, len(ready), escape(printable(case)))
            try:
                grid, found = _extract(entry.file, grids.get(case), how)
            except (OSError, ValueError) as error:
                problems.append(Problem("unusable", str(error), case=case, file=entry.name, code=code_of_error(error)))
                continue
            counts[case] = found.blobs.count
            likelihoods[case] = case_likelihood(found, how.case_likelihood)
            if not problems:
                write(Volume(found.detection_map().T, grid), folder / f"{case}.nii.gz")
        progress(len(ready), len(ready), "")
        if problems:
            raise SubmissionRefused(soft.name, problems)
        (folder / "likelihoods.json").write_text(json.dumps(likelihoods, indent=2) + "\n", encoding="utf-8")
    return Written(counts, ignored)


def _is_numpy(entry: Entry) -> bool:
    return entry.name.lower().endswith(NUMPY_SUFFIXES)


def _find(soft: Path, suffixes: tuple[str, ...]) -> tuple[dict[str, Entry], list[Problem], int]:
    """The soft maps by case, what is wrong with their names, and how many other files there are."""
    listing = list_files(soft)
    if any(problem.severity == "refused" for problem in listing.problems):
        raise SubmissionRefused(soft.name, listing.problems)
    there = [entry for entry in listing.entries if not is_junk(entry.name)]
    entries = [entry for entry in there if entry.name.lower().endswith(suffixes)]
    folders = sorted({str(PurePosixPath(entry.name).parent) for entry in entries})
    if len(folders) != 1:
        message = f"holds no soft map; expected <case>{suffixes[0]} (or {', '.join(suffixes[1:])})"
        if folders:
            message = f"soft maps lie in {len(folders)} folders ({', '.join(folders)}); which one is meant?"
        code = "ambiguous_output" if folders else "no_output"
        raise SubmissionRefused(soft.name, [Problem("refused", message, file=soft.name, code=code)])
    maps: dict[str, Entry] = {}
    problems = [problem for problem in listing.problems if problem.severity != "note"]
    for entry in entries:
        name = PurePosixPath(entry.name).name
        suffix = next(suffix for suffix in suffixes if name.lower().endswith(suffix))
        case = name[: -len(suffix)].removesuffix("_softmax")
        trouble, code = entry.trouble, entry.code
        if not trouble and not case:
            trouble, code = f"no case has this name; expected <case>{suffix}", "bad_name"
        if not trouble and case in maps:
            code = "ambiguous_output"
            trouble = f"there is {maps[case].name} for the case, too; which one is meant?"
            if _is_numpy(entry) != _is_numpy(maps[case]):
                trouble += " If nnU-Net left both, give their folder as --geometry-of as well"
        if trouble:
            problems.append(Problem("unusable", trouble, case=case, file=entry.name, code=code))
        else:
            maps[case] = entry
    return maps, problems, len(there) - len(entries)


def _geometry(maps: Mapping[str, Entry], geometry_of: Path | None) -> tuple[dict[str, Grid], list[Problem]]:
    """The grids of soft maps that have none of their own, by case."""
    if not maps:
        return {}, []
    if geometry_of is None:
        return {}, [
            Problem("unusable", _NO_GEOMETRY, case=case, file=entry.name, code="bad_geometry")
            for case, entry in maps.items()
        ]
    listing = list_files(geometry_of, trusted=True)
    if any(problem.severity == "refused" for problem in listing.problems):
        return {}, list(listing.problems)
    found = match(listing, {"geometry": ImageFile()}, cases=maps)
    reasons = {problem.case: problem for problem in reversed(found.problems)}
    grids: dict[str, Grid] = {}
    problems: list[Problem] = []
    for case, entry in maps.items():
        file = found.files[case].get("geometry")
        try:
            if file is None:
                reason = reasons[printable(case)]
                raise VolumeError(reason.message, code=reason.code)
            grids[case] = read_header(file).grid
        except (OSError, ValueError) as error:
            message = f"no geometry in {geometry_of}: {error}"
            problems.append(Problem("unusable", message, case=case, file=entry.name, code=code_of_error(error)))
    return grids, problems


def _extract(file: File, grid: Grid | None, how: Extraction) -> tuple[Grid, Candidates]:
    """The candidates of a soft map, in (z, y, x) as the published code counts voxels, and the grid of the map."""
    volume = read(file) if grid is None else Volume(read_numpy(file, keys=_NNUNET, shape=grid.shape), grid)
    try:
        found = extract_candidates(volume.array.T, rule=how.rule, likelihood=how.likelihood)
    except ValueError as error:
        msg = f"{error}, counted (z, y, x)"
        raise VolumeError(msg, code=code_of_error(error, otherwise="bad_values")) from error
    return volume.grid, found
