"""Between an edition and its challenge: what a new edition begins with, and a challenge under an edition's policies."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, time, timedelta
from typing import TYPE_CHECKING, Any, Literal

from isocenter.editions._boards import boards_of, policies_of
from isocenter.editions._lines import scan
from isocenter.editions._model import Edition, Policies
from isocenter.editions._phase import Phase
from isocenter.editions._problems import EditionError, EditionProblem, check, path_of
from isocenter.editions._toml import file_at, load
from isocenter.schema import show

if TYPE_CHECKING:
    from isocenter.evaluation import Challenge


def new(challenge: Challenge, *, now: datetime | None = None) -> Edition:
    """The edition that a challenge begins with, for `write` to put where the organisers can edit it.

    What the challenge says in its `edition` holds. The rest is taken from what it says in code: quota, which
    submission counts and what becomes of organisers from its participation, missing cases and ties from its boards.
    Where boards differ, the policy is left out, and each board keeps its own: a new edition changes nothing.

    Parameters
    ----------
    now
        Without phases in `edition` there is one, "test", which opens at the next midnight UTC and lasts thirty days.
        The present moment unless given.
    """
    taking_part = challenge.participation
    given = dict(challenge.edition)
    per_phase = {
        "quota": taking_part.quota,
        "quota_per": taking_part.per,
        "counts": taking_part.counts,
        "ladder": taking_part.ladder,
        "decimals": taking_part.decimals,
    }
    phases = given.get("phases") or [_first_phase(now or datetime.now(UTC))]
    policies = given.get("policies", {})
    data = {
        "challenge": challenge.name,
        "title": challenge.title,
        **given,
        "policies": _over({"organisers": taking_part.organisers, **policies_of(challenge)}, policies),
        "phases": [_over(per_phase, phase) for phase in phases] if isinstance(phases, list | tuple) else phases,
    }
    return check(data, line_of=lambda _: None, name=f"edition of {challenge.name}")


def in_force(
    path: str | os.PathLike[str], *, find: Callable[[str], Challenge], phase: str | None = None
) -> tuple[Edition, Challenge]:
    """Read an edition, and its challenge with the edition's policies in force.

    Parameters
    ----------
    find
        Gives the challenge of a name, or raises a `LookupError` that says which names there are.
    phase
        See `apply`.

    Raises
    ------
    EditionError
        As `load` and `apply` do; what only the challenge can tell has its line here too.
    """
    edition = load(path)
    try:
        return edition, apply(edition, find(edition.challenge), phase=phase)
    except LookupError as error:
        problems = [EditionProblem(None, "challenge", show(edition.challenge), str(error))]
    except EditionError as error:
        problems = error.problems
    file = file_at(path)
    lines = scan(file.read_text(encoding="utf-8"))
    placed = [dataclasses.replace(p, line=lines.find(path_of(p.where))) for p in problems]
    raise EditionError(sorted(placed, key=lambda problem: problem.line or 0), os.fspath(file))


def apply(edition: Edition, challenge: Challenge, *, phase: str | None = None) -> Challenge:
    """The challenge with the edition's policies in force, to be scored and ranked.

    A challenge has one quota and one answer to which submission counts; they become those of the phase that is named,
    or else of the edition's last one, which closes last (of several, the last in the file): its board decides.
    A quota by the calendar is kept where submissions are taken, by `quota_left`, which knows the clock of the phase;
    the challenge then has none.
    What becomes of organisers goes into the participation too. Missing cases and ties go into every board whose rule
    has such a policy. Boards of the edition's own take the place of the challenge's of that name, or join them; the one
    that is the main board comes first.

    Raises
    ------
    EditionError
        The edition is of another challenge, has a board with a rule that cannot work, or sets a policy that no board
        has or that a board's metric does not allow: a case cannot count as a Dice of 2, nor as the worst of a distance
        without bound.
    """
    if edition.challenge != challenge.name:
        found = show(edition.challenge)
        message = f'{found} is not the challenge "{challenge.name}"'
        raise EditionError([EditionProblem(None, "challenge", found, message)])
    boards, problems = boards_of(edition, challenge)
    if problems:
        raise EditionError(problems)
    now = phase_of(edition, phase)
    quota, per = _counted(now)
    participation = dataclasses.replace(
        challenge.participation,
        quota=quota,
        per=per,
        counts=now.counts,
        ladder=now.ladder,
        decimals=now.decimals,
        organisers=edition.policies.organisers,
    )
    return dataclasses.replace(challenge, participation=participation, boards=boards)


def phase_of(edition: Edition, name: str | None) -> Phase:
    """The phase of a name, or with its cohort as in "test.holdout"; the one that closes last if none is named."""
    if name is None:
        return edition.last_phase
    if (phase := edition.find_scored(name)) is not None:
        return phase
    known = ", ".join(phase.name for phase in edition.phases)
    raise EditionError(
        [EditionProblem(None, "phases", show(name), f"there is no phase {show(name)}; there are {known}")]
    )


def _counted(phase: Phase) -> tuple[int | None, Literal["phase", "week", "day"]]:
    """The quota that can be counted from the moments of submissions alone, and its span."""
    match phase.quota_per:
        case "calendar-week" | "calendar-day":
            return None, "phase"
        case per:
            return phase.quota, per


def _over(derived: Mapping[str, Any], explicit: object) -> object:
    """Derived values under explicit ones; what is no table is left for `check` to complain about."""
    if isinstance(explicit, Phase | Policies):
        return explicit
    return {**derived, **explicit} if isinstance(explicit, Mapping) else explicit


def _first_phase(now: datetime) -> dict[str, Any]:
    if now.utcoffset() is None:
        msg = f"{now.isoformat()} has no time zone, so tomorrow is not known"
        raise ValueError(msg)
    opens = datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), time(), UTC)
    closes = opens + timedelta(days=30)
    return {"name": "test", "title": "Test phase", "opens": opens, "closes": closes, "results": closes}
