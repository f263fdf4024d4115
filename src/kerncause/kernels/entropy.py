"""The noise that a response of few values keeps, whatever its parents.

A density has no upper limit, so a response of few values, which a smooth function can meet exactly, would be worth any
number of nats. But to know it is worth its entropy and no more,

    H = -sum over values v of (c_v / n) log(c_v / n)

per row. Without parents the likelihood is highest at some bandwidth s_0, with the deviation of the features there as
the noise, s_e0; with parents that predict everything the determinant gains n log(s_e0 / s_e) (and the residuals n/2
at the most, whatever the noise). That may be no more than n H:

    s_e >= s_e0 exp(-H)

Values that are all different have H = log n, and keep next to no noise.
"""

import math
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar

from kerncause.data import Points
from kerncause.kernels.gaussian import gaussian
from kerncause.kernels.heuristic import median_heuristic
from kerncause.linalg import squared_distances

Floats = npt.NDArray[np.float64]

# Of more different values, evenly spaced ones stand for all.
MOST_VALUES = 500
# Where s_0 is looked for, in units of the median heuristic.
RANGE = (0.1, 4.0)
_known: "WeakKeyDictionary[Points, float]" = WeakKeyDictionary()


def entropy(points: Points) -> float:
    """Return H, in nats."""
    share = points.counts / points.n
    return float(-share @ np.log(share))


def least_noise(points: Points, bandwidth: float | None = None) -> float:
    """Return s_e0 exp(-H); at a bandwidth that is held, if it is."""
    if points not in _known:
        _known[points] = _deviation(points, bandwidth) * math.exp(-entropy(points))
    return _known[points]


def _deviation(points: Points, bandwidth: float | None) -> float:
    """Return s_e0, the deviation of the features from their means where the likelihood without parents is highest."""
    distinct, counts = points.distinct, points.counts
    if len(distinct) < 2:
        return 0.0
    if len(distinct) > MOST_VALUES:
        some = np.linspace(0, len(distinct) - 1, MOST_VALUES).astype(np.int64)
        distinct, counts = distinct[some], counts[some]
    share = counts / counts.sum()
    squares = squared_distances(distinct)

    def mean_and_deviation(s: float) -> tuple[float, float]:
        K = gaussian(squares, s)
        mean = share @ K
        return float(share @ mean**2), math.sqrt(float(share @ np.square(K - mean) @ share))

    if bandwidth is not None:
        return mean_and_deviation(bandwidth)[1]
    mean_square = float(share @ squares @ share) / (1.0 - float(share @ share))  # over pairs that differ

    def loss(log_s: float) -> float:
        """Minus the likelihood without parents, 11' for K_PA, per row and output."""
        mean, deviation = mean_and_deviation(math.exp(log_s))
        of_mean = (math.log1p(points.n / deviation**2) + mean / (1.0 + deviation**2 / points.n)) / (2.0 * points.n)
        return math.log(deviation) + of_mean + 2.0 * log_s + mean_square / (2.0 * math.exp(2.0 * log_s))

    start = median_heuristic(points)
    found = minimize_scalar(loss, bounds=(math.log(RANGE[0] * start), math.log(RANGE[1] * start)), method="bounded")
    return mean_and_deviation(math.exp(float(found.x)))[1]
