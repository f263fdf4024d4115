"""The command that draws a picture."""

from pathlib import Path
from typing import Annotated

import typer

from kerncause.cli.app import app, examples
from kerncause.cli.screen import errors
from kerncause.report.figure import Shown, save_picture


@app.command(epilog=examples("kerncause plot result graph.svg", "kerncause plot truth.json truth.png --no-labels"))
def plot(
    result: Annotated[
        Path, typer.Argument(metavar="RESULT", help="A directory that discover --out wrote, or the file of a graph.")
    ],
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The picture: its name ends in .svg, .png or .pdf.")],
    labels: Annotated[
        bool, typer.Option("--labels/--no-labels", help="Whether to write the figure of each edge beside it.")
    ] = True,
) -> None:
    """Draw a result or a graph, causes above effects."""
    with errors():
        save_picture(Shown.read(result), out, labels)
