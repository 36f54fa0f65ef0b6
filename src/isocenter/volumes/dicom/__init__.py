"""DICOM in radiotherapy: a study's CT, dose and structures as volumes and masks.

    folder or zip ──scan──▶ Study ──match──▶ dose, structures, plan
                                              │         │
                                        read_dose   read_structures ──▶ Roi
                                              ▼                          │
                                        Volume, Gy ──grid──▶ roi_mask, partial_volumes

>>> from isocenter.volumes import dicom                                # doctest: +SKIP
>>> study = dicom.scan("study.zip")                                    # doctest: +SKIP
>>> found = study.match()                                              # doctest: +SKIP
>>> dose = dicom.read_dose(found.dose.file)                            # doctest: +SKIP
>>> ptv = dicom.read_structures(found.structures.file)["PTV70"]        # doctest: +SKIP
>>> doses = dose.array[dicom.roi_mask(ptv, dose.grid).weights]         # doctest: +SKIP

Nothing is guessed. Where a study leaves open what is meant (two doses, planes at unequal distances, relative doses),
the error says so, and the caller decides by name. Coordinates are LPS millimetres, as in DICOM; array axes are
(x, y, z): along the rows of an image, along its columns, along the normal of both.

pydicom is imported when a file is read, numba when a contour is painted.
"""

from isocenter.volumes.dicom._ct import read_ct
from isocenter.volumes.dicom._dataset import AmbiguousStudyError, DicomError
from isocenter.volumes.dicom._dose import read_dose
from isocenter.volumes.dicom._masks import Fill, Painted, partial_volumes, roi_mask
from isocenter.volumes.dicom._scan import scan
from isocenter.volumes.dicom._stack import Irregular
from isocenter.volumes.dicom._structures import Roi, StructureSet, read_structures
from isocenter.volumes.dicom._study import CtSeries, Dose, Item, Matched, Plan, Structures, Study

__all__ = [
    "AmbiguousStudyError",
    "CtSeries",
    "DicomError",
    "Dose",
    "Fill",
    "Irregular",
    "Item",
    "Matched",
    "Painted",
    "Plan",
    "Roi",
    "StructureSet",
    "Structures",
    "Study",
    "partial_volumes",
    "read_ct",
    "read_dose",
    "read_structures",
    "roi_mask",
    "scan",
]
