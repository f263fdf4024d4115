"""A picture as a value: boxes, lines and words with their places, before any file format.

Lengths are in CSS pixels (96 to an inch), y grows downwards.
"""

import math
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Point = tuple[float, float]
# A cubic Bezier curve: where it begins, two points that pull it, where it ends.
Curve = tuple[Point, Point, Point, Point]
Role = Literal["node", "vector", "arrow", "preferred", "line", "label", "paper"]

NAME_SIZE = 13.0
LABEL_SIZE = 10.5
CORNER = 7.0
# From the middle of a line of text down to the line it stands on, in units of its size.
BASELINE = 0.36
DOTS = (0.1, 4.0)
FAINT = 0.6
# Widths of signs that are unlike most, in units of the size.
WIDTHS = (("ijlIJ|'", 0.3), (" .,:;!()[]/\\ftr-", 0.38), ("ckvsxyz", 0.56), ("mwMW@%…—→", 1.0))


@dataclass(frozen=True)
class Ink:
    """The colours of a role on white and on dark paper, and the dashes of its line.

    Attributes:
        line: of strokes and text.
        fill: of areas.
        dash: lengths of dash and gap; empty is a solid line.
    """

    line: tuple[str, str]
    fill: tuple[str, str] = ("none", "none")
    dash: tuple[float, ...] = ()


# Hues after Okabe and Ito, told apart by colour-blind readers; dashes and heads differ as well.
INKS: Mapping[Role, Ink] = {
    "paper": Ink(("none", "none"), ("#ffffff", "#0d1117")),
    "node": Ink(("#5c6c7d", "#8494a7"), ("#f3f6fa", "#1b2430")),
    "vector": Ink(("#5c6c7d", "#8494a7"), ("#f3f6fa", "#1b2430")),
    "arrow": Ink(("#0072b2", "#56b4e9"), ("#0072b2", "#56b4e9")),
    "preferred": Ink(("#d55e00", "#e69f00"), ("#ffffff", "#0d1117"), (7.0, 4.0)),
    "line": Ink(("#7a8591", "#98a3af")),
    "label": Ink(("#39424e", "#c3ccd6"), ("#ffffff", "#0d1117")),
}
NAME_INK = ("#17202b", "#e8eef5")


@dataclass(frozen=True)
class Rect:
    """A rectangle by its centre."""

    x: float
    y: float
    width: float
    height: float

    @property
    def left(self) -> float:
        """Its smallest x."""
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        """Its largest x."""
        return self.x + self.width / 2

    @property
    def top(self) -> float:
        """Its smallest y."""
        return self.y - self.height / 2

    @property
    def bottom(self) -> float:
        """Its largest y."""
        return self.y + self.height / 2

    def moved(self, dx: float, dy: float) -> "Rect":
        """Return it somewhere else."""
        return Rect(self.x + dx, self.y + dy, self.width, self.height)


@dataclass(frozen=True)
class Box:
    """A node: a rectangle with rounded corners, and the name in it.

    Attributes:
        place: where it is.
        text: what is written in it.
        title: what is shown when it is pointed at.
        role: `node`, or `vector` for a double border.
    """

    place: Rect
    text: str
    title: str
    role: Role = "node"

    @property
    def anchor(self) -> Point:
        """The middle of the line that the name stands on."""
        return self.place.x, self.place.y + BASELINE * NAME_SIZE


@dataclass(frozen=True)
class Path:
    """An edge.

    Attributes:
        curves: the line, each curve beginning where the last ended.
        head: the corners of the arrow head, tip first; empty for none.
        role: `arrow`, `preferred` or `line`.
        width: how thick the line is.
        uncertain: whether it is dotted and lighter.
        title: what is shown when it is pointed at.
    """

    curves: tuple[Curve, ...]
    head: tuple[Point, ...]
    role: Role
    width: float
    uncertain: bool = False
    title: str = ""

    @property
    def dash(self) -> tuple[float, ...]:
        """The lengths of its dashes and gaps; empty for a solid line."""
        return (DOTS[0], DOTS[1] + self.width) if self.uncertain else INKS[self.role].dash


@dataclass(frozen=True)
class Label:
    """A few words on a patch of paper.

    Attributes:
        place: the patch.
        text: the words.
        left: whether the words begin at its left side, and do not stand in its middle.
    """

    place: Rect
    text: str
    left: bool = False

    @property
    def anchor(self) -> Point:
        """Where the words begin or have their middle, on the line they stand on."""
        return self.place.left if self.left else self.place.x, self.place.y + BASELINE * LABEL_SIZE


@dataclass(frozen=True)
class Drawing:
    """A picture.

    Attributes:
        width: of the paper.
        height: of the paper.
        shapes: what is on it, the lowest first.
        summary: the picture in a sentence, for those who cannot see it.
    """

    width: float
    height: float
    shapes: tuple[Box | Path | Label, ...]
    summary: str


def text_width(text: str, size: float) -> float:
    """Estimate how wide a text is in a wide sans-serif font: what is given this room fits in most others too."""
    return size * sum(map(_advance, text))


def _advance(sign: str) -> float:
    if unicodedata.combining(sign):
        return 0.0
    if unicodedata.east_asian_width(sign) in "WF":
        return 1.05
    return next((width for signs, width in WIDTHS if sign in signs), 0.7 if sign.isupper() else 0.63)


def point_at(curve: Curve, t: float) -> Point:
    """Return the point of a curve at t, from 0 at its beginning to 1 at its end."""
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t**2 * (1 - t), t**3)
    x, y = (sum(w * p[axis] for w, p in zip(weights, curve, strict=True)) for axis in (0, 1))
    return x, y


def sampled(curves: Sequence[Curve], each: int = 12) -> list[Point]:
    """Return points along a line, `each` of them on every curve, and its end."""
    points = [point_at(curve, k / each) for curve in curves for k in range(each)]
    return [*points, curves[-1][3]]


def beginning(curve: Curve, t: float) -> Curve:
    """Return a curve up to t (de Casteljau)."""
    a, b, c, d = curve
    ab, bc, cd = _between(a, b, t), _between(b, c, t), _between(c, d, t)
    abc, bcd = _between(ab, bc, t), _between(bc, cd, t)
    return a, ab, abc, _between(abc, bcd, t)


def _between(a: Point, b: Point, t: float) -> Point:
    return a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t


def turned(curves: Sequence[Curve]) -> tuple[Curve, ...]:
    """Return a line from its end to its beginning."""
    return tuple((d, c, b, a) for a, b, c, d in reversed(curves))


def headed(curves: Sequence[Curve], width: float) -> tuple[tuple[Curve, ...], tuple[Point, ...]]:
    """Return a line that leaves room for an arrow head at its end, and the corners of the head, tip first."""
    length, half = 6.5 + 1.6 * width, 2.6 + 0.9 * width
    *before, last = curves
    tip = last[3]
    while before and math.dist(last[0], tip) < length:
        last = before.pop()
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if math.dist(point_at(last, middle), tip) > length else (low, middle)
    base = point_at(last, low)
    reach = math.dist(base, tip) or 1.0
    along = ((tip[0] - base[0]) / reach, (tip[1] - base[1]) / reach)
    corners = [(base[0] - side * half * along[1], base[1] + side * half * along[0]) for side in (1, -1)]
    return (*before, beginning(last, low)), (tip, *corners)
