"""Numbers of people that may be published: whoever knows the rest cannot work out a small one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.editions import LEAST, pool, pool_rows

COUNTS = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(0, 12), max_size=8)
ROWS = st.dictionaries(st.sampled_from("abcdef"), st.tuples(*[st.integers(0, 12)] * 3), max_size=6)


class TestPooling:
    @given(COUNTS)
    def test_no_small_number_is_published_and_none_is_lost(self, counts: dict[str, int]) -> None:
        found = pool(counts)
        if found is None:
            return
        assert all(number >= LEAST for number in found.shown.values())
        assert sum(found.shown.values()) + found.rest == sum(counts.values())
        assert {*found.shown, *found.together} == {name for name, count in counts.items() if count}
        assert not found.together or found.rest >= LEAST

    @given(COUNTS)
    def test_the_total_leaves_every_pooled_number_at_least_five_values(self, counts: dict[str, int]) -> None:
        """Whoever knows the table and the total tries all numbers, each at least 1, that add up to the rest."""
        found = pool(counts)
        if found is None or not found.together:
            return
        rest = sum(counts.values()) - sum(found.shown.values())
        kinds = len(found.together)
        most = rest - (kinds - 1)
        possible: list[set[int]] = [set() for _ in range(kinds)]
        for numbers in itertools.product(range(1, min(most, 7) + 1), repeat=min(kinds, 3) - 1):
            first = rest - sum(numbers) - (kinds - 1 - len(numbers))
            if first >= 1:
                for at, number in enumerate((first, *numbers)):
                    possible[at].add(number)
        assert kinds > 1
        assert all(len(values) >= LEAST for values in possible[: min(kinds, 3)])

    @given(COUNTS)
    def test_small_numbers_are_pooled_or_nothing_is_published(self, counts: dict[str, int]) -> None:
        small = any(0 < count < LEAST for count in counts.values())
        found = pool(counts)
        assert found is None or bool(found.together) == small

    @given(COUNTS, st.randoms())
    def test_the_order_of_the_answers_does_not_matter(self, counts: dict[str, int], random: Any) -> None:
        names = list(counts)
        random.shuffle(names)
        assert pool({name: counts[name] for name in names}) == pool(counts)

    @given(ROWS)
    def test_a_crossed_table_has_no_small_number_at_all(self, rows: dict[str, tuple[int, ...]]) -> None:
        found = pool_rows(rows)
        if found is None:
            return
        published = [*found.shown.values(), *([found.rest] if found.together else [])]
        assert all(number == 0 or number >= LEAST for row in published for number in row)
        assert len(found.together) != 1
        assert [sum(column) for column in zip(*published, strict=True)] == [
            sum(column) for column in zip(*[row for row in rows.values() if any(row)], strict=True)
        ]

    def test_one_small_number_takes_the_next_larger_one_with_it(self) -> None:
        found = pool({"man": 40, "woman": 12, "other": 1})
        assert found is not None
        assert (found.shown, found.together, found.rest) == ({"man": 40}, ("other", "woman"), 13)

    @pytest.mark.parametrize("counts", [{"a": 4}, {"a": 1, "b": 1}, {"a": 1, "b": 2, "c": 3}])
    def test_a_handful_of_people_is_not_published(self, counts: dict[str, int]) -> None:
        assert pool(counts) is None

    @pytest.mark.parametrize("made", [pool, pool_rows])
    def test_nobody_is_nothing(self, made: Callable[[dict[str, Any]], Any]) -> None:
        found = made({})
        assert found is not None
        assert not found.shown
        assert not found.together
