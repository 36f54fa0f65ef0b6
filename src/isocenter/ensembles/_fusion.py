"""One mask out of many: majority, STAPLE, and the hierarchical vote on several labels.

A rule for masks is a function of the votes of a voxel, so it is worked out once per combination of votes that occurs,
not once per voxel: see `_patterns`. A voter without a mask for a case votes background there.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from isocenter.ensembles._error import EnsembleError
from isocenter.ensembles._patterns import Patterns
from isocenter.ensembles._subsets import Ensemble
from isocenter.metrics import Overlap

Ties = Literal["foreground", "background"]
"""What exactly half of the votes make of a voxel."""

FieldOfView = Literal["image", "box"]
"""Which voxels a rule looks at: all of the image, or the bounding box of all that was marked; outside it nothing is."""

_START = 0.99999
_STOP = 1e-12
_MOST_ITERATIONS = 2000


class Rule(Protocol):
    """What makes one mask of many: `Ensemble` and `StapleRule` do."""

    @property
    def members(self) -> tuple[str, ...]:
        """Whose votes count."""
        ...

    @property
    def field_of_view(self) -> FieldOfView:
        """Where the rule applies."""
        ...

    def accept(self, patterns: Patterns) -> NDArray[np.bool_]:
        """Which of the patterns that occur in a case are foreground."""
        ...


def majority(voters: Collection[str], *, ties: Ties = "foreground") -> Ensemble:
    """The ensemble of all voters in which at least half must agree, or, if ties are background, more than half.

    Examples
    --------
    >>> print(majority(["a", "b", "c", "d"]), majority(["a", "b", "c", "d"], ties="background"))
    2of(a,b,c,d) 3of(a,b,c,d)
    """
    return Ensemble(tuple(voters), needed(len(voters), ties))


def needed(voters: int, ties: Ties) -> int:
    """How many votes are a majority."""
    if ties not in ("foreground", "background"):
        msg = f"ties are foreground or background, not {ties!r}"
        raise ValueError(msg)
    return max(1, -(-voters // 2) if ties == "foreground" else voters // 2 + 1)


def overlap_of(rule: Rule, patterns: Patterns) -> Overlap:
    """TP, FP and FN, in voxels, of what a rule makes of a case."""
    accepted = rule.accept(patterns)
    inside, outside = patterns.inside[accepted], patterns.outside[accepted]
    tp, fp = int(inside.sum()), int(outside.sum())
    if rule.field_of_view == "box" and accepted.any() and patterns.codes[accepted][0] == 0:
        # Of what nobody marked, only the part in the box is foreground.
        seen, true = int((patterns.inside + patterns.outside)[1:].sum()), int(patterns.inside[1:].sum())
        tp += patterns.box_truth - true - int(inside[0])
        fp += patterns.box_voxels - seen - (patterns.box_truth - true) - int(outside[0])
    return Overlap(tp, fp, patterns.positives - tp)


@dataclass(frozen=True, eq=False)
class Staple:
    """What STAPLE makes of a case.

    Attributes
    ----------
    prior
        The share of foreground among all votes in the field of view.
    sensitivity, specificity
        Of each voter against the estimated truth, in the order of `Patterns.voters`; NaN if there is no foreground, or
        no background, to measure them on.
    probability
        Of being foreground, of each pattern that occurs.
    iterations
        How many it took; `converged` says whether the last changed nothing any more.
    """

    prior: float
    sensitivity: NDArray[np.float64]
    specificity: NDArray[np.float64]
    probability: NDArray[np.float64]
    iterations: int
    converged: bool


def staple(patterns: Patterns, *, field_of_view: FieldOfView = "image") -> Staple:
    """Simultaneous truth and performance level estimation, for masks.

    Parameters
    ----------
    field_of_view
        The prior is the share of foreground among all votes, so it depends on how much background there is to vote on:
        "image" takes all voxels, as SimpleITK does; "box" those in the bounding box of all that was marked.

    Notes
    -----
    With votes d, sensitivities p, specificities q (all 0.99999 at first) and the prior g, the E-step is, per pattern c,

        W_c = g ∏ pᵢ^d (1−pᵢ)^(1−d)  /  ( g ∏ pᵢ^d (1−pᵢ)^(1−d) + (1−g) ∏ qᵢ^(1−d) (1−qᵢ)^d )

    and the M-step pᵢ = Σ h_c W_c d / Σ h_c W_c and qᵢ = Σ h_c (1−W_c)(1−d) / Σ h_c (1−W_c), h_c the voxels of the
    pattern. It stops when no p or q moves by more than 1e-12, or after 2000 rounds: where a voter is perfect, p nears 1
    ever more slowly, and `converged` says so. If everything is background, or everything foreground, that is the
    answer.

    The counts are whole numbers, so no image is too large for them.

    References
    ----------
    Warfield SK, Zou KH, Wells WM. Simultaneous truth and performance level estimation (STAPLE): an algorithm for the
    validation of image segmentation. IEEE Transactions on Medical Imaging 23 (2004) 903-921.
    """
    marked, voxels = patterns.votes, (patterns.inside + patterns.outside).astype(np.float64)
    if field_of_view == "box" and patterns.codes.size and patterns.codes[0] == 0:
        voxels[0] = patterns.box_voxels - voxels[1:].sum()
    elif field_of_view not in ("image", "box"):
        msg = f"a field of view is the image or the box, not {field_of_view!r}"
        raise ValueError(msg)
    total = voxels.sum()
    prior = float((voxels @ marked).sum() / (total * len(patterns.voters))) if total else 0.0
    if prior in (0.0, 1.0):
        unknown, right = np.full(len(patterns.voters), np.nan), np.ones(len(patterns.voters))
        p, q = (unknown, right) if prior == 0 else (right, unknown)
        return Staple(prior, p, q, np.full(patterns.codes.size, prior), iterations=0, converged=True)
    sensitivity = specificity = np.full(len(patterns.voters), _START)
    probability = np.full(patterns.codes.size, prior)
    for iteration in range(1, _MOST_ITERATIONS + 1):
        true = prior * np.where(marked, sensitivity, 1 - sensitivity).prod(axis=1)
        false = (1 - prior) * np.where(marked, 1 - specificity, specificity).prod(axis=1)
        probability = np.divide(true, true + false, out=np.full_like(true, prior), where=true + false > 0)
        before = sensitivity, specificity
        sensitivity = _share(voxels * probability, marked)
        specificity = _share(voxels * (1 - probability), ~marked)
        moved = np.abs(np.subtract((sensitivity, specificity), before))
        if not np.nanmax(moved, initial=0.0) > _STOP:
            return Staple(prior, sensitivity, specificity, probability, iteration, converged=True)
    return Staple(prior, sensitivity, specificity, probability, _MOST_ITERATIONS, converged=False)


def _share(weight: NDArray[np.float64], what: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Which share of the weight each column has."""
    total = weight.sum()
    return weight @ what / total if total > 0 else np.full(what.shape[1], np.nan)


@dataclass(frozen=True)
class StapleRule:
    """Foreground is what STAPLE finds at least as likely as not."""

    members: tuple[str, ...]
    field_of_view: FieldOfView = "image"

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", tuple(sorted(self.members)))

    def __str__(self) -> str:
        return f"staple({','.join(self.members)})"

    def accept(self, patterns: Patterns) -> NDArray[np.bool_]:
        """Which of the patterns that occur are foreground."""
        if patterns.voters != self.members:
            msg = f"{self} was asked about the votes of {', '.join(patterns.voters)}"
            raise EnsembleError(msg)
        likely: NDArray[np.bool_] = staple(patterns, field_of_view=self.field_of_view).probability >= 0.5
        return likely
