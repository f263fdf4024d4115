"""Pictures of results and graphs: causes above effects, every edge with what is known about it."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath

import numpy as np
from numpy.typing import NDArray

from kerncause.confidence import THRESHOLD, Confidence
from kerncause.data import Kind
from kerncause.errors import OptionError
from kerncause.graphs import DAG, PDAG, consistent_extension, read_graph
from kerncause.report.drawing import (
    LABEL_SIZE,
    NAME_SIZE,
    Box,
    Curve,
    Drawing,
    Label,
    Path,
    Rect,
    Role,
    headed,
    sampled,
    text_width,
    turned,
)
from kerncause.report.layout import Layout, Spacing, layered
from kerncause.report.raster import as_picture
from kerncause.report.svg import as_svg
from kerncause.result import RESULT_FILES, WAYS, Edge, Result, Way
from kerncause.text import counted, printable
from kerncause.written import replaced, shown_path

FORMATS: Mapping[str, Callable[[Drawing], bytes]] = {
    ".svg": lambda drawing: as_svg(drawing).encode("utf-8"),
    ".png": lambda drawing: as_picture(drawing, "png"),
    ".pdf": lambda drawing: as_picture(drawing, "pdf"),
}
LONGEST_NAME = 24
BOX_HEIGHT = 32.0
MARGIN = 18.0
NARROWEST = 360.0
KEY_LINE, KEY_GAP, KEY_HEIGHT, KEY_THICKNESS = 34.0, 20.0, 18.0, 1.9
# Where along a line its label may stand, the middle first, and how far from it.
FRACTIONS = tuple(0.5 + sign * step / 20 for step in range(8) for sign in (1, -1)[: 1 if step == 0 else 2])
SIDES = (1.0, -1.0, 0.0)
BESIDE, CLEAR = 3.0, 5.0
WORDS: Mapping[Role, str] = {
    "arrow": "direction decided",
    "preferred": "can go either way, better this way",
    "line": "can go either way",
}
UNCERTAIN = f"uncertain: in under {THRESHOLD:.0%} of the repetitions"
NUMBERS = {"gain": "numbers: gain in nats", "weight": "numbers: weights"}


@dataclass(frozen=True)
class ShownEdge:
    """An edge as it is drawn.

    Attributes:
        source: the end that is drawn above.
        target: the end that is drawn below.
        role: how it is told apart: `arrow`, `preferred` or `line`.
        backwards: whether the head is at the source.
        uncertain: whether few of the repetitions have it.
        gain: what makes the line thick, in nats.
        label: the figure beside it.
        facts: what is shown when it is pointed at, one a line.
    """

    source: str
    target: str
    role: Role
    backwards: bool = False
    uncertain: bool = False
    gain: float = 0.0
    label: str = ""
    facts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Shown:
    """What a picture needs to know of a result: all that its `graph.json` tells without the table.

    Attributes:
        nodes: the names.
        edges: every edge; from source to target there are no cycles.
        vectors: the nodes that are made of several columns.
        numbers: what the labels are, in a few words.
    """

    nodes: tuple[str, ...]
    edges: tuple[ShownEdge, ...]
    vectors: frozenset[str] = frozenset()
    numbers: str = ""

    @classmethod
    def of(cls, thing: "Result | PDAG | Shown") -> "Shown":
        """Return what is to be shown of a result or a graph."""
        if isinstance(thing, Shown):
            return thing
        if isinstance(thing, PDAG):
            return _of_graph(thing)
        vectors = [variable.name for variable in thing.data.variables if variable.kind is Kind.VECTOR]
        return _of_edges(
            thing.graph.nodes, thing.edge_list, thing.dag.topological_order, thing.way, vectors, thing.confidence
        )

    @classmethod
    def read(cls, path: str | FilePath) -> "Shown":
        """Read a directory that `Result.save` wrote, its `graph.json`, or any graph file; no table is needed."""
        path = FilePath(path)
        if not path.exists():
            raise OptionError(f"there is no result or graph {shown_path(path)}: check the path")
        if path.is_dir():
            found = [path / name for name in (RESULT_FILES[0], "truth.json") if (path / name).is_file()]
            if not found:
                raise OptionError(
                    f"there is no result in {shown_path(path)}: give a directory that discover --out wrote"
                )
            path = found[0]
        graph = None if path.suffix.lower() != ".json" else _written(path)
        return _of_graph(read_graph(path)) if graph is None else graph


def _written(path: FilePath) -> Shown | None:
    """Read a `graph.json` of a result; None if it is another kind of JSON, which `read_graph` judges."""
    try:
        written = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(written, dict) or not {"edges", "dag", "settings"} <= written.keys():
        return None
    graph = read_graph(path)  # which refuses names and edges that do not fit together
    try:
        dag = DAG(graph.nodes, [(a, b) for a, b in written["dag"]])
        edges = [Edge(**edge) for edge in written["edges"]]
        way = next(way for name, way in WAYS.items() if name in written["settings"])
        vectors = [v["name"] for v in written["data"]["variables"] if v["kind"] == Kind.VECTOR]
        repeated = written.get("confidence")
        confidence = Confidence.from_json(graph.nodes, repeated) if repeated else None
        return _of_edges(graph.nodes, edges, dag.topological_order, way, vectors, confidence)
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration) as problem:
        raise OptionError(f"{shown_path(path)} is not a result of this version ({problem!r}): learn it again") from None


def _of_edges(
    nodes: Sequence[str],
    edges: Iterable[Edge],
    order: Sequence[str],
    way: Way,
    vectors: Iterable[str],
    confidence: Confidence | None,
) -> Shown:
    place = {name: i for i, name in enumerate(order)}
    figure = way.figures[0]
    shown = []
    for edge in edges:
        backwards = place[edge.source] > place[edge.target]
        ends = (edge.target, edge.source) if backwards else (edge.source, edge.target)
        joined = 1.0 if confidence is None else confidence.joined(*ends)
        value = getattr(edge, figure)
        role: Role = "arrow" if edge.directed else "preferred" if edge.leans else "line"
        shown.append(
            ShownEdge(
                *ends,
                role=role,
                backwards=backwards,
                uncertain=joined < THRESHOLD,
                gain=max(edge.gain or 0.0, 0.0),
                label="" if value is None else way.label(value),
                facts=_facts(edge, role, None if confidence is None else joined),
            )
        )
    return Shown(tuple(nodes), tuple(shown), frozenset(vectors), NUMBERS.get(figure, ""))


def _facts(edge: Edge, role: Role, joined: float | None) -> tuple[str, ...]:
    known = [
        (edge.gain, "gain {:.1f} nats"),
        (edge.preference if role == "preferred" else None, "better this way by {:.1f} nats"),
        (edge.p_value, "p-value {:.2g}"),
        (edge.weight, "weight {:.2f}"),
        (joined, "in {:.0%} of the repetitions"),
    ]
    return (WORDS[role], *(words.format(value) for value, words in known if value is not None))


def _of_graph(graph: PDAG) -> Shown:
    place = {name: i for i, name in enumerate(_causes_first(graph))}
    shown = []
    for a, b in (*graph.directed_edges, *graph.undirected_edges):
        role: Role = "arrow" if a in graph.parents(b) else "line"
        backwards = place[a] > place[b]
        ends = (b, a) if backwards else (a, b)
        shown.append(ShownEdge(*ends, role=role, backwards=backwards, facts=(WORDS[role],)))
    return Shown(graph.nodes, tuple(shown))


def _causes_first(graph: PDAG) -> Sequence[str]:
    """Return an order that follows the arrows; where they contradict each other, most of them."""
    graph = graph.reordered(sorted(graph.nodes))
    extension = consistent_extension(graph.adjacency)
    if extension is not None:
        return DAG.of(graph.nodes, extension).topological_order
    left, order = set(graph.nodes), list[str]()
    while left:
        lead = {v: len(graph.children(v) & left) - len(graph.parents(v) & left) for v in left}
        free = [v for v in left if not graph.parents(v) & left] or left
        order.append(min(free, key=lambda v: (-lead[v], v)))
        left.remove(order[-1])
    return order


def drawn(thing: Result | PDAG | Shown, labels: bool = True) -> Drawing:
    """Draw a result or a graph.

    Solid arrows are directions that are decided; dashed ones with an open head can go either way and are better this
    way; lines without a head can go either way; dotted ones are uncertain. The larger the gain, the thicker.

    Args:
        thing: a result, a graph, or what was read of one.
        labels: whether to write the figure of each edge beside it.
    """
    shown = Shown.of(thing)
    texts = {name: printable(name, LONGEST_NAME) for name in shown.nodes}
    sizes = {name: (max(text_width(text, NAME_SIZE) + 24.0, 46.0), BOX_HEIGHT) for name, text in texts.items()}
    named = labels and any(edge.label for edge in shown.edges)
    spacing = Spacing(beside=34.0, below=62.0) if named else Spacing()
    layout = layered(shown.nodes, [(edge.source, edge.target) for edge in shown.edges], sizes, spacing)
    words = _labels(shown.edges, layout) if named else []
    left = min([0.0, *(label.place.left for label in words)])
    across = max([layout.width, *(label.place.right for label in words)]) - left
    legend = _legend(shown, named, max(across, NARROWEST))
    width = max([across, *map(_row_width, legend)]) + 2 * MARGIN
    dx, height = (width - across) / 2 - left, layout.height + 2 * MARGIN
    layout = layout.moved(dx, MARGIN)
    shapes = (
        *(_path(edge, layout.lines[edge.source, edge.target]) for edge in shown.edges),
        *(Box(layout.boxes[v], texts[v], _whole(v), "vector" if v in shown.vectors else "node") for v in shown.nodes),
        *(Label(label.place.moved(dx, MARGIN), label.text) for label in words),
        *(shape for k, row in enumerate(legend) for shape in _key_row(row, width, height + k * KEY_HEIGHT)),
    )
    return Drawing(width, height + len(legend) * KEY_HEIGHT + (MARGIN / 2 if legend else 0), shapes, _summary(shown))


def save_picture(thing: Result | PDAG | Shown, path: str | FilePath, labels: bool = True) -> FilePath:
    """Draw a result or a graph into a file, all of it or nothing; return the path.

    Args:
        thing: a result, a graph, or what was read of one.
        path: the file, which ends in .svg, .png or .pdf; one that is there is replaced.
        labels: whether to write the figure of each edge beside it.
    """
    path = FilePath(path)
    kind = path.suffix.lower()
    if kind not in FORMATS:
        raise OptionError(f"a picture cannot be written to {shown_path(path)}: give a name that ends in {_endings()}")
    return replaced(path, FORMATS[kind](drawn(thing, labels)))


def _endings() -> str:
    *others, last = FORMATS
    return f"{', '.join(others)} or {last}"


def _whole(name: str) -> str:
    """Return all of a name, on one line."""
    return printable(name, 10 * len(name) + 1)


def _summary(shown: Shown) -> str:
    decided = sum(edge.role == "arrow" for edge in shown.edges)
    return (
        f"Causal graph of {counted(len(shown.nodes), 'variable')} with {counted(len(shown.edges), 'edge')}, "
        f"{decided} of them with a direction"
    )


def _path(edge: ShownEdge, curves: tuple[Curve, ...]) -> Path:
    cause, effect = (edge.target, edge.source) if edge.backwards else (edge.source, edge.target)
    sign = "—" if edge.role == "line" else "→"
    title = "\n".join([f"{printable(cause)} {sign} {printable(effect)}", *edge.facts])
    width = min(1.2 + 0.5 * math.log10(1.0 + edge.gain), 4.0)
    return _drawn_path(turned(curves) if edge.backwards else curves, edge.role, width, edge.uncertain, title)


def _drawn_path(curves: tuple[Curve, ...], role: Role, width: float, uncertain: bool, title: str = "") -> Path:
    line, head = (curves, ()) if role == "line" else headed(curves, width)
    return Path(line, head, role, width, uncertain, title)


# --- the legend ---


@dataclass(frozen=True)
class _Key:
    """One entry of the legend: a short edge, or none, and words."""

    text: str
    role: Role | None = None
    uncertain: bool = False

    @property
    def width(self) -> float:
        return text_width(self.text, LABEL_SIZE) + (0.0 if self.role is None else KEY_LINE + 6.0)


def _legend(shown: Shown, named: bool, width: float) -> list[list[_Key]]:
    """Return the rows of the legend: none for a graph of plain arrows without figures."""
    kinds = [role for role in WORDS if any(edge.role == role for edge in shown.edges)]
    doubtful = [edge.role for edge in shown.edges if edge.uncertain]
    keys = [_Key(WORDS[role], role) for role in kinds] if kinds not in ([], ["arrow"]) or doubtful else []
    keys += [_Key(UNCERTAIN, doubtful[0], True)] if doubtful else []
    keys += [_Key(shown.numbers)] if named and shown.numbers else []
    rows: list[list[_Key]] = []
    for key in keys:
        if not rows or _row_width([*rows[-1], key]) > width:
            rows.append([])
        rows[-1].append(key)
    return rows


def _row_width(row: Sequence[_Key]) -> float:
    return sum(key.width for key in row) + KEY_GAP * (len(row) - 1)


def _key_row(row: Sequence[_Key], width: float, top: float) -> list[Path | Label]:
    shapes: list[Path | Label] = []
    x, y = (width - _row_width(row)) / 2, top + KEY_HEIGHT / 2
    for key in row:
        end = x + key.width
        if key.role is not None:
            third = KEY_LINE / 3
            curve = ((x, y), (x + third, y), (x + 2 * third, y), (x + KEY_LINE, y))
            shapes.append(_drawn_path((curve,), key.role, KEY_THICKNESS, key.uncertain))
            x += KEY_LINE + 6.0
        shapes.append(Label(Rect((x + end) / 2, y, end - x, KEY_HEIGHT), key.text, left=True))
        x = end + KEY_GAP
    return shapes


# --- labels of edges ---

Floats = NDArray[np.float64]


def _labels(edges: Sequence[ShownEdge], layout: Layout) -> list[Label]:
    """Put labels at their lines where they cover least; short lines, which have the least choice, come first.

    Every label is placed again when all others are there.
    """
    tracks = [np.array(sampled(layout.lines[edge.source, edge.target], 24)) for edge in edges]
    points = np.concatenate(tracks)
    owner = np.repeat(np.arange(len(tracks)), [len(track) for track in tracks])
    boxes = _bounds(layout.boxes.values(), 2.0)
    named = [k for k, edge in enumerate(edges) if edge.label]
    places: dict[int, Rect] = {}
    for k in sorted(named, key=lambda k: _steps(tracks[k]).sum()) * 2:
        size = (text_width(edges[k].label, LABEL_SIZE) + 4.0, LABEL_SIZE + 3.0)
        choices = _choices(tracks[k], size)
        taken = _bounds((place for other, place in places.items() if other != k), 1.0)
        near = points[(owner != k) & _inside(_around(choices), points)[0]]
        cost = _cost(choices, tracks[k], near, np.concatenate([boxes, taken]))
        places[k] = choices[int(np.argmin(cost))]
    return [Label(places[k], edges[k].label) for k in named]


def _cost(choices: Sequence[Rect], track: Floats, near: Floats, taken: Floats) -> Floats:
    """Return how bad each place is: on boxes or labels most of all, on the lines of others, far from the middle."""
    tight, wide = _bounds(choices, 0.0), _bounds(choices, CLEAR)
    covered = _overlaps(tight, taken)
    on_lines = 0.5 * _touched(tight, near) + 0.15 * _touched(wide, near)
    ours = np.minimum(0.5 * _touched(tight, track), 0.8)
    off_middle = np.repeat([abs(fraction - 0.5) for fraction in FRACTIONS], len(SIDES))
    cost: Floats = 5.0 * (covered > 0.0) + 0.02 * covered + on_lines + ours + off_middle
    return cost


def _choices(track: Floats, size: tuple[float, float]) -> list[Rect]:
    """Return places for a label on both sides of a line and on it, at every fraction of its length."""
    steps = _steps(track)
    way = np.concatenate([[0.0], np.cumsum(steps)])
    places = []
    for fraction in FRACTIONS:
        x, y = (float(np.interp(fraction * way[-1], way, track[:, axis])) for axis in (0, 1))
        piece = min(int(np.searchsorted(way, fraction * way[-1])), len(steps)) - 1
        dx, dy = (track[piece + 1] - track[piece]) / max(steps[piece], 1e-9)
        reach = abs(dy) * size[0] / 2 + abs(dx) * size[1] / 2 + BESIDE
        places += [Rect(x + side * dy * reach, y - side * dx * reach, *size) for side in SIDES]
    return places


def _steps(track: Floats) -> Floats:
    """Return the distances from point to point."""
    steps: Floats = np.hypot(*np.diff(track, axis=0).T)
    return steps


def _bounds(rects: Iterable[Rect], more: float) -> Floats:
    """Return left, top, right and bottom of each, (n, 4), with some room around."""
    rows = [(r.left - more, r.top - more, r.right + more, r.bottom + more) for r in rects]
    return np.array(rows, dtype=np.float64).reshape(-1, 4)


def _overlaps(ours: Floats, theirs: Floats) -> Floats:
    """Return the area that each of ours shares with all of theirs."""
    low = np.maximum(ours[:, None, :2], theirs[None, :, :2])
    high = np.minimum(ours[:, None, 2:], theirs[None, :, 2:])
    shared: Floats = np.clip(high - low, 0.0, None).prod(axis=2).sum(axis=1)
    return shared


def _around(rects: Sequence[Rect]) -> Floats:
    """Return the bounds of all together, (1, 4)."""
    every = _bounds(rects, CLEAR)
    return np.concatenate([every[:, :2].min(axis=0), every[:, 2:].max(axis=0)])[None]


def _inside(ours: Floats, points: Floats) -> NDArray[np.bool_]:
    """Tell for each of ours and each point whether it lies there."""
    x, y = points.T
    left, top, right, bottom = (side[:, None] for side in ours.T)
    within: NDArray[np.bool_] = (left <= x) & (x <= right) & (top <= y) & (y <= bottom)
    return within


def _touched(ours: Floats, points: Floats) -> Floats:
    """Return how many points lie in each of ours, at most 6."""
    counts: Floats = np.minimum(_inside(ours, points).sum(axis=1), 6).astype(np.float64)
    return counts
