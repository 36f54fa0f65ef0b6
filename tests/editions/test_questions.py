"""What people are asked, as tables of the file: read back as written, and every mistake with its line."""

from __future__ import annotations

import re
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from isocenter import editions
from isocenter.challenges.openkbp2020._forms import EQUITY, REGISTRATION, SURVEY
from isocenter.editions import DECLINED, Edition, EditionError, EquityQuestion, Question, Terms, parse, render
from isocenter.evaluation import load_challenge
from isocenter.schema.tables import allowed_in

BASE = """\
challenge = "hecktor2020"
title = "HECKTOR 2020"

[[phases]]
name = "test"
title = "Test"
opens = 2020-08-10T00:00:00+02:00
closes = 2020-09-10T23:59:59+02:00
results = 2020-10-04T09:00:00+02:00
"""
CHOICES = 'write two or more answers in quotes between brackets, such as ["Student", "Physicist", "Other…"]'

texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(lambda text: text.strip())
names = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True).filter(lambda name: name != "team")
words = st.from_regex(r"[A-Za-z\"\\é][A-Za-z ,:\"\\é]{0,8}[a-z]", fullmatch=True)
lists = st.lists(words, min_size=2, max_size=4, unique_by=str.casefold).map(tuple)


@st.composite
def questions(draw: Any, name: str) -> Question:
    kind = draw(st.sampled_from(get_args(Question.model_fields["kind"].annotation)))
    listed = kind in ("choice", "several")
    choices = (*draw(lists), draw(st.sampled_from(["Something else…", "Something else..."]))) if listed else None
    counted = listed or kind in ("text", "long")
    return Question(
        name=name,
        label=draw(texts),
        kind=kind,
        choices=choices,
        required=draw(st.booleans()),
        most_words=draw(st.none() | st.integers(1, 500)) if counted else None,
        help=draw(st.none() | texts),
    )


@st.composite
def equity_questions(draw: Any, name: str) -> EquityQuestion:
    kind = draw(st.sampled_from(["choice", "several", "yes-no"]))
    return EquityQuestion(
        name=name, label=draw(texts), kind=kind, choices=None if kind == "yes-no" else draw(lists), help=None
    )


@st.composite
def forms(draw: Any) -> Edition:
    def some(of: Any) -> tuple[Any, ...]:
        return tuple(draw(of(name)) for name in draw(st.lists(names, max_size=3, unique=True)))

    terms = st.builds(Terms, version=texts, text=texts, accepted_by=st.sampled_from(["person", "team"]))
    return parse(BASE).model_copy(
        update={
            "registration": some(questions),
            "equity": some(equity_questions),
            "survey": some(questions),
            "declarations": some(questions),
            "terms": draw(st.none() | terms),
        }
    )


@given(forms())
def test_forms_are_read_back_as_they_were_written(edition: Edition) -> None:
    text = render(edition)
    assert parse(text) == edition
    assert render(parse(text)) == text
    assert Edition.model_validate_json(edition.model_dump_json()) == edition


def test_the_settings_of_a_question_are_explained_once_in_a_file() -> None:
    text = render(editions.new(load_challenge("openkbp2020")))
    for field in (*Question.model_fields.values(), *EquityQuestion.model_fields.values()):
        assert " ".join(text.replace("\n#", " ").split()).count(field.description or "?") in (1, 2)
    assert text.count(Question.model_fields["required"].description or "?") == 1
    assert text.count("[[survey]]\n") == 11
    # A question after the first shows only what is set: no choices behind a # for one that has none.
    (last,) = [part for part in text.split("\n\n") if 'name = "code"' in part]
    assert "#" not in last


def problems_of(form: str) -> list[tuple[int | None, str, str]]:
    with pytest.raises(EditionError) as caught:
        parse(BASE + form)
    return [(problem.line, problem.where, problem.message) for problem in caught.value.problems]


HEAD = '[[registration]]\nname = "area"\nlabel = "Area"\n'
EQUAL = '[[equity]]\nname = "gender"\nlabel = "Gender"\n'


@pytest.mark.parametrize(
    ("form", "line", "where", "message"),
    [
        (HEAD + 'kind = "choice"\n', 10, "choices", f'is missing, and "choice" needs it; {CHOICES}'),
        (
            HEAD + 'kind = "text"\nchoices = ["a", "b"]\n',
            14,
            "choices",
            '"text" has no choices; leave them out, or write another kind',
        ),
        (HEAD + 'kind = "several"\nchoices = ["a"]\n', 14, "choices", f"there are fewer than two; {CHOICES}"),
        (
            HEAD + 'kind = "several"\nchoices = ["a", "A…"]\n',
            14,
            "choices",
            f'"A…" is empty or there twice; {CHOICES}',
        ),
        (HEAD + 'kind = "choice"\nchoices = ["a", "…"]\n', 14, "choices", f'"…" is empty or there twice; {CHOICES}'),
        (
            HEAD + 'kind = "choice"\nchoices = ["a; b", "c"]\n',
            14,
            "choices",
            '"a; b" has a ; in it, which parts several answers in a file; write a comma',
        ),
        (HEAD + 'kind = "choice"\nchoices = [\n"a",\n5]\n', 16, "choices[2]", f"5 is not allowed; {CHOICES}"),
        (
            HEAD + 'kind = "url"\nmost_words = 5\n',
            14,
            "most_words",
            'an answer of the kind "url" has no words to count; leave it out',
        ),
        (
            HEAD + 'kind = "choice"\nchoices = ["a", "b"]\nmost_words = 5\n',
            15,
            "most_words",
            'no choice ends in "…", so there are no own words to count; leave it out',
        ),
        (
            HEAD + 'kind = "text"\nmost_words = 0\n',
            14,
            "most_words",
            "0 is not allowed; write a whole number, 1 or more",
        ),
        (HEAD + 'kind = "text"\nrequired = "yes"\n', 14, "required", '"yes" is not allowed; write true or false'),
        (HEAD + 'kind = "text"\nmandatory = true\n', 14, "mandatory", None),
        (HEAD + 'kind = "e-mail"\n', 13, "kind", None),
        (HEAD.replace("area", "team") + 'kind = "text"\n', 11, "name", None),
        (HEAD.replace("area", "Research area") + 'kind = "text"\n', 11, "name", None),
    ],
)
def test_a_mistake_in_a_question_is_told_with_its_line(form: str, line: int, where: str, message: str | None) -> None:
    (problem,) = problems_of(form)
    assert problem[:2] == (line, f"registration[1].{where}")
    assert message is None or problem[2] == message


@pytest.mark.parametrize(
    ("form", "where", "message"),
    [
        ('kind = "yes-no"\nrequired = true\n', "required", "does not belong here, but under the heading"),
        ('kind = "text"\n', "kind", '"text" is not allowed; write "choice", "several" or "yes-no"'),
        ('kind = "choice"\nchoices = ["Woman", "Other…"]\n', "choices", "own words, which would tell who wrote them"),
        ('kind = "choice"\n', "choices", "is missing"),
    ],
)
def test_equity_is_never_required_and_never_in_own_words(form: str, where: str, message: str) -> None:
    (problem,) = problems_of(EQUAL + form)
    assert problem[1] == f"equity[1].{where}"
    assert message in problem[2]


@pytest.mark.parametrize(
    "choices", [["Woman", "Man"], ["Woman", "Man", DECLINED], ["prefer not to SAY", "Woman", "Man"]]
)
def test_equity_always_offers_not_to_say_and_once(choices: list[str]) -> None:
    question = EquityQuestion.model_validate({"name": "g", "label": "G", "kind": "several", "choices": choices})
    assert question.offered == ("Woman", "Man", DECLINED)
    assert EquityQuestion(name="d", label="D", kind="yes-no").offered == ("yes", "no", DECLINED)


@pytest.mark.parametrize("table", ["registration", "survey", "declarations", "equity"])
def test_questions_of_a_form_have_different_names(table: str) -> None:
    entry = f'[[{table}]]\nname = "a"\nlabel = "A"\nkind = "yes-no"\n'
    assert problems_of(entry + entry) == [
        (15, f"{table}[2].name", '"a" is already the name of question 1; write another')
    ]


def test_a_form_in_single_brackets_twice_is_told_how_to_write_it() -> None:
    ((line, where, message),) = problems_of("[survey]\na = 1\n[survey]\nb = 2\n")
    assert (line, where) == (12, "survey")
    assert message == "is already set in line 10; write each under its own heading [[survey]]"


def test_all_problems_of_all_forms_are_told_at_once() -> None:
    found = problems_of(
        HEAD + 'kind = "choice"\n\n' + EQUAL + 'kind = "long"\n\n[terms]\nversion = 2\naccepted_by = "me"\n'
    )
    assert [(line, where) for line, where, _ in found] == [
        (10, "registration[1].choices"),
        (18, "equity[1].kind"),
        (20, "terms.text"),
        (21, "terms.version"),
        (22, "terms.accepted_by"),
    ]


def test_openkbp_asks_what_its_surveys_asked() -> None:
    edition = editions.new(load_challenge("openkbp2020"))
    assert [len(form) for form in (REGISTRATION, EQUITY, SURVEY)] == [8, 3, 11]
    assert all(question.required for question in edition.registration)
    assert [question.kind for question in edition.equity] == ["several", "several", "yes-no"]
    assert [question.name for question in edition.survey if not question.required] == ["comments", "code"]
    assert sum(question.kind == "long" for question in edition.survey if question.required) == 5
    assert not edition.declarations


@pytest.mark.parametrize("name", ["hecktor2020", "picai2022"])
def test_hecktor_and_picai_ask_for_data_and_networks_from_elsewhere(name: str) -> None:
    declared = editions.new(load_challenge(name)).declarations
    assert [question.name for question in declared] == ["external_data", "pretrained_networks"]
    assert all(question.required and "licence" in (question.help or "") for question in declared)


def test_every_kind_is_explained() -> None:
    for model in (Question, EquityQuestion):
        kinds = {f'"{kind}"' for kind in get_args(model.model_fields["kind"].annotation)}
        assert set(allowed_in(model.model_fields["kind"]).choices) == kinds


@pytest.mark.parametrize("model", [Question, EquityQuestion, Terms])
def test_every_setting_is_described_in_one_plain_sentence_and_shown_in_the_file(model: type[BaseModel]) -> None:
    text = render(parse(BASE))
    flat = " ".join(text.replace("\n#", " ").split())
    for name, field in model.model_fields.items():
        assert field.description, name
        assert re.fullmatch(r"[A-Z][^.=]+\.", field.description), name
        assert field.description in flat
        assert f"\n# {name} = {allowed_in(field).example}\n" in text
        assert all(meaning in flat for meaning in allowed_in(field).choices.values())


def test_the_examples_hold_once_their_marks_are_removed() -> None:
    before, heading, after = render(parse(BASE)).partition("# From here on, the forms")
    after = re.sub(r"^# (\w+ = .*|\[\[\w+\]\]|\[\w+\])$", r"\1", after, flags=re.MULTILINE)
    edition = parse(before + heading + after)
    (area,), (gender,) = edition.registration, edition.equity
    assert edition.survey == edition.declarations == (area,)
    assert area.offered == ("Medical physics", "Machine learning", "Other…")
    assert (area.required, area.most_words) == (True, 20)
    assert gender.offered == ("Woman", "Man", "Other", DECLINED)
    assert edition.terms is not None
    assert (edition.terms.version, edition.terms.accepted_by) == ("1", "person")


def test_terms_of_several_lines_stay_as_they_are() -> None:
    terms = Terms(version="2020-02-21", text="# Terms\n\n- Be *fair*.\n", accepted_by="team")
    assert parse(render(parse(BASE).model_copy(update={"terms": terms}))).terms == terms
