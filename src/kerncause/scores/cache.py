"""Local scores that outlive the process: one SQLite file, which several processes may share.

A score is filed under all it depends on: the table's hash, the score and its options (engine and tolerance among them),
the version of the scores, the target, its parents, the variables whose gaps decide the rows, and whether the value is
the first one or the settled one. So a file never has to be told that something changed, and a search that is begun
again finds exactly the numbers it had, goes the same way, and computes only what it had not.

Every score is committed when it is there: whoever is killed loses those under way. Each row carries a checksum, because
a flipped bit in a number would otherwise be believed.
"""

import json
import math
import os
import sqlite3
import zlib
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

from kerncause.data import OfTable
from kerncause.errors import KerncauseError, OptionError
from kerncause.scores.base import LocalFit, LocalScore
from kerncause.scores.ledger import Batch, Query
from kerncause.written import shown_path

# To be raised whenever any score gives another value than before.
SCORE_VERSION = 10
# The four letters KCSC: what tells our files from those of others.
APPLICATION = 0x4B435343
LAYOUT = 1
SECONDS_TO_WAIT = 60.0
TABLES = (
    "CREATE TABLE subjects (id INTEGER PRIMARY KEY AUTOINCREMENT, said TEXT NOT NULL UNIQUE, used TEXT NOT NULL)",
    "CREATE TABLE fits (subject INTEGER NOT NULL, target TEXT NOT NULL, parents TEXT NOT NULL, scope TEXT NOT NULL, "
    "settled INTEGER NOT NULL, value TEXT NOT NULL, checksum INTEGER NOT NULL, "
    "PRIMARY KEY (subject, target, parents, scope, settled)) WITHOUT ROWID",
)


@dataclass(frozen=True)
class Holding:
    """What a file holds of one table and score.

    Attributes:
        data: the hash of the table.
        score: what computes it.
        options: its options.
        version: of the scores.
        fits: how many.
        used: when it was last opened for this.
    """

    data: str
    score: str
    options: dict[str, Any]
    version: int
    fits: int
    used: datetime


class ScoreCache:
    """An open file of local scores; use it as a context manager."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    @contextmanager
    def opened(cls, path: str | Path, *, must_exist: bool = False, only_look: bool = False) -> Iterator["ScoreCache"]:
        """Open a file, begin it if there is none; refuse one that is something else.

        `only_look` writes nothing, so that a file can be looked at where it cannot be written.
        """
        path = Path(path)
        if path.is_dir():
            raise OptionError(f"{shown_path(path)} is a directory: give a file for the scores (--cache)")
        if (must_exist or only_look) and not path.exists():
            raise OptionError(f"there is no file {shown_path(path)}: check the path")
        with _sentences(path):
            connection = _looked_at(path) if only_look else _written_to(path)
        try:
            with _sentences(path):
                if not only_look and _is_empty(connection):
                    _make_tables(connection)
                _refuse_others(connection, path)
                if not only_look:
                    connection.execute("PRAGMA journal_mode = WAL")
                    connection.execute("PRAGMA synchronous = NORMAL")
            yield cls(path, connection)
        finally:
            connection.close()

    def shelf(self, score: LocalScore) -> "Shelf":
        """Return the part of the file for one score of one table; refuse a score that it could not tell from others."""
        if not isinstance(score, OfTable):
            raise OptionError(
                f"the score {type(score).__name__} cannot be cached: it does not say what it depends on; "
                "give one of this package, or leave out cache (--cache)"
            )
        said = {
            "data": score.data.hash,
            "score": f"{type(score).__module__}.{type(score).__qualname__}",
            "options": score.options,
            "version": SCORE_VERSION,
        }
        words = json.dumps(said, sort_keys=True)
        now = datetime.now(UTC).isoformat()
        with _sentences(self.path):
            self._connection.execute(
                "INSERT INTO subjects (said, used) VALUES (?, ?) ON CONFLICT (said) DO UPDATE SET used = excluded.used",
                (words, now),
            )
            [subject] = self._connection.execute("SELECT id FROM subjects WHERE said = ?", (words,)).fetchone()
        return Shelf(self, subject)

    def rows(self, command: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a command and return what it gives."""
        with _sentences(self.path):
            return self._connection.execute(command, values).fetchall()

    def holdings(self) -> list[Holding]:
        """Return what the file holds, last used first."""
        found = self.rows(
            "SELECT said, used, (SELECT COUNT(*) FROM fits WHERE subject = subjects.id) FROM subjects "
            "ORDER BY used DESC"
        )
        with _sentences(self.path):
            told = [(json.loads(said), used, count) for said, used, count in found]
            return [Holding(**said, fits=count, used=datetime.fromisoformat(used)) for said, used, count in told]

    @property
    def size(self) -> int:
        """Bytes on the disk, with what was written last and is still beside the file."""
        beside = self.path.with_name(f"{self.path.name}-wal")
        return sum(file.stat().st_size for file in (self.path, beside) if file.exists())

    def prune(self, older: timedelta | None = None) -> int:
        """Remove what was not used for so long, and what other versions computed; return how many scores went."""
        before = "" if older is None else _ago(older)
        found = self.rows("SELECT id, said, used FROM subjects")
        with _sentences(self.path):
            gone = [i for i, said, used in found if used < before or json.loads(said)["version"] != SCORE_VERSION]
            for subject in gone:
                self._connection.execute("DELETE FROM subjects WHERE id = ?", (subject,))
            # Also what a run that still goes on has added to a subject that went before. No number is given twice.
            orphans = "DELETE FROM fits WHERE subject NOT IN (SELECT id FROM subjects)"
            removed = self._connection.execute(orphans).rowcount
            self._connection.execute("VACUUM")
        return removed


class Shelf:
    """The scores of one table and score in a file; counts those it gave."""

    def __init__(self, cache: ScoreCache, subject: int) -> None:
        self._cache, self._subject = cache, subject
        self.hits = 0

    def get(self, query: Query) -> LocalFit | None:
        """Return a score that is there."""
        found = self._cache.rows(
            "SELECT value, checksum FROM fits WHERE subject = ? AND target = ? AND parents = ? AND scope = ? "
            "AND settled = ?",
            self._key(query),
        )
        if not found:
            return None
        [(value, checksum)] = found
        if zlib.crc32(value.encode()) != checksum:
            raise _damaged(self._cache.path)
        self.hits += 1
        return _read(value, query)

    def put(self, query: Query, fit: LocalFit) -> None:
        """Keep a score, and commit it."""
        value = _written(fit)
        self._cache.rows(
            "INSERT OR IGNORE INTO fits VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*self._key(query), value, zlib.crc32(value.encode())),
        )

    def _key(self, query: Query) -> tuple[int, str, str, str, int]:
        parents, scope = (json.dumps(sorted(names)) for names in (query.parents, query.scope))
        return self._subject, json.dumps(query.target), parents, scope, int(query.provisional is not None)

    def batch(self, inner: Batch) -> Batch:
        """Return a batch that looks here first, and keeps what it has to compute."""

        def computed(queries: Sequence[Query]) -> Generator[tuple[Query, LocalFit]]:
            missing = []
            for query in queries:
                fit = self.get(query)
                if fit is None:
                    missing.append(query)
                else:
                    yield query, fit
            answers = inner(missing)
            try:
                for query, fit in answers:
                    # A number that is none ends the search; it is not to be found again.
                    if not math.isnan(fit.value):
                        self.put(query, fit)
                    yield query, fit
            finally:
                answers.close()

        return computed


def _written(fit: LocalFit) -> str:
    """Return a fit as text from which every bit comes back; the fit it was settled from is filed by itself."""
    turns = tuple(replace(turn, provisional=None) for turn in fit.turns)
    return json.dumps(asdict(replace(fit, provisional=None, turns=turns)))


def _read(value: str, query: Query) -> LocalFit:
    before = None if query.provisional is None else query.provisional.before_settling
    return replace(LocalFit.from_json(json.loads(value)), provisional=before)


def _written_to(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    return sqlite3.connect(path, timeout=SECONDS_TO_WAIT, isolation_level=None)


def _looked_at(path: Path) -> sqlite3.Connection:
    """Open a file to be read. Where nothing can be written beside it, it is taken to change no more."""
    still = "" if _may_write(path) else "&immutable=1"
    address = f"file:{quote(str(path.resolve()))}?mode=ro{still}"
    return sqlite3.connect(address, uri=True, timeout=SECONDS_TO_WAIT, isolation_level=None)


def _may_write(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def _refuse_others(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file of others, or of another layout."""
    if _pragma(connection, "application_id") != APPLICATION:
        raise OptionError(f"{shown_path(path)} is no file of scores: choose another name (--cache)")
    if _pragma(connection, "user_version") != LAYOUT:
        raise OptionError(f"{shown_path(path)} was written by another version: choose another name (--cache)")


def _make_tables(connection: sqlite3.Connection) -> None:
    """Make the tables of a new file, in one step."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if _is_empty(connection):  # nobody else was faster
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {LAYOUT}")
            for table in TABLES:
                connection.execute(table)
        connection.execute("COMMIT")
    except sqlite3.Error:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _ago(span: timedelta) -> str:
    """Return the time so long ago, as it is written down; where there are no dates any more, the text before all."""
    try:
        return (datetime.now(UTC) - span).isoformat()
    except OverflowError:
        return ""


def _is_empty(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT name FROM sqlite_master LIMIT 1").fetchone() is None


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


@contextmanager
def _sentences(path: Path) -> Iterator[None]:
    """Turn what SQLite says into a sentence that names the file and the cure."""
    try:
        yield
    except KerncauseError:
        raise
    except (ValueError, TypeError, KeyError):  # what was written is not what is read
        raise _damaged(path) from None
    except sqlite3.OperationalError as problem:
        if "decode" in str(problem):
            raise _damaged(path) from None
        raise KerncauseError(
            f"cannot use the scores in {shown_path(path)} ({problem}): free some space, wait for who is writing, or "
            "choose another file (--cache); what is in it is kept"
        ) from None
    except sqlite3.DatabaseError as problem:
        if "not a database" in str(problem):
            raise OptionError(f"{shown_path(path)} is no file of scores: choose another name (--cache)") from None
        raise _damaged(path) from None
    except OSError as problem:
        raise OptionError(f"cannot write {shown_path(path)} (--cache): {problem.strerror}") from None


def _damaged(path: Path) -> KerncauseError:
    return KerncauseError(
        f"the scores in {shown_path(path)} are damaged: move the file away, or choose another (--cache)"
    )
