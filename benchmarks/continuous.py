"""The low-rank engine on continuous data: against the dense engine, its growth, and whole graphs."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from benchmarks.harness import Row, best_seconds, stopwatch
from kerncause import DAG, Dataset, LearnedKernelScore, discover
from kerncause.metrics import skeleton_accuracy

FUNCTIONS = (np.sin, np.cos, np.tanh, np.abs, lambda x: x, lambda x: x**2)
SEEDS = (9101, 9102, 9103)


def simulated(n: int, seed: int, variables: int = 8, density: float = 0.5) -> tuple[pd.DataFrame, DAG]:
    """Draw x = g(f(sum of parents) + noise) with random functions, every column standardised."""
    rng = np.random.default_rng(seed)
    names = [f"v{j}" for j in range(variables)]
    pairs = [(i, j) for j in range(variables) for i in range(j)]
    chosen = [pairs[k] for k in rng.permutation(len(pairs))[: round(density * len(pairs))]]
    table = np.zeros((n, variables))
    for j in range(variables):
        inner, outer = (FUNCTIONS[k] for k in rng.integers(len(FUNCTIONS), size=2))
        cause = sum((table[:, i] for i, child in chosen if child == j), np.zeros(n))
        x = outer(inner(rng.choice([0.5, 2.5]) * cause) + np.sqrt(0.5) * rng.normal(size=n))
        table[:, j] = (x - x.mean()) / x.std()
    return pd.DataFrame(table, columns=names), DAG(names, [(names[i], names[j]) for i, j in chosen])


def chain(n: int, parents: int) -> Dataset:
    """A response with smooth effects of all its parents."""
    rng = np.random.default_rng([SEEDS[0], parents])
    a = rng.normal(size=(n, parents))
    y = np.sin(1.5 * a[:, 0]) + np.tanh(a[:, 1:]).sum(axis=1) + 0.5 * rng.normal(size=n)
    return Dataset.from_array(np.column_stack([y, a]))


def _fit_seconds(n: int, parents: int, engine: str, rounds: int) -> tuple[float, float, str]:
    """Return the seconds of one local score, given the fit it begins from, with its bound and its engine."""
    score = LearnedKernelScore(chain(n, parents), engine=engine)
    names = [f"x{j + 2}" for j in range(parents)]
    begin = LearnedKernelScore(score.data, engine="lowrank").fit("x1", names[:-1]) if parents > 1 else None
    with stopwatch() as elapsed:
        fit = score.fit("x1", names, begin)
    seconds = elapsed()
    if rounds > 1:
        seconds = best_seconds(lambda: score.fit("x1", names, begin), rounds=rounds)
    return seconds, fit.error_bound, fit.engine


def lowrank_against_dense() -> Iterator[Row]:
    for n, least in ((200, 1.0), (1000, 50.0)):
        dense, _, _ = _fit_seconds(n, 2, "dense", rounds=1)
        lowrank, bound, _ = _fit_seconds(n, 2, "lowrank", rounds=3)
        ratio, wanted = dense / lowrank, f"at least {least:.0f}, bound 0.01"
        what = f"one local score, 2 parents, n={n:,}: dense over low-rank"
        yield Row(what, f"{ratio:.0f} times, bound {bound:.2g}", wanted, ratio >= least and bound <= 0.01)


def lowrank_growth() -> Iterator[Row]:
    few, many = (_fit_seconds(n, 2, "lowrank", rounds=1)[0] for n in (8_000, 64_000))
    yield Row(
        "one low-rank score, 2 parents: n=64,000 over n=8,000",
        f"{many / few:.1f} times",
        "at most 10",
        many <= 10 * few,
    )
    for n in (1_000, 8_000):
        for parents in (3, 4):
            seconds, bound, engine = _fit_seconds(n, parents, "lowrank", rounds=1)
            yield Row(f"one score, {parents} parents, n={n:,}", f"{seconds:.2f} s, bound {bound:.2g}, {engine}")


def whole_continuous_graphs() -> Iterator[Row]:
    times, f1 = [], []
    for seed in SEEDS:
        frame, truth = simulated(1000, seed)
        with stopwatch() as elapsed:
            result = discover(frame, workers=2)
        times.append(elapsed())
        f1.append(skeleton_accuracy(truth, result.graph).f1)
    what = f"8 continuous variables, density 0.5, n=1,000, whole graph, 2 cores, {len(SEEDS)} seeds"
    figure = f"{np.mean(times):.1f} s mean, {max(times):.1f} s worst, skeleton F1 {np.mean(f1):.2f}"
    yield Row(what, figure, "10 s on a quiet machine", max(times) <= 10)


BENCHMARKS = [lowrank_against_dense, lowrank_growth, whole_continuous_graphs]
