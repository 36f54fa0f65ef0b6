"""The probability of being truly the best: calibrated, where the share of resamples in which a team is first is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.ranking import cohorts
from tests.ranking.cohorts import Floats, Scenario

from isocenter.contest import rank
from isocenter.ranking import (
    Board,
    BoardRow,
    Disqualify,
    MeanThenRank,
    QuantileThenRank,
    RankThenMean,
    TestThenRank,
    bootstrap_ranks,
    explain_first,
    mark_uncertainty,
    round_share,
    show_share,
)
from isocenter.ranking._best import _errors, draw_true_scores, p_best, share_best
from isocenter.ranking._drawn import Drawn
from isocenter.scores import Row, frame

DICE = MeanThenRank("dice", missing=Disqualify())


def chances(values: Floats, *, seed: int = 0, replicates: int = 2000) -> Floats:
    """P(best) of means over cases, where higher is better."""
    n = values.shape[1]
    counts = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), replicates)
    draws = draw_true_scores(values.mean(axis=1), values @ counts.T / n, better="higher", cases=n, seed=seed)
    return share_best(draws, better="higher")


def table(values: dict[str, list[float]], metric: str = "dice") -> pl.DataFrame:
    """A score table of several submissions."""
    parts = [
        frame([Row(f"p{i:03}", "", metric, value) for i, value in enumerate(cases)]).with_columns(
            submission=pl.lit(name)
        )
        for name, cases in values.items()
    ]
    return pl.concat(parts)


def field(shifts: list[float], cases: int = 60, seed: int = 0) -> dict[str, list[float]]:
    """Teams a, b, … with these true scores and a noise of 0.05 in cases of different difficulty."""
    rng = np.random.default_rng(seed)
    difficulty = 0.1 * rng.standard_normal(cases)
    return {
        chr(97 + i): np.clip(0.5 + shift + difficulty + 0.05 * rng.standard_normal(cases), 0, 1).tolist()
        for i, shift in enumerate(shifts)
    }


class TestCalibration:
    """Smaller than docs/explanation/calibration.md, with other seeds."""

    @pytest.mark.slow
    @pytest.mark.parametrize("scenario", cohorts.SCENARIOS, ids=lambda scenario: scenario.name)
    def test_what_is_printed_comes_true_about_as_often(self, scenario: Scenario) -> None:
        outcome = cohorts.simulate(scenario, 150, seed=1)
        says, holds = cohorts.leaders(outcome.p_best, outcome.is_best)
        assert says < holds + 0.12  # three standard errors of a share of 150
        assert cohorts.error(outcome.p_best, outcome.is_best) < 0.12
        assert np.mean(outcome.covered) > 0.95 - 0.05
        assert np.mean(outcome.in_first_group) > 0.95 - 0.05

    @pytest.mark.slow
    def test_the_share_of_resamples_is_too_sure_of_close_teams_and_p_best_is_not(self) -> None:
        outcome = cohorts.simulate(cohorts.SCENARIOS[0], 300, seed=2, sets=False)
        first, holds = cohorts.leaders(outcome.p_first, outcome.is_best)
        assert first > holds + 0.15
        best, holds = cohorts.leaders(outcome.p_best, outcome.is_best)
        assert best < holds + 0.10
        assert cohorts.error(outcome.p_best, outcome.is_best) < 0.5 * cohorts.error(outcome.p_first, outcome.is_best)

    def test_a_hopeless_team_leaves_the_others_as_they_are(self) -> None:
        rng = np.random.default_rng(5)
        close = rng.standard_normal((8, 100)) + 2 * rng.standard_normal(100)
        alone = chances(close)
        with_it = chances(np.concatenate([close, close[:1] * 0 - 30 + rng.standard_normal((1, 100))]))
        assert with_it[8] < 0.001
        assert np.abs(with_it[:8] - alone).max() < 0.05
        assert with_it.max() < 0.9 * bootstrapped(close).max()

    def test_a_noisy_hopeless_team_does_neither(self) -> None:
        rng = np.random.default_rng(6)
        close = rng.standard_normal((8, 100)) + 2 * rng.standard_normal(100)
        with_it = chances(np.concatenate([close, -60 + 40 * rng.standard_normal((1, 100))]))
        assert np.abs(with_it[:8] - chances(close)).max() < 0.05


def bootstrapped(values: Floats) -> Floats:
    n = values.shape[1]
    counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), 2000)
    return share_best(values @ counts.T / n, better="higher")


class TestFields:
    def test_overwhelming_evidence_makes_it_nearly_certain(self) -> None:
        for teams in (2, 3, 10):
            values = np.random.default_rng(0).standard_normal((teams, 100))
            values[1] += 1.5
            assert chances(values)[1] > 0.99

    def test_more_cases_of_the_same_lead_make_it_surer(self) -> None:
        rng = np.random.default_rng(1)
        block = rng.standard_normal((5, 25))
        block -= block.mean(axis=1, keepdims=True)
        block[0] += 0.3
        few, some, many = (chances(np.tile(block, times))[0] for times in (1, 4, 32))
        assert few < some < many
        assert many > 0.99

    def test_two_teams_have_one_probability_between_them(self) -> None:
        values = np.random.default_rng(2).standard_normal((2, 50))
        chance = chances(values)
        assert chance.sum() == pytest.approx(1)
        assert (chance[0] > 0.5) == (values[0].mean() > values[1].mean())
        assert chance.max() < bootstrapped(values).max()

    def test_copies_share_what_one_of_them_would_have(self) -> None:
        values = np.random.default_rng(3).standard_normal((4, 60))
        values[2] += 0.3
        one = chances(values)
        twins = chances(np.concatenate([values, values[2:3]]))
        assert twins[2] == twins[4] == pytest.approx(one[2] / 2, abs=0.02)
        assert twins[[0, 1, 3]] == pytest.approx(one[[0, 1, 3]], abs=0.02)
        assert chances(np.repeat(values[:1], 3, axis=0)).tolist() == pytest.approx([1 / 3] * 3)

    def test_teams_that_differ_in_a_few_cases_only_are_compared_by_these(self) -> None:
        rng = np.random.default_rng(4)
        values = rng.standard_normal((6, 200)) - 0.2
        values[0] += 0.2
        values[1] = values[0] - 0.05 + 0.01 * rng.standard_normal(200)  # a variant that is worse in nearly every case
        chance = chances(values)
        assert chance[0] > 0.7
        assert (
            chance[1] < 0.08
        )  # by chance alone it would be about as good as the first: the covariance is made careful

    @settings(max_examples=20, deadline=None)
    @given(
        st.integers(2, 12),
        st.integers(2, 40),
        st.integers(0, 2**32 - 1),
        st.sampled_from([1e-9, 1.0, 1e6]),
        st.booleans(),
    )
    def test_probabilities_are_of_the_whole_and_know_no_unit_and_no_order(
        self, teams: int, cases: int, seed: int, unit: float, copies: bool
    ) -> None:
        rng = np.random.default_rng(seed)
        values = rng.standard_normal((teams, cases)) + 3
        if copies:
            values[-1] = values[0]
        counts = rng.multinomial(cases, np.full(cases, 1 / cases), 200)
        scores, full = values @ counts.T / cases, values.mean(axis=1)
        chance = share_best(draw_true_scores(full, scores, better="higher", cases=cases, seed=1), better="higher")
        assert chance.sum() == pytest.approx(1)
        assert (chance >= 0).all()
        low = draw_true_scores(-unit * full, -unit * scores, better="lower", cases=cases, seed=1)
        assert share_best(low, better="lower") == pytest.approx(chance, abs=0.03)

    def test_many_teams_are_no_more_than_can_be_drawn(self) -> None:
        values = np.random.default_rng(0).standard_normal((150, 30))
        values[140] += 2
        chance = chances(values, replicates=500)
        assert chance.sum() == pytest.approx(1)
        assert chance[140] > 0.95

    def test_its_digits_are_those_that_another_seed_gives_too(self) -> None:
        values = np.random.default_rng(8).standard_normal((10, 100)) * np.sqrt(0.5)
        n = values.shape[1]
        counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), 2000)
        scores, full = values @ counts.T / n, values.mean(axis=1)
        again = [
            share_best(draw_true_scores(full, scores, better="higher", cases=n, seed=seed), better="higher")
            for seed in range(6)
        ]
        assert np.std(again, axis=0, ddof=1).max() < 0.008
        repeated = draw_true_scores(full, scores, better="higher", cases=n, seed=3)
        assert (share_best(repeated, better="higher") == again[3]).all()


class TestPosterior:
    """What `draw_true_scores` says of its own parts."""

    def test_errors_have_the_variance_of_a_sample_and_nothing_common_to_all(self) -> None:
        """Resamples of n cases have the variance of a mean × (n − 1)/n: of three cases a third is missing."""
        rng = np.random.default_rng(0)
        values = rng.standard_normal((3, 3)) + 5 * rng.standard_normal(3)
        counts = rng.multinomial(3, np.full(3, 1 / 3), 20_000)
        errors = _errors(values @ counts.T / 3, 3)
        apart = values[0] - values[1]
        assert np.var(errors[0] - errors[1]) == pytest.approx(np.var(apart, ddof=1) / 3, rel=0.05)

    def test_metrics_have_their_errors_from_the_same_resamples(self) -> None:
        rng = np.random.default_rng(1)
        values = rng.standard_normal((3, 400)) + 5 * np.arange(3)[:, np.newaxis]
        counts = rng.multinomial(400, np.full(400, 1 / 400), 1000)
        drawn = [
            draw_true_scores(
                values.mean(axis=1), values @ counts.T / 400, better="higher", cases=400, seed=2, stream=stream
            )
            for stream in (1, 2)
        ]
        assert not np.array_equal(*drawn)
        one, other = (truth[2] - truth[0] for truth in drawn)
        assert np.corrcoef(one, other)[0, 1] > 0.9

    def test_the_first_sixty_may_be_the_best_whichever_way_is_better(self) -> None:
        values = np.random.default_rng(0).standard_normal((70, 30))
        counts = np.random.default_rng(1).multinomial(30, np.full(30, 1 / 30), 300)
        full, scores = values.mean(axis=1), values @ counts.T / 30
        behind = np.argsort(full)[:10]
        for sign, better in ((1, "higher"), (-1, "lower")):
            drawn = draw_true_scores(sign * full, sign * scores, better=better, cases=30, seed=0)  # type: ignore[arg-type]
            chance = share_best(drawn, better=better)  # type: ignore[arg-type]
            assert (chance[behind] == 0).all()
            assert np.count_nonzero(chance) > 30
            assert np.argmax(chance) in np.argsort(-full)[:5]

    def test_more_teams_than_cases_are_not_told_apart_by_their_covariance(self) -> None:
        """Equal teams: whoever leads has little more than its share."""
        outcome = cohorts.simulate(Scenario("equal", teams=30, cases=20, width=0.0), 15, seed=5, sets=False)
        says, _ = cohorts.leaders(outcome.p_best, outcome.is_best)
        assert says < 0.25

    def test_only_equals_share_a_first_place(self) -> None:
        assert share_best(np.array([[1.0], [0.999]]), better="higher").tolist() == [1.0, 0.0]
        assert share_best(np.array([[1.0], [0.999]]), better="lower").tolist() == [0.0, 1.0]
        assert share_best(np.array([[0.3], [0.1 + 0.2]]), better="higher").tolist() == [0.5, 0.5]


class TestWeightedRanks:
    """The true values by each metric are ranked in each draw; numbers that no case changes have their ranks."""

    @staticmethod
    def part(shifts: list[float], *, better: Literal["higher", "lower"] = "higher", noise: float = 1.0) -> Drawn:
        rng = np.random.default_rng(7)
        values = noise * rng.standard_normal((len(shifts), 200)) + np.array(shifts)[:, np.newaxis]
        counts = np.random.default_rng(8).multinomial(200, np.full(200, 1 / 200), 500)
        names, teams = tuple("abcdef"[: len(shifts)]), np.ones(len(shifts), np.bool_)
        return Drawn(names, teams, values.mean(axis=1), values @ counts.T / 200, better, "min", 1e-9)

    def chances(self, *metrics: tuple[float, Drawn | Floats]) -> Floats:
        first = next(part for _, part in metrics if isinstance(part, Drawn))
        ranks = np.zeros_like(first.scores)  # what ranks by the weighted mean is made of the parts alone
        whole = Drawn(first.submissions, first.competing, first.full, ranks, "lower", "min", 1e-9, metrics=metrics)
        found = p_best(whole, cases=200, seed=1)
        assert found is not None
        return found

    def test_the_best_by_all_metrics_is_the_best(self) -> None:
        found = self.chances((1.0, self.part([0.0, 1.0, 0.5])), (1.0, self.part([3.0, 1.0, 2.0], better="lower")))
        assert found[1] > 0.99
        assert found.sum() == pytest.approx(1)

    def test_metrics_count_by_their_weights(self) -> None:
        one, other = self.part([1.0, 0.0]), self.part([0.0, 1.0])
        assert self.chances((3.0, one), (1.0, other))[0] > 0.99
        assert self.chances((1.0, one), (3.0, other))[1] > 0.99

    def test_ranks_that_no_case_changes_count_too(self) -> None:
        close = self.part([0.0, 0.01, 0.0])
        assert self.chances((1.0, close), (5.0, np.array([2.0, 3.0, 1.0])))[2] > 0.99
        assert self.chances((1.0, close), (5.0, np.array([1.0, 3.0, 2.0])))[0] > 0.99

    def test_values_that_the_rule_calls_equal_share_a_rank(self) -> None:
        """A tolerance that is wider than all that varies leaves the decision to the other metric."""
        sharp = self.part([1.0, 1.2, 1.1], noise=0.01)
        loose = replace(sharp, tolerance=0.5)
        other = self.part([1.0, 0.0, 0.9])
        assert self.chances((2.0, sharp), (1.0, other))[1] > 0.9
        assert self.chances((2.0, loose), (1.0, other))[0] > 0.8


class TestBoards:
    def test_rows_have_it_and_those_that_do_not_compete_have_not(self) -> None:
        values = field([0.0, 0.01, 0.02, 0.05])
        tables = {name: table({name: cases}).drop("submission") for name, cases in values.items()}
        board = rank("hecktor2020", tables, benchmarks=["d"], resamples=1000)
        assert board["d"].p_best is None
        assert board["d"].best_chance == "–"
        rows = [row for row in board if row.rank is not None]
        assert sum(row.p_best for row in rows if row.p_best is not None) == pytest.approx(1, abs=0.02)
        assert rows[0].p_best == max(row.p_best for row in rows if row.p_best is not None)
        assert {row.resamples for row in rows} == {1000}
        assert "P(best)" in str(board)
        assert set(board.to_dict()["legend"]) == {"p_first", "p_best"}
        assert "not the probability" in board.to_dict()["legend"]["p_first"]

    @pytest.mark.parametrize(
        "rule",
        [
            DICE,
            RankThenMean(metrics="dice", missing=Disqualify(), ties="min"),
            QuantileThenRank("dice", missing=Disqualify()),
            TestThenRank("dice", missing=Disqualify()),
        ],
        ids=lambda rule: type(rule).__name__,
    )
    def test_every_rule_has_it(self, rule: MeanThenRank) -> None:
        found = bootstrap_ranks(table(field([0.0, 0.0, 0.1, 0.01])), rule, replicates=500)
        assert sum(found.p_best.values()) == pytest.approx(1)
        assert max(found.p_best, key=found.p_best.__getitem__) == "c"
        assert found.p_best["c"] > 0.9

    def test_a_score_of_steps_says_that_it_is_an_approximation(self) -> None:
        scores = table(field([0.0, 0.02, 0.03, 0.01]))
        assert bootstrap_ranks(scores, DICE, replicates=500).p_best_reason == ""
        rule = TestThenRank("dice", missing=Disqualify())
        assert bootstrap_ranks(scores, rule, replicates=500).p_best_reason == "the score moves in steps"
        few = table(field([0.0, 0.02, 0.03], cases=8))
        median = QuantileThenRank("dice", missing=Disqualify())
        assert "hangs on a few" in bootstrap_ranks(few, median, replicates=500).p_best_reason

    def test_three_cases_have_it_and_boards_round_it_to_the_digits_it_has(self) -> None:
        scores = table(field([0.0, 0.02, 0.01], cases=3))
        found = bootstrap_ranks(scores, DICE, replicates=500)
        assert sum(found.p_best.values()) == pytest.approx(1)
        board = mark_uncertainty(DICE.rank(scores), found)
        for team, chance in found.p_best.items():
            assert board[team].p_best == found.to_dict()["teams"][team]["p_best"] == round_share(chance, 5_000)
            assert board[team].p_best != chance

    def test_one_team_and_one_case_have_none(self) -> None:
        assert bootstrap_ranks(table(field([0.0])), DICE, replicates=50).p_best == {}
        assert bootstrap_ranks(table({"a": [0.5], "b": [0.6]}), DICE, replicates=50).p_best == {}
        assert bootstrap_ranks(table({"a": [0.5, 0.6], "b": [0.6, 0.7]}), DICE, replicates=50).p_best == {}


class TestWords:
    def test_a_sure_first_with_several_ranks_says_why(self) -> None:
        values = field([0.0, 0.0, 0.0, 0.0, 0.022], cases=30, seed=3)
        scores = table(values)
        found = bootstrap_ranks(scores, DICE, replicates=2000)
        board = mark_uncertainty(DICE.rank(scores), found)
        row = board.rows[0]
        assert row.p_first > 0.9
        assert row.rank_high > 1
        (note,) = explain_first(board, found)
        assert note.team == row.submission
        assert f"first in {row.first_share} of the resamples, yet its rank set is {row.rank_set}" in note
        assert "all 5 teams at once, for which 30 cases are few" in note
        assert f"P(best) is {row.best_chance}" in note

    def test_a_median_of_few_cases_says_that_it_hangs_on_them(self) -> None:
        scores, rule = table(field([0.0, 0.3], cases=8)), QuantileThenRank("dice", missing=Disqualify())
        found = bootstrap_ranks(scores, rule, replicates=500)
        (note,) = explain_first(mark_uncertainty(rule.rank(scores), found), found)
        assert "The set excludes nothing: a median of 8 cases hangs on a few of them." in note

    def test_a_first_that_the_data_tell_from_all_others_needs_no_reason(self) -> None:
        scores = table(field([0.0, 0.3]))
        found = bootstrap_ranks(scores, DICE, replicates=500)
        assert explain_first(mark_uncertainty(DICE.rank(scores), found), found) == ()

    @given(st.integers(1, 100_000), st.data())
    def test_a_share_is_printed_with_the_digits_it_has(self, of: int, data: st.DataObject) -> None:
        share = data.draw(st.integers(0, of)) / of
        text = show_share(share, of)
        number = float(text.strip("<>"))
        assert (number in (0, 1)) == (share in (0, 1))
        assert abs(number - share) <= 0.1
        decimals = len(text.strip("<>").split(".")[1])
        assert decimals == 1 or 10.0**-decimals >= np.sqrt(share * (1 - share) / of)
        rounded = round_share(share, of, most=2)
        assert (rounded in (0, 1)) == (share in (0, 1))

    def test_rows_never_print_all_or_none_where_it_was_not_so(self) -> None:
        row = BoardRow("a", 0.5, 1, "team", 9, 0, 0, p_first=0.9996, p_best=1.0, resamples=10_000)
        assert (row.first_share, row.best_chance) == (">0.99", ">0.99")
        assert ">0.99" in str(Board("b", "dice", "r", (row,)))
        assert "1.00" not in str(Board("b", "dice", "r", (row,)))
