"""Finished cases of an unfinished run, so that a second start continues where the first was stopped.

One JSON line per case, written as soon as the case is done; a line that a killed process left half written is ignored,
as is one of an earlier version.
A case is taken from the journal only if everything it depends on is unchanged: its files, the code, the policies.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from isocenter.evaluation._case import CaseResult
from isocenter.evaluation._challenge import Score
from isocenter.problems import Problem


class CaseStore(Protocol):
    """Where finished cases of a run are kept: a file, or whatever else `evaluate` is given.

    Its methods are called in the process and thread of `evaluate`. What they raise ends the run.
    """

    def __contains__(self, case: str) -> bool:
        """Whether something is known of a case; only then it is looked for, as its files must be hashed for that."""
        ...

    def find(self, case: str, key: Mapping[str, Any]) -> CaseResult | None:
        """The result of a case, if it was made from the same things."""
        ...

    def add(self, result: CaseResult) -> None:
        """Take a result as soon as it is there, whatever its state."""
        ...


class Journal:
    """The journal of one run, a file; of none if it has no path."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._done: dict[str, CaseResult] = {}
        if path is not None and path.exists():
            for line in path.read_bytes().split(b"\n"):
                try:
                    result = _result(json.loads(line))
                except (ValueError, KeyError, TypeError):
                    continue
                self._done[result.case] = result

    def __contains__(self, case: str) -> bool:
        return case in self._done

    def find(self, case: str, key: Mapping[str, Any]) -> CaseResult | None:
        """The result of a case, if it was made from the same things."""
        result = self._done.get(case)
        return result if result is not None and result.key == key else None

    def add(self, result: CaseResult) -> None:
        """Keep a finished case; what failed is tried again next time."""
        if self._path is None or result.state not in ("measured", "missing") or result.key is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({
            "case": result.case,
            "state": result.state,
            "scores": result.scores,
            "problems": [problem.to_dict() for problem in result.problems],
            "key": result.key,
        })  # fmt: skip
        with self._path.open("ab") as stream:
            # The leading line break closes a line that an earlier process could not finish.
            stream.write(b"\n" + line.encode() + b"\n")


def _result(data: dict[str, Any]) -> CaseResult:
    return CaseResult(
        case=data["case"],
        state=data["state"],
        scores=tuple(Score(*score) for score in data["scores"]),
        problems=tuple(Problem.from_dict(problem) for problem in data["problems"]),
        key=data["key"],
    )
