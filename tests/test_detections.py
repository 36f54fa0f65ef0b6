"""Findings in a score table, and what is made of them."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.detections import Detections, Finding, detections_of, findings
from isocenter.scores import Row, frame

Exam = tuple[bool, float, list[Finding]]


def table(exams: dict[str, Exam], *, instances: tuple[str, ...] = ("",), weight: float = 1.0) -> pl.DataFrame:
    return frame(
        Row(case, part, metric, value, weight)
        for case, (positive, likelihood, found) in exams.items()
        for instance in instances
        for metric, value, part in findings(positive, likelihood, found, instance=instance)
    )


EXAMS: dict[str, Exam] = {
    "b": (True, 0.8, [Finding(True, 0.75, 0.5, 3.0), Finding(True, 0.0, 0.0, 2.0), Finding(False, 0.25, 0.0)]),
    "a": (False, 0.1, []),
    "c": (True, 0.2, [Finding(True, 0.5, 0.25, 2.0)]),
    "d": (False, 0.4, [Finding(False, 0.6, 0.0)]),
}


def test_the_table_gives_back_what_was_put_in() -> None:
    found = detections_of(table(EXAMS))[""]
    assert found.cases == ("a", "b", "c", "d")
    assert found.truth.tolist() == [False, True, True, False]
    assert found.likelihood.tolist() == [0.1, 0.8, 0.2, 0.4]
    assert found.case.tolist() == [1, 1, 1, 2, 3]
    assert found.confidence.tolist() == [0.75, 0.0, 0.25, 0.5, 0.6]
    assert found.iou.tolist() == [0.5, 0.0, 0.0, 0.25, 0.0]
    assert [None if np.isnan(grade) else grade for grade in found.grade] == [3.0, 2.0, None, 2.0, None]


def test_the_numbers_by_hand() -> None:
    """Patients: 0.8 beats both healthy ones, 0.2 one. Lesions: hit at 1/1, false, hit at 2/3; one of three missed."""
    found = detections_of(table(EXAMS))[""]
    assert found.auroc == pytest.approx(3 / 4)
    assert found.average_precision == pytest.approx(1 / 3 * 1 + 1 / 3 * 2 / 3)
    assert found.detection_score == pytest.approx((found.auroc + found.average_precision) / 2)
    assert found.undefined == {}
    assert found.roc().area == pytest.approx(found.auroc)
    assert found.precision_recall().average_precision == pytest.approx(found.average_precision)
    assert found.froc().sensitivity_at(0.25) == pytest.approx(2 / 3)


def test_ten_findings_keep_their_order() -> None:
    many = [Finding(False, (n + 1) / 16, 0.0) for n in range(12)]
    found = detections_of(table({"a": (False, 0.5, many)}))[""]
    assert found.confidence.tolist() == [(n + 1) / 16 for n in range(12)]


def test_weights_count_like_copies() -> None:
    once = {case: exam for case, exam in EXAMS.items() if case != "b"}
    copies = detections_of(table({**once, "b1": EXAMS["b"], "b2": EXAMS["b"]}))[""]
    rows = pl.concat([table(once), table({"b": EXAMS["b"]}, weight=2.0)])
    weighted = detections_of(rows)[""]
    assert weighted.auroc == pytest.approx(copies.auroc)
    assert weighted.average_precision == pytest.approx(copies.average_precision)
    assert weighted.froc().false_positives.tolist() == pytest.approx(copies.froc().false_positives.tolist())


def test_instances_are_kept_apart() -> None:
    found = detections_of(table(EXAMS, instances=("one", "two#3")))
    assert list(found) == ["one", "two#3"]
    assert found["two#3"].confidence.tolist() == found["one"].confidence.tolist() == [0.75, 0.0, 0.25, 0.5, 0.6]


def test_a_case_without_a_likelihood_is_never_left_out_in_silence() -> None:
    rows = pl.concat([table(EXAMS), frame([Row("e", "", "case_likelihood", None), Row("e", "", "missing", 1.0)])])
    with pytest.raises(ValueError, match="there is no likelihood in e: a score of the rest would hide that"):
        detections_of(rows)
    both = pl.concat([table(EXAMS, instances=("1", "2")), table({"e": EXAMS["a"]}, instances=("1",))])
    with pytest.raises(ValueError, match="there is no likelihood of 2 in e"):
        detections_of(both)


def test_a_table_without_findings_is_none_of_ours() -> None:
    with pytest.raises(ValueError, match="the table holds no findings"):
        detections_of(frame([Row("a", "", "dice", 0.5)]))


@pytest.mark.parametrize(
    ("exams", "reason"),
    [
        ({"a": EXAMS["a"], "d": EXAMS["d"]}, "there is no AUROC: .*positive.*; there is no average precision"),
        ({"b": EXAMS["b"], "c": EXAMS["c"]}, "there is no AUROC: .*negative"),
    ],
)
def test_what_is_undefined_says_why(exams: dict[str, Exam], reason: str) -> None:
    found = detections_of(table(exams))[""]
    assert np.isnan(found.auroc)
    assert re.search(reason, "; ".join(found.undefined.values()))


def test_where_a_cancer_is_not_drawn_no_candidate_is_a_false_positive_nor_the_case_one_of_those_counted() -> None:
    exams: dict[str, Exam] = {**EXAMS, "undrawn": (True, 0.9, [])}
    with_it, without = detections_of(table(exams))[""].froc(), detections_of(table(EXAMS))[""].froc()
    assert with_it.false_positives.tolist() == without.false_positives.tolist()


def test_an_instance_may_have_any_name() -> None:
    for name in ("a\nb", "#", "1#2#"):
        assert detections_of(table(EXAMS, instances=(name,)))[name].case.size == 5


def test_a_subgroup_is_what_its_cases_alone_would_give() -> None:
    part = {case: EXAMS[case] for case in ("b", "d")}
    alone, among = detections_of(table(part))[""], detections_of(table(EXAMS))[""].among(["d", "b"])
    assert_same(alone, among)


def test_a_grade_is_judged_against_all_healthy_patients_and_other_lesions_neither_help_nor_hurt() -> None:
    found = detections_of(table(EXAMS))[""].of_grade(2.0)
    assert found.cases == ("a", "c", "d")  # of b the highest grade is 3
    assert found.is_lesion.tolist() == [True, False]
    higher = detections_of(table(EXAMS))[""].of_grade(3.0)
    assert higher.cases == ("a", "b", "d")
    assert higher.confidence.tolist() == [0.75, 0.25, 0.6]  # the missed lesion of grade 2 is no miss here


@given(st.permutations(sorted(EXAMS)), st.data())
def test_the_order_of_rows_changes_nothing(order: list[str], data: st.DataObject) -> None:
    rows = table({case: EXAMS[case] for case in order})
    shuffled = rows[data.draw(st.permutations(range(rows.height)))]
    assert_same(detections_of(shuffled)[""], detections_of(table(EXAMS))[""])


def assert_same(one: Detections, other: Detections) -> None:
    assert one.cases == other.cases
    for name in ("truth", "likelihood", "weight", "case", "is_lesion", "confidence", "iou", "grade"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
