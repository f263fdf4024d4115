"""The DAG with the highest score of all, for up to `MOST_VARIABLES` variables.

Silander and Myllymäki (2006). With s_j(P) what the parents P of j are worth, and for sets U, W of nodes

    b_j(U) = max over P in U of s_j(P)                       the best parents among U
    B(W)   = max over j in W of B(W - j) + b_j(W - j)        the best DAG on W; j comes last in it

B of all nodes is the best total, and walking back gives the DAG. b_j is a running maximum, one bit of U after the
other; both are arrays over bit masks, p 2^p and 2^p numbers.

* Parent sets are scored by size, smallest first, in one batch for each size. A set worth less than one of its subsets
  is in no best DAG. Whether its supersets can be is not known before they are scored; with `prune`, a set is scored
  only if one of its subsets with one parent less came within `prune` nats of its own best subset, or if it has no more
  parents than `lookahead`: causes that show only together lose by themselves (docs/searches.md has how often pruning
  costs the optimum).
* Provisional scores: the arrays are built from values raised by their doubt, the parent sets of the best DAG are
  settled, and that is repeated until they all are. Then no other DAG can be better.
* An edge has to gain more than the score's resolution, as in the other searches: s_j(P) is that much less for each.
* Knowledge: only sets between the required and the allowed parents are scored; a DAG obeys if all its sets do.
* Ties go to the smaller parent set, then to the order of the variables.
"""

from collections.abc import Iterator
from itertools import combinations
from numbers import Real

import numpy as np
import numpy.typing as npt

from kerncause.errors import OptionError
from kerncause.graphs import Adjacency, bits, completed, mask_of
from kerncause.knowledge import Knowledge, Limits
from kerncause.scores import Comparison, Ledger, LocalScore
from kerncause.search.base import Outcome, Progress, Watcher, check_lookahead
from kerncause.search.choice import TIE
from kerncause.search.ges import parent_limit
from kerncause.search.members import outcome_of, unfinished
from kerncause.stop import Stopped

Floats = npt.NDArray[np.float64]
MOST_VARIABLES = 20


def exact(
    score: LocalScore | Ledger,
    *,
    max_parents: int | None = None,
    prune: float | None = None,
    lookahead: int = 1,
    knowledge: Knowledge | None = None,
    watch: Watcher | None = None,
) -> Outcome:
    """Find the DAG with the highest score.

    Args:
        score: any local score, or a ledger that computes its batches elsewhere.
        max_parents: no variable gets more parents.
        prune: score a parent set only if one with a parent less lost at most this many nats against its best subset;
            None: score all.
        lookahead: with `prune`, sets of no more parents than this, required ones aside, are scored whatever their
            subsets lost, 1 to 3.
        knowledge: what the result must obey.
        watch: called at every size of parent sets.
    """
    ledger = Ledger.of(score)
    size = len(ledger.variables)
    if size > MOST_VARIABLES:
        raise OptionError(
            f"search exact cannot take {size} variables: it looks at every set of them, so leave out some to have "
            f"{MOST_VARIABLES} at most, or choose search boss"
        )
    if prune is not None and (isinstance(prune, bool) or not (isinstance(prune, Real) and 0.0 <= prune < np.inf)):
        raise OptionError(f"prune (--prune) cannot be {prune}: give a number of nats of 0 or more")
    check_lookahead(lookahead)
    if lookahead > 1 and prune is None:
        raise OptionError(
            f"lookahead (--lookahead) {lookahead} says what pruning never leaves out: give --prune as well"
        )
    limits = Knowledge.of(knowledge).limits(ledger.variables)
    run = _Run(ledger, min(parent_limit(max_parents, limits), size - 1), limits, watch or (lambda _: None))
    try:
        run.score_all(np.inf if prune is None else prune, lookahead)
        dag = run.optimum()
    except Stopped:
        dag = run.optimum_so_far()
        return unfinished(ledger, completed(dag), limits, (), dag)
    return outcome_of(ledger, completed(dag), limits, (), dag)


class _Run:
    """One search under way: the parent sets that were scored, for each node."""

    def __init__(self, ledger: Ledger, max_parents: int, limits: Limits, watch: Watcher) -> None:
        self._ledger, self._limits, self._max_parents, self._watch = ledger, limits, max_parents, watch
        self._size = len(ledger.variables)
        self._scored: list[dict[int, Comparison]] = [{} for _ in range(self._size)]
        self._below: dict[tuple[int, int], float] = {}

    def score_all(self, prune: float, lookahead: int) -> None:
        """Score the parent sets, those of one size in one batch."""
        for count in range(self._max_parents + 1):
            self._watch(Progress(f"sets of {count}", count, 0, batch="size"))
            new = {
                (node, parents): self._comparison(node, parents)
                for node in range(self._size)
                for parents in self._sets(node, count)
                if self._is_worth_scoring(node, parents, prune, lookahead)
            }
            self._ledger.prepare(new.values())
            for (node, parents), comparison in new.items():
                self._scored[node][parents] = comparison

    def _sets(self, node: int, count: int) -> Iterator[int]:
        required = self._limits.required[node]
        free = list(bits(self._limits.allowed[node] & ~required))
        if count >= required.bit_count():
            for chosen in combinations(free, count - required.bit_count()):
                yield required | mask_of(chosen)

    def _is_worth_scoring(self, node: int, parents: int, prune: float, lookahead: int) -> bool:
        free = parents & ~self._limits.required[node]
        if prune == np.inf or free.bit_count() <= lookahead:
            return True
        below = [parents & ~(1 << k) for k in bits(free)]
        return any(
            self._known(node, smaller) >= self._best_subset(node, smaller) - prune
            for smaller in below
            if smaller in self._scored[node]
        )

    def _best_subset(self, node: int, parents: int) -> float:
        """Return what the best smaller set of these parents is worth: one less, or of those with one less."""
        key = node, parents
        if key not in self._below:
            below = [parents & ~(1 << k) for k in bits(parents & ~self._limits.required[node])]
            worth = [self._known(node, smaller) for smaller in below if smaller in self._scored[node]]
            self._below[key] = max([*worth, *(self._best_subset(node, s) for s in below)], default=-np.inf)
        return self._below[key]

    def _known(self, node: int, parents: int) -> float:
        """Return what a set is worth as far as is known: a guess as to larger sets need not bear its doubt."""
        return self._ledger.gain(self._scored[node][parents])

    def _optimistic(self, node: int, parents: int) -> float:
        """Return what a set is worth, or may be worth as long as that is provisional, less what edges must gain."""
        comparison = self._scored[node][parents]
        edges = (parents & ~self._limits.required[node]).bit_count()
        return self._ledger.gain(comparison) + self._ledger.doubt(comparison) - self._ledger.resolution * edges

    def _comparison(self, node: int, parents: int) -> Comparison:
        name = self._ledger.variables
        return Comparison(name[node], frozenset(), frozenset(name[k] for k in bits(parents)))

    def optimum_so_far(self) -> Adjacency:
        """Return the best DAG with the sets of the sizes that are done; that of what is required if none is."""
        return self.optimum() if all(self._scored) else self._limits.least()

    def optimum(self) -> Adjacency:
        """Return the best DAG, every score in it settled."""
        while True:
            self._watch(Progress("best graph", self._max_parents + 1, 0))
            chosen = self._best_sets()
            open_ = [self._scored[node][parents] for node, parents in enumerate(chosen)]
            open_ = [comparison for comparison in open_ if not self._ledger.is_settled(comparison)]
            if not open_:
                return Adjacency.of(self._size, [(k, j) for j, parents in enumerate(chosen) for k in bits(parents)])
            self._ledger.prepare(open_, settled=True)

    def _best_sets(self) -> list[int]:
        """Return for each node its parents in the DAG that is best as far as is known."""
        worth = [{parents: self._optimistic(j, parents) for parents in scored} for j, scored in enumerate(self._scored)]
        among = [_best_among(self._size, values) for values in worth]
        total = _best_totals(self._size, among)
        left, chosen = (1 << self._size) - 1, [0] * self._size
        while left:
            last = next(
                j for j in bits(left) if total[left & ~(1 << j)] + among[j][left & ~(1 << j)] >= total[left] - TIE
            )
            left &= ~(1 << last)
            best = among[last][left]
            chosen[last] = next(p for p, value in worth[last].items() if not p & ~left and value >= best - TIE)
        return chosen


def _best_among(size: int, worth: dict[int, float]) -> Floats:
    """Return b(U) for every set U of nodes, (2^size,): the running maximum over subsets, one node at a time."""
    best = np.full(1 << size, -np.inf)
    best[list(worth)] = list(worth.values())
    for k in range(size):
        halves = best.reshape(-1, 2, 1 << k)
        np.maximum(halves[:, 1], halves[:, 0], out=halves[:, 1])
    return best


def _best_totals(size: int, among: list[Floats]) -> Floats:
    """Return B(W) for every set W of nodes, (2^size,), the small sets first."""
    total = np.full(1 << size, -np.inf)
    total[0] = 0.0
    masks = np.arange(1 << size)
    counts = np.zeros(1 << size, dtype=np.int64)
    for k in range(size):
        counts[1 << k : 2 << k] = counts[: 1 << k] + 1
    for count in range(1, size + 1):
        layer = masks[counts == count]
        for j in range(size):
            having = layer[layer >> j & 1 == 1]
            before = having & ~(1 << j)
            total[having] = np.maximum(total[having], total[before] + among[j][before])
    return total
