"""Which way round: what a score's preference for one direction is worth."""

from kerncause.directions.pair import Direction, direction
from kerncause.directions.probability import Calibration, calibrations, footing_of, probability

__all__ = ["Calibration", "Direction", "calibrations", "direction", "footing_of", "probability"]
