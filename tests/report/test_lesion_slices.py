"""Slices of a case with its lesions and what a team found: the right slices, lines where the voxels are, all told."""

from __future__ import annotations

import base64
import itertools
import re
import struct
import xml.etree.ElementTree as ET
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isocenter.metrics import candidates, lesions
from isocenter.report import Figure, lesion_slices, pictures_page
from isocenter.volumes import Grid

SHAPE = (100, 90, 12)
GRID = Grid(SHAPE, spacing=(0.5, 1.0, 3.0))


def parse(markup):
    return ET.fromstring(str(markup))


def of_class(element, css):
    return [item for item in element.iter() if css in item.get("class", "").split()]


def panels(markup):
    """The slices by their titles."""
    return {svg.findtext("title"): svg for svg in parse(markup).find("div")}


def texts(element):
    return [text.text for text in element.iter("text")]


def note(markup):
    return parse(markup).findtext("p")


def key(markup):
    return ["".join(item.find("span").itertext()) for item in parse(markup).iter("li")]


def corners(path):
    return np.array([pair.split() for pair in re.split("[ML]", path.get("d").replace("Z", ""))[1:]], float)


def place(svg):
    """Left, top, width and height of the ground of a panel."""
    (ground,) = [item for item in svg.iter() if item.tag == "image" or item.get("class") == "ground"]
    return [float(ground.get(side)) for side in ("x", "y", "width", "height")]


def grey(svg):
    """Pixels of a panel as they are shown, rows first."""
    data = base64.b64decode(svg.find("image").get("href").removeprefix("data:image/png;base64,"))
    width, height = struct.unpack(">II", data[16:24])
    size = struct.unpack(">I", data[33:37])[0]
    at = 33 + 12 + size
    colours = np.frombuffer(data[41 : 41 + size], np.uint8).reshape(-1, 3)
    (length,) = struct.unpack(">I", data[at : at + 4])
    rows = np.frombuffer(zlib.decompress(data[at + 8 : at + 8 + length]), np.uint8).reshape(height, width + 1)
    shown = colours[rows[:, 1:]]
    assert (shown == shown[..., :1]).all()
    return shown[..., 0]


def case(lesions_at=(), found_at=(), shape=SHAPE):
    """A label and a detection map from boxes (x, y, z, value)."""
    label, found = np.zeros(shape, np.uint8), np.zeros(shape, np.float32)
    for x, y, z, value in lesions_at:
        label[x, y, z] = value
    for x, y, z, value in found_at:
        found[x, y, z] = value
    return label, found


def picture(lesions_at=(), found_at=(), *, shape=SHAPE, **options):
    return lesion_slices(*case(lesions_at, found_at, shape), **({"title": "Case 7"} | options))


# One lesion of grade 3 with a candidate on half of it, one of grade 1 that nobody found, and a false positive.
S = np.s_
GRADED = (S[40:50], S[40:50], S[4:7], 3)
PLAIN = (S[60:64], S[40:44], S[9:10], 1)
ON_IT = (S[45:50], S[40:50], S[4:7], 0.875)
FALSE = (S[30:34], S[60:64], S[1:2], 0.25)
SCENE = {"lesions_at": [GRADED, PLAIN], "found_at": [ON_IT, FALSE]}


# Slices --------------------------------------------------------------------------------------------------------------


def test_each_lesion_and_each_candidate_is_shown_in_its_largest_section():
    assert list(panels(picture(**SCENE))) == ["Slice 1", "Slice 4", "Slice 9"]
    growing = [(S[40 : 42 + n], S[40:44], S[n : n + 1], 2) for n in range(6)]
    assert list(panels(picture(growing))) == ["Slice 5"]


def test_a_slice_that_shows_half_of_the_largest_section_is_enough():
    small, large = (S[60:64], S[40:44], S[4:5], 0.5), (S[60:64], S[40:48], S[5:6], 0.5)
    assert list(panels(picture([GRADED], [small, large]))) == ["Slice 4"]
    larger = (S[60:64], S[40:49], S[5:6], 0.5)
    assert list(panels(picture([GRADED], [small, larger]))) == ["Slice 4", "Slice 5"]


def test_there_are_six_slices_at_most_lesions_before_candidates_and_likely_ones_first():
    found = [(S[10 * n : 10 * n + 4], S[70:74], S[n : n + 1], 0.1 + n / 100) for n in range(9)]
    drawing = picture([PLAIN], found)
    assert list(panels(drawing)) == ["Slice 4", "Slice 5", "Slice 6", "Slice 7", "Slice 8", "Slice 9"]
    assert note(drawing).endswith("4 findings not shown.")
    assert "not shown" not in note(picture(**SCENE))


def test_without_lesions_and_candidates_the_middle_slice_says_so():
    drawing = picture(image=np.ones(SHAPE))
    ((title, svg),) = panels(drawing).items()
    assert title == "Slice 6"
    assert "No lesion and no candidate" in texts(svg)
    assert svg.findtext("desc") == "No lesion and no candidate."
    assert note(drawing).startswith("No lesion and no candidate in this case")
    assert grey(svg).shape == (90, 100)
    assert key(drawing) == []


# What is said --------------------------------------------------------------------------------------------------------


def test_lesions_have_their_grade_and_candidates_their_likelihood():
    shown = panels(picture(**SCENE))
    assert {"ISUP 3", "0.88"} <= set(texts(shown["Slice 4"]))
    assert "lesion, missed" in texts(shown["Slice 9"])
    assert "0.25" in texts(shown["Slice 1"])


def test_a_lesion_of_several_labels_has_the_highest():
    other = (S[50:55], S[40:50], S[4:7], 5)
    assert "ISUP 5, missed" in texts(panels(picture([GRADED, other]))["Slice 4"])


def test_hits_and_false_positives_differ_by_symbol_fill_and_colour():
    drawing = picture(**SCENE)
    shown = panels(drawing)
    for title, kind, other in (("Slice 4", "hit", "false"), ("Slice 1", "false", "hit")):
        assert len(of_class(shown[title], kind)) == len(of_class(shown[title], f"{kind}-sign")) == 1
        assert not of_class(shown[title], other)
        assert not of_class(shown[title], f"{other}-sign")
    (tick,), (cross,) = of_class(shown["Slice 4"], "hit-sign"), of_class(shown["Slice 1"], "false-sign")
    assert tick.get("d") != cross.get("d")
    colours = dict(re.findall(r"\.lesions \.(hit|false)\{stroke:(#\w+);fill:\2\}", str(drawing)))
    assert len(set(colours.values())) == 2
    assert re.search(r"\.lesions \.hit,\.lesions \.false\{[^}]*dasharray[^}]*fill-opacity", str(drawing))
    assert not re.search(r"\.lesions \.lesion\{[^}]*dasharray", str(drawing))


@pytest.mark.parametrize(("beyond", "kind"), [(0, "hit"), (1, "false")])
def test_a_candidate_is_on_a_lesion_from_an_overlap_of_a_tenth_on(beyond, kind):
    # 10 voxels of the lesion and 1 of the candidate: 1/10. With another voxel outside of it: 1/11.
    drawing = picture([(S[40:50], S[40:41], S[4:5], 2)], [(S[49 : 50 + beyond], S[40:41], S[4:5], 0.5)])
    assert len(of_class(parse(drawing).find("div"), kind)) == 1
    assert ("ISUP 2, missed" in str(drawing)) == (kind == "false")
    assert "at least 0.1" in note(drawing)


def test_the_numbers_of_findings_are_said():
    assert note(picture(**SCENE)).startswith("2 lesions, 1 missed; 2 candidates, 1 false. ")
    assert note(picture([PLAIN])) == "1 lesion, 1 missed; no candidate. "
    assert note(picture(found_at=[FALSE])).startswith("No lesion; 1 candidate, 1 false. The number")


def test_the_key_names_the_kinds_that_there_are():
    names = ("Reference", "Aare")
    assert key(picture(**SCENE, names=names)) == [
        "Reference: lesion",
        "Aare: candidate on a lesion",
        "Aare: false positive",
    ]
    assert key(picture([PLAIN], names=names)) == ["Reference: lesion"]


def test_who_cannot_see_the_slices_is_told_what_lies_in_them():
    drawing = picture(**SCENE, name="c7")
    group = parse(drawing)
    assert (group.get("role"), group.get("aria-label")) == ("group", "Case 7")
    for title, said in (
        ("Slice 1", "Candidate of likelihood 0.25, false positive."),
        ("Slice 4", "Lesion, ISUP 3, found. Candidate of likelihood 0.88, on a lesion."),
        ("Slice 9", "Lesion, missed."),
    ):
        svg = panels(drawing)[title]
        k = title.split()[1]
        assert svg.get("role") == "img"
        assert svg.get("aria-labelledby") == f"c7-{k}-title c7-{k}-desc"
        assert svg.find("title").get("id") == f"c7-{k}-title"
        assert svg.find("desc").get("id") == f"c7-{k}-desc"
        assert svg.findtext("desc") == said


# Geometry ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spacing", [(0.5, 0.5, 3.0), (0.5, 1.0, 3.0), (1.2, 0.4, 3.0)])
def test_millimetres_are_square_and_outlines_lie_around_their_voxels(spacing):
    drawing = picture([GRADED], grid=Grid(SHAPE, spacing=spacing), image=np.ones(SHAPE))
    svg = panels(drawing)["Slice 4"]
    x, y, width, height = place(svg)
    rows, columns = grey(svg).shape
    assert width / height == pytest.approx(columns * spacing[0] / (rows * spacing[1]), rel=1e-2)
    scale = width / (columns * spacing[0])
    line = corners(of_class(svg, "lesion")[0])
    assert np.ptp(line, axis=0) == pytest.approx([10 * spacing[0] * scale, 10 * spacing[1] * scale], abs=0.2)
    # The region is the lesion and as much on either side, where the volume has it.
    first = max(0, min(100 - columns, (90 - columns) // 2)), max(0, min(90 - rows, (90 - rows) // 2))
    expected = [x + (40 - first[0]) * spacing[0] * scale, y + (40 - first[1]) * spacing[1] * scale]
    assert line.min(axis=0) == pytest.approx(expected, abs=0.2)


def test_all_slices_show_the_same_region_around_what_they_hold():
    wide = (400, 400, 30)
    drawing = picture(**SCENE, shape=wide, image=np.zeros(wide), grid=Grid(wide, spacing=(0.5, 0.5, 3.0)))
    sizes = {grey(svg).shape for svg in panels(drawing).values()}
    assert sizes == {(140, 140)}  # 70 mm, as the findings and 15 mm around them are less
    spread = [(S[300:304], S[100:104], S[4:5], 0.5)]
    drawing = picture([GRADED], spread, shape=wide, image=np.zeros(wide), grid=Grid(wide, spacing=(0.5, 0.5, 3.0)))
    (svg,) = panels(drawing).values()
    # 40…304 and 60 pixels around it across; down at least three quarters of that.
    assert grey(svg).shape == pytest.approx((243, 324), abs=1)


def test_what_no_slice_shows_does_not_widen_the_region():
    wide = (400, 400, 30)
    found = [(S[40 + n : 44 + n], S[40:44], S[3 * n : 3 * n + 1], 0.9 - n / 100) for n in range(6)]
    far = (S[390:394], S[390:394], S[29:30], 0.1)
    for objects in (found, [*found, far]):
        drawing = picture((), objects, shape=wide, image=np.zeros(wide))
        assert len(panels(drawing)) == 6
        assert {grey(svg).shape for svg in panels(drawing).values()} == {(70, 70)}


def test_letters_and_a_ruler_are_shown_only_if_the_grid_is_known():
    for svg in panels(picture(**SCENE)).values():
        assert not {"R", "L", "A", "P"} & set(texts(svg))
        assert "mm" not in " ".join(texts(svg))
    shown = list(panels(picture(**SCENE, grid=GRID)).values())
    for svg in shown:
        assert {"R", "L", "A", "P"} <= set(texts(svg))
    assert ["10 mm" in texts(svg) or "20 mm" in texts(svg) for svg in shown] == [True, False, False]
    turned = Grid(SHAPE, spacing=(0.5, 1.0, 3.0), direction=(-1, 0, 0, 0, -1, 0, 0, 0, 1))
    first = panels(picture(**SCENE, grid=turned))["Slice 1"]
    assert [text for text in texts(first) if text in "RLAP"] == ["L", "R", "P", "A"]


def boxes(svg):
    """Where the texts on a panel lie: left, top, right, bottom."""
    for text in of_class(svg, "on"):
        width = 7 * len(text.text)
        css = text.get("class").split()
        left = float(text.get("x")) - (width if "end" in css else width / 2 if "middle" in css else 0)
        y = float(text.get("y"))
        yield left, y - 10, left + width, y + 2


def test_texts_lie_on_the_panel_and_not_on_each_other():
    row = [(S[34 + 6 * n : 38 + 6 * n], S[40:46], S[4:5], n + 1) for n in range(5)]
    found = [(S[34 + 6 * n : 38 + 6 * n], S[50:54], S[4:5], 0.9 - n / 10) for n in range(5)]
    (svg,) = panels(picture(row, found, grid=GRID)).values()
    places = list(boxes(svg))
    assert len(places) == 15  # with four letters and the ruler
    x, y, width, height = place(svg)
    for left, top, right, bottom in places:
        assert x <= left
        assert right <= x + width
        assert y <= top
        assert bottom <= y + height
    for one, other in itertools.combinations(places, 2):
        assert min(one[2], other[2]) <= max(one[0], other[0]) or min(one[3], other[3]) <= max(one[1], other[1])


# Pixels --------------------------------------------------------------------------------------------------------------


def test_the_image_is_grey_in_one_scale_for_all_slices():
    image = np.broadcast_to(np.arange(SHAPE[0], dtype=float)[:, None, None], SHAPE)
    shown = [grey(svg) for svg in panels(picture(**SCENE, image=image)).values()]
    for pixels in shown[1:]:
        assert np.array_equal(pixels, shown[0])
    assert (np.diff(shown[0].astype(int), axis=1) >= 0).all()
    assert shown[0].min() == 0
    assert shown[0].max() == 254
    assert np.array_equal(shown[0][0], shown[0][-1])


def test_the_brightest_and_darkest_hundredth_do_not_set_the_scale():
    image = np.full(SHAPE, 50.0)
    image[40:60] = 100.0
    spoilt = image.copy()
    spoilt[45, 45, 4], spoilt[46, 45, 4] = 1e6, -1e6
    first, second = (grey(panels(picture([GRADED], image=i))["Slice 4"]) for i in (image, spoilt))
    assert np.count_nonzero(first != second) == 1  # the bright one has the last grey already


@pytest.mark.parametrize("image", [np.full(SHAPE, 7.0), np.zeros(SHAPE, bool), np.full(SHAPE, -3, np.int16)])
def test_an_image_without_contrast_is_an_image(image):
    assert len(np.unique(grey(panels(picture([GRADED], image=image))["Slice 4"]))) == 1


def test_a_case_of_384_384_25_noisy_voxels_stays_below_200_kilobytes():
    shape = (384, 384, 25)
    rng = np.random.default_rng(0)
    image = rng.normal(400, 80, shape)
    found = [(S[60 * n : 60 * n + 20], S[55 * n : 55 * n + 20], S[4 * n : 4 * n + 1], 0.9 - n / 10) for n in range(6)]
    drawing = picture([(S[100:120], S[100:120], S[2:5], 3)], found, shape=shape, image=image)
    assert len(panels(drawing)) == 6
    assert len(drawing) < 200_000
    assert len(picture(shape=shape, image=image)) < 200_000
    sponge = np.where(rng.random(shape) < 0.4, np.float32(0.5), np.float32(0))
    assert len(lesion_slices(np.zeros(shape, np.uint8), sponge, image=image, title="Sponge")) < 250_000


def test_an_outline_of_many_thousand_corners_is_drawn_coarser_around_the_same_pixels():
    found = np.zeros((200, 200, 1), np.float32)
    found[20:180, 20:180, 0] = np.indices((160, 160)).sum(axis=0) % 2 * 0.5
    svg = panels(lesion_slices(np.zeros(found.shape, np.uint8), found, title="Chess"))["Slice 0"]
    x, y, width, _ = place(svg)
    line = corners(of_class(svg, "false")[0])
    scale = width / 190  # 160 pixels and 15 on either side
    assert len(line) < 1000
    assert line.min(axis=0) == pytest.approx([x + 15 * scale, y + 15 * scale], abs=8 * scale)
    assert np.ptp(line, axis=0) == pytest.approx([160 * scale, 160 * scale], abs=8 * scale)


# Whatever comes ------------------------------------------------------------------------------------------------------

shapes = hnp.array_shapes(min_dims=3, max_dims=3, max_side=7)


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_any_case_gives_a_picture_that_counts_all_of_it(data):
    shape = data.draw(shapes)
    label = data.draw(hnp.arrays(np.uint8, shape, elements=st.sampled_from([0, 0, 0, 1, 2, 5])))
    found = data.draw(hnp.arrays(np.float32, shape, elements=st.sampled_from([0.0, 0.0, 0.0, 0.5])))
    image = data.draw(st.none() | hnp.arrays(np.int16, shape))
    drawing = lesion_slices(label, found, image=image, title="t", grid=data.draw(st.sampled_from([None, Grid(shape)])))
    shown = panels(drawing)
    assert 1 <= len(shown) <= 6
    counts = [int(number) for number in re.findall(r"(\d+) (?:lesions?|candidates?),", note(drawing))]
    expected = [lesions(label).count, candidates(found).blobs.count]
    assert counts == [count for count in expected if count]
    for svg in shown.values():
        x, y, width, height = place(svg)
        for css in ("lesion", "hit", "false"):
            for path in of_class(svg, css):
                line = corners(path)
                assert (line >= [x - 0.2, y - 0.2]).all()
                assert (line <= [x + width + 0.2, y + height + 0.2]).all()


def test_any_name_is_only_a_name():
    name = "<script>alert(1)</script>&\"'🎉" + "W" * 200
    drawing = picture(**SCENE, title=name, names=(name, name))
    assert "<script" not in drawing
    assert parse(drawing).get("aria-label") == name
    assert {item.find("span").get("title") for item in parse(drawing).iter("li")} == {name}
    assert "<script>" not in pictures_page("t", [Figure("f", "t", "c", drawing)])


def test_the_picture_needs_nothing_else_and_stays_the_same():
    image = np.random.default_rng(1).normal(size=SHAPE)
    first, second = (picture(**SCENE, image=image, grid=GRID) for _ in range(2))
    assert first == second
    assert not re.search(r"https?:|<script|url\(|@import", first)
    ids = [item.get("id") for item in parse(first).iter() if item.get("id")]
    assert len(ids) == len(set(ids)) == 6


def test_everything_that_does_not_fit_is_named_at_once():
    with pytest.raises(ValueError) as caught:
        lesion_slices(
            np.zeros((4, 4, 4)),
            np.zeros((4, 4, 5)),
            image=np.full((4, 5, 4), np.nan),
            grid=Grid((5, 4, 4)),
            title="t",
        )
    for part in (
        "the label must be a volume of whole numbers, not float64 of shape (4, 4, 4)",
        "the detection map has shape (4, 4, 5), the label (4, 4, 4)",
        "the image has shape (4, 5, 4)",
        "the grid has shape (5, 4, 4)",
        "the image is not finite in 80 of 80 voxels",
    ):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("label", "found", "message"),
    [
        (np.zeros((4, 4), int), np.zeros((4, 4)), "volume of whole numbers"),
        (np.zeros((4, 4, 0), int), np.zeros((4, 4, 0)), "volume of whole numbers"),
        (np.zeros((2, 2, 2), int), np.linspace(0, 1, 8).reshape(2, 2, 2), "a soft map"),
        (np.zeros((2, 2, 2), int), np.full((2, 2, 2), np.nan), "finite number"),
    ],
)
def test_what_is_no_case_is_refused(label, found, message):
    with pytest.raises(ValueError, match=message):
        lesion_slices(label, found, title="t")


def test_an_image_of_text_is_refused():
    with pytest.raises(ValueError, match="the image must hold real numbers"):
        lesion_slices(np.zeros((2, 2, 2), int), np.zeros((2, 2, 2)), image=np.full((2, 2, 2), "a"), title="t")
