"""The rules and metrics of a challenge in words, all of them made of the objects that carry them out.

What costs an attempt, `quota_left` is asked; who sees what, `sight`; who is admitted, `barred`; the metrics come from
the catalogue, the ranking from its rule, the example from a board that the rule makes. A text that says something else
than the code does cannot be written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from isocenter.editions import Attempt, Edition, Phase, Question, TeamStanding, Viewer, barred, quota_left, sight
from isocenter.server.boards.board_titles import titles_of

if TYPE_CHECKING:
    from isocenter.evaluation import Challenge as Code


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str
    label: str = ""


@dataclass(frozen=True)
class Items:
    """A list."""

    kind: ClassVar[str] = "items"
    items: tuple[str, ...]
    label: str = ""


@dataclass(frozen=True)
class Lines:
    """Lines that keep their form."""

    kind: ClassVar[str] = "lines"
    text: str


Cell: TypeAlias = "str | datetime"


@dataclass(frozen=True)
class Facts:
    """What is said of things, each in a line; a moment is shown on the clock of the reader, and in UTC."""

    kind: ClassVar[str] = "facts"
    rows: tuple[tuple[str, Cell], ...]


@dataclass(frozen=True)
class Grid:
    """A table."""

    kind: ClassVar[str] = "grid"
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Fold:
    """What is there for who wants it."""

    kind: ClassVar[str] = "fold"
    title: str
    blocks: tuple[Block, ...]


Block: TypeAlias = "Text | Items | Lines | Facts | Grid | Fold"


@dataclass(frozen=True)
class Section:
    """A part of the rules; `name` is its place in the address."""

    name: str
    title: str
    blocks: tuple[Block, ...]


_SPANS = {
    "phase": "in the whole phase",
    "week": "in any seven days in a row",
    "day": "in any 24 hours in a row",
    "calendar-week": "in a week, Monday to Sunday on the clock of the opening ({zone})",
    "calendar-day": "in a day, midnight to midnight on the clock of the opening ({zone})",
}
_OUTCOMES = {
    "refused": "a file that is refused before it is scored",
    "infrastructure": "a failure of our machines or of the evaluator",
    "cancelled": "what the team cancels",
    "failed": "a submission that fails while it is scored",
}
_COUNTS = {
    "last": "The last one that was handed in.",
    "best": "The one with the best score on the main board; of equals, the later.",
    "chosen": "The one that the team names.",
    "all": "Each, with a row of its own.",
}
_ORGANISERS = {
    "unlisted": "they stand on no board and win no prize",
    "unranked": "they stand on the board without a rank, and win no prize",
    "ranked": "they are ranked like others, and win no prize",
}
_SEEN = {
    "other_scores": "the board with all teams",
    "own_scores": "the score of one's own team",
    "own_cases": "one's own results, case by case",
    "counts": "how many teams and submissions there are",
    "downloads": "the data of the phase",
}


def rules_of(edition: Edition, code: Code) -> list[Section]:
    """The rules and metrics of an edition.

    Parameters
    ----------
    edition
        With the phases that the reader knows of, and no others; see `isocenter.server.telling.known`.
    code
        The challenge with the policies of the edition in force.
    """
    told = [Section("taking-part", "Taking part", tuple(_taking_part(edition)))]
    if not edition.phases:
        return [*told, Section("phases", "Phases", (Text("No phase is announced yet."),))]
    told += [Section(f"phase-{phase.name}", phase.title, tuple(_phase(edition, phase))) for phase in edition.phases]
    described = _described(edition, code)
    told.append(Section("files", "What a submission holds", tuple(described["8a"])))
    told.append(Section("metrics", "Metrics", tuple(described["26a"])))
    told.append(Section("ranking", "Ranking", tuple(_ranking(code))))
    told.append(Section("missing", "Missing and unusable cases", tuple(described["27b"])))
    told.append(Section("prizes", "Prizes", tuple(described["7d"])))
    told.append(Section("names", "Who is named", tuple(_named(edition))))
    return told


def quota_words(phase: Phase) -> str:
    """How often a team may submit, in a few words.

    Examples
    --------
    >>> from datetime import UTC
    >>> phase = Phase(
    ...     name="tuning", title="Tuning", quota=1, quota_per="week", opens=datetime(2022, 5, 20, tzinfo=UTC),
    ...     closes=datetime(2022, 10, 20, tzinfo=UTC), results=datetime(2022, 10, 20, tzinfo=UTC),
    ... )
    >>> quota_words(phase)
    '1 submission per team in any seven days in a row'
    """
    if phase.quota is None:
        return "any number of submissions"
    noun = "submission" if phase.quota == 1 else "submissions"
    return f"{phase.quota} {noun} per team {_SPANS[phase.quota_per].format(zone=f'{phase.opens:%Z}' or 'UTC')}"


def free_words(phase: Phase) -> str:
    """What costs no attempt, as `quota_left` counts it."""
    one = phase.model_copy(update={"quota": 1, "quota_per": "phase"})
    free = [
        words
        for outcome, words in _OUTCOMES.items()
        if not quota_left(one, [Attempt(phase.opens, outcome)], phase.opens).used  # type: ignore[arg-type]
    ]
    return sentence(f"{listed(free)} {'cost' if len(free) > 1 else 'costs'} no attempt")


def admission_words(edition: Edition, phase: Phase) -> str:
    """Who may take part in a phase, as `barred` tells a team that nobody invited."""
    over = max(one.results for one in edition.phases)

    def why(team: TeamStanding) -> str:
        return barred(edition, phase.name, team, board_of=lambda _: None, now=over)

    said = why(TeamStanding("a team"))
    if not said:
        return "Every team."
    named = phase.admission != "request" and not why(TeamStanding("a team", invited=True))
    beside = " Whom the organisers name takes part too." if named and "organisers invite" not in said else ""
    return sentence(said) + beside


def _taking_part(edition: Edition) -> Iterator[Block]:
    own = _ORGANISERS[edition.policies.organisers]
    yield Text("Everything counts per team. Who takes part alone is a team of one.")
    yield Text(f"Members of the organisers' institutes may take part; {own}.")
    if edition.terms is not None:
        who = {"person": "Everybody in a team accepts them", "team": "One member accepts them for the team"}
        accepted = who[edition.terms.accepted_by]
        yield Text(f"{accepted}, in their version {edition.terms.version}; before, nothing counts.", "Terms")
    for label, questions in (
        ("Asked of everybody who registers", edition.registration),
        ("Asked with every submission; it is void without the answers that are needed", edition.declarations),
        (
            "Asked of every team on its method; without it, submissions to the phase that closes last are void",
            edition.survey,
        ),
    ):
        if questions:
            yield Items(tuple(map(_question, questions)), label)
    if edition.equity:
        asked = "; ".join(question.label for question in edition.equity)
        yield Text(f"{asked}. Answers are stored without names and told in numbers only.", "Asked voluntarily")


def _question(question: Question) -> str:
    return f"{question.label} ({'needs an answer' if question.required else 'may be left out'})"


def _phase(edition: Edition, phase: Phase) -> Iterator[Block]:
    rows: list[tuple[str, Cell]] = [
        ("Who takes part", admission_words(edition, phase)),
        ("Opens", phase.opens),
        ("Closes", phase.closes),
        ("Results", phase.results),
        ("Submissions", sentence(quota_words(phase))),
        ("What costs nothing", free_words(phase)),
        ("Which one counts", _COUNTS[phase.counts]),
    ]
    if (before := edition.continued_by(phase)) is not None:
        text = (
            f"After the end, what was handed in for {before.title} stands here beside what comes later. It is measured "
            "against the same reference. The board of that phase stays as it is; nothing is won here."
        )
        rows.insert(0, ("Goes on from", text))
    if phase.decimals is not None:
        rows.append(("Scores", f"Shown, and ranked, with {phase.decimals} decimals."))
    if phase.ladder is not None:
        by = "the standard error of the difference" if phase.ladder == "parameter-free" else f"{phase.ladder:g}"
        rows.append(("Improvements", f"A new score is shown only if it is better by more than {by}."))
    if phase.cases is not None:
        rows.append(("Cases", f"{phase.cases}"))
    for cohort, scored in zip(phase.cohorts, phase.scored[1:], strict=True):
        rows += [(cohort.title, _cohort(edition, scored)), (f"{cohort.title}, results", scored.results)]
    yield Facts(tuple(rows))
    yield Grid(
        "Who sees what",
        ("", "from the opening", "from the results"),
        tuple(
            (sentence(what)[:-1], _who(edition, phase, field, phase.opens), _who(edition, phase, field, phase.results))
            for field, what in _SEEN.items()
        ),
    )


def _cohort(edition: Edition, scored: Phase) -> str:
    """What a further cohort of a phase is for, and who sees its boards before its results."""
    many = "Further cases" if scored.cases is None else f"{scored.cases} further cases"
    boards = {
        "own_scores": "a team's own score there",
        "other_scores": "the boards",
    }
    seen = [f"{what}: {_who(edition, scored, field, scored.opens)}" for field, what in boards.items()]
    return (
        f"{many}, on which every submission is scored too. Which submission counts is decided without them. Before the "
        f"results, who sees {'; '.join(seen)}."
    )


def _who(edition: Edition, phase: Phase, field: str, when: datetime) -> str:
    """Who sees something of a phase at a moment."""
    if getattr(sight(edition, phase.name, Viewer("anonymous"), when), field):
        return "everybody"
    team = Viewer("participant", team="a team", admitted=True)
    if getattr(sight(edition, phase.name, team, when), field):
        return "the team itself" if field.startswith("own") else "teams that take part"
    return "nobody but the organisers"


def _named(edition: Edition) -> Iterator[Block]:
    for phase in edition.phases:
        first = sight(edition, phase.name, Viewer("anonymous"), phase.results).first
        if first is None:
            said = "All teams are named."
        else:
            top = "The first is" if first == 1 else f"The first {first} are"
            said = f"{top} named. Others are named only if they consent; else they stand there under an alias."
        yield Text(said, phase.title)


def _described(edition: Edition, code: Code) -> dict[str, list[Block]]:
    """What the structured description says, by the numbers of its items."""
    from isocenter.report import describe_edition

    return {
        item.number: [block_of(block.to_dict(), item.title) for block in item.answer]
        for section in describe_edition(edition, code).sections
        for item in section.items
    }


def block_of(told: Mapping[str, Any], caption: str) -> Block:
    """A block of a structured description, which it gives as JSON values."""
    label = told.get("label", "")
    if "text" in told:
        return Text(told["text"], label)
    if "list" in told:
        return Items(tuple(told["list"]), label)
    if "code" in told:
        return Lines(told["code"])
    rows: Sequence[Mapping[str, str]] = told["table"]
    return Grid(caption, tuple(rows[0]), tuple(tuple(row.values()) for row in rows))


def _ranking(code: Code) -> Iterator[Block]:
    """Every board: its rule in words, its weights, an example, and the rule as pseudo-code."""
    from isocenter.ranking import DescriptionError, describe, pseudo_code
    from isocenter.server.telling.examples import example_of

    main, *others = (titles := titles_of(code))
    beside = f"; beside it stand {listed([titles[name] for name in others])}" if others else ""
    yield Text(f"The board {titles[main]} decides{beside}.")
    for name, rule in code.boards.items():
        title = f"Board {titles[name]} ({name}{', decides' if name == main else ''})"
        inside: list[Block] = [Text(sentence(str(rule)), title if name == main else "")]
        try:
            described, lines = describe(rule), pseudo_code(rule)
        except DescriptionError:
            inside.append(Text("The rule is one of the challenge's own; its code is its definition."))
        else:
            if len(weights := described.get("metrics", ())) > 1:
                rows = tuple((each["metric"], f"{each['weight']:g}") for each in weights)
                inside.append(Grid("Weights", ("metric", "weight"), rows))
            if breaks := described.get("tie_breaks"):
                inside.append(Text(f"Between equal scores decide, one after the other: {', '.join(breaks)}."))
            inside.append(Fold("Step by step", (Lines(lines),)))
        inside += [Fold("An example", example)] if (example := tuple(example_of(rule))) else []
        yield from inside if name == main else [Fold(title, tuple(inside))]


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: "a", "a and b", "a, b and c"."""
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last


def sentence(words: str) -> str:
    """Words as a sentence."""
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"
