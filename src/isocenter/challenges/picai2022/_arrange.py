"""Submissions as they come, put in order: every case with its maps and likelihoods, by trained instance.

Three layouts are known, each also below one further folder, as zipping a folder gives::

    10000_1000000.mha                          or 10000_1000000_detection_map.mha
    likelihoods.json                           an object, case → number; or likelihoods.csv, columns case, likelihood

    10000_1000000/…/cspca_detection_map.mha    as a platform collects what containers write, whatever the file is called
    10000_1000000/cspca-case-level-likelihood.json

    instance-1/…                               either of them, for each of several trained instances
    instance-2/…

Who takes the maximum of the map for the patient's likelihood says so: `likelihoods.json` is then the text "max" (or
"bayesian", see `case_likelihood`), at the top or in the folder of an instance.

The cases must be those of the cohort, no more and no less: a map of a case that is not in it, or a likelihood, is a
submission for something else. It is refused before anything is scored.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from isocenter.challenges.picai2022._output import LIKELIHOOD, SUFFIXES, TABLES
from isocenter.challenges.picai2022._tables import read_table
from isocenter.problems import Problem, code_of_error, origin_of_error, printable
from isocenter.submissions import Entry, Listing, is_junk
from isocenter.volumes import File, MemoryFile, VolumeError

INSTANCES = (5, 10)
"""How often an algorithm is trained in the closed phase."""

_MAP = "_detection_map"
_LABEL = "_label"
_MOST_NAMED = 20


def arrange(listing: Listing, cases: Mapping[str, Mapping[str, File]]) -> Listing:
    """A submission with likelihoods of its own, or a declaration where they come from."""
    return _arranged(listing, cases, likelihoods=True)


def arrange_maps(listing: Listing, cases: Mapping[str, Mapping[str, File]]) -> Listing:
    """A submission of which only the maps are read."""
    return _arranged(listing, cases, likelihoods=False)


def arrange_reference(listing: Listing) -> Listing:
    """Label maps that are called <case>_label, perhaps beside detection maps, under the names of the cases."""
    labels = {entry.name: stem for entry in listing.entries if (stem := _stem(entry.name)).endswith(_LABEL)}
    if not labels:
        return listing
    entries = [
        replace(entry, name=entry.name.replace(f"{_LABEL}.", ".")) if entry.name in labels else entry
        for entry in listing.entries
        if not _stem(entry.name).endswith(_MAP)
    ]
    return replace(listing, entries=tuple(entries))


@dataclass(slots=True)
class _Found:
    """What one trained instance has handed in, by case."""

    maps: dict[str, list[Entry]] = field(default_factory=dict)
    likelihoods: dict[str, list[Entry]] = field(default_factory=dict)


@dataclass(slots=True)
class _Sorted:
    """The files of a submission, each where it belongs, by the folder of its instance."""

    instances: dict[str, _Found] = field(default_factory=dict)
    tables: dict[str, list[Entry]] = field(default_factory=dict)
    strangers: list[tuple[str, Entry]] = field(default_factory=list)
    rest: list[Entry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    def add(self, entry: Entry, cases: Mapping[str, object]) -> None:
        """Put one file where it belongs."""
        place = None if is_junk(entry.name) or _stem(entry.name).endswith(_LABEL) else _place(entry.name, cases)
        if place is None:
            self.rest.append(entry)
            return
        folder, kind, case = place
        if (last := entry.name.rpartition("/")[2]) != _small(last):
            message = f"endings and names of tables are written in small letters; expected {_small(last)}"
            self.problems.append(Problem("refused", message, file=entry.name, code="bad_name"))
        elif kind == "table":
            self.tables.setdefault(folder, []).append(entry)
        elif case not in cases:
            self.strangers.append((case, entry))
        else:
            found = self.instances.setdefault(folder, _Found())
            (found.maps if kind == "map" else found.likelihoods).setdefault(case, []).append(entry)


def _arranged(listing: Listing, cases: Mapping[str, object], *, likelihoods: bool) -> Listing:
    files = _Sorted()
    for entry in listing.entries:
        files.add(entry, cases)
    problems = [*files.problems, *_strange(files.strangers, cases)]
    with_maps = {folder: its for folder, its in files.instances.items() if its.maps}
    instances = _instances(with_maps)
    if isinstance(instances, Problem):
        return replace(listing, entries=tuple(files.rest), problems=(*listing.problems, *problems, instances))
    if likelihoods:
        problems += _without_maps(files, with_maps)
        for folder, its in with_maps.items():
            problems += _give_likelihoods(folder, its, files.tables, several=len(with_maps) > 1, cases=cases)
    if len(instances) > 1 and not INSTANCES[0] <= len(instances) <= INSTANCES[1]:
        message = f"{len(instances)} trained instances; expected one, or {INSTANCES[0]} to {INSTANCES[1]}"
        problems.append(Problem("warning", message, file=listing.name, code="remark"))
    entries, incomplete = _entries(instances, cases)
    return replace(
        listing,
        entries=(*files.rest, *entries),
        problems=(*listing.problems, *_short(problems, listing.name), *incomplete),
    )


def _place(name: str, cases: Mapping[str, object]) -> tuple[str, str, str] | None:
    """The folder of the instance that a file belongs to, what it is, and its case; None for what is none of these."""
    *above, last = PurePosixPath(name).parts
    small = last.lower()
    if small in TABLES:
        return "/".join(above), "table", ""
    is_map = small.endswith(SUFFIXES)
    is_likelihood = small.endswith(".json") and "likelihood" in small
    # Below a folder of the case a file may be called anything.
    for depth, folder in enumerate(above):
        if folder in cases and (is_map or is_likelihood):
            return "/".join(above[:depth]), "map" if is_map else "likelihood", folder
    if is_map:
        return "/".join(above), "map", _stem(name).removesuffix(_MAP)
    if is_likelihood:
        return "/".join(above), "likelihood", last[: -len(".json")].removesuffix("_likelihood")
    return None


def _stem(name: str) -> str:
    """The name of a map without its folders and its ending."""
    last = name.rpartition("/")[2]
    suffix = next((suffix for suffix in SUFFIXES if last.lower().endswith(suffix)), "")
    return last[: -len(suffix)] if suffix else ""


def _small(last: str) -> str:
    """A file name with its ending, or the name of a table, as it is written."""
    if last.lower() in TABLES:
        return last.lower()
    suffix = next((suffix for suffix in (*SUFFIXES, ".json") if last.lower().endswith(suffix)), "")
    return last[: len(last) - len(suffix)] + suffix


def _strange(strangers: list[tuple[str, Entry]], cases: Mapping[str, object]) -> Iterator[Problem]:
    """Files of cases that there are not; only of the first few is said what they might be."""
    names = list(cases)
    for number, (case, entry) in enumerate(strangers):
        near = difflib.get_close_matches(case[:100], names, n=1, cutoff=0.6) if number < _MOST_NAMED else []
        hint = f"; is it {near[0]}?" if near else ""
        message = f"no case of the challenge has this name{hint}"
        yield Problem("refused", message, case=case, file=entry.name, code="bad_name")


def _without_maps(files: _Sorted, with_maps: Mapping[str, _Found]) -> Iterator[Problem]:
    """Likelihoods of an instance whose maps got lost."""
    for folder, its in files.instances.items():
        if folder not in with_maps and with_maps:
            entry = next(iter(its.likelihoods.values()))[0]
            message = "there are likelihoods, but no map in this place"
            yield Problem("refused", message, file=entry.name, code="missing_output")
    for folder, tables in files.tables.items():
        below = [other for other in with_maps if not folder or other == folder or other.startswith(f"{folder}/")]
        if with_maps and not below and len(files.tables) + len(with_maps) > 2:
            message = "there are likelihoods, but no map in this place"
            yield Problem("refused", message, file=tables[0].name, code="missing_output")


def _give_likelihoods(
    folder: str, its: _Found, tables: Mapping[str, list[Entry]], *, several: bool, cases: Mapping[str, object]
) -> Iterator[Problem]:
    """Give every case of an instance its likelihood; say what is wrong with where it comes from."""
    for case, entries in its.likelihoods.items():
        if len(entries) > 1:
            message = f"there is a likelihood in {entries[0].name}, too; which one is meant?"
            yield Problem("refused", message, case=case, file=entries[1].name, code="ambiguous_output")
    near = [above for above in tables if above == folder or not above or folder.startswith(f"{above}/")]
    if not near and len(tables) == 1 and not several:
        near = list(tables)
    if not near:
        if not its.likelihoods:
            where = f"{folder}/" if folder else ""
            message = (
                f"there is no likelihood of any patient; expected {where}{TABLES[0]}, with a number from 0 to 1 for "
                'each case, or, if the likelihood is the maximum of the map, with nothing but "max"'
            )
            yield Problem("refused", message, code="missing_output")
        return
    home = max(near, key=len)
    table, *others = tables[home]
    if others:
        message = f"there is {table.name}, too; which one is meant?"
        yield Problem("refused", message, file=others[0].name, code="ambiguous_output")
    yield from _give_from_table(table, its, shared=several and home != folder, cases=cases)


def _give_from_table(table: Entry, its: _Found, *, shared: bool, cases: Mapping[str, object]) -> Iterator[Problem]:
    try:
        if table.trouble:
            raise VolumeError(table.trouble, code=table.code)
        said = read_table(table)
    except (ValueError, OSError) as error:
        code = code_of_error(error, otherwise="bad_table")
        origin = origin_of_error(error, reading="output")
        yield Problem("refused", str(error), file=table.name, code=code, origin=origin)
        return
    if isinstance(said, str):
        said = dict.fromkeys(its.maps, said)
    elif shared:
        message = "numbers of one instance cannot serve several; expected a table in the folder of each"
        yield Problem("refused", message, file=table.name, code="bad_table")
        return
    for case in (case for case in said if case not in cases):
        message = "no case of the challenge has this name"
        yield Problem("refused", message, case=case, file=table.name, code="bad_name")
    for case in (case for case in said if case in its.likelihoods):
        message = f"there is a likelihood in {its.likelihoods[case][0].name}, too; which one is meant?"
        yield Problem("refused", message, case=case, file=table.name, code="ambiguous_output")
    for case in (case for case in said if case in its.maps):
        content = json.dumps(said[case]).encode()
        its.likelihoods[case] = [Entry(LIKELIHOOD, MemoryFile(LIKELIHOOD, content), len(content))]


def _instances(found: Mapping[str, _Found]) -> dict[str, _Found] | Problem:
    """What was found by the names of the instances: their folders below what they have in common."""
    if len(found) < 2:
        return dict(zip([""], found.values(), strict=False))
    paths = {folder: PurePosixPath(folder).parts for folder in found}
    places = set(paths.values())
    for folder, parts in sorted(paths.items()):
        above = next((parts[:depth] for depth in range(len(parts)) if parts[:depth] in places), None)
        if above is not None:
            message = (
                f"maps lie in {'/'.join(above) or 'the top folder'} and also in {folder}; expected all of them in one "
                "place, or in a folder for each trained instance"
            )
            return Problem("refused", message, code="ambiguous_output")
    common = 0
    while len({parts[: common + 1] for parts in places}) == 1:
        common += 1
    return {printable("/".join(paths[folder][common:])): its for folder, its in found.items()}


def _entries(instances: Mapping[str, _Found], cases: Mapping[str, object]) -> tuple[list[Entry], list[Problem]]:
    """Maps and likelihoods under the names of their cases; a case that some instance lacks has none."""
    entries: list[Entry] = []
    problems: list[Problem] = []
    for case in cases:
        lacking = [name for name, its in instances.items() if case not in its.maps]
        if lacking and len(lacking) < len(instances):
            message = f"there is no map of {' and '.join(lacking)}"
            problems.append(Problem("unusable", message, case=case, code="missing_output"))
        if lacking:
            continue
        for name, its in instances.items():
            home = f"{case}/{name}/" if name else f"{case}/"
            # Two maps may have one name in two folders: their paths tell them apart.
            short = len(its.maps[case]) == 1
            entries += [
                replace(entry, name=home + (entry.name.rpartition("/")[2] if short else entry.name.replace("/", "\\")))
                for entry in its.maps[case]
            ]
            entries += [replace(entry, name=home + LIKELIHOOD) for entry in its.likelihoods.get(case, [])[:1]]
    return entries, problems


def _short(problems: list[Problem], submission: str) -> list[Problem]:
    """Not a line for each of a thousand cases of another cohort."""
    if len(problems) <= _MOST_NAMED:
        return problems
    message = f"and {len(problems) - _MOST_NAMED} more of this kind"
    more = Problem("refused", message, file=submission, code="refused")
    return [*problems[:_MOST_NAMED], more]
