"""Boards of the kept score tables: every board of five challenges, and every option of `isocenter rank`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from tests.frozen.tools import ARCHIVE, EDITIONS, Items, run, succeed, without_unstable

SCORES = ARCHIVE / "scores"
REPLICATES = 200
DOSERAD_BOARDS = ("as-run", "as-described", "as-run-until-august", "beam_mae", "idd_distance", "idd_distance_z")
BOARDS = {
    "hecktor2020": ("dice",),
    "lung2019": ("s_score", "dice", "jaccard", "precision", "recall"),
    "openkbp2020": ("dose", "dvh", "dose-squared", "dvh-squared"),
    "doserad2026": (
        *DOSERAD_BOARDS,
        "plan_mae",
        "gamma_pass_rate",
        "gamma_pass_rate_rx",
        "dvh_score",
        "dvh_score_relative",
    ),
    "doserad2026-floored": ("as-run",),
    "picai2022": ("score", "auroc", "average_precision"),
}
ROLES = {
    "hecktor2020": ("--organiser", "Sarine"),
    "lung2019": ("--benchmark", "Observer B", "--benchmark", "Region growing"),
    "picai2022": ("--organiser", "Moesa"),
}
RUN_TIMES = SCORES / "doserad2026" / "run_times.csv"


class Ranking(NamedTuple):
    """One call of `isocenter rank`."""

    challenge: str | Path
    tables: tuple[str, ...]
    options: tuple[object, ...] = ()


def folder_of(challenge: str) -> Path:
    """Where the tables of a challenge lie."""
    return SCORES / challenge.removesuffix("-floored")


def teams_of(challenge: str) -> tuple[str, ...]:
    """All tables of a challenge, as the command takes them."""
    return tuple(f"{path.stem}={path}" for path in sorted(folder_of(challenge).glob("*.parquet")))


def several(*entries: str) -> tuple[str, ...]:
    """Tables of HECKTOR under other names: `Inn@2026-03-02T12:00:00Z=Thur`."""
    made = (entry.partition("=") for entry in entries)
    return tuple(f"{team}={SCORES / 'hecktor2020' / f'{table}.parquet'}" for team, _, table in made)


def _hecktor(team: str) -> str:
    return str(SCORES / "hecktor2020" / f"{team}.parquet")


QUOTA, CAREFUL, RULES = (EDITIONS / f"{name}.toml" for name in ("quota", "careful", "rules"))
TIMED = several(
    "Inn@2026-03-02T12:00:00Z=Doubs",
    "Inn@2026-03-04T12:00:00Z=Thur",
    "Inn@2026-03-06T12:00:00Z=Aare",
    "Inn@2026-03-12T12:00:00+02:00=Inn",
    "Aare@2026-03-03T12:00:00Z=Aare",
    "Aare@2026-03-03T18:00:00Z=Doubs",
    "Home=Sarine",
)
CLIMBING = several("Inn=Doubs", "Inn=Thur", "Inn=Inn", "Aare=Aare", "Aare=Thur", "Reuss=Reuss", "Home=Sarine")
THREE = several("Inn=Doubs", "Inn=Thur", "Inn=Inn", "Aare=Aare", "Aare=Thur", "Reuss=Reuss", "Home=Sarine")

OPTIONS: dict[str, Ranking] = {
    "organiser-and-benchmark": Ranking(
        "hecktor2020", teams_of("hecktor2020"), ("--organiser", "Inn", "--benchmark", "Aare", "--seed", 3)
    ),
    "level-and-seed": Ranking("hecktor2020", teams_of("hecktor2020"), ("--level", 0.8, "--seed", 11)),
    "without-draws": Ranking("lung2019", teams_of("lung2019"), ("--replicates", 0)),
    "one-team": Ranking("hecktor2020", several("Inn=Inn")),
    "two-equal-teams": Ranking("hecktor2020", several("Inn=Inn", "Twin=Inn", "Aare=Aare")),
    "last-of-several": Ranking("hecktor2020", THREE, ("--void", f"Inn={_hecktor('Inn')}")),
    "over-the-quota": Ranking(
        "hecktor2020", several(*(f"Inn={t}" for t in ("Aare", "Doubs", "Inn", "Thur", "Reuss", "Sarine")))
    ),
    "quota-per-week": Ranking(QUOTA, TIMED, ("--phase", "weekly")),
    "quota-per-day": Ranking(QUOTA, TIMED, ("--phase", "daily", "--organiser", "Home")),
    "all-count": Ranking(QUOTA, THREE, ("--phase", "once", "--organiser", "Home")),
    "all-count-void": Ranking(QUOTA, THREE, ("--phase", "once", "--void", f"Aare={_hecktor('Aare')}")),
    "chosen": Ranking(
        QUOTA,
        THREE,
        ("--phase", "choice", "--chosen", f"Inn={_hecktor('Thur')}", "--chosen", f"Aare={_hecktor('Aare')}"),
    ),
    "chosen-by-one-only": Ranking(QUOTA, THREE, ("--phase", "choice", "--chosen", f"Inn={_hecktor('Thur')}")),
    "decimals": Ranking(CAREFUL, CLIMBING, ("--phase", "rounded", "--organiser", "Home")),
    "ladder-of-steps": Ranking(CAREFUL, CLIMBING, ("--phase", "step", "--benchmark", "Home")),
    "ladder-parameter-free": Ranking(CAREFUL, CLIMBING, ("--phase", "free")),
    "edition-main-board": Ranking(RULES, teams_of("lung2019")),
    **{
        f"edition-{board}": Ranking(RULES, teams_of("lung2019"), ("--board", board))
        for board in ("median", "trimmed", "case-by-case", "weighted", "tested", "summed", "s_score")
    },
    "best-of-several": Ranking(
        "lung2019",
        (
            *(f"Rigi={SCORES / 'lung2019' / f'{table}.parquet'}" for table in ("Napf", "Rigi", "Eiger")),
            *teams_of("lung2019")[:2],
        ),
    ),
    "instances": Ranking(
        "picai2022", tuple(f"{team}={SCORES / 'picai2022' / f'{team}.parquet'}" for team in ("Ticino", "Limmat"))
    ),
    "validation-of-openkbp": Ranking(
        "openkbp2020",
        tuple(
            f"{path.stem.split('-')[0]}={path}"
            for path in sorted((SCORES / "openkbp2020" / "validation").glob("*.parquet"))
        ),
    ),
}

ERRORS: dict[str, Ranking] = {
    "an unknown board": Ranking("hecktor2020", teams_of("hecktor2020"), ("--board", "dyce")),
    "an unknown challenge": Ranking("hektor2020", teams_of("hecktor2020")),
    "an unknown organiser": Ranking("hecktor2020", teams_of("hecktor2020"), ("--organiser", "Nobody")),
    "an unknown phase": Ranking(QUOTA, TIMED, ("--phase", "weakly")),
    "a table of another challenge": Ranking("hecktor2020", (f"a={SCORES / 'lung2019' / 'Rigi.parquet'}",)),
    "no run times": Ranking("doserad2026", teams_of("doserad2026")),
    "run times that nobody asked for": Ranking("hecktor2020", teams_of("hecktor2020"), ("--run-times", RUN_TIMES)),
    "a file that is not a table": Ranking("hecktor2020", (f"a={RUN_TIMES}",)),
    "a file that is not there": Ranking("hecktor2020", ("a=nowhere.parquet",)),
    "no name": Ranking("hecktor2020", (_hecktor("Inn"),)),
    "a time without a zone": Ranking(QUOTA, several("Inn@2026-03-02T12:00:00=Inn"), ("--phase", "weekly")),
    "a time that is not one": Ranking(QUOTA, several("Inn@yesterday=Inn"), ("--phase", "weekly")),
    "times in the wrong order": Ranking(
        QUOTA, several("Inn@2026-03-06T12:00:00Z=Inn", "Inn@2026-03-02T12:00:00Z=Aare"), ("--phase", "weekly")
    ),
    "a choice of a table that is not there": Ranking(QUOTA, THREE, ("--phase", "choice", "--chosen", "Inn=x.parquet")),
    "a choice where the last counts": Ranking("hecktor2020", THREE, ("--chosen", f"Inn={_hecktor('Thur')}")),
    "everything void": Ranking("hecktor2020", several("Inn=Inn"), ("--void", f"Inn={_hecktor('Inn')}")),
    "organiser and benchmark at once": Ranking(
        "hecktor2020", teams_of("hecktor2020"), ("--organiser", "Inn", "--benchmark", "Inn")
    ),
}


def make(folder: Path) -> Items:
    """Board, details, receipt, its verification, and the text of every ranking."""
    items: Items = {}
    for challenge, boards in BOARDS.items():
        for board in boards:
            options: tuple[object, ...] = ("--board", board, *ROLES.get(challenge, ()))
            if challenge.startswith("doserad2026"):
                options += ("--run-times", RUN_TIMES)
            items |= _rank(folder, f"{challenge}-{board}", Ranking(challenge, teams_of(challenge), options))
    for name, ranking in OPTIONS.items():
        items |= _rank(folder, f"option-{name}", ranking)
    items["boards/errors.json"] = {
        name: run("rank", one.challenge, *one.tables, *one.options, "--replicates", 20, hide=_hidden(folder))
        for name, one in ERRORS.items()
    }
    return items


def _hidden(folder: Path) -> dict[str, object]:
    return {"FOLDER": folder, "SCORES": SCORES, "EDITIONS": EDITIONS}


def _rank(folder: Path, name: str, one: Ranking) -> Items:
    """One ranking, and whether its receipt is reproduced."""
    place, hide = folder / "boards" / name, _hidden(folder)
    place.mkdir(parents=True, exist_ok=True)
    draws = () if "--replicates" in one.options else ("--replicates", REPLICATES)
    files = {kind: place / f"{kind}.json" for kind in ("out", "details", "receipt")}
    written = [part for kind, path in files.items() for part in (f"--{kind}", path)]
    if name in ("option-without-draws",):
        written = [part for kind in ("out", "receipt") for part in (f"--{kind}", files[kind])]
    shown = run("rank", one.challenge, *one.tables, *one.options, *draws, *written, hide=hide)
    board: dict[str, Any] = {"exit": shown["exit"], "err": shown.get("err")}
    board["text"] = [line for line in shown["out"] if not line.startswith("Written to")]
    if files["out"].exists():
        board["board"] = json.loads(files["out"].read_text("utf-8"))
    items: Items = {f"boards/{name}.json": board}
    if files["details"].exists():
        items[f"details/{name}.json.gz"] = json.loads(files["details"].read_text("utf-8"))
    if files["receipt"].exists():
        times = ("--run-times", RUN_TIMES) if "--run-times" in one.options else ()
        receipt = without_unstable(json.loads(files["receipt"].read_text("utf-8")))
        kept = {key: value for key, value in receipt.items() if key not in ("sha256", "board")}
        scores = folder_of("picai2022").parent
        lines = succeed("verify", files["receipt"], "--scores", scores, *times, hide=hide)
        board["receipt"], board["verify"] = kept, lines
    return items
