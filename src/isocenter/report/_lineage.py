"""Solutions over phases: who came first in each, and which solutions were built on which of an earlier one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from markupsafe import Markup

from isocenter.report._dose_dvh import _COLOURS as COLOURS
from isocenter.report._drawing import KEY_PITCH, key, name_of, picture, placed, sentence, with_notes, words

_TOP, _PITCH = 52.0, 62.0  # pixels above the first row, and from one to the next
_MOST_ROWS = 12
_MOST_KINDS = 9
_SIZE, _SMALL = 10.0, 7.5  # half a symbol, and half one of the key


@dataclass(frozen=True, slots=True)
class Solution:
    """What a team reached in a phase.

    Attributes
    ----------
    step
        Number of the phase, from 0.
    rank, score
        On the board of the phase; the score as it is printed.
    builds_on
        Teams whose solutions of an earlier phase it was made from.
    kind
        The class of the method; "" if it is not known.
    """

    team: str
    step: int
    rank: float
    score: str
    builds_on: tuple[str, ...] = ()
    kind: str = ""


def lineage_plot(solutions: Sequence[Solution], *, steps: Sequence[str], title: str, name: str) -> Markup:
    """A column per phase, best solution on top, and a line to each from those that it was built on.

    Squares are teams that were in no earlier phase, circles those that were; the number in a symbol is the class of its
    method. A line leads to the latest solution of the named team in an earlier phase. Of more than twelve solutions of
    a phase the first are drawn, and only nine classes have a number; what is left out is said below.

    Parameters
    ----------
    steps
        What the phases are called, in their order.

    Returns
    -------
    Markup
        One `svg` element, and sentences on what is not drawn; only a sentence if there is nothing to draw.
    """
    if wrong := [one.team for one in solutions if not 0 <= one.step < len(steps)]:
        msg = f"there are {len(steps)} phases; {wrong[0]!r} is in none of them"
        raise ValueError(msg)
    columns = [sorted((s for s in solutions if s.step == n), key=lambda s: (s.rank, s.team)) for n in range(len(steps))]
    if not any(columns):
        return sentence(f"{title}: no phase has a solution.")
    drawn = [column[:_MOST_ROWS] for column in columns]
    places = {
        (one.step, one.team): (100 * (one.step + 0.5) / len(steps), _TOP + _PITCH * (row + 0.5))
        for column in drawn
        for row, one in enumerate(column)
    }
    kinds = {kind: n for n, kind in enumerate(dict.fromkeys(s.kind for c in drawn for s in c if s.kind), start=1)}
    known = {kind: n for kind, n in kinds.items() if n <= _MOST_KINDS}
    seen: dict[str, int] = {}
    for one in solutions:
        seen[one.team] = min(one.step, seen.get(one.team, one.step))
    shown = [one for column in drawn for one in column]
    links, lost = _links(shown, solutions, places)
    bottom = _TOP + _PITCH * max(map(len, drawn))
    entries = [(_symbol(0, _SMALL, new=True), "new team"), (_symbol(0, _SMALL, new=False), "of an earlier phase")]
    entries += [
        (_symbol(n, _SMALL, new=False), kind if len(kind) < 40 else f"{kind[:38]}…") for kind, n in known.items()
    ]
    symbols = [
        placed(_symbol(known.get(one.kind, 0), new=seen[one.team] == one.step, said=_said(one, steps)), f"{x:.2f}%", y)
        for one in shown
        for x, y in [places[one.step, one.team]]
    ]
    narrow, wide = max(5, 36 // len(steps)), max(9, 84 // len(steps))
    parts = [
        _style(),
        Markup('<g class="lineage">{}{}</g>').format(Markup("").join(links), Markup("").join(symbols)),
        *(
            words(100 * (n + 0.5) / len(steps), 16, name_of(step, narrow=narrow, wide=wide), css="name middle")
            for n, step in enumerate(steps)
        ),
        *(_text(one, places[one.step, one.team], narrow=narrow, wide=wide) for one in shown),
        key(entries, bottom + 16),
    ]
    height = bottom + 16 + KEY_PITCH * ((len(entries) + 1) // 2)
    notes = [
        f"{steps[n]}: the first {_MOST_ROWS} of {len(column)}."
        for n, column in enumerate(columns)
        if len(column) > _MOST_ROWS
    ]
    notes += [f"Built on solutions that are not drawn: {', '.join(lost)}."] if lost else []
    if unnumbered := [kind for kind in kinds if kind not in known]:
        notes.append(f"Only {_MOST_KINDS} classes of methods have a number. The others: {', '.join(unnumbered)}.")
    described = " ".join(f"{_said(one, steps)}." for one in shown)
    return with_notes(picture(parts, height, name=name, title=title, description=described), notes)


def _links(
    shown: Sequence[Solution], solutions: Sequence[Solution], places: Mapping[tuple[int, str], tuple[float, float]]
) -> tuple[list[Markup], list[str]]:
    """Lines from solutions to those built on them, and the teams of which some built on what is not drawn."""
    line = Markup('<line class="link" x1="{:.2f}%" y1="{:.1f}" x2="{:.2f}%" y2="{:.1f}"><title>{}</title></line>')
    links, lost = [], []
    for one in shown:
        for parent in one.builds_on:
            latest = max((s.step for s in solutions if s.team == parent and s.step < one.step), default=-1)
            if (latest, parent) not in places:
                lost.append(one.team)
                continue
            (x1, y1), (x2, y2) = places[latest, parent], places[one.step, one.team]
            links.append(line.format(x1, y1, x2, y2, f"{one.team} builds on {parent}"))
    return links, list(dict.fromkeys(lost))


def _symbol(kind: int, size: float = _SIZE, *, new: bool, said: str = "") -> Markup:
    """A square or a circle around (0, 0) with the number of its kind; 0 is none."""
    shape = (
        Markup('<rect class="kind{}" x="{}" y="{}" width="{s}" height="{s}">{}</rect>').format(
            kind, -size, -size, _told(said), s=2 * size
        )
        if new
        else Markup('<circle class="kind{}" r="{}">{}</circle>').format(kind, size, _told(said))
    )
    number = Markup('<text class="number" x="0" y="4.5">{}</text>').format(kind) if kind else Markup("")
    return Markup('<g class="lineage">{}{}</g>').format(shape, number)


def _told(said: str) -> Markup:
    return Markup("<title>{}</title>").format(said) if said else Markup("")


def _text(one: Solution, place: tuple[float, float], *, narrow: int, wide: int) -> Markup:
    """The team above its symbol, rank and score below."""
    x, y = place
    below = words(x, y + _SIZE + 14, f"{one.rank:g}: {one.score}", css="small middle")
    return words(x, y - _SIZE - 5, name_of(one.team, narrow=narrow, wide=wide), css="small ink middle") + below


def _said(one: Solution, steps: Sequence[str]) -> str:
    method = f", {one.kind}" if one.kind else ""
    built = f", built on {', '.join(one.builds_on)}" if one.builds_on else ""
    return f"{steps[one.step]}: {one.team}, rank {one.rank:g}, {one.score}{method}{built}"


@cache
def _style() -> Markup:
    """Light fills with dark numbers on either page."""
    fills = (_light(colour) for colour in list(COLOURS)[:_MOST_KINDS])
    kinds = Markup("").join(
        Markup(".lineage .kind{}{{fill:{}}}").format(n, fill) for n, fill in enumerate(fills, start=1)
    )
    return Markup(
        "<style>.lineage rect,.lineage circle{{stroke:var(--ink,#1a1d21);stroke-width:1.5}}{}"
        ".lineage .kind0{{fill:var(--paper,#fff)}}.lineage .link{{stroke:var(--muted,#59616b);stroke-width:2}}"
        ".lineage text.number{{fill:#111;stroke:none;font-size:12.5px;text-anchor:middle;font-weight:600}}</style>"
    ).format(kinds)


def _light(colour: str) -> str:
    """A third of a colour "#rrggbb", the rest white: a printer mixes none by itself."""
    parts = (round(255 - 0.35 * (255 - part)) for part in bytes.fromhex(colour.removeprefix("#")))
    return "#" + "".join(f"{part:02x}" for part in parts)
