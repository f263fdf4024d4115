"""Graphs with named nodes, immutable: DAG and CPDAG, and the PDAG they both are."""

from collections.abc import Collection, Hashable, Iterable
from functools import cached_property
from typing import Any, Self

import networkx as nx

from kerncause.errors import GraphError
from kerncause.graphs.adjacency import Adjacency, bits
from kerncause.graphs.equivalence import completed, consistent_extension, topological_order, v_structures
from kerncause.text import listed, printable, quoted

Pair = tuple[str, str]


class PDAG:
    """A graph with directed and undirected edges over named nodes.

    Two graphs are equal if they have the same nodes and the same edges, in whatever order they are listed.
    """

    nodes: tuple[str, ...]
    adjacency: Adjacency
    _index: dict[str, int]

    def __init__(self, nodes: Iterable[str], directed: Iterable[Pair] = (), undirected: Iterable[Pair] = ()) -> None:
        nodes = tuple(nodes)
        index = {name: i for i, name in enumerate(nodes)}
        if len(index) != len(nodes):
            raise GraphError("a node's name stands twice in the graph: names must be different")
        directed, undirected = list(directed), list(undirected)
        _refuse_odd_edges(index, directed, undirected)
        numbered = [[(index[a], index[b]) for a, b in edges] for edges in (directed, undirected)]
        self._set(nodes, Adjacency.of(len(nodes), *numbered))
        self._validate()

    @classmethod
    def of(cls, nodes: Iterable[str], adjacency: Adjacency) -> Self:
        """Wrap an adjacency that is known to be of this kind of graph."""
        graph = cls.__new__(cls)
        graph._set(tuple(nodes), adjacency)
        return graph

    def _set(self, nodes: tuple[str, ...], adjacency: Adjacency) -> None:
        object.__setattr__(self, "nodes", nodes)
        object.__setattr__(self, "adjacency", adjacency)
        object.__setattr__(self, "_index", {name: i for i, name in enumerate(nodes)})

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a {type(self).__name__} cannot be changed: make a new one")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).of, (self.nodes, self.adjacency)

    def _validate(self) -> None:
        """Refuse what is not of this kind of graph."""

    @cached_property
    def directed_edges(self) -> tuple[Pair, ...]:
        """The edges a -> b as pairs (a, b), in the order of the nodes."""
        return tuple((self.nodes[i], self.nodes[j]) for i, j in self.adjacency.arcs())

    @cached_property
    def undirected_edges(self) -> tuple[Pair, ...]:
        """The edges a - b, each once, in the order of the nodes."""
        return tuple((self.nodes[i], self.nodes[j]) for i, j in self.adjacency.links())

    @property
    def skeleton(self) -> frozenset[frozenset[str]]:
        """The joined pairs, directions forgotten."""
        return frozenset(frozenset(pair) for pair in (*self.directed_edges, *self.undirected_edges))

    @property
    def v_structures(self) -> frozenset[tuple[frozenset[str], str]]:
        """Every a -> b <- c with a, c not joined, as ({a, c}, b)."""
        return frozenset(
            (frozenset({self.nodes[a], self.nodes[c]}), self.nodes[b]) for a, b, c in v_structures(self.adjacency)
        )

    def parents(self, name: str) -> frozenset[str]:
        """Return the a with a -> name."""
        return self._named(self.adjacency.parents(self._number(name)))

    def children(self, name: str) -> frozenset[str]:
        """Return the a with name -> a."""
        return self._named(self.adjacency.children(self._number(name)))

    def neighbours(self, name: str) -> frozenset[str]:
        """Return the a with a - name."""
        return self._named(self.adjacency.neighbours(self._number(name)))

    def adjacent(self, name: str) -> frozenset[str]:
        """Return the a joined to name by any edge."""
        return self._named(self.adjacency.adjacent(self._number(name)))

    def reordered(self, nodes: Iterable[str]) -> Self:
        """Return the same graph with its nodes listed in another order."""
        nodes = tuple(nodes)
        if set(nodes) != set(self.nodes) or len(nodes) != len(self.nodes):
            raise GraphError("a graph can be reordered only over the same nodes")
        place = {self._index[name]: position for position, name in enumerate(nodes)}
        moved = [[(place[i], place[j]) for i, j in edges] for edges in (self.adjacency.arcs(), self.adjacency.links())]
        return self.of(nodes, Adjacency.of(len(nodes), *moved))

    def to_networkx(self) -> "nx.DiGraph[str]":
        """Return a DiGraph; an undirected edge is a pair of arcs, marked `directed=False`."""
        graph: nx.DiGraph[str] = nx.DiGraph()
        graph.add_nodes_from(self.nodes)
        graph.add_edges_from(self.directed_edges, directed=True)
        for a, b in self.undirected_edges:
            graph.add_edge(a, b, directed=False)
            graph.add_edge(b, a, directed=False)
        return graph

    @classmethod
    def from_networkx(cls, graph: "nx.DiGraph[Any]") -> Self:
        """Read a DiGraph; arcs in both directions are one undirected edge."""
        if not graph.is_directed() or graph.is_multigraph():
            raise GraphError("give a networkx.DiGraph: undirected edges are arcs in both directions")
        arcs = [(str(a), str(b)) for a, b in graph.edges]
        both = {(a, b) for a, b in arcs if (b, a) in set(arcs) and a != b}
        once = {frozenset(pair) for pair in both}
        return cls(
            [str(node) for node in graph.nodes],
            [arc for arc in arcs if arc not in both],
            [(a, b) for a, b in map(sorted, once)],
        )

    def _number(self, name: str) -> int:
        try:
            return self._index[name]
        except KeyError:
            raise GraphError(f"there is no node {quoted(name)}: the graph has {listed(self.nodes, 20)}") from None

    def _named(self, mask: int) -> frozenset[str]:
        return frozenset(self.nodes[i] for i in bits(mask))

    def _content(self) -> Hashable:
        links = frozenset(frozenset(pair) for pair in self.undirected_edges)
        return frozenset(self.nodes), frozenset(self.directed_edges), links

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PDAG):
            return NotImplemented
        return self._content() == other._content()

    def __hash__(self) -> int:
        return hash(self._content())

    def __repr__(self) -> str:
        arrows = [f"{printable(a)} → {printable(b)}" for a, b in self.directed_edges]
        lines = [f"{printable(a)} — {printable(b)}" for a, b in self.undirected_edges]
        return f"{type(self).__name__}({len(self.nodes)} nodes: {', '.join(arrows + lines) or 'no edges'})"


class DAG(PDAG):
    """A directed acyclic graph."""

    def _validate(self) -> None:
        if self.undirected_edges:
            a, b = self.undirected_edges[0]
            raise GraphError(f"{quoted(a)} and {quoted(b)} point at each other: a DAG has no such pair")
        topological_order(self.adjacency)

    @property
    def edges(self) -> tuple[Pair, ...]:
        """The edges a -> b as pairs (a, b)."""
        return self.directed_edges

    @property
    def topological_order(self) -> tuple[str, ...]:
        """The nodes, causes before effects."""
        return tuple(self.nodes[i] for i in topological_order(self.adjacency))

    def to_cpdag(self) -> "CPDAG":
        """Return the completed graph of this DAG's Markov equivalence class."""
        return CPDAG.of(self.nodes, completed(self.adjacency))

    def d_separated(self, x: str, y: str, given: Collection[str] = ()) -> bool:
        """Tell whether `given` blocks every path between x and y."""
        for name in (x, y, *given):
            self._number(name)
        if x == y or {x, y} & set(given):
            raise GraphError(f"{quoted(x)}, {quoted(y)} and the given nodes must all be different")
        return bool(nx.is_d_separator(self.to_networkx(), {x}, {y}, set(given)))


class CPDAG(PDAG):
    """A Markov equivalence class: arrows that all its DAGs share, and undirected edges for the rest."""

    def _validate(self) -> None:
        extension = consistent_extension(self.adjacency)
        if extension is None or completed(extension) != self.adjacency:
            raise GraphError("these edges are not a completed graph: no DAG has exactly this equivalence class")

    def to_dag(self) -> DAG:
        """Return a DAG of the class; which one follows from the order of the nodes."""
        extension = consistent_extension(self.adjacency)
        if extension is None:
            raise GraphError("the graph has no DAG with its arrows and v-structures")
        return DAG.of(self.nodes, extension)


def extend(graph: PDAG) -> DAG:
    """Return a DAG with the graph's skeleton, v-structures and arrows; refuse a graph that has none."""
    return CPDAG.of(graph.nodes, graph.adjacency).to_dag()


def _refuse_odd_edges(index: dict[str, int], directed: list[Pair], undirected: list[Pair]) -> None:
    seen: set[frozenset[str]] = set()
    for a, b in directed + undirected:
        for name in (a, b):
            if name not in index:
                raise GraphError(f"an edge speaks of node {quoted(name)}, which the graph does not have")
        if a == b:
            raise GraphError(f"node {quoted(a)} has an edge to itself: remove it")
        pair = frozenset((a, b))
        if pair in seen and (b, a) in directed:
            raise GraphError(f"{quoted(a)} and {quoted(b)} point at each other: name the edge as undirected")
        if pair in seen:
            raise GraphError(f"the edge between {quoted(a)} and {quoted(b)} is given twice")
        seen.add(pair)
