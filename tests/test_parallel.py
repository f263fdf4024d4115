"""Scores computed elsewhere: the same numbers, and an end to every run."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest

from kerncause import ComputationError, Dataset, LearnedKernelScore, OptionError, discover
from kerncause.parallel import batches, read_mapped, uninterrupted, worker_count, write_mapped
from kerncause.scores import Query
from kerncause.stop import Stopped


def frame(n=150):
    rng = np.random.default_rng(3)
    a = rng.normal(size=n)
    b = np.sin(2 * a) + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": np.tanh(b) + 0.3 * rng.normal(size=n), "level": rng.integers(0, 3, n)})


@pytest.fixture(scope="module")
def alone():
    return discover(frame(), workers=1)


def same(result, other):
    return result.graph == other.graph and result.edge_list == other.edge_list and result.fits == other.fits


def test_any_executor_gives_what_one_process_gives(alone):
    with ThreadPoolExecutor(2) as threads:
        assert same(discover(frame(), executor=threads), alone)
        assert threads.submit(int).result() == 0, "the executor is the caller's: it must not be shut down"
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as processes:
        result = discover(frame(), executor=processes)
    assert same(result, alone)
    assert result.settings["workers"] == "ProcessPoolExecutor"
    assert same(discover(frame(), workers=3), alone)


def test_what_is_no_executor_is_refused():
    with pytest.raises(OptionError, match="executor"):
        discover(frame(), executor="processes")


def test_the_table_is_mapped_not_copied(tmp_path):
    score = LearnedKernelScore(Dataset.from_frame(frame()))
    score.prepare()
    write_mapped(score, tmp_path / "score")
    read = read_mapped(tmp_path / "score")
    for name in "abc":
        values = read.data.points(name).values
        np.testing.assert_array_equal(values, score.data.points(name).values)
        assert not values.flags.owndata
        assert not values.flags.writeable
    assert read.fit("b", ["a"]) == score.fit("b", ["a"])
    assert (tmp_path / "score").stat().st_size < (tmp_path / "score.buffers").stat().st_size


class Unfit:
    variables = ("a", "b", "c", "level")

    def __init__(self):
        self.local_score = lambda target, parents: 0.0


def test_a_score_that_cannot_be_sent_says_so():
    with ThreadPoolExecutor(1) as threads, pytest.raises(OptionError, match=r"cannot be sent .* workers=1"):
        discover(frame(), score=Unfit(), executor=threads)


class Mortal:
    """Kills the worker it runs in: at first only, if there is a file to leave a mark in."""

    variables = ("a", "b", "c")

    def __init__(self, mark=None):
        self._main, self._mark = os.getpid(), mark

    def local_score(self, target, parents):
        if os.getpid() != self._main and parents and not (self._mark and self._mark.exists()):
            if self._mark:
                self._mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return float(len(parents))


QUERIES = [Query(t, frozenset({p})) for t, p in ("ab", "bc", "ca", "ba", "cb", "ac")]


def test_a_worker_that_dies_is_replaced(tmp_path):
    with batches(Mortal(tmp_path / "died"), 2) as batch:
        answers = dict(batch(QUERIES))
    assert {query: fit.value for query, fit in answers.items()} == dict.fromkeys(QUERIES, 1.0)
    assert (tmp_path / "died").exists()


def test_workers_that_keep_dying_are_an_error_not_a_hang():
    with pytest.raises(ComputationError, match="a worker process died"), batches(Mortal(), 2) as batch:
        list(batch(QUERIES))


class Greedy:
    variables = ("a", "b", "c")

    def local_score(self, target, parents):
        raise MemoryError


@pytest.mark.parametrize("workers", [1, 2])
def test_too_little_memory_is_an_error_with_the_cure(workers):
    cure = r"not enough memory for the score of .* fewer workers"
    with pytest.raises(ComputationError, match=cure), batches(Greedy(), workers) as batch:
        list(batch(QUERIES))


def test_workers_default_to_the_cores_we_may_use():
    assert worker_count(None) >= 1
    assert worker_count(3) == 3


SCRIPT = """
import signal, time, kerncause, numpy

signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests may run where it is ignored

class Slow:
    variables = ("a", "b", "c")
    def local_score(self, target, parents):
        time.sleep(60 if parents else 0)
        return 0.0

print("started", flush=True)
table = kerncause.Dataset.from_array(numpy.random.default_rng(0).normal(size=(9, 3)), names=list("abc"))
kerncause.discover(table, score=Slow(), workers=2)
"""


def test_ctrl_c_stops_the_workers_in_the_middle_of_a_score(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    process.stdout.readline()
    time.sleep(1.5)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert b"KeyboardInterrupt" in errors, errors
    assert process.returncode != 0
    time.sleep(0.5)
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    assert not list(tmp_path.iterdir()), "temporary files are left behind"


def test_ctrl_c_can_be_made_to_wait(request):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    reached = []

    def interrupted():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            reached.append("the end")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached == ["the end"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_workers_that_die_between_two_batches_are_replaced(alone):
    """Nobody was waiting for them: it is the next task that finds them gone."""
    killed = []

    def watch(status):
        if status.step == 1 and not killed:
            for process in multiprocessing.active_children():
                os.kill(process.pid, signal.SIGKILL)
                killed.append(process.pid)
                process.join()

    found = discover(frame(), workers=2, watch=watch)
    assert killed
    assert same(found, alone)


def test_executors_that_take_no_work_are_refused():
    with ThreadPoolExecutor(1) as closed:
        pass
    with pytest.raises(OptionError, match=r"executor takes no more work \(.*\): give one that is open"):
        discover(frame(), executor=closed)
    broken = ProcessPoolExecutor(1)
    with pytest.raises(BrokenExecutor):
        broken.submit(os._exit, 1).result()
    with pytest.raises(ComputationError, match="a worker process died"):
        discover(frame(), executor=broken)


def test_counts_may_be_numpy_numbers():
    how = {
        "workers": np.int64(1),
        "candidates": np.int64(2),
        "memory_limit": np.int64(2**33),
        "time_budget": np.int64(99),
    }
    assert discover(frame(), **how).finished


class Silent(Executor):
    """One that answers whether it sees the file, and then never again."""

    def __init__(self):
        self._asked = 0

    def submit(self, call, /, *words, **named):
        future, self._asked = Future(), self._asked + 1
        if self._asked == 1:
            future.set_result(call(*words, **named))
        return future


def test_a_search_stops_though_nobody_answers():
    score = LearnedKernelScore(Dataset.from_frame(frame()))
    with batches(score, executor=Silent(), halt=lambda: True) as batch, pytest.raises(Stopped):
        list(batch([Query("a", frozenset()), Query("b", frozenset())]))


def test_arguments_that_do_not_go_together_or_are_no_functions_are_refused():
    with ThreadPoolExecutor(1) as executor, pytest.raises(OptionError, match="workers and executor"):
        discover(frame(), workers=2, executor=executor)
    for name in ("watch", "stop"):
        with pytest.raises(OptionError, match=f"{name} is a int: give a function"):
            discover(frame(), **{name: 3})
    with pytest.raises(OptionError, match="stop is for searches by a score"):
        discover(frame(), search="pc", stop=lambda: False)
