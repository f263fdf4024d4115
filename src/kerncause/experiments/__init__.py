"""Every figure of the paper: frozen specs, a runner that can be killed and goes on, and the plots."""

from kerncause.experiments.base import SCALES, Cell, Experiment, Row, Scale, frame_of
from kerncause.experiments.claims import Claim, answered, as_markdown
from kerncause.experiments.comparison import Compared, Judged, compared, comparison_table, judged
from kerncause.experiments.page import tables, written_into
from kerncause.experiments.plot import plot
from kerncause.experiments.registry import EXPERIMENTS, find_experiment
from kerncause.experiments.run import DIRECTORY, Progress, results_of, rows_of, run
from kerncause.experiments.standing import Standing, standing_of

__all__ = [
    "DIRECTORY",
    "EXPERIMENTS",
    "SCALES",
    "Cell",
    "Claim",
    "Compared",
    "Experiment",
    "Judged",
    "Progress",
    "Row",
    "Scale",
    "Standing",
    "answered",
    "as_markdown",
    "compared",
    "comparison_table",
    "find_experiment",
    "frame_of",
    "judged",
    "plot",
    "results_of",
    "rows_of",
    "run",
    "standing_of",
    "tables",
    "written_into",
]
