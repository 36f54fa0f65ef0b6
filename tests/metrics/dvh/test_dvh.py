"""Histograms: what each rule reads from a few voxels, what holds for all, and every kind of bad input."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isocenter.metrics.dvh import RULES, Request, dvh_of, is_smaller_than, openkbp_criteria, table

# Doses as planning systems write them: to a milligray, so that the smallest difference is no rounding error.
doses = hnp.arrays(np.float64, st.integers(1, 40), elements=st.integers(0, 80_000).map(lambda mgy: mgy / 1000))
shares = st.floats(0.5, 99.5)


def value(dvh, request, **options):
    return float(dvh.evaluate(request, **options))


@pytest.fixture
def five():
    """Five voxels of 0.1 cc, from 10 to 50 Gy, in no order."""
    return dvh_of(np.array([30.0, 10.0, 50.0, 20.0, 40.0]), voxel_volume=100.0)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        # numpy.percentile of five values: D_x% at (100 − x)/100 × 4 places above the coldest.
        ("D100%[Gy]", (10.0, 10.0, 10.0, 10.0)),
        ("D95%[Gy]", (10.0, 10.0, 12.0, 12.0)),
        ("D50%[Gy]", (30.0, 30.0, 30.0, 30.0)),
        ("D40%[Gy]", (40.0, 35.0, 34.0, 34.0)),
        ("D41%[Gy]", (30.0, 34.5, 33.6, 33.6)),
        ("D0%[Gy]", (50.0, 50.0, 50.0, 50.0)),
        # 0.1 cc is the hottest voxel, of which the middle is at 0.05 cc; for OpenKBP it is the percentile 80.
        ("D0.1cc[Gy]", (50.0, 45.0, 42.0, 42.0)),
        ("D0.14cc[Gy]", (40.0, 41.0, 42.0, 38.8)),
        ("D0.05cc[Gy]", (50.0, 50.0, 42.0, 46.0)),
        ("D0cc[Gy]", (50.0, 50.0, 42.0, 50.0)),
        ("DC0.1cc[Gy]", (10.0, 15.0, 18.0, 18.0)),
        ("DC0.11cc[Gy]", (20.0, 16.0, 18.0, 18.8)),
        ("DC20%[Gy]", (10.0, 15.0, 18.0, 18.0)),
        ("DC0%[Gy]", (10.0, 10.0, 10.0, 10.0)),
        ("DC100%[Gy]", (50.0, 50.0, 50.0, 50.0)),
        ("V30Gy[%]", (60.0, 50.0, 60.0, 60.0)),
        ("V30.01Gy[%]", (40.0, 49.98, 40.0, 40.0)),
        ("V3500cGy[cc]", (0.2, 0.2, 0.2, 0.2)),
        ("V10Gy[%]", (100.0, 100.0, 100.0, 100.0)),
        ("V50Gy[%]", (20.0, 10.0, 20.0, 20.0)),
        ("V50.1Gy[%]", (0.0, 0.0, 0.0, 0.0)),
        ("V0Gy[cc]", (0.5, 0.5, 0.5, 0.5)),
        ("CV30Gy[%]", (40.0, 50.0, 40.0, 40.0)),
        ("CV30Gy[cc]", (0.2, 0.25, 0.2, 0.2)),
        ("Mean[Gy]", (30.0, 30.0, 30.0, 30.0)),
        ("Mean[cGy]", (3000.0, 3000.0, 3000.0, 3000.0)),
        ("Min[Gy]", (10.0, 10.0, 10.0, 10.0)),
        ("Max[Gy]", (50.0, 50.0, 50.0, 50.0)),
        ("Volume[cc]", (0.5, 0.5, 0.5, 0.5)),
    ],
)
def test_five_voxels_by_every_rule(five, request_, expected):
    found = [value(five, request_, rule=rule) for rule in ("exact", "partial-volume", "openkbp", "doserad")]
    assert found == pytest.approx(expected, abs=1e-12)


def test_per_cent_of_dose_is_of_the_prescription(five):
    assert value(five, "V95%[cc]", prescription=40.0) == pytest.approx(0.2)  # 38 Gy or more
    assert value(five, "V100%[%]", prescription=40.0) == 40.0  # exactly 40 Gy counts
    assert value(five, "Max[%]", prescription=40.0) == 125.0
    assert value(five, "V2000cGy[%]", prescription=40.0) == 80.0


@pytest.mark.parametrize("request_", ["V95%[%]", "D95%[%]", "Mean[%]"])
def test_without_a_prescription_per_cent_of_dose_is_an_error_that_says_so(five, request_):
    with pytest.raises(ValueError, match=r"needs the prescribed dose: prescription="):
        five.evaluate(request_)


@pytest.mark.parametrize("prescription", [0.0, -60.0, math.nan, math.inf])
def test_a_prescription_is_a_positive_dose(five, prescription):
    with pytest.raises(ValueError, match="positive number of Gy"):
        five.evaluate("Mean[Gy]", prescription=prescription)


def test_weights_are_parts_of_voxels():
    dvh = dvh_of(np.array([10.0, 20.0, 30.0, 99.0]), voxel_volume=1000.0, weights=np.array([0.5, 1.0, 0.25, 0.0]))
    assert dvh.volume == 1.75
    assert dvh.max == 30.0  # a voxel without weight is no part of the structure
    assert dvh.mean == pytest.approx((5 + 20 + 7.5) / 1.75)
    exact = {text: value(dvh, text) for text in ("D0.25cc", "D0.26cc", "D1.25cc", "D1.26cc", "DC0.5cc", "DC0.51cc")}
    assert list(exact.values()) == [30.0, 20.0, 20.0, 10.0, 10.0, 20.0]
    assert value(dvh, "V20Gy[cc]") == 1.25
    # Middles at 0.125, 0.75 and 1.5 cc.
    assert value(dvh, "D0.4375cc", rule="partial-volume") == pytest.approx(25.0)
    assert value(dvh, "V25Gy[cc]", rule="partial-volume") == pytest.approx(0.4375)


@pytest.mark.parametrize("rule", ["openkbp", "doserad"])
def test_rules_that_count_voxels_refuse_weights(rule):
    dvh = dvh_of(np.array([1.0, 2.0]), voxel_volume=1.0, weights=np.array([1.0, 0.5]))
    with pytest.raises(ValueError, match=f'"{rule}" counts whole voxels'):
        dvh.evaluate("D50%", rule=rule)


def test_weights_that_are_all_one_are_no_weights():
    plain, weighted = (dvh_of(np.array([1.0, 3.0, 2.0]), voxel_volume=7.0, weights=w) for w in (None, np.ones(3)))
    assert weighted.whole
    assert np.array_equal(plain.volumes, weighted.volumes)


def test_an_unknown_rule_is_an_error_that_lists_them(five):
    with pytest.raises(ValueError, match="exact, partial-volume, openkbp, doserad"):
        five.evaluate("D50%", rule="nearest-bin")


@pytest.mark.parametrize("rule", RULES)
def test_a_structure_smaller_than_the_volume_asked_for_gives_its_coldest_dose_and_says_so(five, rule):
    reading = five.evaluate("D0.6cc[Gy]", rule=rule)
    assert (reading.value, reading.flags) == (10.0, ("smaller-than-asked",))
    assert five.evaluate("DC0.6cc[Gy]", rule=rule).value == 50.0
    assert five.evaluate("D0.5cc[Gy]", rule=rule).flags == ()


def test_volumes_that_only_rounding_keeps_apart_are_equal():
    voxel = 0.1 * 0.1 * 0.1  # mm³, a little more than 0.001 in floating point
    dvh = dvh_of(np.arange(1.0, 201.0), voxel_volume=voxel)
    assert value(dvh, "D0.0001cc") == 101.0  # a hundred voxels
    dvh = dvh_of(np.arange(1.0, 11.0), voxel_volume=1000 / 3)
    assert [value(dvh, f"D{k}cc") for k in (1, 2, 3)] == [8.0, 5.0, 2.0]


def test_an_empty_structure_has_volumes_of_zero_and_no_doses():
    empty = dvh_of(np.empty(0), voxel_volume=1.0)
    for text in ("V20Gy[cc]", "CV20Gy[cc]", "Volume[cc]"):
        assert empty.evaluate(text).value == 0.0
    for text in ("D95%[Gy]", "D0.1cc[Gy]", "DC0.1cc[Gy]", "V20Gy[%]", "Mean[Gy]", "Min[Gy]", "Max[Gy]"):
        for rule in RULES:
            reading = empty.evaluate(text, rule=rule)
            assert math.isnan(reading.value)
            assert reading.flags == ("empty",)
    assert empty.curve().dose.size == 0
    assert empty.differential().volume.size == 0
    assert dvh_of(np.array([1.0]), voxel_volume=1.0, weights=np.array([0.0])).flags == ("empty",)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_one_to_three_voxels_of_one_dose_have_that_dose_everywhere(size):
    dvh = dvh_of(np.full(size, 7.5), voxel_volume=3.0)
    for rule in RULES:
        found = {
            value(dvh, text, rule=rule) for text in ("D0%", "D2%", "D50%", "D98%", "D100%", "D0.001cc", "DC5%", "Mean")
        }
        assert found == {7.5}
        assert [value(dvh, text, rule=rule) for text in ("V7.5Gy[%]", "V7.6Gy[%]", "CV7.5Gy[%]")] == [100.0, 0.0, 0.0]


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_dose_that_is_not_finite_is_named_with_its_count_and_first_index(bad):
    values = np.ones((3, 4))
    values[1, 2] = values[2, 0] = bad
    with pytest.raises(ValueError, match=rf"not finite in 2 of 12 voxels, first {bad} at index \(1, 2\)"):
        dvh_of(values, voxel_volume=1.0)
    with pytest.raises(ValueError, match=r"in 2 of 12 voxels, first .* at index 6"):
        openkbp_criteria(values.ravel(), voxel_volume=1.0, target=True)


def test_infinities_that_cancel_out_are_found_too():
    with pytest.raises(ValueError, match="not finite in 2 of 3"):
        openkbp_criteria(np.array([math.inf, -math.inf, 1.0]), voxel_volume=1.0, target=False)


def test_negative_doses_are_kept_and_flagged():
    dvh = dvh_of(np.array([-1.0, 3.0]), voxel_volume=1.0)
    assert dvh.evaluate("Mean[Gy]").value == 1.0
    assert dvh.evaluate("Min[Gy]").flags == ("negative-dose",)
    assert dvh.curve().dose[0] == -1.0
    assert dvh.differential(width=1.0).edges[0] == -1.0


@pytest.mark.parametrize("values", [np.array([True]), np.array(["1"]), np.array([1j])])
def test_doses_are_numbers(values):
    with pytest.raises(TypeError, match="doses are numbers of Gy"):
        dvh_of(values, voxel_volume=1.0)


@pytest.mark.parametrize("volume", [0.0, -1.0, math.nan, math.inf])
def test_a_voxel_has_a_volume(volume):
    with pytest.raises(ValueError, match="positive volume"):
        dvh_of(np.ones(2), voxel_volume=volume)


@pytest.mark.parametrize("weight", [-0.1, 1.1, math.nan])
def test_weights_lie_between_0_and_1(weight):
    with pytest.raises(ValueError, match="from 0 to 1"):
        dvh_of(np.ones(2), voxel_volume=1.0, weights=np.array([0.5, weight]))


def test_every_voxel_has_one_weight():
    with pytest.raises(ValueError, match=r"doses have shape \(2,\), weights \(3,\)"):
        dvh_of(np.ones(2), voxel_volume=1.0, weights=np.ones(3))


def test_single_precision_and_whole_numbers_are_doses_too():
    for kind in (np.float32, np.int16, np.uint8):
        assert value(dvh_of(np.array([1, 2, 3], dtype=kind), voxel_volume=1.0), "Mean") == 2.0


# What holds for all histograms ---------------------------------------------------------------------------------------


@given(doses, st.sampled_from(RULES), shares, shares)
def test_a_dose_lies_between_the_extremes_and_falls_with_the_volume(values, rule, one, other):
    dvh = dvh_of(values, voxel_volume=30.0)
    small, large = (value(dvh, Request("D", share, "%", "Gy"), rule=rule) for share in sorted((one, other)))
    assert dvh.min - 1e-9 <= large <= small + 1e-9 <= dvh.max + 2e-9
    cold, less_cold = (value(dvh, Request("DC", share, "%", "Gy"), rule=rule) for share in sorted((one, other)))
    assert dvh.min - 1e-9 <= cold <= less_cold + 1e-9 <= dvh.max + 2e-9


@given(doses, st.sampled_from(RULES), st.floats(0, 90), st.floats(0, 90))
def test_a_volume_falls_with_the_dose_and_has_its_complement(values, rule, one, other):
    dvh = dvh_of(values, voxel_volume=30.0)
    low, high = sorted((one, other))
    more, less = (value(dvh, Request("V", dose, "Gy", "cc"), rule=rule) for dose in (low, high))
    assert 0 <= less <= more + 1e-12 <= dvh.volume + 2e-12
    assert more + value(dvh, Request("CV", low, "Gy", "cc"), rule=rule) == pytest.approx(dvh.volume)


@given(doses, st.sampled_from(["exact", "partial-volume"]), shares)
def test_at_least_x_receives_the_dose_that_x_receives(values, rule, share):
    dvh = dvh_of(values, voxel_volume=30.0)
    dose = value(dvh, Request("D", share, "%", "Gy"), rule=rule)
    # A hair less dose: interpolating there and back may miss by a rounding error.
    assert value(dvh, Request("V", max(dose - 1e-9, 0.0), "Gy", "%"), rule=rule) >= share - 1e-6
    if rule == "exact":  # and it is the largest such dose
        assert dose in values
        assert value(dvh, Request("V", dose + 1e-6, "Gy", "%")) < share


@given(doses, st.floats(0.01, 5.0))
def test_the_exact_dose_is_found_by_counting(values, cc):
    dvh = dvh_of(values, voxel_volume=30.0)
    asked, voxel = Fraction(cc), Fraction(30, 1000)
    count = min(math.ceil(asked / voxel), values.size)
    assume(abs(asked / voxel - round(asked / voxel)) > Fraction(1, 10**6))
    assert value(dvh, Request("D", cc, "cc", "Gy")) == sorted(values, reverse=True)[count - 1]
    assert value(dvh, Request("DC", cc, "cc", "Gy")) == sorted(values)[count - 1]


@given(doses, st.sampled_from(RULES), shares)
def test_the_cold_side_is_the_hot_side_of_the_negated_dose(values, rule, share):
    dvh, mirrored = (dvh_of(v, voxel_volume=30.0) for v in (values, -values))
    cold = value(dvh, Request("DC", share, "%", "Gy"), rule=rule)
    assert cold == pytest.approx(-value(mirrored, Request("D", share, "%", "Gy"), rule=rule), abs=1e-9)


@given(doses, st.randoms(use_true_random=False))
def test_the_order_of_voxels_does_not_matter(values, random):
    order = list(range(values.size))
    random.shuffle(order)
    weights = np.linspace(0.1, 1, values.size)
    for w in (None, weights):
        one = dvh_of(values, voxel_volume=2.0, weights=w)
        other = dvh_of(values[order], voxel_volume=2.0, weights=None if w is None else w[order])
        assert np.array_equal(one.doses, other.doses)
        assert np.array_equal(one.volumes, other.volumes)


@given(doses, st.sampled_from(RULES), shares, st.floats(0.1, 10))
def test_doses_scale_and_shares_of_volume_do_not_depend_on_voxel_size(values, rule, share, factor):
    request = Request("D", share, "%", "Gy")
    base = value(dvh_of(values, voxel_volume=8.0), request, rule=rule)
    assert value(dvh_of(values * factor, voxel_volume=8.0), request, rule=rule) == pytest.approx(base * factor)
    assert value(dvh_of(values, voxel_volume=8.0 * factor), request, rule=rule) == pytest.approx(base)


@given(doses, shares)
def test_percentiles_are_those_of_numpy_to_the_last_bits(values, share):
    dvh = dvh_of(values, voxel_volume=30.0)
    request = Request("D", share, "%", "Gy")
    assert value(dvh, request, rule="openkbp") == pytest.approx(np.percentile(values, 100 - share), abs=1e-12)
    assert value(dvh, request, rule="doserad") == pytest.approx(
        np.percentile(values, (1 - share / 100) * 100), abs=1e-12
    )


@given(doses, st.floats(1.0, 300.0))
def test_the_criteria_of_openkbp_are_those_of_numpy_and_of_its_rule(values, voxel_volume):
    count = max(1, int(np.round(100 / voxel_volume)))
    q = max(100 - count / values.size * 100, 0.0)
    organ = openkbp_criteria(values, voxel_volume=voxel_volume, target=False)
    target = openkbp_criteria(values, voxel_volume=voxel_volume, target=True)
    assert list(organ) == ["D_0.1_cc", "mean"]
    assert list(target) == ["D_99", "D_95", "D_1"]
    assert organ == pytest.approx({"D_0.1_cc": np.percentile(values, q), "mean": values.mean()}, abs=1e-12)
    expected = {"D_99": np.percentile(values, 1), "D_95": np.percentile(values, 5), "D_1": np.percentile(values, 99)}
    assert target == pytest.approx(expected, abs=1e-12)
    reading = dvh_of(values, voxel_volume=voxel_volume).evaluate("D0.1cc", rule="openkbp")
    assert organ["D_0.1_cc"] == pytest.approx(reading.value, abs=1e-12)
    assert is_smaller_than(values.size, voxel_volume, 0.1) == ("smaller-than-asked" in reading.flags)


@pytest.mark.parametrize("shape", [(0,), (2, 2)])
def test_the_criteria_of_openkbp_need_a_list_of_doses(shape):
    with pytest.raises(ValueError, match="at least one voxel"):
        openkbp_criteria(np.ones(shape), voxel_volume=1.0, target=False)


def test_the_criteria_of_openkbp_leave_the_doses_as_they_were():
    values = np.array([3.0, 1.0, 2.0])
    openkbp_criteria(values, voxel_volume=100.0, target=True)
    assert values.tolist() == [3.0, 1.0, 2.0]


# Curves and tables ---------------------------------------------------------------------------------------------------


def test_the_curve_of_a_few_voxels_is_its_exact_steps():
    curve = dvh_of(np.array([10.0, 30.0]), voxel_volume=1000.0).curve()
    assert curve.dose.tolist() == [0, 10, 10, 30, 30]
    assert curve.volume.tolist() == [100, 100, 50, 50, 0]
    absolute = dvh_of(np.array([10.0, 30.0]), voxel_volume=1000.0).curve(relative=False)
    assert absolute.volume.tolist() == [2, 2, 1, 1, 0]


@given(
    hnp.arrays(np.float64, st.integers(1, 400), elements=st.floats(0, 80)),
    st.integers(1, 200),
)
def test_a_thinned_curve_stays_within_its_resolution_of_the_exact_one(values, resolution):
    curve = dvh_of(values, voxel_volume=1.0).curve(resolution=resolution)
    assert (np.diff(curve.dose) >= 0).all()
    assert (np.diff(curve.volume) <= 0).all()
    dose_slack, volume_slack = (values.max() or 1.0) / resolution + 1e-9, 100 / resolution + 1e-9
    for dose, volume in zip(curve.dose, curve.volume, strict=True):
        most = np.mean(values >= dose - dose_slack) * 100 + volume_slack
        least = np.mean(values > dose + dose_slack) * 100 - volume_slack
        assert least <= volume <= most
    for dose in values:  # nor is anything left out
        near = np.interp([dose - 2 * dose_slack, dose + 2 * dose_slack], curve.dose, curve.volume)
        assert near[1] - volume_slack <= np.mean(values >= dose) * 100 <= near[0] + volume_slack


def test_a_million_voxels_make_a_line_of_a_few_thousand_corners():
    curve = dvh_of(np.random.default_rng(0).normal(60, 2, 1_000_000).clip(0), voxel_volume=1.0).curve()
    assert 1000 < curve.dose.size < 4100


def test_a_resolution_is_a_number_of_steps(five):
    with pytest.raises(ValueError, match="at least 1"):
        five.curve(resolution=0)


def test_the_differential_histogram_has_the_lower_edge_in_its_bin(five):
    bars = five.differential(width=20.0, relative=False)
    assert bars.edges.tolist() == [0, 20, 40, 60]
    assert bars.volume == pytest.approx([0.1, 0.2, 0.2])
    assert five.differential(width=20.0).volume == pytest.approx([20, 40, 40])


@given(doses, st.floats(0.1, 20))
def test_the_bins_of_a_differential_histogram_add_up_to_the_structure(values, width):
    dvh = dvh_of(values, voxel_volume=5.0)
    bars = dvh.differential(width=width, relative=False)
    assert bars.volume.sum() == pytest.approx(dvh.volume)
    assert bars.edges.size == bars.volume.size + 1
    # From the hottest bin down they are the cumulative histogram at the edges.
    for edge, above in zip(bars.edges[:-1], np.cumsum(bars.volume[::-1])[::-1], strict=True):
        assert above <= np.count_nonzero(values >= edge - 1e-9) * 0.005 + 1e-9
        assert above >= np.count_nonzero(values > edge + 1e-9) * 0.005 - 1e-9


@pytest.mark.parametrize("width", [0.0, -1.0, math.nan, math.inf])
def test_bins_have_a_width(five, width):
    with pytest.raises(ValueError, match="positive width"):
        five.differential(width=width)


def test_bins_that_would_fill_the_memory_are_refused(five):
    with pytest.raises(ValueError, match="choose a larger width"):
        five.differential(width=1e-9)


def test_a_table_has_a_row_per_structure_and_a_column_per_request(five):
    frame = table(
        {"A": five, "B": dvh_of(np.empty(0), voxel_volume=1.0)}, ["Dmean", "V95%[%]", "D1cc"], prescription=40.0
    )
    assert frame.columns == ["structure", "Mean[Gy]", "V95%[%]", "D1cc[Gy]", "flags"]
    assert frame.rows() == [("A", 30.0, 40.0, 10.0, "smaller-than-asked"), ("B", None, None, None, "empty")]


def test_a_table_may_ask_each_structure_something_else(five):
    frame = table({"A": five, "B": five, "C": five}, {"A": ["Max"], "B": ["Min", "Max"]})
    assert frame.columns == ["structure", "Max[Gy]", "Min[Gy]", "flags"]
    assert frame.rows() == [("A", 50.0, None, ""), ("B", 50.0, 10.0, ""), ("C", None, None, "")]


def test_a_table_of_nothing_has_its_columns(five):
    assert table({}, ["Max"]).columns == ["structure", "Max[Gy]", "flags"]
    assert table({}, ["Max"]).height == 0


def test_a_table_is_asked_of_structures_that_are_there(five):
    with pytest.raises(ValueError, match="asked of Lens, but there are only Cord"):
        table({"Cord": five}, {"Lens": ["Max"]})
    with pytest.raises(TypeError, match=r"\['Max'\]"):
        table({"Cord": five}, "Max")


def test_a_reading_says_itself(five):
    reading = five.evaluate("D2cc[Gy]")
    assert str(reading) == "D2cc[Gy] = 10 Gy (smaller-than-asked)"
    assert (float(reading), reading.unit, reading.rule) == (10.0, "Gy", "exact")
