"""Markov equivalence: Meek's rules, completed graphs, and directed acyclic members of a class."""

from collections.abc import Iterator

from kerncause.errors import GraphError
from kerncause.graphs.adjacency import Adjacency, Arc, bits


def topological_order(graph: Adjacency) -> list[int]:
    """Return the nodes with parents before children, smallest first; refuse a cycle."""
    done = 0
    order: list[int] = []
    while len(order) < graph.size:
        ready = next((i for i in range(graph.size) if not done >> i & 1 and not graph.parents(i) & ~done), None)
        if ready is None:
            raise GraphError("the directed edges form a cycle: remove or turn one of them")
        done |= 1 << ready
        order.append(ready)
    return order


def v_structures(graph: Adjacency) -> Iterator[tuple[int, int, int]]:
    """Iterate over a -> b <- c with a < c not joined."""
    for b in range(graph.size):
        for a in bits(graph.parents(b)):
            later = graph.parents(b) >> (a + 1) << (a + 1)
            for c in bits(later & ~graph.adjacent(a)):
                yield a, b, c


def meek_closure(graph: Adjacency) -> Adjacency:
    """Orient every edge that Meek's four rules (1995) force, until none does."""
    changed = True
    while changed:
        changed = False
        for i, j in list(graph.links()):
            for a, b in ((i, j), (j, i)):
                if graph.neighbours(a) >> b & 1 and _is_forced(graph, a, b):
                    graph = graph.changed(remove=[(b, a)])
                    changed = True
    return graph


def _is_forced(graph: Adjacency, a: int, b: int) -> bool:
    """Tell whether a - b must be a -> b."""
    others = ~(1 << a | 1 << b)
    # Rule 1: c -> a - b, c and b not joined: b -> a would make a new v-structure.
    if graph.parents(a) & ~graph.adjacent(b) & others:
        return True
    # Rule 2: a -> c -> b: b -> a would close a cycle.
    if graph.children(a) & graph.parents(b):
        return True
    # Rule 3: a - c -> b, a - d -> b, c and d not joined.
    between = graph.neighbours(a) & graph.parents(b)
    if any(between & ~graph.adjacent(c) & ~(1 << c) for c in bits(between)):
        return True
    # Rule 4: a - c -> d -> b, a and d joined, c and b not joined (arises with background knowledge).
    return any(
        graph.parents(d) & graph.neighbours(a) & ~graph.adjacent(b) for d in bits(graph.parents(b) & graph.adjacent(a))
    )


def completed(dag: Adjacency) -> Adjacency:
    """Return the completed graph of a DAG's class: its skeleton, its v-structures, and what they force."""
    compelled: set[Arc] = set()
    for a, b, c in v_structures(dag):
        compelled |= {(a, b), (c, b)}
    free = [arc for arc in dag.arcs() if arc not in compelled]
    return meek_closure(Adjacency.of(dag.size, directed=compelled, undirected=free))


def consistent_extension(graph: Adjacency) -> Adjacency | None:
    """Return a DAG with the same skeleton, v-structures and arrows, or None (Dor and Tarsi 1992).

    Take away, again and again, the first node that no arrow leaves and whose undirected neighbours are
    joined to all that it is joined to; its undirected edges point at it.
    """
    remaining = (1 << graph.size) - 1
    arcs = list(graph.arcs())
    while remaining:
        sink = next((x for x in bits(remaining) if _can_be_last(graph, x, remaining)), None)
        if sink is None:
            return None
        arcs += [(y, sink) for y in bits(graph.neighbours(sink) & remaining)]
        remaining &= ~(1 << sink)
    return Adjacency.of(graph.size, directed=arcs)


def _can_be_last(graph: Adjacency, x: int, remaining: int) -> bool:
    if graph.children(x) & remaining:
        return False
    around = graph.adjacent(x) & remaining
    return all(not (around & ~graph.adjacent(y) & ~(1 << y)) for y in bits(graph.neighbours(x) & remaining))
