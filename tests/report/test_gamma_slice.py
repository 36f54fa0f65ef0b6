"""Gamma beside two doses: which colour means what, and what is said of it."""

from __future__ import annotations

import base64
import re
import zlib

import numpy as np
import pytest
from numpy.typing import NDArray

from isocenter.report import gamma_slice
from isocenter.report._gamma_slice import _colours, _painted

SPACING = (2.0, 3.0)


def draw(gamma: NDArray[np.float64], **more: object) -> str:
    dose = np.full(gamma.shape, 60.0)
    options = {"spacing": SPACING, "title": "Gamma of a case", "criterion": "1 % local, 1 mm", **more}
    return str(gamma_slice(dose, dose, gamma, **options))


def numbers(address: str, shape: tuple[int, int]) -> NDArray[np.uint8]:
    """The numbers of colours in a PNG in a data address, by row and column."""
    content = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    start = content.index(b"IDAT") + 4
    size = int.from_bytes(content[start - 8 : start - 4], "big")
    rows = np.frombuffer(zlib.decompress(content[start : start + size]), np.uint8).reshape(shape[0], shape[1] + 1)
    return rows[:, 1:]


def test_one_still_passes_and_what_is_above_fails_and_no_number_is_neither() -> None:
    found = numbers(_painted(np.array([[0.0, 1.0, np.nextafter(1.0, 2.0), 2.0, 9.0, np.inf, np.nan]])), (1, 7))
    assert found.tolist() == [[0, 127, 128, 254, 254, 254, 255]]


def test_what_passes_is_paler_than_what_fails_in_grey_too() -> None:
    grey = _colours()[:255].astype(float) @ [0.299, 0.587, 0.114]
    assert (np.diff(grey) <= 0.5).all()
    assert grey[:128].min() - grey[128:].max() > 50


def test_it_says_in_words_how_much_of_the_slice_passes() -> None:
    gamma = np.full((12, 10), 0.5)
    gamma[0], gamma[1, 0] = np.nan, 1.5
    text = draw(gamma)
    assert "99.1 % of the 110 pixels evaluated in this slice pass 1 % local, 1 mm; the largest gamma is 1.50." in text
    assert "No pixel of this slice was evaluated." in draw(np.full((12, 10), np.nan))


def test_the_last_picture_is_gamma_with_the_first_axis_to_the_right() -> None:
    gamma = np.full((4, 3), 0.0)
    gamma[3, 0] = 2.0
    images = re.findall(r'href="(data:image/png[^"]+)"', draw(gamma))
    assert numbers(images[2], (3, 4)).tolist() == [[0, 0, 0, 254], [0, 0, 0, 0], [0, 0, 0, 0]]


def test_names_and_structures_are_text() -> None:
    mask = np.zeros((12, 10), bool)
    mask[3:6, 3:6] = True
    text = draw(np.zeros((12, 10)), names=("Reference", "<b>"), masks={"PTV & co": mask, "absent": ~mask & mask})
    assert "<b>" not in text
    assert "&lt;b&gt;" in text
    assert "Outlined: PTV &amp; co." in text


@pytest.mark.parametrize("shape", [(3, 3), (4, 4)])
def test_three_that_are_no_one_slice_are_refused(shape: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"no one slice: their shapes are \(4, 3\), \(4, 3\), "):
        gamma_slice(np.ones((4, 3)), np.ones((4, 3)), np.ones(shape), spacing=SPACING, title="", criterion="")
