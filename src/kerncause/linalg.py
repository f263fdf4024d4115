"""Distances and triangular algebra, with errors that say what happened."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas, lapack
from scipy.spatial.distance import cdist
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
SMALLEST_PIVOT = 1e-14
# Pivots are chosen in blocks of an eighth of those chosen already, among four times as many rows.
BLOCK_SHARE = 8
LARGEST_BLOCK = 32
CANDIDATES = 4
GREEDY = 0.5

# K[rows, columns]; None stands for all rows.
Kernel = Callable[[Ints | None, Ints], Floats]


def squared_distances(points: Floats) -> Floats:
    """Return |x_i - x_j|^2 for the rows of `points` (n, l), as (n, n).

    Differences are taken before squaring, one column at a time: the expansion |x|^2 + |y|^2 - 2xy loses
    the small distances, and equal points would not be at distance exactly 0.
    """
    total = np.zeros((len(points), len(points)))
    for column in points.T:
        total += np.subtract.outer(column, column) ** 2
    return total


def squares_between(left: Floats, right: Floats) -> Floats:
    """Return |l_i - r_j|^2 for the rows of two arrays, (n, l) and (m, l), as (n, m).

    The same numbers as `cdist`, which takes several times as long where there is one column.
    """
    if left.shape[1] == 1:
        difference = left - right[:, 0]
        return np.asarray(np.square(difference, out=difference))
    return np.asarray(cdist(left, right, "sqeuclidean"))


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
        """Return how many of them bring the trace down to `tolerance`: at least one, all if none does."""
        return min(max(int(np.searchsorted(-self.traces, -tolerance)), 1), len(self.rows))


def pivoted_cholesky(diagonal: Floats, kernel: Kernel, tolerance: float, most: int, weights: Floats) -> Pivots:
    """Choose pivots greedily, each where the weighted residual of the diagonal is largest.

    The first few one at a time, later ones in blocks: among the rows with the largest residuals, pivots are
    taken greedily as long as no other row can have more than `1 / GREEDY` times their residual.

    Args:
        diagonal: (n,) the diagonal of K.
        kernel: gives K[rows, columns]; None stands for all rows.
        tolerance: stop when the weighted trace of the residual is no larger.
        most: stop after so many pivots.
        weights: (n,) how often each row counts.
    """
    residual = diagonal.copy()
    factor = np.empty((16, len(diagonal)))
    rows: list[int] = []
    traces = [float(weights @ residual)]
    most = min(most, len(diagonal))
    while len(rows) < most and (not rows or traces[-1] > tolerance) and residual.max() > SMALLEST_PIVOT:
        done = factor[: len(rows)]
        size = min(1 + len(rows) // BLOCK_SHARE, LARGEST_BLOCK, most - len(rows))
        chosen, lower = _block(kernel, done, residual, weights, size)
        if len(rows) + len(chosen) > len(factor):  # grow as needed: most kernels need few pivots
            factor = np.concatenate([factor, np.empty((max(len(factor), len(chosen)), len(diagonal)))])
            done = factor[: len(rows)]
        new = kernel(None, chosen).T - done[:, chosen].T @ done
        new = np.asarray(blas.dtrsm(1.0, lower, new, lower=1))
        factor[len(rows) : len(rows) + len(chosen)] = new
        for row, pivot in zip(new, chosen.tolist(), strict=True):
            residual = np.maximum(residual - row**2, 0.0)
            residual[pivot] = 0.0
            rows.append(pivot)
            traces.append(float(weights @ residual))
    kept = max(int(np.searchsorted(-np.array(traces), -tolerance)), 1)
    return Pivots(np.array(rows[:kept], dtype=np.int64), np.array(traces[: kept + 1]))


def pivots_of_matrix(K: Floats, tolerance: float, most: int) -> tuple[Pivots, Floats]:
    """Choose pivots of a positive semidefinite K (n, n), which is overwritten; return K ~ V V' as well, V (n, m).

    LAPACK's pivoted Cholesky, strictly greedy. It stops by the largest residual, so it may go too far: the last ones
    are left out again.
    """
    whole, largest = float(np.trace(K)), float(np.diagonal(K).max())
    enough = max(min(tolerance / len(K), 0.5 * largest), SMALLEST_PIVOT)
    lower, order, rank, _ = lapack.dpstrf(K.T, tol=enough, lower=1, overwrite_a=1)
    V = np.tril(lower[:, :rank])
    left = np.maximum(whole - np.cumsum(np.einsum("ij,ij->j", V, V)), 0.0)
    kept = min(int(np.sum(left > tolerance)) + 1, most, rank)
    rows = order[:kept].astype(np.int64) - 1
    factor = np.empty((len(K), kept))
    factor[order - 1] = V[:, :kept]
    return Pivots(rows, np.concatenate([[whole], left[:kept]])), factor


def _block(kernel: Kernel, done: Floats, residual: Floats, weights: Floats, size: int) -> tuple[Ints, Floats]:
    """Choose up to `size` pivots, and return the Cholesky factor of the residual of K among them."""
    weighted = weights * residual
    if size == 1:
        pivot = int(np.argmax(weighted))
        return np.array([pivot]), np.sqrt(residual[[pivot]])[:, None]
    many = min(CANDIDATES * size, len(weighted) - 1)
    order = np.argpartition(-weighted, many)
    candidates, others = order[:many], float(weighted[order[many]])
    among = kernel(candidates, candidates) - done[:, candidates].T @ done[:, candidates]
    left, scale = np.diagonal(among).copy(), weights[candidates]
    factor = np.empty((size, many))
    places: list[int] = []
    while len(places) < size:
        place = int(np.argmax(scale * left))
        if places and (scale[place] * left[place] < GREEDY * others or left[place] <= SMALLEST_PIVOT):
            break
        before = factor[: len(places)]
        row = (among[place] - before[:, place] @ before) / np.sqrt(left[place])
        factor[len(places)] = row
        left = np.maximum(left - row**2, 0.0)
        left[place] = 0.0
        places.append(place)
    return candidates[places], np.tril(factor[: len(places), places].T)


def stacked_squared_distances(variables: Sequence[Floats], size: int) -> Floats:
    """Return the squared distances of several variables, (k, m, m), for k arrays of m = `size` rows."""
    stack = np.empty((len(variables), size, size))
    for k, points in enumerate(variables):
        stack[k] = squared_distances(points)
    return stack
