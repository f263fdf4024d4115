"""The command line: words to calls, and results to a person, nothing else."""

import codecs
import io
import sys

# Each module adds its commands to the app when it is loaded.
from kerncause.cli import cache, draw, experiments, graphs, learn  # noqa: F401
from kerncause.cli.app import app
from kerncause.cli.screen import Screen

__all__ = ["Screen", "app", "main"]


SPELT = {"→": "->", "—": "--", "…": "...", "±": "+-"}


def spelt_out(problem: UnicodeError) -> tuple[str, int]:
    """Spell out what a terminal has no sign for: an arrow must not look like a line."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    lost = problem.object[problem.start : problem.end]
    return "".join(SPELT.get(sign, "?") for sign in lost), problem.end


codecs.register_error(spelt_out.__name__, spelt_out)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=spelt_out.__name__)  # a terminal without arrows still gets its table
    app()
