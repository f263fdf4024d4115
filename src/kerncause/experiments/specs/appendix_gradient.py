"""The appendix: learned against methods of continuous optimisation on SACHS and CHILD."""

from typing import TYPE_CHECKING

import pandas as pd

from kerncause.experiments.base import Cell, Experiment, Scale
from kerncause.experiments.draw import Panel, grid
from kerncause.experiments.methods import GRADIENT_METHODS
from kerncause.experiments.specs.fig4_real import NETWORKS
from kerncause.experiments.specs.graphs import every, on_network

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURES = {"skeleton_precision": "precision", "skeleton_recall": "recall", "skeleton_f1": "F1"}


def cells(scale: Scale) -> list[Cell]:
    """Return both networks, n = 200, 500, 1000 and 2000; 3 realisations at `small`. `smoke` is NOTEARS on SACHS."""
    if scale == "smoke":
        return every(("learned", "notears"), 1, rows=(100, 200), network=NETWORKS[:1])
    methods = ("learned", *GRADIENT_METHODS)
    return every(methods, 20 if scale == "full" else 3, rows=(200, 500, 1000, 2000), network=NETWORKS)


def draw(frame: pd.DataFrame) -> "Figure":
    """Draw precision, recall and F1 of each network; of DiBS the particle that a user would take."""
    panels = [
        [
            Panel(f"{name.upper()}, {label}", {"network": name}, "rows", figure, "sample size", label, "x")
            for figure, label in FIGURES.items()
        ]
        for name in NETWORKS
        if name in set(frame["network"])
    ]
    return grid(frame, panels, width=2.6)


EXPERIMENT = Experiment(
    "appendix-gradient", "learned against continuous optimisation, SACHS and CHILD", 1, cells, on_network, draw
)
