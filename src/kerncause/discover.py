"""The one front door: a table in, a Result out."""

import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from numbers import Integral
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from kerncause.confidence import How
from kerncause.data import Dataset, Missing, OfTable, read_table
from kerncause.errors import DataWarning, OptionError
from kerncause.independence import IndependenceTest
from kerncause.knowledge import Knowledge
from kerncause.learn import Learning
from kerncause.memory import memory_bytes
from kerncause.plan import Plan
from kerncause.presets import Extent
from kerncause.repeat import Repeat, Repeating
from kerncause.result import Result
from kerncause.scores import LocalScore
from kerncause.stop import Stop
from kerncause.watch import Status, Told

# In the directory of a run.
SCORES_FILE = "scores.sqlite"
Table = Dataset | pd.DataFrame | npt.NDArray[Any] | str | Path


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
    restarts: int | None = None,
    lookahead: int | None = None,
    both_ways: bool | None = None,
    candidates: int | str | None = None,
    prune: float | None = None,
    alpha: float | None = None,
    max_given: int | None = None,
    knowledge: Knowledge | Mapping[str, Any] | None = None,
    timeout: float | None = None,
    score_options: Mapping[str, Any] | None = None,
    test_options: Mapping[str, Any] | None = None,
    method_options: Mapping[str, Any] | None = None,
    cache: str | Path | None = None,
    confidence: int | None = None,
    confidence_rows: How | str = "half",
    directory: str | Path | None = None,
    resume: bool = False,
    time_budget: float | None = None,
    memory_limit: int | str | None = None,
    stop: Callable[[], bool] | None = None,
    watch: Callable[[Status], None] | None = None,
) -> Result:
    """Learn a causal graph from a table: by a search with a score, by PC with tests, or by another method.

    Args:
        data: a DataFrame, an array, a path to a CSV, TSV or Parquet file, or a Dataset.
        score: the name of a score, or a score object. If neither this nor a search nor a preset is said, what suits
            tables of such kinds and such a size is taken (`kerncause.presets.RECOMMENDED`), unless other options ask
            for something else; `Result.settings` tells what and why.
        search: the name of a search: `ges`, `boss` or `exact` by a score, `pc` by a test. If only a score or a
            preset is said, it is the one that suits the preset, or `ges`.
        preset: `paper` for the setting of Wang et al. (2024); `adaptive` for kernels, scales and evidence that suit
            variables of every kind (docs/kernels.md), with a search that suits their number if none is asked for.
        seed: recorded with the result, and used by what draws random numbers (`boss`, and the methods of others).
        workers: processes to score candidates with; None means one per core. The result is the same.
        method: `notears`, `notears-mlp`, `dag-gnn` or `dibs` instead of a search; needs the extra `baselines`. It runs
            on as many threads as there are workers, one if nothing is said.
        test: the name of a test for `pc`, or a test object; `kci` if nothing is said.
        executor: any `concurrent.futures.Executor` to score candidates on instead, such as that of a Dask client
            (`client.get_executor()`); it is not shut down.
        kinds: see `Dataset.from_frame`, as for `groups`, `levels`, `missing`, `na_values` and `drop`.
        groups: columns that make up one vector variable.
        levels: the order of ordinal values.
        missing: what to do about missing values.
        na_values: texts that mean a missing value.
        drop: columns to leave out.
        max_parents: of a search by a score: no variable gets more parents than this.
        turning: whether GES tries turning edges at the end (it does not if nothing is said).
        careful: whether GES deletes an undirected edge only if that gains in both of its directions (it does).
        restarts: of BOSS: how many random orders to begin from, after the first (2 if nothing is said).
        lookahead: of BOSS: how many parents may be added at once where fewer do not gain; of the exact search with
            `prune`: how many parents a set may have that is never left out (1 if nothing is said; 2 where the preset
            `adaptive` takes BOSS for the number of variables).
        both_ways: of BOSS: whether parents are also chosen by removing them from all (not if nothing is said).
        candidates: of GES and BOSS: with how many others of each variable an edge is tried, those that a quick look at
            all pairs finds the strongest; or `all`. If nothing is said, all up to 30 variables and 10 above.
        prune: of the exact search: see `kerncause.search.exact`.
        alpha: of PC: a pair is parted where the p-value is larger; 0.05 if nothing is said.
        max_given: of PC: condition on no more variables than this.
        knowledge: what the graph must obey: a `Knowledge`, or a dict with any of its parts.
        timeout: of a method: seconds after which it is stopped with an error.
        score_options: keyword arguments of the score, such as `{"bandwidths": "shared"}`.
        test_options: keyword arguments of the test.
        method_options: settings of the method.
        cache: a file to keep local scores in, and to look them up; it can be used again for any table, and by several
            runs at once.
        confidence: learn so many more graphs from random halves of the rows, and count how often they have each edge
            (`Result.confidence`).
        confidence_rows: `half`, or `bootstrap`: as many rows as there are, with replacement (ties fool kernel scores).
        directory: where to keep what is computed, so that it is not lost if the run is: local scores, in
            `scores.sqlite` unless there is a `cache`, and what the halves gave. The same call finds the scores again.
        resume: whether to go on with the halves that are there.
        time_budget: stop after so many seconds with the best graph so far (`Result.finished` is False then). With a
            `directory` or a `cache`, the same call goes on from there.
        memory_limit: what all processes together may take: a number of bytes, or a text such as `500M` or `4G`. Fewer
            workers are started if not all of them fit, and what cannot be done within it is refused before it is begun.
            With an executor, whose workers are not known here, it holds for each score alone. Without it, no more
            workers are started than there is memory for.
        stop: called after every score, and every half: whether to stop in the same way.
        watch: called with a `Status` at every step and after every score.
    """
    started = time.perf_counter()
    asked = {
        "max_parents": max_parents,
        "turning": turning,
        "careful": careful,
        "restarts": restarts,
        "lookahead": lookahead,
        "both_ways": both_ways,
        "candidates": candidates,
        "prune": prune,
        "alpha": alpha,
        "max_given": max_given,
    }
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
        knowledge,
    )
    most_bytes = memory_bytes(memory_limit)
    if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
        raise OptionError(f"seed (--seed) cannot be {seed}: give a whole number of 0 or more")
    if executor is not None and not isinstance(executor, Executor):
        raise OptionError(f"executor is a {type(executor).__name__}: give a concurrent.futures.Executor, or workers")
    if executor is not None and workers is not None:
        raise OptionError("workers and executor are given: leave out one of the two")
    for name, called in (("watch", watch), ("stop", stop)):
        if called is not None and not callable(called):
            raise OptionError(f"{name} is a {type(called).__name__}: give a function, or leave it out")
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
    plan = plan.for_table(Extent.of(table))
    for notice in table.notices_for(getattr(plan.score, "options", plan.options)):
        warnings.warn(notice, DataWarning, stacklevel=2)
    plan.knowledge.limits(table.names)  # refuse unknown names now
    if resume and directory is None:
        raise OptionError("resume (--resume) needs the directory (--out) to go on with")
    asked_for = Repeat(1 if confidence is None else confidence, cast(How, confidence_rows), directory, resume)
    repeat = None if confidence is None else asked_for
    if repeat is not None:
        repeat.check(table, plan, seed)  # not after an hour
    if cache is not None and plan.by != "score":
        raise OptionError("cache (--cache) keeps local scores, and there is no score here: leave it out")
    for name, value in (("time_budget (--time-budget)", time_budget), ("stop", stop)):
        if plan.by != "score" and value is not None:
            raise OptionError(f"{name} is for searches by a score: leave it out, or give one")
    if memory_limit is not None and plan.by != "score":
        raise OptionError("memory_limit (--memory-limit) is for searches by a score: leave it out, or give one")
    until = Stop(time_budget, stop)
    told = Told(watch, started, until, "test" if plan.by == "test" else "score")
    kept = cache or _kept_in(directory, plan)
    found = Learning(table, plan, seed, workers, executor, told, kept, until, most_bytes).found()
    sure = None
    if repeat is not None and found.finished:
        work = Repeating.of(table, plan, seed, repeat.how, found.ledger)
        sure = repeat.done(work, found.workers or workers, executor, told.halves(repeat.count), until)
    return Result(
        graph=found.graph.reordered(table.names),
        dag=found.dag.reordered(table.names),
        fits=found.fits,
        edge_list=found.edges,
        trace=found.trace,
        settings={
            **plan.settings(seed, workers, executor),
            **found.settings,
            "table": table.options.as_json(),
            "confidence": None if repeat is None else {"repetitions": repeat.count, "rows": repeat.how},
        },
        data=table,
        seconds=time.perf_counter() - started,
        scores_computed=found.computed,
        by=plan.by,
        ledger=found.ledger,
        confidence=sure,
        finished=found.finished,
    )


def _kept_in(directory: str | Path | None, plan: Plan) -> Path | None:
    """Return where a run keeps its scores, if it has a directory and a score that can be kept."""
    can_be = plan.by == "score" and isinstance(plan.score, str | OfTable)
    return Path(directory) / SCORES_FILE if directory is not None and can_be else None


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
