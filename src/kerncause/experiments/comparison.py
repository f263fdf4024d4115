"""Methods beside each other: means with standard errors, and differences to one of them on the same tables.

The unit is a graph. The random graph of a realisation depends on its density alone, so tables of other kinds and other
numbers of rows that share it are not independent of each other: their figures are averaged before errors are computed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from kerncause.errors import DataError, OptionError
from kerncause.experiments.claims import F1, PAIRED, Number
from kerncause.experiments.specs.accuracy import FIRST_DEVELOPMENT, FIRST_SPENT, REFERENCE
from kerncause.simulate import PAPER_KINDS
from kerncause.text import quoted

# What a graph is known by, as far as an experiment has it.
GRAPH = ("network", "density", "seed")
# What a variant may lose beyond its standard error, in any kind of data at any number of rows.
MOST_LOST = 0.02
EVERYTHING = "all"


@dataclass(frozen=True)
class Compared:
    """One method on one part of the tables.

    Attributes:
        where: which part, such as a kind of data; empty for all of them.
        method: whose figures these are.
        number: their mean over graphs.
        difference: the mean over graphs of what they are above those of the other method, on the same tables.
        tables: how many tables the method has there.
        seconds: the mean of what it took on one, on one core.
    """

    where: tuple[str, ...]
    method: str
    number: Number
    difference: Number
    tables: int
    seconds: float


def compared(
    frame: pd.DataFrame,
    figure: str = F1,
    against: str = REFERENCE,
    by: Sequence[str] = ("kind",),
    keys: Sequence[str] = PAIRED,
) -> list[Compared]:
    """Compare every method with one of them, on each part of the tables and on all.

    Args:
        frame: rows of an experiment (`frame_of`); those that failed are left out.
        figure: the column to compare, such as `skeleton_f1`, `best_dag_arrows_f1` or `shd_normalised`.
        against: the method that differences are to.
        by: the settings whose values are the parts.
        keys: what a table is known by: all settings, and `seed`.
    """
    for name in (figure, *by):
        if name not in frame:
            raise OptionError(f"there is no {quoted(name)} in the results: they have {', '.join(map(str, frame))}")
    if against not in set(frame["method"]):
        raise DataError(f"there are no results of {quoted(against)} to compare with: run it as well")
    there = frame[frame[figure].notna()]
    return [
        _one(part.set_index(list(keys), drop=False), where, method, figure, against)
        for where, part in _parts(there.astype({figure: float}), by)
        for method in dict.fromkeys(part["method"])
    ]


def _parts(frame: pd.DataFrame, by: Sequence[str]) -> Iterator[tuple[tuple[str, ...], pd.DataFrame]]:
    if by:
        for values, part in frame.groupby(list(by), sort=False):
            yield tuple(map(str, values)), part
    yield (), frame


def _one(part: pd.DataFrame, where: tuple[str, ...], method: str, figure: str, against: str) -> Compared:
    mine = part[part["method"] == method]
    spent = "search_seconds" if "search_seconds" in mine else "seconds"
    difference = mine[figure] - part[part["method"] == against][figure]
    return Compared(
        where,
        method,
        Number.of(_over_graphs(mine[figure])),
        Number.of(_over_graphs(difference)),
        len(mine),
        float(mine[spent].mean()),
    )


def _over_graphs(figures: "pd.Series[float]") -> "pd.Series[float]":
    """Return the mean for each graph; a table that one of two methods lacks does not count."""
    levels = [key for key in GRAPH if key in figures.index.names]
    return figures.dropna().groupby(level=levels).mean()


def comparison_table(found: Sequence[Compared], against: str = REFERENCE) -> str:
    """Return a comparison as Markdown: mean ± standard error over graphs, and the difference on the same tables."""
    heads = ("tables of", "variant", "mean", f"minus {against}", "tables", "seconds each")
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {' | '.join(_words(one, against))} |" for one in found)])


def _words(one: Compared, against: str) -> tuple[str, ...]:
    difference = "" if one.method == against or not one.difference.count else _shown(one.difference, "+")
    where = ", ".join(one.where) or EVERYTHING
    return where, one.method, _shown(one.number), difference, str(one.tables), f"{one.seconds:.1f}"


def _shown(number: Number, sign: str = "") -> str:
    error = "" if np.isnan(number.error) else f" ± {number.error:.3f}"
    return f"{number.mean:{sign}.3f}{error}"


@dataclass(frozen=True)
class Judged:
    """Whether a variant is kept, by the rule of experiments/protocol.md.

    Attributes:
        variant: its name.
        gain: its skeleton F1 minus that of the paper's setting, over all tables of the paper's kinds.
        losses: where it falls by more than 0.02 beyond the standard error: kind, number of rows and by how much.
        kept: whether it gains more than two standard errors, and falls nowhere.
    """

    variant: str
    gain: Number
    losses: tuple[tuple[str, str, Number], ...]

    @property
    def kept(self) -> bool:
        """Whether it gains clearly and falls nowhere."""
        return self.gain.mean > 0 and self.gain.sign > 0 and not self.losses


def judged(frame: pd.DataFrame, variant: str) -> Judged:
    """Judge a variant by rows of the development data; rows of the test set are refused.

    Args:
        frame: rows of `accuracy-development`, with the variant and the paper's setting.
        variant: its name.
    """
    if not frame["seed"].between(FIRST_DEVELOPMENT, FIRST_SPENT - 1).all():
        raise OptionError("a variant is judged on development data: give rows of accuracy-development alone")
    if variant not in set(frame["method"]):
        raise DataError(f"there are no results of {quoted(variant)}: run it first")
    two = frame[frame["method"].isin([variant, REFERENCE])]
    (whole,) = (one for one in compared(two[two["kind"].isin(PAPER_KINDS)], by=()) if one.method == variant)
    losses = tuple(
        (one.where[0], one.where[1], one.difference)
        for one in compared(two, by=("kind", "rows"))
        if one.method == variant and one.where and one.difference.mean < -MOST_LOST - one.difference.error
    )
    return Judged(variant, whole.difference, losses)
