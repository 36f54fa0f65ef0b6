"""An edition as a file: complete, commented, read back as it was written, never written over."""

from __future__ import annotations

import errno
import os
import re
import tomllib
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isocenter.editions import (
    Assessment,
    BoardRule,
    Bonus,
    Cohort,
    Datasets,
    Edition,
    Mission,
    Organisation,
    Payout,
    Phase,
    Policies,
    Prize,
    Summary,
    load,
    parse,
    render,
    write,
)
from isocenter.editions._model import closing_last
from isocenter.schema import Penalised
from isocenter.schema.tables import allowed_in

EDITION = Edition.model_validate(
    {
        "challenge": "hecktor2020",
        "title": "HECKTOR 2020",
        "phases": [
            {
                "name": "test",
                "title": "Test phase",
                "opens": "2020-08-10T00:00:00+02:00",
                "closes": "2020-09-10T23:59:59+02:00",
                "results": "2020-10-04T09:00:00+02:00",
            }
        ],
    }
)

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
NASTY = [
    '"',
    "\\",
    '"""',
    "a\nb",
    "\r\n\t.",
    '\n"a""b"""',
    "\n\n.\\\n\\",
    "a \n  b\n",
    "#x",
    "\x00",
    "\x7f.",
    "\u2028.",
    "\U0001f469\u200d\u2695",
    "= [[",
]
titles = texts | st.sampled_from(NASTY)
titles = titles.filter(lambda title: re.search(r"\S", title) is not None)
names = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
zones = st.one_of(st.timezones(), st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes))))
moments = st.datetimes(datetime(2001, 1, 1), datetime(2190, 1, 1), timezones=zones, allow_imaginary=False)
spans = st.timedeltas(timedelta(days=3), timedelta(days=900))


@st.composite
def phases(draw: Any, name: str) -> Phase:
    opens = draw(moments)
    closes = (opens + draw(spans)).astimezone(draw(zones))
    return Phase(
        name=name,
        title=draw(titles),
        opens=opens,
        closes=closes,
        results=draw(st.sampled_from([closes, closes + draw(spans)])),
        announced=draw(st.sampled_from([None, opens, opens - timedelta(days=draw(st.integers(1, 300)))])),
        admission=draw(st.sampled_from(["open", "invited", "request"])),
        quota=draw(st.none() | st.integers(1, 10**9)),
        quota_per=draw(st.sampled_from(["phase", "week", "day", "calendar-week", "calendar-day"])),
        refund=draw(st.sampled_from(["infrastructure", "failed", "none"])),
        counts=draw(st.sampled_from(["last", "best"])),
        visibility=draw(st.sampled_from(["public", "hidden", "own"])),
    )


def payouts(of_phases: st.SearchStrategy[str | None]) -> st.SearchStrategy[Payout]:
    fine = st.integers(0, 12).flatmap(lambda places: st.decimals(-(10**11), 10**11, places=places))
    money = st.integers(0, 3).flatmap(lambda places: st.decimals(0, 10**11, places=places))
    return st.builds(
        Payout,
        amount=money,
        currency=st.sampled_from(["USD", "CHF"]),
        per=fine.map(abs).filter(bool),
        above=fine,
        round_up_to=st.none() | money.filter(bool),
        phase=of_phases,
    )


DESCRIPTION: tuple[type[Any], ...] = (Summary, Organisation, Mission, Datasets, Assessment)


def described(table: type[Any]) -> st.SearchStrategy[Any]:
    """Any of the settings of a table of the description, with any text."""
    texts_of = dict.fromkeys(table.model_fields, titles)
    if table is Summary:
        texts_of["keywords"] = st.lists(titles, min_size=1, max_size=2).map(tuple)
    return st.lists(st.sampled_from(sorted(texts_of)), max_size=3, unique=True).flatmap(
        lambda chosen: st.builds(table, **{name: texts_of[name] for name in chosen})
    )


numbers = st.floats(allow_nan=False, allow_infinity=False)
penalties = st.builds(Penalised, st.floats(1, 1e300))


@st.composite
def editions(draw: Any) -> Edition:
    amounts = st.decimals(0, 10**12 - 1, places=draw(st.integers(0, 3)))
    currencies = st.sampled_from(["EUR", "CHF"])
    policies = Policies(
        missing=draw(st.one_of(st.none(), numbers, st.sampled_from(["worst", "disqualify"]), penalties)),
        grid=draw(st.sampled_from(["refuse", "resample", "trust-index"])),
        ties=draw(st.sampled_from(["min", "average", "dense", None])),
        organisers=draw(st.sampled_from(["unlisted", "unranked", "ranked"])),
        announce=draw(st.none() | st.integers(1, 100)),
    )
    spans_of_time = tuple(draw(phases(name)) for name in draw(st.lists(names, min_size=1, max_size=3, unique=True)))
    last = closing_last(spans_of_time).name
    of_phases = st.sampled_from([None, *(phase.name for phase in spans_of_time)])

    def apart(what: st.SearchStrategy[Any]) -> list[tuple[str | None, Any]]:
        """What is different within a phase, where no phase means the last one."""
        entries = st.lists(st.tuples(of_phases, what), max_size=4, unique_by=lambda entry: (entry[0] or last, entry[1]))
        return list(draw(entries))

    return Edition(
        challenge=draw(names),
        title=draw(titles),
        organisers=tuple(draw(st.lists(titles, max_size=3))),
        contact=draw(texts),
        url=draw(st.sampled_from(["", "https://example.org/hecktor?a=1#b", "http://exämple.org/\"'"])),
        policies=policies,
        phases=spans_of_time,
        prizes=tuple(
            Prize(place=place, amount=draw(amounts), currency=draw(currencies), phase=phase)
            for phase, place in apart(st.integers(1, 50))
        ),
        bonuses=tuple(
            Bonus(
                title=title,
                amount=draw(amounts),
                currency=draw(currencies),
                to=draw(st.sampled_from(["everybody", "named"])),
                phase=phase,
            )
            for phase, title in apart(titles)
        ),
        payout=draw(st.none() | payouts(of_phases)),
        **{table.__name__.lower(): draw(described(table)) for table in DESCRIPTION},
    )


@given(editions())
def test_what_is_written_is_read_back_the_same(edition: Edition) -> None:
    text = render(edition)
    assert parse(text) == edition
    assert render(parse(text)) == text


@given(editions())
def test_a_file_shows_every_character_and_keeps_its_lines(edition: Edition) -> None:
    assert all(character.isprintable() for line in render(edition).split("\n") for character in line)


@given(editions())
def test_moments_keep_the_offset_in_which_they_were_given(edition: Edition) -> None:
    for phase, again in zip(edition.phases, parse(render(edition)).phases, strict=True):
        assert again.opens.isoformat() == phase.opens.isoformat()


def test_amounts_are_exact_to_the_digit_that_was_written() -> None:
    text = render(EDITION) + '\n[[prizes]]\nplace = 1\namount = 1000.10\ncurrency = "EUR"\n'
    (prize,) = parse(text).prizes
    assert str(prize.amount) == "1000.10"
    assert "amount = 1000.10" in render(parse(text))
    assert prize.amount * 3 == Decimal("3000.30")


def test_a_setting_follows_its_description_and_what_is_allowed() -> None:
    lines = render(EDITION).split("\n")
    at = lines.index('counts = "last"')
    assert lines[at - 5 : at] == [
        f"# {Phase.model_fields['counts'].description}",
        '#   "last"    the last one of the phase',
        '#   "best"    the one with the best score on the board',
        '#   "chosen"  the one that the team names',
        '#   "all"     each has a row of its own',
    ]
    at = lines.index('name = "test"')
    assert lines[at - 2] == f"# {Phase.model_fields['name'].description}"
    assert lines[at - 1] == f"# Write {allowed_in(Phase.model_fields['name']).what}."


def test_every_field_of_the_model_is_in_the_file_with_its_description() -> None:
    # Comments are wrapped, so the text is compared without its line breaks.
    text = " ".join(render(EDITION).replace("\n#", " ").split())
    for model in (Edition, Phase, Cohort, Policies, Prize, Bonus, Payout, BoardRule, *DESCRIPTION):
        for name, field in model.model_fields.items():
            assert field.description
            assert field.description in text
            for choice, meaning in allowed_in(field).choices.items():
                assert f"{choice} " in text
                assert meaning in text
            assert re.search(rf"^(# )?(\[\[?(\w+\.)?{name}\]\]?|{name} = .+)$", render(EDITION), re.MULTILINE), name


def test_comments_are_at_most_a_hundred_columns_wide() -> None:
    assert max(len(line) for line in render(EDITION).split("\n") if line.startswith("#")) <= 100


def test_what_is_absent_is_shown_as_a_comment_that_sets_nothing() -> None:
    text = render(EDITION)
    for line in ("# quota = 5", "# missing = 0", '# ties = "min"', "# announce = 10", "# [[prizes]]", "# place = 1"):
        assert line in text.split("\n")
    for line in ("# [[boards]]", '# rule = "quantile"', "# q = 0.5"):
        assert line in text.split("\n")
    for line in ("# [[bonuses]]", '# to = "leader"', "# [payout]", "# per = 0.001", "# round_up_to = 25"):
        assert line in text.split("\n")
    assert parse(text).phases[0].quota is None
    assert parse(text).payout is None
    assert not {"prizes", "bonuses", "payout", "boards"} & set(tomllib.loads(text))


def test_every_commented_setting_is_valid_once_its_mark_is_removed() -> None:
    # `after`, `top` and `continues` go with an admission that makes use of them; the next test sets them.
    text = re.sub(
        r"^# (?!after|top|continues)(\w+ = .*|\[\[[\w.]+\]\]|\[\w+\])$", r"\1", render(EDITION), flags=re.MULTILINE
    )
    edition = parse(text)
    assert edition.phases[0].quota == 5
    results = datetime(2020, 12, 1, 7, tzinfo=UTC)
    (cohort,) = edition.phases[0].cohorts
    assert cohort == Cohort(name="holdout", title="Holdout set", results=results, cases=100)
    assert edition.phases[0].announced == datetime(2020, 6, 1, 10, tzinfo=UTC)
    assert edition.policies == Policies(missing=0, undefined="leave-out", ties="min", announce=10)
    assert edition.prizes == (Prize(place=1, amount=Decimal(500), currency="EUR", phase="test"),)
    title = "Best solution after the first week"
    lead = {"to": "leader", "at": edition.phases[0].closes, "ties": "earlier"}
    assert edition.bonuses == (Bonus(title=title, amount=Decimal(500), currency="EUR", phase="test", **lead),)
    assert edition.payout == Payout(
        amount=Decimal(500),
        currency="EUR",
        per=Decimal("0.001"),
        above=Decimal("0.574"),
        round_up_to=Decimal(25),
        phase="test",
    )
    (board,) = edition.boards
    assert (board.name, board.main, board.rule, board.metric, board.q) == ("median-dice", True, "quantile", "dice", 0.5)
    assert board.model_fields_set == set(BoardRule.model_fields)
    for table in DESCRIPTION:
        assert getattr(edition, table.__name__.lower()).model_fields_set == set(table.model_fields)
    assert edition.summary.keywords == ("head and neck cancer", "segmentation", "PET/CT")


def test_an_invitation_of_the_best_is_set_by_removing_two_marks() -> None:
    invited = EDITION.phases[0].model_copy(update={"name": "closed", "admission": "invited"})
    head, closed = render(EDITION.model_copy(update={"phases": (*EDITION.phases, invited)})).split('name = "closed"')
    text = f'{head}name = "closed"{closed.replace("# after", "after").replace("# top", "top")}'
    assert [(phase.admission, phase.after, phase.top) for phase in parse(text).phases] == [
        ("open", None, None),
        ("invited", "test", 5),
    ]


def test_a_text_of_the_description_is_set_by_removing_one_mark() -> None:
    text = render(EDITION)
    assert parse(text).organisation == Organisation()
    assert parse(text.replace("# licence = ", "licence = ")).organisation == Organisation(licence="CC BY-NC-ND 4.0")


def test_a_text_of_several_lines_is_written_over_several_lines() -> None:
    abstract = 'Why "by hand"?\n\n- It takes hours.\n- [[phases]]\n# no comment: C:\\new'
    text = render(EDITION.model_copy(update={"summary": Summary(abstract=abstract)}))
    assert 'abstract = """\nWhy "by hand"?\n\n- It takes hours.\n- [[phases]]\n# no comment: C:\\\\new"""\n' in text
    assert parse(text).summary.abstract == abstract
    assert parse(text.replace("\n", "\r\n")).summary.abstract == abstract


def test_explanations_are_given_once_for_all_phases() -> None:
    phase = EDITION.phases[0]
    text = render(EDITION.model_copy(update={"phases": (phase, phase.model_copy(update={"name": "late"}))}))
    assert text.count(Phase.model_fields["opens"].description or "?") == 1
    assert text.count("[[phases]]\n") == 2


def test_a_value_that_holds_a_heading_stays_a_value() -> None:
    edition = EDITION.model_copy(update={"title": 'x"\n[[phases]]\n#'})
    assert parse(render(edition)).title == 'x"\n[[phases]]\n#'


def test_a_file_from_another_editor_is_read(tmp_path: Path) -> None:
    text = render(EDITION)
    file = tmp_path / "challenge.toml"
    for content in (text.encode("utf-8-sig"), text.replace("\n", "\r\n").encode()):
        file.write_bytes(content)
        assert load(file) == EDITION


def test_writing_makes_the_folder_and_nothing_but_the_file(tmp_path: Path) -> None:
    target = write(EDITION, tmp_path / "editions" / "2020")
    assert target == tmp_path / "editions" / "2020" / "challenge.toml"
    assert load(target.parent) == load(target) == EDITION
    assert os.listdir(target.parent) == ["challenge.toml"]
    assert target.read_bytes() == render(EDITION).encode()


def test_a_written_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "other").touch()
    assert write(EDITION, tmp_path).stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("links", [True, False])
def test_an_existing_file_is_never_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    if not links:
        without_links(monkeypatch)
    (tmp_path / "challenge.toml").write_text("# a night's work\n")
    with pytest.raises(FileExistsError, match=r"challenge\.toml is already there and was not changed"):
        write(EDITION, tmp_path)
    assert (tmp_path / "challenge.toml").read_text() == "# a night's work\n"
    assert os.listdir(tmp_path) == ["challenge.toml"]


def test_a_drive_without_links_is_written_to_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_links(monkeypatch)
    assert load(write(EDITION, tmp_path)) == EDITION
    assert os.listdir(tmp_path) == ["challenge.toml"]


def without_links(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a memory stick answers; no such drive can be mounted in a test."""

    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)


def test_a_file_in_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "demo").touch()
    with pytest.raises(NotADirectoryError, match="demo is a file; name a folder"):
        write(EDITION, tmp_path / "demo")
