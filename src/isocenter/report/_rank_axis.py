"""Where ranks lie in a picture, and how shares of draws are written and summed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from markupsafe import Markup

from isocenter.report._drawing import NARROWEST, USUAL, line, words


@dataclass(frozen=True, slots=True)
class RankAxis:
    """Columns for the ranks 1 to `count`, between two places in per cent of the width."""

    count: int
    left: float
    right: float

    def at(self, rank: float) -> float:
        """The middle of a rank's column; a mean of ranks lies between two."""
        share = (min(max(rank, 0.5), self.count + 0.5) - 0.5) / self.count
        return self.left + (self.right - self.left) * share

    def ticks(self, pixels: float) -> list[int]:
        """All ranks, or the first and every fifth, tenth, twentieth, …, where one per cent is so many pixels."""
        if self.count * 17 <= (self.right - self.left) * pixels:
            return list(range(1, self.count + 1))
        power = 10 ** max(math.floor(math.log10(self.count)) - 2, 0)
        step = next(s * power for s in (5, 10, 20, 50, 100) if self.count <= 12 * s * power)
        return [1, *range(step, self.count + 1, step)]

    def drawn(self, *, top: float, bottom: float) -> Markup:
        """Hairs from `top` to `bottom`, the ranks below them, and what they are."""
        parts, narrow = [], set(self.ticks(NARROWEST))
        for tick in self.ticks(USUAL):
            x, css = self.at(tick), "small middle" if tick in narrow else "small middle wide"
            parts += [line("tick", x, x, y=bottom, up=bottom - top), words(x, bottom + 17, str(tick), css=css)]
        return Markup("").join([*parts, words(self.left, bottom + 36, "rank, 1 is best", css="small ink")])


def ranks_up_to(ranks: Iterable[float | None], *, least: int) -> int:
    """How many columns ranks need; what is not finite needs none."""
    return max([least, 1, *(math.ceil(rank) for rank in ranks if rank is not None and math.isfinite(rank))])


def middle_of(shares: Sequence[float], *, level: float = 0.95) -> tuple[int, int, int] | None:
    """The smallest ranks that (1 − level)/2, one half and (1 + level)/2 of the draws do not exceed; None without draws.

    Examples
    --------
    >>> middle_of([0.5, 0.25, 0.25])
    (1, 1, 3)
    """
    sums = list(accumulate(shares))
    if not sums or sums[-1] <= 0:
        return None
    slack = 1e-9 * sums[-1]  # a sum of shares is exact only within rounding
    low, half, high = (
        next(rank for rank, held in enumerate(sums, start=1) if held >= share * sums[-1] - slack)
        for share in ((1 - level) / 2, 0.5, (1 + level) / 2)
    )
    return low, half, high


def per_cent(share: float) -> str:
    """A share as a text: "34.0 %", "< 0.1 %"."""
    return "< 0.1 %" if 0 < share < 0.001 else f"{100 * share:.1f} %"
