"""The cohort: the cases of a challenge, found in the organisers' folder or zip.

Its files tell the cases: with a pattern ``{case}`` and the ending .nii.gz, CHUV001.nii.gz is case CHUV001. A table
`cases.csv` beside them may list the cases in a column `case`, and give them sampling weights in a column `weight`; what
it says of them in other columns are facts: of no consequence here, but some challenges read one, and subgroups are made
by them.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from isocenter.evaluation._challenge import Challenge
from isocenter.evaluation._stages import blame_evaluator, blame_output
from isocenter.problems import EvaluationFailed, OutputError, Problem, code_of_error, origin_of_error, report
from isocenter.submissions import FileSpec, Listing, is_folder, is_junk, list_files, match, remark_geometry
from isocenter.volumes import File, Grid, VolumeError, read_bytes, read_header, suffix_of

MANIFEST = "cases.csv"
_LONGEST = 1 << 26


class CohortError(ValueError):
    """A reference that cannot be scored against; the message lists everything that is wrong with it.

    Attributes
    ----------
    problems
        The same one by one, each with code and origin.
    """

    def __init__(self, message: str, problems: Iterable[Problem] = ()) -> None:
        super().__init__(message)
        self.problems = tuple(problems) or (Problem("refused", message, code="reference", origin="reference"),)


@dataclass(frozen=True, slots=True)
class CohortCase:
    """One case: its reference files by name, the grids of those that are volumes, its sampling weight, its facts."""

    name: str
    files: Mapping[str, File]
    grids: Mapping[str, Grid]
    weight: float = 1.0
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cohort:
    """All cases, in the order of their names; `remarks` are what organisers should know of their files."""

    name: str
    cases: tuple[CohortCase, ...]
    remarks: tuple[Problem, ...] = ()


def open_cohort(challenge: Challenge, path: str | os.PathLike[str]) -> Cohort:
    """Find the cases of a challenge and read their geometry, not their voxels."""
    listing = list_files(path, trusted=True)
    if challenge.arrange_reference is not None:
        listing = arrange_files(challenge, challenge.arrange_reference, listing)
    listed, problems = _manifest(listing)
    names = _case_names(listing, challenge.reference)
    if listed is not None:
        problems += [_problem(f"listed in {MANIFEST}, but has no file", case=n) for n in listed if n not in names]
        problems += [_problem(f"has a file, but is not listed in {MANIFEST}", case=n) for n in names if n not in listed]
    if not names:
        expected = ", ".join(spec.name("<case>", (*spec.suffixes, "/")[0]) for spec in challenge.reference.values())
        problems.append(_problem(f"holds no case; expected files named {expected}", file=listing.name))
    problems += _not_cases(listing, next(iter(challenge.reference.values())), names)
    found = match(listing, challenge.reference, cases=names)
    problems += [
        replace(problem, origin="reference")
        for problem in (*listing.problems, *found.problems)
        if problem.severity in ("refused", "unusable", "missing")
    ]
    cases = []
    remarks = []
    for name in names:
        grids = {}
        for slot, file in found.files[name].items():
            try:
                if suffix_of(file.name):
                    header = read_header(file)
                    grids[slot] = header.grid
                    remarks += [
                        Problem("note", remark.text, case=name, file=file.name, code=remark.code, origin="reference")
                        for remark in remark_geometry(header)
                    ]
            except (VolumeError, OSError) as error:
                origin, code = origin_of_error(error, reading="reference"), code_of_error(error)
                problems.append(Problem("unusable", str(error), case=name, file=file.name, code=code, origin=origin))
        cases.append(CohortCase(name, found.files[name], grids, *(listed or {}).get(name, (1.0, {}))))
    if problems:
        problems = list(dict.fromkeys(problems))
        msg = f"{challenge.name}: the reference {Path(path)} cannot be used:\n{report(problems)}"
        raise CohortError(msg, problems)
    return Cohort(listing.name, tuple(cases), tuple(remarks))


def arrange_files(challenge: Challenge, arrange: Callable[..., Listing], listing: Listing, *more: object) -> Listing:
    """What `arrange` or `arrange_reference` makes of files; whatever else they raise is the evaluator's fault."""
    try:
        arranged = arrange(listing, *more)
        if not isinstance(arranged, Listing):
            msg = f"it returned {type(arranged).__name__}, not a Listing"
            raise TypeError(msg)
        return arranged
    except (CohortError, KeyboardInterrupt):
        raise
    except OutputError as error:
        problem = blame_output("arrange", error, severity="refused", file=listing.name)
        if problem.origin != "output":
            raise EvaluationFailed(challenge.name, [problem]) from error
        return replace(listing, entries=(), problems=(*listing.problems, problem))
    except BaseException as error:  # also `sys.exit`, which would end the worker of a site
        raise EvaluationFailed(challenge.name, [blame_evaluator("arrange", error)]) from error


def _problem(message: str, *, case: str = "", file: str = "") -> Problem:
    return Problem("refused", message, case=case, file=file, code="reference", origin="reference")


def _case_names(listing: Listing, specs: Mapping[str, FileSpec]) -> list[str]:
    """Cases as the names of the first reference file, or of the folders that hold wanted files, tell them."""
    spec = next(iter(specs.values()))
    names: set[str] = set()
    if is_folder(spec):
        before, _, after = spec.name("\0", "").partition("\0")
        for above in ("", "[^/]+/"):
            pattern = re.compile(rf"{above}{re.escape(before)}([^/]+){re.escape(after)}/(.+)")
            matches = [pattern.fullmatch(entry.name) for entry in listing.entries]
            names = {found[1] for found in matches if found and not found[1].startswith(".") and spec.wants(found[2])}
            if names:
                break
        return sorted(names)
    for suffix in spec.suffixes:
        before, _, after = spec.name("\0", suffix).partition("\0")
        pattern = re.compile(rf"(?:[^/]+/)?{re.escape(before)}([^/]+){re.escape(after)}")
        plain = re.compile(rf"{re.escape(before)}([^/]+){re.escape(after)}")
        matches = [plain.fullmatch(entry.name) for entry in listing.entries]
        if not any(matches):
            matches = [pattern.fullmatch(entry.name) for entry in listing.entries]
        names |= {found[1] for found in matches if found and not found[1].startswith(".")}
    return sorted(names)


def _not_cases(listing: Listing, spec: FileSpec, names: list[str]) -> list[Problem]:
    """What lies among the folders of cases and is none: a patient whose files got lost must not vanish."""
    if not is_folder(spec):
        return []
    places = {spec.name(name, ""): name for name in names}
    level = {
        folder.removesuffix(place)
        for folder in listing.folders
        for place in places
        if folder == place or folder.endswith(f"/{place}")
    }
    strangers = [
        (folder, "a folder without any file of a case; mend it, or remove it")
        for folder in listing.folders
        if any(folder.startswith(above) and "/" not in (name := folder.removeprefix(above)) for above in level)
        and name not in places
    ]
    strangers += [
        (entry.name, "a file where the folder of a case was expected")
        for entry in listing.entries
        if any(entry.name.startswith(above) and "/" not in entry.name.removeprefix(above) for above in level)
        and "." not in entry.name.rpartition("/")[2]
    ]
    return [
        _problem(text, file=file)
        for file, text in strangers
        if not is_junk(file) and not file.rpartition("/")[2].startswith(".")
    ]


def read_facts(path: str | os.PathLike[str]) -> dict[str, dict[str, str]]:
    """What a table such as `cases.csv` says of every case beside its weight, by column."""
    path = Path(path)
    listed, problems = _read_manifest(path.name, path.read_bytes())
    if problems:
        msg = f"{path} cannot be used:\n{report(problems)}"
        raise CohortError(msg, problems)
    return {case: facts for case, (_, facts) in listed.items()}


_Listed = dict[str, tuple[float, dict[str, str]]]
"""By case, its weight and its facts."""


def _manifest(listing: Listing) -> tuple[_Listed | None, list[Problem]]:
    """What cases.csv says; None if there is no such file."""
    entry = next((entry for entry in listing.entries if entry.name.rpartition("/")[2] == MANIFEST), None)
    if entry is None:
        return None, []
    try:
        return _read_manifest(MANIFEST, read_bytes(entry.file, most=_LONGEST))
    except (OSError, ValueError) as error:
        origin, code = origin_of_error(error, reading="reference"), code_of_error(error, otherwise="bad_table")
        return {}, [Problem("refused", str(error), file=MANIFEST, code=code, origin=origin)]


def _read_manifest(name: str, content: bytes) -> tuple[_Listed, list[Problem]]:
    try:
        table = list(csv.reader(io.StringIO(content.decode("utf-8-sig", "replace"), newline="")))
    except csv.Error as error:
        return {}, [_table_problem(f"is no table: {error}", name)]
    columns = [column.strip() for column in table[0]] if table else []
    problems = [_table_problem(text, name) for text in _wrong_columns(columns)]
    if problems:
        return {}, problems
    listed: _Listed = {}
    for line, values in enumerate(table[1:], start=2):
        if len(values) > len(columns):
            message = f"line {line} has {len(values)} values, but there are {len(columns)} columns"
            problems.append(_table_problem(message, name))
            continue
        if not any(value.strip() for value in values):
            continue
        row = dict(zip(columns, (*values, *[""] * (len(columns) - len(values))), strict=True))
        case = row["case"].strip()
        try:
            weight = float(row.get("weight") or 1.0)
        except ValueError:
            weight = math.nan
        if not case:
            problems.append(_table_problem(f"line {line} names no case (column `case`)", name))
        elif case in listed:
            problems.append(_table_problem(f"line {line} lists the case again", name, case=case))
        elif not 0 < weight < math.inf:
            message = f"line {line}: weight {row['weight']!r} is no positive number"
            problems.append(_table_problem(message, name, case=case))
        else:
            facts = {column: value.strip() for column, value in row.items() if column not in ("", "case", "weight")}
            listed[case] = (weight, {column: value for column, value in facts.items() if value})
    return listed, problems


def _table_problem(message: str, file: str, *, case: str = "") -> Problem:
    return Problem("refused", message, case=case, file=file, code="bad_table", origin="reference")


def _wrong_columns(columns: list[str]) -> list[str]:
    """What is wrong with the first line of a table of cases."""
    if "case" not in columns:
        return ["has no column `case` (columns are separated by commas)"]
    wrong = [f"has the column {name!r} twice" for name in sorted(set(columns)) if name and columns.count(name) > 1]
    return wrong + [f"has a column {name!r}; is it `weight`?" for name in columns if name != "weight" == name.lower()]
