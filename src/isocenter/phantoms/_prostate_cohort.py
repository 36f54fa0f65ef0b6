"""A whole synthetic challenge in prostate cancer on disk: references, submissions, and what radiologists read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from isocenter.atomic import write_text
from isocenter.phantoms._cohort import CohortFiles, ask_for_room, make_room
from isocenter.phantoms._prostate import ProstateExam, prostate_exam
from isocenter.phantoms._prostate_readers import READERS, Reading, read_exam
from isocenter.phantoms._prostate_study import write_scans
from isocenter.phantoms._prostate_teams import TEAMS_PICAI, DetectionTeam, detect
from isocenter.volumes import write

_Progress = Callable[[str], object]

_SPLIT_FROM = 20  # cases; with fewer every reader reads all, with more half of them
_FACTS = ("center", "vendor", "isup", "psa", "age")


def write_picai_cohort(
    folder: str | os.PathLike[str],
    *,
    cases: int = 40,
    seed: int = 0,
    scans: bool = False,
    progress: _Progress | None = None,
) -> CohortFiles:
    """Write synthetic exams of the prostate as PI-CAI would hold them, and what each of `TEAMS_PICAI` detects.

    ::

        folder/
          reference/PCA001.nii.gz …                      lesions, with their ISUP grade
          reference/cases.csv                            case,weight,center,vendor,isup,psa,age
          submissions/Limmat/PCA001.mha …                detection maps; .nii.gz for other teams
          submissions/Limmat/likelihoods.json            {"PCA001": 0.31, …}; "max" for one team
          submissions/Ticino/instance-1/PCA001.nii.gz …  a team with five instances, each with its likelihoods
          reads.csv                                      reader,modality,case,score,x,y,z,pirads
          images/PCA001_t2w.mha, _adc, _hbv, _dce …      if scans are asked for

    One team leaves out a case, the fifth. In `reads.csv` a reading has a row per mark, or one without a mark. All
    `READERS` read every case if there are fewer than 20. Otherwise it is a split plot: cases with and without cancer,
    and experts and others, are dealt to two blocks in turn, and a reader reads the cases of the own block.

    Parameters
    ----------
    folder
        Made if need be. Its folders `reference` and `submissions`, and `images` if it is to be written, must be new or
        empty, and `reads.csv` not there yet.
    cases
        How many patients. A larger number adds files and lines and changes none, except that from 20 on a case is no
        longer read by all.
    scans
        Whether to write the scans of every exam, too: 0.9 MB each exam. Nothing else depends on it.
    progress
        Called with the name of each case once its files are written.
    """
    reads = Path(folder, "reads.csv")
    if reads.exists():
        msg = f"{reads} is already there; a synthetic cohort is written into a new folder, so that nothing old is lost"
        raise FileExistsError(msg)
    images = Path(folder, "images") if scans else None
    if images is not None:
        ask_for_room(images)
    reference, submissions = make_room(folder, [team.name for team in TEAMS_PICAI], cases=cases)
    entries = [entry for team in TEAMS_PICAI for entry in _entries(team, submissions[team.name])]
    facts: dict[str, Mapping[str, str]] = {}
    readings: dict[str, list[Reading]] = {}
    for number in range(1, cases + 1):
        name, exam = f"PCA{number:03d}", prostate_exam(number, seed=seed)
        write(exam.lesions, reference / f"{name}.nii.gz")
        if images is not None:
            write_scans(exam, images, prefix=f"{name}_")
        for entry in entries:
            entry.add(exam, name, number=number, seed=seed)
        facts[name] = exam.facts
        readings[name] = [read_exam(exam, reader, number=number, seed=seed) for reader in READERS]
        if progress is not None:
            progress(name)
    for entry in entries:
        entry.close()
    _write_table(reference / "cases.csv", ["case", "weight", *_FACTS], _case_rows(facts))
    _write_table(reads, ["reader", "modality", "case", "score", "x", "y", "z", "pirads"], _read_rows(facts, readings))
    roles = {team.name: team.role for team in TEAMS_PICAI}
    return CohortFiles(reference, submissions, roles, tuple(facts), reads=reads, images=images)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A folder of outputs, of a team or of one of its instances, and the likelihoods that go with them."""

    team: DetectionTeam
    instance: int
    folder: Path
    likelihoods: dict[str, float] = field(default_factory=dict)

    def add(self, exam: ProstateExam, name: str, *, number: int, seed: int) -> None:
        """Write the detection map of a case, unless it is the one that the team leaves out."""
        if number == self.team.leaves_out:
            return
        found = detect(exam, self.team, number=number, seed=seed, instance=self.instance)
        write(found.map, self.folder / f"{name}{self.team.suffix}")
        self.likelihoods[name] = found.likelihood

    def close(self) -> None:
        """Write the likelihoods of all cases."""
        stated = "max" if self.team.likelihood == "max" else self.likelihoods
        write_text(json.dumps(stated, indent=1) + "\n", self.folder / "likelihoods.json")


def _entries(team: DetectionTeam, folder: Path) -> list[_Entry]:
    """The folders that a team fills, made: its own, or one for each of its instances."""
    if team.instances == 1:
        return [_Entry(team, 0, folder)]
    entries = [_Entry(team, number, folder / f"instance-{number}") for number in range(1, team.instances + 1)]
    for entry in entries:
        entry.folder.mkdir(exist_ok=True)
    return entries


def _case_rows(facts: Mapping[str, Mapping[str, str]]) -> Iterator[list[str]]:
    for name, about in facts.items():
        yield [name, "1", *(about[fact] for fact in _FACTS)]


def _read_rows(facts: Mapping[str, Mapping[str, str]], readings: Mapping[str, list[Reading]]) -> Iterator[list[str]]:
    """Case by case, so that a larger table begins with a smaller one."""
    blocks = _deal(int(about["isup"]) >= 2 for about in facts.values())
    own = _deal(reader.expert for reader in READERS)
    for (name, made), block in zip(readings.items(), blocks, strict=True):
        for reader, reading, mine in zip(READERS, made, own, strict=True):
            if len(facts) < _SPLIT_FROM or mine == block:
                start = [reader.name, "bpMRI", name, str(reading.score)]
                for (x, y, z), pirads in reading.marks:
                    yield [*start, f"{x:.2f}", f"{y:.2f}", f"{z:.2f}", str(pirads)]
                if not reading.marks:
                    yield [*start, "", "", "", ""]


def _deal(strata: Iterable[bool]) -> list[int]:
    """Block 0 or 1 for each: those of one stratum in turn; the two strata begin with different blocks."""
    following = {True: 0, False: 1}
    blocks = []
    for stratum in strata:
        blocks.append(following[stratum])
        following[stratum] = 1 - following[stratum]
    return blocks


def _write_table(path: Path, header: list[str], rows: Iterable[list[str]]) -> None:
    write_text("".join(",".join(row) + "\n" for row in (header, *rows)), path)
