"""Who may do what, everywhere: every address of the site against the table `access.csv`.

A row is an address, a method and a variant of its arguments; a cell is what a viewer gets. "login" is the way to the
page to sign in, `*` says that something changed: in the database but for the session, or in the folder of data. A cell
without it is a promise, too: whoever is refused has changed nothing. Where a cell has five parts, these are for the
phases before they are announced / announced and not open / open / closed / with their results out. One part is for all
five, and asked for in the first and the last, as time only opens; or in the one that `states` names, where nothing of a
phase is concerned. The leader of the team has a cell where their mates get something else.

Of the team Rigi are "leader" and "mate", of Pilatus is "other"; objects are those of Rigi.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from matrix_asks import ADDRESSES, EVERY, OF_ALLAUTH, ROWS, Row, ask_for, send
from matrix_world import STATES, Answer, Browser, Matrix, as_it_was, forget_versions, shared, undone  # noqa: F401

from isocenter.server.api.v1 import api
from isocenter.server.models import Challenge
from isocenter.server.policy import Door

pytestmark = pytest.mark.django_db

NO_DOOR = {"api-1:api-root"}
"""What the framework of the API adds by itself; it answers 404."""
EXEMPT = {
    *("account_login", "account_logout", "account_inactive", "account_signup", "account_reauthenticate"),
    *("account_email", "account_email_verification_sent", "account_confirm_email", "account_confirm_login_code"),
    *("account_change_password", "account_set_password", "account_reset_password", "account_reset_password_done"),
    *("account_reset_password_from_key", "account_reset_password_from_key_done"),
    *("mfa_index", "mfa_authenticate", "mfa_reauthenticate", "mfa_activate_totp", "mfa_deactivate_totp"),
    *("mfa_view_recovery_codes", "mfa_generate_recovery_codes", "mfa_download_recovery_codes"),
}
"""Addresses of django-allauth, which knows its own doors; `test_accounts` walks through them."""
WRITES = [row for row in ROWS if row.method not in ("GET", "HEAD")]


def test_every_address_is_in_the_table_and_nothing_else_is():
    assert {row.address for row in ROWS} == set(ADDRESSES)
    assert len(ADDRESSES) + len(OF_ALLAUTH) == len(EVERY), "two addresses have one name"
    assert OF_ALLAUTH == EXEMPT


def test_no_address_counts_rows():
    numbered = {one.name for one in ADDRESSES.values() if "<int:" in one.route}
    # Notifications have numbers of their own for everybody; those who run the site see all rows anyway.
    assert {name for name in numbered if not name.startswith("staff_")} == {"notification"}


def test_every_address_has_a_door():
    without = {one.name for one in ADDRESSES.values() if not isinstance(getattr(one.view, "door", None), Door)}
    operations = {f"api-1:{name}" for name in _operations()}
    assert without - operations == NO_DOOR
    assert operations <= set(ADDRESSES)


def _operations() -> set[str]:
    """The names of the operations of the API, of which each must have its door."""
    names = set()
    for _, router in api._routers:
        for view in router.path_operations.values():
            assert all(isinstance(one.view_func.door, Door) for one in view.operations), view
            names |= {view.url_name or one.view_func.__name__ for one in view.operations}
    return names


def test_every_viewer_has_a_cell_of_one_part_or_of_five():
    for row in ROWS:
        for viewer, cell in row.cells.items():
            assert cell or viewer == "leader", row
            assert len(cell.split("/")) in ((1, len(STATES)) if row.states == "every" else (1,)), row


def asked(world: Matrix, row: Row, viewer: str, state: str, browser: Browser | None = None, **headers: str) -> Answer:
    """What somebody gets for a row; what they did is undone."""
    world.go(state)
    with undone():
        ask = ask_for(world, ADDRESSES[row.address], row.method, row.variant, viewer)
        answer = send(world, browser or world.clients[viewer], ask, **headers)
    if answer.writes:
        forget_versions()
    return answer


def compared(found: Iterator[tuple[str, str, str]]) -> None:
    """That all cells are as expected, and if not, all that are not."""
    wrong = [f"{what}: {cell}, not {expected}" for what, cell, expected in found if cell != expected]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_row(world, row):
    compared(
        (f"{viewer}, {state}", asked(world, row, viewer, state).cell, row.expected(viewer, state))
        for viewer, state in row.asked()
    )


def test_what_writes_needs_to_come_from_a_page_of_the_site(world):
    def tried() -> Iterator[tuple[str, str, str]]:
        for row in WRITES:
            if (doing := row.doing()) is not None:
                yield str(row), asked(world, row, *doing, **{"X-CSRFToken": ""}).cell, "403"

    compared(tried())


def test_a_program_with_a_token_may_what_its_owner_may(world):
    def tried() -> Iterator[tuple[str, str, str]]:
        for row in ROWS:
            if not (row.address.startswith("api-1:") or row.address in ("download", "uploads", "upload")):
                continue
            state = "open" if row.states == "every" else row.states
            for viewer in ("stranger", "other", "mate", "organiser"):
                headers = {"Authorization": f"Bearer {world.tokens[viewer]}", "X-CSRFToken": ""}
                answer = asked(world, row, viewer, state, Browser(enforce_csrf_checks=True), **headers)
                yield f"{row}, {viewer}", answer.cell, row.expected(viewer, state)

    compared(tried())


def test_a_challenge_that_is_not_published_is_not_there(world):
    def tried() -> Iterator[tuple[str, str, str]]:
        for row in {(row.address, row.method): row for row in ROWS if _is_of_a_challenge(row)}.values():
            state = "out" if row.states == "every" else row.states
            for viewer in ("anonymous", "waiting", "mate", "reader", "organiser"):
                expected = row.expected(viewer, state) if viewer == "organiser" else "404"
                expected = "401" if row.address == "uploads" and viewer == "anonymous" else expected
                yield f"{row}, {viewer}", asked(world, row, viewer, state).cell, expected

    with undone():
        Challenge.objects.update(published=False)
        compared(tried())


def _is_of_a_challenge(row: Row) -> bool:
    return "slug" in ADDRESSES[row.address].arguments or row.address == "uploads"


def test_a_page_has_the_methods_of_the_table_and_answers_others_with_405(world):
    served: dict[str, set[str]] = {}
    for row in ROWS:
        served.setdefault(row.address, set()).update(("GET", "HEAD") if row.method == "GET" else (row.method,))

    def tried() -> Iterator[tuple[str, str, str]]:
        for row in {row.address: row for row in ROWS if not _is_for_programs(row)}.values():
            for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
                if method not in served[row.address]:
                    for viewer in ("anonymous", "leader", "staff"):
                        answer = asked(world, replace(row, method=method), viewer, "out")
                        yield f"{row.address}, {method}, {viewer}", answer.cell, "405"

    compared(tried())


def test_what_can_be_got_has_a_head_that_does_nothing(world):
    def tried() -> Iterator[tuple[str, str, str]]:
        for row in ROWS:
            if row.method == "GET" and not _is_for_programs(row):
                state = "out" if row.states == "every" else row.states
                for viewer in ("anonymous", "mate", "organiser"):
                    answer = asked(world, replace(row, method="HEAD"), viewer, state)
                    yield f"{row}, {viewer}", answer.cell, row.expected(viewer, state).rstrip("*")

    compared(tried())


def test_a_method_that_programs_are_not_offered_does_nothing(world):
    named = {(row.address, row.method) for row in ROWS}

    def tried() -> Iterator[tuple[str, str, str]]:
        for row in {row.address: row for row in ROWS if _is_for_programs(row)}.values():
            viewer = "staff" if row.cells["mate"].endswith(("403", "404")) else "leader"
            for method in ("HEAD", "POST", "PUT", "PATCH", "DELETE"):
                if (row.address, method) not in named:
                    answer = asked(world, replace(row, method=method), viewer, "out")
                    yield f"{row.address}, {method}, {viewer}", answer.cell.strip("0123456789login"), ""

    compared(tried())


def _is_for_programs(row: Row) -> bool:
    """The API, and the protocol by which files are sent, which answer in their own words."""
    return row.address.startswith(("api-1:", "api/v1/")) or row.address in ("uploads", "upload")


def test_a_preview_shows_organisers_no_more_than_others_see_and_does_nothing(world):
    kinds = {"anonymous": ["anonymous"], "participant": ["other", "waiting"], "reader": ["reader"]}
    seen: list[str] = []
    for row in filter(_is_of_a_challenge, ROWS):
        if row.address.startswith("api-1:") or row.address == "uploads":
            continue  # programs have no preview
        state = "open" if row.states == "every" else row.states
        world.go(state)
        for kind, viewers in kinds.items():
            if kind != "participant" and (row.method != "GET" or row.states != "every"):
                continue
            with undone():
                ask = ask_for(world, ADDRESSES[row.address], row.method, row.variant, viewers[0])
                sign = "&" if "?" in ask.path else "?"
                there = f"http://testserver{ask.path}{sign}as={kind}"
                shown = replace(ask, path=f"{ask.path}{sign}as={kind}") if row.method == "GET" else ask
                answer = send(world, world.clients["organiser"], shown, Referer=there)
            may = row.method == "GET" and any(row.expected(one, state).startswith("200") for one in viewers)
            if (answer.cell[:3] in ("200", "201", "204") and not may) or answer.cell.endswith("*"):
                seen.append(f"{row}, as {kind}: {answer.cell}")
    assert not seen, "\n".join(seen)
