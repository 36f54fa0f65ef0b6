"""Why a submission came to nothing, in the words of the registry: see `isocenter.problems`.

    Problem(code, origin) ──▶ `outcome_of`: the state of the submission, and with `refund` of its phase the cost
                          ├─▶ `as_row`: what the database keeps, and the team reads
                          └─▶ `say_to_team`, `say_to_organisers`: notifications and mails

A code is shown to everybody who may see the submission. A message that did not arise in the output is not, nor is what
a program printed: both may tell of the reference. See `faults` and `Run.detail`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from isocenter.problems import BLAMES, COSTS, Blame, Origin, Problem, find_code

if TYPE_CHECKING:
    from isocenter.server.models import Submission

Outcome = Literal["refused", "failed", "infrastructure"]
_PREFERRED: tuple[Origin, ...] = ("evaluator", "reference", "machine")


@dataclass(frozen=True, slots=True)
class Reason:
    """A code with its origin: why a submission came to nothing, and whose turn it is."""

    code: str
    origin: Origin

    @property
    def title(self) -> str:
        """What happened."""
        return find_code(self.code).title

    @property
    def advice(self) -> str:
        """What the person whose turn it is does about it."""
        return find_code(self.code).advice

    @property
    def blame(self) -> Blame:
        """Whose turn it is."""
        return BLAMES[self.origin]

    @property
    def cost(self) -> str:
        """What it costs the team, as a sentence; "" where the advice says it."""
        cost = find_code(self.code).cost_from(self.origin)
        return COSTS[cost] if cost == "attempt" or self.blame == "organisers" else ""

    @property
    def outcome(self) -> Outcome:
        """The state of a submission that came to nothing for it."""
        return outcome_of(self.code, self.origin)


def outcome_of(code: str, origin: Origin) -> Outcome:
    """The state of a submission that came to nothing for this reason; with `refund` of its phase, that says the cost.

    A submission is refused for its files. It failed if reading them could not be finished. If the output is not at
    fault, it waits for the organisers or the machines, and no attempt is used.
    """
    if code == "refused":
        return "refused"
    return "failed" if origin == "output" else "infrastructure"


def reason_of(submission: Submission) -> Reason | None:
    """Why a submission came to nothing; None if it did not, or if nobody knows the code any more."""
    return reason_in(submission.reason, submission.state)


def reason_in(code: str, state: str) -> Reason | None:
    """The reason that a submission of this state has, by its code."""
    try:
        origins = find_code(code).origins
    except KeyError:
        return None
    # The state says on which side it arose: an output that costs an attempt failed, all else is "infrastructure".
    if state == "infrastructure":
        return Reason(code, next((one for one in _PREFERRED if one in origins), origins[0]))
    return Reason(code, "output" if "output" in origins else origins[0])


def reason_for_cases(problems: Iterable[Problem]) -> Reason:
    """Why a submission comes to nothing for its cases without a result, where every case needs one.

    It is refused for outputs that cannot be used. If all that is wrong is that reading them took too long or too much
    memory, that is the reason.
    """
    costs = {one.code: one.cost for one in problems if is_about_output(one)}
    if costs and set(costs.values()) == {"attempt"}:
        return Reason(min(costs), "output")
    return Reason("refused", "output")


def reason_for_causes(causes: Iterable[Problem]) -> Reason:
    """Why a submission comes to nothing that could not be measured through no fault of its output."""
    faults = [one.code for one in causes if one.origin == "evaluator"]
    return Reason(min(faults), "evaluator") if faults else Reason("internal_error", "machine")


def is_about_output(problem: Problem) -> bool:
    """Whether a problem leaves a case without a result, and the output is at fault."""
    return problem.severity in ("unusable", "missing") and problem.origin == "output"


def as_row(problem: Problem) -> dict[str, str]:
    """A problem as the database keeps it, for its team to read; `reason` is for those who know no `code` yet.

    An exception of the evaluator may tell of the reference. Its message is kept with the run, see `faults`.
    """
    content = problem.to_dict()
    if problem.origin != "output":
        title = problem.title
        content["message"] = f"{title[:1].lower()}{title[1:]}"
    return content | {"reason": "" if problem.severity in ("warning", "note") else problem.code}


def from_row(row: Mapping[str, Any]) -> Problem:
    """The problem of a row, also of one that was written before problems had codes and origins."""
    try:
        return Problem.from_dict(row)
    except KeyError:  # a code of a package that is not installed any more
        return Problem.from_dict({name: row[name] for name in ("severity", "message", "case", "file")})


def say_to_team(reason: Reason | None) -> str:
    """What became of a submission, for its team: no score, as the phase may hide it."""
    if reason is None:
        return "was scored"
    match reason.outcome:
        case "refused":
            return "was not accepted. No attempt was used"
        case "failed":
            return "could not be read within the limits of time and memory; the organisers are told"
    if reason.blame == "organisers":
        return "could not be scored, which is not about your files; the organisers are told. No attempt was used"
    return "could not be scored; the organisers are told. No attempt was used"


def say_to_organisers(reason: Reason, *, again: bool = False) -> str:
    """What happened to a submission, for the organisers."""
    return f"{find_code(reason.code).title}{' (evaluated again)' if again else ''}"
