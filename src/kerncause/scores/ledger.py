"""Every local score of a search, computed once and kept.

A search asks in batches: `prepare` collects what is not known yet and has it computed, perhaps by several
processes; `gain` then only looks up. A score may give provisional values, which are a little off:
`prepare(..., settled=True)` makes those final on which something depends. With gaps in the table two parent sets are
compared on the rows that are complete for both, so a score is filed under the gaps that decided its rows as well.
"""

import math
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from kerncause.errors import ComputationError
from kerncause.scores.base import LocalFit, LocalScore, RowwiseScore, StagedScore, fit_local
from kerncause.stop import Stopped
from kerncause.text import quoted

Variables = frozenset[str]


@dataclass(frozen=True)
class Query:
    """One local score to compute: on the rows complete for `target`, `parents` and `scope`.

    `begin` is the fit that a staged score begins from, `provisional` the one to settle; neither is part of the
    question.
    """

    target: str
    parents: Variables
    scope: Variables = frozenset()
    begin: LocalFit | None = field(default=None, compare=False, repr=False)
    provisional: LocalFit | None = field(default=None, compare=False, repr=False)


class Comparison(NamedTuple):
    """Two parent sets of one target, to be compared on the same rows."""

    target: str
    before: Variables
    after: Variables


Batch = Callable[[Sequence[Query]], Generator[tuple[Query, LocalFit]]]


def answer(score: LocalScore, query: Query) -> LocalFit:
    """Compute one query."""
    if query.scope and isinstance(score, RowwiseScore):
        score = score.restricted_to(query.scope)
    if query.provisional is not None and isinstance(score, StagedScore):
        return score.settled(query.target, query.parents, query.provisional)
    return fit_local(score, query.target, query.parents, query.begin)


class Ledger:
    """The scores of one search.

    Args:
        score: any LocalScore.
        batch: computes a sequence of queries, in any order; by default here, one after the other.
        stop: tells after each score whether to go on; if not, `Stopped` is raised, once.
    """

    def __init__(
        self,
        score: LocalScore,
        batch: Batch | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> None:
        self.score = score
        self._batch, self._stop = batch, stop
        self._staged = score if isinstance(score, StagedScore) else None
        self._incomplete = score.incomplete if isinstance(score, RowwiseScore) else frozenset[str]()
        self._fits: dict[Query, LocalFit] = {}
        # Gains that rest on settled values: a search asks for the same ones at every step.
        self._final: dict[Comparison, float] = {}

    @classmethod
    def of(cls, score: "LocalScore | Ledger") -> "Ledger":
        """Return a ledger for a score; a ledger is one already."""
        return score if isinstance(score, Ledger) else cls(score)

    def at_rest(self) -> "Ledger":
        """Return a ledger with the same scores that computes what is new here, when its processes are gone."""
        ledger = Ledger(self.score)
        ledger._fits = dict(self._fits)
        return ledger

    def go_on(self) -> None:
        """Compute from now on whatever is asked for, for as long as it takes."""
        self._stop = None

    @property
    def variables(self) -> tuple[str, ...]:
        """The score's variables, in the order by which ties are broken."""
        return self.score.variables

    @property
    def resolution(self) -> float:
        """How far the score's values may be off: a smaller gain is none (0 for a score that does not say)."""
        return float(getattr(self.score, "resolution", 0.0))

    @property
    def computed(self) -> int:
        """How many local scores have been computed."""
        return len(self._fits)

    def prepare(self, comparisons: Iterable[Comparison], *, settled: bool = False) -> None:
        """Compute, in as few batches as can be, every score the comparisons need and the ledger lacks."""
        new = (comparison for comparison in comparisons if comparison not in self._final)
        wanted = dict.fromkeys(query for comparison in new for query in self._queries(comparison))
        waiting = wanted
        while waiting := {query: None for query in waiting if query not in self._fits}:
            ready: list[Query] = []
            for query in list(waiting):
                first = self._precursor(query)
                if isinstance(first, list) and first:
                    waiting.update(dict.fromkeys(first))
                else:
                    ready.append(query if isinstance(first, list) else replace(query, begin=first))
            self._compute(ready)
        if settled:
            open_ = [query for query in wanted if not self._fits[query].is_settled]
            self._compute([replace(query, provisional=self._fits[query]) for query in open_])

    def doubt(self, comparison: Comparison) -> float:
        """Return how far a gain may be off because it rests on provisional values."""
        if comparison in self._final:
            return 0.0
        fits = [self._fits[query] for query in self._queries(comparison)]
        return sum(fit.error_bound for fit in fits if not fit.is_settled)

    def _compute(self, queries: Sequence[Query]) -> None:
        answers = self._answers(queries) if self._batch is None else self._batch(queries)
        try:
            for query, fit in answers:
                if math.isnan(fit.value):
                    raise ComputationError(
                        f"the score of {quoted(query.target)} with parents {sorted(query.parents)} is not a number"
                    )
                self._fits[query] = fit
                if self._stop is not None and self._stop():
                    raise Stopped
        except Stopped:  # here, or by who computes and had nothing to show
            self.go_on()
            raise
        finally:  # on an error nobody waits for the rest
            answers.close()

    def _answers(self, queries: Sequence[Query]) -> Generator[tuple[Query, LocalFit]]:
        """Compute here, one after the other."""
        for query in queries:
            yield query, answer(self.score, query)

    def _precursor(self, query: Query) -> LocalFit | list[Query]:
        if self._staged is None:
            return []
        first = self._staged.precursor(
            query.target, query.parents, lambda parents: self._fits.get(replace(query, parents=parents))
        )
        return [replace(query, parents=parents) for parents in first] if isinstance(first, list) else first

    def gain(self, comparison: Comparison) -> float:
        """Return the score of the second parent set minus that of the first, on the same rows."""
        known = self._final.get(comparison)
        if known is not None:
            return known
        self.prepare([comparison])
        before, after = (self._fits[query] for query in self._queries(comparison))
        gain = after.value - before.value
        if before.is_settled and after.is_settled:
            self._final[comparison] = gain
        return gain

    def is_settled(self, comparison: Comparison) -> bool:
        """Tell whether a gain rests on final values."""
        if comparison in self._final:
            return True
        return all(query in self._fits and self._fits[query].is_settled for query in self._queries(comparison))

    def knows(self, comparison: Comparison) -> bool:
        """Tell whether both scores of a comparison have been computed."""
        return all(query in self._fits for query in self._queries(comparison))

    def fit(self, target: str, parents: Iterable[str]) -> LocalFit:
        """Return the settled fit of one target with its parents, on all rows complete for them."""
        same = frozenset(parents)
        comparison = Comparison(target, same, same)
        self.prepare([comparison], settled=True)
        return self._fits[self._queries(comparison)[0]]

    def rough_fit(self, target: str, parents: Iterable[str]) -> LocalFit:
        """Return the fit of one target with its parents as it was first computed, settled or not."""
        same = frozenset(parents)
        comparison = Comparison(target, same, same)
        self.prepare([comparison])
        return self._fits[self._queries(comparison)[0]].before_settling

    def _queries(self, comparison: Comparison) -> tuple[Query, Query]:
        target, before, after = comparison.target, comparison.before, comparison.after
        scope = self._incomplete & ({target} | before | after)
        return Query(target, before, scope), Query(target, after, scope)
