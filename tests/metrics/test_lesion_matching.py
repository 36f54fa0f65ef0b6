from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.optimize import linear_sum_assignment

from isocenter.metrics._blobs import lesions
from isocenter.metrics._candidates import candidates, case_likelihood
from isocenter.metrics._lesion_matching import (
    LesionRow,
    _largest_sum,
    _preference,
    by_score,
    match_lesions,
    most_pairs,
)

GOLDEN = Path(__file__).parents[1] / "golden" / "detection"
CONFIGS = json.loads((GOLDEN / "expected_volumes.json").read_text())["configs"]
EDGES = {
    scene["name"]: scene for scene in json.loads((GOLDEN / "expected_edge_cases.json").read_text())["single_cases"]
}
COCO = json.loads((GOLDEN / "expected_froc_peers.json").read_text())["coco_style_greedy_matching"]
PRESETS: list[Any] = ["picai", "strict", "score-first"]


@pytest.fixture(scope="module")
def volumes() -> Iterator[Any]:
    with np.load(GOLDEN / "volumes.npz") as arrays:
        yield {name: arrays[name] for name in arrays}


def options(args: dict[str, Any]) -> dict[str, Any]:
    """The peer's arguments in our words."""
    names = {"min_overlap": "min_overlap", "overlap_func": "overlap"}
    found: dict[str, Any] = {names[key]: value for key, value in args.items() if key in names}
    if "overlap" in found:
        found["overlap"] = {"DSC": "dice", "IoU": "iou", "dice": "DSC"}[found["overlap"]]
    found["keep_extras"] = not args.get("allow_unmatched_candidates_with_minimal_overlap", True)
    return found


def scene(*boxes: tuple[Any, float], shape: tuple[int, int, int] = (4, 16, 16)) -> np.ndarray:
    array = np.zeros(shape, np.float32)
    for box, value in boxes:
        array[box] = value
    return array


@pytest.mark.parametrize("name", [name for name, config in CONFIGS.items() if "lesion_results" in config])
def test_the_golden_rows_to_the_last_bit_and_in_the_same_order(name: str, volumes: Any) -> None:
    expected = CONFIGS[name]["lesion_results"]
    assert len(expected) == 46
    for case, rows in expected.items():
        found = match_lesions(volumes[f"{case}__det"], volumes[f"{case}__lab"], **options(CONFIGS[name]["args"]))
        assert found == [tuple(row) for row in rows], case


def test_a_subset_of_the_golden_cases_has_the_rows_of_the_whole(volumes: Any) -> None:
    config = CONFIGS["default_subset"]
    rows = [
        row
        for case in config["args"]["subject_list"]
        for row in match_lesions(volumes[f"{case}__det"], volumes[f"{case}__lab"])
    ]
    assert sum(row.is_lesion for row in rows) == config["num_lesions"]
    assert {row.confidence for row in rows} == set(config["thresholds"])


def test_rows_do_not_depend_on_how_the_voxels_lie_in_memory(volumes: Any) -> None:
    for case in CONFIGS["default"]["lesion_results"]:
        heat, label = volumes[f"{case}__det"], volumes[f"{case}__lab"]
        again = match_lesions(np.asfortranarray(heat.astype(np.float64)), np.asfortranarray(label.astype(np.int32)))
        assert again == match_lesions(heat, label), case


# Where the peer crashes, or takes what nobody meant: what we say instead.
REFUSED = {
    "negative_confidence": "has -0.1 at voxel .1, 20, 20., but a likelihood is not negative",
    "nan_confidence": "has nan at voxel .2, 5, 5.",
    "two_valued_blob": "0.8 at voxel .2, 5, 5. and 0.7",
    "touching_blobs_different_confidence": "0.7 at voxel .2, 5, 5. and 0.3 at voxel .2, 10, 5.",
    "float_label_half": "whole numbers, but 50 voxels do not: 0.5 at voxel .2, 5, 5.",
    "det_fewer_slices": r"shape \(6, 32, 32\), the label \(8, 32, 32\)",
    "det_fewer_slices_and_wider": r"shape \(6, 36, 36\), the label \(8, 32, 32\)",
    "det_more_slices": r"shape \(10, 32, 32\), the label \(8, 32, 32\)",
    "det_inplane_mismatch_positive": r"shape \(8, 30, 30\), the label \(8, 32, 32\)",
    "det_inplane_mismatch_benign": r"shape \(8, 30, 30\), the label \(8, 32, 32\)",
    "unknown_overlap": "'iou' or 'dice', not 'DSC'",
}


def edge(name: str) -> tuple[np.ndarray, np.ndarray]:
    arrays = []
    for side in ("det", "lab"):
        array = np.zeros(EDGES[name][f"{side}_shape"], np.float32 if side == "det" else np.float64)
        for z0, z1, y0, y1, x0, x1, value in EDGES[name][f"{side}_boxes"]:
            array[z0:z1, y0:y1, x0:x1] = float(value)
        arrays.append(array)
    return arrays[0], arrays[1]


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_bad_input_is_refused_in_words(name: str) -> None:
    with pytest.raises(ValueError, match=REFUSED[name]):
        match_lesions(*edge(name), **options(EDGES[name]["args"]))


@pytest.mark.parametrize("name", sorted(set(EDGES) - set(REFUSED) - {"min_overlap_zero"}))
def test_edge_cases_as_in_the_peer(name: str) -> None:
    heat, label = edge(name)
    assert match_lesions(heat, label) == [tuple(row) for row in EDGES[name]["peer"]["lesion_results"]]
    how: Any = EDGES[name]["args"].get("case_confidence_func", "max")
    assert case_likelihood(heat, how) == EDGES[name]["peer"]["case_confidence"]


@pytest.mark.parametrize("preset", PRESETS)
def test_an_overlap_of_zero_asks_for_a_common_voxel(preset: Any) -> None:
    found = match_lesions(*edge("min_overlap_zero"), preset=preset, min_overlap=0.0)
    assert found == [(1, float(np.float32(0.7)), 1.0), (0, float(np.float32(0.9)), 0.0)]


@pytest.mark.parametrize("preset", PRESETS)
def test_the_threshold_is_inclusive(preset: Any) -> None:
    label = scene((np.s_[1, 1, 1:11], 1))
    assert match_lesions(scene((np.s_[1, 1, 1], 0.5)), label, preset=preset) == [(1, 0.5, pytest.approx(0.1, abs=2e-9))]
    label[1, 2, 1] = 1  # 1/11
    assert match_lesions(scene((np.s_[1, 1, 1], 0.5)), label, preset=preset) == [(1, 0.0, 0.0), (0, 0.5, 0.0)]


def test_dice_and_iou_of_one_pair() -> None:
    heat, label = scene((np.s_[1, 1, :4], 0.5)), scene((np.s_[1, 1, :8], 1))
    assert match_lesions(heat, label, preset="strict") == [(1, 0.5, 0.5)]
    assert match_lesions(heat, label, preset="strict", overlap="dice") == [(1, 0.5, 8 / 12)]


def test_only_strict_takes_three_weak_pairs_over_two_good_ones(volumes: Any) -> None:
    heat, label = (volumes[f"x_three_feasible_two_best__{side}"] for side in ("det", "lab"))
    # The weakest of the three has 19 common voxels of 193, just below 0.1.
    found = {preset: match_lesions(heat, label, preset=preset, min_overlap=0.095) for preset in PRESETS}
    assert [sum(row.overlap > 0 for row in found[preset]) for preset in ("picai", "strict")] == [2, 3]
    assert [row.overlap for row in found["strict"]] == [19 / 193, 11 / 93, 11 / 101]


def test_of_two_equal_halves_strict_takes_the_likelier_on_either_side() -> None:
    label = scene((np.s_[1, 4, 2:9], 1))
    heat = scene((np.s_[1, 4, 2:5], 0.25), (np.s_[1, 4, 6:9], 0.75))
    sides = (heat, label), (heat[..., ::-1], label[..., ::-1])
    assert [match_lesions(*side, preset="strict") for side in sides] == [[(1, 0.75, 3 / 7)]] * 2
    assert [match_lesions(*side)[0].confidence for side in sides] == [0.25, 0.75]  # as in the peer: whichever is first


def test_overlap_comes_before_confidence_but_in_score_first() -> None:
    label = scene((np.s_[1, 4, 2:9], 1))
    heat = scene((np.s_[1, 4, 2:4], 0.75), (np.s_[1, 4, 5:9], 0.25))
    found = {preset: match_lesions(heat, label, preset=preset) for preset in PRESETS}
    assert [found[preset][0].confidence for preset in PRESETS] == [0.25, 0.25, 0.75]
    assert [len(rows) for rows in found.values()] == [1, 1, 1]
    assert match_lesions(heat, label, preset="score-first", keep_extras=True)[1:] == [(0, 0.25, 0.0)]


def test_of_equal_confidences_the_larger_overlap_comes_first() -> None:
    # Both candidates hit the first lesion; the second candidate, which overlaps it most, also hits the other one.
    overlaps = np.array([[0.2, 0.6], [0.0, 0.3]])
    assert by_score(overlaps > 0, overlaps, np.array([0.5, 0.5])) == [(0, 1)]
    assert by_score(overlaps > 0, overlaps, np.array([0.6, 0.5])) == [(0, 0), (1, 1)]
    mirrored = by_score(overlaps[:, ::-1] > 0, overlaps[:, ::-1], np.array([0.5, 0.5]))
    assert mirrored == [(0, 0)]


@pytest.mark.parametrize("number", range(len(COCO)))
def test_score_first_pairs_as_coco_does(number: int) -> None:
    golden = COCO[number]
    scores = np.array(golden["scores"])
    overlaps = np.array(golden["iou_pred_by_gt"]).T
    for threshold, candidates_hit, lesions_hit in zip(
        golden["iou_thresholds"], golden["dt_matches_sorted"], golden["gt_matches"], strict=True
    ):
        pairs = by_score(overlaps >= threshold, overlaps, scores)
        assert [float(j in dict(pairs).values()) for j in golden["order"]] == candidates_hit
        assert [float(i in dict(pairs)) for i in range(len(overlaps))] == lesions_hit


@given(
    hnp.arrays(float, st.tuples(st.integers(1, 4), st.integers(1, 4)), elements=st.sampled_from([0, 0.1, 0.3, 0.9, 1]))
)
@settings(deadline=None)
def test_strict_pairs_are_the_most_and_then_the_best(overlaps: np.ndarray) -> None:
    rows, columns = overlaps.shape
    choices = itertools.product([None, *range(columns)], repeat=rows)
    best = (0, 0.0)
    for choice in choices:
        pairs = [(i, j) for i, j in enumerate(choice) if j is not None and overlaps[i, j] > 0]
        if len({j for _, j in pairs}) == len(pairs):
            best = max(best, (len(pairs), round(sum(overlaps[p] for p in pairs), 9)))
    pairs = most_pairs(overlaps > 0, overlaps, preference=np.ones_like(overlaps))
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert (len(pairs), round(sum(overlaps[p] for p in pairs), 9)) == best


def test_of_equal_sums_the_partners_do_not_depend_on_the_order() -> None:
    overlaps, confidences = np.array([[0.5, 0.4], [0.4, 0.3]]), np.array([0.25, 0.75])
    found = []
    for rows, columns in itertools.product(([0, 1], [1, 0]), repeat=2):
        turned, scores = overlaps[rows][:, columns], confidences[columns]
        pairs = most_pairs(turned > 0, turned, preference=_preference(scores, turned))
        found.append(sorted((scores[j], turned[i, j]) for i, j in pairs))
    assert found == [[(0.25, 0.4), (0.75, 0.4)]] * 4


boxes = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 6), st.integers(0, 6), st.integers(1, 4), st.integers(1, 4))
)


def drawn(spots: list[tuple[int, ...]], values: list[float]) -> np.ndarray:
    array = np.zeros((3, 8, 8), np.float32)
    for (z, y, x, height, width), value in zip(spots, itertools.cycle(values), strict=False):
        around = array[max(0, z - 1) : z + 2, max(0, y - 1) : y + height + 1, max(0, x - 1) : x + width + 1]
        if not around.any():
            array[z, y : y + height, x : x + width] = value
    return array


@given(boxes, boxes, st.booleans())
@settings(deadline=None, max_examples=200)
def test_strict_rows_are_the_same_in_every_mirror(lesion_boxes: Any, candidate_boxes: Any, keep_extras: bool) -> None:
    label, heat = drawn(lesion_boxes, [1.0]).astype(np.uint8), drawn(candidate_boxes, [0.25, 0.5, 0.75, 0.5])
    kept: dict[str, Any] = {"preset": "strict", "min_overlap": 0.05, "keep_extras": keep_extras}
    expected = sorted(match_lesions(heat, label, **kept))
    for axes in itertools.chain.from_iterable(itertools.combinations(range(3), n) for n in (1, 2, 3)):
        assert sorted(match_lesions(np.flip(heat, axes), np.flip(label, axes), **kept)) == expected
    assert sorted(match_lesions(heat.T, label.T, **kept)) == expected


@given(boxes, boxes, st.sampled_from(PRESETS))
@settings(deadline=None)
def test_every_lesion_is_a_row_and_every_candidate_is_matched_false_or_an_extra(
    lesion_boxes: Any, candidate_boxes: Any, preset: Any
) -> None:
    truth, found = lesions(drawn(lesion_boxes, [1.0])), candidates(drawn(candidate_boxes, [0.25, 0.5]))
    rows = match_lesions(found, truth, preset=preset)
    assert sum(row.is_lesion for row in rows) == truth.count
    all_rows = match_lesions(found, truth, preset=preset, keep_extras=True)
    assert sum(row.confidence > 0 for row in all_rows) == found.blobs.count
    assert [row for row in all_rows if row.is_lesion] == [row for row in rows if row.is_lesion]


def test_prepared_lesions_and_candidates_give_the_same_rows(volumes: Any) -> None:
    heat, label = volumes["r_00__det"], volumes["r_00__lab"]
    assert match_lesions(candidates(heat), lesions(label)) == match_lesions(heat, label)
    with pytest.raises(ValueError, match=r"shape \(16, 64, 64\), the label \(4, 16, 16\)"):
        match_lesions(candidates(heat), lesions(scene()))


def test_a_case_without_anything_has_no_rows_and_one_without_lesions_only_false_positives() -> None:
    heat = scene((np.s_[1, 1, 1], 0.5))
    for preset in PRESETS:
        assert match_lesions(scene(), scene(), preset=preset) == []
        assert match_lesions(heat, scene(), preset=preset) == [LesionRow(0, 0.5, 0.0)]
        assert match_lesions(scene(), heat > 0, preset=preset) == [LesionRow(1, 0.0, 0.0)]


def test_connectivity_reaches_lesions_and_candidates() -> None:
    both = scene((np.s_[1, 1, 1], 0.5), (np.s_[2, 2, 2], 0.5))
    assert len(match_lesions(both, both > 0)) == 1
    assert len(match_lesions(both, both > 0, connectivity=18)) == 2


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"preset": "coco"}, "'picai', 'strict' or 'score-first', not 'coco'"),
        ({"min_overlap": 10}, "between 0 and 1, not at 10"),
        ({"min_overlap": float("nan")}, "between 0 and 1, not at nan"),
    ],
)
def test_impossible_choices_are_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        match_lesions(scene(), scene(), **wrong)


def test_strict_refuses_what_only_the_peer_lets_pass(volumes: Any) -> None:
    for case in ("x_confidence_above_one", "x_non_uniform_blob_passes_check"):
        with pytest.raises(ValueError, match="are not candidates: component 1"):
            match_lesions(volumes[f"{case}__det"], volumes[f"{case}__lab"], preset="strict")


def test_pairs_without_a_choice_are_those_of_the_assignment() -> None:
    rng = np.random.default_rng(5)
    for _ in range(300):
        weight = np.where(rng.random(rng.integers(0, 6, 2)) < 0.2, rng.integers(1, 4, 1) + rng.random(), 0.0)
        rows, columns = linear_sum_assignment(weight, maximize=True)
        expected = [(i, j) for i, j in zip(rows.tolist(), columns.tolist(), strict=True) if weight[i, j]]
        assert sorted(_largest_sum(weight)) == sorted(expected)
