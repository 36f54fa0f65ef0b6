"""What human readers say of the cases of a challenge, and how well they do.

A read is one reader's answer to one case: marks in LPS millimetres with a PI-RADS each, and a likelihood for the
patient; or, from clinical routine, only the PI-RADS of the patient. Every reader is scored on what this reader read.
Before a study, cases and readers are dealt into blocks that are alike, and every reader gets an order and a pseudonym.
"""

from isocenter.readers._agreement import agree_on_pirads
from isocenter.readers._balance import Balance, FactCount, balance_of
from isocenter.readers._comparisons import (
    ALL_READERS,
    FAMILIES,
    MEASURE_NAMES,
    Measure,
    StudyComparisons,
    StudyTest,
    compare_study,
)
from isocenter.readers._deal import Deal, deal, find_design_problems, place_late
from isocenter.readers._exports import ExportKind, Import, import_reads
from isocenter.readers._order import order, pseudonyms
from isocenter.readers._panel_study import (
    AI,
    PANEL,
    PanelStudy,
    compare_with_study,
    describe_error,
    list_modalities,
    make_panel_study,
    rate_patient,
    score_patients,
)
from isocenter.readers._reads import MAX_MARKS, OPERATING_POINTS, Read, Reads, ReadsError
from isocenter.readers._reference import ReferenceCase, label_slot, open_reference
from isocenter.readers._results import PanelResult, ReaderPoint, ReaderResult, ReaderScores, ScoredRead
from isocenter.readers._routine import PIRADS_COLUMNS, ROUTINE, read_routine
from isocenter.readers._score import score_reads
from isocenter.readers._table import read_reads
from isocenter.readers._units import read_units
from isocenter.readers._write import mrmc_table, reads_csv, write_reads

__all__ = [
    "AI",
    "ALL_READERS",
    "FAMILIES",
    "MAX_MARKS",
    "MEASURE_NAMES",
    "OPERATING_POINTS",
    "PANEL",
    "PIRADS_COLUMNS",
    "ROUTINE",
    "Balance",
    "Deal",
    "ExportKind",
    "FactCount",
    "Import",
    "Measure",
    "PanelResult",
    "PanelStudy",
    "Read",
    "ReaderPoint",
    "ReaderResult",
    "ReaderScores",
    "Reads",
    "ReadsError",
    "ReferenceCase",
    "ScoredRead",
    "StudyComparisons",
    "StudyTest",
    "agree_on_pirads",
    "balance_of",
    "compare_study",
    "compare_with_study",
    "deal",
    "describe_error",
    "find_design_problems",
    "import_reads",
    "label_slot",
    "list_modalities",
    "make_panel_study",
    "mrmc_table",
    "open_reference",
    "order",
    "place_late",
    "pseudonyms",
    "rate_patient",
    "read_reads",
    "read_routine",
    "read_units",
    "reads_csv",
    "score_patients",
    "score_reads",
    "write_reads",
]
