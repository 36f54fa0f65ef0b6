"""Blocks of resamples: one way to seed them, and one runner that any number of threads may share.

A block knows the seed and its own number only. So it does not matter which thread makes it, how many blocks are made at
a time, or how many follow: more replicates begin with the same resamples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import numpy as np

from isocenter.resampling.matrices import Floats

Progress = Callable[[int, int], None]
"""Called with the number of replicates done and of all."""
Measure = Callable[[np.random.Generator, Floats], int]
"""Draws as many resamples as `out` has rows, fills it from the top with the defined ones, returns their number."""

# Resamples that share a stream of random numbers: enough to hide the cost of starting one, few enough that their counts
# stay in the cache. Another number gives other resamples.
_BLOCK = 256
_MOST_PICKS = 2_000_000
MOST_ATTEMPTS = 1000


def block_size(units: int) -> int:
    """How many resamples of so many units are one block: 256, or fewer from 7813 units on."""
    return max(1, min(_BLOCK, _MOST_PICKS // units))


def seed_generator(seed: int, *key: int) -> np.random.Generator:
    """The stream of random numbers of a block, or of another part of the work that `key` names."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def check_bootstrap(replicates: int, workers: int, level: float) -> None:
    """Raise ValueError if no bootstrap can be made with these."""
    if replicates < 1 or workers < 1 or not 0 < level < 1:
        given = f"{replicates}, {workers} and {level}"
        msg = f"a bootstrap needs at least 1 replicate, at least 1 worker and a level within 0 and 1, not {given}"
        raise ValueError(msg)


def replicate_statistics(
    measure: Measure,
    *,
    columns: int,
    units: int,
    replicates: int,
    seed: int,
    workers: int = 1,
    progress: Progress | None = None,
    stream: np.random.Generator | None = None,
    defined: str = "defined the statistic",
) -> tuple[Floats, int]:
    """Statistics of bootstrap resamples, replicates × columns, and how many resamples were undefined and drawn again.

    Parameters
    ----------
    measure
        Draws resamples and measures them; see `Measure`. Threads call it at the same time, each with a stream and rows
        of its own.
    columns, units
        How many statistics a resample has, and how many units are resampled.
    stream
        All resamples come from this one stream, one after another in one thread, instead of from streams by block.
    defined
        What too few resamples did, for the error where hardly any is defined.

    References
    ----------
    Efron B, Tibshirani RJ. An introduction to the bootstrap. Chapman & Hall (1993), chapter 6.
    """
    size = block_size(units)

    def fill(number: int) -> tuple[Floats, int]:
        rng = seed_generator(seed, number) if stream is None else stream
        out = np.empty((min(size, replicates - number * size), columns))
        done = tried = 0
        while done < len(out):
            if tried > MOST_ATTEMPTS * len(out):
                msg = f"of {tried} resamples {done} {defined}: there are too few cases"
                raise ValueError(msg)
            tried += len(out) - done
            done += measure(rng, out[done:])
        return out, tried - len(out)

    samples, done, redrawn = np.empty((replicates, columns)), 0, 0
    for part, again in _run_in_order(fill, range(-(-replicates // size)), workers if stream is None else 1):
        samples[done : done + len(part)] = part
        done, redrawn = done + len(part), redrawn + again
        if progress is not None:
            progress(done, replicates)
    return samples, redrawn


def _run_in_order(
    fill: Callable[[int], tuple[Floats, int]], numbers: Iterable[int], workers: int
) -> Iterator[tuple[Floats, int]]:
    with ExitStack() as stack:
        run = map if workers == 1 else stack.enter_context(ThreadPoolExecutor(workers)).map
        yield from run(fill, numbers)
