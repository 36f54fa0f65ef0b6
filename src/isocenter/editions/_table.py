"""A table of `challenge.toml`, of any kind."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, ConfigDict


class Table(BaseModel):
    """What the tables of the file have in common: nothing unknown, nothing converted, nothing changed later."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    reminds: ClassVar[bool] = True
    """Whether a file shows in every entry of a list what it leaves out; else only in the first, which is explained."""
