"""What a submission must hold, in words: made of the challenge's own specifications, so that both say the same."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isocenter.submissions import FileSpec, ImageFile, MaskFile, is_folder

if TYPE_CHECKING:
    from isocenter.evaluation import Challenge as Code

CASE = "<case>"
"""Stands for the name of a case where the names are not to be known yet."""
_SHOWN = 3
_PARAGRAPHS = 2  # of the description of a specification are for participants; what follows is for who writes code


@dataclass(frozen=True)
class Expected:
    """A file, or a folder of files, that every case has.

    Attributes
    ----------
    name
        As it is called for a case, `CASE` in its place.
    endings
        What it may end with, the recommended one first; () for a folder.
    what
        A sentence on what it holds.
    """

    name: str
    endings: tuple[str, ...]
    what: str


def expected(code: Code) -> list[Expected]:
    """Everything that is asked for of every case."""
    return [described(spec) for spec in code.output.values()]


def described(spec: FileSpec) -> Expected:
    """A file of every case in words, of a submission or of the reference."""
    if is_folder(spec):
        name, _, others = spec.expected(CASE).removesuffix(")").partition(" (or ")
        endings = (name.removeprefix(CASE), *others.split(", ")) if others else ()
        return Expected(name, endings, _said(spec))
    return Expected(spec.name(CASE, spec.suffixes[0]), tuple(spec.suffixes), _said(spec))


def _said(spec: FileSpec) -> str:
    where = ", on the grid of the images of its case" if spec.grid_of else ""
    if isinstance(spec, MaskFile):
        labels = ", ".join(f"{number} is {name}" for name, number in spec.labels)
        return f"A mask{where}: {f'0 is nothing, {labels}' if labels else 'whole numbers, 0 is nothing'}."
    if isinstance(spec, ImageFile):
        low, high = spec.bounds
        within = f" from {low:g} to {high:g}" if low > float("-inf") and high < float("inf") else ""
        return f"An image{where}: finite numbers{within}."
    about = (inspect.getdoc(type(spec)) or "").split("\n\n")
    return " ".join(about[:_PARAGRAPHS]).replace("``", "").replace("`", "").replace("\n", " ")


def example(code: Code, cases: Sequence[str]) -> str:
    """The listing of a zip with some of its cases; with none known, of two that stand for all."""
    names = list(cases[:_SHOWN]) or [f"{CASE[:-1]} 1>", f"{CASE[:-1]} 2>"]
    lines = ["submission.zip"]
    for case in names:
        for spec in code.output.values():
            lines.append(f"  {described(spec).name.removeprefix('a folder ').replace(CASE, case)}")
    if len(cases) != len(names):
        more = len(cases) - len(names)
        lines.append(f"  … and {more} more {'case' if more == 1 else 'cases'}" if cases else "  …")
    return "\n".join(lines)
