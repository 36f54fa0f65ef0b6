"""A mean with its standard error, and the notation 0.77(1)."""

from __future__ import annotations

import csv
import math
import statistics
from decimal import Decimal
from pathlib import Path
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from isocenter.stats import in_brackets, mean_and_error, parse_brackets

GOLDEN = Path(__file__).parents[1] / "golden" / "ranking"
values = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20)


@given(values)
def test_without_weights_it_is_the_textbook_mean_and_sd_over_root_n(x: list[float]) -> None:
    mean, error = mean_and_error(x)
    scale = max(map(abs, x))
    assert mean == pytest.approx(statistics.mean(x), abs=1e-12 * scale)
    assert error == pytest.approx(statistics.stdev(x) / math.sqrt(len(x)), rel=1e-9, abs=1e-12 * scale)


@given(values, st.floats(0.01, 100))
def test_equal_weights_are_no_weights(x: list[float], weight: float) -> None:
    scale = max(map(abs, x))
    assert mean_and_error(x, [weight] * len(x)) == pytest.approx(mean_and_error(x), rel=1e-9, abs=1e-9 * scale)


@given(values, st.data())
def test_a_case_of_weight_zero_is_not_there(x: list[float], data: st.DataObject) -> None:
    weights = data.draw(st.lists(st.floats(0.1, 10), min_size=len(x), max_size=len(x)))
    with_one_more = mean_and_error([*x, math.nan, 5.0], [*weights, 0.0, 0.0])
    assert with_one_more == mean_and_error(x, weights)


def test_the_error_of_a_weighted_mean() -> None:
    """By hand: mean (3·1 + 1·5)/4 = 2, deviations −1 and 3, √(2 · (9·1 + 1·9)) / 4 = 1.5."""
    assert mean_and_error([1.0, 5.0], [3.0, 1.0]) == (2.0, 1.5)


def test_the_error_of_a_weighted_mean_is_that_of_the_jackknife() -> None:
    """Leaving out one case at a time moves the mean as the formula says, to first order in 1/n."""
    random, n = Random(2019), 200
    x, w = [random.gauss(0, 1) for _ in range(n)], [random.uniform(0.5, 2) for _ in range(n)]
    left_out = [mean_and_error(x[:i] + x[i + 1 :], w[:i] + w[i + 1 :]).mean for i in range(n)]
    jackknife = math.sqrt((n - 1) ** 2 / n) * statistics.stdev(left_out)
    assert mean_and_error(x, w).standard_error == pytest.approx(jackknife, rel=0.02)
    assert mean_and_error(x).standard_error != pytest.approx(jackknife, rel=0.02)


def test_of_one_case_there_is_no_error_and_of_none_no_mean() -> None:
    mean, error = mean_and_error([0.5])
    assert mean == 0.5
    assert math.isnan(error)
    assert all(map(math.isnan, mean_and_error([])))
    assert all(map(math.isnan, mean_and_error([0.5], [0.0])))


@pytest.mark.parametrize("unmeasured", [None, math.nan, math.inf])
def test_what_could_not_be_measured_has_no_place_in_a_mean(unmeasured: float | None) -> None:
    with pytest.raises(ValueError, match="1 of 2 values are not"):
        mean_and_error([0.5, unmeasured])


@pytest.mark.parametrize(("weights", "words"), [([1.0], "2 values have 1 weights"), ([1.0, -1.0], "not -1")])
def test_weights_are_one_per_value_and_not_negative(weights: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        mean_and_error([0.5, 0.6], weights)


@pytest.mark.parametrize(
    ("mean", "error", "text"),
    [
        (0.7749, 0.0131, "0.77(1)"),
        (0.8, 0.1, "0.8(1)"),
        (0.799, 0.0399, "0.80(4)"),
        # the error rounds to 10: it becomes 1 one place further left, and the mean follows
        (0.7749, 0.0096, "0.77(1)"),
        (0.7749, 0.096, "0.8(1)"),
        (12.34, 0.96, "12(1)"),
        (123.4, 9.6, "120(10)"),
        # from 1 on
        (12.3, 3.4, "12(3)"),
        (1234.5, 29.8, "1230(30)"),
        (3.0, 500.0, "0(500)"),
        # none
        (0.77, 0.0, "0.77(0)"),
        (0.0, 0.0, "0.0(0)"),
        (0.77, math.nan, "0.77(–)"),
        (math.nan, math.nan, "–"),
        (math.nan, 0.1, "–"),
        # signs, and halves to even, as the paper and pencil of most laboratories
        (-0.7749, 0.0131, "-0.77(1)"),
        (-0.001, 0.1, "0.0(1)"),
        (0.125, 0.01, "0.12(1)"),
        (0.135, 0.01, "0.14(1)"),
        (0.5, 0.025, "0.50(2)"),
    ],
)
def test_brackets(mean: float, error: float, text: str) -> None:
    assert in_brackets(mean, error) == text


@pytest.mark.parametrize(("mean", "error"), [(math.inf, 1.0), (0.5, math.inf), (0.5, -0.1)])
def test_what_has_no_brackets_is_refused(mean: float, error: float) -> None:
    with pytest.raises(ValueError, match="can be written in brackets"):
        in_brackets(mean, error)


@given(st.integers(-(10**9), 10**9), st.integers(1, 9), st.integers(0, 8))
def test_a_printed_entry_is_read_and_written_the_same(digits: int, error: int, decimals: int) -> None:
    text = f"{Decimal(digits).scaleb(-decimals):f}({error})"
    assert in_brackets(*parse_brackets(text)) == text
    assert parse_brackets(text) == (float(f"{digits}e-{decimals}"), float(f"{error}e-{decimals}"))


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite, st.floats(0, allow_infinity=False))
def test_what_is_written_is_read_back_rounded_and_written_again_the_same(mean: float, error: float) -> None:
    text = in_brackets(mean, error)
    mean_again, error_again = parse_brackets(text)
    assume(math.isfinite(mean_again) and math.isfinite(error_again))  # the largest floats are rounded beyond themselves
    assert in_brackets(mean_again, error_again) == text
    if error == 0:
        assert (mean_again, error_again) == (mean, 0)
        return
    unit = 10.0 ** math.floor(math.log10(error_again) + 1e-9)
    assert abs(mean_again - mean) <= 0.5 * unit * (1 + 1e-9) + 1e-15 * abs(mean)
    assert abs(error_again - error) <= 0.5 * unit * (1 + 1e-9)


@given(finite)
def test_undefined_errors_are_read_back_as_such(mean: float) -> None:
    mean_again, error = parse_brackets(in_brackets(mean, math.nan))
    assert mean_again == mean
    assert math.isnan(error)
    assert all(map(math.isnan, parse_brackets(in_brackets(math.nan, math.nan))))


@pytest.mark.parametrize(
    ("text", "mean", "error"),
    [
        ("0.52(4)", 0.52, 0.04),
        (" 0.8(1)\n", 0.8, 0.1),
        ("0.770(12)", 0.77, 0.012),
        ("12(3)", 12.0, 3.0),
        ("1230(30)", 1230.0, 30.0),
        ("−0.5(2)", -0.5, 0.2),
        ("+0.5(2)", 0.5, 0.2),
    ],
)
def test_entries_of_printed_tables(text: str, mean: float, error: float) -> None:
    assert parse_brackets(text) == (mean, error)


@pytest.mark.parametrize(
    "text", ["", "0.52", "0.52()", "(4)", "0.52(4", "0.52 (4)", "0.52(0.04)", "0.52(-4)", ".5(1)", "٠.٥(١)"]
)
def test_what_is_not_in_brackets_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"such as 0\.52\(4\)"):
        parse_brackets(text)


def test_every_entry_of_the_printed_table_of_the_lung_contest() -> None:
    """eTable 3 as a table prints it, from means and errors, and back."""
    with (GOLDEN / "lung_etable3.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    entries = [(row[f"{name}_mean"], row[f"{name}_se"]) for row in rows for name in columns(row) if row[f"{name}_mean"]]
    assert len(entries) == 3 * (2 * 22 + 7)
    for mean, error in entries:
        text = f"{mean}({error[-1]})"
        assert in_brackets(float(mean), float(error)) == text
        assert parse_brackets(text) == (float(mean), float(error))


def columns(row: dict[str, str]) -> list[str]:
    return [name.removesuffix("_mean") for name in row if name.endswith("_mean")]
