"""One bandwidth for all parents, as the paper writes, or one for each, as its program has it; and our defaults.

Our defaults have a bandwidth each, a second start, and a search that deletes only where both directions agree.
"""

from kerncause.experiments.specs.graphs import random_graphs

METHODS = ("learned", "learned, per parent", "learned, our defaults")

EXPERIMENT = random_graphs(
    "bandwidths", "one bandwidth for all parents or one each", METHODS, ("continuous", "mixed"), (200,)
)
