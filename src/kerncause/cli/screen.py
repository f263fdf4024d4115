"""What a person sees: tables, progress, results and errors."""

import shlex
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kerncause.cli.progress import Watch, shown_on, ticking
from kerncause.data import Dataset
from kerncause.errors import KerncauseError
from kerncause.explain import Curve, Explanation
from kerncause.independence import TestResult
from kerncause.metrics import GraphComparison
from kerncause.plan import Plan
from kerncause.result import Result
from kerncause.scores.cache import Holding
from kerncause.simulate import Simulation
from kerncause.text import counted, listed, printable

# How the figures of an edge are written.
FIGURES: Mapping[str, Callable[[float], str]] = {
    "gain": lambda gain: f"{gain:.1f}",
    "bandwidth": lambda bandwidth: f"{bandwidth:.2f}",
    "preference": lambda nats: f"{nats:.1f}",
    "probability": lambda probability: f"{probability:.0%}",
    "p_value": lambda p: f"{p:.2g}",
    "weight": lambda weight: f"{weight:.2f}",
    "joined": lambda share: f"{share:.0%}",
    "pointed": lambda share: f"{share:.0%}",
}
MOST_VARIABLES_SHOWN = 30
MOST_PLACES_SHOWN = 7
# What a shell expects of a program that Ctrl-C ended.
INTERRUPTED = 130


@contextmanager
def errors() -> Iterator[None]:
    """Turn what can go wrong into one sentence and an exit code."""
    try:
        yield
    except (KerncauseError, OSError, UnicodeError, MemoryError, KeyboardInterrupt) as problem:
        _fail(*failure(problem))


def failure(problem: BaseException) -> tuple[str, int]:
    """Return what went wrong in a sentence, and the exit code for it."""
    match problem:
        case KerncauseError():
            return str(problem), 1
        case OSError() | UnicodeError():
            return f"the system refused: {problem}; check the paths and the terminal", 1
        case MemoryError():
            return "there is not enough memory: use fewer rows, or fewer workers", 1
        case KeyboardInterrupt():
            return "stopped; no result was written", INTERRUPTED
    return f"{type(problem).__name__}: {problem}", 1


def _fail(sentence: str, code: int) -> None:
    Console(stderr=True, soft_wrap=True).print(Text.assemble(("error: ", "bold red"), printable(sentence, 2000)))
    raise typer.Exit(code)


class Screen:
    """What a person sees. Names from the table are shown as text, never as markup or control characters."""

    def __init__(self, quiet: bool) -> None:
        self._quiet = quiet
        self._out = Console(quiet=quiet, soft_wrap=True, highlight=False)
        self._err = Console(stderr=True, highlight=False)

    def table(self, data: Dataset, notices: Sequence[str]) -> None:
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
        for notice in notices:
            self._out.print(Text.assemble(("note: ", "yellow"), notice))
        self._out.print()

    def plan(self, plan: Plan) -> None:
        """Say what is taken and why, if nobody asked for it."""
        if plan.why is not None:
            by = f"score {plan.score}" if plan.preset is None else f"preset {plan.preset}"
            taken = f"{by}, search {plan.search}" if plan.is_recommended else f"search {plan.search}"
            others = "--preset, --score and --search take others" if plan.is_recommended else "--search takes another"
            self.note(f"{taken}, because of {plan.why}; {others}")

    def candidates(self, most: int | str | None) -> None:
        """Say that not all pairs are tried, if nobody asked for it."""
        if isinstance(most, int):
            self.note(f"many variables: edges are tried with the {most} others of each that show most; --candidates")

    @contextmanager
    def progress(self, *others: Watch, silent: bool = False) -> Iterator[Watch | None]:
        """Give a watcher that shows where a run is, unless that is to be silent, and tells others as well."""
        with ExitStack() as shown:
            lines = [] if self._quiet or silent else [shown.enter_context(shown_on(self._err))]
            yield shown.enter_context(ticking([*lines, *others]))

    @contextmanager
    def stopping(self, gently: bool) -> Iterator[Callable[[], bool]]:
        """Give a function that tells whether Ctrl-C was pressed; pressed again, it ends everything at once.

        If that is not to be gentle, the first does, as it does outside the main thread.
        """
        came: list[int] = []
        if not gently or threading.current_thread() is not threading.main_thread():
            yield lambda: False
            return

        def first(number: int, _: object) -> None:
            came.append(number)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            if not self._quiet:
                self._err.print("stopping with the best graph so far; Ctrl-C again leaves at once", style="yellow")

        before = signal.signal(signal.SIGINT, first)
        try:
            yield lambda: bool(came)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_DFL if before is None else before)

    def result(self, result: Result, out: Path | None, has_report: bool = True) -> None:
        """Show the edges, strongest first, and where the files are."""
        directed = sum(edge.directed for edge in result.edge_list)
        effort = f"{counted(result.scores_computed, result.way.unit)} in " if result.way.unit else ""
        self._out.print(
            f"{counted(len(result.edge_list), 'edge')}, {directed} with a direction; {effort}{result.seconds:.1f} s",
            style="bold",
        )
        if not result.finished:
            more = "the same command goes on from here" if out else "with --out or --cache the same command goes on"
            self._out.print(Text.assemble(("note: ", "yellow"), f"stopped before the end; {more}"))
        if "note" in (result.settings.get("memory") or {}):
            self.note(result.settings["memory"]["note"])
        asked = (result.settings.get("confidence") or {}).get("repetitions", 0)
        done = 0 if result.confidence is None else result.confidence.replicates
        if done < asked:
            words = f"stopped after {done:,} of {asked:,} repetitions; add --resume to the same command for the others"
            self._out.print(Text.assemble(("note: ", "yellow"), words))
        if result.edge_list:
            self._out.print(_edge_table(result))
        if directed < len(result.edge_list):
            self._out.print(result.way.lines, style="dim")
        # Along sums of the parents, starts are meant to end in different places.
        doubtful = [n for n, fit in result.fits.items() if fit.starts_disagree and not (fit.rival or fit.weights)]
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
        if out and has_report:
            self.report(out / "report.html")

    def warned(self, message: Warning | str, *_: object, **__: object) -> None:
        """Show what Python would warn of, as it shows everything else."""
        if not self._quiet:
            self._err.print(Text.assemble(("note: ", "yellow"), printable(str(message), 2000)), soft_wrap=True)

    def complain(self, sentence: str) -> None:
        """Say that something went wrong which is no reason to end; said also where nothing else is."""
        self._err.print(Text.assemble(("note: ", "yellow"), printable(sentence, 2000)), soft_wrap=True)

    def note(self, sentence: str) -> None:
        """Show something to be known."""
        self._out.print(Text.assemble(("note: ", "yellow"), sentence))

    def say(self, words: str) -> None:
        """Say one thing."""
        self._out.print(Text(words))

    def holdings(self, found: Sequence[Holding], size: int) -> None:
        """Show what a file of scores holds."""
        fits = sum(holding.fits for holding in found)
        self._out.print(f"{counted(fits, 'score')}, {size / 1e6:.1f} MB", style="bold")
        grid = Table(box=None, padding=(0, 2), header_style="dim")
        for heading in ("table", "score", "scores", "last used"):
            grid.add_column(heading, justify="right" if heading == "scores" else "left")
        for holding in found:
            used = f"{holding.used:%Y-%m-%d %H:%M}"
            grid.add_row(holding.data[:12], Text(holding.score.rpartition(".")[2]), f"{holding.fits:,}", used)
        if found:
            self._out.print(grid)

    def report(self, path: Path) -> None:
        """Say where the report is."""
        self._out.print(Text(f"Open the report in a browser: {printable(path, 200)}"))

    def fit(self, target: str, fit: Any, gains: dict[str, float]) -> None:
        """Show one local score."""
        per = " per output column" if fit.noise is not None and not fit.is_probability else ""
        self._out.print(Text(f"The score of {printable(target)}: {fit.value:.6f} nats{per}", style="bold"))
        engine = f"engine {fit.engine}" + (f" of rank {fit.rank}" if fit.rank else "")
        notes = [f"{counted(fit.rows, 'row')}", engine]
        if fit.noise is not None:
            notes.append(f"{counted(fit.evaluations, 'evaluation')}")
        if fit.error_bound:
            notes.append(f"exact to {fit.error_bound:.2g}")
        figures = {
            "response bandwidth": fit.response_bandwidth,
            "amplitude": fit.amplitude,
            "noise": fit.noise,
        }
        notes = [*(f"{name} {value:.4g}" for name, value in figures.items() if value is not None), *notes]
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

    def explanation(self, found: Explanation) -> None:
        """Show why an edge is there, or is not."""
        first, *others = found.sentences()
        self._out.print(Text(first, style="bold"))
        for sentence in others:
            self._out.print(Text(f"  {sentence}"))
        if found.curve is not None:
            self._out.print(_curve_table(found, found.curve))
        self._out.print("Nats rank parents of one variable; they are not Bayes factors.", style="dim")

    def test(self, x: str, y: str, given: Sequence[str], found: TestResult) -> None:
        """Show one test of independence."""
        condition = f" given {listed(given)}" if given else ""
        pair = f"{printable(x)} and {printable(y)}{condition}"
        self._out.print(Text(f"{pair}: p-value {found.p_value:.4g}", style="bold"))
        rank = f", rank {found.rank}" if found.rank else ""
        self._out.print(Text(f"  {found.name}, statistic {found.statistic:.4g}, {counted(found.rows, 'row')}{rank}"))
        self._out.print("A small p-value speaks against independence.", style="dim")

    def simulation(self, drawn: Simulation, out: Path) -> None:
        """Say what was drawn."""
        self._out.print(
            f"{counted(len(drawn.frame), 'row')}, {counted(len(drawn.dag.nodes), 'variable')}, "
            f"{counted(len(drawn.dag.edges), 'edge')}",
            style="bold",
        )
        self._out.print(Text(f"The table and the truth are in {printable(out, 200)}"))
        command = ["kerncause", "discover", printable(out / "data.csv", 200), *_as_drawn(drawn)]
        self._out.print(Text(f"Learn a graph from it:  {shlex.join(command)} --out result"))

    def comparison(self, found: GraphComparison) -> None:
        """Show how near two graphs are."""
        grid = Table(box=None, padding=(0, 2), header_style="dim")
        for heading in ("", "precision", "recall", "F1"):
            grid.add_column(heading, justify="right" if heading else "left")
        for name, part in (
            ("skeleton", found.skeleton),
            ("arrows of the classes", found.class_arrows),
            ("arrows of the true DAG", found.dag_arrows),
        ):
            if part is not None:
                grid.add_row(name, *(f"{value:.3f}" for value in (part.precision, part.recall, part.f1)))
        self._out.print(grid)
        sid = "unknown" if found.sid_lower is None else _range(found.sid_lower, found.sid_upper)
        for name, value in (
            ("SHD of the classes", str(found.shd)),
            ("  share of all pairs", f"{found.shd_normalised:.3f}"),
            ("  as the paper's program counts", f"{found.shd_okcd:.3f}"),
            ("SID", sid),
        ):
            self._out.print(f"  {name:<34}{value}")


def _as_drawn(drawn: Simulation) -> list[str]:
    """Return the options that make of the file the variables that were drawn."""
    groups, kinds = drawn.groups, drawn.kinds
    inferred = {v.columns[0]: v.kind.value for v in Dataset.from_frame(drawn.frame).variables}
    told = {column: kind for column, kind in kinds.items() if inferred[column] != kind}
    return [
        *(word for name, columns in groups.items() for word in ("--group", f"{name}={','.join(columns)}")),
        *(word for column, kind in told.items() for word in ("--kind", f"{column}={kind}")),
    ]


def _range(low: int, high: int | None) -> str:
    return str(low) if high in (None, low) else f"{low} to {high}"


def _curve_table(found: Explanation, curve: Curve) -> Table:
    """Show a curve at a handful of places."""
    grid = Table(box=None, padding=(0, 2), header_style="dim")
    grid.add_column(Text(printable(found.source, 30)), justify="right")
    heads = curve.levels or (f"{printable(found.target, 30)} on average",)
    for head in heads:
        grid.add_column(Text(printable(head, 30)), justify="right")
    places = np.unique(np.linspace(0, len(curve.at) - 1, MOST_PLACES_SHOWN).round().astype(int))
    for i in places:
        values = curve.mean[i] if curve.mean.ndim > 1 else [curve.mean[i]]
        spread = "" if curve.spread is None else f" ± {curve.spread[i]:.2g}"
        grid.add_row(Text(printable(curve.labels[i], 30)), *(Text(f"{value:.3g}{spread}") for value in values))
    return grid


def _edge_table(result: Result) -> Table:
    grid = Table(box=None, padding=(0, 2), header_style="dim")
    grid.add_column("edge", overflow="fold")
    told = result.edges.dropna(axis="columns", how="all").columns
    figures = [name for name in told if name not in ("source", "target", "directed")]
    for figure in figures:
        grid.add_column(figure.replace("_", "-"), justify="right", no_wrap=True)
    shares = {(row["source"], row["target"]): row for row in result.edges.to_dict("records")}
    for edge in result.strongest_first():
        line = f"{printable(edge.source, 30)} {'→' if edge.directed else '—'} {printable(edge.target, 30)}"
        row = shares[edge.source, edge.target]
        shown = ["" if pd.isna(row[figure]) else FIGURES[figure](row[figure]) for figure in figures]
        grid.add_row(Text(line), *shown)
    return grid
