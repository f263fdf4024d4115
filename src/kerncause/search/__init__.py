"""Searches: take a score, give a graph and a trace."""

from kerncause.search.base import Outcome, Progress, Step, Watcher
from kerncause.search.ges import ges
from kerncause.search.registry import SEARCHES, find_search

__all__ = ["SEARCHES", "Outcome", "Progress", "Step", "Watcher", "find_search", "ges"]
