"""A challenge in a package of its own: whose masks have the right volume?

One mask per case; the absolute difference of the volumes, in millilitres, is averaged; lower is better; one missing
case and a team is out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np

from isocenter.evaluation import Case, Challenge, Score
from isocenter.metrics import Metric, catalogue
from isocenter.ranking import Disqualify, MeanThenRank
from isocenter.submissions import MaskFile
from isocenter.volumes import LabelMap

VOLUME_ERROR = catalogue.register(
    Metric(
        name="volume_error",
        unit="ml",
        better="lower",
        bounds=(0.0, math.inf),
        decimals=2,
        text="absolute difference of the volumes of mask and reference",
    )
)


def millilitres(mask: LabelMap) -> float:
    """Volume of a mask: voxels × volume of a voxel."""
    return np.count_nonzero(mask.box) * mask.grid.voxel_volume / 1000


def prepare(case: Case) -> float:
    """Of the reference only its volume is needed."""
    return millilitres(case.reference["mask"])


def measure(reference: float, output: Mapping[str, LabelMap]) -> Iterator[Score]:
    """How far the volume is off."""
    yield Score("volume_error", abs(millilitres(output["mask"]) - reference))


challenge = Challenge(
    name="volumetry",
    title="Volumetry: whose masks have the right volume?",
    reference={"mask": MaskFile()},
    output={"mask": MaskFile(grid_of="mask")},
    metrics=("volume_error",),
    prepare=prepare,
    measure=measure,
    boards={"volume": MeanThenRank("volume_error", missing=Disqualify())},
)
