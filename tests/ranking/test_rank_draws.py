"""Draws of cases, the scores and the ranks in them, and what is said of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from isocenter.ranking import rank_values
from isocenter.ranking._rank_draws import RankDraws, ranks_of
from isocenter.resampling.counts import Resamples, resample_cases
from isocenter.resampling.estimates import resample_means, resample_quantiles, resample_ratios, resample_trimmed_means
from isocenter.resampling.intervals import bca_interval, percentile_interval

Array = np.ndarray[Any, Any]
RNG = np.random.default_rng


def board(submissions: int = 5, cases: int = 23, seed: int = 0) -> Array:
    """Dice-like values, better from row to row."""
    rng = RNG(seed)
    return np.clip(rng.normal(0.7, 0.15, cases) + rng.normal(0, 0.1, (submissions, cases)), 0, 1) + np.linspace(
        0, 0.1, submissions
    ).reshape(-1, 1)


def copied(draws: Resamples, statistic: Callable[[Array], float], rows: Array) -> Array:
    """The statistic of every row in every draw, the slow way: of cases that are really repeated."""
    picks = [np.repeat(np.arange(draws.cases), count) for count in draws.counts]
    return np.array([[statistic(row[pick]) for pick in picks] for row in rows])


def ranked(full: Any, scores: Array, **how: Any) -> RankDraws:
    """The scores on all cases, one per submission, and those of every draw, ranked."""
    on_all = np.asarray(full, dtype=np.float64).reshape(-1, 1)
    return RankDraws(ranks_of(scores, **how), ranks_of(on_all, **how)[:, 0])


class TestCaseDraws:
    def test_a_draw_has_as_many_cases_as_the_cohort(self) -> None:
        draws = resample_cases(40, replicates=700, seed=3)
        assert draws.counts.shape == (700, 40)
        assert draws.counts.dtype == np.uint8
        assert (draws.sizes == 40).all()
        assert (draws.cases, draws.replicates, draws.redrawn) == (40, 700, 0)

    def test_counts_are_those_of_cases_drawn_with_replacement(self) -> None:
        counts = resample_cases(50, replicates=20_000, seed=4).counts.astype(float)
        assert counts.mean(axis=0) == pytest.approx(np.ones(50), abs=0.04)
        assert counts.var() == pytest.approx(1 - 1 / 50, abs=0.01)
        assert (counts == 0).mean() == pytest.approx((1 - 1 / 50) ** 50, abs=0.002)

    @pytest.mark.parametrize("more", [{}, {"strata": [0, 1] * 15}, {"reject": lambda counts: counts[:, 0] > 1}])
    def test_more_replicates_begin_with_the_same_draws(self, more: dict[str, Any]) -> None:
        many = resample_cases(30, replicates=1000, seed=5, **more)
        for n in (100, 256, 300):
            few = resample_cases(30, replicates=n, seed=5, **more)
            assert (few.counts == many.counts[:n]).all()
            assert few.redrawn <= many.redrawn

    def test_another_seed_gives_other_draws(self) -> None:
        assert (
            resample_cases(30, replicates=10, seed=0).counts != resample_cases(30, replicates=10, seed=1).counts
        ).any()

    def test_strata_keep_their_sizes(self) -> None:
        centre = np.array(["a"] * 7 + ["b"] * 3 + ["a"] * 2 + ["c"])
        counts = resample_cases(13, replicates=500, seed=0, strata=centre).counts
        for name, size in (("a", 9), ("b", 3), ("c", 1)):
            assert (counts[:, centre == name].sum(axis=1) == size).all()
        assert counts[:, :7].sum(axis=1).std() > 0

    def test_rejected_draws_are_made_again_and_counted(self) -> None:
        ill = np.array([1, 1, 0, 0, 0, 0])
        seen = []

        def one_class(counts: Array) -> Array:
            mask: Array = (counts @ ill == 0) | (counts @ (1 - ill) == 0)
            seen.append(int(mask.sum()))
            return mask

        draws = resample_cases(6, replicates=512, seed=0, reject=one_class)
        assert ((draws.counts @ ill > 0) & (draws.counts @ (1 - ill) > 0)).all()
        assert draws.redrawn == sum(seen) > 20
        assert (draws.sizes == 6).all()

    def test_only_draws_that_are_kept_count_as_redrawn(self) -> None:
        few, many = (resample_cases(9, replicates=n, seed=0, reject=lambda c: c[:, 0] > 0).redrawn for n in (10, 250))
        assert 0 < few < many / 10

    def test_a_rejection_of_everything_ends(self) -> None:
        with pytest.raises(ValueError, match="1000 times over"):
            resample_cases(4, replicates=5, seed=0, reject=lambda counts: np.ones(len(counts), bool))
        with pytest.raises(ValueError, match="one bool per draw"):
            resample_cases(4, replicates=5, seed=0, reject=lambda counts: counts.sum(axis=1))

    def test_draws_are_replayed_from_indices_and_from_weights(self) -> None:
        picks = RNG(0).integers(0, 12, (40, 12))
        expected = np.array([np.bincount(row, minlength=12) for row in picks])
        assert (Resamples.of_indices(picks, cases=12).counts == expected).all()
        assert (Resamples.of_weights(expected).counts == expected).all()
        assert (Resamples.of_weights(expected.astype(float)).counts == expected).all()
        wide = Resamples.of_weights([[300, 0], [1, 1]])
        assert wide.counts.dtype == np.uint16
        assert wide.sizes.tolist() == [300, 2]

    def test_counts_cannot_be_changed(self) -> None:
        with pytest.raises(ValueError, match="read-only"):
            resample_cases(3, replicates=2, seed=0).counts[0, 0] = 7

    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            ([[1, 0], [1, -1]], r"row 1, column 1 is -1"),
            ([[0.5, 1.0]], r"row 0, column 0 is 0\.5"),
            ([[1.0, np.nan]], r"row 0, column 1 is nan"),
            ([[70_000, 1]], r"row 0, column 0 is 70000"),
            ([[1, 1], [0, 0]], r"sum above 0; position 1 is 0"),
            ([1, 2], r"shape \(2,\)"),
            (np.ones((0, 3)), r"shape \(0, 3\)"),
        ],
    )
    def test_weights_that_are_no_counts_are_refused(self, weights: Any, message: str) -> None:
        with pytest.raises(ValueError, match=message):
            Resamples.of_weights(weights)

    def test_all_wrong_cells_are_counted_and_the_first_named(self) -> None:
        with pytest.raises(ValueError, match=r"row 0, column 4 is -1 … \(10 of 10; counted from 0\)"):
            Resamples.of_weights(np.full((1, 10), -1))

    def test_other_arguments_that_make_no_sense_are_refused(self) -> None:
        with pytest.raises(ValueError, match=r"from 0 to 2; row 0, column 1 is 3"):
            Resamples.of_indices([[0, 3]], cases=3)
        with pytest.raises(ValueError, match="matrix of integers"):
            Resamples.of_indices([[0.0, 1.0]], cases=3)
        with pytest.raises(ValueError, match="at least 1 case"):
            resample_cases(0, replicates=5, seed=0)
        with pytest.raises(ValueError, match="at least 1 replicate"):
            resample_cases(5, replicates=0, seed=0)
        with pytest.raises(ValueError, match="one label per case: 3"):
            resample_cases(3, replicates=5, seed=0, strata=[1, 2])
        with pytest.raises(ValueError, match="NaN"):
            resample_cases(3, replicates=5, seed=0, strata=[1.0, np.nan, 1.0])
        with pytest.raises(ValueError, match="at least 2 cases"):
            Resamples.leave_one_out(1)


def draws_of(data: st.DataObject, cases: int) -> Resamples:
    """Counts of any kind: uneven sizes, cases never drawn."""
    counts = data.draw(hnp.arrays(np.int64, (4, cases), elements=st.integers(0, 4)))
    counts[:, data.draw(st.integers(0, cases - 1))] += 1
    return Resamples.of_weights(counts)


values = st.floats(-1, 1, allow_subnormal=False)


class TestScoreDraws:
    @settings(deadline=None)
    @given(st.data(), st.integers(1, 11), st.integers(1, 4))
    def test_every_statistic_is_that_of_copied_cases(self, data: st.DataObject, cases: int, rows: int) -> None:
        x = data.draw(hnp.arrays(np.float64, (rows, cases), elements=values))
        draws = draws_of(data, cases)
        q = data.draw(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]))
        cut = data.draw(st.sampled_from([0.0, 0.1, 0.25, 0.49]))
        for found, statistic in (
            (resample_means(x, draws), np.mean),
            (resample_quantiles(x, draws), np.median),
            (resample_quantiles(x, draws, q=q), lambda row: np.quantile(row, q)),
            (resample_trimmed_means(x, draws, proportion=cut), lambda row: stats.trim_mean(row, cut)),
        ):
            np.testing.assert_allclose(found, copied(draws, statistic, x), rtol=0, atol=1e-12)

    def test_every_statistic_is_that_of_copied_cases_in_many_draws(self) -> None:
        x, draws = board(cases=61), resample_cases(61, replicates=1100, seed=2)
        for found, statistic in (
            (resample_means(x, draws), np.mean),
            (resample_quantiles(x, draws), np.median),
            (resample_quantiles(x, draws, q=0.9), lambda row: np.quantile(row, 0.9)),
            (resample_trimmed_means(x, draws, proportion=0.1), lambda row: stats.trim_mean(row, 0.1)),
        ):
            np.testing.assert_allclose(found, copied(draws, statistic, x), rtol=1e-12)

    def test_counts_in_two_bytes_are_read_as_well(self) -> None:
        x, draws = board(cases=3), Resamples.of_weights([[300, 1, 7], [1, 2, 0]])
        np.testing.assert_allclose(resample_means(x, draws), copied(draws, np.mean, x), rtol=1e-12)
        np.testing.assert_allclose(resample_quantiles(x, draws), copied(draws, np.median, x), rtol=1e-12)

    def test_case_weights_and_ratios_are_those_of_copied_cases(self) -> None:
        rng, draws = RNG(1), resample_cases(23, replicates=200, seed=0)
        x, w, q = board(), rng.uniform(0, 3, 23), rng.integers(1, 9, (5, 23)).astype(float)
        w[4] = 0
        for k, (row, count) in enumerate(zip(x, q, strict=True)):
            cells = np.arange(23)[np.newaxis]
            mean = copied(draws, lambda i, row=row: np.average(row[i], weights=w[i]), cells)
            np.testing.assert_allclose(resample_means(x, draws, weight=w)[[k]], mean, rtol=1e-12)
            ratio = copied(draws, lambda i, row=row, count=count: row[i].sum() / count[i].sum(), cells)
            np.testing.assert_allclose(resample_ratios(x, q, draws)[[k]], ratio, rtol=1e-12)
            both = copied(draws, lambda i, row=row: (w * row)[i].sum() / (w * q[0])[i].sum(), cells)
            np.testing.assert_allclose(resample_ratios(x, q[0], draws, weight=w)[[k]], both, rtol=1e-12)

    def test_a_ratio_of_sums_is_no_mean_of_ratios(self) -> None:
        """Two patients, with 1 and with 9 criteria: ten errors of 1 to 10 that count alike."""
        found = resample_ratios([[1.0, 54.0]], [1.0, 9.0], Resamples.all_cases(2))
        assert found.tolist() == [[5.5]]

    def test_mean_ranks_rank_each_case_once_and_count_copies(self) -> None:
        x = [[0.9, 0.5, 0.7], [0.8, 0.5, 0.9]]
        draws = Resamples.of_weights([[1, 1, 1], [2, 1, 0], [0, 0, 3]])
        found = resample_means(ranks_of(x, better="higher", ties="average"), draws)
        assert found.tolist() == [[1.5, 3.5 / 3, 2.0], [1.5, 5.5 / 3, 1.0]]
        weighted = resample_means(ranks_of(x, better="higher", ties="min"), draws, weight=[1, 2, 0.5])
        assert weighted[:, 0] == pytest.approx([(1 + 2 + 1) / 3.5, (2 + 2 + 0.5) / 3.5], rel=1e-12)

    @settings(deadline=None)
    @given(hnp.arrays(np.float64, st.integers(1, 40), elements=values))
    def test_a_draw_of_all_cases_has_the_mean_of_exact_summation(self, x: Array) -> None:
        x = np.where(np.abs(x) < 1e-6, 1e-6, x)
        assert resample_means([x], Resamples.all_cases(len(x)))[0, 0] == math.fsum(x) / len(x)

    def test_scores_of_a_later_submission_are_one_more_row(self) -> None:
        x, draws = board(6), resample_cases(23, replicates=300, seed=0)
        assert (
            np.vstack((resample_means(x[:5], draws), resample_means(x[5:], draws))) == resample_means(x, draws)
        ).all()

    @pytest.mark.parametrize("shift", [0.0, -0.55])
    def test_equal_scores_tie_in_every_draw(self, shift: float) -> None:
        """Three submissions with the same three values per patient, in another order, patients drawn as a whole.

        Plain sums differ in the last bits in some draws. Where values cancel, such bits are all there is of the mean.
        """
        rng = RNG(0)
        patients = np.repeat(resample_cases(20, replicates=400, seed=1).counts, 3, axis=1)
        parts = rng.integers(1, 11, (20, 3)) / 10 + shift
        parts[:, 2] = -parts[:, 0] - parts[:, 1] if shift else parts[:, 2]
        x = np.stack([parts[:, turn].ravel() for turn in ([0, 1, 2], [1, 2, 0], [2, 1, 0])])
        plain = x @ patients.T / 60
        assert (plain != plain[0]).any()
        found = ranks_of(resample_means(x, Resamples.of_weights(patients)), better="higher", ties="min")
        assert (found == 1).all()

    def test_ties_in_draws_are_those_of_exact_decimals(self) -> None:
        """Values with one decimal: the ranks of every draw are those of rational numbers."""
        tenths, draws = RNG(3).integers(0, 11, (6, 15)), resample_cases(15, replicates=300, seed=0)
        found = ranks_of(resample_means(tenths / 10, draws), better="lower", ties="min")
        exact = [[Fraction(int(total), 150) for total in row] for row in tenths @ draws.counts.T]
        for column, ranks in zip(zip(*exact, strict=True), found.T, strict=True):
            assert ranks.tolist() == [1 + sum(other < mine for other in column) for mine in column]

    @pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
    def test_what_is_no_number_is_named_by_row_and_column(self, wrong: float) -> None:
        x, draws = board(3, 4), Resamples.all_cases(4)
        x[1, 2] = x[2, 0] = wrong
        message = rf"row 1, column 2 is {wrong}; row 2, column 0 is {wrong} \(2 of 12"
        for score in (
            lambda: resample_means(x, draws),
            lambda: resample_quantiles(x, draws),
            lambda: resample_trimmed_means(x, draws, proportion=0.1),
            lambda: resample_ratios(np.ones((3, 4)), x, draws),
            lambda: ranks_of(x, better="lower", ties="min"),
            lambda: percentile_interval(x),
        ):
            with pytest.raises(ValueError, match=message):
                score()

    def test_undefined_scores_are_refused(self) -> None:
        draws = Resamples.of_weights([[1, 1, 1], [0, 2, 1]])
        with pytest.raises(ValueError, match=r"sum of weights above 0; position 1 is 0\.0"):
            resample_means(np.ones((2, 3)), draws, weight=[1, 0, 0])
        with pytest.raises(ValueError, match=r"not 0; row 0, column 1 is 0\.0"):
            resample_ratios(np.ones((2, 3)), [1, 0, 0], draws)
        with pytest.raises(ValueError, match="all case weights are 0"):
            resample_means(np.ones((2, 3)), draws, weight=[0, 0, 0])
        with pytest.raises(ValueError, match=r"numbers from 0; position 2 is -1\.0"):
            resample_means(np.ones((2, 3)), draws, weight=[1, 1, -1])
        with pytest.raises(ValueError, match="values have 4 cases, the draws 3"):
            resample_means(np.ones((2, 4)), draws)
        with pytest.raises(ValueError, match="case weights are 3 numbers"):
            resample_means(np.ones((2, 3)), draws, weight=[1, 1])
        with pytest.raises(ValueError, match="2 submissions, not 3 rows"):
            resample_ratios(np.ones((2, 3)), np.ones((3, 3)), draws)
        with pytest.raises(ValueError, match=r"shape \(3,\)"):
            resample_means([1, 2, 3], draws)
        with pytest.raises(ValueError, match="part from 0 to 1"):
            resample_quantiles(np.ones((2, 3)), draws, q=1.5)
        with pytest.raises(ValueError, match=r"below 0\.5"):
            resample_trimmed_means(np.ones((2, 3)), draws, proportion=0.5)


class TestRanks:
    @settings(deadline=None, max_examples=200)
    @given(
        hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.integers(-4, 4)),
        st.sampled_from(["higher", "lower"]),
        st.sampled_from(["min", "average", "dense"]),
        st.sampled_from([0.0, 1e-9, 0.2, 0.3]),
        st.booleans(),
    )
    def test_ranks_are_those_of_rank_values(
        self, x: Array, better: Any, ties: Any, tolerance: float, noise: bool
    ) -> None:
        x = x / 10 + (RNG(0).normal(0, 2e-10, x.shape) if noise else 0.0)
        found = ranks_of(x, better=better, ties=ties, tolerance=tolerance)
        expected = [rank_values(column.tolist(), better, ties=ties, tolerance=tolerance) for column in x.T]
        assert found.T.tolist() == expected

    @pytest.mark.parametrize("submissions", [1, 2, 3, 17, 28, 64, 65, 130])
    def test_any_number_of_submissions_is_sorted(self, submissions: int) -> None:
        x = RNG(submissions).integers(0, submissions, (submissions, 300)).astype(float)
        assert (ranks_of(x, better="lower", ties="average") == stats.rankdata(x, "average", axis=0)).all()

    def test_ties_do_not_chain(self) -> None:
        steps = 1.0 + 0.9e-9 * np.arange(4).reshape(4, 1)
        assert ranks_of(steps, better="lower", ties="min")[:, 0].tolist() == [1, 1, 3, 3]

    def test_nobody(self) -> None:
        assert ranks_of(np.empty((0, 3)), better="lower", ties="min").shape == (0, 3)

    def test_words_that_are_unknown_are_refused(self) -> None:
        for wrong in ({"better": "most"}, {"ties": "max"}, {"tolerance": -1.0}, {"tolerance": math.nan}):
            with pytest.raises(ValueError, match="ranks need"):
                ranks_of([[1.0]], **({"better": "lower", "ties": "min"} | wrong))


class TestSummary:
    RANKS = np.array([[1, 1, 1, 2], [2, 1, 3, 1], [3, 3, 2, 3]], float)

    def test_frequencies_and_probabilities_of_places(self) -> None:
        """Two share the first place in the second draw: both are first, and the shares add up to more than 1."""
        found = RankDraws(self.RANKS, [1, 2, 3])
        assert found.frequency.tolist() == [[0.75, 0.25, 0], [0.5, 0.25, 0.25], [0, 0.25, 0.75]]
        assert found.p_first.tolist() == [0.75, 0.5, 0]
        assert found.p_top(2).tolist() == [1, 0.75, 0.25]
        assert found.p_top(3).tolist() == found.p_top(9).tolist() == [1, 1, 1]

    @pytest.mark.parametrize("ties", ["min", "average", "dense"])
    def test_places_do_not_depend_on_what_ties_get(self, ties: Any) -> None:
        scores = RNG(0).integers(0, 4, (6, 500)).astype(float)
        found = ranked(scores[:, 0], scores, better="lower", ties=ties)
        better = (scores[:, np.newaxis] > scores).sum(axis=1)
        assert found.frequency == pytest.approx(np.array([(better == k).mean(axis=1) for k in range(6)]).T)
        assert (found.full == found.ranks[:, 0]).all()

    @pytest.mark.parametrize("ties", ["min", "average", "dense"])
    @pytest.mark.parametrize("replicates", [1, 2, 7, 400, 401])
    def test_quantiles_are_those_of_numpy(self, ties: Any, replicates: int) -> None:
        scores = RNG(replicates).integers(0, 6, (7, replicates)).astype(float)
        found = ranked(scores[:, 0], scores, better="higher", ties=ties)
        assert found.median == pytest.approx(np.median(found.ranks, axis=1), abs=1e-12)
        for level in (0.5, 0.8, 0.95):
            low, high = np.quantile(found.ranks, [(1 - level) / 2, (1 + level) / 2], axis=1).round(9)
            assert found.interval(level)[0].tolist() == np.floor(low).tolist()
            assert found.interval(level)[1].tolist() == np.ceil(high).tolist()

    @pytest.mark.parametrize("size", [5, 11, 26, 41])
    def test_rounding_makes_no_interval_wider(self, size: int) -> None:
        """Each has every rank once, so a quantile is 1 + (size − 1)·q; in floats that may lie above a whole number."""
        found = RankDraws((np.add.outer(np.arange(size), np.arange(size)) % size + 1).astype(float), np.ones(size))
        for percent in range(1, 100):
            low, high = (1 + (size - 1) * Fraction(100 + side * percent, 200) for side in (-1, 1))
            assert [side[0] for side in found.interval(percent / 100)] == [math.floor(low), math.ceil(high)]

    def test_a_board_in_draws(self) -> None:
        x, draws = board(cases=80), resample_cases(80, replicates=4000, seed=0)
        full = resample_means(x, Resamples.all_cases(80))[:, 0]
        found = ranked(full, resample_means(x, draws), better="higher", ties="min")
        assert found.full.tolist() == [5, 4, 3, 2, 1]
        assert found.p_first[4] > 0.9
        assert found.p_first[0] < 0.1
        assert found.p_better[4, 0] == pytest.approx(1 - found.p_better[0, 4])
        assert 0.8 < found.agreement.mean <= 1

    def test_one_submission_is_first_whatever_is_drawn(self) -> None:
        found = ranked([0.7], resample_means(board(1), resample_cases(23, replicates=50, seed=0)), **HIGHER)
        assert (found.frequency.tolist(), found.median.tolist()) == ([[1.0]], [1.0])
        assert [side.tolist() for side in found.interval()] == [[1], [1]]
        assert found.p_better.tolist() == [[0.5]]
        assert found.agreement.undefined == 50

    def test_one_case_gives_one_ranking(self) -> None:
        x = np.array([[0.3], [0.9], [0.5]])
        found = ranked(x[:, 0], resample_means(x, resample_cases(1, replicates=30, seed=0)), **HIGHER)
        assert found.frequency.tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
        assert (found.agreement.tau == 1).all()

    def test_a_constant_metric_ties_everybody(self) -> None:
        x = np.full((4, 20), 0.1)
        found = ranked(x[:, 0], resample_means(x, resample_cases(20, replicates=30, seed=0)), **HIGHER)
        assert found.p_first.tolist() == [1, 1, 1, 1]
        assert (found.p_better == 0.5).all()
        assert found.agreement.undefined == 30
        assert math.isnan(found.agreement.mean)

    def test_ranks_that_are_none_are_refused(self) -> None:
        for wrong, shown in ((1.25, "1.25"), (0.0, "0.0"), (4.0, "4.0")):
            ranks = self.RANKS.copy()
            ranks[2, 1] = wrong
            with pytest.raises(ValueError, match=rf"from 1 to 3; row 2, column 1 is {shown}"):
                _ = RankDraws(ranks, [1, 2, 3]).median
        with pytest.raises(ValueError, match="at least 1 draw"):
            RankDraws(np.empty((3, 0)), [1, 2, 3])
        with pytest.raises(ValueError, match="ranks on all cases are 3 numbers"):
            RankDraws(self.RANKS, [1, 2])
        with pytest.raises(ValueError, match="top starts with place 1"):
            RankDraws(self.RANKS, [1, 2, 3]).p_top(0)
        with pytest.raises(ValueError, match="level within 0 and 1"):
            RankDraws(self.RANKS, [1, 2, 3]).interval(1.0)


HIGHER: dict[str, Any] = {"better": "higher", "ties": "min"}


class TestScoreIntervals:
    def test_percentiles(self) -> None:
        scores = RNG(0).exponential(size=(3, 999))
        found = percentile_interval(scores, level=0.9)
        assert found.low == pytest.approx(np.quantile(scores, 0.05, axis=1), rel=1e-12)
        assert found.high == pytest.approx(np.quantile(scores, 0.95, axis=1), rel=1e-12)
        assert found.fallback == ("", "", "")

    @pytest.mark.parametrize("statistic", [resample_means, lambda x, d: resample_ratios(x, np.arange(1.0, 31.0), d)])
    @pytest.mark.parametrize("x", [RNG(2).exponential(size=(3, 30)), RNG(2).poisson(1.0, (3, 30)).astype(float)])
    def test_bca_is_that_of_scipy(self, statistic: Any, x: Array) -> None:
        """Means of whole numbers are often equal to the score; such draws count half."""
        draws = resample_cases(30, replicates=3000, seed=0)
        full, scores, without = (statistic(x, d) for d in (Resamples.all_cases(30), draws, Resamples.leave_one_out(30)))
        found = bca_interval(full[:, 0], scores, without, level=0.9)
        assert found.fallback == ("", "", "")

        def plain(i: Array, row: Array, axis: int) -> Array:
            below = np.ones(30) if statistic is resample_means else np.arange(1.0, 31.0)
            return np.asarray(row[i.astype(int)].sum(axis=axis) / below[i.astype(int)].sum(axis=axis))

        for k, row in enumerate(x):
            made = stats.bootstrap(
                (np.arange(30),), lambda i, axis, row=row: plain(i, row, axis), n_resamples=5, method="basic"
            )
            made.bootstrap_distribution = scores[k]
            expected = stats.bootstrap(
                (np.arange(30),),
                lambda i, axis, row=row: plain(i, row, axis),
                n_resamples=0,
                bootstrap_result=made,
                confidence_level=0.9,
                method="BCa",
            ).confidence_interval
            assert (found.low[k], found.high[k]) == pytest.approx(expected, rel=1e-9)

    def test_where_there_is_no_bca_percentiles_stand_and_it_is_said(self) -> None:
        draws = RNG(0).normal(size=(1, 500))
        plain = percentile_interval(draws)
        constant = bca_interval([0.1], np.full((1, 9), 0.1), np.full((1, 5), 0.1))
        assert (constant.low[0], constant.high[0]) == (0.1, 0.1)
        assert constant.fallback == ("percentiles: no case makes a difference to the score",)
        far = bca_interval([9.0], draws, [[1.0, 2.0, 4.0]])
        assert (far.low, far.high, far.fallback) == (
            plain.low,
            plain.high,
            ("percentiles: all draws lie on one side of the score",),
        )
        skew = bca_interval([np.quantile(draws, 0.999)], draws, [np.r_[np.zeros(1000), -1.0]], level=0.999)
        assert skew.fallback == ("percentiles: the draws are too skew to be corrected",)

    def test_rounding_moves_no_bias(self) -> None:
        """Draws that equal the score but for their last bits are neither below nor above it."""
        draws = np.r_[np.full(500, 0.3), np.full(500, 0.1 + 0.2), RNG(0).normal(0.3, 0.05, 200)][np.newaxis]
        without = RNG(1).normal(0.3, 0.01, (1, 40))
        found, exact = bca_interval([0.3], draws, without), bca_interval([0.3], draws.round(12), without)
        assert (found.low[0], found.high[0]) == pytest.approx((exact.low[0], exact.high[0]), abs=1e-11)

    def test_sizes_that_do_not_match_are_refused(self) -> None:
        with pytest.raises(ValueError, match="jackknife scores of 2 submissions, and draws of 1"):
            bca_interval([0.3], [[0.1, 0.2]], np.ones((2, 4)))
        with pytest.raises(ValueError, match="scores on all cases are 1 numbers"):
            bca_interval([0.3, 0.4], [[0.1, 0.2]], np.ones((1, 4)))
        with pytest.raises(ValueError, match="level within 0 and 1"):
            percentile_interval([[0.1, 0.2]], level=0)
        with pytest.raises(ValueError, match="at least 1 draw"):
            percentile_interval(np.empty((2, 0)))
