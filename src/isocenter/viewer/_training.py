"""Released data opened for looking at: its cases, with scans, labels and doses as far as they can be found."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from isocenter.evaluation import Case, Challenge, DosePicture
from isocenter.problems import printable
from isocenter.submissions import Listing, MaskFile, list_files
from isocenter.viewer._alone import label_sight, label_still, plan_sight
from isocenter.viewer._images import Scan
from isocenter.viewer._released import ReleasedCase, dose_of, find_cases
from isocenter.viewer._session import Look
from isocenter.viewer._stills import dose_still
from isocenter.volumes import File, Folder, Grid, Volume, read_header
from isocenter.volumes.sparse import SHAPE, read_voxel_dimensions

MOST_BYTES = 1 << 29
"""Of one volume in memory, 512 MiB: voxels × bytes of each as it is read, but at least 4. A 512×512×512 scan."""

_MOST_OF_A_CASE = 2 * MOST_BYTES


@dataclass(frozen=True, eq=False)
class Training:
    """Released data; see `open_training`.

    Attributes
    ----------
    listing
        Its files, and what is wrong with the archive.
    cases
        Those that there is something to see of, by name.
    """

    challenge: Challenge
    listing: Listing
    cases: Mapping[str, ReleasedCase]

    def look(self, case: str) -> Look:
        """What there is to see of a case; whatever goes wrong is said in it, and costs this case only."""
        return _Opening(self.challenge, case, self.cases[case]).look()


def open_training(challenge: Challenge, path: str | os.PathLike[str], *, listing: Listing | None = None) -> Training:
    """Find the cases of a released zip, or of a folder, by the names of its files; no file is opened.

    Parameters
    ----------
    listing
        What `list_files` found at the path, where that is known already.

    An archive that cannot be trusted, because names lead out of it or files are encrypted, say, has no cases.
    """
    found = list_files(path) if listing is None else listing
    trusted = all(problem.severity != "refused" for problem in found.problems)
    return Training(challenge, found, find_cases(challenge, found) if trusted else {})


@dataclass(eq=False)
class _Opening:
    """A case being read: what could not be shown, and how many bytes its volumes take so far."""

    challenge: Challenge
    case: str
    files: ReleasedCase
    notes: list[str] = field(default_factory=list)
    taken: int = 0

    def look(self) -> Look:
        try:
            if isinstance(next(iter(self.challenge.reference.values())), MaskFile):
                return self._labelled()
            return self._planned()
        except Exception as error:  # of a stranger's file, or of a challenge's own code: one bad case costs one case
            self._note("It", error)
            return Look(None, notes=tuple(self.notes))

    def _labelled(self) -> Look:
        label = None
        slot, spec = next(iter(self.challenge.reference.items()))
        for name, file in self.files.labels[:1]:
            try:
                self._admit(file)
                labels = spec.read(file, grid=None, policy="refuse").value
                label = Volume(labels.array, labels.grid)
            except (ValueError, OSError) as error:
                self._note(f"The {slot} {name}", error)
        self._leave_out([name for name, _ in self.files.labels[1:]])
        return self._on_scans(label)

    def _on_scans(self, label: Volume | None) -> Look:
        grid = self._grid() if label is None else label.grid
        scans = [] if grid is None else self._scans(grid)
        if grid is None or not (scans or label):
            return Look(None, notes=tuple(self.notes))
        oriented = label is not None or not self.files.scans[0].file.name.endswith(".csv")
        sight = label_sight(label, grid=grid, images=scans, oriented=oriented)
        return Look(sight, (label_still(sight, case=self.case),), tuple(self.notes))

    def _planned(self) -> Look:
        """The dose that is the case's reference, as the challenge depicts it."""
        picture = None
        for name, folder in self.files.labels[:1]:
            try:
                picture = self._picture(folder)
            except (ValueError, OSError) as error:
                self._note(f"The plan in {name}", error)
        self._leave_out([name for name, _ in self.files.labels[1:]])
        if picture is None:
            return self._on_scans(None)
        sight = plan_sight(picture, images=self._scans(picture.reference.grid))
        return Look(sight, (dose_still(sight, case=self.case, team="the plan"),), tuple(self.notes))

    def _picture(self, folder: File) -> DosePicture:
        assert isinstance(folder, Folder)
        dose = dose_of(self.challenge, folder.files)
        assert dose is not None
        assert self.challenge.depict is not None
        slot, file = dose
        name, spec = next(iter(self.challenge.reference.items()))
        truth = self.challenge.prepare(Case(self.case, {name: spec.read(folder, grid=None, policy="refuse").value}, {}))
        handed = self.challenge.output[slot].read(file, grid=None, policy="refuse").value
        picture = self.challenge.depict(truth, {slot: handed})
        if not isinstance(picture, DosePicture):
            msg = "the challenge shows no dose of it"
            raise ValueError(msg)  # noqa: TRY004 (of the challenge, not of an argument)
        return picture

    def _grid(self) -> Grid | None:
        """Of the first scan that can be read, where there is no label."""
        for scan in self.files.scans:
            try:
                if scan.file.name.endswith(".csv"):
                    sx, sy, sz = read_voxel_dimensions(scan.file.beside("voxel_dimensions.csv"))
                    return Grid(SHAPE, spacing=(sy, sx, sz))  # the first two axes are swapped, as in `Scan.read`
                return read_header(scan.file).grid
            except (ValueError, OSError) as error:
                self._note(f"The scan {scan.file.name}", error)
        return None

    def _scans(self, grid: Grid) -> list[tuple[str, Volume]]:
        read: list[tuple[str, Volume]] = []
        for scan in self.files.scans:
            try:
                self._admit(scan.file, grid=grid)
                read.append((_numbered(scan, read), scan.read(grid)))
            except (ValueError, OSError) as error:
                self._note(f"The scan {scan.file.name}", error)
        return read

    def _admit(self, file: File, *, grid: Grid | None = None) -> None:
        """Refuse a volume that would take too much memory, by its header, before any voxel is read."""
        if file.name.endswith(".csv"):
            size = 8 * math.prod(SHAPE)
        else:
            header = read_header(file)
            each = 8 if header.scaled else max(4, header.dtype.itemsize)
            size = each * max(header.grid.voxels, 0 if grid is None else grid.voxels)
        if size > MOST_BYTES:
            msg = f"it would take {size / 2**20:,.0f} MiB of memory; at most {MOST_BYTES >> 20} MiB are opened here"
            raise ValueError(msg)
        if self.taken + size > _MOST_OF_A_CASE:
            msg = (
                f"the volumes of a case may take {_MOST_OF_A_CASE >> 20:,} MiB together, and the others take it already"
            )
            raise ValueError(msg)
        self.taken += size

    def _leave_out(self, names: Sequence[str]) -> None:
        if names:
            more = f", and {len(names) - 3} more" if len(names) > 3 else ""
            self.notes.append(printable(f"The first label is shown; there are {', '.join(names[:3])}{more} as well."))

    def _note(self, what: str, error: Exception) -> None:
        meant = isinstance(error, ValueError | OSError)
        said = str(error) if meant else f"{type(error).__name__}: {error}"
        note = printable(f"{what} cannot be shown: {said.rstrip('.')}.")
        if note not in self.notes:
            self.notes.append(note)


def _numbered(scan: Scan, before: Sequence[tuple[str, Volume]]) -> str:
    """What the scan calls itself, with a number if another does already."""
    same = sum(name.split(" ")[0] == scan.name for name, _ in before)
    return f"{scan.name} {same + 1}" if same else scan.name
