"""`isocenter reads`: how well human readers do on the cases of a challenge."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from isocenter.cli._arguments import ChallengeName, Json, Reference, setting
from isocenter.cli._many import show_table
from isocenter.cli._terminal import problem_dicts, progress

if TYPE_CHECKING:
    from isocenter.readers import PanelResult, ReaderResult, ReaderScores
    from isocenter.stats import Agreement, Interval

_COLUMNS = ("cases", "pos.", "PI-RADS", "sens.", "spec.", "recall", "prec.", "FP/case", "AUROC (95 % interval)")


def reads(
    challenge: ChallengeName,
    table: Annotated[
        Path,
        typer.Argument(
            metavar="READS.csv",
            help="One row per mark: reader,modality,case,score,x,y,z,pirads; LPS millimetres.",
            exists=True,
            dir_okay=False,
        ),
    ],
    *,
    reference: Reference,
    out: Annotated[Path | None, typer.Option(help="Where to write the numbers: .csv or .json.", dir_okay=False)] = None,
    margin_mm: Annotated[
        float, typer.Option(min=0.0, help="How far from a lesion a mark may lie to hit it, mm.")
    ] = 5.0,
    agreement: Annotated[
        bool, typer.Option("--agreement", help="Also say how far the readers agree: kappa and ICC of their PI-RADS.")
    ] = False,
    as_json: Json = False,
) -> None:
    r"""Score human readers: patients and lesions at PI-RADS 3, 4 and 5, AUROC.

    Every reader is scored on the cases that this reader read. The challenge is
    one whose reference has a label volume per case. A read without marks has
    one row, in which x, y, z and pirads are empty; a read of which only the
    PI-RADS of the patient is known has it there, without x, y and z.

    Example: isocenter reads picai2022 reads.csv --reference reference/ \
             --out readers.csv
    """
    from isocenter import __version__, atomic, readers

    which = setting(challenge).challenge
    try:
        readers.label_slot(which)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="CHALLENGE") from None
    if not math.isfinite(margin_mm):
        msg = f"a margin is a distance in mm, not {margin_mm}"
        raise typer.BadParameter(msg, param_hint="--margin-mm")
    if out is not None and (out.suffix not in (".csv", ".json") or out.resolve() == table.resolve()):
        msg = f"{out} should be a file of its own that ends in .csv or .json"
        raise typer.BadParameter(msg, param_hint="--out")
    try:
        found = readers.read_reads(table)
        with progress() as start:
            truth = readers.open_reference(which, reference, cases=set(found.cases), progress=start("reading"))
        scores = readers.score_reads(found, truth, margin_mm=margin_mm)
    except readers.ReadsError as error:
        if as_json:
            typer.echo(json.dumps({"ok": False, "problems": problem_dicts(error.problems)}, indent=2))
        else:
            typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    record = {"challenge": which.name, "isocenter": __version__, "margin_mm": margin_mm}
    agreed = readers.agree_on_pirads(scores) if agreement else {}
    data = {"ok": True, **record, **scores.to_dict()}
    if agreement:
        data["agreement"] = {modality: [one.to_dict() for one in found] for modality, found in agreed.items()}
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if out is not None:
        atomic.write_text(text if out.suffix == ".json" else scores.table().write_csv(), out)
    if as_json:
        typer.echo(text, nl=False)
        return
    _show(scores, title=f"{which.title}: readers")
    _show_agreement(agreed)
    if out is not None:
        typer.echo(f"Written to {out}")


def _show(scores: ReaderScores, *, title: str) -> None:
    from isocenter.problems import printable

    rows = [row for one in scores.readers for row in _rows(one.reader, one, _interval(one.auroc))]
    rows += [row for panel in scores.panels for row in _rows(f"mean of {panel.readers}", panel, _number(panel.auroc))]
    columns = ["reader", "modality", *_COLUMNS]
    if not any(one.modality for one in scores.readers):
        columns, rows = [columns[0], *columns[2:]], [[row[0], *row[2:]] for row in rows]
    show_table(title, columns, [[printable(cell) for cell in row] for row in rows])
    for one in scores.readers:
        who = f"{one.reader} ({one.modality})" if one.modality else one.reader
        for what, why in one.undefined.items():
            typer.echo(printable(f"{who}: no {what}: {why}."))
    for remark in scores.remarks:
        typer.echo(printable(remark))


def _show_agreement(agreed: Mapping[str, Sequence[Agreement]]) -> None:
    from isocenter.problems import printable

    for modality, found in agreed.items():
        typer.echo(printable(f"Agreement of PI-RADS{f', {modality}' if modality else ''}:"))
        for line in [str(one) for one in found] or ["There are no two readers of the same cases."]:
            typer.echo(printable(f"  {line}"))


def _rows(name: str, one: ReaderResult | PanelResult, area: str) -> list[list[str]]:
    """A row for every operating point; what is the same in all of them stands in the first."""
    first, *others = ([f"≥ {threshold}", *map(_number, point)] for threshold, point in one.points.items())
    rest = [["", "", "", "", *row, ""] for row in others]
    return [[name, one.modality, str(one.cases), str(one.positives), *first, area], *rest]


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3f}"


def _interval(area: Interval) -> str:
    return _number(area.value) + ("" if math.isnan(area.low) else f" ({_number(area.low)}–{_number(area.high)})")
