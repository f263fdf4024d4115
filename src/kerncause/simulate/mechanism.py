"""How one variable follows from its parents: X = g(f(PA) + e), drawn until the column can be used."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kerncause.simulate.choice import Choice, Effects
from kerncause.simulate.functions import WEIGHTS, Distribution, Floats, Function, Ints, pick, rounded
from kerncause.simulate.models import FARTHEST, Model, model_of

MOST_DRAWS = 100
# Of a column's variance, what one row may make up. A row among n is never farther out than sqrt(n - 1) deviations,
# so in small tables FARTHEST would let a single outlier be the whole column; from 160 rows on it is stricter.
LARGEST_SHARE = 0.9
# The standard deviation relative to the largest value. Files keep 12 digits, so half of them still vary.
SMALLEST_SPREAD = 1e-6


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
    """What was drawn for one variable of numbers.

        P_j = sum over the columns of the j-th parent, each with mean 0 and variance 1  (n,)
        S = P_1 + P_2 + ...                                                             (n,)
        X = g(f(S) + e), the same S for every column of X, each column with its own e   (n, l)

    This is the paper's, and that of nominal data, where a parent of categories counts in S what each of them is worth
    to this variable. Other kinds of data have no g:

        X = f(S) + e                            heavy-tailed
        X = f(S) + s(S) e, with the scale s     heteroscedastic
        X = f_1(P_1) + f_2(P_2) + ... + e       linear and additive

    Attributes:
        name: the variable.
        columns: its columns in the table, l of them.
        parents: its direct causes, in the order of the table.
        root: the distribution of a variable without parents; None for the others.
        inner: f; None for a root, and where there are terms.
        outer: g; None where there is none. A root has none, unless it is `rank`.
        noise: the distribution of e; None for a root.
        redraws: how many mechanisms were drawn before and thrown away because their column could not be used.
        bins: how the column was discretised; None where it was not.
        scale: s; None where it is 1.
        terms: f_1, f_2, ..., one for each parent; empty where there is f.
        effects: what each category of a parent is worth, for the parents that have categories.
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
    scale: Function | None = None
    terms: tuple[Function, ...] = ()
    effects: tuple[Effects, ...] = ()

    @property
    def kind(self) -> str:
        """How a table should read its columns."""
        return "ordinal" if self.bins else "continuous"

    def values(self, inputs: Floats, noise: Floats) -> Floats:
        """Return X, (n, l), before any discretising; P, S, f, s and X are kept to 12 significant digits.

        Args:
            inputs: (n, parents) P, which a root does not look at.
            noise: (n, l) e, or the values drawn for a root.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            summed = rounded(_added(inputs.T, len(inputs)))
            inside = noise if self.scale is None else rounded(self.scale(summed))[:, None] * noise
            if self.inner is not None:
                inside = rounded(self.inner(summed))[:, None] + inside
            if self.terms:
                parts = (rounded(f(rounded(x))) for f, x in zip(self.terms, inputs.T, strict=True))
                inside = _added(parts, len(inputs))[:, None] + inside
            return rounded(inside if self.outer is None else self.outer(inside))

    def shown(self, values: Floats) -> Floats | Ints:
        """Return what the table shows of values, (l, n), column by column: the numbers, or their bins."""
        return (values if self.bins is None else self.bins.codes(values)).T

    def __str__(self) -> str:
        cut = f", in {self.bins.levels} bins" if self.bins else ""
        if self.root is not None:
            return f"{self.name} {self.root}{', ranked' if self.outer else ''}{cut}"
        inside = f"{self._explained()} + {self.scale.of(self._summed()) + ' ' if self.scale else ''}e"
        return f"{self.name} = {self.outer.of(inside) if self.outer else inside}, e {self.noise}{cut}"

    def _explained(self) -> str:
        if self.inner is not None:
            return self.inner.of(self._summed())
        return " + ".join(f.of(parent) for f, parent in zip(self.terms, self.parents, strict=True))

    def _summed(self) -> str:
        categories = {effects.parent for effects in self.effects}
        return " + ".join(f"worth of {p}" if p in categories else p for p in self.parents)


def _added(columns: Iterable[Floats], rows: int) -> Floats:
    """Return the sum of columns, one after the other: `sum` over an axis may take them in another order."""
    return sum(columns, np.zeros(rows))


@dataclass(frozen=True, eq=False)
class Draw:
    """A mechanism, its noise e and its values X before discretising, both (n, l); of a choice, the codes of X."""

    mechanism: Mechanism | Choice
    noise: Floats
    values: Floats

    @cached_property
    def part(self) -> Floats:
        """What the children of a variable of numbers see of it, (n,)."""
        return standardised_sum(self.values)

    @property
    def table(self) -> dict[str, Any]:
        """What the table shows of X, by column."""
        return dict(zip(self.mechanism.columns, self.mechanism.shown(self.values), strict=True))


PAPER = model_of("continuous")


def draw_mechanism(
    generator: np.random.Generator,
    blank: Mechanism,
    inputs: Floats,
    *,
    levels: int | None = None,
    model: Model = PAPER,
    most_draws: int = MOST_DRAWS,
) -> Draw:
    """Draw a mechanism whose columns can be used, before and after discretising.

    After `most_draws` attempts the outer function becomes `rank`, which makes a usable column of anything finite, and
    the inner one linear with the smaller weight: so it always ends.

    Args:
        generator: the source of everything drawn.
        blank: the variable's name, columns and parents, and what their categories are worth.
        inputs: (n, parents) what each parent counts.
        levels: the number of bins; None for a variable that stays continuous.
        model: what it is drawn from.
        most_draws: attempts before the fallback.
    """
    for redraws in range(most_draws):
        mechanism, noise = _attempt(generator, replace(blank, redraws=redraws), len(inputs), model)
        values = mechanism.values(inputs, noise)
        if is_usable(values, model.farthest):
            binned = _in_bins(mechanism, values, levels)
            if is_usable(binned.shown(values).T, model.farthest):
                return Draw(binned, noise, values)
    mechanism, noise = _attempt(generator, replace(blank, redraws=most_draws), len(inputs), model)
    inner = Function("linear", weight=WEIGHTS[0]) if blank.parents else None
    mechanism = replace(mechanism, inner=inner, outer=Function("rank"), scale=None, terms=())
    values = mechanism.values(inputs, noise)
    return Draw(_in_bins(mechanism, values, levels), noise, values)


def _attempt(generator: np.random.Generator, blank: Mechanism, rows: int, model: Model) -> tuple[Mechanism, Floats]:
    """Draw the distribution, the functions and the noise of one mechanism."""
    law = pick(generator, model.noises if blank.parents else model.roots)
    if blank.parents:
        drawn = replace(blank, noise=law, **model.draw_parts(generator, len(blank.parents)))
    else:
        drawn = replace(blank, root=law)
    return drawn, law.draw(generator, (rows, len(blank.columns)))


def _in_bins(mechanism: Mechanism, values: Floats, levels: int | None) -> Mechanism:
    """Return the mechanism with the range of its values cut into so many bins; None leaves it continuous."""
    if levels is None:
        return mechanism
    return replace(mechanism, bins=Bins(float(values.min()), float(values.max()), levels))


def is_usable(values: Floats | Ints, farthest: float = FARTHEST) -> bool:
    """Tell whether every column of (n, l) is finite, not constant, and not one outlier.

    Args:
        values: (n, l).
        farthest: how many standard deviations a value may be away from the mean.
    """
    if not np.isfinite(values).all():
        return False
    largest = np.abs(values).max(axis=0)
    if not largest.all():
        return False
    unit = values / largest  # so that 1e300 can be squared
    spread = unit.std(axis=0)
    away = np.abs(unit - unit.mean(axis=0)).max(axis=0)
    limit = min(farthest, float(np.sqrt(LARGEST_SHARE * len(values))))
    return bool((spread > SMALLEST_SPREAD).all() and (away <= limit * spread).all())


def standardised_sum(values: Floats) -> Floats:
    """Return sum over columns of (x - mean)/deviation, (n,): the variable times a matrix of ones."""
    unit = values / np.abs(values).max(axis=0)
    total: Floats = ((unit - unit.mean(axis=0)) / unit.std(axis=0)).sum(axis=1)
    return total
