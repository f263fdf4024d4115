"""What a large run costs on a cluster: sending a task, one local score, and from these a search that nobody has run.

The model of a search by GES with p variables that end with m parents each on average, and edges tried with q others of
each: all p - 1, or 20 at most where each has 10 candidates and is one of 10 others:

* The first step scores every pair: p q scores with one parent, all at once.
* Every edge that is added to a variable with k - 1 parents makes new candidates of it: q - k scores with k + 1
  parents, which the next step needs. Steps come one after the other, so no more workers than that are busy. With m = 2
  there are p such steps with two parents and p with three.

    seconds(W) = ceil(p q / W) t_1 + p ceil((q - 1) / W) t_2 + p ceil((q - 2) / W) t_3

with t_k the seconds of a score with k parents, and sending a task added to each. Scores of other sets for the same
step, removing edges and settling come on top: it is a lower bound, good for the order of magnitude. At a million rows
t_1 is measured; t_2 and t_3 are taken to grow from 100,000 rows as t_1 did.
"""

import math
import time
from collections.abc import Generator, Iterator
from concurrent.futures import Executor
from contextlib import ExitStack
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.continuous import smooth
from benchmarks.harness import Benchmark, Row, stopwatch
from kerncause import Dataset, LearnedKernelScore
from kerncause.parallel import batches, pace
from kerncause.scores import Query
from kerncause.scores.base import fit_local
from kerncause.text import counted

ROWS = (1_000, 10_000, 100_000)
PARENTS = (1, 2, 3)
TASKS = 300
VARIABLES, MANY_ROWS = 100, 1_000_000
WORKERS = (1, 16, 256)
TRIED = {"all pairs": VARIABLES - 1, "10 candidates": 20}


class Nothing:
    """A score that takes no time."""

    variables = tuple(f"x{k}" for k in range(TASKS))

    def local_score(self, target: str, parents: Any) -> float:
        return 0.0


def cluster_tasks() -> Iterator[Row]:
    sending = yield from _sending()
    seconds: dict[tuple[int, int], float] = {}
    for parents in PARENTS:
        for n in ROWS:
            seconds[parents, n] = _score_seconds(n, parents)
            what = f"one local score, {counted(parents, 'continuous parent')}, n={n:,}"
            yield Row(what, f"{seconds[parents, n]:.2f} s of a core")
    seconds[1, MANY_ROWS] = _score_seconds(MANY_ROWS, 1)
    yield Row(f"one local score, 1 continuous parent, n={MANY_ROWS:,}", f"{seconds[1, MANY_ROWS]:.1f} s of a core")
    growth = seconds[1, MANY_ROWS] / seconds[1, ROWS[-1]]
    for k in PARENTS[1:]:
        seconds[k, MANY_ROWS] = seconds[k, ROWS[-1]] * growth
        yield Row(f"the same, {k} parents, by growth", f"({seconds[k, MANY_ROWS]:.0f} s)")
    for tried, others in TRIED.items():
        for n in (*ROWS[1:], MANY_ROWS):
            each = [seconds[k, n] + sending for k in PARENTS]
            yield Row(
                f"by the model, {VARIABLES} variables, {tried}, n={n:,}, on {', '.join(map(str, WORKERS))} workers",
                _in_words([_whole(workers, others, each) for workers in WORKERS]),
            )


def _sending() -> Generator[Row, None, float]:
    """Measure what a task costs that has nothing to do: here, by processes of our own, on a local Dask cluster."""
    from distributed import Client, LocalCluster

    here, processes = _task_seconds(1, None), _task_seconds(2, None)
    with ExitStack() as stack:
        cluster = stack.enter_context(LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0"))
        client = stack.enter_context(Client(cluster))
        there = _task_seconds(None, client.get_executor())
    yield Row("a score that takes no time, computed in this process", f"{here * 1e3:.3f} ms")
    yield Row("the same as a task of 2 processes", f"{processes * 1e3:.2f} ms")
    yield Row("the same as a task of a local Dask cluster of 2 workers", f"{there * 1e3:.2f} ms")
    return there


def _task_seconds(workers: int | None, executor: Executor | None) -> float:
    """Return the seconds per task when every query is a task."""
    queries = [Query(name, frozenset()) for name in Nothing.variables]
    usual, pace.TASK_SECONDS = pace.TASK_SECONDS, 0.0
    try:
        with batches(Nothing(), workers, executor) as batch:
            list(batch(queries))  # who is there is started now
            with stopwatch() as elapsed:
                list(batch(queries))
            return elapsed() / len(queries)
    finally:
        pace.TASK_SECONDS = usual


def _score_seconds(n: int, parents: int) -> float:
    """Return the seconds of a core for a score as a search asks for it: from a fit with a parent less, not settled."""
    table, names = smooth(n, parents)
    score = LearnedKernelScore(Dataset.from_array(table))
    score.prepare()
    with threadpool_limits(1):
        begin = None
        for k in range(parents):
            begin = fit_local(score, "x1", names[:k], begin)
        before = time.process_time()
        fit_local(score, "x1", names, begin)
        return time.process_time() - before


def _whole(workers: int, others: int, each: list[float]) -> float:
    """Return the seconds of a search by the model, from those of a score with 1, 2 and 3 parents."""
    first = math.ceil(VARIABLES * others / workers) * each[0]
    return first + sum(VARIABLES * math.ceil((others - k + 1) / workers) * each[k - 1] for k in PARENTS[1:])


def _in_words(seconds: list[float]) -> str:
    return ", ".join(f"{s / 3600:.1f} h" if s < 48 * 3600 else f"{s / 86400:.1f} d" for s in seconds)


BENCHMARKS: list[Benchmark] = [cluster_tasks]
