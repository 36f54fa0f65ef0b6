"""`isocenter power`: how many readers and cases a reader study needs."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from isocenter.cli import app
from isocenter.stats import mrmc

GOLDEN = Path(__file__).parents[1] / "golden" / "mrmc"
TABLE_2 = json.loads((GOLDEN / "sizing" / "picai_table2.json").read_text())
FACTORS = ("N", "D", "ND", "R", "NR", "DR", "RND")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["power", *(str(argument) for argument in arguments)])


def found(*arguments: object) -> dict[str, Any]:
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


@pytest.fixture
def components(tmp_path: Path) -> Path:
    """Those that lie behind the study of PI-CAI."""
    path = tmp_path / "components.json"
    path.write_text(json.dumps({name: TABLE_2["fitted_components"][name] for name in FACTORS}))
    return path


def test_all_twelve_powers_of_picai_come_out(components: Path) -> None:
    powers = {}
    for cases, blocks in ((200, 2), (400, 4)):
        data = found("--components", components, "--cases", cases, "--blocks", blocks, "--ratio", "70:30,60:40")
        for row in data["rows"]:
            of = row["design"]
            powers[of["negatives"], of["positives"], of["blocks"], of["readers"]] = round(row["power"], 2)
    expected = {(r["n_neg"], r["n_pos"], r["n_blocks"], r["n_readers"]): r["power"] for r in TABLE_2["rows"]}
    assert len(expected) == 12
    assert powers == expected


def test_the_grid_is_a_table(components: Path) -> None:
    result = run("--components", components, "--cases", 400, "--blocks", "1,4", "--readers", "20,60")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines() == [
        "Power to show a difference of 0.05; two-sided alpha 0.05.",
        "",
        "cases  negative  positive  blocks  readers      SE  df  power",
        "  400       280       120       1       20  0.0184   ∞   0.77",
        "  400       280       120       1       60  0.0149   ∞   0.92",
        "  400       280       120       4       20  0.0191   ∞   0.75",
        "  400       280       120       4       60  0.0152   ∞   0.91",
    ]


@pytest.mark.parametrize(
    ("study", "design"),
    [
        ("vandyke", ("--readers", 5, "--cases", 114, "--ratio", "69:45")),
        ("sim_splitplot", ("--readers", 24, "--cases", 160, "--ratio", "112:48", "--blocks", 4)),
    ],
)
def test_a_pilot_that_is_repeated_has_the_error_and_the_df_of_its_analysis(study: str, design: tuple[Any, ...]) -> None:
    path = GOLDEN / study / "data.csv"
    (row,) = found("--pilot", path, *design)["rows"]
    (pair,) = mrmc.analyse(mrmc.read_csv(path)).pairs.values()
    assert row["standard_error"] == pytest.approx(math.sqrt(pair.variance), rel=1e-10)
    assert row["df"] == pytest.approx(pair.df, rel=1e-10)


@pytest.mark.slow
def test_pilots_give_the_variances_of_imrmc() -> None:
    with (GOLDEN / "sizing" / "imrmc_java_vandyke.csv").open() as stream:
        rows = [{name: float(cell) for name, cell in row.items()} for row in csv.DictReader(stream)]
    paired = [row for row in rows if row["pairR"] == row["pairN"] == row["pairD"] == 1]
    assert len(paired) > 2
    for row in paired:
        r, n, d, g = (int(row[name]) for name in ("R", "N0", "N1", "G"))
        design = ("--readers", r, "--cases", n + d, "--ratio", f"{n}:{d}", "--blocks", g)
        (mine,) = found("--pilot", GOLDEN / "vandyke" / "data.imrmc", *design, "--effect", row["effect"])["rows"]
        assert mine["standard_error"] ** 2 == pytest.approx(row["totalVar"], rel=1e-8)
        assert mine["df"] == pytest.approx(row["dfBDG"], rel=1e-8)


def test_a_margin_at_no_difference_has_the_power_of_a_difference_of_its_size(components: Path) -> None:
    margin, effect = (found("--components", components, option, 0.05)["rows"] for option in ("--margin", "--effect"))
    assert [row["power"] for row in margin] == [row["power"] for row in effect]
    assert {(row["effect"], row["margin"]) for row in margin} == {(0.0, 0.05)}


def test_biased_components_bring_degrees_of_freedom(components: Path) -> None:
    given = json.loads(components.read_text())
    components.write_text(json.dumps(given | {"biased": given}))
    for row in found("--components", components)["rows"]:
        assert 2 < row["df"] < 1000
        assert row["power"] < 1


def test_simulated_studies_stand_beside_the_formula(components: Path, tmp_path: Path) -> None:
    options = ("--readers", 8, "--cases", 40, "--ratio", "1:1", "--blocks", 2, "--effect", 0.1, "--simulate", 300)
    result = run("--components", components, *options, "--out", tmp_path / "grid.csv")
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[2].endswith("power    simulated")
    assert " ± 0.0" in result.stdout.splitlines()[3]
    with (tmp_path / "grid.csv").open() as stream:
        (row,) = csv.DictReader(stream)
    far = abs(float(row["simulated_power"]) - float(row["power"]))
    assert far < 4 * float(row["monte_carlo_error"]) + 0.05  # the formula has no degrees of freedom here
    again = found("--components", components, *options)["simulated"][0]
    assert again["power"] == float(row["simulated_power"])
    assert found("--components", components, *options, "--seed", 1)["simulated"][0]["spread"] != again["spread"]


def test_components_below_zero_are_simulated_as_zero_and_named(components: Path) -> None:
    given = json.loads(components.read_text())
    components.write_text(json.dumps(given | {"NR": -0.001}))
    small = ("--readers", 4, "--cases", 20, "--ratio", "1:1", "--effect", 0.1, "--simulate", 20)
    result = run("--components", components, *small)
    assert result.exit_code == 0, result.output
    assert "Simulated with 0 for components below 0: NR." in result.stderr


def test_what_is_known_of_the_numbers_is_in_the_json(components: Path) -> None:
    data = found("--components", components)
    assert data["file"] == "components.json"
    assert data["components"]["dr"] == TABLE_2["fitted_components"]["DR"]
    assert data["biased"] is None
    assert set(data["versions"]) == {"isocenter", "numpy", "python", "scipy"}
    assert data["simulated"] == []
    assert data["rows"][0]["df"] is None


def test_a_pilot_of_one_algorithm_and_a_panel_is_remarked_upon(tmp_path: Path) -> None:
    path = tmp_path / "once.csv"
    text = (GOLDEN / "nico_cad_vs_rad" / "data.csv").read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in text if not line.startswith("AI02")))
    result = run("--pilot", path, "--readers", 9, "--cases", 200, "--ratio", "120:80")
    assert result.exit_code == 0, result.output
    assert "Pilot: modality AI has one reader, taken as fixed" in result.stderr
    assert "the readers of a design are those of each panel" in result.stderr
    (pair,) = mrmc.analyse(mrmc.read_csv(path)).pairs.values()
    assert f"{math.sqrt(pair.variance):.4f}" in result.stdout


@pytest.fixture
def two_panels(tmp_path: Path) -> Path:
    """Six readers of M1, and six others of M2."""
    path = tmp_path / "panels.csv"
    head, *lines = (GOLDEN / "sim_unpaired_readers" / "data.csv").read_text().splitlines()
    readers = sorted({line.split(",")[0] for line in lines if line.split(",")[1] == "M2"})
    path.write_text("\n".join([head, *(line for line in lines if line.split(",")[0] not in readers[6:])]))
    return path


def test_a_pilot_of_two_panels_has_the_df_of_its_analysis_too(two_panels: Path) -> None:
    design = ("--readers", 6, "--cases", 100, "--ratio", "60:40")
    data = found("--pilot", two_panels, *design)
    (row,) = data["rows"]
    (pair,) = mrmc.analyse(mrmc.read_csv(two_panels)).pairs.values()
    assert row["standard_error"] == pytest.approx(math.sqrt(pair.variance), rel=1e-10)
    assert row["df"] == pytest.approx(pair.df, rel=1e-10)
    assert (row["design"]["readers"], row["design"]["paired_readers"]) == (12, False)
    assert set(data["components"]) == {"first", "second", "cross"}
    result = run("--pilot", two_panels, *design)
    assert "  2 × 6  " in result.stdout
    assert "Pilot: its modalities have other readers each, and so have the designs" in result.stderr


def test_studies_of_two_panels_are_not_played(two_panels: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    result = run("--pilot", two_panels, "--simulate", 10)
    assert result.exit_code == 2
    assert "only studies whose readers and cases are the same in both modalities can be played" in result.stderr


def test_one_reader_who_reads_in_both_modalities_is_no_pilot(tmp_path: Path) -> None:
    path = tmp_path / "lone.csv"
    head, *lines = (GOLDEN / "vandyke" / "data.csv").read_text().splitlines()
    first = lines[0].split(",")[0]
    kept = [line for line in lines if line.split(",")[1] == "T2" or line.split(",")[0] == first]
    path.write_text("\n".join([head, *kept]))
    result = run("--pilot", path)
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0] == "lone.csv: 1 problem; nothing was analysed."
    assert "one modality has a single reader, who also reads in the other" in result.stderr
    assert json.loads(run("--pilot", path, "--json").stdout)["ok"] is False


def test_components_may_begin_with_the_mark_of_a_windows_editor(components: Path) -> None:
    expected = found("--components", components)["rows"]
    components.write_bytes(b"\xef\xbb\xbf" + components.read_bytes())
    assert found("--components", components)["rows"] == expected


def test_degrees_of_freedom_of_huge_biased_components_are_the_least(components: Path) -> None:
    components.write_text('{"N": 0.01, "biased": {"N": 1e200}}')
    rows = found("--components", components, "--readers", 20, "--cases", 200)["rows"]
    assert [row["df"] for row in rows] == [19]


def test_a_pilot_of_three_modalities_is_refused(tmp_path: Path) -> None:
    result = run("--pilot", GOLDEN / "sim_ordinal_3mod" / "data.csv", "--out", tmp_path / "o.csv")
    assert result.exit_code == 1
    assert "a pilot has two modalities, found M1, M2, M3" in result.stderr
    assert not (tmp_path / "o.csv").exists()


def test_all_that_is_wrong_with_a_pilot_is_said_at_once(tmp_path: Path) -> None:
    path = tmp_path / "pilot.csv"
    path.write_text("reader_id,modality_id,case_id,truth,score\nAnn,CT,a,2,1\nAnn,CT,b,0,\n")
    result = run("--pilot", path)
    assert result.exit_code == 1
    assert result.stderr.startswith("pilot.csv: 2 problems")
    assert json.loads(run("--pilot", path, "--json").stdout)["ok"] is False


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        (
            '{"N": "much", "X": 1, "D": true, "biased": {"R": NaN}}',
            ["N: 'much'", "'X' is not one", "D: True", "biased R"],
        ),
        ("{}", ["expected an object with some of N, D"]),
        ("[1]", ["expected an object"]),
        ('{"N": 1' + "0" * 400 + "}", ["N: inf is not a finite number"]),
        ('{"N": 0.1, "biased": 3}', ["biased expected an object"]),
        ('{"N": 0.1', ["is not JSON"]),
        ('{"N": -1.0}', ["the variance of the difference would be -"]),
        ("\ud83d", ["is not JSON"]),
        ('{"N": 0.1, "N": 0.2, "biased": {"R": 1, "R": 1}}', ["'N' is given 2 times", "'R' is given 2 times"]),
    ],
)
def test_a_file_without_components_is_refused_with_all_reasons(text: str, messages: list[str], tmp_path: Path) -> None:
    path = tmp_path / "components.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    result = run("--components", path, "--out", tmp_path / "o.csv")
    assert result.exit_code == 1, result.output
    for message in messages:
        assert message in result.stderr
    assert not (tmp_path / "o.csv").exists()


@pytest.mark.parametrize(
    ("options", "messages"),
    [
        (("--readers", "20,many"), ["'20,many' should be whole numbers"]),
        (("--cases", "0"), ["'0' should be whole numbers above 0"]),
        (("--ratio", "70"), ["'70' should be negative to positive cases"]),
        (("--ratio", "70:30,1:0"), ["'1:0' should be"]),
        (("--ratio", "1e308:1e308"), ["'1e308:1e308' should be"]),
        (("--simulate", 1), ["at least 2 are played"]),
        (("--components", GOLDEN), ["is a directory"]),
        (("--blocks", "30,90"), ["20 readers are too few for 30 blocks", "60 positives are too few for 90 blocks"]),
        (("--blocks", "3", "--simulate", 10), ["cannot be simulated, as blocks would differ in size", "20 readers"]),
        (("--readers", 4000, "--cases", 40000, "--simulate", 10), ["too large to be simulated: 4000 readers"]),
        (("--effect", -0.1), ["effect + margin is above 0"]),
        (("--alpha", 1.5), ["alpha within 0 and 1"]),
        (("--out", "grid.txt"), ["ends in .csv or .json"]),
        (("--pilot", GOLDEN / "vandyke" / "data.csv"), ["and not both"]),
    ],
)
def test_wrong_usage_ends_with_2(
    options: tuple[object, ...], messages: list[str], components: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    result = run("--components", components, *options)
    assert result.exit_code == 2
    for message in messages:
        assert message in result.stderr


def test_something_must_be_known_of_the_variance() -> None:
    assert run("--readers", 20).exit_code == 2


def test_power_stands_beside_the_analysis() -> None:
    pilot = mrmc.VarianceComponents(n=0.0120, d=0.0144, r=0.00338, dr=0.0190)
    assert round(mrmc.power(pilot, mrmc.Design(60, 280, 120, blocks=4), effect=0.05).power, 2) == 0.91
