"""A new edition says what the challenge says; an edited one changes the challenge."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import isocenter
from isocenter.challenges.hecktor2020 import challenge as hecktor2020
from isocenter.editions import Edition, EditionError, Policies, apply, in_force, new, parse, render
from isocenter.evaluation import Challenge, Score
from isocenter.metrics import catalogue
from isocenter.ranking import Board, Disqualify, FixedValue, MeanThenRank, Participation, WorstPossible
from isocenter.submissions import MaskFile


def measure(reference: Any, output: Mapping[str, Any]) -> Iterator[Score]:
    yield Score("dice", 1.0)


PLAIN = Challenge(
    name="plain",
    title="A plain challenge",
    reference={"mask": MaskFile()},
    output={"mask": MaskFile()},
    metrics=("dice",),
    measure=measure,
    boards={"dice": MeanThenRank("dice", missing=FixedValue(0.0), ties="average")},
    participation=Participation(quota=3, counts="best", organisers="unranked"),
)
NOON = datetime(2026, 3, 31, 12, tzinfo=UTC)
PHASE = {
    "name": "final",
    "title": "Final",
    "opens": "2026-05-01T00:00:00+02:00",
    "closes": datetime(2026, 6, 1, tzinfo=UTC),
    "results": "2026-07-01T00:00:00Z",
}


@dataclass(frozen=True)
class OwnRule:
    """A rule of another package, which knows neither missing cases nor ties."""

    metric: str = "dice"
    reads: tuple[str, ...] = ("dice",)

    def check(self) -> None:
        pass

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Any = None) -> Board:
        return Board(name=name, metric=self.metric, rule="own", rows=())


def edited(challenge: Challenge, **policies: Any) -> Edition:
    edition = new(challenge, now=NOON)
    return edition.model_copy(update={"policies": edition.policies.model_copy(update=policies)})


def test_a_new_edition_takes_its_rules_from_the_challenge() -> None:
    edition = new(PLAIN, now=NOON)
    assert (edition.challenge, edition.title) == ("plain", "A plain challenge")
    assert edition.policies == Policies(missing=0, ties="average", organisers="unranked")
    assert [(phase.quota, phase.counts) for phase in edition.phases] == [(3, "best")]


def test_a_challenge_without_phases_gets_one_from_tomorrow_for_thirty_days() -> None:
    (phase,) = new(PLAIN, now=NOON).phases
    assert phase.name == "test"
    assert phase.opens == datetime(2026, 4, 1, tzinfo=UTC)
    assert phase.closes - phase.opens == timedelta(days=30)
    assert phase.results == phase.closes


def test_tomorrow_is_that_of_utc_and_of_the_real_clock_unless_given() -> None:
    late = datetime.fromisoformat("2026-03-31T23:00:00-05:00")
    assert new(PLAIN, now=late).phases[0].opens == datetime(2026, 4, 2, tzinfo=UTC)
    before = datetime.now(UTC)
    assert timedelta() < new(PLAIN).phases[0].opens - before <= timedelta(days=1)
    with pytest.raises(ValueError, match="no time zone"):
        new(PLAIN, now=datetime(2026, 3, 31))


def test_what_the_challenge_says_of_its_edition_wins() -> None:
    challenge = replace(
        PLAIN,
        edition={
            "title": "Plain 2026",
            "organisers": ["University Hospital"],
            "phases": [PHASE, {**PHASE, "name": "open", "quota": 9, "counts": "last"}],
            "policies": {"missing": "disqualify", "announce": 3},
            "prizes": [{"place": 1, "amount": "499.50", "currency": "EUR"}],
        },
    )
    edition = new(challenge, now=NOON)
    assert edition.title == "Plain 2026"
    assert edition.organisers == ("University Hospital",)
    assert [(phase.name, phase.quota, phase.counts) for phase in edition.phases] == [
        ("final", 3, "best"),
        ("open", 9, "last"),
    ]
    assert edition.policies == Policies(missing="disqualify", ties="average", organisers="unranked", announce=3)
    assert str(edition.prizes[0].amount) == "499.50"


@pytest.mark.parametrize(
    ("policy", "written"), [(FixedValue(0.5), 0.5), (WorstPossible(), "worst"), (Disqualify(), "disqualify")]
)
def test_each_missing_policy_has_its_word(policy: Any, written: object) -> None:
    challenge = replace(PLAIN, boards={"dice": MeanThenRank("dice", missing=policy)})
    assert new(challenge, now=NOON).policies.missing == written
    silent = replace(PLAIN, boards={"dice": MeanThenRank("dice", missing=FixedValue(0.25))})
    (rule,) = apply(edited(silent, missing=written), silent).boards.values()
    assert isinstance(rule, MeanThenRank)
    assert rule.missing == policy


def test_boards_that_differ_keep_their_own_rules() -> None:
    boards = {
        "main": MeanThenRank("dice", missing=FixedValue(0.0), ties="min"),
        "strict": MeanThenRank("dice", missing=Disqualify(), ties="min"),
    }
    challenge = replace(PLAIN, boards=boards)
    edition = new(challenge, now=NOON)
    assert (edition.policies.missing, edition.policies.ties) == (None, "min")
    assert apply(edition, challenge).boards == boards


@pytest.mark.parametrize("challenge", [PLAIN, hecktor2020, replace(PLAIN, boards={"own": OwnRule()})])
def test_an_edition_that_nobody_edited_changes_nothing(challenge: Challenge) -> None:
    edition = parse(render(new(challenge, now=NOON)))
    assert apply(edition, challenge) == challenge


def test_policies_reach_every_board() -> None:
    boards = {name: MeanThenRank("dice", missing=FixedValue(0.0)) for name in ("one", "two")}
    challenge = replace(PLAIN, boards={**boards, "own": OwnRule()})
    applied = apply(edited(challenge, missing="disqualify", ties="dense", organisers="unlisted"), challenge)
    changed = MeanThenRank("dice", missing=Disqualify(), ties="dense")
    assert applied.boards == {"one": changed, "two": changed, "own": OwnRule()}
    assert applied.participation.organisers == "unlisted"
    assert challenge.boards["one"] == boards["one"], "the challenge itself stays as it was"


def test_quota_and_counting_are_those_of_the_phase_that_closes_last() -> None:
    later = {**PHASE, "name": "later", "closes": "2026-06-02T00:00:00Z", "quota": 1, "counts": "last"}
    earlier = {**PHASE, "quota": 9, "counts": "best"}
    for phases in ([earlier, later], [later, earlier]):
        challenge = replace(PLAIN, edition={"phases": phases})
        taking_part = apply(new(challenge, now=NOON), challenge).participation
        assert (taking_part.quota, taking_part.counts) == (1, "last")
    tied = replace(PLAIN, edition={"phases": [earlier, {**earlier, "name": "other", "quota": 2}]})
    assert apply(new(tied, now=NOON), tied).participation.quota == 2


def test_no_quota_in_the_edition_is_no_limit() -> None:
    edition = new(PLAIN, now=NOON)
    unlimited = edition.model_copy(update={"phases": (edition.phases[0].model_copy(update={"quota": None}),)})
    assert apply(unlimited, PLAIN).participation.quota is None


@pytest.mark.parametrize("per", ["calendar-week", "calendar-day"])
def test_a_quota_by_the_calendar_is_kept_where_submissions_are_taken(per: str) -> None:
    """The ranking has no calendar: it would count the wrong days, so it counts none."""
    challenge = replace(PLAIN, edition={"phases": [{**PHASE, "quota": 1, "quota_per": per}]})
    taking_part = apply(new(challenge, now=NOON), challenge).participation
    assert (taking_part.quota, taking_part.per) == (None, "phase")


def test_an_edition_of_another_challenge_is_refused() -> None:
    with pytest.raises(EditionError, match='challenge: "plain" is not the challenge "hecktor2020"'):
        apply(new(PLAIN, now=NOON), hecktor2020)


def test_a_missing_case_cannot_count_as_an_impossible_value() -> None:
    with pytest.raises(EditionError, match=r'policies\.missing: board "dice": a missing dice cannot count as 2'):
        apply(edited(PLAIN, missing=2.0), PLAIN)


def test_the_worst_of_a_metric_without_bound_does_not_exist() -> None:
    unbounded = "edition_test_distance"
    catalogue.register(catalogue.Metric(unbounded, "mm", "lower", (0.0, math.inf), 1, "a distance, for this test"))
    boards = {"main": MeanThenRank(unbounded, missing=FixedValue(1.0))}
    challenge = replace(PLAIN, metrics=(unbounded,), boards=boards)
    with pytest.raises(EditionError, match=f"{unbounded} has no worst value"):
        apply(edited(challenge, missing="worst"), challenge)


def test_a_policy_that_no_board_has_is_refused_rather_than_ignored() -> None:
    challenge = replace(PLAIN, boards={"own": OwnRule()})
    with pytest.raises(EditionError) as caught:
        apply(edited(challenge, missing=0.0, ties="min"), challenge)
    assert [problem.where for problem in caught.value.problems] == ["policies.missing", "policies.ties"]


def test_a_mistake_in_the_challenge_itself_is_told_like_one_in_a_file() -> None:
    challenge = replace(PLAIN, edition={"phases": [{**PHASE, "counts": "lst"}], "prices": []})
    with pytest.raises(EditionError) as caught:
        new(challenge, now=NOON)
    assert str(caught.value).split("\n") == [
        'edition of plain: phases[1].counts: "lst" is not allowed; write "last", "best", "chosen" or "all" '
        '(did you mean "last"?)',
        'edition of plain: prices: "prices" is not known; did you mean "prizes"?',
    ]
    with pytest.raises(EditionError, match=r"phases: .* is not allowed"):
        new(replace(PLAIN, edition={"phases": "soon"}), now=NOON)


def test_reading_an_edition_loads_no_heavy_library() -> None:
    code = "import sys, isocenter.editions; print({'numpy', 'polars', 'SimpleITK'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def written(folder: Path, **changes: str) -> Path:
    """The edition of HECKTOR 2020 as `init` writes it, with settings changed."""
    text = render(new(isocenter.challenge("hecktor2020")))
    for name, value in changes.items():
        text = re.sub(rf"(?m)^{name} = .*$", f"{name} = {value}", text, count=1)
    (folder / "challenge.toml").write_text(text, encoding="utf-8")
    return folder


def line_of(folder: Path, name: str) -> int:
    lines = (folder / "challenge.toml").read_text(encoding="utf-8").splitlines()
    return next(i for i, line in enumerate(lines, start=1) if line.startswith(f"{name} = "))


def test_an_edition_is_read_together_with_its_challenge(tmp_path: Path) -> None:
    edition, challenge = in_force(written(tmp_path, missing="0.25"), find=isocenter.challenge)
    assert edition.policies.missing == 0.25
    assert challenge.boards["dice"].missing == FixedValue(0.25)


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("missing", "2", "cannot count as 2"),
        ("challenge", '"hektor2020"', "did you mean hecktor2020?"),
    ],
)
def test_what_only_the_challenge_can_tell_has_its_line_too(
    tmp_path: Path, setting: str, value: str, words: str
) -> None:
    folder = written(tmp_path, **{setting: value})
    with pytest.raises(EditionError, match=re.escape(words)) as error:
        in_force(folder, find=isocenter.challenge)
    (problem,) = error.value.problems
    assert problem.line == line_of(folder, setting)
    assert f"challenge.toml:{problem.line}: " in str(error.value)


@pytest.mark.parametrize(("written", "step"), [("0.01", 0.01), ('"parameter-free"', "parameter-free"), ("1", 1.0)])
def test_a_phase_may_have_a_ladder_and_few_decimals(written: str, step: object) -> None:
    text = render(new(isocenter.challenge("hecktor2020")))
    text = text.replace('# ladder = "parameter-free"', f"ladder = {written}").replace("# decimals = 3", "decimals = 3")
    rules = apply(parse(text), isocenter.challenge("hecktor2020")).participation
    assert (rules.ladder, rules.decimals) == (step, 3)


@pytest.mark.parametrize("written", ["0", "-0.1", '"steep"', "true", "inf"])
def test_what_is_no_ladder_says_what_is(written: str) -> None:
    text = render(new(isocenter.challenge("hecktor2020")))
    with pytest.raises(EditionError, match='is not allowed; write a number or "parameter-free"'):
        parse(text.replace('# ladder = "parameter-free"', f"ladder = {written}"))
