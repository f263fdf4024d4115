"""Every way of discovery through the front door and the command line."""

import json
import os
import shlex
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from kerncause import CPDAG, Dataset, OptionError, discover, make_score, make_test, pc, read_graph
from kerncause.cli import app

TERMINAL = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}


def chain(n=300, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    c = rng.normal(size=n)
    b = a + c + 0.5 * rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": b + 0.5 * rng.normal(size=n)})


def run(*words):
    return CliRunner(env=TERMINAL).invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("methods") / "chain.csv"
    chain().to_csv(path, index=False)
    return path


def test_pc_gives_the_same_kind_of_result_as_ges(tmp_path):
    frame = chain()
    result = discover(frame, search="pc", test="fisher-z", workers=1)
    truth = CPDAG("abcd", [("a", "b"), ("c", "b"), ("b", "d")], [])
    assert result.graph == truth
    assert result.edges.columns.tolist() == ["source", "target", "directed", "p_value"]
    assert result.edges["p_value"].between(0, 0.05).all()
    assert result.score is None
    assert result.fits == {}
    assert result.settings["test"] == "fisher-z"
    assert result.settings["search_options"] == {"alpha": 0.05, "max_given": None}
    assert "p-value" in repr(result)
    assert read_graph(result.save(tmp_path) / "graph.json") == truth
    assert 'label=" p ' in (tmp_path / "graph.dot").read_text()


def test_the_p_value_of_an_edge_is_the_largest_that_was_met():
    data = Dataset.from_frame(chain())
    test = make_test("fisher-z", data)
    outcome = pc(test)
    result = discover(data, search="pc", test=test, workers=1)
    for edge in result.edge_list:
        others = [name for name in "abcd" if name not in (edge.source, edge.target)]
        met = [test.test(edge.source, edge.target, given).p_value for given in ((), *((name,) for name in others))]
        assert edge.p_value == outcome.p_values[frozenset((edge.source, edge.target))]
        assert edge.p_value >= min(met)
        assert edge.p_value >= test.test(edge.source, edge.target).p_value


@pytest.mark.parametrize("test", ["kci", "fisher-z"])
def test_workers_change_nothing_about_pc(test):
    frame = chain(120, seed=3)
    one, two = (discover(frame, search="pc", test=test, workers=workers) for workers in (1, 2))
    assert one.graph == two.graph
    assert [edge.p_value for edge in one.edge_list] == [edge.p_value for edge in two.edge_list]
    assert one.trace == two.trace
    assert one.scores_computed == two.scores_computed > 6


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"search": "pc", "score": "learned"}, r"search pc does not use score \(--score\)"),
        ({"search": "pc", "max_parents": 2}, r"search pc does not use max_parents \(--max-parents\)"),
        ({"search": "pc", "preset": "paper"}, r"search pc does not use preset \(--preset\)"),
        ({"search": "pc", "score_options": {"engine": "dense"}}, "search pc does not use score_options"),
        ({"alpha": 0.1}, r"^alpha \(--alpha\) is for --search pc: name it"),
        ({"test": "kci"}, r"^test \(--test\) is for --search pc: name it"),
        ({"timeout": 5.0}, r"^timeout \(--timeout\) is for methods: name one with --method"),
        ({"method": "notears", "score": "learned"}, r"method notears does not use score \(--score\)"),
        ({"method": "notears", "search": "pc"}, r"method notears does not use search \(--search\)"),
        ({"method": "nothing"}, "there is no baseline 'nothing': the choices are notears"),
        ({"method": "notears", "method_options": {"x": 1}}, "notears has no setting 'x'"),
        ({"search": "pc", "test": "nothing"}, "there is no test 'nothing': the choices are kci"),
        ({"search": "pc", "alpha": 1.5}, r"alpha \(--alpha\) cannot be 1.5"),
        ({"search": "pc", "test": "fisher-z", "test_options": {"x": 1}}, "the test fisher-z has no option"),
    ],
)
def test_what_would_be_ignored_is_refused(options, sentence):
    with pytest.raises(OptionError, match=sentence):
        discover(chain(50), workers=1, **options)


def test_a_test_of_another_table_is_refused():
    test = make_test("fisher-z", Dataset.from_frame(chain(seed=1)))
    with pytest.raises(OptionError, match="the test was made for another table"):
        discover(chain(seed=2), search="pc", test=test)


def test_pc_on_the_command_line(table, tmp_path):
    done = run("discover", table, "--search", "pc", "--test", "fisher-z", "--alpha", 0.01, "--out", tmp_path / "r")
    assert done.exit_code == 0, done.output
    assert "p-value" in done.output
    assert "3 edges, 3 with a direction" in done.output
    assert json.loads((tmp_path / "r" / "graph.json").read_text())["settings"]["search_options"]["alpha"] == 0.01
    refused = run("discover", table, "--search", "pc", "--score", "learned")
    assert refused.exit_code == 1
    assert "search pc does not use score (--score)" in refused.output
    refused = run("discover", table, "--search", "pc", "--engine", "dense")
    assert "search pc does not use score_options" in refused.output


@pytest.mark.parametrize("score", ["bic", "gp", "cv", "marginal", "marginal-huang"])
def test_scores_on_the_command_line(score, table):
    done = run("discover", table, "--score", score, "--workers", 1, "--max-parents", 2)
    assert done.exit_code == 0, done.output
    done = run("score", table, "--target", "b", "--parents", "a,c", "--score", score)
    assert done.exit_code == 0, done.output
    assert "The score of b" in done.output


def test_settings_by_name(table):
    done = run("score", table, "--target", "b", "--parents", "a", "--score", "cv", "--set", "folds=5")
    assert done.exit_code == 0, done.output
    done = run("score", table, "--target", "b", "--score", "cv", "--set", "folds=two")
    assert done.exit_code == 1
    assert "folds cannot be two" in done.output
    done = run("score", table, "--target", "b", "--score", "bic", "--engine", "dense")
    assert done.exit_code == 1
    assert "the score bic has no option" in done.output


def test_one_test_on_the_command_line(table):
    joined = run("test", table, "--x", "a", "--y", "d")
    parted = run("test", table, "--x", "a", "--y", "d", "--given", "b", "--test", "fisher-z")
    assert joined.exit_code == parted.exit_code == 0, joined.output + parted.output
    assert "a and d: p-value" in joined.output
    assert "a and d given 'b': p-value" in parted.output
    assert "there is no variable" in run("test", table, "--x", "a", "--y", "nothing").output


def test_a_table_can_be_drawn_learned_and_compared(tmp_path):
    drawn = run("simulate", "--out", tmp_path / "drawn", "--variables", 4, "--density", 0.5, "--rows", 150, "--seed", 3)
    assert drawn.exit_code == 0, drawn.output
    assert "150 rows, 4 variables, 3 edges" in drawn.output
    data, truth = tmp_path / "drawn" / "data.csv", tmp_path / "drawn" / "truth.json"
    learned = run("discover", data, "--workers", 1, "--out", tmp_path / "result", "--quiet")
    assert learned.exit_code == 0, learned.output
    compared = run("compare", truth, tmp_path / "result")
    assert compared.exit_code == 0, compared.output
    assert "skeleton" in compared.output
    assert "SHD of the classes" in compared.output
    figures = json.loads(run("compare", truth, tmp_path / "result", "--json").output)
    assert 0 <= figures["skeleton"]["f1"] <= 1
    same = json.loads(run("compare", truth, truth, "--json").output)
    assert (same["shd"], same["sid_upper"], same["skeleton"]["f1"]) == (0, 0, 1.0)


@pytest.mark.parametrize("kind", ["multidimensional", "discrete"])
def test_the_command_that_reads_a_drawn_table_is_printed(tmp_path, kind):
    asked = ["--kind", kind, "--variables", 3, "--rows", 60, "--seed", 5]
    if kind == "discrete":
        asked += ["--levels", 20]
    drawn = run("simulate", "--out", tmp_path / "drawn", *asked)
    assert drawn.exit_code == 0, drawn.output
    command = shlex.split(drawn.output.split("Learn a graph from it:")[1].strip())
    assert command[:2] == ["kerncause", "discover"]
    learned = run(*command[1:-1], tmp_path / "result", "--score", "bic", "--workers", 1, "--quiet")
    assert learned.exit_code == 0, learned.output
    compared = run("compare", tmp_path / "drawn" / "truth.json", tmp_path / "result")
    assert compared.exit_code == 0, compared.output


def test_graphs_over_other_nodes_cannot_be_compared(tmp_path):
    (tmp_path / "one.csv").write_text("a,b\n0,1\n0,0\n")
    (tmp_path / "two.csv").write_text("a,c\n0,1\n0,0\n")
    done = run("compare", tmp_path / "one.csv", tmp_path / "two.csv")
    assert done.exit_code == 1
    assert "'b'" in done.output
    assert "'c'" in done.output


def test_graphs_can_be_converted(tmp_path):
    (tmp_path / "graph.csv").write_text("a,b,c\n0,1,0\n0,0,1\n0,1,0\n")
    done = run("convert", tmp_path / "graph.csv", tmp_path / "graph.graphml")
    assert done.exit_code == 0, done.output
    assert read_graph(tmp_path / "graph.graphml") == read_graph(tmp_path / "graph.csv")
    done = run("convert", tmp_path / "nothing.csv", tmp_path / "other.dot")
    assert done.exit_code == 1
    assert not (tmp_path / "other.dot").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--set", "name=x"], "the score learned has no option 'name'"),
        (["--set", "data=x"], "the score learned has no option 'data'"),
        (["--search", "pc", "--set", "name=x"], "the test kci has no option 'name'"),
        (["--score", "bic", "--preset", "paper"], "the score bic has no option"),
        (["--score", "bic", "--set", "penalty=abc"], "the score bic cannot take 'penalty=abc'"),
        (["--set", "noise_bounds=abc"], "noise_bounds cannot be 'abc'"),
        (["--set", "starts=true"], "starts cannot be True"),
        (["--set", "tie_weight=maybe"], "tie_weight cannot be 'maybe'"),
        (["--tolerance", "0.1", "--set", "tolerance=0.2"], "tolerance is given by --tolerance and by --set"),
        (["--score", ""], "there is no score ''"),
        (["--search", "pc", "--engine", "dense"], "--engine, --tolerance, --expected-degree or --set"),
        (["--method", "notears", "--timeout", "0"], "timeout (--timeout) cannot be"),
    ],
)
def test_what_would_be_ignored_or_crash_is_refused(table, words, message):
    done = run("discover", table, *words, "--workers", 1, "--quiet")
    assert done.exit_code == 1, done.output
    assert message in done.output
    assert len(done.output.strip().splitlines()) == 1


def test_bdeu_wants_sizes_by_name(tmp_path):
    path = tmp_path / "discrete.csv"
    pd.DataFrame({"a": ["x", "y"] * 20, "b": ["u", "v", "v", "u"] * 10}).to_csv(path, index=False)
    done = run("discover", path, "--score", "bdeu", "--set", "sizes=3")
    assert done.exit_code == 1
    assert "sizes cannot be '3'" in done.output or "sizes cannot be 3" in done.output


def test_objects_come_with_their_own_settings():
    data = Dataset.from_frame(chain(60))
    score, test = make_score("bic", data), make_test("fisher-z", data)
    with pytest.raises(OptionError, match="score_options cannot be given with a score that is made already"):
        discover(data, score=score, score_options={"penalty": 5})
    with pytest.raises(OptionError, match="preset cannot be given with a score that is made already"):
        discover(data, score=score, preset="paper")
    with pytest.raises(OptionError, match="test_options cannot be given with a test that is made already"):
        discover(data, search="pc", test=test, test_options={"a": 1})
    with pytest.raises(OptionError, match="the score has no variables or no local_score"):
        discover(data, score=test)
    with pytest.raises(OptionError, match="the test has no variables or no test"):
        discover(data, search="pc", test=score)


def test_numbers_of_numpy_can_be_saved(tmp_path):
    numbers = {"seed": np.int64(3), "max_parents": np.int64(2), "score_options": {"penalty": np.float32(1.0)}}
    result = discover(chain(60), score="bic", workers=1, **numbers)
    assert json.loads((result.save(tmp_path) / "graph.json").read_text())["settings"]["seed"] == 3


def test_a_parent_that_can_be_switched_off_at_no_cost_is_not_added():
    """marginal-huang never loses by a parent; what it gains by one is then below its resolution."""
    added = 0
    for seed in range(3):
        frame = pd.DataFrame(np.random.default_rng(seed).normal(size=(100, 4)), columns=list("abcd"))
        result = discover(frame, score="marginal-huang", workers=1)
        assert all(step.gain > 0.01 for step in result.trace if step.operator == "insert")
        added += len(result.edge_list)
    assert added < 18  # not all


def test_figures_are_never_cut(tmp_path):
    names = dict(zip("abcd", ("a" * 40, "b" * 40, "界" * 25, "d" * 30), strict=True))
    path = tmp_path / "long.csv"
    chain().rename(columns=names).to_csv(path, index=False)
    done = CliRunner(env={**TERMINAL, "COLUMNS": "80"}).invoke(app, ["discover", str(path), "--score", "bic"])
    assert done.exit_code == 0, done.output
    gains = discover(chain(), score="bic", workers=1).edges["gain"]
    for gain in gains:
        assert f"{gain:.1f}" in done.output or f"{gain:.2f}" in done.output


def test_a_terminal_without_arrows_can_tell_them_from_lines(table):
    words = [sys.executable, "-m", "kerncause.cli", "discover", table, "--score", "bic"]
    done = subprocess.run(words, capture_output=True, env={**os.environ, "PYTHONIOENCODING": "ascii"}, check=True)
    assert b"a -> b" in done.stdout
