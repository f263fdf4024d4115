"""Computing many local scores: here, or in several processes, with the same result.

Every process runs its linear algebra on one thread: on matrices this small two threads are slower than one,
and a fixed number makes the last bit of every result independent of how many workers there are.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

from kerncause.errors import ComputationError, OptionError
from kerncause.scores.base import LocalFit, LocalScore
from kerncause.scores.ledger import Batch, Query, answer

# Below this many scores a batch is not worth sending away; above, each task carries several.
SMALLEST_BATCH = 2
TASKS_PER_WORKER = 8


def worker_count(workers: int | None) -> int:
    """Return how many processes to use: None means one per core this process may run on."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not isinstance(workers, int) or workers < 1:
        raise OptionError(f"workers (--workers) cannot be {workers}: give 1 or more, or leave it out for all cores")
    return workers


@contextmanager
def batches(score: LocalScore, workers: int | None = None) -> Iterator[Batch]:
    """Give a function that computes batches of queries, for as long as the context lasts."""
    count = worker_count(workers)
    with threadpool_limits(1):
        if count == 1:
            yield lambda queries: ((query, answer(score, query)) for query in queries)
            return
        pool = ProcessPoolExecutor(count, _start_method(), initializer=_start, initargs=(score,))
        try:
            yield lambda queries: _spread(pool, score, queries, count)
        finally:
            # On an error or Ctrl-C nobody waits for what was still queued.
            pool.shutdown(wait=False, cancel_futures=True)


def _start_method() -> multiprocessing.context.BaseContext:
    """Fork on Linux: workers inherit the table, and a script needs no `if __name__ == "__main__"`."""
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


_score_here: LocalScore | None = None


def _start(score: LocalScore) -> None:
    """Prepare one worker process."""
    global _score_here
    _score_here = score
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends the workers
    threadpool_limits(1)


def _answers(queries: Sequence[Query]) -> list[LocalFit]:
    assert _score_here is not None
    return [answer(_score_here, query) for query in queries]


def _spread(
    pool: ProcessPoolExecutor, score: LocalScore, queries: Sequence[Query], workers: int
) -> Iterator[tuple[Query, LocalFit]]:
    if len(queries) < SMALLEST_BATCH:
        yield from ((query, answer(score, query)) for query in queries)
        return
    size = max(1, len(queries) // (workers * TASKS_PER_WORKER))
    chunks = [queries[i : i + size] for i in range(0, len(queries), size)]
    try:
        tasks = {pool.submit(_answers, chunk): chunk for chunk in chunks}
        for task in as_completed(tasks):
            yield from zip(tasks[task], task.result(), strict=True)
    except BrokenProcessPool:
        raise ComputationError("a worker process died, perhaps for lack of memory: use fewer workers, or one") from None
