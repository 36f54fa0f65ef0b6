"""Readers against the reference, on scenes small enough to be counted by hand."""

from __future__ import annotations

import json
import math
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from isocenter.metrics import LesionCounts, Mark, lesions, match_points
from isocenter.readers import Read, ReaderScores, Reads, ReadsError, ReferenceCase, score_reads
from isocenter.stats import bootstrap_ci, delong
from isocenter.volumes import Grid, LabelMap

GRID = Grid((40, 40, 10), spacing=(1.0, 1.0, 3.0), origin=(-20.0, 30.0, -10.0))
LEFT, RIGHT = np.s_[5:10, 5:10, 4], np.s_[25:30, 25:30, 4]


def case(*boxes: Any, weight: float = 1.0, grid: Grid = GRID, positive: bool | None = None) -> ReferenceCase:
    label = np.zeros(grid.shape, np.uint8)
    for box in boxes:
        label[box] = 1
    return ReferenceCase(label, grid, weight, positive)


def at(*index: float, pirads: int = 4, grid: Grid = GRID) -> Mark:
    x, y, z = grid.affine[:3, :3] @ index + grid.affine[:3, 3]
    return Mark((x, y, z), pirads)


def score(*reads: Read, reference: dict[str, Any] | None = None, **options: Any) -> ReaderScores:
    return score_reads(Reads(reads), REFERENCE if reference is None else reference, **options)


REFERENCE = {"one": case(LEFT), "two": case(LEFT, RIGHT), "none": case(), "clean": case()}


class TestOneReader:
    """Ann marks the left lesion of "one" twice, of "two" only the right one with a 5, and a ghost in "none"."""

    reads = (
        Read("Ann", "one", (at(7, 7, 4, pirads=3), at(12, 7, 4, pirads=4)), score=60),
        Read("Ann", "two", (at(27, 27, 4, pirads=5), at(15, 36, 0, pirads=3)), score=90),
        Read("Ann", "none", (at(20, 20, 4, pirads=4),), score=60),
        Read("Ann", "clean", score=5),
    )

    def test_points_are_those_counted_by_hand(self) -> None:
        (ann,) = score(*self.reads).readers
        assert (ann.cases, ann.positives, ann.lesions) == (4, 2, 3)
        # ≥ 3: 2 of 3 lesions; the second mark on "one" hits again and is dropped; ghosts in "two" and "none".
        assert ann.points[3] == pytest.approx((1.0, 0.5, 2 / 3, 0.5, 0.5))
        # ≥ 4: the mark inside "one" is gone before matching, the one 2.5 mm beside it now counts.
        assert ann.points[4] == pytest.approx((1.0, 0.5, 2 / 3, 2 / 3, 0.25))
        assert ann.points[5] == pytest.approx((0.5, 1.0, 1 / 3, 1.0, 0.0))
        assert ann.undefined == {}

    def test_auroc_is_that_of_the_scores_with_delongs_interval(self) -> None:
        (ann,) = score(*self.reads).readers
        # 90 is above both negatives, 60 above one and equal to the other.
        assert ann.auroc.value == pytest.approx(3.5 / 4)
        assert ann.auroc[1:] == pytest.approx(delong([1, 1, 0, 0], [60, 90, 60, 5]).interval())

    def test_every_read_is_kept_with_its_hits(self) -> None:
        found = {scored.read.case: scored.hits for scored in score(*self.reads).reads}
        assert found["two"] == {
            3: LesionCounts(tp=1, fp=1, fn=1),
            4: LesionCounts(tp=1, fp=0, fn=1),
            5: LesionCounts(tp=1, fp=0, fn=1),
        }
        assert found["clean"] == dict.fromkeys((3, 4, 5), LesionCounts(0, 0, 0))

    def test_the_margin_decides_what_a_hit_is(self) -> None:
        (ann,) = score(*self.reads, margin_mm=2.0).readers
        assert ann.points[4] == pytest.approx((1.0, 0.5, 1 / 3, 1 / 3, 0.5))

    def test_weights_count_cases_several_times(self) -> None:
        reference = {**REFERENCE, "two": case(LEFT, RIGHT, weight=3.0), "clean": case(weight=2.0)}
        (ann,) = score(*self.reads, reference=reference).readers
        assert (ann.cases, ann.positives, ann.lesions) == (4, 2, 3)
        # Lesions weigh 1 + 3 + 3; found are 1 + 3; ghosts are 3 in "two" and 1 in "none", of cases that weigh 7.
        assert ann.points[3] == pytest.approx((1.0, 2 / 3, 4 / 7, 4 / 8, 4 / 7))
        assert ann.points[5] == pytest.approx((3 / 4, 1.0, 3 / 7, 1.0, 0.0))
        truth, scores, weight = [1, 0, 1, 0], [60, 60, 90, 5], [1.0, 1.0, 3.0, 2.0]
        assert ann.auroc.value == pytest.approx(roc_auc_score(truth, scores, sample_weight=weight))

    def test_labels_may_come_as_arrays_maps_or_lists_of_lesions(self) -> None:
        plain = {name: (label, grid) for name, (label, grid, *_) in REFERENCE.items()}
        maps = {name: (LabelMap.from_array(label, grid), grid) for name, (label, grid) in plain.items()}
        blobs = {name: (lesions(label), grid) for name, (label, grid) in plain.items()}
        expected = score(*self.reads).to_dict()
        for reference in (plain, maps, blobs):
            assert score(*self.reads, reference=reference).to_dict() == expected


class TestSplitPlot:
    """Two readers with different cases, and one of them in two modalities."""

    scores = score(
        Read("Ann", "one", (at(7, 7, 4),), score=80, modality="bp"),
        Read("Ann", "none", (), score=20, modality="bp"),
        Read("Bob", "two", (at(7, 7, 4, pirads=5), at(27, 27, 4, pirads=3)), score=70, modality="bp"),
        Read("Bob", "none", (at(1, 1, 1, pirads=3),), score=75, modality="bp"),
        Read("Bob", "clean", (), score=10, modality="bp"),
        Read("Bob", "two", (), score=40, modality="mp"),
    )

    def test_every_reader_is_scored_on_the_own_cases(self) -> None:
        ann, bob, again = self.scores.readers
        assert [(one.reader, one.modality, one.cases, one.lesions) for one in self.scores.readers] == [
            ("Ann", "bp", 2, 1),
            ("Bob", "bp", 3, 2),
            ("Bob", "mp", 1, 2),
        ]
        assert ann.points[3] == (1.0, 1.0, 1.0, 1.0, 0.0)
        assert bob.points[3] == pytest.approx((1.0, 0.5, 1.0, 2 / 3, 1 / 3))
        assert bob.points[4] == pytest.approx((1.0, 1.0, 0.5, 1.0, 0.0))
        assert again.points[3][:1] + again.points[3][2:3] == (0.0, 0.0)
        assert bob.auroc.value == 0.5

    def test_a_panel_is_the_mean_over_readers_and_needs_two(self) -> None:
        (panel,) = self.scores.panels
        assert (panel.modality, panel.readers) == ("bp", 2)
        assert (panel.cases, panel.positives, panel.lesions) == (4, 2, 3)  # "none" is counted once
        assert panel.points[3] == pytest.approx((1.0, 0.75, 1.0, 5 / 6, 1 / 6))
        assert panel.auroc == 0.75

    def test_what_some_readers_lack_is_the_mean_over_the_others_and_said(self) -> None:
        (panel,) = self.scores.panels
        assert panel.points[5].precision == 1.0  # Ann has no mark of PI-RADS 5
        assert self.scores.remarks == (
            "Mean over 1 of 2 readers of bp only, as the others have no such number: precision at PI-RADS ≥ 5.",
        )

    def test_the_frame_has_a_row_per_read(self) -> None:
        frame = self.scores.frame()
        assert frame.schema == {
            "reader_id": pl.String,
            "modality_id": pl.String,
            "case_id": pl.String,
            "truth": pl.Int64,
            "score": pl.Float64,
        }
        assert frame.rows() == [
            ("Ann", "bp", "none", 0, 20.0),
            ("Ann", "bp", "one", 1, 80.0),
            ("Bob", "bp", "clean", 0, 10.0),
            ("Bob", "bp", "none", 0, 75.0),
            ("Bob", "bp", "two", 1, 70.0),
            ("Bob", "mp", "two", 1, 40.0),
        ]

    def test_the_table_has_a_row_per_reader_modality_and_operating_point(self) -> None:
        table = self.scores.table()
        assert table.height == 3 * (3 + 1)
        assert table["reader"].to_list() == ["Ann"] * 3 + ["Bob"] * 6 + [None] * 3
        names = "reader modality readers threshold cases positives lesions sensitivity specificity recall precision"
        assert table.columns == [*names.split(), "false_positives_per_case", "auroc", "auroc_low", "auroc_high"]
        assert table.row(0) == ("Ann", "bp", 1, 3, 2, 1, 1, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, None, None)
        assert table.row(-1) == (None, "bp", 2, 5, 4, 2, 3, 0.5, 1.0, 0.25, 1.0, 0.0, 0.75, None, None)
        assert table.filter(reader="Bob", modality="mp")["auroc"].null_count() == 3
        assert not any(table[name].is_nan().any() for name in table.columns if table.schema[name] == pl.Float64)

    def test_it_can_be_written_as_json_without_nan(self) -> None:
        data = json.loads(json.dumps(self.scores.to_dict(), allow_nan=False))
        assert list(data["readers"][0]["points"]["5"].values()) == [0.0, 1.0, 0.0, None, 0.0]
        assert data["readers"][0]["auroc"] == {"value": 1.0, "low": None, "high": None}
        assert data["panels"][0]["auroc"] == 0.75


class TestPatientsOnly:
    """Routine reads, of which only the PI-RADS of the patient is known."""

    reads = tuple(
        Read("routine", name, None, pirads=pirads) for name, pirads in zip(REFERENCE, (3, 5, 4, 2), strict=True)
    )

    def test_patients_have_results_and_lesions_have_none(self) -> None:
        (routine,) = score(*self.reads).readers
        assert {t: point[:2] for t, point in routine.points.items()} == {3: (1.0, 0.5), 4: (0.5, 0.5), 5: (0.5, 1.0)}
        assert all(math.isnan(number) for point in routine.points.values() for number in point[2:])
        assert routine.undefined == {
            "AUROC": "no read has a score",
            "lesion-level result": "4 of 4 reads have a PI-RADS of the patient only",
        }
        assert score(*self.reads).frame()["score"].to_list() == [None] * 4

    def test_one_such_read_among_others_leaves_no_lesion_level_result(self) -> None:
        (ann,) = score(*TestOneReader.reads[:3], Read("Ann", "clean", None, pirads=1, score=5)).readers
        assert ann.points[3][:2] == (1.0, 0.5)
        assert math.isnan(ann.points[3].recall)
        assert ann.undefined == {"lesion-level result": "1 of 4 reads have a PI-RADS of the patient only"}


class TestNotDrawn:
    """A patient with cancer of whom nobody knows where it is."""

    reference: ClassVar = {**REFERENCE, "hidden": case(positive=True, weight=2.0)}

    def test_the_patient_counts_and_marks_do_not(self) -> None:
        hidden = Read("Ann", "hidden", (at(3, 3, 3, pirads=3), at(9, 9, 9, pirads=5)), score=1)
        scores = score(*TestOneReader.reads, hidden, reference=self.reference)
        (ann,), (before,) = scores.readers, score(*TestOneReader.reads).readers
        assert (ann.cases, ann.positives, ann.lesions) == (5, 3, 3)
        assert ann.points[5].sensitivity == (1 + 2) / (2 + 2)
        for t in (3, 4, 5):
            assert ann.points[t].specificity == before.points[t].specificity
            assert ann.points[t][2:] == before.points[t][2:]
        assert ann.auroc.value == pytest.approx(3.5 / (4 * 2))
        assert scores.frame().filter(case_id="hidden")["truth"].to_list() == [1]
        assert scores.remarks == ("1 of 5 patients have a cancer that is not drawn: they count, marks do not.",)

    def test_with_no_other_patient_there_is_no_lesion_level_result(self) -> None:
        (ann,) = score(Read("Ann", "hidden", (at(3, 3, 3),)), reference=self.reference).readers
        assert ann.points[3].sensitivity == 1.0
        assert all(map(math.isnan, ann.points[3][1:]))
        assert ann.undefined["lesion-level result"] == "of no case it is drawn where the lesions are"


class TestUndefined:
    @pytest.mark.parametrize(
        ("reads", "why"),
        [
            ({"one": 5.0, "two": 6.0}, {"AUROC": "no negative cases"}),
            ({"none": 5.0, "clean": 6.0}, {"AUROC": "no positive cases"}),
            ({"one": None, "none": None}, {"AUROC": "no read has a score"}),
            ({"one": 5.0, "two": None, "none": 4.0}, {"AUROC": "1 of 3 reads have no score"}),
        ],
    )
    def test_an_auroc_that_there_is_not_has_its_reason(self, reads: dict[str, Any], why: dict[str, str]) -> None:
        (ann,) = score(*(Read("Ann", name, score=likelihood) for name, likelihood in reads.items())).readers
        assert all(map(math.isnan, ann.auroc))
        assert ann.undefined == why

    @pytest.mark.parametrize(
        ("scores", "area", "why"),
        [
            ((5, None, 4, 3), 1.0, "a single patient is positive, or a single one negative"),
            ((5, 6, 4, 3), 1.0, "all pairs of patients are ordered alike, which says nothing of others"),
            ((5, 5, 5, 5), 0.5, "all pairs of patients are ordered alike, which says nothing of others"),
        ],
    )
    @pytest.mark.parametrize("weight", [1.0, 2.0])
    def test_an_interval_not_to_be_believed_is_not_reads(
        self, scores: tuple[int | None, ...], area: float, why: str, weight: float
    ) -> None:
        reference = {**REFERENCE, "one": case(LEFT, weight=weight)}
        reads = [Read("Ann", name, score=s) for name, s in zip(REFERENCE, scores, strict=True) if s is not None]
        (ann,) = score(*reads, reference=reference).readers
        assert ann.auroc.value == area
        assert math.isnan(ann.auroc.low)
        assert math.isnan(ann.auroc.high)
        assert ann.undefined == {"interval": why}

    def test_rates_without_anything_to_share_are_nan(self) -> None:
        (ann,) = score(Read("Ann", "none"), Read("Ann", "clean")).readers
        assert ann.points[3][1] == 1.0
        assert ann.points[3].false_positives_per_case == 0.0
        assert all(math.isnan(ann.points[3][i]) for i in (0, 2, 3))

    def test_where_cases_weigh_differently_the_interval_is_that_of_a_bootstrap(self) -> None:
        rng = np.random.default_rng(3)
        truth = rng.integers(0, 2, 40)
        likelihood, weight = (truth * 15 + rng.integers(0, 40, 40)).astype(float), rng.uniform(0.5, 2.0, 40)
        reference = {
            f"{n:02d}": case(*([LEFT] if ill else []), weight=w)
            for n, (ill, w) in enumerate(zip(truth, weight, strict=True))
        }
        (ann,) = score(
            *(Read("Ann", f"{n:02d}", score=float(s)) for n, s in enumerate(likelihood)), reference=reference
        ).readers
        assert ann.auroc.value == pytest.approx(roc_auc_score(truth, likelihood, sample_weight=weight))
        assert ann.auroc[1:] == bootstrap_ci(truth, likelihood, weight=weight).auroc[1:]


class TestPlaces:
    far = Grid((40, 40, 10), spacing=(1.0, 1.0, 3.0), origin=(100.0, 30.0, -10.0))

    def test_a_case_that_the_reference_does_not_have_names_reader_and_case(self) -> None:
        with pytest.raises(ReadsError) as refused:
            score(Read("Ann", "one"), Read("Ann", "lost", modality="mp"), Read("Bob", "gone"))
        assert [(problem.case, problem.message) for problem in refused.value.problems] == [
            ("lost", "read by Ann in mp, but not in the reference"),
            ("gone", "read by Bob, but not in the reference"),
        ]

    def test_a_mark_beside_the_image_counts_by_its_distance_and_is_remarked_upon(self) -> None:
        reference = {"edge": case(np.s_[0:3, 10:20, 4]), "clean": case()}
        reads = [Read("Ann", "edge", (at(-4.5, 15, 4), at(-20, 15, 4))), Read("Ann", "clean", (at(5, 5, 1),))]
        scores = score(*reads, reference=reference)
        assert scores.readers[0].points[3] == pytest.approx((1.0, 0.0, 1.0, 1 / 3, 1.0))
        assert scores.remarks == ("Ann: 2 of 3 marks outside of the image, by up to 19.5 mm.",)

    def test_marks_on_the_edge_of_the_image_are_inside(self) -> None:
        for index in [(-0.5, -0.5, -0.5), (39.5, 39.5, 9.5), (39.505, 20, 9)]:
            assert score(Read("Ann", "clean", (at(*index),))).remarks == ()

    def test_all_marks_far_outside_are_named(self) -> None:
        marks = (at(-100.6, 0, 0), at(5, 5, 1)), (Mark((0.0, 0.0, 999.0), 3),)
        with pytest.raises(ReadsError) as refused:
            score(Read("Ann", "one", marks[0]), Read("Bob", "two", marks[1], modality="mp"))
        assert [(problem.case, problem.message) for problem in refused.value.problems] == [
            ("one", "Ann: the mark at (-120.6, 30, -10) mm lies 100 mm outside of the image"),
            ("two", "Bob (mp): the mark at (0, 0, 999) mm lies 981 mm outside of the image"),
        ]
        assert score(Read("Ann", "one", (at(-100.4, 0, 0),))).remarks == (
            "Ann: 1 of 1 marks outside of the image, by up to 99.9 mm.",
        )

    def test_axes_that_point_the_other_way_are_recognised(self) -> None:
        reference = {"one": case(LEFT, grid=self.far), "clean": case(grid=self.far)}

        def mirrored(*index: float) -> Mark:
            (x, y, z), pirads = at(*index, grid=self.far)
            return Mark((-x, -y, z), pirads)

        hint = "with the signs of x and y changed, all marks lie inside: RAS instead of LPS?"
        with pytest.raises(ReadsError) as refused:
            score(Read("Ann", "one", (mirrored(7, 7, 4),)), reference=reference)
        assert [problem.message for problem in refused.value.problems] == [
            "Ann: the mark at (-107, -37, 2) mm lies 217 mm outside of the image",
            f"Ann: {hint}",
        ]
        # One mark that is right as it is, and the axes are not to blame.
        reads = [Read("Ann", "one", (mirrored(7, 7, 4),)), Read("Ann", "clean", (at(5, 5, 5, grid=self.far),))]
        with pytest.raises(ReadsError) as refused:
            score(*reads, reference=reference)
        assert hint not in str(refused.value)
        # Less than 100 mm off it is a suspicion, not an error; another reader is not suspected.
        near = {"one": case(LEFT)}
        (x, y, z), pirads = at(7, 7, 4)
        remarks = score(
            Read("Ann", "one", (Mark((-x, -y, z), pirads),)), Read("Bob", "one", (at(7, 7, 4),)), reference=near
        ).remarks
        assert remarks[:2] == ("Ann: 1 of 1 marks outside of the image, by up to 66.5 mm.", f"Ann: {hint}")
        assert not any("Bob" in remark for remark in remarks)

    @pytest.mark.parametrize(
        ("reference", "words"),
        [
            (
                ReferenceCase(np.zeros((4, 4, 4)), GRID),
                r"'one': the label has shape \(4, 4, 4\), its grid \(40, 40, 10",
            ),
            (case(weight=0.0), "'one': a weight is a positive number, not 0.0"),
            (case(weight=math.nan), "'one': a weight is a positive number, not nan"),
            (case(LEFT, RIGHT, positive=False), "'one': negative, but the label shows 2 lesions"),
        ],
    )
    def test_a_reference_that_cannot_be_is_refused(self, reference: ReferenceCase, words: str) -> None:
        with pytest.raises(ValueError, match=words):
            score(Read("Ann", "one"), reference={"one": reference})


# A patient who lies askew: the columns are perpendicular unit vectors.
TURNED = Grid(
    (9, 8, 5), spacing=(0.7, 1.1, 3.0), origin=(5.0, -8.0, 30.0), direction=(0.8, 0.6, 0, -0.6, 0.8, 0, 0, 0, -1)
)
indices = st.tuples(st.floats(-0.4, 8.4), st.floats(-0.4, 7.4), st.floats(-0.4, 4.4))
voxels = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 7), st.integers(0, 4)), max_size=4)


@given(voxels, st.lists(st.tuples(indices, st.integers(3, 5)), max_size=4), st.floats(0, 5))
@settings(deadline=None)
def test_hits_are_those_of_match_points_however_the_patient_lies(boxes: Any, marked: Any, margin_mm: float) -> None:
    truth = case(*boxes, grid=TURNED)
    marks = tuple(at(*index, pirads=pirads, grid=TURNED) for index, pirads in marked)
    (scored,) = score(Read("Ann", "one", marks), reference={"one": truth}, margin_mm=margin_mm).reads
    assert scored.hits is not None
    for threshold, hits in scored.hits.items():
        rows = match_points(marks, truth.label, grid=TURNED, threshold=threshold, margin_mm=margin_mm)
        assert hits.tp == sum(row.is_lesion == 1 and row.confidence > 0 for row in rows)
        assert hits.fp == sum(row.is_lesion == 0 for row in rows)
        assert hits.fn == sum(row.is_lesion == 1 and row.confidence == 0 for row in rows)


any_reads = st.lists(
    st.tuples(st.sampled_from("AB"), st.booleans(), st.integers(0, 5), st.integers(0, 20), st.floats(0.5, 3)),
    min_size=1,
    max_size=25,
)
"""Reader, whether the patient is ill, PI-RADS (0: nothing said), score, weight of the case."""


def study(rows: Any, *, located: bool) -> tuple[list[Read], dict[str, ReferenceCase]]:
    """A read for each row, of a case of its own; located reads mark what is from PI-RADS 3 on."""
    reference, reads = {}, []
    for n, (reader, ill, pirads, likelihood, weight) in enumerate(rows):
        reference[str(n)] = case(*([LEFT] if ill else []), weight=weight)
        marks = (at(7, 7, 4, pirads=pirads),) if pirads >= 3 else ()
        only = None if located else max(pirads, 1)
        reads.append(Read(reader, str(n), marks if located else None, pirads=only, score=likelihood))
    return reads, reference


@given(any_reads, st.booleans())
@settings(deadline=None, max_examples=30)
def test_cases_that_nobody_read_change_nothing(rows: Any, located: bool) -> None:
    reads, reference = study(rows, located=located)
    more = {"unread": case(LEFT, RIGHT, weight=100.0), **reference, "another": case()}
    assert score(*reads, reference=more).to_dict() == score(*reads, reference=reference).to_dict()


@given(any_reads, st.booleans())
@settings(deadline=None, max_examples=60)
def test_patient_level_numbers_are_those_of_plain_numpy(rows: Any, located: bool) -> None:
    reads, reference = study(rows, located=located)
    for result in score(*reads, reference=reference).readers:
        _, ill, pirads, likelihood, weight = (
            np.array(column) for column in zip(*(row for row in rows if row[0] == result.reader), strict=True)
        )
        assert result.positives == ill.sum()
        for t, point in result.points.items():
            called = pirads >= t
            if ill.any():
                assert point.sensitivity == pytest.approx(weight[ill & called].sum() / weight[ill].sum())
            if not ill.all():
                assert point.specificity == pytest.approx(weight[~ill & ~called].sum() / weight[~ill].sum())
            if located:
                # Every mark is on the lesion or, without one, a false positive.
                assert point.false_positives_per_case == pytest.approx(weight[~ill & called].sum() / weight.sum())
        if ill.any() and not ill.all():
            assert result.auroc.value == pytest.approx(roc_auc_score(ill, likelihood, sample_weight=weight))
        else:
            assert "AUROC" in result.undefined
