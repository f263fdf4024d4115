"""Graphs of other programs: networkx and causal-learn."""

from importlib import import_module
from typing import Any

import networkx as nx
import numpy as np

from kerncause.errors import GraphError, OptionError
from kerncause.graphs.named import PDAG
from kerncause.graphs.stated import Stated, assembled, merged
from kerncause.text import quoted

# The end of an edge in causal-learn's matrix: M[i, j] is the mark at i of the edge between i and j.
TAIL, ARROW = -1, 1
CAUSAL_LEARN_PARTS = ("GeneralGraph", "GraphNode", "Edge", "Endpoint")


def to_networkx(graph: PDAG) -> "nx.DiGraph[str]":
    """Return a DiGraph; an undirected edge is a pair of arcs, marked `directed=False`."""
    return graph.to_networkx()


def from_networkx(graph: "nx.Graph[Any]") -> PDAG:
    """Read a Graph (every edge undirected) or a DiGraph; return the narrowest of DAG, CPDAG and PDAG.

    In a DiGraph an edge is undirected if there are arcs both ways, or if its attribute `directed` is false.
    Nodes are called what `str` makes of them.
    """
    if not isinstance(graph, nx.Graph) or graph.is_multigraph():
        raise GraphError(f"a {quoted(type(graph).__name__)} cannot be read: give a networkx Graph or DiGraph")
    usually = graph.graph.get("edge_default", {}).get("directed", True)
    edges = [
        Stated(str(a), str(b), graph.is_directed() and not _is_false(data.get("directed", usually)))
        for a, b, data in graph.edges(data=True)
    ]
    return assembled([str(node) for node in graph.nodes], merged(edges))


def from_causal_learn(graph: Any) -> PDAG:
    """Read a causal-learn GeneralGraph, or what its `pc` returns; give the narrowest of DAG, CPDAG and PDAG.

    Only `get_nodes()` and the matrix `graph` are looked at: with M that matrix, i -> j is M[i, j] = -1 and
    M[j, i] = 1, and i - j is M[i, j] = M[j, i] = -1. Edges that a PDAG does not have (circles, two arrowheads) are
    refused.
    """
    graph = getattr(graph, "G", graph)
    if not hasattr(graph, "get_nodes") or not hasattr(graph, "graph"):
        raise GraphError(f"a {quoted(type(graph).__name__)} cannot be read: give a causal-learn GeneralGraph")
    names = [str(node.get_name()) for node in graph.get_nodes()]
    marks = np.asarray(graph.graph)
    if marks.shape != (len(names), len(names)):
        raise GraphError(f"the matrix of the graph has shape {marks.shape}, but there are {len(names)} nodes")
    pairs = zip(*np.nonzero(np.triu((marks != 0) | (marks.T != 0))), strict=True)
    return assembled(names, [_stated(names, marks, int(i), int(j)) for i, j in pairs])


def to_causal_learn(graph: PDAG) -> Any:
    """Return a causal-learn GeneralGraph over the same nodes in the same order."""
    try:
        parts = {name: getattr(import_module(f"causallearn.graph.{name}"), name) for name in CAUSAL_LEARN_PARTS}
    except ImportError:
        raise OptionError("a causal-learn graph needs causal-learn: pip install 'kerncause[baselines]'") from None
    nodes = {name: parts["GraphNode"](name) for name in graph.nodes}
    general = parts["GeneralGraph"](list(nodes.values()))
    tail, arrow = parts["Endpoint"].TAIL, parts["Endpoint"].ARROW
    for edges, end in ((graph.directed_edges, arrow), (graph.undirected_edges, tail)):
        for a, b in edges:
            general.add_edge(parts["Edge"](nodes[a], nodes[b], tail, end))
    return general


def _stated(names: list[str], marks: "np.ndarray[Any, Any]", i: int, j: int) -> Stated:
    ends = marks[i, j], marks[j, i]
    if ends == (TAIL, ARROW):
        return Stated(names[i], names[j], directed=True)
    if ends == (ARROW, TAIL):
        return Stated(names[j], names[i], directed=True)
    if ends == (TAIL, TAIL):
        return Stated(names[i], names[j], directed=False)
    raise GraphError(
        f"the edge between {quoted(names[i])} and {quoted(names[j])} has the marks {ends[0]} and {ends[1]}: "
        "only --> and --- can be taken, no circles and no two arrowheads"
    )


def _is_false(mark: object) -> bool:
    """Tell whether an attribute says no, be it a truth value, a number or a word."""
    return str(mark).strip().lower() in {"false", "0"}
