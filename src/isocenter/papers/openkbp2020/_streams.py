"""How far the winner is ahead in both streams, and whether squared errors would have ranked otherwise."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import polars as pl

from isocenter.contest import Decision
from isocenter.papers._study import Study
from isocenter.papers._words import anchor, counted, p_value
from isocenter.papers.openkbp2020._progress import STREAMS
from isocenter.ranking import PairedValues, RankComparison, Role, compare_rankings, paired_values
from isocenter.report import Block, BoxGroup, Cell, Chart, Paragraph, Section, Table, boxes_plot, metric_label, table
from isocenter.stats import Comparisons

_SHOWN = 24  # teams, the winner among them, as in figure 6
_QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)


def lead(study: Study) -> Section:
    """The winner's error less that of each of the others, patient by patient and criterion by criterion (figure 6)."""
    blocks: list[Block] = []
    for name in STREAMS:
        if (decided := study.boards.get(name)) is None:
            blocks.append(Paragraph(f"The edition has no board {name}.", note=True))
            continue
        roles: dict[str, Role] = {row.submission: row.role for row in decided.board.rows if row.rank is None}
        try:
            values = paired_values(decided.scores, decided.rule, roles=roles)
        except ValueError as error:
            blocks.append(Paragraph(f"Board {name}: {error}.", note=True))
            continue
        blocks += _ahead(name, decided, values)
    return Section("kbp-lead", "How far the winner is ahead", tuple(blocks))


def _ahead(name: str, decided: Decision, values: PairedValues) -> Iterator[Block]:
    winner, *others = values.values
    metric = values.metric
    ahead = {team: values.values[winner] - values.values[team] for team in others}
    places = {row.submission: row.place for row in decided.board.rows}
    won = {team: _won(difference, metric.better) for team, difference in ahead.items()}
    n, patients = len(values.cases), len(set(values.cases))
    boxes = [
        BoxGroup(
            f"{places[team]}  {team}",
            tuple(zip(values.cases, ahead[team].tolist(), strict=True)),
            note=f"won {100 * won[team]:.0f} %",
        )
        for team in others[: _SHOWN - 1]
    ]
    label = metric_label(metric, unit=False)
    title = f"{label} of {winner} less that of each other team, board {name}"
    picture = boxes_plot(
        boxes, label="difference", unit=metric.unit, zero=0.0, title=title, name=anchor(f"kbp-boxes-{name}")
    )
    of = f"{n:,} criteria of {counted(patients, 'patient')}" if values.in_parts else counted(patients, "patient")
    sign = "Below" if metric.better == "lower" else "Above"
    caption = (
        f"{title}. {sign} 0 {winner} is better. Box: quartiles; whiskers: the furthest values within 1.5 box lengths; "
        f"diamond: mean. n = {of}."
    )
    if len(others) >= _SHOWN:
        caption += f" The first {_SHOWN} of {len(others) + 1} teams."
    rows = [
        (team, n, float(ahead[team].mean()), *np.quantile(ahead[team], _QUANTILES).tolist(), won[team])
        for team in others[: _SHOWN - 1]
    ]
    columns = ["team", "n", "mean", "lowest", "quartile_1", "median", "quartile_3", "highest", "won"]
    data = pl.DataFrame(rows, schema=columns, orient="row")
    yield Chart(anchor(f"kbp-ahead-{name}"), caption, picture, data)
    plain = values.compare(winner=winner)
    grouped = values.compare(winner=winner, clustered=True) if values.in_parts else None
    yield _tests(name, winner, values, won=won, plain=plain, grouped=grouped)
    if len(values.first) > 1:
        text = f"{' and '.join(values.first)} share the first rank; {winner} is compared with the others."
        yield Paragraph(text, note=True)


def _won(difference: np.ndarray[tuple[int], np.dtype[np.float64]], better: str) -> float:
    return float((difference < 0 if better == "lower" else difference > 0).mean())


def _tests(
    name: str,
    winner: str,
    values: PairedValues,
    *,
    won: dict[str, float],
    plain: Comparisons,
    grouped: Comparisons | None,
) -> Table:
    metric, unit = values.metric, "criteria" if values.in_parts else "patients"
    columns = ["Against", "Mean difference #", f"{unit.capitalize()} won #", "p #", "adjusted p #"]
    columns += ["p by patient #", "adjusted p by patient #"] if grouped else []
    by_patient = {row.b: row for row in grouped.rows} if grouped else {}
    rows = []
    for row in plain.rows:
        shown = f"{row.difference:+.{metric.decimals}f}".replace("-", "−")
        cells: list[str | Cell] = [row.b, Cell(shown, row.difference)]
        cells.append(Cell(f"{100 * won[row.b]:.1f} %", won[row.b]))
        tests = [row, *([by_patient[row.b]] if grouped else [])]
        cells += [Cell(p_value(p), p) for test in tests for p in (test.p, test.adjusted)]
        rows.append(cells)
    least = min(won.values())
    caption = (
        f"Board {name}: is the error of {winner} lower than that of each other team? Against any of them {winner} is "
        f"better in at least {100 * least:.1f} % of {unit}."
    )
    return table(anchor(f"kbp-tests-{name}"), caption, columns, rows, notes=_notes(unit, plain, grouped))


def _notes(unit: str, plain: Comparisons, grouped: Comparisons | None) -> list[str]:
    rounded = f", differences rounded to {plain.decimals} decimals" if isinstance(plain.decimals, int) else ""
    told = (
        f"p: Wilcoxon signed-rank test over {unit}, one-sided{rounded} "
        f"({'; '.join(plain.methods)}); adjusted for all other teams by Holm's method. The winner was found by the "
        "same scores, so p is rather too small."
    )
    notes = [told]
    if grouped:
        notes.append(
            "p by patient: the test of Rosner, Glynn and Lee, which takes the criteria of a patient as one piece of "
            "evidence. p takes them as independent, as OpenKBP 2020 did, and is too small."
        )
    return notes


def squared(study: Study) -> Section:
    """Ranks by absolute and by squared errors, side by side (table 5)."""
    blocks: list[Block] = []
    for name in STREAMS:
        one, other = study.boards.get(name), study.boards.get(f"{name}-squared")
        if one is None or other is None:
            text = f"The edition has no boards {name} and {name}-squared to be compared."
            blocks.append(Paragraph(text, note=True))
            continue
        scores = [{row.submission: row.score for row in b.board.rows if row.rank is not None} for b in (one, other)]
        teams = [team for team in scores[0] if team in scores[1]]
        if not teams:
            blocks.append(Paragraph(f"Nobody is ranked on both boards {name} and {name}-squared.", note=True))
            continue
        first, second = ([float(of[team] or 0.0) for team in teams] for of in scores)
        better = (one.metric.better, other.metric.better)
        assert better[0] != "neither"
        assert better[1] != "neither"
        found = compare_rankings(first, second, better=(better[0], better[1]))
        blocks += [_ranks(name, (one, other), teams, (first, second), found), Paragraph(_summary(name, teams, found))]
    return Section("kbp-squared", "Absolute and squared errors", tuple(blocks))


def _ranks(
    name: str,
    boards: tuple[Decision, Decision],
    teams: list[str],
    scores: tuple[list[float], list[float]],
    found: RankComparison,
) -> Table:
    one, other = (decided.metric for decided in boards)
    rows = [
        (
            team,
            Cell(one.show(scores[0][at]), scores[0][at]),
            float(found.first[at]),
            Cell(other.show(scores[1][at]), scores[1][at]),
            float(found.second[at]),
            Cell(f"{found.differences[at]:+g}".replace("-", "−").replace("+0", "0"), float(found.differences[at])),
        )
        for at, team in enumerate(teams)
    ]
    columns = ["Team", f"MAE, {one.unit} #", "Rank by MAE #", f"MSE, {other.unit} #", "Rank by MSE #", "Difference #"]
    caption = (
        f"Board {name} by mean absolute errors (MAE), as it ranks, and by mean squared errors (MSE). A positive "
        "difference of ranks is of a team that squared errors favour."
    )
    return table(anchor(f"kbp-mae-mse-{name}"), caption, columns, rows)


def _summary(name: str, teams: list[str], found: RankComparison) -> str:
    text = (
        f"Board {name}: ranks differ by {found.mean_abs:.2f} on average and by {found.max_abs:g} at most, over "
        f"{counted(len(teams), 'team')}."
    )
    if not math.isnan(found.spearman):
        p = "" if math.isnan(found.spearman_p) else f" (p {_p(found.spearman_p)})"
        text += f" Spearman's rank correlation is {found.spearman:.3f}{p}, Kendall's tau {found.kendall:.3f}."
    first = [team for team, rank in zip(teams, found.first, strict=True) if rank == 1]
    second = [team for team, rank in zip(teams, found.second, strict=True) if rank == 1]
    same = "would be the same" if first == second else f"would be {' and '.join(second)}"
    return f"{text} The winner by squared errors {same}."


def _p(p: float) -> str:
    return "<0.001" if p < 0.0005 else f"= {p_value(p)}"
