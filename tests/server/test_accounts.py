"""Accounts: made, confirmed, guarded, recovered, ended; and nobody learns who has one."""

from __future__ import annotations

import re
import time

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from isocenter.server.models import Mail, Membership, Post, Registration, Role, Team, Token, Topic, User

PASSWORD = "a long and strange word 7"
HOSTILE = ("Eve\u202egnp.exe", "<script>alert(1)</script>" * 20, "x" * 10_000, "\u200b\u200b", "a\x01b")


@pytest.fixture(autouse=True)
def no_limits_of_other_tests():
    cache.clear()


def signs_up(client, email="new@example.org", **fields):
    data = {"email": email, "name": "Nora New", "institution": "", "password1": PASSWORD, "password2": PASSWORD}
    return client.post(reverse("account_signup"), data | fields, follow=True)


def signs_in(client, email, password=PASSWORD):
    return client.post(reverse("account_login"), {"login": email, "password": password}, follow=True)


def link_in(message):
    return re.search(r"https?://[^/\s]+(/\S+)", message.body)[1]


def same_but_for_what_was_typed(page):
    return re.sub(r'value="[^"]*"|[a-z0-9]+@example\.org', "", page.content.decode())


def code(secret, at=None):
    return format_hotp_value(hotp_value(secret, int((time.time() if at is None else at) // 30)))


def reauthenticated(client, password="pass"):
    client.post(reverse("account_reauthenticate"), {"password": password})


def test_an_account_is_made_confirmed_and_used(world):
    client = Client()
    page = signs_up(client)
    assert "Look into your mail" in page.content.decode()
    (sent,) = mail.outbox
    assert sent.to == ["new@example.org"]
    assert sent.subject == "Confirm your address"
    assert "Nora" not in sent.body  # what a stranger typed is not mailed to the owner of an address
    assert "not right" not in signs_in(client, "new@example.org").content.decode()  # but the address is not confirmed
    assert not client.get(reverse("account")).context
    link = link_in(sent)
    assert "Is <strong>new@example.org</strong> your address?" in client.get(link).content.decode()
    assert not EmailAddress.objects.get(email="new@example.org").verified  # looking alone confirms nothing
    client.post(link)
    assert EmailAddress.objects.get(email="new@example.org").verified
    signs_in(client, "new@example.org")
    assert "Nora New" in client.get(reverse("account")).content.decode()


def test_where_mails_are_kept_the_page_says_so(world, settings):
    assert "Staff, Mail" not in signs_up(Client()).content.decode()
    if hasattr(settings, "MAILERS"):  # Django 6.1
        settings.MAILERS = {"default": {"BACKEND": "isocenter.server.mail.Kept"}}
    else:
        settings.EMAIL_BACKEND = "isocenter.server.mail.Kept"
    assert "Staff, Mail" in signs_up(Client(), "other@example.org").content.decode()
    assert Mail.objects.filter(to="other@example.org").exists()


def test_sign_up_and_reset_tell_nobody_who_has_an_account(world):
    known, unknown = signs_up(Client(), "alice@example.org"), signs_up(Client(), "nobody@example.org")
    assert known.redirect_chain == unknown.redirect_chain
    pages = [same_but_for_what_was_typed(page) for page in (known, unknown)]
    assert pages[0] == pages[1]
    assert [one.subject for one in mail.outbox] == ["You have an account already", "Confirm your address"]
    asked = [
        Client().post(reverse("account_reset_password"), {"email": email}, follow=True)
        for email in ("bob@example.org", "nobody2@example.org")
    ]
    pages = [same_but_for_what_was_typed(page) for page in asked]
    assert pages[0] == pages[1]
    wrong = [signs_in(Client(), email, "wrong") for email in ("bob@example.org", "nobody3@example.org")]
    pages = [same_but_for_what_was_typed(page) for page in wrong]
    assert pages[0] == pages[1]
    assert "The address or the password is not right." in pages[0]


def test_a_forgotten_password_is_set_anew_by_mail_once(world):
    client = Client()
    client.post(reverse("account_reset_password"), {"email": "bob@example.org"})
    (sent,) = mail.outbox
    link = link_in(sent)
    form = client.get(link, follow=True)
    at = form.redirect_chain[-1][0]
    client.post(at, {"password1": PASSWORD, "password2": PASSWORD}, follow=True)
    assert signs_in(Client(), "bob@example.org").context["user"].is_authenticated
    assert "no longer valid" in Client().get(link, follow=True).content.decode()


def test_a_second_factor_is_set_up_with_an_app_and_then_asked_for(world, settings):
    settings.MFA_TOTP_TOLERANCE = 1  # the half minute may end while this runs
    client = world.client("alice")
    assert "Is it you?" in client.get(reverse("mfa_activate_totp"), follow=True).content.decode()
    reauthenticated(client)
    page = client.get(reverse("mfa_activate_totp"))
    text = page.content.decode()
    secret = page.context["form"].secret
    assert 'src="data:image/svg+xml;base64,' in text
    assert secret in text
    assert "<script>" not in text
    assert "Incorrect code" in client.post(reverse("mfa_activate_totp"), {"code": "0"}).content.decode()
    now = time.time()
    done = client.post(reverse("mfa_activate_totp"), {"code": code(secret, now)}, follow=True)
    spare = re.findall(
        r"^[\w-]{8,}$", re.search(r'<pre id="recovery-codes">(.*?)</pre>', done.content.decode(), re.S)[1], re.M
    )
    assert len(spare) == 10

    def enters(given):
        browser = Client()
        assert "Your second factor" in signs_in(browser, "alice@example.org", "pass").content.decode()
        assert not browser.get("/").context["user"].is_authenticated  # the password alone opens nothing
        return browser.post(reverse("mfa_authenticate"), {"code": given}, follow=True)

    for given in (code(secret, now), spare[0]):
        assert enters(given).context["user"].is_authenticated
        assert "Incorrect code" in enters(given).content.decode()  # each once

    for name in ("mfa_index", "mfa_view_recovery_codes", "mfa_generate_recovery_codes", "mfa_deactivate_totp"):
        assert client.get(reverse(name)).status_code == 200, name
    assert spare[1] in client.get(reverse("mfa_download_recovery_codes")).content.decode()
    client.post(reverse("mfa_deactivate_totp"))
    assert not Authenticator.objects.filter(user=world.people["alice"]).exists()


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_refused_with_a_sentence_or_shown_as_text(world, name):
    page = signs_up(Client(), name=name)
    assert page.status_code == 200
    assert not User.objects.filter(email="new@example.org").exists()
    client = world.client("alice")
    page = client.post(reverse("account"), {"name": name, "institution": "", "zone": ""})
    assert page.status_code == 400
    assert "<script>alert" not in page.content.decode()
    assert User.objects.get(email="alice@example.org").name == "Alice"


def test_a_name_that_looks_like_markup_is_shown_as_text(world):
    client = world.client("alice")
    client.post(reverse("account"), {"name": "<b>Al</b>", "institution": "A & B", "zone": "Europe/Zurich"})
    text = client.get(reverse("account")).content.decode()
    assert "&lt;b&gt;Al&lt;/b&gt;" in text
    assert "<b>Al" not in text
    assert User.objects.get(email="alice@example.org").zone == "Europe/Zurich"
    assert client.post(reverse("account"), {"name": "Al", "zone": "Mars/Olympus"}).status_code == 400


def test_pages_of_accounts_look_like_the_site_and_hold_no_script(world):
    anonymous, client = Client(), world.client("alice")
    reauthenticated(client)
    pages = [anonymous.get(reverse(name)) for name in ("account_login", "account_signup", "account_reset_password")]
    names = ("account_email", "account_change_password", "account_logout", "mfa_index", "mfa_activate_totp", "account")
    pages += [client.get(reverse(name)) for name in (*names, "tokens", "erase_account", "account_reauthenticate")]
    for page in pages:
        text = page.content.decode()
        assert page.status_code == 200, page.request["PATH_INFO"]
        assert 'class="skip"' in text
        assert not re.search(r"<script(?![^>]*\bsrc=)", text)
        assert not re.search(r"\son\w+=", text)
        for field in re.findall(r'<(?:input|select|textarea)[^>]*\bid="([^"]+)"', text):
            assert f'for="{field}"' in text, (page.request["PATH_INFO"], field)


def test_a_token_is_shown_once_and_kept_as_a_hash(world):
    client = world.client("alice")
    page = client.post(reverse("tokens"), {"title": "cluster", "days": "90"}, follow=True)
    assert "Is it you?" in page.content.decode()  # a stolen session makes no token
    assert not Token.objects.exists()
    reauthenticated(client)
    page = client.post(reverse("tokens"), {"title": "cluster", "days": "90"})
    secret = re.search(r'<pre id="token">(\S+)</pre>', page.content.decode())[1]
    token = Token.objects.get()
    assert token.hash == Token.hashed(secret)
    assert secret not in token.hash
    assert (token.expires - world.at.now).days == 90
    assert secret not in client.get(reverse("tokens")).content.decode()
    assert world.client("bob").post(reverse("revoke_token", args=[token.key])).status_code == 404
    client.post(reverse("revoke_token", args=[token.key]))
    assert not Token.objects.exists()


def test_the_account_shows_what_one_takes_part_in_and_nothing_that_one_may_not_know(world):
    assert "Rigi" in world.client("alice").get(reverse("account")).content.decode()
    world.challenge.published = False
    world.challenge.save()
    assert "Tumours of the neck" not in world.client("alice").get(reverse("account")).content.decode()
    assert "Tumours of the neck" in world.client("organiser").get(reverse("account")).content.decode()


def test_an_erased_account_leaves_the_work_of_its_team_and_no_name(world):
    world.submission("Rigi", "validation", author=world.people["bob"])
    topic = Topic.objects.create(challenge=world.challenge, title="A question", author=world.people["bob"])
    Post.objects.create(topic=topic, author=world.people["bob"], text="Which grid?")
    Mail.objects.create(to="bob@example.org", subject="Hello", text="Bob")
    client = world.client("bob")
    assert "Is it you?" in client.post(reverse("erase_account"), follow=True).content.decode()
    assert User.objects.filter(email="bob@example.org").exists()
    reauthenticated(client)
    client.post(reverse("erase_account"))
    assert not User.objects.filter(email="bob@example.org").exists()
    assert not EmailAddress.objects.filter(email="bob@example.org").exists()
    assert Registration.objects.filter(challenge=world.challenge).count() == 3
    assert not Mail.objects.exists()
    assert world.teams["Rigi"].submissions.get().author is None
    assert topic.posts.get().author is None
    assert client.get(reverse("account")).status_code == 302


def test_who_leads_a_team_that_has_submitted_or_organises_alone_hands_over_first(world):
    world.submission("Rigi", "validation")
    for name, says in (("alice", "lead the team “Rigi”"), ("organiser", "only organiser"), ("staff", "runs the site")):
        client = world.client(name)
        reauthenticated(client)
        assert says in client.get(reverse("erase_account")).content.decode()
        client.post(reverse("erase_account"))
        assert User.objects.filter(email=f"{name}@example.org").exists()
    Membership.objects.filter(user=world.people["alice"]).update(leads=False)
    Membership.objects.filter(user=world.people["bob"]).update(leads=True)
    Role.objects.create(user=world.people["stranger"], challenge=world.challenge, kind="organiser")
    for name in ("alice", "organiser"):
        client = world.client(name)
        reauthenticated(client)
        client.post(reverse("erase_account"))
        assert not User.objects.filter(email=f"{name}@example.org").exists()


def test_a_team_of_one_that_never_submitted_goes_with_its_person_and_one_that_did_stays(world):
    for name in ("carol",):
        client = world.client(name)
        reauthenticated(client)
        client.post(reverse("erase_account"))
    assert not Team.objects.filter(name="Pilatus").exists()
    world.submission("Rigi", "validation")
    Membership.objects.filter(user=world.people["bob"]).delete()
    client = world.client("alice")
    reauthenticated(client)
    client.post(reverse("erase_account"))
    assert Team.objects.get(name="Rigi").submissions.count() == 1


# The way back to an invitation


@pytest.fixture
def invited(world, django_capture_on_commit_callbacks):
    """Somebody without an account whom Rigi invites; the path of their invitation."""
    data = {"do": "invite", "email": "new@example.org"}
    with django_capture_on_commit_callbacks(execute=True):
        world.client("alice").post(reverse("team", args=["neck"]), data)
    (sent,) = mail.outbox
    mail.outbox.clear()
    return link_in(sent)


@pytest.mark.parametrize("same_browser", [True, False])
def test_who_is_invited_and_signs_up_arrives_at_the_invitation(world, invited, same_browser):
    client = Client()
    page = client.get(invited, follow=True)
    assert page.redirect_chain[-1][0] == f"/accounts/login/?next={invited}"
    signup = re.search(r'href="(/accounts/signup/[^"]*)"', page.content.decode())[1]
    form = client.get(signup).content.decode()
    assert re.search(rf'name="next" value="{invited}"', form)
    signs_up(client, next=invited)
    (sent,) = mail.outbox
    link = link_in(sent)
    reader = client if same_browser else Client()  # the mail is read on a phone
    form = reader.get(link).content.decode()
    assert re.search(rf'name="next" value="{invited}"', form)
    done = reader.post(link.partition("?")[0], {"next": invited}, follow=True)
    assert done.redirect_chain[-1][0].startswith("/accounts/login/?next=")
    last = reader.post("/accounts/login/", {"login": "new@example.org", "password": PASSWORD, "next": invited})
    assert (last.status_code, last.url) == (302, invited)
    assert "Rigi" in reader.get(invited).content.decode()


def test_who_signs_in_before_confirming_gets_a_link_that_leads_there_too(world, invited):
    client = Client()
    signs_up(client)
    cache.clear()
    mail.outbox.clear()
    client.post("/accounts/login/", {"login": "new@example.org", "password": PASSWORD, "next": invited})
    assert [one.subject for one in mail.outbox] == ["Confirm your address"]
    assert f"?next={invited.replace('/', '%2F')}" in mail.outbox[0].body


ELSEWHERE = (
    "https://evil.example.org/",
    "//evil.example.org/",
    "/\\evil.example.org/",
    "///evil.example.org",
    "http:evil.example.org",
    "http://localhost:9/",
    "javascript:alert(1)",
    "\thttps://evil.example.org/",
)


@pytest.mark.parametrize("there", ELSEWHERE)
def test_nobody_is_sent_to_another_host(world, there):
    client = Client()
    signs_up(client, next=there)
    link = link_in(mail.outbox[0])
    assert "next" not in link
    done = client.post(link, {"next": there})
    assert (done.status_code, done.url) == (302, "/accounts/login/")
    signed_in = client.post("/accounts/login/", {"login": "new@example.org", "password": PASSWORD, "next": there})
    assert (signed_in.status_code, signed_in.url) == (302, "/")


@pytest.mark.parametrize("there", ["/no/such/page/", "/c/neck/?q=Dear+friend,+your+account+was+closed", "/%0d%0aBcc:x"])
def test_nothing_that_a_stranger_typed_is_mailed(world, there):
    signs_up(Client(), next=there)
    (sent,) = mail.outbox
    assert "Dear" not in sent.body
    assert "such" not in sent.body
    assert "Bcc" not in sent.body


# An open browser, a stolen password


@pytest.mark.parametrize("does", ["add", "primary", "remove"])
def test_addresses_change_only_after_the_password(world, does):
    alice = world.people["alice"]
    EmailAddress.objects.create(user=alice, email="other@example.org", verified=True)
    client = world.client("alice")
    data = {"email": "third@example.org" if does == "add" else "other@example.org", f"action_{does}": ""}
    page = client.post(reverse("account_email"), data, follow=True)
    assert "Is it you?" in page.content.decode()
    found = EmailAddress.objects.filter(user=alice).order_by("pk").values_list("email", "primary")
    assert list(found) == [("alice@example.org", True), ("other@example.org", False)]
    assert not mail.outbox
    reauthenticated(client)
    client.post(reverse("account_email"), data)
    assert list(found.all()) != [("alice@example.org", True), ("other@example.org", False)]


def test_the_old_address_is_told_of_the_new_one(world):
    EmailAddress.objects.create(user=world.people["alice"], email="other@example.org", verified=True)
    client = world.client("alice")
    reauthenticated(client)
    client.post(reverse("account_email"), {"email": "other@example.org", "action_primary": ""})
    (sent,) = mail.outbox
    assert sent.to == ["alice@example.org"]
    assert "was alice@example.org and is now other@example.org" in sent.body


def test_a_new_password_is_told_and_ends_tokens(world):
    _, secret = Token.make(world.people["alice"], "cluster")
    Token.make(world.people["bob"], "cluster")
    client = world.client("alice")
    data = {"oldpassword": "pass", "password1": PASSWORD, "password2": PASSWORD}
    assert "are revoked" in client.get(reverse("account_change_password")).content.decode()
    client.post(reverse("account_change_password"), data)
    (sent,) = mail.outbox
    assert (sent.to, sent.subject) == (["alice@example.org"], "Your password was changed")
    assert Client().get("/api/v1/me", headers={"Authorization": f"Bearer {secret}"}).status_code == 401
    assert [token.user.name for token in Token.objects.all()] == ["Bob"]


def test_a_password_that_is_set_anew_by_mail_ends_tokens_too(world):
    Token.make(world.people["alice"], "cluster")
    client = Client()
    client.post(reverse("account_reset_password"), {"email": "alice@example.org"})
    form = client.get(link_in(mail.outbox[0]), follow=True)
    client.post(form.redirect_chain[-1][0], {"password1": PASSWORD, "password2": PASSWORD})
    assert User.objects.get(email="alice@example.org").check_password(PASSWORD)
    assert not Token.objects.exists()
    assert mail.outbox[-1].subject == "Your password was set anew"


@pytest.mark.parametrize("host", ["localhost:6666", "127.0.0.1", "challenge.example.org:81"])
def test_links_in_mails_lead_to_the_site_whatever_host_was_named(world, settings, host):
    settings.URL = "https://challenge.example.org"
    settings.ALLOWED_HOSTS = ["challenge.example.org", "localhost", "127.0.0.1"]
    client = Client(headers={"Host": host})
    client.post(reverse("account_reset_password"), {"email": "alice@example.org"})
    client.post(reverse("account_reset_password"), {"email": "nobody@example.org"})
    signs_up(client)
    signs_up(client, "alice@example.org")
    assert len(mail.outbox) == 4
    for sent in mail.outbox:
        assert host not in sent.body
        assert set(re.findall(r"https?://[^/\s]+", sent.body)) == {"https://challenge.example.org"}
        assert sent.body.endswith("isocenter, challenge.example.org")


def test_nobody_is_locked_out_from_elsewhere_and_nobody_guesses_for_long(world):
    def tries(password, address, host="testserver"):
        client = Client(REMOTE_ADDR=address, headers={"Host": host})
        client.post(reverse("account_login"), {"login": "Carol@example.org", "password": password})
        return "_auth_user_id" in client.session

    for number in range(12):
        tries("wrong", f"10.9.{number}.1")
    assert tries("pass", "192.0.2.7")
    for number in range(5):
        tries("wrong", "192.0.2.8", host=f"localhost:{number + 1}")  # the port is not another site
    assert not tries("pass", "192.0.2.8")
    assert tries("pass", "192.0.2.7")


@pytest.mark.parametrize("name", ["the site", "The  Site", "thе site", "The command line"])
def test_nobody_is_called_what_the_log_calls_the_site(world, name):
    page = world.client("alice").post(reverse("account"), {"name": name, "institution": "", "zone": ""})
    assert (page.status_code, "calls itself" in page.content.decode()) == (400, True)
    assert User.objects.get(email="alice@example.org").name == "Alice"
    signs_up(Client(), name=name)
    assert not User.objects.filter(email="new@example.org").exists()
