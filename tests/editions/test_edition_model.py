"""What an edition may hold, and when its phases are open."""

from __future__ import annotations

import math
import re
from dataclasses import fields
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any, get_args
from zoneinfo import ZoneInfo

import pytest
from pydantic import BaseModel, ValidationError

from isocenter import submissions
from isocenter.editions import (
    Assessment,
    BoardRule,
    Bonus,
    Datasets,
    Edition,
    Mission,
    Organisation,
    Payout,
    Phase,
    Policies,
    Prize,
    Summary,
)
from isocenter.ranking import (
    RULE_KINDS,
    DescriptionError,
    DetectThenRank,
    MeanThenRank,
    Participation,
    QuantileThenRank,
    TestThenRank,
    Ties,
    TrimmedMeanThenRank,
    missing_of,
)
from isocenter.schema import Penalised
from isocenter.schema.tables import allowed_in, table_in

SUMMER = timezone(timedelta(hours=2))
LimitRule: Any = table_in(BoardRule.model_fields["limits"])
WeightedMetric: Any = table_in(BoardRule.model_fields["metrics"])


def a_phase(**changes: Any) -> dict[str, Any]:
    return {
        "name": "test",
        "title": "Test phase",
        "opens": datetime(2020, 8, 10, tzinfo=SUMMER),
        "closes": datetime(2020, 9, 10, tzinfo=SUMMER),
        "results": datetime(2020, 10, 4, tzinfo=SUMMER),
        **changes,
    }


def an_edition(**changes: Any) -> Edition:
    return Edition.model_validate({"challenge": "hecktor2020", "title": "HECKTOR", "phases": [a_phase()], **changes})


def is_refused(model: type[BaseModel], values: dict[str, Any], *at: str | int) -> bool:
    try:
        model.model_validate(values)
    except ValidationError as error:
        return at in [details["loc"] for details in error.errors()]
    return False


def test_a_phase_is_open_from_its_opening_until_just_before_its_closing() -> None:
    edition = an_edition()
    tick = timedelta(microseconds=1)
    (phase,) = edition.phases
    assert edition.phase_at(phase.opens - tick) == []
    assert edition.phase_at(phase.opens) == [phase]
    assert edition.phase_at(phase.closes - tick) == [phase]
    assert edition.phase_at(phase.closes) == []


def test_overlapping_phases_are_open_together_in_the_order_of_the_file() -> None:
    edition = an_edition(phases=[a_phase(name="lesions"), a_phase(name="patients")])
    assert [phase.name for phase in edition.phase_at(datetime(2020, 9, 1, tzinfo=UTC))] == ["lesions", "patients"]


def test_the_same_moment_opens_a_phase_in_every_zone() -> None:
    edition = an_edition()
    assert edition.phase_at(datetime(2020, 8, 9, 22, tzinfo=UTC)) != []
    assert edition.phase_at(datetime(2020, 8, 10, 7, tzinfo=ZoneInfo("Asia/Tokyo"))) != []
    assert edition.phase_at(datetime(2020, 8, 9, 23, tzinfo=ZoneInfo("Europe/Zurich"))) == []


def test_a_moment_without_zone_opens_nothing() -> None:
    with pytest.raises(ValueError, match="no time zone"):
        an_edition().phase_at(datetime(2020, 9, 1))


@pytest.mark.parametrize("field", ["opens", "closes", "results"])
@pytest.mark.parametrize(
    "value",
    [
        datetime(2020, 9, 10, 23, 59),
        datetime(2020, 9, 10).date(),
        "2020-09-10T23:59:59",
        "soon",
        2020,
        1599775199.0,
        None,
        datetime(202, 9, 10, tzinfo=UTC),
        datetime(9999, 12, 31, tzinfo=timezone(-timedelta(hours=12))),
    ],
)
def test_a_date_is_a_moment_that_is_the_same_for_every_team(field: str, value: object) -> None:
    assert is_refused(Phase, a_phase(**{field: value}), field)


def test_a_named_zone_is_kept_as_its_offset_of_that_day() -> None:
    zurich = ZoneInfo("Europe/Zurich")
    phase = Phase.model_validate(a_phase(closes=datetime(2020, 9, 10, 23, 59, tzinfo=zurich)))
    assert phase.closes.isoformat() == "2020-09-10T23:59:00+02:00"
    # The hour that a clock shows twice is one of two moments, and both are equal to themselves.
    first, second = (datetime(2020, 10, 25, 2, 30, tzinfo=zurich, fold=fold) for fold in (0, 1))
    phases = [Phase.model_validate(a_phase(results=results)) for results in (first, second)]
    assert phases[1].results - phases[0].results == timedelta(hours=1)


def test_a_phase_closes_after_it_opens() -> None:
    opens = a_phase()["opens"]
    assert is_refused(Phase, a_phase(closes=opens), "closes")
    assert is_refused(Phase, a_phase(closes=opens - timedelta(hours=1)), "closes")
    assert not is_refused(Phase, a_phase(closes=opens + timedelta(seconds=1)), "closes")


def test_results_come_with_the_closing_or_after_it() -> None:
    closes = a_phase()["closes"]
    assert is_refused(Phase, a_phase(results=closes - timedelta(seconds=1)), "results")
    assert not is_refused(Phase, a_phase(results=closes), "results")


def test_order_is_that_of_moments_not_of_clocks() -> None:
    opens = datetime(2020, 9, 10, 12, tzinfo=SUMMER)
    assert not is_refused(Phase, a_phase(opens=opens, closes=datetime(2020, 9, 10, 11, tzinfo=UTC)), "closes")
    assert is_refused(Phase, a_phase(opens=opens, closes=datetime(2020, 9, 10, 13, tzinfo=timezone.max)), "closes")


def test_a_phase_is_announced_when_it_opens_at_the_latest() -> None:
    opens = a_phase()["opens"]
    assert is_refused(Phase, a_phase(announced=opens + timedelta(seconds=1)), "announced")
    assert Phase.model_validate(a_phase(announced=opens)).announced == opens


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"admission": "after"}, "after"),
        ({"admission": "request", "after": "tuning"}, "after"),
        ({"after": "tuning"}, "after"),
        ({"admission": "invited", "after": "tuning"}, "top"),
        ({"admission": "invited", "top": 5}, "top"),
        ({"admission": "after", "after": "tuning", "top": 5}, "top"),
        ({"top": 5}, "top"),
    ],
)
def test_another_phase_decides_where_the_admission_says_so(settings: dict[str, Any], wrong: str) -> None:
    assert is_refused(Phase, a_phase(**settings), wrong)


@pytest.mark.parametrize(
    "settings",
    [
        {"admission": "invited"},
        {"admission": "request"},
        {"admission": "after", "after": "tuning"},
        {"admission": "invited", "after": "tuning", "top": 5},
    ],
)
def test_the_phase_that_decides_stands_above_the_one_it_decides_about(settings: dict[str, Any]) -> None:
    first, second = a_phase(name="tuning"), a_phase(**settings)
    assert an_edition(phases=[first, second]).phases[1].admission == settings["admission"]
    if "after" in settings:
        assert is_refused(Edition, {**dict(an_edition()), "phases": [second, first]}, "phases")
        itself = {**second, "after": second["name"]}
        assert is_refused(Edition, {**dict(an_edition()), "phases": [itself]}, "phases")


def test_an_edition_has_a_phase_and_phases_have_different_names() -> None:
    assert is_refused(Edition, {**dict(an_edition()), "phases": []}, "phases")
    assert is_refused(Edition, {**dict(an_edition()), "phases": [a_phase(), a_phase()]}, "phases")


@pytest.mark.parametrize("quota", [0, -1, 2.0, "5", True])
def test_a_quota_is_a_whole_number_from_one(quota: object) -> None:
    assert is_refused(Phase, a_phase(quota=quota), "quota")


@pytest.mark.parametrize("name", ["", "Test", "1st", "test phase", "test\n", "tést", "a/b"])
def test_a_phase_name_is_safe_in_addresses_and_file_names(name: str) -> None:
    assert is_refused(Phase, a_phase(name=name), "name")


def test_what_is_left_out_reveals_nothing_and_limits_nothing() -> None:
    phase = Phase.model_validate(a_phase())
    assert (phase.quota, phase.counts, phase.visibility) == (None, "last", "hidden")
    assert (phase.announced, phase.admission, phase.after, phase.top) == (None, "open", None, None)
    assert phase.refund == "infrastructure"
    assert Policies() == Policies(missing=None, grid="refuse", ties=None, organisers="unlisted", announce=None)


@pytest.mark.parametrize("missing", [0, 0.0, -1.5, Decimal("0.25"), "worst", "disqualify", "rank-last", None])
def test_a_missing_case_counts_as_a_number_or_by_a_named_policy(missing: Any) -> None:
    assert Policies.model_validate({"missing": missing}).missing == missing


def test_a_missing_case_may_count_as_a_multiple_of_the_worst() -> None:
    for penalty in (2, 2.0, Decimal(2), Decimal("2.0")):
        assert Policies.model_validate({"missing": {"penalty": penalty}}).missing == Penalised(2.0)


NO_PENALTIES = [
    {},
    {"penalty": 2, "x": 1},
]


@pytest.mark.parametrize(
    "missing",
    ["zero", "0", True, float("nan"), float("inf"), Decimal("NaN"), 10**400, [0], *NO_PENALTIES],
)
def test_a_missing_case_counts_as_nothing_else(missing: object) -> None:
    assert is_refused(Policies, {"missing": missing}, "missing")


@pytest.mark.parametrize("penalty", [0.5, "2", True, math.inf, math.nan, Decimal("NaN"), 10**400, None])
def test_a_penalty_is_a_number_that_makes_nothing_better(penalty: object) -> None:
    assert is_refused(Policies, {"missing": {"penalty": penalty}}, "missing", "penalty")


def test_an_amount_is_exact() -> None:
    assert Prize.model_validate({"place": 1, "amount": 0.1, "currency": "EUR"}).amount == Decimal("0.1")
    assert Prize.model_validate({"place": 1, "amount": "499.50", "currency": "EUR"}).amount == Decimal("499.50")


@pytest.mark.parametrize(
    "amount", [-1, Decimal("-0.01"), "much", True, Decimal("inf"), Decimal("1.0001"), 10**12, None]
)
def test_an_amount_is_money(amount: object) -> None:
    assert is_refused(Prize, {"place": 1, "amount": amount, "currency": "EUR"}, "amount")


@pytest.mark.parametrize("currency", ["eur", "EURO", "€", "EU", "EUR\n"])
def test_a_currency_is_its_international_code(currency: str) -> None:
    assert is_refused(Prize, {"place": 1, "amount": 1, "currency": currency}, "currency")


def test_a_place_has_one_prize() -> None:
    prize = {"place": 1, "amount": 500, "currency": "EUR"}
    assert is_refused(Edition, {**dict(an_edition()), "prizes": [prize, prize]}, "prizes")
    assert len(an_edition(prizes=[prize, {**prize, "place": 2}]).prizes) == 2


THREE = [a_phase(name="one"), a_phase(name="late", closes=a_phase()["results"]), a_phase(name="three")]
PRIZE = {"place": 1, "amount": 500, "currency": "EUR"}
BONUS = {"title": "Best of the week", "amount": 1500, "currency": "USD"}
PAYOUT = {"amount": 15, "currency": "USD", "per": "0.001", "above": "0.574"}


def test_every_phase_has_its_own_places_and_bonuses() -> None:
    prizes = [PRIZE, {**PRIZE, "phase": "one"}, {**PRIZE, "phase": "three"}]
    assert len(an_edition(phases=THREE, prizes=prizes).prizes) == 3
    assert is_refused(Edition, {**dict(an_edition(phases=THREE)), "prizes": [*prizes, prizes[1]]}, "prizes")
    bonuses = [BONUS, {**BONUS, "phase": "one"}]
    assert len(an_edition(phases=THREE, bonuses=bonuses).bonuses) == 2
    assert is_refused(Edition, {**dict(an_edition(phases=THREE)), "bonuses": [BONUS, BONUS]}, "bonuses")


def test_no_phase_is_the_one_that_closes_last() -> None:
    edition = an_edition(phases=THREE)
    assert edition.last_phase.name == "late"
    tied = an_edition(phases=[a_phase(name="one"), a_phase(name="two")])
    assert tied.last_phase.name == "two"
    twice = {**dict(edition), "prizes": [PRIZE, {**PRIZE, "phase": "late"}]}
    assert is_refused(Edition, twice, "prizes")


@pytest.mark.parametrize(("key", "value"), [("prizes", [PRIZE]), ("bonuses", [BONUS]), ("payout", PAYOUT)])
def test_what_is_won_is_won_in_a_phase_of_the_edition(key: str, value: Any) -> None:
    def of_phase(name: str) -> Any:
        return [{**entry, "phase": name} for entry in value] if isinstance(value, list) else {**value, "phase": name}

    assert is_refused(Edition, {**dict(an_edition()), key: of_phase("training")}, key)
    assert is_refused(Edition, {**dict(an_edition()), key: of_phase("")}, key)
    assert getattr(an_edition(**{key: of_phase("test")}), key)


def test_steps_and_thresholds_are_exact_and_steps_are_positive() -> None:
    payout = Payout.model_validate({**PAYOUT, "above": 0.574, "round_up_to": 25})
    assert (payout.per, payout.above, payout.round_up_to) == (Decimal("0.001"), Decimal("0.574"), 25)
    assert Payout.model_validate({**PAYOUT, "above": "-3.5"}).above == Decimal("-3.5")
    for key, value in (("per", 0), ("per", "-0.001"), ("round_up_to", 0), ("above", "nan"), ("per", "1e-13")):
        assert is_refused(Payout, {**PAYOUT, key: value}, key), (key, value)


@pytest.mark.parametrize("to", ["all", "best", "", None, True])
def test_a_bonus_is_for_everybody_or_for_who_is_named(to: object) -> None:
    assert is_refused(Bonus, {**BONUS, "to": to}, "to")
    assert Bonus.model_validate(BONUS).to == "named"


@pytest.mark.parametrize("url", ["javascript:alert(1)", "www.example.org", "https://", "https://a b"])
def test_a_web_page_is_an_address_that_a_browser_opens(url: str) -> None:
    assert is_refused(Edition, {**dict(an_edition()), "url": url}, "url")


@pytest.mark.parametrize("field", ["title", "contact"])
def test_text_that_no_file_can_hold_is_refused(field: str) -> None:
    assert is_refused(Edition, {**dict(an_edition()), field: "a \ud800 surrogate"}, field)


def test_an_edition_cannot_be_changed_in_place() -> None:
    edition = an_edition()
    with pytest.raises(ValidationError):
        edition.title = "Another"
    assert hash(edition) == hash(an_edition())


def test_an_edition_survives_a_web_form() -> None:
    prizes = [{"place": 1, "amount": "499.50", "currency": "EUR"}]
    boards = [
        {**BOARD, "missing": {"penalty": 2}, "q": 0.25},
        {"name": "x", "rule": "weighted-ranks", "metrics": ["dice"], "limits": [{"metric": "dice", "value": 0.5}]},
    ]
    edition = an_edition(prizes=prizes, bonuses=[BONUS], payout=PAYOUT, policies={"missing": 0}, boards=boards)
    assert Edition.model_validate_json(edition.model_dump_json()) == edition


@pytest.mark.parametrize(
    "model",
    [
        *(Edition, Phase, Policies, Prize, Bonus, Payout, BoardRule, WeightedMetric, LimitRule),
        *(Summary, Organisation, Mission, Datasets, Assessment),
    ],
)
def test_every_field_is_described_in_one_plain_sentence(model: type[BaseModel]) -> None:
    for name, field in model.model_fields.items():
        assert field.description, name
        assert re.fullmatch(r"[A-Z][^.=]+\.", field.description), name
        assert allowed_in(field).what, name


@pytest.mark.parametrize("text", ["", " ", "\n", 5, "\ud800", []])
def test_a_text_of_the_description_says_something_or_is_left_out(text: object) -> None:
    assert is_refused(Mission, {"modality": text}, "modality")
    assert is_refused(Summary, {"keywords": text}, "keywords") or is_refused(Summary, {"keywords": text}, "keywords", 0)
    assert Mission.model_validate({"modality": None}) == Mission()


def test_explained_choices_are_exactly_the_allowed_ones() -> None:
    for model in (Phase, Policies, Prize, Bonus, Payout, BoardRule, LimitRule):
        for name, field in model.model_fields.items():
            explained = {choice.strip('"') for choice in allowed_in(field).choices}
            explained -= {"a number", "a whole number", "{ penalty = 2 }", "{ dice = 1 }"}
            kinds = (field.annotation, *get_args(field.annotation))
            allowed = {value for kind in kinds for value in get_args(kind) if isinstance(value, str) and value}
            allowed |= {value for value in kinds if isinstance(value, str)}
            assert explained == allowed, name


def test_policies_speak_the_language_of_the_rooms_that_apply_them() -> None:
    assert get_args(Policies.model_fields["grid"].annotation) == get_args(submissions.GridPolicy)
    assert set(get_args(get_args(Policies.model_fields["ties"].annotation)[0])) == set(get_args(Ties))
    assert Phase.model_fields["counts"].default == Participation().counts
    assert Policies.model_fields["organisers"].default == Participation().organisers
    assert get_args(BoardRule.model_fields["rule"].annotation) == RULE_KINDS


def test_every_word_for_a_missing_case_is_one_of_the_rules() -> None:
    words = [word.strip('"') for word in allowed_in(Policies.model_fields["missing"]).choices if word.startswith('"')]
    assert all(missing_of(word) is not None for word in words)
    with pytest.raises(DescriptionError) as caught:
        missing_of("no policy")
    assert all(f'"{word}"' in str(caught.value) for word in words)
    assert str(caught.value).endswith(allowed_in(Policies.model_fields["missing"]).what)


def test_what_a_board_leaves_out_is_told_as_it_is() -> None:
    for name, rule in (
        ("q", QuantileThenRank),
        ("proportion", TrimmedMeanThenRank),
        ("alpha", TestThenRank),
        ("tolerance", DetectThenRank),
    ):
        default = next(field.default for field in fields(rule) if field.name == name)
        told = allowed_in(BoardRule.model_fields[name]).absent.removeprefix("it is ").partition(",")[0]
        assert float(told) == default
    defaults = {field.name: field.default for field in (*fields(MeanThenRank), *fields(TestThenRank))}
    for name in ("over", "adjust"):
        allowed = allowed_in(BoardRule.model_fields[name])
        assert allowed.example == f'"{defaults[name]}"'


BOARD = {"name": "median", "rule": "quantile", "metric": "dice"}


def test_boards_have_different_names_and_one_main_board() -> None:
    assert is_refused(Edition, {**dict(an_edition()), "boards": [BOARD, BOARD]}, "boards")
    other = {**BOARD, "name": "other", "main": True}
    assert is_refused(Edition, {**dict(an_edition()), "boards": [{**BOARD, "main": True}, other]}, "boards")
    assert [board.main for board in an_edition(boards=[BOARD, other]).boards] == [False, True]


def test_a_metric_is_named_alone_or_with_its_weight() -> None:
    board = BoardRule.model_validate(
        {"name": "x", "rule": "weighted-ranks", "metrics": ["dice", {"metric": "jaccard", "weight": 2}]}
    )
    assert board.metrics == (WeightedMetric(metric="dice"), WeightedMetric(metric="jaccard", weight=2.0))


@pytest.mark.parametrize("weight", [0, -1, Decimal("-0.5"), "2", True, math.inf, math.nan, 10**400, None])
def test_a_weight_is_a_number_above_zero(weight: object) -> None:
    assert is_refused(WeightedMetric, {"metric": "dice", "weight": weight}, "weight")
