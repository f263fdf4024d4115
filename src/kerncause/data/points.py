"""The values of one variable, and which rows share a value."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Points:
    """The n rows of one variable with l columns, standardised, and the v distinct rows among them.

    Attributes:
        values: (n, l).
        distinct: (v, l), the distinct rows in increasing order.
        codes: (n,), `values == distinct[codes]`.
    """

    values: Floats
    distinct: Floats
    codes: Ints

    @classmethod
    def of(cls, values: Floats) -> "Points":
        """Group equal rows."""
        if values.shape[1] == 1:
            distinct, codes = np.unique(values[:, 0], return_inverse=True)
            distinct = distinct[:, None]
        else:
            distinct, codes = np.unique(values, axis=0, return_inverse=True)
        return cls(values, distinct, codes.reshape(-1))

    @cached_property
    def counts(self) -> Ints:
        """Rows per distinct value, (v,)."""
        return np.bincount(self.codes, minlength=len(self.distinct))

    @cached_property
    def distinct_pairs(self) -> int:
        """N+, the number of ordered pairs of rows with different values."""
        n = len(self.values)
        return n * n - int(np.sum(self.counts**2))

    @cached_property
    def squared_distance_sum(self) -> float:
        """D2, the sum of |x_i - x_j|^2 over all ordered pairs, 2 n^2 times the total variance: O(n)."""
        n = len(self.values)
        return 2.0 * n * n * float(np.var(self.values, axis=0).sum())
