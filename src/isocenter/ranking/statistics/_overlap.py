"""Overlap of all cases together."""

from __future__ import annotations

import math

import numpy as np

from isocenter.metrics import catalogue
from isocenter.metrics.catalogue import Metric
from isocenter.ranking.statistics._registry import CaseWeights, Columns, Input, Statistic, register_statistic
from isocenter.resampling.matrices import Floats


def _volume(name: str, text: str) -> str:
    return catalogue.register(Metric(name, "ml", "neither", (0.0, math.inf), 2, text)).name


@register_statistic
class AggregatedDice(Statistic):
    """2 Σ TP / (2 Σ TP + Σ FP + Σ FN) over all cases, in voxels or volumes, as HECKTOR 2022.

    A case without anything in the reference is not undefined here: what is found there is a false positive. A missing
    case that counts as the worst has overlooked all of its reference. Undefined where nothing is in any mask.

    References
    ----------
    Andrearczyk V et al. Automatic head and neck tumor segmentation and outcome prediction relying on FDG-PET/CT images:
    findings from the second edition of the HECKTOR challenge. Med Image Anal 90 (2023).
    """

    name = "aggregated_dice"
    metric = catalogue.register(
        Metric("aggregated_dice", "", "higher", (0.0, 1.0), 4, "Dice of the voxels of all cases together")
    )
    inputs = (
        Input("tp", _volume("tp_volume", "volume of the output that is in the reference")),
        Input("fp", _volume("fp_volume", "volume of the output that is not in the reference")),
        Input("fn", _volume("fn_volume", "volume of the reference that is not in the output")),
    )
    formula = "2 Σᵢ w[i] tp / (2 Σᵢ w[i] tp + Σᵢ w[i] fp + Σᵢ w[i] fn)"

    def check_inputs(self, columns: Columns) -> str:
        """No volume is negative."""
        return "a volume is 0 or more" if any((column < 0).any() for column in columns.values()) else ""

    def evaluate(self, columns: Columns, weights: CaseWeights) -> Floats:
        """Three sums."""
        hits, wrong, lost = weights.sums([columns["tp"], columns["fp"], columns["fn"]])
        below = 2 * hits + wrong + lost
        return np.asarray(np.divide(2 * hits, below, out=np.full(weights.rows, np.nan), where=below > 0))

    def explain_undefined(self, columns: Columns, weights: CaseWeights) -> str:  # noqa: ARG002
        """Only empty masks."""
        return "all masks are empty"

    def describe_reference(self, columns: Columns) -> dict[str, Floats]:
        """What was found of it, and what was not."""
        return {"tp + fn": columns["tp"] + columns["fn"]}

    def count_as_worst(self, reference: Columns) -> dict[str, Floats] | None:
        """Nothing found."""
        nothing = np.zeros_like(reference["tp + fn"])
        return {"tp": nothing, "fp": nothing, "fn": reference["tp + fn"]}
