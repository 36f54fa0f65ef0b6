"""What is asked of a gamma analysis: keywords checked, and answered one criterion at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.metrics import _gamma_search as searching
from isocenter.metrics._gamma_grids import Doses, prepare
from isocenter.metrics._gamma_result import GammaConvention, GammaResult, Sampler, Uncovered
from isocenter.metrics._gamma_shells import Search, plan

CutoffBase = Literal["max", "normalisation", "prescription"]
Spacing = float | Sequence[float]


class GammaOptions(TypedDict, total=False):
    """Keywords that every gamma function takes besides the common ones; `gamma` describes them."""

    origin: Sequence[float] | None
    axes: Sequence[ArrayLike] | None
    evaluation_spacing: Spacing | None
    evaluation_origin: Sequence[float] | None
    evaluation_axes: Sequence[ArrayLike] | None
    mask: ArrayLike | None
    normalisation: float | None
    cutoff_of: CutoffBase | float
    prescription: float | None
    sampler: Sampler
    interpolation_steps: float
    uncovered: Uncovered
    threads: int | None


@dataclass(frozen=True, eq=False)
class Question:
    """Two doses, the points that are wanted, and the convention; any number of criteria can be asked."""

    doses: Doses
    wanted: NDArray[np.bool_]
    undefined: int
    convention: GammaConvention
    threads: int
    furthest_mm: float | None = None  # the largest distance criterion, if several are asked together

    @classmethod
    def of(
        cls,
        reference: ArrayLike,
        evaluation: ArrayLike,
        spacing: Spacing | None,
        *,
        local: bool,
        cutoff_percent: float,
        max_gamma: float,
        options: GammaOptions,
    ) -> Question:
        """Check all keywords but the criterion."""
        check_keywords(options)
        sampler = options.get("sampler", "shells")
        uncovered = options.get("uncovered", "leave-out")
        for name, value, allowed in (
            ("sampler", sampler, get_args(Sampler)),
            ("uncovered", uncovered, get_args(Uncovered)),
        ):
            if value not in allowed:
                msg = f"{name} must be one of {', '.join(allowed)}, not {value!r}"
                raise ValueError(msg)
        steps = _positive("interpolation_steps", options.get("interpolation_steps", 10))
        if not max_gamma > 1:
            msg = f"max_gamma must be more than 1, or every point of a map would pass, not {max_gamma}"
            raise ValueError(msg)
        threads = _threads(options.get("threads"))
        doses = prepare(
            reference,
            evaluation,
            spacing=spacing,
            origin=options.get("origin"),
            axes=options.get("axes"),
            evaluation_spacing=options.get("evaluation_spacing"),
            evaluation_origin=options.get("evaluation_origin"),
            evaluation_axes=options.get("evaluation_axes"),
        )
        normalisation = options.get("normalisation")
        cutoff_of = options.get("cutoff_of", "max")
        if local and normalisation is not None and cutoff_of != "normalisation":
            msg = "a local gamma has no normalisation; did you mean local=False, or cutoff_of='normalisation'?"
            raise ValueError(msg)
        hundred = doses.maximum if normalisation is None else _positive("normalisation", normalisation)
        base, called = _cutoff_base(cutoff_of, doses.maximum, hundred, options.get("prescription"))
        if not (math.isfinite(cutoff_percent) and cutoff_percent >= 0):
            msg = f"cutoff_percent must be 0 or more, not {cutoff_percent}"
            raise ValueError(msg)
        cutoff = cutoff_percent / 100 * base
        # A float64 scalar, for the comparison of single precision doses to be in double precision.
        wanted = doses.reference >= np.float64(cutoff)
        mask = options.get("mask")
        if mask is not None:
            wanted &= doses.inward(_mask(mask, doses.shape))
        undefined = 0
        if local and cutoff <= 0:
            empty = wanted & (doses.reference == 0)
            undefined = int(np.count_nonzero(empty))
            wanted &= ~empty
        convention = GammaConvention(
            local=local,
            normalisation=None if local else hundred,
            cutoff_percent=float(cutoff_percent),
            cutoff_of=called,
            cutoff=cutoff,
            sampler=sampler,
            interpolation_steps=None if sampler == "exact" else steps,
            max_gamma=float(max_gamma),
            search_mm=math.inf,
            uncovered=uncovered,
            masked=mask is not None,
            thresholds=1,
        )
        return cls(doses, wanted, undefined, convention, threads)

    def together(self, thresholds: int, *, furthest: float) -> Question:
        """The same question for several criteria, all searched as far as the widest."""
        return replace(self, convention=replace(self.convention, thresholds=thresholds), furthest_mm=furthest)

    def search(self, distances_mm: tuple[float, ...], largest: tuple[float, ...]) -> Search | None:
        """The spheres for some distance criteria, given the largest gamma of each as far as known; None if exact."""
        if self.convention.interpolation_steps is None:
            return None
        return plan(
            distances_mm,
            fraction=self.convention.interpolation_steps,
            max_gamma=self.convention.max_gamma,
            finished=largest,
            furthest=self.doses.span(),
        )

    def answer(
        self, dose_percent: float, distance_mm: float, search: Search | None, *, keep_map: bool
    ) -> tuple[GammaResult, float]:
        """The result for one criterion, and the largest gamma (not capped, infinite if a point was not reached)."""
        shared = self.furthest_mm is not None
        limit = (self.furthest_mm or distance_mm) * self.convention.max_gamma
        widest = limit / distance_mm if shared else self.convention.max_gamma
        cap = widest * widest  # where ** would overflow, a product is infinite
        # Criteria that share their spheres need the whole map: it says where the next ones go on.
        passing = not keep_map and not shared
        criterion = searching.Criterion(dose_percent, distance_mm, self.convention.normalisation or 0.0)
        settings: dict[str, Any] = {"cap": cap, "passing": passing, "threads": self.threads}
        if search is None:
            found = searching.exact(self.doses, self.wanted, criterion, **settings)
        else:
            found = searching.sampled(self.doses, self.wanted, criterion, search, **settings)
        evaluated, passed, uncovered = found.counts()
        largest = found.largest()
        total = evaluated + (uncovered if self.convention.uncovered == "fail" else 0)
        result = GammaResult(
            map=self.doses.outward(found.map(self.convention.max_gamma)) if keep_map else None,
            dose_percent=dose_percent,
            distance_mm=distance_mm,
            pass_rate=100.0 * passed / total if total else math.nan,
            requested=evaluated + uncovered + self.undefined,
            evaluated=evaluated,
            passed=passed,
            uncovered=uncovered,
            undefined=self.undefined,
            convention=replace(self.convention, search_mm=limit),
        )
        return result, largest


def check_keywords(options: GammaOptions) -> None:
    """Refuse keywords that nobody would look at."""
    known = GammaOptions.__annotations__
    if unknown := [name for name in options if name not in known]:
        msg = f"no gamma keyword {', '.join(map(repr, unknown))}; besides those it names there are {', '.join(known)}"
        raise TypeError(msg)


def criterion(dose_percent: float, distance_mm: float) -> tuple[float, float]:
    """A checked criterion."""
    return _positive("dose_percent", dose_percent), _positive("distance_mm", distance_mm)


def pairs_of(criteria: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Checked criteria."""
    pairs = []
    for pair in criteria:
        try:
            percent, distance = pair
        except (TypeError, ValueError):
            msg = f"criteria must be pairs of percent and mm, not {pair!r}"
            raise ValueError(msg) from None
        pairs.append(criterion(percent, distance))
    if not pairs:
        msg = "criteria must be pairs of percent and mm, and at least one"
        raise ValueError(msg)
    return pairs


def _threads(threads: Any) -> int:
    if threads is None:
        return searching.available_threads()
    if not isinstance(threads, int | np.integer) or threads < 1:
        msg = f"threads must be a whole number of at least 1, or None for all cores, not {threads!r}"
        raise ValueError(msg)
    return int(threads)


def _positive(name: str, value: float) -> float:
    if not value > 0 or not math.isfinite(value):
        msg = f"{name} must be positive and finite, not {value}"
        raise ValueError(msg)
    return float(value)


def _cutoff_base(
    cutoff_of: CutoffBase | float, maximum: float, hundred: float, prescription: float | None
) -> tuple[float, str]:
    """The dose of which the cutoff is a percentage, Gy, and what it is called."""
    if prescription is not None and cutoff_of != "prescription":
        msg = f"prescription is only for cutoff_of='prescription', not for {cutoff_of!r}"
        raise ValueError(msg)
    if cutoff_of == "max":
        return maximum, f"the reference maximum, {maximum:g} Gy"
    if cutoff_of == "normalisation":
        return hundred, f"the normalisation, {hundred:g} Gy"
    if cutoff_of == "prescription":
        if prescription is None:
            msg = "cutoff_of='prescription' needs prescription, the prescribed dose in Gy"
            raise ValueError(msg)
        base = _positive("prescription", prescription)
        return base, f"the prescription, {base:g} Gy"
    if not isinstance(cutoff_of, str):
        base = _positive("cutoff_of", cutoff_of)
        return base, f"{base:g} Gy"
    msg = f"cutoff_of must be {', '.join(get_args(CutoffBase))} or a dose in Gy, not {cutoff_of!r}"
    raise ValueError(msg)


def _mask(mask: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    if np.ma.isMaskedArray(mask):
        msg = "mask is a masked array, whose own mask would be ignored; fill it"
        raise ValueError(msg)
    array = np.asarray(mask)
    if array.dtype != np.bool_ or array.shape != shape:
        msg = f"mask must be booleans on the reference grid, {shape}, not {array.dtype} of shape {array.shape}"
        raise ValueError(msg)
    return array
