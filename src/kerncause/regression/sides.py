"""The two sides of a regression, response and parents, on the rows that differ in either."""

import numpy as np
import numpy.typing as npt

from kerncause.regression.base import Problem
from kerncause.regression.compressed import joint_rows
from kerncause.regression.factors import Inputs

Ints = npt.NDArray[np.int64]


def inputs_of(problem: Problem, rows: Ints | None = None) -> tuple[Inputs, Inputs]:
    """Return the response and the parents on the rows that differ in either, with their counts, or on `rows`."""
    rows, counts = joint_rows(problem) if rows is None else (rows, np.ones(len(rows)))
    root_weights = np.sqrt(counts)
    owner = [np.full(parent.values.shape[1], k) for k, parent in enumerate(problem.parents)]
    columns = [parent.values[rows] for parent in problem.parents]
    response = problem.response.values[rows]
    return (
        Inputs(response, np.zeros(response.shape[1], dtype=np.int64), root_weights),
        Inputs(
            np.hstack([np.empty((len(rows), 0)), *columns]),
            np.concatenate([np.empty(0, dtype=np.int64), *owner]),
            root_weights,
        ),
    )
