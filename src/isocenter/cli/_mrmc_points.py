"""What `isocenter mrmc` does beside the analysis: operating points, panels of readers, and draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import typer

if TYPE_CHECKING:
    import polars as pl

    from isocenter.stats import AgainstPanel, ReaderPanels
    from isocenter.stats.mrmc import BootstrapCheck


@dataclass(frozen=True)
class Beside:
    """What is asked for beside the analysis.

    Attributes
    ----------
    reference
        The panel that algorithms are compared with.
    points
        Ratings from which on readers call.
    lesions, panels
        Files.
    margin, preset, level
        As for the analysis.
    readers, fixed, bootstrap, seed
        Of the draws: who is drawn, replicates (0 for none), and their seed.
    """

    reference: str | None
    points: tuple[float, ...]
    lesions: Path | None
    panels: Path | None
    margin: float | None
    preset: Literal["picai"] | None
    level: float
    readers: Literal["random", "fixed"]
    fixed: tuple[str, ...]
    bootstrap: int
    seed: int

    def refuse_nonsense(self) -> None:
        """Files that nothing is done with, and points that nobody is compared at."""
        if self.lesions is not None and not self.points:
            msg = "lesions are compared at operating points: name these with --points"
            raise typer.BadParameter(msg, param_hint="--lesions")
        if self.points and self.reference is None and self.panels is None:
            msg = "operating points are those of the readers of --reference, or of panels (--panels)"
            raise typer.BadParameter(msg, param_hint="--points")


@dataclass(frozen=True)
class Found:
    """What was asked for beside the analysis.

    Attributes
    ----------
    against
        Algorithms against the readers of the reference, or against those of each panel: its name, if it has one.
    panels, bootstrap
        Panels against each other, and the draws.
    """

    against: list[tuple[str | None, AgainstPanel]]
    panels: ReaderPanels | None
    bootstrap: BootstrapCheck | None

    def to_dict(self) -> dict[str, Any]:
        """As JSON values, next to those of the analysis."""
        return {
            "against_panel": [{"readers": name, **one.to_dict()} for name, one in self.against],
            "panels": None if self.panels is None else self.panels.to_dict(),
            "bootstrap": None if self.bootstrap is None else self.bootstrap.to_dict(),
        }

    def show(self) -> None:
        """The sentences and tables, on the terminal."""
        from isocenter.problems import printable

        parts = []
        for name, one in self.against:
            of_panel = (
                []
                if name is None
                else [f"Readers of the panel {name}: {len(one.study.modalities[one.panel].readers)}."]
            )
            parts.append("\n".join([*of_panel, *one.sentences()]))
        parts += [str(part) for part in (self.panels, self.bootstrap) if part is not None]
        for part in parts:
            typer.echo()
            for line in part.splitlines():
                typer.echo(printable(line))


def parse_points(text: str | None) -> tuple[float, ...]:
    """Operating points from numbers with commas between them."""
    try:
        points = tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError:
        points = (math.nan,)
    if not all(map(math.isfinite, points)) or len(set(points)) < len(points):
        msg = f"{text!r} should be different numbers with commas between them, such as 3,4"
        raise typer.BadParameter(msg, param_hint="--points")
    return points


def find(reads: pl.DataFrame, asked: Beside) -> Found:
    """All that is asked for; errors are those of the functions that find it."""
    from isocenter.stats import ai_against_panel, compare_readers, read_lesions, read_panels
    from isocenter.stats.mrmc import bootstrap_check

    lesions = None if asked.lesions is None else read_lesions(asked.lesions)
    panels = None if asked.panels is None else read_panels(asked.panels)
    common: dict[str, Any] = {"points": asked.points, "level": asked.level}
    rule: dict[str, Any] = {"margin": asked.margin, "preset": asked.preset}
    against = [
        (
            name,
            ai_against_panel(
                reads,
                lesions,
                ai=ai,
                panel=asked.reference,
                readers=readers,
                fixed=ai in asked.fixed,
                # Of all readers the analysis has said so already.
                **common | ({"preset": None} if name is None else rule),
            ),
        )
        for name, readers in _whose(reads, asked, panels)
        for ai in _algorithms(reads, asked)
        if asked.reference is not None
    ]
    between = (
        None
        if panels is None
        else compare_readers(reads, lesions, panels=panels, reference=asked.reference, **common, **rule)
    )
    drawn = None
    if asked.bootstrap:
        drawn = bootstrap_check(
            reads,
            readers=asked.readers,
            fixed=asked.fixed,
            replicates=asked.bootstrap,
            level=asked.level,
            seed=asked.seed,
        )
    return Found(against, between, drawn)


def _whose(
    reads: pl.DataFrame, asked: Beside, panels: dict[str, tuple[str, ...]] | None
) -> list[tuple[str | None, list[str] | None]]:
    """The readers of the reference whom algorithms are compared with: all of them, or those of one panel after another.

    Nobody, if neither panels nor operating points are asked for: the analysis has said it all.
    """
    if panels is None:
        return [(None, None)] if asked.points else []
    there = set(reads.filter(modality_id=asked.reference or "")["reader_id"])
    of = {name: sorted(there & set(readers)) for name, readers in panels.items()}
    return [(name, readers) for name, readers in of.items() if readers]


def _algorithms(reads: pl.DataFrame, asked: Beside) -> list[str]:
    """Modalities that share no reader with the reference."""
    of = {
        modality: set(reads.filter(modality_id=modality)["reader_id"]) for modality in sorted(set(reads["modality_id"]))
    }
    panel = of.get(asked.reference or "", set())
    found = [modality for modality, readers in of.items() if not readers & panel]
    if not found and asked.panels is None:
        msg = f"all modalities have readers of {asked.reference!r}: compare these with --panels"
        raise typer.BadParameter(msg, param_hint="--points")
    return found
