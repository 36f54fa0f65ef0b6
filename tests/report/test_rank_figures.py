"""Figures of ranks, as the SVG that a page and a printed report get."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.report import RankSpan, blob_plot, histogram_plot, matrix_plot, rank_lines_plot, rank_set_plot
from isocenter.report._print import Drawing, pieces
from isocenter.report._rank_axis import RankAxis, middle_of, per_cent
from isocenter.report._rank_columns import column_numbers
from isocenter.report._rank_figures_lines import spread

HOSTILE = ["<script>alert(1)</script>", "a" * 200, "🧑‍⚕️ Klinik", "a & \"b\" 'c'", "\x00\x0b\ud800", "مستشفى", ""]
FIFTY = [f"Team number {number} of a university" for number in range(1, 51)]


def root(picture):
    return ET.fromstring(str(picture))


def of_class(picture, css):
    return [element for element in root(picture).iter() if css in element.get("class", "").split()]


def texts(picture):
    return ["".join(element.itertext()) for element in root(picture).iter("text")]


def titles(picture):
    return [element.text for element in root(picture).iter("title") if element.get("id") is None]


def share(text):
    return float(text.removesuffix("%"))


def check(picture):
    """Well-formed, printable, and every position within the picture; its drawing, or None where it is a sentence."""
    whole = root(picture)
    printed = pieces(picture)
    if whole.tag == "p":
        assert printed == ["".join(whole.itertext()).strip()]
        return None
    (drawing,) = [piece for piece in printed if isinstance(piece, Drawing)]
    ET.fromstring(drawing.svg)
    assert "var(" not in drawing.svg
    svg = whole if whole.tag == "svg" else whole.find("svg")
    height = float(svg.get("height"))
    for element in svg.iter():
        for name, value in element.attrib.items():
            if name in {"x", "x1", "x2", "cx", "width", "y", "y1", "y2", "cy", "height", "r", "d", "fill-opacity"}:
                numbers = [float(number) for number in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", value)]
                assert not re.search("nan|inf", value)
                if value.endswith("%"):
                    assert all(-1 <= number <= 101 for number in numbers)
                if name in {"y", "y1", "y2", "cy"}:
                    assert all(-1 <= number <= height + 1 for number in numbers)
    return drawing


names = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=12))
reals = st.floats(allow_nan=True, allow_infinity=True)
ranks = st.one_of(st.none(), st.floats(min_value=0.5, max_value=60), st.sampled_from([nan, inf, -inf, 0.0]))
quick = settings(max_examples=25, deadline=None)


# Blobs


def test_the_area_of_a_circle_is_proportional_to_the_share_of_the_draws():
    shares = {"Aare": [0.8, 0.2, 0.0], "Inn": [0.2, 0.4, 0.4], "Rhein": [0.0, 0.4, 0.6]}
    picture = blob_plot(shares, ranks={"Aare": 1, "Inn": 2, "Rhein": 3}, title="Ranks", name="blobs")
    areas = {circle.findtext("title"): float(circle.get("r")) ** 2 for circle in root(picture).iter("circle")}
    assert areas.pop(None) == max(areas.values())  # that of the key
    assert len(areas) == 7
    ratio = areas["Aare: rank 1, 80.0 %"] / areas["Inn: rank 1, 20.0 %"]
    assert ratio == pytest.approx(4, rel=0.05)
    assert "80.0 % of resamples" in texts(picture)
    spoken = check(picture).words
    assert spoken.endswith("Rhein: median rank 3, 95 % of the resamples from 2 to 3, rank 3 on all cases.")


def test_a_circle_stands_in_the_column_of_its_rank_and_a_shared_rank_between_two():
    axis = RankAxis(2, 27.0, 99.0)
    picture = blob_plot({"Aare": [1, 0], "Inn": [0, 1]}, ranks={"Aare": 1.5, "Inn": 1.5}, title="t", name="n")
    circles = [circle.get("cx") for circle in root(picture).iter("circle") if circle.get("cx")]
    assert circles == [f"{axis.at(1):.2f}%", f"{axis.at(2):.2f}%"] == ["45.00%", "81.00%"]
    diamonds = [placed.get("x") for placed in of_class(picture, "placed") if placed.find("path") is not None]
    assert diamonds == ["63.00%", "63.00%"]


def test_the_interval_is_made_of_whole_ranks():
    assert middle_of([0.5, 0.25, 0.25]) == (1, 1, 3)
    assert middle_of([0.025, 0.95, 0.025]) == (1, 2, 2)
    assert middle_of([0.024, 0.95, 0.026]) == (2, 2, 3)
    assert middle_of([0.1] * 10) == (1, 5, 10)  # the sum of ten tenths is not 1
    assert middle_of([0.0, 0.0]) is None
    assert middle_of([]) is None


def test_a_team_without_draws_or_without_a_rank_keeps_its_row():
    picture = blob_plot({"Aare": [1.0], "Inn": [nan]}, ranks={"Aare": nan}, title="t", name="n")
    assert {"Aare", "Inn"} <= set(texts(picture))
    assert not of_class(picture, "mean")
    assert check(picture).words.endswith("Inn: no resamples.")


def test_shares_are_written_so_that_rare_is_not_never():
    assert [per_cent(value) for value in (1.0, 0.3333, 0.0004, 0.0)] == ["100.0 %", "33.3 %", "< 0.1 %", "0.0 %"]


def test_ticks_are_as_close_as_a_telephone_and_a_page_can_show():
    assert RankAxis(10, 27, 99).ticks(3.3) == list(range(1, 11))
    assert RankAxis(50, 27, 99).ticks(6.8) == [1, 5, 10, 15, 20, 25, 30, 35, 40, 45, 50]
    assert len(RankAxis(100_000, 27, 99).ticks(3.3)) <= 13


@quick
@given(st.dictionaries(names, st.tuples(st.lists(reals, max_size=6), ranks), max_size=6), st.text())
def test_any_shares_can_be_drawn(teams, title):
    shares, found = {team: pair[0] for team, pair in teams.items()}, {team: pair[1] for team, pair in teams.items()}
    picture = blob_plot(shares, ranks=found, title=title, name="blobs")
    check(picture)
    assert picture == blob_plot(shares, ranks=found, title=title, name="blobs")


# Rank sets


def test_a_span_reaches_over_its_ranks_and_says_them():
    spans = [
        RankSpan("Aare", 1, 1, 2, "A", 0.7),
        RankSpan("Inn", 2, 1, 3, "A", 0.3),
        RankSpan("Rhein", 3, 2, 3, "B", 0.0),
    ]
    picture = rank_set_plot(spans, title="Rank sets", name="sets")
    boxes = of_class(picture, "box")
    axis = RankAxis(3, 34, 84)
    for span, box in zip(spans, boxes, strict=True):
        left, wide = share(box.get("x")), share(box.get("width"))
        assert left < axis.at(span.low) < left + 0.5 * (axis.at(2) - axis.at(1))
        assert left + wide > axis.at(span.high) > left + wide - 0.5 * (axis.at(2) - axis.at(1))
    assert [dot.get("cx") for dot in of_class(picture, "dot")] == [f"{axis.at(rank):.2f}%" for rank in (1, 2, 3)]
    assert titles(picture)[0] == "Aare: rank 1, rank set 1 to 2, group A, P(first) 0.70."
    assert {"P(first)", "0.70", "0.30", "0.00"} <= set(texts(picture))


def test_neighbours_of_a_group_share_one_bracket():
    spans = [RankSpan(f"T{i}", i, i, i, group) for i, group in enumerate("AAB BB", start=1)]
    spans[3] = RankSpan("T4", 4, 4, 4)
    picture = rank_set_plot(spans, title="t", name="n")
    brackets = [path for path in of_class(picture, "whisker") if path.tag == "path"]
    heights = [
        float(re.search(r"V([\d.]+)", p.get("d"))[1]) - float(p.get("d").split("H")[0].split()[1]) for p in brackets
    ]
    assert heights == [40, 16, 40]
    assert [text for text in texts(picture) if text in {"A", "B"}] == ["A", "B", "B"]


def test_without_groups_and_chances_neither_takes_room():
    picture = rank_set_plot([RankSpan("Aare", 1, 1, 1)], title="t", name="n")
    assert "P(first)" not in texts(picture)
    assert not [path for path in of_class(picture, "whisker") if path.tag == "path"]
    assert not any(text == "not ranked" for text in texts(picture))


def test_a_team_without_a_rank_is_said_to_have_none():
    picture = rank_set_plot([RankSpan("Aare", None, None, None), RankSpan("Inn", nan, 1, inf)], title="t", name="n")
    assert texts(picture).count("not ranked") == 2
    assert not of_class(picture, "dot")
    assert not of_class(picture, "box")


@quick
@given(st.lists(st.builds(RankSpan, names, ranks, ranks, ranks, names, st.one_of(st.none(), reals)), max_size=6))
def test_any_spans_can_be_drawn(spans):
    spans = [
        span
        if not (span.low or 0) > (span.high or 0)
        else RankSpan(span.team, span.rank, span.high, span.low, span.group)
        for span in spans
    ]
    check(rank_set_plot(spans, title="t", name="sets"))


# Matrices


def draw(values, **others):
    rows, columns = [f"R{i}" for i in range(len(values))], [f"C{i}" for i in range(len(values[0]))]
    given = {"rows": rows, "columns": columns, "show": "{:.2f}".format, "legend": "Dice", "title": "t", "name": "m"}
    return matrix_plot(values, **(given | others))


def cells(picture):
    found = {}
    for rect in root(picture).iter("rect"):
        if rect.find("title") is not None:
            found[rect.findtext("title")] = rect
    return found


def test_a_higher_value_is_darker_and_every_cell_says_its_number():
    picture = draw([[0.0, 0.5], [1.0, None]])
    found = cells(picture)
    assert list(found) == ["R0 · C0: 0.00", "R0 · C1: 0.50", "R1 · C0: 1.00", "R1 · C1: no value"]
    shades = [rect.get("fill-opacity") for rect in found.values()]
    assert shades == [".04", ".33", ".62", None]
    assert found["R1 · C1: no value"].get("fill") == "url(#m-none)"
    assert {"0.00", "0.50", "1.00", "no value", "Dice", "R0", "C1"} <= set(texts(picture))


def test_given_ends_of_the_scale_hold_and_what_lies_beyond_is_as_the_end():
    found = cells(draw([[0.5, 2.0, -inf]], low=0.0, high=1.0))
    assert [rect.get("fill-opacity") for rect in found.values()] == [".33", ".62", ".04"]


def test_below_zero_is_striped_and_both_sides_are_as_wide():
    found = cells(draw([[-1.0, 0.0, 0.5]], diverging=True))
    assert [rect.get("fill") for rect in found.values()] == ["url(#m-under)", None, None]
    assert [rect.get("fill-opacity") for rect in found.values()] == [".62", ".04", ".33"]


def test_a_mark_follows_its_number_and_stands_alone_where_numbers_have_no_room():
    assert "0.50*" in texts(draw([[0.5, 0.6]], marks={(0, 0): "*"}))
    many = texts(draw([[0.5] * 20], marks={(0, 3): "*"}, low=0, high=1))
    assert "*" in many
    assert "0.50" not in many


def test_numbers_that_a_telephone_has_no_room_for_are_for_wider_pages():
    picture = draw([[0.5] * 12])
    (number,) = {
        text.get("class") for text in root(picture).iter("text") if text.text == "0.50" and "ink" in text.get("class")
    }
    assert "wide" in number.split()
    assert all("wide" not in text.get("class") for text in root(draw([[0.5] * 3])).iter("text"))


def test_many_columns_are_numbered_and_a_sentence_names_them_unless_the_rows_do():
    picture = draw([[0.5] * 20])
    assert "1: C0, 2: C1" in root(picture).findtext("p")
    square = draw([[0.5] * 20] * 20, columns=[f"R{i}" for i in range(20)])
    assert root(square).tag == "svg"
    assert "20 R19" in texts(square)


def test_neighbours_are_averaged_beyond_2500_cells_and_that_is_said():
    values = [[float(column % 2)] * 1 for column in range(1000)]
    wide = draw([[value for (value,) in values]] * 25, marks={(0, 0): "*"})
    said = [paragraph.text for paragraph in root(wide).iter("p")]
    assert said[1:] == ["A cell is the mean of 10 columns.", "Marks of single cells are not shown."]
    assert len(cells(wide)) == 2500 // 10 * 10
    assert all(title.endswith("0.50") for title in cells(wide))
    assert "A cell is the mean of 10 rows." in [paragraph.text for paragraph in root(draw(values)).iter("p")]


def test_a_title_names_a_column_or_gives_its_number_where_many_are_numbered():
    long = [f"A long name of column {i}" for i in range(25)]
    assert "R0 · A long name of column 2: 0.50" in cells(draw([[0.5] * 10] * 50, columns=long[:10]))
    assert "R0 · 3: 0.50" in cells(draw([[0.5] * 25] * 25, columns=long))
    assert "R0 · C2: 0.50" in cells(draw([[0.5] * 25] * 25))


def test_a_matrix_of_another_shape_than_its_names_is_refused():
    with pytest.raises(ValueError, match="2 rows and 1 columns"):
        draw([[1.0]], rows=["a", "b"])


def test_without_any_value_there_is_a_sentence():
    assert pieces(draw([[None, nan]])) == ["t: there is no value to show."]
    assert pieces(matrix_plot([], rows=[], columns=[], show=str, legend="", title="t", name="m")) == [
        "t: there is no value to show."
    ]


def test_numbers_of_columns_keep_clear_of_each_other():
    xs = [25 + 0.37 * number for number in range(200)]
    shown = [int(text.text) for text in ET.fromstring(f"<g>{column_numbers(xs, y=9, room=75)}</g>").iter("text")]
    assert shown[0] == 1
    assert min(b - a for a, b in pairwise(shown)) * 0.37 * 6.8 >= 29


@quick
@given(st.integers(1, 16), st.integers(1, 4), st.booleans(), st.data())
def test_any_matrix_can_be_drawn(wide, high, diverging, data):
    values = data.draw(
        st.lists(st.lists(st.one_of(st.none(), reals), min_size=wide, max_size=wide), min_size=high, max_size=high)
    )
    columns = data.draw(st.lists(names, min_size=wide, max_size=wide))
    check(draw(values, columns=columns, diverging=diverging, show="{:.3g}".format, legend=columns[0]))


# Lines


def test_a_line_joins_the_ranks_of_a_team_and_has_a_gap_where_it_has_none():
    picture = rank_lines_plot(
        {"Aare": [1, 2, None, 1], "Inn": [2, 1, 1, 2]}, steps=["P1", "P2", "P3", "P4"], title="t", name="n"
    )
    paths = {path.findtext("title"): path.get("d") for path in root(picture).iter("path")}
    assert paths["Inn"].count("M") == 1
    assert paths["Inn"].count("L") == 3
    assert re.findall("[ML]", paths["Aare"]) == ["M", "L", "M"]
    assert "Aare: rank 2, P2" in titles(picture)
    assert [text for text in texts(picture) if "Aare" in text or "Inn" in text] == [
        "Aare 1",
        "Inn 2",
        "1 Aare",
        "2 Inn",
    ]
    assert check(picture).words == "t Ranks in P1, P2, P3, P4. Aare: 1, 2, –, 1. Inn: 2, 1, 1, 2."


def test_a_better_rank_is_higher():
    picture = rank_lines_plot({"Aare": [1, 2], "Inn": [2, 1]}, steps=["a", "b"], title="t", name="n")
    heights = {circle.findtext("title"): float(circle.get("cy")) for circle in root(picture).iter("circle")}
    assert heights["Aare: rank 1, a"] == heights["Inn: rank 1, b"] < heights["Aare: rank 2, b"]


def test_names_of_shared_ranks_do_not_cover_each_other():
    assert spread([10.0, 10.0, 40.0], gap=15, bottom=50) == [10, 25, 40]
    assert spread([48.0, 49.0, 50.0], gap=15, bottom=50) == [20, 35, 50]
    picture = rank_lines_plot({f"T{i}": [1.0] for i in range(9)}, steps=["a"], title="t", name="n")
    heights = sorted({float(text.get("y")) for text in root(picture).iter("text") if "T" in "".join(text.itertext())})
    assert len(heights) == 9
    assert min(b - a for a, b in pairwise(heights)) >= 15 - 1e-6


def test_a_team_that_is_ranked_at_neither_end_is_named_at_its_point_and_one_without_ranks_below():
    picture = rank_lines_plot(
        {"Aare": [1, 1, 1], "Inn": [None, 2, None], "Po": [None, nan, 0]}, steps=["a", "b", "c"], title="t", name="n"
    )
    assert "Inn" in texts(picture)
    assert root(picture).findtext("p") == "Never ranked: Po."


def test_the_ranks_of_more_than_thirty_rankings_are_counted():
    picture = rank_lines_plot(
        {"Aare": [1.0] * 30 + [1.5] * 10, "Inn": [2.0] * 30 + [1.5] * 10},
        steps=[str(i) for i in range(40)],
        title="t",
        name="n",
    )
    assert "Aare: rank 1, 87.5 %" in titles(picture)
    assert "Aare: rank 2, 12.5 %" in titles(picture)
    assert not of_class(picture, "bumps")


def test_every_team_has_as_many_ranks_as_there_are_rankings():
    with pytest.raises(ValueError, match="2 rankings, but not so many ranks of 'Inn'"):
        rank_lines_plot({"Aare": [1, 2], "Inn": [1]}, steps=["a", "b"], title="t", name="n")


@quick
@given(st.sampled_from([1, 2, 12, 31]), st.data())
def test_any_ranks_can_be_drawn(steps, data):
    found = data.draw(st.dictionaries(names, st.lists(ranks, min_size=steps, max_size=steps), max_size=5))
    called = data.draw(st.lists(names, min_size=steps, max_size=steps))
    check(rank_lines_plot(found, steps=called, title="t", name="n"))


# Histograms


def test_every_value_is_in_one_bar():
    values = [i / 1000 for i in range(1001)]
    picture = histogram_plot(values, label="tau", title="t", name="h", low=0, high=1)
    counts = [int(title.rsplit(": ", 1)[1]) for title in titles(picture)]
    assert len(counts) == math.ceil(2 * 1001 ** (1 / 3)) == 21
    assert sum(counts) == 1001
    assert max(counts) - min(counts) <= 1
    assert "n = 1001" in texts(picture)
    assert of_class(picture, "box")[0].get("x") == "11.00%"


def test_a_mark_is_a_line_at_its_value_and_says_it():
    picture = histogram_plot([0.2, 0.4], label="tau", title="t", name="h", low=0, high=1, marks={"observed": 0.75})
    (mark,) = of_class(picture, "median")
    assert share(mark.get("x1")) == pytest.approx(11 + 0.75 * 87, abs=0.01)
    assert "observed: 0.75" in texts(picture)


def test_what_lies_beyond_the_axis_or_is_not_finite_is_said():
    picture = histogram_plot(
        [-2.0, 0.5, 3.0, nan, inf], label="tau", title="t", name="h", low=0, high=1, marks={"seen": 2.0, "none": nan}
    )
    assert {
        "2 not finite, not shown",
        "1 below the axis, in the first bar",
        "1 above the axis, in the last bar",
        "none: not finite",
        "→ seen: 2",
        "n = 3",
    } <= set(texts(picture))
    assert [title.rsplit(": ", 1)[1] for title in titles(picture)] == ["1", "1", "1"]


def test_without_a_finite_value_there_is_a_sentence():
    assert pieces(histogram_plot([], label="tau", title="t", name="h")) == ["t: there are no values."]
    assert pieces(histogram_plot([nan], label="tau", title="t", name="h")) == ["t: none of the values is finite."]


@quick
@given(st.lists(reals, max_size=30), st.dictionaries(names, reals, max_size=3), names)
def test_any_values_can_be_drawn(values, marks, label):
    check(histogram_plot(values, label=label, title="t", name="h", marks=marks))


# All of them


def every(teams):
    count = len(teams)
    shares = {team: [1 / count] * count for team in teams}
    places = {team: float(number) for number, team in enumerate(teams, start=1)}
    yield blob_plot(shares, ranks=places, title=teams[0], name="one")
    spans = [RankSpan(team, rank, 1, count, "A", 1 / count) for team, rank in places.items()]
    yield rank_set_plot(spans, title=teams[0], name="two")
    values = [[(i * j) % 97 / 97 for j in range(count)] for i in range(count)]
    shown = {"show": "{:.2f}".format, "legend": teams[0], "title": teams[0], "name": "three"}
    yield matrix_plot(values, rows=teams, columns=teams, **shown)
    yield matrix_plot([[0.5] * 1000] * count, rows=teams, columns=[f"Case {i:04}" for i in range(1000)], **shown)
    steps = [f"ranking {step}" for step in range(30)]
    turned = {team: [(i + step) % count + 1 for step in range(30)] for i, team in enumerate(teams)}
    yield rank_lines_plot(turned, steps=steps, title=teams[0], name="four")
    yield histogram_plot([i / 1e4 for i in range(10_000)], label=teams[0], title=teams[0], name="five")


def test_pictures_of_fifty_teams_and_a_thousand_cases_are_small():
    for picture in every(FIFTY):
        check(picture)
        assert len(str(picture).encode()) < 300_000


def test_names_are_text_never_markup():
    for picture in every(HOSTILE):
        check(picture)
        assert "<script" not in picture
        assert not any(element.tag == "script" for element in root(picture).iter())


def test_fifty_teams_fit_on_a_printed_page():
    for picture in every(FIFTY):
        assert check(picture).height <= 1040


def test_without_teams_there_is_a_sentence():
    assert pieces(blob_plot({}, ranks={}, title="t", name="n")) == ["t: there is no team to show."]
    assert pieces(rank_set_plot([], title="t", name="n")) == ["t: there is no team to show."]
    assert pieces(rank_lines_plot({}, steps=[], title="t", name="n")) == ["t: no team has a rank."]


def test_a_printed_name_stands_first_because_a_printer_takes_the_place_from_it():
    picture = blob_plot({"a" * 60: [1.0]}, ranks={}, title="t", name="n")
    (name,) = [text for text in root(picture).iter("text") if "a" * 10 in "".join(text.itertext())]
    assert [part.get("class") for part in name.iter("tspan")] == ["own wide", "own narrow"]
