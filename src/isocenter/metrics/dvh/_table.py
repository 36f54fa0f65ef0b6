"""Many structures, many requests, one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from isocenter.metrics.dvh._dvh import DVH
from isocenter.metrics.dvh._request import Request
from isocenter.metrics.dvh._rules import Rule

if TYPE_CHECKING:
    import polars as pl

Requests = Sequence[str | Request]


def table(
    structures: Mapping[str, DVH],
    requests: Requests | Mapping[str, Requests],
    *,
    prescription: float | None = None,
    rule: Rule = "exact",
) -> pl.DataFrame:
    """What is asked of each structure, as a table: a row per structure, a column per request.

    Parameters
    ----------
    requests
        For all structures, or by structure; what is not asked of a structure is null. A structure for which requests
        are given but no histogram is an error.
    prescription, rule
        As `DVH.evaluate` takes them.

    Returns
    -------
    polars.DataFrame
        Columns `structure`, the requests in the order in which they first occur, and `flags`: those of any reading of
        the row, joined by commas. What is undefined, as the mean of an empty structure, is null.

    Examples
    --------
    >>> from isocenter.metrics.dvh import dvh_of
    >>> cord = dvh_of([10.0, 20.0, 30.0], voxel_volume=50.0)
    >>> table({"SpinalCord": cord}, ["D0.1cc[Gy]", "Max"]).row(0)
    ('SpinalCord', 20.0, 30.0, '')
    """
    import polars as pl

    if isinstance(requests, str):
        msg = f"requests are a list of texts, such as [{requests!r}], not one text"
        raise TypeError(msg)
    by_structure = requests if isinstance(requests, Mapping) else dict.fromkeys(structures, requests)
    unknown = [name for name in by_structure if name not in structures]
    if unknown:
        msg = f"asked of {', '.join(unknown)}, but there are only {', '.join(structures) or 'no structures'}"
        raise ValueError(msg)
    lists = requests.values() if isinstance(requests, Mapping) else [requests]
    columns = list(dict.fromkeys(str(_parsed(request)) for wanted in lists for request in wanted))
    rows: list[dict[str, str | float | None]] = []
    for name, dvh in structures.items():
        readings = [
            dvh.evaluate(request, prescription=prescription, rule=rule) for request in by_structure.get(name, ())
        ]
        flags = dict.fromkeys([*dvh.flags, *(flag for reading in readings for flag in reading.flags)])
        values = {
            str(reading.request): None if reading.value != reading.value else reading.value for reading in readings
        }
        rows.append({"structure": name, **values, "flags": ",".join(flags)})
    schema = {"structure": pl.String, **dict.fromkeys(columns, pl.Float64), "flags": pl.String}
    return pl.DataFrame(rows, schema=schema)


def _parsed(request: str | Request) -> Request:
    return Request.parse(request) if isinstance(request, str) else request
