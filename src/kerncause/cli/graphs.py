"""Commands on graphs: draw a random model and its table, compare graphs, convert their files."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from kerncause.cli.app import app, examples
from kerncause.cli.screen import Screen, errors
from kerncause.errors import GraphError
from kerncause.graphs import FORMATS, PDAG, read_graph, write_graph
from kerncause.graphs.files import format_of
from kerncause.metrics import compare as compared
from kerncause.simulate import DEFAULTS, KINDS
from kerncause.simulate import simulate as simulated
from kerncause.text import printable

FORMAT_HELP = f"{', '.join(FORMATS)}. Default: by the ending of the name."


@app.command(
    epilog=examples(
        "kerncause simulate --out drawn --variables 8 --density 0.4 --rows 500 --seed 1",
        "kerncause simulate --out drawn --kind mixed --ratio 0.5 --levels 5",
        "kerncause simulate --out drawn --kind nominal --isolated 4",
    )
)
def simulate(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Write data.csv and truth.json here.")],
    kind: Annotated[str, typer.Option(metavar="KIND", help=f"What to draw: {', '.join(KINDS)}.")] = "continuous",
    variables: Annotated[int, typer.Option(metavar="P", help="How many variables.")] = 8,
    density: Annotated[float, typer.Option(metavar="D", help="The share of pairs that are joined.")] = 0.4,
    rows: Annotated[int, typer.Option(metavar="N", help="How many rows.")] = 200,
    seed: Annotated[int, typer.Option(metavar="S", help="The same seed gives the same bytes.")] = 0,
    isolated: Annotated[int, typer.Option(metavar="K", help="How many variables have no edge at all.")] = 0,
    ratio: Annotated[
        float | None,
        typer.Option(
            metavar="R", help=f"mixed, nominal: the share of discrete variables. Default: {DEFAULTS['ratio']}."
        ),
    ] = None,
    levels: Annotated[
        int | None,
        typer.Option(
            metavar="L", help=f"Values of a discrete variable. Default: {DEFAULTS['levels']}; nominal: 3 to 6."
        ),
    ] = None,
    max_columns: Annotated[
        int | None,
        typer.Option(
            "--max-columns",
            metavar="C",
            help=f"multidimensional: the most columns of a variable. Default: {DEFAULTS['max_columns']}.",
        ),
    ] = None,
    noise: Annotated[
        str, typer.Option(metavar="READING", help="Whether 0.5 is the noise's variance or deviation.")
    ] = "variance",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Draw a random causal model, of the paper's kind or another, and a table from it."""
    with errors():
        drawn = simulated(
            kind,
            variables,
            density,
            rows,
            seed,
            ratio=ratio,
            levels=levels,
            noise=noise,
            max_columns=max_columns,
            isolated=isolated,
        )
        drawn.save(out)
        Screen(quiet).simulation(drawn, out)


@app.command(epilog=examples("kerncause compare truth.json result", "kerncause compare truth.csv graph.dot --json"))
def compare(
    truth: Annotated[Path, typer.Argument(metavar="TRUTH", help="The file of the true graph.")],
    graph: Annotated[Path, typer.Argument(metavar="GRAPH", help="The file of another, or a directory of results.")],
    truth_format: Annotated[str | None, typer.Option("--truth-format", metavar="NAME", help=FORMAT_HELP)] = None,
    graph_format: Annotated[str | None, typer.Option("--graph-format", metavar="NAME", help=FORMAT_HELP)] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Say how near a graph is to the true one."""
    with errors():
        found = compared(graph_at(truth, truth_format), graph_at(graph, graph_format))
        if as_json:
            print(json.dumps(asdict(found), indent=1))
        else:
            Screen(quiet=False).comparison(found)


@app.command(
    epilog=examples(
        "kerncause convert result graph.graphml",
        "kerncause convert result model.lavaan",
        "kerncause convert graph.dot graph.csv",
    )
)
def convert(
    graph: Annotated[Path, typer.Argument(metavar="GRAPH", help="The file of a graph, or a directory of results.")],
    out: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    from_format: Annotated[str | None, typer.Option("--from", metavar="NAME", help=FORMAT_HELP)] = None,
    to_format: Annotated[str | None, typer.Option("--to", metavar="NAME", help=FORMAT_HELP)] = None,
) -> None:
    """Write a graph in the format of another program.

    Formats that hold DAGs alone (lavaan, gml) get the best DAG of a result.
    """
    with errors():
        needs_dag = FORMATS[format_of(out, to_format)].needs_dag
        write_graph(graph_at(graph, from_format, needs_dag), out, to_format)


def graph_at(path: Path, format_name: str | None = None, needs_dag: bool = False) -> PDAG:
    """Read a graph; a directory stands for the results in it, and a result for its best DAG where one is needed."""
    if not path.exists():
        raise GraphError(f"there is no file or directory {path}: check the path")
    if path.is_dir():
        inside = [path / name for name in ("graph.json", "truth.json") if (path / name).is_file()]
        path = inside[0] if inside else path / "graph.json"
    found = read_graph(path, format_name)
    is_json = format_of(path, format_name) == "json"
    return _best_dag(path, found) if needs_dag and is_json else found


def _best_dag(path: Path, found: PDAG) -> PDAG:
    """Return the DAG that the graph.json of a result holds beside its graph; in any other file, the graph itself."""
    written = json.loads(path.read_text(encoding="utf-8-sig"))
    if "dag" not in written:
        return found
    try:
        return FORMATS["json"].read(json.dumps({"nodes": written["nodes"], "directed": written["dag"]}))
    except GraphError as problem:
        raise GraphError(f"the best DAG in '{printable(path, 500)}' cannot be read: {problem}") from None
