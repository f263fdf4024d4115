"""Programs of others, run as they come on the tables of our experiments."""

import random
from collections.abc import Callable, Mapping
from importlib import import_module

import numpy as np

from kerncause.data import Dataset
from kerncause.errors import OptionError
from kerncause.graphs import PDAG, from_causal_learn

# Its penalty is that many log n for each parent; one half is BIC.
PENALTY = 0.5


def boss_of_causal_learn(data: Dataset, seed: int) -> PDAG:
    """Return the class that causal-learn's BOSS finds by the BIC of linear Gaussian models; one column a variable."""
    try:
        boss = import_module("causallearn.search.PermutationBased.BOSS").boss
    except ImportError:
        raise OptionError("causal-learn's BOSS needs causal-learn: pip install 'kerncause[baselines]'") from None
    X = np.column_stack([data.points(name).values[:, 0] for name in data.names])
    random.seed(seed)  # it draws its first order from the generator of the whole process
    found = boss(X, "local_score_BIC_from_cov", {"lambda_value": PENALTY}, verbose=False, node_names=list(data.names))
    return from_causal_learn(found)


# By the name of a variant.
OTHERS: Mapping[str, Callable[[Dataset, int], PDAG]] = {"causal-learn-bic-boss": boss_of_causal_learn}
