"""The metric catalogue: the only home of a metric's unit, direction, bounds and decimals.

A ranking asks here whether more is better; a table asks how many decimals to print; a reader of scores asks whether a
value is possible at all. A challenge in another package adds its own metric once, when its module is imported::

    VOLUME_ERROR = register(Metric("volume_error", unit="ml", better="lower", bounds=(0, math.inf), decimals=1,
                                   text="absolute difference of the two volumes"))
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

__all__ = ["Metric", "get", "names", "register"]


@dataclass(frozen=True, slots=True)
class Metric:
    """What a number in the score table means.

    Attributes
    ----------
    name
        As it stands in the `metric` column.
    unit
        "" for a pure number, otherwise "mm", "Gy", "s", …
    better
        "higher", "lower", or "neither" for an observation that is never ranked.
    bounds
        The smallest and the largest possible value, both included.
    decimals
        How many decimals a table shows; ranking never rounds to them unless its rule says so.
    text
        One line for a reader who does not know the metric.
    """

    name: str
    unit: str
    better: Literal["higher", "lower", "neither"]
    bounds: tuple[float, float]
    decimals: int
    text: str

    def __post_init__(self) -> None:
        if self.better not in ("higher", "lower", "neither"):
            msg = f"metric {self.name!r}: better is higher, lower or neither, not {self.better!r}"
            raise ValueError(msg)
        if not self.bounds[0] <= self.bounds[1]:
            msg = f"metric {self.name!r}: bounds are the smallest and the largest value, not {self.bounds}"
            raise ValueError(msg)

    @property
    def arrow(self) -> str:
        """The direction as a table heading shows it."""
        return {"higher": "↑", "lower": "↓", "neither": ""}[self.better]

    @property
    def best(self) -> float:
        """The best possible value; infinite where the metric has no such bound."""
        low, high = self.bounds
        return high if self.better == "higher" else low

    @property
    def worst(self) -> float:
        """The worst possible value; infinite where the metric has no such bound."""
        low, high = self.bounds
        return low if self.better == "higher" else high

    def admits(self, value: float) -> bool:
        """Whether `value` is possible; NaN never is."""
        return self.bounds[0] <= value <= self.bounds[1]

    def show(self, value: float | None) -> str:
        """The value as a table prints it, with "–" for what could not be measured."""
        return "–" if value is None or math.isnan(value) else f"{value:.{self.decimals}f}"


_catalogue: dict[str, Metric] = {}


def register(metric: Metric) -> Metric:
    """Add a metric; the same definition twice is harmless, two definitions of one name are an error."""
    known = _catalogue.setdefault(metric.name, metric)
    if known != metric:
        msg = f"metric {metric.name!r} is already in the catalogue with another definition: {known}"
        raise ValueError(msg)
    return metric


def get(name: str) -> Metric:
    """Look a metric up by its name in the score table."""
    try:
        return _catalogue[name]
    except KeyError:
        msg = f"unknown metric {name!r}; the catalogue has {', '.join(sorted(_catalogue))}"
        raise KeyError(msg) from None


def names() -> list[str]:
    """All metrics known now, in alphabetical order."""
    return sorted(_catalogue)


DICE = register(Metric("dice", "", "higher", (0.0, 1.0), 4, "Dice similarity coefficient of the two masks"))
JACCARD = register(Metric("jaccard", "", "higher", (0.0, 1.0), 4, "Jaccard index of the two masks"))
PRECISION = register(Metric("precision", "", "higher", (0.0, 1.0), 4, "share of the output that is in the reference"))
RECALL = register(Metric("recall", "", "higher", (0.0, 1.0), 4, "share of the reference that is in the output"))
VOLUME_SIMILARITY = register(
    Metric("volume_similarity", "", "higher", (0.0, 1.0), 4, "similarity of the two volumes, wherever they lie")
)
S_SCORE = register(
    Metric("s_score", "", "higher", (0.0, 1.0), 4, "segmentation score of Mak et al. 2019, E = V·FN/TP + FP")
)

# Surface metrics in the two conventions of the field, docs/explanation/surfaces.md: surface elements weighted by area,
# and, `_boundary`, boundary voxels of equal weight. `metrics.surface_scores` computes each by its name.
for _suffix, _convention in (("", "surface elements, as surface-distance"), ("_boundary", "boundary voxels, as MONAI")):
    for _name, _text in (
        ("hd", "Hausdorff distance"),
        ("hd95", "95th percentile of the surface distances, larger direction"),
        ("asd_truth_to_prediction", "average distance of the reference's surface to the output's"),
        ("asd_prediction_to_truth", "average distance of the output's surface to the reference's"),
        ("assd", "average symmetric surface distance"),
        ("masd", "mean of the two directed average surface distances"),
    ):
        register(Metric(f"{_name}{_suffix}", "mm", "lower", (0.0, math.inf), 2, f"{_text} ({_convention})"))
    register(
        Metric(
            f"nsd{_suffix}", "", "higher", (0.0, 1.0), 4, f"surface Dice at the challenge's tolerance ({_convention})"
        )
    )
register(
    Metric(
        "hd95_boundary_pooled",
        "mm",
        "lower",
        (0.0, math.inf),
        2,
        "95th percentile of both directions pooled (boundary voxels, as medpy)",
    )
)
register(
    Metric(
        "nsd_boundary_mean",
        "",
        "higher",
        (0.0, 1.0),
        4,
        "mean share of each surface within the challenge's tolerance (boundary voxels, as panoptica)",
    )
)

DOSE_ERROR = register(
    Metric(
        "dose_error", "Gy", "lower", (0.0, math.inf), 3, "mean absolute difference of the dose, per irradiated voxel"
    )
)
DOSE_SQUARED_ERROR = register(
    Metric("dose_squared_error", "Gy²", "lower", (0.0, math.inf), 3, "mean squared difference, per irradiated voxel")
)
LEAKED_DOSE = register(
    Metric("leaked_dose", "Gy", "neither", (0.0, math.inf), 3, "share of dose_error from where no dose can be")
)
DVH_ERROR = register(
    Metric("dvh_error", "Gy", "lower", (0.0, math.inf), 3, "absolute difference of a point of the DVH")
)
DVH_SQUARED_ERROR = register(
    Metric("dvh_squared_error", "Gy²", "lower", (0.0, math.inf), 3, "squared difference of a point of the DVH")
)
DVH_VALUE = register(
    Metric("dvh_value", "Gy", "neither", (-math.inf, math.inf), 3, "a point of the DVH in the submission")
)
DVH_REFERENCE = register(
    Metric("dvh_reference", "Gy", "neither", (-math.inf, math.inf), 3, "a point of the DVH in the reference")
)

# Observations: how a case came to its scores. They stand beside the scores and are never ranked.
MISSING = register(Metric("missing", "", "neither", (1.0, 1.0), 0, "the submission holds no output for the case"))
FAILED = register(Metric("failed", "", "neither", (1.0, 1.0), 0, "the output is there but could not be measured"))
RESAMPLED = register(
    Metric("resampled", "mm", "neither", (0.0, math.inf), 2, "output resampled by policy; corners were this far off")
)
INDEX_TRUSTED = register(
    Metric("index_trusted", "mm", "neither", (0.0, math.inf), 2, "output compared by index; corners were this far off")
)
