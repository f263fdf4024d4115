"""How often halves of a table gave each edge: what `kerncause.repeat` counts.

Stability selection (Meinshausen and Bühlmann 2010): of the pairs joined in at least a share `threshold` of the halves,
the expected number that should not be is at most q^2 / ((2 threshold - 1) m), for m pairs and q joined on average, if
the wrong ones are exchangeable.

A frequency says how often other halves of these rows lead to the same edge. It is not the probability that the edge is
causal: what misleads the score on all rows misleads it on halves as well.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import pandas as pd

from kerncause.errors import OptionError
from kerncause.graphs import PDAG, Adjacency

How = Literal["half", "bootstrap"]
THRESHOLD = 0.75
Pair = tuple[str, str]


@dataclass(frozen=True)
class Replicate:
    """The graph of one half of the rows."""

    number: int
    directed: tuple[Pair, ...]
    undirected: tuple[Pair, ...]
    dag: tuple[Pair, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it as plain lists."""
        edges = {name: [list(pair) for pair in getattr(self, name)] for name in ("directed", "undirected", "dag")}
        return {"number": self.number, **edges}

    @classmethod
    def from_json(cls, written: Mapping[str, Any]) -> "Replicate":
        """Return what `as_json` wrote."""
        edges = ([(a, b) for a, b in written[name]] for name in ("directed", "undirected", "dag"))
        return cls(int(written["number"]), *map(tuple, edges))


@dataclass(frozen=True)
class Frequency:
    """How often a pair was joined, and which way: shares of all replicates.

    Attributes:
        source: the end that the best DAGs more often have as the cause.
        target: the other.
        joined: joined at all.
        forward: the class has source -> target.
        backward: the class has target -> source.
        undecided: the class leaves it open.
        best: the best DAG has source -> target.
    """

    source: str
    target: str
    joined: float
    forward: float
    backward: float
    undecided: float
    best: float


@dataclass(frozen=True)
class Confidence:
    """How often each pair was joined, and which way, over the replicates.

    Attributes:
        nodes: the variables.
        replicates: how many graphs were learned.
        how: `half` or `bootstrap`.
        frequencies: the pairs that were ever joined, most often first.
    """

    nodes: tuple[str, ...]
    replicates: int
    how: How
    frequencies: tuple[Frequency, ...] = field(repr=False)

    @classmethod
    def of(cls, nodes: Sequence[str], replicates: Sequence[Replicate], how: How) -> "Confidence":
        """Count over the graphs of all replicates."""
        found = [_frequency(replicates, a, b) for a, b in combinations(nodes, 2)]
        ranked = sorted((f for f in found if f.joined), key=lambda f: -f.joined)
        return cls(tuple(nodes), len(replicates), how, tuple(ranked))

    def as_json(self) -> dict[str, Any]:
        """Return it as plain lists."""
        return {"how": self.how, "replicates": self.replicates, "pairs": [asdict(f) for f in self.frequencies]}

    @classmethod
    def from_json(cls, nodes: Sequence[str], written: Mapping[str, Any]) -> "Confidence":
        """Return what `as_json` wrote."""
        pairs = tuple(Frequency(**pair) for pair in written["pairs"])
        return cls(tuple(nodes), written["replicates"], written["how"], pairs)

    @property
    def pairs(self) -> pd.DataFrame:
        """The same as a table, one row per pair."""
        return pd.DataFrame(map(asdict, self.frequencies), columns=[f.name for f in fields(Frequency)])

    def joined(self, a: str, b: str) -> float:
        """Return the share of replicates that join two variables."""
        return self._shares.get(frozenset((a, b)), 0.0)

    def points(self, source: str, target: str) -> float:
        """Return, of the replicates that join two variables, the share whose best DAG has source -> target."""
        for f in self.frequencies:
            if {f.source, f.target} == {source, target}:
                return (f.best if f.source == source else f.joined - f.best) / f.joined
        return 0.0

    @cached_property
    def _shares(self) -> dict[frozenset[str], float]:
        return {frozenset((f.source, f.target)): f.joined for f in self.frequencies}

    def stable(self, threshold: float = THRESHOLD) -> tuple[frozenset[frozenset[str]], float]:
        """Return the pairs joined in at least that share of the replicates, and a bound on how many are wrong."""
        if not 0.5 < threshold <= 1.0:
            raise OptionError(f"threshold cannot be {threshold}: give a share above 0.5 and at most 1")
        pairs = frozenset(pair for pair, share in self._shares.items() if share >= threshold)
        q = sum(self._shares.values())
        possible = len(self.nodes) * (len(self.nodes) - 1) / 2
        return pairs, q**2 / ((2 * threshold - 1) * max(possible, 1.0))

    def consensus(self, threshold: float = 0.5) -> PDAG:
        """Return the graph of the pairs joined in more than a share of the replicates.

        An edge is directed if the classes of more than that share of all replicates direct it so, the most frequent
        first, and it closes no directed cycle; else it is undirected.
        """
        if not 0.0 <= threshold < 1.0:
            raise OptionError(f"threshold cannot be {threshold}: give a share of 0 or more, below 1")
        kept = [f for f in self.frequencies if f.joined > threshold]
        arrows = [(f.forward, f.source, f.target) for f in kept] + [(f.backward, f.target, f.source) for f in kept]
        place = {name: i for i, name in enumerate(self.nodes)}
        directed: list[Pair] = []
        for share, a, b in sorted(arrows, key=lambda arrow: (-arrow[0], place[arrow[1]], place[arrow[2]])):
            there = Adjacency.of(len(self.nodes), [(place[x], place[y]) for x, y in directed])
            if share > threshold and not there.reachable(place[b]) >> place[a] & 1:
                directed.append((a, b))
        done = {frozenset(pair) for pair in directed}
        open_ = [(f.source, f.target) for f in kept if {f.source, f.target} not in done]
        return PDAG(self.nodes, directed, open_)


def _frequency(replicates: Sequence[Replicate], a: str, b: str) -> Frequency:
    """Count one pair."""

    def count(pair: Pair, where: str) -> int:
        return sum(pair in getattr(r, where) for r in replicates)

    if count((a, b), "dag") < count((b, a), "dag"):
        a, b = b, a
    best, forward, backward = count((a, b), "dag"), count((a, b), "directed"), count((b, a), "directed")
    joined = best + count((b, a), "dag")
    counts = (joined, forward, backward, joined - forward - backward, best)
    return Frequency(a, b, *(number / max(len(replicates), 1) for number in counts))
