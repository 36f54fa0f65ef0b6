"""The plots, as the SVG that a browser gets."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest

from isocenter.metrics import Metric, catalogue
from isocenter.report._plot import Spread, Strip, score_svg, spreads_svg, strips_svg
from isocenter.report._scale import LEFT, RIGHT, axis_for

DICE = catalogue.get("dice")
AXIS = axis_for(DICE, [])
DISTANCE = Metric("hd95", "mm", "lower", (0.0, math.inf), 2, "surface distance")
VALUES = tuple((f"C{number}", number / 10) for number in range(1, 9))


def parse(svg):
    return ET.fromstring(str(svg))


def of_class(svg, css):
    return [element for element in parse(svg).iter() if css in element.get("class", "").split()]


def texts(svg):
    return ["".join(element.itertext()) for element in parse(svg).iter("text")]


def per_cent(value):
    return f"{LEFT + (RIGHT - LEFT) * value:.2f}%"


def test_every_case_is_a_dot_at_its_value_with_its_name():
    dots = of_class(strips_svg([Strip("Aare", "1", VALUES)], DICE, axis=AXIS), "case")
    assert [dot.get("cx") for dot in dots] == [per_cent(value) for _, value in VALUES]
    assert dots[0].findtext("title") == "C1: 0.1000"


def test_box_median_and_mean_stand_where_they_should():
    svg = strips_svg([Strip("Aare", "1", VALUES)], DICE, axis=AXIS)
    (box,), (median,) = of_class(svg, "box"), of_class(svg, "median")
    assert box.get("x") == per_cent(0.275)
    assert float(box.get("width")[:-1]) == pytest.approx((RIGHT - LEFT) * 0.35, abs=0.01)
    assert median.get("x1") == median.get("x2") == per_cent(0.45)
    (mean,) = [placed for placed in of_class(svg, "placed") if placed.find("path").get("class") == "mean"]
    assert mean.get("x") == per_cent(0.45)
    assert mean.findtext("path/title") == "mean 0.4500"


def test_fewer_than_five_cases_have_no_box():
    assert not of_class(strips_svg([Strip("Aare", "1", VALUES[:4])], DICE, axis=AXIS), "box")
    assert of_class(strips_svg([Strip("Aare", "1", VALUES[:5])], DICE, axis=AXIS), "box")


def test_a_case_has_one_height_in_every_row_and_every_run():
    rows = [Strip("Aare", "1", VALUES), Strip("Inn", "2", VALUES[::-1])]
    dots = of_class(strips_svg(rows, DICE, axis=AXIS), "case")
    height = {}
    for dot in dots:
        height.setdefault(dot.findtext("title")[:2], []).append(float(dot.get("cy")))
    offsets = {round(second - first, 6) for first, second in height.values()}
    assert len(offsets) == 1
    assert strips_svg(rows, DICE, axis=AXIS) == strips_svg(rows, DICE, axis=AXIS)


def test_rows_keep_the_order_they_are_given_in():
    svg = strips_svg([Strip(name, "1", VALUES) for name in ("Thur", "Aare", "Inn")], DICE, axis=AXIS)
    names = ["".join(text.itertext()) for text in of_class(svg, "name")]
    assert names == ["1 Thur", "1 Aare", "1 Inn"]


def test_cases_without_a_value_are_marks_left_of_the_axis():
    strip = Strip("Aare", "1", VALUES, (("missing", 3), ("failed", 2), ("undefined", 0)))
    svg = strips_svg([strip], DICE, axis=AXIS)
    marks = of_class(svg, "cross")
    assert [mark.tag for mark in marks] == ["path", "path", "path", "rect", "rect"]
    assert "no value" in texts(svg)


def test_missing_outputs_alone_are_called_that():
    svg = strips_svg([Strip("Aare", "1", VALUES, (("missing", 1),))], DICE, axis=AXIS)
    assert "no output" in texts(svg)
    assert "no output" not in texts(strips_svg([Strip("Aare", "1", VALUES)], DICE, axis=AXIS))


def test_many_missing_cases_are_one_mark_and_a_number():
    svg = strips_svg([Strip("Aare", "1", (), (("missing", 46),))], DICE, axis=AXIS)
    assert len(of_class(svg, "cross")) == 1
    assert "46" in texts(svg)
    assert "n = 0" in texts(svg)


def test_the_axis_says_what_it_shows_and_where_better_lies():
    assert "Dice, higher is better →" in texts(strips_svg([Strip("A", "1", VALUES)], DICE, axis=AXIS))
    lower = strips_svg([Strip("A", "1", VALUES)], DISTANCE, axis=axis_for(DISTANCE, [0.8]))
    assert "← HD95 (mm), lower is better" in texts(lower)


def test_a_plot_describes_itself_to_those_who_cannot_see_it():
    strip = Strip("Aare", "1", VALUES, (("missing", 2),))
    svg = parse(strips_svg([strip], DICE, axis=AXIS))
    assert svg.get("role") == "img"
    assert svg.get("aria-labelledby") == f"{svg.find('title').get('id')} {svg.find('desc').get('id')}"
    assert "Dice" in svg.findtext("title")
    assert svg.findtext("desc") == "Aare: median 0.4500, n = 8, 2 no output."


def test_long_names_are_cut_to_the_room_there_is_and_whole_in_the_title():
    svg = strips_svg([Strip("x" * 200, "1", VALUES)], DICE, axis=AXIS)
    (narrow,), (wide,) = of_class(svg, "narrow"), of_class(svg, "wide")
    assert len(narrow.text) < len(wide.text) < 100
    assert of_class(svg, "name")[0].findtext("title") == "x" * 200


def test_names_cannot_leave_their_place():
    hostile = '"><script>alert(1)</script>&'
    strip = Strip(hostile, hostile, ((hostile, 0.5),))
    spread = Spread(hostile, 0.5, 0.4, 0.6, 2)
    for svg in (strips_svg([strip], DICE, axis=AXIS), spreads_svg([spread], DICE, axis=AXIS)):
        assert "<script" not in svg
        assert any(hostile in "".join(element.itertext()) for element in parse(svg).iter("title"))


def test_a_case_is_a_line_over_the_teams_with_the_mean_as_a_dot():
    svg = spreads_svg([Spread("C1", 0.5, 0.2, 0.9, 3)], DICE, axis=AXIS)
    (line,), (dot,) = of_class(svg, "range"), of_class(svg, "dot")
    assert (line.get("x1"), line.get("x2"), dot.get("cx")) == (per_cent(0.2), per_cent(0.9), per_cent(0.5))
    assert "C1" in texts(svg)


def test_of_many_cases_only_the_hardest_are_named_and_the_plot_stays_on_a_page():
    spreads = [Spread(f"case {number}", 0.5, 0.4, 0.6, 3) for number in range(600)]
    svg = spreads_svg(spreads, DICE, axis=AXIS)
    assert [text for text in texts(svg) if text.startswith("case")] == [f"case {number}" for number in range(5)]
    assert len(of_class(svg, "range")) == 600
    assert float(parse(svg).get("height")) < 900


def test_a_score_is_a_dot_between_worst_and_best():
    shares = [float(of_class(score_svg(score, axis=AXIS), "dot")[0].get("cx")[:-1]) for score in (0.0, 0.5, 1.0)]
    assert shares == pytest.approx([4.0, 50.0, 96.0])
    assert parse(score_svg(0.5, axis=AXIS)).get("aria-hidden") == "true"
