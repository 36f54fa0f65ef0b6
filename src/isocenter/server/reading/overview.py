"""A reader study as organisers see it from afar: what is to be done next, and everything else in numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from isocenter.editions import Pooled, pool
from isocenter.server.models import Assignment, CaseRead, Challenge, Study
from isocenter.server.people.closed_answers import closed, in_cells
from isocenter.server.reading import cases, joining, protocol


@dataclass(frozen=True, slots=True)
class Step:
    """A step on the way from settings to export; `key` is for pages, `problems` what keeps it from being done."""

    key: str
    title: str
    what: str
    done: bool
    problems: tuple[str, ...] = ()


def steps(study: Study, now: datetime) -> list[Step]:
    """What organisers do, in order."""
    reading = protocol.reading_of(study)
    there = study.cases.count()
    unfit = tuple(cases.unfit(study)) if there and study.drawn is None else ()
    named, joined = joining.named(study), joining.joined(study)
    drawn, over = study.drawn is not None, protocol.is_over(study, now)
    return [
        Step(
            "settings",
            "Say what is read, in challenge.toml",
            "[reading] has the dates, the guide and the blocks; [[stages]] what is shown; [[readers]] what is asked.",
            done=True,
        ),
        Step(
            "cases",
            "Bring the cases",
            f"{there} cases are there." if there else "A zip with cases.csv and the scans.",
            done=bool(there) and not unfit,
            problems=unfit,
        ),
        Step(
            "readers",
            "Let readers join",
            f"{named} named, {joined} joined. You name them on the page of roles, and they join by themselves.",
            done=drawn or joined >= reading.blocks,
        ),
        Step(
            "draw",
            "Deal the cases",
            "Cases and readers are dealt into blocks by lot, and stay there. Who joins later gets a block, too.",
            done=drawn,
        ),
        Step(
            "open",
            "Readers read",
            "From its opening on, one case after the other. The study is extended by a later date in challenge.toml.",
            done=drawn and over,
        ),
        Step("close", "Close the study", "Nothing can be handed in any more.", done=study.closed is not None),
        Step("export", "Export the reads", "Tables under pseudonyms, with checksums.", done=False),
    ]


@dataclass(frozen=True, slots=True)
class Chosen:
    """How many readers gave which answer; None where they are too few for any number."""

    label: str
    pooled: Pooled | None


def chosen_answers(study: Study) -> list[Chosen]:
    """What readers answered, in numbers that single out nobody; only questions with one answer out of several."""
    questions = [one for one in closed(study.challenge.edition.readers) if one.kind in ("choice", "yes-no", "country")]
    rows = [in_cells(questions, answers) for answers in _answers(study)]
    return [Chosen(one.label, pool(Counter(row.get(one.name, "") or "no answer" for row in rows))) for one in questions]


def _answers(study: Study) -> list[dict[str, object]]:
    return list(study.readers.filter(withdrawn=None).order_by("pseudonym").values_list("answers", flat=True))


@dataclass(frozen=True, slots=True)
class Glance:
    """A line of the desk: where the study stands, readers, and reads that are there of all that are to be."""

    state: protocol.State
    readers: int
    handed_in: int
    due: int


def glance(challenge: Challenge, now: datetime) -> Glance | None:
    """The study in a line; None if the challenge has none."""
    study = Study.objects.filter(challenge=challenge).first()
    if study is None or challenge.edition.reading is None:
        return None if challenge.edition.reading is None else Glance("joining", 0, 0, 0)
    here = {"reader__study": study, "reader__withdrawn": None, "practice": False}
    reads = CaseRead.objects.filter(submitted__isnull=False, **{f"assignment__{key}": one for key, one in here.items()})
    return Glance(
        protocol.state(study, challenge.edition, now),
        joining.joined(study),
        reads.count(),
        Assignment.objects.filter(**here).count() * len(challenge.edition.stages),
    )
