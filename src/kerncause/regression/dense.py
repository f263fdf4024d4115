"""The dense engine: every matrix written out, O(n^3). It is what every other engine is tested against."""

from typing import Self

import numpy as np
import numpy.typing as npt

from kerncause.kernels import scatter
from kerncause.linalg import Cholesky, shifted
from kerncause.regression.base import LOG_2PI, Evaluation, ExactEngine, Parameters, Problem
from kerncause.regression.sides import inputs_of

Floats = npt.NDArray[np.float64]


class DenseEngine(ExactEngine):
    """L by Cholesky of the n x n matrix K_t.

    With A = K_t^-1 Y and G = dL/dK_t = 1/2 (A A' - q K_t^-1):

        dL/dlog s_k = sum(G o K_PA o D_k) / s_k^2          D_k: squared distances of parent k (others: `kernels.shape`)
        dL/dlog s_e = 2 s_e^2 tr(G)
        dL/dlog r   = -sum(A o dY/dlog r)
    """

    name = "dense"

    def __init__(self, problem: Problem) -> None:
        problem = problem.repeated()
        self._n, self._outputs = problem.n, problem.outputs
        self._response = problem.model.grouped(problem.response)
        self._codes = problem.response.codes
        _, self._parents = inputs_of(problem, np.arange(problem.n))

    @classmethod
    def of(cls, problem: Problem, start: Parameters, tolerance: float) -> Self:
        """Build the engine; being exact, it needs neither a place to start nor a tolerance."""
        return cls(problem)

    @staticmethod
    def cost(problem: Problem, start: Parameters, tolerance: float) -> float:
        """Floating-point operations of one evaluation, roughly."""
        return 5.0 * problem.n**3

    @staticmethod
    def memory(problem: Problem, start: Parameters) -> float:
        """Bytes held at the peak of one evaluation."""
        return dense_bytes(problem.n, len(problem.response.distinct), len(problem.parents))

    def evaluate(self, parameters: Parameters) -> Evaluation:
        """Return L and its gradient."""
        n, q = self._n, self._outputs
        y, dy = self._response.factor(parameters.response_bandwidth)
        Y = y[self._codes]
        (K_PA, slope), points = self._parents.matrix_and_slope(parameters.parents), self._parents.points
        factor = _factor(K_PA, parameters.noise)
        A = factor.solve(Y)
        G = 0.5 * (A @ A.T - q * factor.inverse())
        return Evaluation(
            value=-0.5 * float(np.vdot(A, Y)) - 0.5 * q * factor.log_determinant - 0.5 * n * q * LOG_2PI,
            response_bandwidth=-float(np.vdot(A, dy[self._codes])),
            parents=self._parents.gradient(scatter(G * slope, points, points), parameters.parents),
            noise=2.0 * parameters.noise**2 * float(np.trace(G)),
        )

    def residuals(self, parameters: Parameters) -> Floats:
        """Return Y - K_PA K_t^-1 Y, which is s_e^2 K_t^-1 Y."""
        Y = self._response.outputs(parameters.response_bandwidth)[self._codes]
        K_PA = self._parents.matrix(parameters.parents)
        return parameters.noise**2 * _factor(K_PA, parameters.noise).solve(Y)


def dense_bytes(n: int, v: int, parents: int) -> float:
    """Return the bytes held at the peak of one evaluation, for n rows with v different responses."""
    return 8.0 * (n**2 * (parents + 7.0) + 5.0 * v**2)


def _factor(K_PA: Floats, noise: float) -> Cholesky:
    return Cholesky.of(shifted(K_PA, noise**2), "the kernel matrix of the parents with its noise")
