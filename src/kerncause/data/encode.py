"""One column in, numbers and a kind out: the written rule by which kinds are inferred.

The rule, first match wins:

1. the levels were given                      -> ordinal, coded 1..k in the order given
2. the kind was given                         -> that kind (text asked to be ordinal needs its levels)
3. an ordered pandas category                 -> ordinal, coded 1..k in its order
4. an unordered pandas category, a boolean    -> categorical, coded 1..k in its order
5. a date, a time, a duration, ISO 8601 text  -> continuous, in days
6. whole numbers with at most 20 values       -> ordinal, the numbers themselves are the codes
7. whole numbers a, a+1, ..., each once       -> refused: it looks like an identifier
8. any other numbers                          -> continuous
9. text that mixes numbers and words          -> refused: ask for a kind, or name the missing-value mark
10. text with a different value in every row  -> refused: it looks like an identifier
11. any other text                            -> categorical, coded 1..k in alphabetical order

Whole numbers stored as floats count as whole numbers, because one empty cell turns a column of integers
into floats. Text of which every value is a number counts as numbers.
"""

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kerncause.data.variable import Kind
from kerncause.errors import DataError
from kerncause.text import counted, listed, quoted

FEW_LEVELS = 20
ISO_DATE = (
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
# Numbers that float() does not read: 1,25 and 45%.
ODD_NUMBER = r"[+-]?[0-9][0-9.,]*\s*%?"

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Encoded:
    """A column as numbers (n,), NaN where missing, with its kind, its levels, the reason for both, and their codes."""

    numbers: Floats
    kind: Kind
    levels: tuple[str, ...] | None
    reason: str
    level_codes: tuple[float, ...] | None = None


def encode(name: str, column: "pd.Series[Any]", kind: Kind | None, levels: Sequence[str] | None) -> Encoded:
    """Turn one column into numbers by the rule above."""
    if column.isna().all():
        raise DataError(f"column {quoted(name)} has no value at all: drop it")
    column = _plain(name, column)
    if levels is None and kind in (None, Kind.CONTINUOUS):
        _refuse_false_dates(name, column)
    if levels is not None:
        return _with_levels(name, column, kind, levels)
    encoded = _as_asked(name, column, kind) if kind else _inferred(name, column)
    if encoded.kind is Kind.CONTINUOUS or encoded.levels is None:
        _refuse_infinity(name, encoded.numbers)
    return encoded


def _inferred(name: str, column: "pd.Series[Any]") -> Encoded:
    if isinstance(column.dtype, pd.CategoricalDtype):
        kind = Kind.ORDINAL if column.dtype.ordered else Kind.CATEGORICAL
        return _coded(column, kind, "an ordered category" if column.dtype.ordered else "an unordered category")
    if pd.api.types.is_bool_dtype(column.dtype):
        return _coded(column.astype("category"), Kind.CATEGORICAL, "true or false")
    numbers = _numbers(column)
    if numbers is not None:
        return _inferred_numbers(name, column, numbers)
    return _inferred_text(name, column)


def _inferred_numbers(name: str, column: "pd.Series[Any]", numbers: Floats) -> Encoded:
    if _is_date(column):
        return Encoded(numbers, Kind.CONTINUOUS, None, "a date or duration, in days")
    _refuse_infinity(name, numbers)
    values = np.unique(numbers[~np.isnan(numbers)])
    if not np.all(values == np.round(values)):
        return Encoded(numbers, Kind.CONTINUOUS, None, "numbers with fractions")
    if len(values) <= FEW_LEVELS:
        return _own_levels(numbers, Kind.ORDINAL, f"whole numbers, {counted(len(values), 'value')}")
    if len(values) == np.sum(~np.isnan(numbers)) and values[-1] - values[0] == len(values) - 1:
        raise DataError(
            f"column {quoted(name)} looks like an identifier (whole numbers {values[0]:.0f} to {values[-1]:.0f}, "
            f"each once): drop it (--drop), or keep it by giving its kind as continuous (--kind)"
        )
    return Encoded(numbers, Kind.CONTINUOUS, None, f"whole numbers, {counted(len(values), 'value')}")


def _inferred_text(name: str, column: "pd.Series[Any]") -> Encoded:
    present = column.dropna().astype(str)
    is_number = pd.to_numeric(present, errors="coerce").notna()
    if is_number.any():
        word, number = present[~is_number].iloc[0], present[is_number].iloc[0]
        raise DataError(
            f"column {quoted(name)} mixes numbers ({quoted(number)}) and text ({quoted(word)}): if {quoted(word)} "
            "means a missing value say so (--na in the shell, na_values in Python), "
            "otherwise give the column's kind as categorical or list its levels in order"
        )
    if present.str.fullmatch(ODD_NUMBER).all():
        raise DataError(
            f"column {quoted(name)} holds what look like numbers, such as {quoted(present.iloc[0])}: write them with a "
            "decimal point and nothing else (--decimal , reads decimal commas), or give its kind as categorical"
        )
    if present.nunique() == len(present) and len(present) > 1:
        raise DataError(
            f"column {quoted(name)} is text with a different value in each of {counted(len(present), 'row')}, "
            "so it looks like an identifier: drop it"
        )
    return _coded(_alphabetical(column), Kind.CATEGORICAL, f"text, {counted(present.nunique(), 'value')}")


def _as_asked(name: str, column: "pd.Series[Any]", kind: Kind) -> Encoded:
    numbers = _numbers(column)
    if kind is Kind.CONTINUOUS:
        if numbers is None:
            texts = column.dropna().astype(str)
            word = texts[pd.to_numeric(texts, errors="coerce").isna()].iloc[0]
            raise DataError(
                f"column {quoted(name)} holds text such as {quoted(word)} and cannot be continuous: "
                "give its kind as categorical, or list its levels in order"
            )
        return Encoded(numbers, kind, None, "as asked")
    if isinstance(column.dtype, pd.CategoricalDtype):
        return _coded(column, kind, "as asked")
    if numbers is not None:
        _refuse_infinity(name, numbers)
        return _own_levels(numbers, kind, "as asked")
    if kind is Kind.ORDINAL:
        raise DataError(
            f"column {quoted(name)} is text, whose order is not known: list its levels in order "
            "(--levels COL=low,avg,high in the shell, levels in Python)"
        )
    return _coded(_alphabetical(column), kind, "as asked")


def _with_levels(name: str, column: "pd.Series[Any]", kind: Kind | None, levels: Sequence[str]) -> Encoded:
    words = [str(level) for level in levels]
    if len(set(words)) != len(words):
        raise DataError(f"the levels of column {quoted(name)} name one value twice: list each once")
    if kind is Kind.CONTINUOUS:
        raise DataError(f"column {quoted(name)} cannot be continuous and have levels: leave one of the two out")
    positions = {word: code for code, word in enumerate(words, start=1)}
    texts = column.dropna().map(_level_text)
    unknown = sorted(set(texts) - set(positions))
    if unknown:
        raise DataError(
            f"column {quoted(name)} has {listed(unknown)}, not among its levels {listed(words)}: add it to them"
        )
    numbers = np.full(len(column), np.nan)
    numbers[column.notna().to_numpy()] = texts.map(positions).to_numpy(dtype=np.float64)
    return Encoded(numbers, kind or Kind.ORDINAL, tuple(words), "levels as listed", _counting(len(words)))


def _plain(name: str, column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Refuse what is no column of numbers, words, dates or truth values; give objects their real type."""
    if pd.api.types.is_complex_dtype(column.dtype):
        raise DataError(f"column {quoted(name)} holds complex numbers: split it into real columns")
    if column.dtype != object:
        return column
    present = column.dropna()
    types = {type(value) for value in present}
    if types <= {bool, np.bool_}:
        return column.astype("boolean")
    # Python's numbers, dates and durations in an object column: let pandas find the common type.
    inferred = column.infer_objects()
    if inferred.dtype != object:
        return inferred
    if all(issubclass(t, int | float | np.number) for t in types):
        return pd.Series(column.to_numpy(dtype=np.float64, na_value=np.nan), index=column.index)
    strange = next((t for t in types if not issubclass(t, str | int | float | np.number | bool)), None)
    if strange is not None and not _all_dates(types):
        raise DataError(
            f"column {quoted(name)} holds values of type {quoted(strange.__name__)}: turn them into numbers or text"
        )
    return column


def _all_dates(types: set[type]) -> bool:
    return all(issubclass(t, datetime.date | datetime.timedelta) for t in types)


def _numbers(column: "pd.Series[Any]") -> Floats | None:
    """Return the column as floats (dates in days), or None where it is text."""
    if pd.api.types.is_timedelta64_dtype(column.dtype):
        return _days(column)
    if _is_date(column):
        if _is_datetime(column):
            moments = column.dt.tz_convert(None) if column.dt.tz is not None else column
            since_1970 = moments.to_numpy(dtype="datetime64[us]") - np.datetime64(0, "us")
            return np.where(column.isna(), np.nan, since_1970 / np.timedelta64(1, "D"))
        return np.array([_day(moment) for moment in column], dtype=np.float64)
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    present = column.notna()
    parsed = pd.to_numeric(column[present].astype(str), errors="coerce")
    # "NaN" in a column of numbers is a missing number, not a word.
    words = parsed.isna() & (column[present].astype(str).str.strip().str.lower() != "nan")
    if words.any() or parsed.isna().all():
        return None
    numbers = np.full(len(column), np.nan)
    numbers[present.to_numpy()] = parsed.to_numpy(dtype=np.float64)
    return numbers


def _day(moment: Any) -> float:
    """Return days since 1970 of a date or its ISO text, in any year; NaN for a missing one."""
    if pd.isna(moment):
        return float("nan")
    point = datetime.datetime.fromisoformat(str(moment))
    naive = point if point.tzinfo is None else point.astimezone(datetime.UTC).replace(tzinfo=None)
    return (naive - datetime.datetime(1970, 1, 1)) / datetime.timedelta(days=1)


def _refuse_false_dates(name: str, column: "pd.Series[Any]") -> None:
    """Refuse 2024-02-30: it is written as a date and is none."""
    if _is_date(column) and not _is_datetime(column) and not pd.api.types.is_timedelta64_dtype(column.dtype):
        for word in pd.unique(_words(column).dropna()):
            try:
                datetime.datetime.fromisoformat(word)
            except ValueError:
                raise DataError(
                    f"column {quoted(name)} holds dates, but {quoted(word)} is none: correct it, "
                    "or give the column's kind as categorical"
                ) from None


def _days(durations: "pd.Series[Any]") -> Floats:
    """Return durations in days, NaN where missing."""
    return np.where(durations.isna(), np.nan, durations.dt.total_seconds() / 86400.0)


def _is_datetime(column: "pd.Series[Any]") -> bool:
    return pd.api.types.is_datetime64_any_dtype(column.dtype)


def _is_date(column: "pd.Series[Any]") -> bool:
    if _is_datetime(column) or pd.api.types.is_timedelta64_dtype(column.dtype):
        return True
    if isinstance(column.dtype, pd.CategoricalDtype) or pd.api.types.is_numeric_dtype(column.dtype):
        return False
    return bool(column.dropna().astype(str).str.fullmatch(ISO_DATE).all())


def _own_levels(numbers: Floats, kind: Kind, reason: str) -> Encoded:
    """Numbers that serve as their own codes, so that an unseen level leaves the others where they are."""
    values = np.unique(numbers[~np.isnan(numbers)])
    return Encoded(numbers, kind, tuple(_level_text(v) for v in values), reason, tuple(values.tolist()))


def _alphabetical(column: "pd.Series[Any]") -> "pd.Series[Any]":
    present = column.dropna().astype(str)
    return pd.Series(pd.Categorical(_words(column), categories=sorted(present.unique())), index=column.index)


def _words(column: "pd.Series[Any]") -> "pd.Series[Any]":
    """Return every value as text, missing ones left missing (whatever astype does to them in this pandas)."""
    return column.astype(object).where(column.isna(), column.astype(str))


def _coded(column: "pd.Series[Any]", kind: Kind, reason: str) -> Encoded:
    codes = column.cat.codes.to_numpy(dtype=np.float64)
    numbers = np.where(codes < 0, np.nan, codes + 1)
    levels = tuple(_level_text(c) for c in column.cat.categories)
    return Encoded(numbers, kind, levels, reason, _counting(len(levels)))


def _counting(count: int) -> tuple[float, ...]:
    """Return 1, 2, ..., the codes of words."""
    return tuple(float(k) for k in range(1, count + 1))


def _level_text(value: object) -> str:
    """Return a level as a person writes it: 1, not 1.0."""
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _refuse_infinity(name: str, numbers: Floats) -> None:
    infinite = int(np.isinf(numbers).sum())
    if infinite:
        raise DataError(
            f"column {quoted(name)} has {counted(infinite, 'infinite value')}: "
            "replace infinity by a number or by an empty cell"
        )
