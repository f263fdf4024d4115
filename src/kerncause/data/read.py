"""Files become DataFrames: CSV, TSV, Parquet."""

import csv
import gzip
import io
import warnings
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from kerncause.data.dataset import Dataset
from kerncause.data.options import Origin
from kerncause.errors import DataError, OptionError
from kerncause.text import counted, listed, printable, quoted

SEPARATORS = (",", "\t", ";", "|")


def read_table(path: str | Path, *, separator: str | None = None, decimal: str = ".", **options: Any) -> Dataset:
    """Read a file and check it; `options` are those of `Dataset.from_frame`."""
    data = Dataset.from_frame(read_frame(path, separator=separator, decimal=decimal), **options)
    return replace(data, origin=Origin(str(path), separator, decimal))


def read_frame(
    path: str | Path,
    *,
    separator: str | None = None,
    decimal: str = ".",
) -> pd.DataFrame:
    """Read a CSV, TSV or Parquet file as it stands.

    An empty or blank cell is a missing value, and nothing else is: a category called None, NA or null stays a
    category. Spaces around a cell do not count. The separator is the one that splits the line of names, outside
    quotes, into most parts, unless it is given. A column without a name is called `column 3` after its position.
    """
    path = Path(path)
    try:
        if path.is_dir():
            raise DataError(f"{quoted(path)} is a directory: give a CSV, TSV or Parquet file")
        if not path.exists():
            raise DataError(f"there is no file {quoted(path)}: check the path")
        if path.suffix.lower() in {".parquet", ".pq"}:
            return _read_parquet(path)
        return _read_delimited(path, _one_character("separator (--sep)", separator), decimal)
    except UnicodeDecodeError:
        raise DataError(f"{quoted(path)} is not UTF-8 text: save it as UTF-8, or as Parquet") from None
    except (OSError, EOFError, zlib.error) as problem:
        raise DataError(f"{quoted(path)} cannot be read: {_reason(problem)}; check the file") from problem


def _read_parquet(path: Path) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except ImportError:
        raise DataError("Parquet files need pyarrow: pip install 'kerncause[parquet]'") from None
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise DataError(
            f"{quoted(path)} cannot be read as Parquet ({_reason(problem)}): write it again, every column name once"
        ) from problem


def _read_delimited(path: Path, separator: str | None, decimal: str) -> pd.DataFrame:
    text = _text(path)
    if not text.strip():
        raise DataError(f"{quoted(path)} is empty: give a line of names and one row per observation")
    names, separator = _names(path, text, separator)
    try:
        with warnings.catch_warnings():
            # Rows longer than the line of names make pandas warn and cut: refuse instead.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            frame = pd.read_csv(
                io.StringIO(text),
                sep=separator,
                decimal=_one_character("decimal (--decimal)", decimal) or ".",
                names=names,
                header=0,
                index_col=False,
                keep_default_na=False,
                na_values=[""],
                skipinitialspace=True,
                low_memory=False,
            )
    except (pd.errors.ParserError, ValueError, pd.errors.ParserWarning) as problem:
        raise DataError(
            f"{quoted(path)} is not a table of {counted(len(names), 'column')} ({_reason(problem)}): "
            "give every row as many cells as there are names, or name the separator (--sep)"
        ) from problem
    return frame.apply(_stripped)


def _stripped(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return text without the spaces around it; what is then empty is missing."""
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return column
    words = column.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
    return words.mask(words == "")


def _text(path: Path) -> str:
    if path.suffix.lower() == ".gz":
        with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as file:
            return file.read()
    return path.read_text(encoding="utf-8-sig")


def _names(path: Path, text: str, separator: str | None) -> tuple[list[str], str]:
    """Read the line of names with a CSV reader (pandas would rename duplicates quietly)."""
    lines = text.lstrip("\r\n")
    try:
        split = {
            mark: next(csv.reader(io.StringIO(lines), delimiter=mark, skipinitialspace=True))
            for mark in separator or SEPARATORS
        }
    except csv.Error as problem:
        raise DataError(
            f"the line of names of {quoted(path)} cannot be read ({_reason(problem)}): is a quote left open?"
        ) from problem
    separator = max(split, key=lambda mark: len(split[mark]))
    names = [name.strip() or f"column {position}" for position, name in enumerate(split[separator], start=1)]
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


def _one_character(option: str, text: str | None) -> str | None:
    if text is not None and len(text) != 1:
        raise OptionError(f"{option} cannot be {quoted(text)}, which is not one character: give one, such as ;")
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _reason(problem: Exception) -> str:
    return printable(str(problem).strip().rstrip("."), 160)
