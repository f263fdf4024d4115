"""The Gaussian process in kernel space, and the engines that compute it."""

from kerncause.regression.base import Engine, Evaluation, ExactEngine, Parameters, Problem
from kerncause.regression.choose import ENGINES, certified_value, check_engine, choose_engine, make_engine
from kerncause.regression.response import CentredKernelResponse, DataResponse, KernelResponse, Response

__all__ = [
    "ENGINES",
    "CentredKernelResponse",
    "DataResponse",
    "Engine",
    "Evaluation",
    "ExactEngine",
    "KernelResponse",
    "Parameters",
    "Problem",
    "Response",
    "certified_value",
    "check_engine",
    "choose_engine",
    "make_engine",
]
