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
# Of the scale of noise that varies.
LEAST_SCALE = 0.2
# Weights of linear models lie between these, with either sign.
LEAST_WEIGHT, MOST_WEIGHT = 0.5, 1.5
# Weights and effects are kept to so many places, so that they can be read, and results to so many digits.
PLACES = 4
DIGITS = 12

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
    "fan": lambda x, _: LEAST_SCALE + np.abs(x),
    "rise": lambda x, _: LEAST_SCALE + 1 + np.tanh(x),
    "wave": lambda x, _: LEAST_SCALE + 1 + np.sin(x),
}
# Equally likely; `rank` is what is left when nothing else will do.
FAMILIES = ("linear", "sin", "cos", "tanh", "exp", "power")
SHOWN: Mapping[str, str] = {
    "linear": "{weight:g} ({x})",
    "power": "({x})^{exponent}",
    "fan": f"({LEAST_SCALE:g} + |{{x}}|)",
    "rise": f"({LEAST_SCALE + 1:g} + tanh({{x}}))",
    "wave": f"({LEAST_SCALE + 1:g} + sin({{x}}))",
}


@dataclass(frozen=True)
class Function:
    """One of the functions that mechanisms are made of, such as f and g of X = g(f(PA) + e), applied to each number.

        linear   w x, in the paper with w = 0.5 or 2.5      tanh    tanh x
        sin      sin x                                      exp     e^x
        cos      cos x                                      power   x^a, with the exponent a = 1, 2 or 3
        rank     2 r/(n + 1) - 1, with r = 1..n the place of x in its column

    The scale of noise that varies is positive: fan, 0.2 + |x|; rise, 1.2 + tanh x; wave, 1.2 + sin x.

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
    """Independent noise around 0.

        normal    N(0, spread^2)                t         spread Z/sqrt((Z_1^2 + ... + Z_d^2)/d), each Z from N(0, 1)
        uniform   U(-spread, spread)            gumbel    -spread log(-log U), U from U(0, 1)

    Attributes:
        family: the name in this list.
        spread: the standard deviation of the normal, half the width of the uniform, the factor of the others.
        degrees: d, for `t` alone.
    """

    family: str
    spread: float
    degrees: int | None = None

    def draw(self, generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        """Return independent numbers."""
        return self.spread * DRAWN[self.family](generator, shape, self.degrees or 1)

    def __str__(self) -> str:
        return SAID[self.family].format(self=self, variance=self.spread**2)


def _student(generator: np.random.Generator, shape: tuple[int, int], degrees: int) -> Floats:
    top = generator.standard_normal(shape)
    below: Floats = sum((generator.standard_normal(shape) ** 2 for _ in range(degrees)), np.zeros(shape))
    return top / np.sqrt(below / degrees)


def _gumbel(generator: np.random.Generator, shape: tuple[int, int], _: int) -> Floats:
    # `random` can give 0, which has no logarithm.
    return -np.log(-np.log(np.maximum(generator.random(shape), np.finfo(np.float64).tiny)))


DRAWN: Mapping[str, Callable[[np.random.Generator, tuple[int, int], int], Floats]] = {
    "normal": lambda generator, shape, _: generator.standard_normal(shape),
    "uniform": lambda generator, shape, _: 2 * generator.random(shape) - 1,
    "t": _student,
    "gumbel": _gumbel,
}
SAID: Mapping[str, str] = {
    "normal": "normal with variance {variance:.4g}",
    "uniform": "uniform on [-{self.spread:g}, {self.spread:g}]",
    "t": "t with {self.degrees} degrees of freedom, times {self.spread:g}",
    "gumbel": "Gumbel",
}
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


def draw_weight(generator: np.random.Generator) -> float:
    """Return a number away from zero: 0.5 to 1.5, with either sign."""
    sign = pick(generator, (-1, 1))
    return round(sign * (LEAST_WEIGHT + (MOST_WEIGHT - LEAST_WEIGHT) * generator.random()), PLACES)


def rounded(values: Floats) -> Floats:
    """Return the numbers to DIGITS significant digits, -0 as 0.

    Libraries of elementary functions differ in the last digit, and sin(exp(25)) makes six digits of that one. Rounding
    after every step keeps such differences from growing along the graph, and out of the files.
    """
    numbers = [float(f"{value:.{DIGITS}g}") for value in values.ravel().tolist()]
    return np.array(numbers).reshape(values.shape) + 0.0
