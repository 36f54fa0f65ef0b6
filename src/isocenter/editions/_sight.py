"""Who may see what of a phase, and from when on: the one place that decides.

                      before it opens   open, closed           results out
    visibility        ───────────────   ────────────────────   ─────────────────────────────────
    "public"          nothing           the board              the board
    "own"             nothing           a team: its own row    the board, names as is announced
    "hidden"          nothing           nothing                the board, names as is announced

Pages, files, plots, counts, mails and the API ask `sight`, and show of a board what `show_board` leaves of it. Time
only opens: what a viewer sees once, the same viewer sees ever after. Before it is announced there is no such phase.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, get_args

from isocenter.editions._clock import zoned
from isocenter.editions._model import Edition
from isocenter.editions._phase import Phase, split_cohort

ViewerKind = Literal["anonymous", "participant", "organiser", "staff", "reader"]


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who looks.

    Attributes
    ----------
    kind
        "staff" run the machines and see what organisers see. A "reader" judges cases for a reader study and sees what
        everybody sees, so that no result of an algorithm sways the reading.
    team
        The team of a participant; "" as long as there is none.
    admitted
        Whether this team was admitted to the phase; asked where not every team is.
    """

    kind: ViewerKind
    team: str = ""
    admitted: bool = False

    def __post_init__(self) -> None:
        if self.kind not in get_args(ViewerKind):
            msg = f"a viewer is {', '.join(get_args(ViewerKind))}, not {self.kind!r}"
            raise ValueError(msg)
        if self.team and self.kind in ("anonymous", "reader"):
            msg = f"a viewer of the kind {self.kind!r} has no team, but {self.team!r} is given"
            raise ValueError(msg)


@dataclass(frozen=True, slots=True)
class Sight:
    """What a viewer may see of a phase at a moment; nothing, unless it is said.

    Attributes
    ----------
    known
        That there is this phase.
    own_scores, own_cases
        The results of the viewer's own team on the whole cohort, and in every case. Those of cases never where a phase
        is hidden or its board gives little away: they would tell what the test cases are like.
    other_scores, ranks, names
        The rows of other teams; ranks, rank sets and who may be first; by which names, see `first`.
    details
        Intervals, rank sets and the metrics behind a score.
    counts, progress
        How many submissions and teams there are; plots of how they came on, which no further cohort has: on a holdout
        nobody comes on.
    downloads
        The data of the phase.
    reference
        The reference of its cases.
    unlisted
        Rows that stand on no board, and the notes about them.
    team
        Whose own rows are shown under their own name.
    first
        How many places from the top are named; the others are only with their consent. None: all are.
    consents
        The teams that consented to be named.
    several
        Whether every submission has a row of its own.
    decimals
        With how many decimals scores are shown; None: with all.
    """

    known: bool = False
    own_scores: bool = False
    own_cases: bool = False
    other_scores: bool = False
    ranks: bool = False
    names: bool = False
    details: bool = False
    counts: bool = False
    progress: bool = False
    downloads: bool = False
    reference: bool = False
    unlisted: bool = False
    team: str = ""
    first: int | None = None
    consents: frozenset[str] = frozenset()
    several: bool = False
    decimals: int | None = None


_EVERYTHING = Sight(
    known=True,
    own_scores=True,
    own_cases=True,
    other_scores=True,
    ranks=True,
    names=True,
    details=True,
    counts=True,
    progress=True,
    downloads=True,
    reference=True,
    unlisted=True,
)


def sight(edition: Edition, phase: str, viewer: Viewer, now: datetime, *, consents: Collection[str] = ()) -> Sight:
    """What a viewer may see of a phase at a moment.

    A name that no phase has, and a phase that is not yet announced, give the same answer: nothing.

    Parameters
    ----------
    phase
        Its name; with that of a further cohort, as in "test.holdout", the boards of that one are meant.
    consents
        The teams that consented to be named although they are not among the first; see `Edition.named_in`.

    Examples
    --------
    >>> edition = Edition.model_validate({
    ...     "challenge": "hecktor2020", "title": "HECKTOR 2020", "phases": [{
    ...         "name": "test", "title": "Test phase", "visibility": "own",
    ...         "opens": "2020-08-10T00:00:00+02:00", "closes": "2020-09-11T00:00:00+02:00",
    ...         "results": "2020-10-04T09:00:00+02:00",
    ...     }],
    ... })
    >>> september = datetime.fromisoformat("2020-09-01T12:00:00Z")
    >>> seen = sight(edition, "test", Viewer("participant", team="Doubs"), september)
    >>> seen.own_scores, seen.other_scores, seen.counts
    (True, False, False)
    """
    zoned(now)
    found = edition.find_scored(phase)
    if found is None:
        return Sight()
    several = found.counts == "all"
    further = split_cohort(phase)[1] != ""
    if viewer.kind in ("organiser", "staff"):
        return replace(_EVERYTHING, progress=not further, team=viewer.team, several=several)
    if not is_known(found, now):
        return Sight()
    discreet = found.ladder is not None or found.decimals is not None
    before = edition.continued_by(found)
    # The cases are those of the phase that goes on: where it hid them, they stay hidden.
    hidden = found.visibility == "hidden" or (before is not None and before.visibility == "hidden")
    out = now >= found.results
    public = found.visibility == "public"
    board = out or (public and now >= found.opens)
    own = viewer.team != "" and (board or (found.visibility == "own" and now >= found.opens))
    return Sight(
        known=True,
        own_scores=own,
        own_cases=own and not hidden and not discreet,
        other_scores=board,
        ranks=board,
        names=board,
        details=(own or board) and not discreet,
        counts=board,
        progress=board and (out or not discreet) and not further,
        downloads=viewer.kind == "participant"
        and now >= found.opens
        and (found.admission == "open" or viewer.admitted),
        team=viewer.team,
        first=edition.named_in(found),
        consents=frozenset(consents),
        several=several,
        decimals=found.decimals,
    )


def is_known(phase: Phase, now: datetime) -> bool:
    """Whether the phase is announced."""
    return phase.announced is None or now >= phase.announced
