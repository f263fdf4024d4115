"""Searches by name. A new search is one file and one line here."""

from collections.abc import Callable, Mapping

from kerncause.errors import OptionError
from kerncause.search.base import Outcome
from kerncause.search.ges import ges
from kerncause.text import quoted

SEARCHES: Mapping[str, Callable[..., Outcome]] = {
    "ges": ges,
}


def find_search(name: str) -> Callable[..., Outcome]:
    """Return the search of that name."""
    if name not in SEARCHES:
        raise OptionError(f"there is no search {quoted(name)}: the choices are {', '.join(SEARCHES)}")
    return SEARCHES[name]
