"""A table becomes a Dataset: named, typed variables, validated once, standardised once, immutable.

Rows are kept in the canonical order of `kerncause.data.canonical`, and `canonical` lists the variables in
theirs; `variables` keeps the user's order for everything a person sees.
"""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from kerncause.data.canonical import colours, row_order
from kerncause.data.encode import Encoded, encode
from kerncause.data.options import Missing, Origin, TableOptions
from kerncause.data.points import Floats, Ints, Points
from kerncause.data.variable import Kind, Variable
from kerncause.data.views import AS_READ, WHOLE, View, check_view, distance_apart, indicators, seen_on
from kerncause.errors import DataError, OptionError
from kerncause.text import counted, listed, quoted

FEW_SHARED_ROWS = 30
# Relative to the largest value: below this, standardising would amplify rounding.
SMALLEST_SPREAD = 1e-12
# Equal rows are counted where that leaves at most this share of the rows.
WORTH_COUNTING = 0.5
# What the columns of a vector that had their turn before are called; no column of a file can be.
EARLIER = "\0earlier columns"

_Number = TypeVar("_Number", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Dataset:
    """A validated, standardised table.

    Make one with `Dataset.from_frame`, `Dataset.from_array` or `kerncause.data.read_table`.

    Attributes:
        variables: in the order of the table.
        canonical: the variables' names in the order that follows from their content; ties are broken by it.
        codes: (n, d) the numbers of every column before standardising, NaN where missing, rows canonical.
        values: (n, d) the same with mean 0 and variance 1 (ddof 0) over the values present.
        row_order: (n,) for each kept row its position in the user's table.
        options: how the table was read.
        notices: sentences about the table that a person should read (rows dropped, more columns than rows).
        weights: (N,) how often each row occurs, if equal rows are kept once (`compact`); None: once each.
        origin: the file it was read from, if it was.
        view: how scores see its numbers: the name of a scaling, of a rule for categories, of the scaling of variables
            that are to be explained, and whether the columns of vectors are explained in turn
            (`kerncause.data.views`).
        responses: (n, d) the values of variables that are to be explained, if they are on a scale of their own.
    """

    variables: tuple[Variable, ...]
    canonical: tuple[str, ...]
    codes: Floats = field(repr=False)
    values: Floats = field(repr=False)
    row_order: Ints = field(repr=False)
    options: TableOptions = field(default_factory=TableOptions, repr=False)
    notices: tuple[str, ...] = ()
    weights: Ints | None = field(default=None, repr=False)
    origin: Origin | None = field(default=None, repr=False)
    view: View = AS_READ
    responses: Floats | None = field(default=None, repr=False)
    _positions: Mapping[str, tuple[int, ...]] = field(default_factory=dict, repr=False)
    _points: dict[str, Points] = field(default_factory=dict, repr=False)
    _responses: dict[str, Points] = field(default_factory=dict, repr=False)
    _thinned: dict[int, "Dataset"] = field(default_factory=dict, repr=False)
    _turns: dict[str, tuple["Dataset", ...]] = field(default_factory=dict, repr=False)
    # Of variables seen as indicators: their levels, and how far apart those are.
    _apart: Mapping[str, tuple[Floats, float]] = field(default_factory=dict, repr=False)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        kinds: Mapping[str, str] | None = None,
        groups: Mapping[str, Sequence[str]] | None = None,
        levels: Mapping[str, Sequence[str]] | None = None,
        missing: Missing = "error",
        na_values: Collection[object] | Mapping[str, Collection[object]] = (),
        drop: Collection[str] = (),
    ) -> "Dataset":
        """Read a DataFrame.

        Args:
            frame: one row per observation, one column per variable (or per component of a vector).
            kinds: column name to `continuous`, `ordinal` or `categorical`, where the inferred kind is wrong.
            groups: variable name to the columns that make it up, for vector variables.
            levels: column name to its values in increasing order; makes the column ordinal.
            missing: `error` refuses missing values, `drop` removes their rows, `testwise` scores each
                parent set on the rows that are complete for it.
            na_values: texts that mean a missing value, for all columns or by column. None, NaN and NaT are
                always missing; the words None, NA or null are not, unless they are named here.
            drop: columns to leave out.
        """
        return cls.of(frame, TableOptions(kinds or {}, groups or {}, levels or {}, missing, na_values, drop))

    @classmethod
    def from_array(cls, array: npt.ArrayLike, names: Sequence[str] | None = None, **options: Any) -> "Dataset":
        """Read an (n, d) array; the columns are called x1, x2, ... unless `names` says otherwise."""
        table = np.asarray(array)
        if table.ndim != 2:
            raise DataError(f"the array has {counted(table.ndim, 'dimension')}: give rows and columns, (n, d)")
        names = [f"x{j}" for j in range(1, table.shape[1] + 1)] if names is None else list(names)
        if len(names) != table.shape[1]:
            raise OptionError(f"{counted(len(names), 'name')} for {counted(table.shape[1], 'column')}: give one each")
        frame = pd.DataFrame({j: table[:, j] for j in range(table.shape[1])})
        frame.columns = pd.Index(names)
        return cls.from_frame(frame, **options)

    @classmethod
    def of(cls, frame: pd.DataFrame, options: TableOptions) -> "Dataset":
        """Read a DataFrame under options that were gathered elsewhere."""
        frame = _selected(frame, options)
        plan = _grouped(list(frame.columns), options)
        encoded = {name: _encoded(name, frame[name], options) for name in frame.columns}
        variables = tuple(_variable(name, columns, encoded, options) for name, columns in plan.items())
        table = np.column_stack([encoded[c].numbers for columns in plan.values() for c in columns])
        kept, notices = _present_rows(table, variables, options.missing)
        _refuse_degenerate(table[kept], variables, rows_went=len(kept) < len(table))
        return replace(
            _assembled(variables, table, kept), options=options, notices=notices + _warnings(table[kept], variables)
        )

    @property
    def n_rows(self) -> int:
        """Number of rows kept."""
        return len(self.values) if self.weights is None else int(self.weights.sum())

    @property
    def names(self) -> tuple[str, ...]:
        """The variables' names in the order of the table."""
        return tuple(v.name for v in self.variables)

    @cached_property
    def hash(self) -> str:
        """A SHA-256 over names, kinds and values; the order of rows and columns does not enter."""
        digest = hashlib.sha256(b"kerncause table 1\n")
        for variable in sorted(self.variables, key=lambda v: v.name):
            digest.update(repr((variable.name, variable.kind.value, variable.levels)).encode())
            digest.update(np.ascontiguousarray(self.codes[:, list(self._positions[variable.name])]).tobytes())
        return digest.hexdigest()

    @cached_property
    def incomplete(self) -> frozenset[str]:
        """The variables that lack a value in some row (only with `missing="testwise"`)."""
        gaps = set(np.flatnonzero(np.isnan(self.values).any(axis=0)).tolist())
        return frozenset(name for name, columns in self._positions.items() if gaps.intersection(columns))

    def variable(self, name: str) -> Variable:
        """Return the variable of that name."""
        for variable in self.variables:
            if variable.name == name:
                return variable
        raise OptionError(f"there is no variable {quoted(name)}: the table has {listed(self.names, 20)}")

    def in_canonical_order(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the names sorted by content, not by spelling or position; refuse unknown ones."""
        wanted = set(names)
        for name in wanted.difference(self.canonical):
            self.variable(name)
        return tuple(name for name in self.canonical if name in wanted)

    def columns_of(self, name: str) -> tuple[int, ...]:
        """Return where the columns of a variable stand in `codes` and `values`."""
        self.variable(name)
        return self._positions[name]

    def points(self, name: str) -> Points:
        """Return the standardised values of one variable, (n, l), with equal rows grouped."""
        if name not in self._points:
            self.variable(name)
            if name in self._apart:
                levels, apart = self._apart[name]
                values = indicators(self.codes[:, self._positions[name][0]], levels, apart)
            else:
                values = np.ascontiguousarray(self.values[:, list(self._positions[name])])
            self._points[name] = Points.of(_frozen(values), self.weights)
        return self._points[name]

    def notices_for(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the notices that matter with a score of these options: most do not see categories as what they are."""
        coded = [v.name for v in self.variables if v.kind is Kind.CATEGORICAL and len(v.levels or ()) > 2]
        if not coded or options.get("categories") == "delta":
            return self.notices
        said = (
            f"{listed(coded)} {'are' if len(coded) > 1 else 'is'} categorical with three or more values, coded as "
            "numbers in alphabetical or given order: list the levels if they have an order of their own, or have them "
            "seen as the same or different (categories=delta, or the preset adaptive)"
        )
        return (*self.notices, said)

    def degrees_of_freedom(self, names: Iterable[str]) -> int:
        """Return the number of weights that some variables can have: indicators have one less than columns."""
        return sum(self.points(name).values.shape[1] - (name in self._apart) for name in names)

    def response(self, name: str) -> Points:
        """Return the values of one variable as what is to be explained, (n, l)."""
        if self.responses is None or name in self._apart:
            return self.points(name)
        if name not in self._responses:
            values = np.ascontiguousarray(self.responses[:, list(self.columns_of(name))])
            self._responses[name] = Points.of(_frozen(values), self.weights)
        return self._responses[name]

    def seen(
        self,
        scaling: str = "standard",
        categories: str = "codes",
        response_scaling: str | None = None,
        vectors: str = WHOLE,
    ) -> "Dataset":
        """Return the same table with other numbers for scores to look at (`kerncause.data.views`)."""
        view = check_view(scaling, categories, response_scaling, vectors)
        if view == self.view:
            return self
        if self.view != AS_READ:
            raise OptionError("the table is seen in another way already: begin with the table as it was read")
        whole, apart = self.repeated(), {}
        for variable in self.variables:
            column = self._positions[variable.name][0]
            if variable.kind is Kind.CATEGORICAL and categories == "delta":
                present = whole.codes[~np.isnan(whole.codes[:, column]), column]
                levels, counts = np.unique(present, return_counts=True)
                if len(levels) > 2:
                    apart[variable.name] = (levels, distance_apart(counts / counts.sum()))
        return replace(
            self,
            values=self._on_scale(whole, scaling),
            responses=None if view[2] == scaling else self._on_scale(whole, view[2], vectors),
            view=view,
            _points={},
            _responses={},
            _thinned={},
            _turns={},
            _apart=apart,
        )

    def _on_scale(self, whole: "Dataset", scaling: str, vectors: str = WHOLE) -> Floats:
        """Return the values with all numbers on a scale that follows from the whole table."""
        values = np.array(self.values)
        for variable in self.variables if scaling != "standard" else ():
            if variable.kind in (Kind.CONTINUOUS, Kind.VECTOR):
                columns = list(self._positions[variable.name])
                values[:, columns] = _on_rows(self, seen_on(whole.values[:, columns], scaling, vectors))
        return _frozen(values)

    def turns(self, name: str) -> tuple["Dataset", ...]:
        """Return, for each column of a vector, the table in which it is the variable of that name.

        The columns that had their turn before are the variable `EARLIER`. Which comes first follows from what they
        hold.
        """
        if name not in self._turns:
            columns = self.columns_of(name)
            self._turns[name] = tuple(self._turn(name, columns[:c], column) for c, column in enumerate(columns))
        return self._turns[name]

    def _turn(self, name: str, earlier: tuple[int, ...], column: int) -> "Dataset":
        vector, first = self.variable(name), min(self.columns_of(name))

        def of(called: str, kind: Kind, columns: Sequence[int]) -> Variable:
            return replace(vector, name=called, kind=kind, columns=tuple(vector.columns[j - first] for j in columns))

        one = of(name, Kind.CONTINUOUS, [column])
        before = (of(EARLIER, Kind.VECTOR, earlier),) if earlier else ()
        return replace(
            self,
            variables=(*(one if variable is vector else variable for variable in self.variables), *before),
            canonical=(*self.canonical, *(variable.name for variable in before)),
            _positions={**self._positions, name: (column,), **{variable.name: earlier for variable in before}},
            _points={other: points for other, points in self._points.items() if other != name},
            _responses={other: points for other, points in self._responses.items() if other != name},
            _thinned={},
            _turns={},
        )

    def complete_for(self, names: Iterable[str]) -> "Dataset":
        """Return the rows on which all of `names` have a value, on the same scale."""
        lacking = self.incomplete.intersection(names)
        if not lacking:
            return self
        columns = [j for name in lacking for j in self._positions[name]]
        rows = np.flatnonzero(~np.isnan(self.values[:, columns]).any(axis=1))
        return self._rows(rows)

    def thinned(self, rows: int) -> "Dataset":
        """Return so many rows, evenly spaced in canonical order, on the same scale."""
        if rows >= self.n_rows:
            return self
        if rows not in self._thinned:
            chosen = np.linspace(0, self.n_rows - 1, rows).astype(np.int64)
            if self.weights is not None:
                chosen = np.searchsorted(np.cumsum(self.weights), chosen, side="right")
            self._thinned[rows] = replace(self._rows(chosen), weights=None)
        return self._thinned[rows]

    def sampled(self, rng: np.random.Generator, with_replacement: bool = False) -> "Dataset":
        """Return half of the rows, or as many as there are with replacement, on the same scale."""
        n = self.n_rows
        chosen = rng.integers(n, size=n) if with_replacement else rng.permutation(n)[: (n + 1) // 2]
        return self._rows(np.sort(chosen))

    def repeated(self) -> "Dataset":
        """Return the table with every row as often as it occurs."""
        if self.weights is None:
            return self
        return replace(self._rows(np.repeat(np.arange(len(self.values)), self.weights)), weights=None)

    @cached_property
    def compact(self) -> "Dataset":
        """The table with equal rows kept once and counted, if that makes it much shorter; else the table itself.

        In canonical order equal rows stand together.
        """
        above, below = self.codes[:-1], self.codes[1:]
        same = np.ones(len(above), dtype=bool)
        for a, b in zip(above.T, below.T, strict=True):
            same &= (a == b) | (np.isnan(a) & np.isnan(b))
        first = np.flatnonzero(np.concatenate([[True], ~same]))
        if self.weights is not None or len(first) > WORTH_COUNTING * len(self.codes):
            return self
        counts = np.diff(np.append(first, len(self.codes)))
        return replace(self._rows(first), weights=_frozen(counts))

    def _rows(self, rows: Ints) -> "Dataset":
        return replace(
            self,
            codes=_frozen(self.codes[rows]),
            values=_frozen(self.values[rows]),
            row_order=_frozen(self.row_order[rows]),
            weights=None if self.weights is None else _frozen(self.weights[rows]),
            responses=None if self.responses is None else _frozen(self.responses[rows]),
            _points={},
            _responses={},
            _thinned={},
            _turns={},
        )

    def describe(self) -> pd.DataFrame:
        """Return one row per variable: kind, why, levels, missing values."""
        return pd.DataFrame(
            {
                "variable": [v.name for v in self.variables],
                "kind": [v.kind.value for v in self.variables],
                "why": [v.reason for v in self.variables],
                "levels": [" < ".join(v.levels) if v.levels else "" for v in self.variables],
                "missing": [v.missing for v in self.variables],
            }
        )

    def __repr__(self) -> str:
        kinds = {kind: sum(v.kind is kind for v in self.variables) for kind in Kind}
        shown = ", ".join(f"{number} {kind.value}" for kind, number in kinds.items() if number)
        return f"Dataset({counted(self.n_rows, 'row')}, {counted(len(self.variables), 'variable')}: {shown})"


def _selected(frame: pd.DataFrame, options: TableOptions) -> pd.DataFrame:
    """Check names and shape, and leave out what is to be dropped."""
    if isinstance(frame.columns, pd.MultiIndex):
        raise DataError("the table has column names of several levels: flatten them to one text each")
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    repeated = frame.columns[frame.columns.duplicated()].unique()
    if len(repeated):
        raise DataError(f"column name {listed(repeated)} stands for several columns: rename all but one")
    for option, named in options.columns_named().items():
        unknown = [name for name in named if name not in frame.columns]
        if unknown:
            raise OptionError(
                f"{option} speaks of a column {listed(unknown)} that the table does not have: "
                f"its columns are {listed(frame.columns, 20)}"
            )
    frame = frame.drop(columns=list(options.drop))
    if len(frame) == 0:
        raise DataError("the table has no rows: give one row per observation below the names")
    if len(frame) == 1:
        raise DataError("the table has one row: a graph cannot be learned from fewer than two")
    return frame


def _encoded(name: str, column: "pd.Series[Any]", options: TableOptions) -> Encoded:
    marks = options.na_values_of(name)
    if marks:
        column = column.mask(_is_marked(column, marks))
    kind = Kind.parse(name, options.kinds[name]) if name in options.kinds else None
    return encode(name, column, kind, options.levels.get(name))


def _is_marked(column: "pd.Series[Any]", marks: frozenset[str]) -> "pd.Series[bool]":
    """Tell which cells are one of the marks, as text or, in a column of numbers, as a number."""
    marked = column.astype(str).isin(marks)
    if pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype):
        numbers = pd.to_numeric(pd.Series(sorted(marks)), errors="coerce").dropna()
        marked |= column.isin(numbers)
    return marked


def _grouped(columns: list[str], options: TableOptions) -> dict[str, list[str]]:
    """Return variable name to columns, in the table's order; a group stands where its first column stood."""
    owner: dict[str, str] = {}
    for group, members in options.groups.items():
        if not members:
            raise OptionError(f"group {quoted(group)} has no columns: name at least one")
        if group in columns and group not in members:
            raise OptionError(f"group {quoted(group)} has the name of a column outside it: choose another name")
        for member in members:
            if member in owner:
                raise OptionError(
                    f"column {quoted(member)} is in group {quoted(owner[member])} and in group {quoted(group)}: "
                    "leave it in one"
                    if owner[member] != group
                    else f"group {quoted(group)} names column {quoted(member)} twice: name it once"
                )
            if member in options.drop:
                raise OptionError(f"column {quoted(member)} is dropped and in group {quoted(group)}: choose one")
            owner[member] = group
    plan: dict[str, list[str]] = {}
    for column in columns:
        name = owner.get(column, column)
        plan.setdefault(name, list(options.groups[name]) if column in owner else [column])
    if len(plan) < 2:
        only = next(iter(plan), None)
        cure = "is the separator of the file right (--sep)?" if len(columns) == 1 else "leave some columns ungrouped"
        raise DataError(f"the table has only the variable {quoted(only)}, and a graph needs at least two: {cure}")
    return plan


def _variable(name: str, columns: list[str], encoded: Mapping[str, Encoded], options: TableOptions) -> Variable:
    missing = int(np.isnan(np.column_stack([encoded[c].numbers for c in columns])).any(axis=1).sum())
    if name not in options.groups:
        only = encoded[columns[0]]
        return Variable(name, only.kind, tuple(columns), only.levels, only.reason, missing, only.level_codes)
    for column in columns:
        member = encoded[column]
        if member.kind is Kind.CATEGORICAL and len(member.levels or ()) > 2:
            raise DataError(
                f"column {quoted(column)} of group {quoted(name)} is categorical and has no distance: "
                "leave it out of the group, or list its levels in order"
            )
    reason = f"a group of {counted(len(columns), 'column')}"
    return Variable(name, Kind.VECTOR, tuple(columns), None, reason, missing)


def _present_rows(table: Floats, variables: Sequence[Variable], missing: Missing) -> tuple[Ints, tuple[str, ...]]:
    """Return the rows to keep under the policy for missing values, and what to say about it."""
    gaps = np.isnan(table).any(axis=1)
    if not gaps.any():
        return np.arange(len(table)), ()
    lacking = [v.name for v in variables if v.missing]
    story = (
        f"{counted(int(gaps.sum()), 'row')} of {len(table):,} have missing values, in {listed(lacking)}"
        if gaps.sum() > 1
        else f"1 row of {len(table):,} has missing values, in {listed(lacking)}"
    )
    if missing == "error":
        raise DataError(
            f"{story}: choose drop for missing (--missing drop) to leave those rows out, or testwise to score each "
            "parent set on the rows complete for it"
        )
    if missing == "testwise":
        return np.arange(len(table)), (f"{story}: each score uses the rows complete for it",)
    kept = np.flatnonzero(~gaps)
    if len(kept) < 2:
        raise DataError(
            f"{story}, and dropping them leaves {counted(len(kept), 'row')}: choose testwise for missing "
            "(--missing testwise), or drop a column"
        )
    return kept, (f"{story}: they were dropped, {counted(len(kept), 'row')} left",)


def _refuse_degenerate(table: Floats, variables: Sequence[Variable], rows_went: bool) -> None:
    columns = [column for variable in variables for column in variable.columns]
    for j, name in enumerate(columns):
        values = table[:, j]
        values = values[~np.isnan(values)]
        if np.all(values == values[0]):
            where = " in the rows without missing values" if rows_went else ""
            raise DataError(f"column {quoted(name)} has the same value in every row{where}: drop it")
        largest = np.abs(values).max()
        if np.std(values / largest) < SMALLEST_SPREAD:
            raise DataError(
                f"column {quoted(name)} has values that differ only in their last digits: subtract what they share"
            )


def _warnings(table: Floats, variables: Sequence[Variable]) -> tuple[str, ...]:
    said: list[str] = []
    if len(variables) > len(table):
        said.append(
            f"the table has more variables ({len(variables):,}) than rows ({len(table):,}): "
            "edges found on so few rows deserve little trust"
        )
    present = ~np.isnan(table)
    shared = present.T.astype(np.float64) @ present
    if shared.min() < min(FEW_SHARED_ROWS, len(table)):
        columns = [column for variable in variables for column in variable.columns]
        i, j = np.unravel_index(int(shared.argmin()), shared.shape)
        said.append(
            f"columns {quoted(columns[i])} and {quoted(columns[j])} have values together in only "
            f"{counted(int(shared.min()), 'row')}: an edge between them can hardly be found"
        )
    return tuple(said)


def _assembled(variables: tuple[Variable, ...], table: Floats, kept: Ints) -> Dataset:
    """Bring rows, and the order of names, into the form that follows from the content alone; standardise."""
    columns = [column for variable in variables for column in variable.columns]
    table = table[kept] + 0.0  # -0.0 becomes 0.0
    column_colours, row_colours = colours(table)
    order = row_order(table, column_colours, row_colours, columns)
    table = np.asfortranarray(table[order])
    positions: dict[str, tuple[int, ...]] = {}
    rank: dict[str, tuple[int, str]] = {}
    first = 0
    for variable in variables:
        own = range(first, first + len(variable.columns))
        first = own.stop
        positions[variable.name] = tuple(sorted(own, key=lambda j: (int(column_colours[j]), columns[j])))
        colour = sum(int(column_colours[j]) for j in own) % 2**64
        rank[variable.name] = (colour, variable.name)
    return Dataset(
        variables=variables,
        canonical=tuple(sorted(rank, key=lambda name: rank[name])),
        codes=_frozen(table),
        values=_frozen(_standardised(table)),
        row_order=_frozen(kept[order]),
        _positions=positions,
    )


def _on_rows(data: Dataset, columns: Floats) -> Floats:
    """Return columns of the table with rows repeated on the rows as they are counted."""
    if data.weights is None:
        return columns
    first = np.concatenate([[0], np.cumsum(data.weights)[:-1]])
    return np.asarray(columns[first])


def _standardised(table: Floats) -> Floats:
    unit = table / np.nanmax(np.abs(table), axis=0)  # so that 1e300 can be squared
    return np.asfortranarray((unit - np.nanmean(unit, axis=0)) / np.nanstd(unit, axis=0))


def _frozen(array: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
    array.setflags(write=False)
    return array
