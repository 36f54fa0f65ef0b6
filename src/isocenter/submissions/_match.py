"""Which file is whose: names of a submission against the cases of a cohort."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from isocenter.problems import Problem
from isocenter.submissions._files import FileSpec, is_folder
from isocenter.submissions._listing import Entry, Listing
from isocenter.volumes import File, Folder

_JUNK = {".DS_Store", "Thumbs.db", "desktop.ini", "__MACOSX", ".git", ".gitkeep", ".ipynb_checkpoints"}
_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.xz", ".7z", ".rar")


@dataclass(frozen=True, slots=True)
class Match:
    """Files by case and slot, and what did not fit."""

    files: Mapping[str, Mapping[str, File]]
    problems: tuple[Problem, ...]


def match(
    listing: Listing, specs: Mapping[str, FileSpec], *, cases: Iterable[str], elsewhere: Iterable[str] = ()
) -> Match:
    """Find the files of every case.

    A folder or zip that holds nothing but one folder with the files in it is taken as that folder, as that is what
    zipping a folder gives. A case with a file that must not be read, or with two files for one slot, has none. Where
    a case has a folder of files, it gets those that are wanted of it, however many there are. Files of cases that are
    scored `elsewhere`, on another cohort, are left alone.
    """
    cases = list(cases)
    folders = {
        (spec.name(case, "") + "/"): (case, slot) for case in cases for slot, spec in specs.items() if is_folder(spec)
    }
    wanted = {
        spec.name(case, suffix): (case, slot)
        for case in cases
        for slot, spec in specs.items()
        for suffix in spec.suffixes
    }
    entries, problems = _sort_out_junk(listing)
    entries = _leave_out(_without_common_folder(entries, wanted, folders), specs, set(elsewhere) - set(cases))
    found: dict[tuple[str, str], list[Entry]] = {}
    spoilt: set[tuple[str, str]] = set()
    unexpected: list[Entry] = []
    for entry in entries:
        key = wanted.get(entry.name) or _owner(entry, folders, specs)
        if key is None:
            unexpected.append(entry)
        elif entry.trouble:
            problems.append(Problem("unusable", entry.trouble, case=key[0], file=entry.name, code=entry.code))
            spoilt.add(key)
        else:
            found.setdefault(key, []).append(entry)

    for entry in unexpected:
        key, problem = _unexpected(entry, specs, cases, listing.name)
        if key in found:  # a checksum or a note beside a good file
            problem = Problem.of("ignored_file", "note", file=entry.name)
        elif key is not None:
            spoilt.add(key)
        problems.append(problem)

    files: dict[str, dict[str, File]] = {case: {} for case in cases}
    for case, slot in ((case, slot) for case in cases for slot in specs if (case, slot) not in spoilt):
        candidates = found.get((case, slot), [])
        if is_folder(specs[slot]) and candidates:
            name = specs[slot].name(case, "")
            files[case][slot] = Folder(name, {entry.name.removeprefix(f"{name}/"): entry.file for entry in candidates})
            continue
        chosen = _the_one(candidates, case, specs[slot])
        if isinstance(chosen, Problem):
            problems.append(chosen)
        else:
            files[case][slot] = chosen
    if cases and not found and not spoilt and not listing.problems:
        problems.insert(0, Problem.of("no_output", "refused", file=listing.name, cases=len(cases)))
    return Match(files, tuple(problems))


def _owner(
    entry: Entry, folders: Mapping[str, tuple[str, str]], specs: Mapping[str, FileSpec]
) -> tuple[str, str] | None:
    """Case and slot of a file that is wanted in the folder it lies in."""
    for stop in (i + 1 for i, letter in enumerate(entry.name) if letter == "/"):
        key = folders.get(entry.name[:stop])
        if key is not None:
            spec = specs[key[1]]
            return key if is_folder(spec) and spec.wants(entry.name[stop:]) else None
    return None


def _the_one(candidates: list[Entry], case: str, spec: FileSpec) -> File | Problem:
    """The file of a case, or what is wrong with having none or several."""
    if len(candidates) == 1:
        return candidates[0].file
    if candidates:
        names = " and ".join(entry.name for entry in candidates)
        return Problem.of("ambiguous_output", "unusable", case=case, file=candidates[0].name, names=names)
    if is_folder(spec):
        return Problem.of("missing_output", "missing", case=case, expected=spec.expected(case))
    others = f" (or {', '.join(spec.suffixes[1:])})" if len(spec.suffixes) > 1 else ""
    expected = f"{spec.name(case, spec.suffixes[0])}{others}"
    return Problem.of("missing_output", "missing", case=case, expected=expected)


def is_junk(name: str) -> bool:
    """Whether a file or folder is one that operating systems and editors leave behind."""
    return any(part in _JUNK or part.startswith("._") for part in name.split("/"))


def _sort_out_junk(listing: Listing) -> tuple[list[Entry], list[Problem]]:
    """What operating systems leave behind is ignored, and said to be."""
    kept, problems = [], []
    for entry in listing.entries:
        if is_junk(entry.name):
            problems.append(Problem.of("left_behind", "note", file=entry.name))
        else:
            kept.append(entry)
    return kept, problems


def _without_common_folder(
    entries: list[Entry], wanted: Mapping[str, object], folders: Mapping[str, object]
) -> list[Entry]:
    tops = {PurePosixPath(entry.name).parts[0] for entry in entries if "/" in entry.name}
    asked_for = tuple(folders)
    if len(tops) != 1 or any(entry.name in wanted or entry.name.startswith(asked_for) for entry in entries):
        return entries
    top = f"{tops.pop()}/"
    return [replace(entry, name=entry.name.removeprefix(top)) for entry in entries]


def _leave_out(entries: list[Entry], specs: Mapping[str, FileSpec], cases: set[str]) -> list[Entry]:
    """The entries without the files and folders of some cases."""
    files = {spec.name(case, suffix) for case in cases for spec in specs.values() for suffix in spec.suffixes}
    folders = tuple(spec.name(case, "") + "/" for case in cases for spec in specs.values() if is_folder(spec))
    return [entry for entry in entries if entry.name not in files and not entry.name.startswith(folders)]


def _unexpected(
    entry: Entry, specs: Mapping[str, FileSpec], cases: list[str], submission: str
) -> tuple[tuple[str, str] | None, Problem]:
    """Say what is wrong with a name that was not asked for; also the case and slot that it was probably meant for."""
    for slot, spec in specs.items():
        suffix = next((s for s in spec.suffixes if entry.name.lower().endswith(s)), "")
        if suffix:
            stem = entry.name[: -len(suffix)]
            if stem in {spec.name(case, "") for case in cases}:  # CHUV001.NII.GZ
                case = next(case for case in cases if spec.name(case, "") == stem)
                message = f"endings are written in small letters; expected {spec.name(case, suffix)}"
                return (case, slot), Problem("unusable", message, case=case, file=entry.name, code="bad_name")
            hint = _nearest(stem, [spec.name(case, "") for case in cases])
            message = f"no case of the challenge has this name{hint}"
            return None, Problem("unusable", message, case=stem, file=entry.name, code="bad_name")
        named = [case for case in cases if entry.name.startswith(spec.name(case, "") + ".")]
        if named:
            case = max(named, key=len)
            wanted = spec.expected(case) if is_folder(spec) else spec.name(case, spec.suffixes[0])
            message = f"a file of this kind is not accepted; expected {wanted}"
            return (case, slot), Problem("unusable", message, case=case, file=entry.name, code="bad_format")
    if entry.name.lower().endswith(_ARCHIVES):
        message = f"an archive inside {submission}; it is not opened"
        return None, Problem("unusable", message, file=entry.name, code="bad_archive")
    if entry.trouble:
        return None, Problem("warning", entry.trouble, file=entry.name, code=entry.code)
    return None, Problem.of("ignored_file", "note", file=entry.name)


def _nearest(stem: str, names: list[str]) -> str:
    """A guess at what a name should have been, as the end of a sentence; "" if none is near."""
    same = [name for name in names if name.casefold() == stem.casefold()]
    near = same or difflib.get_close_matches(stem[:100], names, n=1, cutoff=0.6)
    return f"; is it {near[0]}?" if near else ""
