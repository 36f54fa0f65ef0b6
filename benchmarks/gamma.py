"""Gamma, local 1 %/1 mm, against pymedphys on the same doses; then a plan of eleven million voxels alone."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.ndimage import gaussian_filter, map_coordinates

from benchmarks.timing import Timing, best
from isocenter.metrics import _gamma_shells as shells
from isocenter.metrics._gamma import gamma, gamma_pass_rate

RULE = {"dose_percent": 1, "distance_mm": 1, "local": True, "cutoff_percent": 10, "max_gamma": 2}
PLAN = ((220, 224, 224), (2.0, 2.0, 2.0))


def doses(shape: tuple[int, int, int], spacing: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Five fields with penumbras, and the same a little shifted, with smooth errors of 1 %; Gy, single precision."""
    axes = [(np.arange(n) - (n - 1) / 2) * s for n, s in zip(shape, spacing, strict=True)]
    errors = gaussian_filter(np.random.default_rng(4).standard_normal(shape, np.float32), 2)
    field = 0.26 * min(n * s for n, s in zip(shape, spacing, strict=True)) / 2

    def plan(shift: float) -> np.ndarray:
        x, y, z = np.ix_(axes[0] + shift, axes[1] - shift / 2, axes[2] + shift / 3)
        total = np.zeros(shape, np.float32)
        for angle in np.deg2rad(np.arange(0, 180, 36)):
            depth = (x * np.cos(angle) + y * np.sin(angle)).astype(np.float32)
            side = np.abs(y * np.cos(angle) - x * np.sin(angle)).astype(np.float32)
            total += (
                np.exp(-0.004 * depth)
                / (1 + np.exp((side - field) / 2.5))
                / (1 + np.exp((np.abs(z) - field) / 2.5).astype(np.float32))
            )
        return 60 / total.max() * total

    return plan(0.0), plan(0.3) * (1 + 0.005 / errors.std() * errors)


def _line(name: str, timing: Timing, peer: Timing | None = None) -> None:
    ratio = f"   {peer.cpu / timing.cpu:6.1f}× CPU {peer.wall / timing.wall:6.1f}× wall" if peer else ""
    print(f"  {name:<40} {timing.cpu * 1e3:9.1f} ms CPU {timing.wall * 1e3:9.1f} ms wall{ratio}")


def _against_peer(shape: tuple[int, int, int], spacing: tuple[float, float, float]) -> None:
    import pymedphys

    warnings.simplefilter("ignore")
    reference, evaluation = doses(shape, spacing)
    axes = tuple(1000 + s * np.arange(n) for n, s in zip(shape, spacing, strict=True))
    small = tuple(axis[:6] for axis in axes)

    def peer(part: slice, places: tuple[np.ndarray, ...]) -> np.ndarray:
        box = (part,) * 3
        return pymedphys.gamma(
            places, reference[box].astype(float), places, evaluation[box].astype(float), 1, 1,
            lower_percent_dose_cutoff=10, interp_fraction=10, max_gamma=2, local_gamma=True,
        )  # fmt: skip

    peer(slice(0, 6), small)  # compiles it
    theirs: list[np.ndarray] = []
    once = best(lambda: theirs.append(peer(slice(None), axes)), repeat=1)
    ours = gamma(reference, evaluation, spacing=spacing, **RULE)
    np.testing.assert_allclose(ours, theirs[0], rtol=0, atol=1e-9)
    points = np.count_nonzero(~np.isnan(ours))
    rate = gamma_pass_rate(reference, evaluation, spacing=spacing, **RULE)
    assert abs(rate - 100 * np.count_nonzero(theirs[0] <= 1) / points) < 1e-12

    def cold(function: object) -> Timing:
        def work() -> None:
            shells._small_tables.cache_clear()
            function(reference, evaluation, spacing=spacing, **RULE)  # type: ignore[operator]

        return best(work, repeat=5)

    def warm(function: object, **more: object) -> Timing:
        function(reference, evaluation, spacing=spacing, **RULE, **more)  # type: ignore[operator]
        return best(lambda: function(reference, evaluation, spacing=spacing, **RULE, **more), repeat=5)  # type: ignore[operator]

    size = "×".join(map(str, shape))
    print(f"\nGamma 1 %/1 mm local, {size} at {'×'.join(map(str, spacing))} mm, {points} points, {rate:.2f} % pass")
    _line("pymedphys", once)
    _line("map, tables made", cold(gamma), once)
    _line("map, tables remembered", sampled := warm(gamma), once)
    _line("pass rate, tables made", cold(gamma_pass_rate), once)
    _line("pass rate, tables remembered", warm(gamma_pass_rate), once)
    _line("map, exact", exact := warm(gamma, sampler="exact"), once)
    _line("pass rate, exact", warm(gamma_pass_rate, sampler="exact"), once)
    exact_rate = gamma_pass_rate(reference, evaluation, spacing=spacing, sampler="exact", **RULE)
    print(f"  exact costs {exact.cpu / sampled.cpu:.1f}× the sampled map; its pass rate is {exact_rate:.2f} %")


def _shifted(shape: tuple[int, int, int], spacing: tuple[float, float, float]) -> None:
    """Grids half a voxel apart, beside aligned ones, and a small part of them against the peer.

    A shift of the grid alone keeps the dose where it is: the evaluation is resampled. One array with another origin is
    another dose, further from the reference, and takes longer on any grid; so it has an aligned one beside it, too.
    """
    import pymedphys

    reference, evaluation = doses(shape, spacing)
    half = tuple(s / 2 for s in spacing)
    nodes = np.indices(shape)
    same = map_coordinates(evaluation, nodes + 0.5, order=1, mode="nearest")
    moved = map_coordinates(evaluation, nodes - 0.5, order=1, mode="nearest")
    box = tuple(slice(n // 2 - 12, n // 2 + 12) for n in shape)
    axes = tuple(1000 + s * np.arange(24) for s in spacing)
    others = tuple(axis + s for axis, s in zip(axes, half, strict=True))

    def peer(places: tuple[np.ndarray, ...]) -> np.ndarray:
        return pymedphys.gamma(
            axes, reference[box].astype(float), places, evaluation[box].astype(float), 1, 1,
            lower_percent_dose_cutoff=10, interp_fraction=10, max_gamma=2, local_gamma=True,
        )  # fmt: skip

    print(f"\nThe same half a voxel apart, {'×'.join(map(str, shape))} at {'×'.join(map(str, spacing))} mm")
    for name, function in (("map", gamma), ("pass rate", gamma_pass_rate)):

        def timed(dose: np.ndarray, work: Callable[..., object] = function, **more: object) -> Timing:
            work(reference, dose, spacing=spacing, **RULE, **more)
            return best(lambda: work(reference, dose, spacing=spacing, **RULE, **more), repeat=7)

        aligned = timed(evaluation)
        _line(f"{name}, aligned", aligned)
        _line(f"{name}, one dose, shifted grid", shifted := timed(same, evaluation_origin=half))
        print(f"  {'':<40} {shifted.cpu / aligned.cpu:9.2f}× aligned")
        apart = timed(moved)
        _line(f"{name}, moved dose, aligned grid", apart)
        _line(f"{name}, moved dose, shifted grid", shifted := timed(evaluation, evaluation_origin=half))
        print(f"  {'':<40} {shifted.cpu / aligned.cpu:9.2f}× aligned, {shifted.cpu / apart.cpu:.2f}× aligned and moved")
    theirs: list[np.ndarray] = []
    once = best(lambda: theirs.append(peer(others)), repeat=1)
    rule = {"axes": axes, "evaluation_axes": others, **RULE}
    np.testing.assert_allclose(gamma(reference[box], evaluation[box], **rule), theirs[0], rtol=0, atol=1e-9)
    _line("pymedphys, 24³ of the moved dose", once)
    _line("  map", best(lambda: gamma(reference[box], evaluation[box], **rule), repeat=7), once)
    _line("  pass rate", best(lambda: gamma_pass_rate(reference[box], evaluation[box], **rule), repeat=7), once)


def _plan(folder: Path) -> None:
    """A child reads the doses, so that making them is not in its peak of memory."""
    shape, spacing = PLAN
    for name, dose in zip(("reference", "evaluation"), doses(shape, spacing), strict=True):
        np.save(folder / f"{name}.npy", dose)
    size = "×".join(map(str, shape))
    print(f"\nGamma 1 %/1 mm local, {size} at {spacing[0]:g} mm: {np.prod(shape) / 1e6:.1f} million voxels")
    for function in ("map", "pass rate", "exact map"):
        output = subprocess.run(
            [sys.executable, "-c", f"from benchmarks.gamma import child; child({function!r}, {str(folder)!r})"],
            capture_output=True, check=True, text=True,
        ).stdout  # fmt: skip
        print(output, end="")


def child(function: str, folder: str) -> None:
    """One gamma of the large plan: its time, and its memory beyond that of the doses."""
    spacing = PLAN[1]
    work = gamma_pass_rate if function == "pass rate" else gamma
    more = {"sampler": "exact"} if function == "exact map" else {}
    reference, evaluation = (np.load(Path(folder, f"{name}.npy")) for name in ("reference", "evaluation"))
    box = (slice(100, 120),) * 3
    work(reference[box], evaluation[box], spacing=spacing, **RULE, **more)  # loads the compiled kernels
    took = best(lambda: work(reference, evaluation, spacing=spacing, **RULE, **more), repeat=2)
    tracemalloc.start()
    work(reference, evaluation, spacing=spacing, **RULE, **more)
    extra = tracemalloc.get_traced_memory()[1] / 2**20
    inputs = (reference.nbytes + evaluation.nbytes) / 2**20
    _line(function, took)
    print(f"  {'':<40} {extra:9.0f} MB more memory, {extra / inputs:.1f}× the doses ({inputs:.0f} MB)")


def run(folder: Path) -> None:
    for shape, spacing in (((100, 100, 100), (2.0, 2.0, 2.0)), ((60, 100, 100), (3.0, 1.0, 1.0))):
        _against_peer(shape, spacing)
        _shifted(shape, spacing)
    _plan(folder)
