"""A table becomes a Dataset of typed, named variables."""

from kerncause.data.dataset import EARLIER, Dataset
from kerncause.data.of_table import OfTable
from kerncause.data.options import Missing, Origin, TableOptions
from kerncause.data.points import Points, occurrences
from kerncause.data.read import read_frame, read_table
from kerncause.data.variable import Kind, Variable
from kerncause.data.views import WHOLE

__all__ = [
    "EARLIER",
    "WHOLE",
    "Dataset",
    "Kind",
    "Missing",
    "OfTable",
    "Origin",
    "Points",
    "TableOptions",
    "Variable",
    "occurrences",
    "read_frame",
    "read_table",
]
