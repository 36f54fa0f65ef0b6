"""Names that people choose for themselves and their teams: one line, nothing hidden in it, no other's look."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

MOST = 60
"""Characters in the name of a team."""

MOST_OF_A_PERSON = 120

# Letters of other alphabets that are taken for a Latin one, after case folding (so a capital's look counts too).
_LOOKS_LIKE = str.maketrans(
    "авекмнорстухіјѕԁһӏ" + "αβεηικμνορτυχζ" + "01",
    "abekmhopctyxijsdhl" + "abehikmvoptyxz" + "ol",
)
_ALIAS = re.compile(r"team[2-9bcdfghjkmnpqrstvwxz]{6}")
_NUMBERED = re.compile(r"#\s*\d+$")


class NameProblem(ValueError):
    """Why a name is not taken, as a sentence for the person who chose it."""


def one_line(text: str, most: int) -> str:
    """A name in one form of its characters, on one line.

    Raises
    ------
    NameProblem
        It is empty or too long, or holds characters that cannot be seen or turn the direction of the text.
    """
    if len(text) > 10 * most:
        msg = f"The name has {len(text):,} characters; write at most {most}."
        raise NameProblem(msg)
    name = " ".join(unicodedata.normalize("NFC", text).split())
    if hidden := next((one for one in name if not one.isprintable()), ""):
        msg = f"The name holds a character that cannot be seen (U+{ord(hidden):04X}); type it again without."
        raise NameProblem(msg)
    if not any(one.isalnum() for one in name):
        msg = "A name has at least one letter or digit."
        raise NameProblem(msg)
    if len(name) > most:
        msg = f"The name has {len(name)} characters; write at most {most}."
        raise NameProblem(msg)
    return name


def person_name(text: str) -> str:
    """The name of a person, if they can have it.

    Raises
    ------
    NameProblem
        It is what the log calls something that no person did.
    """
    name = one_line(text, MOST_OF_A_PERSON)
    if look(name) in _NOBODY:
        msg = f"“{name}” is what the site calls itself; write your own name."
        raise NameProblem(msg)
    return name


def look(name: str) -> str:
    """What a name looks like at a glance; names with the same look are one name to a reader of a board.

    Examples
    --------
    >>> look("Rigi") == look("ＲＩＧＩ") == look("Rіgі") == look("R-i.g i")
    True
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    plain = "".join(one for one in folded if one.isalnum() or unicodedata.category(one).startswith("M"))
    return plain.translate(_LOOKS_LIKE)


def team_name(text: str, taken: Iterable[str]) -> str:
    """The name of a team, if it can have it.

    Raises
    ------
    NameProblem
        It is like one of those that are taken, or like the names that the site gives to teams and their submissions.
    """
    name = one_line(text, MOST)
    like = look(name)
    if _ALIAS.fullmatch(like):
        msg = f"“{name}” is like the names that teams get who are not to be named; choose another."
        raise NameProblem(msg)
    if _NUMBERED.search(unicodedata.normalize("NFKC", name)):
        msg = f"“{name}” ends like the number of a submission; choose a name without # and digits at its end."
        raise NameProblem(msg)
    if like in map(look, taken):
        msg = f"Another team is called “{name}”, or so that it looks the same; choose another name."
        raise NameProblem(msg)
    return name


_NOBODY = frozenset(map(look, ("the site", "the command line")))
