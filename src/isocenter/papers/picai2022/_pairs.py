"""Algorithm against algorithm: draws of the cases for all pairs, and relabelling of trained instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import polars as pl

from isocenter.contest import Decision
from isocenter.detections import Detections
from isocenter.papers._words import counted, p_value
from isocenter.papers.picai2022._comparison_tables import make_test_table
from isocenter.papers.picai2022._given import Given
from isocenter.papers.picai2022._nulls import FEWEST, null_plot
from isocenter.report import Block, Chart, Paragraph, Section, matrix_plot, metric_label
from isocenter.stats import PermutationTest, permutation_test

_MOST = 30  # teams in a map of all pairs
_DECIMALS = 12

Row = tuple[str, str, float, float]


def algorithms(given: Given) -> Section:
    """Who is better than whom, for other cases and for other trainings."""
    return Section("algorithms", "Algorithm against algorithm", tuple(_algorithms(given)))


def _algorithms(given: Given) -> Iterator[Block]:
    ranked = [team for team in given.study.main.ranked if team in given.teams]
    if len(ranked) < 2:
        yield Paragraph("With fewer than two ranked teams there is nothing to compare.", note=True)
        return
    yield from _for_other_cases(given, ranked[:_MOST])
    trained = [team for team in ranked if len(given.teams[team]) > 1]
    if len(trained) < 2:
        text = (
            "The permutation test over trained instances needs two teams with several instances each; here "
            f"{counted(len(trained), 'team')} had their algorithm trained more than once."
        ).replace("1 team had their", "1 team had its")
        yield Paragraph(text, note=True)
    else:
        yield from _for_other_trainings(given, trained[:_MOST])
    yield from _all_pairs(given)


def _for_other_cases(given: Given, teams: Sequence[str]) -> Iterator[Block]:
    """In how many draws of the cases the first of two is not better."""
    decided = given.study.main
    if decided.uncertainty is None:
        yield Paragraph("Teams are not compared by draws of the cases: no cases were drawn.", note=True)
        return
    drawn = decided.uncertainty.drawn
    at = {team: drawn.submissions.index(team) for team in teams if team in drawn.submissions}
    count = drawn.scores.shape[1]

    def compared(a: str, b: str) -> tuple[float, float]:
        lead = drawn.scores[at[a]] - drawn.scores[at[b]]
        worse = np.count_nonzero(lead < 0) + 0.5 * np.count_nonzero(lead == 0)
        return float(drawn.full[at[a]] - drawn.full[at[b]]), float((worse + 1) / (count + 1))

    text = (
        f"Row better than column: one-sided p of the paired bootstrap, {count:,} draws of the cases, the same for all; "
        "ties count half. It speaks of other cases, for the algorithms as they were trained, and is not adjusted for "
        "the number of pairs."
    )
    yield _map(decided, list(at), compared, name="pairs-by-cases", title="other cases", text=text)


def _for_other_trainings(given: Given, teams: Sequence[str]) -> Iterator[Block]:
    """Permutation tests over trained instances."""
    values = {team: [_score(one, given.study.main) for one in given.teams[team]] for team in teams}

    def compared(a: str, b: str) -> tuple[float, float]:
        test = _test(values[a], values[b])
        return float(np.mean(values[a]) - np.mean(values[b])), test.p_value

    sizes = sorted({len(many) for many in values.values()})
    trained = f"{sizes[0]} to {sizes[-1]}" if len(sizes) > 1 else str(sizes[0])
    text = (
        f"Row better than column: one-sided p of the permutation test over {trained} trained instances each. It speaks "
        "of other trainings, judged on these cases, and is not adjusted for the number of pairs."
    )
    yield _map(given.study.main, teams, compared, name="pairs-by-trainings", title="other trainings", text=text)
    first, second = teams[:2]
    test = _test(values[first], values[second])
    if test.relabellings >= FEWEST:
        title = f"The permutation test of {first} against {second}"
        yield Chart(
            "permutation-algorithms",
            f"{title}: the statistic over {test.relabellings:,} relabellings of their trained instances, and the value "
            f"found. p = {p_value(test.p_value)}.",
            null_plot(
                values[first],
                values[second],
                test,
                label="share of pairs of instances in which the first is better",
                title=title,
                name="picai-null-algorithms",
            ),
        )


def _test(a: Sequence[float], b: Sequence[float]) -> PermutationTest:
    return permutation_test(a, b, alternative="greater", decimals=_DECIMALS)


def _score(found: Detections, decided: Decision) -> float:
    return float(getattr(found, decided.board.metric))


def _map(
    decided: Decision,
    teams: Sequence[str],
    compared: Callable[[str, str], tuple[float, float]],
    *,
    name: str,
    title: str,
    text: str,
) -> Chart:
    label = metric_label(decided.metric)
    rows: list[Row] = [(a, b, *compared(a, b)) for a in teams for b in teams if a != b]
    p = {(a, b): value for a, b, _, value in rows}
    heading = f"Which algorithms are better than which, for {title}"
    return Chart(
        name,
        f"{heading}, by {label}. {text}",
        matrix_plot(
            [[None if a == b else -p[a, b] for b in teams] for a in teams],
            rows=teams,
            columns=teams,
            show=lambda value: p_value(-value),
            legend="p, darker is smaller",
            title=heading,
            name=f"picai-{name}",
            low=-1.0,
            high=0.0,
        ),
        pl.DataFrame(rows, schema=["better", "than", "difference", "p"], orient="row"),
    )


def _all_pairs(given: Given) -> Iterator[Block]:
    """The first five against each other, for other trainings and other cases at once."""
    found = given.compared
    tests = found.of_family("algorithms")
    if tests:
        yield make_test_table(
            given,
            tests,
            name="instances",
            caption=f"The first {len(given.top)} teams with each other, by {tests[0].measure}.",
            heads=("Team", "Other team"),
            who=lambda test: (test.a, test.b),
            note=(
                f"Draws of cases and of trained instances: {found.replicates:,}, seed {found.seed}. Published p: the "
                "permutation test over trained instances, on these cases."
            ),
        )
    for note in found.notes["algorithms"] if found.replicates else ():
        yield Paragraph(note, note=True)
