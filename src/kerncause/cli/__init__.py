"""The command line: words to calls, and results to a person, nothing else."""

import io
import sys

# Each module adds its commands to the app when it is loaded.
from kerncause.cli import experiments, graphs, learn  # noqa: F401
from kerncause.cli.app import app
from kerncause.cli.screen import Screen

__all__ = ["Screen", "app", "main"]


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without arrows still gets its table
    app()
