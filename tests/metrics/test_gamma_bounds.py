"""What the search for gamma leaves out: nothing that counts. Against every sample of every sphere, one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import jit
from scipy.ndimage import map_coordinates

from isocenter.metrics import _gamma_lattice as lattice
from isocenter.metrics import _gamma_shells as shells
from isocenter.metrics._gamma import gamma_analysis


def every_sample(problem: dict[str, Any]) -> np.ndarray:
    """Gamma of all points of the reference, by its definition; NaN where no sample is inside the evaluation."""
    distance, limit = problem["distance_mm"], problem["max_gamma"]
    search = shells.plan(
        (distance,), fraction=problem["interpolation_steps"], max_gamma=limit, finished=(math.inf,), furthest=math.inf
    )
    spheres = [(r, p) for r, step in zip(search.radii, search.steps, strict=True) for p in shells.sphere(r, step, 3)]
    radius = np.repeat([r for r, _ in spheres], [len(points) for _, points in spheres])
    offsets = np.concatenate([points for _, points in spheres])
    evaluation = problem["evaluation"].astype(float)
    squares = np.full(problem["reference"].shape, np.inf)
    for node, dose in np.ndenumerate(problem["reference"].astype(float)):
        place = np.array(node) * problem["spacing"] - problem["evaluation_origin"] + offsets
        place /= problem["evaluation_spacing"]
        whole = np.rint(place)
        place = np.where(np.abs(place - whole) < 1e-9, whole, place)  # on a face, if it were not for rounding
        inside = ((place >= 0) & (place <= np.array(evaluation.shape) - 1)).all(axis=1)
        norm = dose if problem["local"] else problem["reference"].max()
        miss = map_coordinates(evaluation, place[inside].T, order=1, mode="nearest") - dose
        terms = (miss / (norm * problem["dose_percent"] / 100)) ** 2 + (radius[inside] / distance) ** 2
        squares[node] = terms.min(initial=np.inf)
    return np.where(np.isinf(squares), np.nan, np.minimum(np.sqrt(squares), limit))


def steep(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """An edge of a field with noise, in any direction."""
    depth = np.tensordot(rng.normal(0, 1, 3), np.indices(shape), 1)
    return 60 / (1 + np.exp(depth - np.median(depth))) * rng.normal(1, 0.01, shape) + 1


DOSES = {
    "steep": steep,
    "sloping": lambda rng, shape: 50 + np.tensordot(rng.normal(0, 1, 3), np.indices(shape), 1),
    "noise": lambda rng, shape: rng.normal(50, 1, shape),
    "spikes": lambda rng, shape: np.where(
        rng.random(shape) < 0.2, rng.uniform(1, 500, shape), rng.normal(50, 1, shape)
    ),
    "in part empty": lambda rng, shape: rng.choice([0.0, 50.0, 51.0], shape),
}


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    """Doses on shifted grids of different extents; the evaluation may well be smaller, and partly elsewhere."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kind = draw(st.sampled_from(sorted(DOSES)))
    reference = np.maximum(DOSES[kind](rng, tuple(rng.integers(2, 6, 3))), 0.1)
    shape = tuple(rng.integers(2, 6, 3))
    if draw(st.booleans()):
        # The same dose elsewhere: much of it passes, so there is something to find.
        moved = np.indices(shape) + rng.uniform(-0.5, 0.5, (3, 1, 1, 1))
        evaluation = map_coordinates(reference, moved, order=1, mode="nearest") * rng.normal(1, 0.005, shape)
    else:
        evaluation = np.abs(DOSES[kind](rng, shape))
    spacing = np.array(draw(st.sampled_from([(2.0, 2.0, 2.0), (3.0, 1.0, 1.0), (1.0, 1.0, 1.0), (0.7, 1.5, 2.5)])))
    shift = draw(st.sampled_from(["half a voxel", "any", "along one axis"]))
    place = {
        "half a voxel": rng.choice([-1.5, -0.5, 0.5, 1.5], 3),
        "any": rng.uniform(-2, 2, 3),
        "along one axis": rng.permutation([0.0, 1.0, rng.uniform(0.01, 0.99)]),
    }[shift]
    return {
        "reference": reference,
        "evaluation": evaluation,
        "spacing": spacing,
        "evaluation_spacing": spacing,
        "evaluation_origin": place * spacing,
        "dose_percent": draw(st.sampled_from([1, 3, 10])),
        "distance_mm": draw(st.sampled_from([1, 1.5, 2])),
        "max_gamma": draw(st.sampled_from([1.1, 1.5, 2])),
        "interpolation_steps": draw(st.sampled_from([3, 5])),
        "local": draw(st.booleans()),
        "cutoff_percent": 0,
    }


@pytest.mark.slow
@given(problems())
@settings(deadline=None, max_examples=60)
def test_no_sample_that_is_left_out_would_have_changed_gamma(problem: dict[str, Any]) -> None:
    expected = every_sample(problem)
    np.testing.assert_allclose(gamma_analysis(**problem).map, expected, rtol=0, atol=1e-8)
    rate = gamma_analysis(**problem, keep_map=False)
    assert rate.evaluated == np.count_nonzero(~np.isnan(expected))
    undecided = np.count_nonzero(np.abs(expected - 1) < 1e-9)  # by rounding
    assert abs(rate.passed - np.count_nonzero(expected <= 1)) <= undecided


@given(st.integers(0, 2**32 - 1))
@settings(deadline=None, max_examples=200)
def test_no_point_around_a_reference_point_is_nearer_to_its_dose_than_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cell = rng.choice([0.7, 1.0, 2.0, 3.0], 3)
    density = tuple(1 / cell)
    nodes = rng.normal(0, 10.0 ** rng.integers(-2, 3), (4, 4, 4)) + rng.choice([0, 3, -3])
    place = rng.uniform(0, 1, 3)  # in the cell in the middle
    directions = rng.normal(size=(300, 3))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    sign = (directions < 0).astype(int)

    def differences(radii: np.ndarray) -> np.ndarray:
        return map_coordinates(nodes, (1 + place + radii[:, None] * directions / cell).T, order=1)

    corners = nodes[1:3, 1:3, 1:3]
    c0, c3, c2, c23, c1, c13, c12, c123 = (
        np.einsum("ijk,i,j,k", corners, *(([1, 0], [-1, 1])[a] for a in term)) for term in np.ndindex(2, 2, 2)
    )
    here, p1, p2, p3, *rest = lattice._counted_from(*place, c0, c1, c2, c3, c12, c13, c23, c123)
    gradient = (p1 * density[0], p2 * density[1], p3 * density[2])
    losses = np.zeros((3, 2))

    def lower_bound(floor: float, radii: np.ndarray) -> np.ndarray:
        return floor - radii * np.sqrt(losses[np.arange(3), sign].sum(axis=1))

    reach = float((np.minimum(place, 1 - place) * cell).min())
    radii = rng.uniform(0, reach, 300)
    floor = lattice._bound_in_cell(here, *gradient, *rest, density, reach, losses)
    assert (np.abs(differences(radii)) >= lower_bound(floor, radii) - 1e-9).all()
    assert abs(here) - floor <= np.abs(rest).sum() * reach**2 * max(density) ** 2 * (1 + reach * max(density)) + 1e-6

    radii = rng.uniform(0, float((np.minimum(1 + place, 2 - place) * cell).min()), 300)
    floor = lattice._bound_in_box(here, nodes, (0, 0, 0), (3, 3, 3), density, losses)
    assert (np.abs(differences(radii)) >= lower_bound(floor, radii) - 1e-9).all()
    assert floor == pytest.approx(abs(here), rel=1e-6, abs=1e-5)


def test_a_table_knows_at_which_radius_samples_leave_the_cells_around_the_reference_point() -> None:
    search = shells.Search(tuple(np.arange(0, 3.01, 0.25)), (0.25,) * 13)
    (table,) = shells.tables(search, 3, shells.Cells((2.0, 1.0, 4.0), (0.5, 0.25, 0.125)))
    # Half a cell of 2 mm is 1 mm: there samples are on the side of the cell, not beyond it.
    np.testing.assert_array_equal(table.leaving, [[1.25, np.inf], [0.5, 1.5], [0.75, np.inf]])
    on_nodes = shells.Cells((2.0, 1.0, 4.0), (0.0, 0.0, 0.0))
    (table,) = shells.tables(search, 3, on_nodes)
    np.testing.assert_array_equal(table.leaving, [[2.25, np.inf], [1.25, 2.25], [np.inf, np.inf]])


def test_a_table_knows_which_cells_have_samples_on_their_near_side() -> None:
    search = shells.Search((0.0, 0.5, 1.0), (0.5, 0.5, 0.5))
    (table,) = shells.tables(search, 3, shells.Cells((2.0, 2.0, 2.0), (0.5, 0.5, 0.0)))
    for place, on_side in zip(table.places, table.on_side, strict=True):
        # Between nodes only the next cells have some, where the sphere touches them. Of samples beside a node the
        # cell in + direction has those that are on its side.
        assert list(on_side[:2]) == list(place[3:5] == 1)
        assert on_side[2] == (place[2] == 0)


def test_samples_of_a_cell_are_compared_on_vector_units() -> None:
    compiled = jit(**lattice._smallest.targetoptions)(lattice._smallest.py_func)
    places = np.random.default_rng(1).random((3, 100))
    coefficients = (-0.5, 0.3, 0.2, 0.4, 0.1, 0.05, 0.02, 0.01)
    found = compiled(*places, 3, 98, *coefficients)
    u, v, w = places[:, 3:98]
    terms = np.array([np.ones(95), u, v, w, u * v, u * w, v * w, u * v * w])
    assert found == pytest.approx(np.abs(coefficients @ terms).min(), abs=1e-15)
    (code,) = compiled.inspect_llvm().values()
    assert " x double> @llvm.fabs" in code
