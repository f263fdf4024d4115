"""Graphs: immutable, named nodes; equivalence, extension, d-separation; files."""

from kerncause.graphs.adjacency import Adjacency, bits, mask_of
from kerncause.graphs.adjustment import Effects, d_connected
from kerncause.graphs.convert import from_causal_learn, from_networkx, to_causal_learn, to_networkx
from kerncause.graphs.equivalence import completed, consistent_extension, meek_closure
from kerncause.graphs.files import FORMATS, read_graph, write_graph
from kerncause.graphs.members import class_of, extensions, members, narrowest
from kerncause.graphs.named import CPDAG, DAG, PDAG, extend

__all__ = [
    "CPDAG",
    "DAG",
    "FORMATS",
    "PDAG",
    "Adjacency",
    "Effects",
    "bits",
    "class_of",
    "completed",
    "consistent_extension",
    "d_connected",
    "extend",
    "extensions",
    "from_causal_learn",
    "from_networkx",
    "mask_of",
    "meek_closure",
    "members",
    "narrowest",
    "read_graph",
    "to_causal_learn",
    "to_networkx",
    "write_graph",
]
