"""Gaussian-process regression on a kernel of the parents: what every engine computes.

The response Y, (n, q), is by default the empirical feature map of X, the n columns of K_X, q = n
(`kerncause.regression.response` has the others); the inputs are the parents:

    K_X(i,j)  = exp(-|x_i - x_j|^2 / (2 s_x^2))
    K_PA(i,j) = exp(-1/2 sum_k |p_ki - p_kj|^2 / s_k^2)           no parents: K_PA = 11'
                (or along one direction: `kerncause.kernels.shape`)
    K_t       = K_PA + s_e^2 I
    L         = -1/2 tr(Y' K_t^-1 Y) - q/2 log|K_t| - n q/2 log 2pi

An engine is built once per (response, parents) and evaluated at many parameters. All engines give the same
L; which one runs is a question of cost (`kerncause.regression.choose`).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self, runtime_checkable

import numpy as np
import numpy.typing as npt

from kerncause.data import Points
from kerncause.kernels import ELLIPSOID, Shape
from kerncause.regression.response import KernelResponse, Response

Floats = npt.NDArray[np.float64]

LOG_2PI = float(np.log(2.0 * np.pi))
# Bytes that one score may take, unless less is said.
MOST_MEMORY = 4.0 * 2**30


@dataclass(frozen=True, eq=False)
class Problem:
    """A response and its parents on the same rows, which may each stand for several of the table's n.

    `model` says how the variable becomes the response, `shape` along what rows of the parents are compared, `memory`
    how many bytes there are for it.
    """

    response: Points
    parents: tuple[Points, ...]
    model: Response = field(default_factory=KernelResponse)
    memory: float = MOST_MEMORY
    shape: Shape = ELLIPSOID

    @property
    def n(self) -> int:
        """Number of rows of the table."""
        return self.response.n

    @property
    def rows(self) -> int:
        """Number of rows given."""
        return len(self.response.values)

    def repeated(self) -> "Problem":
        """Return the same with every row as often as it occurs."""
        parents = tuple(parent.repeated() for parent in self.parents)
        return replace(self, response=self.response.repeated(), parents=parents)

    @property
    def outputs(self) -> int:
        """q, the columns of the response: what L grows with, and is reported per."""
        return self.model.output_count(self.response)


@dataclass(frozen=True, eq=False)
class Parameters:
    """The parameters of one regression: of the response (s_x), of the parents' shape, and s_e (not its square).

    Of an ellipsoid they are the bandwidths s_1..s_k, (k,); of a direction the weights of all columns.
    """

    response_bandwidth: float
    parents: Floats
    noise: float


@dataclass(frozen=True, eq=False)
class Evaluation:
    """L and its derivatives with respect to log s_x, the shape's parameters (log s_1..log s_k, or weights) and log s_e.

    `excess` is by how many nats of L/q, roughly, the engine errs more at these parameters than it was to.
    """

    value: float
    response_bandwidth: float
    parents: Floats
    noise: float
    excess: float = 0.0


class Engine(Protocol):
    """One way to compute L, its gradient, and the residuals of the fit.

    An engine may be good only near the parameters it was made for. `adapted` gives one that is good at others:
    itself if it is.
    """

    @property
    def name(self) -> str:
        """The name a user gives to ask for this engine."""
        ...

    @property
    def rank(self) -> int | None:
        """How many rows the parents' kernel is projected on; None: it is not projected."""
        ...

    def provisional_error(self, parameters: Parameters) -> float:
        """Return how many nats L/q is off in an evaluation, roughly."""
        ...

    def evaluate(self, parameters: Parameters) -> Evaluation:
        """Return L and its gradient."""
        ...

    def adapted(self, parameters: Parameters) -> "Engine":
        """Return an engine that is good at these parameters."""
        ...

    def certified(self, parameters: Parameters) -> tuple[float, float]:
        """Return the best estimate of the exact L at these parameters, and how far off it may be."""
        ...

    def residuals(self, parameters: Parameters) -> Floats:
        """Return Y - K_PA K_t^-1 Y, (n, q), rows (and columns of kernels) in the order of the problem."""
        ...


@runtime_checkable
class ComparingEngine(Engine, Protocol):
    """An engine that compares places for less than an evaluation of each."""

    def values(self, places: Sequence[Parameters]) -> list[float]:
        """Return L at every place."""
        ...


def values_at(engine: Engine, places: Sequence[Parameters]) -> list[float]:
    """Return L at every place."""
    if isinstance(engine, ComparingEngine):
        return engine.values(places)
    return [engine.evaluate(place).value for place in places]


class ExactEngine(ABC):
    """An engine that is exact at all parameters."""

    least_cost = 0.0
    rank: int | None = None

    @abstractmethod
    def evaluate(self, parameters: Parameters) -> Evaluation:
        """Return L and its gradient."""

    @classmethod
    @abstractmethod
    def of(cls, problem: Problem, start: Parameters, tolerance: float) -> Self:
        """Build the engine; being exact, it needs neither a place to start nor a tolerance."""

    @classmethod
    def for_certificate(cls, problem: Problem, start: Parameters, tolerance: float) -> Self:
        """Build the engine."""
        return cls.of(problem, start, tolerance)

    def adapted(self, parameters: Parameters) -> Self:
        """Return itself."""
        return self

    def provisional_error(self, parameters: Parameters) -> float:
        """Return 0."""
        return 0.0

    def certified(self, parameters: Parameters) -> tuple[float, float]:
        """Return L, and 0."""
        return self.evaluate(parameters).value, 0.0
