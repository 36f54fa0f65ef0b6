"""The U-statistics against their definition, pair by pair, and against what must not change them."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from isocenter.stats.mrmc import analyse
from isocenter.stats.mrmc._kernels import joint_wins

COLUMNS = ["reader_id", "modality_id", "case_id", "truth", "score"]
TRUTH = [0, 0, 0, 0, 1, 1, 1]


@st.composite
def studies(draw: st.DrawFn, *, missing: bool = True, weights: bool = False) -> pl.DataFrame:
    """Three readers, two modalities, seven cases and ordinal scores, each reader with two cases of a class at least."""
    readers = draw(st.sampled_from(["same", "apart"]))
    rows = []
    for modality, n in product("AB", range(3)):
        reader = f"r{n}" if readers == "same" else f"{modality}{n}"
        scores = draw(st.lists(st.integers(0, 4), min_size=7, max_size=7))
        read = [True, True, *draw(st.lists(st.booleans(), min_size=2, max_size=2)), draw(st.booleans()), True, True]
        rows += [
            (reader, modality, f"c{case}", truth, float(score))
            for case, (truth, score) in enumerate(zip(TRUTH, scores, strict=True))
            if read[case] or not missing
        ]
    reads = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    if not weights:
        return reads
    drawn = draw(st.lists(st.floats(0.5, 3), min_size=7, max_size=7))
    return reads.with_columns(weight=pl.col("case_id").replace_strict({f"c{n}": w for n, w in enumerate(drawn)}))


def kernels(reads: pl.DataFrame, modality: str, *, equal: bool) -> list[tuple[str, str, str, float, float]]:
    """Reader, normal case, diseased case, weight and kernel of every pair of cases that somebody read."""
    found = []
    for (reader,), part in reads.filter(modality_id=modality).group_by("reader_id", maintain_order=True):
        weight = dict(part.select("case_id", "weight").iter_rows()) if "weight" in reads.columns else {}
        rows = list(part.select("case_id", "truth", "score").iter_rows())
        pairs = [(i, j) for i in rows for j in rows if not i[1] and j[1]]
        size = sum(weight.get(i[0], 1) * weight.get(j[0], 1) for i, j in pairs) if equal else 1
        for i, j in pairs:
            w = weight.get(i[0], 1) * weight.get(j[0], 1) / size
            found.append((reader, i[0], j[0], w, (j[2] > i[2]) + 0.5 * (j[2] == i[2])))
    return found


def centres(reads: pl.DataFrame, found: list[tuple[str, str, str, float, float]]) -> dict[str, float]:
    """The AUC of each reader, where cases of a class differ in weight; 0 where kernels are taken as they are."""
    weights = "weight" in reads.columns and reads.group_by("truth").agg(pl.col("weight").n_unique())["weight"].max() > 1
    readers = {reader for reader, *_ in found}
    sums = {r: [sum(w * x for q, *_, w, s in found if q == r for x in (s**n,)) for n in (1, 0)] for r in readers}
    return {r: top / bottom if weights else 0.0 for r, (top, bottom) in sums.items()}


def covariance(reads: pl.DataFrame, a: str, b: str, *, equal: bool) -> tuple[float, float]:
    """Unbiased and MLE covariance by their definition: a loop over all pairs of kernels."""
    one, two = kernels(reads, a, equal=equal), kernels(reads, b, equal=equal)
    top, bottom = np.zeros((2, 2, 2)), np.zeros((2, 2, 2))
    first, second = centres(reads, one), centres(reads, two)
    for (r, i, j, w, s), (q, k, m, v, t) in product(one, two):
        at = int(r == q), int(i == k), int(j == m)
        top[at] += w * v * ((s - first[r]) * (t - second[q]) + first[r] * second[q])
        bottom[at] += w * v
    unbiased = mle = 0.0
    for at in product((0, 1), repeat=3):
        # At least what is shared here: everything from this corner of the cube on.
        upper = tuple(slice(x, None) for x in at)
        c = bottom[at] / bottom.sum() - (at == (0, 0, 0))
        if bottom[at] > 1e-9:
            unbiased += c * top[at] / bottom[at]
        if bottom[upper].sum() > 1e-9:
            mle += c * top[upper].sum() / bottom[upper].sum()
    return unbiased, mle


@settings(max_examples=40, deadline=None)
@given(studies(), st.sampled_from(["equal", "pairs"]))
def test_variances_are_those_of_the_definition(reads, reader_weight) -> None:
    check_against_the_definition(reads, reader_weight)


@settings(max_examples=25, deadline=None)
@given(studies(weights=True), st.sampled_from(["equal", "pairs"]))
def test_variances_with_case_weights_are_those_of_the_definition(reads, reader_weight) -> None:
    check_against_the_definition(reads, reader_weight)


def check_against_the_definition(reads: pl.DataFrame, reader_weight: str) -> None:
    analysis = analyse(reads, reader_weight=reader_weight)
    truth = {
        names: covariance(reads, *names, equal=reader_weight == "equal")
        for names in [("A", "A"), ("B", "B"), ("A", "B")]
    }
    for name, modality in analysis.modalities.items():
        pairs = kernels(reads, name, equal=reader_weight == "equal")
        auc = sum(w * s for *_, w, s in pairs) / sum(w for *_, w, _ in pairs)
        assert modality.auc == pytest.approx(auc, abs=1e-12)
        found = modality.variances["unbiased"], modality.variances["mle"]
        assert found == pytest.approx(truth[name, name], abs=1e-12)
    pair = analysis.pairs["A", "B"]
    for n, kind in enumerate(("unbiased", "mle")):
        difference = truth["A", "A"][n] + truth["B", "B"][n] - 2 * truth["A", "B"][n]
        assert pair.variances[kind] == pytest.approx(difference, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_joint_wins_are_those_of_all_pairs_of_cases(data) -> None:
    columns, cases = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 9))
    draw = lambda of, n: data.draw(st.lists(of, min_size=n, max_size=n))  # noqa: E731
    score = np.array([draw(st.integers(0, 3), cases) for _ in range(columns)])
    read = np.array([draw(st.booleans(), cases) for _ in range(columns)])
    positive, weight = np.array(draw(st.booleans(), cases)), np.array(draw(st.floats(0.1, 5), cases))
    levels = np.where(read, score, -1).astype(np.int32)
    order = np.full(levels.shape, -1, dtype=np.int32)
    for k in range(columns):
        chosen = np.flatnonzero(read[k])
        order[k, : chosen.size] = chosen[np.argsort(levels[k, chosen], kind="stable")]
    plain = np.zeros((columns, columns))
    for i, j in product(np.flatnonzero(~positive), np.flatnonzero(positive)):
        kernel = ((score[:, j] > score[:, i]) + 0.5 * (score[:, j] == score[:, i])) * read[:, i] * read[:, j]
        plain += weight[i] * weight[j] * np.outer(kernel, kernel)
    assert joint_wins(order, levels, positive, weight) == pytest.approx(plain)


def same(one, two) -> None:
    for a, b in combinations("AB", 2):
        first, second = one.pairs[a, b], two.pairs[a, b]
        assert first.difference == pytest.approx(second.difference, abs=1e-12)
        assert first.variances == pytest.approx(second.variances, abs=1e-12)
    for name in "AB":
        assert one.modalities[name].variances == pytest.approx(two.modalities[name].variances, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(studies(), st.sampled_from(["ustat", "or"]))
def test_scores_count_by_their_order_only(reads, method) -> None:
    same(analyse(reads, method=method), analyse(reads.with_columns(pl.col("score").exp() - 7), method=method))


@settings(max_examples=25, deadline=None)
@given(studies(weights=True), st.randoms(use_true_random=False))
def test_the_order_of_rows_and_the_names_of_readers_and_cases_do_not_matter(reads, chance) -> None:
    rows = reads.rows()
    chance.shuffle(rows)
    names = {name: f"x{9 - n}" for n, name in enumerate(reads["reader_id"].unique(maintain_order=True))}
    shuffled = pl.DataFrame(rows, schema=reads.schema, orient="row").with_columns(
        pl.col("reader_id").replace(names), "y" + pl.col("case_id").str.reverse()
    )
    same(analyse(reads), analyse(shuffled))


@settings(max_examples=25, deadline=None)
@given(studies(weights=True), st.floats(0.01, 100) | st.sampled_from([1e-300, 1e-200, 1e200, 1e300]))
def test_only_the_proportions_of_weights_matter(reads, factor) -> None:
    same(analyse(reads), analyse(reads.with_columns(pl.col("weight") * factor)))


@settings(max_examples=25, deadline=None)
@given(studies())
def test_turning_scores_and_truth_round_changes_nothing(reads) -> None:
    same(analyse(reads), analyse(reads.with_columns(score=-pl.col("score"), truth=1 - pl.col("truth"))))


@settings(max_examples=25, deadline=None)
@given(studies(missing=False))
def test_where_all_read_all_reader_weights_do_not_matter(reads) -> None:
    same(analyse(reads, reader_weight="equal"), analyse(reads, reader_weight="pairs"))


@settings(max_examples=40, deadline=None)
@given(studies())
def test_whatever_the_scores_no_number_is_undefined(reads) -> None:
    for options in ({}, {"variance": "mle"}, {"method": "or"}, {"readers": "fixed"}, {"compat": "imrmc-4.0.3"}):
        analysis = analyse(reads, **options)
        for one in (*analysis.modalities.values(), *analysis.pairs.values()):
            assert one.variance >= 0
            assert one.low <= one.high
            assert one.df >= 1
            assert (one.status == "zero") == (one.variance == 0)
        assert 0 <= analysis.pairs["A", "B"].p <= 1


@settings(max_examples=30, deadline=None)
@given(studies(missing=False))
def test_fixed_readers_have_the_variance_over_cases_alone(reads) -> None:
    assume(analyse(reads).pairs["A", "B"].status == "ok")
    u = analyse(reads, readers="fixed").pairs["A", "B"].variances["unbiased"]
    term = analyse(reads, method="or", readers="fixed").pairs["A", "B"]
    if term.status == "ok":
        assert u == pytest.approx(term.variance, abs=1e-12)
