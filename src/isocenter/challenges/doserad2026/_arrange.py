"""Outputs as the platform delivers them: stacks of doses, and a file that says which beam is where in them.

    <job>/stacked-photon-beam-level-metadata.json      or below <job>/input/
    <job>/images/stacked-radiation-dose-map-1/*.mha    or below <job>/output/

The metadata have for every beam its uuid and `output_info`: `output_file_idx` counts stacks from 0, so that stack 0 is
in folder 1; `idx_in_output` is the place in the stack. Beams are told by their uuids alone: a stack may hold beams of
several cases, and those of a case may lie in several. Stacks that no beam is in, of one voxel by convention, are left
out, as are their metadata.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeGuard

from isocenter.challenges.doserad2026._geometry import planned_beams, read_json
from isocenter.challenges.doserad2026._output import INDEX
from isocenter.challenges.doserad2026._words import some, told, verb
from isocenter.evaluation import CohortError
from isocenter.problems import Problem, code_of_error, origin_of_error
from isocenter.submissions import Entry, Listing
from isocenter.volumes import File, Folder, MemoryFile

_JOB = r"(?:(?P<job>.*?)/)??"
_METADATA = re.compile(_JOB + r"(?:input/)?stacked-(?:photon|proton)-beam-level-metadata\.json")
# More stacks, or doses in one, than there can be.
_MOST = 1 << 31
_STACK = re.compile(_JOB + r"(?:output/)?images/stacked-radiation-dose-map-(?P<number>[0-9]{1,3})/[^/]+\.mha")


def arrange(listing: Listing, cases: Mapping[str, Mapping[str, File]]) -> Listing:
    """Put stacks into the folders of the cases whose beams they hold; leave everything else as it is."""
    owners = _owners(cases)
    # An index is made here and by nobody else.
    listing = replace(listing, entries=tuple(e for e in listing.entries if e.name.rpartition("/")[2] != INDEX))
    jobs = {entry.name: name["job"] or "" for entry in listing.entries if (name := _METADATA.fullmatch(entry.name))}
    if not jobs:
        return listing
    index = _Index(owners)
    for entry in listing.entries:
        if (name := _STACK.fullmatch(entry.name)) is not None:
            index.stacks.setdefault((name["job"] or "", int(name["number"])), []).append(entry)
    for entry in listing.entries:
        if entry.name in jobs:
            index.add(entry, jobs[entry.name])
    gone = {*jobs, *(entry.name for entries in index.stacks.values() for entry in entries)}
    entries = [entry for entry in listing.entries if entry.name not in gone]
    for case, found in sorted(index.places.items()):
        # A beam in two places is in none, so that its case fails.
        places = {uuid: place for uuid, place in found.items() if uuid not in index.ambiguous}
        stacks = sorted({name for name, _ in places.values()})
        entries += [replace(index.used[name], name=f"{case}/{name}") for name in stacks]
        content = json.dumps(places, sort_keys=True).encode()
        entries.append(Entry(f"{case}/{INDEX}", MemoryFile(INDEX, content), len(content)))
    return replace(listing, entries=tuple(entries), problems=(*listing.problems, *index.problems))


def _owners(cases: Mapping[str, Mapping[str, File]]) -> dict[str, str]:
    """By uuid, the case that a beam is of. A cohort of photons and protons, or with one uuid twice, is none.

    A case whose files cannot be read is left out: it is named when it is prepared.
    """
    owners: dict[str, str] = {}
    modalities: dict[str, str] = {}
    problems: list[str] = []
    for case, slots in cases.items():
        folder = slots["truth"]
        assert isinstance(folder, Folder)
        try:
            said = read_json(folder.files["case.json"])
            uuids = [beam["uuid"] for beam in said["beams"]]
            modality, _ = planned_beams(read_json(folder.files[f"{case}.json"]))
        except (ValueError, OSError, KeyError, TypeError):
            continue
        if not all(isinstance(uuid, str) for uuid in uuids):
            continue
        modalities.setdefault(modality, case)
        shared = [uuid for uuid in uuids if owners.get(uuid, case) != case]
        if shared:
            problems.append(f"{some(shared)} of {case} also in {owners[shared[0]]}; uuids tell beams apart")
        owners |= dict.fromkeys(uuids, case)
    if len(modalities) > 1:
        several = " and ".join(f"{modality}s ({case}, for one)" for modality, case in modalities.items())
        problems.append(f"the cases are of {several}; the tasks are scored and ranked one by one")
    if problems:
        raise CohortError("doserad2026: the reference cannot be used: " + "; ".join(problems))
    return owners


@dataclass(slots=True)
class _Index:
    """Which beam is where, as it is put together job by job."""

    owners: Mapping[str, str]
    stacks: dict[tuple[str, int], list[Entry]] = field(default_factory=dict)
    places: dict[str, dict[str, tuple[str, int]]] = field(default_factory=dict)
    used: dict[str, Entry] = field(default_factory=dict)
    ambiguous: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)

    def add(self, metadata: Entry, job: str) -> None:
        """Enter the beams of a job under their cases."""
        try:
            beams = [beam for image in _images(read_json(metadata.file)) for beam in planned_beams(image)[1]]
        except (ValueError, OSError) as error:
            code = code_of_error(error, otherwise="bad_format")
            origin = origin_of_error(error, reading="output")
            self.problems.append(Problem("refused", str(error), file=metadata.name, code=code, origin=origin))
            return
        lacking: dict[int, list[str]] = {}
        nowhere: dict[str, dict[str, str]] = {}
        twice: dict[str, dict[str, str]] = {}
        for beam in beams:
            case = self.owners.get(beam.uuid)
            if case is None:
                continue
            number, at = beam.output.get("output_file_idx"), beam.output.get("idx_in_output")
            if not (_is_count(number) and _is_count(at)):
                said = f"output_file_idx {told(number)} and idx_in_output {told(at)}"
                nowhere.setdefault(case, {})[beam.uuid] = said
                continue
            found = self.stacks.get((job, number + 1), [])
            if len(found) != 1:
                lacking.setdefault(number + 1, []).append(beam.uuid)
                continue
            name = found[0].name
            self.used[name] = found[0]
            place = self.places.setdefault(case, {}).setdefault(beam.uuid, (name, at))
            if place != (name, at):
                twice.setdefault(case, {})[beam.uuid] = f"{place} and {(name, at)}"
                self.ambiguous.add(beam.uuid)
        for case, found_at in nowhere.items():
            self._unusable(f"{_with(found_at, '')}; expected whole numbers from 0", case, metadata, "bad_values")
        for case, found_at in twice.items():
            self._unusable(_with(found_at, "two places: "), case, metadata, "ambiguous_output")
        for number, uuids in lacking.items():
            count = len(self.stacks.get((job, number), [])) or "no"
            text = (
                f"images/stacked-radiation-dose-map-{number}/ holds {count} .mha files; expected one, of {some(uuids)}"
            )
            self._unusable(
                text, self.owners[uuids[0]], metadata, "missing_output" if count == "no" else "ambiguous_output"
            )

    def _unusable(self, text: str, case: str, metadata: Entry, code: str) -> None:
        self.problems.append(Problem("unusable", text, case=case, file=metadata.name, code=code))


def _with(found: Mapping[str, str], what: str) -> str:
    """Beams and what they have, told of the first one only."""
    uuids = list(found)
    return f"{some(uuids)} {verb(uuids, 'has', 'have')} {what}{found[uuids[0]]}{verb(uuids, '', ' (the first)')}"


def _images(metadata: Any) -> list[Any]:
    if not isinstance(metadata, list):
        msg = "the metadata are no list of images"
        raise ValueError(msg)  # noqa: TRY004 (what is wrong is the file)
    return metadata


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST
