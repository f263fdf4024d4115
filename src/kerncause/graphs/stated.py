"""Edges as a file or another program states them, and the graph they make."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kerncause.errors import GraphError
from kerncause.graphs.members import narrowest
from kerncause.graphs.named import PDAG
from kerncause.text import listed, quoted


class Stated(NamedTuple):
    """One edge: source -> target, or source - target; and the line that states it, where there are lines."""

    source: str
    target: str
    directed: bool
    line: int | None = None


def assembled(nodes: Iterable[str], edges: Iterable[Stated]) -> PDAG:
    """Return the graph, as the narrowest of DAG, CPDAG and PDAG; refuse odd edges, naming their lines."""
    nodes, edges = list(nodes), list(edges)
    repeated = [name for name, times in Counter(nodes).items() if times > 1]
    if repeated:
        raise GraphError(f"{listed(repeated)} stands twice among the nodes: names must be different")
    _refuse_odd(set(nodes), edges)
    directed = [(edge.source, edge.target) for edge in edges if edge.directed]
    undirected = [(edge.source, edge.target) for edge in edges if not edge.directed]
    return narrowest(PDAG(nodes, directed, undirected))


def merged(edges: Iterable[Stated]) -> list[Stated]:
    """Return the edges with every pair that is stated once in each direction as one undirected edge."""
    about: dict[frozenset[str], list[Stated]] = {}
    for edge in edges:
        about.setdefault(frozenset((edge.source, edge.target)), []).append(edge)
    return [edge for same in about.values() for edge in _both_ways_as_one(same)]


def at_line(line: int | None) -> str:
    """Return how a complaint begins: with the line, where there is one."""
    return "" if line is None else f"line {line}: "


def _both_ways_as_one(same: list[Stated]) -> list[Stated]:
    """Merge a -> b and b -> a, or a - b and b - a; leave anything else to be refused."""
    if len(same) != 2 or same[0].source == same[1].source or same[0].directed != same[1].directed:
        return same
    return [same[0]._replace(directed=False)]


def _refuse_odd(nodes: set[str], edges: Sequence[Stated]) -> None:
    seen: dict[frozenset[str], Stated] = {}
    for edge in edges:
        a, b, line = edge.source, edge.target, at_line(edge.line)
        for name in (a, b):
            if name not in nodes:
                raise GraphError(f"{line}an edge ends at {quoted(name)}, which is not among the nodes: add it there")
        if a == b:
            raise GraphError(f"{line}node {quoted(a)} has an edge to itself: remove it")
        before = seen.setdefault(frozenset((a, b)), edge)
        if before is not edge:
            raise GraphError(
                f"{line}the edge between {quoted(a)} and {quoted(b)} is given a second time: "
                "keep one, an undirected one if it can go either way"
            )
