"""The PC algorithm (Spirtes and Glymour 1991), stable and independent of the order of variables.

Skeleton: begin with every pair joined. At level 0, 1, 2, ... test each joined pair given every set of that many
neighbours of either end, and part the pairs that some set separates (p-value above alpha).

* Neighbours are those at the beginning of the level, so it does not matter in which order pairs are tested (Colombo
  and Maathuis 2014). All tests of a level are asked for in one batch.
* Of several separating sets of a pair, the one with the largest p-value is kept: it decides directions (the idea of
  Ramsey's PC-Max, 2016). It ends: a level that joins no pair with enough neighbours is the last.

Directions: a - b - c with a, c not joined is a collider, a -> b <- c, if b is not in the set that separates a and c.
With a perfect test these judgements, and Meek's rules, give the true equivalence class. Tests on data err, and then
judgements can contradict each other. The p-value of the separation is taken as the weight of a judgement, and the
lightest that stand in the way are overturned:

1. Colliders are accepted from the heaviest to the lightest. One that needs an arrow against an accepted one, or that
   closes a directed cycle, is dropped.
2. A DAG with this skeleton and exactly these colliders is looked for (Dor and Tarsi 1992: take away nodes that can
   come last). Where that gets stuck, among the nodes that are left, either the lightest collider is dropped, or the
   node that makes the lightest new colliders comes last: whichever is lighter. This ends, because each time there is
   a collider less or a directed edge more.

Knowledge: a pair that may be joined neither way is parted from the beginning, and tested only to know what separates
it, which tells colliders. A required edge is never tested. An edge that may go only one way does so before any
collider is judged; if such edges go round in a circle, the one with the largest p-value is removed.

What is returned is the completed graph of that DAG, so it always is an equivalence class. Which nodes the search gets
stuck on, and so the answer, does not depend on the order in which nodes are taken away; only exactly equal p-values are
decided by the order of the test's variables, which a Dataset derives from content.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from kerncause.errors import ComputationError, OptionError
from kerncause.graphs import CPDAG, DAG, PDAG, Adjacency, bits, completed, consistent_extension, mask_of
from kerncause.graphs.equivalence import v_structures
from kerncause.independence import IndependenceTest, Query, TestResult, answers
from kerncause.knowledge import Knowledge, Limits
from kerncause.search.base import Outcome, Progress, Step, Watcher, changes
from kerncause.text import listed, quoted

Batch = Callable[[Sequence[Query]], Iterable[TestResult]]
Pair = tuple[int, int]


def pc(
    test: IndependenceTest,
    *,
    alpha: float = 0.05,
    max_given: int | None = None,
    knowledge: Knowledge | None = None,
    watch: Watcher | None = None,
    batch: Batch | None = None,
) -> Outcome:
    """Learn an equivalence class from tests of conditional independence.

    The trace has one step for each edge removed, in phase `skeleton`: the pair, the separating set in `given`, and
    its p-value as `gain`. In phase `orientation`, source -> target <- given is a `collider` that was judged one and
    is one, `drop` one that was judged one and is none, `force` one that is one though it was not judged so.

    Args:
        test: any test of independence.
        alpha: a pair is parted where the p-value is larger.
        max_given: condition on no more variables than this.
        knowledge: what the result must obey.
        watch: called at every level with where the search is.
        batch: answers a sequence of queries, in their order; by default here, one after the other.
    """
    if isinstance(alpha, bool) or not isinstance(alpha, int | float) or not 0.0 < alpha < 1.0:
        raise OptionError(f"alpha (--alpha) cannot be {alpha}: give a number between 0 and 1, such as 0.05")
    if max_given is not None and (max_given < 0 or max_given != int(max_given)):
        raise OptionError(
            f"max_given (--max-given) cannot be {max_given}: "
            "give a whole number of 0 or more, or leave it out for no limit"
        )
    limits = Knowledge.of(knowledge).limits(test.variables)
    run = _Run(
        test.variables, alpha, limits, batch or (lambda queries: answers(test, queries)), watch or (lambda _: None)
    )
    level = 0
    while (max_given is None or level <= max_given) and run.part(level):
        level += 1
    graph = run.orient()
    dag = consistent_extension(graph)
    assert dag is not None
    kind: type[PDAG] = CPDAG if limits.say_nothing else PDAG
    return Outcome(kind.of(run.variables, graph), DAG.of(run.variables, dag), tuple(run.trace), run.p_values())


@dataclass(frozen=True)
class Separation:
    """A set that separates two nodes, as a bit mask, and the p-value of the test that says so."""

    given: int
    p_value: float


@dataclass(frozen=True)
class Collider:
    """The judgement a -> middle <- c, a < c, and its weight."""

    a: int
    middle: int
    c: int
    weight: float

    @property
    def arcs(self) -> tuple[Pair, Pair]:
        """Its two arrows."""
        return (self.a, self.middle), (self.c, self.middle)

    @property
    def key(self) -> tuple[float, int, int, int]:
        """Sorts the heaviest first, exact ties by node."""
        return -self.weight, self.middle, self.a, self.c


Separations = dict[Pair, Separation]


class _Run:
    """One search under way: the edges that are left, and what parted the others."""

    def __init__(self, variables: tuple[str, ...], alpha: float, limits: Limits, batch: Batch, watch: Watcher) -> None:
        self.variables = variables
        self.trace: list[Step] = []
        pairs = combinations(range(len(variables)), 2)
        possible = [(i, j) for i, j in pairs if limits.allowed[j] >> i & 1 or limits.allowed[i] >> j & 1]
        self._graph = Adjacency.of(len(variables), undirected=possible)
        self._parted = sorted(set(combinations(range(len(variables)), 2)) - set(possible))
        self._limits = limits
        self._separations: Separations = {}
        self._alpha, self._batch, self._watch = alpha, batch, watch
        self._tests = 0
        self._noted = self._arrows = Adjacency.of(len(variables))
        self._largest: dict[Pair, float] = {}

    def part(self, level: int) -> bool:
        """Part the pairs that some set of `level` neighbours separates; tell whether there was any set to try."""
        self._tell("skeleton")
        open_ = [pair for pair in self._graph.links() if not self._is_required(*pair)]
        # What separates a pair that knowledge parts is asked for as well: it tells colliders.
        open_ += [pair for pair in self._parted if pair not in self._separations]
        tried = [(pair, given) for pair in open_ for given in _sets(self._graph, pair, level)]
        found: Separations = {}
        for (pair, given), p_value in zip(tried, self._p_values(tried), strict=True):
            self._largest[pair] = max(p_value, self._largest.get(pair, 0.0))
            if p_value > self._alpha and (pair not in found or p_value > found[pair].p_value):
                found[pair] = Separation(mask_of(given), p_value)
        for pair, separation in sorted(found.items()):
            if pair in self._parted:
                continue
            self._graph = self._graph.changed(remove=[pair, pair[::-1]])
            self._note("skeleton", "remove", *pair, list(bits(separation.given)), separation.p_value)
        self._separations |= found
        return bool(tried)

    def p_values(self) -> dict[frozenset[str], float]:
        """Return the largest p-value met for every pair that is still joined."""
        name = self.variables
        tested = [pair for pair in self._graph.links() if pair in self._largest]
        return {frozenset((name[i], name[j])): self._largest[i, j] for i, j in tested}

    def _is_required(self, i: int, j: int) -> bool:
        return bool(self._limits.required[j] >> i & 1 or self._limits.required[i] >> j & 1)

    def _p_values(self, tried: Sequence[tuple[Pair, tuple[int, ...]]]) -> list[float]:
        name = self.variables
        queries = [Query(name[i], name[j], tuple(name[k] for k in given)) for (i, j), given in tried]
        p_values = [result.p_value for result in self._batch(queries)]
        for query, p_value in zip(queries, p_values, strict=True):
            if not 0.0 <= p_value <= 1.0:
                given = f" given {listed(query.given)}" if query.given else ""
                raise ComputationError(
                    f"the p-value of {quoted(query.x)} and {quoted(query.y)}{given} is {p_value}, "
                    "which is no probability: choose another test"
                )
        self._tests += len(queries)
        return p_values

    def orient(self) -> Adjacency:
        """Return the completed graph that the colliders lead to, with the directions that knowledge adds."""
        self._tell("orientation")
        known = self._known_arrows()
        self._arrows = self._graph
        judged = judged_colliders(self._graph, self._separations)
        graph = completed(extension(self._graph, compatible(judged, known), self._separations, known))
        there = {(a, b, c) for a, b, c in v_structures(graph)}
        for collider in judged:
            holds = (collider.a, collider.middle, collider.c) in there
            self._note_collider("collider" if holds else "drop", collider)
        before = {(collider.a, collider.middle, collider.c) for collider in judged}
        for a, b, c in sorted(there - before):
            self._note_collider("force", Collider(a, b, c, _weight(self._separations, (a, c))))
        closed = self._limits.directed(graph)
        assert closed is not None
        return closed

    def _known_arrows(self) -> list[Pair]:
        """Return the edges that may go only one way; while they go round in a circle, part the weakest pair of it."""
        while True:
            allowed = self._limits.allowed
            both = [arc for i, j in self._graph.links() for arc in ((i, j), (j, i))]
            arrows = [(i, j) for i, j in both if not allowed[i] >> j & 1]
            graph = Adjacency.of(self._graph.size, arrows)
            circle = [(i, j) for i, j in arrows if graph.reachable(j) >> i & 1 and not self._is_required(i, j)]
            if not circle:
                return arrows
            p_value, i, j = max((self._largest.get((min(arc), max(arc)), 0.0), *arc) for arc in circle)
            self._graph = self._arrows = self._graph.changed(remove=[(i, j), (j, i)])
            self._note("orientation", "remove", i, j, [], p_value)

    def _note_collider(self, operator: str, collider: Collider) -> None:
        if operator != "drop":
            self._arrows = self._arrows.changed(remove=[arc[::-1] for arc in collider.arcs])
        self._note("orientation", operator, collider.a, collider.middle, [collider.c], collider.weight)

    def _note(self, phase: str, operator: str, source: int, target: int, given: list[int], p_value: float) -> None:
        name = self.variables
        noted, self._noted = self._noted, self._graph if phase == "skeleton" else self._arrows
        self.trace.append(
            Step(
                number=len(self.trace) + 1,
                phase=phase,
                operator=operator,
                source=name[source],
                target=name[target],
                given=tuple(name[i] for i in given),
                gain=p_value,
                edges=self._graph.edge_count(),
                scores=self._tests,
                changes=changes(name, noted, self._noted),
            )
        )

    def _tell(self, phase: str) -> None:
        self._watch(Progress(phase, len(self.trace), self._graph.edge_count(), tuple(self.trace), batch="level"))


def _sets(graph: Adjacency, pair: Pair, size: int) -> list[tuple[int, ...]]:
    """Return the sets of so many neighbours of either end, without the ends, each once and in order."""
    i, j = pair
    around = (graph.adjacent(i) & ~(1 << j), graph.adjacent(j) & ~(1 << i))
    return sorted({given for nodes in around for given in combinations(bits(nodes), size)})


def judged_colliders(skeleton: Adjacency, separations: Separations) -> list[Collider]:
    """Return every a - b - c, a and c not joined, of which b does not help to separate a and c; heaviest first."""
    found = [
        Collider(a, b, c, separations[a, c].p_value)
        for b in range(skeleton.size)
        for a, c in combinations(bits(skeleton.adjacent(b)), 2)
        if (a, c) in separations and not separations[a, c].given >> b & 1
    ]
    return sorted(found, key=lambda collider: collider.key)


def compatible(colliders: Sequence[Collider], known: Sequence[Pair] = ()) -> list[Collider]:
    """Return those that neither oppose a known arrow or one of a collider before them, nor close a directed cycle."""
    nodes = [node for collider in colliders for node in (collider.middle, collider.c)]
    size = 1 + max([*nodes, *(node for arc in known for node in arc)], default=0)
    arrows, accepted = Adjacency.of(size, known), []
    for collider in colliders:
        # A path from the middle back to an end is a cycle; an opposing arrow is the shortest such path.
        if not arrows.reachable(collider.middle) & (1 << collider.a | 1 << collider.c):
            arrows = arrows.changed(add=collider.arcs)
            accepted.append(collider)
    return accepted


def extension(
    skeleton: Adjacency, colliders: Sequence[Collider], separations: Separations, known: Sequence[Pair] = ()
) -> Adjacency:
    """Return a DAG with this skeleton, the known arrows and, as far as that can be, exactly these colliders.

    The colliders are compatible, the heaviest first.
    """
    kept, forced = list(colliders), list(known)
    while True:
        arcs = [arc for collider in kept for arc in collider.arcs] + forced
        graph = skeleton.changed(remove=[(b, a) for a, b in arcs])
        order, stuck = _taken_away(graph)
        if not stuck:
            return _pointing(graph, order)
        within = [collider for collider in kept if _is_within(collider, stuck)]
        weight, last = _lightest_last(graph, stuck, separations)
        if within and within[-1].weight <= weight:
            kept.remove(within[-1])
        else:
            forced += [(i, last) for i in bits(graph.neighbours(last) & stuck)]


def _taken_away(graph: Adjacency) -> tuple[list[int], int]:
    """Take away nodes that can come last while there are any; return them, and those that are left."""
    order: list[int] = []
    left = (1 << graph.size) - 1
    while (last := next((x for x in bits(left) if _can_be_last(graph, x, left)), None)) is not None:
        order.append(last)
        left &= ~(1 << last)
    return order, left


def _can_be_last(graph: Adjacency, x: int, left: int) -> bool:
    return not graph.children(x) & left and not _new_colliders(graph, x, left)


def _new_colliders(graph: Adjacency, x: int, left: int) -> set[Pair]:
    """Return the ends of the colliders that there would be if all undirected edges pointed at x."""
    around = graph.adjacent(x) & left
    return {
        (min(i, j), max(i, j))
        for i in bits(graph.neighbours(x) & left)
        for j in bits(around & ~graph.adjacent(i) & ~(1 << i))
    }


def _lightest_last(graph: Adjacency, stuck: int, separations: Separations) -> tuple[float, int]:
    """Return the node that makes the lightest new colliders by coming last, and their weight."""
    return min(
        (sum(sorted(_weight(separations, pair) for pair in _new_colliders(graph, x, stuck))), x)
        for x in bits(stuck)
        if not graph.children(x) & stuck
    )


def _weight(separations: Separations, pair: Pair) -> float:
    """Return how strongly a pair was judged; knowledge that parts it says nothing about colliders."""
    return separations[pair].p_value if pair in separations else 0.0


def _is_within(collider: Collider, nodes: int) -> bool:
    """Tell whether an arrow of the collider lies among the nodes."""
    return bool(nodes >> collider.middle & 1 and nodes & (1 << collider.a | 1 << collider.c))


def _pointing(graph: Adjacency, last_first: Sequence[int]) -> Adjacency:
    """Return the DAG in which every edge points at the end that was taken away first."""
    place = {node: position for position, node in enumerate(last_first)}
    return graph.changed(remove=[(i, j) if place[i] < place[j] else (j, i) for i, j in graph.links()])
