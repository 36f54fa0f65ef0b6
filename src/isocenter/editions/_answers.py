"""One answer to one question: what was typed or sent, as the value that is kept, or what is wrong with it.

Answers come from strangers, by a form, an API or a file. All kinds may be given as text; several choices may also come
as a list, yes and no as true and false, and a number as one.
"""

from __future__ import annotations

import difflib
import math
import re
import unicodedata

from isocenter.editions._countries import COUNTRIES, country_of
from isocenter.editions._questions import DECLINED, PARTED, AnyQuestion, head_of, is_open
from isocenter.schema import show

Value = str | bool | float | tuple[str, ...]
"""What is kept: a text, true or false, a number, or the chosen answers in the order of the question."""

LINE = 200
"""Characters of a line of text."""

_PAGE = 20_000  # characters of a long text
_ADDRESS = 2_000
_MAIL = 254
_MOST = 1e15  # from here on a number is no longer exact
# Characters that no editor shows, that a database may refuse, or that turn the direction of what follows them.
_HIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")
_EMAIL = re.compile(r"[^\s@,;<>\"]+@[^\s@,;<>\"]+\.[^\s@,;<>\".]+")
_URL = re.compile(r"https?://[^\s/@?#:]+\.[^\s/@?#]+([/?#]\S*)?", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?", re.IGNORECASE | re.ASCII)


class AnswerError(ValueError):
    """An answer that cannot be kept; says what was found and what may be written."""


def is_blank(value: object) -> bool:
    """Whether there is no answer: nothing, nothing chosen, or a text in which nothing can be seen.

    Examples
    --------
    >>> [is_blank(value) for value in (None, " ", [], [""], False, 0)]
    [True, True, True, True, False, False]
    """
    if isinstance(value, str):
        return not any(one.isprintable() and not one.isspace() for one in value) and not _HIDDEN.search(value)
    if isinstance(value, list | tuple | set | frozenset):
        return all(map(is_blank, value))
    return value is None


def text_of(value: object) -> str:
    """A kept value as the cell of a file holds it; "" for none.

    Examples
    --------
    >>> [text_of(value) for value in (True, 3.0, ("rotations", "flips"), None)]
    ['yes', '3', 'rotations; flips', '']
    """
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case float():
            return str(int(value)) if value.is_integer() else repr(value)
        case list() | tuple():
            return f"{PARTED} ".join(map(text_of, value))
    return str(value)


def value_of(question: AnyQuestion, given: object, *, account_email: str = "") -> Value:
    """What is kept of an answer that is not blank.

    Raises
    ------
    AnswerError
        It is not what the question asks for.
    """
    match question.kind:
        case "choice":
            return _chosen(question, _one(given))
        case "several":
            return _several(question, given)
        case "yes-no":
            return _yes_or_no(question, given)
        case "number":
            return _number(given)
        case "email":
            return _email(_line(_one(given), _MAIL), account_email)
        case "url":
            return _url(_line(_one(given), _ADDRESS))
        case "country":
            return _country(_line(_one(given), LINE))
        case "text":
            return _few_words(_line(_one(given), LINE), question)
        case "long":
            return _few_words(_page(_one(given)), question)


def _one(given: object) -> str:
    if not isinstance(given, str):
        msg = f"{show(given)} is not a text"
        raise AnswerError(msg)
    return given


def _plain(text: str, most: int) -> str:
    """A text in one form of its characters, none of them hidden, and not too long."""
    text = text if len(text) > most else unicodedata.normalize("NFC", text)  # which may make it longer
    if len(text) > most:
        msg = f"the answer has {len(text):,} characters; write at most {most:,}"
        raise AnswerError(msg)
    if hidden := _HIDDEN.search(text):
        msg = f"the answer holds a character that cannot be seen (U+{ord(hidden[0]):04X}); type it again without"
        raise AnswerError(msg)
    return text


def _line(text: str, most: int) -> str:
    return " ".join(_plain(text, most).split())


def _page(text: str) -> str:
    lines = _plain(text.replace("\r\n", "\n").replace("\r", "\n"), _PAGE).split("\n")
    return "\n".join(line.rstrip() for line in lines).strip()


def _few_words(text: str, question: AnyQuestion) -> str:
    words, most = len(text.split()), question.most_words
    if most is not None and words > most:
        msg = f"the answer has {words} words; write at most {most}"
        raise AnswerError(msg)
    return text


def _chosen(question: AnyQuestion, given: str) -> str:
    """The choice that is meant, whatever its capitals, with the own words that follow one that asks for them."""
    text = _line(given, 3 * LINE)
    for one in question.offered:
        if text.casefold() in (one.casefold(), head_of(one).casefold()):
            return head_of(one)
    head, colon, own = (part.strip() for part in text.partition(":"))
    for one in question.offered:
        if colon and is_open(one) and head.casefold() == head_of(one).casefold():
            words = _line(own.replace(PARTED, ","), LINE)
            return f"{head_of(one)}: {_few_words(words, question)}" if words else head_of(one)
    offered = [f"{head_of(one)}: …" if is_open(one) else one for one in question.offered]
    close = difflib.get_close_matches(text, offered, n=1)
    meant = f" (did you mean {show(close[0])}?)" if close else ""
    msg = f"{show(text)} is not one of the answers: {', '.join(map(show, offered))}{meant}"
    raise AnswerError(msg)


def _several(question: AnyQuestion, given: object) -> tuple[str, ...]:
    """The chosen answers, each once, in the order of the question."""
    parts = given.split(PARTED) if isinstance(given, str) else given
    if not isinstance(parts, list | tuple | set | frozenset) or len(parts) > LINE:
        msg = f"{show(given)} is not a list of answers"
        raise AnswerError(msg)
    found = list(dict.fromkeys(_chosen(question, _one(part)) for part in parts if not is_blank(part)))
    if DECLINED in found and len(found) > 1 and DECLINED in question.offered:
        msg = f"{show(DECLINED)} goes with no other answer; choose it alone, or leave it out"
        raise AnswerError(msg)
    heads = [head_of(one) for one in question.offered]
    return tuple(sorted(found, key=lambda one: heads.index(one if one in heads else one.partition(":")[0])))


def _yes_or_no(question: AnyQuestion, given: object) -> bool | str:
    if isinstance(given, bool):
        return given
    text = _chosen(question, _one(given))
    return text if text == DECLINED else text == "yes"


def _number(given: object) -> float:
    text = given.strip() if isinstance(given, str) else given
    wrong = AnswerError(f"{show(given)} is not a number; write one with a point for decimals, such as 12 or 0.5")
    if isinstance(text, bool) or not isinstance(text, int | float | str):
        raise wrong
    if isinstance(text, str) and (len(text) > LINE or not _NUMBER.fullmatch(text)):
        raise wrong
    try:
        value = float(text)
    except OverflowError:
        value = math.inf
    if math.isnan(value):
        raise wrong
    if abs(value) >= _MOST:
        msg = f"{show(given)} is too large a number; write one below {_MOST:g}"
        raise AnswerError(msg)
    return value


def _email(text: str, account: str) -> str:
    if not _EMAIL.fullmatch(text):
        msg = f"{show(text)} is not an e-mail address; write it as name@example.org"
        raise AnswerError(msg)
    if account and text.casefold() != account.strip().casefold():
        msg = f"{show(text)} is not the address of your account; write {show(account.strip())}"
        raise AnswerError(msg)
    return text


def _url(text: str) -> str:
    if not _URL.fullmatch(text):
        msg = f"{show(text)} is not the address of a web page; write it as https://example.org/our-code"
        raise AnswerError(msg)
    return text


def _country(text: str) -> str:
    found = country_of(text)
    if found is None:
        close = difflib.get_close_matches(text.title(), COUNTRIES.values(), n=1)
        meant = f" (did you mean {show(close[0])}?)" if close else ""
        msg = f"{show(text)} is not a country; write its English name, such as Switzerland{meant}"
        raise AnswerError(msg)
    return found
