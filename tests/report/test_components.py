"""A board whose score is made of several metrics says where it comes from."""

from __future__ import annotations

import polars as pl
from markupsafe import Markup

from isocenter.metrics import Metric, catalogue
from isocenter.ranking import FixedValue, Limit, WeightedRanks
from isocenter.report import Figure, leaderboard_page, pictures_page
from isocenter.scores import Row, frame

TIME = catalogue.register(Metric("test_seconds", "s", "lower", (0.0, float("inf")), 1, "for tests"))
RULE = WeightedRanks(
    metrics=(("dice", 1.0), ("test_seconds", 2.0)),
    missing=FixedValue(0.0),
    given=("test_seconds",),
    exclude=(Limit("test_seconds", 9.0),),
)


def table(dice: float, seconds: float) -> pl.DataFrame:
    return frame([Row("a", "", "dice", dice, 1.0), Row("", "", "test_seconds", seconds, 1.0)])


def page(**changes: object) -> str:
    teams = {"x": table(0.9, 4.0), "y": table(0.8, 2.0), "slow": table(0.95, 10.0)}
    scores = pl.concat([t.select(pl.lit(name).alias("submission"), pl.all()) for name, t in teams.items()])
    return leaderboard_page("Title", RULE.rank(scores), scores, **changes)  # type: ignore[arg-type]


def test_values_and_ranks_by_metric_stand_on_the_page() -> None:
    text = page()
    assert "Where the rank comes from" in text
    for cell in ("0.9000 (1)", "0.8000 (2)", "4.0 (2)", "2.0 (1)"):
        assert f">{cell}<" in text
    assert ">10.0<" in text  # excluded: a value, and no rank
    assert "slow is excluded" in text


def test_nothing_is_said_case_by_case_of_a_score_that_belongs_to_no_case() -> None:
    assert "How consistent each team is" not in page()


def test_the_json_has_the_components() -> None:
    scores = table(0.9, 4.0).select(pl.lit("x").alias("submission"), pl.all())
    (row,) = RULE.rank(scores).to_dict()["rows"]
    assert row["components"] == [
        {"metric": "dice", "score": 0.9, "rank": 1},
        {"metric": "test_seconds", "score": 4.0, "rank": 1},
    ]


def test_figures_stand_on_the_page_with_their_captions_escaped() -> None:
    figure = Figure("f1", "A <title>", "caption & all", Markup("<svg></svg>"))
    for text in (page(figures=[figure]), pictures_page("T", [figure], subtitle="<team>")):
        assert "A &lt;title&gt;" in text
        assert "caption &amp; all" in text
        assert "<svg></svg>" in text
