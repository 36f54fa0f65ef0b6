"""How large the piece of surface at a corner of the voxel grid is.

A corner has eight voxels around it, and so 256 neighbourhoods. Where they are not all alike, the surface of the mask
passes, and marching cubes says through which triangles. The triangles of ambiguous neighbourhoods are a matter of
choice, so the numbers below are the ones of the published metric, which every reader of a surface Dice expects.

They are written as vectors normal to the triangles, in eighths of a voxel face, as long as the triangles are large. A
neighbourhood and its complement have the same surface; 27 kinds remain.

Reference: Nikolov S et al. Clinically applicable segmentation of head and neck anatomy for radiotherapy. J Med Internet
Res 23 (2021) e26151. Numbers: the look-up table of their package surface-distance (Apache-2.0).
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

_NORMALS = {
    "a": "", "b": "111", "c": "220 220", "d": "202 202", "e": "111 111", "f": "111 222 400", "g": "400 400",
    "h": "022 022", "i": "040 111 222", "j": "004 111 222", "k": "111 111 111", "l": "111 111 222 222",
    "m": "022 022 111", "n": "111 202 202", "o": "022 111 202 333", "p": "111 220 220", "q": "022 111 220 333",
    "r": "111 111 222 400", "s": "040 040", "t": "111 202 220 333", "u": "040 111 111 222", "v": "220 220 220 220",
    "w": "004 004", "x": "004 111 111 222", "y": "202 202 202 202", "z": "022 022 022 022", "A": "111 111 111 111",
}  # fmt: skip

# The kind of the neighbourhoods 0 to 127; that of code c is also that of 255 - c. Bit 7 of a code is the voxel before
# the corner along all three axes, bit 6 the one behind it along the last axis only, and so on to bit 0, behind on all.
_KINDS = (
    "abbcbdefbedfcffgbheiejklemnopqrf"
    "behienmoekjlprqfciisptuiputivppc"
    "beephjmqeknrilofdjntjwxjnxyntjnd"
    "ekmumxzmkAxkukmefloiqjmhrknepeeb"
)


@lru_cache(maxsize=16)
def areas(spacing: tuple[float, float, float]) -> NDArray[np.float64]:
    """The area of surface, mm², for each of the 256 neighbourhoods; `spacing` in the order of the array axes.

    A normal's component along an axis is the triangle's shadow on the face across that axis: it grows with the other
    two spacings.
    """
    faces = np.array([spacing[1] * spacing[2], spacing[0] * spacing[2], spacing[0] * spacing[1]])
    size = {
        kind: sum(float(np.linalg.norm([int(n) / 8 for n in normal] * faces)) for normal in normals.split())
        for kind, normals in _NORMALS.items()
    }
    half = [size[kind] for kind in _KINDS]
    table = np.array(half + half[::-1])
    table.flags.writeable = False  # it is shared
    return table
