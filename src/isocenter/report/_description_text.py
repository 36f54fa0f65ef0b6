"""A structured description as Markdown, and as one HTML file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from isocenter.report._description import Block, Bullets, Code, Description, Item, Paragraph, Rows
from isocenter.report._templates import UNPRINTABLE, fill

_HEAD = (
    "Items from the rules say what the software carries out; the others, what the organisers wrote into challenge.toml."
)
_SOURCES = {"rules": "from the rules", "both": "from the rules and the organisers", "organisers": "", "nobody": ""}


def description_markdown(description: Description) -> str:
    """The description as Markdown; whatever is put into it is plain text there, whatever signs it holds."""
    lines = [f"# {_plain(description.title)}", "", f"Structured description of the challenge. {_HEAD}"]
    for section in description.sections:
        lines += ["", f"## {section.title}"]
        for item in section.items:
            source = _SOURCES[item.source]
            lines += ["", f"### {item.name}", "", f"*{item.question}*{f' ({source})' if source else ''}", ""]
            lines += list(_answer(item))
    lines += ["", "## Still empty", ""]
    rows = [
        (item.number or "–", item.title, f"`{gap.field}`", "mandatory" if gap.mandatory else "")
        for item, gap in description.still_empty()
    ]
    lines += list(_table(("item", "title", "setting of challenge.toml", ""), rows)) if rows else ["Nothing."]
    return "\n".join(lines) + "\n"


def description_page(description: Description) -> str:
    """The description as an HTML page, in the style of the leaderboards; escaped, and the same for the same input."""
    empty = list(description.still_empty())
    return fill(
        "description.html.j2",
        description=description,
        head=_HEAD,
        sources=_SOURCES,
        kinds={Paragraph: "text", Bullets: "list", Code: "code", Rows: "table"},
        empty=empty,
        mandatory=sum(gap.mandatory for _, gap in empty),
    )


def _answer(item: Item) -> Iterator[str]:
    if not item.answer:
        yield f"Not there yet: {', '.join(f'`{gap.field}`' for gap in item.gaps)}."
    for i, block in enumerate(item.answer):
        if i:
            yield ""
        yield from _block(block)


def _block(block: Block) -> Iterator[str]:
    match block:
        case Paragraph():
            yield f"{f'**{_plain(block.label)}.** ' if block.label else ''}{_plain(block.text)}"
        case Bullets():
            if block.label:
                yield from (f"**{_plain(block.label)}.**", "")
            yield from (f"- {_plain(text)}" for text in block.items)
        case Code():
            yield from ["```text", *block.lines.split("\n"), "```"]
        case Rows():
            yield from _table([_plain(name) for name in block.head], [list(map(_plain, row)) for row in block.rows])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for cells in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _plain(text: str) -> str:
    r"""A text on one line in which Markdown finds no markup.

    Signs within words and between blanks are left alone, since they mean nothing there.

    Examples
    --------
    >>> print(_plain("PSA < 3 ng/ml, *all* of <script>, dvh_error"))
    PSA < 3 ng/ml, \*all\* of &lt;script>, dvh_error
    """
    text = " ".join(UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text).split())
    text = re.sub(r"[\\`*\[\]~$]|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", text)
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text)
    text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)
    return re.sub(r"^(?=[#>+=-])|^\d+(?=[.)])", r"\g<0>\\", text)
