"""What `isocenter check` and `isocenter score` say of submissions that are wrong."""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tests.frozen import hostile
from tests.frozen.demo import make_demo
from tests.frozen.tools import EDITIONS, Items, run

DIGESTS = ("reference", "submission")  # of files that are packed here, so the bytes are zlib's

CHECKED = frozenset({"nifti-headers", "text-headers"})
"""Groups whose submissions are checked only: they are scored like those of other groups."""
SCORED = frozenset({"nothing wrong", "a file missing", "a value that is NaN", "a dose that is NaN", "another size"})
"""Of what is wrong with large files, what is scored, too."""

Spoil = Callable[[Path], object]


def make(folder: Path) -> Items:
    """The problems of hostile submissions, and of wrong ones to each challenge."""
    items: Items = {}
    with tempfile.TemporaryDirectory() as scratch:
        reference = hostile.perfect(Path(scratch) / "reference")
        for group, builds in hostile.GROUPS.items():
            items[f"messages/{group}.json"] = {
                name: _answers("hecktor2020", reference, build, Path(scratch), score=group not in CHECKED)
                for name, build in builds.items()
            }
        items["messages/grids.json"] = _grids(reference, Path(scratch))
        items["messages/references.json"] = _references(reference, Path(scratch))
        items["messages/digests.json"] = _digests(Path(scratch))
    home = make_demo(folder)
    for challenge, (team, spoils) in WRONG.items():
        place = home / challenge
        with tempfile.TemporaryDirectory() as scratch:
            items[f"messages/{challenge}.json"] = {
                name: _spoilt(challenge, place / "reference", place / "submissions" / team, Path(scratch), name=name)
                for name in spoils
            }
    return items


def _answers(
    challenge: object, reference: Path, build: hostile.Build, scratch: Path, *options: object, score: bool = True
) -> Any:
    """What both commands say of a submission that is made anew."""
    shutil.rmtree(scratch / "sent", ignore_errors=True)
    team = Path(shutil.copytree(reference, scratch / "sent" / "team"))
    return _ask(challenge, reference, build(team), scratch, *options, score=score)


def _ask(
    challenge: object, reference: Path, submission: Path, scratch: Path, *options: object, score: bool = True
) -> dict[str, Any]:
    """What `isocenter check` says of a submission, and `isocenter score`."""
    hide = {"SCRATCH": scratch, "EDITIONS": EDITIONS}
    places = ("--reference", reference, "--submission", submission)
    check = run("check", challenge, *places, *options, "--json", hide=hide)
    if not score:
        return {"check": check}
    out = scratch / "out" / "team.parquet"
    scored = run("score", challenge, *places, *options, "--workers", 1, "--out", out, "--json", hide=hide)
    shutil.rmtree(out.parent, ignore_errors=True)
    if isinstance(scored["out"], dict):
        scored["out"] = {key: value for key, value in scored["out"].items() if key not in DIGESTS}
        if isinstance(check["out"], dict) and scored["out"].get("problems") == check["out"].get("problems"):
            scored["out"]["problems"] = "as check has them"
    return {"check": check, "score": scored}


def _spoilt(challenge: str, reference: Path, good: Path, scratch: Path, *, name: str) -> dict[str, Any]:
    """What is said of a good submission in which something was spoilt."""
    shutil.rmtree(scratch / "sent", ignore_errors=True)
    team = Path(shutil.copytree(good, scratch / "sent" / "team"))
    WRONG[challenge][1][name](team)
    packed = team.with_suffix(".zip")
    submission = packed if packed.exists() else team
    return _ask(challenge, reference, submission, scratch, score=name in SCORED)


def _grids(reference: Path, scratch: Path) -> dict[str, Any]:
    """Masks on another grid, under each policy."""
    shifted = hostile.put(hostile.gz(hostile.nifti(srow_x=(-1, 0, 0, 6.6))))
    longer = hostile.masked(np.pad(hostile.TUMOUR, ((0, 0), (0, 0), (0, 1))))
    turned = hostile.put(hostile.gz(hostile.nifti(srow_x=(1, 0, 0, -5))))
    builds = {"shifted": shifted, "a slice too many": longer, "turned": turned}
    return {
        f"{name}, {grid}": _answers("hecktor2020", reference, build, scratch, "--grid", grid)
        for name, build in builds.items()
        for grid in ("refuse", "resample", "trust-index", "ignore")
    }


def _references(reference: Path, scratch: Path) -> dict[str, Any]:
    """What is said if the reference is wrong, or nothing is where it should be."""
    empty, spoilt = scratch / "empty", Path(shutil.copytree(reference, scratch / "spoilt"))
    empty.mkdir()
    (spoilt / "CASE2.nii.gz").write_bytes(b"rubbish")
    nowhere = scratch / "nowhere"
    phase = scratch / "phase.toml"
    phase.write_text((EDITIONS / "quota.toml").read_text().replace("quota = 3", "quota = 3\ncases = 7"))
    return {
        "an empty reference": _ask("hecktor2020", empty, reference, scratch),
        "a damaged reference": _ask("hecktor2020", spoilt, reference, scratch),
        "no reference": _ask("hecktor2020", nowhere, reference, scratch),
        "no submission": _ask("hecktor2020", reference, nowhere, scratch),
        "another challenge": _ask("openkbp2020", reference, reference, scratch),
        "an unknown challenge": _ask("hektor2020", reference, reference, scratch),
        "an edition": _ask(EDITIONS / "quota.toml", reference, reference, scratch, "--phase", "once"),
        "an unknown phase": _ask(EDITIONS / "quota.toml", reference, reference, scratch, "--phase", "twice"),
        "a phase with other cases": _ask(phase, reference, reference, scratch, "--phase", "choice"),
    }


def _digests(scratch: Path) -> dict[str, Any]:
    """The digests of a reference and of a submission, of files that are the same bytes everywhere."""
    for name in ("plain", "plain-team"):
        (scratch / name).mkdir()
        for case in hostile.CASES:
            (scratch / name / f"{case}.nii").write_bytes(hostile.nifti())
    places = ("--reference", scratch / "plain", "--submission", scratch / "plain-team")
    options = ("--out", scratch / "digests" / "team.parquet", "--workers", 1, "--json")
    return {"three plain files": run("score", "hecktor2020", *places, *options, hide={"SCRATCH": scratch})}


# Wrong submissions to each challenge ----------------------------------------------------------------------------------


def first(folder: Path) -> Path:
    """The first file of a submission."""
    return sorted(path for path in folder.rglob("*") if path.is_file())[0]


def replaced(old: str, new: str) -> Spoil:
    """The first file with some words replaced."""
    return lambda folder: first(folder).write_text(first(folder).read_text().replace(old, new, 1))


def line(number: int, new: str) -> Spoil:
    """The first file with another line of this number."""

    def spoil(folder: Path) -> None:
        lines = first(folder).read_text().split("\n")
        lines[number] = new
        first(folder).write_text("\n".join(lines))

    return spoil


def renamed(new: str) -> Spoil:
    return lambda folder: first(folder).rename(first(folder).with_name(new))


def rewritten(change: Callable[[Any], Any]) -> Spoil:
    """The first file with other voxels, or another geometry."""

    def spoil(folder: Path) -> None:
        import SimpleITK

        image = change(SimpleITK.ReadImage(str(first(folder))))
        SimpleITK.WriteImage(image, str(first(folder)))

    return spoil


def voxels(change: Callable[[np.ndarray], np.ndarray]) -> Spoil:
    """The first file with other voxels."""

    def other(image: Any) -> Any:
        import SimpleITK

        new = SimpleITK.GetImageFromArray(change(SimpleITK.GetArrayFromImage(image)))
        new.SetSpacing(image.GetSpacing())
        new.SetOrigin(image.GetOrigin())
        new.SetDirection(image.GetDirection())
        return new

    return rewritten(other)


def moved(image: Any) -> Any:
    """The same image, 7 mm away."""
    image.SetOrigin([value + 7.0 for value in image.GetOrigin()])
    return image


def with_value(value: float) -> Callable[[np.ndarray], np.ndarray]:
    """Voxels of which one, in the middle, has this value."""

    def change(array: np.ndarray) -> np.ndarray:
        array = array.astype(np.float32)
        array[tuple(size // 2 for size in array.shape)] = value
        return array

    return change


def zipped(folder: Path) -> None:
    """The submission as a zip in a folder of its name."""
    with zipfile.ZipFile(folder.with_suffix(".zip"), "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, f"team/{file.relative_to(folder)}")


def linked(folder: Path) -> None:
    """A link in the place of the first file."""
    path = first(folder)
    path.unlink()
    path.symlink_to("/etc/passwd")


COMMON: Mapping[str, Spoil] = {
    "nothing wrong": lambda folder: folder,
    "a zip of a folder": zipped,
    "a file missing": lambda folder: first(folder).unlink(),
    "a file of no bytes": lambda folder: first(folder).write_bytes(b""),
    "a file of rubbish": lambda folder: first(folder).write_bytes(b"rubbish\n" * 20),
    "a file that is cut off": lambda folder: first(folder).write_bytes(first(folder).read_bytes()[:500]),
    "another ending": renamed("other.xyz"),
    "one more file": lambda folder: (folder / "notes.txt").write_text("Dear organisers"),
    "a link for a file": linked,
    "nothing but one file": lambda folder: [
        path.unlink() for path in folder.rglob("*") if path.is_file() and path != first(folder)
    ],
}
IMAGES: Mapping[str, Spoil] = {
    "another size": voxels(lambda array: array[:-1]),
    "another place": rewritten(moved),
    "a value that is NaN": voxels(with_value(float("nan"))),
    "a value that is infinite": voxels(with_value(float("inf"))),
    "a value of -1": voxels(with_value(-1.0)),
    "a value of 7": voxels(with_value(7.0)),
    "a value of 1e6": voxels(with_value(1e6)),
    "zeros": voxels(lambda array: 0 * array),
    "one more case": lambda folder: shutil.copy(first(folder), first(folder).with_name(f"X9{first(folder).name}")),
}
WRONG: Mapping[str, tuple[str, Mapping[str, Spoil]]] = {
    "hecktor2020": ("Inn", {**COMMON, **IMAGES}),
    "lung2019": ("Rigi", {**COMMON, **IMAGES}),
    "openkbp2020": (
        "Thun",
        {
            **COMMON,
            "a dose that is NaN": line(5, "7,nan"),
            "a dose that is infinite": line(5, "7,inf"),
            "a dose below 0": line(5, "7,-3.5"),
            "a dose of 1000 Gy": line(5, "7,1000"),
            "a dose of words": line(5, "7,much"),
            "a voxel outside": line(5, "2097152,3.5"),
            "a voxel below 0": line(5, "-1,3.5"),
            "a voxel that is a fraction": line(5, "7.5,3.5"),
            "a voxel twice": lambda folder: first(folder).write_text(
                first(folder).read_text() + first(folder).read_text().split("\n")[-2] + "\n"
            ),
            "another header": replaced(",data", "index,dose"),
            "no header": replaced(",data\n", ""),
            "three columns": line(5, "7,3.5,1"),
            "one column": line(5, "7"),
            "semicolons": lambda folder: first(folder).write_text(first(folder).read_text().replace(",", ";")),
            "an empty line": line(5, ""),
            "a header alone": lambda folder: first(folder).write_text(",data\n"),
            "a byte that is not UTF-8": lambda folder: first(folder).write_bytes(b",data\n1,\xff\n"),
            "a packed file": lambda folder: first(folder).write_bytes(b"\x1f\x8b\x08" + bytes(30)),
            "a case in capitals": renamed("PT_1.CSV"),
        },
    ),
    "doserad2026": (
        "Gotthard",
        {
            **COMMON,
            **{
                name: IMAGES[name] for name in ("another size", "another place", "a value that is NaN", "a value of -1")
            },
            "a patient missing": lambda folder: shutil.rmtree(first(folder).parent),
            "a patient of another name": lambda folder: first(folder).parent.rename(folder / "XX999"),
            "beams without folders": lambda folder: [
                path.rename(folder / path.name) for path in sorted(folder.rglob("*.mha"))
            ],
            "all beams of a patient missing": lambda folder: [path.unlink() for path in first(folder).parent.iterdir()],
        },
    ),
    "picai2022": (
        "Limmat",
        {
            **COMMON,
            **IMAGES,
            "a case in small letters": renamed("pca001.mha"),
            "instances beside files": lambda folder: shutil.copytree(folder, folder / "instance-1"),
            "an instance without cases": lambda folder: (folder / "instance-2").mkdir(),
        },
    ),
}
