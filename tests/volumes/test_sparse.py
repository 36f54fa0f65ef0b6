from __future__ import annotations

import itertools
import math
import random
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.volumes import VolumeError, ZipMember
from isocenter.volumes.sparse import (
    SHAPE,
    read_mask,
    read_sparse,
    read_voxel_dimensions,
    write_mask,
    write_sparse,
    write_voxel_dimensions,
)

LAST = 128**3 - 1


def file(folder: Path, text: str | bytes) -> Path:
    path = folder / "dose.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def complaint(folder: Path, text: str | bytes, *, mask: bool = False) -> str:
    with pytest.raises(VolumeError) as caught:
        (read_mask if mask else read_sparse)(file(folder, text))
    return str(caught.value)


def test_the_index_counts_voxels_in_c_order(tmp_path: Path) -> None:
    volume = read_sparse(file(tmp_path, f",data\n0,1.5\n1,2.0\n128,3.0\n16384,4.0\n{LAST},5.0\n")).dense()
    assert volume.shape == SHAPE
    where = ((0, 0, 0), (0, 0, 1), (0, 1, 0), (1, 0, 0), (127, 127, 127))
    assert [volume[place] for place in where] == [1.5, 2.0, 3.0, 4.0, 5.0]
    assert volume.sum() == 15.5


def test_a_mask_has_indices_and_no_values(tmp_path: Path) -> None:
    mask = read_mask(file(tmp_path, ",data\n7,\n9,\n"))
    assert mask.values is None
    assert mask.index.tolist() == [7, 9]
    assert mask.dense().sum() == 2


def test_zeros_may_be_explicit_and_stay_in_the_list(tmp_path: Path) -> None:
    volume = read_sparse(file(tmp_path, ",data\n3,0.0\n4,0\n"))
    assert volume.index.tolist() == [3, 4]
    assert volume.values is not None
    assert volume.values.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("text", [",data\n", ",data", ",data\r\n", "\ufeff,data\n"])
def test_a_file_of_nothing_but_its_first_line_is_empty(tmp_path: Path, text: str) -> None:
    assert len(read_sparse(file(tmp_path, text)).index) == 0
    assert not read_mask(file(tmp_path, text)).dense().any()


def test_windows_line_ends_and_a_last_line_without_one(tmp_path: Path) -> None:
    volume = read_sparse(file(tmp_path, ",data\r\n1,2.5\r\n\r\n5,1e1"))
    assert volume.index.tolist() == [1, 5]
    assert volume.dense().ravel()[[1, 5]].tolist() == [2.5, 10.0]
    assert read_mask(file(tmp_path, ",data\r\n1,\r\n5,")).index.tolist() == [1, 5]


def test_lines_in_any_order_come_out_in_order(tmp_path: Path) -> None:
    volume = read_sparse(file(tmp_path, ",data\n9,1\n2,3\n5,2\n"))
    assert volume.index.tolist() == [2, 5, 9]
    assert volume.dense().ravel()[[2, 5, 9]].tolist() == [3.0, 2.0, 1.0]


def test_two_lines_for_one_voxel_are_refused_unless_the_last_may_count(tmp_path: Path) -> None:
    path = file(tmp_path, ",data\n2,1\n5,2\n2,3\n2,4\n")
    with pytest.raises(VolumeError, match="2 lines are for a voxel that has one already"):
        read_sparse(path)
    volume = read_sparse(path, repeated="last")
    assert volume.repeated == 2
    assert volume.dense().ravel()[[2, 5]].tolist() == [4.0, 2.0]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("-1,2.0", "has a negative index"),
        (f"{LAST + 1},2.0", "has an index outside of 128×128×128"),
        ("99999999999999999999999,1", "has an index outside of 128×128×128"),
        ("1.0,2.0", "does not begin with a whole number"),
        ("x,2.0", "does not begin with a whole number"),
        (" 1,2.0", "does not begin with a whole number"),
        ("1", "has no comma"),
        ("1,", "has no value"),
        ("1,abc", "holds a value that is no number"),
        ("1,1_0", "holds a value that is no number"),
        ("1,1.2.3", "holds a value that is no number"),
        ("1,.", "holds a value that is no number"),
        ("1,-", "holds a value that is no number"),
        ("1,1e", "holds a value that is no number"),
        ("1,2,3", "holds a value that is no number"),
        ("1,nan", "holds a value that is not finite"),
        ("1,-inf", "holds a value that is not finite"),
        ("1,1e999", "holds a value that is not finite"),
    ],
)
def test_a_bad_line_is_named_with_its_number(tmp_path: Path, line: str, expected: str) -> None:
    assert complaint(tmp_path, f",data\n0,1.0\n{line}\n") == f"line 3 ({line!r}) {expected}"


def test_a_mask_with_values_is_no_mask(tmp_path: Path) -> None:
    for line in ("1,1.0", "1,1", "1,x"):
        assert (
            complaint(tmp_path, f",data\n{line}\n", mask=True) == f"line 2 ({line!r}) has a value, but a mask has none"
        )


def test_everything_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    text = complaint(tmp_path, ",data\n-1,1\n5,nan\n-2,1\n6,\n7,nan\n8,nan\n")
    assert text == (
        "line 2 ('-1,1') has a negative index, as does 1 more; "
        "line 3 ('5,nan') holds a value that is not finite, as do 2 more; line 5 ('6,') has no value"
    )


@pytest.mark.parametrize("text", ["", "data\n1,2\n", "1,2\n", "index,data\n", "\x89PNG\r\n"])
def test_a_file_without_its_first_line_is_something_else(tmp_path: Path, text: str) -> None:
    assert complaint(tmp_path, text).endswith("a sparse CSV begins with ',data'")


def test_a_file_larger_than_any_volume_is_not_read(tmp_path: Path) -> None:
    path = file(tmp_path, ",data\n")
    with path.open("r+b") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(VolumeError, match="bytes; a file of this kind has at most"):
        read_sparse(path)


def test_other_shapes_have_other_limits(tmp_path: Path) -> None:
    path = file(tmp_path, ",data\n23,1.0\n")
    assert read_sparse(path, shape=(2, 3, 4)).dense()[1, 2, 3] == 1.0
    with pytest.raises(VolumeError, match="outside of 2×3×3"):
        read_sparse(path, shape=(2, 3, 3))


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=20))
def test_every_double_is_read_as_python_reads_it(
    tmp_path_factory: pytest.TempPathFactory, numbers: list[float]
) -> None:
    lines = "".join(f"{i},{number!r}\n" for i, number in enumerate(numbers))
    volume = read_sparse(file(tmp_path_factory.mktemp("x"), f",data\n{lines}"))
    assert volume.values is not None
    assert volume.values.tolist() == numbers


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**6), max_value=10**6, places=12))
def test_every_decimal_is_rounded_as_python_rounds_it(tmp_path_factory: pytest.TempPathFactory, number: object) -> None:
    text = f"{number:f}"
    volume = read_sparse(file(tmp_path_factory.mktemp("x"), f",data\n0,{text}\n"))
    assert volume.values is not None
    assert volume.values[0] == float(text)


def test_any_number_of_digits_on_either_side_of_the_point_is_read_as_python_reads_it(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(3)
    numbers = []
    for whole, fraction, _ in itertools.product(range(11), range(11), range(4)):
        digits = "".join(map(str, rng.integers(0, 10, whole + fraction)))
        if digits:
            numbers.append(f"{digits[:whole]}.{digits[whole:]}")
    path = tmp_path / "numbers.csv"
    path.write_text(",data\n" + "".join(f"{index * 37},{number}\n" for index, number in enumerate(numbers)))
    values = read_sparse(path).values
    assert values is not None
    assert values.tolist() == [float(number) for number in numbers]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_was_written_is_read_back_bit_for_bit(tmp_path: Path, dtype: type) -> None:
    rng = np.random.default_rng(0)
    array = np.zeros(SHAPE, dtype)
    array.ravel()[rng.choice(array.size, 5000, replace=False)] = rng.random(5000) * 70
    write_sparse(tmp_path / "a.csv", array)
    np.testing.assert_array_equal(read_sparse(tmp_path / "a.csv").dense().astype(dtype), array)
    write_mask(tmp_path / "m.csv", array > 30)
    np.testing.assert_array_equal(read_mask(tmp_path / "m.csv").dense(), array > 30)


def test_written_files_look_like_the_published_ones(tmp_path: Path) -> None:
    dose = np.zeros((2, 2, 2))
    dose[0, 0, 1], dose[1, 1, 1] = 10.546, 3.0
    where = np.zeros(dose.shape, bool)
    where[0, 0], where[1, 1] = True, True
    write_sparse(tmp_path / "dose.csv", dose, where=where)
    assert (tmp_path / "dose.csv").read_text() == ",data\n0,0.0\n1,10.546\n6,0.0\n7,3.0\n"
    write_mask(tmp_path / "mask.csv", where)
    assert (tmp_path / "mask.csv").read_text() == ",data\n0,\n1,\n6,\n7,\n"
    write_voxel_dimensions(tmp_path / "v.csv", (3.906, 3.906, 2.5))
    assert (tmp_path / "v.csv").read_text() == (
        "3.906000000000000139e+00\n3.906000000000000139e+00\n2.500000000000000000e+00\n"
    )


def test_what_cannot_be_read_back_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not finite"):
        write_sparse(tmp_path / "dose.csv", np.array([[[np.nan]]]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("3.906\n3.906\n", "three numbers were expected"),
        ("1\n2\n3\n4\n", "three numbers were expected"),
        ("a\nb\nc\n", "three numbers were expected"),
        ("1\n2\n0\n", "three positive numbers"),
        ("1\n2\n-3\n", "three positive numbers"),
        ("1\n2\nnan\n", "three positive numbers"),
    ],
)
def test_voxel_dimensions_are_three_lengths(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(VolumeError, match=expected):
        read_voxel_dimensions(file(tmp_path, text))


def test_a_member_of_a_zip_is_read_in_place(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "team.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pt_1.csv", ",data\n4,1.25\n")
    assert read_sparse(ZipMember(tmp_path / "team.zip", "pt_1.csv")).dense().ravel()[4] == 1.25


@pytest.mark.parametrize("header", ['"",data', '"","data"', ',"data"', '\ufeff"",data'])
def test_the_first_line_may_stand_in_quotes_as_polars_and_r_write_it(tmp_path: Path, header: str) -> None:
    volume = read_sparse(file(tmp_path, f"{header}\n3,1.5\n9,2\n"))
    assert volume.index.tolist() == [3, 9]
    assert volume.values is not None
    assert volume.values.tolist() == [1.5, 2.0]
    assert read_mask(file(tmp_path, f"{header}\r\n3,\r\n9,\r\n")).index.tolist() == [3, 9]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_fields_may_stand_in_quotes(tmp_path: Path, end: str) -> None:
    text = end.join(['"","data"', '"3","1.5"', '"4",-2e-3', '5,"7"', "6,8", '"7","0.1"'])
    volume = read_sparse(file(tmp_path, text))
    assert volume.index.tolist() == [3, 4, 5, 6, 7]
    assert volume.values is not None
    assert volume.values.tolist() == [1.5, -2e-3, 7.0, 8.0, 0.1]
    assert read_mask(file(tmp_path, end.join(['"",data', '"3",""', '4,""', '"5",', "6,"]))).index.tolist() == [
        3,
        4,
        5,
        6,
    ]


def test_what_polars_and_pandas_write_with_quotes_is_read(tmp_path: Path) -> None:
    import csv

    import pandas as pd
    import polars as pl

    index, values = np.array([5, 70, 99]), np.array([1.25, 0.1, 63.0])
    pl.DataFrame({"": index, "data": values}).write_csv(tmp_path / "polars.csv")
    pl.DataFrame({"": index, "data": values}).write_csv(tmp_path / "always.csv", quote_style="always")
    pd.DataFrame({"data": values}, index=index).to_csv(tmp_path / "pandas.csv", quoting=csv.QUOTE_ALL)
    pd.DataFrame({"data": values}, index=index).to_csv(tmp_path / "strings.csv", quoting=csv.QUOTE_NONNUMERIC)
    for path in sorted(tmp_path.glob("*.csv")):
        volume = read_sparse(path)
        assert volume.index.tolist() == index.tolist(), path.name
        assert volume.values is not None
        assert volume.values.tolist() == values.tolist(), path.name


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('"1,2.0', "does not begin with a whole number"),
        ('1","2.0', "does not begin with a whole number"),
        ('1,"2.0', "holds a value that is no number"),
        ('1,"2"0', "holds a value that is no number"),
        ('1,2"0"', "holds a value that is no number"),
        ('1,""2""', "holds a value that is no number"),
        ('"1,2"', "does not begin with a whole number"),
        ('"-1","2"', "has a negative index"),
        ('"1","nan"', "holds a value that is not finite"),
        ('"1",""', "has no value"),
    ],
)
def test_quotes_hide_nothing_that_is_wrong(tmp_path: Path, line: str, expected: str) -> None:
    """The line is shown as it stands in the file, with its quotes and its number."""
    assert complaint(tmp_path, f'"",data\n"0","1.0"\n{line}\n"5",1\n') == f"line 3 ({line!r}) {expected}"


@pytest.mark.parametrize("header", ['"data', '"",""', "'',data", '"",data,', '"","data" '])
def test_other_first_lines_are_refused_with_quotes_as_without(tmp_path: Path, header: str) -> None:
    assert complaint(tmp_path, f"{header}\n1,2\n").endswith("a sparse CSV begins with ',data'")


def test_lines_of_a_mask_in_any_order_come_out_in_order(tmp_path: Path) -> None:
    assert read_mask(file(tmp_path, ",data\n9,\n2,\n5,\n")).index.tolist() == [2, 5, 9]
    assert read_mask(file(tmp_path, ",data\n9,\n2,\n9,\n"), repeated="last").index.tolist() == [2, 9]


def test_every_number_of_a_file_may_be_longer_than_any_double_needs(tmp_path: Path) -> None:
    numbers = [f"{k}.{k % 7}{'0123456789' * 5}" for k in range(1000)]
    volume = read_sparse(file(tmp_path, ",data\n" + "".join(f"{k},{n}\n" for k, n in enumerate(numbers))))
    assert volume.values is not None
    assert volume.values.tolist() == [float(number) for number in numbers]


def plain_line(line: str, *, mask: bool) -> tuple[int, float] | str | None:
    """A line as the format defines it, by the simplest means: a row, a complaint, or nothing for an empty line."""
    line = line.removesuffix("\r")
    if not line:
        return None
    if not (match := re.match(r"(-?[0-9]+)(?=,|$)", line)):
        return "does not begin with a whole number"
    if match.end() == len(line):
        return "has no comma"
    if line.startswith("-"):
        return "has a negative index"
    if int(match[1]) > LAST:
        return "has an index outside of 128×128×128"
    value = line[match.end() + 1 :]
    if mask:
        return "has a value, but a mask has none" if value else (int(match[1]), 0.0)
    if not value:
        return "has no value"
    try:
        number = float(value) if "_" not in value else None
    except ValueError:
        number = None
    if number is None:
        return "holds a value that is no number"
    return (int(match[1]), number) if math.isfinite(number) else "holds a value that is not finite"


def random_line(rng: random.Random) -> str:
    """Mostly a good line, in one of the many ways to write a number; at times one with a few bytes changed."""
    digits = "".join(rng.choices("0123456789", k=rng.choice((1, 3, 7, 8, 9, 15, 16, 17, 18, 19, 20, 25))))
    place = rng.randint(0, len(digits))
    mantissa = rng.choice(("", "", "", "-", "+")) + digits[:place] + rng.choice((".", ".", "")) + digits[place:]
    power = rng.choice(
        ("", "", "", f"e{rng.randint(-330, 310)}", f"E+{rng.randint(0, 30):02d}", f"e-{rng.randint(0, 30)}")
    )
    index = str(rng.choice((rng.randint(0, 9), rng.randint(0, LAST), rng.randint(0, LAST), LAST + rng.randint(0, 2))))
    number = repr(rng.uniform(-1, 80)) if rng.random() < 0.3 else mantissa + power
    line = f"{'0' * rng.choice((0, 0, 0, 0, 2, 12))}{index},{'' if rng.random() < 0.1 else number}"
    for _ in range(rng.choice((0, 0, 0, 0, 0, 0, 1, 2))):
        at = rng.randint(0, len(line))
        line = line[:at] + rng.choice(",.-+e0 xE\t/:\0") + line[at + rng.randint(0, 1) :]
    return line


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("seed", range(40))
def test_the_scanner_agrees_with_the_simplest_reader_on_any_line(tmp_path: Path, seed: int, mask: bool) -> None:
    rng = random.Random(seed)
    read = read_mask if mask else read_sparse
    lines = [random_line(rng) for _ in range(200)]
    if mask:
        lines = [line if rng.random() < 0.1 else line.partition(",")[0] + "," for line in lines]
    end = rng.choice(("\n", "\r\n"))
    good: dict[int, float] = {}
    for line in lines:
        answer = plain_line(line, mask=mask)
        if isinstance(answer, str):
            assert complaint(tmp_path, f",data{end}{line}{end}1,{'' if mask else 2}", mask=mask).endswith(answer), line
        elif answer is not None:
            good[answer[0]] = answer[1]
    kept = [line for line in lines if not isinstance(plain_line(line, mask=mask), str)]
    volume = read(file(tmp_path, end.join([",data", *kept])), repeated="last")
    assert dict.fromkeys(volume.index.tolist()).keys() == dict.fromkeys(sorted(good)).keys()
    if volume.values is not None:
        expected = np.array([good[index] for index in sorted(good)])
        np.testing.assert_array_equal(volume.values.view(np.uint64), expected.view(np.uint64))
