"""An order of columns and rows that depends on their content alone.

A search must break ties, and sums of floats depend on the order of their terms. If rows and columns are
first brought into an order that follows from what they hold, then permuting rows or columns, or renaming
columns, changes nothing, to the last bit.

Columns and rows are coloured by turns (colour refinement on the bipartite graph of rows and columns):

    column colour c_j = sum_i h(x_ij, r_i)        row colour r_i = sum_j h(x_ij, c_j)

with sums modulo 2^64 and h a mixing hash, so the colours know the joint distribution but no position or
name. Two columns that still share a colour are copies of each other, or (in tiny discrete tables) mirror images
under some exchange of rows; only then the name decides.
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Hashes = npt.NDArray[np.uint64]

ROUNDS = 2


def _mixed(x: Hashes) -> Hashes:
    """Return the finaliser of the splitmix64 generator (Steele, Lea, Flood 2014), elementwise."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _value_hashes(column: Floats) -> Hashes:
    """Hash each number; every NaN is the same, and so are 0.0 and -0.0."""
    plain = np.where(np.isnan(column), np.nan, column + 0.0)
    return _mixed(plain.view(np.uint64))


def colours(table: Floats) -> tuple[Hashes, Hashes]:
    """Return the colours of the columns (d,) and of the rows (n,) of an (n, d) table."""
    hashes = [_value_hashes(table[:, j]) for j in range(table.shape[1])]
    rows = np.zeros(len(table), dtype=np.uint64)
    columns = _column_colours(hashes, rows)
    for _ in range(ROUNDS):
        rows = np.zeros(len(table), dtype=np.uint64)
        for j, column in enumerate(hashes):
            rows += _mixed(column ^ columns[j])
        rows = _mixed(rows)
        columns = _column_colours(hashes, rows)
    return columns, rows


def _column_colours(hashes: list[Hashes], rows: Hashes) -> Hashes:
    sums = [np.sum(_mixed(column + rows), dtype=np.uint64) for column in hashes]
    return _mixed(np.array(sums, dtype=np.uint64))


def row_order(table: Floats, columns: Hashes, rows: Hashes, tie_break: list[str]) -> npt.NDArray[np.int64]:
    """Return the permutation that brings the rows into canonical order."""
    if len(set(columns.tolist())) == len(columns):
        return np.argsort(rows, kind="stable")
    # Columns that are copies of each other leave rows tied that differ: compare their values as well.
    order = sorted(range(len(columns)), key=lambda j: (int(columns[j]), tie_break[j]), reverse=True)
    return np.lexsort([*(table[:, j] for j in order), rows])
