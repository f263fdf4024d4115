"""What a person sees of experiments."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.live import Live
from rich.table import Table
from rich.text import Text

from kerncause.cli.progress import REFRESH_SECONDS
from kerncause.cli.screen import Screen
from kerncause.experiments import Experiment, Progress, Row, Standing
from kerncause.text import counted, duration, printable

# Where there is no terminal, a line this often.
LOG_SECONDS = 60.0
MOST_ERRORS = 5


class ExperimentScreen(Screen):
    """Shows experiments."""

    def experiments(self, standings: Sequence[Standing], out: Path) -> None:
        """List experiments with the cells that have a row, of all, at each scale, and what they cost on one core."""
        grid = Table(box=None, padding=(0, 2), header_style="dim")
        grid.add_column("experiment")
        for heading in ("small", "full", "took", "full takes"):
            grid.add_column(heading, justify="right", no_wrap=True)
        for standing in standings:
            experiment = standing.experiment
            name = Text.assemble((experiment.name, "bold"), f"\n{experiment.title}")
            grid.add_row(name, *standing.done(), *standing.times())
        self._out.print(grid)
        self._out.print(Text(f"\nCounted are the results in {printable(out, 200)}; times are of one core"))

    @contextmanager
    def experiment_progress(self) -> Iterator[Callable[[Progress], None] | None]:
        """Give a watcher that keeps one line up to date on a terminal, and prints one now and then elsewhere."""
        if self._quiet:
            yield None
            return
        shown = -LOG_SECONDS
        if not self._err.is_terminal:

            def log(progress: Progress) -> None:
                nonlocal shown
                if time.monotonic() - shown > LOG_SECONDS or progress.done == progress.total:
                    shown = time.monotonic()
                    self._err.print(Text(_line(progress)))

            yield log
            return
        with Live(console=self._err, auto_refresh=False, transient=True) as live:

            def watch(progress: Progress) -> None:
                nonlocal shown
                if time.monotonic() - shown > REFRESH_SECONDS:
                    shown = time.monotonic()
                    live.update(Text(_line(progress), style="dim"), refresh=True)

            yield watch

    def experiment(self, experiment: Experiment, rows: Sequence[Row], path: Path) -> None:
        """Say what there is now, what it took, and what failed."""
        effort = sum(row.seconds for row in rows)
        self._out.print(Text(f"{experiment.name}: {counted(len(rows), 'row')}, {duration(effort)} on one core"))
        failures = Counter(f"{row.cell.method}: {row.error}" for row in rows if row.error is not None)
        for failure, count in failures.most_common(MOST_ERRORS):
            self.note(f"{count} failed, {failure}")
        self._out.print(Text(f"The results are in {printable(path, 200)}"))

    def figure(self, paths: Sequence[Path]) -> None:
        """Say where a figure is."""
        self._out.print(Text(f"The figure is in {', '.join(printable(path, 200) for path in paths)}"))


def _line(progress: Progress) -> str:
    failed = f", {progress.failed} failed" if progress.failed else ""
    left = "" if progress.seconds_left is None else f"   about {duration(progress.seconds_left)} left"
    return f"{progress.done:,} of {progress.total:,} cells{failed}{left}"
