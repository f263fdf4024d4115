"""The options that commands share, and how their words are read."""

import csv
import io
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, cast

import typer

from kerncause.data import Dataset, Kind, Missing, Origin, TableOptions, read_frame
from kerncause.errors import OptionError
from kerncause.knowledge import Knowledge, read_knowledge
from kerncause.regression import ENGINES
from kerncause.scores import SCORES
from kerncause.text import quoted

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
DataPath = Annotated[Path, typer.Argument(metavar="DATA", help="A CSV, TSV or Parquet file with a line of names.")]
ResultPath = Annotated[Path, typer.Argument(metavar="RESULT", help="A directory that discover --out wrote.")]
TableOption = Annotated[Path | None, typer.Option(metavar="FILE", help="The table, if it is no longer where it was.")]
KindOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COL=KIND",
        help=f"How to read a column: {', '.join(k.value for k in Kind if k is not Kind.VECTOR)}. Repeatable.",
    ),
]
GroupOption = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="NAME=COL,COL", help="Columns that together are one vector variable. Repeatable."),
]
LevelsOption = Annotated[
    list[str] | None,
    typer.Option("--levels", metavar="COL=low,avg,high", help="The values of an ordinal column in order. Repeatable."),
]
DropOption = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COL", help="A column to leave out. Repeatable.")
]
MissingOption = Annotated[
    str,
    typer.Option(
        "--missing",
        metavar="HOW",
        help="What to do about missing values: error (stop), drop (leave their rows out), "
        "testwise (score each parent set on the rows complete for it).",
    ),
]
NaOption = Annotated[
    list[str] | None,
    typer.Option(
        "--na",
        metavar="TEXT | COL=TEXT",
        help="A text that means a missing value, in all columns or in one. Empty cells always do. Repeatable.",
    ),
]
SepOption = Annotated[
    str | None, typer.Option("--sep", metavar="CHAR", help="What separates the cells. Default: found in the names.")
]
DecimalOption = Annotated[
    str, typer.Option("--decimal", metavar="CHAR", help="The decimal mark of numbers, such as a comma.")
]
PresetOption = Annotated[
    str | None,
    typer.Option(
        "--preset",
        metavar="NAME",
        help="A named setting: paper (Wang et al. 2024), or adaptive (kernels and a search that suit the table).",
    ),
]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine", metavar="NAME", help=f"How to compute kernel scores: auto (default), {', '.join(ENGINES)}."
    ),
]
DegreeOption = Annotated[
    float | None,
    typer.Option(
        "--expected-degree",
        metavar="D",
        help="How many neighbours a variable has on average, for scores that weigh evidence (--preset adaptive).",
    ),
]
ToleranceOption = Annotated[
    float | None,
    typer.Option(
        "--tolerance",
        metavar="NATS",
        help="How far a score may lie from the exact one. Default: 0.01, or that of the preset.",
    ),
]
ScoreOption = Annotated[
    str | None,
    typer.Option(
        "--score",
        metavar="NAME",
        help=f"The score: {', '.join(SCORES)}. Default: learned, or of discover what suits the table.",
    ),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A setting of the score, test or method by name. Repeatable."),
]
KnowledgeOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="What is known beforehand: a TOML file with tiers, required, forbidden, ..."),
]
TierOption = Annotated[
    list[str] | None,
    typer.Option(metavar="COL,COL", help="A group of variables; none causes any of the groups before. Repeatable."),
]
RequireOption = Annotated[
    list[str] | None, typer.Option(metavar="'A>B'", help="The edge from A to B must be there. Repeatable.")
]
ForbidOption = Annotated[
    list[str] | None, typer.Option(metavar="'A>B'", help="The edge from A to B must not be there. Repeatable.")
]


def known_from(
    path: Path | None, tiers: list[str] | None, required: list[str] | None, forbidden: list[str] | None
) -> Knowledge:
    """Return what a file and the options say together."""
    typed = Knowledge(
        [cells(tier) for tier in tiers or ()],
        [_arrow("--require", text) for text in required or ()],
        [_arrow("--forbid", text) for text in forbidden or ()],
    )
    return typed if path is None else read_knowledge(path) | typed


def _arrow(option: str, text: str) -> tuple[str, str]:
    """Read `A>B` or `A->B`; a name with a > in it can be put in double quotes."""
    try:
        words = next(csv.reader(io.StringIO(text.replace("->", ">"), newline=""), delimiter=">"), [])
    except csv.Error:
        words = []
    ends = [word.strip() for word in words]
    if len(ends) != 2 or not all(ends):
        raise OptionError(f"{option} cannot be {quoted(text)}: write it as {option} 'CAUSE>EFFECT'")
    return ends[0], ends[1]


def given(**options: Any) -> dict[str, Any]:
    """Return the options that were given; scores and searches have their own defaults for the others."""
    return {name: value for name, value in options.items() if value is not None}


def settings(texts: list[str] | None) -> dict[str, Any]:
    """Read NAME=VALUE settings; a value is a whole number, a number, true or false, or a word."""
    return {name.replace("-", "_"): number_or_word(word) for name, word in pairs("--set", texts, []).items()}


def number_or_word(word: str) -> int | float | bool | str:
    """Read a whole number, a number, true or false, or a word."""
    if word in ("true", "false"):
        return word == "true"
    for number in (int, float):
        try:
            return number(word)
        except ValueError:
            pass
    return word


def read(
    path: Path,
    sep: str | None,
    decimal: str,
    kind: list[str] | None,
    group: list[str] | None,
    levels: list[str] | None,
    drop: list[str] | None,
    missing: str,
    na: list[str] | None,
) -> Dataset:
    """Read a table with the options as they were typed."""
    separator = {"tab": "\t", "\\t": "\t"}.get(sep or "", sep)
    frame = read_frame(path, separator=separator, decimal=decimal)
    columns = [str(name) for name in frame.columns]
    options = TableOptions(
        kinds=pairs("--kind", kind, columns),
        groups={name: cells(words) for name, words in pairs("--group", group, columns).items()},
        levels={name: cells(words) for name, words in pairs("--levels", levels, columns).items()},
        missing=cast(Missing, missing),
        na_values=_na_values(na or [], columns),
        drop=drop or (),
    )
    return replace(Dataset.of(frame, options), origin=Origin(str(path), separator, decimal))


def _na_values(texts: list[str], columns: list[str]) -> dict[str, list[str]]:
    """Return the marks of every column: TEXT for all, COL=TEXT for one."""
    marks: dict[str, list[str]] = {name: [] for name in columns}
    for text in texts:
        owner = _owner(text, columns)
        for name in columns if owner is None else [owner]:
            marks[name].append(text if owner is None else text[len(owner) + 1 :])
    return marks


def pairs(option: str, texts: list[str] | None, columns: list[str]) -> dict[str, str]:
    """Read NAME=VALUE options; a column's name may itself contain the sign."""
    pairs: dict[str, str] = {}
    for text in texts or ():
        name = _owner(text, columns) or text.partition("=")[0]
        value = text[len(name) + 1 :]
        if not name or not value:
            raise OptionError(f"{option} cannot be {quoted(text)}: write it as {option} NAME=VALUE")
        if name in pairs:
            raise OptionError(f"{option} speaks of {quoted(name)} twice: say it once")
        pairs[name] = value
    return pairs


def refuse_twice(options: Mapping[str, Any], named: Mapping[str, Any]) -> None:
    """Refuse a setting that is given by an option of its own and by --set as well."""
    for name in options:
        if name in named:
            raise OptionError(f"{name} is given by --{name.replace('_', '-')} and by --set: say it once")


def refuse_with_dask(**options: Any) -> None:
    """Refuse what a cluster would not use."""
    for name in given(**options):
        raise OptionError(f"--{name} has no use with --dask: leave out one of the two")


def _owner(text: str, columns: list[str]) -> str | None:
    """Return the longest column name that `text` begins with, followed by an equals sign."""
    return max((name for name in columns if text.startswith(f"{name}=")), key=len, default=None)


def span(option: str, text: str) -> timedelta:
    """Read how long: 90s, 10m, 2h, 30d or 8w."""
    found = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)([smhdw])", text.strip())
    if found is None:
        raise OptionError(f"{option} cannot be {quoted(text)}: write a number and s, m, h, d or w, such as 10m")
    return timedelta(**{UNITS[found[2]]: float(found[1])})


def cells(text: str) -> list[str]:
    """Split at commas; a name with a comma can be put in double quotes."""
    try:
        return next(csv.reader(io.StringIO(text, newline=""), skipinitialspace=True), [])
    except csv.Error as problem:
        raise OptionError(f"{quoted(text)} is not a list of names ({problem}): separate them by commas") from None
