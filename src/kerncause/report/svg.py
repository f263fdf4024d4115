"""A drawing as SVG: one text without scripts or links, at home on white and on dark pages."""

from html import escape

from kerncause.report.drawing import (
    CORNER,
    FAINT,
    INKS,
    LABEL_SIZE,
    NAME_INK,
    NAME_SIZE,
    Box,
    Curve,
    Drawing,
    Label,
    Path,
    Point,
    Rect,
)

FONTS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
START = ' text-anchor="start"'


def as_svg(drawing: Drawing, adaptive: bool = True) -> str:
    """Return the text of an SVG file.

    Args:
        drawing: the picture.
        adaptive: whether it turns dark where the reader has asked for dark pages.
    """
    width, height = _number(drawing.width), _number(drawing.height)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="kerncause" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{_text(drawing.summary)}" '
        f'font-family="{escape(FONTS)}" text-anchor="middle">',
        *([f"<style>{_dark()}</style>"] if adaptive else []),
        f'<rect class="k-paper" width="{width}" height="{height}" rx="6" fill="{INKS["paper"].fill[0]}"/>',
        *map(_shape, drawing.shapes),
        "</svg>",
        "",
    ]
    return "\n".join(lines)


def _dark() -> str:
    """Return the rules for dark pages; the colours for white ones stand at the shapes, for programs without CSS."""
    rules = [f".kerncause .k-name{{fill:{NAME_INK[1]}}}", f".kerncause .k-words{{fill:{INKS['label'].line[1]}}}"]
    for role, ink in INKS.items():
        rules.append(f".kerncause .k-{role}{{stroke:{ink.line[1]};fill:{ink.fill[1]}}}")
        rules.append(f".kerncause path.k-{role}{{fill:none}}")
    rules.append(".kerncause .k-paper,.kerncause .k-label{stroke:none}")
    return f"@media screen and (prefers-color-scheme:dark){{{''.join(rules)}}}"


def _shape(shape: Box | Path | Label) -> str:
    if isinstance(shape, Box):
        return _box(shape)
    return _path(shape) if isinstance(shape, Path) else _label(shape)


def _box(box: Box) -> str:
    parts = [_rect(box.place, box.role, CORNER)]
    if box.role == "vector":
        place = Rect(box.place.x, box.place.y, box.place.width - 6, box.place.height - 6)
        parts.append(_rect(place, box.role, CORNER - 3))
    parts.append(_words(box.text, box.anchor, NAME_SIZE, "k-name", NAME_INK[0]))
    return _group(box.title, parts)


def _label(label: Label) -> str:
    ink = INKS["label"]
    halo = f'<rect class="k-label" {_corner(label.place)} rx="3" fill="{ink.fill[0]}" fill-opacity="0.9"/>'
    return halo + _words(label.text, label.anchor, LABEL_SIZE, "k-words", ink.line[0], label.left)


def _path(path: Path) -> str:
    ink = INKS[path.role]
    style = f'stroke="{ink.line[0]}" stroke-width="{_number(path.width)}"'
    if path.dash:
        style += f' stroke-dasharray="{_list(path.dash)}"'
    if path.uncertain:
        style += ' stroke-linecap="round"'
    way = f"M{_point(path.curves[0][0])}{''.join(map(_curve, path.curves))}"
    line = f'<path class="k-{path.role}" d="{way}" fill="none" {style}/>'
    parts = [line]
    if path.head:
        corners = " ".join(map(_point, path.head))
        parts.append(
            f'<polygon class="k-{path.role}" points="{corners}" fill="{ink.fill[0]}" stroke="{ink.line[0]}" '
            f'stroke-width="1.3" stroke-linejoin="round"/>'
        )
    return _group(path.title, parts, f' opacity="{FAINT}"' if path.uncertain else "")


def _group(title: str, parts: list[str], attributes: str = "") -> str:
    told = f"<title>{_text(title)}</title>" if title else ""
    return f"<g{attributes}>{told}{''.join(parts)}</g>"


def _rect(place: Rect, role: str, corner: float) -> str:
    ink = INKS["node"]
    return (
        f'<rect class="k-{role}" {_corner(place)} rx="{_number(corner)}" fill="{ink.fill[0]}" '
        f'stroke="{ink.line[0]}" stroke-width="1.2"/>'
    )


def _corner(place: Rect) -> str:
    return (
        f'x="{_number(place.left)}" y="{_number(place.top)}" '
        f'width="{_number(place.width)}" height="{_number(place.height)}"'
    )


def _words(text: str, anchor: Point, size: float, name: str, colour: str, left: bool = False) -> str:
    return (
        f'<text class="{name}" x="{_number(anchor[0])}" y="{_number(anchor[1])}" font-size="{_number(size)}" '
        f'fill="{colour}"{START if left else ""}>{_text(text)}</text>'
    )


def _list(values: tuple[float, ...]) -> str:
    return " ".join(map(_number, values))


def _curve(curve: Curve) -> str:
    return "C" + " ".join(map(_point, curve[1:]))


def _point(point: Point) -> str:
    return f"{_number(point[0])},{_number(point[1])}"


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _text(text: str) -> str:
    """Return text for XML, with what XML cannot carry written out: control characters and halves of characters."""
    return escape("".join(sign if _carried(sign) else f"\\u{ord(sign):04x}" for sign in text))


def _carried(sign: str) -> bool:
    return sign == "\n" or " " <= sign < "\ud800" or "\ue000" <= sign < "\ufffe" or sign > "\uffff"
