"""Many variables: what a search costs as they grow in number, and what trying only some pairs loses.

Sparse graphs, two neighbours to a variable on average; half of the variables discrete.
"""

import itertools
import multiprocessing
import os
import statistics
import warnings
from collections.abc import Iterator

from benchmarks.harness import Benchmark, Row, stopwatch
from kerncause import Result, Simulation, discover, simulate
from kerncause.metrics import compare

ROWS, FEWER_ROWS = 1000, 300
# How many tables of each size: one variable with six parents can outweigh all others, so one table says little.
TABLES = {25: 4, 50: 3, 100: 2}
SMALLEST, LARGEST = min(TABLES), max(TABLES)
SEED = 8800
WANTED_MINUTES = 30


def many_variables() -> Iterator[Row]:
    """Growth from 25 to 100 variables, with 10 candidates each."""
    work, scores = {}, {}
    for size, tables in TABLES.items():
        runs = []
        for seed in range(SEED + size, SEED + size + tables):
            drawn = _drawn(size, ROWS, seed)
            result, seconds, core = _learned(drawn, 10)
            runs.append((core, result.scores_computed))
            yield Row(
                f"{size} mixed variables, n = {ROWS:,}, table {seed}, all cores",
                f"{seconds:.0f} s, {core:.0f} s of a core, {result.scores_computed:,} scores, "
                f"{_quality(result, drawn)}",
                f"at most {WANTED_MINUTES} min" if size == LARGEST else "",
                seconds <= 60 * WANTED_MINUTES if size == LARGEST else None,
            )
        work[size], scores[size] = (statistics.fmean(column) for column in zip(*runs, strict=True))
    for small, large in itertools.pairwise(TABLES):
        yield Row(
            f"{large} variables over {small}, means of their tables",
            f"{scores[large] / scores[small]:.1f} times the scores, "
            f"{work[large] / work[small]:.1f} times the seconds of a core",
        )


def few_pairs_against_all() -> Iterator[Row]:
    """The same tables with 10 candidates and with all."""
    for seed in (SEED + 1, SEED + 2):
        drawn = _drawn(SMALLEST, FEWER_ROWS, seed)
        few, _, quick = _learned(drawn, 10)
        every, _, slow = _learned(drawn, "all")
        what = f"{SMALLEST} mixed variables, n = {FEWER_ROWS}, table {seed}"
        yield Row(f"{what}: 10 candidates", f"{few.scores_computed:,} scores, {_quality(few, drawn)}")
        yield Row(f"{what}: all pairs", f"{every.scores_computed:,} scores, {_quality(every, drawn)}")
        yield Row(f"{what}: seconds of a core, all pairs over 10 candidates", f"{slow / quick:.1f} times")


def _drawn(size: int, rows: int, seed: int) -> Simulation:
    return simulate("mixed", variables=size, rows=rows, density=2 / (size - 1), seed=seed)


def _learned(drawn: Simulation, candidates: int | str) -> tuple[Result, float, float]:
    """Return what was learned, the seconds by the clock, and those of all processors, whatever else they do."""
    before = _processor_seconds()
    with warnings.catch_warnings(), stopwatch() as elapsed:
        warnings.simplefilter("ignore")
        result, seconds = discover(drawn.dataset, score="learned", candidates=candidates), elapsed()
    return result, seconds, _processor_seconds() - before


def _processor_seconds() -> float:
    """Return the seconds of this process and of the workers that have ended."""
    for worker in multiprocessing.active_children():
        worker.join()
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def _quality(result: Result, drawn: Simulation) -> str:
    part = compare(drawn.dag, result.graph).skeleton
    return f"skeleton F1 {part.f1:.2f}, precision {part.precision:.2f}, recall {part.recall:.2f}"


BENCHMARKS: list[Benchmark] = [many_variables, few_pairs_against_all]
