"""Figure 4, a and b, and the appendix: F1 and SHD on samples of SACHS and CHILD."""

from typing import TYPE_CHECKING

import pandas as pd

from kerncause.experiments.base import Cell, Experiment, Scale
from kerncause.experiments.draw import Panel, grid
from kerncause.experiments.methods import KERNEL_METHODS
from kerncause.experiments.specs.graphs import F1, REALISATIONS, SHD, every, on_network

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NETWORKS = ("sachs", "child")


def cells(scale: Scale) -> list[Cell]:
    """Return n = 200, 500, 1000 and 2000 of both networks; `smoke` has 100 and 200 of SACHS."""
    if scale == "smoke":
        return every(KERNEL_METHODS, 2, rows=(100, 200), network=NETWORKS[:1])
    return every(KERNEL_METHODS, REALISATIONS[scale], rows=(200, 500, 1000, 2000), network=NETWORKS)


def draw(frame: pd.DataFrame) -> "Figure":
    """Draw F1 and SHD of each network against the number of rows."""
    panels = [
        [
            Panel(name.upper(), {"network": name}, "rows", figure, "sample size", label, "x")
            for name in NETWORKS
            if name in set(frame["network"])
        ]
        for figure, label in (F1, SHD)
    ]
    return grid(frame, panels, width=3.0)


EXPERIMENT = Experiment("fig4-real", "F1 and SHD on SACHS and CHILD", 1, cells, on_network, draw)
