"""Reads from what studies export: spreadsheets, REDCap, marksheets, answers of grand-challenge.org, iMRMC.

Every kind of export becomes rows with the columns of reads.csv and the number of the line that they come from, and is
checked like reads.csv itself.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from isocenter.problems import Problem
from isocenter.readers._csv import csv_lines
from isocenter.readers._reads import Read, Reads, ReadsError
from isocenter.readers._routine import read_routine
from isocenter.readers._table import AXES, COLUMNS, parse_reads

ExportKind = Literal["long", "wide", "redcap", "marksheet", "grand-challenge", "imrmc"]
"""Kinds of exports that `import_reads` knows."""

_NAMES: dict[str, tuple[str, ...]] = {
    "reader": ("reader", "reader_id", "readerid", "radiologist", "observer", "rater", "creator", "user", "username"),
    "modality": ("modality", "modality_id", "modalityid", "stage", "sequence", "protocol"),
    "case": (
        "case", "case_id", "caseid", "patient", "patient_id", "exam", "exam_id", "study", "study_id", "accession",
        "display_set", "record_id", "study_record_id",
    ),
    "score": ("score", "likelihood", "suspicion", "suspicion_score", "probability", "confidence"),
    "x": ("x", "x_mm", "lps_x"),
    "y": ("y", "y_mm", "lps_y"),
    "z": ("z", "z_mm", "lps_z"),
    "pirads": ("pirads", "pi_rads", "pirads_score", "pi_rads_score", "pirads_category", "pi_rads_category", "rating"),
}  # fmt: skip
"""What columns are called, whatever their capitals and signs; the first that is there is taken."""

_SEPARATOR = re.compile(r"[\s_\-./:|]+")
_PIRADS = re.compile(r"(?:pi[\s_-]*rads)?[\s:_-]*([1-9])(?:\.0+)?", re.IGNORECASE)
_DECIMAL = re.compile(r"([+-]?\d+),(\d+)")
_ARM = re.compile(r"_arm_\d+[a-z]?$")
_DOUBLE = re.compile(r"(.+)--(\d+)")  # REDCap's double data entry: the record, and who entered it
_MODALITIES = ("bpmri", "mpmri")
_UNKNOWN = ("", "n/a", "na", "nan", "-")


class _Line(NamedTuple):
    """A row of reads.csv in the making."""

    line: int
    values: dict[str, str]


@dataclass(frozen=True)
class Import:
    """Reads from exports.

    Attributes
    ----------
    reads
        All of them.
    kinds
        By file, what it was taken for.
    remarks
        What was left out or assumed.
    """

    reads: Reads
    kinds: Mapping[str, ExportKind]
    remarks: tuple[str, ...] = ()


@dataclass
class _Export:
    """One file that is being read."""

    path: Path
    columns: Mapping[str, str]
    fixed: Mapping[str, str]
    problems: list[tuple[int, str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def import_reads(
    paths: Sequence[str | os.PathLike[str]],
    *,
    kind: ExportKind | None = None,
    columns: Mapping[str, str] | None = None,
    reader: str | None = None,
    modality: str | None = None,
) -> Import:
    """Reads from one or several exports of a study.

    Parameters
    ----------
    kind
        What the files are; found out from each of them if left out. Files of JSON belong together: answers, and the
        display sets and questions that they name.
    columns
        By column of reads.csv, what it is called in the export, where that cannot be guessed.
    reader, modality
        Of all reads, where the export does not say.

    Raises
    ------
    ReadsError
        With everything that is wrong, by file and line: columns that are not there (and which may have been meant),
        values that reads.csv does not take, reads that are there twice.

    Notes
    -----
    A PI-RADS may be written "4", "4.0" or "PI-RADS 4"; of several with commas between them the highest is that of the
    patient. A decimal comma is read as a point. A row, or in a wide spreadsheet a cell, without PI-RADS and score is a
    case that was not read. Places are LPS millimetres and are not changed.
    """
    wrong = [name for name in columns or {} if name not in COLUMNS]
    if wrong:
        msg = f"{wrong[0]!r} is not a column of reads.csv, which has {', '.join(COLUMNS)}"
        raise ValueError(msg)
    fixed = {name: text for name, text in (("reader", reader), ("modality", modality)) if text}
    files = [Path(path) for path in paths]
    kinds = {path.name: kind or _detect(path) for path in files}
    problems: list[Problem] = []
    found: list[Read] = []
    remarks: list[str] = []
    together = [path for path in files if kinds[path.name] == "grand-challenge"]
    groups = [[path] for path in files if path not in together] + ([together] if together else [])
    for group in groups:
        export = _Export(group[0], columns or {}, fixed)
        try:
            found += _read_group(export, group, kinds[group[0].name])
        except ReadsError as error:
            problems += error.problems
        remarks += [f"{group[0].name}: {remark}" for remark in export.remarks]
    problems += _list_repeated(found)
    if problems:
        raise ReadsError(", ".join(path.name for path in files), problems, done="written")
    return Import(Reads(tuple(found)), kinds, tuple(remarks))


def _list_repeated(reads: Sequence[Read]) -> Iterator[Problem]:
    """Reads that two files have."""
    seen: set[tuple[str, str, str]] = set()
    for read in reads:
        if read.key in seen:
            text = f"the read by {' in '.join(filter(None, read.key[:2]))} is in two of the files"
            yield Problem("refused", text, case=read.case, code="bad_table")
        seen.add(read.key)


def _detect(path: Path) -> ExportKind:
    """What a file is, from its ending and its header."""
    if path.suffix.lower() == ".json":
        return "grand-challenge"
    if path.suffix.lower() == ".imrmc":
        return "imrmc"
    header = {_plain(name) for name in csv_lines(path, semicolons=True)[0][1]}
    if {"patient_id", "study_id", "lesion_pirads"} <= header:
        return "marksheet"
    if any(name.startswith("redcap_") or name.endswith("_complete") for name in header):
        return "redcap"
    return "long" if header & set(_NAMES["reader"]) else "wide"


def _read_group(export: _Export, paths: Sequence[Path], kind: ExportKind) -> list[Read]:
    if kind not in get_args(ExportKind):
        msg = f"an export is one of {', '.join(get_args(ExportKind))}, not {kind!r}"
        raise ValueError(msg)
    if kind == "marksheet":
        every = read_routine(export.path, column=export.columns.get("pirads"))
        name = export.fixed.get("reader")
        return [
            Read(name or one.reader, one.case, one.marks, one.pirads, one.score, export.fixed.get("modality", ""))
            for one in every
        ]
    if kind == "imrmc":
        lines = list(_read_imrmc(export))
    elif kind == "grand-challenge":
        lines = list(_read_answers(export, paths))
    else:
        rows = csv_lines(export.path, semicolons=True)
        ways = {"long": _read_long, "redcap": _read_redcap, "wide": _read_wide}
        lines = list(ways[kind](export, rows[0][1], rows[1:]))
    if not (export.problems or lines):
        export.problems.append((1, "there is no read in it: no row has a PI-RADS"))
    file = export.path.name
    problems = [Problem("refused", text, file=f"{file}:{line}", code="bad_table") for line, text in export.problems]
    has_places = any(line.values.get("x") for line in lines)
    header = [name for name in COLUMNS if has_places or name not in AXES]
    cells = [(line, [values.get(name, "") for name in header]) for line, values in lines]
    try:
        reads = list(parse_reads(file, header, cells))
    except ReadsError as error:
        problems += error.problems
    if problems:
        raise ReadsError(file, problems, done="written")
    return reads


def _plain(name: str) -> str:
    """The name of a column without capitals and signs."""
    return re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")


def _find_columns(export: _Export, header: Sequence[str], *, needed: Sequence[str]) -> dict[str, int]:
    """By column of reads.csv its place in the export; what is needed and not there is a problem."""
    plain = [_plain(name) for name in header]
    places: dict[str, int] = {}
    for name, others in _NAMES.items():
        if name in export.columns:
            wanted = export.columns[name]
            if wanted in header:
                places[name] = header.index(wanted)
            else:
                close = difflib.get_close_matches(wanted, header, n=1)
                meant = f"; did you mean {close[0]!r}?" if close else f"; there are {', '.join(header)}"
                export.problems.append((1, f"there is no column {wanted!r} for {name}{meant}"))
        elif (place := next((plain.index(other) for other in others if other in plain), None)) is not None:
            places[name] = place
    for name in needed:
        if name not in places and name not in export.fixed and name not in export.columns:
            close = difflib.get_close_matches(name, plain, n=1, cutoff=0.5)
            meant = f" (perhaps {header[plain.index(close[0])]!r}?)" if close else ""
            text = f"there is no column that is known to be the {name}{meant}: name it, {name}=COLUMN"
            export.problems.append((1, text))
    return places


def _take(export: _Export, row: Sequence[str], places: Mapping[str, int]) -> dict[str, str]:
    """The cells of a row by column of reads.csv."""
    values = {name: row[place] for name, place in places.items()}
    for name in ("score", *AXES):
        text = values.get(name, "")
        values[name] = "" if text.lower() in _UNKNOWN else _DECIMAL.sub(r"\1.\2", text)
    values["pirads"] = _pirads(values.get("pirads", ""), marked=bool(values["x"]))
    return {**export.fixed, **{name: text for name, text in values.items() if text or name not in export.fixed}}


def _pirads(text: str, *, marked: bool) -> str:
    """A PI-RADS as reads.csv writes it; what is none stays as it is, for the message about it."""
    parts = [part.strip() for part in text.split(",") if part.strip().lower() not in _UNKNOWN]
    matches = [_PIRADS.fullmatch(part) for part in parts]
    if not parts:
        return ""
    if not all(matches) or (marked and len(parts) > 1):
        return text
    return str(max(int(match[1]) for match in matches if match))


def _read_long(export: _Export, header: Sequence[str], rows: Sequence[tuple[int, list[str]]]) -> Iterator[_Line]:
    places = _find_columns(export, header, needed=("reader", "case", "pirads"))
    yield from _list_rows(export, header, rows, places)


def _list_rows(
    export: _Export, header: Sequence[str], rows: Sequence[tuple[int, list[str]]], places: Mapping[str, int]
) -> Iterator[_Line]:
    unread = 0
    for line, row in rows if not export.problems else ():
        if len(row) != len(header):
            export.problems.append((line, f"has {len(row)} values; the header has {len(header)} columns"))
            continue
        values = _take(export, row, places)
        # With a column of places, a row with a score and nothing else is a read without a mark.
        if values["pirads"] or values["x"] or (values["score"] and "x" in places):
            yield _Line(line, values)
        else:
            unread += 1
    if unread:
        export.remarks.append(f"{unread} rows without a PI-RADS were left out, as not read.")


def _read_redcap(export: _Export, header: Sequence[str], rows: Sequence[tuple[int, list[str]]]) -> Iterator[_Line]:
    """REDCap: what a record says once holds for its repeated instruments; an event is a modality."""
    plain = [_plain(name) for name in header]
    places = _find_columns(export, header, needed=("case", "pirads"))
    if "modality" not in places and "redcap_event_name" in plain:
        places["modality"] = plain.index("redcap_event_name")
    record = 0  # the first column is the record's
    doubled = all(_DOUBLE.fullmatch(row[record]) for _, row in rows if len(row) == len(header)) and bool(rows)
    if "reader" not in places and "reader" not in export.fixed and not doubled:
        if "redcap_data_access_group" in plain:
            places["reader"] = plain.index("redcap_data_access_group")
        else:
            export.problems.append((1, "there is no column that is known to be the reader: name it, reader=COLUMN"))
    repeats = [at for at, name in enumerate(plain) if name in ("redcap_repeat_instrument", "redcap_repeat_instance")]
    filled = _fill_records(header, rows, repeats, own=[places[n] for n in ("pirads", *AXES) if n in places])
    for line in _list_rows(export, header, filled, places):
        values = dict(line.values)
        if "modality" in values:
            values["modality"] = _ARM.sub("", values["modality"])
        if doubled and (match := _DOUBLE.fullmatch(values["case"])):
            values["case"] = match[1]
            values.setdefault("reader", f"Reader {match[2]}")
        yield _Line(line.line, values)


def _fill_records(
    header: Sequence[str], rows: Sequence[tuple[int, list[str]]], repeats: Sequence[int], *, own: Sequence[int]
) -> list[tuple[int, list[str]]]:
    """Rows of repeated instruments with what their record says once; PI-RADS and places (`own`) are each row's own.

    The row of the record itself is a read only where no instrument of it is.
    """
    whole = [(line, row) for line, row in rows if len(row) == len(header)]
    first = {row[0]: row for _, row in reversed(whole) if not any(row[at] for at in repeats)}
    marked = {row[0] for _, row in whole if any(row[at] for at in repeats) and any(row[at] for at in own)}
    filled = []
    for line, row in rows:
        if not repeats or len(row) != len(header):
            filled.append((line, row))
        elif any(row[at] for at in repeats):
            parent = first.get(row[0], [""] * len(row))
            filled.append((line, [text or ("" if at in own else parent[at]) for at, text in enumerate(row)]))
        elif row[0] not in marked:
            filled.append((line, row))
    return filled


def _read_wide(export: _Export, header: Sequence[str], rows: Sequence[tuple[int, list[str]]]) -> Iterator[_Line]:
    """A row per case and a column, or two, per reader: Ann; Ann_pirads and Ann_score; Ann bpMRI PI-RADS."""
    places = _find_columns(export, header, needed=("case",))
    if export.problems:
        return
    columns = [(at, *_split(name)) for at, name in enumerate(header) if at != places["case"] and name]
    bare = [at for at, _, _, what in columns if not what]
    lost = sorted({header[at] for at in bare if not _all_pirads(row[at] for _, row in rows if len(row) > at)})
    if any(what for *_, what in columns):  # the others are facts about cases
        columns = [column for column in columns if column[3]]
        lost = [header[at] for at in bare]
    elif bare and len(lost) == len(bare):
        export.problems.append((1, "no column holds PI-RADS from 1 to 5: a wide table has one column per reader"))
    else:
        columns = [(at, who, where, "pirads") for at, who, where, _ in columns if header[at] not in lost]
    if lost and not export.problems:
        export.remarks.append(f"columns that are not of a reader: {', '.join(lost)}.")
    unread = 0
    for line, row in rows if not export.problems else ():
        if len(row) != len(header):
            export.problems.append((line, f"has {len(row)} values; the header has {len(header)} columns"))
            continue
        for who, where in dict.fromkeys((who, where) for _, who, where, _ in columns):
            mine = {what: at for at, one, place, what in columns if (one, place) == (who, where)}
            values = _take(export, row, mine)
            if values["pirads"]:
                named = {"reader": who, "modality": where, **export.fixed, "case": row[places["case"]]}
                yield _Line(line, {**values, **named})
            else:
                unread += 1
    if unread:
        export.remarks.append(f"{unread} cells without a PI-RADS were left out, as not read.")


def _split(name: str) -> tuple[str, str, str]:
    """Reader, modality and measure that the name of a column holds."""
    words = [word for word in _SEPARATOR.split(name) if word]
    what = where = ""
    for ending in (2, 1):  # "pi-rads" are two words
        if len(words) > ending and _plain("_".join(words[-ending:])) in (*_NAMES["pirads"], *_NAMES["score"]):
            what = "score" if _plain("_".join(words[-ending:])) in _NAMES["score"] else "pirads"
            words = words[:-ending]
            break
    if len(words) > 1 and words[-1].lower() in _MODALITIES:
        where = words.pop()
    return (" ".join(words) if what or where else name), where, what


def _all_pirads(cells: Iterator[str]) -> bool:
    texts = [_pirads(text, marked=False) for text in cells if text.lower() not in _UNKNOWN]
    return bool(texts) and all(text in ("1", "2", "3", "4", "5") for text in texts)


def _read_imrmc(export: _Export) -> Iterator[_Line]:
    """IMRMC's text has one score per read, which is a PI-RADS where all are whole numbers from 1 to 5."""
    from isocenter.stats.mrmc import read_imrmc

    try:
        reads = read_imrmc(export.path)
    except ValueError as error:
        export.problems += [(1, line.strip()) for line in str(error).splitlines()]
        return
    scores = reads["score"].to_list()
    if not all(score in (1, 2, 3, 4, 5) for score in scores):
        text = (
            "its scores are not PI-RADS from 1 to 5, so that no patient is called; `isocenter mrmc` takes the file as "
            "it is"
        )
        export.problems.append((1, text))
        return
    names = reads.select("reader_id", "modality_id", "case_id").iter_rows()
    for number, ((reader, modality, case), score) in enumerate(zip(names, scores, strict=True), start=1):
        values = {"reader": reader, "modality": modality, "case": case, "pirads": f"{score:g}", "score": ""}
        yield _Line(number, {**values, **export.fixed})


def _read_answers(export: _Export, paths: Sequence[Path]) -> Iterator[_Line]:
    """Answers of a reader study of grand-challenge.org, as its API lists them.

    Question texts decide what an answer is: a PI-RADS, a likelihood, or points. Display sets give cases their names.
    The name of a point holds its PI-RADS.
    """
    answers: list[dict[str, Any]] = []
    titles: dict[str, str] = {}
    questions: dict[str, dict[str, Any]] = {}
    for path in paths:
        for one in _list_objects(export, path):
            if {"answer", "question", "creator"} <= one.keys():
                answers.append(one)
            elif "question_text" in one or "question_text_safe" in one:
                questions |= dict.fromkeys(_keys(one), one)
            elif "title" in one or "title_safe" in one:
                title = str(one.get("title_safe") or one.get("title") or "")
                titles |= dict.fromkeys(_keys(one), title) if title else {}
            for question in one.get("questions", ()) if isinstance(one.get("questions"), list) else ():
                questions |= dict.fromkeys(_keys(question), question)
    read: dict[tuple[str, str], dict[str, Any]] = {}
    for number, one in enumerate(answers, start=1):
        if one.get("is_ground_truth"):
            continue
        question = questions.get(_last(one["question"]), {})
        text = _plain(str(question.get("question_text_safe") or question.get("question_text") or one["question"]))
        case = titles.get(_last(one.get("display_set")), _last(one.get("display_set")))
        mine = read.setdefault((str(one["creator"]), case), {"line": number, "points": []})
        _note_answer(export, number, mine, text, _choose_option(question, one["answer"]))
    if not answers and not export.problems:
        export.problems.append((1, "there are no answers in it: objects with answer, question and creator"))
    for (creator, case), mine in read.items():
        start = {"reader": creator, "case": case, "score": mine.get("score", ""), **export.fixed}
        for (x, y, z), pirads in mine["points"]:
            yield _Line(mine["line"], {**start, "x": x, "y": y, "z": z, "pirads": pirads})
        if not mine["points"] and (mine.get("pirads") or "score" in mine):
            yield _Line(mine["line"], {**start, "pirads": mine.get("pirads", "")})


def _note_answer(export: _Export, number: int, mine: dict[str, Any], question: str, answer: Any) -> None:
    points = answer.get("points", [answer]) if isinstance(answer, dict) else None
    if points is not None and all(isinstance(one, dict) and len(one.get("point", ())) == 3 for one in points):
        for one in points:
            pirads = re.search(r"[1-5]", str(one.get("name") or ""))
            if pirads is None:
                export.problems.append((number, f"a point without a PI-RADS in its name ({one.get('name')!r})"))
            else:
                mine["points"].append((tuple(f"{float(x):g}" for x in one["point"]), pirads[0]))
    elif any(name in question for name in ("pirads", "pi_rads")):
        mine["pirads"] = _pirads(str(answer if answer is not None else ""), marked=False)
    elif any(name in question for name in _NAMES["score"]):
        mine["score"] = f"{answer:g}" if isinstance(answer, int | float) else str(answer or "")


def _choose_option(question: Mapping[str, Any], answer: Any) -> Any:
    """The title of the option that a choice names by its number."""
    options = {one.get("id"): one.get("title") for one in question.get("options") or () if isinstance(one, dict)}
    return options.get(answer, answer) if isinstance(answer, int) else answer


def _list_objects(export: _Export, path: Path) -> Iterator[dict[str, Any]]:
    try:
        data = json.loads(path.read_text("utf-8-sig"))
    except (ValueError, OSError) as error:
        export.problems.append((1, f"{path.name} is not JSON: {error}"))
        return
    several = data.get("results", [data]) if isinstance(data, dict) else data
    yield from (one for one in several if isinstance(one, dict)) if isinstance(several, list) else ()


def _keys(one: Mapping[str, Any]) -> list[str]:
    return [_last(one[name]) for name in ("pk", "api_url") if one.get(name)]


def _last(address: Any) -> str:
    """The last part of an address, which is the key of what it names."""
    return str(address or "").rstrip("/").rpartition("/")[2]
