"""The results file of an experiment: a journal with one record a row.

Of two rows for the same cell (after `--retry`) the later counts.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kerncause.errors import DataError
from kerncause.experiments.base import Experiment, Row
from kerncause.journal import Journal, Record, read_journal, writing
from kerncause.text import quoted


def results_path(experiment: Experiment, directory: str | Path) -> Path:
    """Return where the rows of an experiment are kept."""
    return Path(directory) / f"{experiment.name}.jsonl"


def read_rows(experiment: Experiment, directory: str | Path) -> list[Row]:
    """Return the rows that there are, in the order in which they came; none if there is no file."""
    path = results_path(experiment, directory)
    return _rows(read_journal(path, _head(experiment)), path)


class Appender:
    """Adds rows to an open results file."""

    def __init__(self, journal: Journal, rows: list[Row]) -> None:
        self._journal = journal
        self.rows = rows

    def add(self, row: Row) -> None:
        """Write a row so that it survives whatever comes next."""
        self._journal.add(row.as_json())
        self.rows.append(row)


@contextmanager
def appending(experiment: Experiment, directory: str | Path, resume: bool) -> Iterator[Appender]:
    """Open the results file of an experiment for more rows, begin it if there is none, and keep others from it."""
    path = results_path(experiment, directory)
    with writing(path, _head(experiment), resume) as journal:
        yield Appender(journal, _rows(journal.records, path))


def _rows(records: list[Record], path: Path) -> list[Row]:
    try:
        return [Row.from_json(record) for record in records]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise DataError(f"{quoted(path)} is no results file of an experiment: choose another --out") from None


def _head(experiment: Experiment) -> Mapping[str, Any]:
    return {"experiment": experiment.name, "version": experiment.version}
