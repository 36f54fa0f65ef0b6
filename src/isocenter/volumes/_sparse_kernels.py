"""The scanner of sparse CSV files: bytes to indices and numbers in one pass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

# What can be wrong with a line; the order of `sparse._COMPLAINTS`.
NO_INDEX, NEGATIVE, TOO_LARGE, NO_NUMBER, NOT_FINITE, NO_VALUE, A_VALUE, NO_COMMA = range(8)
KINDS = 8

POWERS: NDArray[np.float64] = 10.0 ** np.arange(23, dtype=np.float64)  # all exact in double precision
_NEWLINE, _RETURN, _COMMA, _MINUS, _PLUS, _POINT, _ZERO = 10, 13, 44, 45, 43, 46, 48
_MOST_DIGITS = 18  # of a mantissa that fits into 63 bits
_EXACT = 1 << 53
_SHORT = 16  # bytes of a number with a point that cannot have a mantissa beyond 2**53


@njit(nogil=True, cache=True)
def scan(
    data: NDArray[np.uint8],
    start: int,
    voxels: int,
    as_mask: bool,
    powers: NDArray[np.float64],
    index: NDArray[np.int64],
    values: NDArray[np.float64],
    odd: NDArray[np.int64],
    trouble: NDArray[np.int64],
) -> tuple[int, int, bool]:
    """Read the lines of `data` from `start` on; returns (rows, tokens left for the caller, whether they ascend).

    The data end with a line end, so that no loop has to ask whether there is more. `odd` gets (row, begin, end) of
    numbers that need more than double-double arithmetic, or are none: the caller decides on these. `trouble` gets, for
    every kind of complaint, how often it occurred and the offset of the first line with it. A line with a complaint
    makes no row.
    """
    rows, odds = 0, 0
    ascending, last = True, np.int64(-1)
    at, size = start, len(data)
    while at < size:
        line = at
        number, digit = np.int64(0), np.int64(data[at]) - _ZERO
        while 0 <= digit <= 9:
            number = number * 10 + digit
            at += 1
            digit = np.int64(data[at]) - _ZERO
        length = at - line
        if length == 0 or length > _MOST_DIGITS or number >= voxels or data[at] != _COMMA:
            at = _refuse_index(data, line, trouble)
            continue
        at += 1
        if as_mask and data[at] == _NEWLINE:
            at += 1
            index[rows] = number
            ascending = ascending and bool(number > last)
            last = number
            rows += 1
            continue
        begin = at
        # A number as nearly all are: digits, a point, digits. Others are read again with more care.
        mantissa, digit = np.int64(0), np.int64(data[at]) - _ZERO
        while 0 <= digit <= 9:
            mantissa = mantissa * 10 + digit
            at += 1
            digit = np.int64(data[at]) - _ZERO
        point, decimals = 0, 0
        if data[at] == _POINT:
            point = 1
            at += 1
            decimals = -at
            digit = np.int64(data[at]) - _ZERO
            while 0 <= digit <= 9:
                mantissa = mantissa * 10 + digit
                at += 1
                digit = np.int64(data[at]) - _ZERO
            decimals += at
        if data[at] == _NEWLINE and point < at - begin <= _SHORT:
            if as_mask:
                _complain(trouble, A_VALUE, line)
                at += 1
                continue
            values[rows] = mantissa / powers[decimals]
        else:
            while data[at] != _NEWLINE:
                at += 1
            stop = at - 1 if data[at - 1] == _RETURN else at
            if as_mask:
                if stop > begin:
                    _complain(trouble, A_VALUE, line)
                    at += 1
                    continue
            elif stop <= begin:
                _complain(trouble, NO_VALUE, line)
                at += 1
                continue
            else:
                value, good = _decimal(data, begin, stop, powers)
                values[rows] = value
                if not good:
                    odd[odds, 0], odd[odds, 1], odd[odds, 2] = rows, begin, stop
                    odds += 1
        at += 1
        index[rows] = number
        ascending = ascending and bool(number > last)
        last = number
        rows += 1
    return rows, odds, ascending


@njit(nogil=True, cache=True)
def _refuse_index(data: NDArray[np.uint8], line: int, trouble: NDArray[np.int64]) -> int:
    """Say what is wrong with the index that a line begins with; returns where the next line begins."""
    end = line
    while data[end] != _NEWLINE:
        end += 1
    stop = end - 1 if end > line and data[end - 1] == _RETURN else end
    at = line + 1 if data[line] == _MINUS else line
    first = at
    while _ZERO <= data[at] <= _ZERO + 9:
        at += 1
    if stop == line:
        return end + 1  # an empty line, as at the end of a file
    if at == first:
        _complain(trouble, NO_INDEX, line)
    elif at == stop:
        _complain(trouble, NO_COMMA, line)
    elif data[at] != _COMMA:
        _complain(trouble, NO_INDEX, line)
    else:
        _complain(trouble, NEGATIVE if first > line else TOO_LARGE, line)
    return end + 1


@njit(nogil=True, cache=True)
def _complain(trouble: NDArray[np.int64], kind: int, line: int) -> None:
    if trouble[kind, 0] == 0:
        trouble[kind, 1] = line
    trouble[kind, 0] += 1


@njit(nogil=True, cache=True)
def _decimal(data: NDArray[np.uint8], begin: int, stop: int, powers: NDArray[np.float64]) -> tuple[float, bool]:
    """A decimal number; False if it is none, or has more digits or a larger exponent than is exact here.

    Up to 2⁵³ and 10²² mantissa and power are exact, so one division rounds correctly. A longer mantissa is split into
    two doubles and divided with the remainder carried along: 106 bits, rounded once at the end.
    """
    at = begin
    negative = data[at] == _MINUS
    if negative or data[at] == _PLUS:
        at += 1
    mantissa, digits, seen, exponent = 0, 0, 0, 0
    point = False
    while at < stop:
        c = data[at]
        if _ZERO <= c <= _ZERO + 9:
            seen += 1
            if digits or c != _ZERO:
                digits += 1
                if digits > _MOST_DIGITS:
                    return 0.0, False
            mantissa = mantissa * 10 + (c - _ZERO)
            if point:
                exponent -= 1
        elif c == _POINT and not point:
            point = True
        else:
            break
        at += 1
    if seen == 0:
        return 0.0, False
    if at < stop:
        if data[at] not in (69, 101):  # E, e
            return 0.0, False
        at += 1
        down = at < stop and data[at] == _MINUS
        if down or (at < stop and data[at] == _PLUS):
            at += 1
        power, length = 0, 0
        while at < stop and _ZERO <= data[at] <= _ZERO + 9 and length < 4:
            power = power * 10 + (data[at] - _ZERO)
            length += 1
            at += 1
        if length == 0 or at < stop:
            return 0.0, False
        exponent += -power if down else power
    if mantissa == 0:
        return (-0.0 if negative else 0.0), True
    if exponent < -22 or exponent > 22:
        return 0.0, False
    if mantissa <= _EXACT:
        value = mantissa / powers[-exponent] if exponent < 0 else mantissa * powers[exponent]
    elif exponent > 0:
        return 0.0, False
    else:
        value = _long_division(mantissa, powers[-exponent])
    return (-value if negative else value), True


@njit(nogil=True, cache=True)
def _long_division(mantissa: int, divisor: float) -> float:
    """A whole number of up to 63 bits, divided by an exact power of ten."""
    high = float(mantissa)
    low = float(mantissa - int(high))
    quotient = high / divisor
    # quotient × divisor exactly, as a sum of two doubles (Dekker 1971).
    scaled = 134217729.0 * quotient
    q1 = scaled - (scaled - quotient)
    q2 = quotient - q1
    scaled = 134217729.0 * divisor
    d1 = scaled - (scaled - divisor)
    d2 = divisor - d1
    product = quotient * divisor
    error = ((q1 * d1 - product) + q1 * d2 + q2 * d1) + q2 * d2
    remainder = ((high - product) - error) + low
    return quotient + remainder / divisor


def room(size: int) -> tuple[Any, ...]:
    """Arrays for a file of `size` bytes: no row is shorter than two bytes and a line end."""
    rows = size // 3 + 1
    return np.empty(rows, np.int64), np.empty(rows, np.float64), np.empty((rows, 3), np.int64)
