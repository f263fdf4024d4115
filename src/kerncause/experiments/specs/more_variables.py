"""More than eight variables: the paper's setting, and the adaptive preset with several searches (not in the paper).

`accuracy-development` has tables of 8 variables and two networks. What is recommended for 12 or 20 has to be measured
on such tables: every variable has 3 neighbours on average, whatever their number.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from kerncause.experiments.base import Cell, Experiment, Scale
from kerncause.experiments.draw import Panel, grid
from kerncause.experiments.methods import METHODS
from kerncause.experiments.specs.accuracy import learned
from kerncause.experiments.tables import simulated_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Keyword arguments of `discover`. Numbers are explained by their levels, as the preset has it.
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "paper": METHODS["learned"],
    "default": {"score": "learned", "search": "ges"},
    "adaptive, ges": {"preset": "adaptive", "search": "ges"},
    "adaptive, boss": {"preset": "adaptive", "search": "boss", "lookahead": 1},
    "adaptive, boss by pairs": {"preset": "adaptive", "search": "boss", "lookahead": 2},
}
REFERENCE = "paper"
KINDS = ("continuous", "mixed", "discrete")
SIZES, NEIGHBOURS, ROWS = (12, 20), 3.0, 500
# Of more variables pairs are too many to try.
MOST_BY_PAIRS = 12
# Realisations that no other experiment has.
FIRST_REALISATION, SMOKE = 4000, 4900


def cells(scale: Scale) -> list[Cell]:
    """Return every variant on tables of every kind and size: 2 realisations, or 5; `smoke` has one of 4 variables."""
    if scale == "smoke":
        return [_cell(variant, SMOKE - FIRST_REALISATION, "mixed", 4, 40) for variant in ("paper", "adaptive, ges")]
    return [
        _cell(variant, seed, kind, size, ROWS)
        for seed in range(5 if scale == "full" else 2)
        for size in SIZES
        for kind in KINDS
        for variant in VARIANTS
        if size <= MOST_BY_PAIRS or VARIANTS[variant].get("lookahead", 1) == 1
    ]


def _cell(variant: str, seed: int, kind: str, size: int, rows: int) -> Cell:
    density = round(min(NEIGHBOURS / (size - 1), 0.5), 3)
    return Cell.of(variant, seed, kind=kind, variables=size, density=density, rows=rows)


def measure(cell: Cell) -> dict[str, Any]:
    """Learn a graph on one core."""
    data, truth = simulated_table(replace(cell, seed=FIRST_REALISATION + cell.seed), cell["variables"])
    return learned(data, truth, cell.seed, **VARIANTS[cell.method])


def draw(frame: pd.DataFrame) -> "Figure":
    """Draw skeleton F1 and seconds against the number of variables, a panel for each kind."""
    figures = (("skeleton_f1", "skeleton F1"), ("search_seconds", "seconds of one core"))
    kinds = [kind for kind in KINDS if kind in set(frame["kind"])]
    panels = [
        [Panel(kind, {"kind": kind}, "variables", figure, "variables", called) for kind in kinds]
        for figure, called in figures
    ]
    return grid(frame, panels, width=2.6)


EXPERIMENT = Experiment(
    "more-variables", "12 and 20 variables: the paper's setting and the adaptive preset", 1, cells, measure, draw
)
