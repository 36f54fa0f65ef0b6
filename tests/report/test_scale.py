"""Scales, boxes and labels."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.metrics import Metric, catalogue
from isocenter.report._scale import LEFT, RIGHT, Axis, axis_for, box_of, fit, label_of

DICE = catalogue.get("dice")
DISTANCE = Metric("hd95", "mm", "lower", (0.0, math.inf), 2, "95th percentile of the surface distances")
FREE = Metric("bias", "ml", "neither", (-math.inf, math.inf), 1, "difference of the volumes")
numbers = st.floats(-1e300, 1e300)


def test_a_bounded_metric_is_drawn_on_all_of_its_range():
    axis = axis_for(DICE, [0.81, 0.84])
    assert (axis.low, axis.high) == (0.0, 1.0)
    assert axis.ticks == pytest.approx((0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
    assert [axis.show(tick) for tick in axis.ticks] == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]


def test_an_unbounded_end_is_rounded_beyond_the_values():
    axis = axis_for(DISTANCE, [2.2, 17.0, math.inf])
    assert (axis.low, axis.high) == (0.0, 20.0)
    assert [axis.show(tick) for tick in axis.ticks] == ["0", "5", "10", "15", "20"]


def test_no_value_and_equal_values_still_make_an_axis():
    for metric in (DICE, DISTANCE, FREE):
        for values in ([], [0.0], [0.5, 0.5], [math.inf]):
            axis = axis_for(metric, values)
            assert axis.low < axis.high
            assert len(axis.ticks) >= 2


@given(st.lists(numbers), st.sampled_from([FREE, DISTANCE]))
def test_every_value_lies_on_the_axis_and_the_ticks_are_few(values, metric):
    values = [value for value in values if metric.admits(value)]
    axis = axis_for(metric, values)
    assert axis.low < axis.high
    assert all(axis.low <= value <= axis.high for value in values)
    assert all(axis.low <= tick <= axis.high for tick in axis.ticks)
    assert 2 <= len(axis.ticks) <= 9
    assert len({axis.show(tick) for tick in axis.ticks}) == len(axis.ticks)
    assert max(len(axis.show(tick)) for tick in axis.ticks) <= 10
    places = [axis.at(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(LEFT <= place <= RIGHT for place in places)


def test_positions_are_linear():
    axis = Axis(0.0, 1.0, (0.0, 1.0), 1)
    assert [axis.at(value) for value in (0.0, 0.5, 1.0)] == pytest.approx([LEFT, (LEFT + RIGHT) / 2, RIGHT])


def test_a_box_has_interpolated_quartiles_and_whiskers_that_leave_outliers_out():
    box = box_of([4.0, 1.0, 2.0, 100.0, 3.0, 5.0])
    assert (box.first, box.median, box.third) == (2.25, 3.5, 4.75)
    assert (box.low, box.high) == (1.0, 5.0)


def test_a_whisker_never_ends_inside_the_box():
    box = box_of([0.0, 100.0, 101.0, 102.0])
    assert box.low == box.first == 75.0


@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_a_box_is_in_order_and_within_the_values(values):
    box = box_of(values)
    slack = 1e-9 * max(map(abs, values))
    ends = (min(values) - slack, box.low, box.first, box.median, box.third, box.high, max(values) + slack)
    assert all(left <= right + slack for left, right in itertools.pairwise(ends))


def test_labels_are_for_people():
    assert label_of(DICE) == "Dice"
    assert label_of(DISTANCE) == "HD95 (mm)"
    assert label_of(Metric("dvh_error", "Gy", "lower", (0, 1), 1, "")) == "DVH error (Gy)"
    assert label_of(Metric("volume_error", "ml", "lower", (0, 1), 1, "")) == "Volume error (ml)"


def test_a_text_that_fits_is_left_alone():
    assert fit("Aare", 4) == "Aare"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Aare and Doubs", "Aare …"),
        ("脳腫瘍研究", "脳腫…"),
        ("🧠🧠🧠🧠", "🧠🧠…"),
        ("e\u0301" * 9, "e\u0301" * 5 + "…"),
    ],
)
def test_a_long_text_is_cut_by_the_room_it_takes(text, shown):
    assert fit(text, 6) == shown


def test_a_name_of_a_million_letters_is_cut_at_once():
    assert fit("x" * 1_000_000, 10) == "x" * 9 + "…"
