"""Two variables, and which of them the score takes for the cause."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kerncause.data import Dataset
from kerncause.directions.probability import NOTHING_KNOWN, footing_of, probability
from kerncause.errors import DataError, OptionError
from kerncause.scores import Comparison, Ledger, make_score
from kerncause.text import printable

SURE = 0.75


@dataclass(frozen=True)
class Direction:
    """What a score says about the direction between two variables.

    Attributes:
        cause: the variable that it prefers as the cause.
        effect: the other.
        preference: by how many nats cause -> effect scores above effect -> cause, 0 or more.
        probability: how often preferences like this one are right; 0.5 where nothing is known.
        gain: what the edge gains over independence in the preferred direction, in nats.
        gain_reversed: the same in the other direction.
        bandwidth: of the cause in the preferred direction (long: near-linear, of which no direction is known).
    """

    cause: str
    effect: str
    preference: float
    probability: float
    gain: float
    gain_reversed: float
    bandwidth: float | None = None

    @property
    def is_claimed(self) -> bool:
        """Whether the probability is worth a claim: three of four, or more."""
        return self.probability >= SURE

    def __str__(self) -> str:
        a, b = printable(self.cause), printable(self.effect)
        nats = f"{a} → {b} is {self.preference:.1f} nats better than {b} → {a}"
        if self.gain <= 0.0:
            return f"no dependence between {a} and {b} was found"
        if self.probability == NOTHING_KNOWN:
            return f"{nats}, which says nothing between variables of these kinds, or by this score"
        return f"{nats}; preferences like this are right in {self.probability:.0%} of cases"


def direction(
    x: npt.ArrayLike,
    y: npt.ArrayLike,
    *,
    score: str = "learned",
    score_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Direction:
    """Compare x -> y with y -> x.

    Args:
        x: (n,) one variable, or (n, d) a vector; a Series keeps its name.
        y: (n,) or (n, d) the other.
        score: the name of a score. The probability was calibrated with `learned`.
        score_options: keyword arguments of the score.
        options: of the table, as in `Dataset.from_frame`: `kinds`, `missing`, ...; names are those of the Series, or
            x and y.
    """
    if "groups" in options:
        raise OptionError("direction takes no groups: give a vector as an array with several columns")
    frames = [_frame(values, name) for values, name in ((x, "x"), (y, "y"))]
    names = [str(frame.attrs["name"]) for frame in frames]
    if names[0] == names[1]:
        raise OptionError(f"both variables are called {names[0]!r}: give them different names")
    if len(frames[0]) != len(frames[1]):
        raise DataError(f"x has {len(frames[0])} rows and y has {len(frames[1])}: give as many of both")
    groups = {name: list(f.columns) for name, f in zip(names, frames, strict=True) if f.shape[1] > 1}
    table = pd.concat([frame.reset_index(drop=True) for frame in frames], axis=1)
    data = Dataset.from_frame(table, groups=groups, **options)
    made = make_score(score, data, **(score_options or {}))
    ledger = Ledger(made)
    there = [Comparison(b, frozenset(), frozenset({a})) for a, b in (names, names[::-1])]
    ledger.prepare(there, settled=True)
    forth, back = map(ledger.gain, there)
    if back > forth:
        names, (forth, back) = names[::-1], (back, forth)
    kinds = data.variable(names[0]).kind, data.variable(names[1]).kind
    width = ledger.fit(names[1], names[:1]).bandwidths.get(names[0])
    right = probability(forth - back, forth, width, kinds, footing_of(made))
    return Direction(names[0], names[1], forth - back, right, forth, back, width)


def _frame(values: npt.ArrayLike, name: str) -> pd.DataFrame:
    """Return the columns of one variable, with its name in `attrs`."""
    if isinstance(values, pd.Series):
        name = name if values.name is None else str(values.name)
        frame = values.to_frame(name)
    else:
        array = np.asarray(values)
        if array.ndim not in (1, 2):
            raise DataError(f"{name} has {array.ndim} dimensions: give rows, or rows and columns")
        array = array.reshape(len(array), -1)
        columns = [name] if array.shape[1] == 1 else [f"{name} {k}" for k in range(1, array.shape[1] + 1)]
        frame = pd.DataFrame(array, columns=columns)
    frame.attrs["name"] = name
    return frame
