"""The doses that a team predicts for a case: one file per beam, or places in the platform's stacks.

    1ABB001/
      6f1c….mha         the dose of the beam with this uuid, on the reference's grid; also .nii.gz, .nii or .nrrd

`_arrange` puts stacks in the same place, with an index that says which beam is where. Doses are read while they are
measured, as a case has too many to hold. Time and memory that this takes are the output's: see `report_reading`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from isocenter.challenges.doserad2026._words import some, verb
from isocenter.evaluation import report_reading
from isocenter.problems import Trouble
from isocenter.submissions import GridPolicy, Reading
from isocenter.volumes import File, Folder, Frame, Grid, Stack, VolumeError, read_frames, read_stack_header, suffix_of

INDEX = "isocenter-index.json"
"""Beams in stacks: {uuid: [name of the stack, place in it]}."""

_SUFFIXES = (".mha", ".nii.gz", ".nii", ".nrrd")


@dataclass(eq=False)
class Beams:
    """Where the predicted doses of a case are; they are read beam by beam, once.

    Attributes
    ----------
    places
        By uuid: the file, and the place in it.
    stacks
        Those of the files that hold several doses.
    policy
        What happens to doses on another grid; beams are never resampled.
    memory
        What was found when they were read, for who asks again.
    """

    places: Mapping[str, tuple[str, int]]
    stacks: Set[str]
    files: Mapping[str, File]
    policy: GridPolicy
    memory: dict[str, Any] = field(default_factory=dict)

    def headers(self, names: Iterable[str]) -> Iterator[tuple[str, Stack | Trouble]]:
        """By file, what it says of itself, or what is wrong with it."""
        for name in names:
            try:
                with report_reading():
                    header = read_stack_header(self.files[name])
                yield name, header
            except (VolumeError, OSError, MemoryError) as error:
                yield name, _told(error)

    def frames(self, uuids: Mapping[str, object]) -> Iterator[tuple[str, Frame | Trouble]]:
        """Doses of the beams asked for, file by file, or what is wrong with them."""
        by_file: dict[str, dict[int, str]] = {}
        for uuid, (name, at) in self.places.items():
            if uuid in uuids:
                by_file.setdefault(name, {})[at] = uuid
        for name, wanted in by_file.items():
            left = dict(sorted(wanted.items()))
            frames = read_frames(self.files[name], list(left))
            try:
                while (frame := _read_next(frames)) is not None:
                    yield left.pop(frame.index), frame
            except (VolumeError, OSError, MemoryError) as error:
                trouble = _told(error, prefix=f"{name}: ")
                yield from ((uuid, trouble) for uuid in left.values())


@dataclass(frozen=True, slots=True)
class BeamFolder:
    """The doses of all beams of the case in Gy, one file for each: ``<uuid of the beam>.mha``, or .nii.gz, .nii, .nrrd.

    The platform's own layout is taken too: stacks of doses, and the metadata that say which beam is where.

    Read as `Beams`.
    """

    suffixes: tuple[str, ...] = ()
    grid_of: str | None = None
    most_bytes: int = 1 << 38
    most_files: int = 2000

    def name(self, case: str, suffix: str) -> str:  # noqa: ARG002 (a folder has none)
        """The folder of a case."""
        return case

    def wants(self, name: str) -> bool:
        """Doses, and the index of stacks."""
        return name == INDEX or suffix_of(name) in _SUFFIXES

    def expected(self, case: str) -> str:
        """The folder of the case."""
        return f"a folder {case}/"

    def read(self, file: File, *, grid: Grid | None, policy: GridPolicy) -> Reading:  # noqa: ARG002 (compared later)
        """Which beam is where; two doses of one beam are an error, and two beams with one dose."""
        assert isinstance(file, Folder)
        places: dict[str, tuple[str, int]] = {}
        stacks: set[str] = set()
        taken: dict[tuple[str, int], str] = {}
        shared: list[str] = []
        double: dict[str, str] = {}
        if INDEX in file.files:
            with file.files[INDEX].open() as stream:
                index = json.loads(stream.read())
            for uuid, (name, at) in index.items():
                if (other := taken.setdefault((name, at), uuid)) != uuid:
                    shared.append(f"beams {other} and {uuid} have one place: {at} in {name}")
                places[uuid] = (name, at)
            stacks = {name for name, _ in taken}
        for name in file.files:
            if name == INDEX or name in stacks:
                continue
            uuid = name.rpartition("/")[2][: -len(suffix_of(name))]
            if uuid in places:
                double.setdefault(uuid, f"{places[uuid][0]} and {name}")
            places[uuid] = (name, 0)
        problems = shared[:1] + ([f"so have {len(shared) - 1} more pairs"] if len(shared) > 1 else [])
        if double:
            uuids = list(double)
            problems.append(
                f"there are two doses of {some(uuids)}: {double[uuids[0]]}{verb(uuids, '', ' of the first')}"
            )
        if problems:
            raise VolumeError("; ".join(problems), code="ambiguous_output")
        return Reading(Beams(places, stacks, file.files, policy))


def _read_next(frames: Iterator[Frame]) -> Frame | None:
    with report_reading():
        return next(frames, None)


def _told(error: Exception, *, prefix: str = "") -> Trouble:
    if isinstance(error, MemoryError):
        return Trouble(f"{prefix}takes more memory to read than there is", "out_of_memory")
    trouble = Trouble.of_error(error, prefix=prefix)
    if isinstance(error, OSError) and error.strerror:  # without the path, which is nobody's business
        return trouble._replace(text=f"{prefix}cannot be read: {error.strerror}")
    return trouble
