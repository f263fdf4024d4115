"""Maximising a kernel likelihood over its bandwidths and noise, in log-space, from several starts.

Two ways up. `ascend` is L-BFGS-B, from anywhere. `refine` is for where few evaluations can be afforded: a
projected quasi-Newton ascent that is given the curvature, found on fewer rows (the loss is per row, so it is
about the same there), and that stops when its model promises no more than so many nats.

The likelihood has a ridge: a longer response bandwidth shrinks the features, and the noise with them, so the
optimum lies in a narrow curved valley of (log s_x, log s_e). Along it L-BFGS-B meets its stopping rule early
and reports success, sometimes several nats short (the tests keep three such fits of SACHS). So the ascent runs
in the coordinates

    z = (log s_x, log s_1..log s_k, log s_e + log s_x)

with the true bounds of s_x and s_1..s_k. Where it ends with the noise at a bound it is finished in
(log s_x, log s_1..log s_k, log s_e) with the true bounds of all. The objective is handed over divided by n,
so that its value is of order one and the optimiser's default tolerances are relative to the problem's size.
`refine` has no need of these coordinates: Newton steps are the same in all.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular
from scipy.optimize import Bounds, lsq_linear, minimize

from kerncause.regression import Engine, Parameters, values_at

Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]
# An ascent that needs new pivots this often is going nowhere.
MOST_ENGINES = 12
# Where `ascend` stops: relative decrease of the loss (L-BFGS-B's default, and where an ascent only explores).
CLOSELY = 1e7 * float(np.finfo(float).eps)
ROUGHLY = 1e-5
# Of `refine`.
DIFFERENCE = 1e-3
LEAST_CURVATURE = 1e-6
HIGHEST_CURVATURE = 10.0
LONGEST_STEP = 1.0
MOST_EVALUATIONS = 60
SUFFICIENT = 1e-4
TOO_MUCH = 0.2

Loss = Callable[[Floats], tuple[float, Floats]]


class Term(Protocol):
    """A term of the objective in the response's parameter r alone, such as `kerncause.kernels.JacobianTerm`."""

    def value(self, parameter: float, /) -> float:
        """Return t(r)."""
        ...

    def gradient(self, parameter: float, /) -> float:
        """Return its derivative by log r."""
        ...


@dataclass(frozen=True, eq=False)
class Layout:
    """How the free parameters lie in the optimiser's vector: log of [s_x] [s_1..s_k or s_p] [s_e].

    Parameters of the parents that are `signed` are weights, and lie there as they are. With a `metric` C, a lower
    triangle, (k, k), ascents go along C'w instead of the weights w themselves.
    """

    fixed_response: float | None
    parents: int
    shared: bool
    response_bounds: Interval
    parent_bounds: Interval
    noise_bounds: Interval
    signed: bool = False
    metric: Floats | None = None

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
        return self._packed(self.limits)

    def _packed(self, values: Floats) -> Floats:
        """Return parameters as they lie in the optimiser's vector."""
        logs = np.where(self._is_log, values, 1.0)
        packed: Floats = np.where(self._is_log, np.log(logs), values)
        return packed

    @cached_property
    def _is_log(self) -> npt.NDArray[np.bool_]:
        """Which entries of the optimiser's vector are logarithms, (d,)."""
        response = 0 if self.fixed_response is not None else 1
        return np.array([True] * response + [not self.signed] * self._free_bandwidths + [True])

    def start(self, heuristic: Parameters, scale: float) -> Floats:
        """Return the heuristic with its bandwidths scaled, inside the bounds."""
        response = [scale * heuristic.response_bandwidth] if self.fixed_response is None else []
        parents = scale * heuristic.parents
        if self.shared and self.parents:
            parents = np.exp(np.log(parents).mean(keepdims=True))
        low, high = self.log_limits
        return np.clip(self._packed(np.array([*response, *parents, heuristic.noise])), low, high)

    def switched_on(self, theta: Floats) -> Floats:
        """Return the place with every parent at the upper bound of its bandwidth moved to half of that."""
        result = theta.copy()
        if self.signed:
            return result
        parents = result[-1 - self._free_bandwidths : -1]  # a view
        high = np.log(self.parent_bounds[1])
        parents[parents >= high - 1e-3] = max(high - np.log(2.0), np.log(self.parent_bounds[0]))
        return result

    def unpacked(self, theta: Floats) -> Parameters:
        """Return the parameters a vector stands for."""
        # exp(log(10)) is not quite 10: end exactly on a bound that was reached.
        values = np.where(self._is_log, np.exp(np.where(self._is_log, theta, 0.0)), theta)
        values = np.minimum(np.maximum(values, self.limits[0]), self.limits[1])
        bandwidths = values[-1 - self._free_bandwidths : -1]
        return Parameters(
            response_bandwidth=float(values[0]) if self.fixed_response is None else self.fixed_response,
            parents=np.repeat(bandwidths, self.parents) if self.shared else bandwidths,
            noise=float(values[-1]),
        )

    def packed_gradient(self, gradient: Parameters) -> Floats:
        """Return the gradient of the vector from that of the parameters."""
        response = [gradient.response_bandwidth] if self.fixed_response is None else []
        parents = gradient.parents
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
    """S/q of one response of q outputs and its parents on n rows, as a function of the parameters."""

    engine: Engine
    term: Term
    n: int
    outputs: int
    layout: Layout

    def adapted(self, theta: Floats) -> "Objective":
        """Return itself, or the objective with an engine that is good at this place."""
        engine = self.engine.adapted(self.layout.unpacked(theta))
        return self if engine is self.engine else replace(self, engine=engine)

    def at(self, parameters: Parameters) -> tuple[float, Parameters, float]:
        """Return S/q, its derivatives by log s_x, log s_1..s_k, log s_e, and by how much the engine errs too much."""
        likelihood = self.engine.evaluate(parameters)
        r, q = parameters.response_bandwidth, self.outputs
        gradient = Parameters(
            (likelihood.response_bandwidth + self.term.gradient(r)) / q, likelihood.parents / q, likelihood.noise / q
        )
        return (likelihood.value + self.term.value(r)) / q, gradient, likelihood.excess

    def values(self, places: Sequence[Parameters]) -> list[float]:
        """Return S/q at every place."""
        found = values_at(self.engine, places)
        return [
            (value + self.term.value(place.response_bandwidth)) / self.outputs
            for value, place in zip(found, places, strict=True)
        ]

    def judged_loss(self, theta: Floats) -> tuple[float, Floats, float]:
        """Return -S/(q n) and its gradient for the optimiser's vector, and the engine's excess error in nats."""
        value, gradient, excess = self.at(self.layout.unpacked(theta))
        return -value / self.n, self.layout.packed_gradient(gradient) / -self.n, excess

    def scaled_loss(self, theta: Floats) -> tuple[float, Floats]:
        """Return -S/(q n) and its gradient for the optimiser's vector."""
        value, gradient, _ = self.judged_loss(theta)
        return value, gradient


@dataclass(frozen=True, eq=False)
class Ascent:
    """Where one start ended, and the objective with the engine that was good enough there.

    `curvature` is the Hessian of the loss there, as far as it is known, and `promised` how many nats it says are
    missing.
    """

    objective: Objective
    value: float
    theta: Floats
    evaluations: int
    converged: bool
    curvature: Floats = field(default_factory=lambda: np.empty((0, 0)))
    promised: float = 0.0


def ascend(objective: Objective, theta: Floats, least_step: float = CLOSELY) -> Ascent:
    """Maximise from one start, until a step lowers the loss by no more than this share of it.

    As long as the end needs another engine than the start, the ascent goes on with that.
    """
    evaluations = 0
    good = objective.adapted(theta)
    for _ in range(MOST_ENGINES):
        objective = good
        found = _ascend_with(objective, theta, least_step)
        evaluations, theta = evaluations + found.evaluations, found.theta
        good = objective.adapted(theta)
        if good is objective:
            break
    return replace(found, evaluations=evaluations)


def refine(objective: Objective, theta: Floats, curvature: Floats, enough: float) -> Ascent:
    """Maximise from a place near a maximum, given the curvature of the loss, until `enough` nats are missing.

    Where the engine is good no longer the ascent goes on with another.
    """
    evaluations = 0
    for _ in range(MOST_ENGINES):
        found, is_good = _refined(objective, theta, curvature, enough)
        evaluations, theta, curvature = evaluations + found.evaluations, found.theta, found.curvature
        if is_good:
            break
        objective = objective.adapted(theta)
    return replace(found, evaluations=evaluations)


def curvature(objective: Objective, theta: Floats) -> Floats:
    """Return the Hessian of the loss by differences of its gradient, made positive definite, (d, d)."""
    objective = objective.adapted(theta)
    _, high = objective.layout.log_limits
    _, here = objective.scaled_loss(theta)
    steps = np.where(theta + DIFFERENCE <= high, DIFFERENCE, -DIFFERENCE)
    rows = [(objective.scaled_loss(theta + step)[1] - here) / step.sum() for step in np.diag(steps)]
    hessian = np.array(rows)
    values, vectors = np.linalg.eigh(0.5 * (hessian + hessian.T))
    size = np.abs(values)
    definite: Floats = (vectors * np.maximum(size, LEAST_CURVATURE * size.max())) @ vectors.T
    return definite


def _refined(objective: Objective, theta: Floats, H: Floats, enough: float) -> tuple[Ascent, bool]:
    """Take Newton steps with a curvature H that learns from each (BFGS), to the end or to where the engine is bad.

    An engine is bad where it errs more than it was to, by a good part of what the next step promises. What it errs
    too much at the place it was made for another would as well.
    """
    low, high = objective.layout.log_limits
    value, gradient, unavoidable = objective.judged_loss(theta)
    excess = 0.0
    evaluations, converged, is_measured, promised = 1, False, False, 0.0
    while evaluations < MOST_EVALUATIONS:
        step = _newton_step(gradient, H, np.maximum(low - theta, -LONGEST_STEP), np.minimum(high - theta, LONGEST_STEP))
        promised = -float(gradient @ step + 0.5 * step @ H @ step) * objective.n
        if excess > TOO_MUCH * promised:
            break
        if promised <= enough:
            free = step != 0.0
            if is_measured or np.square(gradient[free]).sum() * objective.n <= 2.0 * HIGHEST_CURVATURE * enough:
                converged = True
                break
            # It is steep here, so that little is promised only because the curvature is wrong: measure it.
            H, is_measured = curvature(objective, theta), True
            evaluations += len(theta) + 1
            continue
        shortened = 1.0
        while True:
            there = np.clip(theta + shortened * step, low, high)
            value_there, gradient_there, excess_there = objective.judged_loss(there)
            evaluations += 1
            slope = shortened * float(gradient @ step)
            excess = value_there - value - slope
            if value_there <= value + SUFFICIENT * slope or evaluations >= MOST_EVALUATIONS:
                break
            shortened *= min(max(-slope / (2.0 * excess), 0.1), 0.5)
        if value_there > value:
            break
        H = _updated(H, there - theta, gradient_there - gradient)
        theta, value, gradient = there, value_there, gradient_there
        excess = max(excess_there - 2.0 * unavoidable, 0.0)
    return Ascent(objective, -value * objective.n, theta, evaluations, converged, H, promised), excess == 0.0


def _newton_step(gradient: Floats, H: Floats, low: Floats, high: Floats) -> Floats:
    """Minimise g'p + 1/2 p'Hp over a box that contains 0; H = L L' makes it |L'p + L^-1 g|^2 / 2 + constant."""
    step: Floats = np.asarray(-np.linalg.solve(H, gradient), dtype=np.float64)
    if np.all(step >= low) and np.all(step <= high):
        return step
    lower = np.linalg.cholesky(H)
    found = lsq_linear(lower.T, -np.linalg.solve(lower, gradient), bounds=(low, high), method="bvls")
    held: Floats = np.asarray(found.x)
    return held


def _updated(H: Floats, step: Floats, change: Floats) -> Floats:
    """Return the BFGS update of H, damped where the loss curves the wrong way (Powell 1978)."""
    Hs = H @ step
    sHs, sy = float(step @ Hs), float(step @ change)
    if sHs <= 0.0:  # the step was shortened to nothing
        return H
    if sy < 0.2 * sHs:
        share = 0.8 * sHs / (sHs - sy)
        change = share * change + (1.0 - share) * Hs
        sy = float(step @ change)
    return H + np.outer(change, change) / sy - np.outer(Hs, Hs) / sHs


def _ascend_with(objective: Objective, theta: Floats, relative_decrease: float) -> Ascent:
    if objective.layout.fixed_response is not None:
        return _ascent(objective, objective.scaled_loss, theta, objective.layout.log_limits, relative_decrease)
    tilted = _along_the_ridge(objective, theta, relative_decrease)
    low, high = objective.layout.log_limits[:, -1]
    if low < tilted.theta[-1] < high:
        return tilted
    finished = _ascent(objective, objective.scaled_loss, tilted.theta, objective.layout.log_limits, relative_decrease)
    return replace(finished, evaluations=tilted.evaluations + finished.evaluations)


def _along_the_ridge(objective: Objective, theta: Floats, relative_decrease: float) -> Ascent:
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
    found = _ascent(objective, loss, start, tilted_limits, relative_decrease)
    return replace(found, theta=untilted(found.theta))


def _ascent(objective: Objective, loss: Loss, start: Floats, limits: Floats, relative_decrease: float) -> Ascent:
    """Run L-BFGS-B on a loss scaled as `Objective.scaled_loss` is, in coordinates where it is round if these are known.

    Bounds of weights mean nothing there. Weights beyond them are held at them, and if the ascent ends with some that
    are, it is finished with the weights themselves as coordinates.
    """
    if objective.layout.metric is None:
        return _minimised(objective, loss, start, limits, relative_decrease)
    rounder = Rounder(objective.layout.metric, limits)
    found = _minimised(objective, rounder.loss(loss), rounder.of(start), rounder.limits, relative_decrease)
    end = rounder.back(found.theta)
    inside = np.clip(end, *limits)
    if np.array_equal(end, inside):
        return replace(found, theta=end)
    finished = _minimised(objective, loss, inside, limits, relative_decrease)
    return replace(finished, evaluations=found.evaluations + finished.evaluations)


def _minimised(objective: Objective, loss: Loss, start: Floats, limits: Floats, relative_decrease: float) -> Ascent:
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=Bounds(*limits), options={"ftol": relative_decrease}
    )
    return Ascent(objective, -float(found.fun) * objective.n, np.asarray(found.x), int(found.nfev), bool(found.success))


class Rounder:
    """The coordinates u = C'w for the weights w in an optimiser's vector, which lie there before the last entry."""

    def __init__(self, metric: Floats, limits: Floats) -> None:
        self._metric, self._all_limits = metric, limits
        self._inverse = solve_triangular(metric, np.eye(len(metric)), lower=True)
        self._weights = slice(-1 - len(metric), -1)
        self.limits = limits.copy()
        self.limits[:, self._weights] = np.array([[-np.inf], [np.inf]])

    def of(self, theta: Floats) -> Floats:
        """Return the coordinates of a place."""
        z = theta.copy()
        z[self._weights] = self._metric.T @ theta[self._weights]
        return z

    def back(self, z: Floats) -> Floats:
        """Return the place with such coordinates."""
        theta = z.copy()
        theta[self._weights] = self._inverse.T @ z[self._weights]
        return theta

    def loss(self, loss: Loss) -> Loss:
        """Return a loss as a function of the coordinates; beyond the bounds of weights it is that at the bounds."""

        def rounded(z: Floats) -> tuple[float, Floats]:
            theta = self.back(z)
            inside = np.clip(theta, *self._all_limits)
            value, gradient = loss(inside)
            of_weights = np.where(inside == theta, gradient, 0.0)[self._weights]
            gradient[self._weights] = self._inverse @ of_weights
            return value, gradient

        return rounded
