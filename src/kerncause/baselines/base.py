"""What a baseline is, what can be set about it, and what it gives."""

import math
import numbers
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec

import pandas as pd

from kerncause.baselines.exchange import Answer, Floats, Settings, Value
from kerncause.baselines.pace import Pace
from kerncause.errors import OptionError
from kerncause.graphs import CPDAG, DAG
from kerncause.text import listed, quoted

EXTRA = "pip install 'kerncause[baselines]'"

Pair = tuple[str, str]
Learner = Callable[[Floats, int, Settings, Pace], Answer]


@dataclass(frozen=True)
class Setting:
    """One thing that can be set about a method.

    Attributes:
        default: the value in the paper's comparison, or the library's own; a whole number stays one.
        least: the smallest number allowed.
        exclusive: whether `least` itself is refused.
        choices: the words allowed, for a setting that is a word.
    """

    default: Value
    least: float = 0.0
    exclusive: bool = False
    choices: tuple[str, ...] = ()

    def checked(self, method: str, name: str, value: object) -> Value:
        """Return a value in the default's type, or refuse it."""
        if self.choices:
            if value not in self.choices:
                raise OptionError(
                    f"{name} of {method} cannot be {quoted(value)}: the choices are {', '.join(self.choices)}"
                )
            return str(value)
        number = self._number(value)
        if number is None or number < self.least or (self.exclusive and number == self.least):
            raise OptionError(f"{name} of {method} cannot be {quoted(value)}: {self._wanted()}")
        return number

    def _number(self, value: object) -> int | float | None:
        """Return the value as the sort of number the default is, or None."""
        if isinstance(value, bool):
            return None
        if isinstance(self.default, int):
            return int(value) if isinstance(value, numbers.Integral) else None
        return float(value) if isinstance(value, numbers.Real) and math.isfinite(value) else None

    def _wanted(self) -> str:
        noun = "a whole number" if isinstance(self.default, int) else "a number"
        return f"give {noun} {'above' if self.exclusive else 'of at least'} {self.least:g}"


@dataclass(frozen=True)
class Baseline:
    """A method by its name: what it needs, what can be set, and how it learns.

    Attributes:
        name: what a user calls it.
        packages: top-level modules that must be installed.
        module: what is imported before the clock starts.
        settings: by name.
        learn: (table (n, p), seed, settings, pace) -> Answer; called in a process of its own, imports its library
            itself, and tells the pace how far it is where its steps are alike.
    """

    name: str
    packages: tuple[str, ...]
    module: str
    settings: Mapping[str, Setting]
    learn: Learner = field(repr=False)

    @property
    def defaults(self) -> dict[str, Value]:
        """The value of every setting if nothing is said."""
        return {name: setting.default for name, setting in self.settings.items()}

    def settled(self, asked: Mapping[str, object]) -> dict[str, Value]:
        """Return every setting's value: the default, or the one asked for; refuse what is unknown or out of range."""
        unknown = [name for name in asked if name not in self.settings]
        if unknown:
            raise OptionError(
                f"{self.name} has no setting {listed(unknown)}: what can be set is {', '.join(self.settings)}"
            )
        return self.defaults | {
            name: self.settings[name].checked(self.name, name, value) for name, value in asked.items()
        }

    def require_packages(self) -> None:
        """Refuse where the libraries are not installed; nothing is imported to find out."""
        absent = [package for package in self.packages if find_spec(package) is None]
        if absent:
            raise OptionError(
                f"{self.name} needs the Python package {listed(absent)}, which is not installed: {EXTRA}"
                if len(absent) == 1
                else f"{self.name} needs the Python packages {listed(absent)}, which are not installed: {EXTRA}"
            )


@dataclass(frozen=True, eq=False)
class BaselineOutcome:
    """What a baseline learned from a table.

    Attributes:
        name: the method.
        dag: the graph after the threshold, cycles broken; nodes in the order of the table.
        graph: the equivalence class of `dag`.
        weights: (p, p) as learned, before threshold and cycle breaking: `weights.loc[a, b]` is that of a -> b.
        particles: every graph the method gave, each made acyclic: several for DiBS, else `dag` alone.
        log_joints: log p(G) + log p(theta, D | G) of every particle, as learned; empty for the other methods.
        removed: the edges taken out of `dag` because they closed a cycle.
        settings: the value of every setting, default or not.
        seed: of the random numbers.
        seconds: spent learning, without starting the process and loading the library.
    """

    name: str
    dag: DAG
    graph: CPDAG
    weights: pd.DataFrame = field(repr=False)
    particles: tuple[DAG, ...] = field(repr=False)
    log_joints: tuple[float, ...] = field(repr=False)
    removed: tuple[Pair, ...]
    settings: Settings
    seed: int
    seconds: float
