"""Making a score or a test by name with options: unknown ones are refused by name, with those that there are."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from kerncause.errors import OptionError
from kerncause.text import listed

Made = TypeVar("Made")


def made(what: str, make: Callable[..., Made], data: object, options: Mapping[str, Any]) -> Made:
    """Return `make(data, **options)`; `what` names it in a refusal."""
    known = [name for name in inspect.signature(make).parameters if name != "data"]
    unknown = [name for name in options if name not in known]
    if unknown:
        has = f"what can be set is {', '.join(known)}" if known else "nothing can be set"
        raise OptionError(f"{what} has no option {listed(unknown)}: {has}")
    try:
        return make(data, **options)
    except TypeError as problem:
        raise OptionError(f"{what} cannot take {_shown(options)}: {problem}; give a value of the right kind") from None


def _shown(options: Mapping[str, Any]) -> str:
    return listed([f"{name}={value}" for name, value in options.items()]) if options else "this table"
