"""Reader studies: several readers, several modalities, the same cases or not (multi-reader multi-case analysis).

::

    reads ──▶ analyse ──▶ modalities, pairs: estimate, variance, interval, p
          └─▶ bootstrap_check: the same standard errors by drawing readers and cases
    variance components × designs ──▶ power

A read is a score that one reader gave to one case in one modality. What is estimated is the mean over readers, what is
asked is how it would vary with other readers and other cases. An algorithm is a modality with one reader, several
trained instances of it are its readers.
"""

from isocenter.stats._sizing import Power, PowerGrid, power, power_grid
from isocenter.stats._study_design import Design, PairComponents, VarianceComponents, designs
from isocenter.stats.mrmc._analyse import analyse
from isocenter.stats.mrmc._check import BootstrapCheck, CheckedError, bootstrap_check
from isocenter.stats.mrmc._curves import Curve, average_curves, reader_curves
from isocenter.stats.mrmc._files import read_csv, read_imrmc
from isocenter.stats.mrmc._imrmc import imrmc_text, write_imrmc
from isocenter.stats.mrmc._reads import ReadsError
from isocenter.stats.mrmc._result import Analysis, Modality, Pair, Pairs, Reader
from isocenter.stats.mrmc._rockette import Overall

__all__ = [
    "Analysis",
    "BootstrapCheck",
    "CheckedError",
    "Curve",
    "Design",
    "Modality",
    "Overall",
    "Pair",
    "PairComponents",
    "Pairs",
    "Power",
    "PowerGrid",
    "Reader",
    "ReadsError",
    "VarianceComponents",
    "analyse",
    "average_curves",
    "bootstrap_check",
    "designs",
    "imrmc_text",
    "power",
    "power_grid",
    "read_csv",
    "read_imrmc",
    "reader_curves",
    "write_imrmc",
]
