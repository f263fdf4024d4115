"""The app that every command belongs to."""

from typing import Annotated

import typer

import kerncause


def examples(*commands: str) -> str:
    """Return an epilog that shows one command a line."""
    return "\n\n".join(["Examples:", *(f"  {command}" for command in commands)])


app = typer.Typer(
    name="kerncause",
    rich_markup_mode="rich",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True, epilog=examples("kerncause discover data.csv --out result"))
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.", is_eager=True)] = False,
) -> None:
    """Learn causal graphs from tables, with kernel bandwidths learned from the data."""
    if version:
        print(f"kerncause {kerncause.__version__}")
        raise typer.Exit
