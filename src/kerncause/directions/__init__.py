"""Which way round: what a score's preference for one direction is worth."""

from kerncause.directions.pair import Direction, direction
from kerncause.directions.probability import Calibration, calibration, probability

__all__ = ["Calibration", "Direction", "calibration", "direction", "probability"]
