"""What is computed: local scores, tests of independence, or whatever else has many queries about one thing."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from kerncause.errors import ComputationError
from kerncause.independence import IndependenceTest, TestResult
from kerncause.independence import Query as TestQuery
from kerncause.scores.ledger import Query, answer
from kerncause.text import quoted


def _all_alike(_: object) -> int:
    return 0


@dataclass(frozen=True)
class Trade:
    """One kind of work. Workers find its functions by their names, so none of them is a lambda.

    Attributes:
        answer: computes one query with the subject: the score, the test.
        name: a query in words.
        size: what a query's time grows with; the largest come first.
        likeness: queries of which this is equal take about as long.
    """

    answer: Callable[[Any, Any], Any]
    name: Callable[[Any], str]
    size: Callable[[Any], int] = _all_alike
    likeness: Callable[[Any], Hashable] = _all_alike

    def computed(self, subject: object, query: Any) -> Any:
        """Compute one query; too little memory is said in words."""
        try:
            return self.answer(subject, query)
        except MemoryError:
            raise ComputationError(
                f"there is not enough memory for {self.name(query)}: "
                "use fewer workers (--workers), or draw a sample of the rows"
            ) from None


def _score_in_words(query: Query) -> str:
    return f"the score of {quoted(query.target)} with {len(query.parents)} parents"


def _parents(query: Query) -> int:
    return len(query.parents)


def _parents_and_stage(query: Query) -> tuple[int, bool]:
    """Settling a fit takes another time than beginning it."""
    return len(query.parents), query.provisional is not None


def _tested(test: IndependenceTest, query: TestQuery) -> TestResult:
    return test.test(*query)


def _test_in_words(query: TestQuery) -> str:
    return f"the test of {quoted(query.x)} and {quoted(query.y)} given {len(query.given)} variables"


def _given(query: TestQuery) -> int:
    return len(query.given)


SCORING = Trade(answer, _score_in_words, _parents, _parents_and_stage)
TESTING = Trade(_tested, _test_in_words, _given, _given)
