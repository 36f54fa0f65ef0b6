"""What the search for gamma leaves out, and how it looks at the rest."""

from __future__ import annotations

import numpy as np
import pytest
from numba import jit

from isocenter.metrics import _gamma_lattice as lattice


def test_samples_of_a_cell_are_compared_on_vector_units() -> None:
    compiled = jit(**lattice._smallest.targetoptions)(lattice._smallest.py_func)
    places = np.random.default_rng(1).random((3, 100))
    coefficients = (-0.5, 0.3, 0.2, 0.4, 0.1, 0.05, 0.02, 0.01)
    found = compiled(*places, 3, 98, *coefficients)
    u, v, w = places[:, 3:98]
    terms = np.array([np.ones(95), u, v, w, u * v, u * w, v * w, u * v * w])
    assert found == pytest.approx(np.abs(coefficients @ terms).min(), abs=1e-15)
    (code,) = compiled.inspect_llvm().values()
    assert " x double> @llvm.fabs" in code
