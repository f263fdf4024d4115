"""Figure 1: what is left of X after regression on its cause Y, and whether it depends on Z, the cause of Y.

    Z = E1,  Y = cos(1.5 Z^2 + E2)^2,  X = cos(1.5 Y^2 + E3)^2,        E1 ~ N(0, 1),  E2, E3 ~ N(0, 0.5)

X is independent of Z given Y, so a good feature of X leaves a residual k_X - f(Y) without Z in it. Whether 0.5 is the
variance or the standard deviation the paper does not say: both are tried (`reading`).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kerncause.data import Dataset, Points
from kerncause.experiments.base import Cell, Experiment, Scale
from kerncause.experiments.draw import STYLES, empty_figure
from kerncause.experiments.specs.graphs import every
from kerncause.experiments.tables import FIRST_SEED
from kerncause.independence.hsic import hsic_of_columns
from kerncause.scores.kernel import KernelScore
from kerncause.scores.learned import LearnedKernelScore
from kerncause.scores.marginal import MarginalScore
from kerncause.scores.response_model import NoTerm, ResponseModel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]

READINGS = {"variance": 0.5**0.5, "deviation": 0.5}
DIGITS = 4


class WithoutJacobian(LearnedKernelScore):
    """The conditional likelihood with a trainable response kernel: nothing keeps s_x from making X vanish."""

    def _model(self, points: Points, whole: Points) -> ResponseModel:
        return replace(super()._model(points, whole), term=NoTerm())


SCORES: Mapping[str, type[KernelScore]] = {
    "without J": WithoutJacobian,
    "median": MarginalScore,
    "learned": LearnedKernelScore,
}


def cells(scale: Scale) -> list[Cell]:
    """Return n = 500 in both readings, 20 realisations at `small`, 100 at `full`; `smoke` has n = 80."""
    smoke = scale == "smoke"
    realisations = {"smoke": 1, "small": 20, "full": 100}[scale]
    return every(tuple(SCORES), realisations, rows=(80 if smoke else 500,), reading=tuple(READINGS))


def drawn(rows: int, reading: str, seed: int) -> pd.DataFrame:
    """Draw z, y and x."""
    rng, deviation = np.random.default_rng(seed), READINGS[reading]
    z = rng.normal(size=rows)
    y = np.cos(1.5 * z**2 + deviation * rng.normal(size=rows)) ** 2
    x = np.cos(1.5 * y**2 + deviation * rng.normal(size=rows)) ** 2
    return pd.DataFrame({"z": z, "y": y, "x": x})


def measure(cell: Cell) -> dict[str, Any]:
    """Fit x given y; return how much of z is in the residual, and what the model would gain by z as a parent.

    `spread` is the standard deviation of the features k_X around their means: near 0 where they have collapsed.
    The first realisation keeps the points that the figure shows: one dimension of the features and the residual.
    """
    frame = drawn(cell["rows"], cell["reading"], FIRST_SEED + cell.seed)
    data = Dataset.from_frame(frame, kinds=dict.fromkeys(frame.columns, "continuous"))
    score = SCORES[cell.method](data, bandwidths="shared", starts=1)
    fit = score.fit("x", ["y"])
    residuals, z = score.residuals("x", ["y"], fit), frame["z"].to_numpy()
    bandwidth = float(fit.response_bandwidth or 0.0)
    features = _features(frame["x"].to_numpy(), bandwidth)
    found: dict[str, Any] = {
        "hsic": float(hsic_of_columns(residuals, z).mean()),
        "spread": float(np.sqrt(features.var(axis=0).mean())),
        "response_bandwidth": bandwidth,
        "noise": fit.noise,
        "gain_of_z": score.fit("x", ["y", "z"]).value - fit.value,
    }
    if cell.seed == 0:
        points = {"feature": features[:, 0], "fitted": features[:, 0] - residuals[:, 0], "residual": residuals[:, 0]}
        points |= {str(name): column.to_numpy() for name, column in frame.items()}
        found |= {name: values.round(DIGITS).tolist() for name, values in points.items()}
    return found


def _features(x: Floats, bandwidth: float) -> Floats:
    """Return K_X of the standardised column, (n, n)."""
    standard = (x - x.mean()) / x.std()
    features: Floats = np.exp(-0.5 * ((standard[:, None] - standard[None, :]) / bandwidth) ** 2)
    return features


def draw(frame: pd.DataFrame) -> "Figure":
    """Draw the first realisation with 0.5 as variance, and HSIC of all realisations in both readings."""
    figure = empty_figure(11.5, 2.5)
    axes = figure.subplots(1, 5, width_ratios=(1, 1, 1, 1, 1.25))
    shown = frame[(frame["seed"] == 0) & (frame["reading"] == "variance")].set_index("method")
    median = shown.loc["median"]
    _scatter(axes[0], median["y"], median["x"], "Y", "X", "(a) data", "median")
    collapsed = shown.loc["without J"]
    title = "(b) features without J"
    _scatter(axes[1], collapsed["fitted"], collapsed["feature"], "f(Y)", "$k_x$", title, "without J")
    for axis, letter, method in ((axes[2], "c", "median"), (axes[3], "d", "learned")):
        row = shown.loc[method]
        title = f"({letter}) {method}, HSIC {row['hsic']:.4f}"
        _scatter(axis, row["z"], row["residual"], "Z", "residual", title, method)
    _every_realisation(axes[4], frame)
    return figure


def _scatter(axis: "Axes", x: Any, y: Any, x_label: str, y_label: str, title: str, method: str) -> None:
    axis.scatter(x, y, s=4, alpha=0.5, color=STYLES[method][0], linewidths=0)
    axis.set(xlabel=x_label, ylabel=y_label, title=title)
    if method == "without J":  # the same range as an informative feature has, to show that it is a point
        axis.set(xlim=(0, 1.05), ylim=(0, 1.05))


def _every_realisation(axis: "Axes", frame: pd.DataFrame) -> None:
    methods = ("median", "learned")
    places = {(reading, method): i + 0.4 * j for i, reading in enumerate(READINGS) for j, method in enumerate(methods)}
    for (reading, method), place in places.items():
        values = frame[(frame["reading"] == reading) & (frame["method"] == method)].sort_values("seed")["hsic"]
        colour, _, label = STYLES[method]
        beside = place + np.linspace(-0.12, 0.12, len(values))
        named = label if reading == "variance" else None
        axis.scatter(beside, values, s=7, color=colour, alpha=0.6, linewidths=0, label=named)
        axis.hlines(values.mean(), place - 0.16, place + 0.16, color=colour)
    axis.set_xticks([i + 0.2 for i in range(len(READINGS))], [f"0.5 as\n{reading}" for reading in READINGS])
    axis.set(ylabel="mean HSIC with Z", title="all realisations", ylim=(0, 1.25 * frame["hsic"].max()))
    axis.legend(loc="upper center", ncols=2)


EXPERIMENT = Experiment("fig1", "residuals by median and by learned bandwidth", 1, cells, measure, draw)
