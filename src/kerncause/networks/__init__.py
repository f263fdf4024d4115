"""Discrete networks with known tables: SACHS and CHILD.

The tables are small JSON files beside this one, each naming its source; states keep the order of the
network file, so that LOW < AVG < HIGH.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files

import numpy as np
import numpy.typing as npt
import pandas as pd

from kerncause.errors import OptionError
from kerncause.graphs import DAG
from kerncause.text import counted, quoted

NAMES = ("sachs", "child")


@dataclass(frozen=True, eq=False)
class DiscreteVariable:
    """One node: its states, its parents, and P(state | parents), one row per combination of parent states.

    The last parent runs fastest over the rows.
    """

    name: str
    states: tuple[str, ...]
    parents: tuple[str, ...]
    table: npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DiscreteNetwork:
    """A Bayesian network over discrete variables."""

    name: str
    source: str
    variables: tuple[DiscreteVariable, ...]

    @cached_property
    def dag(self) -> DAG:
        """The true graph."""
        edges = [(parent, v.name) for v in self.variables for parent in v.parents]
        return DAG([v.name for v in self.variables], edges)

    def sample(self, n: int, seed: int = 0, *, labels: bool = False) -> pd.DataFrame:
        """Draw n independent rows, parents before children.

        States are coded 1..k in their order, as whole numbers, which a Dataset reads as ordinal. `labels=True` gives
        the states' names instead, as ordered categories.
        """
        if n < 1:
            raise OptionError(f"cannot draw {counted(n, 'row')}: ask for at least one")
        generator = np.random.default_rng(seed)
        by_name = {v.name: v for v in self.variables}
        drawn: dict[str, npt.NDArray[np.int64]] = {}
        for name in self.dag.topological_order:
            variable = by_name[name]
            row = np.zeros(n, dtype=np.int64)
            for parent in variable.parents:
                row = row * len(by_name[parent].states) + drawn[parent]
            drawn[name] = _inverse_transform(variable.table, row, generator.random(n))
        if not labels:
            return pd.DataFrame({v.name: drawn[v.name] + 1 for v in self.variables})
        labelled = {
            v.name: pd.Categorical(np.array(v.states)[drawn[v.name]], categories=list(v.states), ordered=True)
            for v in self.variables
        }
        return pd.DataFrame(labelled)

    @property
    def levels(self) -> dict[str, list[str]]:
        """The states of every variable in order, as `levels` of a Dataset wants them."""
        return {v.name: list(v.states) for v in self.variables}


def _inverse_transform(
    table: npt.NDArray[np.float64], row: npt.NDArray[np.int64], uniform: npt.NDArray[np.float64]
) -> npt.NDArray[np.int64]:
    """Draw one state per uniform number; rows of the file sum to 1 only to its printed digits."""
    cumulative = np.cumsum(table, axis=1)
    cumulative /= cumulative[:, -1:]
    states: npt.NDArray[np.int64] = (uniform[:, None] >= cumulative[row, :-1]).sum(axis=1)
    return states


def load(name: str) -> DiscreteNetwork:
    """Return `sachs` (11 variables, 17 edges) or `child` (20 variables, 25 edges)."""
    key = name.lower()
    if key not in NAMES:
        raise OptionError(f"there is no network {quoted(name)}: the choices are {', '.join(NAMES)}")
    content = json.loads(files(__package__).joinpath(f"{key}.json").read_text(encoding="utf-8"))
    variables = tuple(
        DiscreteVariable(v["name"], tuple(v["states"]), tuple(v["parents"]), np.array(v["table"]))
        for v in content["variables"]
    )
    return DiscreteNetwork(content["name"], content["source"], variables)
