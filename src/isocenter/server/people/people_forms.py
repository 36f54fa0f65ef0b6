"""The questions of an edition as a form: the same for registrations, surveys and declarations.

    given = read_answers(questions, request.POST)
    found = check_answers(questions, given)
    form = questions_form(questions, given, problems=found)   # when they are problems
    {% include "isocenter/people/questions.html" with form=form %}

Every field has a label, its help and its problem are said to belong to it, and all problems stand at the top, too, with
links to their fields. It works without a script.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.http import QueryDict

from isocenter.editions import COUNTRIES, AnswerProblem, Answers, EquityQuestion, Question

AnyQuestion = Question | EquityQuestion

_OWN = ".own"  # after the name of a field and the number of its choice; no name of a question holds a point
_INPUTS = {"email": "email", "url": "url", "text": "text", "number": "text"}
_DOTS = ("…", "...")


@dataclass(frozen=True)
class Option:
    """One of the answers that can be chosen."""

    id: str
    value: str
    label: str
    checked: bool = False
    own_name: str = ""
    own: str = ""


@dataclass(frozen=True)
class Field:
    """A question as its template shows it."""

    id: str
    name: str
    label: str
    widget: str
    input: str
    required: bool
    help: str
    value: str
    options: tuple[Option, ...]
    problem: str

    @property
    def described_by(self) -> str:
        """The ids of what explains it."""
        parts = [f"{self.id}-help"] if self.help else []
        return " ".join([*parts, *([f"{self.id}-problem"] if self.problem else [])])

    @property
    def anchor(self) -> str:
        """Where a link to it leads: the field itself, or the first of its options."""
        return self.options[0].id if self.widget in ("radio", "checkbox") else self.id


@dataclass(frozen=True)
class QuestionsForm:
    """Fields, and everything that is wrong with what was filled in."""

    fields: tuple[Field, ...]
    others: tuple[AnswerProblem, ...] = ()

    @property
    def problems(self) -> list[AnswerProblem]:
        """All problems, in the order of the page, each with the place that a link leads to as its name."""
        own = [AnswerProblem(one.anchor, one.label, one.problem) for one in self.fields if one.problem]
        return [*own, *self.others]


def questions_form(
    questions: Sequence[AnyQuestion],
    values: Mapping[str, object] | None = None,
    *,
    problems: Answers | Sequence[AnswerProblem] = (),
    others: Sequence[AnswerProblem] = (),
    prefix: str = "",
) -> QuestionsForm:
    """A form of questions.

    Parameters
    ----------
    values
        What fields hold at first: answers as they were kept, or as `read_answers` found them.
    problems
        What `check_answers` said of them.
    others
        Problems of what stands beside the questions on the same page; `name` is the id of the element.
    prefix
        Before the names of fields, where a page has more than one form.
    """
    values = values or {}
    found = {} if isinstance(problems, Answers) else {one.name: one.message for one in problems}
    fields = tuple(_field(one, values.get(one.name), found.get(one.name, ""), prefix) for one in questions)
    asked = {one.name for one in questions}
    strangers = [] if isinstance(problems, Answers) else [one for one in problems if one.name not in asked]
    return QuestionsForm(fields, (*strangers, *others))


def read_answers(questions: Sequence[AnyQuestion], data: QueryDict, *, prefix: str = "") -> dict[str, object]:
    """What was sent, by the names of the questions, for `check_answers`; a choice with own words is "Other: so"."""
    given: dict[str, object] = {}
    for question in questions:
        name = f"{prefix}{question.name}"
        if question.kind == "several":
            given[question.name] = [_with_own(one, name, question, data) for one in data.getlist(name)]
        elif question.kind == "choice":
            given[question.name] = _with_own(data.get(name, ""), name, question, data)
        else:
            given[question.name] = data.get(name, "")
    return given


def _with_own(chosen: str, name: str, question: AnyQuestion, data: QueryDict) -> str:
    if not chosen.endswith(_DOTS) or chosen not in question.offered:
        return chosen
    own = data.get(f"{name}.{question.offered.index(chosen)}{_OWN}", "").strip()
    return f"{_head(chosen)}: {own}" if own else chosen


def _head(choice: str) -> str:
    """A choice without the dots that ask for own words."""
    return choice.rstrip("….").rstrip() if choice.endswith(_DOTS) else choice


def _field(question: AnyQuestion, value: object, problem: str, prefix: str) -> Field:
    name = f"{prefix}{question.name}"
    widget = {"long": "textarea", "country": "select", "choice": "radio", "yes-no": "radio", "several": "checkbox"}
    kind = widget.get(question.kind, "input")
    return Field(
        id=f"q-{name}",
        name=name,
        label=question.label,
        widget=kind,
        input=_INPUTS.get(question.kind, ""),
        required=question.required,
        help=_help(question),
        value=_text(value),
        options=_options(question, name, _chosen(value)),
        problem=problem,
    )


def _help(question: AnyQuestion) -> str:
    words = ""
    if question.most_words:
        own = "Own words: at" if question.kind in ("choice", "several") else "At"
        words = f"{own} most {question.most_words} {'word' if question.most_words == 1 else 'words'}."
    return " ".join(filter(None, [question.help or "", words]))


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None or isinstance(value, bool | list | tuple) else str(value)


def _chosen(value: object) -> list[str]:
    match value:
        case bool():
            return ["yes" if value else "no"]
        case list() | tuple():
            return [str(one) for one in value]
    return [str(value)] if value else []


def _options(question: AnyQuestion, name: str, chosen: list[str]) -> tuple[Option, ...]:
    if question.kind == "country":
        return tuple(Option("", one, one, one in chosen) for one in sorted(COUNTRIES.values()))
    options = []
    for i, offered in enumerate(question.offered):
        head, open_ = _head(offered), offered.endswith(_DOTS)
        own = next((one.partition(":")[2].strip() for one in chosen if one.startswith(f"{head}:")), "") if open_ else ""
        checked = bool(own) or offered in chosen or head in chosen
        own_name = f"{name}.{i}{_OWN}" if open_ else ""
        label = head.capitalize() if question.kind == "yes-no" else head
        options.append(Option(f"q-{name}-{i}", offered, label, checked, own_name, own))
    if question.kind in ("choice", "yes-no") and not question.required:
        options.append(Option(f"q-{name}-none", "", "No answer", not any(one.checked for one in options)))
    return tuple(options)
