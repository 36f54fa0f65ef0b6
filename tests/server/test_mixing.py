"""What belongs to one challenge is not there below the address of another, whoever asks.

Every row of `access.csv` that names an object of the challenge "neck", in its address, its query or its form, is asked
for at the address of "chest", an equal challenge. Who asks organises "chest" and leads a team there: somebody who may
do it at the right address, which is the control, and somebody who has nothing to do with "neck".
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from django.apps import apps
from matrix_asks import ADDRESSES, ROWS, Ask, Row, ask_for, send
from matrix_world import (  # noqa: F401 (fixtures)
    CSRF,
    PHASES,
    STATES,
    VIEWERS,
    Browser,
    Matrix,
    as_it_was,
    forget_versions,
    shared,
    toml,
    undone,
)

from isocenter.server.models import Challenge, Membership, Reference, Registration, Role, Team, User, Version
from isocenter.server.telling.known import key_of

pytestmark = [pytest.mark.django_db, pytest.mark.slow]

NAMES = {"slug", "phase", "board", "case", "form", "layer", "name", "page"}
"""Arguments that name something by what its challenge calls it, so that the other challenge has one of its own."""
APART: dict[str, str] = {}
"""Addresses with another argument that cannot be asked for below the other challenge, and why."""
OWN_ALL_THE_SAME = {
    "POST team leave": "the form has a place in a team that it does not need: they leave their team in the other one",
    "POST team rename": "likewise, their own team is named anew",
}
WORKS = ("200", "201", "204", "302")
REFUSED = {"GET": ("403", "404"), "POST": ("403", "404", "422")}
"""Without `*`: nothing was written. A form says with 422 what is wrong with it."""


def identifiers(world: Matrix) -> set[str]:
    """By what addresses and forms name the rows of the database."""
    found = {key_of(world.challenge, "version", 1)}
    for model in apps.get_app_config("site").get_models():
        for row in model._default_manager.all():
            values = [getattr(row, name, None) for name in ("pk", "key", "digest", "face")]
            found |= {str(one) for one in values if isinstance(one, uuid.UUID | str) and len(str(one)) > 6}
    return found


def texts(given: Any) -> Iterator[str]:
    """All that a path, a form or a body in JSON says."""
    if isinstance(given, dict):
        given = list(given.values())
    if isinstance(given, list | tuple):
        for one in given:
            yield from texts(one)
    elif isinstance(given, str | int | uuid.UUID):
        yield str(given)


def names_one_of(known: set[str], ask: Ask) -> bool:
    said = " ".join([ask.path, *texts(ask.body)])
    return any(one in said for one in known)


def below_another(ask: Ask) -> Ask:
    return replace(ask, path=ask.path.replace("/neck/", "/chest/", 1))


def who_may(row: Row) -> tuple[str, str] | None:
    """Somebody for whom the right address works, and when; organisers first."""
    for viewer in ("organiser", "leader", "other", "stranger"):
        for state in STATES if row.states == "every" else [row.states]:
            cell = row.expected(viewer, state) if row.cells[viewer] else row.expected("mate", state)
            if cell.rstrip("*") in WORKS:
                return viewer, state
    return None


def kind(row: Row) -> tuple[str, ...]:
    """What rows have in common that differ in the phase alone, which decides nothing here."""
    return row.address, row.method, *(word for word in row.variant.split() if word not in PHASES)


def another(*people: User) -> None:
    """An equal challenge, organised by people who each lead a team there."""
    early = STATES["unannounced"]
    made = Challenge.objects.create(slug="chest", published=True, salt=b"another secret", made=early)
    pages = [{"name": name, "title": name.title(), "text": f"# {name}"} for name in ("about", "more")]
    made.version = Version.objects.create(challenge=made, number=1, toml=toml(), pages=pages, made=early)
    made.save()
    Reference.objects.create(
        challenge=made, phase="", number=1, folder="references/neck/1", digest="0" * 64, made=early
    )
    for user in people:
        Role.objects.create(user=user, challenge=made, kind=Role.Kind.ORGANISER)
        Registration.objects.create(user=user, challenge=made, state="accepted", terms_version="1", made=early)
        team = Team.objects.create(challenge=made, name=f"Team of {user.pk}", made=early)
        Membership.objects.create(user=user, team=team, challenge=made, leads=True, joined=early)


@pytest.fixture
def outsider(world: Matrix) -> tuple[User, Browser]:
    """Somebody who has nothing to do with the challenge."""
    user = User.objects.create_user("outsider@example.org", "pass", name="Outsider")
    client = Browser(enforce_csrf_checks=True)
    client.cookies["csrftoken"] = CSRF
    client.force_login(user, backend="allauth.account.auth_backends.AuthenticationBackend")
    return user, client


def test_nothing_of_a_challenge_is_found_below_the_address_of_another(world, outsider):
    known, wrong, covered = identifiers(world), [], set()
    for row in {kind(row): row for row in ROWS if who_may(row)}.values():
        address, may = ADDRESSES[row.address], who_may(row)
        if "slug" not in address.arguments or may is None or str(row) in OWN_ALL_THE_SAME:
            continue
        viewer, state = may
        world.go(state)
        insider = world.people[VIEWERS[viewer]], world.clients[viewer]
        with undone():
            ask = ask_for(world, address, row.method, row.variant, viewer)
            if not names_one_of(known, ask):
                continue
            with undone():
                right = send(world, insider[1], ask).cell
            forget_versions()
            if right.rstrip("*") not in WORKS:
                wrong.append(f"{row}: the right address gives {viewer} {right}")
            another(insider[0], outsider[0])
            for who, client in (insider, outsider):
                there = client.get("/c/chest/submissions/").status_code
                found = send(world, client, below_another(ask)).cell
                if there != 200 or found not in REFUSED[row.method]:
                    wrong.append(f"{row}, {who}: {found}")
        forget_versions()
        covered.add(row.address)
    assert not wrong, "\n".join(wrong)
    keyed = {one.name for one in ADDRESSES.values() if "slug" in one.arguments and set(one.arguments) - NAMES}
    assert keyed - covered == APART.keys()
    assert {"compare", "board_csv", "submit", "nominate", "organise_requests", "api-1:submit"} <= covered
