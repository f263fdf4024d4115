"""Marginal likelihoods with a fixed response kernel: Marg of the paper, and the score it goes back to.

`marginal` is Marg as Wang et al. (ICML 2024) compared it: their own score with the response bandwidth held at the
heuristic (twice the median distance) and without the Jacobian term, everything else the same,

    S(X, PA) = -1/2 tr(K_X K_t^-1 K_X) - n/2 log|K_t| - n^2/2 log 2pi          K_t = K_PA + s_e^2 I

`marginal-huang` is the marginal likelihood of Huang et al. (*Generalized Score Functions for Causal Discovery*, KDD
2018): the response kernel is centred, and the kernel of the parents has a free amplitude a,

    S(X, PA) = -1/2 tr(C K_t^-1 C) - n/2 log|K_t| - n^2/2 log 2pi              C = H K_X H,  H = I - 11'/n
    K_t      = a (K_PA + s_e^2 I)

Here s_e is the noise in units of the amplitude: the noise of their formula is sqrt(a) s_e. In the engines an
amplitude is a response divided by r = sqrt(a), and t(r) = -n^2 log r is what it adds to the determinant. Both report
the maximum of S/n.
"""

import math
from dataclasses import dataclass
from typing import ClassVar

from kerncause.data import Points
from kerncause.kernels import median_heuristic
from kerncause.regression import CentredKernelResponse, KernelResponse
from kerncause.scores.kernel import KernelScore
from kerncause.scores.optimise import Interval
from kerncause.scores.response_model import NoTerm, ResponseModel

# Of r; the trace of the centred kernel bounds a from above by 1 and the noise keeps it from 0.
AMPLITUDE_BOUNDS: Interval = (1e-4, 1e2)
# Of s_e: a response that has nothing to do with its parents has an amplitude of almost none of its noise.
NOISE_BOUNDS: Interval = (0.001, 1000.0)


class MarginalScore(KernelScore):
    """Marg of the paper: s_x fixed, no J."""

    def _model(self, points: Points, whole: Points) -> ResponseModel:
        """Return K_X at the heuristic of all rows."""
        s_x = median_heuristic(whole)
        return ResponseModel(KernelResponse(), s_x, s_x, (s_x, s_x), NoTerm())


@dataclass(frozen=True)
class AmplitudeTerm:
    """t(r) = -n^2 log r: the part of -n/2 log|r^2 (K_PA + s_e^2 I)| that belongs to r."""

    n: int

    def value(self, parameter: float) -> float:
        """Return t(r)."""
        return -(float(self.n) ** 2) * math.log(parameter)

    def gradient(self, parameter: float) -> float:
        """Return -n^2."""
        return -(float(self.n) ** 2)


class HuangMarginalScore(KernelScore):
    """The marginal likelihood of Huang et al. 2018: centred response kernel, learned amplitude."""

    response_parameter: ClassVar[str | None] = "amplitude"

    default_noise_bounds: ClassVar[Interval] = NOISE_BOUNDS

    def _model(self, points: Points, whole: Points) -> ResponseModel:
        """Return H K_X H / r at the heuristic of all rows."""
        response = CentredKernelResponse(median_heuristic(whole))
        return ResponseModel(response, 1.0, None, AMPLITUDE_BOUNDS, AmplitudeTerm(points.n))

    def _response_figures(self, value: float, response: Points) -> tuple[float | None, float | None]:
        """Return s_x, which is fixed, and r."""
        return median_heuristic(response), value
