"""The registry of codes: what each means, in words for the person who has to act, whose turn it is, what it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Origin = Literal["output", "reference", "evaluator", "machine"]
"""Where a problem arose.

=========  ===================================================================================================
output     in what a team handed in
reference  in the organisers' files
evaluator  in the code that measures: `prepare`, `measure` or `inspect` raised, took too long, or killed its process
machine    on the computer that did the work: a disk, a lost worker, an error of the site
=========  ===================================================================================================
"""

Blame = Literal["team", "organisers", "machines"]
"""Whose turn it is."""

Cost = Literal["nothing", "case", "attempt"]
"""The cost of a problem for the team; see `COSTS`. A problem that did not arise in the output costs nothing."""

ORIGINS: tuple[Origin, ...] = ("output", "reference", "evaluator", "machine")
BLAMES: Mapping[Origin, Blame] = MappingProxyType(
    {"output": "team", "reference": "organisers", "evaluator": "organisers", "machine": "machines"}
)
COSTS: Mapping[Cost, str] = MappingProxyType(
    {
        "nothing": "No attempt is used, and no case counts against the team.",
        "case": "The case counts as the rules say of missing or unusable ones, if the submission may have gaps; "
        "else nothing is scored and no attempt is used.",
        "attempt": "Nothing is scored; the phase says whether the attempt is given back.",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """One kind of problem.

    Attributes
    ----------
    name
        What programs compare: lower case, with underscores; never changed once it was published.
    title
        What happened, in a few words.
    words
        The message: a text with `{facts}` in it, which the place that raises the problem knows.
    advice
        What the person whose turn it is does about it.
    origins
        Where it can arise; the first is meant where nothing else is said.
    cost
        What it costs the team if it arose in the output.
    """

    name: str
    title: str
    words: str
    advice: str
    origins: tuple[Origin, ...] = ("output",)
    cost: Cost = "nothing"

    @property
    def blame(self) -> Blame:
        """Whose turn it is, where it arose in the first of its origins."""
        return BLAMES[self.origins[0]]

    def cost_from(self, origin: Origin) -> Cost:
        """The cost for the team if it arose there."""
        return self.cost if origin == "output" else "nothing"


_CODES: dict[str, Code] = {}


def register(code: Code) -> Code:
    """Add a code; a challenge of another package may have its own."""
    if not code.name.isidentifier() or code.name != code.name.lower() or not code.origins:
        msg = f"a code is named in lower case with underscores and has an origin, not {code.name!r}"
        raise ValueError(msg)
    if _CODES.setdefault(code.name, code) != code:
        msg = f"the code {code.name!r} is registered already, with other words"
        raise ValueError(msg)
    return code


def find_code(name: str) -> Code:
    """The code of a name; KeyError if it is not registered."""
    return _CODES[name]


def is_registered(name: str) -> bool:
    """Whether there is a code of this name: an old journal, or a newer site, may have others."""
    return name in _CODES


def codes() -> tuple[Code, ...]:
    """All codes, in the order of the reference page."""
    return tuple(_CODES.values())


def make_words(code: str, **facts: object) -> str:
    """The message of a code with what is known of the single problem."""
    return _CODES[code].words.format(**facts)


_ANY_FILE: tuple[Origin, ...] = ("output", "reference")
_MEASURED: tuple[Origin, ...] = ("evaluator", "output")

for _code in (
    # The submission as a whole: nothing of it is used.
    Code(
        name="refused",
        title="Not accepted",
        words="{detail}",
        advice="Nothing was scored and no attempt was used. Mend what is listed and hand it in again.",
    ),
    Code(
        name="bad_archive",
        title="Neither a folder nor a whole zip archive",
        words="{detail}",
        advice="Pack the files into a plain zip (deflate), open it once on your own machine, and hand it in again.",
        origins=_ANY_FILE,
    ),
    Code(
        name="unsafe_archive",
        title="An archive that is not opened, for safety",
        words="{detail}",
        advice="Pack plain files with plain names: no links, no passwords, no name twice, nothing that leads out of "
        "the archive.",
        origins=_ANY_FILE,
    ),
    Code(
        name="too_many_files",
        title="Far more files than an answer has",
        words="{files:,} files; an answer to {cases} cases has at most {most:,}",
        advice="Hand in only the files that are asked for.",
    ),
    Code(
        name="too_large",
        title="Far larger than an answer can be",
        words="{detail}",
        advice="Hand in only the files that are asked for, each with one volume of the size of the image.",
        origins=_ANY_FILE,
        cost="case",
    ),
    Code(
        name="no_output",
        title="No output for any case",
        words="holds no output for any of the {cases} cases; is it the right folder?",
        advice="Compare the names of the files with those that the rules ask for.",
        origins=_ANY_FILE,
    ),
    # A case: its output is missing or cannot be used.
    Code(
        name="missing_output",
        title="No output for a case",
        words="expected {expected}",
        advice="Add the file that is named. Until then the case counts as the rules say of missing ones.",
        origins=_ANY_FILE,
        cost="case",
    ),
    Code(
        name="bad_name",
        title="A file name that was not asked for",
        words="{detail}",
        advice="Give the file the name that the message expects.",
        origins=_ANY_FILE,
        cost="case",
    ),
    Code(
        name="ambiguous_output",
        title="More than one file for a case",
        words="there is more than one file for the case ({names}); which one is meant?",
        advice="Keep the one that is meant.",
        origins=_ANY_FILE,
        cost="case",
    ),
    Code(
        name="not_a_file",
        title="Not a regular file",
        words="{detail}",
        advice="Put the file itself there: links and special files are not followed.",
        origins=_ANY_FILE,
        cost="case",
    ),
    Code(
        name="bad_grid",
        title="Another grid than the reference",
        words="grid differs: {found}, reference {expected}; {difference}",
        advice="Write the output with size, spacing, origin and directions of the image that it belongs to.",
        cost="case",
    ),
    Code(
        name="bad_geometry",
        title="A place in space that makes no sense",
        words="{detail}",
        advice="Look at spacing, origin and directions in the header of the file, and write it again.",
        origins=_ANY_FILE,
        cost="case",
    ),
    Code(
        name="bad_shape",
        title="Another shape than expected",
        words="{detail}",
        advice="Write one three-dimensional volume per case, of the size of the image.",
        origins=_ANY_FILE,
        cost="case",
    ),
    Code(
        name="nan",
        title="Values that are not finite numbers",
        words="{detail}",
        advice="Every voxel must be a finite number. Look for divisions by zero where there is no signal.",
        origins=_ANY_FILE,
        cost="case",
    ),
    Code(
        name="bad_values",
        title="Values that are not allowed",
        words="{detail}",
        advice="Write only the labels, or values within the range, that the rules name.",
        origins=_ANY_FILE,
        cost="case",
    ),
    Code(
        name="bad_format",
        title="A format that is not read",
        words="{detail}",
        advice="Save the file in a plain form of one of the formats that the rules name.",
        origins=_ANY_FILE,
        cost="case",
    ),
    Code(
        name="bad_table",
        title="A table that cannot be used",
        words="{detail}",
        advice="Look at the line that the message names, and mend the table.",
        origins=_ANY_FILE,
    ),
    Code(
        name="bad_study",
        title="A DICOM study without what is asked for, or with it twice",
        words="{detail}",
        advice="Export the whole study, and say which of several objects is meant.",
        origins=_ANY_FILE,
        cost="case",
    ),
    Code(
        name="damaged",
        title="A file that is damaged or cut off",
        words="{detail}",
        advice="Open it on your own machine, write it again, and check the upload.",
        origins=_ANY_FILE,
        cost="case",
    ),
    Code(
        name="unreadable",
        title="A file that cannot be opened",
        words="cannot be read: {detail}",
        advice="Look at the permissions of the file. Where the disk of the machine failed, start it again.",
        origins=("output", "reference", "machine"),
        cost="case",
    ),
    Code(
        name="unusable_output",
        title="An output that could not be measured",
        words="{detail}",
        advice="The message says what was found. The case counts as the rules say of unusable ones.",
        origins=_ANY_FILE,
        cost="case",
    ),
    # Remarks: of no consequence for the scores.
    Code(
        name="ignored_file",
        title="A file that is not part of the answer",
        words="not part of what is asked for; ignored",
        advice="Nothing has to be done.",
        origins=_ANY_FILE,
    ),
    Code(
        name="left_behind",
        title="A file that the operating system left behind",
        words="left behind by the operating system; ignored",
        advice="Nothing has to be done.",
        origins=_ANY_FILE,
    ),
    Code(
        name="not_looked_at",
        title="A folder or file that was not looked at",
        words="{detail}",
        advice="Put the files at the top of the archive, or one folder down.",
        origins=_ANY_FILE,
    ),
    Code(
        name="empty_mask",
        title="A mask in which nothing is segmented",
        words="the mask is empty: nothing is segmented, though every case has something to find",
        advice="The output is measured as it is. Look whether it is what you meant.",
    ),
    Code(
        name="other_grid",
        title="An output on another grid, which the policy lets pass",
        words="grid differs by up to {shift} mm; {how} by policy",
        advice="Write the output with size, spacing, origin and directions of the image that it belongs to.",
    ),
    Code(
        name="two_places",
        title="A NIfTI header that puts the image in two places",
        words="sform and qform of the header lie up to {shift} mm apart; the sform is used",
        advice="Other programs may read the qform. Write the file again with both set to the true geometry.",
        origins=_ANY_FILE,
    ),
    Code(
        name="remark",
        title="Something that is probably not meant",
        words="{detail}",
        advice="The output is measured as it is. Look whether it is what you meant.",
        origins=_ANY_FILE,
    ),
    # The reference.
    Code(
        name="reference",
        title="The reference cannot be used",
        words="{detail}",
        advice="This is not about the files of a team. The organisers mend the reference; then everything that waits "
        "is scored.",
        origins=("reference",),
    ),
    # Measuring. Reading an output is where an output can be at fault; after that it is the evaluator.
    Code(
        name="evaluator_failed",
        title="The evaluator failed",
        words="the evaluator failed in {stage}: {detail}",
        advice="This is not about the files of a team. The organisers mend the code that measures and evaluate again.",
        origins=("evaluator",),
    ),
    Code(
        name="timeout",
        title="It took too long to measure",
        words="took longer than {seconds:g} s to {stage}",
        advice="The case was stopped at the time limit. If it was being read, look whether the file is what you "
        "meant. If it was being measured, the organisers raise the limit or mend the evaluator.",
        origins=_MEASURED,
        cost="attempt",
    ),
    Code(
        name="out_of_memory",
        title="It took too much memory to measure",
        words="took more than {gigabytes:g} GB of memory to {stage}",
        advice="The case was stopped at the memory limit. If it was being read, look whether the file is what you "
        "meant. If it was being measured, the organisers raise the limit or mend the evaluator.",
        origins=_MEASURED,
        cost="attempt",
    ),
    Code(
        name="crashed",
        title="The program that measures broke down",
        words="the program that measures broke down ({stage})",
        advice="This is not about the files of a team. The organisers mend the evaluator and evaluate again.",
        origins=("evaluator",),
    ),
    # The site and its machines.
    Code(
        name="worker_lost",
        title="The machine was lost, every time it was tried",
        words="the machine was lost {attempts} times",
        advice="No attempt was used. The organisers can start it again.",
        origins=("machine",),
    ),
    Code(
        name="internal_error",
        title="An error of this site",
        words="{detail}",
        advice="This is not about your files, and no attempt was used. The organisers are told and can start it again.",
        origins=("machine",),
    ),
    Code(
        name="cancelled",
        title="Cancelled",
        words="cancelled",
        advice="Hand in again whenever you like.",
    ),
):
    register(_code)
