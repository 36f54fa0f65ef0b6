"""The commands that draw cases, flip signs, permute, simulate: on the kept score tables and on golden reads."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.frozen.boards import RULES, RUN_TIMES, SCORES, THREE, teams_of
from tests.frozen.tools import EDITIONS, GOLDEN, Items, run

MRMC = GOLDEN / "mrmc"
HECKTOR, LUNG, OPENKBP, DOSERAD, PICAI = (
    (name, *teams_of(name)) for name in ("hecktor2020", "lung2019", "openkbp2020", "doserad2026", "picai2022")
)
WITHOUT = {
    "hecktor2020": ("--organiser", "Sarine"),
    "lung2019": ("--benchmark", "Observer B", "--benchmark", "Region growing"),
    "picai2022": ("--organiser", "Moesa"),
}


def compared() -> dict[str, tuple[object, ...]]:
    """Calls of `isocenter compare`."""
    calls: dict[str, tuple[object, ...]] = {
        f"hecktor2020, {test}, {family}, {adjust}": (
            *(*HECKTOR, *WITHOUT["hecktor2020"], "--test", test, "--family", family, "--adjust", adjust),
        )
        for test in ("wilcoxon", "t", "sign-flip")
        for family, adjust in (("winner-vs-rest", "holm"), ("all-ordered", "bh"), ("all-unordered", "bonferroni"))
    }
    for test in ("wilcoxon", "t", "sign-flip"):
        calls[f"hecktor2020, {test}, two-sided"] = (*HECKTOR, "--test", test, "--two-sided", "--alpha", 0.1)
        calls[f"openkbp2020, {test}, over parts"] = (*OPENKBP, "--board", "dvh", "--test", test, "--over", "parts")
        calls[f"openkbp2020, {test}, over cases"] = (*OPENKBP, "--board", "dvh", "--test", test, "--over", "cases")
    for board in ("s_score", "recall"):
        calls[f"lung2019, {board}"] = (*LUNG, *WITHOUT["lung2019"], "--board", board)
    calls["lung2019, a board of an edition"] = (RULES, *teams_of("lung2019"), "--board", "trimmed")
    calls["doserad2026, one metric"] = (*DOSERAD, "--board", "plan_mae", "--adjust", "none")
    calls["doserad2026, ranks"] = DOSERAD
    calls["picai2022"] = PICAI
    return calls


def calls(folder: Path) -> dict[str, dict[str, tuple[object, ...]]]:
    """All calls, by command and name."""
    components = folder / "components.json"
    fitted = json.loads((MRMC / "sizing" / "picai_table2.json").read_text())["fitted_components"]
    components.write_text(json.dumps({name: fitted[name] for name in ("N", "D", "ND", "R", "NR", "DR", "RND")}))
    progress = _submissions(folder)
    hecktor_facts = ("--cases", SCORES / "hecktor2020" / "cases.csv")
    picai_facts = ("--cases", SCORES / "picai2022" / "cases.csv")
    limmat, ticino, kander = (SCORES / "picai2022" / f"{team}.parquet" for team in ("Limmat", "Ticino", "Kander"))
    planned = ("--sizes", "10,40", "--trials", 40)
    vandyke, split, instances, ordinal = (
        MRMC / name / "data.csv"
        for name in ("vandyke", "sim_splitplot", "sim_ai_instances_vs_readers", "sim_ordinal_3mod")
    )
    designs = ("--readers", "6,20", "--cases", "100,200", "--ratio", "70:30,60:40")
    return {
        "multiverse": {
            "hecktor2020": (*HECKTOR, *WITHOUT["hecktor2020"]),
            "hecktor2020, by centre": (*HECKTOR, *WITHOUT["hecktor2020"], *hecktor_facts, "--by", "centre"),
            "lung2019": (*LUNG, *WITHOUT["lung2019"]),
            "lung2019, dice": (*LUNG, *WITHOUT["lung2019"], "--board", "dice"),
            "openkbp2020": OPENKBP,
            "openkbp2020, dvh": (*OPENKBP, "--board", "dvh"),
            "doserad2026": (*DOSERAD, "--run-times", RUN_TIMES),
            "picai2022": (*PICAI, *WITHOUT["picai2022"], *picai_facts, "--by", "center"),
            "an edition": (RULES, *teams_of("lung2019"), "--board", "weighted"),
            "a column that is not there": (*HECKTOR, *hecktor_facts, "--by", "weather"),
        },
        "compare": compared(),
        "plan-cases": {
            "hecktor2020": (*HECKTOR, *planned),
            "hecktor2020, level and seed": (*HECKTOR, *planned, "--level", 0.8, "--seed", 9),
            "hecktor2020, several submissions": ("hecktor2020", *THREE, *planned),
            "lung2019, recall": (*LUNG, "--board", "recall", *planned),
            "openkbp2020": (*OPENKBP, *planned),
            "openkbp2020, dvh": (*OPENKBP, "--board", "dvh", *planned),
            "picai2022": (*PICAI, *planned),
        },
        "progress": {
            "lower": (progress, "--better", "lower"),
            "higher": (progress, "--better", "higher"),
            "no such direction": (progress, "--better", "faster"),
        },
        "findings": {
            "one instance": ("picai2022", limmat, *picai_facts, "--by", "center", "--replicates", 400),
            "by grade": ("picai2022", limmat, "--by", "grade", "--replicates", 200, "--seed", 4, "--level", 0.9),
            "five instances": ("picai2022", ticino, "--replicates", 200),
            "stratified": ("picai2022", limmat, "--replicates", 400, "--stratified"),
            "without draws": ("picai2022", limmat, "--replicates", 0),
            "a case missing": ("picai2022", kander, "--replicates", 100),
        },
        "mrmc": {
            "vandyke": (vandyke,),
            "vandyke, Obuchowski and Rockette": (vandyke, "--method", "or"),
            "vandyke, jackknife": (vandyke, "--method", "or", "--covariance", "jackknife"),
            "vandyke, fixed readers": (vandyke, "--readers", "fixed"),
            "vandyke, drawn": (vandyke, "--bootstrap", 200, "--seed", 3),
            "vandyke, as iMRMC": (vandyke, "--compat", "imrmc-4.0.3"),
            "split plot": (split, "--bootstrap", 100),
            "instances": (instances, "--bootstrap", 100),
            "three modalities": (ordinal, "--endpoint", "sensitivity", "--threshold", 3),
        },
        "power": {
            "components": ("--components", components, *designs, "--blocks", "1,2"),
            "components, simulated": ("--components", components, *designs, "--simulate", 200, "--seed", 5),
            "components, margin": ("--components", components, *designs, "--margin", 0.05, "--alpha", 0.1),
            "pilot": ("--pilot", vandyke, *designs),
            "pilot, blocks": ("--pilot", split, *designs, "--blocks", 2, "--effect", 0.03),
        },
        "criteria": {
            adjust: (*OPENKBP, "--adjust", adjust, "--margin", margin)
            for adjust, margin in (("none", 2.1), ("holm", 0.5), ("bh", 0.1))
        },
    }


PACKED = frozenset({"multiverse", "mrmc", "criteria", "compare"})


def make(folder: Path) -> Items:
    """What each command writes as JSON."""
    hide = {"FOLDER": folder, "SCORES": SCORES, "EDITIONS": EDITIONS, "GOLDEN": GOLDEN}
    return {
        f"commands/{command}.json{'.gz' * (command in PACKED)}": {
            name: run(command, *arguments, "--json", hide=hide) for name, arguments in of_command.items()
        }
        for command, of_command in calls(folder).items()
    }


def _submissions(folder: Path) -> Path:
    """The golden submissions as `isocenter progress` reads them."""
    path = folder / "submissions.csv"
    with (GOLDEN / "ranking" / "nsc_submissions.csv").open(newline="") as stream:
        rows: list[Mapping[str, Any]] = list(csv.DictReader(stream))
    lines = [f"{row['team']},{row['submission']},{row['dose_score']}" for row in rows]
    path.write_text("\n".join(["team,time,score", *lines, ""]))
    return path
