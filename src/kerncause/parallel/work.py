"""What a worker does: one task after the other, with the score or test that it finds, or that was sent."""

import os
import pickle
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from kerncause.parallel.parcel import Parcel, read_mapped
from kerncause.parallel.trades import Trade
from kerncause.parallel.versions import Versions, refuse_others, this_worker, versions_here


@dataclass(frozen=True, eq=False)
class Order:
    """A task.

    Attributes:
        trade: what is to be computed.
        queries: of what.
        token: names the subject, the score or test, as no other does.
        path: a file with the subject, if there is one.
    """

    trade: Trade
    queries: Sequence[Any]
    token: str
    path: Path | None = None


@dataclass(frozen=True, eq=False)
class Report:
    """What came of a task: the answers in the order of the queries, and how long each took."""

    answers: list[Any]
    seconds: list[float]


# The subjects of the searches that this process runs, or had running when it was forked, by their tokens.
subjects_here: dict[str, object] = {}
# The one that this process, as a worker, last read from a file or was sent.
_subject_kept: dict[str, object] = {}


def carried_out(order: Order, parcel: Parcel | None = None) -> Report | None:
    """Do a task; None if its subject is nowhere to be found: it has to be sent."""
    subject = _found(order, parcel)
    return None if subject is None else _reported(order, subject)


def carried_out_elsewhere(versions: Versions, order: bytes, parcel: Parcel | None = None) -> Report | None:
    """Do a task of another program, perhaps on another machine: look first whether that is one like this."""
    refuse_others(this_worker(), versions_here(), versions)
    with _keeper.one_thread_each():
        return carried_out(pickle.loads(order), parcel)


def carried_out_on_cluster(versions: Versions, order: bytes, parcel: Parcel) -> Report:
    """Do the same where a cluster keeps the parcel: when it lets go of that, nothing stays here."""
    refuse_others(this_worker(), versions_here(), versions)
    with _keeper.one_thread_each():
        return _reported(pickle.loads(order), parcel.unpacked())


def _found(order: Order, parcel: Parcel | None) -> object | None:
    for subjects in (subjects_here, _subject_kept):
        if (subject := subjects.get(order.token)) is not None:
            return subject
    subject = _read(order.path) if parcel is None else parcel.unpacked()
    if subject is not None:
        _subject_kept.clear()  # do not keep the table of the search before
        _subject_kept[order.token] = subject
    return subject


def _read(path: Path | None) -> object | None:
    """Read the subject from its file, where that can be seen."""
    try:
        return None if path is None else read_mapped(path)
    except FileNotFoundError:
        return None


def _reported(order: Order, subject: object) -> Report:
    report = Report([], [])
    for query in order.queries:
        begun = time.perf_counter()
        report.answers.append(order.trade.computed(subject, query))
        report.seconds.append(time.perf_counter() - begun)
    return report


class _Keeper:
    """Holds the linear algebra of this process to one thread for as long as a task is under way.

    The limit is one of the whole process, which may be a worker with several threads. So the first task to come sets
    it, and only the last to go takes it back: those in between would be computed with another, and in other digits.
    Only the thread that set it can change it again, so there is a thread for that, which goes when it is done.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tasks = 0
        self._held = ExitStack()

    @contextmanager
    def one_thread_each(self) -> Iterator[None]:
        """Hold it during one task."""
        with self._lock:
            if self._tasks == 0:
                self._held = _limited()
            self._tasks += 1
        try:
            yield
        finally:
            with self._lock:
                self._tasks -= 1
                if self._tasks == 0:
                    self._held.close()


def _limited() -> ExitStack:
    """Set the limit in a thread; closing what is returned takes it back there, and ends the thread."""
    held = ExitStack()
    thread = held.enter_context(ThreadPoolExecutor(1, "kerncause-limit"))
    limits = thread.submit(threadpool_limits, 1).result()
    held.callback(lambda: thread.submit(limits.restore_original_limits).result())
    return held


_keeper = _Keeper()


def _after_fork() -> None:
    """Begin anew in a process that was forked: the tasks that were under way are not its own."""
    global _keeper
    _keeper = _Keeper()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
