"""Synthetic teams of the lung contest, and the tool that they were compared with."""

from __future__ import annotations

from isocenter.phantoms._teams import Team

TEAMS_LUNG: tuple[Team, ...] = (
    Team(name="Rigi", boundary=2.2, volume_bias=0.05, missed_tumour=0.02),
    Team(name="Titlis", boundary=2.6, volume_bias=-0.10, missed_tumour=0.03),
    Team(name="Pilatus", boundary=3.4, missed_tumour=0.03),
    Team(name="Napf", boundary=3.0, volume_bias=0.45, missed_tumour=0.04),
    Team(name="Eiger", boundary=2.6, volume_bias=-0.20, missed_tumour=0.18),
)
"""Of graded skill, best first: the fourth draws far too generously, the fifth often finds no tumour at all."""

REGION_GROWING = Team(name="Region growing", boundary=5.0, volume_bias=1.2, missed_tumour=0.08)
"""A tool that grows a region from a point without anybody's help, and leaks: a benchmark, not a team."""
