"""Which search: GES, BOSS and the optimum, with the same score on the same tables (not in the paper).

8 variables, n = 300, densities 0.3 and 0.6, continuous and mixed; the score is `learned` with our defaults. Measured:
the equivalence class and the best DAG of each search, the total of that DAG, and processor time; the optimum also tells
what pruning would have cost it.
"""

import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from time import process_time
from typing import TYPE_CHECKING, Any

import pandas as pd

from kerncause.data import Dataset
from kerncause.errors import DataWarning
from kerncause.experiments.base import Cell, Experiment, Scale
from kerncause.experiments.draw import Panel, grid
from kerncause.experiments.methods import nearness
from kerncause.experiments.specs.graphs import every
from kerncause.experiments.tables import simulated_table
from kerncause.graphs import DAG
from kerncause.linalg import one_blas_thread
from kerncause.scores import Ledger, make_score
from kerncause.search import Outcome, boss, exact, ges

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SEARCHES: Mapping[str, Callable[..., Outcome]] = {"ges": ges, "boss": boss, "exact": exact}
# Realisations that no other experiment has.
FIRST_REALISATION = 1000
PRUNES = (0.0, 1.0, 3.0, 10.0)
# How many parents a set may have that pruning never leaves out, and how the figures of that are called.
LOOKAHEADS = {1: "", 2: "_pairs"}


def cells(scale: Scale) -> list[Cell]:
    """Return 13 realisations of each setting at `full`, 5 at `small`; `smoke` is one of 40 rows without the optimum."""
    if scale == "smoke":
        return every(("ges", "boss"), 1, rows=(40,), kind=("continuous",), density=(0.3,))
    kinds, densities = ("continuous", "mixed"), (0.3, 0.6)
    return every(tuple(SEARCHES), 13 if scale == "full" else 5, rows=(300,), kind=kinds, density=densities)


def measure(cell: Cell) -> dict[str, Any]:
    """Search once, on one core."""
    return measured(cell.method, *simulated_table(replace(cell, seed=FIRST_REALISATION + cell.seed)))


def measured(
    search: str,
    data: Dataset,
    truth: DAG,
    max_parents: int | None = None,
    score_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Return how near a search came to the truth and what it took; of the optimum also what pruning would cost."""
    with warnings.catch_warnings(), one_blas_thread():
        warnings.simplefilter("ignore", DataWarning)
        ledger = Ledger(make_score("learned", data, **(score_options or {})))
        begun = process_time()
        outcome = SEARCHES[search](ledger, max_parents=max_parents, **options)
        seconds, scores = process_time() - begun, ledger.computed
        found = {
            **nearness(truth, outcome.graph),
            **{f"best_{name}": value for name, value in nearness(truth, outcome.dag).items() if "dag_arrows" in name},
            "search_seconds": seconds,
            "scores": scores,
            "total": _total(ledger, outcome.dag),
            "total_of_truth": _total(ledger, truth),
        }
        return {**found, **(_pruned(ledger, outcome.dag, max_parents) if search == "exact" else {})}


def _total(ledger: Ledger, dag: DAG) -> float:
    return sum(ledger.fit(name, dag.parents(name)).value for name in dag.nodes)


@dataclass(eq=False)
class _Asked:
    """A score that only looks up, and counts what it is asked for."""

    ledger: Ledger
    sets: set[tuple[str, frozenset[str]]] = field(default_factory=set)

    @property
    def variables(self) -> tuple[str, ...]:
        return self.ledger.variables

    def local_score(self, target: str, parents: Collection[str]) -> float:
        self.sets.add((target, frozenset(parents)))
        return self.ledger.rough_fit(target, parents).value


def _pruned(ledger: Ledger, best: DAG, max_parents: int | None) -> dict[str, float]:
    """Return how many sets the search would have scored with pruning, and how many nats it would have lost."""
    found = {}
    for (lookahead, name), prune in product(LOOKAHEADS.items(), PRUNES):
        asked = _Asked(ledger)
        dag = exact(asked, prune=prune, lookahead=lookahead, max_parents=max_parents).dag
        found[f"scores_prune_{prune:g}{name}"] = float(len(asked.sets))
        found[f"lost_prune_{prune:g}{name}"] = _total(ledger, best) - _total(ledger, dag)
    return found


def draw(frame: pd.DataFrame) -> "Figure":
    """Draw F1 of the skeleton and of the best DAG's arrows, and SHD, against density."""
    figures = {"skeleton_f1": "skeleton F1", "best_dag_arrows_f1": "arrows of the best DAG, F1", "shd": "SHD"}
    panels = [
        [
            Panel(f"{kind}: {label}", {"kind": kind}, "density", name, "graph density", label)
            for name, label in figures.items()
        ]
        for kind in sorted(set(frame["kind"]))
    ]
    return grid(frame, panels, width=2.6)


EXPERIMENT = Experiment("searches", "GES, BOSS and the optimum with one score", 1, cells, measure, draw)
