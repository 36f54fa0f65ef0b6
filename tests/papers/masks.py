"""Editions with masks: boxes of voxels whose overlaps are counted by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isocenter import editions, scores
from isocenter.evaluation import evaluate, load_challenge
from isocenter.papers import Settings, Study, open_folder
from isocenter.report import Chart, Paragraph, Section, Table
from isocenter.volumes import Grid, Volume, write

GRID = Grid((14, 12, 8), (5.0, 5.0, 5.0), (0.0, 0.0, 0.0))
Box = tuple[int, int, int, int, int, int]
"""First and last voxel along x, y and z, the last not included."""

Boxes = Mapping[str, Sequence[Box | None]]
"""By team the mask of every case; None is no file, a box of no voxels is an empty mask."""


def mask_of(box: Box) -> NDArray[np.uint8]:
    """The array of a box."""
    array = np.zeros(GRID.shape, np.uint8)
    x0, x1, y0, y1, z0, z1 = box
    array[x0:x1, y0:y1, z0:z1] = 1
    return array


def dice(a: NDArray[np.bool_], b: NDArray[np.bool_]) -> float:
    """As the definition has it; 1 of two empty masks."""
    total = int(a.sum()) + int(b.sum())
    return 2 * int((a & b).sum()) / total if total else 1.0


def write_masks(folder: Path, boxes: Sequence[Box | None], *, names: Sequence[str]) -> None:
    """One NIfTI file per case that has a box."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, box in zip(names, boxes, strict=True):
        if box is not None:
            write(Volume(mask_of(box), GRID), folder / f"{name}.nii.gz")


def write_edition(
    home: Path,
    challenge: str,
    truth: Sequence[Box],
    teams: Boxes,
    *,
    submissions: str = "",
    keep: bool = True,
    weights: Sequence[float] = (),
) -> list[str]:
    """Reference, submissions, score tables and challenge.toml; without `keep` the masks of the teams are elsewhere."""
    which = load_challenge(challenge)
    editions.write(editions.new(which), home)
    names = [f"P{number:02d}" for number in range(1, len(truth) + 1)]
    write_masks(home / "reference", truth, names=names)
    if weights:
        listed = "".join(f"{name},{weight}\n" for name, weight in zip(names, weights, strict=True))
        (home / "reference" / "cases.csv").write_text(f"case,weight\n{listed}", encoding="utf-8")
    for number, (team, boxes) in enumerate(teams.items()):
        place = home / "submissions" / team if keep else home.with_name(f"{home.name}-masks") / str(number)
        write_masks(place, boxes, names=names)
        result = evaluate(which, reference=home / "reference", submission=place)
        scores.write(result.scores, home / "scores" / f"{team}.parquet", record=result.record)
    if submissions:
        (home / "submissions.csv").write_text(submissions, encoding="utf-8")
    return names


def study_of(home: Path) -> Study:
    """Without draws, which these chapters do not look at."""
    return Study(open_folder(home), Settings(replicates=0))


def everything(sections: Sequence[Section]) -> str:
    """All that a reader could find: texts, tables, pictures and the numbers behind them."""
    parts = []
    for section in sections:
        for block in section.blocks:
            match block:
                case Paragraph():
                    parts.append(block.text)
                case Table():
                    parts += [block.caption, *block.notes, *(column.title for column in block.columns)]
                    parts += [cell if isinstance(cell, str) else cell.text for row in block.rows for cell in row]
                case Chart():
                    parts += [block.caption, str(block.picture)]
                    parts.append("" if block.data is None else block.data.write_csv())
    return "\n".join(parts)


def block(sections: Sequence[Section], name: str) -> Table | Chart:
    """A table or picture by its name."""
    found = [one for section in sections for one in section.blocks if getattr(one, "name", "") == name]
    assert len(found) == 1, name
    assert isinstance(found[0], Table | Chart)
    return found[0]


def rows(sections: Sequence[Section], name: str) -> list[list[str]]:
    """The texts of a table."""
    table = block(sections, name)
    assert isinstance(table, Table)
    return [[cell if isinstance(cell, str) else cell.text for cell in row] for row in table.rows]


def notes(section: Section) -> str:
    """Its small print."""
    return " ".join(one.text for one in section.blocks if isinstance(one, Paragraph) and one.note)
