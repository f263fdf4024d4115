"""The kernel test of conditional independence (KCI) of Zhang, Peters, Janzing and Schoelkopf (UAI 2011).

Kernels are Gaussian, on standardised columns, centred with H = I - 11'/n; n rows.

    no given variables:   T = 1/n tr(K_X K_Y)                                                (their Theorem 4)
      under independence  T ~ 1/n^2 sum_ij a_i b_j Z_ij^2,      a, b the eigenvalues of K_X and K_Y
      mean 1/n^2 tr K_X tr K_Y,        variance 2/n^4 tr K_X^2 tr K_Y^2

    given Z:              R = e (K_Z + e I)^-1,  K_X|Z = R K_(X,Z) R,  K_Y|Z = R K_Y R       (their Theorem 3)
                          T = 1/n tr(K_X|Z K_Y|Z)
      under independence  T ~ 1/n sum_k c_k Z_k^2,              c the eigenvalues of M = K_X|Z o K_Y|Z
      mean 1/n tr M,                   variance 2/n^2 tr M^2

with Z_k independent standard normals. `null="gamma"` compares T with the gamma distribution of that mean and
variance, `null="spectral"` with the weighted sum itself, integrated numerically instead of simulated. The paper
writes w w' for M: the rows of w are all products of a feature of X|Z with one of Y|Z, so that w w' is the elementwise
product of the two kernels.

No n x n matrix is inverted, decomposed whole or multiplied with another. K_X ~ A A', K_Y ~ B B', K_Z ~ V V' are
projected on pivots; with centred features

    R A = A - V (V'V + e I)^-1 V'A          T = 1/n |(R A)'(R B)|^2          tr M = sum_i |(R A)_i|^2 |(R B)_i|^2

and tr M^2 = sum_ij M_ij^2 comes from blocks of M or from the r_x r_y products of features, whichever costs less:
O(n r^2) and at most O(n^2 r) operations. Rows that are equal in all variables are kept once and counted.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincc

from kerncause.data import Dataset, Points
from kerncause.errors import ComputationError, OptionError
from kerncause.independence.base import Query, TestResult
from kerncause.independence.projected import SMALLEST_TRACE, Regression, residual_of
from kerncause.independence.table import TableTest
from kerncause.independence.weighted_chi_squared import weighted_chi_squared_survival
from kerncause.kernels import median_heuristic
from kerncause.linalg import one_blas_thread
from kerncause.regression import Problem
from kerncause.regression.compressed import joint_rows
from kerncause.regression.factors import Inputs, side_by_side
from kerncause.text import quoted

Floats = npt.NDArray[np.float64]
Null = Literal["gamma", "spectral"]
Rule = Literal["median", "empirical"]

# The spectral null needs the eigenvalues of a matrix of at most this size.
MOST_EIGENVALUES = 6000
# Entries of a block when M is gone through piece by piece.
BLOCK_ENTRIES = 2**18
# An elementwise operation on a block costs about as much as so many columns of a matrix product.
ELEMENTWISE = 8


class KCI(TableTest):
    """The KCI test of a Dataset, for variables of all kinds.

    X and Y can change places: the one that comes first in the canonical order is extended by Z.

    Args:
        data: the table.
        null: `gamma`, or `spectral` for the distribution itself.
        bandwidth: `median` (twice the median of the positive distances, per variable), `empirical` (the authors'
            rule by number of rows), one positive number for all variables, or a number for each name.
        extension: Z enters K_(X,Z) times this: 1 is the formula, 0.5 is what the authors' program does.
        ridge: e, the regularisation of the regression on Z.
        tolerance: how much the projections may leave out, see `TestResult.missed`; p-values err by less.
    """

    name = "kci"

    def __init__(
        self,
        data: Dataset,
        null: Null = "gamma",
        bandwidth: Rule | float | Mapping[str, float] = "median",
        *,
        extension: float = 1.0,
        ridge: float = 1e-3,
        tolerance: float = 5e-4,
    ) -> None:
        super().__init__(data, null=null, bandwidth=bandwidth, extension=extension, ridge=ridge, tolerance=tolerance)
        if null not in get_args(Null):
            raise OptionError(f"null cannot be {quoted(null)}: choose gamma or spectral")
        _refuse_odd_bandwidth(bandwidth, data)
        for name, number in {"extension": extension, "ridge": ridge, "tolerance": tolerance}.items():
            if not _is_positive(number):
                raise OptionError(f"{name} cannot be {number}: give a positive number")

    def _answer(self, rows: Dataset, query: Query) -> TestResult:
        """Test whether x and y are independent given some variables; the statistic is T."""
        with one_blas_thread():
            sides = self._sides(rows, query)
            compared = _conditional(sides) if query.given else _unconditional(sides)
            p_value = compared.gamma() if self._options["null"] == "gamma" else compared.spectral()
        return TestResult(p_value, compared.statistic, self.name, rows.n_rows, rank=sides.rank, missed=sides.missed)

    def _sides(self, rows: Dataset, query: Query) -> "_Sides":
        """Project the kernels, and regress those of x and y on that of the given variables."""
        x, y, *given = (rows.points(name) for name in query[:2] + query.given)
        s_x, s_y, s_z = self._bandwidths(rows, query)
        index, counts = joint_rows(Problem(x, (y, *given)))
        root = np.sqrt(counts)
        tolerance, Z = self._options["tolerance"], None
        if given:
            Z = Regression.on(_inputs(given, index, root), s_z, self._options["ridge"], tolerance)
        extended = np.concatenate([s_x, s_z / self._options["extension"]])
        X = residual_of(_inputs([x, *given], index, root), extended, Z, tolerance)
        Y = residual_of(_inputs([y], index, root), s_y, Z, tolerance)
        rank = max(X.rank, Y.rank, Z.V.shape[1] if Z else 0)
        return _Sides(X.features, Y.features, root, rank, max(X.missed, Y.missed, Z.missed if Z else 0.0))

    def _bandwidths(self, rows: Dataset, query: Query) -> tuple[Floats, Floats, Floats]:
        """Return s_x (1,), s_y (1,) and s_z (k,)."""
        rule = self._options["bandwidth"]
        names = (query.x, query.y, *query.given)
        if isinstance(rule, Mapping):
            values = [float(rule[name]) for name in names]
        elif rule == "median":
            values = [median_heuristic(rows.points(name)) for name in names]
        elif rule == "empirical":
            values = _empirical([rows.points(name) for name in names], rows.n_rows)
        else:
            values = [float(rule)] * len(names)
        every = np.array(values)
        return every[:1], every[1:2], every[2:]


def _empirical(variables: Sequence[Points], n: int) -> list[float]:
    """Return the bandwidths of the authors' program: by the number of rows, and of columns of Z (or of its own)."""
    size = 0 if n < 200 else 1 if n < 1200 else 2
    if len(variables) == 2:
        return [(0.8, 0.5, 0.3)[size] / math.sqrt(points.values.shape[1]) for points in variables]
    columns = sum(points.values.shape[1] for points in variables[2:])
    return [(1.2, 0.7, 0.4)[size] * math.sqrt(columns)] * len(variables)


def _inputs(variables: Sequence[Points], rows: npt.NDArray[np.int64], root_weights: Floats) -> Inputs:
    """Return some variables side by side on the distinct rows."""
    return Inputs(*side_by_side(variables, rows), root_weights)


@dataclass(frozen=True, eq=False)
class _Sides:
    """Both sides after regression on Z, X (N, r_x) and Y (N, r_y), rows scaled by root_weights (N,)."""

    X: Floats
    Y: Floats
    root_weights: Floats
    rank: int
    missed: float

    @property
    def n(self) -> float:
        """Rows of the table."""
        return float(self.root_weights @ self.root_weights)


@dataclass(frozen=True, eq=False)
class _Compared:
    """A statistic and what it is under independence: its mean, its variance, and the weights of its chi-squares."""

    statistic: float
    mean: float
    variance: float
    weights: Callable[[], Floats]

    def gamma(self) -> float:
        """Return the p-value under the gamma distribution of the same mean and variance."""
        if self.mean <= 0.0 or self.variance <= 0.0:
            return 1.0
        return float(gammaincc(self.mean**2 / self.variance, self.statistic * self.mean / self.variance))

    def spectral(self) -> float:
        """Return the p-value under the weighted sum of chi-squares."""
        if self.mean <= 0.0:
            return 1.0
        return weighted_chi_squared_survival(self.weights(), self.statistic)


def _statistic(sides: _Sides) -> float:
    return float(np.sum((sides.X.T @ sides.Y) ** 2)) / sides.n


def _unconditional(sides: _Sides) -> _Compared:
    n = sides.n
    a, b = sides.X.T @ sides.X, sides.Y.T @ sides.Y

    def weights() -> Floats:
        return _positive(np.outer(np.linalg.eigvalsh(a), np.linalg.eigvalsh(b)).ravel() / n**2)

    mean = float(np.trace(a) * np.trace(b)) / n**2
    variance = 2.0 * float(np.sum(a**2) * np.sum(b**2)) / n**4
    return _Compared(_statistic(sides), mean, variance, weights)


def _conditional(sides: _Sides) -> _Compared:
    # M_ij counts sqrt(w_i w_j) times, w the weights: the scaling of one side does that, so the other has none.
    n, A, B = sides.n, sides.X, sides.Y / sides.root_weights[:, None]

    def weights() -> Floats:
        return _positive(_eigenvalues(A, B) / n)

    mean = float(np.einsum("ij,ij->i", A, A) @ np.einsum("ij,ij->i", B, B)) / n
    return _Compared(_statistic(sides), mean, 2.0 * square_sum(A, B) / n**2, weights)


def square_sum(A: Floats, B: Floats) -> float:
    """Return the sum over i, j of ((AA')_ij (BB')_ij)^2 for A (N, a) and B (N, b)."""
    N, a, b = len(A), A.shape[1], B.shape[1]
    if (a * b) ** 2 < N * (a + b + ELEMENTWISE):
        products = _gram_of_products(A, B)
        return float(np.vdot(products, products))
    total = 0.0
    step = max(1, BLOCK_ENTRIES // N)
    for start in range(0, N, step):
        end = min(start + step, N)
        block = A[start:end] @ A[start:].T
        block *= B[start:end] @ B[start:].T
        square, later = block[:, : end - start], block[:, end - start :]
        total += float(np.vdot(square, square)) + 2.0 * float(np.einsum("ij,ij->", later, later))
    return total


def _gram_of_products(A: Floats, B: Floats) -> Floats:
    """Return W'W (ab, ab) for the products W of every column of A with every column of B."""
    size = A.shape[1] * B.shape[1]
    total = np.zeros((size, size))
    step = max(1, BLOCK_ENTRIES // size)
    for start in range(0, len(A), step):
        rows = slice(start, start + step)
        W = (A[rows, :, None] * B[rows, None, :]).reshape(-1, size)
        total += W.T @ W
    return total


def _eigenvalues(A: Floats, B: Floats) -> Floats:
    """Return the eigenvalues of (AA') o (BB') that are not zero, and perhaps some that are."""
    size = A.shape[1] * B.shape[1]
    if min(size, len(A)) > MOST_EIGENVALUES:
        raise ComputationError(
            f"the spectral null would need {min(size, len(A)):,} eigenvalues: choose the gamma null (null=gamma)"
        )
    M = _gram_of_products(A, B) if size <= len(A) else (A @ A.T) * (B @ B.T)
    every: Floats = np.linalg.eigvalsh(M).astype(np.float64)
    return every


def _positive(eigenvalues: Floats) -> Floats:
    """Leave out those that are rounding."""
    kept: Floats = eigenvalues[eigenvalues > SMALLEST_TRACE * eigenvalues.max()]
    return kept


def _refuse_odd_bandwidth(bandwidth: object, data: Dataset) -> None:
    if isinstance(bandwidth, Mapping):
        for name in bandwidth:
            data.variable(str(name))
        for name in data.names:
            if not _is_positive(bandwidth.get(name)):
                raise OptionError(
                    f"the bandwidth of {quoted(name)} cannot be {quoted(bandwidth.get(name))}: "
                    "give a positive number for each variable"
                )
    elif bandwidth not in get_args(Rule) and not _is_positive(bandwidth):
        raise OptionError(
            f"bandwidth cannot be {quoted(bandwidth)}: choose median or empirical, or give a positive number"
        )


def _is_positive(number: object) -> bool:
    return isinstance(number, int | float | np.number) and not isinstance(number, bool) and 0 < float(number) < math.inf
