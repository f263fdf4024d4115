"""A benchmark is a function that gives rows; this runs them and writes the table down."""

import datetime
import os
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy

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


def run(names: list[str], benchmarks: list[Benchmark]) -> None:
    """Run benchmarks, print each row as it comes, and write the table if all of them ran."""
    by_name = {function.__name__.replace("_", "-"): function for function in benchmarks}
    unknown = sorted(set(names) - set(by_name))
    if unknown:
        raise SystemExit(f"there is no benchmark {', '.join(unknown)}: the choices are {', '.join(by_name)}")
    head = ["| what | measured | wanted | met |", "|---|---|---|---|"]
    lines = []
    print(*head, sep="\n")
    for name in names or by_name:
        for row in by_name[name]():
            lines.append(row.line())
            print(row.line(), flush=True)
    if not names:
        today = datetime.datetime.now(tz=datetime.UTC).date()
        text = [
            "# Benchmark results",
            "",
            f"Written by `make bench` on {today}. {machine()}.",
            f"A fixed workload of 1,000 small exponentials took {calibration() * 1e3:.2f} ms.",
            "",
            *head,
            *lines,
            "",
        ]
        RESULTS.write_text("\n".join(text))
        print(f"\nwritten to {RESULTS.relative_to(Path.cwd()) if RESULTS.is_relative_to(Path.cwd()) else RESULTS}")
