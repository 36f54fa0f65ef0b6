"""What every result says of itself beside its numbers: how it was found, and by which software."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from typing import Any

import numpy as np

from isocenter import __version__


def versions() -> dict[str, str]:
    """Of all that numbers depend on."""
    import scipy

    return {
        "isocenter": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
    }


def record(found: Mapping[str, Any], **said: Any) -> dict[str, Any]:
    """A result as JSON values, with what is said of it beside its fields and the versions of the software.

    What is undefined or infinite is null; parts with names are objects, and a number that is a key becomes text. A
    result that knows its versions keeps them.

    Examples
    --------
    >>> told = record({"p": 0.25, "df": math.inf}, method="t test")
    >>> told["p"], told["df"], told["method"], sorted(told["versions"])
    (0.25, None, 't test', ['isocenter', 'numpy', 'python', 'scipy'])
    """
    told = {name: _plain(value) for name, value in {**found, **said}.items()}
    return told if "versions" in told else {**told, "versions": versions()}


def _plain(value: Any) -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _plain(value._asdict())
    if isinstance(value, Mapping):
        return {f"{name:g}" if isinstance(name, float) else name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
