"""How ranks change from one ranking to the next: a line per team."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from markupsafe import Markup

from isocenter.report._dose_dvh import _COLOURS as COLOURS
from isocenter.report._drawing import line, name_of, picture, sentence, with_notes, words
from isocenter.report._rank_axis import ranks_up_to
from isocenter.report._rank_columns import column_labels
from isocenter.report._rank_figures import blobs

_LEFT, _RIGHT = 27.0, 73.0  # per cent of the width between which lines run; names stand on both sides
_TOP, _TEXT = 6.0, 15.0  # pixels above the first rank, and that a name needs
_MOST_STEPS = 30
_MOST_DOTS = 600  # beyond it lines have no dots
_DASHES = ("none", "8 4", "2 3", "10 3 2 3")


@dataclass(frozen=True, slots=True)
class _Point:
    step: str
    rank: float
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class _Track:
    """The points of a team, None where it has no rank; the number gives colour and dashes."""

    number: int
    team: str
    points: tuple[_Point | None, ...]

    @property
    def colour(self) -> str:
        return f"var(--bump-{self.number % len(COLOURS)})"


def rank_lines_plot(
    ranks: Mapping[str, Sequence[float | None]], *, steps: Sequence[str], title: str, name: str
) -> Markup:
    """The rank of each team in each of several rankings, phases or tasks, joined by a line; names at both ends.

    A line has a gap where a team has no rank. Of more than 30 rankings the order says little: each team's ranks are
    then drawn as circles with the area of their share, as in `blob_plot`; a rank between two counts for both, the more
    the nearer.

    Parameters
    ----------
    ranks
        By team: one rank per step, None where it has none.
    steps
        What the rankings are called.
    """
    if wrong := sorted(team for team, found in ranks.items() if len(found) != len(steps)):
        msg = f"there are {len(steps)} rankings, but not so many ranks of {', '.join(map(repr, wrong))}"
        raise ValueError(msg)
    given = {team: [rank if rank and 1 <= rank < math.inf else None for rank in row] for team, row in ranks.items()}
    ranked = {team: row for team, row in given.items() if any(rank is not None for rank in row)}
    if not ranked:
        return sentence(f"{title}: no team has a rank.")
    never = ", ".join(team for team in given if team not in ranked)
    absent = f"Never ranked: {never}." if never else ""
    if len(steps) > _MOST_STEPS:
        shares = {team: _shares([rank for rank in row if rank is not None]) for team, row in ranked.items()}
        return with_notes(blobs(shares, ranks={}, of="rankings", title=title, name=name), [absent])
    drawn, note = _bumps(ranked, steps, title=title, name=name)
    return with_notes(drawn, [note, absent])


def _bumps(
    ranked: Mapping[str, Sequence[float | None]], steps: Sequence[str], *, title: str, name: str
) -> tuple[Markup, str]:
    count = ranks_up_to([rank for row in ranked.values() for rank in row], least=1)
    height = max(min(22.0 * count, 900.0), _TEXT * len(ranked) + 4)
    xs = [_LEFT + (_RIGHT - _LEFT) * (i / (len(steps) - 1) if len(steps) > 1 else 0.5) for i in range(len(steps))]
    tracks = [
        _Track(
            number,
            team,
            tuple(
                None if rank is None else _Point(step, rank, x, height * (rank - 0.5) / count)
                for step, rank, x in zip(steps, row, xs, strict=True)
            ),
        )
        for number, (team, row) in enumerate(ranked.items())
    ]
    labels = column_labels(steps, xs, y=_TOP + height, room=_RIGHT - _LEFT, heading="Rankings")
    inner = Markup(
        '<svg x="{:g}%" y="{:g}" width="{:g}%" height="{:g}" viewBox="0 0 1000 1000" preserveAspectRatio="none" '
        'overflow="visible">{}</svg>'
    ).format(_LEFT, _TOP, _RIGHT - _LEFT, height, Markup("").join(_path(track, height) for track in tracks))
    dense = len(tracks) * len(steps) > _MOST_DOTS
    dots = Markup("").join(_dots(track, dense=dense) for track in tracks)
    parts = [
        _style(),
        *(line("tick", x, x, y=_TOP + height, up=height) for x in xs),
        Markup('<g class="bumps{}">{}{}</g>').format(" many" if len(tracks) > 20 else "", inner, dots),
        _names(tracks, 0, bottom=height),
        _names(tracks, -1, bottom=height),
        *(_name_inside(track) for track in tracks if track.points[0] is None and track.points[-1] is None),
        labels.drawn,
    ]
    said = " ".join(
        f"{track.team}: {', '.join(f'{p.rank:g}' if p else '–' for p in track.points)}." for track in tracks
    )
    described = f"Ranks in {', '.join(steps)}. {said}"
    return picture(parts, labels.bottom + 4, name=name, title=title, description=described), labels.note


def _path(track: _Track, height: float) -> Markup:
    """The line through neighbouring points, in thousandths of the inner drawing."""
    corners, before = [], None
    for point in track.points:
        if point is not None:
            across, down = 1000 * (point.x - _LEFT) / (_RIGHT - _LEFT), 1000 * point.y / height
            corners.append(f"{'M' if before is None else 'L'}{across:.1f} {down:.1f}")
        before = point
    path = Markup('<path class="dash{}" style="stroke:{}" d="{}"><title>{}</title></path>')
    return path.format(track.number % len(_DASHES), track.colour, "".join(corners), track.team)


def _dots(track: _Track, *, dense: bool) -> Markup:
    """A dot per rank; where there would be too many, only those that no line leads to."""
    around = (None, *track.points, None)
    alone = {i for i in range(len(track.points)) if around[i] is None and around[i + 2] is None}
    dot = Markup('<circle cx="{:.2f}%" cy="{:.1f}" r="4" style="fill:{}"><title>{}</title></circle>')
    return Markup("").join(
        dot.format(point.x, _TOP + point.y, track.colour, f"{track.team}: rank {point.rank:g}, {point.step}")
        for i, point in enumerate(track.points)
        if point is not None and (not dense or i in alone)
    )


def _names(tracks: Iterable[_Track], end: int, *, bottom: float) -> Markup:
    """The names of the teams with a rank at one end, none over another, each with a stroke to its point."""
    found = sorted(
        ((point, track) for track in tracks if (point := track.points[end]) is not None),
        key=lambda pair: (pair[0].y, pair[1].number),
    )
    heights = spread([point.y for point, _ in found], gap=_TEXT, bottom=bottom)
    parts = []
    for (point, track), y in zip(found, heights, strict=True):
        rank = Markup('<tspan class="place">{:g}</tspan>').format(point.rank)
        team = name_of(track.team, narrow=9, wide=20)
        left = end == 0
        near, away = (-1.6, -2.2) if left else (1.6, 2.2)
        parts.append(line("range", point.x + near, point.x + near / 3, y=_TOP + y, down=point.y - y))
        text = Markup("{} {}").format(team, rank) if left else Markup("{} {}").format(rank, team)
        parts.append(words(point.x + away, _TOP + y + 4.5, text, css="small ink end" if left else "small ink"))
    return Markup("").join(parts)


def spread(places: Sequence[float], *, gap: float, bottom: float) -> list[float]:
    """Ascending places, moved as little as it takes that neighbours are `gap` apart and none is below `bottom`.

    Examples
    --------
    >>> spread([10.0, 10.0, 40.0], gap=15, bottom=50.0)
    [10.0, 25.0, 40.0]
    """
    found: list[float] = []
    for place in places:
        found.append(max(place, found[-1] + gap) if found else place)
    limit = bottom
    for i in reversed(range(len(found))):
        found[i] = min(found[i], limit)
        limit = found[i] - gap
    return found


def _name_inside(track: _Track) -> Markup:
    """The name of a team that is ranked at neither end, above its first point."""
    first = next(point for point in track.points if point is not None)
    return words(first.x, _TOP + first.y - 7, name_of(track.team, narrow=9, wide=20), css="small ink middle")


def _shares(ranks: Sequence[float]) -> list[float]:
    """The share of each rank; 2.25 counts three quarters for the second and one quarter for the third."""
    counts = [0.0] * ranks_up_to(ranks, least=1)
    for rank in ranks:
        below, part = int(rank), rank - int(rank)
        counts[below - 1] += (1 - part) / len(ranks)
        if part:
            counts[below] += part / len(ranks)
    return counts


@cache
def _style() -> Markup:
    light, dark = (
        Markup(";").join(Markup("--bump-{}:{}").format(i, colour) for i, colour in enumerate(colours))
        for colours in (COLOURS.keys(), COLOURS.values())
    )
    dashes = Markup("").join(
        Markup(".bumps .dash{}{{stroke-dasharray:{}}}").format(i, dash) for i, dash in enumerate(_DASHES)
    )
    return Markup(
        "<style>.bumps{{{0}}}@media (prefers-color-scheme:dark){{.bumps{{{1}}}}}@media print{{.bumps{{{0}}}}}"
        ".bumps path{{fill:none;stroke-width:2.25;stroke-linejoin:round;vector-effect:non-scaling-stroke}}"
        ".bumps.many path{{stroke-width:1.5}}{2}</style>"
    ).format(light, dark, dashes)
