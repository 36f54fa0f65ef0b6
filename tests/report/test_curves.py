"""Curves of detection and diagnosis: lines where the rates are, every team told from every other."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from isocenter.metrics import auroc, froc, precision_recall_curve, roc_curve
from isocenter.report import Band, Figure, OperatingMark, froc_plot, pictures_page, precision_recall_plot, roc_plot

PIXELS = 432  # the side of the square where there is room for it
TELEPHONE = 290
RIVERS = ["Aare", "Birs", "Drau", "Enns", "Inn", "Isar", "Lech", "Limmat", "Mur", "Reuss", "Saane", "Thur"]

# Two of three lesions are found, with a false positive between them, in two cases.
ROWS = ([1, 0, 1, 1], [0.9, 0.8, 0.7, 0.0])
ROC = roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8])
PRECISION_RECALL = precision_recall_curve(*ROWS)
FROC = froc(*ROWS, cases=2)
PLOTS = [(roc_plot, ROC), (precision_recall_plot, PRECISION_RECALL), (froc_plot, FROC)]


def parse(markup):
    return ET.fromstring(str(markup))


def of_class(markup, css):
    return [element for element in parse(markup).iter() if css in element.get("class", "").split()]


def texts(markup):
    return [element.text for element in parse(markup).iter("text")]


def axes(markup):
    """What is written along the axes."""
    return [text.text for text in of_class(markup, "small")]


def key(markup):
    """What is said in the list beside the plot."""
    return ["".join(item.find("span").itertext()) for item in parse(markup).iter("li")]


def corners(path):
    """Corners of a path as places (right, up), from 0 to 1."""
    thousandths = np.array([pair.split() for pair in path.get("d").rstrip("Z")[1:].split("L")], float)
    return np.column_stack([thousandths[:, 0], 1000 - thousandths[:, 1]]) / 1000


def lines(markup):
    """The curves by the names of their teams, without what continues them, and without the samples in the key."""
    return {
        path.findtext("title").split(",")[0]: corners(path)
        for path in of_class(markup, "line")
        if path.find("title") is not None and "beyond" not in path.get("class").split()
    }


def placed(element):
    """Where a symbol stands, as a place (right, up)."""
    return np.array([float(element.get("x").rstrip("%")), 100 - float(element.get("y").rstrip("%"))]) / 100


def discs(markup):
    """Places of the numbers on the curves."""
    return {
        s.find("text").text: placed(s)
        for s in of_class(markup, "placed")
        if s.find("circle[@class='disc']") is not None
    }


def marks(markup):
    """Places of the marks by their titles."""
    return {s.findtext("g/title"): placed(s) for s in of_class(markup, "placed") if s.find("g") is not None}


def distance(points, line):
    """From each of some points to a line of corners."""
    starts, along = line[:-1], np.diff(line, axis=0)
    offsets = points[:, None] - starts
    share = ((offsets * along).sum(2) / np.maximum((along**2).sum(1), 1e-30)).clip(0, 1)
    return np.hypot(*np.moveaxis(offsets - share[..., None] * along, 2, 0)).min(1)


def dense(line):
    """Many points on a line."""
    return np.concatenate([line[:-1] + np.diff(line, axis=0) * share for share in np.linspace(0, 1, 20)] + [line[-1:]])


def cases(rng, *, count, skill):
    truth = rng.integers(0, 2, count)
    return truth, rng.normal(skill * truth, 1)


def rows(rng, *, lesions, false, skill, missed=0.1):
    is_lesion = np.repeat([1, 0], [lesions, false])
    confidence = 1 / (1 + np.exp(-rng.normal(skill * is_lesion, 1)))
    confidence[:lesions][rng.random(lesions) < missed] = 0
    return is_lesion, confidence


def many(count=12, *, size=300):
    """Curves of many teams of similar skill, for each of the three plots."""
    rng = np.random.default_rng(7)
    skills = dict(zip([*RIVERS, *(f"Team {n}" for n in range(40))][:count], np.linspace(1.8, 0.9, count), strict=True))
    lists = {team: rows(rng, lesions=size // 3, false=size, skill=skill) for team, skill in skills.items()}
    return [
        (roc_plot, {team: roc_curve(*cases(rng, count=size, skill=skill)) for team, skill in skills.items()}),
        (precision_recall_plot, {team: precision_recall_curve(*table) for team, table in lists.items()}),
        (froc_plot, {team: froc(*table, cases=size / 2) for team, table in lists.items()}),
    ]


# Lines ---------------------------------------------------------------------------------------------------------------


def test_a_roc_curve_is_joined_by_straight_lines():
    drawn = lines(roc_plot({"Aare": ROC}, title="ROC"))["Aare"]
    assert drawn == pytest.approx(np.array([[0, 0], [0, 0.5], [0.5, 1], [1, 1]]))


def test_precision_is_drawn_in_the_steps_that_the_average_adds_up():
    drawing = precision_recall_plot({"Aare": PRECISION_RECALL}, title="Precision and recall")
    # 1 up to a third of the lesions, 2/3 up to two thirds; what nobody found is no step.
    expected = [[0, 1], [1 / 3, 1], [1 / 3, 2 / 3], [2 / 3, 2 / 3]]
    assert lines(drawing)["Aare"] == pytest.approx(np.array(expected), abs=1e-3)
    (end,) = [s for s in of_class(drawing, "placed") if s.find("circle") is not None]
    assert placed(end) == pytest.approx([2 / 3, 2 / 3], abs=1e-3)


def test_a_froc_curve_goes_on_at_its_height_until_the_next_point_and_beyond_the_last():
    drawing = froc_plot({"Aare": FROC}, title="FROC")
    # From 1/8 to 1 on a logarithmic axis: 1/2 lies at two thirds. A third is found without a false positive.
    assert lines(drawing)["Aare"] == pytest.approx(np.array([[0, 1 / 3], [2 / 3, 1 / 3], [2 / 3, 2 / 3]]), abs=1e-3)
    (beyond,) = of_class(drawing, "beyond")
    assert corners(beyond) == pytest.approx(np.array([[2 / 3, 2 / 3], [1, 2 / 3]]), abs=1e-3)
    linear = lines(froc_plot({"Aare": FROC}, title="FROC", scale="linear"))["Aare"]
    assert linear == pytest.approx(np.array([[0, 1 / 3], [0.5, 1 / 3], [0.5, 2 / 3]]), abs=1e-3)


def test_a_froc_curve_that_leaves_the_axis_goes_to_its_end_and_has_no_dot():
    drawing = froc_plot({"Aare": froc([1, 0, 0, 0, 1], [0.9, 0.8, 0.7, 0.6, 0.5], cases=1)}, title="FROC", x_max=2)
    assert lines(drawing)["Aare"] == pytest.approx(np.array([[0, 0.5], [1, 0.5]]))
    assert not of_class(drawing, "beyond")
    assert not list(parse(drawing).iter("circle"))


def test_the_infinite_last_point_of_picai_eval_is_not_drawn():
    peer = froc([1, 0, 1, 1], [0.9, 0.8, 0.7, 0.0], cases=2, preset="picai")
    assert math.isinf(peer.false_positives[-1])
    drawn = [lines(froc_plot({"Aare": curve}, title="FROC"))["Aare"] for curve in (peer, FROC)]
    assert np.array_equal(*drawn)


tables = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 8)), min_size=1, max_size=60)


@settings(deadline=None)
@given(tables)
def test_the_area_under_the_drawn_steps_is_the_average_precision(table):
    is_lesion, confidence = np.array(table).T
    curve = precision_recall_curve(is_lesion, confidence / 8)
    assume(not math.isnan(curve.average_precision))
    drawn = lines(precision_recall_plot({"a": curve}, title="t"))["a"]
    length = np.hypot(*np.diff(drawn, axis=0).T).sum()
    area = np.trapezoid(drawn[:, 1], drawn[:, 0])
    assert area == pytest.approx(curve.average_precision, abs=(1 + length) * 0.5 / PIXELS)


@settings(deadline=None)
@given(tables, st.sampled_from(["log", "linear"]))
def test_a_froc_curve_is_drawn_at_the_sensitivity_of_each_rate(table, scale):
    is_lesion, confidence = np.array(table).T
    curve = froc(is_lesion, confidence / 8, cases=7)
    assume(not math.isnan(curve.sensitivity[0]))
    drawing = froc_plot({"a": curve}, title="t", scale=scale, x_max=4)
    whole = np.concatenate([lines(drawing)["a"], *map(corners, of_class(drawing, "beyond"))])
    rates = np.arange(0.06, 4, 1 / 70)  # between the points, which are sevenths
    rates = rates[(abs(rates * 7 - np.rint(rates * 7)) > 0.05) & (rates > (0.14 if scale == "log" else 0))]
    places = (np.log2(rates) + 3) / 5 if scale == "log" else rates / 4
    exact = np.array([curve.sensitivity_at(rate) for rate in rates])
    assert distance(np.column_stack([places, exact]), whole).max() * PIXELS <= 0.5


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([2, 5, 40, 300, 1200]), st.floats(0, 2))
def test_thinning_moves_no_curve_by_more_than_half_a_pixel(seed, count, skill):
    rng = np.random.default_rng(seed)
    truth, score = cases(rng, count=count, skill=skill)
    truth[:2] = 0, 1
    curve = roc_curve(truth, score)
    exact = np.column_stack([curve.false_positive_rate, curve.sensitivity])
    drawn = lines(roc_plot({"a": curve}, title="t"))["a"]
    assert distance(exact, drawn).max() * PIXELS <= 0.5
    near = distance(dense(drawn), exact)
    assert near.max() * PIXELS <= 0.5
    pr = precision_recall_curve(truth, 1 / (1 + np.exp(-score)))
    wide = np.flatnonzero(np.diff(pr.recall) < 0)
    steps = np.column_stack([np.repeat(pr.recall, 2)[1:-1], np.repeat(pr.precision[:-1], 2)]).reshape(-1, 2, 2)[wide]
    drawn = lines(precision_recall_plot({"a": pr}, title="t"))["a"]
    assert distance(steps.reshape(-1, 2), drawn).max() * PIXELS <= 0.5


def test_a_hundred_thousand_points_make_a_small_picture():
    rng = np.random.default_rng(0)
    truth, score = cases(rng, count=100_000, skill=1.2)
    confidence = 1 / (1 + np.exp(-score))
    for drawing in (
        roc_plot({"a": roc_curve(truth, score)}, title="t"),
        precision_recall_plot({"a": precision_recall_curve(truth, confidence)}, title="t"),
        froc_plot({"a": froc(truth, confidence, cases=40_000)}, title="t"),
    ):
        assert len(drawing) < 8000
        assert len(lines(drawing)["a"]) > 12


# Extreme curves ------------------------------------------------------------------------------------------------------


def test_a_perfect_curve_runs_along_the_frame():
    drawn = lines(roc_plot({"a": roc_curve([0, 1], [0, 1])}, title="t"))["a"]
    assert drawn.tolist() == [[0, 0], [0, 1], [1, 1]]
    drawn = lines(precision_recall_plot({"a": precision_recall_curve([1, 1], [0.9, 0.8])}, title="t"))["a"]
    assert drawn.tolist() == [[0, 1], [1, 1]]
    drawing = froc_plot({"a": froc([1, 1], [0.9, 0.8], cases=2)}, title="t")
    assert lines(drawing)["a"].tolist() == [[0, 1]]
    assert corners(of_class(drawing, "beyond")[0]).tolist() == [[0, 1], [1, 1]]


def test_one_score_for_all_is_the_diagonal():
    drawing = roc_plot({"a": roc_curve([0, 1, 1], [1, 1, 1])}, title="t")
    assert lines(drawing)["a"].tolist() == [[0, 0], [1, 1]]
    assert key(drawing) == ["a, AUROC 0.500"]
    drawing = precision_recall_plot({"a": precision_recall_curve([1, 0], [0.5, 0.5])}, title="t")
    assert lines(drawing)["a"].tolist() == [[0, 0.5], [1, 0.5]]


def test_who_found_nothing_has_a_dot_at_the_origin():
    nothing = ([1, 0], [0.0, 0.4])
    drawing = precision_recall_plot({"a": precision_recall_curve(*nothing)}, title="t")
    assert key(drawing) == ["a, AP 0.000"]
    (dot,) = of_class(drawing, "placed")
    assert placed(dot).tolist() == [0, 0]
    drawing = froc_plot({"a": froc(*nothing, cases=1)}, title="t")
    assert lines(drawing)["a"].tolist() == [[0, 0], [1, 0]]


@pytest.mark.parametrize(
    ("plot", "curve", "said"),
    [
        (roc_plot, roc_curve([1, 1], [1, 2]), "AUROC undefined"),
        (roc_plot, roc_curve([], []), "AUROC undefined"),
        (precision_recall_plot, precision_recall_curve([0], [0.5]), "AP undefined"),
        (precision_recall_plot, precision_recall_curve([], []), "AP undefined"),
        (froc_plot, froc([0], [0.5], cases=1), "sensitivity undefined"),
    ],
)
def test_what_is_undefined_is_said_and_not_drawn(plot, curve, said):
    drawing = plot({"Aare": curve}, title="t")
    assert key(drawing) == [f"Aare, {said}, not drawn"]
    assert lines(drawing) == {}
    assert f"Aare: {said}." in parse(drawing).findtext("svg/desc")


@pytest.mark.parametrize("plot", [roc_plot, precision_recall_plot, froc_plot])
def test_without_curves_there_is_a_frame(plot):
    drawing = plot({}, title="t")
    assert key(drawing) == []
    assert "0.2" in texts(drawing)


# Axes ----------------------------------------------------------------------------------------------------------------


def test_axes_are_named_as_the_field_names_them():
    found = [texts(plot({"a": curve}, title="t")) for plot, curve in PLOTS]
    assert {"Sensitivity", "1 − specificity", "0.0", "0.2", "0.4", "0.6", "0.8", "1.0"} <= set(found[0])
    assert {"Precision", "Recall"} <= set(found[1])
    assert {"Sensitivity", "False positives per case, logarithmic"} <= set(found[2])


def test_only_the_roc_plot_has_a_diagonal_of_chance():
    assert [len(of_class(plot({"a": curve}, title="t"), "chance")) for plot, curve in PLOTS] == [1, 0, 0]
    assert "chance" in texts(roc_plot({}, title="t"))


def ending_at(rate):
    return froc([1, *[0] * round(4 * rate)], [0.9, *[0.5] * round(4 * rate)], cases=4)


@pytest.mark.parametrize(
    ("rate", "end"), [(0.25, "1"), (1, "1"), (1.25, "2"), (2, "2"), (3, "4"), (4, "4"), (5, "8"), (8, "8"), (40, "8")]
)
def test_the_axis_ends_at_the_first_power_of_two_that_contains_all_ends(rate, end):
    ticks = ["1/8", "1/4", "1/2", "1", "2", "4", "8"]
    found = axes(froc_plot({"a": ending_at(0.25), "b": ending_at(rate)}, title="t"))
    assert [tick for tick in ticks if tick in found] == ticks[: ticks.index(end) + 1]
    mark = OperatingMark("r", rate, 0.5, "reader")
    assert end in axes(froc_plot({"a": ending_at(0.25)}, title="t", points=[mark]))


def test_a_linear_axis_begins_at_0_with_round_numbers():
    found = axes(froc_plot({"a": ending_at(3)}, title="t", scale="linear"))
    assert [text for text in found if text.isdigit()] == ["0", "1", "2", "3", "4"]
    assert "False positives per case" in found


def test_the_end_of_the_axis_may_be_chosen():
    found = axes(froc_plot({"a": ending_at(1)}, title="t", x_max=4096))
    assert [text for text in found if re.fullmatch(r"1/\d|[1-9]\d*", text)] == [
        "1/8",
        "1/2",
        "2",
        "8",
        "32",
        "128",
        "512",
        "2048",
    ]
    assert "10" in axes(froc_plot({"a": ending_at(1)}, title="t", x_max=10, scale="linear"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": "ln"}, "'log' or 'linear', not 'ln'"),
        ({"x_max": 0.125}, "finite number above 0.125, not at 0.125"),
        ({"x_max": math.inf}, "finite number"),
        ({"x_max": math.nan}, "finite number"),
        ({"x_max": 0.0, "scale": "linear"}, "finite number above 0, not at 0.0"),
    ],
)
def test_an_impossible_axis_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        froc_plot({"a": FROC}, title="t", **options)


# Teams told apart ----------------------------------------------------------------------------------------------------


def test_each_team_has_its_number_and_its_figure_in_the_key():
    assert auroc([0, 0, 1, 1], [0.1, 0.4, 0.4, 0.8]) == 0.875
    assert key(roc_plot({"Aare": ROC}, title="t")) == ["Aare, AUROC 0.875"]
    assert key(precision_recall_plot({"Aare": PRECISION_RECALL}, title="t")) == ["Aare, AP 0.556"]
    assert key(froc_plot({"Aare": FROC}, title="t")) == ["Aare, 0.667 at 1 FP/case"]


def test_one_team_needs_no_number_and_two_do():
    assert not of_class(roc_plot({"Aare": ROC}, title="t"), "disc")
    drawing = roc_plot({"Aare": ROC, "Birs": ROC}, title="t")
    assert list(discs(drawing)) == ["1", "2"]
    assert [item.findtext("svg/text") for item in parse(drawing).iter("li")] == ["1", "2"]


def look(markup):
    """Colour and dashes of every team, as drawn and as in the key."""
    drawn, sampled = {}, []
    for path in of_class(markup, "line"):
        kind = (path.get("style"), next(css for css in path.get("class").split() if css.startswith("dash")))
        if path.find("title") is None:
            sampled.append(kind)
        else:
            drawn[path.findtext("title").split(",")[0]] = kind
    assert list(drawn.values())[::-1] == sampled  # the first team lies on top of the others
    return dict(reversed(drawn.items()))


def test_a_team_looks_the_same_in_all_three_plots_and_unlike_any_other():
    looks = [look(plot(curves, title="t")) for plot, curves in many(20)]
    # Those that continue a FROC curve look like it.
    assert looks[0] == looks[1] == looks[2]
    assert list(looks[0]) == [*RIVERS, *(f"Team {n}" for n in range(8))]
    assert len(set(looks[0].values())) == 20
    for one, other in itertools.pairwise(looks[0].values()):
        assert one[0] != other[0]
        assert one[1] != other[1]


@pytest.mark.parametrize("number", range(3))
def test_numbers_lie_on_their_own_curves_apart_from_each_other_even_on_a_telephone(number):
    plot, curves = many(12)[number]
    drawing = plot(curves, title="t")
    found = discs(drawing)
    assert list(found) == [str(n + 1) for n in range(12)]
    for one, other in itertools.combinations(found.values(), 2):
        assert np.hypot(*(one - other)) * TELEPHONE >= 16
    drawn = lines(drawing)
    beyond = {p.findtext("title").split(",")[0]: corners(p) for p in of_class(drawing, "beyond")}
    for team, place in zip(curves, found.values(), strict=True):
        parts = [drawn[team], beyond.get(team, drawn[team])]
        assert min(float(distance(place[None], part)[0]) for part in parts) * PIXELS <= 1


def test_a_number_stands_where_its_curve_is_alone():
    """Two curves that are one up to half the negatives: the numbers lie on the parts that are not."""
    common = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    good = roc_curve(common, [1, 2, 3, 8, 4, 5, 9, 9])
    poor = roc_curve(common, [1, 5, 6, 8, 4, 7, 9, 9])
    drawing = roc_plot({"good": good, "poor": poor}, title="t")
    (first, second), drawn = discs(drawing).values(), lines(drawing)
    assert distance(first[None], drawn["poor"])[0] * TELEPHONE > 12
    assert distance(second[None], drawn["good"])[0] * TELEPHONE > 12


def test_a_number_stands_on_no_mark():
    marks_there = [OperatingMark(str(n), x, x, "reader") for n, x in enumerate(np.linspace(0, 1, 12)) if n != 3]
    curve = roc_curve([0, 1], [1, 1])
    drawing = roc_plot({"a": curve, "b": curve}, title="t", points=marks_there)
    for place in discs(drawing).values():
        assert min(np.hypot(*(place - other)) for other in marks(drawing).values()) * TELEPHONE > 10


# Marks and bands -----------------------------------------------------------------------------------------------------

READERS = [
    OperatingMark("Reader 1", 0.2, 0.85, "expert"),
    OperatingMark("Reader 2", 0.3, 0.9, "expert"),
    OperatingMark("Routine", 0.4, 0.95, "PI-RADS ≥ 3"),
]


def test_marks_stand_at_their_rates_and_share_symbol_and_entry_by_kind():
    drawing = roc_plot({"Aare": ROC}, title="t", points=READERS)
    found = marks(drawing)
    assert list(found) == [
        "Reader 1 (expert): sensitivity 0.85, 1 − specificity 0.20",
        "Reader 2 (expert): sensitivity 0.90, 1 − specificity 0.30",
        "Routine (PI-RADS ≥ 3): sensitivity 0.95, 1 − specificity 0.40",
    ]
    assert np.array(list(found.values())) == pytest.approx(np.array([[0.2, 0.85], [0.3, 0.9], [0.4, 0.95]]))
    shapes = [path.get("d") for path in of_class(drawing, "full")]
    assert shapes[0] == shapes[1] == shapes[3]  # the fourth and the fifth are those of the key
    assert shapes[2] == shapes[4] != shapes[0]
    assert key(drawing) == ["Aare, AUROC 0.875", "expert, n = 2", "PI-RADS ≥ 3: Routine"]


def test_a_mark_named_like_its_kind_is_named_once():
    drawing = roc_plot({}, title="t", points=[OperatingMark("PI-RADS ≥ 4", 0.2, 0.8, "PI-RADS ≥ 4")])
    assert key(drawing) == ["PI-RADS ≥ 4"]


def test_twelve_kinds_of_marks_differ_by_shape_or_filling():
    drawing = roc_plot({}, title="t", points=[OperatingMark("r", n / 12, 0.5, f"kind {n}") for n in range(12)])
    symbols = {(path.get("class"), path.get("d")) for css in ("full", "open") for path in of_class(drawing, css)}
    assert len(symbols) == 12


def test_a_mark_beyond_the_axis_stands_at_its_end_with_an_arrow():
    points = [OperatingMark(str(x), x, 0.5, "reader") for x in (0.01, 0.5, 9.0)]
    drawing = froc_plot({"a": FROC}, title="t", points=points)
    assert [place[0] for place in marks(drawing).values()] == pytest.approx([0, 1 / 3, 1], abs=1e-3)
    assert [len(s.find("g").findall("path")) for s in of_class(drawing, "placed") if s.find("g") is not None] == [
        2,
        1,
        2,
    ]
    assert "0.01 (reader): sensitivity 0.50, false positives per case 0.01" in marks(drawing)


def test_impossible_marks_and_bands_are_named_together():
    with pytest.raises(ValueError) as caught:
        roc_plot(
            {"Aare": ROC},
            title="t",
            points=[
                OperatingMark("high", 0.5, 1.5, "r"),
                OperatingMark("none", math.nan, 0.5, "r"),
                OperatingMark("fine", 0.5, 0.5, "r"),
            ],
            bands={"Birs": Band([0, 1], [0, 0], [1, 1]), "Aare": Band([0, 1], [0.5, 0.5], [0.6, 0.4])},
        )
    for part in (
        "sensitivity of 'high' is 1.5",
        "1 − specificity of 'none' is nan",
        "a band of 'Birs', but no curve",
        "the band of 'Aare' needs finite numbers",
    ):
        assert part in str(caught.value)
    assert "fine" not in str(caught.value)


@pytest.mark.parametrize(
    "band",
    [
        Band([0, 1], [0, 0], [1]),
        Band([0], [0], [1]),
        Band([1, 0], [0, 0], [1, 1]),
        Band([0, math.nan], [0, 0], [1, 1]),
        Band([[0, 1]], [[0, 0]], [[1, 1]]),
    ],
)
def test_a_band_that_is_none_is_refused(band):
    with pytest.raises(ValueError, match="the band of 'Aare'"):
        roc_plot({"Aare": ROC}, title="t", bands={"Aare": band})


@pytest.mark.parametrize("x", [-0.1, math.inf, math.nan])
def test_false_positives_of_a_mark_are_finite_and_not_negative(x):
    with pytest.raises(ValueError, match="false positives per case of 'r' is"):
        froc_plot({"a": FROC}, title="t", points=[OperatingMark("r", x, 0.5, "reader")])


def test_a_band_lies_behind_all_curves_in_the_colour_of_its_own():
    band = Band([0, 0.5, 1], [0, 0.5, 0.9], [0.2, 0.75, 1.2])
    drawing = roc_plot({"Aare": ROC, "Birs": ROC}, title="t", bands={"Birs": band})
    (area,) = of_class(drawing, "band")
    expected = [[0, 0], [0.5, 0.5], [1, 0.9], [1, 1], [0.5, 0.75], [0, 0.2]]
    assert corners(area) == pytest.approx(np.array(expected), abs=1e-3)
    paths = [path for path in parse(drawing).iter("path") if path.get("class").split()[0] in ("band", "line")]
    assert paths[0].get("class") == "band"
    assert area.get("style").split(":")[1] == look(drawing)["Birs"][0].split(":")[1]


def test_a_band_is_cut_to_the_axis():
    drawing = froc_plot({"a": FROC}, title="t", bands={"a": Band([0, 2], [0, 0.4], [0.2, 0.6])})
    (area,) = of_class(drawing, "band")
    # At 1/8 and at 1 false positive per case: a sixteenth and a half of the way.
    assert corners(area)[[0, -1]] == pytest.approx(np.array([[0, 0.025], [0, 0.225]]), abs=1e-3)
    assert corners(area)[[1, 2]] == pytest.approx(np.array([[1, 0.2], [1, 0.4]]), abs=1e-3)


# For everybody -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plot", "curve", "said"),
    [
        (roc_plot, ROC, "Aare: AUROC 0.875, sensitivity 0.50 at a specificity of at least 0.90."),
        (
            precision_recall_plot,
            PRECISION_RECALL,
            "Aare: AP 0.556, recall up to 0.67, precision 0.67 at a recall of at least 0.50.",
        ),
        (froc_plot, FROC, "Aare: sensitivity 0.67, 0.67 and 0.67 at 1/2, 1 and 2 false positives per case."),
    ],
)
def test_who_cannot_see_the_plot_is_told_what_it_shows(plot, curve, said):
    drawing = plot({"Aare": curve}, title="What it shows", points=READERS[:1], name="p7").replace("\n", "")
    svg = parse(drawing).find("svg")
    assert svg.get("role") == "img"
    assert svg.get("aria-labelledby") == "p7-title p7-desc"
    assert svg.find("title").get("id") == "p7-title"
    assert svg.findtext("title") == "What it shows"
    assert svg.find("desc").get("id") == "p7-desc"
    assert svg.findtext("desc").startswith(f"{said} Reader 1 (expert): ")


@pytest.mark.parametrize("name", ["<script>alert(1)</script>&\"'", "W" * 200, "🧪🔬 team 🎉", "שלום", ""])
@pytest.mark.parametrize(("plot", "curve"), PLOTS)
def test_any_name_is_only_a_name(plot, curve, name):
    drawing = plot(
        {name: curve, "b": curve},
        title=name,
        points=[OperatingMark(name, 0.5, 0.5, name)],
        bands={name: Band([0, 1], [0, 0], [1, 1])},
    )
    assert "<script" not in drawing
    assert parse(drawing).findtext("svg/title") == name
    first, *_, last = parse(drawing).iter("li")
    for item in (first, last):
        assert item.find("span").get("title") == name
        shown = item.findtext("span/bdi") or ""
        assert shown == name if len(name) < 44 else (len(shown) == 44 and shown.endswith("…"))
    assert "<script>" not in pictures_page("t", [Figure("f", "t", "c", drawing)])


@pytest.mark.parametrize("number", range(3))
def test_the_same_curves_give_the_same_bytes_and_need_nothing_else(number):
    first, second = (plot(curves, title="t") for plot, curves in (many(5)[number], many(5)[number]))
    assert first == second
    assert not re.search(r"https?:|<script|url\(|@import", first)
    assert "prefers-color-scheme:dark" in first
    assert "@media print" in first
