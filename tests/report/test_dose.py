"""Pictures of dose, as the SVG that a browser gets: lines where the numbers are, colours that mean what they should."""

from __future__ import annotations

import base64
import itertools
import math
import re
import struct
import xml.etree.ElementTree as ET
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isocenter.metrics.dvh import dvh_of
from isocenter.report._dose import axial_letters, dose_slices, dvh_plot, pick_slice
from isocenter.report._dose_dvh import _COLOURS
from isocenter.report._dose_image import outlines, palette, png
from isocenter.volumes import Grid

RNG = np.random.default_rng(5)
PTV = dvh_of(RNG.normal(70, 1, 5000), voxel_volume=30.0)
CORD = dvh_of(RNG.gamma(4, 6, 800), voxel_volume=30.0)
WORSE = dvh_of(RNG.normal(68, 2, 5000), voxel_volume=30.0)
EMPTY = dvh_of(np.empty(0), voxel_volume=1.0)


def parse(markup):
    return ET.fromstring(str(markup))


def of_class(markup, css):
    return [element for element in parse(markup).iter() if css in element.get("class", "").split()]


def texts(markup):
    return [element.text for element in parse(markup).iter("text")]


def paths(markup):
    """Corners of every curve, by the title of its path, in thousandths of the drawing from the top left."""
    return {
        path.findtext("title"): np.array([pair.split() for pair in path.get("d")[1:].split("L")], float)
        for path in parse(markup).iter("path")
    }


def plot(**options):
    structures = {"PTV70": (PTV.curve(), WORSE.curve()), "SpinalCord": (CORD.curve(), None)}
    return dvh_plot(structures, title="Histograms of case 7", **options)


# Histograms ----------------------------------------------------------------------------------------------------------


def test_each_curve_is_drawn_where_its_volumes_are():
    drawn = paths(plot(team="Aare"))
    assert list(drawn) == ["PTV70, Reference", "PTV70, Aare", "SpinalCord, Reference"]
    highest = 1.03 * max(PTV.max, WORSE.max, CORD.max)
    for name, dvh in zip(drawn, (PTV, WORSE, CORD), strict=True):
        points = drawn[name]
        for dose in np.linspace(1, dvh.max, 40):
            # Between corners the line is straight; within two thousandths of the axis it has the exact volume.
            near = np.interp([dose / highest * 1000 - 2, dose / highest * 1000 + 2], points[:, 0], points[:, 1])
            exact = 1000 - 10 * dvh.evaluate(f"V{dose:.6f}Gy[%]").value
            assert near[0] - 2 <= exact <= near[1] + 2


def test_the_team_is_dashed_and_the_reference_is_not():
    assert [path.findtext("title") for path in of_class(plot(), "team") if path.tag == "path"] == ["PTV70, Team"]
    assert ".dvh .team{stroke-dasharray" in str(plot())


def test_without_a_team_there_is_no_legend():
    plain = dvh_plot({"PTV70": (PTV.curve(), None)}, title="One")
    assert "Reference" not in texts(plain)
    assert {"Reference", "Team"} <= set(texts(plot()))


def test_axes_have_units_and_round_numbers():
    found = texts(plot())
    assert {"Volume (%)", "Dose (Gy)", "0", "20", "40", "60", "80", "100"} <= set(found)
    absolute = dvh_plot({"PTV70": (PTV.curve(relative=False), None)}, title="One")
    assert "Volume (cc)" in texts(absolute)
    assert "150" in texts(absolute)


def test_per_cent_and_cc_do_not_share_an_axis():
    with pytest.raises(ValueError, match="others in cc"):
        dvh_plot({"A": (PTV.curve(), None), "B": (PTV.curve(relative=False), None)}, title="Mixed")


def test_every_structure_is_named_at_a_height_of_its_own_with_a_dot_on_its_curve():
    many = {
        f"Organ {n}": (dvh_of(RNG.normal(30 + n, 5, 400).clip(0), voxel_volume=9.0).curve(), None) for n in range(14)
    }
    drawing = dvh_plot(many, title="Many")
    labels = [text for text in of_class(drawing, "ink") if text.get("dx")]
    assert sorted(label.text for label in labels) == sorted(many)
    heights = sorted(float(label.get("y")) for label in labels)
    assert min(np.diff(heights)) > 14
    # A dot's colour is that of the curve it lies on.
    lines = {path.get("style").split(":", 1)[1]: path for path in parse(drawing).iter("path")}
    assert len(lines) == 10  # the colours begin again
    svg = parse(drawing).find("svg")
    left, width, top, height = (float(svg.get(key).rstrip("%")) for key in ("x", "width", "y", "height"))
    corners = paths(drawing)
    for label, dot in zip(labels, parse(drawing).iter("circle"), strict=True):
        x = (float(dot.get("cx").rstrip("%")) - left) / width * 1000
        y = (float(dot.get("cy")) - top) / height * 1000
        points = corners[f"{label.text}, Reference"]
        assert x == pytest.approx(np.interp(y, points[:, 1], points[:, 0]), abs=4)


def test_a_name_lies_on_the_side_where_there_is_room():
    def side(name, doses):
        """Left or right of its curve, when every dose has a curve that falls steeply there."""
        curves = {key: dvh_of(np.linspace(at, at + 1, 200), voxel_volume=9.0).curve() for key, at in doses.items()}
        drawing = dvh_plot({key: (curve, None) for key, curve in curves.items()}, title="Steep")
        label = next(text for text in of_class(drawing, "ink") if text.text == name)
        return "left" if "end" in label.get("class").split() else "right"

    assert side("Parotid", {"Parotid": 20, "Target": 60}) == "right"
    assert side("Parotid", {"Parotid": 20, "Target": 22}) == "left"  # another curve is in the way
    assert side("Target", {"Target": 60}) == "left"  # the picture ends


def test_more_structures_than_there_is_room_for_are_all_named():
    many = {f"S{n}": (CORD.curve(), None) for n in range(40)}
    assert set(many) <= set(texts(dvh_plot(many, title="Far too many")))


def test_an_empty_structure_is_said_and_not_drawn():
    drawing = dvh_plot({"PTV70": (PTV.curve(), EMPTY.curve()), "Lens": (EMPTY.curve(), None)}, title="Some")
    assert list(paths(drawing)) == ["PTV70, Reference"]
    assert "Empty, not drawn: Lens" in texts(drawing)
    assert "Lens: empty." in parse(drawing).findtext("desc")


def test_nothing_to_draw_is_an_empty_frame():
    assert paths(dvh_plot({}, title="Nothing")) == {}


def test_who_cannot_see_it_is_told_medians_and_maxima():
    drawing = parse(plot(team="Aare", name="case7"))
    assert drawing.get("role") == "img"
    assert drawing.get("aria-labelledby") == "case7-title case7-desc"
    assert drawing.findtext("title") == "Histograms of case 7"
    said = re.fullmatch(
        r"PTV70: Reference median (.*) Gy, maximum (.*) Gy; Aare median (.*) Gy, maximum (.*) Gy. "
        r"SpinalCord: Reference median (.*) Gy, maximum (.*) Gy.",
        drawing.findtext("desc"),
    )
    expected = [value for dvh in (PTV, WORSE, CORD) for value in (np.median(dvh.doses), dvh.max)]
    assert [float(number) for number in said.groups()] == pytest.approx(expected, abs=0.15)


def test_the_same_curves_give_the_same_picture_of_moderate_size():
    large = dvh_of(np.random.default_rng(0).normal(60, 5, 300_000).clip(0), voxel_volume=1.0)
    first, second = (dvh_plot({"Body": (large.curve(), None)}, title="Large") for _ in range(2))
    assert first == second
    assert len(first) < 8000


def test_a_name_cannot_become_markup():
    name = "<script>alert(1)</script>&\"'"
    drawing = dvh_plot({name: (PTV.curve(), WORSE.curve())}, title=name, reference=name, team=name)
    assert "<script" not in str(drawing)
    assert parse(drawing).findtext("title") == name


def luminance(colour):
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (b / 255 for b in bytes.fromhex(colour[1:]))
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_lines_stand_out_from_the_page_in_both_of_its_colours():
    for light, dark in _COLOURS.items():
        assert 1.05 / (luminance(light) + 0.05) >= 3
        assert (luminance(dark) + 0.05) / (luminance("#14171a") + 0.05) >= 3


# Pixels and outlines -------------------------------------------------------------------------------------------------


def decoded(data):
    """Rows of colours of a PNG, after checking every check sum."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    chunks, at = {}, 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
        chunks[kind] = body
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"PLTE", b"IDAT", b"IEND"]
    width, height = struct.unpack(">II", chunks[b"IHDR"][:8])
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(height, width + 1)
    assert not rows[:, 0].any()
    return np.frombuffer(chunks[b"PLTE"], np.uint8).reshape(-1, 3)[rows[:, 1:]]


@given(hnp.arrays(np.uint8, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.integers(0, 254)))
def test_a_png_holds_the_pixels_it_was_made_of(numbers):
    colours = palette(diverging=False)
    assert np.array_equal(decoded(png(numbers, colours)), colours[numbers])


def test_the_dose_map_only_becomes_lighter_and_the_other_is_neutral_in_the_middle():
    rising = [luminance(f"#{bytes(colour).hex()}") for colour in palette(diverging=False)[::6]]
    assert all(a < b for a, b in itertools.pairwise(rising))
    both = [luminance(f"#{bytes(colour).hex()}") for colour in palette(diverging=True)]
    assert int(np.argmax(both)) == 127
    assert bytes(palette(diverging=True)[127]).hex() == "f7f7f7"


def crossings(line, x, y):
    """How often a ray to the right meets a closed line."""
    count = 0
    for (x0, y0), (x1, y1) in zip(line, [*line[1:], line[0]], strict=True):
        if (y0 > y) != (y1 > y):
            count += x < x0 + (y - y0) / (y1 - y0) * (x1 - x0)
    return count


@given(hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, max_side=7)))
def test_a_pixel_is_within_the_outlines_if_and_only_if_it_is_in_the_mask(mask):
    lines = outlines(mask)
    for (i, j), within in np.ndenumerate(mask):
        # A hair off the centre, as no corner of an outline lies there.
        assert sum(crossings(line, i + 1e-3, j + 1e-4) for line in lines) % 2 == within


def test_a_hole_has_an_outline_of_its_own_and_straight_pieces_have_no_corners():
    mask = np.ones((9, 9), bool)
    mask[4, 4] = False
    assert sorted(len(line) for line in outlines(mask)) == [4, 8]


# Slices --------------------------------------------------------------------------------------------------------------


def doses():
    """A hot disc in 40 × 30 pixels; the team gives 4 Gy too much in one of them and 6 Gy too little in another."""
    x, y = np.meshgrid(np.arange(40), np.arange(30), indexing="ij")
    reference = np.where((x - 20) ** 2 + (y - 15) ** 2 < 64, 60.0, 0.0)
    evaluation = reference.copy()
    evaluation[24, 15] += 4.0
    evaluation[16, 12] -= 6.0
    return reference, evaluation


def picture(**options):
    settings = {"spacing": (2.0, 3.0), "title": "Slice 12", "limit": 8.0} | options
    reference, evaluation = settings.pop("pair", doses())
    return dose_slices(reference, evaluation, **settings)


def images(markup):
    """The pictures of the three panels, and where each lies: x, y, width, height."""
    found = []
    for image in list(parse(markup).iter("image"))[:3]:
        pixels = decoded(base64.b64decode(image.get("href").removeprefix("data:image/png;base64,")))
        found.append((pixels, [float(image.get(key)) for key in ("x", "y", "width", "height")]))
    return found


def test_three_panels_show_reference_team_and_their_difference():
    reference, evaluation = doses()
    (first, _), (second, _), (third, _) = images(picture())
    sequential, diverging = palette(diverging=False), palette(diverging=True)
    # Cut to the disc (x 13…27, y 8…22) and 8 mm around it: 4 pixels of 2 mm, 3 of 3 mm. Rows run down, so y first.
    cut = (slice(9, 32), slice(5, 26))
    assert first.shape == (21, 23, 3)
    top = 80.0  # 64 Gy, rounded up
    for pixels, dose in ((first, reference), (second, evaluation)):
        assert np.array_equal(pixels, sequential[np.rint(dose[cut].T / top * 254).astype(int)])
    difference = (evaluation - reference)[cut].T
    assert np.array_equal(third, diverging[np.rint((difference + 8) / 16 * 254).astype(int)])


def test_a_haze_of_low_dose_around_is_cut_off():
    reference, evaluation = doses()
    hazy = picture(pair=(reference + 2.0, evaluation + 2.0))  # a thirtieth of the highest dose
    assert images(hazy)[0][0].shape == (21, 23, 3)
    washed = picture(pair=(reference + 5.0, evaluation + 5.0))
    assert images(washed)[0][0].shape == (30, 40, 3)


def test_equal_differences_of_either_sign_are_equally_far_from_white():
    reference = np.full((8, 8), 50.0)
    evaluation = reference.copy()
    evaluation[1, 1], evaluation[6, 6] = 53.0, 47.0
    third = images(picture(pair=(reference, evaluation)))[2][0]
    numbers = {tuple(colour): number for number, colour in enumerate(palette(diverging=True).tolist())}
    assert numbers[tuple(third[0, 0].tolist())] == 127
    assert numbers[tuple(third[1, 1].tolist())] - 127 == 127 - numbers[tuple(third[6, 6].tolist())] > 0


def test_millimetres_are_square():
    for _, (_, _, width, height) in images(picture()):
        assert width / height == pytest.approx(23 * 2.0 / (21 * 3.0), rel=1e-2)
    tall = picture(pair=(np.ones((4, 60)), np.ones((4, 60))))
    for _, (_, _, width, height) in images(tall):
        assert width / height == pytest.approx(4 * 2.0 / (60 * 3.0), rel=2e-2)
        assert height <= 340


def test_the_largest_differences_are_marked_with_their_sign():
    assert {"+4.0 Gy", "−6.0 Gy"} <= set(texts(picture()))
    assert len(of_class(picture(), "mark")) == 2
    same = picture(pair=(doses()[0], doses()[0]))
    assert not of_class(same, "mark")


def test_colour_bars_have_round_numbers_and_say_where_they_were_clipped():
    assert {"Dose (Gy)", "Difference (Gy)", "0", "80", "−8", "−4", "+4", "+8"} <= set(texts(picture()))
    clipped = texts(picture(limit=5.0))
    assert "≤ −5" in clipped
    assert "+5" in clipped


def test_without_a_limit_the_scale_is_a_round_number_that_nearly_all_pixels_keep():
    reference = np.full((20, 20), 50.0)
    evaluation = reference + np.linspace(-2.7, 2.7, 400).reshape(20, 20)
    evaluation[0, 0] = 0.0  # one pixel in 400 does not set the scale
    found = texts(picture(pair=(reference, evaluation), limit=None))
    assert {"≤ −3", "+3"} <= set(found)


def test_structures_are_outlined_in_every_panel_and_named_in_the_first():
    mask = np.zeros((40, 30), bool)
    mask[16:24, 12:18] = True
    drawing = picture(masks={"PTV70": mask, "Lens": np.zeros((40, 30), bool)})
    assert [path.findtext("title") for path in of_class(drawing, "line0")].count("PTV70") == 2
    assert [path.findtext("title") for path in of_class(drawing, "line1")].count("PTV70") == 1
    assert texts(drawing).count("PTV70") == 1
    assert "Lens" not in texts(drawing)
    assert "Outlined: PTV70." in parse(drawing).find("svg").findtext("desc")
    # Its outline surrounds its pixels: 8 × 6 of them, 2 × 3 mm each, in the panel's units per millimetre.
    (_, (x, y, width, _)), *_ = images(drawing)
    scale = width / (23 * 2.0)
    line = next(path for path in of_class(drawing, "line0") if path.findtext("title") == "PTV70").get("d")
    corners = np.array([pair.split() for pair in line[1:-1].split("L")], float)
    assert corners.min(axis=0) == pytest.approx([x + (16 - 9) * 2 * scale, y + (12 - 5) * 3 * scale], abs=0.11)
    assert corners.max(axis=0) == pytest.approx([x + (24 - 9) * 2 * scale, y + (18 - 5) * 3 * scale], abs=0.11)


def test_names_of_neighbours_do_not_lie_on_each_other():
    masks = {}
    for n in range(5):
        masks[f"Structure {n}"] = np.zeros((40, 30), bool)
        masks[f"Structure {n}"][12 + 3 * n : 15 + 3 * n, 12:16] = True
    named = [text for text in of_class(picture(masks=masks), "on") if text.text.startswith("Structure")]
    places = [(float(text.get("x")), float(text.get("y"))) for text in named]
    assert len(places) == 5
    for (x0, y0), (x1, y1) in itertools.combinations(places, 2):
        assert abs(y0 - y1) >= 11 or abs(x0 - x1) >= 70


def test_a_ruler_gives_a_length_that_is_true():
    drawing = picture()
    assert "10 mm" in texts(drawing)  # a third of 46 mm, rounded down
    bar = next(path.get("d") for path in of_class(drawing, "line0") if "h" in path.get("d"))
    length = float(re.search(r"h([\d.]+)", bar).group(1))
    assert length == pytest.approx(images(drawing)[0][1][2] / 46 * 10, abs=0.11)


def test_directions_are_shown_only_if_they_are_known():
    assert not {"R", "L", "A", "P"} & set(texts(picture()))
    assert {"R", "L", "A", "P"} <= set(texts(picture(letters="RLAP")))
    with pytest.raises(ValueError, match="letters are four"):
        picture(letters="RL")


def test_directions_come_from_the_grid():
    assert axial_letters(Grid((2, 2, 2))) == "RLAP"
    assert axial_letters(Grid((2, 2, 2), direction=(-1, 0, 0, 0, -1, 0, 0, 0, 1))) == "LRPA"
    assert axial_letters(Grid((2, 2, 2), direction=(0, 1, 0, 1, 0, 0, 0, 0, 1))) == "APRL"
    assert axial_letters(Grid((2, 2, 2), direction=(1, 0, 0, 0, 0, 1, 0, -1, 0))) == "RLSI"


def test_who_cannot_see_the_slice_is_told_the_differences():
    svg = parse(picture(names=("Plan", "Aare"), name="s12")).find("svg")
    assert svg.get("aria-labelledby") == "s12-title s12-desc"
    assert svg.findtext("title") == "Slice 12"
    assert "Aare differs from Plan by 0.02 Gy on average in this slice, by −6.0 to +4.0 Gy" in svg.findtext("desc")


def test_an_empty_dose_is_shown_whole():
    nothing = np.zeros((6, 5))
    first = images(picture(pair=(nothing, nothing), limit=None))[0][0]
    assert first.shape == (5, 6, 3)
    assert (first == palette(diverging=False)[0]).all()


def test_negative_doses_have_the_lowest_colour():
    reference = np.full((5, 5), 10.0)
    evaluation = reference.copy()
    evaluation[2, 2] = -3.0
    assert np.array_equal(images(picture(pair=(reference, evaluation)))[1][0][2, 2], palette(diverging=False)[0])


def test_the_picture_needs_nothing_else_and_stays_the_same():
    drawing = picture(names=("<b>", "&"), masks={"<i>": np.ones((40, 30), bool)}, letters="RLAP")
    assert drawing == picture(names=("<b>", "&"), masks={"<i>": np.ones((40, 30), bool)}, letters="RLAP")
    assert not re.search(r"https?://|<script|<b>|<i>", str(drawing))
    assert all(image.get("href").startswith("data:image/png;base64,") for image in parse(drawing).iter("image"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pair": (np.ones((3, 3)), np.ones((3, 4)))}, "shape"),
        ({"pair": (np.ones((3, 3, 3)), np.ones((3, 3, 3)))}, "two axes"),
        ({"pair": (np.full((3, 3), np.nan), np.ones((3, 3)))}, "the reference is not finite in 9 of 9 pixels"),
        ({"pair": (np.ones((3, 3)), np.array([[1, 2, math.inf]] * 3))}, "the evaluation is not finite in 3 of 9"),
        ({"spacing": (1.0, 0.0)}, "positive numbers of millimetres"),
        ({"limit": 0.0}, "positive number of Gy"),
        ({"limit": math.nan}, "positive number of Gy"),
        ({"masks": {"PTV": np.ones((3, 3), bool)}}, "the mask of PTV has shape"),
    ],
)
def test_bad_input_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        picture(**options)


def test_the_slice_with_the_largest_target_or_error_is_picked():
    volume = np.zeros((4, 4, 5))
    volume[0, 0, 1], volume[:2, 0, 3] = -3.0, 1.0
    assert pick_slice(volume) == 1
    assert pick_slice(volume != 0) == 3
    assert pick_slice(np.zeros((4, 4, 5))) == 2
    assert pick_slice(np.ones((4, 4, 5))) == 0


def test_a_slice_is_picked_from_a_finite_volume():
    with pytest.raises(ValueError, match="three axes"):
        pick_slice(np.zeros((4, 4)))
    with pytest.raises(ValueError, match="slice 1 holds values"):
        pick_slice(np.array([[[0.0, np.nan]]]))
