"""Commands on files of local scores."""

import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated

import typer

from kerncause.cli.app import app, examples
from kerncause.cli.screen import Screen, errors
from kerncause.errors import OptionError
from kerncause.scores import ScoreCache
from kerncause.text import counted, quoted

cache_app = typer.Typer(help="Look into the file of discover --cache, or make it smaller.", no_args_is_help=True)
app.add_typer(cache_app, name="cache")
UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
File = Annotated[Path, typer.Argument(metavar="FILE", help="A file that discover --cache wrote.")]


@cache_app.command(epilog=examples("kerncause cache info scores.sqlite"))
def info(file: File) -> None:
    """Say which tables and scores a file holds, how many scores, and when they were last used."""
    with errors(), ScoreCache.opened(file, must_exist=True) as cache:
        Screen(quiet=False).holdings(cache.holdings(), file.stat().st_size)


@cache_app.command(epilog=examples("kerncause cache prune scores.sqlite --unused 30d"))
def prune(
    file: File,
    unused: Annotated[
        str | None, typer.Option(metavar="TIME", help="Remove what was not used for so long, such as 12h, 30d or 8w.")
    ] = None,
) -> None:
    """Remove scores that another version computed, and those that were not used for long."""
    with errors(), ScoreCache.opened(file, must_exist=True) as cache:
        removed = cache.prune(None if unused is None else _span(unused))
        Screen(quiet=False).say(f"{counted(removed, 'score')} removed")


def _span(text: str) -> timedelta:
    found = re.fullmatch(r"(\d{1,6})([mhdw])", text.strip())
    if found is None:
        raise OptionError(f"--unused cannot be {quoted(text)}: write a number and m, h, d or w, such as 30d")
    return timedelta(**{UNITS[found[2]]: int(found[1])})
