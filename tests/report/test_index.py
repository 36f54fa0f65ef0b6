"""The page that links to pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from isocenter.report import Link, index_page

LINKS = [Link("a/leaderboard.html", "First & best", "5 teams"), Link("b/leaderboard.html", "Second")]


class Reader(HTMLParser):
    """Keeps what is linked, the texts, and every address in the page."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.links, self.texts, self.addresses = [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.addresses += [value for name, value in attributes if name in ("href", "src")]
        if tag == "a":
            self.links.append(given["href"])

    def handle_data(self, data):
        if data.strip():
            self.texts.append(data.strip())


def test_every_link_is_there_in_order_with_its_title_and_note():
    page = Reader(index_page("All of them", LINKS))
    assert page.links == ["a/leaderboard.html", "b/leaderboard.html"]
    for text in ("All of them", "First & best", "5 teams", "Second"):
        assert text in page.texts


def test_the_page_needs_nothing_else():
    html = index_page("All of them", LINKS)
    assert "<script" not in html
    assert "@import" not in html
    assert not re.search(r"https?://", html)
    assert set(Reader(html).addresses) == {"data:,", "a/leaderboard.html", "b/leaderboard.html"}
    assert "default-src 'none'" in html


def test_a_name_cannot_become_markup():
    html = index_page("<script>x</script>", [Link('a".html', "<b>bold</b>\x00", "<img src=x>")])
    assert "<script>" not in html
    assert "<b>" not in html
    assert "<img" not in html
    assert "\x00" not in html
    assert Reader(html).links == ['a".html']


@pytest.mark.parametrize("href", ["", "https://example.org", "javascript:alert(1)", "//example.org/x", "/etc/passwd"])
def test_only_files_beside_the_page_are_linked(href):
    with pytest.raises(ValueError, match="beside it"):
        Link(href, "x")


def test_an_index_of_nothing_says_so():
    assert "nothing here yet" in index_page("Empty", [])


def test_the_same_links_give_the_same_page():
    assert index_page("x", LINKS) == index_page("x", LINKS)
