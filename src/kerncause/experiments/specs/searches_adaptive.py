"""Which search with an adaptive score: GES, BOSS that chooses parents both ways, and the optimum (not in the paper).

The score is that of `--preset adaptive` as it was when numbers were explained by their ranks. The tables are those of
`searches`, so that scores can be compared as well as searches.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kerncause.experiments.base import Cell, Experiment
from kerncause.experiments.methods import BY_RANKS
from kerncause.experiments.specs.searches import FIRST_REALISATION, cells, draw, measured
from kerncause.experiments.tables import simulated_table

OPTIONS: Mapping[str, Mapping[str, Any]] = {"ges": {}, "boss": {"both_ways": True}, "exact": {}}


def measure(cell: Cell) -> dict[str, Any]:
    """Search once, on one core."""
    table = simulated_table(replace(cell, seed=FIRST_REALISATION + cell.seed))
    return measured(cell.method, *table, score_options=BY_RANKS, **OPTIONS[cell.method])


EXPERIMENT = Experiment(
    "searches-adaptive", "GES, BOSS and the optimum with the adaptive score", 1, cells, measure, draw
)
