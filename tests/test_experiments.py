"""Experiments: frozen specs, rows that survive anything, figures."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import linregress
from typer.testing import CliRunner

from kerncause import DataError, OptionError, networks
from kerncause.cli import app
from kerncause.experiments import EXPERIMENTS, SCALES, Cell, Experiment, Progress, Row, plot, run, tables, written_into
from kerncause.experiments import registry as registry_module
from kerncause.experiments.claims import Number, answered, paired, slope
from kerncause.experiments.methods import METHODS
from kerncause.experiments.run import measured, seconds_left
from kerncause.experiments.specs import fig1, fig4_convergence
from kerncause.experiments.store import appending, read_rows, results_path
from kerncause.experiments.tables import network_table, simulated_table
from kerncause.independence.hsic import hsic, hsic_of_columns

# What each version of each experiment asks for. A change of a spec needs a new version, and a new line here.
FROZEN = {
    "fig1": (1, "3618ed80e9d3"),
    "fig2-3": (1, "84ca0a0cb511"),
    "fig4-real": (1, "c51656e9d045"),
    "fig4-convergence": (1, "9c30f8ccfb4d"),
    "fig4-time": (1, "d589edf3950c"),
    "consistency": (1, "d7bb6f74d15b"),
    "bandwidths": (1, "377e61034034"),
    "appendix-discrete": (1, "a4bf402f5daf"),
    "appendix-1000": (1, "71c5d4d582e8"),
    "appendix-gradient": (1, "5934ae07feba"),
    "searches": (1, "36bc991a3b3f"),
    "searches-adaptive": (1, "36bc991a3b3f"),
    "searches-networks": (1, "2f7cfada4e8d"),
    "single-changes": (1, "2d06b566b361"),
    "more-variables": (1, "d534802e6e50"),
    "accuracy-development": (1, "42acaaad561e"),
    "accuracy-test": (3, "ee6abb6e77d9"),
}
# Where variants may be added, what is frozen are the cells of one; what each of them means is in test_accuracy.py.
GROWING = {"accuracy-development": "paper", "accuracy-test": "paper", "single-changes": "unchanged"}


def digest(experiment):
    one = GROWING.get(experiment.name)
    keys = [[cell.key for cell in experiment.cells(scale) if one in (None, cell.method)] for scale in SCALES]
    return hashlib.sha256(json.dumps(keys).encode()).hexdigest()[:12]


def command(*words):
    return CliRunner().invoke(app, list(map(str, words)))


@pytest.mark.parametrize("experiment", EXPERIMENTS.values(), ids=lambda e: e.name)
class TestEverySpec:
    def test_it_is_frozen(self, experiment):
        assert FROZEN[experiment.name] == (experiment.version, digest(experiment))

    def test_its_cells_are_different(self, experiment):
        for scale in SCALES:
            cells = experiment.cells(scale)
            assert len({cell.key for cell in cells}) == len(cells) > 0

    def test_full_repeats_small_and_adds_to_it(self, experiment):
        small, full = ({cell.key for cell in experiment.cells(scale)} for scale in ("small", "full"))
        assert small <= full

    def test_its_methods_are_known(self, experiment):
        graphs = {"appendix-1000", "appendix-discrete", "appendix-gradient", "bandwidths", "fig2-3", "fig4-real"}
        if experiment.name in graphs:
            assert {cell.method for cell in experiment.cells("full")} <= set(METHODS)


def test_smoke_runs_and_draws(tmp_path):
    done = command("experiment", "run", "fig4-convergence", "--scale", "smoke", "--out", tmp_path, "--workers", 2)
    assert done.exit_code == 0, done.output
    assert "8 rows" in done.output
    assert "<svg" in (tmp_path / "fig4-convergence.svg").read_text()
    assert (tmp_path / "fig4-convergence.png").read_bytes().startswith(b"\x89PNG")
    first = (tmp_path / "fig4-convergence.svg").read_bytes()
    assert command("experiment", "plot", "fig4-convergence", "--scale", "smoke", "--out", tmp_path).exit_code == 0
    assert (tmp_path / "fig4-convergence.svg").read_bytes() == first
    listed = command("experiment", "list", "--out", tmp_path).output
    assert "0/200" in listed


@pytest.mark.parametrize(
    "name", ["fig1", "fig4-time", "consistency", "bandwidths", "searches-networks", "more-variables"]
)
def test_other_smokes_run_and_draw(tmp_path, name):
    only = {
        "bandwidths": {"kind": ["continuous"], "density": ["0.2"]},
        "fig4-time": {"method": ["marginal", "marginal, dense"], "rows": ["50"]},
    }.get(name, {})
    rows = run(name, "smoke", tmp_path, workers=2, only=only)
    assert rows
    assert [row.error for row in rows if row.error] == []
    assert all(path.exists() for path in plot(name, "smoke", tmp_path))


def test_figures_need_matplotlib(tmp_path, monkeypatch):
    run("consistency", "smoke", tmp_path, workers=1, only={"method": ["gp"]})
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(OptionError, match=r"kerncause\[plots\]"):
        plot("consistency", "smoke", tmp_path)
    done = command("experiment", "run", "consistency", "--scale", "smoke", "--out", tmp_path, "--resume")
    assert done.exit_code == 0
    assert "kerncause[plots]" in done.output


# A small experiment whose cells do as they are told.


def told(cell):
    with Path(cell["log"]).open("a") as log:
        log.write(f"{cell.seed}\n")
    if cell.method == "fails":
        raise DataError("there is nothing to measure")
    if cell.method == "breaks":
        raise ValueError("a mistake\nof ours")
    if cell.method == "is asked wrongly":
        raise OptionError("no such option")
    if cell.method == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    return {"value": float(cell.seed) ** 2, "odd": float("nan"), "list": [1.0, float("inf")]}


def toy(path, methods=("works",), seeds=4):
    cells = [Cell.of(method, seed, log=str(path)) for seed in range(seeds) for method in methods]
    return Experiment("toy", "a toy", 1, lambda scale: cells, told, lambda frame: None)


@pytest.fixture
def toy_of(tmp_path, monkeypatch):
    def made(**options):
        experiment = toy(tmp_path / "log", **options)
        monkeypatch.setattr(registry_module, "EXPERIMENTS", {"toy": experiment})
        return experiment

    return made


def asked(tmp_path):
    return sorted(map(int, (tmp_path / "log").read_text().split()))


def test_rows_are_kept_and_never_computed_twice(tmp_path, toy_of):
    toy_of(seeds=2)
    rows = run("toy", "small", tmp_path / "out", workers=2)
    assert [row.values["value"] for row in rows] == [0.0, 1.0]
    assert rows[0].values["odd"] is None
    assert rows[0].values["list"] == [1.0, None]
    toy_of(seeds=4)
    with pytest.raises(OptionError, match="2 rows already: add --resume"):
        run("toy", "small", tmp_path / "out")
    rows = run("toy", "small", tmp_path / "out", resume=True, workers=2)
    assert [row.values["value"] for row in rows] == [0.0, 1.0, 4.0, 9.0]
    assert asked(tmp_path) == [0, 1, 2, 3]


def test_a_failure_is_a_row_and_can_be_tried_again(tmp_path, toy_of):
    toy_of(methods=("works", "fails", "breaks"), seeds=1)
    rows = run("toy", "small", tmp_path / "out", workers=1)
    assert [row.error for row in rows] == [None, "there is nothing to measure", r"ValueError: a mistake\nof ours"]
    run("toy", "small", tmp_path / "out", workers=1, resume=True)
    assert len(asked(tmp_path)) == 3
    run("toy", "small", tmp_path / "out", workers=1, resume=True, retry=True)
    assert len(asked(tmp_path)) == 5


def test_a_wrong_request_ends_the_run(tmp_path, toy_of):
    toy_of(methods=("is asked wrongly",), seeds=1)
    with pytest.raises(OptionError, match="no such option"):
        run("toy", "small", tmp_path / "out", workers=1)


@pytest.mark.parametrize("workers", [1, 2])
def test_who_dies_is_found_out(tmp_path, workers):
    experiment = toy(tmp_path / "log", methods=("works", "dies"), seeds=3)
    rows = list(measured(experiment.measure, experiment.cells("small"), workers))
    assert len(rows) == 6
    assert {row.cell.method for row in rows if row.error} == {"dies"}
    assert sum("died" in (row.error or "") for row in rows) == 3


def test_only_some_cells(tmp_path, toy_of):
    experiment = toy_of(methods=("works", "fails"), seeds=2)
    assert {cell.method for cell in experiment.chosen("small", {"method": ["works"]})} == {"works"}
    with pytest.raises(OptionError, match="toy at scale small has no method=other"):
        experiment.chosen("small", {"method": ["other"]})
    with pytest.raises(OptionError, match="has no colour=red"):
        experiment.chosen("small", {"colour": ["red"]})
    with pytest.raises(OptionError, match="scale"):
        experiment.chosen("huge")


def test_progress_is_told(tmp_path, toy_of):
    toy_of(methods=("works", "fails"), seeds=2)
    seen = []
    run("toy", "small", tmp_path / "out", workers=1, watch=seen.append)
    assert seen[0] == Progress(0, 4, 0, None)
    assert [p.done for p in seen] == [0, 1, 2, 3, 4]
    assert seen[-1].failed == 2
    assert seen[-1].seconds_left == 0.0


def test_the_time_left_is_guessed_from_what_is_alike():
    def cell(method, seed, rows):
        return Cell.of(method, seed, rows=rows)

    rows = [Row(cell("slow", 0, 10), {}, 8.0), Row(cell("slow", 0, 20), {}, 16.0), Row(cell("fast", 0, 10), {}, 2.0)]
    assert seconds_left(rows, [cell("slow", 1, 20)], 1) == 16.0  # the same with another seed
    assert seconds_left(rows, [cell("slow", 1, 30)], 2) == 6.0  # the same method, on two cores
    assert seconds_left(rows, [cell("new", 1, 10)], 1) == pytest.approx(26 / 3)
    assert seconds_left([], [cell("new", 1, 10)], 1) is None


class TestResultsFile:
    def row(self, seed=0):
        return Row(Cell.of("works", seed, log="here"), {"value": 1.5, "text": "ä"}, 0.25, None, "1.0")

    def test_a_row_comes_back(self, tmp_path):
        experiment = toy(tmp_path)
        with appending(experiment, tmp_path, resume=False) as file:
            file.add(self.row())
        (back,) = read_rows(experiment, tmp_path)
        assert back.as_json() == self.row().as_json()

    def test_a_line_cut_short_is_dropped(self, tmp_path):
        experiment = toy(tmp_path)
        with appending(experiment, tmp_path, resume=False) as file:
            file.add(self.row(0))
            file.add(self.row(1))
        path = results_path(experiment, tmp_path)
        whole = path.read_bytes()
        lines = whole.splitlines(keepends=True)
        for cut in range(len(whole) + 1):
            path.write_bytes(whole[:cut])
            complete = whole[:cut].count(b"\n")
            assert len(read_rows(experiment, tmp_path)) == max(complete - 1, 0)
            with appending(experiment, tmp_path, resume=True) as file:
                for row in [self.row(seed) for seed in range(len(file.rows), 2)]:
                    file.add(row)
            assert path.read_bytes() == whole
        assert len(lines) == 3

    def test_the_later_row_counts(self, tmp_path, toy_of):
        toy_of(methods=("works",), seeds=1)
        run("toy", "small", tmp_path / "out", workers=1)
        path = tmp_path / "out" / "toy.jsonl"
        changed = json.loads(path.read_text().splitlines()[1]) | {"values": {"value": 7.0}}
        with path.open("a") as file:
            file.write(json.dumps(changed) + "\n")
        (row,) = run("toy", "small", tmp_path / "out", resume=True)
        assert row.values["value"] == 7.0

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ('{"experiment": "other", "version": 1}\n', "rows of experiment other, and this is experiment toy"),
            ('{"experiment": "toy", "version": 0}\n', "rows of version 0, and this is version 1"),
            ("a,b\n1,2\n", "is no file of rows"),
            ("[]\n", "has rows of something else"),
            ('{"experiment": "toy", "version": 1}\n{"method": 1}\n', "is no results file"),
        ],
    )
    def test_other_files_are_refused_and_left_alone(self, tmp_path, content, message):
        path = tmp_path / "toy.jsonl"
        path.write_text(content)
        with pytest.raises(DataError, match=message), appending(toy(tmp_path), tmp_path, resume=True):
            pass
        assert path.read_text() == content

    def test_two_runs_cannot_write_one_file(self, tmp_path):
        code = (
            "import sys; from tests.test_experiments import *\n"
            f"with appending(toy('x'), {str(tmp_path)!r}, resume=True): print('open', flush=True); sys.stdin.read()"
        )
        with subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other:
            assert other.stdout.readline() == "open\n"
            with (
                pytest.raises(OptionError, match="another run is writing"),
                appending(toy(tmp_path), tmp_path, resume=True),
            ):
                pass
            other.stdin.close()

    def test_a_place_that_cannot_be_written(self, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(OptionError, match="cannot write"), appending(toy(tmp_path), tmp_path / "file", resume=True):
            pass


def table_of(directory, name):
    rows = read_rows(EXPERIMENTS[name], directory)
    return sorted((row.cell.key, json.dumps(row.values, sort_keys=True), row.error or "") for row in rows)


def test_a_run_killed_ten_times_gives_the_same_table(tmp_path):
    code = "run('fig2-3', 'smoke', sys.argv[1], workers=2, resume=True)"
    words = [sys.executable, "-c", f"import sys; from kerncause.experiments import run; {code}"]
    subprocess.run([*words, tmp_path / "whole"], check=True)
    whole = table_of(tmp_path / "whole", "fig2-3")
    assert len(whole) == len(EXPERIMENTS["fig2-3"].cells("smoke"))
    moments, path, counts = random.Random(0), results_path(EXPERIMENTS["fig2-3"], tmp_path / "killed"), []
    for _ in range(10):
        before = path.stat().st_size if path.exists() else 0
        process = subprocess.Popen([*words, tmp_path / "killed"])
        # Somewhere between two rows, or within one: just when the file grows, or a moment later.
        while process.poll() is None and (not path.exists() or path.stat().st_size == before):
            time.sleep(0.001)
        time.sleep(moments.choice([0.0, moments.uniform(0.0, 0.2)]))
        process.kill()
        process.wait()
        counts.append(len(table_of(tmp_path / "killed", "fig2-3")))
    assert counts[-1] < len(whole), "the run was over before the last kill"
    subprocess.run([*words, tmp_path / "killed"], check=True)
    assert table_of(tmp_path / "killed", "fig2-3") == whole


def test_tables_follow_from_their_cell():
    cell = Cell.of("learned", 3, kind="mixed", density=0.4, rows=60)
    (one, truth), (other, _) = simulated_table(cell), simulated_table(cell)
    assert one.hash == other.hash
    assert len(truth.edges) == round(0.4 * 28)
    other_kind = simulated_table(Cell.of("learned", 3, kind="continuous", density=0.4, rows=90))[1]
    assert other_kind == truth  # the graph depends on density and realisation alone
    sample, dag = network_table(Cell.of("gp", 1, network="sachs", rows=50))
    assert dag == networks.load("sachs").dag
    assert {variable.kind.value for variable in sample.variables} == {"ordinal"}


class TestHSIC:
    def literal(self, x, y):
        def kernel(v):
            d = np.abs(v[:, None] - v[None, :])
            return np.exp(-(d**2) / (2 * np.median(d[np.triu_indices(len(v), 1)]) ** 2))

        n = len(x)
        H = np.eye(n) - np.ones((n, n)) / n
        return np.trace(kernel(x) @ H @ kernel(y) @ H) / n**2

    def test_it_is_the_formula(self):
        rng = np.random.default_rng(1)
        x, y = rng.normal(size=(2, 40))
        assert hsic(x, y) == pytest.approx(self.literal(x, y), rel=1e-12)
        columns = rng.normal(size=(40, 3))
        expected = [self.literal(columns[:, j], y) for j in range(3)]
        assert hsic_of_columns(columns, y) == pytest.approx(expected, rel=1e-12)

    def test_it_sees_dependence(self):
        rng = np.random.default_rng(2)
        x = rng.normal(size=300)
        assert hsic(x, x**2) > 10 * hsic(x, rng.normal(size=300))

    def test_a_constant_depends_on_nothing(self):
        assert hsic(np.ones(10), np.arange(10.0)) == pytest.approx(0.0, abs=1e-15)


def test_without_the_jacobian_the_features_collapse():
    found = {
        method: fig1.measure(Cell.of(method, 1, rows=100, reading="variance")) for method in ("without J", "learned")
    }
    assert found["without J"]["response_bandwidth"] == pytest.approx(10.0)
    assert found["learned"]["response_bandwidth"] < 5.0
    assert found["without J"]["spread"] < 0.1 * found["learned"]["spread"]


class TestAdam:
    def test_the_first_step_is_the_rate_in_every_direction(self):
        losses = fig4_convergence.adam(
            lambda at: (float(at @ at), 2 * at), np.array([1.0, -2.0]), np.full(2, -9.0), np.full(2, 9.0)
        )
        assert losses[0] == 5.0
        assert losses[1] == pytest.approx((1 - 0.005) ** 2 + (2 - 0.005) ** 2)
        assert len(losses) == 101
        assert all(later < earlier for earlier, later in pairwise(losses))

    def test_bounds_are_kept(self):
        seen = []

        def loss(at):
            seen.append(at.copy())
            return float(at.sum()), np.ones(1)

        fig4_convergence.adam(loss, np.array([0.3]), np.array([0.1]), np.array([10.0]))
        assert min(at.min() for at in seen) == 0.1

    @pytest.mark.parametrize("method", ["learned", "marginal"])
    def test_the_gradient_is_that_of_the_loss(self, method, monkeypatch):
        taken = {}
        monkeypatch.setattr(
            fig4_convergence, "adam", lambda loss, start, lows, highs: taken.update(loss=loss, at=start)
        )
        fig4_convergence.measure(Cell.of(method, 1, rows=40))
        loss, at = taken["loss"], taken["at"]
        gradient = loss(at)[1]
        for i in range(len(at)):
            step = np.zeros(len(at))
            step[i] = 1e-5
            slope = (loss(at + step)[0] - loss(at - step)[0]) / 2e-5
            assert gradient[i] == pytest.approx(slope, rel=1e-5, abs=1e-7)

    def test_losses_are_scaled_from_their_start_to_their_smallest(self):
        assert fig4_convergence.normalised(np.array([[4.0, 3.0, 2.0], [1.0, 1.0, 1.0]])).tolist() == [
            [1.0, 0.5, 0.0],
            [0.0, 0.0, 0.0],
        ]


class TestClaims:
    def test_nothing_is_claimed_without_results(self, tmp_path):
        claims = answered(tmp_path)
        assert [claim.number for claim in claims] == list(range(1, 10))
        assert {s.verdict for claim in claims for s in claim.statements} == {"no results"}

    def test_a_slope_is_that_of_least_squares(self):
        rng = np.random.default_rng(0)
        x = np.repeat([0.2, 0.4, 0.6, 0.8], 5)
        y = 0.3 * x + 0.1 * rng.normal(size=20)
        index = pd.MultiIndex.from_arrays([x, range(20)], names=["density", "seed"])
        found, expected = slope(pd.Series(y, index=index), "density"), linregress(x, y)
        assert (found.mean, found.error) == pytest.approx((expected.slope, expected.stderr))

    def test_methods_are_compared_on_the_same_tables(self):
        frame = pd.DataFrame(
            {"method": ["a", "b", "a", "b", "a"], "seed": [0, 0, 1, 1, 2], "f": [1.0, 0.5, 3.0, 2.0, 9]}
        )
        assert paired(frame, "f", "a", "b", ["seed"]).tolist() == [0.5, 1.0]

    def test_a_verdict_needs_two_standard_errors(self):
        assert Number.of([1.0, 1.1, 0.9]).sign == 1
        assert Number.of([-1.0, -1.1, -0.9]).sign == -1
        assert Number.of([1.0, -1.0, 0.5]).sign == 0
        assert Number.of([2.0]).sign == 0  # one realisation has no error to compare with
        assert str(Number.of([1.0, 2.0])) == "+1.50 ± 0.50"
        assert str(Number.of([0.00021, 0.00022])) == "+0.0002150 ± 0.0000050"

    def test_numbers_come_from_the_rows(self, tmp_path):
        values = {"median": [0.006, 0.007, 0.0062], "learned": [0.004, 0.0045, 0.0041], "without J": [0.001] * 3}
        with appending(EXPERIMENTS["fig1"], tmp_path, resume=False) as file:
            for method, each in values.items():
                for seed, value in enumerate(each):
                    for reading in ("variance", "deviation"):
                        cell = Cell.of(method, seed, rows=500, reading=reading)
                        spread = {"without J": 0.01}.get(method, 0.2) + 0.001 * seed * (method == "learned")
                        file.add(Row(cell, {"hsic": value, "spread": spread}, 1.0))
        claim = answered(tmp_path)[8]
        assert {s.verdict for s in claim.statements} == {"holds"}
        gaps = np.subtract(values["median"], values["learned"])
        assert claim.statements[0].number == f"{gaps.mean():+.5f} ± {gaps.std(ddof=1) / 3**0.5:.5f} (3)"
        assert "means 0.0064 and 0.0042" in claim.statements[0].says

    def test_tables_are_put_into_a_page_once(self, tmp_path):
        page = "before\n<!-- claim 9 -->\nold\n<!-- end -->\nafter <!-- end -->\n"
        once = written_into(page, tables(tmp_path))
        assert once.startswith("before\n<!-- claim 9 -->\n\n**9. The median")
        assert once.endswith("<!-- end -->\nafter <!-- end -->\n")
        assert "old" not in once
        assert written_into(once, tables(tmp_path)) == once

    def test_the_command_line_prints_them(self, tmp_path):
        done = command("experiment", "claims", "--out", tmp_path)
        assert done.exit_code == 0, done.output
        assert "**9. The median" in done.output
        missing = command("experiment", "claims", "--out", tmp_path, "--into", tmp_path / "none.md")
        assert missing.exit_code == 1
        assert "--into" in missing.output

    def test_the_page_says_what_the_results_say(self):
        root = Path(__file__).parent.parent
        page = (root / "docs" / "reproduction.md").read_text(encoding="utf-8")
        found = tables(root / "experiments")
        assert written_into(page, found) == page
        accuracy = (root / "docs" / "accuracy.md").read_text(encoding="utf-8")
        assert written_into(accuracy, found) == accuracy
        assert all(f"<!-- claim {number} -->" in page for number in range(1, 10))
        assert "<!-- compute -->" in page
