"""What can be done with a rule is said by the rule itself."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from isocenter.ranking import (
    Board,
    DetectThenRank,
    Disqualify,
    FixedValue,
    LeaveOut,
    MeanThenRank,
    Missing,
    NormalisedSum,
    Penalty,
    QuantileThenRank,
    RankingRule,
    RankLast,
    RankThenMean,
    TestThenRank,
    TrimmedMeanThenRank,
    WeightedRanks,
    WorstObserved,
    WorstPossible,
    capabilities_of,
)

ZERO = FixedValue(0.0)
TWO = (("dice", 1.0), ("jaccard", 2.0))
MEAN = MeanThenRank("dice", ZERO)
PARTS = MeanThenRank("dice", ZERO, over="parts")
MEDIAN = QuantileThenRank("dice", ZERO)
TRIMMED = TrimmedMeanThenRank("dice", ZERO)
RANKS = RankThenMean(metrics="dice", missing=ZERO, ties="min")
RANKS_OF_TWO = RankThenMean(metrics=TWO, missing=ZERO, ties="min")
WEIGHTED = WeightedRanks(TWO, ZERO)
TESTS = TestThenRank("dice", ZERO)
SUM = NormalisedSum(metrics=TWO, missing=ZERO)
AUROC = DetectThenRank("auroc")
DETECTION = DetectThenRank("detection_score")
ALL: tuple[RankingRule, ...] = (
    *(MEAN, PARTS, MEDIAN, TRIMMED, RANKS, RANKS_OF_TWO, WEIGHTED, TESTS, SUM, AUROC, DETECTION),
)


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("relative", (RANKS, RANKS_OF_TWO, WEIGHTED, TESTS, SUM)),
        ("roundable", (MEAN, PARTS, MEDIAN, TRIMMED, AUROC, DETECTION)),
        ("laddered", (MEAN,)),
        ("drawable", ALL),
        ("shows_means", (MEAN, PARTS, WEIGHTED)),
        ("has_findings", (AUROC, DETECTION)),
        ("components", (RANKS_OF_TWO, WEIGHTED, SUM, DETECTION)),
        ("mean_metric", (MEAN,)),
    ],
)
def test_each_rule_says_what_can_be_done_with_it(name: str, rules: tuple[RankingRule, ...]) -> None:
    assert [rule for rule in ALL if getattr(rule, name)] == list(rules)


@pytest.mark.parametrize("policy", [WorstObserved(), WorstObserved("anywhere"), Penalty(2.0)])
@pytest.mark.parametrize("made", [MeanThenRank, QuantileThenRank, TrimmedMeanThenRank])
def test_a_score_is_relative_if_a_missing_case_counts_as_the_worst_of_the_teams(made: Any, policy: Missing) -> None:
    assert made("dose_error", policy).relative
    assert not made("dose_error", Disqualify()).relative


def test_what_a_score_is_made_of_is_named() -> None:
    assert WEIGHTED.components == SUM.components == RANKS_OF_TWO.components == ("dice", "jaccard")
    assert DETECTION.components == ("auroc", "average_precision")


@pytest.mark.parametrize(
    ("policy", "value"),
    [(ZERO, 0.0), (WorstPossible(), 0.0), (LeaveOut(), None), (WorstObserved(), None), (Disqualify(), None)],
)
def test_a_mean_says_what_a_missing_case_counts_as(policy: Missing, value: float | None) -> None:
    assert MeanThenRank("dice", policy).stand_in == value
    assert RankThenMean(metrics="dice", missing=RankLast(), ties="min").stand_in is None


class OnlyABoard:
    """A rule of another package, with what a board needs and nothing else."""

    metric = "dice"
    reads = ("dice",)

    def check(self) -> None:
        pass

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Any = None) -> Board:
        raise NotImplementedError

    def __str__(self) -> str:
        return "by a rule of its own"


def test_a_rule_of_another_package_promises_nothing_that_it_does_not_have() -> None:
    found = capabilities_of(OnlyABoard())
    for name in ("relative", "roundable", "laddered", "drawable", "shows_means", "has_findings"):
        assert getattr(found, name) is False
    assert (found.components, found.mean_metric, found.stand_in) == ((), None, None)
    with pytest.raises(ValueError, match="the board ranks by no findings \\(by a rule of its own\\)"):
        found.findings(pl.DataFrame())


def test_a_rule_of_another_package_has_what_it_says_of_itself() -> None:
    class Drawing(OnlyABoard):
        roundable = True
        missing = WorstObserved()

        def draw(self, scores: pl.DataFrame, draws: Any, *, roles: Any = None) -> Any:
            raise NotImplementedError

    found = capabilities_of(Drawing())
    assert found.roundable
    assert found.relative
    assert found.drawable


def test_a_rule_of_this_package_is_its_own_answer() -> None:
    for rule in ALL:
        assert capabilities_of(rule) is rule  # type: ignore[arg-type]
