"""How a challenge's data are made from scans: the crop around the oropharynx, seed points in tumours, uptake values.

`oropharynx_box` finds the region of HECKTOR from the brain on a PET, `crop_and_resample` brings CT, PET and mask onto
one grid in it, `prepare_cohort` does that for a folder of patients. `seed_points` draws the points that the lung
contest gave its participants. `openkbp_to_nifti` and `nifti_to_openkbp` convert OpenKBP's own file format.
"""

from isocenter.preprocessing._box import Box, NoBrainError, oropharynx_box
from isocenter.preprocessing._box_table import BoxTableError, Override, read_overrides, write_boxes
from isocenter.preprocessing._openkbp import Conversion, nifti_to_openkbp, openkbp_to_nifti
from isocenter.preprocessing._prepare import CaseFiles, CaseReport, Recipe, find_cases, prepare_case, prepare_cohort
from isocenter.preprocessing._resample_pair import Cropped, crop_and_resample, crop_grid
from isocenter.preprocessing._seed_points import SeedPoint, seed_points
from isocenter.preprocessing._suv import suv_factor

__all__ = [
    "Box",
    "BoxTableError",
    "CaseFiles",
    "CaseReport",
    "Conversion",
    "Cropped",
    "NoBrainError",
    "Override",
    "Recipe",
    "SeedPoint",
    "crop_and_resample",
    "crop_grid",
    "find_cases",
    "nifti_to_openkbp",
    "openkbp_to_nifti",
    "oropharynx_box",
    "prepare_case",
    "prepare_cohort",
    "read_overrides",
    "seed_points",
    "suv_factor",
    "write_boxes",
]
