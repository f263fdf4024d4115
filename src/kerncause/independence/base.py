"""What a test of conditional independence is: a p-value for x and y given a set of variables.

A small p-value speaks against independence. A search needs no more than `IndependenceTest`; what a test knows
beyond the number it puts into a `TestResult`.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable


class Query(NamedTuple):
    """One question: whether x and y are independent given these variables."""

    x: str
    y: str
    given: tuple[str, ...] = ()


@dataclass(frozen=True)
class TestResult:
    """The answer of a test.

    Attributes:
        p_value: the probability, were x and y independent, of a statistic at least as large.
        statistic: what the test computed; each test says what it is.
        name: the name of the test.
        rows: number of rows of the table it used: those complete for x, y and the given variables.
        degrees_of_freedom: of the distribution under independence, where it has them.
        rank: the most rows that a kernel was projected on; None: none was.
        missed: what the projections leave out at most: a share of the trace that matters (0: nothing).
    """

    __test__ = False  # not a test of pytest's, in spite of its name

    p_value: float
    statistic: float
    name: str
    rows: int
    degrees_of_freedom: float | None = None
    rank: int | None = None
    missed: float = 0.0


@runtime_checkable
class IndependenceTest(Protocol):
    """A test of conditional independence."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables' names, in the order by which a search breaks ties."""
        ...

    def test(self, x: str, y: str, given: Collection[str] = ()) -> TestResult:
        """Test whether x and y are independent given some variables; x and y can change places."""
        ...


def answers(test: IndependenceTest, queries: Sequence[Query]) -> Iterable[TestResult]:
    """Answer queries one after the other."""
    return (test.test(*query) for query in queries)
