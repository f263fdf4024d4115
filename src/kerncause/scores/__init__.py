"""Scores: a number for each variable with a set of parents."""

from kerncause.scores.base import FittedScore, LocalFit, LocalScore, RowwiseScore, fit_local
from kerncause.scores.cache import ScoreCache
from kerncause.scores.learned import LearnedKernelScore
from kerncause.scores.ledger import Comparison, Ledger, Query, answer
from kerncause.scores.parameters import ScoreParameters
from kerncause.scores.registry import SCORES, find_score, make_score

__all__ = [
    "SCORES",
    "Comparison",
    "FittedScore",
    "LearnedKernelScore",
    "Ledger",
    "LocalFit",
    "LocalScore",
    "Query",
    "RowwiseScore",
    "ScoreCache",
    "ScoreParameters",
    "answer",
    "find_score",
    "fit_local",
    "make_score",
]
