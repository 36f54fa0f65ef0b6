"""Checked matrices of numbers, where rules look for them."""

from isocenter.resampling.matrices import Floats, case_weights, finite_matrix, finite_vector

__all__ = ["Floats", "case_weights", "finite_matrix", "finite_vector"]
