"""From nats to a probability: how often a preference of this size points the right way.

A preference D is by how many nats the best graph with a -> b scores above the best with b -> a; G is what the edge
gains. On simulated pairs of continuous variables D alone says little: it grows with the number of rows for right and
wrong preferences alike. The share D / G does not, so

    P(right) = 1/2 + (c(D / G) - 1/2) (1 - exp(-D / d)) / (1 + (s / w)^k)

with c a growing, piecewise linear function from 1/2, d a number of nats below which a preference is noise, and s the
bandwidth of the cause in the preferred direction, in its standard deviations: of relations that are near to linear this
score knows no direction (with Gaussian noise there is none, and with other noise it prefers the wrong one), and
they have long bandwidths. All of it was fitted by maximum likelihood to the pairs of
`python -m benchmarks.directions --fit`, which writes `calibration.json`; on other seeds
`python -m benchmarks directions-of-pairs` says how right it is (docs/searches.md). Preferences depend on the footing on
which responses are compared: as `values`, as `ranks` (`response_scaling=rank`) or as `levels`. Each has numbers of its
own.

Between other kinds of variables 1/2 is returned: the scores of a discrete and of a continuous response are not on the
same footing (a variable and its own discretised copy differ by hundreds of nats), and between two discrete variables a
preference was right half of the time.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from kerncause.data import Kind

NOTHING_KNOWN = 0.5


@dataclass(frozen=True)
class Calibration:
    """The curve c at its knots, and d, w and k.

    Attributes:
        shares: where the knots are, from 0.
        right: c there, from 1/2, growing.
        nats: d.
        width: w.
        steepness: k.
    """

    shares: tuple[float, ...]
    right: tuple[float, ...]
    nats: float
    width: float
    steepness: float

    def __call__(self, preference: float, gain: float, bandwidth: float) -> float:
        """Return the probability that a preference of so many nats (0 or more), for such a gain, is right."""
        if gain <= 0.0 or preference <= 0.0:
            return NOTHING_KNOWN
        c = float(np.interp(preference / gain, self.shares, self.right))
        is_bent = 1.0 / (1.0 + math.pow(bandwidth / self.width, self.steepness))
        trust = (1.0 - math.exp(-preference / self.nats)) * is_bent
        return NOTHING_KNOWN + (c - NOTHING_KNOWN) * trust

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> "Calibration":
        """Return what a file holds."""
        numbers = (float(written[name]) for name in ("nats", "width", "steepness"))
        return cls(tuple(written["shares"]), tuple(written["right"]), *numbers)


@cache
def calibrations() -> Mapping[str, Calibration]:
    """Return the calibrations for two continuous variables and the learned score, by footing."""
    file = resources.files("kerncause.directions") / "calibration.json"
    written = json.loads(file.read_text(encoding="utf-8"))
    return {footing: Calibration.from_json(numbers) for footing, numbers in written.items()}


def footing_of(score: object) -> str | None:
    """Return on which footing a score compares directions; None: what its preferences are worth was not measured."""
    footing = getattr(score, "direction_footing", None)
    return footing if footing in calibrations() else None


def probability(
    preference: float, gain: float, bandwidth: float | None, kinds: tuple[Kind, Kind], footing: str | None
) -> float:
    """Return the probability that the direction a score prefers is the right one.

    Args:
        preference: nats by which it is better than the other; negative: the other is better.
        gain: what the edge gains in the direction that is better; with other edges that would turn with it, all
            their gains.
        bandwidth: of the cause, in that direction.
        kinds: of the two variables.
        footing: as `footing_of` says.
    """
    if set(kinds) != {Kind.CONTINUOUS} or bandwidth is None or footing is None:
        return NOTHING_KNOWN
    right = calibrations()[footing](abs(preference), gain, bandwidth)
    return right if preference >= 0 else 1.0 - right
