"""Searches by name. A new search is one file and one entry here."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from kerncause.errors import OptionError
from kerncause.search.base import Outcome
from kerncause.search.boss import boss
from kerncause.search.exact import exact
from kerncause.search.ges import ges
from kerncause.search.pc import pc
from kerncause.text import quoted


@dataclass(frozen=True)
class Search:
    """A search by its name.

    Attributes:
        run: takes a score or a test, and the options.
        by: which of the two.
        options: what can be asked for, with its default.
        draws: whether it draws random numbers and takes a seed.
        screens: whether it takes a shortlist of pairs, and `candidates` can be asked for.
    """

    run: Callable[..., Outcome]
    by: Literal["score", "test"]
    options: Mapping[str, Any]
    draws: bool = False
    screens: bool = False


SEARCHES: Mapping[str, Search] = {
    "ges": Search(
        ges, "score", {"max_parents": None, "turning": False, "careful": True, "candidates": None}, screens=True
    ),
    "boss": Search(
        boss,
        "score",
        {"max_parents": None, "restarts": 2, "lookahead": 1, "both_ways": False, "candidates": None},
        draws=True,
        screens=True,
    ),
    "exact": Search(exact, "score", {"max_parents": None, "prune": None, "lookahead": 1}),
    "pc": Search(pc, "test", {"alpha": 0.05, "max_given": None}),
}


def find_search(name: str) -> Search:
    """Return the search of that name."""
    if name not in SEARCHES:
        raise OptionError(f"there is no search {quoted(name)}: the choices are {', '.join(SEARCHES)}")
    return SEARCHES[name]
