"""GML, through networkx, as DoWhy takes it: a directed graph whose nodes have labels."""

import re

import networkx as nx

from kerncause.errors import GraphError
from kerncause.graphs.convert import from_networkx
from kerncause.graphs.named import PDAG
from kerncause.text import quoted

PLACE = re.compile(r" at \((?P<line>\d+), \d+\)\Z")
# networkx reads these two words as an empty list and an empty tuple.
NOT_CARRIED = ("[]", "()")


def parse(text: str) -> PDAG:
    """Read one graph; nodes are called by their labels, and arcs both ways are one undirected edge."""
    try:
        graph = nx.parse_gml(re.sub(r"[^\x00-\x7f]", lambda match: f"&#{ord(match[0])};", text))
    except (nx.NetworkXError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as problem:
        raise GraphError(_complaint(str(problem))) from None
    return from_networkx(graph)


def render(graph: PDAG) -> str:
    """Write the nodes with their labels, and the directed edges."""
    bad = [name for name in graph.nodes if name in NOT_CARRIED]
    if bad:
        raise GraphError(f"GML cannot carry the name {quoted(bad[0])}, which networkx reads as a list: rename the node")
    drawn: nx.DiGraph[str] = nx.DiGraph()
    drawn.add_nodes_from(graph.nodes)
    drawn.add_edges_from(graph.directed_edges)
    return "\n".join([*nx.generate_gml(drawn), ""])


def _complaint(words: str) -> str:
    """Return what networkx says, with the line where others have it."""
    place = PLACE.search(words)
    line = f"line {place['line']}: " if place else ""
    return f"{line}networkx says {quoted(PLACE.sub('', words))}: give one graph [ ] whose nodes have an id and a label"
