"""JSON: nodes, directed and undirected edges; and the `graph.json` of a result."""

import json
from typing import Any

from kerncause.errors import GraphError
from kerncause.graphs.named import PDAG
from kerncause.graphs.stated import Stated, assembled
from kerncause.text import quoted


def parse(text: str) -> PDAG:
    """Read `{"nodes": [..], "directed": [[a, b], ..], "undirected": [[a, b], ..]}`.

    Instead of the two lists of pairs there may be `"edges": [{"source": a, "target": b, "directed": true}, ..]`, as in
    the `graph.json` of a result. Other keys are not looked at.
    """
    try:
        content = json.loads(text)
    except json.JSONDecodeError as problem:
        raise GraphError(f"line {problem.lineno}: this is not JSON ({problem.msg}): correct it there") from None
    except (RecursionError, ValueError):
        raise GraphError("its lists are nested too deeply or its numbers too long: give nodes and edges") from None
    if not isinstance(content, dict) or "nodes" not in content:
        raise GraphError('there are no nodes: give {"nodes": [..], "directed": [[..]], "undirected": [[..]]}')
    nodes = [_name(node) for node in _list(content, "nodes")]
    paired, described = {"directed", "undirected"} & content.keys(), "edges" in content
    if described == bool(paired):
        raise GraphError('the edges are to be given once: either as "edges", or as "directed" and "undirected"')
    if described:
        return assembled(nodes, [_described(edge) for edge in _list(content, "edges")])
    return assembled(nodes, [_pair(edge, key == "directed") for key in sorted(paired) for edge in _list(content, key)])


def render(graph: PDAG) -> str:
    """Write nodes, directed and undirected edges, one a line."""
    content = {"nodes": graph.nodes, "directed": graph.directed_edges, "undirected": graph.undirected_edges}
    parts = [f" {json.dumps(key)}: {_lines(values)}" for key, values in content.items()]
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _lines(values: tuple[Any, ...]) -> str:
    rows = ",\n".join(f"  {json.dumps(value, ensure_ascii=False)}" for value in values)
    return f"[\n{rows}\n ]" if rows else "[]"


def _list(content: dict[str, Any], key: str) -> list[Any]:
    values = content[key]
    if not isinstance(values, list):
        raise GraphError(f'"{key}" is not a list: give one')
    return values


def _name(value: object) -> str:
    if not isinstance(value, str):
        raise GraphError(f"the name {quoted(json.dumps(value))} is not text: put names in quotes")
    return value


def _pair(edge: object, directed: bool) -> Stated:
    if not isinstance(edge, list) or len(edge) != 2:
        raise GraphError(f"the edge {quoted(json.dumps(edge))} is not a pair of names: give [source, target]")
    return Stated(_name(edge[0]), _name(edge[1]), directed)


def _described(edge: object) -> Stated:
    wanted = {"source", "target", "directed"}
    if not isinstance(edge, dict) or not wanted <= edge.keys() or not isinstance(edge["directed"], bool):
        raise GraphError(
            f'the edge {quoted(json.dumps(edge))} cannot be read: give its "source", its "target", '
            'and whether it is "directed" (true or false)'
        )
    return Stated(_name(edge["source"]), _name(edge["target"]), edge["directed"])
