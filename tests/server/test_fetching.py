"""A worker without the folder of data gets files by signed links; nobody else gets any."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from django.core import signing
from django.test import Client

from isocenter.server import files
from isocenter.server.hosting import fetching

SALT = "isocenter.internal.files"


def address(name: str, **options: object) -> str:
    return f"/internal/files/{signing.dumps(name, salt=SALT, **options)}/"


@pytest.fixture
def site(data: Path) -> Path:
    """A folder with a reference, a submission and a secret."""
    for name, text in (
        ("references/neck/1/a.nii.gz", "aaa"),
        ("references/neck/1/deep/b.nii.gz", "bb"),
        ("submissions/1.zip", "zip"),
        ("releases/neck/train.zip", "zip"),
        ("secret.key", "secret"),
    ):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text(text)
    return data


def test_a_folder_is_listed_and_its_files_are_given(site):
    listing = Client().get(address("references/neck/1")).json()
    assert listing == [{"file": "a.nii.gz", "size": 3}, {"file": "deep/b.nii.gz", "size": 2}]
    response = Client().get(address("references/neck/1"), {"file": "deep/b.nii.gz"})
    assert b"".join(response.streaming_content) == b"bb"


@pytest.mark.parametrize("name", ["secret.key", "isocenter.sqlite3", "releases/neck/train.zip", "submissions/2.zip"])
def test_a_link_that_is_signed_gives_submissions_and_references_only(site, name):
    assert Client().get(address(name)).status_code == 404


@pytest.mark.parametrize("name", ["../secret.key", "references/../../x", "/etc/passwd", ""])
def test_a_name_that_leads_out_is_refused(site, name):
    assert Client().get(address(name)).status_code == 403


@pytest.mark.parametrize("file", ["../../../secret.key", "/etc/passwd", "deep", "nothing"])
def test_a_file_outside_of_the_folder_is_not_given(site, file):
    assert Client().get(address("references/neck/1"), {"file": file}).status_code == 404


def test_a_link_is_good_for_minutes_and_only_with_the_key(site, monkeypatch):
    good = address("submissions/1.zip")
    assert Client().get(good).status_code == 200
    assert Client().get(address("submissions/1.zip", key="another key")).status_code == 403
    assert Client().get(good[:-3] + "xx/").status_code == 403
    other = signing.dumps("submissions/1.zip", salt="another purpose")
    assert Client().get(f"/internal/files/{other}/").status_code == 403
    later = time.time() + fetching.VALID + 5
    monkeypatch.setattr(signing.time, "time", lambda: later)
    assert Client().get(good).status_code == 403


def test_a_worker_fetches_what_it_lacks_once_and_whole(site, tmp_path, settings, live_server):
    here = tmp_path / "worker"
    settings.SITE = live_server.url
    fetching.fetch("references/neck/1", here / "references/neck/1")
    fetching.fetch("submissions/1.zip", here / "submissions/1.zip")
    fetching.fetch("submissions/2.zip", here / "submissions/2.zip")
    fetching.fetch("secret.key", here / "secret.key")
    found = {path.relative_to(here).as_posix(): path.read_text() for path in here.rglob("*") if path.is_file()}
    assert found == {
        "references/neck/1/a.nii.gz": "aaa",
        "references/neck/1/deep/b.nii.gz": "bb",
        "submissions/1.zip": "zip",
    }


def test_a_file_that_breaks_off_is_not_there(site, tmp_path, settings, live_server, monkeypatch):
    settings.SITE = live_server.url
    monkeypatch.setattr(fetching, "_listing", lambda root: [{"file": "", "size": 4}])
    with pytest.raises(OSError, match="broke off"):
        fetching.fetch("submissions/1.zip", tmp_path / "submissions/1.zip")
    assert list((tmp_path / "submissions").iterdir()) == []


def test_with_another_key_the_worker_is_told_which_variable_is_wrong(
    site, tmp_path, settings, live_server, monkeypatch
):
    settings.SITE = live_server.url
    real = signing.dumps
    monkeypatch.setattr(signing, "dumps", lambda name, salt: real(name, key="another", salt=salt))
    with pytest.raises(OSError, match="is ISOCENTER_SECRET_KEY the site's"):
        fetching.fetch("submissions/1.zip", tmp_path / "x.zip")


def test_a_site_that_offers_a_file_elsewhere_is_not_believed(site, tmp_path, settings, live_server, monkeypatch):
    settings.SITE = live_server.url
    monkeypatch.setattr(fetching, "_listing", lambda root: [{"file": "../../evil", "size": 3}])
    with pytest.raises(OSError, match="which is no file within"):
        fetching.fetch("references/neck/1", tmp_path / "references")


def test_a_worker_asks_for_what_it_lacks_and_for_nothing_else(site, settings, live_server, monkeypatch):
    settings.SITE = live_server.url
    real = fetching.fetch
    asked = []
    monkeypatch.setattr(fetching, "fetch", lambda name, to: (asked.append(name), real(name, to)))
    assert files.at("submissions/1.zip").read_text() == "zip"
    assert asked == []
    assert not files.at("submissions/7.zip").exists()
    assert asked == ["submissions/7.zip"]


def test_only_workers_fetch(site, settings, monkeypatch):
    monkeypatch.setattr(fetching, "fetch", lambda *_: pytest.fail("fetched"))
    assert not files.at("submissions/7.zip").exists()
