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
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import NamedTuple

from kerncause.errors import GraphError
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


class Token(NamedTuple):
    """A word or sign of the file; kind is quoted, bare, mark or end."""

    kind: str
    text: str
    line: int

    @property
    def is_name(self) -> bool:
        """Whether it can be a name or a value."""
        return self.kind in ("quoted", "bare")

    @property
    def keyword(self) -> str:
        """The word in small letters, if it is not in quotes and so may be a keyword."""
        return self.text.lower() if self.kind == "bare" else ""


def parse(text: str) -> PDAG:
    """Read one graph; arcs both ways are one undirected edge, as are `dir=none` and a plain `dir=both`."""
    tokens = _Tokens(text)
    arrow = _heading(tokens)
    nodes: dict[str, None] = {}
    edges: list[Stated] = []
    usual: dict[str, str] = {}
    while not tokens.skip("}"):
        if tokens.skip(";"):
            continue
        first = tokens.name()
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


class _Tokens:
    """The tokens of a file, taken one after the other."""

    def __init__(self, text: str) -> None:
        self._rest = _tokens(text)
        self.next = next(self._rest)

    def take(self) -> Token:
        """Return the next token and move on; the end stays."""
        token = self.next
        self.next = next(self._rest, token)
        return token

    def skip(self, *marks: str) -> bool:
        """Move on if one of these marks comes next."""
        found = self.next.kind == "mark" and self.next.text in marks
        if found:
            self.take()
        return found

    def name(self) -> Token:
        """Take a name or a value; refuse anything else."""
        token = self.take()
        if (token.text == "{" and token.kind == "mark") or token.keyword == "subgraph":
            raise GraphError(f"line {token.line}: subgraphs are not read: state every edge by itself, such as a -> b;")
        if token.kind == "end":
            raise GraphError(f"line {token.line}: the file ends inside the graph: close it with }}")
        if not token.is_name:
            raise GraphError(f"line {token.line}: a name is wanted where {quoted(token.text)} stands: correct it there")
        return token


def _tokens(text: str) -> Iterator[Token]:
    at, line = 0, 1
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            raise GraphError(
                f"line {line}: {quoted(text[at : at + 20])} cannot be read: put names in quotes, and close every quote "
                "and comment; ports and HTML names are not read"
            )
        kind, found = str(match.lastgroup), match.group()
        if kind == "quoted":
            yield Token(kind, _unescaped(found[1:-1]), line)
        elif kind != "space":
            yield Token(kind, found, line)
        at, line = match.end(), line + found.count("\n")
    yield Token("end", "the end", line)


def _unescaped(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: ESCAPES.get(match[1], match[0]), text, flags=re.DOTALL)


def _heading(tokens: _Tokens) -> str:
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


def _chain(tokens: _Tokens, first: Token, arrow: str) -> list[Token]:
    """Read the rest of `a -> b -> c`."""
    chain = [first]
    while tokens.next.kind == "mark" and tokens.next.text in ("->", "--"):
        sign = tokens.take()
        if sign.text != arrow:
            kind = "digraph" if arrow == "->" else "graph"
            raise GraphError(f"line {sign.line}: the edges of a {kind} are written {arrow}, not {sign.text}: change it")
        chain.append(tokens.name())
    return chain


def _attributes(tokens: _Tokens) -> dict[str, str]:
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
