"""Gamma against golden maps and numbers of pymedphys 0.41, and what its keywords promise."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.metrics import _gamma_shells as shells
from isocenter.metrics._gamma import gamma, gamma_analysis, gamma_many, gamma_pass_rate

GOLDEN = Path(__file__).parents[1] / "golden" / "dose"
EXPECTED = json.loads((GOLDEN / "expected.json").read_text())
CASES = ("iso2mm", "aniso3x1x1", "different_grids", "planar2d", "profile1d")
# Not in the table of parameters, but its name says them all.
PARAMETERS = EXPECTED["gamma_parameters"] | {
    "local_1pct_1mm_cut10_max_inf": EXPECTED["gamma_parameters"]["local_1pct_1mm_cut10_max2"] | {"max_gamma": math.inf}
}
SINGLE = [
    (case, name)
    for case in CASES
    for name in EXPECTED["gamma"][case]
    if not name.startswith("multi") and "skip_once_passed" not in name
]
MULTIPLE = [(case, name) for case in CASES for name in EXPECTED["gamma"][case] if name.startswith("multi")]


def doses(case: str) -> dict[str, Any]:
    with np.load(GOLDEN / "gamma" / f"{case}.npz") as file:
        arrays = dict(file)
    axes = [[arrays[f"{side}_axis{d}"] for d in range(arrays["reference"].ndim)] for side in ("ref", "eva")]
    return {
        "reference": arrays["reference"],
        "evaluation": arrays["evaluation"],
        "axes": axes[0],
        "evaluation_axes": axes[1],
    }


def keywords(name: str) -> dict[str, Any]:
    theirs = PARAMETERS[name]
    ours = {
        "dose_percent": theirs["dose_percent_threshold"],
        "distance_mm": theirs["distance_mm_threshold"],
        "local": theirs["local_gamma"],
        "cutoff_percent": theirs["lower_percent_dose_cutoff"],
        "max_gamma": theirs["max_gamma"],
        "interpolation_steps": theirs["interp_fraction"],
    }
    if "global_normalisation" in theirs:
        ours |= {"normalisation": theirs["global_normalisation"], "cutoff_of": "normalisation"}
    return ours


def assert_statistics(found: np.ndarray, expected: dict[str, float], *, quirk: bool) -> None:
    values = found[~np.isnan(found)]
    # The peer misses samples on faces at coordinate 0; one point there moves a mean or a median a little.
    close = {"rel": 0, "abs": 3e-4 if quirk else 1e-9}
    assert values.size == expected["n_valid"]
    assert np.count_nonzero(values <= 1) == expected["n_pass_le_1"]
    assert 100 * np.mean(values < 1) == pytest.approx(expected["pass_rate_percent_lt_1"], rel=1e-14)
    assert values.mean() == pytest.approx(expected["gamma_mean"], **close)
    assert np.median(values) == pytest.approx(expected["gamma_median"], **close)
    assert np.percentile(values, 99) == pytest.approx(expected["gamma_p99"], rel=0, abs=1e-9)
    assert values.max() == pytest.approx(expected["gamma_max"], rel=0, abs=1e-9)


@pytest.mark.parametrize(("case", "name"), SINGLE)
def test_numbers_are_those_of_the_peer(case: str, name: str) -> None:
    found = gamma_analysis(**doses(case), **keywords(name))
    expected = EXPECTED["gamma"][case][name]
    assert_statistics(found.map, expected, quirk=case in {"iso2mm", "aniso3x1x1"})
    assert (found.evaluated, found.passed) == (expected["n_valid"], expected["n_pass_le_1"])
    assert found.pass_rate == pytest.approx(expected["pass_rate_percent_le_1"], abs=1e-12)
    assert gamma_pass_rate(**doses(case), **keywords(name)) == found.pass_rate


def test_every_golden_map_is_ours_off_the_faces_at_zero() -> None:
    with np.load(GOLDEN / "gamma" / "gamma_maps_expected.npz") as file:
        maps = dict(file)
    assert len(maps) == 10
    for key, expected in maps.items():
        case, name = key.split("__")
        given_doses = doses(case)
        found = gamma(**given_doses, **keywords(name))
        np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
        np.testing.assert_array_equal(found <= 1, expected <= 1)
        inner = tuple(slice(int(axis[0] == 0), None) for axis in given_doses["axes"])
        np.testing.assert_allclose(found[inner], expected[inner], rtol=0, atol=1e-9)
        difference = np.nan_to_num(expected - found)
        assert difference.min() > -1e-9
        assert difference.max() < 0.03


@pytest.mark.parametrize(("case", "name"), MULTIPLE)
def test_several_criteria_share_one_denominator_as_in_the_peer(case: str, name: str) -> None:
    expected = EXPECTED["gamma"][case][name]
    criteria = [tuple(float(part.rstrip("%m")) for part in key.split("/")) for key in expected]
    found = gamma_many(**doses(case), criteria=criteria)
    assert list(found) == criteria
    for result, numbers in zip(found.values(), expected.values(), strict=True):
        assert_statistics(result.map, numbers, quirk=case == "planar2d")
        assert result.passed == numbers["n_pass_le_1"]
    assert len({result.evaluated for result in found.values()}) == 1
    bare = gamma_many(**doses(case), criteria=criteria, keep_maps=False)
    assert [result.pass_rate for result in bare.values()] == [result.pass_rate for result in found.values()]
    assert all(result.map is None for result in bare.values())


def test_the_denominator_of_one_criterion_depends_on_its_reach_and_the_result_says_so() -> None:
    small, large = (
        gamma_analysis(**doses("different_grids"), dose_percent=1, distance_mm=distance) for distance in (1, 2)
    )
    assert (small.requested, small.evaluated, small.uncovered) == (4318, 4098, 220)
    assert (large.requested, large.evaluated, large.uncovered) == (4318, 4318, 0)
    failed = gamma_analysis(**doses("different_grids"), dose_percent=1, distance_mm=1, uncovered="fail", keep_map=False)
    assert failed.pass_rate == pytest.approx(100 * 3474 / 4318)
    assert failed.passed == small.passed
    exact = gamma_many(**doses("different_grids"), criteria=[(1, 1), (3, 3)], sampler="exact", max_gamma=1.5)
    assert {result.evaluated for result in exact.values()} == {4318}


def test_spheres_are_as_many_and_as_dense_as_the_peers() -> None:
    search = shells.plan((1.0,), fraction=10, max_gamma=2, finished=(math.inf,), furthest=math.inf)
    assert len(search.radii) == 21
    assert search.radii[9:13] == (0.8999999999999999, 0.9999999999999999, 1.0, 1.1)
    assert search.radii[-1] == 1.9000000000000008
    sizes = [sum(len(piece) for piece in shells.sphere(r, 0.1, 3)) for r in search.radii]
    assert sum(sizes) == 33_656
    assert sizes[:4] == [1, 23, 67, 135]


def test_a_search_that_does_not_fit_one_table_is_the_same_search(monkeypatch: pytest.MonkeyPatch) -> None:
    both = doses("iso2mm")
    arguments = {
        "reference": both["reference"][12:20, 12:20, 12:20],
        "evaluation": both["evaluation"][12:20, 12:20, 12:20],
        "spacing": 2.0,
        "dose_percent": 1,
        "distance_mm": 1,
    }
    whole = gamma(**arguments)
    rate = gamma_pass_rate(**arguments)
    monkeypatch.setattr(shells, "_ROOM", 300)
    assert len(list(shells.sphere(1.9, 0.1, 3))) > 5
    np.testing.assert_array_equal(gamma(**arguments), whole)
    assert gamma_pass_rate(**arguments) == rate


grids = st.tuples(*[st.integers(2, 6)] * 3)


@given(grids, st.integers(0, 2**32 - 1), st.sampled_from(["shells", "exact"]), st.booleans())
@settings(deadline=None, max_examples=40)
def test_order_type_threads_and_direction_change_nothing(
    shape: tuple[int, int, int], seed: int, sampler: Any, local: bool
) -> None:
    rng = np.random.default_rng(seed)
    reference = rng.uniform(1, 2, shape).astype(np.float32)
    evaluation = reference * rng.normal(1, 0.03, shape).astype(np.float32)
    rule: dict[str, Any] = {"dose_percent": 2, "distance_mm": 1.5, "local": local, "sampler": sampler}
    spacing, origin = (1.0, 2.5, 0.7), (-31.0, 4.0, 250.0)
    plain = gamma(reference, evaluation, spacing=spacing, origin=origin, threads=1, **rule)
    assert plain.dtype == np.float64
    for threads in (2, 5, None):
        np.testing.assert_array_equal(
            gamma(reference, evaluation, spacing=spacing, origin=origin, threads=threads, **rule), plain
        )
    doubled = gamma(
        np.asfortranarray(reference, np.float64), evaluation.astype(">f8"), spacing=spacing, origin=origin, **rule
    )
    np.testing.assert_array_equal(doubled, plain)
    axes = [o + s * np.arange(n) for o, s, n in zip(origin, spacing, shape, strict=True)]
    feet_first = gamma(
        reference[:, :, ::-1],
        evaluation[:, ::-1],
        axes=[axes[0], axes[1], axes[2][::-1]],
        evaluation_axes=[axes[0], axes[1][::-1], axes[2]],
        **rule,
    )
    np.testing.assert_allclose(feet_first[:, :, ::-1], plain, rtol=0, atol=1e-12)
    rate = gamma_pass_rate(reference, evaluation, spacing=spacing, origin=origin, **rule)
    assert rate == pytest.approx(100 * np.mean(plain <= 1), rel=1e-14)


@given(grids, st.integers(0, 2**32 - 1), st.sampled_from([0.5, 1.0, 3.0]))
@settings(deadline=None, max_examples=40)
def test_a_cropped_evaluation_on_the_same_nodes_is_searched_as_any_other_grid(
    shape: tuple[int, int, int], seed: int, distance: float
) -> None:
    """Nodes that coincide have a kernel of their own; an irregular axis elsewhere sends the same doses to the other."""
    rng = np.random.default_rng(seed)
    reference, evaluation = rng.uniform(1, 1.1, (2, *shape))
    first = np.array([rng.integers(-2, 3) for _ in shape])
    spacing = np.array([1.0, 2.0, 0.8])
    rule: dict[str, Any] = {"dose_percent": 3, "distance_mm": distance, "local": False}
    lattice = gamma_analysis(
        reference, evaluation, spacing=spacing, origin=(500, 500, 500), evaluation_origin=500 + first * spacing, **rule
    )
    axes = [500 + s * np.arange(n) for s, n in zip(spacing, shape, strict=True)]
    # A node in the middle of a cell, with the dose that is there anyway.
    others = [axis + f * s for axis, f, s in zip(axes, first, spacing, strict=True)]
    others[0] = np.insert(others[0], 1, others[0][0] + 0.3)
    # That kernel misses samples on a face if rounding puts them outside; the one for lattices sees them always.
    for axis, s in zip(others, spacing, strict=True):
        axis[[0, -1]] += np.array([-1, 1]) * (2e-11 * s + 2e-13)
    between = 0.7 * evaluation[0] + 0.3 * evaluation[1]
    generic = gamma_analysis(
        reference, np.insert(evaluation, 1, between, axis=0), axes=axes, evaluation_axes=others, **rule
    )
    np.testing.assert_allclose(generic.map, lattice.map, rtol=0, atol=1e-8)
    assert (generic.evaluated, generic.uncovered) == (lattice.evaluated, lattice.uncovered)
    for sampler in ("shells", "exact"):
        counts = [
            gamma_analysis(
                reference,
                evaluation,
                spacing=spacing,
                evaluation_origin=first * spacing,
                sampler=sampler,
                keep_map=keep,
                **rule,
            )
            for keep in (True, False)
        ]
        assert counts[0].pass_rate == pytest.approx(counts[1].pass_rate, nan_ok=True, abs=0)
        assert counts[0].uncovered == counts[1].uncovered


def test_equal_doses_have_gamma_zero_and_points_below_the_cutoff_have_none() -> None:
    dose = np.linspace(0, 60, 61).reshape(61, 1) * np.ones(5)
    found = gamma_analysis(dose, dose, spacing=(2.0, 2.0), dose_percent=1, distance_mm=1, cutoff_percent=10)
    assert np.isnan(found.map[:6]).all()
    assert (found.map[6:] == 0).all()
    assert (found.requested, found.evaluated, found.passed, found.pass_rate) == (275, 275, 275, 100.0)


def test_the_cutoff_is_of_what_it_says() -> None:
    dose = np.linspace(1, 80, 80)
    rule: dict[str, Any] = {"spacing": 1.0, "dose_percent": 1, "distance_mm": 1, "cutoff_percent": 50}
    counts = {
        "max": gamma_analysis(dose, dose, **rule),
        "prescription": gamma_analysis(dose, dose, cutoff_of="prescription", prescription=60, **rule),
        "dose": gamma_analysis(dose, dose, cutoff_of=20.0, **rule),
        "normalisation": gamma_analysis(dose, dose, cutoff_of="normalisation", normalisation=70, local=False, **rule),
    }
    assert {name: result.evaluated for name, result in counts.items()} == {
        "max": 41,
        "prescription": 51,
        "dose": 71,
        "normalisation": 46,
    }
    assert counts["prescription"].convention.cutoff == 30.0
    assert "50 % of the prescription, 60 Gy" in str(counts["prescription"].convention)


def test_a_mask_chooses_points_but_not_what_is_searched() -> None:
    rng = np.random.default_rng(1)
    reference, evaluation = rng.uniform(1, 2, (2, 6, 7, 8))
    rule: dict[str, Any] = {"spacing": (1.0, 1.0, 2.0), "dose_percent": 5, "distance_mm": 2}
    mask = np.zeros(reference.shape, bool)
    mask[2:4, 3:, 1] = True
    everywhere, inside = gamma(reference, evaluation, **rule), gamma(reference, evaluation, mask=mask, **rule)
    np.testing.assert_array_equal(inside[mask], everywhere[mask])
    assert np.isnan(inside[~mask]).all()
    expected = 100 * np.mean(everywhere[mask] <= 1)
    assert gamma_pass_rate(reference, evaluation, mask=mask, **rule) == pytest.approx(expected, abs=0)
    nothing = gamma_analysis(reference, evaluation, mask=np.zeros_like(mask), keep_map=False, **rule)
    assert math.isnan(nothing.pass_rate)
    assert nothing.requested == 0


def test_a_local_gamma_has_no_value_where_there_is_no_dose() -> None:
    reference = np.array([0.0, 0.0, 1.0, 2.0, 1.0])
    found = gamma_analysis(reference, reference, spacing=1.0, dose_percent=1, distance_mm=1, cutoff_percent=0)
    assert (found.requested, found.evaluated, found.undefined, found.uncovered) == (5, 3, 2, 0)
    assert np.isnan(found.map[:2]).all()
    everywhere = gamma_analysis(
        reference, reference, spacing=1.0, dose_percent=1, distance_mm=1, cutoff_percent=0, local=False
    )
    assert (everywhere.evaluated, everywhere.undefined) == (5, 0)


def test_gamma_is_capped_or_searched_to_the_end() -> None:
    reference, evaluation = np.full(30, 10.0), np.full(30, 10.5)
    rule: dict[str, Any] = {"spacing": 1.0, "dose_percent": 1, "distance_mm": 1}
    assert gamma(reference, evaluation, **rule).max() == 2.0
    np.testing.assert_allclose(gamma(reference, evaluation, max_gamma=math.inf, **rule), 5.0, rtol=1e-12)
    np.testing.assert_allclose(gamma(reference, evaluation, max_gamma=9, **rule), 5.0, rtol=1e-12)
    for sampler in ("shells", "exact"):
        found = gamma(reference, evaluation, max_gamma=1e300, sampler=sampler, **rule)
        np.testing.assert_allclose(found, 5.0, rtol=1e-6)
    many = gamma_many(reference, evaluation, spacing=1.0, criteria=[(1, 1), (1, 2)], max_gamma=1e300)
    np.testing.assert_allclose(many[1, 1].map, 5.0, rtol=1e-12)


@pytest.mark.parametrize(
    "arguments",
    [
        {"distance_mm": 1e-9, "max_gamma": math.inf},
        {"distance_mm": 0.01, "max_gamma": math.inf},
        {"distance_mm": 0.01, "max_gamma": 1e300},
        {"distance_mm": 1, "max_gamma": 3, "interpolation_steps": 1000},
    ],
)
def test_a_search_without_end_is_refused_and_the_exact_one_has_an_end(arguments: dict[str, Any]) -> None:
    reference = np.random.default_rng(0).uniform(10, 20, (4, 4, 4))
    rule: dict[str, Any] = {"spacing": 20.0, "dose_percent": 1} | arguments
    words = r"look at \d\.\de\+\d+ (samples|spheres) .*; lower max_gamma or .*sampler='exact'"
    with pytest.raises(ValueError, match=words):
        gamma(reference, reference + 5, **rule)
    assert gamma(reference, reference + 5, sampler="exact", **rule).min() > 1
    # Nothing to search for, however far it may be: as many samples as fit one table.
    if arguments["distance_mm"] > 1e-6:
        assert gamma(reference, reference, **rule).max() == 0


@pytest.mark.parametrize("wrong", ["normalization", "keep_map", "criterion"])
def test_a_keyword_that_nobody_knows_is_refused_by_name(wrong: str) -> None:
    sound: dict[str, Any] = {"spacing": 1.0, "dose_percent": 1, "distance_mm": 1, "local": False}
    calls: list[Any] = [gamma] if wrong == "keep_map" else [gamma, gamma_pass_rate, gamma_analysis]
    for call in calls:
        with pytest.raises(TypeError, match=f"keyword '{wrong}'; .* mask, normalisation, cutoff_of"):
            call(LINE, LINE, **sound, **{wrong: 3.0})
    many: Any = gamma_many
    with pytest.raises(TypeError, match=f"keyword '{wrong}'"):
        many(LINE, LINE, spacing=1.0, criteria=[(1, 1)], **{wrong: 3.0})


def test_the_result_says_by_which_convention_it_was_made() -> None:
    dose = np.linspace(10, 50, 20)
    found = gamma_analysis(dose, dose, spacing=1.0, dose_percent=3, distance_mm=2, local=False, normalisation=45)
    convention = found.convention
    assert (convention.sampler, convention.interpolation_steps) == ("shells", 10)
    assert (convention.cutoff, convention.normalisation, convention.search_mm) == (5.0, 45.0, 4.0)
    assert str(found) == "3 %/2 mm: 100.00 % of 20 points"
    assert "of 45 Gy (global)" in str(convention)
    assert "as in pymedphys 0.41, 10 steps" in str(convention)
    exact = gamma_analysis(
        dose, dose, spacing=1.0, dose_percent=3, distance_mm=2, sampler="exact", uncovered="fail"
    ).convention
    assert exact.interpolation_steps is None
    assert exact.normalisation is None
    assert "continuous" in str(exact)
    assert "counted as failed" in str(exact)


LINE = np.linspace(1, 2, 5)
BAD: list[tuple[dict[str, Any], str]] = [
    ({"evaluation": np.array([1, 2, np.nan, 1, 1])}, "evaluation must be finite; 1 of its 5"),
    ({"reference": np.array([1, 2, np.inf, -np.inf, 1])}, "reference must be finite; 2 of its 5"),
    ({"evaluation": LINE.reshape(5, 1)}, "as many dimensions, not 1 and 2"),
    ({"evaluation": np.ones(4)}, r"shapes \(5,\) and \(4,\)"),
    ({"reference": np.ones((2,) * 4), "evaluation": np.ones((2,) * 4)}, "one to three dimensions"),
    ({"reference": np.zeros(0), "evaluation": np.zeros(0)}, "no empty one"),
    ({"reference": np.zeros(5)}, "no dose: its maximum is 0 Gy"),
    ({"reference": np.full(5, -1.0)}, "no dose: its maximum is -1 Gy"),
    ({"reference": np.array(list("abcde"))}, "array of numbers"),
    ({"reference": LINE.astype(complex)}, "array of numbers"),
    ({"reference": np.ones((3, 1)), "evaluation": np.ones((3, 1)), "spacing": (1, 1)}, "two nodes along each axis"),
    ({"spacing": 0}, "1 positive lengths in mm"),
    ({"spacing": (1, 1)}, "1 positive lengths in mm"),
    ({"spacing": -1.0}, "1 positive lengths in mm"),
    ({"spacing": math.nan}, "1 positive lengths in mm"),
    ({"spacing": None}, "Give spacing, or axes"),
    ({"origin": (math.inf,)}, "origin must be 1 finite"),
    ({"axes": [np.arange(5)]}, "either axes, or spacing"),
    ({"spacing": None, "axes": [np.arange(4)]}, "one coordinate per node"),
    ({"spacing": None, "axes": [[0, 1, 1, 2, 3]]}, "ascend or descend"),
    ({"evaluation_axes": [[0, 1, 3, 2, 4]]}, r"evaluation_axes\[0\] must be finite and either ascend"),
    ({"evaluation_axes": [np.arange(5)], "evaluation_spacing": 1}, "either evaluation_axes, or evaluation_spacing"),
    ({"dose_percent": 0}, "dose_percent must be positive"),
    ({"distance_mm": -1}, "distance_mm must be positive"),
    ({"distance_mm": math.inf}, "distance_mm must be positive and finite"),
    ({"max_gamma": 0}, "max_gamma must be more than 1"),
    ({"max_gamma": 1}, "max_gamma must be more than 1, or every point of a map would pass, not 1"),
    ({"max_gamma": math.nan}, "max_gamma must be more than 1"),
    ({"reference": np.ma.masked_greater(LINE, 1.5)}, "reference is a masked array"),
    ({"evaluation": np.ma.masked_array(LINE)}, "evaluation is a masked array"),
    ({"mask": np.ma.masked_array(LINE > 1)}, "mask is a masked array"),
    ({"prescription": 2.0}, "prescription is only for cutoff_of='prescription', not for 'max'"),
    ({"prescription": 2.0, "cutoff_of": 1.0}, "prescription is only for cutoff_of='prescription', not for 1.0"),
    ({"cutoff_percent": -1}, "cutoff_percent must be 0 or more"),
    ({"cutoff_of": "prescription"}, "needs prescription"),
    ({"cutoff_of": "median"}, "or a dose in Gy, not 'median'"),
    ({"cutoff_of": 0.0}, "cutoff_of must be positive"),
    ({"normalisation": 3.0}, "a local gamma has no normalisation"),
    ({"normalisation": 0.0, "local": False}, "normalisation must be positive"),
    ({"sampler": "lattice"}, "shells, exact, not 'lattice'"),
    ({"uncovered": "ignore"}, "leave-out, fail, not 'ignore'"),
    ({"interpolation_steps": 0}, "interpolation_steps must be positive"),
    ({"threads": 0}, "threads must be a whole number of at least 1"),
    ({"threads": 1.5}, "threads must be a whole number of at least 1, or None for all cores, not 1.5"),
    ({"mask": np.ones(5)}, "booleans on the reference grid"),
    ({"mask": np.ones(4, bool)}, "booleans on the reference grid"),
]


@pytest.mark.parametrize(("arguments", "words"), BAD)
def test_impossible_questions_are_refused(arguments: dict[str, Any], words: str) -> None:
    sound: dict[str, Any] = {"reference": LINE, "evaluation": LINE, "spacing": 1.0, "dose_percent": 1, "distance_mm": 1}
    assert gamma_pass_rate(**sound) == 100
    with pytest.raises(ValueError, match=words):
        gamma_pass_rate(**sound | arguments)


def test_no_criteria_are_no_question() -> None:
    with pytest.raises(ValueError, match="at least one"):
        gamma_many(LINE, LINE, spacing=1.0, criteria=[])
    wrong: Any
    for wrong in ((1,), (1, 2, 3), 3):
        with pytest.raises(ValueError, match="criteria must be pairs of percent and mm, not "):
            gamma_many(LINE, LINE, spacing=1.0, criteria=[(1, 1), wrong])
    with pytest.raises(ValueError, match="distance_mm must be positive"):
        gamma_many(LINE, LINE, spacing=1.0, criteria=[(1, 1), (1, 0)])
