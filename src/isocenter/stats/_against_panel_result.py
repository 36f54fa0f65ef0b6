"""What an algorithm against a panel gives: an analysis, a verdict, and tests at operating points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from isocenter.stats._non_inferiority import NonInferiority
from isocenter.stats._panels import PanelComparison
from isocenter.stats._provenance import record
from isocenter.stats._reader_panels_result import Level
from isocenter.stats.mrmc._check import BootstrapCheck
from isocenter.stats.mrmc._result import Analysis


class AtPoint(NamedTuple):
    """The comparison at one operating point of the readers.

    Attributes
    ----------
    level
        What is found or called: "patients" or "lesions".
    point
        The rating from which on readers call.
    comparison
        What `compare_with_panel` finds there.
    adjusted
        Its p, by Holm's method for all points, levels and measures of the call.
    """

    level: Level
    point: float
    comparison: PanelComparison
    adjusted: float

    def __str__(self) -> str:
        return self._sentence(str(self.comparison))

    def sentence_about(self, ai: str, panel: str) -> str:
        """The comparison with the names of the modalities."""
        return self._sentence(self.comparison.sentence_about(ai, panel))

    def _sentence(self, comparison: str) -> str:
        return f"{self.level.capitalize()} at {self.point:g} or above: {comparison} Adjusted p = {self.adjusted:.3g}."


@dataclass(frozen=True)
class AgainstPanel:
    """What `ai_against_panel` found; as text, sentences for a paper.

    Attributes
    ----------
    ai, panel
        The modalities.
    study
        AUCs of both and their difference, for other readers and cases.
    verdict
        Whether the algorithm is not inferior in AUC; None where the difference has no variance, or nobody asked.
    points
        Tests at operating points.
    bootstrap
        Standard errors by draws, if these were asked for.
    cases, effective_cases
        How many there are, and how many of equal weight they are worth, (Σw)² / Σw².
    """

    ai: str
    panel: str
    study: Analysis
    verdict: NonInferiority | None
    points: tuple[AtPoint, ...]
    bootstrap: BootstrapCheck | None
    cases: int
    effective_cases: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON values; what is undefined or infinite is null."""
        parts = {"study": self.study, "verdict": self.verdict, "bootstrap": self.bootstrap}
        whole: dict[str, Any] = {name: None if part is None else part.to_dict() for name, part in parts.items()}
        whole["points"] = [
            {
                **one.comparison.to_dict(),
                "interval_level": one.comparison.level,
                "level": one.level,
                "point": one.point,
                "adjusted": one.adjusted,
            }
            for one in self.points
        ]
        method = f"{self.study.method}; tests at operating points, adjusted by Holm's method"
        seed = None if self.bootstrap is None else self.bootstrap.seed
        plain = {name: getattr(self, name) for name in ("ai", "panel", "cases", "effective_cases")}
        return record(plain | whole, method=method, df_rule=self.study.df_rule, seed=seed)

    def __str__(self) -> str:
        drawn = [] if self.bootstrap is None else [str(self.bootstrap)]
        return "\n".join([str(self.study), *self.sentences(), *drawn])

    def sentences(self) -> list[str]:
        """The verdict and the tests at operating points, without the analysis that they come from."""
        lines = []
        if self.verdict is not None:
            lines.append(f"{self.ai} − {self.panel}: {self.verdict}")
        elif not self.study.pairs[self.ai, self.panel].variance > 0:
            lines.append(
                f"{self.ai} − {self.panel}: non-inferiority is not decided, as the difference has no variance."
            )
        if self.points:
            tests = f"{len(self.points)} tests at operating points"
            lines.append(f"{self.ai} against {self.panel}, {tests}, adjusted by Holm's method:")
        # Either side may be people: a study says who reads in a modality, and not what they are.
        return [*lines, *(point.sentence_about(self.ai, self.panel) for point in self.points)]
