"""What is in a released file: folders, tables, texts, cases to look at; for who may have the file, and safely."""

from __future__ import annotations

import io
import re
import threading
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import opened
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conftest import GRID, TOML, mask
from isocenter.server.editions import code_of, edition_of
from isocenter.server.models import Download, Release, Version
from isocenter.server.pages.challenge.inside import table_of, text_of
from isocenter.server.telling import released
from isocenter.server.telling.released import Busy
from isocenter.viewer import Look
from isocenter.volumes import Volume, write

PATIENT = Path(__file__).parents[1] / "golden" / "dose" / "openkbp" / "reference" / "pt_365"
LABEL = [0x56, 0xD4, 0xFF]
HOSTILE = '<script>alert("x")'


def zipped(members: dict[str, bytes | str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


@pytest.fixture
def release(world: Any) -> Callable[..., Release]:
    """Puts a file where a release is, and offers it."""

    def made(content: bytes, name: str = "train.zip", **fields: Any) -> Release:
        path = world.data / "releases" / f"{Release.objects.count()}-{name}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        given = {"title": "Training set", "name": name, "file": f"releases/{path.name}", "size": len(content)}
        return Release.objects.create(challenge=world.challenge, sha256="0" * 64, **given | fields)

    return made


@pytest.fixture
def cases(world: Any, tmp_path: Any) -> bytes:
    """A zip of two patients: A has a CT and a label of 4 slices, B a CT alone."""
    scan = np.add.outer(np.add.outer(np.arange(12.0), np.arange(10.0)), np.arange(8.0)) * 40 - 1000
    write(Volume(scan.astype(np.int16), GRID), tmp_path / "ct.nii.gz")
    write(Volume(mask(4), GRID), tmp_path / "label.nii.gz")
    scanned, label = (tmp_path / "ct.nii.gz").read_bytes(), (tmp_path / "label.nii.gz").read_bytes()
    return zipped({"images/A_ct.nii.gz": scanned, "images/B_ct.nii.gz": scanned, "labels/A.nii.gz": label})


def page(world: Any, name: str, one: Release, rest: str = "inside/", status: int = 200) -> str:
    answer = world.client(name).get(f"/c/neck/data/{one.key}/{rest}")
    assert answer.status_code == status, answer.status_code
    return answer.content.decode()


def offered(world: Any, name: str) -> str:
    answer = world.client(name).get("/c/neck/data/")
    assert answer.status_code == 200
    return answer.content.decode()


# Who may look


def test_who_may_download_may_look_inside_and_nobody_else(world, release, cases) -> None:
    seen = set()
    for fields in ({}, {"licence": "Ask us."}, {"phase": "test"}, {"phase": "final"}):
        one = release(cases, **fields)
        for name in ("", "stranger", "waiting", "reader", "alice", "organiser"):
            client = world.client(name)
            taken = client.get(f"/c/neck/data/{one.key}/")
            for rest in ("inside/", "inside/?file=images/A_ct.nii.gz", "cases/A/", "cases/A/sight.json"):
                looked = client.get(f"/c/neck/data/{one.key}/{rest}")
                assert looked.status_code == taken.status_code, (fields, name, rest)
            seen.add((taken.status_code, name))
            taken.close()
    assert {(302, ""), (403, "alice"), (404, "alice"), (200, "alice")} <= seen


def test_a_preview_says_why_not(world, release, cases) -> None:
    one = release(cases)
    for rest in ("inside/?as=participant", "cases/A/?as=participant"):
        assert "A preview is for looking." in page(world, "organiser", one, rest, 403)


def test_the_page_of_the_data_counts_files_and_cases_for_who_may_have_them(world, release, cases) -> None:
    one = release(cases)
    told = offered(world, "alice")
    assert "3 files inside" in told
    assert "2 cases to look at" in told
    assert f'href="/c/neck/data/{one.key}/cases/B/"' in told
    assert "files inside" not in offered(world, "stranger")
    Release.objects.update(licence="Ask us.")
    assert "files inside" not in offered(world, "alice")


# Folders


def test_folders_have_sizes_and_counts_and_a_way_back(world, release) -> None:
    one = release(zipped({"a/b/c.txt": "12345", "a/d.bin": "123", "e.md": "1"}))
    top = page(world, "alice", one)
    assert re.search(r'\?folder=a">a/</a></th><td class="number">2</td><td class="number">8 B', top)
    assert "3 files, 9 B unpacked" in top
    below = page(world, "alice", one, "inside/?folder=a")
    assert '<a href="?folder=a%2Fb">b/</a>' in below
    assert ">d.bin<" in below
    assert "e.md" not in below
    page(world, "alice", one, "inside/?folder=nowhere", 404)
    assert Download.objects.count() == 0


def test_a_hundred_rows_are_a_page(world, release) -> None:
    one = release(zipped({f"x/{at:03d}.bin": "" for at in range(250)}))
    second = page(world, "alice", one, "inside/?folder=x&page=2")
    assert ("099.bin" in second, "100.bin" in second, "199.bin" in second, "200.bin" in second) == (
        False,
        True,
        True,
        False,
    )
    assert "Page 2 of 3" in second
    assert "folder=x&amp;page=3" in second


def test_names_are_never_markup_and_control_characters_are_shown_as_such(world, release) -> None:
    one = release(zipped({f"{HOSTILE}/a\x1b[2J.txt": "hello", "ev\u202eil.txt": "", 'q"&=?#%.txt': "found"}))
    top = page(world, "alice", one)
    assert HOSTILE not in top
    assert "&lt;script&gt;" in top
    assert "ev\\u202eil.txt" in top
    below = page(world, "alice", one, "inside/" + re.search(r'href="(\?folder=[^"]+)"', top)[1])
    assert "a\\x1b[2J.txt" in below
    assert "found" in page(world, "alice", one, "inside/?file=q%22%26%3D%3F%23%25.txt")


def encrypted() -> bytes:
    """As `cases`, with the mark of a password at its first member."""
    content = bytearray(zipped({"A_ct.nii.gz": b"secret", "notes.txt": "open"}))
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(signature) + at] |= 1
    return bytes(content)


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (lambda: b"no zip at all", "train.zip", "a damaged or cut off zip archive"),
        (lambda: zipped({"a.txt": "x" * 999})[:-9], "train.zip", "a damaged or cut off zip archive"),
        (lambda: b"\x1f\x8b some scan", "scan.nii.gz", "one file, not an archive"),
        (lambda: zipped({"../../etc/passwd": "root"}), "train.zip", "the name leads out of the archive"),
        (lambda: zipped({"/etc/passwd": "root"}), "train.zip", "the name leads out of the archive"),
        (encrypted, "train.zip", "protected by a password"),
    ],
)
def test_what_cannot_be_trusted_is_said_and_not_followed(world, release, content, name, words) -> None:
    one = release(content(), name)
    told = page(world, "alice", one)
    assert words in told
    assert "0-" + name not in told  # where it lies is nobody's business
    for wanted in ("../../etc/passwd", "/etc/passwd", "A_ct.nii.gz"):
        page(world, "alice", one, f"inside/?file={wanted}", 404)
    page(world, "alice", one, "cases/A/", 404)
    offered(world, "alice")
    assert Download.objects.count() == 0


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(0, 400), bits=st.integers(1, 255), cut=st.integers(0, 60))
def test_no_damage_to_an_archive_breaks_the_page(world, release, at, bits, cut) -> None:
    content = bytearray(zipped({"x/notes.txt": "abc" * 30, "A.csv": "a,b\n1,2", "A_ct.nii.gz": b"no scan"}))
    content[at % len(content)] ^= bits
    Release.objects.all().delete()
    one = release(bytes(content[: len(content) - cut]), f"{at}-{bits}-{cut}.zip")
    client = world.client("alice")
    assert client.get("/c/neck/data/").status_code == 200
    assert client.get(f"/c/neck/data/{one.key}/inside/").status_code == 200
    for rest in ("inside/?file=A.csv", "cases/A/"):  # what is not there any more may be not found
        assert client.get(f"/c/neck/data/{one.key}/{rest}").status_code in (200, 404)


# Tables and texts


def test_a_small_table_is_shown_and_kept_as_a_download(world, release) -> None:
    rows = "".join(f"P{at:03d},{at}\n" for at in range(300))
    one = release(zipped({"facts/cases.csv": f"case,{HOSTILE}\n{rows}"}))
    client = world.client("alice")
    client.head(f"/c/neck/data/{one.key}/inside/?file=facts/cases.csv")
    assert Download.objects.count() == 0
    told = page(world, "alice", one, "inside/?file=facts/cases.csv")
    assert HOSTILE not in told
    assert ("P199" in told, "P200" in told) == (True, False)
    assert "300 rows" in told
    assert Download.objects.values_list("user__name", "what", "size").get() == (
        "Alice",
        "Training set: facts/cases.csv",
        len(f"case,{HOSTILE}\n{rows}"),
    )


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", "x," * 130_000, "only tables (CSV, up to 256 kB)"),
        ("a.txt", "x" * 64_001, "only tables (CSV, up to 256 kB)"),
        ("a.nii.gz", "x", "only tables (CSV, up to 256 kB)"),
        ("a.txt", b"\xff\xfe\x00", "it is not written in UTF-8"),
        ("a.csv", "x" * 200_000, "it is no table"),
        ("a.json", '{"a": "<b>"}', "{&quot;a&quot;: &quot;&lt;b&gt;&quot;}"),
        ("a.md", "# title\nx\x1b[31m", "# title\nx\ufffd[31m"),
    ],
)
def test_other_files_are_shown_as_text_or_not_at_all(world, release, name, content, words) -> None:
    one = release(zipped({name: content}))
    assert words in page(world, "alice", one, f"inside/?file={name}")
    assert Download.objects.count() == (1 if name in ("a.json", "a.md") else 0)


def test_a_wide_table_is_cut_to_fifty_columns_and_an_empty_one_has_none() -> None:
    table = table_of(",".join(map(str, range(60))) + "\n" + ",".join("x" * 60))
    assert (len(table.head), len(table.rows[0]), table.columns, table.count) == (50, 50, 60, 1)
    assert (table_of("").head, table_of("").count) == ([], 0)
    assert text_of("a\r\n\tb\x00\u202e") == "a\n\tb\ufffd\ufffd"


# Cases


def test_a_case_has_scans_a_label_and_its_neighbours(world, release, cases) -> None:
    one = release(cases, licence="")
    told = page(world, "alice", one, "cases/A/")
    assert "These are released data" in told
    assert f'rel="next" href="/c/neck/data/{one.key}/cases/B/"' in told
    assert 'rel="prev"' not in told
    assert 'data-truth="label"' in told
    assert "<svg" in told  # for browsers that draw no volumes
    sight = world.client("alice").get(f"/c/neck/data/{one.key}/cases/A/sight.json").json()
    assert [layer["key"] for layer in sight["layers"]] == ["image-0", "reference"]
    assert sight["alone"] == "reference"
    page(world, "alice", one, "cases/C/", 404)
    page(world, "alice", one, "cases/C/sight.json", 404)
    page(world, "alice", one, "cases/A/output.nii.gz", 404)


def test_loading_volumes_is_kept_once_per_person_release_and_day(world, release, cases) -> None:
    first, second = release(cases), release(cases, title="More")
    for name in ("alice", "alice", "carol"):
        for one in (first, second):
            for layer in ("image-0", "reference"):
                answer = world.client(name).get(f"/c/neck/data/{one.key}/cases/A/{layer}.nii.gz")
                assert answer.content[:2] == b"\x1f\x8b"
    world.client("bob").head(f"/c/neck/data/{first.key}/cases/A/image-0.nii.gz")
    assert sorted(Download.objects.values_list("user__name", "what")) == [
        (name, f"{title}: train.zip, cases to look at")
        for name in ("Alice", "Carol")
        for title in ("More", "Training set")
    ]
    world.at.move(days=1, seconds=1)
    world.client("alice").get(f"/c/neck/data/{first.key}/cases/A/reference.nii.gz")
    assert Download.objects.count() == 5


def test_a_case_that_cannot_be_opened_says_so(world, release) -> None:
    one = release(zipped({"A_ct.nii.gz": b"no scan"}))
    told = page(world, "alice", one, "cases/A/")
    assert "The scan A_ct.nii.gz cannot be shown" in told
    assert "There is nothing to look at of this case." in told
    page(world, "alice", one, "cases/A/sight.json", 404)


def test_a_file_that_takes_the_place_of_another_is_looked_at_anew(world, release, cases) -> None:
    one = release(cases)
    assert "3 files" in page(world, "alice", one)
    (world.data / one.file).write_bytes(zipped({"a.txt": "new"}))
    assert "1 file," in page(world, "alice", one)


def test_who_comes_while_three_cases_are_read_is_asked_to_come_again(world, release, cases, monkeypatch) -> None:
    def full(*_: object) -> Look:
        raise Busy

    monkeypatch.setattr(released._shelf, "look", full)
    one = release(cases)
    for rest in ("cases/A/", "cases/A/sight.json", "cases/A/reference.nii.gz"):
        answer = world.client("alice").get(f"/c/neck/data/{one.key}/{rest}")
        assert (answer.status_code, answer["Retry-After"]) == (503, "10")
        assert "Ask again in a few seconds." in answer.content.decode()


def test_three_cases_are_read_at_once_each_by_one_and_a_fourth_is_not() -> None:
    shelf, go, made = released._Shelf(), threading.Event(), []
    begun = threading.Semaphore(0)

    def making(key: str) -> Callable[[], Look]:
        def make() -> Look:
            made.append(key)
            begun.release()
            assert go.wait(20)
            return Look(None, notes=(key,))

        return make

    with ThreadPoolExecutor(6) as pool:
        asked = [pool.submit(shelf.look, (key,), making(key)) for key in "abc"]
        for _ in asked:
            assert begun.acquire(timeout=20)
        again = pool.submit(shelf.look, ("a",), making("a"))
        with pytest.raises(Busy):
            shelf.look(("d",), making("d"))
        go.set()
        assert [one.result(20).notes[0] for one in (*asked, again)] == ["a", "b", "c", "a"]
    assert sorted(made) == ["a", "b", "c"]
    with pytest.raises(ZeroDivisionError):
        shelf.look(("d",), lambda: 1 / 0)
    shelf.look(("d",), making("d"))
    assert sorted(made) == ["a", "b", "c", "d"]


# In a browser


@pytest.fixture
def browser(live_server: Any, world: Any, tmp_path: Any) -> Iterator[Any]:
    """A browser that is gone before the database is: its open connections end with it, and their threads."""
    with opened(tmp_path / "browser") as found:
        found.fresh(tmp_path)
        yield found
    for thread in [one for one in threading.enumerate() if "process_request_thread" in one.name]:
        thread.join(30)
        assert not thread.is_alive()


def near(picture: np.ndarray, colour: list[int]) -> bool:
    return bool((abs(picture - colour).sum(axis=2) < 40).any())


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_labels_scans_alone_and_plans_are_drawn_in_slices(browser, live_server, world, release, cases) -> None:
    one = release(cases)
    cookie = world.client("alice").cookies["sessionid"].value
    browser.call("Network.setCookie", name="sessionid", value=cookie, url=live_server.url)
    browser.open(f"{live_server.url}/c/neck/data/{one.key}/cases/A/")
    seen = browser.picture("#stage")
    assert len(np.unique(seen.reshape(-1, 3), axis=0)) > 20
    assert near(seen, LABEL)
    assert browser.js("document.getElementById('key').textContent") == "label"
    assert browser.js("document.getElementById('said').textContent") == "Slice 1: outlined 36 mm²."
    assert browser.js("document.getElementById('here').textContent").endswith(", outlined.")
    browser.key("n")
    browser.wait("document.querySelector('h1')?.textContent === 'B'")
    browser.wait("document.querySelector('#viewer')?.dataset.state === 'drawn'")
    seen = browser.picture("#stage")
    assert len(np.unique(seen.reshape(-1, 3), axis=0)) > 20
    assert not near(seen, LABEL)
    assert browser.js("document.getElementById('said').textContent") == "Slice 4: there is no label."
    loaded = {url.rpartition("/cases/")[2] for url in browser.requests() if url.endswith(".nii.gz")}
    assert loaded == {"A/image-0.nii.gz", "A/reference.nii.gz", "B/image-0.nii.gz"}
    Version.objects.update(toml=TOML.replace("hecktor2020", "openkbp2020"))
    edition_of.cache_clear()
    code_of.cache_clear()
    plan = {str(path.relative_to(PATIENT.parent)): path.read_bytes() for path in sorted(PATIENT.iterdir())}
    browser.open(f"{live_server.url}/c/neck/data/{release(zipped(plan)).key}/cases/{PATIENT.name}/")
    assert browser.js("document.getElementById('key').textContent").startswith("dose of the plan: ")
    assert browser.js("document.getElementById('here').textContent").endswith(" Gy.")
    browser.size(360, 800)
    for rest in ("cases/A/", "inside/", ""):
        address = f"{live_server.url}/c/neck/data/{f'{one.key}/' if rest else ''}{rest}"
        browser.open(address, until="document.readyState === 'complete'")
        assert browser.js("document.documentElement.scrollWidth") <= 360, rest
    assert browser.errors() == []
    assert browser.complaints() == []
