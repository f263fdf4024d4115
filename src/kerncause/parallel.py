"""Computing many local scores or tests: here, in several processes, or on any executor, with the same result.

* The score (or test), table and all, is written to a file once: what is large in it as raw bytes that every worker maps
  into memory, so that it lies there once however many workers there are. A task is the path of that file and a
  few queries. Workers forked from this process share its memory and need no file.
* Every process runs its linear algebra on one thread: on matrices this small two threads are slower than one,
  and a fixed number makes the last bit of every result independent of how many workers there are.
* On an error or Ctrl-C nobody waits for what is still being computed. Worker processes that died are replaced
  once; if that happens again the search ends with an error.
"""

import mmap
import multiprocessing
import os
import pickle
import signal
import sys
import tempfile
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from kerncause.errors import ComputationError, OptionError
from kerncause.independence import IndependenceTest, TestResult
from kerncause.independence import Query as TestQuery
from kerncause.scores.base import LocalScore, PreparedScore
from kerncause.scores.ledger import Batch, answer
from kerncause.text import quoted

# Below this many scores a batch is not worth sending away; above, each task carries several.
SMALLEST_BATCH = 2
TASKS_PER_WORKER = 8
# An executor of somebody else's may have any number of workers.
TASKS_OF_UNKNOWN_WORKERS = 64
ALIGNMENT = 64
DEATHS_TO_SURVIVE = 1
START_METHOD = "fork" if sys.platform == "linux" else "spawn"
# How long a worker may go on after the process that started it is gone.
ORPHAN_SECONDS = 1.0


def worker_count(workers: int | None) -> int:
    """Return how many processes to use: None means one per core this process may run on."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not isinstance(workers, int) or workers < 1:
        raise OptionError(f"workers (--workers) cannot be {workers}: give 1 or more, or leave it out for all cores")
    return workers


@dataclass(frozen=True)
class _Trade:
    """What is computed: local scores, or tests.

    Attributes:
        answer: computes one query with the score or test; workers find it by its name.
        size: what a query's time grows with.
        name: a query in words.
    """

    answer: Callable[[Any, Any], Any]
    size: Callable[[Any], int]
    name: Callable[[Any], str]


def _tested(test: IndependenceTest, query: TestQuery) -> TestResult:
    return test.test(*query)


_SCORING = _Trade(
    answer,
    lambda query: len(query.parents),
    lambda query: f"the score of {quoted(query.target)} with {len(query.parents)} parents",
)
_TESTING = _Trade(
    _tested,
    lambda query: len(query.given),
    lambda query: f"the test of {quoted(query.x)} and {quoted(query.y)} given {len(query.given)} variables",
)

_Spread = Callable[[Sequence[Any]], Generator[tuple[Any, Any]]]


@contextmanager
def batches(score: LocalScore, workers: int | None = None, executor: Executor | None = None) -> Iterator[Batch]:
    """Give a function that computes batches of queries, for as long as the context lasts.

    Args:
        score: computes one query.
        workers: processes to start; None means one per core.
        executor: computes the tasks instead. Its workers must see this machine's temporary files.
    """
    with _crewed(_SCORING, score, workers, executor) as batch:
        yield batch


@contextmanager
def batches_of_tests(
    test: IndependenceTest,
    workers: int | None = None,
    executor: Executor | None = None,
    watched: Callable[[_Spread], _Spread] = lambda batch: batch,
) -> Iterator[Callable[[Sequence[TestQuery]], Iterable[TestResult]]]:
    """Give a function that answers queries of independence in their order, for as long as the context lasts.

    `watched` makes of what computes a batch one that tells of every answer when it is there.
    """
    with _crewed(_TESTING, test, workers, executor) as batch:

        def in_order(queries: Sequence[TestQuery]) -> Iterable[TestResult]:
            found = dict(watched(batch)(queries))
            return [found[query] for query in queries]

        yield in_order


@contextmanager
def _crewed(trade: _Trade, subject: object, workers: int | None, executor: Executor | None) -> Iterator[_Spread]:
    count = worker_count(workers)
    with threadpool_limits(1):
        if executor is None and count == 1:
            yield lambda queries: ((query, _answer(trade, subject, query)) for query in queries)
            return
        if isinstance(subject, PreparedScore):
            subject.prepare()
        with tempfile.TemporaryDirectory(prefix="kerncause-") as folder:
            path = Path(folder) / "subject"
            crew: _Crew = _Processes(count) if executor is None else _Guests(executor)
            if crew.need_a_file:
                _write(subject, path)
            _subjects_here[path] = subject
            try:
                yield lambda queries: _spread(trade, crew, path, queries)
            finally:
                del _subjects_here[path]
                crew.leave()


class _Crew(ABC):
    """Those who compute the tasks of one search.

    Attributes:
        tasks: how many tasks to make of a batch.
        need_a_file: whether they do not have the score or test already.
    """

    tasks = TASKS_OF_UNKNOWN_WORKERS
    need_a_file = True

    @abstractmethod
    def submit(self, trade: _Trade, path: Path, queries: Sequence[Any]) -> "Future[list[Any]]":
        """Have some queries computed."""

    @abstractmethod
    def replaced(self) -> bool:
        """Start again after a death, if that can be done."""

    @abstractmethod
    def leave(self) -> None:
        """Stop what is still running."""


class _Guests(_Crew):
    """An executor that belongs to the caller: it is neither started nor ended here."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def submit(self, trade: _Trade, path: Path, queries: Sequence[Any]) -> "Future[list[Any]]":
        return self._executor.submit(_answers, _TRADES.index(trade), path, queries)

    def replaced(self) -> bool:
        return False

    def leave(self) -> None:
        pass


class _Processes(_Crew):
    """Processes of our own: forked on Linux, where a script then needs no `if __name__ == "__main__"`."""

    def __init__(self, count: int) -> None:
        self._count, self._deaths = count, 0
        self.tasks, self.need_a_file = count * TASKS_PER_WORKER, START_METHOD != "fork"
        self._pool = started_pool(count)

    def submit(self, trade: _Trade, path: Path, queries: Sequence[Any]) -> "Future[list[Any]]":
        with uninterrupted():
            return self._pool.submit(_answers, _TRADES.index(trade), path, queries)

    def replaced(self) -> bool:
        self._deaths += 1
        if self._deaths > DEATHS_TO_SURVIVE:
            return False
        self.leave()
        self._pool = started_pool(self._count)
        return True

    def leave(self) -> None:
        end_pool(self._pool)


def started_pool(count: int) -> ProcessPoolExecutor:
    """Return a pool of processes that run linear algebra on one thread each and do not outlive this one."""
    return ProcessPoolExecutor(count, multiprocessing.get_context(START_METHOD), initializer=_start)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait until the end of this context.

    A pool starts its processes when something is submitted. Interrupted in the middle of that, it would know nothing of
    a process that runs already, and wait for it at the end.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)
    if came:
        signal.raise_signal(signal.SIGINT)


def end_pool(pool: ProcessPoolExecutor) -> None:
    """End the processes of a pool, whatever they are at: shutting it down would wait for minutes."""
    processes = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for process in processes:
        process.terminate()


def _spread(trade: _Trade, crew: _Crew, path: Path, queries: Sequence[Any]) -> Generator[tuple[Any, Any]]:
    if len(queries) < SMALLEST_BATCH:
        yield from ((query, _answer(trade, _subjects_here[path], query)) for query in queries)
        return
    # Large sets take longest: begin with them, so that none is left for the end.
    waiting = dict.fromkeys(sorted(queries, key=lambda query: -trade.size(query)))
    while waiting:
        size = max(1, len(waiting) // crew.tasks)
        left = list(waiting)
        tasks: dict[Future[list[Any]], list[Any]] = {}
        try:
            for i in range(0, len(left), size):
                tasks[crew.submit(trade, path, left[i : i + size])] = left[i : i + size]
            for task in as_completed(tasks):
                for query, fit in zip(tasks[task], task.result(), strict=True):
                    del waiting[query]
                    yield query, fit
        except BrokenExecutor:
            if not crew.replaced():
                raise ComputationError(
                    "a worker process died, perhaps for lack of memory: use fewer workers (--workers), or one"
                ) from None
        finally:
            for task in tasks:
                task.cancel()


# What is sent to a worker is a trade's number, not its functions.
_TRADES = (_SCORING, _TESTING)
# The scores and tests of the searches this process runs, or had running when it was forked, by their file.
_subjects_here: dict[Path, object] = {}
# The one that this process, as a worker, last read from a file.
_subject_read: dict[Path, object] = {}


def _start() -> None:
    """Prepare one worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends the workers
    threadpool_limits(1)
    threading.Thread(target=_leave_with, args=(os.getppid(),), daemon=True).start()


def _leave_with(parent: int) -> None:
    """End this process soon after its parent was killed, which could not tell it any more."""
    while os.getppid() == parent:
        time.sleep(ORPHAN_SECONDS)
    os._exit(1)


def _answers(trade: int, path: Path, queries: Sequence[Any]) -> list[Any]:
    """Compute some queries, in a worker."""
    subject = _subjects_here.get(path) or _subject_read.get(path)
    if subject is None:
        subject = read_mapped(path)
        _subject_read.clear()  # do not keep the table of the search before
        _subject_read[path] = subject
    return [_answer(_TRADES[trade], subject, query) for query in queries]


def _answer(trade: _Trade, subject: object, query: Any) -> Any:
    try:
        return trade.answer(subject, query)
    except MemoryError:
        raise ComputationError(
            f"there is not enough memory for {trade.name(query)}: "
            "use fewer workers (--workers), or draw a sample of the rows"
        ) from None


def _write(subject: object, path: Path) -> None:
    try:
        write_mapped(subject, path)
    except (pickle.PicklingError, TypeError, AttributeError) as unfit:
        raise OptionError(
            f"the score or test cannot be sent to other processes ({unfit}): give one that can be pickled, or workers=1"
        ) from None


def write_mapped(value: object, path: Path) -> None:
    """Write an object so that `read_mapped` need not copy its arrays.

    Pickled with its buffers out of band: one file with the pickle, one with the raw bytes of the buffers.
    """
    buffers: list[pickle.PickleBuffer] = []
    pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append)
    places = []
    with path.with_suffix(".buffers").open("wb") as file:
        for buffer in buffers:
            raw = buffer.raw()
            places.append((file.tell(), raw.nbytes))
            file.write(raw)
            file.write(bytes(-file.tell() % ALIGNMENT or ALIGNMENT))
    path.write_bytes(pickle.dumps((places, pickled)))


def read_mapped(path: Path) -> object:
    """Read what `write_mapped` wrote; its arrays lie in the mapped file and cannot be written to."""
    places, pickled = pickle.loads(path.read_bytes())
    buffers: list[memoryview] = []
    if places:
        with path.with_suffix(".buffers").open("rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        buffers = [mapped[start : start + size] for start, size in places]
    value: object = pickle.loads(pickled, buffers=buffers)
    return value
