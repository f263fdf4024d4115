"""One bandwidth for all parents, as the paper writes, or one for each, as its program has it; and our defaults.

Our defaults differ from the second in the search alone: a second start, and deletions only where both directions agree.
"""

from typing import TYPE_CHECKING

import pandas as pd

from kerncause.experiments.base import Cell, Experiment, Scale
from kerncause.experiments.draw import grid
from kerncause.experiments.specs.graphs import DENSITIES, REALISATIONS, against_density, every, on_simulated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KINDS = ("continuous", "mixed")
METHODS = ("learned", "learned, per parent", "learned, our defaults")


def cells(scale: Scale) -> list[Cell]:
    """Return 8 variables, n = 200, two kinds; `smoke` has n = 50."""
    smoke = scale == "smoke"
    return every(
        METHODS,
        REALISATIONS[scale],
        rows=(50 if smoke else 200,),
        kind=KINDS,
        density=DENSITIES[:2] if smoke else DENSITIES,
    )


def draw(frame: pd.DataFrame) -> "Figure":
    """Draw F1 above SHD, a column for each kind."""
    return grid(frame, against_density({f"{kind}, n = {frame['rows'].iloc[0]}": {"kind": kind} for kind in KINDS}))


EXPERIMENT = Experiment("bandwidths", "one bandwidth for all parents or one each", 1, cells, on_simulated, draw)
