"""The appendix: F1 and normalised SHD at n = 1000."""

from typing import TYPE_CHECKING

import pandas as pd

from kerncause.experiments.base import Cell, Experiment, Scale
from kerncause.experiments.draw import grid
from kerncause.experiments.methods import KERNEL_METHODS
from kerncause.experiments.specs.fig2_3 import KINDS
from kerncause.experiments.specs.graphs import DENSITIES, REALISATIONS, against_density, every, on_simulated

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def cells(scale: Scale) -> list[Cell]:
    """Return 8 variables, n = 1000, three kinds; `smoke` has n = 60."""
    smoke = scale == "smoke"
    return every(
        KERNEL_METHODS,
        REALISATIONS[scale],
        rows=(60 if smoke else 1000,),
        kind=KINDS,
        density=DENSITIES[:2] if smoke else DENSITIES,
    )


def draw(frame: pd.DataFrame) -> "Figure":
    """Draw F1 above SHD, a column for each kind."""
    rows = int(frame["rows"].iloc[0])
    return grid(frame, against_density({f"{kind}, n = {rows}": {"kind": kind} for kind in KINDS}))


EXPERIMENT = Experiment("appendix-1000", "F1 and SHD on random graphs at n = 1000", 1, cells, on_simulated, draw)
