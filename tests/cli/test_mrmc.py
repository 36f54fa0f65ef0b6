"""`isocenter mrmc`: modalities that several readers used on several cases, compared."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from isocenter.cli import app
from isocenter.stats.mrmc import analyse, read_csv

GOLDEN = Path(__file__).parents[1] / "golden" / "mrmc"
HEADER = "reader_id,modality_id,case_id,truth,score\n"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["mrmc", *(str(argument) for argument in arguments)])


def found(*arguments: object) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def java(study: str) -> list[dict[str, Any]]:
    """What iMRMC 4.0.3 prints: a row for each modality, with "NO_MOD" beside it, and each pair."""
    return json.loads((GOLDEN / study / "expected.json").read_text())["imrmc_java"]["Ustat"]


def write(path: Path, scores: dict[tuple[str, str], list[float]], truth: str) -> Path:
    """Reads from the scores of (reader, modality), one per case."""
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(HEADER.strip().split(","))
        for (reader, modality), given in scores.items():
            rows.writerows((reader, modality, f"c{n}", truth[n], score) for n, score in enumerate(given))
    return path


def test_the_tables_and_the_sentences_of_a_paper() -> None:
    result = run(GOLDEN / "vandyke" / "data.csv", "--reference", "T1", "--margin", 0.05)
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "data.csv: AUC of 2 modalities"
    assert "modality readers AUC SE 95 % interval" in lines
    assert "T1 5 0.8970 0.0331 [0.8248, 0.9693]" in lines
    assert "T2 5 0.9408 0.0215 [0.8938, 0.9879]" in lines
    assert "difference a − b SE df 95 % interval p" in lines
    assert "T2 − T1 +0.0438 0.0207 12.8 [-0.0009, +0.0885] 0.054" in lines
    assert any(line.startswith("T2 − T1: Difference +0.0438") and ": non-inferior (" in line for line in lines)
    assert lines[-1] == "T2 − T1: +0.044 (95% CI −0.001 to +0.089; t with 12.8 df, p = 0.054)."


@pytest.mark.parametrize("study", ["vandyke", "sim_ordinal_3mod", "sim_splitplot", "sim_missing"])
def test_in_its_compatibility_mode_the_numbers_are_those_of_imrmc(study: str) -> None:
    data = found(GOLDEN / study / "data.csv", "--compat", "imrmc-4.0.3")
    pairs = {(pair["a"], pair["b"]): pair for pair in data["pairs"]}
    for row in java(study):
        if row["modalityB"] == "NO_MOD":
            one = data["modalities"][row["modalityA"]]
            assert one["estimate"] == pytest.approx(row["AUCA"], rel=1e-8)
            assert one["variance"] == pytest.approx(row["varAUCA"], rel=1e-8)
        else:
            pair = pairs[row["modalityA"], row["modalityB"]]
            assert pair["difference"] == pytest.approx(row["AUCAminusAUCB"], rel=1e-8)
            assert pair["variance"] == pytest.approx(row["varAUCAminusAUCB"], rel=1e-8)
            assert (pair["low"], pair["high"]) == pytest.approx((row["botCIBDG"], row["topCIBDG"]), rel=1e-7)
            assert pair["p"] == pytest.approx(row["pValueBDG"], rel=1e-6, abs=1e-9)


def test_both_formats_are_the_same_study() -> None:
    tables = [found(GOLDEN / "vandyke" / name) for name in ("data.csv", "data.imrmc")]
    assert [table.pop("file") for table in tables] == ["data.csv", "data.imrmc"]
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        (("--method", "or", "--covariance", "jackknife"), {"method": "or", "covariance": "jackknife"}),
        (("--method", "or", "--cases", "fixed"), {"method": "or", "cases": "fixed"}),
        (("--readers", "fixed", "--level", 0.9), {"readers": "fixed", "level": 0.9}),
        (("--endpoint", "specificity", "--threshold", 3), {"endpoint": "specificity", "threshold": 3.0}),
    ],
)
def test_every_option_reaches_the_analysis(options: tuple[object, ...], asked: dict[str, Any]) -> None:
    path = GOLDEN / "vandyke" / "data.csv"
    data = found(path, *options)
    assert {name: data[name] for name in ("modalities", "pairs", "method", "overall")} == {
        name: value
        for name, value in json.loads(json.dumps(analyse(read_csv(path), **asked).to_dict())).items()
        if name in ("modalities", "pairs", "method", "overall")
    }


def test_instances_of_an_algorithm_may_be_fixed() -> None:
    path = GOLDEN / "sim_ai_instances_vs_readers" / "data.csv"
    (random,), (fixed,) = found(path)["pairs"], found(path, "--fixed", "AI")["pairs"]
    assert fixed["difference"] == random["difference"]
    assert fixed["variance"] < random["variance"]


def test_the_reference_turns_its_differences_and_no_others() -> None:
    path = GOLDEN / "sim_ordinal_3mod" / "data.csv"
    plain, turned = found(path), found(path, "--reference", "M2")
    assert [(pair["a"], pair["b"]) for pair in turned["pairs"]] == [("M1", "M2"), ("M1", "M3"), ("M3", "M2")]
    before, after = plain["pairs"][2], turned["pairs"][2]
    assert (after["difference"], after["low"], after["high"]) == (
        -before["difference"],
        -before["high"],
        -before["low"],
    )
    assert (after["p"], after["adjusted"]) == (before["p"], before["adjusted"])
    assert turned["non_inferiority"] == []


def test_an_algorithm_that_is_not_shown_to_be_non_inferior_has_the_p_of_google_health(tmp_path: Path) -> None:
    study = GOLDEN / "nico_cad_vs_rad"
    path = tmp_path / "once.csv"  # the algorithm stands there twice
    lines = (study / "data.csv").read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("AI02")))
    options = ("--reference", "READERS", "--margin", 0.05, "--method", "or", "--covariance", "jackknife")
    (verdict,) = found(path, *options)["non_inferiority"]
    peer = json.loads((study / "expected.json").read_text())["google_health"]["results"]
    p = peer["model_vs_readers_orh_margin0.05"]["pvalue"]
    assert (verdict["new"], verdict["reference"], verdict["label"]) == ("AI", "READERS", "inconclusive")
    assert verdict["p_one_sided"] == pytest.approx(p, rel=1e-10)
    assert verdict["p_doubled"] == pytest.approx(2 * p, rel=1e-10)


def test_the_preset_of_picai_has_a_margin_and_asks_for_a_gain() -> None:
    worse, better = found(GOLDEN / "sim_ordinal_3mod" / "data.csv", "--reference", "M2", "--preset", "picai")[
        "non_inferiority"
    ]
    assert (worse["margin"], worse["needs_gain"], worse["accepted"]) == (0.05, True, False)
    assert (better["label"], better["accepted"]) == ("superior", True)


def test_without_variance_nothing_is_decided(tmp_path: Path) -> None:
    perfect = {(reader, modality): [1, 2, 3, 4] for reader in ("Ann", "Bob") for modality in ("CT", "MR")}
    path = write(tmp_path / "reads.csv", perfect, "0011")
    result = run(path, "--reference", "CT", "--margin", 0.1, "--out", tmp_path / "o.json")
    assert result.exit_code == 0, result.output
    assert "MR − CT: non-inferiority is not decided, as the difference has no variance." in result.stdout
    data = json.loads((tmp_path / "o.json").read_text())
    assert data["non_inferiority"] == [{"new": "MR", "reference": "CT", "label": None}]
    assert (data["pairs"][0]["low"], data["pairs"][0]["high"]) == (-1.0, 1.0)


def test_the_csv_has_a_row_for_each_modality_and_pair(tmp_path: Path) -> None:
    path = GOLDEN / "sim_ordinal_3mod" / "data.csv"
    assert run(path, "--reference", "M2", "--margin", 0.05, "--out", tmp_path / "o.csv").exit_code == 0
    with (tmp_path / "o.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["a"], row["b"]) for row in rows] == [
        *(("M1", ""), ("M2", ""), ("M3", "")),
        *(("M1", "M2"), ("M1", "M3"), ("M3", "M2")),
    ]
    assert [row["label"] for row in rows] == ["", "", "", "inconclusive", "", "superior"]
    expected = analyse(read_csv(path)).pairs["M3", "M2"]
    assert float(rows[-1]["estimate"]) == expected.difference
    assert float(rows[-1]["standard_error"]) ** 2 == pytest.approx(expected.variance)


def test_the_page_has_the_average_curves_and_those_of_the_readers(tmp_path: Path) -> None:
    assert run(GOLDEN / "vandyke" / "data.csv", "--html", tmp_path / "o.html").exit_code == 0
    page = (tmp_path / "o.html").read_text()
    assert page.count("<figure") == 3
    study = analyse(read_csv(GOLDEN / "vandyke" / "data.csv"))
    for name, modality in study.modalities.items():
        assert f"{name}, AUROC {modality.auc:.3f}" in page
        for reader, one in modality.readers.items():
            assert f"{reader}, AUROC {one.auc:.3f}" in page


def test_names_of_strangers_are_escaped(tmp_path: Path) -> None:
    names = ("<b>CT</b>", "M\x1b[31mR")
    scores = {(reader, name): [1, 3, 2, 4] for reader in ("Ann", "Bob") for name in names}
    scores["Bob", names[0]] = [1, 2, 3, 4]
    path = write(tmp_path / "reads.csv", scores, "0011")
    result = run(path, "--html", tmp_path / "o.html")
    assert result.exit_code == 0, result.output
    assert "\x1b" not in result.stdout
    assert "M\\x1b[31mR" in result.stdout
    assert "<b>CT</b>" in result.stdout
    assert "<b>CT" not in (tmp_path / "o.html").read_text()


def test_a_name_that_a_spreadsheet_would_run_is_a_text_in_the_csv(tmp_path: Path) -> None:
    names = ("=1+1", "-CT")
    scores = {(reader, name): [1, 3, 2, 4] for reader in ("Ann", "Bob") for name in names}
    scores["Bob", names[0]] = [1, 2, 3, 4]
    path = write(tmp_path / "reads.csv", scores, "0011")
    assert run(path, "--out", tmp_path / "o.csv").exit_code == 0
    with (tmp_path / "o.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    assert [(row["a"], row["b"]) for row in rows] == [("'-CT", ""), ("'=1+1", ""), ("'-CT", "'=1+1")]
    assert float(rows[0]["estimate"]) == 0.75


@pytest.mark.parametrize("unwritable", ["--out", "--html"])
def test_where_one_file_cannot_be_written_none_is(
    unwritable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    (tmp_path / "file").write_text("")
    paths = {"--out": tmp_path / "o.csv", "--html": tmp_path / "o.html"}
    paths[unwritable] = tmp_path / "file" / paths[unwritable].name
    result = run(GOLDEN / "vandyke" / "data.csv", *(part for option in paths.items() for part in option))
    assert result.exit_code == 2
    assert f"Invalid value for {unwritable}: {paths[unwritable]} cannot be written" in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


BAD = """\
Ann,CT,a,0,1
Ann,CT,a,0,2
Ann,CT,b,maybe,3
Ann,CT,c,1,high
Bob,CT,a,1,1
"""


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_all_that_is_wrong_with_the_reads_is_said_at_once(tmp_path: Path, options: tuple[str, ...]) -> None:
    path = tmp_path / "reads.csv"
    path.write_text(HEADER + BAD)
    result = run(path, "--out", tmp_path / "o.json", *options)
    assert result.exit_code == 1
    wrong = [
        "reader Ann, modality CT, case b: truth 'maybe', expected 0 or 1",
        "reader Ann, modality CT, case c: score 'high' is not a finite number",
        "reader Ann, modality CT, case a: read 2 times",
        "case a: truth 0 and 1",
    ]
    if options:
        assert json.loads(result.stdout) == {"ok": False, "file": "reads.csv", "problems": wrong}
    else:
        assert result.stderr.splitlines() == [
            "reads.csv: 4 problems; nothing was analysed.",
            *(f"  {line}" for line in wrong),
        ]
    assert not (tmp_path / "o.json").exists()


def test_readers_with_too_few_cases_are_named_with_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "small.csv", {("Ann", "CT"): [1, 2, 3], ("Bob", "CT"): [1, 2, 3]}, "001")
    result = run(path)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0] == "small.csv: 2 problems; nothing was analysed."
    assert "reader Bob, modality CT: 1 diseased case read, at least 2 are needed" in result.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--margin", 0.05), "name it with --reference"),
        (("--preset", "picai"), "name it with --reference"),
        (("--margin", -0.05, "--reference", "T1"), "finite and above 0"),
        (("--reference", "T"), "the study has T1, T2"),
        (("--cases", "fixed", "--covariance", "delong"), "covariance='delong' is not for method='ustat'"),
        (("--endpoint", "sensitivity"), "sensitivity needs a finite threshold"),
        (("--fixed", "T3"), "'T3' is not in the study"),
        (("--out", "o.txt"), "ends in .csv or .json"),
        (("--html", "o.txt"), "ends in .html"),
        (("--endpoint", "sensitivity", "--threshold", 3, "--html", "o.html"), "has none"),
    ],
)
def test_wrong_usage_ends_with_2_and_writes_nothing(
    options: tuple[object, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    result = run(GOLDEN / "vandyke" / "data.csv", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_another_kind_or_the_input_as_output_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "reads.csv", {("Ann", "CT"): [1, 2, 3, 4]}, "0011")
    before = path.read_text()
    assert run(path, "--out", path).exit_code == 2
    assert path.read_text() == before
    other = tmp_path / "reads.xlsx"
    other.write_text(before)
    assert run(other).exit_code == 2
    assert run(tmp_path / "absent.csv").exit_code == 2
