"""One engine for everything that resamples: counts, blocks, intervals, p values."""

from __future__ import annotations

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.resampling import counts as resamples_module
from isocenter.resampling.blocks import block_size, replicate_statistics, seed_generator
from isocenter.resampling.counts import (
    Resamples,
    draw_counts,
    draw_multinomial,
    group_by_stratum,
    resample_cases,
    resample_in_parts,
)
from isocenter.resampling.estimates import resample_means
from isocenter.resampling.intervals import percentile_bounds, percentile_interval
from isocenter.resampling.permutations import (
    count_as_far,
    draw_flips,
    draw_relabellings,
    list_flips,
    list_relabellings,
    p_value,
    share_of_flips,
    share_of_relabellings,
)

Floats = np.ndarray[Any, np.dtype[np.float64]]
VALUES = np.array([3.0, 1.0, 4.0, 1.0, 5.0])


def measure_means(rng: np.random.Generator, out: Floats) -> int:
    out[:, 0] = draw_counts(rng, VALUES.size, len(out)) @ VALUES / VALUES.size
    return len(out)


def replicated(replicates: int = 700, **options: Any) -> tuple[Floats, int]:
    settings = {"columns": 1, "units": VALUES.size, "seed": 3} | options
    measure = settings.pop("measure", measure_means)
    return replicate_statistics(measure, replicates=replicates, **settings)


class TestBlocks:
    @pytest.mark.parametrize("workers", [1, 2, 5])
    def test_the_number_of_workers_changes_nothing(self, workers: int) -> None:
        assert (replicated(workers=workers)[0] == replicated()[0]).all()

    def test_more_replicates_begin_with_the_same_ones(self) -> None:
        assert (replicated(700)[0][:300] == replicated(300)[0]).all()

    def test_replicates_are_those_of_the_count_matrix_of_the_same_seed(self) -> None:
        means = resample_means([VALUES], resample_cases(VALUES.size, replicates=700, seed=3))
        np.testing.assert_array_equal(replicated()[0][:, 0], means[0])

    def test_progress_ends_with_all_and_never_goes_back(self) -> None:
        steps: list[tuple[int, int]] = []
        replicated(progress=lambda done, total: steps.append((done, total)))
        assert steps == [(256, 700), (512, 700), (700, 700)]

    def test_undefined_resamples_are_drawn_again_and_counted(self) -> None:
        def measure(rng: np.random.Generator, out: Floats) -> int:
            counts = draw_counts(rng, 5, len(out))
            defined = counts[counts[:, 0] > 0]
            out[: len(defined), 0] = defined[:, 0]
            return len(defined)

        samples, redrawn = replicated(2000, measure=measure)
        assert (samples > 0).all()
        assert redrawn / (2000 + redrawn) == pytest.approx(0.8**5, abs=0.04)

    def test_a_statistic_that_is_never_defined_is_an_error_and_no_endless_loop(self) -> None:
        with pytest.raises(ValueError, match="of 20020 resamples 0 were of use: there are too few cases"):
            replicated(20, measure=lambda rng, out: 0, defined="were of use")

    def test_one_stream_gives_one_resample_after_another(self) -> None:
        samples, _ = replicated(600, stream=np.random.default_rng(8), workers=4)
        counts = draw_counts(np.random.default_rng(8), 5, 600)
        np.testing.assert_array_equal(samples[:, 0], counts @ VALUES / 5)

    def test_blocks_of_many_cases_are_smaller(self) -> None:
        assert [block_size(cases) for cases in (1, 7812, 8000, 3_000_000)] == [256, 256, 250, 1]

    def test_streams_of_blocks_differ(self) -> None:
        first = {seed_generator(seed, *key).integers(1 << 60) for seed, *key in ((0, 0), (0, 1), (1, 0), (0, 0, 0))}
        assert len(first) == 4


class TestCounts:
    @pytest.mark.parametrize("draw", [draw_counts, draw_multinomial])
    def test_a_resample_has_as_many_cases_as_there_are_and_each_equally_often(self, draw: Any) -> None:
        counts = draw(np.random.default_rng(1), 6, 4000)
        assert (counts.sum(axis=1) == 6).all()
        totals = counts.sum(axis=0)
        assert ((totals - 4000) ** 2 / 4000).sum() < 20.5  # chi-squared, 5 degrees of freedom, p = 0.001
        assert counts.var(axis=0) == pytest.approx(np.full(6, 5 / 6), rel=0.1)

    def test_every_stratum_keeps_its_size(self) -> None:
        strata = np.array(["x", "y", "x", "z", "y", "x"])
        counts = draw_counts(np.random.default_rng(0), 6, 50, group_by_stratum(strata, 6))
        assert {tuple(counts[:, strata == name].sum(axis=1)) for name in "xyz"} == {(3,) * 50, (2,) * 50, (1,) * 50}

    def test_parts_are_the_whole(self, monkeypatch: pytest.MonkeyPatch) -> None:
        whole = resample_cases(9, replicates=1500, seed=4)
        monkeypatch.setattr(resamples_module, "_MOST_COUNTS", 9 * 256 * 2)
        parts = list(resample_in_parts(9, replicates=1500, seed=4))
        assert [part.replicates for part in parts] == [512, 512, 476]
        np.testing.assert_array_equal(np.concatenate([part.counts for part in parts]), whole.counts)

    def test_a_count_matrix_is_read_only_and_narrow(self) -> None:
        by_case = Resamples.leave_one_out(4).by_case
        assert by_case.dtype == np.uint8
        with pytest.raises(ValueError, match="read-only"):
            by_case[0, 0] = 3


class TestIntervals:
    def test_bounds_of_one_statistic_are_those_of_its_row(self) -> None:
        rows = np.random.default_rng(2).normal(size=(3, 501))
        intervals = percentile_interval(rows, level=0.9)
        assert [percentile_bounds(row, 0.9) for row in rows] == list(zip(intervals.low, intervals.high, strict=True))
        np.testing.assert_allclose(intervals.low, np.percentile(rows, 5, axis=1), rtol=1e-12)


class TestPermutations:
    def test_the_observed_permutation_counts_among_sampled_ones(self) -> None:
        assert p_value(0, 99, sampled=True) == 0.01
        assert p_value(99, 99, sampled=True) == 1.0
        assert p_value(3, 12, sampled=False) == 0.25

    def test_what_is_as_far_depends_on_the_tail_and_not_on_noise(self) -> None:
        blocks = [np.array([-2.0, 1.0]), np.array([2.0 - 1e-14, 3.0])]
        far = {tail: count_as_far(blocks, 2.0, tail, noise=1e-12) for tail in ("greater", "less", "two-sided")}
        assert far == {"greater": (2, 4), "less": (3, 4), "two-sided": (3, 4)}

    def test_all_flips_are_listed_once(self) -> None:
        rows = np.concatenate(list(list_flips(14)))
        assert rows.shape == (1 << 14, 14)
        assert {tuple(row) for row in rows[:64, :6].tolist()} == set(product((1, -1), repeat=6))
        assert len(np.unique(rows, axis=0)) == 1 << 14

    def test_all_relabellings_are_listed_once(self) -> None:
        rows = np.concatenate(list(list_relabellings(7, 3)))
        assert len({tuple(row) for row in rows.tolist()}) == math.comb(7, 3) == len(rows)

    def test_drawn_flips_and_relabellings_are_as_many_as_asked_for_and_fair(self) -> None:
        flips = np.concatenate(list(draw_flips(5, 10_000, 1)))
        assert flips.shape == (10_000, 5)
        assert np.abs(flips.mean(axis=0)).max() < 0.04
        chosen = np.concatenate(list(draw_relabellings(6, 2, 20_000, 1)))
        assert (np.sort(chosen, axis=1)[:, 0] < np.sort(chosen, axis=1)[:, 1]).all()
        assert np.bincount(chosen.ravel()) / 20_000 == pytest.approx(np.full(6, 1 / 3), abs=0.015)

    @given(st.lists(st.integers(1, 12), min_size=1, max_size=9), st.data())
    def test_counted_flips_are_the_share_of_listed_ones(self, parts: list[int], data: st.DataObject) -> None:
        signs = np.array(data.draw(st.lists(st.sampled_from([1, -1]), min_size=len(parts), max_size=len(parts))))
        sizes = np.array(parts)
        observed = int(sizes[signs > 0].sum())
        every = [flips @ sizes for flips in list_flips(len(parts))]
        for tail in ("greater", "less", "two-sided"):
            listed = p_value(*count_as_far(every, float(signs @ sizes), tail, noise=1e-9), sampled=False)
            assert share_of_flips(sizes, observed, tail) == pytest.approx(listed, abs=1e-12)

    @given(st.lists(st.integers(-9, 9), min_size=2, max_size=9), st.data())
    def test_counted_relabellings_are_the_share_of_listed_ones(self, parts: list[int], data: st.DataObject) -> None:
        n = data.draw(st.integers(1, len(parts) - 1))
        values = np.array(parts)
        centred = values - values.mean()
        every = [centred[rows].sum(axis=1) for rows in list_relabellings(len(parts), n)]
        for tail in ("greater", "less", "two-sided"):
            listed = p_value(*count_as_far(every, float(centred[:n].sum()), tail, noise=1e-9), sampled=False)
            assert share_of_relabellings(values, n, tail) == pytest.approx(listed, abs=1e-12)
