"""A wrong file: every problem at once, each with its line, what was found and what may be written instead."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.editions import EditionError, EditionProblem, load, parse

GOOD = """\
challenge = "hecktor2020"
title = "HECKTOR 2020"
organisers = ["University Hospital"]

[policies]
missing = 0
grid = "refuse"
ties = "min"

[[phases]]
name = "training"
title = "Training"
opens = 2020-06-10T00:00:00+02:00
closes = 2020-08-01T00:00:00+02:00
results = 2020-08-01T00:00:00+02:00
visibility = "public"

[[phases]]
name = "test"
title = "Test"
opens = 2020-08-10T00:00:00+02:00
closes = 2020-09-10T23:59:59+02:00
results = 2020-10-04T09:00:00+02:00
quota = 5
counts = "last"

[[prizes]]
place = 1
amount = 500
currency = "EUR"

[[bonuses]]
title = "Best after a week"
amount = 150
currency = "CHF"
to = "named"
phase = "training"

[payout]
amount = 15
currency = "USD"
per = 0.001
above = 0.574

[[boards]]
name = "both"
main = true
rule = "weighted-ranks"
metrics = ["dice", { metric = "jaccard", weight = 2 }]
given = []
limits = [{ metric = "dice", value = 0.5 }]
tie_breaks = ["dice"]
missing = "worst"

[[boards]]
name = "median"
rule = "quantile"
metric = "dice"
q = 0.5

[summary]
keywords = ["segmentation", "PET/CT"]

[mission]
modality = "PET/CT"
"""

OPENS = "opens = 2020-08-10T00:00:00+02:00"
INSTITUTES = 'organisers = ["University Hospital"]'

# What the messages advise.
MOMENT = "write a date and time with its difference to UTC, such as 2020-09-10T23:59:59+02:00"
COUNT = "write a whole number, 1 or more"
NAME = 'write lower-case letters, digits, - and _ in quotes, beginning with a letter, such as "test"'
NAMES = 'write names in quotes between brackets, such as ["University Hospital", "Institute of Physics"], or []'
AMOUNT = "write a number, 0 or more, with at most three decimals, such as 500 or 499.50"
CURRENCY = 'write three capitals in quotes, such as "EUR" or "CHF"'
URL = 'write an address in quotes that begins with https:// or http://, or ""'
PHASES = "write one or more phases, each under its own heading [[phases]] in double brackets"
TEXT = "write a text in quotes that is not empty"
PROSE = 'write a text in quotes that is not empty, or between """ and """ if it has several lines'
WORDS = 'write words in quotes between brackets, such as ["segmentation", "PET/CT"]'
STEP = "write a number above 0 with at most twelve decimals, such as 0.001"
THRESHOLD = "write a number with at most twelve decimals, such as 0.574"
MULTIPLE = "write a number above 0 with at most three decimals, such as 25"
TO = 'write "everybody", "leader" or "named"'
ELSEWHERE = '"place" does not belong here, but under the heading'
DATE = "this cannot be read as a date; a date is written as 2020-09-10T23:59:59+02:00"
LINE = "a line holds a setting (a name, =, and a value), a heading in brackets, or a comment after #"
HIDDEN = "a character stands here that is not allowed, or that an editor does not show"
USED = "this name was already used above; each phase and each prize has its own heading in double brackets"
VALUE = "what follows the = is no value; a text stands in quotes, a date and a number do not"
WEIGHTS = 'metrics = ["dice", { metric = "jaccard", weight = 2 }]'
METRIC = "write the name of a metric in quotes"
DECIMALS = 'write "noise", a whole number from 0 to 15, or "catalogue"'
ONE_WEIGHTED = 'write a name in quotes, or { metric = "dice", weight = 2 }'
WEIGHTED = (
    "write names of metrics between brackets, with weights or without, such as "
    '["dice", { metric = "jaccard", weight = 2 }]'
)
METRICS = "write names of metrics in quotes between brackets, or []"
OVER = '"case" is not allowed; write "cases", "parts" or "parts-within-cases" (did you mean "cases"?)'
RULES = (
    'write "mean", "quantile", "trimmed-mean", "mean-rank", "weighted-ranks", "tests", "normalised-sum", "detection" '
    'or "cohort-statistic"'
)
MISSING = (
    'write a number, "worst", "worst-observed", "worst-observed-anywhere", "rank-last", "leave-out", "disqualify" '
    "or { penalty = 2 }"
)


def problems_of(text: str) -> list[EditionProblem]:
    with pytest.raises(EditionError) as caught:
        parse(text)
    assert str(caught.value).count("\n") == len(caught.value.problems) - 1
    return caught.value.problems


def the_problem_of(text: str) -> EditionProblem:
    (problem,) = problems_of(text)
    return problem


def line_of(row: str) -> int:
    """The line of the good file that reads so."""
    return GOOD.split("\n").index(row) + 1


def test_the_good_file_is_good() -> None:
    assert [phase.name for phase in parse(GOOD).phases] == ["training", "test"]


@pytest.mark.parametrize(
    ("old", "new", "where", "message"),
    [
        (
            'counts = "last"',
            'counts = "lst"',
            "phases[2].counts",
            '"lst" is not allowed; write "last", "best", "chosen" or "all" (did you mean "last"?)',
        ),
        (
            'counts = "last"',
            'counts = "median"',
            "phases[2].counts",
            '"median" is not allowed; write "last", "best", "chosen" or "all"',
        ),
        (
            'counts = "last"',
            "counts = 1",
            "phases[2].counts",
            '1 is not allowed; write "last", "best", "chosen" or "all"',
        ),
        (
            'visibility = "public"',
            'visibility = "Public"',
            "phases[1].visibility",
            '"Public" is not allowed; write "public", "hidden" or "own" (did you mean "public"?)',
        ),
        (
            'grid = "refuse"',
            'grid = "trust"',
            "policies.grid",
            '"trust" is not allowed; write "refuse", "resample" or "trust-index" (did you mean "trust-index"?)',
        ),
        ('modality = "PET/CT"', 'modality = ""', "mission.modality", f'"" is not allowed; {PROSE}'),
        ('modality = "PET/CT"', "modality = 5", "mission.modality", f"5 is not allowed; {PROSE}"),
        (
            'modality = "PET/CT"',
            'modalities = "PET/CT"',
            "mission.modalities",
            '"modalities" is not known; did you mean "modality"?',
        ),
        (
            'modality = "PET/CT"',
            'licence = "CC BY"',
            "mission.licence",
            '"licence" does not belong here, but under the heading [organisation]',
        ),
        (
            'keywords = ["segmentation", "PET/CT"]',
            'keywords = "segmentation"',
            "summary.keywords",
            f'"segmentation" is not allowed; {WORDS}',
        ),
        ('ties = "min"', "ties = true", "policies.ties", 'true is not allowed; write "min", "average" or "dense"'),
        ("missing = 0", 'missing = "zero"', "policies.missing", f'"zero" is not allowed; {MISSING}'),
        ("missing = 0", "missing = nan", "policies.missing", f"nan is not allowed; {MISSING}"),
        ("missing = 0", "missing = { factor = 0.5 }", "policies.missing", f"a table is not allowed; {MISSING}"),
        ("missing = 0", "missing = { penality = 2 }", "policies.missing", f"a table is not allowed; {MISSING}"),
        (
            "missing = 0",
            'organisers = "hidden"',
            "policies.organisers",
            '"hidden" is not allowed; write "unlisted", "unranked" or "ranked"',
        ),
        ("missing = 0", "announce = 0", "policies.announce", f"0 is not allowed; {COUNT}"),
        ("quota = 5", "quota = 0", "phases[2].quota", f"0 is not allowed; {COUNT}"),
        ("quota = 5", 'quota = "5"', "phases[2].quota", f'"5" is not allowed; {COUNT}'),
        ("quota = 5", "quota = 2.5", "phases[2].quota", f"2.5 is not allowed; {COUNT}"),
        ('name = "test"', 'name = "Test phase"', "phases[2].name", f'"Test phase" is not allowed; {NAME}'),
        ('title = "Test"', 'title = ""', "phases[2].title", f'"" is not allowed; {TEXT}'),
        ('title = "HECKTOR 2020"', "title = 2020", "title", f"2020 is not allowed; {TEXT}"),
        (
            'challenge = "hecktor2020"',
            'challenge = "HECKTOR"',
            "challenge",
            '"HECKTOR" is not allowed; write the name of a challenge in quotes, such as "hecktor2020"',
        ),
        (INSTITUTES, 'organisers = "X"', "organisers", f'"X" is not allowed; {NAMES}'),
        (
            INSTITUTES,
            'organisers = [\n"X",\n5]',
            "organisers[2]",
            "5 is not allowed; write a text in quotes that is not empty",
        ),
        (INSTITUTES, "contact = 5", "contact", '5 is not allowed; write a text in quotes, or ""'),
        (INSTITUTES, 'url = "example.org"', "url", f'"example.org" is not allowed; {URL}'),
        (OPENS, "opens = 2020", "phases[2].opens", f"2020 is not allowed; {MOMENT}"),
        (OPENS, 'opens = "10 August"', "phases[2].opens", f'"10 August" is not allowed; {MOMENT}'),
        (OPENS, "opens = 12:00:00", "phases[2].opens", f"12:00:00 is not allowed; {MOMENT}"),
        (
            OPENS,
            "opens = 2020-08-10",
            "phases[2].opens",
            "2020-08-10 has no time and no zone; write for example 2020-08-10T23:59:59+02:00",
        ),
        (
            OPENS,
            "opens = 2020-08-10T00:00:00",
            "phases[2].opens",
            "2020-08-10T00:00:00 has no zone, so it is another moment for every team; "
            "add the difference to UTC, for example 2020-08-10T00:00:00+02:00",
        ),
        (
            OPENS,
            "opens = 0202-08-10T00:00:00Z",
            "phases[2].opens",
            "0202-08-10T00:00:00+00:00 is not in the years 2000 to 2199",
        ),
        (
            "closes = 2020-09-10T23:59:59+02:00",
            "closes = 2020-08-10T00:00:00+02:00",
            "phases[2].closes",
            "2020-08-10T00:00:00+02:00 is not after the phase opens (2020-08-10T00:00:00+02:00); write a later moment",
        ),
        (
            "results = 2020-10-04T09:00:00+02:00",
            "results = 2020-09-01T00:00:00Z",
            "phases[2].results",
            "2020-09-01T00:00:00+00:00 is before the phase closes (2020-09-10T23:59:59+02:00); "
            "write this moment or a later one",
        ),
        (
            'name = "test"',
            'name = "training"',
            "phases[2].name",
            '"training" is already the name of phase 1; write another',
        ),
        ("place = 1", "place = 0", "prizes[1].place", f"0 is not allowed; {COUNT}"),
        ("amount = 500", "amount = -5", "prizes[1].amount", f"-5 is not allowed; {AMOUNT}"),
        ("amount = 500", "amount = inf", "prizes[1].amount", f"inf is not allowed; {AMOUNT}"),
        ('currency = "EUR"', 'currency = "euro"', "prizes[1].currency", f'"euro" is not allowed; {CURRENCY}'),
        ('to = "named"', 'to = "name"', "bonuses[1].to", f'"name" is not allowed; {TO} (did you mean "named"?)'),
        (
            'phase = "training"',
            'phase = "traning"',
            "bonuses[1].phase",
            '"traning" is not a phase of this edition; write the name of one: "training", "test" '
            '(did you mean "training"?)',
        ),
        (
            'phase = "training"',
            "phase = 1",
            "bonuses[1].phase",
            "1 is not allowed; write the name of a phase in quotes",
        ),
        ("per = 0.001", "per = 0", "payout.per", f"0 is not allowed; {STEP}"),
        ("above = 0.574", 'above = "much"', "payout.above", f'"much" is not allowed; {THRESHOLD}'),
        ("above = 0.574", "above = 0.574\nround_up_to = -25", "payout.round_up_to", f"-25 is not allowed; {MULTIPLE}"),
        (
            "above = 0.574",
            'above = 0.574\nphase = "final"',
            "payout.phase",
            '"final" is not a phase of this edition; write the name of one: "training", "test"',
        ),
        ("main = true", "main = 1", "boards[1].main", "1 is not allowed; write true or false"),
        ('rule = "quantile"', 'rule = "vote"', "boards[2].rule", f'"vote" is not allowed; {RULES}'),
        (
            'rule = "quantile"',
            'rule = "median"',
            "boards[2].rule",
            f'"median" is not allowed; {RULES} (did you mean "quantile"?)',
        ),
        (
            'rule = "quantile"',
            'rule = "quantil"',
            "boards[2].rule",
            f'"quantil" is not allowed; {RULES} (did you mean "quantile"?)',
        ),
        ("q = 0.5", "q = 50", "boards[2].q", "50 is not allowed; write a number from 0 to 1"),
        ("q = 0.5", 'q = "0.5"', "boards[2].q", '"0.5" is not allowed; write a number from 0 to 1'),
        ("q = 0.5", "alpha = 1", "boards[2].alpha", "1 is not allowed; write a number above 0 and below 1"),
        ("q = 0.5", "decimals = 16", "boards[2].decimals", f"16 is not allowed; {DECIMALS}"),
        (
            "q = 0.5",
            "tolerance = inf",
            "boards[2].tolerance",
            "inf is not allowed; write a number, 0 or more and below 1",
        ),
        (
            "q = 0.5",
            'missing = "wrst"',
            "boards[2].missing",
            f'"wrst" is not allowed; {MISSING} (did you mean "worst"?)',
        ),
        ("q = 0.5", "main = true", "boards[2].main", "board 1 is already the main one; write false, or leave it out"),
        ('name = "median"', 'name = "both"', "boards[2].name", '"both" is already the name of board 1; write another'),
        (
            "given = []",
            "given = [\n'dice',\n3]",
            "boards[1].given[2]",
            "3 is not allowed; write the name of a metric in quotes",
        ),
        ("given = []", "given = 3", "boards[1].given", f"3 is not allowed; {METRICS}"),
        (WEIGHTS, "metrics = []\nover = 'case'", "boards[1].over", OVER),
        (WEIGHTS, "metrics = [\n'dice',\n3]", "boards[1].metrics[2]", f"3 is not allowed; {ONE_WEIGHTED}"),
        (WEIGHTS, 'metrics = "dice"', "boards[1].metrics", f'"dice" is not allowed; {WEIGHTED}'),
        # who may take part
        (
            "quota = 5",
            'admission = "invite"',
            "phases[2].admission",
            '"invite" is not allowed; write "open", "after", "invited" or "request" (did you mean "invited"?)',
        ),
        (
            "quota = 5",
            'admission = "after"\nafter = "trainning"',
            "phases[2].after",
            '"trainning" is not a phase above this one; write the name of one: "training" (did you mean "training"?)',
        ),
        (
            'visibility = "public"',
            'admission = "after"\nafter = "test"',
            "phases[1].after",
            '"test" is not a phase above this one; move this phase below the one that decides',
        ),
        (
            "quota = 5",
            'after = "training"',
            "phases[2].after",
            '"training" decides nothing where admission is "open"; write admission = "after" or "invited", or remove '
            "this setting",
        ),
        (
            "quota = 5",
            'admission = "after"\nafter = "training"\ntop = 5',
            "phases[2].top",
            '5 invites nobody where admission is "after"; write admission = "invited", or remove this setting',
        ),
        (
            "quota = 5",
            'admission = "invited"\ntop = 5',
            "phases[2].top",
            "5 of which phase is not said; write its name as after, or remove this setting",
        ),
        (
            "quota = 5",
            'admission = "invited"\nafter = "training"\ntop = 0',
            "phases[2].top",
            f"0 is not allowed; {COUNT}",
        ),
        (
            "quota = 5",
            "announced = 2020-08-10T00:00:01+02:00",
            "phases[2].announced",
            "2020-08-10T00:00:01+02:00 is after the phase opens (2020-08-10T00:00:00+02:00); write this moment or an "
            "earlier one",
        ),
        (
            "quota = 5",
            "announced = 2020-08-01",
            "phases[2].announced",
            "2020-08-01 has no time and no zone; write for example 2020-08-01T23:59:59+02:00",
        ),
        (
            "quota = 5",
            'refund = "all"',
            "phases[2].refund",
            '"all" is not allowed; write "infrastructure", "failed" or "none"',
        ),
        # keys
        ("q = 0.5", "qq = 0.5", "boards[2].qq", '"qq" is not known; did you mean "q"?'),
        ("above = 0.574", "above = 0.574\nplace = 1", "payout.place", f"{ELSEWHERE} [[prizes]]"),
        ("missing = 0", "per = 0.001", "policies.per", '"per" does not belong here, but under the heading [payout]'),
        ("quota = 5", "quotas = 5", "phases[2].quotas", '"quotas" is not known; did you mean "quota"?'),
        (INSTITUTES, 'organizers = ["X"]', "organizers", '"organizers" is not known; did you mean "organisers"?'),
        (
            "quota = 5",
            "gridd = 5\nquota = 5",
            "phases[2].gridd",
            '"gridd" is not known; what can be set here is '
            "name, title, opens, closes, results, announced, admission, after, top, continues, quota, quota_per, "
            "refund, counts, visibility, announce, verification, ladder, decimals, cases, cohorts",
        ),
        (
            "quota = 5",
            'ties = "min"\nquota = 5',
            "phases[2].ties",
            '"ties" does not belong here, but under the heading [policies]',
        ),
        (
            "missing = 0",
            'visibility = "own"',
            "policies.visibility",
            '"visibility" does not belong here, but under the heading [[phases]]',
        ),
        (
            'currency = "EUR"',
            'currency = "EUR"\nurl = ""',
            "prizes[1].url",
            '"url" does not belong here, but above the first heading',
        ),
    ],
)
def test_a_problem_is_told_with_its_line_what_was_found_and_what_is_allowed(
    old: str, new: str, where: str, message: str
) -> None:
    assert f"\n{old}\n" in f"\n{GOOD}"
    problem = the_problem_of(f"\n{GOOD}".replace(f"\n{old}\n", f"\n{new}\n")[1:])
    assert (problem.where, problem.message) == (where, message)
    key = where.rpartition(".")[2].removesuffix("[2]")
    row = [line.partition(" ")[0] for line in new.split("\n")].index(key) + (2 if where.endswith("]") else 0)
    assert problem.line == line_of(old) + row


def test_a_penalty_that_makes_something_better_is_told_within_its_policy() -> None:
    problem = the_problem_of(GOOD.replace("missing = 0\n", "missing = { penalty = 0.5 }\n", 1))
    assert (problem.where, problem.found) == ("policies.missing.penalty", "0.5")
    assert problem.message == "0.5 is not allowed; write a number, 1 or more"
    assert problem.line == line_of("missing = 0")


@pytest.mark.parametrize(
    ("line", "holder", "where", "message"),
    [
        ('title = "HECKTOR 2020"\n', None, "title", f"is missing; {TEXT}"),
        ("opens = 2020-08-10T00:00:00+02:00\n", 18, "phases[2].opens", f"is missing; {MOMENT}"),
        ('name = "training"\n', 10, "phases[1].name", f"is missing; {NAME}"),
        ('currency = "EUR"\n', 27, "prizes[1].currency", f"is missing; {CURRENCY}"),
    ],
)
def test_what_is_missing_is_told_at_the_line_of_what_should_hold_it(
    line: str, holder: int | None, where: str, message: str
) -> None:
    text = GOOD.replace(line, "")
    assert the_problem_of(text) == EditionProblem(holder, where, "", message)


@pytest.mark.parametrize(
    ("settings", "where", "message"),
    [
        ('admission = "after"', "phases[2].after", "is missing; write the name of a phase above this one in quotes"),
        ('admission = "invited"\nafter = "training"', "phases[2].top", f"is missing; {COUNT}"),
    ],
)
def test_what_an_admission_lacks_is_told_at_the_line_of_the_phase(settings: str, where: str, message: str) -> None:
    text = GOOD.replace("quota = 5", settings)
    assert the_problem_of(text) == EditionProblem(line_of('name = "test"') - 1, where, "", message)


def test_policies_may_be_left_out_altogether() -> None:
    assert parse(GOOD.replace('[policies]\nmissing = 0\ngrid = "refuse"\nties = "min"\n', "")).policies.missing is None


@pytest.mark.parametrize(
    ("tables", "where", "message"),
    [
        ("[phases]\nname = 'a'", "phases", f"a table is not allowed; {PHASES}"),
        ("phases = []", "phases", f"an empty list is not allowed; {PHASES}"),
        ("phases = ['test']", "phases[1]", f'"test" is not allowed; {PHASES}'),
        ("", "phases", f"is missing; {PHASES}"),
    ],
)
def test_phases_are_tables_in_double_brackets(tables: str, where: str, message: str) -> None:
    problem = the_problem_of(f'challenge = "x"\ntitle = "X"\n{tables}\n')
    assert (problem.where, problem.message) == (where, message)
    assert problem.line == (3 if tables else None)


def test_policies_are_one_table() -> None:
    text = GOOD.replace("[policies]", "[[policies]]")
    assert the_problem_of(text) == EditionProblem(
        5, "policies", "a list", "a list is not allowed; write its settings under the heading [policies]"
    )


def test_all_problems_come_at_once_in_the_order_of_the_lines() -> None:
    text = (
        GOOD.replace('counts = "last"', 'counts = "lst"')
        .replace("missing = 0", 'missing = "none"')
        .replace('name = "test"', 'name = "training"')
        .replace("opens = 2020-06-10T00:00:00+02:00", "opens = 2020-06-10")
        .replace("closes = 2020-09-10T23:59:59+02:00", "closes = 2020-07-10T23:59:59+02:00")
        .replace('title = "HECKTOR 2020"\n', "")
        .replace("amount = 500", "sum = 500")
    )
    with pytest.raises(EditionError) as caught:
        parse(text)
    assert str(caught.value).split("\n") == [
        "challenge.toml: title: is missing; write a text in quotes that is not empty",
        f'challenge.toml:5: policies.missing: "none" is not allowed; {MISSING}',
        "challenge.toml:12: phases[1].opens: 2020-06-10 has no time and no zone; "
        "write for example 2020-06-10T23:59:59+02:00",
        'challenge.toml:18: phases[2].name: "training" is already the name of phase 1; write another',
        "challenge.toml:21: phases[2].closes: 2020-07-10T23:59:59+02:00 is not after the phase opens "
        "(2020-08-10T00:00:00+02:00); write a later moment",
        'challenge.toml:24: phases[2].counts: "lst" is not allowed; write "last", "best", "chosen" or "all" '
        '(did you mean "last"?)',
        "challenge.toml:26: prizes[1].amount: is missing; write a number, 0 or more, with at most three decimals, "
        "such as 500 or 499.50",
        'challenge.toml:28: prizes[1].sum: "sum" is not known; what can be set here is place, amount, currency, phase',
    ]


def test_a_place_with_two_prizes_is_named() -> None:
    text = GOOD + '\n[[prizes]]\nplace = 1\namount = 200\ncurrency = "EUR"\n'
    second = GOOD.count("\n") + 3
    assert the_problem_of(text) == EditionProblem(
        second, "prizes[2].place", "1", "1 is already the place of prize 1; write another"
    )
    # The first prize names no phase: it is of the one that closes last.
    assert the_problem_of(f'{text}phase = "test"\n') == the_problem_of(text)
    assert len(parse(f'{text}phase = "training"\n').prizes) == 2


def test_a_phase_with_two_bonuses_of_one_title_is_named() -> None:
    text = GOOD + '\n[[bonuses]]\ntitle = "Best after a week"\namount = 200\ncurrency = "EUR"\n'
    assert len(parse(text).bonuses) == 2
    problem = the_problem_of(f'{text}phase = "training"\n')
    assert problem.where == "bonuses[2].title"
    assert problem.message == '"Best after a week" is already the title of bonus 1; write another'


def test_prizes_of_unknown_phases_are_told_also_where_other_things_are_wrong() -> None:
    text = GOOD.replace("place = 1", 'place = 0\nphase = "tst"').replace("quota = 5", "quota = 0")
    assert [(problem.where, problem.line) for problem in problems_of(text)] == [
        ("phases[2].quota", 24),
        ("prizes[1].place", 28),
        ("prizes[1].phase", 29),
    ]
    # Without names of phases there is nothing to compare with.
    nameless = text.replace('name = "test"\n', "")
    assert "prizes[1].phase" not in [problem.where for problem in problems_of(nameless)]


def test_bonuses_in_single_brackets_are_told_apart() -> None:
    problem = the_problem_of(f"{GOOD}\n[bonuses]\ntitle = 'x'\n".replace("[[bonuses]]", "[bonuses]"))
    assert problem.where == "bonuses"
    assert problem.message == "is already set in line 32; write each under its own heading [[bonuses]]"


def test_a_problem_in_tables_written_on_one_line_has_its_own_line() -> None:
    text = 'challenge = "x"\ntitle = "X"\nphases = [\n  {name = "a", title = "A"},\n  {name = "b", quota = 0},\n]\n'
    lines = {problem.where: problem.line for problem in problems_of(text)}
    assert lines["phases[1].opens"] == 4
    assert lines["phases[2].quota"] == 5
    assert lines["phases[2].title"] == 5


def test_long_values_are_cut() -> None:
    assert len(the_problem_of(GOOD.replace('"last"', f'"{"x" * 5000}"')).found) < 70


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ('title = "Test"', "title = Test", 20, f"{VALUE}; found: title = Test"),
        (
            'title = "Test"',
            "title = “Test”",
            20,
            'quotes are straight in this file: write " instead of “; found: title = “Test”',
        ),
        ('title = "Test"', 'title = "Test', 20, 'a text has no quote at its end; found: title = "Test'),
        ('title = "Test"', "title = 'Test", 20, "a text has no quote at its end; found: title = 'Test"),
        ('title = "Test"', "title =", 20, "nothing is written after the =; found: title ="),
        ('title = "Test"', 'title "Test"', 20, 'a setting is written as a name, =, and a value; found: title "Test"'),
        (
            'title = "Test"',
            'title = "Test" phase',
            20,
            'more follows than one value; a text stands in quotes, a comment after #; found: title = "Test" phase',
        ),
        (
            'title = "Test"',
            'title = "C:\\data"',
            20,
            'a \\ within a text is written twice: \\\\; found: title = "C:\\data"',
        ),
        ('title = "Test"', "? = 1", 20, f"{LINE}; found: ? = 1"),
        (OPENS, "opens = 10.8.2020", 21, f"{DATE}; found: opens = 10.8.2020"),
        (OPENS, "opens = 2020-02-30T00:00:00+02:00", 21, f"{DATE}; found: opens = 2020-02-30T00:00:00+02:00"),
        (OPENS, "opens = 2020-08-10T00:00:00 CEST", 21, f"{DATE}; found: opens = 2020-08-10T00:00:00 CEST"),
        ("[[prizes]]", "[[prizes]", 27, "a heading begins and ends with the same number of brackets; found: [[prizes]"),
        (
            INSTITUTES,
            'organisers = ["University Hospital"',
            3,
            'a list that begins with [ does not end with ]; found: organisers = ["University Hospital"',
        ),
        (
            INSTITUTES,
            'organisers = ["A",\n"B",',
            3,
            'a list that begins with [ does not end with ]; found: organisers = ["A",',
        ),
        ('title = "Test"', 'title = """Test', 20, 'a text has no quote at its end; found: title = """Test'),
        ('title = "Test"', "title = '''Test", 20, "a text has no quote at its end; found: title = '''Test"),
        (
            'title = "Test"',
            "title = 'Test\ncounts = 'best'",
            20,
            "a text has no quote at its end; found: title = 'Test",
        ),
        (
            'title = "Test"',
            "title = {a = 1",
            20,
            "a table that begins with { does not end with }; found: title = {a = 1",
        ),
        ('title = "Test"', 'title = "Te\x01st"', 20, f'{HIDDEN}; found: title = "Te\x01st"'),
        ('title = "Test"', ".title = 1", 20, f"{LINE}; found: .title = 1"),
        ('title = "Test"', "title. = 1", 20, "a name consists of letters, digits, - and _; found: title. = 1"),
        ("[[prizes]]", "[phases]", 27, f"{USED}; found: [phases]"),
        ('currency = "EUR"', "currency", 30, "a setting is written as a name, =, and a value; found: currency"),
    ],
)
def test_a_file_that_is_not_toml_is_told_in_plain_words(old: str, new: str, line: int, message: str) -> None:
    problem = the_problem_of(GOOD.replace(old, new, 1))
    assert (problem.line, problem.where, problem.message) == (line, "", message)


@pytest.mark.parametrize(
    ("old", "new", "line", "where", "message"),
    [
        (
            "quota = 5",
            "quota = 5\n\nquota = 6",
            26,
            "phases[2].quota",
            "is already set in line 24; keep one of the two",
        ),
        (
            "[[prizes]]",
            "[policies]\nmissing = 0\n[[prizes]]",
            27,
            "policies",
            "is already set in line 5; keep one of the two",
        ),
        (
            "[[phases]]",
            "[phases]\nname = 'a'\n[phases]\n[[others]]",
            12,
            "phases",
            "is already set in line 10; write each under its own heading [[phases]]",
        ),
        (
            "grid =",
            "missing = [\n1,\n]\ngrid =",
            7,
            "policies.missing",
            "is already set in line 6; keep one of the two",
        ),
        (
            "quota = 5",
            "visibility = {a = 1, a = 2}",
            24,
            "phases[2].visibility.a",
            "is already set in line 24; keep one of the two",
        ),
    ],
)
def test_a_key_set_twice_is_told_with_both_lines(old: str, new: str, line: int, where: str, message: str) -> None:
    problem = the_problem_of(GOOD.replace(old, new, 1))
    assert (problem.line, problem.where, problem.message) == (line, where, message)


@pytest.mark.parametrize("absurd", ["a = " + "9" * 9999, "a = " + "[" * 9999 + "]" * 9999])
def test_absurd_values_are_an_answer_not_a_crash(absurd: str) -> None:
    assert "too" in the_problem_of(absurd).message


def test_a_folder_without_a_file_says_what_it_looked_for(tmp_path: Path) -> None:
    with pytest.raises(EditionError, match=r"this folder has no challenge\.toml; `isocenter init` writes one"):
        load(tmp_path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(EditionError, match="there is no such file") as caught:
        load(tmp_path / "other.toml")
    assert str(caught.value).startswith(f"{tmp_path / 'other.toml'}: ")


def test_a_file_in_another_encoding_names_the_first_line_that_shows_it(tmp_path: Path) -> None:
    (tmp_path / "challenge.toml").write_bytes(GOOD.replace('"Test"', '"Prüfung"').encode("latin-1"))
    with pytest.raises(EditionError, match=r"challenge\.toml:20: this is not text in UTF-8; save the file as UTF-8"):
        load(tmp_path)


def test_an_image_taken_for_an_edition_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "ct.nii").open("wb") as stream:
        stream.truncate(5_000_000_000)
    with pytest.raises(EditionError, match="5,000,000,000 bytes, far too many"):
        load(tmp_path / "ct.nii")


def test_errors_name_the_file_as_it_was_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "challenge.toml").write_text(GOOD.replace("quota = 5", "quota = 0"))
    with pytest.raises(EditionError) as caught:
        load("demo")
    expected = "demo/challenge.toml:24: phases[2].quota: 0 is not allowed; write a whole number, 1 or more"
    assert str(caught.value) == expected


def test_an_error_crosses_to_another_process() -> None:
    error = EditionError([EditionProblem(1, "title", "5", "5 is not allowed")], "x.toml")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.problems) == ("x.toml:1: title: 5 is not allowed", error.problems)


JARGON = re.compile(
    r"pydantic|Input should|type=|validation error|Traceback|Decimal\(|datetime\.|None|dict|tuple|\bstr\b"
)
VALUES = [
    "",
    "0",
    "-1",
    "1.5",
    "true",
    '""',
    '"x"',
    "[]",
    "[1]",
    "{}",
    "{a = 1}",
    "2020-01-01",
    "12:00:00",
    "nan",
    "'''",
    "“x”",
]


@given(st.data())
def test_whatever_an_organiser_does_to_a_file_is_answered_in_plain_words(data: st.DataObject) -> None:
    lines = GOOD.split("\n")
    for _ in range(data.draw(st.integers(1, 4))):
        i = data.draw(st.integers(0, len(lines) - 1))
        what = data.draw(st.sampled_from(["drop", "copy", "value", "key", "garbage"]))
        key, _, value = lines[i].partition(" = ")
        if what == "drop":
            del lines[i]
        elif what == "copy":
            lines.insert(data.draw(st.integers(0, len(lines))), lines[i])
        elif what == "value":
            lines[i] = f"{key} = {data.draw(st.sampled_from(VALUES))}"
        elif what == "key":
            lines[i] = f"{key[1:]}.{key[:1]} = {value}"
        else:
            lines[i] = data.draw(st.text(st.sampled_from("[]{}=.,#'\"\\ ab1\t"), max_size=8))
        if not lines:
            return
    error = error_of("\n".join(lines))
    if error is not None:
        assert error.problems
        assert not JARGON.search(str(error))
        assert all(problem.line is None or 1 <= problem.line <= len(lines) for problem in error.problems)


def error_of(text: str) -> EditionError | None:
    try:
        parse(text)
    except EditionError as error:
        return error
    return None
