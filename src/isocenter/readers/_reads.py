"""The nouns: a read, and all reads of a study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from isocenter.metrics import Mark, patient_call
from isocenter.problems import Problem, report

OPERATING_POINTS = (3, 4, 5)
"""PI-RADS from which on a reader is taken to call a finding, or a patient, positive."""

MAX_MARKS = 4
"""How many lesions a reader may mark in a case."""

_SHOWN = 100
# A kilometre: farther than any coordinate system of a scanner reaches.
_FURTHEST_MM = 1e6


class ReadsError(ValueError):
    """Reads, or a table of cases or readers, that cannot be used.

    `problems` has everything that is wrong with them, `done` what was not done with them.
    """

    def __init__(self, what: str, problems: Sequence[Problem], done: str = "scored") -> None:
        self.what = what
        self.problems = tuple(problems)
        self.done = done
        more = len(self.problems) - _SHOWN
        rest = f"\n  … and {more} more" if more > 0 else ""
        super().__init__(f"{what} cannot be used; nothing was {done}:\n{report(self.problems[:_SHOWN])}{rest}")

    def __reduce__(self) -> tuple[type[ReadsError], tuple[str, tuple[Problem, ...], str]]:
        return type(self), (self.what, self.problems, self.done)


@dataclass(frozen=True, slots=True)
class Read:
    """What one reader said of one case.

    Either there are marks, or at least the word that there are none; or the read has a PI-RADS of the patient and says
    nothing of places, as reports from clinical routine do. The latter has patient-level results only.

    Attributes
    ----------
    reader, modality, case
        Who read what, and where: one read for each of these triples. The modality is "" in a study of one.
    marks
        At most four, PI-RADS 3 to 5; empty if there was nothing to mark; None if the read is of the patient only.
    pirads
        Of the patient, 1 to 5, in a read without places; otherwise None.
    score
        The reader's likelihood for the patient, 0 to 100; None if the reader gave none.
    """

    reader: str
    case: str
    marks: tuple[Mark, ...] | None = ()
    pirads: int | None = None
    score: float | None = None
    modality: str = ""

    def __post_init__(self) -> None:
        problems = [f"has no {what}" for what in ("reader", "case") if not getattr(self, what)]
        if (self.marks is None) == (self.pirads is None):
            problems.append("has either marks, perhaps none, or a PI-RADS of the patient")
        if self.pirads is not None:
            problems += wrong_pirads(self.pirads, marked=False)
        if self.score is not None:
            problems += wrong_score(self.score)
        for mark in self.marks or ():
            problems += wrong_pirads(mark.pirads, marked=True)
            problems += wrong_place(mark.position)
        if len(self.marks or ()) > MAX_MARKS:
            problems.append(f"has {len(self.marks or ())} marks, at most {MAX_MARKS} are allowed")
        if problems:
            msg = f"read of {self.case!r} by {self.reader!r}: {'; '.join(problems)}"
            raise ValueError(msg)

    @property
    def key(self) -> tuple[str, str, str]:
        """Reader, modality and case."""
        return self.reader, self.modality, self.case

    def calls(self, threshold: int) -> bool:
        """Whether the patient is called positive at an operating point: any mark, or the patient, of that PI-RADS."""
        if self.marks is None:
            return self.pirads is not None and self.pirads >= threshold
        return patient_call(self.marks, threshold=threshold)


@dataclass(frozen=True)
class Reads:
    """All reads of a study, in the order of readers, modalities and cases. Not every reader has to read every case.

    Attributes
    ----------
    reads
        None twice.
    name
        What messages call them: the name of the file.
    """

    reads: tuple[Read, ...]
    name: str = "reads"

    def __post_init__(self) -> None:
        object.__setattr__(self, "reads", tuple(sorted(self.reads, key=lambda read: read.key)))
        counts = Counter(read.key for read in self.reads)
        if twice := [" / ".join(filter(None, key)) for key, count in counts.items() if count > 1]:
            msg = f"{self.name}: reads that are there twice: {', '.join(twice)}"
            raise ValueError(msg)

    def __iter__(self) -> Iterator[Read]:
        return iter(self.reads)

    def __len__(self) -> int:
        return len(self.reads)

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases that somebody read, in alphabetical order."""
        return tuple(sorted({read.case for read in self.reads}))


def wrong_score(score: float) -> Iterable[str]:
    """What is wrong with a likelihood for the patient."""
    if not 0 <= score <= 100:
        yield f"score {score:g}; a likelihood for the patient lies between 0 and 100"


def wrong_place(position: Sequence[float]) -> Iterable[str]:
    """What is wrong with the place of a mark, whatever the image."""
    if not all(abs(x) <= _FURTHEST_MM for x in position):
        yield f"marks ({', '.join(f'{x:g}' for x in position)}), which is no place in millimetres"


def wrong_pirads(pirads: float, *, marked: bool) -> Iterable[str]:
    """What is wrong with the PI-RADS of a mark, or of a patient."""
    if pirads in (OPERATING_POINTS if marked else (1, 2, *OPERATING_POINTS)):
        return
    if not marked:
        yield f"PI-RADS {pirads:g} of the patient; expected 1, 2, 3, 4 or 5"
    elif pirads in (1, 2):
        yield f"PI-RADS {pirads:g} for a mark: 1 and 2 mean no suspicion, which is not marked; expected 3, 4 or 5"
    else:
        yield f"PI-RADS {pirads:g} for a mark; expected 3, 4 or 5"
