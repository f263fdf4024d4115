"""One change at a time to our settings of the paper's score: kernels, scales, evidence (not in the paper).

What `accuracy-development` tries are combinations. Here every kernel and every scale stands alone, with GES and all
else as it was, on tables that no other experiment draws.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from kerncause.experiments.base import Cell, Experiment, Scale
from kerncause.experiments.draw import Panel, grid
from kerncause.experiments.specs.accuracy import OTHER_KINDS, Grid, learned, table_of
from kerncause.simulate import PAPER_KINDS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Options of the learned score.
CHANGES: Mapping[str, Mapping[str, Any]] = {
    "unchanged": {},
    "kernel matern32": {"kernel": "matern32"},
    "kernel matern52": {"kernel": "matern52"},
    "kernel rational-quadratic": {"kernel": "rational-quadratic"},
    "kernel linear-gaussian": {"kernel": "linear-gaussian"},
    "kernel columns": {"kernel": "columns"},
    "kernel direction": {"kernel": "direction"},
    "kernel auto": {"kernel": "auto"},
    "scaling rank": {"scaling": "rank"},
    "scaling robust": {"scaling": "robust"},
    "scaling power": {"scaling": "power"},
    "response_scaling rank": {"response_scaling": "rank"},
    # Levels have probabilities, so discrete responses must have them too.
    "response_scaling levels": {"response_scaling": "levels", "discrete": "probability", "noise_floor": "entropy"},
    "noise local": {
        "response_scaling": "levels",
        "discrete": "probability",
        "noise_floor": "entropy",
        "noise": "local",
    },
    "categories delta": {"categories": "delta"},
    "discrete probability": {"discrete": "probability", "noise_floor": "entropy"},
    "evidence bic": {"evidence": "bic"},
}
REFERENCE = "unchanged"
# Realisations that no other experiment has.
FIRST_REALISATION, SMOKE = 3000, 3900
VECTORS, NOMINAL = "multidimensional", "nominal"
DISCRETE = ("mixed", "discrete", "sachs", NOMINAL)
# Where a change concerns nothing, the table is not measured again: what is not listed concerns all.
CONCERNED: Mapping[str, tuple[str, ...]] = {
    "kernel columns": (VECTORS,),
    "categories delta": (NOMINAL,),
    "discrete probability": DISCRETE,
}
GRIDS = (
    Grid(PAPER_KINDS, (0.2, 0.6), (200,)),
    Grid(("sachs",), (0.31,), (200,)),
    Grid(OTHER_KINDS, (0.2, 0.5), (200,)),
)


def cells(scale: Scale) -> list[Cell]:
    """Return every change on the tables that it concerns: 2 realisations, or 10; `smoke` has two small ones."""
    if scale == "smoke":
        (setting,) = Grid(("continuous",), (0.2,), (40,)).settings()
        return [Cell.of(change, SMOKE - FIRST_REALISATION, **setting) for change in (REFERENCE, "scaling rank")]
    return [
        Cell.of(change, seed, **setting)
        for seed in range(10 if scale == "full" else 2)
        for part in GRIDS
        for setting in part.settings()
        for change in CHANGES
        if setting["kind"] in CONCERNED.get(change, (setting["kind"],))
    ]


def measure(cell: Cell) -> dict[str, Any]:
    """Learn a graph by GES on one core."""
    data, truth = table_of(replace(cell, seed=FIRST_REALISATION + cell.seed))
    return learned(data, truth, cell.seed, score_options=CHANGES[cell.method], search="ges")


def draw(frame: pd.DataFrame) -> "Figure":
    """Draw skeleton F1 against density, a panel for each kind of simulated table."""
    panels = [
        Panel(kind, {"kind": kind}, "density", "skeleton_f1", "graph density", "skeleton F1")
        for kind in (*PAPER_KINDS, *OTHER_KINDS)
        if kind in set(frame["kind"])
    ]
    return grid(frame, [panels[i : i + 4] for i in range(0, len(panels), 4)], width=2.3)


EXPERIMENT = Experiment(
    "single-changes", "kernels, scales and evidence, one at a time, by GES", 1, cells, measure, draw
)
