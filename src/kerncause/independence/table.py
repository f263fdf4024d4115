"""What every test of a table has in common: questions that make sense, and the rows that answer them."""

from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import ClassVar

from kerncause.data import Dataset, OfTable
from kerncause.errors import OptionError
from kerncause.independence.base import Query, TestResult
from kerncause.text import quoted


class TableTest(OfTable, ABC):
    """A test of a Dataset.

    x and y can change places, and the order in which variables are named does not matter: the question is put in
    canonical order before it is answered.
    """

    name: ClassVar[str]

    def test(self, x: str, y: str, given: Collection[str] = ()) -> TestResult:
        """Test whether x and y are independent given some variables, on the rows complete for all of them.

        Where x or y has one value on these rows nothing can be dependent: the p-value is 1.
        """
        query = self._checked(x, y, given)
        rows = self._table.complete_for((query.x, query.y, *query.given))
        if not _varies(rows, query.x, query.y):
            return self._nothing_to_say(rows)
        return self._answer(rows, query)

    @abstractmethod
    def _answer(self, rows: Dataset, query: Query) -> TestResult:
        """Test x against y, which both vary on these rows."""

    def _nothing_to_say(self, rows: Dataset) -> TestResult:
        """Return the answer where these rows cannot show a dependence."""
        return TestResult(1.0, 0.0, self.name, rows.n_rows)

    def _checked(self, x: str, y: str, given: Collection[str]) -> Query:
        """Return the question with x before y and the given variables in canonical order; refuse a senseless one."""
        for name in (x, y):
            self.data.variable(name)
        if isinstance(given, str):
            raise OptionError(f"given is the text {quoted(given)}: give a list of names")
        if x == y:
            raise OptionError(f"{quoted(x)} cannot be tested against itself: name two variables")
        for name in (x, y):
            if name in given:
                raise OptionError(f"{quoted(name)} is tested and cannot also be given: leave it out of one of the two")
        first, second = self.data.in_canonical_order((x, y))
        return Query(first, second, self.data.in_canonical_order(given))


def _varies(rows: Dataset, *names: str) -> bool:
    return rows.n_rows > 0 and all(len(rows.points(name).distinct) > 1 for name in names)
