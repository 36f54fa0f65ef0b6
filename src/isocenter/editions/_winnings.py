"""What there is to win in an edition: prizes for places, bonuses, and payouts by score."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from isocenter.editions._values import (
    Amount,
    Currency,
    LeadAt,
    LeadTies,
    Multiple,
    OfPhase,
    Place,
    Step,
    Text,
    Threshold,
    Winner,
)
from isocenter.schema import Allowed, show
from isocenter.schema.tables import Table, plain


class Prize(Table):
    """What the team on a place gets."""

    place: Place = Field(description="The rank that wins the prize.")
    amount: Amount = Field(description="What the prize is worth.")
    currency: Currency = Field(description="The currency of the amount, by its international code.")
    phase: OfPhase = Field(default=None, description="The phase on whose board the rank counts.")


class Bonus(Table):
    """A fixed amount that no place decides: for the best solution of a week, a proposal, taking part."""

    title: Annotated[
        Text, Allowed("a text in quotes that is not empty", example='"Best solution after the first week"')
    ] = Field(description="What the bonus is for.")
    amount: Amount = Field(description="What each of its winners gets.")
    currency: Currency = Field(description="The currency of the amount, by its international code.")
    to: Winner = Field(default="named", description="Who gets the bonus.")
    phase: OfPhase = Field(default=None, description="The phase of which the bonus is part.")
    at: LeadAt = Field(
        default=None,
        validate_default=True,
        description="For the leader: the moment of the lead, for which all submissions before it count.",
    )
    ties: LeadTies = Field(default=None, description="For the leader: what becomes of teams that share the lead.")

    @field_validator("at")
    @classmethod
    def _of_a_leader(cls, at: datetime | None, info: ValidationInfo) -> datetime | None:
        if "to" not in info.data:
            return at
        if at is None and info.data["to"] == "leader":
            raise PydanticCustomError("missing", "the moment of the lead is not said")
        if at is not None and info.data["to"] != "leader":
            raise plain(
                f'{show(at)} decides nothing where the bonus is to {show(info.data["to"])}; write to = "leader", or '
                "remove this setting"
            )
        return at


class Payout(Table):
    """So much for every step by which a score is better than a threshold, whatever its place.

    amount × (score − above) / per, also for parts of a step, rounded up to a multiple of `round_up_to`.
    """

    amount: Amount = Field(description="What every step is worth.")
    currency: Currency = Field(description="The currency of the amount, by its international code.")
    per: Step = Field(description="The step of the score that the amount is for.")
    above: Threshold = Field(description="The score from which on steps are counted, as far as a result is better.")
    round_up_to: Multiple = Field(default=None, description="What the sum of a team is rounded up to a multiple of.")
    phase: OfPhase = Field(default=None, description="The phase on whose board the score counts.")
