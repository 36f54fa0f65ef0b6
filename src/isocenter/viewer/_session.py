"""A submission opened for looking at: its scores, and the sight of any case when it is asked for."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from isocenter.evaluation import Challenge, Cohort, DosePicture, Evaluation, LesionPicture, Picture, depict, open_cohort
from isocenter.report import Figure, case_figures
from isocenter.submissions import GridPolicy, ImageFile, MaskFile, list_files, match
from isocenter.viewer._images import Scan, find_scans
from isocenter.viewer._order import CaseScores, cases_of, without_observations
from isocenter.viewer._sight import Sight, dose_sight, mask_sight, output_sight
from isocenter.viewer._stills import dose_still, mask_still, output_still
from isocenter.volumes import File, Grid, LabelMap, Volume

_KEPT = 3  # cases whose volumes stay in memory
_MOST_VOXELS = 4  # of an output, for each of the reference: twice as fine within slices


@dataclass(frozen=True, eq=False)
class Look:
    """What a page shows of a case: volumes, pictures of them, and what could not be shown, and why."""

    sight: Sight | None
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Session:
    """A submission with its scores; see `open_session`."""

    challenge: Challenge
    cohort: Cohort
    reference: Path
    submission: Path
    team: str
    grid: GridPolicy
    cases: Mapping[str, CaseScores]
    scans: Mapping[str, tuple[Scan, ...]]
    outputs: Mapping[str, Mapping[str, File]]
    reference_visible: bool = True
    _looks: OrderedDict[str, Look] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def look(self, case: str) -> Look:
        """What there is to see of a case of the cohort; whatever goes wrong is said in it, and costs this case only."""
        with self._lock:
            if case not in self._looks:
                self._looks[case] = self._make(case)
            self._looks.move_to_end(case)
            while len(self._looks) > _KEPT:
                self._looks.popitem(last=False)
            return self._looks[case]

    def _make(self, case: str) -> Look:
        try:
            if slots := _mask_slots(self.challenge):
                return self._masks(case, *slots)
            if self.challenge.depict is not None:
                return self._depicted(case)
            return Look(None, notes=(f"{self.challenge.name} has no pictures of its cases.",))
        except (ValueError, OSError) as error:
            # What went wrong may be something of the reference, or where it is.
            said = str(error) if self.reference_visible else f"{case} cannot be shown"
            return Look(None, notes=(_sentence(said),))
        except Exception as error:  # of a challenge's own code: one bad case costs one case
            if not self.reference_visible:
                return Look(None, notes=(f"{case} cannot be shown.",))
            return Look(None, notes=(f"{case} cannot be shown: {type(error).__name__}: {_sentence(str(error))}",))

    def _admit(self, case: str) -> None:
        """Refuse to read an output that could not be measured, or is far larger than its reference.

        Measuring has limits of memory and time; whoever looks has none.
        """
        scores = self.cases.get(case)
        if scores is not None and scores.state == "failed":
            reasons = [problem.message for problem in scores.problems if problem.severity == "unusable"]
            raise ValueError("; ".join(reasons) or "it could not be measured")
        grids = next(item.grids for item in self.cohort.cases if item.name == case)
        for slot, file in self.outputs.get(case, {}).items():
            spec = self.challenge.output[slot]
            grid = grids.get(spec.grid_of or "")
            if grid is None or not isinstance(spec, MaskFile | ImageFile):
                continue
            if (voxels := spec.header(file).grid.voxels) > _MOST_VOXELS * grid.voxels:
                msg = f"it has {voxels:,} voxels, more than {_MOST_VOXELS} times those of the reference"
                raise ValueError(msg)

    def _depicted(self, case: str) -> Look:
        try:
            self._admit(case)
        except (ValueError, OSError) as error:
            msg = f"{case} cannot be shown: {error}"
            raise ValueError(msg) from error
        picture = depict(
            self.challenge, reference=self.reference, submission=self.submission, case=case, grid=self.grid
        )
        if not self.reference_visible:
            return self._output_of(picture, case)
        if isinstance(picture, DosePicture):
            scans, notes = self._read_scans(case, picture.reference.grid)
            sight = dose_sight(picture, images=scans, team=self.team)
        else:
            masks = (
                (picture.label, picture.found)
                if isinstance(picture, LesionPicture)
                else (picture.reference, picture.output)
            )
            scans, notes = self._read_scans(case, masks[0].grid)
            sight = mask_sight(*masks, images=scans, team=self.team)
        figures = case_figures(picture, case=case, team=self.team, name="case")
        return Look(sight, tuple(figures), notes)

    def _output_of(self, picture: Picture, case: str) -> Look:
        """What was handed in, without what it is compared with; structures and DVHs are of the reference, too."""
        output = picture.found if isinstance(picture, LesionPicture) else picture.output
        if isinstance(picture, DosePicture) and picture.alone is not None:
            output = picture.alone()
        scans, notes = self._read_scans(case, output.grid)
        if isinstance(picture, DosePicture):
            sight = output_sight(output, kind="dose", images=scans, team=self.team, oriented=picture.oriented)
            return Look(sight, (dose_still(sight, case=case, team=self.team),), notes)
        sight = output_sight(output, kind="masks", images=scans, team=self.team)
        return Look(sight, (output_still(sight, case=case, team=self.team),), notes)

    def _mask_alone(self, case: str, output: str, grid: Grid) -> Look:
        """The mask that was handed in; the reference is not opened."""
        file = self.outputs.get(case, {}).get(output)
        if file is None:
            return Look(None, notes=("There is no output to show.",))
        self._admit(case)
        found = self._read(output, self.challenge.output[output], file, grid)
        scans, notes = self._read_scans(case, grid)
        sight = output_sight(found, kind="masks", images=scans, team=self.team)
        return Look(sight, (output_still(sight, case=case, team=self.team),), notes)

    def _masks(self, case: str, reference: str, output: str) -> Look:
        """Masks as they were read, the union of their labels; an output that cannot be read leaves the reference."""
        at = next(item for item in self.cohort.cases if item.name == case)
        if not self.reference_visible:
            return self._mask_alone(case, output, at.grids[reference])
        truth = self._read(reference, self.challenge.reference[reference], at.files[reference], None)
        scans, notes = self._read_scans(case, truth.grid)
        found = None
        if file := self.outputs.get(case, {}).get(output):
            try:
                self._admit(case)
                found = self._read(output, self.challenge.output[output], file, truth.grid)
            except (ValueError, OSError) as error:
                notes = (f"The output cannot be shown: {_sentence(str(error))}", *notes)
        else:
            notes = ("There is no output to show; this is the reference alone.", *notes)
        sight = mask_sight(truth, found, images=scans, team=self.team)
        return Look(sight, (mask_still(sight, case=case, team=self.team),), notes)

    def _read(self, slot: str, spec: object, file: File, grid: Grid | None) -> Volume:
        assert isinstance(spec, MaskFile), slot
        labels: LabelMap = spec.read(file, grid=grid, policy=self.grid).value
        return Volume(labels.array, labels.grid)

    def _read_scans(self, case: str, grid: Grid) -> tuple[list[tuple[str, Volume]], tuple[str, ...]]:
        read, notes = [], []
        for scan in self.scans.get(case, ()):
            try:
                read.append((scan.name, scan.read(grid)))
            except (ValueError, OSError) as error:
                notes.append(f"The scan {scan.file.name} cannot be shown: {_sentence(str(error))}")
        if not read and not notes and self.reference_visible:
            notes.append(
                "No scan of this case was found, so there is none behind it; a folder of them can be given as images."
            )
        return read, tuple(notes)


def open_session(
    challenge: Challenge,
    result: Evaluation,
    *,
    reference: str | os.PathLike[str],
    submission: str | os.PathLike[str],
    team: str,
    grid: GridPolicy = "refuse",
    images: str | os.PathLike[str] | None = None,
    reference_visible: bool = True,
) -> Session:
    """Open a submission that was evaluated.

    Parameters
    ----------
    result
        What `evaluate` found with the same reference and submission.
    team
        What the submission is called on pages.
    images
        A folder or zip of scans, one or several per case; the reference's own if not given.
    reference_visible
        Whether who looks may see the reference. If not, there is the output alone, on scans from `images` alone, and
        its scores: no reference, difference, structure, DVH or observation is in any volume, picture or text.
    """
    if not reference_visible:
        result = Evaluation(without_observations(result.scores), result.problems, result.record)
    cohort = open_cohort(challenge, reference)
    names = [case.name for case in cohort.cases]
    listing = list_files(submission)
    if challenge.arrange is not None:
        listing = challenge.arrange(listing, {case.name: case.files for case in cohort.cases})
    return Session(
        challenge=challenge,
        cohort=cohort,
        reference=Path(reference),
        submission=Path(submission),
        team=team,
        grid=grid,
        cases={case.name: case for case in cases_of(result)},
        scans=_scans(reference if reference_visible else None, images, names),
        outputs=match(listing, challenge.output, cases=names).files,
        reference_visible=reference_visible,
    )


def _scans(
    reference: str | os.PathLike[str] | None, images: str | os.PathLike[str] | None, cases: list[str]
) -> Mapping[str, tuple[Scan, ...]]:
    """Those of a folder of their own, else of the reference; there, a name alone does not prove that it is a scan."""
    if images is not None:
        return find_scans(images, cases, scans_only=True)
    return {} if reference is None else find_scans(reference, cases)


def _mask_slots(challenge: Challenge) -> tuple[str, str] | None:
    """The mask of the reference and that of the output on its grid, which can be shown one without the other.

    Of several outputs it is the first mask, but the challenge's own picture goes before.
    """
    if challenge.depict is not None and len(challenge.output) > 1:
        return None
    for slot, spec in challenge.output.items():
        if isinstance(spec, MaskFile) and isinstance(challenge.reference.get(spec.grid_of or ""), MaskFile):
            return spec.grid_of or "", slot
    return None


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".") + "."
