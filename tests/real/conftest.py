"""Real patients, which are not ours to redistribute: they lie beside the repository, where there are any."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data() -> Path:
    """`ISOCENTER_TEST_DATA`, or the folder shared/data beside the repository; required in CI."""
    named = os.environ.get("ISOCENTER_TEST_DATA")
    folder = Path(named) if named else Path(__file__).parents[3] / "shared" / "data"
    if not folder.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"CI runs the tests on real data, but {folder} is not there")
        pytest.skip(f"no real data at {folder}")
    return folder
