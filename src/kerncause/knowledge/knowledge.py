"""What is known beforehand, by the names of the variables; contradictions are refused when it is made."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import networkx as nx

from kerncause.errors import OptionError
from kerncause.graphs import PDAG, mask_of
from kerncause.knowledge.limits import Limits
from kerncause.text import listed, quoted

Pair = tuple[str, str]


@dataclass(frozen=True, init=False)
class Knowledge:
    """What is known about a graph before looking at the data.

    Attributes:
        tiers: groups of variables in the order of time; nothing in a later tier causes anything in an earlier one.
            Variables in no tier may be anywhere.
        required: edges (cause, effect) that must be there.
        forbidden: edges (cause, effect) that must not be there; the other way round they may.
        roots: variables without causes.
        leaves: variables without effects.
    """

    tiers: tuple[tuple[str, ...], ...]
    required: tuple[Pair, ...]
    forbidden: tuple[Pair, ...]
    roots: tuple[str, ...]
    leaves: tuple[str, ...]

    def __init__(
        self,
        tiers: Iterable[Collection[str]] = (),
        required: Iterable[Sequence[str]] = (),
        forbidden: Iterable[Sequence[str]] = (),
        roots: Collection[str] = (),
        leaves: Collection[str] = (),
    ) -> None:
        if isinstance(tiers, str | Mapping) or not isinstance(tiers, Iterable):
            raise OptionError(f"knowledge: tiers is {quoted(tiers)}: give a list of lists of names")
        object.__setattr__(self, "tiers", tuple(_names(f"tier {k}", tier) for k, tier in enumerate(tiers, 1)))
        object.__setattr__(self, "required", _pairs("required", required))
        object.__setattr__(self, "forbidden", _pairs("forbidden", forbidden))
        object.__setattr__(self, "roots", _names("roots", roots))
        object.__setattr__(self, "leaves", _names("leaves", leaves))
        self._refuse_contradictions()

    @classmethod
    def of(cls, given: "Knowledge | Mapping[str, Any] | None") -> "Knowledge":
        """Return knowledge, whether it is given as such, as a mapping with its parts, or not at all."""
        if given is None:
            return cls()
        if isinstance(given, Knowledge):
            return given
        if not isinstance(given, Mapping):
            raise OptionError(f"knowledge is a {type(given).__name__}: give a Knowledge, or a dict with its parts")
        for part in given:
            if part not in PARTS:
                raise OptionError(f"knowledge has no part {quoted(part)}: the parts are {', '.join(PARTS)}")
        return cls(**given)

    def __bool__(self) -> bool:
        return any(getattr(self, part) for part in PARTS)

    def __or__(self, other: "Knowledge") -> "Knowledge":
        """Return what both say; tiers can come from one of the two only."""
        if self.tiers and other.tiers:
            raise OptionError("tiers are given twice (a file and --tier): give them once")
        return Knowledge(
            self.tiers or other.tiers,
            *(tuple(dict.fromkeys(getattr(self, part) + getattr(other, part))) for part in PARTS[1:]),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the parts that say something, as plain lists."""
        parts = {part: getattr(self, part) for part in PARTS}
        return {
            part: [list(item) if isinstance(item, tuple) else item for item in items]
            for part, items in parts.items()
            if items
        }

    def refuses(self, cause: str, effect: str) -> str | None:
        """Return why an edge cannot be there, in a few words; None if it can."""
        place = self._place
        if (cause, effect) in self.forbidden:
            return "it is forbidden"
        if (effect, cause) in self.required:
            return "the other way round is required"
        if cause in place and effect in place and place[cause] > place[effect]:
            return f"{quoted(cause)} is in tier {place[cause]}, {quoted(effect)} in tier {place[effect]}"
        if effect in self.roots:
            return f"{quoted(effect)} is a root"
        return f"{quoted(cause)} is a leaf" if cause in self.leaves else None

    def limits(self, variables: Sequence[str]) -> Limits:
        """Return the masks for a search over these variables; refuse a name that is none of them."""
        for name in dict.fromkeys(self._mentioned()):
            if name not in variables:
                raise OptionError(
                    f"knowledge speaks of {quoted(name)}, which is no variable: the table has {listed(variables, 20)}"
                )
        required = set(self.required)
        return Limits(
            tuple(mask_of(i for i, a in enumerate(variables) if a != b and not self.refuses(a, b)) for b in variables),
            tuple(mask_of(i for i, a in enumerate(variables) if (a, b) in required) for b in variables),
        )

    def broken_by(self, graph: PDAG) -> list[str]:
        """Return a sentence for every edge of a graph that is not allowed, and for every required one it lacks.

        An undirected edge is one that can go both ways, so both must be allowed.
        """
        both = [*graph.directed_edges, *graph.undirected_edges, *((b, a) for a, b in graph.undirected_edges)]
        wrong = [f"{_arrow(a, b)} is there, though {why}" for a, b in both if (why := self.refuses(a, b))]
        there = set(graph.directed_edges)
        return wrong + [f"{_arrow(a, b)} is required and not there" for a, b in self.required if (a, b) not in there]

    @property
    def _place(self) -> dict[str, int]:
        return {name: k for k, tier in enumerate(self.tiers, 1) for name in tier}

    def _mentioned(self) -> Iterator[str]:
        for tier in self.tiers:
            yield from tier
        for pair in (*self.required, *self.forbidden):
            yield from pair
        yield from (*self.roots, *self.leaves)

    def _refuse_contradictions(self) -> None:
        tiers = [name for tier in self.tiers for name in tier]
        for name in tiers:
            if tiers.count(name) > 1:
                raise OptionError(f"{quoted(name)} is in two tiers: leave it in one")
        for cause, effect in self.required:
            if why := self.refuses(cause, effect):
                raise OptionError(f"{_arrow(cause, effect)} is required, but {why}: leave out one of the two")
        try:
            ring = nx.find_cycle(nx.DiGraph(list(self.required)))
        except nx.NetworkXNoCycle:
            return
        circle = [a for a, _ in ring]
        raise OptionError(
            f"the required edges go round in a circle, {' → '.join(map(quoted, [*circle, circle[0]]))}: leave out one"
        )


PARTS = ("tiers", "required", "forbidden", "roots", "leaves")


def _arrow(cause: str, effect: str) -> str:
    return f"{quoted(cause)} → {quoted(effect)}"


def _names(what: str, names: Any) -> tuple[str, ...]:
    is_list = isinstance(names, Collection) and not isinstance(names, str | Mapping)
    if not is_list or not all(isinstance(name, str) for name in names):
        raise OptionError(f"knowledge: {what} is {quoted(names)}: give a list of names")
    for name, after in pairwise(sorted(names)):
        if name == after:
            raise OptionError(f"knowledge: {what} has {quoted(name)} twice: leave out one")
    return tuple(names)


def _pairs(what: str, pairs: object) -> tuple[Pair, ...]:
    if isinstance(pairs, str | Mapping) or not isinstance(pairs, Iterable):
        raise OptionError(f"knowledge: {what} is {quoted(pairs)}: give a list of pairs (cause, effect)")
    found: list[Pair] = []
    for pair in pairs:
        is_pair = isinstance(pair, Sequence) and not isinstance(pair, str) and len(pair) == 2
        if not is_pair or not all(isinstance(name, str) for name in pair):
            raise OptionError(f"knowledge: {what} has {quoted(pair)}: give pairs (cause, effect)")
        if pair[0] == pair[1]:
            raise OptionError(f"knowledge: {what} has an edge from {quoted(pair[0])} to itself: leave it out")
        found.append((pair[0], pair[1]))
    return tuple(dict.fromkeys(found))
