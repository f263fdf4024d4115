"""Why an edge is there, or is not."""

from kerncause.explain.explanation import Explanation, RunnerUp, explained
from kerncause.explain.model import Curve, FittedModel

__all__ = ["Curve", "Explanation", "FittedModel", "RunnerUp", "explained"]
