"""What is wrong with the description of a rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from isocenter.schema import Path, where


@dataclass(frozen=True, slots=True)
class RuleProblem:
    """One thing that is wrong with a description.

    Attributes
    ----------
    path
        Where: ("metrics", 1, "weight") is the weight of the second metric.
    found
        What stands there; "" where nothing does.
    message
        A sentence with what was found and what may be written instead.
    """

    path: Path
    found: str
    message: str

    @property
    def is_missing(self) -> bool:
        """Whether nothing stands where something must."""
        return not self.found

    def __str__(self) -> str:
        return f"{where(self.path)}: {self.message}"


class DescriptionError(ValueError):
    """A description that is no rule, or a rule that has none, with everything that is wrong, one line each."""

    def __init__(self, problems: Sequence[RuleProblem]) -> None:
        super().__init__(list(problems))
        self.problems = list(problems)

    def __str__(self) -> str:
        return "\n".join(map(str, self.problems))
