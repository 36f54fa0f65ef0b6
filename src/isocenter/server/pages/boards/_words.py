"""What is to be seen of a phase, and from when on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from isocenter.editions import split_cohort
from isocenter.server.boards.board_titles import rule_in_words, titles_of
from isocenter.server.editions import code_of

if TYPE_CHECKING:
    from isocenter.editions import Phase
    from isocenter.server.policy import Visit

State = Literal["shown", "own", "own-later", "hidden", "later"]


@dataclass(frozen=True, slots=True)
class Outlook:
    """Of a phase: what can be seen now, and the moments that change it.

    Attributes
    ----------
    state
        "shown": the board; "own": the row of the own team; "own-later": that, if the visitor had a team; "hidden":
        nothing; "later": the phase has not begun.
    held
        Whether the results would be out, and are held back until all submissions are evaluated.
    further
        Whether it is a further cohort of a phase.
    """

    phase: Phase
    state: State
    opens: datetime
    results: datetime
    public: bool
    out: bool
    held: bool
    organiser: bool
    further: bool


def outlook(visit: Visit, phase: Phase) -> Outlook:
    """What a visitor can see of a phase. It says nothing that the edition does not say to everybody."""
    seen = visit.sight(phase.name)
    state: State
    if seen.other_scores:
        state = "shown"
    elif visit.now < phase.opens:
        state = "later"
    elif seen.own_scores:
        state = "own"
    else:
        state = "own-later" if phase.visibility == "own" else "hidden"
    return Outlook(
        phase=phase,
        state=state,
        opens=phase.opens,
        results=phase.results,
        public=phase.visibility == "public",
        out=visit.is_out(phase),
        held=visit.is_held(phase.name),
        organiser=seen.unlisted and not visit.is_out(phase) and phase.visibility != "public",
        further=split_cohort(phase.name)[1] != "",
    )


def cohorts_of(visit: Visit, phase: str) -> dict[str, str]:
    """The cohorts of a phase by their names in addresses, its own cases first; {} if it has no further one."""
    chosen = visit.phase(split_cohort(phase)[0])
    if not chosen.cohorts:
        return {}
    titles = [chosen.title, *(cohort.title for cohort in chosen.cohorts)]
    return {one.name: title for one, title in zip(chosen.scored, titles, strict=True)}


@dataclass(frozen=True, slots=True)
class Named:
    """A board in words: what it is called, and its rule."""

    title: str
    rule: str


def board_names(visit: Visit, phase: str) -> dict[str, Named]:
    """The boards of a phase in words, by the names that they have in addresses; the one that decides first."""
    assert visit.challenge.version_id is not None
    code = code_of(visit.challenge.version_id, phase)
    titles = titles_of(code)
    return {name: Named(titles[name], rule_in_words(rule)) for name, rule in code.boards.items()}
