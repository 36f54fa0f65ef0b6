"""Rules: their words, pseudo-code and descriptions, and what each makes of the golden tables."""

from __future__ import annotations

import csv
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
from tests.frozen.tools import GOLDEN, Items, attempt, plain

import isocenter
from isocenter import ranking
from isocenter.contest import Contest, Entry
from isocenter.detections import Finding, findings
from isocenter.scores import Row, frame

TABLES = GOLDEN / "ranking"
CHALLENGES = (
    *("hecktor2020", "lung2019", "openkbp2020", "doserad2026", "doserad2026-floored"),
    *("picai2022", "picai2022-from-maps"),
)
POLICIES: Mapping[str, ranking.Missing] = {
    "zero": ranking.FixedValue(0.0),
    "half": ranking.FixedValue(0.5),
    "worst": ranking.WorstPossible(),
    "worst-observed": ranking.WorstObserved("case"),
    "worst-observed-anywhere": ranking.WorstObserved("anywhere"),
    "disqualify": ranking.Disqualify(),
    "rank-last": ranking.RankLast(),
    "leave-out": ranking.LeaveOut(),
    "penalty": ranking.Penalty(2.5),
}
TIES: tuple[ranking.Ties, ...] = ("min", "average", "dense")


def kinds(metric: str, second: str, missing: ranking.Missing, **common: Any) -> Iterator[tuple[str, Any]]:
    """Rules of all kinds, with and without their options; a kind that does not take the policy says so."""
    pair = ((metric, 1.0), (second, 2.0))
    common = {"missing": missing, **common}
    makers: dict[str, Any] = {
        "mean": lambda: ranking.MeanThenRank(metric, **common),
        "mean over parts": lambda: ranking.MeanThenRank(metric, over="parts", **common),
        "mean of parts within cases": lambda: ranking.MeanThenRank(metric, over="parts-within-cases", **common),
        "mean, undefined unlisted": lambda: ranking.MeanThenRank(metric, undefined="unlisted", **common),
        "median": lambda: ranking.QuantileThenRank(metric, **common),
        "lower decile": lambda: ranking.QuantileThenRank(metric, q=0.1, **common),
        "trimmed mean": lambda: ranking.TrimmedMeanThenRank(metric, **common),
        "trimmed mean, a quarter": lambda: ranking.TrimmedMeanThenRank(metric, proportion=0.25, **common),
        "rank then mean": lambda: ranking.RankThenMean(metrics=metric, **{"ties": "min", **common}),
        "rank then mean of two": lambda: ranking.RankThenMean(metrics=pair, **{"ties": "min", **common}),
        "weighted ranks": lambda: ranking.WeightedRanks(pair, **common),
        "weighted ranks with limit and tie-break": lambda: ranking.WeightedRanks(
            pair, exclude=(ranking.Limit(metric, 0.72, "allowed"),), tie_breaks=(second, metric), **common
        ),
        "tests": lambda: ranking.TestThenRank(metric, **common),
        "tests, Holm": lambda: ranking.TestThenRank(metric, alpha=0.2, adjust="holm", decimals=2, **common),
        "tests, BH": lambda: ranking.TestThenRank(metric, adjust="bh", **common),
        "tests, Bonferroni": lambda: ranking.TestThenRank(metric, adjust="bonferroni", **common),
        "normalised sum": lambda: ranking.NormalisedSum(metrics=pair, **common),
        "detection": lambda: ranking.DetectThenRank("detection_score", **common),
        "AUROC": lambda: ranking.DetectThenRank("auroc", **common),
        "average precision": lambda: ranking.DetectThenRank("average_precision", **common),
    }
    yield from makers.items()


def words(make_rule: Any) -> Any:
    """All that a rule says of itself, or why there is no such rule."""
    try:
        rule = make_rule()
        rule.check()
    except ValueError as error:
        return {"ValueError": str(error).splitlines()}
    return {
        "str": str(rule),
        "repr": repr(rule),
        "metric": rule.metric,
        "reads": list(rule.reads),
        "pseudo_code": attempt(lambda: ranking.pseudo_code(rule).splitlines()),
        "describe": attempt(ranking.describe, rule),
        "again": attempt(lambda: ranking.rule_of(ranking.describe(rule)) == rule),
    }


WRONG: tuple[dict[str, Any], ...] = (
    {},
    {"rule": "median"},
    {"rule": "mean"},
    {"rule": "mean", "metric": "dyce", "missing": 0},
    {"rule": "mean", "metric": "dice", "missing": "wurst"},
    {"rule": "mean", "metric": "dice", "missing": 2},
    {"rule": "mean", "metric": "dice", "missing": {"penalty": 2}},
    {"rule": "mean", "metric": "dice", "missing": 0, "ties": "max", "tolerance": -1},
    {"rule": "mean", "metric": "dice", "missing": 0, "q": 0.5, "colour": "red"},
    {"rule": "quantile", "metric": "dice", "missing": 0, "q": 2},
    {"rule": "trimmed-mean", "metric": "dice", "missing": 0, "proportion": 0.5},
    {"rule": "mean-rank", "metric": "dice", "metrics": ["dice"], "missing": 0},
    {"rule": "weighted-ranks", "metrics": [{"metric": "dice", "weight": -1}], "missing": 0},
    {"rule": "weighted-ranks", "metrics": ["dice"], "missing": 0, "tie_breaks": ["jaccard"]},
    {"rule": "weighted-ranks", "metrics": ["dice"], "missing": 0, "limits": [{"metric": "dice"}]},
    {"rule": "tests", "metric": "dice", "missing": 0, "alpha": 1, "adjust": "hulm", "decimals": 99},
    {"rule": "normalised-sum", "metrics": [], "missing": 0},
    {"rule": "detection", "metric": "dice", "missing": 0},
    {"rule": 7, "metric": ["dice"], "missing": None},
)


def make(folder: Path) -> Items:
    """Words of all rules, and boards of the golden tables."""
    del folder
    items: Items = {
        "rules/challenges.json": {
            f"{challenge}, {board}": words(lambda rule=rule: rule)
            for challenge in CHALLENGES
            for board, rule in isocenter.challenge(challenge).boards.items()
        },
        "rules/kinds.json.gz": {
            f"{name}, {policy}": words(maker)
            for policy, missing in POLICIES.items()
            for name, maker in kinds("dice", "recall", missing)
        },
        "rules/lower-is-better.json.gz": {
            f"{name}, {policy}": words(maker)
            for policy in ("worst-observed", "penalty", "disqualify")
            for name, maker in kinds("dose_error", "dvh_error", POLICIES[policy], ties="average", tolerance=0.01)
        },
        "rules/wrong.json": {str(value): attempt(ranking.rule_of, value) for value in WRONG},
        "rules/policies.json": {
            name: {
                "str": str(policy),
                "describe": plain(ranking.describe_missing(policy)),
                "again": ranking.missing_of(ranking.describe_missing(policy)) == policy,
            }
            for name, policy in POLICIES.items()
        },
        "rules/catalogue.json": _catalogue(),
    }
    return items | _golden()


def _catalogue() -> dict[str, Any]:
    """The metrics, by name."""
    from isocenter.metrics import catalogue

    names = sorted({name for one in CHALLENGES for name in isocenter.challenge(one).metrics} | {"run_time", "auroc"})
    return {name: attempt(catalogue.get, name) for name in names}


# The golden tables ----------------------------------------------------------------------------------------------------


def rows_of(name: str) -> list[dict[str, str]]:
    with (TABLES / name).open(newline="") as stream:
        return list(csv.DictReader(stream))


def table(values: Mapping[str, Mapping[str, float | None]]) -> pl.DataFrame:
    """A team's table, from the values of its metrics by case; None is a missing case."""
    rows: list[Row] = []
    for case in next(iter(values.values())):
        rows += [Row(case, "", metric, by_case[case]) for metric, by_case in values.items()]
        if all(by_case[case] is None for by_case in values.values()):
            rows.append(Row(case, "", "missing", 1.0))
    return frame(rows)


def together(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([one.select(pl.lit(team).alias("submission"), pl.all()) for team, one in tables.items()])


def hecktor_like() -> dict[str, list[pl.DataFrame]]:
    """Up to six submissions a team; recall is made up from Dice."""
    rows = rows_of("hecktor_like_cases.csv")
    cases = sorted({row["case"] for row in rows})
    teams: dict[str, dict[int, dict[str, float]]] = {}
    for row in rows:
        if row["dsc"]:
            teams.setdefault(row["team"], {}).setdefault(int(row["submission"]), {})[row["case"]] = float(row["dsc"])
    made: dict[str, list[pl.DataFrame]] = {}
    for team, submissions in teams.items():
        for _, dice in sorted(submissions.items()):
            values: dict[str, dict[str, float | None]] = {"dice": {case: dice.get(case) for case in cases}}
            values["recall"] = {
                case: None if value is None else round(1 - (1 - value) * (1 + number % 3) / 3, 6)
                for number, (case, value) in enumerate(values["dice"].items())
            }
            made.setdefault(team, []).append(table(values))
    return made


def printed(name: str, columns: Mapping[str, str], **where: str) -> pl.DataFrame:
    """A printed table as scores of one case: a metric for each of some columns."""
    rows = [row for row in rows_of(name) if all(row[key] == value for key, value in where.items())]
    key = "team" if "team" in rows[0] else "algorithm"
    return together(
        {
            f"{row[key]:0>2}": table({metric: {"all": float(row[column])} for column, metric in columns.items()})
            for row in rows
            if all(row[column] for column in columns)
        }
    )


def detected() -> pl.DataFrame:
    """Findings of teams that find as much as the golden table of PI-CAI says, roughly; one lacks a case."""
    tables = {}
    for number, row in enumerate(rows_of("picai_like.csv")):
        rows: list[Row] = []
        for index in range(24):
            case, ill = f"c{index:02}", index % 3 == 0
            if int(row["n_missing_cases"]) and index == 5:
                rows += [Row(case, "", metric, None) for metric in ("case_positive", "case_likelihood")]
                rows.append(Row(case, "", "missing", 1.0))
                continue
            belief = round(((index * 7 + number * 5) % 24) / 24 * (1 - float(row["auroc"])) * 4 + 0.4 * ill, 4)
            hit = (index * 5 + number) % 10 < 10 * float(row["ap"])
            seen = [Finding(True, min(belief + 0.1, 1.0) if hit else 0.0, 0.5 if hit else 0.0)] if ill else []
            if (index + number) % 4 == 0:
                seen.append(Finding(False, round(belief / 2 + 0.01, 4), 0.0))
            rows += [Row(case, part, m, v) for m, v, part in findings(ill, min(belief, 1.0), seen)]
        tables[row["team"]] = frame(rows)
    return together(tables)


def _board(rule: Any, scores: pl.DataFrame, roles: Mapping[str, ranking.Role]) -> Any:
    """The board of a rule, with its uncertainty if there are cases to draw, or why there is none."""
    try:
        board = rule.rank(scores, name="frozen", roles=roles)
    except ValueError as error:
        return {"ValueError": str(error).splitlines()}
    plain_board = {"board": board.to_dict(), "unlisted": plain(board.unlisted)}
    if scores["case"].n_unique() == 1:
        return plain_board
    try:
        uncertainty = ranking.bootstrap_ranks(scores, rule, replicates=60, seed=2, roles=roles)
    except ValueError as error:
        return plain_board | {"uncertainty": {"ValueError": str(error).splitlines()}}
    marked = ranking.mark_uncertainty(board, uncertainty)
    return plain_board | {"marked": marked.to_dict(), "details": uncertainty.to_dict()}


def _golden() -> Items:
    """Boards of each rule on each golden table."""
    last = together({team: tables[-1] for team, tables in hecktor_like().items()})
    roles: dict[str, ranking.Role] = {"org": "organiser"}
    items: Items = {}
    for policy, missing in POLICIES.items():
        items[f"golden/hecktor-like-{policy}.json.gz"] = {
            name: _made(maker, last, roles) for name, maker in kinds("dice", "recall", missing) if "detect" not in name
        }
    items["golden/hecktor-like-ties.json.gz"] = {
        f"{name}, {ties}": _made(maker, last, roles)
        for ties in TIES
        for name, maker in kinds("dice", "recall", POLICIES["zero"], ties=ties, tolerance=0.02)
    }
    items["golden/hecktor-like-counting.json.gz"] = _counting()
    items["golden/picai-like.json.gz"] = {
        f"{metric}, {policy}, {ties}": _made(
            lambda metric=metric, policy=policy, ties=ties: ranking.DetectThenRank(
                metric, missing=POLICIES[policy], ties=ties
            ),
            detected(),
            {"E": "organiser"},
        )
        for metric in ("detection_score", "auroc", "average_precision")
        for policy in ("disqualify", "leave-out")
        for ties in ("min", "average")
    }
    tables = {
        "openkbp": printed("openkbp_table5.csv", {"dose_mae": "dose_error", "dvh_mae": "dvh_error"}),
        **{
            f"lung-{phase}-{split}": printed(
                "lung_etable3.csv", {f"{split}_dice_mean": "dice", f"{split}_jaccard_mean": "jaccard"}, phase=phase
            )
            for phase, split in (("1", "validation"), ("1", "holdout"), ("2", "validation"), ("2", "holdout"))
        },
    }
    for name, scores in tables.items():
        metrics = ("dose_error", "dvh_error") if name == "openkbp" else ("dice", "jaccard")
        items[f"golden/{name}.json.gz"] = {
            f"{kind}, {ties}": _made(maker, scores, {})
            for ties in TIES
            for kind, maker in kinds(*metrics, ranking.Disqualify(), ties=ties)
        }
    return items


def _made(maker: Any, scores: pl.DataFrame, roles: Mapping[str, ranking.Role]) -> Any:
    try:
        rule = maker()
    except ValueError as error:
        return {"ValueError": str(error).splitlines()}
    return _board(rule, scores, roles)


def _entries(tables: Mapping[str, list[pl.DataFrame]], *, choosing: bool) -> Iterator[Entry]:
    """The golden submissions; where the chosen one counts, a team of several has chosen its first."""
    roles: dict[str, ranking.Role] = {"org": "organiser", "one": "benchmark"}
    for team, its in tables.items():
        for at, table in enumerate(its):
            chosen = choosing and at == 0 and len(its) > 1
            yield Entry(team=team, table=table, role=roles.get(team, "team"), chosen=chosen)


def _counting() -> dict[str, Any]:
    """The golden submissions through the door of the library, by what counts and who is listed."""
    challenge, tables = isocenter.challenge("hecktor2020"), hecktor_like()
    boards: dict[str, Any] = {}
    for counts in ("last", "best", "all", "chosen"):
        for organisers in ("unlisted", "unranked", "ranked"):
            for quota in (None, 2, 5):
                rules = ranking.Participation(quota=quota, counts=counts, organisers=organisers)
                changed = dataclasses.replace(challenge, participation=rules)
                contest = Contest(changed, list(_entries(tables, choosing=counts == "chosen")))
                name = f"{counts}, {organisers}, quota {quota}"
                boards[name] = attempt(lambda: contest.decide(resamples=0).board.to_dict())  # noqa: B023, PLW0108
    for ladder in (0.01, "parameter-free"):
        for decimals in (None, 2):
            rules = ranking.Participation(counts="best", ladder=ladder, decimals=decimals)
            changed = dataclasses.replace(challenge, participation=rules)
            name = f"ladder {ladder}, decimals {decimals}"
            boards[name] = attempt(lambda: isocenter.rank(changed, tables, resamples=0).to_dict())  # noqa: B023
    return boards
