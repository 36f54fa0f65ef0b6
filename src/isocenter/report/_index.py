"""A page of links to pages: one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isocenter.report._templates import fill


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
    return fill("index.html.j2", title=title, links=links)
