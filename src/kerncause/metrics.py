"""How near a found graph is to a true one."""

from dataclasses import dataclass

from kerncause.errors import GraphError
from kerncause.graphs import PDAG
from kerncause.text import listed


@dataclass(frozen=True)
class Accuracy:
    """Precision, recall and their harmonic mean; 1 where both graphs are empty."""

    precision: float
    recall: float
    f1: float


def skeleton_accuracy(truth: PDAG, found: PDAG) -> Accuracy:
    """Compare which pairs are joined, whatever the direction."""
    if set(truth.nodes) != set(found.nodes):
        raise GraphError(f"the graphs differ in the nodes {listed(sorted({*truth.nodes} ^ {*found.nodes}))}")
    hits = len(truth.skeleton & found.skeleton)
    precision = hits / len(found.skeleton) if found.skeleton else 1.0
    recall = hits / len(truth.skeleton) if truth.skeleton else 1.0
    total = len(truth.skeleton) + len(found.skeleton)
    return Accuracy(precision, recall, 2 * hits / total if total else 1.0)
