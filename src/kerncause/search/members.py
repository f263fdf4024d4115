"""The best-scoring DAG of an equivalence class, and what the score prefers where the class leaves a direction open.

Scores that are not score-equivalent tell the DAGs of a class apart. The undirected edges of a closed graph fall into
connected components, which can be directed independently of each other (Andersson, Madigan and Perlman 1997; with
knowledge, Perković 2020), so each component is solved by itself: all its DAGs are looked at if there are at most
`MOST_LISTED`, otherwise some: a climb by reversing covered edges, which never leaves the class (Chickering 1995).

For an undirected edge that the best DAG has as a -> b, the preference is what that scores above the best DAG with
b -> a. It is a difference of totals: turning one edge can force others to turn with it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from kerncause.graphs import CPDAG, DAG, PDAG, Adjacency, bits, consistent_extension, extensions, meek_closure
from kerncause.knowledge import Limits
from kerncause.scores import Comparison, Ledger
from kerncause.search.base import Outcome, Preference, Step
from kerncause.search.choice import TIE

MOST_LISTED = 500
Arc = tuple[int, int]


@dataclass(frozen=True)
class Best:
    """The best DAG found, and for each of its edges that could turn how much worse the best DAG is where it does."""

    dag: Adjacency
    preferences: dict[Arc, "Turn"]


@dataclass(frozen=True)
class Turn:
    """What it costs to turn an edge round, and the edges that are turned then."""

    nats: float
    turned: tuple[Arc, ...]


def outcome_of(
    ledger: Ledger, graph: Adjacency, limits: Limits, trace: Sequence[Step], dag: Adjacency | None = None
) -> Outcome:
    """Return what a search by a score ended in: the class with what knowledge adds, and its best DAG.

    `dag` is the best that the search knows of.
    """
    closed = limits.directed(graph)
    assert closed is not None, "a search left what knowledge permits"
    best = best_member(ledger, closed, dag)
    name = ledger.variables
    kind: type[PDAG] = CPDAG if limits.say_nothing else PDAG
    return Outcome(
        kind.of(name, closed),
        DAG.of(name, best.dag),
        tuple(trace),
        preferences={
            (name[i], name[j]): Preference(turn.nats, tuple((name[a], name[b]) for a, b in turn.turned))
            for (i, j), turn in best.preferences.items()
        },
    )


def unfinished(
    ledger: Ledger, graph: Adjacency, limits: Limits, trace: Sequence[Step], dag: Adjacency | None = None
) -> Outcome:
    """Return where a search was when it was stopped, without computing more: any DAG of the class if none is known."""
    closed = limits.directed(graph)
    assert closed is not None, "a search left what knowledge permits"
    dag = consistent_extension(closed) if dag is None else dag
    assert dag is not None
    name = ledger.variables
    kind: type[PDAG] = CPDAG if limits.say_nothing else PDAG
    return Outcome(kind.of(name, closed), DAG.of(name, dag), tuple(trace), finished=False)


def best_member(
    ledger: Ledger, graph: Adjacency, known: Adjacency | None = None, most_listed: int = MOST_LISTED
) -> Best:
    """Return the best DAG with the skeleton, v-structures and arrows of a graph that Meek's rules have closed.

    A climb begins from the `known` DAG of it, if there is one, so what is returned is no worse.
    """
    dag, preferences = graph, dict[Arc, Turn]()
    for component in _components(graph):
        best = _best_of(ledger, graph, component, known, most_listed)
        links = [link for link in graph.links() if component >> link[0] & 1]
        dag = dag.changed(remove=[_as_in(best.dag, i, j)[::-1] for i, j in links])
        preferences |= best.preferences
    return Best(dag, preferences)


def _as_in(dag: Adjacency, i: int, j: int) -> Arc:
    return (i, j) if dag.children(i) >> j & 1 else (j, i)


def _components(graph: Adjacency) -> Iterator[int]:
    """Iterate over the sets of two and more nodes that undirected edges connect."""
    left = (1 << graph.size) - 1
    while left:
        found = frontier = left & -left
        while frontier:
            reached = 0
            for i in bits(frontier):
                reached |= graph.neighbours(i)
            frontier = reached & ~found
            found |= frontier
        left &= ~found
        if found.bit_count() > 1:
            yield found


def _inside(graph: Adjacency, component: int) -> Adjacency:
    """Return the edges among the nodes of a component."""
    return Adjacency(
        tuple(row & component if component >> i & 1 else 0 for i, row in enumerate(graph.out)),
        tuple(row & component if component >> i & 1 else 0 for i, row in enumerate(graph.into)),
    )


def _best_of(ledger: Ledger, graph: Adjacency, component: int, known: Adjacency | None, most_listed: int) -> Best:
    """Solve one component; the DAG that is returned has its edges only."""
    inside = _inside(graph, component)
    totals = _Totals(ledger, graph, component)
    listed = list(islice(extensions(inside), most_listed + 1))
    if len(listed) <= most_listed:
        return _best_listed(totals, inside, listed)
    begin = consistent_extension(inside) if known is None else _inside(known, component)
    assert begin is not None
    dag = _climbed(totals, inside, begin)
    preferences: dict[Arc, Turn] = {}
    while len(preferences) < inside.link_count():
        for i, j in inside.links():
            arc = _as_in(dag, i, j)
            turned = meek_closure(inside.changed(remove=[arc]))
            other = consistent_extension(turned)
            assert other is not None
            against = _climbed(totals, turned, other)
            if totals.of(against) > totals.of(dag) + TIE:  # all begins again from the better one
                dag, preferences = _climbed(totals, inside, against), {}
                break
            preferences[arc] = _turn(totals, dag, against)
    return Best(dag, preferences)


class _Totals:
    """Sums of scores over the nodes of one component, whose parents outside it are fixed."""

    def __init__(self, ledger: Ledger, graph: Adjacency, component: int) -> None:
        self._ledger, self._graph, self._component = ledger, graph, component

    def prepare(self, dags: Sequence[Adjacency]) -> None:
        """Have computed what the totals of some DAGs need."""
        self._ledger.prepare({c: None for dag in dags for c in self._worths(dag)}, settled=True)

    def of(self, dag: Adjacency) -> float:
        """Return what the nodes' parents are worth."""
        return sum(map(self._ledger.gain, self._worths(dag)))

    def parents(self, dag: Adjacency, i: int) -> int:
        """Return the parents of a node, those outside the component too."""
        return self._graph.parents(i) | dag.parents(i)

    def _worths(self, dag: Adjacency) -> list[Comparison]:
        name = self._ledger.variables
        return [
            Comparison(name[i], frozenset(), frozenset(name[k] for k in bits(self.parents(dag, i))))
            for i in bits(self._component)
        ]


def _best_listed(totals: _Totals, inside: Adjacency, dags: Sequence[Adjacency]) -> Best:
    totals.prepare(dags)
    values = [totals.of(dag) for dag in dags]
    best = next(dag for value, dag in zip(values, dags, strict=True) if value >= max(values) - TIE)
    preferences = {}
    for link in inside.links():
        i, j = _as_in(best, *link)
        others = [k for k, dag in enumerate(dags) if dag.children(j) >> i & 1]
        preferences[i, j] = _turn(totals, best, dags[max(others, key=values.__getitem__)])
    return Best(best, preferences)


def _turn(totals: _Totals, dag: Adjacency, against: Adjacency) -> Turn:
    turned = tuple((a, b) for a, b in dag.arcs() if against.children(b) >> a & 1)
    return Turn(max(totals.of(dag) - totals.of(against), 0.0), turned)


def _climbed(totals: _Totals, graph: Adjacency, dag: Adjacency) -> Adjacency:
    """Reverse covered edges, of those that the graph leaves open, while that gains; the total grows, so it ends."""
    while True:
        turned = [
            dag.changed(remove=[(i, j)], add=[(j, i)])
            for i, j in dag.arcs()
            if graph.neighbours(i) >> j & 1 and totals.parents(dag, j) == totals.parents(dag, i) | 1 << i
        ]
        totals.prepare([dag, *turned])
        better = max(turned, key=totals.of, default=dag)
        if totals.of(better) <= totals.of(dag) + TIE:
            return dag
        dag = better
