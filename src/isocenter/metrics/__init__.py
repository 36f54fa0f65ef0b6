"""Arrays in, numbers out: pure functions that know no files, teams or challenges.

`catalogue` says of every metric its unit, its direction and its bounds, and is the only place that does.
"""

from isocenter.metrics._average_precision import (
    PrecisionRecallCurve,
    average_precision,
    precision_recall_curve,
    why_no_average_precision,
)
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
from isocenter.metrics._blobs import Blobs, lesions
from isocenter.metrics._by_name import (
    MaskMetric,
    mask_metrics,
    measure_masks,
    needs_tolerance,
    register_mask_metric,
)
from isocenter.metrics._candidates import (
    Candidates,
    candidates,
    candidates_of_voxels,
    case_likelihood,
    extract_candidates,
)
from isocenter.metrics._dose import DoseDifference, SparseDose, dose_difference
from isocenter.metrics._froc import CAMELYON_RATES, LUNA16_RATES, Froc, froc
from isocenter.metrics._gamma import gamma, gamma_analysis, gamma_many, gamma_pass_rate
from isocenter.metrics._gamma_result import GammaConvention, GammaResult
from isocenter.metrics._lesion_matching import LesionRow, match_lesions, match_numbered_lesions
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
from isocenter.metrics._point_hits import Mark, PointRow, match_points, patient_call
from isocenter.metrics._roc import OperatingPoint, RocCurve, auroc, operating_point, roc_curve, why_no_auroc
from isocenter.metrics._s_score import s_score, s_score_of
from isocenter.metrics._surface import (
    SURFACE_CONVENTIONS,
    SurfaceConvention,
    SurfaceDistances,
    average_surface_distance,
    average_symmetric_surface_distance,
    hausdorff_distance,
    surface_dice,
    surface_distances,
    surface_scores,
)
from isocenter.metrics.catalogue import Metric

__all__ = [
    "CAMELYON_RATES",
    "LUNA16_RATES",
    "SURFACE_CONVENTIONS",
    "Blobs",
    "Candidates",
    "Direction",
    "DoseDifference",
    "Froc",
    "GammaConvention",
    "GammaResult",
    "LesionCounts",
    "LesionRow",
    "Mark",
    "MaskMetric",
    "Metric",
    "OperatingPoint",
    "Overlap",
    "PointRow",
    "PrecisionRecallCurve",
    "RocCurve",
    "SparseDose",
    "StratifiedMae",
    "SurfaceConvention",
    "SurfaceDistances",
    "aggregated_dice",
    "aggregated_f1",
    "auroc",
    "average_precision",
    "average_surface_distance",
    "average_symmetric_surface_distance",
    "beam_mae",
    "candidates",
    "candidates_of_voxels",
    "case_likelihood",
    "components",
    "compose_plan",
    "count_overlap",
    "cropped",
    "curve_distance",
    "depth_dose_of_plane",
    "dice",
    "dose_difference",
    "extract_candidates",
    "froc",
    "gamma",
    "gamma_analysis",
    "gamma_many",
    "gamma_pass_rate",
    "hausdorff_distance",
    "idd_distance",
    "idd_distance_z",
    "integrated_depth_dose",
    "jaccard",
    "lesions",
    "mask_metrics",
    "masked_mae",
    "match_components",
    "match_lesions",
    "match_numbered_lesions",
    "match_points",
    "measure_masks",
    "needs_tolerance",
    "operating_point",
    "patient_call",
    "photon_direction",
    "plan_mae",
    "precision",
    "precision_recall_curve",
    "proton_direction",
    "recall",
    "register_mask_metric",
    "roc_curve",
    "s_score",
    "s_score_of",
    "surface_dice",
    "surface_distances",
    "surface_scores",
    "volume_error",
    "volume_similarity",
    "why_no_auroc",
    "why_no_average_precision",
]
