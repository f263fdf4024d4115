"""An adjacency matrix as CSV: a line of names, then zeros and ones, row -> column."""

import csv
import io
from collections.abc import Sequence
from typing import NamedTuple

from kerncause.errors import GraphError
from kerncause.graphs.named import PDAG
from kerncause.graphs.stated import Stated, assembled, merged
from kerncause.text import counted, quoted


class Row(NamedTuple):
    """The cells of a row and the line on which it ends."""

    cells: list[str]
    line: int


def parse(text: str) -> PDAG:
    """Read a line of p names and p rows of p cells: a 1 in row i and column j is i -> j, and both ways it is i - j.

    A first column may name the rows, in any order; then the line of names may have a cell above it or not.
    """
    rows = _rows(text)
    if not rows:
        raise GraphError("it is empty: give a line of names, and a row of zeros and ones for each")
    names, body = rows[0].cells, rows[1:]
    sources = names
    if _is_labelled(names, body):
        names = names[len(names) - len(body) :]
        sources = [row.cells[0] for row in body]
        body = [Row(row.cells[1:], row.line) for row in body]
    _check(names, sources, body)
    edges = [
        Stated(source, target, directed=True, line=row.line)
        for source, row in zip(sources, body, strict=True)
        for target, cell in zip(names, row.cells, strict=True)
        if _is_one(cell, target, row.line)
    ]
    return assembled(names, merged(edges))


def render(graph: PDAG) -> str:
    """Write the names, each in quotes, and the matrix."""
    if not graph.nodes:
        raise GraphError("CSV cannot carry a graph without nodes: write it as JSON")
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow(graph.nodes)
    size = range(len(graph.nodes))
    writer.writerows([out >> j & 1 for j in size] for out in graph.adjacency.out)
    return stream.getvalue()


def _rows(text: str) -> list[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), skipinitialspace=True, strict=True)
    try:
        return [Row(cells, reader.line_num) for cells in reader if cells]
    except csv.Error as problem:
        raise GraphError(f"line {reader.line_num}: this is not CSV ({problem}): is a quote left open?") from None


def _is_labelled(names: Sequence[str], body: Sequence[Row]) -> bool:
    """Tell whether the rows begin with names: they have one cell more than there are rows."""
    if not body or len(names) - len(body) not in (0, 1) or any(len(row.cells) != len(body) + 1 for row in body):
        return False
    # A matrix that lacks a row has that shape too, but its rows begin with zeros and ones.
    first = {row.cells[0] for row in body}
    return not first <= {"0", "1"} or first <= {*names}


def _check(names: Sequence[str], sources: Sequence[str], body: Sequence[Row]) -> None:
    if len(names) != len(body):
        raise GraphError(
            f"there are {counted(len(names), 'name')} and {counted(len(body), 'row')}: give one row of zeros and ones, "
            "separated by commas, for each name"
        )
    for row in body:
        if len(row.cells) != len(names):
            raise GraphError(
                f"line {row.line}: there are {counted(len(row.cells), 'cell')} for {counted(len(names), 'name')}: "
                "give one for each"
            )
    if sorted(sources) != sorted(names):
        odd = next((name for name in sources if name not in names), None)
        told = "names a row twice" if odd is None else f"has {quoted(odd)}, which the line of names has not"
        raise GraphError(f"the first column {told}: the same names are wanted in both")


def _is_one(cell: str, column: str, line: int) -> bool:
    try:
        value = float(cell)
    except ValueError:
        value = -1.0
    if value not in (0.0, 1.0):
        raise GraphError(
            f"line {line}: {quoted(cell)} stands in column {quoted(column)}: give 1 for an edge and 0 for none"
        )
    return value == 1.0
