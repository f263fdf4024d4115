"""How sure a graph is: the same search on many halves of the table.

* Each replicate draws half of the rows without replacement and learns a graph from them, with the settings of the
  whole. `how="bootstrap"` draws as many rows as there are, with replacement: rows that come twice are ties, and ties
  make kernel scores see structure where there is none, so its frequencies are too high.
* Kernel scores begin where the fits of the whole table ended (`kerncause.scores.warm`); the search itself begins anew.
* Replicate k of a seed draws the same rows whatever else runs, so replicates can be computed in any order, by any
  number of processes, and another time: with a file (`--out DIR --resume`) those that are there are kept.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import Any, get_args

import numpy as np

from kerncause.confidence import Confidence, How, Replicate
from kerncause.data import Dataset, OfTable
from kerncause.errors import OptionError
from kerncause.journal import Journal, writing
from kerncause.learn import Learning
from kerncause.parallel import Trade, spread_over
from kerncause.plan import Plan
from kerncause.scores import Ledger
from kerncause.scores.cache import SCORE_VERSION
from kerncause.scores.kernel import KernelScore
from kerncause.scores.warm import WarmScore, Whole
from kerncause.text import quoted
from kerncause.watch import Told

FILE = "confidence.jsonl"


@dataclass(frozen=True, eq=False)
class Repeating:
    """What is to be learned again, and on which rows.

    Attributes:
        table: the whole table.
        plan: how a graph is learned from it.
        seed: of the search, and of the rows that are drawn.
        how: which rows a replicate has.
        whole: the fits on the whole table to begin from, if the score is a kernel score.
    """

    table: Dataset
    plan: Plan
    seed: int
    how: How
    whole: Whole | None = field(default=None, repr=False)

    @classmethod
    def of(cls, table: Dataset, plan: Plan, seed: int, how: How, ledger: Ledger | None) -> "Repeating":
        """Repeat what a plan found, with the scores it computed for that."""
        score = None if ledger is None else ledger.score
        whole = Whole(score, ledger) if ledger is not None and isinstance(score, KernelScore) else None
        return cls(table, plan, seed, how, whole)

    def replicate(self, number: int) -> Replicate:
        """Learn the graph of one replicate, on one core."""
        table = self._rows_of(self.table, number)
        graph, dag = Learning(table, self.planned_for(table, number), self.seed, 1, None, Told()).graphs()
        return Replicate(number, graph.directed_edges, graph.undirected_edges, dag.edges)

    def _rows_of(self, table: Dataset, number: int) -> Dataset:
        """Return the rows of a replicate, of the table or of the table as a score sees it."""
        rng = np.random.default_rng([self.seed, number, get_args(How).index(self.how)])
        return table.sampled(rng, self.how == "bootstrap")

    def planned_for(self, table: Dataset, number: int) -> Plan:
        """Return the plan for the rows of a replicate: a score or test that is made already is made again for them.

        A kernel score sees them on the scale of the whole table, with the categories that there are in the whole.
        """
        plan = self.plan
        if plan.by == "test":
            return replace(plan, test=_made_again(plan.test, table, "test"))
        if plan.by == "score" and self.whole is not None:
            score = type(self.whole.score)(self._rows_of(self.whole.score.data, number), **self.whole.score.options)
            return replace(plan, score=WarmScore(score, self.whole))
        return replace(plan, score=_made_again(plan.score, table, "score")) if plan.by == "score" else plan


def _made_again(subject: Any, table: Dataset, what: str) -> Any:
    if subject is None or isinstance(subject, str):
        return subject
    if isinstance(subject, OfTable):
        return type(subject)(table, **subject.options)
    raise OptionError(
        f"confidence needs a {what} that can be made for other rows: give one of this package, by name or as an object"
    )


@dataclass(frozen=True)
class Repeat:
    """What is asked for.

    Attributes:
        count: how many replicates.
        how: which rows they have.
        directory: where to keep what is done, in `confidence.jsonl`; None: nowhere.
        resume: whether to go on with what is there.
    """

    count: int
    how: How
    directory: str | Path | None = None
    resume: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.count, bool) or not isinstance(self.count, Integral) or self.count < 1:
            raise OptionError(f"confidence (--confidence) cannot be {self.count}: give how many halves, such as 100")
        if self.how not in get_args(How):
            raise OptionError(
                f"confidence_rows (--confidence-rows) cannot be {quoted(self.how)}: choose half or bootstrap"
            )
        if self.resume and self.directory is None:
            raise OptionError("resume (--resume) needs the directory (--out) to go on with")

    def check(self, table: Dataset, plan: Plan, seed: int) -> None:
        """Refuse, before any work is done, a file that cannot be gone on with, and a plan that cannot be repeated."""
        work = Repeating(table, plan, seed, self.how)
        work.planned_for(table, 0)
        with self._journal(work):
            pass

    def done(
        self,
        work: Repeating,
        workers: int | None = None,
        executor: Executor | None = None,
        watch: Callable[[int], None] | None = None,
        stop: Callable[[], bool] | None = None,
    ) -> Confidence | None:
        """Learn the graphs of all replicates that are not there; None if it was stopped before there was one.

        Args:
            work: what is to be repeated.
            workers: processes; None means one per core.
            executor: learns the replicates instead; it is not shut down.
            watch: called with the number of replicates done.
            stop: tells after each whether to be content with those.
        """
        tell = watch or (lambda _: None)
        with self._journal(work) as journal:
            records = [] if journal is None else journal.records
            found = {r.number: r for r in map(Replicate.from_json, records) if r.number < self.count}
            tell(len(found))
            missing = [k for k in range(self.count) if k not in found]
            for replicate in _computed(work, missing, workers, executor):
                if journal is not None:
                    journal.add(replicate.as_json())
                found[replicate.number] = replicate
                tell(len(found))
                if stop is not None and stop():
                    break
        return Confidence.of(work.table.names, [found[k] for k in sorted(found)], self.how) if found else None

    @contextmanager
    def _journal(self, work: Repeating) -> Iterator[Journal | None]:
        """Open the file of the replicates, if there is to be one."""
        if self.directory is None:
            yield None
            return
        subject = work.plan.score if work.plan.by == "score" else work.plan.test
        asked = {
            **work.plan.settings(work.seed, 1, None),
            "workers": None,
            "options": dict(getattr(subject, "options", work.plan.options)),
            "scores": SCORE_VERSION,
        }
        settings = json.dumps(asked, sort_keys=True, default=str)
        head = {
            "confidence": self.how,
            "data": work.table.hash[:12],
            "seed": work.seed,
            "settings": hashlib.sha256(settings.encode()).hexdigest()[:12],
        }
        with writing(Path(self.directory) / FILE, head, self.resume, begin_anew=True) as journal:
            yield journal


def _replicate(work: Repeating, number: int) -> Replicate:
    return work.replicate(number)


def _in_words(number: int) -> str:
    return f"the graph of half {number + 1}"


_REPEATING = Trade(_replicate, _in_words)


def _computed(
    work: Repeating, numbers: Sequence[int], workers: int | None, executor: Executor | None
) -> Iterator[Replicate]:
    """Compute replicates in so many processes or on an executor, and give each when it is there."""
    if not numbers:
        return
    with spread_over(_REPEATING, work, workers, executor) as batch, closing(batch(numbers)) as answers:
        yield from (replicate for _, replicate in answers)
