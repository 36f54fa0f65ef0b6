"""The rules page says what the rule objects do, for every challenge, and nothing of phases that are not announced."""

from __future__ import annotations

import dataclasses
import importlib
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import get_args

import pytest

from isocenter import editions
from isocenter.editions import Edition, Phase
from isocenter.evaluation import load_challenge
from isocenter.ranking import RULE_KINDS, FixedValue, pseudo_code, rule_of
from isocenter.ranking.rules import _base
from isocenter.server.boards.board_titles import rule_in_words, titles_of
from isocenter.server.telling import wording
from isocenter.server.telling.examples import example_of
from isocenter.server.telling.known import limited
from isocenter.server.telling.wording import Fold, Grid, rules_of

CHALLENGES = ("doserad2026", "hecktor2020", "lung2019", "openkbp2020", "picai2022")


def rules(name: str) -> tuple[Edition, list[wording.Section]]:
    code = load_challenge(name)
    edition = editions.new(code)
    return edition, rules_of(edition, editions.apply(edition, code))


def every(blocks: tuple[wording.Block, ...]) -> Iterator[wording.Block]:
    for block in blocks:
        yield block
        if isinstance(block, Fold):
            yield from every(block.blocks)


def told(sections: list[wording.Section]) -> str:
    return "\n".join(str(block) for section in sections for block in every(section.blocks))


@pytest.fixture
def phase() -> Phase:
    opens = datetime(2026, 3, 1, tzinfo=UTC)
    return Phase(
        name="test", title="Test", opens=opens, closes=opens + timedelta(30), results=opens + timedelta(40), quota=2
    )


@pytest.mark.parametrize("name", CHALLENGES)
def test_every_challenge_has_its_rules_in_words(name: str) -> None:
    edition, sections = rules(name)
    code = editions.apply(edition, load_challenge(name))
    said = told(sections)
    assert [section.title for section in sections][1 : 1 + len(edition.phases)] == [p.title for p in edition.phases]
    for board, rule in code.boards.items():
        assert f"Board {titles_of(code)[board]} ({board}" in said
        assert wording.sentence(str(rule)) in said
        lines = [block.text for s in sections for block in every(s.blocks) if isinstance(block, wording.Lines)]
        assert pseudo_code(rule) in lines
    for metric in code.metrics:
        assert metric in said
    for question in (*edition.registration, *edition.survey, *edition.declarations):
        assert question.label in said


@pytest.mark.parametrize("name", CHALLENGES)
def test_the_example_is_a_board_that_the_rule_makes(name: str) -> None:
    code = load_challenge(name)
    for rule in code.boards.values():
        grid, missing, *_ = example_of(rule)
        assert isinstance(grid, Grid)
        ranks = {row[0]: row[-1] for row in grid.rows}
        assert ranks["A"] == "1"
        assert ranks["B"] == "2"
        assert f"such a case {rule.missing}" in missing.text
        assert ranks["C"] == ("on no board" if "disqualifies" in missing.text else "3")


def test_a_missing_dice_counts_as_zero_in_the_example() -> None:
    grid, _ = example_of(load_challenge("hecktor2020").boards["dice"])
    assert grid.rows[2] == ("C", "0.9400", "0.8800", "–", "0.6067", "3")
    assert float(grid.rows[2][4]) == pytest.approx((0.94 + 0.88 + 0) / 3, abs=1e-4)


@pytest.mark.parametrize("kind", RULE_KINDS)
def test_every_kind_of_rule_has_an_example(kind: str) -> None:
    several = {"metrics": ["dice", "jaccard"], "missing": "worst"}
    one = {"metric": "dice", "missing": "worst"}
    settings = {
        "cohort-statistic": {"statistic": "balanced_accuracy", "missing": "disqualify"},
        "detection": {"metric": "auroc", "missing": "leave-out"},
        "mean-rank": several | {"ties": "min"},
        **dict.fromkeys(("weighted-ranks", "normalised-sum"), several),
    }
    grid, *_ = example_of(rule_of({"rule": kind, **settings.get(kind, one)}))
    assert [row[0] for row in grid.rows] == ["A", "B", "C"]
    assert all(len(row) == len(grid.head) for row in grid.rows)


def test_a_rule_of_another_package_is_told_like_any_other(monkeypatch: pytest.MonkeyPatch) -> None:
    # The dictionary is put back afterwards, so that other tests do not know the rule.
    monkeypatch.setattr(_base, "_REGISTERED", dict(_base._REGISTERED))
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "examples" / "geometric_mean"))
    monkeypatch.delitem(sys.modules, "geometric_mean", raising=False)
    rule = importlib.import_module("geometric_mean").GeometricMeanThenRank("dice", FixedValue(0.0))
    code = dataclasses.replace(load_challenge("hecktor2020"), boards={"own": rule})
    sections = rules_of(editions.new(code), code)
    assert wording.sentence(str(rule)) in told(sections)
    lines = [block.text for s in sections for block in every(s.blocks) if isinstance(block, wording.Lines)]
    assert pseudo_code(rule) in lines
    grid, *_ = example_of(rule)
    assert [row[0] for row in grid.rows] == ["A", "B", "C"]
    assert rule_in_words(rule).startswith("geometric mean of Dice over all cases, higher is better")


def test_a_rule_that_wants_other_numbers_has_no_example() -> None:
    @dataclasses.dataclass(frozen=True)
    class Odd:
        metric: str = "dice"
        reads: tuple[str, ...] = ("dice",)

        def rank(self, *_: object, **__: object) -> None:
            msg = "only on Sundays"
            raise ValueError(msg)

    assert list(example_of(Odd())) == []


@pytest.mark.parametrize(
    ("refund", "costs"),
    [
        ("none", {"failed", "cancelled"}),
        ("infrastructure", {"failed"}),
        ("failed", set()),
    ],
)
def test_what_costs_no_attempt_is_what_the_quota_gives_back(phase: Phase, refund: str, costs: set[str]) -> None:
    said = wording.free_words(phase.model_copy(update={"refund": refund}))
    words = {
        "failed": "fails while it is scored",
        "cancelled": "the team cancels",
        "infrastructure": "failure of our machines",
        "refused": "refused before it is scored",
    }
    assert {outcome for outcome, text in words.items() if text not in said} == costs


def test_every_setting_of_a_phase_has_words(phase: Phase) -> None:
    def values(field: str) -> tuple[str, ...]:
        return get_args(Phase.model_fields[field].annotation)

    for per in values("quota_per"):
        assert "2 submissions per team" in wording.quota_words(phase.model_copy(update={"quota_per": per}))
    assert wording.quota_words(phase.model_copy(update={"quota": None})) == "any number of submissions"
    edition = editions.new(load_challenge("hecktor2020")).model_copy(update={"phases": (phase,)})
    code = editions.apply(edition, load_challenge("hecktor2020"))
    for field in ("counts", "visibility", "refund", "admission"):
        for value in values(field):
            changed = edition.model_copy(update={"phases": (phase.model_copy(update={field: value}),)})
            assert rules_of(changed, code)
    for organisers in get_args(editions.Policies.model_fields["organisers"].annotation):
        policies = edition.policies.model_copy(update={"organisers": organisers})
        assert rules_of(edition.model_copy(update={"policies": policies}), code)


@pytest.mark.parametrize(
    ("visibility", "board", "own"),
    [
        ("public", "everybody", "the team itself"),
        ("own", "nobody but the organisers", "the team itself"),
        ("hidden", "nobody but the organisers", "nobody but the organisers"),
    ],
)
def test_who_sees_what_is_what_sight_says(phase: Phase, visibility: str, board: str, own: str) -> None:
    edition = editions.new(load_challenge("hecktor2020"))
    edition = edition.model_copy(update={"phases": (phase.model_copy(update={"visibility": visibility}),)})
    sections = rules_of(edition, editions.apply(edition, load_challenge("hecktor2020")))
    [grid] = [block for block in sections[1].blocks if isinstance(block, Grid)]
    assert grid.rows[0] == ("The board with all teams", board, "everybody")
    assert grid.rows[1] == ("The score of one's own team", own, "the team itself")
    cases = {"hidden": "nobody but the organisers"}.get(visibility, "the team itself")
    assert grid.rows[2][2] == cases


def test_who_takes_part_is_told_as_a_team_is_told() -> None:
    edition = editions.new(load_challenge("picai2022"))
    assert wording.admission_words(edition, edition.phases[0]) == "Every team."
    assert wording.admission_words(edition, edition.phases[2]) == (
        'Only the five best of "Open development: testing" are invited. Whom the organisers name takes part too.'
    )
    alone = limited(edition, ["closed-testing"])
    assert wording.admission_words(alone, alone.phases[0]) == "Only teams that the organisers invite take part."


def test_the_page_has_all_sections_and_moments_both_ways(world) -> None:
    client = world.client("alice")
    client.cookies["zone"] = "Europe/Zurich"
    page = client.get("/c/neck/rules/").content.decode()
    text = re.sub(r"<[^>]+>", "", page)
    assert "1 May 2026, 02:00 CEST (00:00 UTC)" in text
    assert "3 submissions per team in any seven days in a row." in text
    assert "Mean dice over all cases" in text
    assert "such a case counts as 0" in text
    assert "Be fair." in text
    assert "<script" not in page.replace('<script src="', "")


def test_prizes_of_a_phase_that_nobody_knows_are_not_told(world) -> None:
    assert "500 EUR" not in world.client("alice").get("/c/neck/rules/").content.decode()
    assert "500 EUR" in world.client("organiser").get("/c/neck/rules/").content.decode()
    world.at.move(days=70)
    assert "500 EUR" in world.client("alice").get("/c/neck/rules/").content.decode()
