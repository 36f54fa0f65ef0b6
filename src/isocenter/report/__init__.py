"""Boards and score tables as pages that people read: one HTML file each, complete in itself."""

from isocenter.report._dose import axial_letters, dose_slices, dvh_plot, pick_slice
from isocenter.report._figures import Figure, dose_figures, pictures_page
from isocenter.report._index import Link, index_page
from isocenter.report._page import leaderboard_page

__all__ = [
    "Figure",
    "Link",
    "axial_letters",
    "dose_figures",
    "dose_slices",
    "dvh_plot",
    "index_page",
    "leaderboard_page",
    "pick_slice",
    "pictures_page",
]
