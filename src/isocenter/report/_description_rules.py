"""A description, as far as an edition knows it: who may take part, how often, when, and what there is to win."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal

from isocenter.editions import Bonus, Edition, Phase
from isocenter.evaluation import Challenge
from isocenter.report._description import Block, Bullets, Paragraph, Rows
from isocenter.submissions import FileSpec, ImageFile, MaskFile, is_folder

_ORGANISERS = {
    "unlisted": "they stand on no board and win no prize",
    "unranked": "they stand on the board without a rank, and win no prize",
    "ranked": "they are ranked like others, and win no prize",
}
_COUNTS = {
    "last": "the last one",
    "best": "the one with the best score on the main board; of equals, the later",
    "chosen": "the one that the team chooses",
    "all": "each, with a row of its own",
}
_PER = {
    "phase": "in all",
    "week": "in any seven days in a row",
    "day": "in any 24 hours in a row",
    "calendar-week": "in a week from Monday",
    "calendar-day": "in a day from midnight",
}
_VISIBLE = {
    "public": "everybody sees the board",
    "hidden": "nobody but the organisers sees the board",
    "own": "a team sees its own row",
}
_GRID = {
    "refuse": "one on another grid cannot be used",
    "resample": "one on another grid is resampled to it, and the result says so",
    "trust-index": "one on another grid is compared voxel by voxel, if it has as many of them",
}


def moment(value: datetime) -> str:
    """A moment on its own clock and on that of the world.

    Examples
    --------
    >>> moment(datetime.fromisoformat("2020-09-10T23:59:59+02:00"))
    '2020-09-10 23:59:59 UTC+02:00 (2020-09-10 21:59:59 UTC)'
    """
    world = f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"
    if not value.utcoffset():
        return world
    zone = value.isoformat()[-6:]
    return f"{value:%Y-%m-%d %H:%M:%S} UTC{zone} ({world})"


def life_cycle(edition: Edition) -> list[Block]:
    """From when to when teams may submit."""
    opens = min(phase.opens for phase in edition.phases)
    closes = edition.last_phase.closes
    count = len(edition.phases)
    phases = "one phase" if count == 1 else f"{count} phases"
    return [Paragraph(f"Submissions are taken in {phases}, from {moment(opens)} to {moment(closes)}.")]


def organisers(edition: Edition) -> list[Block]:
    """What becomes of the organisers' own."""
    what = _ORGANISERS[edition.policies.organisers]
    return [Paragraph(f"Members of the organisers' institutes may take part; {what}.")]


def prizes(edition: Edition) -> list[Block]:
    """What there is to win, and how ties share it."""
    titles = {phase.name: phase.title for phase in edition.phases} | {None: edition.last_phase.title}
    blocks: list[Block] = []
    if edition.prizes:
        rows = [(str(p.place), _money(p.amount, p.currency), titles[p.phase]) for p in edition.prizes]
        blocks.append(Rows(("place", "prize", "phase"), tuple(rows)))
        blocks.append(Paragraph("Teams of one rank share the prizes of all places that they take up in equal parts."))
    if edition.bonuses:
        each = [(b.title, _money(b.amount, b.currency), _winner(b), titles[b.phase]) for b in edition.bonuses]
        blocks.append(Rows(("bonus", "amount", "goes to", "phase"), tuple(each)))
    if edition.payout is not None:
        pay = edition.payout
        text = f"Whatever its place, a team gets {_money(pay.amount, pay.currency)} for every {pay.per:f} by which its"
        ends = "" if pay.round_up_to is None else f", rounded up to a multiple of {_money(pay.round_up_to)}"
        blocks.append(Paragraph(f"{text} score is better than {pay.above:f}{ends} (phase: {titles[pay.phase]})."))
    for phase in edition.phases:
        if phase.verification is not None:
            refused = "goes to the next place" if phase.verification == "next" else "stays held"
            blocks.append(
                Paragraph(
                    f"{phase.title}: a prize is held until the organisers have verified name and affiliation of every "
                    f"member of the team. If they refuse a profile, it {refused}; ranks do not change."
                )
            )
    return blocks if blocks or edition.organisation.awards else [Paragraph("There are no prizes.")]


def _winner(bonus: Bonus) -> str:
    if bonus.at is not None:
        ties = "shared by equals" if bonus.ties == "split" else "of equals, to the earlier"
        return f"the team that leads the board at {moment(bonus.at)}, by all submissions before; {ties}"
    return "every team that is ranked" if bonus.to == "everybody" else "one team, named by the organisers"


def announcement(edition: Edition) -> list[Block]:
    """Who is named, and who sees the board when."""
    named = {phase.title: _named(edition.named_in(phase)) for phase in edition.phases}
    rows = [(phase.title, _VISIBLE[phase.visibility], moment(phase.results)) for phase in edition.phases]
    words = sorted(set(named.values()), key=list(named.values()).index)
    by_phase = [f"{title}: {text[:1].lower()}{text[1:]} announced by name" for title, text in named.items()]
    return [
        Paragraph(f"{words[0]} announced by name.") if len(words) == 1 else Bullets(tuple(by_phase)),
        Rows(("phase", "before the results", "results"), tuple(rows)),
    ]


def _named(most: int | None) -> str:
    return "All teams are" if most is None else "The best team is" if most == 1 else f"The best {most} teams are"


def submission(edition: Edition, challenge: Challenge) -> list[Block]:
    """What a team hands in for every case."""
    files = tuple(_file(spec, edition) for spec in challenge.output.values())
    return [Paragraph("A submission is a folder or a zip with, for every case:"), Bullets(files)]


def attempts(edition: Edition) -> list[Block]:
    """How often a team may submit, which submission counts, and how a team can check before."""
    rows = [(phase.title, _quota(phase), _COUNTS[phase.counts], _shown(phase)) for phase in edition.phases]
    return [
        Rows(("phase", "submissions of a team", "which counts", "what the board shows"), tuple(rows)),
        Paragraph(
            "Whether a submission is complete and well-formed, isocenter check tells beforehand: it lists every "
            "problem by case and file, and uses up no attempt."
        ),
    ]


def schedule(edition: Edition) -> list[Block]:
    """The phases, each date with its zone."""
    rows = [(phase.title, *map(moment, (phase.opens, phase.closes, phase.results))) for phase in edition.phases]
    titles = {phase.name: phase.title for phase in edition.phases}
    later = [
        f"{phase.title}: the board of {titles[phase.continues]} goes on after the end, and decides nothing."
        for phase in edition.phases
        if phase.continues is not None
    ]
    return [Rows(("phase", "opens", "closes", "results"), tuple(rows)), *([Bullets(tuple(later))] if later else [])]


def case_numbers(edition: Edition) -> list[Block]:
    """How many cases the reference of a phase has, where the edition holds it to that."""
    rows = [(phase.title, str(phase.cases)) for phase in edition.phases if phase.cases is not None]
    return [Rows(("phase", "cases"), tuple(rows))] if rows else []


def grid_policy(edition: Edition, challenge: Challenge) -> str:
    """What happens to outputs on another grid, as a sentence; "" where outputs lie on none."""
    if all(spec.grid_of is None for spec in challenge.output.values()):
        return ""
    return f"An output lies on the grid of the reference; {_GRID[edition.policies.grid]}."


def _quota(phase: Phase) -> str:
    return "any number" if phase.quota is None else f"at most {phase.quota} {_PER[phase.quota_per]}"


def _shown(phase: Phase) -> str:
    """How much of a score is given away."""
    words = [] if phase.decimals is None else [f"scores, also for the ranking, with {phase.decimals} decimals"]
    if phase.ladder is not None:
        by = "more than the standard error" if phase.ladder == "parameter-free" else f"{phase.ladder:g}"
        words.append(f"a new score only if it is better by {by} than the one shown")
    return "; ".join(words) or "all scores"


def _file(spec: FileSpec, edition: Edition) -> str:
    """One file of a case: its name, its kind, and where it must lie."""
    if is_folder(spec):
        name = spec.expected("{case}")
    else:
        name = spec.name("{case}", spec.suffixes[0])
        name += f" (or {', '.join(spec.suffixes[1:])})" if spec.suffixes[1:] else ""
    words = [name]
    if isinstance(spec, MaskFile):
        known = ", ".join(f"{number} {label}" for label, number in spec.labels)
        words.append(f"a mask with the labels 0 background, {known}" if known else "a mask")
    elif isinstance(spec, ImageFile):
        low, high = spec.bounds
        words.append(f"an image of values from {low:g} to {high:g}" if math.isfinite(high - low) else "an image")
    if spec.grid_of is not None:
        words.append(f"on the grid of the reference ({_GRID[edition.policies.grid]})")
    return ", ".join(words)


def _money(amount: Decimal, currency: str = "") -> str:
    return f"{amount:,f} {currency}".strip()
