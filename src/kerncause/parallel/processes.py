"""Worker processes on this machine: how they are started, and how they end."""

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

START_METHOD = "fork" if sys.platform == "linux" else "spawn"
# How long a worker may go on after the process that started it is gone.
ORPHAN_SECONDS = 1.0


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
