"""How a score sees the numbers of a table: the scale of numbers, and what is near among categories.

| scaling | a column of numbers becomes |
|---|---|
| `standard` | itself, with mean 0 and variance 1 |
| `rank` | the normal quantiles of its ranks, ties shared; any increasing function of it becomes the same |
| `robust` | itself less the median, over the interquartile range, cut at 5 times that, then standardised |
| `power` | the power of Yeo and Johnson (2000) that makes it most normal, then standardised |

| categories | those of a variable without order become |
|---|---|
| `codes` | the numbers 1, 2, ... in the order of their names, as in the paper: red is nearer to green than to yellow |
| `delta` | indicators: two are the same or different, and all that differ are equally far apart |

The kernel of a Gaussian on indicators is k(a, b) = 1 if a = b and exp(-c^2 / (2 s^2)) if not: the Delta kernel with a
learned smoothing, and on several such variables the Hamming kernel. The distance c between different categories is such
that the mean squared distance of two rows is 2, as it is for a standardised column; two categories are then as far
apart as their standardised codes, so binary variables do not change at all. Scales follow from the whole table: half of
the rows are seen on the same.
"""

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
from scipy import stats

from kerncause.errors import OptionError
from kerncause.text import quoted

Floats = npt.NDArray[np.float64]

# Of `robust`: in units of the interquartile range.
FARTHEST = 5.0


def _ranked(column: Floats) -> Floats:
    return np.asarray(stats.norm.ppf((stats.rankdata(column) - 0.5) / len(column)))


def _robust(column: Floats) -> Floats:
    low, middle, high = np.quantile(column, [0.25, 0.5, 0.75])
    spread = high - low if high > low else float(np.std(column))
    return np.asarray(np.clip((column - middle) / spread, -FARTHEST, FARTHEST))


def _powered(column: Floats) -> Floats:
    centred = (column - column.mean()) / column.std()
    return np.asarray(stats.yeojohnson(centred)[0])


SCALINGS: Mapping[str, Callable[[Floats], Floats]] = {
    "standard": lambda column: column,
    "rank": _ranked,
    "robust": _robust,
    "power": _powered,
}
CATEGORIES = ("codes", "delta")


AS_READ = ("standard", "codes", "standard")


def check_view(scaling: str, categories: str, response_scaling: str | None = None) -> tuple[str, str, str]:
    """Return all three, responses on the scale of the rest if nothing else is said; refuse what there is not."""
    responses = scaling if response_scaling is None else response_scaling
    for name, value in {"scaling": scaling, "response_scaling": responses}.items():
        if value not in SCALINGS:
            raise OptionError(f"{name} cannot be {quoted(value)}: the choices are {', '.join(SCALINGS)}")
    if categories not in CATEGORIES:
        raise OptionError(f"categories cannot be {quoted(categories)}: the choices are {', '.join(CATEGORIES)}")
    return scaling, categories, responses


def rescaled(column: Floats, scaling: str) -> Floats:
    """Return a column, NaN where missing, on another scale, with mean 0 and variance 1 over the values present."""
    there = ~np.isnan(column)
    seen = SCALINGS[scaling](column[there])
    result = np.full(len(column), np.nan)
    result[there] = (seen - seen.mean()) / seen.std()
    return result


def distance_apart(shares: Floats) -> float:
    """Return c, how far apart different categories with these shares are."""
    return float(np.sqrt(2.0 / (1.0 - np.square(shares).sum())))


def indicators(codes: Floats, levels: Floats, apart: float) -> Floats:
    """Return one column for each level, (n, k): rows with different levels are at the distance `apart`."""
    return np.asarray((codes[:, None] == levels[None]) * (apart / np.sqrt(2.0)))
