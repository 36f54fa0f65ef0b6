"""A board of an edition's own: as far as it is known without the rules, and with the settings of all rules."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, SerializeAsAny, create_model

from isocenter.schema import Allowed
from isocenter.schema.tables import Table

POLICIES = ("missing", "undefined", "ties")
"""Settings of a board that the policies of the edition make, where the board does not."""

BoardName = Annotated[str, Field(pattern=r"\S"), Allowed("a text in quotes that is not empty", example='"median-dice"')]
Flag = Annotated[bool, Allowed("true or false", example="true")]


class OwnBoard(Table):
    """One ranking by a rule of the edition's own: in place of the challenge's board of that name, or beside its boards.

    Which of the settings a rule has, the challenge it is applied to must know: see `apply`.
    """

    name: BoardName = Field(description="The name of the board; a board of the challenge that has it is replaced.")
    main: Flag = Field(default=False, description="Whether it is the main board, which is meant where none is named.")

    @classmethod
    def full(cls) -> type[Table]:
        """The table with the settings of all rules."""
        return board_rule()


def board_rule() -> type[OwnBoard]:
    """The table of a board with the settings of all rules that there are; they are imported now.

    Which settings a rule has, and whether they go together, `isocenter.ranking.rule_of` says once the challenge is
    known.
    """
    from isocenter.ranking import rule_kinds

    return _board_rule(rule_kinds())


@cache
def _board_rule(kinds: tuple[str, ...]) -> type[OwnBoard]:  # noqa: ARG001 (the key of the cache)
    from isocenter.ranking.rules.schema import form_fields

    fields: dict[str, Any] = form_fields(dict.fromkeys(POLICIES, "it is that of the heading [policies]"))
    return create_model("BoardRule", __base__=OwnBoard, __module__=__name__, __doc__=OwnBoard.__doc__, **fields)


def _read_board(value: Any) -> Any:
    return value if isinstance(value, OwnBoard) else board_rule().model_validate(value)


# A board is checked as one with all settings; a file without boards does not import the rules.
Board = SerializeAsAny[Annotated[OwnBoard, BeforeValidator(_read_board)]]
