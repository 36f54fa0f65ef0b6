"""Algorithm against algorithm: draws of the cases for all pairs, and relabelling of trained instances."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import polars as pl

from isocenter.contest import Decision
from isocenter.detections import Detections
from isocenter.papers._words import counted, p_value
from isocenter.papers.picai2022._given import Given
from isocenter.papers.picai2022._nulls import FEWEST, null_plot
from isocenter.readers import describe_error
from isocenter.report import Block, Cell, Chart, Paragraph, Section, Table, matrix_plot, metric_label, table
from isocenter.stats import InstanceComparison, LesionRows, PermutationTest, compare_instances, permutation_test

_MOST = 30  # teams in a map of all pairs
_TOP = 5  # teams whose instances are also drawn: as many as are invited to the last phase
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
        return
    yield from _for_other_trainings(given, trained[:_MOST])


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
    yield from _drawn(given, teams)


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


def _drawn(given: Given, teams: Sequence[str]) -> Iterator[Block]:
    """The first against the next, with an interval for other trainings and other cases at once."""
    settings, first = given.study.settings, teams[0]
    others = teams[1:_TOP]
    if not settings.replicates:
        return
    rows, notes = [], []
    for number, team in enumerate(others):
        given.study.move(number, len(others), f"comparing the instances of {first} and {team}")
        try:
            found = _instances(given, first, team)
        except ValueError as error:
            notes.append(f"{first} and {team} are not compared: {describe_error(error)}.")
            continue
        rows.append(
            (
                team,
                Cell(f"{np.mean(found.values_a):.4f}", float(np.mean(found.values_a))),
                Cell(f"{np.mean(found.values_b):.4f}", float(np.mean(found.values_b))),
                Cell(_signed(found.difference), found.difference),
                f"{_signed(found.low)} to {_signed(found.high)}",
                Cell(p_value(found.p_value), found.p_value),
            )
        )
    if rows:
        yield _instance_table(given, rows, first)
    yield from (Paragraph(note, note=True) for note in notes)


def _instance_table(given: Given, rows: Sequence[Sequence[str | Cell]], first: str) -> Table:
    settings = given.study.settings
    interval = f"{100 * settings.level:g} % interval"
    return table(
        "instances",
        f"The trained instances of {first} and of the teams that follow.",
        ["Team", f"{first} #", "Team's #", "Difference #", interval, "p, trainings #"],
        rows,
        notes=[f"Intervals by {settings.replicates:,} draws of cases and instances, for other cases and trainings."],
    )


def _instances(given: Given, a: str, b: str) -> InstanceComparison:
    settings, metric = given.study.settings, given.study.main.board.metric
    one, other = given.teams[a], given.teams[b]
    if one[0].cases != other[0].cases:
        msg = "they have cases of their own"
        raise ValueError(msg)
    return compare_instances(
        one[0].truth,
        [found.likelihood for found in one],
        [found.likelihood for found in other],
        measure="auroc" if metric == "auroc" else "average_precision" if metric == "average_precision" else "score",
        lesions_a=[LesionRows(found.case, found.is_lesion, found.confidence) for found in one],
        lesions_b=[LesionRows(found.case, found.is_lesion, found.confidence) for found in other],
        weight=one[0].weight,
        replicates=settings.replicates,
        level=settings.level,
        seed=settings.seed,
    )


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "−")
