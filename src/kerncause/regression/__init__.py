"""The Gaussian process in kernel space, and the engines that compute it."""

from kerncause.regression.base import MOST_MEMORY, Engine, Evaluation, ExactEngine, Parameters, Problem, values_at
from kerncause.regression.choose import ENGINES, certified_value, check_engine, choose_engine, make_engine
from kerncause.regression.factors import side_by_side
from kerncause.regression.left_out import Nearness, nearness, nearness_bytes
from kerncause.regression.memory import Sizes, least_bytes, most_bytes
from kerncause.regression.response import CentredKernelResponse, DataResponse, KernelResponse, Response

__all__ = [
    "ENGINES",
    "MOST_MEMORY",
    "CentredKernelResponse",
    "DataResponse",
    "Engine",
    "Evaluation",
    "ExactEngine",
    "KernelResponse",
    "Nearness",
    "Parameters",
    "Problem",
    "Response",
    "Sizes",
    "certified_value",
    "check_engine",
    "choose_engine",
    "least_bytes",
    "make_engine",
    "most_bytes",
    "nearness",
    "nearness_bytes",
    "side_by_side",
    "values_at",
]
