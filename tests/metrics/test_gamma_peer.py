"""The sampled gamma against a plain version of its definition, and against pymedphys itself."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import RegularGridInterpolator

from isocenter.metrics._gamma import gamma, gamma_analysis, gamma_many, gamma_pass_rate

Axes = Sequence[np.ndarray]


def points(radius: float, step: float, dimensions: int) -> np.ndarray:
    """A sphere, row by row."""
    if radius == 0:
        return np.zeros((1, dimensions))
    if dimensions == 1:
        return np.array([[radius], [-radius]])
    rows = [math.pi / 2]
    if dimensions == 3:
        rows = list(np.linspace(0, math.pi, math.ceil(math.pi * radius / step) + 1))
    found = []
    for row in rows:
        count = math.ceil(2 * math.pi * radius * math.sin(row) / step) + 1
        for n in range(count):
            turn = 2 * math.pi * n / count
            place = (math.sin(row) * math.cos(turn), math.sin(row) * math.sin(turn), math.cos(row))
            found.append([radius * x for x in place[:dimensions]])
    return np.array(found)


def plain(
    axes: Axes, reference: np.ndarray, evaluation_axes: Axes, evaluation: np.ndarray, *, percent: float,
    distance: float, fraction: float, max_gamma: float, local: bool, cutoff: float,
) -> np.ndarray:  # fmt: skip
    """Gamma by looking at every sample of every sphere."""
    interpolate = RegularGridInterpolator(evaluation_axes, evaluation, bounds_error=False, fill_value=np.inf)
    wanted = reference >= cutoff / 100 * reference.max()
    if local:
        wanted &= reference > 0
    places = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)[wanted]
    dose = reference[wanted]
    norm = dose if local else reference.max()
    best = np.full(dose.shape, np.inf)
    radius, forced = 0.0, False
    while radius <= distance * max_gamma:
        offsets = points(radius, distance / fraction, reference.ndim)
        doses = interpolate(places[:, None] + offsets[None])
        least = np.abs(doses - dose[:, None]).min(axis=1) / norm / (percent / 100)
        best = np.minimum(best, least**2 + (radius / distance) ** 2)
        radius += distance / fraction
        if radius >= distance and not forced:
            radius, forced = distance, True
    found = np.full(reference.shape, np.nan)
    found[wanted] = np.where(np.isinf(best), np.nan, np.minimum(np.sqrt(best), max_gamma))
    return found


def peer(*arguments: Any, **keywords: Any) -> Any:
    import pymedphys

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        places = [tuple(a) if isinstance(a, list) and isinstance(a[0], np.ndarray) else a for a in arguments]
        # Its own interpolation takes every axis for a regular one, without a word.
        regular = all(np.allclose(np.diff(axis), axis[1] - axis[0]) for axis in places[2])
        return pymedphys.gamma(*places, interp_algo="pymedphys" if regular else "scipy", **keywords)


@st.composite
def problems(draw: st.DrawFn, *, same: bool | None = None) -> dict[str, Any]:
    """Two small doses, on grids far from coordinate 0, where the peer has no trouble with rounding."""
    dimensions = draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    same = draw(st.booleans()) if same is None else same
    shapes = [tuple(int(n) for n in rng.integers(2, 6, dimensions)) for _ in range(2)]
    spacings = [rng.choice([0.5, 1.0, 2.0, 2.5, 3.0], dimensions) for _ in range(2)]
    axes = [
        [1000 + s * np.arange(n) for s, n in zip(spacing, shape, strict=True)]
        for spacing, shape in zip(spacings, shapes, strict=True)
    ]
    axes[1] = axes[0] if same else [axis + rng.uniform(-2, 2) for axis in axes[1]]
    if not same and draw(st.booleans()):
        axes[1] = [np.sort(axis + rng.uniform(-0.2, 0.2, axis.size)) for axis in axes[1]]
    smooth = rng.uniform(-0.05, 0.05, dimensions)

    def dose(sides: Axes) -> np.ndarray:
        grid = np.meshgrid(*sides, indexing="ij")
        trend = sum(g * (x - 1000) for g, x in zip(smooth, grid, strict=True))
        return np.maximum(1 + trend + rng.normal(0, 0.02, grid[0].shape), 0)

    return {
        "axes": axes[0],
        "evaluation_axes": axes[1],
        "reference": dose(axes[0]),
        "evaluation": dose(axes[1]),
        "percent": draw(st.sampled_from([0.5, 1, 2, 3, 10])),
        "distance": draw(st.sampled_from([0.7, 1, 2, 3])),
        "fraction": draw(st.sampled_from([3, 5, 10])),
        "max_gamma": draw(st.sampled_from([1.01, 1.1, 2, 3])),
        "local": draw(st.booleans()),
        "cutoff": draw(st.sampled_from([0, 10, 50, 95])),
    }


def keywords(problem: dict[str, Any]) -> dict[str, Any]:
    return {
        "axes": problem["axes"],
        "evaluation_axes": problem["evaluation_axes"],
        "dose_percent": problem["percent"],
        "distance_mm": problem["distance"],
        "interpolation_steps": problem["fraction"],
        "max_gamma": problem["max_gamma"],
        "local": problem["local"],
        "cutoff_percent": problem["cutoff"],
    }


def assert_same(found: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    clear = np.abs(np.nan_to_num(expected) - 1) > 1e-9
    np.testing.assert_array_equal((found <= 1)[clear], (expected <= 1)[clear])


@given(problems())
@settings(deadline=None, max_examples=120)
def test_it_is_what_its_definition_says(problem: dict[str, Any]) -> None:
    found = gamma(problem["reference"], problem["evaluation"], **keywords(problem))
    assert_same(found, plain(**problem))


@given(problems())
@settings(deadline=None, max_examples=60)
def test_the_peer_has_the_same_map(problem: dict[str, Any]) -> None:
    expected = peer(
        problem["axes"], problem["reference"], problem["evaluation_axes"], problem["evaluation"], problem["percent"],
        problem["distance"], lower_percent_dose_cutoff=problem["cutoff"], interp_fraction=problem["fraction"],
        max_gamma=problem["max_gamma"], local_gamma=problem["local"],
    )  # fmt: skip
    assert_same(gamma(problem["reference"], problem["evaluation"], **keywords(problem)), expected)


@given(problems())
@settings(deadline=None, max_examples=40)
def test_the_pass_rate_is_that_of_the_peer_that_skips_what_has_passed(problem: dict[str, Any]) -> None:
    expected = peer(
        problem["axes"], problem["reference"], problem["evaluation_axes"], problem["evaluation"], problem["percent"],
        problem["distance"], lower_percent_dose_cutoff=problem["cutoff"], interp_fraction=problem["fraction"],
        max_gamma=problem["max_gamma"], local_gamma=problem["local"], skip_once_passed=True,
    )  # fmt: skip
    valid = expected[~np.isnan(expected)]
    result = gamma_analysis(problem["reference"], problem["evaluation"], keep_map=False, **keywords(problem))
    assert result.evaluated == valid.size
    assert result.passed == np.count_nonzero(valid <= 1)
    assert result.map is None


@given(problems(), st.lists(st.sampled_from([1, 2, 3]), min_size=2, max_size=3, unique=True))
@settings(deadline=None, max_examples=40)
def test_criteria_together_are_those_of_the_peer_called_with_lists(
    problem: dict[str, Any], distances: list[float]
) -> None:
    percents = [1, 3]
    expected = peer(
        problem["axes"], problem["reference"], problem["evaluation_axes"], problem["evaluation"], percents,
        sorted(distances), lower_percent_dose_cutoff=problem["cutoff"], interp_fraction=problem["fraction"],
        max_gamma=problem["max_gamma"], local_gamma=problem["local"],
    )  # fmt: skip
    own = keywords(problem)
    del own["dose_percent"], own["distance_mm"]
    criteria = [(percent, distance) for percent in percents for distance in distances]
    found = gamma_many(problem["reference"], problem["evaluation"], criteria=criteria, **own)
    for pair, result in found.items():
        assert_same(result.map, expected[pair])


def test_the_peer_is_at_fault_on_a_face_at_zero_and_only_there() -> None:
    rng = np.random.default_rng(5)
    reference = rng.uniform(1, 1.2, (6, 6, 6))
    evaluation = reference + rng.normal(0, 0.02, reference.shape)
    axes = [2.0 * np.arange(6)] * 3
    rule = {"lower_percent_dose_cutoff": 10, "max_gamma": 2, "local_gamma": True}
    theirs = peer(axes, reference, axes, evaluation, 1, 1, **rule)
    moved = peer([axis + 1000 for axis in axes], reference, [axis + 1000 for axis in axes], evaluation, 1, 1, **rule)
    ours = gamma(reference, evaluation, spacing=2.0, dose_percent=1, distance_mm=1)
    np.testing.assert_allclose(ours, moved, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ours[1:, 1:, 1:], theirs[1:, 1:, 1:], rtol=0, atol=1e-9)
    assert (theirs - ours).max() > 1e-6


def test_the_peer_called_with_lists_is_at_fault_on_faces_near_zero_and_only_there() -> None:
    rng = np.random.default_rng(0)
    reference, evaluation = rng.random((2, 9, 10, 11))
    criteria = [(1, 1), (1, 2), (1, 3)]
    for start in (7.3, 1000.0):
        axes = [start + step * np.arange(n) for step, n in zip((2, 2.5, 3), reference.shape, strict=True)]
        theirs = peer(
            axes, reference, axes, evaluation, [1], [1, 2, 3], lower_percent_dose_cutoff=10, max_gamma=2,
            local_gamma=True,
        )  # fmt: skip
        ours = gamma_many(reference, evaluation, axes=axes, criteria=criteria)
        more = np.max([np.nan_to_num(theirs[pair] - ours[pair].map) for pair in criteria], axis=0)
        least = np.min([np.nan_to_num(theirs[pair] - ours[pair].map) for pair in criteria], axis=0)
        assert least.min() > -1e-9
        if start == 7.3:
            assert more[0].max() > 0.1  # the nearest face along the first axis
        else:
            assert more.max() < 1e-9
        assert more[1:-1, 1:-1, 1:-1].max() < 1e-9


@pytest.mark.parametrize("case", ["hot voxel", "cold voxel"])
def test_one_wrong_voxel_is_found(case: str) -> None:
    """A dose difference of one node reaches as far as its cells, and no further."""
    reference = np.full((9, 9, 9), 10.0)
    evaluation = reference.copy()
    evaluation[4, 4, 4] *= 1.5 if case == "hot voxel" else 0.5
    found = gamma(reference, evaluation, spacing=2.0, dose_percent=1, distance_mm=1)
    assert found[4, 4, 4] == 2.0
    assert np.count_nonzero(found) == 1
    assert gamma_pass_rate(reference, evaluation, spacing=2.0, dose_percent=1, distance_mm=1) == 100 * 728 / 729
