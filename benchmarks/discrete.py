"""SACHS and CHILD: accuracy and time of the whole search, and the compressed engine against the dense one.

The seeds here are used for nothing else in this repository.
"""

from collections.abc import Iterator

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.harness import Row, best_seconds
from kerncause import Dataset, LearnedKernelScore, Result, discover, networks
from kerncause.metrics import skeleton_accuracy

SEEDS = range(9001, 9006)


def searches(name: str, n: int, workers: int, score: str | None = "learned") -> list[Result]:
    network = networks.load(name)
    samples = [network.sample(n, seed) for seed in SEEDS]
    return [discover(s.loc[:, s.nunique() > 1], score=score, workers=workers) for s in samples]


def skeleton_f1(name: str, results: list[Result]) -> tuple[float, float]:
    f1 = [skeleton_accuracy(networks.load(name).dag, result.graph).f1 for result in results]
    return float(np.mean(f1)), float(np.std(f1, ddof=1) / np.sqrt(len(f1)))


def whole_graphs() -> Iterator[Row]:
    for name, seconds, least in (("sachs", 10.0, 0.93), ("child", 30.0, None)):
        results = searches(name, 2000, workers=1)
        mean, error = skeleton_f1(name, results)
        times = [r.seconds for r in results]
        label = f"{name.upper()} n=2000, whole graph, {len(results)} seeds"
        wanted, met = (f"at least {least}", mean >= least) if least else ("", None)
        yield Row(f"{label}: skeleton F1", f"{mean:.3f} ± {error:.3f}", wanted, met)
        scores = np.mean([r.scores_computed for r in results])
        spread = f"{np.mean(times):.1f} s mean, {max(times):.1f} s worst, {scores:.0f} scores"
        yield Row(f"{label}: one core", spread, f"{seconds:.0f} s on a quiet core", max(times) <= seconds)


def two_workers() -> Iterator[Row]:
    sample = networks.load("child").sample(2000, SEEDS[0])
    one, two = (discover(sample, score="learned", workers=workers).seconds for workers in (1, 2))
    yield Row("CHILD n=2000, 1 worker over 2 workers", f"{one / two:.2f} times")


def engines() -> Iterator[Row]:
    with threadpool_limits(1):
        dense, compressed = (_seconds_per_evaluation(engine, n=1000) for engine in ("dense", "compressed"))
        what = "one evaluation with its set-up, SACHS n=1000, 2 parents: dense over compressed"
        yield Row(what, f"{dense / compressed:,.0f} times")
        few, many = (_seconds_per_fit(n) for n in (10_000, 1_000_000))
        yield Row("one fit, 2 discrete parents, compressed: 1,000,000 rows over 10,000", f"{many / few:.1f} times")


def a_million_rows() -> Iterator[Row]:
    """The whole of `discover`, from a table in memory: kinds, canonical order and hash included."""
    few, many = (
        discover(networks.load("sachs").sample(n, SEEDS[0]), score="learned", workers=1) for n in (2000, 1_000_000)
    )
    ratio = many.seconds / few.seconds
    yield Row(
        "SACHS, whole graph, one core: n=1,000,000 over n=2,000",
        f"{ratio:.1f} times ({many.seconds:.1f} s, {many.scores_computed} scores; {few.seconds:.1f} s, "
        f"{few.scores_computed} scores)",
        "at most 5",
        ratio <= 5,
    )


def _seconds_per_evaluation(engine: str, n: int) -> float:
    score = LearnedKernelScore(Dataset.from_frame(networks.load("sachs").sample(n, SEEDS[0])), engine=engine)
    at = {"response_bandwidth": 1.5, "bandwidths": {"Erk": 2.0, "PKA": 3.0}, "noise": 0.1}
    return best_seconds(lambda: score.evaluate("Akt", ["Erk", "PKA"], at), rounds=3)


def _seconds_per_fit(n: int) -> float:
    score = LearnedKernelScore(Dataset.from_frame(networks.load("sachs").sample(n, SEEDS[0])))
    return best_seconds(lambda: score.fit("Akt", ["Erk", "PKA"]), rounds=3)


BENCHMARKS = [whole_graphs, two_workers, engines, a_million_rows]
