"""Where bandwidths start: twice the median distance (the rule of Huang et al. 2018 and of the paper)."""

from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from kerncause.data import Points
from kerncause.linalg import squared_distances

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MOST_POINTS = 2000
# Distances on a line are counted, not listed, above this many values.
LINE_POINTS = 200
# A variable that is constant on the rows at hand has the kernel 11' at any bandwidth.
CONSTANT = 1.0
BISECTIONS = 60


_known: "WeakKeyDictionary[Points, float]" = WeakKeyDictionary()


def median_heuristic(points: Points) -> float:
    """Return 2 x the median of the positive distances between rows.

    Positive, because a binary column split 80/20 has median distance 0. Up to 2,000 distinct values over all
    pairs; of more, 2,000 evenly spaced order statistics of a single column, or 2,000 evenly spaced rows of the
    canonical order of a vector, so that the answer does not depend on the order of the table. Points cannot
    change, so each set of them is measured once.
    """
    if points not in _known:
        _known[points] = _measured(points)
    return _known[points]


def _measured(points: Points) -> float:
    distinct, counts = points.distinct, points.counts
    if len(distinct) < 2:
        return CONSTANT
    if len(distinct) > MOST_POINTS:
        rows = np.linspace(0, points.n - 1, MOST_POINTS).astype(np.int64)
        every = points.repeated().values if distinct.shape[1] > 1 else np.repeat(distinct, counts, axis=0)
        distinct, counts = np.unique(every[rows], axis=0, return_counts=True)
        if len(distinct) < 2:  # one value dominates
            distinct, counts = points.distinct[:MOST_POINTS], points.counts[:MOST_POINTS]
    if len(distinct) > LINE_POINTS and distinct.shape[1] == 1:
        return 2.0 * _median_of_many(distinct[:, 0], counts)
    above = np.triu_indices(len(distinct), 1)
    squared = squared_distances(distinct)[above]
    return 2.0 * float(np.sqrt(_weighted_median(squared, (counts[above[0]] * counts[above[1]]))))


def _weighted_median(values: Floats, weights: Ints) -> float:
    """Return the median of `values`, each repeated as often as its weight says."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    lower = np.searchsorted(reached, (reached[-1] + 1) // 2)
    upper = np.searchsorted(reached, reached[-1] // 2 + 1)
    return float(values[order][lower] + values[order][upper]) / 2.0


def _median_of_many(sorted_values: Floats, counts: Ints) -> float:
    """Return the median positive distance on a line, by bisection on the number of pairs within a distance."""
    before = np.concatenate([[0], np.cumsum(counts)])
    total = before[-1]
    wanted = (total**2 - np.sum(counts**2)) / 4  # half of the unordered pairs at positive distance
    low, high = 0.0, float(sorted_values[-1] - sorted_values[0])
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        beyond = np.searchsorted(sorted_values, sorted_values + middle, side="right")
        within = np.sum(counts * (before[beyond] - before[1:]))
        low, high = (middle, high) if within < wanted else (low, middle)
    return high
