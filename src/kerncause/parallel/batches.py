"""Batches of queries, computed here or by a crew; the answers come in any order."""

import os
import queue
import tempfile
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from kerncause.errors import OptionError
from kerncause.independence import IndependenceTest, TestResult
from kerncause.independence import Query as TestQuery
from kerncause.parallel.cluster import Cluster, is_dask
from kerncause.parallel.crews import Crew, Guests, Lost, Processes, Subject, Task
from kerncause.parallel.pace import Pace
from kerncause.parallel.trades import SCORING, TESTING, Trade
from kerncause.parallel.work import Order, subjects_here
from kerncause.scores.base import LocalScore, PreparedScore
from kerncause.scores.ledger import Batch
from kerncause.stop import Stopped, never

# Tasks that wait at each worker, so that it has one at hand when the last is done.
TASKS_AHEAD = 3
# After so long a silence somebody looks whether there are workers.
SILENCE_SECONDS = 2.0

Spread = Callable[[Sequence[Any]], Generator[tuple[Any, Any]]]


def worker_count(workers: int | None) -> int:
    """Return how many processes to use: None means one per core this process may run on."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if isinstance(workers, bool) or not isinstance(workers, Integral) or workers < 1:
        raise OptionError(f"workers (--workers) cannot be {workers}: give 1 or more, or leave it out for all cores")
    return int(workers)


@contextmanager
def batches(
    score: LocalScore,
    workers: int | None = None,
    executor: Executor | None = None,
    halt: Callable[[], bool] = never,
) -> Iterator[Batch]:
    """Give a function that computes batches of queries, for as long as the context lasts.

    Args:
        score: computes one query.
        workers: processes to start; None means one per core.
        executor: computes the tasks instead.
        halt: asked while nothing comes; if it says so, `Stopped` is raised.
    """
    with spread_over(SCORING, score, workers, executor, halt) as batch:
        yield batch


@contextmanager
def batches_of_tests(
    test: IndependenceTest,
    workers: int | None = None,
    executor: Executor | None = None,
    watched: Callable[[Spread], Spread] = lambda batch: batch,
) -> Iterator[Callable[[Sequence[TestQuery]], Iterable[TestResult]]]:
    """Give a function that answers queries of independence in their order, for as long as the context lasts.

    `watched` makes of what computes a batch one that tells of every answer when it is there.
    """
    with spread_over(TESTING, test, workers, executor) as batch:

        def in_order(queries: Sequence[TestQuery]) -> Iterable[TestResult]:
            found = dict(watched(batch)(queries))
            return [found[query] for query in queries]

        yield in_order


@contextmanager
def spread_over(
    trade: Trade,
    subject: object,
    workers: int | None,
    executor: Executor | None,
    halt: Callable[[], bool] = never,
) -> Iterator[Spread]:
    """Give a function that computes queries of any trade about one subject, for as long as the context lasts."""
    count = worker_count(workers)
    with threadpool_limits(1):
        if executor is None and count == 1:
            yield lambda queries: ((query, trade.computed(subject, query)) for query in queries)
            return
        if isinstance(subject, PreparedScore):
            subject.prepare()
        with tempfile.TemporaryDirectory(prefix="kerncause-") as folder:
            about = Subject(subject, uuid.uuid4().hex, Path(folder), halt)
            subjects_here[about.token] = subject
            try:
                with _crew(about, count, executor) as crew:
                    pace = Pace()
                    yield lambda queries: _spread(trade, crew, about, pace, queries)
            finally:
                del subjects_here[about.token]


@contextmanager
def _crew(about: Subject, count: int, executor: Executor | None) -> Iterator[Crew]:
    crew: Crew
    if executor is None:
        crew = Processes(count, about)
    elif is_dask(executor):
        crew = Cluster(executor, about)
    else:
        crew = Guests(executor, about)
    try:
        yield crew
    finally:
        crew.leave()


def _spread(trade: Trade, crew: Crew, about: Subject, pace: Pace, queries: Sequence[Any]) -> Generator[tuple[Any, Any]]:
    if len(queries) < crew.smallest_batch:
        yield from ((query, trade.computed(about.value, query)) for query in queries)
        return
    # Large sets take longest: begin with them, so that none is left for the end.
    left = dict.fromkeys(sorted(queries, key=lambda query: -trade.size(query)))
    while left:
        waiting, finished = deque(left), queue.SimpleQueue[Task]()
        flying: set[Task] = set()
        try:
            workers = crew.muster()
            most = max(1, len(left) // workers)
            while waiting or flying:
                while waiting and len(flying) < TASKS_AHEAD * workers:
                    order = Order(trade, pace.next_task(trade, waiting, most), about.token, crew.path)
                    flying.add(crew.sent(order, finished.put))
                task = _next(finished, crew, about)
                report = crew.report(task)
                flying.remove(task)
                if report is None:
                    flying.add(crew.sent(task.order, finished.put, lacking=True))
                    continue
                for query, answer, seconds in zip(task.order.queries, report.answers, report.seconds, strict=True):
                    pace.hear(trade.likeness(query), seconds)
                    del left[query]
                    yield query, answer
        except Lost:
            crew.replace()
        finally:
            crew.drop(flying)


def _next(finished: "queue.SimpleQueue[Task]", crew: Crew, about: Subject) -> Task:
    """Wait for the next task; in a long silence, look whether there is anything to wait for."""
    while True:
        try:
            return finished.get(timeout=SILENCE_SECONDS)
        except queue.Empty:
            if about.halt():
                raise Stopped from None
            crew.look()
