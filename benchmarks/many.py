"""Many variables: what a search costs as they grow in number, and what trying only some pairs loses.

Sparse graphs, two neighbours to a variable on average; half of the variables discrete.
"""

import warnings
from collections.abc import Iterator

from benchmarks.harness import Benchmark, Row, stopwatch
from kerncause import Result, Simulation, discover, simulate
from kerncause.metrics import compare

ROWS, FEWER_ROWS = 1000, 300
SIZES = (25, 50, 100)
SEED = 8800
WANTED_MINUTES = 30


def many_variables() -> Iterator[Row]:
    """Growth from 25 to 100 variables, with 10 candidates each."""
    seconds = {}
    for size in SIZES:
        drawn = _drawn(size, ROWS, SEED + size)
        result, seconds[size] = _learned(drawn, 10)
        yield Row(
            f"{size} mixed variables, n = {ROWS:,}, all cores",
            f"{seconds[size]:.0f} s, {result.scores_computed:,} scores, {_quality(result, drawn)}",
            f"at most {WANTED_MINUTES} min" if size == SIZES[-1] else "",
            seconds[size] <= 60 * WANTED_MINUTES if size == SIZES[-1] else None,
        )
    yield Row(f"{SIZES[-1]} variables over {SIZES[0]}: time", f"{seconds[SIZES[-1]] / seconds[SIZES[0]]:.1f} times")


def few_pairs_against_all() -> Iterator[Row]:
    """The same tables with 10 candidates and with all."""
    for seed in (SEED + 1, SEED + 2):
        drawn = _drawn(SIZES[0], FEWER_ROWS, seed)
        few, quick = _learned(drawn, 10)
        every, slow = _learned(drawn, "all")
        what = f"{SIZES[0]} mixed variables, n = {FEWER_ROWS}, table {seed}"
        yield Row(f"{what}: 10 candidates", f"{few.scores_computed:,} scores, {_quality(few, drawn)}")
        yield Row(f"{what}: all pairs", f"{every.scores_computed:,} scores, {_quality(every, drawn)}")
        yield Row(f"{what}: time of all pairs over 10 candidates", f"{slow / quick:.1f} times")


def _drawn(size: int, rows: int, seed: int) -> Simulation:
    return simulate("mixed", variables=size, rows=rows, density=2 / (size - 1), seed=seed)


def _learned(drawn: Simulation, candidates: int | str) -> tuple[Result, float]:
    with warnings.catch_warnings(), stopwatch() as elapsed:
        warnings.simplefilter("ignore")
        return discover(drawn.dataset, candidates=candidates), elapsed()


def _quality(result: Result, drawn: Simulation) -> str:
    part = compare(drawn.dag, result.graph).skeleton
    return f"skeleton F1 {part.f1:.2f}, precision {part.precision:.2f}, recall {part.recall:.2f}"


BENCHMARKS: list[Benchmark] = [many_variables, few_pairs_against_all]
