"""Small pictures of variables and of pairs of them, as SVG text that takes its colours from the page.

    number and number          scatter plot, with the model's curve and band of one standard deviation
    level and number           box plots, one for each level
    level and level            mosaic: widths are shares of the cause, heights shares of the effect in each
    number alone               histogram; of a vector, one for each of its first columns
    level alone                bars

A vector is shown by its first principal component. Words are escaped and cut here, once.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import numpy.typing as npt

from kerncause.data import Dataset, Kind, Variable
from kerncause.explain import Curve
from kerncause.text import printable

Floats = npt.NDArray[np.float64]
WIDTH, HEIGHT = 360, 250
LEFT, RIGHT, TOP, BOTTOM = 56, 12, 10, 44
MOST_POINTS = 300
MOST_LEVELS = 8
MOST_PANELS = 4
BINS = 24
TICKS = 5
LONGEST_WORD = 12
TOO_WIDE = "The values lie too far apart to be drawn."
LONGEST_TITLE = 40


@dataclass(frozen=True)
class Side:
    """One variable as a picture sees it.

    Attributes:
        title: what stands at its axis.
        numbers: (n,) values, or the positions of levels in `levels`.
        levels: the names of the levels, the rarest ones together as the last; None for a number.
        codes: what the numbers of a curve must be to stand at each level.
    """

    title: str
    numbers: Floats
    levels: tuple[str, ...] | None = None
    codes: tuple[float, ...] = ()

    @classmethod
    def of(cls, data: Dataset, name: str) -> "Side":
        """Return a variable of a table that has one row per observation."""
        variable = data.variable(name)
        columns = data.codes[:, list(data.columns_of(name))]
        if variable.kind is Kind.VECTOR:
            return cls(f"{printable(name, LONGEST_TITLE - 20)}, 1st component", _first_component(columns))
        title = printable(name, LONGEST_TITLE)
        if _is_number(variable):
            return cls(title, columns[:, 0])
        return cls(title, *_levels(variable, columns[:, 0]))


def _is_number(variable: Variable) -> bool:
    """Tell whether a variable is drawn along an axis: also one with an order and many levels that are numbers."""
    levels = variable.levels or ()
    many = variable.kind is Kind.ORDINAL and len(levels) > MOST_LEVELS and all(map(_reads_as_number, levels))
    return variable.kind is Kind.CONTINUOUS or many


def _reads_as_number(level: str) -> bool:
    try:
        return math.isfinite(float(level))
    except ValueError:
        return False


def _levels(variable: Variable, codes: Floats) -> tuple[Floats, tuple[str, ...], tuple[float, ...]]:
    """Return each row's level by its position, the levels' names, and their codes; rare levels become one."""
    known, which, counts = np.unique(codes, return_inverse=True, return_counts=True)
    most = MOST_LEVELS if len(known) <= MOST_LEVELS else MOST_LEVELS - 1
    kept = np.sort(np.argsort(-counts, kind="stable")[:most])
    place = np.full(len(known), float(len(kept)))
    place[kept] = np.arange(len(kept))
    names = tuple(printable(variable.level(code), LONGEST_WORD) for code in known[kept].tolist())
    if len(kept) < len(known):
        names = (*names, f"+{len(known) - len(kept)}")
    return place[which], names, tuple(known[kept].tolist())


def _first_component(columns: Floats) -> Floats:
    centred = columns - columns.mean(axis=0)
    spread = centred.std(axis=0)
    scaled = centred / np.where(spread > 0, spread, 1.0)
    _, _, axes = np.linalg.svd(scaled, full_matrices=False)
    axis = axes[0] * np.sign(axes[0][np.argmax(np.abs(axes[0]))])
    projected: Floats = scaled @ axis
    return projected


def _can_be_drawn(side: Side) -> bool:
    """Tell whether the range of a variable, with some room, is a number that a computer has."""
    low, high = float(side.numbers.min()), float(side.numbers.max())
    return math.isfinite(1.1 * high - 1.1 * low)


def edge_picture(data: Dataset, source: str, target: str, curve: Curve | None) -> str:
    """Draw how the effect lies against the cause."""
    rows = data.complete_for({source, target}).repeated().thinned(2000)
    cause, effect = Side.of(rows, source), Side.of(rows, target)
    label = f"{cause.title} and {effect.title}"
    if not (_can_be_drawn(cause) and _can_be_drawn(effect)):
        return _svg(label, _text(WIDTH / 2, HEIGHT / 2, TOO_WIDE, "middle"))
    if cause.levels is None and effect.levels is None:
        body = _scatter(cause, effect, curve)
    elif cause.levels is not None and effect.levels is not None:
        body = _mosaic(cause, effect)
    else:
        body = _boxes(cause, effect, curve)
    return _svg(label, body)


def node_picture(data: Dataset, name: str) -> str:
    """Draw the distribution of a variable."""
    rows = data.complete_for({name}).repeated()
    variable = data.variable(name)
    if variable.kind is Kind.VECTOR:
        return _vector(rows, variable)
    side = Side.of(rows, name)
    if not _can_be_drawn(side):
        return _svg(side.title, _text(WIDTH / 2, HEIGHT / 2, TOO_WIDE, "middle"))
    frame = Frame.of((LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM))
    return _svg(side.title, _histogram(side, frame) if side.levels is None else _bars(side))


@dataclass(frozen=True)
class Frame:
    """A rectangle of the picture, and what numbers its edges stand for."""

    left: float
    top: float
    right: float
    bottom: float
    low: tuple[float, float] = (0.0, 0.0)
    high: tuple[float, float] = (1.0, 1.0)

    @classmethod
    def of(
        cls, corners: tuple[float, float, float, float], x: Floats | None = None, y: Floats | None = None
    ) -> "Frame":
        """Return the frame in which some numbers fit, with a little room."""
        (x0, x1), (y0, y1) = _range(x), _range(y)
        return cls(*corners, (x0, y0), (x1, y1))

    def x(self, value: float) -> float:
        """Return where a number lies from left to right."""
        return self.left + (value - self.low[0]) / (self.high[0] - self.low[0]) * (self.right - self.left)

    def y(self, value: float) -> float:
        """Return where a number lies from top to bottom."""
        return self.bottom - (value - self.low[1]) / (self.high[1] - self.low[1]) * (self.bottom - self.top)

    def axes(self) -> str:
        """Draw the two axes."""
        return f'<path class="axis" d="M{self.left:.1f} {self.top:.1f}V{self.bottom:.1f}H{self.right:.1f}"/>'

    def x_ticks(self) -> str:
        """Draw round numbers along the bottom."""
        return "".join(
            _text(self.x(v), self.bottom + 14, words, "middle")
            for v, words in _round_numbers(self.low[0], self.high[0])
        )

    def y_ticks(self) -> str:
        """Draw round numbers along the left."""
        return "".join(
            _text(self.left - 5, self.y(v) + 4, words, "end") for v, words in _round_numbers(self.low[1], self.high[1])
        )

    def titles(self, x: str, y: str) -> str:
        """Draw what the axes are."""
        middle = (self.top + self.bottom) / 2
        return _text((self.left + self.right) / 2, HEIGHT - 8, x, "middle", "title") + (
            f'<text class="title" text-anchor="middle" transform="translate(12 {middle:.1f}) rotate(-90)">'
            f"{escape(y)}</text>"
        )


def _range(values: Floats | None) -> tuple[float, float]:
    if values is None or not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    room = 0.04 * (high - low) or max(abs(high), 1.0) * 0.5
    return low - room, high + room


def _round_numbers(low: float, high: float) -> list[tuple[float, str]]:
    """Return about `TICKS` numbers with few digits between two, and how they are written: no two alike."""
    step = 10.0 ** np.floor(np.log10((high - low) / TICKS))
    step *= next(m for m in (1, 2, 5, 10) if (high - low) / (step * m) <= TICKS)
    first = int(np.ceil(low / step))
    found = [k * step + 0.0 for k in range(first, int(np.floor(high / step)) + 1)]
    largest = max(map(abs, found), default=0.0)
    digits = 1 if largest == 0.0 else max(1, int(np.floor(np.log10(largest)) - np.floor(np.log10(step))) + 1)
    return [(v, f"{v:.{max(digits, 6 if largest < 1e6 else 1)}g}") for v in found]


def _svg(label: str, body: str) -> str:
    return (
        f'<svg class="picture" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(label, quote=True)}">'
        f"{body}</svg>"
    )


def _text(x: float, y: float, words: str, anchor: str, kind: str = "tick") -> str:
    return f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _line(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _inner(x: Floats | None, y: Floats | None) -> Frame:
    return Frame.of((LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM), x, y)


def _scatter(cause: Side, effect: Side, curve: Curve | None) -> str:
    frame = _inner(cause.numbers, effect.numbers)
    chosen = np.unique(np.linspace(0, len(cause.numbers) - 1, MOST_POINTS).round().astype(int))
    xs, ys = cause.numbers[chosen].tolist(), effect.numbers[chosen].tolist()
    dots = "".join(f"M{frame.x(x):.1f} {frame.y(y):.1f}h0" for x, y in zip(xs, ys, strict=True))
    drawn = f'<path class="points" d="{dots}"/>'
    if curve is not None and curve.spread is not None:
        at = [frame.x(x) for x in curve.at.tolist()]
        upper, lower = (curve.mean + curve.spread).tolist(), (curve.mean - curve.spread).tolist()
        edge = [*zip(at, map(frame.y, upper), strict=True), *zip(at[::-1], map(frame.y, lower[::-1]), strict=True)]
        middle = list(zip(at, map(frame.y, curve.mean.tolist()), strict=True))
        drawn = f'<path class="band" d="{_line(edge)}Z"/>{drawn}<path class="curve" d="{_line(middle)}"/>'
    inside = f'<svg x="0" y="0" width="{WIDTH}" height="{HEIGHT}">{drawn}</svg>'
    return inside + frame.axes() + frame.x_ticks() + frame.y_ticks() + frame.titles(cause.title, effect.title)


def _boxes(cause: Side, effect: Side, curve: Curve | None) -> str:
    """Draw box plots of the number for each level: upright if the cause has the levels, lying if the effect has."""
    upright = cause.levels is not None
    by, of = (cause, effect) if upright else (effect, cause)
    names = by.levels or ()
    places = np.array([-0.5, len(names) - 0.5])
    frame = _inner(places, of.numbers) if upright else _inner(of.numbers, places)
    groups = [of.numbers[by.numbers == k] for k in range(len(names))]
    drawn = "".join(_box(frame, k, group, upright) for k, group in enumerate(groups) if len(group))
    if upright and curve is not None and curve.spread is not None:
        where = {code: k for k, code in enumerate(by.codes)}
        means = [(where[x], m) for x, m in zip(curve.at.tolist(), curve.mean.tolist(), strict=True) if x in where]
        drawn += "".join(f'<circle class="mean" r="4" cx="{frame.x(k):.1f}" cy="{frame.y(m):.1f}"/>' for k, m in means)
    ticks = _level_names(frame, names, upright) + (frame.y_ticks() if upright else frame.x_ticks())
    return frame.axes() + drawn + ticks + frame.titles(cause.title, effect.title)


def _level_names(frame: Frame, names: Sequence[str], along_bottom: bool) -> str:
    longest = max(3, int(60 / max(len(names), 1))) if along_bottom else 8
    if along_bottom:
        return "".join(
            _text(frame.x(k), frame.bottom + 14, printable(n, longest), "middle") for k, n in enumerate(names)
        )
    return "".join(_text(frame.left - 5, frame.y(k) + 4, printable(n, longest), "end") for k, n in enumerate(names))


def _box(frame: Frame, place: int, values: Floats, upright: bool) -> str:
    """Draw the quartiles as a box, the median as a line, and whiskers to the 5th and 95th of a hundred."""
    low, first, middle, third, high = np.quantile(values, (0.05, 0.25, 0.5, 0.75, 0.95)).tolist()
    a, b = place - 0.3, place + 0.3

    def at(along: float, across: float) -> str:
        x, y = (across, along) if upright else (along, across)
        return f"{frame.x(x):.1f} {frame.y(y):.1f}"

    box = f"M{at(first, a)}L{at(first, b)}L{at(third, b)}L{at(third, a)}Z"
    whiskers = f"M{at(low, place)}L{at(first, place)}M{at(third, place)}L{at(high, place)}"
    median = f"M{at(middle, a)}L{at(middle, b)}"
    return f'<path class="box" d="{box}"/><path class="whisker" d="{whiskers}"/><path class="median" d="{median}"/>'


def _mosaic(cause: Side, effect: Side) -> str:
    """Draw a column for each level of the cause, divided by the levels of the effect."""
    columns, rows = cause.levels or (), effect.levels or ()
    counts = np.zeros((len(columns), len(rows)))
    np.add.at(counts, (cause.numbers.astype(int), effect.numbers.astype(int)), 1.0)
    left, right, top, bottom = LEFT, WIDTH - 90, TOP, HEIGHT - BOTTOM
    widths = counts.sum(axis=1) / counts.sum() * (right - left)
    starts = left + np.concatenate([[0.0], np.cumsum(widths)[:-1]])
    parts = []
    for k, (start, width) in enumerate(zip(starts.tolist(), widths.tolist(), strict=True)):
        total, y = max(counts[k].sum(), 1.0), float(bottom)
        for level, count in enumerate(counts[k].tolist()):
            height = count / total * (bottom - top)
            y -= height
            says = f"{columns[k]}: {count / total:.0%} {rows[level]}"
            parts.append(
                f'<rect class="part shade{level % MOST_LEVELS}" x="{start + 0.5:.1f}" y="{y:.1f}" '
                f'width="{max(width - 1, 0.3):.1f}" height="{height:.1f}"><title>{escape(says)}</title></rect>'
            )
        if width > 22:
            parts.append(_text(start + width / 2, bottom + 14, printable(columns[k], max(2, int(width / 6))), "middle"))
    for level, name in enumerate(rows):
        y = bottom - 14 - 17 * level
        parts.append(f'<rect class="part shade{level % MOST_LEVELS}" x="{right + 8}" y="{y}" width="11" height="11"/>')
        parts.append(_text(right + 23, y + 10, printable(name, 10), "start"))
    shares = [(0.0, "0 %"), (0.5, "50 %"), (1.0, "100 %")]
    parts += [_text(left - 5, bottom - share * (bottom - top) + 4, words, "end") for share, words in shares]
    return "".join(parts) + Frame(left, top, right, bottom).titles(cause.title, effect.title)


def _histogram(side: Side, frame: Frame, title: str | None = None) -> str:
    counts, edges = np.histogram(side.numbers, bins=min(BINS, max(5, int(len(side.numbers) ** 0.5))))
    frame = Frame.of((frame.left, frame.top, frame.right, frame.bottom), edges, np.array([0.0, counts.max() * 1.0]))
    frame = Frame(frame.left, frame.top, frame.right, frame.bottom, (frame.low[0], 0.0), frame.high)
    bars = "".join(
        f"M{frame.x(a) + 0.5:.1f} {frame.bottom:.1f}V{frame.y(c):.1f}H{frame.x(b) - 0.5:.1f}V{frame.bottom:.1f}Z"
        for a, b, c in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
    )
    drawn = f'<path class="bar" d="{bars}"/>' + frame.axes() + frame.x_ticks()
    if title is None:
        return drawn + frame.y_ticks() + frame.titles(side.title, "rows")
    return drawn + _text((frame.left + frame.right) / 2, frame.bottom + 27, title, "middle", "title")


def _bars(side: Side) -> str:
    names = side.levels or ()
    counts = [float(np.sum(side.numbers == k)) for k in range(len(names))]
    frame = _inner(np.array([-0.5, len(names) - 0.5]), np.array([0.0, max(counts)]))
    frame = Frame(frame.left, frame.top, frame.right, frame.bottom, (frame.low[0], 0.0), frame.high)
    bars = "".join(
        f"M{frame.x(k - 0.35):.1f} {frame.bottom:.1f}V{frame.y(c):.1f}H{frame.x(k + 0.35):.1f}V{frame.bottom:.1f}Z"
        for k, c in enumerate(counts)
    )
    drawn = f'<path class="bar" d="{bars}"/>' + frame.axes() + frame.y_ticks()
    return drawn + _level_names(frame, names, along_bottom=True) + frame.titles(side.title, "rows")


def _vector(rows: Dataset, variable: Variable) -> str:
    """Draw the first columns of a vector, one beside the other."""
    where = list(rows.columns_of(variable.name))[:MOST_PANELS]
    across = 1 if len(where) == 1 else 2
    drawn = ""
    for k, (column, name) in enumerate(zip(where, variable.columns, strict=False)):
        width, height = (WIDTH - 2 * RIGHT) / across, (HEIGHT - TOP) / (1 + (len(where) > 2))
        left, top = RIGHT + (k % 2) * width, TOP + (k // 2) * height
        frame = Frame(left + 6, top, left + width - 6, top + height - 34)
        drawn += _histogram(Side("", rows.codes[:, column]), frame, printable(name, 20))
    more = len(variable.columns) - len(where)
    return _svg(variable.name, drawn) if not more else _svg(f"{printable(variable.name)}, {more} columns more", drawn)
