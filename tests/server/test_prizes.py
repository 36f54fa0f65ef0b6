"""Who wins what: for organisers as the board stands, for everybody when the results are out."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pytest
from board_worlds import team

from conftest import World, snapshot
from isocenter.editions import alias, audit
from isocenter.ranking import Board, BoardRow
from isocenter.server import decisions
from isocenter.server.boards import prizes
from isocenter.server.models import Challenge, Decision, Notification, Snapshot, Submission, Team, User
from isocenter.server.policy import Visit
from isocenter.server.work import making

OPEN = datetime(2026, 5, 20, 12, tzinfo=UTC)  # the final, on whose board prizes are won, is open
OUT = datetime(2026, 6, 10, 12, tzinfo=UTC)
URL = "/c/neck/boards/final/dice/"


def final(world: World, *rows: tuple[str, float | None, str], extra: str = "") -> None:
    """A board of the final: name, rank, role."""
    if extra:
        world.challenge.version.toml += extra
        world.challenge.version.save()
    placed = [
        BoardRow(name, 0.9 - n / 10, rank, role, 3, 0, 0)  # type: ignore[arg-type]
        for n, (name, rank, role) in enumerate(rows)
    ]
    snapshot(world, "final", Board("dice", "dice", "mean dice", tuple(placed)))


def won(world: World) -> list[tuple[str, str, Decimal]]:
    return [(award.submission, award.title, award.amount) for award in prizes.of(world.challenge, "final")]


def test_the_first_team_wins_and_organisers_take_no_place_from_it(world):
    team(world, "Hosts", "organiser")
    final(world, ("Hosts", 1.0, "team"), ("Rigi", 2.0, "team"), ("Pilatus", 3.0, "team"))
    assert won(world) == [("Rigi", "place 1", Decimal(500))]


def test_a_team_that_was_disqualified_since_wins_nothing(world):
    final(world, ("Rigi", 1.0, "team"), ("Pilatus", 2.0, "team"))
    world.teams["Rigi"].disqualified = True
    world.teams["Rigi"].save()
    assert won(world) == [("Pilatus", "place 1", Decimal(500))]


def test_equals_share_to_the_cent(world):
    final(world, ("Rigi", 1.0, "team"), ("Pilatus", 1.0, "team"), ("Säntis", 1.0, "team"))
    assert {amount for _, _, amount in won(world)} == {Decimal("166.66")}


def test_without_a_board_nobody_wins(world):
    assert prizes.of(world.challenge, "final") == []
    assert prizes.shown(Visit(world.people["organiser"], world.challenge), world.challenge.edition.phases[2]) is None


def test_only_organisers_see_prizes_before_the_results(world):
    world.at.now = OPEN
    final(world, ("Rigi", 1.0, "team"), ("Pilatus", 2.0, "team"))
    assert "Only organisers see this" in world.client("organiser").get(URL).content.decode()
    for who in ("", "reader", "alice", "carol"):
        page = world.client(who).get(URL).content.decode()
        assert "Prizes" not in page
        assert "500" not in page
    world.at.now = OUT
    page = world.client("").get(URL).content.decode()
    assert "500 EUR" in page
    assert "Only organisers" not in page


def test_winners_have_the_names_that_are_announced(world):
    world.at.now = OUT
    final(
        world,
        ("Rigi", 1.0, "team"),
        ("Pilatus", 2.0, "team"),
        extra='\n[[prizes]]\nplace = 2\namount = "100"\ncurrency = "EUR"\n',
    )
    hidden = alias("Pilatus", b"a secret of the edition")

    def names(who: str) -> list[str]:
        user = world.people[who]
        found = prizes.shown(Visit(user, world.challenge), world.challenge.edition.phases[2])
        assert found is not None
        return [award.submission for award in found.awards]

    assert names("stranger") == names("alice") == ["Rigi", hidden]
    assert names("carol") == names("organiser") == ["Rigi", "Pilatus"]
    assert "Pilatus" not in world.client("").get(URL).content.decode()


def test_a_phase_without_prizes_has_none(world):
    world.at.now = OUT
    snapshot(world, "test", Board("dice", "dice", "mean dice", (BoardRow("Rigi", 0.5, 1.0, "team", 3, 0, 0),)))
    assert not prizes.promised(world.challenge.edition, "test")
    assert "Prizes" not in world.client("organiser").get("/c/neck/boards/test/dice/").content.decode()


BONUS = '\n[[bonuses]]\ntitle = "Best → poster"\namount = "50"\ncurrency = "EUR"\n'


def test_a_bonus_goes_to_who_is_named_last_and_the_chain_says_why(world):
    world.at.now = OPEN
    final(world, ("Rigi", 1.0, "team"), ("Pilatus", 2.0, "team"), extra=BONUS)
    client = world.client("organiser")
    for name in ("Rigi", "Pilatus"):
        sent = {"title": "Best → poster", "team": name, "reason": "The jury said so"}
        assert client.post("/c/neck/prizes/final/bonus/", sent).status_code == 302
    assert ("Pilatus", "Best → poster", Decimal(50)) in won(world)
    assert ("Rigi", "Best → poster", Decimal(50)) not in won(world)
    chain = decisions.entries(world.challenge)
    audit.verify(chain)
    assert [entry.decision.reason for entry in chain] == ["The jury said so"] * 2


@pytest.mark.parametrize(
    "sent",
    [
        {"title": "Best → poster", "team": "Hosts", "reason": "x"},
        {"title": "Best → poster", "team": "nobody", "reason": "x"},
        {"title": "Another", "team": "Rigi", "reason": "x"},
        {"title": "Best → poster", "team": "Rigi", "reason": " "},
    ],
)
def test_a_bonus_that_cannot_be_is_not_recorded(world, sent):
    team(world, "Hosts", "organiser")
    final(world, ("Rigi", 1.0, "team"), extra=BONUS)
    assert world.client("organiser").post("/c/neck/prizes/final/bonus/", sent).status_code == 302
    assert not Decision.objects.exists()


def test_a_disqualified_team_gets_no_bonus(world):
    final(world, ("Rigi", 1.0, "team"), ("Pilatus", 2.0, "team"), extra=BONUS)
    Team.objects.filter(name="Rigi").update(disqualified=True)
    sent = {"title": "Best → poster", "team": "Rigi", "reason": "x"}
    assert world.client("organiser").post("/c/neck/prizes/final/bonus/", sent).status_code == 302
    assert not Decision.objects.exists()
    Team.objects.filter(name="Rigi").update(disqualified=False)
    world.client("organiser").post("/c/neck/prizes/final/bonus/", sent)
    assert Decision.objects.count() == 1


def test_only_organisers_hand_out_a_bonus(world):
    world.at.now = OPEN
    final(world, ("Rigi", 1.0, "team"), extra=BONUS)
    sent = {"title": "Best → poster", "team": "Rigi", "reason": "x"}
    for who in ("alice", "reader", "stranger"):
        assert world.client(who).post("/c/neck/prizes/final/bonus/", sent).status_code == 403
    assert world.client("organiser").get("/c/neck/prizes/final/bonus/").status_code == 405
    assert not Decision.objects.exists()


def test_a_payout_by_score_is_exact(world):
    payout = '\n[payout]\namount = "15"\ncurrency = "USD"\nper = "0.001"\nabove = "0.574"\nround_up_to = "25"\n'
    world.challenge.version.toml += payout
    world.challenge.version.save()
    rows = (BoardRow("Rigi", 0.624, 1.0, "team", 3, 0, 0), BoardRow("Pilatus", 0.5, 2.0, "team", 3, 0, 0))
    snapshot(world, "final", Board("dice", "dice", "mean dice", rows))
    assert ("Rigi", "performance", Decimal(750)) in won(world)
    assert "Pilatus" not in {name for name, _, _ in won(world)}


# Bonuses on the way


def leading(world: World, at: str = "2026-05-19T12:00:00Z", **more: str) -> None:
    """The final, of which anybody may hand in, with a bonus for its leader."""
    text = world.challenge.version.toml.replace('admission = "invited"\nafter = "test"\ntop = 1\n', "")
    text += f'\n[[bonuses]]\ntitle = "Week"\namount = 50\ncurrency = "EUR"\nto = "leader"\nat = {at}\n'
    text += "".join(f'{name} = "{value}"\n' for name, value in more.items())
    world.challenge.version.toml = text
    world.challenge.version.save()
    world.challenge = Challenge.objects.get(pk=world.challenge.pk)


def handed_in(world: World, *log: tuple[str, int, int], **fields: object) -> list[Submission]:
    """Submissions to the final: team, day of May, how good."""
    done = []
    for name, day, size in log:
        world.at.now = datetime(2026, 5, day, 12, tzinfo=UTC)
        done.append(world.scored(name, "final", size, **fields))
        making.make_boards(world.challenge, "final")
    return done


def test_the_bonus_of_the_leader_is_worked_out_from_the_log(world):
    leading(world)
    handed_in(world, ("Rigi", 14, 3), ("Pilatus", 15, 2), ("Pilatus", 20, 4))
    world.at.now = OUT
    assert won(world) == [("Pilatus", "place 1", Decimal(500)), ("Rigi", "Week", Decimal(50))]
    assert "Week" in world.client("").get(URL).content.decode()
    assert not Decision.objects.exists()


def test_before_its_moment_nobody_has_won_the_bonus_of_the_leader(world):
    leading(world)
    handed_in(world, ("Rigi", 14, 3))
    assert won(world) == [("Rigi", "place 1", Decimal(500))]
    assert "goes to the team that leads on" in world.client("organiser").get(URL).content.decode()
    world.at.now = datetime(2026, 5, 19, 12, tzinfo=UTC)
    assert ("Rigi", "Week", Decimal(50)) in won(world)


def test_a_leader_that_is_disqualified_leaves_the_bonus_to_the_next(world):
    leading(world)
    handed_in(world, ("Rigi", 14, 4), ("Pilatus", 15, 3))
    world.at.now = OUT
    assert ("Rigi", "Week", Decimal(50)) in won(world)
    world.teams["Rigi"].disqualified = True
    world.teams["Rigi"].save()
    assert won(world) == [("Pilatus", "place 1", Decimal(500))]  # the board is not made again yet
    world.at.move(minutes=1)
    making.make_boards(world.challenge, "final")
    assert won(world) == [("Pilatus", "place 1", Decimal(500)), ("Pilatus", "Week", Decimal(50))]


def test_a_void_submission_and_teams_of_the_organisers_win_no_bonus(world):
    leading(world)
    team(world, "Hosts", "organiser")
    handed_in(world, ("Hosts", 13, 4))
    (void,) = handed_in(world, ("Rigi", 14, 4), void=True)
    handed_in(world, ("Pilatus", 15, 3))
    world.at.now = OUT
    assert ("Pilatus", "Week", Decimal(50)) in won(world)
    void.void = False
    void.save()
    world.at.move(minutes=1)
    making.make_boards(world.challenge, "final")
    assert ("Rigi", "Week", Decimal(50)) in won(world)


def test_a_bonus_of_the_leader_cannot_be_handed_out_by_hand(world):
    leading(world)
    handed_in(world, ("Rigi", 14, 4))
    sent = {"title": "Week", "team": "Pilatus", "reason": "x"}
    assert world.client("organiser").post("/c/neck/prizes/final/bonus/", sent).status_code == 302
    assert not Decision.objects.exists()


def test_a_lead_that_did_not_change_the_board_has_the_snapshot_kept(world):
    """A lead depends on more of the log than the board shows."""
    leading(world)
    first, _ = handed_in(world, ("Rigi", 14, 4), ("Pilatus", 15, 3))
    handed_in(world, ("Rigi", 20, 4))
    count = Snapshot.objects.count()
    first.void = True
    first.save()
    world.at.move(minutes=1)
    making.make_boards(world.challenge, "final")
    assert Snapshot.objects.count() == count + 1
    assert ("Pilatus", "Week", Decimal(50)) in won(world)


def test_a_phase_is_not_closed_before_the_moment_of_its_bonus_and_the_page_says_why(world):
    leading(world)
    world.at.now = datetime(2026, 5, 15, 12, tzinfo=UTC)
    sent = {"action": "close", "phase": "final", "reason": "x", "base": 1}
    answer = world.client("organiser").post("/c/neck/organise/publishing/", sent, follow=True)
    assert answer.status_code == 200
    assert "is for the leader at" in answer.content.decode()


# Verified profiles


def verifying(world: World, rule: str) -> None:
    world.challenge.version.toml = world.challenge.version.toml.replace(
        'visibility = "own"', f'visibility = "own"\nverification = "{rule}"'
    )
    world.challenge.version.save()
    world.challenge = Challenge.objects.get(pk=world.challenge.pk)
    final(world, ("Rigi", 1.0, "team"), ("Pilatus", 2.0, "team"))


def decided(world: World, who: str, action: str, by: str = "organiser", **changed: str) -> object:
    user = world.people[who]
    sent = {
        "action": action,
        "member": str(user.memberships.get().key),
        "name": user.name,
        "affiliation": user.institution,
        "reason": "Seen at the workshop.",
    }
    return world.client(by).post("/c/neck/organise/profiles/", sent | changed)


def held(world: World) -> list[tuple[str, bool]]:
    return [(award.submission, award.held) for award in prizes.of(world.challenge, "final")]


def test_a_prize_is_held_until_every_member_is_verified_and_every_step_is_in_the_chain(world):
    verifying(world, "held")
    assert held(world) == [("Rigi", True)]
    for who, after in (("alice", True), ("bob", False)):
        assert decided(world, who, "verify").status_code == 302
        assert held(world) == [("Rigi", after)]
    chain = decisions.entries(world.challenge)
    audit.verify(chain)
    assert [(one.decision.what, one.decision.subject) for one in chain] == [
        ("verify a profile", "Rigi, Alice"),
        ("verify a profile", "Rigi, Bob"),
    ]
    assert chain[0].decision.reason == "Alice, no affiliation: Seen at the workshop."
    decided(world, "alice", "verify")  # what is so already is not decided again
    assert Decision.objects.count() == 2
    assert Notification.objects.filter(user=world.people["alice"], text__contains="are verified").count() == 1


def test_who_changes_the_profile_after_it_was_verified_waits_again(world):
    verifying(world, "held")
    for who in ("alice", "bob"):
        decided(world, who, "verify")
    User.objects.filter(pk=world.people["bob"].pk).update(institution="Elsewhere")
    assert held(world) == [("Rigi", True)]
    page = world.client("organiser").get("/c/neck/organise/profiles/").content.decode()
    assert "was verified as Bob," in page


@pytest.mark.parametrize(("rule", "after"), [("held", [("Rigi", True)]), ("next", [("Pilatus", True)])])
def test_a_refused_profile_holds_the_prize_or_passes_it_on_and_ranks_stay(world, rule, after):
    verifying(world, rule)
    decided(world, "alice", "refuse")
    assert held(world) == after
    board = world.client("organiser").get("/c/neck/boards/final/dice/board.json").json()
    assert [row["rank"] for row in board["rows"]] == [1, 2]


@pytest.mark.parametrize(
    "changed", [{"reason": " "}, {"name": "Alice Smith"}, {"affiliation": "Elsewhere"}, {"member": "x"}]
)
def test_a_verdict_without_a_reason_or_on_another_profile_is_not_recorded(world, changed):
    verifying(world, "held")
    decided(world, "alice", "verify", **changed)
    assert not Decision.objects.exists()
    assert held(world) == [("Rigi", True)]


def test_only_organisers_see_and_decide_on_profiles(world):
    verifying(world, "held")
    for who in ("alice", "reader", "stranger"):
        assert decided(world, "alice", "verify", by=who).status_code == 403
        assert world.client(who).get("/c/neck/organise/profiles/").status_code == 403
    assert not Decision.objects.exists()
    world.at.now = OUT
    page = world.client("").get(URL).content.decode()
    assert "held" in page
    assert "Verify profiles" not in page
    assert "Alice" not in page
    assert "Wins: place 1, 500 EUR" in world.client("organiser").get("/c/neck/organise/profiles/").content.decode()
