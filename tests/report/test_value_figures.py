"""Figures of values, as the SVG that a browser and a printer get."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.report import (
    BoxGroup,
    PlotAxis,
    PlotLine,
    PlotPoint,
    bars_plot,
    boxes_plot,
    lines_plot,
    scatter_plot,
)
from isocenter.report._print import Drawing, pieces
from isocenter.report._value_figures_frame import scale_of
from isocenter.report._value_figures_labels import meet, spread
from isocenter.report._value_figures_scatter import unbeaten

HOSTILE = '"><script>alert(1)</script>&\x00\x1b 🚀'
SAID = {"title": "What it shows", "name": "some"}
X, Y = PlotAxis("Time", "s"), PlotAxis("Dice", low=0, high=1)

anything = st.floats(allow_nan=True, allow_infinity=True)
labels = st.text(max_size=12) | st.sampled_from([HOSTILE, "x" * 200, "汉字" * 30])
groups = st.lists(
    st.builds(BoxGroup, labels, st.lists(st.tuples(labels, anything), max_size=12), labels, labels), max_size=20
)
points = st.lists(st.builds(PlotPoint, labels, anything, anything, st.sampled_from(["", "a", "b"])), max_size=20)
columns = st.lists(st.tuples(anything, anything, anything, anything), max_size=12)
lines = st.lists(
    st.builds(
        lambda label, rows, steps, band: PlotLine(
            label,
            *([row[at] for row in rows] for at in ((0, 1, 2, 3) if band else (0, 1))),
            steps=steps,
        ),
        labels,
        columns,
        st.booleans(),
        st.booleans(),
    ),
    max_size=6,
)
bars = st.dictionaries(labels, st.dictionaries(labels, anything, max_size=4), max_size=6)
axes = st.builds(PlotAxis, labels, labels, st.booleans())


def parse(picture):
    """The picture as XML, checked for what holds for every picture: in its place, described, fit for print."""
    root = ET.fromstring(f"<root>{picture}</root>")
    for svg in root.iter("svg"):
        if svg.get("class") == "plot":
            assert svg.get("aria-labelledby") == f"{svg.find('title').get('id')} {svg.find('desc').get('id')}"
            inside(svg, float(svg.get("height")))
    assert all(isinstance(piece, Drawing | str) for piece in pieces(picture))
    assert "<script" not in picture
    assert "nan" not in re.sub(r"<(title|desc|text|tspan|p)\b.*?</\1>", "", str(picture))
    return root


def inside(svg, height):
    """Every place lies between 0 and 100 per cent, and between the top and the bottom."""
    for element in svg.iter():
        if element.tag == "pattern":
            continue
        for attribute, value in element.items():
            if attribute in ("x", "x1", "x2", "cx") and value.endswith("%"):
                assert 0 <= float(value[:-1]) <= 100, (element.tag, element.items())
            if attribute in ("y1", "y2", "cy"):
                assert 0 <= float(value) <= height, (element.tag, element.items())
        if element.get("preserveAspectRatio"):
            for path in element.iter("path"):
                numbers = [float(number) for number in re.findall(r"-?[\d.]+", path.get("d"))]
                assert all(-0.1 <= number <= 1000.1 for number in numbers)


def of_class(picture, css):
    return [element for element in parse(picture).iter() if css in element.get("class", "").split()]


def texts(picture):
    return ["".join(part for part in words(element)) for element in parse(picture).iter("text")]


def words(element):
    """The text of an element as it is seen: without titles."""
    yield element.text or ""
    for child in element:
        if child.tag != "title":
            yield from words(child)
        yield child.tail or ""


def notes(picture):
    return ["".join(element.itertext()) for element in parse(picture).iter("p")]


def share(picture, css, at):
    """Where along the axis of a picture something lies, from its first to its last tick."""
    ticks = sorted(
        {float(tick.get("x1")[:-1]) for tick in of_class(picture, "tick") if tick.get("x1") == tick.get("x2")}
    )
    return [(float(item.get(at)[:-1]) - ticks[0]) / (ticks[-1] - ticks[0]) for item in of_class(picture, css)]


def group(label, values, **more):
    return BoxGroup(label, [(f"C{n}", value) for n, value in enumerate(values)], **more)


# Boxes


def test_box_median_mean_and_dots_stand_at_their_values():
    picture = boxes_plot([group("Aare", [0.1, 0.2, 0.3, 0.4, 0.5])], label="Dice", low=0, high=1, **SAID)
    assert share(picture, "median", "x1") == pytest.approx([0.3], abs=1e-3)
    assert share(picture, "box", "x") == pytest.approx([0.2], abs=1e-3)
    assert share(picture, "case", "cx") == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5], abs=1e-3)
    (mean,) = of_class(picture, "mean")
    assert mean.findtext("title") == "Aare, mean 0.3"
    assert "n = 5" in texts(picture)


def test_whiskers_end_within_one_and_a_half_box_lengths():
    picture = boxes_plot([group("A", [1, 2, 3, 4, 100])], label="HD95", unit="mm", low=0, high=100, **SAID)
    assert max(share(picture, "whisker", "x2")) == pytest.approx(0.04, abs=1e-3)


def test_fewer_than_five_values_are_dots_without_a_box():
    assert not of_class(boxes_plot([group("A", [0.1] * 4)], label="Dice", **SAID), "box")
    assert of_class(boxes_plot([group("A", [0.1] * 5)], label="Dice", **SAID), "box")


def test_a_hundred_values_are_all_dots_and_of_more_only_those_beyond_the_whiskers_which_is_said():
    values = [0.5 + n / 1000 for n in range(99)] + [0.0]
    few = boxes_plot([group("A", values)], label="Dice", **SAID)
    assert len(of_class(few, "case")) == 100
    assert not notes(few)
    many = boxes_plot([group("A", [*values, 0.5])], label="Dice", **SAID)
    assert [dot.findtext("title") for dot in of_class(many, "case")] == ["C99: 0"]
    assert "only those beyond the whiskers are dots." in notes(many)[0]


def test_dots_that_are_too_many_for_the_picture_are_those_beyond_the_whiskers():
    some = [group(f"T{n}", [0.5 + m / 1000 for m in range(99)] + [0.0]) for n in range(20)]
    picture = boxes_plot(some, label="Dice", **SAID)
    assert [dot.findtext("title") for dot in of_class(picture, "case")] == ["C99: 0"] * 20
    assert notes(picture)[0].endswith("only those beyond the whiskers are dots.")


def test_values_that_are_not_finite_are_counted_and_said():
    picture = boxes_plot([group("Aare", [0.5, math.nan, math.inf]), group("Inn", [0.4])], label="Dice", **SAID)
    assert notes(picture) == ["Not drawn, as not finite: Aare (2)."]
    assert texts(picture).count("n = 1") == 2


def test_no_finite_value_is_a_sentence():
    for nothing in ([], [group("A", [])], [group("A", [math.nan])]):
        assert notes(boxes_plot(nothing, label="Dice", **SAID)) == ["What it shows: there is no finite value to draw."]


def test_a_value_beyond_the_axis_stands_at_its_end_and_is_said():
    picture = boxes_plot([group("A", [-3.0, 0.5])], label="Dice", low=0, high=1, **SAID)
    assert share(picture, "case", "cx") == pytest.approx([0, 0.5], abs=1e-3)
    assert notes(picture) == ["1 value lies beyond the axis, drawn at its end."]


def test_headings_notes_directions_and_lines_are_texts():
    picture = boxes_plot(
        [group("T1", [1, 2], heading="T stage", note="34 %"), group("T2", [3], note="66 %")],
        label="HD95",
        unit="mm",
        better="lower",
        zero=0.0,
        lines={"tolerance": 2.0},
        **SAID,
    )
    assert {"T stage", "34 %, n = 2", "66 %, n = 1", "← HD95 (mm), lower is better", "tolerance"} <= set(texts(picture))
    assert share(picture, "zero", "x1") == pytest.approx([0], abs=1e-3)
    assert share(picture, "aim", "x1") == pytest.approx([2 / 3], abs=1e-3)


def test_labels_of_lines_at_one_value_stand_above_each_other():
    picture = boxes_plot([group("A", [1, 2])], label="d", lines={f"line {n}": 1.5 for n in range(4)}, **SAID)
    heights = [
        float(placed.get("y"))
        for placed in of_class(picture, "placed")
        if (placed.findtext("text") or "").startswith("line")
    ]
    assert len(heights) == 4
    assert min(abs(a - b) for a, b in itertools.combinations(heights, 2)) >= 15


def test_fifty_groups_of_a_thousand_values_stay_small_and_fit_on_a_page():
    rng = np.random.default_rng(1)
    heavy = [group(f"Team {n}", rng.standard_cauchy(1000).tolist()) for n in range(50)]
    picture = boxes_plot(heavy, label="Difference", **SAID)
    assert len(picture) < 300_000
    assert float(of_class(picture, "plot")[0].get("height")) < 1000
    assert "of each group the 30 furthest" in notes(picture)[0]
    assert {"Team 0", "Team 49", "1000"} <= set(texts(picture))


@given(groups, labels, st.none() | st.floats(-10, 10), st.dictionaries(labels, anything, max_size=3))
@settings(max_examples=40, deadline=None)
def test_any_groups_are_drawn_or_a_sentence(some, label, zero, marked):
    picture = boxes_plot(some, label=label, zero=zero, lines=marked, **SAID)
    parse(picture)
    assert picture == boxes_plot(some, label=label, zero=zero, lines=marked, **SAID)


def test_values_as_large_as_numbers_can_be_are_drawn():
    largest = 1.7976931348623157e308
    picture = boxes_plot([group("A", [-largest, largest] * 5)], label="d", **SAID)
    assert sorted(set(share(picture, "case", "cx"))) == pytest.approx([0, 1])


# Points


def boxes_of_labels(picture, width):
    """Left, right, top and bottom of every label beside a point in a picture of some width."""
    found = []
    for placed in of_class(picture, "placed"):
        text = placed.find("text")
        if text is None:
            continue
        wide = 7.4 * sum(2 if ord(letter) > 0x2E80 else 1 for letter in text.text)
        x = float(placed.get("x")[:-1]) / 100 * width + float(text.get("x"))
        css = text.get("class").split()
        left = x - (wide if "end" in css else wide / 2 if "middle" in css else 0)
        base = float(placed.get("y")) + float(text.get("y"))
        found.append((left, left + wide, base - 12, base + 3))
    return found


def assert_labels_apart(picture):
    for width in (330, 480, 680, 1200):
        found = boxes_of_labels(picture, width)
        for a, b in itertools.combinations(found, 2):
            beside = a[1] <= b[0] + 0.1 or b[1] <= a[0] + 0.1
            above = a[3] <= b[2] + 0.1 or b[3] <= a[2] + 0.1
            assert beside or above
        assert all(left >= -0.1 and right <= width + 0.1 for left, right, *_ in found)


def test_a_point_is_a_dot_at_its_place_with_its_name_beside_it():
    picture = scatter_plot([PlotPoint("Aare", 2, 0.5, low=0.4, high=0.6), PlotPoint("Inn", 10, 1)], x=X, y=Y, **SAID)
    assert share(picture, "dot", "cx") == pytest.approx([0, 1], abs=1e-3)
    assert [dot.findtext("title") for dot in of_class(picture, "dot")] == ["Aare: 2, 0.5", "Inn: 10, 1"]
    (interval,) = of_class(picture, "whisker")
    assert float(interval.get("y2")) - float(interval.get("y1")) == pytest.approx(0.2 * 360, abs=0.1)
    assert {"Aare", "Inn", "Time (s)", "Dice"} <= set(texts(picture))


def test_of_more_than_twelve_points_the_names_stand_in_a_list():
    named = [PlotPoint(f"Team {n}", n, n / 20) for n in range(12)]
    assert "Team 11" in texts(scatter_plot(named, x=X, y=Y, **SAID))
    listed = texts(scatter_plot([*named, PlotPoint("Team 12", 5, 0.5)], x=X, y=Y, **SAID))
    assert listed.count("13") == 2  # beside the point and in the list
    assert listed.count("Team 12") == 1


@pytest.mark.parametrize("count", [12, 60])
def test_labels_of_points_at_one_place_do_not_overlap(count):
    same = [PlotPoint(f"A rather long name {n}", 1.0, 0.5) for n in range(count)]
    assert_labels_apart(scatter_plot(same, x=X, y=Y, **SAID))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=30), st.booleans())
@settings(max_examples=25, deadline=None)
def test_labels_never_overlap_at_any_width(places, far):
    some = [PlotPoint(f"Team {'of a place ' * far}{n}", x, y) for n, (x, y) in enumerate(places)]
    assert_labels_apart(scatter_plot(some, x=X, y=Y, **SAID))


def test_labels_that_would_cross_as_the_picture_grows_are_not_apart():
    left, right = np.array([[40.0, 60.0, 100.0, 0.0, 15.0]]), np.array([[50.0, -40.0, -10.0, 0.0, 15.0]])
    assert meet(left, right).all()  # at 330 pixels right of it, at 1200 over it
    assert not meet(left, right + np.array([[0, 0, 0, 15, 15]])).any()
    assert not meet(right, np.array([[60.0, -5.0, 30.0, 0.0, 15.0]])).any()


@pytest.mark.parametrize(
    ("corner", "best"),
    [
        ("lower-left", ["a", "b"]),
        ("lower-right", ["b", "d"]),
        ("upper-left", ["a", "c"]),
        ("upper-right", ["c", "d"]),
        ("none", []),
    ],
)
def test_the_frontier_is_what_no_other_point_beats(corner, best):
    #  c(2,5)
    #  a(1,3)         d(5,4)
    #       e(3,3.5)
    #       b(4,1)
    some = [
        PlotPoint("a", 1, 3),
        PlotPoint("b", 4, 1),
        PlotPoint("c", 2, 5),
        PlotPoint("d", 5, 4),
        PlotPoint("e", 3, 3.5),
    ]
    assert sorted(some[n].label for n in unbeaten(some, corner)) == best
    picture = scatter_plot(some, x=X, y=PlotAxis("y"), frontier=corner, **SAID)
    assert len(of_class(picture, "ring")) == len(best)
    assert ("best: " + corner.replace("-", " ") in texts(picture)) == bool(best)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=15))
def test_the_frontier_is_that_of_its_definition(places):
    some = [PlotPoint("", x, y) for x, y in places]
    beaten = {
        n
        for n, one in enumerate(some)
        if any(o.x <= one.x and o.y >= one.y and (o.x < one.x or o.y > one.y) for o in some)
    }
    found = unbeaten(some, "upper-left")
    assert set(found) == set(range(len(some))) - beaten
    assert [some[n].x for n in found] == sorted(some[n].x for n in found)


def test_kinds_have_symbols_and_a_key():
    some = [PlotPoint("A", 1, 0.5, "expert"), PlotPoint("B", 2, 0.5, "algorithm"), PlotPoint("C", 3, 0.5, "expert")]
    picture = scatter_plot(some, x=X, y=Y, **SAID)
    assert {"expert, n = 2", "algorithm, n = 1"} <= set(texts(picture))
    drawn = [element.get("d") for element in of_class(picture, "full")]
    assert drawn[0] == drawn[2] != drawn[1]


def test_what_has_no_place_on_a_logarithmic_axis_is_said():
    some = [PlotPoint("A", 0, 0.5), PlotPoint("B", math.nan, 0.5), PlotPoint("C", 10, 0.5)]
    picture = scatter_plot(some, x=PlotAxis("Time", "s", log=True), y=Y, **SAID)
    assert notes(picture) == ["Not drawn, as they have no place on the axes: A, B."]
    assert "Time (s), logarithmic" in texts(picture)


def test_iso_lines_are_drawn_where_they_are_inside_and_a_function_that_fails_is_a_gap():
    square = {"x": PlotAxis("Recall", low=0, high=1), "y": PlotAxis("Precision", low=0, high=1)}
    equal = {"F1 = 0.8": lambda x: 0.8 * x / (2 * x - 0.8), "never": lambda x: x / 0}
    picture = scatter_plot([PlotPoint("A", 0.5, 0.5)], iso=equal, **square, **SAID)
    (path,) = of_class(picture, "aim")
    ends = re.findall(r"[\d.]+ [\d.]+", path.get("d"))
    assert float(ends[-1].split()[0]) == 1000
    assert float(ends[-1].split()[1]) == pytest.approx(1000 * (1 - 0.8 / 1.2), abs=0.1)
    assert "F1 = 0.8" in texts(picture)
    assert "never" not in texts(picture)


def test_very_many_points_are_counted_in_cells_and_none_is_lost():
    rng = np.random.default_rng(2)
    some = [PlotPoint(f"C{n}", x, y) for n, (x, y) in enumerate(rng.normal(0, 1, (5000, 2)).tolist())]
    picture = scatter_plot(some, x=PlotAxis("a"), y=PlotAxis("b"), **SAID)
    assert sum(int(dot.findtext("title").split()[0]) for dot in of_class(picture, "case")) == 5000
    assert len(picture) < 300_000
    assert notes(picture) == ["5000 points; the area of a dot is the number of points around it."]


def test_a_thousand_points_of_kinds_stay_small():
    some = [PlotPoint("long name " * 20, n, n % 7 / 7, f"kind {n % 3}") for n in range(1200)]
    assert len(scatter_plot(some, x=X, y=Y, **SAID)) < 300_000


@given(points, axes, axes, st.sampled_from(["none", "lower-left", "upper-right"]))
@settings(max_examples=40, deadline=None)
def test_any_points_are_drawn_or_a_sentence(some, x, y, corner):
    picture = scatter_plot(some, x=x, y=y, frontier=corner, **SAID)
    parse(picture)
    assert picture == scatter_plot(some, x=x, y=y, frontier=corner, **SAID)


# Lines


def corners(picture, number=0):
    path = of_class(picture, "line")[number].get("d")
    return [tuple(float(n) for n in pair.split()) for pair in re.findall(r"[-\d.]+ [-\d.]+", path)]


def test_a_line_goes_through_its_points_and_has_its_label_at_its_end():
    picture = lines_plot([PlotLine("Aare", [0, 10, 20], [0, 1, 0.5])], x=X, y=Y, **SAID)
    assert corners(picture) == [(0, 1000), (500, 0), (1000, 500)]
    assert "Aare" in texts(picture)
    assert "Aare: 10, 1" in [title.text for title in parse(picture).iter("title")]


def test_steps_hold_a_value_until_the_next():
    picture = lines_plot([PlotLine("Aare", [0, 10, 20], [0, 1, 0.5], steps=True)], x=X, y=Y, **SAID)
    assert corners(picture) == [(0, 1000), (500, 1000), (500, 0), (1000, 0), (1000, 500)]


def test_a_point_that_is_not_finite_is_a_gap():
    picture = lines_plot([PlotLine("Aare", [0, 1, 2, 3, 4], [0, 1, math.nan, 1, 0])], x=X, y=Y, **SAID)
    assert len(of_class(picture, "line")) == 2


def test_a_band_is_the_area_between_low_and_high():
    line = PlotLine("Aare", [0, 10], [0.5, 0.5], low=[0.4, 0.4], high=[0.6, 0.7])
    (band,) = of_class(lines_plot([line], x=X, y=Y, **SAID), "band")
    assert band.get("d") == "M0.0 600.0L1000.0 600.0L1000.0 300.0L0.0 400.0Z"


def test_a_line_of_one_point_is_a_dot():
    picture = lines_plot([PlotLine("Aare", [3], [0.5])], x=X, y=Y, **SAID)
    assert [title.text for title in parse(picture).iter("title")].count("Aare: 3, 0.5") == 1


def test_marks_are_symbols_with_labels():
    picture = lines_plot([PlotLine("Aare", [0, 20], [0, 1])], x=X, y=Y, marks=[PlotPoint("peak", 15, 1)], **SAID)
    assert "peak" in texts(picture)
    assert len(of_class(picture, "dot")) == 1


def test_columns_that_do_not_fit_together_are_named_all_at_once():
    wrong = [PlotLine("Aare", [1, 2], [1]), PlotLine("Inn", [1], [1], low=[0])]
    with pytest.raises(ValueError, match=r"'Aare' has 2, 1, none, none values .*; 'Inn' has 1, 1, 1, none values"):
        lines_plot(wrong, x=X, y=Y, **SAID)


def test_fifty_noisy_lines_with_bands_stay_small_and_their_labels_apart():
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 1, (50, 400))
    x = list(range(400))
    some = [
        PlotLine(f"T{n}", x, y.tolist(), low=(y - 1).tolist(), high=(y + 1).tolist(), strong=n == 0)
        for n, y in enumerate(noise)
    ]
    picture = lines_plot(some, x=X, y=PlotAxis("Loss"), **SAID)
    assert len(picture) < 300_000
    names = [text for text in parse(picture).iter("text") if re.fullmatch(r"T\d+", "".join(words(text)))]
    heights = sorted(float(text.get("y")) for text in names)
    assert len(heights) == 50
    assert min(np.diff(heights)) >= 15.9


def test_lines_beyond_what_fits_on_a_page_have_no_name_which_is_said():
    some = [PlotLine(f"T{n}", [0, 1], [0, n]) for n in range(60)]
    picture = lines_plot(some, x=X, y=PlotAxis("y"), **SAID)
    assert len(of_class(picture, "line")) == 60
    assert notes(picture) == ["5 further lines are drawn without their names."]


@given(lines, axes, axes)
@settings(max_examples=40, deadline=None)
def test_any_lines_are_drawn_or_a_sentence(some, x, y):
    picture = lines_plot(some, x=x, y=y, **SAID)
    parse(picture)
    assert picture == lines_plot(some, x=x, y=y, **SAID)


@given(st.lists(st.floats(0, 300), max_size=15))
def test_labels_are_spread_in_their_order_and_stay_where_there_is_room(wanted):
    heights = spread(wanted, gap=16, top=0, bottom=300)
    order = sorted(range(len(wanted)), key=lambda n: wanted[n])
    ordered = [heights[n] for n in order]
    assert all(b - a >= 16 - 1e-6 for a, b in itertools.pairwise(ordered))
    assert all(-1e-6 <= height <= 300 + 1e-6 for height in heights)
    if all(b - a >= 16 for a, b in itertools.pairwise(sorted(wanted))):
        assert heights == pytest.approx(wanted)


# Bars


def test_bars_are_as_long_as_their_values_and_say_them():
    picture = bars_plot({"Aare": {"n": 20.0}, "Inn": {"n": 10.0}}, label="Cases", show=lambda v: f"{v:.0f}", **SAID)
    lengths = [float(rect.get("width")[:-1]) for rect in parse(picture).iter("rect")]
    assert lengths[0] == pytest.approx(2 * lengths[1], abs=0.02)
    assert {"Aare", "Inn", "20", "10", "Cases"} <= set(texts(picture))
    assert "n" not in texts(picture)


def test_groups_of_several_values_have_a_heading_and_a_bar_each():
    picture = bars_plot({"Aare": {"train": 1.0, "test": -2.0}}, label="n", show=lambda v: f"{v:g}", **SAID)
    assert {"Aare", "train", "test", "1", "-2"} <= set(texts(picture))
    right, left = (float(rect.get("x")[:-1]) for rect in parse(picture).iter("rect"))
    (zero,) = {float(line.get("x1")[:-1]) for line in of_class(picture, "zero")}
    assert right == zero
    assert left < zero


def test_stacked_bars_follow_each_other_with_the_sum_at_the_end_and_a_key():
    picture = bars_plot(
        {"Aare": {"found": 3.0, "missed": 1.0}, "Inn": {"missed": 2.0}},
        label="Lesions",
        show=lambda v: f"{v:g}",
        stacked=True,
        **SAID,
    )
    assert {"found", "missed", "3", "1", "4", "2"} <= set(texts(picture))
    drawn = [r for r in parse(picture).iter("rect") if r.get("x").endswith("%") and not r.get("fill")]
    found, missed, other = ((float(r.get("x")[:-1]), float(r.get("width")[:-1])) for r in drawn)
    assert missed[0] == pytest.approx(sum(found), abs=0.02)
    assert other[0] == found[0]
    assert {r.get("fill") for r in parse(picture).iter("rect")} == {None, "url(#some-1)"}  # told apart without colour


def test_a_value_that_is_not_finite_has_no_bar():
    picture = bars_plot({"A": {"n": math.nan}, "B": {"n": math.inf}, "C": {"n": 1.0}, "D": {}}, label="n", **SAID)
    assert len(list(parse(picture).iter("rect"))) == 1
    assert {"–", "∞", "1.0", "D"} <= set(texts(picture))


def test_no_bars_are_a_sentence():
    assert notes(bars_plot({}, label="n", **SAID)) == ["What it shows: there is nothing to draw."]


def test_fifty_stacked_bars_stay_small_and_fit_on_a_page():
    parts = {f"series {n}": 1 / 7 for n in range(7)}
    picture = bars_plot(
        {f"Team {n}": parts for n in range(50)}, label="s", show=lambda v: f"{v:.2f}", stacked=True, **SAID
    )
    assert len(picture) < 300_000
    assert float(of_class(picture, "plot")[0].get("height")) < 1000


@given(bars, st.booleans())
@settings(max_examples=40, deadline=None)
def test_any_bars_are_drawn_or_a_sentence(some, stacked):
    picture = bars_plot(some, label="n", stacked=stacked, **SAID)
    parse(picture)
    assert picture == bars_plot(some, label="n", stacked=stacked, **SAID)


# Axes and names


@pytest.mark.parametrize(
    ("axis", "values", "ticks"),
    [
        (PlotAxis("a", low=0, high=1), [], ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (PlotAxis("a"), [1_000_000, 1_000_004], ["1000000", "1000001", "1000002", "1000003", "1000004"]),
        (PlotAxis("a", log=True), [3, 800], ["10", "100", "1000"]),
        (PlotAxis("a", log=True), [10], ["1", "2", "5", "10"]),
        (PlotAxis("a", log=True, high=5), [8], ["0.5", "1", "2", "5"]),
        (PlotAxis("a", log=True), [3, 80], ["2", "5", "10", "20", "50", "100"]),
        (PlotAxis("a", log=True), [1e-5, 1e6], ["1e-5", "0.001", "0.1", "10", "1000", "1e5"]),
    ],
)
def test_axes_have_round_ticks_of_which_no_two_read_alike(axis, values, ticks):
    assert [text for _, text in scale_of(axis, values).ticks] == ticks


def test_an_axis_that_cannot_be_is_an_error_that_names_it():
    with pytest.raises(ValueError, match="the axis 'Dice' cannot reach from 1 to 0"):
        PlotAxis("Dice", low=1, high=0)
    with pytest.raises(ValueError, match="the logarithmic axis 'Time' cannot reach from 0 to 10"):
        PlotAxis("Time", log=True, low=0, high=10)


@pytest.mark.parametrize(
    "picture",
    [
        boxes_plot([BoxGroup(HOSTILE, [(HOSTILE, 0.5)], HOSTILE, HOSTILE)], label=HOSTILE, **SAID),
        scatter_plot([PlotPoint(HOSTILE, 1, 1, HOSTILE)], x=PlotAxis(HOSTILE), y=Y, **SAID),
        lines_plot([PlotLine(HOSTILE, [1, 2], [0, 1])], x=X, y=PlotAxis(HOSTILE), **SAID),
        bars_plot({HOSTILE: {HOSTILE: 1.0, "other": 2.0}}, label=HOSTILE, stacked=True, **SAID),
    ],
    ids=["boxes", "scatter", "lines", "bars"],
)
def test_names_cannot_leave_their_place(picture):
    found = [element.text or "" for element in parse(picture).iter("title")]
    assert any('"><script>alert(1)</script>&' in text for text in found)


def test_of_too_many_outliers_the_furthest_are_drawn():
    # Twenty groups of 370 values, of which 90 lie beyond the whiskers, 30 of them by far: 1500 dots are 75 a group.
    values = [0.0] * 140 + [1.0] * 140 + [10.0 + n / 100 for n in range(60)] + [50.0 + n / 100 for n in range(30)]
    picture = boxes_plot([group(f"T{n}", values) for n in range(20)], label="Dice", **SAID)
    drawn = [float(dot.findtext("title").split(": ")[1]) for dot in of_class(picture, "case")]
    assert len(drawn) == 20 * 75
    assert sum(value >= 50 for value in drawn) == 20 * 30
    assert min(drawn) >= 10.15
