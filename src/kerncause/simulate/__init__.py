"""Random causal models and tables drawn from them, with everything that was drawn written down."""

from kerncause.simulate.choice import Choice, Effects
from kerncause.simulate.functions import Distribution, Function
from kerncause.simulate.generate import simulate
from kerncause.simulate.mechanism import Bins, Mechanism
from kerncause.simulate.settings import DEFAULTS, KINDS, PAPER_KINDS, Settings
from kerncause.simulate.simulation import SIMULATION_FILES, Simulation

__all__ = [
    "DEFAULTS",
    "KINDS",
    "PAPER_KINDS",
    "SIMULATION_FILES",
    "Bins",
    "Choice",
    "Distribution",
    "Effects",
    "Function",
    "Mechanism",
    "Settings",
    "Simulation",
    "simulate",
]
