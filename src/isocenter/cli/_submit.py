"""`isocenter submit`: hand in a submission to a site, from the command line."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

import typer

from isocenter.atomic import write_text
from isocenter.cli import _submit_pack, _submit_site
from isocenter.cli._arguments import Json

POLL = 2.0
"""Seconds between two questions whether it is scored."""
_OVER = ("scored", "refused", "failed", "infrastructure", "cancelled")
_WORST = ("refused", "unusable", "missing", "warning", "note")
_MOST = 30


def submit(
    submission: Annotated[
        Path, typer.Argument(metavar="FILE_OR_FOLDER", help="A zip, or a folder to be zipped.", exists=True)
    ],
    *,
    site: Annotated[str, typer.Option(metavar="URL", envvar="ISOCENTER_SITE", help="The address of the site.")],
    challenge: Annotated[
        str, typer.Option(metavar="SLUG", help="The challenge, as it stands in its address: /c/SLUG/.")
    ],
    phase: Annotated[str, typer.Option(metavar="PHASE", help="The name of the phase.")],
    token: Annotated[
        str,
        typer.Option(envvar="ISOCENTER_TOKEN", help="A token of your account; in the variable, nobody else sees it."),
    ] = "",
    declaration: Annotated[
        list[str] | None, typer.Option(metavar="NAME=VALUE", help="What is asked with a submission; may be repeated.")
    ] = None,
    comment: Annotated[str, typer.Option(help="A note for your team.")] = "",
    again: Annotated[bool, typer.Option("--again", help="Hand in a file that was handed in before.")] = False,
    gaps: Annotated[
        bool,
        typer.Option("--gaps", help="Hand it in although cases have no usable output: they count as the rules say."),
    ] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it is scored.")] = False,
    as_json: Json = False,
) -> None:
    r"""Hand in a submission to a site.

    A folder is zipped. Whether your team may submit is asked before anything
    is sent. A large file goes in pieces; when the connection breaks, or this
    command is stopped, the same command continues where it was.

    Exits with 0 if it was accepted, with --wait if it was scored; with 1 if
    not, and says why; with 2 if the command was wrong.

    Example: isocenter submit predictions/ --site https://challenge.example \
             --challenge hecktor --phase test --wait
    """
    with _errors_in_words(as_json=as_json):
        there = _submit_site.Site(_address(site), _known(token), tell=_tell)
        said = _declared(declaration or [])
        known = _asked_first(there, challenge, phase, said)
        with tempfile.TemporaryDirectory() as scratch:
            file = _zip(submission, Path(scratch))
            digest = _submit_pack.digest_of(file)
            state = _State(there.url, challenge, phase, digest)
            upload = _sent(there, state, file, digest, {"challenge": challenge, "phase": phase})
        handed = {"upload": upload, "declarations": said, "comment": comment, "again": again, "gaps": gaps}
        found = there.post(f"/challenges/{quote(challenge)}/phases/{quote(phase)}/submissions", handed)
        state.forget()
        if not as_json:
            typer.echo(f"{known['title']}, {phase}: submission {found['number']} was accepted.")
            typer.echo(f"id {found['id']}  {found['url']}\n{found['quota']['words']}")
        if wait:
            found = _followed(there, challenge, found)
        problems = _found_in_it(there, challenge, found)
        if as_json:
            typer.echo(json.dumps(found | {"problem_list": problems}, indent=2, ensure_ascii=False))
        elif wait:
            _show(found)
        if problems and not as_json:
            _list(problems, found["url"])
    if wait and found["state"] != "scored":
        raise typer.Exit(1)


@contextmanager
def _errors_in_words(*, as_json: bool) -> Iterator[None]:
    try:
        yield
    except _submit_site.Refusal as error:
        if as_json:
            typer.echo(json.dumps({"ok": False, "detail": str(error), "problems": error.problems}, indent=2))
        else:
            typer.echo(str(error), err=True)
            for one in error.problems:
                where = "  ".join(filter(None, (one.get("case"), one.get("file"))))
                typer.echo(f"  {one.get('severity', '')}  {where}  {one.get('message', '')}", err=True)
        raise typer.Exit(2 if error.status in (401, 404) else 1) from None
    except _submit_site.SiteError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None


def _tell(text: str) -> None:
    typer.echo(text, err=True)


def _address(site: str) -> str:
    at = urlsplit(site)
    if at.scheme not in ("http", "https") or not at.hostname:
        msg = f"{site!r} is no address of a site; write https://…"
        raise typer.BadParameter(msg, param_hint="--site")
    if at.scheme == "http" and at.hostname not in ("localhost", "127.0.0.1", "::1"):
        _tell(f"{site} is not encrypted: whoever listens on the way learns your token.")
    return site


def _known(token: str) -> str:
    if not token.strip():
        msg = "make one on the page of your account, and put it into the variable ISOCENTER_TOKEN"
        raise typer.BadParameter(msg, param_hint="--token")
    return token.strip()


def _declared(pairs: Sequence[str]) -> dict[str, str]:
    said: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name or name in said:
            msg = f"{pair!r}: write NAME=VALUE, each name once"
            raise typer.BadParameter(msg, param_hint="--declaration")
        said[name] = value
    return said


def _asked_first(there: _submit_site.Site, challenge: str, phase: str, said: dict[str, str]) -> Any:
    """What the site knows of the challenge; refused here, before anything is sent, if it will be refused there."""
    known = there.get(f"/challenges/{quote(challenge)}")
    names = [one["name"] for one in known["phases"]]
    if phase not in names:
        msg = f"{challenge} has no phase {phase!r}; there is {', '.join(names) or 'none yet'}"
        raise typer.BadParameter(msg, param_hint="--phase")
    questions = {one["name"]: one for one in known["declarations"]}
    wrong = [f"{name} is no question" for name in said if name not in questions]
    wrong += [
        f"{name} is missing ({one['label']})" for name, one in questions.items() if one["required"] and name not in said
    ]
    if wrong:
        raise typer.BadParameter("; ".join(wrong), param_hint="--declaration")
    left = there.get(f"/challenges/{quote(challenge)}/phases/{quote(phase)}/quota")
    if not left["admitted"]:
        raise _submit_site.Refusal(403, f"Your team cannot submit to this phase: {left['reason']}.", [])
    if left["left"] == 0:
        raise _submit_site.Refusal(403, f"No attempt is left: {left['words']}", [])
    return known


def _zip(submission: Path, scratch: Path) -> Path:
    """The zip to send, once its list of members is one that a site takes."""
    from isocenter.submissions import list_files

    if submission.is_dir():
        file = scratch / f"{submission.resolve().name or 'submission'}.zip"
        with _bar("packing") as move:
            problems = _submit_pack.pack(submission, file, move)
    else:
        file, problems = submission, []
    problems = problems or [one for one in list_files(file).problems if one.severity == "refused"]
    if problems:
        found = [problem.to_dict() for problem in problems]
        raise _submit_site.Refusal(422, f"{submission.name} is not sent; nothing was used.", found)
    return file


class _State:
    """Where an upload that was begun goes on: a small file in the cache, found by site, phase and content."""

    def __init__(self, *key: str) -> None:
        named = os.environ.get("ISOCENTER_CACHE", "")
        home = Path(named or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "isocenter")
        name = hashlib.sha256("\0".join(key).encode()).hexdigest()
        self._path = None if named == "off" else home / "uploads" / f"{name}.json"

    def place(self) -> str:
        """The address of the upload; "" if there is none."""
        try:
            found = json.loads(self._path.read_text())["place"] if self._path else ""
        except (OSError, ValueError, KeyError, TypeError):
            return ""
        return found if isinstance(found, str) and found.startswith("/") else ""

    def remember(self, place: str) -> None:
        """Keep it; where nothing can be written, the next run begins anew."""
        if self._path is not None:
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                write_text(json.dumps({"place": place}), self._path)
            except OSError:
                return

    def forget(self) -> None:
        """Nothing goes on any more."""
        if self._path is not None:
            self._path.unlink(missing_ok=True)


def _sent(there: _submit_site.Site, state: _State, file: Path, digest: str, said: dict[str, str]) -> str:
    """The id of an upload that is complete on the site."""
    size, place = file.stat().st_size, state.place()
    offset = there.offset(place) if place else None
    if offset is None:
        place, offset = there.begin(size, {**said, "purpose": "submission", "filename": file.name}), 0
        state.remember(place)
    elif offset:
        _tell(f"An upload that was begun before goes on: {offset:,} of {size:,} bytes are there.")
    with _bar("sending") as move:
        there.send(file, place, offset, move)
    key = place.rstrip("/").rpartition("/")[2]
    found = there.get(f"/uploads/{quote(key)}")["sha256"]
    if found and found != digest:
        state.forget()
        there.drop(place)
        msg = "the file is not on the site as it is here; was it changed meanwhile? Start again"
        raise _submit_site.SiteError(msg)
    return key


@contextmanager
def _bar(title: str) -> Iterator[Callable[[int, int], None]]:
    """A bar of bytes on the error stream."""
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    with Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True)) as bars:
        task = bars.add_task(title, total=None)

        def move(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total)

        yield move


def _followed(there: _submit_site.Site, challenge: str, found: Any) -> Any:
    """The submission once it is over; until then, its place in the queue and how far it is, when that changes."""
    told = ""
    while found["state"] not in _OVER:
        if (news := _news(found)) != told:
            _tell(news)
            told = news
        time.sleep(POLL)
        found = there.get(f"/challenges/{quote(challenge)}/submissions/{found['id']}")
    return found


def _news(found: Any) -> str:
    progress = found["progress"] or {}
    lost = f" ({progress['note']})" if progress.get("note") else ""
    if found["state"] == "queued":
        seconds = progress.get("wait_seconds")
        soon = "" if seconds is None else f", done in about {max(1, round(seconds / 60))} min"
        return f"waiting, place {progress.get('position', 0)}{soon}{lost}"
    total = progress.get("total")
    return f"scoring, {progress['done']} of {total} cases{lost}" if total else f"scoring{lost}"


def _show(found: Any) -> None:
    """What became of it."""
    if found["state"] == "scored":
        for one in found["scores"]:
            typer.echo(f"{one['board']}: {one['value']} ({one['metric']}, {one['better']} is better)")
        if not found["scores"]:
            typer.echo(f"Scored; {found['hidden'] or 'there is no score to show'}.")
        for why in found["void"]:
            typer.echo(f"Does not count: {why}", err=True)
        return
    reason = found["reason"]
    typer.echo(f"{found['state']}: {reason['title']}. {reason['advice']}" if reason else found["state"], err=True)


def _found_in_it(there: _submit_site.Site, challenge: str, found: Any) -> list[dict[str, str]]:
    """What the site found in the files, as far as it shows that: the cases that are lost first."""
    if not found["problems"]:
        return []
    listed = there.get(f"/challenges/{quote(challenge)}/submissions/{found['id']}/problems")
    return sorted(listed, key=lambda one: _WORST.index(one["severity"]) if one["severity"] in _WORST else len(_WORST))


def _list(problems: Sequence[dict[str, str]], url: str) -> None:
    from isocenter.cli._terminal import count_problems, show_problems
    from isocenter.problems import Problem

    found = [Problem.from_dict(one) for one in problems]
    lost = {one.case for one in found if one.severity in ("unusable", "missing") and one.case}
    about = f"; {len(lost)} {'case has' if len(lost) == 1 else 'cases have'} no usable output" if lost else ""
    typer.echo(f"Found in the files: {count_problems(found)}{about}.")
    show_problems(found[:_MOST])
    if len(found) > _MOST:
        typer.echo(f"  … and {len(found) - _MOST} more: {url}")
