"""How a variable becomes the response of a kernel score: what `learned` and its sisters differ in."""

from collections.abc import Callable
from dataclasses import dataclass

from kerncause.regression import Response
from kerncause.scores.optimise import Interval, Term


@dataclass(frozen=True, eq=False)
class ResponseModel:
    """How a variable becomes the response.

    Attributes:
        response: what the engines regress.
        start: where its parameter starts.
        fixed: where it is held, if it is.
        bounds: where it may lie.
        term: t(r).
        constant: gives what an absolute likelihood has beside that.
        least_noise: what the residuals have at least, whatever the parents.
    """

    response: Response
    start: float
    fixed: float | None
    bounds: Interval
    term: Term
    constant: Callable[[], float] = lambda: 0.0
    least_noise: float = 0.0


class NoTerm:
    """t(r) = 0."""

    def value(self, parameter: float) -> float:
        """Return 0."""
        return 0.0

    def gradient(self, parameter: float) -> float:
        """Return 0."""
        return 0.0
