"""Figure 4, d: seconds for a whole graph against the number of rows, on the dense engine as the paper and on ours."""

from time import process_time
from typing import TYPE_CHECKING, Any

import pandas as pd

from kerncause.discover import discover
from kerncause.experiments.base import Cell, Experiment, Scale
from kerncause.experiments.draw import Panel, grid
from kerncause.experiments.methods import METHODS, nearness
from kerncause.experiments.specs.graphs import every
from kerncause.experiments.tables import simulated_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OURS = ("marginal", "learned")
DENSE = ("marginal, dense", "learned, dense")


def cells(scale: Scale) -> list[Cell]:
    """Return 8 continuous variables, density 0.5; 3 realisations at `small` and 5 at `full`, one at a time.

    The dense engine goes to n = 500 at `small` and to 1000 at `full`, ours to 2000.
    """
    realisations = {"smoke": 1, "small": 3, "full": 5}[scale]
    ours = {"smoke": (50, 100), "small": (100, 200, 500, 1000, 2000), "full": (100, 200, 500, 1000, 2000)}[scale]
    dense = {"smoke": (50,), "small": (100, 200, 500), "full": (100, 200, 500, 1000)}[scale]
    both = [*every(OURS, realisations, rows=ours), *every(DENSE, realisations, rows=dense)]
    return sorted(both, key=lambda cell: (cell.seed, cell["rows"] * (10 if cell.method in DENSE else 1)))


def measure(cell: Cell) -> dict[str, Any]:
    """Learn a graph on one core; the seconds are those of the processor, whatever else the machine is doing."""
    name, *engine = cell.method.split(", ")
    data, truth = simulated_table(Cell.of(name, cell.seed, kind="continuous", density=0.5, rows=cell["rows"]))
    options: dict[str, Any] = {"score_options": {"engine": engine[0]}} if engine else {}
    begun = process_time()
    result = discover(data, workers=1, **METHODS[name], **options)
    return {
        "search_seconds": process_time() - begun,
        "scores": result.scores_computed,
        "skeleton_f1": nearness(truth, result.graph)["skeleton_f1"],
    }


def draw(frame: pd.DataFrame) -> "Figure":
    """Draw seconds against rows, both on logarithmic axes."""
    panel = Panel("whole graph, 8 variables", {}, "rows", "search_seconds", "sample size", "processor seconds", "xy")
    return grid(frame, [[panel]], width=4.2, height=2.6)


EXPERIMENT = Experiment(
    "fig4-time", "seconds for a whole graph against sample size", 1, cells, measure, draw, alone=True
)
