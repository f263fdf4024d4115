"""Distances and triangular algebra, with errors that say what happened."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import lapack
from threadpoolctl import ThreadpoolController

from kerncause.errors import ComputationError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_blas = ThreadpoolController()


def one_blas_thread() -> AbstractContextManager[object]:
    """Hold linear algebra to one thread: on matrices this small two are slower, and sums would change."""
    limited: AbstractContextManager[object] = _blas.limit(limits=1)
    return limited


# Below this a pivot's residual is rounding, not information.
SMALLEST_PIVOT = 1e-13


def squared_distances(points: Floats) -> Floats:
    """Return |x_i - x_j|^2 for the rows of `points` (n, l), as (n, n).

    Differences are taken before squaring, one column at a time: the expansion |x|^2 + |y|^2 - 2xy loses
    the small distances, and equal points would not be at distance exactly 0.
    """
    total = np.zeros((len(points), len(points)))
    for column in points.T:
        total += np.subtract.outer(column, column) ** 2
    return total


@dataclass(frozen=True, eq=False)
class Cholesky:
    """The factor L of a symmetric positive definite A = L L'."""

    lower: Floats

    @classmethod
    def of(cls, matrix: Floats, what: str) -> "Cholesky":
        """Factor `matrix`; `what` names it in the error if it is not positive definite."""
        lower, info = lapack.dpotrf(matrix, lower=1, clean=1, overwrite_a=0)
        if info != 0:
            raise ComputationError(
                f"{what} is not positive definite in double precision: raise the lower bound of the noise"
            )
        return cls(lower)

    @cached_property
    def log_determinant(self) -> float:
        """log|A|."""
        return 2.0 * float(np.log(np.diagonal(self.lower)).sum())

    def solve(self, right: Floats) -> Floats:
        """Return A^-1 B for B of shape (n, m)."""
        solution: Floats = lapack.dpotrs(self.lower, right, lower=1)[0]
        return solution

    def inverse_lower(self) -> Floats:
        """Return L^-1."""
        inverse: Floats = lapack.dtrtri(self.lower, lower=1)[0]
        return inverse

    def lower_inverse(self) -> Floats:
        """Return the lower triangle of A^-1; the upper one is zero."""
        inverse: Floats = lapack.dpotri(self.lower, lower=1)[0]
        return inverse

    def inverse(self) -> Floats:
        """Return A^-1, both triangles filled."""
        lower = self.lower_inverse()
        inverse: Floats = lower + lower.T
        diagonal = np.einsum("ii->i", inverse)  # a view
        diagonal *= 0.5
        return inverse


def shifted(matrix: Floats, amount: float) -> Floats:
    """Return A + amount I."""
    result = matrix.copy()
    diagonal = np.einsum("ii->i", result)  # a view
    diagonal += amount
    return result


@dataclass(frozen=True, eq=False)
class Pivots:
    """Rows on which a positive semidefinite K is projected, the most telling first.

    Attributes:
        rows: (m,) indices.
        traces: (m + 1,) the trace of K - (its projection on the first j rows), for j = 0..m.
    """

    rows: Ints
    traces: Floats

    def needed(self, tolerance: float) -> int:
        """Return how many of them bring the trace down to `tolerance` (all, if none does)."""
        return min(int(np.searchsorted(-self.traces, -tolerance)), len(self.rows))


def pivoted_cholesky(
    diagonal: Floats, column: Callable[[int], Floats], tolerance: float, most: int, weights: Floats
) -> Pivots:
    """Choose pivots greedily, each where the weighted residual of the diagonal is largest.

    Args:
        diagonal: (n,) the diagonal of K.
        column: gives column i of K, (n,).
        tolerance: stop when the weighted trace of the residual is no larger.
        most: stop after so many pivots.
        weights: (n,) how often each row counts.
    """
    residual = diagonal.copy()
    factor = np.empty((16, len(diagonal)))
    rows: list[int] = []
    traces = [float(weights @ residual)]
    while len(rows) < min(most, len(diagonal)) and traces[-1] > tolerance:
        pivot = int(np.argmax(weights * residual))
        if residual[pivot] <= SMALLEST_PIVOT:
            break
        if len(rows) == len(factor):  # grow as needed: most kernels need few pivots
            factor = np.concatenate([factor, np.empty_like(factor)])
        done = factor[: len(rows)]
        row = (column(pivot) - done[:, pivot] @ done) / np.sqrt(residual[pivot])
        factor[len(rows)] = row
        residual = np.maximum(residual - row**2, 0.0)
        residual[pivot] = 0.0
        rows.append(pivot)
        traces.append(float(weights @ residual))
    return Pivots(np.array(rows, dtype=np.int64), np.array(traces))


def stacked_squared_distances(variables: Sequence[Floats], size: int) -> Floats:
    """Return the squared distances of several variables, (k, m, m), for k arrays of m = `size` rows."""
    stack = np.empty((len(variables), size, size))
    for k, points in enumerate(variables):
        stack[k] = squared_distances(points)
    return stack
