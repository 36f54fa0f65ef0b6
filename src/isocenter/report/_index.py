"""A page of links to pages: one HTML file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import jinja2

# What no HTML file may hold as a character: control characters, and halves of characters, which have no UTF-8.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True)
class Link:
    """Where a page is, what it is called, and in a few words what one finds there.

    `href` is a path relative to the index page; an address of another site, or a script, is refused.
    """

    href: str
    title: str
    note: str = ""

    def __post_init__(self) -> None:
        if not self.href or ":" in self.href or self.href.startswith(("/", "\\")):
            msg = f"an index links to files beside it, not to {self.href!r}"
            raise ValueError(msg)


def index_page(title: str, links: Sequence[Link]) -> str:
    """A page with a title and a list of links, in the style of the pages it links to; without links it says so."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("isocenter.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    text = environment.get_template("index.html.j2").render(title=title, links=links)
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
