"""Which variables may be joined at all: a quick look at every pair, so that a search need not try them all.

* Every variable is written as a few orthonormal functions: cosines of the ranks of a column, from slow to fast;
  indicators of the levels of a category; the columns of a vector and the first principal components of a Gaussian
  kernel on them. A product of one function of x and one of y has mean zero and,
  over the square root of the rows, variance one if x and y are independent; so the sum of the squares of a x b such
  means is chi-squared with a b degrees of freedom (Neyman's smooth test, for two variables).
* The first 1, 2, 4, 8, ... functions of each are tried, since a straight line shows best in one of them and a wave in
  many; the strength of a pair is the largest value as a standard normal one (Wilson and Hilferty 1931).
* The candidates of a variable are the `most` strongest pairs that it is in, of those that are not mere chance; a pair
  is looked at if it is among the candidates of either.
* A weak cause can stand behind stronger variables that are no causes, and one that works only together with another
  shows nothing by itself. So when a search has come to its end, each variable is looked at once more with what it is
  joined to regressed out (iterated sure independence screening, Fan and Lv 2008), and its residuals once more times
  each of the variables it is joined to; what shows then is a candidate as well.

Two causes that show only together, such as those of an exclusive or, are not found; nor does a greedy search that
looks at every pair find them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from scipy.stats import rankdata

from kerncause.data import Dataset, Kind, Points
from kerncause.errors import OptionError
from kerncause.graphs import bits, mask_of
from kerncause.kernels import gaussian, median_heuristic
from kerncause.linalg import one_blas_thread

Floats = npt.NDArray[np.float64]
Masks = tuple[int, ...]

MOST_FEATURES = 8
# So many of a variable's features are multiplied with those of another.
MULTIPLIED = 3
LADDER = (1, 2, 4, 8, 16, 32)
# Of a vector: so many principal components, found from so many rows.
COMPONENTS = 20
MOST_LANDMARKS = 300
# More rows do not change which pairs are the strongest.
MOST_ROWS = 5000
# A pair below this is chance: as a standard normal value, the largest of many that depend on each other.
LEAST_STRENGTH = 3.0
# The same for the second look, which is the largest of more.
LEAST_BEYOND = 3.5
# Columns that are this close to a combination of those before them say nothing new.
DEPENDENT = 1e-6
# When a variable is regressed on others there are so many rows to a feature.
ROWS_PER_FEATURE = 5
# Up to here a search looks at every pair if nothing is said; above, at so many for each variable.
MOST_EXHAUSTIVE = 30
DEFAULT_CANDIDATES = 10


def how_many(candidates: int | str | None, variables: int) -> int | None:
    """Return how many candidates each variable has; None: all others."""
    if candidates == "all":
        return None
    if candidates is None:
        return None if variables <= MOST_EXHAUSTIVE else DEFAULT_CANDIDATES
    if isinstance(candidates, bool) or not isinstance(candidates, Integral) or candidates < 1:
        raise OptionError(f"candidates (--candidates) cannot be {candidates}: give a whole number of 1 or more, or all")
    return int(candidates)


class Screening:
    """The candidates of every variable of a table.

    Args:
        data: the table.
        names: its variables in the order in which a search has them; a set of them is a bit mask.
        most: how many candidates a variable has by its own choice.
    """

    def __init__(self, data: Dataset, names: Sequence[str], most: int) -> None:
        rows = data.repeated().thinned(MOST_ROWS)
        with one_blas_thread():
            self._features = [features_of(rows, name) for name in names]
        self._most = most

    def first(self, allowed: Masks) -> Masks:
        """Return the candidates of every variable, as far as an edge is allowed one way or the other."""
        return self._chosen(self._strengths, LEAST_STRENGTH, allowed)

    def further(self, allowed: Masks, joined: Masks, known: Masks) -> Masks:
        """Return the candidates known, and those that show when each variable's neighbours are regressed out."""
        strengths = np.zeros_like(self._strengths)
        with one_blas_thread():
            for y, mask in enumerate(joined):
                if mask:
                    strengths[y] = self._beyond(y, mask)
        unknown = tuple(a & ~k for a, k in zip(_either(allowed), known, strict=True))
        new = self._chosen(strengths, LEAST_BEYOND, unknown)
        return tuple(a | b for a, b in zip(known, new, strict=True))

    def _chosen(self, strengths: Floats, least: float, allowed: Masks) -> Masks:
        """Return for each variable its strongest pairs, and those it is chosen in."""
        either = _either(allowed)
        own = []
        for y, row in enumerate(strengths):
            open_ = [x for x in bits(either[y]) if row[x] >= least]
            own.append(mask_of(sorted(open_, key=lambda x: (-row[x], x))[: self._most]))
        return _either(tuple(own))

    @cached_property
    def _strengths(self) -> Floats:
        """The strength of every pair, (p, p), symmetric."""
        strengths = np.zeros((len(self._features), len(self._features)))
        with one_blas_thread():
            for i, x in enumerate(self._features):
                later = self._features[i + 1 :]
                strengths[i, i + 1 :] = _strengths_with(x, later) if later else 0.0
        return strengths + strengths.T

    def _beyond(self, y: int, joined: int) -> Floats:
        """Return the strength of what y's neighbours do not explain of it with every other variable, (p,).

        By itself, and times each of the neighbours.
        """
        others = [k for k in range(len(self._features)) if k != y and not joined >> k & 1]
        if not others:
            return np.zeros(len(self._features))
        given = [self._features[k] for k in bits(joined)]
        each = max(1, len(given[0].values) // (ROWS_PER_FEATURE * len(given)))
        basis = orthonormal(np.hstack([g.values[:, :each] for g in given]))
        rest = self._features[y].without(basis)
        slow = [self._features[k].slowest(MULTIPLIED) for k in others]
        looks = [
            _strengths_with(rest, [self._features[k].without(basis) for k in others]),
            *(_strengths_with(rest.times(g.slowest(MULTIPLIED)), slow) for g in given),
        ]
        strengths = np.zeros(len(self._features))
        strengths[others] = np.max(looks, axis=0)
        return strengths


def _either(masks: Masks) -> Masks:
    """Return for each node those it has and those that have it."""
    into = [0] * len(masks)
    for y, mask in enumerate(masks):
        for x in bits(mask):
            into[x] |= 1 << y
    return tuple(a | b for a, b in zip(masks, into, strict=True))


@dataclass(frozen=True, eq=False)
class Features:
    """A variable as functions with mean 0 and variance 1, uncorrelated.

    Attributes:
        values: (n, m), 0 in the rows where the variable has no value.
        present: (n,) 1.0 where it has one.
        ladder: how many of them, from the first on, to look at together.
    """

    values: Floats
    present: Floats
    ladder: tuple[int, ...]

    def without(self, basis: Floats) -> "Features":
        """Return the same with a regression on an orthonormal basis (n, q) taken away, each with variance 1 again."""
        return Features(_scaled(self.values - basis @ (basis.T @ self.values)), self.present, self.ladder)

    def slowest(self, most: int) -> "Features":
        """Return the first few."""
        ladder = tuple(sorted({min(k, most) for k in self.ladder}))
        return Features(self.values[:, :most], self.present, ladder)

    def times(self, other: "Features") -> "Features":
        """Return the product of every function of one with every function of the other."""
        products = (self.values[:, :, None] * other.values[:, None, :]).reshape(len(self.values), -1)
        width = other.values.shape[1]
        return Features(_scaled(products), self.present * other.present, tuple(k * width for k in self.ladder if width))


def _scaled(columns: Floats) -> Floats:
    """Return the columns with a mean square of 1; zero where there is nothing."""
    spread = np.sqrt(np.mean(columns**2, axis=0))
    scaled: Floats = columns * np.where(spread > DEPENDENT, 1.0 / np.maximum(spread, DEPENDENT), 0.0)
    return scaled


def features_of(rows: Dataset, name: str) -> Features:
    """Return the features of one variable."""
    values = rows.values[:, list(rows.columns_of(name))]
    present = np.asarray(~np.isnan(values).any(axis=1))
    if not present.any():
        return Features(np.zeros((len(values), 0)), np.zeros(len(values)), ())
    kind = rows.variable(name).kind
    make = {Kind.CATEGORICAL: _of_levels, Kind.VECTOR: _of_vector}.get(kind, _of_column)
    raw = make(values[present])
    kept = orthonormal(raw - raw.mean(axis=0)) * np.sqrt(present.sum())
    width = kept.shape[1]
    functions = np.zeros((len(values), width))
    functions[present] = kept
    # Levels have no order, so there are no slow ones among their functions.
    steps = (width,) if kind is Kind.CATEGORICAL else (*(k for k in LADDER if k < width), width)
    return Features(functions, present.astype(np.float64), steps if width else ())


def _of_levels(values: Floats) -> Floats:
    """Return indicators of the most frequent levels, (n, m)."""
    levels, counts = np.unique(values, return_counts=True)
    frequent = levels[np.argsort(-counts, kind="stable")[:MOST_FEATURES]]
    indicators: Floats = (values == frequent).astype(np.float64)
    return indicators


def _of_column(values: Floats) -> Floats:
    """Return cosines of the ranks, the slowest first; (n, m)."""
    places = (rankdata(values, axis=0) - 0.5) / len(values)
    cosines: Floats = np.cos(np.pi * places * np.arange(1, MOST_FEATURES + 1))
    return cosines


def _of_vector(values: Floats) -> Floats:
    """Return the columns, and principal components of a Gaussian kernel as wide as the median distance; (n, m)."""
    landmarks = values[np.linspace(0, len(values) - 1, min(MOST_LANDMARKS, len(values))).astype(np.int64)]
    width = 0.5 * median_heuristic(Points.of(values))
    _, directions = np.linalg.eigh(gaussian(cdist(landmarks, landmarks, "sqeuclidean"), width))
    kernel = gaussian(cdist(values, landmarks, "sqeuclidean"), width)
    return np.hstack([values, kernel @ directions[:, ::-1][:, :COMPONENTS]])


def orthonormal(columns: Floats) -> Floats:
    """Return an orthonormal basis of the columns (n, q), in their order, without those that depend on others."""
    kept: list[Floats] = []
    basis = np.zeros((len(columns), 0))
    for column in columns.T:
        size = float(np.linalg.norm(column))
        left = column - basis @ (basis.T @ column)
        left -= basis @ (basis.T @ left)  # twice is enough
        norm = float(np.linalg.norm(left))
        if norm > DEPENDENT * max(size, 1.0):
            kept.append(left / norm)
            basis = np.column_stack(kept)
    return basis


def _strengths_with(x: Features, others: Sequence[Features]) -> Floats:
    """Return the strength of one variable with some others."""
    ends = np.cumsum([0, *(y.values.shape[1] for y in others)])
    squares = (x.values.T @ np.hstack([y.values for y in others])) ** 2
    both = x.present @ np.column_stack([y.present for y in others])
    return np.array(
        [
            _strength(squares[:, ends[k] : ends[k + 1]] / max(both[k], 1.0), x.ladder, y.ladder)
            for k, y in enumerate(others)
        ]
    )


def _strength(squares: Floats, of_x: tuple[int, ...], of_y: tuple[int, ...]) -> float:
    """Return the largest sum of squares (a, b) of slow features, as a standard normal value."""
    if not of_x or not of_y:
        return 0.0
    sums = squares.cumsum(axis=0).cumsum(axis=1)[np.ix_(np.array(of_x) - 1, np.array(of_y) - 1)]
    degrees = np.outer(of_x, of_y)
    spread = 2.0 / (9.0 * degrees)
    return float(np.max((np.cbrt(sums / degrees) - (1.0 - spread)) / np.sqrt(spread)))
