"""Commands on files of local scores."""

from pathlib import Path
from typing import Annotated

import typer

from kerncause.cli.app import app, examples
from kerncause.cli.options import span
from kerncause.cli.screen import Screen, errors
from kerncause.scores import ScoreCache
from kerncause.text import counted

cache_app = typer.Typer(help="Look into the file of discover --cache, or make it smaller.", no_args_is_help=True)
app.add_typer(cache_app, name="cache")
File = Annotated[Path, typer.Argument(metavar="FILE", help="A file that discover --cache wrote.")]


@cache_app.command(epilog=examples("kerncause cache info scores.sqlite"))
def info(file: File) -> None:
    """Say which tables and scores a file holds, how many scores, and when they were last used."""
    with errors(), ScoreCache.opened(file, only_look=True) as cache:
        Screen(quiet=False).holdings(cache.holdings(), cache.size)


@cache_app.command(epilog=examples("kerncause cache prune scores.sqlite --unused 30d"))
def prune(
    file: File,
    unused: Annotated[
        str | None, typer.Option(metavar="TIME", help="Remove what was not used for so long, such as 12h, 30d or 8w.")
    ] = None,
) -> None:
    """Remove scores that another version computed, and those that were not used for long."""
    with errors(), ScoreCache.opened(file, must_exist=True) as cache:
        removed = cache.prune(None if unused is None else span("--unused", unused))
        Screen(quiet=False).say(f"{counted(removed, 'score')} removed")
