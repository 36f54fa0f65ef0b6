"""Who is answered, with what, and who is not."""

from __future__ import annotations

import http.client
import json
import re
from collections import OrderedDict
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote, urlsplit

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from isocenter.problems import Problem
from isocenter.submissions import MaskFile
from isocenter.viewer import Session, Sight, listen, make_server
from isocenter.viewer._server import answer
from isocenter.volumes import Grid, Volume, read, write

TOKEN = "secret"


def get(session: Session, path: str) -> tuple[int, str]:
    found = answer(session, TOKEN, f"/{TOKEN}/{path}")
    return int(found.status), found.body.decode("utf-8", "replace")


def order(page: str) -> list[str]:
    return re.findall(r'<li data-name="([^"]*)"', page)


def test_the_first_page_is_the_worst_case_and_lists_all(session: Session) -> None:
    status, page = get(session, "")
    assert status == 200
    assert "<h1>CHUV002</h1>" in page
    assert order(page) == ["CHUV002", "CHUV004", "CHUV003", "CHUV001"]
    assert "1 of 4, worst first" in page


def test_a_case_has_its_scores_neighbours_and_a_still_picture(session: Session) -> None:
    _, page = get(session, "case/CHUV004")
    assert re.search(r"dice ↑</th><td>0\.6667</td>", page)
    assert 'id="before" href="/secret/case/CHUV002"' in page
    assert 'id="after" href="/secret/case/CHUV003"' in page
    assert '<svg class="still"' in page
    assert "Left is R, right L, above A, below P." in page


def test_another_metric_sorts_the_list(doses: Session) -> None:
    pages = {by: get(doses, f"case/pt_365?by={by}")[1] for by in ("dose_error", "dvh_error", "nonsense")}
    assert {tuple(sorted(order(page))) for page in pages.values()} == {("pt_365", "pt_366", "pt_367")}
    assert order(pages["nonsense"]) == order(pages["dose_error"])
    errors = [doses.cases[name].value("dvh_error") for name in order(pages["dvh_error"])]
    assert errors == sorted(errors, reverse=True)
    assert "?by=dvh_error" in pages["dvh_error"]


def test_the_list_may_be_sorted_before_a_case_is_chosen(doses: Session) -> None:
    _, page = get(doses, "?by=dvh_error")
    assert f"<h1>{order(page)[0]}</h1>" in page
    assert '<option value="dvh_error" selected>' in page


def test_a_dose_case_has_dvhs_and_all_its_parts(doses: Session) -> None:
    _, page = get(doses, "case/pt_365")
    assert 'class="plot dvh"' in page
    assert "PTV70 D_95" in page
    assert "which side is the patient’s left" in page


def test_the_sight_and_its_volumes(session: Session) -> None:
    status, text = get(session, "case/CHUV001/sight.json")
    assert status == 200
    for layer in json.loads(text)["layers"]:
        found = answer(session, TOKEN, f"/{TOKEN}/case/CHUV001/{layer['key']}.nii.gz")
        assert (found.status, found.body[:2]) == (200, b"\x1f\x8b")


@pytest.mark.parametrize(
    "path",
    [
        "case/../../etc/passwd",
        "case/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "case/CHUV001/../reference.nii.gz",
        "case/CHUV001/%2fetc%2fpasswd.nii.gz",
        "case/CHUV001/..%2f..%2fteam%2fCHUV001.nii.gz",
        "case/CHUV001/structure-0.nii.gz",
        "case/CHUV001/reference",
        "static/../_server.py",
        "static/..%2f_server.py",
        "static/vendor.toml",
        "static//etc/passwd",
        "case/CHUV999",
        "nothing",
    ],
)
def test_only_what_is_known_is_answered(session: Session, path: str) -> None:
    assert get(session, path)[0] == 404


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(path=st.text(max_size=60))
def test_no_address_is_a_crash(session: Session, path: str) -> None:
    assert get(session, quote(path, safe="/?&=%#"))[0] in (200, 404)
    assert answer(session, TOKEN, path).status in (400, 404)


def test_a_case_that_there_is_not_is_said_beside_the_list(session: Session) -> None:
    status, page = get(session, "case/%3Cscript%3Ealert(1)%3C%2Fscript%3E")
    assert status == 404
    assert "There is no case" in page
    assert "<script>alert" not in page
    assert len(order(page)) == 4


def test_an_output_that_is_missing_or_unusable_is_said_on_its_page(opened, reference: Path, submission: Path) -> None:
    (submission / "CHUV001.nii.gz").unlink()
    write(Volume(np.ones((3, 3, 3), np.uint8), Grid((3, 3, 3))), submission / "CHUV002.nii.gz")
    (submission / "CHUV003.nii.gz").write_bytes(b"no volume")
    session = opened("hecktor2020", reference, submission)
    assert order(get(session, "")[1])[:3] == ["CHUV001", "CHUV002", "CHUV003"]
    said = {case: get(session, f"case/{case}")[1] for case in ("CHUV001", "CHUV002", "CHUV003")}
    assert "<strong>Missing:</strong>" in said["CHUV001"]
    assert "this is the reference alone" in said["CHUV001"]
    assert "<strong>Unusable:</strong>" in said["CHUV002"]
    assert "Grid differs: 3×3×3" in said["CHUV002"]
    assert "The output cannot be shown" in said["CHUV003"]
    for case, page in said.items():
        assert "Nothing was measured" in page
        assert get(session, f"case/{case}/sight.json")[0] == 200


@pytest.mark.parametrize("visible", [True, False])
def test_an_output_that_could_not_be_measured_is_not_read_again(
    opened, reference: Path, submission: Path, visible: bool
) -> None:
    """It may have taken all the memory that measuring a case may take; who looks has no such limit."""
    session = opened("hecktor2020", reference, submission, reference_visible=visible)
    why = Problem("unusable", "took more than 8 GB of memory to measure", case="CHUV001", code="out_of_memory")
    failed = replace(session.cases["CHUV001"], state="failed", problems=(why,))
    look = replace(session, cases=dict(session.cases) | {"CHUV001": failed}).look("CHUV001")
    if visible:
        assert look.notes[0] == "The output cannot be shown: Took more than 8 GB of memory to measure."
        assert look.sight is not None  # the reference alone
    else:
        assert (look.sight, look.notes) == (None, ("CHUV001 cannot be shown.",))


@pytest.mark.parametrize(("finer", "shown"), [(2, True), (3, False)])
def test_an_output_that_is_far_finer_than_the_reference_is_measured_and_not_shown(
    opened, reference: Path, submission: Path, finer: int, shown: bool
) -> None:
    at = read(reference / "CHUV001.nii.gz").grid
    shape = (finer * at.shape[0], finer * at.shape[1], at.shape[2])
    grid = replace(at, shape=shape, spacing=(at.spacing[0] / finer, at.spacing[1] / finer, at.spacing[2]))
    measured = opened("hecktor2020", reference, submission).cases
    write(Volume(np.ones(shape, np.uint8), grid), submission / "CHUV001.nii.gz")
    session = opened("hecktor2020", reference, submission, grid="resample")
    look = replace(session, cases=measured).look("CHUV001")
    assert ("more than 4 times those of the reference" in " ".join(look.notes)) != shown


def test_a_dose_that_is_missing_is_said_and_there_is_nothing_to_draw(opened, doses: Session, tmp_path: Path) -> None:
    text = (doses.submission / "pt_365.csv").read_text()
    (tmp_path / "team").mkdir()
    (tmp_path / "team" / "pt_365.csv").write_text(text)
    session = opened("openkbp2020", doses.reference, tmp_path / "team")
    status, page = get(session, "case/pt_366")
    assert status == 200
    assert "cannot be shown" in page
    assert "view.js" not in page
    assert get(session, "case/pt_366/sight.json")[0] == 404


def test_a_scan_that_cannot_be_read_costs_the_scan_only(
    opened, reference: Path, submission: Path, tmp_path: Path
) -> None:
    (tmp_path / "scans").mkdir()
    (tmp_path / "scans" / "CHUV001_ct.nii.gz").write_bytes(b"no scan")
    session = opened("hecktor2020", reference, submission, images=tmp_path / "scans")
    status, page = get(session, "case/CHUV001")
    assert status == 200
    assert "The scan CHUV001_ct.nii.gz cannot be shown" in page
    assert 'id="viewer"' in page


def test_a_scan_with_holes_is_shown(opened, reference: Path, submission: Path, tmp_path: Path) -> None:
    (tmp_path / "scans").mkdir()
    mask = read(reference / "CHUV002.nii.gz")
    scan = np.full(mask.array.shape, -1000.0, np.float32)
    scan[0, 0, 0] = np.nan
    write(Volume(scan, mask.grid), tmp_path / "scans" / "CHUV002_ct.nii.gz")
    session = opened("hecktor2020", reference, submission, images=tmp_path / "scans")
    status, text = get(session, "case/CHUV002/sight.json")
    assert status == 200
    (image,) = [layer for layer in json.loads(text)["layers"] if layer["role"] == "image"]
    assert (image["low"], image["hounsfield"]) == (-1000.0, True)


@pytest.mark.parametrize("target", ["http://[/", "//[", "http://[v1.x/secret/", "//\u2100/"])
def test_what_is_no_address_is_a_bad_request(session: Session, target: str) -> None:
    assert answer(session, TOKEN, target).status == 400


def test_the_picture_of_a_challenge_with_several_outputs_is_its_own(session: Session) -> None:
    extra = {"other": MaskFile(pattern="{case}_other", grid_of="mask")}
    for case in session.cases:
        other = session.submission / f"{case}_other.nii.gz"
        other.write_bytes((session.submission / f"{case}.nii.gz").read_bytes())
    challenge = replace(session.challenge, output={**session.challenge.output, **extra})
    several = replace(session, challenge=challenge, outputs={}, _looks=OrderedDict())
    ours, theirs = (one.look("CHUV002").sight for one in (session, several))
    for key in ("reference", "output"):
        np.testing.assert_array_equal(theirs.layer(key).array, ours.layer(key).array)
    assert '<div class="contours"' in get(several, "case/CHUV002")[1]


@pytest.fixture
def address(session: Session, served) -> str:
    return str(served(session))


def ask(address: str, path: str | None = None, *, method: str = "GET", **headers: str) -> http.client.HTTPResponse:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    connection.request(method, parts.path if path is None else path, headers=headers)
    response = connection.getresponse()
    response.body = response.read()
    connection.close()
    return response


def test_every_answer_is_strict(address: str) -> None:
    response = ask(address)
    assert response.status == 200
    policy = dict(part.strip().split(" ", 1) for part in response.headers["Content-Security-Policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert policy["connect-src"] == "'self'"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    page = response.body.decode()
    assert not re.search(r"<script(?![^>]*\bsrc=)", page)
    assert not re.search(r"\bon[a-z]+=", page)
    assert "http:" not in page
    assert "https:" not in page


def test_nobody_is_answered_without_the_token(address: str) -> None:
    assert ask(address, "/").status == 404
    assert ask(address, "/guess/").status == 404
    assert ask(address, "/guess/case/CHUV001").status == 404
    assert b"CHUV" not in ask(address, "/").body


def test_nobody_is_answered_who_calls_it_by_another_name(address: str) -> None:
    parts = urlsplit(address)
    assert ask(address, Host=f"localhost:{parts.port}").status == 200
    for host in ("rebound.example", f"rebound.example:{parts.port}", "127.0.0.1", f"127.0.0.1.rebound:{parts.port}"):
        assert ask(address, Host=host).status == 403


def test_what_is_no_address_is_told_so_before_the_token_is_looked_at(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    response = ask(address, "http://[/", Host=urlsplit(address).netloc)
    assert (response.status, response.body) == (400, b"This is no address.\n")
    assert capsys.readouterr().err == ""


def test_an_answer_that_fails_is_one_sentence_there_and_one_line_here(
    address: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: Sight) -> dict[str, object]:
        msg = "a defect\nof two lines"
        raise ZeroDivisionError(msg)

    monkeypatch.setattr(Sight, "description", fails)
    response = ask(address, f"{urlsplit(address).path}case/CHUV001/sight.json")
    assert response.status == 500
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert b"could not be answered" in response.body
    assert response.body.endswith(rb"ZeroDivisionError: a defect\nof two lines" + b"\n")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("isocenter view: /case/CHUV001/sight.json could not be answered: ZeroDivisionError")
    assert ask(address).status == 200


def test_it_is_only_looked_at(address: str) -> None:
    for method in ("POST", "PUT", "DELETE"):
        assert ask(address, method=method).status == 501
    head = ask(address, method="HEAD")
    assert (head.status, head.body) == (200, b"")
    assert int(head.headers["Content-Length"]) > 1000


def test_a_port_is_held_before_there_is_anything_to_show(session: Session) -> None:
    with listen() as held:
        port = held.getsockname()[1]
        with pytest.raises(OSError, match="in use"):
            listen(port)
        with make_server(session, at=held) as server:
            assert server.address == f"http://127.0.0.1:{port}/{server.token}/"


def test_it_listens_on_this_machine_only(session: Session) -> None:
    with make_server(session) as server, make_server(session) as other:
        assert server.server_address[0] == "127.0.0.1"
        assert server.token != other.token
        assert len(server.token) >= 20


@pytest.mark.parametrize(("error", "said"), [(BrokenPipeError(), False), (ZeroDivisionError("a defect"), True)])
def test_a_browser_that_goes_away_is_no_error_and_a_defect_is(
    session: Session, capsys: pytest.CaptureFixture[str], error: Exception, said: bool
) -> None:
    with make_server(session) as server:
        try:
            raise error
        except type(error):
            server.handle_error(None, ("127.0.0.1", 1))
    assert ("a defect" in capsys.readouterr().err) is said
