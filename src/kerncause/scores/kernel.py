"""Scores that regress a response on a kernel of the parents: what `learned` and its sisters share.

    S(X, PA) = L(Y, PA; r, s_1..s_k, s_e) + t(r)

L is the likelihood of `kerncause.regression.base` for a response Y of q columns with one parameter r, which may be
fixed, and t(r) a term of the response alone. S/q is maximised over the free parameters, by L-BFGS-B with analytic
gradients in log-space, from several starts and from smaller parent sets (`kerncause.scores.climb`), and reported.
A score of this family says what Y, r and t are (`kerncause.scores.response_model`).
"""

import math
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal, Self, get_args

import numpy as np
import numpy.typing as npt

from kerncause.data import EARLIER, WHOLE, Dataset, Kind, Points
from kerncause.errors import ComputationError, DataError, OptionError
from kerncause.kernels import median_heuristic
from kerncause.linalg import one_blas_thread
from kerncause.regression import (
    MOST_MEMORY,
    ExactEngine,
    Parameters,
    Sizes,
    check_engine,
    least_bytes,
    most_bytes,
    nearness,
)
from kerncause.scores.base import LocalFit, Lookup
from kerncause.scores.climb import Climb, Precursor, Task, climb, finish
from kerncause.scores.evidence import Evidence, overdispersion
from kerncause.scores.family import AUTOMATIC, FAMILIES, MOST_FILLED, START_SCALES, Family
from kerncause.scores.optimise import Ascent, Interval, curvature, refine
from kerncause.scores.parameters import R_NAMES, ScoreParameters, check_interval
from kerncause.scores.probability import probability_of
from kerncause.scores.response_model import ResponseModel
from kerncause.scores.subject import How, Subject
from kerncause.scores.table import TableScore, nothing_to_explain
from kerncause.scores.turns import InTurn
from kerncause.text import quoted

Floats = npt.NDArray[np.float64]
Bandwidths = Literal["per-parent", "shared"]

MOST_RESIDUAL_ROWS = 8000
# Nats: a provisional value may be off by this much, or more if its engine says so.
LEAST_DOUBT = 0.5
# The same for what the curvature says is missing, in units of that: on flat ground it can be as wrong as this.
DOUBT_OF_PROMISE = 10.0
NOTHING_BESIDE = 0.01
# Nats below what a parent less, or another kernel, has. An ascent that only explores may end too low, by up to four as
# far as seen.
OF_NO_INTEREST = 5.0
# Nats that may be missing of a maximum that is one of many to be counted.
ENOUGH_FROM_OTHER_ROWS = 0.05
# What a projection may lack where a probability is to count as certified, in units of the variance of the noise.
MOST_MISSING = 0.1


class KernelScore(TableScore):
    """A kernel score of a Dataset.

    Args:
        data: the table.
        engine: `auto` (the cheapest), `dense`, `semidense`, `broad`, `compressed`, `line` or `lowrank`.
        bandwidths: `per-parent` or `shared`.
        kernel: of the parents: `gaussian`, `matern32`, `matern52`, `rational-quadratic`, `linear-gaussian`, `columns`
            (a Gaussian with a bandwidth for every column of a vector), `direction` (a Gaussian along one weighted sum
            of them), or `auto`, the better of `gaussian` and `direction`.
        evidence: `none`, or `bic`: what is taken off for parameters and parents (`kerncause.scores.evidence`).
        expected_degree: how many neighbours a variable has on average, for that.
        scaling: on what scale numbers are seen: `standard`, `rank`, `robust` or `power` (`kerncause.data.views`).
        categories: how those without order are seen: `codes` or `delta`.
        response_scaling: on what scale numbers are seen as what is to be explained; None: as `scaling`.
        vectors: `whole`, explained by one regression, or `in-turn`, their columns one after the other: each by the
            columns before it, whose order follows from what they hold, and by the parents, but for the first perhaps
            by none of them.
        starts: how many starts the optimiser gets, 1 to 5.
        tolerance: how far, in nats per output column, `LocalFit.value` may lie from the exact score.
        parent_bounds: where each s_k may lie. The upper end acts as a penalty for parents: a parent that
            says nothing costs likelihood because its bandwidth cannot grow without limit.
        noise_bounds: where s_e may lie; by default what suits the score.
        memory: bytes that one score may take; 4 GiB if nothing is said. With less, `auto` leaves out engines that
            would take more, and an engine that was asked for is refused.
    """

    default_noise_bounds: ClassVar[Interval] = (0.001, 10.0)
    # Which of a fit's figures is r; None: there is nothing to learn about the response.
    response_parameter: ClassVar[str | None] = "response_bandwidth"

    def __init__(
        self,
        data: Dataset,
        engine: str = "auto",
        bandwidths: Bandwidths = "per-parent",
        starts: int = 2,
        *,
        tolerance: float = 0.01,
        parent_bounds: Interval = (0.1, 10.0),
        noise_bounds: Interval | None = None,
        memory: int | None = None,
        kernel: str = "gaussian",
        evidence: str = "none",
        expected_degree: float | None = None,
        scaling: str = "standard",
        categories: str = "codes",
        response_scaling: str | None = None,
        vectors: str = WHOLE,
    ) -> None:
        if bandwidths not in get_args(Bandwidths):
            raise OptionError(f"bandwidths cannot be {quoted(bandwidths)}: choose per-parent or shared")
        if not isinstance(starts, int) or isinstance(starts, bool) or not 1 <= starts <= len(START_SCALES):
            raise OptionError(f"starts cannot be {starts}: choose 1 to {len(START_SCALES)}")
        if not 0 < tolerance < np.inf:
            raise OptionError(
                f"tolerance (--tolerance) cannot be {tolerance}: give a positive number of nats, such as 0.01"
            )
        if kernel != "auto" and kernel not in FAMILIES:
            raise OptionError(f"there is no kernel {quoted(kernel)}: the choices are auto, {', '.join(FAMILIES)}")
        if kernel in ("auto", "direction", "columns") and bandwidths == "shared":
            raise OptionError(f"kernel {kernel} has no shared bandwidth: leave out one of the two")
        super().__init__(
            data.seen(scaling, categories, response_scaling, vectors) if isinstance(data, Dataset) else data,
            engine=check_engine(engine),
            bandwidths=bandwidths,
            starts=starts,
            tolerance=tolerance,
            parent_bounds=check_interval("parent_bounds", parent_bounds),
            noise_bounds=check_interval("noise_bounds", noise_bounds or self.default_noise_bounds),
            kernel=kernel,
            evidence=Evidence(evidence, expected_degree).kind,
            expected_degree=expected_degree,
            scaling=scaling,
            categories=categories,
            response_scaling=response_scaling,
            vectors=vectors,
        )
        self._in_turn: dict[tuple[str, frozenset[str]], InTurn[Self]] = {}
        if memory is not None:
            if isinstance(memory, bool) or not isinstance(memory, int) or memory < 1:
                raise OptionError(f"memory cannot be {memory}: give a number of bytes")
            self._options["memory"] = memory

    @property
    def resolution(self) -> float:
        """How far values may be off: a search takes no smaller gain for one."""
        return float(self._options["tolerance"])

    @abstractmethod
    def _model(self, points: Points, whole: Points) -> ResponseModel:
        """Return the model of a response on some rows; what is fixed in advance follows from the whole of them."""

    def prepare(self) -> None:
        """Group equal values of every variable, and measure where its bandwidth starts."""
        for name in self.data.names:
            median_heuristic(self._table.points(name))
            median_heuristic(self._table.response(name))

    def most_memory(self, parents: int) -> float:
        """Return the bytes that one of its scores takes at its worst."""
        memory = self._options.get("memory", MOST_MEMORY)
        return most_bytes(Sizes.of(self._table, parents), self._options["engine"], memory) + self._copies

    def least_memory(self, parents: int, share: float = 1.0) -> float:
        """Return the bytes with which all can still be computed, on a share of the rows."""
        return least_bytes(Sizes.of(self._table, parents).on(share), self._options["engine"]) + share * self._copies

    def within(self, memory: int) -> Self:
        """Return the same score with no more memory than that for one."""
        return type(self)(self.data, **{**self._options, "memory": max(memory - int(self._copies), 1)})

    def precursor(self, target: str, parents: Collection[str], lookup: Lookup) -> LocalFit | list[frozenset[str]]:
        """Return the fit without the parent that alone explains least, or what must be fitted to know it."""
        if not self._is_staged:
            return []
        if len(parents) == 1 and self._turns(target):
            alone_fit = lookup(frozenset())
            return [frozenset()] if alone_fit is None else alone_fit.before_settling
        if len(parents) < 2:
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
        """Maximise S/q over all bandwidths and the noise.

        `begin` is the fit of `precursor`, which is computed if it is not given. With `settle=False` the value is
        the one the ascent ended with: not certified, and off by a fraction of a nat where kernels are projected.
        """
        names, data = self._rows_for(target, parents)
        if (nothing := nothing_to_explain(data, target)) is not None:
            return nothing
        turns = self._turns(target, names)
        if begin is None and self._is_staged and len(names) > (0 if turns else 1):
            begin = self._begin(target, frozenset(names))
        if turns:
            whole = self._of_turns(turns, turns.fits(names, begin), names)
            return self.settled(target, parents, whole) if settle else whole
        with one_blas_thread():
            judged: list[LocalFit] = []
            for family in self._families(names, data):
                judged.append(self._climbed(family, target, names, data, begin, judged))
        best, *others = sorted(judged, key=lambda fit: -fit.value)
        fit = replace(best, rival=others[0]) if others else best
        return self.settled(target, parents, fit) if settle else fit

    def _turns(self, target: str, parents: Collection[str] = ()) -> InTurn[Self] | None:
        """Return the columns of a vector, each with a score of its own; None if it is explained as a whole.

        All of them have the rows that are complete for the parents, with or without which a column is explained.
        """
        if self._options["vectors"] == WHOLE or len(self.data.columns_of(target)) < 2:
            return None
        complete = frozenset({target, *self.data.incomplete.intersection(parents)})
        if (target, complete) not in self._in_turn:
            tables = self.data.complete_for(complete).turns(target)
            options = {**self._options, "tolerance": self._options["tolerance"] / len(tables)}
            scores = tuple(type(self)(table, **options) for table in tables)
            self._in_turn[target, complete] = InTurn(target, scores)
        return self._in_turn[target, complete]

    def _refuse_turns(self, target: str) -> None:
        if self._turns(target):
            raise OptionError(
                f"the columns of {quoted(target)} are explained one after the other, each by a model of its own: "
                "ask a score with vectors=whole, or make the columns variables"
            )

    def _of_turns(self, turns: InTurn[Self], fits: Sequence[LocalFit], names: tuple[str, ...]) -> LocalFit:
        """Return the fit of a vector, less what its columns have not paid for.

        That is whether columns have parents; and what being one of many costs, where the first has nothing to explain.
        """
        fit = LocalFit.of_turns(fits, names)
        if not names or self._options["evidence"] == "none":
            return fit
        due = turns.choices
        if not fits[0].evaluations:
            due += self._evidence.cost(1, 0, len(names), len(self.data.names) - 1)
        return replace(fit, value=fit.value - due, complexity=fit.complexity + due)

    def _families(self, names: tuple[str, ...], data: Dataset) -> list[Family]:
        """Return the kernels to try, the cheaper first; those of one column differ in nothing but their bounds."""
        asked = self._options["kernel"]
        if not names:
            return [FAMILIES["gaussian"]]
        if asked != "auto":
            return [FAMILIES[asked]]
        columns = {name: data.points(name).values.shape[1] for name in names}
        if sum(columns.values()) == 1:
            return [FAMILIES[AUTOMATIC[0]]]
        is_vector = {name: self._table.variable(name).kind is Kind.VECTOR for name in names}
        dimensions = sum(columns[name] if is_vector[name] else 1 for name in names)
        is_too_wide = len(names) > 1 and dimensions > MOST_FILLED
        return [FAMILIES[name] for name in reversed(AUTOMATIC[1:] if is_too_wide else AUTOMATIC)]

    def _climbed(
        self,
        family: Family,
        target: str,
        names: tuple[str, ...],
        data: Dataset,
        begin: LocalFit | None,
        rivals: Sequence[LocalFit],
    ) -> LocalFit:
        """Return the best fit with one kernel, provisional if its engine projects."""
        subject = self._subject(target, names, data, family.name)
        starts, tolerance = self._options["starts"], self._options["tolerance"]
        floor = self._floor(subject, begin, rivals)
        climbed = climb(subject.task, starts, tolerance, self._precursor(subject, begin), self._is_staged, floor)
        fit = self._fit_at(climbed.best, subject, climbed.starts_disagree)
        if not (climbed.is_final and isinstance(climbed.best.objective.engine, ExactEngine)):
            fit = self._provisional(fit, climbed, subject.task)
        return self._judged(fit, subject)

    def _floor(self, subject: Subject, begin: LocalFit | None, rivals: Sequence[LocalFit]) -> float:
        """Return the likelihood below which a fit is of no interest: a parent less, or another kernel, is better.

        That cannot be told of a probability; and the dense engine takes no shortcut.
        """
        known = [fit.value for fit in (*rivals, *([] if begin is None else [begin]))]
        takes_no_shortcut = self._options["engine"] == "dense"
        if not known or takes_no_shortcut or self._is_probability(subject.target):
            return -math.inf
        return max(known) + self._cost(subject) - OF_NO_INTEREST

    def curved(self, target: str, parents: Collection[str], fit: LocalFit) -> LocalFit:
        """Return a fit with the curvature of the loss at its parameters, for `refitted`."""
        if fit.turns and (turns := self._turns(target, parents)):
            return replace(fit, turns=turns.again(fit.turns, type(self).curved))
        if fit.noise is None:
            return fit
        names, data = self._rows_for(target, parents)
        with one_blas_thread():
            subject = self._subject(target, names, data, fit.kernel)
            theta = self._theta(subject, fit)
            H = curvature(subject.task.near(theta), theta)
        return replace(fit, curvature=tuple(map(tuple, H.tolist())))

    def refitted(self, target: str, parents: Collection[str], begin: LocalFit) -> LocalFit:
        """Maximise S/q on these rows, beginning from a curved fit on other rows of the same table.

        The value is that of the engine, not certified; about `ENOUGH_FROM_OTHER_ROWS` may be missing of the maximum.
        """
        names, data = self._rows_for(target, parents)
        if (nothing := nothing_to_explain(data, target)) is not None:
            return nothing
        if begin.turns and (turns := self._turns(target, names)):
            return self._of_turns(turns, turns.again(begin.turns, type(self).refitted), names)
        if begin.curvature is None:
            return self.fit(target, parents)
        with one_blas_thread():
            subject = self._subject(target, names, data, begin.kernel)
            theta = self._theta(subject, begin)
            if len(theta) != len(begin.curvature):  # fewer values of the response, and nothing to learn of it
                return self.fit(target, parents)
            end = refine(subject.task.near(theta), theta, np.array(begin.curvature), ENOUGH_FROM_OTHER_ROWS)
            return self._judged(self._fit_at(end, subject, starts_disagree=False), subject)

    def _fit_at(self, end: Ascent, subject: Subject, starts_disagree: bool) -> LocalFit:
        task, family, sides = subject.task, subject.family, subject.sides
        parameters, engine = task.layout.unpacked(end.theta), end.objective.engine
        bandwidth, amplitude = self._response_figures(parameters.response_bandwidth, sides.response)
        owners = family.owners(subject.names, sides)
        return LocalFit(
            value=end.value,
            **family.named(parameters.parents, subject.names, sides),
            kernel=family.name,
            response_bandwidth=bandwidth,
            amplitude=amplitude,
            noise=parameters.noise,
            engine=engine.name,
            rank=engine.rank,
            evaluations=end.evaluations,
            converged=end.converged,
            starts_disagree=starts_disagree,
            at_bounds=tuple(dict.fromkeys(task.layout.at_bounds(end.theta, owners))),
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
        if fit.turns and (turns := self._turns(target, names)):
            finals = turns.again(fit.turns, type(self).settled)
            return replace(self._of_turns(turns, finals, names), provisional=fit)
        tolerance = self._options["tolerance"]
        with one_blas_thread():
            subject = self._subject(target, names, data, fit.kernel)
            final = self._finished(subject, fit)
            if final.is_settled:
                return self._judged(final, subject)
            value, bound = subject.task.certified_at(final.engine, self._checked(final, subject))
            settled = replace(final, value=value, error_bound=bound, certified=bound <= tolerance, is_settled=True)
            return self._judged(settled, subject)

    def _judged(self, fit: LocalFit, subject: Subject) -> LocalFit:
        """Return a fit whose value is S/q, or the probability of a discrete response, less what evidence takes off."""
        cost = self._cost(subject)
        if self._is_probability(subject.target):
            is_discrete = [self.data.variable(name).level_codes is not None for name in subject.names]
            is_number = self.data.variable(subject.target).level_codes is None
            local_noise = is_number and self._options["noise"] == "local"
            rows = nearness(subject.problem, self._checked(fit, subject), is_discrete, local_noise=local_noise)
            of_counting = 0.0 if self._options["evidence"] == "none" else rows.overrated
            found = probability_of(rows, self._evidence.of_parameters(subject.sides.response.n, 1), of_counting)
            return replace(
                fit,
                value=found.log - cost,
                complexity=cost + found.price,
                is_probability=True,
                error_bound=max(fit.error_bound, rows.missing),
                certified=fit.certified and rows.missing <= MOST_MISSING,
            )
        return replace(fit, value=fit.value - cost, complexity=cost) if cost else fit

    @property
    def _evidence(self) -> Evidence:
        return Evidence(self._options["evidence"], self._options["expected_degree"])

    def _cost(self, subject: Subject) -> float:
        """Return what evidence takes off."""
        names, response = subject.names, subject.sides.response
        parameters = subject.data.degrees_of_freedom(names) if subject.task.layout.signed else len(names)
        dispersion = 1.0 if self._is_probability(subject.target) else max(overdispersion(response), 1.0)
        if EARLIER in names:  # what being one of many costs was paid with the first column
            return dispersion * self._evidence.of_parameters(response.n, parameters)
        return self._evidence.cost(response.n, parameters, len(names), len(self.data.names) - 1, dispersion)

    def _is_probability(self, target: str) -> bool:
        """Tell whether the probability of a variable is what is reported, not its density."""
        return False

    def _finished(self, subject: Subject, fit: LocalFit) -> LocalFit:
        """Return a provisional fit with its ascent at its end; it is settled if its engine is exact."""
        if fit.curvature is None:
            return replace(fit, provisional=fit)
        end = finish(subject.task, self._theta(subject, fit), np.array(fit.curvature), self._options["tolerance"])
        return replace(
            self._fit_at(end, subject, fit.starts_disagree),
            evaluations=fit.evaluations + end.evaluations,
            provisional=fit,
            rival=fit.rival,
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
        params: ScoreParameters | LocalFit | Mapping[str, Any],
        *,
        absolute: bool = False,
    ) -> tuple[float, ScoreParameters]:
        """Return S/q at given parameters and its gradient with respect to their logarithms.

        `params` has `response_bandwidth` (or `amplitude`, where that is learned), `bandwidths` (by parent name) and
        `noise`: a LocalFit, a mapping or a ScoreParameters; the gradient has the same shape. `absolute=True` adds
        the constant of J, the sum of log distances over n, for an absolute likelihood.
        """
        names, data = self._rows_for(target, parents)
        self._refuse_turns(target)
        _refuse_constant(data, target)
        given = ScoreParameters.of(params)
        with one_blas_thread():
            kernel = params.kernel if isinstance(params, LocalFit) else self._kernel_of(given)
            subject = self._subject(target, names, data, kernel)
            task, at = subject.task, self._checked(given, subject)
            objective = task.objective_at(at)
            (value, _), (_, gradient, _) = task.certified_at(objective.engine.name, at), objective.at(at)
        points = data.response(target)
        if absolute:
            value += self._model(points, points).constant() / objective.outputs
        slope = {name: gradient.response_bandwidth if name == self.response_parameter else None for name in R_NAMES}
        by_name = subject.family.named(gradient.parents, names, subject.sides)
        is_direction = "weights" in by_name
        return value, ScoreParameters(
            slope["response_bandwidth"],
            {} if is_direction else by_name["bandwidths"],
            gradient.noise,
            slope["amplitude"],
            by_name.get("weights"),
        )

    def _kernel_of(self, given: ScoreParameters) -> str:
        """Return the kernel that parameters by name are of."""
        asked = self._options["kernel"]
        if given.weights is not None:
            return "columns" if asked == "columns" else "direction"
        return "gaussian" if asked in (*AUTOMATIC, "auto", "columns") else asked

    def residuals(self, target: str, parents: Collection[str] = (), fit: LocalFit | None = None) -> Floats:
        """Return Y - f(PA) at the fitted parameters, (n, q), rows (and columns of kernels) in the order of the table.

        f(PA) = K_PA (K_PA + s_e^2 I)^-1 Y is the posterior mean. With gaps in the table, n counts the rows
        complete for the target and the parents.
        """
        names, data = self._rows_for(target, parents, self.data)
        self._refuse_turns(target)
        _refuse_constant(data, target)
        if data.n_rows > MOST_RESIDUAL_ROWS:
            raise ComputationError(
                f"the residuals of {data.n_rows:,} rows are an array of their square: "
                f"draw a sample of at most {MOST_RESIDUAL_ROWS:,} rows"
            )
        fit = fit or self.fit(target, parents)
        is_counted, data = data.weights is not None, data.repeated()
        with one_blas_thread():
            subject = self._subject(target, names, data, fit.kernel)
            at = self._checked(fit, subject)
            canonical = subject.task.objective_at(at).engine.residuals(at)
        if is_counted:  # a restricted score, whose rows have no order of their own
            return canonical
        place = np.argsort(data.row_order)
        return canonical[np.ix_(place, place)] if canonical.shape[1] == data.n_rows else canonical[place]

    def _subject(
        self,
        target: str,
        names: tuple[str, ...],
        data: Dataset,
        kernel: str = "gaussian",
        engine: str | None = None,
    ) -> Subject:
        """Set up the fit of a target and its parents on the rows of `data`, with one kernel."""
        how = How(
            engine=engine or self._options["engine"],
            tolerance=self._options["tolerance"],
            memory=self._options.get("memory", MOST_MEMORY),
            is_shared=self._options["bandwidths"] == "shared",
            parent_bounds=self._options["parent_bounds"],
            noise_bounds=self._options["noise_bounds"],
            is_choosy=self._is_choosy(target, names),
        )
        return Subject.of(target, names, data, FAMILIES[kernel], self._model, how)

    def _is_choosy(self, target: str, names: tuple[str, ...]) -> bool:
        """Tell whether only those starts are followed that are worth while.

        The likelihood at a start says little of a probability at the end, unless it is far below that of the columns
        of the same vector alone. The dense engine takes no shortcut.
        """
        is_for_it = self._options["kernel"] in ("auto", "direction") and self._options["engine"] != "dense"
        return is_for_it and (EARLIER in names or not self._is_probability(target))

    def _theta(self, subject: Subject, fit: LocalFit) -> Floats:
        """Return the parameters of a fit as a place to go on from."""
        return subject.task.layout.start(self._checked(fit, subject), 1.0)

    def _precursor(self, subject: Subject, begin: LocalFit | None) -> Precursor | None:
        """Return the optimum of a fit without a parent, with that parent off, and at a fifth of its heuristic."""
        family, names, sides = subject.family, subject.names, subject.sides
        tried = None if begin is None else (begin.with_kernel(family.name) or begin)
        if tried is None or tried.noise is None:
            return None
        r, noise = self._response_value(ScoreParameters.of(tried)), tried.noise
        off = family.off(tried, names, sides, self._options["parent_bounds"][1])
        short = family.short(tried, names, sides)
        if off is None:
            return None
        return Precursor(Parameters(r, off, noise), None if short is None else Parameters(r, short, noise))

    def _response_value(self, given: ScoreParameters) -> float:
        """Return r of named parameters; where nothing is learned any number will do."""
        if self.response_parameter is None:
            return 1.0
        value = getattr(given, self.response_parameter)
        if value is None:
            raise OptionError(f"the parameters lack {self.response_parameter}: give it with bandwidths and noise")
        return float(value) if isinstance(value, int | float | np.number) else float("nan")

    def _response_figures(self, value: float, response: Points) -> tuple[float | None, float | None]:
        """Return what a fit says of its response: the bandwidth and the amplitude."""
        return value, None

    def _checked(self, params: ScoreParameters | LocalFit, subject: Subject) -> Parameters:
        """Return parameters in the order of the names; refuse missing, surplus and senseless ones."""
        given = ScoreParameters.of(params)
        told = given.bandwidths if given.weights is None or not subject.names else given.weights
        parents = subject.family.given(told, subject.names, subject.sides)
        values = [self._response_value(given), given.noise]
        if not all(isinstance(v, int | float | np.number) and 0 < v < np.inf for v in values):
            raise OptionError(f"the parameters {values} are not all positive numbers: bandwidths and noise must be")
        return Parameters(values[0], parents, float(given.noise))


def _refuse_constant(data: Dataset, target: str) -> None:
    if nothing_to_explain(data, target) is not None:
        raise DataError(
            f"{quoted(target)} has fewer than two values on the {data.n_rows} rows complete for these parents: "
            "leave out the parent with the gaps"
        )
