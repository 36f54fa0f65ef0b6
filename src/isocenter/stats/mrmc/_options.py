"""What can be asked of the analysis, which of it goes together, and how it reads in a sentence."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from isocenter.stats._differences import one_of
from isocenter.stats.mrmc._covariance import COVARIANCES, Covariance
from isocenter.stats.mrmc._design import Design
from isocenter.stats.mrmc._inference import IMRMC

_COVARIANCES = {"unbiased": "unbiased", "delong": "DeLong's", "jackknife": "jackknife"}


@dataclass(frozen=True)
class Options:
    """The options of `analyse`, under the same names."""

    method: str
    endpoint: str
    threshold: float | None
    level: float
    readers: str
    cases: str
    reader_weight: str | None
    variance: str
    df: str | None
    covariance: Covariance
    blocks: bool
    pooled: bool
    compat: str | None

    def check(self) -> None:
        """Refuse what is unknown or contradicts itself.

        Raises
        ------
        ValueError
            With everything that does not go together.
        """
        one_of("method", self.method, ("ustat", "or"))
        one_of("endpoint", self.endpoint, ("auc", "sensitivity", "specificity"))
        one_of("readers", self.readers, ("random", "fixed"))
        one_of("cases", self.cases, ("random", "fixed"))
        one_of("reader_weight", self.reader_weight, (None, "equal", "pairs"))
        one_of("variance", self.variance, ("unbiased", "mle"))
        one_of("df", self.df, (None, "bdg", "hillis"))
        one_of("covariance", self.covariance, COVARIANCES)
        one_of("compat", self.compat, (None, IMRMC))
        problems = [*self._of_the_endpoint(), *self._of_the_method()]
        if not 0 < self.level < 1:
            problems.append(f"a confidence level lies between 0 and 1, not at {self.level}")
        if self.readers == self.cases == "fixed":
            problems.append("readers and cases cannot both be fixed: nothing would vary")
        if problems:
            raise ValueError("; ".join(problems))

    def _of_the_endpoint(self) -> list[str]:
        if self.endpoint == "auc":
            return [] if self.threshold is None else ["an AUC has no threshold"]
        if self.threshold is None or not math.isfinite(self.threshold):
            return [f"{self.endpoint} needs a finite threshold, not {self.threshold}"]
        if self.method == "or" and self.covariance != "unbiased":
            return [f"the covariances of {self.endpoint} are 'unbiased', not {self.covariance!r}"]
        return []

    def _of_the_method(self) -> list[str]:
        if self.method == "or":
            foreign = {
                "reader_weight='pairs'": self.reader_weight == "pairs",
                "variance='mle'": self.variance == "mle",
                "df='bdg'": self.df == "bdg",
                f"compat={self.compat!r}": self.compat is not None,
            }
        else:
            foreign = {
                "cases='fixed'": self.cases == "fixed",
                f"covariance={self.covariance!r}": self.covariance != "unbiased",
                "blocks=True": self.blocks,
                "pooled=True": self.pooled,
            }
        return [f"{words} is not for method={self.method!r}" for words, given in foreign.items() if given]

    @property
    def weighting(self) -> str:
        """The weights of readers, named or implied."""
        return self.reader_weight or ("equal" if self.compat is None else "pairs")

    @property
    def described(self) -> str:
        """Method, as a part of a sentence."""
        chosen = [f"{self.readers} readers", f"{self.cases} cases"]
        if self.method == "or":
            kind = f"Obuchowski–Rockette analysis with {_COVARIANCES[self.covariance]} covariances"
            chosen += ["block analysis"] * self.blocks + ["one error term for all pairs"] * self.pooled
        else:
            kind = f"{'U' if self.variance == 'unbiased' else 'V'}-statistic variance ({self.variance})"
            chosen.append(
                "readers weighted equally" if self.weighting == "equal" else "readers weighted by pairs of cases"
            )
        at = "" if self.threshold is None else f" at a threshold of {self.threshold:g}"
        what = "empirical AUC" if self.endpoint == "auc" else f"{self.endpoint}{at}"
        return f"{what}, {kind}, {', '.join(chosen)}"

    @property
    def df_described(self) -> str:
        """Rule of the degrees of freedom, as a part of a sentence."""
        if self.method == "or" or self.df == "hillis":
            rule = "degrees of freedom by Hillis"
        else:
            rule = "degrees of freedom by Satterthwaite over readers and cases (BDG)"
        return rule if self.compat is None else f"{rule}, rounded down, normal from 50 on, as iMRMC 4.0.3"


def fixed_modalities(design: Design, fixed: Collection[str], options: Options) -> tuple[frozenset[str], list[str]]:
    """Modalities whose readers are fixed: all, those named, and those of a single reader; and what to say of them.

    A deterministic algorithm that was entered several times is a single reader. U-statistics find that by themselves,
    and iMRMC asks for it; an analysis of variance would take its copies for readers who never differ.

    Raises
    ------
    ValueError
        If one is not in the study, or its readers are random elsewhere; if an option does not fit the design.
    """
    names = frozenset(design.modalities)
    if isinstance(fixed, str):
        msg = f"fixed is a collection of modalities, not the text {fixed!r}: write [{fixed!r}]"
        raise TypeError(msg)
    problems = [
        f"fixed modality {name!r} is not in the study, which has {sorted(names)}" for name in sorted(set(fixed) - names)
    ]
    single = sorted(name for name in names if len(design.columns(name)) == 1)
    copied = sorted(name for name in names if _one_reader_again(design, name))
    held = names if options.readers == "fixed" else (frozenset(fixed) & names) | set(single)
    if options.method == "or":
        held |= set(copied)
    for name in sorted(held):
        elsewhere = {m for m in names - held if set(design.readers(name)) & set(design.readers(m))}
        problems += [
            f"the readers of {name!r} are fixed, but some of them are random readers of {other!r}: take readers='fixed'"
            for other in sorted(elsewhere)
        ]
    panels = {design.readers(name) for name in names}
    disjoint = sum(map(len, panels)) == len(set().union(*panels)) and len(panels) == len(names)
    if options.df == "hillis" and (not design.fully_crossed or held):
        problems.append("df='hillis' needs a fully crossed design with random readers")
    if options.blocks and len(panels) > 1:
        problems.append("blocks=True needs the same readers in all modalities")
    if options.pooled and ((held and options.readers == "random") or (len(panels) > 1 and not disjoint)):
        problems.append("pooled=True needs random readers, the same in all modalities or others in each")
    if options.pooled and disjoint and len(names) > 1 and options.readers == "fixed":
        problems.append("pooled=True has no error term for fixed readers who differ between modalities")
    if problems:
        raise ValueError("; ".join(problems))
    if options.readers == "fixed":
        return held, []
    holds = "the result holds for this reader, not for others like it"
    notes = [f"modality {name} has one reader, taken as fixed: {holds}" for name in single]
    notes += [
        f"all {len(design.columns(name))} readers of modality {name} gave the same scores to the same cases and count "
        f"as one, entered again and taken as fixed: {holds}"
        for name in copied
    ]
    return held, [*notes, *_alike(design, {*held, *copied})]


def _one_reader_again(design: Design, modality: str) -> bool:
    """Whether all readers of a modality, who read in no other, gave the same scores to the same cases."""
    at = design.columns(modality)
    elsewhere = {name for k, name in enumerate(design.reader) if k not in at}
    alone = elsewhere.isdisjoint(design.readers(modality))
    return len(at) > 1 and alone and all(_same(design, at[0], k) for k in at[1:])


def _alike(design: Design, held: Collection[str]) -> list[str]:
    """Readers of a sample who gave the same scores as another of it."""
    pairs = [
        (name, design.reader[first], design.reader[k])
        for name in design.modalities
        if name not in held
        for n, k in enumerate(design.columns(name))
        for first in [next((j for j in design.columns(name)[:n] if _same(design, j, k)), None)]
        if first is not None
    ]
    return [
        f"readers {one} and {two} gave the same score to every case in modality {name}: if they are one reader, "
        "variances are too small"
        for name, one, two in pairs
    ]


def _same(design: Design, one: int, two: int) -> bool:
    return bool(np.array_equal(design.score[one], design.score[two], equal_nan=True))
