"""What can be said of a zip that was sent without opening a file in it: its members, their names and their sizes.

A worker looks into the files later. What is refused here never becomes a submission.
"""

from __future__ import annotations

import logging
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from isocenter.editions import phase_of
from isocenter.problems import Problem
from isocenter.server import files
from isocenter.server.editions import code_of
from isocenter.server.models import Challenge, Reference, Upload
from isocenter.server.submitting import uploads
from isocenter.server.work.in_force import cases_elsewhere, leave_out_unknown, reference_of
from isocenter.server.work.reasons import is_about_output
from isocenter.submissions import is_junk, list_files

if TYPE_CHECKING:
    from isocenter.evaluation import Cohort

_log = logging.getLogger("isocenter.intake")

_ARCHIVES = (".zip", ".tar", ".tgz", ".tar.gz", ".tar.bz2", ".tar.xz", ".7z", ".rar")
# A zip may say that its table of contents is as long as it likes, and whoever opens it reads all of that.
_MOST_CONTENTS = 16 << 20
_PER_MEMBER = 512
MOST_TOLD = 300
"""Problems that are told of a file that is not taken."""
_NOT_ACCEPTED = "The file was not accepted; nothing was scored and no attempt was used."


def at_zip(challenge: Challenge, phase: str, upload: Upload) -> tuple[list[Problem], list[str]]:
    """What can be said of a finished zip without opening a file in it, and the sentences for which it is refused."""
    from isocenter.evaluation import CohortError, look, sort_problems

    path, reference = uploads.path_of(upload), reference_of(challenge, phase)
    names = [one.name for one in phase_of(challenge.edition, phase).scored[1:]]
    further = {name: one for name in names if (one := reference_of(challenge, name)) is not None}
    if why := _too_long_a_list(path, _most_contents(challenge, phase, reference, *further.values())):
        return [Problem("refused", why, file=upload.name, code="too_many_files")], [_NOT_ACCEPTED]
    listing = list_files(path)
    nested = [one.name for one in listing.entries if one.name.lower().endswith(_ARCHIVES) and not is_junk(one.name)]
    inside = "an archive inside the zip; put the files themselves there"
    problems = [Problem("refused", inside, file=name, code="bad_archive") for name in nested]
    if any(problem.severity == "refused" for problem in listing.problems):
        problems += listing.problems
    elif reference is None:
        return problems, ["The organisers have not put the reference of this phase in place yet; try again later."]
    else:
        assert challenge.version_id is not None
        try:
            cohort = _cohort(challenge.version_id, phase, str(files.at(reference.folder)))
        except (CohortError, OSError):
            _log.exception("%s: the reference of %s cannot be used", challenge.slug, phase)
            return problems, ["The organisers' reference of this phase cannot be used at present; tell them."]
        code, elsewhere = code_of(challenge.version_id, phase), cases_elsewhere(challenge, phase)
        found = look(code, cohort=cohort, submission=path, elsewhere=elsewhere)
        every = sort_problems(found, *_look_further(challenge, path, further))
        problems += [one for one in leave_out_unknown(challenge, phase, every) if one.file not in nested]
        spoilt = {one.case for one in found if is_about_output(one)}
        said = any(one.severity == "refused" for one in found)
        if not said and spoilt.issuperset(case.name for case in cohort.cases):
            message = "holds no file of the right name and kind for any case"
            problems.insert(0, Problem("refused", message, file=upload.name, code="no_output"))
    problems = [_renamed(problem, path.name, upload.name) for problem in problems]
    refused = any(problem.severity == "refused" for problem in problems)
    return problems, [_NOT_ACCEPTED] if refused else []


def _look_further(challenge: Challenge, path: Path, further: Mapping[str, Reference]) -> Iterator[tuple[Problem, ...]]:
    """What can be said of the outputs for further cohorts; of one whose reference cannot be used, nothing."""
    from isocenter.evaluation import CohortError, look

    assert challenge.version_id is not None
    for name, reference in further.items():
        try:
            cohort = _cohort(challenge.version_id, name, str(files.at(reference.folder)))
        except (CohortError, OSError):
            _log.exception("%s: the reference of %s cannot be used", challenge.slug, name)
            continue
        elsewhere = cases_elsewhere(challenge, name)
        yield look(code_of(challenge.version_id, name), cohort=cohort, submission=path, elsewhere=elsewhere)


def _most_contents(challenge: Challenge, phase: str, reference: Reference | None, *further: Reference) -> int:
    """How long the table of contents of an answer can be: to read and to judge a long one takes many seconds."""
    from isocenter.evaluation import most_files

    if reference is None or challenge.version_id is None:
        return _MOST_CONTENTS
    cases = sum(len(one.cases) for one in (reference, *further))
    members = most_files(code_of(challenge.version_id, phase), cases)
    return min(_MOST_CONTENTS, members * _PER_MEMBER)


def _too_long_a_list(path: Path, most: int) -> str:
    """Why the table of contents of a zip is not read; "" if it may be, or if this is no zip."""
    with path.open("rb") as stream:
        try:
            end = zipfile._EndRecData(stream)  # type: ignore[attr-defined]  # noqa: SLF001 (as ZipFile itself finds it)
        except (OSError, zipfile.BadZipFile):
            return ""
    length = end[5] if end else 0
    if length <= most:
        return ""
    return f"its list of members has {length:,} bytes; that of an answer has at most {most:,}"


def told(problems: Sequence[Problem]) -> list[Problem]:
    """As many of the problems as somebody reads, and how many more there are."""
    if len(problems) <= MOST_TOLD:
        return list(problems)
    rest = len(problems) - MOST_TOLD
    return [*problems[:MOST_TOLD], Problem("note", f"and {rest:,} more problems, which are not listed", code="remark")]


def _renamed(problem: Problem, key: str, name: str) -> Problem:
    """A problem with the name that the file had where it comes from, not the one it has here."""
    return replace(
        problem, file=name if problem.file == key else problem.file, message=problem.message.replace(key, name)
    )


@lru_cache(maxsize=16)
def _cohort(version: int, phase: str, folder: str) -> Cohort:
    """The cases of a reference and their grids. A folder never changes; another reference has another."""
    from isocenter.evaluation import open_cohort

    return open_cohort(code_of(version, phase), folder)
