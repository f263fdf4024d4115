"""Figures 2 and 3: F1 and normalised SHD against the density of random graphs, for three kinds of data."""

from kerncause.experiments.methods import KERNEL_METHODS
from kerncause.experiments.specs.graphs import random_graphs

KINDS = ("continuous", "mixed", "multidimensional")

EXPERIMENT = random_graphs(
    "fig2-3", "F1 and SHD on random graphs of three kinds", KERNEL_METHODS, KINDS, (200, 500), width=1.9
)
