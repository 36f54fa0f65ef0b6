"""The sampled gamma of grids that are shifted against each other: the search by tables against that point by point."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.metrics import _gamma_generic as generic
from isocenter.metrics import _gamma_grids as grids
from isocenter.metrics._gamma import gamma, gamma_analysis, gamma_pass_rate
from isocenter.metrics._gamma_result import GammaResult

SHIFTS = {
    "half a voxel": lambda rng, n: rng.integers(-3, 3, n) + 0.5,
    "any": lambda rng, n: rng.uniform(-2, 2, n),
    "whole voxels": lambda rng, n: rng.integers(-2, 3, n).astype(float),
    "almost none": lambda rng, n: rng.integers(-1, 2, n) + rng.choice([-1e-4, -1e-7, 1e-7, 1e-4], n),
}


def point_by_point(reference: np.ndarray, evaluation: np.ndarray, **rule: Any) -> GammaResult:
    """The kernel for any two grids. It sees samples on a face at the mercy of rounding, so the faces give way by it."""
    starts, steps = rule.pop("evaluation_origin"), rule.pop("evaluation_spacing")
    axes = [start + step * np.arange(n) for start, step, n in zip(starts, steps, evaluation.shape, strict=True)]
    for axis, step in zip(axes, steps, strict=True):
        axis[[0, -1]] += np.array([-1, 1]) * (2e-11 * step + 2e-13)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(grids.Doses, "lattice", lambda _: None)
        return gamma_analysis(reference, evaluation, evaluation_axes=axes, **rule)


@st.composite
def shifted(draw: st.DrawFn) -> dict[str, Any]:
    """Two random doses on grids of different extents, one shifted, the reference perhaps coarser by whole voxels."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 3))
    steps = rng.choice([0.5, 0.8, 1.0, 2.0, 2.5, 3.0], n)
    shifts = [SHIFTS[draw(st.sampled_from(sorted(SHIFTS)))](rng, 1)[0] for _ in range(n)]
    kind = draw(st.sampled_from([np.float32, np.float64]))
    top = 1 + draw(st.sampled_from([0.02, 0.3]))
    return {
        "reference": rng.uniform(1, top, rng.integers(2, 8, n)).astype(kind),
        "evaluation": rng.uniform(1, top, rng.integers(2, 8, n)).astype(kind),
        "spacing": steps * rng.choice([1, 1, 1, 2, 3], n),
        "origin": [512.0] * n,
        "evaluation_spacing": steps,
        "evaluation_origin": 512 + np.array(shifts) * steps,
        "dose_percent": draw(st.sampled_from([0.5, 1, 3])),
        "distance_mm": draw(st.sampled_from([0.7, 1, 2, 3])),
        "max_gamma": draw(st.sampled_from([1.1, 2, 3])),
        "local": draw(st.booleans()),
        "cutoff_percent": draw(st.sampled_from([0, 10, 90])),
    }


@pytest.mark.slow
@given(shifted())
@settings(deadline=None, max_examples=40)
def test_a_constant_shift_is_searched_by_tables_with_the_result_of_the_search_point_by_point(
    problem: dict[str, Any],
) -> None:
    expected = point_by_point(**problem)
    found = gamma_analysis(**problem, threads=1)
    assert expected.map is not None
    np.testing.assert_allclose(found.map, expected.map, rtol=0, atol=1e-8)
    assert (found.evaluated, found.uncovered) == (expected.evaluated, expected.uncovered)
    np.testing.assert_array_equal(gamma_analysis(**problem, threads=3).map, found.map)
    rate = gamma_analysis(**problem, keep_map=False)
    assert (rate.passed, rate.evaluated, rate.uncovered) == (found.passed, found.evaluated, found.uncovered)


def smooth(shape: tuple[int, ...], seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    places = np.indices(shape).sum(axis=0) / sum(shape)
    reference = 50 + 10 * np.sin(4 * places)
    return reference, reference * rng.normal(1, 0.01, shape)


@pytest.mark.parametrize("shift", [(0.5, 0.5, 0.5), (-0.5, 0.0, 0.5), (0.25, -1.5, 3.0), (0.0, 0.0, 0.125)])
def test_only_grids_without_a_constant_shift_are_searched_point_by_point(
    shift: tuple[float, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Refused(Exception):
        pass

    def refuse(*_: object) -> None:
        raise Refused

    monkeypatch.setattr(generic, "search_rows", refuse)
    reference, evaluation = smooth((7, 8, 6), 3)
    rule: dict[str, Any] = {"spacing": (2.0, 1.0, 3.0), "dose_percent": 1, "distance_mm": 1}
    start = np.array(shift) * rule["spacing"]
    gamma(reference, evaluation, evaluation_origin=start, **rule)
    gamma(reference[::2, :, ::3], evaluation, **{**rule, "spacing": (4, 1, 9)}, evaluation_spacing=rule["spacing"],
          evaluation_origin=start)  # fmt: skip
    with pytest.raises(Refused):
        gamma(reference, evaluation, evaluation_spacing=(2.0, 1.0, 2.9), **rule)
    with pytest.raises(Refused):
        gamma(reference, evaluation, evaluation_spacing=(2.0, 1.0, 3.0 + 1e-6), **rule)


@pytest.mark.parametrize("shift", [1e-9, -1e-9, 3e-10])
def test_a_shift_by_rounding_is_none(shift: float) -> None:
    reference, evaluation = smooth((7, 8, 6), 4)
    rule: dict[str, Any] = {"spacing": (2.0, 1.5, 3.0), "origin": (100.0, 7.0, -40.0), "dose_percent": 1}
    start = np.array(rule["origin"]) + shift
    aligned = gamma(reference, evaluation, distance_mm=1, **rule)
    found = gamma(reference, evaluation, evaluation_origin=start, distance_mm=1, **rule)
    # The step of a shifted axis is rounded another way; a shift that counted would change gamma by 1e-9 or so.
    np.testing.assert_allclose(found, aligned, rtol=0, atol=1e-14)


@pytest.mark.parametrize("shift", [0.5, -0.5])
@pytest.mark.parametrize("local", [True, False])
def test_the_peer_has_the_same_map_and_the_same_pass_rate_on_grids_half_a_voxel_apart(
    shift: float, local: bool
) -> None:
    import pymedphys

    reference, evaluation = smooth((6, 7, 6), 5)
    evaluation = evaluation[:-1, :, 1:]
    steps = (2.0, 1.0, 3.0)
    axes = tuple(1000 + step * np.arange(n) for step, n in zip(steps, reference.shape, strict=True))
    others = tuple(1000 + step * (shift + np.arange(n)) for step, n in zip(steps, evaluation.shape, strict=True))
    rule: dict[str, Any] = {"lower_percent_dose_cutoff": 10, "interp_fraction": 10, "max_gamma": 2}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected, quick = (
            pymedphys.gamma(axes, reference, others, evaluation, 1, 1, local_gamma=local, skip_once_passed=skip, **rule)
            for skip in (False, True)
        )
    own: dict[str, Any] = {"axes": axes, "evaluation_axes": others, "dose_percent": 1, "distance_mm": 1, "local": local}
    found = gamma(reference, evaluation, **own)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9)
    assert 0.05 < np.nanmean(found <= 1) < 0.95  # a case in which something is to be decided
    assert np.isnan(found).any()
    valid = quick[~np.isnan(quick)]
    assert gamma_pass_rate(reference, evaluation, **own) == pytest.approx(100 * np.mean(valid <= 1), rel=1e-12)
