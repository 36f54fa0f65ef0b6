"""The challenge: what a case is, what a submission must hold, what is measured and how it is ranked.

A challenge is one frozen object made at the end of one module. Everything that differs between challenges is in that
module; everything that does not is elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from isocenter.evaluation._depict import Picture
from isocenter.metrics import catalogue
from isocenter.problems import Remark
from isocenter.ranking import Participation, Rule
from isocenter.submissions import FileSpec, Listing
from isocenter.volumes import File

Reference = Any
"""What `prepare` made of a case: whatever `measure` wants to find ready. It is pickled into a cache."""


class Score(NamedTuple):
    """One number that `measure` found: a metric of the catalogue, its value, and what within the case it is about.

    A metric that is undefined for the case has the value None.
    """

    metric: str
    value: float | None
    part: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One case of the cohort with its reference, as the challenge's readers read it.

    Attributes
    ----------
    facts
        What `cases.csv` says of the case beside its weight, by column: centre, vendor, grade.
    """

    name: str
    reference: Mapping[str, Any]
    facts: Mapping[str, str] = field(default_factory=dict)


def as_read(case: Case) -> Mapping[str, Any]:
    """Prepare nothing: `measure` gets the reference as it was read."""
    return case.reference


@dataclass(frozen=True, kw_only=True)
class Challenge:
    """A challenge as code.

    Attributes
    ----------
    name
        Short, lower case, as typed on the command line and named in the entry point.
    title
        As people call it.
    reference, output
        The files of a case: in the organisers' folder, and in what a team submits. Each has a name by which
        `prepare` and `measure` find what was read from it.
    metrics
        The metrics that `measure` yields, by their names in the catalogue. A case without a usable output gets a row
        without a value for each.
    observations
        Further metrics that `measure` yields where there is something to yield: of a lesion, say, which a healthy
        patient has none of.
    measure
        ``measure(reference, output)`` yields the scores of one case. `reference` is what `prepare` returned, `output`
        what was read from the submission, by the names in `output`. It sees no files and no teams.
    prepare
        ``prepare(case)`` does once what every submission needs of the reference. Its result is cached on disk by the
        content of the reference files and of the code.
    inspect
        ``inspect(reference, output)`` yields remarks on an output that can be read but is probably not what was meant:
        a dose in other units, say. It sees what `measure` sees, when a submission is checked and when it is scored.
    depict
        ``depict(reference, output)`` gives the data of a picture of the case; None if there is nothing to look at.
    arrange
        ``arrange(listing, cases)`` turns a submission as some platform delivers it into one with the files of every
        case by the names in `output`; `cases` has the cohort's reference files. What it does not know it leaves alone.
    arrange_reference
        The same for the organisers' files: ``arrange_reference(listing)``.
    boards
        Ranking rules by board name; the first is the main one.
    participation
        Quota, which submission counts, and what becomes of the organisers' own.
    run_times
        ``run_times(path, teams)`` reads run times that were metered elsewhere, and gives rows for the score table of
        each team, and remarks for the organisers. None for a challenge that does not rank by them.
    edition
        What `isocenter init` writes into a new challenge.toml: title, phases and whatever else the edition model
        knows, as TOML values.
    """

    name: str
    title: str
    reference: Mapping[str, FileSpec]
    output: Mapping[str, FileSpec]
    metrics: tuple[str, ...]
    measure: Callable[[Any, Mapping[str, Any]], Iterable[Score]]
    boards: Mapping[str, Rule]
    observations: tuple[str, ...] = ()
    prepare: Callable[[Case], Reference] = as_read
    inspect: Callable[[Any, Mapping[str, Any]], Iterable[Remark]] | None = None
    depict: Callable[[Any, Mapping[str, Any]], Picture] | None = None
    arrange: Callable[[Listing, Mapping[str, Mapping[str, File]]], Listing] | None = None
    arrange_reference: Callable[[Listing], Listing] | None = None
    participation: Participation = Participation()
    run_times: Callable[[Path, Sequence[str]], tuple[Mapping[str, pl.DataFrame], Sequence[str]]] | None = None
    edition: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not re.fullmatch(r"[a-z][a-z0-9_-]*", self.name):
            msg = f"a challenge is named in lower-case letters, digits, - and _, not {self.name!r}"
            raise ValueError(msg)
        for what in ("reference", "output", "metrics", "boards"):
            if not getattr(self, what):
                msg = f"challenge {self.name!r} has no {what}"
                raise ValueError(msg)
        for metric in (*self.metrics, *self.observations):
            catalogue.get(metric)
        for board, rule in self.boards.items():
            catalogue.get(rule.metric)
            for metric in rule.reads:
                if metric not in self.metrics:
                    msg = f"challenge {self.name!r}: board {board!r} ranks {metric!r}, which is not among its metrics"
                    raise ValueError(msg)
            rule.check()
        for slot, spec in self.output.items():
            if spec.grid_of is not None and spec.grid_of not in self.reference:
                msg = (
                    f"challenge {self.name!r}: output {slot!r} lies on the grid of {spec.grid_of!r}, no such reference"
                )
                raise ValueError(msg)
