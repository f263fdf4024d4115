"""The one front door: a table in, a Result out."""

import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kerncause.baselines import TIMEOUT, run_baseline
from kerncause.data import Dataset, Missing, read_table
from kerncause.errors import DataWarning, OptionError
from kerncause.graphs import CPDAG, DAG
from kerncause.independence import IndependenceTest, make_test
from kerncause.parallel import batches, batches_of_tests
from kerncause.plan import Plan
from kerncause.result import Edge, Result
from kerncause.scores import Comparison, Ledger, LocalFit, LocalScore, make_score
from kerncause.search import Outcome, Progress, Step, find_search
from kerncause.text import listed

Table = Dataset | pd.DataFrame | npt.NDArray[Any] | str | Path


@dataclass(frozen=True)
class Status:
    """What a watcher of `discover` is told: where the search is, scores computed, seconds gone."""

    phase: str
    step: int
    edges: int
    scores: int
    seconds: float


def discover(
    data: Table,
    score: str | LocalScore | None = None,
    search: str | None = None,
    preset: str | None = None,
    seed: int = 0,
    workers: int | None = None,
    *,
    method: str | None = None,
    test: str | IndependenceTest | None = None,
    executor: Executor | None = None,
    kinds: Mapping[str, str] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    missing: Missing = "error",
    na_values: Collection[object] | Mapping[str, Collection[object]] = (),
    drop: Collection[str] = (),
    max_parents: int | None = None,
    turning: bool | None = None,
    careful: bool | None = None,
    alpha: float | None = None,
    max_given: int | None = None,
    timeout: float | None = None,
    score_options: Mapping[str, Any] | None = None,
    test_options: Mapping[str, Any] | None = None,
    method_options: Mapping[str, Any] | None = None,
    watch: Callable[[Status], None] | None = None,
) -> Result:
    """Learn a causal graph from a table: by a search with a score, by PC with tests, or by another method.

    Args:
        data: a DataFrame, an array, a path to a CSV, TSV or Parquet file, or a Dataset.
        score: the name of a score, or a score object; `learned` if nothing is said.
        search: the name of a search: `ges` (by a score, the default) or `pc` (by a test).
        preset: `paper` for the setting of Wang et al. (2024).
        seed: recorded with the result, and used by the methods that draw random numbers.
        workers: processes to score candidates with; None means one per core. The result is the same.
        method: `notears`, `notears-mlp`, `dag-gnn` or `dibs` instead of a search; needs the extra `baselines`. It runs
            on as many threads as there are workers, one if nothing is said.
        test: the name of a test for `pc`, or a test object; `kci` if nothing is said.
        executor: any `concurrent.futures.Executor` to score candidates on instead; it is not shut down.
        kinds: see `Dataset.from_frame`, as for `groups`, `levels`, `missing`, `na_values` and `drop`.
        groups: columns that make up one vector variable.
        levels: the order of ordinal values.
        missing: what to do about missing values.
        na_values: texts that mean a missing value.
        drop: columns to leave out.
        max_parents: of GES: no variable gets more parents than this.
        turning: whether GES tries turning edges at the end (it does not if nothing is said).
        careful: whether GES deletes an undirected edge only if that gains in both of its directions (it does).
        alpha: of PC: a pair is parted where the p-value is larger; 0.05 if nothing is said.
        max_given: of PC: condition on no more variables than this.
        timeout: of a method: seconds after which it is stopped with an error.
        score_options: keyword arguments of the score, such as `{"bandwidths": "shared"}`.
        test_options: keyword arguments of the test.
        method_options: settings of the method.
        watch: called with a Status at every step and after every score.
    """
    started = time.perf_counter()
    asked = {"max_parents": max_parents, "turning": turning, "careful": careful, "alpha": alpha, "max_given": max_given}
    plan = Plan.of(
        score,
        search,
        preset,
        workers,
        method,
        test,
        asked,
        score_options,
        test_options,
        method_options,
        timeout,
    )
    if executor is not None and not isinstance(executor, Executor):
        raise OptionError(f"executor is a {type(executor).__name__}: give a concurrent.futures.Executor, or workers")
    table = _dataset(
        data,
        {
            "kinds": kinds,
            "groups": groups,
            "levels": levels,
            "missing": missing,
            "na_values": na_values,
            "drop": drop,
        },
    )
    for notice in table.notices:
        warnings.warn(notice, DataWarning, stacklevel=2)
    run = _Run(table, plan, seed, workers, executor, _Told(watch, started))
    found = {"score": run.by_score, "test": run.by_test, "method": run.by_method}[plan.by]()
    return Result(
        graph=found.graph.reordered(table.names),
        member=found.member.reordered(table.names),
        fits=found.fits,
        edge_list=found.edges,
        trace=found.trace,
        settings={**plan.settings(seed, workers, executor), **found.settings, "table": table.options.as_json()},
        data=table,
        seconds=time.perf_counter() - started,
        scores_computed=found.computed,
        by=plan.by,
    )


@dataclass(frozen=True, eq=False)
class _Found:
    """What one way of discovery gives."""

    graph: CPDAG
    member: DAG
    edges: tuple[Edge, ...]
    trace: tuple[Step, ...] = ()
    fits: Mapping[str, LocalFit] = field(default_factory=dict)
    computed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Run:
    """One discovery under way."""

    table: Dataset
    plan: Plan
    seed: int
    workers: int | None
    executor: Executor | None
    told: "_Told"

    def by_score(self) -> _Found:
        """Search with a score, and fit the local models of one member of the class."""
        plan, score = self.plan, self.plan.score
        chosen = (
            make_score(score, self.table, **plan.options)
            if isinstance(score, str)
            else _of_this_table("score", score, self.table)
        )
        options = {"score_options": dict(getattr(chosen, "options", plan.options))}
        with batches(chosen, self.workers, self.executor) as batch:
            ledger = Ledger(chosen, batch, self.told.score)
            outcome = find_search(str(plan.search)).run(ledger, watch=self.told.step, **plan.search_options)
            member, fits, edges = _explained(outcome, ledger, self.table)
        return _Found(outcome.graph, member, edges, outcome.trace, fits, ledger.computed, options)

    def by_test(self) -> _Found:
        """Search with a test of independence."""
        plan, test = self.plan, self.plan.test
        chosen = (
            make_test(test, self.table, **plan.options)
            if isinstance(test, str)
            else _of_this_table("test", test, self.table)
        )
        with batches_of_tests(chosen, self.workers, self.executor) as batch:
            counted = self.told.counting(batch)
            run = find_search(str(plan.search)).run
            outcome = run(chosen, watch=self.told.step, batch=counted, **plan.search_options)
        member = outcome.graph.to_dag()
        edges = _edges(outcome.graph, member, self.table, lambda a, b: {"p_value": outcome.p_values[frozenset((a, b))]})
        options = {"test_options": dict(getattr(chosen, "options", plan.options))}
        return _Found(outcome.graph, member, edges, outcome.trace, computed=self.told.scores, settings=options)

    def by_method(self) -> _Found:
        """Run a method that gives a DAG of its own."""
        plan = self.plan
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

        edges = _edges(outcome.graph, outcome.dag, self.table, figures)
        return _Found(outcome.graph, outcome.dag, edges, computed=1)


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


class _Told:
    """Turns the search's steps and the ledger's scores into one stream of Status."""

    def __init__(self, watch: Callable[[Status], None] | None, started: float) -> None:
        self._watch = watch
        self._started = started
        self._progress = Progress("forward", 0, 0)
        self.scores = 0

    def step(self, progress: Progress) -> None:
        self._progress = progress
        self._tell()

    def score(self) -> None:
        self.scores += 1
        self._tell()

    def counting(self, batch: Callable[[Sequence[Any]], Iterable[Any]]) -> Callable[[Sequence[Any]], Iterator[Any]]:
        """Return the batch with every answer counted."""

        def counted(queries: Sequence[Any]) -> Iterator[Any]:
            for answer in batch(queries):
                self.score()
                yield answer

        return counted

    def _tell(self) -> None:
        if self._watch:
            now, p = time.perf_counter() - self._started, self._progress
            self._watch(Status(p.phase, p.step, p.edges, self.scores, now))


def _dataset(data: Table, options: dict[str, Any]) -> Dataset:
    given = {name: value for name, value in options.items() if value}
    if isinstance(data, Dataset):
        if given.get("missing") in ("error", data.options.missing):
            given.pop("missing")
        if given:
            raise OptionError(f"{', '.join(sorted(given))} cannot be given with a Dataset: give it when making one")
        return data
    if isinstance(data, str | Path):
        return read_table(data, **given)
    if isinstance(data, pd.DataFrame):
        return Dataset.from_frame(data, **given)
    return Dataset.from_array(np.asarray(data), **given)


def _explained(outcome: Outcome, ledger: Ledger, table: Dataset) -> tuple[DAG, dict[str, LocalFit], tuple[Edge, ...]]:
    """Choose a member of the class, fit its local models, and say what each edge is worth in it."""
    member = outcome.graph.to_dag()
    wholes = {name: member.parents(name) for name in table.names}
    without = {
        (parent, child): Comparison(child, parents - {parent}, parents)
        for child, parents in wholes.items()
        for parent in parents
    }
    same = [Comparison(name, parents, parents) for name, parents in wholes.items()]
    ledger.prepare([*same, *without.values()], settled=True)
    fits = {name: ledger.fit(name, parents) for name, parents in wholes.items()}
    gains = {ends: ledger.gain(comparison) for ends, comparison in without.items()}

    def figures(parent: str, child: str) -> dict[str, float | None]:
        return {"gain": gains[parent, child], "bandwidth": fits[child].bandwidths.get(parent)}

    return member, fits, _edges(outcome.graph, member, table, figures)


def _edges(
    graph: CPDAG, member: DAG, table: Dataset, figures: Callable[[str, str], Mapping[str, float | None]]
) -> tuple[Edge, ...]:
    """Return every edge as it is in the member, in the order of the table, with its figures."""
    place = {name: i for i, name in enumerate(table.names)}
    ends = sorted(member.edges, key=lambda pair: (place[pair[0]], place[pair[1]]))
    return tuple(Edge(a, b, a in graph.parents(b), **figures(a, b)) for a, b in ends)
