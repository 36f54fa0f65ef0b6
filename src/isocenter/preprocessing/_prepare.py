"""Whole cohorts on disk: every case found, cropped, resampled and recorded, or listed with what is wrong with it.

::

    raw/                     prepared/
      CHUV001/                 boxes.csv            the box of every case
        ct.nii.gz              CHUV001/
        pet.nii.gz               ct.nii.gz          all on one grid
        mask.nii.gz              pet.nii.gz
      CHUV002/ …                 mask.nii.gz        if there is one
                                 prepared.json      from what, and how
                               CHUV002/ …
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np

from isocenter import atomic
from isocenter.preprocessing._box import Box, NoBrainError, Variant, oropharynx_box
from isocenter.preprocessing._box_table import Override, write_boxes
from isocenter.preprocessing._resample_pair import Cropped, Interpolation, crop_and_resample, overhang
from isocenter.problems import code_of_error
from isocenter.volumes import DiskFile, LabelMap, Volume, VolumeError, digest, read, read_labels, suffix_of, write

RECORD = "prepared.json"
_KINDS = ("ct", "pet", "mask")
_FEWEST = 4  # voxels along an axis that a cubic spline needs
_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class Recipe:
    """How images are prepared; recorded with every case."""

    variant: Variant = "design"
    size_mm: float | None = None
    spacing: float | None = None
    interpolation: Interpolation = "bspline"


@dataclass(frozen=True, slots=True)
class CaseFiles:
    """The images of one patient."""

    name: str
    ct: Path
    pet: Path
    mask: Path | None = None

    def given(self) -> dict[str, Path]:
        """The files that there are, by kind."""
        return {kind: path for kind in _KINDS if (path := getattr(self, kind)) is not None}


@dataclass(frozen=True, slots=True)
class CaseReport:
    """What became of a case.

    Attributes
    ----------
    state
        "prepared" now; "kept" because the same files were prepared in the same way before; "failed", and nothing of
        it was written.
    problems
        Why it failed, or what should be looked at although it did not.
    """

    case: str
    state: Literal["prepared", "kept", "failed"]
    box: Box | None = None
    problems: tuple[str, ...] = ()


def find_cases(folder: str | os.PathLike[str]) -> tuple[list[CaseFiles], list[CaseReport]]:
    """The cases of a cohort, a folder each with `ct`, `pet` and perhaps `mask`, and those that are not complete."""
    found, lost = [], []
    for home in sorted(Path(folder).iterdir()):
        if not home.is_dir() or home.name.startswith("."):
            continue
        files: dict[str, list[Path]] = {kind: [] for kind in _KINDS}
        for path in sorted(home.iterdir()):
            suffix = suffix_of(path.name)
            kind = path.name[: -len(suffix)].lower() if suffix else ""
            if kind in files:
                files[kind].append(path)
        problems = [f"no {kind}.nii.gz (or .nii, .mha, .nrrd)" for kind in ("ct", "pet") if not files[kind]]
        problems += [
            f"which is the {kind}: {', '.join(path.name for path in paths)}?"
            for kind, paths in files.items()
            if len(paths) > 1
        ]
        if problems:
            lost.append(CaseReport(home.name, "failed", problems=tuple(problems)))
        else:
            mask = files["mask"][0] if files["mask"] else None
            found.append(CaseFiles(home.name, files["ct"][0], files["pet"][0], mask))
    return found, lost


def prepare_cohort(
    cases: Sequence[CaseFiles],
    out: str | os.PathLike[str],
    *,
    recipe: Recipe | None = None,
    overrides: Mapping[str, Override] | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> list[CaseReport]:
    """Prepare cases into a folder each, one after the other, and write the table of all boxes there, `boxes.csv`.

    A case that cannot be prepared costs only itself. A folder in `out` is complete or not there, and one that this
    function did not write is never replaced.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    reports = []
    for done, files in enumerate(cases, start=1):
        reports.append(prepare_case(files, out, recipe=recipe, override=(overrides or {}).get(files.name)))
        if progress:
            progress(done, len(cases), files.name)
    boxes = {}
    for record in sorted(out.glob(f"*/{RECORD}")):
        known = _read_record(record)
        if known:
            boxes[record.parent.name] = _box_of(known)
    if boxes:
        write_boxes(boxes, out / "boxes.csv")
    return reports


def prepare_case(
    files: CaseFiles, out: str | os.PathLike[str], *, recipe: Recipe | None = None, override: Override | None = None
) -> CaseReport:
    """Find the box of one case, crop and resample its images, and write them as the folder `out`/<case>.

    The folder holds a record of its inputs, by hash, of the recipe and of this code; if that is what it would be again
    and the outputs are unharmed, nothing is done.
    """
    recipe, home = recipe or Recipe(), Path(out, files.name)
    try:
        sources = {kind: digest(DiskFile(path)) for kind, path in files.given().items()}
        by_hand = asdict(override) if isinstance(override, Box) else override
        asked = {"recipe": asdict(recipe), "override": by_hand, "code": _code(), "inputs": sources}
        asked = json.loads(json.dumps(asked))  # as it will be read back: a tuple becomes a list
        known = _read_record(home / RECORD)
        if known and all(known.get(key) == value for key, value in asked.items()) and _unharmed(home, known):
            return CaseReport(files.name, "kept", _box_of(known), tuple(known.get("problems", ())))
        if home.exists() and not known:
            msg = f"{home} holds files that were not written by this command; they are left as they are"
            raise OSError(msg)
        box, crop, problems = _crop(files, recipe, override)
        _write_folder(home, crop, {**asked, "box": asdict(box), "problems": problems})
    except (OSError, ValueError) as error:
        left = "; what was prepared here before is left as it was" if _read_record(home / RECORD) else ""
        return CaseReport(files.name, "failed", problems=(f"{error}{left}",))
    return CaseReport(files.name, "prepared", box, tuple(problems))


def _crop(files: CaseFiles, recipe: Recipe, override: Override | None) -> tuple[Box, Cropped, list[str]]:
    """The images of a case inside its box, and what should be looked at."""
    ct, pet = _image(files.ct), _image(files.pet)
    mask = _named(files.mask, read_labels) if files.mask is not None else None
    if isinstance(override, Box):
        box = override
    else:
        try:
            box = oropharynx_box(pet, variant=recipe.variant, size_mm=recipe.size_mm, threshold=override)
        except NoBrainError as error:
            msg = f"{files.pet.name}: {error} A table of boxes can give this case's box or threshold by hand."
            raise NoBrainError(msg) from error
    problems = []
    for path, image in ((files.ct, ct), (files.pet, pet)):
        beyond = overhang(box, image.grid)
        if math.isinf(beyond):
            msg = f"{path.name}: lies nowhere inside the box from {_mm(box.low)} to {_mm(box.high)} mm"
            raise VolumeError(msg, code="bad_geometry")
        if beyond > 0.5 * max(image.grid.spacing):
            problems.append(f"{path.name}: the box sticks out by {beyond:.0f} mm; filled there")
    crop = crop_and_resample(box, ct=ct, pet=pet, mask=mask, spacing=recipe.spacing, interpolation=recipe.interpolation)
    if files.mask is not None and mask is not None:
        problems += [f"{files.mask.name}: {problem}" for problem in _mask_problems(mask, box)]
    return box, crop, problems


def _image(path: Path) -> Volume:
    volume = _named(path, read)
    if not np.isfinite(volume.array).all():
        msg = f"{path.name}: holds values that are not finite"
        raise VolumeError(msg, code="nan")
    if min(volume.grid.shape) < _FEWEST:
        msg = f"{path.name}: {volume.grid}; an image has at least {_FEWEST} voxels along each axis"
        raise VolumeError(msg, code="bad_shape")
    return volume


def _named(path: Path, reader: Callable[[Path], _Read]) -> _Read:
    """What a reader reads, with the file's name in its complaints."""
    try:
        return reader(path)
    except (OSError, VolumeError) as error:
        msg = f"{path.name}: {error}"
        raise VolumeError(msg, code=code_of_error(error)) from error


def _mask_problems(mask: LabelMap, box: Box) -> list[str]:
    """Whether the box holds all of what it was cut for."""
    if mask.empty:
        return ["is empty"]
    index = np.argwhere(mask.box) + mask.corner
    inside = box.contains(index @ mask.grid.affine[:3, :3].T + mask.grid.affine[:3, 3])
    lost = np.count_nonzero(~inside) * mask.grid.voxel_volume / 1000.0
    if not lost:
        return []
    return [f"{lost:.3g} ml of {len(index) * mask.grid.voxel_volume / 1000.0:.3g} ml lie outside the box"]


def _write_folder(home: Path, crop: Cropped, record: dict[str, Any]) -> None:
    """Write a case beside its place and move it there in one step; what was there before goes last."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".writing-", dir=home.parent) as scratch:
        fresh, old = Path(scratch, "new"), Path(scratch, "old")
        fresh.mkdir()
        for kind in _KINDS:
            volume: Volume | None = getattr(crop, kind)
            if volume is not None:
                write(volume, fresh / f"{kind}.nii.gz")
        outputs = {path.name: digest(DiskFile(path)) for path in sorted(fresh.iterdir())}
        atomic.write_text(json.dumps({**record, "outputs": outputs}, indent=2) + "\n", fresh / RECORD)
        if home.exists():
            os.replace(home, old)
        os.replace(fresh, home)
        shutil.rmtree(old, ignore_errors=True)


def _read_record(path: Path) -> dict[str, Any]:
    """What was recorded of a case; nothing if that is not there or is not a record."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        _box_of(record)
    except (OSError, ValueError, TypeError, KeyError):
        return {}
    return dict(record)


def _box_of(record: Mapping[str, Any]) -> Box:
    fields = record["box"]
    return Box(**{**fields, "low": tuple(fields["low"]), "high": tuple(fields["high"])})


def _unharmed(home: Path, record: Mapping[str, Any]) -> bool:
    """Whether the outputs are those that were written."""
    try:
        return all(digest(DiskFile(home / name)) == known for name, known in record["outputs"].items())
    except (OSError, LookupError, AttributeError):
        return False


def _code() -> str:
    """A hash of the source of this package: a change of the method makes everything anew."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()


def _mm(corner: tuple[float, ...]) -> str:
    return "(" + ", ".join(f"{value:.0f}" for value in corner) + ")"
