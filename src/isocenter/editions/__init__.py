"""A challenge being run, as data: `challenge.toml`, which organisers read and edit.

    a Challenge ── new ──▶ Edition ── write ──▶ challenge.toml ── load ──▶ Edition ── apply ──▶ the Challenge, in force
                                   (render)                     (parse)

An edition says when teams may submit and how often, who sees the board, what happens to missing outputs and ties, and
what there is to win; `awards` says who wins it. Five more tables hold what a description of the challenge says and no
code knows, and five the forms: what people and teams are asked (`check_answers`, `void_reasons`), with a voluntary part
that is told in numbers only (`sealed`, `tally`); three more hold a reader study. `admitted` and `quota_left` say who
may submit and how often, `sight` and `show_board` who sees what; `audit` keeps what was decided. The rules are pure: no
clock, no database, no images. A file that is wrong gives an `EditionError` with all its problems, each with its line,
what was found and what may be written instead.

>>> from isocenter import editions
>>> edition = editions.load("hecktor2020/challenge.toml")                           # doctest: +SKIP
>>> edition.phase_at(datetime.now(UTC))                                             # doctest: +SKIP
"""

from isocenter.editions import audit
from isocenter.editions._admission import Admission, TeamStanding, admitted, barred
from isocenter.editions._awards import Award, awards
from isocenter.editions._challenge import apply, in_force, new, phase_of
from isocenter.editions._countries import COUNTRIES
from isocenter.editions._description import Assessment, Datasets, Mission, Organisation, Summary
from isocenter.editions._equity import Batch, Tally, sealed, tally
from isocenter.editions._forms import AnswerProblem, Answers, TeamState, check_answers, missing, void_reasons
from isocenter.editions._model import Edition, Policies
from isocenter.editions._own_board import board_rule
from isocenter.editions._phase import Cohort, Phase, name_on_cohort, split_cohort
from isocenter.editions._pooling import LEAST, Pooled, PooledRows, pool, pool_rows
from isocenter.editions._problems import EditionError, EditionProblem
from isocenter.editions._questions import DECLINED, EquityQuestion, Question, Terms
from isocenter.editions._quota import Attempt, QuotaLeft, quota_left
from isocenter.editions._reading import Reading, Stage
from isocenter.editions._render import render
from isocenter.editions._shown import alias, show_board
from isocenter.editions._sight import Sight, Viewer, sight
from isocenter.editions._toml import load, parse, write
from isocenter.editions._verification import Profile, Verdict, verdict_on
from isocenter.editions._winnings import Bonus, Payout, Prize

__all__ = [
    "COUNTRIES",
    "DECLINED",
    "LEAST",
    "Admission",
    "AnswerProblem",
    "Answers",
    "Assessment",
    "Attempt",
    "Award",
    "Batch",
    "BoardRule",
    "Bonus",
    "Cohort",
    "Datasets",
    "Edition",
    "EditionError",
    "EditionProblem",
    "EquityQuestion",
    "Mission",
    "Organisation",
    "Payout",
    "Phase",
    "Policies",
    "Pooled",
    "PooledRows",
    "Prize",
    "Profile",
    "Question",
    "QuotaLeft",
    "Reading",
    "Sight",
    "Stage",
    "Summary",
    "Tally",
    "TeamStanding",
    "TeamState",
    "Terms",
    "Verdict",
    "Viewer",
    "admitted",
    "alias",
    "apply",
    "audit",
    "awards",
    "barred",
    "check_answers",
    "in_force",
    "load",
    "missing",
    "name_on_cohort",
    "new",
    "parse",
    "phase_of",
    "pool",
    "pool_rows",
    "quota_left",
    "render",
    "sealed",
    "show_board",
    "sight",
    "split_cohort",
    "tally",
    "verdict_on",
    "void_reasons",
    "write",
]


def __getattr__(name: str) -> object:
    """The table of a board needs the rules, which are imported when somebody asks for it."""
    if name == "BoardRule":
        return board_rule()
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
