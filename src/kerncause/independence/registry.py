"""Tests of independence by name. A new test is one file and one line here."""

from collections.abc import Callable, Mapping
from typing import Any

from kerncause.data import Dataset
from kerncause.errors import OptionError
from kerncause.independence.base import IndependenceTest
from kerncause.independence.chi_squared import ChiSquared
from kerncause.independence.fisher_z import FisherZ
from kerncause.independence.kci import KCI
from kerncause.options import made
from kerncause.text import quoted

TESTS: Mapping[str, Callable[..., IndependenceTest]] = {
    "kci": KCI,
    "fisher-z": FisherZ,
    "chi-squared": ChiSquared,
}


def find_test(name: str) -> Callable[..., IndependenceTest]:
    """Return what makes the test of that name for a table."""
    if name not in TESTS:
        raise OptionError(f"there is no test {quoted(name)}: the choices are {', '.join(TESTS)}")
    return TESTS[name]


def make_test(name: str, data: Dataset, /, **options: Any) -> IndependenceTest:
    """Return the test of that name for a table."""
    return made(f"the test {name}", find_test(name), data, options)
