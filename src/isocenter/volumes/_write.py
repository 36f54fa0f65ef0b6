"""Writing volumes, completely or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from isocenter.volumes._header import SUFFIXES, suffix_of
from isocenter.volumes._labels import LabelMap
from isocenter.volumes._read import Volume
from isocenter.volumes._resample import to_itk


def write(volume: Volume | LabelMap, path: str | os.PathLike[str]) -> None:
    """Write a volume or a label map, compressed, in the format that the file name tells.

    The file appears under its name only when it is complete. Booleans are written as 0 and 1. A `.mhd` header gets its
    voxels into a `.zraw` file beside it.
    """
    import SimpleITK as sitk

    path = Path(path)
    suffix = suffix_of(path.name)
    if not suffix:
        msg = f"{path.name}: not a format that is written; one of {', '.join(SUFFIXES)} was expected"
        raise ValueError(msg)
    image = to_itk(Volume(volume.array, volume.grid))
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=path.parent) as folder:
        # In a folder of its own, because a .mhd names its data file after itself.
        sitk.WriteImage(image, str(Path(folder, path.name)), useCompression=suffix != ".nii")
        for part in sorted(Path(folder).iterdir(), key=lambda part: part.name == path.name):
            os.replace(part, path.with_name(part.name))
