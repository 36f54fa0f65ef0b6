"""The gamma index: how well one dose distribution agrees with another, in dose and in distance at once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.metrics._gamma_question import GammaOptions, Question, Spacing, check_keywords, criterion, pairs_of
from isocenter.metrics._gamma_result import GammaResult


def gamma(
    reference: ArrayLike,
    evaluation: ArrayLike,
    *,
    spacing: Spacing | None = None,
    dose_percent: float,
    distance_mm: float,
    local: bool = True,
    cutoff_percent: float = 10.0,
    max_gamma: float = 2.0,
    **options: Unpack[GammaOptions],
) -> NDArray[np.float64]:
    """Gamma index of every reference point; at most `max_gamma`, NaN where not evaluated; lower is better.

    gamma(r)² = min over r′ of (|r′ - r| / distance)² + ((D_evaluation(r′) - D_reference(r)) / (percent · norm))², with
    the evaluation interpolated multilinearly between its nodes. A point passes if gamma ≤ 1.

    Parameters
    ----------
    reference, evaluation
        Doses in Gy, of one to three dimensions. Gamma is not symmetric: points are those of the reference, the
        evaluation is searched. Doses are taken as they are: negative ones are no error.
    spacing
        Distance of neighbouring points along each axis of the reference, mm.
    dose_percent, distance_mm
        The criterion, as in 3 %/3 mm.
    local
        Whether a percentage is of the reference dose at the point, or (global gamma) of `normalisation`.
    cutoff_percent
        Points of lower reference dose are not evaluated; percent of `cutoff_of`.
    max_gamma
        The search ends at this many times `distance_mm`, and gamma there. More than 1, since in a map cut off at 1 all
        points would pass. May be infinite: then it ends when all points are decided, which takes long where doses
        differ much; what would take more than 5e8 samples per point is refused.
    origin
        Coordinate of the first reference point along each axis, mm; 0 unless given.
    axes
        The coordinates themselves, one sequence per axis, instead of spacing and origin. They may descend, as in a
        patient scanned feet first, and have any distances.
    evaluation_spacing, evaluation_origin, evaluation_axes
        The same for the evaluation; what is not given is as in the reference.
    mask
        Reference points to consider, an array of booleans.
    normalisation
        100 % of a global gamma, Gy; the maximum of the reference unless given.
    cutoff_of
        What the cutoff is a percentage of: "max" (of the reference; the default), "normalisation" (which is what
        pymedphys takes), "prescription", or a dose in Gy.
    prescription
        Prescribed dose, Gy, for `cutoff_of="prescription"`.
    sampler
        "shells" looks at points on spheres around each reference point, just as pymedphys 0.41 does. "exact" finds the
        minimum over all points, to within 1e-6 of gamma; it is never above the sampled one (by more than that), and
        pass rates are higher: at 1 %/1 mm by up to half a percentage point in the doses of the tests.
    interpolation_steps
        Spheres per `distance_mm`, and the density of points on them.
    uncovered
        For pass rates: points from which the search does not reach the evaluation grid are left out ("leave-out"), or
        have failed ("fail").
    threads
        How many to use; all cores of this process unless given. The result is the same for any number.

    Returns
    -------
    array of float64
        On the grid of the reference. A local gamma has no value where the reference dose is 0.

    Notes
    -----
    Maps agree with pymedphys 0.41 to 1e-9, except on faces of the evaluation grid whose coordinate is close to 0. There
    that package misses samples on the face itself: cosines of right angles are not quite 0, and times the radius that
    is enough to round a coordinate to beyond the face, if the coordinate is below about twenty times the search
    (`max_gamma` · distance) by an estimate of the rounding. With a search of 6 mm it was seen at 7.3 mm, and not at 15
    mm or beyond. Its gamma is larger there: by up to 0.03 for doses that are alike, by 0.4 for doses at random.

    References
    ----------
    Low DA, Harms WB, Mutic S, Purdy JA. A technique for the quantitative evaluation of dose distributions. Med Phys 25
    (1998) 656-661.
    Wendling M et al. A fast algorithm for gamma evaluation in 3D. Med Phys 34 (2007) 1647-1654.

    Examples
    --------
    A dose that is 1 % too high everywhere, on a slope of 1 Gy/mm:

    >>> import numpy as np
    >>> dose = np.linspace(50, 60, 11)
    >>> gamma(dose, 1.01 * dose, spacing=1.0, dose_percent=3, distance_mm=3, sampler="exact").round(3)[3:6]
    array([0.155, 0.157, 0.159])
    """
    check_keywords(options)
    found = gamma_analysis(
        reference,
        evaluation,
        spacing=spacing,
        dose_percent=dose_percent,
        distance_mm=distance_mm,
        local=local,
        cutoff_percent=cutoff_percent,
        max_gamma=max_gamma,
        **options,
    ).map
    assert found is not None
    return found


def gamma_pass_rate(
    reference: ArrayLike,
    evaluation: ArrayLike,
    *,
    spacing: Spacing | None = None,
    dose_percent: float,
    distance_mm: float,
    local: bool = True,
    cutoff_percent: float = 10.0,
    max_gamma: float = 2.0,
    **options: Unpack[GammaOptions],
) -> float:
    """Percent of the evaluated reference points with gamma ≤ 1; higher is better. NaN if no point was evaluated.

    The same number as from the map of `gamma`, whose keywords it takes, several times faster: a point is left as soon
    as it passes, and nothing beyond `distance_mm` is searched.

    Examples
    --------
    >>> import numpy as np
    >>> dose = np.linspace(50, 60, 11)
    >>> gamma_pass_rate(dose, dose + 1.0, spacing=1.0, dose_percent=1, distance_mm=1)
    90.9090909090909
    """
    check_keywords(options)
    return gamma_analysis(
        reference,
        evaluation,
        spacing=spacing,
        dose_percent=dose_percent,
        distance_mm=distance_mm,
        local=local,
        cutoff_percent=cutoff_percent,
        max_gamma=max_gamma,
        keep_map=False,
        **options,
    ).pass_rate


def gamma_analysis(
    reference: ArrayLike,
    evaluation: ArrayLike,
    *,
    spacing: Spacing | None = None,
    dose_percent: float,
    distance_mm: float,
    local: bool = True,
    cutoff_percent: float = 10.0,
    max_gamma: float = 2.0,
    keep_map: bool = True,
    **options: Unpack[GammaOptions],
) -> GammaResult:
    """Map, pass rate, counts and convention of one criterion; keywords as in `gamma`.

    Parameters
    ----------
    keep_map
        Without the map only what decides between pass and fail is searched.
    """
    question = Question.of(
        reference, evaluation, spacing, local=local, cutoff_percent=cutoff_percent, max_gamma=max_gamma, options=options
    )
    percent, distance = criterion(dose_percent, distance_mm)
    search = question.search((distance,), (math.inf,))
    return question.answer(percent, distance, search, keep_map=keep_map)[0]


def gamma_many(
    reference: ArrayLike,
    evaluation: ArrayLike,
    *,
    criteria: Sequence[tuple[float, float]],
    spacing: Spacing | None = None,
    local: bool = True,
    cutoff_percent: float = 10.0,
    max_gamma: float = 2.0,
    keep_maps: bool = True,
    **options: Unpack[GammaOptions],
) -> dict[tuple[float, float], GammaResult]:
    """Several criteria (percent, mm) over the same points; keywords as in `gamma`.

    All have one denominator: a point is evaluated if the largest search, `max_gamma` times the largest distance,
    reaches the evaluation grid. Analysed one by one, criteria of small distance would lose points near the rim of the
    grid that the others keep. With the sampler "shells" they also share their spheres, and the numbers are those of
    pymedphys called with lists.

    Examples
    --------
    >>> import numpy as np
    >>> dose = np.linspace(50, 60, 11)
    >>> for result in gamma_many(dose, dose + 1.0, spacing=1.0, criteria=[(1, 1), (2, 2)]).values():
    ...     print(result)
    1 %/1 mm: 90.91 % of 11 points
    2 %/2 mm: 100.00 % of 11 points
    """
    pairs = pairs_of(criteria)
    question = Question.of(
        reference, evaluation, spacing, local=local, cutoff_percent=cutoff_percent, max_gamma=max_gamma, options=options
    )
    distances = tuple(sorted({distance for _, distance in pairs}))
    question = question.together(len(set(pairs)), furthest=distances[-1])
    largest = [math.inf] * len(distances)
    results = {}
    for place, distance in enumerate(distances):
        # How far the smaller distances are searched for decides how fine the spheres are from there on.
        search = question.search(distances, tuple(largest))
        reached = []
        for pair in pairs:
            if pair[1] == distance and pair not in results:
                results[pair], top = question.answer(*pair, search, keep_map=keep_maps)
                reached.append(top)
        largest[place] = max(reached)
    return {pair: results[pair] for pair in pairs}
