"""Graphs: immutable, named nodes; equivalence, extension, d-separation."""

from kerncause.graphs.adjacency import Adjacency, bits, mask_of
from kerncause.graphs.equivalence import completed, consistent_extension, meek_closure
from kerncause.graphs.named import CPDAG, DAG, PDAG, extend

__all__ = [
    "CPDAG",
    "DAG",
    "PDAG",
    "Adjacency",
    "bits",
    "completed",
    "consistent_extension",
    "extend",
    "mask_of",
    "meek_closure",
]
