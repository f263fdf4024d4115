"""Maximising a kernel likelihood over its bandwidths and noise, in log-space, from several starts.

The likelihood has a ridge: a longer response bandwidth shrinks the features, and the noise with them, so the
optimum lies in a narrow curved valley of (log s_x, log s_e). Along it L-BFGS-B meets its stopping rule early
and reports success, sometimes several nats short (the tests keep three such fits of SACHS). So the ascent runs
in the coordinates

    z = (log s_x, log s_1..log s_k, log s_e + log s_x)

with the true bounds of s_x and s_1..s_k. Where it ends with the noise at a bound it is finished in
(log s_x, log s_1..log s_k, log s_e) with the true bounds of all. The objective is handed over divided by n,
so that its value is of order one and the optimiser's default tolerances are relative to the problem's size.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.optimize import Bounds, minimize

from kerncause.kernels import JacobianTerm
from kerncause.regression import Engine, Parameters

Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]
# An ascent that needs new pivots this often is going nowhere.
MOST_ENGINES = 6

Loss = Callable[[Floats], tuple[float, Floats]]


@dataclass(frozen=True, eq=False)
class Layout:
    """How the free parameters lie in the optimiser's vector: log of [s_x] [s_1..s_k or s_p] [s_e]."""

    fixed_response: float | None
    parents: int
    shared: bool
    response_bounds: Interval
    parent_bounds: Interval
    noise_bounds: Interval

    @property
    def _free_bandwidths(self) -> int:
        return min(self.parents, 1) if self.shared else self.parents

    @cached_property
    def limits(self) -> Floats:
        """The bounds of the free parameters themselves, lower then upper, (2, d)."""
        response = [self.response_bounds] if self.fixed_response is None else []
        return np.array([*response, *[self.parent_bounds] * self._free_bandwidths, self.noise_bounds]).T

    @cached_property
    def log_limits(self) -> Floats:
        """The bounds of the optimiser's vector, (2, d)."""
        return np.log(self.limits)

    def start(self, heuristic: Parameters, scale: float) -> Floats:
        """Return the heuristic with its bandwidths scaled, inside the bounds."""
        response = [scale * heuristic.response_bandwidth] if self.fixed_response is None else []
        parents = scale * heuristic.bandwidths
        if self.shared and self.parents:
            parents = np.exp(np.log(parents).mean(keepdims=True))
        low, high = self.log_limits
        return np.clip(np.log([*response, *parents, heuristic.noise]), low, high)

    def unpacked(self, theta: Floats) -> Parameters:
        """Return the parameters a vector stands for."""
        # exp(log(10)) is not quite 10: end exactly on a bound that was reached.
        values = np.minimum(np.maximum(np.exp(theta), self.limits[0]), self.limits[1])
        bandwidths = values[-1 - self._free_bandwidths : -1]
        return Parameters(
            response_bandwidth=float(values[0]) if self.fixed_response is None else self.fixed_response,
            bandwidths=np.repeat(bandwidths, self.parents) if self.shared else bandwidths,
            noise=float(values[-1]),
        )

    def packed_gradient(self, gradient: Parameters) -> Floats:
        """Return the gradient of the vector from that of the parameters."""
        response = [gradient.response_bandwidth] if self.fixed_response is None else []
        parents = gradient.bandwidths
        if self.shared and self.parents:
            parents = parents.sum(keepdims=True)
        return np.array([*response, *parents, gradient.noise])

    def at_bounds(self, theta: Floats, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names of the parameters that lie at a bound."""
        low, high = self.log_limits
        touching = (theta <= low + 1e-9) | (theta >= high - 1e-9)
        response = ["response"] if self.fixed_response is None else []
        parents = list(names)
        if self.shared and self.parents:
            touching = np.concatenate([touching[: len(response)], [touching[-2]] * self.parents, touching[-1:]])
        return tuple(name for name, at in zip([*response, *parents, "noise"], touching, strict=True) if at)


@dataclass(frozen=True, eq=False)
class Objective:
    """S/n of one response and parent set as a function of the parameters."""

    engine: Engine
    jacobian: JacobianTerm
    n: int
    layout: Layout
    heuristic: Parameters

    def adapted(self, theta: Floats) -> "Objective":
        """Return itself, or the objective with an engine that is good at this place."""
        engine = self.engine.adapted(self.layout.unpacked(theta))
        return self if engine is self.engine else replace(self, engine=engine)

    def certified(self, parameters: Parameters) -> tuple[float, float]:
        """Return the best estimate of S/n, and how far off it may be."""
        value, bound = self.engine.certified(parameters)
        return (value + self.jacobian.value(parameters.response_bandwidth)) / self.n, bound / self.n

    def at(self, parameters: Parameters) -> tuple[float, Parameters]:
        """Return S/n and its derivatives by log s_x, log s_1..s_k, log s_e."""
        likelihood = self.engine.evaluate(parameters)
        s_x = parameters.response_bandwidth
        gradient = Parameters(
            (likelihood.response_bandwidth + self.jacobian.gradient(s_x)) / self.n,
            likelihood.bandwidths / self.n,
            likelihood.noise / self.n,
        )
        return (likelihood.value + self.jacobian.value(s_x)) / self.n, gradient

    def scaled_loss(self, theta: Floats) -> tuple[float, Floats]:
        """Return -S/n^2 and its gradient for the optimiser's vector."""
        value, gradient = self.at(self.layout.unpacked(theta))
        return -value / self.n, self.layout.packed_gradient(gradient) / -self.n


@dataclass(frozen=True, eq=False)
class Ascent:
    """Where one start ended, and the objective with the engine that was good enough there."""

    objective: Objective
    value: float
    theta: Floats
    evaluations: int
    converged: bool


def ascend(objective: Objective, theta: Floats) -> Ascent:
    """Maximise from one start; where the end needs a better engine than the start, go on with that."""
    evaluations = 0
    for _ in range(MOST_ENGINES):
        objective = objective.adapted(theta)
        found = _ascend_with(objective, theta)
        evaluations, theta = evaluations + found.evaluations, found.theta
        if objective.adapted(theta) is objective:
            break
    return replace(found, evaluations=evaluations)


def _ascend_with(objective: Objective, theta: Floats) -> Ascent:
    if objective.layout.fixed_response is not None:
        return _ascent(objective, objective.scaled_loss, theta, objective.layout.log_limits)
    tilted = _along_the_ridge(objective, theta)
    low, high = objective.layout.log_limits[:, -1]
    if low < tilted.theta[-1] < high:
        return tilted
    finished = _ascent(objective, objective.scaled_loss, tilted.theta, objective.layout.log_limits)
    return replace(finished, evaluations=tilted.evaluations + finished.evaluations)


def _along_the_ridge(objective: Objective, theta: Floats) -> Ascent:
    """Ascend in z, whose last entry is log s_e + log s_x; the end is given in theta, inside the bounds."""
    limits = objective.layout.log_limits
    low, high = limits[:, -1].tolist()

    def untilted(z: Floats) -> Floats:
        theta = z.copy()
        theta[-1] = min(max(z[-1] - z[0], low), high)
        return theta

    def loss(z: Floats) -> tuple[float, Floats]:
        theta = untilted(z)
        value, gradient = objective.scaled_loss(theta)
        if theta[-1] != z[-1] - z[0]:  # held at a bound: here z moves the noise no further
            gradient[-1] = 0.0
        gradient[0] -= gradient[-1]
        return value, gradient

    start, tilted_limits = theta.copy(), limits.copy()
    start[-1] += theta[0]
    tilted_limits[:, -1] += limits[:, 0]
    found = _ascent(objective, loss, start, tilted_limits)
    return replace(found, theta=untilted(found.theta))


def _ascent(objective: Objective, loss: Loss, start: Floats, limits: Floats) -> Ascent:
    """Run L-BFGS-B with its default settings on a loss scaled as `Objective.scaled_loss` is."""
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=Bounds(*limits))
    return Ascent(objective, -float(found.fun) * objective.n, np.asarray(found.x), int(found.nfev), bool(found.success))
