"""The votes of many submissions on a cohort: its masks, read once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

from isocenter.ensembles._ballots import Ballot, blank, pack
from isocenter.ensembles._measured import Masks
from isocenter.ensembles._open import (
    REFERENCE,
    AsksForMasks,
    CaseTask,
    Cohort,
    Path,
    Progress,
    Roll,
    State,
    each_case,
    open_votes,
)
from isocenter.ensembles._patterns import Patterns, count_patterns
from isocenter.problems import Problem
from isocenter.submissions import GridPolicy

MISSING_VOTES = "background"
"""The policy for a voter without a usable mask: it votes background, and is counted."""


@dataclass(frozen=True, eq=False)
class CaseVotes:
    """The votes of one case: how often which occur, and who voted."""

    case: str
    weight: float
    patterns: Patterns
    roll: Roll
    masks: Masks | None = None
    """The masks themselves, for metrics that counts do not tell; None if they were not kept."""

    def states(self) -> tuple[State, ...]:
        """Of each voter, in the order of `patterns.voters`: whether it voted. Who did not votes background."""
        return tuple(self.roll.states[voter] for voter in self.patterns.voters)


@dataclass(frozen=True, eq=False)
class Votes:
    """The votes of many submissions on all cases of a cohort.

    Attributes
    ----------
    voters
        In alphabetical order, so that nothing depends on the order in which they were named.
    turnout
        Who voted where, and what was wrong with the masks.
    holdout
        Whether these cases are only for confirming a choice; `select` refuses to choose on them.
    """

    voters: tuple[str, ...]
    cases: tuple[CaseVotes, ...]
    turnout: Turnout
    holdout: bool = False


@dataclass(frozen=True, slots=True)
class Turnout:
    """Who voted.

    Attributes
    ----------
    states
        By voter, in how many cases it "voted", was "missing", or "failed" because its mask could not be used.
    digests
        By voter, the SHA-256 of all its files together.
    problems
        What was wrong with the masks; each says whose it is.
    """

    states: Mapping[str, Mapping[State, int]]
    digests: Mapping[str, str]
    problems: tuple[Problem, ...]


def turnout(voters: Sequence[str], rolls: Mapping[str, Roll], problems: Sequence[Problem]) -> Turnout:
    """The rolls of all cases together; `problems` are those found before anything was read."""
    kinds: tuple[State, ...] = ("voted", "missing", "failed")
    files = {voter: {case: roll.digests.get(voter, "") for case, roll in rolls.items()} for voter in voters}
    return Turnout(
        states={v: {kind: sum(roll.states[v] == kind for roll in rolls.values()) for kind in kinds} for v in voters},
        digests={v: hashlib.sha256(json.dumps(files[v], sort_keys=True).encode()).hexdigest() for v in voters},
        problems=tuple(dict.fromkeys([*problems, *(problem for roll in rolls.values() for problem in roll.problems)])),
    )


def count_votes(
    challenge: AsksForMasks,
    cohort: Cohort,
    submissions: Mapping[str, Path],
    *,
    grid: GridPolicy = "refuse",
    holdout: bool = False,
    keep_masks: bool = False,
    tolerance_mm: float | None = None,
    executor: Executor | None = None,
    progress: Progress | None = None,
) -> Votes:
    """Read the masks of all submissions once and count, per case, the combinations of their votes.

    All labels but 0 are foreground: they are united before they are voted on. A submission without a usable mask for
    a case votes background there; `Votes.turnout` counts such cases and says why.

    Parameters
    ----------
    challenge
        Whose masks they are: an `evaluation.Challenge` with one mask per case.
    cohort
        Its cases, as `evaluation.open_cohort` finds them, or `gather_cases` where there is no reference.
    submissions
        A folder or a zip by voter.
    grid
        What happens to a mask on another grid than its reference: "refuse", "resample" or "trust-index".
    holdout
        Whether these cases are only for confirming a choice.
    keep_masks
        Whether the masks are kept as bits, for metrics that are no functions of counts, such as distances.
    tolerance_mm
        Of surface Dice, where that is measured.
    executor
        Where cases run; here, one after the other, if none is given. The votes are the same for any.

    Raises
    ------
    SubmissionRefused
        If a submission as a whole cannot be used.
    TruthError
        If a reference cannot be read.

    Examples
    --------
    >>> from isocenter import evaluation
    >>> challenge = evaluation.load_challenge("hecktor2020")
    >>> cohort = evaluation.open_cohort(challenge, "reference/")  # doctest: +SKIP
    >>> votes = count_votes(challenge, cohort, {"radlab": "radlab.zip", "milano": "milano/"})  # doctest: +SKIP
    """
    tasks, problems = open_votes(challenge, cohort, submissions, grid=grid)
    work = partial(_count, keep_masks=keep_masks, tolerance_mm=tolerance_mm)
    cases = tuple(each_case(work, tasks, executor=executor, progress=progress))
    voters = tuple(sorted(submissions))
    return Votes(voters, cases, turnout(voters, {case.case: case.roll for case in cases}, problems), holdout)


def _count(task: CaseTask, *, keep_masks: bool, tolerance_mm: float | None) -> CaseVotes:
    roll = Roll()
    ballots = read_ballots(task, roll)
    truth = task.read_truth()
    packed = None if truth is None else pack(truth)
    patterns = count_patterns(ballots, packed, voxel_volume=task.grid.voxel_volume)
    everybody = ballots if packed is None else {**ballots, REFERENCE: packed}
    masks = Masks(everybody, task.grid.spacing, tolerance_mm) if keep_masks else None
    return CaseVotes(task.case, task.weight, patterns, roll, masks)


def read_ballots(task: CaseTask, roll: Roll) -> dict[str, Ballot]:
    """The ballots of all voters; only one mask at a time is held as voxels."""
    ballots: dict[str, Ballot] = {}
    for voter, labels in task.maps(roll):
        ballots[voter] = blank(task.grid.shape) if labels is None else pack(labels)
        del labels  # before the next is read
    return ballots
