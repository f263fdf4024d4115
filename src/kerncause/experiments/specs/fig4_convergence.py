"""Figure 4, c: how fast the loss falls, for Marg and learned, with Adam on 100 random relations.

Adam (Kingma and Ba 2015, learning rate 0.005, 100 epochs) moves the bandwidths and the noise themselves, not their
logarithms, from the heuristic, within their bounds. It is used for this figure alone: the scores use L-BFGS-B, whose
optimum from the same start is `optimum`.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from kerncause.data import Dataset
from kerncause.experiments.base import Cell, Experiment, Scale
from kerncause.experiments.draw import STYLES, empty_figure
from kerncause.experiments.specs.graphs import every
from kerncause.experiments.tables import FIRST_SEED
from kerncause.kernels import median_heuristic
from kerncause.scores.family import START_NOISE
from kerncause.scores.kernel import KernelScore
from kerncause.scores.learned import LearnedKernelScore
from kerncause.scores.marginal import MarginalScore
from kerncause.simulate import simulate

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Floats = npt.NDArray[np.float64]
Loss = Callable[[Floats], tuple[float, Floats]]

SCORES: Mapping[str, type[KernelScore]] = {"marginal": MarginalScore, "learned": LearnedKernelScore}
METHODS = tuple(SCORES)
RATE, EPOCHS = 0.005, 100
FIRST_MOMENT, SECOND_MOMENT, TINY = 0.9, 0.999, 1e-8
LOWEST, HIGHEST = 0.1, 10.0
LEAST_NOISE = 0.001
MOST_PARENTS = 3


def cells(scale: Scale) -> list[Cell]:
    """Return relations of 1 to 3 parents, n = 200, 100 of them at `small` already; `smoke` has 4 with n = 50."""
    smoke = scale == "smoke"
    return every(METHODS, {"smoke": 4, "small": 100, "full": 100}[scale], rows=(50 if smoke else 200,))


def relation(rows: int, seed: int) -> tuple[Dataset, str, list[str]]:
    """Draw a variable with 1 to 3 parents: one of a complete random graph over four."""
    drawn = simulate("continuous", MOST_PARENTS + 1, 1.0, rows, FIRST_SEED + seed)
    wanted = 1 + seed % MOST_PARENTS
    target = next(node for node in drawn.dag.nodes if len(drawn.dag.parents(node)) == wanted)
    return drawn.dataset, target, sorted(drawn.dag.parents(target))


def measure(cell: Cell) -> dict[str, Any]:
    """Return -S/n before the first epoch and after each, and the optimum of L-BFGS-B."""
    data, target, parents = relation(cell["rows"], cell.seed)
    score = SCORES[cell.method](data, bandwidths="shared", starts=1, engine="dense")
    heuristic = {name: median_heuristic(data.points(name)) for name in (target, *parents)}
    learns_response = cell.method == "learned"
    fixed = heuristic[target]

    def loss(sigma: Floats) -> tuple[float, Floats]:
        s_p, s_e = sigma[-2:]
        response = float(sigma[0]) if learns_response else fixed
        at = {"response_bandwidth": response, "bandwidths": dict.fromkeys(parents, float(s_p)), "noise": float(s_e)}
        value, by_log = score.evaluate(target, parents, at)
        gradient = [sum(by_log.bandwidths.values()), by_log.noise]
        if learns_response:
            gradient.insert(0, by_log.response_bandwidth or 0.0)
        return -value, -np.array(gradient) / sigma

    start = [float(np.mean([heuristic[name] for name in parents])), START_NOISE]
    lows, highs = [LOWEST, LEAST_NOISE], [HIGHEST, HIGHEST]
    if learns_response:
        start, lows, highs = [fixed, *start], [LOWEST, *lows], [HIGHEST, *highs]
    losses = adam(loss, np.array(start), np.array(lows), np.array(highs))
    return {"losses": losses, "optimum": -score.local_score(target, parents), "parents": len(parents)}


def adam(loss: Loss, start: Floats, lows: Floats, highs: Floats) -> list[float]:
    """Return the loss before the first epoch and after each one."""
    at, mean, square = np.clip(start, lows, highs), np.zeros(len(start)), np.zeros(len(start))
    value, gradient = loss(at)
    losses = [value]
    for epoch in range(1, EPOCHS + 1):
        mean = FIRST_MOMENT * mean + (1 - FIRST_MOMENT) * gradient
        square = SECOND_MOMENT * square + (1 - SECOND_MOMENT) * gradient**2
        step = mean / (1 - FIRST_MOMENT**epoch) / (np.sqrt(square / (1 - SECOND_MOMENT**epoch)) + TINY)
        at = np.clip(at - RATE * step, lows, highs)
        value, gradient = loss(at)
        losses.append(value)
    return losses


def normalised(losses: Floats) -> Floats:
    """Return losses (relations, epochs + 1), each relation from 1 at its start to 0 at its smallest."""
    low, first = losses.min(axis=1, keepdims=True), losses[:, :1]
    scaled: Floats = (losses - low) / np.maximum(first - low, np.finfo(float).tiny)
    return scaled


def draw(frame: pd.DataFrame) -> "Figure":
    """Draw the mean normalised loss against the epoch, and what is left to the optimum."""
    figure = empty_figure(6.4, 2.6)
    left, right = figure.subplots(1, 2)
    for method in METHODS:
        rows = frame[frame["method"] == method]
        losses = np.array(rows["losses"].tolist())
        possible = losses[:, :1] - rows["optimum"].to_numpy()[:, None]
        lacking = (losses - rows["optimum"].to_numpy()[:, None]) / np.maximum(possible, 1e-12)
        for axis, curves in ((left, normalised(losses)), (right, lacking)):
            mean, error = curves.mean(axis=0), curves.std(axis=0) / max(len(curves) - 1, 1) ** 0.5
            colour, _, label = STYLES[method]
            axis.plot(mean, color=colour, label=label)
            axis.fill_between(range(len(mean)), mean - error, mean + error, color=colour, alpha=0.18, linewidth=0)
    left.set(xlabel="epoch of Adam", ylabel="normalised loss", title="from start (1) to smallest seen (0)")
    right.set(xlabel="epoch of Adam", ylabel="share of the way left", title="from start (1) to L-BFGS-B's optimum (0)")
    left.legend()
    return figure


EXPERIMENT = Experiment("fig4-convergence", "loss against epoch, Marg and learned", 1, cells, measure, draw)
