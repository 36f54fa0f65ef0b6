"""A challenge being run, as data: `challenge.toml`, which organisers read and edit.

    a Challenge ── new ──▶ Edition ── write ──▶ challenge.toml ── load ──▶ Edition ── apply ──▶ the Challenge, in force
                                   (render)                     (parse)

An edition says when teams may submit and how often, who sees the board, what happens to missing outputs and ties, and
what there is to win; `awards` says who wins it. Five more tables hold what a description of the challenge says and no
code knows. The rules are pure: no clock, no database, no images. A file that is
wrong gives an `EditionError` with all its problems, each with its line, what was found and what may be written instead.

>>> from isocenter import editions
>>> edition = editions.load("hecktor2020/challenge.toml")                           # doctest: +SKIP
>>> edition.phase_at(datetime.now(UTC))                                             # doctest: +SKIP
"""

from isocenter.editions._awards import Award, awards
from isocenter.editions._board_rule import BoardRule
from isocenter.editions._challenge import apply, in_force, new, phase_of
from isocenter.editions._description import Assessment, Datasets, Mission, Organisation, Summary
from isocenter.editions._model import Bonus, Edition, Payout, Phase, Policies, Prize
from isocenter.editions._problems import EditionError, EditionProblem
from isocenter.editions._render import render
from isocenter.editions._toml import load, parse, write

__all__ = [
    "Assessment",
    "Award",
    "BoardRule",
    "Bonus",
    "Datasets",
    "Edition",
    "EditionError",
    "EditionProblem",
    "Mission",
    "Organisation",
    "Payout",
    "Phase",
    "Policies",
    "Prize",
    "Summary",
    "apply",
    "awards",
    "in_force",
    "load",
    "new",
    "parse",
    "phase_of",
    "render",
    "write",
]
