"""What is released of a case, without anything to compare it with: scans, labels on them, or a planned dose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from isocenter.evaluation import DosePicture
from isocenter.report import Figure, contour_slices
from isocenter.viewer._sight import Layer, Sight, image_layers, round_up, structure_layers, upright
from isocenter.viewer._strip import Strip, area_strip, mean_dose_strip
from isocenter.volumes import Grid, Volume


def label_sight(
    label: Volume | None, *, grid: Grid, images: Sequence[tuple[str, Volume]] = (), oriented: bool = True
) -> Sight:
    """A label on its scans, all on one grid: what is not 0 is in. Without a label, the scans alone."""
    shown, layers = upright(grid, oriented=oriented), image_layers(images)
    if label is None:
        said = ("there is no label",) * grid.shape[2]
        return Sight("masks", shown, tuple(layers), Strip("", {}, said), oriented=oriented)
    inside = label.array != 0
    layers.append(Layer("reference", "Label", "reference", inside))
    return Sight("masks", shown, tuple(layers), area_strip(inside, grid=grid), oriented=oriented)


def plan_sight(picture: DosePicture, *, images: Sequence[tuple[str, Volume]] = ()) -> Sight:
    """The dose of the reference with its structures, Gy; the other dose of the picture is left out."""
    dose = np.asarray(picture.reference.array, np.float32)
    layers = (
        *image_layers(images),
        Layer("reference", "Dose", "reference", dose),
        *structure_layers(picture.structures),
    )
    return Sight(
        "dose",
        upright(picture.reference.grid, oriented=picture.oriented),
        layers,
        mean_dose_strip(dose),
        oriented=picture.oriented,
        ceiling=(round_up(float(dose.max())), round_up(0.0)),
    )


def label_still(sight: Sight, *, case: str) -> Figure:
    """The outline of the label on the first scan, in the slice in which it is largest; else the middle of the scan."""
    label = next((layer.array for layer in sight.layers if layer.role == "reference"), None)
    drawn = np.zeros(sight.grid.shape, np.bool_) if label is None else label
    image = next((layer for layer in sight.layers if layer.role == "image"), None)
    title = f"The middle slice of {case}" if label is None else f"{case} in the slice in which the label is largest"
    picture = contour_slices(
        {"the label": drawn},
        grid=sight.grid,
        images={} if image is None else {image.name: image.array},
        title=title,
        name="still",
    )
    return Figure("still", f"{case}, as it was released", f"{title}.", picture)
