"""What the default had to reach on the test set, each target with what was measured.

A cell is a kind of table, a density and a number of rows. Means over cells count every cell once; standard errors are
those over graphs, as everywhere (`kerncause.experiments.comparison`). A target is met by its mean. The last column says
on how many tables it was measured.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pandas as pd

from kerncause.experiments.claims import F1, PAIRED, SHD, Number, paired
from kerncause.experiments.run import results_of
from kerncause.experiments.specs.accuracy import REFERENCE
from kerncause.simulate import PAPER_KINDS

OURS = "adaptive-optimum"
CELL = ("kind", "density", "rows")
ROWS = (200, 500)
RIVALS = ("marginal", "cv", "pc-kci", "bic", "bic-boss", "causal-learn-bic-boss")
GAIN, SHARE_OF_SHD, MOST_LOST_IN_A_CELL, LOST_TO_BIC = 0.05, 0.8, 0.02, 0.03
NETWORKS: Mapping[str, float] = {"sachs": 0.98, "child": 0.97}
NETWORK_ROWS = 2000


@dataclass(frozen=True)
class Target:
    """What was wanted of a number, and what it is.

    Attributes:
        says: what the number is.
        wanted: in words.
        number: what was measured; NaN where nothing was.
        is_met: whether that is what was wanted.
        tables: on how many tables.
    """

    says: str
    wanted: str
    number: Number
    is_met: bool
    tables: int

    @property
    def verdict(self) -> str:
        """In a word."""
        if self.tables == 0:
            return "not measured"
        return "met" if self.is_met else "not met"


def targets(directory: str | Path) -> list[Target]:
    """Return every target with what the test set says of it."""
    frame = results_of("accuracy-test", "full", directory)
    of_paper = frame[frame["kind"].isin(PAPER_KINDS) & frame["rows"].isin(ROWS)]
    return [*_against_paper(of_paper), *_networks(frame), *_linear(frame), *_rivals(of_paper)]


def _against_paper(frame: pd.DataFrame) -> Iterator[Target]:
    gain = _difference(frame, F1, REFERENCE)
    yield _at_least("skeleton F1 minus paper, the paper's kinds, n = 200 and 500", gain, _over_cells(gain), GAIN)
    ours, paper = (_both(frame, SHD, method) for method in (OURS, REFERENCE))
    share = _ratio_of_means(ours, paper)
    says = "SHD as a share of that of paper, there"
    is_met = share.mean <= SHARE_OF_SHD
    yield Target(says, f"at most {SHARE_OF_SHD:g}", share, is_met, len(ours))
    if not len(gain):
        return
    cells = gain.groupby(level=list(CELL))
    worst = cells.mean().idxmin()
    kind, density, rows = cast(tuple[str, float, int], worst)
    where = f"{kind}, density {density:g}, n = {rows}"
    lost = Number.of(cells.get_group(worst))
    says = f"skeleton F1 minus paper in the worst of {cells.ngroups} cells ({where})"
    yield _at_least(says, cells.get_group(worst), lost, -MOST_LOST_IN_A_CELL)


def _networks(frame: pd.DataFrame) -> Iterator[Target]:
    for name, least in NETWORKS.items():
        there = frame[(frame["kind"] == name) & (frame["rows"] == NETWORK_ROWS) & (frame["method"] == OURS)]
        values = there.set_index(list(PAIRED))[F1]
        yield _at_least(f"skeleton F1, {name.upper()}, n = {NETWORK_ROWS}", values, Number.of(values), least)


def _linear(frame: pd.DataFrame) -> Iterator[Target]:
    linear = frame[frame["kind"] == "linear"]
    for rival in ("bic", "bic-boss"):
        gain = _difference(linear, F1, rival)
        yield _at_least(f"skeleton F1 minus {rival}, linear tables", gain, _over_cells(gain), -LOST_TO_BIC)


def _rivals(frame: pd.DataFrame) -> Iterator[Target]:
    for rival in RIVALS:
        gain = _difference(frame, F1, rival)
        cells = len(gain.groupby(level=list(CELL)).size()) if len(gain) else 0
        says = f"skeleton F1 minus {rival}, the paper's kinds, {cells} cells"
        number = _over_cells(gain)
        yield Target(says, "above 0", number, number.mean > 0.0, len(gain))


def _difference(frame: pd.DataFrame, figure: str, other: str) -> "pd.Series[float]":
    """Return ours minus that of another on the tables that both have; empty if one of them has none."""
    if {OURS, other} <= set(frame["method"]):
        return paired(frame, figure, OURS, other)
    return pd.Series(dtype=float, index=pd.MultiIndex.from_arrays([[]] * len(PAIRED), names=PAIRED))


def _both(frame: pd.DataFrame, figure: str, method: str) -> "pd.Series[float]":
    """Return the figure of a method on the tables that ours and paper have."""
    shared = _difference(frame, figure, REFERENCE).index
    return frame[frame["method"] == method].set_index(list(PAIRED))[figure].reindex(shared)


def _over_cells(values: "pd.Series[float]") -> Number:
    """Return the mean over cells, with the standard error over graphs."""
    if not len(values):
        return Number(float("nan"), float("nan"), 0)
    mean = float(values.groupby(level=list(CELL)).mean().mean())
    graphs = values.groupby(level=["density", "seed"]).mean()
    return Number(mean, Number.of(graphs).error, len(graphs))


def _ratio_of_means(ours: "pd.Series[float]", paper: "pd.Series[float]") -> Number:
    """Return the ratio of two means over cells; its error is that of ours - ratio paper, over the mean of paper."""
    top, bottom = _over_cells(ours), _over_cells(paper)
    if not bottom.count or not bottom.mean:
        return Number(float("nan"), float("nan"), bottom.count)
    ratio = top.mean / bottom.mean
    return Number(ratio, _over_cells(ours - ratio * paper).error / bottom.mean, top.count)


def _at_least(says: str, values: "pd.Series[float]", number: Number, least: float) -> Target:
    return Target(says, f"at least {least:g}", number, number.mean >= least, len(values))


def as_table(found: Sequence[Target]) -> str:
    """Return the targets as Markdown."""
    lines = ["| figure | wanted | measured | | tables |", "|---|---|---|---|---|"]
    return "\n".join(
        [*lines, *(f"| {t.says} | {t.wanted} | {_measured(t.number)} | {t.verdict} | {t.tables} |" for t in found)]
    )


def _measured(number: Number) -> str:
    if not number.count:
        return ""
    error = f" ± {number.error:.3f}" if number.error == number.error else ""
    return f"{number.mean:.3f}{error}"
