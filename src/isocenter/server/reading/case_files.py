"""The scans of the cases of a study: found by their names, read whole, and compared in space.

The scan t2w of the case PCA001 is PCA001/t2w.mha, PCA001_t2w.mha or PCA001/PCA001_t2w.mha; other endings do as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from isocenter.submissions import Entry, is_junk, printable
from isocenter.volumes import SUFFIXES, File, Grid, VolumeError, read, read_header, suffix_of

MOST_BYTES = 512_000_000
"""What a scan may take in memory, once unpacked."""
LEAST_OVERLAP = 0.5
"""How much of the smaller of two scans of a case must lie within the other; more than this."""
_TWO_FILES = ".mhd"
READ = tuple(suffix for suffix in SUFFIXES if suffix != _TWO_FILES)


@dataclass(frozen=True, slots=True)
class Scan:
    """A scan of a case: what it is called, and the file, which is named as it will be kept."""

    case: str
    name: str
    entry: Entry
    sent: str
    """The name of the file as it came."""


def find_scans(
    entries: Sequence[Entry], cases: Sequence[str], names: Sequence[str]
) -> tuple[dict[str, list[Scan]], list[str]]:
    """By case the scans that stages show, and what is missing, there twice, or of no case at all."""
    by_stem: dict[str, list[Entry]] = {}
    for entry in entries:
        if not is_junk(entry.name) and (suffix := suffix_of(entry.name)):
            by_stem.setdefault(entry.name[: -len(suffix)], []).append(entry)
    found: dict[str, list[Scan]] = {}
    problems: list[str] = []
    for case in cases:
        for name in names:
            stems = (f"{case}/{name}", f"{case}_{name}", f"{case}/{case}_{name}")
            files = [entry for stem in stems for entry in by_stem.get(stem, ())]
            if wrong := _wrong_file(case, name, files):
                problems.append(f"{case}: {wrong}")
            else:
                kept = f"{case}/{name}{suffix_of(files[0].name)}"
                found.setdefault(case, []).append(Scan(case, name, replace(files[0], name=kept), files[0].name))
    strange = sorted({stem.split("/")[0] for stem in by_stem if "/" in stem} - set(cases))
    problems += [f"{printable(top)}: has scans, but cases.csv has no such case" for top in strange]
    return found, problems


def _wrong_file(case: str, name: str, files: Sequence[Entry]) -> str:
    if not files:
        return f"there is no {name}; expected {case}/{name}.mha, or another of {', '.join(READ)}"
    if len(files) > 1:
        return f"{' and '.join(printable(one.name) for one in files)} are both the scan {name}; expected one file"
    if suffix_of(files[0].name) == _TWO_FILES:
        return f"{printable(files[0].name)}: has its voxels in another file; expected one file, such as .mha"
    return f"{printable(files[0].name)}: {files[0].trouble}" if files[0].trouble else ""


def look_at(scans: Mapping[str, Sequence[Scan]]) -> tuple[dict[tuple[str, str], Grid], list[str]]:
    """Read every scan; by case and name where its voxels lie, and what is wrong."""
    grids: dict[tuple[str, str], Grid] = {}
    problems: list[str] = []
    for case, every in scans.items():
        for one in every:
            try:
                grids[case, one.name] = _checked(one.entry.file)
            except (VolumeError, ValueError, OSError, MemoryError) as error:
                problems.append(f"{case}: {printable(one.sent)}: {error}")
        problems += _apart([(one, grids[case, one.name]) for one in every if (case, one.name) in grids])
    return grids, problems


def _checked(file: File) -> Grid:
    """Where the voxels of a scan lie, after its header and then all its voxels were looked at."""
    header = read_header(file)
    size = header.grid.voxels * (8 if header.scaled else header.dtype.itemsize)
    if size > MOST_BYTES:
        msg = f"{header.grid} takes {size / 1e6:,.0f} MB once unpacked; at most {MOST_BYTES / 1e6:,.0f} MB are read"
        raise VolumeError(msg, code="too_large")
    array = read(file).array
    if np.issubdtype(array.dtype, np.inexact) and (wrong := array.size - int(np.isfinite(array).sum())):
        msg = f"{wrong:,} of {array.size:,} voxels are NaN or infinite; expected a number in each"
        raise VolumeError(msg, code="nan")
    return header.grid


def _apart(scans: Sequence[tuple[Scan, Grid]]) -> Iterator[str]:
    """Scans that do not lie where the first of the case lies."""
    for one, grid in scans[1:]:
        first, there = scans[0]
        if (share := overlap(there, grid)) <= LEAST_OVERLAP:
            yield (
                f"{one.case}: {printable(one.sent)}: lies elsewhere than {printable(first.sent)}: {share:.0%} of the "
                f"smaller box are common to both; expected more than {LEAST_OVERLAP:.0%}"
            )


def overlap(one: Grid, other: Grid) -> float:
    """How much of the smaller of two boxes lies within the other, |A∩B| / min(|A|, |B|), in [0, 1].

    The boxes are those around the grids with edges along the axes of the patient.

    Examples
    --------
    >>> overlap(Grid((10, 10, 10)), Grid((10, 10, 10), origin=(5, 0, 0)))
    0.5
    """
    low = [grid.corners().min(axis=0) for grid in (one, other)]
    high = [grid.corners().max(axis=0) for grid in (one, other)]
    sizes = [float(np.prod(top - bottom)) for bottom, top in zip(low, high, strict=True)]
    common = np.clip(np.minimum(*high) - np.maximum(*low), 0.0, None)
    return float(np.prod(common)) / min(sizes)
