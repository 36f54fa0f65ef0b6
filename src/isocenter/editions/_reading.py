"""The reader study of an edition, as tables of `challenge.toml`.

    [reading]      when it runs, its guide, and how cases are dealt to readers
    [[stages]]     what is shown of every case, one stage after the other
    [[readers]]    what everybody is asked who joins as a reader

Readers read case by case, and in a case stage by stage; what was handed in of a stage is locked. A read is what
`isocenter.readers` scores: marks with a PI-RADS of 3, 4 or 5, and a likelihood for the patient from 0 to 100.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, ValidationInfo, field_validator

from isocenter.editions._values import Moment, Name, Text
from isocenter.schema import Allowed, choice, show
from isocenter.schema.tables import Table, plain

MOST_MARKS = 4
"""How many marks a table of reads can hold; see `isocenter.readers`."""

_FACTS = "names in quotes between brackets, as the columns of cases.csv have them"
_ASKED = 'names of questions under [[readers]] in quotes between brackets, such as ["area"]'
_WHEN = "a date and time with its difference to UTC, such as"
Facts = Annotated[
    tuple[Annotated[str, Field(pattern=r"^\S(.*\S)?$")], ...],
    Field(strict=False),
    Allowed(f'{_FACTS}, such as ["age", "psa"], or []', example='["age", "psa"]'),
]


class Reading(Table):
    """When readers read, what they must have done before, and how cases are dealt to them."""

    title: Annotated[Text, Allowed("a text in quotes that is not empty", example='"Reader study"')] = Field(
        description="The name of the study as readers read it."
    )
    opens: Annotated[Moment, Allowed(f"{_WHEN} 2020-06-01T08:00:00+02:00", example="2020-06-01T08:00:00+02:00")] = (
        Field(description="The moment from which cases can be read; joining and practice come before.")
    )
    closes: Moment = Field(description="The moment from which nothing can be read or handed in.")
    guide: Annotated[
        Text,
        Allowed(
            'a text in quotes that is not empty, or between """ and """ if it has several lines',
            example='"Mark every lesion that you suspect, and give each its PI-RADS."',
        ),
    ] = Field(description="What readers read first, in Markdown, and confirm to have read.")
    guide_version: Annotated[Text, Allowed("a text in quotes that is not empty", example='"1"')] = Field(
        default="1", description="The version of the guide; where it changes, readers confirm it again."
    )
    practice: Annotated[int, Field(ge=0, le=1000), Allowed("a whole number, 0 or more", example="6")] = Field(
        default=0, description="How many practice cases everybody reads before the first case of the study."
    )
    most_marks: Annotated[
        int, Field(ge=0, le=MOST_MARKS), Allowed(f"a whole number from 0 to {MOST_MARKS}", example="4")
    ] = Field(default=MOST_MARKS, description="How many lesions can be marked in a case.")
    likelihood_of: Annotated[Text, Allowed("a text in quotes that is not empty", example='"a significant cancer"')] = (
        Field(default="a significant cancer", description="What readers say the likelihood of, as the page words it.")
    )
    facts: Facts = Field(default=(), description="What is known of the patient that readers see beside the scans.")
    blocks: Annotated[int, Field(ge=1, le=100), Allowed("a whole number from 1 to 100", example="4")] = Field(
        default=1, description="Into how many blocks cases and readers are dealt; readers read the cases of their own."
    )
    cases_by: Annotated[Facts, Allowed(f'{_FACTS}, such as ["positive", "centre"], or []', example='["centre"]')] = (
        Field(default=(), description="What the blocks of cases shall have alike.")
    )
    readers_by: Annotated[tuple[Name, ...], Field(strict=False), Allowed(f"{_ASKED}, or []", example='["area"]')] = (
        Field(default=(), description="What the blocks of readers shall have alike.")
    )
    withdrawn: Annotated[
        Literal["keep", "drop"],
        choice(
            {
                '"keep"': "what they handed in stays in the study",
                '"drop"': "what they handed in is left out of the export",
            },
            example='"keep"',
        ),
    ] = Field(default="keep", description="What becomes of the reads of readers who withdraw.")

    @field_validator("closes")
    @classmethod
    def _after_opening(cls, closes: datetime, info: ValidationInfo) -> datetime:
        opens = info.data.get("opens")
        if opens is not None and closes <= opens:
            raise plain(f"{show(closes)} is not after the study opens ({show(opens)}); write a later moment")
        return closes


class Stage(Table):
    """What is shown of a case at once, and asked for."""

    name: Annotated[
        Name,
        Allowed(
            'lower-case letters, digits, - and _ in quotes, beginning with a letter, such as "bpmri"',
            example='"bpmri"',
        ),
    ] = Field(description="The short name of the stage, which is the modality in a table of reads.")
    title: Annotated[Text, Allowed("a text in quotes that is not empty", example='"Biparametric MRI"')] = Field(
        description="The name of the stage as readers read it."
    )
    images: Annotated[
        tuple[Name, ...],
        Field(strict=False, min_length=1, max_length=12),
        Allowed('names of scans in quotes between brackets, such as ["t2w", "adc", "hbv"]', example='["t2w", "adc"]'),
    ] = Field(description="The scans that are shown, by the names of their files; marks are set on any of them.")
    copies: Annotated[bool, Allowed("true or false", example="false")] = Field(
        default=False, description="Whether the stage begins with what was handed in for the stage before it."
    )
