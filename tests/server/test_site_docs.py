"""The pages about the site say what it does: reasons, settings, operations, and who sees what."""

from __future__ import annotations

import itertools
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from isocenter.editions import Edition, Viewer, sight
from isocenter.problems import codes
from isocenter.server.api.v1 import operations

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "isocenter"


def rows(page: str, heading: str = "") -> list[list[str]]:
    """The cells of all tables on a page, without their heads; from a heading on, if one is given."""
    text = (DOCS / page).read_text().partition(heading)[2] if heading else (DOCS / page).read_text()
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    heads = {at - 1 for at, row in enumerate(cells) if set(row) == {"---"}}
    return [row for at, row in enumerate(cells) if at not in heads and set(row) != {"---"}]


def test_the_reference_tells_of_every_code_that_a_submission_can_have() -> None:
    page = (DOCS / "reference" / "problems.md").read_text()
    assert [code.name for code in codes() if f"`{code.name}`" not in page] == []


def test_every_operation_is_told() -> None:
    told = {
        (row[0], row[1].strip("`")) for row in rows("reference/api.md", "## Operations") if row[0] in ("GET", "POST")
    }
    assert told == {(one.method, one.path) for one in operations()}


def test_every_variable_is_told() -> None:
    page = (DOCS / "reference" / "site-settings.md").read_text()
    named = r"(ISOCENTER_[A-Z_]+|DATABASE_URL|EMAIL_URL)"
    read: set[str] = set()
    for path in [*SOURCE.glob("server/**/*.py"), *SOURCE.glob("cli/_s*.py"), SOURCE / "cli" / "_worker.py"]:
        read |= set(re.findall(rf'"{named}"', path.read_text()))
    assert {"ISOCENTER_DATA", "ISOCENTER_CASE_GB", "ISOCENTER_TOKEN", "DATABASE_URL"} <= read
    assert {name for name in read if f"`{name}`" not in page} == set()


EDITION = {
    "challenge": "hecktor2020",
    "title": "Tumours of the neck",
    "phases": [
        {
            "name": "test",
            "title": "Test",
            "announced": "2027-01-02T00:00:00Z",
            "opens": "2027-01-03T00:00:00Z",
            "closes": "2027-01-04T00:00:00Z",
            "results": "2027-01-06T00:00:00Z",
        }
    ],
}
EVERY = ("public", "own", "hidden")
COLUMNS = [(EVERY, 1), (EVERY, 2), (("public",), 5), (("own",), 5), (("hidden",), 5), (EVERY, 6)]
"""Of the table: the visibilities that it is about, and the day of January; the phase is announced on the second."""
UNLESS = ", unless it was hidden"
FIELDS = {
    "that there is one": ("known",),
    "the board: other teams, ranks, names": ("other_scores", "ranks", "names"),
    "the score of one's own team": ("own_scores",),
    "one's own results, case by case, with pictures": ("own_cases",),
    "intervals, rank sets, the metrics behind a score": ("details",),
    "how many teams and submissions there are": ("counts",),
    "plots of how teams came on": ("progress",),
    "its data": ("downloads",),
    "the reference; rows that stand on no board": ("reference", "unlisted"),
}


def seen(field: str, visibility: str, day: int) -> str:
    edition = Edition.model_validate({**EDITION, "phases": [{**EDITION["phases"][0], "visibility": visibility}]})
    now = datetime(2027, 1, day, 12, tzinfo=UTC)
    if getattr(sight(edition, "test", Viewer("anonymous"), now), field):
        return "everybody"
    if not getattr(sight(edition, "test", Viewer("participant", team="Rigi", admitted=True), now), field):
        return "nobody"
    return "whom it is for" if field == "downloads" else "the team"


@pytest.mark.parametrize(
    "row", rows("explanation/site.md", "### Who sees what of a phase")[: len(FIELDS)], ids=lambda row: row[0]
)
def test_who_sees_what_is_told_as_it_is(row: list[str]) -> None:
    what, *cells = row
    for cell, (visibilities, day) in zip(cells, COLUMNS, strict=True):
        for field, visibility in itertools.product(FIELDS[what], visibilities):
            excepted = cell.endswith(UNLESS) and visibility == "hidden"
            assert seen(field, visibility, day) == ("nobody" if excepted else cell.removesuffix(UNLESS)), (field, day)


def test_the_table_of_sight_is_whole() -> None:
    assert [row[0] for row in rows("explanation/site.md", "### Who sees what of a phase")[: len(FIELDS)]] == [*FIELDS]
