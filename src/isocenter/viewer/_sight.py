"""What there is to see of a case: volumes on one grid, and what is wrong in each slice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from isocenter.evaluation import DosePicture
from isocenter.viewer._nifti import nifti, turn_of
from isocenter.viewer._strip import LEAST_SHARE, Strip, area_strip, dose_strip, mask_strip, mean_dose_strip
from isocenter.volumes import Grid, Volume

Role = Literal["image", "reference", "output", "difference", "structure"]


@dataclass(frozen=True, eq=False)
class Layer:
    """One volume of a sight; `key` is its name in addresses."""

    key: str
    name: str
    role: Role
    array: NDArray[Any]


@dataclass(frozen=True, eq=False)
class Sight:
    """All that can be looked at of a case.

    Attributes
    ----------
    kind
        "masks": two masks, shown as outlines. "dose": two doses and their difference, with structures as outlines.
        Where one of them is not there, or not to be seen, the mask or the dose of the other alone; see `output_sight`
        and `label_sight`. Scans without either are "masks" without a mask.
    grid
        On which all layers lie.
    oriented
        Whether the grid says where the patient lies.
    ceiling
        Of doses: the dose with the last colour, and the difference with the last colours, Gy.
    """

    kind: Literal["masks", "dose"]
    grid: Grid
    layers: tuple[Layer, ...]
    strip: Strip
    oriented: bool = True
    ceiling: tuple[float, float] | None = None

    def layer(self, key: str) -> Layer | None:
        """The layer of a name; None if there is none."""
        return next((layer for layer in self.layers if layer.key == key), None)

    @property
    def compared(self) -> bool:
        """Whether there are a reference and an output, to compare one with the other."""
        return {"reference", "output"} <= {layer.role for layer in self.layers}

    @property
    def alone(self) -> Literal["reference", "output", ""]:
        """Which of reference and output is there without the other; "" for both, and for neither."""
        roles = {layer.role for layer in self.layers}
        if self.compared:
            return ""
        return "output" if "output" in roles else "reference" if "reference" in roles else ""

    @property
    def modes(self) -> tuple[tuple[str, str], ...]:
        """In which ways it can be shown: what pages call each, and what people do; "" stands for the submission."""
        if not self.compared and not self.alone:
            return ()
        if self.kind == "masks":
            return (("outlines", "outlines"), ("filled", "filled"), ("difference", "difference"))[: 2 + self.compared]
        both = (("reference", "reference"), ("output", ""), ("difference", "difference"))
        return both if self.compared else tuple(mode for mode in both if mode[0] == self.alone)

    def nifti(self, key: str) -> bytes | None:
        """A layer as a file; None if there is none of this name."""
        layer = self.layer(key)
        return None if layer is None else nifti(layer.array, self.grid)

    def description(self) -> dict[str, Any]:
        """What a page must know before it loads any volume. Places are voxels of the files, not of the arrays."""
        turn = turn_of(self.grid)
        found: dict[str, Any] = {
            "kind": self.kind,
            "oriented": self.oriented,
            "compared": self.compared,
            "alone": self.alone,
            "layers": [
                {"key": layer.key, "name": layer.name, "role": layer.role, **_window(layer)} for layer in self.layers
            ],
            "shape": [self.grid.shape[axis] for axis in turn.order],
            "slices": {
                "axis": turn.slice_axis,
                "flipped": turn.flipped[turn.slice_axis],
                "count": self.grid.shape[2],
                "unit": self.strip.unit,
                "series": {name: [round(v, 3) for v in values] for name, values in self.strip.series.items()},
                "said": list(self.strip.said),
                "worst": self.strip.worst,
            },
            "start": list(turn.index(self._start(), self.grid.shape)),
            "zoom": self._zoom(),
        }
        if self.ceiling is not None:
            found["ceiling"] = {"dose": self.ceiling[0], "difference": self.ceiling[1]}
        return found

    def _start(self) -> tuple[int, int, int]:
        """Where to look first: in the worst slice, the middle of what is wrong there, or of what there is."""
        k = self.strip.worst
        arrays = {layer.role: layer.array[:, :, k] for layer in self.layers if layer.role != "structure"}
        if not self.compared:
            only = arrays[self.alone] if self.alone else np.zeros(self.grid.shape[:2], np.bool_)
            weight = only**2 if self.kind == "dose" else only
        elif self.kind == "dose":
            weight = abs(arrays["difference"]) ** 2
        else:
            weight = arrays["reference"] ^ arrays["output"]
            weight = weight if weight.any() else arrays["reference"] | arrays["output"]
        if not weight.any():
            return self.grid.shape[0] // 2, self.grid.shape[1] // 2, k
        across = np.average(np.arange(weight.shape[0]), weights=weight.sum(axis=1))
        down = np.average(np.arange(weight.shape[1]), weights=weight.sum(axis=0))
        return round(float(across)), round(float(down)), k

    def _zoom(self) -> float:
        """How much to enlarge at first: masks to a third of the view, a dose to most of it; never more than 4 times."""
        share, seen = 1 / 3, np.zeros(self.grid.shape, np.bool_)
        for layer in self.layers:
            if layer.role in ("reference", "output"):
                seen |= layer.array != 0 if self.ceiling is None else layer.array > LEAST_SHARE * self.ceiling[0]
        if self.ceiling is not None:
            share = 0.85
        if not seen.any():
            return 1.0
        used = [np.flatnonzero(seen.any(axis=tuple(a for a in range(3) if a != axis))) for axis in (0, 1)]
        sizes = [int(at[-1] - at[0] + 1) / self.grid.shape[axis] for axis, at in enumerate(used)]
        return min(4.0, max(1.0, math.floor(2 * share / max(sizes)) / 2))


def mask_sight(
    reference: Volume, output: Volume | None, *, images: Sequence[tuple[str, Volume]] = (), team: str = "Submission"
) -> Sight:
    """Two masks, or lesions and candidates: what is not 0 is in. Without an output everything is missed."""
    truth = reference.array != 0
    found = np.zeros_like(truth) if output is None else output.array != 0
    layers = [
        *image_layers(images),
        Layer("reference", "Reference", "reference", truth),
        Layer("output", team, "output", found),
    ]
    return Sight("masks", reference.grid, tuple(layers), mask_strip(truth, found, grid=reference.grid))


def dose_sight(picture: DosePicture, *, images: Sequence[tuple[str, Volume]] = (), team: str = "Submission") -> Sight:
    """Two doses, the second less the first, and every structure.

    Arrays that do not say where the patient lies are shown with their first slice uppermost, as OpenKBP's are stored.
    """
    grid = upright(picture.reference.grid, oriented=picture.oriented)
    reference, output = (np.asarray(dose.array, np.float32) for dose in (picture.reference, picture.output))
    difference = output - reference
    top = max(float(reference.max()), float(output.max()))
    seen = abs(difference)[(reference > LEAST_SHARE * top) | (output > LEAST_SHARE * top)]
    limit = float(np.percentile(seen, 97)) if seen.size else 0.0
    layers = [
        *image_layers(images),
        Layer("reference", "Reference", "reference", reference),
        Layer("output", team, "output", output),
        Layer("difference", "Difference", "difference", difference),
        *structure_layers(picture.structures),
    ]
    return Sight(
        "dose",
        grid,
        tuple(layers),
        dose_strip(reference, output),
        oriented=picture.oriented,
        ceiling=(round_up(top), round_up(limit)),
    )


def output_sight(
    output: Volume,
    *,
    kind: Literal["masks", "dose"],
    images: Sequence[tuple[str, Volume]] = (),
    team: str = "Submission",
    oriented: bool = True,
) -> Sight:
    """What was handed in, alone, for who may not see the reference: no layer, number or place in it tells of that."""
    layers = image_layers(images)
    if kind == "masks":
        found = output.array != 0
        layers.append(Layer("output", team, "output", found))
        return Sight("masks", output.grid, tuple(layers), area_strip(found, grid=output.grid))
    dose = np.asarray(output.array, np.float32)
    layers.append(Layer("output", team, "output", dose))
    return Sight(
        "dose",
        upright(output.grid, oriented=oriented),
        tuple(layers),
        mean_dose_strip(dose),
        oriented=oriented,
        ceiling=(round_up(float(dose.max())), round_up(0.0)),
    )


def upright(grid: Grid, *, oriented: bool) -> Grid:
    """The grid, or with its first slice uppermost if it does not say where the patient lies."""
    return grid if oriented else replace(grid, direction=(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0))


def image_layers(images: Sequence[tuple[str, Volume]]) -> list[Layer]:
    """A layer for every scan."""
    return [Layer(f"image-{number}", name, "image", volume.array) for number, (name, volume) in enumerate(images)]


def structure_layers(structures: Mapping[str, NDArray[np.bool_]]) -> list[Layer]:
    """A layer for every structure that has a voxel."""
    return [
        Layer(f"structure-{number}", name, "structure", mask)
        for number, (name, mask) in enumerate(structures.items())
        if mask.any()
    ]


def _window(layer: Layer) -> dict[str, Any]:
    """Grey levels of an image, from its first to its last percentile; and whether its numbers are Hounsfield units."""
    if layer.role != "image":
        return {}
    low, high = np.percentile(_numbers(layer.array), (1, 99))
    hounsfield = "ct" in layer.name.lower() and bool(low < -500)
    return {"low": float(low), "high": float(max(high, low + 1e-6)), "hounsfield": hounsfield}


def _numbers(array: NDArray[Any]) -> NDArray[np.float64]:
    """Every eighth voxel as far as it is a number, all of them if none of these is; 0 where there is no number."""
    most = np.finfo(np.float32).max  # of what the page is sent
    for some in (array[::2, ::2, ::2], array):
        known: NDArray[np.float64] = np.clip(some[np.isfinite(some)], -most, most).astype(np.float64)
        if known.size:
            return known
    return np.zeros(1)


def round_up(value: float) -> float:
    """The next of 1, 2, 3, 5, 8 times a power of ten; 1 for nothing."""
    if value <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(
        step * power for step in (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0) if step * power >= value * 0.999
    )
