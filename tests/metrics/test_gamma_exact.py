"""The sampler-free gamma: closed forms, independent minimisers, and ever finer sampling."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from isocenter.metrics._gamma import gamma, gamma_analysis, gamma_pass_rate

GOLDEN = Path(__file__).parents[1] / "golden" / "dose" / "gamma"
TOLERANCE = 1.01e-6


def test_the_pass_rates_that_the_documentation_prints() -> None:
    with np.load(GOLDEN / "iso2mm.npz") as file:
        doses = file["reference"], file["evaluation"]
        axes = [file[f"ref_axis{d}"] for d in range(3)]
    rates = [
        gamma_pass_rate(*doses, axes=axes, dose_percent=1, distance_mm=1, sampler=sampler)
        for sampler in ("shells", "exact")
    ]
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "gamma.md").read_text()
    assert "1 %/1 mm {:.2f} instead of {:.2f} % of the points".format(*rates) in page


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("offset", [0.3, -0.8])
def test_on_a_linear_slope_gamma_has_a_closed_form(dimensions: int, offset: float) -> None:
    slope = np.array([0.9, -0.4, 0.25])[:dimensions]
    axes = [np.arange(n) * s for n, s in zip((21, 17, 19)[:dimensions], (1.0, 1.5, 2.0)[:dimensions], strict=True)]
    grid = np.meshgrid(*axes, indexing="ij")
    reference = 50 + sum(g * x for g, x in zip(slope, grid, strict=True))
    rule: dict[str, Any] = {"dose_percent": 1, "distance_mm": 2, "local": False, "normalisation": 60}
    found = gamma(reference, reference + offset, axes=axes, sampler="exact", **rule)
    expected = abs(offset) / math.sqrt(0.6**2 + 2**2 * float(slope @ slope))
    inside = (slice(3, -3),) * dimensions
    np.testing.assert_allclose(found[inside], expected, rtol=0, atol=TOLERANCE)


def in_segments(
    axis: np.ndarray, reference: np.ndarray, evaluation: np.ndarray, tolerance: float, distance: float
) -> np.ndarray:
    """Gamma of a profile: the lowest of one parabola per segment."""
    best = np.full(axis.shape, np.inf)
    for n in range(axis.size - 1):
        slope = (evaluation[n + 1] - evaluation[n]) / (axis[n + 1] - axis[n])
        # (x - axis)² / distance² + (evaluation[n] + slope·(x - axis[n]) - reference)² / tolerance²
        at_zero = evaluation[n] + slope * (axis - axis[n]) - reference
        x = axis - at_zero * slope / tolerance**2 / (1 / distance**2 + slope**2 / tolerance**2)
        x = np.clip(x, axis[n], axis[n + 1])
        difference = evaluation[n] + slope * (x - axis[n]) - reference
        best = np.minimum(best, ((x - axis) / distance) ** 2 + (difference / tolerance) ** 2)
    return np.sqrt(best)


@given(st.integers(2, 30), st.integers(0, 2**32 - 1), st.sampled_from([0.3, 1.0, 4.0]))
@settings(deadline=None, max_examples=100)
def test_a_profile_is_solved_segment_by_segment(size: int, seed: int, distance: float) -> None:
    rng = np.random.default_rng(seed)
    axis = np.cumsum(rng.uniform(0.2, 2, size))
    reference, evaluation = rng.uniform(5, 10, (2, size))
    found = gamma(
        reference, evaluation, axes=[axis], dose_percent=3, distance_mm=distance, local=False, normalisation=10,
        cutoff_percent=0, max_gamma=math.inf, sampler="exact",
    )  # fmt: skip
    np.testing.assert_allclose(found, in_segments(axis, reference, evaluation, 0.3, distance), rtol=0, atol=TOLERANCE)


def by_descent(
    at: tuple[int, ...], reference: np.ndarray, evaluation: np.ndarray, *, spacing: tuple[float, ...],
    tolerance: float, distance: float,
) -> float:  # fmt: skip
    """Gamma of one point: in every cell, down from the best of many starting points."""
    lowest = math.inf
    for cell in itertools.product(*(range(n - 1) for n in evaluation.shape)):
        corners = evaluation[tuple(slice(n, n + 2) for n in cell)]

        def square(share: np.ndarray, corners: np.ndarray = corners, cell: tuple[int, ...] = cell) -> float:
            dose = corners
            for side in share:
                dose = dose[0] * (1 - side) + dose[1] * side
            away = (np.array(cell) - at + share) * spacing / distance
            return float(away @ away + ((dose - reference[at]) / tolerance) ** 2)

        starts = sorted(itertools.product(np.linspace(0, 1, 7), repeat=len(cell)), key=lambda s: square(np.array(s)))
        for start in starts[:6]:
            found = minimize(square, start, bounds=[(0, 1)] * len(cell), options={"ftol": 1e-15, "gtol": 1e-12})
            lowest = min(lowest, float(found.fun))
    return math.sqrt(lowest)


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3]), st.sampled_from([0.01, 0.1, 1.0]))
@settings(deadline=None, max_examples=10)
def test_no_search_finds_less_and_the_value_is_attained(seed: int, dimensions: int, roughness: float) -> None:
    rng = np.random.default_rng(seed)
    shape, spacing = (3, 2, 2)[:dimensions], (1.0, 2.5, 1.5)[:dimensions]
    reference = rng.uniform(1, 2, shape)
    evaluation = reference + roughness * rng.normal(size=shape)
    found = gamma(
        reference, evaluation, spacing=spacing, dose_percent=3, distance_mm=1.5, local=False, normalisation=1,
        cutoff_percent=0, max_gamma=math.inf, sampler="exact",
    )  # fmt: skip
    at = (1, 0, 1)[:dimensions]
    expected = by_descent(at, reference, evaluation, spacing=spacing, tolerance=0.03, distance=1.5)
    assert found[at] <= expected + TOLERANCE
    assert found[at] >= expected - 1e-4


def part_of(case: str, part: tuple[slice, ...]) -> dict[str, Any]:
    with np.load(GOLDEN / f"{case}.npz") as file:
        arrays = {name: file[name] for name in file.files}
    return {
        "reference": arrays["reference"][part],
        "evaluation": arrays["evaluation"][part],
        "axes": [arrays[f"ref_axis{d}"][s] for d, s in enumerate(part)],
    }


@pytest.mark.parametrize(
    ("case", "part"),
    [
        ("iso2mm", (slice(10, 15), slice(14, 18), slice(12, 17))),
        ("aniso3x1x1", (slice(4, 8), slice(14, 20), slice(12, 18))),
        ("planar2d", (slice(0, 48), slice(0, 52))),
        ("profile1d", (slice(0, 160),)),
    ],
)
def test_finer_sampling_comes_down_to_it_and_never_below(case: str, part: tuple[slice, ...]) -> None:
    arguments = part_of(case, part) | {"dose_percent": 1, "distance_mm": 1, "max_gamma": 1.2}
    exact = gamma(**arguments, sampler="exact")
    gaps = []
    for steps in (5, 10, 20, 40, 80):
        sampled = gamma(**arguments, interpolation_steps=steps)
        np.testing.assert_array_equal(np.isnan(sampled), np.isnan(exact))
        gap = (sampled - exact)[~np.isnan(exact)]
        assert gap.min() >= -TOLERANCE
        gaps.append(gap.mean())
    assert all(after < before for before, after in itertools.pairwise(gaps))
    assert gaps[-1] < gaps[1] / 4
    assert gaps[-1] < 0.004
    assert gamma_pass_rate(**arguments, sampler="exact") >= gamma_pass_rate(**arguments, interpolation_steps=80)


def test_a_node_that_says_nothing_new_changes_nothing() -> None:
    rng = np.random.default_rng(8)
    reference, evaluation = rng.uniform(1, 1.2, (2, 5, 4, 6))
    axes = [np.arange(n) * s for n, s in zip(reference.shape, (1.0, 2.0, 1.5), strict=True)]
    rule: dict[str, Any] = {"dose_percent": 2, "distance_mm": 3, "sampler": "exact"}
    plain = gamma(reference, evaluation, axes=axes, **rule)
    finer = [np.insert(axes[0], 3, 2.6), axes[1], axes[2]]
    more = np.insert(evaluation, 3, 0.4 * evaluation[2] + 0.6 * evaluation[3], axis=0)
    np.testing.assert_allclose(
        gamma(reference, more, axes=axes, evaluation_axes=finer, **rule), plain, rtol=0, atol=2 * TOLERANCE
    )


def test_a_point_is_covered_if_the_grid_is_within_reach() -> None:
    reference = np.full((9, 1), 10.0)
    evaluation = np.full((3, 3), 10.0)
    found = gamma_analysis(
        reference, evaluation, axes=[np.arange(-8.0, 1.0), [0.5]], evaluation_axes=[[0.0, 1, 2], [0.0, 1, 2]],
        dose_percent=1, distance_mm=2, max_gamma=2, sampler="exact",
    )  # fmt: skip
    np.testing.assert_allclose(found.map[4:, 0], [2, 1.5, 1, 0.5, 0], atol=TOLERANCE)
    assert np.isnan(found.map[:4]).all()
    assert (found.evaluated, found.passed, found.uncovered) == (5, 3, 4)


@pytest.mark.parametrize("gradient", [1e-3, 1.0, 1e3, 1e6])
def test_steep_and_twisted_cells_come_to_an_end(gradient: float) -> None:
    """Corners that alternate make the strongest twist a cell can have."""
    corners = np.indices((4, 4, 4)).sum(axis=0) % 2
    evaluation = 1 + gradient * corners
    reference = np.full((4, 4, 4), 1.0 + 0.3 * gradient)
    found = gamma(reference, evaluation, spacing=1.0, dose_percent=1, distance_mm=1, sampler="exact")
    # In a cell 1 - 2·dose is the product of 1 - 2·coordinate, so the dose of the reference is nearest on the diagonal
    # for a node that is too cold, and along an edge for one that is too hot.
    if gradient >= 1e3:
        expected = np.where(corners == 0, math.sqrt(3) * (1 - 0.4 ** (1 / 3)) / 2, 0.7)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    sampled = gamma(reference, evaluation, spacing=1.0, dose_percent=1, distance_mm=1, interpolation_steps=20)
    assert (found <= sampled + TOLERANCE).all()
