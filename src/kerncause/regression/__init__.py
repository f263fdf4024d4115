"""The Gaussian process in kernel space, and the engines that compute it."""

from kerncause.regression.base import Engine, Evaluation, Parameters, Problem
from kerncause.regression.choose import ENGINES, check_engine, choose_engine, make_engine

__all__ = [
    "ENGINES",
    "Engine",
    "Evaluation",
    "Parameters",
    "Problem",
    "check_engine",
    "choose_engine",
    "make_engine",
]
