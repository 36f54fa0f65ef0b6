"""What a reader study is made of: where variance comes from, and how readers and cases are dealt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass
from itertools import product
from numbers import Integral


@dataclass(frozen=True)
class VarianceComponents:
    """Variance that comes of negative cases (n), positive cases (d), readers (r) and what these do together.

    Of one modality, of the covariance of two, or of their difference: first + second − 2 × cross.
    """

    n: float = 0.0
    d: float = 0.0
    nd: float = 0.0
    r: float = 0.0
    nr: float = 0.0
    dr: float = 0.0
    rnd: float = 0.0

    @classmethod
    def from_moments(cls, moments: Sequence[float]) -> VarianceComponents:
        """From the eight second moments of Gallas: M₁…M₄ of the same reader, M₅…M₈ of different readers.

        In each four: same cases, same positive case, same negative case, no case in common.
        """
        if len(moments) != 8:
            msg = f"there are eight moments, M1 to M8, not {len(moments)}"
            raise ValueError(msg)
        m1, m2, m3, m4, m5, m6, m7, m8 = (float(m) for m in moments)
        return cls(
            n=m7 - m8,
            d=m6 - m8,
            nd=m5 - m6 - m7 + m8,
            r=m4 - m8,
            nr=m3 - m4 - m7 + m8,
            dr=m2 - m4 - m6 + m8,
            rnd=m1 - m2 - m3 + m4 - m5 + m6 + m7 - m8,
        )


@dataclass(frozen=True)
class PairComponents:
    """The components of two modalities and of their covariance: what a design that is not paired throughout needs."""

    first: VarianceComponents
    second: VarianceComponents
    cross: VarianceComponents

    @property
    def difference(self) -> VarianceComponents:
        """Of the difference in a study in which readers and cases are the same for both."""
        triples = zip(astuple(self.first), astuple(self.second), astuple(self.cross), strict=True)
        return VarianceComponents(*(a + b - 2 * c for a, b, c in triples))


@dataclass(frozen=True)
class Design:
    """A study: how many readers, negative and positive cases there are in all, and how they are dealt.

    Blocks are of equal size; where numbers cannot be divided evenly, their mean size counts. What is not paired is
    split between the modalities, half of it to each.
    """

    readers: int
    negatives: int
    positives: int
    blocks: int = 1
    paired_readers: bool = True
    paired_negatives: bool = True
    paired_positives: bool = True

    def __post_init__(self) -> None:
        named: dict[str, object] = {"readers": self.readers, "negatives": self.negatives, "positives": self.positives}
        broken = {
            name: number
            for name, number in (named | {"blocks": self.blocks}).items()
            if not isinstance(number, Integral)
        }
        if broken:
            found = ", ".join(f"{number!r} {name}" for name, number in broken.items())
            msg = f"a study has whole numbers of readers, cases and blocks, not {found}"
            raise ValueError(msg)
        if self.blocks < 1:
            msg = f"a study has at least 1 block, not {self.blocks}"
            raise ValueError(msg)
        parts = zip(named, self._numbers, self._paired, strict=True)
        problems = [
            f"{number} {name} are too few for {self.blocks} blocks" + ("" if paired else " of two modalities each")
            for name, number, paired in parts
            if number < self.blocks * (2 - paired)
        ]
        if problems:
            msg = "this is no study: " + "; ".join(problems)
            raise ValueError(msg)

    @property
    def _numbers(self) -> tuple[int, int, int]:
        return self.readers, self.negatives, self.positives

    @property
    def _paired(self) -> tuple[bool, bool, bool]:
        return self.paired_readers, self.paired_negatives, self.paired_positives

    @property
    def paired(self) -> bool:
        """Whether both modalities have the same readers and the same cases."""
        return all(self._paired)

    @property
    def per_modality(self) -> tuple[float, float, float]:
        """Readers, negative and positive cases of one modality, all blocks together."""
        r, n, d = (number / (2 - paired) for number, paired in zip(self._numbers, self._paired, strict=True))
        return r, n, d

    @property
    def shares(self) -> VarianceComponents:
        """What each component of one modality is multiplied with."""
        (r, n, d), g = self.per_modality, self.blocks
        return VarianceComponents(1 / n, 1 / d, g / (n * d), 1 / r, g / (r * n), g / (r * d), g * g / (r * n * d))

    @property
    def common(self) -> VarianceComponents:
        """Which components both modalities have in common, as 1 and 0."""
        r, n, d = (float(paired) for paired in self._paired)
        return VarianceComponents(n, d, n * d, r, r * n, r * d, r * n * d)

    def __str__(self) -> str:
        blocks = "" if self.blocks == 1 else f" in {self.blocks} blocks"
        cases = self.negatives + self.positives
        apart = [
            name
            for name, paired in zip(("readers", "negative cases", "positive cases"), self._paired, strict=True)
            if not paired
        ]
        split = f", {' and '.join(apart)} not paired" if apart else ""
        return (
            f"{self.readers} readers and {cases} cases ({self.negatives} negative, {self.positives} positive)"
            f"{blocks}{split}"
        )


def designs(
    *, readers: Iterable[int], cases: Iterable[tuple[int, int]], blocks: Iterable[int] = (1,)
) -> tuple[Design, ...]:
    """All paired designs of these numbers of readers, of (negative, positive) cases and of blocks."""
    return tuple(Design(r, n, d, g) for g, (n, d), r in product(list(blocks), list(cases), list(readers)))
