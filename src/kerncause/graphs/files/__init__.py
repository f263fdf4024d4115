"""Graphs in files. A new format is one file with `parse` and `render`, and one line here."""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from kerncause.errors import GraphError, KerncauseError, OptionError
from kerncause.graphs.files import dot, graphml, json_format, matrix, tetrad
from kerncause.graphs.named import PDAG
from kerncause.text import printable, quoted


class Format(NamedTuple):
    """How a graph becomes text and back, and the suffixes of such files."""

    read: Callable[[str], PDAG]
    write: Callable[[PDAG], str]
    suffixes: tuple[str, ...]


FORMATS: Mapping[str, Format] = {
    "json": Format(json_format.parse, json_format.render, (".json",)),
    "dot": Format(dot.parse, dot.render, (".dot", ".gv")),
    "graphml": Format(graphml.parse, graphml.render, (".graphml",)),
    "csv": Format(matrix.parse, matrix.render, (".csv",)),
    "tetrad": Format(tetrad.parse, tetrad.render, (".txt", ".tetrad")),
}


def read_graph(path: str | Path, format: str | None = None) -> PDAG:  # noqa: A002 - the word users look for
    """Read a graph from a file; return the narrowest of DAG, CPDAG and PDAG that it is.

    Args:
        path: the file, UTF-8 text.
        format: one of `FORMATS`; without it the suffix decides.
    """
    path = Path(path)
    name = _format_of(path, format)
    try:
        return FORMATS[name].read(_text(path))
    except GraphError as problem:
        raise GraphError(f"{_shown(path)} cannot be read as {name}: {problem}") from problem


def write_graph(graph: PDAG, path: str | Path, format: str | None = None) -> Path:  # noqa: A002
    """Write a graph to a file, all of it or nothing; return the path.

    A name that the format cannot carry is refused.

    Args:
        graph: any graph.
        path: the file; one that is there is replaced.
        format: one of `FORMATS`; without it the suffix decides.
    """
    path = Path(path)
    text = FORMATS[_format_of(path, format)].write(graph)
    try:
        content = text.encode("utf-8")
    except UnicodeEncodeError as problem:
        raise GraphError(f"{quoted(text[problem.start])} in a name is half a character: rename the node") from None
    _replace(path, content)
    return path


def _format_of(path: Path, name: str | None) -> str:
    if name is not None and name not in FORMATS:
        raise OptionError(f"there is no graph format {quoted(name)}: the choices are {', '.join(FORMATS)}")
    known = {suffix: key for key, kind in FORMATS.items() for suffix in kind.suffixes}
    name = name or known.get(path.suffix.lower())
    if name is None:
        raise OptionError(
            f"the name of {_shown(path)} does not tell its format: give it one of the suffixes {', '.join(known)}, "
            f"or name the format ({', '.join(FORMATS)})"
        )
    return name


def _shown(path: Path) -> str:
    """Return a path for a sentence; what matters most is at its end, so it is hardly ever cut."""
    return f"'{printable(path, 500)}'"


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


def _replace(path: Path, content: bytes) -> None:
    """Put a file in its place in one step: written beside it, on the same disk, and then renamed."""
    scratch: Path | None = None
    try:
        # Through a link to the file it leads to; a ring of links is a RuntimeError before Python 3.13.
        place = path.resolve()
        if place.is_dir():
            raise OptionError(f"{_shown(path)} is a directory: give the name of a file")
        if place.exists() and not place.is_file():
            raise OptionError(f"{_shown(path)} is no ordinary file: give another name")
        scratch = Path(tempfile.mkdtemp(prefix=".kerncause-", dir=place.parent))
        (scratch / place.name).write_bytes(content)
        (scratch / place.name).replace(place)
    except (OSError, RuntimeError) as problem:
        reason = getattr(problem, "strerror", None) or problem
        raise KerncauseError(f"cannot write {_shown(path)}: {reason}; choose another place") from problem
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
