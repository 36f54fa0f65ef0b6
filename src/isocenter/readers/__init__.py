"""What human readers say of the cases of a challenge, and how well they do.

A read is one reader's answer to one case: marks in LPS millimetres with a PI-RADS each, and a likelihood for the
patient; or, from clinical routine, only the PI-RADS of the patient. Every reader is scored on what this reader read.
"""

from isocenter.readers._reads import MAX_MARKS, OPERATING_POINTS, Read, Reads, ReadsError
from isocenter.readers._reference import ReferenceCase, label_slot, open_reference
from isocenter.readers._results import PanelResult, ReaderPoint, ReaderResult, ReaderScores, ScoredRead
from isocenter.readers._score import score_reads
from isocenter.readers._table import read_reads

__all__ = [
    "MAX_MARKS",
    "OPERATING_POINTS",
    "PanelResult",
    "Read",
    "ReaderPoint",
    "ReaderResult",
    "ReaderScores",
    "Reads",
    "ReadsError",
    "ReferenceCase",
    "ScoredRead",
    "label_slot",
    "open_reference",
    "read_reads",
    "score_reads",
]
