"""The Gaussian kernel, its derivative in log-space, and the Jacobian term it needs as a response kernel.

k(x, y) = exp(-|x - y|^2 / (2 s^2))          d k / d log s = k |x - y|^2 / s^2
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kerncause.data import Points
from kerncause.linalg import squared_distances

Floats = npt.NDArray[np.float64]


def gaussian(squared_distance: Floats, bandwidth: float) -> Floats:
    """Return exp(-d^2 / (2 s^2)) elementwise."""
    return np.exp(squared_distance * (-0.5 / bandwidth**2))


def product_gaussian(squared_distances: Floats, bandwidths: Floats) -> Floats:
    """Return exp(-1/2 sum_k d_k^2 / s_k^2): the kernel of a parent set, one bandwidth per parent.

    Args:
        squared_distances: (k, m, m), one slice per parent; k = 0 gives the constant kernel 11'.
        bandwidths: (k,).
    """
    k, m, _ = squared_distances.shape
    exponent = (-0.5 / bandwidths**2) @ squared_distances.reshape(k, m * m)
    return np.exp(exponent).reshape(m, m)


def log_bandwidth_gradient(weights: Floats, squared_distances: Floats, bandwidths: Floats) -> Floats:
    """Return sum(W o D_k) / s_k^2 for each parent (k,), where W = dL/dK o K."""
    k, m, _ = squared_distances.shape
    return squared_distances.reshape(k, m * m) @ weights.ravel() / bandwidths**2


@dataclass(frozen=True)
class JacobianTerm:
    """What keeps a learned response kernel from collapsing to a constant.

    The paper's term is the sum over i != j of log|d k(x_j, x_i) / d x_j|. For the Gaussian kernel
    |k'| = d/s^2 exp(-d^2 / (2 s^2)) for a variable of any number of columns, so

        J(s) = sum log d_ij + w (-2 N+ log s - D2 / (2 s^2)),            w = n^2 / N+

    with N+ the ordered pairs at d > 0 and D2 the sum of d^2: no pair is visited. The first sum depends on
    neither s nor the parents; it is `log_distance_sum`, left out here because it cancels in every comparison.

    The weight w is not in the paper. The likelihood counts all n^2 pairs but J can count only those at
    d > 0, so with tied values the likelihood wins and s runs to its bound; w restores the balance.

    Attributes:
        pairs: w N+.
        squared_sum: w D2.
    """

    pairs: float
    squared_sum: float

    @classmethod
    def of(cls, response: Points, tie_weight: bool = True) -> "JacobianTerm":
        """Count the pairs of a response; `tie_weight=False` is the paper's unweighted sum."""
        n, positive = response.n, response.distinct_pairs
        weight = n * n / positive if tie_weight else 1.0
        return cls(weight * positive, weight * response.squared_distance_sum)

    def value(self, bandwidth: float) -> float:
        """J(s) without its constant."""
        return -2.0 * self.pairs * math.log(bandwidth) - self.squared_sum / (2.0 * bandwidth**2)

    def gradient(self, bandwidth: float) -> float:
        """DJ / d log s."""
        return -2.0 * self.pairs + self.squared_sum / bandwidth**2


def log_distance_sum(response: Points) -> float:
    """The constant of J: sum over ordered pairs at d > 0 of log d_ij, in O(v^2) for v distinct values."""
    squared = squared_distances(response.distinct)
    counts = np.outer(response.counts, response.counts)
    apart = squared > 0
    return float(np.sum(counts[apart] * 0.5 * np.log(squared[apart])))
