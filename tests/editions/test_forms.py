"""Forms filled in by strangers: what is kept, everything that is wrong at once, and what makes a submission void."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter import editions
from isocenter.editions import (
    COUNTRIES,
    DECLINED,
    AnswerProblem,
    Answers,
    Edition,
    EditionError,
    EquityQuestion,
    Question,
    TeamState,
    Terms,
    check_answers,
    missing,
    void_reasons,
)
from isocenter.evaluation import load_challenge

OPENKBP = editions.new(load_challenge("openkbp2020"))
PERSON = {
    "first_name": "Ada",
    "last_name": "Müller",
    "email": "Ada@Example.org",
    "institution": "University  Hospital\t",
    "department": "Radiation oncology",
    "area": "other: dosimetry",
    "experience": "Yes",
    "position": "Student",
}


def asked(kind: str, **more: Any) -> Question:
    return Question.model_validate({"name": "q", "label": "Q", "kind": kind, **more})


def kept(question: Question | EquityQuestion, given: object, **more: str) -> object:
    found = check_answers([question], {question.name: given}, **more)
    assert isinstance(found, Answers), found
    return found.values[question.name]


def refused(question: Question | EquityQuestion, given: object, **more: str) -> str:
    found = check_answers([question], {question.name: given}, **more)
    assert isinstance(found, list)
    (problem,) = found
    assert (problem.name, problem.label) == (question.name, question.label)
    assert len(problem.message) < 500
    return problem.message


AREA = asked("choice", choices=["Physics", "Learning", "Other…"], most_words=3)
TOOLS = asked("several", choices=["flips", "rotations", "Other..."])
GENDER = EquityQuestion(name="gender", label="Gender", kind="several", choices=("Woman", "Man", "Other"))


def test_a_registration_of_openkbp_is_kept_as_it_was_meant() -> None:
    found = check_answers(OPENKBP.registration, PERSON, account_email="ada@example.org")
    assert found == Answers(
        {**PERSON, "institution": "University Hospital", "area": "Other: dosimetry", "experience": True}
    )
    assert found.texts()["experience"] == "yes"


def test_all_problems_are_told_at_once_in_the_order_of_the_form() -> None:
    answers = {**PERSON, "email": "x@y.z", "department": " \u200b", "position": "Studnt", "sceret": "1", "are": "x"}
    found = check_answers(OPENKBP.registration, answers, account_email="ada@example.org")
    assert isinstance(found, list)
    assert [problem.name for problem in found] == ["email", "department", "position", "sceret", "are"]
    assert found[0].message == '"x@y.z" is not the address of your account; write "ada@example.org"'
    assert found[1] == AnswerProblem("department", "Department", "is missing; this question needs an answer")
    assert found[2].message.startswith('"Studnt" is not one of the answers: "Student", "Professor", ')
    assert found[2].message.endswith('(did you mean "Student"?)')
    assert found[4] == AnswerProblem("are", "", '"are" is no question of this form; did you mean "area"?')


def test_what_is_missing_are_the_required_questions_without_an_answer() -> None:
    lacking = missing(OPENKBP.survey, {"username": "ada", "approach": "  ", "transfer_learning": False, "loss": []})
    assert [question.name for question in lacking] == [
        *("team_name", "model", "approach", "key_factor", "augmentation", "loss", "hardware")
    ]
    assert missing(OPENKBP.equity, {}) == []


@pytest.mark.parametrize(
    ("question", "given", "value"),
    [
        (asked("text"), " a  b\nc ", "a b c"),
        (asked("text"), "e\u0301", "é"),
        (asked("long"), " a \r\n\r\nb\rc ", "a\n\nb\nc"),
        (AREA, "physics", "Physics"),
        (AREA, "Other", "Other"),
        (AREA, "Other…", "Other"),
        (AREA, "OTHER : a; b", "Other: a, b"),
        (TOOLS, ["rotations", "Flips", "flips"], ("flips", "rotations")),
        (TOOLS, "rotations;; flips", ("flips", "rotations")),
        (TOOLS, ("Other: crops; noise", "flips"), ("flips", "Other: crops, noise")),
        (asked("yes-no"), True, True),
        (asked("yes-no"), "NO", False),
        (asked("number"), " 12 ", 12.0),
        (asked("number"), "-.5e1", -5.0),
        (asked("number"), 3, 3.0),
        (asked("url"), "https://example.org:8000/a?b=c#d", "https://example.org:8000/a?b=c#d"),
        (asked("email"), "a.b+c@example.co.uk", "a.b+c@example.co.uk"),
        (asked("country"), "ch", "Switzerland"),
        (asked("country"), "south korea", "South Korea"),
        (GENDER, ["Man", "Woman"], ("Woman", "Man")),
        (GENDER, DECLINED.lower(), (DECLINED,)),
        (EquityQuestion(name="d", label="D", kind="yes-no"), DECLINED, DECLINED),
    ],
)
def test_an_answer_is_kept_in_one_form(question: Question, given: object, value: object) -> None:
    assert kept(question, given) == value


@pytest.mark.parametrize(
    ("question", "given", "message"),
    [
        (asked("text"), 5, "5 is not a text"),
        (asked("text"), ["a"], "a list is not a text"),
        (asked("text"), "x" * 201, "the answer has 201 characters; write at most 200"),
        (asked("text"), "\u0958" * 150, "the answer has 300 characters; write at most 200"),
        (asked("long"), "x" * 20_001, "the answer has 20,001 characters; write at most 20,000"),
        (asked("text"), "a\x00b", "holds a character that cannot be seen (U+0000)"),
        (asked("text"), "\x00", "holds a character that cannot be seen (U+0000)"),
        (asked("long"), "a\u202eb", "holds a character that cannot be seen (U+202E)"),
        (asked("text"), "a\ud800", "holds a character that cannot be seen (U+D800)"),
        (asked("long", most_words=3), "a b\nc d", "the answer has 4 words; write at most 3"),
        (AREA, "Other: a b c d", "the answer has 4 words; write at most 3"),
        (AREA, "Physics: mine", '"Physics: mine" is not one of the answers: "Physics", "Learning", "Other: …"'),
        (TOOLS, {"flips": 1}, "a table is not a list of answers"),
        (TOOLS, ["flips", 5], "5 is not a text"),
        (TOOLS, ["flips"] * 201, "a list is not a list of answers"),
        (GENDER, ["Woman", DECLINED], '"Prefer not to say" goes with no other answer'),
        (GENDER, "Other: me", '"Other: me" is not one of the answers'),
        (asked("yes-no"), "perhaps", '"perhaps" is not one of the answers: "yes", "no"'),
        (asked("yes-no"), DECLINED, "is not one of the answers"),
        (asked("yes-no"), 1, "1 is not a text"),
        (asked("number"), "1,5", '"1,5" is not a number; write one with a point for decimals, such as 12 or 0.5'),
        (asked("number"), "nan", "is not a number"),
        (asked("number"), math.nan, "is not a number"),
        (asked("number"), True, "true is not a number"),
        (asked("number"), "١٢", "is not a number"),
        (asked("number"), "1e999", "is too large a number"),
        (asked("number"), 10**400, "is too large a number"),
        (asked("number"), "9" * 10_000, "is not a number"),
        (asked("email"), "ada", "write it as name@example.org"),
        (asked("email"), "a@b@c.org", "write it as name@example.org"),
        (asked("email"), "a@b.org, c@d.org", "write it as name@example.org"),
        (asked("email"), "a@b.org\nBcc: x@y.z", "write it as name@example.org"),
        (asked("url"), "javascript:alert(1)", "write it as https://example.org/our-code"),
        (asked("url"), "https://user@example.org/", "is not the address of a web page"),
        (asked("url"), "https://example.org/ x", "is not the address of a web page"),
        (asked("url"), "https://localhost/", "is not the address of a web page"),
        (asked("country"), "Swizerland", '(did you mean "Switzerland"?)'),
    ],
)
def test_a_wrong_answer_is_told_with_what_may_be_written(question: Question, given: object, message: str) -> None:
    assert message in refused(question, given)


def test_an_address_is_that_of_the_account_only_where_one_is_known() -> None:
    assert kept(asked("email"), "a@b.org") == "a@b.org"
    assert kept(asked("email"), "a@B.org", account_email=" A@b.ORG ") == "a@B.org"
    assert "is not the address of your account" in refused(asked("email"), "c@b.org", account_email="a@b.org")


def test_an_answer_that_is_left_open_is_not_kept() -> None:
    assert check_answers([AREA, GENDER], {"q": " ", "gender": []}) == Answers({})


def test_the_countries_are_those_of_the_standard() -> None:
    assert len(COUNTRIES) == len(set(COUNTRIES.values())) == 249
    assert (COUNTRIES["CH"], COUNTRIES["KR"], COUNTRIES["GB"]) == ("Switzerland", "South Korea", "United Kingdom")
    assert list(COUNTRIES) == sorted(COUNTRIES)
    assert all(len(code) == 2 and code.isupper() for code in COUNTRIES)
    assert all(kept(asked("country"), form) == name for code, name in COUNTRIES.items() for form in (code, name))


KINDS = [
    AREA,
    TOOLS,
    GENDER,
    *(asked(kind) for kind in ("text", "long", "yes-no", "email", "url", "country", "number")),
]
texts = st.text(max_size=40) | st.sampled_from(
    ["Other: a", "yes", "flips; Other: b", "a@b.co", "http://a.b", "fr", "7"]
)
anything = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), texts, st.lists(texts, max_size=3), st.binary(max_size=3)
)


@given(st.sampled_from(KINDS), anything)
def test_whatever_is_sent_is_kept_refused_or_left_open_and_what_is_kept_stays(question: Question, sent: object) -> None:
    found = check_answers([question], {question.name: sent})
    if isinstance(found, Answers):
        assert check_answers([question], found.values) == found
        assert check_answers([question], found.texts()) == found
        "".join(found.texts().values()).encode()  # text that any file can hold
    else:
        assert all(problem.message for problem in found)


class TestVoid:
    TERMS = Terms(version="2", text="Be fair.", accepted_by="person")
    FULL: ClassVar = {question.name: "x" for question in OPENKBP.survey}

    @staticmethod
    def edition(**more: object) -> Edition:
        return OPENKBP.model_copy(update=more)

    def test_without_the_survey_only_the_last_phase_is_void(self) -> None:
        assert void_reasons(OPENKBP, TeamState()) == ["The survey of the team is not filled in."]
        assert void_reasons(OPENKBP, TeamState(), phase="test") == ["The survey of the team is not filled in."]
        assert void_reasons(OPENKBP, TeamState(), phase="validation") == []
        assert void_reasons(OPENKBP, TeamState(survey=self.FULL)) == []

    def test_an_unfinished_survey_names_what_it_lacks(self) -> None:
        state = TeamState(survey={**self.FULL, "loss": "", "hardware": None, "comments": ""})
        assert void_reasons(OPENKBP, state) == ["The survey of the team lacks an answer to: Loss function; Hardware."]

    def test_a_survey_without_required_questions_has_to_be_sent_all_the_same(self) -> None:
        edition = self.edition(survey=tuple(question for question in OPENKBP.survey if not question.required))
        assert void_reasons(edition, TeamState()) == ["The survey of the team is not filled in."]
        assert void_reasons(edition, TeamState(survey={})) == []

    def test_everybody_accepts_the_version_that_is_in_force(self) -> None:
        edition = self.edition(terms=self.TERMS, survey=())
        state = TeamState(members=("Ada", "Ben", "Cleo"), accepted={"Ada": "2", "Ben": "1"})
        expected = ['Version "2" of the terms is not accepted by Ben, Cleo.']
        assert void_reasons(edition, state) == void_reasons(edition, state, phase="validation") == expected
        assert void_reasons(edition, TeamState(("Ada",), {"Ada": "2"})) == []

    def test_one_member_accepts_for_the_team_but_no_stranger(self) -> None:
        edition = self.edition(terms=self.TERMS.model_copy(update={"accepted_by": "team"}), survey=())
        nobody = ['Version "2" of the terms is not accepted by anybody of the team.']
        assert void_reasons(edition, TeamState(("Ada", "Ben"), {"Ben": "2"})) == []
        assert void_reasons(edition, TeamState(("Ada", "Ben"), {"Zoe": "2", "Ada": "1"})) == nobody

    @pytest.mark.parametrize("by", ["person", "team"])
    def test_a_team_of_nobody_has_accepted_nothing(self, by: str) -> None:
        edition = self.edition(terms=self.TERMS.model_copy(update={"accepted_by": by}), survey=())
        assert len(void_reasons(edition, TeamState())) == 1

    def test_declarations_come_with_every_submission(self) -> None:
        edition = editions.new(load_challenge("picai2022"))
        for phase in edition.phases:
            assert void_reasons(edition, TeamState(), phase=phase.name) == [
                "The declaration of the submission is not filled in."
            ]
        state = TeamState(declarations={"external_data": "none"})
        assert void_reasons(edition, state) == [
            "The declaration of the submission lacks an answer to: Pretrained networks."
        ]

    def test_all_reasons_are_told_at_once(self) -> None:
        edition = self.edition(terms=self.TERMS, declarations=OPENKBP.survey[:1])
        assert len(void_reasons(edition, TeamState(members=("Ada",)))) == 3

    def test_a_phase_that_there_is_not_is_named(self) -> None:
        with pytest.raises(EditionError, match="there is no phase"):
            void_reasons(OPENKBP, TeamState(), phase="final")
