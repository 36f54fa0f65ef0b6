"""What a statistic of a whole cohort says of itself, and where statistics are found by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.metrics.catalogue import Metric
from isocenter.problems import describe_error, printable
from isocenter.resampling.counts import Resamples
from isocenter.resampling.estimates import resample_sums
from isocenter.resampling.matrices import Floats
from isocenter.schema import quoted, refuse

GROUP = "isocenter.statistics"
"""The entry points by which a package brings a statistic: its name in files, and its class."""

Columns = Mapping[str, Floats]
"""By name of an input, one number per case."""


@dataclass(frozen=True, eq=False)
class CaseWeights:
    """What each case weighs in each resample: how often it was drawn, times its own weight. 0: it is no case."""

    resamples: Resamples
    weight: Floats

    def sums(self, values: ArrayLike) -> Floats:
        """Σ w·x in every resample: of one number per case a vector, of rows × cases rows × resamples.

        Summed exactly, so that neither the order of the cases nor the machine can move the last bit.
        """
        rows = np.asarray(values, np.float64)
        found = resample_sums(np.atleast_2d(rows), self.resamples, weight=self.weight)
        return found[0] if rows.ndim == 1 else found

    @cached_property
    def matrix(self) -> Floats:
        """Resamples × cases, for what is not a function of sums."""
        return self.resamples.counts * self.weight

    def among(self, cases: NDArray[np.bool_]) -> CaseWeights:
        """Those of some of the cases."""
        return self if cases.all() else CaseWeights(self.resamples.among(cases), self.weight[cases])

    @property
    def rows(self) -> int:
        """How many resamples there are."""
        return self.resamples.replicates


@dataclass(frozen=True, slots=True)
class Input:
    """One number that a statistic needs of every case.

    Attributes
    ----------
    name
        How the statistic calls it, and `columns` of a board.
    metric
        The metric of the score table that holds it, unless a board names another.
    of_reference
        Whether the reference says it, so that it is the same for all submissions.
    """

    name: str
    metric: str
    of_reference: bool = False


class Statistic(ABC):
    """A number of all cases of a cohort together, as a function of weights of the cases.

    A bootstrap resample is a row of weights (`CaseWeights`). So a statistic never sees copied cases. A subclass says
    what it needs and computes it for all resamples at once; boards, intervals, rank sets, receipts and challenge.toml
    follow.
    """

    name: ClassVar[str]
    """How `statistic` of a board calls it."""

    metric: ClassVar[Metric]
    """What the board shows: registered in the catalogue, with direction, bounds and decimals."""

    inputs: ClassVar[tuple[Input, ...]]
    """What it needs of every case."""

    formula: ClassVar[str]
    """It in pseudo-code, of the inputs of the cases i with their weights w[i]."""

    @abstractmethod
    def evaluate(self, columns: Columns, weights: CaseWeights) -> Floats:
        """The statistic in every resample; NaN where it is undefined."""

    @abstractmethod
    def explain_undefined(self, columns: Columns, weights: CaseWeights) -> str:
        """Why it is undefined for all cases together, as in "all cases are of one class"."""

    def check_inputs(self, columns: Columns) -> str:  # noqa: ARG002 (any numbers will do)
        """What must hold of the numbers of a submission and does not, as in "truth is 0 or 1"; "" if all does."""
        return ""

    def is_defined(self, columns: Columns, weights: CaseWeights) -> NDArray[np.bool_]:
        """In which resamples it is defined; to be overridden where that is cheaper to tell than the number."""
        return ~np.isnan(self.evaluate(columns, weights))

    def describe_reference(self, columns: Columns) -> dict[str, Floats]:
        """What the inputs of a submission say of the reference, which must be the same for all submissions."""
        return {one.name: columns[one.name] for one in self.inputs if one.of_reference}

    def count_as_worst(self, reference: Columns) -> dict[str, Floats] | None:  # noqa: ARG002 (where there is no such)
        """By case the inputs of an output than which none could be worse, of what the reference is; None if unknown."""
        return None


_REGISTERED: dict[str, Statistic] = {}


def register_statistic(made: type[Statistic]) -> type[Statistic]:
    """Register a class as a statistic that files can name; a decorator.

    Another package names the class in the entry-point group `isocenter.statistics` as well, under the same name, so
    that it is found before anybody imports it.
    """
    known = _REGISTERED.get(made.name)
    if known is not None and (type(known).__module__, type(known).__qualname__) != (made.__module__, made.__qualname__):
        msg = f'there is already a statistic "{made.name}", {type(known).__module__}.{type(known).__qualname__}'
        raise ValueError(msg)
    _REGISTERED[made.name] = made()
    return made


def own_statistics(module: str) -> list[Statistic]:
    """The statistics that a module registered, in its order."""
    return [statistic for statistic in _REGISTERED.values() if type(statistic).__module__ == module]


def statistic_names() -> list[str]:
    """The names of all statistics, of this package and of any that is installed, in alphabetical order."""
    return sorted(_REGISTERED.keys() | installed_statistics().keys())


def get_statistic(name: str) -> Statistic:
    """A statistic by its name in files.

    Raises
    ------
    ValueError
        There is none, or the package that brings it cannot be imported or brings something else.
    """
    point = installed_statistics().get(name)
    if name not in _REGISTERED and point is not None:
        try:
            point.load()
        except (Exception, SystemExit) as error:
            msg = f'the statistic "{name}" cannot be loaded from {point.value}: {printable(describe_error(error))}'
            raise ValueError(msg) from error
        if name not in _REGISTERED:
            msg = f'the package that brings the statistic "{name}" does not register it'
            raise ValueError(msg)
    if name not in _REGISTERED:
        names = statistic_names()
        raise ValueError(refuse(name, quoted(names, "or"), names))
    return _REGISTERED[name]


@cache
def installed_statistics() -> dict[str, EntryPoint]:
    """The entry points of statistics by name."""
    return {point.name: point for point in entry_points(group=GROUP)}
