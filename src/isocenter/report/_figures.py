"""Pictures with a title and a caption, and the page that holds nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from isocenter.evaluation import DosePicture, LesionPicture, MaskPicture, Picture
from isocenter.metrics.dvh import dvh_of
from isocenter.report._contours import contour_slices
from isocenter.report._dose import axial_letters, dose_slices, dvh_plot, pick_slice
from isocenter.report._lesion_slices import lesion_slices
from isocenter.report._templates import fill


@dataclass(frozen=True, slots=True)
class Figure:
    """A picture as it stands on a page; `name` is its own among those of the page."""

    name: str
    title: str
    caption: str
    picture: Markup


def case_figures(picture: Picture, *, case: str, team: str, name: str = "case") -> list[Figure]:
    """What there is to see of a case, whatever it is; see `dose_figures`, `lesion_figures` and `mask_figures`."""
    match picture:
        case DosePicture():
            return dose_figures(picture, case=case, team=team, name=name)
        case LesionPicture():
            return lesion_figures(picture, case=case, team=team, name=name)
        case MaskPicture():
            return mask_figures(picture, case=case, team=team, name=name)


def mask_figures(picture: MaskPicture, *, case: str, team: str, name: str = "masks") -> list[Figure]:
    """The slices in which the reference is largest, and in which the team's mask differs most from it."""
    theirs = team if team != "Reference" else f"{team} (submission)"
    slices = contour_slices(
        {"Reference": picture.reference.array, theirs: picture.output.array},
        grid=picture.reference.grid,
        title=f"Outlines of {case}: reference and {team}",
        name=f"{name}-slices",
    )
    caption = (
        f"Outlines of the reference and of {team} in axial slices: that in which the reference is largest, and that in "
        "which they differ most; one slice if it is the same."
    )
    return [Figure(f"{name}-slices", f"{case}: what {team} outlined", caption, slices)]


def lesion_figures(picture: LesionPicture, *, case: str, team: str, name: str = "lesions") -> list[Figure]:
    """The slices through lesions and candidates."""
    slices = lesion_slices(
        picture.label.array,
        picture.found.array,
        grid=picture.label.grid,
        title=f"Lesions of {case}, and what {team} found",
        names=("Reference", team),
        name=f"{name}-slices",
    )
    caption = (
        f"The lesions of the reference and the candidates of {team} with their likelihoods; a tick for those that "
        "overlap a lesion by an IoU of at least 0.1, a cross for the others."
    )
    return [Figure(f"{name}-slices", f"{case}: what {team} found", caption, slices)]


def dose_figures(picture: DosePicture, *, case: str, team: str, name: str = "dose") -> list[Figure]:
    """The DVHs of a case, the team's against the reference's, and the slice in which the first structure is largest.

    Parameters
    ----------
    name
        Prefix of the names of the figures, its own for every call that serves one page.
    """
    volume = picture.reference.grid.voxel_volume
    curves = {
        structure: (
            dvh_of(picture.reference.array[mask], voxel_volume=volume).curve(),
            dvh_of(picture.output.array[mask], voxel_volume=volume).curve(),
        )
        for structure, mask in picture.structures.items()
        if mask.any()
    }
    first = next((mask for mask in picture.structures.values() if mask.any()), None)
    k = pick_slice(picture.reference.array if first is None else first)
    sx, sy, _ = picture.reference.grid.spacing
    letters = axial_letters(picture.reference.grid) if picture.oriented else ""
    slices = dose_slices(
        picture.reference.array[:, :, k],
        picture.output.array[:, :, k],
        spacing=(sx, sy),
        masks={structure: mask[:, :, k] for structure, mask in picture.structures.items()},
        title=f"Dose of {case} in slice {k}: reference, {team}, and their difference",
        names=("Reference", team),
        letters=letters,
        name=f"{name}-slices",
    )
    found = [
        Figure(
            f"{name}-slice",
            f"{case}: where {team} differs from the reference",
            f"Dose in slice {k}, in Gy: of the reference, of {team}, and the difference, blue where {team} gives less, "
            "red where it gives more.",
            slices,
        )
    ]
    if curves:
        title = f"Dose-volume histograms of {case}"
        caption = f"How much of each structure receives at least a dose: solid the reference, dashed {team}."
        plot = dvh_plot(curves, title=title, team=team, name=f"{name}-curves")
        found.insert(0, Figure(f"{name}-dvh", f"{case}: dose-volume histograms of {team}", caption, plot))
    return found


def pictures_page(title: str, figures: Sequence[Figure], *, subtitle: str = "") -> str:
    """A page of pictures, in the style of the leaderboard."""
    return fill("pictures.html.j2", title=title, subtitle=subtitle, figures=figures)
