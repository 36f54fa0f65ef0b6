"""A challenge with healthy patients, ranked as autoPET: lesions of a whole body, one mask per patient.

Half of the final rank is that by Dice, a quarter each those by the volumes of false positives and of false negatives.
The reference of a healthy patient is an empty mask. It has neither a Dice nor a lesion to overlook, so the two means
are over the patients with lesions; everybody can have false positives. A missing mask disqualifies.

References
----------
Gatidis S et al. Results from the autoPET challenge on fully automated lesion segmentation in oncologic PET/CT imaging.
Nature Machine Intelligence 6 (2024).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import generate_binary_structure, label

from isocenter.evaluation import Challenge, Score
from isocenter.metrics import Metric, catalogue, dice
from isocenter.ranking import Disqualify, WeightedRanks
from isocenter.submissions import MaskFile
from isocenter.volumes import LabelMap, side_by_side

Mask = NDArray[np.bool_]

for name, text in {
    "false_positive_volume": "volume of the connected components of the output without a voxel of the reference",
    "false_negative_volume": "volume of the connected components of the reference without a voxel of the output",
}.items():
    catalogue.register(Metric(name, unit="ml", better="lower", bounds=(0.0, math.inf), decimals=2, text=text))


def count_apart(mask: Mask, other: Mask) -> int:
    """Voxels of the connected components of a mask that have no voxel of the other.

    Voxels are connected over faces and edges (18 neighbours), and not over corners, as in the evaluator of autoPET.
    """
    components, count = label(mask, structure=generate_binary_structure(3, 2))
    met = np.zeros(count + 1, np.bool_)
    met[components[other]] = True
    met[0] = True
    return int(np.count_nonzero(~met[components]))


def measure(reference: Mapping[str, LabelMap], output: Mapping[str, LabelMap]) -> Iterator[Score]:
    """Dice and both volumes; what a healthy patient leaves undefined is None."""
    truth, prediction = side_by_side(reference["mask"], output["mask"])
    millilitres = reference["mask"].grid.voxel_volume / 1000
    ill = bool(truth.any())
    yield Score("dice", dice(truth, prediction) if ill else None)
    yield Score("false_positive_volume", count_apart(prediction, truth) * millilitres)
    yield Score("false_negative_volume", count_apart(truth, prediction) * millilitres if ill else None)


challenge = Challenge(
    name="autopet",
    title="autoPET: lesions of the whole body in FDG-PET/CT",
    reference={"mask": MaskFile()},
    output={"mask": MaskFile(grid_of="mask")},
    metrics=("dice", "false_positive_volume", "false_negative_volume"),
    measure=measure,
    boards={
        "final": WeightedRanks(
            (("dice", 0.5), ("false_positive_volume", 0.25), ("false_negative_volume", 0.25)),
            missing=Disqualify(),
            undefined="leave-out",
        )
    },
)
