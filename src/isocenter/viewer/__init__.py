"""A local page to go through the cases of a submission, slice by slice, the worst first.

`open_session` takes the scores of a submission and finds its pictures; `make_server` shows them to browsers on this
machine, and to nobody else. `listen` takes its port before there is anything to show. `open_training` opens data that
were released, with scans and labels and nothing to compare them with.
"""

from isocenter.viewer._alone import label_sight, plan_sight
from isocenter.viewer._nifti import nifti
from isocenter.viewer._order import (
    LIKELIHOOD_ERROR,
    CaseScores,
    cases_of,
    without_observations,
    worst_first,
    yardsticks,
)
from isocenter.viewer._server import listen, make_server
from isocenter.viewer._session import Look, Session, open_session
from isocenter.viewer._sight import Layer, Sight, dose_sight, mask_sight, output_sight
from isocenter.viewer._strip import Strip, dose_strip, mask_strip
from isocenter.viewer._training import Training, open_training

__all__ = [
    "LIKELIHOOD_ERROR",
    "CaseScores",
    "Layer",
    "Look",
    "Session",
    "Sight",
    "Strip",
    "Training",
    "cases_of",
    "dose_sight",
    "dose_strip",
    "label_sight",
    "listen",
    "make_server",
    "mask_sight",
    "mask_strip",
    "nifti",
    "open_session",
    "open_training",
    "output_sight",
    "plan_sight",
    "without_observations",
    "worst_first",
    "yardsticks",
]
