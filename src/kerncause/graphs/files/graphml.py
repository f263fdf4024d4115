"""GraphML, through networkx: undirected edges carry the attribute `directed` = false."""

import io
import re
import warnings
from xml.etree import ElementTree

import networkx as nx

from kerncause.errors import GraphError
from kerncause.graphs.convert import from_networkx
from kerncause.graphs.named import PDAG
from kerncause.text import quoted

NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
NEEDED = {"node": ("id",), "edge": ("source", "target")}


def parse(text: str) -> PDAG:
    """Read one graph; arcs both ways are one undirected edge. Nodes are called by their ids."""
    if "<!ENTITY" in text:
        raise GraphError("it defines entities: write the names out")
    try:
        _check(ElementTree.fromstring(text))
        with warnings.catch_warnings():
            # What networkx does not know (ports, key types) is no part of the graph.
            warnings.simplefilter("ignore")
            graph = nx.parse_graphml(text)
    except GraphError:
        raise
    except ElementTree.ParseError as problem:
        raise GraphError(f"line {problem.position[0]}: this is not XML ({problem}): correct it there") from None
    except (nx.NetworkXError, KeyError, ValueError, TypeError, AttributeError) as problem:
        raise GraphError(
            f"networkx says {quoted(problem)}: give a directed graph whose undirected edges have "
            "a boolean data attribute called directed that is false"
        ) from problem
    if graph.is_multigraph():
        raise GraphError("an edge is given a second time: keep one, an undirected one if it can go either way")
    return from_networkx(graph)


def render(graph: PDAG) -> str:
    """Write a directed graph in which every edge stands once."""
    bad = [name for name in graph.nodes if NOT_IN_XML.search(name)]
    if bad:
        raise GraphError(f"GraphML cannot carry the name {quoted(bad[0])}, which has a control character: rename it")
    drawn: nx.DiGraph[str] = nx.DiGraph()
    drawn.add_nodes_from(graph.nodes)
    drawn.add_edges_from(graph.directed_edges, directed=True)
    drawn.add_edges_from(graph.undirected_edges, directed=False)
    stream = io.BytesIO()
    nx.write_graphml_xml(drawn, stream)
    return stream.getvalue().decode("utf-8") + "\n"


def _check(root: ElementTree.Element) -> None:
    """Refuse what networkx would pass over: a second or inner graph, a node or an edge without its names."""
    kinds = [(element.tag.rpartition("}")[2], element) for element in root.iter() if isinstance(element.tag, str)]
    graphs = sum(kind == "graph" for kind, _ in kinds)
    if graphs != 1:
        raise GraphError(f"there are {graphs} graphs in it: give one")
    for kind, element in kinds:
        for key in NEEDED.get(kind, ()):
            if key not in element.attrib:
                raise GraphError(f"some {kind} has no {key}: add it")
    nodes = {element.attrib["id"] for kind, element in kinds if kind == "node"}
    for kind, element in kinds:
        ends = [element.attrib[end] for end in NEEDED["edge"]] if kind == "edge" else []
        strangers = [end for end in ends if end not in nodes]
        if strangers:
            raise GraphError(f"an edge leads to {quoted(strangers[0])}, which is no node: add the node")
