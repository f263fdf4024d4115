"""Gaussian-process regression in the space of the data: GP of the paper.

    S(X, PA) = -1/2 tr(X' K_t^-1 X) - l/2 log|K_t| - n l/2 log 2pi             K_t = K_PA + s_e^2 I

with X standardised, (n, l), and K_PA the product kernel of the parents; s_1..s_k and s_e are learned, starting from
the heuristic. It sees only how the mean of X depends on its parents. Reported is S/l, nats per column of X.
"""

from typing import ClassVar

from kerncause.data import Points
from kerncause.regression import DataResponse
from kerncause.scores.kernel import KernelScore
from kerncause.scores.response_model import NoTerm, ResponseModel


class GaussianProcessScore(KernelScore):
    """The marginal likelihood of X itself on its parents."""

    response_parameter: ClassVar[str | None] = None

    def _model(self, points: Points, whole: Points) -> ResponseModel:
        """Return X; there is no parameter to learn."""
        return ResponseModel(DataResponse(), 1.0, 1.0, (1.0, 1.0), NoTerm())

    def _response_figures(self, value: float, response: Points) -> tuple[float | None, float | None]:
        """Return nothing."""
        return None, None
