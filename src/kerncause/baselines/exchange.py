"""What is asked of the process that learns, and what it answers: plain values that survive a file to the last bit."""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Value = int | float | str
Settings = Mapping[str, Value]

TABLE = "table.npz"
REQUEST = "request.json"
ANSWER = "answer.json"


@dataclass(frozen=True, eq=False)
class Request:
    """A method's name, the (n, p) table it is to learn from, the seed, the value of every setting, and its seconds."""

    method: str
    table: Floats
    seed: int
    settings: Settings
    timeout: float = math.inf

    def write(self, folder: Path) -> None:
        """Put the request into a folder."""
        np.savez(folder / TABLE, table=self.table)
        words = {"method": self.method, "seed": self.seed, "settings": dict(self.settings), "timeout": self.timeout}
        (folder / REQUEST).write_text(json.dumps(words), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Request":
        """Take the request out of a folder."""
        words = json.loads((folder / REQUEST).read_text(encoding="utf-8"))
        with np.load(folder / TABLE, allow_pickle=False) as arrays:
            return cls(words["method"], arrays["table"], words["seed"], words["settings"], words["timeout"])


@dataclass(frozen=True, eq=False)
class Answer:
    """What was learned.

    Attributes:
        weights: one (p, p) matrix per particle, entry (i, j) the weight of i -> j; one particle for most methods.
        log_joints: of each particle, for methods that have them; else empty.
        seconds: how long learning took.
    """

    weights: tuple[Floats, ...]
    log_joints: tuple[float, ...] = ()
    seconds: float = 0.0

    @classmethod
    def of(cls, weights: Iterable[Any], log_joints: Iterable[Any] = ()) -> "Answer":
        """Turn the arrays of any library into plain ones."""
        matrices = tuple(np.array(matrix, dtype=np.float64) for matrix in weights)
        return cls(matrices, tuple(float(value) for value in log_joints))

    def write(self, folder: Path) -> None:
        """Put the answer into a folder, complete or not at all."""
        words = {
            "weights": [matrix.tolist() for matrix in self.weights],
            "log_joints": list(self.log_joints),
            "seconds": self.seconds,
        }
        partial = folder / (ANSWER + ".partial")
        partial.write_text(json.dumps(words), encoding="utf-8")
        partial.replace(folder / ANSWER)

    @classmethod
    def read(cls, folder: Path) -> "Answer | None":
        """Take the answer out of a folder; None where there is none."""
        try:
            words = json.loads((folder / ANSWER).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        matrices = tuple(np.array(matrix, dtype=np.float64) for matrix in words["weights"])
        return cls(matrices, tuple(words["log_joints"]), words["seconds"])
