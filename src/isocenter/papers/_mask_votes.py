"""The masks of the best teams, read once: what agreement and ensembles are worked out from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

from isocenter.ensembles import (
    Ensemble,
    Hierarchical,
    Rule,
    Votes,
    count_votes,
    every_ensemble,
    hierarchical_table,
    mean_scores,
    score_table,
)
from isocenter.evaluation import Cohort, open_cohort
from isocenter.papers._files import first_line, grid_policy
from isocenter.papers._study import Study
from isocenter.papers._words import counted
from isocenter.ranking import capabilities_of
from isocenter.submissions import MaskFile

MOST = 12
"""Teams whose masks are compared and combined; of more, the best."""

_COMPARED = ("dice", "s_score")  # by which files are known to be those that were scored
_ROUNDING = 1e-6
_MOST_SCORES = 8_000_000  # of ensembles in cases: 64 MB


@dataclass(frozen=True, eq=False)
class Source:
    """The files of a panel: a cohort, and the folder or zip of each voter."""

    study: Study
    cohort: Cohort
    files: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Panel:
    """The votes of some teams, best first.

    Voters are called 01, 02 … by their place here: a team may have a name that the name of an ensemble cannot hold.

    Attributes
    ----------
    without
        Ranked teams whose files are not at hand.
    changed
        Ranked teams whose files at hand are not those that were scored.
    beyond
        How many ranked teams are left out because there would be too many.
    source
        Where the masks were read; None if they cannot be read again.
    """

    teams: tuple[str, ...]
    votes: Votes
    without: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    beyond: int = 0
    source: Source | None = None

    @property
    def cases(self) -> list[str]:
        """In the order of all arrays here."""
        return [case.case for case in self.votes.cases]

    @property
    def weights(self) -> list[float]:
        """Sampling weights of the cases."""
        return [case.weight for case in self.votes.cases]

    def team(self, voter: str) -> str:
        """Who votes under a number."""
        return self.teams[int(voter) - 1]

    def members(self, ensemble: Ensemble) -> str:
        """An ensemble in words."""
        names = ", ".join(self.team(voter) for voter in ensemble.members)
        if len(ensemble.members) == 1:
            return f"{names} alone"
        return f"at least {ensemble.threshold} of {len(ensemble.members)}: {names}"

    @cached_property
    def every(self) -> list[Ensemble]:
        """All ensembles of the teams, those to be preferred among equals first."""
        return list(every_ensemble(self.votes.voters))

    def every_score(self, metric: str) -> NDArray[np.float64]:
        """The metric by case and ensemble, in the order of `every`.

        Raises
        ------
        EnsembleError
            The metric is undefined in a case.
        """
        votes = self.votes
        return np.stack(
            [mean_scores(Votes(votes.voters, (case,), votes.turnout), metric=metric) for case in votes.cases]
        )

    def scores_of(self, rule: Rule, metric: str) -> list[float]:
        """What one rule reaches in every case; NaN where the metric is undefined."""
        found = score_table(self.votes, [rule], metrics=[metric])
        by_case = dict(found.select("case", "value").iter_rows())
        return [float("nan") if (value := by_case[case]) is None else value for case in self.cases]

    @property
    def severity(self) -> tuple[int, ...]:
        """The labels from the mildest to the most severe; empty where the challenge does not say."""
        if self.source is None:
            return ()
        specs = [spec for spec in self.source.study.challenge.output.values() if isinstance(spec, MaskFile)]
        return (specs[0].severity_order or ()) if len(specs) == 1 else ()

    def vote_by_label(self, metric: str) -> pl.DataFrame:
        """The scores of the hierarchical majority vote of all: of all labels united in part "", and of each label."""
        assert self.source is not None
        study = self.source.study
        (spec,) = [spec for spec in study.challenge.output.values() if isinstance(spec, MaskFile)]
        scores, _ = hierarchical_table(
            study.challenge,
            self.source.cohort,
            self.source.files,
            rule=Hierarchical(tuple(self.source.files), self.severity),
            metrics=[metric],
            names={number: name for name, number in spec.labels},
            grid=grid_policy(study),
            progress=lambda done, total, case: study.move(done, total, f"voting by label in {case}"),
        )
        return scores

    def said(self) -> str:
        """Whose masks are in it and whose are not; empty if those of all ranked teams are."""
        parts = []
        if self.beyond:
            parts.append(f"Only the best {len(self.teams)} teams with files are compared and combined.")
        if self.without:
            parts.append(
                f"No files in submissions/, or several submissions of which one counts: {_some(self.without)}."
            )
        if self.changed:
            parts.append(f"Left out, as their files do not give the scores of their tables: {_some(self.changed)}.")
        return " ".join(parts)


def read_panel(study: Study) -> Panel | str:
    """Read the masks of the best teams; a sentence that says why, if that cannot be."""
    reference = study.folder.file("reference")
    ranked = study.main.ranked
    at_hand = [team for team in ranked if team in study.outputs]
    if reference is None or not at_hand:
        return (
            "Agreement and ensembles need masks: the organisers' files in reference/, and a folder or zip of each team "
            "in submissions/."
        )
    try:
        cohort = open_cohort(study.challenge, reference)
        if lost := _other_cases(cohort, study):
            return lost
        teams, votes, changed = _as_scored(study, cohort, at_hand)
        source = Source(study, cohort, _number_files(study, teams))
    except (ValueError, OSError) as error:
        return f"Masks cannot be compared: {first_line(error, study)}"
    if votes is None:
        return (
            "Masks are not compared: they do not give the scores of the tables, so either reference/ or the files of "
            f"{_some(changed)} have changed since."
        )
    without = tuple(team for team in ranked if team not in at_hand)
    return Panel(tuple(teams), votes, without, tuple(changed), len(at_hand) - len(changed) - len(teams), source)


def _as_scored(study: Study, cohort: Cohort, at_hand: Sequence[str]) -> tuple[list[str], Votes | None, list[str]]:
    """The best teams whose masks give the scores of their tables, their votes, and teams whose masks do not."""
    changed: list[str] = []
    while teams := [team for team in at_hand if team not in changed][: _room(len(cohort.cases))]:
        files = _number_files(study, teams)
        votes = count_votes(
            study.challenge,
            cohort,
            files,
            grid=grid_policy(study),
            progress=lambda done, total, case: study.move(done, total, f"reading masks of {case}"),
        )
        found = [team for voter, team in zip(votes.voters, teams, strict=True) if _differs(study, votes, voter, team)]
        if not found:
            return teams, votes, changed
        changed += found
    return [], None, changed


def _differs(study: Study, votes: Votes, voter: str, team: str) -> bool:
    """Whether the masks of a team give other scores than its table has, in any case and metric of both."""
    table = study.main.scores.filter(
        (pl.col("submission") == team) & (pl.col("part") == "") & pl.col("metric").is_in(_COMPARED)
    )
    scored = {(case, metric): value for case, metric, value in table.select("case", "metric", "value").iter_rows()}
    if not scored:
        return False
    metrics = sorted({metric for _, metric in scored})
    measured = score_table(votes, [Ensemble((voter,), 1)], metrics=metrics)
    voted = {case.case for case in votes.cases if case.roll.states[voter] == "voted"}
    return any(
        not _equal(scored.get((case, metric)), value if case in voted else None)
        for case, metric, value in measured.select("case", "metric", "value").iter_rows()
    )


def _equal(a: float | None, b: float | None) -> bool:
    return a is b if a is None or b is None else math.isclose(a, b, rel_tol=0, abs_tol=_ROUNDING)


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:10]) + (" …" if len(names) > 10 else "")


def counts_as(study: Study) -> float | None:
    """What a case without a usable mask counts as on the main board; None where that depends on more."""
    rule = capabilities_of(study.main.rule)
    return rule.stand_in if rule.shows_means else None


def said_of_missing(study: Study) -> str:
    """The same as a sentence."""
    value = counts_as(study)
    what = "what the rule of the board says" if value is None else f"{value:g}"
    return f"A case without a usable mask counts as {what}."


def _number_files(study: Study, teams: Sequence[str]) -> dict[str, str]:
    """The files of teams, by the numbers that they vote under."""
    paths = {f"{place:02d}": str(study.outputs[team].outputs or "") for place, team in enumerate(teams, start=1)}
    return {voter: path for voter, path in paths.items() if path}


def _room(cases: int) -> int:
    """How many teams can be combined in all ways without keeping too many numbers."""
    teams = MOST
    while teams > 2 and cases * (teams << (teams - 1)) > _MOST_SCORES:
        teams -= 1
    return teams


def _other_cases(cohort: Cohort, study: Study) -> str:
    """Whether the reference is that of the scores, as far as names tell."""
    here = {case.name for case in cohort.cases}
    scored = {case for case in study.main.scores["case"].unique() if case}
    if here == scored:
        return ""
    parts: Sequence[str] = [
        f"{counted(len(names), 'case')} {where} ({', '.join(sorted(names)[:3])}{' …' if len(names) > 3 else ''})"
        for names, where in ((scored - here, "scored but not in reference/"), (here - scored, "there but not scored"))
        if names
    ]
    return f"Masks are not compared, as reference/ is not that of the scores: {', '.join(parts)}."
