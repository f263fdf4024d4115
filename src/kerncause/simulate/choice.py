"""Categories without order: what they are worth to their children, and how they follow from their parents."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.stats import rankdata

from kerncause.simulate.functions import Distribution, Floats, Function, rounded

# What the sum over parents is multiplied with, so that it shows above Gumbel noise, whose deviation is 1.28.
STRENGTH = 2.0
GUMBEL = Distribution("gumbel", 1.0)


@dataclass(frozen=True)
class Effects:
    """What each category of a parent is worth: numbers in no order.

    Attributes:
        parent: the variable.
        numbers: one for each of its categories.
    """

    parent: str
    numbers: tuple[float, ...]

    def __call__(self, codes: Floats) -> Floats:
        """Return the number of each category, (n,), from codes 1..k, (n, 1)."""
        worth: Floats = np.array(self.numbers)[codes[:, 0].astype(np.int64) - 1]
        return worth


@dataclass(frozen=True)
class Choice:
    """What was drawn for a variable whose values are categories without order: a choice among random utilities.

        U_k = b_k + 2 (f_k1(P_1) + f_k2(P_2) + ...) + e_k       e_k Gumbel: the choice is a softmax of the rest
        X = the k with the largest U_k

    P_j is a parent, standardised (the columns of a vector added up). Where it is made of categories itself, f_kj is a
    number for each of them.

    Attributes:
        name: the variable.
        columns: its one column in the table, with values c1, c2, ...
        parents: its direct causes, in the order of the table.
        bases: b_k, one for each category.
        terms: f_kj: for each category a function or effects for each parent.
        noise: the distribution of e_k.
        redraws: how many were drawn before and thrown away because their column could not be used.
        ranked: whether, after too many of these, the categories are equal parts of the order of U_1 instead.
    """

    name: str
    columns: tuple[str, ...]
    parents: tuple[str, ...]
    bases: tuple[float, ...]
    terms: tuple[tuple[Function | Effects, ...], ...]
    noise: Distribution = GUMBEL
    redraws: int = 0
    ranked: bool = False

    kind: ClassVar[str] = "categorical"

    @property
    def levels(self) -> int:
        """The number of categories."""
        return len(self.bases)

    def codes(self, inputs: tuple[Floats, ...], noise: Floats) -> Floats:
        """Return the category chosen in every row, 1..levels, (n, 1).

        Args:
            inputs: for each parent its standardised column, (n,), or the codes of its categories, (n, 1).
            noise: (n, levels) e.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            utilities: Floats = np.column_stack([self._utility(k, inputs) for k in range(self.levels)]) + noise
        if self.ranked:
            places: Floats = rankdata(utilities[:, 0], method="ordinal").astype(np.float64) - 1
            return np.floor(places * self.levels / len(noise))[:, None] + 1
        chosen: Floats = utilities.argmax(axis=1).astype(np.float64)[:, None] + 1
        return chosen

    def _utility(self, k: int, inputs: tuple[Floats, ...]) -> Floats:
        """Return U_k without its noise, (n,), or (1,) where there are no parents."""
        parts = [f(x) if isinstance(f, Effects) else f(rounded(x)) for f, x in zip(self.terms[k], inputs, strict=True)]
        return self.bases[k] + STRENGTH * sum(map(rounded, parts), np.zeros(1))

    def shown(self, codes: Floats) -> list[list[str]]:
        """Return what the table shows of codes, column by column."""
        return [[f"c{int(code)}" for code in column] for column in codes.T]

    def __str__(self) -> str:
        given = f" given {', '.join(self.parents)}" if self.parents else ""
        return f"{self.name} one of {self.levels} categories{given}{', ranked' if self.ranked else ''}"
