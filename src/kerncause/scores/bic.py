"""The Bayesian information criterion of a linear Gaussian model, for users who expect it and as an oracle.

    S(X, PA) = -n/2 (l log 2pi + log|E'E / n| + l) - w d/2 log n           E = X - [1, P] B, least squares

with X (n, l), d = l (1 + rank of P) + l (l + 1)/2 free parameters and w the weight of the penalty (1: BIC). For
scalar variables all DAGs of a class score the same. Two categories are a number; more have no Gaussian model.
"""

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from kerncause.data import Dataset, Kind
from kerncause.errors import DataError, OptionError
from kerncause.linalg import one_blas_thread
from kerncause.scores.base import LocalFit
from kerncause.scores.table import TableScore, nothing_to_explain
from kerncause.text import quoted

Floats = npt.NDArray[np.float64]

# Variances are those of standardised columns; what is explained to more than this is explained exactly.
LEAST_VARIANCE = 1e-12
SMALLEST_SHARE = 1e-10


class BICScore(TableScore):
    """BIC of linear Gaussian regressions.

    Args:
        data: the table.
        penalty: the weight of d/2 log n.
    """

    def __init__(self, data: Dataset, penalty: float = 1.0) -> None:
        if not 0 <= penalty < np.inf:
            raise OptionError(f"penalty cannot be {penalty}: give a number of 0 or more; 1 is BIC")
        super().__init__(data, penalty=penalty)
        for variable in data.variables:
            if variable.kind is Kind.CATEGORICAL and len(variable.levels or ()) > 2:
                raise DataError(
                    f"bic cannot take {quoted(variable.name)}, whose {len(variable.levels or ())} categories have no "
                    "Gaussian model: choose --score learned, or bdeu if all variables are discrete"
                )

    def fit(self, target: str, parents: Collection[str] = ()) -> LocalFit:
        """Return BIC of one regression."""
        names, data = self._rows_for(target, parents)
        if (nothing := nothing_to_explain(data, target)) is not None:
            return nothing
        X = data.points(target).values
        columns = [data.points(name).values for name in names]
        roots = np.ones(len(X)) if data.weights is None else np.sqrt(data.weights)
        design = np.hstack([np.ones((len(X), 1)), *columns]) * roots[:, None]
        n, width = data.n_rows, X.shape[1]
        with one_blas_thread():
            rank, E = _residuals(design, X * roots[:, None])
        variances = np.maximum(np.linalg.eigvalsh(E.T @ E / n), LEAST_VARIANCE)
        likelihood = -0.5 * n * (width * np.log(2.0 * np.pi) + float(np.log(variances).sum()) + width)
        free = width * rank + width * (width + 1) // 2
        value = likelihood - self._options["penalty"] * 0.5 * free * np.log(n)
        return LocalFit(value=float(value), engine="least squares", rows=n)


def _residuals(design: Floats, X: Floats) -> tuple[int, Floats]:
    """Return the rank of the design and what least squares leaves of X, through an orthonormal basis."""
    basis, sizes, _ = np.linalg.svd(design, full_matrices=False)
    kept = basis[:, sizes > SMALLEST_SHARE * sizes[0]]
    E: Floats = X - kept @ (kept.T @ X)
    return kept.shape[1], E
