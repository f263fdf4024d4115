"""The distribution of a weighted sum of chi-squared variables, to nine digits and without random numbers.

    Q = sum_i w_i Z_i^2,   Z_i standard normal, w_i > 0,        log E exp(sQ) = -1/2 sum_i log(1 - 2 w_i s)

    P(Q > q) = 1/(2 pi i) integral exp(f(s)) ds,     f(s) = -1/2 sum_i log(1 - 2 w_i s) - q s - log s

along any path from below to above that crosses the real line between 0 and the branch point 1/(2 max w). f is
convex there; the path crosses at its minimum c and bends to the right around the branch cut,

    s(t) = c + it + k t^2,        k = g'''(c) / (6 g''(c)),   g(s) = log E exp(sQ),

which follows steepest descent but for the pole at 0 (as in Daniels' saddlepoint approximation of 1954) and makes
exp(-qs) decay further out. With t = sinh(v) / sqrt(f''(c)) the trapezoidal rule converges exponentially.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

from kerncause.errors import ComputationError

Floats = npt.NDArray[np.float64]
Complexes = npt.NDArray[np.complex128]

FIRST_STEPS = 64
MOST_STEPS = 2**15
ACCURACY = 1e-10
# exp(-DECAYED) does not change a sum of doubles.
DECAYED = 40.0
LONGEST = 40.0


def weighted_chi_squared_survival(weights: Floats, q: float) -> float:
    """Return P(Q > q) for weights (m,); those that are not positive count nothing."""
    weights = weights[weights > 0.0]
    if q <= 0.0 or len(weights) == 0:
        return float(q <= 0.0)
    largest = float(weights.max())
    weights, q = weights / largest, q / largest
    path = _Path.of(weights, q, _crossing(weights, q))
    steps, before = FIRST_STEPS, math.inf
    while steps <= MOST_STEPS:
        found = path.integral(steps)
        if abs(found - before) <= ACCURACY * max(abs(found), 1e-3 * ACCURACY):
            return min(max(found, 0.0), 1.0)
        steps, before = 2 * steps, found
    raise ComputationError(
        "the distribution of the statistic could not be computed to nine digits: choose the gamma null (null=gamma)"
    )


def _crossing(weights: Floats, q: float) -> float:
    """Return the c in (0, 1/2) where f'(c) = sum w / (1 - 2 w c) - q - 1/c = 0, for weights of at most 1."""

    def slope(s: float) -> float:
        return float(np.sum(weights / (1.0 - 2.0 * s * weights))) - q - 1.0 / s

    low = min(0.25, 0.5 / float(weights.sum()))  # there the sum is at most 1/c
    high = 0.5 - 0.5 / (q + 4.0)  # there the largest weight alone gives q + 4 or more
    return float(brentq(slope, low, high, xtol=1e-15, rtol=1e-12))


@dataclass(frozen=True, eq=False)
class _Path:
    """The path of integration for weights scaled to a largest of 1: s(t) = c + it + bend t^2, t = scale sinh(v)."""

    weights: Floats
    q: float
    c: float
    bend: float
    scale: float

    @classmethod
    def of(cls, weights: Floats, q: float, c: float) -> "_Path":
        """Choose the path that crosses at c."""
        ratios = weights / (1.0 - 2.0 * c * weights)
        second, third = float(np.sum(2.0 * ratios**2)), float(np.sum(8.0 * ratios**3))
        bend, second = third / (6.0 * second), second + 1.0 / c**2
        return cls(weights, q, c, bend, 1.0 / math.sqrt(second))

    @cached_property
    def end(self) -> float:
        """The v beyond which the integrand is nothing against its largest value."""
        v = np.linspace(0.0, LONGEST, 2 * int(LONGEST) + 1)
        size = np.real(self._exponent(self._at(v))) + 2.0 * v  # the slope grows no faster than exp(2v)
        return float(v[min(int(np.flatnonzero(size > size[0] - DECAYED)[-1]) + 1, len(v) - 1)])

    def integral(self, steps: int) -> float:
        """Return the trapezoidal sum with so many steps over half the path; the other half is its mirror image."""
        v = np.linspace(0.0, self.end, steps + 1)
        slope = (1.0 - 2j * self.bend * self.scale * np.sinh(v)) * self.scale * np.cosh(v)  # ds / (i dv)
        values: Floats = np.real(np.exp(self._exponent(self._at(v))) * slope)
        return float((values.sum() - 0.5 * (values[0] + values[-1])) * (v[1] - v[0]) / math.pi)

    def _at(self, v: Floats) -> Complexes:
        t = self.scale * np.sinh(v)
        s: Complexes = self.c + 1j * t + self.bend * t**2  # type: ignore[assignment]
        return s

    def _exponent(self, s: Complexes) -> Complexes:
        exponent: Complexes = -self.q * s - np.log(s)
        for piece in np.array_split(self.weights, 1 + len(self.weights) // 256):
            exponent -= 0.5 * np.log1p(np.multiply.outer(s, -2.0 * piece)).sum(axis=1)
        return exponent
