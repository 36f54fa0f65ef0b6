"""What can go wrong with a submission: problems with a code and an origin, and the registry of all codes.

    a reader, a challenge, a worker ── raises or reports ──▶ Problem(code, origin, case, file, message)
    registry: code ──▶ title, words, advice, blame, cost         └─▶ terminal, page, mail, API, JSON of `check`

The code says what happened, the origin where: in the output, in the reference, in the evaluator, or on the machine. Who
has to act, and what it costs, follow from both. Words are made from codes; nothing ever reads them back.
"""

from isocenter.problems._codes import (
    BLAMES,
    COSTS,
    ORIGINS,
    Blame,
    Code,
    Cost,
    Origin,
    codes,
    find_code,
    is_registered,
    make_words,
    register,
)
from isocenter.problems._problem import (
    CodedError,
    EvaluationFailed,
    FileError,
    OutputError,
    Problem,
    Remark,
    Severity,
    SubmissionRefused,
    Trouble,
    as_cell,
    code_of_error,
    describe_error,
    origin_of_error,
    printable,
    report,
)

__all__ = [
    "BLAMES",
    "COSTS",
    "ORIGINS",
    "Blame",
    "Code",
    "CodedError",
    "Cost",
    "EvaluationFailed",
    "FileError",
    "Origin",
    "OutputError",
    "Problem",
    "Remark",
    "Severity",
    "SubmissionRefused",
    "Trouble",
    "as_cell",
    "code_of_error",
    "codes",
    "describe_error",
    "find_code",
    "is_registered",
    "make_words",
    "origin_of_error",
    "printable",
    "register",
    "report",
]
