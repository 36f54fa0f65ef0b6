"""Whether marks lie where they can: in the image, or at least beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from isocenter.problems import Problem
from isocenter.readers._reads import Read
from isocenter.readers._reference import FAR_MM, Truth
from isocenter.volumes import Grid

# Coordinates go through a matrix and back, and tables round them: what is on the edge of the image is in it.
_SLACK_MM = 0.01
# From LPS to RAS and back.
_OTHER_AXES = np.array([-1.0, -1.0, 1.0])


def check_places(reads: Iterable[Read], truths: Mapping[str, Truth]) -> tuple[list[Problem], list[str]]:
    """Marks too far from their image to be meant so, and remarks on those beside it.

    Reads come sorted by reader and modality, as `Reads` has them.
    """
    problems: list[Problem] = []
    remarks: list[str] = []
    for (reader, modality), group in groupby(reads, key=lambda read: (read.reader, read.modality)):
        who = f"{reader} ({modality})" if modality else reader
        mine = [(read, np.array([mark.position for mark in read.marks])) for read in group if read.marks]
        outside = [_outside_mm(places, truths[read.case].image) for read, places in mine]
        far = [
            Problem(
                "refused",
                f"{who}: the mark at ({_told(place)}) mm lies {mm:.0f} mm outside of the image",
                read.case,
                code="bad_values",
            )
            for (read, places), distances in zip(mine, outside, strict=True)
            for place, mm in zip(places, distances, strict=True)
            if mm > FAR_MM
        ]
        beside = [mm for distances in outside for mm in distances.tolist() if 0 < mm <= FAR_MM]
        if beside:
            marks = sum(map(len, outside))
            remarks.append(
                f"{who}: {len(beside)} of {marks} marks outside of the image, by up to {max(beside):.1f} mm."
            )
        if (far or beside) and _are_mirrored(mine, truths):
            hint = f"{who}: with the signs of x and y changed, all marks lie inside: RAS instead of LPS?"
            if far:
                far.append(Problem("refused", hint, code="bad_values"))
            else:
                remarks.append(hint)
        problems += far
    return problems, remarks


def _told(place: NDArray[np.float64]) -> str:
    return ", ".join(f"{x:g}" for x in place)


def _are_mirrored(mine: Sequence[tuple[Read, NDArray[np.float64]]], truths: Mapping[str, Truth]) -> bool:
    """Whether marks would all lie in their images, were they given in the axes of NIfTI rather than DICOM."""
    return all((_outside_mm(places * _OTHER_AXES, truths[read.case].image) == 0).all() for read, places in mine)


def _outside_mm(places: NDArray[np.float64], image: Grid) -> NDArray[np.float64]:
    """How far places lie outside of an image, the solid boxes of its voxels, mm; 0 inside."""
    index = (places - image.affine[:3, 3]) @ np.linalg.inv(image.affine[:3, :3]).T
    half = np.asarray(image.shape) / 2
    beyond = np.maximum(abs(index - (half - 0.5)) - half, 0) * np.asarray(image.spacing)
    distance = np.linalg.norm(beyond, axis=1)
    return np.where(distance <= _SLACK_MM, 0.0, distance)
