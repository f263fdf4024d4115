"""Claim 8: the gain of a true parent grows with n, and that of an independent one stays negative.

Y = g(f(X) + e) is a random relation of the paper's kind and Z an independent variable, N(0, 1) or U(-1, 1).
"""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from kerncause.data import Dataset
from kerncause.experiments.base import Cell, Experiment, Scale
from kerncause.experiments.draw import Panel, grid
from kerncause.experiments.specs.graphs import every
from kerncause.experiments.tables import FIRST_SEED
from kerncause.scores import make_score
from kerncause.simulate import simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

METHODS = ("learned", "marginal", "cv", "gp")
ROWS = (50, 100, 200, 500, 1000, 2000, 5000)
OPTIONS: dict[str, dict[str, Any]] = {
    name: {} if name == "cv" else {"bandwidths": "shared", "starts": 1} for name in METHODS
}


def cells(scale: Scale) -> list[Cell]:
    """Return n = 50 to 5000, 20 relations at `small` and 100 at `full`; `smoke` has n = 50 and 100."""
    realisations = {"smoke": 2, "small": 20, "full": 100}[scale]
    return every(METHODS, realisations, rows=ROWS[:2] if scale == "smoke" else ROWS)


def measure(cell: Cell) -> dict[str, Any]:
    """Return the gains of x, of z beside x, and of z alone, as parents of y."""
    drawn = simulate("continuous", 2, 1.0, cell["rows"], FIRST_SEED + cell.seed)
    ((x, y),) = drawn.dag.edges
    rng = np.random.default_rng([FIRST_SEED, cell.seed, cell["rows"]])
    z = rng.normal(size=cell["rows"]) if cell.seed % 2 else rng.uniform(-1.0, 1.0, cell["rows"])
    frame = pd.DataFrame({"x": drawn.frame[x], "y": drawn.frame[y], "z": z})
    data = Dataset.from_frame(frame, kinds=dict.fromkeys(frame.columns, "continuous"))
    score = make_score(cell.method, data, **OPTIONS[cell.method])
    nothing, true = score.local_score("y", []), score.local_score("y", ["x"])
    return {
        "true_gain": true - nothing,
        "independent_gain": score.local_score("y", ["x", "z"]) - true,
        "independent_gain_alone": score.local_score("y", ["z"]) - nothing,
    }


def draw(frame: pd.DataFrame) -> "Figure":
    """Draw the two gains against n, and how often the independent parent would be added."""
    frame = frame.assign(added=(frame["independent_gain"] > 0).astype(float))
    panels = [
        Panel("true parent", {}, "rows", "true_gain", "sample size", "gain", "xy"),
        Panel("independent parent", {}, "rows", "independent_gain", "sample size", "gain beside the true one", "x"),
        Panel("independent parent", {}, "rows", "added", "sample size", "share of tables where it gains", "x"),
    ]
    return grid(frame, [panels], width=3.1, height=2.4)


EXPERIMENT = Experiment("consistency", "gains of true and independent parents against n", 1, cells, measure, draw)
