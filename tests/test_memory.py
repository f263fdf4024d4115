"""Memory: how much one score takes, how many workers fit, and what is refused before it is begun."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from kerncause import ComputationError, Dataset, OptionError, discover, load_result, make_score
from kerncause.cli import app
from kerncause.memory import PLANNED_PARENTS, WORKER_BYTES, Staffing, available_bytes, memory_bytes, resident_bytes
from kerncause.regression import MOST_MEMORY, Parameters, Problem, Sizes, choose_engine, make_engine, most_bytes
from kerncause.regression.lowrank import LowRankEngine
from kerncause.scores import SCORES, ScoreCache
from kerncause.scores.base import SizedScore
from kerncause.text import said_bytes

runner = CliRunner()
MB = 2**20


def frame(n=80, p=4, seed=0):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(n, p))
    for j in range(1, p):
        columns[:, j] += np.sin(2 * columns[:, rng.integers(j)])
    return pd.DataFrame(columns, columns=[f"v{j}" for j in range(p)])


def score_of(n=80, p=4, name="learned", **options):
    return make_score(name, Dataset.from_frame(frame(n, p)), **options)


# What is asked for.


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("500M", 500 * MB),
        ("4G", 4096 * MB),
        ("1.5G", 1536 * MB),
        (" 2 g ", 2048 * MB),
        ("512MiB", 512 * MB),
        ("1GB", 1024 * MB),
        ("3T", 3 * 2**40),
        ("800K", 800 * 1024),
        (123456, 123456),
        (None, None),
    ],
)
def test_sizes_are_read(text, number):
    assert memory_bytes(text) == number


@pytest.mark.parametrize(
    "text", ["", "4", "G", "-1G", "four", "1e3M", "4G please", "1.G", 0, -5, True, 2.5, "\u0663G", "0G", "9" * 99]
)
def test_what_is_no_size_is_refused(text):
    with pytest.raises(OptionError, match=r"memory_limit \(--memory-limit\) cannot be '.*such as 500M or 1.5G"):
        memory_bytes(text)
    with pytest.raises(OptionError, match="memory_limit"):
        discover(frame(), memory_limit=text)


def test_a_size_is_said_and_read_back():
    for number in (700 * MB, 3 * 2**30):
        assert memory_bytes(said_bytes(number)) == number


def test_it_is_for_searches_by_a_score():
    for other in ({"search": "pc"}, {"method": "notears"}):
        with pytest.raises(OptionError, match=r"memory_limit \(--memory-limit\) is for searches by a score"):
            discover(frame(), memory_limit="4G", **other)

    class Mine:
        variables = ("v0", "v1", "v2", "v3")

        def local_score(self, target, parents):
            return 0.0

    with pytest.raises(OptionError, match="cannot be kept by the score Mine, which does not say what it needs"):
        discover(frame(), score=Mine(), memory_limit="4G", workers=1)
    assert discover(frame(), score=Mine(), workers=1).edge_list == ()


# What a score takes.


@pytest.mark.parametrize("name", SCORES)
def test_every_score_of_ours_says_what_it_takes(name):
    data = Dataset.from_frame(frame(300).round() if name == "bdeu" else frame(300))
    score = make_score(name, data)
    assert isinstance(score, SizedScore)
    assert 0 < score.least_memory(3) <= score.most_memory(3) <= MOST_MEMORY
    assert score.least_memory(3, 0.5) < score.least_memory(3)
    assert score.most_memory(1) <= score.most_memory(3)


def test_more_rows_take_more_until_features_are_not_kept():
    takes = [score_of(n).most_memory(3) for n in (100, 500, 1000, 2000, 4000)]
    assert takes == sorted(takes)
    assert most_bytes(Sizes(10**7, 10**7, (10**7,) * 4, 4, False, 3, 1), "auto") < 8 * 10**7 * 60
    assert score_of(4000, engine="dense").most_memory(3) > 2 * score_of(4000).most_memory(3)


def test_gaps_take_copies_of_the_table():
    holed = frame(2000)
    holed.loc[::7, "v1"] = np.nan
    whole, gaps = Dataset.from_frame(frame(2000)), Dataset.from_frame(holed, missing="testwise")
    assert make_score("bic", gaps).most_memory(2) > make_score("bic", whole).most_memory(2)


# The peak of this program alone: getrusage would tell that of the process which started it, if it was higher.
HIGHEST = """
def highest():
    with open("/proc/self/status") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM"))
"""

PEAK = (
    HIGHEST
    + """
import json, sys
import numpy as np
from kerncause import Dataset
from kerncause.regression import Parameters, Problem
from kerncause.regression.choose import ENGINES
from kerncause.regression import Sizes, most_bytes

engine, n, k, levels, memory = sys.argv[1], *map(int, sys.argv[2:])
rng = np.random.default_rng(0)
X = rng.normal(size=(n, k + 1))
X[:, k] += 0.7 * np.sin(2 * X[:, :k]).sum(axis=1)
if levels:
    X = np.round(X * levels / 4)
data = Dataset.from_array(X)
names = data.names
points = [data.points(name) for name in names]
at = Parameters(1.0, np.ones(k), 0.3)
small = Dataset.from_array(X[:200])
few = Problem(small.points(names[k]), tuple(small.points(name) for name in names[:k]))
ENGINES[engine].of(few, at, 0.01).certified(at)  # what libraries take the first time is not of this score
problem = Problem(points[k], tuple(points[:k]), memory=float(memory))
before = highest()
made = ENGINES[engine].of(problem, at, 0.01)
value = made.evaluate(at).value
certified = made.certified(at)[0]
said = most_bytes(Sizes.of(data, k), engine, float(memory))
print(json.dumps([highest() - before, said, ENGINES[engine].memory(problem, at), value, certified, made.name]))
"""
)


def peak(engine, n, k, levels=0, memory=int(MOST_MEMORY)):
    """Run one engine in a process of its own; return what it took, and what was said before."""
    words = [sys.executable, "-c", PEAK, engine, *map(str, (n, k, levels, memory))]
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    return json.loads(subprocess.run(words, capture_output=True, text=True, check=True, env=alone).stdout)


@pytest.mark.parametrize(
    ("engine", "n", "k", "levels"),
    [
        ("dense", 1200, 1, 0),
        ("dense", 1200, 3, 0),
        ("semidense", 1800, 2, 0),
        ("compressed", 1200, 2, 0),
        ("broad", 1800, 1, 0),
    ],
)
def test_exact_engines_take_what_they_say(engine, n, k, levels):
    took, said, own, *_ = peak(engine, n, k, levels)
    assert said == own
    assert took <= 1.1 * said
    assert said <= 2.0 * took


@pytest.mark.long
@pytest.mark.parametrize(("n", "k"), [(20_000, 3), (30_000, 5), (50_000, 4)])
def test_many_rows_take_what_was_said(n, k):
    took, said, *_, name = peak("lowrank", n, k)
    assert name == "lowrank"
    assert took <= 1.1 * said
    assert said <= 2.5 * took


WORKERS = (
    HIGHEST
    + """
import json, os, sys
import numpy as np
from kerncause import Dataset, LearnedKernelScore
from kerncause.memory import Staffing, memory_bytes
from kerncause.parallel import batches
from kerncause.scores import Query

class Peaking(LearnedKernelScore):
    def fit(self, target, parents=(), begin=None, *, settle=True):
        fit = super().fit(target, parents, begin)  # with its certificate, which takes most
        with open(sys.argv[1], "a") as file:
            file.write(json.dumps([os.getpid(), highest()]) + "\\n")
        return fit

rng = np.random.default_rng(0)
X = rng.normal(size=(20_000, 4))
X[:, 3] += 0.7 * np.sin(2 * X[:, :3]).sum(axis=1)
data = Dataset.from_array(X)
score = Peaking(data)
crew = Staffing.of(score, 8, limit=memory_bytes(sys.argv[2]))
sets = [frozenset({"x1", "x2", "x3"}), frozenset({"x1", "x3"}), frozenset({"x2", "x3"})]
with batches(crew.score, crew.workers) as batch:
    list(batch([Query("x4", parents) for parents in sets]))
print(json.dumps([os.getpid(), crew.workers, crew.settings["memory"]]))
"""
)


@pytest.mark.long
@pytest.mark.parametrize(("limit", "workers"), [("1100M", 2), ("450M", 1)])
def test_workers_stay_within_what_was_promised(tmp_path, limit, workers):
    words = [sys.executable, "-c", WORKERS, str(tmp_path / "peaks"), limit]
    alone = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(words, capture_output=True, text=True, check=True, env=alone)
    main, count, memory = json.loads(done.stdout)
    assert count == workers
    peaks = dict(json.loads(line) for line in (tmp_path / "peaks").read_text().splitlines())
    assert (main in peaks) == (workers == 1)
    # Of what a worker holds, about 200 MB are the program's: shared with the process that started it.
    highest = max(peaks.values())
    assert highest <= memory_bytes(limit)
    if workers > 1:
        assert highest <= 210 * MB + memory["score"] + WORKER_BYTES
        assert highest >= 100 * MB + memory["score"] / 2, "nor is much more promised than is needed"


@pytest.mark.long
def test_with_less_memory_the_same_number_is_computed():
    """Features that there is no room for are computed twice; not a bit of the result changes."""
    took, _said, _, value, certified, _ = peak("lowrank", 20_000, 3)
    less, bound, _, *same, _ = peak("lowrank", 20_000, 3, memory=150 * MB)
    assert bound <= 150 * MB
    assert less <= 1.1 * 150 * MB < took
    assert same == [value, certified]


def test_little_memory_changes_the_second_pass_and_not_the_value():
    data = Dataset.from_frame(frame(900))
    points = data.points("v0"), tuple(data.points(name) for name in ("v1", "v2"))
    at = Parameters(1.0, np.ones(2), 0.3)
    amply, barely = (Problem(*points, memory=memory) for memory in (MOST_MEMORY, 1.0))
    one, other = (LowRankEngine.of(problem, at, 0.01) for problem in (amply, barely))
    assert one.name == other.name == "lowrank"
    a, b = one.evaluate(at), other.evaluate(at)
    assert (a.value, a.noise, a.response_bandwidth) == (b.value, b.noise, b.response_bandwidth)
    assert one.certified(at) == other.certified(at)


def test_an_engine_without_room_is_left_out_or_refused():
    data = Dataset.from_array(np.random.default_rng(0).integers(0, 12, size=(4000, 3)).astype(float))
    at = Parameters(1.0, np.ones(2), 0.3)
    points = data.points("x1"), (data.points("x2"), data.points("x3"))
    assert choose_engine(Problem(*points), "auto", at, 0.01) == "compressed"
    assert choose_engine(Problem(*points, memory=1e5), "auto", at, 0.01) == "lowrank"
    for engine in ("dense", "compressed"):
        with pytest.raises(ComputationError, match=rf"{engine} engine .* for one score\): draw a sample of at most"):
            make_engine(Problem(*points, memory=1e5), engine, at, 0.01)
    with pytest.raises(OptionError, match="memory cannot be"):
        make_score("learned", data, memory=0)


def test_within_is_an_option_of_the_score():
    score = score_of()
    held = score.within(100 * MB)
    assert held.options["memory"] < 100 * MB
    assert "memory" not in score.options, "scores kept in files stay where they are"
    assert held.most_memory(3) <= 100 * MB
    assert type(held)(held.data, **held.options).options == held.options
    assert held.fit("v1", ["v0"]).value == score.fit("v1", ["v0"]).value


# How many workers.


class Sized:
    """A score that says it takes so much."""

    variables = tuple("abcdefgh")

    def __init__(self, most, least=0, held=None):
        self.most, self.least, self.held = most, least, held

    def local_score(self, target, parents):
        return 0.0

    def most_memory(self, parents):
        return self.most * (1 if parents <= PLANNED_PARENTS else 4)

    def least_memory(self, parents, share=1.0):
        return share * self.least

    def within(self, memory):
        return Sized(self.most, self.least, memory)


@pytest.fixture
def holding(monkeypatch):
    """A process that holds 200 MB on a system that has 1000 left, to the byte."""
    monkeypatch.setattr("kerncause.memory.STEP", 1)
    monkeypatch.setattr("kerncause.memory.resident_bytes", lambda: 200 * MB)
    monkeypatch.setattr("kerncause.memory.available_bytes", lambda: 1000 * MB)


def crew(most, least=0, workers=8, **how):
    return Staffing.of(Sized(most * MB, least * MB), workers, **how)


def test_as_many_workers_as_fit(holding):
    found = crew(100, limit=1200 * MB)
    part = found.settings["memory"]["score"]
    assert part == 250 * MB, "a quarter of what is free, because sets of more parents may take more than was planned"
    assert found.workers == 1000 * MB // (part + WORKER_BYTES) == 3
    assert found.score.held == part
    assert "3 of 8 workers used: the limit is 1.2 GiB" in found.settings["memory"]["note"]
    assert found.settings["workers"] == 3
    ample = crew(100, limit=2**40)
    assert ample.workers == 8
    assert "note" not in ample.settings["memory"]
    assert ample.score.held is None


@pytest.mark.parametrize("limit", [300, 700, 1200, 5000])
def test_the_part_of_a_score_does_not_depend_on_the_workers(holding, limit):
    found = [crew(100, workers=workers, limit=limit * MB) for workers in (1, 2, 7)]
    assert len({(one.settings["memory"]["score"], one.score.held) for one in found}) == 1
    for one in found:
        total = 200 * MB + one.workers * one.settings["memory"]["score"]
        assert total + (one.workers > 1) * one.workers * WORKER_BYTES <= limit * MB


def test_one_worker_makes_do_with_what_there_is(holding):
    found = crew(900, 50, limit=500 * MB)
    assert found.workers == 1
    assert found.score.held == 300 * MB


def test_too_little_for_one_is_refused_with_what_would_do(holding):
    with pytest.raises(ComputationError, match=r"the limit of 500 MiB \(--memory-limit\) is too little, .* 600 MiB"):
        crew(900, 400, limit=500 * MB)
    with pytest.raises(ComputationError, match=r"hold 200 MiB already, and one score .* allow 600 MiB, or draw"):
        crew(900, 400, limit=500 * MB)
    with pytest.raises(ComputationError, match=r"allow 600 MiB$"):
        crew(900, 400, limit=100 * MB)


def test_without_a_limit_the_system_is_looked_at(holding, monkeypatch):
    few = crew(100)
    assert few.workers == 900 * MB // (100 * MB + WORKER_BYTES) == 6
    assert "the system has 1,000 MiB left" in few.settings["memory"]["note"]
    assert few.score.held is None, "the scores are those of every other machine"
    enough = crew(10)
    assert (enough.workers, enough.settings) == (8, {})
    tight = crew(1500, 100)
    assert (tight.workers, tight.score.held) == (1, 900 * MB)
    with pytest.raises(ComputationError, match=r"the 1,000 MiB that the system has left is too little"):
        crew(1500, 1200)
    monkeypatch.setattr("kerncause.memory.available_bytes", lambda: None)
    assert crew(10**6).settings == {}


def test_on_an_executor_the_limit_is_that_of_each_score(holding):
    found = crew(900, 50, has_executor=True, limit=500 * MB)
    assert (found.workers, found.score.held) == (8, 500 * MB)
    assert found.settings["memory"]["of"] == "each score"
    assert crew(10, has_executor=True).settings == {}
    with pytest.raises(ComputationError, match="too little"):
        crew(900, 600, has_executor=True, limit=500 * MB)


# The whole way.


def test_the_same_command_finds_its_scores_again_though_it_holds_a_little_more(monkeypatch, tmp_path):
    limit = int(score_of(700).least_memory(3)) + 66 * MB
    counts = []
    for held in (40 * MB, 41 * MB + 7):
        monkeypatch.setattr("kerncause.memory.resident_bytes", lambda held=held: held)
        discover(frame(700), workers=1, memory_limit=limit, max_parents=1, cache=tmp_path / "scores")
        with ScoreCache.opened(tmp_path / "scores") as cache:
            counts.append([holding.fits for holding in cache.holdings()])
    assert counts[0] == counts[1]
    assert len(counts[0]) == 1


def test_fewer_workers_give_the_same_result_and_a_note(monkeypatch, tmp_path):
    monkeypatch.setattr("kerncause.memory.STEP", 1)
    frame(80).to_csv(tmp_path / "data.csv", index=False)
    limit = resident_bytes() + int(2.5 * (WORKER_BYTES + score_of(80).most_memory(3)))
    words = ["discover", str(tmp_path / "data.csv"), "--workers", "6", "--memory-limit", f"{limit // MB + 1}M"]
    done = runner.invoke(app, [*words, "--out", str(tmp_path / "out"), "--no-report"])
    assert done.exit_code == 0, done.stderr
    assert "2 of 6 workers used" in " ".join(done.output.split())
    saved = load_result(tmp_path / "out")
    assert saved.settings["workers"] == 2
    assert saved.settings["memory"]["note"].startswith("2 of 6 workers used")
    plain = discover(frame(80), workers=1)
    assert saved.graph == plain.graph
    assert [edge.gain for edge in saved.edge_list] == [edge.gain for edge in plain.edge_list]
    assert "memory" not in plain.settings


def test_a_limit_that_cannot_be_kept_is_one_sentence(tmp_path):
    frame(200).to_csv(tmp_path / "data.csv", index=False)
    done = runner.invoke(app, ["discover", str(tmp_path / "data.csv"), "--memory-limit", "20M"])
    assert done.exit_code == 1
    assert "the limit of 20 MiB (--memory-limit) is too little" in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    done = runner.invoke(app, ["discover", str(tmp_path / "none.csv"), "--memory-limit", "lots"])
    assert "--memory-limit" in done.stderr, "said before the table is looked for"


def test_a_limit_that_binds_is_written_down_and_read_back(monkeypatch, tmp_path):
    monkeypatch.setattr("kerncause.memory.resident_bytes", lambda: 0)
    table = frame(700)
    limit = int(score_of(700).least_memory(3)) + 2 * MB
    assert limit < score_of(700).most_memory(3)
    result = discover(table, workers=2, memory_limit=limit, max_parents=1, directory=tmp_path)
    assert result.settings["workers"] == 1
    assert result.settings["score_options"]["memory"] <= limit
    plain = discover(table, workers=1, max_parents=1)
    assert [e.gain for e in result.edge_list] == pytest.approx([e.gain for e in plain.edge_list], abs=0.05)
    result.save(tmp_path / "saved")
    again = load_result(tmp_path / "saved", table)
    assert again.settings["memory"] == result.settings["memory"]
    assert again.settings["score_options"]["memory"] == result.settings["score_options"]["memory"]


def test_the_halves_keep_within_the_limit(monkeypatch):
    seen = []
    import kerncause.repeat as repeat

    monkeypatch.setattr("kerncause.memory.STEP", 1)
    real = repeat._computed
    monkeypatch.setattr(repeat, "_computed", lambda *a: seen.append(a[2]) or real(*a))
    limit = resident_bytes() + int(2.5 * (WORKER_BYTES + score_of(60, name="bic").most_memory(3)))
    discover(frame(60), score="bic", confidence=2, workers=5, memory_limit=limit)
    assert seen == [2]


def test_an_executor_keeps_the_limit_for_each_score():
    with ThreadPoolExecutor(2) as executor:
        result = discover(frame(60), executor=executor, memory_limit="1G")
    assert result.settings["memory"]["of"] == "each score"
    assert result.graph == discover(frame(60), workers=1).graph


# What the system says.


def files(root, **texts):
    for place, text in texts.items():
        path = root / place.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


MEMINFO = "MemTotal:  24000000 kB\nMemAvailable:  2000000 kB\n"


def test_what_the_machine_has_left(tmp_path):
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc" / "meminfo").write_text(MEMINFO)
    assert available_bytes(tmp_path) == 2_000_000 * 1024
    assert (available_bytes() or 0) > 0
    assert resident_bytes() > 20 * MB


@pytest.mark.parametrize("version", [1, 2])
def test_what_a_container_has_left(tmp_path, version):
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "meminfo").write_text(MEMINFO)
    line, top, limit, usage, kept = {
        1: (
            "5:cpu,memory:/a/b",
            "sys/fs/cgroup/memory",
            "memory.limit_in_bytes",
            "memory.usage_in_bytes",
            "total_inactive_file",
        ),
        2: ("0::/a/b", "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"),
    }[version]
    (tmp_path / "proc" / "self" / "cgroup").write_text(f"9:cpuset:/x\n{line}\n")
    inner = tmp_path / top / "a" / "b"
    inner.mkdir(parents=True)
    assert available_bytes(tmp_path) == 2_000_000 * 1024, "nothing is said"

    def write(group, most):
        (group / limit).write_text(f"{most}\n")
        (group / usage).write_text(f"{300 * MB}\n")
        (group / "memory.stat").write_text(f"anon 1\n{kept} {100 * MB}\n")

    write(inner, "max" if version == 2 else 2**62)
    assert available_bytes(tmp_path) == 2_000_000 * 1024, "no limit"
    write(inner.parent, 900 * MB)
    assert available_bytes(tmp_path) == 700 * MB, "that of the group above counts"
    write(inner, 250 * MB)
    assert available_bytes(tmp_path) == 50 * MB
    write(inner, 100 * MB)
    assert available_bytes(tmp_path) == 0
