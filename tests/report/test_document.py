"""A report in four forms: nothing in it is read as markup, and the same report gives the same bytes."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from isocenter.report import (
    Cell,
    Chart,
    Code,
    Facts,
    Paragraph,
    Report,
    Section,
    report_csvs,
    report_html,
    report_json,
    report_pdf,
    table,
)
from isocenter.report._print import Drawing, Keyed, pieces

SVG = Markup(
    '<svg class="plot" width="100%" height="40" role="img" aria-labelledby="p-title p-desc"><title id="p-title">Lines'
    '</title><desc id="p-desc">Two.</desc><line class="tick" x1="10%" x2="90%" y1="5" y2="5"/></svg>'
)


def report_of(text: str = "text", *, blocks: tuple[Chart, ...] = ()) -> Report:
    rows = [(text, Cell("0.82 [0.79, 0.85]", 0.82, shade=0.5)), ("other", None)]
    held = (
        Paragraph(text),
        Paragraph(text, note=True),
        Facts("card", ((text, text),)),
        Code(text),
        table("teams", text, ["Team", "Dice #"], rows, notes=[text]),
        Chart("lines", text, SVG, pl.DataFrame({"x": [1.0, float("nan")], "name": [text, text]})),
        *blocks,
    )
    return Report(text, text, (Section("first", text, held),), {"seed": 1, "of": {"name": text}})


class _Page(HTMLParser):
    """The texts of a page, and the names of its elements."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.texts: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids += [value or "" for name, value in attrs if name == "id"]

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_html_is_one_file_that_asks_for_nothing_and_runs_its_own_script_only() -> None:
    page = report_html(report_of())
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)
    script = re.search(r"<script>(.*?)</script>", page, re.DOTALL)
    assert script is not None
    digest = base64.b64encode(hashlib.sha256(script[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in page.replace("&#39;", "'")


def test_every_part_has_an_anchor_of_its_own_and_numbers_count_on() -> None:
    page = _Page()
    page.feed(report_html(report_of(blocks=(Chart("more", "Caption.", SVG.replace("p-", "q-")),))))
    assert len(page.ids) == len(set(page.ids))
    assert {"first", "card", "teams", "lines", "more"} <= set(page.ids)
    assert [text for text in page.texts if re.fullmatch(r"(Figure|Table) \d+\.", text)] == [
        "Table 1.",
        "Figure 1.",
        "Figure 2.",
    ]


@settings(max_examples=60)
@given(st.text(min_size=1).filter(lambda text: text.strip()))
def test_no_text_is_ever_markup_in_html(text: str) -> None:
    plain, page = _Page(), _Page()
    plain.feed(report_html(report_of()))
    page.feed(report_html(report_of(text)))
    assert page.tags == plain.tags


@pytest.mark.parametrize(
    "text",
    ["<script>alert(1)</script>", "#panic() $x$ *b* `r` @ref <label> \\ // c", "emoji 😀 ק", "x" * 300, "\x00\x1b"],
)
def test_no_text_is_ever_markup_in_print(text: str) -> None:
    assert report_pdf(report_of(text)).startswith(b"%PDF")


def test_print_is_the_same_to_the_byte() -> None:
    assert report_pdf(report_of()) == report_pdf(report_of())
    assert report_html(report_of()) == report_html(report_of())


def test_json_holds_every_number_and_no_nan() -> None:
    found = json.loads(report_json(report_of()), parse_constant=pytest.fail)
    blocks = found["sections"][0]["blocks"]
    assert blocks[4]["rows"][0][1] == {"text": "0.82 [0.79, 0.85]", "value": 0.82}
    assert blocks[5]["rows"][1][0] == "nan"


def test_csv_has_the_number_behind_a_cell_and_no_formula() -> None:
    found = report_csvs(report_of("=1+1"))
    assert set(found) == {"teams", "lines"}
    lines = list(csv.reader(io.StringIO(found["teams"])))
    assert lines[:2] == [["Team", "Dice"], ["'=1+1", "0.82"]]


def test_two_parts_of_one_name_are_refused_and_so_is_a_name_that_no_link_can_have() -> None:
    section = Section("first", "First", ())
    with pytest.raises(ValueError, match="two parts of the report are called first"):
        Report("t", "", (section, section))
    with pytest.raises(ValueError, match="is no anchor"):
        Report("t", "", (Section("First!", "First", ()),))


def test_a_row_that_does_not_fit_its_headings_is_refused() -> None:
    with pytest.raises(ValueError, match="table 'teams' has 2 columns, but row 1"):
        table("teams", "Teams.", ["Team", "Dice #"], [("a",)])


def test_a_picture_stands_alone_in_print() -> None:
    (drawing,) = pieces(SVG)
    assert isinstance(drawing, Drawing)
    assert (drawing.width, drawing.height, drawing.words) == (680.0, 40.0, "Lines Two.")
    assert "var(" not in drawing.svg
    assert "@media" not in drawing.svg


def test_a_key_is_samples_with_words_and_sentences_are_kept() -> None:
    sample_svg = '<svg width="40" height="20" viewBox="-20 -10 40 20"></svg>'
    key = f'<div><ul class="key"><li>{sample_svg}<span>Inn</span></li></ul><p>n = 3.</p></div>'
    sample, said = pieces(Markup(key))
    assert isinstance(sample, Keyed)
    assert (sample.text, said) == ("Inn", "n = 3.")


def test_a_stretched_drawing_keeps_its_strokes_and_loses_its_stretch() -> None:
    inner = (
        '<svg x="10%" y="0" width="50%" height="40" viewBox="0 0 1000 1000" preserveAspectRatio="none">'
        '<path d="M0 1000L500 0H1000V1000Z"/></svg>'
    )
    (drawing,) = pieces(Markup('<svg width="100%" height="40">{}</svg>').format(Markup(inner)))
    assert isinstance(drawing, Drawing)
    assert 'd="M0.00 40.00L170.00 0.00H340.00V40.00Z"' in drawing.svg
    assert "preserveAspectRatio" not in drawing.svg


def test_a_name_that_looks_like_a_variable_stays_a_name_in_print() -> None:
    named = Markup('<svg width="100%" height="40"><text class="name" style="fill:var(--accent)">{}</text></svg>')
    (drawing,) = pieces(named.format("var(--accent)"))
    assert isinstance(drawing, Drawing)
    assert ">var(--accent)</text>" in drawing.svg
    assert 'style="fill:#1d5c96"' in drawing.svg


def test_what_turns_the_text_around_is_no_part_of_a_page() -> None:
    page = report_html(report_of("a\u202egnp.exe"))
    assert "\u202e" not in page
    assert "a\ufffdgnp.exe" in page


def test_a_command_can_be_copied_from_the_pages() -> None:
    command = "isocenter report a-very-long-name-of-a-folder-without-a-blank"
    drawn = Report("t", "", (Section("s", "S", (Code(command),)),), {"hash": "0123456789abcdef" * 4})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "report.pdf")
        path.write_bytes(report_pdf(drawn))
        reader = shutil.which("pdftotext")
        if reader is None:
            missing = pytest.fail if os.environ.get("CI") else pytest.skip
            missing("there is no pdftotext, which reads what was printed")
        text = subprocess.run([reader, "-layout", path, "-"], capture_output=True, text=True, check=True).stdout
    assert command in text
    assert "0123456789abcdef" * 4 in text


def test_a_csv_has_whole_numbers_as_such_and_nothing_where_there_is_nothing() -> None:
    held = table("counts", "Counts.", ["Team", "Cases #", "Mean #"], [("a", 3, None), ("b", 0.5, 2.25)])
    text = report_csvs(Report("t", "", (Section("s", "S", (held,)),)))["counts"]
    assert text == "Team,Cases,Mean\na,3,\nb,0.5,2.25\n"
