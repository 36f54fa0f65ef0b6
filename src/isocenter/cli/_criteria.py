"""`isocenter criteria`: the DVH criteria of a submission against those of the reference, one by one."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from isocenter.cli._arguments import ChallengeName, Json, Phase
from isocenter.cli._entries import Opened, TeamTables, open_contest
from isocenter.cli._many import show_table
from isocenter.cli._tables import csv_text, give_up, refuse_out, write_out

if TYPE_CHECKING:
    import polars as pl

    from isocenter.stats import ShiftedMannWhitney

_Adjust = Literal["none", "holm", "bh"]
_SIDES = ("dvh_value", "dvh_reference")
_NAMED = 5
_ADJUSTED = {"none": "p is not adjusted", "holm": "p adjusted by Holm", "bh": "p adjusted by Benjamini and Hochberg"}


def criteria(
    challenge: ChallengeName,
    tables: TeamTables,
    *,
    margin: Annotated[float, typer.Option(help="How much worse a criterion may be and still pass, Gy.")] = 2.1,
    adjust: Annotated[_Adjust, typer.Option(help="How p is adjusted for the criteria of a submission.")] = "none",
    phase: Phase = None,
    out: Annotated[Path | None, typer.Option(help="Also write the tests: .csv or .json.", dir_okay=False)] = None,
    as_json: Json = False,
) -> None:
    r"""Test whether predicted DVH criteria are not worse than the reference's.

    A one-sided Mann-Whitney test per structure and criterion, of values shifted
    by the margin. D_95 and D_99 of targets should be high; their D_1, and all
    of organs at risk, low. The paper compared different patients; here both
    sides are of the same ones, which the test does not use: p is rather large.

    Example: isocenter criteria openkbp2020 radlab=radlab.parquet \
             --adjust holm --out criteria.csv
    """
    refuse_out(out, tables)
    if not 0 < margin < math.inf:
        msg = f"a margin is finite and above 0 (it says how much worse is accepted), not {margin}"
        raise typer.BadParameter(msg, param_hint="--margin")
    opened = open_contest(challenge, tables, phase=phase)
    if not set(_SIDES) <= set(opened.challenge.metrics):
        msg = f"{opened.challenge.name} measures no DVH criteria of reference and submission"
        raise typer.BadParameter(msg, param_hint="CHALLENGE")
    pairs, problems = _pairs(opened.scores)
    if problems:
        give_up("\n".join(problems), opened.remarks)
    rows, versions = _tested(pairs, margin=margin, adjust=adjust)
    data = {
        "challenge": opened.challenge.name,
        "margin": margin,
        "unit": "Gy",
        "adjust": adjust,
        "rows": rows,
        "versions": versions,
    }
    text = json.dumps(data, indent=2, ensure_ascii=False) + "\n"
    if out is not None:
        write_out({"--out": (out, text if out.suffix == ".json" else _csv(data))})
    if as_json:
        typer.echo(text, nl=False)
    else:
        _show(opened, data)
        if out is not None:
            typer.echo(f"Written to {out}")
    for remark in (*opened.remarks, *_left_out(opened.scores)):
        typer.echo(remark, err=True)


def _better() -> dict[str, Literal["higher", "lower"]]:
    """By part of the table, in the order to show: targets are to be covered, and nothing is to be hot."""
    from isocenter.challenges.openkbp2020 import ORGANS, TARGETS

    of_targets: dict[str, Literal["higher", "lower"]] = {"D_99": "higher", "D_95": "higher", "D_1": "lower"}
    found = {f"{target}|{criterion}": side for target in TARGETS for criterion, side in of_targets.items()}
    return found | {f"{organ}|{criterion}": "lower" for organ in ORGANS for criterion in ("D_0.1_cc", "mean")}


def _pairs(scores: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """One row per team, case and part with the values of both sides, and all that is wrong with them."""
    import polars as pl

    from isocenter.problems import printable

    keys, known = ["submission", "case", "part"], _better()
    value, reference = (
        scores.filter((pl.col("metric") == metric) & (pl.col("part") != "") & pl.col("value").is_not_null()).select(
            *keys, pl.col("value").alias(metric)
        )
        for metric in _SIDES
    )
    pairs = value.join(reference, on=keys, how="full", coalesce=True, maintain_order="left_right")
    problems = []
    for team in scores["submission"].unique(maintain_order=True):
        own = pairs.filter(pl.col("submission") == team)
        if own.is_empty():
            problems.append(f"{team}: the table has no values of {' and '.join(_SIDES)}; score the submission again")
        for metric in _SIDES:
            lone = own.filter(pl.col(metric).is_null())
            for case, part in lone.select("case", "part").head(1).iter_rows():
                problems.append(f"{team}: {lone.height} criteria have no {metric}, the first is {part} of {case}")
        if unknown := [part for part in own["part"].unique(maintain_order=True) if part not in known]:
            named = ", ".join(map(printable, unknown[:_NAMED])) + (" …" if len(unknown) > _NAMED else "")
            problems.append(f"{team}: {named}: no criterion of OpenKBP, such as {next(iter(known))}")
    return pairs, problems


def _left_out(scores: pl.DataFrame) -> list[str]:
    import polars as pl

    absent = scores.filter(pl.col("metric").is_in(["missing", "failed"]) & (pl.col("value") > 0))
    found = absent.group_by("submission", maintain_order=True).agg(pl.col("case").unique(maintain_order=True))
    return [f"{team}: {', '.join(cases)} missing or failed, and in no test." for team, cases in found.iter_rows()]


def _tested(pairs: pl.DataFrame, *, margin: float, adjust: _Adjust) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """A test per team and criterion, those of a team adjusted together; and the software that made them."""
    from isocenter import stats
    from isocenter.metrics import catalogue

    decimals = catalogue.get("dvh_value").decimals
    rows: list[dict[str, Any]] = []
    versions: dict[str, str] = {}
    for team, own in pairs.partition_by("submission", as_dict=True).items():
        by_part = own.partition_by("part", as_dict=True)
        tests = {
            part: stats.shifted_mann_whitney(
                found["dvh_value"], found["dvh_reference"], margin=margin, better=better, decimals=decimals
            )
            for part, better in _better().items()
            if (found := by_part.get((part,))) is not None
        }
        versions = next(iter(tests.values())).to_dict()["versions"]
        adjusted = stats.adjust([test.p for test in tests.values()], adjust).tolist()
        rows += [
            {"team": team[0], **_row(part, test), "adjusted_p": p}
            for (part, test), p in zip(tests.items(), adjusted, strict=True)
        ]
    return rows, versions


def _row(part: str, test: ShiftedMannWhitney) -> dict[str, Any]:
    structure, _, criterion = part.partition("|")
    return {
        "structure": structure,
        "criterion": criterion,
        "better": test.better,
        "n": test.size_a,
        "reference": test.median_b,
        "submission": test.median_a,
        "difference": test.difference,
        "statistic": test.statistic,
        "method": test.method,
        "p": test.p,
    }


def _csv(data: dict[str, Any]) -> str:
    import polars as pl

    kept = ("challenge", "margin", "adjust")
    return csv_text(pl.DataFrame([{**{name: data[name] for name in kept}, **row} for row in data["rows"]]))


def _show(opened: Opened, data: dict[str, Any]) -> None:
    from isocenter.problems import printable

    columns = ["criterion", "better", "n", "reference [Gy]", "submission [Gy]", "difference", "p", "adjusted p"]
    for team in dict.fromkeys(row["team"] for row in data["rows"]):
        cells = [
            [
                f"{row['structure']} {row['criterion']}",
                row["better"],
                str(row["n"]),
                f"{row['reference']:.2f}",
                f"{row['submission']:.2f}",
                f"{row['difference']:+.2f}",
                _p(row["p"]),
                _p(row["adjusted_p"]),
            ]
            for row in data["rows"]
            if row["team"] == team
        ]
        if data["adjust"] == "none":
            cells = [row[:-1] for row in cells]
        title = printable(f"{opened.challenge.title}: {team}")
        show_table(title, columns[: len(cells[0])], cells)
    methods = sorted({row["method"] for row in data["rows"]})
    typer.echo(
        f"Medians; p of non-inferiority with a margin of {data['margin']:g} Gy: Mann–Whitney test, one-sided, of "
        f"values shifted by the margin ({' or '.join(methods)}); {_ADJUSTED[data['adjust']]}.\n"
        "Both sides are of the same patients and tested as if independent, so p is rather too large."
    )


def _p(p: float) -> str:
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"
