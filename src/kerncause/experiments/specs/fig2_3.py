"""Figures 2 and 3: F1 and normalised SHD against the density of random graphs, for three kinds of data."""

from typing import TYPE_CHECKING

import pandas as pd

from kerncause.experiments.base import Cell, Experiment, Scale
from kerncause.experiments.draw import grid
from kerncause.experiments.methods import KERNEL_METHODS
from kerncause.experiments.specs.graphs import DENSITIES, REALISATIONS, against_density, every, on_simulated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("continuous", "mixed", "multidimensional")


def cells(scale: Scale) -> list[Cell]:
    """Return 8 variables, n = 200 and 500; `smoke` has n = 50."""
    smoke = scale == "smoke"
    return every(
        KERNEL_METHODS,
        REALISATIONS[scale],
        rows=(50,) if smoke else (200, 500),
        kind=KINDS,
        density=DENSITIES[:2] if smoke else DENSITIES,
    )


def draw(frame: pd.DataFrame) -> "Figure":
    """Draw F1 above SHD, a column for each kind and number of rows."""
    settings = {
        f"{kind}, n = {rows}": {"kind": kind, "rows": rows} for kind in KINDS for rows in sorted(frame["rows"].unique())
    }
    return grid(frame, against_density(settings), width=1.9)


EXPERIMENT = Experiment("fig2-3", "F1 and SHD on random graphs of three kinds", 1, cells, on_simulated, draw)
