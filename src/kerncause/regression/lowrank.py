"""The low-rank engine: linear in n, to a stated error.

K_PA ~ V V' and the response Y Y' ~ U W U' are projected on their pivots (`kerncause.regression.factors` and
`.response`; for a kernel K_X ~ U U' and W = U'U), and with

    B = s_e^2 I + V'V     F = B^-1 V'U     Z = (U - V F) / s_e^2 = K_t^-1 U
    T = U' K_t^-1 U = s_e^2 Z'Z + F'F                                             V (n, m), U (n, r)

    tr(Y' K_t^-1 Y) = tr(T W)              log|K_t| = (n - m) log s_e^2 + log|B|
    dL/dV = Z W F' - q V B^-1              dL/dU = -(Z W + U T) where W = U'U
    dL/d(s_e^2) = 1/2 tr(Z'Z W) - q/2 ((n - m) / s_e^2 + tr B^-1)

(The textbook form tr(WW) - tr(F'B F W) cancels; this one does not.) The rows are gone through twice, some at a
time: for V'V, V'U, U'U, and for everything that needs Z.

One evaluation costs O(n (m + r)^2) time; memory is O(n (m + r)) up to a limit, beyond which the second pass
computes the features again and memory does not grow with n. No n x n array is ever formed.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from kerncause.linalg import Cholesky, shifted
from kerncause.regression.base import LOG_2PI, Engine, Evaluation, Parameters, Problem
from kerncause.regression.broad import BroadEngine
from kerncause.regression.compressed import CompressedEngine, joint_row_count
from kerncause.regression.exact import exact_engine, exact_fits
from kerncause.regression.factors import CHUNK_ROWS, JITTER, LEAST_JITTER, Basis, Inputs
from kerncause.regression.response import NO_PIVOTS, ProjectedResponse
from kerncause.regression.semidense import excess, lack_of_response, response_error
from kerncause.regression.sides import inputs_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# Where the pivots would pass a third of the rows, exact engines are the better ones, up to this many rows.
EXACT_UP_TO = 5000
# Beyond that, so many operations an evaluation may take, or the certificate, which is made once; and so many bytes
# the features of all rows.
MOST_OPERATIONS = 7e9
MOST_OPERATIONS_ONCE = 6e10
# However many rows there are, so many pivots are allowed: with fewer an ascent ends somewhere else.
FEWEST_PIVOTS = 100
FEWEST_PIVOTS_ONCE = 200
# With a larger tolerance than this an evaluation may take less, down to an eighth.
USUAL_TOLERANCE = 0.01
ROUGHEST = 8.0
MOST_FEATURE_BYTES = 2**29
# A response of one column never needs more pivots than this; and so many bytes everything takes.
MOST_RESPONSE_PIVOTS = 100
LEAST_BYTES = 16.0 * 2**20
# What an evaluation costs is estimated on so many rows, for a response of the usual rank.
ESTIMATE_ROWS = 128
TYPICAL_RANK = 15
# Operations per kernel entry (distance, exponential, derivative) and per call, against one multiply-add.
COST_PER_ENTRY = 200.0
COST_PER_CALL = 1.5e7

# How much of a kernel's trace the pivots may miss: the log-determinant errs by at most the missing trace over
# 2 s_e^2 nats a column. The ascent may err by half a tolerance there.
ASCENT_SHARE = 0.5
ROUGHER_ABOVE = 8_000
# The certificate's t adds up n roots before it squares, so its further pivots must miss n times less. Tried in
# turn: how much of the ascent's share the first pivots may miss, and n times how much of that the further ones.
STRICTNESS = ((0.5, 1.0), (0.05, 0.05))
# Of very many rows the first pivots must miss less as well.
STRICTER_ABOVE = 10_000
# What choosing pivots and bounding costs, in operations per row and squared pivot.
COST_OF_BOUND = 15.0


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows of both sides: their features, and what the gradients need beside them."""

    rows: slice
    raw: Floats
    U: Floats
    slope: Floats
    V: Floats


@dataclass(frozen=True, eq=False)
class Solved:
    """The small matrices of one evaluation that do not need Z."""

    VtV: Floats
    B: Cholesky
    F: Floats
    noise2: float
    log_determinant: float

    @classmethod
    def of(cls, VtV: Floats, VtU: Floats, noise2: float, n: int) -> "Solved":
        """Solve with K_t = V V' + s_e^2 I."""
        B = Cholesky.of(shifted(VtV, noise2), "the projected kernel matrix of the parents with its noise")
        log_determinant = (n - len(VtV)) * math.log(noise2) + B.log_determinant
        return cls(VtV, B, B.solve(VtU), noise2, log_determinant)

    def solve(self, U: Floats, V: Floats) -> Floats:
        """Return K_t^-1 U on some rows."""
        Z: Floats = (U - V @ self.F) / self.noise2
        return Z

    def quadratic(self, ZtZ: Floats) -> Floats:
        """Return U' K_t^-1 U."""
        T: Floats = self.noise2 * ZtZ + self.F.T @ self.F
        return T

    def value(self, fit: float, n: int, q: int) -> float:
        """L, for fit = tr(T W)."""
        return -0.5 * fit - 0.5 * q * self.log_determinant - 0.5 * n * q * LOG_2PI


@dataclass(frozen=True, eq=False)
class LowRankEngine:
    """L with the response and K_PA projected on pivots, which stay while the parameters move.

    Attributes:
        problem: what is computed.
        tolerance: how far L/q may lie from the exact value.
        response: the response on distinct rows.
        parents: the parents on distinct rows.
        response_pivots: (r,).
        parent_pivots: (m,).
    """

    problem: Problem
    tolerance: float
    response: Inputs
    parents: Inputs
    response_pivots: Ints
    parent_pivots: Ints
    name: ClassVar[str] = "lowrank"
    least_cost: ClassVar[float] = COST_PER_CALL

    @classmethod
    def of(cls, problem: Problem, start: Parameters, tolerance: float) -> Engine:
        """Build the engine with pivots chosen at `start`; an exact one where that takes too many."""
        return cls.for_certificate(problem, start, tolerance)._repivoted(start)

    @classmethod
    def for_certificate(cls, problem: Problem, start: Parameters, tolerance: float) -> Self:
        """Build an engine without pivots: the certificate chooses its own."""
        response, parents = inputs_of(problem)
        return cls(problem, tolerance, response, parents, NO_PIVOTS, NO_PIVOTS)

    @staticmethod
    def cost(problem: Problem, start: Parameters, tolerance: float) -> float:
        """Floating-point operations of one evaluation, roughly; the ranks are estimated on a few rows."""
        N = joint_row_count(problem)
        rows = np.unique(np.linspace(0, problem.rows - 1, ESTIMATE_ROWS).astype(np.int64))
        _, parents = inputs_of(problem, rows)
        lack = lack_of_parents(start, tolerance) * len(rows) / problem.n
        m = len(parents.pivots(start.parents, lack, len(rows) // 2).rows)
        if m >= len(rows) // 2:  # who knows how many
            m = N // 3
        return N * (5.0 * m * m + 8.0 * m * TYPICAL_RANK + COST_PER_ENTRY * (m + TYPICAL_RANK)) + COST_PER_CALL

    @staticmethod
    def memory(problem: Problem, start: Parameters) -> float:
        """Nothing that the number of pivots could not be cut down to."""
        return 0.0

    @property
    def rank(self) -> int:
        """How many rows the parents' kernel is projected on."""
        return len(self.parent_pivots)

    @property
    def n(self) -> int:
        """Rows of the table."""
        return self.problem.n

    def adapted(self, parameters: Parameters) -> Engine:
        """Return itself if its pivots still capture the kernels at these parameters, or choose new ones."""
        X, P = self._bases(parameters)
        too_much = self._excess(X.missing(), self._missing_of(P), parameters)
        return self._repivoted(parameters) if too_much else self

    def _missing_of(self, P: Basis) -> float:
        """Return the trace of K_PA that its pivots miss."""
        return max(self.n - float(self.parents.root_weights**2 @ P.captured()), 0.0)

    def _excess(self, of_response: float, of_parents: float, parameters: Parameters) -> float:
        """Return by how many nats the traces missing of response and K_PA are too much, if pivots may capture more."""
        both = (
            (self.response_pivots, of_response, lack_of_response(parameters, self.tolerance)),
            (self.parent_pivots, of_parents, self._lack_in_ascent(parameters)),
        )
        most = self._most_pivots
        return max(
            0.0 if len(pivots) >= most else excess(missing, lack, self.tolerance) for pivots, missing, lack in both
        )

    @property
    def _can_be_exact(self) -> bool:
        """Whether an engine that does not project K_PA is within reach."""
        nowhere = Parameters(1.0, np.ones(len(self.problem.parents)), 1.0)
        is_quick = self.n <= EXACT_UP_TO or CompressedEngine.cost(self.problem, nowhere, 0.0) <= MOST_OPERATIONS
        return is_quick and exact_fits(self.problem, nowhere)

    def provisional_error(self, parameters: Parameters) -> float:
        """Return how many nats L/q is off in an evaluation, roughly: what the log-determinant may lack."""
        P = self.parents.basis(parameters.parents, self.parent_pivots)
        return self._missing_of(P) / (2.0 * parameters.noise**2)

    def _lack_in_ascent(self, parameters: Parameters) -> float:
        """Of very many rows more may be missed: what is compared grows with their number."""
        return lack_of_parents(parameters, self.tolerance) * max(1.0, self.n / ROUGHER_ABOVE)

    @cached_property
    def _most_pivots(self) -> int:
        """How many pivots a factor may have in an evaluation: the rougher the answer, the less it may cost."""
        roughness = min(max(self.tolerance / USUAL_TOLERANCE, 1.0), ROUGHEST)
        return most_pivots(self.n, len(self.response.points), MOST_OPERATIONS / roughness, FEWEST_PIVOTS)

    def _bases(self, parameters: Parameters, jitter: float = JITTER) -> tuple[ProjectedResponse, Basis]:
        at = parameters.response_bandwidth
        return (
            self.problem.model.projected(self.response, at, self.response_pivots, jitter),
            self.parents.basis(parameters.parents, self.parent_pivots, jitter),
        )

    def _response_pivots(self, parameters: Parameters, share: float, most: int) -> Ints:
        lack = lack_of_response(parameters, self.tolerance) * share
        return self.problem.model.pivots(self.response, parameters.response_bandwidth, lack, most)

    def _repivoted(self, parameters: Parameters) -> Engine:
        """Choose pivots at these parameters."""
        most = self._most_pivots
        response = self._response_pivots(parameters, 1.0, most)
        parents = self.parents.pivots(parameters.parents, self._lack_in_ascent(parameters), most).rows
        if max(len(parents), len(response)) >= most and self._can_be_exact:
            is_broad = len(parents) < most and BroadEngine.memory(self.problem, parameters) <= self.problem.memory
            instead = BroadEngine.of if is_broad else exact_engine
            return instead(self.problem, parameters, self.tolerance)
        return replace(self, response_pivots=response, parent_pivots=parents)

    def evaluate(self, parameters: Parameters) -> Evaluation:
        """Return L of the projected kernels and its gradient."""
        n, q, m, noise2 = self.n, self.problem.outputs, len(self.parent_pivots), parameters.noise**2
        X, P = self._bases(parameters)
        chunks = _chunks(X, P, self.problem.memory)
        VtV, VtU, gram = _grams(chunks())
        W, solved = X.weight(gram), Solved.of(VtV, VtU, noise2, n)
        F, B_inverse = solved.F, solved.B.inverse()
        left, right = W @ (F.T @ P.inverse), q * (B_inverse @ P.inverse)
        pairs = P.scatter((-0.5 * P.inverse.T @ (F @ left - VtV @ right)) * P.slope, None)
        ZtZ, slope = np.zeros_like(W), X.slope()
        for chunk in chunks():
            Z = solved.solve(chunk.U, chunk.V)
            ZtZ += Z.T @ Z
            slope.add(chunk.rows, chunk.raw, chunk.U, Z)
            M = Z @ left
            M -= chunk.V @ right
            M *= chunk.slope
            pairs += P.scatter(M, chunk.rows)
        T = solved.quadratic(ZtZ)
        d_noise2 = 0.5 * np.vdot(ZtZ, W) - 0.5 * q * ((n - m) / noise2 + B_inverse.trace())
        return Evaluation(
            value=solved.value(float(np.vdot(T, W)), n, q),
            response_bandwidth=slope.total(T, W),
            parents=self.parents.gradient(pairs, parameters.parents),
            noise=2.0 * noise2 * float(d_noise2),
            excess=self._excess(X.missing(gram), max(n - float(np.trace(VtV)), 0.0), parameters),
        )

    def certified(self, parameters: Parameters) -> tuple[float, float]:
        """Return the best estimate of the exact L at these parameters, and how far off it may be.

        With the further pivots V grows by V2; rho is what the diagonal of K_PA then still lacks, tau the trace
        that K_X lacks, f = tr(T W), a_i^2 = (Z W Z')_ii, and lam+- are the extreme eigenvalues of
        (Z U' + U Z')/2, clipped at 0. The exact value L/q lies between L~/q - above and L~/q + below:

            above = 1/2 (log|K_t + V2 V2'| - log|K_t|) + 1/2 sum log(1 + rho_i/s_e^2)
                    + (2 tau lam+ + tau^2/s_e^2) / (2 q)
            below = (f - (f + tau lam-)_+^2 / (f + t)) / (2 q)
            t     = tr(Z' V2 V2' Z W) + (sum sqrt(rho_i) a_i)^2

        The estimate is L with all the pivots, which lies in that interval up to rounding.
        """
        n, q, N = self.n, self.problem.outputs, len(self.parents.points)
        most = most_pivots(n, N, MOST_OPERATIONS_ONCE, FEWEST_PIVOTS_ONCE)
        can_be_exact = self._can_be_exact
        if n <= EXACT_UP_TO:  # with more pivots than this one Cholesky factor of K_t costs less
            most = min(most, int(n * math.sqrt((n / 3.0 + 300.0) / (COST_OF_BOUND * N))))
        lack = lack_of_parents(parameters, self.tolerance)
        value, bound = 0.0, math.inf
        for share, further in STRICTNESS:
            share *= min(1.0, STRICTER_ABOVE / n)
            pivots = self.parents.pivots(parameters.parents, lack * share * further / n, most)
            if can_be_exact and len(pivots.rows) >= most:
                break
            of_response = self._response_pivots(parameters, share, most)
            engine = replace(self, response_pivots=of_response, parent_pivots=pivots.rows)
            value, bound = engine._bounded(parameters, pivots.needed(lack * share))
            if bound <= self.tolerance * q or len(pivots.rows) >= most:
                break
        if can_be_exact and bound > self.tolerance * q:
            return exact_engine(self.problem, parameters, self.tolerance).certified(parameters)
        return value, bound

    def _bounded(self, parameters: Parameters, m: int) -> tuple[float, float]:
        """Return L with all pivots and its bound, the first m of the parents' pivots being V, the rest V2."""
        n, q, noise2 = self.n, self.problem.outputs, parameters.noise**2
        weights = self.response.root_weights**2
        X, P = self._bases(parameters, LEAST_JITTER)
        chunks = _chunks(X, P, self.problem.memory)
        VtV, VtU, gram = _grams(chunks())
        W = X.weight(gram)
        coarse = Solved.of(VtV[:m, :m], VtU[:m], noise2, n)
        fine = Solved.of(VtV, VtU, noise2, n)
        fine_ZtZ, VtZ = np.zeros_like(W), np.zeros_like(VtU)
        R: Floats = np.empty((0, 2 * len(W)))
        log_terms = root_terms = 0.0
        for chunk in chunks():
            V, w = chunk.V, weights[chunk.rows]
            fine_Z, Z = fine.solve(chunk.U, V), coarse.solve(chunk.U, V[:, :m])
            fine_ZtZ += fine_Z.T @ fine_Z
            VtZ += V.T @ Z
            R = np.asarray(np.linalg.qr(np.vstack([R, np.hstack([Z, chunk.U])]), mode="r"))
            rho = np.maximum(1.0 - np.einsum("ij,ij->i", V, V) / w, 0.0)
            log_terms += w @ np.log1p(rho / noise2)
            a2 = np.einsum("ij,ij->i", Z @ W, Z)
            root_terms += np.sqrt(w * rho) @ np.sqrt(np.maximum(a2, 0.0))
        Z_part = R[:, : len(W)]
        fit = float(np.vdot(coarse.quadratic(Z_part.T @ Z_part), W))
        t = float(np.vdot(VtZ[m:] @ W, VtZ[m:])) + root_terms**2
        x_above, x_below = response_error(R, X.missing(gram), fit, t, noise2)
        above = 0.5 * (fine.log_determinant - coarse.log_determinant) + 0.5 * log_terms + x_above / q
        below = x_below / q
        value = fine.value(float(np.vdot(fine.quadratic(fine_ZtZ), W)), n, q)
        ahead = (value - coarse.value(fit, n, q)) / q
        return value, q * max(float(ahead + above), float(below - ahead), 0.0)

    def residuals(self, parameters: Parameters) -> Floats:
        """Return Y - K_PA K_t^-1 Y from an exact engine: for kernels the answer is n x n by itself."""
        return exact_engine(self.problem, parameters, self.tolerance).residuals(parameters)


def _chunks(X: ProjectedResponse, P: Basis, memory: float) -> Callable[[], Iterator[Chunk]]:
    """Return what iterates over all rows: over what was kept the second time, if that is not too much."""
    N, m = len(P.inputs.points), len(P.at)

    def made() -> Iterator[Chunk]:
        for rows in P.inputs.chunks():
            (raw, U), (K_P, slope) = X.features(rows), P.kernel_and_slope(rows)
            yield Chunk(rows, raw, U, slope, P.features(K_P))

    if 16 * N * (X.rank + m) > min(MOST_FEATURE_BYTES, memory - _bytes_beside(N, m, P.inputs.points.shape[1])):
        return made
    kept = list(made())
    return lambda: iter(kept)


def _grams(chunks: Iterator[Chunk]) -> tuple[Floats, Floats, Floats]:
    """Return V'V, V'U and U'U."""
    total: tuple[Floats, Floats, Floats] | None = None
    for chunk in chunks:
        U, V = chunk.U, chunk.V
        parts = V.T @ V, V.T @ U, U.T @ U
        total = parts if total is None else (total[0] + parts[0], total[1] + parts[1], total[2] + parts[2])
    assert total is not None
    return total


def lowrank_bytes(n: int, rows: int, columns: int, has_vectors: bool, memory: float) -> float:
    """Return the bytes held at most, if there is so much memory: the features of all rows are kept if they fit.

    Args:
        n: rows of the table.
        rows: those that differ.
        columns: of the response and the parents.
        has_vectors: whether the response may have several columns, and need as many pivots as the parents.
        memory: bytes that may be taken.
    """
    m = max(
        most_pivots(n, rows, MOST_OPERATIONS, FEWEST_PIVOTS),
        most_pivots(n, rows, MOST_OPERATIONS_ONCE, FEWEST_PIVOTS_ONCE),
    )
    beside = _bytes_beside(rows, m, columns)
    features = 16.0 * rows * (m if has_vectors else min(m, MOST_RESPONSE_PIVOTS)) + 16.0 * rows * m
    return beside + min(features, MOST_FEATURE_BYTES, max(memory - beside, 0.0))


def _bytes_beside(rows: int, m: int, columns: int) -> float:
    """Return the bytes held beside the features of all rows, by m pivots: roughly, as measured."""
    small, piece = 8.0 * m * m, 1.5 * min(rows, CHUNK_ROWS) * m
    return 8.0 * (small + piece + rows * (12.0 + 2.0 * columns)) + LEAST_BYTES


def most_pivots(n: int, distinct_rows: int, operations: float, fewest: int) -> int:
    """Return how many pivots a factor may have."""
    if n <= EXACT_UP_TO:
        return max(distinct_rows // 3, 2)
    affordable = max(int((operations / (5.0 * distinct_rows)) ** 0.5), fewest)
    return max(min(distinct_rows // 3, affordable), 2)


def lack_of_parents(parameters: Parameters, tolerance: float) -> float:
    """Return how much of the trace of K_PA may be missed for an error of the log-determinant within the tolerance."""
    return 2.0 * parameters.noise**2 * ASCENT_SHARE * tolerance
