"""The Jacobian term of a response kernel that is not Gaussian.

The term is the sum over i != j of log|d k(x_j, x_i) / d x_j|. For a kernel k(t), t = d^2/s^2, of a variable of any
number of columns |dk/dd| = d/s^2 k~(t) with k~ = -2 k'(t), so

    J(s) = sum log d_ij + w ( -2 N+ log s + sum log k~(d_ij^2 / s^2) ),            w = n^2 / N+

over the ordered pairs at d > 0, with the weight for ties of `kerncause.kernels.gaussian.JacobianTerm`, whose log k~ is
-t/2 and needs only the sum of d^2. For other kernels the last sum is over all distances, and there are n^2 of them. It
is taken over their distribution instead, which is counted once: exactly where there are at most `MOST_DISTANCES`
different values of x; on a line by convolving the counts of x on a grid with themselves (O(n + B log B) for B cells,
after which J costs O(B), whatever n is); for vectors from `MOST_DISTANCES` evenly spaced values, in which case J is an
estimate, and the same function of s_x for all parents. On the grid a distance is off by at most a cell, and the errors
of both signs cancel to second order.

A response of equally distant values (binary, or categories that are the same or different) has no density to transform
and no shape to learn: its bandwidth is held, J is a constant, and all kernels are the same up to what that bandwidth
means. So parent sets of one response are compared by the likelihood alone, as they are for any held bandwidth.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.signal import fftconvolve

from kerncause.data import Points
from kerncause.kernels.profile import Profile
from kerncause.linalg import squared_distances

Floats = npt.NDArray[np.float64]

MOST_DISTANCES = 500
CELLS = 8192


@dataclass(frozen=True, eq=False)
class PairwiseJacobian:
    """J of any profile, without the sum of log distances, which cancels.

    Attributes:
        profile: of the kernel.
        squares: (B,) squared distances.
        weights: (B,) how many ordered pairs have each, times w.
    """

    profile: Profile
    squares: Floats
    weights: Floats

    @classmethod
    def of(cls, response: Points, profile: Profile, tie_weight: bool = True) -> "PairwiseJacobian":
        """Count the distances of a response."""
        squares, pairs = _distances(response)
        n, positive = response.n, response.distinct_pairs
        total = float(n * n) if tie_weight else float(positive)
        return cls(profile, squares, pairs * (total / pairs.sum()))

    def value(self, bandwidth: float) -> float:
        """J(s) without its constant."""
        logs, _ = self.profile.log_slope(self.squares / bandwidth**2)
        return float(self.weights @ logs - 2.0 * self.weights.sum() * np.log(bandwidth))

    def gradient(self, bandwidth: float) -> float:
        """DJ / d log s."""
        _, slopes = self.profile.log_slope(self.squares / bandwidth**2)
        return -2.0 * float(self.weights @ slopes) - 2.0 * float(self.weights.sum())


def _distances(response: Points) -> tuple[Floats, Floats]:
    """Return squared distances and how many ordered pairs have each."""
    distinct, counts = response.distinct, response.counts.astype(np.float64)
    if len(distinct) > MOST_DISTANCES:
        if distinct.shape[1] == 1:
            return _on_a_line(distinct[:, 0], counts)
        some = np.linspace(0, len(distinct) - 1, MOST_DISTANCES).astype(np.int64)
        distinct, counts = distinct[some], counts[some]
    above = np.triu_indices(len(distinct), 1)
    return squared_distances(distinct)[above], 2.0 * counts[above[0]] * counts[above[1]]


def _on_a_line(values: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Return the distances of a column on a grid: the counts of its cells, convolved with themselves reversed.

    Every value is shared between the two cells it lies between, so that sums of distances are kept.
    """
    low, high = values[0], values[-1]
    place = (values - low) / (high - low) * (CELLS - 1)
    cell = np.minimum(place.astype(np.int64), CELLS - 2)
    share = place - cell
    mass = np.bincount(cell, counts * (1.0 - share), CELLS) + np.bincount(cell + 1, counts * share, CELLS)
    pairs = fftconvolve(mass, mass[::-1])[CELLS - 1 :]
    # No value makes a pair with itself, in its two cells neither.
    pairs[0] -= float(counts**2 @ (share**2 + (1.0 - share) ** 2))
    pairs[1] -= float(counts**2 @ (share * (1.0 - share)))
    pairs[0] *= 0.5
    distances = np.arange(CELLS) * (high - low) / (CELLS - 1)
    distances[0] = distances[1] / 3.0  # the mean distance of two places in one cell
    return distances**2, np.maximum(2.0 * pairs, 0.0)
