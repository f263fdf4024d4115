"""How a long run shows that it goes on: one line kept up to date on a terminal, a plain one now and then elsewhere."""

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from kerncause.text import clock, counted, duration
from kerncause.watch import HALVES, Status

REFRESH_SECONDS = 0.1
# Where there is no terminal, a line at most this often, and none before so long.
PLAIN_SECONDS = 30.0
# How often it is shown that time goes on while there is no news.
TICK_SECONDS = 1.0
APART = "  "
EXPLAINING = "explaining"

Watch = Callable[[Status], None]


@contextmanager
def shown_on(console: Console) -> Iterator[Watch]:
    """Give a watcher that shows where a run is."""
    if not console.is_terminal or console.is_dumb_terminal:
        yield _plain(console)
        return
    # No refreshing thread: worker processes are forked from this one.
    with Live(console=console, auto_refresh=False, transient=True) as live:
        shown = 0.0

        def watch(status: Status) -> None:
            nonlocal shown
            if time.monotonic() - shown > REFRESH_SECONDS:
                shown = time.monotonic()
                text = Text(line(status, console.width), style="dim", no_wrap=True, overflow="ellipsis")
                live.update(text, refresh=True)

        yield watch


def _plain(console: Console) -> Watch:
    """Return a watcher for a log: whole lines, and few of them."""
    shown = time.monotonic()

    def watch(status: Status) -> None:
        nonlocal shown
        if time.monotonic() - shown >= PLAIN_SECONDS:
            shown = time.monotonic()
            console.print(Text(line(status)), soft_wrap=True)

    return watch


@contextmanager
def ticking(watchers: list[Watch]) -> Iterator[Watch | None]:
    """Give a watcher that tells all of these, and tells them the time while one long score is computed.

    That is done by a timer of the system and not by a thread, because worker processes are forked from this one; they
    do not inherit a timer. Where there is none, or somebody uses it already, there is no telling of the time.
    """
    if not watchers:
        yield None
        return
    last: tuple[Status, float] | None = None
    is_telling = False

    def watch(status: Status) -> None:
        nonlocal last, is_telling
        last, is_telling = (status, time.monotonic()), True
        try:
            for tell in watchers:
                tell(status)
        finally:
            is_telling = False

    def tick(*_: object) -> None:
        if last is not None and not is_telling:
            status, then = last
            for tell in watchers:
                tell(status.later(time.monotonic() - then))

    with ExitStack() as undone:
        in_main = threading.current_thread() is threading.main_thread()
        if in_main and hasattr(signal, "setitimer") and signal.getsignal(signal.SIGALRM) is signal.SIG_DFL:
            signal.signal(signal.SIGALRM, tick)
            signal.siginterrupt(signal.SIGALRM, False)
            undone.callback(signal.signal, signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, TICK_SECONDS, TICK_SECONDS)
            undone.callback(signal.setitimer, signal.ITIMER_REAL, 0.0)
        yield watch


def line(status: Status, width: int | None = None) -> str:
    """Return where a run is on one line; of what does not fit into the width, the least important is left out first."""
    parts = [wordings for wordings in _parts(status) if wordings]
    while width is not None and len(_joined(parts)) > width:
        longest = max(parts, key=lambda wordings: wordings[0][0])
        if longest[0][0] == 0:
            break
        del longest[0]
        parts = [wordings for wordings in parts if wordings]
    return _joined(parts)


# Ways to say one thing, the longest first, each with when it is given up: the highest number goes first, 0 never.
_Wordings = list[tuple[int, str]]


def _joined(parts: list[_Wordings]) -> str:
    return APART.join(wordings[0][1] for wordings in parts)


def _parts(status: Status) -> Iterator[_Wordings]:
    counts_itself = status.phase[-1:].isdigit()
    yield [(0, status.phase)]
    if status.phase == HALVES:
        yield [(2, f"{status.step:,} of {status.step + status.queued:,}")]
    elif status.scores:
        if not counts_itself and status.phase != EXPLAINING:
            yield [(2, f"step {status.step + 1:,}")]
            yield [(5, counted(status.edges, "edge"))]
        scores = counted(status.scores, status.unit)
        found = [(7, f"{scores}, {status.found:,} found in the file")] if status.found else []
        yield [*found, (4, scores)]
    yield _ahead(status)
    if status.budget_left is not None:
        left = clock(status.budget_left)
        yield [(8, f"{left} left of the time budget"), (3, f"budget {left}")]
    yield [(0, clock(status.seconds))]


def _ahead(status: Status) -> _Wordings:
    """Return what is queued, and how long that will take."""
    queued = f"{status.queued:,} queued"
    if status.seconds_left is None:
        return [(1, queued)] if status.queued and status.phase != HALVES else []
    left = f"about {duration(max(status.seconds_left, 1.0))}"
    if status.phase == HALVES:
        return [(6, f"{left} left of {status.left_of}"), (1, f"{left} left")]
    return [(6, f"{queued}, {left} left of {status.left_of}"), (1, f"{left} for {queued}")]
