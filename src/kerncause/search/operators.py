"""The moves of greedy equivalence search: insert, delete (Chickering 2002), turn (Hauser, Bühlmann 2012).

Each operator belongs to a completed graph; it is valid if and only if some DAG of the class can make the
corresponding change of one edge, and it says which parent sets that DAG had before and has after. NA_yx
are the neighbours of y that are joined to x.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kerncause.errors import GraphError
from kerncause.graphs import Adjacency, bits, completed, consistent_extension, mask_of

NO_LIMIT = 10**9


# Tuples, because a search hashes and compares them by the hundred thousand.
class Change(NamedTuple):
    """The parent set of one node before and after, as bit masks."""

    node: int
    before: int
    after: int


class Operator(NamedTuple):
    """One valid move. The order of operators is the order in which ties are broken.

    Attributes:
        source: x.
        target: y.
        given: T of an insertion, H of a deletion, C of a turn.
        kind: insert, delete or turn.
        readings: the local scores it changes, in each DAG of the class by which the move is judged.
    """

    source: int
    target: int
    given: int
    kind: str
    readings: tuple[tuple[Change, ...], ...]


Enumerate = Callable[[Adjacency, int], Iterator[Operator]]


def cliques(graph: Adjacency, candidates: int, core: int = 0) -> Iterator[int]:
    """Iterate over the subsets of `candidates` that form a clique together with `core`.

    A set that is no clique has no supersets that are, so whole branches are never visited.
    """
    if not graph.is_clique(core):
        return
    stack = [(0, candidates)]
    while stack:
        chosen, open_ = stack.pop()
        yield chosen
        for i in bits(open_):
            later = open_ >> (i + 1) << (i + 1)
            if not (core | chosen) & ~graph.adjacent(i):
                stack.append((chosen | 1 << i, later & graph.adjacent(i)))


def insertions(graph: Adjacency, max_parents: int = NO_LIMIT) -> Iterator[Operator]:
    """Iterate over Insert(x, y, T) (Chickering 2002, theorem 15).

    x and y not joined; T a set of neighbours of y not joined to x; valid if NA_yx + T is a clique and every
    semi-directed path from y to x passes through it.
    """
    return Insertions()(graph, max_parents)


class Insertions:
    """The insertions of one graph after another, for which little is worked out that is known from the graph before.

    Whether NA_yx + T is a clique follows from what x, y and the neighbours of y are joined to, so the insertions of a
    pair are kept for as long as that stays. Paths can change anywhere; how far one comes from y is found once for each
    set that is avoided, not for each x.

    Args:
        among: for each y the x to look at; None: all.
    """

    def __init__(self, among: Sequence[int] | None = None) -> None:
        self.among = among
        self._graph: Adjacency | None = None
        self._max_parents = NO_LIMIT
        self._known: dict[tuple[int, int], list[tuple[int, Operator]]] = {}

    def __call__(self, graph: Adjacency, max_parents: int = NO_LIMIT) -> Iterator[Operator]:
        """Iterate over the insertions of a graph, all worked out before the first: the next is compared with it."""
        return iter(list(self._worked_out(graph, max_parents)))

    def _worked_out(self, graph: Adjacency, max_parents: int) -> Iterator[Operator]:
        changed = self._changed(graph, max_parents)
        every = (1 << graph.size) - 1
        before, self._known = self._known, {}
        for y in range(graph.size):
            stale = every if (1 << y | graph.neighbours(y)) & changed else changed
            ends: dict[int, int] = {}
            for x in bits((every if self.among is None else self.among[y]) & ~graph.adjacent(y) & ~(1 << y)):
                known = None if stale >> x & 1 else before.get((x, y))
                self._known[x, y] = list(_inserting(graph, x, y, max_parents)) if known is None else known
                for avoided, operator in self._known[x, y]:
                    if avoided not in ends:
                        ends[avoided] = graph.reachable(y, avoiding=avoided)
                    if not ends[avoided] >> x & 1:
                        yield operator

    def _changed(self, graph: Adjacency, max_parents: int) -> int:
        """Return the nodes whose edges are not what they were; from now on this graph is what was."""
        before, self._graph = self._graph, graph
        if before is None or before.size != graph.size or max_parents != self._max_parents:
            self._max_parents = max_parents
            return (1 << graph.size) - 1
        new, old = zip(graph.out, graph.into, strict=True), zip(before.out, before.into, strict=True)
        return mask_of(i for i, (a, b) in enumerate(zip(new, old, strict=True)) if a != b)


def _inserting(graph: Adjacency, x: int, y: int, max_parents: int) -> Iterator[tuple[int, Operator]]:
    """Iterate over the insertions of a pair, each with the nodes that every path from y to x must pass through."""
    parents, shared = graph.parents(y), graph.neighbours(y) & graph.adjacent(x)
    for T in cliques(graph, graph.neighbours(y) & ~graph.adjacent(x), shared):
        before = parents | shared | T
        if before.bit_count() < max_parents:
            yield shared | T, Operator(x, y, T, "insert", ((Change(y, before, before | 1 << x),),))


def deletions(graph: Adjacency, max_parents: int = NO_LIMIT) -> Iterator[Operator]:
    """Iterate over Delete(x, y, H) (Chickering 2002, theorem 17).

    x - y or x -> y; H a subset of NA_yx; valid if NA_yx without H is a clique. Deleting never gives a node
    more parents, so `max_parents` has nothing to do here.
    """
    for x in range(graph.size):
        for y in bits(graph.out[x]):
            shared = graph.neighbours(y) & graph.adjacent(x)
            for kept in cliques(graph, shared):
                yield Operator(x, y, shared & ~kept, "delete", ((_without(graph, x, y, kept),),))


def careful_deletions(graph: Adjacency, max_parents: int = NO_LIMIT) -> Iterator[Operator]:
    """Iterate over the same deletions, an undirected edge once and judged by both of its directions.

    Delete(x, y, H) and Delete(y, x, H) of x - y lead to the same class, and for a score-equivalent score they
    gain the same. For others they do not, and an edge that is worth a hundred nats one way round would be
    deleted for one nat the other way round.
    """
    for operator in deletions(graph, max_parents):
        x, y = operator.source, operator.target
        if not graph.neighbours(x) >> y & 1:
            yield operator
        elif x < y:
            kept = graph.neighbours(y) & graph.adjacent(x) & ~operator.given
            yield operator._replace(readings=(*operator.readings, (_without(graph, y, x, kept),)))


def _without(graph: Adjacency, x: int, y: int, kept: int) -> Change:
    """Return how the parents of y change when x goes and, of their common neighbours, `kept` stay parents."""
    after = (graph.parents(y) | kept) & ~(1 << x)
    return Change(y, after | 1 << x, after)


def turns(graph: Adjacency, max_parents: int = NO_LIMIT) -> Iterator[Operator]:
    """Iterate over Turn(x, y, C): the edge becomes x -> y (Hauser and Bühlmann 2012, props. 31 and 34)."""
    for x in range(graph.size):
        for y in bits(graph.into[x]):
            shared = graph.neighbours(y) & graph.adjacent(x)
            moves = _turn_arrow(graph, x, y) if graph.children(y) >> x & 1 else _turn_link(graph, x, y, shared)
            for C, y_before, x_before in moves:
                if y_before.bit_count() + 1 <= max_parents:
                    changes = (
                        Change(y, y_before, y_before | 1 << x),
                        Change(x, x_before, x_before & ~(1 << y)),
                    )
                    yield Operator(x, y, C, "turn", (changes,))


def _turn_arrow(graph: Adjacency, x: int, y: int) -> Iterator[tuple[int, int, int]]:
    """Y -> x: C = NA_yx + T a clique of neighbours of y that blocks every other path from y to x."""
    shared = graph.neighbours(y) & graph.adjacent(x)
    without = graph.changed(remove=[(y, x)])
    for T in cliques(graph, graph.neighbours(y) & ~graph.adjacent(x), shared):
        C = shared | T
        if not without.reachable(y, avoiding=C | graph.neighbours(x)) >> x & 1:
            yield C, graph.parents(y) | C, graph.parents(x)


def _turn_link(graph: Adjacency, x: int, y: int, shared: int) -> Iterator[tuple[int, int, int]]:
    """X - y: C a clique of neighbours of y, some not joined to x, that NA_yx separates from the rest of NA_yx."""
    around = graph.neighbours(y) & ~(1 << x)
    for C in cliques(graph, around):
        if not C & ~shared:
            continue
        inside = _induced(graph, graph.neighbours(y) & ~(1 << x))
        reached = 0
        for c in bits(C & ~shared):
            reached |= inside.reachable(c, avoiding=C & shared)
        if reached & shared & ~C:
            continue
        x_before = graph.parents(x) | (C & shared) | 1 << y
        yield C, graph.parents(y) | C, x_before


def _induced(graph: Adjacency, members: int) -> Adjacency:
    """Return the undirected edges among some nodes, read as edges that can be walked both ways."""
    rows = tuple(graph.neighbours(i) & members if members >> i & 1 else 0 for i in range(graph.size))
    return Adjacency(rows, rows)


def applied(graph: Adjacency, operator: Operator) -> Adjacency:
    """Return the completed graph an operator leads to."""
    x, y, given = operator.source, operator.target, operator.given
    if operator.kind == "insert":
        changed = graph.changed(add=[(x, y)], remove=[(y, t) for t in bits(given)])
    elif operator.kind == "delete":
        against = [(h, y) for h in bits(given)] + [(h, x) for h in bits(given & graph.neighbours(x))]
        changed = graph.changed(remove=[(x, y), (y, x), *against])
    else:
        changed = _turned(graph, operator)
    extension = consistent_extension(changed)
    if extension is None:
        raise GraphError(f"{operator} has no consistent extension: it was not valid for this graph")
    return completed(extension)


def _turned(graph: Adjacency, operator: Operator) -> Adjacency:
    """Orient the chain components of x and y into the member that the turn starts from, then turn the edge.

    The parents of y and x before the turn are known; a member of the class that has them is found by
    orienting their undirected edges accordingly and extending.
    """
    x, y = operator.source, operator.target
    remove = []
    for change in operator.readings[0]:
        for i in bits(graph.neighbours(change.node)):
            inward = bool(change.before >> i & 1)
            remove.append((change.node, i) if inward else (i, change.node))
    member = consistent_extension(graph.changed(remove=set(remove)))
    if member is None:
        raise GraphError(f"{operator} starts from no member of the class: it was not valid for this graph")
    return member.changed(add=[(x, y)], remove=[(y, x)])
