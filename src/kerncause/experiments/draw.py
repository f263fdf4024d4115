"""How figures look: one colour and marker for each method throughout, means with bands of one standard error."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from itertools import cycle
from typing import TYPE_CHECKING, Any

import pandas as pd

from kerncause.errors import OptionError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# After Okabe and Ito: told apart by colour-blind readers; the markers differ as well.
STYLES: Mapping[str, tuple[str, str, str]] = {
    "learned": ("#D55E00", "o", "learned"),
    "marginal": ("#0072B2", "s", "Marg"),
    "cv": ("#009E73", "^", "CV"),
    "gp": ("#CC79A7", "D", "GP"),
    "pc-kci": ("#4D4D4D", "v", "PC-KCI"),
    "median": ("#0072B2", "s", "median heuristic"),
    "without J": ("#4D4D4D", "X", "trainable, no Jacobian"),
    "learned, per parent": ("#E69F00", "P", "learned, per parent"),
    "learned, our defaults": ("#56B4E9", "X", "learned, our defaults"),
    "notears": ("#0072B2", "s", "NOTEARS"),
    "notears-mlp": ("#56B4E9", "^", "NOTEARS-MLP"),
    "dag-gnn": ("#009E73", "D", "DAG-GNN"),
    "dibs": ("#4D4D4D", "v", "DiBS"),
    "learned, dense": ("#D55E00", "o", "learned, dense engine"),
    "marginal, dense": ("#0072B2", "s", "Marg, dense engine"),
    "ges": ("#0072B2", "s", "GES"),
    "boss": ("#D55E00", "o", "BOSS"),
    "exact": ("#882255", "*", "optimum"),
    "paper": ("#000000", "p", "paper"),
    "default": ("#56B4E9", "X", "default"),
    "bic": ("#CC79A7", "D", "BIC"),
    "bic-boss": ("#E69F00", "P", "BIC, BOSS"),
    "causal-learn-bic-boss": ("#E69F00", "1", "BIC, BOSS of causal-learn"),
    "adaptive": ("#117733", "<", "adaptive by density, GES"),
    "adaptive-boss": ("#332288", ">", "adaptive, BOSS"),
    "adaptive-exact": ("#AA4499", "h", "adaptive by density, optimum"),
    "adaptive-sized": ("#44AA99", "H", "adaptive by ranks, pruned"),
    "adaptive-levels": ("#B8860B", "d", "adaptive, even noise"),
    "adaptive-kinds": ("#6699CC", "X", "adaptive, pruned"),
    "adaptive-optimum": ("#661100", "v", "adaptive"),
}
# For methods that have none of their own, in turn.
OTHER_COLOURS = ("#332288", "#117733", "#AA4499", "#999933", "#88CCEE", "#661100")
OTHER_MARKERS = ("<", ">", "h", "d", "H")
# What one entry of a legend takes, without its name, and a letter of that.
ENTRY_INCHES, LETTER_INCHES = 0.6, 0.07
DASHED = ("learned, dense", "marginal, dense")


@dataclass(frozen=True)
class Panel:
    """One small plot: its title, the rows it shows, what is on the axes, and what they are called."""

    title: str
    where: Mapping[str, Any]
    x: str
    y: str
    x_label: str
    y_label: str
    log: str = ""


def grid(frame: pd.DataFrame, panels: Sequence[Sequence[Panel]], width: float = 2.5, height: float = 2.1) -> "Figure":
    """Return a figure with rows of panels and one legend below; panels of a row share their y axis."""
    lines, columns = len(panels), max(map(len, panels))
    figure = empty_figure(width * columns + 0.4, height * lines + 0.55)
    axes = figure.subplots(lines, columns, squeeze=False)
    handles: dict[str, Any] = {}
    for line, row in zip(axes, panels, strict=True):
        for axis, panel in zip(line, row, strict=False):
            handles |= curves(axis, frame, panel)
        for axis in line[len(row) :]:
            axis.set_visible(False)
        _share_y([a for a, p in zip(line, row, strict=False) if p.y == row[0].y])
    widest = ENTRY_INCHES + LETTER_INCHES * max(map(len, handles), default=0)
    beside = max(int(figure.get_figwidth() / widest), 1)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=min(len(handles), beside))
    return figure


def curves(axis: "Axes", frame: pd.DataFrame, panel: Panel) -> dict[str, Any]:
    """Draw the mean over realisations and its standard error for each method; return a handle for each name."""
    mine = frame
    for name, value in panel.where.items():
        mine = mine[mine[name] == value]
    handles = {}
    for method, (colour, marker, label) in styles_of(sorted(frame["method"].unique())).items():
        values = mine[mine["method"] == method].dropna(subset=[panel.y]) if panel.y in mine else mine.iloc[:0]
        if values.empty:
            continue
        by_x = values.groupby(panel.x)[panel.y]
        mean, error = by_x.mean(), by_x.sem().fillna(0.0)
        style = "--" if method in DASHED else "-"
        (line,) = axis.plot(mean.index, mean, color=colour, marker=marker, linestyle=style)
        axis.fill_between(mean.index, mean - error, mean + error, color=colour, alpha=0.18, linewidth=0)
        handles[label] = line
    axis.set_title(panel.title)
    axis.set_xlabel(panel.x_label)
    axis.set_ylabel(panel.y_label)
    for direction in panel.log:
        getattr(axis, f"set_{direction}scale")("log")
    ticks = sorted(mine[panel.x].unique())
    if 1 < len(ticks) <= 8:
        axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
    return handles


def styles_of(methods: Sequence[str]) -> dict[str, tuple[str, str, str]]:
    """Return the colour, marker and label of each of these methods, those with a style of their own first."""
    known = {method: style for method, style in STYLES.items() if method in methods}
    others = (method for method in methods if method not in STYLES)
    drawn = zip(others, cycle(OTHER_COLOURS), cycle(OTHER_MARKERS), strict=False)
    return known | {method: (colour, marker, method) for method, colour, marker in drawn}


def _share_y(axes: "Sequence[Axes]") -> None:
    limits = [axis.get_ylim() for axis in axes]
    for axis in axes:
        axis.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
    for axis in axes[1:]:
        axis.set_ylabel("")
        axis.tick_params(labelleft=False)


def empty_figure(width: float, height: float) -> "Figure":
    """Return a figure of so many inches that no window knows of."""
    figure: Figure = _matplotlib("figure").Figure(figsize=(width, height), layout="constrained")
    return figure


@contextmanager
def looks() -> Iterator[None]:
    """Give figures the look of these pages, and nobody else's."""
    with _matplotlib().rc_context(_LOOK):
        yield


def _matplotlib(part: str = "") -> Any:
    try:
        return import_module(f"matplotlib.{part}" if part else "matplotlib")
    except ImportError:
        raise OptionError("figures need matplotlib, which is not installed: pip install 'kerncause[plots]'") from None


_LOOK = {
    "font.size": 8,
    "axes.titlesize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "kerncause",
    "figure.dpi": 110,
}
