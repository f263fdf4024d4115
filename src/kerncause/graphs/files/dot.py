"""DOT, the language of Graphviz: the part of it that states a graph.

    [strict] (graph | digraph) [name] { statement [;] ... }
    statement:  node [attributes]
                node (-> | --) node ... [attributes]
                (graph | node | edge) [attributes]
                name = value

Comments, quoted names and chains are read; subgraphs, ports and HTML names are refused. Of the attributes, those
that put arrowheads on an edge count (`dir`, `arrowhead`, `arrowtail`); the rest is looks. Nodes are called by their
names in the file, not by their labels.
"""

import re
from collections.abc import Mapping
from itertools import pairwise

from kerncause.errors import GraphError
from kerncause.graphs.files.tokens import Language, Token, Tokens
from kerncause.graphs.named import PDAG
from kerncause.graphs.stated import Stated, assembled, merged
from kerncause.text import quoted

TOKEN = re.compile(
    r"""
      (?P<space> \s+ | //[^\n]* | /\*.*?\*/ | ^\#[^\n]* )
    | (?P<quoted> "(?:[^"\\]|\\.)*" )
    | (?P<mark> -> | -- | [{}\[\];,=] )
    | (?P<bare> [A-Za-z_\x80-\U0010ffff][A-Za-z_0-9\x80-\U0010ffff]* | -?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?) )
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "r": "\r", "\n": ""}
WAYS = ("forward", "back", "both", "none")
CIRCLES = ("odot", "dot")


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[0]), text, flags=re.DOTALL)


DOT = Language(
    TOKEN,
    _unescaped,
    "put names in quotes, and close every quote and comment; ports and HTML names are not read",
)


def parse(text: str) -> PDAG:
    """Read one graph; arcs both ways are one undirected edge, as are `dir=none` and a plain `dir=both`."""
    tokens = Tokens(text, DOT)
    arrow = _heading(tokens)
    nodes: dict[str, None] = {}
    edges: list[Stated] = []
    usual: dict[str, str] = {}
    while not tokens.skip("}"):
        if tokens.skip(";"):
            continue
        first = _name(tokens)
        if first.keyword in ("graph", "node", "edge"):
            given = _attributes(tokens)
            usual |= given if first.keyword == "edge" else {}
        elif tokens.skip("="):
            tokens.name()
        else:
            chain = _chain(tokens, first, arrow)
            nodes |= dict.fromkeys(node.text for node in chain)
            marks = {"dir": "forward" if arrow == "->" else "none"} | usual | _attributes(tokens)
            edges += [_edge(a, b, marks) for a, b in pairwise(chain)]
    if tokens.next.kind != "end":
        raise GraphError(f"line {tokens.next.line}: something follows the graph: give one graph in a file")
    return assembled(nodes, merged(edges))


def render(graph: PDAG) -> str:
    """Write a digraph with every name in quotes; undirected edges have `dir=none`."""
    bad = [name for name in graph.nodes if "\0" in name]
    if bad:
        raise GraphError(f"DOT cannot carry the name {quoted(bad[0])}, which has a null character: rename the node")
    lines = ["digraph kerncause {", *(f"  {dot_name(node)};" for node in graph.nodes)]
    lines += [f"  {dot_name(a)} -> {dot_name(b)};" for a, b in graph.directed_edges]
    lines += [f"  {dot_name(a)} -> {dot_name(b)} [dir=none];" for a, b in graph.undirected_edges]
    return "\n".join([*lines, "}", ""])


def dot_name(name: str) -> str:
    """Return a name in quotes, as Graphviz shows it in a drawing."""
    escaped = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'


def _heading(tokens: Tokens) -> str:
    """Read up to the opening brace; return the edge sign that the graph is to use."""
    word = tokens.take()
    if word.keyword == "strict":
        word = tokens.take()
    if word.keyword not in ("graph", "digraph"):
        raise GraphError(f"line {word.line}: a graph begins with graph {{ or digraph {{: correct it there")
    if tokens.next.is_name:
        tokens.take()
    if not tokens.skip("{"):
        raise GraphError(f"line {tokens.next.line}: there is no {{ after {word.text}: add it")
    return "->" if word.keyword == "digraph" else "--"


def _name(tokens: Tokens) -> Token:
    """Take the name of a node."""
    line = tokens.next.line
    if tokens.sees("{") or tokens.next.keyword == "subgraph":
        raise GraphError(f"line {line}: subgraphs are not read: state every edge by itself, such as a -> b;")
    return tokens.name()


def _chain(tokens: Tokens, first: Token, arrow: str) -> list[Token]:
    """Read the rest of `a -> b -> c`."""
    chain = [first]
    while tokens.sees("->", "--"):
        sign = tokens.take()
        if sign.text != arrow:
            kind = "digraph" if arrow == "->" else "graph"
            raise GraphError(f"line {sign.line}: the edges of a {kind} are written {arrow}, not {sign.text}: change it")
        chain.append(_name(tokens))
    return chain


def _attributes(tokens: Tokens) -> dict[str, str]:
    """Read any number of `[name=value, ...]`."""
    given: dict[str, str] = {}
    while tokens.skip("["):
        while not tokens.skip("]"):
            key = tokens.name()
            if not tokens.skip("="):
                raise GraphError(f"line {key.line}: the attribute {quoted(key.text)} has no value: write name=value")
            given[key.text] = tokens.name().text
            tokens.skip(",", ";")
    return given


def _edge(a: Token, b: Token, marks: Mapping[str, str]) -> Stated:
    """Return the edge that is drawn: an arrowhead at one end directs it."""
    way = marks["dir"]
    if way not in WAYS:
        raise GraphError(f"line {b.line}: dir={quoted(way)} is no direction: the choices are {', '.join(WAYS)}")
    ends = {
        end: marks.get(end, "normal")
        for end, ways in (("arrowhead", ("forward", "both")), ("arrowtail", ("back", "both")))
        if way in ways
    }
    drawn = {end for end, shape in ends.items() if shape != "none"}
    if set(ends.values()) & {*CIRCLES} or (len(drawn) == 2 and {"arrowhead", "arrowtail"} <= marks.keys()):
        raise GraphError(
            f"line {b.line}: the edge between {quoted(a.text)} and {quoted(b.text)} has circles or two arrowheads: "
            "only directed and undirected edges (dir=none) can be taken"
        )
    source, target = (b, a) if drawn == {"arrowtail"} else (a, b)
    return Stated(source.text, target.text, len(drawn) == 1, b.line)
