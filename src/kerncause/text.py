"""Words from untrusted tables, made safe and readable for messages and terminals."""

import math
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


def duration(seconds: float) -> str:
    """Return a time in seconds, minutes or hours."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 6000:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def clock(seconds: float) -> str:
    """Return a time as a clock shows it: 2:31, or 1:02:31."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def said_bytes(number: float) -> str:
    """Return an amount of memory: 512 MiB, 1.5 GiB."""
    return f"{number / 2**30:.1f} GiB" if number >= 2**30 else f"{math.ceil(number / 2**20):,} MiB"


def counted(number: int, noun: str) -> str:
    """Return `1 row`, `2 rows`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
