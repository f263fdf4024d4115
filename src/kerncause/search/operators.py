"""The moves of greedy equivalence search: insert, delete (Chickering 2002), turn (Hauser, Bühlmann 2012).

Each operator belongs to a completed graph; it is valid if and only if some DAG of the class can make the
corresponding change of one edge, and it says which parent sets that DAG had before and has after. NA_yx
are the neighbours of y that are joined to x.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kerncause.errors import GraphError
from kerncause.graphs import Adjacency, bits, completed, consistent_extension

NO_LIMIT = 10**9


@dataclass(frozen=True, order=True)
class Change:
    """The parent set of one node before and after, as bit masks."""

    node: int
    before: int
    after: int


@dataclass(frozen=True, order=True)
class Operator:
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
    for x in range(graph.size):
        for y in range(graph.size):
            if x == y or graph.adjacent(x) >> y & 1:
                continue
            parents, shared = graph.parents(y), graph.neighbours(y) & graph.adjacent(x)
            for T in cliques(graph, graph.neighbours(y) & ~graph.adjacent(x), shared):
                before = parents | shared | T
                if before.bit_count() + 1 > max_parents:
                    continue
                if not graph.reachable(y, avoiding=shared | T) >> x & 1:
                    yield Operator(x, y, T, "insert", ((Change(y, before, before | 1 << x),),))


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
            yield replace(operator, readings=(*operator.readings, (_without(graph, y, x, kept),)))


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
