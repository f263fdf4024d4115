"""Which engine computes one local score: a registry, and a choice by estimated cost."""

from collections.abc import Mapping
from typing import Protocol

from kerncause.errors import ComputationError, OptionError
from kerncause.regression.base import Engine, Problem
from kerncause.regression.compressed import CompressedEngine
from kerncause.regression.dense import DenseEngine
from kerncause.text import quoted

MOST_MEMORY = 4 * 2**30


class EngineType(Protocol):
    """An engine's class: what it would cost, and how to build it."""

    def __call__(self, problem: Problem) -> Engine:
        """Build the engine for one problem."""
        ...

    def cost(self, problem: Problem) -> float:
        """Floating-point operations of one evaluation, roughly."""
        ...

    def memory(self, problem: Problem) -> float:
        """Bytes held at the peak of one evaluation."""
        ...


ENGINES: Mapping[str, EngineType] = {"dense": DenseEngine, "compressed": CompressedEngine}


def check_engine(name: str) -> str:
    """Return the name of an engine or `auto`; refuse others."""
    if name != "auto" and name not in ENGINES:
        raise OptionError(f"there is no engine {quoted(name)}: the choices are auto, {', '.join(ENGINES)}")
    return name


def make_engine(problem: Problem, name: str = "auto") -> Engine:
    """Build the engine asked for; `auto` is the cheapest."""
    chosen = min(ENGINES, key=lambda other: ENGINES[other].cost(problem)) if name == "auto" else name
    memory = ENGINES[chosen].memory(problem)
    if memory > MOST_MEMORY:
        raise ComputationError(
            f"{problem.n:,} rows with {len(problem.response.distinct):,} different values are too many for the "
            f"{chosen} engine ({memory / 2**30:.0f} GiB for one score): draw a sample of at most "
            f"{int(problem.n * (MOST_MEMORY / memory) ** 0.5):,} rows, or round the values to fewer levels"
        )
    return ENGINES[chosen](problem)
