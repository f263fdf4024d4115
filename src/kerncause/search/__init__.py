"""Searches: take a score or a test of independence, give a graph and a trace."""

from kerncause.search.base import Join, Outcome, Preference, Progress, Step, Watcher, replayed
from kerncause.search.boss import boss
from kerncause.search.exact import exact
from kerncause.search.ges import ges
from kerncause.search.pc import pc
from kerncause.search.registry import SEARCHES, Search, find_search

__all__ = [
    "SEARCHES",
    "Join",
    "Outcome",
    "Preference",
    "Progress",
    "Search",
    "Step",
    "Watcher",
    "boss",
    "exact",
    "find_search",
    "ges",
    "pc",
    "replayed",
]
