"""Where a fit begins, and on which rows it climbs.

* Up to `EXPLORE_ABOVE` rows, and where equal rows are counted (then fewer rows are no cheaper), L-BFGS-B follows every
  start on all rows.
* Otherwise the starts are followed on `EXPLORE_ROWS` evenly spaced rows, and the best places found are refined
  on all rows by a few quasi-Newton steps, with the curvature of the few rows to begin with. With very many rows
  there are levels between, because a place found on a hundred rows is a long way from the best on a million.
* From a level between, refining stops at first where a couple of nats are missing: for most of what a search
  compares that is enough, and `finish` goes on from there where it is not. If two places are that close, it goes
  on at once. (The curvature of a hundred rows is too little to be trusted with such a promise.)
* A fit with a precursor (the fit without one of its parents) begins at the precursor's optimum. It was found
  on all rows, so it is not followed on few; what the few rows are asked is whether a cold start with short
  bandwidths leads to a better place there than the precursor does, and if so that place is refined as well.
* A choosy fit follows a start only if the likelihood there is above the top that the precursor led to, or not far
  below it and elsewhere. That is for directions, whose starts follow from the data; others hardly ever end higher.
* Where exploring on all rows leads no higher than what is known to be better (a parent less, or another kernel), it is
  not gone on with: nobody will ask for the last tenths of a nat.
* A parent at the upper bound of its bandwidth is next to switched off, and the likelihood is flat there: what a
  hundred rows switch off, a thousand may not. So refining begins with such parents at half of that bound.

All of this follows from the data, never from what was computed before.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kerncause.regression import Parameters
from kerncause.scores.family import Start
from kerncause.scores.optimise import CLOSELY, ROUGHLY, Ascent, Layout, Objective, ascend, curvature, refine

Floats = npt.NDArray[np.float64]

DISAGREEMENT = 0.01
EXPLORE_ROWS = 100
# Up to here following every start on all rows costs little more, and finds what a hundred rows do not show: of 100
# graphs at 300 rows 14 were others than without that shortcut.
EXPLORE_ABOVE = 500
# Without a precursor and with one bandwidth for all, or one start, exploring means following it almost to the end.
SAMPLE_ROWS = 1000
SAMPLE_ABOVE = 2000
# Levels between the few rows and all: from this many rows, by this factor, up to a quarter of all.
FIRST_LEVEL = 1000
LEVEL_FACTOR = 8
LARGEST_LEVEL = 0.25
# Nats: a cold start must be this much better than the precursor; places this close are both refined.
BETTER = 0.1
CLOSE = 5.0
APART = 0.1
# How many nats refining may leave: on the way, for a provisional value (or a ten-thousandth of a nat a row), and at
# the end in units of the tolerance, or a millionth of a nat a row where that is more.
ENOUGH_ON_THE_WAY = 0.05
ENOUGH_AT_FIRST = 2.0
ENOUGH_AT_FIRST_PER_ROW = 1e-4
ENOUGH = 0.3
# Where an ascent on all rows ends: at a step that gains no more than this share of the tolerance.
SMALL_STEP = 1.0 / 600.0
ENOUGH_PER_ROW = 1e-6


@dataclass(frozen=True, eq=False)
class Task:
    """One fit to be made on some rows.

    Attributes:
        layout: how its parameters lie in a vector.
        heuristic: a place from which an engine can be made.
        n: rows.
        objective_at: gives the objective with an engine that is good at some parameters.
        certified_at: gives the best estimate of the objective that the engine of a name has at some parameters,
            and how far off it may be.
        on_fewer: gives the task on fewer rows, or None where those are no cheaper or pose another problem.
        cold: gives so many places to begin from if nothing is known.
        beside: gives those to begin from as well if there is a precursor, here with its parameters.
        is_elsewhere: tells whether from parameters of the parents an ascent may end elsewhere than at others.
        explores: whether starts are followed roughly at first, and then only the best of them to the end.
        hopeless: nats; a start further below the top that the precursor led to is not followed (inf: all are).
    """

    layout: Layout
    heuristic: Parameters
    n: int
    objective_at: Callable[[Parameters], Objective]
    certified_at: Callable[[str, Parameters], tuple[float, float]]
    on_fewer: Callable[[int], "Task | None"]
    cold: Callable[[int], list[Start]]
    beside: Callable[[int, Parameters], list[Start]]
    is_elsewhere: Callable[[Floats, Floats], bool]
    explores: bool = False
    hopeless: float = math.inf

    @cached_property
    def objective(self) -> Objective:
        """The objective at the heuristic, for starts anywhere."""
        return self.objective_at(self.heuristic)

    def near(self, theta: Floats) -> Objective:
        """Return the objective with an engine made for this place."""
        return self.objective_at(self.layout.unpacked(theta))

    def levels_between(self) -> Iterator["Task"]:
        """Iterate over tasks on more and more rows, between the few and all."""
        rows = FIRST_LEVEL
        while rows < LARGEST_LEVEL * self.n:
            level = self.on_fewer(rows)
            if level is not None:
                yield level
            rows *= LEVEL_FACTOR


@dataclass(frozen=True, eq=False)
class Precursor:
    """The optimum of the same fit without one of its parents.

    Attributes:
        off: its parameters with the new parent next to switched off.
        short: the same with the new parent at a fraction of its heuristic, if there is such a place.
    """

    off: Parameters
    short: Parameters | None


@dataclass(frozen=True, eq=False)
class Climb:
    """The best end, whether it is final, and whether starts ended apart on the rows where they were tried."""

    best: Ascent
    is_final: bool
    starts_disagree: bool


def climb(
    task: Task,
    starts: int,
    tolerance: float,
    precursor: Precursor | None,
    is_staged: bool,
    floor: float = -math.inf,
) -> Climb:
    """Maximise an objective.

    Args:
        task: on all rows.
        starts: how many cold starts there are.
        tolerance: nats; refining goes on until little of it is missing.
        precursor: where to begin, if there is one.
        is_staged: whether fits of this kind have precursors.
        floor: where exploring does not lead above this, its end will do.
    """
    few = None
    if task.n > (EXPLORE_ABOVE if is_staged else SAMPLE_ABOVE):
        few = task.on_fewer(EXPLORE_ROWS if is_staged else SAMPLE_ROWS)
    if few is None:
        least_step = max(CLOSELY, SMALL_STEP * tolerance / task.n)
        runs = _followed(task, _places(task, starts, precursor), precursor, ROUGHLY if task.explores else least_step)
        goes_on = task.explores and max(map(_value, runs)) >= floor
        finished = [ascend(top.objective, top.theta, least_step) for top in _distinct(runs)] if goes_on else []
        spent = sum(run.evaluations for run in runs + finished)
        return Climb(replace(max(finished or runs, key=_value), evaluations=spent), True, _disagree(runs))
    places, disagree = _explored(few, starts, precursor)
    enough = _enough(task, tolerance)
    for level in task.levels_between():
        tops = _distinct([refine(level.near(theta), theta, H, ENOUGH_ON_THE_WAY) for theta, H in places])
        places = [(top.theta, curvature(top.objective, top.theta)) for top in tops]
        enough = max(ENOUGH_AT_FIRST, ENOUGH_AT_FIRST_PER_ROW * task.n)
    ends = [refine(task.near(theta), theta, H, enough) for theta, H in places]
    spent = sum(end.evaluations for end in ends)
    tops = _distinct(ends)
    if len(tops) > 1 and tops[0].promised > _enough(task, tolerance):  # only the end tells which is higher
        tops = _distinct([finish(task, top.theta, top.curvature, tolerance) for top in tops])
        spent += sum(top.evaluations for top in tops)
    is_final = tops[0].promised <= _enough(task, tolerance)
    return Climb(replace(tops[0], evaluations=spent), is_final, disagree)


def finish(task: Task, theta: Floats, H: Floats, tolerance: float) -> Ascent:
    """Refine to the end, from where a climb ended."""
    return refine(task.near(theta), theta, H, _enough(task, tolerance))


def _enough(task: Task, tolerance: float) -> float:
    return max(ENOUGH * tolerance, ENOUGH_PER_ROW * task.n)


def _explored(few: Task, starts: int, precursor: Precursor | None) -> tuple[list[tuple[Floats, Floats]], bool]:
    """Follow the starts on few rows; return the places to refine with their curvature, and whether starts disagreed.

    The curvature is that of the top reached on the few rows: away from a top it is of another kind.
    """
    others = few.cold(starts) if precursor is None else few.beside(starts, precursor.off)
    runs = _followed(few, others, precursor, ROUGHLY)
    if precursor is None:
        places = [(run.theta, run.theta) for run in _distinct(runs)]
    else:
        there, best = runs[0], max(runs, key=_value)
        places = [(_at(few, precursor.off), there.theta)]
        if best.value > there.value + BETTER:
            places.append((best.theta, best.theta))
    on = few.layout.switched_on
    return [(on(place), curvature(few.near(on(top)), on(top))) for place, top in places], _disagree(runs)


def _places(task: Task, starts: int, precursor: Precursor | None) -> list[Start]:
    """Return where to begin on all rows, beside the precursor."""
    if precursor is None:
        return task.cold(starts)
    return task.beside(starts, precursor.off) if precursor.short is None else [Start(precursor.short)]


def _followed(task: Task, starts: Sequence[Start], precursor: Precursor | None, least_step: float) -> list[Ascent]:
    """Ascend from the precursor, if there is one, and from the starts that are then still worth while."""
    if precursor is None:
        return [ascend(task.objective, _at(task, start.place), least_step) for start in starts]
    first = ascend(task.objective, _at(task, precursor.off), least_step)
    others = [start.place for start in starts if _is_worth_following(task, start, first)]
    return [first, *(ascend(task.objective, _at(task, place), least_step) for place in others)]


def _is_worth_following(task: Task, start: Start, top: Ascent) -> bool:
    if math.isinf(task.hopeless) or start.value > top.value:
        return True
    begun, reached = (task.layout.unpacked(theta).parents for theta in (_at(task, start.place), top.theta))
    return start.value > top.value - task.hopeless and task.is_elsewhere(begun, reached)


def _at(task: Task, place: Parameters) -> Floats:
    return task.layout.start(place, 1.0)


def _distinct(runs: Sequence[Ascent]) -> list[Ascent]:
    """Return the best end, and those close to it in value that are at other places; the best first."""
    ranked = sorted(runs, key=lambda run: -run.value)
    kept: list[Ascent] = []
    for run in ranked:
        elsewhere = all(np.abs(run.theta - other.theta).max() > APART for other in kept)
        if run.value > ranked[0].value - CLOSE and elsewhere:
            kept.append(run)
    return kept


def _disagree(runs: Sequence[Ascent]) -> bool:
    values = [run.value for run in runs]
    return max(values) - min(values) > DISAGREEMENT


def _value(run: Ascent) -> float:
    return run.value
