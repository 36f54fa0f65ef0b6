"""`isocenter mrmc` at operating points, with panels of readers, and by draws."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner, Result

from isocenter.cli import app
from isocenter.stats import ai_against_panel, compare_readers, read_lesions
from isocenter.stats.mrmc import bootstrap_check, read_csv

READS = ["reader_id", "modality_id", "case_id", "truth", "score", "weight", "rating"]
LESIONS = ["reader_id", "modality_id", "case_id", "is_lesion", "confidence"]
PANELS = {"all": ("Ann", "Bob", "Cid", "Dan"), "experts": ("Ann", "Bob"), "others": ("Cid", "Dan")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four readers in two modalities and two instances of an algorithm, on 30 cases with up to two lesions."""
    out, rng = tmp_path_factory.mktemp("study"), np.random.default_rng(0)
    people = [(name, modality) for modality in ("bpMRI", "mpMRI") for name in PANELS["all"]]
    rows: list[tuple[Any, ...]] = []
    marks: list[tuple[Any, ...]] = []
    for name, modality in [*people, ("n1", "net"), ("n2", "net")]:
        for c in range(30):
            ill = int(c % 3 == 0)
            belief = float(rng.normal(1.5 * ill, 1.0))
            human = modality != "net"
            rating = float(np.clip(round(belief + 2.5), 1, 5)) if human else None
            rows.append((name, modality, f"c{c:02}", ill, round(belief, 2), 1.0 + c % 2, rating))
            for _ in range(ill + (ill and c % 2)):
                marks.append((name, modality, f"c{c:02}", 1, float(rng.integers(2, 6)) if human else rng.random()))
            marks.append((name, modality, f"c{c:02}", 0, float(rng.integers(2, 6)) if human else rng.random()))
    pl.DataFrame(rows, schema=READS, orient="row", infer_schema_length=None).write_csv(out / "reads.csv")
    pl.DataFrame(marks, schema=LESIONS, orient="row").write_csv(out / "lesions.csv")
    lines = [f"{reader},{panel}" for panel, readers in PANELS.items() for reader in readers]
    (out / "panels.csv").write_text("reader_id,panel\n" + "\n".join(lines) + "\n")
    return out


def run(folder: Path, *arguments: object) -> Result:
    return CliRunner().invoke(app, ["mrmc", str(folder / "reads.csv"), *(str(argument) for argument in arguments)])


def found(folder: Path, *arguments: object) -> dict[str, Any]:
    result = run(folder, *arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def told(result: Any) -> Any:
    return json.loads(json.dumps(result.to_dict(), allow_nan=False))


def test_an_algorithm_meets_the_readers_at_their_points(folder: Path) -> None:
    options = ("--reference", "bpMRI", "--points", "3,4", "--lesions", folder / "lesions.csv")
    data = found(folder, *options)
    reads, lesions = read_csv(folder / "reads.csv"), read_lesions(folder / "lesions.csv")
    expected = ai_against_panel(reads, lesions, ai="net", panel="bpMRI", points=[3, 4], preset=None)
    assert data["against_panel"] == [{"readers": None, **told(expected)}]
    assert (data["panels"], data["bootstrap"]) == (None, None)
    shown = run(folder, *options).stdout
    for sentence in expected.sentences():
        assert sentence in shown


def test_people_are_never_called_instances_whichever_modality_is_the_reference(folder: Path) -> None:
    shown = run(folder, "--reference", "net", "--points", "0.5").stdout
    assert "At the sensitivity of each of 2 readers of net, the specificity of 4 readers of bpMRI is" in shown
    assert "for other cases and readers of net and readers of bpMRI;" in shown
    assert "instances" not in shown
    assert "trainings" not in shown


def test_every_panel_meets_the_algorithm_and_the_other_panels(folder: Path) -> None:
    options = ("--reference", "mpMRI", "--preset", "picai", "--points", "3", "--panels", folder / "panels.csv")
    data = found(folder, *options)
    reads = read_csv(folder / "reads.csv")
    assert [one["readers"] for one in data["against_panel"]] == list(PANELS)
    for one, readers in zip(data["against_panel"], PANELS.values(), strict=True):
        expected = ai_against_panel(reads, ai="net", panel="mpMRI", readers=readers, points=[3])
        assert one["verdict"]["label"] == expected.verdict.label
        assert one["points"] == told(expected)["points"]
    assert data["panels"] == told(compare_readers(reads, panels=PANELS, points=[3], reference="mpMRI"))
    shown = run(folder, *options).stdout
    assert "Readers of the panel experts: 2." in shown
    assert "3 panels, 2 modalities, 12 configurations on 30 cases, worth 27.0 of equal weight." in shown


def test_panels_need_no_reference(folder: Path) -> None:
    data = found(folder, "--panels", folder / "panels.csv")
    assert data["against_panel"] == []
    assert [one["point"] for one in data["panels"]["configurations"]] == [None] * 6
    assert {one["verdict"] for one in data["panels"]["tests"]} == {None}


def test_draws_stand_beside_the_analysis(folder: Path) -> None:
    data = found(folder, "--bootstrap", 50, "--seed", 3, "--fixed", "net", "--level", 0.9)
    reads = read_csv(folder / "reads.csv")
    assert data["bootstrap"] == told(bootstrap_check(reads, replicates=50, seed=3, fixed=["net"], level=0.9))
    assert "Bootstrap of readers and cases (50 replicates" in run(folder, "--bootstrap", 50).stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--points", "3"), "those of the readers of --reference, or of panels"),
        (("--points", "3,x", "--reference", "bpMRI"), "different numbers with commas between them"),
        (("--points", "3,3", "--reference", "bpMRI"), "different numbers with commas between them"),
        (("--lesions", "{}/lesions.csv"), "name these with --points"),
        (("--panels", "{}/lesions.csv", "--out", "{}/lesions.csv"), "a file of its own"),
        (("--bootstrap", "1"), "at least 2 replicates"),
    ],
)
def test_wrong_usage_ends_with_2(
    folder: Path, options: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    result = run(folder, *(option.format(folder) for option in options))
    assert result.exit_code == 2
    assert message in result.stderr
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_the_same_readers_in_all_modalities_are_no_algorithm(folder: Path, tmp_path: Path) -> None:
    read_csv(folder / "reads.csv").filter(pl.col("modality_id") != "net").write_csv(tmp_path / "reads.csv")
    result = run(tmp_path, "--reference", "bpMRI", "--points", "3")
    assert result.exit_code == 2
    assert "--panels" in result.stderr


def test_what_is_wrong_with_the_other_files_is_said_with_their_names(folder: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.csv"
    bad.write_text("reader_id,panel\nAnn,\n,experts\n")
    result = run(folder, "--panels", bad)
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        "bad.csv: 2 problems; nothing was analysed.",
        "  row 1: a reader and the panel are needed",
        "  row 2: a reader and the panel are needed",
    ]
    bad.write_text("reader_id,modality_id,case_id,is_lesion,confidence\nAnn,bpMRI,c99,1,3\n")
    options = ("--reference", "bpMRI", "--points", "3", "--lesions", bad, "--json")
    result = run(folder, *options)
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "ok": False,
        "file": "bad.csv",
        "problems": ["reader Ann, modality bpMRI, case c99: has rows of lesions, but is not among the reads"],
    }
