"""The compressed engine: exact, and independent of n once equal rows have been counted.

Let u be the number of distinct parent rows (counts c), v that of distinct responses (counts d), N the
(u, v) contingency table, K_u the kernel on the distinct parent rows, C = diag(c), D = diag(d), and y (v, c') the
factor of the response with Y Y' = P y y' P' (for K_X that is k D^1/2, k the kernel on the distinct values):

    R = C^1/2 K_u C^1/2        Q = (s_e^2 I + R)^-1        Nt = C^-1/2 N        B = Nt y        H = Q B

K_t acts on sums over equal rows through R, and as s_e^2 on everything orthogonal to them. With P the (n, v)
indicator of the response and T = P' K_t^-1 P = (D - Nt'Nt)/s_e^2 + Nt' Q Nt, everything follows from T y:

    T y                   = (D y - Nt' B) / s_e^2 + Nt' H
    tr(Y' K_t^-1 Y)       = sum(T y o y)
    log|K_t|              = (n - u) log s_e^2 + log|s_e^2 I + R|
    dL/dR                 = 1/2 (H H' - q Q)
    dL/d(s_e^2)           = tr(dL/dR) + sum((D y - Nt' B) o y) / (2 s_e^4) - q (n - u) / (2 s_e^2)
    dL/dlog s_k           = sum(dL/dR o R o D_k) / s_k^2                 (or `kernels.shape`)
    dL/dlog r             = -sum(T y o dy/dlog r)

One evaluation costs O(u^3 + u^2 v + u v^2): a million rows cost what a thousand do while u and v stay small.
For small noise this is also the more accurate engine, because nothing of size n has to be factored.
"""

import math
from collections.abc import Sequence
from typing import Self

import numpy as np
import numpy.typing as npt

from kerncause.data import Points, occurrences
from kerncause.kernels import scatter
from kerncause.linalg import Cholesky, shifted
from kerncause.regression.base import LOG_2PI, Evaluation, ExactEngine, Parameters, Problem
from kerncause.regression.factors import Inputs, side_by_side

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# A table of counts with at most this many cells per row of data is cheaper to fill than codes are to sort.
CELLS_PER_ROW = 4
# Operations per kernel entry (exponential, products, memory), against one multiply-add.
COST_PER_ENTRY = 100.0


class CompressedEngine(ExactEngine):
    """L on distinct rows and their counts."""

    name = "compressed"

    def __init__(self, problem: Problem) -> None:
        self._response_codes = problem.response.codes
        self._parent_codes, representatives = distinct_parents(problem)
        n, u, v = problem.n, len(representatives), len(problem.response.distinct)
        cells = occurrences(self._parent_codes * v + self._response_codes, problem.response.weights, u * v)
        table = cells.reshape(u, v).astype(np.float64)
        self._n, self._outputs = n, problem.outputs
        self._response = problem.model.grouped(problem.response)
        self._root_counts = np.sqrt(table.sum(axis=1))
        self._count_products = np.outer(self._root_counts, self._root_counts)
        self._response_counts = problem.response.counts.astype(np.float64)
        self._Nt = table / self._root_counts[:, None]
        points, owner = side_by_side(problem.parents, representatives)
        self._parents = Inputs(points, owner, self._root_counts, problem.shape)

    @classmethod
    def of(cls, problem: Problem, start: Parameters, tolerance: float) -> Self:
        """Build the engine; being exact, it needs neither a place to start nor a tolerance."""
        return cls(problem)

    @staticmethod
    def cost(problem: Problem, start: Parameters, tolerance: float) -> float:
        """Floating-point operations of one evaluation, roughly (an upper bound on u is used)."""
        u, v = distinct_rows_at_most(problem), len(problem.response.distinct)
        return 2.0 * u**3 + 4.0 * u * u * v + 4.0 * u * v * v + COST_PER_ENTRY * (u * u + v * v)

    @staticmethod
    def memory(problem: Problem, start: Parameters) -> float:
        """Bytes held at the peak of one evaluation."""
        return compressed_bytes(distinct_rows_at_most(problem), len(problem.response.distinct), len(problem.parents))

    def evaluate(self, parameters: Parameters) -> Evaluation:
        """Return L and its gradient."""
        n, u, noise2 = self._n, len(self._root_counts), parameters.noise**2
        q = self._outputs
        y, dy = self._response.factor(parameters.response_bandwidth)
        (R, slope), points = self._weighted_parent_kernel(parameters.parents), self._parents.points
        factor = _factor(R, noise2)
        B = self._Nt @ y
        H = factor.solve(B)
        within = self._response_counts[:, None] * y - self._Nt.T @ B  # (D - Nt'Nt) y
        Ty = within / noise2 + self._Nt.T @ H
        dR = 0.5 * (H @ H.T - q * factor.inverse())
        d_noise2 = dR.trace() + np.vdot(within, y) / (2.0 * noise2**2) - q * (n - u) / (2.0 * noise2)
        log_determinant = (n - u) * math.log(noise2) + factor.log_determinant
        return Evaluation(
            value=-0.5 * float(np.vdot(Ty, y)) - 0.5 * q * log_determinant - 0.5 * n * q * LOG_2PI,
            response_bandwidth=-float(np.vdot(Ty, dy)),
            parents=self._parents.gradient(scatter(dR * slope, points, points), parameters.parents),
            noise=2.0 * noise2 * float(d_noise2),
        )

    def residuals(self, parameters: Parameters) -> Floats:
        """Return Y - K_PA K_t^-1 Y, (n, q), for rows that stand for themselves only.

        K_PA = P_u K_u P_u' and P_u' K_t^-1 = C^1/2 Q C^-1/2 P_u', so the fitted values on the distinct rows
        are K_u C^1/2 Q Nt y with y the outputs on distinct values.
        """
        y = self._response.outputs(parameters.response_bandwidth)
        R, _ = self._weighted_parent_kernel(parameters.parents)
        H = _factor(R, parameters.noise**2).solve(self._Nt @ y)
        fitted = (R @ H) / self._root_counts[:, None]
        rows: Floats = y[self._response_codes] - fitted[self._parent_codes]
        return rows

    def _weighted_parent_kernel(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Return R = C^1/2 K_u C^1/2, and the same of the slope."""
        K, slope = self._parents.matrix_and_slope(parameters)
        R = K * self._count_products
        return R, R if slope is K else slope * self._count_products


def compressed_bytes(u: int, v: int, parents: int) -> float:
    """Return the bytes held at the peak of one evaluation."""
    return 8.0 * (u * u * (parents + 5.0) + 6.0 * v * v + 4.0 * u * v)


def distinct_parents(problem: Problem) -> tuple[Ints, Ints]:
    """Return for each row the number of its combination of parents, (n,), and one row of each, (u,)."""
    return _distinct_rows(problem.parents, problem.rows)


def distinct_rows_at_most(problem: Problem) -> int:
    """Return an upper bound on u that needs no pass over the data."""
    return _combinations_at_most(problem.parents, problem.rows)


def joint_row_count(problem: Problem) -> int:
    """Return an upper bound on the number of different rows of response and parents."""
    return _combinations_at_most((*problem.parents, problem.response), problem.rows)


def _combinations_at_most(variables: Sequence[Points], n: int) -> int:
    product = 1
    for points in variables:
        product *= len(points.distinct)
        if product >= n:
            return n
    return product


def combination_count(variables: Sequence[Points], n: int) -> int:
    """Return how many combinations of the values of some variables occur in n rows."""
    return len(_distinct_rows(variables, n)[1])


def joint_rows(problem: Problem) -> tuple[Ints, Floats]:
    """Return one row for each combination of response and parents that occurs, and how often it does."""
    every = (*problem.parents, problem.response)
    if any(len(points.distinct) == problem.n for points in every):
        return np.arange(problem.n), np.ones(problem.n)
    number, rows = _distinct_rows(every, problem.rows)
    return rows, occurrences(number, problem.response.weights, len(rows)).astype(np.float64)


def _factor(R: Floats, noise2: float) -> Cholesky:
    return Cholesky.of(shifted(R, noise2), "the kernel matrix of the distinct parent rows with its noise")


def _distinct_rows(variables: Sequence[Points], n: int) -> tuple[Ints, Ints]:
    """Return for each of n rows the number of its combination of values (n,), and one row of each (u,).

    The combinations are numbered in the order of their codes, so the order of the rows does not enter.
    """
    codes = np.zeros(n, dtype=np.int64)
    size = 1
    for points in variables:
        codes, size = codes * len(points.distinct) + points.codes, size * len(points.distinct)
        if size > CELLS_PER_ROW * n:
            codes, size = _renumbered(codes)
    return _renumbered_with_rows(codes, size)


def _renumbered(codes: Ints) -> tuple[Ints, int]:
    values, inverse = np.unique(codes, return_inverse=True)
    return inverse.reshape(-1), len(values)


def _renumbered_with_rows(codes: Ints, size: int) -> tuple[Ints, Ints]:
    """Number the codes that occur, in increasing order, by counting instead of sorting."""
    a_row = np.full(size, -1, dtype=np.int64)
    a_row[codes] = np.arange(len(codes))
    occurs = a_row >= 0
    number = np.cumsum(occurs) - 1
    return number[codes], a_row[occurs]
