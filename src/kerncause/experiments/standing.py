"""How far experiments are, and what they cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kerncause.experiments.base import SCALES, Experiment, Scale
from kerncause.experiments.run import rows_of, seconds_left
from kerncause.text import duration


@dataclass(frozen=True)
class Standing:
    """How far an experiment is: rows at each scale, seconds spent on those of `full`, and what all of it takes."""

    experiment: Experiment
    rows: Mapping[Scale, int]
    spent: float
    full_seconds: float | None

    def done(self) -> list[str]:
        """Return the cells that have a row, of all, at `small` and at `full`."""
        return [f"{self.rows[scale]:,}/{len(self.experiment.cells(scale)):,}" for scale in SCALES[1:]]

    def times(self) -> list[str]:
        """Return what was spent and what all of `full` takes, on one core."""
        whole = "" if self.full_seconds is None else duration(self.full_seconds)
        return [duration(self.spent) if self.spent else "", whole]


def standing_of(experiment: Experiment, directory: str | Path) -> Standing:
    """Count the results of an experiment, and guess from them what is left."""
    rows = rows_of(experiment, "full", directory)
    done = {row.cell for row in rows}
    missing = [cell for cell in experiment.cells("full") if cell not in done]
    spent = sum(row.seconds for row in rows)
    left = seconds_left(rows, missing, workers=1)
    counts = {scale: len(rows_of(experiment, scale, directory)) for scale in SCALES}
    return Standing(experiment, counts, spent, None if left is None else spent + left)


def costs(standings: Sequence[Standing]) -> str:
    """Return a table of what there is and what it cost, as Markdown."""
    lines = ["| experiment | small | full | took, one core | full takes |", "|---|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join([s.experiment.name, *s.done(), *s.times()])} |" for s in standings)])
