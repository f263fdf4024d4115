"""What the experiments on whole graphs share: cells over a grid of settings, and curves of F1 and SHD."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import pandas as pd

from kerncause.experiments.base import Cell, Experiment, Scale, Value
from kerncause.experiments.draw import Panel, grid
from kerncause.experiments.methods import learned_graph
from kerncause.experiments.tables import network_table, simulated_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REALISATIONS: Mapping[Scale, int] = {"smoke": 1, "small": 5, "full": 20}
DENSITIES = (0.2, 0.4, 0.6, 0.8)
F1, SHD = ("skeleton_f1", "F1"), ("shd_normalised", "normalised SHD")


def every(methods: Sequence[str], realisations: int, **settings: Sequence[Value]) -> list[Cell]:
    """Return a cell for each combination, one realisation after the other, so that a part of a run is balanced."""
    return [
        Cell.of(method, seed, **dict(zip(settings, values, strict=True)))
        for seed in range(realisations)
        for values in product(*settings.values())
        for method in methods
    ]


def on_simulated(cell: Cell) -> dict[str, Any]:
    """Learn a graph from a random model's table."""
    data, truth = simulated_table(cell)
    return learned_graph(data, truth, cell.method, cell.seed)


def on_network(cell: Cell) -> dict[str, Any]:
    """Learn a graph from a sample of a network."""
    data, truth = network_table(cell)
    return learned_graph(data, truth, cell.method, cell.seed)


def random_graphs(
    name: str,
    title: str,
    methods: Sequence[str],
    kinds: Sequence[str],
    rows: Sequence[int],
    smoke_rows: int = 50,
    width: float = 2.5,
) -> Experiment:
    """Return an experiment on random graphs: every kind, number of rows and density; `smoke` has few of each.

    Its figure has F1 above SHD, and a column for each kind and number of rows.
    """

    def cells(scale: Scale) -> list[Cell]:
        smoke = scale == "smoke"
        densities = DENSITIES[:2] if smoke else DENSITIES
        return every(methods, REALISATIONS[scale], rows=(smoke_rows,) if smoke else rows, kind=kinds, density=densities)

    def draw(frame: pd.DataFrame) -> "Figure":
        there = sorted(set(frame["rows"]))
        settings = {f"{kind}, n = {n}": {"kind": kind, "rows": n} for kind in kinds for n in there}
        return grid(frame, against_density(settings), width=width)

    return Experiment(name, title, 1, cells, on_simulated, draw)


def against_density(settings: Mapping[str, Mapping[str, Value]]) -> list[list[Panel]]:
    """Return a row of panels for F1 and one for SHD, a panel each for the settings by title."""
    return [
        [Panel(title, where, "density", figure, "graph density", label) for title, where in settings.items()]
        for figure, label in (F1, SHD)
    ]
