"""Ranks over cases × parts × metrics, as BraTS ranks: from score tables to the board, its intervals and its receipt."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import rankdata
from typer.testing import CliRunner, Result

import isocenter
from isocenter import editions, scores
from isocenter.cli import app
from isocenter.contest import Contest, replay
from isocenter.metrics import Metric, catalogue
from isocenter.ranking import (
    Board,
    Disqualify,
    FixedValue,
    LeaveOut,
    MeanThenRank,
    NormalisedSum,
    QuantileThenRank,
    RankingRule,
    RankLast,
    RankThenMean,
    TestThenRank,
    TrimmedMeanThenRank,
    WeightedRanks,
    alternatives,
    board_difference,
    bootstrap_ranks,
    describe,
    paired_values,
    pseudo_code,
    rule_of,
    significance,
)
from isocenter.scores import Row, frame
from isocenter.stats import exceeding_flips, sign_flip

DISTANCE = catalogue.register(Metric("test_distance", "mm", "lower", (0.0, math.inf), 2, "for tests"))
METRICS = ("dice", "test_distance")
REGIONS = ("ET", "TC", "WT")
TEAMS = ("aare", "birs", "doubs", "emme", "inn")
CASES = tuple(f"p{at:02d}" for at in range(16))
LACKING = ("emme", "p03")


def drawn_values(seed: int = 5) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Teams × cases × regions × metrics, rounded so that some of them tie."""
    rng = np.random.default_rng(seed)
    skill = np.linspace(0.12, 0.0, len(TEAMS))[:, None, None]
    shape = (len(TEAMS), len(CASES), len(REGIONS))
    dice = np.clip(0.75 + skill + rng.normal(0, 0.08, shape[1:]) + rng.normal(0, 0.07, shape), 0, 1).round(2)
    distance = np.abs(6 - 20 * skill + rng.normal(0, 3, shape)).round(0)
    return np.stack([dice, distance], axis=-1)


VALUES = drawn_values()


def table_of(team: str, values: Any = VALUES, *, lacking: tuple[str, str] | None = LACKING) -> pl.DataFrame:
    rows = []
    for (i, case), (r, region), (m, metric) in product(enumerate(CASES), enumerate(REGIONS), enumerate(METRICS)):
        if (team, case) != lacking:
            rows.append(Row(case, region, metric, float(values[TEAMS.index(team), i, r, m])))
    if lacking and team == lacking[0]:
        rows.append(Row(lacking[1], "", "missing", 1.0))
    return frame(rows)


def together(**tables: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([table.select(pl.lit(name).alias("submission"), pl.all()) for name, table in tables.items()])


SCORES = together(**{team: table_of(team) for team in TEAMS})


def brats(**changes: Any) -> RankThenMean:
    settings: dict[str, Any] = {
        "metrics": tuple((name, 1.0) for name in METRICS),
        "missing": RankLast(),
        "ties": "average",
        "over": "parts-within-cases",
    }
    return RankThenMean(**settings | changes)


def plain_ranks(ties: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Teams × cases × regions × metrics, by scipy: the oracle. The team without an output is behind all others."""
    cost = np.stack([-VALUES[..., 0], VALUES[..., 1]], axis=-1)
    cost[TEAMS.index(LACKING[0]), CASES.index(LACKING[1])] = np.inf
    return rankdata(cost, method=ties, axis=0)


@pytest.mark.parametrize("ties", ["min", "average", "dense"])
@pytest.mark.parametrize("over", ["parts", "parts-within-cases"])
def test_the_score_is_the_mean_of_the_ranks_in_every_case_region_and_metric(ties: str, over: str) -> None:
    board = brats(ties=ties, over=over).rank(SCORES)
    expected = plain_ranks(ties).mean(axis=(1, 2, 3))
    assert {row.submission: row.score for row in board} == pytest.approx(dict(zip(TEAMS, expected, strict=True)))
    assert [row.submission for row in board] == [TEAMS[at] for at in np.argsort(expected)]
    assert board["emme"].missing == 1


def test_weights_of_metrics_count_within_every_case() -> None:
    weights = (("dice", 3.0), ("test_distance", 1.0))
    expected = (plain_ranks("average") * [0.75, 0.25]).sum(axis=-1).mean(axis=(1, 2))
    board = brats(metrics=weights).rank(SCORES)
    assert [board[team].score for team in TEAMS] == pytest.approx(expected.tolist())


def test_cases_with_more_regions_have_more_say_unless_cases_are_averaged_first() -> None:
    """One case has a single region, which nobody has elsewhere undefined: 1 rank of 46, or 1 case of 16."""
    cut = SCORES.filter(~((pl.col("case") == "p07") & pl.col("part").is_in(["ET", "TC"])))
    ranks = plain_ranks("average").mean(axis=-1)
    keep = np.ones(ranks.shape[1:], bool)
    keep[CASES.index("p07"), :2] = False
    pooled = (ranks * keep).sum(axis=(1, 2)) / keep.sum()
    within = ((ranks * keep).sum(axis=2) / keep.sum(axis=1)).mean(axis=1)
    for over, expected in (("parts", pooled), ("parts-within-cases", within)):
        rule = brats(over=over)
        board = rule.rank(cut)
        assert [board[team].score for team in TEAMS] == pytest.approx(expected.tolist())
        counts = np.ones((1, len(CASES)))
        counts[0, CASES.index("p07")], counts[0, 0] = 2, 0
        drawn = bootstrap_ranks(cut, rule, weights=counts).drawn
        twice = (ranks * keep * counts[0][:, None]).sum(axis=(1, 2)) / (keep * counts[0][:, None]).sum()
        if over == "parts-within-cases":
            twice = ((ranks * keep).sum(axis=2) / keep.sum(axis=1)) @ counts[0] / counts[0].sum()
        assert drawn.scores[:, 0] == pytest.approx(twice.tolist())
        assert significance(cut, rule).rows[0].difference == pytest.approx(
            np.diff(np.sort(expected)[:2][::-1])[0]
        )  # the mean of what is tested is the score


def test_means_of_every_metric_stand_beside_the_mean_rank_with_the_mean_rank_by_it_alone() -> None:
    board = brats().rank(SCORES)
    ranks = plain_ranks("average")
    for at, team in enumerate(TEAMS):
        there = [i for i, case in enumerate(CASES) if (team, case) != LACKING]
        parts = {part.metric: part for part in board[team].components}
        assert [*parts] == [*METRICS]
        for m, metric in enumerate(METRICS):
            assert parts[metric].score == pytest.approx(VALUES[at, there, :, m].mean())
            assert parts[metric].rank == pytest.approx(ranks[at, ..., m].mean())
        by_metric = [part.rank for part in parts.values() if part.rank is not None]
        assert math.fsum(by_metric) / 2 == pytest.approx(board[team].score)
    assert board.notes == ("Metrics beside the score, emme: mean over 15 of 16 cases",)


def test_the_mean_of_the_only_metric_stands_there_too() -> None:
    one = RankThenMean(metrics="dice", missing=RankLast(), ties="min", part="WT").rank(SCORES)
    assert [part.metric for part in one["aare"].components] == ["dice"]
    assert one["aare"].components[0].score == pytest.approx(VALUES[0, :, 2, 0].mean())


def test_bootstrap_resamples_draw_all_regions_of_a_case_together() -> None:
    counts = np.random.default_rng(2).multinomial(len(CASES), np.full(len(CASES), 1 / len(CASES)), size=200)
    found = bootstrap_ranks(SCORES, brats(), weights=counts)
    by_case = plain_ranks("average").mean(axis=(2, 3))
    assert found.drawn.scores == pytest.approx(by_case @ counts.T / len(CASES))
    low, high = np.percentile(by_case @ counts.T / len(CASES), [2.5, 97.5], axis=1)
    assert found.score_interval("aare") == pytest.approx((low[0], high[0]))
    distances = VALUES[0, :, :, 1].mean(axis=1) @ counts.T / len(CASES)
    assert found.drawn.components["test_distance"][0] == pytest.approx(distances)


PARTLY: tuple[RankingRule, ...] = (
    MeanThenRank("dice", FixedValue(0.0)),
    QuantileThenRank("dice", FixedValue(0.0)),
    TrimmedMeanThenRank("dice", FixedValue(0.0)),
    TestThenRank("dice", FixedValue(0.0), alpha=0.3),
    RankThenMean(metrics=(("dice", 1.0), ("test_distance", 2.0)), missing=RankLast(), ties="average"),
    WeightedRanks((("dice", 1.0), ("test_distance", 2.0)), LeaveOut()),
    NormalisedSum(metrics=(("dice", 1.0), ("test_distance", 2.0)), missing=LeaveOut()),
)


@pytest.mark.parametrize("rule", PARTLY, ids=lambda rule: rule.kind)
def test_a_named_part_is_ranked_as_if_it_were_the_whole_case(rule: Any) -> None:
    of_part = replace(rule, part="TC")
    whole = SCORES.filter(pl.col("part").is_in(["TC", ""])).with_columns(part=pl.lit(""))
    a, b = of_part.rank(SCORES), rule.rank(whole)
    assert [replace(row, components=()) for row in a] == [replace(row, components=()) for row in b]
    assert [row.components for row in a] == [row.components for row in b]
    drawn = [bootstrap_ranks(*one, replicates=50).drawn.scores for one in ((SCORES, of_part), (whole, rule))]
    assert (drawn[0] == drawn[1]).all()
    assert " of TC" in str(of_part)
    assert "TC of i" in pseudo_code(of_part)
    assert rule_of(json.loads(json.dumps(describe(of_part)))) == of_part
    assert rule_of({key: value for key, value in describe(rule).items() if key != "part"}) == rule  # an old receipt


def test_a_case_that_was_measured_without_the_part_is_undefined_not_missing() -> None:
    """Else the policy for missing files would punish a team for what the reference lacks."""
    cut = SCORES.filter(~((pl.col("case") == "p00") & (pl.col("part") == "ET")))
    with pytest.raises(ValueError, match="dice is undefined for 'aare' in p00"):
        MeanThenRank("dice", FixedValue(0.0), part="ET").rank(cut)
    board = MeanThenRank("dice", FixedValue(0.0), part="ET", undefined="unlisted").rank(
        pl.concat([cut.filter(submission="aare"), SCORES.filter(pl.col("submission") != "aare")])
    )
    assert [row.submission for row in board.unlisted] == ["aare"]


def test_a_part_that_nobody_has_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="no case has a part 'ED' with a dice; there are ET, TC, WT"):
        brats(over="cases", part="ED").rank(SCORES)


@pytest.mark.parametrize("made", [brats, lambda **changes: MeanThenRank("dice", Disqualify(), over="parts", **changes)])
def test_one_part_and_all_parts_contradict(made: Any) -> None:
    with pytest.raises(ValueError, match="by ET alone, or over all parts"):
        made(part="ET")


def test_the_sentence_and_the_pseudo_code_say_what_is_ranked_by_itself() -> None:
    assert str(brats()).startswith(
        "mean over the parts of each case, then over all cases, of the rank in each part by dice, test_distance,"
    )
    lines = pseudo_code(brats()).splitlines()
    assert lines[0] == "for each metric m of (dice ↑, test_distance ↓) and each case i and each of its parts p:"
    assert "    r[s, i] = mean over p of r[s, i, p]" in lines
    assert "    score[s] = Σᵢ Σₚ w[i] · r[s, i, p] / Σᵢ Σₚ w[i]" in pseudo_code(brats(over="parts")).splitlines()


def test_other_universes_rank_by_each_region_alone() -> None:
    found = {one.name: one.rule for one in alternatives(brats(), SCORES)}
    assert found["by WT alone"] == brats(over="cases", part="WT")
    assert found["ranks of all parts"] == brats(over="parts")


# Tests of mean ranks.


def case_means() -> np.ndarray[Any, np.dtype[np.float64]]:
    return plain_ranks("average").mean(axis=(2, 3))


def test_the_test_flips_the_mean_ranks_of_two_teams_in_every_case_and_counts_all_flips() -> None:
    found = {(row.a, row.b): row for row in significance(SCORES, brats(), family="all-ordered", adjust="holm").rows}
    signs = np.array(list(product([-1, 1], repeat=len(CASES))))
    p = {}
    for (i, a), (j, b) in product(enumerate(TEAMS), repeat=2):
        if a == b:
            continue
        lead = case_means()[j] - case_means()[i]  # lower ranks are better
        p[a, b] = float((signs @ lead >= lead.sum() - 1e-9).mean())
        assert found[a, b].p == pytest.approx(p[a, b], abs=1e-12)
        assert found[a, b].difference == pytest.approx(-lead.mean())
    assert min(row.adjusted for row in found.values()) == pytest.approx(20 * min(p.values()))


def test_flips_of_many_cases_are_counted_as_well() -> None:
    """200 cases: mean ranks are multiples of a twelfth, so that all 2²⁰⁰ flips have few different sums."""
    rng = np.random.default_rng(11)
    teams = {
        team: frame(
            Row(f"c{case:03d}", region, metric, float(rng.uniform(0.01 * at, 0.9)))
            for case, region, metric in product(range(200), REGIONS, METRICS)
        )
        for at, team in enumerate("abc")
    }
    found = significance(together(**teams), brats(), adjust="none")
    assert found.methods == ("from all flips",)
    assert found.seed is None
    values = paired_values(together(**teams), brats()).values
    row = found.rows[0]
    drawn = sign_flip(values[row.a], values[row.b], better="lower", decimals=None, exact=False, replicates=40_000)
    assert row.p == pytest.approx(drawn.p, abs=0.01)


def test_the_published_test_leaves_out_flips_with_the_same_lead_and_p_is_smaller() -> None:
    right = significance(SCORES, brats(), adjust="none", winner="aare")
    published = significance(SCORES, brats(), test="brats", adjust="none", winner="aare")
    signs = np.array(list(product([-1, 1], repeat=len(CASES))))
    for one, other in zip(right.rows, published.rows, strict=True):
        lead = case_means()[TEAMS.index(other.b)] - case_means()[0]
        assert other.p == pytest.approx((signs @ lead > lead.sum() + 1e-9).mean(), abs=0.005)
        assert other.p <= one.p + 0.005
    assert published.seed == 0
    assert exceeding_flips([1, 1, 1], [2, 2, 3], better="lower", decimals=0).p == 0
    assert sign_flip([1, 1, 1], [2, 2, 3], better="lower", decimals=0).p == 1 / 8
    assert exceeding_flips([1, 2, 1], [1, 2, 1], better="lower", decimals=0).p == 0  # the same submission twice


@pytest.mark.parametrize(("side", "tail"), [("better", 1), ("worse", -1)])
def test_the_published_test_has_sides(side: Any, tail: int) -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(0.4, 1, 12), rng.normal(0, 1, 12)
    signs = np.array(list(product([-1, 1], repeat=12)))
    expected = (tail * signs @ (a - b) > tail * (a - b).sum() + 1e-9).mean()
    found = exceeding_flips(a, b, better="higher", decimals=None, alternative=side)
    assert found.p == pytest.approx(expected, abs=0.006)


def test_ranks_and_so_their_tests_depend_on_who_else_is_ranked() -> None:
    """A third team between two others widens their distance."""
    two = {"a": [0.8, 0.8, 0.8], "b": [0.7, 0.9, 0.7]}
    between = {"c": [0.75, 0.5, 0.75]}
    difference = []
    for teams in (two, two | between):
        made = {
            team: frame(Row(f"c{at}", "", "dice", value) for at, value in enumerate(values))
            for team, values in teams.items()
        }
        rule = RankThenMean(metrics="dice", missing=Disqualify(), ties="min")
        rows = significance(together(**made), rule, family="all-ordered").rows
        difference.append(next(row.difference for row in rows if (row.a, row.b) == ("a", "b")))
    assert difference == pytest.approx([-1 / 3, -1.0])


def test_a_metric_behind_the_score_is_tested_if_it_is_named() -> None:
    named = significance(SCORES, brats(missing=FixedValue(0.0)), metric="dice", over="cases")
    plain = significance(SCORES, MeanThenRank("dice", FixedValue(0.0), over="parts-within-cases"), winner="aare")
    assert {row.b: row.p for row in named.rows} == {row.b: row.p for row in plain.rows}
    assert named.test == "wilcoxon"
    with pytest.raises(
        ValueError, match=r"jaccard is no metric of the board .*; those beside its score are dice, test_"
    ):
        significance(SCORES, brats(), metric="jaccard")
    with pytest.raises(ValueError, match="mean_rank of a case is a mean over its parts"):
        significance(SCORES, brats(), over="parts")


def test_sampling_weights_are_refused_in_tests_and_count_in_scores() -> None:
    weighted = SCORES.with_columns(weight=pl.when(pl.col("case") == "p00").then(3.0).otherwise(1.0))
    weights = np.array([3.0] + [1.0] * 15)
    board = brats().rank(weighted)
    assert [board[team].score for team in TEAMS] == pytest.approx((case_means() @ weights / 18).tolist())
    with pytest.raises(ValueError, match="sampling weights"):
        significance(weighted, brats())


# Contests, receipts, editions, commands.


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


def test_a_contest_has_the_board_its_intervals_and_a_receipt_that_replays() -> None:
    hecktor = isocenter.challenge("hecktor2020")
    challenge = replace(hecktor, boards={"brats": brats()}, metrics=METRICS)
    contest = Contest(challenge, {team: table_of(team) for team in TEAMS})
    decision = contest.decide("brats", resamples=300, seed=4)
    row = decision.board["aare"]
    assert row.score == pytest.approx(case_means()[0].mean())
    for part in row.components:
        assert part.low is not None and part.high is not None  # noqa: PT018
        assert part.low < part.score < part.high
    tables = {record.sha256: table_of(record.team) for record in decision.receipt.tables}
    again = replay(decision.receipt, challenge, tables).board
    assert board_difference(decision.receipt.board, again.to_dict(), exact=True, words=True) == ""


def test_a_receipt_from_before_the_means_stood_there_is_still_the_same_board() -> None:
    now = brats().rank(SCORES).to_dict()
    old = json.loads(json.dumps(now))
    for row in old["rows"]:
        del row["components"]
    assert board_difference(old, now, exact=True, words=True) == ""
    old["rows"][0]["score"] = 1.0
    assert board_difference(old, now, exact=True, words=True).startswith("aare, score")
    changed = json.loads(json.dumps(now))
    changed["rows"][0]["components"][0]["score"] = 0.5
    assert "dice, score" in board_difference(changed, now, exact=True, words=True)


EDITION = """
challenge = "lung2019"
title = "Regions"

[[phases]]
name = "only"
title = "The only phase"
opens = 2026-03-01T00:00:00Z
closes = 2026-04-01T00:00:00Z
results = 2026-04-01T00:00:00Z
counts = "last"
visibility = "hidden"

[policies]
missing = 0
ties = "min"

[[boards]]
name = "regions"
rule = "mean-rank"
metrics = ["dice", "recall"]
ties = "average"
missing = "rank-last"
over = "parts-within-cases"
main = true

[[boards]]
name = "enhancing"
rule = "mean"
metric = "dice"
part = "ET"
"""


@pytest.fixture
def edition(tmp_path: Path) -> Path:
    path = tmp_path / "challenge.toml"
    path.write_text(EDITION, "utf-8")
    return path


@pytest.fixture
def given_tables(tmp_path: Path) -> list[str]:
    for team in TEAMS:
        table = table_of(team).with_columns(
            metric=pl.col("metric").replace("test_distance", "recall"),
            value=pl.when(pl.col("metric") == "test_distance")
            .then(1 / (1 + pl.col("value")))
            .otherwise(pl.col("value")),
        )
        scores.write(table, tmp_path / "scores" / f"{team}.parquet", record={"challenge": "lung2019"})
    return [f"{team}={tmp_path / 'scores' / team}.parquet" for team in TEAMS]


def test_challenge_toml_names_regions_and_says_what_is_wrong_with_them(edition: Path) -> None:
    _, challenge = editions.in_force(edition, find=isocenter.challenge)
    regions, enhancing = challenge.boards["regions"], challenge.boards["enhancing"]
    assert regions == brats(metrics=(("dice", 1.0), ("recall", 1.0)))
    assert enhancing == MeanThenRank("dice", FixedValue(0.0), part="ET")
    edition.write_text(EDITION.replace('part = "ET"', 'part = "ET"\nover = "parts"'), "utf-8")
    with pytest.raises(editions.EditionError, match="by ET alone, or over all parts"):
        editions.in_force(edition, find=isocenter.challenge)


def test_commands_rank_compare_and_verify_regions(edition: Path, given_tables: list[str], tmp_path: Path) -> None:
    receipt, page, out = tmp_path / "receipt.json", tmp_path / "board.html", tmp_path / "tests.json"
    options = ("--replicates", 200, "--receipt", receipt, "--html", page)
    ranked = run("rank", edition, *given_tables, *options)
    assert ranked.exit_code == 0, ranked.output
    mean = VALUES[0, :, :, 0].mean()
    lines = {line.split()[1]: line for line in ranked.stdout.splitlines() if "aare" in line}
    assert f"{mean:.4f} [" in lines["aare"]
    assert f"{mean:.4f}" in page.read_text("utf-8")
    verified = run("verify", receipt, "--scores", tmp_path / "scores")
    assert verified.exit_code == 0, verified.output
    compared = run("compare", edition, *given_tables, "--out", out)
    assert compared.exit_code == 0, compared.output
    assert "Sign-flip permutation test of the mean" in compared.stdout
    assert "Ranks depend on all teams that are ranked here" in compared.stderr
    content = json.loads(out.read_text("utf-8"))
    assert content["test"] == "sign-flip"
    assert content["tests"][0]["methods"] == ["from all flips"]
    assert content["notes"]
    published = run("compare", edition, *given_tables, "--test", "brats", "--adjust", "none")
    assert "as BraTS published it" in published.stdout
    assert "it is too small; see --test sign-flip" in published.stderr
    of_metric = run(
        "compare", edition, *given_tables, "--metric", "recall", "--family", "all-ordered", "--over", "cases"
    )
    assert of_metric.exit_code == 1  # a mean rank leaves the missing case out of the mean
    assert "recall in every case, and a missing one is left out of the mean: emme has none in p03" in of_metric.output


@dataclass(frozen=True)
class Podium(RankingRule):
    """A rule of another package: the share of significant wins, with the median of the Dice beside it."""

    metric = "win_share"
    reads = ("dice",)

    @property
    def beside(self) -> tuple[QuantileThenRank, ...]:
        return (QuantileThenRank("dice", FixedValue(0.0)),)

    def check(self) -> None:
        pass

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Any = None) -> Board:
        return replace(TestThenRank("dice", FixedValue(0.0)).rank(scores, name=name, roles=roles))


def test_a_rule_of_another_package_says_what_stands_beside_its_score() -> None:
    challenge = replace(isocenter.challenge("hecktor2020"), boards={"podium": Podium()})
    tables = {
        team: frame(Row(f"c{i}", "", "dice", x) for i, x in enumerate(VALUES[at, :, 0, 0]))
        for at, team in enumerate(TEAMS)
    }
    board = Contest(challenge, tables).decide("podium", resamples=0).board
    for at, team in enumerate(TEAMS):
        [part] = board[team].components
        assert (part.metric, part.score) == ("dice", pytest.approx(np.median(VALUES[at, :, 0, 0])))
