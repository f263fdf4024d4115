"""Files become DataFrames: CSV, TSV, Parquet."""

import csv
import gzip
import io
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from kerncause.data.dataset import Dataset
from kerncause.errors import DataError, OptionError
from kerncause.text import counted, listed, printable, quoted

SEPARATORS = (",", "\t", ";", "|")


def read_table(path: str | Path, *, separator: str | None = None, **options: Any) -> Dataset:
    """Read a file and check it; `options` are those of `Dataset.from_frame`."""
    frame = read_frame(path, separator=separator, na_values=options.get("na_values", ()))
    return Dataset.from_frame(frame, **options)


def read_frame(
    path: str | Path,
    *,
    separator: str | None = None,
    na_values: Collection[str] | Mapping[str, Collection[str]] = (),
) -> pd.DataFrame:
    """Read a CSV, TSV or Parquet file as it stands.

    An empty cell is a missing value; so are the texts in `na_values`, and nothing else: a category called
    None, NA or null stays a category. The separator is the one that occurs most in the line of names,
    unless it is given. A column without a name is called `column 3` after its position.
    """
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{quoted(path)} is a directory: give a CSV, TSV or Parquet file")
    if not path.exists():
        raise DataError(f"there is no file {quoted(path)}: check the path")
    if path.suffix.lower() in {".parquet", ".pq"}:
        return _read_parquet(path)
    return _read_delimited(path, separator, na_values)


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except ImportError:
        raise DataError("Parquet files need pyarrow: pip install 'kerncause[parquet]'") from None
    except (OSError, ValueError) as problem:
        raise DataError(f"{quoted(path)} cannot be read as Parquet: {_reason(problem)}") from problem


def _read_delimited(
    path: Path, separator: str | None, na_values: Collection[str] | Mapping[str, Collection[str]]
) -> pd.DataFrame:
    try:
        text = _text(path)
    except UnicodeDecodeError:
        raise DataError(f"{quoted(path)} is not UTF-8 text: save it as UTF-8, or as Parquet") from None
    except (OSError, EOFError) as problem:
        raise DataError(f"{quoted(path)} cannot be read: {_reason(problem)}") from problem
    names, separator = _names(path, text, separator)
    marks: Any = (
        {name: ["", *na_values.get(name, ())] for name in names} if isinstance(na_values, Mapping) else ["", *na_values]
    )
    try:
        with warnings.catch_warnings():
            # Rows longer than the line of names make pandas warn and cut: refuse instead.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                io.StringIO(text),
                sep=separator,
                names=names,
                header=0,
                index_col=False,
                keep_default_na=False,
                na_values=marks,
                low_memory=False,
            )
    except (pd.errors.ParserError, ValueError, pd.errors.ParserWarning) as problem:
        raise DataError(
            f"{quoted(path)} is not a table of {counted(len(names), 'column')}: {_reason(problem)}; "
            "give every row as many cells as there are names, or name the separator"
        ) from problem


def _text(path: Path) -> str:
    if path.suffix.lower() == ".gz":
        with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as file:
            return file.read()
    return path.read_text(encoding="utf-8-sig")


def _names(path: Path, text: str, separator: str | None) -> tuple[list[str], str]:
    """Read the line of names with a CSV reader (pandas would rename duplicates quietly)."""
    if not text.strip():
        raise DataError(f"{quoted(path)} is empty: give a line of names and one row per observation")
    first = text.lstrip("\r\n").splitlines()[0]
    if separator is not None and len(separator) != 1:
        raise OptionError(f"the separator {quoted(separator)} is not one character: give one, such as ;")
    separator = separator or max(SEPARATORS, key=lambda mark: (first.count(mark), -SEPARATORS.index(mark)))
    names = next(csv.reader(io.StringIO(text.lstrip("\r\n")), delimiter=separator))
    names = [name.strip() or f"column {position}" for position, name in enumerate(names, start=1)]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise DataError(
            f"column name {listed(repeated)} stands for several columns of {quoted(path)}: rename all but one"
        )
    if all(_is_number(name) for name in names):
        raise DataError(
            f"the first line of {quoted(path)} holds numbers ({listed(names, 3)}), not names: "
            "add a line of names above it"
        )
    return names, separator


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _reason(problem: Exception) -> str:
    return printable(str(problem).strip().rstrip("."), 160)
