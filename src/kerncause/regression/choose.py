"""Which engine computes one local score: a registry, and a choice by estimated cost."""

from collections.abc import Mapping
from typing import Protocol

from kerncause.errors import ComputationError, OptionError
from kerncause.regression.base import Engine, Parameters, Problem
from kerncause.regression.broad import BroadEngine
from kerncause.regression.compressed import CompressedEngine
from kerncause.regression.dense import DenseEngine
from kerncause.regression.line import LineEngine
from kerncause.regression.lowrank import LowRankEngine
from kerncause.regression.semidense import SemidenseEngine
from kerncause.text import quoted, said_bytes


class EngineType(Protocol):
    """An engine's class: what it would cost, and how to build it for use near some parameters."""

    def of(self, problem: Problem, start: Parameters, tolerance: float) -> Engine:
        """Build the engine for one problem."""
        ...

    def for_certificate(self, problem: Problem, start: Parameters, tolerance: float) -> Engine:
        """Build the engine for nothing but its certificate at `start`."""
        ...

    @property
    def least_cost(self) -> float:
        """What an evaluation costs whatever the problem: not to be estimated where another costs less."""
        ...

    def cost(self, problem: Problem, start: Parameters, tolerance: float) -> float:
        """Floating-point operations of one evaluation, roughly."""
        ...

    def memory(self, problem: Problem, start: Parameters) -> float:
        """Bytes held at the peak of one evaluation."""
        ...


# Those that are cheap to estimate first.
ENGINES: Mapping[str, EngineType] = {
    "compressed": CompressedEngine,
    "dense": DenseEngine,
    "semidense": SemidenseEngine,
    "line": LineEngine,
    "lowrank": LowRankEngine,
    "broad": BroadEngine,
}


def check_engine(name: str) -> str:
    """Return the name of an engine or `auto`; refuse others."""
    if name != "auto" and name not in ENGINES:
        raise OptionError(f"there is no engine {quoted(name)}: the choices are auto, {', '.join(ENGINES)}")
    return name


def choose_engine(problem: Problem, name: str, start: Parameters, tolerance: float) -> str:
    """Return the name of the engine asked for; `auto` is the cheapest near `start`."""
    return _cheapest(problem, start, tolerance) if name == "auto" else name


def make_engine(problem: Problem, name: str, start: Parameters, tolerance: float) -> Engine:
    """Build the engine asked for, for use near `start`."""
    chosen = choose_engine(problem, name, start, tolerance)
    memory = ENGINES[chosen].memory(problem, start)
    if memory > problem.memory:
        raise ComputationError(
            f"{problem.n:,} rows with {len(problem.response.distinct):,} different values are too many for the "
            f"{chosen} engine ({said_bytes(memory)} for one score): draw a sample of at most "
            f"{int(problem.n * (problem.memory / memory) ** 0.5):,} rows, or round the values to fewer levels"
        )
    return ENGINES[chosen].of(problem, start, tolerance)


def certified_value(problem: Problem, name: str, at: Parameters, tolerance: float) -> tuple[float, float]:
    """Return the best estimate of L that the engine of that name has, and how far off it may be."""
    return ENGINES[name].for_certificate(problem, at, tolerance).certified(at)


def _cheapest(problem: Problem, start: Parameters, tolerance: float) -> str:
    best, least = "", float("inf")
    for name, engine in ENGINES.items():
        if engine.least_cost >= least or engine.memory(problem, start) > problem.memory:
            continue
        cost = engine.cost(problem, start, tolerance)
        if cost < least:
            best, least = name, cost
    return best
