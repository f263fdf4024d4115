"""The broad engine: the response's kernel written out, the parents' projected on pivots.

With K_PA ~ V V' (V: n x m), Y the features of the response on its v distinct values, y (v, c), Y = P y, and

    B = s_e^2 I + V'V     F = B^-1 V'Y     Z = (Y - V F) / s_e^2 = K_t^-1 Y

    tr(Y' K_t^-1 Y) = s_e^2 |Z|^2 + |F|^2        log|K_t| = (n - m) log s_e^2 + log|B|
    dL/dV = Z F' - q V B^-1                      dL/dlog r = -sum(Z o dY/dlog r)
    dL/d(s_e^2) = 1/2 |Z|^2 - q/2 ((n - m) / s_e^2 + tr B^-1)

The kernel of a vector of five columns needs as many pivots as there are rows, while that of parents along one direction
needs a dozen. One evaluation costs O(n v m) where the dense engine costs O(n^3). Its certificate is the exact value.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from kerncause.linalg import Cholesky, shifted
from kerncause.regression.base import LOG_2PI, Engine, Evaluation, Parameters, Problem
from kerncause.regression.dense import dense_bytes
from kerncause.regression.exact import exact_engine
from kerncause.regression.factors import JITTER, Inputs
from kerncause.regression.response import NO_PIVOTS, GroupedResponse
from kerncause.regression.semidense import excess
from kerncause.regression.sides import inputs_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

# With more pivots than this share of the rows an exact engine costs no more.
MOST_SHARE = 0.25
# What the ascent may err by in the log-determinant, in units of the tolerance.
ASCENT_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class BroadEngine:
    """L with K_X exact and K_PA projected on pivots, which stay while the parameters move."""

    problem: Problem
    tolerance: float
    response: GroupedResponse
    parents: Inputs
    parent_pivots: Ints
    name: ClassVar[str] = "broad"
    least_cost: ClassVar[float] = math.inf  # never the first choice: `LowRankEngine` hands over to it

    @classmethod
    def of(cls, problem: Problem, start: Parameters, tolerance: float) -> Engine:
        """Build the engine with pivots chosen at `start`; an exact one where that takes too many."""
        problem = problem.repeated()
        _, parents = inputs_of(problem, np.arange(problem.n))
        response = problem.model.grouped(problem.response)
        return cls(problem, tolerance, response, parents, NO_PIVOTS)._repivoted(start)

    @classmethod
    def for_certificate(cls, problem: Problem, start: Parameters, tolerance: float) -> Engine:
        """Return an exact engine."""
        return exact_engine(problem, start, tolerance)

    @staticmethod
    def cost(problem: Problem, start: Parameters, tolerance: float) -> float:
        """Infinite: where it is good is known only once the response's pivots have been counted."""
        return math.inf

    @staticmethod
    def memory(problem: Problem, start: Parameters) -> float:
        """Bytes held at the peak of one evaluation, or of the exact engine that certifies."""
        v = len(problem.response.distinct)
        return max(broad_bytes(problem.n, v), dense_bytes(problem.n, v, len(problem.parents)))

    @property
    def rank(self) -> int:
        """How many rows the parents' kernel is projected on."""
        return len(self.parent_pivots)

    def adapted(self, parameters: Parameters) -> Engine:
        """Return itself if its pivots still capture the parents at these parameters, or choose new ones."""
        return self._repivoted(parameters) if self._excess(self._missing(parameters), parameters) else self

    def provisional_error(self, parameters: Parameters) -> float:
        """Return how many nats L/q is off in an evaluation, roughly: what the log-determinant may lack."""
        return self._missing(parameters) / (2.0 * parameters.noise**2)

    def _missing(self, parameters: Parameters) -> float:
        captured = self.parents.basis(parameters.parents, self.parent_pivots).captured()
        return max(self.problem.n - float(captured.sum()), 0.0)

    def _lack(self, parameters: Parameters) -> float:
        return 2.0 * ASCENT_SHARE * self.tolerance * parameters.noise**2

    def _excess(self, missing: float, parameters: Parameters) -> float:
        return excess(missing, self._lack(parameters), self.tolerance)

    def _repivoted(self, parameters: Parameters) -> Engine:
        most = max(int(MOST_SHARE * self.problem.n), 2)
        pivots = self.parents.pivots(parameters.parents, self._lack(parameters), most).rows
        if len(pivots) >= most:
            return exact_engine(self.problem, parameters, self.tolerance)
        return replace(self, parent_pivots=pivots)

    def evaluate(self, parameters: Parameters) -> Evaluation:
        """Return L and its gradient."""
        n, q, m, noise2 = self.problem.n, self.problem.outputs, self.rank, parameters.noise**2
        codes = self.problem.response.codes
        y, dy = self.response.factor(parameters.response_bandwidth)
        P = self.parents.basis(parameters.parents, self.parent_pivots, JITTER)
        K_nm, slope = P.kernel_and_slope(slice(None))
        V, Y = P.features(K_nm), y[codes]
        VtV = V.T @ V
        B = Cholesky.of(shifted(VtV, noise2), "the projected kernel matrix of the parents with its noise")
        F = B.solve(V.T @ Y)
        Z = Y - V @ F
        Z /= noise2
        square, B_inverse = float(np.vdot(Z, Z)), B.inverse()
        left, right = F.T @ P.inverse, q * (B_inverse @ P.inverse)
        pairs = P.scatter((-0.5 * P.inverse.T @ (F @ left - VtV @ right)) * P.slope, None)
        pairs += P.scatter((Z @ left - V @ right) * slope, slice(None))
        log_determinant = (n - m) * math.log(noise2) + B.log_determinant
        fit = noise2 * square + float(np.vdot(F, F))
        d_noise2 = 0.5 * square - 0.5 * q * ((n - m) / noise2 + float(np.trace(B_inverse)))
        return Evaluation(
            value=-0.5 * fit - 0.5 * q * log_determinant - 0.5 * n * q * LOG_2PI,
            response_bandwidth=-float(np.vdot(Z, dy[codes])),
            parents=self.parents.gradient(pairs, parameters.parents),
            noise=2.0 * noise2 * d_noise2,
            excess=self._excess(max(n - float(np.trace(VtV)), 0.0), parameters),
        )

    def certified(self, parameters: Parameters) -> tuple[float, float]:
        """Return the exact L at these parameters, and how far off that may be."""
        return exact_engine(self.problem, parameters, self.tolerance).certified(parameters)

    def residuals(self, parameters: Parameters) -> Floats:
        """Return Y - K_PA K_t^-1 Y from an exact engine."""
        return exact_engine(self.problem, parameters, self.tolerance).residuals(parameters)


def broad_bytes(n: int, v: int) -> float:
    """Return the bytes held at the peak of one evaluation."""
    return 8.0 * (4.0 * n * v + 4.0 * v**2 + 3.0 * MOST_SHARE * n**2)
