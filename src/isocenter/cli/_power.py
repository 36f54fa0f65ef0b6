"""`isocenter power`: how many readers and cases a reader study needs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from isocenter.cli._arguments import Json
from isocenter.cli._power_source import Source, open_source
from isocenter.cli._tables import csv_text, give_up, refuse_out, write_out
from isocenter.cli._terminal import progress

if TYPE_CHECKING:
    from isocenter.stats import Design, PowerGrid, SimulatedPower

# Differences by reader, negative and positive case of a simulated study: half a gigabyte.
_MOST_DRAWN = 1 << 26


def power(
    *,
    components: Annotated[
        Path | None,
        typer.Option(
            help="Variance components of the difference (.json): N, D, ND, R, NR, DR, RND.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    pilot: Annotated[
        Path | None,
        typer.Option(
            help="Or the reads of a pilot of two modalities, as `isocenter mrmc` takes them.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    readers: Annotated[str, typer.Option(help="Numbers of readers.")] = "20,40,60",
    cases: Annotated[str, typer.Option(help="Numbers of cases.")] = "200,400",
    ratio: Annotated[str, typer.Option(help="Negative to positive cases; several with commas.")] = "70:30",
    blocks: Annotated[str, typer.Option(help="Numbers of blocks that readers and cases are dealt to.")] = "1",
    effect: Annotated[
        float | None, typer.Option(help="The true difference of AUCs.", show_default="0.05, or 0 with --margin")
    ] = None,
    margin: Annotated[
        float, typer.Option(min=0.0, help="Above 0: power to show non-inferiority by this margin.")
    ] = 0.0,
    alpha: Annotated[float, typer.Option(help="Of the two-sided test.")] = 0.05,
    simulate: Annotated[
        int, typer.Option(min=0, max=1_000_000, help="Also play each design so many times, at least 2; 0: do not.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of the simulation.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Also write the grid: .csv or .json.", dir_okay=False)] = None,
    as_json: Json = False,
) -> None:
    r"""Say how likely a reader study of some size shows what it is made to show.

    All readers and cases are the same in both modalities, unless a pilot has
    others in each. In several blocks, readers read the cases of their own block
    only. With a pilot, degrees of freedom are estimated; components without
    `biased` ones take the normal distribution.

    Example: isocenter power --pilot reads.csv --readers 20,40 \
             --cases 200,400 --ratio 70:30,60:40 --blocks 1,4 --effect 0.05
    """
    from isocenter.stats import power_grid

    refuse_out(out, [], components, pilot)
    true = effect if effect is not None else 0.0 if margin else 0.05
    if not (math.isfinite(true) and math.isfinite(margin) and 0 < alpha < 1 and true + margin > 0):
        msg = f"effect + margin is above 0 and alpha within 0 and 1; found {true}, {margin} and {alpha}"
        raise typer.BadParameter(msg, param_hint="--effect, --margin, --alpha")
    if simulate == 1:
        msg = "a single study has no spread; at least 2 are played, or none with 0"
        raise typer.BadParameter(msg, param_hint="--simulate")
    grid = _designs(readers, cases, ratio, blocks, divisible=simulate > 0)
    source = open_source(components, pilot, as_json=as_json)
    if simulate and source.apart:
        msg = (
            "only studies whose readers and cases are the same in both modalities can be played, and the pilot's differ"
        )
        raise typer.BadParameter(msg, param_hint="--simulate")
    try:
        found = power_grid(
            source.components, source.dealt(grid), effect=true, margin=margin, alpha=alpha, biased=source.biased
        )
    except ValueError as error:
        give_up(f"{source.name}: {error}", source.remarks)
    played = _played(found, source, simulate, seed) if simulate else []
    text = json.dumps(_data(found, source, played), indent=2, ensure_ascii=False) + "\n"
    if out is not None:
        write_out({"--out": (out, text if out.suffix == ".json" else _csv(found, played))})
    if as_json:
        typer.echo(text, nl=False)
    else:
        typer.echo(_text(found, played))
        if out is not None:
            typer.echo(f"Written to {out}")
    for remark in source.remarks:
        typer.echo(remark, err=True)


def _numbers(text: str, option: str) -> list[int]:
    try:
        found = [int(number) for number in text.split(",")]
    except ValueError:
        found = []
    if not found or min(found) < 1:
        msg = f"{text!r} should be whole numbers above 0 with commas between them, for example 20,40"
        raise typer.BadParameter(msg, param_hint=option)
    return found


def _ratios(text: str) -> list[tuple[float, float]]:
    """Shares of negative and positive cases."""
    found = []
    for part in text.split(","):
        try:
            negative, positive = (float(number) for number in part.split(":"))
        except ValueError:
            negative, positive = 0.0, 0.0
        if not (negative > 0 and positive > 0 and math.isfinite(negative + positive)):
            msg = f"{part!r} should be negative to positive cases, for example 70:30"
            raise typer.BadParameter(msg, param_hint="--ratio")
        found.append((negative / (negative + positive), positive / (negative + positive)))
    return found


def _designs(readers: str, cases: str, ratio: str, blocks: str, *, divisible: bool) -> list[Design]:
    """All combinations; one error for all that are no studies."""
    from isocenter.stats import designs

    of_readers, of_cases = _numbers(readers, "--readers"), _numbers(cases, "--cases")
    of_blocks = _numbers(blocks, "--blocks")
    split = [
        (number - round(number * share), round(number * share)) for _, share in _ratios(ratio) for number in of_cases
    ]
    found: list[Design] = []
    problems: dict[str, None] = {}
    for g in of_blocks:
        for pair in split:
            for r in of_readers:
                try:
                    found += designs(readers=[r], cases=[pair], blocks=[g])
                except ValueError as error:
                    problems[str(error)] = None
    if divisible:
        uneven = [design for design in found if any(number % design.blocks for number in design.per_modality)]
        problems |= dict.fromkeys(f"cannot be simulated, as blocks would differ in size: {one}" for one in uneven)
        large = [one for one in found if math.prod(one.per_modality) / one.blocks**2 > _MOST_DRAWN]
        problems |= dict.fromkeys(f"too large to be simulated: {one}" for one in large)
    if problems:
        raise typer.BadParameter("; ".join(problems), param_hint="--readers, --cases, --blocks")
    return found


def _played(grid: PowerGrid, source: Source, replicates: int, seed: int) -> list[SimulatedPower]:
    """Each design simulated; a variance below 0, which cannot be drawn with, is taken for 0."""
    from dataclasses import asdict, replace

    from isocenter.stats import VarianceComponents, simulated_power

    components = source.components
    assert isinstance(components, VarianceComponents)
    below = [name for name, value in asdict(components).items() if value < 0]
    if below:
        source.remarks.append(f"Simulated with 0 for components below 0: {', '.join(name.upper() for name in below)}.")
    drawn = replace(components, **dict.fromkeys(below, 0.0))
    found = []
    with progress() as start:
        move = start("playing studies")
        for number, row in enumerate(grid.rows):
            move(number, len(grid.rows), str(row.design))
            found.append(
                simulated_power(
                    drawn,
                    row.design,
                    effect=row.effect,
                    margin=row.margin,
                    alpha=row.alpha,
                    replicates=replicates,
                    seed=seed,
                )
            )
        move(len(grid.rows), len(grid.rows), "")
    return found


def _data(grid: PowerGrid, source: Source, played: list[SimulatedPower]) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        "ok": True,
        "file": source.name,
        "components": asdict(source.components),
        "biased": None if source.biased is None else asdict(source.biased),
        **grid.to_dict(),
        "simulated": [one.to_dict() for one in played],
    }


def _text(grid: PowerGrid, played: list[SimulatedPower]) -> str:
    """The grid; beside the power that of the simulation, with its standard error."""
    lines = str(grid).splitlines()
    if not played:
        return "\n".join(lines)
    cells = ["simulated", *(f"{one.power:.2f} ± {one.monte_carlo_error:.2f}" for one in played)]
    first = len(lines) - len(cells)
    return "\n".join([*lines[:first], *(f"{a}  {b:>11}" for a, b in zip(lines[first:], cells, strict=True))])


def _csv(grid: PowerGrid, played: list[SimulatedPower]) -> str:
    import polars as pl

    rows = []
    for number, row in enumerate(grid.rows):
        of = row.design
        cells = {
            "cases": of.negatives + of.positives,
            "negatives": of.negatives,
            "positives": of.positives,
            "blocks": of.blocks,
            "readers": of.readers,
            "effect": row.effect,
            "margin": row.margin,
            "alpha": row.alpha,
            "standard_error": row.standard_error,
            "df": None if math.isinf(row.df) else row.df,
            "power": row.power,
        }
        if played:
            one = played[number]
            cells |= {"simulated_power": one.power, "monte_carlo_error": one.monte_carlo_error}
        rows.append(cells)
    return csv_text(pl.DataFrame(rows, infer_schema_length=None))
