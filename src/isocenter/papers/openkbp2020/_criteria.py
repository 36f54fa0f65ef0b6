"""DVH criteria of two populations, one by one (figure 4 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from isocenter.challenges.openkbp2020 import ORGANS, TARGETS
from isocenter.metrics import catalogue
from isocenter.papers._study import Study
from isocenter.papers._words import counted, p_value
from isocenter.report import (
    Block,
    BoxGroup,
    Cell,
    Chart,
    Paragraph,
    Section,
    boxes_plot,
    table,
)
from isocenter.stats import ShiftedMannWhitney, shifted_mann_whitney

MARGIN = 2.1  # Gy, 3 % of the highest prescription
_ALPHA = 0.05
_LONGEST = 16  # characters of a name at the head of a column
Values = Mapping[str, float]
"""By case, Gy."""


@dataclass(frozen=True)
class Populations:
    """Two populations with the same criteria: is the second not worse than the first?

    Attributes
    ----------
    name
        For anchors.
    first, second
        What each is called.
    values
        By part of the score table, such as "PTV70|D_99", what each has.
    """

    name: str
    first: str
    second: str
    values: Mapping[str, tuple[Values, Values]]


def section(study: Study) -> Section:
    """The winner's predictions against the reference; and two populations of patients, where cases.csv names them."""
    decided = study.boards.get("dvh") or study.main
    blocks: list[Block] = []
    if decided.ranked:
        winner = decided.ranked[0]
        rows = decided.scores.filter(pl.col("submission") == winner)
        pairs = {
            part: (reference, found)
            for part in directions()
            if (reference := _values(rows, part, "dvh_reference")) and (found := _values(rows, part, "dvh_value"))
        }
        blocks += _compared(Populations("winner", "reference", winner, pairs))
        if pairs:
            text = "Both sides are of the same patients and are tested as if they were not: p is rather too large."
            blocks.append(Paragraph(text, note=True))
    blocks += _of_patients(study, decided.scores)
    return Section("kbp-criteria", "DVH criteria", tuple(blocks))


def directions() -> dict[str, Literal["higher", "lower"]]:
    """By part of the score table which values are better: targets are to be covered, and nothing is to be hot."""
    of_targets: dict[str, Literal["higher", "lower"]] = {"D_99": "higher", "D_95": "higher", "D_1": "lower"}
    found = {f"{target}|{criterion}": side for target in TARGETS for criterion, side in of_targets.items()}
    return found | {f"{organ}|{criterion}": "lower" for organ in ORGANS for criterion in ("D_0.1_cc", "mean")}


def _values(rows: pl.DataFrame, part: str, metric: str) -> dict[str, float]:
    wanted = (pl.col("part") == part) & (pl.col("metric") == metric) & pl.col("value").is_not_null()
    return dict(rows.filter(wanted).unique("case", keep="first", maintain_order=True).select("case", "value").rows())


def _of_patients(study: Study, scores: pl.DataFrame) -> Iterator[Block]:
    """The reference doses of two populations of patients."""
    facts = study.folder.facts()
    named = [fact["population"] for fact in facts.values() if fact.get("population")]
    names = list(dict.fromkeys(named))
    if len(names) != 2:
        found = f"; it names {len(names)}" if names else ""
        text = (
            f"Two populations of patients are compared where cases.csv names two in a column called population{found}."
        )
        yield Paragraph(text, note=True)
        return
    members = [{case for case, fact in facts.items() if fact.get("population") == name} for name in names]
    values = {}
    for part in directions():
        known = _values(scores, part, "dvh_reference")
        first, second = ({case: value for case, value in known.items() if case in mine} for mine in members)
        if first and second:
            values[part] = (first, second)
    yield from _compared(Populations("populations", names[0], names[1], values))


def _compared(pair: Populations) -> Iterator[Block]:
    """Boxes of targets and of organs, and the tests."""
    if not pair.values:
        text = f"There are no DVH criteria of {pair.first} and {pair.second} in the score tables to compare."
        yield Paragraph(text, note=True)
        return
    decimals = catalogue.get("dvh_value").decimals
    tests = {
        part: shifted_mann_whitney(
            list(second.values()), list(first.values()), margin=MARGIN, better=directions()[part], decimals=decimals
        )
        for part, (first, second) in pair.values.items()
    }
    for name, (group, wanted) in _GROUPS.items():
        if parts := {part: test for part, test in tests.items() if part in wanted}:
            yield _boxes(pair, name, group, parts)
    passed = [part for part, test in tests.items() if test.p < _ALPHA]
    worse = [_worse(test) for part, test in tests.items() if part not in passed]
    told = f"{pair.second} is non-inferior to {pair.first} (p < {_ALPHA:g}) in {len(passed)} of {len(tests)} criteria"
    if worse:
        mean = sum(worse) / len(worse)
        side = "worse" if mean > 0 else "better"
        told += f"; in the other {len(worse)} its median is {side} by {abs(mean):.1f} Gy on average"
    yield Paragraph(f"{told}.")
    first, second = (
        name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…" for name in (pair.first, pair.second)
    )
    columns = ["Criterion", "Better", f"n, {first} #", f"n, {second} #"]
    columns += [f"{first}, Gy #", f"{second}, Gy #", "Difference, Gy #", "p #"]
    note = (
        f"Mann–Whitney test, one-sided, of values shifted by a margin of {MARGIN:g} Gy, 3 % of 70 Gy; not adjusted "
        f"for {counted(len(tests), 'test')}. A small p says that {pair.second} is not worse by the margin or more."
    )
    yield table(
        f"kbp-criteria-{pair.name}",
        f"Medians of the DVH criteria of {pair.first} and {pair.second}, and p of non-inferiority.",
        columns,
        [_row(part, test) for part, test in tests.items()],
        notes=[note],
    )


def _worse(test: ShiftedMannWhitney) -> float:
    return test.difference if test.better == "lower" else -test.difference


def _row(part: str, test: ShiftedMannWhitney) -> list[str | Cell | int]:
    return [
        part.replace("|", " "),
        test.better,
        test.size_b,
        test.size_a,
        Cell(f"{test.median_b:.2f}", test.median_b),
        Cell(f"{test.median_a:.2f}", test.median_a),
        Cell(f"{test.difference:+.2f}".replace("-", "−"), test.difference),
        Cell(p_value(test.p), test.p, strong=test.p >= _ALPHA),
    ]


# Three pictures, so that each fits on a page.
_GROUPS = {
    "targets": ("targets", [f"{target}|{criterion}" for target in TARGETS for criterion in ("D_99", "D_95", "D_1")]),
    "hottest": ("organs at risk, hottest 0.1 cc", [f"{organ}|D_0.1_cc" for organ in ORGANS]),
    "mean": ("organs at risk, mean dose", [f"{organ}|mean" for organ in ORGANS]),
}


def _boxes(pair: Populations, name: str, group: str, tests: Mapping[str, ShiftedMannWhitney]) -> Chart:
    boxes, rows = [], []
    for part, test in tests.items():
        heading = f"{part.replace('|', ' ')} {'↑' if test.better == 'higher' else '↓'}, p {p_value(test.p)}"
        for at, whose in enumerate((pair.first, pair.second)):
            values = pair.values[part][at]
            boxes.append(BoxGroup(whose, tuple(values.items()), heading="" if at else heading))
            rows += [(part, whose, case, value) for case, value in values.items()]
    title = f"DVH criteria of {group}: {pair.first} and {pair.second}"
    picture = boxes_plot(boxes, label="dose", unit="Gy", title=title, name=f"kbp-boxes-{pair.name}-{name}")
    caption = (
        f"{title}. Box: quartiles; whiskers: the furthest values within 1.5 box lengths; diamond: mean. Each value is "
        f"of a patient; p is that of non-inferiority with a margin of {MARGIN:g} Gy. ↑: high doses are better; ↓: low "
        "ones are."
    )
    data = pl.DataFrame(rows, schema=["part", "population", "case", "value"], orient="row")
    return Chart(f"kbp-dvh-{pair.name}-{name}", caption, picture, data)
