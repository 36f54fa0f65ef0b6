"""What a rule gives for every draw of cases, so that one mechanism serves the uncertainty of all of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from isocenter.ranking._entry import Role
from isocenter.ranking._rank_draws import ranks_of
from isocenter.ranking._ties import Ties
from isocenter.resampling.counts import Reject, Resamples
from isocenter.resampling.matrices import Floats


@dataclass(frozen=True, eq=False)
class Drawn:
    """The scores of a board's submissions on all cases and in every draw of them.

    Attributes
    ----------
    submissions
        Whoever has a score.
    competing
        Which of them are ranked: teams, not benchmarks or organisers.
    full
        Their scores on all cases.
    scores
        Submissions × draws.
    better, ties, tolerance
        How scores become ranks.
    keys
        Competing submissions × draws: what ranks in place of the score, where tie-breaks decide between equal ones;
        lower is better, equal only if equal to the last bit. None: the scores themselves.
    values
        Submissions × cases, if the score is the mean of these numbers.
    weight
        Of the cases in that mean; None if all alike.
    components
        By metric that the score is made of, submissions × draws.
    metrics
        Where the score is the weighted mean of ranks by several metrics: the weight of each, and what it gives in the
        draws, or the ranks by it if they do not vary with the cases.
    rough
        Why a normal approximation says nothing of the score, where it does not; "" otherwise.
    """

    submissions: tuple[str, ...]
    competing: NDArray[np.bool_]
    full: Floats
    scores: Floats
    better: Literal["higher", "lower"]
    ties: Ties
    tolerance: float
    keys: Floats | None = None
    values: Floats | None = None
    weight: Floats | None = None
    components: Mapping[str, Floats] = field(default_factory=dict)
    metrics: tuple[tuple[float, Drawn | Floats], ...] = ()
    rough: str = ""

    def leave_out(self, names: Collection[str]) -> Drawn:
        """The same without submissions of these names that do not compete; no rank depends on them."""
        kept = self.competing | np.array([name not in names for name in self.submissions], np.bool_)
        if kept.all():
            return self
        return replace(
            self,
            submissions=tuple(name for name, stays in zip(self.submissions, kept, strict=True) if stays),
            competing=self.competing[kept],
            full=self.full[kept],
            scores=self.scores[kept],
            values=None if self.values is None else self.values[kept],
            components={name: scores[kept] for name, scores in self.components.items()},
        )

    def ranks(self) -> Floats:
        """Competing submissions × draws."""
        if self.keys is not None:
            return ranks_of(self.keys, better="lower", ties=self.ties, tolerance=0.0)
        return ranks_of(self.scores[self.competing], better=self.better, ties=self.ties, tolerance=self.tolerance)


def together(parts: Sequence[Drawn]) -> Drawn:
    """The draws of several runs of one rule, one after the other."""
    first = parts[0]
    if len(parts) == 1:
        return first
    return replace(
        first,
        scores=np.concatenate([part.scores for part in parts], axis=1),
        keys=None if first.keys is None else np.concatenate([_keys(part) for part in parts], axis=1),
        components={
            name: np.concatenate([part.components[name] for part in parts], axis=1) for name in first.components
        },
    )


def _keys(part: Drawn) -> Floats:
    assert part.keys is not None
    return part.keys


@runtime_checkable
class Drawable(Protocol):
    """A rule whose uncertainty is known."""

    def draw(self, scores: pl.DataFrame, draws: Resamples, *, roles: Mapping[str, Role] | None = None) -> Drawn:
        """Scores in every draw; the cases of the draws are those of the table in alphabetical order."""
        ...


@runtime_checkable
class Rejecting(Protocol):
    """A rule that has no score for some draws."""

    def rejects(self, scores: pl.DataFrame, *, roles: Mapping[str, Role] | None = None) -> Reject | None:
        """Says which draws, given as how often each case is in them, are to be made again; None if none is."""
        ...
