"""NOTEARS, NOTEARS-MLP, DAG-GNN and DiBS: continuous optimisation by other people's libraries, to compare with.

The libraries come with the extra `kerncause[baselines]`. They set global seeds and number types, so each run happens
in a process of its own.
"""

from kerncause.baselines.base import Baseline, BaselineOutcome, Setting
from kerncause.baselines.cycles import thresholded, without_cycles
from kerncause.baselines.registry import BASELINES, TIMEOUT, find_baseline, run_baseline

__all__ = [
    "BASELINES",
    "TIMEOUT",
    "Baseline",
    "BaselineOutcome",
    "Setting",
    "find_baseline",
    "run_baseline",
    "thresholded",
    "without_cycles",
]
