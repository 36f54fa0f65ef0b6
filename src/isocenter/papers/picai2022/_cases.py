"""Who is out and why; how the best teams do in groups of cases; a lesion found and a lesion missed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from isocenter.detections import Detections
from isocenter.evaluation import depict
from isocenter.papers._words import anchor, counted
from isocenter.papers.picai2022._given import Given
from isocenter.readers import describe_error
from isocenter.report import Block, Cell, Chart, Paragraph, Section, case_figures, table
from isocenter.stats import detection_subgroups

_TEAMS = 10  # in tables of groups
_MOST_GROUPS = 8
_MOST_COLUMNS = 4
_GRADE = "grade"


def disqualified(given: Given) -> Section:
    """How many submissions are out, and why; boards do not list them, and neither does a report."""
    out = given.study.disqualified
    text = "Nobody is disqualified: every submission has a usable output for every case."
    if out:
        missing, failed = sum(row.missing > 0 for row in out), sum(row.failed > 0 for row in out)
        text = (
            f"Disqualified, and on no board: {counted(len(out), 'submission')}. Without an output for at least one "
            f"case: {missing}; with an output that could not be measured: {failed}."
        )
    return Section("disqualified", "Disqualified submissions", (Paragraph(text),))


def groups(given: Given) -> Section:
    """AUROC and average precision by grade of the lesions, and by the facts of cases.csv."""
    blocks: list[Block] = []
    facts = given.study.folder.facts()
    first = given.teams[given.best]
    for number, by in enumerate((_GRADE, *_columns(facts, first[0]))):
        try:
            parts = detection_subgroups(first, facts, by=by)
        except ValueError as error:
            if by != _GRADE:
                blocks.append(Paragraph(f"No groups by {by}: {describe_error(error)}.", note=True))
            continue
        # A fact that is the truth itself, such as the grade of the biopsy, makes groups of which no AUROC is known.
        if any("auroc" not in part[0].undefined for part in parts.values()):
            blocks.append(_groups(given, facts, by, name=anchor(f"groups-{number}-{by}" if number else "groups-grade")))
    if not any(not isinstance(block, Paragraph) for block in blocks):
        text = "Groups of cases need grades in the reference, or a table cases.csv with a column that forms groups."
        blocks.append(Paragraph(text, note=True))
    return Section("groups", "Groups of patients and lesions", tuple(blocks))


def _columns(facts: Mapping[str, Mapping[str, str]], found: Detections) -> list[str]:
    """The facts that form a few groups; numbers of many values do not."""
    names = dict.fromkeys(name for case in found.cases for name in facts.get(case, {}))
    texts = {name: {facts.get(case, {}).get(name, "") for case in found.cases} for name in names}
    return [name for name in names if 1 < len(texts[name]) <= _MOST_GROUPS and name not in ("weight", _GRADE)][
        :_MOST_COLUMNS
    ]


def _groups(given: Given, facts: Mapping[str, Mapping[str, str]], by: str, *, name: str) -> Block:
    teams = list(given.teams)[:_TEAMS]
    found = {team: detection_subgroups(given.teams[team], facts, by=by) for team in teams}
    columns: list[str] = []
    rows: list[list[str | Cell]] = []
    for group, instances in found[teams[0]].items():
        one = instances[0]
        columns.append(f"{group or 'unknown'} ({int(one.truth.sum())} of {len(one.cases)} ill) #")
    for team in teams:
        cells = [_pair(found[team].get(group, [])) for group in found[teams[0]]]
        rows.append([team, *cells])
    what = "grade of the lesions" if by == _GRADE else by
    extra = " Of a grade: patients whose highest grade it is, and all without a lesion." if by == _GRADE else ""
    shown = f" The first {_TEAMS} of the board." if len(given.teams) > _TEAMS else ""
    return table(
        name,
        f"AUROC of the patients / average precision of the lesions by {what}.{extra}{shown}",
        ["Team", *columns],
        rows,
        notes=["Of trained instances the mean; – where patients are all ill or all healthy, or have no lesion."],
    )


def _pair(instances: Sequence[Detections]) -> Cell:
    if not instances:
        return Cell("–")
    auroc, precision = (
        float(np.mean([getattr(one, name) for one in instances])) for name in ("auroc", "average_precision")
    )
    shown = [f"{value:.3f}" if math.isfinite(value) else "–" for value in (auroc, precision)]
    return Cell(" / ".join(shown), auroc if math.isfinite(auroc) else None)


def lesions(given: Given) -> Section:
    """What the best team found, and what it missed; where it missed nothing, what the next one did."""
    return Section("lesions", "A lesion that was found, and one that was missed", tuple(_pictures(given)))


def _pictures(given: Given) -> Iterator[Block]:
    study, reference = given.study, given.study.folder.file("reference")
    teams = {team: found[0] for team, found in given.teams.items() if team in study.outputs}
    if reference is None or not teams:
        text = "Pictures of lesions need the organisers' files in reference/ and those of teams in submissions/."
        yield Paragraph(text, note=True)
        return
    for which, chosen in (("found", _found), ("missed", _missed)):
        team, at = next(((team, at) for team, one in teams.items() if (at := chosen(one)) is not None), ("", 0))
        if not team:
            yield Paragraph(f"No lesion was {which} by any team whose files are there.", note=True)
            continue
        one, outputs = teams[team], study.outputs[team].outputs
        case = one.cases[one.case[at]]
        assert outputs is not None
        try:
            picture = depict(study.challenge, reference=reference, submission=outputs, case=case)
        except (ValueError, OSError) as error:
            yield Paragraph(f"Case {case} cannot be drawn: {describe_error(error)}.", note=True)
            continue
        sure = f", likelihood {one.confidence[at]:.2f}, IoU {one.iou[at]:.2f}" if which == "found" else ""
        for figure in case_figures(picture, case=case, team=team, name=f"picai-{which}"):
            caption = f"A lesion{_grade(one, at)} that {team} {which}, in case {case}{sure}. {figure.caption}"
            yield Chart(anchor(f"lesion-{figure.name}"), caption, figure.picture)


def _found(one: Detections) -> int | None:
    """The row of the surest find."""
    hit = np.flatnonzero(one.is_lesion & (one.confidence > 0))
    return int(hit[np.lexsort((-one.iou[hit], -one.confidence[hit]))[0]]) if hit.size else None


def _missed(one: Detections) -> int | None:
    """The row of the missed lesion of the highest grade."""
    gone = np.flatnonzero(one.is_lesion & (one.confidence == 0))
    return int(gone[np.argsort(-np.nan_to_num(one.grade[gone]), kind="stable")[0]]) if gone.size else None


def _grade(found: Detections, at: int) -> str:
    return "" if math.isnan(found.grade[at]) else f" of grade {found.grade[at]:g}"
