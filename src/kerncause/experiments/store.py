"""The results file of an experiment: one line of JSON a row, only ever appended to.

The first line says which experiment and which version of it. Every line is written whole and forced to the disk
before the next begins, so a run that is killed loses at most the rows under way; a last line that was cut short
is dropped when the file is next opened for writing. Of two rows for the same cell (after `--retry`) the later counts.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from kerncause.errors import DataError, OptionError
from kerncause.experiments.base import Experiment, Row
from kerncause.text import quoted

try:
    import fcntl
except ImportError:  # pragma: no cover - there is no such lock on Windows
    fcntl = None  # type: ignore[assignment]


def results_path(experiment: Experiment, directory: str | Path) -> Path:
    """Return where the rows of an experiment are kept."""
    return Path(directory) / f"{experiment.name}.jsonl"


def read_rows(experiment: Experiment, directory: str | Path) -> list[Row]:
    """Return the rows that there are, in the order in which they came; none if there is no file."""
    path = results_path(experiment, directory)
    if not path.exists():
        return []
    return _rows(path.read_bytes(), path, experiment)


class Appender:
    """Adds rows to an open results file."""

    def __init__(self, file: IO[bytes], rows: list[Row]) -> None:
        self._file = file
        self.rows = rows

    def add(self, row: Row) -> None:
        """Write a row so that it survives whatever comes next."""
        self._file.write(_line(row.as_json()))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows.append(row)


@contextmanager
def appending(experiment: Experiment, directory: str | Path, resume: bool) -> Iterator[Appender]:
    """Open the results file of an experiment for more rows, begin it if there is none, and keep others from it."""
    path = results_path(experiment, directory)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
    except OSError as problem:
        raise OptionError(f"cannot write {quoted(path)} (--out): {problem.strerror}") from None
    with file:
        _lock(file, path)
        file.seek(0)
        content = file.read()
        rows = _rows(content, path, experiment)
        if rows and not resume:
            raise OptionError(
                f"{quoted(path)} has {len(rows):,} rows already: add --resume to go on with it, or choose another --out"
            )
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)
        if not whole:
            file.write(_line(_head(experiment)))
            file.flush()
        yield Appender(file, rows)


def _rows(content: bytes, path: Path, experiment: Experiment) -> list[Row]:
    """Return the rows of the complete lines; refuse what this experiment has not written."""
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    if not lines:
        return []
    try:
        head, *others = (json.loads(line) for line in lines)
        if head != _head(experiment):
            raise DataError(
                f"{quoted(path)} has results of {head.get('experiment')} version {head.get('version')}, and this is "
                f"{experiment.name} version {experiment.version}: choose another --out"
            )
        return [Row.from_json(line) for line in others]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError(f"{quoted(path)} is no results file of {experiment.name}: choose another --out") from None


def _head(experiment: Experiment) -> dict[str, Any]:
    return {"experiment": experiment.name, "version": experiment.version}


def _line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode() + b"\n"


def _lock(file: IO[bytes], path: Path) -> None:
    if fcntl is None:
        return
    try:
        # A lock of this process alone: forked workers that outlive it for a moment do not hold it.
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise OptionError(f"another run is writing {quoted(path)}: wait for it, or choose another --out") from None
