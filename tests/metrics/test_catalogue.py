from __future__ import annotations

import math
from dataclasses import replace

import pytest

from isocenter.metrics import Metric, catalogue


def test_the_catalogue_knows_the_direction_of_dice() -> None:
    dice = catalogue.get("dice")
    assert (dice.better, dice.bounds, dice.arrow, dice.worst) == ("higher", (0.0, 1.0), "↑", 0.0)


def test_what_a_metric_admits_and_shows() -> None:
    dice = catalogue.get("dice")
    assert [dice.admits(value) for value in (0, 1, 1.0001, math.nan)] == [True, True, False, False]
    assert [dice.show(value) for value in (0.71236, None, math.nan)] == ["0.7124", "–", "–"]


def test_one_name_has_one_definition() -> None:
    dice = catalogue.get("dice")
    assert catalogue.register(replace(dice)) == dice
    with pytest.raises(ValueError, match="already"):
        catalogue.register(replace(dice, better="lower"))


def test_an_unknown_metric_is_an_error_that_lists_the_known_ones() -> None:
    with pytest.raises(KeyError, match="dice"):
        catalogue.get("dise")


def test_the_worst_of_a_metric_to_be_minimised_is_its_upper_bound() -> None:
    assert Metric("error", "mm", "lower", (0, math.inf), 2, "").worst == math.inf


def test_a_definition_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(ValueError, match="higher, lower or neither, not 'low'"):
        Metric("error", "mm", "low", (0, 1), 2, "")
    with pytest.raises(ValueError, match="smallest and the largest"):
        Metric("error", "mm", "lower", (1, 0), 2, "")
