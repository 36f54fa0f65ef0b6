"""What isocenter did before problems had codes, it does still: all that was frozen is made again and compared."""

from __future__ import annotations

import fcntl
import re
import subprocess
import sys
from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from tests.frozen import make
from tests.frozen.tools import EXPECTED, differences, load, matches

_SCIPY = 1e-12  # p of the signed-rank test is scipy's now: the tail of the normal distribution in its last bits
TOLERANCES: dict[str, float] = {
    "commands/compare.json.gz/*": _SCIPY,
    "demo/openkbp2020-report.json.gz/kbp-lead/*": _SCIPY,
    "resampling/ranks.json.gz/significance, *": _SCIPY,
    "resampling/tests.json/compare, wilcoxon/*": _SCIPY,
}
"""How much numbers may differ, as a part of the larger, by place: `boards/option-chosen.json/board/rows/0/score`.

Stars stand for anything. What is not named here is equal to the last bit.
"""

_RULE = "rules/wrong.json/{'rule': "
_SURE = "boards have P(best), say what P(first) is and why a sure first has several ranks, and speak of resamples"
_PRINTED = (
    "a choice where the last counts",
    "a time that is not one",
    "organiser and benchmark at once",
    "times in the wrong order",
)
IMPROVED: dict[str, str] = {
    f"{_RULE}'normalised-sum', 'metrics': [], 'missing': 0}}": "the sentence of challenge.toml, which says more",
    f"{_RULE}7, 'metric': ['dice'], 'missing': None}}": "without a rule nobody knows which metrics it may have; "
    "and None, which no file can hold, is as if it were not there",
    f"{_RULE}'weighted-ranks', 'metrics': ['dice'], 'missing': 0, 'limits': [{{'metric': 'dice'}}]}}": "a value "
    "that is not there is missing, not nothing",
    f"{_RULE}'mean', 'metric': 'dice', 'missing': 0, 'q': 0.5, 'colour': 'red'}}": "a mean has a part, too",
    "rules/*/repr": "a rule names the part that it ranks by, and what it does where the metric is undefined",
    f"{_RULE}'mean', 'metric': 'dyce', 'missing': 0}}": "the catalogue has more metrics",
    f"{_RULE}'median'}}": "there is one more rule, cohort-statistic",
    "rules/wrong.json/{}": "there is one more rule, cohort-statistic",
    **{
        f"boards/option-edition-{name}.json/text": "the mean of every metric stands beside a score made of comparisons"
        for name in ("case-by-case", "summed", "tested")
    },
    "golden/hecktor-like-rank-last.json.gz/rank then mean*/notes": "means leave out a missing case",
    "boards/*.json/text": f"{_SURE}; the numbers are those of the rows, which are held",
    "boards/*.json/board/notes": _SURE,
    **{f"boards/errors.json/{name}/out": _SURE for name in _PRINTED},
    "demo/*-board*.json/notes": _SURE,
    "demo/*-report.json.gz/results": f"{_SURE}; the numbers are those of the boards, which are held",
    "demo/*-report.json.gz/certainty/blocks/*/caption": _SURE,
    "demo/*-report.json.gz/methods/blocks/*/text": _SURE,
    "messages/references.json/no */score/err": "`score` takes several references and submissions, and names the option",
    "demo/openkbp2020-report.json.gz/kbp-lead/blocks/*/notes/0": "Wilcoxon's test takes differences as they are",
    "demo/picai2022-report.json.gz/algorithms/blocks/length": "all pairs of the first five teams are compared",
    "demo/picai2022-report.json.gz/participation/blocks/0/rows/length": "two phases go on after the end",
    "demo/picai2022-report.json.gz/readers*": "tests hold for other cases as well; the published ones stand beside",
    "demo/picai2022-report.json.gz/routine*": "each of the first five teams is compared with the routine",
    "demo/hecktor2020-report.json.gz/ensembles/blocks/*": "the hierarchical majority vote has a row and a table",
    "demo/lung2019-report.json.gz/ensembles/blocks/length": "the hierarchical majority vote has a sentence",
    "demo/lung2019-report.json.gz/observers/blocks/length": "second passes of observers have a sentence",
    "demo/lung2019-report.json.gz/prizes/blocks/*": "bonuses on the way follow from the log of submissions",
    "demo/lung2019-report.json.gz/scores/blocks/0/*/length": "second passes of observers have a row and a note",
    "demo/lung2019-report.json.gz/strata/blocks/*/caption": "the mean of second passes is one of the lines",
    "demo/lung2019-report.json.gz/volumes/blocks/length": "volumes stand beside those of other cohorts",
    "resampling/studies.json.gz/ai_against_panel/points/[57]/*": "bias is not taken off at equal precision",
}
"""Differences that are meant, by place, with the reason. The place is that of a failing test, or of one line of it."""

BY_NAME = ("commands/", "golden/", "messages/", "resampling/", "rules/", "boards/errors.json")
"""Files in which every name is a test of its own; reports are by section."""


def places() -> list[str]:
    """Each frozen file, or each name in it."""
    every: list[str] = []
    for path in sorted(path for path in EXPECTED.rglob("*") if path.name.endswith((".json", ".json.gz"))):
        file = path.relative_to(EXPECTED).as_posix()
        if file.startswith(BY_NAME) or file.endswith("-report.json.gz"):
            every += [f"{file}/{name}" for name in load(path)]
        else:
            every.append(file)
    return every


PLACES = places()
Made = Callable[[str], Any]


@cache
def frozen(file: str) -> Any:
    return load(EXPECTED / file)


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Items as they are made now; each maker runs once, whichever process of the tests comes first."""
    base = tmp_path_factory.getbasetemp()
    home = base.parent if base.name.startswith("popen-") else base
    folder = home / "frozen"
    folder.mkdir(exist_ok=True)

    @cache
    def item(file: str) -> Any:
        maker = make.OWNERS[file.partition("/")[0]]
        for needed in dict.fromkeys(("demo", maker) if maker == "messages" else (maker,)):
            with (folder / f"{needed}.lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not (folder / f"{needed}.done").exists():
                    # In a process of its own: what other tests put into the catalogue of metrics would be told there.
                    subprocess.run(
                        [sys.executable, "-m", "tests.frozen.make", folder / "made", needed, "--folder", folder],
                        cwd=Path(__file__).parents[2],
                        check=True,
                    )
                    (folder / f"{needed}.done").touch()
        path = folder / "made" / file
        return load(path) if path.exists() else {}

    return item


def compare(place: str, made: Made) -> list[tuple[str, str]]:
    """The differences at a place, with their own places."""
    file, _, name = place.partition(".json")
    file, name = (f"{file}.json.gz", name.removeprefix(".gz")) if name.startswith(".gz") else (f"{file}.json", name)
    old, new = frozen(file), made(file)
    if name:
        key = name.removeprefix("/")
        old, new = {key: old[key]}, {key: new[key]} if key in new else {}

    def tolerance(at: str) -> float:
        return max((allowed for pattern, allowed in TOLERANCES.items() if matches(f"{file}{at}", pattern)), default=0.0)

    return [(f"{file}{at}", how) for at, how in differences(old, new, tolerance=tolerance)]


@pytest.mark.parametrize("place", PLACES)
def test_what_was_frozen_is_made_again(place: str, made: Made) -> None:
    changed = [
        f"{at}: {how}" for at, how in compare(place, made) if not any(matches(at, pattern) for pattern in IMPROVED)
    ]
    assert not changed, "\n".join([f"{len(changed)} differences", *changed[:40]])


def test_what_is_called_improved_differs_and_has_a_reason(made: Made) -> None:
    for pattern, reason in IMPROVED.items():
        above = [pattern[: at.start()] for at in re.finditer("/", pattern)]
        near = [
            place
            for place in PLACES
            if matches(place, pattern) or pattern.startswith(place) or any(fnmatchcase(place, one) for one in above)
        ]
        assert any(matches(at, pattern) for place in near for at, _ in compare(place, made)), pattern
        assert reason.strip(), pattern


def test_a_tolerance_is_of_something_that_was_frozen() -> None:
    for pattern in TOLERANCES:
        assert any(matches(place, pattern) or pattern.startswith(place) for place in PLACES), pattern


def test_a_change_is_noticed_and_an_addition_is_not() -> None:
    old = {"rows": [{"score": 0.3, "notes": ["one"]}], "gone": None}
    new = {"rows": [{"score": 0.1 + 0.2, "notes": ["one", "two"], "code": "grid_differs"}]}
    assert not dict(differences(old, old | {"origin": "output"}))
    assert dict(differences(old, new)) == {
        "/rows/0/score": "0.3 was frozen, 0.30000000000000004 is made",
        "/rows/0/notes/length": "1 was frozen, 2 is made",
        "/gone": "null is gone",
    }
    assert not dict(differences({"x": 1.0}, {"x": 1.0 + 1e-13}, tolerance=lambda _: 1e-12))
    assert dict(differences({"x": 1.0}, {"x": 1.0 + 1e-13}))
    assert dict(differences({"x": 1}, {"x": True}))
