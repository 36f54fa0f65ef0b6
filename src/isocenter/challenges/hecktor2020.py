"""HECKTOR 2020: head and neck tumours on FDG-PET/CT.

One mask per patient: 1 is the primary tumour, 2 a metastatic lymph node; what is scored is their union. The mean Dice
over all patients decides, a missing mask counts as 0. Of at most five submissions the last counts. Teams of the
organisers' institutes take part unlisted. Where the published design leaves room, docs/explanation/hecktor2020.md says
which reading is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from isocenter.evaluation import Case, Challenge, MaskPicture, Score
from isocenter.metrics import dice
from isocenter.ranking import FixedValue, MeanThenRank, Participation
from isocenter.submissions import MaskFile
from isocenter.volumes import LabelMap, side_by_side

LABELS = (("tumour", 1), ("nodes", 2))
SEVERITY = ("nodes", "tumour")
"""The document asks for a hierarchical majority vote and gives no order: the primary tumour comes before its nodes."""


def prepare(case: Case) -> LabelMap:
    """The reference, inflated and cropped once."""
    labels: LabelMap = case.reference["mask"]
    return labels


def measure(reference: LabelMap, output: Mapping[str, LabelMap]) -> Iterator[Score]:
    """Dice of the union of tumour and nodes, in 3-D."""
    yield Score("dice", dice(*side_by_side(reference, output["mask"])))


def depict(reference: LabelMap, output: Mapping[str, LabelMap]) -> MaskPicture:
    """The two masks."""
    return MaskPicture.of(reference, output["mask"])


challenge = Challenge(
    name="hecktor2020",
    title="HECKTOR 2020: head and neck tumour segmentation in PET/CT",
    reference={"mask": MaskFile(labels=LABELS)},
    output={"mask": MaskFile(labels=LABELS, severity=SEVERITY, grid_of="mask", warn_if_empty=True)},
    metrics=("dice",),
    prepare=prepare,
    measure=measure,
    depict=depict,
    boards={"dice": MeanThenRank("dice", missing=FixedValue(0.0), ties="min")},
    participation=Participation(quota=5, counts="last", organisers="unlisted"),
    edition={
        "phases": [
            {
                "name": "test",
                "title": "Test set",
                "opens": "2020-09-01T00:00:00+02:00",
                "closes": "2020-09-10T23:59:59+02:00",
                "results": "2020-09-15T12:00:00+02:00",
                "visibility": "hidden",
            }
        ],
        "policies": {"announce": 3},
        "prizes": [{"place": 1, "amount": "500", "currency": "EUR"}],
        "url": "https://www.aicrowd.com/challenges/hecktor",
        "summary": {
            "acronym": "HECKTOR",
            "keywords": ["head and neck cancer", "automatic segmentation", "PET/CT", "multimodal"],
        },
        "organisation": {
            "life_cycle": "One-time event.",
            "event": "MICCAI 2020",
            "platform": "aicrowd.com",
            "interaction": "Fully automatic methods.",
            "training_data": "Data that are public may be used, too.",
            "publication": "Teams that present at the session have two authors of the overview paper. They may publish "
            "their own results elsewhere, without an embargo, and then cite it.",
            "submission": "One mask per patient, uploaded to the platform.",
            "dates": "Training cases: 1 June 2020. Test cases: 1 August 2020. Workshop: 4 or 8 October 2020.",
            "ethics": "Training cases: McGill University Health Centre, protocol MM-JGH-CR15-50. Test cases: CER-VD, "
            "canton of Vaud, protocol 2018-01513.",
            "licence": "CC BY-NC-ND",
            "team_code": "Teams decide whether they publish their code.",
            "conflicts": "None.",
            "funding": "In part by the Swiss National Science Foundation, grant 205320_179069.",
            "label_access": "The organisers alone.",
        },
        "mission": {
            "application": "Research, diagnosis, prognosis",
            "category": "Segmentation",
            "target_cohort": "Patients with suspected cancer of the head and neck.",
            "challenge_cohort": "Patients with proven cancer of the head and neck, imaged to plan radiotherapy.",
            "modality": "FDG-PET/CT",
            "image_context": "Centre, scanner, and the acquisition as the DICOM headers have it.",
            "patient_context": "Age and sex.",
            "data_origin": "Head and neck.",
            "algorithm_target": "Gross tumour and metastatic lymph nodes, in particular of oropharyngeal cancer.",
            "aims": "Accuracy.",
        },
        "datasets": {
            "devices": "PET/CT scanners: Discovery ST, STE and D690 TOF (GE Healthcare), GeminiGXL 16 (Philips).",
            "centres": "Training: four hospitals in Montréal and Sherbrooke. Test: one in Lausanne.",
            "case": "A PET and a CT of one patient, registered, with the mask of all tumour and nodes.",
            "numbers": "203 training cases, 46 test cases; none for validation alone.",
            "proportion": "The training cases are those that are public; the test cases come from a further centre.",
            "reference": "Drawn by radiation oncologists: of the test cases by one, on the PET/CT; of 138 training "
            "cases on a planning CT, and brought to the PET/CT by deformable registration.",
            "annotators": "Radiation oncologists; one physician, radiologist and nuclear physician, checks all cases.",
            "merging": "One annotation per case; nothing was merged.",
            "preprocessing": "A box of 150 mm around the oropharynx is cut out, found by the brain on the PET.",
            "annotation_errors": "Four observers repeat 20 to 30 cases. Published agreement: a Dice of 0.57 on CT and "
            "0.69 on PET/CT.",
        },
        "declarations": [
            {
                "name": "external_data",
                "label": "Data from elsewhere",
                "kind": "long",
                "required": True,
                "most_words": 200,
                "help": "Every data set that the method was trained on beside that of the challenge, with the address "
                "where it is public and its licence; write none if there is none.",
            },
            {
                "name": "pretrained_networks",
                "label": "Pretrained networks",
                "kind": "long",
                "required": True,
                "most_words": 200,
                "help": "Every network that was trained before and is part of the method, with its address and its "
                "licence; write none if there is none.",
            },
        ],
    },
)
