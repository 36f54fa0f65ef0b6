"""Where plans fail gamma in DoseRAD2026: a slice of the winner's best and of its worst case."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from isocenter.evaluation import DosePicture, depict
from isocenter.metrics import catalogue, gamma_analysis
from isocenter.papers._files import first_line, grid_policy
from isocenter.papers._study import Study
from isocenter.papers.doserad2026._beams import NO_FILES, teams_with_files
from isocenter.papers.doserad2026._errors import per_case
from isocenter.report import Block, Chart, Paragraph, Section, axial_letters, dose_figures, gamma_slice, pick_slice

_METRIC = "gamma_pass_rate"
_CUTOFF = 0.1  # of the plan's maximum, as the metric has it
_CRITERION = "1 % local, 1 mm"


def gamma_maps(study: Study) -> Section:
    """Doses and gamma in the slice with most failures, and the DVHs, of two cases."""
    return Section("doserad-gamma", "Where plans fail", tuple(_maps(study)))


def _maps(study: Study) -> Iterator[Block]:
    team = next(iter(teams_with_files(study)), None)
    if team is None:
        yield Paragraph(f"Maps of gamma and DVHs {NO_FILES}", note=True)
        return
    found = sorted(per_case(study.main.scores, _METRIC)[team], key=lambda pair: (-pair[1], pair[0]))
    if not found:
        yield Paragraph(f"The score table of {team} has no {_METRIC}.", note=True)
        return
    ends = {"only": found[0]} if len(found) == 1 else {"best": found[0], "worst": found[-1]}
    for number, (which, (case, rate)) in enumerate(ends.items()):
        study.move(number, len(ends), f"drawing {case}")
        try:
            yield from _charts(study, which, case, rate=rate, team=team)
        except (ValueError, OSError) as error:
            yield Paragraph(f"The {which} case {case} of {team} cannot be drawn: {first_line(error, study)}", note=True)


def _charts(study: Study, which: str, case: str, *, rate: float, team: str) -> Iterator[Block]:
    files = study.outputs[team].outputs
    assert files is not None
    reference = study.folder.path / "reference"
    picture = depict(study.challenge, reference=reference, submission=files, case=case, grid=grid_policy(study))
    assert isinstance(picture, DosePicture)
    gamma = _gamma(picture)
    failed = gamma > 1
    first = next((mask for mask in picture.structures.values() if mask.any()), picture.reference.array)
    k = pick_slice(failed if failed.any() else first)
    title = f"Gamma of case {case}, slice {k}, {team}"
    shown = catalogue.get(_METRIC).show(rate)
    chosen = "the slice with most failures" if failed.any() else "the slice in which the target is largest"
    sx, sy, _ = picture.reference.grid.spacing
    yield Chart(
        f"doserad-gamma-{which}",
        f"{title}: its {which} case, in which {shown} % pass. Dose in Gy of the reference and of {team}, and gamma "
        f"({_CRITERION}; where the reference has at least a tenth of its maximum), in {chosen}.",
        gamma_slice(
            picture.reference.array[:, :, k],
            picture.output.array[:, :, k],
            gamma[:, :, k],
            spacing=(sx, sy),
            masks={name: mask[:, :, k] for name, mask in picture.structures.items()},
            title=title,
            criterion=_CRITERION,
            names=("Reference", team),
            letters=axial_letters(picture.reference.grid),
            name=f"doserad-map-{which}",
        ),
    )
    for figure in dose_figures(picture, case=case, team=team, name=f"doserad-{which}"):
        if figure.name.endswith("-dvh"):
            yield Chart(figure.name, f"{figure.title}, its {which} case by gamma. {figure.caption}", figure.picture)


def _gamma(picture: DosePicture) -> NDArray[np.float64]:
    """Gamma as the metric has it, NaN where it does not look; z first, as the metric has it too."""
    dose, spacing = picture.reference.array.T, picture.reference.grid.spacing[::-1]
    found = gamma_analysis(
        dose,
        picture.output.array.T,
        spacing=(spacing[0], spacing[1], spacing[2]),
        dose_percent=1.0,
        distance_mm=1.0,
        local=True,
        cutoff_percent=0.0,
        mask=dose >= _CUTOFF * float(dose.max()),
    ).map
    assert found is not None
    return found.T
