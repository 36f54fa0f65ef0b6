"""Solutions over phases, and means with their errors."""

from __future__ import annotations

import math
import re

import pytest

from isocenter.report import Chart, MeanRow, Report, Section, Solution, lineage_plot, means_plot, report_pdf

STEPS = ["Phase 1", "Phase 2", "Phase 3"]


def test_a_line_leads_from_the_latest_earlier_solution() -> None:
    solutions = [
        Solution("a", 0, 1, "0.5"),
        Solution("b", 0, 2, "0.4"),
        Solution("a", 1, 1, "0.6", ("a", "b")),
        Solution("c", 2, 1, "0.7", ("a", "b")),
    ]
    picture = lineage_plot(solutions, steps=STEPS, title="t", name="n")
    lines = re.findall(r'class="link" x1="([\d.]+)%" y1="([\d.]+)" x2="([\d.]+)%"', picture)
    assert [(x1, x2) for x1, _, x2 in lines] == [
        ("16.67", "50.00"),
        ("16.67", "50.00"),
        ("50.00", "83.33"),
        ("16.67", "83.33"),
    ]


def test_new_teams_are_squares_and_others_circles() -> None:
    solutions = [Solution("a", 0, 1, "0.5"), Solution("a", 1, 1, "0.6"), Solution("b", 1, 2, "0.5")]
    picture = lineage_plot(solutions, steps=STEPS[:2], title="t", name="n")
    assert len(re.findall(r"<rect[^>]*><title>", picture)) == 2
    assert len(re.findall(r"<circle[^>]*><title>", picture)) == 1


def test_classes_of_methods_have_a_number_in_symbol_and_key() -> None:
    solutions = [Solution("a", 0, 1, "0.5", kind="forest"), Solution("b", 0, 2, "0.4", kind="network")]
    picture = lineage_plot(solutions, steps=STEPS[:1], title="t", name="n")
    assert re.findall(r'class="number"[^>]*>(\d)<', picture) == ["1", "2", "1", "2"]
    assert ">forest</text>" in picture


def test_what_is_built_on_something_not_drawn_is_said() -> None:
    many = [Solution(f"t{n:02d}", 0, n + 1, "0.5") for n in range(20)]
    picture = lineage_plot([*many, Solution("x", 1, 1, "0.9", ("t19",))], steps=STEPS[:2], title="t", name="n")
    assert "Phase 1: the first 12 of 20." in picture
    assert "Built on solutions that are not drawn: x." in picture
    assert 'class="link"' not in picture


def test_no_line_leads_to_an_older_solution_in_place_of_a_later_one_that_is_not_drawn() -> None:
    many = [Solution(f"t{n:02d}", 1, n + 1, "0.5") for n in range(12)]
    solutions = [Solution("a", 0, 1, "0.5"), *many, Solution("a", 1, 13, "0.4"), Solution("x", 2, 1, "0.9", ("a",))]
    picture = lineage_plot(solutions, steps=STEPS, title="t", name="n")
    assert 'class="link"' not in picture
    assert "Built on solutions that are not drawn: x." in picture


def test_classes_of_methods_beyond_nine_are_said() -> None:
    solutions = [Solution(f"t{n:02d}", 0, n + 1, "0.5", kind=f"kind {n + 1}") for n in range(11)]
    picture = lineage_plot(solutions, steps=STEPS[:1], title="t", name="n")
    assert "Only 9 classes of methods have a number. The others: kind 10, kind 11." in picture
    assert "have a number" not in lineage_plot(solutions[:9], steps=STEPS[:1], title="t", name="n")


def test_nothing_to_draw_and_strange_names() -> None:
    assert "no phase has a solution" in lineage_plot([], steps=STEPS, title="t", name="n")
    with pytest.raises(ValueError, match="in none of them"):
        lineage_plot([Solution("a", 3, 1, "0.5")], steps=STEPS, title="t", name="n")
    names = ["<script>", "🫁" * 100, "n" * 200]
    picture = lineage_plot([Solution(s, 0, 1, "0.5", kind=s) for s in names], steps=STEPS, title="<t>", name="n")
    assert "<script>" not in picture
    assert report_pdf(Report("t", "", (Section("s", "S", (Chart("c", "C.", picture),)),))).startswith(b"%PDF")


def test_a_mean_has_a_line_of_one_error_to_both_sides() -> None:
    rows = [MeanRow("a", 0.5, 0.1, "0.5(1)", heading="team"), MeanRow("b", 0.7, math.nan, "0.7(–)")]
    picture = means_plot(rows, label="Dice", title="t", name="n", better="higher", lines={"experts": 0.8})
    whiskers = re.findall(r'<line class="whisker" x1="([\d.]+)%" x2="([\d.]+)%"', picture)
    dots = [float(x) for x in re.findall(r'class="placed" x="([\d.]+)%"', picture)]
    ends = [(float(a), float(b)) for a, b in whiskers]
    wide = next((a, b) for a, b in ends if b - a > 1)
    assert sum(wide) / 2 == pytest.approx(dots[0], abs=0.02)
    assert len(dots) == 2
    assert "experts" in picture


def test_a_mean_that_is_not_finite_has_its_text_only() -> None:
    rows = [MeanRow("a", math.nan, math.nan, "no case"), MeanRow("<b>", 0.5, 0.0, "0.5(0)")]
    picture = means_plot(rows, label="Dice", title="t", name="n")
    assert "no case" in picture
    assert "<b>" not in picture
    assert picture.count('class="dot"') == 1
    assert "no finite mean" in means_plot(rows[:1], label="Dice", title="t", name="n")


def test_a_thousand_rows_stay_small() -> None:
    rows = [MeanRow(f"row {n}", n / 1000, 0.01, "0.5(1)") for n in range(1000)]
    picture = means_plot(rows, label="Dice", title="t", name="n")
    assert len(picture) < 300_000
    assert "The first 400 of 1000 rows." in picture
