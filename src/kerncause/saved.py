"""Results read back from their directory, with the table they were learned from."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from kerncause.confidence import Confidence
from kerncause.data import Dataset, Origin, TableOptions, read_frame
from kerncause.errors import DataError, KerncauseError, OptionError
from kerncause.explain import Explanation
from kerncause.graphs import DAG, PDAG, narrowest
from kerncause.result import RESULT_FILES, Edge, Result
from kerncause.scores import SCORES, Ledger, LocalFit, make_score
from kerncause.search import Step
from kerncause.text import quoted


def load_result(directory: str | Path, data: str | Path | pd.DataFrame | Dataset | None = None) -> Result:
    """Read what `Result.save` wrote.

    Args:
        directory: where it was saved.
        data: the table, if it is not where it was, or was none in a file. It must be the same table.
    """
    directory = Path(directory)
    written, trace = _written(directory)
    try:
        return _result(written, trace, _table(written, data, directory))
    except (OptionError, DataError):
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise OptionError(
            f"{quoted(directory / RESULT_FILES[0])} is not a result of this version ({problem!r}): learn it again"
        ) from None


def _written(directory: Path) -> tuple[dict[str, Any], tuple[Step, ...]]:
    try:
        graph, trace = ((directory / name).read_text(encoding="utf-8") for name in (RESULT_FILES[0], RESULT_FILES[2]))
    except (OSError, UnicodeDecodeError) as problem:
        why = problem.strerror if isinstance(problem, OSError) else "it is no text"
        raise OptionError(
            f"there is no result in {quoted(directory)} ({why}): give a directory that discover --out wrote"
        ) from None
    try:
        steps = [json.loads(line) for line in trace.split("\n") if line]
        return json.loads(graph), tuple(map(_step, steps))
    except (ValueError, TypeError, KeyError) as problem:
        raise OptionError(f"the result in {quoted(directory)} is damaged ({problem}): learn it again") from None


def _step(written: Mapping[str, Any]) -> Step:
    return Step(**{**written, "given": tuple(written["given"]), "changes": tuple(map(tuple, written["changes"]))})


def _table(written: Mapping[str, Any], data: str | Path | pd.DataFrame | Dataset | None, directory: Path) -> Dataset:
    """Read the table, and refuse one that is not the same."""
    if isinstance(data, pd.DataFrame):
        data = Dataset.of(data, TableOptions.from_json(written["settings"]["table"]))
    if not isinstance(data, Dataset):
        file = written["data"].get("file")
        if data is None and file is None:
            raise OptionError(f"the result in {quoted(directory)} was not learned from a file: give the table (--data)")
        origin = Origin(**(file or {"path": str(data)}))
        path = origin.path if data is None else str(data)
        try:
            frame = read_frame(path, separator=origin.separator, decimal=origin.decimal)
        except DataError as problem:
            raise DataError(f"the table of the result: {problem}; if it was moved, say where to (--data)") from None
        read = Dataset.of(frame, TableOptions.from_json(written["settings"]["table"]))
        data = replace(read, origin=replace(origin, path=path))
    if data.hash != written["data"]["hash"]:
        raise OptionError(
            f"the table has changed since the result in {quoted(directory)} was learned from it: "
            "learn it again, or give the table of then (--data)"
        )
    return data


def _result(written: Mapping[str, Any], trace: tuple[Step, ...], table: Dataset) -> Result:
    settings, nodes = written["settings"], written["nodes"]
    edges = tuple(Edge(**edge) for edge in written["edges"])
    arrows = [(e.source, e.target) for e in edges if e.directed]
    lines = [(e.source, e.target) for e in edges if not e.directed]
    ways: tuple[Literal["score", "test", "method"], ...] = ("score", "test", "method")
    by = next((way for way in ways if way in settings), None)
    if by is None:
        raise KeyError("score")
    fits = {name: LocalFit.from_json(fit) for name, fit in written["fits"].items()}
    return Result(
        graph=narrowest(PDAG(nodes, arrows, lines)),
        dag=DAG(nodes, [(a, b) for a, b in written["dag"]]),
        fits=fits,
        edge_list=edges,
        trace=trace,
        settings=settings,
        data=table,
        seconds=written["seconds"],
        scores_computed=written["scores_computed"],
        by=by,
        ledger=_ledger(settings, table) if by == "score" else None,
        finished=written.get("finished", True),
        confidence=Confidence.from_json(nodes, written["confidence"]) if written["confidence"] else None,
        kept_explanations=tuple(Explanation.from_json(why, fits[why["target"]]) for why in written["explanations"]),
    )


def _ledger(settings: Mapping[str, Any], table: Dataset) -> Ledger | None:
    """Return the scores to go on with; None for a score that has no name here."""
    name = settings["score"]
    if name not in SCORES:
        return None
    try:
        options = {k: tuple(v) if isinstance(v, list) else v for k, v in settings["score_options"].items()}
        return Ledger(make_score(name, table, **options))
    except KerncauseError:
        return None
