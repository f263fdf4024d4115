"""What a watcher of `discover` is told: where the search is, what is queued, and how long that will take.

How long a whole search takes cannot be known before: every step decides what is scored next. What can be known is the
batch of scores that is queued: so many with so many parents each, and how long such scores took in this run. Of halves
of the rows it is known how many there will be.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from kerncause.parallel import Spread
from kerncause.search import Progress, Step
from kerncause.stop import Stop

# With fewer answers than this nothing is said about the time of others: of the first, workers answer several at once.
ENOUGH_ANSWERS = 4
HALVES = "halves"
# Whether it settles a value, and how many parents, or variables to condition on, it has: what its time depends on.
Sort = tuple[bool, int]


@dataclass(frozen=True)
class Status:
    """What a watcher of `discover` is told.

    Attributes:
        phase: what the search is doing: forward, backward, turning; order; sets of 3; skeleton, orientation; halves.
        step: the steps taken so far; of `halves`, how many are done.
        edges: of the graph it is at.
        scores: the local scores (or tests) there are so far, those found in a file included.
        seconds: since the beginning.
        found: of those scores, how many were found in the file of `cache` or `directory` and not computed.
        queued: the scores of the batch under way that are still to come; of `halves`, the halves.
        seconds_left: about how long until these are there; None where too little is known.
        left_of: what that is the time of: `this batch` (of scores), `this level` (of PC), `this size` (of sets in
            the exact search), or `the halves`. No time is given for the search as a whole: it cannot be known.
        budget_left: the seconds left of the time budget, if there is one.
        unit: what is counted: `score` or `test`.
        taken: the steps taken since the watcher was last told.
    """

    phase: str
    step: int
    edges: int
    scores: int
    seconds: float
    found: int = 0
    queued: int = 0
    seconds_left: float | None = None
    left_of: str = ""
    budget_left: float | None = None
    unit: str = "score"
    taken: tuple[Step, ...] = ()

    def later(self, seconds: float) -> "Status":
        """Return the same some seconds later, when nothing new is known."""
        left, budget = (None if s is None else max(s - seconds, 0.0) for s in (self.seconds_left, self.budget_left))
        return replace(self, seconds=self.seconds + seconds, seconds_left=left, budget_left=budget, taken=())


class Tempo:
    """How long answers take, by their sort, from the times between one answer and the next.

    With several workers these times are as much shorter as there are workers, so what is left of a batch is simply
    their sum over what is queued.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._last = clock, 0.0
        self._waiting: Counter[Sort] = Counter()
        self._seconds: defaultdict[Sort, float] = defaultdict(float)
        self._answers: Counter[Sort] = Counter()

    def begin(self, sorts: Iterable[Sort]) -> None:
        """Hear what is queued from now on."""
        self._waiting, self._last = Counter(sorts), self._clock()

    def answered(self, sort: Sort) -> None:
        """Hear that one is there."""
        now = self._clock()
        self._seconds[sort] += now - self._last
        self._answers[sort] += 1
        self._waiting[sort] -= 1
        self._last = now

    def seconds_left(self) -> float | None:
        """Return about how long the rest will take; None if there is none, or if nobody can tell yet."""
        left = +self._waiting
        if not left or self._answers.total() < ENOUGH_ANSWERS:
            return None
        return max(sum(number * self._usual(sort) for sort, number in left.items()) - (self._clock() - self._last), 0.0)

    def _usual(self, sort: Sort) -> float:
        """Return the mean time of this sort, or of the one most like it that there was."""
        settles, size = sort
        like = min(self._answers, key=lambda other: (other[0] != settles, abs(other[1] - size), -other[1]))
        return self._seconds[like] / self._answers[like]


class Told:
    """Turns the steps of a search and the answers to its questions into one stream of Status.

    Args:
        watch: is told.
        started: when the run began, by the clock.
        stop: knows the time budget.
        unit: what is counted.
        clock: tells the time.
    """

    def __init__(
        self,
        watch: Callable[[Status], None] | None = None,
        started: float = 0.0,
        stop: Stop | None = None,
        unit: str = "score",
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._watch, self._started, self._stop, self._unit, self._clock = watch, started, stop, unit, clock
        self._progress = Progress("forward", 0, 0)
        self._pace = Tempo(clock)
        self._steps = self._queued = self._computed = 0
        self.scores = 0

    def step(self, progress: Progress) -> None:
        """Hear where the search is."""
        self._progress = progress
        self._tell()

    def ended(self, trace: tuple[Step, ...]) -> None:
        """Hear of every step when the search is over: the last ones may not have been told."""
        if len(trace) > self._steps:
            self.step(replace(self._progress, step=len(trace), edges=trace[-1].edges, trace=trace))

    def asked(self, batch: Spread) -> Spread:
        """Return a batch that tells of every answer, wherever it comes from."""

        def answers(queries: Sequence[Any]) -> Generator[tuple[Any, Any]]:
            self._queued = len(queries)
            found = batch(queries)
            try:
                for query, answer in found:
                    self._queued -= 1
                    self.scores += _is_first(query)
                    self._tell()
                    yield query, answer
            finally:
                self._queued = 0
                found.close()

        return answers

    def computed(self, batch: Spread) -> Spread:
        """Return a batch of what has to be computed, with every answer timed."""

        def answers(queries: Sequence[Any]) -> Generator[tuple[Any, Any]]:
            self._pace.begin(map(_sort, queries))
            if queries:
                self._tell()
            found = batch(queries)
            try:
                for query, answer in found:
                    self._pace.answered(_sort(query))
                    self._computed += _is_first(query)
                    yield query, answer
            finally:
                self._pace.begin(())
                found.close()

        return answers

    def halves(self, count: int) -> Callable[[int], None]:
        """Return what is to be called with the number of halves done, of so many."""
        pace, before = Tempo(self._clock), None

        def replicate(done: int) -> None:
            nonlocal before
            if before is None:
                pace.begin([(False, 0)] * (count - done))
            else:
                pace.answered((False, 0))
            before, self._pace, self._queued = done, pace, count - done
            self.step(Progress(HALVES, done, self._progress.edges, batch=HALVES))

        return replicate

    def _tell(self) -> None:
        if self._watch is None:
            return
        progress, left = self._progress, self._pace.seconds_left()
        taken, self._steps = tuple(progress.trace[self._steps :]), max(self._steps, len(progress.trace))
        article = "the" if progress.batch == HALVES else "this"
        self._watch(
            Status(
                phase=progress.phase,
                step=progress.step,
                edges=progress.edges,
                scores=self.scores,
                seconds=self._clock() - self._started,
                found=self.scores - self._computed,
                queued=self._queued,
                seconds_left=left,
                left_of="" if left is None else f"{article} {progress.batch}",
                budget_left=None if self._stop is None else self._stop.seconds_left,
                unit=self._unit,
                taken=taken,
            )
        )


def _is_first(query: Any) -> bool:
    """Tell whether a query is of a score that was not there, and not the settling of one that was."""
    return getattr(query, "provisional", None) is None


def _sort(query: Any) -> Sort:
    return not _is_first(query), len(query.parents if hasattr(query, "parents") else query.given)
