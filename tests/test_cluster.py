"""Searches on other machines: a real Dask cluster on this one, with workers that die, differ or are not there."""

import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import distributed
import numpy as np
import pandas as pd
import pytest
from threadpoolctl import threadpool_info
from typer.testing import CliRunner

from kerncause import ComputationError, Dataset, OptionError, discover
from kerncause.cli import app
from kerncause.errors import WorkerWarning
from kerncause.parallel import batches, crews, pace, work
from kerncause.parallel import cluster as on_dask
from kerncause.parallel.parcel import Parcel
from kerncause.parallel.trades import SCORING
from kerncause.parallel.versions import versions_here
from kerncause.scores import Query
from slow_score import Deadly, SlowBIC

HERE = Path(__file__).parent
# A loaded machine takes its time to start a process; nothing here waits for longer than it must.
LONG = 120.0
NO_DASHBOARD = ("--no-dashboard", "--dashboard-address", ":0")


def frame(n=60, p=5):
    rng = np.random.default_rng(3)
    columns = rng.normal(size=(n, p))
    for j in range(1, p):
        columns[:, j] += np.tanh(2 * columns[:, j - 1])
    return pd.DataFrame(columns, columns=[f"v{j}" for j in range(p)])


def same(result, other):
    return result.graph == other.graph and result.edge_list == other.edge_list and result.fits == other.fits


def until(true, seconds=LONG):
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


@contextmanager
def process(*words):
    """Run `dask ...` apart, for as long as the context lasts."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path]), "DASK_LOGGING__DISTRIBUTED": "error"}
    running = subprocess.Popen(
        [sys.executable, "-m", "dask", *map(str, words)], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield running
    finally:
        running.kill()
        running.wait()


@contextmanager
def workers(client, folder, count=1, threads=1, preload=None):
    """Start workers, wait for them, and end them; give their processes."""
    before, address = set(client.nthreads()), client.scheduler.address
    words = ["--nthreads", threads, "--no-dashboard", "--no-nanny", "--host", "127.0.0.1"]
    if preload is not None:
        (folder / "preloaded.py").write_text(preload)
        words += ["--preload", folder / "preloaded.py"]
    started = [process("worker", address, *words, "--local-directory", folder / f"w{k}") for k in range(count)]
    processes = [one.__enter__() for one in started]
    try:
        until(lambda: len(set(client.nthreads()) - before) == count)
        yield processes
    finally:
        for one in started:
            one.__exit__(None, None, None)
        until(lambda: set(client.nthreads()) <= before)


@contextmanager
def scheduled(folder):
    """Start a scheduler without workers, and give a client."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        process("scheduler", "--host", "127.0.0.1", "--port", port, *NO_DASHBOARD),
        distributed.Client(f"tcp://127.0.0.1:{port}", timeout=LONG, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    with scheduled(tmp_path_factory.mktemp("scheduler")) as client:
        yield client


@pytest.fixture(scope="module")
def client(scheduler, tmp_path_factory):
    """A cluster of two workers with one thread each."""
    with workers(scheduler, tmp_path_factory.mktemp("workers"), count=2):
        yield scheduler


def test_no_workers_are_an_error_with_the_cure(scheduler, monkeypatch):
    monkeypatch.setattr(on_dask, "START_SECONDS", 0.5)
    with pytest.raises(ComputationError, match=r"had no worker that takes tasks for .* `dask worker tcp://127"):
        discover(frame(), score="bic", executor=scheduler.get_executor())


def test_a_cluster_gives_what_one_process_gives_and_gets_the_table_once(client, monkeypatch):
    sent, tasks = [], []
    pack, submit = Parcel.__reduce__, client.submit
    monkeypatch.setattr(Parcel, "__reduce__", lambda self: sent.append(self) or pack(self))
    monkeypatch.setattr(client, "submit", lambda *words, **how: tasks.append(words) or submit(*words, **how))
    result = discover(frame(100, 3), executor=client.get_executor())
    assert same(result, discover(frame(100, 3), workers=1))
    assert result.settings["workers"] == "ClientExecutor"
    assert len(sent) == 1
    assert len(tasks) > 4
    until(lambda: not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))


def test_halves_and_tests_are_computed_there_too(client):
    there, here = (
        discover(frame(), score="bic", confidence=4, **how)
        for how in ({"executor": client.get_executor()}, {"workers": 1})
    )
    assert there.confidence == here.confidence
    there, here = (
        discover(frame(), search="pc", test="fisher-z", **how)
        for how in ({"executor": client.get_executor()}, {"workers": 1})
    )
    assert there.edge_list == here.edge_list


def shell(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_the_shell_can_use_a_cluster(client, tmp_path):
    frame().to_csv(tmp_path / "t.csv", index=False)
    for name, how in (("there", ["--dask", client.scheduler.address]), ("here", ["--workers", 1])):
        ran = shell("discover", tmp_path / "t.csv", "--score", "bic", "--out", tmp_path / name, "--no-report", *how)
        assert ran.exit_code == 0, ran.output
    there, here = (json.loads((tmp_path / name / "graph.json").read_text()) for name in ("there", "here"))
    assert there["edges"] == here["edges"]
    assert (tmp_path / "there" / "scores.sqlite").exists(), "scores are kept here, not there"


OLD_NUMPY = "import kerncause, numpy\nnumpy.__version__ = '1.0'\n"


def test_a_worker_killed_in_the_middle_changes_nothing(client, tmp_path):
    """It has two threads, and another numpy, which is no more than noted."""
    data = Dataset.from_frame(frame())
    seen = []
    with workers(client, tmp_path, threads=2, preload=OLD_NUMPY) as [victim]:

        def watch(status):
            seen.append(status)
            if status.scores == 10:
                victim.send_signal(signal.SIGKILL)

        with pytest.warns(WorkerWarning, match=r"the worker tcp://127\S+ has numpy 1.0, not \S+: the last digits"):
            result = discover(data, score=SlowBIC(data, 0.03), executor=client.get_executor(), watch=watch)
        until(lambda: len(client.nthreads()) == 2)
    assert victim.returncode == -signal.SIGKILL
    assert same(result, discover(data, score=SlowBIC(data, 0.0), workers=1))
    assert seen[-1].scores == result.scores_computed > 40


@pytest.mark.long
def test_the_last_copy_of_the_table_may_be_lost(tmp_path):
    data = Dataset.from_frame(frame())
    with scheduled(tmp_path) as client, workers(client, tmp_path / "1", 2) as victims:
        late = []

        def watch(status):
            if status.scores == 10:
                for victim in victims:
                    victim.send_signal(signal.SIGKILL)
                words = ("--nthreads", 1, "--no-dashboard", "--no-nanny", "--local-directory", tmp_path / "late")
                late.append(process("worker", client.scheduler.address, *words))
                late[0].__enter__()

        result = discover(data, score=SlowBIC(data, 0.03), executor=client.get_executor(), watch=watch)
        late[0].__exit__(None, None, None)
    assert same(result, discover(data, score=SlowBIC(data, 0.0), workers=1))


@pytest.mark.long
def test_a_scheduler_that_goes_away_is_an_error_not_a_hang(tmp_path, monkeypatch):
    monkeypatch.setattr(on_dask, "RETURN_SECONDS", 5.0)
    data = Dataset.from_frame(frame())
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with process(
        "scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard", "--dashboard-address", ":0"
    ) as scheduler:
        client = distributed.Client(f"tcp://127.0.0.1:{port}", timeout=LONG, set_as_default=False)
        words = ("--nthreads", 1, "--no-dashboard", "--no-nanny", "--local-directory", tmp_path)
        with process("worker", client.scheduler.address, *words):
            until(client.nthreads)

            def watch(status):
                if status.scores == 10:
                    scheduler.kill()

            with pytest.raises(ComputationError, match=f"scheduler at tcp://127.0.0.1:{port} does not answer any more"):
                discover(data, score=SlowBIC(data, 0.03), executor=client.get_executor(), watch=watch)
        client.close(timeout=1)


@pytest.mark.long
def test_a_task_that_ends_every_worker_is_an_error_not_a_hang(tmp_path):
    """Nannies start workers again, as they do on most clusters."""
    data = Dataset.from_frame(frame())
    words = ("--nworkers", 2, "--nthreads", 1, "--no-dashboard", "--host", "127.0.0.1", "--local-directory", tmp_path)
    with scheduled(tmp_path) as client, process("worker", client.scheduler.address, *words) as nanny:
        until(client.nthreads)
        with pytest.raises(ComputationError, match="perhaps for lack of memory"):
            discover(data, score=Deadly(data, 0.0), executor=client.get_executor())
        nanny.terminate()  # with its children
        nanny.wait(LONG)


# What an older kerncause would say: quicker than to install one.
OTHER = """
import sys, types
for name in ("kerncause", "kerncause.parallel", "kerncause.parallel.versions"):
    sys.modules[name] = types.ModuleType(name)
exec("def versions_here(): return {'kerncause': '0.0.7', 'scores': '1'}", sys.modules[name].__dict__)
"""
ABSENT = "import sys\nsys.modules['kerncause'] = None\n"


@pytest.mark.parametrize(
    ("preload", "words"),
    [
        (OTHER, r"the worker tcp://127\S+ has kerncause 0\.0\.7, this program has \d.*: install the same"),
        (ABSENT, r"the worker tcp://127\S+ cannot load this version of kerncause .*: install kerncause \d"),
    ],
    ids=["other", "absent"],
)
def test_a_worker_that_differs_is_refused_before_it_gets_work(client, tmp_path, preload, words):
    with workers(client, tmp_path, preload=preload), pytest.raises(OptionError, match=words):
        discover(frame(), score="bic", executor=client.get_executor())


def test_a_worker_that_joins_later_looks_for_itself():
    for name, words in (("kerncause", "has kerncause"), ("scores", "version of the scores"), ("python", "Python 3")):
        with pytest.raises(OptionError, match=words):
            work.carried_out_elsewhere({**versions_here(), name: "0"}, b"not looked at")


def test_a_search_that_stops_takes_its_tasks_back(client):
    data = Dataset.from_frame(frame())
    result = discover(data, score=SlowBIC(data, 0.2), executor=client.get_executor(), time_budget=0.5)
    assert not result.finished
    until(lambda: not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks)))


def test_an_error_in_a_score_comes_home(client):
    data = Dataset.from_frame(frame())
    with pytest.raises(TypeError, match="str"):
        discover(data, score=SlowBIC(data, "no number"), executor=client.get_executor())


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1:8786", "write it as tcp://HOST:8786"),
        ("<b>\n", "write it as tcp://HOST:8786"),
        ("tcp://127.0.0.1:1", "there is no Dask scheduler at 'tcp://127.0.0.1:1'"),
    ],
)
def test_an_address_without_a_scheduler_is_one_sentence(address, words, tmp_path, monkeypatch):
    monkeypatch.setattr(on_dask, "CONNECT_SECONDS", 2.0)
    frame().to_csv(tmp_path / "t.csv", index=False)
    ran = shell("discover", tmp_path / "t.csv", "--dask", address, "--out", tmp_path / "out")
    assert ran.exit_code == 1
    assert ran.output.startswith("error: ")
    assert ran.output.count("\n") == 1
    assert words in ran.output
    assert not (tmp_path / "out").exists()


def test_what_answers_but_is_no_scheduler_is_told_from_one(tmp_path, monkeypatch):
    monkeypatch.setattr(on_dask, "CONNECT_SECONDS", 5.0)
    frame().to_csv(tmp_path / "t.csv", index=False)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            with server.accept()[0] as visitor:
                visitor.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 10)
                visitor.recv(1000)

        threading.Thread(target=answer, daemon=True).start()
        ran = shell("discover", tmp_path / "t.csv", "--dask", f"tcp://127.0.0.1:{server.getsockname()[1]}")
    assert ran.exit_code == 1
    assert ran.output.startswith("error: there is no Dask scheduler at")


def test_without_dask_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(on_dask, "find_spec", lambda name: None)
    ran = shell("discover", tmp_path / "t.csv", "--dask", "tcp://127.0.0.1:1")
    assert ran.exit_code == 1
    assert "pip install 'kerncause[dask]'" in ran.output


@pytest.mark.parametrize("option", [["--workers", 2], ["--method", "notears"]])
def test_what_a_cluster_does_not_use_is_refused(option, tmp_path):
    ran = shell("discover", tmp_path / "t.csv", "--dask", "tcp://127.0.0.1:1", *option)
    assert ran.exit_code == 1
    assert "leave out one of the two" in ran.output


# Executors whose workers do not see our files.


def test_what_a_worker_cannot_read_is_sent_to_it_once(monkeypatch):
    kept = crews.write_mapped

    def unseen(value, path):
        kept(value, path)
        path.unlink()

    sent = []
    pack = Parcel.__reduce__
    monkeypatch.setattr(pace, "TASK_SECONDS", 0.0)  # a task for each score
    monkeypatch.setattr(crews, "write_mapped", unseen)
    monkeypatch.setattr(Parcel, "__reduce__", lambda self: sent.append(self) or pack(self))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        for n in (60, 70):  # the second must not be computed with the table of the first
            there, here = (discover(frame(n), score="bic", **how) for how in ({"executor": process}, {"workers": 1}))
            assert same(there, here)
            assert there.scores_computed > 40
    assert len(sent) == 2


# How many queries make a task.


def queries(*sizes):
    return deque(Query("y", frozenset(f"{k}-{j}" for j in range(size))) for k, size in enumerate(sizes))


def test_a_task_is_expected_to_take_long_enough():
    known = pace.Pace()
    assert len(known.next_task(SCORING, queries(1, 1, 1), 9)) == 1, "of an unknown kind one is tried"
    for seconds in (0.01, 0.03):
        known.hear((1, False), seconds)
    known.hear((2, False), 0.06)
    known.hear((3, False), 7.0)
    assert len(known.next_task(SCORING, queries(*[1] * 20), 99)) == 5
    assert len(known.next_task(SCORING, queries(*[2] * 20), 99)) == 2
    assert len(known.next_task(SCORING, queries(*[3] * 20), 99)) == 1
    assert len(known.next_task(SCORING, queries(2, 1, 1, 1, 1), 99)) == 3
    assert len(known.next_task(SCORING, queries(*[1] * 20), 4)) == 4


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_results_do_not_depend_on_the_size_of_tasks(seconds, monkeypatch):
    alone = discover(frame(), score="bic", workers=1)
    monkeypatch.setattr(pace, "TASK_SECONDS", seconds)
    with ThreadPoolExecutor(2) as threads:
        assert same(discover(frame(), score="bic", executor=threads), alone)


def test_every_worker_gets_something_to_do(monkeypatch):
    monkeypatch.setattr(pace, "TASK_SECONDS", 1e9)
    data = Dataset.from_frame(frame())
    asked = [Query(a, frozenset({b})) for a in data.names for b in data.names if a != b]
    tasks = []
    with ThreadPoolExecutor(4) as threads, batches(SlowBIC(data, 0.0), executor=threads) as batch:
        assert len(list(batch(asked))) == len(asked), "what they take is known now"
        submit = threads.submit
        monkeypatch.setattr(threads, "submit", lambda *words: tasks.append(words) or submit(*words))
        assert {query for query, _ in batch(asked)} == set(asked)
    assert len(tasks) == 4


def test_threads_of_a_worker_share_one_limit_on_linear_algebra():
    keeper = work._Keeper()

    def limits():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    before, entered, left = limits(), threading.Event(), threading.Event()

    def second():
        with keeper.one_thread_each():
            entered.set()
            left.wait(LONG)
            return limits()

    with ThreadPoolExecutor(1) as threads:
        with keeper.one_thread_each():
            overlapping = threads.submit(second)
            entered.wait(LONG)
        left.set()
        assert overlapping.result() == {1}
    assert limits() == before
