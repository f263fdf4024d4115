"""The paper's nine claims, each answered by numbers from the results there are.

A number is a mean over realisations with its standard error. Methods are compared on the same tables, so the error is
that of the paired difference. A statement holds where its number lies on the right side of zero by two standard
errors, is contradicted where it lies two on the wrong side, and is open in between.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from kerncause.experiments.base import Scale, frame_of
from kerncause.experiments.methods import GRADIENT_METHODS, KERNEL_METHODS
from kerncause.experiments.registry import find_experiment
from kerncause.experiments.run import DIRECTORY, rows_of

Floats = npt.NDArray[np.float64]
Verdict = Literal["holds", "open", "does not hold", "no results"]
CLEARLY = 2.0
MOST_PLACES = 7
SYNTHETIC = ("fig2-3", "appendix-1000", "appendix-discrete")
PAIRED = ("kind", "rows", "density", "seed")
SAMPLED = ("network", "rows", "seed")
F1, SHD = "skeleton_f1", "shd_normalised"
# Losses are compared where this share of the way is left.
NEARLY = 0.05


@dataclass(frozen=True)
class Number:
    """A mean and its standard error over so many realisations."""

    mean: float
    error: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> "Number":
        """Return the mean of values that are there."""
        kept = np.array([value for value in values if value is not None and np.isfinite(value)], dtype=float)
        error = float(kept.std(ddof=1) / len(kept) ** 0.5) if len(kept) > 1 else float("nan")
        return cls(float(kept.mean()) if len(kept) else float("nan"), error, len(kept))

    @property
    def sign(self) -> int:
        """1 or -1 where the mean is clearly on that side of zero, else 0."""
        return int(np.sign(self.mean)) if abs(self.mean) > CLEARLY * self.error else 0

    def __str__(self) -> str:
        """Give the error two digits, and the mean as many places."""
        size = self.error if 0.0 < self.error < np.inf else abs(self.mean)
        places = min(max(1 - int(np.floor(np.log10(size))), 0), MOST_PLACES) if size > 0.0 else 1
        return f"{self.mean:+.{places}f} ± {self.error:.{places}f}"


@dataclass(frozen=True)
class Statement:
    """One part of a claim: what it says, the number, and whether that bears it out."""

    says: str
    number: str
    verdict: Verdict


@dataclass(frozen=True)
class Claim:
    """A claim of the paper and the statements it comes to."""

    number: int
    says: str
    statements: tuple[Statement, ...]


class Results:
    """The rows of experiments, each the largest scale that is there, without failures."""

    def __init__(self, directory: str | Path = DIRECTORY, scale: Scale = "full") -> None:
        self._directory, self._scale = directory, scale
        self._frames: dict[str, pd.DataFrame] = {}

    def frame(self, *names: str) -> pd.DataFrame:
        """Return the rows of some experiments, one table after the other."""
        return pd.concat([self._one(name) for name in names], ignore_index=True)

    def _one(self, name: str) -> pd.DataFrame:
        if name not in self._frames:
            rows = rows_of(find_experiment(name), self._scale, self._directory)
            kept = [row for row in rows if row.error is None]
            self._frames[name] = frame_of(kept) if kept else pd.DataFrame(columns=["method", "rows", "seed"])
        return self._frames[name]


def answered(directory: str | Path = DIRECTORY) -> list[Claim]:
    """Answer all nine claims from the results in a directory."""
    results = Results(directory)
    return [Claim(number, says, tuple(_safely(answer, results))) for number, (says, answer) in CLAIMS.items()]


def _safely(answer: Callable[[Results], Sequence[Statement]], results: Results) -> Sequence[Statement]:
    try:
        return answer(results)
    except KeyError as missing:
        return [Statement(f"needs results with {missing}", "", "no results")]


def paired(frame: pd.DataFrame, figure: str, one: str, other: str, keys: Sequence[str] = PAIRED) -> pd.Series:
    """Return the figure of one method minus that of another on the same tables, by these keys."""
    wide = frame.pivot_table(index=list(keys), columns="method", values=figure)
    return (wide[one] - wide[other]).dropna()


def slope(differences: pd.Series, level: str) -> Number:
    """Return the least-squares slope of values against a level of their index, with its standard error."""
    x = differences.index.get_level_values(level).to_numpy(dtype=float)
    y = differences.to_numpy(dtype=float)
    centred = x - x.mean()
    total = float(centred @ centred)
    if len(y) < 3 or total == 0.0:
        return Number(float("nan"), float("nan"), len(y))
    b = float(centred @ y) / total
    left = y - y.mean() - b * centred
    return Number(b, float(np.sqrt(left @ left / (len(y) - 2) / total)), len(y))


def _judged(says: str, number: Number, positive: bool = True) -> Statement:
    sign = number.sign if positive else -number.sign
    if not np.isfinite(number.mean):
        return Statement(says, "", "no results")
    verdict: Verdict = "holds" if sign > 0 else "does not hold" if sign < 0 else "open"
    return Statement(says, f"{number} ({number.count})", verdict)


def _counted(says: str, met: int, of: int, need: int) -> Statement:
    if of == 0:
        return Statement(says, "", "no results")
    return Statement(says, f"{met} of {of}", "holds" if met >= need else "does not hold")


def _best_cells(frame: pd.DataFrame, figure: str, largest: bool) -> tuple[int, int]:
    """Return in how many settings the mean of learned is the best of all methods, and in how many there are all."""
    means = frame.pivot_table(index=["kind", "rows", "density"], columns="method", values=figure)
    means = means.dropna(subset=[m for m in KERNEL_METHODS if m in means])
    best = means.idxmax(axis=1) if largest else means.idxmin(axis=1)
    return int((best == "learned").sum()), len(means)


def _claim_1(results: Results) -> list[Statement]:
    frame = results.frame(*SYNTHETIC)
    met, of = _best_cells(frame, F1, largest=True)
    found = [_counted("learned has the highest mean F1 in most settings", met, of, of // 2 + 1)]
    for other in ("marginal", "cv"):
        margin = paired(frame, F1, "learned", other)
        found.append(_judged(f"F1 of learned minus {other}", Number.of(margin)))
        found.append(_judged(f"its change per unit of density (learned minus {other})", slope(margin, "density")))
    return found


def _claim_2(results: Results) -> list[Statement]:
    frame = results.frame(*SYNTHETIC)
    met, of = _best_cells(frame, SHD, largest=False)
    found = [_counted("learned has the lowest mean normalised SHD in all settings", met, of, of)]
    for other in KERNEL_METHODS[1:]:
        margin = paired(frame, SHD, "learned", other)
        found.append(_judged(f"SHD of learned minus {other}", Number.of(margin), positive=False))
    return found


def _claim_3(results: Results) -> list[Statement]:
    frame = results.frame("fig2-3", "appendix-1000")
    found = []
    for method in KERNEL_METHODS:
        mine = frame[frame["method"] == method]
        wide = mine.pivot_table(index=["kind", "density", "seed"], columns="rows", values=F1)
        found.append(_judged(f"F1 of {method} at n = 500 minus n = 200", Number.of(wide[500] - wide[200])))
    for method in KERNEL_METHODS:
        values = frame[frame["method"] == method].set_index(list(PAIRED))[F1]
        found.append(_judged(f"change of F1 of {method} per unit of density", slope(values, "density"), positive=False))
    for method in KERNEL_METHODS:
        mine = frame[frame["method"] == method]
        wide = mine.pivot_table(index=["rows", "density", "seed"], columns="kind", values=F1)
        lacking = wide["multidimensional"] - wide[["continuous", "mixed"]].min(axis=1, skipna=False)
        found.append(
            _judged(f"F1 of {method} on vectors minus its lower of the other kinds", Number.of(lacking), positive=False)
        )
    return found


def _claim_4(results: Results) -> list[Statement]:
    frame = results.frame(*SYNTHETIC)
    margin = paired(frame, F1, "pc-kci", "marginal")
    sparse, dense = (margin[margin.index.get_level_values("density") == d] for d in (0.2, 0.8))
    by_density = frame[frame["method"] == "pc-kci"].pivot_table(
        index=["kind", "rows", "seed"], columns="density", values=F1
    )
    change = Number.of(by_density[0.8] - by_density[0.2])
    found = [
        _judged("F1 of PC minus Marg at density 0.2", Number.of(sparse)),
        _judged("F1 of PC minus Marg at density 0.8", Number.of(dense), positive=False),
        _judged("F1 of PC at density 0.8 minus at 0.2", change, positive=False),
    ]
    for other in ("marginal", "cv"):
        difference = Number.of(paired(frame, F1, "gp", other))
        found.append(_judged(f"F1 of GP minus {other}", difference, positive=False))
    return found


def _claim_5(results: Results) -> list[Statement]:
    frame = results.frame("fig4-real")
    found = []
    for name in ("sachs", "child"):
        mine = frame[frame["network"] == name]
        found.append(
            _judged(f"{name.upper()}: F1 of PC minus GP", Number.of(paired(mine, F1, "pc-kci", "gp", SAMPLED)))
        )
        largest = mine[mine["rows"] == 2000]
        for other in KERNEL_METHODS[1:]:
            margin = paired(largest, F1, "learned", other, SAMPLED)
            found.append(_judged(f"{name.upper()}, n = 2000: F1 of learned minus {other}", Number.of(margin)))
    child = frame[frame["network"] == "child"]
    for other in ("marginal", "cv"):
        margin = paired(child, SHD, "learned", other, SAMPLED)
        found.append(_judged(f"CHILD: SHD of learned minus {other}", Number.of(margin), positive=False))
    return found


def _claim_6(results: Results) -> list[Statement]:
    times, losses = results.frame("fig4-time"), results.frame("fig4-convergence")
    found = []
    for suffix in (", dense", ""):
        wide = times.pivot_table(index=["rows", "seed"], columns="method", values="search_seconds")
        number = Number.of(np.log(wide[f"learned{suffix}"] / wide[f"marginal{suffix}"]))
        engine = "dense engine" if suffix else "our engines"
        says = f"log of the seconds of learned over Marg, {engine} (factor {np.exp(number.mean):.2f})"
        found.append(_judged(says, number))
    epochs = {m: _epochs(losses[losses["method"] == m]) for m in ("learned", "marginal")}
    found.append(
        _judged(
            f"epochs until {NEARLY:.0%} of the fall is left, learned minus Marg "
            f"(means {np.mean(epochs['learned']):.0f} and {np.mean(epochs['marginal']):.0f} of 100)",
            Number.of(epochs["learned"] - epochs["marginal"]),
        )
    )
    return found


def _epochs(frame: pd.DataFrame) -> Floats:
    """Return for each relation the first epoch whose normalised loss is nearly the smallest."""
    losses = np.array(frame.sort_values("seed")["losses"].tolist())
    fallen = losses - losses.min(axis=1, keepdims=True) <= NEARLY * (losses[:, :1] - losses.min(axis=1, keepdims=True))
    epochs: Floats = fallen.argmax(axis=1).astype(np.float64)
    return epochs


def _claim_7(results: Results) -> list[Statement]:
    frame = results.frame("appendix-gradient")
    found = []
    for method in GRADIENT_METHODS:
        mine = frame[frame["method"] == method]
        if mine.empty:
            found.append(Statement(f"{method}: not run yet, or no run ended in time", "", "no results"))
            continue
        gap = Number.of(mine["skeleton_precision"] - mine["skeleton_recall"])
        low = method == "dibs"
        says = f"{method}: precision minus recall{' (the exception)' if low else ''}"
        found.append(_judged(says, gap, positive=not low))
        margin = Number.of(paired(frame, F1, method, "learned", SAMPLED))
        found.append(_judged(f"{method}: F1 minus that of learned", margin, positive=False))
    return found


def _claim_8(results: Results) -> list[Statement]:
    frame = results.frame("consistency")
    learned = frame[frame["method"] == "learned"]
    by_rows = np.log(learned[learned["true_gain"] > 0].set_index(["rows", "seed"])["true_gain"])
    by_rows.index = by_rows.index.set_levels(np.log(by_rows.index.levels[0]), level="rows")
    found = [_judged("power of n by which the gain of a true parent grows (log-log slope)", slope(by_rows, "rows"))]
    for rows in sorted(learned["rows"].unique()):
        mine = learned[learned["rows"] == rows]
        added = float((mine["independent_gain"] > 0).mean())
        number = Number.of(mine["independent_gain"])
        says = f"gain of an independent parent beside the true one, n = {rows} (added in {added:.0%})"
        found.append(_judged(says, number, positive=False))
    return found


def _claim_9(results: Results) -> list[Statement]:
    frame = results.frame("fig1")
    found = []
    for reading in ("variance", "deviation"):
        mine = frame[frame["reading"] == reading]
        means = mine.groupby("method")["hsic"].mean()
        says = (
            f"0.5 as {reading}: HSIC with the median bandwidth minus the learned one "
            f"(means {means['median']:.4f} and {means['learned']:.4f})"
        )
        found.append(_judged(says, Number.of(paired(mine, "hsic", "median", "learned", ["seed"]))))
        spreads = mine.groupby("method")["spread"].mean()
        says = (
            f"0.5 as {reading}: spread of the features, learned minus trainable without J "
            f"(means {spreads['learned']:.3f} and {spreads['without J']:.3f})"
        )
        found.append(_judged(says, Number.of(paired(mine, "spread", "learned", "without J", ["seed"]))))
    return found


CLAIMS: dict[int, tuple[str, Callable[[Results], Sequence[Statement]]]] = {
    1: ("Learned has the highest F1 in most settings, and its margin over Marg and CV grows with density.", _claim_1),
    2: ("Its normalised SHD is the lowest in all cases.", _claim_2),
    3: ("Accuracy rises with n, falls with density, and is worst on vector variables, for all methods.", _claim_3),
    4: ("PC is better on sparse graphs and falls off as they grow dense; GP is below Marg and CV.", _claim_4),
    5: ("On SACHS and CHILD PC beats GP, learned overtakes all as n grows, its SHD on CHILD is well below.", _claim_5),
    6: ("Learned takes longer than Marg, within limits, and converges fast.", _claim_6),
    7: ("Continuous optimisation, DiBS aside, has high precision and low recall, hence low F1.", _claim_7),
    8: ("The gain of a true parent grows with n; that of an independent one stays negative.", _claim_8),
    9: ("The median bandwidth leaves more dependence than the learned one; without the Jacobian, collapse.", _claim_9),
}


def as_markdown(claim: Claim) -> str:
    """Return a claim as a table: statement, mean ± standard error (realisations), verdict."""
    lines = [f"**{claim.number}. {claim.says}**", "", "| statement | number | verdict |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {s.says} | {s.number} | {s.verdict} |" for s in claim.statements)])
