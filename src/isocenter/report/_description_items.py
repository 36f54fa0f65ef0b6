"""The items of a structured description: how each is called, and what answers it.

Numbers and order are those of the form that the published designs of PI-CAI and HECKTOR follow.

References
----------
Maier-Hein L, Reinke A, Kozubek M, et al. BIAS: transparent reporting of biomedical image analysis challenges. Med Image
Anal 66 (2020) 101796.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from isocenter.editions import Edition
from isocenter.evaluation import Challenge
from isocenter.ranking import software_versions
from isocenter.report import _description_metrics as on_metrics
from isocenter.report import _description_ranking as on_ranking
from isocenter.report import _description_rules as on_rules
from isocenter.report import _description_statistics as on_statistics
from isocenter.report._description import Block, Paragraph

Told = Callable[[Edition, Challenge], Sequence[Block]]


@dataclass(frozen=True, slots=True)
class Asked:
    """An item as it is asked.

    Attributes
    ----------
    question
        What to say; left out, what challenge.toml says of the first of its settings.
    needs, may
        Settings of challenge.toml that answer it: which it cannot do without, and others.
    rules
        What the code knows of it.
    """

    number: str
    title: str
    question: str = ""
    needs: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    rules: Told | None = None


def _evaluation_code(_: Edition, challenge: Challenge) -> list[Block]:
    version = software_versions()["isocenter"]
    text = (
        f"Submissions are checked, scored and ranked by isocenter {version}, as the challenge {challenge.name}: open "
    )
    return [Paragraph(f"{text}source (Apache-2.0), for Linux and macOS, without a network. Teams can run all of it.")]


SECTIONS: dict[str, tuple[Asked, ...]] = {
    "Summary": (
        Asked("1a", "Title", needs=("title",)),
        Asked("1b", "Acronym", may=("summary.acronym",)),
        Asked("2", "Abstract", needs=("summary.abstract",)),
        Asked("3", "Keywords", needs=("summary.keywords",)),
    ),
    "Challenge organisation": (
        Asked("4a", "Organisers", "Who organises the challenge.", needs=("organisers",), may=("organisation.team",)),
        Asked("4b", "Contact", needs=("contact",)),
        Asked(
            "5", "Life cycle", needs=("organisation.life_cycle",), rules=lambda edition, _: on_rules.life_cycle(edition)
        ),
        Asked("6a", "Event", may=("organisation.event",)),
        Asked("6b", "Platform", needs=("organisation.platform",)),
        Asked("6c", "Web page", may=("url",)),
        Asked("7a", "User interaction", needs=("organisation.interaction",)),
        Asked("7b", "Training data", needs=("organisation.training_data",)),
        Asked(
            "7c",
            "Participation of organisers",
            "Whether members of the organisers' institutes may take part, and win.",
            rules=lambda edition, _: on_rules.organisers(edition),
        ),
        Asked(
            "7d",
            "Awards",
            "What there is to win, and for what.",
            may=("organisation.awards",),
            rules=lambda edition, _: on_rules.prizes(edition),
        ),
        Asked(
            "7e",
            "Announcement of results",
            "Who is named, and who sees which results when.",
            rules=lambda edition, _: on_rules.announcement(edition),
        ),
        Asked("7f", "Publication policy", needs=("organisation.publication",)),
        Asked("8a", "Submission method", may=("organisation.submission",), rules=on_rules.submission),
        Asked(
            "8b",
            "Attempts",
            "How often teams may submit, which result counts, and how they can evaluate before.",
            rules=lambda edition, _: on_rules.attempts(edition),
        ),
        Asked(
            "9",
            "Schedule",
            "All dates of the challenge.",
            may=("organisation.dates",),
            rules=lambda edition, _: on_rules.schedule(edition),
        ),
        Asked("10", "Ethics approval", needs=("organisation.ethics",)),
        Asked("11", "Data usage agreement", needs=("organisation.licence",)),
        Asked(
            "12a",
            "Evaluation software",
            "How the software that evaluates can be had.",
            may=("organisation.code",),
            rules=_evaluation_code,
        ),
        Asked("12b", "Code of the teams", needs=("organisation.team_code",)),
        Asked(
            "13",
            "Conflicts of interest",
            "Conflicts of interest and funding, and who sees the reference of the test cases.",
            needs=("organisation.conflicts", "organisation.funding", "organisation.label_access"),
        ),
    ),
    "Mission of the challenge": (
        Asked("14", "Field of application", needs=("mission.application",)),
        Asked("15", "Task category", needs=("mission.category",)),
        Asked("16a", "Target cohort", needs=("mission.target_cohort",)),
        Asked("16b", "Challenge cohort", needs=("mission.challenge_cohort",)),
        Asked("17", "Imaging modality", needs=("mission.modality",)),
        Asked("18a", "Context of the images", may=("mission.image_context",)),
        Asked("18b", "Context of the patients", may=("mission.patient_context",)),
        Asked("19a", "Data origin", needs=("mission.data_origin",)),
        Asked("19b", "Algorithm target", needs=("mission.algorithm_target",)),
        Asked("20", "Assessment aims", needs=("mission.aims",)),
    ),
    "Challenge data sets": (
        Asked("21a", "Devices", needs=("datasets.devices",)),
        Asked("21b", "Acquisition", needs=("datasets.acquisition",)),
        Asked("21c", "Centres", needs=("datasets.centres",)),
        Asked("21d", "Operators", may=("datasets.operators",)),
        Asked("22a", "What a case is", needs=("datasets.case",)),
        Asked(
            "22b",
            "Number of cases",
            needs=("datasets.numbers",),
            rules=lambda edition, _: on_rules.case_numbers(edition),
        ),
        Asked("22c", "Why so many", needs=("datasets.proportion",)),
        Asked("22d", "Characteristics of the cases", may=("datasets.characteristics",)),
        Asked("23a", "Reference", needs=("datasets.reference",)),
        Asked("23b", "Instructions to annotators", may=("datasets.instructions",)),
        Asked("23c", "Annotators", needs=("datasets.annotators",)),
        Asked("23d", "Merging of annotations", may=("datasets.merging",)),
        Asked("24", "Pre-processing", needs=("datasets.preprocessing",)),
        Asked("25a", "Errors of annotation", needs=("datasets.annotation_errors",)),
        Asked("25b", "Other errors", may=("datasets.other_errors",)),
    ),
    "Assessment methods": (
        Asked(
            "26a",
            "Metrics",
            "What is measured, and by which metrics the teams are ranked.",
            rules=lambda _, challenge: on_metrics.measured(challenge),
        ),
        Asked("26b", "Why these metrics", needs=("assessment.metrics_reason",)),
        Asked(
            "27a",
            "Ranking",
            "How ranks are made of the results of all cases and metrics.",
            rules=lambda _, challenge: on_ranking.ranking(challenge),
        ),
        Asked("27b", "Missing results", "What becomes of cases without a result.", rules=on_ranking.missing),
        Asked("27c", "Why this ranking", needs=("assessment.ranking_reason",)),
        Asked(
            "28a",
            "Statistical analyses",
            "How sure scores and ranks are, how teams are compared, on what assumptions, with which software.",
            may=("assessment.statistics",),
            rules=on_statistics.statistics,
        ),
        Asked("28b", "Why these statistics", needs=("assessment.statistics_reason",)),
        Asked(
            "29",
            "Further analyses",
            may=("assessment.further",),
            rules=lambda _, challenge: on_ranking.further(challenge),
        ),
        Asked(
            "",
            "References",
            may=("assessment.references",),
            rules=lambda _, challenge: on_metrics.literature(challenge),
        ),
    ),
}
