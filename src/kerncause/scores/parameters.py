"""The parameters of a kernel score by name, and the check of their bounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kerncause.errors import OptionError
from kerncause.scores.base import LocalFit
from kerncause.scores.optimise import Interval
from kerncause.text import quoted

# What may be learned about the response.
R_NAMES = ("response_bandwidth", "amplitude")


@dataclass(frozen=True)
class ScoreParameters:
    """Parameters by name, or, as a gradient, the derivatives of S/q by their logarithms.

    A score has a response bandwidth or an amplitude to learn, or neither. The kernels `direction` and `columns` have
    `weights` for the columns of each parent instead of bandwidths; of those the derivatives are by themselves.
    """

    response_bandwidth: float | None
    bandwidths: Mapping[str, float]
    noise: float
    amplitude: float | None = None
    weights: Mapping[str, Sequence[float]] | None = None

    @classmethod
    def of(cls, given: "ScoreParameters | LocalFit | Mapping[str, Any]") -> "ScoreParameters":
        """Take parameters from a fit or from a mapping with the same three names."""
        if isinstance(given, ScoreParameters):
            return given
        if isinstance(given, LocalFit):
            if given.noise is None:
                raise OptionError("the fit has no kernel parameters: give one of a kernel score")
            return cls(given.response_bandwidth, given.bandwidths, given.noise, given.amplitude, given.weights)
        try:
            response, amplitude = (given.get(name) for name in R_NAMES)
            return cls(response, given.get("bandwidths", {}), given["noise"], amplitude, given.get("weights"))
        except (AttributeError, KeyError, TypeError, IndexError) as missing:
            raise OptionError(
                f"the parameters lack {missing}: give response_bandwidth, bandwidths (by parent) and noise"
            ) from None


def check_interval(name: str, interval: Interval) -> Interval:
    """Return bounds that make sense; refuse others."""
    try:
        low, high = map(float, interval)
    except (TypeError, ValueError):
        raise OptionError(f"{name} cannot be {quoted(interval)}: give two positive numbers, the lower first") from None
    if not 0 < low < high < np.inf:
        raise OptionError(f"{name} cannot be ({low}, {high}): give two positive numbers, the lower first")
    return low, high
