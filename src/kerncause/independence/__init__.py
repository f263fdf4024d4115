"""Tests of conditional independence: a p-value for two variables given others."""

from kerncause.independence.base import IndependenceTest, Query, TestResult, answers
from kerncause.independence.chi_squared import ChiSquared
from kerncause.independence.fisher_z import FisherZ
from kerncause.independence.kci import KCI
from kerncause.independence.oracle import SeparationOracle
from kerncause.independence.registry import TESTS, find_test, make_test

__all__ = [
    "KCI",
    "TESTS",
    "ChiSquared",
    "FisherZ",
    "IndependenceTest",
    "Query",
    "SeparationOracle",
    "TestResult",
    "answers",
    "find_test",
    "make_test",
]
