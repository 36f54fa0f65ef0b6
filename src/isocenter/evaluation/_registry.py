"""Challenges by name, from this package and from any other that declares one.

A package adds a challenge through the entry-point group `isocenter.challenges`; nothing here knows their names.
"""

from __future__ import annotations

import difflib
from importlib.metadata import EntryPoint, entry_points

from isocenter.evaluation._challenge import Challenge

GROUP = "isocenter.challenges"


class UnknownChallengeError(LookupError):
    """No installed package has a usable challenge of this name."""


def challenge_names() -> list[str]:
    """The challenges that are installed, in alphabetical order."""
    return sorted(_entries())


def load_challenge(name: str | Challenge) -> Challenge:
    """Import the challenge of this name; a challenge itself is given back, so that every call takes either."""
    if isinstance(name, Challenge):
        return name
    entries = _entries()
    if name not in entries:
        near = difflib.get_close_matches(name, entries, n=1)
        hint = f"; did you mean {near[0]}?" if near else "."
        msg = f"no challenge is called {name!r}{hint} Installed: {', '.join(sorted(entries)) or 'none'}."
        raise UnknownChallengeError(msg)
    entry = entries[name]
    home = f"{entry.value}, of the package {entry.dist.name if entry.dist else '?'}"
    try:
        challenge = entry.load()
    except Exception as error:
        msg = f"challenge {name!r} could not be imported from {home}: {type(error).__name__}: {error}"
        raise UnknownChallengeError(msg) from error
    if not isinstance(challenge, Challenge):
        msg = f"challenge {name!r} ({home}) is a {type(challenge).__name__}, not an isocenter Challenge"
        raise UnknownChallengeError(msg)
    if challenge.name != name:
        msg = f"challenge {name!r} ({home}) calls itself {challenge.name!r}; entry point and Challenge need one name"
        raise UnknownChallengeError(msg)
    return challenge


def _entries() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=GROUP)}
