"""The tables that experiments draw: one realisation of a random model, or a sample of a network.

Realisation k uses the seed FIRST_SEED + k: nothing was tried on these while the methods were written. The random graph
depends on density and realisation alone, so that kinds and numbers of rows are compared on the same graphs.
"""

from kerncause import networks
from kerncause.data import Dataset
from kerncause.experiments.base import Cell
from kerncause.graphs import DAG
from kerncause.simulate import simulate

FIRST_SEED = 640_000
VARIABLES = 8
# Values from 1 to 5 or from 1 to 20, each discrete variable its own.
LEVELS = (5, 20)
DISCRETE_KINDS = ("mixed", "discrete")


def simulated_table(cell: Cell, variables: int = VARIABLES) -> tuple[Dataset, DAG]:
    """Return the table and the true graph for a cell's kind, density, rows and seed, of so many variables."""
    drawn = simulate(
        cell["kind"],
        variables,
        cell["density"],
        cell["rows"],
        FIRST_SEED + cell.seed,
        levels=list(LEVELS) if cell["kind"] in DISCRETE_KINDS else None,
    )
    return drawn.dataset, drawn.dag


def network_table(cell: Cell) -> tuple[Dataset, DAG]:
    """Return a sample and the true graph for a cell's network, rows and seed; states are ordinal, 1..k."""
    network = networks.load(cell["network"])
    frame = network.sample(cell["rows"], seed=FIRST_SEED + cell.seed)
    return Dataset.from_frame(frame, kinds=dict.fromkeys(frame.columns, "ordinal")), network.dag
