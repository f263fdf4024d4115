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
* Each local score is computed once (`Ledger`), the new ones of a step in one batch. Provisional values decide
  nothing that they could decide wrongly.
"""

from collections.abc import Iterator, Sequence

from kerncause.errors import OptionError
from kerncause.graphs import CPDAG, Adjacency, bits
from kerncause.scores import Comparison, Ledger, LocalScore
from kerncause.search.base import Outcome, Progress, Step, Watcher
from kerncause.search.operators import (
    NO_LIMIT,
    Change,
    Enumerate,
    Operator,
    applied,
    careful_deletions,
    deletions,
    insertions,
    turns,
)

# Nats: gains this close are equal, and a gain no larger is none. Far below what decides an edge, far above
# the rounding of a sum of scores. What adds or turns an edge must gain more than the score's resolution as well.
TIE = 1e-7


def ges(
    score: LocalScore | Ledger,
    *,
    max_parents: int | None = None,
    turning: bool = False,
    careful: bool = True,
    watch: Watcher | None = None,
) -> Outcome:
    """Search the equivalence classes of DAGs for one that scores high.

    Args:
        score: any local score, or a ledger that computes its batches elsewhere.
        max_parents: no DAG of the result has a node with more parents.
        turning: whether to try turning edges after the backward phase.
        careful: whether deleting an undirected edge must gain in both of its directions.
        watch: called at every step with where the search is.
    """
    if max_parents is not None and (max_parents < 0 or max_parents != int(max_parents)):
        raise OptionError(
            f"max_parents (--max-parents) cannot be {max_parents}: "
            "give a whole number of 0 or more, or leave it out for no limit"
        )
    run = _Run(Ledger.of(score), NO_LIMIT if max_parents is None else max_parents, watch or (lambda _: None))
    backward = careful_deletions if careful else deletions
    run.climb("forward", insertions)
    run.climb("backward", backward)
    while turning and run.climb("turning", turns, only_new=True):
        run.climb("forward", insertions)
        run.climb("backward", backward)
    return Outcome(CPDAG.of(run.ledger.variables, run.graph), tuple(run.trace))


class _Run:
    """One search under way: the graph it is at, and the steps that led there."""

    def __init__(self, ledger: Ledger, max_parents: int, watch: Watcher) -> None:
        self.ledger = ledger
        self.graph = Adjacency.of(len(ledger.variables))
        self.trace: list[Step] = []
        self._max_parents = max_parents
        self._watch = watch
        self._visited = {self.graph}

    def climb(self, phase: str, operators: Enumerate, only_new: bool = False) -> int:
        """Take the best operator while it gains; return how many were taken."""
        taken = 0
        while True:
            self._watch(Progress(phase, len(self.trace), self.graph.edge_count()))
            least = TIE if phase == "backward" else max(TIE, self.ledger.resolution)
            move = self._best(list(operators(self.graph, self._max_parents)), least, only_new)
            if move is None:
                return taken
            operator, gain, self.graph = move
            self._visited.add(self.graph)
            self.trace.append(self._step(phase, operator, gain))
            taken += 1

    def _best(
        self, operators: list[Operator], least: float, only_new: bool
    ) -> tuple[Operator, float, Adjacency] | None:
        """Return the best gaining operator, its gain and where it leads.

        The score may give provisional values at first. Those are settled on which the choice depends: of the
        best operator, and of every other that comes close to it, or to gaining.
        """
        compared = {op: [self._comparisons(reading) for reading in op.readings] for op in operators}
        self.ledger.prepare(c for readings in compared.values() for reading in readings for c in reading)
        while True:
            gains = {op: self._gain(readings) for op, readings in compared.items()}
            best = self._first(gains, least, only_new)
            doubts = {op: max(sum(map(self.ledger.doubt, r)) for r in readings) for op, readings in compared.items()}
            close = gains[best[0]] - doubts[best[0]] if best else 0.0
            contenders = [op for op, gain in gains.items() if gain + doubts[op] >= close]
            decisive = [c for op in contenders for reading in compared[op] for c in reading]
            if all(map(self.ledger.is_settled, decisive)):
                return (best[0], gains[best[0]], best[1]) if best else None
            self.ledger.prepare(decisive, settled=True)

    def _gain(self, readings: Sequence[Sequence[Comparison]]) -> float:
        return min(sum(map(self.ledger.gain, reading)) for reading in readings)

    def _first(self, gains: dict[Operator, float], least: float, only_new: bool) -> tuple[Operator, Adjacency] | None:
        """Return the best gaining operator that may be taken, and where it leads."""
        for operator in _best_first(gains, least):
            graph = applied(self.graph, operator)
            if not only_new or graph not in self._visited:
                return operator, graph
        return None

    def _comparisons(self, reading: Sequence[Change]) -> list[Comparison]:
        name = self.ledger.variables
        return [
            Comparison(
                name[change.node],
                frozenset(name[i] for i in bits(change.before)),
                frozenset(name[i] for i in bits(change.after)),
            )
            for change in reading
        ]

    def _step(self, phase: str, operator: Operator, gain: float) -> Step:
        name = self.ledger.variables
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
        )


def _best_first(gains: dict[Operator, float], least: float) -> Iterator[Operator]:
    """Iterate over the operators that gain more than the least, best first; within a tie in their own order."""
    left = sorted((op for op, gain in gains.items() if gain > least), key=lambda op: -gains[op])
    while left:
        tied = [op for op in left if gains[op] >= gains[left[0]] - TIE]
        yield from sorted(tied)
        left = left[len(tied) :]
