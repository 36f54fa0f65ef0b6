"""Sums over doses that are lists of voxels, beside sums over whole arrays in exact arithmetic."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.metrics import SparseDose, dose_difference

VOXELS = 60
doses = st.dictionaries(st.integers(0, VOXELS - 1), st.floats(-1e3, 1e3), max_size=VOXELS)


def sparse(dose: dict[int, float]) -> SparseDose:
    voxels = sorted(dose)
    return SparseDose(np.array(voxels, np.int64), np.array([dose[voxel] for voxel in voxels], np.float64))


@given(doses, doses)
def test_differences_are_summed_over_all_voxels_that_either_dose_has(a: dict[int, float], b: dict[int, float]) -> None:
    differences = [a.get(voxel, 0.0) - b.get(voxel, 0.0) for voxel in range(VOXELS)]
    measured = dose_difference(sparse(a), sparse(b))
    assert measured.absolute == pytest.approx(math.fsum(map(abs, differences)), rel=4e-16, abs=0)
    assert measured.squared == pytest.approx(math.fsum(d * d for d in differences), rel=4e-16, abs=1e-300)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 1000, 1001])
def test_doses_on_the_same_voxels_are_compared_as_exactly_as_others(size: int) -> None:
    rng = np.random.default_rng(size)
    voxels = np.cumsum(rng.integers(1, 5, size))
    a, b = rng.lognormal(3, 2, (2, size))
    same = dose_difference(SparseDose(voxels, a), SparseDose(voxels, b))
    assert same.absolute == pytest.approx(math.fsum(np.abs(a - b)), rel=2.3e-16, abs=0)
    assert same.squared == pytest.approx(math.fsum((a - b) ** 2), rel=2.3e-16, abs=0)
    # A voxel more, with no dose, changes nothing but the way in which the lists are walked.
    more = SparseDose(np.append(voxels, 10 * size + 7), np.append(a, 0.0))
    assert dose_difference(more, SparseDose(voxels, b)) == same


@given(doses, st.sets(st.integers(0, VOXELS - 1)))
def test_the_dose_of_some_voxels_and_of_all_others(dose: dict[int, float], chosen: set[int]) -> None:
    wanted = np.array(sorted(chosen), np.int64)
    assert sparse(dose).at(wanted).tolist() == [dose.get(voxel, 0.0) for voxel in sorted(chosen)]
    outside = math.fsum(abs(value) for voxel, value in dose.items() if voxel not in chosen)
    assert sparse(dose).outside(wanted) == pytest.approx(outside, rel=4e-16, abs=0)
    assert sparse(dose).outside(np.array(sorted(dose), np.int64)) == 0.0
