"""The structured description: what the code knows, what the organisers say, what is still empty."""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from typer.testing import CliRunner, Result

import isocenter
from isocenter import editions, ranking
from isocenter.cli import app
from isocenter.editions import Assessment, Datasets, Edition, Mission, Organisation, Summary
from isocenter.evaluation import Challenge, Score
from isocenter.report import Description, describe_edition, description_markdown, description_page
from isocenter.submissions import MaskFile

TABLES = (Summary, Organisation, Mission, Datasets, Assessment)
FIVE = ("hecktor2020", "lung2019", "openkbp2020", "doserad2026", "picai2022")
# Item by item, with the letters of its parts.
PARTS = {1: "ab", 4: "ab", 6: "abc", 7: "abcdef", 8: "ab", 12: "ab", 16: "ab", 18: "ab", 19: "ab", 21: "abcd"} | {
    22: "abcd",
    23: "abcd",
    25: "ab",
    26: "ab",
    27: "abc",
    28: "ab",
}
ITEMS = [f"{item}{part}" for item in range(1, 30) for part in PARTS.get(item, " ")]
ITEMS = [item.strip() for item in ITEMS]
FROM_RULES = {"5", "7c", "7d", "7e", "8a", "8b", "9", "12a", "26a", "27a", "27b", "28a", "29"}


def measure(reference: Any, output: Mapping[str, Any]) -> Iterator[Score]:
    yield Score("dice", 1.0)


BARE = Challenge(
    name="bare",
    title="A bare challenge",
    reference={"mask": MaskFile()},
    output={"mask": MaskFile(grid_of="mask")},
    metrics=("dice", "jaccard"),
    measure=measure,
    boards={"dice": ranking.MeanThenRank("dice", missing=ranking.FixedValue(0.0))},
    edition={
        "phases": [
            {
                "name": "test",
                "title": "Test phase",
                "opens": "2026-03-29T00:00:00+01:00",
                "closes": "2026-04-30T00:00:00Z",
                "results": "2026-05-01T12:00:00+05:30",
            }
        ]
    },
)


def described(challenge: Challenge = BARE, **changes: Any) -> Description:
    """The description of an edition of the challenge with some settings changed, as a file has them."""
    edition = editions.new(replace(challenge, edition={**challenge.edition, **changes}))
    return describe_edition(edition, editions.apply(edition, challenge))


def answer(found: Description, number: str) -> str:
    """The answer to an item as one text."""
    item = next(item for section in found.sections for item in section.items if item.number == number)
    return json.dumps([block.to_dict() for block in item.answer], ensure_ascii=False)


def full() -> dict[str, dict[str, Any]]:
    """Every setting of the description's tables, each with a text of its own."""
    tables: dict[str, dict[str, Any]] = {
        table.__name__.lower(): {name: f"text of {name}" for name in table.model_fields} for table in TABLES
    }
    tables["summary"]["keywords"] = ["one word", "another"]
    return tables


def test_items_are_those_of_the_published_forms_in_their_order() -> None:
    numbers = [item.number for section in described().sections for item in section.items]
    assert numbers == [*ITEMS, ""]


def test_every_setting_answers_one_item_and_is_missed_where_it_is_left_out() -> None:
    known = {f"{table.__name__.lower()}.{name}" for table in TABLES for name in table.model_fields}
    missed = [gap.field for _, gap in described().still_empty()]
    assert len(missed) == len(set(missed))
    assert set(missed) == known | {"organisers", "contact", "url"}


def test_a_full_edition_has_nothing_empty_and_says_everything_once() -> None:
    found = described(**full(), organisers=["A hospital"], contact="x@example.org", url="https://example.org")
    assert list(found.still_empty()) == []
    text = json.dumps(found.to_dict())
    for table in TABLES:
        for name in table.model_fields:
            assert text.count(f'"text of {name}"') == (name != "keywords"), name
    assert "one word; another" in answer(found, "3")
    assert "Nothing." in description_markdown(found).split("## Still empty")[1]


def test_only_mandatory_settings_are_missed_by_who_asks_for_them() -> None:
    strict = {gap.field for _, gap in described().still_empty(mandatory=True)}
    assert {"summary.abstract", "organisation.ethics", "mission.modality", "contact"} <= strict
    assert not {"summary.acronym", "organisation.event", "url", "datasets.merging"} & strict


@pytest.mark.parametrize("name", [*FIVE, "doserad2026-floored", "picai2022-from-maps"])
def test_what_code_knows_is_there_for_every_challenge(name: str) -> None:
    challenge = isocenter.challenge(name)
    edition = editions.new(challenge)
    found = describe_edition(edition, editions.apply(edition, challenge))
    by_number = {item.number: item for section in found.sections for item in section.items}
    for number in FROM_RULES:
        assert by_number[number].answer, number
        assert by_number[number].source in ("rules", "both") or number == "7d"
    for board, rule in challenge.boards.items():
        assert f"{board}" in answer(found, "27a")
        assert f'"metric": "{rule.metric}"' in answer(found, "26a")
    main = next(iter(challenge.boards.values()))
    assert json.dumps(ranking.pseudo_code(main), ensure_ascii=False) in answer(found, "27a")


def test_the_published_editions_know_the_facts_of_their_designs() -> None:
    facts = {
        "hecktor2020": ("17", "FDG-PET/CT"),
        "lung2019": ("22b", "229 training, 96 validation and 136 holdout cases"),
        "openkbp2020": ("22b", "200 training, 40 validation and 100 test cases"),
        "doserad2026": ("11", "CC BY-NC"),
        "picai2022": ("19b", "ISUP grade 2 or more"),
    }
    for name, (number, fact) in facts.items():
        assert fact in answer(described(isocenter.challenge(name)), number)


def test_dates_are_told_on_the_clock_of_the_file_and_on_that_of_the_world() -> None:
    schedule = answer(described(), "9")
    assert "2026-03-29 00:00:00 UTC+01:00 (2026-03-28 23:00:00 UTC)" in schedule
    assert "2026-04-30 00:00:00 UTC" in schedule
    assert "2026-05-01 12:00:00 UTC+05:30 (2026-05-01 06:30:00 UTC)" in schedule


def test_taking_part_is_told_as_the_edition_sets_it() -> None:
    phase = BARE.edition["phases"][0]
    found = described(
        phases=[{**phase, "quota": 1, "quota_per": "week", "counts": "chosen", "visibility": "own", "cases": 77}],
        policies={"organisers": "ranked", "announce": 1, "grid": "resample"},
    )
    assert "at most 1 in any seven days in a row" in answer(found, "8b")
    assert "the one that the team chooses" in answer(found, "8b")
    assert "a team sees its own row" in answer(found, "7e")
    assert "The best team is announced" in answer(found, "7e")
    assert "ranked like others, and win no prize" in answer(found, "7c")
    assert '"cases": "77"' in answer(found, "22b")
    assert "resampled" in answer(found, "8a")
    assert "resampled" in answer(found, "27b")
    assert "any number" in answer(described(), "8b")


def test_who_is_announced_is_told_by_phase_where_phases_differ() -> None:
    picai = answer(described(isocenter.challenge("picai2022")), "7e")
    assert "Open development: testing: all teams are announced by name" in picai
    assert "Closed testing, by invitation of the best five: the best 5 teams are announced by name" in picai


def test_prizes_bonuses_and_payouts_are_told_in_full() -> None:
    lung = answer(described(isocenter.challenge("lung2019")), "7d")
    assert '{"place": "1", "prize": "10,000 USD", "phase": "Phase 1: CT alone"}' in lung
    assert "15 USD for every 0.001 by which its score is better than 0.574, rounded up to a multiple of 25" in lung
    assert (
        "the team that leads the board at 2017-02-14 00:00:00 UTC, by all submissions before; of equals, to the" in lung
    )
    assert "There are no prizes." in answer(described(), "7d")
    promised = described(organisation={"awards": "A cup."})
    assert json.loads(answer(promised, "7d")) == [{"text": "A cup."}]


def test_ranking_and_missing_cases_follow_the_policies_in_force() -> None:
    before, after = described(), described(policies={"missing": "worst", "ties": "average"})
    assert "counts as 0." in answer(before, "27b")
    assert "counts as the worst possible value" in answer(after, "27b")
    assert "share the mean of their ranks" in answer(after, "27a")
    assert "#{t ≠ s: t equal to s} / 2" in answer(after, "27a")


def test_a_board_of_the_edition_is_described_like_the_others() -> None:
    board = {"name": "median", "main": True, "rule": "quantile", "metric": "jaccard"}
    found = described(boards=[board])
    assert "The board median decides; beside it stand dice." in answer(found, "27a")
    assert "0.5 quantile over i of x[s, i]" in answer(found, "27a")
    assert "with fewer than five cases beyond the quantile" in answer(found, "28a")


def test_boards_that_differ_in_the_metric_only_are_told_together() -> None:
    lung = json.loads(answer(described(isocenter.challenge("lung2019")), "27a"))
    assert sum("code" in block for block in lung) == 1
    assert lung[-1]["text"] == "In the same way, each by its own metric: dice, jaccard, precision and recall."
    picai = json.loads(answer(described(isocenter.challenge("picai2022")), "27a"))
    assert sum("code" in block for block in picai) == 3


def test_metrics_come_with_formula_unit_direction_and_bounds() -> None:
    (row,) = [row for row in json.loads(answer(described(), "26a"))[-1]["table"] if row["metric"] == "dice"]
    assert row == {
        "metric": "dice",
        "definition": "Dice similarity coefficient, 2|T∩P| / (|T|+|P|)",
        "unit": "–",
        "better": "higher",
        "bounds": "0 to 1",
        "ranks on the boards": "dice",
    }
    openkbp = answer(described(isocenter.challenge("openkbp2020")), "26a")
    assert '"unit": "Gy", "better": "lower", "bounds": "0 to ∞"' in openkbp
    assert "never ranked: leaked_dose" in openkbp
    doserad = answer(described(isocenter.challenge("doserad2026")), "26a")
    assert "mean |p − r| / max r over the voxels with r ≥ 0.1 · max r" in doserad
    assert "number of voxels where dose can be" in openkbp


def test_a_measure_without_a_docstring_of_its_own_says_nothing() -> None:
    for silent in (measure, functools.partial(measure)):
        assert len(json.loads(answer(described(replace(BARE, measure=silent)), "26a"))) == 1


def test_the_papers_behind_the_metrics_are_named() -> None:
    found = described(isocenter.challenge("picai2022"))
    (item,) = [item for section in found.sections for item in section.items if not item.number]
    assert "Hanley JA, McNeil BJ." in str(item.answer)
    assert "Lancet Oncol 25 (2024) 879-887." in str(item.answer)


def test_run_time_limits_and_ties_of_weighted_ranks_are_told() -> None:
    found = described(isocenter.challenge("doserad2026"))
    assert "run_time of 1 s or more is excluded before ranking" in answer(found, "27a")
    assert "do not vary with the cases" in answer(found, "28a")
    assert "each metric, all at once (Bonferroni)" in answer(found, "28a")
    assert '"metric": "run_time"' in answer(found, "26a")


def test_statistics_tell_what_is_computed_by_default() -> None:
    text = answer(described(), "28a")
    assert "95 % percentile interval, of 10,000 bootstrap resamples of the cases (seed 0)" in text
    assert "by Holm's method, significant at 0.05" in text
    tests = inspect.signature(ranking.significance).parameters
    assert [tests[name].default for name in ("family", "test", "alternative")] == ["winner-vs-rest", None, None]
    assert inspect.signature(ranking.bootstrap_ranks).parameters["interval"].default == "percentile"
    labels = [block["label"] for block in json.loads(text)]
    assert labels == [
        "Overview",
        "Precision of the scores",
        "Variability of the scores",
        "Variability of the ranking",
        "Tests",
        "Missing data",
        "Software",
    ]
    detection = answer(described(isocenter.challenge("picai2022")), "28a")
    assert "a case has no single value to be tested" in detection
    assert "Wilcoxon" not in detection
    assert "made again" in detection
    assert "is in no interval, set or test" in detection


def test_a_board_that_gives_little_away_is_not_said_to_have_intervals() -> None:
    phase = {**BARE.edition["phases"][0], "ladder": "parameter-free", "decimals": 2}
    found = described(phases=[phase])
    assert "Boards of the phase Test phase have no intervals" in answer(found, "28a")
    assert "scores, also for the ranking, with 2 decimals" in answer(found, "8b")
    assert "better by more than the standard error" in answer(found, "8b")


@dataclass(frozen=True)
class OwnRule:
    """A rule of another package, with nothing but what the protocol asks for."""

    metric: str = "dice"
    reads: tuple[str, ...] = ("dice",)

    def __str__(self) -> str:
        return "by <lot>"

    def check(self) -> None:
        pass

    def rank(self, scores: pl.DataFrame, *, name: str = "", roles: Any = None) -> ranking.Board:
        return ranking.Board(name=name, metric=self.metric, rule=str(self), rows=())


def test_a_rule_of_another_package_is_described_as_far_as_it_goes() -> None:
    found = described(replace(BARE, boards={"own": OwnRule()}))
    assert "By <lot>." in answer(found, "27a")
    assert "its code is its definition" in answer(found, "27a")
    assert "is left to its rule" in answer(found, "27b")
    assert "On the board own, there are none" in answer(found, "28a")


def test_texts_of_several_paragraphs_and_lists_keep_their_form() -> None:
    found = described(summary={"abstract": "One\nand more.\n\n- first\n- second\n\n\nTwo."})
    assert json.loads(answer(found, "2")) == [
        {"text": "One and more."},
        {"list": ["first", "second"]},
        {"text": "Two."},
    ]
    several = described(organisation={"conflicts": "None.", "label_access": "Nobody."})
    assert json.loads(answer(several, "13")) == [
        {"label": "Conflicts", "text": "None."},
        {"label": "Label access", "text": "Nobody."},
    ]


NOTHING = [
    "  ",
    "\n\n",
    "\t",
    "\u200b",
    "\u200b\u2060\ufeff \u00a0",
    "- ",
    "- \n- \n\n*",
    "\u200b- \u200b",
    "\u3164",
    "\u00ad",
]


@pytest.mark.parametrize("text", NOTHING)
def test_a_text_with_nothing_to_read_is_empty(text: str) -> None:
    found = described(contact=text)
    assert "contact" in {gap.field for _, gap in found.still_empty(mandatory=True)}
    assert json.loads(answer(found, "4b")) == []


@pytest.mark.parametrize("text", [text for text in NOTHING if re.search(r"\S", text)])
def test_so_it_is_in_every_other_setting(text: str) -> None:
    tables = {"summary": {"abstract": text, "keywords": [text]}, "organisation": {"funding": text}}
    missed = {gap.field for _, gap in described(**tables, organisers=[text]).still_empty(mandatory=True)}
    assert {"organisers", "summary.abstract", "summary.keywords", "organisation.funding"} <= missed


@pytest.mark.parametrize("text", ["x", "-x", "---", "- x", "0", "\u200bx", "🩻", "\n\n- \n\nx"])
def test_a_text_with_anything_to_read_is_there(text: str) -> None:
    assert "contact" not in {gap.field for _, gap in described(contact=text).still_empty()}


def test_what_is_empty_within_a_text_is_left_out() -> None:
    found = described(summary={"abstract": "- \n\n- one\n-\n- two\n\n\u200b\n\nEnd.", "keywords": ["a", "\u200b", "b"]})
    assert json.loads(answer(found, "2")) == [{"list": ["one", "two"]}, {"text": "End."}]
    assert json.loads(answer(found, "3")) == [{"text": "a; b"}]


def test_a_part_that_begins_with_a_list_keeps_its_label() -> None:
    found = described(organisation={"conflicts": "- A works for B.\n- C holds shares.\n\nNo other.", "funding": "D."})
    assert json.loads(answer(found, "13")) == [
        {"label": "Conflicts", "list": ["A works for B.", "C holds shares."]},
        {"text": "No other."},
        {"label": "Funding", "text": "D."},
    ]
    assert "\n\n**Conflicts.**\n\n- A works for B.\n- C holds shares.\n\nNo other.\n" in description_markdown(found)
    assert "<p><strong>Conflicts.</strong></p>\n<ul>\n<li>A works for B.</li>" in description_page(found)


# Markdown and HTML: what is put in comes out as text, whatever it is.

HOSTILE = [
    "<script>alert(1)</script>",
    "</div><img src=x onerror=alert(1)>",
    "# heading",
    "1. list",
    "12) list",
    "---",
    "===",
    "> quote",
    "| a | b |",
    "**bold** __bold__ _it_ `code` ~~gone~~",
    "[link](javascript:alert(1)) ![x](y) <https://example.org>",
    "&lt;b&gt; &#60; &copy;",
    "C:\\new \\* back\\",
    "🩻👩‍⚕️ é",
    "x" * 200,
    "a\x00b\x1b[0m",
    "```\nfence\n```",
    "    indented\n\tcode",
    "* star",
    "+ plus",
    "[ref]: https://example.org",
    "$x$ {% raw %} {{ 7*7 }}",
    "PSA < 3, IoU ≥ 0.10, dvh_error of <5 mm",
]
READER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


class Page(HTMLParser):
    """The tags of a page and the text between them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def squeezed(text: str) -> str:
    """Without what is white, and without what no page shows."""
    return "".join(re.sub(r"[\x00-\x1f\x7f-\x9f\ufffd-\uffff]", "", text).split())


def titled(text: str) -> Description:
    """The text as title of the edition and of a phase (in tables), alone, in a list of words, and behind a label."""
    phase = {**BARE.edition["phases"][0], "title": text}
    tables = {"mission": {"aims": text}, "summary": {"keywords": [text]}, "organisation": {"funding": text}}
    return described(title=text, phases=[phase], **tables)


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
# Letters and digits beside it, as a text of nothing but marks may be an empty one.
texts = st.tuples(st.sampled_from(["", "a", "7 "]), texts, st.sampled_from(["b", " 8"])).map("".join)
texts = texts.filter(
    lambda text: all(
        not line.strip().startswith("-") and (not squeezed(line) or any(c.isalnum() for c in line))
        for line in text.splitlines()
    )
)


READERS = {
    "markdown": lambda text: Page(READER.render(description_markdown(titled(text)))),
    "page": lambda text: Page(description_page(titled(text))),
}
TAGS = {kind: [tag for tag in read("plain").tags if tag != "p"] for kind, read in READERS.items()}


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=60)
@given(text=texts)
def test_a_text_stays_a_text_wherever_it_is_put(kind: str, text: str) -> None:
    found = READERS[kind](text)
    assert [tag for tag in found.tags if tag != "p"] == TAGS[kind]
    assert squeezed(found.text).count(squeezed(text)) >= 7


@pytest.mark.parametrize("kind", READERS)
def test_no_hostile_text_becomes_markup(kind: str) -> None:
    for text in HOSTILE:
        found = READERS[kind](text)
        assert [tag for tag in found.tags if tag != "p"] == TAGS[kind], text
        assert squeezed(found.text).count(squeezed(text)) >= 7, text


def test_the_page_needs_nothing_else_and_is_the_same_for_the_same_input() -> None:
    html = description_page(described(**full()))
    assert html == description_page(described(**full()))
    assert "default-src 'none'" in html
    assert not re.search(r"(src|href)=\"(?!data:|#)", html)


def test_the_page_tells_what_is_empty_and_what_comes_from_the_rules() -> None:
    page = Page(description_page(described()))
    empty = list(described().still_empty())
    mandatory = sum(gap.mandatory for _, gap in empty)
    assert f"Still empty: {len(empty)} settings, {mandatory} of them mandatory." in page.text
    assert page.text.count("mandatory") == mandatory + 1
    assert "Not there yet: organisation.ethics" in page.text
    assert page.text.count("from the rules") >= len(FROM_RULES)


# The command


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"COLUMNS": "200"})


@pytest.fixture
def edition(tmp_path: Path) -> Path:
    editions.write(editions.new(isocenter.challenge("hecktor2020")), tmp_path / "edition")
    return tmp_path / "edition"


@pytest.mark.parametrize("name", FIVE)
def test_every_challenge_is_described_from_its_first_file(tmp_path: Path, name: str) -> None:
    assert run("init", name, tmp_path).exit_code == 0
    result = run("describe", tmp_path)
    assert result.exit_code == 0
    assert "## Assessment methods" in result.stdout
    assert "## Still empty" in result.stdout


def test_describe_writes_what_the_ending_asks_for(edition: Path, tmp_path: Path) -> None:
    printed = run("describe", edition).stdout
    for suffix in (".md", ".html", ".json"):
        result = run("describe", edition, "--out", tmp_path / f"out{suffix}")
        assert result.exit_code == 0
        assert "Still empty: 7 mandatory and 10 other settings." in result.stdout
    assert (tmp_path / "out.md").read_text() == printed
    assert (tmp_path / "out.html").read_text().startswith("<!DOCTYPE html>")
    data = json.loads((tmp_path / "out.json").read_text())
    assert data == json.loads(run("describe", edition / "challenge.toml", "--json").stdout)
    assert {"item": "10", "title": "Ethics approval"}.items() <= data["items"][ITEMS.index("10")].items()
    assert {"item": "2", "title": "Abstract", "field": "summary.abstract", "mandatory": True} in data["still_empty"]


def test_strict_lists_mandatory_items_that_are_empty_and_exits_1(edition: Path, tmp_path: Path) -> None:
    result = run("describe", edition, "--strict", "--out", tmp_path / "out.md")
    assert result.exit_code == 1
    assert "2 Abstract (summary.abstract)" in result.stderr
    assert "acronym" not in result.stderr
    assert (tmp_path / "out.md").exists()
    text = (edition / "challenge.toml").read_text()
    text = text[text.index("[summary]") :].partition("# From here on, the forms")[0]
    text = re.sub(r"^# (\w+ = \".*)$", r"\1", text, flags=re.MULTILINE)
    head = (edition / "challenge.toml").read_text().partition("\n# From here on,")[0]
    head = head.replace("organisers = []", 'organisers = ["A hospital"]').replace('contact = ""', 'contact = "us"')
    (edition / "challenge.toml").write_text(f"{head}\n{text}")
    assert run("describe", edition, "--strict").exit_code == 0


def test_a_wrong_file_is_told_with_its_line_and_nothing_is_written(edition: Path, tmp_path: Path) -> None:
    path = edition / "challenge.toml"
    path.write_text(path.read_text().replace('modality = "FDG-PET/CT"', "modality = 5"))
    result = run("describe", edition, "--out", tmp_path / "out.md")
    assert isinstance(result.exception, editions.EditionError)
    assert "mission.modality: 5 is not allowed" in str(result.exception)
    assert not (tmp_path / "out.md").exists()


@pytest.mark.parametrize("name", ["out.pdf", "out", "challenge.toml"])
def test_other_endings_are_refused(edition: Path, tmp_path: Path, name: str) -> None:
    result = run("describe", edition, "--out", edition / name)
    assert result.exit_code == 2
    assert ".md, .html or .json" in result.stderr
    assert Edition.model_validate(editions.load(edition)) == editions.load(edition)


def as_given(edition: Path, folder: Path, how: str) -> tuple[Path, Path]:
    """An edition as the command is given it, and another name of the same file that ends as a description may."""
    file, alone = edition / "challenge.toml", folder / "edition.json"
    if how == "itself":
        file.rename(alone)
        return alone, alone
    if how == "dotted":
        file.rename(alone)
        return alone, folder / "edition" / ".." / alone.name
    if how == "hard link":
        os.link(file, alone)
    if how == "link to it":
        alone.symlink_to(file)
    if how == "link in the folder":
        file.rename(alone)
        file.symlink_to(alone)
    return edition, alone


@pytest.mark.parametrize("how", ["itself", "dotted", "hard link", "link to it", "link in the folder"])
def test_the_edition_is_never_written_over(edition: Path, tmp_path: Path, how: str) -> None:
    given, out = as_given(edition, tmp_path, how)
    before = out.read_bytes()
    result = run("describe", given, "--out", out)
    assert result.exit_code == 2
    assert "is the edition itself" in result.output
    assert out.read_bytes() == before


def test_it_is_refused_before_the_edition_is_read(tmp_path: Path) -> None:
    (tmp_path / "edition.json").write_text("no edition at all")
    result = run("describe", tmp_path / "edition.json", "--out", tmp_path / "edition.json")
    assert (result.exit_code, (tmp_path / "edition.json").read_text()) == (2, "no edition at all")
