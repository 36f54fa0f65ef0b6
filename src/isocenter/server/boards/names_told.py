"""What teams are called in files that leave the site."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from django.contrib.auth.models import AnonymousUser

from isocenter.editions import alias, split_cohort
from isocenter.server import boards, clock
from isocenter.server.boards.progressing import names_on
from isocenter.server.editions import code_of
from isocenter.server.models import Challenge, Team
from isocenter.server.policy import Visit


@dataclass(frozen=True)
class Names:
    """What teams are called in a folder: by their own names, or as everybody will see them on the boards.

    Attributes
    ----------
    announced
        Whether names are left out as `Edition.named_in` says. A team has its own name in a phase only if it has it on
        all boards of the phase.
    cohorts
        The further cohorts that the folder tells of, as in "test.holdout": their boards are among those.
    """

    challenge: Challenge
    announced: bool
    cohorts: tuple[str, ...] = ()
    _known: dict[str, dict[str, str]] = field(default_factory=dict, repr=False)

    def of(self, phase: str, team: Team) -> str:
        """The name of a team in a phase."""
        if not self.announced or team.kind == Team.Kind.BENCHMARK:
            return team.name
        if phase not in self._known:
            self._known[phase] = self._seen(phase)
        return self._known[phase].get(team.name) or alias(team.name, bytes(self.challenge.salt))

    def _seen(self, phase: str) -> dict[str, str]:
        """By team that stands under its own name on every board, that name; of a phase without secrets, all."""
        assert self.challenge.version_id is not None
        told = [phase, *(name for name in self.cohorts if split_cohort(name)[0] == phase)]
        visit = public_visit(self.challenge, told)
        if all(visit.sight(name).first is None for name in told):
            return {name: name for name in self.challenge.teams.values_list("name", flat=True)}
        named: dict[str, str] = {}
        hidden: set[str] = set()
        every = code_of(self.challenge.version_id, phase).boards
        for name, board in ((name, board) for name in told for board in every):
            snapshot = boards.latest(self.challenge, name, board)
            if snapshot is None or snapshot.problem:
                continue
            for team, shown in names_on(visit, snapshot).items():
                if shown == team:
                    named[team] = team
                else:
                    hidden.add(team)
        return {team: name for team, name in named.items() if team not in hidden}


def public_visit(challenge: Challenge, phases: Iterable[str]) -> Visit:
    """A visit of somebody who is nobody in particular, when the results of some phases are out."""
    out = [phase.results for phase in challenge.edition.scored if phase.name in set(phases)]
    visit = Visit(AnonymousUser(), challenge, now=max([clock.now(), *out]))
    visit.__dict__["_held"] = {}  # whatever holds them back now
    return visit
