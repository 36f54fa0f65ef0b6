"""The scanner of sparse CSV files: bytes to indices and numbers in one pass.

Nearly all lines are ``index,digits.digits``. These are taken 32 bytes at a time: one comparison of a vector of bytes
says where the digits, the comma, the point and the line end are, and digits become numbers eight at a time. A line of
any other kind, or one that is longer, is read again byte by byte; that reader alone decides what is wrong with a line.

Numbers are rounded correctly, as Python's `float` rounds them.

References
----------
Lemire D. Number parsing at a gigabyte per second. Softw Pract Exp 51 (2021) 1700-1727. The decimal mantissa, up to
19 digits, times 128 bits of the power of ten.
Mushtak N, Lemire D. Fast number parsing without fallback. Softw Pract Exp 53 (2023) 1467-1471. These bits always
suffice.
"""
# mypy: disable-error-code="assignment, return-value, arg-type, call-arg"
# mypy: disable-error-code="var-annotated, no-any-return, untyped-decorator"
# (numba infers the types of integers when it compiles, and refuses what does not fit)
# ruff: noqa: ARG001 (numba calls an intrinsic with its types; those that are fixed are not looked at)

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import extending, njit, types
from numpy.typing import NDArray

intrinsic: Any = extending.intrinsic  # its functions are called without the context that they are declared with

# What can be wrong with a line; the order of `sparse._COMPLAINTS`.
NO_INDEX, NEGATIVE, TOO_LARGE, NO_NUMBER, NOT_FINITE, NO_VALUE, A_VALUE, NO_COMMA = range(8)
KINDS = 8
SLACK = 80  # bytes that the scanner may look at behind the end of the data

_LOWEST, _HIGHEST = -300, 280  # powers of ten with which no mantissa of 64 bits leaves the range of normal doubles
_NEWLINE, _RETURN, _QUOTE, _COMMA, _PLUS, _MINUS, _POINT, _ZERO = 10, 13, 34, 44, 43, 45, 46, 48
_MOST_MANTISSA = 19  # digits of a mantissa that fits into 64 bits
_SMALL_E = 101
_SHORT = 15  # digits of a mantissa that is exact as a double
_EXACT_POWER = 22  # the largest power of ten that is
SPARE = 72
_NO_ROW, _ROW, _ODD = range(3)

_U0, _U1, _U3, _U8, _U9 = (np.uint64(n) for n in (0, 1, 3, 8, 9))
_U10, _U16, _U32, _U48, _U52, _U56, _U63, _U64 = (np.uint64(n) for n in (10, 16, 32, 48, 52, 56, 63, 64))
_U255 = np.uint64(255)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_PAIRS = np.uint64(0x00FF00FF00FF00FF)
_FOURS = np.uint64(0x0000FFFF0000FFFF)
_U100, _U10000 = np.uint64(100), np.uint64(10000)
_NINE_BITS = np.uint64(0x1FF)
_HIDDEN = np.uint64(1 << 52)


def _tabulate_powers() -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The leading 128 bits of 10ⁿ, as two words, for all n from `_LOWEST` to `_HIGHEST`.

    10ⁿ has the bits of 5ⁿ. They are cut off where there are more; up to 5²⁷ the reciprocal is rounded up instead, as
    then its product with a multiple of 5ⁿ is whole.
    """
    high, low = [], []
    for n in range(_LOWEST, _HIGHEST + 1):
        power = 5 ** abs(n)
        length = power.bit_length()
        if n >= 0:
            bits = power << 128 - length if length <= 128 else power >> length - 128
        else:
            # 2ᶻ is the power of two that is not below: 5ⁿ is none itself, but for n = 0.
            bits = (1 << length + 127) // power + (n >= -27)
        high.append(bits >> 64)
        low.append(bits & ((1 << 64) - 1))
    return np.array(high, np.uint64), np.array(low, np.uint64)


HIGH, LOW = _tabulate_powers()
TENS: NDArray[np.uint64] = np.array([10**n for n in range(20)], np.uint64)
POWERS: NDArray[np.float64] = 10.0 ** np.arange(_EXACT_POWER + 1, dtype=np.float64)
LAST: NDArray[np.uint64] = np.array([((1 << 8 * n) - 1) << 64 - 8 * n for n in range(9)], np.uint64)  # n last bytes


# Inner functions take the address of the data, not the array: an array that is passed on is counted as a reference
# before and after, line by line, and that took two thirds of the time.


def _load(builder: Any, data: Any, at: Any, kind: Any) -> Any:
    """Bytes of the data as one value, wherever they begin."""
    value = builder.load(builder.inttoptr(builder.add(data, at), kind.as_pointer()))
    value.align = 1
    return value


@intrinsic
def _address(_context: Any, data: Any) -> Any:
    """Where an array lies; good for as long as the caller holds the array."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, arguments[0])
        return builder.ptrtoint(array.data, ir.IntType(64))

    return types.int64(data), emit


@intrinsic
def _byte_at(_context: Any, data: Any, at: Any) -> Any:
    """One byte."""

    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.zext(_load(builder, *arguments, ir.IntType(8)), ir.IntType(64))

    return types.int64(types.int64, types.int64), emit


@intrinsic
def _word_at(_context: Any, data: Any, at: Any) -> Any:
    """Eight bytes, the first one lowest."""

    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _load(builder, *arguments, ir.IntType(64))

    return types.uint64(types.int64, types.int64), emit


@intrinsic(prefer_literal=True)
def _equal_at(_context: Any, data: Any, at: Any, byte: Any) -> Any:
    """Which of 32 bytes equal one: a bit for each, the first one lowest."""

    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        vector = _load(builder, *arguments[:2], ir.VectorType(ir.IntType(8), 32))
        wanted = ir.Constant(vector.type, [byte.literal_value] * 32)
        bits = builder.bitcast(builder.icmp_unsigned("==", vector, wanted), ir.IntType(32))
        return builder.zext(bits, ir.IntType(64))

    return types.uint64(types.int64, types.int64, byte), emit


@intrinsic
def _digits_at(_context: Any, data: Any, at: Any) -> Any:
    """Which of 32 bytes are digits: a bit for each, the first one lowest."""

    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        vector = _load(builder, *arguments[:2], ir.VectorType(ir.IntType(8), 32))
        above = builder.sub(vector, ir.Constant(vector.type, [_ZERO] * 32))
        bits = builder.bitcast(builder.icmp_unsigned("<", above, ir.Constant(vector.type, [10] * 32)), ir.IntType(32))
        return builder.zext(bits, ir.IntType(64))

    return types.uint64(types.int64, types.int64), emit


@intrinsic
def _trailing_zeros(_context: Any, word: Any) -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.intp(types.uint64), emit


@intrinsic
def _leading_zeros(_context: Any, word: Any) -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.uint64(types.uint64), emit


@intrinsic
def _count_bits(_context: Any, word: Any) -> Any:
    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.intp(types.uint64), emit


@intrinsic
def _bits_of(_context: Any, number: Any) -> Any:
    """The bits of a double."""

    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.uint64(types.float64), emit


@intrinsic
def _product(_context: Any, a: Any, b: Any) -> Any:
    """The 128 bits of a product: the higher word, the lower word."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word, wide = ir.IntType(64), ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        high = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), word)
        return context.make_tuple(builder, signature.return_type, (high, builder.trunc(product, word)))

    return types.UniTuple(types.uint64, 2)(types.uint64, types.uint64), emit


@njit(nogil=True, cache=True)
def count_lines(array: NDArray[np.uint8], start: int, size: int) -> tuple[int, bool]:
    """How many line ends there are from `start` on, and whether there is a quote; `SLACK` bytes follow the data."""
    data = _address(array)
    lines, quotes = 0, np.uint64(0)
    at = start
    while at + 32 <= size:
        lines += _count_bits(_equal_at(data, at, _NEWLINE))
        quotes |= _equal_at(data, at, _QUOTE)
        at += 32
    inside = (_U1 << np.uint64(size - at)) - _U1
    lines += _count_bits(_equal_at(data, at, _NEWLINE) & inside)
    quotes |= _equal_at(data, at, _QUOTE) & inside
    return lines, quotes != _U0


@njit(nogil=True, cache=True)
def _find_lines(data: int, start: int, size: int, ends: NDArray[np.int64]) -> int:
    """Write down where the lines end; returns how many there are. `ends` has room for `SPARE` more."""
    lines = 0
    for at in range(start, size, 64):
        bits = _equal_at(data, at, _NEWLINE) | _equal_at(data, at + 32, _NEWLINE) << _U32
        if at + 64 > size:
            bits &= (_U1 << np.uint64(size - at)) - _U1
        count = _count_bits(bits)
        # Eight at a time, too many rather than ask after each whether there is another: the next ones overwrite them.
        done = 0
        while done < count:
            for k in range(8):
                ends[lines + done + k] = at + _trailing_zeros(bits)
                bits &= bits - _U1
            done += 8
        lines += count
    return lines


@njit(nogil=True, cache=True)
def unquote(data: NDArray[np.uint8], start: int, size: int, bare: NDArray[np.uint8]) -> int:
    """Copy the data without the quotes around whole fields from `start` on; returns how many bytes there are then.

    Quotes within a field, or with a comma or a line end between them, stay: they are for the scanner to refuse.
    """
    bare[:start] = data[:start]
    at, done = start, start
    begins = True  # a field
    while at < size:
        byte = data[at]
        if begins and byte == _QUOTE:
            end = at + 1
            while end < size and data[end] not in (_QUOTE, _COMMA, _NEWLINE):
                end += 1
            if end + 1 < size and data[end] == _QUOTE and data[end + 1] in (_COMMA, _RETURN, _NEWLINE):
                for k in range(at + 1, end):
                    bare[done] = data[k]
                    done += 1
                at = end + 1
                begins = False
                continue
        bare[done] = byte
        done += 1
        at += 1
        begins = byte in (_COMMA, _NEWLINE)
    return done


@njit(nogil=True, cache=True)
def _eight_digits(word: np.uint64) -> np.uint64:
    """The number that eight bytes spell; a byte of 0 counts as the digit 0.

    Neighbours are joined to pairs, pairs to fours, fours to the number: the lower half of each is the more significant.
    """
    word &= _BYTES
    word = (word * _U10 + (word >> _U8)) & _PAIRS
    word = (word * _U100 + (word >> _U16)) & _FOURS
    return (word * _U10000 + (word >> _U32)) & np.uint64(0xFFFFFFFF)


@njit(nogil=True, cache=True, inline="always")
def _double_bits(mantissa: np.uint64, exponent: int) -> np.uint64:
    """The bits of the double nearest to mantissa × 10^exponent; of two equally near, the even one.

    The mantissa is not 0, and the exponent one of the table's.
    """
    zeros = _leading_zeros(mantissa)
    mantissa <<= zeros
    upper, lower = _product(mantissa, HIGH[exponent - _LOWEST])
    if upper & _NINE_BITS == _NINE_BITS:  # what the first word leaves out could carry into the bits that are kept
        more, _ = _product(mantissa, LOW[exponent - _LOWEST])
        lower += more
        if lower < more:
            upper += _U1
    first = upper >> _U63
    shift = first + _U9
    bits = upper >> shift  # 53 bits and one to round by
    # Half way between two doubles, exactly: only small powers of ten can be there.
    if lower <= _U1 and -4 <= exponent <= 23 and bits & _U3 == _U1 and bits << shift == upper:
        bits -= _U1
    bits = (bits + (bits & _U1)) >> _U1
    # floor(log₂ 10ⁿ) = 217706 n / 2¹⁶, rounded down, for all n in question
    power = np.uint64(((217706 * exponent) >> 16) + 63 + 1023 - np.int64(zeros) + np.int64(first))
    # A mantissa that was rounded up to 2⁵³ carries into the exponent by itself.
    return ((power - _U1) << _U52) + bits


@njit(nogil=True, cache=True)
def scan(
    array: NDArray[np.uint8],
    start: int,
    size: int,
    voxels: int,
    as_mask: bool,
    index: NDArray[np.int64],
    values: NDArray[np.uint64],
    odd: NDArray[np.int64],
    trouble: NDArray[np.int64],
) -> tuple[int, int, bool]:
    """Read the lines of `array` from `start` on; returns (rows, tokens left for the caller, whether they ascend).

    The header precedes; the last of `size` bytes is a line end, and `SLACK` bytes follow, so that no loop has to ask
    whether there is more. `odd` gets (row, begin, end) of numbers with more than 19 digits, very large or small ones,
    and what is not a number: the caller decides on these, and calls again if there is no room for all. `trouble` gets,
    for every kind of complaint, how often it occurred and the offset of the first line with it. A line with a complaint
    makes no row.
    """
    data = _address(array)
    # Where all lines end is found first: then no line waits for the one before it, and the processor reads several at
    # a time. The ends lie where the indices will, as there is never more than one index per line.
    lines = _find_lines(data, start, size, index)
    rows, odds = 0, 0
    ascending, last = True, np.int64(-1)
    at = start
    for line in range(lines):
        line_end = index[line]
        length = line_end - at
        length -= _byte_at(data, line_end - 1) == _RETURN
        number = np.int64(voxels)
        if 2 <= length < 64:
            rest = ~_digits_at(data, at)
            if length > 32:
                rest &= ~(_digits_at(data, at + 32) << _U32)
            rest &= (_U1 << np.uint64(length)) - _U1
            comma = _trailing_zeros(rest)
            rest &= rest - _U1
            if 0 < comma <= 8 and _byte_at(data, at + comma) == _COMMA:
                if as_mask:
                    plain = comma == length - 1
                else:
                    value, plain = _read_value(data, at, comma + 1, length, rest)
                    values[rows] = value
                if plain:
                    number = np.int64(_eight_digits(_word_at(data, at) << (_U64 - _U8 * np.uint64(comma))))
        if number >= voxels:
            made, number = _scan_line(data, at, voxels, as_mask, values, rows, odd, odds, trouble)
            if made == _NO_ROW:
                at = line_end + 1
                continue
            odds += made == _ODD
        at = line_end + 1
        index[rows] = number
        ascending = ascending and number > last
        last = number
        rows += 1
    return rows, odds, ascending


@njit(nogil=True, cache=True, inline="always")
def _read_value(data: int, at: int, begin: int, end: int, rest: np.uint64) -> tuple[np.uint64, bool]:
    """The bits of the value of the line at `at`, between two places of it, and whether it was a plain number.

    The bits of `rest` are its bytes that are not digits: perhaps a minus, a point, an E with a sign.
    """
    point = _trailing_zeros(rest)
    whole, fraction = point - begin, end - point - 1
    # Nearly all are like 19.8: a point and nothing else, with up to seven digits behind it. The digits on both sides
    # of the point are put together and read at once; what does not fit into eight bytes is read before them.
    alone = rest != _U0 and rest & (rest - _U1) == _U0
    if alone and 0 < whole <= 8 and 0 < fraction < 8 and _byte_at(data, at + point) == _POINT:
        shift = _U8 * np.uint64(fraction)
        before = _word_at(data, at + point - 8) & LAST[whole]
        mantissa = _eight_digits(_word_at(data, at + end - 8) & LAST[fraction] | before >> shift)
        if whole + fraction > 8:
            mantissa += _eight_digits(before << (_U64 - shift)) * TENS[8]
        # At most 15 digits and 10⁷ are exact as doubles, so that one division rounds once.
        return _bits_of(np.float64(np.int64(mantissa)) / POWERS[fraction]), True
    negative = _byte_at(data, at + begin) == _MINUS
    if negative:
        rest &= rest - _U1
        begin += 1
    exponent = 0
    point = end
    if rest != _U0:
        point = _trailing_zeros(rest)
        if _byte_at(data, at + point) == _POINT:
            rest &= rest - _U1
        else:
            point = _trailing_zeros(rest)
        if rest != _U0:
            letter = _trailing_zeros(rest)
            digits = letter + 1
            rest &= rest - _U1
            down = _byte_at(data, at + digits) == _MINUS
            if down or _byte_at(data, at + digits) == _PLUS:
                rest &= rest - _U1
                digits += 1
            if rest != _U0 or _byte_at(data, at + letter) | 32 != _SMALL_E or not 0 < end - digits <= 3:
                return _U0, False
            exponent = np.int64(_eight_digits(_word_at(data, at + end - 8) & LAST[end - digits]))
            if down:
                exponent = -exponent
            end = letter
    whole = point - begin
    fraction = max(end - point - 1, 0)
    if whole > 8 or fraction > 18 or not 0 < whole + fraction <= _MOST_MANTISSA:
        return _U0, False
    mantissa = _word_at(data, at + point - 8) & LAST[whole] & _BYTES
    # A dose has one or two digits before its point, and these need no more than this.
    mantissa = (mantissa >> _U48 & _U255) * _U10 + (mantissa >> _U56) if whole <= 2 else _eight_digits(mantissa)
    mantissa *= TENS[fraction]
    if fraction <= 8:
        mantissa += _eight_digits(_word_at(data, at + end - 8) & LAST[fraction])
    else:
        mantissa += _eight_digits(_word_at(data, at + end - 8))
        mantissa += _eight_digits(_word_at(data, at + end - 16) & LAST[min(fraction - 8, 8)]) * TENS[8]
        if fraction > 16:
            mantissa += _eight_digits(_word_at(data, at + end - 24) & LAST[fraction - 16]) * TENS[16]
    exponent -= fraction
    sign = np.uint64(negative) << _U63
    if mantissa == _U0:
        return sign, True
    if whole + fraction <= _SHORT and -_EXACT_POWER <= exponent <= 0:  # both exact, so that one division rounds once
        return _bits_of(np.float64(np.int64(mantissa)) / POWERS[-exponent]) | sign, True
    if not _LOWEST <= exponent <= _HIGHEST:
        return _U0, False
    return _double_bits(mantissa, exponent) | sign, True


@njit(nogil=True, cache=True)
def _scan_line(
    data: int,
    line: int,
    voxels: int,
    as_mask: bool,
    values: NDArray[np.uint64],
    row: int,
    odd: NDArray[np.int64],
    odds: int,
    trouble: NDArray[np.int64],
) -> tuple[int, int]:
    """Read one line with care; returns whether it made a row, and its index."""
    at = line
    number = np.int64(0)
    while _ZERO <= _byte_at(data, at) <= _ZERO + 9:
        if number < voxels:  # beyond, more digits change nothing
            number = number * 10 + np.int64(_byte_at(data, at)) - _ZERO
        at += 1
    if at == line or number >= voxels or _byte_at(data, at) != _COMMA:
        _refuse_index(data, line, trouble)
        return _NO_ROW, number
    begin = at + 1
    end = begin
    while _byte_at(data, end) != _NEWLINE:
        end += 1
    stop = end - 1 if _byte_at(data, end - 1) == _RETURN else end
    if stop == begin or as_mask:
        if (stop == begin) == as_mask:
            return _ROW, number
        _complain(trouble, A_VALUE if as_mask else NO_VALUE, line)
        return _NO_ROW, number
    values[row], good = _decimal(data, begin, stop)
    if not good and odds < len(odd):
        odd[odds, 0], odd[odds, 1], odd[odds, 2] = row, begin, stop
    return _ROW if good else _ODD, number


@njit(nogil=True, cache=True)
def _refuse_index(data: int, line: int, trouble: NDArray[np.int64]) -> None:
    """Say what is wrong with the index that a line begins with."""
    end = line
    while _byte_at(data, end) != _NEWLINE:
        end += 1
    stop = end - 1 if end > line and _byte_at(data, end - 1) == _RETURN else end
    at = line + 1 if _byte_at(data, line) == _MINUS else line
    first = at
    while _ZERO <= _byte_at(data, at) <= _ZERO + 9:
        at += 1
    if stop == line:
        return  # an empty line, as at the end of a file
    if at == first:
        _complain(trouble, NO_INDEX, line)
    elif at == stop:
        _complain(trouble, NO_COMMA, line)
    elif _byte_at(data, at) != _COMMA:
        _complain(trouble, NO_INDEX, line)
    else:
        _complain(trouble, NEGATIVE if first > line else TOO_LARGE, line)


@njit(nogil=True, cache=True)
def _complain(trouble: NDArray[np.int64], kind: int, line: int) -> None:
    if trouble[kind, 0] == 0:
        trouble[kind, 1] = line
    trouble[kind, 0] += 1


@njit(nogil=True, cache=True)
def _decimal(data: int, begin: int, stop: int) -> tuple[np.uint64, bool]:
    """The bits of a decimal number; False if it is none, or has more digits or a larger exponent than is exact here."""
    at = begin
    negative = _byte_at(data, at) == _MINUS
    if negative or _byte_at(data, at) == _PLUS:
        at += 1
    mantissa, digits, seen, exponent = np.uint64(0), 0, 0, 0
    point = False
    while at < stop:
        digit = np.uint64(_byte_at(data, at)) - np.uint64(_ZERO)
        if digit <= _U9:
            seen += 1
            if digits or digit != _U0:
                digits += 1
                if digits > _MOST_MANTISSA:
                    return _U0, False
            mantissa = mantissa * _U10 + digit
            if point:
                exponent -= 1
        elif _byte_at(data, at) == _POINT and not point:
            point = True
        else:
            break
        at += 1
    if seen == 0:
        return _U0, False
    if at < stop:
        if _byte_at(data, at) not in (69, 101):  # E, e
            return _U0, False
        at += 1
        down = at < stop and _byte_at(data, at) == _MINUS
        if down or (at < stop and _byte_at(data, at) == _PLUS):
            at += 1
        power, length = 0, 0
        while at < stop and _ZERO <= _byte_at(data, at) <= _ZERO + 9 and length < 4:
            power = power * 10 + (_byte_at(data, at) - _ZERO)
            length += 1
            at += 1
        if length == 0 or at < stop:
            return _U0, False
        exponent += -power if down else power
    sign = _U1 << _U63 if negative else _U0
    if mantissa == _U0:
        return sign, True
    if exponent < _LOWEST or exponent > _HIGHEST:
        return _U0, False
    return _double_bits(mantissa, exponent) | sign, True
