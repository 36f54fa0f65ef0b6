"""What the search for gamma leaves out, and how it looks at the rest."""

from __future__ import annotations

import numpy as np
import pytest
from numba import jit

from isocenter.metrics import _gamma_lattice as lattice
from isocenter.metrics import _gamma_shells as shells


def test_a_table_knows_which_cells_have_samples_on_their_near_side() -> None:
    search = shells.Search((0.0, 0.5, 1.0), (0.5, 0.5, 0.5))
    (table,) = shells.tables(search, 3, shells.Cells((2.0, 2.0, 2.0), (0.5, 0.5, 0.0)))
    for place, on_side in zip(table.places, table.on_side, strict=True):
        # Between nodes only the next cells have some, where the sphere touches them. Of samples beside a node the
        # cell in + direction has those that are on its side.
        assert list(on_side[:2]) == list(place[3:5] == 1)
        assert on_side[2] == (place[2] == 0)


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
