"""Every key of a TOML text is found on the line it stands on, whatever surrounds it."""

from __future__ import annotations

import re
import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.editions._lines import Path, Repeat, scan


def paths_in(value: Any, path: Path = ()) -> set[Path]:
    """All paths of what tomllib read: the independent witness of what the scanner should have found."""
    inner: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        inner = list(value.items())
    elif isinstance(value, list):
        inner = list(enumerate(value))
    return ({path} if path else set()).union(*(paths_in(child, (*path, key)) for key, child in inner))


def leaves_in(value: Any, path: Path = ()) -> dict[Path, str]:
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
        return {leaf: text for key, child in inner for leaf, text in leaves_in(child, (*path, key)).items()}
    return {path: str(value)}


def test_keys_and_headings_have_the_line_they_are_written_on() -> None:
    lines = scan('title = "A"\n\n[policies]\nties = "min"\n\n[[phases]]\nname = "a"\n[[phases]]\nname = "b"\n')
    assert lines.of == {
        ("title",): 1,
        ("policies",): 3,
        ("policies", "ties"): 4,
        ("phases",): 6,
        ("phases", 0): 6,
        ("phases", 0, "name"): 7,
        ("phases", 1): 8,
        ("phases", 1, "name"): 9,
    }


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("# a = 1\na = 1", ("a",), 2),
        ('a = "# no comment" # b = 2\nb = 1', ("b",), 2),
        ('a = """\nb = 1\n[c]\n"""\nb = 2', ("b",), 5),
        ("a = '''\nb = 1\n[c]\n'''\nb = 2", ("b",), 5),
        ('a = """\n\\"""\nb = 1\n"""\nb = 2', ("b",), 5),
        ('a = """"quoted"""""\nb = 2', ("b",), 2),
        ('a = """"quoted""""\nb = 2', ("b",), 2),
        ("a = ''''quoted'''''\nb = 2", ("b",), 2),
        ('a = ""\nb = """"""\nc = 1', ("c",), 3),
        ('a = "\\"\\\\"\nb = 1', ("b",), 2),
        ("a = 'C:\\'\nb = 1", ("b",), 2),
        ("a = [\n  1,\n  # 2,\n  3,\n]\nb = 1", ("a", 1), 4),
        ("a = [\n  1,\n  # 2,\n  3,\n]\nb = 1", ("b",), 6),
        ("a = [\n  [1, 2],\n  [\n    3\n  ]\n]\n", ("a", 1, 0), 4),
        ("a = [\n  '[', \"]\", # ]\n  3 ]\nb = 1", ("b",), 4),
        ("a = [\n  {b = 1},\n  {b = 2, c.d = [\n3]},\n]", ("a", 1, "b"), 3),
        ("a = [\n  {b = 1},\n  {b = 2, c.d = [\n3]},\n]", ("a", 1, "c", "d", 0), 4),
        ("a = {}\nb = {c = {}}\nd = 1", ("d",), 3),
        ("a = {b = {c = 1}, d = 2}\ne = 3", ("a", "d"), 1),
        ("a.b.c = 1\na.b.d = 2", ("a", "b", "d"), 2),
        ("a . b = 1\n a\t.c=2", ("a", "c"), 2),
        ('"a.b" = 1\n"c d".e = 2', ("c d", "e"), 2),
        ("'a]' = 1\n['b]'.c]\nd = 1", ("b]", "c", "d"), 3),
        ('"\\u00e9" = 1', ("é",), 1),
        ("[ a . b ]\nc = 1", ("a", "b", "c"), 2),
        ("[a.b]\n[a]\nc = 1", ("a",), 2),
        ("[[a]]\n[[a.b]]\n[[a.b]]\n[[a]]\n[[a.b]]\nc = 1", ("a", 1, "b", 0, "c"), 6),
        ("[[a]]\n[[a]]\n[a.b]\nc = 1", ("a", 1, "b", "c"), 4),
        ("a = 2020-09-10 23:59:59.5+02:00\nb = 1.5e-3", ("b",), 2),
        ("a = 1\r\n\r\n[b]\r\nc = 1\r\n", ("b", "c"), 4),
        ("10.5 = 1\n[2020-09-10]\na = 1", ("2020-09-10", "a"), 3),
    ],
)
def test_lookalikes_lead_nobody_astray(text: str, path: Path, line: int) -> None:
    assert paths_in(tomllib.loads(text)) == set(scan(text).of)
    assert scan(text).of[path] == line
    assert (scan(text).open_quote, scan(text).open_bracket) == (None, None)


def test_a_key_that_is_absent_has_the_line_of_what_should_hold_it() -> None:
    lines = scan("a = 1\n[[phases]]\n[[phases]]\nname = 'x'\n")
    assert lines.find(("phases", 1, "opens")) == 3
    assert lines.find(("phases", 1, "name", "deeper")) == 4
    assert lines.find(("title",)) is None


def test_a_key_set_twice_is_told_with_both_lines() -> None:
    text = "[[phases]]\nquota = 1\n\nquota = [\n 2]\n[policies]\n[other]\n[policies]\n"
    assert scan(text).repeats == [Repeat(("phases", 0, "quota"), 4, 2), Repeat(("policies",), 8, 6)]


def test_equal_names_in_different_tables_are_not_the_same_key() -> None:
    text = "a = 1\n[b]\na = 1\n[[c]]\na = 1\n[[c]]\na = 1\n[d.e]\n[d]\na = {a = 1}\n"
    assert scan(text).repeats == []


@pytest.mark.parametrize(
    "deep", ["a = " + "[" * 50_000 + "]" * 50_000, "a = " + "{x=" * 9_999, "a" + ".x" * 50_000 + " = 1"]
)
def test_absurd_nesting_exhausts_neither_stack_nor_memory(deep: str) -> None:
    assert scan(f"b = 1\n{deep}\nc = 1").find(("a",)) == 2


# A generator of TOML: every value holds a number that occurs nowhere else, so the line of a value can be looked up in
# the text; decoys are written so that a careless scanner would take them for keys, headings or brackets.

DECOYS = ["x = 1", "[x]", "[[x]]", "]", "}", "{", "[", ",", "#", "=", ".", "'", "\\\\", "é"]
decoy = st.sampled_from(DECOYS)
names = st.sampled_from(["a", "b", "c-d", "3", "e_f", "g h", "i.j", "k]", "#l", "ü", '"', "="])


def written(name: str, quote: bool) -> str:
    if re.fullmatch(r"[A-Za-z0-9_-]+", name) and not quote:
        return name
    return f"'{name}'" if "'" not in name else '"' + name.replace('"', '\\"') + '"'


class Writer:
    """Draws one TOML document."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.count = 0

    def marker(self) -> str:
        self.count += 1
        return f"m{self.count}m"

    def key(self, name: str) -> str:
        return written(name, self.draw(st.booleans()))

    def gap(self) -> str:
        return str(self.draw(st.sampled_from(["", " ", "\n", "\n# [x] = '\n", ' # "\n', "\n\n\t"])))

    def scalar(self) -> str:
        form = self.draw(st.integers(0, 4))
        text = self.draw(decoy)
        if form == 0:
            return f'"{self.marker()} {text}"'
        if form == 1:
            return f"'{self.marker()} {text.replace(chr(39), '')}'"
        if form == 2:
            return f'"""{self.marker()}\n{text}\n"" \\""" {text}\n"""'
        if form == 3:
            return f"'''{self.marker()}\n{text.replace(chr(39), '')}\n'' [[x]]\n''''"
        return f'"{self.marker()}" '

    def value(self, depth: int) -> str:
        form = self.draw(st.integers(0, 3 if depth < 3 else 1))
        if form < 2:
            return self.scalar()
        if form == 2:
            items = [self.gap() + self.value(depth + 1) + self.gap() for _ in range(self.draw(st.integers(0, 3)))]
            return f"[{','.join(items)}{',' if items and self.draw(st.booleans()) else ''}{self.gap()}]"
        keys = self.draw(st.lists(names, max_size=3, unique=True))
        return "{" + ", ".join(f"{self.key(name)} = {self.value(depth + 1)}" for name in keys) + "}"

    def body(self) -> str:
        keys = self.draw(st.lists(names, max_size=3, unique=True))
        text = ""
        for name in keys:
            key = self.key(name)
            if self.draw(st.booleans()):  # a dotted key, in a part of the tree that no heading names
                key = self.draw(st.sampled_from([f"{key}.x", f"{key} . 'y.z'"]))
            text += self.draw(st.sampled_from(["", "\n", "# [y]\n", "  "])) + f"{key} = {self.value(0)}"
            text += self.draw(st.sampled_from(["\n", " # x = 1\n"]))
        return text

    def document(self) -> str:
        text = self.body()
        for i in range(self.draw(st.integers(0, 4))):
            name = self.key(self.draw(names))
            heading = self.draw(
                st.sampled_from(
                    [f"[t{i}.{name}]", f"[ t{i} ]", "[[many]]", "[[many]]\n[many.one]", "[[many]]\n[[ many.'m' ]]"]
                )
            )
            text += f"{heading} # ]\n" + self.body()
        return text


@st.composite
def documents(draw: Any) -> str:
    return Writer(draw).document()


@given(documents())
def test_all_keys_of_any_document_are_found_and_no_others(text: str) -> None:
    lines = scan(text)
    assert set(lines.of) == paths_in(tomllib.loads(text))
    assert (lines.repeats, lines.open_quote, lines.open_bracket) == ([], None, None)


@given(documents())
def test_the_line_of_any_value_is_the_line_on_which_it_or_its_key_begins(text: str) -> None:
    lines = scan(text)
    for path, value in leaves_in(tomllib.loads(text)).items():
        marker = re.match(r"m\d+m", value)
        assert marker
        assert lines.of[path] == text[: text.index(marker[0])].count("\n") + 1


@given(st.text(st.sampled_from("ab.=[]{},#\"'\\\n\r \t1é"), max_size=60))
def test_text_that_is_not_toml_is_scanned_without_complaint(text: str) -> None:
    lines = scan(text)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.of.values())
