"""Who wins what: the prizes, bonuses and payout of a phase, from its board, to the last cent.

Money is never a float. A score is turned into the decimal number that it prints as, and all arithmetic from there is
exact: at 15 dollars per 0.001, a score of 0.624 is 50 steps above 0.574 and pays 750, where floats find 50 steps and a
trillionth, and round that up to 775.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Literal

from isocenter.editions._challenge import phase_of
from isocenter.editions._model import Edition
from isocenter.editions._standing import team_of
from isocenter.editions._verification import Verdict
from isocenter.editions._winnings import Bonus, Payout, Prize

if TYPE_CHECKING:
    from isocenter.ranking import Board, BoardRow


@dataclass(frozen=True, slots=True)
class Award:
    """What one submission wins.

    Attributes
    ----------
    title
        What for: "place 1", "places 2 to 3, shared", "performance", or the title of a bonus.
    held
        Whether it is not handed out yet: the phase wants verified profiles, and the team's are not.
    """

    submission: str
    title: str
    amount: Decimal
    currency: str
    held: bool = False


def awards(
    edition: Edition,
    board: Board,
    *,
    phase: str | None = None,
    ties: Literal["split", "all"] = "split",
    named: Mapping[str, str] | None = None,
    leaders: Mapping[str, Sequence[str]] | None = None,
    scores: Mapping[str, Decimal] | None = None,
    verdicts: Mapping[str, Verdict] | None = None,
) -> list[Award]:
    """What the submissions on a phase's board win, best first; nothing that is worth nothing.

    Organisers and benchmarks never win, nor does a submission without a rank; they take no place from others.

    Parameters
    ----------
    phase
        The phase that the board is of; the one that closes last if not said.
    ties
        What teams of one rank get: "split", equal parts of all prizes for the places they take up; "all", each the
        prize of the best of these places. A place is one more than the number of teams with a better rank, whichever
        way the board counts its ranks.
    named
        Who gets the bonuses that no board decides, by the title of the bonus. One that nobody is named for is not
        handed out.
    leaders
        Who led at the moments that bonuses are for, by the title of the bonus; see `contest.find_bonus_leaders`. Teams
        that share a lead share its bonus. One that no leader is known for is not handed out.
    scores
        The official scores, if they are not those on the board: published with so many decimals, for example.
    verdicts
        What the organisers found of the profiles of teams, by team; see `verdict_on`. It matters in a phase that wants
        verified profiles: what a team wins is held until it is verified. Where the phase says "next", a team that was
        refused wins nothing, and takes no place from others. Its rank stays.

    Raises
    ------
    ValueError
        There is no such phase or bonus, or a bonus is meant for who may not win it.

    Notes
    -----
    A part of a prize, or of a step, that does not come out even is rounded down to a hundredth (a thousandth where the
    prize has thousandths), so that no more is paid than there is. Scores are taken at twelve significant digits: what
    lies beyond is the rounding of a mean, and must not cost anybody a step.
    """
    last, names = edition.last_phase.name, [known.name for known in edition.phases]
    if phase is not None and phase not in names:
        msg = f"there is no phase {phase!r}; the edition has {', '.join(names)}"
        raise ValueError(msg)
    if ties not in ("split", "all"):
        msg = f"ties are dealt with by 'split' or 'all', not by {ties!r}"
        raise ValueError(msg)

    def counts(entry: Prize | Bonus | Payout) -> bool:
        return (entry.phase or last) == (phase or last)

    rule, verdicts = phase_of(edition, phase).verification, verdicts or {}

    def verdict(submission: str) -> Verdict:
        return verdicts.get(submission) or verdicts.get(team_of(submission, several=True), "waiting")

    ranked = [row for row in board.rows if row.role == "team" and row.rank is not None]
    if rule == "next":
        ranked = [row for row in ranked if verdict(row.submission) != "refused"]
    ranked.sort(key=lambda row: row.rank or 0.0)
    won: dict[str, list[Award]] = {row.submission: [] for row in ranked}
    for award in _prizes({prize.place: prize for prize in edition.prizes if counts(prize)}, ranked, ties=ties):
        won[award.submission].append(award)
    for award in _bonuses(edition.bonuses_of(phase), ranked, board, named or {}, leaders or {}):
        won.setdefault(award.submission, []).append(award)
    if edition.payout is not None and counts(edition.payout):
        for award in _payouts(edition.payout, ranked, board, scores):
            won[award.submission].append(award)
    every = [award for of_team in won.values() for award in of_team if award.amount]
    if rule is None:
        return every
    return [
        replace(award, held=verdict(award.submission) != "verified")
        for award in every
        if rule != "next" or verdict(award.submission) != "refused"
    ]


def _prizes(
    prizes: Mapping[int, Prize], ranked: Sequence[BoardRow], *, ties: Literal["split", "all"]
) -> Iterator[Award]:
    first = 1
    for _, group in groupby(ranked, key=lambda row: row.rank):
        tied = list(group)
        last = first + len(tied) - 1
        # Prizes of different currencies have no sum; each is shared by itself.
        pool: dict[str, list[Decimal]] = {}
        for place in range(first, last + 1) if ties == "split" else (first,):
            if place in prizes:
                pool.setdefault(prizes[place].currency, []).append(prizes[place].amount)
        title = f"places {first} to {last}, shared" if last > first and ties == "split" else f"place {first}"
        for row in tied:
            for currency, amounts in pool.items():
                share = sum(map(Fraction, amounts), Fraction()) / (len(tied) if ties == "split" else 1)
                yield Award(row.submission, title, _money(share, *amounts), currency)
        first = last + 1


def _bonuses(
    bonuses: Sequence[Bonus],
    ranked: Sequence[BoardRow],
    board: Board,
    named: Mapping[str, str],
    leaders: Mapping[str, Sequence[str]],
) -> Iterator[Award]:
    chosen: dict[str, Mapping[str, Sequence[str]]] = {
        "named": {title: [team] for title, team in named.items()},
        "leader": leaders,
    }
    for to, winners_of in chosen.items():
        titles = [bonus.title for bonus in bonuses if bonus.to == to]
        if unknown := [title for title in winners_of if title not in titles]:
            msg = f"no bonus {unknown[0]!r} is to be handed out; those of this phase are {titles}"
            raise ValueError(msg)
    # Where each submission of a team has a row, a bonus is still won by the team.
    rows = {row.submission for row in (*board.rows, *board.unlisted) if row.role == "team"}
    teams = rows | {team_of(row, several=True) for row in rows}
    winning = {team for winners_of in chosen.values() for winners in winners_of.values() for team in winners}
    if strangers := sorted(winning - teams):
        msg = f"{strangers[0]!r} cannot win a bonus: it is no team on this board"
        raise ValueError(msg)
    for bonus in bonuses:
        everybody = [row.submission for row in ranked]
        winners = everybody if bonus.to == "everybody" else chosen[bonus.to].get(bonus.title, ())
        shares = len(winners) if bonus.to == "leader" else 1
        title = f"{bonus.title}, shared" if shares > 1 else bonus.title
        for winner in winners:
            yield Award(winner, title, _money(Fraction(bonus.amount) / shares, bonus.amount), bonus.currency)


def _payouts(
    payout: Payout, ranked: Sequence[BoardRow], board: Board, scores: Mapping[str, Decimal] | None
) -> Iterator[Award]:
    from isocenter.metrics import catalogue

    sign = -1 if catalogue.get(board.metric).better == "lower" else 1
    for row in ranked:
        if scores is not None and row.submission not in scores:
            msg = f"there is no official score of {row.submission!r}"
            raise ValueError(msg)
        score = Decimal(f"{row.score:.12g}") if scores is None else scores[row.submission]
        steps = max(Fraction(), sign * (Fraction(score) - Fraction(payout.above)) / Fraction(payout.per))
        total = Fraction(payout.amount) * steps
        if payout.round_up_to is not None:
            multiple = Fraction(payout.round_up_to)
            total = math.ceil(total / multiple) * multiple
        like = payout.amount if payout.round_up_to is None else payout.round_up_to
        yield Award(row.submission, "performance", _money(total, like), payout.currency)


def _money(exact: Fraction, *like: Decimal) -> Decimal:
    """An exact amount as one that can be paid: in hundredths, or finer where what it is part of is; rounded down."""
    places = max(2, *(-int(amount.as_tuple().exponent) for amount in like))
    amount = Decimal(f"{math.floor(exact * 10**places)}e-{places}")
    whole = amount.to_integral_value()
    return whole if whole == amount else amount
