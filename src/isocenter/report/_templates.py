"""The templates of the pages, which lie beside this file, and how they are filled in."""

from __future__ import annotations

import re
from typing import Any

import jinja2

# What no HTML file may hold as a character: control characters, and halves of characters, which have no UTF-8.
UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def fill(name: str, **values: Any) -> str:
    """A page from its template: everything put into it is escaped, and a value that nobody gave is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("isocenter.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    text = environment.get_template(name).render(**values)
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)
