"""A phase of an edition: when teams may submit, who is admitted, how often, and who sees the board."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from isocenter.editions._values import (
    Admitted,
    After,
    AnnouncedIn,
    CaseCount,
    Continued,
    Counts,
    Decimals,
    KnownFrom,
    Moment,
    Name,
    Per,
    Quota,
    Refund,
    Rungs,
    Text,
    Top,
    Verification,
    Visibility,
)
from isocenter.schema import show
from isocenter.schema.tables import Table, plain


class Phase(Table):
    """A span of time in which teams may submit.

    announced ────── opens ──────────── closes ──────────── results
      │ known, and     │ submissions up to │ the board as        │ everybody sees
      │ not yet open   │ the quota         │ `visibility` says   │ the board

    A phase that `continues` another one decides nothing: no prize, no survey and no end of the challenge depends on it.

    Who may take part says `admission`; see `admitted`, `quota_left` and `sight`, which put these settings into effect.
    """

    name: Name = Field(description="The short name of the phase, by which commands and addresses call it.")
    title: Text = Field(description="The name of the phase as people read it.")
    opens: Moment = Field(description="The moment from which teams may submit.")
    closes: Moment = Field(description="The moment from which submissions are refused.")
    results: Moment = Field(description="The moment from which everybody sees the board.")
    announced: KnownFrom = Field(
        default=None, description="The moment from which anybody but the organisers knows that there is this phase."
    )
    admission: Admitted = Field(default="open", description="Who may take part.")
    after: After = Field(
        default=None, validate_default=True, description="The phase whose board decides who takes part in this one."
    )
    top: Top = Field(
        default=None, validate_default=True, description="How many from the top of the board of that phase are invited."
    )
    continues: Continued = Field(
        default=None,
        description="The phase whose board goes on in this one after the end: its results stand beside the later ones, "
        "are measured against the same reference, and stay as they are on its own board.",
    )
    quota: Quota = Field(default=None, description="How many submissions a team has in this phase.")
    quota_per: Per = Field(default="phase", description="The span of time that the quota is for.")
    refund: Refund = Field(default="infrastructure", description="Where an attempt that came to nothing is given back.")
    counts: Counts = Field(default="last", description="Which of a team's submissions counts.")
    visibility: Visibility = Field(default="hidden", description="Who sees the board before the results are out.")
    announce: AnnouncedIn = Field(
        default=None, description="How many teams of this phase are announced by name when its results are out."
    )
    verification: Verification = Field(
        default=None,
        description="What becomes of a prize of this phase, if its winners' names and affiliations are not verified.",
    )
    ladder: Rungs = Field(
        default=None, description="How much better a submission must be than the one shown of its team, to be shown."
    )
    decimals: Decimals = Field(default=None, description="How many decimals of a score are shown, and ranked.")
    cases: CaseCount = Field(default=None, description="How many cases the reference of the phase has.")

    # Checks of one field against another hang on the later one, so that they run, and name their line, even where
    # some other field of the phase is wrong too.

    @field_validator("closes")
    @classmethod
    def _after_opening(cls, closes: datetime, info: ValidationInfo) -> datetime:
        opens = info.data.get("opens")
        if opens is not None and closes <= opens:
            raise plain(f"{show(closes)} is not after the phase opens ({show(opens)}); write a later moment")
        return closes

    @field_validator("results")
    @classmethod
    def _not_before_closing(cls, results: datetime, info: ValidationInfo) -> datetime:
        closes = info.data.get("closes")
        if closes is not None and results < closes:
            raise plain(
                f"{show(results)} is before the phase closes ({show(closes)}); write this moment or a later one"
            )
        return results

    @field_validator("announced")
    @classmethod
    def _not_after_opening(cls, announced: datetime | None, info: ValidationInfo) -> datetime | None:
        opens = info.data.get("opens")
        if announced is not None and opens is not None and announced > opens:
            raise plain(
                f"{show(announced)} is after the phase opens ({show(opens)}); write this moment or an earlier one"
            )
        return announced

    @field_validator("after")
    @classmethod
    def _where_it_decides(cls, after: str | None, info: ValidationInfo) -> str | None:
        if "admission" not in info.data:
            return after
        admission = info.data["admission"]
        if after is None and admission == "after":
            raise PydanticCustomError("missing", "the phase that decides is not named")
        if after is not None and admission not in ("after", "invited"):
            raise plain(
                f'{show(after)} decides nothing where admission is {show(admission)}; write admission = "after" or '
                f'"invited", or remove this setting'
            )
        return after

    @field_validator("top")
    @classmethod
    def _of_invitations(cls, top: int | None, info: ValidationInfo) -> int | None:
        if "admission" not in info.data or "after" not in info.data:
            return top
        admission, after = info.data["admission"], info.data["after"]
        if top is None and admission == "invited" and after is not None:
            raise PydanticCustomError("missing", "how many are invited is not said")
        if top is not None and admission != "invited":
            raise plain(
                f'{top} invites nobody where admission is {show(admission)}; write admission = "invited", or remove '
                f"this setting"
            )
        if top is not None and after is None:
            raise plain(f"{top} of which phase is not said; write its name as after, or remove this setting")
        return top
