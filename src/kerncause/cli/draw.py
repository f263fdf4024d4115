"""Commands that show a result: a picture, and the report."""

from pathlib import Path
from typing import Annotated

import typer

from kerncause.cli.app import app, examples
from kerncause.cli.graphs import graph_at
from kerncause.cli.options import ResultPath, TableOption
from kerncause.cli.screen import Screen, errors
from kerncause.report.figure import Shown, save_picture
from kerncause.saved import load_result


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


@app.command(
    epilog=examples(
        "kerncause report result",
        "kerncause report result --truth truth.json --to compared.html",
    )
)
def report(
    result: ResultPath,
    truth: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The true graph, to compare with: any format of convert.")
    ] = None,
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="Default: report.html in that directory.")] = None,
    data: TableOption = None,
) -> None:
    """Write the report on a result: one HTML file to open in a browser, which needs nothing from elsewhere."""
    with errors():
        true = None if truth is None else graph_at(truth)
        path = load_result(result, data).report(result / "report.html" if to is None else to, true)
        Screen(quiet=False).report(path)
