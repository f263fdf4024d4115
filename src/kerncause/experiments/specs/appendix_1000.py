"""The appendix: F1 and normalised SHD at n = 1000."""

from kerncause.experiments.methods import KERNEL_METHODS
from kerncause.experiments.specs.fig2_3 import KINDS
from kerncause.experiments.specs.graphs import random_graphs

EXPERIMENT = random_graphs(
    "appendix-1000", "F1 and SHD on random graphs at n = 1000", KERNEL_METHODS, KINDS, (1000,), smoke_rows=60
)
