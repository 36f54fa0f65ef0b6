"""Prizes: who wins what in every phase, from its board (eTable 1 of the supplement)."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from isocenter.editions import awards
from isocenter.papers._study import Study
from isocenter.papers.lung2019._phases import PhaseBoard
from isocenter.report import Block, Cell, Paragraph, Section, table


def prizes(study: Study, boards: Sequence[PhaseBoard], notes: Sequence[str]) -> Section:
    """All awards of the phases that have a board, and their sum."""
    edition, rows = study.folder.edition, []
    totals: dict[str, Decimal] = {}
    for one in boards:
        for award in awards(edition, one.board, phase=one.phase.name, leaders=one.leaders):
            amount = Cell(f"{award.amount:,} {award.currency}", float(award.amount))
            rows.append((one.phase.title, award.submission, award.title, amount))
            totals[award.currency] = totals.get(award.currency, Decimal()) + award.amount
    name, title = "prizes", "Prizes"
    if not rows:
        text = "No prize is won: challenge.toml names none for the phases that have a board, or nobody is ranked."
        return Section(name, title, (Paragraph(text, note=True),))
    shown = " and ".join(f"{amount:,} {currency}" for currency, amount in totals.items())
    named = [bonus.title for bonus in edition.bonuses if bonus.to == "named"]
    said = [f"No board decides who gets: {', '.join(named)}. They are not in this table."] if named else []
    said += [
        f"{bonus.title}: nobody is known to have led; {one.unknown or 'nobody had a rank then'}."
        for one in boards
        for bonus in edition.bonuses_of(one.phase.name)
        if bonus.to == "leader" and not one.leaders.get(bonus.title)
    ]
    blocks: list[Block] = [
        Paragraph(f"By the boards {shown} are won. Teams of one rank share the prizes of their places."),
        table("awards", "Who wins what.", ["Phase", "Team", "For", "Amount #"], rows, notes=[*said, *notes]),
    ]
    return Section(name, title, tuple(blocks))
