from __future__ import annotations

import csv
import json
import math
import random
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import isocenter
from isocenter.contest import Contest, make_entries
from isocenter.metrics import Metric, catalogue
from isocenter.ranking import Board, Disqualify, FixedValue, MeanThenRank, WorstPossible, counting
from isocenter.scores import Row, frame

GOLDEN = Path(__file__).parents[1] / "golden" / "ranking"
ERROR = catalogue.register(Metric("test_error", "mm", "lower", (0.0, math.inf), 2, "for tests"))
ZERO = MeanThenRank("dice", missing=FixedValue(0.0))


def table(
    values: dict[str, float | None], *, metric: str = "dice", weights: dict[str, float] | None = None
) -> pl.DataFrame:
    """A team's table; None is a missing case."""
    rows = []
    for case, value in values.items():
        weight = (weights or {}).get(case, 1.0)
        rows.append(Row(case, "", metric, value, weight))
        if value is None:
            rows.append(Row(case, "", "missing", 1.0, weight))
    return frame(rows)


def together(**teams: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([t.select(pl.lit(name).alias("submission"), pl.all()) for name, t in teams.items()])


def golden_tables() -> dict[str, list[pl.DataFrame]]:
    """HECKTOR-like scores: eight cases, up to six submissions a team, team three lacks two cases."""
    with (GOLDEN / "hecktor_like_cases.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    cases = sorted({row["case"] for row in rows})
    teams: dict[str, dict[int, dict[str, float]]] = {}
    for row in rows:
        if row["dsc"]:
            teams.setdefault(row["team"], {}).setdefault(int(row["submission"]), {})[row["case"]] = float(row["dsc"])
    return {
        team: [table({case: found.get(case) for case in cases}) for _, found in sorted(submissions.items())]
        for team, submissions in teams.items()
    }


def golden_board(**changes: Any) -> Board:
    challenge = isocenter.challenge("hecktor2020")
    rules = replace(challenge.participation, counts=changes.pop("counts", "last"))
    rule = replace(challenge.boards["dice"], **changes)
    challenge = replace(challenge, participation=rules, boards={"dice": rule})
    return isocenter.rank(challenge, golden_tables(), organisers=["org"], resamples=0)


@pytest.mark.parametrize(
    ("key", "changes"),
    [
        ("policy_zero_last", {}),
        ("policy_zero_best", {"counts": "best"}),
        ("policy_disqualify_last", {"missing": Disqualify()}),
        ("policy_zero_last", {"missing": WorstPossible()}),
    ],
)
def test_the_golden_board(key: str, changes: dict[str, Any], golden_ranking: dict[str, Any]) -> None:
    board = golden_board(**changes)
    for team, expected in golden_ranking["hecktor_like"][key].items():
        assert board[team].rank == expected["rank"]
        score = expected["mean_dsc"]
        assert board[team].score == (score if score is None else pytest.approx(score, rel=1e-12))


def test_the_last_of_at_most_five_counts_and_the_sixth_is_noted(golden_ranking: dict[str, Any]) -> None:
    for counts in ("last", "best"):
        expected = golden_ranking["hecktor_like"][f"counting_submission_{counts}{'_of_at_most_5' * (counts == 'last')}"]
        for team, tables in golden_tables().items():
            if team in expected:
                means = [ZERO.rank(together(x=t))["x"].score for t in tables]
                assert counting(means, quota=5, counts=counts, better="higher") + 1 == expected[team]
    assert golden_board().notes == ("two: 6 submissions, of which the quota admits 5; later ones do not count",)


def test_the_organisers_team_of_the_golden_table_is_not_listed(golden_ranking: dict[str, Any]) -> None:
    assert golden_ranking["hecktor_like"]["organizer_not_listed"] == ["org"]
    assert "org" not in {row.submission for row in golden_board()}


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.one_of(st.none(), st.floats(0, 1)), min_size=1))
def test_the_score_is_the_exact_mean_with_missing_as_zero(values: dict[str, float | None]) -> None:
    board = ZERO.rank(together(x=table(values)))
    exact = sum(Fraction(v or 0) for v in values.values()) / len(values)
    assert board["x"].score == pytest.approx(float(exact), rel=1e-15)
    assert board["x"].missing == sum(v is None for v in values.values())


def test_case_weights_weigh() -> None:
    weights = {"a": 3.0, "b": 1.0}
    board = ZERO.rank(together(x=table({"a": 1.0, "b": 0.0}, weights=weights)))
    assert board["x"].score == 0.75


def test_the_order_of_cases_never_moves_a_bit() -> None:
    values = {str(i): random.Random(i).random() for i in range(100)}
    scores = set()
    for seed in range(20):
        shuffled = list(values.items())
        random.Random(seed).shuffle(shuffled)
        scores.add(ZERO.rank(together(x=table(dict(shuffled))))["x"].score)
    assert len(scores) == 1


def test_a_case_that_only_others_have_is_missing_not_left_out() -> None:
    board = ZERO.rank(together(x=table({"a": 0.8}), y=table({"a": 0.6, "b": 0.4})))
    assert (board["x"].score, board["x"].missing, board["x"].cases) == (0.4, 1, 2)
    assert [row.submission for row in board] == ["y", "x"]


def test_lower_is_better_where_the_catalogue_says_so() -> None:
    rule = MeanThenRank("test_error", missing=FixedValue(100.0))
    board = rule.rank(together(x=table({"a": 2.0}, metric="test_error"), y=table({"a": 1.0}, metric="test_error")))
    assert [(row.submission, row.rank) for row in board] == [("y", 1), ("x", 2)]


def test_equal_means_share_a_rank_and_stand_in_alphabetical_order() -> None:
    board = ZERO.rank(
        together(c=table({"a": 0.3, "b": 0.0}), b=table({"a": 0.1, "b": 0.2}), a=table({"a": 0.9, "b": 0.9}))
    )
    assert [(row.submission, row.rank) for row in board] == [("a", 1), ("b", 2), ("c", 2)]


def test_rows_that_do_not_compete_have_no_rank_and_move_nobody() -> None:
    teams = {"x": table({"a": 0.5}), "y": table({"a": 0.3}), "observer": table({"a": 0.9})}
    board = isocenter.rank("hecktor2020", teams, benchmarks=["observer"])
    assert [(row.submission, row.rank) for row in board] == [("observer", None), ("x", 1), ("y", 2)]


def test_organisers_take_part_unlisted_and_leak_nowhere() -> None:
    teams = {"x": table({"a": 0.5}), "home team": table({"a": 0.9})}
    board = isocenter.rank("hecktor2020", teams | {"home team": [teams["home team"]] * 6}, organisers=["home team"])
    assert [(row.submission, row.rank) for row in board] == [("x", 1)]
    assert board["home team"].score == 0.9
    assert board["home team"].rank is None
    assert "home team" not in board.to_json() + str(board)


def test_a_failed_case_is_told_apart_from_a_missing_one() -> None:
    rows = [Row("a", "", "dice", 1.0), Row("b", "", "dice", None), Row("b", "", "failed", 1.0)]
    row = ZERO.rank(together(x=frame(rows)))["x"]
    assert (row.score, row.missing, row.failed) == (0.5, 0, 1)


def test_an_undefined_metric_is_not_guessed() -> None:
    with pytest.raises(ValueError, match=r"dice is undefined for 'x' in b"):
        ZERO.rank(together(x=frame([Row("a", "", "dice", 1.0), Row("b", "", "dice", None)])))


def test_an_infinite_value_has_no_mean() -> None:
    rule = MeanThenRank("test_error", missing=FixedValue(0.0))
    with pytest.raises(ValueError, match=r"'x' in case 'a' is inf"):
        rule.rank(together(x=table({"a": math.inf}, metric="test_error")))


def test_policies_that_do_not_fit_the_metric_are_errors() -> None:
    missing = together(x=table({"a": None}, metric="test_error"))
    with pytest.raises(ValueError, match="no worst value"):
        MeanThenRank("test_error", missing=WorstPossible()).rank(missing)
    with pytest.raises(ValueError, match="cannot count as -1"):
        MeanThenRank("test_error", missing=FixedValue(-1.0)).rank(missing)


def test_one_case_has_one_weight() -> None:
    with pytest.raises(ValueError, match="different weights"):
        ZERO.rank(together(x=table({"a": 1.0}, weights={"a": 2.0}), y=table({"a": 1.0})))


def test_an_observation_is_not_ranked() -> None:
    with pytest.raises(ValueError, match="no better or worse"):
        MeanThenRank("missing", missing=FixedValue(1.0)).rank(together(x=table({"a": None})))


def test_all_missing_is_a_score_of_zero() -> None:
    board = ZERO.rank(together(x=table({"a": None, "b": None}), y=table({"a": 0.1, "b": None})))
    assert [(row.submission, row.score, row.missing) for row in board] == [("y", 0.05, 1), ("x", 0.0, 2)]


def test_an_empty_board_and_unknown_names() -> None:
    assert len(isocenter.rank("hecktor2020", {})) == 0
    with pytest.raises(ValueError, match="organiser nobody"):
        isocenter.rank("hecktor2020", {"x": table({"a": 1.0})}, organisers=["nobody"])
    with pytest.raises(ValueError, match="no board 'gold'"):
        isocenter.rank("hecktor2020", {"x": table({"a": 1.0})}, board="gold")


def test_the_json_of_a_board_says_what_was_ranked_and_how() -> None:
    data = json.loads(isocenter.rank("hecktor2020", {"x": table({"a": 0.5, "b": None})}, resamples=0).to_json())
    assert data["board"] == "dice"
    assert data["metric"]["better"] == "higher"
    assert "missing or unusable case counts as 0" in data["rule"]
    assert data["rows"] == [
        {
            "submission": "x",
            "score": 0.25,
            "rank": 1.0,
            "role": "team",
            "cases": 2,
            "missing": 1,
            "failed": 0,
            "disqualified": False,
            "low": None,
            "high": None,
            "rank_low": None,
            "rank_high": None,
            "p_first": None,
            "group": None,
        }
    ]


def test_a_case_that_was_measured_only_in_parts_is_not_taken_for_missing() -> None:
    rows = [Row("a", "bone", "dice", 0.5), Row("a", "soft", "dice", 0.7)]
    with pytest.raises(ValueError, match="is there for 'bone', but not for the case as a whole"):
        ZERO.rank(together(x=frame(rows)))


def test_a_rule_that_cannot_work_is_refused_when_it_is_made_or_joins_a_challenge() -> None:
    with pytest.raises(ValueError, match="ties are one of min, average, dense, not 'mean'"):
        MeanThenRank("dice", missing=FixedValue(0.0), ties="mean")
    with pytest.raises(TypeError, match=r"FixedValue\(…\)"):
        MeanThenRank("dice", missing=0)
    challenge = isocenter.challenge("hecktor2020")
    with pytest.raises(ValueError, match="cannot count as 2"):
        replace(challenge, boards={"dice": MeanThenRank("dice", missing=FixedValue(2.0))})
    with pytest.raises(ValueError, match="'test_error', which is not among its metrics"):
        replace(challenge, boards={"x": MeanThenRank("test_error", missing=FixedValue(2.0))})


def test_the_rule_in_words_names_the_unit_and_what_counts_as_missing() -> None:
    rule = MeanThenRank("test_error", missing=FixedValue(30.0), ties="average")
    assert "a missing or unusable case counts as 30 mm; equals share the mean of their ranks" in str(rule)


def test_means_are_printed_with_their_standard_error_in_the_last_digit() -> None:
    tables = {"x": table({"a": 0.8, "b": 0.6, "c": 0.7, "d": None}), "y": table(dict.fromkeys("abcd", 0.5))}
    found = Contest("hecktor2020", make_entries(tables)).decide(resamples=0).means()
    # x: mean 0.525 of 0.8, 0.6, 0.7 and 0 for the missing case; SD 0.359, divided by the square root of 4 cases: 0.18.
    assert found == {"dice": {"x": "0.5(2)", "y": "0.5(0)"}}


def test_a_submission_that_is_disqualified_has_no_mean() -> None:
    challenge = isocenter.challenge("hecktor2020")
    strict = replace(challenge, boards={"dice": MeanThenRank("dice", missing=Disqualify())})
    tables = {"x": table({"a": 0.5, "b": None}), "y": table({"a": 0.5, "b": 0.7})}
    assert Contest(strict, make_entries(tables)).decide(resamples=0).means() == {"dice": {"y": "0.6(1)"}}


def test_a_table_of_several_submissions_is_not_taken_for_one() -> None:
    both = together(x=table({"a": 0.1}), y=table({"a": 0.9}))
    with pytest.raises(ValueError, match="'team' holds 2 submissions"):
        isocenter.rank("hecktor2020", {"team": both})
    assert isocenter.rank("hecktor2020", {"team": both.filter(submission="x")})["team"].score == 0.1


def test_what_is_no_table_is_named() -> None:
    with pytest.raises(TypeError, match=r"the scores of 'x' are a str; isocenter\.scores\.read"):
        isocenter.rank("hecktor2020", {"x": ["a.parquet"]})
