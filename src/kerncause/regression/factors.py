"""Kernels projected on a few rows, the pivots (Nystrom), and what the chain rule needs of them.

With K_mm the kernel among the pivots, K_nm that of all rows with them, and K_mm = L L',

    K ~ V V',   V = K_nm L^-T                                                    V (n, m)

Rows that are equal in response and parents are kept once, scaled by the root of their count: V'V is then the
same sum. For L(V V') with G = dL/dV L^-1 the derivatives by the kernels are

    dL/dK_nm = G              dL/dK_mm = -1/2 L^-T V' G

each contracted over the whole matrix as if its entries were independent, to the scatter of all pairs
(`kerncause.kernels.shape`): K o D is never formed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kerncause.data import Points
from kerncause.errors import ComputationError
from kerncause.kernels import ELLIPSOID, Shape, scatter
from kerncause.linalg import Cholesky, Pivots, pivoted_cholesky, pivots_of_matrix, shifted, squares_between

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Added to the diagonal of K_mm: pivots chosen at a short bandwidth make it singular at a long one. A constant
# keeps L smooth in the parameters, and V V' stays below K, so the certificate holds.
JITTER = 1e-10
# Too much for a certificate, which is not moved away from where its pivots were chosen; raised if it must be.
LEAST_JITTER = 1e-13

# Pivots are looked for among this many rows, then among those that these capture worst as well.
SELECT_ROWS = 4000
WORST_ROWS = 1000
SELECTIONS = 3
# Which those are is seen on so many rows; it is looked for again while that still adds pivots.
CHECK_ROWS = 20_000
WORTHWHILE = 1.02
# Pivots chosen on some rows are held to a little more, for the rows they were not chosen on.
SELECTION_MARGIN = 0.7

# Of so few rows the kernel is written out: choosing pivots is then several times faster.
WRITTEN_OUT = 400

# Rows are worked through in pieces that fit a cache.
CHUNK_ROWS = 4096


@dataclass(frozen=True, eq=False)
class Basis:
    """One kernel at some parameters, to be projected on its pivots.

    Attributes:
        inputs: what the kernel is of.
        parameters: those of its shape.
        at: (m, d) the pivots.
        scaled: (m, c) their coordinates.
        K_mm: (m, m).
        slope: (m, m) -2 k'(t) of the pivots, for a Gaussian K_mm itself.
        inverse: (m, m) L^-1.
    """

    inputs: "Inputs"
    parameters: Floats
    at: Floats
    scaled: Floats
    K_mm: Floats
    slope: Floats
    inverse: Floats

    def kernel(self, rows: slice) -> Floats:
        """Return K_nm on some rows, scaled by the root of their weights."""
        return self.kernel_and_slope(rows)[0]

    def kernel_and_slope(self, rows: slice) -> tuple[Floats, Floats]:
        """Return K_nm and its slope (for a Gaussian the same array), scaled by the root of their weights."""
        inputs = self.inputs
        left = inputs.scaled(self.parameters, inputs.points[rows])
        K_nm, slope = inputs.shape.profile.both(squares_between(left, self.scaled))
        K_nm *= inputs.root_weights[rows, None]
        if slope is not K_nm:
            slope *= inputs.root_weights[rows, None]
        return K_nm, slope

    def features(self, K_nm: Floats) -> Floats:
        """Return V on the rows of K_nm."""
        V: Floats = K_nm @ self.inverse.T
        return V

    def captured(self, rows: Ints | None = None) -> Floats:
        """Return the diagonal of V V' without the weights, on some rows or all."""
        inputs = (
            self.inputs
            if rows is None
            else replace(self.inputs, points=self.inputs.points[rows], root_weights=self.inputs.root_weights[rows])
        )
        basis, parts = replace(self, inputs=inputs), []
        for piece in inputs.chunks():
            V = basis.features(basis.kernel(piece))
            parts.append(np.einsum("ij,ij->i", V, V))
        return np.concatenate(parts) / inputs.root_weights**2

    def scatter(self, M: Floats, rows: slice | None) -> Floats:
        """Return the sum of M_ij D_ij D_ij', (d, d), D_ij from a pivot j to a row i (None: to a pivot)."""
        return scatter(M, self.at if rows is None else self.inputs.points[rows], self.at)


@dataclass(frozen=True, eq=False)
class Inputs:
    """One side of the regression, response or parents, on the distinct rows.

    Attributes:
        points: (N, d) the columns of its variables side by side.
        owner: (d,) which variable each column belongs to.
        root_weights: (N,) root of how often each row occurs.
        shape: along what rows are compared.
    """

    points: Floats
    owner: Ints
    root_weights: Floats
    shape: Shape = ELLIPSOID

    @cached_property
    def n(self) -> float:
        """How many rows of the table these stand for: the trace of the kernel."""
        return float(np.square(self.root_weights).sum())

    def scaled(self, parameters: Floats, points: Floats) -> Floats:
        """Return the coordinates of points."""
        return self.shape.coordinates(points, self.owner, parameters)

    def matrix(self, parameters: Floats) -> Floats:
        """Return the kernel of all rows with all, (N, N), without the weights."""
        return self.matrix_and_slope(parameters)[0]

    def matrix_and_slope(self, parameters: Floats) -> tuple[Floats, Floats]:
        """Return the kernel of all rows with all, and its slope (for a Gaussian the same array)."""
        coordinates = self.scaled(parameters, self.points)
        return self.shape.profile.both(squares_between(coordinates, coordinates))

    def gradient(self, scatter: Floats, parameters: Floats) -> Floats:
        """Return the derivatives by the parameters of the shape, from the scatter of all pairs."""
        return self.shape.gradient(scatter, self.owner, parameters)

    def pulled_back(self, slopes: Floats, parameters: Floats) -> Floats:
        """Return the same from the derivatives by the one coordinate of every row, (N,)."""
        return self.shape.pulled_back(slopes[:, None], self.points, self.owner, parameters)

    def chunks(self) -> Iterator[slice]:
        """Iterate over all rows, some at a time."""
        for start in range(0, len(self.points), CHUNK_ROWS):
            yield slice(start, min(start + CHUNK_ROWS, len(self.points)))

    def basis(self, parameters: Floats, pivots: Ints, jitter: float = JITTER) -> Basis:
        """Prepare to project the kernel on some rows."""
        at = self.points[pivots]
        scaled = self.scaled(parameters, at)
        K_mm, slope = self.shape.profile.both(squares_between(scaled, scaled))
        try:
            lower = Cholesky.of(shifted(K_mm, jitter), "the kernel matrix of the pivots")
        except ComputationError:
            if jitter >= JITTER:
                raise
            return self.basis(parameters, pivots, 10.0 * jitter)
        return Basis(self, parameters, at, scaled, K_mm, slope, lower.inverse_lower())

    def pivots(self, parameters: Floats, tolerance: float, most: int) -> Pivots:
        """Choose pivots until the trace of what the projection misses, over all rows, is small.

        Of many rows only some are looked at, and then those as well that turn out to be captured worst.
        """
        N, weights = len(self.points), self.root_weights**2
        if N <= SELECT_ROWS:
            return self._pivots_among(np.arange(N), weights, parameters, tolerance, most)
        # Rows far out are captured worst: look at them from the beginning.
        distance = np.square(self.scaled(parameters, self.points)).sum(axis=1)
        far_out = np.argpartition(-distance, WORST_ROWS)[:WORST_ROWS]
        among, standing_for = _joined(*self._even(SELECT_ROWS), far_out, weights[far_out])
        checked, counting = self._even(min(CHECK_ROWS, N))
        found = Pivots(among[:0], np.array([np.inf]))
        for _ in range(SELECTIONS):
            before = len(found.rows)
            found = self._pivots_among(among, standing_for, parameters, SELECTION_MARGIN * tolerance, most)
            basis = self.basis(parameters, found.rows, LEAST_JITTER)
            missed = counting * np.maximum(1.0 - basis.captured(checked), 0.0)
            if missed.sum() <= tolerance or not WORTHWHILE * before < len(found.rows) < most:
                break
            worst = np.argpartition(-missed, WORST_ROWS)[:WORST_ROWS]
            among, standing_for = _joined(among, standing_for, checked[worst], counting[worst])
        return found

    def _even(self, count: int) -> tuple[Ints, Floats]:
        """Return evenly spaced rows, and how many rows of the table each stands for."""
        weights = self.root_weights**2
        step = len(weights) / count
        rows = (step * (np.arange(count) + 0.5)).astype(np.int64)
        return rows, weights[rows] * (weights.sum() / weights[rows].sum())

    def _pivots_among(self, rows: Ints, weights: Floats, parameters: Floats, tolerance: float, most: int) -> Pivots:
        """Choose pivots among some rows that stand for all."""
        scaled = self.scaled(parameters, self.points[rows])
        if len(rows) <= WRITTEN_OUT:
            K = self.shape.profile.value(squares_between(scaled, scaled))
            root = np.sqrt(weights)
            found, _ = pivots_of_matrix(K * root * root[:, None], tolerance, most)
            return Pivots(rows[found.rows], found.traces)

        def kernel(left: Ints | None, right: Ints) -> Floats:
            return self.shape.profile.value(squares_between(scaled if left is None else scaled[left], scaled[right]))

        found = pivoted_cholesky(np.ones(len(rows)), kernel, tolerance, most, weights)
        return Pivots(rows[found.rows], found.traces)


def side_by_side(variables: Sequence[Points], rows: Ints) -> tuple[Floats, Ints]:
    """Return the columns of some variables on some rows, (N, d), and which variable each belongs to, (d,)."""
    owner = [np.full(points.values.shape[1], k, dtype=np.int64) for k, points in enumerate(variables)]
    columns = [points.values[rows] for points in variables]
    return (
        np.hstack([np.empty((len(rows), 0)), *columns]),
        np.concatenate([np.empty(0, dtype=np.int64), *owner]),
    )


def _joined(rows: Ints, weights: Floats, more: Ints, their_weights: Floats) -> tuple[Ints, Floats]:
    """Add rows that are not there yet."""
    new = ~np.isin(more, rows)
    return np.concatenate([rows, more[new]]), np.concatenate([weights, their_weights[new]])
