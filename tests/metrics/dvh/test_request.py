"""Requests in the notation of TG-263: what is understood, how it is written back, where an error is."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.metrics.dvh import Request, RequestError

numbers = st.floats(0, 1e9, allow_nan=False)
requests = st.one_of(
    st.builds(
        Request, st.sampled_from(["D", "DC"]), st.floats(0, 100), st.just("%"), st.sampled_from(["Gy", "cGy", "%"])
    ),
    st.builds(Request, st.sampled_from(["D", "DC"]), numbers, st.just("cc"), st.sampled_from(["Gy", "cGy", "%"])),
    st.builds(
        Request,
        st.sampled_from(["V", "CV"]),
        numbers,
        st.sampled_from(["Gy", "cGy", "%"]),
        st.sampled_from(["%", "cc"]),
    ),
    st.builds(
        Request, st.sampled_from(["Mean", "Min", "Max"]), st.none(), st.none(), st.sampled_from(["Gy", "cGy", "%"])
    ),
    st.just(Request("Volume", None, None, "cc")),
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("D95%[Gy]", ("D", 95.0, "%", "Gy")),
        ("D0.1cc[Gy]", ("D", 0.1, "cc", "Gy")),
        ("D0.03cc[%]", ("D", 0.03, "cc", "%")),
        ("D.5cc[cGy]", ("D", 0.5, "cc", "cGy")),
        ("V20Gy[%]", ("V", 20.0, "Gy", "%")),
        ("V20Gy[cc]", ("V", 20.0, "Gy", "cc")),
        ("V95%[%]", ("V", 95.0, "%", "%")),
        ("V107.5%[cc]", ("V", 107.5, "%", "cc")),
        ("V2000cGy[%]", ("V", 2000.0, "cGy", "%")),
        ("CV20Gy[cc]", ("CV", 20.0, "Gy", "cc")),
        ("DC0.1cc[Gy]", ("DC", 0.1, "cc", "Gy")),
        ("Mean[Gy]", ("Mean", None, None, "Gy")),
        ("Min[%]", ("Min", None, None, "%")),
        ("Max[cGy]", ("Max", None, None, "cGy")),
        ("Volume[cc]", ("Volume", None, None, "cc")),
    ],
)
def test_every_form_is_read_and_written_back(text, expected):
    request = Request.parse(text)
    assert (request.kind, request.at, request.at_unit, request.unit) == expected
    assert str(request) == text.replace("D.5", "D0.5")


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("Dmean", "Mean[Gy]"),
        ("dmin[%]", "Min[%]"),
        ("MAX", "Max[Gy]"),
        ("near-min", "D98%[Gy]"),
        ("Near-Max[%]", "D2%[%]"),
        ("D98%", "D98%[Gy]"),
        ("v20gy[CC]", "V20Gy[cc]"),
        ("  Volume ", "Volume[cc]"),
        ("D95.0%[Gy]", "D95%[Gy]"),
    ],
)
def test_other_ways_to_say_it_have_one_canonical_form(text, canonical):
    assert str(Request.parse(text)) == canonical


@given(requests)
def test_what_is_written_is_read_as_the_same_request(request):
    assert Request.parse(str(request)) == request


@pytest.mark.parametrize(
    ("text", "position", "found", "expected"),
    [
        ("", 1, "the end", "D, DC, V, CV"),
        ("95%[Gy]", 1, '"95"', "D, DC, V, CV"),
        ("X95%[Gy]", 1, '"X"', "D, DC, V, CV"),
        ("Median", 1, '"Median"', "D, DC, V, CV"),
        ("D", 2, "the end", "a number"),
        ("D-5%[Gy]", 2, '"-"', "a number"),
        ("D95[Gy]", 4, '"["', "a unit: % or cc"),
        ("D20Gy[%]", 4, '"Gy"', "a unit: % or cc"),
        ("V20cc[%]", 4, '"cc"', "a unit: Gy, cGy or %"),
        ("D1e2%[Gy]", 3, '"e"', "a unit: % or cc"),
        ("V20Gy", 6, "the end", "[%] or [cc]"),
        ("V20Gy[Gy]", 7, '"Gy"', "a unit: % or cc"),
        ("D95%[cc]", 6, '"cc"', "Gy, cGy or %"),
        ("Volume[%]", 8, '"%"', "a unit: cc"),
        ("D95%Gy", 5, '"Gy"', "[Gy], [cGy] or [%]"),
        ("D95%[Gy", 8, "the end", "a closing ]"),
        ("D95%[Gy]!", 9, '"!"', "nothing more"),
        ("D101%[Gy]", 2, '"101"', "at most 100 % of the volume"),
        ("D95 %[Gy]", 4, '" "', "a unit"),
        ("D٩٥%[Gy]", 2, '"٩٥"', "a number"),
        ("V" + "9" * 400 + "Gy[%]", 2, '"99999999999999999999"', "a number of sensible size"),
    ],
)
def test_an_error_shows_the_text_the_position_and_what_was_expected(text, position, found, expected):
    with pytest.raises(RequestError) as caught:
        Request.parse(text)
    message = str(caught.value)
    assert message.startswith(f'"{text[:79]}')
    assert f"position {position}: found {found}, expected" in message
    assert expected in message
    assert len(message) < 250


@given(st.text(max_size=12))
def test_any_text_is_a_request_or_one_kind_of_error(text):
    try:
        request = Request.parse(text)
    except RequestError:
        return
    assert Request.parse(str(request)) == request


@pytest.mark.parametrize(
    ("kind", "at", "at_unit", "unit"),
    [
        ("X", None, None, "Gy"),
        ("D", None, None, "Gy"),
        ("D", -1.0, "cc", "Gy"),
        ("D", math.nan, "cc", "Gy"),
        ("D", math.inf, "cc", "Gy"),
        ("D", 100.5, "%", "Gy"),
        ("D", 1.0, "Gy", "Gy"),
        ("V", 1.0, "cc", "%"),
        ("V", 1.0, "Gy", "Gy"),
        ("Mean", 1.0, "Gy", "Gy"),
        ("Volume", None, None, "Gy"),
    ],
)
def test_a_request_that_makes_no_sense_cannot_be_made_by_hand_either(kind, at, at_unit, unit):
    with pytest.raises(RequestError):
        Request(kind, at, at_unit, unit)


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("V95%[%]", True),
        ("CV95%[cc]", True),
        ("D95%[%]", True),
        ("Mean[%]", True),
        ("D95%[Gy]", False),
        ("V20Gy[%]", False),
    ],
)
def test_a_request_knows_whether_it_needs_the_prescription(text, needed):
    assert Request.parse(text).needs_prescription is needed
