"""The line engine: kernels along one coordinate, projected on evenly spaced points.

Where the parents are compared along one coordinate c (a single column, or a direction), and the response x has one
column as well, both Gaussian kernels are smooth functions on a line. With points z_j = h j on either line, in units of
the bandwidth, a little way beyond the outermost rows,

    K_PA ~ V V'     V = K_cz L^-T     K_zz = L L'     and likewise     K_X ~ U U' along x / s_x

L depends on nothing but the number of points, so it is computed once for all fits; there are no pivots to choose; and
as the points do not move with the parameters, gradients are those of the coordinates alone:

    dL/dc_i = -sum_j (G o K_cz)_ij (c_i - z_j)       G = dL/dV L^-1       (dL/dV as in `kerncause.regression.lowrank`)

The error falls faster than exponentially with 1/h: half a bandwidth apart, the projection lacks 1e-7 of the trace.
How much it does lack is seen in every evaluation, and a finer grid taken where that is too much.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from kerncause.kernels import GAUSSIAN
from kerncause.linalg import Cholesky, shifted
from kerncause.regression.base import Engine, Evaluation, Parameters, Problem
from kerncause.regression.compressed import joint_row_count
from kerncause.regression.exact import exact_engine
from kerncause.regression.factors import LEAST_JITTER, Inputs
from kerncause.regression.lowrank import LowRankEngine, Solved, lack_of_parents
from kerncause.regression.response import KernelResponse
from kerncause.regression.semidense import excess, lack_of_response
from kerncause.regression.sides import inputs_of

Floats = npt.NDArray[np.float64]

# More rows are better worked through in pieces, as the low-rank engine does.
MOST_ROWS = 4096
# With more points than this share of the rows, or than this, there is little to gain.
MOST_SHARE = 1.0 / 3.0
MOST_POINTS = 150
# An ascent may pass by where there would be more; from so many on even that is left to another engine.
MOST_POINTS_ONCE = 300
# Operations per kernel entry and per call, against one multiply-add.
COST_PER_ENTRY = 200.0
COST_PER_CALL = 0.5e7


class Grid(NamedTuple):
    """Points `spacing` bandwidths apart, `beyond` of them on either side of all rows."""

    spacing: float
    beyond: int


# From coarse to fine.
GRIDS = (Grid(0.7, 1), Grid(0.6, 2), Grid(0.5, 2), Grid(0.5, 3), Grid(0.45, 3), Grid(0.4, 4))


class Along(NamedTuple):
    """One kernel along its line: c_i - z_j and K_cz, (N, m), L^-1, (m, m), and V, (N, m)."""

    steps: Floats
    K: Floats
    inverse: Floats
    V: Floats

    def slope(self, by_features: Floats) -> Floats:
        """Return dL/dc, (N,), given dL/dV L^-1, which is overwritten."""
        by_features *= self.K
        return -np.asarray(np.einsum("ij,ij->i", by_features, self.steps))


@dataclass(frozen=True, eq=False)
class LineEngine:
    """L with both kernels projected on points of their lines.

    Attributes:
        problem: what is computed.
        tolerance: how far L/q may lie from the exact value.
        response: on distinct rows.
        parents: on distinct rows.
        response_grid: the points for K_X.
        parent_grid: the points for K_PA.
        rank: how many points there were for K_PA where the engine was made.
    """

    problem: Problem
    tolerance: float
    response: Inputs
    parents: Inputs
    response_grid: Grid = GRIDS[-1]
    parent_grid: Grid = GRIDS[-1]
    rank: int = 0
    name: ClassVar[str] = "line"
    least_cost: ClassVar[float] = COST_PER_CALL

    @classmethod
    def of(cls, problem: Problem, start: Parameters, tolerance: float) -> Engine:
        """Build the engine with grids that do at `start`; the low-rank one where there is no line, or a long one."""
        if not _is_on_lines(problem) or problem.rows > MOST_ROWS:
            return LowRankEngine.of(problem, start, tolerance)
        return cls(problem, tolerance, *inputs_of(problem))._with_grids(start)

    @classmethod
    def for_certificate(cls, problem: Problem, start: Parameters, tolerance: float) -> Engine:
        """Return the low-rank engine, whose certificate has nothing to do with how the ascent was made."""
        return LowRankEngine.for_certificate(problem, start, tolerance)

    @staticmethod
    def cost(problem: Problem, start: Parameters, tolerance: float) -> float:
        """Floating-point operations of one evaluation, roughly."""
        if not _is_on_lines(problem) or problem.rows > MOST_ROWS:
            return math.inf
        both = inputs_of(problem, np.arange(problem.rows))
        r, m = (_count(*side, GRIDS[2]) for side in _with_parameters(*both, start))
        if max(m, r) > MOST_POINTS:
            return math.inf
        N = joint_row_count(problem)
        return N * (5.0 * m * m + 8.0 * m * r + COST_PER_ENTRY * (m + r)) + COST_PER_CALL

    @staticmethod
    def memory(problem: Problem, start: Parameters) -> float:
        """Bytes held at the peak of one evaluation."""
        return line_bytes(problem.rows)

    @property
    def n(self) -> int:
        """Rows of the table."""
        return self.problem.n

    def _along(self, parameters: Parameters) -> tuple[Along, Along]:
        """Return the response and the parents along their lines."""
        return (
            _along(self.response, np.array([parameters.response_bandwidth]), self.response_grid),
            _along(self.parents, parameters.parents, self.parent_grid),
        )

    def adapted(self, parameters: Parameters) -> Engine:
        """Return itself if its grids still do at these parameters, or take finer ones."""
        if self._is_long(parameters, self._most_points):
            return self._with_grids(parameters)
        X, P = self._along(parameters)
        too_much = self._excess(_missing(X, self.n), _missing(P, self.n), parameters)
        return self._with_grids(parameters) if too_much else self

    def _is_long(self, parameters: Parameters, most: int) -> bool:
        """Tell whether either kernel has more points than that on its coarsest grid.

        An outlier makes a line as long as it is far out, in units of the bandwidth.
        """
        sides = _with_parameters(self.response, self.parents, parameters)
        return any(_count(*side, GRIDS[0]) > most for side in sides)

    @property
    def _most_points(self) -> int:
        return max(min(int(MOST_SHARE * len(self.parents.points)), MOST_POINTS), 2)

    def _with_grids(self, parameters: Parameters) -> Engine:
        """Take the coarsest grids that do at these parameters; the low-rank engine where that takes too many points."""
        if self._is_long(parameters, self._most_points):
            return self._instead(parameters)
        lacks = lack_of_response(parameters, self.tolerance), lack_of_parents(parameters, self.tolerance)
        sides = _with_parameters(self.response, self.parents, parameters)
        of_response, of_parents = (
            _coarsest(partial(self._missing_on, *side), lack) for side, lack in zip(sides, lacks, strict=True)
        )
        points = _count(*sides[1], of_parents)
        if max(points, _count(*sides[0], of_response)) > self._most_points:
            return self._instead(parameters)
        return replace(self, response_grid=of_response, parent_grid=of_parents, rank=points)

    def _missing_on(self, inputs: Inputs, parameters: Floats, grid: Grid) -> float:
        return _missing(_along(inputs, parameters, grid), self.n)

    def _instead(self, parameters: Parameters) -> Engine:
        return LowRankEngine.of(self.problem, parameters, self.tolerance)

    def _excess(self, of_response: float, of_parents: float, parameters: Parameters) -> float:
        """Return by how many nats the traces missing of K_X and K_PA are too much, if a finer grid may capture more."""
        both = (
            (self.response_grid, of_response, lack_of_response(parameters, self.tolerance)),
            (self.parent_grid, of_parents, lack_of_parents(parameters, self.tolerance)),
        )
        return max(0.0 if grid == GRIDS[-1] else excess(missing, lack, self.tolerance) for grid, missing, lack in both)

    def provisional_error(self, parameters: Parameters) -> float:
        """Return how many nats L/q is off in an evaluation, roughly: what the log-determinant may lack."""
        P = _along(self.parents, parameters.parents, self.parent_grid)
        return _missing(P, self.n) / (2.0 * parameters.noise**2)

    def values(self, places: Sequence[Parameters]) -> list[float]:
        """Return L at every place, with either kernel computed once where it is the same."""
        n, q = self.n, self.problem.outputs
        if any(self._is_long(place, MOST_POINTS_ONCE) for place in places):
            return [self.evaluate(place).value for place in places]
        responses: dict[float, tuple[Along, Floats]] = {}
        parents: dict[bytes, tuple[Along, Floats]] = {}
        found = []
        for place in places:
            r, weights = place.response_bandwidth, place.parents
            if r not in responses:
                responses[r] = _with_gram(_along(self.response, np.array([r]), self.response_grid))
            if weights.tobytes() not in parents:
                parents[weights.tobytes()] = _with_gram(_along(self.parents, weights, self.parent_grid))
            (X, W), (P, VtV) = responses[r], parents[weights.tobytes()]
            solved = Solved.of(VtV, P.V.T @ X.V, place.noise**2, n)
            Z = solved.solve(X.V, P.V)
            found.append(solved.value(float(np.vdot(solved.quadratic(Z.T @ Z), W)), n, q))
        return found

    def evaluate(self, parameters: Parameters) -> Evaluation:
        """Return L of the projected kernels and its gradient."""
        if self._is_long(parameters, MOST_POINTS_ONCE):
            return self._instead(parameters).evaluate(parameters)
        n, q, noise2 = self.n, self.problem.outputs, parameters.noise**2
        X, P = self._along(parameters)
        U, V, m = X.V, P.V, len(P.inverse)
        VtV, W = V.T @ V, U.T @ U
        solved = Solved.of(VtV, V.T @ U, noise2, n)
        F, Z = solved.F, solved.solve(U, V)
        ZtZ = Z.T @ Z
        T = solved.quadratic(ZtZ)
        ZW = Z @ W
        by_V = ZW @ (F.T @ P.inverse)
        by_V -= V @ (q * solved.B.solve(P.inverse))
        by_U = ZW @ X.inverse
        by_U += U @ (T @ X.inverse)
        inverse_trace = float(np.square(solved.B.inverse_lower()).sum())
        d_noise2 = 0.5 * np.vdot(ZtZ, W) - 0.5 * q * ((n - m) / noise2 + inverse_trace)
        at = np.array([parameters.response_bandwidth])
        return Evaluation(
            value=solved.value(float(np.vdot(T, W)), n, q),
            # dL/dU = -(Z W + U T), and what is pulled back is its negative.
            response_bandwidth=-float(self.response.pulled_back(X.slope(by_U), at)[0]),
            parents=self.parents.pulled_back(P.slope(by_V), parameters.parents),
            noise=2.0 * noise2 * float(d_noise2),
            excess=self._excess(max(n - float(np.trace(W)), 0.0), max(n - float(np.trace(VtV)), 0.0), parameters),
        )

    def certified(self, parameters: Parameters) -> tuple[float, float]:
        """Return what the low-rank engine certifies."""
        return LowRankEngine.for_certificate(self.problem, parameters, self.tolerance).certified(parameters)

    def residuals(self, parameters: Parameters) -> Floats:
        """Return Y - K_PA K_t^-1 Y from an exact engine."""
        return exact_engine(self.problem, parameters, self.tolerance).residuals(parameters)


def line_bytes(rows: int) -> float:
    """Return the bytes held at the peak of one evaluation; where there are more rows, another engine takes over."""
    return 8.0 * 10.0 * min(rows, MOST_ROWS) * MOST_POINTS


def _is_on_lines(problem: Problem) -> bool:
    """Tell whether response and parents are compared along one coordinate each, by Gaussian kernels."""
    model, shape = problem.model, problem.shape
    columns = sum(parent.values.shape[1] for parent in problem.parents)
    return (
        isinstance(model, KernelResponse)
        and model.profile is GAUSSIAN
        and shape.profile is GAUSSIAN
        and problem.response.values.shape[1] == 1
        and shape.is_line(columns)
    )


def _with_parameters(response: Inputs, parents: Inputs, at: Parameters) -> tuple[tuple[Inputs, Floats], ...]:
    """Return either side with the parameters of its kernel."""
    return (response, np.array([at.response_bandwidth])), (parents, at.parents)


def _coordinate(inputs: Inputs, parameters: Floats) -> Floats:
    return inputs.scaled(parameters, inputs.points)[:, 0]


def _ends(coordinate: Floats, grid: Grid) -> tuple[int, int]:
    """Return the numbers of the first and of the last point."""
    first, last = coordinate.min() / grid.spacing, coordinate.max() / grid.spacing
    return math.floor(first) - grid.beyond, math.ceil(last) + grid.beyond


def _count(inputs: Inputs, parameters: Floats, grid: Grid) -> int:
    """Return how many points a line has."""
    first, last = _ends(_coordinate(inputs, parameters), grid)
    return last - first + 1


def _along(inputs: Inputs, parameters: Floats, grid: Grid) -> Along:
    """Project a kernel on the points of its line."""
    coordinate = _coordinate(inputs, parameters)
    first, last = _ends(coordinate, grid)
    steps = np.subtract.outer(coordinate, grid.spacing * np.arange(first, last + 1))
    K = np.square(steps)
    K *= -0.5
    np.exp(K, out=K)
    K *= inputs.root_weights[:, None]
    count = last - first + 1
    inverse = _inverse(count, grid.spacing) if count <= MOST_POINTS else _inverse.__wrapped__(count, grid.spacing)
    return Along(steps, K, inverse, K @ inverse.T)


@lru_cache(maxsize=1024)
def _inverse(count: int, spacing: float) -> Floats:
    """Return L^-1 of the kernel of so many points; it is the same wherever they lie."""
    z = spacing * np.arange(count)
    K = np.exp(-0.5 * np.square(np.subtract.outer(z, z)))
    inverse = Cholesky.of(shifted(K, LEAST_JITTER), "the kernel matrix of evenly spaced points").inverse_lower()
    inverse.flags.writeable = False
    return inverse


def _with_gram(along: Along) -> tuple[Along, Floats]:
    return along, along.V.T @ along.V


def _missing(along: Along, n: int) -> float:
    """Return the trace of a kernel that its points miss."""
    return max(n - float(np.vdot(along.V, along.V)), 0.0)


def _coarsest(missing: Callable[[Grid], float], lack: float) -> Grid:
    """Return the coarsest grid that misses no more than `lack`, the finest if none does."""
    return next((grid for grid in GRIDS if missing(grid) <= lack), GRIDS[-1])
