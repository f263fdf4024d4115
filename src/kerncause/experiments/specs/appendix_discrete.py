"""The appendix: F1 and normalised SHD where every variable is discrete."""

from kerncause.experiments.methods import KERNEL_METHODS
from kerncause.experiments.specs.graphs import random_graphs

EXPERIMENT = random_graphs(
    "appendix-discrete", "F1 and SHD on discrete random graphs", KERNEL_METHODS, ("discrete",), (200, 500, 1000)
)
