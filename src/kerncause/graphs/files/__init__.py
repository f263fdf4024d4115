"""Graphs in files. A new format is one file with `parse` and `render`, and one line here."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from kerncause.errors import GraphError, OptionError
from kerncause.graphs.files import dagitty, dot, gml, graphml, json_format, lavaan, matrix, tetrad
from kerncause.graphs.members import narrowest
from kerncause.graphs.named import DAG, PDAG
from kerncause.text import quoted
from kerncause.written import replaced, shown_path


class Format(NamedTuple):
    """How a graph becomes text and back, and the suffixes of such files.

    Attributes:
        read: makes a graph of a text.
        render: makes a text of a graph that the format can hold.
        suffixes: how the names of such files end.
        needs_dag: whether it holds DAGs alone.
    """

    read: Callable[[str], PDAG]
    render: Callable[[PDAG], str]
    suffixes: tuple[str, ...]
    needs_dag: bool = False

    def write(self, graph: PDAG) -> str:
        """Make a text of a graph; refuse one that the format cannot hold."""
        if self.needs_dag:
            _refuse_other_than_dag(graph, self.suffixes[0])
        return self.render(graph)


FORMATS: Mapping[str, Format] = {
    "json": Format(json_format.parse, json_format.render, (".json",)),
    "dot": Format(dot.parse, dot.render, (".dot", ".gv")),
    "graphml": Format(graphml.parse, graphml.render, (".graphml",)),
    "csv": Format(matrix.parse, matrix.render, (".csv",)),
    "tetrad": Format(tetrad.parse, tetrad.render, (".txt", ".tetrad")),
    "dagitty": Format(dagitty.parse, dagitty.render, (".dagitty",)),
    "lavaan": Format(lavaan.parse, lavaan.render, (".lavaan",), needs_dag=True),
    "gml": Format(gml.parse, gml.render, (".gml",), needs_dag=True),
}


def read_graph(path: str | Path, format: str | None = None) -> PDAG:  # noqa: A002 - the word users look for
    """Read a graph from a file; return the narrowest of DAG, CPDAG and PDAG that it is.

    Args:
        path: the file, UTF-8 text.
        format: one of `FORMATS`; without it the suffix decides.
    """
    path = Path(path)
    name = format_of(path, format)
    try:
        return FORMATS[name].read(_text(path))
    except GraphError as problem:
        raise GraphError(f"{shown_path(path)} cannot be read as {name}: {problem}") from problem


def write_graph(graph: PDAG, path: str | Path, format: str | None = None) -> Path:  # noqa: A002
    """Write a graph to a file, all of it or nothing; return the path.

    A name that the format cannot carry is refused, and so is an edge: some formats hold DAGs alone.

    Args:
        graph: any graph.
        path: the file; one that is there is replaced.
        format: one of `FORMATS`; without it the suffix decides.
    """
    path = Path(path)
    text = FORMATS[format_of(path, format)].write(graph)
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as problem:
        raise GraphError(f"{quoted(text[problem.start])} in a name is half a character: rename the node") from None
    return replaced(path, content)


def format_of(path: Path, name: str | None) -> str:
    """Return the name of a file's format: the one given, or else the one of its suffix."""
    if name is not None and name not in FORMATS:
        raise OptionError(f"there is no graph format {quoted(name)}: the choices are {', '.join(FORMATS)}")
    known = {suffix: key for key, kind in FORMATS.items() for suffix in kind.suffixes}
    name = name or known.get(path.suffix.lower())
    if name is None:
        raise OptionError(
            f"the name of {shown_path(path)} does not tell its format: give it one of the suffixes {', '.join(known)}, "
            f"or name the format ({', '.join(FORMATS)})"
        )
    return name


def _refuse_other_than_dag(graph: PDAG, suffix: str) -> None:
    if isinstance(narrowest(graph), DAG):
        return
    cure = "write a DAG, such as the best one of a result (result.dag, or the directory of the result with convert)"
    if graph.undirected_edges:
        a, b = graph.undirected_edges[0]
        raise GraphError(
            f"a {suffix} file cannot carry the edge between {quoted(a)} and {quoted(b)}, which has no direction: {cure}"
        )
    raise GraphError(f"a {suffix} file cannot carry this graph, whose arrows go round in a circle: {cure}")


def _text(path: Path) -> str:
    if path.is_dir():
        raise GraphError("it is a directory: give a file, such as the graph.json in it")
    try:
        # Bytes, because reading text would turn the line breaks inside names into others.
        return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        raise GraphError("there is no such file: check the path") from None
    except UnicodeDecodeError:
        raise GraphError("it is not UTF-8 text: save it as UTF-8") from None
    except OSError as problem:
        raise GraphError(f"{problem.strerror or problem}; check the file") from problem
