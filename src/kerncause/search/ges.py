"""Greedy equivalence search (Chickering 2002) for any local score.

Forward: while some insertion gains, take the best. Backward: while some deletion gains, take the best.
Optionally, turning: while some turn gains, take the best, and begin again with forward after the last.

* It ends. Forward adds an edge each time and backward removes one, so both are finite. The scores of this
  package are not score-equivalent, so the gains along a ring of turns need not add up to zero and turning
  could go round for ever: a turn may lead only to a class that this search has not been in, each repetition
  needs at least one turn, and there are finitely many classes.
* Chickering assumes a score-equivalent score. With others an undirected edge can come in for its gain one way
  round and go out for its gain the other way round: y = sin(4x) + e gains 102 nats from x -> y, and then 1.5
  from deleting y -> x. So an undirected edge is deleted only if that gains both ways round
  (`careful=True`); for score-equivalent scores this changes nothing. `careful=False` is the algorithm as
  published and as the paper used it.
* It honours `max_parents` exactly: an insertion or turn that gives its target more parents is not
  considered. All DAGs of a class have the same largest number of parents, so this bounds every member.
* It is deterministic: gains within 1e-7 of the best count as tied, and the tie goes to the first operator in
  the order of the score's variables, which a Dataset derives from content, not from position or name.
* With knowledge it begins with the required edges, and goes only to classes with a DAG that obeys. An operator is
  judged by the DAGs that may be before and after it: an edge that can only go one way is not judged by the other.
* A shortlist says which pairs may be joined (`kerncause.screening`), and more of them whenever no insertion gains any
  more (`Pairs`). Without one all pairs are tried.
* Each local score is computed once (`Ledger`), the new ones of a step in one batch. Provisional values decide
  nothing that they could decide wrongly.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

from kerncause.errors import OptionError
from kerncause.graphs import Adjacency, bits, completed, mask_of
from kerncause.knowledge import Knowledge, Limits
from kerncause.scores import Comparison, Ledger, LocalScore
from kerncause.search.base import Outcome, Progress, Shortlist, Step, Watcher, changes
from kerncause.search.choice import TIE, choosing, together
from kerncause.search.members import outcome_of, unfinished
from kerncause.search.operators import (
    NO_LIMIT,
    Change,
    Enumerate,
    Insertions,
    Operator,
    applied,
    careful_deletions,
    deletions,
    turns,
)
from kerncause.stop import Stopped


def ges(
    score: LocalScore | Ledger,
    *,
    max_parents: int | None = None,
    turning: bool = False,
    careful: bool = True,
    knowledge: Knowledge | None = None,
    shortlist: Shortlist | None = None,
    watch: Watcher | None = None,
) -> Outcome:
    """Search the equivalence classes of DAGs for one that scores high.

    Args:
        score: any local score, or a ledger that computes its batches elsewhere.
        max_parents: no DAG of the result has a node with more parents.
        turning: whether to try turning edges after the backward phase.
        careful: whether deleting an undirected edge must gain in both of its directions.
        knowledge: what the result must obey.
        shortlist: says which pairs to look at; None: all.
        watch: called at every step with where the search is.
    """
    ledger = Ledger.of(score)
    limits = Knowledge.of(knowledge).limits(ledger.variables)
    run = _Run(ledger, parent_limit(max_parents, limits), limits, watch or (lambda _: None))
    backward = careful_deletions if careful else deletions
    try:
        pairs = Pairs(shortlist, limits)
        run.grow(pairs)
        run.climb("backward", backward)
        while turning and run.climb("turning", turns, only_new=True):
            run.grow(pairs)
            run.climb("backward", backward)
    except Stopped:
        return unfinished(ledger, run.graph, limits, run.trace)
    return outcome_of(ledger, run.graph, limits, run.trace)


def parent_limit(max_parents: int | None, limits: Limits) -> int:
    """Return how many parents a node may have; refuse what is no number, or less than knowledge requires."""
    if max_parents is None:
        return NO_LIMIT
    if max_parents < 0 or max_parents != int(max_parents):
        raise OptionError(
            f"max_parents (--max-parents) cannot be {max_parents}: "
            "give a whole number of 0 or more, or leave it out for no limit"
        )
    needed = max((required.bit_count() for required in limits.required), default=0)
    if needed > max_parents:
        raise OptionError(
            f"max_parents (--max-parents) is {max_parents}, but knowledge requires {needed} parents of one variable: "
            "raise the limit, or require less"
        )
    return int(max_parents)


class Pairs:
    """The pairs that a search looks at.

    Attributes:
        open: for each variable those it may be joined to; None: all.
    """

    def __init__(self, shortlist: Shortlist | None, limits: Limits) -> None:
        self._shortlist, self._limits = shortlist, limits
        self._may_be = _either_way(limits.allowed)
        self.open = (
            (None if limits.say_nothing else self._may_be) if shortlist is None else shortlist.first(limits.allowed)
        )

    def widened(self, graph: Adjacency) -> bool:
        """Look again from where the search has come to; tell whether there are new pairs.

        Those that the shortlist adds, and the ends of every two edges that meet: with the true pairs alone a greedy
        search can end in the wrong class, with these it does not (Nandy, Hauser and Maathuis 2018).
        """
        if self._shortlist is None or self.open is None:
            return False
        joined = tuple(graph.adjacent(i) for i in range(graph.size))
        before, found = self.open, self._shortlist.further(self._limits.allowed, joined, self.open)
        self.open = tuple(mask | self._meeting(joined, i) & self._may_be[i] for i, mask in enumerate(found))
        return self.open != before

    @staticmethod
    def _meeting(joined: tuple[int, ...], i: int) -> int:
        """Return what is joined to something that i is joined to."""
        met = 0
        for k in bits(joined[i]):
            met |= joined[k]
        return met & ~(1 << i)


def _either_way(allowed: tuple[int, ...]) -> tuple[int, ...]:
    """Return for each node those that it may be joined to by an arrow either way."""
    children = [mask_of(j for j, mask in enumerate(allowed) if mask >> i & 1) for i in range(len(allowed))]
    return tuple(parents | others for parents, others in zip(allowed, children, strict=True))


class _Run:
    """One search under way: the graph it is at, and the steps that led there."""

    def __init__(self, ledger: Ledger, max_parents: int, limits: Limits, watch: Watcher) -> None:
        self.ledger = ledger
        self.graph = completed(limits.least())
        self.trace: list[Step] = []
        self._noted = Adjacency.of(len(ledger.variables))
        self._max_parents = max_parents
        self._limits = limits
        self._watch = watch
        self._visited = {self.graph}
        self._compared: dict[Change, Comparison] = {}

    @cached_property
    def _beginning(self) -> float:
        """What is required is worth, which is there before the first step."""
        required = self._comparisons([Change(node, 0, mask) for node, mask in enumerate(self._limits.required) if mask])
        return sum(map(self.ledger.gain, required))

    def grow(self, pairs: "Pairs") -> None:
        """Insert while that gains, and as long as there are new pairs to look at."""
        insertions = Insertions(pairs.open)
        self.climb("forward", insertions)
        while pairs.widened(self.graph):
            insertions.among = pairs.open
            if not self.climb("forward", insertions):
                return

    def climb(self, phase: str, operators: Enumerate, only_new: bool = False) -> int:
        """Take the best operator while it gains; return how many were taken."""
        taken = 0
        while True:
            self._watch(Progress(phase, len(self.trace), self.graph.edge_count(), tuple(self.trace)))
            least = TIE if phase == "backward" else max(TIE, self.ledger.resolution)
            sound, others = self._sorted_out(operators(self.graph, self._max_parents))
            move = self._best(sound, least, only_new) or self._best(self._unlike(others, sound), least, only_new)
            if move is None:
                return taken
            operator, gain, self.graph = move
            self._visited.add(self.graph)
            self.trace.append(self._step(phase, operator, gain))
            taken += 1

    def _best(
        self, operators: Sequence[Operator], least: float, only_new: bool
    ) -> tuple[Operator, float, Adjacency] | None:
        """Return the best gaining operator, its gain and where it leads."""
        compared = {op: [self._comparisons(reading) for reading in op.readings] for op in operators}

        def first(gains: Mapping[Operator, float]) -> Operator | None:
            return next(
                (op for op in best_first(gains, least) if self._may_go(applied(self.graph, op), only_new)), None
            )

        [chosen] = together(self.ledger, [choosing(self.ledger, compared, first)])
        return None if chosen is None else (*chosen, applied(self.graph, chosen[0]))

    def _sorted_out(self, operators: Iterator[Operator]) -> tuple[list[Operator], list[Operator]]:
        """Return the operators with the readings that knowledge permits, and apart from them those without any.

        The others may still lead to a class with a DAG that obeys, which is looked at when one is taken, but they are
        judged by a DAG that does not: so only where nothing else gains, and only those that lead elsewhere.
        """
        if self._limits.say_nothing:
            return list(operators), []
        sound, others = [], []
        for op in operators:
            permitted = tuple(reading for reading in op.readings if all(map(self._permits, reading)))
            if permitted:
                sound.append(op._replace(readings=permitted))
            else:
                others.append(op)
        return sound, others

    def _unlike(self, others: Sequence[Operator], sound: Sequence[Operator]) -> list[Operator]:
        """Return the others that lead to a class to which no sound operator of the same pair leads."""
        pairs = {frozenset((op.source, op.target)) for op in others}
        near = [op for op in sound if frozenset((op.source, op.target)) in pairs]
        judged = {applied(self.graph, op) for op in near}
        return [op for op in others if applied(self.graph, op) not in judged]

    def _permits(self, change: Change) -> bool:
        return all(self._limits.permit(change.node, parents) for parents in (change.before, change.after))

    def _may_go(self, graph: Adjacency, only_new: bool) -> bool:
        """Tell whether a class may be the next: knowledge has a DAG in it, and it is new if it must be."""
        return not (only_new and graph in self._visited) and self._limits.directed(graph) is not None

    def _comparisons(self, reading: Sequence[Change]) -> list[Comparison]:
        return [self._comparison(change) for change in reading]

    def _comparison(self, change: Change) -> Comparison:
        if change not in self._compared:
            name = self.ledger.variables
            before, after = (frozenset(name[i] for i in bits(mask)) for mask in (change.before, change.after))
            self._compared[change] = Comparison(name[change.node], before, after)
        return self._compared[change]

    def _step(self, phase: str, operator: Operator, gain: float) -> Step:
        name = self.ledger.variables
        noted, self._noted = self._noted, self.graph
        return Step(
            number=len(self.trace) + 1,
            phase=phase,
            operator=operator.kind,
            source=name[operator.source],
            target=name[operator.target],
            given=tuple(name[i] for i in bits(operator.given)),
            gain=gain,
            edges=self.graph.edge_count(),
            scores=self.ledger.computed,
            total=gain + (self.trace[-1].total or 0.0 if self.trace else self._beginning),
            changes=changes(name, noted, self.graph),
        )


def best_first(gains: Mapping[Operator, float], least: float) -> Iterator[Operator]:
    """Iterate over the operators that gain more than the least, best first; within a tie in their own order."""
    left = sorted((op for op, gain in gains.items() if gain > least), key=lambda op: -gains[op])
    while left:
        tied = [op for op in left if gains[op] >= gains[left[0]] - TIE]
        yield from sorted(tied)
        left = left[len(tied) :]
