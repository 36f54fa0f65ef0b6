"""`isocenter site`: challenges come and go, and somebody runs the site, without a browser."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile

import pytest

from conftest import TOML
from isocenter.server.hosting import admins, first_admin
from isocenter.server.models import Challenge, Decision, Notification, Role, SiteDecision, User, Version
from isocenter.server.organising import bringing
from isocenter.server.organising.versioning import Refused


@pytest.fixture
def folder(tmp_path):
    home = tmp_path / "Neck of 2027"
    (home / "pages").mkdir(parents=True)
    (home / "challenge.toml").write_text(TOML)
    (home / "pages" / "about.md").write_text("# About\n\nTumours.\n")
    (home / "cohort.csv").write_text("phase,case\ntest,CHUV001\n")
    return home


def test_a_folder_becomes_a_challenge_that_nobody_knows_of(world, folder):
    done = bringing.bring(folder, organiser="ORGANISER@example.org")
    assert (done.challenge.slug, done.version.number, done.organiser) == ("neck-of-2027", 1, True)
    assert not done.challenge.published
    assert done.version.note == "Imported from Neck of 2027."
    assert done.version.pages[0]["title"] == "About"
    assert Role.objects.filter(user=world.people["organiser"], challenge=done.challenge).exists()
    assert world.client("alice").get("/c/neck-of-2027/").status_code == 404


def test_the_same_again_is_nothing_and_a_change_is_a_version(world, folder):
    bringing.bring(folder, slug="other")
    assert bringing.bring(folder, slug="other").version is None
    (folder / "challenge.toml").write_text(TOML.replace("Tumours of", "Lesions of"))
    done = bringing.bring(folder, slug="other", note="A better title.")
    assert (done.version.number, done.version.note, done.version.author) == (2, "A better title.", None)
    assert Challenge.objects.get(slug="other").edition.title == "Lesions of the neck"
    assert Challenge.objects.filter(slug="other").count() == 1


def test_a_version_from_outside_is_decided_and_told_as_any_other(world, folder):
    text = TOML.replace("closes = 2026-04-01T00:00:00Z", "closes = 2026-04-02T00:00:00Z").replace(
        "results = 2026-04-01T00:00:00Z", "results = 2026-04-02T00:00:00Z"
    )
    (folder / "challenge.toml").write_text(text)
    bringing.bring(folder, slug="neck", note="A holiday.")
    assert "extend" in Decision.objects.values_list("what", flat=True)
    assert set(Decision.objects.values_list("actor", flat=True)) == {"the site"}
    assert Notification.objects.filter(user=world.people["alice"]).exists()


def test_what_would_undo_what_has_happened_is_refused(world, folder):
    world.scored("Rigi", "validation")
    (folder / "challenge.toml").write_text(TOML.replace('name = "validation"', 'name = "tuning"'))
    with pytest.raises(Refused, match="cannot be removed or renamed"):
        bringing.bring(folder, slug="neck", organiser="alice@example.org")
    assert Version.objects.count() == 1
    assert not Role.objects.filter(user=world.people["alice"]).exists()


def test_everything_that_is_wrong_is_said_at_once(world, folder):
    (folder / "challenge.toml").write_text(TOML.replace("quota = 3", "quota = 0").replace('"best"', '"worst"'))
    (folder / "pages" / "Not so.md").write_text("x")
    (folder / "cohort.csv").write_text("phase,case\ntest,A\ntest,A\n")
    with pytest.raises(Refused) as refused:
        bringing.bring(folder, slug="No", organiser="nobody@example.org")
    said = "\n".join(refused.value.problems)
    for words in ("nobody@example.org", "'No'", "Not so", "line 10", "line 12", "challenge.toml, line"):
        assert words in said
    assert len(refused.value.problems) == 6
    assert Challenge.objects.count() == 1


def test_an_organiser_can_be_named_later_and_once(world, folder):
    assert not bringing.bring(folder, slug="other").organiser
    assert bringing.bring(folder, slug="other", organiser="alice@example.org").organiser
    assert not bringing.bring(folder, slug="other", organiser="alice@example.org").organiser
    assert Decision.objects.filter(what="make organiser").count() == 1


def test_what_is_exported_is_imported_to_the_same(world, folder, tmp_path):
    bringing.bring(folder, slug="other")
    path = tmp_path / "again.zip"
    path.write_bytes(bringing.exported("other"))
    assert bringing.bring(path, slug="other").version is None
    with pytest.raises(Refused, match="there is neck, other"):
        bringing.exported("else")


# Who runs the site


def test_an_account_is_let_run_the_site_once_and_that_is_written_down(world):
    assert admins.appoint(" Alice@example.org", link=False).made
    assert User.objects.get(email="alice@example.org").is_staff
    assert not admins.appoint("alice@example.org", link=False).made
    assert SiteDecision.objects.get().actor == "the command line"


def test_a_link_sets_a_new_password_once(world, client):
    link = admins.appoint("staff@example.org", link=True).link
    page = client.get(link, follow=True)
    at = page.redirect_chain[-1][0]
    new = {"password1": "a long and strange word 7", "password2": "a long and strange word 7"}
    client.post(at, new)
    assert User.objects.get(email="staff@example.org").check_password("a long and strange word 7")
    assert "no longer valid" in client.get(link, follow=True).content.decode()


@pytest.mark.parametrize("closed", [True, False])
def test_without_an_account_nobody_runs_the_site(world, closed):
    if closed:
        User.objects.filter(email="alice@example.org").update(is_active=False)
    with pytest.raises(admins.NoAccount, match="closed" if closed else "does not exist"):
        admins.appoint("alice@example.org" if closed else "nobody@example.org", link=True)
    assert not SiteDecision.objects.exists()


def test_where_nobody_runs_the_site_the_first_link_is_given(world):
    User.objects.filter(is_staff=True).delete()
    link = admins.appoint("nobody@example.org", link=False).link
    assert first_admin.is_valid(link.split("/")[2])


# The commands


def run(tmp_path, *arguments):
    ours = ("ISOCENTER_", "DATABASE_URL", "EMAIL_URL", "DJANGO_")
    env = {key: value for key, value in os.environ.items() if not key.startswith(ours)}
    return subprocess.run(
        [sys.executable, "-m", "isocenter", "site", *map(str, arguments)],
        cwd=tmp_path,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_commands_on_a_site_that_was_not_there_before(tmp_path, folder):
    data = tmp_path / "site"
    absent = run(tmp_path, "export", "neck", "out.zip", "--data", data)
    assert absent.returncode == 2
    assert "There is no site in" in absent.stderr
    assert not data.exists()
    made = run(tmp_path, "import", folder, "--slug", "neck", "--data", data)
    assert made.returncode == 0, made.stderr
    assert "neck: made. Nobody knows of it yet" in made.stdout
    assert "nothing is different" in run(tmp_path, "import", folder, "--slug", "neck", "--data", data).stdout
    (folder / "challenge.toml").write_text(TOML.replace("[policies]", "[polices]"))
    wrong = run(tmp_path, "import", folder, "--slug", "neck", "--organiser", "me@example.org", "--data", data)
    assert wrong.returncode == 1
    assert "polices" in wrong.stderr
    assert "me@example.org" in wrong.stderr
    assert "Traceback" not in wrong.stderr
    out = run(tmp_path, "export", "neck", "out.zip", "--data", data)
    assert out.returncode == 0
    with zipfile.ZipFile(tmp_path / "out.zip") as archive:
        assert archive.read("challenge.toml").decode() == TOML
    first = run(tmp_path, "admin", "me@example.org", "--data", data)
    assert "/first/" in first.stdout
