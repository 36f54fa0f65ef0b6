"""The page of a case: the list of all, what was measured, and the place where its volumes are drawn."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import jinja2

from isocenter.metrics import Metric, catalogue
from isocenter.viewer._order import CaseScores, worst_first, yardstick, yardsticks
from isocenter.viewer._session import Look, Session

# What no HTML file may hold as a character: control characters, and halves of characters, which have no UTF-8.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_STATES = {"missing": "no output", "failed": "unusable"}
_FINDINGS = ("lesion", "lesion_confidence", "lesion_iou", "lesion_grade")


@dataclass(frozen=True, slots=True)
class _Row:
    """A case in the list."""

    name: str
    href: str
    shown: str
    state: str


def case_page(session: Session, case: str | None, *, root: str, by: str = "", problem: str = "") -> str:
    """The page of a case; with None, of no case: the list alone, and what the problem is.

    Parameters
    ----------
    root
        The address under which everything lies, "/token/".
    by
        The metric to sort by; what the main board ranks by if it is none of the challenge's.
    """
    metrics = yardsticks(session.challenge)
    metric = yardstick(session.challenge, by)
    rows = [_row(item, metric, root, by=by) for item in worst_first(session.cases.values(), metric)]
    at = next((number for number, row in enumerate(rows) if row.name == case), None)
    scores = session.cases.get(case) if case is not None else None
    look = session.look(case) if case is not None and scores is not None else Look(None)
    return _fill(
        root=root,
        title=session.challenge.title,
        team=session.team,
        case=case,
        place=None if at is None else at + 1,
        rows=rows,
        before=rows[at - 1] if at else None,
        after=rows[at + 1] if at is not None and at + 1 < len(rows) else None,
        by=metric,
        metrics=metrics,
        label=label,
        problem=problem,
        look=look,
        dvh=[figure for figure in look.figures if figure.name.endswith("-dvh")],
        stills=[figure for figure in look.figures if not figure.name.endswith("-dvh")],
        structures=[] if look.sight is None else [layer for layer in look.sight.layers if layer.role == "structure"],
        images=[] if look.sight is None else [layer for layer in look.sight.layers if layer.role == "image"],
        data=f"{root}case/{quote(case or '', safe='')}/",
        problems=() if scores is None else scores.problems,
        whole=[] if scores is None else _whole(scores, session),
        findings=[] if scores is None else _findings(scores),
        parts=None if scores is None else _parts(scores),
    )


def label(metric: Metric) -> str:
    """A metric's name for readers, with its unit: "dose error (Gy)"."""
    name = metric.name.replace("_", " ")
    return f"{name} ({metric.unit})" if metric.unit else name


def _row(case: CaseScores, metric: Metric | None, root: str, *, by: str) -> _Row:
    query = f"?by={quote(by, safe='')}" if by else ""
    shown = "" if metric is None or case.state != "measured" else metric.show(case.value(metric.name))
    return _Row(case.name, f"{root}case/{quote(case.name, safe='')}{query}", shown, _STATES.get(case.state, ""))


def _whole(case: CaseScores, session: Session) -> list[tuple[Metric, str]]:
    """Numbers of the whole case: those that can be sorted by, then observations."""
    listed = list(yardsticks(session.challenge))
    known = {metric.name for metric in listed}
    others = [catalogue.get(name) for name in case.values.get("", {}) if name not in (*known, *_STATES, "failed")]
    shown = [(metric, metric.show(case.value(metric.name))) for metric in (*listed, *others)]
    return shown if case.state == "measured" else []


def _findings(case: CaseScores) -> list[dict[str, str]]:
    """Lesions and false positives, the most likely first; lesions that were missed come first of all."""
    found = []
    for part, values in case.values.items():
        if "lesion" not in values:
            continue
        lesion, given = bool(values["lesion"]), values.get("lesion_confidence") or 0.0
        overlap, grade = values.get("lesion_iou") or 0.0, values.get("lesion_grade")
        missed = lesion and overlap == 0
        what = ("Lesion" + (f", grade {grade:g}" if grade is not None else "")) if lesion else "False positive"
        outcome = "missed" if missed else f"found, IoU {overlap:.2f}" if lesion else "no lesion there"
        instance = part.rpartition("#")[0]
        row = {"what": what, "outcome": outcome, "likelihood": "–" if missed else f"{given:.3f}", "by": instance}
        found.append((not missed, -given, row))
    return [row for *_, row in sorted(found, key=lambda item: item[:2])]


def _parts(case: CaseScores) -> dict[str, Any] | None:
    """A table of what was measured of parts of the case: a row for each, a column for each metric."""
    rows: dict[str, Mapping[str, float | None]] = {
        part: {name: value for name, value in values.items() if name not in _FINDINGS}
        for part, values in case.values.items()
        if part
    }
    rows = {part: values for part, values in rows.items() if values}
    columns = [catalogue.get(name) for name in dict.fromkeys(name for values in rows.values() for name in values)]
    if not columns:
        return None
    table = [
        (
            part.replace("|", " "),
            [metric.show(values[metric.name]) if metric.name in values else "" for metric in columns],
        )
        for part, values in rows.items()
    ]
    return {"columns": columns, "rows": table}


def _fill(**values: Any) -> str:
    """The page from its template: everything put into it is escaped, and a value that nobody gave is an error."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("isocenter.viewer", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", environment.get_template("case.html.j2").render(**values))
