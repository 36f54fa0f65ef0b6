"""Dose-volume histograms: how much of a structure receives how much dose.

    volume ▲ 100 % ──────╮                D95% : the dose that 95 % of the structure receive, read downwards
           │              ╲               V20Gy: the volume that receives 20 Gy, read to the left
           │               ╲
           └────────────────┴──▶ dose

>>> import numpy as np
>>> from isocenter.metrics.dvh import dvh_of
>>> dvh = dvh_of(np.arange(1.0, 101.0), voxel_volume=10.0)         # 100 voxels of 10 mm³: 1 Gy, 2 Gy, … 100 Gy
>>> [float(dvh.evaluate(text)) for text in ("D95%[Gy]", "D0.1cc[Gy]", "V20Gy[%]", "V20Gy[cc]", "Mean[Gy]")]
[6.0, 91.0, 81.0, 0.81, 50.5]

Requests are written as AAPM TG-263 writes them (`Request`). Challenges and programs read one curve in different ways,
and on a structure of a few voxels the difference is large: the reading is always said by name (`Rule`).
`dvh_of` takes the doses of a structure, `dvh_in` a dose and a structure on grids of their own; `table` lists many
structures; `openkbp_criteria` is the short way to what OpenKBP measures.

References
----------
Mayo CS, Moran JM, Bosch W, et al. American Association of Physicists in Medicine Task Group 263: standardizing
nomenclatures in radiation oncology. Int J Radiat Oncol Biol Phys 100 (2018) 1057-1066.
Drzymala RE, Mohan R, Brewster L, et al. Dose-volume histograms. Int J Radiat Oncol Biol Phys 21 (1991) 71-78.
"""

from isocenter.metrics.dvh._curve import Curve, Differential
from isocenter.metrics.dvh._dvh import DVH, Flag, Reading, dvh_of
from isocenter.metrics.dvh._openkbp import is_smaller_than, openkbp_criteria
from isocenter.metrics.dvh._request import Request, RequestError
from isocenter.metrics.dvh._rules import RULES, Rule
from isocenter.metrics.dvh._structure import Outside, dvh_in, supersample
from isocenter.metrics.dvh._table import table

__all__ = [
    "DVH",
    "RULES",
    "Curve",
    "Differential",
    "Flag",
    "Outside",
    "Reading",
    "Request",
    "RequestError",
    "Rule",
    "dvh_in",
    "dvh_of",
    "is_smaller_than",
    "openkbp_criteria",
    "supersample",
    "table",
]
