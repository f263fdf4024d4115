"""How near to the truth variants come, and what they cost (not in the paper): development data and a test set.

The protocol is written down in experiments/protocol.md: variants are tried and chosen on the realisations of
`accuracy-development`; those of `accuracy-test` are for reporting what was chosen. Both have the same settings.

Variants come and go, so they are not part of what a version freezes: a new one adds cells and changes no other. The
name of a variant keeps its meaning.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import process_time
from typing import TYPE_CHECKING, Any

import pandas as pd

from kerncause.data import Dataset
from kerncause.discover import discover
from kerncause.errors import DataWarning
from kerncause.experiments.base import Cell, Experiment, Scale, Value
from kerncause.experiments.draw import Panel, grid
from kerncause.experiments.methods import BY_LEVELS, BY_RANKS, METHODS, nearness
from kerncause.experiments.others import OTHERS
from kerncause.experiments.specs.graphs import DENSITIES
from kerncause.experiments.tables import FIRST_SEED, VARIABLES, network_table, simulated_table
from kerncause.graphs import DAG
from kerncause.result import Result
from kerncause.simulate import KINDS, PAPER_KINDS, simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Those of the preset as it was.
CLOSELY: Mapping[str, Any] = {"score": "learned", "score_options": BY_RANKS}
LOOSELY: Mapping[str, Any] = {"score": "learned", "score_options": {**BY_RANKS, "tolerance": 0.3}}
# Keyword arguments of `discover`.
VARIANTS: Mapping[str, Mapping[str, Any]] = {
    "paper": METHODS["learned"],
    "default": {"score": "learned"},
    "boss": {"search": "boss"},
    "exact": {"search": "exact"},
    "marginal": METHODS["marginal"],
    "cv": METHODS["cv"],
    "pc-kci": METHODS["pc-kci"],
    "bic": {"score": "bic"},
    "bic-boss": {"score": "bic", "search": "boss"},
    "adaptive": {"search": "ges", **CLOSELY},
    "adaptive-boss": {"search": "boss", "lookahead": 2, **CLOSELY},
    "adaptive-exact": {"search": "exact", **CLOSELY},
    "adaptive-sized": {"search": "exact", "prune": 3.0, "lookahead": 2, **LOOSELY},
    "adaptive-levels": {
        "search": "exact",
        "prune": 3.0,
        "lookahead": 3,
        "score": "learned",
        "score_options": BY_LEVELS,
    },
    "adaptive-kinds": {"preset": "adaptive", "search": "exact", "prune": 3.0, "lookahead": 3},
    "adaptive-optimum": {"preset": "adaptive"},  # the search that suits the number of variables
}
REFERENCE = "paper"
EVERY = (*VARIANTS, *OTHERS)

# Realisations that no other experiment has. `smoke` has one that is neither looked at nor reported.
FIRST_DEVELOPMENT, FIRST_TEST, SMOKE = 2000, 7000, 1900
# From here up to the test set: realisations that were the test set once (experiments/protocol.md).
FIRST_SPENT = 5000
SMALL_REALISATIONS = 2

NETWORKS: Mapping[str, float] = {"sachs": 0.31, "child": 0.13}  # with their densities
ISOLATED = "isolated"  # continuous, half of the variables without an edge
ISOLATED_VARIABLES = 4
OTHER_KINDS = (*(kind for kind in KINDS if kind not in PAPER_KINDS), ISOLATED)
# The optimum needs p 2^(p-1) scores: SACHS can be had with a limit on parents, CHILD not at all.
MOST_PARENTS_OF_EXACT = {"sachs": 4}
TOO_LARGE_FOR_EXACT = ("child",)
# The search that a variant takes instead.
SEARCH_INSTEAD: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    name: {"sachs": {"search": "boss", "lookahead": 2}, "child": {"search": "ges"}}
    for name in ("adaptive-levels", "adaptive-kinds")
}
OF_SCORE = ("score", "score_options", "preset")
# BIC has no model of categories without order; the programs of others none of vectors either.
TOO_STRANGE_FOR_BIC = ("nominal",)
TOO_STRANGE_FOR_OTHERS = ("nominal", "multidimensional")
PANELS_BESIDE = 4


@dataclass(frozen=True)
class Grid:
    """Every combination of kinds, densities and numbers of rows."""

    kinds: Sequence[str]
    densities: Sequence[float]
    rows: Sequence[int]

    def settings(self) -> Iterator[Mapping[str, Value]]:
        """Return the combinations."""
        for kind in self.kinds:
            for density in self.densities:
                for rows in self.rows:
                    yield {"kind": kind, "density": density, "rows": rows}


SMALL = (
    Grid(PAPER_KINDS, (0.2, 0.6), (200,)),
    *(Grid((name,), (density,), (200,)) for name, density in NETWORKS.items()),
    Grid(OTHER_KINDS, (0.2, 0.5), (200,)),
)
FULL = (
    Grid(PAPER_KINDS, DENSITIES, (100, 200, 500, 1000)),
    *(Grid((name,), (density,), (200, 500, 1000, 2000)) for name, density in NETWORKS.items()),
    Grid(OTHER_KINDS, (0.2, 0.5), (200, 500)),
)


def cells(scale: Scale, first: int, realisations: int) -> list[Cell]:
    """Return the cells of every variant, on realisations `first`, `first` + 1, ..., one after the other.

    `full` has all settings and realisations; `small` n = 200, two densities and two realisations; `smoke` 40 rows.
    """
    if scale == "smoke":
        grids: Sequence[Grid] = (Grid(("continuous", "nominal"), (0.2,), (40,)),)
        return _listed(grids, (SMOKE,), ("paper", "bic"))
    if scale == "small":
        return _listed(SMALL, range(first, first + SMALL_REALISATIONS), EVERY)
    return _listed(FULL, range(first, first + realisations), EVERY)


def _listed(grids: Sequence[Grid], seeds: Sequence[int], variants: Sequence[str]) -> list[Cell]:
    return [
        Cell.of(variant, seed, **setting)
        for seed in seeds
        for grid in grids
        for setting in grid.settings()
        for variant in variants
        if _can_take(variant, str(setting["kind"]))
    ]


def _can_take(variant: str, kind: str) -> bool:
    if variant in OTHERS:
        return kind not in TOO_STRANGE_FOR_OTHERS
    too_large = _is_exact(variant) and kind in TOO_LARGE_FOR_EXACT and variant not in SEARCH_INSTEAD
    return not too_large and not (VARIANTS[variant].get("score") == "bic" and kind in TOO_STRANGE_FOR_BIC)


def _is_exact(variant: str) -> bool:
    return VARIANTS[variant].get("search") == "exact"


def options_of(cell: Cell) -> dict[str, Any]:
    """Return the keyword arguments of `discover` for a cell."""
    instead = SEARCH_INSTEAD.get(cell.method, {}).get(cell["kind"])
    if instead is not None:
        return {name: asked for name, asked in VARIANTS[cell.method].items() if name in OF_SCORE} | dict(instead)
    limited = _is_exact(cell.method) and cell["kind"] in MOST_PARENTS_OF_EXACT
    return {
        **VARIANTS[cell.method],
        **({"max_parents": MOST_PARENTS_OF_EXACT[cell["kind"]]} if limited else {}),
    }


def table_of(cell: Cell) -> tuple[Dataset, DAG]:
    """Return the table and the true graph of a cell."""
    if cell["kind"] in NETWORKS:
        return network_table(Cell.of(cell.method, cell.seed, network=cell["kind"], rows=cell["rows"]))
    if cell["kind"] != ISOLATED:
        return simulated_table(cell)
    seed = FIRST_SEED + cell.seed
    drawn = simulate("continuous", VARIABLES, cell["density"], cell["rows"], seed, isolated=ISOLATED_VARIABLES)
    return drawn.dataset, drawn.dag


def measure(cell: Cell) -> dict[str, Any]:
    """Learn a graph on one core."""
    data, truth = table_of(cell)
    if cell.method not in OTHERS:
        return learned(data, truth, cell.seed, **options_of(cell))
    begun = process_time()
    found = OTHERS[cell.method](data, cell.seed)
    return {"search_seconds": process_time() - begun, **nearness(truth, found)}


def learned(data: Dataset, truth: DAG, seed: int, **options: Any) -> dict[str, Any]:
    """Return how near a graph is to the truth; the seconds are the processor's, whatever else the machine is doing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        begun = process_time()
        result = discover(data, seed=seed, workers=1, **options)
        seconds = process_time() - begun
        best = {f"best_{name}": value for name, value in nearness(truth, result.dag).items() if "dag_arrows" in name}
        return {
            **nearness(truth, result.graph),
            **best,
            "search_seconds": seconds,
            "scores": result.scores_computed,
            **_totals(result, truth),
        }


def _totals(result: Result, truth: DAG) -> dict[str, float]:
    """Return the score of the graph found and of the truth: if the truth's is higher, it is the search that missed."""
    if result.ledger is None:
        return {}
    ledger = result.ledger
    return {
        name: sum(ledger.fit(node, dag.parents(node)).value for node in dag.nodes)
        for name, dag in (("total", result.dag), ("total_of_truth", truth))
    }


def draw(frame: pd.DataFrame) -> "Figure":
    """Draw skeleton F1 against density, a panel for each kind and number of rows; of networks against rows."""
    there = frame[["kind", "rows"]].drop_duplicates()
    panels = [
        Panel(f"{kind}, n = {n}", {"kind": kind, "rows": n}, "density", "skeleton_f1", "graph density", "skeleton F1")
        for kind in (*PAPER_KINDS, *OTHER_KINDS)
        for n in sorted(there[there["kind"] == kind]["rows"])
    ] + [
        Panel(name.upper(), {"kind": name}, "rows", "skeleton_f1", "sample size", "skeleton F1", "x")
        for name in NETWORKS
        if name in set(there["kind"])
    ]
    lines = [panels[i : i + PANELS_BESIDE] for i in range(0, len(panels), PANELS_BESIDE)]
    return grid(frame, lines, width=2.3)


def _experiment(name: str, title: str, version: int, first: int, realisations: int) -> Experiment:
    return Experiment(name, title, version, lambda scale: cells(scale, first, realisations), measure, draw)


DEVELOPMENT = _experiment("accuracy-development", "variants on data that may be looked at", 1, FIRST_DEVELOPMENT, 5)
TEST = _experiment("accuracy-test", "variants on the test set, to report and not to choose", 3, FIRST_TEST, 20)
