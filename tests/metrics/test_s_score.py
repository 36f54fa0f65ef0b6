"""The S-score: golden numbers, what it promises, and what its printed formula does instead."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from isocenter.metrics import Overlap, count_overlap, jaccard, s_score, s_score_of
from isocenter.metrics._s_score import V0, Variant
from isocenter.volumes import read

GOLDEN = Path(__file__).parents[1] / "golden" / "segmentation"
PAIRS = sorted(path.name[5:-13] for path in GOLDEN.glob("pair_*_truth.nii.gz"))
KEYS: dict[Variant, str] = {"corrected": "fn_over_tp_plus_fp", "printed": "printed", "jaccard": "jaccard_form"}

Pair = tuple[np.ndarray, np.ndarray]
pairs = hnp.array_shapes(min_dims=3, max_dims=3, max_side=4).flatmap(
    lambda shape: st.tuples(hnp.arrays(bool, shape).filter(np.any), hnp.arrays(bool, shape))
)
spacings = st.tuples(*[st.floats(0.1, 10)] * 3)
counts = st.builds(Overlap, *[st.integers(1, 10**6)] * 3)
volumes = st.floats(0.001, 1000)


def test_there_are_three_variants_and_no_other() -> None:
    assert set(get_args(Variant)) == set(KEYS)
    with pytest.raises(ValueError, match="corrected, printed and jaccard, not 'mak'"):
        s_score(np.ones((1, 1, 1), bool), np.ones((1, 1, 1), bool), spacing=(1, 1, 1), variant="mak")  # type: ignore[arg-type]


@pytest.mark.parametrize("variant", KEYS)
@pytest.mark.parametrize("pair", PAIRS)
def test_golden_pairs(pair: str, variant: Variant, golden_segmentation: dict[str, Any]) -> None:
    expected = golden_segmentation["pairs"][pair]["derived_s_score"]
    truth, prediction = (read(GOLDEN / f"pair_{pair}_{side}.nii.gz") for side in ("truth", "pred"))
    masks, score = (truth.array > 0, prediction.array > 0), float(expected[KEYS[variant]])
    spacing = golden_segmentation["spacing_xyz"]
    assert s_score(*masks, spacing=spacing, variant=variant) == pytest.approx(score, abs=1e-12, nan_ok=True)
    # An oblique grid in a NIfTI file has its spacing in single precision.
    in_file = s_score(*masks, spacing=truth.grid.spacing, variant=variant)
    assert in_file == pytest.approx(score, abs=1e-8, nan_ok=True)


def test_sixteen_golden_pairs_are_there() -> None:
    assert len(PAIRS) == 16


def test_the_scale_is_a_sphere_of_thirty_millimetres() -> None:
    assert pytest.approx(113_097.335529, abs=1e-6) == V0
    # A tumour of that volume with nothing but truth left out: the exponent is −E/V.
    half = Overlap(tp=500, fp=0, fn=500)
    assert s_score_of(half, voxel_volume=V0 / 1000) == pytest.approx(math.exp(-1), rel=1e-15)


@given(pairs, spacings)
def test_s_is_one_exactly_for_equal_masks_and_between_0_and_1_otherwise(pair: Pair, spacing: Any) -> None:
    score = s_score(*pair, spacing=spacing)
    assert 0 <= score <= 1
    assert (score == 1) == np.array_equal(*pair)


@given(pairs, spacings)
def test_no_overlap_scores_zero_and_any_overlap_more(pair: Pair, spacing: Any) -> None:
    assert (s_score(*pair, spacing=spacing) > 0) == bool((pair[0] & pair[1]).any())


def test_an_empty_truth_has_no_score() -> None:
    empty, full = np.zeros((2, 2, 2), bool), np.ones((2, 2, 2), bool)
    for variant in KEYS:
        assert math.isnan(s_score(empty, full, spacing=(1, 1, 1), variant=variant))
        assert math.isnan(s_score(empty, empty, spacing=(1, 1, 1), variant=variant))
        assert s_score(full, empty, spacing=(1, 1, 1), variant=variant) == 0


@given(counts, volumes)
def test_the_variants_agree_where_only_truth_was_predicted(overlap: Overlap, voxel: float) -> None:
    under = Overlap(overlap.tp, 0, overlap.fn)
    scores = [s_score_of(under, voxel_volume=voxel, variant=variant) for variant in KEYS]
    assert scores == pytest.approx([scores[0]] * 3, rel=1e-12)


@given(counts, volumes)
def test_two_variants_agree_where_all_of_the_truth_was_predicted(overlap: Overlap, voxel: float) -> None:
    over = Overlap(overlap.tp, overlap.fp, 0)
    corrected, printed, jaccard_form = (s_score_of(over, voxel_volume=voxel, variant=variant) for variant in KEYS)
    assert corrected == pytest.approx(jaccard_form, rel=1e-12)
    assert corrected < 1
    # The misprint: a prediction may swallow the whole lung and is perfect.
    assert printed == 1


@given(counts, volumes)
def test_of_mixed_errors_the_jaccard_form_is_the_strictest(overlap: Overlap, voxel: float) -> None:
    corrected, _, jaccard_form = (s_score_of(overlap, voxel_volume=voxel, variant=variant) for variant in KEYS)
    assert jaccard_form <= corrected


@given(pairs, spacings)
def test_the_jaccard_form_is_a_function_of_jaccard_and_volume(pair: Pair, spacing: Any) -> None:
    index, volume = jaccard(*pair), np.count_nonzero(pair[0]) * math.prod(spacing)
    expected = math.exp(-(1 / index - 1) / 2 * (1 + (volume / V0) ** (1 / 3))) if index else 0.0
    assert s_score(*pair, spacing=spacing, variant="jaccard") == pytest.approx(expected, rel=1e-9)


def test_the_printed_formula_forgives_a_miss() -> None:
    """Masks that do not touch: the text says that the error diverges, its formula that it is finite."""
    truth, prediction = np.zeros((4, 1, 1), bool), np.zeros((4, 1, 1), bool)
    truth[0], prediction[2:] = True, True
    assert s_score(truth, prediction, spacing=(1, 1, 1), variant="printed") > 0.7
    for variant in ("corrected", "jaccard"):
        assert s_score(truth, prediction, spacing=(1, 1, 1), variant=variant) == 0


@given(counts, volumes, st.floats(1.01, 100))
def test_the_same_relative_error_costs_more_in_a_larger_tumour(overlap: Overlap, voxel: float, larger: float) -> None:
    small = s_score_of(overlap, voxel_volume=voxel)
    large = s_score_of(overlap, voxel_volume=voxel * larger)
    assert large < small or small == 0


@given(counts, volumes)
def test_truth_left_out_weighs_more_than_background_let_in(overlap: Overlap, voxel: float) -> None:
    left_out = s_score_of(Overlap(overlap.tp, 0, overlap.fn), voxel_volume=voxel)
    volume = overlap.tp + overlap.fn
    let_in = s_score_of(Overlap(volume, overlap.fn, 0), voxel_volume=voxel)  # the same truth, and as many voxels wrong
    assert left_out < let_in or left_out == 0


@given(pairs, spacings)
def test_masks_and_their_counts_score_the_same(pair: Pair, spacing: Any) -> None:
    for variant in KEYS:
        of_counts = s_score_of(count_overlap(*pair), voxel_volume=math.prod(spacing), variant=variant)
        assert s_score(*pair, spacing=spacing, variant=variant) == of_counts


@given(pairs, spacings)
def test_spacing_follows_the_axes_of_the_arrays(pair: Pair, spacing: Any) -> None:
    turned = s_score(*(np.transpose(mask) for mask in pair), spacing=spacing[::-1])
    assert turned == pytest.approx(s_score(*pair, spacing=spacing), rel=1e-12)


@pytest.mark.parametrize("spacing", [(1, 1), (1, 1, 0), (1, 1, -3), (1, 1, math.inf), (1, math.nan, 1), (1, 1, 1, 1)])
def test_a_spacing_is_one_positive_length_per_axis(spacing: Any) -> None:
    mask = np.ones((2, 2, 2), bool)
    with pytest.raises(ValueError, match="3 positive numbers of mm"):
        s_score(mask, mask, spacing=spacing)
