"""What mechanisms of each kind of data are drawn from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerncause.simulate.functions import NOISES, ROOTS, Distribution, Function, draw_function, draw_weight, pick

# In standard deviations of the column.
FARTHEST = 12.0
STUDENTS = (2, 3)
SCALES = (Function("fan"), Function("rise"), Function("wave"))
Parts = Mapping[str, Any]


@dataclass(frozen=True)
class Model:
    """What a mechanism is drawn from.

    Attributes:
        roots: the distributions of variables without parents, each as likely as the others.
        noises: those of e.
        draw_parts: draws the functions, by their names in `Mechanism`, for so many parents.
        farthest: no value is farther from the mean than so many standard deviations.
    """

    roots: tuple[Distribution, ...]
    noises: tuple[Distribution, ...]
    draw_parts: Callable[[np.random.Generator, int], Parts]
    farthest: float = FARTHEST


def _of_the_paper(generator: np.random.Generator, _: int) -> Parts:
    return {"inner": draw_function(generator), "outer": draw_function(generator)}


def _plain(generator: np.random.Generator, _: int) -> Parts:
    return {"inner": draw_function(generator)}


def _scaled(generator: np.random.Generator, _: int) -> Parts:
    return {"inner": draw_function(generator), "scale": pick(generator, SCALES)}


def _linear(generator: np.random.Generator, parents: int) -> Parts:
    return {"terms": tuple(Function("linear", weight=draw_weight(generator)) for _ in range(parents))}


def _additive(generator: np.random.Generator, parents: int) -> Parts:
    return {"terms": tuple(draw_function(generator) for _ in range(parents))}


def model_of(kind: str, reading: str = "variance") -> Model:
    """Return what a kind of data is drawn from; `reading` is what 0.5 is in the paper's N(0, 0.5)."""
    if kind == "heavy-tailed":
        # An outlier is the point here, as long as it is not the whole column.
        return Model(_students(1.0), _students(0.5), _plain, farthest=np.inf)
    if kind == "linear":
        return Model(ROOTS[:1], ROOTS[:1], _linear)
    if kind == "additive":
        return Model(ROOTS, NOISES[reading][:1], _additive)
    return Model(ROOTS, NOISES[reading], _scaled if kind == "heteroscedastic" else _of_the_paper)


def _students(spread: float) -> tuple[Distribution, ...]:
    return tuple(Distribution("t", spread, degrees) for degrees in STUDENTS)
