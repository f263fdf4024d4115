import hashlib
import json
import math
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kstest
from typer.testing import CliRunner

from kerncause.cli import app
from kerncause.data import Kind, read_table
from kerncause.errors import KerncauseError, OptionError
from kerncause.graphs import DAG
from kerncause.simulate import (
    DEFAULTS,
    KINDS,
    Bins,
    Choice,
    Distribution,
    Effects,
    Function,
    Mechanism,
    Settings,
    simulate,
)
from kerncause.simulate.categories import draw_choice, draw_effects
from kerncause.simulate.functions import FAMILIES, draw_function, draw_weight
from kerncause.simulate.graph import random_dag
from kerncause.simulate.mechanism import MOST_DRAWS, Draw, draw_mechanism, is_usable

# The graph


@given(st.integers(2, 40), st.floats(0, 1), st.integers(0, 2**32), st.data())
def test_graphs_have_exactly_the_edges_asked_for(variables, density, seed, data):
    isolated = data.draw(st.sampled_from([0, 1, variables // 2, variables]))
    dag, order = random_dag(np.random.default_rng(seed), variables, density, isolated)
    joined = variables - isolated
    assert len(dag.edges) == round(density * (joined * (joined - 1) / 2))
    assert len({node for edge in dag.edges for node in edge}) <= joined
    assert dag.nodes == tuple(f"x{i}" for i in range(1, variables + 1))
    assert DAG(dag.nodes, dag.edges) == dag  # checked as a user's graph would be: no cycle, no edge twice
    place = {dag.nodes[i]: position for position, i in enumerate(order)}
    assert all(place[a] < place[b] for a, b in dag.edges)


@pytest.mark.parametrize("density", [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
def test_the_papers_densities_give_their_number_of_edges(density):
    assert len(simulate(density=density, rows=20).dag.edges) == round(density * 28)


def test_every_arc_is_equally_likely():
    """One edge among three nodes, 6,000 times: six arcs, each 1,000 times but for chance."""
    counts: dict[tuple[str, str], int] = {}
    for seed in range(6000):
        dag, _ = random_dag(np.random.default_rng(seed), 3, 1 / 3)
        counts[dag.edges[0]] = counts.get(dag.edges[0], 0) + 1
    assert len(counts) == 6
    deviation = math.sqrt(6000 * 1 / 6 * 5 / 6)
    assert all(abs(count - 1000) < 4 * deviation for count in counts.values())


def test_names_do_not_reveal_the_order():
    edges = [edge for seed in range(100) for edge in simulate(density=0.8, rows=5, seed=seed).dag.edges]
    forward = np.mean([int(a[1:]) < int(b[1:]) for a, b in edges])
    assert abs(forward - 0.5) < 0.04


def test_the_graph_is_the_same_for_every_kind_and_number_of_rows():
    graphs = {simulate(kind, rows=rows, seed=4).dag for kind in KINDS for rows in (10, 30)}
    assert len(graphs) == 1
    assert simulate(seed=5).dag not in graphs


def test_hundreds_of_variables():
    simulation = simulate(variables=300, density=0.5, rows=50, seed=1)
    assert simulation.frame.shape == (50, 300)
    assert len(simulation.dag.edges) == 22425
    assert all(is_usable(values) for values in simulation.latent.values())


# The mechanisms


def test_functions_are_equally_likely_with_their_weights_and_exponents():
    generator = np.random.default_rng(0)
    drawn = [draw_function(generator) for _ in range(12_000)]
    expected = {Function(family): 2000 for family in ("sin", "cos", "tanh", "exp")}
    expected |= {Function("linear", weight=w): 1000 for w in (0.5, 2.5)}
    expected |= {Function("power", exponent=a): 2000 / 3 for a in (1, 2, 3)}
    assert set(drawn) == set(expected)
    for function, count in expected.items():
        assert abs(drawn.count(function) - count) < 4.5 * math.sqrt(count)


def test_functions_are_what_their_names_say():
    x = np.array([[-1.5], [0.25], [2.0]])
    for function, formula in [
        (Function("linear", weight=2.5), lambda v: 2.5 * v),
        (Function("sin"), math.sin),
        (Function("cos"), math.cos),
        (Function("tanh"), math.tanh),
        (Function("exp"), math.exp),
        (Function("power", exponent=1), lambda v: v),
        (Function("power", exponent=2), lambda v: v * v),
        (Function("power", exponent=3), lambda v: v**3),
    ]:
        np.testing.assert_allclose(function(x)[:, 0], [formula(v) for v in x[:, 0]], rtol=1e-14)
    np.testing.assert_allclose(Function("rank")(np.array([[5.0], [-1.0], [2.0]]))[:, 0], [0.5, -0.5, 0.0])


def test_every_family_occurs_inside_and_outside():
    mechanisms = [m for seed in range(60) for m in simulate(rows=50, seed=seed).mechanisms.values()]
    assert {m.inner.family for m in mechanisms if m.inner} == set(FAMILIES)
    assert {m.outer.family for m in mechanisms if m.outer} == set(FAMILIES)
    assert {m.noise.family for m in mechanisms if m.noise} == {"normal", "uniform"}
    assert {m.root.family for m in mechanisms if m.root} == {"normal", "uniform"}
    assert all((m.root is None) == bool(m.parents) == (m.inner is not None) for m in mechanisms)
    assert any(m.redraws for m in mechanisms)


def twelve(number):
    return float(f"{number:.12g}")


FORMULAS = {
    "linear": lambda f, v: f.weight * v,
    "sin": lambda _, v: math.sin(v),
    "cos": lambda _, v: math.cos(v),
    "tanh": lambda _, v: math.tanh(v),
    "exp": lambda _, v: math.exp(v),
    "power": lambda f, v: v**f.exponent,
    "fan": lambda _, v: 0.2 + abs(v),
    "rise": lambda _, v: 1.2 + math.tanh(v),
    "wave": lambda _, v: 1.2 + math.sin(v),
}


def slowly(function, numbers):
    # To 12 digits before and after each function, as documented: sin(exp(25)) shows the difference.
    return [twelve(FORMULAS[function.family](function, twelve(v))) for v in numbers]


def added(lists, rows):
    return [math.fsum(numbers) for numbers in zip(*lists, strict=True)] if lists else [0.0] * rows


def standardised(simulation, name):
    columns = []
    for column in simulation.latent[name].T:
        mean = math.fsum(column) / len(column)
        deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in column) / len(column))
        columns.append([(v - mean) / deviation for v in column])
    return added(columns, len(simulation.frame))


def twin(simulation, name):
    """One variable again, number by number, from the recorded mechanism, the recorded noise and its parents."""
    mechanism, noise = simulation.mechanisms[name], simulation.noise[name]
    rows = len(simulation.frame)
    if isinstance(mechanism, Choice):
        return twin_choice(simulation, mechanism, noise)
    if not mechanism.parents:
        return noise
    worth = {effects.parent: effects.numbers for effects in mechanism.effects}
    parents = [
        [worth[p][int(code) - 1] for code in simulation.latent[p][:, 0]] if p in worth else standardised(simulation, p)
        for p in mechanism.parents
    ]
    sums = added(parents, rows)
    if mechanism.terms:
        explained = added([slowly(f, v) for f, v in zip(mechanism.terms, parents, strict=True)], rows)
    else:
        explained = slowly(mechanism.inner, sums)
    scales = slowly(mechanism.scale, sums) if mechanism.scale else [1.0] * rows
    g = mechanism.outer or Function("power", exponent=1)
    return np.array(
        [
            [FORMULAS[g.family](g, s + scale * e) for e in row]
            for s, scale, row in zip(explained, scales, noise, strict=True)
        ]
    )


def twin_choice(simulation, mechanism, noise):
    chosen = []
    for i, row in enumerate(noise):
        utilities = []
        for base, terms, e in zip(mechanism.bases, mechanism.terms, row, strict=True):
            worth = 0.0
            for parent, term in zip(mechanism.parents, terms, strict=True):
                if isinstance(term, Effects):
                    assert term.parent == parent
                    worth += term.numbers[int(simulation.latent[parent][i, 0]) - 1]
                else:
                    worth += slowly(term, [standardised(simulation, parent)[i]])[0]
            utilities.append(base + 2 * worth + e)
        chosen.append([1 + utilities.index(max(utilities))])
    return np.array(chosen)


def twin_bins(values, levels):
    edges = np.linspace(values.min(), values.max(), levels + 1)
    return np.digitize(values, edges[1:-1]) + 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_slow_twin_replays_what_was_recorded(kind):
    for seed in range(5 if kind == "nominal" else 40):
        simulation = simulate(kind, variables=6, density=0.6, rows=40, seed=seed, isolated=seed % 2)
        for name, mechanism in simulation.mechanisms.items():
            assert set(mechanism.parents) == simulation.dag.parents(name)
            again, latent = twin(simulation, name), simulation.latent[name]
            np.testing.assert_allclose(latent, again, rtol=1e-9, atol=1e-9 * np.abs(again).max())
            shown = simulation.frame[list(mechanism.columns)].to_numpy()
            if isinstance(mechanism, Choice):
                assert shown.tolist() == [[f"c{int(code)}"] for (code,) in latent]
            elif mechanism.bins is None:
                np.testing.assert_array_equal(shown, latent)
            else:
                np.testing.assert_array_equal(shown, twin_bins(latent, mechanism.bins.levels))


def test_roots_follow_their_distributions():
    simulation = simulate(variables=12, density=0, rows=20_000, seed=3)
    families = set()
    for name, mechanism in simulation.mechanisms.items():
        x, family = simulation.frame[name].to_numpy(), mechanism.root.family
        families.add(family)
        variance, fourth = {"normal": (1, 3), "uniform": (1 / 3, 1 / 5)}[family]
        assert abs(x.mean()) < 5 * math.sqrt(variance / len(x))
        assert abs(np.mean(x**2) - variance) < 5 * math.sqrt((fourth - variance**2) / len(x))
        assert abs(np.mean(x**4) / fourth - 1) < 0.15
        assert (np.abs(x).max() <= 1) == (family == "uniform")
    assert families == {"normal", "uniform"}
    correlations = np.corrcoef(simulation.frame.to_numpy().T) - np.eye(12)
    assert np.abs(correlations).max() < 5 / math.sqrt(20_000)


@pytest.mark.parametrize(("reading", "variance"), [("variance", 0.5), ("deviation", 0.25)])
def test_noise_has_the_variance_of_its_reading(reading, variance):
    simulation = simulate(variables=8, density=1, rows=20_000, seed=2, noise=reading)
    expected = {"normal": variance, "uniform": 1 / 12}
    seen = set()
    for name, mechanism in simulation.mechanisms.items():
        if mechanism.noise:
            seen.add(mechanism.noise.family)
            e = simulation.noise[name]
            assert abs(e.mean()) < 0.03
            assert abs(e.var() / expected[mechanism.noise.family] - 1) < 0.06
            assert mechanism.noise.family == "normal" or np.abs(e).max() <= 0.5
    assert seen == {"normal", "uniform"}


# What every table keeps to


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_finite_vary_and_have_no_far_outlier(kind):
    for seed in range(500):
        rows = (12, 30, 200)[seed % 3]
        simulation = simulate(kind, variables=5, density=(0.2, 0.5, 0.8, 1)[seed % 4], rows=rows, seed=seed)
        if kind == "nominal":
            simulation.frame[:] = simulation.frame.replace(r"^c", "", regex=True)
        table = simulation.frame.to_numpy(dtype=float)
        assert np.isfinite(table).all()
        deviations = table.std(axis=0)
        assert (deviations > 1e-7 * np.abs(table).max(axis=0)).all()
        farthest = np.abs(table - table.mean(axis=0)).max(axis=0) / deviations
        # One row never makes up more than nine tenths of a column's variance.
        limit = math.inf if kind == "heavy-tailed" else 12
        assert (farthest <= min(limit, math.sqrt(0.9 * rows)) * (1 + 1e-9)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_two_rows_of_two_variables_are_enough(kind):
    for seed in range(50):
        simulation = simulate(kind, variables=2, density=1, rows=2, seed=seed)
        assert (simulation.frame.nunique() == 2).all()
        assert simulation.dataset.n_rows == 2


def test_a_mechanism_that_never_does_falls_back_to_ranks():
    """A parent sum of one outlier, and no attempt allowed: the column is still an even spread."""
    summed = np.zeros(1000)
    summed[7] = 1e6
    for blank in (Mechanism("x1", ("x1_1", "x1_2"), ("x2",)), Mechanism("x1", ("x1_1", "x1_2"), ())):
        draw = draw_mechanism(np.random.default_rng(0), blank, summed[:, None], most_draws=0, levels=5)
        assert draw.mechanism.outer == Function("rank")
        assert draw.mechanism.redraws == 0
        np.testing.assert_allclose(np.sort(draw.values, axis=0)[:, 0], np.arange(1, 1001) * 2 / 1001 - 1, atol=1e-12)
        assert is_usable(draw.values)
        assert np.bincount(draw.table["x1_1"]).tolist() == [0, 200, 200, 200, 200, 200]
        if blank.parents:
            assert draw.values[7].argmax() == 0
            assert (draw.values[7] == draw.values.max(axis=0)).all()


def test_unusable_mechanisms_are_thrown_away_and_counted():
    summed = np.zeros(1000)
    summed[7] = 1e6  # exp overflows, lines and powers leave one outlier: a bounded function must come in between
    draws = [
        draw_mechanism(np.random.default_rng(s), Mechanism("y", ("y",), ("x",)), summed[:, None]) for s in range(100)
    ]
    assert all(is_usable(draw.values) for draw in draws)
    assert all({draw.mechanism.inner.family, draw.mechanism.outer.family} & {"sin", "cos", "tanh"} for draw in draws)
    assert 0 < sum(draw.mechanism.redraws for draw in draws) < 100 * MOST_DRAWS


@pytest.mark.parametrize(
    "column",
    [
        [1.0, np.inf, 0.0],
        [1.0, np.nan, 0.0],
        [0.0, 0.0, 0.0],
        [3.0, 3.0, 3.0],
        [1.0, 1.0 + 1e-9, 1.0],
        [0.0] * 199 + [1.0],
        [0.0] * 19 + [1e300],
    ],
)
def test_what_cannot_be_used(column):
    good = np.linspace(-1, 1, len(column))
    assert is_usable(good[:, None])
    assert not is_usable(np.array(column)[:, None])
    assert not is_usable(np.column_stack([good, column]))


# Mixed, discrete, multidimensional


@pytest.mark.parametrize(("levels", "choices"), [(5, {5}), (20, {20}), (2, {2}), (33, {33}), ((5, 20), {5, 20})])
def test_discretised_columns_run_from_one_to_their_levels(levels, choices):
    seen = set()
    for seed in range(20):
        simulation = simulate("discrete", rows=300, seed=seed, levels=levels)
        for name, mechanism in simulation.mechanisms.items():
            column = simulation.frame[name]
            assert column.dtype == np.int64
            assert column.min() == 1
            assert column.max() == mechanism.bins.levels
            seen.add(mechanism.bins.levels)
            assert (mechanism.bins.low, mechanism.bins.high) == (
                simulation.latent[name].min(),
                simulation.latent[name].max(),
            )
    assert seen == choices


@pytest.mark.parametrize("ratio", [0, 0.25, 0.5, 0.7, 1])
def test_the_ratio_of_mixed_data(ratio):
    chosen = set()
    for seed in range(30):
        simulation = simulate("mixed", rows=30, seed=seed, ratio=ratio)
        binned = [name for name, mechanism in simulation.mechanisms.items() if mechanism.bins]
        assert len(binned) == round(ratio * 8)
        assert [column for column, kind in simulation.kinds.items() if kind == "ordinal"] == binned
        chosen.add(tuple(binned))
    assert (len(chosen) == 1) == (ratio in (0, 1))


def test_children_of_discretised_variables_follow_from_the_values_before():
    """The twin above uses `latent`; here, that it differs from what the table shows."""
    simulation = simulate("discrete", rows=100, seed=1)
    parent, child = simulation.dag.edges[0]
    assert len(np.unique(simulation.latent[parent])) == 100
    assert simulation.frame[parent].nunique() <= 5
    assert len(simulation.latent[child]) == 100


def test_bins_have_equal_widths():
    bins = Bins(-1.0, 1.0, 4)
    assert bins.codes(np.array([-1.0, -0.51, -0.5, -0.01, 0.0, 0.49, 0.5, 1.0])).tolist() == [1, 1, 2, 2, 3, 3, 4, 4]


@pytest.mark.parametrize("max_columns", [1, 2, 5])
def test_vectors_have_one_to_so_many_columns(max_columns):
    widths = set()
    for seed in range(15):
        simulation = simulate("multidimensional", rows=25, seed=seed, max_columns=max_columns)
        for name, mechanism in simulation.mechanisms.items():
            width = len(mechanism.columns)
            widths.add(width)
            assert simulation.latent[name].shape == simulation.noise[name].shape == (25, width)
            assert mechanism.columns == ((name,) if width == 1 else tuple(f"{name}_{k + 1}" for k in range(width)))
            assert simulation.groups.get(name) == (list(mechanism.columns) if width > 1 else None)
        columns = [column for mechanism in simulation.mechanisms.values() for column in mechanism.columns]
        assert list(simulation.frame.columns) == columns
        assert simulation.dataset.names == simulation.dag.nodes
    assert widths == set(range(1, max_columns + 1))


def test_every_column_of_a_vector_has_its_own_noise():
    simulation = simulate("multidimensional", rows=5000, density=0.8, seed=2)
    for noise in simulation.noise.values():
        if noise.shape[1] > 1:
            correlations = np.corrcoef(noise.T) - np.eye(noise.shape[1])
            assert np.abs(correlations).max() < 5 / math.sqrt(5000)


@pytest.mark.parametrize("kind", KINDS)
def test_the_dataset_has_the_kinds_that_were_simulated(kind):
    simulation = simulate(kind, rows=60, seed=6)
    data = simulation.dataset
    assert data.names == simulation.dag.nodes
    for variable in data.variables:
        mechanism = simulation.mechanisms[variable.name]
        expected = Kind.CONTINUOUS
        if isinstance(mechanism, Choice):
            expected = Kind.CATEGORICAL
        elif mechanism.bins:
            expected = Kind.ORDINAL
        assert variable.kind is (Kind.VECTOR if len(mechanism.columns) > 1 else expected)
        assert variable.columns == mechanism.columns


# Kinds that the paper does not have


@given(
    st.sampled_from(list(KINDS)),
    st.integers(2, 12),
    st.floats(0, 1),
    st.integers(2, 60),
    st.integers(0, 2**32),
    st.floats(0, 1),
)
def test_every_kind_gives_tables_that_can_be_used(kind, variables, density, rows, seed, share):
    isolated = int(share * variables)
    simulation = simulate(kind, variables, density, rows, seed, isolated=isolated)
    assert len(simulation.frame) == rows
    assert (simulation.frame.nunique() > 1).all()
    data = simulation.dataset  # which refuses what is constant or not finite
    assert (data.n_rows, data.names) == (rows, simulation.dag.nodes)
    declared = {v.name: "vector" if len(v.columns) > 1 else simulation.kinds[v.columns[0]] for v in data.variables}
    assert {v.name: v.kind.value for v in data.variables} == declared
    assert isolated <= sum(not m.parents for m in simulation.mechanisms.values())
    assert simulate(**json.loads(json.dumps(simulation.truth()))["settings"]).to_csv() == simulation.to_csv()


@pytest.mark.parametrize("kind", ["continuous", "nominal", "linear"])
def test_isolated_variables_are_independent_of_all_others(kind):
    rows = 4000
    simulation = simulate(kind, variables=8, density=1, rows=rows, seed=5, isolated=4)
    joined = {node for edge in simulation.dag.edges for node in edge}
    alone = set(simulation.dag.nodes) - joined
    assert (len(joined), len(alone), len(simulation.dag.edges)) == (4, 4, 6)
    ranks = pd.DataFrame({name: values[:, 0] for name, values in simulation.latent.items()}).rank()
    correlations = ranks.corr().abs() - np.eye(8)
    assert correlations.loc[sorted(alone)].to_numpy().max() < 5 / math.sqrt(rows)
    assert correlations.loc[sorted(joined), sorted(joined)].to_numpy().max() > 0.2
    assert all(not simulation.mechanisms[name].parents for name in alone)


def test_linear_data_are_linear_and_gaussian():
    rows = 20_000
    simulation = simulate("linear", variables=8, density=0.6, rows=rows, seed=1)
    for name, mechanism in simulation.mechanisms.items():
        x = simulation.frame[name].to_numpy()
        if not mechanism.parents:
            assert mechanism.root == Distribution("normal", 1.0)
            continue
        parents = simulation.frame[list(mechanism.parents)]
        parents = ((parents - parents.mean()) / parents.std(ddof=0)).to_numpy()
        weights, *_ = np.linalg.lstsq(parents, x, rcond=None)
        np.testing.assert_allclose(weights, [f.weight for f in mechanism.terms], atol=0.1)
        residuals = x - parents @ weights
        assert abs(residuals.var() - 1) < 0.06
        assert abs(np.mean(residuals**4) - 3) < 0.3  # as of a normal
        # Independent, not only uncorrelated: squares and cubes know nothing of each other either.
        for one in (residuals, residuals**2):
            for other in (parents**2, parents**3, np.sin(3 * parents)):
                assert np.abs(np.corrcoef(np.column_stack([one, other]).T)[0, 1:]).max() < 0.045


def test_weights_are_away_from_zero():
    generator = np.random.default_rng(0)
    weights = np.array([draw_weight(generator) for _ in range(2000)])
    assert (np.abs(weights) >= 0.5).all()
    assert (np.abs(weights) <= 1.5).all()
    assert abs(np.mean(weights > 0) - 0.5) < 0.05
    assert abs(np.abs(weights).mean() - 1) < 0.03


def test_the_scale_of_heteroscedastic_noise_follows_from_the_parents():
    simulation = simulate("heteroscedastic", variables=10, density=0.4, rows=5000, seed=2)
    families = set()
    for name, mechanism in simulation.mechanisms.items():
        if mechanism.parents:
            families.add(mechanism.scale.family)
            sums = np.array(added([standardised(simulation, p) for p in mechanism.parents], 5000))
            scale = mechanism.scale(sums)
            residuals = simulation.latent[name][:, 0] - mechanism.inner(sums)
            assert scale.min() >= 0.2
            assert np.quantile(scale, 0.9) > 2 * np.quantile(scale, 0.1)
            assert np.corrcoef(np.abs(residuals), scale)[0, 1] > 0.3
            assert abs(np.corrcoef(np.abs(residuals / scale), scale)[0, 1]) < 5 / math.sqrt(5000)
    assert families == {"fan", "rise", "wave"}


def test_heavy_tails_are_those_of_t():
    seen = set()
    for degrees in (2, 3):
        drawn = Distribution("t", 0.5, degrees).draw(np.random.default_rng(degrees), (5000, 2))
        assert kstest(drawn.ravel() / 0.5, "t", args=(degrees,)).pvalue > 0.01
    simulation = simulate("heavy-tailed", variables=20, density=0.1, rows=2000, seed=1)
    for name, mechanism in simulation.mechanisms.items():
        law = mechanism.noise or mechanism.root
        assert (law.family, law.spread) == ("t", 0.5 if mechanism.parents else 1.0)
        seen.add((bool(mechanism.parents), law.degrees))
        noise = simulation.noise[name][:, 0]
        assert np.mean((noise / noise.std()) ** 4) > 6  # a normal has 3
    assert len(seen) == 4


def test_additive_data_add_one_function_for_each_parent():
    simulation = simulate("additive", variables=10, density=0.8, rows=50, seed=1)
    families = set()
    for mechanism in simulation.mechanisms.values():
        assert len(mechanism.terms) == len(mechanism.parents)
        assert mechanism.outer is mechanism.inner is None
        assert mechanism.noise is None or mechanism.noise.family == "normal"
        families |= {f.family for f in mechanism.terms}
    assert families == set(FAMILIES)


def test_categories_carry_no_order_and_matter():
    """Over many parents, what a category is worth neither grows nor falls with its number, and it varies."""
    slopes, worth = [], []
    for seed in range(150):
        simulation = simulate("nominal", variables=6, density=0.6, rows=30, seed=seed)
        for mechanism in simulation.mechanisms.values():
            terms = [t for terms in mechanism.terms for t in terms] if isinstance(mechanism, Choice) else []
            for effects in [*getattr(mechanism, "effects", ()), *(t for t in terms if isinstance(t, Effects))]:
                numbers = np.array(effects.numbers)
                assert len(numbers) == simulation.mechanisms[effects.parent].levels
                worth.append(numbers.std())
                slopes.append(np.corrcoef(numbers, np.arange(len(numbers)))[0, 1])
    assert len(slopes) > 1000
    assert abs(np.mean(slopes)) < 4 * np.std(slopes) / math.sqrt(len(slopes))
    assert np.mean(np.abs(slopes) > 0.9) < 0.35  # of three categories a third is in order by chance
    assert min(worth) > 0.4


def test_values_of_categories_have_no_monotone_effect_on_average():
    """As a reader of the table sees it: the mean of a child by the number of its parent's category."""
    slopes, shares = [], []
    for seed in range(200):
        simulation = simulate("nominal", variables=4, density=0.5, rows=300, seed=seed)
        for parent, child in simulation.dag.edges:
            cause, effect = (simulation.mechanisms[name] for name in (parent, child))
            if isinstance(cause, Choice) and not isinstance(effect, Choice) and len(effect.parents) == 1:
                codes, x = simulation.latent[parent][:, 0], simulation.latent[child][:, 0]
                slopes.append(np.corrcoef(codes, x)[0, 1])
                means = pd.Series(x).groupby(codes).transform("mean")
                shares.append(means.var(ddof=0) / x.var())
    assert len(slopes) > 50
    assert abs(np.mean(slopes)) < 3 * np.std(slopes) / math.sqrt(len(slopes))
    assert np.mean(np.square(slopes)) < 0.7 * np.mean(shares)  # a line misses much of what categories explain
    assert np.mean(shares) > 0.2


def test_categories_follow_from_their_parents():
    """A choice is a softmax: the shares of categories given a parent's category are those of the formula."""
    simulation = simulate("nominal", variables=2, density=1, rows=60_000, seed=3, ratio=1.0)
    ((parent, child),) = simulation.dag.edges
    choice = simulation.mechanisms[child]
    codes = {name: simulation.latent[name][:, 0].astype(int) for name in (parent, child)}
    for level in range(1, simulation.mechanisms[parent].levels + 1):
        mine = codes[child][codes[parent] == level]
        utilities = np.array(choice.bases) + 2 * np.array([t[0].numbers[level - 1] for t in choice.terms])
        expected = np.exp(utilities) / np.exp(utilities).sum()
        shares = np.bincount(mine, minlength=choice.levels + 1)[1:] / len(mine)
        np.testing.assert_allclose(shares, expected, atol=4.5 * math.sqrt(0.25 / len(mine)))


def test_nominal_data_are_as_declared():
    counts = []
    for seed in range(30):
        simulation = simulate("nominal", rows=200, seed=seed)
        names = [name for name, kind in simulation.kinds.items() if kind == "categorical"]
        assert len(names) == 4
        for name in names:
            levels = simulation.mechanisms[name].levels
            counts.append(levels)
            assert set(simulation.frame[name]) == {f"c{k}" for k in range(1, levels + 1)}
            assert simulation.frame[name].value_counts(normalize=True).max() <= 0.9
    assert set(counts) == {3, 4, 5, 6}
    assert simulate("nominal", rows=30, ratio=1.0, levels=2).dataset.n_rows == 30


def test_a_choice_that_never_does_falls_back_to_ranks():
    parent = Draw(Mechanism("x2", ("x2",), ()), np.zeros((90, 1)), np.linspace(-1, 1, 90)[:, None])
    blank = Mechanism("x1", ("x1",), ("x2",))
    draw = draw_choice(np.random.default_rng(0), blank, [parent], 3, 90, most_draws=0)
    assert draw.mechanism.ranked
    assert np.bincount(draw.values[:, 0].astype(int)).tolist() == [0, 30, 30, 30]
    assert str(draw.mechanism) == "x1 one of 3 categories given x2, ranked"


def test_effects_are_looked_up():
    effects = Effects("x2", (0.5, -1.0, 2.0))
    assert effects(np.array([[3.0], [1.0], [2.0]])).tolist() == [2.0, 0.5, -1.0]
    drawn = draw_effects(np.random.default_rng(0), Choice("x2", ("x2",), (), (0.0,) * 5, ((),) * 5))
    assert drawn.parent == "x2"
    assert len(set(drawn.numbers)) == 5


# The same seed, the same bytes

SCRIPT = """
import hashlib
from kerncause.simulate import KINDS, simulate
for kind in KINDS:
    print(hashlib.sha256(simulate(kind, rows=50, seed=11).to_csv().encode()).hexdigest())
"""


def test_two_processes_write_the_same_bytes():
    outputs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": salt},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for salt in ("1", "2")
    ]
    assert outputs[0] == outputs[1]
    assert len(set(outputs[0].split())) == len(KINDS)


def test_the_global_generator_neither_matters_nor_moves():
    np.random.seed(1)  # noqa: NPY002
    first = simulate(seed=3).to_csv()
    assert np.random.random() == np.random.RandomState(1).random()  # noqa: NPY002
    np.random.seed(2)  # noqa: NPY002
    assert simulate(seed=3).to_csv() == first
    assert simulate(seed=4).to_csv() != first


# Numbers are kept to 12 digits, so that libraries of elementary functions that differ in the 16th agree here.
PINNED = {
    "continuous": "c35b3365d16fb900ba83813f134ce82a46833c1b1ae709ce3b8482ef426b8eb4",
    "mixed": "cdd7cbdf6808fb735876e37065a2718f5b456c0510b0c45096ccb5bbbf11845c",
    "discrete": "9c001642e6cf5a03b5372657ea82d9b259db7bfd6440a39b56b2b02f951ef330",
    "multidimensional": "3f09a90a527fe016d6cd1924895d8d0ca92a8103cbd8d2d7f1e4ccf60c5d0033",
    "nominal": "eb970250d7bef28fb810fb4e4300adfb07de12a0bfc373c6650c9e62c76fb3a0",
    "heteroscedastic": "97e11708091958f50432aafb730ee96759f7ab49a62034889370770fea9cacf9",
    "heavy-tailed": "b0ff5d3a9f27887675f35b6edece8b56d5b37c7cf25aa935b60af6230e8edeb8",
    "linear": "5630551974f68e3af229c5a5d3e5f443b1c822fa70e1273f25c7007186d808e0",
    "additive": "b131c6b4c298473a40aef138d64d72f06ead2b92ae588d243937f48b079151bf",
}


@pytest.mark.parametrize("kind", KINDS)
def test_tables_stay_what_they_were(kind):
    text = simulate(kind, variables=4, density=0.5, rows=10, seed=7).to_csv()
    assert hashlib.sha256(text.encode()).hexdigest() == PINNED[kind]


def test_numbers_have_twelve_digits():
    lines = simulate(rows=30, seed=1).to_csv().splitlines()[1:]
    cells = [cell for line in lines for cell in line.split(",")]
    assert all(float(f"{float(cell):.12g}") == float(cell) for cell in cells)
    assert any(len(cell.lstrip("-0.")) >= 12 for cell in cells)


# Files


@pytest.mark.parametrize("kind", KINDS)
def test_files_hold_the_table_and_the_truth(kind, tmp_path):
    simulation = simulate(kind, rows=80, seed=9)
    place = simulation.save(tmp_path / "new" / "place")
    assert sorted(file.name for file in place.iterdir()) == ["data.csv", "truth.json"]
    assert (place / "data.csv").read_bytes() == simulation.to_csv().encode()
    truth = json.loads((place / "truth.json").read_text())
    assert truth == json.loads(json.dumps(simulation.truth()))
    assert truth["seed"] == 9
    assert DAG(truth["nodes"], [(e["source"], e["target"]) for e in truth["edges"]]) == simulation.dag
    assert set(truth["mechanisms"]) == set(truth["nodes"])
    again = read_table(place / "data.csv", kinds=truth["kinds"], groups=truth["groups"])
    assert again.hash == simulation.dataset.hash
    assert simulate(**truth["settings"]).to_csv() == simulation.to_csv()


def test_mechanisms_in_the_truth_say_what_was_drawn():
    simulation = simulate("mixed", rows=50, seed=3)
    for name, written in simulation.truth()["mechanisms"].items():
        mechanism = simulation.mechanisms[name]
        assert written["parents"] == mechanism.parents
        assert written["redraws"] == mechanism.redraws
        assert (written["bins"] or {}).get("levels") == (mechanism.bins.levels if mechanism.bins else None)
        if mechanism.inner:
            assert Function(**written["inner"]) == mechanism.inner
            assert Function(**written["outer"]) == mechanism.outer
            assert Distribution(**written["noise"]) == mechanism.noise


def test_formulas_can_be_read():
    half, cube = Function("linear", weight=0.5), Function("power", exponent=3)
    noise = Distribution("normal", math.sqrt(0.5))
    mechanism = Mechanism("x1", ("x1",), ("x2", "x4"), None, half, cube, noise, bins=Bins(0, 1, 5))
    assert str(mechanism) == "x1 = (0.5 (x2 + x4) + e)^3, e normal with variance 0.5, in 5 bins"
    root = Mechanism("x2", ("x2",), (), Distribution("uniform", 1.0))
    assert str(root) == "x2 uniform on [-1, 1]"
    waves = Mechanism("x3", ("x3",), ("x2",), None, Function("sin"), Function("exp"), Distribution("uniform", 0.5))
    assert str(waves) == "x3 = exp(sin(x2) + e), e uniform on [-0.5, 0.5]"
    plain = Mechanism("x1", ("x1",), ("x2", "x4"), inner=Function("sin"), noise=Distribution("t", 0.5, 3))
    assert str(plain) == "x1 = sin(x2 + x4) + e, e t with 3 degrees of freedom, times 0.5"
    scaled = Mechanism("x1", ("x1",), ("x2", "x4"), None, Function("sin"), None, noise, scale=Function("rise"))
    assert str(scaled) == "x1 = sin(x2 + x4) + (1.2 + tanh(x2 + x4)) e, e normal with variance 0.5"
    terms = Mechanism("x1", ("x1",), ("x2", "x4"), noise=noise, terms=(half, Function("cos")))
    assert str(terms) == "x1 = 0.5 (x2) + cos(x4) + e, e normal with variance 0.5"
    worth = Mechanism("x1", ("x1",), ("x2", "x4"), None, half, cube, noise, effects=(Effects("x4", (1.0, -1.0)),))
    assert str(worth) == "x1 = (0.5 (x2 + worth of x4) + e)^3, e normal with variance 0.5"
    assert repr(simulate(rows=20, seed=3)) == "Simulation(continuous, 20 rows, 8 variables, 11 edges, seed 3)"


def test_all_files_or_none(tmp_path):
    simulation = simulate(rows=20)
    (tmp_path / "truth.json").mkdir()
    with pytest.raises(OptionError, match=r"^truth\.json in '.*' is a directory"):
        simulation.save(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["truth.json"]
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="is a file"):
        simulation.save(tmp_path / "file")
    with pytest.raises(KerncauseError, match="cannot write"):
        simulation.save(tmp_path / "file" / "below")


def test_arrays_cannot_be_changed_by_mistake():
    simulation = simulate(rows=20)
    for array in (*simulation.noise.values(), *simulation.latent.values()):
        assert not array.flags.writeable
    simulation.frame.iloc[0, 0] = 5.0  # the frame is the user's own copy
    assert simulation.latent["x1"][0, 0] != 5.0


def test_the_command_line_draws_every_kind(tmp_path):
    words = ["simulate", "--kind", "nominal", "--isolated", "2", "--rows", "50", "--seed", "4", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    drawn = simulate("nominal", rows=50, seed=4, isolated=2)
    assert (tmp_path / "data.csv").read_text() == drawn.to_csv()
    assert "kerncause discover" in done.output
    assert "--kind" not in done.output  # the file is read as it was drawn
    too_many = CliRunner().invoke(app, [*words, "--isolated", "9"])
    assert too_many.exit_code == 1
    assert "there are 8 variables" in too_many.output


# Bad input


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"density": 1.4}, r"^density \(--density\) cannot be 1.4: give a number from 0 to 1$"),
        ({"density": -0.1}, r"^density \(--density\) cannot be -0.1"),
        ({"density": float("nan")}, r"^density \(--density\) cannot be nan"),
        ({"density": "0.4"}, r"^density \(--density\) cannot be 0.4"),
        ({"density": None}, r"^density \(--density\) cannot be None"),
        ({"density": True}, r"^density \(--density\) cannot be True"),
        ({"rows": 1}, r"^rows \(--rows\) cannot be 1: give a whole number, 2 or more$"),
        ({"rows": 20.0}, r"^rows \(--rows\) cannot be 20.0"),
        ({"rows": True}, r"^rows \(--rows\) cannot be True"),
        ({"variables": 1}, r"^variables \(--variables\) cannot be 1: give a whole number, 2 or more$"),
        ({"variables": None}, r"^variables \(--variables\) cannot be None"),
        ({"seed": -1}, r"^seed \(--seed\) cannot be -1: give a whole number, 0 or more$"),
        ({"seed": "a\nb"}, r"^seed \(--seed\) cannot be a\\nb"),
        ({"kind": "binary"}, r"^kind \(--kind\) cannot be 'binary': the choices are continuous, mixed, discrete, mult"),
        ({"kind": ["mixed"]}, r"^kind \(--kind\) cannot be"),
        ({"noise": "sd"}, r"^noise \(--noise\) cannot be 'sd': the choices are variance, deviation$"),
        ({"kind": "mixed", "ratio": 1.01}, r"^ratio \(--ratio\) cannot be 1.01: give a number from 0 to 1$"),
        ({"kind": "mixed", "levels": 1}, r"^levels \(--levels\) cannot be 1: give a whole number, 2 or more$"),
        ({"kind": "discrete", "levels": [5, 1]}, r"^levels \(--levels\) cannot be 1: "),
        ({"kind": "discrete", "levels": []}, r"^levels \(--levels\) cannot be an empty list"),
        ({"kind": "discrete", "levels": "20"}, r"^levels \(--levels\) cannot be 20: give a whole number"),
        ({"kind": "multidimensional", "max_columns": 0}, r"^max_columns \(--max-columns\) cannot be 0"),
        (
            {"ratio": 0.5},
            r"^ratio \(--ratio\) means nothing for continuous data: leave .* ask for mixed or nominal data$",
        ),
        ({"kind": "discrete", "ratio": 1.0}, r"^ratio \(--ratio\) means nothing for discrete data"),
        (
            {"levels": 5},
            r"^levels \(--levels\) means nothing for continuous data: .* or discrete or nominal data$",
        ),
        ({"isolated": -1}, r"^isolated \(--isolated\) cannot be -1: give a whole number, 0 or more$"),
        ({"isolated": 9}, r"^isolated \(--isolated\) cannot be 9: there are 8 variables \(--variables\)$"),
        ({"isolated": None}, r"^isolated \(--isolated\) cannot be None"),
        ({"kind": "linear", "noise": "deviation"}, r"^noise \(--noise\) means nothing for linear data: leave it out$"),
        ({"kind": "heavy-tailed", "noise": "deviation"}, r"^noise \(--noise\) means nothing for heavy-tailed data"),
        ({"kind": "linear", "levels": 3}, r"^levels \(--levels\) means nothing for linear data"),
        ({"kind": "nominal", "levels": 1}, r"^levels \(--levels\) cannot be 1"),
        ({"kind": "mixed", "max_columns": 5}, r"^max_columns \(--max-columns\) means nothing for mixed data"),
    ],
)
def test_what_cannot_be_simulated_is_refused_by_name(options, message):
    with pytest.raises(OptionError, match=message):
        simulate(**options)


def test_numbers_of_numpy_are_taken():
    plain = simulate("mixed", 5, 0.5, 30, 2, ratio=0.4, levels=4)
    numpy = simulate(
        "mixed", np.int64(5), np.float64(0.5), np.int32(30), np.uint8(2), ratio=np.float64(0.4), levels=np.int64(4)
    )
    pd.testing.assert_frame_equal(plain.frame, numpy.frame)
    assert json.dumps(plain.truth()) == json.dumps(numpy.truth())


def test_settings_fill_in_what_was_left_out():
    assert Settings("nominal", 8, 0.4, 200, 0).levels == (3, 4, 5, 6)
    assert Settings("mixed", 8, 0.4, 200, 0).ratio == DEFAULTS["ratio"] == 0.5
    assert Settings("discrete", 8, 0.4, 200, 0).levels == DEFAULTS["levels"] == 5
    assert Settings("multidimensional", 8, 0.4, 200, 0).max_columns == DEFAULTS["max_columns"] == 5
    assert Settings("continuous", 8, 0.4, 200, 0).as_json() == {
        "kind": "continuous",
        "variables": 8,
        "density": 0.4,
        "rows": 200,
        "seed": 0,
        "ratio": None,
        "levels": None,
        "noise": "variance",
        "max_columns": None,
        "isolated": 0,
    }
