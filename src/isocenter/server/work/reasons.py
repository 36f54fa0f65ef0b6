"""Why something came to nothing: codes, with words for those who have to do something about it.

A code is shown to everybody who may see the submission. What a program printed is not: see `Run.detail`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

Blame = Literal["team", "organisers", "machines"]


@dataclass(frozen=True, slots=True)
class Reason:
    """A reason in words.

    Attributes
    ----------
    title
        What happened.
    advice
        What the team does about it.
    blame
        Whose turn it is. What comes to nothing for the organisers or the machines never costs a team an attempt, see
        `outcome_of`. What may have gaps and is scored with one is an attempt like others, whatever the gap is.
    """

    title: str
    advice: str
    blame: Blame


_STOPPED = (
    "If your submission may have gaps, the case counts as unusable; else nothing was scored, and whether the attempt "
    "is given back says the phase. Look whether the output is what you meant; if it is, ask the organisers to evaluate "
    "it again."
)
REASONS: dict[str, Reason] = {
    "refused": Reason(
        "Not accepted",
        "Nothing was scored and no attempt was used. Mend what is listed and hand it in again.",
        "team",
    ),
    "missing_output": Reason(
        "No output for a case",
        "Add the file that is named. Until then the case counts as the rules say of missing ones.",
        "team",
    ),
    "bad_grid": Reason(
        "Another grid than the reference",
        "Write the output with size, spacing, origin and directions of the image that it belongs to.",
        "team",
    ),
    "bad_shape": Reason(
        "Another shape than expected",
        "Write one three-dimensional volume per case, of the size of the image.",
        "team",
    ),
    "nan": Reason(
        "Values that are no numbers",
        "Every voxel must be a finite number. Look for divisions by zero where there is no signal.",
        "team",
    ),
    "bad_values": Reason(
        "Values that are not allowed",
        "Write only the labels, or values within the range, that the rules name.",
        "team",
    ),
    "damaged": Reason(
        "A file that cannot be read",
        "Open it on your own machine, write it again, and check the upload.",
        "team",
    ),
    "unusable_output": Reason(
        "An output that could not be measured",
        "The message says what was found. The case counts as the rules say of unusable ones.",
        "team",
    ),
    "timeout": Reason(
        "It took too long to measure",
        f"The case was stopped at the time limit. {_STOPPED}",
        "team",
    ),
    "out_of_memory": Reason(
        "It took too much memory to measure",
        f"The case was stopped at the memory limit. {_STOPPED}",
        "team",
    ),
    "crashed": Reason(
        "The program that measures broke down",
        "The organisers are told and can evaluate it again. If your submission may have gaps, the case counts as "
        "unusable until then; else nothing was scored, and no attempt was used.",
        "organisers",
    ),
    "worker_lost": Reason(
        "The machine was lost, every time it was tried",
        "No attempt was used. The organisers can start it again.",
        "machines",
    ),
    "cancelled": Reason("Cancelled", "Hand in again whenever you like.", "team"),
    "reference": Reason(
        "The reference cannot be used",
        "This is not about your files, and no attempt was used. The organisers are told; it is scored when they mend "
        "the reference.",
        "organisers",
    ),
    "internal_error": Reason(
        "An error of this site",
        "This is not about your files, and no attempt was used. The organisers are told and can start it again.",
        "machines",
    ),
}

MEASURING = frozenset({"timeout", "out_of_memory", "crashed"})
"""What stops the program that measures a case; all others are found in an output, or are not about cases."""


def outcome_of(code: str) -> Literal["refused", "failed", "infrastructure"]:
    """The state of a submission that came to nothing for this reason; with `refund` of its phase, that says the cost.

    What is wrong with files is refused. What ran and could not be finished because of them failed. The rest is nothing
    that the team could have done.
    """
    if code == "refused":
        return "refused"
    return "failed" if REASONS[code].blame == "team" else "infrastructure"


_WORDS = {
    "out_of_memory": r"more than .* of memory|MemoryError",
    "timeout": r"longer than .* to measure",
    "crashed": r"program that measures broke down|worker process died",
    "bad_grid": r"^grid differs",
    "bad_shape": r"\d-D file|axis without voxels|has shape|numbers per voxel",
    "nan": r"must be a finite number|^holds -?(nan|inf)\b|is not finite",
    "bad_values": r"^holds (the|values)|may hold only",
    "damaged": r"damaged|cut off|cannot be read|the file ends|longer than [\d,]+ bytes",
}


def code_of(severity: str, message: str) -> str:
    """The code of a problem that was found in a submission; "" for what is only a remark."""
    if severity in ("warning", "note"):
        return ""
    if severity in ("refused", "missing"):
        return "refused" if severity == "refused" else "missing_output"
    return next((code for code, words in _WORDS.items() if re.search(words, message)), "unusable_output")


def as_problem(problem: Any) -> dict[str, str]:
    """A problem as the database keeps it: {severity, message, case, file, reason}."""
    return {
        "severity": problem.severity,
        "message": problem.message,
        "case": problem.case,
        "file": problem.file,
        "reason": code_of(problem.severity, problem.message),
    }
