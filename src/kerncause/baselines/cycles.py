"""From a matrix of weights to a graph without cycles.

The methods push a smooth measure of cyclicity towards zero, and stop before it is zero: after the threshold a cycle
can be left. It is broken where that changes the graph least by the method's own measure, at its weakest edge.
"""

import networkx as nx
import numpy as np

from kerncause.baselines.exchange import Floats


def thresholded(weights: Floats, threshold: float) -> Floats:
    """Return the (p, p) weights with w_ij = 0 where |w_ij| < threshold, and on the diagonal."""
    kept = np.where(np.abs(weights) < threshold, 0.0, weights)
    np.fill_diagonal(kept, 0.0)
    return kept


def without_cycles(weights: Floats) -> Floats:
    """Return the (p, p) weights with the weakest edge of every cycle set to zero.

    Edges are visited from the weakest |w_ij| to the strongest, ties by (i, j), and i -> j goes if a path leads from
    j back to i. Nothing cyclic is left: the weakest edge of a cycle was visited when the rest of it was still there.
    A matrix without cycles comes back as it is. The diagonal must be zero.
    """
    kept = weights.copy()
    graph: nx.DiGraph[int] = nx.DiGraph()
    edges = [(int(i), int(j)) for i, j in np.argwhere(weights != 0.0)]
    graph.add_edges_from(edges)
    for i, j in sorted(edges, key=lambda edge: (abs(float(weights[edge])), edge)):
        if nx.has_path(graph, j, i):
            graph.remove_edge(i, j)
            kept[i, j] = 0.0
    return kept
