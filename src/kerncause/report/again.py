"""How to get a result again: the command, and the same in Python."""

import csv
import io
import shlex
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from kerncause.independence import TESTS
from kerncause.plan import DEFAULT_SCORE, DEFAULT_SEARCH, DEFAULT_TEST
from kerncause.presets import PRESETS, Extent, Size
from kerncause.result import Result
from kerncause.scores import SCORES
from kerncause.search import SEARCHES

# The options of a search that the command line knows, and what it calls them; what is not here it cannot be told.
OPTIONS = {
    "max_parents": "--max-parents",
    "turning": "--turning",
    "restarts": "--restarts",
    "lookahead": "--lookahead",
    "both_ways": "--both-ways",
    "candidates": "--candidates",
    "prune": "--prune",
    "alpha": "--alpha",
    "max_given": "--max-given",
}
DEFAULTS = {"score": DEFAULT_SCORE, "search": DEFAULT_SEARCH, "test": DEFAULT_TEST, "preset": None, "timeout": None}


class UnsayableError(Exception):
    """Something that only Python can be told."""


def command(result: Result) -> str | None:
    """Return the words of the shell; None if the table was no file, or something has no words on the command line."""
    if result.data.origin is None:
        return None
    try:
        words = [*_table_words(result), *_plan_words(result), *_knowledge_words(result.settings)]
    except UnsayableError:
        return None
    for name, value in _of_confidence(result).items():
        words += [f"--{name.replace('_', '-')}", str(value)]
    path = result.data.origin.path
    return shlex.join(
        ["kerncause", "discover", f"./{path}" if path.startswith("-") else path, *words, "--out", "result"]
    )


def python(result: Result) -> str:
    """Return the call in Python."""
    origin, settings = result.data.origin, result.settings
    table = "table" if origin is None else repr(origin.path)
    asked = {name: settings[name] for name in DEFAULTS if settings.get(name) not in (None, _usual(name, result))}
    if "method" in settings:
        asked["method"] = settings["method"]
    if settings.get("seed"):
        asked["seed"] = settings["seed"]
    asked |= _of_search(result)
    for part, options in (("score", _of_score(result)), ("test", _of_test(result))):
        if options:
            asked[f"{part}_options"] = {k: tuple(v) if isinstance(v, list) else v for k, v in options.items()}
    if settings.get("method_options"):
        asked["method_options"] = dict(settings["method_options"])
    if settings.get("knowledge"):
        asked["knowledge"] = settings["knowledge"]
    asked |= _of_confidence(result)
    read = _table_options(result)
    if origin is not None and (origin.separator not in (None, ",") or origin.decimal != "."):
        marks = {"separator": origin.separator, "decimal": origin.decimal}
        table, read = f"kerncause.read_table({_call([table], {**marks, **read})})", {}
    return f"kerncause.discover({_call([table], {**read, **asked})})"


def _usual(name: str, result: Result) -> Any:
    """Return what is taken if nothing is said; None: it depends on the table."""
    preset = result.settings.get("preset")
    if name == "score" and preset is None:
        return None
    size = _size(result)
    return size.search if name == "search" and size is not None else DEFAULTS[name]


def _size(result: Result) -> Size | None:
    """Return which search the preset takes for so many variables, if it leaves that to their number."""
    preset = result.settings.get("preset")
    if preset is None or not PRESETS[preset].sizes:
        return None
    return PRESETS[preset].size_for(len(result.data.variables))


def _of_confidence(result: Result) -> dict[str, Any]:
    """Return how many repetitions were asked for, done or not, and of what if not of halves."""
    asked = result.settings.get("confidence") or {}
    rows = {} if asked.get("rows", "half") == "half" else {"confidence_rows": asked["rows"]}
    return {"confidence": asked["repetitions"], **rows} if asked else {}


def _call(first: list[str], named: Mapping[str, Any]) -> str:
    return ", ".join([*first, *(f"{name}={value!r}" for name, value in named.items())])


def _table_options(result: Result) -> dict[str, Any]:
    written = result.settings["table"]
    marks = written["na_values"]
    told = {**written, "na_values": {k: v for k, v in marks.items() if v} if isinstance(marks, Mapping) else marks}
    return {name: value for name, value in told.items() if value and (name, value) != ("missing", "error")}


def _table_words(result: Result) -> Iterator[str]:
    origin, options = result.data.origin, _table_options(result)
    if origin is not None and origin.separator is not None:
        yield from ("--sep", "tab" if origin.separator == "\t" else origin.separator)
    if origin is not None and origin.decimal != ".":
        yield from ("--decimal", origin.decimal)
    for name, kind in options.get("kinds", {}).items():
        yield from ("--kind", f"{name}={kind}")
    for option in ("group", "level"):
        for name, members in options.get(f"{option}s", {}).items():
            yield from (f"--{option}" if option == "group" else "--levels", f"{name}={_listed(members)}")
    for name in options.get("drop", ()):
        yield from ("--drop", name)
    if "missing" in options:
        yield from ("--missing", options["missing"])
    columns = {column for variable in result.data.variables for column in variable.columns}
    yield from _missing_marks(options.get("na_values", {}), columns | set(options.get("drop", ())))


def _missing_marks(marks: Any, columns: set[str]) -> Iterator[str]:
    if not isinstance(marks, Mapping):
        marks = {None: marks}
    everywhere = set.intersection(*map(set, marks.values())) if columns <= marks.keys() else set[str]()
    for mark in sorted(everywhere):
        yield from ("--na", mark)
    for name, texts in marks.items():
        for text in texts:
            if text not in everywhere:
                yield from ("--na", text if name is None else f"{name}={text}")


def _plan_words(result: Result) -> Iterator[str]:
    settings = result.settings
    if "method" in settings:
        yield from ("--method", settings["method"])
    for name in DEFAULTS:
        if settings.get(name) not in (None, _usual(name, result)):
            yield from (f"--{name}", str(settings[name]))
    for name, value in _of_search(result).items():
        if name not in OPTIONS:
            raise UnsayableError(name)
        yield OPTIONS[name]
        if value is not True:
            yield str(value)
    for name, value in {
        **_of_score(result),
        **_of_test(result),
        **settings.get("method_options", {}),
    }.items():
        if not isinstance(value, bool | int | float | str):
            raise UnsayableError(name)
        yield from ("--set", f"{name}={str(value).lower() if isinstance(value, bool) else value}")
    if settings.get("seed"):
        yield from ("--seed", str(settings["seed"]))


def _of_search(result: Result) -> dict[str, Any]:
    """Return the options of the search that are not as usual, or as the preset has them."""
    settings, size = result.settings, _size(result)
    search = SEARCHES.get(settings.get("search", ""))
    usual = {} if search is None else dict(search.options)
    if settings.get("preset"):
        usual |= PRESETS[settings["preset"]].search
    if size is not None and size.search == settings["search"]:
        usual |= size.options
    return {name: value for name, value in settings.get("search_options", {}).items() if value != usual.get(name)}


def _of_score(result: Result) -> dict[str, Any]:
    """Return the options of the score that are not as usual, or as the preset has them."""
    preset = result.settings.get("preset")
    return _unusual(result, "score", SCORES, PRESETS[preset].score_for(Extent.of(result.data)) if preset else {})


def _of_test(result: Result) -> dict[str, Any]:
    return _unusual(result, "test", TESTS, {})


def _unusual(
    result: Result, part: str, makers: Mapping[str, Callable[..., Any]], preset: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options that are neither those of one made without any nor those of a preset."""
    maker = makers.get(result.settings.get(part, ""))
    usual = {} if maker is None else {**getattr(maker(result.data), "options", {}), **preset}
    options = result.settings.get(f"{part}_options", {})
    return {name: value for name, value in options.items() if _plain(value) != _plain(usual.get(name))}


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _knowledge_words(settings: Mapping[str, Any]) -> Iterator[str]:
    known = settings.get("knowledge") or {}
    if set(known) & {"roots", "leaves"}:
        raise UnsayableError("roots")  # only a file can say so
    for tier in known.get("tiers", ()):
        yield from ("--tier", _listed(tier))
    for part, option in (("required", "--require"), ("forbidden", "--forbid")):
        for ends in known.get(part, ()):
            yield from (option, _listed(ends, ">"))


def _listed(names: Any, separator: str = ",") -> str:
    """Return names as the command line reads a list of them."""
    line = io.StringIO()
    csv.writer(line, delimiter=separator, lineterminator="\r\n").writerow(names)  # so that line breaks are quoted
    return line.getvalue()[:-2]
