"""Which engine takes over where a projection of the parents' kernel would need too many pivots."""

from kerncause.regression.base import Engine, Parameters, Problem
from kerncause.regression.compressed import CompressedEngine
from kerncause.regression.semidense import SemidenseEngine


def exact_engine(problem: Problem, start: Parameters, tolerance: float) -> Engine:
    """Return the cheapest engine that does not approximate the parents' kernel."""
    return _cheaper(problem, start).of(problem, start, tolerance)


def exact_fits(problem: Problem, start: Parameters) -> bool:
    """Tell whether there is memory for that engine."""
    return _cheaper(problem, start).memory(problem, start) <= problem.memory


def _cheaper(problem: Problem, start: Parameters) -> type[CompressedEngine | SemidenseEngine]:
    both: tuple[type[CompressedEngine], type[SemidenseEngine]] = CompressedEngine, SemidenseEngine
    return min(reversed(both), key=lambda engine: engine.cost(problem, start, 0.0))
