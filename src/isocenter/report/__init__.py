"""Boards and score tables as pages that people read: one HTML file each, complete in itself."""

from isocenter.report._curve_given import Band, OperatingMark
from isocenter.report._curves import froc_plot, precision_recall_plot, roc_plot
from isocenter.report._detection_figures import detection_figures
from isocenter.report._dose import axial_letters, dose_slices, dvh_plot, pick_slice
from isocenter.report._figures import Figure, case_figures, dose_figures, lesion_figures, pictures_page
from isocenter.report._index import Link, index_page
from isocenter.report._lesion_slices import lesion_slices
from isocenter.report._page import leaderboard_page

__all__ = [
    "Band",
    "Figure",
    "Link",
    "OperatingMark",
    "axial_letters",
    "case_figures",
    "detection_figures",
    "dose_figures",
    "dose_slices",
    "dvh_plot",
    "froc_plot",
    "index_page",
    "leaderboard_page",
    "lesion_figures",
    "lesion_slices",
    "pick_slice",
    "pictures_page",
    "precision_recall_plot",
    "roc_plot",
]
