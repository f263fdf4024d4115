"""What an experiment is: cells that are measured one by one, and a figure that is drawn from their rows.

* A cell is one method in one setting on one realisation: (setting, method, seed). That is its key; the same key
  always means the same computation, and nothing about a cell depends on any other.
* An experiment lists its cells for each scale. A larger scale repeats what a smaller one asked for and adds
  realisations, so that rows are never computed twice when one goes from `small` to `full`.
* A row is what was measured of a cell, or the error that it ended with.
* Specs are frozen: what a version of an experiment asks for does not change. A change gets the next version,
  and results of another version are refused, not mixed in.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

import pandas as pd

from kerncause.errors import OptionError
from kerncause.text import quoted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Scale = Literal["smoke", "small", "full"]
SCALES: tuple[Scale, ...] = get_args(Scale)
Value = str | int | float


@dataclass(frozen=True)
class Cell:
    """One method in one setting on one realisation.

    Attributes:
        setting: names and values, in the order of the names.
        method: what is tried.
        seed: the number of the realisation.
    """

    setting: tuple[tuple[str, Value], ...]
    method: str
    seed: int

    @classmethod
    def of(cls, method: str, seed: int, **setting: Value) -> "Cell":
        """Return the cell of a setting given by names."""
        return cls(tuple(sorted(setting.items())), method, seed)

    def __getitem__(self, name: str) -> Any:
        return dict(self.setting)[name]

    @property
    def key(self) -> str:
        """The same text for the same cell."""
        return json.dumps([dict(self.setting), self.method, self.seed], sort_keys=True)

    def __str__(self) -> str:
        setting = ", ".join(f"{name} {value}" for name, value in self.setting)
        return f"{self.method}, {setting}, realisation {self.seed}"


@dataclass(frozen=True, eq=False)
class Row:
    """What came of a cell.

    Attributes:
        cell: what was measured.
        values: numbers, or lists of them, by name; empty where it failed.
        seconds: how long it took.
        error: why there are no values.
        version: of kerncause, when it was measured.
    """

    cell: Cell
    values: Mapping[str, Any]
    seconds: float
    error: str | None = None
    version: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return what a line of the results file holds."""
        return {
            "setting": dict(self.cell.setting),
            "method": self.cell.method,
            "seed": self.cell.seed,
            "values": dict(self.values),
            "error": self.error,
            "seconds": round(self.seconds, 3),
            "version": self.version,
        }

    @classmethod
    def from_json(cls, line: Mapping[str, Any]) -> "Row":
        """Return the row of such a line."""
        cell = Cell.of(line["method"], line["seed"], **line["setting"])
        return cls(cell, line["values"], line["seconds"], line["error"], line["version"])


@dataclass(frozen=True, eq=False)
class Experiment:
    """One figure of the paper, or one question of ours.

    Attributes:
        name: what a user calls it.
        title: what it shows, in a few words.
        version: counts changes of what follows.
        cells: lists the cells of a scale, in the order in which they should be measured.
        measure: computes one of them; it is called in a process of its own and must follow from the cell alone.
        draw: makes the figure from a table of rows (`frame_of`).
        alone: whether cells are measured one at a time, because seconds are what is measured.
    """

    name: str
    title: str
    version: int
    cells: Callable[[Scale], Sequence[Cell]]
    measure: Callable[[Cell], Mapping[str, Any]] = field(repr=False)
    draw: Callable[[pd.DataFrame], "Figure"] = field(repr=False)
    alone: bool = False

    def chosen(self, scale: Scale, only: Mapping[str, Sequence[str]] | None = None) -> list[Cell]:
        """Return the cells of a scale whose setting (or `method`) has one of the values asked for, by name."""
        if scale not in SCALES:
            raise OptionError(f"scale (--scale) cannot be {quoted(scale)}: the choices are {', '.join(SCALES)}")
        cells = list(self.cells(scale))
        for name, wanted in (only or {}).items():
            values = {str(dict(cell.setting, method=cell.method).get(name)) for cell in cells}
            for value in wanted:
                if value not in values:
                    raise OptionError(
                        f"{self.name} at scale {scale} has no {name}={value} (--only): "
                        f"its settings are {self._settings(cells)}"
                    )
            cells = [cell for cell in cells if str(dict(cell.setting, method=cell.method)[name]) in wanted]
        return cells

    @staticmethod
    def _settings(cells: Sequence[Cell]) -> str:
        every: dict[str, dict[str, None]] = {}
        for cell in cells:
            for name, value in (*cell.setting, ("method", cell.method)):
                every.setdefault(name, {})[str(value)] = None
        return "; ".join(f"{name}={', '.join(values)}" for name, values in every.items())


def frame_of(rows: Sequence[Row]) -> pd.DataFrame:
    """Return rows as a table: setting, method, seed, values, seconds and error, a column each."""
    records = [
        {**dict(r.cell.setting), "method": r.cell.method, "seed": r.cell.seed, "seconds": r.seconds, **r.values}
        | {"error": r.error}
        for r in rows
    ]
    return pd.DataFrame.from_records(records)
