"""Run time per beam: from lists of jobs to rows that a rule can rank."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from isocenter.challenges.doserad2026 import Job, JobList, read_jobs, run_time, run_time_tables, run_times

JOBS = [Job(40.0, 1, 100), Job(70.0, 2, 200), Job(60.0, 1, 200), Job(210.0, 10, 500)]
CSV = "submission,modality,seconds,images,beams\n"


def save(path: Path, lines: str) -> Path:
    path.write_text(CSV + lines)
    return path


def test_as_described_it_is_all_time_by_all_beams() -> None:
    assert run_time(JOBS, modality="photon", how="as-described") == pytest.approx(380.0 / 1000.0)
    assert run_time([Job(362.0, 1, 181)], modality="photon", how="as-described") == 2.0


@given(st.floats(0, 60), st.floats(0, 20), st.floats(0.001, 3.0), st.integers(0, 99))
@settings(max_examples=50, deadline=None, derandomize=True)
def test_as_run_it_is_what_a_fit_says_of_one_image(fixed: float, image: float, beam: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    jobs = [
        Job(fixed + image * i + beam * b, int(i), int(b))
        for i, b in zip([1, 2, 10, 5], rng.permutation([100, 530, 900, 1810]), strict=True)
    ]
    expected = (fixed + image + 181 * beam) / 181
    assert run_time(jobs, modality="photon") == pytest.approx(expected, rel=1e-6, abs=1e-9)
    assert run_time(jobs, modality="proton") == pytest.approx((fixed + image + 500 * beam) / 500, rel=1e-6, abs=1e-9)


def test_no_term_of_the_fit_is_negative() -> None:
    """Larger jobs that were faster: start-up takes it all, rather than beams cost less than nothing."""
    jobs = [Job(100.0, 1, 100), Job(90.0, 2, 500), Job(80.0, 3, 1000), Job(85.0, 1, 900)]
    assert run_time(jobs, modality="photon") == pytest.approx(np.mean([100, 90, 80, 85]) / 181)


@pytest.mark.parametrize(
    "jobs",
    [
        [Job(10.0, 1, 100)],
        [Job(10.0, 1, 100), Job(20.0, 2, 300)],
        [Job(10.0, 10, 100), Job(20.0, 10, 300), Job(30.0, 10, 500)],
        [Job(10.0, 1, 181), Job(20.0, 2, 362), Job(30.0, 3, 543)],
    ],
)
def test_jobs_that_do_not_tell_the_terms_apart_give_no_fit(jobs: list[Job]) -> None:
    with pytest.raises(ValueError, match="do not tell start-up, images and beams apart"):
        run_time(jobs, modality="photon")
    assert run_time(jobs, modality="photon", how="as-described") > 0


def test_no_jobs_have_no_run_time() -> None:
    with pytest.raises(ValueError, match="without jobs"):
        run_time([], modality="photon")


def test_a_list_of_jobs_is_read(tmp_path: Path) -> None:
    path = save(tmp_path / "jobs.csv", "b,proton,10.5,1,100\na,proton,40,2,300\nb,proton,30,4,100\n")
    found = read_jobs(path)
    assert found == JobList("proton", {"b": (Job(10.5, 1, 100), Job(30.0, 4, 100)), "a": (Job(40.0, 2, 300),)})
    assert run_times(found, how="as-described") == {"b": pytest.approx(0.2025), "a": pytest.approx(40 / 300)}
    with pytest.raises(ValueError, match="run time of b: the 2 jobs do not tell"):
        run_times(found)


def test_columns_may_be_in_another_order_and_follow_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("\ufeffbeams,submission,modality,seconds,images\n\n2,a,photon,3.0,1\n", encoding="utf-8")
    assert read_jobs(path).jobs == {"a": (Job(3.0, 1, 2),)}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"id," + CSV.encode() + b"7,a,photon,3.0,1,2\n", "line 1: columns that are unknown or there twice: 'id'; exp"),
        (b"beams,id," + CSV.encode(), "'id', 'beams'; expected submission, modality, seconds, images, beams"),
        (CSV.encode() + b"a,photon,1,1,1\na,photon,1,1,1,9\n", "line 3: more values than the 5 columns"),
        ((CSV + "a,photon,1,1,1\n").encode("utf-16"), r"line 1: not UTF-8 \(byte 0xff\); save it as CSV in UTF-8"),
        ((CSV + "é,photon,1,1,1\n").encode("latin-1"), r"line 2: not UTF-8 \(byte 0xe9\)"),
        (
            CSV.encode() + b"a,photon,1,1,1\n" + b"x" * 200_000 + b",photon,1,1,1\n",
            "line 3: not CSV: field larger than",
        ),
        (b"x" * 200_000, "line 1: not CSV"),
        (b"", "has no column submission"),
    ],
)
def test_a_file_that_is_no_list_of_jobs_is_named_with_its_line(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "jobs.csv").write_bytes(content)
    with pytest.raises(ValueError, match=said) as caught:
        read_jobs(tmp_path / "jobs.csv")
    assert str(caught.value).startswith("jobs.csv")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (",photon,1,1,1\n", "line 2 names no submission"),
        ("a,electron,1,1,1\n", "line 2: modality 'electron'; expected photon or proton"),
        ("a,photon,-1,1,1\n", "line 2: seconds '-1'; expected a positive time"),
        ("a,photon,nan,1,1\n", "seconds 'nan'"),
        ("a,photon,inf,1,1\n", "seconds 'inf'"),
        ("a,photon,,1,1\n", "seconds ''"),
        ("a,photon,1,0,1\n", "images '0'; expected a positive whole number"),
        ("a,photon,1,1,1.5\n", "beams '1.5'"),
        ("a,photon,1,1\n", "beams None"),
        ("a,photon,1,1e300,1\n", "line 2: images '1e300'; expected a positive whole number, at most 1,000,000,000"),
        ("a,photon,1,1,1e19\n", "beams '1e19'"),
        ("a,photon,1e300,1,1\n", "seconds '1e300'"),
        (f"a,photon,{'9' * 9999},1,1\n", r"seconds '9+\.\.\.9+'; expected"),
        ("a,photon,1,1,1\na,proton,1,1,1\n", r"several tasks: photon \(line 2\), proton \(line 3\)"),
        ("", "it lists no jobs"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused_with_its_lines(tmp_path: Path, lines: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        read_jobs(save(tmp_path / "jobs.csv", lines))


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"(?s)line 2: seconds.*line 3: beams"):
        read_jobs(save(tmp_path / "jobs.csv", "a,photon,x,1,1\na,photon,1,1,x\n"))


def test_a_modality_that_is_none_is_no_second_task(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="line 3: modality 'foton'") as caught:
        read_jobs(save(tmp_path / "jobs.csv", "a,photon,1,1,1\na,foton,1,1,1\n"))
    assert "several tasks" not in str(caught.value)


def test_columns_are_named(tmp_path: Path) -> None:
    (tmp_path / "jobs.csv").write_text("team,seconds\na,1\n")
    with pytest.raises(ValueError, match="has no column submission, modality, images, beams"):
        read_jobs(tmp_path / "jobs.csv")


def test_run_times_become_rows_of_the_whole_submission() -> None:
    tables, remarks = run_time_tables(JobList("photon", {"a": tuple(JOBS), "b": (Job(9.0, 1, 18),)}))
    assert tables["a"]["case"].to_list() == ["", ""]
    values = dict(tables["a"].select("metric", "value").iter_rows())
    assert values == {
        "run_time": run_time(JOBS, modality="photon"),
        "run_time_mean": run_time(JOBS, modality="photon", how="as-described"),
    }
    assert tables["b"]["metric"].to_list() == ["run_time_mean"]
    assert [remark.partition(":")[0] for remark in remarks] == ["run times of photons", "b has no fitted run time"]
    assert isinstance(pl.concat(tables.values()), pl.DataFrame)


def test_the_first_remark_says_what_the_times_are_of() -> None:
    _, photons = run_time_tables(JobList("photon", {"a": tuple(JOBS)}))
    _, protons = run_time_tables(JobList("proton", {"a": tuple(JOBS)}))
    assert photons == ["run times of photons: one image with 181 control points"]
    assert protons == ["run times of protons: one image with 500 pencil beams"]


def test_who_is_to_be_ranked_must_have_jobs() -> None:
    jobs = JobList("photon", {"a": tuple(JOBS), "b": tuple(JOBS)})
    assert list(run_time_tables(jobs, ["b"])[0]) == ["b"]
    with pytest.raises(ValueError, match="there are no jobs of c; there are some of a, b"):
        run_time_tables(jobs, ["a", "c"])
