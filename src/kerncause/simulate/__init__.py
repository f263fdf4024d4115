"""Random causal models and tables drawn from them, with everything that was drawn written down."""

from kerncause.simulate.functions import Distribution, Function
from kerncause.simulate.generate import simulate
from kerncause.simulate.mechanism import Bins, Mechanism
from kerncause.simulate.settings import DEFAULTS, KINDS, Settings
from kerncause.simulate.simulation import SIMULATION_FILES, Simulation

__all__ = [
    "DEFAULTS",
    "KINDS",
    "SIMULATION_FILES",
    "Bins",
    "Distribution",
    "Function",
    "Mechanism",
    "Settings",
    "Simulation",
    "simulate",
]
