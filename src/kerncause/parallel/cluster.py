"""A Dask cluster: the same tasks on other machines.

The subject is scattered to every worker at the start; Dask brings it to workers that join later, and gives the tasks of
a lost worker to the others. What Dask cannot do is made good here: if the last copy of the subject goes with the worker
that held it, or the scheduler is started again, the subject is scattered again and what was under way is redone.
Before a worker gets a task it is asked whether it would compute what this program would.
"""

import asyncio
import concurrent.futures
import logging
import pickle
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from typing import Any

from kerncause.errors import ComputationError, OptionError, WorkerWarning
from kerncause.parallel.crews import Crew, Lost, Subject, Task
from kerncause.parallel.parcel import Parcel
from kerncause.parallel.versions import noted_differences, refuse_absent, refuse_others, versions_here
from kerncause.parallel.work import Order, Report, carried_out_on_cluster
from kerncause.text import quoted

EXTRA = "pip install 'kerncause[dask]'"
ADDRESS = re.compile(r"(tcp|tls|ws|wss)://[^\s/:@]+:\d{1,5}|(tcp|tls|ws|wss)://\[[0-9a-fA-F:.%]+\]:\d{1,5}")
CONNECT_SECONDS = 10.0
# How long there may be no worker: at the start, and in the middle, when they may be on their way back.
START_SECONDS = 30.0
RETURN_SECONDS = 60.0
ANSWER_SECONDS = 10.0
POLL_SECONDS = 0.2
# How often in a row the subject may be lost.
LOSSES_TO_SURVIVE = 3
# What a connection that is gone, or a client that is closed, raises.
UNREACHABLE = (OSError, TimeoutError, RuntimeError)
CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)


def is_dask(executor: Executor) -> bool:
    """Tell whether an executor is that of a Dask client, without loading Dask."""
    module = sys.modules.get("distributed.cfexecutor")
    return module is not None and isinstance(executor, module.ClientExecutor)


@contextmanager
def connected(address: str) -> Iterator[Executor]:
    """Give an executor of the Dask cluster whose scheduler has this address, for as long as the context lasts."""
    if find_spec("distributed") is None:
        raise OptionError(f"--dask needs Dask, which is not installed: {EXTRA}")
    if not ADDRESS.fullmatch(address):
        raise OptionError(f"--dask cannot be {quoted(address)}: write it as tcp://HOST:8786, as the scheduler says it")
    from distributed import Client

    # What it says of lost connections is said here, in one sentence.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        asyncio.run(_greeted(address))  # a client that meets something else than a scheduler goes on trying
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
    except Exception:
        raise OptionError(
            f"there is no Dask scheduler at {quoted(address)} (--dask): start one with `dask scheduler`, or look "
            "whether the address is right and can be reached from here"
        ) from None
    try:
        yield client.get_executor()
    finally:
        with suppress(*UNREACHABLE):
            client.close(timeout=ANSWER_SECONDS)


async def _greeted(address: str) -> None:
    """Find out whether what answers at an address speaks Dask's language."""
    from distributed.comm import connect
    from distributed.security import Security

    comm = await connect(address, timeout=CONNECT_SECONDS, **Security().get_connection_args("client"))
    await comm.close()


class Cluster(Crew):
    """The workers of a Dask cluster.

    Args:
        executor: of a client; it is neither started nor ended here.
        subject: what the queries are about.
    """

    def __init__(self, executor: Any, subject: Subject) -> None:
        self._client = executor._client
        self._options = {"pure": False, **executor._kwargs}  # such as which workers may be used
        if self._client.asynchronous:
            raise OptionError("executor belongs to an asynchronous Dask client: give that of an ordinary one")
        if self._client.status != "running":
            raise OptionError("executor belongs to a Dask client that is closed: make a new one")
        self._address = str(self._client.scheduler.address)
        self._versions, self._met = versions_here(), set[str]()
        self._losses, self._silent_since, self._is_answered = 0, float("inf"), True
        self._halt = subject.halt
        self._meet(self._workers_within(START_SECONDS))
        self._parcel = Parcel.of(subject.value)
        self._scattered = self._handed_out()

    def muster(self) -> int:
        """Look at workers that are new, and count the threads of all."""
        running = self._workers_within(RETURN_SECONDS)
        self._meet(running)
        return sum(running.values())

    def sent(self, order: Order, done: Callable[[Task], None], lacking: bool = False) -> Task:
        """Submit to the cluster."""
        words = pickle.dumps(order)
        future = self._client.submit(carried_out_on_cluster, self._versions, words, self._scattered, **self._options)
        task = Task(order, future)
        future.add_done_callback(lambda _: done(task))
        return task

    def report(self, task: Task) -> Report | None:
        """Return the result, as soon as it is here."""
        while True:
            try:
                report: Report = task.future.result(timeout=ANSWER_SECONDS)
            except CANCELLED:
                raise Lost from None
            except Exception as problem:
                if task.future.status == "error":
                    raise _in_words(problem) from None
                if isinstance(problem, TimeoutError):
                    self.look()
                    continue
                if isinstance(problem, UNREACHABLE):
                    raise Lost from None
                raise
            self._losses = 0
            return report

    def replace(self) -> None:
        """Hand the subject out again, to whoever is there."""
        self._losses += 1
        if self._losses > LOSSES_TO_SURVIVE:
            raise ComputationError(
                f"the Dask cluster at {self._address} lost the table {self._losses} times in a row: look why its "
                "workers end (perhaps for lack of memory), and give the same command again"
            )
        self._meet(self._workers_within(RETURN_SECONDS))
        self._scattered = self._handed_out()

    def look(self) -> None:
        """Give up when there was no worker for too long."""
        if self._running():
            self._silent_since = float("inf")
            return
        self._silent_since = min(self._silent_since, time.monotonic())
        if time.monotonic() - self._silent_since > RETURN_SECONDS:
            raise self._nobody(RETURN_SECONDS)

    def drop(self, tasks: Iterable[Task]) -> None:
        """Cancel tasks in one go; those under way end by themselves, and nobody hears of them."""
        futures = [task.future for task in tasks]
        if futures and self._client.status == "running":
            with suppress(*UNREACHABLE, *CANCELLED):
                self._client.cancel(futures)

    def leave(self) -> None:
        """Let the cluster forget the subject."""
        with suppress(*UNREACHABLE, *CANCELLED):
            self._scattered.release()

    def _running(self) -> dict[str, int]:
        """Return the threads of the workers that take tasks, by address; none if the scheduler does not answer."""
        try:
            found: dict[str, int] = self._client.sync(
                self._client.scheduler.ncores_running, callback_timeout=ANSWER_SECONDS
            )
        except (*UNREACHABLE, *CANCELLED, AttributeError):  # a client that is closed has no scheduler
            self._is_answered = False
            return {}
        self._is_answered = True
        return found

    def _workers_within(self, seconds: float) -> dict[str, int]:
        """Wait for at least one worker, no longer than the whole may take; return the threads of all."""
        begun = time.monotonic()
        while not (running := self._running()):
            gone = time.monotonic() - begun
            if gone > seconds or self._client.status == "closed" or self._halt():
                raise self._nobody(gone)
            time.sleep(POLL_SECONDS)
        return running

    def _nobody(self, seconds: float) -> ComputationError:
        if self._client.status != "running" or not self._is_answered:
            return ComputationError(
                f"the Dask scheduler at {self._address} does not answer any more: look whether it runs, and give the "
                "same command again (with --out or --cache nothing that is done is lost)"
            )
        return ComputationError(
            f"the Dask cluster at {self._address} had no worker that takes tasks for {seconds:.0f} s: start some with "
            f"`dask worker {self._address}`, or look whether those that are there have memory left"
        )

    def _meet(self, running: Iterable[str]) -> None:
        """Ask the workers that are new for their versions."""
        new = [address for address in running if address not in self._met]
        if not new:
            return
        try:
            answers = self._client.sync(
                self._client._run, versions_here, workers=new, on_error="return", callback_timeout=ANSWER_SECONDS
            )
        except TimeoutError:  # one of them is busy or frozen; each looks for itself when it gets a task
            self._met.update(new)
            return
        notes = []
        for address, theirs in answers.items():
            if isinstance(theirs, OSError):  # it left before it could answer
                continue
            if isinstance(theirs, Exception):
                raise refuse_absent(address, theirs)
            refuse_others(address, theirs, self._versions)
            notes.append(noted_differences(address, theirs, self._versions))
            self._met.add(address)
        for note in sorted(filter(None, notes)):
            warnings.warn(note, WorkerWarning, stacklevel=2)

    def _handed_out(self) -> Any:
        """Send the subject to every worker; one that is lost meanwhile is no reason to give up."""
        for _ in range(LOSSES_TO_SURVIVE):
            try:
                [scattered] = self._client.scatter([self._parcel], broadcast=True, hash=False, timeout=ANSWER_SECONDS)
            except (Exception, asyncio.CancelledError):  # whatever went wrong there, there may be a sentence for it
                self._meet(self._workers_within(RETURN_SECONDS))
            else:
                return scattered
        raise ComputationError(
            f"the table could not be sent to the workers of the Dask cluster at {self._address}: look whether they "
            "have memory for it, and whether the network between them works"
        )


def _in_words(problem: Exception) -> Exception:
    """Return what to say of a task that failed."""
    from distributed import KilledWorker

    if isinstance(problem, KilledWorker):
        return ComputationError(
            "the same task ended several Dask workers, one after the other, perhaps for lack of memory: give workers "
            "more memory, or fewer threads each (--nthreads 1), or draw a sample of the rows"
        )
    if isinstance(problem, ImportError) and (problem.name or "").startswith("kerncause"):
        return refuse_absent("that took a task", problem)
    return problem
