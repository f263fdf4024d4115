"""Vectors whose columns are explained one after the other: a score made of scores.

By the chain rule, with x_1 .. x_l the columns of X in their order and EARLIER those before x_c,

    S(X, PA) = S(x_1, PA) + sum_{c > 1} max( S(x_c, EARLIER + PA), S(x_c, EARLIER) ) - (l - 1) log 2

Each column has a model of its own. One after the first has all of the parents or none of them: where the columns
before it have told all that the parents know, it need not pay for them again. That choice of two costs log 2, if there
are parents and anything is charged for (`evidence`). What a column is worth without parents is the same for every
parent set, so it is computed once.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from kerncause.data import EARLIER
from kerncause.scores.base import LocalFit, StagedScore

ColumnScore = TypeVar("ColumnScore", bound=StagedScore)


@dataclass(frozen=True, eq=False)
class InTurn(Generic[ColumnScore]):
    """The columns of one vector.

    Attributes:
        target: the name of the vector, and of each column in its score.
        scores: of each column, on the table where it is the variable of that name; those before it are `EARLIER`.
    """

    target: str
    scores: tuple[ColumnScore, ...]
    _alone: dict[int, LocalFit] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def choices(self) -> float:
        """Nats that choosing costs, for each column after the first, whether it has parents."""
        return (len(self) - 1) * math.log(2.0)

    def fits(self, names: tuple[str, ...], begin: LocalFit | None) -> tuple[LocalFit, ...]:
        """Fit every column, beginning from the fit of a smaller parent set; nothing is settled."""
        begins = begin.turns if begin is not None and begin.turns else (None,) * len(self)
        return tuple(self._fit(c, names, each) for c, each in enumerate(begins))

    def _fit(self, column: int, names: tuple[str, ...], begin: LocalFit | None) -> LocalFit:
        if not column:
            return self.scores[0].fit(self.target, names, begin if names[1:] else None, settle=False)
        alone = self._fit_alone(column)
        if not names:
            return alone
        told = self.scores[column].fit(self.target, (*names, EARLIER), begin, settle=False)
        return max(told, alone, key=lambda fit: fit.value)

    def _fit_alone(self, column: int) -> LocalFit:
        if column not in self._alone:
            self._alone[column] = self.scores[column].fit(self.target, (EARLIER,), settle=False)
        return self._alone[column]

    def again(
        self, fits: Sequence[LocalFit], fitted: Callable[[ColumnScore, str, tuple[str, ...], LocalFit], LocalFit]
    ) -> tuple[LocalFit, ...]:
        """Return what a method of the scores makes of the fit of each column, with the parents that it has."""
        return tuple(
            fitted(score, self.target, tuple(fit.bandwidths), fit) for score, fit in zip(self.scores, fits, strict=True)
        )
