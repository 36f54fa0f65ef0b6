"""[reading], [[stages]] and [[readers]]: a reader study as part of an edition."""

from __future__ import annotations

import pytest

from isocenter.challenges.picai2022 import challenge as picai
from isocenter.editions import EditionError, new, parse, render

HEAD = """\
challenge = "picai2022"
title = "A study"

[[phases]]
name = "test"
title = "Test"
opens = 2026-03-01T00:00:00Z
closes = 2026-04-01T00:00:00Z
results = 2026-04-01T00:00:00Z
"""
READING = """
[reading]
title = "Reader study"
opens = 2026-03-01T00:00:00Z
closes = 2026-06-01T00:00:00Z
guide = "Mark what you suspect."
"""
STAGE = """
[[stages]]
name = "bpmri"
title = "Biparametric"
images = ["t2w", "adc"]
"""


def told(text: str) -> list[str]:
    """What is wrong with a file, with the setting of each."""
    with pytest.raises(EditionError) as caught:
        parse(text)
    return [f"{problem.where}: {problem.message}" for problem in caught.value.problems]


def test_an_edition_without_a_study_has_none() -> None:
    edition = parse(HEAD)
    assert edition.reading is None
    assert edition.stages == edition.readers == ()


def test_picai_has_its_published_protocol() -> None:
    edition = new(picai)
    assert edition.reading is not None
    assert (edition.reading.blocks, edition.reading.practice, edition.reading.most_marks) == (4, 6, 4)
    assert 90 <= (edition.reading.closes - edition.reading.opens).days <= 155  # "3-5 months"
    first, second = edition.stages
    assert (first.images, first.copies) == (("t2w", "adc", "hbv"), False)
    assert (second.images, second.copies) == (("t2w", "adc", "hbv", "dce"), True)
    assert parse(render(edition)) == edition


def test_a_study_needs_a_stage_and_a_stage_a_study() -> None:
    assert told(HEAD + READING) == [
        "stages: a reader study has no stage; write one or more, each under its own heading [[stages]]"
    ]
    assert told(HEAD + STAGE) == [
        "stages: stages belong to a reader study; write its settings under the heading [reading]"
    ]


def test_the_first_stage_has_nothing_to_copy() -> None:
    assert told(HEAD + READING + STAGE + "copies = true\n") == [
        "stages: the first stage copies from the one before it, but there is none; remove copies there"
    ]


def test_a_study_closes_after_it_opens() -> None:
    text = (HEAD + READING + STAGE).replace("2026-06-01", "2026-02-01")
    assert told(text) == [
        "reading.closes: 2026-02-01T00:00:00+00:00 is not after the study opens (2026-03-01T00:00:00+00:00); "
        "write a later moment"
    ]


def test_no_more_marks_than_a_table_of_reads_holds() -> None:
    assert told(HEAD + READING + "most_marks = 5\n" + STAGE) == [
        "reading.most_marks: 5 is not allowed; write a whole number from 0 to 4"
    ]


def test_readers_are_dealt_by_questions_that_they_were_asked() -> None:
    text = HEAD + READING + 'readers_by = ["expert", "years"]\n' + STAGE
    asked = '\n[[readers]]\nname = "expert"\nlabel = "Expert?"\nkind = "yes-no"\n'
    (problem,) = told(text + asked)
    assert problem.startswith('readers: readers_by has "years", which no question under [[readers]]')
    words = asked.replace("expert", "years").replace("yes-no", "long")
    (problem,) = told(text + asked + words)
    assert '"years"' in problem  # answers in own words are in no stratum
    assert parse(text.replace(', "years"', "") + asked).reading is not None


def test_stages_and_questions_have_names_of_their_own() -> None:
    assert told(HEAD + READING + STAGE + STAGE)[0].startswith('stages[2].name: "bpmri" is already the name of stage 1')
