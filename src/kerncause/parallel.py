"""Computing many local scores: here, in several processes, or on any executor, with the same result.

* The score, table and all, is written to a file once: what is large in it as raw bytes that every worker maps
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
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path

from threadpoolctl import threadpool_limits

from kerncause.errors import ComputationError, OptionError
from kerncause.scores.base import LocalFit, LocalScore, PreparedScore
from kerncause.scores.ledger import Batch, Query, answer
from kerncause.text import quoted

# Below this many scores a batch is not worth sending away; above, each task carries several.
SMALLEST_BATCH = 2
TASKS_PER_WORKER = 8
# An executor of somebody else's may have any number of workers.
TASKS_OF_UNKNOWN_WORKERS = 64
ALIGNMENT = 64
DEATHS_TO_SURVIVE = 1


def worker_count(workers: int | None) -> int:
    """Return how many processes to use: None means one per core this process may run on."""
    if workers is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not isinstance(workers, int) or workers < 1:
        raise OptionError(f"workers (--workers) cannot be {workers}: give 1 or more, or leave it out for all cores")
    return workers


@contextmanager
def batches(score: LocalScore, workers: int | None = None, executor: Executor | None = None) -> Iterator[Batch]:
    """Give a function that computes batches of queries, for as long as the context lasts.

    Args:
        score: computes one query.
        workers: processes to start; None means one per core.
        executor: computes the tasks instead. Its workers must see this machine's temporary files.
    """
    count = worker_count(workers)
    with threadpool_limits(1):
        if executor is None and count == 1:
            yield lambda queries: ((query, _answer(score, query)) for query in queries)
            return
        if isinstance(score, PreparedScore):
            score.prepare()
        with tempfile.TemporaryDirectory(prefix="kerncause-") as folder:
            path = Path(folder) / "score"
            crew: _Crew = _Processes(count) if executor is None else _Guests(executor)
            if crew.need_a_file:
                _write(score, path)
            _scores_here[path] = score
            try:
                yield lambda queries: _spread(crew, path, queries)
            finally:
                del _scores_here[path]
                crew.leave()


class _Crew(ABC):
    """Those who compute the tasks of one search.

    Attributes:
        tasks: how many tasks to make of a batch.
        need_a_file: whether they do not have the score already.
    """

    tasks = TASKS_OF_UNKNOWN_WORKERS
    need_a_file = True

    @abstractmethod
    def submit(self, path: Path, queries: Sequence[Query]) -> "Future[list[LocalFit]]":
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

    def submit(self, path: Path, queries: Sequence[Query]) -> "Future[list[LocalFit]]":
        return self._executor.submit(_answers, path, queries)

    def replaced(self) -> bool:
        return False

    def leave(self) -> None:
        pass


class _Processes(_Crew):
    """Processes of our own: forked on Linux, where a script then needs no `if __name__ == "__main__"`."""

    def __init__(self, count: int) -> None:
        self._count, self._deaths = count, 0
        self._method = "fork" if sys.platform == "linux" else "spawn"
        self.tasks, self.need_a_file = count * TASKS_PER_WORKER, self._method != "fork"
        self._pool = self._started()

    def _started(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(self._count, multiprocessing.get_context(self._method), initializer=_start)

    def submit(self, path: Path, queries: Sequence[Query]) -> "Future[list[LocalFit]]":
        return self._pool.submit(_answers, path, queries)

    def replaced(self) -> bool:
        self._deaths += 1
        if self._deaths > DEATHS_TO_SURVIVE:
            return False
        self.leave()
        self._pool = self._started()
        return True

    def leave(self) -> None:
        # Shutting a pool down waits for the tasks under way, which can take minutes: end its processes first.
        processes = list((getattr(self._pool, "_processes", None) or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()


def _spread(crew: _Crew, path: Path, queries: Sequence[Query]) -> Generator[tuple[Query, LocalFit]]:
    if len(queries) < SMALLEST_BATCH:
        yield from ((query, _answer(_scores_here[path], query)) for query in queries)
        return
    # Large parent sets take longest: begin with them, so that none is left for the end.
    waiting = dict.fromkeys(sorted(queries, key=lambda query: -len(query.parents)))
    while waiting:
        size = max(1, len(waiting) // crew.tasks)
        left = list(waiting)
        tasks: dict[Future[list[LocalFit]], list[Query]] = {}
        try:
            for i in range(0, len(left), size):
                tasks[crew.submit(path, left[i : i + size])] = left[i : i + size]
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


# The scores of the searches this process runs, or had running when it was forked, by their file.
_scores_here: dict[Path, LocalScore] = {}
# The score that this process, as a worker, last read from a file.
_score_read: dict[Path, LocalScore] = {}


def _start() -> None:
    """Prepare one worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which then ends the workers
    threadpool_limits(1)


def _answers(path: Path, queries: Sequence[Query]) -> list[LocalFit]:
    """Compute some queries, in a worker."""
    score = _scores_here.get(path) or _score_read.get(path)
    if score is None:
        score = read_mapped(path)
        _score_read.clear()  # do not keep the table of the search before
        _score_read[path] = score
    return [_answer(score, query) for query in queries]


def _answer(score: LocalScore, query: Query) -> LocalFit:
    try:
        return answer(score, query)
    except MemoryError:
        raise ComputationError(
            f"there is not enough memory for the score of {quoted(query.target)} with {len(query.parents)} parents: "
            "use fewer workers (--workers), or draw a sample of the rows"
        ) from None


def _write(score: LocalScore, path: Path) -> None:
    try:
        write_mapped(score, path)
    except (pickle.PicklingError, TypeError, AttributeError) as unfit:
        raise OptionError(
            f"the score cannot be sent to other processes ({unfit}): give one that can be pickled, or workers=1"
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


def read_mapped(path: Path) -> LocalScore:
    """Read what `write_mapped` wrote; its arrays lie in the mapped file and cannot be written to."""
    places, pickled = pickle.loads(path.read_bytes())
    buffers: list[memoryview] = []
    if places:
        with path.with_suffix(".buffers").open("rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        buffers = [mapped[start : start + size] for start, size in places]
    score: LocalScore = pickle.loads(pickled, buffers=buffers)
    return score
