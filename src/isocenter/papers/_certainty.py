"""How sure the ranking is: what the teams have case by case, bootstrap resamples, tests, and other rules."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import polars as pl

from isocenter.contest import Decision
from isocenter.papers._study import Study
from isocenter.papers._words import anchor, counted, finite, p_value
from isocenter.ranking import P_FIRST_IN_WORDS, Multiverse, alternatives, multiverse, paired_values
from isocenter.report import (
    Block,
    BoxGroup,
    Cell,
    Chart,
    Paragraph,
    RankSpan,
    Section,
    blob_plot,
    boxes_plot,
    case_values,
    histogram_plot,
    matrix_plot,
    metric_label,
    rank_lines_plot,
    rank_set_plot,
    table,
)

_MOST_DRAWN = 60  # teams in a figure, that it fits on a page; of more, the first
_DRAWN_BOARDS = 2  # boards with figures of their own: the main one and its sister
_MOST_TESTED = 30  # teams in a map of all pairs; of more, the best


def by_team(study: Study) -> Section:
    """Box and dots of every team, on each board that ranks by a number per case."""
    blocks: list[Block] = []
    for name, decided in list(study.boards.items())[:_DRAWN_BOARDS]:
        cases = case_values(decided.board, decided.scores)
        groups = [
            BoxGroup(f"{row.place}  {row.submission}", tuple(cases.get(row.submission, ())))
            for row in decided.board.rows[:_MOST_DRAWN]
        ]
        if not any(group.values for group in groups):
            continue
        metric = decided.metric
        title = f"{metric_label(metric)} of every case, by team, board {name}"
        picture = boxes_plot(
            groups,
            label=metric_label(metric, unit=False),
            unit=metric.unit,
            better=metric.better,
            low=finite(metric.bounds[0]),
            high=finite(metric.bounds[1]),
            title=title,
            name=anchor(f"teams-{name}"),
        )
        caption = (
            f"{title}, in the order of the board. Box: quartiles; whiskers: the furthest cases within 1.5 box lengths; "
            f"diamond: mean of the cases that have a value.{_first(decided.board.rows)}"
        )
        rows = [
            (row.submission, case, value) for row in decided.board.rows for case, value in cases.get(row.submission, ())
        ]
        data = pl.DataFrame(rows, schema=["team", "case", metric.name], orient="row")
        blocks.append(Chart(anchor(f"by-team-{name}"), caption, picture, data))
    if not blocks:
        blocks.append(Paragraph("No board has a number per case, so there is nothing to draw team by team."))
    return Section("teams", "Team by team", tuple(blocks))


def _first(rows: Sequence[object]) -> str:
    """What a caption adds where not all are drawn."""
    return f" The first {_MOST_DRAWN} of {len(rows)} are drawn." if len(rows) > _MOST_DRAWN else ""


def draws(study: Study) -> Section:
    """Ranks in bootstrap resamples of the cases, rank sets, agreement, and tests of all pairs."""
    blocks: list[Block] = []
    for name, decided in list(study.boards.items())[:_DRAWN_BOARDS]:
        blocks += _drawn(name, decided)
    if rest := list(study.boards)[_DRAWN_BOARDS:]:
        blocks.append(
            Paragraph(f"Not drawn: the boards {', '.join(rest)}; their numbers are in the results.", note=True)
        )
    blocks += _tested(study.main, study)
    return Section("certainty", "How sure the ranks are", tuple(blocks))


def _drawn(name: str, decided: Decision) -> Iterator[Block]:
    found = decided.uncertainty
    if found is None:
        yield Paragraph(
            f"Board {name}: how sure its ranks are is not known; there are no bootstrap resamples.", note=True
        )
        return
    listed = [team for team in decided.ranked if team in found.teams]
    at = {team: found.teams.index(team) for team in listed}
    drawn = listed[:_MOST_DRAWN]
    shares = {team: found.ranks.frequency[at[team]].tolist() for team in listed}
    count = found.drawn.scores.shape[1]
    ranks = {row.submission: row.rank for row in decided.board.rows if row.rank is not None}
    title = f"Ranks on the board {name} in {count:,} bootstrap resamples of the cases"
    rows = [(team, place, share) for team in listed for place, share in enumerate(shares[team], start=1) if share]
    yield Chart(
        anchor(f"blobs-{name}"),
        f"{title}, by team. The area of a circle is the share of the resamples in which the team has that rank; the "
        f"diamond marks its rank on all cases.{_first(listed)}",
        blob_plot(
            {team: shares[team] for team in drawn},
            ranks={team: ranks[team] for team in drawn},
            title=title,
            name=anchor(f"blob-{name}"),
        ),
        pl.DataFrame(rows, schema=["team", "rank", "share"], orient="row"),
    )
    spans = [
        RankSpan(row.submission, row.rank, row.rank_low, row.rank_high, row.group or "", row.p_first, row.resamples)
        for row in decided.board.rows
        if row.rank is not None and row.rank_low is not None and row.rank_high is not None
    ]
    if spans:
        title = f"Ranks on the board {name} that the data do not exclude"
        yield Chart(
            anchor(f"rank-sets-{name}"),
            f"{title}, at {100 * found.level:g} % for all teams at once. Dot: the rank on all cases. "
            f"{P_FIRST_IN_WORDS}{_first(spans)}",
            rank_set_plot(spans[:_MOST_DRAWN], title=title, name=anchor(f"sets-{name}")),
        )
    tau = found.ranks.agreement
    values = [value for value in tau.tau.tolist() if math.isfinite(value)]
    if len(listed) > 1 and values:
        title = f"Kendall's tau between the ranking on all cases and that in a resample, board {name}"
        yield Chart(
            anchor(f"tau-{name}"),
            f"{title}: mean {tau.mean:.3f}, {len(values):,} bootstrap resamples. 1 is the same order, 0 an unrelated "
            "one, −1 the reverse.",
            histogram_plot(
                values, label="Kendall's tau", title=title, name=anchor(f"taus-{name}"), marks={"mean": tau.mean}
            ),
        )


def _tested(decided: Decision, study: Study) -> Iterator[Block]:
    """A map of all ordered pairs: one-sided tests, by Wilcoxon or of mean ranks by flips, adjusted by Holm."""
    try:
        paired = paired_values(decided.scores, decided.rule, over="cases", roles=decided.roles)
        found = paired.compare(family="all-ordered", adjust="holm", seed=study.settings.seed)
    except ValueError as error:
        yield Paragraph(f"Teams are not tested pair by pair: {error}.", note=True)
        return
    teams = decided.ranked[:_MOST_TESTED]
    p = {(row.a, row.b): row for row in found.rows}
    values = [[None if a == b else p[a, b].adjusted for b in teams] for a in teams]
    marks = {(i, j): "*" for i, a in enumerate(teams) for j, b in enumerate(teams) if a != b and p[a, b].significant}
    title = f"Which teams are better than which: adjusted p of paired tests, {paired.metric.name}"
    tests = {"wilcoxon": "Wilcoxon signed-rank test", "sign-flip": "permutation test of the mean ranks of the cases"}
    first = f" The best {_MOST_TESTED} are shown." if len(decided.ranked) > _MOST_TESTED else ""
    yield Chart(
        "significance",
        f"{title}. Row better than column: {tests[found.test]}, one-sided, n = {len(set(paired.cases))} cases, "
        f"adjusted by Holm's method for {len(found.rows)} tests; * at most {found.alpha:g}.{first}",
        matrix_plot(
            [[None if v is None or math.isnan(v) else -v for v in line] for line in values],
            rows=teams,
            columns=teams,
            show=lambda value: p_value(-value),
            legend="adjusted p, darker is smaller",
            title=title,
            name="significance-map",
            low=-1.0,
            high=0.0,
            marks=marks,
        ),
        pl.DataFrame(
            [(row.a, row.b, row.n, row.difference, row.p, row.adjusted) for row in found.rows],
            schema=["better", "than", "n", "mean_difference", "p", "adjusted_p"],
            orient="row",
        ),
    )


def universes(study: Study) -> Section:
    """What the ranking would have been under other rules that could as well have been declared."""
    decided, roles = study.main, study.main.roles
    if study.challenge.participation.discreet or len(decided.ranked) < 2:
        text = "With fewer than two ranked teams there is nothing that another rule could change."
        return Section("multiverse", "Under other rules", (Paragraph(text, note=True),))
    facts = {case: {name: text for name, text in fact.items() if text} for case, fact in study.folder.facts().items()}
    by = next((name for name in _CENTRES if any(name in fact for fact in facts.values())), None)
    try:
        found = multiverse(
            decided.scores,
            alternatives(decided.rule, decided.scores, roles=roles, facts=facts if by else None, by=by),
            roles=roles,
        )
    except ValueError as error:
        return Section("multiverse", "Under other rules", (Paragraph(f"Not known: {error}.", note=True),))
    return Section("multiverse", "Under other rules", tuple(_in_universes(found, decided)))


_CENTRES = ("centre", "center", "hospital", "site")


def _in_universes(found: Multiverse, decided: Decision) -> Iterator[Block]:
    total = len(found.outcomes)
    winners = " and ".join(found.winners)
    yield Paragraph(
        f"{winners} would be first under {found.winner_holds_in} of {counted(total, 'rule')} that could have been "
        "declared: other aggregations, other metrics of the same quantity, other ways with ties and missing cases, and "
        "the cohort without one centre, as far as they apply."
    )
    names = [outcome.universe.name for outcome in found.outcomes]
    ranks = {team: [outcome.ranks.get(team) for outcome in found.outcomes] for team in decided.ranked[:_MOST_DRAWN]}
    title = "Ranks under every rule"
    if total > 1:
        rows = [
            (n, team, outcome.ranks[team])
            for n, outcome in zip(names, found.outcomes, strict=True)
            for team in decided.ranked
            if team in outcome.ranks
        ]
        yield Chart(
            "universes",
            f"{title}: the declared one first, then one change each. n = {len(decided.ranked)} teams, {total} rules.",
            rank_lines_plot(ranks, steps=names, title=title, name="universe-lines"),
            pl.DataFrame(rows, schema=["rule", "team", "rank"], orient="row"),
        )
    rows_of = [
        (
            outcome.universe.name,
            ", ".join(outcome.first[:4]) + (" …" if len(outcome.first) > 4 else ""),
            _correlation(outcome.kendall),
            _correlation(outcome.spearman),
        )
        for outcome in found.outcomes
    ]
    notes = [f"{name} is undefined here: {reason}." for name, reason in found.undefined.items()]
    yield table(
        "rules-compared",
        "Each rule, who is first by it, and how far its ranking agrees with the declared one.",
        ["Rule", "First", "Kendall's tau #", "Spearman's rho #"],
        rows_of,
        notes=notes,
    )


def _correlation(value: float) -> Cell:
    return Cell("–") if math.isnan(value) else Cell(f"{value:.3f}", value)
