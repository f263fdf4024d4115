"""A simulated table together with everything that made it, and its files."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from kerncause.data import Dataset
from kerncause.errors import OptionError
from kerncause.graphs import DAG
from kerncause.result import writable
from kerncause.simulate.choice import Choice
from kerncause.simulate.functions import Floats
from kerncause.simulate.mechanism import Mechanism
from kerncause.simulate.settings import Settings
from kerncause.text import counted, quoted

SIMULATION_FILES = ("data.csv", "truth.json")


@dataclass(frozen=True, eq=False)
class Simulation:
    """A table drawn from a random causal model.

    Attributes:
        frame: the table. A variable of one column is called x3, the columns of a vector x3_1, x3_2, ...
        dag: the true graph over x1..xp.
        mechanisms: what was drawn for each variable.
        settings: what was asked for.
        noise: for each variable e, (n, l); for a root the numbers it was drawn as; for categories (n, levels).
        latent: for each variable its numbers before discretising, (n, l); for categories the numbers of their levels.
            Its children follow from these.
    """

    frame: pd.DataFrame
    dag: DAG
    mechanisms: Mapping[str, Mechanism | Choice]
    settings: Settings
    noise: Mapping[str, Floats]
    latent: Mapping[str, Floats]

    @property
    def groups(self) -> dict[str, list[str]]:
        """The columns of every vector variable, as `Dataset.from_frame` wants them."""
        return {m.name: list(m.columns) for m in self.mechanisms.values() if len(m.columns) > 1}

    @property
    def kinds(self) -> dict[str, str]:
        """The kind of every column, as `Dataset.from_frame` wants them."""
        return {column: m.kind for m in self.mechanisms.values() for column in m.columns}

    @cached_property
    def dataset(self) -> Dataset:
        """The table as scores and searches take it."""
        return Dataset.from_frame(self.frame, kinds=self.kinds, groups=self.groups)

    def truth(self) -> dict[str, Any]:
        """Return what `truth.json` holds; nodes and edges are spelt as in the `graph.json` of a result."""
        return {
            "nodes": list(self.dag.nodes),
            "edges": [{"source": a, "target": b, "directed": True} for a, b in self.dag.edges],
            "kinds": self.kinds,
            "groups": self.groups,
            "mechanisms": {name: asdict(m) | {"formula": str(m)} for name, m in self.mechanisms.items()},
            "settings": self.settings.as_json(),
            "seed": self.settings.seed,
        }

    def to_csv(self) -> str:
        """Return the table as text: the same settings give the same characters."""
        return self.frame.to_csv(index=False, lineterminator="\n")

    def save(self, directory: str | Path) -> Path:
        """Write `data.csv` and `truth.json`, all or none; return the directory."""
        directory = Path(directory)
        truth = json.dumps(self.truth(), indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        contents = dict(zip(SIMULATION_FILES, (self.to_csv(), truth), strict=True))
        with writable(directory) as scratch:
            for name, text in contents.items():
                if (directory / name).is_dir():
                    raise OptionError(
                        f"{name} in {quoted(directory)} is a directory: choose another place for the table"
                    )
                (scratch / name).write_bytes(text.encode("utf-8"))
            directory.mkdir(parents=True, exist_ok=True)
            for name in contents:
                (scratch / name).replace(directory / name)
        return directory

    def __repr__(self) -> str:
        return (
            f"Simulation({self.settings.kind}, {counted(len(self.frame), 'row')}, "
            f"{counted(len(self.dag.nodes), 'variable')}, {counted(len(self.dag.edges), 'edge')}, "
            f"seed {self.settings.seed})"
        )
