"""A benchmark is a function that gives rows; this runs them and writes the table down."""

import datetime
import multiprocessing
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy

HEAD = ("| what | measured | wanted | met |", "|---|---|---|---|")
HEADING = "\n## "
RESULTS = Path(__file__).parent / "RESULTS.md"


@dataclass(frozen=True)
class Row:
    """One line of the table: what was measured, the figure, and what was wanted of it (if anything was)."""

    what: str
    figure: str
    wanted: str = ""
    met: bool | None = None

    def line(self) -> str:
        verdict = {True: "yes", False: "**no**", None: ""}[self.met]
        return f"| {self.what} | {self.figure} | {self.wanted} | {verdict} |"


Benchmark = Callable[[], Iterator[Row]]


@contextmanager
def stopwatch() -> Iterator[Callable[[], float]]:
    """Give a function that tells the seconds since the beginning."""
    begun = time.perf_counter()
    yield lambda: time.perf_counter() - begun


def best_seconds(call: Callable[[], object], least: float = 0.2, rounds: int = 5) -> float:
    """Return the shortest of several rounds, in seconds per call: noise only ever adds."""
    with stopwatch() as elapsed:
        call()
    repeats = max(1, int(least / max(elapsed(), 1e-9)))
    times = []
    for _ in range(rounds):
        with stopwatch() as elapsed:
            for _ in range(repeats):
                call()
        times.append(elapsed() / repeats)
    return min(times)


def measured_apart(work: Callable[[], dict[str, Any]]) -> tuple[dict[str, Any], float]:
    """Run in a process of its own; return what it found, and the peak memory of it and its workers in GB.

    The peak is the largest sum of resident memory seen, once a second, over the process and its children. (The system
    goes through every page to tell; ten times a second that took a third of a core.)
    """
    context = multiprocessing.get_context("spawn")
    answers = context.SimpleQueue()
    process = context.Process(target=_put, args=(answers, work))
    process.start()
    peak = 0
    while process.is_alive() and answers.empty():
        peak = max(peak, sum(map(_resident, _family(process.pid or 0))))
        time.sleep(1.0)
    found = answers.get()
    process.join()
    return found, peak / 1e9


def _put(answers: Any, work: Callable[[], dict[str, Any]]) -> None:
    answers.put(work())


def _family(pid: int) -> list[int]:
    """Return a process and its descendants (Linux)."""
    children = Path(f"/proc/{pid}/task/{pid}/children")
    try:
        below = [int(child) for child in children.read_text().split()]
    except OSError:
        return []
    return [pid, *(member for child in below for member in _family(child))]


def _resident(pid: int) -> int:
    """Return a process's share of physical memory in bytes: what it has for itself, and its part of what is shared."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(1024 * int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def machine() -> str:
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if "model name" in line]
        cpu = names[0] if names else cpu
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, scipy {scipy.__version__}"
    return f"{cpu}, {os.cpu_count()} cores; {versions}"


def calibration() -> float:
    """Return the seconds of a fixed small workload: how quiet the machine is, for comparing times across days."""
    a = np.random.default_rng(0).random((9, 9))
    return best_seconds(lambda: [np.exp(a) for _ in range(1000)])


def stolen() -> tuple[int, int]:
    """Return the time the cores were not given although they had work, and all their time, since the start (Linux)."""
    first = Path("/proc/stat")
    if not first.exists():
        return 0, 0
    times = [int(word) for word in first.read_text().splitlines()[0].split()[1:9]]
    return times[7], sum(times)


def run(names: list[str], benchmarks: list[Benchmark]) -> None:
    """Run benchmarks, print each row as it comes, and put the table of each into the page when it is done."""
    by_name = {function.__name__.replace("_", "-"): function for function in benchmarks}
    unknown = sorted(set(names) - set(by_name))
    if unknown:
        raise SystemExit(f"there is no benchmark {', '.join(unknown)}: the choices are {', '.join(by_name)}")
    print(*HEAD, sep="\n")
    for name in names or by_name:
        lines, pace, before = [], calibration(), stolen()
        for row in by_name[name]():
            lines.append(row.line())
            print(row.line(), flush=True)
        lost, time_of_all = (after - then for after, then in zip(stolen(), before, strict=True))
        quiet = _quiet(pace, calibration(), lost / max(time_of_all, 1))
        known = _sections(RESULTS.read_text()) if RESULTS.exists() else {}
        known[name] = "\n".join([quiet, "", *HEAD, *lines])
        RESULTS.write_text(_page({name: known[name] for name in by_name if name in known}))
    print(f"\nwritten to {RESULTS.relative_to(Path.cwd()) if RESULTS.is_relative_to(Path.cwd()) else RESULTS}")


def _quiet(before: float, after: float, lost: float) -> str:
    """Say when and on what a benchmark ran, and how quiet it was there."""
    today = datetime.datetime.now(tz=datetime.UTC).date()
    return (
        f"{today}, {machine()}. A fixed workload of 1,000 small exponentials took {before * 1e3:.2f} ms before and "
        f"{after * 1e3:.2f} ms after; others on the host took {lost:.0%} of the cores' time."
    )


def _sections(page: str) -> dict[str, str]:
    """Return the parts of a page by their headings."""
    parts = (part.partition("\n") for part in page.split(HEADING)[1:])
    return {name.strip(): text.strip() for name, _, text in parts}


def _page(sections: dict[str, str]) -> str:
    """Return a page with a part for each benchmark."""
    told = "Written by `make bench`, or, one part at a time, by `python -m benchmarks NAME`."
    return (
        "\n\n".join(["# Benchmark results", told, *(f"## {name}\n\n{text}" for name, text in sections.items())]) + "\n"
    )
