"""The one front door: a table in, a Result out."""

import time
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kerncause.data import Dataset, Missing, read_table
from kerncause.errors import DataWarning, OptionError
from kerncause.graphs import CPDAG, DAG
from kerncause.parallel import batches, worker_count
from kerncause.result import Edge, Result
from kerncause.scores import Comparison, Ledger, LocalFit, LocalScore, find_score, make_score
from kerncause.search import Outcome, Progress, find_search
from kerncause.text import listed, quoted

Table = Dataset | pd.DataFrame | npt.NDArray[Any] | str | Path


@dataclass(frozen=True)
class Preset:
    """Options of score and search under one name."""

    score: Mapping[str, Any]
    search: Mapping[str, Any]


SEARCH_DEFAULTS: Mapping[str, Any] = {"max_parents": None, "turning": False, "careful": True}

PRESETS: Mapping[str, Preset] = {
    # The setting of Wang et al. (ICML 2024): one bandwidth for all parents, one start from the heuristic,
    # GES as published, with its two phases and no limit on parents.
    "paper": Preset(
        score={"bandwidths": "shared", "starts": 1},
        search={"turning": False, "careful": False, "max_parents": None},
    ),
}


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
    score: str | LocalScore = "learned",
    search: str = "ges",
    preset: str | None = None,
    seed: int = 0,
    workers: int | None = None,
    *,
    executor: Executor | None = None,
    kinds: Mapping[str, str] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    levels: Mapping[str, Sequence[str]] | None = None,
    missing: Missing = "error",
    na_values: Collection[object] | Mapping[str, Collection[object]] = (),
    drop: Collection[str] = (),
    max_parents: int | None = None,
    turning: bool = False,
    careful: bool = True,
    score_options: Mapping[str, Any] | None = None,
    watch: Callable[[Status], None] | None = None,
) -> Result:
    """Learn a causal graph from a table.

    Args:
        data: a DataFrame, an array, a path to a CSV, TSV or Parquet file, or a Dataset.
        score: the name of a score, or a score object.
        search: the name of a search.
        preset: `paper` for the setting of Wang et al. (2024).
        seed: recorded with the result; `learned` with `ges` draws no random numbers.
        workers: processes to score candidates with; None means one per core. The result is the same.
        executor: any `concurrent.futures.Executor` to score candidates on instead; it is not shut down.
        kinds: see `Dataset.from_frame`, as for `groups`, `levels`, `missing`, `na_values` and `drop`.
        groups: columns that make up one vector variable.
        levels: the order of ordinal values.
        missing: what to do about missing values.
        na_values: texts that mean a missing value.
        drop: columns to leave out.
        max_parents: no variable gets more parents than this.
        turning: whether GES tries turning edges at the end.
        careful: whether GES deletes an undirected edge only if that gains in both of its directions.
        score_options: keyword arguments of the score, such as `{"bandwidths": "shared"}`.
        watch: called with a Status at every step and after every score.
    """
    started = time.perf_counter()
    check_choices(score, search, preset, workers)
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
    search_options = {"max_parents": max_parents, "turning": turning, "careful": careful}
    options = _chosen(preset, dict(score_options or {}), search_options)
    chosen = make_score(score, table, **options.score) if isinstance(score, str) else _of_this_table(score, table)
    run = find_search(search)
    settings = {
        "score": score if isinstance(score, str) else type(score).__name__,
        "search": search,
        "preset": preset,
        "seed": seed,
        "workers": worker_count(workers) if executor is None else type(executor).__name__,
        "score_options": dict(getattr(chosen, "options", options.score)),
        "search_options": dict(options.search),
        "table": table.options.as_json(),
    }
    with batches(chosen, workers, executor) as batch:
        told = _Told(watch, started)
        ledger = Ledger(chosen, batch, told.score)
        outcome = run(ledger, watch=told.step, **options.search)
        member, fits, edges = _explained(outcome, ledger, table)
    return Result(
        graph=outcome.graph.reordered(table.names),
        member=member.reordered(table.names),
        fits=fits,
        edge_list=edges,
        trace=outcome.trace,
        settings=settings,
        data=table,
        seconds=time.perf_counter() - started,
        scores_computed=ledger.computed,
    )


def check_choices(score: str | LocalScore, search: str, preset: str | None, workers: int | None) -> None:
    """Refuse names and numbers that cannot be taken, before any work is done."""
    if isinstance(score, str):
        find_score(score)
    find_search(search)
    if preset is not None and preset not in PRESETS:
        raise OptionError(f"there is no preset {quoted(preset)}: the choices are {', '.join(PRESETS)}")
    worker_count(workers)


def _of_this_table(score: LocalScore, table: Dataset) -> LocalScore:
    """Refuse a score object that was made for another table."""
    if not isinstance(score, LocalScore):
        raise OptionError(
            "the score has no variables or no local_score(target, parents): give a name or such an object"
        )
    if set(score.variables) != set(table.names):
        raise OptionError(f"the score is for {listed(score.variables)}, the table has {listed(table.names)}")
    other = getattr(score, "data", table)
    if isinstance(other, Dataset) and other.hash != table.hash:
        raise OptionError("the score was made for another table with the same names: make it for this one")
    return score


class _Told:
    """Turns the search's steps and the ledger's scores into one stream of Status."""

    def __init__(self, watch: Callable[[Status], None] | None, started: float) -> None:
        self._watch = watch
        self._started = started
        self._progress = Progress("forward", 0, 0)
        self._scores = 0

    def step(self, progress: Progress) -> None:
        self._progress = progress
        self._tell()

    def score(self) -> None:
        self._scores += 1
        self._tell()

    def _tell(self) -> None:
        if self._watch:
            now, p = time.perf_counter() - self._started, self._progress
            self._watch(Status(p.phase, p.step, p.edges, self._scores, now))


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


def _chosen(preset: str | None, score: dict[str, Any], search: dict[str, Any]) -> Preset:
    """Merge what a preset fixes with what was asked for; refuse a contradiction."""
    if preset is None:
        return Preset(score, search)
    fixed = PRESETS[preset]
    for asked, meant in ((score, fixed.score), (search, fixed.search)):
        for name in set(asked) & set(meant):
            if asked[name] != meant[name] and (name not in SEARCH_DEFAULTS or asked[name] != SEARCH_DEFAULTS[name]):
                raise OptionError(
                    f"preset {preset} means {name}={meant[name]}, not {asked[name]}: leave out the preset or {name}"
                )
    return Preset({**score, **fixed.score}, {**search, **fixed.search})


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
    edges = [
        _edge(outcome.graph, parent, child, ledger.gain(comparison), fits[child])
        for (parent, child), comparison in without.items()
    ]
    place = {name: i for i, name in enumerate(table.names)}
    return member, fits, tuple(sorted(edges, key=lambda e: (place[e.source], place[e.target])))


def _edge(graph: CPDAG, parent: str, child: str, gain: float, fit: LocalFit) -> Edge:
    return Edge(parent, child, parent in graph.parents(child), gain, fit.bandwidths.get(parent))
