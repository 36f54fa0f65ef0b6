"""Outlines of masks over images."""

from __future__ import annotations

import re

import numpy as np
import pytest

from isocenter.evaluation import MaskPicture
from isocenter.report import Chart, Report, Section, case_figures, contour_slices, report_pdf
from isocenter.volumes import Grid, Volume

GRID = Grid((40, 30, 8), (1.0, 1.0, 3.0), (0.0, 0.0, 0.0))


def box(x: int, y: int, z: int, size: int = 10) -> np.ndarray:
    mask = np.zeros(GRID.shape, np.uint8)
    mask[x : x + size, y : y + size, z : z + 2] = 1
    return mask


def test_the_largest_slice_and_that_of_the_largest_error_are_shown() -> None:
    truth, team = box(5, 5, 2), box(5, 5, 2)
    truth[5:9, 5:9, 4] = 1
    team[:, :, 6] = 1
    picture = contour_slices({"Reference": truth, "Team": team}, grid=GRID, title="t", name="n")
    assert re.findall(r">Slice (\d)</text>", picture) == ["2", "6"]


def test_every_image_is_the_ground_of_every_slice() -> None:
    rng = np.random.default_rng(0)
    images = {"CT": rng.normal(size=GRID.shape), "PET": np.full(GRID.shape, np.nan)}
    picture = contour_slices({"Reference": box(5, 5, 2)}, images=images, grid=GRID, title="t", name="n")
    assert picture.count("<image") == 2
    assert "PET, slice 2" in picture


def test_lines_differ_by_their_dashes_too() -> None:
    masks = {f"m{n}": box(5 + n, 5, 2) for n in range(4)}
    picture = contour_slices(masks, grid=GRID, title="t", name="n")
    dashes = re.findall(r"\.mask\d\{stroke:[^;]+;stroke-dasharray:([^}]+)\}", picture)
    assert len(set(dashes)) == 4
    assert len(re.findall(r'class="mask\d" d="M-17', picture)) == 4


def test_what_is_empty_is_said() -> None:
    nothing = np.zeros(GRID.shape, np.uint8)
    picture = contour_slices({"Reference": box(5, 5, 2), "Team": nothing}, grid=GRID, title="t", name="n")
    assert "Nothing is marked by Team." in picture
    picture = contour_slices({"Reference": nothing}, grid=GRID, title="t", name="n")
    assert ">Slice 4</text>" in picture


def test_names_are_escaped_and_the_picture_can_be_printed() -> None:
    picture = contour_slices({"<script>": box(5, 5, 2), "🫁" * 80: box(6, 5, 2)}, grid=GRID, title="<t>", name="n")
    assert "<script>" not in picture
    report = Report("t", "", (Section("s", "S", (Chart("c", "A case.", picture),)),))
    assert report_pdf(report).startswith(b"%PDF")


def test_scattered_voxels_do_not_make_a_page_of_megabytes() -> None:
    grid = Grid((512, 512, 2), (1.0, 1.0, 3.0), (0.0, 0.0, 0.0))
    noise = np.random.default_rng(0).random(grid.shape) < 0.5
    assert len(contour_slices({"Reference": noise}, grid=grid, title="t", name="n")) < 300_000


def test_other_shapes_and_too_many_masks_are_refused() -> None:
    with pytest.raises(ValueError, match="Team has shape"):
        contour_slices({"R": box(5, 5, 2), "Team": np.zeros((3, 3, 3))}, grid=GRID, title="t", name="n")
    with pytest.raises(ValueError, match="one to 4 masks"):
        contour_slices({str(n): box(5, 5, 2) for n in range(5)}, grid=GRID, title="t", name="n")


def test_a_case_of_masks_is_one_figure_of_both_outlines() -> None:
    shifted = Volume(box(8, 5, 2), GRID)
    (figure,) = case_figures(MaskPicture(Volume(box(5, 5, 2), GRID), shifted), case="A1", team="Team", name="first")
    assert (figure.name, figure.title) == ("first-slices", "A1: what Team outlined")
    assert re.findall(r'<path class="(mask\d)" d="M[^"]+"><title>(\w+)<', figure.picture) == [
        ("mask1", "Team"),
        ("mask0", "Reference"),
    ]


def test_a_team_that_calls_itself_reference_still_has_its_outline() -> None:
    picture = MaskPicture(Volume(box(5, 5, 2), GRID), Volume(box(8, 5, 2), GRID))
    (figure,) = case_figures(picture, case="A1", team="Reference")
    assert "<title>Reference (submission)</title>" in figure.picture
    assert "<title>Reference</title>" in figure.picture
