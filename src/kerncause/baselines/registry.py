"""Baselines by name. A new one is a function that learns, and one entry here.

The defaults are the settings of the comparison in Wang et al. (ICML 2024), appendix "Comparison with continuous
optimization-based approaches"; where it is silent, those of the library.
"""

import math
import numbers
from collections.abc import Mapping

import numpy as np
import pandas as pd

from kerncause.baselines import dibs, gcastle
from kerncause.baselines.base import Baseline, BaselineOutcome, Setting
from kerncause.baselines.cycles import thresholded, without_cycles
from kerncause.baselines.exchange import Answer, Floats, Request, Settings
from kerncause.baselines.process import computed
from kerncause.baselines.table import table_for
from kerncause.data import Dataset
from kerncause.errors import ComputationError, OptionError
from kerncause.graphs import DAG
from kerncause.text import quoted

TIMEOUT = 3600.0
LARGEST_SEED = 2**32 - 1

_LAGRANGIAN = {
    "threshold": Setting(0.3),
    "h_tol": Setting(1e-8),
    "rho_max": Setting(1e16, least=1.0, exclusive=True),
    "max_iter": Setting(100, least=1),
}

BASELINES: Mapping[str, Baseline] = {
    baseline.name: baseline
    for baseline in (
        Baseline(
            "notears",
            ("castle", "torch"),
            gcastle.MODULE,
            {"lambda1": Setting(0.1), "loss": Setting("l2", choices=("l2",))} | _LAGRANGIAN,
            gcastle.notears,
        ),
        Baseline(
            "notears-mlp",
            ("castle", "torch"),
            gcastle.MODULE,
            {"lambda1": Setting(0.01), "lambda2": Setting(0.01), "hidden": Setting(10, least=1)} | _LAGRANGIAN,
            gcastle.notears_mlp,
        ),
        Baseline(
            "dag-gnn",
            ("castle", "torch"),
            gcastle.MODULE,
            {
                "encoder": Setting("mlp", choices=("mlp", "sem")),
                "decoder": Setting("mlp", choices=("mlp", "sem")),
                "c": Setting(1.0, exclusive=True),
                "lambda_a": Setting(0.0),
                "tau_a": Setting(0.0),
                "threshold": Setting(0.3),
                "h_tol": Setting(1e-8),
                "hidden": Setting(64, least=1),
                "epochs": Setting(300, least=1),
                "batch_size": Setting(100, least=1),
                "learning_rate": Setting(3e-3, exclusive=True),
                "max_iter": Setting(100, least=1),
            },
            gcastle.dag_gnn,
        ),
        Baseline(
            "dibs",
            ("dibs", "jax"),
            dibs.MODULE,
            {
                "alpha": Setting(0.05, exclusive=True),
                "beta": Setting(1.0, exclusive=True),
                "gamma_z": Setting(5.0, exclusive=True),
                "gamma_theta": Setting(500.0, exclusive=True),
                "particles": Setting(10, least=1),
                "steps": Setting(1000, least=1),
                "hidden": Setting(5, least=1),
                "noise": Setting(0.1, exclusive=True),
                "graph_samples": Setting(128, least=1),
            },
            dibs.dibs,
        ),
    )
}


def find_baseline(name: str) -> Baseline:
    """Return the baseline of that name."""
    if name not in BASELINES:
        raise OptionError(f"there is no baseline {quoted(name)}: the choices are {', '.join(BASELINES)}")
    return BASELINES[name]


def run_baseline(
    name: str, data: Dataset, seed: int = 0, timeout: float = TIMEOUT, threads: int = 1, **settings: object
) -> BaselineOutcome:
    """Learn a graph by a baseline, in a process of its own.

    Args:
        name: `notears`, `notears-mlp`, `dag-gnn` or `dibs`.
        data: continuous and ordinal columns, and columns of two values, all complete.
        seed: of the method's random numbers; the same seed gives the same answer.
        timeout: seconds after which the process is ended with an error.
        threads: that the library may use.
        settings: what is to differ from the method's defaults.
    """
    baseline = find_baseline(name)
    settled = baseline.settled(settings)
    _refuse_odd_limits(seed, timeout, threads)
    table = table_for(name, data)
    baseline.require_packages()
    answer = computed(Request(name, table, int(seed), settled, float(timeout)), int(threads))
    return outcome_of(name, data, answer, settled, int(seed))


def outcome_of(name: str, data: Dataset, answer: Answer, settings: Settings, seed: int) -> BaselineOutcome:
    """Turn weights over the columns in canonical order into graphs over the variables as the table lists them."""
    if not all(np.isfinite(matrix).all() for matrix in answer.weights):
        raise ComputationError(f"{name} ended with weights that are not finite numbers: try another seed")
    cut = [thresholded(matrix, float(settings.get("threshold", 0.0))) for matrix in answer.weights]
    acyclic = [without_cycles(matrix) for matrix in cut]
    unbroken = [bool(np.array_equal(a, b)) for a, b in zip(cut, acyclic, strict=True)]
    best = chosen(answer.log_joints, unbroken)
    frames = [_framed(matrix, data) for matrix in acyclic]
    dags = tuple(DAG(data.names, _edges(frame)) for frame in frames)
    return BaselineOutcome(
        name=name,
        dag=dags[best],
        graph=dags[best].to_cpdag(),
        weights=_framed(answer.weights[best], data),
        particles=dags,
        log_joints=answer.log_joints,
        removed=tuple(edge for edge in _edges(_framed(cut[best], data)) if edge not in dags[best].edges),
        settings=settings,
        seed=seed,
        seconds=answer.seconds,
    )


def chosen(log_joints: tuple[float, ...], acyclic: list[bool]) -> int:
    """Return which particle stands for all: the most probable acyclic one, or, without any, the most probable.

    A cyclic graph has no probability under the model; the smooth penalty only makes it rare.
    """
    if not log_joints:
        return 0
    worth = [-math.inf if math.isnan(value) else value for value in log_joints]
    return max(range(len(worth)), key=lambda i: (acyclic[i], worth[i], -i))


def _framed(matrix: Floats, data: Dataset) -> pd.DataFrame:
    """Name rows and columns, and list them as the table does."""
    frame = pd.DataFrame(matrix, index=list(data.canonical), columns=list(data.canonical))
    return frame.loc[list(data.names), list(data.names)]


def _edges(weights: pd.DataFrame) -> list[tuple[str, str]]:
    names = list(weights.index)
    return [(names[i], names[j]) for i, j in np.argwhere(weights.to_numpy() != 0.0)]


def _refuse_odd_limits(seed: int, timeout: float, threads: int) -> None:
    if not isinstance(seed, numbers.Integral) or not 0 <= seed <= LARGEST_SEED:
        raise OptionError(f"seed (--seed) cannot be {quoted(seed)}: give a whole number from 0 to {LARGEST_SEED}")
    if not isinstance(timeout, numbers.Real) or not 0 < timeout < math.inf:
        raise OptionError(f"timeout (--timeout) cannot be {quoted(timeout)}: give a number of seconds above 0")
    if not isinstance(threads, numbers.Integral) or threads < 1:
        raise OptionError(f"threads (--threads) cannot be {quoted(threads)}: give 1 or more")
