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

from kerncause.data import Kind, read_table
from kerncause.errors import KerncauseError, OptionError
from kerncause.graphs import DAG
from kerncause.simulate import DEFAULTS, KINDS, Bins, Distribution, Function, Mechanism, Settings, simulate
from kerncause.simulate.functions import FAMILIES, draw_function
from kerncause.simulate.graph import random_dag
from kerncause.simulate.mechanism import MOST_DRAWS, draw_mechanism, is_usable

# The graph


@given(st.integers(2, 40), st.floats(0, 1), st.integers(0, 2**32))
def test_graphs_have_exactly_the_edges_asked_for(variables, density, seed):
    dag, order = random_dag(np.random.default_rng(seed), variables, density)
    assert len(dag.edges) == round(density * (variables * (variables - 1) / 2))
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


def twin(simulation, name):
    """One variable again, number by number, from the recorded mechanism, the recorded noise and its parents."""
    mechanism = simulation.mechanisms[name]
    rows = len(simulation.frame)
    sums = [0.0] * rows
    for parent in mechanism.parents:
        for column in simulation.latent[parent].T:
            mean = math.fsum(column) / rows
            deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in column) / rows)
            sums = [s + (v - mean) / deviation for s, v in zip(sums, column, strict=True)]
    formulas = {
        "linear": lambda f, v: f.weight * v,
        "sin": lambda _, v: math.sin(v),
        "cos": lambda _, v: math.cos(v),
        "tanh": lambda _, v: math.tanh(v),
        "exp": lambda _, v: math.exp(v),
        "power": lambda f, v: v**f.exponent,
    }
    f, g, noise = mechanism.inner, mechanism.outer, simulation.noise[name]
    if f is None:
        return noise
    # To 12 digits after each step, as documented: sin(exp(25)) shows the difference.
    sums = [twelve(formulas[f.family](f, twelve(s))) for s in sums]
    return np.array([[formulas[g.family](g, s + e) for e in row] for s, row in zip(sums, noise, strict=True)])


def twin_bins(values, levels):
    edges = np.linspace(values.min(), values.max(), levels + 1)
    return np.digitize(values, edges[1:-1]) + 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_slow_twin_replays_what_was_recorded(kind):
    for seed in range(40):
        simulation = simulate(kind, variables=6, density=0.6, rows=40, seed=seed)
        for name, mechanism in simulation.mechanisms.items():
            assert set(mechanism.parents) == simulation.dag.parents(name)
            again, latent = twin(simulation, name), simulation.latent[name]
            np.testing.assert_allclose(latent, again, rtol=1e-9, atol=1e-9 * np.abs(again).max())
            shown = simulation.frame[list(mechanism.columns)].to_numpy()
            if mechanism.bins is None:
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
        table = simulation.frame.to_numpy(dtype=float)
        assert np.isfinite(table).all()
        deviations = table.std(axis=0)
        assert (deviations > 1e-7 * np.abs(table).max(axis=0)).all()
        farthest = np.abs(table - table.mean(axis=0)).max(axis=0) / deviations
        # One row never makes up more than nine tenths of a column's variance.
        assert (farthest <= min(12, math.sqrt(0.9 * rows)) * (1 + 1e-9)).all()


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
        draw = draw_mechanism(np.random.default_rng(0), blank, summed, most_draws=0, levels=5)
        assert draw.mechanism.outer == Function("rank")
        assert draw.mechanism.redraws == 0
        np.testing.assert_allclose(np.sort(draw.values, axis=0)[:, 0], np.arange(1, 1001) * 2 / 1001 - 1, atol=1e-12)
        assert is_usable(draw.values)
        assert np.bincount(draw.table[:, 0]).tolist() == [0, 200, 200, 200, 200, 200]
        if blank.parents:
            assert draw.values[7].argmax() == 0
            assert (draw.values[7] == draw.values.max(axis=0)).all()


def test_unusable_mechanisms_are_thrown_away_and_counted():
    summed = np.zeros(1000)
    summed[7] = 1e6  # exp overflows, lines and powers leave one outlier: a bounded function must come in between
    draws = [draw_mechanism(np.random.default_rng(s), Mechanism("y", ("y",), ("x",)), summed) for s in range(100)]
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
        expected = Kind.VECTOR if len(mechanism.columns) > 1 else Kind.ORDINAL if mechanism.bins else Kind.CONTINUOUS
        assert variable.kind is expected
        assert variable.columns == mechanism.columns


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
        ({"ratio": 0.5}, r"^ratio \(--ratio\) means nothing for continuous data: leave it out, or ask for mixed data$"),
        ({"kind": "discrete", "ratio": 1.0}, r"^ratio \(--ratio\) means nothing for discrete data"),
        ({"levels": 5}, r"^levels \(--levels\) means nothing for continuous data: .* mixed or discrete data$"),
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
    }
