from __future__ import annotations

import csv
import json
import math
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from isocenter.stats._hillis import ObuchowskiRockette, hillis_cases, hillis_power
from isocenter.stats._simulated_power import simulated_power
from isocenter.stats._sizing import degrees_of_freedom, power, power_grid
from isocenter.stats._study_design import Design, PairComponents, VarianceComponents, designs

GOLDEN = Path(__file__).parents[1] / "golden" / "mrmc" / "sizing"
TABLE_2 = json.loads((GOLDEN / "picai_table2.json").read_text())
PILOTS = json.loads((GOLDEN / "pilots.json").read_text())
RJAFROC = json.loads((GOLDEN / "rjafroc_vandyke.json").read_text())
VANDYKE = ObuchowskiRockette(**PILOTS["vandyke"]["obuchowski_rockette"])
GENERALISES = {"RRRC": "readers and cases", "FRRC": "cases", "RRFC": "readers"}
PICAI = VarianceComponents(
    **{name.lower(): TABLE_2["fitted_components"][name] for name in ("N", "D", "ND", "R", "NR", "DR", "RND")}
)
ALL = VarianceComponents(n=0.008, d=0.009, nd=0.004, r=0.003, nr=0.004, dr=0.010, rnd=0.02)


def pilot(name: str, kind: str) -> PairComponents:
    moments = PILOTS[name][kind]
    return PairComponents(*(VarianceComponents.from_moments(moments[of]) for of in ("first", "second", "cross")))


def rows_of_imrmc(name: str) -> list[dict[str, float]]:
    with (GOLDEN / f"imrmc_java_{name}.csv").open() as lines:
        return [{key: float(value) for key, value in row.items()} for row in csv.DictReader(lines)]


def design_of(row: dict[str, float]) -> Design:
    numbers = [int(row[key]) for key in ("R", "N0", "N1", "G")]
    return Design(*numbers, *(bool(row[key]) for key in ("pairR", "pairN", "pairD")))


def test_all_twelve_powers_of_picai_come_out_and_its_misprint_shows() -> None:
    rows = TABLE_2["rows"]
    grid = power_grid(
        PICAI, [Design(row["n_readers"], row["n_neg"], row["n_pos"], row["n_blocks"]) for row in rows], effect=0.05
    )
    assert [round(found.power, 2) for found in grid.rows] == [row["power"] for row in rows]
    errors = [(round(found.standard_error, 4), row["se"]) for found, row in zip(grid.rows, rows, strict=True)]
    assert [pair for pair in errors if pair[0] != pair[1]] == [(0.0154, 0.0159)]


@pytest.mark.parametrize("name", ["vandyke", "sim_splitplot"])
def test_variances_and_degrees_of_freedom_are_those_of_imrmc(name: str) -> None:
    components, biased = pilot(name, "unbiased"), pilot(name, "biased")
    rows = rows_of_imrmc(name)
    assert {(row["G"], row["pairR"], row["pairN"]) for row in rows} > {(4, 1, 1), (2, 0, 1), (1, 1, 0)}
    for row in rows:
        normal = power(components, design_of(row), effect=row["effect"], alpha=row["alpha"])
        assert normal.standard_error**2 == pytest.approx(row["totalVar"], rel=1e-11)
        assert normal.power == pytest.approx(row["powerNormal"], rel=1e-11)
        assert math.isinf(normal.df)
        found = power(components, design_of(row), effect=row["effect"], alpha=row["alpha"], biased=biased)
        assert found.df == pytest.approx(row["dfBDG"], rel=1e-10)
        expected = stats.nct.sf(stats.t.ppf(0.975, found.df), found.df, row["effect"] / row["SE"])
        assert found.power == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("name", ["vandyke", "sim_splitplot"])
def test_components_of_the_difference_are_enough_for_a_paired_study(name: str) -> None:
    components, biased, design = pilot(name, "unbiased"), pilot(name, "biased"), Design(40, 280, 120, blocks=4)
    of_difference = power(components.difference, design, effect=0.05, biased=biased.difference)
    of_pair = power(components, design, effect=0.05, biased=biased)
    assert of_difference.power == pytest.approx(of_pair.power, rel=1e-12)
    assert of_difference.df == pytest.approx(of_pair.df, rel=1e-12)
    with pytest.raises(ValueError, match=r"paired designs only.*readers not paired"):
        power(components.difference, Design(40, 280, 120, paired_readers=False), effect=0.05)


def test_hillis_powers_are_those_of_rjafroc() -> None:
    assert {row["analysis"] for row in RJAFROC["vandyke_power"]} == set(GENERALISES)
    for row in RJAFROC["vandyke_power"]:
        to: Any = GENERALISES[row["analysis"]]
        found = hillis_power(VANDYKE, readers=row["J"], cases=row["K"], effect=row["effect"], to=to)
        assert found.power == pytest.approx(row["power"], abs=3e-9)
        assert found.noncentrality == pytest.approx(row["ncp"], rel=1e-12)
        assert found.df == pytest.approx(row["df2"] or math.inf, rel=1e-12)


@pytest.mark.parametrize("row", RJAFROC["vandyke_K_given_J"])
def test_cases_for_a_power_are_those_of_rjafroc(row: dict[str, Any]) -> None:
    found = hillis_cases(VANDYKE, readers=row["J"], effect=row["effect"])
    assert found.cases == row["KRRRC"]
    assert found.power == pytest.approx(row["powerRRRC"], abs=3e-9)
    assert hillis_power(VANDYKE, readers=row["J"], cases=found.cases - 1, effect=row["effect"]).power < 0.8


def test_a_margin_at_no_difference_has_the_power_of_a_difference_of_its_size() -> None:
    design = Design(60, 280, 120, blocks=4)
    margin = power(PICAI, design, margin=0.05, biased=PICAI)
    assert margin.power == power(PICAI, design, effect=0.05, biased=PICAI).power
    assert power(PICAI, design, effect=-0.01, margin=0.05, biased=PICAI).power < margin.power


positive = st.floats(0.0005, 0.05)


@given(st.tuples(*[positive] * 7), st.integers(1, 4), st.integers(1, 5), st.integers(2, 30), st.integers(2, 30))
def test_power_grows_with_all_that_costs_money(values: Any, blocks: int, r: int, n: int, d: int) -> None:
    components = VarianceComponents(*values)
    sizes = [r * blocks, n * blocks, d * blocks]
    here = power(components, Design(*sizes, blocks), effect=0.03)
    for more in range(3):
        larger = [size * (2 if i == more else 1) for i, size in enumerate(sizes)]
        assert power(components, Design(*larger, blocks), effect=0.03).power > here.power
    assert power(components, Design(*sizes, blocks), effect=0.04).power > here.power
    crossed = power(components, Design(*sizes), effect=0.03)  # everybody reads everything
    assert crossed.power >= here.power - 1e-15


def test_moments_and_components_are_the_same_thing() -> None:
    """With every moment the sum of the components of what its pairs have in common."""
    c = ALL
    nothing = 0.64
    moments = [
        sum(astuple(c)),
        c.d + c.r + c.dr,
        c.n + c.r + c.nr,
        c.r,
        c.n + c.d + c.nd,
        c.d,
        c.n,
        0.0,
    ]
    again = VarianceComponents.from_moments([nothing + m for m in moments])
    assert astuple(again) == pytest.approx(astuple(c), abs=1e-15)
    with pytest.raises(ValueError, match="eight moments"):
        VarianceComponents.from_moments([1.0, 2.0])


@pytest.mark.parametrize("design", [Design(12, 60, 40, blocks=2), Design(6, 40, 30)])
@pytest.mark.parametrize("components", [PICAI, ALL])
def test_simulated_studies_have_the_power_that_was_computed(components: VarianceComponents, design: Design) -> None:
    expected = power(components, design, effect=0.06, biased=components)
    found = simulated_power(components, design, effect=0.06, replicates=800, seed=1)
    assert found.power == pytest.approx(expected.power, abs=4 * found.monte_carlo_error)
    assert found.spread == pytest.approx(expected.standard_error, rel=0.1)
    assert found.mean_error == pytest.approx(expected.standard_error, rel=0.05)


def test_simulated_studies_without_a_difference_find_one_in_half_alpha() -> None:
    found = simulated_power(ALL, Design(12, 60, 40, blocks=2), replicates=1500, seed=2)
    assert found.power == pytest.approx(0.025, abs=0.015)
    again = simulated_power(ALL, Design(12, 60, 40, blocks=2), effect=-0.05, margin=0.05, replicates=1500, seed=2)
    assert again.power == pytest.approx(found.power, abs=1e-9)  # at the margin, the same draws


def test_an_unbiased_variance_below_zero_is_replaced_and_counted() -> None:
    found = simulated_power(VarianceComponents(rnd=0.05), Design(2, 3, 3), effect=0.1, replicates=200)
    assert 0 < found.fallbacks < 200
    assert 0 <= found.power <= 1


def test_designs_are_all_combinations() -> None:
    found = designs(readers=(20, 40), cases=((140, 60), (120, 80)), blocks=(1, 2))
    assert len(found) == len(set(found)) == 8
    assert found[0] == Design(20, 140, 60)


def test_what_is_no_study_is_said() -> None:
    with pytest.raises(ValueError, match=r"3 readers are too few for 4 blocks; 1 positives are too few for 4 blocks"):
        Design(3, 40, 1, blocks=4)
    with pytest.raises(ValueError, match="7 readers are too few for 4 blocks of two modalities each"):
        Design(7, 40, 40, blocks=4, paired_readers=False)
    with pytest.raises(ValueError, match="at least 1 block"):
        Design(3, 40, 1, blocks=0)
    with pytest.raises(
        ValueError, match=r"whole numbers of readers, cases and blocks, not nan readers, 10.5 positives"
    ):
        Design(math.nan, 40, 10.5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"not 2\.0 blocks"):
        Design(20, 40, 40, blocks=2.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="at least one design"):
        power_grid(PICAI, [], effect=0.05)


@pytest.mark.parametrize("options", [{}, {"effect": 0.05, "alpha": 1.0}, {"effect": math.nan}, {"margin": -0.05}])
def test_a_power_is_that_to_show_something(options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="power is that to show something"):
        power(PICAI, Design(20, 140, 60), **options)


def test_variances_are_numbers() -> None:
    undefined = VarianceComponents(n=math.nan)
    for biased in (undefined, PairComponents(PICAI, PICAI, undefined)):
        with pytest.raises(ValueError, match=r"biased: variances are finite numbers, found .*nan"):
            power(PICAI, Design(20, 140, 60), effect=0.05, biased=biased)
    with pytest.raises(ValueError, match="components: variances are finite numbers, found inf"):
        power(VarianceComponents(n=math.inf), Design(20, 140, 60), effect=0.05)


@pytest.mark.parametrize("scale", [1e-300, 1e150, 1e300])
def test_degrees_of_freedom_know_no_unit(scale: float) -> None:
    design = Design(20, 140, 60)
    one, other = (
        degrees_of_freedom(by * 1e-3, VarianceComponents(n=by * 0.02, d=by * 0.03, r=by * 0.004), design)
        for by in (1.0, scale)
    )
    assert other == pytest.approx(one, rel=1e-9)
    assert 19 < one < 1000


def test_a_pilot_with_a_variance_below_zero_sizes_nothing() -> None:
    with pytest.raises(ValueError, match=r"would be -0\.00"):
        power(VarianceComponents(r=-0.05), Design(20, 140, 60), effect=0.05)
    with pytest.raises(ValueError, match="cannot size a study"):
        hillis_power(VANDYKE._replace(cov1=0.1), readers=5, cases=100, effect=0.05)
    with pytest.raises(ValueError, match="at least 2 readers"):
        hillis_power(VANDYKE, readers=1, cases=100, effect=0.05)
    with pytest.raises(ValueError, match=r"reach a power of 0\.\d+ at most"):
        hillis_cases(VANDYKE, readers=2, effect=0.01)
    with pytest.raises(ValueError, match="between 0 and 1, not at 80"):
        hillis_cases(VANDYKE, readers=5, effect=0.05, power=80)
    with pytest.raises(ValueError, match=r"at least 2 studies.*below 0: r, dr.*divisible by its blocks"):
        simulated_power(VarianceComponents(r=-1, dr=-1), Design(21, 140, 60, blocks=2), effect=0.05, replicates=1)


def test_a_variance_over_readers_below_zero_counts_as_none() -> None:
    none = hillis_power(VANDYKE._replace(test_by_reader=0.0), readers=5, cases=100, effect=0.05)
    assert hillis_power(VANDYKE._replace(test_by_reader=-0.001), readers=5, cases=100, effect=0.05) == none


def test_they_read_as_sentences_and_export_json() -> None:
    found = power(PICAI, Design(60, 280, 120, blocks=4), margin=0.05, biased=PICAI)
    assert str(found).startswith(
        "60 readers and 400 cases (280 negative, 120 positive) in 4 blocks: standard error 0.0152, power 0.91 to show "
        "non-inferiority by a margin of 0.05 if the true difference is 0 (U-statistic variance; two-sided alpha 0.05; "
    )
    grid = power_grid(PICAI, designs(readers=(20, 60), cases=((140, 60),)), effect=0.05)
    assert str(grid).splitlines()[2:4] == [
        "cases  negative  positive  blocks  readers      SE  df  power",
        "  200       140        60       1       20  0.0226   ∞   0.60",
    ]
    exported = json.loads(json.dumps(grid.to_dict()))
    assert exported["rows"][0]["design"]["readers"] == 20
    assert exported["rows"][0]["df"] is None
    hillis = hillis_power(VANDYKE, readers=5, cases=100, effect=0.05, to="cases")
    assert "power 0.71 to show a difference of 0.05 that generalises to cases" in str(hillis)
    assert json.loads(json.dumps(hillis.to_dict()))["df"] is None
    simulated = simulated_power(PICAI, Design(4, 8, 8), margin=0.05, replicates=5)
    assert "of 5 simulated studies" in str(simulated)
    assert json.loads(json.dumps(simulated.to_dict()))["design"]["blocks"] == 1
