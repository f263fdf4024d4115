"""The model code of DAGitty: `dag { ... }`, or `pdag { ... }` where edges have no direction.

    (dag | pdag) [name] { statement [;] ... }
    statement:  node [attributes]
                end (-> | <- | --) end ... [attributes]
                name = value
    end:        node
                { node node ... }

Attributes (`exposure`, `latent`, positions) are passed over: every variable is a node. Between quotes a backslash
stands for itself, unless a quote follows.
"""

import re
from itertools import pairwise, product

from kerncause.errors import GraphError
from kerncause.graphs.files.tokens import Language, Token, Tokens
from kerncause.graphs.members import narrowest
from kerncause.graphs.named import DAG, PDAG
from kerncause.graphs.stated import Stated, assembled
from kerncause.text import quoted

# A digraph and a graph are the same to DAGitty as a dag and a pdag, but for their cycles.
DIRECTED, MIXED, OTHERS = ("dag", "digraph"), ("pdag", "graph"), ("mag", "pag")
SIGNS = ("->", "<-", "--")
OTHER_SIGNS = ("<->", "@->", "<-@", "@--", "--@", "@-@")
# The quoted part is possessive: that a backslash belongs to the quote after it is never taken back.
DAGITTY = Language(
    re.compile(
        r"""
          (?P<space> \s+ )
        | (?P<quoted> "(?: \\" | [^"\x00-\x1f\x7f] )*+" )
        | (?P<mark> @-> | <-@ | @-- | --@ | @-@ | <-> | -> | <- | -- | [{}\[\];,=] )
        | (?P<bare> [\w.]+ | -[0-9.]+ )
        """,
        re.VERBOSE,
    ),
    lambda text: text.replace('\\"', '"'),
    "put names in quotes, and close every quote on its line; comments are not read",
)
BARE = re.compile(r"[0-9A-Za-z_.]+")
NOT_CARRIED = re.compile(r"[\x00-\x1f\x7f]|\\\Z|\A\Z|\A(?:graph|node)\Z")


def parse(text: str) -> PDAG:
    """Read one graph; `<->`, and the edges and the kinds of graph that have circles, are refused."""
    tokens = Tokens(text, DAGITTY)
    kind = _heading(tokens)
    nodes: dict[str, None] = {}
    edges: list[Stated] = []
    while not tokens.skip("}"):
        if tokens.skip(";"):
            continue
        first = _end(tokens)
        if tokens.skip("="):
            tokens.name()
        elif first[0].text not in ("graph", "node"):
            chain, signs = _chain(tokens, first)
            nodes |= dict.fromkeys(node.text for end in chain for node in end)
            for (left, right), sign in zip(pairwise(chain), signs, strict=True):
                edges += [_edge(a, b, sign, kind) for a, b in product(left, right)]
        _pass_over_attributes(tokens)
    if tokens.next.kind != "end":
        raise GraphError(f"line {tokens.next.line}: something follows the graph: give one graph in a file")
    graph = assembled(nodes, edges)
    if kind == "dag" and not isinstance(graph, DAG):
        raise GraphError("its arrows go round in a circle: remove one of them, for a dag has no cycle")
    return graph


def render(graph: PDAG) -> str:
    """Write a dag if it is one and a pdag if not, with a line for every node and for every edge."""
    bad = [name for name in graph.nodes if NOT_CARRIED.search(name)]
    if bad:
        raise GraphError(
            f"DAGitty cannot carry the name {quoted(bad[0])}: rename the node "
            "(not empty, graph or node; no control characters; no backslash at the end)"
        )
    lines = ["dag {" if isinstance(narrowest(graph), DAG) else "pdag {", *map(_name, graph.nodes)]
    lines += [f"{_name(a)} -> {_name(b)}" for a, b in graph.directed_edges]
    lines += [f"{_name(a)} -- {_name(b)}" for a, b in graph.undirected_edges]
    return "\n".join([*lines, "}", ""])


def _name(name: str) -> str:
    """Return a name as DAGitty writes it: in quotes only if it must be."""
    escaped = name.replace('"', '\\"')
    return name if BARE.fullmatch(name) else f'"{escaped}"'


def _heading(tokens: Tokens) -> str:
    """Read up to the opening brace; return the kind of the graph."""
    word = tokens.take()
    if word.keyword in OTHERS:
        raise GraphError(f"line {word.line}: a {word.keyword} has edges that are not read: give a dag or a pdag")
    if word.keyword not in (*DIRECTED, *MIXED):
        raise GraphError(f"line {word.line}: a model begins with dag {{ or pdag {{: correct it there")
    if tokens.next.is_name:
        tokens.take()
    if not tokens.skip("{"):
        raise GraphError(f"line {tokens.next.line}: there is no {{ after {word.text}: add it")
    return word.keyword


def _end(tokens: Tokens) -> list[Token]:
    """Read a node, or several in braces."""
    if not tokens.skip("{"):
        return [tokens.name()]
    group = [tokens.name()]
    while not tokens.skip("}"):
        group += [] if tokens.skip(";") else [tokens.name()]
    return group


def _chain(tokens: Tokens, first: list[Token]) -> tuple[list[list[Token]], list[Token]]:
    """Read the rest of `a -> b <- c`: the ends, and the signs between them."""
    ends, signs = [first], []
    while tokens.sees(*SIGNS, *OTHER_SIGNS):
        signs.append(tokens.take())
        ends.append(_end(tokens))
    return ends, signs


def _edge(a: Token, b: Token, sign: Token, kind: str) -> Stated:
    if sign.text in OTHER_SIGNS:
        raise GraphError(
            f"line {sign.line}: the edge {sign.text} between {quoted(a.text)} and {quoted(b.text)} cannot be taken: "
            "only -> and -- can, no circles and no two arrowheads"
        )
    if sign.text == "--" and kind in DIRECTED:
        raise GraphError(
            f"line {sign.line}: the edge between {quoted(a.text)} and {quoted(b.text)} has no direction: "
            f"begin the model with pdag {{, for a {kind} has arrows alone"
        )
    source, target = (b, a) if sign.text == "<-" else (a, b)
    return Stated(source.text, target.text, sign.text != "--", sign.line)


def _pass_over_attributes(tokens: Tokens) -> None:
    """Read `[name, name=value, ...]`, if it comes next."""
    if not tokens.skip("["):
        return
    while not tokens.skip("]"):
        tokens.name()
        if tokens.skip("="):
            tokens.name()
        tokens.skip(",", ";")
