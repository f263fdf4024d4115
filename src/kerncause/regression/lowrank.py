"""The low-rank engine: linear in n, to a stated error.

K_X and K_PA are replaced by their projections on a few rows, the pivots (Nystrom): with K_mm the kernel among
the pivots, K_nm that of all rows with them, and K_mm = L L',

    K_PA ~ V V',   V = K_nm L^-T        K_X ~ U U'   likewise                       V (n, m), U (n, r)

    B = s_e^2 I + V'V     F = B^-1 V'U     Z = (U - V F) / s_e^2 = K_t^-1 U
    W = U'U               T = U' K_t^-1 U = s_e^2 Z'Z + F'F

    tr(K_X K_t^-1 K_X) = tr(T W)           log|K_t| = (n - m) log s_e^2 + log|B|
    dL/dV = Z W F' - n V B^-1              dL/dU = -(Z W + U T)
    dL/d(s_e^2) = 1/2 tr(Z'Z W) - n/2 ((n - m) / s_e^2 + tr B^-1)

(The textbook form tr(WW) - tr(F'B F W) cancels; this one does not.) L depends on V only through V V', so

    dL/dK_nm = G = dL/dV L^-1              dL/dK_mm = -1/2 L^-T V' G

and with V'Z = F, U'Z = T, everything of size n is touched by four products a factor. Rows that are equal in
response and parents are kept once, scaled by the root of their count: V'V, V'U, U'U are then the same sums.

One evaluation costs O(n (m + r)^2) time and O(n (m + r)) memory; no n x n array is ever formed.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.linalg import blas
from scipy.spatial.distance import cdist

from kerncause.linalg import Cholesky, Pivots, pivoted_cholesky, shifted
from kerncause.regression.base import LOG_2PI, Engine, Evaluation, Parameters, Problem
from kerncause.regression.compressed import CompressedEngine, joint_row_count, joint_rows
from kerncause.regression.dense import DenseEngine

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Added to the diagonal of K_mm: pivots chosen at a short bandwidth make it singular at a long one. A constant
# keeps L smooth in the parameters, and V V' stays below K, so the certificate holds.
JITTER = 1e-10

# Where the pivots would pass a third of the rows, exact engines are the better ones, up to this many rows.
EXACT_UP_TO = 5000
# Beyond that, both factors and their derivatives together stay within this much memory.
MOST_FACTOR_BYTES = 2**30
ESTIMATE_ROWS = 300
# Operations per kernel entry (distance, exponential, derivative) and per call, against one multiply-add.
COST_PER_ENTRY = 60.0
COST_PER_CALL = 1.5e6

# How much of a kernel's trace the pivots may miss. The log-determinant errs by at most the missing trace over
# 2 s_e^2 nats a column: the ascent may err by two tolerances, the certificate's further pivots by a fifth of one.
COARSE = 2.0
FINE = 0.1
LACK_SLACK = 3.0
# By how much more closely the certificate looks, if it must.
STRICTNESS = (1.0, 10.0, 100.0, 1000.0)


@dataclass(frozen=True, eq=False)
class Inputs:
    """One side of the regression, response or parents, on the distinct rows.

    Attributes:
        points: (N, d) the columns of its variables side by side.
        owner: (d,) which variable each column belongs to.
        root_weights: (N,) root of how often each row occurs.
    """

    points: Floats
    owner: Ints
    root_weights: Floats

    def scaled(self, bandwidths: Floats) -> Floats:
        """Return the points in units of their bandwidths."""
        return self.points / bandwidths[self.owner] if len(self.owner) else np.zeros((len(self.points), 1))

    def projected(self, bandwidths: Floats, pivots: Ints) -> "Factor":
        """Project the kernel on some rows."""
        scaled = self.scaled(bandwidths)
        K_nm = np.exp(-0.5 * cdist(scaled, scaled[pivots], "sqeuclidean"))
        K_mm = K_nm[pivots]
        K_nm *= self.root_weights[:, None]
        cholesky = Cholesky.of(shifted(K_mm, JITTER), "the kernel matrix of the pivots")
        # L X = K_mn, X = V', on column-major views, so that nothing is copied.
        V: Floats = blas.dtrsm(1.0, cholesky.lower, K_nm.T, lower=1).T
        return Factor(K_nm, K_mm, cholesky, V)

    def log_bandwidth_gradient(
        self, dK_nm: Floats, dK_mm: Floats, factor: "Factor", pivots: Ints, bandwidths: Floats
    ) -> Floats:
        """Return sum(dK o K o D_k) / s_k^2 over both kernels, for each variable k; D_k is never formed."""
        at = self.points[pivots]
        gradient = np.zeros(len(bandwidths))
        for M, left in ((dK_nm * factor.K_nm, self.points), (dK_mm * factor.K_mm, at)):
            over_rows, over_pivots, cross = M.sum(axis=1) @ left**2, M.sum(axis=0) @ at**2, M @ at
            per_column = over_rows + over_pivots - 2.0 * np.einsum("ij,ij->j", left, cross)
            np.add.at(gradient, self.owner, per_column)
        return gradient / bandwidths**2

    def pivots(self, bandwidths: Floats, tolerance: float, most: int) -> Pivots:
        """Choose pivots until the trace of what the projection misses, over all rows, is small."""
        scaled = self.scaled(bandwidths)

        def column(i: int) -> Floats:
            distances: Floats = cdist(scaled, scaled[i : i + 1], "sqeuclidean")[:, 0]
            return np.exp(-0.5 * distances)

        return pivoted_cholesky(np.ones(len(scaled)), column, tolerance, most, self.root_weights**2)


@dataclass(frozen=True, eq=False)
class Factor:
    """A kernel projected on its pivots: V with V V' ~ K on weighted rows, and what the chain rule needs."""

    K_nm: Floats
    K_mm: Floats
    cholesky: Cholesky
    V: Floats

    def inverse_lower(self) -> Floats:
        """Return L^-1, (m, m)."""
        inverse: Floats = blas.dtrsm(1.0, self.cholesky.lower, np.eye(len(self.K_mm)), lower=1)
        return inverse


@dataclass(frozen=True, eq=False)
class Solved:
    """The small matrices of one evaluation, for factors U of K_X and V of K_PA."""

    VtV: Floats
    W: Floats
    B: Cholesky
    F: Floats
    Z: Floats
    ZtZ: Floats
    T: Floats
    fit: float
    log_determinant: float

    @classmethod
    def of(cls, U: Floats, V: Floats, noise2: float, n: int) -> "Solved":
        """Solve with K_t = V V' + s_e^2 I."""
        VtV, W = V.T @ V, U.T @ U
        B = Cholesky.of(shifted(VtV, noise2), "the projected kernel matrix of the parents with its noise")
        F = B.solve(V.T @ U)
        Z = (U - V @ F) / noise2
        ZtZ = Z.T @ Z
        T = noise2 * ZtZ + F.T @ F
        log_determinant = (n - V.shape[1]) * math.log(noise2) + B.log_determinant
        return cls(VtV, W, B, F, Z, ZtZ, T, float(np.vdot(T, W)), log_determinant)

    def value(self, n: int) -> float:
        """L."""
        return -0.5 * self.fit - 0.5 * n * self.log_determinant - 0.5 * n * n * LOG_2PI


@dataclass(frozen=True, eq=False)
class LowRankEngine:
    """L with K_X and K_PA projected on pivots, which stay while the parameters move.

    Attributes:
        problem: what is computed.
        tolerance: how far S/n may lie from the exact value.
        response: the response on distinct rows.
        parents: the parents on distinct rows.
        response_pivots: (r,).
        parent_pivots: (m,).
        further_pivots: parent pivots that only the certificate uses.
    """

    problem: Problem
    tolerance: float
    response: Inputs
    parents: Inputs
    response_pivots: Ints
    parent_pivots: Ints
    further_pivots: Ints
    name: str = "lowrank"

    @classmethod
    def of(cls, problem: Problem, start: Parameters, tolerance: float) -> Engine:
        """Build the engine with pivots chosen at `start`; an exact one where that takes too many."""
        response, parents = inputs_of(problem)
        none = np.empty(0, dtype=np.int64)
        return cls(problem, tolerance, response, parents, none, none, none)._repivoted(start)

    @staticmethod
    def cost(problem: Problem, start: Parameters, tolerance: float) -> float:
        """Floating-point operations of one evaluation, roughly; the ranks are estimated on a few rows."""
        N = joint_row_count(problem)
        rows = np.unique(np.linspace(0, problem.n - 1, ESTIMATE_ROWS).astype(np.int64))
        response, parents = inputs_of(problem, rows)
        share = len(rows) / problem.n
        r = len(
            response.pivots(np.array([start.response_bandwidth]), share * _lack_of_response(start, tolerance), 99).rows
        )
        m = len(parents.pivots(start.bandwidths, share * _coarse_lack_of_parents(start, tolerance), len(rows)).rows)
        return N * (4.0 * m * m + 4.0 * r * r + 8.0 * m * r + COST_PER_ENTRY * (m + r)) + COST_PER_CALL

    @staticmethod
    def memory(problem: Problem, start: Parameters) -> float:
        """Nothing that the number of pivots could not be cut down to."""
        return 0.0

    @property
    def n(self) -> int:
        """Rows of the table."""
        return self.problem.n

    def adapted(self, parameters: Parameters) -> Engine:
        """Return itself if its pivots still capture the kernels at these parameters, or choose new ones."""
        if self._lacks(parameters, slack=LACK_SLACK):
            return self._repivoted(parameters)
        return self

    def _lacks(self, parameters: Parameters, slack: float) -> bool:
        U = self.response.projected(np.array([parameters.response_bandwidth]), self.response_pivots).V
        V = self.parents.projected(parameters.bandwidths, self.parent_pivots).V
        response, parents = (self.n - float(np.vdot(factor, factor)) for factor in (U, V))
        return response > slack * _lack_of_response(
            parameters, self.tolerance
        ) or parents > slack * _coarse_lack_of_parents(parameters, self.tolerance)

    def _repivoted(self, parameters: Parameters, strictness: float = 1.0) -> Engine:
        """Choose pivots at these parameters."""
        s_x = np.array([parameters.response_bandwidth])
        most = most_pivots(self.problem.n, len(self.response.points))
        lack = _lack_of_response(parameters, self.tolerance) / strictness
        response = self.response.pivots(s_x, lack, most)
        lack = _coarse_lack_of_parents(parameters, self.tolerance) / strictness
        parents = self.parents.pivots(parameters.bandwidths, lack * FINE, most)
        if self.problem.n <= EXACT_UP_TO and max(len(parents.rows), len(response.rows)) >= most:
            return exact_engine(self.problem)
        coarse = parents.needed(lack)
        return replace(
            self,
            response_pivots=response.rows,
            parent_pivots=parents.rows[:coarse],
            further_pivots=parents.rows[coarse:],
        )

    def evaluate(self, parameters: Parameters) -> Evaluation:
        """Return L of the projected kernels and its gradient."""
        n, m, noise2 = self.n, len(self.parent_pivots), parameters.noise**2
        s_x = np.array([parameters.response_bandwidth])
        X = self.response.projected(s_x, self.response_pivots)
        P = self.parents.projected(parameters.bandwidths, self.parent_pivots)
        U, V = X.V, P.V
        solved = Solved.of(U, V, noise2, n)
        VtV, W, F, Z, T = solved.VtV, solved.W, solved.F, solved.Z, solved.T
        B_inverse = solved.B.inverse()
        d_noise2 = 0.5 * np.vdot(solved.ZtZ, W) - 0.5 * n * ((n - m) / noise2 + B_inverse.trace())

        L_inverse = P.inverse_lower()
        left, right = W @ (F.T @ L_inverse), n * (B_inverse @ L_inverse)
        d_parents = self.parents.log_bandwidth_gradient(
            Z @ left - V @ right,
            -0.5 * L_inverse.T @ (F @ left - VtV @ right),
            P,
            self.parent_pivots,
            parameters.bandwidths,
        )
        L_inverse = X.inverse_lower()
        left, right = W @ L_inverse, T @ L_inverse
        d_response = self.response.log_bandwidth_gradient(
            -(Z @ left + U @ right), 0.5 * L_inverse.T @ (T @ left + W @ right), X, self.response_pivots, s_x
        )
        return Evaluation(
            value=solved.value(n),
            response_bandwidth=float(d_response[0]),
            bandwidths=d_parents,
            noise=2.0 * noise2 * float(d_noise2),
        )

    def certified(self, parameters: Parameters) -> tuple[float, float]:
        """Return the best estimate of the exact L at these parameters, and how far off it may be.

        With the further pivots V grows by V2; rho is what the diagonal of K_PA then still lacks, tau the trace
        that K_X lacks, q = tr(T W), a_i^2 = (Z W Z')_ii, and lam+- are the extreme eigenvalues of
        (Z U' + U Z')/2, clipped at 0. The exact value S/n lies between S~/n - above and S~/n + below:

            above = 1/2 (log|K_t + V2 V2'| - log|K_t|) + 1/2 sum log(1 + rho_i/s_e^2)
                    + (2 tau lam+ + tau^2/s_e^2) / (2 n)
            below = (q - (q + tau lam-)_+^2 / (q + t)) / (2 n)
            t     = tr(Z' V2 V2' Z W) + (sum sqrt(rho_i) a_i)^2

        The estimate is L with all the pivots, which lies in that interval up to rounding.
        """
        value, bound = self._bounded(parameters)
        for strictness in STRICTNESS:
            if bound <= self.tolerance * self.n:
                break
            stricter = self._repivoted(parameters, strictness)
            if not isinstance(stricter, LowRankEngine):
                return stricter.certified(parameters)
            value, bound = stricter._bounded(parameters)
        return value, bound

    def _bounded(self, parameters: Parameters) -> tuple[float, float]:
        n, m, noise2 = self.n, len(self.parent_pivots), parameters.noise**2
        weights = self.response.root_weights**2
        every = np.concatenate([self.parent_pivots, self.further_pivots])
        U = self.response.projected(np.array([parameters.response_bandwidth]), self.response_pivots).V
        V = self.parents.projected(parameters.bandwidths, every).V
        coarse, fine = (Solved.of(U, V[:, :columns], noise2, n) for columns in (m, len(every)))
        rho = np.maximum(1.0 - np.einsum("ij,ij->i", V, V) / weights, 0.0)
        tau = max(n - float(np.vdot(U, U)), 0.0)
        low, high = _extreme_eigenvalues(coarse.Z, U)
        V2Z = V[:, m:].T @ coarse.Z
        a = np.sqrt(np.maximum(np.einsum("ij,ij->i", coarse.Z @ coarse.W, coarse.Z), 0.0))
        t = float(np.vdot(V2Z @ coarse.W, V2Z) + (np.sqrt(weights * rho) @ a) ** 2)
        q = coarse.fit
        above = (
            0.5 * (fine.log_determinant - coarse.log_determinant)
            + 0.5 * float(weights @ np.log1p(rho / noise2))
            + (2.0 * tau * high + tau**2 / noise2) / (2.0 * n)
        )
        below = (q - max(q + tau * low, 0.0) ** 2 / (q + t)) / (2.0 * n)
        value, ahead = fine.value(n), (fine.value(n) - coarse.value(n)) / n
        return value, n * max(ahead + above, below - ahead, 0.0)

    def residuals(self, parameters: Parameters) -> Floats:
        """Return K_X - K_PA K_t^-1 K_X from an exact engine: the answer is n x n by itself."""
        return exact_engine(self.problem).residuals(parameters)


def _extreme_eigenvalues(Z: Floats, U: Floats) -> tuple[float, float]:
    """Return the smallest and largest eigenvalue of (Z U' + U Z')/2, clipped at 0, by a 2r x 2r problem."""
    r = Z.shape[1]
    R: Floats = np.asarray(np.linalg.qr(np.hstack([Z, U]), mode="r"))
    half = R[:, :r] @ R[:, r:].T
    values = np.linalg.eigvalsh(0.5 * (half + half.T))
    return min(float(values[0]), 0.0), max(float(values[-1]), 0.0)


def most_pivots(n: int, distinct_rows: int) -> int:
    """Return how many pivots a factor may have."""
    if n <= EXACT_UP_TO:
        return max(distinct_rows // 3, 2)
    return max(min(distinct_rows // 3, MOST_FACTOR_BYTES // (8 * 6 * distinct_rows)), 2)


def exact_engine(problem: Problem) -> Engine:
    """Return the cheaper exact engine."""
    nowhere = Parameters(1.0, np.ones(len(problem.parents)), 1.0)
    if CompressedEngine.cost(problem, nowhere, 0.0) < DenseEngine.cost(problem, nowhere, 0.0):
        return CompressedEngine(problem)
    return DenseEngine(problem)


def _coarse_lack_of_parents(parameters: Parameters, tolerance: float) -> float:
    return 2.0 * parameters.noise**2 * COARSE * tolerance


def _lack_of_response(parameters: Parameters, tolerance: float) -> float:
    """A residual of K_X is amplified by K_t^-1 on both sides, so it must be smaller than that of K_PA."""
    return 0.05 * parameters.noise**2 * tolerance


def inputs_of(problem: Problem, rows: Ints | None = None) -> tuple[Inputs, Inputs]:
    """Return the response and the parents on the rows that differ in either, with their counts, or on `rows`."""
    rows, counts = joint_rows(problem) if rows is None else (rows, np.ones(len(rows)))
    root_weights = np.sqrt(counts)
    owner = [np.full(parent.values.shape[1], k) for k, parent in enumerate(problem.parents)]
    columns = [parent.values[rows] for parent in problem.parents]
    response = problem.response.values[rows]
    return (
        Inputs(response, np.zeros(response.shape[1], dtype=np.int64), root_weights),
        Inputs(
            np.hstack([np.empty((len(rows), 0)), *columns]),
            np.concatenate([np.empty(0, dtype=np.int64), *owner]),
            root_weights,
        ),
    )
