"""A submission: where it stands, what was found, how it was measured, every case; and its files."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.safestring import SafeString

from isocenter.editions import split_cohort
from isocenter.server import clock, files
from isocenter.server.boards import plots
from isocenter.server.models import Download, Evaluation, Submission
from isocenter.server.pages.submissions import times
from isocenter.server.policy import Door, Visit, door
from isocenter.server.submitting import measured
from isocenter.server.submitting.attempts import line
from isocenter.server.submitting.field import Field, field_of, strip
from isocenter.server.submitting.measured import BoardScore, Measured
from isocenter.server.telling.known import history
from isocenter.server.templatetags.submissions import signed
from isocenter.server.work.in_force import NEWEST_FIRST, evaluation_of, on_cohort
from isocenter.server.work.making import REPLICATES, SEED
from isocenter.server.work.reasons import from_row

if TYPE_CHECKING:
    from isocenter.metrics import Metric
    from isocenter.viewer import CaseScores

_MOST_STRATA = 8
CASES_HIDDEN = "Results of single cases are not shown in this phase."
_COHORT_HIDDEN = "Results on this cohort are not shown yet."


@dataclass(frozen=True)
class CaseRow:
    """A case in the table: its numbers by metric, what it had before, and where it lies among the others."""

    name: str
    state: str
    values: list[str]
    strip: SafeString
    before: str
    change: str


@door(Door.PERSON)
def submission(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """The page."""
    one = get_object_or_404(visit.submissions().select_related("author", "version"), pk=key)
    phase, cohort = _asked(request, visit, one)
    seen = visit.sight(phase)
    made = one.evaluations.filter(on_cohort(cohort)).select_related("reference", "submission")
    evaluations = list(made.defer("table").order_by(*NEWEST_FIRST))  # the first is in force
    called = measured.reference_numbers(visit, one.phase, cohort) if evaluations else {}
    for number, past in enumerate(reversed(evaluations), start=1):
        past.number = number  # within the submission; a key would tell how many others were evaluated in between
        past.reference_number = called[past.reference_id]
    row = line(visit, one)
    context: dict[str, Any] = {
        "tab": "submissions",
        "visit": visit,
        "row": row,
        "one": one,
        "problems": [from_row(row) for row in one.problems],
        "declarations": _declarations(visit, one),
        "rules": next((found for found in history(visit) if found.version.number <= one.version.number), None),
        "evaluation": evaluations[0] if evaluations else None,
        "sight": seen,
        "phase_shown": phase,
        "cohort": cohort,
        "cohorts": _with_cases(visit, one),
        "others": visit.submissions().filter(phase=one.phase, state=Submission.State.SCORED).exclude(pk=one.pk)[:50],
        **times.context(visit, one, row),
    }
    columns, titles = _columns(visit, one), _cohort_titles(visit, one)
    context["columns"] = [(name, titles[name]) for name in columns] if len(columns) > 1 else []
    context["beside"] = _beside(columns) if len(columns) > 1 else []
    if evaluations and phase in columns:
        context["boards"] = columns[phase]
        context["draws"] = {"seed": SEED, "count": REPLICATES} if seen.details else None
        if len(evaluations) > 1:
            code = measured.code_for(visit, one)
            context["history"] = [(past, measured.board_scores(past, seen, code)) for past in evaluations]
    if evaluations and seen.own_cases:
        context |= _cases(request, visit, one, evaluations)
    if visit.organises and row.run is not None:
        context["detail"] = row.run.detail
    response = render(request, "isocenter/submissions/detail.html", context)
    if "HX-Request" in request.headers and not one.active:
        response.headers["HX-Refresh"] = "true"  # who watched it sees its scores now, not its state alone
    return response


def _asked(request: HttpRequest, visit: Visit, one: Submission) -> tuple[str, str]:
    """On which cohort results are asked for: the phase with it, and its name; "" for the phase's own cases."""
    cohort = request.GET.get("cohort", "")
    phase = measured.phase_on(visit, one, cohort)
    if cohort and not visit.sight(phase).own_scores:
        raise PermissionDenied(_COHORT_HIDDEN)
    return phase, cohort


def _columns(visit: Visit, one: Submission) -> dict[str, list[BoardScore]]:
    """The scores by board, with their intervals, on every cohort that may be seen and has scores."""
    found = {}
    for name, scores in measured.by_cohort(visit, [one])[one.pk].items():
        evaluation = evaluation_of(one, split_cohort(name)[1]) if scores else None
        if evaluation is not None:
            found[name] = measured.of(visit, one, evaluation).boards()
    return found


def _beside(columns: dict[str, list[BoardScore]]) -> list[tuple[BoardScore, list[BoardScore | None]]]:
    """A row for every board, with its score on each cohort."""
    by_name = {name: {score.board: score for score in scores} for name, scores in columns.items()}
    boards = {score.board: score for scores in columns.values() for score in scores}
    return [(score, [by_name[name].get(board) for name in columns]) for board, score in boards.items()]


def _with_cases(visit: Visit, one: Submission) -> list[tuple[str, str]]:
    """The cohorts whose cases may be seen, with what they are called; [] where the phase's own are all there is."""
    titles = _cohort_titles(visit, one)
    seen = {name: title for name, title in titles.items() if visit.sight(name).own_cases}
    return [(split_cohort(name)[1], title) for name, title in seen.items()] if len(titles) > 1 else []


def _cohort_titles(visit: Visit, one: Submission) -> dict[str, str]:
    """By name as in "test.holdout", what the cohorts of its phase are called; its own cases by the phase, first."""
    phase = next((found for found in visit.edition.phases if found.name == one.phase), None)
    if phase is None:
        return {one.phase: one.phase}
    titles = [phase.title, *(cohort.title for cohort in phase.cohorts)]
    return {scored.name: title for scored, title in zip(phase.scored, titles, strict=True)}


def _declarations(visit: Visit, one: Submission) -> list[tuple[str, str]]:
    """What was declared, under the questions as they are asked now."""
    labels = {question.name: question.label for question in visit.edition.declarations}
    given = one.declarations or {}
    return [(labels.get(name, name.replace("_", " ")), _said(value)) for name, value in given.items()]


def _said(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _cases(request: HttpRequest, visit: Visit, one: Submission, evaluations: list[Evaluation]) -> dict[str, Any]:
    """The table of cases, the worst first, and the figure of all of them."""
    from isocenter.viewer import worst_first

    now = measured.of(visit, one, evaluations[0])
    metric = now.metric(request.GET.get("by", ""))
    past = next((e for e in evaluations[1:] if str(e.number) == request.GET.get("against", "")), None)
    before = {} if past is None else {case.name: case for case in measured.of(visit, one, past).cases}
    cohort = split_cohort(measured.phase_in(evaluations[0]))[1]
    field = None if metric is None else field_of(visit, one, metric, cohort)
    rows = [_row(case, now, metric, field, before.get(case.name)) for case in worst_first(now.cases, metric)]
    return {
        "metrics": now.metrics,
        "by": metric,
        "cases": rows,
        "with_field": any(row.strip for row in rows),
        "against": past,
        "plot": None if metric is None else _plot(now, metric, field),
        "strata": _strata(one, now, metric) if now.sight.reference and metric is not None else [],
    }


def _row(
    case: CaseScores, now: Measured, metric: Metric | None, field: Field | None, before: CaseScores | None
) -> CaseRow:
    value = None if metric is None or case.state != "measured" else case.value(metric.name)
    old = None if metric is None or before is None or before.state != "measured" else before.value(metric.name)
    return CaseRow(
        name=case.name,
        state={"missing": "no output", "failed": "unusable"}.get(case.state, ""),
        values=[one.show(case.value(one.name) if case.state == "measured" else None) for one in now.metrics],
        strip=strip(field, case.name, value, metric) if metric is not None else SafeString(""),
        before="–" if old is None or metric is None else metric.show(old),
        change="–" if old is None or value is None or metric is None else signed(value - old, metric),
    )


def _plot(now: Measured, metric: Metric, field: Field | None) -> SafeString | None:
    """All cases of the submission, and those of the others where they may be seen."""
    values = [(case.name, value) for case in now.cases if (value := case.value(metric.name)) is not None]
    if len(values) < 2:
        return None
    others = [] if field is None else [(case, value) for case, row in field.values.items() for value in row]

    def draw() -> str:
        from isocenter.report import BoxGroup, boxes_plot, metric_label

        groups = [BoxGroup("This submission", values)]
        if others:
            groups.append(BoxGroup("Other teams", others, note="all cases together"))
        return boxes_plot(
            groups,
            label=metric_label(metric, unit=False),
            unit=metric.unit,
            better=metric.better,
            title=f"{metric_label(metric)} of all cases",
            name="cases",
        )

    return plots.kept("cases", (values, others, metric.name), draw)


def _strata(one: Submission, now: Measured, metric: Metric) -> list[tuple[str, list[tuple[str, int, str]]]]:
    """Means by what the manifest says of cases: for organisers, as it may tell what the reference is."""
    values = {case.name: case.value(metric.name) for case in now.cases if case.state == "measured"}
    names = (one.phase, measured.phase_in(now.evaluation), "")
    facts = {row["case"]: row for row in one.version.cohort if row.get("phase", one.phase) in names}
    found = []
    for column in dict.fromkeys(
        name for row in facts.values() for name in row if name not in ("phase", "case", "weight")
    ):
        groups: dict[str, list[float]] = {}
        for case, value in values.items():
            if value is not None and (label := str(facts.get(case, {}).get(column, ""))):
                groups.setdefault(label, []).append(value)
        if 2 <= len(groups) <= _MOST_STRATA:
            rows = [(label, len(of), metric.show(sum(of) / len(of))) for label, of in sorted(groups.items())]
            found.append((column, rows))
    return found


@door(Door.PERSON)
def file(request: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """What was handed in, back again; who took it is recorded."""
    one = get_object_or_404(visit.submissions(), pk=key)
    path = files.at(one.file)
    if not path.is_file():
        raise Http404
    if request.method == "GET":
        what = f"submission {one.pk}"
        Download.objects.create(
            challenge=visit.challenge, user=request.user, what=what, size=one.size, made=clock.now()
        )
    return FileResponse(path.open("rb"), as_attachment=True, filename=one.name, content_type="application/zip")


@door(Door.PERSON)
def scores(request: HttpRequest, visit: Visit, key: UUID, form: str) -> HttpResponse:
    """The score table, as Parquet or CSV, as far as it may be seen; `?cohort=` names that of a further cohort."""
    from isocenter.server.work.score_tables import table_bytes

    one = get_object_or_404(visit.submissions(), pk=key)
    if form not in ("csv", "parquet"):
        raise Http404
    phase, cohort = _asked(request, visit, one)
    if not visit.sight(phase).own_cases:
        raise PermissionDenied(CASES_HIDDEN)
    evaluation = evaluation_of(one, cohort)
    if evaluation is None:
        raise Http404
    table = measured.of(visit, one, evaluation).table
    if form == "csv":
        stream = io.BytesIO()
        table.with_columns(*_cells()).write_csv(stream)
        content, kind = stream.getvalue(), "text/csv; charset=utf-8"
    else:
        said = {
            name: evaluation.record[name] for name in ("challenge", "isocenter", "code") if name in evaluation.record
        }
        content, kind = table_bytes(table, said), "application/vnd.apache.parquet"
    name = f"{visit.challenge.slug}-{phase.replace('.', '-')}-{one.number}.{form}"
    return HttpResponse(content, kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _cells() -> list[Any]:
    """Texts that a spreadsheet does not take for formulas."""
    import polars as pl

    from isocenter.submissions import as_cell

    return [pl.col(name).map_elements(as_cell, return_dtype=pl.String) for name in ("case", "part")]


@door(Door.PERSON)
def problems(_: HttpRequest, visit: Visit, key: UUID) -> HttpResponse:
    """What was found, as lines of text."""
    from isocenter.problems import report

    one = get_object_or_404(visit.submissions(), pk=key)
    found = [from_row(row) for row in one.problems]
    text = report(found) if found else "Nothing was found."
    name = f"{visit.challenge.slug}-{one.phase}-{one.number}-problems.txt"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(f"{text}\n", "text/plain; charset=utf-8", headers=headers)
