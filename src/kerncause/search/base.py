"""What every search gives: a graph, and the story of how it was found."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Protocol

from kerncause.errors import OptionError
from kerncause.graphs import DAG, PDAG, Adjacency

# How two variables are joined after a step: (a, "->", b), (a, "-", b), or (a, "", b) if they no longer are.
Join = tuple[str, str, str]


@dataclass(frozen=True)
class Step:
    """One move of a search.

    Attributes:
        number: 1 for the first move.
        phase: forward, backward or turning; order; skeleton or orientation.
        operator: insert, delete or turn, with the conditioning set in `given` (T, H or C of the papers); move, of a
            variable in an order to the place behind the source; remove, with the separating set, or what was decided
            about a collider.
        source: X of the operator.
        target: Y of the operator, the variable whose parents change.
        given: the operator's set of further variables.
        gain: by how much the score grows; the p-value in a search by tests.
        edges: number of edges after the move.
        scores: local scores computed so far, or tests.
        total: of a search by a score, what the graph after the move is worth above the one without edges.
        changes: the pairs that the move joins otherwise than they were, those of the first move reckoned from no edges.
    """

    number: int
    phase: str
    operator: str
    source: str
    target: str
    given: tuple[str, ...]
    gain: float
    edges: int
    scores: int
    total: float | None = None
    changes: tuple[Join, ...] = ()


def changes(names: Sequence[str], before: Adjacency, after: Adjacency) -> tuple[Join, ...]:
    """Return how the pairs are joined in which two graphs differ."""
    was, now = _joins(before), _joins(after)
    pairs = sorted(pair for pair in was.keys() | now.keys() if was.get(pair) != now.get(pair))
    found = [now.get(pair, (pair[0], "", pair[1])) for pair in pairs]
    return tuple((names[i], sign, names[j]) for i, sign, j in found)


def _joins(graph: Adjacency) -> dict[tuple[int, int], tuple[int, str, int]]:
    arrows = {(min(i, j), max(i, j)): (i, "->", j) for i, j in graph.arcs()}
    return arrows | {(i, j): (i, "-", j) for i, j in graph.links()}


def replayed(trace: Iterable[Step]) -> Iterator[frozenset[Join]]:
    """Iterate over the edges after each step: a search seen again."""
    now: dict[frozenset[str], Join] = {}
    for step in trace:
        now |= {frozenset((a, b)): (a, sign, b) for a, sign, b in step.changes}
        yield frozenset(join for join in now.values() if join[1])


@dataclass(frozen=True)
class Preference:
    """By how many nats a DAG is better than the best one of its class in which an edge is turned round.

    `turned` are the edges of the DAG that are turned in that one: the edge itself, and those it forces to follow.
    """

    nats: float
    turned: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Outcome:
    """Where a search ended, nodes in tie-breaking order, and every step.

    Attributes:
        graph: the equivalence class; with knowledge, the DAGs of it that obey: a PDAG with the directions that follow.
        dag: one of them, that with the highest score where there is a score.
        trace: every step.
        p_values: of a search by tests, for every pair it left joined the largest p-value it met: how near it came to
            parting it.
        preferences: of a search by a score, for every undirected edge (a, b), a -> b in `dag`, what that scores above
            the best DAG of the class with b -> a.
        finished: whether the search came to its end; if not, this is the best it had.
    """

    graph: PDAG
    dag: DAG
    trace: tuple[Step, ...]
    p_values: Mapping[frozenset[str], float] = field(default_factory=dict)
    preferences: Mapping[tuple[str, str], "Preference"] = field(default_factory=dict)
    finished: bool = True


@dataclass(frozen=True)
class Progress:
    """Where a search is.

    Attributes:
        phase: what it is doing.
        step: the steps taken so far.
        edges: of the graph it is at.
        trace: those steps.
        batch: what one batch of scores or tests is here: a level or a size if it is the whole of one.
    """

    phase: str
    step: int
    edges: int
    trace: Sequence[Step] = ()
    batch: str = "batch"


Watcher = Callable[[Progress], None]


class Shortlist(Protocol):
    """Which pairs of variables a search looks at; a set of variables is a bit mask, in the order of the score's."""

    def first(self, allowed: tuple[int, ...]) -> tuple[int, ...]:
        """Return for each variable those it may be joined to, of the parents that are allowed."""
        ...

    def further(self, allowed: tuple[int, ...], joined: tuple[int, ...], known: tuple[int, ...]) -> tuple[int, ...]:
        """Return the same for where a search has come to: for each variable those it is joined to, and may be."""
        ...


def check_lookahead(lookahead: int) -> None:
    """Refuse what is no number of parents to add at once."""
    if isinstance(lookahead, bool) or not isinstance(lookahead, Integral) or lookahead not in (1, 2, 3):
        raise OptionError(f"lookahead (--lookahead) cannot be {lookahead}: give 1, 2 or 3")
