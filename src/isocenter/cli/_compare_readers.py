"""`isocenter compare-readers`: the four comparisons of algorithms, clinical routine and readers in one command."""

from __future__ import annotations

import json
import math
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isocenter.cli._arguments import ChallengeName, Json, Phase, Workers
from isocenter.cli._entries import BoardName, TeamTables, open_contest
from isocenter.cli._many import show_table
from isocenter.cli._mrmc_points import parse_points
from isocenter.cli._tables import csv_text, give_up, refuse_out, write_out
from isocenter.cli._terminal import problem_dicts, progress

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isocenter.cli._entries import Opened
    from isocenter.cli._terminal import Move
    from isocenter.detections import Detections
    from isocenter.evaluation import Challenge
    from isocenter.readers import ReaderScores, Reads, StudyComparisons, StudyTest


_SHORT = {
    "specificity at equal sensitivity": "spec. at sens.",
    "sensitivity at equal specificity": "sens. at spec.",
    "precision at equal recall": "prec. at recall",
    "recall at equal precision": "recall at prec.",
    "mean of AUROC and AP": "score",
    "average precision": "AP",
}


class AlgorithmMeasure(StrEnum):
    """What algorithms are compared with each other by."""

    SCORE = "score"
    AUROC = "auroc"
    AVERAGE_PRECISION = "average_precision"


def compare_readers(
    challenge: ChallengeName,
    tables: TeamTables,
    *,
    reads: Annotated[
        Path | None,
        typer.Option(help="Reads of a reader study (reads.csv): one row per mark.", exists=True, dir_okay=False),
    ] = None,
    panels: Annotated[
        Path | None,
        typer.Option(help="Panels of readers, such as experts: rows of reader_id,panel.", exists=True, dir_okay=False),
    ] = None,
    routine: Annotated[
        Path | None,
        typer.Option(
            help="PI-RADS of clinical routine, one row per case: cases.csv, a marksheet, or reads.csv with marks.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    routine_column: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Its column of PI-RADS.", show_default="found by its name")
    ] = None,
    reference: Annotated[
        Path | None,
        typer.Option(help="The organisers' folder or zip, to compare lesions where readers marked them.", exists=True),
    ] = None,
    measure: Annotated[
        list[AlgorithmMeasure] | None,
        typer.Option(help="What algorithms are compared with each other by; may be repeated.", show_default="score"),
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many teams are compared, from the first of the board.")] = 5,
    points: Annotated[str, typer.Option(metavar="N,N,…", help="PI-RADS from which on readers call.")] = "3,4",
    margin: Annotated[float, typer.Option(help="Of non-inferiority in AUROC: how much worse is accepted.")] = 0.05,
    margin_mm: Annotated[
        float, typer.Option(min=0.0, help="How far from a lesion a mark may lie to hit it, mm.")
    ] = 5.0,
    replicates: Annotated[int, typer.Option(min=0, help="Draws of cases; 0 leaves out what needs them.")] = 10_000,
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="The coverage of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws.")] = 0,
    workers: Workers = 0,
    board: BoardName = None,
    phase: Phase = None,
    out: Annotated[Path | None, typer.Option(help="Also write all tests: .csv or .json.", dir_okay=False)] = None,
    as_json: Json = False,
) -> None:
    r"""Compare algorithms with each other, with routine and with readers.

    The four comparisons of PI-CAI: the best teams with each other, with the
    PI-RADS of clinical routine, and with every panel of readers; and panels
    with each other. Every test has a difference, an interval, p, p adjusted by
    Holm's method within its family, and the p of the published test beside it.

    Example: isocenter compare-readers picai2022 a=a.parquet b=b.parquet \
             --reads reads.csv --panels panels.csv --routine cases.csv \
             --reference reference/
    """
    from isocenter.evaluation import available_cores
    from isocenter.readers import ReadsError, compare_study

    refuse_out(out, tables, reads, panels, routine)
    needs = {
        ("--panels", "--reads"): (panels, reads),
        ("--routine-column", "--routine"): (routine_column, routine),
    }
    _refuse_nonsense(needs, margin, margin_mm)
    at = _operating_points(points)
    opened = open_contest(challenge, tables, board=board, phase=phase)
    remarks = list(opened.remarks)
    teams = _best_teams(opened, top, remarks)
    truth = next(iter(teams.values()))[0]
    try:
        with progress() as start:
            groups = None if panels is None else _open_panels(panels)
            marks = _Marks(opened.challenge, reference, margin_mm, start("reading"), remarks)
            study = None if reads is None else marks.score(_read(reads), truth)
            clinic = None if routine is None else marks.score(_read_routine(routine, routine_column), truth)
            found = compare_study(
                teams,
                readers=study,
                routine=clinic,
                panels=groups,
                measures=[one.value for one in measure or [AlgorithmMeasure.SCORE]],
                points=at,
                margin=margin,
                replicates=replicates,
                level=level,
                seed=seed,
                workers=workers or available_cores(),
                progress=start("comparing"),
            )
    except ReadsError as error:
        if as_json:
            typer.echo(json.dumps({"ok": False, "problems": problem_dicts(error.problems)}, indent=2))
        else:
            typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    except ValueError as error:
        give_up(str(error), remarks)
    data = {
        "ok": True,
        "challenge": opened.challenge.name,
        "board": opened.board,
        **found.to_dict(),
        "remarks": remarks,
    }
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if out is not None:
        write_out({"--out": (out, text if out.suffix == ".json" else csv_text(found.table()))})
    if as_json:
        typer.echo(text, nl=False)
        return
    _show(found, title=opened.challenge.title)
    for remark in remarks:
        typer.echo(remark, err=True)
    if out is not None:
        typer.echo(f"Written to {out}")


class _Marks:
    """Reads of the cohort, scored with places where the reference is at hand, and by patients only elsewhere."""

    def __init__(
        self, challenge: Challenge, reference: Path | None, margin_mm: float, move: Move, remarks: list[str]
    ) -> None:
        self.challenge, self.reference, self.margin_mm = challenge, reference, margin_mm
        self.move, self.remarks = move, remarks

    def score(self, reads: Reads, truth: Detections) -> ReaderScores:
        """The reads of cases that the score tables have."""
        from isocenter.readers import Reads, ReadsError, open_reference, score_patients, score_reads

        known = set(truth.cases)
        kept = Reads(tuple(read for read in reads if read.case in known), reads.name)
        if lost := len(reads) - len(kept):
            self.remarks.append(f"{reads.name}: {lost} of {len(reads)} reads are of cases that no score table has.")
        if not len(kept):
            from isocenter.problems import Problem

            problem = Problem("refused", "no read is of a case of the score tables", file=reads.name, code="bad_name")
            raise ReadsError(reads.name, [problem], done="compared")
        marked = any(read.marks is not None for read in kept)
        if not marked or self.reference is None:
            if marked:
                self.remarks.append(
                    f"{reads.name}: marks are not looked at without --reference; only patients are compared."
                )
            return score_patients(kept, truth)
        lesions = open_reference(self.challenge, self.reference, cases=set(kept.cases), progress=self.move)
        weight = dict(zip(truth.cases, truth.weight.tolist(), strict=True))
        ill = dict(zip(truth.cases, truth.truth.tolist(), strict=True))
        scores = score_reads(
            kept,
            {case: one._replace(weight=weight[case], positive=ill[case]) for case, one in lesions.items()},
            margin_mm=self.margin_mm,
        )
        self.remarks += scores.remarks
        return scores


def _refuse_nonsense(
    needs: Mapping[tuple[str, str], tuple[object, Path | None]], margin: float, margin_mm: float
) -> None:
    for (option, other), (value, file) in needs.items():
        if value is not None and file is None:
            msg = f"it is about what is in {other}, which is not given"
            raise typer.BadParameter(msg, param_hint=option)
    if not 0 < margin < math.inf:
        msg = f"a margin is finite and above 0 (it says how much worse is accepted), not {margin}"
        raise typer.BadParameter(msg, param_hint="--margin")
    if not math.isfinite(margin_mm):
        msg = f"a margin is a distance in mm, not {margin_mm}"
        raise typer.BadParameter(msg, param_hint="--margin-mm")


def _operating_points(text: str) -> tuple[int, ...]:
    from isocenter.readers import OPERATING_POINTS

    points = parse_points(text)
    if not points or not set(points) <= set(OPERATING_POINTS):
        msg = f"{text!r} should be one or more of the PI-RADS 3, 4 and 5, such as 3,4"
        raise typer.BadParameter(msg, param_hint="--points")
    return tuple(map(int, points))


def _best_teams(opened: Opened, top: int, remarks: list[str]) -> dict[str, list[Detections]]:
    """The findings of the teams that are compared, in the order of the board."""
    from isocenter.ranking import capabilities_of

    rule = capabilities_of(opened.rule)
    if not rule.has_findings:
        msg = f"{opened.challenge.name} is not a challenge of detection"
        raise typer.BadParameter(msg, param_hint="CHALLENGE")
    try:
        ranked = opened.contest.decide(opened.board, resamples=0).ranked
        if not ranked:
            give_up("No team is ranked, so nobody can be compared.", remarks)
        if len(ranked) > top:
            left = ", ".join(ranked[top:])
            remarks.append(f"Compared are the first {top} of {len(ranked)} teams (--top); not {left}.")
        return {team: list(rule.findings(opened.scores.filter(submission=team)).values()) for team in ranked[:top]}
    except ValueError as error:
        give_up(str(error), remarks)


def _read(path: Path) -> Reads:
    from isocenter.readers import read_reads

    return read_reads(path)


def _read_routine(path: Path, column: str | None) -> Reads:
    from isocenter.readers import read_routine

    return read_routine(path, column=column)


def _open_panels(path: Path) -> Mapping[str, Sequence[str]]:
    from isocenter.stats import read_panels

    return read_panels(path)


def _show(found: StudyComparisons, *, title: str) -> None:
    from isocenter.problems import printable

    typer.echo(printable(title))
    for name, tests in _group_tests(found).items():
        verdicts = any(test.verdict for test in tests)
        points = any(test.point is not None for test in tests)
        sides = ["a", "b", "a − b", f"{100 * found.level:g} % interval", "p", "Holm", "published"]
        columns = ["compared", *["PI-RADS"] * points, "by", *sides, *["verdict"] * verdicts]
        rows = [_cells(test, points=points, verdicts=verdicts) for test in tests]
        show_table(printable(f"{name}: {len(tests)} tests"), columns, rows)
    if found.configurations:
        levels = [one.level for one in found.configurations]
        typer.echo(
            f"Configurations of readers: {levels.count('patients')} for patients, "
            f"{levels.count('lesions')} for lesions."
        )
    typer.echo(
        "p: the first is better, for other cases and instances or readers; two-sided for AUROC with readers and for "
        "panels. Holm: adjusted for all tests of the comparison, patients and lesions apart. Published: PI-CAI's test. "
        f"Verdict: non-inferiority with a margin of {found.margin:g}."
    )
    for note in dict.fromkeys(note for notes in found.notes.values() for note in notes):
        typer.echo(printable(note))


def _group_tests(found: StudyComparisons) -> dict[str, list[StudyTest]]:
    """The tests by the title of their table: areas apart from operating points, and these by team."""
    from isocenter.readers import FAMILIES

    groups: dict[str, list[StudyTest]] = {}
    for test in found.tests:
        title = FAMILIES[test.family]
        if test.family == "readers" and test.point is not None:
            title = f"{test.a} against readers, at their operating points"
        elif test.family == "panels" and test.point is not None:
            title += ", at their operating points"
        groups.setdefault(title, []).append(test)
    return groups


def _cells(test: StudyTest, *, points: bool, verdicts: bool) -> list[str]:
    from isocenter.problems import printable

    b = f"{test.b}, {test.modality}" if test.modality else test.b
    named = b if test.family == "readers" and test.point is not None else f"{test.a} – {b}"
    at = [f"≥ {test.point}" if test.point is not None else ""] if points else []
    sides = [_number(test.value_a), _number(test.value_b), _number(test.difference, "+.3f")]
    interval = "–" if math.isnan(test.low) else f"{_number(test.low, '+.3f')} to {_number(test.high, '+.3f')}"
    chances = [_number(p, ".2g") for p in (test.p, test.adjusted, test.published_p)]
    verdict = [test.verdict.label if test.verdict else ""] if verdicts else []
    measure = _SHORT.get(test.measure, test.measure)
    return [printable(named), *at, measure, *sides, interval, *chances, *verdict]


def _number(value: float, form: str = ".3f") -> str:
    return "–" if math.isnan(value) else format(value, form).replace("-", "−")
