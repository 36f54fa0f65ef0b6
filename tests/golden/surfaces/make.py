"""The masks of `pairs.npz` and what other packages say of them; run as a program, this writes both files.

The peers are not needed for the tests. `PEERS` names a folder with the files of MetricsReloaded, panoptica and GaNDLF
that are not on the package index; the README has the versions.
"""

from __future__ import annotations

import ast
import json
import math
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage

HERE = Path(__file__).parent
TOLERANCES = (0.3, 0.97, 2.03, 4.1)  # none is a distance between voxels, so that rounding decides nothing
PERCENTILES = (0, 33, 50, 95, 99, 100)
SPACINGS = (0.5, 0.7, 0.98, 1.0, 1.25, 2.0, 3.3, 5.0)


def blob(rng: np.random.Generator, shape: tuple[int, ...], *, share: float, width: float) -> np.ndarray:
    noise = ndimage.gaussian_filter(rng.normal(size=shape), width, mode="wrap")
    return noise > np.quantile(noise, 1 - share)


def pairs() -> Iterator[tuple[str, np.ndarray, np.ndarray, tuple[float, ...]]]:
    """Name, truth, prediction, spacing."""
    rng = np.random.default_rng(20261118)
    for number in range(16):  # blobs of several sizes; as the noise wraps, most touch the border of the image
        shape = tuple(int(n) for n in rng.integers(5, 19, 3))
        width = float(rng.choice([0.0, 0.8, 1.6, 2.5]))
        truth = blob(rng, shape, share=float(rng.choice([0.05, 0.2, 0.5, 0.9])), width=width)
        other = blob(rng, shape, share=0.2, width=1.2)
        near = np.roll(truth, rng.integers(-2, 3, 3), axis=(0, 1, 2)) ^ (other & (rng.random(shape) < 0.2))
        yield f"blobs_{number}", truth, near if number % 2 else other, tuple(map(float, rng.choice(SPACINGS, 3)))
    shape, spacing = (9, 12, 10), (3.3, 0.7, 1.25)
    some, nothing, everything = blob(rng, shape, share=0.15, width=1.5), np.zeros(shape, bool), np.ones(shape, bool)
    one, corner, edge = nothing.copy(), nothing.copy(), nothing.copy()
    one[4, 5, 6] = corner[0, 0, 0] = True
    edge[0] = True
    cavity = ndimage.binary_dilation(one, iterations=3) & ~one
    for name, truth, prediction in (
        ("one_voxel_and_blob", one, some),
        ("one_voxel_and_corner", one, corner),
        ("one_voxel_twice", one, one),
        ("border_slice_and_blob", edge, some),
        ("border_slice_and_all", edge, everything),
        ("all_and_blob", everything, some),
        ("all_and_all", everything, everything),
        ("cavity_and_one_voxel", cavity, one),
        ("blob_and_cavity", some, cavity),
        ("empty_truth", nothing, some),
        ("empty_prediction", some, nothing),
        ("both_empty", nothing, nothing),
    ):
        yield name, truth, prediction, spacing


def plain(value: Any) -> Any:
    """Numbers that JSON has, or the words for those that it has not."""
    value = float(value)
    return value if math.isfinite(value) else str(value)


def attempt(question: Callable[[], Any]) -> Any:
    try:
        return plain(question())
    except Exception as error:  # an answer, too: several peers raise where a mask is empty
        return {"error": type(error).__name__}


def medpy(truth: np.ndarray, prediction: np.ndarray, spacing: tuple[float, ...]) -> dict[str, Any]:
    from medpy.metric import binary

    return {
        str(connectivity): {
            name: attempt(lambda ask=ask, c=connectivity: ask(prediction, truth, spacing, c))
            for name, ask in (("hd", binary.hd), ("hd95", binary.hd95), ("assd", binary.assd), ("asd", binary.asd))
        }
        | {"asd_back": attempt(lambda c=connectivity: binary.asd(truth, prediction, spacing, c))}
        for connectivity in (1, 2, 3)
    }


def monai(truth: np.ndarray, prediction: np.ndarray, spacing: tuple[float, ...]) -> dict[str, Any]:
    import torch
    from monai import metrics

    t, p = (torch.from_numpy(mask.astype(np.float32))[None, None] for mask in (truth, prediction))
    common = {"include_background": True, "spacing": list(spacing)}
    average = metrics.compute_average_surface_distance
    return {
        "hd": {
            str(q): attempt(lambda q=q: metrics.compute_hausdorff_distance(p, t, percentile=q or 1e-6, **common))
            for q in PERCENTILES
        },
        "assd": attempt(lambda: average(p, t, symmetric=True, **common)),
        "asd_prediction_to_truth": attempt(lambda: average(p, t, **common)),
        "asd_truth_to_prediction": attempt(lambda: average(t, p, **common)),
        "nsd": {
            str(mm): attempt(lambda mm=mm: metrics.compute_surface_dice(p, t, [mm], **common)) for mm in TOLERANCES
        },
        "nsd_subvoxel": {
            str(mm): attempt(lambda mm=mm: metrics.compute_surface_dice(p, t, [mm], use_subvoxels=True, **common))
            for mm in TOLERANCES
        },
    }


def metrics_reloaded(truth: np.ndarray, prediction: np.ndarray, spacing: tuple[float, ...]) -> dict[str, Any]:
    from MetricsReloaded.metrics.pairwise_measures import BinaryPairwiseMeasures

    def ask(**options: Any) -> Any:
        return BinaryPairwiseMeasures(
            prediction.astype(int), truth.astype(int), pixdim=list(spacing), dict_args=options
        )

    return {
        "hd": {str(q): attempt(lambda q=q: ask(hd_perc=q).measured_hausdorff_distance_perc()) for q in PERCENTILES},
        "assd": attempt(lambda: ask(hd_perc=95).measured_average_distance()),
        "masd": attempt(lambda: ask(hd_perc=95).measured_masd()),
        "nsd": {str(mm): attempt(lambda mm=mm: ask(nsd=mm).normalised_surface_distance()) for mm in TOLERANCES},
    }


def panoptica(truth: np.ndarray, prediction: np.ndarray, spacing: tuple[float, ...]) -> dict[str, Any]:
    from panoptica.metrics import _surface_distances as peer

    try:
        both = peer._surface_distance_pair(truth, prediction, spacing)
    except Exception as error:
        return {"error": type(error).__name__}
    return {
        "hd": attempt(lambda: peer._hd_from_pair(*both)),
        "hd95": attempt(lambda: peer._hd95_from_pair(*both)),
        "assd": attempt(lambda: peer._assd_from_pair(*both)),
        "nsd": {str(mm): attempt(lambda mm=mm: peer._nsd_from_pair(*both, spacing, mm)) for mm in TOLERANCES},
    }


def gandlf(truth: np.ndarray, prediction: np.ndarray, spacing: tuple[float, ...]) -> dict[str, Any]:
    source = ast.parse(Path(os.environ["PEERS"], "GANDLF/metrics/segmentation.py").read_text())
    wanted = [node for node in source.body if getattr(node, "name", "") in ("__surface_distances", "_nsd_base")]
    names: dict[str, Any] = {"np": np, "sys": sys, "_ni_support": ndimage._ni_support, **vars(ndimage)}
    for node in wanted:  # annotations name torch and typing, which the numbers do not need
        node.returns = None
        for argument in node.args.args:
            argument.annotation = None
    exec(compile(ast.Module(wanted, []), "gandlf", "exec"), names)
    there, back = (names["__surface_distances"](a, b, spacing) for a, b in ((prediction, truth), (truth, prediction)))
    return {
        "hd": attempt(lambda: np.percentile(np.hstack((there, back)), 100)),
        "hd95": attempt(lambda: np.percentile(np.hstack((there, back)), 95)),
        "nsd": {str(mm): attempt(lambda mm=mm: names["_nsd_base"](there, back, mm)) for mm in TOLERANCES},
    }


def surface_distance(truth: np.ndarray, prediction: np.ndarray, spacing: tuple[float, ...]) -> dict[str, Any]:
    import surface_distance as peer

    try:
        both = peer.compute_surface_distances(truth, prediction, spacing)
    except Exception as error:
        return {"error": type(error).__name__}
    areas = [both[f"surfel_areas_{side}"].sum() for side in ("gt", "pred")]
    return {
        "hd": {str(q): attempt(lambda q=q: peer.compute_robust_hausdorff(both, q)) for q in PERCENTILES},
        "asd": [plain(value) for value in peer.compute_average_surface_distance(both)],
        "area_mm2": [plain(value) for value in areas],
        "nsd": {str(mm): attempt(lambda mm=mm: peer.compute_surface_dice_at_tolerance(both, mm)) for mm in TOLERANCES},
    }


def main() -> None:
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    sys.path.insert(0, os.environ["PEERS"])
    masks: dict[str, np.ndarray] = {}
    expected: dict[str, Any] = {}
    for name, truth, prediction, spacing in pairs():
        masks[name] = np.packbits([truth, prediction])
        peers = (surface_distance, monai, metrics_reloaded, medpy, panoptica, gandlf)
        expected[name] = {"shape": truth.shape, "spacing": spacing} | {
            peer.__name__: peer(truth, prediction, spacing) for peer in peers
        }
    np.savez_compressed(HERE / "pairs.npz", **masks)
    (HERE / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")


if __name__ == "__main__":
    main()
