"""Learning a graph from a Dataset by what was planned: a search with a score or a test, or a method of others."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kerncause.baselines import TIMEOUT, BaselineOutcome, run_baseline
from kerncause.data import Dataset
from kerncause.directions import footing_of, probability
from kerncause.errors import ComputationError, OptionError
from kerncause.graphs import DAG, PDAG
from kerncause.independence import IndependenceTest, make_test
from kerncause.memory import Staffing
from kerncause.parallel import Spread, batches, batches_of_tests
from kerncause.plan import Plan
from kerncause.result import Edge
from kerncause.scores import Comparison, Ledger, LocalFit, LocalScore, ScoreCache, make_score
from kerncause.scores.ledger import Batch, Query
from kerncause.screening import Screening, how_many
from kerncause.search import Outcome, Progress, Step, find_search
from kerncause.stop import Halt, Stop
from kerncause.text import listed
from kerncause.watch import Told


@dataclass(frozen=True, eq=False)
class Found:
    """What one way of discovery gives; `workers` fit into memory, None: all that are asked for."""

    graph: PDAG
    dag: DAG
    edges: tuple[Edge, ...]
    trace: tuple[Step, ...] = ()
    fits: Mapping[str, LocalFit] = field(default_factory=dict)
    computed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    ledger: Ledger | None = None
    finished: bool = True
    workers: int | None = None


@dataclass(frozen=True, eq=False)
class Learning:
    """One discovery under way."""

    table: Dataset
    plan: Plan
    seed: int
    workers: int | None
    executor: Executor | None
    told: Told
    cache: str | Path | None = None
    stop: Stop | None = None
    memory_limit: int | None = None

    def found(self) -> Found:
        """Do it, and look whether the graph obeys what is known."""
        found = {"score": self.by_score, "test": self.by_test, "method": self.by_method}[self.plan.by]()
        if broken := self.plan.knowledge.broken_by(found.graph):
            raise ComputationError(f"the search broke the knowledge it was given: {broken[0]}; please report this")
        return found

    def graphs(self) -> tuple[PDAG, DAG]:
        """Learn the graph and its DAG, and say nothing about their edges."""
        if self.plan.by != "score":
            found = self.found()
            return found.graph, found.dag
        chosen = self._score()
        with batches(chosen, self.workers, self.executor) as batch:
            outcome = self._searched(Ledger(chosen, batch))
        return outcome.graph, outcome.dag

    def by_score(self) -> Found:
        """Search with a score, and fit the local models of the best DAG."""
        parents = self.plan.search_options.get("max_parents")
        crew = Staffing.of(self._score(), self.workers, self.executor is not None, self.memory_limit, parents)
        chosen = crew.score
        options = {"score_options": dict(getattr(chosen, "options", self.plan.options)), **crew.settings}
        halt = Halt(self.stop)
        computing = batches(chosen, crew.workers, self.executor, halt)
        with computing as batch, self._looked_up(chosen, self.told.computed(batch)) as found:
            ledger = Ledger(chosen, self.told.asked(found), halt)
            outcome = self._searched(ledger)
            ledger.go_on()
            halt.off()
            fits, edges = _explained(outcome, ledger, self.table)
        return Found(
            outcome.graph,
            outcome.dag,
            edges,
            outcome.trace,
            fits,
            ledger.computed,
            options,
            ledger.at_rest(),
            outcome.finished,
            crew.workers,
        )

    @contextmanager
    def _looked_up(self, score: LocalScore, batch: Batch) -> Iterator[Batch]:
        """Give a batch that looks into the file of scores first, if there is to be one."""
        if self.cache is None:
            yield batch
            return
        path, shelf = self.cache, None
        with ExitStack() as opened:

            def looked_up(queries: Sequence[Query]) -> Generator[tuple[Query, LocalFit]]:
                nonlocal shelf
                if shelf is None:  # only now: a search that refuses its options leaves no file
                    shelf = opened.enter_context(ScoreCache.opened(path)).shelf(score)
                return shelf.batch(batch)(queries)

            yield looked_up

    def _score(self) -> LocalScore:
        score: LocalScore = (
            make_score(self.plan.score, self.table, **self.plan.options)
            if isinstance(self.plan.score, str)
            else _of_this_table("score", self.plan.score, self.table)
        )
        return score

    def _searched(self, subject: Any, **how: Any) -> Outcome:
        search = find_search(str(self.plan.search))
        options = dict(self.plan.search_options)
        if search.draws:
            how["seed"] = self.seed
        if search.screens:
            how["shortlist"] = self._shortlist(subject.variables, options.pop("candidates"))
        outcome = search.run(subject, watch=self.told.step, knowledge=self.plan.knowledge, **how, **options)
        self.told.ended(outcome.trace)
        return outcome

    def _shortlist(self, names: Sequence[str], candidates: int | str | None) -> Screening | None:
        """Look at every pair of variables once, if there are too many to try all."""
        most = how_many(candidates, len(names))
        return None if most is None or most >= len(names) - 1 else Screening(self.table, names, most)

    def by_test(self) -> Found:
        """Search with a test of independence."""
        plan, test = self.plan, self.plan.test
        chosen = (
            make_test(test, self.table, **plan.options)
            if isinstance(test, str)
            else _of_this_table("test", test, self.table)
        )

        def watched(batch: Spread) -> Spread:
            return self.told.asked(self.told.computed(batch))

        with batches_of_tests(chosen, self.workers, self.executor, watched) as batch:
            outcome = self._searched(chosen, batch=batch)
        p_values = outcome.p_values
        edges = _edges(outcome, self.table, lambda a, b: {"p_value": p_values.get(frozenset((a, b)))})
        options = {"test_options": dict(getattr(chosen, "options", plan.options))}
        return Found(outcome.graph, outcome.dag, edges, outcome.trace, computed=self.told.scores, settings=options)

    def by_method(self) -> Found:
        """Run a method that gives a DAG of its own."""
        plan = self.plan
        self.told.step(Progress(str(plan.method), 0, 0))
        outcome = run_baseline(
            str(plan.method),
            self.table,
            self.seed,
            TIMEOUT if plan.timeout is None else plan.timeout,
            self.workers or 1,
            **dict[str, Any](plan.options),
        )
        names, weights = list(outcome.weights.columns), outcome.weights.to_numpy(dtype=np.float64)

        def figures(parent: str, child: str) -> dict[str, float | None]:
            return {"weight": float(weights[names.index(parent), names.index(child)])}

        edges = _edges(outcome, self.table, figures)
        return Found(outcome.graph, outcome.dag, edges, computed=1)


def _of_this_table(what: str, subject: Any, table: Dataset) -> Any:
    """Refuse a score or test object that is none, or was made for another table."""
    is_one = isinstance(subject, LocalScore if what == "score" else IndependenceTest)
    method = "local_score(target, parents)" if what == "score" else "test(x, y, given)"
    if not is_one:
        raise OptionError(f"the {what} has no variables or no {method}: give a name or such an object")
    if set(subject.variables) != set(table.names):
        raise OptionError(f"the {what} is for {listed(subject.variables)}, the table has {listed(table.names)}")
    other = getattr(subject, "data", table)
    if isinstance(other, Dataset) and other.hash != table.hash:
        raise OptionError(f"the {what} was made for another table with the same names: make it for this one")
    return subject


def _explained(outcome: Outcome, ledger: Ledger, table: Dataset) -> tuple[dict[str, LocalFit], tuple[Edge, ...]]:
    """Fit the local models of the best DAG, and say what each edge is worth in it."""
    wholes = {name: outcome.dag.parents(name) for name in table.names}
    without = {
        (parent, child): Comparison(child, parents - {parent}, parents)
        for child, parents in wholes.items()
        for parent in parents
    }
    same = [Comparison(name, parents, parents) for name, parents in wholes.items()]
    ledger.prepare([*same, *without.values()], settled=True)
    fits = {name: ledger.fit(name, parents) for name, parents in wholes.items()}
    gains = {ends: ledger.gain(comparison) for ends, comparison in without.items()}

    footing = footing_of(ledger.score)

    def figures(parent: str, child: str) -> dict[str, float | None]:
        width, preferred = fits[child].bandwidths.get(parent), outcome.preferences.get((parent, child))
        found = {"gain": gains[parent, child], "bandwidth": width}
        if preferred is None:
            return found
        right = None
        if footing is not None:
            at_stake = sum(max(gains[ends], 0.0) for ends in preferred.turned)
            kinds = table.variable(parent).kind, table.variable(child).kind
            right = probability(preferred.nats, at_stake, width, kinds, footing)
        return {**found, "preference": preferred.nats, "probability": right}

    return fits, _edges(outcome, table, figures)


def _edges(
    found: Outcome | BaselineOutcome, table: Dataset, figures: Callable[[str, str], Mapping[str, float | None]]
) -> tuple[Edge, ...]:
    """Return every edge as it is in the DAG, in the order of the table, with its figures."""
    place = {name: i for i, name in enumerate(table.names)}
    ends = sorted(found.dag.edges, key=lambda pair: (place[pair[0]], place[pair[1]]))
    return tuple(Edge(a, b, a in found.graph.parents(b), **figures(a, b)) for a, b in ends)
