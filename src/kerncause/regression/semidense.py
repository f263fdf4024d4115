"""The semidense engine: the parents' kernel written out, the response's projected on pivots.

With Y Y' ~ U W U' (for a kernel K_X ~ U U' and W = U'U), K_t = K_PA + s_e^2 I and Z = K_t^-1 U:

    T = U'Z      tr(Y' K_t^-1 Y) = tr(T W)
    dL/dK_t = G = 1/2 (Z W Z' - q K_t^-1)

A response kernel needs a dozen pivots where many parents need as many as there are rows. This costs n^3 where
the dense engine costs 5 n^3, and one Cholesky factor, n^3/3, where only the value is asked for.
"""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from kerncause.kernels import scatter
from kerncause.linalg import Cholesky
from kerncause.regression.base import LOG_2PI, Engine, Evaluation, Parameters, Problem
from kerncause.regression.dense import DenseEngine
from kerncause.regression.factors import JITTER, LEAST_JITTER, Inputs
from kerncause.regression.response import NO_PIVOTS, ProjectedResponse
from kerncause.regression.sides import inputs_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

LACK_SLACK = 10.0
STRICTNESS = (1.0, 10.0, 100.0, 1000.0)
# With more pivots than this share of the rows nothing is gained over the dense engine.
MOST_SHARE = 0.5
# Numbers a row that features of a response of the usual rank take, with what is computed of them.
FEATURES_HELD = 600.0


@dataclass(frozen=True, eq=False)
class SemidenseEngine:
    """L with K_PA exact and K_X projected on pivots, which stay while the parameters move."""

    problem: Problem
    tolerance: float
    response: Inputs
    parents: Inputs
    response_pivots: Ints
    name: ClassVar[str] = "semidense"
    least_cost: ClassVar[float] = 0.0
    rank: ClassVar[None] = None

    @classmethod
    def of(cls, problem: Problem, start: Parameters, tolerance: float) -> Engine:
        """Build the engine with pivots chosen at `start`; the dense one where that takes too many, if it has room."""
        problem = problem.repeated()
        response, parents = inputs_of(problem, np.arange(problem.n))
        return cls(problem, tolerance, response, parents, NO_PIVOTS)._repivoted(start)

    @classmethod
    def for_certificate(cls, problem: Problem, start: Parameters, tolerance: float) -> Engine:
        """Build the engine."""
        return cls.of(problem, start, tolerance)

    @staticmethod
    def cost(problem: Problem, start: Parameters, tolerance: float) -> float:
        """Floating-point operations of one evaluation, roughly."""
        return 1.3 * problem.n**3 + 300.0 * problem.n**2

    @staticmethod
    def memory(problem: Problem, start: Parameters) -> float:
        """Bytes held at the peak of one evaluation."""
        return semidense_bytes(problem.n)

    def provisional_error(self, parameters: Parameters) -> float:
        """Return how many nats L/q is off in an evaluation, roughly."""
        return LACK_SLACK * self.tolerance

    @property
    def n(self) -> int:
        """Rows of the table."""
        return self.problem.n

    def adapted(self, parameters: Parameters) -> Engine:
        """Return itself if its pivots still capture the response at these parameters, or choose new ones."""
        missing = self._projected(parameters).missing()
        return self._repivoted(parameters) if self._excess(missing, parameters) else self

    def _projected(self, parameters: Parameters, jitter: float = JITTER) -> ProjectedResponse:
        at = parameters.response_bandwidth
        return self.problem.model.projected(self.response, at, self.response_pivots, jitter)

    def _excess(self, missing: float, parameters: Parameters) -> float:
        """Return by how many nats the trace missing of the response is too much."""
        return excess(missing, lack_of_response(parameters, self.tolerance), self.tolerance)

    def _repivoted(self, parameters: Parameters, strictness: float = 1.0) -> Engine:
        most = max(int(MOST_SHARE * self.n), 2)
        lack = lack_of_response(parameters, self.tolerance) / strictness
        pivots = self.problem.model.pivots(self.response, parameters.response_bandwidth, lack, most)
        if len(pivots) >= most and DenseEngine.memory(self.problem, parameters) <= self.problem.memory:
            return DenseEngine(self.problem)
        return replace(self, response_pivots=pivots)

    def evaluate(self, parameters: Parameters) -> Evaluation:
        """Return L and its gradient."""
        n, q, noise2 = self.n, self.problem.outputs, parameters.noise**2
        X = self._projected(parameters)
        raw, U = X.features(slice(None))
        slope, factor = self._factored(parameters)
        Z = factor.solve(U)
        gram, T = U.T @ U, U.T @ Z
        W = X.weight(gram)
        ZW = Z @ W
        # The distances have a zero diagonal, so the strict lower triangle of K_t^-1, doubled, stands for all of it.
        K_inverse = factor.lower_inverse()
        trace = 0.5 * (float(np.vdot(ZW, Z)) - q * float(np.trace(K_inverse)))
        M = ZW @ (0.5 * Z.T)
        K_inverse *= q
        M -= K_inverse
        M *= slope
        pairs = scatter(M, self.parents.points, self.parents.points)
        of_response = X.slope()
        of_response.add(slice(None), raw, U, Z)
        fit = float(np.vdot(T, W))
        return Evaluation(
            value=-0.5 * fit - 0.5 * q * factor.log_determinant - 0.5 * n * q * LOG_2PI,
            response_bandwidth=of_response.total(T, W),
            parents=self.parents.gradient(pairs, parameters.parents),
            noise=2.0 * noise2 * trace,
            excess=self._excess(X.missing(gram), parameters),
        )

    def _factored(self, parameters: Parameters) -> tuple[Floats, Cholesky]:
        """Return the slope of K_PA, whose diagonal does not matter, and the factor of K_t."""
        K_t, slope = self.parents.matrix_and_slope(parameters.parents)
        diagonal = np.einsum("ii->i", K_t)  # a view
        diagonal += parameters.noise**2
        return slope, Cholesky.of(K_t.T, "the kernel matrix of the parents with its noise")

    def certified(self, parameters: Parameters) -> tuple[float, float]:
        """Return the best estimate of the exact L at these parameters, and how far off it may be.

        The bound is that of `LowRankEngine.certified` with nothing lacking in K_PA.
        """
        _, factor = self._factored(parameters)
        for strictness in STRICTNESS:
            engine = self._repivoted(parameters, strictness)
            if not isinstance(engine, SemidenseEngine):
                return engine.certified(parameters)
            value, bound = engine._bounded(parameters, factor)
            if bound <= self.tolerance * self.problem.outputs:
                break
        return value, bound

    def _bounded(self, parameters: Parameters, factor: Cholesky) -> tuple[float, float]:
        n, q = self.n, self.problem.outputs
        X = self._projected(parameters, LEAST_JITTER)
        _, U = X.features(slice(None))
        Z = factor.solve(U)
        gram = U.T @ U
        fit, tau = float(np.vdot(U.T @ Z, X.weight(gram))), X.missing(gram)
        R: Floats = np.asarray(np.linalg.qr(np.hstack([Z, U]), mode="r"))
        above, below = response_error(R, tau, fit, 0.0, parameters.noise**2)
        return -0.5 * fit - 0.5 * q * factor.log_determinant - 0.5 * n * q * LOG_2PI, max(above, below)

    def residuals(self, parameters: Parameters) -> Floats:
        """Return Y - K_PA K_t^-1 Y."""
        return DenseEngine(self.problem).residuals(parameters)


def semidense_bytes(n: int) -> float:
    """Return the bytes held at the peak of one evaluation: four square matrices, and the response's features."""
    return 8.0 * (4.0 * n**2 + FEATURES_HELD * n)


def lack_of_response(parameters: Parameters, tolerance: float) -> float:
    """Return how much of the trace of K_X its pivots may miss.

    A residual of K_X is amplified by K_t^-1 on both sides, so it must be smaller than that of K_PA.
    """
    return 0.05 * parameters.noise**2 * tolerance


def excess(missing: float, lack: float, tolerance: float) -> float:
    """Return by how many nats a projection errs too much, where missing `lack` of a trace is worth the tolerance."""
    return tolerance * max(missing / lack - LACK_SLACK, 0.0)


def response_error(R: Floats, tau: float, fit: float, t: float, noise2: float) -> tuple[float, float]:
    """Return by how much L~ can exceed L and fall short of it through what is missing of K_X (and t of K_PA).

    Args:
        R: the triangular factor of (Z, U): (Z U' + U Z')/2 has the eigenvalues of a 2r x 2r matrix made of it.
        tau: the trace missing of K_X.
        fit: tr(T W).
        t: what K_PA lacks, as in `LowRankEngine.certified`.
        noise2: s_e^2.
    """
    r = R.shape[1] // 2
    half = R[:, :r] @ R[:, r:].T
    values = np.linalg.eigvalsh(0.5 * (half + half.T))
    low, high = min(float(values[0]), 0.0), max(float(values[-1]), 0.0)
    above = (2.0 * tau * high + tau**2 / noise2) / 2.0
    below = (fit - max(fit + tau * low, 0.0) ** 2 / (fit + t)) / 2.0
    return above, below
