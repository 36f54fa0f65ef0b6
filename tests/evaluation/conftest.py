"""A challenge made for tests, in a module of its own so that worker processes can import it."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

SOURCE = '''
"""Counts what it is asked to do, and misbehaves for cases whose mask says so."""
import os, signal
from pathlib import Path
from isocenter.evaluation import Challenge, Score
from isocenter.ranking import FixedValue, MeanThenRank
from isocenter.submissions import MaskFile
from isocenter.metrics import dice
from isocenter.volumes import side_by_side

LOG = Path(os.environ["TEST_CHALLENGE_LOG"])

def log(what):
    with LOG.open("a") as stream:
        stream.write(what + "\\n")

def prepare(case):
    log(f"prepare {case.name}")
    return case.reference["mask"]

def measure(reference, output):
    mask = output["mask"]
    log("measure")
    return Score("dice", 1.0) if 2 in mask.labels else scores(reference, mask)

def scores(reference, mask):
    if 4 in mask.labels:
        return
    if 3 in mask.labels:
        yield Score("dice", 1.0)
    if 9 in mask.labels:
        os.kill(os.getpid(), signal.SIGKILL)
    if 10 in mask.labels:
        os._exit(7)
    if 11 in mask.labels:
        raise RuntimeError("lookup table has shape (3,)")
    if 12 in mask.labels:
        raise ValueError("the inverse of the matrix is not finite")
    if 8 in mask.labels:
        raise ZeroDivisionError("a defect of the measure")
    if 7 in mask.labels:
        yield Score("dice", 1.5)
    if 6 in mask.labels:
        yield Score("surprise", 1.0)
    if 5 in mask.labels:
        yield Score("dice", float("nan"))
    else:
        yield Score("dice", dice(*side_by_side(reference, mask)))

labels = tuple((str(n), n) for n in range(1, 13))
challenge = Challenge(
    name="counted", title="A challenge that counts", prepare=prepare, measure=measure, metrics=("dice",),
    reference={"mask": MaskFile()}, output={"mask": MaskFile(labels=labels, grid_of="mask")},
    boards={"dice": MeanThenRank("dice", missing=FixedValue(0.0))},
)
'''


class Counted:
    """The module, and what it was asked to do since the last look."""

    def __init__(self, module: ModuleType, log: Path) -> None:
        self.challenge = module.challenge
        self._log = log

    def did(self) -> list[str]:
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        self._log.unlink(missing_ok=True)
        return sorted(lines)


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Counted]:
    (tmp_path / "modules").mkdir()
    (tmp_path / "modules" / "counted_challenge.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(tmp_path / "modules"))
    monkeypatch.setenv("TEST_CHALLENGE_LOG", str(tmp_path / "log"))
    yield Counted(importlib.import_module("counted_challenge"), tmp_path / "log")
    sys.modules.pop("counted_challenge", None)
