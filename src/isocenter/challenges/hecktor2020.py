"""HECKTOR 2020: head and neck tumours on FDG-PET/CT.

One mask per patient: 1 is the primary tumour, 2 a metastatic lymph node; what is scored is their union. The mean Dice
over all patients decides, a missing mask counts as 0. Of at most five submissions the last counts. Teams of the
organisers' institutes take part unlisted. Where the published design leaves room, docs/explanation/hecktor2020.md says
which reading is taken.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from isocenter.evaluation import Case, Challenge, Score
from isocenter.metrics import dice
from isocenter.ranking import FixedValue, MeanThenRank, Participation
from isocenter.submissions import MaskFile
from isocenter.volumes import LabelMap, side_by_side

LABELS = (("tumour", 1), ("nodes", 2))


def prepare(case: Case) -> LabelMap:
    """The reference, inflated and cropped once."""
    labels: LabelMap = case.reference["mask"]
    return labels


def measure(reference: LabelMap, output: Mapping[str, LabelMap]) -> Iterator[Score]:
    """Dice of the union of tumour and nodes, in 3-D."""
    yield Score("dice", dice(*side_by_side(reference, output["mask"])))


challenge = Challenge(
    name="hecktor2020",
    title="HECKTOR 2020: head and neck tumour segmentation in PET/CT",
    reference={"mask": MaskFile(labels=LABELS)},
    output={"mask": MaskFile(labels=LABELS, grid_of="mask", warn_if_empty=True)},
    metrics=("dice",),
    prepare=prepare,
    measure=measure,
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
    },
)
