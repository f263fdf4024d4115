"""Random graphs with an exact number of edges."""

import numpy as np

from kerncause.graphs import DAG
from kerncause.graphs.adjacency import Adjacency
from kerncause.simulate.functions import Ints, shuffled


def edge_count(variables: int, density: float) -> int:
    """Return round(density * p (p - 1) / 2), a half going to the even side as Python rounds."""
    return round(density * (variables * (variables - 1) // 2))


def random_dag(generator: np.random.Generator, variables: int, density: float, isolated: int = 0) -> tuple[DAG, Ints]:
    """Return a DAG over x1..xp, and an order of its nodes with causes first.

    The `isolated` last of the order have no edge, the others exactly `edge_count` of them. Every order is equally
    likely, and given the order so is every set of that many edges: names tell nothing.
    """
    order = shuffled(generator, variables)
    joined = variables - isolated
    earlier, later = np.triu_indices(joined, k=1)
    chosen = shuffled(generator, len(earlier))[: edge_count(joined, density)]
    arcs = zip(order[earlier[chosen]].tolist(), order[later[chosen]].tolist(), strict=True)
    nodes = [f"x{i}" for i in range(1, variables + 1)]
    return DAG.of(nodes, Adjacency.of(variables, arcs)), order
