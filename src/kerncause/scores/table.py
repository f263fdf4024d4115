"""What every score of a table has in common: which rows it uses, and how parents are named."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Self

from kerncause.data import Dataset, OfTable
from kerncause.errors import OptionError
from kerncause.scores.base import LocalFit
from kerncause.text import quoted

# Numbers that a regression or a count holds for each value it looks at.
NUMBERS_PER_CELL = 6.0
# Bytes for each value of the table that half of it takes, with its codes and with which are equal.
BYTES_OF_HALF = 20.0


class TableScore(OfTable, ABC):
    """A score of a Dataset."""

    @property
    def incomplete(self) -> frozenset[str]:
        """The variables that lack a value in some row."""
        return self.data.incomplete

    def restricted_to(self, variables: Collection[str]) -> Self:
        """Return the score on the rows where all of `variables` have a value (equal rows may be counted)."""
        return type(self)(self._table.complete_for(variables), **self._options)

    def most_memory(self, parents: int) -> float:
        """Return the bytes that one of its scores takes at its worst, with at most so many parents: roughly."""
        rows, columns = self._table.values.shape
        numbers = float(rows * min(parents + 2, columns))
        return 8.0 * NUMBERS_PER_CELL * numbers + self._copies

    def least_memory(self, parents: int, share: float = 1.0) -> float:
        """Return the bytes with which all can still be computed, on a share of the rows."""
        return share * self.most_memory(parents)

    def within(self, memory: int) -> Self:
        """Return the same score with no more memory than that for one."""
        return self

    @property
    def _copies(self) -> float:
        """The bytes of the parts of the table that a worker makes for itself: fewer rows, and complete ones."""
        return (2.0 if self.incomplete else 1.0) * BYTES_OF_HALF * self._table.values.size

    @abstractmethod
    def fit(self, target: str, parents: Collection[str] = ()) -> LocalFit:
        """Return the score of one variable with a set of parents, and the model behind it."""

    def local_score(self, target: str, parents: Collection[str] = ()) -> float:
        """Return the score of one variable with a set of parents."""
        return self.fit(target, parents).value

    def _rows_for(
        self, target: str, parents: Collection[str], table: Dataset | None = None
    ) -> tuple[tuple[str, ...], Dataset]:
        """Return the parents in canonical order and the rows complete for them and the target.

        Equal rows are counted, not repeated, unless another table is given.
        """
        if isinstance(parents, str):
            raise OptionError(f"parents is the text {quoted(parents)}: give a list of names")
        self.data.variable(target)
        names = self.data.in_canonical_order(parents)
        if target in names:
            raise OptionError(f"{quoted(target)} cannot be its own parent")
        wanted = {target, *names}
        return names, self._table.complete_for(wanted).compact if table is None else table.complete_for(wanted)


def nothing_to_explain(data: Dataset, target: str) -> LocalFit | None:
    """Return a fit of value 0 if gaps elsewhere left no row, or one value: then no parent gains anything."""
    if data.n_rows > 0 and len(data.response(target).distinct) > 1:
        return None
    return LocalFit(value=0.0, engine="none", evaluations=0, rows=data.n_rows)
