"""The values of one variable, and which rows share a value."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Points:
    """The rows of one variable with l columns, standardised, and the v distinct rows among them.

    Attributes:
        values: (N, l).
        distinct: (v, l), the distinct rows in increasing order.
        codes: (N,), `values == distinct[codes]`.
        weights: (N,), how many rows of the table each row stands for; None: one each.
    """

    values: Floats
    distinct: Floats
    codes: Ints
    weights: Ints | None = None

    @classmethod
    def of(cls, values: Floats, weights: Ints | None = None) -> "Points":
        """Group equal rows."""
        if values.shape[1] == 1:
            distinct, codes = np.unique(values[:, 0], return_inverse=True)
            distinct = distinct[:, None]
        else:
            distinct, codes = np.unique(values, axis=0, return_inverse=True)
        return cls(values, distinct, codes.reshape(-1), weights)

    @cached_property
    def n(self) -> int:
        """Rows of the table."""
        return len(self.values) if self.weights is None else int(self.weights.sum())

    def repeated(self) -> "Points":
        """Return the same with every row as often as it occurs."""
        if self.weights is None:
            return self
        rows = np.repeat(np.arange(len(self.values)), self.weights)
        return Points(self.values[rows], self.distinct, self.codes[rows])

    @cached_property
    def counts(self) -> Ints:
        """Rows of the table per distinct value, (v,)."""
        return occurrences(self.codes, self.weights, len(self.distinct))

    @cached_property
    def distinct_pairs(self) -> int:
        """N+, the number of ordered pairs of rows with different values."""
        return self.n * self.n - int(np.sum(self.counts**2))

    @cached_property
    def squared_distance_sum(self) -> float:
        """D2, the sum of |x_i - x_j|^2 over all ordered pairs, 2 n^2 times the total variance: O(n)."""
        if self.weights is None:
            return 2.0 * self.n**2 * float(np.var(self.values, axis=0).sum())
        away = self.values - self.weights @ self.values / self.n
        return 2.0 * self.n * float((self.weights @ away**2).sum())


def occurrences(codes: Ints, weights: Ints | None, size: int) -> Ints:
    """Return how many rows of the table have each code 0..size-1."""
    if weights is None:
        return np.bincount(codes, minlength=size)
    # Sums of whole numbers below 2^53 are exact in floating point.
    return np.bincount(codes, weights=weights, minlength=size).astype(np.int64)
