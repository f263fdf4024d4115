"""Continuous tables: the low-rank engine against the dense one and a peer, its growth, and whole graphs."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.harness import Row, best_seconds, measured_apart, stopwatch
from kerncause import DAG, Dataset, LearnedKernelScore, LocalFit, Result, discover
from kerncause.metrics import skeleton_accuracy

FUNCTIONS = (np.sin, np.cos, np.tanh, np.abs, lambda x: x, lambda x: x**2)
SEEDS = (9101, 9102, 9103)
EQUAL_SEED = 31_000


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


def smooth(n: int, parents: int) -> tuple[np.ndarray, list[str]]:
    """A response with smooth effects of all its parents, and the parents' names."""
    rng = np.random.default_rng([SEEDS[0], parents])
    a = rng.normal(size=(n, parents))
    y = np.sin(1.5 * a[:, 0]) + np.tanh(a[:, 1:]).sum(axis=1) + 0.5 * rng.normal(size=n)
    return np.column_stack([y, a]), [f"x{j + 2}" for j in range(parents)]


def _fit(n: int, parents: int, engine: str, rounds: int) -> tuple[float, LocalFit]:
    """Return the seconds of one local score, given the fit it begins from, and the fit."""
    table, names = smooth(n, parents)
    data = Dataset.from_array(table)
    score = LearnedKernelScore(data, engine=engine)
    begin = LearnedKernelScore(data).fit("x1", names[:-1]) if parents > 1 else None
    with stopwatch() as elapsed:
        fit = score.fit("x1", names, begin)
    seconds = elapsed()
    if rounds > 1:
        seconds = best_seconds(lambda: score.fit("x1", names, begin), rounds=rounds)
    return seconds, fit


def lowrank_against_dense() -> Iterator[Row]:
    for n, least in ((200, 1.0), (1000, 50.0)):
        dense, exact = _fit(n, 2, "dense", rounds=3 if n < 1000 else 1)
        lowrank, fit = _fit(n, 2, "lowrank", rounds=5)
        ratio, bound = dense / lowrank, fit.error_bound
        table, names = smooth(n, 2)
        at_the_same_place, _ = LearnedKernelScore(Dataset.from_array(table), engine="dense").evaluate("x1", names, fit)
        holds = abs(fit.value - at_the_same_place) <= bound and bound <= 0.01
        yield Row(
            f"one local score, 2 parents, n={n:,}: dense over low-rank",
            f"{ratio:.0f} times, S/n off by {abs(fit.value - at_the_same_place):.1g}, bound {bound:.2g}",
            f"at least {least:.0f}, bound 0.01",
            ratio >= least and holds,
        )
        yield Row(
            f"the same: seconds, evaluations on all rows, S/n reached (dense; low-rank), n={n:,}",
            f"{dense:.3g} s, {exact.evaluations}, {exact.value:.3f}; "
            f"{lowrank:.3g} s, {fit.evaluations}, {fit.value:.3f}",
        )


def lowrank_against_causal_learn() -> Iterator[Row]:
    from causallearn.score.LocalScoreFunction import local_score_cv_general

    table, names = smooth(1000, 2)
    with threadpool_limits(1), stopwatch() as elapsed:
        local_score_cv_general(table, 0, list(range(1, len(names) + 1)), {"kfold": 10, "lambda": 0.01})
    peer = elapsed()
    ours, _ = _fit(1000, 2, "lowrank", rounds=5)
    what = "one local score, 2 parents, n=1,000: causal-learn's local_score_cv_general over low-rank"
    yield Row(what, f"{peer / ours:.0f} times", "at least 50", peer >= 50 * ours)


def lowrank_growth() -> Iterator[Row]:
    (few, _), (many, fit) = (_fit(n, 2, "lowrank", rounds=1) for n in (8_000, 64_000))
    yield Row(
        "one low-rank score, 2 parents: n=64,000 over n=8,000",
        f"{many / few:.1f} times ({many:.1f} s, bound {fit.error_bound:.2g})",
        "at most 10",
        many <= 10 * few,
    )
    for n in (1_000, 8_000):
        for parents in (3, 4):
            seconds, fit = _fit(n, parents, "lowrank", rounds=1)
            rank = f"rank {fit.rank}" if fit.rank else fit.engine
            figure = (
                f"{rank}, {seconds:.2f} s, bound {fit.error_bound:.2g}{'' if fit.certified else ' (not certified)'}"
            )
            yield Row(f"one score, {parents} parents, n={n:,}", figure)


def where_the_time_goes() -> Iterator[Row]:
    """Shares of one fit, by what they are spent on; timed around the functions, which costs next to nothing."""
    for n, parents in ((1_000, 2), (1_000, 4), (64_000, 2)):
        phases, within = _shares(n, parents)
        text = "; across these ".join(
            ", ".join(f"{name} {share:.0%}" for name, share in shares.items()) for shares in (phases, within)
        )
        yield Row(f"where one low-rank score spends its time, {parents} parents, n={n:,}", text)


def _shares(n: int, parents: int) -> tuple[dict[str, float], dict[str, float]]:
    """Return the shares of the phases, one after the other, and of what is done in several of them."""
    import kerncause.scores.climb as climb
    from kerncause.regression.factors import Inputs
    from kerncause.regression.lowrank import LowRankEngine

    spent: dict[str, float] = {}

    def timed(owner: object, name: str, label: str) -> None:
        function = getattr(owner, name)

        def wrapper(*args: object, **kwargs: object) -> object:
            with stopwatch() as elapsed:
                result = function(*args, **kwargs)
            spent[label] = spent.get(label, 0.0) + elapsed()
            return result

        setattr(owner, name, wrapper)
        undo.append((owner, name, function))

    undo: list[tuple[object, str, object]] = []
    table, names = smooth(n, parents)
    score = LearnedKernelScore(Dataset.from_array(table))
    begin = score.fit("x1", names[:-1])
    score.fit("x1", names, begin)
    timed(climb, "_explored", "exploring on 100 rows")
    timed(LearnedKernelScore, "settled", "settling (last steps, certificate)")
    timed(LowRankEngine, "evaluate", "evaluating on all rows")
    timed(Inputs, "pivots", "choosing pivots")
    with stopwatch() as elapsed:
        score.fit("x1", names, begin)
    total = elapsed()
    for owner, name, function in undo:
        setattr(owner, name, function)
    shares = {label: seconds / total for label, seconds in spent.items()}
    within = {label: shares.pop(label) for label in ("evaluating on all rows", "choosing pivots")}
    return {**shares, "refining": 1.0 - sum(shares.values())}, within


def _described(results: list[Result], truths: list[DAG]) -> str:
    f1 = np.mean([skeleton_accuracy(truth, r.graph).f1 for truth, r in zip(truths, results, strict=True)])
    times = [r.seconds for r in results]
    return f"{np.mean(times):.1f} s mean, {max(times):.1f} s worst, skeleton F1 {f1:.2f}"


def whole_continuous_graphs() -> Iterator[Row]:
    tables = [simulated(1000, seed) for seed in SEEDS]
    results = [discover(frame, score="learned", workers=2) for frame, _ in tables]
    what = f"8 continuous variables, density 0.5, n=1,000, whole graph, 2 cores, {len(SEEDS)} seeds"
    worst = max(r.seconds for r in results)
    figure = _described(results, [truth for _, truth in tables])
    yield Row(what, figure, "10 s on a quiet machine", worst <= 10)
    alone = discover(tables[0][0], score="learned", workers=1)
    yield Row("the first of them: 1 worker over 2 workers", f"{alone.seconds / results[0].seconds:.2f} times")


def _large_graph() -> dict[str, Any]:
    frame, truth = simulated(100_000, SEEDS[0], variables=10, density=0.3)
    result = discover(frame, score="learned", workers=2)
    return {
        "seconds": result.seconds,
        "scores": result.scores_computed,
        "f1": skeleton_accuracy(truth, result.graph).f1,
        "certified": sum(fit.certified for fit in result.fits.values()),
    }


def _long_score() -> dict[str, Any]:
    table, names = smooth(1_000_000, 2)
    with stopwatch() as elapsed:
        fit = LearnedKernelScore(Dataset.from_array(table)).fit("x1", names)
    return {"seconds": elapsed(), "bound": fit.error_bound, "rank": fit.rank}


def many_rows() -> Iterator[Row]:
    found, peak = measured_apart(_large_graph)
    met = found["seconds"] <= 600 and peak < 4
    figure = (
        f"{found['seconds']:.0f} s, {found['scores']} scores, peak memory {peak:.1f} GB over all processes, "
        f"skeleton F1 {found['f1']:.2f}, {found['certified']} of 10 final scores certified"
    )
    yield Row("10 continuous variables, density 0.3, n=100,000, whole graph, 2 cores", figure, "600 s, 4 GB", met)
    found, peak = measured_apart(_long_score)
    figure = f"{found['seconds']:.0f} s, peak memory {peak:.1f} GB, rank {found['rank']}, bound {found['bound']:.2g}"
    yield Row("one score, 2 continuous parents, n=1,000,000, from scratch", figure)


def equal_graphs() -> Iterator[Row]:
    """The dense engine takes no shortcut: every start is followed on all rows, nothing is projected."""
    same, gaps, runs = 0, [], 100
    for seed in range(runs):
        frame, _ = simulated(300, EQUAL_SEED + seed, variables=4, density=0.5)
        data = Dataset.from_frame(frame)
        fast, exact = (
            discover(data, score="learned", score_options={"engine": engine}) for engine in ("lowrank", "dense")
        )
        same += fast.graph == exact.graph
        if fast.graph != exact.graph:
            judge = LearnedKernelScore(data, engine="dense")
            totals = [sum(judge.fit(n, r.dag.parents(n)).value for n in data.names) for r in (fast, exact)]
            gaps.append(abs(totals[0] - totals[1]))
    apart = f"; where not, the totals differ by {', '.join(f'{gap:.2g}' for gap in gaps)} nats" if gaps else ""
    yield Row(
        f"{runs} random tables of 4 variables, n=300: graphs equal to the dense engine's",
        f"{same} of {runs}{apart}",
        "at least 95",
        same >= 95,
    )


BENCHMARKS = [
    lowrank_against_dense,
    lowrank_against_causal_learn,
    lowrank_growth,
    where_the_time_goes,
    whole_continuous_graphs,
    many_rows,
    equal_graphs,
]
