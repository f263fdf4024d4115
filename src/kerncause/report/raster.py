"""A drawing as PNG or PDF, by matplotlib: the same picture as the SVG, on white paper."""

import io
import math
import warnings
from importlib import import_module
from typing import Any, Literal

from kerncause.errors import OptionError
from kerncause.report.drawing import (
    CORNER,
    FAINT,
    INKS,
    LABEL_SIZE,
    NAME_INK,
    NAME_SIZE,
    Box,
    Drawing,
    Label,
    Path,
    Point,
    Rect,
)

# What matplotlib brings along, and for the signs it lacks what may be installed.
FONTS = ("DejaVu Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Hiragino Sans", "PingFang SC", "Microsoft YaHei")
PIXELS_PER_INCH = 96.0
POINTS_PER_PIXEL = 72.0 / PIXELS_PER_INCH
SHARPNESS = 2.0
MOST_PIXELS = 60e6
LONGEST_SIDE = 30_000
# The same on every machine, whatever its settings; text that can be marked in a PDF.
_LOOK = {"text.usetex": False, "pdf.fonttype": 42, "lines.scale_dashes": False, "savefig.bbox": None}


def as_picture(drawing: Drawing, kind: Literal["png", "pdf"]) -> bytes:
    """Return the bytes of a PNG or PDF file."""
    matplotlib = _matplotlib()
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a font lacks a sign: a box stands for it
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_LOOK)
        figure = _matplotlib("figure").Figure(
            figsize=(drawing.width / PIXELS_PER_INCH, drawing.height / PIXELS_PER_INCH), facecolor="white"
        )
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0), frameon=False)
        axes.set(xlim=(0.0, drawing.width), ylim=(drawing.height, 0.0))
        axes.set_axis_off()
        _Brush(axes).draw(drawing)
        stream = io.BytesIO()
        # Without dates and versions, so that the same drawing gives the same file.
        nothing = {"png": ("Software",), "pdf": ("Creator", "Producer", "CreationDate")}[kind]
        figure.savefig(stream, format=kind, dpi=PIXELS_PER_INCH * _sharpness(drawing), metadata=dict.fromkeys(nothing))
    return stream.getvalue()


def _sharpness(drawing: Drawing) -> float:
    """Return the dots per pixel: fewer for huge pictures, which would need more memory than there is."""
    area = math.sqrt(MOST_PIXELS / (drawing.width * drawing.height))
    return min(SHARPNESS, area, LONGEST_SIDE / max(drawing.width, drawing.height))


class _Brush:
    """Puts shapes on the axes, each above the last."""

    def __init__(self, axes: Any) -> None:
        self._axes = axes
        self._patches = _matplotlib("patches")
        self._path = _matplotlib("path").Path
        installed = set(_matplotlib("font_manager").fontManager.get_font_names())
        self._fonts = [font for font in FONTS if font in installed]

    def draw(self, drawing: Drawing) -> None:
        for depth, shape in enumerate(drawing.shapes, 1):
            if isinstance(shape, Box):
                self._box(shape, depth)
            elif isinstance(shape, Path):
                self._edge(shape, depth)
            else:
                self._label(shape, depth)

    def _box(self, box: Box, depth: int) -> None:
        place, ink = box.place, INKS["node"]
        inner = Rect(place.x, place.y, place.width - 6, place.height - 6)
        for rect, corner in ((place, CORNER), (inner, CORNER - 3))[: 2 if box.role == "vector" else 1]:
            self._rect(rect, corner, depth, facecolor=ink.fill[0], edgecolor=ink.line[0], linewidth=_points(1.2))
        self._text(box.text, box.anchor, NAME_SIZE, NAME_INK[0], depth)

    def _label(self, label: Label, depth: int) -> None:
        ink = INKS["label"]
        self._rect(label.place, 3.0, depth, facecolor=ink.fill[0], edgecolor="none", alpha=0.9)
        self._text(label.text, label.anchor, LABEL_SIZE, ink.line[0], depth, "left" if label.left else "center")

    def _edge(self, path: Path, depth: int) -> None:
        ink, alpha = INKS[path.role], FAINT if path.uncertain else 1.0
        points = [path.curves[0][0], *(point for curve in path.curves for point in curve[1:])]
        codes = [self._path.MOVETO] + [self._path.CURVE4] * (len(points) - 1)
        dash = (0.0, [_points(length) for length in path.dash]) if path.dash else "solid"
        cap = "round" if path.uncertain else "butt"
        style = {"edgecolor": ink.line[0], "alpha": alpha, "zorder": depth}
        line = self._patches.PathPatch(
            self._path(points, codes),
            facecolor="none",
            linestyle=dash,
            capstyle=cap,
            linewidth=_points(path.width),
            **style,
        )
        self._axes.add_patch(line)
        if path.head:
            self._axes.add_patch(_polygon(self._patches, path.head, ink.fill[0], style))

    def _rect(self, place: Rect, corner: float, depth: int, **style: Any) -> None:
        shape = f"round,pad=0,rounding_size={corner}"
        self._axes.add_patch(
            self._patches.FancyBboxPatch(
                (place.left, place.top), place.width, place.height, boxstyle=shape, zorder=depth, **style
            )
        )

    def _text(self, text: str, anchor: Point, size: float, colour: str, depth: int, side: str = "center") -> None:
        self._axes.text(
            *anchor,
            text,
            fontsize=_points(size),
            fontfamily=self._fonts,
            color=colour,
            ha=side,
            va="baseline",
            zorder=depth,
            parse_math=False,  # a name with dollars is a name
        )


def _polygon(patches: Any, corners: tuple[Point, ...], fill: str, style: dict[str, Any]) -> Any:
    return patches.Polygon(corners, facecolor=fill, linewidth=_points(1.3), joinstyle="round", **style)


def _points(pixels: float) -> float:
    return pixels * POINTS_PER_PIXEL


def _matplotlib(part: str = "") -> Any:
    try:
        return import_module(f"matplotlib.{part}" if part else "matplotlib")
    except ImportError:
        raise OptionError(
            "PNG and PDF pictures need matplotlib, which is not installed: pip install 'kerncause[plots]', "
            "or draw an SVG, which needs nothing"
        ) from None
