"""The log of a run, for other programs: one JSON object a line, written when it happens.

Every line has `event`, `time` (UTC) and `seconds` since the command began. Events are `start`, `warning`, `step`,
`progress` (now and then), and at the end `finish` or `error`. Names are data: whatever is in them, JSON escapes it.
"""

import json
import math
import platform
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import typer

from kerncause.cli.screen import failure
from kerncause.data import Dataset
from kerncause.errors import OptionError
from kerncause.result import Result
from kerncause.version import __version__
from kerncause.watch import Status
from kerncause.written import shown_path

# No more often than this is it said how far things are.
PROGRESS_SECONDS = 5.0
STANDARD_ERROR = Path("-")


class RunLog:
    """An open log, or none. A disk that is full ends the log, not the run: `problem` then says so.

    Args:
        write: takes one line, and has it where it belongs when it returns; None: there is no log.
    """

    def __init__(self, write: Callable[[bytes], object] | None) -> None:
        self._write = write
        self._begun = time.monotonic()
        self._progress = self._begun
        self.problem: str | None = None

    def write(self, event: str, **facts: Any) -> None:
        """Write one line."""
        if self._write is None or self.problem is not None:
            return
        seconds = round(time.monotonic() - self._begun, 3)
        record = {"event": event, "time": datetime.now(UTC).isoformat(timespec="milliseconds"), "seconds": seconds}
        try:
            self._write(json.dumps(_finite({**record, **facts}), allow_nan=False).encode("ascii") + b"\n")
        except OSError as problem:
            self.problem = f"the log stops after {seconds:.0f} s, it could not be written: {problem.strerror}"

    def started(self, table: Dataset, notices: Sequence[str], settings: Mapping[str, Any]) -> None:
        """Write what is run on what, and what should be known about the table."""
        self.write(
            "start",
            kerncause=__version__,
            python=platform.python_version(),
            numpy=np.__version__,
            scipy=scipy.__version__,
            table={
                "path": None if table.origin is None else table.origin.path,
                "rows": table.n_rows,
                "hash": table.hash,
                "variables": {variable.name: variable.kind.value for variable in table.variables},
            },
            settings=settings,
        )
        for notice in notices:
            self.write("warning", text=notice)

    def hear_warnings(self) -> None:
        """Write warnings as well; to be called where `warnings.catch_warnings` undoes it."""
        shown = warnings.showwarning

        def heard(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
            self.write("warning", text=str(message))
            shown(message, category, *where, **more)

        warnings.showwarning = heard

    def watch(self, status: Status) -> None:
        """Write the steps that were taken, and now and then how far things are."""
        for step in status.taken:
            self.write("step", **asdict(step))
        if time.monotonic() - self._progress >= PROGRESS_SECONDS:
            self._progress = time.monotonic()
            told = asdict(status)
            del told["taken"], told["seconds"]
            self.write("progress", **told)

    def finished(self, result: Result) -> None:
        """Write what was found, and how many halves of the rows there were of those that were asked for."""
        asked = (result.settings.get("confidence") or {}).get("repetitions", 0)
        self.write(
            "finish",
            finished=result.finished,
            halves=0 if result.confidence is None else result.confidence.replicates,
            halves_asked=asked,
            scores=result.scores_computed,
            search_seconds=result.seconds,
            edges=[{"source": e.source, "target": e.target, "directed": e.directed} for e in result.edge_list],
        )


@contextmanager
def logged(path: Path | None) -> Iterator[RunLog]:
    """Open a log to add to, and end it with the error if there is one; refuse a path that cannot be written."""
    if path is None or path == STANDARD_ERROR:
        to_stderr: Callable[[bytes], object] = partial(typer.echo, err=True, nl=False)
        yield from _until_the_end(RunLog(None if path is None else to_stderr))
        return
    try:
        file = path.open("ab", buffering=0)  # a line in a buffer would be lost, or in the way when the disk is full
    except OSError as problem:
        raise OptionError(
            f"cannot write {shown_path(path)} (--log-json): {problem.strerror}; choose another place"
        ) from None
    with file:
        yield from _until_the_end(RunLog(file.write))


def _until_the_end(log: RunLog) -> Iterator[RunLog]:
    try:
        yield log
    except typer.Exit:
        raise
    except BaseException as problem:
        log.write("error", error=failure(problem)[0])
        raise


def _finite(value: Any) -> Any:
    """Return what JSON can say: numbers that are not finite become null, what it does not know becomes text."""
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int | bool) else str(value)
