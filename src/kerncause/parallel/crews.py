"""Those who compute the tasks of one search: processes of our own, or an executor of somebody else's."""

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kerncause.errors import ComputationError, OptionError
from kerncause.parallel.parcel import Parcel, write_mapped
from kerncause.parallel.processes import START_METHOD, end_pool, started_pool, uninterrupted
from kerncause.parallel.trades import SCORING
from kerncause.parallel.versions import versions_here
from kerncause.parallel.work import Order, Report, carried_out, carried_out_elsewhere

DEATHS_TO_SURVIVE = 1
# An executor of somebody else's may have any number of workers.
UNKNOWN_WORKERS = 64


class Lost(Exception):  # noqa: N818 - it can be made good
    """The tasks under way are lost: begin them again, if the crew can be replaced."""


@dataclass(frozen=True, eq=False)
class Task:
    """An order that was sent, and what is waited for."""

    order: Order
    future: Any


@dataclass(frozen=True, eq=False)
class Subject:
    """What the queries are about.

    Attributes:
        value: the score or test.
        token: names it as no other is named.
        folder: for files about it, which goes when the search ends.
        halt: tells whether somebody wants the search to stop.
    """

    value: object
    token: str
    folder: Path
    halt: Callable[[], bool]


class Crew(ABC):
    """Workers, with the subject in their hands.

    Attributes:
        path: a file with the subject, for those who need one.
        smallest_batch: a batch of fewer queries is computed here.
    """

    path: Path | None = None
    smallest_batch = 1

    @abstractmethod
    def muster(self) -> int:
        """Look who is there before a batch, and return how many."""

    @abstractmethod
    def sent(self, order: Order, done: Callable[[Task], None], lacking: bool = False) -> Task:
        """Have a task done; call `done`, from any thread, when there is something to see.

        `lacking` says that the task was sent before, to a worker that did not have the subject.
        """

    @abstractmethod
    def report(self, task: Task) -> Report | None:
        """Return what came of a task, or None if the worker lacked the subject; raise Lost if all must be redone."""

    @abstractmethod
    def replace(self) -> None:
        """Start again after a loss, or raise an error that says why that cannot be."""

    def look(self) -> None:  # noqa: B027 - most need not
        """Look whether there is still something to wait for, after some time of silence."""

    def drop(self, tasks: Iterable[Task]) -> None:
        """Forget tasks that nobody waits for any more."""
        for task in tasks:
            task.future.cancel()

    @abstractmethod
    def leave(self) -> None:
        """Stop what is still running."""


class Processes(Crew):
    """Processes of our own: forked on Linux, where a script then needs no `if __name__ == "__main__"`."""

    smallest_batch = 2

    def __init__(self, count: int, subject: Subject) -> None:
        self._count, self._deaths = count, 0
        self.path = None if START_METHOD == "fork" else _written(subject)
        self._pool = started_pool(count)

    def muster(self) -> int:
        """As many as were asked for."""
        return self._count

    def sent(self, order: Order, done: Callable[[Task], None], lacking: bool = False) -> Task:
        """Submit to the pool."""
        with uninterrupted(), _broken_is_lost():
            return _awaited(order, self._pool.submit(carried_out, order), done)

    def report(self, task: Task) -> Report | None:
        """Return the result."""
        return _result(task)

    def replace(self) -> None:
        """Start another pool, once."""
        self._deaths += 1
        if self._deaths > DEATHS_TO_SURVIVE:
            raise _died()
        self.leave()
        self._pool = started_pool(self._count)

    def leave(self) -> None:
        """End the processes."""
        end_pool(self._pool)


class Guests(Crew):
    """An executor that belongs to the caller: it is neither started nor ended here.

    Where its workers see this machine's temporary files they map the subject into memory. If one that is asked does
    not, it is sent with as many tasks as there are workers, and again with a task that came to one who still lacked it;
    those who have it keep it.
    """

    def __init__(self, executor: Executor, subject: Subject) -> None:
        self._executor, self._subject = executor, subject
        self.path = _written(subject)
        self._parcel: Parcel | None = None
        self._to_send: int | None = None

    def muster(self) -> int:
        """Ask how many there are, and at first whether they see the file."""
        count = _workers_of(self._executor)
        if self._to_send is None:
            with _broken_is_lost():
                probe = self._submitted(Order(SCORING, (), self._subject.token, self.path), None).result()
            self._to_send = count if probe is None else 0
        return count

    def sent(self, order: Order, done: Callable[[Task], None], lacking: bool = False) -> Task:
        """Submit to the executor, with the subject if it is lacking."""
        if lacking or self._to_send:
            self._to_send = max(0, (self._to_send or 0) - 1)
            self._parcel = self._parcel or Parcel.of(self._subject.value)
            return _awaited(order, self._submitted(order, self._parcel), done)
        return _awaited(order, self._submitted(order, None), done)

    def _submitted(self, order: Order, parcel: Parcel | None) -> "Future[Report | None]":
        with uninterrupted(), _broken_is_lost():
            try:
                return self._executor.submit(carried_out_elsewhere, versions_here(), pickle.dumps(order), parcel)
            except BrokenExecutor:
                raise
            except RuntimeError as shut:  # what one that was shut down raises
                raise OptionError(f"executor takes no more work ({shut}): give one that is open") from None

    def report(self, task: Task) -> Report | None:
        """Return the result."""
        return _result(task)

    def replace(self) -> None:
        """It is not ours to replace."""
        raise _died()

    def leave(self) -> None:
        """Let it be."""


def _workers_of(executor: Executor) -> int:
    """Return what an executor says: mpi4py in one way, the standard ones and loky in another."""
    for name in ("num_workers", "_max_workers"):
        count = getattr(executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    return UNKNOWN_WORKERS


def _awaited(order: Order, future: "Future[Report | None]", done: Callable[[Task], None]) -> Task:
    task = Task(order, future)
    future.add_done_callback(lambda _: done(task))
    return task


def _result(task: Task) -> Report | None:
    with _broken_is_lost():
        report: Report | None = task.future.result()
    return report


@contextmanager
def _broken_is_lost() -> Iterator[None]:
    try:
        yield
    except BrokenExecutor:
        raise Lost from None


def _written(subject: Subject) -> Path:
    path = subject.folder / subject.token
    write_mapped(subject.value, path)
    return path


def _died() -> ComputationError:
    return ComputationError(
        "a worker process died, perhaps for lack of memory: use fewer workers (--workers), or one; "
        "with --out nothing that is done is lost (add --resume for the halves of --confidence)"
    )
