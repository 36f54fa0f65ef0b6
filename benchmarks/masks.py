"""Reading masks that are full, against nibabel: CPU time, and the memory of a process that does nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nibabel as nib
import numpy as np

from benchmarks.timing import compare
from isocenter.volumes import Grid, Volume, read_labels, write

_CHILD = """
import sys, numpy, nibabel
from isocenter.volumes import read_labels
def peak():  # getrusage would count what the parent had when it started this process
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
before = peak()
kept = read_labels(sys.argv[2]) if sys.argv[1] == "isocenter" else numpy.asarray(nibabel.load(sys.argv[2]).dataobj)
print((peak() - before) / 1024)
"""


def masks() -> dict[str, np.ndarray]:
    x, y, z = np.ix_(*[np.arange(256)] * 3)
    ball = ((x - 128) ** 2 + (y - 128) ** 2 + (z - 128) ** 2 < 120**2).astype(np.uint8)
    large = np.ones((512, 512, 300), np.uint8)
    large[:, :, ::2] = 2
    return {
        "256³, all 1": np.ones((256, 256, 256), np.uint8),
        "256³, five labels": ((x // 32 + y // 32 + z // 32) % 5 + 1).astype(np.uint8),
        "256³, a ball in half of it": ball,
        "256³, a ball, int16": ball.astype(np.int16),
        "256³, noise": (np.random.default_rng(0).random((256, 256, 256)) < 0.5).astype(np.uint8),
        "512×512×300, two labels": large,
    }


def run(folder: Path) -> None:
    path = folder / "mask.nii.gz"
    for name, array in masks().items():
        write(Volume(array, Grid(array.shape)), path)
        np.testing.assert_array_equal(read_labels(path).array, array)
        compare(
            f"Read a full mask, {name} (.nii.gz)",
            lambda: read_labels(path),
            {"nibabel dataobj": lambda: np.asarray(nib.load(path).dataobj)},
            repeat=3,
        )
        for who in ("isocenter", "nibabel") if sys.platform == "linux" else ():
            child = subprocess.run(
                [sys.executable, "-c", _CHILD, who, str(path)], capture_output=True, check=True, text=True
            )
            print(f"  {who:<32} {float(child.stdout):9.0f} MB more at its peak")
