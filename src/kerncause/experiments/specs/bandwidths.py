"""One bandwidth for all parents, as the paper writes, or one for each, as its program has it; and our defaults.

Our defaults differ from the second in the search alone: a second start, and deletions only where both directions agree.
"""

from kerncause.experiments.specs.graphs import random_graphs

METHODS = ("learned", "learned, per parent", "learned, our defaults")

EXPERIMENT = random_graphs(
    "bandwidths", "one bandwidth for all parents or one each", METHODS, ("continuous", "mixed"), (200,)
)
