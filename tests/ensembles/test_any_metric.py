"""Ensembles and agreement by any metric of two masks: distances are measured on the masks, in mm; lower is better."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from isocenter import ensembles, metrics, scores
from isocenter.cli import app
from isocenter.ensembles import CaseVotes, EnsembleError, Masks, Roll, Turnout, Votes, count_patterns, pack
from isocenter.metrics import Metric, catalogue
from isocenter.volumes import Grid, Volume, write

SPACING = (1.0, 2.0, 4.0)
TEAMS = ("a", "b", "c", "d")
Array = np.ndarray[Any, np.dtype[np.bool_]]


def ball(centre: tuple[float, float, float], radius: float, shape: tuple[int, int, int] = (30, 20, 12)) -> Array:
    grid = np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1) * SPACING
    return np.asarray(((grid - np.array(centre)) ** 2).sum(axis=-1) <= radius**2)


def drawn_masks(seed: int = 8, cases: int = 3) -> dict[str, tuple[Array, dict[str, Array]]]:
    """Blobs that are moved and have false specks far away, so that overlap and distance prefer different ensembles."""
    rng = np.random.default_rng(seed)
    found = {}
    for number in range(cases):
        truth = ball((14, 18, 22), 8 + number)
        masks = {}
        for team in TEAMS:
            mask = ball(tuple(np.array([14, 18, 22]) + rng.normal(0, 2, 3)), 8 + number + rng.normal(0, 1))
            if rng.random() < 0.5:
                mask[rng.integers(0, 4), rng.integers(0, 3), rng.integers(0, 3)] = True
            masks[team] = mask
        found[f"p{number}"] = (truth, masks)
    return found


MASKS = drawn_masks()


def votes_on(
    cases: Mapping[str, tuple[Array, Mapping[str, Array]]], *, keep: bool = True, tolerance: float | None = None
) -> Votes:
    found = []
    for case, (truth, masks) in cases.items():
        ballots = {name: pack(mask) for name, mask in masks.items()}
        patterns = count_patterns(ballots, pack(truth), voxel_volume=math.prod(SPACING))
        kept = Masks({**ballots, ensembles.REFERENCE: pack(truth)}, SPACING, tolerance) if keep else None
        roll = Roll(states=dict.fromkeys(masks, "voted"))
        found.append(CaseVotes(case, 1.0, patterns, roll, kept))
    return Votes(found[0].patterns.voters, tuple(found), Turnout({}, {}, ()))


def plain(truth: Array, mask: Array, metric: str, tolerance: float | None = None) -> float:
    """The oracle: the public function on whole arrays."""
    return metrics.surface_scores(truth, mask, [metric], spacing=SPACING, tolerance_mm=tolerance)[metric]


@pytest.mark.parametrize("metric", ["hd95", "assd", "hd_boundary", "asd_truth_to_prediction"])
def test_every_ensemble_is_painted_and_measured_with_the_spacing_of_the_grid(metric: str) -> None:
    votes = votes_on(MASKS)
    means = ensembles.mean_scores(votes, metric=metric)
    for rule, mean in zip(ensembles.every_ensemble(TEAMS), means, strict=True):
        values = [
            plain(truth, np.sum([masks[team] for team in rule.members], axis=0) >= rule.threshold, metric)
            for truth, masks in MASKS.values()
        ]
        assert mean == pytest.approx(np.mean(values), rel=1e-12)


def test_the_best_ensemble_by_a_distance_is_the_lowest() -> None:
    votes = votes_on(MASKS)
    means = ensembles.mean_scores(votes, metric="hd95")
    assert ensembles.select(votes, metric="hd95").mean == pytest.approx(means.min())
    assert ensembles.select(votes, metric="dice").mean == pytest.approx(
        ensembles.mean_scores(votes, metric="dice").max()
    )
    oracle = ensembles.oracle_table(votes, metrics=["hd95", "dice"])
    limit = oracle.filter(submission=ensembles.ORACLE_ENSEMBLE, metric="hd95")["value"].mean()
    assert limit <= means.min()
    table = ensembles.score_table(votes, metrics=["hd95"])
    assert (
        table.filter(case="p0")["value"].min()
        == oracle.filter(submission=ensembles.ORACLE_ENSEMBLE, case="p0")["value"][0]
    )


def test_surface_dice_takes_a_tolerance_and_none_is_guessed() -> None:
    votes = votes_on(MASKS, tolerance=2.0)
    truth, masks = MASKS["p1"]
    found = ensembles.score_table(votes, [ensembles.Ensemble(("a",), 1)], metrics=["nsd"]).filter(case="p1")["value"][0]
    assert found == pytest.approx(plain(truth, masks["a"], "nsd", 2.0))
    with pytest.raises(EnsembleError, match="nsd is the share of the surfaces within a tolerance"):
        ensembles.mean_scores(votes_on(MASKS), metric="nsd")


def test_pairs_are_measured_both_ways_and_the_hardest_case_is_the_farthest() -> None:
    votes = votes_on(MASKS)
    found = ensembles.pairwise(votes, metric="asd_truth_to_prediction", reference=True)
    names = ("reference", *TEAMS)
    for c, (truth, masks) in enumerate(MASKS.values()):
        every = {"reference": truth, **masks}
        for (i, a), (j, b) in product(enumerate(names), repeat=2):
            expected = plain(every[a], every[b], "asd_truth_to_prediction")
            assert found.per_case[c, i, j] == pytest.approx(expected)
    hardest = ensembles.case_difficulty(votes, metric="hd95")
    means = [one.mean for one in hardest if one.mean is not None]
    assert means == sorted(means, reverse=True)
    easiest = ensembles.case_difficulty(votes, metric="dice")
    assert [one.mean for one in easiest] == sorted(one.mean for one in easiest if one.mean is not None)


def test_an_empty_mask_is_infinitely_far_and_never_the_best_and_leaves_no_mean_of_pairs() -> None:
    nothing = np.zeros_like(MASKS["p0"][0])
    cases = {case: (truth, {**masks, "d": nothing}) for case, (truth, masks) in MASKS.items()}
    votes = votes_on(cases)
    assert ensembles.mean_of(votes, ensembles.Ensemble(("d",), 1), metric="hd95") == math.inf
    assert "d" not in ensembles.select(votes, metric="hd95").ensemble.members
    found = ensembles.pairwise(votes, metric="hd95")
    at = found.names.index("d")
    assert math.isnan(found.mean[0, at])
    assert found.undefined[0, at] == 3
    assert found.mean[at, at] == 0  # two empty masks agree
    all_empty = votes_on({"p0": (nothing, dict.fromkeys(TEAMS, nothing))})
    assert ensembles.mean_scores(all_empty, metric="hd95").tolist() == [0.0] * 32


def test_more_ensembles_than_can_be_painted_are_refused_with_a_way_out() -> None:
    many = {f"t{at}": MASKS["p0"][1]["a"] for at in range(7)}
    votes = votes_on({"p0": (MASKS["p0"][0], many)})
    with pytest.raises(
        EnsembleError, match="7 submissions have 448, more than 200: name fewer submissions, one ensemble"
    ):
        ensembles.select(votes, metric="hd95")
    assert ensembles.select(votes, metric="dice").candidates == 448
    majority = ensembles.majority(votes.voters)
    expected = plain(MASKS["p0"][0], MASKS["p0"][1]["a"], "hd95")
    assert ensembles.mean_of(votes, majority, metric="hd95") == pytest.approx(expected)


def test_what_was_measured_ahead_in_other_threads_is_the_same() -> None:
    one, many = votes_on(MASKS), votes_on(MASKS)
    with ThreadPoolExecutor(2) as pool:
        ensembles.measure_votes(many, ["hd95"], executor=pool)
        ensembles.measure_votes(many, ["hd95"], pairs=[("a", "b")], executor=pool)
    assert (ensembles.mean_scores(many, metric="hd95") == ensembles.mean_scores(one, metric="hd95")).all()
    assert ensembles.pairwise(many, metric="hd95").mean[0, 1] == ensembles.pairwise(one, metric="hd95").mean[0, 1]


def test_without_the_masks_a_distance_is_refused() -> None:
    with pytest.raises(EnsembleError, match=r"hd95 is not made of overlap counts.*keep_masks"):
        ensembles.select(votes_on(MASKS, keep=False), metric="hd95")


def test_a_metric_of_another_package_is_measured_once_it_is_registered() -> None:
    name = "test_volume_gap"
    catalogue.register(Metric(name, "ml", "lower", (0.0, math.inf), 2, "for tests"))
    with pytest.raises(EnsembleError, match="test_volume_gap is not a metric of two masks; those are dice, jaccard"):
        ensembles.select(votes_on(MASKS), metric=name)

    def gap(truth: Array, mask: Array, spacing: tuple[float, float, float]) -> float:
        return abs(int(truth.sum()) - int(mask.sum())) * math.prod(spacing) / 1000

    metrics.register_mask_metric(name, gap)
    chosen = ensembles.select(votes_on(MASKS), metric=name)
    by_hand = [
        gap(t, np.sum([m[x] for x in chosen.ensemble.members], axis=0) >= chosen.ensemble.threshold, SPACING)
        for t, m in MASKS.values()
    ]
    assert chosen.mean == pytest.approx(np.mean(by_hand))
    with pytest.raises(ValueError, match="already a function"):
        metrics.register_mask_metric("hd95", gap)
    with pytest.raises(KeyError, match="unknown metric"):
        metrics.register_mask_metric("test_unheard_of", gap)


def test_measured_by_name_equals_the_functions() -> None:
    truth, masks = MASKS["p2"]
    found = metrics.measure_masks(truth, masks["b"], ["recall", "hd95", "s_score", "dice"], spacing=SPACING)
    assert [*found] == ["recall", "hd95", "s_score", "dice"]
    assert found["dice"] == metrics.dice(truth, masks["b"])
    assert found["recall"] == metrics.recall(truth, masks["b"])
    assert found["s_score"] == metrics.s_score(truth, masks["b"], spacing=SPACING)
    assert found["hd95"] == metrics.hausdorff_distance(truth, masks["b"], spacing=SPACING)
    with pytest.raises(ValueError, match="dose_error is not a function of two masks"):
        metrics.measure_masks(truth, truth, ["dose_error"], spacing=SPACING)


# The commands.


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200"})


@pytest.fixture
def cohort(tmp_path: Path) -> list[Any]:
    grid = Grid((30, 20, 12), SPACING)
    for case, (truth, masks) in MASKS.items():
        for folder, mask in {"reference": truth, **masks}.items():
            (tmp_path / folder).mkdir(exist_ok=True)
            write(Volume(mask.astype(np.uint8), grid), tmp_path / folder / f"{case}.nii.gz")
    return ["hecktor2020", "--reference", tmp_path / "reference", *(f"{team}={tmp_path / team}" for team in TEAMS)]


def test_the_command_chooses_the_ensemble_with_the_lowest_distance(cohort: list[Any], tmp_path: Path) -> None:
    out = tmp_path / "table.parquet"
    found = run("ensemble", *cohort, "--metric", "hd95", "--json", "--out", out)
    assert found.exit_code == 0, found.output
    data = json.loads(found.stdout)
    best = ensembles.select(votes_on(MASKS), metric="hd95")
    assert data["chosen"] == str(best.ensemble)
    assert data["combinations"][0]["hd95"] == pytest.approx(best.mean)
    binary = [line for line in data["combinations"] if "hierarchical" not in str(line)]
    assert min(line["hd95"] for line in binary) == data["combinations"][0]["hd95"]
    assert {"dice", "hd95"} <= set(data["combinations"][0])  # what costs nothing stands beside it
    assert set(scores.read(out)["metric"]) >= {"hd95", "dice"}
    for method in ("majority", "hierarchical", "best-case", "staple"):
        severity = ("--severity", "nodes,tumour") if method == "hierarchical" else ()
        one = run("ensemble", *cohort, "--metric", "hd95", "--method", method, *severity)
        assert one.exit_code == 0, one.output
        assert "hd95 ↓" in one.stdout


def test_agreement_is_of_the_metric_that_was_asked_for(cohort: list[Any]) -> None:
    found = json.loads(run("agreement", *cohort, "--metric", "nsd", "--tolerance", "2", "--json").stdout)
    assert found["metric"] == "nsd"
    assert found["policies"]["tolerance_mm"] == 2
    expected = np.mean([plain(truth, masks["b"], "nsd", 2.0) for truth, masks in MASKS.values()])
    assert found["mean"][0][found["names"].index("b")] == pytest.approx(expected)
    shown = run("agreement", *cohort, "--metric", "hd95_boundary")
    assert "mean hd95_boundary ↓ over 3 cases" in shown.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--metric", "dose_error"], "dose_error is not a metric of two masks; those are dice, jaccard"),
        (["--metric", "nsd"], "within a tolerance, which has to be named"),
    ],
)
@pytest.mark.parametrize("command", ["agreement", "ensemble"])
def test_a_metric_that_cannot_be_measured_is_refused_before_anything_is_read(
    cohort: list[Any], command: str, options: list[str], message: str
) -> None:
    found = run(command, *cohort, *options)
    assert found.exit_code == 2
    assert message in " ".join(found.output.replace("│", " ").split())
