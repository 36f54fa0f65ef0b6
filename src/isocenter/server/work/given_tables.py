"""Score tables that were made elsewhere, of benchmarks whose outputs are not here.

When the reference changes, there is nothing to measure anew. Such a table stays on the board as it is, as long as it
has every case of the new reference, and the board says that it was measured against an earlier one (`outdated`). Where
it lacks cases it cannot stay, and the organisers are told what is missing (`lacking`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.urls import reverse

from isocenter.server import clock
from isocenter.server.editions import code_of
from isocenter.server.models import Challenge, Evaluation, Reference, Run, Snapshot, Submission
from isocenter.server.work import queue
from isocenter.server.work.in_force import evaluation_of, evaluator_of, reference_of
from isocenter.server.work.score_tables import rules_of, table_bytes, table_of, values_of

if TYPE_CHECKING:
    import polars as pl

    from isocenter.evaluation import Challenge as Code

SUFFIX = ".parquet"
"""Of the file of a submission that is a score table."""

_AGAINST = "against"  # in the record: the reference that the table was handed in for
_FATES = ("missing", "failed")


def is_given(submission: Submission) -> bool:
    """Whether a submission is a score table."""
    return str(submission.file).endswith(SUFFIX)


def problems_of(code: Code, table: pl.DataFrame, cases: Collection[str]) -> list[str]:
    """Why a table is not one of this challenge and these cases, in sentences."""
    known = {*code.metrics, *code.observations, *_FATES}
    problems = [f"{code.title} has no metric {name}." for name in sorted(set(table["metric"]) - known)]
    strangers = sorted(set(table["case"]) - {"", *cases})
    problems += [f"{case} is no case of the reference." for case in strangers[:20]]
    if absent := sorted(set(cases) - set(table["case"])):
        problems.append(f"{len(absent)} of {len(cases)} cases are not in the table: {', '.join(absent[:5])}.")
    return problems


def content_of(code: Code, table: pl.DataFrame, *, against: int | None = None) -> dict[str, Any]:
    """What an evaluation keeps of a table; `against` is the key of the reference that it was handed in for."""
    from isocenter.ranking import table_digest

    record: dict[str, Any] = {"challenge": code.name, "given": "a score table that was made elsewhere"}
    if against is not None:
        record[_AGAINST] = against
    return {
        "table": table_bytes(table, record),
        "digest": table_digest(table),
        "record": record | {"rules": rules_of(code)},
        "values": values_of(code, table),
    }


def carry(run: Run, submission: Submission) -> None:
    """Let a table stand under the reference and the code in force, and finish the run; or tell why it cannot."""
    from isocenter.server import notices
    from isocenter.server.work import making

    challenge = submission.challenge
    last, reference = evaluation_of(submission), reference_of(challenge, submission.phase)
    assert last is not None
    assert reference is not None
    code, table = code_of(challenge.version_id, submission.phase), _cut(table_of(last), reference)
    if problems := problems_of(code, table, reference.cases):
        with transaction.atomic():
            queue.fail(run, str(submission.state), "refused", detail="\n".join(problems))
            url = reverse("organise_submissions", args=[challenge.slug])
            notices.to_organisers(challenge, _words(submission, problems), url=url, mail=True)
        return
    against = last.record.get(_AGAINST, last.reference_id)
    content = content_of(code, table, against=against if against != reference.pk else None)
    with transaction.atomic():
        queue.finish(run)
        Evaluation.objects.update_or_create(
            submission=submission,
            evaluator=evaluator_of(challenge, submission.phase),
            reference=reference,
            defaults=content,
            create_defaults=content | {"made": clock.now()},
        )
        making.refresh(challenge, submission.phase)


def _cut(table: pl.DataFrame, reference: Reference) -> pl.DataFrame:
    """The table without cases that a reference no longer has."""
    import polars as pl

    return table.filter(pl.col("case").is_in(["", *reference.cases]))


def outdated(snapshot: Snapshot, rows: Collection[str]) -> set[str]:
    """Those of the rows whose tables were measured against an earlier reference."""
    keys = {entry.get("evaluation"): entry["row"] for entry in snapshot.entries if entry["row"] in rows}
    if not keys:
        return set()
    noted = Evaluation.objects.filter(pk__in=list(keys), record__has_key=_AGAINST)
    return {keys[key] for key in noted.values_list("pk", flat=True)}


@dataclass(frozen=True)
class Lacking:
    """A benchmark that is not on the board of its phase, as it has no result under the reference in force."""

    submission: Submission
    words: str


def lacking(challenge: Challenge) -> list[Lacking]:
    """The score tables that must be handed in again, or be evaluated again to stay; the last of each benchmark."""
    given = Submission.objects.filter(challenge=challenge, file__endswith=SUFFIX, state=Submission.State.SCORED)
    newest = {(one.team_id, one.phase): one for one in given.select_related("team").order_by("number")}
    found = []
    for one in newest.values():
        reference = reference_of(challenge, one.phase)
        if reference is None or one.evaluations.filter(reference=reference).exists():
            continue
        last = evaluation_of(one)
        if last is None or all(phase.name != one.phase for phase in challenge.edition.phases):
            continue
        table = _cut(table_of(last), reference)
        problems = problems_of(code_of(challenge.version_id, one.phase), table, reference.cases)
        found.append(Lacking(one, _words(one, problems)))
    return found


def _words(submission: Submission, problems: Collection[str]) -> str:
    phases = {phase.name: phase.title for phase in submission.challenge.edition.phases}
    what = f"The benchmark {submission.team.name} in {phases.get(submission.phase, submission.phase)}"
    if problems:
        return f"{what} has no result for the new reference: {' '.join(problems)} Hand in a table with all cases."
    return f"{what} was measured against another reference. Have its phase evaluated again, and it stays with a note."
