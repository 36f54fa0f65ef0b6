"""Small DICOM studies, written with pydicom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydicom.dataset import Dataset, FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, ImplicitVRLittleEndian

CLASSES = {
    "CT": "1.2.840.10008.5.1.4.1.1.2",
    "MR": "1.2.840.10008.5.1.4.1.1.4",
    "RTDOSE": "1.2.840.10008.5.1.4.1.1.481.2",
    "RTSTRUCT": "1.2.840.10008.5.1.4.1.1.481.3",
    "RTPLAN": "1.2.840.10008.5.1.4.1.1.481.5",
}
AXIAL = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)
FRAME = "1.2.3.4.999"


def items(*parts: Mapping[str, Any]) -> list[Dataset]:
    """A sequence from dictionaries."""
    found = []
    for part in parts:
        item = Dataset()
        for key, value in part.items():
            setattr(item, key, value)
        found.append(item)
    return found


class Maker:
    """Writes the objects of one patient into a folder; keywords replace attributes, None removes them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.written = 0

    def save(self, name: str, modality: str, attributes: Mapping[str, Any], *, raw: bool = False) -> Path:
        """Write a file; `raw` leaves out preamble and meta group, as some planning systems do."""
        self.written += 1
        dataset = Dataset()
        common = {
            "Modality": modality,
            "SOPClassUID": CLASSES[modality],
            "SOPInstanceUID": f"1.2.3.4.{self.written}",
            "PatientID": "phantom",
            "StudyInstanceUID": "1.2.3.4.1000",
            "SeriesInstanceUID": f"1.2.3.4.2000.{list(CLASSES).index(modality)}",
        }
        for key, value in {**common, **attributes}.items():
            if value is not None:
                setattr(dataset, key, value)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if raw:
            dataset.save_as(path, implicit_vr=True, little_endian=True)
            return path
        meta = FileMetaDataset()
        meta.MediaStorageSOPClassUID = CLASSES[modality]
        meta.MediaStorageSOPInstanceUID = dataset.SOPInstanceUID
        meta.TransferSyntaxUID = ImplicitVRLittleEndian if modality == "RTSTRUCT" else ExplicitVRLittleEndian
        dataset.file_meta = meta
        dataset.save_as(path, enforce_file_format=True)
        return path

    def dose(
        self,
        stored: np.ndarray | None = None,
        *,
        name: str = "dose.dcm",
        offsets: Sequence[float] | None = None,
        raw: bool = False,
        **attributes: Any,
    ) -> Path:
        """Write an RTDOSE of stored numbers (frames, rows, columns); 3 frames of 4×5 counting up if not given."""
        if stored is None:
            stored = np.arange(60, dtype=np.uint16).reshape(3, 4, 5)
        frames, rows, columns = stored.shape
        return self.save(
            name,
            "RTDOSE",
            {
                "FrameOfReferenceUID": FRAME,
                "ImagePositionPatient": [-10.0, 20.0, 30.0],
                "ImageOrientationPatient": list(AXIAL),
                "PixelSpacing": [2.0, 3.0],
                "Rows": rows,
                "Columns": columns,
                "NumberOfFrames": frames,
                "FrameIncrementPointer": 0x3004000C,
                "GridFrameOffsetVector": [4.0 * k for k in range(frames)] if offsets is None else list(offsets),
                "SamplesPerPixel": 1,
                "PhotometricInterpretation": "MONOCHROME2",
                "BitsAllocated": stored.dtype.itemsize * 8,
                "BitsStored": stored.dtype.itemsize * 8,
                "HighBit": stored.dtype.itemsize * 8 - 1,
                "PixelRepresentation": 0,
                "DoseUnits": "GY",
                "DoseType": "PHYSICAL",
                "DoseSummationType": "PLAN",
                "DoseGridScaling": 0.5,
                "PixelData": stored.tobytes(),
                **attributes,
            },
            raw=raw,
        )

    def ct(
        self,
        places: Sequence[float] = (0.0, 3.0, 6.0),
        *,
        shape: tuple[int, int] = (4, 5),
        prefix: str = "ct",
        raw: bool = False,
        **attributes: Any,
    ) -> list[Path]:
        """Write a CT slice (rows, columns) per place along z; slice k holds the number k everywhere, 1000 below."""
        return [
            self.save(
                f"{prefix}{k}.dcm",
                "CT",
                {
                    "FrameOfReferenceUID": FRAME,
                    "ImagePositionPatient": [-10.0, 20.0, float(place)],
                    "ImageOrientationPatient": list(AXIAL),
                    "PixelSpacing": [2.0, 3.0],
                    "SliceThickness": 3.0,
                    "Rows": shape[0],
                    "Columns": shape[1],
                    "SamplesPerPixel": 1,
                    "PhotometricInterpretation": "MONOCHROME2",
                    "BitsAllocated": 16,
                    "BitsStored": 16,
                    "HighBit": 15,
                    "PixelRepresentation": 1,
                    "RescaleSlope": 2.0,
                    "RescaleIntercept": -1000.0,
                    "PixelData": np.full(shape, k, dtype=np.int16).tobytes(),
                    **attributes,
                },
                raw=raw,
            )
            for k, place in enumerate(places)
        ]

    def structures(
        self,
        rois: Mapping[str, Sequence[np.ndarray]] | Sequence[tuple[str, Sequence[np.ndarray]]],
        *,
        name: str = "structures.dcm",
        kind: str = "CLOSED_PLANAR",
        raw: bool = False,
        **attributes: Any,
    ) -> Path:
        """Write an RTSTRUCT of contours, n×3 LPS mm, by the name of their ROI."""
        named = list(rois.items()) if isinstance(rois, Mapping) else list(rois)
        contours = [
            {
                "ReferencedROINumber": number,
                "ContourSequence": items(
                    *(
                        {
                            "ContourGeometricType": kind,
                            "NumberOfContourPoints": len(points),
                            "ContourData": [f"{v:.10g}" for v in np.asarray(points).ravel()],
                        }
                        for points in drawn
                    )
                ),
            }
            for number, (_, drawn) in enumerate(named, start=1)
        ]
        return self.save(
            name,
            "RTSTRUCT",
            {
                "StructureSetLabel": "drawn",
                "ReferencedFrameOfReferenceSequence": items({"FrameOfReferenceUID": FRAME}),
                "StructureSetROISequence": items(
                    *(
                        {"ROINumber": number, "ReferencedFrameOfReferenceUID": FRAME, "ROIName": roi}
                        for number, (roi, _) in enumerate(named, start=1)
                    )
                ),
                "ROIContourSequence": items(*contours),
                **attributes,
            },
            raw=raw,
        )

    def plan(self, *prescriptions: float, name: str = "plan.dcm", **attributes: Any) -> Path:
        """Write an RTPLAN that prescribes doses, Gy, to targets, and a limit to an organ, which is no prescription."""
        references = [
            {"DoseReferenceNumber": k, "DoseReferenceType": "TARGET", "TargetPrescriptionDose": dose}
            for k, dose in enumerate(prescriptions, start=1)
        ]
        organ = {"DoseReferenceNumber": 99, "DoseReferenceType": "ORGAN_AT_RISK", "TargetPrescriptionDose": 99.0}
        return self.save(
            name,
            "RTPLAN",
            {
                "FrameOfReferenceUID": FRAME,
                "RTPlanLabel": "boost",
                "DoseReferenceSequence": items(*references, organ),
                **attributes,
            },
        )


@pytest.fixture
def make(tmp_path: Path) -> Maker:
    return Maker(tmp_path / "study")
