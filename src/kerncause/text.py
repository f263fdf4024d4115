"""Words from untrusted tables, made safe and readable for messages and terminals."""

from collections.abc import Iterable

LONGEST_SHOWN = 60


def printable(text: object, longest: int = LONGEST_SHOWN) -> str:
    """Return `text` on one line: control characters escaped, cut at `longest` characters."""
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text))
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


def quoted(text: object) -> str:
    """Return a name as it is shown inside a sentence."""
    return f"'{printable(text)}'"


def listed(names: Iterable[object], at_most: int = 6) -> str:
    """Return names as `'a', 'b' and 3 more`."""
    every = [quoted(name) for name in names]
    if len(every) > at_most:
        every = [*every[:at_most], f"{len(every) - at_most} more"]
    return every[0] if len(every) == 1 else ", ".join(every[:-1]) + " and " + every[-1] if every else ""


def counted(number: int, noun: str) -> str:
    """Return `1 row`, `2 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
