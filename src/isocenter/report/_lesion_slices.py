"""What a team found of the lesions of a case: slices with both outlined, as SVG with the pixels as PNG inside."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from isocenter.report._curve_key import KEY_STYLE, Entry, key
from isocenter.report._dose_image import png
from isocenter.report._dose_overlay import HEAD, PANEL, Box, Frame, direction_letters, left_of, ruler
from isocenter.report._dose_slices import axial_letters
from isocenter.report._lesion_findings import LEAST_OVERLAP, Finding, findings_of, slices_of
from isocenter.report._lesion_labels import Drawn, drawn, labelled, outlined, symbol
from isocenter.volumes import Grid

_MARGIN_MM, _SMALLEST_MM = 15.0, 70.0  # around the findings, and the least that is shown of a slice
_TALLEST = 340.0  # a panel's greatest height, in units of the picture
_PIXELS = 115_000  # of all panels together; more are averaged
_MOST = 24  # findings drawn in one panel
_NONE = "No lesion and no candidate"


def lesion_slices(
    label: NDArray[Any],
    found: NDArray[Any],
    *,
    image: NDArray[Any] | None = None,
    grid: Grid | None = None,
    title: str,
    names: tuple[str, str] = ("Reference", "Team"),
    name: str = "lesions",
) -> Markup:
    """Up to six slices of a case: through the lesions, largest first, and through the most likely candidates.

    Lesions have a solid line and their grade, "ISUP 3" of label 3, or "lesion" where the label is 1. Candidates are
    shaded, with a dashed line and their likelihood: with a tick if they overlap a lesion by an intersection over union
    of at least 0.1, with a cross if not. All slices are cut to one region around everything that was found. Without
    lesions and candidates the middle slice is shown, and says so.

    Parameters
    ----------
    label
        Whole numbers, axes (x, y, z): 0 where there is no lesion. The first axis runs to the right, the second down.
    found
        Detection map of the same shape; see `isocenter.metrics.candidates`.
    image
        Of the same shape, shown in grey from its first to its last percentile; without it the ground is plain.
    grid
        Where the arrays lie: it gives the shape of the pixels, a ruler, and the letters at the sides.
    title
        What the picture shows, for who cannot see it.
    names
        Of the reference and the team.
    name
        Prefix of the identifiers in the SVG: different for each picture of a page.

    Returns
    -------
    Markup
        One `div` element: panels that stand beside each other where there is room, and a key.
    """
    label, found = np.asarray(label), np.asarray(found)
    image = None if image is None else np.asarray(image)
    _check(label, found, image, grid)
    findings = findings_of(label, found)
    slices = slices_of(findings, label.shape[2])
    frame = _frame(findings, slices, label.shape, (1.0, 1.0) if grid is None else grid.spacing[:2])
    grounds = [None] * len(slices) if image is None else _grey(image, slices, frame)
    items = {k: _drawn_in(findings, k, frame) for k in slices}
    panels = [
        _panel(items[k], k, ground, frame, grid=grid, number=number, name=name)
        for number, (k, ground) in enumerate(zip(slices, grounds, strict=True))
    ]
    return Markup(
        '<div class="lesions" role="group" aria-label="{}"><div class="panels">{}</div>{}<p class="note">{}</p></div>'
    ).format(title, Markup("").join(panels), key(_entries(findings, names)), _said(findings, items))


def _check(label: NDArray[Any], found: NDArray[Any], image: NDArray[Any] | None, grid: Grid | None) -> None:
    """One error that names everything that does not fit."""
    wrong = []
    if label.ndim != 3 or not label.size or label.dtype.kind not in "biu":
        wrong.append(f"the label must be a volume of whole numbers, not {label.dtype} of shape {label.shape}")
    others = [("detection map", found.shape)]
    others += [] if image is None else [("image", image.shape)]
    others += [] if grid is None else [("grid", grid.shape)]
    wrong += [
        f"the {what} has shape {shape}, the label {label.shape}" for what, shape in others if shape != label.shape
    ]
    if image is not None:
        if image.dtype.kind not in "biuf":
            wrong.append(f"the image must hold real numbers, not {image.dtype}")
        elif not np.isfinite(image).all():
            wrong.append(f"the image is not finite in {int((~np.isfinite(image)).sum())} of {image.size} voxels")
    if wrong:
        msg = "; ".join(wrong)
        raise ValueError(msg)


def _frame(
    findings: Sequence[Finding], slices: Sequence[int], shape: tuple[int, ...], spacing: Sequence[float]
) -> Frame:
    """The region of what lies in some slices with a margin, not too small and not too narrow; all of it if empty."""
    box = []
    if findings:
        voxels = np.concatenate([finding.voxels for finding in findings])
        voxels = voxels[np.isin(voxels[:, 2], slices), :2]
        low, high = voxels.min(axis=0), voxels.max(axis=0) + 1
        sizes = (high - low) * np.array(spacing) + 2 * _MARGIN_MM
        sizes = np.maximum(sizes, max(_SMALLEST_MM, 0.75 * float(sizes.max())))
        for axis in (0, 1):
            count = min(shape[axis], math.ceil(sizes[axis] / spacing[axis]))
            first = min(max(0, int(low[axis] + high[axis] - count) // 2), shape[axis] - count)
            box.append(slice(first, first + count))
    else:
        box = [slice(0, shape[0]), slice(0, shape[1])]
    across, down = ((part.stop - part.start) * s for part, s in zip(box, spacing, strict=True))
    scale = min(PANEL / across, _TALLEST / down)
    return Frame((box[0], box[1]), (spacing[0], spacing[1]), scale, across * scale, down * scale)


def _grey(image: NDArray[Any], slices: Sequence[int], frame: Frame) -> list[str]:
    """The slices as pictures in one scale of grey, averaged where they would have too many pixels."""
    seen = [image[(*frame.box, k)].astype(np.float64) for k in slices]
    low, high = np.percentile(np.stack(seen), (1, 99))
    keep = min(1.0, math.sqrt(_PIXELS / (len(seen) * seen[0].size)))
    greys = np.repeat(np.arange(255, dtype=np.uint8)[:, None], 3, axis=1)
    pictures = []
    for values in seen:
        share = ((_averaged(values, keep) - low) / max(high - low, 1e-300)).clip(0, 1)
        data = png(np.rint(share.T * 254).astype(np.uint8), greys)
        pictures.append(f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}")
    return pictures


def _averaged(values: NDArray[np.float64], keep: float) -> NDArray[np.float64]:
    """Means of blocks, so many that a share `keep` of the rows and columns is left."""
    for _ in (0, 1):
        starts = np.unique(np.linspace(0, len(values), max(1, int(len(values) * keep)), endpoint=False).astype(int))
        sizes = np.diff(np.append(starts, len(values)))
        values = (np.add.reduceat(values, starts, axis=0) / sizes[:, None]).T
    return values


def _drawn_in(findings: Sequence[Finding], k: int, frame: Frame) -> list[Drawn]:
    here = [finding for finding in findings if (finding.voxels[:, 2] == k).any()]
    return [drawn(finding, k, frame) for finding in here[:_MOST]]


def _panel(
    items: Sequence[Drawn], k: int, ground: str | None, frame: Frame, *, grid: Grid | None, number: int, name: str
) -> Markup:
    """One slice with what lies in it."""
    place = Markup('x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"').format(
        left_of(0, frame), HEAD, frame.width, frame.height
    )
    plain, pixels = Markup('<rect class="ground" {}/>'), Markup('<image {} preserveAspectRatio="none" href="{}"/>')
    parts = [plain.format(place) if ground is None else pixels.format(place, ground), outlined(items)]
    taken: list[Box] = []
    if grid is not None:
        letters, taken = direction_letters(axial_letters(grid), frame)
        parts.append(letters)
        if number == 0:
            bar, room = ruler(frame)
            parts.append(bar)
            taken.append(room)
    parts.append(labelled(items, frame, taken=taken))
    if not items:
        said = Markup('<text class="on middle" x="{:.1f}" y="{:.1f}">{}</text>')
        parts.append(said.format(PANEL / 2, HEAD + 0.4 * frame.height, _NONE))
    return Markup(
        '<svg class="plot" viewBox="0 0 {:.0f} {:.1f}" width="100%" role="img" aria-labelledby="{n}-title {n}-desc">'
        '<title id="{n}-title">Slice {k}</title><desc id="{n}-desc">{}</desc>{}'
        '<text class="name" x="{:.1f}" y="17">Slice {k}</text>{}</svg>'
    ).format(
        PANEL,
        HEAD + frame.height,
        " ".join(f"{item.finding.said}." for item in items) or f"{_NONE}.",
        _style() if number == 0 else Markup(""),
        left_of(0, frame),
        Markup("").join(parts),
        n=f"{name}-{k}",
        k=k,
    )


def _style() -> Markup:
    """The same on light and dark pages: an image is dark on either, and outlines are made for it."""
    return Markup(
        "<style>.lesions .panels{{display:grid;gap:1rem;grid-template-columns:repeat(auto-fit,minmax(min(100%,14.5rem),"
        "1fr));margin-bottom:1rem}}.lesions .panels svg{{max-width:22rem;height:auto}}"
        ".lesions path{{fill:none;stroke-linejoin:round}}.lesions .ground{{fill:#30353b}}"
        ".lesions .casing{{stroke:#000;stroke-opacity:.55;stroke-width:3.4}}"
        ".lesions .lesion{{stroke:#fff;stroke-width:1.8}}.lesions .leader{{stroke:#fff;stroke-width:1}}"
        ".lesions .hit,.lesions .false{{stroke-width:1.6;stroke-dasharray:4 2.5;fill-opacity:.3;fill-rule:evenodd}}"
        ".lesions .hit{{stroke:#6cc4ff;fill:#6cc4ff}}.lesions .false{{stroke:#ffa64d;fill:#ffa64d}}"
        ".lesions .sign{{stroke-width:2}}.lesions .hit-sign{{stroke:#6cc4ff}}.lesions .false-sign{{stroke:#ffa64d}}"
        ".lesions .case0{{stroke:#000;stroke-opacity:.55;stroke-width:3}}"
        ".lesions .line0{{stroke:#fff;stroke-width:1.3}}"
        ".lesions text.on{{fill:#fff;stroke:#000;stroke-width:3px;stroke-opacity:.8}}"
        ".lesions text.small{{font-size:13px}}{}</style>"
    ).format(KEY_STYLE)


def _entries(findings: Sequence[Finding], names: tuple[str, str]) -> list[Entry]:
    """The kinds that there are, each on a piece of dark ground as in the picture."""
    kinds = {finding.kind for finding in findings}
    ground = Markup('<rect class="ground" x="-20" y="-10" width="40" height="20" rx="2"/>')
    line = Markup('<path class="lesion" d="M-14 0H14"/>')
    area = Markup('<path class="{}" d="M-16-6H2V6H-16Z"/>')
    entries = []
    if "lesion" in kinds:
        entries.append(Entry(ground + line, names[0], ": lesion"))
    if "hit" in kinds:
        entries.append(Entry(ground + area.format("hit") + symbol("hit", 11, 0), names[1], ": candidate on a lesion"))
    if "false" in kinds:
        sample = ground + area.format("false") + symbol("false", 11, 0)
        entries.append(Entry(sample, names[1], ": false positive"))
    return entries


def _said(findings: Sequence[Finding], items: dict[int, list[Drawn]]) -> str:
    """What there is in numbers, and how much of it the picture leaves out."""
    if not findings:
        return f"{_NONE} in this case; its middle slice is shown."
    lesions = sum(finding.kind == "lesion" for finding in findings)
    false = sum(finding.kind == "false" for finding in findings)
    missed = sum(finding.missed for finding in findings)
    proposed = len(findings) - lesions
    said = f"{_count(lesions, 'lesion')}, {missed} missed; " if lesions else "No lesion; "
    said += f"{_count(proposed, 'candidate')}, {false} false. " if proposed else "no candidate. "
    if lesions and proposed:
        said += f"A candidate is on a lesion if their intersection over union is at least {LEAST_OVERLAP:g}. "
    said += "The number beside a candidate is its likelihood. " if proposed else ""
    shown = {id(item.finding) for drawn_here in items.values() for item in drawn_here}
    hidden = len(findings) - len(shown)
    return said + (f"{_count(hidden, 'finding')} not shown." if hidden else "")


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
