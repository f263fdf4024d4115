"""The chi-squared test of two discrete variables within the strata of the given ones.

With O the counts of (x, y) in stratum z, and E = O(x, .) O(., y) / O(., .) what independence expects,

    Pearson:  T = sum over z, x, y of (O - E)^2 / E             G:  T = 2 sum of O log(O / E)

is compared with a chi-squared distribution of  sum over z of (rows_z - 1)(columns_z - 1)  degrees of freedom.
rows_z and columns_z count the values of x and of y that occur in stratum z: a value that does not occur there
leaves a row of zeros that cannot differ from what is expected, so it is left out of both sum and degrees of
freedom. Without any degree of freedom the p-value is 1. The approximation is poor where most E are below 5.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from kerncause.data import Dataset, Kind, Points
from kerncause.errors import DataError, OptionError
from kerncause.independence.base import Query, TestResult
from kerncause.independence.table import TableTest
from kerncause.text import quoted

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Statistic = Literal["pearson", "g"]


class ChiSquared(TableTest):
    """The chi-squared test of a Dataset of ordinal and categorical variables.

    Args:
        data: the table.
        statistic: `pearson`, or `g` for the likelihood ratio.
    """

    name = "chi-squared"

    def __init__(self, data: Dataset, statistic: Statistic = "pearson") -> None:
        super().__init__(data, statistic=statistic)
        if statistic not in get_args(Statistic):
            raise OptionError(f"statistic cannot be {quoted(statistic)}: choose pearson or g")
        for variable in data.variables:
            if variable.kind not in (Kind.ORDINAL, Kind.CATEGORICAL):
                is_vector = variable.kind is Kind.VECTOR
                raise DataError(
                    f"variable {quoted(variable.name)} is {'a vector' if is_vector else 'continuous'}, and chi-squared "
                    f"counts discrete values: use the test {'kci' if is_vector else 'kci or fisher-z'}"
                )

    def _answer(self, rows: Dataset, query: Query) -> TestResult:
        """Test whether x and y are independent in every stratum of the given variables."""
        strata = _combined([rows.points(name) for name in query.given], len(rows.values))
        counts = np.ones(len(strata)) if rows.weights is None else rows.weights.astype(np.float64)
        statistic, degrees = _stratified(
            strata, rows.points(query.x).codes, rows.points(query.y).codes, counts, self._options["statistic"]
        )
        p_value = float(chdtrc(degrees, statistic)) if degrees > 0 else 1.0
        return TestResult(p_value, statistic, self.name, rows.n_rows, float(degrees))

    def _nothing_to_say(self, rows: Dataset) -> TestResult:
        return replace(super()._nothing_to_say(rows), degrees_of_freedom=0.0)


def _combined(variables: Sequence[Points], rows: int) -> Ints:
    """Return for each row the number 0, 1, ... of its combination of values."""
    codes = np.zeros(rows, dtype=np.int64)
    for points in variables:
        codes = _numbered(codes, points.codes)
    return codes


def _numbered(codes: Ints, others: Ints) -> Ints:
    """Return for each row the number 0, 1, ... of its pair of codes."""
    pairs = codes * (int(others.max()) + 1) + others
    numbers: Ints = np.unique(pairs, return_inverse=True)[1].reshape(-1)
    return numbers


def _stratified(strata: Ints, x: Ints, y: Ints, counts: Floats, statistic: Statistic) -> tuple[float, int]:
    """Return T and its degrees of freedom; only cells that occur are visited."""
    with_x, with_y = _numbered(strata, x), _numbered(strata, y)
    cell = _numbered(with_x, y)
    first = np.unique(cell, return_index=True)[1]  # a row of each cell
    observed = np.bincount(cell, counts)
    in_stratum = np.bincount(strata, counts)[strata[first]]
    expected = np.bincount(with_x, counts)[with_x[first]] * np.bincount(with_y, counts)[with_y[first]] / in_stratum
    degrees = int(np.sum((_values_per_stratum(strata, with_x) - 1) * (_values_per_stratum(strata, with_y) - 1)))
    if statistic == "g":
        total = 2.0 * float(np.sum(observed * np.log(observed / expected)))
    else:
        # An empty cell adds its E, and in each stratum the E of all cells add up to its rows.
        empty = float(counts.sum() - expected.sum())
        total = float(np.sum((observed - expected) ** 2 / expected)) + empty
    return max(total, 0.0), degrees


def _values_per_stratum(strata: Ints, within: Ints) -> Ints:
    """Return how many different values occur in each stratum."""
    first = np.unique(within, return_index=True)[1]
    return np.bincount(strata[first])
