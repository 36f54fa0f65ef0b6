from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.stats import _paired_matrix, signed_rank, signed_rank_matrix


def scores(k: int, n: int, *, seed: int = 0, decimals: int = 2) -> np.ndarray:
    """Submissions that resemble each other, on cases that differ: with ties and zeros, the first and last the same."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(0.8, 0.1, n) + rng.normal(0, 0.03, (k, n)) + 0.01 * np.arange(k)[:, None], decimals)
    x[-1] = x[0]
    return x


def draws(b: int, n: int, *, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.stack([np.bincount(rng.integers(0, n, n), minlength=n) for _ in range(b)])


def pair_by_pair(x: np.ndarray, *, better: Any, decimals: Any) -> np.ndarray:
    return np.array(
        [[signed_rank(a, b, better=better, decimals=decimals, exact=False).p for b in x] for a in x], dtype=float
    )


@pytest.mark.parametrize("better", ["higher", "lower"])
@pytest.mark.parametrize("decimals", [None, 1, 2])
@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_every_entry_is_the_signed_rank_test_of_its_pair(better: Any, decimals: Any, n: int) -> None:
    x = scores(6, n)
    found = signed_rank_matrix(x, better=better, decimals=decimals)
    np.testing.assert_allclose(found, pair_by_pair(x, better=better, decimals=decimals), rtol=1e-12)
    assert (np.diag(found) == 1).all()
    assert found[0, -1] == found[-1, 0] == 1  # identical submissions


@pytest.mark.parametrize("decimals", [None, 2])
def test_in_every_draw_it_is_the_test_of_the_copied_cases(decimals: Any) -> None:
    x, weights = scores(5, 40), draws(70, 40)  # more draws than are done side by side
    found = signed_rank_matrix(x, better="higher", decimals=decimals, weights=weights)
    assert found.shape == (70, 5, 5)
    for p, row in zip(found, weights, strict=True):
        copied = np.repeat(x, row, axis=1)
        np.testing.assert_allclose(p, pair_by_pair(copied, better="higher", decimals=decimals), rtol=1e-12, atol=0)


@given(
    st.lists(st.lists(st.integers(0, 4), min_size=5, max_size=5), min_size=2, max_size=4),
    st.lists(st.integers(0, 3), min_size=5, max_size=5).filter(any),
)
@settings(deadline=None)
def test_cases_may_be_absent_from_a_draw(rows: list[list[int]], weights: list[int]) -> None:
    x = np.array(rows, float)
    found = signed_rank_matrix(x, better="lower", decimals=0, weights=weights)
    copied = np.repeat(x, weights, axis=1)
    np.testing.assert_allclose(found, pair_by_pair(copied, better="lower", decimals=0), rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.int64])
def test_the_kind_of_integer_and_the_size_of_blocks_do_not_matter(dtype: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x, weights = scores(4, 30), draws(20, 30)
    expected = signed_rank_matrix(x, better="higher", decimals=2, weights=weights)
    monkeypatch.setattr(_paired_matrix, "_LANES", 3)
    found = signed_rank_matrix(x, better="higher", decimals=2, weights=weights.astype(dtype))
    np.testing.assert_array_equal(found, expected)


def test_one_row_of_weights_is_one_matrix_and_all_ones_are_no_weights() -> None:
    x = scores(4, 30)
    plain = signed_rank_matrix(x, better="higher", decimals=2)
    np.testing.assert_array_equal(signed_rank_matrix(x, better="higher", decimals=2, weights=np.ones(30, int)), plain)
    np.testing.assert_array_equal(
        signed_rank_matrix(x, better="higher", decimals=2, weights=np.ones((1, 30), int)), plain[None]
    )


def test_one_submission_and_no_draws_are_small_answers() -> None:
    assert signed_rank_matrix([[0.1, 0.2]], better="higher", decimals=2).tolist() == [[1.0]]
    none = np.empty((0, 30), int)
    assert signed_rank_matrix(scores(4, 30), better="higher", decimals=2, weights=none).shape == (0, 4, 4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"x": [1, 2]}, r"a row per submission and a column per case, not an array of shape \(2,\)"),
        ({"x": [[1, math.nan], [math.inf, 2]]}, r"row 0 has no score in cases 1 \(nan\).*; row 1 has .* 0 \(inf\)"),
        ({"x": [[], []]}, "there are no cases"),
        ({"x": [[1, 2]], "better": "up"}, "not 'up'"),
        ({"x": [[1, 2]], "decimals": 99}, "not 99"),
        ({"weights": [1, 2, 3]}, r"2 of them, not an array of shape \(3,\)"),
        ({"weights": 1}, r"shape \(\)"),
        ({"weights": [[[1, 2]]]}, r"shape \(1, 1, 2\)"),
        ({"weights": [[1, 2], [0, 0]]}, "all weights are 0 in row 1"),
        ({"weights": [[1, 2], [0, -1]]}, "from -1"),
        ({"weights": [[1.0, 2.0]]}, "found float64"),
    ],
)
def test_what_is_no_board_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        signed_rank_matrix(**{"x": [[1, 2], [2, 3]], "better": "higher", "decimals": 0} | changes)
