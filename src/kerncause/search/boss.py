"""Best order score search (Andrews, Ramsey, Sanchez-Romero, Camchong, Kummerfeld 2023) for any local score.

An order of the variables stands for a DAG: each variable gets of those before it the parents that grow and shrink
choose: add the best while it gains, then remove the worst while that gains. The score of an order is that of its DAG.
With `lookahead=2` growing tries pairs where no single one gains: causes that show only together, as in cos(a + b), are
found then, for about as many scores again. With `both_ways` parents are also chosen by shrinking alone, from all
variables before, and the better of the two choices counts: that finds any number of causes that show only together, for
several times as many scores, most of them of large parent sets.

1. Climb: take the variables in turn, and put each where the order scores highest; repeat until none moves.
2. The score may tell the DAGs of one equivalence class apart. If another DAG of the class scores higher, climb again
   from an order of that one.
3. Backward: delete edges of the class as GES does, as long as the best DAG of the class scores higher for it.

From the canonical order, then from `restarts` random ones; the best DAG of all is kept.

* It ends: every move, every change of DAG and every deletion raises the score by more than rounding, and there are
  finitely many orders and DAGs.
* It is deterministic for a seed; ties go to the place nearest to where a variable is, and to the earlier restart.
* What grow and shrink choose depends on the variables before and not on their order, so it is kept (`_parents`); all
  choices for the places of one variable are made side by side, with one batch of scores for each round.
* A shortlist says which pairs may be joined (`kerncause.screening`), and is asked again at the end, where the search
  goes on from the best DAG if there are new ones.
* Knowledge: parents are chosen between those required and those allowed, and only orders are looked at in which
  required causes come first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, cycle
from numbers import Integral

import numpy as np

from kerncause.errors import OptionError
from kerncause.graphs import Adjacency, bits, completed
from kerncause.graphs.equivalence import topological_order
from kerncause.knowledge import Knowledge, Limits
from kerncause.scores import Comparison, Ledger, LocalScore
from kerncause.search.base import Outcome, Progress, Shortlist, Step, Watcher, changes, check_lookahead
from kerncause.search.choice import TIE, Asking, Need, choosing, together
from kerncause.search.ges import Pairs, parent_limit
from kerncause.search.members import best_member, outcome_of, unfinished
from kerncause.search.operators import applied, deletions
from kerncause.stop import Stopped

Order = tuple[int, ...]


def boss(
    score: LocalScore | Ledger,
    *,
    max_parents: int | None = None,
    restarts: int = 2,
    lookahead: int = 1,
    both_ways: bool = False,
    knowledge: Knowledge | None = None,
    shortlist: Shortlist | None = None,
    seed: int = 0,
    watch: Watcher | None = None,
) -> Outcome:
    """Search the orders of the variables for one whose DAG scores high.

    Args:
        score: any local score, or a ledger that computes its batches elsewhere.
        max_parents: no variable gets more parents; a DAG of the class may have as many.
        restarts: how many random orders to begin from, after the canonical one.
        lookahead: how many parents may be added at once where fewer do not gain, 1 to 3.
        both_ways: choose parents by shrinking from all as well.
        knowledge: what the result must obey.
        shortlist: says which pairs to look at; None: all.
        seed: of the random orders.
        watch: called at every step with where the search is.
    """
    if isinstance(restarts, bool) or not isinstance(restarts, Integral) or restarts < 0:
        raise OptionError(f"restarts (--restarts) cannot be {restarts}: give a whole number of 0 or more")
    check_lookahead(lookahead)
    if not isinstance(both_ways, bool):
        raise OptionError(f"both_ways (--both-ways) cannot be {both_ways}: give true or false")
    ledger = Ledger.of(score)
    limits = Knowledge.of(knowledge).limits(ledger.variables)
    pairs = Pairs(shortlist, limits)
    choice = _Choice(parent_limit(max_parents, limits), lookahead, both_ways)
    run = _Run(ledger, choice, limits, pairs, watch or (lambda _: None))
    rng = np.random.default_rng(seed)
    size = len(ledger.variables)
    begin = [tuple(range(size)), *(tuple(rng.permutation(size).tolist()) for _ in range(restarts))]
    tried: list[tuple[float, Adjacency]] = []
    try:
        for order in begin:
            tried.append(run.best_from(order))
        while pairs.widened(best_of(tried)):
            tried.append(run.best_from(tuple(topological_order(best_of(tried)))))
    except Stopped:
        there = [*tried, *run.on_the_way()]
        _, dag = max(there, key=lambda found: found[0], default=(0.0, limits.least()))
        return unfinished(ledger, completed(dag), limits, run.trace, dag)
    dag = best_of(tried)
    return outcome_of(ledger, completed(dag), limits, run.trace, dag)


def best_of(tried: Sequence[tuple[float, Adjacency]]) -> Adjacency:
    """Return the DAG with the highest total, the first of those that are tied."""
    best = max(total for total, _ in tried)
    return next(dag for total, dag in tried if total >= best - TIE)


@dataclass(frozen=True)
class _Choice:
    """How parents are chosen among those before."""

    max_parents: int
    lookahead: int
    both_ways: bool


class _Run:
    """One search under way: the parents chosen so far, and the steps."""

    def __init__(self, ledger: Ledger, choice: _Choice, limits: Limits, pairs: Pairs, watch: Watcher) -> None:
        self.trace: list[Step] = []
        self._ledger, self._limits, self._pairs = ledger, limits, pairs
        self._choice, self._watch = choice, watch
        self._parents: dict[tuple[int, int], int] = {}
        self._best: dict[Adjacency, Adjacency | None] = {}
        self._noted = Adjacency.of(len(ledger.variables))

    def on_the_way(self) -> list[tuple[float, Adjacency]]:
        """Return what the last order that was noted is worth, and its DAG, if there is one."""
        return [(step.total, self._noted) for step in self.trace[-1:] if step.total is not None]

    def best_from(self, order: Order) -> tuple[float, Adjacency]:
        """Climb from an order until neither moving a variable nor another DAG of the class nor a deletion gains."""
        order = self._climbed(self._lawful(order))
        dag = self._graph(order)
        while True:
            better = self._backward(self._best_of_class(dag))
            if self._worth(better) <= self._worth(dag) + TIE:
                return self._worth(dag), dag
            # Grow and shrink may choose other parents than `better` has, and do worse with them.
            climbed = self._graph(self._climbed(tuple(topological_order(better))))
            dag = max(better, climbed, key=self._worth)
            if dag is better:
                return self._worth(better), better

    def _lawful(self, order: Sequence[int]) -> Order:
        """Return the order with every required cause moved to the front of its effect."""
        place = {node: k for k, node in enumerate(order)}
        found: list[int] = []

        def put(node: int) -> None:
            if node not in found:
                for cause in sorted(bits(self._limits.required[node]), key=place.__getitem__):
                    put(cause)
                found.append(node)

        for node in order:
            put(node)
        return tuple(found)

    def _climbed(self, order: Order) -> Order:
        """Put each variable where the order scores highest, again and again until none moves."""
        unmoved = 0
        for node in cycle(order):
            if unmoved == len(order):
                return order
            self._watch(Progress("order", len(self.trace), self._noted.edge_count(), tuple(self.trace)))
            moved, gain = self._best_place(order, node)
            unmoved = 0 if moved != order else unmoved + 1
            if moved != order:
                order = moved
                self._note(order, node, gain)
        return order

    def _best_place(self, order: Order, node: int) -> tuple[Order, float]:
        """Return the order with a variable where that scores highest, and what it gains."""
        others = tuple(k for k in order if k != node)
        here, own = order.index(node), 1 << node
        before = [0]
        for k in others:
            before.append(before[-1] | 1 << k)
        self._choose(
            [
                *((k, before[i]) for i, k in enumerate(others)),
                *((k, before[i] | own) for i, k in enumerate(others)),
                *((node, mask) for mask in before),
            ]
        )
        apart = [self._value(k, before[i]) for i, k in enumerate(others)]
        below = [self._value(k, before[i] | own) for i, k in enumerate(others)]
        totals = {
            i: sum(apart[:i]) + self._value(node, before[i]) + sum(below[i:])
            for i in range(len(order))
            if self._may_stand(node, others, i)
        }
        best = max(totals.values())
        if best <= totals[here] + TIE:
            return order, 0.0
        place = min((i for i, total in totals.items() if total >= best - TIE), key=lambda i: (abs(i - here), i))
        return (*others[:place], node, *others[place:]), best - totals[here]

    def _may_stand(self, node: int, others: Order, place: int) -> bool:
        required = self._limits.required
        causes_late = any(required[node] >> k & 1 for k in others[place:])
        return not causes_late and not any(required[k] >> node & 1 for k in others[:place])

    def _choose(self, wanted: Iterable[tuple[int, int]]) -> None:
        """Have the parents chosen of each node among those before it, unless that is done."""
        new = [key for key in dict.fromkeys(map(self._key, wanted)) if key not in self._parents]
        found = together(self._ledger, [self._chosen(*key) for key in new])
        self._parents.update(zip(new, found, strict=True))

    def _key(self, pair: tuple[int, int]) -> tuple[int, int]:
        """Leave out of those before a node the ones that may not be its parents, or are not looked at."""
        node, before = pair
        looked_at = before if self._pairs.open is None else before & self._pairs.open[node]
        return node, (looked_at | before & self._limits.required[node]) & self._limits.allowed[node]

    def _chosen(self, node: int, before: int) -> Asking[int]:
        """Choose parents among those before: by growing and shrinking, or by shrinking from all if that is better."""
        found = yield from self._grown_and_shrunk(node, before)
        if self._choice.both_ways and before != found and before.bit_count() <= self._choice.max_parents:
            other = yield from self._shrunk(node, before)
            both = [self._change(node, 0, parents) for parents in (found, other)]
            yield Need(both, settled=True)
            grown, shrunk = map(self._ledger.gain, both)
            found = other if shrunk > grown + TIE else found
        yield Need([self._change(node, 0, found)], settled=True)
        return found

    def _grown_and_shrunk(self, node: int, before: int) -> Asking[int]:
        parents = self._limits.required[node]
        least = max(TIE, self._ledger.resolution)
        at_once = 1
        while at_once <= min(self._choice.lookahead, self._choice.max_parents - parents.bit_count()):
            sets = combinations((1 << k for k in bits(before & ~parents)), at_once)
            chosen = yield from self._best_of(node, parents, [parents | sum(new) for new in sets], least)
            parents, at_once = (parents, at_once + 1) if chosen is None else (chosen[0], 1)
        return (yield from self._shrunk(node, parents))

    def _shrunk(self, node: int, parents: int) -> Asking[int]:
        """Remove the parent without which most is gained, while that gains anything."""
        while free := parents & ~self._limits.required[node]:
            fewer = [parents & ~(1 << k) for k in bits(free)]
            chosen = yield from self._best_of(node, parents, fewer, TIE)
            if chosen is None:
                break
            parents = chosen[0]
        return parents

    def _best_of(
        self, node: int, parents: int, others: Sequence[int], least: float
    ) -> Asking[tuple[int, float] | None]:
        """Choose the parent set that gains most, if it gains more than the least."""
        moves = {other: [[self._change(node, parents, other)]] for other in others}
        return choosing(self._ledger, moves, partial(_best_above, least))

    def _change(self, node: int, before: int, after: int) -> Comparison:
        name = self._ledger.variables
        return Comparison(name[node], frozenset(name[k] for k in bits(before)), frozenset(name[k] for k in bits(after)))

    def _value(self, node: int, before: int) -> float:
        return self._ledger.gain(self._change(node, 0, self._parents[self._key((node, before))]))

    def _graph(self, order: Order) -> Adjacency:
        """Return the DAG of an order."""
        before, pairs = 0, list[tuple[int, int]]()
        for node in order:
            pairs.append((node, before))
            before |= 1 << node
        self._choose(pairs)
        arcs = [(k, node) for node, mask in pairs for k in bits(self._parents[self._key((node, mask))])]
        return Adjacency.of(len(order), arcs)

    def _worth(self, dag: Adjacency) -> float:
        """Return what all parents of a DAG are worth."""
        worths = [self._change(node, 0, dag.parents(node)) for node in range(dag.size)]
        self._ledger.prepare(worths, settled=True)
        return sum(map(self._ledger.gain, worths))

    def _best_of_class(self, dag: Adjacency) -> Adjacency:
        """Return the best DAG of the class of this one, itself included."""
        best = self._best_in(completed(dag), dag)
        return best if best is not None and self._worth(best) > self._worth(dag) + TIE else dag

    def _best_in(self, graph: Adjacency, known: Adjacency | None = None) -> Adjacency | None:
        """Return the best DAG of a class that obeys; None if none does."""
        if graph not in self._best:
            closed = self._limits.directed(graph)
            self._best[graph] = None if closed is None else best_member(self._ledger, closed, known).dag
        return self._best[graph]

    def _backward(self, dag: Adjacency) -> Adjacency:
        """Delete edges of the class while its best DAG scores higher for it.

        Only deletions are looked at that gain in some DAG of the class.
        """
        while True:
            graph = completed(dag)
            changes = {op: self._change(c.node, c.before, c.after) for op in deletions(graph) for [c] in op.readings}
            self._ledger.prepare(changes.values(), settled=True)
            gaining = {applied(graph, op): None for op, change in changes.items() if self._ledger.gain(change) > TIE}
            better = max(filter(None, map(self._best_in, gaining)), key=self._worth, default=dag)
            if self._worth(better) <= self._worth(dag) + TIE:
                return dag
            dag = better

    def _note(self, order: Order, node: int, gain: float) -> None:
        """Write down a move: the variable now stands behind the source."""
        name, place = self._ledger.variables, order.index(node)
        noted, self._noted = self._noted, self._graph(order)
        self.trace.append(
            Step(
                number=len(self.trace) + 1,
                phase="order",
                operator="move",
                source=name[order[place - 1]] if place else "",
                target=name[node],
                given=tuple(name[k] for k in order[:place]),
                gain=gain,
                edges=self._noted.edge_count(),
                scores=self._ledger.computed,
                total=self._worth(self._noted),
                changes=changes(name, noted, self._noted),
            )
        )


def _best_above(least: float, gains: Mapping[int, float]) -> int | None:
    """Return the set that gains most, the first of those that are tied; None if none gains more than the least."""
    best = max(gains.values(), default=0.0)
    return next((s for s, gain in gains.items() if gain >= best - TIE), None) if best > least else None
