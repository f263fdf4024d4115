"""The appendix: F1 and normalised SHD where every variable is discrete."""

from typing import TYPE_CHECKING

import pandas as pd

from kerncause.experiments.base import Cell, Experiment, Scale
from kerncause.experiments.draw import grid
from kerncause.experiments.methods import KERNEL_METHODS
from kerncause.experiments.specs.graphs import DENSITIES, REALISATIONS, against_density, every, on_simulated

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def cells(scale: Scale) -> list[Cell]:
    """Return 8 discrete variables, n = 200, 500 and 1000; `smoke` has n = 50."""
    smoke = scale == "smoke"
    return every(
        KERNEL_METHODS,
        REALISATIONS[scale],
        rows=(50,) if smoke else (200, 500, 1000),
        kind=("discrete",),
        density=DENSITIES[:2] if smoke else DENSITIES,
    )


def draw(frame: pd.DataFrame) -> "Figure":
    """Draw F1 above SHD, a column for each number of rows."""
    return grid(
        frame, against_density({f"discrete, n = {rows}": {"rows": rows} for rows in sorted(set(frame["rows"]))})
    )


EXPERIMENT = Experiment("appendix-discrete", "F1 and SHD on discrete random graphs", 1, cells, on_simulated, draw)
