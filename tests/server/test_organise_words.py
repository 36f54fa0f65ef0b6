"""Forms of organisers for the words of a challenge: title and contact, terms, questions."""

from __future__ import annotations

import pytest
from django.urls import reverse

from isocenter.server.models import Decision, Notification, Submission, Version
from isocenter.server.organising import versioning
from isocenter.server.pages.organise.words import FORMS
from isocenter.server.work.voiding import void_reasons_of


def url(name, *args):
    return reverse(name, args=["neck", *args])


def filled(world, page, /, *args, **changed):
    """What the form sends when some of it is changed."""
    form = world.client("organiser").get(url(page, *args)).context["form"]
    given = {field.name: field.value() for field in form}
    return {key: value for key, value in (given | changed).items() if value not in (None, False)}


def save(world, page, /, *args, note="So it is better.", **changed):
    given = filled(world, page, *args, **changed) | {"note": note, "save": "1"}
    return world.client("organiser").post(url(page, *args), given)


def edition(world):
    world.challenge.refresh_from_db()
    return world.challenge.edition


def add(world, form, /, **given):
    answer = save(world, "organise_question_add", form, **{"kind": "text", **given})
    assert answer.status_code == 302, answer.content.decode()
    return answer


PAGES = [("organise_about",), ("organise_terms",)] + [
    (name, form) for form in FORMS for name in ("organise_questions", "organise_question_add")
]


@pytest.mark.parametrize("name", PAGES, ids=" ".join)
def test_a_form_is_for_organisers_alone(world, name):
    for who in ("organiser", "staff"):
        assert world.client(who).get(url(*name)).status_code == 200
    for who in ("alice", "reader", "waiting", "stranger"):
        assert world.client(who).get(url(*name)).status_code == 403
        assert world.client(who).post(url(*name), {"save": "1"}).status_code == 403
    assert world.client().get(url(*name)).status_code == 302
    assert Version.objects.count() == 1


@pytest.mark.parametrize("form", ["prizes", "phases", "terms", "nothing"])
def test_what_is_no_form_of_questions_has_no_page(world, form):
    assert world.client("organiser").get(url("organise_questions", form)).status_code == 404
    assert world.client("organiser").get(url("organise_question_add", form)).status_code == 404


# Title and contact


def test_title_contact_and_description_are_set_by_a_form(world):
    answer = save(
        world,
        "organise_about",
        title="Tumours of the throat",
        acronym="THROAT",
        abstract="To outline tumours.\r\n\r\nAutomatically.",
        keywords="PET/CT\r\n\r\n segmentation ",
        organisers="A hospital\nAn institute",
        contact="help@example.org",
        url="https://example.org/throat",
    )
    assert answer.status_code == 302
    now = edition(world)
    assert (now.title, now.contact, now.url) == (
        "Tumours of the throat",
        "help@example.org",
        "https://example.org/throat",
    )
    assert (now.summary.acronym, now.summary.keywords) == ("THROAT", ("PET/CT", "segmentation"))
    assert now.summary.abstract == "To outline tumours.\n\nAutomatically."
    assert now.organisers == ("A hospital", "An institute")
    last = Version.objects.latest("number")
    assert (last.number, last.note, last.author) == (2, "So it is better.", world.people["organiser"])
    assert "Tumours of the throat" in world.client("alice").get(url("challenge")).content.decode()
    assert "So it is better." in world.client("alice").get(url("versions")).content.decode()


@pytest.mark.parametrize("name", [("organise_about",), ("organise_terms",)], ids=" ".join)
def test_a_form_that_is_not_changed_changes_nothing(world, name):
    text = world.challenge.version.toml.replace('"Be fair."', '"""\nBe fair.\n\nAlways.\n"""')
    text += '\n[summary]\nabstract = """\nOne.\n\nTwo.\n"""\n'
    versioning.save(world.challenge, world.people["organiser"], base=1, note="Longer.", toml=text.replace('"1"', '"2"'))
    assert save(world, *name).status_code == 302
    assert Version.objects.count() == 2


@pytest.mark.parametrize(
    ("name", "changed", "field"),
    [
        (("organise_about",), {"title": ""}, "title"),
        (("organise_about",), {"url": "not an address"}, "url"),
        (("organise_terms",), {"text": "Be kind."}, "version"),
        (("organise_terms",), {"text": "Be kind.", "version": ""}, "version"),
        (("organise_question_add", "survey"), {"label": "Method", "kind": "choice"}, "choices"),
        (("organise_question_add", "survey"), {"label": "Method", "kind": "choice", "choices": "One"}, "choices"),
        (("organise_question_add", "survey"), {"label": "Method", "kind": "text", "choices": "A\nB"}, "choices"),
        (("organise_question_add", "survey"), {"label": "M", "kind": "choice", "choices": "A;B\nC"}, "choices"),
        (("organise_question_add", "survey"), {"label": "M", "kind": "url", "most_words": "3"}, "most_words"),
        (("organise_question_add", "survey"), {"label": "M", "kind": "text", "name": "Not so"}, "name"),
        (("organise_question_add", "equity"), {"label": "G", "kind": "choice", "choices": "A\nOther…"}, "choices"),
        (("organise_question_add", "equity"), {"label": "G", "kind": "text"}, "kind"),
    ],
)
@pytest.mark.parametrize("button", ["check", "save"])
def test_what_is_wrong_stands_beside_its_field(world, name, changed, field, button):
    given = filled(world, *name, **changed) | {"note": "x", button: "1"}
    answer = world.client("organiser").post(url(*name), given)
    assert answer.status_code == 422
    assert list(answer.context["form"].errors) == [field]
    assert Version.objects.count() == 1


@pytest.mark.parametrize("name", [("organise_about",), ("organise_terms",), ("organise_question_add", "survey")])
def test_a_change_needs_a_reason_and_the_newest_version(world, name):
    changed = {"title": "T", "text": "New.", "version": "2", "label": "L", "kind": "text"}
    answer = save(world, *name, note="", **changed)
    assert answer.status_code == 422
    assert "Say what changed" in answer.content.decode()
    old = filled(world, *name, **changed)
    save(world, "organise_policies", announce="3")
    answer = world.client("organiser").post(url(*name), old | {"note": "x", "save": "1"})
    assert answer.status_code == 422
    assert "while you were editing" in answer.content.decode()
    assert Version.objects.count() == 2


# Terms


def test_new_terms_are_told_and_have_to_be_accepted(world):
    assert not void_reasons_of(world.scored("Rigi", "validation"))
    answer = save(world, "organise_terms", text="Be kind.", version="2")
    assert answer.status_code == 302
    assert edition(world).terms.text == "Be kind."
    told = Notification.objects.filter(user=world.people["alice"]).get()
    assert "The terms have a new version, “2”" in told.text
    assert "Be kind." in world.client("alice").get(url("terms")).content.decode()
    decided = Decision.objects.get()
    assert (decided.what, decided.subject) == ("change the terms", "terms")
    assert "not accepted" in " ".join(void_reasons_of(Submission.objects.get()))


def test_a_check_of_terms_says_what_would_happen_and_shows_them(world):
    given = filled(world, "organise_terms", text="Be **kind**.", version="2") | {"note": "x", "check": "1"}
    page = world.client("organiser").post(url("organise_terms"), given).content.decode()
    assert "<strong>kind</strong>" in page
    assert "accept it before you submit again" in page
    assert "3 people will be told by mail" in page
    assert Version.objects.count() == 1


def test_a_version_of_the_terms_has_one_text_for_ever(world):
    save(world, "organise_terms", text="Be kind.", version="2")
    answer = save(world, "organise_terms", text="Be quick.", version="1")
    assert answer.status_code == 422
    assert "in other words" in answer.content.decode()
    assert save(world, "organise_terms", text="Be fair.", version="1").status_code == 302  # as they accepted it


def test_terms_without_a_text_are_none(world):
    assert save(world, "organise_terms", text="").status_code == 302
    assert edition(world).terms is None
    assert save(world, "organise_terms", text="Be fair.", version="1", accepted_by="team").status_code == 302
    assert edition(world).terms.accepted_by == "team"


# Questions


def test_questions_are_added_changed_moved_and_removed(world):
    add(world, "survey", label="Primary research area?", kind="choice", choices="Physics\r\nOther…", required="on")
    add(world, "survey", label="Your method", kind="long", most_words="200", help="In short.")
    add(world, "survey", label="Your method", kind="url", name="code")
    asked = edition(world).survey
    assert [one.name for one in asked] == ["primary-research-area", "your-method", "code"]
    assert (asked[0].choices, asked[0].required, asked[1].most_words, asked[1].help) == (
        ("Physics", "Other…"),
        True,
        200,
        "In short.",
    )
    changed = {"label": "Research area", "choices": "Physics\nMedicine\nOther…", "required": None}
    assert save(world, "organise_question", "survey", "primary-research-area", **changed).status_code == 302
    first = edition(world).survey[0]
    assert (first.name, first.label, first.required) == ("primary-research-area", "Research area", False)
    assert len(first.choices) == 3
    moved = {"place-code": "5", "remove": "your-method"}
    assert save(world, "organise_questions", "survey", **moved).status_code == 302
    assert [one.name for one in edition(world).survey] == ["code", "primary-research-area"]
    assert "Research area" in world.client("alice").get(url("survey")).content.decode()


def test_each_form_has_its_questions(world):
    for form in FORMS:
        add(world, form, label=f"Of {form}", kind="yes-no")
    now = edition(world)
    assert [[one.label for one in getattr(now, form)] for form in FORMS] == [[f"Of {form}"] for form in FORMS]
    for form in FORMS:
        page = world.client("organiser").get(url("organise_questions", form)).content.decode()
        assert f"Of {form}" in page
        assert "disabled" in page


def test_an_old_question_that_is_not_changed_changes_nothing(world):
    add(world, "registration", label="Area", kind="choice", choices="Physics\nMedicine", help="One.", required="on")
    assert save(world, "organise_question", "registration", "area").status_code == 302
    assert save(world, "organise_questions", "registration").status_code == 302
    assert Version.objects.count() == 2


def test_a_name_is_taken_once_and_a_name_of_ours_is_avoided(world):
    add(world, "survey", label="Team", kind="text")
    add(world, "survey", label="Team", kind="text")
    assert [one.name for one in edition(world).survey] == ["team-2", "team-3"]
    answer = save(world, "organise_question_add", "survey", label="Again", kind="text", name="team-2")
    assert answer.status_code == 422


def test_who_takes_part_is_told_of_what_they_must_answer_and_of_nothing_else(world):
    add(world, "survey", label="Your method", kind="long")
    add(world, "registration", label="Area", kind="text", required="on")
    assert not Notification.objects.exists()
    save(world, "organise_question", "survey", "your-method", required="on")
    told = set(Notification.objects.values_list("user__email", flat=True))
    assert told == {"alice@example.org", "bob@example.org", "carol@example.org"}
    assert "“Your method”" in Notification.objects.first().text


def test_a_declaration_that_is_asked_for_later_voids_nothing_that_was_handed_in_before(world):
    before = world.scored("Rigi", "validation")
    add(world, "declarations", label="Pretrained on", kind="text", required="on", name="pretrained")
    before.refresh_from_db()
    assert void_reasons_of(before) == []
    after = world.scored("Pilatus", "validation")
    after.version = edition(world) and world.challenge.version
    after.save()
    assert "Pretrained on" in " ".join(void_reasons_of(after))


def test_a_survey_that_is_closed_asks_nothing_new_that_must_be_answered(world):
    world.scored("Rigi", "validation")
    world.at.move(days=120)
    given = {"label": "Your method", "kind": "long", "required": "on"}
    answer = save(world, "organise_question_add", "survey", **given)
    assert answer.status_code == 422
    assert "nobody can answer" in answer.content.decode()
    assert save(world, "organise_question_add", "survey", **given | {"required": None}).status_code == 302


def test_the_list_says_how_many_answers_there_are(world):
    add(world, "registration", label="Area", kind="text")
    one = world.challenge.registrations.get(user=world.people["alice"])
    one.answers = {"area": "Physics"}
    one.save()
    rows = world.client("organiser").get(url("organise_questions", "registration")).context["rows"]
    assert [row["answers"] for row in rows] == [1]
    page = world.client("organiser").get(url("organise_question", "registration", "area")).content.decode()
    assert "1 answer was given" in page


def test_words_of_a_form_are_shown_as_text(world):
    add(world, "survey", label="<script>alert(1)</script>", kind="choice", choices="<b>A</b>\nB")
    for page in (url("organise_questions", "survey"), url("organise_code")):
        assert "<script>alert" not in world.client("organiser").get(page).content.decode()
