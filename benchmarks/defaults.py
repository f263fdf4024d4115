"""What is learned, and how long it takes, if nobody asks for a score, a search or a preset.

Samples of networks are those of `whole-graphs`; the seeds of simulated tables are used for nothing else.
"""

from collections.abc import Iterator

import numpy as np

from benchmarks.discrete import searches, skeleton_f1
from benchmarks.harness import Benchmark, Row
from kerncause import discover, simulate
from kerncause.metrics import skeleton_accuracy

SEEDS = range(48_001, 48_006)
KINDS, SIZES, DENSITY = ("continuous", "mixed", "multidimensional"), (200, 500), 0.4


def whole_graphs_by_default() -> Iterator[Row]:
    """Networks, and simulated tables of 8 variables; one core."""
    for name in ("sachs", "child"):
        results = searches(name, 2000, workers=1, score=None)
        mean, error = skeleton_f1(name, results)
        yield _row(f"{name.upper()} n=2000, {len(results)} seeds", mean, error, [result.seconds for result in results])
    for kind in KINDS:
        for n in SIZES:
            tables = [simulate(kind, variables=8, density=DENSITY, rows=n, seed=seed) for seed in SEEDS]
            results = [discover(table.dataset, workers=1) for table in tables]
            pairs = zip(tables, results, strict=True)
            f1 = [skeleton_accuracy(table.dag, result.graph).f1 for table, result in pairs]
            error = float(np.std(f1, ddof=1) / np.sqrt(len(f1)))
            what = f"8 variables, {kind}, density {DENSITY}, n={n}, {len(f1)} seeds"
            yield _row(what, float(np.mean(f1)), error, [result.seconds for result in results])


def _row(what: str, mean: float, error: float, seconds: list[float]) -> Row:
    spread = f"{np.mean(seconds):.1f} s mean, {max(seconds):.1f} s worst"
    return Row(f"{what}, nothing asked for, one core", f"skeleton F1 {mean:.3f} ± {error:.3f}, {spread}")


BENCHMARKS: list[Benchmark] = [whole_graphs_by_default]
