"""Algorithms against the readers of a study, at the readers' operating points."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from isocenter.metrics._roc import operating_point
from isocenter.resampling.blocks import check_bootstrap, replicate_statistics
from isocenter.resampling.counts import draw_balanced_counts, group_by_stratum
from isocenter.resampling.permutations import Tail
from isocenter.stats._differences import Floats, one_of
from isocenter.stats._matching import CONJUGATES, Match, PatientMatch, Tie, match_operating_point
from isocenter.stats._permutation import SIDES, PermutationStatistic, PermutationTest, permutation_test
from isocenter.stats._provenance import record
from isocenter.stats._two_way import DF_RULE, METHODS, Asked, TestMethod, compare_crossed, smaller_class
from isocenter.stats._weights import effective_size

# Values are means of shares of cases: what differs by less is a difference of no case, or only rounding. Differences
# have few enough decimals for their sums to be counted, whatever the size of the panel.
_DECIMALS: dict[PermutationStatistic, int] = {"difference": 4, "rank": 9}
_ROUNDING = 1e-12
_NAMED = 5


@dataclass(frozen=True)
class PanelComparison:
    """What `compare_with_panel` found; as text, a sentence of a paper.

    Attributes
    ----------
    match, conjugate
        What instances are set to, reader by reader, and what is compared.
    reader_conjugates
        Of each reader, on the cases that they read.
    instance_conjugates
        Of each reader, those of all instances on the same cases at the reader's operating point.
    difference
        Mean over readers of: the instances' mean minus the reader, without the bias.
    bias
        What matching on the very cases that are compared takes off the difference, by the bootstrap of cases; 0 where
        it is not corrected.
    standard_error, df, low, high, level
        Of the difference, for other cases, readers and trainings. NaN for the published test, which has none.
    p_value, alternative, method
        Of the test that was asked for: "two-way" or "published".
    published
        The permutation test that PI-CAI published; instances are its a, readers its b.
    reader_values, instance_values
        What it relabelled, one per reader and one per instance.
    replicates, redrawn, seed
        Of the bootstrap of cases: how many resamples, how many undefined ones were drawn again, and their seed.
    cases, effective_cases
        How many somebody read, and how many of equal weight they are worth, (Σw)² / Σw².
    """

    match: Match
    conjugate: Match
    reader_conjugates: tuple[float, ...]
    instance_conjugates: tuple[tuple[float, ...], ...]
    difference: float
    bias: float
    standard_error: float
    df: float
    low: float
    high: float
    level: float
    p_value: float
    alternative: Tail
    method: TestMethod
    published: PermutationTest
    reader_values: tuple[float, ...]
    instance_values: tuple[float, ...]
    replicates: int
    redrawn: int
    seed: int | None
    cases: int
    effective_cases: float

    @property
    def speaks_for(self) -> str:
        """What the test holds for."""
        if self.method == "published":
            return "other readers and trainings, on these cases"
        return self._scope("reader", "training")

    def _scope(self, reader: str, instance: str) -> str:
        """For whom a difference with an interval holds; "reader of net" has the plural "readers of net"."""
        groups = ((reader, len(self.reader_values)), (instance, len(self.instance_values)))
        others = [_plural(name) for name, size in groups if size > 1]
        only = [f"this {name}" for name, size in groups if size == 1]
        whom = f"other cases{''.join(f' and {one}' for one in others)}"
        return whom + (f", {' and '.join(only)} only" if only else "")

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        method = {
            "two-way": "variance of cases, readers and instances at the readers' operating points",
            "published": "permutation test of readers and instances at the readers' operating points",
        }
        return record(
            asdict(self) | {"method": self.method}, how=method[self.method], speaks_for=self.speaks_for, df_rule=DF_RULE
        )

    def __str__(self) -> str:
        return self._sentence("reader", "instance", self.speaks_for)

    def sentence_about(self, ai: str, panel: str) -> str:
        """The sentence with the names of the modalities, which is right whoever reads in them."""
        reader, other = f"reader of {panel}", f"reader of {ai}"
        return self._sentence(reader, other, self._scope(reader, other))

    def _sentence(self, reader: str, instance: str, scope: str) -> str:
        readers, instances = len(self.reader_values), len(self.instance_values)
        means = (
            f"At the {self.match} of each of {readers} {_plural(reader)}, the {self.conjugate} of {instances} "
            f"{_plural(instance)} is {np.mean(self.instance_conjugates):.3f} and that of the {_plural(reader)} "
            f"{np.mean(self.reader_conjugates):.3f}"
        )
        if self.method == "published":
            return f"{means} (difference {self.difference:+.3f}); {self.published}"
        without = f" without a bias of {self.bias:+.3f}" if self.bias else ""
        return (
            f"{means}: difference {self.difference:+.3f}{without} ({100 * self.level:g} % CI "
            f"{self.low:.3f} to {self.high:.3f}; t, {self.df:.1f} degrees of freedom; {self.replicates} resamples of "
            f"the cases, seed {self.seed}), {SIDES[self.alternative]}: "
            f"p = {self.p_value:.3g}, for {scope}; published test, on these cases: "
            f"p = {self.published.p_value:.3g}."
        )


def _plural(name: str) -> str:
    noun, of, modality = name.partition(" of ")
    return f"{noun}s{of}{modality}"


class PanelOptions(NamedTuple):
    """How a panel is compared with instances, for patients and lesions alike; see `compare_with_panel`."""

    tie: Tie = "mean"
    statistic: PermutationStatistic = "difference"
    alternative: Tail = "greater"
    method: TestMethod = "two-way"
    level: float = 0.95
    replicates: int = 1000
    seed: int = 0

    def check(self) -> None:
        """Raise ValueError if they are none."""
        one_of("method", self.method, METHODS)
        one_of("alternative", self.alternative, SIDES)
        check_bootstrap(self.replicates, 1, self.level)
        if self.replicates < 2:
            msg = f"a covariance needs at least 2 resamples, not {self.replicates}"
            raise ValueError(msg)


class Conjugates(NamedTuple):
    """Conjugate measures at the readers' operating points.

    Attributes
    ----------
    own, theirs
        Of each reader, and reader × instance.
    nearest
        Reader × instance at the nearest threshold, for the published test.
    """

    own: Floats
    theirs: Floats
    nearest: Floats


def compare_with_panel(
    truth: ArrayLike,
    calls: ArrayLike,
    scores: ArrayLike,
    *,
    match: PatientMatch = "sensitivity",
    weight: ArrayLike | None = None,
    tie: Tie = "mean",
    statistic: PermutationStatistic = "difference",
    alternative: Tail = "greater",
    method: TestMethod = "two-way",
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
) -> PanelComparison:
    """Trained instances of an algorithm against the readers of a study, at the operating point of each reader.

    Parameters
    ----------
    truth
        0 or 1 per case.
    calls
        One row per reader, one column per case: 0, 1, or NaN where the reader did not read the case. In a split-plot
        every reader is compared on the cases that they read.
    scores
        One row per instance, one column per case. A single instance is taken for fixed: the result is of this one.
    match
        What is made equal: "sensitivity" compares specificities, "specificity" sensitivities.
    weight
        Per case, of inverse probabilities of selection; in the matching and in what is compared.
    tie, statistic
        Of the published test: see `match_operating_point`; "difference" compares means of how much better everybody is
        than the others, "rank" the shares of others that they beat, as PI-CAI's code does.
    alternative
        "greater": instances are better than readers.
    method
        "two-way" holds for other cases, readers and trainings. "published" is PI-CAI's permutation test, for other
        readers and trainings on the same cases: where an algorithm errs on the same cases in all trainings, it claims a
        difference that is not there in up to a third of studies at 0.05 (docs/explanation/calibration.md).
    level
        Of the interval.
    replicates, seed
        Bootstrap resamples of the cases within both classes, and their seed.

    Notes
    -----
    At the operating point of reader j there are K + 1 conjugate measures, c_j of the reader and c_jk of the instances,
    read off the ROC curve of the instance: half-way where it is level at the reader's sensitivity, on a straight line
    between points elsewhere. Of a reader who misses nothing, the level end of the curve is taken to be as long as the
    step before it. The difference is the mean of all c_jk − c_j, minus its bias.

    The bias is there because the curve is concave. What is found on the cases as the sensitivity of a reader, and as
    the threshold of an instance for it, is off by chance to either side, and the instance loses more specificity on the
    one than it gains on the other; the reader's threshold is off nowhere. The mean over bootstrap resamples of the
    cases (calls stay as they are, thresholds are found anew) shows how much. What remains is not of the cases: where
    readers or trainings are not equally good, a mean over a concave curve lies below the curve of the mean.
    Lesions matched on precision are not corrected. A curve of recall by precision falls and rises, what resamples make
    of it is mostly noise, and a corrected test claims a difference that is not there in 6 to 9 of 100 studies at 0.05
    (docs/explanation/calibration.md); the difference is then a little against the instances.
    `compare_crossed` of `_two_way` says how the variance is made, with covariances over cases from the same resamples:
    the noise of thresholds is in them.

    For the published test the value of reader j is c_j minus the mean of the c_jk at the nearest threshold (or the
    share of them that c_j is above, ties one half); that of instance k is the mean over readers of c_jk minus the mean
    of the K others (or the share of these). Values are relabelled by `permutation_test`, rounded to 4 decimals, or to 9
    for ranks.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> truth = np.repeat([0, 1], 60)
    >>> calls, scores = truth + rng.normal(size=(4, 120)) > 0.5, 2 * truth + rng.normal(size=(3, 120))
    >>> found = compare_with_panel(truth, calls, scores)
    >>> found.p_value < 0.05, found.low > 0, found.published.p_value < 0.05
    (True, True, True)
    """
    one_of("match", match, ("sensitivity", "specificity"))
    options = PanelOptions(tie, statistic, alternative, method, level, replicates, seed)
    options.check()
    t, c, s, w = _checked(truth, calls, scores, weight)
    own, nearest = np.empty(len(c)), np.empty((len(c), len(s)))
    for j, called in enumerate(c):
        read = ~np.isnan(called)
        _, sensitivity, specificity = operating_point(t[read], called[read], threshold=1.0, weight=w[read])
        target, own[j] = (sensitivity, specificity) if match == "sensitivity" else (specificity, sensitivity)
        nearest[j] = [
            match_operating_point(t[read], row[read], target, match=match, weight=w[read], tie=tie).value for row in s
        ]
    if method == "published":
        return compared(Conjugates(own, nearest, nearest), None, w, options, match=match)
    gaps = _patient_gaps(t > 0, c, s, w, match)
    at_points = Conjugates(own, gaps(None)[0].reshape(nearest.shape) + own[:, None], nearest)
    resampled = Resampled(gaps, smaller_class(t, w), group_by_stratum(t, t.size))
    return compared(at_points, resampled, w, options, match=match)


class Resampled(NamedTuple):
    """What can be measured again on resamples of the cases.

    Attributes
    ----------
    gaps
        Of counts, resamples × cases: instances minus readers, resamples × (readers · instances), of those that are
        defined. Without counts, of the cases as they are.
    smaller
        Cases of the smaller class, in cases of equal weight.
    strata
        Positions of the cases that are resampled together.
    """

    gaps: Callable[[NDArray[np.int32] | None], Floats]
    smaller: float
    strata: list[NDArray[np.int32]]


def compared(
    found: Conjugates, resampled: Resampled | None, weight: Floats, options: PanelOptions, *, match: Match
) -> PanelComparison:
    """Conjugate measures to what everybody is worth, the test asked for, and the published one."""
    of_readers, of_instances = _values(found.own, found.nearest, options.statistic)
    published = permutation_test(
        of_instances,
        of_readers,
        statistic=options.statistic,
        alternative=options.alternative,
        decimals=_DECIMALS[options.statistic],
    )
    gaps = found.theirs - found.own[:, None]
    numbers = dict.fromkeys(("standard_error", "df", "low", "high"), math.nan)
    numbers |= {"difference": float((found.theirs.mean(axis=1) - found.own).mean()), "p_value": published.p_value}
    bias, redrawn = 0.0, 0
    if resampled is not None:
        samples, redrawn = _resample(resampled, weight.size, gaps.size, options)
        # At equal precision a correction would cost the level of the test: see `compare_with_panel`.
        bias = 0.0 if match == "precision" else float(samples.mean()) - numbers["difference"]
        test = compare_crossed(
            gaps,
            samples.reshape(-1, *gaps.shape),
            Asked(options.level, options.alternative, resampled.smaller),
            bias=bias,
        )
        numbers = test._asdict()
    return PanelComparison(
        match=match,
        conjugate=CONJUGATES[match],
        reader_conjugates=tuple(found.own.tolist()),
        instance_conjugates=tuple(map(tuple, found.theirs.tolist())),
        bias=bias,
        level=options.level,
        alternative=options.alternative,
        method=options.method,
        published=published,
        reader_values=tuple(of_readers.tolist()),
        instance_values=tuple(of_instances.tolist()),
        replicates=0 if resampled is None else options.replicates,
        redrawn=redrawn,
        seed=None if resampled is None else options.seed,
        cases=weight.size,
        effective_cases=effective_size(weight),
        **numbers,
    )


def _resample(resampled: Resampled, cases: int, columns: int, options: PanelOptions) -> tuple[Floats, int]:
    def measure(rng: np.random.Generator, out: Floats) -> int:
        measured = resampled.gaps(draw_balanced_counts(rng, cases, len(out), resampled.strata))
        out[: len(measured)] = measured
        return len(measured)

    return replicate_statistics(
        measure, columns=columns, units=cases, replicates=options.replicates, seed=options.seed,
        defined="had cases of both classes, lesions and candidates for every reader",
    )  # fmt: skip


def _patient_gaps(
    truth: NDArray[np.bool_], calls: Floats, scores: Floats, weight: Floats, match: PatientMatch
) -> Callable[[NDArray[np.int32] | None], Floats]:
    from isocenter.stats._panel_kernels import patient_gaps

    if match == "specificity":
        # The same question with the classes, and high and low scores, exchanged.
        truth, calls, scores = ~truth, 1 - calls, -scores
    _, alike = np.unique(np.isnan(calls), axis=0, return_inverse=True)
    alike = alike.reshape(-1)
    turn = np.argsort(alike, kind="stable")
    order = np.argsort(-scores, axis=1, kind="stable")
    ranked = np.take_along_axis(scores, order, axis=1)
    last = np.column_stack([ranked[:, 1:] != ranked[:, :-1], np.ones(len(scores), bool)])
    back = (np.argsort(turn)[:, None] * len(scores) + np.arange(len(scores))).reshape(-1)

    def measure(counts: NDArray[np.int32] | None) -> Floats:
        drawn = np.ones((1, truth.size), np.int32) if counts is None else counts
        out = np.empty((len(drawn), calls.shape[0] * len(scores)))
        defined = patient_gaps(drawn, weight, truth, order, last, calls[turn], alike[turn], out)
        return out[:defined, back]

    return measure


def _values(own: Floats, theirs: Floats, statistic: PermutationStatistic) -> tuple[Floats, Floats]:
    """What each reader and each instance is worth among the others."""
    everybody = np.column_stack([own, theirs])
    ahead = everybody[:, :, None] - everybody[:, None, :]
    if statistic == "rank":
        ahead = (np.sign(np.where(np.abs(ahead) <= _ROUNDING, 0.0, ahead)) + 1) / 2
        ahead -= 0.5 * np.eye(everybody.shape[1])  # nobody is an opponent of their own
    worth = ahead.sum(axis=2) / theirs.shape[1]
    return worth[:, 0], worth[:, 1:].mean(axis=0)


def _checked(
    truth: ArrayLike, calls: ArrayLike, scores: ArrayLike, weight: ArrayLike | None
) -> tuple[Floats, Floats, Floats, Floats]:
    t = np.asarray(truth, dtype=np.float64)
    c, s = (np.atleast_2d(np.asarray(rows, dtype=np.float64)) for rows in (calls, scores))
    w = np.ones(t.shape) if weight is None else np.asarray(weight, dtype=np.float64)
    if t.ndim != 1 or w.shape != t.shape or any(x.ndim != 2 or x.shape[1:] != t.shape or not x.size for x in (c, s)):
        msg = (
            "truth and weights are one per case, calls and scores one row per reader and instance; "
            f"their shapes are {t.shape}, {w.shape}, {c.shape} and {s.shape}"
        )
        raise ValueError(msg)
    problems = [] if np.isin(t, (0, 1)).all() else ["truth is not 0 or 1 everywhere"]
    if not (np.isfinite(w) & (w >= 0)).all():
        problems.append("weights are not finite and from 0 on everywhere")
    problems += [f"instance {k} has no finite score everywhere" for k in np.flatnonzero(~np.isfinite(s).all(axis=1))]
    for j, row in enumerate(c):
        read = ~np.isnan(row)
        if not np.isin(row[read], (0, 1)).all():
            problems.append(f"reader {j} has calls other than 0 and 1")
        problems += [
            f"reader {j} read no {name} case of a weight above 0"
            for name, value in (("positive", 1), ("negative", 0))
            if not w[read & (t == value)].sum() > 0
        ]
    if problems:
        more = f"; and {len(problems) - _NAMED} more" if len(problems) > _NAMED else ""
        msg = "readers and instances (counting from 0) cannot be compared: " + "; ".join(problems[:_NAMED]) + more
        raise ValueError(msg)
    # Cases that nobody read say nothing, and are not drawn.
    somebody = ~np.isnan(c).all(axis=0)
    return t[somebody], c[:, somebody], s[:, somebody], w[somebody]
