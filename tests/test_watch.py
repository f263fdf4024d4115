"""What a watcher is told, what a terminal shows, and what the log of a run says."""

import fcntl
import json
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from typer.testing import CliRunner

import kerncause
from kerncause import Status, discover
from kerncause.cli import app
from kerncause.cli.log import RunLog
from kerncause.cli.progress import PLAIN_SECONDS, line, shown_on, ticking
from kerncause.scores.ledger import Query
from kerncause.search import Progress, Step
from kerncause.stop import Stop
from kerncause.text import clock, duration
from kerncause.watch import Tempo, Told

runner = CliRunner()
HOSTILE = ['a\n{"event": "finish"}', "b\x1b[31m\u202e", '"}]\\', "💥" * 40, "<script>alert(1)</script>"]


def table(n=60, p=5, seed=0, names=None):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(n, p))
    for j in range(1, p):
        columns[:, j] += np.tanh(2 * columns[:, rng.integers(j)])
    return pd.DataFrame(columns, columns=names or [f"v{j}" for j in range(p)])


@pytest.fixture
def csv(tmp_path):
    table().to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def watched(**options):
    seen = []
    result = discover(options.pop("data", table()), watch=seen.append, **{"workers": 1, **options})
    return result, seen


# What is told.


@pytest.mark.parametrize("search", ["ges", "boss", "exact", "pc"])
@pytest.mark.parametrize("workers", [1, 2])
def test_the_counts_add_up(search, workers):
    kind = {"search": search, **({} if search == "pc" else {"score": "bic"})}
    result, seen = watched(workers=workers, **kind)
    assert seen[-1].scores == result.scores_computed
    assert [s.scores for s in seen] == sorted(s.scores for s in seen)
    assert [s.seconds for s in seen] == sorted(s.seconds for s in seen)
    assert {s.unit for s in seen} == {"test" if search == "pc" else "score"}
    queues = [s.queued for s in seen]
    assert max(queues) > 1
    assert queues[-1] == 0
    for before, after in pairwise(queues):
        assert after == before - 1 or before == 0 or after == before, "one less, or a new batch when one is done"
    assert all(s.found == 0 for s in seen)
    assert all((s.seconds_left is None) == (s.left_of == "") for s in seen)
    known = {s.left_of for s in seen if s.seconds_left is not None}
    assert known <= {{"pc": "this level", "exact": "this size"}.get(search, "this batch"), "this batch"}
    assert all(s.queued for s in seen if s.seconds_left is not None)


@pytest.mark.parametrize("search", ["ges", "boss", "pc"])
def test_every_step_is_told_once(search):
    kind = {"search": search} if search == "pc" else {"search": search, "score": "bic"}
    result, seen = watched(data=table(200), **kind)
    assert result.trace
    assert [step for s in seen for step in s.taken] == list(result.trace)


def test_every_step_of_a_stopped_search_is_told():
    asked = iter(range(1000))
    seen = []
    result = discover(table(), workers=1, watch=seen.append, stop=lambda: next(asked) > 30)
    assert not result.finished
    assert [step for s in seen for step in s.taken] == list(result.trace)


@pytest.mark.parametrize("workers", [1, 2])
def test_what_is_found_in_a_file_is_told_from_what_is_computed(tmp_path, workers):
    first, seen = watched(score="learned", cache=tmp_path / "scores.sqlite", workers=workers)
    assert seen[-1].found == 0
    again, seen = watched(score="learned", cache=tmp_path / "scores.sqlite", workers=workers)
    assert seen[-1].found == seen[-1].scores == first.scores_computed == again.scores_computed
    assert all(s.found == s.scores for s in seen)
    assert all(s.seconds_left is None for s in seen), "what is looked up takes no time"
    _, seen = watched(score="learned", cache=tmp_path / "scores.sqlite", max_parents=1, search="exact", workers=workers)
    assert 0 < seen[-1].found <= seen[-1].scores


def test_halves_are_counted_down_with_a_time_for_all_of_them():
    _, seen = watched(score="bic", confidence=7)
    halves = [s for s in seen if s.phase == "halves"]
    assert [(s.step, s.queued) for s in halves] == [(k, 7 - k) for k in range(8)]
    assert [s.seconds_left is not None for s in halves] == [False] * 4 + [True] * 3 + [False]
    assert {s.left_of for s in halves if s.seconds_left is not None} == {"the halves"}


def test_the_time_budget_is_told():
    _, seen = watched(score="bic", time_budget=3600.0)
    assert 3500 < seen[-1].budget_left < 3600
    assert watched(score="bic")[1][-1].budget_left is None
    assert Stop(1e-9).seconds_left == 0.0


def test_a_watcher_that_is_not_there_is_no_work():
    Told().step(Progress("forward", 0, 0))


# How long it will take.


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def answering(clock, seconds):
    """A batch that takes so long for each query, by the number of its parents."""

    def batch(queries):
        for query in queries:
            clock.now += seconds[len(query.parents)]
            yield query, None

    return batch


def asked(told, batch, sizes, settled=False):
    known = kerncause.LocalFit(0.0) if settled else None
    queries = [Query("y", frozenset(map(str, range(k))), provisional=known) for k in sizes]
    return list(told.asked(told.computed(batch))(queries))


def test_the_time_left_is_that_of_what_is_queued():
    clock, seen = Clock(), []
    told = Told(seen.append, clock.now, clock=clock)
    told.step(Progress("forward", 3, 2))
    asked(told, answering(clock, {1: 2.0, 2: 5.0}), [2] * 4 + [1] * 6)
    known = [(s.queued, s.seconds_left) for s in seen if s.seconds_left is not None]
    # Of one parent nothing is known at first: it is taken to last as long as two.
    assert known == [(6, 30.0), (5, 10.0), (4, 8.0), (3, 6.0), (2, 4.0), (1, 2.0)]
    assert (seen[-1].queued, seen[-1].seconds_left) == (0, None)
    seen.clear()
    clock.now += 50.0  # what the search itself takes is no part of it
    asked(told, answering(clock, {1: 2.0, 2: 5.0}), [2, 1, 1, 1])
    assert [s.seconds_left for s in seen] == [11.0, 6.0, 4.0, 2.0, None]
    assert seen[0].left_of == "this batch"
    assert seen[-1].scores == 14


def test_settling_has_a_time_of_its_own():
    clock, seen = Clock(), []
    told = Told(seen.append, clock.now, clock=clock)
    asked(told, answering(clock, {1: 1.0}), [1] * 5)
    asked(told, answering(clock, {1: 9.0}), [1] * 3, settled=True)
    assert told.scores == 5
    assert seen[-2].seconds_left == 9.0
    asked(told, answering(clock, {1: 1.0}), [1] * 3)
    assert seen[-2].seconds_left == 1.0


def test_several_workers_count_by_themselves():
    """Answers that come in fours, as from four workers: the times between them add up to those of the batch."""
    clock = Clock()
    pace = Tempo(clock)
    pace.begin([(False, 2)] * 40)
    for _ in range(5):
        clock.now += 8.0
        for _ in range(4):
            pace.answered((False, 2))
    assert pace.seconds_left() == pytest.approx(40.0)
    clock.now += 3.0
    assert pace.seconds_left() == pytest.approx(37.0)
    clock.now += 300.0
    assert pace.seconds_left() == 0.0


def test_times_are_said_in_words():
    assert [clock(s) for s in (0.4, 61, 151, 3600, 86_399)] == ["0:00", "1:01", "2:31", "1:00:00", "23:59:59"]
    assert [duration(s) for s in (14, 600, 7200)] == ["14 s", "10 min", "2.0 h"]


# What is shown.

FULL = Status("forward", 11, 11, 1204, 151.0, 310, 88, 14.2, "this batch")


def test_a_line_says_what_the_time_is_of():
    assert line(FULL) == (
        "forward  step 12  11 edges  1,204 scores, 310 found in the file  "
        "88 queued, about 14 s left of this batch  2:31"
    )
    assert line(replace(FULL, budget_left=200.0)).endswith("of this batch  3:20 left of the time budget  2:31")
    assert line(FULL, 80) == "forward  step 12  11 edges  1,204 scores  about 14 s for 88 queued  2:31"
    assert line(replace(FULL, seconds_left=None, left_of="", found=0)) == (
        "forward  step 12  11 edges  1,204 scores  88 queued  2:31"
    )
    halves = Status("halves", 12, 9, 300, 61.0, 0, 88, 0.2, "the halves")
    assert line(halves) == "halves  12 of 100  about 1 s left of the halves  1:01"
    assert line(Status("sets of 3", 3, 0, 120, 5.0, queued=9)) == "sets of 3  120 scores  9 queued  0:05"
    assert line(Status("notears", 0, 0, 0, 5.0)) == "notears  0:05"
    assert "7 tests" in line(Status("skeleton", 0, 3, 7, 5.0, unit="test"))


@pytest.mark.parametrize("width", range(20, 130, 7))
def test_a_line_fits_with_what_matters_most(width):
    for status in (FULL, replace(FULL, budget_left=99_999.0), replace(FULL, phase="halves")):
        shown = line(status, width)
        assert len(shown) <= width
        assert shown.startswith(status.phase)
        assert shown.endswith("2:31")
        assert width < 45 or "about 14 s" in shown


def test_no_terminal_gets_few_whole_lines(monkeypatch, capsys):
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    with shown_on(Console(stderr=True)) as watch:
        for k in range(100):
            now[0] = k
            watch(replace(FULL, seconds=float(k)))
    printed = capsys.readouterr().err.splitlines()
    assert [text.split()[-1] for text in printed] == [clock(k * PLAIN_SECONDS) for k in (1, 2, 3)]
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", "".join(printed))


def test_time_goes_on_during_a_long_score(monkeypatch):
    monkeypatch.setattr("kerncause.cli.progress.TICK_SECONDS", 0.02)
    seen = []
    before = signal.getsignal(signal.SIGALRM)
    with ticking([seen.append]) as watch:
        watch(replace(FULL, budget_left=100.0, taken=(Step(1, "forward", "insert", "a", "b", (), 1.0, 1, 1),)))
        end = time.monotonic() + 0.2
        while time.monotonic() < end:
            time.sleep(0.05)
    assert len(seen) > 3
    assert [s.seconds for s in seen] == sorted({s.seconds for s in seen})
    assert seen[-1].seconds_left < seen[0].seconds_left
    assert seen[-1].budget_left < 100.0
    assert [len(s.taken) for s in seen] == [1] + [0] * (len(seen) - 1), "no step is told twice"
    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    with ticking([]) as watch:
        assert watch is None


def test_a_timer_of_somebody_else_is_left_alone():
    before = signal.signal(signal.SIGALRM, signal.SIG_IGN)
    try:
        with ticking([lambda _: None]):
            assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGALRM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGALRM, before)


def command(*words):
    return [sys.executable, "-m", "kerncause.cli", "discover", *map(str, words)]


def on_a_terminal(columns, *words, **environment):
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = (
        {key: value for key, value in os.environ.items() if key != "COLUMNS"} | {"TERM": "xterm"} | environment
    )
    process = subprocess.Popen(command(*words), stdout=subprocess.DEVNULL, stderr=follower, env=environment)
    os.close(follower)
    seen = b""
    while True:
        try:
            seen += (chunk := os.read(leader, 65536))
        except OSError:
            break
        if not chunk:
            break
    os.close(leader)
    assert process.wait() == 0
    return seen.decode()


def test_a_terminal_shows_one_line_that_fits(csv):
    seen = on_a_terminal(80, csv, "--score", "learned", "--workers", "2", "--time-budget", "1h")
    shown = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", part) for part in re.split(r"\r|\n|\x1b\[2K", seen)]
    shown = [text for text in shown if text.strip()]
    assert any("queued" in text and "edge" in text and "scores" in text for text in shown)
    assert all(len(text) <= 80 for text in shown)
    assert seen.count("\x1b[1A") == 1, "never a second line: only at the end is the one taken away"
    assert on_a_terminal(80, csv, "--score", "bic", "--quiet") == ""
    assert "\x1b[2K" not in on_a_terminal(80, csv, "--score", "bic", TERM="dumb")


def test_a_pipe_gets_no_control_characters(csv, tmp_path):
    done = subprocess.run(command(csv, "--log-json", tmp_path / "log.jsonl"), capture_output=True, check=True)
    assert done.stderr == b""
    assert b"\x1b" not in done.stdout
    assert b"\r" not in done.stdout


# The log.


def lines_of(path):
    return [json.loads(text) for text in path.read_text(encoding="ascii").splitlines()]


def run(*words):
    return runner.invoke(app, ["discover", *map(str, words)])


def test_the_log_of_a_run(tmp_path, monkeypatch):
    monkeypatch.setattr("kerncause.cli.log.PROGRESS_SECONDS", 0.0)
    names = HOSTILE
    frame = table(80, 5, names=names)
    frame.to_csv(tmp_path / "data.csv", index=False)
    log = tmp_path / "log.jsonl"
    done = run(tmp_path / "data.csv", "--score", "bic", "--workers", "1", "--log-json", log, "--quiet", "--seed", "3")
    assert done.exit_code == 0
    assert done.output == done.stderr == ""
    raw = log.read_bytes()
    assert raw.endswith(b"}\n")
    assert not re.search(rb"[^\x20-\x7e\n]", raw), "nothing but printable ASCII"
    records = lines_of(log)
    start, *others, finish = records
    assert start["event"] == "start"
    assert start["kerncause"] == kerncause.__version__
    assert {"python", "numpy", "scipy"} <= set(start)
    assert start["table"]["rows"] == 80
    assert list(start["table"]["variables"]) == names
    assert start["settings"]["score"] == "bic"
    assert start["settings"]["seed"] == 3
    result = discover(frame, score="bic", workers=1)
    steps = [record for record in others if record["event"] == "step"]
    assert [(s["number"], s["operator"], s["source"], s["target"], s["gain"], s["total"]) for s in steps] == [
        (s.number, s.operator, s.source, s.target, s.gain, s.total) for s in result.trace
    ]
    beats = [record for record in others if record["event"] == "progress"]
    told = {"phase", "step", "edges", "scores", "found", "queued", "seconds", "seconds_left", "left_of", "budget_left"}
    assert all(told <= set(beat) for beat in beats)
    assert beats[-1]["scores"] == result.scores_computed
    assert finish["event"] == "finish"
    assert finish["finished"] is True
    assert {(e["source"], e["target"]) for e in finish["edges"]} == {(e.source, e.target) for e in result.edge_list}
    assert [r["seconds"] for r in records] == sorted(r["seconds"] for r in records)
    run(tmp_path / "data.csv", "--score", "bic", "--workers", "1", "--log-json", log, "--quiet")
    assert lines_of(log)[: len(records)] == records, "it is appended to"
    assert [r["event"] for r in lines_of(log)].count("start") == 2


def test_heartbeats_are_few(csv, tmp_path):
    run(csv, "--score", "bic", "--workers", "1", "--log-json", tmp_path / "log.jsonl")
    assert not [r for r in lines_of(tmp_path / "log.jsonl") if r["event"] == "progress"], "in less than five seconds"


@pytest.mark.filterwarnings("always:a word")
def test_the_log_has_warnings_and_the_error(tmp_path, monkeypatch):
    frame = table(6, 5).assign(v9=range(6), v10=range(6))
    frame.to_csv(tmp_path / "data.csv", index=False)
    log = tmp_path / "log.jsonl"

    def broken(*_, **__):
        import warnings

        warnings.warn("a word\nof warning", UserWarning, stacklevel=1)
        raise kerncause.ComputationError("the sentence")

    monkeypatch.setattr(kerncause, "discover", broken)
    done = run(tmp_path / "data.csv", "--log-json", log)
    assert done.exit_code == 1
    assert "note: a word" in done.output
    records = lines_of(log)
    assert [r["event"] for r in records][:1] == ["start"]
    notices = kerncause.Dataset.from_frame(frame).notices
    assert notices
    assert [r["text"] for r in records if r["event"] == "warning"] == [*notices, "a word\nof warning"]
    assert (records[-1]["event"], records[-1]["error"]) == ("error", "the sentence")


def test_an_error_of_ours_is_in_the_log_as_well(csv, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("by nothing")

    monkeypatch.setattr(kerncause, "discover", broken)
    run(csv, "--log-json", tmp_path / "log.jsonl")
    assert lines_of(tmp_path / "log.jsonl")[-1]["error"] == "ZeroDivisionError: by nothing"


def test_a_table_that_is_not_there_is_an_error_in_the_log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("none.csv", "--log-json", tmp_path / "log.jsonl")
    assert done.exit_code == 1
    [record] = lines_of(tmp_path / "log.jsonl")
    assert record["event"] == "error"
    assert "none.csv" in record["error"]


def test_a_log_that_cannot_be_written_is_refused_at_once(csv, tmp_path, monkeypatch):
    monkeypatch.setattr(kerncause, "discover", None)
    for place in (tmp_path / "no such place" / "log.jsonl", tmp_path):
        done = run(csv, "--log-json", place)
        assert done.exit_code == 1
        assert re.search(r"cannot write .* \(--log-json\): .*; choose another place", " ".join(done.stderr.split()))
        assert done.stderr.count("\n") <= 3
    done = run(csv, "--log-json", tmp_path / "log.jsonl", "--search", "magic")
    assert done.exit_code == 1
    assert [record["event"] for record in lines_of(tmp_path / "log.jsonl")] == ["error"], (
        "who reads only the log sees why"
    )


def test_a_full_disk_ends_the_log_and_not_the_run(csv):
    done = run(csv, "--score", "bic", "--workers", "1", "--log-json", "/dev/full")
    assert done.exit_code == 0
    assert "the log stops" in done.output
    assert "No space left" in done.output


def test_the_log_can_go_to_standard_error(csv):
    done = subprocess.run(
        command(csv, "--score", "bic", "--log-json", "-", "--quiet"), capture_output=True, check=True, text=True
    )
    records = [json.loads(text) for text in done.stderr.splitlines()]
    assert [records[0]["event"], records[-1]["event"]] == ["start", "finish"]
    assert done.stdout == ""


def test_numbers_that_json_lacks_are_null(tmp_path):
    with (tmp_path / "log").open("wb") as file:
        RunLog(file.write).write("it", value=float("nan"), others=[float("inf"), {1: (2.5, True, None, {3})}])
    [record] = lines_of(tmp_path / "log")
    assert record["value"] is None
    assert record["others"] == [None, {"1": [2.5, True, None, "{3}"]}]
