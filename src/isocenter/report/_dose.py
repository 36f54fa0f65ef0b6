"""Pictures of dose: dose-volume histograms, and slices of two doses with their difference."""

from isocenter.report._dose_dvh import dvh_plot
from isocenter.report._dose_slices import axial_letters, dose_slices, pick_slice

__all__ = ["axial_letters", "dose_slices", "dvh_plot", "pick_slice"]
