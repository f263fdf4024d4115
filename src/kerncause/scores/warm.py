"""A kernel score on some rows of a table that begins where the fit on the whole table ended.

Half of the rows have nearly the optimum of all of them, and the same curvature per row: a few Newton steps from there
are enough, with no other starts and no smaller parent sets first. A parent set that the whole table was never asked
about is fitted there first, and kept: other halves will ask for it as well. So a fit depends on its rows and on the
whole table, not on what was computed before.
"""

from collections.abc import Collection

from kerncause.scores.base import LocalFit
from kerncause.scores.kernel import KernelScore
from kerncause.scores.ledger import Ledger


class Whole:
    """The fits on the whole table, with the curvature of the loss at their ends.

    Args:
        score: of the whole table.
        ledger: of that score, with what is known already.
    """

    def __init__(self, score: KernelScore, ledger: Ledger) -> None:
        self.score, self._ledger = score, ledger
        self._curved: dict[tuple[str, frozenset[str]], LocalFit] = {}

    def fit(self, target: str, parents: frozenset[str]) -> LocalFit:
        """Return the fit with these parents."""
        key = target, parents
        if key not in self._curved:
            self._curved[key] = self.score.curved(target, parents, self._ledger.rough_fit(target, parents))
        return self._curved[key]


class WarmScore:
    """A kernel score on some rows that begins from the fits on all.

    Args:
        score: of the rows at hand.
        whole: of all rows.
    """

    def __init__(self, score: KernelScore, whole: Whole) -> None:
        self._score, self._whole = score, whole

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables' names, in the order by which a search breaks ties."""
        return self._score.variables

    @property
    def resolution(self) -> float:
        """How far values may be off."""
        return self._score.resolution

    @property
    def incomplete(self) -> frozenset[str]:
        """The variables that lack a value in some row."""
        return self._score.incomplete

    def restricted_to(self, variables: Collection[str]) -> "WarmScore":
        """Return the score on the rows where all of `variables` have a value."""
        return WarmScore(self._score.restricted_to(variables), self._whole)

    def local_score(self, target: str, parents: Collection[str] = ()) -> float:
        """Return the score of one variable with a set of parents."""
        return self.fit(target, parents).value

    def fit(self, target: str, parents: Collection[str] = ()) -> LocalFit:
        """Fit from the optimum on all rows."""
        return self._score.refitted(target, parents, self._whole.fit(target, frozenset(parents)))
