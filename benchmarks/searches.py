"""Which search: what the experiments `searches` and `searches-adaptive` found, against what was wanted; and more.

Both are read from experiments/, as far as they have been run (`kerncause experiment run searches --scale full --resume`
takes hours).
"""

import warnings
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.harness import Benchmark, Row, stopwatch
from kerncause import Dataset, discover, networks
from kerncause.experiments import find_experiment, results_of
from kerncause.experiments.specs.searches import LOOKAHEADS, PRUNES

RESULTS = Path(__file__).parent.parent / "experiments"
KEYS = ["kind", "density", "seed"]
# Totals this close are the same: what a score may be off by, for each of 8 variables.
SAME = 0.08
SACHS_SEED = 9401


def which_search() -> Iterator[Row]:
    """GES, BOSS and the optimum with the learned score."""
    yield from _compared("searches")


def which_search_with_the_adaptive_score() -> Iterator[Row]:
    """The same with `--preset adaptive`, BOSS choosing parents both ways."""
    yield from _compared("searches-adaptive")


def _compared(experiment: str) -> Iterator[Row]:
    """Means and standard errors, of differences on the same tables, over those that every search has been tried on."""
    frame = results_of(experiment, "full", RESULTS)
    tried = frame.groupby(KEYS)["method"].transform("nunique")
    by = {
        str(method): part.set_index(KEYS).sort_index()
        for method, part in frame[tried == frame["method"].nunique()].groupby("method")
    }
    of_all = len({(*cell.setting, cell.seed) for cell in find_experiment(experiment).cells("full")})
    yield Row(f"{experiment}: tables of 8 variables, n = 300", f"{len(by['ges'])} of {of_all}")
    for name, part in by.items():
        for density in (0.3, 0.6):
            mine = part[part.index.get_level_values("density") == density]
            yield Row(f"{name}, density {density}: skeleton F1 / SHD / F1 of arrows, class / best DAG", _summary(mine))
    dense, sparse = (_difference(by["boss"], by["ges"], "skeleton_f1", d) for d in (0.6, 0.3))
    yield Row("BOSS minus GES, density 0.6: skeleton F1", _shown(dense), "+0.05", dense.mean() >= 0.05)
    yield Row("BOSS minus GES, density 0.3: skeleton F1", _shown(sparse), "no worse", sparse.mean() >= 0.0)
    ratio = by["boss"].xs(0.6, level="density")["shd"].mean() / by["ges"].xs(0.6, level="density")["shd"].mean()
    yield Row("BOSS over GES, density 0.6: SHD", f"{ratio:.2f}", "at most 0.80", ratio <= 0.8)
    gap = by["boss"]["best_dag_arrows_f1"] - by["boss"]["dag_arrows_f1"]
    yield Row("BOSS: F1 of arrows, best DAG minus class", _shown(gap), "+0.1", gap.mean() >= 0.1)
    slower = by["boss"]["search_seconds"].sum() / by["ges"]["search_seconds"].sum()
    yield Row("BOSS over GES: time", f"{slower:.1f}", "at most 3", slower <= 3)
    exact = _difference(by["exact"], by["ges"], "dag_arrows_f1", 0.3, "best_dag_arrows_f1")
    yield Row(
        "optimum's best DAG minus GES's class, density 0.3: F1 of arrows", _shown(exact), "+0.15", exact.mean() >= 0.15
    )
    ratio = by["exact"].xs(0.3, level="density")["shd"].mean() / by["ges"].xs(0.3, level="density")["shd"].mean()
    yield Row("optimum over GES, density 0.3: SHD", f"{ratio:.2f}", "at most 0.70", ratio <= 0.7)
    yield from _what_limits(by)


def _what_limits(by: dict[str, pd.DataFrame]) -> Iterator[Row]:
    """Is it the search or the score?"""
    best = by["exact"]["total"]
    for name in ("ges", "boss"):
        short = best - by[name]["total"]
        yield Row(f"{name}: reaches the optimum; nats below it", f"{np.mean(short <= SAME):.0%}; {_shown(short)}")
    above = best - by["exact"]["total_of_truth"]
    for density in (0.3, 0.6):
        mine = above.xs(density, level="density")
        yield Row(f"optimum above the truth, density {density}: nats", _shown(mine))
    missed = (best - by["boss"]["total"]) > SAME
    if missed.any():
        nearer = by["exact"]["skeleton_f1"][missed] - by["boss"]["skeleton_f1"][missed]
        yield Row("where BOSS misses the optimum: skeleton F1 of the optimum minus BOSS", _shown(nearer))
    for (lookahead, name), prune in product(LOOKAHEADS.items(), PRUNES):
        if f"scores_prune_{prune:g}{name}" not in by["exact"]:
            continue
        those = by["exact"].dropna(subset=[f"scores_prune_{prune:g}{name}"])  # older rows looked at single parents only
        scored, lost = those[f"scores_prune_{prune:g}{name}"], those[f"lost_prune_{prune:g}{name}"]
        yield Row(
            f"exact, prune {prune:g}, lookahead {lookahead}: tables; share scored; optimum found; nats lost at most",
            f"{len(those)}; {scored.sum() / those['scores'].sum():.0%}; {np.mean(lost <= SAME):.0%}; {lost.max():.1f}",
        )


def _summary(part: pd.DataFrame) -> str:
    figures = ("skeleton_f1", "shd", "dag_arrows_f1", "best_dag_arrows_f1")
    return " / ".join(_shown(part[figure]).replace("+", "") for figure in figures)


def _difference(
    one: pd.DataFrame, other: pd.DataFrame, figure: str, density: float, first: str = ""
) -> "pd.Series[float]":
    return (one[first or figure] - other[figure]).xs(density, level="density")


def _shown(values: "pd.Series[float]") -> str:
    numbers = values.to_numpy(dtype=np.float64)
    digits = 1 if np.abs(numbers).max() > 2 else 3
    if len(numbers) < 2:
        return f"{numbers.mean():+.{digits}f} (1)"
    return f"{numbers.mean():+.{digits}f} ± {numbers.std(ddof=1) / np.sqrt(len(numbers)):.{digits}f}"


def seconds_of(call: Callable[[], object]) -> float:
    with stopwatch() as elapsed:
        call()
    return elapsed()


def confidence_on_sachs() -> Iterator[Row]:
    """A hundred halves against one run."""
    data = Dataset.from_frame(networks.load("sachs").sample(500, seed=SACHS_SEED))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        one = min(seconds_of(lambda: discover(data, score="learned")) for _ in range(3))
        all_ = seconds_of(lambda: discover(data, score="learned", confidence=100)) - one
    yield Row("SACHS n=500: one run, all cores", f"{one:.1f} s")
    yield Row("100 halves over one run", f"{all_ / one:.1f} ({all_:.0f} s)", "at most 30", all_ / one <= 30)


def exact_on_sachs() -> Iterator[Row]:
    """The optimum of 11 variables."""
    data = Dataset.from_frame(networks.load("sachs").sample(2000, seed=SACHS_SEED))
    with stopwatch() as elapsed:
        found = discover(data, search="exact", max_parents=4)
    yield Row(
        "SACHS n=2000, exact, at most 4 parents, all cores",
        f"{elapsed():.0f} s, {found.scores_computed:,} scores",
        "at most 120 s",
        elapsed() <= 120,
    )


BENCHMARKS: list[Benchmark] = [
    exact_on_sachs,
    confidence_on_sachs,
    which_search,
    which_search_with_the_adaptive_score,
]
