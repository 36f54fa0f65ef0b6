"""A contest decides: which entries count, the board they make, how sure it is, and a receipt that replays."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import isocenter
from isocenter import scores
from isocenter.cli import app
from isocenter.contest import Contest, Entry, RuleFailed, make_entries, replay, score_alone
from isocenter.evaluation import Challenge
from isocenter.ranking import (
    P_BEST_IN_WORDS,
    P_FIRST_IN_WORDS,
    Disqualify,
    FixedValue,
    MeanThenRank,
    Note,
    Participation,
    RankThenMean,
    read_receipt,
)
from isocenter.scores import Row, frame

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
CASES = 12


def hecktor(**rules: Any) -> Challenge:
    return replace(isocenter.challenge("hecktor2020"), participation=Participation(**rules))


def table(values: Sequence[float | None]) -> pl.DataFrame:
    rows = [Row(f"p{at:02d}", "", "dice", value) for at, value in enumerate(values)]
    rows += [Row(f"p{at:02d}", "", "missing", 1.0) for at, value in enumerate(values) if value is None]
    return frame(rows)


def cohort(seed: int = 0, teams: int = 5) -> dict[str, pl.DataFrame]:
    rng = np.random.default_rng(seed)
    hard = rng.uniform(0.4, 0.7, CASES)
    return {
        f"team-{at}": table(np.clip(hard + 0.04 * at + rng.normal(0, 0.05, CASES), 0, 1).tolist())
        for at in range(teams)
    }


def constant(value: float) -> pl.DataFrame:
    return table([value] * 3)


def entry(value: float, *, team: str = "a", day: int | None = None, **options: Any) -> Entry:
    moment = None if day is None else START + timedelta(days=day)
    return Entry(team=team, table=constant(value), moment=moment, **options)


def shown_scores(challenge: Challenge, entries: Sequence[Entry]) -> dict[str, float | None]:
    board = Contest(challenge, entries).decide(resamples=0).board
    return {row.submission: row.score and round(row.score, 6) for row in board.rows}


# Which entry counts


@pytest.mark.parametrize(
    ("rules", "entries", "counts"),
    [
        ({"counts": "last"}, [entry(0.7), entry(0.6)], {"a": 0.6}),
        ({"counts": "best"}, [entry(0.7), entry(0.6)], {"a": 0.7}),
        ({"counts": "chosen"}, [entry(0.7), entry(0.6, chosen=True), entry(0.8)], {"a": 0.6}),
        ({"counts": "chosen"}, [entry(0.7)], {"a": 0.7}),
        ({"counts": "all"}, [entry(0.7), entry(0.6)], {"a #1": 0.7, "a #2": 0.6}),
        ({"counts": "all"}, [entry(0.7)], {"a": 0.7}),
        ({"counts": "all"}, [entry(0.7, void=True), entry(0.6)], {"a #2": 0.6}),
        ({"counts": "last", "quota": 2}, [entry(0.5), entry(0.6), entry(0.7)], {"a": 0.6}),
        ({"counts": "last", "quota": 2}, [entry(0.5), entry(0.6, void=True), entry(0.7)], {"a": 0.5}),
        ({"counts": "last"}, [entry(0.5, void=True)], {}),
        ({"counts": "last"}, [entry(0.7, day=3), entry(0.6, day=1)], {"a": 0.7}),
        (
            {"counts": "last", "quota": 1, "per": "week"},
            [entry(0.9, day=9), entry(0.5, day=0), entry(0.7, day=8)],
            {"a": 0.7},
        ),
        ({"counts": "best", "decimals": 1}, [entry(0.71), entry(0.69)], {"a": 0.7}),
        ({"ladder": 0.05}, [entry(0.7), entry(0.72), entry(0.8), entry(0.1)], {"a": 0.8}),
    ],
)
def test_of_the_entries_of_a_team_the_one_counts_that_the_rules_name(
    rules: dict[str, Any], entries: list[Entry], counts: dict[str, float]
) -> None:
    assert shown_scores(hecktor(**rules), entries) == counts


def test_of_equally_shown_scores_the_later_entry_counts() -> None:
    entries = [entry(0.71), entry(0.69)]
    counted = Contest(hecktor(counts="best", decimals=1), entries).count()
    assert counted.rows["a"] is entries[1]


def test_a_score_that_is_known_is_not_computed_again() -> None:
    def read(entries: Sequence[Entry]) -> list[pl.DataFrame]:
        assert [one.alone["dice"] for one in entries] in ([], [0.8])  # the loser's table is never read
        return [constant(0.8).select(pl.lit("a").alias("submission"), pl.all()) for _ in entries]

    entries = [Entry(team="a", alone={"dice": score}) for score in (0.8, 0.3)]
    counted = Contest(hecktor(counts="best"), entries, read=read).count()
    assert counted.rows == {"a": entries[0]}


def test_a_team_that_has_not_chosen_stops_the_board_or_waits() -> None:
    entries = [entry(0.5), entry(0.6), entry(0.4, team="b")]
    with pytest.raises(ValueError, match="a: of 2 submissions the one counts that the team chose, and none is named"):
        Contest(hecktor(counts="chosen"), entries).decide()
    waiting = Contest(hecktor(counts="chosen"), entries, unchosen="wait").decide(resamples=0)
    assert waiting.teams == ["b"]
    void_choice = [entry(0.5), entry(0.6, chosen=True, void=True), entry(0.4, team="b")]
    assert Contest(hecktor(counts="chosen"), void_choice, unchosen="wait").decide(resamples=0).teams == ["b"]
    with pytest.raises(ValueError, match="a chose submission 2, which is none of those that count"):
        Contest(hecktor(counts="chosen"), void_choice).decide()


@settings(max_examples=60, deadline=None)
@given(
    made=st.lists(
        st.tuples(st.integers(0, 30), st.sampled_from([0.3, 0.5, 0.7]), st.booleans()), min_size=1, max_size=8
    ),
    quota=st.none() | st.integers(1, 3),
    per=st.sampled_from(["phase", "week", "day"]),
    counts=st.sampled_from(["last", "best"]),
)
def test_counting_agrees_with_the_plainest_reading_of_the_rules(
    made: list[tuple[int, float, bool]], quota: int | None, per: Any, counts: Any
) -> None:
    entries = [entry(score, day=day, void=void) for day, score, void in made]
    in_time = sorted(range(len(made)), key=lambda at: (made[at][0], at))
    admitted: list[int] = []
    for at in in_time:
        span = {"phase": 10**6, "week": 7, "day": 1}[per]
        recent = [other for other in admitted if made[at][0] - made[other][0] < span]
        if quota is None or len(recent) < quota:
            admitted.append(at)
    valid = [at for at in admitted if not made[at][2]]
    best = max((made[at][1] for at in valid), default=None)
    expected = [at for at in valid if counts == "last" or made[at][1] == best][-1:]
    counted = Contest(hecktor(counts=counts, quota=quota, per=per), entries).count()
    assert list(counted.rows.values()) == [entries[at] for at in expected]


# The board


def test_the_simple_call_has_intervals_rank_sets_chances_and_groups() -> None:
    board = isocenter.rank("hecktor2020", cohort())
    for row in board:
        assert row.low <= row.score <= row.high
        assert row.rank_low <= row.rank <= row.rank_high
        assert 0 <= row.p_first <= 1
        assert row.group in ("A", "B", "C", "D", "E")
    assert sum(row.p_first for row in board) >= 1
    assert all(one.score >= other.score for one, other in pairwise(board.rows))
    assert sum("10,000 bootstrap resamples" in note for note in board.notes) == 1


def write(tables: dict[str, pl.DataFrame], folder: Path) -> list[str]:
    for team, rows in tables.items():
        scores.write(rows, folder / f"{team}.parquet", record={"challenge": "hecktor2020"})
    return [f"{team}={folder / team}.parquet" for team in tables]


def test_python_and_the_command_line_give_the_same_board(tmp_path: Path) -> None:
    arguments = write(cohort(), tmp_path)
    options = ["--organiser", "team-4", "--benchmark", "team-0"]
    result = CliRunner().invoke(app, ["rank", "hecktor2020", *arguments, *options, "--json"])
    assert result.exit_code == 0, result.output
    board = isocenter.rank("hecktor2020", cohort(), organisers=["team-4"], benchmarks=["team-0"])
    assert json.loads(result.stdout) == board.to_dict()
    assert result.stdout == board.to_json()


def test_a_fresh_interpreter_gives_the_same_board_as_this_one(tmp_path: Path) -> None:
    write(cohort(), tmp_path)
    code = (
        "import isocenter, pathlib, sys; from isocenter import scores;"
        "isocenter.challenge('hecktor2020');"
        "tables = {p.stem: scores.read(p) for p in sorted(pathlib.Path(sys.argv[1]).glob('*.parquet'))};"
        "print(isocenter.rank('hecktor2020', tables).to_json(), end='')"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == isocenter.rank("hecktor2020", cohort()).to_json()


def test_the_order_of_entries_of_other_teams_does_not_matter() -> None:
    tables = cohort()
    turned = dict(reversed(tables.items()))
    assert isocenter.rank("hecktor2020", tables) == isocenter.rank("hecktor2020", turned)


def test_unlisted_teams_are_in_no_row_and_no_note() -> None:
    tables = {"home": [constant(0.9)] * 6, "a": [constant(0.5)] * 6, "b": [constant(0.4)]}
    decision = Contest(hecktor(quota=5), make_entries(tables, organisers=["home"])).decide()
    assert [note.team for note in decision.board.notes] == ["a", "a", ""]
    assert "home" not in decision.board.to_json()
    assert "home" in decision.scores["submission"]
    assert "home" not in decision.listed().scores["submission"]
    assert set(decision.listed().counted.rows) == {"a", "b"}


def test_a_note_keeps_its_team_through_copies() -> None:
    import copy
    import pickle

    note = Note("a: more than enough", "a")
    assert note == "a: more than enough"
    assert [copy.deepcopy(note).team, pickle.loads(pickle.dumps(note)).team] == ["a", "a"]


def test_run_times_are_joined_to_the_team_they_are_of(tmp_path: Path) -> None:
    isocenter.challenge("doserad2026")  # which brings the metric run_time
    read: list[list[str]] = []

    def run_times(path: Path, teams: Sequence[str]) -> tuple[dict[str, pl.DataFrame], list[str]]:
        read.append(list(teams))
        return {"a": frame([Row("", "", "run_time", 2.0)])}, ["b was not metered"]

    contest = Contest(
        replace(hecktor(), run_times=run_times), [entry(0.5), entry(0.4, team="b")], tmp_path / "times.csv"
    )
    assert contest.remarks == ("b was not metered",)
    counted = contest.count()
    assert counted.scores.filter(pl.col("case") == "").select("submission", "value").rows() == [("a", 2.0)]
    contest.count()
    assert read == [["a", "b"]]
    with pytest.raises(ValueError, match="hecktor2020 does not rank by run time"):
        Contest(hecktor(), [entry(0.5)], tmp_path / "times.csv").decide()


def test_without_anybody_who_counts_the_board_is_empty() -> None:
    decision = Contest(hecktor(), [entry(0.5, void=True)]).decide()
    assert (len(decision.board), decision.uncertainty, decision.scores.height) == (0, None, 0)
    assert Contest("hecktor2020", []).decide().board.rows == ()


def test_a_board_that_there_is_not_is_named_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match="hecktor2020 has no board 'gold'; it has dice"):
        Contest("hecktor2020", [entry(0.5)]).decide("gold")


def test_a_submission_alone_has_a_score_or_a_reason_with_its_name() -> None:
    assert score_alone("hecktor2020", constant(0.5), "dice", team="team.zip")["team.zip"].score == 0.5
    undefined = frame([Row("p1", "", "dice", None)])
    with pytest.raises(ValueError, match=r"dice is undefined for 'team\.zip' in p1"):
        score_alone("hecktor2020", undefined, "dice", team="team.zip")


# The receipt


@pytest.mark.parametrize(
    "rules",
    [
        {"counts": "last", "quota": 2},
        {"counts": "best"},
        {"counts": "chosen"},
        {"counts": "all"},
        {"ladder": "parameter-free"},
        {"counts": "best", "decimals": 2},
        {"counts": "last", "organisers": "ranked"},
    ],
)
@pytest.mark.parametrize("tables", ["all", "needed"])
def test_every_receipt_replays_to_the_same_board(rules: dict[str, Any], tables: Any) -> None:
    challenge = hecktor(**rules)
    entries = [
        Entry(
            team=team,
            table=rows,
            moment=START + timedelta(days=day),
            role="organiser" if team == "team-1" else "team",
            chosen=day == 1,
            void=day == 2,
            file=f"{team}-{day}.parquet",
        )
        for day in range(3)
        for team, rows in cohort(seed=day, teams=4).items()
    ]
    decision = Contest(challenge, entries).decide(resamples=200)
    receipt = read_receipt(decision.make_receipt(tables).to_json())
    by_hash: dict[str, Any] = {
        record.sha256: one.table for record, one in zip(decision.receipt.tables, entries, strict=True)
    }
    again = replay(receipt, isocenter.challenge("hecktor2020"), by_hash)
    assert again.board.rows == decision.board.rows
    if tables == "all":
        assert again.board == decision.board
        assert again.receipt == decision.receipt


def test_a_receipt_needs_only_what_the_counting_rule_needs() -> None:
    entries = [entry(0.5), entry(0.7), entry(0.6, team="b")]
    for rules, needed in (
        ({"counts": "best"}, [entries[1], entries[2]]),
        ({"counts": "last"}, [entries[1], entries[2]]),
        ({"counts": "all"}, entries),
        ({"ladder": 0.01}, entries),
    ):
        assert list(Contest(hecktor(**rules), entries).count().needed) == needed


def test_a_relative_score_does_not_tell_the_best_of_a_team_s_own() -> None:
    relative = replace(
        hecktor(counts="best"), boards={"own": RankThenMean(metrics="dice", missing=FixedValue(0.0), ties="min")}
    )
    with pytest.raises(ValueError, match="depends on the other teams"):
        Contest(relative, [entry(0.5), entry(0.6), entry(0.4, team="b")]).decide()


def test_means_beside_a_board_count_missing_cases_as_its_rule_does() -> None:
    ruled = replace(hecktor(), boards={"dice": MeanThenRank("dice", missing=FixedValue(0.0))})
    tables = {"x": table([0.8, 0.6, 0.7, None]), "y": table([0.5] * 4)}
    assert Contest(ruled, make_entries(tables)).decide(resamples=0).means() == {"dice": {"x": "0.5(2)", "y": "0.5(0)"}}


def test_files_do_for_tables(tmp_path: Path) -> None:
    write(cohort(), tmp_path)
    files = {team: tmp_path / f"{team}.parquet" for team in cohort()}
    assert isocenter.rank("hecktor2020", files) == isocenter.rank("hecktor2020", cohort())


def test_nonsense_is_named_before_anything_is_decided() -> None:
    role: Any = "organizer"
    with pytest.raises(ValueError, match="a takes part as one of team, organiser, benchmark, not as 'organizer'"):
        entry(0.5, role=role)
    with pytest.raises(ValueError, match="an entry has the name of its team"):
        entry(0.5, team="")
    for options in ({"level": 1.0}, {"resamples": -1}, {"seed": -1}):
        with pytest.raises(ValueError, match="a bootstrap has 0 resamples or more, a level within 0 and 1"):
            Contest(hecktor(), [entry(0.5)]).decide(**options)


def test_a_decision_prints_the_board_its_rule_and_its_notes() -> None:
    decision = Contest(hecktor(), make_entries(cohort())).decide(resamples=100)
    assert str(decision).startswith(str(decision.board))
    assert f"Rule: {decision.rule}." in str(decision)
    assert "100 bootstrap resamples of the cases, seed 0." in str(decision)
    assert str(decision).endswith(f"{P_FIRST_IN_WORDS}\n{P_BEST_IN_WORDS}")
    assert repr(decision) == "<Decision on the board dice of hecktor2020: 5 rows>"
    assert repr(decision.contest) == "<Contest hecktor2020: 5 entries of 5 teams>"


# Rules of other packages


class Raises(MeanThenRank):
    def rank(self, scores: pl.DataFrame, **options: Any) -> Any:
        raise KeyError("gone")


class Leaves(MeanThenRank):
    def rank(self, scores: pl.DataFrame, **options: Any) -> Any:
        sys.exit(4)


class ReturnsNothing(MeanThenRank):
    def rank(self, scores: pl.DataFrame, **options: Any) -> Any:
        return None


class RanksStrangers(MeanThenRank):
    def rank(self, scores: pl.DataFrame, **options: Any) -> Any:
        return super().rank(scores.with_columns(submission=pl.col("submission") + "!"))


class IsInterrupted(MeanThenRank):
    def rank(self, scores: pl.DataFrame, **options: Any) -> Any:
        raise KeyboardInterrupt


class FailsToDraw(MeanThenRank):
    def draw(self, *scores: Any, **options: Any) -> Any:
        raise TypeError("a secret")


class HasNoWords(MeanThenRank):
    def words(self, name: Any) -> str:
        raise TypeError("no words")


def ranked_by(rule: type[MeanThenRank], **rules: Any) -> Challenge:
    return replace(hecktor(**rules), boards={"dice": rule("dice", FixedValue(0.0))})


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (Raises, r"the rule \w+ failed: KeyError: 'gone' \(test_contest.py, line \d+\)"),
        (Leaves, r"the rule \w+ failed: SystemExit: 4 \(test_contest.py, line \d+\)"),
        (ReturnsNothing, "it returned a NoneType, not a board"),
        (RanksStrangers, "rows that are not those of the score table"),
    ],
)
@pytest.mark.parametrize("counts", ["last", "best"])
def test_a_rule_that_fails_is_a_sentence_and_keeps_its_traceback(
    rule: type[MeanThenRank], sentence: str, counts: str
) -> None:
    with pytest.raises(RuleFailed, match=sentence) as caught:
        Contest(ranked_by(rule, counts=counts), [entry(0.7), entry(0.6)]).decide()
    assert ("Traceback" in caught.value.traceback) == (rule in (Raises, Leaves))
    with pytest.raises(RuleFailed, match=sentence):
        score_alone(ranked_by(rule), constant(0.7), "dice", team="a")


def test_an_interruption_of_a_rule_is_one_of_the_program() -> None:
    with pytest.raises(KeyboardInterrupt):
        Contest(ranked_by(IsInterrupted), [entry(0.7)]).decide()


def test_a_rule_that_cannot_score_resamples_has_a_board_with_a_note() -> None:
    board = Contest(ranked_by(FailsToDraw), [entry(0.7)]).decide(resamples=10).board
    (note,) = [note for note in board.notes if note.startswith("How sure the ranks are is not known: the rule")]
    assert "TypeError (test_contest.py, line" in note
    assert "secret" not in note
    assert board["a"].rank == 1


def test_an_error_of_the_caller_s_own_progress_is_not_one_of_the_rule() -> None:
    def stop(done: int, total: int) -> None:
        raise RuntimeError("the lease is lost")

    with pytest.raises(RuntimeError, match="the lease is lost"):
        Contest(hecktor(), make_entries(cohort())).decide(resamples=10, progress=stop)


def test_a_rule_without_words_has_its_name() -> None:
    assert Contest(ranked_by(HasNoWords), []).decide().board.rule == "by the rule mean"


# What a contest refuses, and what it keeps to itself


def test_a_reader_that_gives_too_few_tables_is_named() -> None:
    with pytest.raises(ValueError, match="of 2 entries, 1 tables were read"):
        Contest(hecktor(), [entry(0.7), entry(0.6, team="b")], read=lambda entries: [constant(0.7)]).decide()


def test_tables_by_team_do_for_entries() -> None:
    by_team = Contest(hecktor(), cohort()).decide(resamples=0).board
    assert by_team == Contest(hecktor(), make_entries(cohort())).decide(resamples=0).board


def test_a_contest_of_something_else_than_entries_is_refused() -> None:
    with pytest.raises(TypeError, match="a contest is made of entries"):
        Contest(hecktor(), [constant(0.7)])  # type: ignore[list-item]
    with pytest.raises(TypeError, match=r"not of 'team'"):
        isocenter.rank(hecktor(), ["team"])  # type: ignore[list-item]


def test_an_entry_that_is_listed_twice_is_refused() -> None:
    one = entry(0.7)
    with pytest.raises(ValueError, match="an entry is listed twice: one of 'a'"):
        Contest(hecktor(counts="all"), [one, entry(0.6), one])


@pytest.mark.parametrize("counts", ["last", "best", "all"])
def test_a_table_without_rows_is_refused_with_its_team(counts: str) -> None:
    empty = Entry(team="b", table=constant(0.5).clear())
    with pytest.raises(ValueError, match="the score table of 'b' has no rows"):
        Contest(hecktor(counts=counts), [entry(0.7), entry(0.6, team="b"), empty]).decide()


def test_an_entry_without_a_moment_does_not_lift_a_quota_by_the_week() -> None:
    rules = hecktor(counts="last", quota=1, per="week")
    with pytest.raises(ValueError, match="some submissions of a have a time and some have none"):
        Contest(rules, [entry(0.5, day=0), entry(0.6)]).decide()
    assert shown_scores(rules, [entry(0.5), entry(0.6)]) == {"a": 0.6}


def test_the_note_of_the_quota_names_no_team_without_a_listed_row() -> None:
    rules = replace(hecktor(counts="all", quota=2), boards={"dice": MeanThenRank("dice", Disqualify())})
    incomplete = [Entry(team="b", table=table([0.5, None, 0.5])) for _ in range(3)]
    board = Contest(rules, [*(entry(0.7) for _ in range(3)), *incomplete]).decide(resamples=0).board
    assert [row.submission for row in board.rows] == ["a #1", "a #2"]
    assert [note.team for note in board.notes if "quota" in note] == ["a"]
    assert "b:" not in board.to_json()
    partly = [*incomplete[:1], *(entry(0.6, team="b") for _ in range(2))]
    board = Contest(rules, [entry(0.7), *partly]).decide(resamples=0).board
    assert [note.team for note in board.notes if "quota" in note] == ["b"]


@pytest.mark.parametrize("counts", ["last", "all"])
def test_a_listed_decision_holds_nothing_of_those_whom_the_board_does_not_list(counts: str) -> None:
    rules = replace(
        hecktor(counts=counts, quota=2, organisers="unlisted"), boards={"dice": MeanThenRank("dice", Disqualify())}
    )
    several = [
        Entry(team=team, table=values, role="organiser" if team == "team-1" else "team")
        for _ in range(3)
        for team, values in cohort().items()
    ]
    out = [Entry(team="out", table=table([0.5] * (CASES - 1) + [None])) for _ in range(3)]
    whole = Contest(rules, [*several, *out]).decide(resamples=50)
    assert whole.uncertainty is not None
    listed = whole.listed()
    assert listed.uncertainty is not None
    names = {"team-0", "team-2", "team-3", "team-4"}
    assert listed.board.rows == whole.board.rows
    assert listed.board.unlisted == ()
    assert {one.team for one in (*listed.counted.rows.values(), *listed.counted.needed)} == names
    assert {note.team for note in listed.counted.notes} == names
    assert set(listed.uncertainty.drawn.submissions) == set(listed.teams) == set(listed.scores["submission"])
    assert listed.uncertainty.to_dict() == whole.uncertainty.to_dict()
    assert whole.receipt.tables
    for ask in (lambda: listed.receipt, lambda: listed.make_receipt("needed")):
        with pytest.raises(ValueError, match="a listed decision has no receipt"):
            ask()
