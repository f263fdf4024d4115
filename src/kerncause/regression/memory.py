"""What memory one score takes at its worst, before any is computed: from the sizes of the table alone.

The formulas by which engines tell whether they can be used, at the largest problem that a table can pose.
`tests/test_memory.py` compares them with what processes really take.
"""

from dataclasses import dataclass, replace
from math import prod

from kerncause.data import Dataset
from kerncause.regression.base import MOST_MEMORY
from kerncause.regression.broad import broad_bytes
from kerncause.regression.compressed import combination_count, compressed_bytes
from kerncause.regression.dense import dense_bytes
from kerncause.regression.line import line_bytes
from kerncause.regression.lowrank import EXACT_UP_TO, lowrank_bytes
from kerncause.regression.semidense import semidense_bytes

# The compressed engine costs less than others only up to this share of the rows; with parents of so many values it
# does not repeat itself often enough.
MOST_SHARE_OF_ROWS = 0.65
FEW_VALUES = 0.5
# The response's values, where they are more than the parents' combinations, count only if they are few.
FEW_RESPONSES = 1500
# Up to so many rows everything is written out, and takes next to nothing.
WRITTEN_OUT = 500


@dataclass(frozen=True)
class Sizes:
    """What of a table decides how large its problems are.

    Attributes:
        n: rows.
        rows: rows that differ, if equal ones are counted; else all.
        levels: different values of each variable.
        columns: of the parents of one variable, at most; with vectors more than one each.
        has_vectors: whether a variable has several columns.
        parents: of one variable, at most.
        combinations: of the values of so many variables that repeat their values, those with most of them.
    """

    n: int
    rows: int
    levels: tuple[int, ...]
    columns: int
    has_vectors: bool
    parents: int
    combinations: int

    @classmethod
    def of(cls, table: Dataset, parents: int) -> "Sizes":
        """Return the sizes of a table, for so many parents."""
        widths = sorted((len(variable.columns) for variable in table.variables), reverse=True)
        parents, rows = min(parents, len(widths) - 1), len(table.values)
        every = sorted(map(table.points, table.names), key=lambda points: len(points.distinct))
        few = [points for points in every if len(points.distinct) < FEW_VALUES * rows]
        return cls(
            n=table.n_rows,
            rows=rows,
            levels=tuple(len(points.distinct) for points in every),
            columns=sum(widths[: parents + 1]),
            has_vectors=widths[0] > 1,
            parents=parents,
            combinations=combination_count(few[-parents:] if parents else [], rows),
        )

    def on(self, share: float) -> "Sizes":
        """Return the sizes of a share of the rows."""
        n, rows = (max(int(share * number), 1) for number in (self.n, self.rows))
        levels = tuple(min(level, rows) for level in self.levels)
        return replace(self, n=n, rows=rows, levels=levels, combinations=min(self.combinations, rows))


def most_bytes(sizes: Sizes, engine: str, memory: float = MOST_MEMORY) -> float:
    """Return the bytes that one score takes at its worst, by an engine or by `auto`, which keeps within `memory`."""
    n, rows, v, k = sizes.n, sizes.rows, max(sizes.levels), sizes.parents
    dense = dense_bytes(n, v, k)
    # Only a response that needs as many pivots as a third or half of the rows makes it the broad or the dense engine.
    has_many_pivots = sizes.has_vectors or n <= WRITTEN_OUT
    semidense = max(semidense_bytes(n), dense if has_many_pivots else 0.0)
    lowrank = lowrank_bytes(n, rows, sizes.columns, sizes.has_vectors, memory)
    broad = max(broad_bytes(n, v), dense)
    instead = broad if has_many_pivots else semidense
    projected = max(lowrank, min(instead, memory) if n <= EXACT_UP_TO else 0.0)
    line = max(line_bytes(rows), projected)
    levels = sorted(sizes.levels)[-k:] if k else []
    forced = {
        "dense": dense,
        "semidense": semidense,
        "lowrank": projected,
        "line": line,
        "broad": broad,
        "compressed": compressed_bytes(min(prod(levels), rows), v, k),
    }
    return forced[engine] if engine in forced else max(min(line, max(memory, projected)), min(_counted(sizes), memory))


def _counted(sizes: Sizes) -> float:
    """Return the bytes of the compressed engine where it is the cheapest."""
    u = min(sizes.combinations, int(MOST_SHARE_OF_ROWS * sizes.rows) + 1)
    return compressed_bytes(u, min(max(sizes.levels), max(u, FEW_RESPONSES)), sizes.parents)


def least_bytes(sizes: Sizes, engine: str) -> float:
    """Return the bytes with which every score can still be computed, more slowly or less exactly."""
    if engine in ("auto", "lowrank"):
        return lowrank_bytes(sizes.n, sizes.rows, sizes.columns, sizes.has_vectors, memory=0.0)
    if engine == "line":
        return max(line_bytes(sizes.rows), least_bytes(sizes, "lowrank"))
    return most_bytes(sizes, engine)
