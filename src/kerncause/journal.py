"""A file that survives being killed: one line of JSON a record, only ever appended to.

The first line says what the file is of. Every line is written whole and forced to the disk before the next begins, so
whoever is killed loses at most the records under way; a last line that was cut short is dropped when the file is next
opened for writing.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from kerncause.errors import DataError, OptionError
from kerncause.text import printable, quoted

try:
    import fcntl
except ImportError:  # pragma: no cover - there is no such lock on Windows
    fcntl = None  # type: ignore[assignment]

Record = dict[str, Any]


class Journal:
    """An open file, and the records in it."""

    def __init__(self, file: IO[bytes], records: list[Record]) -> None:
        self._file = file
        self.records = records

    def add(self, record: Record) -> None:
        """Write a record so that it survives whatever comes next."""
        self._file.write(_line(record))
        self._file.flush()
        os.fsync(self._file.fileno())
        self.records.append(record)


def read_journal(path: Path, head: Mapping[str, Any]) -> list[Record]:
    """Return the records that there are; none if there is no file. Refuse a file that is of something else."""
    return _records(path.read_bytes(), path, head) if path.exists() else []


@contextmanager
def writing(path: Path, head: Mapping[str, Any], resume: bool, begin_anew: bool = False) -> Iterator[Journal]:
    """Open a file for more records, begin it if there is none, and keep others from it.

    Args:
        path: of the file.
        head: what it is of; one with another head is refused.
        resume: whether there may be records already.
        begin_anew: whether a file with another head but without records is begun anew.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+b")
    except OSError as problem:
        raise OptionError(f"cannot write {quoted(path)} (--out): {problem.strerror}") from None
    with file:
        _lock(file, path)
        file.seek(0)
        content = file.read()
        if begin_anew and _is_head_alone(content, head):
            content = b""
            file.truncate(0)
        records = _records(content, path, head)
        if records and not resume:
            raise OptionError(
                f"{quoted(path)} has {len(records):,} rows already: "
                "add --resume to go on with it, or choose another --out"
            )
        whole = content.rfind(b"\n") + 1
        if whole < len(content):
            file.truncate(whole)
        if not whole:
            file.write(_line(head))
            file.flush()
        yield Journal(file, records)


def _is_head_alone(content: bytes, like: Mapping[str, Any]) -> bool:
    """Tell whether there is nothing but a head, of the same sort: nothing to lose."""
    lines = content.splitlines()
    try:
        found = json.loads(lines[0]) if len(lines) == 1 else None
    except ValueError:
        return False
    return isinstance(found, dict) and set(found) == set(like)


def _records(content: bytes, path: Path, head: Mapping[str, Any]) -> list[Record]:
    """Return what the complete lines hold."""
    lines = content[: content.rfind(b"\n") + 1].splitlines()
    if not lines:
        return []
    try:
        first, *others = (json.loads(line) for line in lines)
    except ValueError:
        raise DataError(f"{quoted(path)} is no file of rows: choose another --out") from None
    if first != dict(head):
        other, this = _differing(first, head)
        raise DataError(f"{quoted(path)} has rows of {other}, and this is {this}: choose another --out")
    return list(others)


def _differing(found: object, wanted: Mapping[str, Any]) -> tuple[str, str]:
    """Say what a file is of, and what was wanted, as far as they differ."""
    if not isinstance(found, Mapping):
        return "something else", _said(wanted, wanted)
    keys = [key for key in {**wanted, **found} if found.get(key) != wanted.get(key)]
    return _said(found, keys), _said(wanted, keys)


def _said(head: Mapping[str, Any], keys: Iterable[str]) -> str:
    return ", ".join(f"{key} {printable(head.get(key))}" for key in keys)


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
