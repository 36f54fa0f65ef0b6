"""An ensemble is chosen on validation cases and confirmed on a holdout, never the other way round."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from isocenter.ensembles import (
    Ensemble,
    EnsembleError,
    _select,
    best_of,
    confirm,
    every_ensemble,
    mean_of,
    mean_scores,
    select,
)
from isocenter.metrics import dice, s_score

Row = Callable[..., np.ndarray]


def random_cases(seed: int, *, cases: int = 4, voters: int = 4) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    found = {}
    for case in range(cases):
        truth = rng.random((6, 5, 4)) < 0.4
        flip = rng.uniform(0.05, 0.4, voters)
        found[f"{seed}-{case}"] = (truth, {f"v{i}": truth ^ (rng.random(truth.shape) < f) for i, f in enumerate(flip)})
    return found


def plain_mean(cases: dict[str, Any], ensemble: Ensemble, weights: dict[str, float] | None = None) -> float:
    total, norm = 0.0, 0.0
    for case, (truth, masks) in cases.items():
        mask = sum(masks[member].astype(int) for member in ensemble.members) >= ensemble.threshold
        weight = (weights or {}).get(case, 1.0)
        total, norm = total + weight * dice(truth, mask), norm + weight
    return total / norm


@pytest.mark.parametrize("seed", range(5))
def test_the_best_by_the_mean_over_cases_is_chosen(votes_of: Any, seed: int) -> None:
    cases = random_cases(seed)
    choice = select(votes_of(cases), metric="dice")
    means = {ensemble: plain_mean(cases, ensemble) for ensemble in every_ensemble([f"v{i}" for i in range(4)])}
    assert choice.mean == pytest.approx(max(means.values()))
    assert means[choice.ensemble] == pytest.approx(max(means.values()))
    assert choice.candidates == 32


def test_means_of_all_ensembles_use_the_weights_of_cases(votes_of: Any) -> None:
    cases, weights = random_cases(1), {"1-0": 3.0, "1-2": 0.5}
    votes = votes_of(cases, weights=weights)
    means = mean_scores(votes, metric="dice")
    for mean, ensemble in zip(means.tolist(), every_ensemble(votes.voters), strict=True):
        assert mean == pytest.approx(plain_mean(cases, ensemble, weights))
        assert mean == pytest.approx(mean_of(votes, ensemble, metric="dice"), rel=1e-14)


def test_the_metric_decides(votes_of: Any, row: Row) -> None:
    """a misses two voxels of four and adds none, b finds all and adds five: Dice likes a, recall b."""
    votes = votes_of({"c": (row(0, 1, 2, 3), {"a": row(0, 1), "b": ~row(9)})})
    assert str(select(votes, metric="dice").ensemble) == "1of(a)"
    assert str(select(votes, metric="recall").ensemble) == "1of(b)"
    expected = s_score(row(0, 1, 2, 3), row(0, 1), spacing=(1, 1, 1))
    assert select(votes, metric="s_score").mean == pytest.approx(expected)


def test_of_equals_the_smaller_then_the_stricter_then_the_first_by_name(votes_of: Any, row: Row) -> None:
    truth = row(0, 1)
    same = {"a": truth, "b": truth, "c": truth}
    for names in itertools.permutations(same):  # whoever is named first
        assert str(select(votes_of({"c": (truth, {n: same[n] for n in names})}), metric="dice").ensemble) == "1of(a)"
    # Any pair is better than one alone, and both thresholds of a pair are equal where b and c agree.
    masks = {"a": row(0, 5), "b": row(0, 1, 5), "c": row(0, 1, 6)}
    choice = select(votes_of({"c": (truth, masks)}), metric="dice")
    assert str(choice.ensemble) == "2of(b,c)"
    pairs = {"a": row(0), "b": row(1), "x": row(0), "y": row(1)}
    assert str(select(votes_of({"c": (truth, pairs)}), metric="dice").ensemble) == "1of(a,b)"


def test_equality_is_up_to_rounding_and_only_with_the_best(
    votes_of: Any, row: Row, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A mean that is larger in its last bit must not decide; and what is near the next best is not near the best."""
    votes = votes_of({"c": (row(0, 1), {"a": row(1, 2), "b": row(1, 3)})})
    means = np.array([0.3, np.nextafter(0.3, 1), 0.3 - 1e-6, 0.3 - 2e-6])
    monkeypatch.setattr(_select, "mean_scores", lambda *_, **__: means)
    assert [str(one.ensemble) for one in best_of(votes, metric="dice", most=4)] == [
        "1of(a)", "1of(b)", "2of(a,b)", "1of(a,b)",
    ]  # fmt: skip
    monkeypatch.setattr(_select, "mean_scores", lambda *_, **__: means[::-1])
    assert [str(one.ensemble) for one in best_of(votes, metric="dice", most=4)] == [
        "2of(a,b)", "1of(a,b)", "1of(b)", "1of(a)",
    ]  # fmt: skip


def test_one_submission_alone_can_be_chosen(votes_of: Any, row: Row) -> None:
    choice = select(votes_of({"c": (row(0, 1), {"a": row(1, 2)})}), metric="dice")
    assert (str(choice.ensemble), choice.candidates, choice.mean) == ("1of(a)", 1, 0.5)


def test_empty_and_full_masks_can_be_chosen(votes_of: Any, row: Row) -> None:
    full = votes_of({"c": (~row(), {"a": ~row(), "b": row()})})
    assert str(select(full, metric="dice").ensemble) == "1of(a)"
    empty = votes_of({"c": (row(), {"a": ~row(), "b": row()})})
    assert (str(select(empty, metric="dice").ensemble), select(empty, metric="dice").mean) == ("1of(b)", 1.0)


def test_the_choice_is_confirmed_on_other_cases(votes_of: Any) -> None:
    validation, holdout = random_cases(1), random_cases(2)
    choice = select(votes_of(validation), metric="dice")
    confirmation = confirm(choice, votes_of(holdout, holdout=True))
    assert confirmation.mean == pytest.approx(plain_mean(holdout, choice.ensemble))
    assert (confirmation.choice, confirmation.cases) == (choice, 4)


def test_nothing_is_chosen_on_a_holdout(votes_of: Any) -> None:
    with pytest.raises(EnsembleError, match="holdout"):
        select(votes_of(random_cases(1), holdout=True), metric="dice")
    with pytest.raises(EnsembleError, match="holdout"):
        best_of(votes_of(random_cases(1), holdout=True), metric="dice", most=3)


def test_nothing_is_confirmed_on_cases_that_had_a_part_in_the_choice(votes_of: Any) -> None:
    cases = random_cases(1)
    choice = select(votes_of(cases), metric="dice")
    with pytest.raises(EnsembleError, match="counted as a holdout"):
        confirm(choice, votes_of(random_cases(2)))
    renamed = {"new": random_cases(2)["2-0"], "patient-x": cases["1-3"]}
    with pytest.raises(EnsembleError, match="chosen on patient-x; that confirms nothing"):
        confirm(choice, votes_of(renamed, holdout=True))
    # The same names on other patients are other cases, and an empty truth is nobody's.
    others = dict(zip(cases, random_cases(3).values(), strict=True))
    assert confirm(choice, votes_of(others, holdout=True)).cases == 4


def test_two_empty_truths_are_not_one_case(votes_of: Any, row: Row) -> None:
    masks = {"a": row(), "b": row(1)}
    choice = select(votes_of({"c": (row(), masks)}), metric="dice")
    assert confirm(choice, votes_of({"d": (row(), masks)}, holdout=True)).mean == 1.0


def test_a_metric_that_is_undefined_somewhere_chooses_nothing(votes_of: Any, row: Row) -> None:
    cases = {"good": (row(1), {"a": row(1)}), "empty": (row(), {"a": row(1)})}
    with pytest.raises(EnsembleError, match="s_score is undefined in empty"):
        select(votes_of(cases), metric="s_score")
    with pytest.raises(EnsembleError, match="s_score is undefined in empty"):
        mean_of(votes_of(cases), Ensemble(("a",), 1), metric="s_score")
    assert not math.isnan(select(votes_of(cases), metric="dice").mean)
