"""Causal graphs from tables, scored by Gaussian processes in kernel space with learned bandwidths.

>>> import kerncause
>>> sample = kerncause.networks.load("sachs").sample(200, seed=1)
>>> result = kerncause.discover(sample, max_parents=2)
>>> result.edges.columns.tolist()
['source', 'target', 'directed', 'gain', 'bandwidth', 'preference', 'probability']
"""

from kerncause import metrics, networks
from kerncause.data import Dataset, Kind, Variable, read_table
from kerncause.directions import Direction, direction
from kerncause.discover import discover
from kerncause.errors import (
    ComputationError,
    DataError,
    DataWarning,
    GraphError,
    KerncauseError,
    OptionError,
    WorkerWarning,
)
from kerncause.graphs import CPDAG, DAG, PDAG, read_graph, write_graph
from kerncause.independence import IndependenceTest, make_test
from kerncause.knowledge import Knowledge, read_knowledge
from kerncause.metrics import compare
from kerncause.result import Result
from kerncause.saved import load_result
from kerncause.scores import LearnedKernelScore, LocalFit, LocalScore, ScoreParameters, make_score
from kerncause.search import boss, exact, ges, pc
from kerncause.simulate import Simulation, simulate
from kerncause.version import __version__
from kerncause.watch import Status

__all__ = [
    "CPDAG",
    "DAG",
    "PDAG",
    "ComputationError",
    "DataError",
    "DataWarning",
    "Dataset",
    "Direction",
    "GraphError",
    "IndependenceTest",
    "KerncauseError",
    "Kind",
    "Knowledge",
    "LearnedKernelScore",
    "LocalFit",
    "LocalScore",
    "OptionError",
    "Result",
    "ScoreParameters",
    "Simulation",
    "Status",
    "Variable",
    "WorkerWarning",
    "__version__",
    "boss",
    "compare",
    "direction",
    "discover",
    "exact",
    "ges",
    "load_result",
    "make_score",
    "make_test",
    "metrics",
    "networks",
    "pc",
    "read_graph",
    "read_knowledge",
    "read_table",
    "simulate",
    "write_graph",
]
