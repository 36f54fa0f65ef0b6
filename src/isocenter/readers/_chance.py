"""Chance that can be repeated: the same seed and the same words give the same draws, on any machine, for years.

Draws are the raw bits of a generator, which numpy promises never to change; what it makes of them may change with its
version, and a reader who comes back tomorrow must find the same order as today.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

_Item = TypeVar("_Item")


def source(seed: int, *words: str | int) -> np.random.PCG64:
    """The draws of a seed for one purpose: other words, other draws, and none can be worked out from the others."""
    key = json.dumps([int(seed), *words]).encode("ascii")
    return np.random.PCG64(int.from_bytes(hashlib.blake2b(key, digest_size=32).digest()))


def shuffled(items: Sequence[_Item], draws: np.random.PCG64) -> list[_Item]:
    """The items in an order in which every other was as likely; the same items in another order give another."""
    return [items[place] for place in np.argsort(draws.random_raw(len(items)), kind="stable")]
