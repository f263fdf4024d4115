"""The numbers a baseline sees, and the tables it cannot take."""

import numpy as np

from kerncause.baselines.exchange import Floats
from kerncause.data import Dataset, Kind, Variable
from kerncause.errors import DataError
from kerncause.text import counted, listed, quoted


def table_for(method: str, data: Dataset) -> Floats:
    """Return the (n, p) table a method learns from, one column per variable in canonical order.

    Continuous columns are standardised, as everywhere in this project; ordinal columns and those with two values go in
    as their codes, 1..k in the order of their levels (whole numbers are their own codes). The libraries themselves
    standardise nothing: NOTEARS centres its columns, the others take what they get. Rows stand in canonical order.
    """
    if data.incomplete:
        lacking = [name for name in data.names if name in data.incomplete]
        raise DataError(
            f"{listed(lacking)} {'lack' if len(lacking) > 1 else 'lacks'} values in some rows, and {method} needs "
            "complete rows: choose drop for missing (--missing drop), or the score learned (--score learned)"
        )
    for variable in data.variables:
        _refuse_what_is_no_number(method, variable)
    data = data.repeated()
    columns = {
        variable.name: (data.values if variable.kind is Kind.CONTINUOUS else data.codes)[:, j]
        for j, variable in enumerate(data.variables)
    }
    return np.column_stack([columns[name] for name in data.canonical])


def _refuse_what_is_no_number(method: str, variable: Variable) -> None:
    name = quoted(variable.name)
    if variable.kind is Kind.VECTOR:
        raise DataError(
            f"variable {name} is a vector ({counted(len(variable.columns), 'column')}), and {method} takes single "
            "columns only: leave its columns ungrouped, or use the score learned (--score learned)"
        )
    levels = len(variable.levels or ())
    if variable.kind is Kind.CATEGORICAL and levels > 2:
        raise DataError(
            f"column {name} is categorical with {levels} values in no order, and {method} takes numbers only: list "
            f"its levels if they have an order (--levels), or use the score learned (--score learned), or bdeu where "
            "every column is discrete (--score bdeu)"
        )
