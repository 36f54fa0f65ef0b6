"""Timing two ways of doing the same thing."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """The quickest of several runs, in seconds of this process's CPU and of the wall."""

    cpu: float
    wall: float


def best(work: Callable[[], object], *, repeat: int = 7) -> Timing:
    """Run the work several times; the quickest run is the one that was disturbed least."""
    cpu, wall = [], []
    for _ in range(repeat):
        start = time.process_time(), time.perf_counter()
        work()
        cpu.append(time.process_time() - start[0])
        wall.append(time.perf_counter() - start[1])
    return Timing(min(cpu), min(wall))


def compare(title: str, ours: Callable[[], object], peers: dict[str, Callable[[], object]], *, repeat: int = 7) -> None:
    """Print our time, and each peer's with its ratio to ours."""
    mine = best(ours, repeat=repeat)
    print(f"\n{title}\n  {'isocenter':<32} {mine.cpu * 1e3:9.1f} ms CPU {mine.wall * 1e3:9.1f} ms wall")
    for name, work in peers.items():
        theirs = best(work, repeat=repeat)
        ratio = f"{theirs.cpu / mine.cpu:5.1f}× CPU {theirs.wall / mine.wall:5.1f}× wall"
        print(f"  {name:<32} {theirs.cpu * 1e3:9.1f} ms CPU {theirs.wall * 1e3:9.1f} ms wall   {ratio}")
