"""The files that a challenge asks for: their names, and how each kind is read and checked.

A kind of file is a small frozen class with `pattern`, `suffixes` and `read`. `read` returns what was read, or raises
`VolumeError` (any `ValueError`) with what was found and what was expected. A challenge with files of its own kind
writes its own class; the masks and images here serve most.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeGuard

import numpy as np

from isocenter.problems import Problem, Remark, make_words
from isocenter.volumes import (
    File,
    Foreground,
    Grid,
    Header,
    LabelMap,
    Volume,
    VolumeError,
    open_volume,
    read_header,
    resample,
)

GridPolicy = Literal["refuse", "resample", "trust-index"]
"""What happens to an output on another grid than the reference.

"refuse": it is unusable. "resample": it is brought onto the reference's grid (labels by nearest neighbour, images
linearly). "trust-index": voxel (i, j, k) is compared with voxel (i, j, k), whatever the headers say; only for equal
shapes. The last two are recorded with the score.
"""

# Four times as fine in every direction is a different scan.
_MOST_VOXELS = 64

VOLUME_SUFFIXES = (".nii.gz", ".nii", ".mha", ".nrrd")


@dataclass(frozen=True, slots=True)
class Reading:
    """What was read from one file.

    Attributes
    ----------
    value
        As `measure` will see it.
    remarks
        What the owner of the file should know: severity ("warning" or "note") and text, perhaps a code of the registry.
    observations
        Metric and value of rows for the score table that say how the value came about.
    """

    value: Any
    remarks: tuple[Remark | tuple[Literal["warning", "note"], str], ...] = ()
    observations: tuple[tuple[str, float], ...] = ()

    @property
    def coded_remarks(self) -> tuple[Remark, ...]:
        """The remarks, each with its code."""
        return tuple(Remark(*remark) for remark in self.remarks)

    def problems(self, *, case: str, file: str) -> list[Problem]:
        """The remarks as problems of a case."""
        return [Problem(one.severity, one.text, case=case, file=file, code=one.code) for one in self.coded_remarks]


class FileSpec(Protocol):
    """What every kind of file has to say."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Endings that are accepted, in lower case with their dot; the first is the one to recommend."""
        ...

    @property
    def grid_of(self) -> str | None:
        """The reference file on whose grid this one must lie; None if it has no grid, or any."""
        ...

    @property
    def most_bytes(self) -> int | None:
        """How large the answer to a case can be; None if its grid tells. A far larger submission is refused unread."""
        ...

    def name(self, case: str, suffix: str) -> str:
        """Where the file of a case is, with `/` between folders."""
        ...

    def read(self, file: File, *, grid: Grid | None, policy: GridPolicy) -> Reading:
        """Read and check one file; `grid` is the one it must lie on, if `grid_of` names one."""
        ...


class FolderSpec(FileSpec, Protocol):
    """A kind of which a case has many files: those in the case's own folder, given to `read` as one `Folder`.

    Its `suffixes` are empty and its `name` is that of the folder. `read` names everything that is wrong at once.
    """

    @property
    def most_files(self) -> int:
        """How many files a case can have; a submission with far more is refused before any is looked at."""
        ...

    def wants(self, name: str) -> bool:
        """Whether a file of this name, below the folder, is read; others are ignored."""
        ...

    def expected(self, case: str) -> str:
        """What a case should have had that has nothing, as the end of "expected …"."""
        ...


def is_folder(spec: FileSpec) -> TypeGuard[FolderSpec]:
    """Whether a case has a folder of these files rather than one file."""
    return hasattr(spec, "wants")


@dataclass(frozen=True, kw_only=True)
class _VolumeFile:
    """A volume per case: what masks and images have in common."""

    pattern: str = "{case}"
    suffixes: tuple[str, ...] = VOLUME_SUFFIXES
    grid_of: str | None = None
    most_bytes: int | None = None

    def __post_init__(self) -> None:
        if self.pattern.count("{case}") != 1:
            msg = f"a file pattern has {{case}} in it once, not {self.pattern!r}"
            raise ValueError(msg)
        if not all(len(s) > 1 and s.startswith(".") and s == s.lower() for s in self.suffixes):
            msg = f"suffixes are a tuple such as ('.nii.gz', '.mha'), not {self.suffixes!r}"
            raise ValueError(msg)

    def name(self, case: str, suffix: str) -> str:
        """Where the file of a case is."""
        return self.pattern.replace("{case}", case) + suffix

    def header(self, file: File) -> Header:
        """Geometry and storage, without voxels."""
        return read_header(file)


@dataclass(frozen=True, kw_only=True)
class MaskFile(_VolumeFile):
    """A mask, or a map of several labels: whole numbers, one per voxel. Read as a `LabelMap`.

    Attributes
    ----------
    labels
        The labels that may occur beside 0, by name; none named: any.
    severity
        Their names from the mildest to the most severe, for a hierarchical vote; left out where nobody has said so.
        All labels are named, or none.
    warn_if_empty
        Whether a mask without foreground is probably a mistake, because every case has something to find.
    """

    labels: tuple[tuple[str, int], ...] = (("foreground", 1),)
    severity: tuple[str, ...] = ()
    warn_if_empty: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        names = [name for name, _ in self.labels]
        if self.severity and sorted(self.severity) != sorted(names):
            msg = f"severity names every label once ({', '.join(names)}), not {', '.join(self.severity)}"
            raise ValueError(msg)

    @property
    def severity_order(self) -> tuple[int, ...] | None:
        """The numbers of the labels from the mildest to the most severe; None where that is not known."""
        numbers = dict(self.labels)
        names = self.severity or (tuple(numbers) if len(numbers) == 1 else ())
        return tuple(numbers[name] for name in names) or None

    def read(self, file: File, *, grid: Grid | None, policy: GridPolicy) -> Reading:
        """Read a label map on the given grid."""
        with open_volume(file) as opened:
            header = opened.header
            shift = _compare(header, grid, policy)
            labels = opened.read_labels()
        allowed = {number for _, number in self.labels}
        if strange := [label for label in labels.labels if allowed and label not in allowed]:
            known = ", ".join(["0"] + [f"{number} ({name})" for name, number in self.labels])
            held = ", ".join(map(str, strange[:5])) + (" …" if len(strange) > 5 else "")
            msg = f"holds the label{'s' if len(strange) > 1 else ''} {held}; a mask may hold only {known}"
            raise VolumeError(msg, code="bad_values")
        remarks = remark_geometry(header)
        if self.warn_if_empty and labels.empty:
            remarks.append(Remark("warning", make_words("empty_mask"), "empty_mask"))
        if header.dtype.itemsize > 2:
            remarks.append(Remark("note", f"a mask stored as {header.dtype.name} is slow to read; uint8 does"))
        if shift is None or grid is None:
            return Reading(labels, tuple(remarks))
        if policy == "resample":
            volume = resample(Volume(labels.array, labels.grid), grid, interpolation="nearest")
            labels = LabelMap.from_array(volume.array, grid)
        else:
            labels = LabelMap(grid, labels.box, labels.corner, labels.labels)
        remark, observation = _recorded(shift, policy)
        return Reading(labels, (*remarks, remark), (observation,))


@dataclass(frozen=True, kw_only=True)
class ImageFile(_VolumeFile):
    """A scalar image: a dose, an SUV, a likelihood. Every voxel is a finite number. Read as a `Volume`.

    Attributes
    ----------
    bounds
        The smallest and the largest value that make sense.
    interpolation
        Of an image that is resampled by policy: "nearest" where a value between two others would be neither.
    sparse
        Whether the image is nearly all 0 and read as a `Foreground` instead.
    """

    bounds: tuple[float, float] = (-np.inf, np.inf)
    interpolation: Literal["linear", "nearest"] = "linear"
    sparse: bool = False

    def read(self, file: File, *, grid: Grid | None, policy: GridPolicy) -> Reading:
        """Read an image on the given grid."""
        with open_volume(file) as opened:
            header = opened.header
            shift = _compare(header, grid, policy)
            moved = shift is not None and policy == "resample"
            image = opened.read_foreground() if self.sparse and not moved else opened.read()
        self._check_values(image)
        remarks = remark_geometry(header)
        if shift is None or grid is None:
            return Reading(image, tuple(remarks))
        remark, observation = _recorded(shift, policy)
        if isinstance(image, Foreground):
            image = Foreground(grid, image.voxels, image.values)
        elif moved:
            image = resample(image, grid, interpolation=self.interpolation)
            image = Foreground.of_volume(image) if self.sparse else image
        else:
            image = Volume(image.array, grid)
        return Reading(image, (*remarks, remark), (observation,))

    def _check_values(self, image: Volume | Foreground) -> None:
        """Refuse what is not finite or out of bounds."""
        values = image.values if isinstance(image, Foreground) else image.array
        if values.size < image.grid.voxels:  # what was left out is 0
            low, high = float(values.min(initial=0)), float(values.max(initial=0))
        else:
            low, high = float(values.min()), float(values.max())  # NaN, if there is one
        if not (np.isfinite(low) and np.isfinite(high)):
            wrong = ~np.isfinite(values)
            if isinstance(image, Foreground):
                index = np.unravel_index(image.voxels[wrong], image.grid.shape, order="F")
                first = np.lexsort(index[::-1])[0]
                where, found = tuple(int(axis[first]) for axis in index), values[wrong][first]
            else:
                where = tuple(int(i) for i in np.argwhere(wrong)[0])
                found = values[where]
            msg = f"holds {found} at voxel {where}; every voxel must be a finite number"
            raise VolumeError(msg, code="nan")
        # In single precision: one and a rounding of it are the same likelihood, in whatever type it was saved.
        with np.errstate(over="ignore"):  # what is too large for single precision is infinite there, and out of bounds
            outside = np.float32(low) < self.bounds[0] or np.float32(high) > self.bounds[1]
        if outside:
            msg = f"holds values from {low:g} to {high:g}; they must lie in [{self.bounds[0]:g}, {self.bounds[1]:g}]"
            raise VolumeError(msg, code="bad_values")


def remark_geometry(header: Header) -> list[Remark]:
    """A warning about a header that says in two ways where the voxels lie, and not the same."""
    if header.other_grid is None:
        return []
    shift = f"{header.grid.deviation(header.other_grid):.2f}"
    return [Remark("warning", make_words("two_places", shift=shift), "two_places")]


def _compare(header: Header, expected: Grid | None, policy: GridPolicy) -> float | None:
    """None if the grids are one; else how far apart they are in mm, if the policy lets that pass."""
    found = header.grid
    if expected is None or found.same_as(expected):
        return None
    shift = found.deviation(expected)
    if policy == "resample":
        if found.voxels > _MOST_VOXELS * expected.voxels:
            raise VolumeError(code="bad_grid", found=found, expected=expected, difference="too large to be resampled")
        return shift
    if policy == "trust-index":
        if found.shape != expected.shape:
            difference = "the index can only be trusted for equal shapes"
            raise VolumeError(code="bad_grid", found=found, expected=expected, difference=difference)
        return shift
    difference = f"corners lie up to {shift:.2f} mm apart, allowed {found.tolerance(expected):.2f} mm"
    if header.other_grid is not None and header.other_grid.same_as(expected):
        difference += "; the qform of the header would fit, but the sform is used"
    raise VolumeError(code="bad_grid", found=found, expected=expected, difference=difference)


def _recorded(shift: float, policy: GridPolicy) -> tuple[Remark, tuple[str, float]]:
    how, metric = ("resampled", "resampled") if policy == "resample" else ("index trusted", "index_trusted")
    text = make_words("other_grid", shift=f"{shift:.2f}", how=how)
    return Remark("warning", text, "other_grid"), (metric, shift)
