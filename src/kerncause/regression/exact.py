"""Which engine takes over where a projection of the parents' kernel would need too many pivots."""

from kerncause.regression.base import Engine, Parameters, Problem
from kerncause.regression.compressed import CompressedEngine
from kerncause.regression.semidense import SemidenseEngine


def exact_engine(problem: Problem, start: Parameters, tolerance: float) -> Engine:
    """Return the cheapest engine that does not approximate the parents' kernel."""
    if CompressedEngine.cost(problem, start, tolerance) < SemidenseEngine.cost(problem, start, tolerance):
        return CompressedEngine(problem)
    return SemidenseEngine.of(problem, start, tolerance)
