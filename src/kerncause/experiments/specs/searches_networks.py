"""Which search on SACHS and CHILD: the same score, samples of discrete variables (not in the paper).

At most 4 parents in every search, so that the optimum of SACHS can be had; CHILD has too many variables for it.
"""

from typing import TYPE_CHECKING, Any

import pandas as pd

from kerncause.experiments.base import Cell, Experiment, Scale
from kerncause.experiments.draw import Panel, grid
from kerncause.experiments.specs.graphs import every
from kerncause.experiments.specs.searches import measured
from kerncause.experiments.tables import network_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_PARENTS = 4
FIGURES = {"skeleton_f1": "skeleton F1", "best_dag_arrows_f1": "arrows of the best DAG, F1", "shd": "SHD"}


def cells(scale: Scale) -> list[Cell]:
    """Return 10 samples of each network at `full`, 3 at `small`; `smoke` is one of SACHS without the optimum."""
    if scale == "smoke":
        return every(("ges",), 1, rows=(100,), network=("sachs",))
    samples = 10 if scale == "full" else 3
    of_both = every(("ges", "boss"), samples, rows=(500, 2000), network=("sachs", "child"))
    return of_both + every(("exact",), samples, rows=(500, 2000), network=("sachs",))


def measure(cell: Cell) -> dict[str, Any]:
    """Search once, on one core."""
    return measured(cell.method, *network_table(cell), MOST_PARENTS)


def draw(frame: pd.DataFrame) -> "Figure":
    """Draw F1 of the skeleton and of the best DAG's arrows, and SHD, against rows."""
    panels = [
        [
            Panel(name.upper(), {"network": name}, "rows", figure, "sample size", label)
            for figure, label in FIGURES.items()
        ]
        for name in sorted(set(frame["network"]), reverse=True)
    ]
    return grid(frame, panels, width=2.6)


EXPERIMENT = Experiment("searches-networks", "GES, BOSS and the optimum on SACHS and CHILD", 1, cells, measure, draw)
