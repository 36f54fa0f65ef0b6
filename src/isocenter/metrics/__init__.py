"""Arrays in, numbers out: pure functions that know no files, teams or challenges.

`catalogue` says of every metric its unit, its direction and its bounds, and is the only place that does.
"""

from isocenter.metrics._dose import DoseDifference, SparseDose, dose_difference
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
    "DoseDifference",
    "LesionCounts",
    "Metric",
    "Overlap",
    "SparseDose",
    "SurfaceDistances",
    "aggregated_dice",
    "aggregated_f1",
    "average_surface_distance",
    "components",
    "count_overlap",
    "cropped",
    "dice",
    "dose_difference",
    "hausdorff_distance",
    "jaccard",
    "match_components",
    "precision",
    "recall",
    "s_score",
    "s_score_of",
    "surface_dice",
    "surface_distances",
    "volume_error",
    "volume_similarity",
]
