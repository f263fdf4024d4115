"""The two sides of a regression, response and parents, on the rows that differ in either."""

import numpy as np
import numpy.typing as npt

from kerncause.regression.base import Problem
from kerncause.regression.compressed import joint_rows
from kerncause.regression.factors import Inputs, side_by_side

Ints = npt.NDArray[np.int64]


def inputs_of(problem: Problem, rows: Ints | None = None) -> tuple[Inputs, Inputs]:
    """Return the response and the parents on the rows that differ in either, with their counts, or on `rows`."""
    rows, counts = joint_rows(problem) if rows is None else (rows, np.ones(len(rows)))
    root_weights = np.sqrt(counts)
    response = problem.response.values[rows]
    points, owner = side_by_side(problem.parents, rows)
    return (
        Inputs(response, np.zeros(response.shape[1], dtype=np.int64), root_weights, problem.model.shape),
        Inputs(points, owner, root_weights, problem.shape),
    )
