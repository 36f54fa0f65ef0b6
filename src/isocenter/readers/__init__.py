"""What human readers say of the cases of a challenge, and how well they do.

A read is one reader's answer to one case: marks in LPS millimetres with a PI-RADS each, and a likelihood for the
patient; or, from clinical routine, only the PI-RADS of the patient. Every reader is scored on what this reader read.
Before a study, cases and readers are dealt into blocks that are alike, and every reader gets an order and a pseudonym.
"""

from isocenter.readers._balance import Balance, FactCount, balance_of
from isocenter.readers._deal import Deal, deal, place_late
from isocenter.readers._order import order, pseudonyms
from isocenter.readers._reads import MAX_MARKS, OPERATING_POINTS, Read, Reads, ReadsError
from isocenter.readers._reference import ReferenceCase, label_slot, open_reference
from isocenter.readers._results import PanelResult, ReaderPoint, ReaderResult, ReaderScores, ScoredRead
from isocenter.readers._score import score_reads
from isocenter.readers._table import read_reads
from isocenter.readers._units import read_units
from isocenter.readers._write import mrmc_table, reads_csv, write_reads

__all__ = [
    "MAX_MARKS",
    "OPERATING_POINTS",
    "Balance",
    "Deal",
    "FactCount",
    "PanelResult",
    "Read",
    "ReaderPoint",
    "ReaderResult",
    "ReaderScores",
    "Reads",
    "ReadsError",
    "ReferenceCase",
    "ScoredRead",
    "balance_of",
    "deal",
    "label_slot",
    "mrmc_table",
    "open_reference",
    "order",
    "place_late",
    "pseudonyms",
    "read_reads",
    "read_units",
    "reads_csv",
    "score_reads",
    "write_reads",
]
