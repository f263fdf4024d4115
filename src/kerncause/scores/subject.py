"""One fit to be made: a response, its parents and one kernel become a task for the ascent."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kerncause.data import Dataset, Points
from kerncause.regression import Parameters, Problem, certified_value, choose_engine, make_engine
from kerncause.scores.climb import Task
from kerncause.scores.family import Family, Sides
from kerncause.scores.optimise import Interval, Layout, Objective
from kerncause.scores.response_model import ResponseModel

# How much rougher engines may be on fewer rows.
ROUGHER = 10.0


@dataclass(frozen=True)
class How:
    """How a fit is to be made.

    Attributes:
        engine: the name of the engine, or `auto`.
        tolerance: nats that a value may be off by.
        memory: bytes that may be taken.
        is_shared: whether all parents have one bandwidth.
        parent_bounds: where each bandwidth may lie.
        noise_bounds: where s_e may lie.
        is_choosy: whether only those starts are followed that are worth while.
    """

    engine: str
    tolerance: float
    memory: float
    is_shared: bool
    parent_bounds: Interval
    noise_bounds: Interval
    is_choosy: bool


@dataclass(frozen=True, eq=False)
class Subject:
    """One fit to be made: the task for the ascent, and what it is about.

    Attributes:
        task: what is maximised.
        family: the kernel of the parents.
        names: of the parents.
        sides: the response and the parents.
        target: the name of the response.
        data: the rows.
        problem: for engines.
    """

    task: Task
    family: Family
    names: tuple[str, ...]
    sides: Sides
    target: str
    data: Dataset
    problem: Problem

    @classmethod
    def of(
        cls,
        target: str,
        names: tuple[str, ...],
        data: Dataset,
        family: Family,
        model_of: Callable[[Points, Points], ResponseModel],
        how: How,
        whole: Points | None = None,
    ) -> "Subject":
        """Set up the fit of a target and its parents on the rows of `data`, with one kernel.

        Fewer rows only show where to look, so any engine will do there, and a rougher one. The dense engine is
        what everything else is compared with: it takes no such shortcut.

        Args:
            target: the response.
            names: the parents.
            data: the rows.
            family: the kernel of the parents.
            model_of: gives the model of a response on some rows; what is fixed in advance follows from the whole.
            how: all that is asked for.
            whole: the response on all rows, if these are fewer.
        """
        response, parents = data.response(target), tuple(data.points(name) for name in names)
        model = model_of(response, whole or response)
        sides = Sides(response, parents, model.start)
        problem = Problem(response, parents, model.response, how.memory, family.shape)
        outputs, heuristic = problem.outputs, family.heuristic(sides)
        layout = _layout(model, family, sides, how)

        def objective_at(place: Parameters) -> Objective:
            engine = make_engine(problem, how.engine, place, how.tolerance)
            return Objective(engine, model.term, data.n_rows, outputs, layout)

        def certified_at(name: str, place: Parameters) -> tuple[float, float]:
            value, bound = certified_value(problem, name, place, how.tolerance)
            return (value + model.term.value(place.response_bandwidth)) / outputs, bound / outputs

        def on_fewer(rows: int) -> Task | None:
            chosen = choose_engine(problem, how.engine, heuristic, how.tolerance)
            if rows >= data.n_rows or chosen in ("compressed", "dense") or data.weights is not None:
                return None  # a few rows would not repeat as all rows do
            thinned = data.thinned(rows)
            levels = len(thinned.response(target).distinct)
            is_same_problem = levels > 2 or levels == len(response.distinct)
            if not is_same_problem:
                return None
            roughly = replace(how, engine="auto", tolerance=ROUGHER * how.tolerance)
            return cls.of(target, names, thinned, family, model_of, roughly, whole or response).task

        def values(places: Sequence[Parameters]) -> list[float]:
            inside = [layout.unpacked(layout.start(place, 1.0)) for place in places]
            return objective_at(inside[0]).values(inside)

        task = Task(
            layout,
            heuristic,
            data.n_rows,
            objective_at,
            certified_at,
            on_fewer,
            cold=lambda count: family.cold(sides, count, values),
            beside=lambda count, precursor: family.beside(sides, count, values, precursor),
            is_elsewhere=lambda start, top: family.is_elsewhere(sides, start, top),
            explores=layout.signed or how.is_choosy,
            hopeless=family.hopeless * data.n_rows if how.is_choosy else np.inf,
        )
        return cls(task, family, names, sides, target, data, problem)


def _layout(model: ResponseModel, family: Family, sides: Sides, how: How) -> Layout:
    """Return how the parameters lie in the optimiser's vector, and between which bounds."""
    limits, signed = family.limits(how.parent_bounds)
    low, high = how.noise_bounds
    return Layout(
        fixed_response=model.fixed,
        parents=family.count(sides),
        shared=how.is_shared,
        response_bounds=model.bounds,
        parent_bounds=limits,
        noise_bounds=(min(max(low, model.least_noise), high), high),
        signed=signed,
        metric=family.metric(sides),
    )
