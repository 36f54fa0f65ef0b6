"""The text format of iMRMC, written: what comes back is the same study."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from isocenter.stats.mrmc import ReadsError, analyse, imrmc_text, read_imrmc, write_imrmc


@pytest.mark.parametrize("name", ["vandyke", "sim_missing"])
def test_a_study_is_written_as_the_file_that_imrmc_has_read(golden, study, name) -> None:
    assert imrmc_text(study(name), title=name) == (golden / name / "data.imrmc").read_text()


@pytest.mark.parametrize("name", ["sim_splitplot", "sim_unpaired_readers"])
def test_the_analysis_of_what_comes_back_is_the_same(study, tmp_path, name) -> None:
    path = tmp_path / "study.imrmc"
    write_imrmc(study(name), path)
    assert path.read_text().startswith("study\nN0: ")
    back = read_imrmc(path)
    assert_frame_equal(back, study(name))
    assert analyse(back).to_dict() == analyse(study(name)).to_dict()


def test_scores_keep_every_digit_and_the_order_of_rows_is_of_no_consequence(tmp_path, make) -> None:
    reads = make({("r", "CT"): [0.1 + 0.2, 1e-300, -5, 2**53]}, "0011")
    write_imrmc(reads.sample(fraction=1, shuffle=True, seed=1), tmp_path / "a.imrmc")
    assert read_imrmc(tmp_path / "a.imrmc")["score"].to_list() == reads["score"].to_list()
    assert imrmc_text(reads.reverse()) == imrmc_text(reads)


def test_all_that_the_format_cannot_say_is_named_at_once(make) -> None:
    reads = make(
        {("truth", "CT"): [1, 2, 3, 4], ("a,b", "CT"): [1, 2, 3, 4], ("c", " MR"): [1, 2, 3, 4]}, "0011"
    ).with_columns(
        pl.when(case_id="c00").then(2.0).otherwise(1.0).alias("weight"),
        case_id=pl.col("case_id").replace("c01", "c\u202801"),
    )
    rule = "a name here has no comma, no line break and no white space around it"
    with pytest.raises(ReadsError) as caught:
        imrmc_text(reads, title="begin data: mine")
    assert caught.value.problems == (
        f"reader 'a,b': {rule}",
        f"modality ' MR': {rule}",
        f"case 'c\\u202801': {rule}",
        "reader 'truth': lines of this reader would be taken for the truth of cases",
        "cases have different weights, which the format cannot hold: drop the column if they are not to count",
        "the title 'begin data: mine' would be taken for the beginning of the data",
    )


def test_a_title_is_one_line(make) -> None:
    text = imrmc_text(make({("r", "CT"): [1, 2, 3, 4]}, "0011"), title="one\nBEGIN DATA:\ntwo")
    assert text.splitlines()[:2] == ["one BEGIN DATA: two", "N0: 2"]


def test_wrong_reads_are_refused_before_anything_is_written(tmp_path, make) -> None:
    reads = make({("r", "CT"): [1, 2, 3, 4]}, "0011").with_columns(score=pl.lit(None, pl.Float64))
    with pytest.raises(ReadsError, match="4 problems"):
        write_imrmc(reads, tmp_path / "a.imrmc")
    assert not (tmp_path / "a.imrmc").exists()
