"""Whether the people of a team are who they say: what prizes of a phase may depend on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Verdict = Literal["verified", "waiting", "refused"]
"""What the organisers found; "waiting" where they have not looked yet."""


@dataclass(frozen=True, slots=True)
class Profile:
    """A member of a team: what the profile shows now, and what the organisers decided on what it showed then.

    Attributes
    ----------
    name, affiliation
        As the profile shows them now.
    checked
        Name and affiliation that the organisers looked at; None if they have not.
    verdict
        What they found then.
    """

    name: str
    affiliation: str
    checked: tuple[str, str] | None = None
    verdict: Verdict = "waiting"

    @property
    def standing(self) -> Verdict:
        """What holds for the profile as it is now: a verdict on another name or affiliation is none.

        A profile that was refused waits again when it is corrected.

        Examples
        --------
        >>> Profile("A. Author", "University Hospital", ("A. Author", "University Hospital"), "verified").standing
        'verified'
        >>> Profile("A. Author", "A company", ("A. Author", "University Hospital"), "verified").standing
        'waiting'
        """
        return self.verdict if self.checked == (self.name, self.affiliation) else "waiting"


def verdict_on(team: Iterable[Profile]) -> Verdict:
    """What holds for a team: it is verified if all its members are, and refused as soon as one is.

    A team without members waits: there is nobody to hand a prize to.

    Examples
    --------
    >>> one = Profile("A", "X", ("A", "X"), "verified")
    >>> verdict_on([one]), verdict_on([one, Profile("B", "X")]), verdict_on([])
    ('verified', 'waiting', 'waiting')
    """
    standings = [member.standing for member in team]
    if "refused" in standings:
        return "refused"
    return "verified" if standings and set(standings) == {"verified"} else "waiting"
