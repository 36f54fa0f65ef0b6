"""Problems, and the errors that carry one."""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from isocenter.problems._codes import BLAMES, ORIGINS, Blame, Cost, Origin, find_code, is_registered, make_words

_LONGEST = 500
# What a spreadsheet takes for the beginning of a formula; a quote before it makes it a text.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# Errors of the system that say nothing of the file: another machine, or a later time, can read it.
_MACHINE = frozenset(
    {
        *(errno.EIO, errno.ENOMEM, errno.EMFILE, errno.ENFILE),
        *(errno.ENOSPC, errno.ESTALE, errno.ENODEV, errno.ETIMEDOUT),
    }
)

Severity = Literal["refused", "unusable", "missing", "warning", "note"]
"""The consequence of a problem.

=========  ===========================================================================================
refused    nothing of the submission is used: it cannot be trusted or understood as a whole
unusable   this case is not measured; it counts as the challenge says that a failed case counts
missing    there is no output for this case; it counts as the challenge says that a missing case counts
warning    the output is measured, but is probably not what was meant
note       of no consequence, said for information
=========  ===========================================================================================

A case that is unusable for another reason than its output counts as nothing: there is no table of it.
"""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: what, where it arose, in which case and file, in words.

    Attributes
    ----------
    code
        A name of the registry; see `isocenter.problems.codes`.
    origin
        Where it arose. Whose turn it is follows from that: see `blame`.
    detail
        For the organisers only: a traceback. It may tell of the reference, so that `to_dict` leaves it out.
    """

    severity: Severity
    message: str
    case: str = ""
    file: str = ""
    code: str = field(kw_only=True)
    origin: Origin = field(default="output", kw_only=True)
    detail: str = field(default="", kw_only=True, compare=False, repr=False)

    def __post_init__(self) -> None:
        find_code(self.code)
        if self.origin not in ORIGINS:
            msg = f"the origin of a problem is one of {', '.join(ORIGINS)}, not {self.origin!r}"
            raise ValueError(msg)
        for name in ("message", "case", "file"):
            object.__setattr__(self, name, printable(getattr(self, name)))

    @classmethod
    def of(
        cls,
        code: str,
        severity: Severity,
        *,
        case: str = "",
        file: str = "",
        origin: Origin | None = None,
        **facts: object,
    ) -> Self:
        """A problem in the words of its code."""
        return cls(
            severity,
            make_words(code, **facts),
            case=case,
            file=file,
            code=code,
            origin=origin or find_code(code).origins[0],
        )

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """The problem that `to_dict` wrote; one without a code or an origin that is known here gets the nearest."""
        severity: Severity = content["severity"]
        code = content.get("code") or content.get("reason") or ""
        if not is_registered(code):
            nearest = {"missing": "missing_output", "refused": "refused", "unusable": "unusable_output"}
            code = nearest.get(severity, "remark")
        origin, origins = content.get("origin"), find_code(code).origins
        if not origin and "output" in origins:  # written before problems had origins, when these were the team's
            origin = "output"
        return cls(
            severity,
            content["message"],
            content.get("case", ""),
            content.get("file", ""),
            code=code,
            origin=origin if origin in ORIGINS else origins[0],
            detail=content.get("detail", ""),
        )

    @property
    def title(self) -> str:
        """The event in a few words."""
        return find_code(self.code).title

    @property
    def advice(self) -> str:
        """The next step for the person whose turn it is."""
        return find_code(self.code).advice

    @property
    def blame(self) -> Blame:
        """Whose turn it is."""
        return BLAMES[self.origin]

    @property
    def is_failure(self) -> bool:
        """Whether something was not measured through no fault of the output."""
        return self.origin != "output" and self.severity in ("refused", "unusable")

    @property
    def cost(self) -> Cost:
        """The cost for the team."""
        if self.severity in ("warning", "note"):
            return "nothing"
        return find_code(self.code).cost_from(self.origin)

    def to_dict(self, *, detail: bool = False) -> dict[str, str]:
        """As JSON values; the detail only for the organisers."""
        content = {name: getattr(self, name) for name in ("severity", "code", "origin", "case", "file", "message")}
        return content | {"detail": self.detail} if detail and self.detail else content


class CodedError(ValueError):
    """An error that carries the code of a problem; the message is given, or made from the code and its facts."""

    default = "unusable_output"

    def __init__(self, message: str = "", *, code: str = "", **facts: object) -> None:
        self.code = code or self.default
        super().__init__(message or make_words(self.code, **facts))


class FileError(OSError):
    """A file that cannot be read for a reason that is not the system's: it is damaged, too long, or not a file."""

    def __init__(self, message: str, *, code: str) -> None:
        self.code = code
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickle_file_error, (type(self), str(self), self.code)


def _unpickle_file_error(kind: type[FileError], message: str, code: str) -> FileError:
    return kind(message, code=code)


def code_of_error(error: BaseException, *, otherwise: str = "unusable_output") -> str:
    """The code that an error carries; of one that carries none, what its class says, or `otherwise`."""
    if isinstance(error, CodedError | FileError):
        return error.code
    if isinstance(error, OSError):
        return "unreadable"
    return "out_of_memory" if isinstance(error, MemoryError) else otherwise


def origin_of_error(error: BaseException, *, reading: Origin) -> Origin:
    """Where an error arose that was raised while a file of the output, or of the reference, was read.

    Its owner has to act, unless the machine failed: a disk that gives no answer says nothing of the file.
    """
    return "machine" if isinstance(error, OSError) and error.errno in _MACHINE else reading


def describe_error(error: BaseException, *, message: bool = True) -> str:
    """An unforeseen error with its place, for the author of the code; without its message where others read it."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    try:
        text = f": {error}" if message else ""
    except Exception:  # an error of a stranger may fail to say what it is
        text = ": its message cannot be read"
    return f"{type(error).__name__}{text}{place}"


class Trouble(NamedTuple):
    """One of several things that are wrong with an output, which become one error."""

    text: str
    code: str

    @classmethod
    def of_error(cls, error: Exception, *, prefix: str = "", otherwise: str = "unusable_output") -> Self:
        """What an error says that was raised while a file was read; one of the machine is raised again."""
        if origin_of_error(error, reading="output") == "machine":
            raise error
        return cls(f"{prefix}{error}", code_of_error(error, otherwise=otherwise))


class Remark(NamedTuple):
    """Something that a team should know of its output, which is measured all the same."""

    severity: Literal["warning", "note"]
    text: str
    code: str = "remark"


class OutputError(CodedError):
    """Raised by `measure` or `inspect` for an output that cannot be measured: the case fails, its team reads why.

    Anything else that they raise is a fault of the evaluator, which costs no team anything. So is a code that is not
    registered, or that cannot arise in an output: it is a `ValueError`.

    Examples
    --------
    >>> raise OutputError("the plan has no beam that delivers dose")
    Traceback (most recent call last):
    isocenter.problems._problem.OutputError: the plan has no beam that delivers dose
    """

    def __init__(self, message: str = "", *, code: str = "", **facts: object) -> None:
        code = code or self.default
        if not is_registered(code) or "output" not in find_code(code).origins:
            msg = f"an OutputError has a registered code that can arise in the output, not {code!r}"
            raise ValueError(msg)
        super().__init__(message, code=code, **({"detail": "the output cannot be measured"} | facts))


class SubmissionRefused(ValueError):
    """A submission of which nothing was used; `problems` has all that was found."""

    def __init__(self, submission: str, problems: Sequence[Problem]) -> None:
        self.submission = submission
        self.problems = tuple(problems)
        super().__init__(f"submission {submission!r} was not accepted:\n{report(problems)}")

    def __reduce__(self) -> tuple[type[SubmissionRefused], tuple[str, tuple[Problem, ...]]]:
        return type(self), (self.submission, self.problems)


class EvaluationFailed(RuntimeError):
    """Cases that could not be measured through no fault of the output: by the evaluator, or by the machine.

    There is no table: a case that nobody measured does not count against anybody. `problems` has every such case, with
    the traceback in `detail`, and whatever else was found.
    """

    def __init__(self, challenge: str, problems: Sequence[Problem]) -> None:
        self.challenge = challenge
        self.problems = tuple(problems)
        super().__init__(f"{challenge}: {self.verdict}, nothing was scored:\n{report(self.causes)}")

    @property
    def causes(self) -> tuple[Problem, ...]:
        """The problems that are not about the output."""
        return tuple(one for one in self.problems if one.is_failure)

    @property
    def verdict(self) -> str:
        """Who failed: the evaluator if it did in any case, else the machine."""
        return "the evaluator failed" if any(one.origin == "evaluator" for one in self.causes) else "the machine failed"

    def __reduce__(self) -> tuple[type[EvaluationFailed], tuple[str, tuple[Problem, ...]]]:
        return type(self), (self.challenge, self.problems)


def report(problems: Iterable[Problem]) -> str:
    """Problems as aligned lines: case, file, what was found."""
    rows = [(p.case or "…", p.file or f"({p.severity})", p.message) for p in problems]
    widths = [max((len(row[i]) for row in rows), default=0) for i in (0, 1)]
    return "\n".join(f"  {case:<{widths[0]}}  {file:<{widths[1]}}  {text}" for case, file, text in rows)


def as_cell(text: str) -> str:
    """A text as it may stand in a table for a spreadsheet, which would run a name such as "=…" as a formula."""
    return f"'{text}" if text.startswith(_FORMULA) and text != "-" else text


def printable(text: str) -> str:
    """A text as it may be printed: names of strangers may hold control characters, broken encodings, or novels."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode("ascii") for c in text)
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"
