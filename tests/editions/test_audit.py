"""Decisions in a chain: whoever changes the past is found out, and where."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.editions import audit
from isocenter.editions.audit import Decision, Entry

NOON = datetime(2022, 11, 10, 12, tzinfo=UTC)


def a_chain(count: int = 4) -> list[Entry]:
    entries: list[Entry] = []
    for number in range(count):
        when = NOON + timedelta(hours=number)
        entries.append(audit.recorded(entries, Decision(when, "chair", "refund", f"team {number}", "a disk was full")))
    return entries


def test_the_hash_is_sha256_of_a_list_that_anybody_can_write_down() -> None:
    first, second = a_chain(2)
    text = '["", "2022-11-10T12:00:00.000000+00:00", "chair", "refund", "team 0", "a disk was full"]'
    assert first.hash == hashlib.sha256(text.encode()).hexdigest()
    text = f'["{first.hash}", "2022-11-10T13:00:00.000000+00:00", "chair", "refund", "team 1", "a disk was full"]'
    assert second.hash == hashlib.sha256(text.encode()).hexdigest()


def test_the_same_moment_has_the_same_hash_in_every_zone() -> None:
    decision = a_chain()[0].decision
    tokyo = replace(decision, when=NOON.astimezone(timezone(timedelta(hours=9))))
    assert audit.chained(audit.START, tokyo) == audit.chained(audit.START, decision)


def test_a_chain_as_it_was_written_has_no_problems() -> None:
    chain = a_chain()
    assert audit.verify([]) == []
    assert audit.verify(chain) == []
    for known in (audit.START, chain[1].hash, chain[-1].hash):
        assert audit.verify(chain, last=known) == []


@pytest.mark.parametrize("field", ["when", "actor", "what", "subject", "reason"])
def test_a_changed_decision_is_named(field: str) -> None:
    chain = a_chain()
    value = NOON + timedelta(hours=1, microseconds=1) if field == "when" else "another"
    chain[1] = replace(chain[1], decision=replace(chain[1].decision, **{field: value}))
    (problem,) = audit.verify(chain)
    assert problem.startswith("decision 2 (")
    assert problem.endswith(": the hash does not fit; it was changed, or what stood before it")


def test_a_decision_that_was_changed_with_its_hash_breaks_the_next_one() -> None:
    chain = a_chain()
    changed = replace(chain[1].decision, reason="another")
    chain[1] = Entry(changed, audit.chained(chain[0].hash, changed))
    assert [problem[:10] for problem in audit.verify(chain)] == ["decision 3"]


def test_removed_inserted_and_exchanged_decisions_are_found() -> None:
    chain = a_chain()
    for wrong in (chain[1:], [chain[0], *chain[2:]], [chain[0], *chain], [chain[0], chain[2], chain[1], chain[3]]):
        assert audit.verify(wrong)


def test_an_end_that_was_cut_off_is_found_by_the_last_hash_that_is_known() -> None:
    chain = a_chain()
    assert audit.verify(chain[:-1]) == []
    (problem,) = audit.verify(chain[:-1], last=chain[-1].hash)
    assert (
        problem
        == f"the hash {chain[-1].hash} is not in the chain; decisions were removed at its end, or all were replaced"
    )


def test_time_does_not_go_back_in_a_chain() -> None:
    chain = a_chain(1)
    chain.append(audit.recorded(chain, replace(chain[0].decision, when=NOON - timedelta(minutes=1))))
    assert audit.verify(chain) == [
        "decision 2 (refund team 0, 2022-11-10T11:59:00+00:00): it is earlier than the decision before it "
        "(2022-11-10T12:00:00+00:00)"
    ]


def test_a_decision_says_everything() -> None:
    with pytest.raises(ValueError, match="a decision without actor and without reason cannot be recorded"):
        Decision(NOON, "", "publish", "testing", " ")
    with pytest.raises(ValueError, match="the moment of a decision is 2022-11-10T12:00:00, which has no time zone"):
        Decision(NOON.replace(tzinfo=None), "chair", "publish", "testing", "scored")


words = st.text(min_size=1).filter(str.strip)


@given(st.lists(st.tuples(words, words, words, words), min_size=2, max_size=5), st.data())
def test_no_text_makes_two_decisions_one(texts: list[tuple[str, str, str, str]], data: Any) -> None:
    entries: list[Entry] = []
    for text in texts:
        entries.append(audit.recorded(entries, Decision(NOON, *text)))
    assert audit.verify(entries) == []
    assert len({entry.hash for entry in entries}) == len(entries)
    at = data.draw(st.integers(0, len(entries) - 1))
    left, right = data.draw(st.sampled_from([("actor", "what"), ("what", "subject"), ("subject", "reason")]))
    decision = entries[at].decision
    moved = {left: getattr(decision, left) + getattr(decision, right)[:1], right: getattr(decision, right)[1:] or "x"}
    entries[at] = replace(entries[at], decision=replace(decision, **moved)) if moved[right].strip() else entries[at]
    assert bool(audit.verify(entries)) == (entries[at].decision != decision)
