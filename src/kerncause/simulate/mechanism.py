"""How one variable follows from its parents: X = g(f(PA) + e), drawn until the column can be used."""

from dataclasses import dataclass, replace

import numpy as np

from kerncause.simulate.functions import (
    NOISES,
    ROOTS,
    WEIGHTS,
    Distribution,
    Floats,
    Function,
    Ints,
    draw_function,
    pick,
)

MOST_DRAWS = 100
# In standard deviations of the column.
FARTHEST = 12.0
# Of a column's variance, what one row may make up. A row among n is never farther out than sqrt(n - 1) deviations,
# so in small tables the limit above would let a single outlier be the whole column; from 160 rows on it is stricter.
LARGEST_SHARE = 0.9
# The standard deviation relative to the largest value. Files keep DIGITS digits, so half of them still vary.
SMALLEST_SPREAD = 1e-6
DIGITS = 12


@dataclass(frozen=True)
class Bins:
    """Equal-width bins over the range of a column: value k stands for the k-th of `levels` parts of [low, high]."""

    low: float
    high: float
    levels: int

    def codes(self, x: Floats) -> Ints:
        """Return for every number its bin, 1..levels; a border belongs to the bin above it, `high` to the last."""
        part = np.floor((x - self.low) / (self.high - self.low) * self.levels).astype(np.int64)
        return np.minimum(part + 1, self.levels)


@dataclass(frozen=True)
class Mechanism:
    """What was drawn for one variable.

        S = sum over the columns of all parents, each with mean 0 and variance 1        (n,)
        X = g(f(S) + e), the same S for every column of X, each column with its own e   (n, l)

    Attributes:
        name: the variable.
        columns: its columns in the table, l of them.
        parents: its direct causes, in the order of the table.
        root: the distribution of a variable without parents; None for the others.
        inner: f; None for a root.
        outer: g; None for a root, unless it is `rank`.
        noise: the distribution of e; None for a root.
        redraws: how many mechanisms were drawn before and thrown away because their column could not be used.
        bins: how the column was discretised; None where it was not.
    """

    name: str
    columns: tuple[str, ...]
    parents: tuple[str, ...]
    root: Distribution | None = None
    inner: Function | None = None
    outer: Function | None = None
    noise: Distribution | None = None
    redraws: int = 0
    bins: Bins | None = None

    def values(self, summed: Floats, noise: Floats) -> Floats:
        """Return X, (n, l), before any discretising; S, f(S) and X are kept to DIGITS significant digits.

        Args:
            summed: (n,) S, which a root does not look at.
            noise: (n, l) e, or the values drawn for a root.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            inside = noise if self.inner is None else rounded(self.inner(rounded(summed)))[:, None] + noise
            return rounded(inside if self.outer is None else self.outer(inside))

    def __str__(self) -> str:
        cut = f", in {self.bins.levels} bins" if self.bins else ""
        if self.inner is None or self.outer is None:
            return f"{self.name} {self.root}{', ranked' if self.outer else ''}{cut}"
        inside = f"{self.inner.of(' + '.join(self.parents))} + e"
        return f"{self.name} = {self.outer.of(inside)}, e {self.noise}{cut}"


@dataclass(frozen=True, eq=False)
class Draw:
    """A mechanism, its noise e and its values X before discretising, both (n, l)."""

    mechanism: Mechanism
    noise: Floats
    values: Floats

    @property
    def table(self) -> Floats | Ints:
        """What the table shows of X, (n, l): its values, or their bins."""
        return self.values if self.mechanism.bins is None else self.mechanism.bins.codes(self.values)

    def in_bins(self, levels: int | None) -> "Draw":
        """Return the same draw with its range cut into so many bins; None leaves it continuous."""
        if levels is None:
            return self
        bins = Bins(float(self.values.min()), float(self.values.max()), levels)
        return replace(self, mechanism=replace(self.mechanism, bins=bins))


def draw_mechanism(
    generator: np.random.Generator,
    blank: Mechanism,
    summed: Floats,
    *,
    levels: int | None = None,
    reading: str = "variance",
    most_draws: int = MOST_DRAWS,
) -> Draw:
    """Draw a mechanism whose columns can be used, before and after discretising.

    After `most_draws` attempts the outer function becomes `rank`, which makes a usable column of anything finite, and
    the inner one linear with the smaller weight: so it always ends.

    Args:
        generator: the source of everything drawn.
        blank: the variable's name, columns and parents.
        summed: (n,) the sum of the parents' standardised columns.
        levels: the number of bins; None for a variable that stays continuous.
        reading: what 0.5 is in N(0, 0.5), `variance` or `deviation`.
        most_draws: attempts before the fallback.
    """
    for redraws in range(most_draws):
        mechanism, noise = _attempt(generator, replace(blank, redraws=redraws), len(summed), reading)
        draw = Draw(mechanism, noise, mechanism.values(summed, noise))
        if is_usable(draw.values) and is_usable(draw.in_bins(levels).table):
            return draw.in_bins(levels)
    mechanism, noise = _attempt(generator, replace(blank, redraws=most_draws), len(summed), reading)
    inner = Function("linear", weight=WEIGHTS[0]) if blank.parents else None
    mechanism = replace(mechanism, inner=inner, outer=Function("rank"))
    return Draw(mechanism, noise, mechanism.values(summed, noise)).in_bins(levels)


def _attempt(generator: np.random.Generator, blank: Mechanism, rows: int, reading: str) -> tuple[Mechanism, Floats]:
    """Draw the distribution, the functions and the noise of one mechanism."""
    law = pick(generator, NOISES[reading] if blank.parents else ROOTS)
    if blank.parents:
        drawn = replace(blank, inner=draw_function(generator), outer=draw_function(generator), noise=law)
    else:
        drawn = replace(blank, root=law)
    return drawn, law.draw(generator, (rows, len(blank.columns)))


def is_usable(values: Floats | Ints) -> bool:
    """Tell whether every column of (n, l) is finite, not constant, and not one outlier."""
    if not np.isfinite(values).all():
        return False
    largest = np.abs(values).max(axis=0)
    if not largest.all():
        return False
    unit = values / largest  # so that 1e300 can be squared
    spread = unit.std(axis=0)
    farthest = np.abs(unit - unit.mean(axis=0)).max(axis=0)
    limit = min(FARTHEST, float(np.sqrt(LARGEST_SHARE * len(values))))
    return bool((spread > SMALLEST_SPREAD).all() and (farthest <= limit * spread).all())


def standardised_sum(values: Floats) -> Floats:
    """Return sum over columns of (x - mean)/deviation, (n,): the variable times a matrix of ones."""
    unit = values / np.abs(values).max(axis=0)
    total: Floats = ((unit - unit.mean(axis=0)) / unit.std(axis=0)).sum(axis=1)
    return total


def rounded(values: Floats) -> Floats:
    """Return the numbers to DIGITS significant digits, -0 as 0.

    Libraries of elementary functions differ in the last digit, and sin(exp(25)) makes six digits of that one. Rounding
    after every step keeps such differences from growing along the graph, and out of the files.
    """
    numbers = [float(f"{value:.{DIGITS}g}") for value in values.ravel().tolist()]
    return np.array(numbers).reshape(values.shape) + 0.0
