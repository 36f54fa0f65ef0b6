"""The scores of OpenKBP in plain pandas and numpy: dense 128³ arrays for everything, one patient after the other.

Written from the definitions, and as simply as they read: it is what the package is checked against. In speed the
package is compared with it as it stands, and with `batched=True`, which does the work in the manner of the published
evaluator: every patient is copied into a dense batch with a channel per structure, every structure is taken out of that
batch as a flat mask, and Python's own `any` asks voxel by voxel whether it is empty.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

SHAPE = (128, 128, 128)
ORGANS = ("Brainstem", "SpinalCord", "RightParotid", "LeftParotid", "Esophagus", "Larynx", "Mandible")
TARGETS = ("PTV56", "PTV63", "PTV70")


class Scores(NamedTuple):
    dose_errors: dict[str, float]
    dose_squared_errors: dict[str, float]
    dvh_errors: dict[tuple[str, str], float]

    @property
    def dose_score(self) -> float:
        return float(np.mean(list(self.dose_errors.values())))

    @property
    def dvh_score(self) -> float:
        return float(np.mean(list(self.dvh_errors.values())))


def evaluate(reference: Path, prediction: Path, *, batched: bool = False) -> Scores:
    """Score a folder of predictions against a folder of patients."""
    scores = Scores({}, {}, {})
    for folder in sorted(path for path in reference.iterdir() if path.is_dir()):
        dose, predicted = dense(folder / "dose.csv"), dense(prediction / f"{folder.name}.csv")
        possible = dense(folder / "possible_dose_mask.csv", mask=True)
        voxel = np.prod(np.loadtxt(folder / "voxel_dimensions.csv"))
        masks = np.zeros((*SHAPE, len(ORGANS + TARGETS)))
        for i, name in enumerate(ORGANS + TARGETS):
            if (folder / f"{name}.csv").exists():
                masks[..., i] = dense(folder / f"{name}.csv", mask=True)
        if batched:
            dose, predicted, possible = (_through_a_batch(array)[0, ..., 0] for array in (dose, predicted, possible))
            masks = _through_a_batch(masks)[0]
        difference = np.abs(dose.flatten() - predicted.flatten())
        scores.dose_errors[folder.name] = float(difference.sum() / possible.sum())
        scores.dose_squared_errors[folder.name] = float((difference**2).sum() / possible.sum())
        wanted, found = (all_points(array.flatten(), masks, voxel, batched=batched) for array in (dose, predicted))
        for part, value in wanted.items():
            scores.dvh_errors[folder.name, part] = abs(found[part] - value)
    return scores


def all_points(dose: np.ndarray, masks: np.ndarray, voxel: float, *, batched: bool) -> dict[str, float]:
    """The points of all structures; their masks are taken out of the stack anew for either dose."""
    found = {}
    for i, name in enumerate(ORGANS + TARGETS):
        inside = masks[..., i].astype(bool).flatten()
        if any(inside) if batched else inside.any():
            for criterion, value in points(dose[inside], voxel, target=name in TARGETS).items():
                found[f"{name}|{criterion}"] = value
    return found


def _through_a_batch(array: np.ndarray) -> np.ndarray:
    """The array as the only patient of a batch of (patients, x, y, z, channels)."""
    batch = np.zeros((1, *SHAPE, array.shape[-1] if array.ndim == 4 else 1))
    batch[0] = array if array.ndim == 4 else array[..., None]
    return batch


def dense(path: Path, *, mask: bool = False) -> np.ndarray:
    """A sparse CSV as a whole array; of two lines for one voxel, the last counts."""
    table = pd.read_csv(path, index_col=0)
    array = np.zeros(np.prod(SHAPE))
    np.put(array, table.index.to_numpy(), 1.0 if mask else table["data"].to_numpy())
    return array.reshape(SHAPE)


def points(doses: np.ndarray, voxel: float, *, target: bool) -> dict[str, float]:
    if target:
        return {name: np.percentile(doses, q) for name, q in (("D_99", 1), ("D_95", 5), ("D_1", 99))}
    hottest = max(1.0, np.round(100 / voxel))
    return {"D_0.1_cc": np.percentile(doses, 100 - hottest / doses.size * 100), "mean": doses.mean()}
