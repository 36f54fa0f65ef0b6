"""What is asked of a dose-volume histogram, as TG-263 writes it: ``D0.1cc[Gy]``, ``V20Gy[%]``, ``Mean[Gy]``."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

import numpy as np

Kind = Literal["D", "DC", "V", "CV", "Mean", "Min", "Max", "Volume"]
Unit = Literal["Gy", "cGy", "%", "cc"]

_AT: dict[Kind, tuple[Unit, ...]] = {
    "D": ("%", "cc"),
    "DC": ("%", "cc"),
    "V": ("Gy", "cGy", "%"),
    "CV": ("Gy", "cGy", "%"),
}
_DOSE_UNITS: tuple[Unit, ...] = ("Gy", "cGy", "%")
_ANSWERS: dict[Kind, tuple[Unit, ...]] = {
    "D": _DOSE_UNITS,
    "DC": _DOSE_UNITS,
    "V": ("%", "cc"),
    "CV": ("%", "cc"),
    "Mean": _DOSE_UNITS,
    "Min": _DOSE_UNITS,
    "Max": _DOSE_UNITS,
    "Volume": ("cc",),
}
_WORDS: dict[str, tuple[Kind, float | None, Unit | None]] = {
    "mean": ("Mean", None, None),
    "dmean": ("Mean", None, None),
    "min": ("Min", None, None),
    "dmin": ("Min", None, None),
    "max": ("Max", None, None),
    "dmax": ("Max", None, None),
    "volume": ("Volume", None, None),
    "near-min": ("D", 98.0, "%"),  # ICRU 83
    "near-max": ("D", 2.0, "%"),
}
_UNITS: dict[str, Unit] = {"gy": "Gy", "cgy": "cGy", "%": "%", "cc": "cc"}
_READ: dict[str, Kind] = {kind: kind for kind in _AT}
_KINDS = "D, DC, V, CV, Mean, Min, Max, Volume, near-min or near-max"
_WORD = re.compile(r"near-\w+|[A-Za-z]+", re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(r"\d+(\.\d*)?|\.\d+", re.ASCII)
_UNIT = re.compile(r"[A-Za-z]+|%")


class RequestError(ValueError):
    """A request that cannot be read; the message shows it, where it stopped making sense, and what was expected."""


@dataclass(frozen=True, slots=True)
class Request:
    """One number asked of a dose-volume histogram.

    =================  ==========================================================================================
    ``D95%[Gy]``       the dose that the hottest 95 % of the structure receive at least; ``D0.1cc``: its hottest 0.1 cc
    ``DC0.1cc[Gy]``    dose complement: the highest dose within the coldest 0.1 cc (or, with %, share) of it
    ``V20Gy[%]``       the volume that receives 20 Gy or more; ``V95%``: 95 % of the prescribed dose or more
    ``CV20Gy[cc]``     complement volume: the volume that receives less than 20 Gy
    ``Mean[Gy]``       the mean dose; also Min and Max, and Dmean, Dmin, Dmax
    ``Volume[cc]``     the volume of the structure
    ``near-min``       D98%; ``near-max``: D2% (ICRU report 83)
    =================  ==========================================================================================

    Doses are in Gy, cGy or % of the prescription, volumes in cc or % of the structure. The unit in brackets is that of
    the answer. A dose without brackets is in Gy. A volume needs them, as both units are in daily use. Letters may be
    large or small; numbers are plain decimals, not necessarily whole.

    Attributes
    ----------
    kind
        "D", "DC", "V", "CV", "Mean", "Min", "Max" or "Volume".
    at, at_unit
        The volume or dose at which the curve is read, and its unit; None for the last four kinds.
    unit
        Of the answer.

    Examples
    --------
    >>> Request.parse("D0.1cc[Gy]")
    Request(kind='D', at=0.1, at_unit='cc', unit='Gy')
    >>> str(Request.parse("dmean"))
    'Mean[Gy]'
    >>> Request.parse("V20[%]")
    Traceback (most recent call last):
    ...
    isocenter.metrics.dvh._request.RequestError: "V20[%]", position 4: found "[", expected a unit: Gy, cGy or %
    """

    kind: Kind
    at: float | None
    at_unit: Unit | None
    unit: Unit

    def __post_init__(self) -> None:
        units = _AT.get(self.kind)
        if self.kind not in _ANSWERS:
            msg = f"a request is one of {', '.join(_ANSWERS)}, not {self.kind!r}"
            raise RequestError(msg)
        if units is None and (self.at, self.at_unit) != (None, None):
            msg = f"{self.kind} is not read at a dose or volume, but {self.at} {self.at_unit} was given"
            raise RequestError(msg)
        if units is not None:
            if self.at is None or not 0 <= self.at < math.inf or self.at_unit not in units:
                msg = f"{self.kind} is read at a number ≥ 0 of {_either(units)}, not at {self.at} {self.at_unit}"
                raise RequestError(msg)
            if self.kind in ("D", "DC") and self.at_unit == "%" and self.at > 100:
                msg = f"{self.kind}{_plain(self.at)}%: no structure has more than 100 % of its volume"
                raise RequestError(msg)
        if self.unit not in _ANSWERS[self.kind]:
            msg = f"the answer to {self.kind} is in {_either(_ANSWERS[self.kind])}, not {self.unit}"
            raise RequestError(msg)

    @classmethod
    def parse(cls, text: str) -> Request:
        """Read a request, or raise a `RequestError` that shows where it stopped making sense."""
        reader = _Reader(text.strip())
        word, start = reader.take(_WORD, _KINDS)
        known = _WORDS.get(word.lower())
        if known is not None:
            kind, at, at_unit = known
        else:
            if word.upper() not in _READ:
                raise reader.error(start, _KINDS)
            kind = _READ[word.upper()]
            number, start = reader.take(_NUMBER, "a number, such as 95 or 0.1")
            at = float(number)
            if at == math.inf or (kind in ("D", "DC") and reader.rest.startswith("%") and at > 100):
                raise reader.error(
                    start, "at most 100 % of the volume" if at < math.inf else "a number of sensible size"
                )
            at_unit = reader.unit(_AT[kind])
        unit = reader.brackets(_ANSWERS[kind])
        if unit is None:
            if kind in ("V", "CV"):
                raise reader.error(len(reader.text), "the unit of the answer, [%] or [cc]")
            unit = _ANSWERS[kind][0]
        return cls(kind, at, at_unit, unit)

    @property
    def needs_prescription(self) -> bool:
        """Whether a per cent of the prescribed dose is in the question or in the answer."""
        asked = self.kind in ("V", "CV") and self.at_unit == "%"
        return asked or (self.kind not in ("V", "CV") and self.unit == "%")

    def __str__(self) -> str:
        at = "" if self.at is None else f"{_plain(self.at)}{self.at_unit}"
        return f"{self.kind}{at}[{self.unit}]"


class _Reader:
    """A text and how far it has been read."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    @property
    def rest(self) -> str:
        return self.text[self.at :]

    def take(self, pattern: re.Pattern[str], expected: str) -> tuple[str, int]:
        """The next piece that fits the pattern, and where it began."""
        found, start = pattern.match(self.text, self.at), self.at
        if found is None:
            raise self.error(start, expected)
        self.at = found.end()
        return found.group(), start

    def unit(self, allowed: tuple[Unit, ...]) -> Unit:
        expected = f"a unit: {_either(allowed)}"
        text, start = self.take(_UNIT, expected)
        unit = _UNITS.get(text.lower())
        if unit not in allowed:
            raise self.error(start, expected)
        assert unit is not None
        return unit

    def brackets(self, allowed: tuple[Unit, ...]) -> Unit | None:
        """The unit in brackets with which a request ends, if there is one."""
        if not self.rest:
            return None
        expected = f"the unit of the answer in brackets: {_either(tuple(f'[{unit}]' for unit in allowed))}"
        self.take(re.compile(r"\["), expected)
        unit = self.unit(allowed)
        self.take(re.compile(r"\]"), "a closing ]")
        if self.rest:
            raise self.error(self.at, "nothing more")
        return unit

    def error(self, at: int, expected: str) -> RequestError:
        shown = self.text if len(self.text) <= 80 else f"{self.text[:79]}…"
        rest = self.text[at:]
        piece = re.match(r"[A-Za-z-]+|[\d.]+|.", rest, re.DOTALL)
        found = f'"{piece.group()[:20]}"' if piece else "the end"
        return RequestError(f'"{shown}", position {at + 1}: found {found}, expected {expected}')


def _plain(number: float) -> str:
    """The shortest decimal that is read as the same number, never with an exponent."""
    return np.format_float_positional(number, trim="-")


def _either(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} or {names[-1]}"
