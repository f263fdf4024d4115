"""How a score sees the numbers of a table: the scale of numbers, and what is near among categories.

| scaling | a column of numbers becomes |
|---|---|
| `standard` | itself, with mean 0 and variance 1 |
| `rank` | the normal quantiles of its ranks, ties shared; any increasing function of it becomes the same |
| `robust` | itself less the median, over the interquartile range, cut at 5 times that, then standardised |
| `power` | the power of Yeo and Johnson (2000) that makes it most normal, then standardised |

What is to be explained can be on one more scale, which is for whole variables, numbers and vectors alike:

| response_scaling | a variable becomes |
|---|---|
| `levels` | the middle of its cell: rows are halved by their ranks, along the widest column, again and again |

Cells hold nearly equal numbers of rows, at least 12, and there are at most 32; equal rows are in one cell. Of a number
they are its quantiles, and any increasing function of it has the same cells. Which cell a row is in is something that
has a probability, as a category has, where a number or a vector has a density.

With `vectors="in-turn"` every column of a vector has levels of its own, because each is explained by itself.

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
Ints = npt.NDArray[np.int64]

# Of `robust`: in units of the interquartile range.
FARTHEST = 5.0
# Of `levels`: how many rows a cell needs, and how often rows are halved at most.
ROWS_OF_CELL = 12
MOST_HALVINGS = 5


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
LEVELS = "levels"
RESPONSE_SCALINGS = (*SCALINGS, LEVELS)
CATEGORIES = ("codes", "delta")


WHOLE, IN_TURN = "whole", "in-turn"
VECTORS = (WHOLE, IN_TURN)
View = tuple[str, str, str, str]


AS_READ: View = ("standard", "codes", "standard", WHOLE)


def check_view(scaling: str, categories: str, response_scaling: str | None = None, vectors: str = WHOLE) -> View:
    """Return all four, responses on the scale of the rest if nothing else is said; refuse what there is not."""
    responses = scaling if response_scaling is None else response_scaling
    for name, value, choices in (("scaling", scaling, SCALINGS), ("response_scaling", responses, RESPONSE_SCALINGS)):
        if value not in choices:
            raise OptionError(f"{name} cannot be {quoted(value)}: the choices are {', '.join(choices)}")
    if categories not in CATEGORIES:
        raise OptionError(f"categories cannot be {quoted(categories)}: the choices are {', '.join(CATEGORIES)}")
    if vectors not in VECTORS:
        raise OptionError(f"vectors cannot be {quoted(vectors)}: choose {' or '.join(VECTORS)}")
    return scaling, categories, responses, vectors


def seen_on(columns: Floats, scaling: str, vectors: str = WHOLE) -> Floats:
    """Return the columns of one variable, (n, l), on another scale."""
    if scaling == LEVELS and vectors == IN_TURN:
        return np.column_stack([levelled(column[:, None]) for column in columns.T])
    if scaling == LEVELS:
        return levelled(columns)
    return np.column_stack([rescaled(column, scaling) for column in columns.T])


def rescaled(column: Floats, scaling: str) -> Floats:
    """Return a column, NaN where missing, on another scale, with mean 0 and variance 1 over the values present."""
    there = ~np.isnan(column)
    seen = SCALINGS[scaling](column[there])
    result = np.full(len(column), np.nan)
    result[there] = (seen - seen.mean()) / seen.std()
    return result


def levelled(columns: Floats) -> Floats:
    """Return the middles of the cells of one variable, (n, l), with mean 0 and, over the columns, a mean variance of 1.

    Columns that cells are not cut across hardly differ between them: what little that is must not be blown up. Rows
    with a NaN are NaN and belong to no cell.
    """
    there = ~np.isnan(columns).any(axis=1)
    ranked = np.column_stack([rescaled(column, "rank") for column in columns[there].T])
    middles = np.empty_like(ranked)
    for cell in _cells(ranked):
        middles[cell] = ranked[cell].mean(axis=0)
    result = np.full(columns.shape, np.nan)
    result[there] = middles / np.sqrt(middles.var(axis=0).mean())
    return result


def _cells(ranked: Floats) -> list[Ints]:
    """Return the rows of every cell."""
    cells = [np.arange(len(ranked))]
    for _ in range(halvings(len(ranked))):
        cells = [half for cell in cells for half in _halves(ranked, cell)]
    return cells


def halvings(n: int) -> int:
    """Return how often n rows are halved."""
    return int(np.clip(np.log2(max(n, 1) / ROWS_OF_CELL), 1, MOST_HALVINGS))


def _halves(ranked: Floats, cell: Ints) -> list[Ints]:
    """Cut a cell as near to its middle as equal values allow, across its widest column; all alike stay together."""
    # Rounded, so that the order of rows does not decide between columns that are equally wide.
    column = ranked[cell, int(np.argmax(ranked[cell].var(axis=0).round(9)))]
    order = np.argsort(column, kind="stable")
    cuts = np.flatnonzero(np.diff(column[order])) + 1
    if not cuts.size:
        return [cell]
    cut = cuts[np.argmin(np.abs(cuts - len(cell) / 2.0))]
    return [cell[order[:cut]], cell[order[cut:]]]


def distance_apart(shares: Floats) -> float:
    """Return c, how far apart different categories with these shares are."""
    return float(np.sqrt(2.0 / (1.0 - np.square(shares).sum())))


def indicators(codes: Floats, levels: Floats, apart: float) -> Floats:
    """Return one column for each level, (n, k): rows with different levels are at the distance `apart`."""
    return np.asarray((codes[:, None] == levels[None]) * (apart / np.sqrt(2.0)))
