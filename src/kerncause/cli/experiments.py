"""Commands on experiments: list them, run one, draw its figure, print a table, answer the claims."""

from pathlib import Path
from typing import Annotated, cast

import typer

from kerncause.cli.app import app, examples
from kerncause.cli.experiment_screen import ExperimentScreen
from kerncause.cli.options import cells, pairs
from kerncause.cli.screen import errors
from kerncause.errors import OptionError
from kerncause.experiments import (
    DIRECTORY,
    EXPERIMENTS,
    SCALES,
    Scale,
    answered,
    as_markdown,
    compared,
    comparison_table,
    find_experiment,
    results_of,
    standing_of,
    tables,
    written_into,
)
from kerncause.experiments import plot as plotted
from kerncause.experiments import run as finished
from kerncause.experiments.specs.accuracy import REFERENCE
from kerncause.experiments.store import results_path
from kerncause.text import quoted

commands = typer.Typer(no_args_is_help=True, help="Redo the figures of the paper, each by one command.")
app.add_typer(commands, name="experiment")

Name = Annotated[str, typer.Argument(metavar="NAME", help="See `kerncause experiment list`.")]
ScaleOption = Annotated[
    str, typer.Option(metavar="SCALE", help=f"{', '.join(SCALES)}: a minute, 5 realisations, the paper's 20.")
]
OutOption = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where results and figures are kept.")]


@commands.command("list", epilog=examples("kerncause experiment list"))
def list_experiments(out: OutOption = DIRECTORY) -> None:
    """Show every experiment and how much of it there is."""
    with errors():
        ExperimentScreen(quiet=False).experiments([standing_of(e, out) for e in EXPERIMENTS.values()], out)


@commands.command(
    "run",
    epilog=examples(
        "kerncause experiment run fig4-real --scale smoke --out somewhere",
        "kerncause experiment run fig2-3 --scale full --only kind=continuous --only rows=200 --resume",
        "kerncause experiment run accuracy-development --only method=paper,default --resume",
    ),
)
def run_experiment(
    name: Name,
    scale: ScaleOption = "small",
    workers: Annotated[int | None, typer.Option(metavar="N", help="Processes. Default: one per core.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the results there are.")] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Measure again what failed.")] = False,
    only: Annotated[
        list[str] | None,
        typer.Option(
            "--only", metavar="NAME=VALUE[,VALUE]", help="Only cells with this setting or method. Repeatable."
        ),
    ] = None,
    out: OutOption = DIRECTORY,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Measure what is missing of an experiment, keep every row as it comes, and draw the figure."""
    with errors():
        screen, experiment = ExperimentScreen(quiet), find_experiment(name)
        wanted = {key: cells(value) for key, value in pairs("--only", only, []).items()}
        with screen.experiment_progress() as watch:
            rows = finished(
                name,
                cast(Scale, scale),
                out,
                workers=workers,
                resume=resume or retry,
                retry=retry,
                only=wanted,
                watch=watch,
            )
        screen.experiment(experiment, rows, results_path(experiment, out))
        if any(row.error is None for row in rows):
            try:
                screen.figure(plotted(name, cast(Scale, scale), out))
            except OptionError as problem:  # the results are what was asked for; without matplotlib they stand alone
                screen.note(str(problem))


@commands.command("plot", epilog=examples("kerncause experiment plot fig4-real --scale small"))
def plot_experiment(name: Name, scale: ScaleOption = "small", out: OutOption = DIRECTORY) -> None:
    """Draw the figure of an experiment, as SVG and PNG, from the results there are."""
    with errors():
        ExperimentScreen(quiet=False).figure(plotted(name, cast(Scale, scale), out))


@commands.command(
    "table",
    epilog=examples(
        "kerncause experiment table accuracy-development --scale full",
        "kerncause experiment table fig2-3 --against learned --figure shd_normalised --by kind --by rows",
    ),
)
def show_table(
    name: Name,
    scale: ScaleOption = "small",
    figure: Annotated[str, typer.Option(metavar="NAME", help="What is compared.")] = "skeleton_f1",
    against: Annotated[str, typer.Option(metavar="METHOD", help="The method that differences are to.")] = REFERENCE,
    by: Annotated[
        list[str] | None,
        typer.Option("--by", metavar="SETTING", help="A line for each of its values. Repeatable. Default: kind."),
    ] = None,
    out: OutOption = DIRECTORY,
) -> None:
    """Print means, standard errors and differences on the same tables, as Markdown, from the results there are."""
    with errors():
        cells_there = find_experiment(name).chosen(cast(Scale, scale))
        settings = dict.fromkeys(key for cell in cells_there for key, _ in cell.setting)
        parts = [key for key in ("kind",) if key in settings] if by is None else by
        found = compared(results_of(name, cast(Scale, scale), out), figure, against, parts, [*settings, "seed"])
        print(comparison_table(found, against))


@commands.command(
    "claims", epilog=examples("kerncause experiment claims", "kerncause experiment claims --into docs/reproduction.md")
)
def answer_claims(
    out: OutOption = DIRECTORY,
    into: Annotated[
        Path | None,
        typer.Option("--into", metavar="FILE", help="Put each table between its marks in this page instead."),
    ] = None,
) -> None:
    """Answer the paper's nine claims by the results there are, as Markdown."""
    with errors():
        if into is None:
            print(*map(as_markdown, answered(out)), sep="\n\n")
            return
        if not into.is_file():
            raise OptionError(f"there is no file {quoted(into)} (--into): check the path")
        into.write_text(written_into(into.read_text(encoding="utf-8"), tables(out)), encoding="utf-8")
