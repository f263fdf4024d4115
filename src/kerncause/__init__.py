"""Causal graphs from tables, scored by Gaussian processes in kernel space with learned bandwidths.

>>> import kerncause
>>> sample = kerncause.networks.load("sachs").sample(200, seed=1)
>>> result = kerncause.discover(sample, max_parents=2)
>>> result.edges.columns.tolist()
['source', 'target', 'directed', 'gain', 'bandwidth']
"""

from kerncause import networks
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
from kerncause.graphs import CPDAG, DAG, PDAG
from kerncause.result import Result
from kerncause.scores import LearnedKernelScore, LocalFit, LocalScore, ScoreParameters, make_score
from kerncause.search import ges

__version__ = "0.1.0"

__all__ = [
    "CPDAG",
    "DAG",
    "PDAG",
    "ComputationError",
    "DataError",
    "DataWarning",
    "Dataset",
    "GraphError",
    "KerncauseError",
    "Kind",
    "LearnedKernelScore",
    "LocalFit",
    "LocalScore",
    "OptionError",
    "Result",
    "ScoreParameters",
    "Status",
    "Variable",
    "__version__",
    "discover",
    "ges",
    "make_score",
    "networks",
    "read_table",
]
