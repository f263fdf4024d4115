import json
import os
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import kerncause
from kerncause import Dataset, LearnedKernelScore
from kerncause.cli import Screen, app
from kerncause.plan import Plan
from kerncause.presets import Extent

runner = CliRunner()


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(2)
    a = rng.normal(size=120)
    frame = pd.DataFrame({"a": a, "b": np.sin(2 * a) + 0.3 * rng.normal(size=120), "c": rng.integers(0, 3, 120)})
    frame["x"], frame["y"] = rng.normal(size=120), frame["b"] + rng.normal(size=120)
    frame["size"] = np.array(["low", "avg", "high"])[frame["c"]]
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    return path


def run(*words):
    return runner.invoke(app, [str(word) for word in words])


def test_discover_prints_the_graph_and_writes_it(table, tmp_path):
    done = run("discover", table, "--workers", 1, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "120 rows, 6 variables" in done.output
    assert re.search(r"c\s+ordinal\s+whole numbers, 3 values", done.output)
    assert re.search(r"a [→—] b|b — a", done.output)
    assert f"The result is in {tmp_path / 'out'}" in done.output.replace("\n", "")
    assert json.loads((tmp_path / "out" / "graph.json").read_text())["data"]["rows"] == 120


def test_options_reach_the_table_and_the_search(table, tmp_path):
    done = run(
        *("discover", table, "--workers", 1, "--out", tmp_path / "o", "--quiet"),
        *("--group", "pos=x,y", "--levels", "size=low,avg,high", "--kind", "c=categorical"),
        *("--max-parents", 1, "--preset", "paper", "--seed", 7, "--drop", "a"),
    )
    assert done.exit_code == 1
    assert "preset paper means max_parents=None" in done.output
    done = run(
        *("discover", table, "--workers", 1, "--out", tmp_path / "o", "--quiet"),
        *("--group", "pos=x,y", "--levels", "size=low,avg,high", "--kind", "c=categorical"),
        *("--max-parents", 1, "--seed", 7, "--drop", "a", "--turning"),
    )
    assert done.exit_code == 0, done.output
    assert done.output == ""
    graph = json.loads((tmp_path / "o" / "graph.json").read_text())
    variables = {v["name"]: v for v in graph["data"]["variables"]}
    assert list(variables) == ["b", "c", "pos", "size"]
    assert variables["pos"]["kind"] == "vector"
    assert variables["c"]["kind"] == "categorical"
    assert variables["size"]["levels"] == ["low", "avg", "high"]
    assert graph["settings"]["seed"] == 7
    assert graph["settings"]["search_options"] == {
        "max_parents": 1,
        "turning": True,
        "careful": True,
        "candidates": None,
    }


def test_score_prints_the_local_model(table):
    done = run("score", table, "--target", "b", "--parents", "a,c")
    assert done.exit_code == 0, done.output
    fit = kerncause.LearnedKernelScore(kerncause.read_table(table)).fit("b", ["a", "c"])
    assert f"{fit.value:.6f}" in done.output
    gains = {name: float(gain) for name, gain in re.findall(r"^\s+(\w)\s+(-?[\d.]+)\s", done.output, re.M)}
    assert gains["a"] > 10
    assert gains["c"] < 0
    assert run("score", table, "--target", "b").exit_code == 0
    assert "cannot be its own parent" in run("score", table, "--target", "b", "--parents", "b").output


def test_missing_values_from_the_shell(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"]).round(3).astype(str)
    frame.loc[3, "a"] = "NA"
    frame["k"] = np.where(rng.random(40) < 0.5, "NA", "yes")
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert "'a' mixes numbers" in run("discover", tmp_path / "t.csv").output
    for how in ("drop", "testwise"):
        done = run("discover", tmp_path / "t.csv", "--na", "a=NA", "--missing", how, "--workers", 1)
        assert done.exit_code == 0, done.output
        assert "1 row of 40" in done.output
        assert re.search(r"k\s+categorical\s+text, 2 values", done.output)


def test_options_for_columns_with_signs_in_their_names(tmp_path):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a=b": rng.normal(size=40).round(2), "a": rng.normal(size=40).round(2)})
    frame["w=1"] = np.where(rng.random(40) < 0.5, "lo", "hi")
    frame.loc[4, "a=b"] = -9
    frame.to_csv(tmp_path / "t.csv", index=False)
    words = ["--levels", "w=1=lo,hi", "--na", "a=b=-9", "--na", "?", "--missing", "drop", "--workers", 1]
    done = run("discover", tmp_path / "t.csv", *words)
    assert done.exit_code == 0, done.output
    assert "1 row of 40" in done.output
    assert re.search(r"w=1\s+ordinal\s+levels as listed", done.output)


def test_a_terminal_without_arrows_still_gets_its_table(table):
    words = [sys.executable, "-m", "kerncause.cli", "discover", str(table), "--workers", "1"]
    plain = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=plain)
    assert "gain" in done.stdout


def test_names_with_markup_and_escapes_are_text(tmp_path):
    rng = np.random.default_rng(1)
    a = rng.normal(size=60)
    frame = pd.DataFrame({"[red]a[/red]": a, "b\x1b[31m,=": a + 0.1 * rng.normal(size=60)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = run("discover", tmp_path / "t.csv", "--workers", 1)
    assert done.exit_code == 0, done.output
    assert "[red]a[/red]" in done.output
    assert "\x1b" not in done.output
    scored = run("score", tmp_path / "t.csv", "--target", "[red]a[/red]", "--parents", '"b\x1b[31m,="')
    assert scored.exit_code == 0, scored.output


GOOD = "a,b\n" + "\n".join(f"{i / 7},{(i * i % 11) / 3}" for i in range(30)) + "\n"
N = 30


def rows(columns):
    return "\n".join([",".join(columns), *(",".join(str(c[i]) for c in columns.values()) for i in range(N))]) + "\n"


number = [i / 7 for i in range(N)]
BAD = [
    ("", [], "is empty"),
    ("a\n1\n2\n", [], "only the variable 'a'"),
    ("a,b\n1,2\n", [], "one row"),
    ("a,a\n1,2\n3,4\n", [], "'a' stands for several columns"),
    (rows({"a": number, "flat": [3] * N}), [], "'flat' has the same value in every row: drop it"),
    (
        rows({"a": number, "gap": ["", 1.5, 2.5] * 10}),
        [],
        "10 rows of 30 have missing values, in 'gap': choose drop for missing (--missing drop)",
    ),
    (rows({"a": number, "big": ["inf", 1.5, 2.5] * 10}), [], "'big' has 10 infinite values"),
    (rows({"a": number, "void": [""] * N}), [], "'void' has no value at all"),
    (rows({"a": number, "mix": ["x", 1, 2] * 10}), [], "'mix' mixes numbers"),
    (rows({"a": number, "id": [f"p{i}" for i in range(N)]}), [], "'id' is text with a different value in each"),
    (GOOD, ["--kind", "a=float"], "'a' cannot be of kind 'float'"),
    (GOOD, ["--kind", "z=ordinal"], "column 'z' that the table does not have"),
    (GOOD, ["--kind", "a"], "--kind cannot be 'a'"),
    (GOOD, ["--group", "g=a,b", "--group", "h=b"], "'b' is in group 'g' and in group 'h'"),
    (GOOD, ["--missing", "maybe"], "missing (--missing) cannot be 'maybe'"),
    (GOOD, ["--workers", "0"], "workers (--workers) cannot be 0"),
    (GOOD, ["--max-parents", "-2"], "max_parents (--max-parents) cannot be -2"),
    (GOOD, ["--preset", "other"], "there is no preset 'other'"),
    (GOOD, ["--sep", "::"], "is not one character"),
    (GOOD, ["--kind", "a=ordinal", "--kind", "a=continuous"], "speaks of 'a' twice"),
    (GOOD, ["--score", "none"], "there is no score 'none'"),
    (GOOD, ["--search", "none"], "there is no search 'none'"),
]


@pytest.mark.parametrize(("text", "words", "message"), BAD)
def test_bad_input_gets_a_sentence_and_leaves_nothing(tmp_path, text, words, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    done = run("discover", path, "--out", tmp_path / "out", *words)
    assert done.exit_code == 1
    assert message in done.output
    assert "Traceback" not in done.output
    assert isinstance(done.exception, SystemExit)
    assert [p.name for p in tmp_path.iterdir()] == ["bad.csv"]


def test_bad_paths_get_a_sentence(table, tmp_path):
    assert "there is no file" in run("discover", tmp_path / "none.csv").output
    assert "is a directory" in run("discover", tmp_path).output
    done = run("discover", table, "--out", "/proc/none/out")
    assert done.exit_code == 1
    assert "cannot write results to '/proc/none/out'" in done.output
    assert "rows" not in done.output, "said before the work begins"
    assert "is a file" in run("discover", table, "--out", table).output
    assert "there is no variable 'q'" in run("score", table, "--target", "q").output


def test_more_columns_than_rows_is_a_note(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(4, 6)), columns=list("abcdef"))
    frame.to_csv(tmp_path / "wide.csv", index=False)
    done = run("discover", tmp_path / "wide.csv", "--workers", 1, "--max-parents", 1)
    assert done.exit_code == 0, done.output
    assert "note: the table has more variables (6) than rows (4)" in done.output


def test_a_preset_means_the_same_for_one_score_as_for_a_graph(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=120)
    frame = pd.DataFrame({"x": x, "y": x + np.exp(x) * rng.normal(size=120), "k": rng.integers(0, 2, size=120)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    data = Dataset.from_frame(frame)
    options = Plan.of(preset="adaptive").for_table(Extent.of(data)).options
    assert options["noise"] == "even"
    printed = run("score", tmp_path / "t.csv", "--preset", "adaptive", "--target", "y", "--parents", "x")
    (said,) = re.findall(r"The score of y: (-[\d.]+) nats", printed.output)
    assert float(said) == pytest.approx(LearnedKernelScore(data, **options).local_score("y", ["x"]), abs=1e-5)
    refused = run("score", tmp_path / "t.csv", "--preset", "adaptive", "--target", "y", "--set", "noise=local")
    assert refused.exit_code != 0
    assert "noise=even for 3 variables, discrete ones among them, and 120 rows" in " ".join(refused.output.split())


def test_a_score_that_could_not_be_certified_is_told(capsys):
    rng = np.random.default_rng(0)
    result = kerncause.discover(rng.normal(size=(40, 2)), workers=1)
    fits = {name: replace(fit, certified=name != "x2", error_bound=0.25) for name, fit in result.fits.items()}
    Screen(quiet=False).result(replace(result, fits=fits), None)
    assert "the score of 'x2' is known only to within 0.25 nats" in capsys.readouterr().out
    Screen(quiet=False).result(result, None)
    assert "known only" not in capsys.readouterr().out


def test_version_and_help():
    assert run("--version").output.strip() == f"kerncause {kerncause.__version__}"
    for words in (["--help"], ["discover", "--help"], ["score", "--help"]):
        done = run(*words)
        assert done.exit_code == 0
        assert "Examples:" in done.output


def test_the_installed_command_keeps_logs_clean(table, tmp_path):
    """No control characters when the output is not a terminal; a progress line when it is."""
    words = [sys.executable, "-m", "kerncause.cli", "discover", str(table), "--score", "learned", "--workers", "1"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "100"})
    assert "\x1b" not in done.stdout + done.stderr
    assert done.stderr == ""
    import pty

    leader, follower = pty.openpty()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=follower, env={**os.environ, "TERM": "xterm"})
    os.close(follower)
    seen = b""
    while True:
        try:
            chunk = os.read(leader, 4096)
        except OSError:
            break
        if not chunk:
            break
        seen += chunk
    assert process.wait() == 0
    assert b"step" in seen
    assert b"scores" in seen


def test_engine_and_tolerance_are_options(tmp_path):
    values = np.random.default_rng(1).normal(size=(150, 2))
    frame = pd.DataFrame({"a": values[:, 0], "b": np.sin(2 * values[:, 0]) + 0.3 * values[:, 1]})
    frame.to_csv(tmp_path / "data.csv", index=False)
    shown = {}
    for engine in ("dense", "lowrank"):
        call = ["score", str(tmp_path / "data.csv"), "--target", "b", "--parents", "a", "--engine", engine]
        result = run(*call, "--tolerance", "0.001")
        assert result.exit_code == 0
        shown[engine] = result.output
    assert "engine dense" in shown["dense"]
    assert "engine lowrank of rank" in shown["lowrank"]
    assert "exact to" in shown["lowrank"]
    for option, value in (("--tolerance", "0"), ("--tolerance", "-1"), ("--engine", "magic")):
        refused = run("discover", str(tmp_path / "data.csv"), option, value)
        assert refused.exit_code != 0
        assert option.removeprefix("--") in refused.stderr
