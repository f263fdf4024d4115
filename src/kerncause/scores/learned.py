"""The score of Wang et al. (ICML 2024): a Gaussian process in kernel space, all bandwidths learned.

    S(X, PA) = -1/2 tr(K_X K_t^-1 K_X) - n/2 log|K_t| - n^2/2 log 2pi + J(s_x)        (eq. 13 of the paper)

is maximised over s_x, s_1..s_k and s_e together, in log-space, by L-BFGS-B with analytic gradients and the
bounds given to the optimiser (`kerncause.scores.optimise`). K_X, K_PA, K_t are those of
`kerncause.regression.base`, J that of `kerncause.kernels.gaussian` (without the sum of log distances, which
cancels in every comparison). Reported is S/n, nats per output column.

Where this departs from the paper, and why:

* One bandwidth per parent (`bandwidths="per-parent"`), as the paper's program has it; its text has one for
  all, which is `bandwidths="shared"`.
* Two starts, twice the median distance and a fifth of that. From the first alone the optimiser can end in
  a basin of long bandwidths tens of nats below the optimum. Larger parent sets begin from smaller ones
  (`precursor`), and what can be found out on few rows is (`kerncause.scores.climb`); with `starts=1` every fit
  begins from the heuristic, as in the paper.
* The weight for tied values in J (see there).
* A binary response has no shape to learn: its kernel has one free value, k(a, b), and the likelihood grows
  without bound as s_x does while s_e shrinks with it. So s_x is held at twice the distance between the two
  values, where k(a, b) = exp(-1/8), whatever the split and whatever the bounds.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from kerncause.data import Dataset, Points
from kerncause.errors import ComputationError, DataError, OptionError
from kerncause.kernels import JacobianTerm, log_distance_sum, median_heuristic
from kerncause.linalg import one_blas_thread
from kerncause.regression import (
    ExactEngine,
    Parameters,
    Problem,
    certified_value,
    check_engine,
    choose_engine,
    make_engine,
)
from kerncause.scores.base import LocalFit, Lookup
from kerncause.scores.climb import START_SCALES, Climb, Precursor, Task, climb, finish
from kerncause.scores.optimise import Ascent, Interval, Layout, Objective
from kerncause.text import quoted

Floats = npt.NDArray[np.float64]
Bandwidths = Literal["per-parent", "shared"]

START_NOISE = 0.1**0.5
MOST_RESIDUAL_ROWS = 8000
# Nats: a provisional value may be off by this much, or more if its engine says so.
LEAST_DOUBT = 0.5
# The same for what the curvature says is missing, in units of that.
DOUBT_OF_PROMISE = 2.0
NOTHING_BESIDE = 0.01
# How much rougher engines may be on fewer rows.
ROUGHER = 10.0


@dataclass(frozen=True)
class ScoreParameters:
    """Parameters by name, or, as a gradient, the derivatives of S/n by their logarithms."""

    response_bandwidth: float
    bandwidths: Mapping[str, float]
    noise: float

    @classmethod
    def of(cls, given: "ScoreParameters | LocalFit | Mapping[str, Any]") -> "ScoreParameters":
        """Take parameters from a fit or from a mapping with the same three names."""
        if isinstance(given, ScoreParameters):
            return given
        if isinstance(given, LocalFit):
            if given.response_bandwidth is None or given.noise is None:
                raise OptionError("the fit has no kernel parameters: give one of a kernel score")
            return cls(given.response_bandwidth, given.bandwidths, given.noise)
        try:
            return cls(given["response_bandwidth"], given.get("bandwidths", {}), given["noise"])
        except (KeyError, TypeError, IndexError) as missing:
            raise OptionError(
                f"the parameters lack {missing}: give response_bandwidth, bandwidths (by parent) and noise"
            ) from None


class LearnedKernelScore:
    """The learned-kernel score of a Dataset.

    Args:
        data: the table.
        engine: `auto` (the cheapest), `dense`, `semidense`, `compressed` or `lowrank`.
        bandwidths: `per-parent` or `shared`.
        starts: how many starts the optimiser gets, 1 to 5.
        tolerance: how far, in nats per output column, `LocalFit.value` may lie from the exact score.
        tie_weight: whether J counts pairs of tied values by weight; the paper does not.
        response_bounds: where s_x may lie, on standardised columns.
        parent_bounds: where each s_k may lie. The upper end acts as a penalty for parents: a parent that
            says nothing costs likelihood because its bandwidth cannot grow without limit.
        noise_bounds: where s_e may lie.
    """

    def __init__(
        self,
        data: Dataset,
        engine: str = "auto",
        bandwidths: Bandwidths = "per-parent",
        starts: int = 2,
        *,
        tolerance: float = 0.01,
        tie_weight: bool = True,
        response_bounds: Interval = (0.1, 10.0),
        parent_bounds: Interval = (0.1, 10.0),
        noise_bounds: Interval = (0.001, 10.0),
    ) -> None:
        if bandwidths not in get_args(Bandwidths):
            raise OptionError(f"bandwidths cannot be {quoted(bandwidths)}: choose per-parent or shared")
        if not isinstance(data, Dataset):
            raise OptionError(f"data is a {type(data).__name__}: make a Dataset of it, with Dataset.from_frame")
        if not isinstance(starts, int) or not 1 <= starts <= len(START_SCALES):
            raise OptionError(f"starts cannot be {starts}: choose 1 to {len(START_SCALES)}")
        for name, (low, high) in {
            "response_bounds": response_bounds,
            "parent_bounds": parent_bounds,
            "noise_bounds": noise_bounds,
        }.items():
            if not 0 < low < high < np.inf:
                raise OptionError(f"{name} cannot be ({low}, {high}): give two positive numbers, the lower first")
        if not 0 < tolerance < np.inf:
            raise OptionError(
                f"tolerance (--tolerance) cannot be {tolerance}: give a positive number of nats, such as 0.01"
            )
        self.data = data
        self._table = data.compact
        self._options: dict[str, Any] = {
            "engine": check_engine(engine),
            "bandwidths": bandwidths,
            "starts": starts,
            "tolerance": tolerance,
            "tie_weight": tie_weight,
            "response_bounds": response_bounds,
            "parent_bounds": parent_bounds,
            "noise_bounds": noise_bounds,
        }

    @property
    def options(self) -> Mapping[str, Any]:
        """The settings of this score, as keyword arguments."""
        return dict(self._options)

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables' names, in the order by which a search breaks ties."""
        return self.data.canonical

    @property
    def incomplete(self) -> frozenset[str]:
        """The variables that lack a value in some row."""
        return self.data.incomplete

    def restricted_to(self, variables: Collection[str]) -> "LearnedKernelScore":
        """Return the score on the rows where all of `variables` have a value (equal rows may be counted)."""
        return LearnedKernelScore(self._table.complete_for(variables), **self._options)

    def prepare(self) -> None:
        """Group equal values of every variable, and measure where its bandwidth starts."""
        for name in self.data.names:
            median_heuristic(self._table.points(name))

    def local_score(self, target: str, parents: Collection[str] = ()) -> float:
        """Return the maximum of S/n."""
        return self.fit(target, parents).value

    def precursor(self, target: str, parents: Collection[str], lookup: Lookup) -> LocalFit | list[frozenset[str]]:
        """Return the fit without the parent that alone explains least, or what must be fitted to know it."""
        if len(parents) < 2 or not self._is_staged:
            return []
        alone = {name: lookup(frozenset({name})) for name in self.data.in_canonical_order(parents)}
        fits = {name: fit for name, fit in alone.items() if fit is not None}
        if len(fits) < len(alone):
            return [frozenset({name}) for name in alone if name not in fits]
        least = min(fits, key=lambda name: fits[name].before_settling.value)
        rest = frozenset(parents) - {least}
        begin = lookup(rest)
        return [rest] if begin is None else begin.before_settling

    @property
    def _is_staged(self) -> bool:
        """One start is the paper's, from the heuristic; one bandwidth for all has no new one to begin from."""
        return bool(self._options["starts"] > 1 and self._options["bandwidths"] == "per-parent")

    def fit(
        self, target: str, parents: Collection[str] = (), begin: LocalFit | None = None, *, settle: bool = True
    ) -> LocalFit:
        """Maximise S/n over all bandwidths and the noise.

        `begin` is the fit of `precursor`, which is computed if it is not given. With `settle=False` the value is
        the one the ascent ended with: not certified, and off by a fraction of a nat where kernels are projected.
        """
        names, data = self._rows_for(target, parents)
        if not _varies(data, target):
            # Gaps elsewhere left no row, or one value: nothing to explain, so no parent gains anything.
            return LocalFit(value=0.0, engine="none", evaluations=0, rows=data.n_rows)
        if begin is None and len(names) > 1 and self._is_staged:
            begin = self._begin(target, frozenset(names))
        with one_blas_thread():
            task = self._task(target, names, data, self._options["engine"])
            starts, tolerance = self._options["starts"], self._options["tolerance"]
            climbed = climb(task, starts, tolerance, _precursor_of(task, names, begin), self._is_staged)
        fit = self._fit_at(climbed.best, names, task, climbed.starts_disagree)
        if climbed.is_final and isinstance(climbed.best.objective.engine, ExactEngine):
            return fit
        fit = self._provisional(fit, climbed, task)
        return self.settled(target, parents, fit) if settle else fit

    @staticmethod
    def _fit_at(end: Ascent, names: tuple[str, ...], task: Task, starts_disagree: bool) -> LocalFit:
        parameters, engine = task.layout.unpacked(end.theta), end.objective.engine
        return LocalFit(
            value=end.value,
            bandwidths=dict(zip(names, parameters.bandwidths.tolist(), strict=True)),
            response_bandwidth=parameters.response_bandwidth,
            noise=parameters.noise,
            engine=engine.name,
            rank=engine.rank,
            evaluations=end.evaluations,
            converged=end.converged,
            starts_disagree=starts_disagree,
            at_bounds=task.layout.at_bounds(end.theta, names),
            rows=task.n,
        )

    @staticmethod
    def _provisional(fit: LocalFit, climbed: Climb, task: Task) -> LocalFit:
        """Return the fit with a guess of the value at the end of its ascent, and of how far off that is."""
        best = climbed.best
        lack = best.objective.engine.provisional_error(task.layout.unpacked(best.theta))
        # Where the projection lacks much more than that, going on would gain nothing.
        is_final = climbed.is_final or best.promised <= NOTHING_BESIDE * lack
        missing = 0.0 if is_final else best.promised
        return replace(
            fit,
            value=best.value + missing,
            is_settled=False,
            certified=False,
            error_bound=max(lack, LEAST_DOUBT) + DOUBT_OF_PROMISE * missing,
            curvature=None if is_final else tuple(map(tuple, best.curvature.tolist())),
        )

    def settled(self, target: str, parents: Collection[str], fit: LocalFit) -> LocalFit:
        """Return a provisional fit with the best estimate of its value, and a bound on the error."""
        if fit.is_settled:
            return fit
        names, data = self._rows_for(target, parents)
        tolerance = self._options["tolerance"]
        with one_blas_thread():
            task = self._task(target, names, data, self._options["engine"])
            final = self._finished(task, names, fit)
            if final.is_settled:
                return final
            value, bound = task.certified_at(final.engine, _checked(final, names))
        return replace(final, value=value, error_bound=bound, certified=bound <= tolerance, is_settled=True)

    def _finished(self, task: Task, names: tuple[str, ...], fit: LocalFit) -> LocalFit:
        """Return a provisional fit with its ascent at its end; it is settled if its engine is exact."""
        if fit.curvature is None:
            return replace(fit, provisional=fit)
        theta = task.layout.start(_checked(fit, names), 1.0)
        end = finish(task, theta, np.array(fit.curvature), self._options["tolerance"])
        return replace(
            self._fit_at(end, names, task, fit.starts_disagree),
            evaluations=fit.evaluations + end.evaluations,
            provisional=fit,
            is_settled=isinstance(end.objective.engine, ExactEngine),
        )

    def _begin(self, target: str, parents: frozenset[str]) -> LocalFit:
        """Compute the precursor of a parent set, on the rows of that set."""
        score = self.restricted_to({target, *parents})
        fits: dict[frozenset[str], LocalFit] = {}
        wanted = [parents]
        while True:
            first = score.precursor(target, wanted[-1], fits.get)
            if isinstance(first, list) and first:
                wanted += first
            elif wanted[-1] == parents:
                assert isinstance(first, LocalFit)
                return first
            else:
                parent_set = wanted.pop()
                begin = first if isinstance(first, LocalFit) else None
                fits[parent_set] = score.fit(target, parent_set, begin, settle=False)

    def evaluate(
        self,
        target: str,
        parents: Collection[str],
        params: "ScoreParameters | LocalFit | Mapping[str, Any]",
        *,
        absolute: bool = False,
    ) -> tuple[float, ScoreParameters]:
        """Return S/n at given parameters and its gradient with respect to their logarithms.

        `params` has `response_bandwidth`, `bandwidths` (by parent name) and `noise`: a LocalFit, a mapping or
        a ScoreParameters; the gradient has the same shape. `absolute=True` adds the constant of J, the sum of
        log distances over n, for an absolute likelihood.
        """
        names, data = self._rows_for(target, parents)
        at = _checked(params, names)
        _refuse_constant(data, target)
        with one_blas_thread():
            task = self._task(target, names, data, self._options["engine"])
            objective = task.objective_at(at)
            (value, _), (_, gradient, _) = task.certified_at(objective.engine.name, at), objective.at(at)
        if absolute:
            value += log_distance_sum(data.points(target)) / data.n_rows
        by_name = dict(zip(names, gradient.bandwidths.tolist(), strict=True))
        return value, ScoreParameters(gradient.response_bandwidth, by_name, gradient.noise)

    def residuals(self, target: str, parents: Collection[str] = (), fit: LocalFit | None = None) -> Floats:
        """Return K_X - f(PA) at the fitted parameters, (n, n), rows and columns in the order of the table.

        f(PA) = K_PA (K_PA + s_e^2 I)^-1 K_X is the posterior mean. With gaps in the table, n counts the rows
        complete for the target and the parents.
        """
        names, data = self._rows_for(target, parents, self.data)
        _refuse_constant(data, target)
        if data.n_rows > MOST_RESIDUAL_ROWS:
            raise ComputationError(
                f"the residuals of {data.n_rows:,} rows are an array of their square: "
                f"draw a sample of at most {MOST_RESIDUAL_ROWS:,} rows"
            )
        at = _checked(fit or self.fit(target, parents), names)
        is_counted, data = data.weights is not None, data.repeated()
        with one_blas_thread():
            task = self._task(target, names, data, self._options["engine"])
            canonical = task.objective_at(at).engine.residuals(at)
        if is_counted:  # a restricted score, whose rows have no order of their own
            return canonical
        place = np.argsort(data.row_order)
        return canonical[np.ix_(place, place)]

    def _rows_for(
        self, target: str, parents: Collection[str], table: Dataset | None = None
    ) -> tuple[tuple[str, ...], Dataset]:
        """Return the parents in canonical order and the rows complete for them and the target.

        Equal rows are counted, not repeated, unless another table is given.
        """
        if isinstance(parents, str):
            raise OptionError(f"parents is the text {quoted(parents)}: give a list of names")
        self.data.variable(target)
        names = self.data.in_canonical_order(parents)
        if target in names:
            raise OptionError(f"{quoted(target)} cannot be its own parent")
        wanted = {target, *names}
        return names, self._table.complete_for(wanted).compact if table is None else table.complete_for(wanted)

    def _task(
        self, target: str, names: tuple[str, ...], data: Dataset, engine: str, tolerance: float | None = None
    ) -> Task:
        """Set up the fit of a target and its parents on the rows of `data`.

        Fewer rows only show where to look, so any engine will do there, and a rougher one. The dense engine is
        what everything else is compared with: it takes no such shortcut.
        """
        response, parents = data.points(target), tuple(data.points(name) for name in names)
        problem = Problem(response, parents)
        heuristic = Parameters(
            median_heuristic(response), np.array([median_heuristic(p) for p in parents]), START_NOISE
        )
        layout = Layout(
            fixed_response=fixed_response_bandwidth(response),
            parents=len(parents),
            shared=self._options["bandwidths"] == "shared",
            response_bounds=self._options["response_bounds"],
            parent_bounds=self._options["parent_bounds"],
            noise_bounds=self._options["noise_bounds"],
        )
        tolerance = self._options["tolerance"] if tolerance is None else tolerance
        jacobian = JacobianTerm.of(response, self._options["tie_weight"])

        def objective_at(place: Parameters) -> Objective:
            return Objective(make_engine(problem, engine, place, tolerance), jacobian, data.n_rows, layout)

        def certified_at(name: str, place: Parameters) -> tuple[float, float]:
            value, bound = certified_value(problem, name, place, tolerance)
            return (value + jacobian.value(place.response_bandwidth)) / data.n_rows, bound / data.n_rows

        def on_fewer(rows: int) -> Task | None:
            chosen = choose_engine(problem, engine, heuristic, tolerance)
            if rows >= data.n_rows or chosen in ("compressed", "dense") or data.weights is not None:
                return None  # a few rows would not repeat as all rows do
            thinned = data.thinned(rows)
            levels = len(thinned.points(target).distinct)
            is_same_problem = levels > 2 or levels == len(response.distinct)
            if not is_same_problem:
                return None
            return self._task(target, names, thinned, "auto", ROUGHER * self._options["tolerance"])

        return Task(layout, heuristic, data.n_rows, objective_at, certified_at, on_fewer)


def _precursor_of(task: Task, names: tuple[str, ...], begin: LocalFit | None) -> Precursor | None:
    """Return the optimum of a fit without one of the parents, with that parent off and at a fifth of its heuristic."""
    if begin is None or begin.response_bandwidth is None or begin.noise is None:
        return None
    off, short = (
        Parameters(
            begin.response_bandwidth,
            np.array([begin.bandwidths.get(name, new) for name, new in zip(names, others, strict=True)]),
            begin.noise,
        )
        for others in (
            [task.layout.parent_bounds[1]] * len(names),
            (START_SCALES[1] * task.heuristic.bandwidths).tolist(),
        )
    )
    return Precursor(off, short)


def _varies(data: Dataset, target: str) -> bool:
    return data.n_rows > 0 and len(data.points(target).distinct) > 1


def _refuse_constant(data: Dataset, target: str) -> None:
    if not _varies(data, target):
        raise DataError(
            f"{quoted(target)} has fewer than two values on the {data.n_rows} rows complete for these parents: "
            "leave out the parent with the gaps"
        )


def _checked(params: "ScoreParameters | LocalFit | Mapping[str, Any]", names: tuple[str, ...]) -> Parameters:
    """Return parameters in the order of `names`; refuse missing, surplus and senseless ones."""
    given = ScoreParameters.of(params)
    if set(given.bandwidths) != set(names):
        raise OptionError(f"bandwidths are given for {sorted(given.bandwidths)} but the parents are {sorted(names)}")
    values = [given.response_bandwidth, *given.bandwidths.values(), given.noise]
    if not all(isinstance(v, int | float | np.number) and 0 < v < np.inf for v in values):
        raise OptionError(f"the parameters {values} are not all positive numbers: bandwidths and noise must be")
    return Parameters(
        float(given.response_bandwidth), np.array([float(given.bandwidths[n]) for n in names]), float(given.noise)
    )


def fixed_response_bandwidth(response: Points) -> float | None:
    """Return the s_x of a binary response, twice the distance between its two values; None for others."""
    if len(response.distinct) != 2:
        return None
    return 2.0 * float(np.linalg.norm(response.distinct[1] - response.distinct[0]))
