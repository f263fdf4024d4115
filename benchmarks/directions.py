"""How often the direction that the learned score prefers is right, and how well the probability says so.

`python -m benchmarks.directions --fit` fits the curve of `kerncause.directions` to pairs of its own seeds and writes it
down; `python -m benchmarks directions-of-pairs` measures it on others, and draws docs/images/directions.svg.
"""

import json
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize

from benchmarks.harness import Benchmark, Row
from benchmarks.pairs import DIRECTED, EVERY, NULL
from kerncause import Direction, direction
from kerncause.directions import Calibration
from kerncause.experiments.methods import BY_RANKS
from kerncause.parallel import end_pool, started_pool, worker_count
from kerncause.presets import PRESETS

FIT_SEEDS, TEST_SEEDS = range(33_000, 33_060), range(34_000, 34_050)
SIZES = (100, 300, 1000)
KNOTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.2)
CURVE = Path(__file__).parent.parent / "src" / "kerncause" / "directions" / "calibration.json"
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "directions.svg"
BINS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
CLAIM = 0.75


# What is calibrated: each footing with the options of `learned` that give it.
FOOTINGS: dict[str, dict[str, Any]] = {
    "values": {},
    "ranks": dict(BY_RANKS),
    "levels": dict(PRESETS["adaptive"].score),
    "even levels": {**PRESETS["adaptive"].score, "noise": "even"},
}


@dataclass(frozen=True)
class Judged:
    """A pair, what was said about it, and whether x came out as the cause."""

    mechanism: str
    n: int
    said: Direction
    is_right: bool


def judged(task: tuple[str, str, int, int]) -> Judged:
    footing, mechanism, n, seed = task
    rng = np.random.default_rng([seed, n, list(EVERY).index(mechanism)])
    x, y = EVERY[mechanism](rng, n)
    frame = pd.DataFrame({"x": x, "y": y})
    kinds = {name: "ordinal" for name in frame if frame[name].nunique() < 10}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = direction(frame["x"], frame["y"], kinds=kinds, score_options=FOOTINGS[footing])
    return Judged(mechanism, n, said, said.cause == "x")


def pairs(footing: str, mechanisms: Sequence[str], seeds: Sequence[int]) -> list[Judged]:
    tasks = [(footing, mechanism, n, seed) for mechanism in mechanisms for n in SIZES for seed in seeds]
    pool = started_pool(worker_count(None))
    try:
        return list(pool.map(judged, tasks, chunksize=4))
    finally:
        end_pool(pool)


def fitted(found: Sequence[Judged]) -> Calibration:
    """Return the curve and the nats of highest likelihood; a pair without a direction counts half for each.

    The curve grows in every step by the square of a free number, beginning from 1/2, and ends below 1.
    """
    D = np.array([pair.said.preference for pair in found])
    share = D / np.maximum([pair.said.gain for pair in found], 1e-9)
    width = np.array([pair.said.bandwidth or 1.0 for pair in found])
    right = np.array([0.5 if pair.mechanism in NULL else float(pair.is_right) for pair in found])

    def curve(free: np.ndarray) -> np.ndarray:
        return np.concatenate([[0.5], 0.5 + 0.49 * (1 - np.exp(-np.cumsum(free[:-3] ** 2)))])

    def loss(free: np.ndarray) -> float:
        nats, w, k = np.exp(free[-3:])
        P = 0.5 + (np.interp(share, KNOTS, curve(free)) - 0.5) * (1 - np.exp(-D / nats)) / (1 + (width / w) ** k)
        P = np.clip(P, 1e-6, 1 - 1e-6)
        return float(-np.mean(right * np.log(P) + (1 - right) * np.log(1 - P)))

    begin = np.concatenate([np.full(len(KNOTS) - 1, 0.4), [1.0, 0.7, 1.4]])
    bounds = [(None, None)] * (len(KNOTS) - 1) + [(-1.0, 3.5), (-1.0, 3.0), (0.0, 3.0)]
    found_at = minimize(loss, begin, method="L-BFGS-B", bounds=bounds).x
    right_at = tuple(round(float(value), 3) for value in curve(found_at))
    return Calibration(KNOTS, right_at, *(round(float(value), 2) for value in np.exp(found_at[-3:])))


def directions_of_pairs() -> Iterator[Row]:
    """Preferences on pairs that the calibration has not seen."""
    yield from _of_pairs("values", PICTURE)


def directions_of_pairs_by_ranks() -> Iterator[Row]:
    """The same with responses by their ranks, as the adaptive preset compared them once."""
    yield from _of_pairs("ranks", PICTURE.with_stem("directions-ranks"))


def directions_of_pairs_by_levels() -> Iterator[Row]:
    """The same with the adaptive preset, which compares the probabilities of levels."""
    yield from _of_pairs("levels", PICTURE.with_stem("directions-levels"))


def directions_of_pairs_by_even_levels() -> Iterator[Row]:
    """The same as the adaptive preset has it on tables that are not of numbers alone: noise is the same everywhere."""
    yield from _of_pairs("even levels", PICTURE.with_stem("directions-even-levels"))


def _of_pairs(footing: str, picture: Path) -> Iterator[Row]:
    found = pairs(footing, list(EVERY), TEST_SEEDS)
    count = len(TEST_SEEDS)
    yield Row("pairs of each mechanism, and sizes", f"{count}; n = {', '.join(map(str, SIZES))}")
    for mechanism in EVERY:
        mine = [pair for pair in found if pair.mechanism == mechanism]
        by_size = [np.mean([pair.is_right for pair in mine if pair.n == n]) for n in SIZES]
        claimed = [pair for pair in mine if pair.said.is_claimed]
        share = f"{len(claimed) / len(mine):.0%} claimed"
        of_these = f", of these right {np.mean([p.is_right for p in claimed]):.0%}" if claimed else ""
        is_null = mechanism in NULL or mechanism == "discretised copy"
        yield Row(
            f"{mechanism}: x preferred, by size; claimed (probability {CLAIM:.2f} or more)",
            " / ".join(f"{value:.2f}" for value in by_size) + f"; {share}{of_these}",
            "at most 5% claimed" if is_null else "",
            len(claimed) <= 0.05 * len(mine) if is_null else None,
        )
    known = [pair for pair in found if pair.mechanism in DIRECTED]
    for low, high, said, right, size in bins(known):
        close = abs(said - right) <= 2 * np.sqrt(0.25 / size)
        yield Row(
            f"said to be right with {low:.1f} to {high:.1f}: {size} pairs",
            f"said {said:.2f}, right {right:.2f}",
            "within two standard errors",
            bool(close),
        )
    draw(known, picture)


def bins(found: Sequence[Judged]) -> Iterator[tuple[float, float, float, float, int]]:
    """Iterate over the bins of what was said: its ends, the mean said, the share right, the number of pairs."""
    for low, high in pairwise(BINS):
        mine = [pair for pair in found if low <= pair.said.probability < high or pair.said.probability == high == 1.0]
        if mine:
            yield (
                low,
                high,
                float(np.mean([pair.said.probability for pair in mine])),
                float(np.mean([pair.is_right for pair in mine])),
                len(mine),
            )


def draw(found: Sequence[Judged], picture: Path) -> None:
    """Draw said against right."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams["svg.hashsalt"] = "kerncause"
    figure, axes = plt.subplots(figsize=(3.4, 3.2))
    axes.plot([0.5, 1], [0.5, 1], color="#999999", linewidth=1, linestyle="--", label="as said")
    rows = list(bins(found))
    said, right = [row[2] for row in rows], [row[3] for row in rows]
    error = [np.sqrt(max(r * (1 - r), 0.01) / row[4]) for r, row in zip(right, rows, strict=True)]
    axes.errorbar(said, right, yerr=error, color="#0072b2", marker="o", capsize=2, label="six mechanisms")
    for x, y, row in zip(said, right, rows, strict=True):
        axes.annotate(f"{row[4]}", (x, y), textcoords="offset points", xytext=(6, -10), fontsize=7, color="#555555")
    axes.set(xlabel="probability said", ylabel="share right", xlim=(0.45, 1.02), ylim=(0.3, 1.02))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(picture, metadata={"Date": None})


BENCHMARKS: list[Benchmark] = [
    directions_of_pairs,
    directions_of_pairs_by_ranks,
    directions_of_pairs_by_levels,
    directions_of_pairs_by_even_levels,
]


def write_fit(footings: Collection[str]) -> None:
    """Fit the curves of some footings; the others stay as they are."""
    curves = {footing: asdict(fitted(pairs(footing, [*DIRECTED, *NULL], FIT_SEEDS))) for footing in footings}
    CURVE.write_text(json.dumps({**json.loads(CURVE.read_text()), **curves}) + "\n")
    print(CURVE.read_text())


if __name__ == "__main__":
    if sys.argv[1:2] != ["--fit"] or not set(sys.argv[2:]) <= set(FOOTINGS):
        raise SystemExit(f"python -m benchmarks.directions --fit [{' | '.join(FOOTINGS)}]...")
    write_fit(sys.argv[2:] or FOOTINGS)
