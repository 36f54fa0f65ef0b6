"""Arrays in, numbers out: pure functions that know no files, teams or challenges.

`catalogue` says of every metric its unit, its direction and its bounds, and is the only place that does.
"""

from isocenter.metrics._beams import (
    Direction,
    StratifiedMae,
    beam_mae,
    compose_plan,
    curve_distance,
    depth_dose_of_plane,
    idd_distance,
    idd_distance_z,
    integrated_depth_dose,
    masked_mae,
    photon_direction,
    plan_mae,
    proton_direction,
)
from isocenter.metrics._dose import DoseDifference, SparseDose, dose_difference
from isocenter.metrics._gamma import gamma, gamma_analysis, gamma_many, gamma_pass_rate
from isocenter.metrics._gamma_result import GammaConvention, GammaResult
from isocenter.metrics._lesions import LesionCounts, aggregated_f1, components, match_components
from isocenter.metrics._masks import cropped
from isocenter.metrics._overlap import (
    Overlap,
    aggregated_dice,
    count_overlap,
    dice,
    jaccard,
    precision,
    recall,
    volume_error,
    volume_similarity,
)
from isocenter.metrics._s_score import s_score, s_score_of
from isocenter.metrics._surface import (
    SurfaceDistances,
    average_surface_distance,
    hausdorff_distance,
    surface_dice,
    surface_distances,
)
from isocenter.metrics.catalogue import Metric

__all__ = [
    "Direction",
    "DoseDifference",
    "GammaConvention",
    "GammaResult",
    "LesionCounts",
    "Metric",
    "Overlap",
    "SparseDose",
    "StratifiedMae",
    "SurfaceDistances",
    "aggregated_dice",
    "aggregated_f1",
    "average_surface_distance",
    "beam_mae",
    "components",
    "compose_plan",
    "count_overlap",
    "cropped",
    "curve_distance",
    "depth_dose_of_plane",
    "dice",
    "dose_difference",
    "gamma",
    "gamma_analysis",
    "gamma_many",
    "gamma_pass_rate",
    "hausdorff_distance",
    "idd_distance",
    "idd_distance_z",
    "integrated_depth_dose",
    "jaccard",
    "masked_mae",
    "match_components",
    "photon_direction",
    "plan_mae",
    "precision",
    "proton_direction",
    "recall",
    "s_score",
    "s_score_of",
    "surface_dice",
    "surface_distances",
    "volume_error",
    "volume_similarity",
]
