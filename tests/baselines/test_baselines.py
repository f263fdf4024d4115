"""The baselines with their real libraries: `pip install 'kerncause[baselines]'` first."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from kerncause.baselines import BASELINES, run_baseline, thresholded
from kerncause.baselines.process import environment
from kerncause.data import Dataset
from kerncause.errors import ComputationError
from kerncause.graphs import DAG
from kerncause.metrics import skeleton_accuracy

ROOT = Path(__file__).parent.parent.parent

# Smaller than the defaults, so that a run takes seconds.
QUICK = {
    "notears": {},
    "notears-mlp": {"max_iter": 4, "hidden": 3},
    "dag-gnn": {"epochs": 60, "max_iter": 6},
    "dibs": {"steps": 300, "particles": 10, "graph_samples": 16},
}
RANDOM = ["notears-mlp", "dag-gnn", "dibs"]


def chain():
    """a -> b -> c in whole numbers, which go in as they are: the spread grows from cause to effect."""
    rng = np.random.default_rng(0)
    a = rng.integers(1, 4, size=100)
    b = 2 * a + rng.integers(-1, 2, size=100)
    c = 2 * b + rng.integers(-1, 2, size=100)
    # Listed backwards, so that an order that is only the table's would be the wrong one.
    return Dataset.from_frame(pd.DataFrame({"c": c, "b": b, "a": a}))


def pieces(rows=100):
    """a -> b -> c and d -> e, linear and strong."""
    rng = np.random.default_rng(1)
    a, d = rng.normal(size=(2, rows))
    noise = 0.3 * rng.normal(size=(3, rows))
    b = a + noise[0]
    return Dataset.from_frame(pd.DataFrame({"a": a, "b": b, "c": b + noise[1], "d": d, "e": d + noise[2]}))


PIECES = DAG("abcde", [("a", "b"), ("b", "c"), ("d", "e")])


@cache
def learned(method, seed=1):
    """What a method makes of the pieces: several tests look at it."""
    return run_baseline(method, pieces(), seed=seed, **QUICK[method])


def children(parent=None):
    """Processes started by one, zombies included."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(fields[1]) == (parent or os.getpid()):
            found.add(int(status.parent.name))
    return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def until(condition, seconds=60):
    """Wait for something to come true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError("it did not come true")


@pytest.fixture(autouse=True, scope="session")
def compiled_once(tmp_path_factory):
    """Let runs share what jax compiles, which is half of the time DiBS takes here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_COMPILATION_CACHE_DIR", str(tmp_path_factory.mktemp("jax")))
        yield


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """A folder for all temporary files, which must be empty in the end."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.mark.parametrize("method", BASELINES)
def test_the_weights_lead_from_causes_to_effects(method):
    # The noise of the chain has the variance 2/3, which DiBS is to be told.
    more = {"noise": 2 / 3} if method == "dibs" else {}
    outcome = run_baseline(method, chain(), seed=1, **QUICK[method], **more)
    assert outcome.dag.nodes == ("c", "b", "a")
    assert outcome.weights.loc["a", "b"] > abs(outcome.weights.loc["b", "a"])
    assert outcome.weights.loc["b", "c"] > abs(outcome.weights.loc["c", "b"])
    assert set(outcome.dag.edges) >= {("a", "b"), ("b", "c")}


@pytest.mark.parametrize("method", BASELINES)
def test_a_strong_linear_graph_is_found(method):
    outcome = learned(method)
    # A graph that joins each of the ten pairs by the toss of a coin has an F1 of about 0.37.
    assert skeleton_accuracy(PIECES, outcome.graph).f1 >= 0.65
    assert outcome.graph == outcome.dag.to_cpdag()
    assert outcome.dag.nodes == ("a", "b", "c", "d", "e")
    assert outcome.dag in outcome.particles
    assert outcome.seconds > 0


@pytest.mark.parametrize("method", BASELINES)
def test_the_same_seed_gives_the_same_answer_and_nothing_else_is_left_behind(method, temporary):
    first, before = learned(method), global_state()
    again = run_baseline(method, pieces(), seed=1, **QUICK[method])
    assert again.weights.equals(first.weights)
    assert again.particles == first.particles
    assert again.log_joints == first.log_joints
    assert global_state() == before
    assert list(temporary.iterdir()) == []
    assert torch.get_default_dtype() == torch.float32
    assert not {"castle", "dibs"} & set(sys.modules)


@pytest.mark.parametrize("method", RANDOM)
def test_another_seed_gives_another_answer(method):
    assert not learned(method, seed=2).weights.equals(learned(method).weights)


def test_the_order_and_the_names_of_columns_do_not_matter():
    data = pieces()
    table = pd.DataFrame(data.codes, columns=list(data.names))
    names = {"a": "q", "d": "a"}
    other = run_baseline(
        "dag-gnn", Dataset.from_frame(table[list("ecbda")].rename(columns=names)), 1, **QUICK["dag-gnn"]
    )
    back = {new: old for old, new in names.items()}
    again = other.weights.rename(index=back, columns=back)
    assert again.loc[list("abcde"), list("abcde")].equals(learned("dag-gnn").weights)


def test_settings_reach_the_library():
    # So strong a penalty leaves nothing; without a threshold everything stays that is not exactly zero.
    assert run_baseline("notears", pieces(), lambda1=50.0).dag.edges == ()
    loose = run_baseline("notears", pieces(), threshold=0.0)
    assert loose.weights.equals(learned("notears").weights)
    assert set(loose.dag.edges) >= set(learned("notears").dag.edges)


def test_dibs_gives_all_particles_and_chooses_the_most_probable():
    outcome = learned("dibs")
    assert len(outcome.particles) == len(outcome.log_joints) == 10
    assert np.isfinite(outcome.log_joints).all()
    assert outcome.removed == ()
    assert outcome.dag == outcome.particles[int(np.argmax(outcome.log_joints))]


LIBRARY_ALONE = """
import sys, numpy as np
from castle.algorithms import DAG_GNN
table = np.load(sys.argv[1])
learner = DAG_GNN(epochs=60, k_max_iter=6, seed=1)
learner.learn(np.random.default_rng(1).permutation(table))
np.save(sys.argv[2], np.asarray(learner.causal_matrix, dtype=float))
"""


def test_the_weights_of_dag_gnn_are_those_the_library_thresholds(tmp_path):
    data, outcome = pieces(), learned("dag-gnn")
    columns = [data.names.index(name) for name in data.canonical]
    np.save(tmp_path / "table.npy", data.values[:, columns])
    words = [sys.executable, "-c", LIBRARY_ALONE, str(tmp_path / "table.npy"), str(tmp_path / "graph.npy")]
    subprocess.run(words, check=True, capture_output=True, env=environment(tmp_path, 1))
    ours = outcome.weights.loc[list(data.canonical), list(data.canonical)].to_numpy()
    assert np.array_equal(thresholded(ours, 0.3) != 0, np.load(tmp_path / "graph.npy") != 0)


def global_state():
    """What a library could have changed in this process; legacy generators, because those are the global ones."""
    numbers = np.random.get_state()[1]  # noqa: NPY002
    return numbers.tolist(), torch.get_rng_state().tolist(), torch.get_default_dtype(), dict(os.environ)


@pytest.mark.parametrize("method", BASELINES)
def test_a_method_that_takes_too_long_is_ended(method, temporary):
    before = children()
    with pytest.raises(ComputationError, match=rf"{method} took longer than the 0\.5 seconds.*--timeout"):
        run_baseline(method, pieces(), timeout=0.5)
    assert children() <= before
    assert list(temporary.iterdir()) == []


def test_a_method_that_is_killed_is_reported(temporary):
    before = children()

    def kill():
        (child,) = until(lambda: children() - before)
        until(lambda: list(temporary.glob("kerncause-*/stderr.txt")))
        os.kill(child, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(ComputationError, match="process of dag-gnn was ended by the signal SIGKILL"):
        run_baseline("dag-gnn", pieces())
    killer.join()
    assert children() <= before
    assert list(temporary.iterdir()) == []


# A shell that starts the tests in the background has them ignore Ctrl-C, and what they start as well.
LONG_RUN = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path.insert(0, sys.argv[1])
from test_baselines import pieces
from kerncause.baselines import run_baseline
print("started", flush=True)
run_baseline("dag-gnn", pieces(3000), epochs=100000)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_child_goes_when_its_parent_is_stopped(number, temporary):
    words = [sys.executable, "-c", LONG_RUN, str(Path(__file__).parent)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "start_new_session": True}
    with subprocess.Popen(words, **pipes) as parent:
        try:
            assert parent.stdout.readline() == "started\n"
            (child,) = until(lambda: children(parent.pid))
            # Let it get as far as learning: torch is a library mapped into its memory by then.
            until(lambda: "libtorch" in Path(f"/proc/{child}/maps").read_text())
            # To the whole group, as a terminal does.
            os.killpg(parent.pid, number)
            _, said = parent.communicate(timeout=60)
        finally:
            parent.kill()
    assert parent.returncode != 0
    if number == signal.SIGINT:
        assert said.rstrip().endswith("KeyboardInterrupt")
    until(lambda: not alive(child))
    until(lambda: list(temporary.iterdir()) == [])


def test_a_library_that_fails_is_quoted():
    # So large a penalty overflows, at which DAG-GNN gives up.
    with pytest.raises(ComputationError, match=r"process of dag-gnn ended with exit code 1.*saying 'ValueError: .*Nan"):
        run_baseline("dag-gnn", pieces(), c=1e19, lambda_a=1e308, epochs=5)


def test_the_example_in_the_document_runs(monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    (block,) = re.findall(r"```py\n(.*?)```", (ROOT / "docs" / "baselines.md").read_text(), re.S)
    exec(compile(block, "baselines.md", "exec"), {})
    assert "DAG(11 nodes" in capsys.readouterr().out
