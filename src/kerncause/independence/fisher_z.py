"""Fisher's z: whether the partial correlation of two numbers is zero.

    r = the correlation of what is left of x and of y after linear regression on the given variables
    T = sqrt(n - k - 3) artanh r,        p = 2 (1 - Phi(|T|))

with n rows and k the rank of the given columns (Fisher 1915, 1924). The test is right for jointly Gaussian
variables; it sees only linear dependence.
"""

import math

import numpy as np
import numpy.typing as npt

from kerncause.data import Dataset, Kind
from kerncause.errors import DataError
from kerncause.independence.base import Query, TestResult
from kerncause.independence.table import TableTest
from kerncause.linalg import one_blas_thread
from kerncause.text import counted, quoted

Floats = npt.NDArray[np.float64]

# Relative to its length before: a shorter residual is rounding, and the column a combination of the given ones.
SMALLEST_RESIDUAL = 1e-9


class FisherZ(TableTest):
    """Fisher's z test of a Dataset of numbers: continuous, ordinal (by their codes), or with two values.

    Where x or y is a combination of the given variables nothing is left to be dependent, and where there are too
    few rows nothing can be said: the p-value is 1.

    Args:
        data: the table.
    """

    name = "fisher-z"

    def __init__(self, data: Dataset) -> None:
        super().__init__(data)
        for variable in data.variables:
            if variable.kind is Kind.VECTOR:
                raise DataError(
                    f"variable {quoted(variable.name)} is a vector, and fisher-z compares single numbers: "
                    "use the test kci, or leave its columns ungrouped"
                )
            levels = len(variable.levels or ())
            if variable.kind is Kind.CATEGORICAL and levels > 2:
                raise DataError(
                    f"column {quoted(variable.name)} is categorical with {counted(levels, 'level')}, "
                    "which have no order to correlate: use the test kci, drop the column, or list its levels in order"
                )

    def _answer(self, rows: Dataset, query: Query) -> TestResult:
        """Test whether x and y are uncorrelated given some variables; the statistic is T."""
        with one_blas_thread():
            r, rank = partial_correlation(_columns(rows, (*query.given, query.x, query.y)))
        left = rows.n_rows - rank - 3
        if left <= 0:
            return self._nothing_to_say(rows)
        statistic = math.sqrt(left) * (math.atanh(r) if abs(r) < 1.0 else math.copysign(math.inf, r))
        return TestResult(math.erfc(abs(statistic) / math.sqrt(2.0)), statistic, self.name, rows.n_rows)


def partial_correlation(columns: Floats) -> tuple[float, int]:
    """Return the correlation of the last two columns given the others, and the rank of the others.

    The columns (n, k + 2) are centred. After a QR decomposition everything happens on the k + 2 rows of R.
    """
    R: Floats = np.linalg.qr(columns, mode="r")  # type: ignore[assignment]
    given, pair = R[:, :-2], R[:, -2:]
    basis, sizes, _ = np.linalg.svd(given, full_matrices=False)
    rank = int(np.sum(sizes > SMALLEST_RESIDUAL * sizes.max(initial=0.0)))
    basis = basis[:, :rank]
    left = pair - basis @ (basis.T @ pair)
    lengths = np.linalg.norm(left, axis=0)
    if np.any(lengths <= SMALLEST_RESIDUAL * np.linalg.norm(pair, axis=0)):
        return 0.0, rank
    r = float(left[:, 0] @ left[:, 1] / (lengths[0] * lengths[1]))
    return max(-1.0, min(1.0, r)), rank


def _columns(rows: Dataset, names: tuple[str, ...]) -> Floats:
    """Return the variables side by side, centred, rows scaled by the root of how often they occur."""
    values = np.hstack([rows.points(name).values for name in names])
    weights = np.ones(len(values)) if rows.weights is None else rows.weights.astype(np.float64)
    centred: Floats = values - weights @ values / weights.sum()
    return centred * np.sqrt(weights)[:, None]
