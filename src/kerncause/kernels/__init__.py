"""Kernels as functions of distance, with derivatives in log-parameters and their Jacobian terms."""

from kerncause.kernels.entropy import entropy, least_noise
from kerncause.kernels.gaussian import (
    JacobianTerm,
    gaussian,
    log_bandwidth_gradient,
    log_distance_sum,
    product_gaussian,
)
from kerncause.kernels.heuristic import median_heuristic
from kerncause.kernels.jacobian import PairwiseJacobian
from kerncause.kernels.profile import GAUSSIAN, PROFILES, Profile
from kerncause.kernels.shape import COLUMNS, DIRECTION, ELLIPSOID, Columns, Direction, Ellipsoid, Shape, scatter

__all__ = [
    "COLUMNS",
    "DIRECTION",
    "ELLIPSOID",
    "GAUSSIAN",
    "PROFILES",
    "Columns",
    "Direction",
    "Ellipsoid",
    "JacobianTerm",
    "PairwiseJacobian",
    "Profile",
    "Shape",
    "entropy",
    "gaussian",
    "least_noise",
    "log_bandwidth_gradient",
    "log_distance_sum",
    "median_heuristic",
    "product_gaussian",
    "scatter",
]
