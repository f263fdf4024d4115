"""What can be said about the baselines without their libraries; tests/baselines runs the real ones."""

import math
import os
import re
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from kerncause.baselines import BASELINES, find_baseline, pace, process, run_baseline, thresholded, without_cycles
from kerncause.baselines.dibs import _piece
from kerncause.baselines.exchange import Answer, Request
from kerncause.baselines.process import _obituary, command, computed, environment
from kerncause.baselines.registry import chosen, outcome_of
from kerncause.baselines.table import table_for
from kerncause.data import Dataset
from kerncause.errors import ComputationError, DataError, OptionError
from kerncause.graphs import DAG

DOCUMENT = Path(__file__).parent.parent / "docs" / "baselines.md"
ROWS = 40


def frame(**columns):
    rng = np.random.default_rng(0)
    plain = {"size": 5 + 3 * rng.normal(size=ROWS), "weight": rng.normal(size=ROWS)}
    return pd.DataFrame(plain | columns)


def mixed(**options):
    rng = np.random.default_rng(1)
    return Dataset.from_frame(
        frame(
            grade=rng.integers(1, 6, size=ROWS),
            dose=rng.choice(["low", "avg", "high"], size=ROWS),
            sex=rng.choice(["f", "m"], size=ROWS),
        ),
        levels={"dose": ["low", "avg", "high"]},
        **options,
    )


def children():
    """The processes this one started and has not waited for, zombies included."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == os.getpid():
            found.add(int(status.parent.name))
    return found


@st.composite
def weights(draw, most=7):
    size = draw(st.integers(2, most))
    # Few different values, so that ties are common.
    values = st.sampled_from([0.0, 0.0, 0.0, -1.5, -0.5, 0.5, 1.0, 1.5, 2.5])
    matrix = draw(hnp.arrays(np.float64, (size, size), elements=values))
    return thresholded(matrix, 0.0)


def graph_of(matrix):
    return nx.from_numpy_array(matrix != 0.0, create_using=nx.DiGraph)


# The table


def test_continuous_columns_are_standardised_and_ordinal_ones_coded():
    data = mixed()
    table = dict(zip(data.canonical, table_for("notears", data).T, strict=True))
    for name in ("size", "weight"):
        assert table[name].mean() == pytest.approx(0, abs=1e-12)
        assert table[name].std() == pytest.approx(1)
    assert set(table["grade"]) == {1, 2, 3, 4, 5}
    assert set(table["dose"]) == {1, 2, 3}
    assert set(table["sex"]) == {1, 2}


def test_rows_that_are_counted_are_told_out_again():
    codes = np.array([[1, 2], [1, 2], [1, 2], [2, 1], [2, 1], [2, 2]])
    data = Dataset.from_array(codes).compact
    assert data.weights is not None
    table = table_for("notears", data)[:, [data.canonical.index(name) for name in ("x1", "x2")]]
    assert sorted(map(tuple, table)) == sorted(map(tuple, codes))


def test_the_table_does_not_depend_on_the_order_of_columns_or_rows():
    rows = frame()
    shuffled = rows.sample(frac=1, random_state=3)[["weight", "size"]]
    one, other = Dataset.from_frame(rows), Dataset.from_frame(shuffled)
    assert np.array_equal(table_for("notears", one), table_for("notears", other))


@pytest.mark.parametrize("method", BASELINES)
def test_unordered_categories_are_refused(method):
    data = Dataset.from_frame(frame(colour=np.resize(["red", "green", "blue"], ROWS)))
    with pytest.raises(DataError, match=rf"'colour' is categorical with 3 values.*{method}.*learned.*bdeu"):
        run_baseline(method, data)


@pytest.mark.parametrize("method", BASELINES)
def test_vectors_are_refused(method):
    data = Dataset.from_frame(frame(u=np.arange(ROWS) / 7), groups={"place": ["size", "u"]})
    with pytest.raises(DataError, match=rf"'place' is a vector \(2 columns\).*{method}.*learned"):
        run_baseline(method, data)


@pytest.mark.parametrize("method", BASELINES)
def test_missing_values_are_refused(method):
    gaps = frame()
    gaps.loc[3, "weight"] = np.nan
    data = Dataset.from_frame(gaps, missing="testwise")
    with pytest.raises(DataError, match=rf"'weight' lacks values.*{method}.*--missing drop"):
        run_baseline(method, data)


# The options


def test_an_unknown_baseline_is_refused():
    with pytest.raises(OptionError, match="no baseline 'noteers': the choices are notears, notears-mlp, dag-gnn, dibs"):
        run_baseline("noteers", mixed())


@pytest.mark.parametrize("method", BASELINES)
def test_unknown_settings_are_named(method):
    with pytest.raises(OptionError, match=rf"{method} has no setting 'lambda7' and 'rho': what can be set is .*"):
        run_baseline(method, mixed(), lambda7=1, rho=2)


@pytest.mark.parametrize(
    ("method", "name", "value", "cure"),
    [
        ("notears", "lambda1", -0.1, "a number of at least 0"),
        ("notears", "lambda1", "much", "a number of at least 0"),
        ("notears", "lambda1", math.nan, "a number of at least 0"),
        ("notears", "lambda1", True, "a number of at least 0"),
        ("notears", "rho_max", 1.0, "a number above 1"),
        ("notears", "loss", "l1", "the choices are l2"),
        ("notears-mlp", "hidden", 2.5, "a whole number of at least 1"),
        ("dag-gnn", "encoder", "cnn", "the choices are mlp, sem"),
        ("dag-gnn", "c", 0, "a number above 0"),
        ("dibs", "particles", 0, "a whole number of at least 1"),
        ("dibs", "gamma_z", math.inf, "a number above 0"),
    ],
)
def test_settings_out_of_range_are_refused(method, name, value, cure):
    with pytest.raises(OptionError, match=rf"{name} of {method} cannot be .*{cure}"):
        run_baseline(method, mixed(), **{name: value})


@pytest.mark.parametrize(
    ("option", "value"),
    [("seed", -1), ("seed", 0.5), ("seed", 2**32), ("timeout", 0), ("timeout", math.inf), ("threads", 0)],
)
def test_odd_limits_are_refused(option, value):
    with pytest.raises(OptionError, match=rf"{option} \(--{option}\) cannot be '{value}'"):
        run_baseline("notears", mixed(), **{option: value})


def test_settings_keep_their_type():
    settled = find_baseline("dibs").settled({"steps": np.int64(7), "noise": 1})
    assert settled["steps"] == 7
    assert type(settled["steps"]) is int
    assert type(settled["noise"]) is float
    assert settled["particles"] == 10


def test_the_defaults_are_those_of_the_paper():
    notears, mlp, gnn, dibs = (BASELINES[name].defaults for name in ("notears", "notears-mlp", "dag-gnn", "dibs"))
    shared = {"threshold": 0.3, "h_tol": 1e-8, "rho_max": 1e16}
    assert notears.items() >= (shared | {"lambda1": 0.1, "loss": "l2"}).items()
    assert mlp.items() >= (shared | {"lambda1": 0.01, "lambda2": 0.01}).items()
    fixed = {"encoder": "mlp", "decoder": "mlp", "c": 1.0, "lambda_a": 0.0, "tau_a": 0.0, "threshold": 0.3}
    assert gnn.items() >= fixed.items()
    posterior = {"alpha": 0.05, "beta": 1.0, "gamma_z": 5.0, "gamma_theta": 500.0, "particles": 10}
    assert dibs.items() >= posterior.items()


def test_a_library_that_is_not_installed_is_named_with_the_cure():
    baseline = replace(BASELINES["notears"], packages=("numpy", "no_such_library"))
    with pytest.raises(OptionError, match=r"notears needs .*'no_such_library'.*pip install 'kerncause\[baselines\]'"):
        baseline.require_packages()


def test_looking_for_a_library_does_not_load_it():
    before = set(sys.modules)
    refused = []
    for baseline in BASELINES.values():
        try:
            baseline.require_packages()
        except OptionError as refusal:
            refused.append(str(refusal))
    assert all("pip install 'kerncause[baselines]'" in sentence for sentence in refused)
    assert not {"torch", "jax", "castle", "dibs"} & (set(sys.modules) - before)


# From weights to graphs


def test_the_threshold_keeps_what_reaches_it():
    matrix = np.array([[9.0, 0.3, -0.29], [-0.3, 9.0, 0.0], [0.31, 0.1, 9.0]])
    assert np.array_equal(thresholded(matrix, 0.3), [[0, 0.3, 0], [-0.3, 0, 0], [0.31, 0, 0]])


def test_a_cycle_loses_its_weakest_edge():
    circle = np.array([[0, 2.0, 0], [0, 0, -0.5], [1.0, 0, 0]])
    assert np.array_equal(without_cycles(circle), [[0, 2.0, 0], [0, 0, 0], [1.0, 0, 0]])


def test_of_two_opposite_edges_the_stronger_stays():
    assert np.array_equal(without_cycles(np.array([[0, 0.4], [-0.5, 0]])), [[0, 0], [-0.5, 0]])


@given(weights())
def test_breaking_cycles_leaves_none_and_adds_nothing(matrix):
    kept = without_cycles(matrix)
    assert nx.is_directed_acyclic_graph(graph_of(kept))
    assert np.array_equal(kept[kept != 0], matrix[kept != 0])


@given(weights())
def test_every_edge_that_goes_was_the_weakest_of_a_cycle(matrix):
    kept = without_cycles(matrix)
    for i, j in np.argwhere(kept != matrix):
        stronger = np.where(np.abs(matrix) >= abs(matrix[i, j]), matrix, 0.0)
        assert nx.has_path(graph_of(stronger), j, i)


@given(weights(), st.randoms())
def test_a_dag_is_left_as_it_is(matrix, random):
    order = list(range(len(matrix)))
    random.shuffle(order)
    dag = np.triu(matrix, 1)[np.ix_(order, order)]
    assert np.array_equal(without_cycles(dag), dag)


def test_an_entry_is_the_weight_from_its_row_to_its_column():
    data = Dataset.from_frame(frame(height=np.sin(np.arange(ROWS))))
    order = {name: i for i, name in enumerate(data.canonical)}
    matrix = np.zeros((3, 3))
    matrix[order["size"], order["weight"]] = 0.8
    matrix[order["height"], order["weight"]] = -0.9
    matrix[order["weight"], order["height"]] = 0.7
    matrix[order["size"], order["height"]] = 0.2
    outcome = outcome_of("notears", data, Answer((matrix,), seconds=1.5), BASELINES["notears"].defaults, 4)
    assert outcome.dag == DAG(data.names, [("size", "weight"), ("height", "weight")])
    assert outcome.dag.nodes == outcome.graph.nodes == data.names == tuple(outcome.weights.index)
    assert outcome.graph == outcome.dag.to_cpdag()
    assert outcome.removed == (("weight", "height"),)
    assert outcome.weights.loc["size", "height"] == 0.2
    assert outcome.weights.loc["weight", "height"] == 0.7
    assert outcome.particles == (outcome.dag,)
    assert (outcome.seed, outcome.seconds, outcome.log_joints) == (4, 1.5, ())


def test_the_most_probable_acyclic_particle_stands_for_all():
    data = Dataset.from_frame(frame())
    forth, back, both = np.zeros((3, 2, 2))
    forth[0, 1], back[1, 0] = 0.1, 0.2
    both[:] = forth + back
    answer = Answer((forth, back, both), (-20.0, -10.0, -5.0))
    outcome = outcome_of("dibs", data, answer, BASELINES["dibs"].defaults, 0)
    first, second = data.canonical
    assert outcome.dag == DAG(data.names, [(second, first)])
    assert outcome.removed == ()
    assert [len(particle.edges) for particle in outcome.particles] == [1, 1, 1]
    assert outcome.particles[0] == DAG(data.names, [(first, second)])
    assert outcome.log_joints == (-20.0, -10.0, -5.0)


def test_a_particle_is_chosen_even_if_all_are_cyclic_or_without_number():
    assert chosen((-3.0, -2.0, math.nan), [False, False, False]) == 1
    assert chosen((math.nan, math.nan), [True, True]) == 0
    assert chosen((-1.0, math.nan), [False, True]) == 1
    assert chosen((-1.0, -1.0), [True, True]) == 0


def test_weights_that_are_no_numbers_are_refused():
    data = Dataset.from_frame(frame())
    answer = Answer((np.array([[0.0, np.nan], [0.0, 0.0]]),))
    with pytest.raises(ComputationError, match="notears-mlp ended with weights that are not finite"):
        outcome_of("notears-mlp", data, answer, BASELINES["notears-mlp"].defaults, 0)


# The process


@given(
    hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.floats(allow_nan=False)),
    st.integers(0, 2**32 - 1),
    st.dictionaries(st.text(), st.one_of(st.integers(), st.floats(allow_nan=False), st.text())),
)
def test_a_request_survives_its_files(table, seed, settings):
    with tempfile.TemporaryDirectory() as name:
        Request("dag-gnn", table, seed, settings).write(Path(name))
        read = Request.read(Path(name))
    assert (read.method, read.seed, read.settings) == ("dag-gnn", seed, settings)
    assert np.array_equal(read.table, table)
    assert read.table.dtype == np.float64


@given(
    st.lists(hnp.arrays(np.float64, (3, 3), elements=st.floats()), min_size=1, max_size=3),
    st.lists(st.floats(), max_size=3),
    st.floats(0, 1e9),
)
def test_an_answer_survives_its_file(matrices, log_joints, seconds):
    with tempfile.TemporaryDirectory() as name:
        assert Answer.read(Path(name)) is None
        Answer(tuple(matrices), tuple(log_joints), seconds).write(Path(name))
        read = Answer.read(Path(name))
        assert [path.name for path in Path(name).iterdir()] == ["answer.json"]
    assert np.array_equal(np.array(read.weights), np.array(matrices), equal_nan=True)
    assert np.array_equal(read.log_joints, log_joints, equal_nan=True)
    assert read.seconds == seconds


def test_the_child_is_this_python_and_has_the_threads_it_is_given(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONWARNINGS", "error")
    monkeypatch.setenv("KEPT", "yes")
    words = command(tmp_path)
    assert words[0] == sys.executable
    assert words[-2:] == ["kerncause.baselines._child", str(tmp_path)]
    variables = environment(tmp_path, 1)
    assert variables["OMP_NUM_THREADS"] == variables["OPENBLAS_NUM_THREADS"] == variables["NPROC"] == "1"
    assert "--xla_cpu_multi_thread_eigen=false" in variables["XLA_FLAGS"]
    assert variables["KEPT"] == "yes"
    assert variables["TMPDIR"] == str(tmp_path)
    assert "PYTHONWARNINGS" not in variables
    assert environment(tmp_path, 2)["OMP_NUM_THREADS"] == "2"
    assert "PYTHONWARNINGS" in os.environ


def request(method, timeout=120.0):
    return Request(method, np.eye(3), 0, {}, timeout)


def test_a_run_that_would_take_too_long_is_ended_when_that_is_seen(monkeypatch):
    now = iter([0.0, 100.0, 105.0, 200.0])
    monkeypatch.setattr(pace.time, "perf_counter", lambda: next(now))
    run = pace.Pace(timeout=120.0)
    run.done(10, 1000)  # compiled; from here on two steps a second
    run.done(20, 1000)  # too few to go by
    with pytest.raises(pace.TooSlowError, match=r"would take about 595 seconds, by its first 210 of 1000 steps"):
        run.done(210, 1000)


def test_a_run_that_may_be_in_time_goes_on(monkeypatch):
    now = iter([0.0, 10.0, 20.0, 21.0, 75.0])
    monkeypatch.setattr(pace.time, "perf_counter", lambda: next(now))
    run = pace.Pace(timeout=100.0)
    run.done(100, 1000)
    run.done(200, 1000)  # 100 seconds expected
    run.done(100, 1000)
    run.done(700, 1000)  # 107, which is not much longer
    assert next(now, None) is None  # every look at the clock was taken, and none of them ended it


def test_steps_are_counted_in_pieces_that_divide_them():
    assert [_piece(steps) for steps in (1000, 3000, 20, 7, 1, 997)] == [50, 150, 1, 1, 1, 997]


def test_a_child_that_sees_that_it_is_too_slow_says_so(tmp_path, monkeypatch):
    child = tmp_path / "child.py"
    child.write_text("import sys; print('would take an age', file=sys.stderr); sys.exit(4)")
    monkeypatch.setattr(process, "command", lambda folder: [sys.executable, str(child)])
    with pytest.raises(
        ComputationError, match=r"^dibs would take an age, longer than the 120 seconds it had: .*--timeout"
    ):
        computed(request("dibs"))


def test_a_child_that_fails_is_reported_with_its_last_word(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = children()
    with pytest.raises(
        ComputationError, match=r"process of no-such ended with exit code 1.*saying 'KeyError: 'no-such''"
    ):
        computed(request("no-such"))
    assert list(tmp_path.iterdir()) == []
    assert children() <= before


def test_a_child_that_takes_too_long_is_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = children()
    with pytest.raises(ComputationError, match=r"notears took longer than the 0\.01 seconds.*--timeout"):
        computed(request("notears", 0.01))
    assert list(tmp_path.iterdir()) == []
    assert children() <= before


@pytest.mark.parametrize(
    ("code", "last", "sentence"),
    [
        (-9, "", "the process of dibs was ended by the signal SIGKILL: if memory ran out, give it fewer rows"),
        (-11, "oh", "the process of dibs was ended by the signal SIGSEGV, saying 'oh': "),
        (-250, "", "the process of dibs was ended by signal 250: "),
        (3, "a\x1b[31m", r"the process of dibs ended with exit code 3 and no answer, saying 'a\x1b[31m': "),
    ],
)
def test_how_a_child_ended_is_one_sentence(code, last, sentence):
    assert _obituary("dibs", code, last).startswith(sentence)


# The document


@pytest.mark.parametrize("method", BASELINES)
def test_the_document_tells_every_setting_and_its_default(method):
    text = DOCUMENT.read_text()
    section = re.search(rf"^## `{method}`\n(.*?)(?=^## |\Z)", text, re.S | re.M).group(1)
    told = dict(re.findall(r"^\| `(\w+)` \| `([^`]+)` \|", section, re.M))
    assert told == {
        name: f"{value:g}" if value != str(value) else value for name, value in BASELINES[method].defaults.items()
    }
