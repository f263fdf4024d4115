"""Causal graphs from tables, scored by Gaussian processes in kernel space with learned bandwidths.

>>> import kerncause
>>> sample = kerncause.networks.load("sachs").sample(200, seed=1)
>>> result = kerncause.discover(sample, max_parents=2)
>>> result.edges.columns.tolist()
['source', 'target', 'directed', 'gain', 'bandwidth']
"""

from kerncause import metrics, networks
from kerncause.data import Dataset, Kind, Variable, read_table
from kerncause.discover import Status, discover
from kerncause.errors import (
    ComputationError,
    DataError,
    DataWarning,
    GraphError,
    KerncauseError,
    OptionError,
)
from kerncause.graphs import CPDAG, DAG, PDAG, read_graph, write_graph
from kerncause.independence import IndependenceTest, make_test
from kerncause.metrics import compare
from kerncause.result import Result
from kerncause.scores import LearnedKernelScore, LocalFit, LocalScore, ScoreParameters, make_score
from kerncause.search import ges, pc
from kerncause.simulate import Simulation, simulate
from kerncause.version import __version__

__all__ = [
    "CPDAG",
    "DAG",
    "PDAG",
    "ComputationError",
    "DataError",
    "DataWarning",
    "Dataset",
    "GraphError",
    "IndependenceTest",
    "KerncauseError",
    "Kind",
    "LearnedKernelScore",
    "LocalFit",
    "LocalScore",
    "OptionError",
    "Result",
    "ScoreParameters",
    "Simulation",
    "Status",
    "Variable",
    "__version__",
    "compare",
    "discover",
    "ges",
    "make_score",
    "make_test",
    "metrics",
    "networks",
    "pc",
    "read_graph",
    "read_table",
    "simulate",
    "write_graph",
]
