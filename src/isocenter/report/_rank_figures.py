"""How sure ranks are, team by team: shares of resamples as circles, and sets of ranks as spans."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from markupsafe import Markup

from isocenter.ranking import show_share
from isocenter.report._drawing import KEY_PITCH, key, line, name_of, picture, placed, sentence, words
from isocenter.report._rank_axis import RankAxis, middle_of, per_cent, ranks_up_to
from isocenter.report._scale import fit

_DIAMOND = Markup('<path class="mean" d="M0-5L5 0L0 5L-5 0Z">{}</path>')
_INTERVAL = Markup(
    '<path class="whisker" d="M-10 0H10"/><path class="median" d="M0-7V7"/>'  # as it is drawn in a row
)
_CLOSE = 18.0  # pixels between rows where there are many: fifty fit on a printed page
_LARGEST, _SMALLEST = 11.0, 0.5  # pixels of a circle's radius: of the largest share, and the least that is drawn


@dataclass(frozen=True, slots=True)
class RankSpan:
    """A team's rank, and the ranks that the data do not exclude.

    Attributes
    ----------
    rank, low, high
        None where the team has none.
    group
        A letter for the teams that cannot be told apart from the first of them; "" for none.
    p_first, resamples
        The share of the bootstrap resamples in which nobody is better, and how many there are, if that is known.
    """

    team: str
    rank: float | None
    low: float | None
    high: float | None
    group: str = ""
    p_first: float | None = None
    resamples: int | None = None


def blob_plot(
    shares: Mapping[str, Sequence[float]], *, ranks: Mapping[str, float | None], title: str, name: str
) -> Markup:
    """How often each team had each rank in bootstrap resamples of the cases: one row per team, one circle per rank.

    The area of a circle is proportional to the share of the resamples, and the key shows the largest; one with a radius
    below half a pixel is not drawn. A line goes from the 2.5th to the 97.5th percentile of the ranks, a stroke marks
    their median and a diamond the rank on all cases.

    Parameters
    ----------
    shares
        By team, in the order of the board: the share of the resamples with rank 1, 2, ….
    ranks
        The rank on all cases; a team without one gets no diamond.

    References
    ----------
    Wiesenfarth M et al. Methods and open-source toolkit for analyzing and visualizing challenge results. Sci Rep 11
    (2021), 2369.
    """
    return blobs(shares, ranks=ranks, of="resamples", title=title, name=name)


def blobs(
    shares: Mapping[str, Sequence[float]], *, ranks: Mapping[str, float | None], of: str, title: str, name: str
) -> Markup:
    """The same with another word than "resamples" for what the shares are of."""
    if not shares:
        return sentence(f"{title}: there is no team to show.")
    axis = RankAxis(ranks_up_to(ranks.values(), least=max(map(len, shares.values()))), 27.0, 99.0)
    clean = {team: [min(share, 1.0) if share > 0 else 0.0 for share in given] for team, given in shares.items()}
    largest = max([share for given in clean.values() for share in given], default=0.0)
    radius = max(5.0, min(_LARGEST, 250.0 / axis.count))
    pitch, top = 2 * radius + 3 if radius > 7.5 else _CLOSE, 4.0
    bottom = top + pitch * len(shares)
    parts, said = [axis.drawn(top=top, bottom=bottom)], []
    for row, (team, given) in enumerate(clean.items()):
        y = top + pitch * (row + 0.5)
        rank = _finite(ranks.get(team))
        said.append(_told(team, given, rank, of=of))
        parts.append(words(0, y + 4.5, name_of(team, narrow=13, wide=24), css="small ink"))
        circles = _circles(team, given, axis, y=y, full=radius / math.sqrt(largest or 1.0))
        parts.append(_middle(given, circles, axis, y=y))
        if rank is not None:
            parts.append(placed(_DIAMOND.format(_title(f"{team}: rank {rank:g} on all cases")), _x(axis.at(rank)), y))
    circle = Markup('<circle class="case" r="{:g}"/>').format(radius)
    entries = [(circle, f"{per_cent(largest)} of {of}"), (_INTERVAL, f"median, 95 % of {of}")]
    if any(_finite(ranks.get(team)) is not None for team in shares):
        entries.append((_DIAMOND.format(""), "rank on all cases"))
    parts.append(key(entries, bottom + 60))
    height = bottom + 60 + KEY_PITCH * ((len(entries) + 1) // 2)
    return picture(parts, height - 6, name=name, title=title, description=" ".join(said))


def rank_set_plot(spans: Sequence[RankSpan], *, title: str, name: str) -> Markup:
    """One row per team: the ranks that the data do not exclude as a bar, the rank as a dot, P(first) at the right.

    Neighbours of one group stand beside one bracket with the group's letter.
    """
    if not spans:
        return sentence(f"{title}: there is no team to show.")
    grouped, chances = any(span.group for span in spans), any(_finite(s.p_first) is not None for s in spans)
    ends = [end for span in spans for end in (span.rank, span.low, span.high)]
    axis = RankAxis(ranks_up_to(ends, least=len(spans)), 34.0 if grouped else 27.0, 84.0 if chances else 99.0)
    pitch, top = 24.0 if len(spans) <= 30 else _CLOSE, 20.0 if chances else 4.0
    bottom = top + pitch * len(spans)
    parts = [axis.drawn(top=top, bottom=bottom)]
    if chances:
        parts.append(words(100, 12, "P(first)", css="small end"))
    if grouped:
        parts.append(_brackets([span.group for span in spans], top=top, pitch=pitch))
    for row, span in enumerate(spans):
        y = top + pitch * (row + 0.5)
        team = name_of(span.team, narrow=12, wide=24)
        parts.append(words(30 if grouped else 0, y + 4.5, team, css="small ink", unit=""))
        parts.append(_span(span, axis, y=y))
        if (chance := _finite(span.p_first)) is not None:
            parts.append(words(100, y + 4.5, show_share(chance, span.resamples), css="small ink end"))
    return picture(parts, bottom + 44, name=name, title=title, description=" ".join(map(_spoken, spans)))


def _circles(team: str, shares: Sequence[float], axis: RankAxis, *, y: float, full: float) -> Markup:
    """One per rank; a pointer finds the team, the rank and the share."""
    short = fit(team, 10 if axis.count > 20 else 40)
    circle = Markup('<circle cx="{:.2f}%" cy="{:g}" r="{:.1f}"><title>{}: rank {}, {}</title></circle>')
    drawn = [
        circle.format(axis.at(rank), y, size, short, rank, per_cent(share))
        for rank, share in enumerate(shares, start=1)
        if (size := full * math.sqrt(share)) >= _SMALLEST
    ]
    return Markup('<g class="case">{}</g>').format(Markup("").join(drawn))


def _middle(shares: Sequence[float], circles: Markup, axis: RankAxis, *, y: float) -> Markup:
    """The interval below the circles, and the median on them."""
    found = middle_of(shares)
    if found is None:
        return circles
    low, half, high = (axis.at(rank) for rank in found)
    return line("whisker", low, high, y=y) + circles + line("median", half, half, y=y, up=7, down=7)


def _told(team: str, shares: Sequence[float], rank: float | None, *, of: str) -> str:
    found = middle_of(shares)
    spread = f"no {of}" if found is None else f"median rank {found[1]}, 95 % of the {of} from {found[0]} to {found[2]}"
    return f"{team}: {spread}{'' if rank is None else f', rank {rank:g} on all cases'}."


def _span(span: RankSpan, axis: RankAxis, *, y: float) -> Markup:
    rank, low, high = _finite(span.rank), _finite(span.low), _finite(span.high)
    parts = [_title(_spoken(span))]
    if low is not None and high is not None:
        reach = 0.3 * (axis.right - axis.left) / axis.count  # a set of one rank has a length, too
        parts.append(
            Markup('<rect class="box" x="{:.2f}%" y="{:g}" width="{:.2f}%" height="10" rx="5"/>').format(
                axis.at(low) - reach, y - 5, axis.at(high) - axis.at(low) + 2 * reach
            )
        )
    if rank is None:
        parts.append(words(axis.left, y + 4.5, "not ranked", css="small"))
    else:
        parts.append(Markup('<circle class="dot" cx="{:.2f}%" cy="{:g}" r="5"/>').format(axis.at(rank), y))
    return Markup("<g>{}</g>").format(Markup("").join(parts))


def _brackets(groups: Sequence[str], *, top: float, pitch: float) -> Markup:
    """A line beside the rows of each group, with hooks at its ends, and its letter."""
    parts, row = [], 0
    bracket = Markup('<path class="whisker" fill="none" d="M25 {0:g}H21V{1:g}H25"/>')
    for group, rows in groupby(groups):
        count = len(list(rows))
        if group:
            first, last = top + pitch * row + 4, top + pitch * (row + count) - 4
            letter = words(16, (first + last) / 2 + 4.5, name_of(group, narrow=2, wide=2), css="small ink end", unit="")
            parts.append(bracket.format(first, last) + letter)
        row += count
    return Markup("").join(parts)


def _spoken(span: RankSpan) -> str:
    rank, low, high, chance = map(_finite, (span.rank, span.low, span.high, span.p_first))
    told = [f"{span.team}: {'not ranked' if rank is None else f'rank {rank:g}'}"]
    if low is not None and high is not None:
        told.append(f"rank set {low:g} to {high:g}")
    if span.group:
        told.append(f"group {span.group}")
    if chance is not None:
        told.append(f"P(first) {show_share(chance, span.resamples)}")
    return f"{', '.join(told)}."


def _title(text: str) -> Markup:
    return Markup("<title>{}</title>").format(text)


def _x(place: float) -> str:
    return f"{place:.2f}%"


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
