"""BDeu: the marginal likelihood of a discrete table under a uniform Dirichlet prior (Heckerman et al. 1995).

    S(X, PA) = sum_j [ lgamma(a/q) - lgamma(a/q + N_j) ] + sum_jk [ lgamma(a/(q r) + N_jk) - lgamma(a/(q r)) ]

with N_jk the rows in which the parents take combination j of q and X its value k of r, N_j their sum over k, and a the
equivalent sample size. r and q count the values that occur anywhere in the table, so that leaving out rows with gaps
does not change the prior. All DAGs of a class score the same.
"""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from kerncause.data import Dataset, Kind
from kerncause.errors import DataError, OptionError
from kerncause.scores.base import LocalFit
from kerncause.scores.table import TableScore, nothing_to_explain
from kerncause.text import quoted

Ints = npt.NDArray[np.int64]


class BDeuScore(TableScore):
    """BDeu of a table of ordinal and categorical variables.

    Args:
        data: the table.
        sample_size: the equivalent sample size a; the larger, the more edges.
        sizes: how many values each variable has; by default those that occur in the table.
    """

    def __init__(self, data: Dataset, sample_size: float = 1.0, sizes: Mapping[str, int] | None = None) -> None:
        if not 0 < sample_size < np.inf:
            raise OptionError(f"sample_size cannot be {sample_size}: give a positive number, such as 1")
        if sizes is not None and not isinstance(sizes, Mapping):
            raise OptionError(
                f"sizes cannot be {quoted(sizes)}: give the number of values of each variable by its name"
            )
        super().__init__(data, sample_size=sample_size)
        for variable in data.variables:
            if variable.kind in (Kind.CONTINUOUS, Kind.VECTOR):
                raise DataError(
                    f"bdeu cannot take {quoted(variable.name)}, which is {variable.kind.value}: "
                    "choose --score learned, or round it to few values"
                )
        self._options["sizes"] = {**_sizes(data), **(sizes or {})}

    def fit(self, target: str, parents: Collection[str] = ()) -> LocalFit:
        """Return BDeu of one variable."""
        names, data = self._rows_for(target, parents)
        if (nothing := nothing_to_explain(data, target)) is not None:
            return nothing
        sizes, a = self._options["sizes"], self._options["sample_size"]
        r, q = float(sizes[target]), float(np.prod([float(sizes[name]) for name in names]))
        weights = np.ones(len(data.codes)) if data.weights is None else data.weights.astype(np.float64)
        j = _combinations([data.points(name).codes for name in names], len(weights))
        jk = _combinations([j, data.points(target).codes], len(weights))
        N_j, N_jk = np.bincount(j, weights), np.bincount(jk, weights)
        of_parents = np.sum(gammaln(a / q) - gammaln(a / q + N_j))
        of_values = np.sum(gammaln(a / (q * r) + N_jk) - gammaln(a / (q * r)))
        return LocalFit(value=float(of_parents + of_values), engine="counts", rows=data.n_rows)


def _sizes(data: Dataset) -> dict[str, int]:
    """Return how many values of each variable occur."""
    sizes: dict[str, int] = {}
    for name in data.names:
        sizes[name] = len(data.complete_for([name]).points(name).distinct)
    return sizes


def _combinations(codes: "list[Ints]", rows: int) -> "npt.NDArray[Any]":
    """Number the combinations of codes that occur, from 0."""
    number = np.zeros(rows, dtype=np.int64)
    for column in codes:
        _, number = np.unique(number * (int(column.max()) + 1) + column, return_inverse=True)
    return number.reshape(-1)
