"""KCI against causal-learn's: time at 1,000 rows, and how near the p-values are on 200 triples.

The seeds here are used for nothing else in this repository.
"""

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.harness import Row, best_seconds
from kerncause import Dataset
from kerncause.independence import KCI

SEED = 9101
TRIPLES = 200
LEVEL = 0.05

Question = tuple[Dataset, pd.DataFrame, list[str]]


def table(rng: np.random.Generator, n: int, given: int) -> pd.DataFrame:
    """Return x and y, independent given z0, z1, ... or nearly so; the mechanisms are drawn."""
    shapes: list[Callable[[Any], Any]] = [np.sin, np.tanh, np.square, np.abs, lambda v: v]
    z = rng.normal(size=(n, max(given, 1)))
    common = rng.normal(size=n)
    columns = {}
    for name in ("x", "y"):
        mixed = shapes[rng.integers(5)](z @ rng.normal(size=z.shape[1]))
        noise = rng.normal(size=n) + rng.choice([0.0, 0.0, 0.3, 0.6]) * shapes[rng.integers(5)](common)
        columns[name] = (mixed if given else 0.0) + rng.uniform(0.3, 1.0) * noise
    return pd.DataFrame(columns | {f"z{k}": z[:, k] for k in range(given)})


def questions(n: int) -> list[Question]:
    rng = np.random.default_rng(SEED)
    every = []
    for _ in range(TRIPLES):
        given = int(rng.integers(1, 4))
        frame = table(rng, n, given)
        every.append((Dataset.from_frame(frame), frame, [f"z{k}" for k in range(given)]))
    return every


def peer(question: Question, **options: Any) -> float:
    """Return causal-learn's p-value for x and y; it extends the variable in the first column by z."""
    from causallearn.utils.cit import CIT

    data, frame, given = question
    order = [*data.in_canonical_order(["x", "y"]), *given]
    columns = frame[order].to_numpy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(CIT(columns, "kci", **options)(0, 1, list(range(2, len(order)))))


def compared(ours: npt.NDArray[np.float64], theirs: npt.NDArray[np.float64]) -> str:
    away = np.abs(ours - theirs)
    differ = int(np.sum((ours > LEVEL) != (theirs > LEVEL)))
    return f"{np.median(away):.1e} median, {away.max():.1e} largest, {differ} of {len(away)} decisions at 0.05 differ"


def kci_p_values() -> Iterator[Row]:
    n = 200
    asked = questions(n)
    with threadpool_limits(1):
        manual = 1.5 * np.sqrt((n - 1) / n)  # theirs standardises with n - 1
        widths = {f"kwidth{side}": manual for side in "xyz"}
        pairs: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
            ("the same width of 1.5", {"bandwidth": 1.5, "extension": 0.5}, {"est_width": "manual", **widths}),
            ("the authors' rule", {"bandwidth": "empirical", "extension": 0.5}, {"est_width": "empirical"}),
            ("our default, their median", {}, {"est_width": "median"}),
            ("our default with z/2, their median", {"extension": 0.5}, {"est_width": "median"}),
            ("our default, their default", {}, {}),
        ]
        for label, own, other in pairs:
            ours = np.array([KCI(data, **own).test("x", "y", given).p_value for data, _, given in asked])
            theirs = np.array([peer(question, **other) for question in asked])
            what = f"KCI p-values, {TRIPLES} triples, n={n}, 1 to 3 given: ours and causal-learn's, {label}"
            yield Row(what, compared(ours, theirs))


def kci_nulls() -> Iterator[Row]:
    asked = questions(200)
    with threadpool_limits(1):
        gamma, spectral = (
            np.array([KCI(data, null).test("x", "y", given).p_value for data, _, given in asked])
            for null in ("gamma", "spectral")
        )
    yield Row(f"KCI p-values, {TRIPLES} triples, n=200: gamma and spectral null", compared(gamma, spectral))


def kci_seconds() -> Iterator[Row]:
    rng = np.random.default_rng(SEED + 1)
    with threadpool_limits(1):
        for given in range(4):
            frame = table(rng, 1000, given)
            question = (Dataset.from_frame(frame), frame, [f"z{k}" for k in range(given)])
            test = KCI(question[0])
            ours = best_seconds(partial(test.test, "x", "y", question[2]), rounds=3)
            theirs = best_seconds(partial(peer, question, est_width="median"), rounds=2)
            yield Row(
                f"KCI, one test at n=1000, {given} given: causal-learn over ours",
                f"{theirs / ours:.0f} times ({theirs:.2f} s, {1e3 * ours:.1f} ms)",
                "at least 10",
                theirs / ours >= 10,
            )


def kci_rows() -> Iterator[Row]:
    rng = np.random.default_rng(SEED + 2)
    with threadpool_limits(1):
        for n in (1000, 10_000, 100_000):
            data = Dataset.from_frame(table(rng, n, 1))
            test = KCI(data)
            seconds = best_seconds(partial(test.test, "x", "y", ["z0"]), rounds=2)
            result = test.test("x", "y", ["z0"])
            yield Row(f"KCI, one test given one variable, n={n:,}", f"{seconds:.3f} s, rank {result.rank}")


BENCHMARKS = [kci_seconds, kci_p_values, kci_nulls, kci_rows]
