"""The numbers of a submission as pages and files show them: never more of them than who looks may see.

    Evaluation ── of ──▶ Measured ──┬─ boards()    score and interval by board
      (a table)       (with a Sight) ├─ cases()     every case, the worst first
                                     └─ table       for downloads

Whoever may not see the reference sees scores, but no observation: a score says how good an answer is, an observation
such as "this patient has cancer" or "D95 of the reference" says what the answer would have been.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any
from uuid import UUID

from django.http import Http404

from isocenter.editions import name_on_cohort, split_cohort
from isocenter.server.boards.board_titles import titles_of
from isocenter.server.editions import code_of
from isocenter.server.models import Evaluation, Submission
from isocenter.server.work.in_force import on_cohort
from isocenter.server.work.reasons import from_row

if TYPE_CHECKING:
    import polars as pl

    from isocenter.editions import Sight
    from isocenter.evaluation import Challenge as Code
    from isocenter.metrics import Metric
    from isocenter.server.policy import Visit
    from isocenter.viewer import CaseScores


@dataclass(frozen=True)
class BoardScore:
    """What a submission reaches on a board by itself; `low` and `high` bound its 95 % interval, "" without one."""

    board: str
    title: str
    metric: Metric
    text: str
    low: str = ""
    high: str = ""


@dataclass(frozen=True)
class Measured:
    """The scores of a submission, as far as somebody may see them. Made by `of`."""

    evaluation: Evaluation
    sight: Sight
    version: int

    @cached_property
    def code(self) -> Code:
        """The challenge, under the rules of the phase."""
        return code_of(self.version, self.evaluation.submission.phase)

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """What cases have a number of and can be sorted by; what the main board ranks by comes first."""
        from isocenter.viewer import LIKELIHOOD_ERROR, yardsticks

        found = yardsticks(self.code)
        return found if self.sight.reference else tuple(one for one in found if one != LIKELIHOOD_ERROR)

    @cached_property
    def table(self) -> pl.DataFrame:
        """The score table without what tells of the reference, unless that may be seen; for who may see cases only."""
        from isocenter.viewer import without_observations

        assert self.sight.own_cases
        whole = table_of(self.evaluation)
        return whole if self.sight.reference else without_observations(whole)

    @cached_property
    def cases(self) -> tuple[CaseScores, ...]:
        """Every case, in the order of their names; also those of which nothing that was measured may be seen."""
        from isocenter.evaluation import Evaluation as Result
        from isocenter.viewer import CaseScores, cases_of

        found = {one.name: one for one in cases_of(Result(self.table, problems_of(self.evaluation), {}))}
        return tuple(
            found.get(name) or CaseScores(name, "measured", {})
            for name in table_of(self.evaluation)["case"].unique(maintain_order=True)
            if name
        )

    def metric(self, name: str = "") -> Metric | None:
        """The metric of a name, or the first; None if cases have none that may be seen."""
        return next((one for one in self.metrics if one.name == name), next(iter(self.metrics), None))

    def boards(self) -> list[BoardScore]:
        """The score by board, with intervals where details may be seen."""
        if not self.sight.own_scores:
            return []
        found = board_scores(self.evaluation, self.sight, self.code)
        if not self.sight.details:
            return found
        submission = self.evaluation.submission
        bounds = _intervals(self.evaluation.pk, self.evaluation.digest, submission.pk, self.version)
        return [
            replace(one, low=one.metric.show(bounds[one.board][0]), high=one.metric.show(bounds[one.board][1]))
            if one.board in bounds
            else one
            for one in found
        ]


def of(visit: Visit, submission: Submission, evaluation: Evaluation) -> Measured:
    """The scores of one of the submissions that a visitor may see, as far as they may see those of this cohort."""
    return Measured(evaluation, visit.sight(phase_in(evaluation)), version_for(visit, submission))


def phase_in(evaluation: Evaluation) -> str:
    """The phase that an evaluation was made for, or with its further cohort as in "test.holdout"."""
    cohort = split_cohort(evaluation.reference.phase)[1]
    return name_on_cohort(evaluation.submission.phase, cohort) if cohort else str(evaluation.submission.phase)


def version_for(visit: Visit, submission: Submission) -> int:
    """The version whose rules its phase has now; of a phase that is gone, the one that it was handed in under."""
    known = {phase.name for phase in visit.edition.phases}
    version = visit.challenge.version_id if submission.phase in known else submission.version_id
    assert version is not None
    return version


def code_for(visit: Visit, submission: Submission) -> Code:
    """The challenge as code, under the rules of the phase."""
    return code_of(version_for(visit, submission), submission.phase)


def board_scores(evaluation: Evaluation, sight: Sight, code: Code) -> list[BoardScore]:
    """The scores that a worker has put beside the table, by board, with the decimals that may be seen.

    A score that is made of comparisons with others is none of a submission alone, and not there.
    """
    from isocenter.metrics import catalogue
    from isocenter.ranking import rounded

    titles = titles_of(code)
    found = []
    for board, rule in code.boards.items():
        value, metric = evaluation.values.get(board), catalogue.get(rule.metric)
        if value is None or not sight.own_scores:
            continue
        few = sight.decimals
        text = metric.show(value) if few is None else f"{rounded(value, few):.{max(few, 0)}f}"
        found.append(BoardScore(board, titles[board], metric, text))
    return found


def hides_own(visit: Visit, phase: str) -> bool:
    """Whether single scores stay hidden although boards show them: where a ladder decides what a team is shown."""
    found = visit.edition.find_scored(phase)
    return found is not None and found.ladder is not None and not visit.organises


def table_of(evaluation: Evaluation) -> pl.DataFrame:
    """The whole score table; not for pages themselves, which ask `Measured`."""
    from isocenter.server.work.score_tables import tables_of

    code_of(evaluation.submission.version_id, evaluation.submission.phase)  # its metrics are in the catalogue now
    return tables_of([evaluation])[evaluation.pk]


@lru_cache(maxsize=256)
def _intervals(key: int, digest: str, of: UUID, version: int) -> dict[str, tuple[float, float]]:
    """By board the 95 % interval of the score, with the resamples of the board itself; none where a rule knows none."""
    from isocenter.contest import Contest, Entry
    from isocenter.ranking import Participation
    from isocenter.server.work.making import LEVEL, REPLICATES, SEED

    evaluation = (
        Evaluation.objects.select_related("submission").defer("table").get(pk=key, digest=digest, submission=of)
    )
    code = replace(code_of(version, evaluation.submission.phase), participation=Participation())
    contest = Contest(code, [Entry(team="this", table=table_of(evaluation))])
    intervals = {}
    for board in code.boards:
        if evaluation.values.get(board) is None:
            continue
        row = contest.decide(board, resamples=REPLICATES, level=LEVEL, seed=SEED).board["this"]
        if row.low is not None and row.high is not None:
            intervals[board] = (row.low, row.high)
    return intervals


def problems_of(evaluation: Evaluation) -> tuple[Any, ...]:
    """What was said of the outputs when they were measured."""
    return tuple(map(from_row, evaluation.record.get("problems", ())))


def by_cohort(visit: Visit, submissions: Sequence[Submission]) -> dict[Any, dict[str, list[BoardScore]]]:
    """By key of a submission, what it reaches in its phase and on each further cohort that may be seen.

    A cohort that may not be seen is not there; one that may be and has no score yet has an empty list.
    """
    cohorts = dict.fromkeys(["", *(cohort.name for phase in visit.edition.phases for cohort in phase.cohorts)])
    evaluations = {cohort: in_force(submissions, cohort) for cohort in cohorts}
    found: dict[Any, dict[str, list[BoardScore]]] = {}
    for one in submissions:
        found[one.pk] = {}
        phase = visit.edition.find_scored(one.phase)
        for name in [one.phase] if phase is None else [scored.name for scored in phase.scored]:
            seen, evaluation = visit.sight(name), evaluations[split_cohort(name)[1]].get(one.pk)
            if seen.own_scores and not hides_own(visit, name):
                scores = [] if evaluation is None else board_scores(evaluation, seen, code_for(visit, one))
                found[one.pk][name] = scores
    return found


def phase_on(visit: Visit, submission: Submission, cohort: str) -> str:
    """The phase of a submission, or with one of its further cohorts as in "test.holdout"; else there is none (404)."""
    name = name_on_cohort(submission.phase, cohort) if cohort else str(submission.phase)
    if cohort and visit.edition.find_scored(name) is None:
        raise Http404
    return name


def reference_numbers(visit: Visit, phase: str, cohort: str = "") -> dict[int, int]:
    """By key, what a reference is called where submissions to a phase are shown, on its own cases or another cohort.

    Organisers call it by its number. For others it is counted among those that their own submissions to the phase were
    measured with, from 1: the number itself would tell how often the organisers changed it, and what for.
    """
    if visit.organises:
        return dict(visit.challenge.references.values_list("pk", "number"))
    mine = visit.submissions().filter(phase=phase).order_by()
    made = Evaluation.objects.filter(on_cohort(cohort), submission__in=mine)
    known = made.order_by("reference__phase", "reference__number").values_list("reference", flat=True)
    return {key: number for number, key in enumerate(dict.fromkeys(known), start=1)}


def in_force(submissions: Sequence[Submission], cohort: str = "") -> dict[Any, Evaluation]:
    """By key of a submission, the evaluation in force: of the newest reference, by the newest evaluator.

    That on the cases of its phase, or on a further cohort.
    """
    rows = Evaluation.objects.filter(on_cohort(cohort), submission__in=submissions)
    rows = rows.select_related("submission", "reference")
    rows = rows.defer("table", "record").order_by("reference__phase", "reference__number", "made", "pk")
    return {row.submission_id: row for row in rows}
