"""Calls into a rule, which may be code of another package: what it raises becomes a sentence about the rule."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import polars as pl

from isocenter.problems import describe_error, printable
from isocenter.ranking import Board, Role, Rule, show_beside

Progress = Callable[[int, int], None]
"""Called with (resamples made, resamples in all)."""


class RuleFailed(ValueError):
    """A rule raised an error that it does not promise, or returned something that is not a board.

    Attributes
    ----------
    public
        The sentence without the message of the error, which may name teams that a board does not list.
    traceback
        For the author of the rule; "" if nothing was raised.
    """

    def __init__(self, message: str, *, public: str = "", traceback: str = "") -> None:
        super().__init__(message)
        self.public = public or message
        self.traceback = traceback


@contextmanager
def guard_rule(rule: Rule, progress: Progress | None = None) -> Iterator[Progress | None]:
    """Raise `RuleFailed` for what a rule raises in the block, and leave `ValueError` as it is.

    Memory that runs out says nothing of the rule and goes through, like everything that `progress` raises: call it by
    the function that the block gets.
    """
    raised: list[BaseException] = []

    def report(done: int, total: int) -> None:
        assert progress is not None
        try:
            progress(done, total)
        except BaseException as error:
            raised.append(error)
            raise

    try:
        yield None if progress is None else report
    except (ValueError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        if any(error is one for one in raised):
            raise
        head = f"the rule {_name(rule)} failed"
        msg = f"{head}: {printable(describe_error(error))}"
        raise RuleFailed(
            msg,
            public=f"{head}: {describe_error(error, message=False)}",
            traceback="".join(traceback.format_exception(error)),
        ) from error


def rank_scores(rule: Rule, scores: pl.DataFrame, *, name: str = "", roles: Mapping[str, Role] | None = None) -> Board:
    """The board that a rule makes of a score table, with rows of this table only."""
    with guard_rule(rule):
        board: object = rule.rank(scores, name=name, roles=roles)
    if not isinstance(board, Board):
        msg = f"the rule {_name(rule)} failed: it returned a {type(board).__name__}, not a board"
        raise RuleFailed(msg)
    rows = [row.submission for row in (*board.rows, *board.unlisted)]
    if len(set(rows)) < len(rows) or not set(rows) <= set(scores["submission"].unique()):
        msg = f"the rule {_name(rule)} failed: its board has rows that are not those of the score table"
        raise RuleFailed(msg)
    with guard_rule(rule):
        return show_beside(board, rule, scores, roles)


def describe_rule(rule: Rule) -> str:
    """A rule in words; its name where it fails to find them."""
    try:
        with guard_rule(rule):
            return str(rule)
    except ValueError:
        return f"by the rule {_name(rule)}"


def _name(rule: Rule) -> str:
    return getattr(type(rule), "kind", "") or type(rule).__qualname__
