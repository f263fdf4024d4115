"""The Gaussian process in kernel space, and the engines that compute it."""

from kerncause.regression.base import Engine, Evaluation, ExactEngine, Parameters, Problem
from kerncause.regression.choose import ENGINES, certified_value, check_engine, choose_engine, make_engine

__all__ = [
    "ENGINES",
    "Engine",
    "Evaluation",
    "ExactEngine",
    "Parameters",
    "Problem",
    "certified_value",
    "check_engine",
    "choose_engine",
    "make_engine",
]
