"""Stopping before the end with the best graph so far, and going on from there."""

import json
import os
import signal
import subprocess
import sys
import time
from itertools import count

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from kerncause import Knowledge, OptionError, boss, discover, exact, ges, load_result
from kerncause.cli import app
from kerncause.report import facts
from kerncause.scores import Ledger
from kerncause.stop import Stop
from oracles import random_dag, separation_oracle

runner = CliRunner()


def table(n=60, p=5, seed=0):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(n, p))
    for j in range(1, p):
        columns[:, j] += np.tanh(2 * columns[:, rng.integers(j)])
    return pd.DataFrame(columns, columns=[f"v{j}" for j in range(p)])


def after(number):
    """A stop that comes after so many questions."""
    asked = count(1)
    return lambda: next(asked) >= number


@pytest.mark.parametrize("search", [ges, boss, exact])
@pytest.mark.parametrize("known", [None, {"required": [["1", "4"]], "forbidden": [["0", "2"]]}])
def test_stopped_anywhere_a_search_has_a_graph_that_obeys(search, known):
    rng = np.random.default_rng(3)
    dag = random_dag(rng, 5, 0.5)
    score = separation_oracle(rng, dag)
    names = score.variables
    knowledge = Knowledge.of(
        known and {part: [[names[int(a)], names[int(b)]] for a, b in pairs] for part, pairs in known.items()}
    )
    whole = Ledger(score)
    end = search(whole, knowledge=knowledge)
    assert end.finished
    for number in (1, 2, 5, 11, 23, 40, whole.computed, whole.computed + 1):
        ledger = Ledger(score, stop=after(number))
        outcome = search(ledger, knowledge=knowledge)
        assert not knowledge.broken_by(outcome.graph)
        assert outcome.dag.to_cpdag().skeleton == outcome.graph.skeleton
        if outcome.finished:
            assert (outcome.graph, outcome.dag) == (end.graph, end.dag)
        elif number < whole.computed // 2:
            assert outcome.trace == end.trace[: len(outcome.trace)]
    assert outcome.finished


def test_the_best_so_far_grows_with_the_time():
    rng = np.random.default_rng(1)
    score = separation_oracle(rng, random_dag(rng, 6, 0.5))

    def total(dag):
        return sum(score.local_score(name, dag.parents(name)) for name in dag.nodes)

    for search in (ges, boss):
        totals = [total(search(Ledger(score, stop=after(k))).dag) for k in (1, 30, 60, 10_000)]
        assert totals[0] < totals[-1]
        assert totals == sorted(totals)


def test_a_stopped_discovery_goes_on_where_it_was(tmp_path):
    whole = discover(table(), workers=1)
    assert whole.finished
    part = discover(table(), workers=1, directory=tmp_path, stop=after(12), confidence=2)
    assert not part.finished
    assert part.confidence is None
    assert "stopped before the end" in repr(part)
    assert any("stopped before its end" in words for words in facts(part)["warnings"])
    assert len(part.edge_list) < len(whole.edge_list)
    part.save(tmp_path)
    assert not load_result(tmp_path, table()).finished
    again = discover(table(), workers=1, directory=tmp_path)
    assert again.finished
    assert again.edge_list == whole.edge_list


def test_the_halves_stop_too(tmp_path):
    whole = discover(table(), score="bic", workers=1)
    result = discover(
        table(), score="bic", workers=1, confidence=50, directory=tmp_path, stop=after(whole.scores_computed + 6)
    )
    assert result.finished
    assert 0 < result.confidence.replicates < 50
    more = discover(table(), score="bic", workers=1, confidence=50, directory=tmp_path, resume=True)
    assert more.confidence.replicates == 50
    assert more.confidence == discover(table(), score="bic", workers=1, confidence=50).confidence


def test_a_budget_is_kept():
    begun = time.perf_counter()
    result = discover(table(300, 8), workers=1, time_budget=1.0)
    assert not result.finished
    assert time.perf_counter() - begun < 30


@pytest.mark.parametrize("seconds", [0, -1, float("nan"), float("inf"), True, "10m"])
def test_odd_budgets_are_refused(seconds):
    with pytest.raises(OptionError, match="time_budget"):
        Stop(seconds)


def test_only_scores_have_a_budget():
    with pytest.raises(OptionError, match="for searches by a score"):
        discover(table(), search="pc", test="fisher-z", time_budget=10.0)


def run(*words):
    return runner.invoke(app, [str(word) for word in words])


def test_the_shell_has_a_budget(tmp_path):
    table(300, 8).to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "out"
    ran = run("discover", tmp_path / "t.csv", "--time-budget", "0.5s", "--out", out, "--workers", 1)
    assert ran.exit_code == 0, ran.output
    assert "the same command goes on from here" in ran.output
    assert json.loads((out / "graph.json").read_text())["finished"] is False
    assert (out / "scores.sqlite").exists()
    odd = run("discover", tmp_path / "t.csv", "--time-budget", "soon")
    assert odd.exit_code == 1
    assert "such as 10m" in odd.output


def started(words):
    """Start the command where Ctrl-C is not ignored, and wait until it is at work."""
    code = "from signal import *; signal(SIGINT, default_int_handler); from kerncause.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    scores = words[words.index("--out") + 1] / "scores.sqlite"
    while process.poll() is None and not scores.exists():
        time.sleep(0.05)
    return process


@pytest.mark.parametrize("workers", [1, 2])
def test_ctrl_c_gives_the_best_so_far(workers, tmp_path):
    table(600, 10).to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "out"
    process = started(["discover", tmp_path / "t.csv", "--out", out, "--workers", str(workers)])
    os.killpg(process.pid, signal.SIGINT)
    said, problem = process.communicate(timeout=120)
    assert process.returncode == 130, problem
    assert "stopped before the end" in said
    assert "Ctrl-C again" in problem
    assert json.loads((out / "graph.json").read_text())["finished"] is False


def test_a_second_ctrl_c_leaves_at_once(tmp_path):
    table(600, 10).to_csv(tmp_path / "t.csv", index=False)
    out = tmp_path / "out"
    process = started(["discover", tmp_path / "t.csv", "--out", out, "--workers", "2"])
    os.killpg(process.pid, signal.SIGINT)
    process.stderr.readline()
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert not (out / "graph.json").exists() or json.loads((out / "graph.json").read_text())["finished"] is False
