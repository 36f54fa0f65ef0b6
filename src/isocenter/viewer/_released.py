"""The cases of released data, found by the names of files: which are scans, which are labels, and whose.

Data are released in many shapes, so names decide. A volume that calls itself after a modality is a scan, as for
`find_scans`. One that calls itself after a label, or after the case alone, is a label, where the challenge has masks.
Where a case of the challenge is a folder with a planned dose, that is its label::

    CHGJ007_ct.nii.gz, CHGJ007_ct_gtvt.nii.gz        scan and label of CHGJ007
    images/10005_1000005_t2w.mha                     scan, and labels/10005_1000005.nii.gz the label of the same case
    AB001/image/ct.mha                               scan of AB001, the nearest folder with a name of its own
    pt_1/ct.csv, pt_1/dose.csv, pt_1/PTV70.csv       scan, dose and structure of pt_1
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from isocenter.evaluation import Challenge
from isocenter.submissions import Entry, FileSpec, FolderSpec, Listing, MaskFile, is_folder, is_junk
from isocenter.viewer._images import MODALITIES, Scan
from isocenter.volumes import File, Folder, suffix_of

LABEL_WORDS = (
    *("label", "labels", "mask", "masks", "seg", "segmentation", "lesion", "lesions", "annotation", "contour"),
    *("gtv", "gtvt", "gtvn", "gtvp", "ctv", "ptv", "tumour", "tumor", "roi"),
)
SPARSE_SCAN = "ct.csv"
"""The scan of an OpenKBP patient: a list of voxels."""

_IMAGE_FOLDER = re.compile(r"(?:images?|scans?)(?:tr|ts)?")
# Folders that say what is in them, and not of whom.
_PLAIN_FOLDER = re.compile(r"(?:images?|scans?|labels?|masks?|segmentations?|reference|data|nii|nifti)(?:tr|ts)?")
_MOST_SCANS = 6
_DEEPEST = 8  # folders above the files of a case


@dataclass(frozen=True)
class ReleasedCase:
    """The files of a case: its scans, in the order of `MODALITIES`, and its labels by their names in the release."""

    scans: tuple[Scan, ...] = ()
    labels: tuple[tuple[str, File], ...] = ()


def find_cases(challenge: Challenge, listing: Listing) -> dict[str, ReleasedCase]:
    """Every case with a scan or a label, by name; what has a name that no address can hold is passed over."""
    spec = next(iter(challenge.reference.values()))
    arranged = listing if challenge.arrange_reference is None else challenge.arrange_reference(listing)
    entries = [entry for entry in arranged.entries if not entry.trouble and not is_junk(entry.name)]
    scans: dict[str, list[tuple[int, Scan]]] = {}
    labels: dict[str, list[tuple[str, File]]] = _folders(challenge, spec, entries) if is_folder(spec) else {}
    for entry in entries:
        found = _read_name(entry.name, spec)
        if found is None or not _is_name(found.case):
            continue
        if found.modality:
            place = MODALITIES.index(found.modality) if found.modality in MODALITIES else len(MODALITIES)
            scans.setdefault(found.case, []).append((place, Scan(found.modality.upper(), entry.file)))
        elif isinstance(spec, MaskFile):
            labels.setdefault(found.case, []).append((entry.name, entry.file))
    return {
        case: ReleasedCase(
            tuple(scan for _, scan in sorted(scans.get(case, []), key=lambda item: item[0])[:_MOST_SCANS]),
            tuple(labels.get(case, ())),
        )
        for case in sorted({*scans, *labels})
    }


def dose_of(challenge: Challenge, files: Mapping[str, File]) -> tuple[str, File] | None:
    """The file of a folder that holds a dose as a team would hand it in, and the output that it would be.

    `depict` shows a reference beside an output; with the planned dose as the output it shows the plan.
    """
    if challenge.depict is None or len(challenge.output) != 1:
        return None
    ((slot, spec),) = challenge.output.items()
    return next(((slot, files[name]) for suffix in spec.suffixes if (name := f"dose{suffix}") in files), None)


@dataclass(frozen=True)
class _Named:
    """What the name of a volume says: of whom it is, and after which modality it calls itself; "" for a label."""

    case: str
    modality: str


def _read_name(name: str, spec: FileSpec) -> _Named | None:
    """None for what is no volume, and for one that is nobody's."""
    path = PurePosixPath(name)
    suffix = ".csv" if path.name == SPARSE_SCAN else suffix_of(path.name)
    if not suffix:
        return None
    stem = path.name[: -len(suffix)]
    before, _, after = spec.name("\0", "").rpartition("/")[2].partition("\0")
    if before + after and len(stem) > len(before + after) and stem.startswith(before) and stem.endswith(after):
        return _Named(stem[len(before) : len(stem) - len(after)], "")
    words = [(found.start(), found[0].lower()) for found in re.finditer(r"[^\W_]+", stem)]
    telling = [(at, word) for at, word in words if word in MODALITIES or word in LABEL_WORDS]
    labelled = any(word in LABEL_WORDS for _, word in telling)
    case = (stem[: telling[0][0]] if telling else stem).strip("_-. ")
    if not case:
        rest = "_".join(word for at, word in words if (at, word) not in telling)
        case = rest if re.search(r"\d", rest) else _owner(path)
    modality = next((word for _, word in telling if word in MODALITIES), "")
    if not modality and any(_IMAGE_FOLDER.fullmatch(part.lower()) for part in path.parts[:-1]):
        modality = "scan"
    return _Named(case, "" if labelled else modality) if case else None


def _owner(path: PurePosixPath) -> str:
    """The nearest folder that is more than a word for what is in it."""
    return next((part for part in reversed(path.parts[:-1]) if not _PLAIN_FOLDER.fullmatch(part.lower())), "")


def _is_name(case: str) -> bool:
    return case.isprintable() and case not in (".", "..")


def _folders(challenge: Challenge, spec: FolderSpec, entries: Iterable[Entry]) -> dict[str, list[tuple[str, File]]]:
    """The folders of cases with a planned dose, however deep they lie in the release."""
    before, _, after = spec.name("\0", "").partition("\0")
    pattern = re.compile(rf"(?:.*/)?{re.escape(before)}([^/]+){re.escape(after)}")
    wanted: dict[tuple[str, str], dict[str, File]] = {}
    for entry in entries:
        for stop in [at for at, letter in enumerate(entry.name) if letter == "/"][:_DEEPEST]:
            folder, name = pattern.fullmatch(entry.name[:stop]), entry.name[stop + 1 :]
            if folder and spec.wants(name):
                wanted.setdefault((folder[1], folder[0]), {})[name] = entry.file
                break
    cases: dict[str, list[tuple[str, File]]] = {}
    for (case, place), files in sorted(wanted.items()):
        if _is_name(case) and dose_of(challenge, files):
            cases.setdefault(case, []).append((place, Folder(case, files)))
    return cases
