"""The page of a leaderboard: what it shows, what it never shows, and that it stays whole."""

from __future__ import annotations

import dataclasses
import math
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.metrics import Metric, catalogue
from isocenter.ranking import Board, BoardRow, FixedValue, MeanThenRank
from isocenter.report import leaderboard_page
from isocenter.scores import SCHEMA

RULE = MeanThenRank("dice", FixedValue(0.0))
VOID = {"meta", "link", "br", "hr", "img", "input"}


def table(rows):
    """Rows of (submission, case, value), where "missing" and "failed" stand for a case without one."""
    lines = []
    for submission, case, value in rows:
        lines.append((submission, case, "", "dice", None if isinstance(value, str) else value, 1.0))
        if isinstance(value, str):
            lines.append((submission, case, "", value, 1.0, 1.0))
    return pl.DataFrame(lines, schema=SCHEMA, orient="row")


def small():
    return table(
        [(team, f"C{n}", level - 0.03 * n) for team, level in (("Aare", 0.93), ("Inn", 0.81)) for n in range(1, 9)]
        + [("Reuss", f"C{n}", "missing" if n < 3 else "failed" if n == 3 else 0.6234) for n in range(1, 9)]
    )


def page(scores=None, *, board=None, title="A challenge", **options):
    scores = small() if scores is None else scores
    return leaderboard_page(title, RULE.rank(scores) if board is None else board, scores, **options)


class Reader(HTMLParser):
    """Checks that every tag is closed in turn, and keeps the texts, the tags and their attributes."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.texts = [], [], []
        self.feed(html)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open
        assert self.open.pop() == tag

    def handle_data(self, data):
        if data.strip() and self.open[-1] != "style":
            self.texts.append((self.open[-1], re.sub(r"\s+", " ", data).strip()))

    def of(self, tag):
        return [text for inside, text in self.texts if inside == tag]

    @property
    def prose(self):
        return " ".join(text for _, text in self.texts)


def lines_of(html, css):
    """The texts of each body row of the table with this class."""
    body = re.search(rf'<table class="{css}">.*?<tbody>(.*?)</tbody>', html, re.DOTALL).group(1)
    return [[text for _, text in Reader(row).texts] for row in re.findall(r"<tr.*?</tr>", body, re.DOTALL)]


def test_the_table_shows_rank_team_score_and_what_is_missing():
    assert lines_of(page(), "board") == [
        ["1", "Aare", "0.7950", "0", "0"],
        ["2", "Inn", "0.6750", "0", "0"],
        ["3", "Reuss", "0.3896", "2", "1"],
    ]


def test_the_page_says_how_the_ranking_was_made():
    assert f"How the ranking was made: {RULE}." in Reader(page()).of("p")


def test_rows_without_a_rank_are_marked_and_have_a_dash():
    html = page(board=RULE.rank(small(), roles={"Inn": "benchmark", "Reuss": "organiser"}))
    assert lines_of(html, "board")[1][:4] == ["–", "Inn", "benchmark", "0.6750"]
    assert lines_of(html, "board")[2][:3] == ["–", "Reuss", "organiser"]
    assert "Shaded rows have no rank." in Reader(html).of("p")


def test_a_listed_row_without_a_score_still_has_its_line():
    row = BoardRow("Aare", None, None, "team", 8, 1, 0, disqualified=True)
    html = page(board=Board("dice", "dice", "a rule", (row,)))
    assert lines_of(html, "board") == [["–", "Aare", "disqualified", "–", "1", "0"]]


def test_notes_of_the_board_stand_below_it():
    board = dataclasses.replace(RULE.rank(small()), notes=("One team withdrew.",))
    assert "One team withdrew." in Reader(page(board=board)).of("p")


def test_every_number_is_in_the_table_of_cases_with_the_reason_where_there_is_none():
    lines = lines_of(page(), "numbers")
    assert lines[0] == ["C1", "0.8400", "0.9000", "0.7800", "no output"]
    assert lines[2] == ["C3", "0.7800", "0.8400", "0.7200", "unusable"]
    assert lines[7] == ["C8", "0.6278", "0.6900", "0.5700", "0.6234"]


def test_cases_are_in_the_order_of_their_numbers():
    html = page(table([("Aare", f"C{number}", 0.5) for number in (10, 9, 100, 1)]))
    assert [line[0] for line in lines_of(html, "numbers")] == ["C1", "C9", "C10", "C100"]


def test_a_case_that_one_team_was_never_asked_for_is_missing_there():
    html = page(table([("Aare", "C1", 0.5), ("Aare", "C2", 0.6), ("Inn", "C1", 0.4)]))
    assert lines_of(html, "numbers")[1] == ["C2", "0.6000", "0.6000", "no output"]


def test_the_hardest_case_comes_first():
    description = re.search(r'<desc id="cases-desc">(.*?)</desc>', page()).group(1)
    assert description.startswith("Hardest: C8 (mean 0.6278), C7 (mean 0.6478), C6")


def test_nothing_of_an_unlisted_submission_is_in_the_page():
    rows = small().rows()
    secret = [("Sarine", f"C{n}", "", "dice", 0.912345, 1.0) for n in range(1, 9)]
    scores = pl.DataFrame(rows + secret, schema=SCHEMA, orient="row")
    full = RULE.rank(scores, roles={"Sarine": "organiser"})
    hidden = tuple(row for row in full.rows if row.submission == "Sarine")
    board = dataclasses.replace(full, rows=tuple(row for row in full.rows if row not in hidden), unlisted=hidden)
    record = {
        "submissions": {"Sarine": "sha256:51", "Aare": "sha256:a4"},
        "files": ["submissions/sarine.zip", "submissions/Aare.zip"],
        "last upload": "Sarine_v2.zip",
    }
    html = leaderboard_page("A challenge", board, scores, record=record)
    assert html == leaderboard_page("A challenge", board, small(), record=record)
    assert "sarine" not in html.lower()
    assert "0.9123" not in html
    assert "sha256:51" not in html
    assert "sha256:a4" in html
    assert "submissions/Aare.zip" in html


def test_a_submission_in_the_scores_that_the_board_does_not_know_is_not_shown():
    board = RULE.rank(small())
    scores = pl.concat([small(), table([("Stray", "C99", 0.111111)])])
    assert leaderboard_page("A challenge", board, scores) == leaderboard_page("A challenge", board, small())


def test_the_record_is_a_table_of_names_and_values():
    html = page(record={"version": "0.1.0", "policies": {"missing": "counts as 0", "ties": None}, "seeds": [1, 2]})
    cells = Reader(html[html.index("<footer>") : html.index("</footer>") + 9]).texts
    assert ("th", "policies · missing") in cells
    assert [text for tag, text in cells if tag == "td"] == ["0.1.0", "counts as 0", "–", "1, 2"]
    assert "<footer>" not in page()


def test_the_page_needs_nothing_but_itself():
    html = page(record={"home": "https://example.org/"})
    reader = Reader(html)
    assert not {tag for tag, _ in reader.tags} & {"script", "img", "iframe", "object", "embed", "base", "form"}
    for _, attributes in reader.tags:
        assert attributes.get("href", "data:,") == "data:,"
        assert not {"src", "srcset", "action", "style"} & attributes.keys()
        assert not [name for name in attributes if name.startswith("on")]
    assert "url(" not in html
    assert "@import" not in html
    assert html.count("http") == html.count("https://example.org/") + html.count("http-equiv")


def test_the_page_can_be_read_without_eyes():
    reader = Reader(page(record={"a": 1}))
    assert ("html", {"lang": "en"}) in reader.tags
    assert [tag for tag, _ in reader.tags if re.fullmatch(r"h\d", tag)] == ["h1", "h2", "h2", "h2", "h2"]
    tables = [tag for tag, _ in reader.tags if tag in ("table", "caption")]
    assert tables == ["table", "caption"] * 3
    assert all(attributes.get("scope") in ("row", "col") for tag, attributes in reader.tags if tag == "th")
    for tag, attributes in reader.tags:
        if tag == "svg" and "placed" not in attributes["class"]:
            assert "aria-labelledby" in attributes or attributes.get("aria-hidden") == "true"
    identities = [attributes["id"] for _, attributes in reader.tags if "id" in attributes]
    assert len(identities) == len(set(identities))
    pointed = [i for _, a in reader.tags for i in a.get("aria-labelledby", "").split()]
    assert set(pointed) <= set(identities)


def luminance(colour):
    if len(colour) == 4:
        colour = "#" + "".join(2 * digit for digit in colour[1:])
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_stands_out_from_the_paper_in_light_dark_and_print():
    schemes = re.findall(r":root \{(.*?)\}", page(), re.DOTALL)
    assert len(schemes) == 3
    for scheme in schemes:
        colours = dict(re.findall(r"--(\w+): (#\w+)", scheme))
        for name in ("ink", "muted", "accent", "warn"):
            for ground in ("paper", "soft"):
                light, dark = sorted((luminance(colours[name]), luminance(colours[ground])), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (name, ground, colours)


HOSTILE = [
    "<script>alert('x')</script>",
    '"><img src=x onerror=alert(1)>',
    "</style></title></table></svg>",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;&amp; &#x3c;",
    "🧠🩻",
    "فريق تقسيم الأورام",
    "x" * 200,
    "\u202eeman desrever",
    "nul\x00bell\x07",
    "\ud800half",
    "  ",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_breaks_the_page(name):
    def tags_and_texts(name):
        stored = name.encode("utf-8", "replace").decode()  # polars holds no halves of characters
        scores = table([(stored, f"{stored}{n}", 0.1 * n) for n in range(1, 7)] + [("Inn", stored, "missing")])
        board = dataclasses.replace(RULE.rank(scores), rule=name, notes=(name,))
        html = leaderboard_page(name, board, scores, subtitle=name, record={name: {name: [name]}})
        html.encode("utf-8")
        return Reader(html)

    hostile, harmless = tags_and_texts(name), tags_and_texts("n" * len(name))
    narrow_and_wide = {"tspan", "title"}  # there are two lengths of a name that takes much room
    assert [tag for tag, _ in hostile.tags if tag not in narrow_and_wide] == [
        tag for tag, _ in harmless.tags if tag not in narrow_and_wide
    ]
    shown = " ".join(re.sub("[\x00\x07\ud800]", "\N{REPLACEMENT CHARACTER}", name).split())
    if shown:
        assert shown in hostile.of("h1")
        assert shown in hostile.of("bdi") or "\ud800" in name


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_board_gives_a_whole_page(data):
    names = data.draw(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), unique=True, max_size=4))
    cases = data.draw(st.lists(st.text(st.characters(codec="utf-8"), min_size=1), unique=True, min_size=1, max_size=7))
    value = st.one_of(st.floats(0, 1), st.sampled_from(["missing", "failed"]))
    scores = table([(name, case, data.draw(value)) for name in names for case in cases])
    board = RULE.rank(scores) if names else Board("dice", "dice", str(RULE), ())
    html = leaderboard_page(data.draw(st.text()), board, scores, subtitle=data.draw(st.text()))
    reader = Reader(html)
    assert [tag for tag, _ in reader.tags].count("h1") == 1
    assert html.encode("utf-8").decode("utf-8") == html
    if names:
        assert len(lines_of(html, "board")) == len(names)
        assert len(lines_of(html, "numbers")) == len(cases)


def test_an_empty_board_says_so():
    reader = Reader(page(table([]), board=Board("dice", "dice", str(RULE), ())))
    assert "Nothing is listed on this board yet." in reader.of("p")
    assert "svg" not in {tag for tag, _ in reader.tags}


def test_one_team_and_one_case_make_a_page():
    reader = Reader(page(table([("Solo", "C1", 0.5)])))
    assert "1 submission, 1 case." in reader.prose
    assert "with a single team there is no range to show" in reader.prose
    assert "A team with fewer than five values has no box." in reader.prose


def test_where_every_output_is_missing_the_page_says_that_nothing_can_be_drawn():
    html = page(table([("Solo", "C1", "missing"), ("Solo", "C2", "failed")]))
    assert "No case of any listed team has a value, so there is nothing to draw." in Reader(html).of("p")
    assert lines_of(html, "numbers") == [["C1", "–", "no output"], ["C2", "–", "unusable"]]


def test_a_case_that_is_undefined_for_everybody_is_named_and_not_drawn():
    scores = table([("Aare", "C1", 0.5), ("Inn", "C1", 0.4), ("Aare", "C2", None), ("Inn", "C2", None)])
    rows = tuple(BoardRow(name, 0.5, rank, "team", 2, 0, 0) for name, rank in (("Aare", 1.0), ("Inn", 2.0)))
    html = page(scores, board=Board("dice", "dice", "a rule of its own", rows))
    assert "No team has a value in C2; not drawn." in Reader(html).of("p")
    assert lines_of(html, "numbers")[1] == ["C2", "–", "undefined", "undefined"]
    assert "A ring is a case in which the measure is undefined." in Reader(html).prose


def test_a_distance_has_its_hardest_case_at_the_largest_value_and_infinity_is_not_drawn():
    distance = catalogue.register(Metric("distance_of_this_test", "mm", "lower", (0.0, math.inf), 1, "a distance"))
    rows = [
        ("Aare", case, "", distance.name, value, 1.0) for case, value in (("C1", 2.0), ("C2", 9.0), ("C3", math.inf))
    ]
    row = BoardRow("Aare", 5.5, 1.0, "team", 3, 0, 0)
    html = page(pl.DataFrame(rows, schema=SCHEMA, orient="row"), board=Board("board", distance.name, "a rule", (row,)))
    assert "Hardest: C2 (mean 9.0), C1 (mean 2.0)." in html
    assert "1 infinite value has no place on the axis." in Reader(html).of("p")
    assert lines_of(html, "numbers")[2] == ["C3", "–", "inf"]
    assert "lower is better" in Reader(html).prose


def test_cases_that_only_unlisted_submissions_have_are_counted_and_not_named():
    row = BoardRow("Aare", 0.5, 1.0, "team", 3, 2, 0)
    html = page(table([("Aare", "C1", 0.5), ("Sarine", "C2", 0.5)]), board=Board("dice", "dice", "a rule", (row,)))
    assert "C2" not in html
    assert "2 further cases of the cohort have no row from these teams." in Reader(html).of("p")


def test_a_board_over_parts_draws_a_case_as_the_mean_of_its_parts():
    parts = [("Aare", "C1", "GTVt", "dice", 0.5, 1.0), ("Aare", "C1", "GTVn", "dice", 0.7, 1.0)]
    lost = [("Aare", "C2", "", "dice", None, 1.0), ("Aare", "C2", "", "missing", 1.0, 1.0)]
    row = BoardRow("Aare", 0.6, 1.0, "team", 2, 1, 0)
    html = page(
        pl.DataFrame([*parts, *lost], schema=SCHEMA, orient="row"), board=Board("dice", "dice", "over parts", (row,))
    )
    assert lines_of(html, "numbers") == [["C1", "0.6000", "0.6000"], ["C2", "–", "no output"]]


def test_a_metric_that_no_case_has_blames_nobody():
    scores = pl.DataFrame([("Aare", "C1", "", "jaccard", 0.5, 1.0)], schema=SCHEMA, orient="row")
    row = BoardRow("Aare", 0.5, 1.0, "team", 1, 0, 0)
    html = page(scores, board=Board("dice", "dice", "a rule", (row,)))
    assert lines_of(html, "numbers") == [["C1", "–", "undefined"]]


def test_a_table_without_submissions_is_refused_by_name_of_the_column():
    with pytest.raises(ValueError, match="submission"):
        page(small().drop("submission"), board=RULE.rank(small()))


def test_the_same_board_gives_the_same_page():
    shuffled = small().sample(fraction=1.0, shuffle=True, seed=3)
    assert page() == page()
    assert page(shuffled) == page()


def test_another_process_makes_the_same_page():
    """Python shuffles the hashes of texts from process to process; the page must not follow."""
    paths = [str(Path(__file__).parent), *sys.path]
    code = f"import sys; sys.path[:0] = {paths!r}; import test_page; print(test_page.page())"
    pages = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONUTF8": "1"},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert pages == {(page() + "\n").encode()}
