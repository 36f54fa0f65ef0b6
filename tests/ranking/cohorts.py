"""Simulated cohorts of which the best team is known: how often a printed probability comes true.

`python -m tests.ranking.cohorts 2000` prints the tables of docs/explanation/calibration.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from unittest import mock

import numpy as np
from numpy.typing import NDArray

from isocenter.ranking import _best
from isocenter.ranking._rank_sets import rank_sets_of_cases

Floats = NDArray[np.float64]
RESAMPLES = 1000
CHAINS = 120  # fewer than for a board: what is averaged over cohorts need not be exact in each


@dataclass(frozen=True)
class Scenario:
    """A field of teams; its width is the standard deviation of true scores, in standard errors of a mean.

    Skewed scores have the noise of a Dice: most cases near the top, a few far below. `far` standard errors below the
    others lies one hopeless team. `unlike` is the log standard deviation of the noise of teams.
    """

    name: str
    teams: int = 10
    cases: int = 100
    width: float = 1.0
    skewed: bool = False
    far: float = 0.0
    unlike: float = 0.0


SCENARIOS = (
    Scenario("10 close teams, 100 cases", width=0.3),
    Scenario("10 teams, 100 cases"),
    Scenario("5 teams of spread, 100 cases", teams=5, width=5.0),
    Scenario("20 teams, 100 cases", teams=20),
    Scenario("10 teams, 100 cases, skewed as a Dice", skewed=True),
    Scenario("10 teams, 100 cases, noise unlike", unlike=0.5),
    Scenario("9 close teams and a hopeless one, 100 cases", width=0.5, far=100.0),
    Scenario("10 teams, 20 cases", cases=20),
    Scenario("10 teams, 20 cases, skewed as a Dice", cases=20, skewed=True),
    Scenario("30 teams, 20 cases", teams=30, cases=20),
    Scenario("10 teams, 400 cases", cases=400),
    Scenario("2 teams, 100 cases", teams=2),
)


@dataclass
class Outcome:
    """Of all cohorts of a scenario: what was printed, and who was truly best; cohorts × teams."""

    p_first: list[Floats] = field(default_factory=list)
    p_best: list[Floats] = field(default_factory=list)
    is_best: list[NDArray[np.bool_]] = field(default_factory=list)
    covered: list[bool] = field(default_factory=list)
    in_first_group: list[bool] = field(default_factory=list)


def simulate(scenario: Scenario, cohorts: int, *, seed: int, sets: bool = True) -> Outcome:
    """Draw true scores and cases, and look at what is said of them."""
    rng, outcome, n = np.random.default_rng(seed), Outcome(), scenario.cases
    for number in range(cohorts):
        truth, values = draw_cohort(scenario, rng)
        counts = rng.multinomial(n, np.full(n, 1 / n), RESAMPLES)
        scores = values @ counts.T / n
        outcome.p_first.append(_best.share_best(scores, better="higher"))
        with mock.patch.object(_best, "_CHAINS", CHAINS):
            draws = _best.draw_true_scores(values.mean(axis=1), scores, better="higher", cases=n, seed=number)
        outcome.p_best.append(_best.share_best(draws, better="higher"))
        best = int(np.argmax(truth))
        outcome.is_best.append(np.arange(scenario.teams) == best)
        if sets:
            found = rank_sets_of_cases(values, better="higher", draws=2000, seed=number)
            ranks = 1 + (truth > truth[:, np.newaxis]).sum(axis=1)
            outcome.covered.append(bool(((found.low <= ranks) & (ranks <= found.high)).all()))
            outcome.in_first_group.append(best in found.groups()[0])
    return outcome


def draw_cohort(scenario: Scenario, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """True scores, and values of all teams in all cases; what is special to a team and a case has variance 1."""
    teams, n = scenario.teams, scenario.cases
    truth = scenario.width / np.sqrt(n) * rng.standard_normal(teams)
    if scenario.far:
        truth[rng.integers(teams)] -= scenario.far / np.sqrt(n)
    if scenario.skewed:
        difficulty, noise = -2 * rng.exponential(size=n), (0.5 - rng.gamma(0.5, size=(teams, n))) / np.sqrt(0.5)
    else:
        difficulty, noise = 2 * rng.standard_normal(n), rng.standard_normal((teams, n))
    noise *= np.exp(scenario.unlike * rng.standard_normal((teams, 1)))
    return truth, truth[:, np.newaxis] + difficulty + noise


def reliability(printed: list[Floats], is_best: list[NDArray[np.bool_]]) -> Iterator[tuple[float, float, int]]:
    """By bin of a printed probability: its mean, how often the team was truly best, and how many numbers are in it."""
    p, best = np.concatenate(printed), np.concatenate(is_best)
    for low, high in pairwise(EDGES):
        inside = (p >= low) & (p < high)
        if inside.any():
            yield float(p[inside].mean()), float(best[inside].mean()), int(inside.sum())


EDGES = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.01)


def leaders(printed: list[Floats], is_best: list[NDArray[np.bool_]]) -> tuple[float, float]:
    """What is printed for the team with the highest number of each cohort, and how often it was truly best."""
    p, best = np.array(printed), np.array(is_best)
    at = p.argmax(axis=1)
    rows = np.arange(len(p))
    return float(p[rows, at].mean()), float(best[rows, at].mean())


def error(printed: list[Floats], is_best: list[NDArray[np.bool_]]) -> float:
    """Expected calibration error: over all bins, the mean distance of the printed from the true share of the best.

    Each bin counts by what is printed in it, so that the many teams with next to nothing do not hide the few.
    """
    bins = list(reliability(printed, is_best))
    weight = [p * count for p, _, count in bins]
    return float(np.average([abs(p - share) for p, share, _ in bins], weights=weight))


def main(cohorts: int) -> None:
    """Print the tables."""
    for scenario in SCENARIOS:
        outcome = simulate(scenario, cohorts, seed=0)
        print(f"== {scenario.name}")
        for name, printed in (("P(first)", outcome.p_first), ("P(best)", outcome.p_best)):
            says, holds = leaders(printed, outcome.is_best)
            bins = "  ".join(f"{p:.2f}→{s:.2f} ({n})" for p, s, n in reliability(printed, outcome.is_best))
            print(f"{name}: leader {says:.3f} → {holds:.3f}; ECE {error(printed, outcome.is_best):.3f}; {bins}")
        print(
            f"sets cover {np.mean(outcome.covered):.3f}, best in group A {np.mean(outcome.in_first_group):.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]))
