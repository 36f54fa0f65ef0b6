"""What every answer is held to: policies for browsers, second factors, hosts, clocks."""

from __future__ import annotations

import io

import pytest
from allauth.mfa.totp.internal.auth import TOTP, generate_totp_secret
from django.conf import settings as site
from django.core.exceptions import PermissionDenied
from django.test import Client
from waitress.proxy_headers import proxy_headers_middleware

from isocenter.server.hosting import serving
from isocenter.server.models import Challenge, Download, Release, Token
from isocenter.server.security import POLICY
from isocenter.server.submitting import uploads


def directives(policy: str) -> dict[str, str]:
    return {part.split()[0]: " ".join(part.split()[1:]) for part in policy.split("; ")}


def test_no_script_stands_in_a_page_or_comes_from_elsewhere():
    found = directives(POLICY)
    assert (found["default-src"], found["script-src"]) == ("'none'", "'self'")
    assert (found["frame-ancestors"], found["base-uri"], found["form-action"]) == ("'none'", "'none'", "'self'")
    assert "unsafe-eval" not in POLICY
    assert "http" not in POLICY


@pytest.mark.parametrize("path", ["/", "/accounts/login/", "/nothing-here/", "/health/", "/staff/"])
def test_every_answer_has_the_policy(world, path):
    response = world.client("alice").get(path)
    assert directives(response["Content-Security-Policy"])["script-src"] == "'self'"
    assert response["X-Content-Type-Options"] == "nosniff"
    assert response["X-Frame-Options"] == "DENY"
    assert response["Referrer-Policy"] == "same-origin"
    assert "no-store" in response["Cache-Control"] or path == "/health/"


@pytest.mark.parametrize("path", ["/", "/accounts/login/", "/accounts/signup/"])
def test_pages_have_no_inline_scripts(world, path):
    body = world.client().get(path).content.decode()
    for tag in body.split("<script")[1:]:
        assert tag.startswith(" src=")
    assert " onclick=" not in body
    assert "javascript:" not in body


def test_what_was_seen_before_signing_out_is_in_no_cache(world):
    assert world.client("alice").get("/")["Cache-Control"] == "private, no-store"
    assert world.client().get("/")["Cache-Control"] == "no-cache"
    assert "Cookie" in world.client().get("/")["Vary"]


def test_another_host_is_refused(world):
    assert world.client().get("/", headers={"host": "evil.example.org"}).status_code == 400


def test_forms_of_other_sites_are_refused(world):
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.people["staff"], backend="allauth.account.auth_backends.AuthenticationBackend")
    where = f"/staff/users/{world.people['alice'].pk}/decide/"
    assert client.post(where, {"act": "promote", "reason": "x"}).status_code == 403


def leads_to_second_factor(response) -> bool:
    return response.status_code == 302 and response["Location"] == "/accounts/2fa/"


@pytest.mark.parametrize(
    ("name", "path", "led"),
    [
        ("organiser", "/c/neck/organise/", True),
        ("organiser", "/c/neck/", True),  # where they see more than others
        ("staff", "/staff/", True),
        ("staff", "/c/neck/boards/", True),
        ("organiser", "/", False),
        ("organiser", "/accounts/2fa/", False),
        ("alice", "/c/neck/", False),
        ("", "/c/neck/", False),
    ],
)
def test_organisers_of_an_https_site_set_up_a_second_factor_first(world, settings, name, path, led):
    settings.REQUIRE_MFA = True
    assert leads_to_second_factor(world.client(name).get(path)) == led


def test_who_has_a_second_factor_comes_in(world, settings):
    settings.REQUIRE_MFA = True
    TOTP.activate(world.people["staff"], generate_totp_secret())
    assert world.client("staff").get("/staff/").status_code == 200


def test_without_https_no_second_factor_is_asked_for(world):
    assert not site.REQUIRE_MFA
    assert world.client("staff").get("/staff/").status_code == 200


@pytest.mark.parametrize(
    ("cookie", "words"),
    [("Europe%2FZurich", "2:00"), ("Europe/Zurich", "2:00"), ("../../etc/passwd", "0:00"), ("", "0:00")],
)
def test_moments_are_on_the_clock_of_the_browser(world, cookie, words):
    """1 April 2026, 00:00 UTC is two o'clock in Zurich."""
    client = world.client()
    client.cookies["zone"] = cookie
    assert f"1 April 2026, 0{words}" in client.get("/").content.decode()


def test_behind_a_proxy_the_address_of_the_visitor_and_https_are_known_but_only_from_the_proxy(settings):
    settings.PROXY = "10.0.0.1"
    with serving.listen("127.0.0.1", 0) as held:
        server = serving._server(held)
        adjustments = server.adj
        server.task_dispatcher.shutdown()
        server.close()
    assert adjustments.trusted_proxy_headers == {"x-forwarded-for", "x-forwarded-proto"}
    seen = []

    def asked(environ, start_response):
        seen.append((environ["REMOTE_ADDR"], environ["wsgi.url_scheme"], environ.get("HTTP_X_FORWARDED_PROTO")))
        return []

    wrapped = proxy_headers_middleware(
        asked,
        trusted_proxy=adjustments.trusted_proxy,
        trusted_proxy_count=adjustments.trusted_proxy_count,
        trusted_proxy_headers=adjustments.trusted_proxy_headers,
        clear_untrusted=adjustments.clear_untrusted_proxy_headers,
    )
    for peer in ("10.0.0.1", "10.9.9.9"):
        wrapped(
            {
                "REMOTE_ADDR": peer,
                "REMOTE_HOST": peer,
                "REMOTE_PORT": "1",
                "SERVER_NAME": "x",
                "SERVER_PORT": "80",
                "HTTP_HOST": "challenge.example.org",
                "wsgi.url_scheme": "http",
                "wsgi.input": io.BytesIO(),
                "HTTP_X_FORWARDED_FOR": "6.6.6.6, 192.0.2.7",
                "HTTP_X_FORWARDED_PROTO": "https",
            },
            lambda *_: None,
        )
    assert seen == [("192.0.2.7", "https", "https"), ("10.9.9.9", "http", None)]


@pytest.mark.parametrize("name", ["organiser", "staff"])
def test_a_token_is_no_way_around_the_second_factor(world, settings, name):
    """Of somebody who sees what others do not; the page of a file is for programs too."""
    settings.REQUIRE_MFA = True
    world.data.joinpath("test.zip").write_bytes(b"scans")
    hidden = Release.objects.create(
        challenge=world.challenge, phase="final", title="Scans", name="test.zip", file="test.zip", size=5, sha256="0"
    )
    headers = {"Authorization": f"Bearer {Token.make(world.people[name], 'cluster')[1]}"}
    for address in (f"/c/neck/data/{hidden.key}/", f"/api/v1/challenges/neck/releases/{hidden.key}/file"):
        assert Client().get(address, headers=headers).status_code == 403
    assert not Download.objects.exists()
    TOTP.activate(world.people[name], generate_totp_secret())
    answer = Client().get(f"/c/neck/data/{hidden.key}/", headers=headers)
    assert (answer.status_code, answer.getvalue()) == (200, b"scans")
    answer.close()


@pytest.mark.parametrize("name", ["organiser", "staff"])
def test_without_the_second_factor_one_sees_and_sends_what_everybody_does(world, settings, name):
    settings.REQUIRE_MFA = True
    Challenge.objects.update(published=False)
    told = "set up your second factor"
    page = world.client(name).get("/").content.decode()
    assert ("Tumours of the neck" in page, told in page) == (False, True)
    assert world.client(name).get("/api/v1/challenges").json()["count"] == 0
    with pytest.raises(PermissionDenied, match="second factor"):
        uploads.begin(
            world.people[name], challenge=world.challenge, phase="test", purpose="reference", name="r.zip", size=9
        )
    with pytest.raises(PermissionDenied):
        uploads.begin(world.people[name], challenge=None, phase="", purpose="challenge", name="c.zip", size=9)
    TOTP.activate(world.people[name], generate_totp_secret())
    page = world.client(name).get("/").content.decode()
    assert ("Tumours of the neck" in page, told in page) == (True, False)
    assert told not in world.client("alice").get("/").content.decode()
