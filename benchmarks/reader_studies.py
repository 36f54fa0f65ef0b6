"""Reader studies: a split-plot of PI-CAI's size, a very large one, the matched bootstrap, exact permutations.

No multi-reader multi-case analysis is to be had from the Python Package Index; the peers are programs in R and Java. In
this process the peer is what one writes with numpy from the formulas of Gallas: the kernel of every reader as a matrix,
reader after reader. The definition itself, a loop over pairs of pairs of cases, is the oracle of the tests on seven
cases; a study of this size would keep it busy for years. picai_eval and scipy are the peers of the rest.

    python -m benchmarks.reader_studies             a few minutes
    python -m benchmarks.reader_studies --million   the matched bootstrap with all of PI-CAI's 1 000 000 replicates
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import permutation_test as scipy_permutation_test

from benchmarks.timing import best, compare
from isocenter.stats import matched_bootstrap, permutation_test
from isocenter.stats.mrmc import analyse

MILLION = 1_000_000
MODALITIES = ("AI-assisted", "alone")
# From sums over what two pairs have in common to sums over that and nothing else, within and between readers.
WITHIN = np.array([[1, 0, 0, 0], [-1, 1, 0, 0], [-1, 0, 1, 0], [1, -1, -1, 1]])
ONLY = np.block([[WITHIN, np.zeros((4, 4), dtype=int)], [-WITHIN, WITHIN]])


def study(readers: int, cases: int, *, blocks: int) -> tuple[np.ndarray, np.ndarray]:
    """Truth per case, and scores by modality, reader and case: NaN where a case is of another block."""
    rng = np.random.default_rng(0)
    truth = rng.permutation(cases) < 0.35 * cases
    of_case, of_reader = rng.normal(truth * 1.5), rng.normal(0, 0.2, (2, readers, 1))
    scores = np.round(of_case + of_reader + rng.normal(0, 0.8, (2, readers, cases)), 1)
    block = np.empty(cases, dtype=int)
    for group in (truth, ~truth):
        block[group] = np.arange(group.sum()) % blocks
    scores[:, (np.arange(readers) % blocks)[:, None] != block] = np.nan
    return truth, scores


def reads_of(truth: np.ndarray, scores: np.ndarray) -> pl.DataFrame:
    modality, reader, case = np.nonzero(~np.isnan(scores))
    names = {name: [f"{name}{n}" for n in range(size)] for name, size in zip("rc", scores.shape[1:], strict=True)}
    columns = {
        "reader_id": pl.Series(names["r"])[reader],
        "modality_id": pl.Series(MODALITIES)[modality],
        "case_id": pl.Series(names["c"])[case],
        "truth": truth[case].astype(np.int64),
        "score": scores[modality, reader, case],
    }
    return pl.DataFrame(columns)


def eight(a: list[np.ndarray], b: list[np.ndarray]) -> np.ndarray:
    """The eight sums of products of two lists of matrices, one per reader: within readers, then over them."""

    def four(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.array([np.vdot(x, y), x.sum(0) @ y.sum(0), x.sum(1) @ y.sum(1), x.sum() * y.sum()])

    return np.append(sum(four(x, y) for x, y in zip(a, b, strict=True)), four(sum(a), sum(b)))


def plain(truth: np.ndarray, scores: np.ndarray) -> float:
    """Variance of the difference of the mean AUCs, by matrices of the kernels of all readers."""
    kernels, designs = [], []
    for of_modality in scores:
        kernels.append([])
        designs.append([])
        for x in of_modality:
            normal, diseased = x[~truth][:, None], x[truth][None]
            kernels[-1].append((diseased > normal) + 0.5 * (diseased == normal))
            designs[-1].append((~np.isnan(normal) & ~np.isnan(diseased)).astype(float))

    def covariance(a: int, b: int) -> float:
        sums, sizes = ONLY @ eight(kernels[a], kernels[b]), ONLY @ eight(designs[a], designs[b])
        share = sizes / eight(designs[a], designs[b])[-1]
        share[-1] -= 1
        return float(share @ np.divide(sums, sizes, out=np.zeros(8), where=sizes > 0.5))

    return covariance(0, 0) + covariance(1, 1) - 2 * covariance(0, 1)


def split_plot(readers: int = 60, cases: int = 400, blocks: int = 4) -> None:
    truth, scores = study(readers, cases, blocks=blocks)
    reads = reads_of(truth, scores)
    found = analyse(reads).pairs[MODALITIES]
    assert abs(found.variance - plain(truth, scores)) < 1e-12
    compare(
        f"{readers} readers × {cases} cases × 2 modalities in {blocks} blocks, {reads.height} reads, all tables",
        lambda: analyse(reads),
        {"numpy, one variance of these": lambda: plain(truth, scores)},
        repeat=3,
    )
    took = best(lambda: analyse(reads, method="or"), repeat=3)
    print(f"  {'isocenter, --method or':<32} {took.cpu * 1e3:9.1f} ms CPU {took.wall * 1e3:9.1f} ms wall")


def large(readers: int = 10, cases: int = 32_000) -> None:
    """In a process of its own, so that the memory is its own."""
    print(f"\n{readers} readers × {cases} cases × 2 modalities, {2 * readers * cases} reads, all tables", flush=True)
    subprocess.run([sys.executable, "-m", "benchmarks.reader_studies", "--large", f"{readers}", f"{cases}"], check=True)


def _large(readers: int, cases: int) -> None:
    analyse(reads_of(*study(3, 60, blocks=1)))  # compiles
    reads, before, start = reads_of(*study(readers, cases, blocks=1)), _peak(), time.perf_counter()
    analyse(reads)
    took = time.perf_counter() - start
    truth = reads.unique("case_id")["truth"].to_numpy()
    dense = 8 * truth.sum() * (truth == 0).sum() / 1e6
    print(f"  {'isocenter':<32} {took:9.1f} s wall, peak {_peak():.0f} MB, of which {before:.0f} MB before it began")
    print(f"  {'numpy':<32} one kernel of one reader would be {dense:.0f} MB")


def _peak() -> float:
    """MB of memory that this process had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def matched(cases: int = 1000, instances: int = 10, *, replicates: int = 2000, million: bool = False) -> None:
    from picai_eval.statistical_helper import perform_matched_boostrapping

    rng = np.random.default_rng(0)
    truth = rng.random(cases) < 0.35
    shared = rng.normal(truth * 1.5)
    call, scores = shared + rng.normal(size=cases) > 0.8, shared + rng.normal(0, 0.7, (instances, cases))
    print(f"\nMatched paired bootstrap, {cases} cases, {instances} instances; per replicate and, by that, a million")
    few = 20
    for name, work, made in (
        ("isocenter, matched anew", lambda: matched_bootstrap(truth, call, scores, replicates=replicates), replicates),
        (
            "isocenter, matched once",
            lambda: matched_bootstrap(truth, call, scores, replicates=replicates, flavour="published"),
            replicates,
        ),
        (
            "picai_eval, matched once",
            lambda: perform_matched_boostrapping(truth, scores, call, iterations=few, seed=0, verbose=False),
            few,
        ),
    ):
        work()
        each = best(work, repeat=2).cpu / made
        print(f"  {name:<32} {each * 1e6:9.1f} µs CPU {each * MILLION / 60:9.1f} min")
    if million:
        for workers in (1, 2):
            took = best(
                lambda n=workers: matched_bootstrap(truth, call, scores, replicates=MILLION, workers=n), repeat=1
            )
            title = f"a million, {workers} worker{'s' * (workers > 1)}"
            print(f"  {title:<32} {took.cpu:9.1f} s CPU  {took.wall:9.1f} s wall")


def rank(a: np.ndarray, b: np.ndarray, axis: int) -> np.ndarray:
    """P(a > b) + ½ P(a = b), of many relabellings at once."""
    ahead = np.moveaxis(a, axis, -1)[..., :, None] - np.moveaxis(b, axis, -1)[..., None, :]
    return np.asarray(((ahead > 0) + 0.5 * (ahead == 0)).mean(axis=(-2, -1)))


def scipy_p(a: np.ndarray, b: np.ndarray, rounds: float) -> float:
    options = {"alternative": "greater", "vectorized": True, "batch": 2000, "rng": np.random.default_rng(0)}
    return float(scipy_permutation_test((a, b), rank, n_resamples=rounds, **options).pvalue)


def permutations(readers: int = 62, instances: int = 10) -> None:
    from picai_eval.statistical_helper import perform_permutation_test

    rng = np.random.default_rng(0)
    panel, algorithm = np.round(rng.normal(0.86, 0.05, readers), 4), np.round(rng.normal(0.91, 0.02, instances), 4)

    found = permutation_test(algorithm, panel)
    assert found.method == "exact"
    small = permutation_test(algorithm[:5], panel[:6])
    assert abs(small.p_value - scipy_p(algorithm[:5], panel[:6], np.inf)) < 1e-12
    print(f"\nPermutation test, {readers} readers against {instances} instances, p = {found.p_value:.3g}")
    mine = best(lambda: permutation_test(algorithm, panel), repeat=3)
    print(f"  {f'isocenter, all {found.relabellings:.2g}':<32} {mine.cpu * 1e3:9.1f} ms CPU, exact")
    for name, work, rounds in (
        ("picai_eval (mlxtend)", lambda n: perform_permutation_test(panel, algorithm, iterations=n), 200),
        ("scipy permutation_test", lambda n: scipy_p(algorithm, panel, n), 10_000),
    ):
        each = best(lambda work=work, rounds=rounds: work(rounds), repeat=1).cpu / rounds
        ratio = each * MILLION / mine.cpu
        print(f"  {name + ', 10⁶ drawn':<32} {each * MILLION:9.1f} s CPU by {rounds} of them   {ratio:.0f}× CPU")


def run(_folder: Path, *, million: bool = False) -> None:
    split_plot()
    large()
    matched(million=million)
    permutations()


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--large", readers, cases]:
            _large(int(readers), int(cases))
        case []:
            run(Path(tempfile.gettempdir()))
        case ["--million"]:
            run(Path(tempfile.gettempdir()), million=True)
        case other:
            sys.exit(f"unknown: {' '.join(other)}; there is --million")
