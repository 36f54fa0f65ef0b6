"""What people and teams are asked, as tables of `challenge.toml`.

    [[registration]]   everybody who registers, once
    [[equity]]         the same people, voluntarily; stored apart from who they are, published in numbers only
    [[survey]]         every team, once, on its method
    [[declarations]]   every submission
    [terms]            what is agreed to

A question with few possible answers lists them in `choices`. One that ends in "…", as "Other…", is completed in own
words: the answer is then "Other: dosimetry".
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from isocenter.editions._values import Text
from isocenter.schema import Allowed, choice, show
from isocenter.schema.tables import Table, plain

DECLINED = "Prefer not to say"
"""What every question on equity offers, whatever its choices."""

PARTED = ";"
"""Between several answers in the cell of a file; so no choice may hold it."""

_LISTED = ("choice", "several")
_CHOICES = 'two or more answers in quotes between brackets, such as ["Student", "Physicist", "Other…"]'
_SHORT = "lower-case letters, digits, - and _ in quotes, beginning with a letter"
_KINDS = {
    '"text"': "a line of text",
    '"long"': "a text of any number of lines",
    '"choice"': "one of the choices",
    '"several"': "any number of the choices",
    '"yes-no"': "yes or no",
    '"email"': "an e-mail address, which must be that of the person's account",
    '"url"': "the address of a web page",
    '"country"': "a country, by its English name or its two letters",
    '"number"': "a number",
}
_EQUITY_KINDS = {kind: _KINDS[kind] for kind in ('"choice"', '"several"', '"yes-no"')}

QuestionName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$"), Allowed(_SHORT, example='"area"')]
Choice = Annotated[str, Field(pattern=r"^\S(.*\S)?$", max_length=200)]
Choices = Annotated[tuple[Choice, ...], Field(strict=False)]
Help = Annotated[
    str | None,
    Field(pattern=r"\S"),
    Allowed("a text in quotes that is not empty", example='"The one you spend most time on."', absent="there is none"),
]


def is_open(answer: str) -> bool:
    """Whether a choice is to be completed in own words."""
    return answer.endswith(("…", "..."))


def head_of(answer: str) -> str:
    """A choice without the dots that invite own words.

    Examples
    --------
    >>> head_of("Other…")
    'Other'
    """
    return answer.rstrip("….").rstrip() if is_open(answer) else answer


def _checked(choices: tuple[str, ...] | None, info: ValidationInfo, listed: tuple[str, ...]) -> tuple[str, ...] | None:
    """Choices that go with the kind of their question, and that nobody can mix up."""
    kind = info.data.get("kind")
    if kind in listed and choices is None:
        raise plain(f"is missing, and {show(kind)} needs it; write {_CHOICES}")
    if kind is not None and kind not in listed and choices is not None:
        raise plain(f"{show(kind)} has no choices; leave them out, or write another kind")
    if choices is None:
        return None
    heads = [head_of(one).casefold() for one in choices]
    if len(choices) < 2:
        raise plain(f"there are fewer than two; write {_CHOICES}")
    for i, one in enumerate(choices):
        if PARTED in one:
            raise plain(f"{show(one)} has a {PARTED} in it, which parts several answers in a file; write a comma")
        if not heads[i] or heads[i] in heads[:i]:
            raise plain(f"{show(one)} is empty or there twice; write {_CHOICES}")
    return choices


class Question(Table):
    """Something that a person or a team is asked, under `[[registration]]`, `[[survey]]` or `[[declarations]]`."""

    reminds: ClassVar[bool] = False

    name: QuestionName = Field(description="The short name of the question, which is its column in a file of answers.")
    label: Annotated[Text, Allowed("a text in quotes that is not empty", example='"Primary research area"')] = Field(
        description="The question as people read it, and the heading of its answers in the report."
    )
    kind: Annotated[
        Literal["text", "long", "choice", "several", "yes-no", "email", "url", "country", "number"],
        choice(_KINDS, example='"choice"'),
    ] = Field(description="What an answer is.")
    choices: Annotated[
        Choices | None,
        Allowed(
            _CHOICES,
            example='["Medical physics", "Machine learning", "Other…"]',
            absent="there are none, as only two kinds have any",
        ),
    ] = Field(
        default=None,
        validate_default=True,
        description='What can be chosen; an answer that ends in "…" is completed in own words.',
    )
    required: Annotated[bool, Allowed("true or false", example="true")] = Field(
        default=False, description="Whether there must be an answer."
    )
    most_words: Annotated[
        int | None, Field(ge=1), Allowed("a whole number, 1 or more", example="20", absent="there is no limit")
    ] = Field(default=None, description="How many words an answer in own words may have.")
    help: Help = Field(default=None, description="What stands below the question to explain it.")

    @property
    def offered(self) -> tuple[str, ...]:
        """The answers that can be chosen; empty where the answer is written."""
        return ("yes", "no") if self.kind == "yes-no" else self.choices or ()

    @field_validator("name")
    @classmethod
    def _no_column_of_ours(cls, name: str) -> str:
        if name == "team":
            raise plain('"team" is the column of the team in a file of answers; write another name')
        return name

    @field_validator("choices")
    @classmethod
    def _as_the_kind_has_them(cls, choices: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        return _checked(choices, info, _LISTED)

    @field_validator("most_words")
    @classmethod
    def _of_own_words(cls, most: int | None, info: ValidationInfo) -> int | None:
        kind, choices = info.data.get("kind"), info.data.get("choices") or ()
        if most is not None and kind in ("yes-no", "email", "url", "country", "number"):
            raise plain(f"an answer of the kind {show(kind)} has no words to count; leave it out")
        if most is not None and choices and not any(map(is_open, choices)):
            raise plain('no choice ends in "…", so there are no own words to count; leave it out')
        return most


class EquityQuestion(Table):
    """A question of the voluntary part, under `[[equity]]`.

    It is never required, always offers `DECLINED`, and has no own words: they would tell who wrote them.
    """

    reminds: ClassVar[bool] = False

    name: Annotated[QuestionName, Allowed(_SHORT, example='"gender"')] = Field(
        description="The short name of the question in a file of answers."
    )
    label: Annotated[Text, Allowed("a text in quotes that is not empty", example='"Gender identity"')] = Field(
        description="The question as people read it, and the heading of its numbers in the report."
    )
    kind: Annotated[Literal["choice", "several", "yes-no"], choice(_EQUITY_KINDS, example='"several"')] = Field(
        description="What an answer is."
    )
    choices: Annotated[
        Choices | None,
        Allowed(
            'two or more answers in quotes between brackets, such as ["Woman", "Man", "Other"]',
            example='["Woman", "Man", "Other"]',
            absent='there are none, as "yes-no" has none',
        ),
    ] = Field(
        default=None,
        validate_default=True,
        description=f'What can be chosen; "{DECLINED}" is always offered too, and need not be written.',
    )
    help: Annotated[
        Help, Allowed("a text in quotes that is not empty", example='"Choose all that apply."', absent="there is none")
    ] = Field(default=None, description="What stands below the question to explain it.")

    @property
    def required(self) -> bool:
        """Never."""
        return False

    @property
    def most_words(self) -> None:
        """There are no own words."""

    @property
    def offered(self) -> tuple[str, ...]:
        """The answers that can be chosen, the last of them not to say."""
        given = ("yes", "no") if self.kind == "yes-no" else self.choices or ()
        return (*(one for one in given if one.casefold() != DECLINED.casefold()), DECLINED)

    @field_validator("choices")
    @classmethod
    def _closed(cls, choices: tuple[str, ...] | None, info: ValidationInfo) -> tuple[str, ...] | None:
        for one in choices or ():
            if is_open(one):
                raise plain(f"{show(one)} asks for own words, which would tell who wrote them; write it without dots")
        return _checked(choices, info, _LISTED)


AnyQuestion = Question | EquityQuestion


class Terms(Table):
    """What is agreed to before a submission counts. A new version has to be accepted again."""

    version: Annotated[Text, Allowed("a text in quotes that is not empty", example='"1"')] = Field(
        description="The version of the terms, to be changed whenever the text is."
    )
    text: Annotated[
        Text,
        Allowed(
            'a text in quotes that is not empty, or between """ and """ if it has several lines',
            example='"The data are used for this challenge only, and are not passed on."',
        ),
    ] = Field(description="The terms themselves, in Markdown.")
    accepted_by: Annotated[
        Literal["person", "team"],
        choice({'"person"': "everybody in a team", '"team"': "one member for the whole team"}, example='"person"'),
    ] = Field(default="person", description="Who has to accept them.")
