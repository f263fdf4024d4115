"""What mechanisms are made of: the paper's functions and distributions, as values that can be written down.

Randomness enters through `Generator.random` and `Generator.standard_normal` alone, the two streams of numpy that
have stayed the same for longest, so that a seed means the same table for as long as it can.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeVar

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

WEIGHTS = (0.5, 2.5)
EXPONENTS = (1, 2, 3)

_Choice = TypeVar("_Choice")


def _power(x: Floats, exponent: float) -> Floats:
    # Products, not pow, which rounds differently from one machine to the next.
    return reduce(np.multiply, [x] * int(exponent))


def _rank(x: Floats, _: float) -> Floats:
    ranks: Floats = rankdata(x, method="ordinal", axis=0).astype(np.float64)
    return 2 * ranks / (len(x) + 1) - 1


FORMULAS: Mapping[str, Callable[[Floats, float], Floats]] = {
    "linear": lambda x, weight: weight * x,
    "sin": lambda x, _: np.sin(x),
    "cos": lambda x, _: np.cos(x),
    "tanh": lambda x, _: np.tanh(x),
    "exp": lambda x, _: np.exp(x),
    "power": _power,
    "rank": _rank,
}
# Equally likely; `rank` is what is left when nothing else will do.
FAMILIES = ("linear", "sin", "cos", "tanh", "exp", "power")
SHOWN: Mapping[str, str] = {"linear": "{weight:g} ({x})", "power": "({x})^{exponent}"}


@dataclass(frozen=True)
class Function:
    """One of the functions f and g of X = g(f(PA) + e), applied to each number.

        linear   w x, with the weight w = 0.5 or 2.5        tanh    tanh x
        sin      sin x                                      exp     e^x
        cos      cos x                                      power   x^a, with the exponent a = 1, 2 or 3
        rank     2 r/(n + 1) - 1, with r = 1..n the place of x in its column

    Attributes:
        family: the name in this list.
        weight: w, for `linear` alone.
        exponent: a, for `power` alone.
    """

    family: str
    weight: float | None = None
    exponent: int | None = None

    def __call__(self, x: Floats) -> Floats:
        """Return the function of every number of x, in its shape; what overflows is infinite."""
        return FORMULAS[self.family](x, self.weight or self.exponent or 1)

    def of(self, argument: str) -> str:
        """Return the formula as text: `0.5 (x1 + x2)`, `sin(x3)`, `(x4)^2`."""
        pattern = SHOWN.get(self.family, "{family}({x})")
        return pattern.format(x=argument, family=self.family, weight=self.weight, exponent=self.exponent)


@dataclass(frozen=True)
class Distribution:
    """N(0, spread^2) or U(-spread, spread).

    Attributes:
        family: `normal` or `uniform`.
        spread: the standard deviation of the normal, half the width of the uniform.
    """

    family: str
    spread: float

    def draw(self, generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        """Return independent numbers."""
        if self.family == "normal":
            return self.spread * generator.standard_normal(shape)
        return self.spread * (2 * generator.random(shape) - 1)

    def __str__(self) -> str:
        if self.family == "normal":
            return f"normal with variance {self.spread**2:.4g}"
        return f"uniform on [-{self.spread:g}, {self.spread:g}]"


ROOTS = (Distribution("normal", 1.0), Distribution("uniform", 1.0))
# The paper's N(0, 0.5) does not say what 0.5 is; the uniform is U(-0.5, 0.5) in either reading.
NOISES: Mapping[str, tuple[Distribution, Distribution]] = {
    "variance": (Distribution("normal", float(np.sqrt(0.5))), Distribution("uniform", 0.5)),
    "deviation": (Distribution("normal", 0.5), Distribution("uniform", 0.5)),
}


def pick(generator: np.random.Generator, choices: Sequence[_Choice]) -> _Choice:
    """Return one of the choices, each as likely as the others."""
    return choices[int(generator.random() * len(choices))]


def shuffled(generator: np.random.Generator, size: int) -> Ints:
    """Return 0..size-1 in random order."""
    return np.argsort(generator.random(size), kind="stable").astype(np.int64)


def draw_function(generator: np.random.Generator) -> Function:
    """Return a function: each family equally likely, then each weight or exponent."""
    family = pick(generator, FAMILIES)
    return Function(
        family,
        weight=pick(generator, WEIGHTS) if family == "linear" else None,
        exponent=pick(generator, EXPONENTS) if family == "power" else None,
    )
