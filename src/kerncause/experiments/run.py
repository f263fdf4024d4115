"""Running an experiment: its cells on all cores, each row kept as soon as it is there.

A cell that fails gives a row with its error. A cell whose process dies takes those beside it along: they are all
measured again, one at a time, and the one that dies alone gets the blame.
"""

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import pandas as pd

from kerncause.errors import DataError, KerncauseError, OptionError
from kerncause.experiments.base import Cell, Experiment, Row, Scale, frame_of
from kerncause.experiments.registry import find_experiment
from kerncause.experiments.store import Appender, appending, read_rows
from kerncause.parallel import end_pool, started_pool, uninterrupted, worker_count
from kerncause.text import printable, quoted
from kerncause.version import __version__

DIRECTORY = Path("experiments")
LONGEST_ERROR = 300
Measure = Callable[[Cell], Mapping[str, Any]]


@dataclass(frozen=True)
class Progress:
    """Where a run is: cells measured of all, of them failed, and a guess of the seconds left (None: no idea yet)."""

    done: int
    total: int
    failed: int
    seconds_left: float | None


def run(
    name: str,
    scale: Scale = "small",
    directory: str | Path = DIRECTORY,
    *,
    workers: int | None = None,
    resume: bool = False,
    retry: bool = False,
    only: Mapping[str, Sequence[str]] | None = None,
    watch: Callable[[Progress], None] | None = None,
) -> list[Row]:
    """Measure what is missing of an experiment and return the rows of all of it, in the order of its cells.

    Args:
        name: of the experiment.
        scale: `smoke` (a minute), `small` (5 realisations) or `full` (the paper's).
        directory: where its results file is kept.
        workers: processes to measure cells in; None means one per core.
        resume: go on with a results file that has rows already.
        retry: measure cells that failed once more.
        only: measure only cells whose setting (or `method`) has one of these values, by name.
        watch: called with a Progress now and after every cell.
    """
    experiment = find_experiment(name)
    count = 1 if experiment.alone else worker_count(workers)
    cells = experiment.chosen(scale, only)
    with appending(experiment, directory, resume) as file:
        known = _latest(file.rows)
        missing = [cell for cell in cells if cell not in known or (retry and known[cell].error is not None)]
        told = _Told(cells, file, count, watch)
        told.tell()
        for row in measured(experiment.measure, missing, count):
            file.add(row)
            told.tell()
    return rows_of(experiment, scale, directory, only)


def rows_of(
    experiment: Experiment, scale: Scale, directory: str | Path, only: Mapping[str, Sequence[str]] | None = None
) -> list[Row]:
    """Return the rows there are for the cells of a scale, in the order of these."""
    known = _latest(read_rows(experiment, directory))
    return [known[cell] for cell in experiment.chosen(scale, only) if cell in known]


def results_of(name: str, scale: Scale, directory: str | Path) -> pd.DataFrame:
    """Return the rows of an experiment that did not fail, as a table."""
    rows = [row for row in rows_of(find_experiment(name), scale, directory) if row.error is None]
    if not rows:
        raise DataError(
            f"there are no results of {name} at scale {scale} in {quoted(directory)}: "
            f"run kerncause experiment run {name} --scale {scale} first"
        )
    return frame_of(rows)


def measured(measure: Measure, cells: Sequence[Cell], workers: int) -> Iterator[Row]:
    """Measure cells in so many processes, and give each row when it is there."""
    waiting, suspects = deque(cells), deque[Cell]()
    flying: dict[Future[Row], Cell] = {}
    pool = started_pool(workers)
    try:
        while waiting or suspects or flying:
            # No more than can be computed at once, so that it is known who was there when a process died.
            queue, seats = (suspects, 1) if suspects else (waiting, workers)
            while queue and len(flying) < seats:
                cell = queue.popleft()
                with uninterrupted():
                    flying[pool.submit(_row, measure, cell)] = cell
            alone = len(flying) == 1
            dead = []
            for future in wait(flying, return_when=FIRST_COMPLETED).done:
                cell = flying.pop(future)
                try:
                    yield future.result()
                except BrokenExecutor:
                    dead.append(cell)
            if dead:
                dead += flying.values()
                flying.clear()
                end_pool(pool)
                pool = started_pool(workers)
                if alone:
                    yield Row(dead[0], {}, 0.0, "its process died, perhaps for lack of memory", __version__)
                else:
                    suspects.extend(dead)
    finally:
        end_pool(pool)


def _row(measure: Measure, cell: Cell) -> Row:
    """Measure one cell, in a worker; what is wrong with the request itself is no result and ends the run."""
    begun, values, error = time.perf_counter(), dict[str, Any](), None
    try:
        values = {name: _plain(value) for name, value in measure(cell).items()}
    except OptionError:
        raise
    except KerncauseError as problem:
        error = printable(problem, LONGEST_ERROR)
    except Exception as problem:
        error = printable(f"{type(problem).__name__}: {problem}", LONGEST_ERROR)
    return Row(cell, values, time.perf_counter() - begun, error, __version__)


def _plain(value: Any) -> Any:
    """Return numbers as JSON knows them: what is not finite becomes null."""
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _latest(rows: Sequence[Row]) -> dict[Cell, Row]:
    return {row.cell: row for row in rows}


@dataclass(frozen=True)
class _Told:
    """Tells a watcher how far a run is."""

    cells: Sequence[Cell]
    file: Appender
    workers: int
    watch: Callable[[Progress], None] | None

    def tell(self) -> None:
        if self.watch is None:
            return
        known = _latest(self.file.rows)
        mine = [known[cell] for cell in self.cells if cell in known]
        missing = [cell for cell in self.cells if cell not in known]
        failed = sum(row.error is not None for row in mine)
        self.watch(Progress(len(mine), len(self.cells), failed, seconds_left(self.file.rows, missing, self.workers)))


def seconds_left(rows: Sequence[Row], missing: Sequence[Cell], workers: int) -> float | None:
    """Guess how long the missing cells will take: as long as the same with another seed, or the same method, or any."""
    same: dict[object, list[float]] = {}
    for row in rows:
        for kind in _kinds(row.cell):
            same.setdefault(kind, []).append(row.seconds)
    if not same:
        return None
    guesses = (next(fmean(same[kind]) for kind in _kinds(cell) if kind in same) for cell in missing)
    return sum(guesses) / workers


def _kinds(cell: Cell) -> tuple[object, ...]:
    return (cell.setting, cell.method), cell.method, None
