"""Scores by name. A new score is one file and one line here."""

from collections.abc import Callable, Mapping
from typing import Any

from kerncause.data import Dataset
from kerncause.errors import OptionError
from kerncause.options import made
from kerncause.scores.base import LocalScore
from kerncause.scores.bdeu import BDeuScore
from kerncause.scores.bic import BICScore
from kerncause.scores.cross_validated import CrossValidatedScore
from kerncause.scores.gp import GaussianProcessScore
from kerncause.scores.learned import LearnedKernelScore
from kerncause.scores.marginal import HuangMarginalScore, MarginalScore
from kerncause.text import quoted

SCORES: Mapping[str, Callable[..., LocalScore]] = {
    "learned": LearnedKernelScore,
    "marginal": MarginalScore,
    "marginal-huang": HuangMarginalScore,
    "gp": GaussianProcessScore,
    "cv": CrossValidatedScore,
    "bic": BICScore,
    "bdeu": BDeuScore,
}


def find_score(name: str) -> Callable[..., LocalScore]:
    """Return what makes the score of that name for a table."""
    if name not in SCORES:
        raise OptionError(f"there is no score {quoted(name)}: the choices are {', '.join(SCORES)}")
    return SCORES[name]


def make_score(name: str, data: Dataset, /, **options: Any) -> LocalScore:
    """Return the score of that name for a table."""
    return made(f"the score {name}", find_score(name), data, options)
