"""The text files of Tetrad, which causal-learn prints too.

    Graph Nodes:
    X1;X2;X3

    Graph Edges:
    1. X1 --> X2
    2. X2 --- X3

Older files separate the nodes with commas. Sections after the edges (attributes, triples), and what may stand behind
an edge (`dd`, `nl`, `pd`, `pl`, bootstrap frequencies in brackets), are not looked at.
"""

import re
from collections.abc import Sequence

from kerncause.errors import GraphError
from kerncause.graphs.named import PDAG
from kerncause.graphs.stated import Stated, assembled
from kerncause.text import quoted

NODES, EDGES = "Graph Nodes:", "Graph Edges:"
EDGE = re.compile(r"\d+\.\s+(?P<source>.+?)\s+(?P<sign>[-<o]-[->o])\s+(?P<target>.+)")
BEHIND = re.compile(r"(\s+(dd|nl|pd|pl))+$|\s+\[.*$")
# What a reader could not tell from the signs of the format, its own or its properties.
AMBIGUOUS = re.compile(r"^$|^\s|\s$|[;,\r\n]|(^|\s)[-<o]-[->o](\s|$)|\s\[|\s(dd|nl|pd|pl)$|^Graph (Nodes|Edges):$")


def parse(text: str) -> PDAG:
    """Read the nodes and the edges `-->`, `<--` and `---`; refuse all others (`o->`, `<->` and so on)."""
    lines = [line.strip() for line in text.split("\n")]
    start = _find(lines, NODES, 0)
    middle = _find(lines, EDGES, start)
    nodes = _names(lines[start:middle])
    edges = []
    for number, line in enumerate(lines[middle:], start=middle + 1):
        if line.endswith(":") and not line[0].isdigit():
            break
        if line:
            edges.append(_edge(line, number, nodes))
    return assembled(nodes, edges)


def render(graph: PDAG) -> str:
    """Write the nodes and the edges; refuse names that could not be read back."""
    bad = [name for name in graph.nodes if AMBIGUOUS.search(name)]
    if bad:
        raise GraphError(
            f"a Tetrad file cannot carry the name {quoted(bad[0])}: "
            "rename the node (no commas, semicolons, line breaks, edge signs, or spaces at the ends), or write JSON"
        )
    edges = [f"{a} --> {b}" for a, b in graph.directed_edges] + [f"{a} --- {b}" for a, b in graph.undirected_edges]
    numbered = [f"{number}. {edge}" for number, edge in enumerate(edges, start=1)]
    return "\n".join([NODES, ";".join(graph.nodes), "", EDGES, *numbered, ""])


def _find(lines: Sequence[str], heading: str, start: int) -> int:
    """Return the position after a heading."""
    try:
        return lines.index(heading, start) + 1
    except ValueError:
        raise GraphError(f"there is no line {quoted(heading)}: a Tetrad file has the nodes, then the edges") from None


def _names(lines: Sequence[str]) -> list[str]:
    """Return the names listed between the two headings, the second of which may be the last of `lines`."""
    text = ";".join(line for line in lines if line and line != EDGES)
    separator = ";" if ";" in text else ","
    return [name.strip() for name in text.split(separator) if name.strip()]


def _edge(line: str, number: int, nodes: Sequence[str]) -> Stated:
    match = EDGE.fullmatch(line)
    if match is None:
        raise GraphError(f"line {number}: {quoted(line)} is no edge: write it as 1. X --> Y or 1. X --- Y")
    source, sign, target = match["source"], match["sign"], match["target"]
    if target not in nodes:
        target = BEHIND.sub("", target)
    if sign == "-->":
        return Stated(source, target, directed=True, line=number)
    if sign == "<--":
        return Stated(target, source, directed=True, line=number)
    if sign == "---":
        return Stated(source, target, directed=False, line=number)
    raise GraphError(
        f"line {number}: the edge {sign} between {quoted(source)} and {quoted(target)} cannot be taken: "
        "only --> and --- can, no circles and no two arrowheads (those of a PAG)"
    )
