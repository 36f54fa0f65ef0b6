"""The voluntary part: answers that belong to nobody, and numbers that tell of nobody."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter import editions
from isocenter.editions import DECLINED, LEAST, EquityQuestion, Question, sealed, tally
from isocenter.evaluation import load_challenge

GENDER = EquityQuestion(name="gender", label="Gender", kind="several", choices=("Woman", "Man", "Other"))
SIGHT = EquityQuestion(name="sight", label="Sight", kind="yes-no")
people = st.lists(
    st.fixed_dictionaries(
        {},
        optional={
            "gender": st.sampled_from([("Woman",), ("Man",), ("Woman", "Other"), (DECLINED,)]),
            "sight": st.sampled_from([True, False, DECLINED]),
        },
    ),
    max_size=30,
)


class TestTally:
    def test_every_question_alone_with_small_numbers_together(self) -> None:
        answers: list[dict[str, object]] = [{"gender": ("Man",), "sight": False}] * 20
        answers += (
            [{"gender": ("Woman",), "sight": False}] * 12 + [{"gender": ("Woman", "Other"), "sight": True}] + [{}] * 6
        )
        gender, sight = tally(answers, [GENDER, SIGHT])
        assert (gender.label, gender.people, gender.shown, gender.rest) == ("Gender", 39, {"Man": 20, "Woman": 12}, 7)
        # One "yes" takes the six who gave no answer with it, and is not named.
        assert (sight.shown, sight.rest, sight.withheld) == ({"no": 32}, 7, False)

    def test_several_answers_of_a_person_are_one_of_their_own_kind(self) -> None:
        (found,) = tally([{"gender": ("Woman", "Other")}] * 5 + [{"gender": ["Woman"]}] * 6, [GENDER])
        assert (found.shown, found.rest) == ({"Woman": 6, "Woman; Other": 5}, 0)

    def test_too_few_people_are_told_nothing_of(self) -> None:
        (found,) = tally([{"sight": True}] + [{"sight": False}] * 3, [SIGHT])
        assert (found.withheld, found.shown, found.rest, found.people) == (True, {}, 0, 4)

    def test_own_words_are_never_counted(self) -> None:
        words = [Question(name=kind, label="Q", kind=kind) for kind in ("text", "long", "email", "url", "number")]
        assert tally([{"text": "me", "email": "a@b.org"}] * 9, words) == []

    @given(people, st.integers(2, 8))
    def test_numbers_add_up_and_none_is_small(self, answers: list[dict[str, Any]], least: int) -> None:
        for found in tally(answers, [GENDER, SIGHT], least=least):
            assert all(number >= least for number in found.shown.values())
            if found.withheld:
                assert not found.shown
                assert found.rest == 0
            else:
                assert sum(found.shown.values()) + found.rest == found.people == len(answers)
                assert found.rest == 0 or found.rest >= least + 1

    @given(people, st.randoms())
    def test_what_a_batch_mixes_changes_no_number(self, answers: list[dict[str, Any]], rng: random.Random) -> None:
        mixed = sealed(answers, rng=rng, least=2)
        assert tally([*mixed.released, *mixed.pending], [GENDER, SIGHT]) == tally(answers, [GENDER, SIGHT])

    @pytest.mark.parametrize("least", [1, 0, -3])
    def test_a_least_number_that_hides_nobody_is_refused(self, least: int) -> None:
        with pytest.raises(ValueError, match="2 or more"):
            tally([], [GENDER], least=least)
        with pytest.raises(ValueError, match="2 or more"):
            sealed([], rng=random.Random(0), least=least)


class TestSealed:
    @given(people, st.integers(2, 8), st.randoms())
    def test_all_are_released_or_none_and_no_answer_is_lost(
        self, pending: list[dict[str, Any]], least: int, rng: random.Random
    ) -> None:
        before = [dict(row) for row in pending]
        batch = sealed(pending, rng=rng, least=least)
        assert pending == before
        assert (len(batch.released), len(batch.pending)) == (
            (len(pending), 0) if len(pending) >= least else (0, len(pending))
        )
        for name in ("gender", "sight"):
            after = [row.get(name) for row in (*batch.released, *batch.pending)]
            assert Counter(after) == Counter(row.get(name) for row in pending)

    def test_the_threshold_is_where_it_is_said_to_be(self) -> None:
        assert LEAST == 5
        assert not sealed([{}] * 4, rng=random.Random(0)).released
        assert sealed([{}] * 5, rng=random.Random(0)).released == [{}] * 5

    def test_neither_the_order_nor_a_row_tells_who_it_was(self) -> None:
        pending = [{"gender": n, "sight": n} for n in range(6)]
        places: Counter[tuple[int, object]] = Counter()
        together = 0
        for seed in range(600):
            rows = sealed(pending, rng=random.Random(seed)).released
            places.update((place, row["gender"]) for place, row in enumerate(rows))
            together += sum(row["gender"] == row["sight"] for row in rows)
        # Everybody stands at every place about a sixth of the time, and by chance one row in six is one person's.
        assert len(places) == 36
        assert all(60 < number < 140 for number in places.values())
        assert 450 < together < 750

    def test_those_that_wait_are_mixed_too(self) -> None:
        pending = [{"gender": n} for n in range(4)]
        orders = {tuple(row["gender"] for row in sealed(pending, rng=random.Random(n)).pending) for n in range(200)}
        assert len(orders) == 24

    def test_answers_of_openkbp_go_from_the_form_to_the_tables(self) -> None:
        questions = editions.new(load_challenge("openkbp2020")).equity
        given = [{"gender_identity": "man", "disability": "no"}] * 8 + [{"gender_identity": ["Woman"]}] * 7
        checked = [editions.check_answers(questions, answers) for answers in given]
        values = [answers.values for answers in checked if isinstance(answers, editions.Answers)]
        store = sealed(values, rng=random.Random(1)).released
        gender, ethnicity, disability = tally(store, questions)
        assert gender.shown == {"Man": 8, "Woman": 7}
        assert ethnicity.shown == {"no answer": 15}
        assert disability.shown == {"no": 8, "no answer": 7}
