"""`isocenter findings`: one submission of a challenge of detection, looked at closely."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isocenter.cli._arguments import ChallengeName, Json, setting
from isocenter.cli._many import show_table
from isocenter.cli._terminal import Move, progress

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isocenter.stats import DetectionSummary, Interval


def findings(
    challenge: ChallengeName,
    table: Annotated[
        Path, typer.Argument(metavar="TABLE", help="A score table, as `isocenter score` wrote it.", exists=True)
    ],
    *,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Also in groups of cases: by a column of --cases, or by grade; may be repeated."),
    ] = None,
    cases: Annotated[
        Path | None,
        typer.Option(help="A table of facts (CSV) with a column `case`: the reference's cases.csv.", exists=True),
    ] = None,
    replicates: Annotated[
        int, typer.Option(min=0, help="How often cases are drawn for the intervals; 0: none.")
    ] = 10_000,
    level: Annotated[float, typer.Option(min=0.5, max=0.999, help="The coverage of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(min=0, help="Of the draws.")] = 0,
    stratified: Annotated[
        bool, typer.Option("--stratified", help="Keep the number of positive cases in each draw.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Also write ROC, precision–recall and FROC curves as a page.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Also write all numbers as JSON.")] = None,
    as_json: Json = False,
) -> None:
    r"""Say all that is commonly said of lesions found and patients diagnosed.

    AUROC with two intervals, by drawing cases and by DeLong; average precision;
    sensitivity at false positives per case; specificity at a sensitivity; how
    well lesions are covered; and the same in subgroups.

    Example: isocenter findings picai2022 team.parquet \
             --cases reference/cases.csv --by center --by grade
    """
    from isocenter import atomic, report, scores
    from isocenter.evaluation import available_cores, read_facts
    from isocenter.ranking import capabilities_of
    from isocenter.stats import detection_subgroups, summarise_detections

    which = setting(challenge).challenge
    for option, path, suffix in (("--out", out, ".json"), ("--html", html, ".html")):
        if path is not None and (path.is_dir() or path.suffix != suffix):
            msg = f"{path} should be a file that ends in {suffix}"
            raise typer.BadParameter(msg, param_hint=option)
    rule = next((rule for rule in map(capabilities_of, which.boards.values()) if rule.has_findings), None)
    if rule is None:
        msg = f"{which.name} is no challenge of detection"
        raise typer.BadParameter(msg, param_hint="CHALLENGE")
    maker = scores.read_record(table).get("challenge", which.name)
    if maker != which.name:
        typer.echo(f"{table} holds scores of {maker}, not of {which.name}", err=True)
        raise typer.Exit(1)
    try:
        instances = list(rule.findings(scores.read(table)).values())
        facts = read_facts(cases) if cases is not None else {}
        groups = {
            f"{column} {name}": found
            for column in by or ()
            for name, found in detection_subgroups(instances, facts, by=column).items()
        }
    except ValueError as error:
        typer.echo(f"{table}: {error}", err=True)
        raise typer.Exit(1) from None
    summaries: dict[str, DetectionSummary] = {}
    with progress() as start:
        move = start("drawing cases")
        for number, (name, found) in enumerate({"all cases": instances, **groups}.items()):
            summaries[name] = summarise_detections(
                found,
                replicates=replicates,
                level=level,
                seed=seed,
                strata="truth" if stratified else None,
                workers=available_cores(),
                progress=_moved(move, name, number, 1 + len(groups)),
            )
    data = {"challenge": which.name, "table": table.name, "level": level, "seed": seed, "replicates": replicates}
    data["groups"] = {name: summary.to_dict() for name, summary in summaries.items()}
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if out is not None:
        atomic.write_text(text, out)
    if html is not None:
        figures = report.detection_figures({table.stem: instances})
        atomic.write_text(report.pictures_page(which.title, figures, subtitle=table.stem), html)
    if as_json:
        typer.echo(text, nl=False)
    else:
        _show(f"{which.title}: {table.name}", summaries, level=level, stratified=stratified)
        for path in (out, html):
            if path is not None:
                typer.echo(f"Written to {path}")


def _moved(move: Move, name: str, before: int, groups: int) -> Any:
    def moved(done: int, total: int) -> None:
        move(before * total + done, groups * total, name)

    return moved


def _show(title: str, summaries: Mapping[str, DetectionSummary], *, level: float, stratified: bool) -> None:
    everything = summaries["all cases"]
    counted = f"{everything.cases} cases, {everything.positives} positive, {everything.lesions} lesions"
    if everything.instances > 1:
        counted += f"; mean over {everything.instances} trained instances"
    rows = []
    for name, one in summaries.items():
        drawn = one.intervals
        bounds = (drawn.auroc, drawn.average_precision, drawn.score) if drawn else (None, None, None)
        values = (one.auroc, one.average_precision, one.score)
        cells = [_cell(value, interval) for value, interval in zip(values, bounds, strict=True)]
        rows.append([name, str(one.cases), str(one.positives), str(one.lesions), *cells])
    show_table(f"{title} ({counted})", ["", "cases", "positive", "lesions", "AUROC", "AP", "score"], rows)
    for name, one in summaries.items():
        if one.undefined:
            typer.echo(f"{name}: {one.undefined}")
    if everything.intervals and everything.intervals.delong:
        typer.echo(f"AUROC with DeLong's interval: {_cell(everything.auroc, everything.intervals.delong)}")
    if everything.intervals:
        drawn = everything.intervals
        typer.echo(
            f"Intervals: {100 * level:g} %, {drawn.replicates:,} draws of the cases with replacement"
            f"{', as many positive ones in each' if stratified else ''}, seed {drawn.seed}; {drawn.redrawn:,} drawn "
            "again because they defined no score."
        )
    found = ", ".join(f"{value:.3f} at {rate:g}" for rate, value in everything.sensitivity_at.items())
    typer.echo(f"Sensitivity for lesions by false positives per case: {found}; CPM {everything.cpm:.3f}")
    specific = ", ".join(f"{value:.3f} at {least:g}" for least, value in everything.specificity_at.items())
    typer.echo(f"Specificity for patients by sensitivity: {specific}")
    covered = everything.congruence
    if covered.found:
        typer.echo(
            f"IoU of {covered.found} lesions found: median {covered.median:.3f}, quartiles {covered.lower:.3f} and "
            f"{covered.upper:.3f}; {100 * covered.half:.0f} % reach 0.5"
        )


def _cell(value: float, interval: Interval | None) -> str:
    shown = "–" if value != value else f"{value:.3f}"  # noqa: PLR0124 (NaN)
    return shown if interval is None else f"{shown} [{interval.low:.3f}, {interval.high:.3f}]"
