"""Markdown to HTML that can do no harm, whoever wrote it."""

from __future__ import annotations

from functools import lru_cache

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt

_TAGS = {
    *("a", "b", "blockquote", "br", "code", "dd", "del", "div", "dl", "dt", "em", "h2", "h3", "h4", "h5", "h6", "hr"),
    *("i", "img", "kbd", "li", "ol", "p", "pre", "s", "strong", "sub", "sup"),
    *("table", "tbody", "td", "th", "thead", "tr", "ul"),
}
_ATTRIBUTES = {"a": {"href", "title"}, "img": {"alt", "src", "title"}, "th": {"align"}, "td": {"align"}}
_HEADINGS = str.maketrans({"1": "2", "2": "3", "3": "4", "4": "5", "5": "6"})


@lru_cache(maxsize=512)
def rendered(text: str, *, images: bool = True) -> SafeString:
    """The text as HTML. Headings begin one level lower, below that of the page; HTML in the text is shown as text.

    Parameters
    ----------
    images
        Else an image is a link: whoever reads what strangers wrote should not fetch by reading, least of all a file
        whose download is logged.
    """
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    if not images:
        parser.disable("image")
    tokens = parser.parse(text)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = token.tag.translate(_HEADINGS)
    html = parser.renderer.render(tokens, parser.options, {})
    return mark_safe(  # noqa: S308 (nh3 has cleaned it)
        nh3.clean(
            html,
            tags=_TAGS,
            attributes=_ATTRIBUTES,
            url_schemes={"http", "https", "mailto"},
            link_rel="nofollow noopener noreferrer",
        )
    )
