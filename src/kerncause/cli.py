"""The command line: words to calls, and results to a person, nothing else."""

import csv
import io
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text

import kerncause
from kerncause.data import Dataset, Kind, Missing, TableOptions, read_frame
from kerncause.discover import PRESETS, Status, check_choices
from kerncause.errors import DataWarning, KerncauseError, OptionError
from kerncause.regression import ENGINES
from kerncause.result import Result
from kerncause.scores import SCORES, Comparison, Ledger, make_score
from kerncause.search import SEARCHES
from kerncause.text import counted, listed, printable, quoted

MOST_VARIABLES_SHOWN = 30
REFRESH_SECONDS = 0.1


def _examples(*commands: str) -> str:
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


@app.callback(invoke_without_command=True, epilog=_examples("kerncause discover data.csv --out result"))
def _root(
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.", is_eager=True)] = False,
) -> None:
    """Learn causal graphs from tables, with kernel bandwidths learned from the data."""
    if version:
        print(f"kerncause {kerncause.__version__}")
        raise typer.Exit


DataPath = Annotated[Path, typer.Argument(metavar="DATA", help="A CSV, TSV or Parquet file with a line of names.")]
KindOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COL=KIND",
        help=f"How to read a column: {', '.join(k.value for k in Kind if k is not Kind.VECTOR)}. Repeatable.",
    ),
]
GroupOption = Annotated[
    list[str] | None,
    typer.Option("--group", metavar="NAME=COL,COL", help="Columns that together are one vector variable. Repeatable."),
]
LevelsOption = Annotated[
    list[str] | None,
    typer.Option("--levels", metavar="COL=low,avg,high", help="The values of an ordinal column in order. Repeatable."),
]
DropOption = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COL", help="A column to leave out. Repeatable.")
]
MissingOption = Annotated[
    str,
    typer.Option(
        "--missing",
        metavar="HOW",
        help="What to do about missing values: error (stop), drop (leave their rows out), "
        "testwise (score each parent set on the rows complete for it).",
    ),
]
NaOption = Annotated[
    list[str] | None,
    typer.Option(
        "--na",
        metavar="TEXT | COL=TEXT",
        help="A text that means a missing value, in all columns or in one. Empty cells always do. Repeatable.",
    ),
]
SepOption = Annotated[
    str | None, typer.Option("--sep", metavar="CHAR", help="What separates the cells. Default: found in the names.")
]
DecimalOption = Annotated[
    str, typer.Option("--decimal", metavar="CHAR", help="The decimal mark of numbers, such as a comma.")
]
PresetOption = Annotated[
    str | None,
    typer.Option("--preset", metavar="NAME", help=f"A named setting: {', '.join(PRESETS)} (Wang et al. 2024)."),
]
EngineOption = Annotated[
    str | None,
    typer.Option("--engine", metavar="NAME", help=f"How to compute scores: auto (default), {', '.join(ENGINES)}."),
]
ToleranceOption = Annotated[
    float | None,
    typer.Option("--tolerance", metavar="NATS", help="How far a score may lie from the exact one. Default: 0.01."),
]


@app.command(
    epilog=_examples(
        "kerncause discover data.csv --out result",
        "kerncause discover data.csv --kind zip=categorical --drop id",
        "kerncause discover trial.csv --levels dose=low,avg,high --missing drop",
        "kerncause discover sensors.csv --group position=x,y,z --max-parents 3",
    )
)
def discover(
    data: DataPath,
    kind: KindOption = None,
    group: GroupOption = None,
    levels: LevelsOption = None,
    drop: DropOption = None,
    missing: MissingOption = "error",
    na: NaOption = None,
    sep: SepOption = None,
    decimal: DecimalOption = ".",
    score: Annotated[str, typer.Option(metavar="NAME", help=f"The score: {', '.join(SCORES)}.")] = "learned",
    search: Annotated[str, typer.Option(metavar="NAME", help=f"The search: {', '.join(SEARCHES)}.")] = "ges",
    preset: PresetOption = None,
    engine: EngineOption = None,
    tolerance: ToleranceOption = None,
    max_parents: Annotated[
        int | None, typer.Option("--max-parents", metavar="K", help="No variable gets more parents than this.")
    ] = None,
    turning: Annotated[bool, typer.Option("--turning", help="Let GES try turning edges at the end.")] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Processes to use. Default: one per core.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", metavar="S", help="Recorded with the result.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write graph.json, graph.dot and trace.jsonl here.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Learn a causal graph from a table.

    Prints how each column was read, then the edges with their gain: what the score loses without the edge, in nats.

    An arrow is a direction that the data decide; a line can go either way, and its gain is that of left causing right.
    """
    screen = _Screen(quiet)
    with _errors():
        check_choices(score, search, preset, workers)
        if out is not None:
            Result.check_writable(out)  # say so now, not after an hour
        table = _read(data, sep, decimal, kind, group, levels, drop, missing, na)
        screen.table(table)
        with screen.progress() as watch, warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)  # shown above
            result = kerncause.discover(
                table,
                score,
                search,
                preset,
                seed,
                workers,
                max_parents=max_parents,
                turning=turning,
                score_options=_given(engine=engine, tolerance=tolerance),
                watch=watch,
            )
        if out is not None:
            result.save(out)
        screen.result(result, out)


@app.command(
    epilog=_examples(
        "kerncause score data.csv --target Y --parents A,B",
        """kerncause score data.csv --target Y --parents '"a, with a comma",B'""",
    )
)
def score(
    data: DataPath,
    target: Annotated[str, typer.Option("--target", metavar="COL", help="The variable to explain.")],
    parents: Annotated[str, typer.Option("--parents", metavar="COL,COL", help="Its parents; none if left out.")] = "",
    kind: KindOption = None,
    group: GroupOption = None,
    levels: LevelsOption = None,
    drop: DropOption = None,
    missing: MissingOption = "error",
    na: NaOption = None,
    sep: SepOption = None,
    decimal: DecimalOption = ".",
    score: Annotated[str, typer.Option(metavar="NAME", help=f"The score: {', '.join(SCORES)}.")] = "learned",
    preset: PresetOption = None,
    engine: EngineOption = None,
    tolerance: ToleranceOption = None,
) -> None:
    """Score one variable with a set of parents: the value, the bandwidths, and what each parent gains."""
    with _errors():
        check_choices(score, "ges", preset, 1)
        options = {**_given(engine=engine, tolerance=tolerance), **(PRESETS[preset].score if preset else {})}
        table = _read(data, sep, decimal, kind, group, levels, drop, missing, na)
        ledger = Ledger(make_score(score, table, **options))
        names = frozenset(_cells(parents))
        fit = ledger.fit(target, names)
        without = {name: Comparison(target, names - {name}, names) for name in sorted(names)}
        ledger.prepare(without.values(), settled=True)
        gains = {name: ledger.gain(comparison) for name, comparison in without.items()}
        _Screen(quiet=False).fit(target, fit, gains)


def _given(**options: Any) -> dict[str, Any]:
    """Return the options that were given; the score has its own defaults for the others."""
    return {name: value for name, value in options.items() if value is not None}


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without arrows still gets its table
    app()


def _read(
    path: Path,
    sep: str | None,
    decimal: str,
    kind: list[str] | None,
    group: list[str] | None,
    levels: list[str] | None,
    drop: list[str] | None,
    missing: str,
    na: list[str] | None,
) -> Dataset:
    frame = read_frame(path, separator={"tab": "\t", "\\t": "\t"}.get(sep or "", sep), decimal=decimal)
    columns = [str(name) for name in frame.columns]
    options = TableOptions(
        kinds=_pairs("--kind", kind, columns),
        groups={name: _cells(words) for name, words in _pairs("--group", group, columns).items()},
        levels={name: _cells(words) for name, words in _pairs("--levels", levels, columns).items()},
        missing=cast(Missing, missing),
        na_values=_na_values(na or [], columns),
        drop=drop or (),
    )
    return Dataset.of(frame, options)


def _na_values(texts: list[str], columns: list[str]) -> dict[str, list[str]]:
    """Return the marks of every column: TEXT for all, COL=TEXT for one."""
    marks: dict[str, list[str]] = {name: [] for name in columns}
    for text in texts:
        owner = _owner(text, columns)
        for name in columns if owner is None else [owner]:
            marks[name].append(text if owner is None else text[len(owner) + 1 :])
    return marks


def _pairs(option: str, texts: list[str] | None, columns: list[str]) -> dict[str, str]:
    """Read NAME=VALUE options; a column's name may itself contain the sign."""
    pairs: dict[str, str] = {}
    for text in texts or ():
        name = _owner(text, columns) or text.partition("=")[0]
        value = text[len(name) + 1 :]
        if not name or not value:
            raise OptionError(f"{option} cannot be {quoted(text)}: write it as {option} NAME=VALUE")
        if name in pairs:
            raise OptionError(f"{option} speaks of {quoted(name)} twice: say it once")
        pairs[name] = value
    return pairs


def _owner(text: str, columns: list[str]) -> str | None:
    """Return the longest column name that `text` begins with, followed by an equals sign."""
    return max((name for name in columns if text.startswith(f"{name}=")), key=len, default=None)


def _cells(text: str) -> list[str]:
    """Split at commas; a name with a comma can be put in double quotes."""
    try:
        return next(csv.reader(io.StringIO(text, newline=""), skipinitialspace=True), [])
    except csv.Error as problem:
        raise OptionError(f"{quoted(text)} is not a list of names ({problem}): separate them by commas") from None


@contextmanager
def _errors() -> Iterator[None]:
    """Turn what can go wrong into one sentence and an exit code."""
    try:
        yield
    except KerncauseError as problem:
        _fail(str(problem), 1)
    except (OSError, UnicodeError) as problem:
        _fail(f"the system refused: {problem}; check the paths and the terminal", 1)
    except MemoryError:
        _fail("there is not enough memory: use fewer rows, or fewer workers", 1)
    except KeyboardInterrupt:
        _fail("stopped; nothing was written", 130)


def _fail(sentence: str, code: int) -> None:
    Console(stderr=True, soft_wrap=True).print(Text.assemble(("error: ", "bold red"), printable(sentence, 2000)))
    raise typer.Exit(code)


class _Screen:
    """What a person sees. Names from the table are shown as text, never as markup or control characters."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._out = Console(quiet=quiet, soft_wrap=True, highlight=False)
        self._err = Console(stderr=True, highlight=False)

    def table(self, data: Dataset) -> None:
        """Show how every column was read, and what should be known about the table."""
        self._out.print(f"{counted(data.n_rows, 'row')}, {counted(len(data.variables), 'variable')}", style="bold")
        grid = Table(box=None, padding=(0, 2), header_style="dim")
        for heading in ("variable", "kind", "because", "missing"):
            grid.add_column(heading, justify="right" if heading == "missing" else "left")
        for variable in data.variables[:MOST_VARIABLES_SHOWN]:
            gaps = f"{variable.missing:,}" if variable.missing else ""
            grid.add_row(Text(printable(variable.name, 30)), variable.kind.value, Text(variable.reason), gaps)
        self._out.print(grid)
        if len(data.variables) > MOST_VARIABLES_SHOWN:
            self._out.print(f"  … and {len(data.variables) - MOST_VARIABLES_SHOWN} more")
        for notice in data.notices:
            self._out.print(Text.assemble(("note: ", "yellow"), notice))
        self._out.print()

    @contextmanager
    def progress(self) -> Iterator[Callable[[Status], None] | None]:
        """Give a watcher that keeps one line up to date, on a terminal only."""
        if self._quiet or not self._err.is_terminal:
            yield None
            return
        # No refreshing thread: worker processes are forked from this one.
        with Live(console=self._err, auto_refresh=False, transient=True) as live:
            shown = 0.0

            def watch(status: Status) -> None:
                nonlocal shown
                if time.monotonic() - shown > REFRESH_SECONDS:
                    shown = time.monotonic()
                    live.update(Text(_progress_line(status), style="dim"), refresh=True)

            yield watch

    def result(self, result: Result, out: Path | None) -> None:
        """Show the edges, strongest first, and where the files are."""
        directed = sum(edge.directed for edge in result.edge_list)
        self._out.print(
            f"{counted(len(result.edge_list), 'edge')}, {directed} with a direction; "
            f"{counted(result.scores_computed, 'local score')} in {result.seconds:.1f} s",
            style="bold",
        )
        if result.edge_list:
            self._out.print(_edge_table(result))
        if directed < len(result.edge_list):
            self._out.print("A line can go either way; its gain is that of left causing right.", style="dim")
        doubtful = [name for name, fit in result.fits.items() if fit.starts_disagree]
        if doubtful:
            self._out.print(
                Text.assemble(
                    ("note: ", "yellow"),
                    f"the optimiser's starts ended in different places for {listed(doubtful)}; the best was kept",
                )
            )
        uncertain = {name: fit.error_bound for name, fit in result.fits.items() if not fit.certified}
        if uncertain:
            self._out.print(
                Text.assemble(
                    ("note: ", "yellow"),
                    f"the score of {listed(uncertain)} is known only to within {max(uncertain.values()):.2g} nats",
                )
            )
        where = f"The result is in {printable(out, 200)}" if out else "Nothing was written: add --out DIR to keep it"
        self._out.print(Text(f"\n{where}"))

    def fit(self, target: str, fit: Any, gains: dict[str, float]) -> None:
        """Show one local score."""
        self._out.print(Text(f"S/n of {printable(target)}: {fit.value:.6f} nats per output column", style="bold"))
        engine = f"engine {fit.engine}" + (f" of rank {fit.rank}" if fit.rank else "")
        notes = [f"{counted(fit.rows, 'row')}", engine, f"{counted(fit.evaluations, 'evaluation')}"]
        if fit.error_bound:
            notes.append(f"exact to {fit.error_bound:.2g}")
        if fit.response_bandwidth is not None:
            notes = [f"response bandwidth {fit.response_bandwidth:.4g}", f"noise {fit.noise:.4g}", *notes]
        self._out.print("  " + ", ".join(notes))
        if gains:
            grid = Table(box=None, padding=(0, 2), header_style="dim")
            for heading in ("parent", "gain", "bandwidth"):
                grid.add_column(heading, justify="left" if heading == "parent" else "right")
            for name, gain in sorted(gains.items(), key=lambda item: -item[1]):
                bandwidth = fit.bandwidths.get(name)
                shown = "" if bandwidth is None else f"{bandwidth:.4g}"
                grid.add_row(Text(printable(name, 30)), f"{gain:.4f}", shown)
            self._out.print(grid)
        for flag, sentence in (
            (fit.starts_disagree, "the optimiser's starts ended in different places; the best was kept"),
            (not fit.converged, "the optimiser did not converge"),
            (not fit.certified, f"the value is known only to within {fit.error_bound:.2g} nats"),
            (bool(fit.at_bounds), f"at a bound: {listed(fit.at_bounds)}" if fit.at_bounds else ""),
        ):
            if flag:
                self._out.print(Text.assemble(("note: ", "yellow"), sentence))


def _progress_line(status: Status) -> str:
    return (
        f"{status.phase}   step {status.step + 1}   {counted(status.edges, 'edge')}   "
        f"{counted(status.scores, 'score')}   {status.seconds:.0f} s"
    )


def _edge_table(result: Result) -> Table:
    grid = Table(box=None, padding=(0, 2), header_style="dim")
    grid.add_column("edge", no_wrap=True)
    grid.add_column("gain", justify="right")
    grid.add_column("bandwidth", justify="right")
    for edge in sorted(result.edge_list, key=lambda e: -e.gain):
        line = f"{printable(edge.source, 30)} {'→' if edge.directed else '—'} {printable(edge.target, 30)}"
        bandwidth = "" if edge.bandwidth is None else f"{edge.bandwidth:.2f}"
        grid.add_row(Text(line), f"{edge.gain:.1f}", bandwidth)
    return grid


if __name__ == "__main__":
    main()
