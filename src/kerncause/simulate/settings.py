"""What a simulation is asked for, checked at the door."""

import operator
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from numbers import Real
from typing import Any

from kerncause.errors import OptionError
from kerncause.simulate.functions import NOISES
from kerncause.text import printable, quoted

# The options that not every kind takes, and what they are where a kind takes them and nothing was said.
KINDS: Mapping[str, tuple[str, ...]] = {
    "continuous": (),
    "mixed": ("ratio", "levels"),
    "discrete": ("levels",),
    "multidimensional": ("max_columns",),
    "nominal": ("ratio", "levels"),
    "heteroscedastic": (),
    "heavy-tailed": (),
    "linear": (),
    "additive": (),
}
# The paper's; the others are ours.
PAPER_KINDS = ("continuous", "mixed", "discrete", "multidimensional")
DEFAULTS: Mapping[str, Any] = {"ratio": 0.5, "levels": 5, "max_columns": 5}
NOMINAL_LEVELS = (3, 4, 5, 6)
# Their noise is not the paper's N(0, 0.5), which can be read in two ways.
OWN_NOISE = ("heavy-tailed", "linear")


@dataclass(frozen=True)
class Settings:
    """The arguments of `simulate`, complete: `simulate(**settings.as_json())` gives the same table again.

    An option that the kind does not take is None.
    """

    kind: str
    variables: int
    density: float
    rows: int
    seed: int
    ratio: float | None = None
    levels: int | Sequence[int] | None = None
    noise: str = "variance"
    max_columns: int | None = None
    isolated: int = 0

    def __post_init__(self) -> None:
        _refuse_unknown("kind", self.kind, KINDS)
        _refuse_unknown("noise", self.noise, NOISES)
        if self.kind in OWN_NOISE and self.noise != "variance":
            raise OptionError(f"{_shown('noise')} means nothing for {self.kind} data: leave it out")
        for option, check in CHECKS.items():
            value = getattr(self, option)
            if value is None and option in KINDS[self.kind]:
                value = NOMINAL_LEVELS if (self.kind, option) == ("nominal", "levels") else DEFAULTS[option]
            if option in DEFAULTS and option not in KINDS[self.kind]:
                _refuse_unused(option, value, self.kind)
            else:
                value = check(option, value)
            object.__setattr__(self, option, value)
        if self.isolated > self.variables:
            raise OptionError(
                f"{_shown('isolated')} cannot be {self.isolated}: there are {self.variables} variables (--variables)"
            )

    @property
    def discretised(self) -> int:
        """How many variables are discretised, or categories."""
        shares = {"mixed": self.ratio or 0.0, "nominal": self.ratio or 0.0, "discrete": 1.0}
        return round(shares.get(self.kind, 0.0) * self.variables)

    @property
    def level_choices(self) -> tuple[int, ...]:
        """The numbers of bins, or of categories, among which each such variable draws its own."""
        levels = self.levels or ()
        return (levels,) if isinstance(levels, int) else tuple(levels)

    @property
    def widest(self) -> int:
        """The most columns a variable can have."""
        return self.max_columns or 1

    def as_json(self) -> dict[str, Any]:
        """Return the settings as they are written down with the table."""
        levels = self.levels
        return asdict(self) | {"levels": levels if levels is None or isinstance(levels, int) else list(levels)}


def _whole(option: str, value: Any, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise OptionError(f"{_shown(option)} cannot be {printable(value)}: give a whole number, {least} or more")
    return number


def _share(option: str, value: Any) -> float:
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 <= float(value) <= 1:
        raise OptionError(f"{_shown(option)} cannot be {printable(value)}: give a number from 0 to 1")
    return float(value)


def _levels(option: str, value: Any) -> int | tuple[int, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return _whole(option, value, 2)
    if not value:
        raise OptionError(f"{_shown(option)} cannot be an empty list: give at least one number of values")
    return tuple(_whole(option, one, 2) for one in value)


CHECKS: Mapping[str, Callable[[str, Any], Any]] = {
    "variables": partial(_whole, least=2),
    "density": _share,
    "rows": partial(_whole, least=2),
    "seed": partial(_whole, least=0),
    "ratio": _share,
    "levels": _levels,
    "max_columns": partial(_whole, least=1),
    "isolated": partial(_whole, least=0),
}


def _refuse_unknown(option: str, value: Any, choices: Collection[str]) -> None:
    if not isinstance(value, str) or value not in choices:
        raise OptionError(f"{_shown(option)} cannot be {quoted(value)}: the choices are {', '.join(choices)}")


def _refuse_unused(option: str, value: object, kind: str) -> None:
    if value is not None:
        takers = " or ".join(other for other, taken in KINDS.items() if option in taken)
        raise OptionError(f"{_shown(option)} means nothing for {kind} data: leave it out, or ask for {takers} data")


def _shown(option: str) -> str:
    """Return an option's name as Python and the command line spell it."""
    return f"{option} (--{option.replace('_', '-')})"
