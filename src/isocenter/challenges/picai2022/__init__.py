"""PI-CAI 2022: clinically significant prostate cancer on MRI, found and diagnosed.

An algorithm answers two questions of every exam. *Where are the cancers?* A map of candidates: connected parts, each
with one likelihood. A candidate finds a lesion if their IoU is at least 0.10; average precision over the lesions of all
exams. *Does this patient have one?* A likelihood of its own, not necessarily the map's maximum; AUROC over all
patients. The mean of both ranks. A missing or invalid exam disqualifies, and shows on no board.

A hundred exams tune, with one submission per team and week on a live board; a thousand others test the one algorithm
that a team chose. The best five are trained again, five to ten times each: these instances are one submission, and its
score is their mean. Where the published design leaves room, docs/explanation/picai2022.md says which reading is taken.

References
----------
Saha A, Bosma JS, Twilt JJ, et al. Artificial intelligence and radiologists in prostate cancer detection on MRI
(PI-CAI): an international, paired, non-inferiority, confirmatory study. Lancet Oncol 25 (2024) 879-887.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from isocenter.challenges.picai2022._arrange import arrange, arrange_maps, arrange_reference
from isocenter.challenges.picai2022._output import Answer, AnswerFolder
from isocenter.challenges.picai2022._reading import READING
from isocenter.challenges.picai2022._truth import Truth, prepare
from isocenter.detections import CASE_METRICS, LESION_METRICS, Finding, findings
from isocenter.evaluation import Challenge, LesionPicture, Score
from isocenter.metrics import match_numbered_lesions
from isocenter.ranking import DetectThenRank, Participation
from isocenter.submissions import MaskFile
from isocenter.volumes import Volume

__all__ = ["Answer", "Truth", "challenge", "from_maps"]


def measure(truth: Truth, output: Mapping[str, Mapping[str, Answer]]) -> Iterator[Score]:
    """The findings of every trained instance."""
    for instance, answer in output["answer"].items():
        rows = match_numbered_lesions(answer.candidates, truth.lesions) if truth.drawn else []
        found = [
            Finding(bool(row.is_lesion), row.confidence, row.overlap, truth.grades[number - 1] if number else None)
            for row, number in rows
        ]
        for metric, value, part in findings(truth.positive, answer.likelihood, found, instance=instance):
            yield Score(metric, value, part)


def depict(truth: Truth, output: Mapping[str, Mapping[str, Answer]]) -> LesionPicture:
    """The lesions and the candidates; of several instances those of the first."""
    answer = next(iter(output["answer"].values()))
    return LesionPicture(truth.label(), Volume(answer.candidates.detection_map().T, truth.grid))


def _phase(name: str, title: str, opens: str, closes: str, **more: Any) -> dict[str, Any]:
    """A phase from one evening to another, at the hours of the published schedule, summer time throughout."""
    return {
        "name": name,
        "title": title,
        "opens": f"{opens}T18:00:00+02:00",
        "closes": f"{closes}T18:00:00+02:00",
        **more,
    }


challenge = Challenge(
    name="picai2022",
    title="PI-CAI 2022: significant prostate cancer on MRI",
    reference={"lesions": MaskFile(labels=())},
    output={"answer": AnswerFolder()},
    metrics=CASE_METRICS,
    observations=LESION_METRICS,
    prepare=prepare,
    measure=measure,
    depict=depict,
    arrange=arrange,
    arrange_reference=arrange_reference,
    boards={
        "score": DetectThenRank("detection_score"),
        "auroc": DetectThenRank("auroc"),
        "average_precision": DetectThenRank("average_precision"),
    },
    participation=Participation(counts="chosen", organisers="unranked"),
    edition={
        **READING,
        "phases": [
            _phase(
                "tuning",
                "Open development: validation and tuning",
                "2022-05-20",
                "2022-10-20",
                results="2022-10-20T18:00:00+02:00",
                quota=1,
                quota_per="week",
                counts="best",
                visibility="public",
                cases=100,
            ),
            _phase(
                "testing",
                "Open development: testing",
                "2022-10-20",
                "2022-10-30",
                results="2022-11-10T18:00:00+02:00",
                quota=1,
                counts="chosen",
                cases=1000,
            ),
            _phase(
                "closed-testing",
                "Closed testing, by invitation of the best five",
                "2022-11-10",
                "2022-11-30",
                results="2022-12-30T18:00:00+02:00",
                quota=1,
                counts="chosen",
                cases=1000,
                admission="invited",
                after="testing",
                top=5,
                announce=5,
                verification="held",
            ),
            # After the challenge: the board of tuning stays open, that of testing on request with documents.
            _phase(
                "tuning-open",
                "Validation and tuning, after the challenge",
                "2022-12-30",
                "2099-12-31",
                results="2099-12-31T18:00:00+02:00",
                quota=1,
                quota_per="week",
                counts="best",
                visibility="public",
                cases=100,
                continues="tuning",
            ),
            _phase(
                "testing-on-request",
                "Testing on request, after the challenge",
                "2022-12-30",
                "2099-12-31",
                results="2099-12-31T18:00:00+02:00",
                quota=1,
                counts="best",
                visibility="public",
                cases=1000,
                admission="request",
                continues="testing",
            ),
        ],
        "url": "https://pi-cai.grand-challenge.org",
        "summary": {
            "acronym": "PI-CAI",
            "keywords": ["prostate cancer", "magnetic resonance imaging", "radiologists", "computer-aided detection"],
        },
        "organisation": {
            "life_cycle": "Not a one-time event. The board of the tuning phase stays open, that of the first test "
            "phase on request; the closed test phase ends.",
            "event": "None.",
            "platform": "grand-challenge.org",
            "interaction": "Fully automatic methods, in containers without access to the internet.",
            "training_data": "Other data and trained models, if they are public under a permissive licence within "
            "three months of the deadline and are named in the submission.",
            "awards": "Cash or cloud credits for the teams of the best three algorithms, who show their true names and "
            "affiliations. Prizes cannot be passed on.",
            "publication": "Up to three members of each of the best five teams join the consortium of authors. "
            "Everybody may publish at any time, and then cites the design or the paper.",
            "submission": "An algorithm in a container; in the closed phase one that can be trained. Its output is a "
            "map of candidates per exam, and a likelihood per patient (likelihood.json).",
            "dates": "Public training cases: 5 May 2022.",
            "ethics": "The review boards of all four centres waived informed consent for retrospective use of "
            "anonymised data.",
            "licence": "Public training cases: CC BY-NC 4.0.",
        },
        "mission": {
            "application": "Diagnosis, research, risk stratification",
            "category": "Classification, detection, localisation, prediction",
            "target_cohort": "Men with suspected significant prostate cancer: a PSA of 3 ng/ml or more, or an abnormal "
            "rectal exam, without treatment or a positive biopsy before.",
            "challenge_cohort": "The same, one exam per patient, no scans of poor quality; scanners of two vendors.",
            "modality": "Biparametric MRI: T2-weighted, diffusion-weighted with a high b value, and ADC.",
            "image_context": "Vendor and scanner; volume of the prostate.",
            "patient_context": "Age, PSA, and PSA density.",
            "data_origin": "Prostate.",
            "algorithm_target": "Clinically significant cancer, of ISUP grade 2 or more.",
            "aims": "Lesions found, and patients diagnosed.",
        },
        "datasets": {
            "devices": "1.5 T and 3 T scanners of Siemens Healthineers and Philips, with surface coils.",
            "centres": "Three Dutch centres and one Norwegian, 2012 to 2021; the Norwegian in the test cases only.",
            "operators": "Trained radiographers.",
            "case": "One exam of one patient, with what is known of the patient.",
            "numbers": "1500 public and about 9000 private training cases, 100 for tuning, 1000 for testing.",
            "reference": "Positive: histology of ISUP 2 or more. Negative: histology of ISUP 1 or less, or MRI of "
            "PI-RADS 2 or less; in tuning and test cases confirmed by at least three years of follow-up.",
            "annotators": "Ten trained investigators or a resident, supervised by one of three expert radiologists.",
            "merging": "Nothing was merged.",
            "annotation_errors": "Borders of lesions are uncertain, which a criterion of 0.10 for the IoU forgives.",
        },
        "assessment": {
            "ranking_reason": "Diagnosis of the patient and detection of lesions matter alike for what follows, "
            "so both have the same weight.",
        },
        "declarations": [
            {
                "name": "external_data",
                "label": "Data from elsewhere",
                "kind": "long",
                "required": True,
                "most_words": 200,
                "help": "Every data set used beside those of the challenge: its source, its licence, since when it is "
                "public, and what it was used for; write none if there is none.",
            },
            {
                "name": "pretrained_networks",
                "label": "Pretrained networks",
                "kind": "long",
                "required": True,
                "most_words": 200,
                "help": "Every trained model used: its source, its licence, since when it is public, and what it was "
                "used for; write none if there is none.",
            },
        ],
    },
)

from_maps = replace(
    challenge,
    name="picai2022-from-maps",
    title="PI-CAI 2022 with the maximum of the map as every patient's likelihood",
    output={"answer": AnswerFolder(declared="max")},
    arrange=arrange_maps,
)
"""The same for maps that come without likelihoods, and were never part of the challenge."""
