"""The lung-tumour contest of Mak et al. 2019: primary lung tumours on planning CT.

One mask per scan, with all of its tumour. The mean S-score over all scans decides, and a scan without a prediction
counts as 0; Dice, Jaccard, precision and recall stand beside it. Three phases: in the second and the third, a random
point inside every tumour is given with the scan. Prizes by place, two bonuses on the way, and in the last phase so
much for every 0.001 of score. Where the published supplement leaves room, or misprints, docs/explanation/lung2019.md
says which reading is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from isocenter.evaluation import Case, Challenge, MaskPicture, Score
from isocenter.metrics import count_overlap, s_score_of
from isocenter.ranking import FixedValue, MeanThenRank, Participation
from isocenter.submissions import MaskFile
from isocenter.volumes import LabelMap, side_by_side

LABELS = (("tumour", 1),)
METRICS = ("s_score", "dice", "jaccard", "precision", "recall")


def prepare(case: Case) -> LabelMap:
    """The reference, inflated and cropped once."""
    labels: LabelMap = case.reference["mask"]
    return labels


def measure(reference: LabelMap, output: Mapping[str, LabelMap]) -> Iterator[Score]:
    """All five scores from one count of voxels; the reference says how large a voxel is."""
    overlap = count_overlap(*side_by_side(reference, output["mask"]))
    yield Score("s_score", s_score_of(overlap, voxel_volume=reference.grid.voxel_volume))
    yield Score("dice", overlap.dice())
    yield Score("jaccard", overlap.jaccard())
    yield Score("precision", overlap.precision())
    yield Score("recall", overlap.recall())


def depict(reference: LabelMap, output: Mapping[str, LabelMap]) -> MaskPicture:
    """The two masks."""
    return MaskPicture.of(reference, output["mask"])


def _phase(name: str, title: str, first: str, last: str, **more: Any) -> dict[str, Any]:
    """A phase of whole days, on a board that everybody sees at once."""
    closes = f"{last}T23:59:59Z"
    return {
        "name": name,
        "title": title,
        "opens": f"{first}T00:00:00Z",
        "closes": closes,
        "results": closes,
        "visibility": "public",
        **more,
    }


def _prizes(phase: str, *amounts: int) -> list[dict[str, Any]]:
    return [
        {"place": place, "amount": amount, "currency": "USD", "phase": phase}
        for place, amount in enumerate(amounts, start=1)
    ]


def _bonus(phase: str, title: str, amount: int, **more: str) -> dict[str, Any]:
    return {"title": title, "amount": amount, "currency": "USD", "phase": phase, **more}


challenge = Challenge(
    name="lung2019",
    title="Lung tumour contest (Mak et al. 2019): primary lung tumours on planning CT",
    reference={"mask": MaskFile(labels=LABELS)},
    output={"mask": MaskFile(labels=LABELS, grid_of="mask", warn_if_empty=True)},
    metrics=METRICS,
    prepare=prepare,
    measure=measure,
    depict=depict,
    boards={metric: MeanThenRank(metric, missing=FixedValue(0.0), ties="min") for metric in METRICS},
    participation=Participation(quota=None, counts="best"),
    edition={
        "phases": [
            _phase("phase-1", "Phase 1: CT alone", "2017-02-07", "2017-03-01"),
            # Contestants did not know that there would be further phases.
            _phase(
                "phase-2",
                "Phase 2: CT and seed points",
                "2017-03-28",
                "2017-04-18",
                announced="2017-03-28T00:00:00Z",
            ),
            _phase(
                "phase-3",
                "Phase 3, by invitation: CT and seed points",
                "2017-07-27",
                "2017-08-31",
                announced="2017-07-27T00:00:00Z",
                admission="invited",
            ),
        ],
        "prizes": [
            *_prizes("phase-1", 10_000, 7_000, 5_000, 4_000, 3_000, 2_000, 1_000),
            *_prizes("phase-2", 7_000, 4_500, 2_000, 1_000, 500),
        ],
        "bonuses": [
            *(
                _bonus("phase-1", f"Best solution after the {week} week", 1_500, to="leader", at=f"{day}T00:00:00Z")
                for week, day in (("first", "2017-02-14"), ("second", "2017-02-21"))
            ),
            _bonus("phase-3", "Proposal for an improvement", 500, to="everybody"),
            _bonus("phase-3", "Solution handed in", 100, to="everybody"),
        ],
        "payout": {
            "amount": 15,
            "currency": "USD",
            "per": "0.001",
            "above": "0.574",
            "round_up_to": 25,
            "phase": "phase-3",
        },
        "organisation": {
            "life_cycle": "One-time contest.",
            "platform": "topcoder.com",
            "interaction": "Fully automatic methods; in phases 2 and 3 a seed point inside every tumour is given.",
            "submission": "A mask per scan of the validation set, scored at once. At the end of a phase the code and "
            "the trained model, which the study team runs on the holdout set.",
            "ethics": "Dana-Farber/Harvard Cancer Center, protocol 11-286, with a waiver of consent.",
            "team_code": "The code of a phase is released to those who take part in the next.",
            "label_access": "The study team alone; the holdout scans are not released either.",
        },
        "mission": {
            "application": "Treatment planning",
            "category": "Segmentation",
            "target_cohort": "Patients with lung cancer whose radiotherapy is planned.",
            "challenge_cohort": "461 patients with non-small cell lung cancer, planned from 2001 to 2014.",
            "modality": "Planning CT",
            "image_context": "DICOM headers, and whether contrast agent was given.",
            "data_origin": "Thorax.",
            "algorithm_target": "The primary tumour.",
        },
        "datasets": {
            "devices": "GE Lightspeed RT16 (60 %), RT (36 %) and QX/i (4 %).",
            "acquisition": "512 × 512 pixels; slices of 2.5 mm (96 %), 3.75 mm (2 %) or 5 mm (2 %).",
            "case": "The planning CT of one patient, with the mask of the primary tumour.",
            "numbers": "229 training, 96 validation and 136 holdout cases, parted at random.",
            "reference": "Drawn again on all scans by one radiation oncologist, with PET and clinical reports at hand.",
            "annotators": "One radiation oncologist with expertise in lung cancer.",
            "merging": "One annotation per case; nothing was merged.",
            "annotation_errors": "Measured by the same observer on 42 scans after three months, and by six observers "
            "on 21 scans of a public data set.",
        },
    },
)
