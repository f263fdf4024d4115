"""Where boxes and lines go, causes above effects: rows, order, places, curves (Sugiyama, Tagawa and Toda 1981).

1. Rows r. The least sum of r_b - r_a over all arrows a -> b, each at least 1. The corners of this linear program
   are whole numbers.
2. A line over several rows gets a point in each row between. The order in the rows has few crossings: sweeps by
   medians of neighbours, swaps of two that stand side by side, the best of several starts.
3. Places x in a row. The least sum of w |x_u - x_v| over pieces of lines, with w largest where a piece joins two
   points of a long line (Gansner et al. 1993), of |x_u - mean of its neighbours|, and of the width; boxes keep their
   distance. A linear program as well.
4. Curves. A line crosses a row only at its own point there, between the boxes, and bends only between rows; so it
   never runs through a box.
"""

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

from kerncause.errors import GraphError
from kerncause.report.drawing import Curve, Point, Rect

Pair = tuple[str, str]
Piece = tuple[int, int]

# Above so many points, lines from the same box share theirs; above so many pieces, rows are only centred.
MOST_POINTS = 800
MOST_PLACED = 1600
# Work that sweeps may take, in pieces of lines times rounds.
EFFORT = 9_000
# How flat a line may leave a box, as dx/dy, and over how much of the gap between rows an end pulls the line its way.
FLATTEST = 1.2
LOOSE, FIRM = 0.36, 0.6
# What a picture that is narrower by 1 is worth in length of lines.
NARROW = 1.5


@dataclass(frozen=True)
class Spacing:
    """Distances, in the unit of the sizes.

    Attributes:
        beside: between boxes of a row.
        below: between rows, at least; wide rows get more.
        line: what a line takes in a row that it crosses.
        port: between lines where they meet a box, at most.
        apart: between parts of the graph that nothing joins.
    """

    beside: float = 26.0
    below: float = 50.0
    line: float = 12.0
    port: float = 14.0
    apart: float = 44.0


@dataclass(frozen=True)
class Layout:
    """Where everything is; no coordinate is negative.

    Attributes:
        boxes: the place of every node.
        rows: the row of every node, counted down from 0 in each part; nodes without arrows have row 0.
        lines: for every arrow, curves from the bottom of its cause to the top of its effect.
        width: of the whole.
        height: of the whole.
    """

    boxes: Mapping[str, Rect]
    rows: Mapping[str, int]
    lines: Mapping[Pair, tuple[Curve, ...]]
    width: float
    height: float

    def moved(self, dx: float, dy: float) -> "Layout":
        """Return it somewhere else."""
        if dx == dy == 0.0:
            return self
        lines = {pair: tuple(_moved(curve, dx, dy) for curve in curves) for pair, curves in self.lines.items()}
        boxes = {name: box.moved(dx, dy) for name, box in self.boxes.items()}
        return Layout(boxes, self.rows, lines, self.width, self.height)


def _moved(curve: Curve, dx: float, dy: float) -> Curve:
    a, b, c, d = ((x + dx, y + dy) for x, y in curve)
    return a, b, c, d


def layered(
    nodes: Iterable[str],
    arrows: Iterable[Pair],
    sizes: Mapping[str, tuple[float, float]],
    spacing: Spacing = Spacing(),
) -> Layout:
    """Lay out a DAG from top to bottom; the order in which nodes and arrows are listed makes no difference.

    Args:
        nodes: names, all different.
        arrows: pairs (cause, effect), without cycles.
        sizes: width and height of the box of every node.
        spacing: distances.
    """
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(sorted(nodes))
    graph.add_edges_from(sorted(arrows))
    if not nx.is_directed_acyclic_graph(graph):
        raise GraphError("the arrows form a cycle: turn one of them to lay the graph out")
    groups = sorted(sorted(group) for group in nx.weakly_connected_components(graph))
    parts = [_part(group, graph, sizes, spacing) for group in groups if len(group) > 1]
    parts.sort(key=lambda part: (-len(part.boxes), -part.width))
    single = [_alone(group[0], sizes) for group in groups if len(group) == 1]
    upper = _shelved(parts, _ideal_width(parts, 1.5), spacing.apart)
    lower = _shelved(single, max(upper.width, _ideal_width(single, 4.0)), spacing.beside * 0.6)
    return _shelved([part for part in (upper, lower) if part.boxes], 0.0, spacing.apart)


def _alone(name: str, sizes: Mapping[str, tuple[float, float]]) -> Layout:
    width, height = sizes[name]
    return Layout({name: Rect(width / 2, height / 2, width, height)}, {name: 0}, {}, width, height)


def _ideal_width(parts: Sequence[Layout], aspect: float) -> float:
    """Return how wide a shelf should be so that all parts together are `aspect` times as wide as high."""
    area = sum((part.width + 40) * (part.height + 40) for part in parts)
    return max([float(np.sqrt(area * aspect)), *(part.width for part in parts)])


def _shelved(parts: Sequence[Layout], width: float, gap: float) -> Layout:
    """Put parts side by side, and below where `width` is used up; every shelf is centred."""
    shelves: list[list[Layout]] = []
    used = 0.0
    for part in parts:
        if not shelves or used + gap + part.width > width:
            shelves.append([])
            used = -gap
        shelves[-1].append(part)
        used += gap + part.width
    widths = [sum(p.width for p in shelf) + gap * (len(shelf) - 1) for shelf in shelves]
    whole = max(widths, default=0.0)
    placed: list[Layout] = []
    y = 0.0
    for shelf, used in zip(shelves, widths, strict=True):
        x = (whole - used) / 2
        for part in shelf:
            placed.append(part.moved(x, y))
            x += part.width + gap
        y += max(part.height for part in shelf) + gap
    boxes = {name: box for part in placed for name, box in part.boxes.items()}
    rows = {name: row for part in placed for name, row in part.rows.items()}
    lines = {pair: curves for part in placed for pair, curves in part.lines.items()}
    return Layout(boxes, rows, lines, whole, max(y - gap, 0.0))


@dataclass(frozen=True)
class _Net:
    """A connected graph whose lines go from each row to the next: nodes 0..n-1, then the points of long lines.

    Attributes:
        row: of every node and point.
        size: width and height of every node and point.
        chains: for every arrow its nodes and points from top to bottom.
        above: the neighbours in the row above.
        below: and in the row below.
        n: how many nodes there are.
    """

    row: list[int]
    size: list[tuple[float, float]]
    chains: dict[Piece, tuple[int, ...]]
    n: int
    above: list[list[int]] = field(default_factory=list)
    below: list[list[int]] = field(default_factory=list)

    @property
    def pieces(self) -> list[Piece]:
        """All pieces of lines, from one row to the next."""
        return [(u, v) for u, others in enumerate(self.below) for v in others]


def _part(
    names: Sequence[str], graph: "nx.DiGraph[str]", sizes: Mapping[str, tuple[float, float]], spacing: Spacing
) -> Layout:
    """Lay out nodes that are joined to each other."""
    number = {name: i for i, name in enumerate(names)}
    arrows = sorted((number[a], number[b]) for a, b in graph.edges(names))
    net = _net(_rows(len(names), arrows), arrows, [sizes[name] for name in names], spacing)
    order = _ordered(net)
    x = _places(net, order, spacing)
    tops, bottoms = _heights(net, order, x, spacing)
    rects = [Rect(x[i], (tops[net.row[i]] + bottoms[net.row[i]]) / 2, *net.size[i]) for i in range(net.n)]
    lines = _lines(net, x, rects, (tops, bottoms), spacing)
    layout = Layout(
        {name: rects[i] for name, i in number.items()},
        {name: net.row[i] for name, i in number.items()},
        {(names[a], names[b]): curves for (a, b), curves in lines.items()},
        0.0,
        bottoms[-1],
    )
    reach = [p[0] for curves in lines.values() for curve in curves for p in curve]
    left = min(reach + [box.left for box in rects])
    right = max(reach + [box.right for box in rects])
    moved = layout.moved(-left, 0.0)
    return Layout(moved.boxes, moved.rows, moved.lines, right - left, moved.height)


# --- 1. rows ---


def _rows(n: int, arrows: Sequence[Piece]) -> list[int]:
    """Return the rows with the least total length of arrows; nodes with a choice go where the row is emptiest."""
    length = np.zeros(n)
    for a, b in arrows:
        length[a] -= 1.0
        length[b] += 1.0
    best = _solved(length, [[(a, 1.0), (b, -1.0)] for a, b in arrows], [-1.0] * len(arrows), n)
    row = [round(value) for value in best - best.min()]
    taken = [row.count(k) for k in range(max(row) + 1)]
    for v in range(n):
        causes, effects = [a for a, b in arrows if b == v], [b for a, b in arrows if a == v]
        if len(causes) == len(effects):
            taken[row[v]] -= 1
            allowed = range(max(row[a] for a in causes) + 1, min(row[b] for b in effects))
            row[v] = min(allowed, key=lambda k: taken[k])
            taken[row[v]] += 1
    return row


def _solved(
    cost: NDArray[np.float64], left: Sequence[Sequence[tuple[int, float]]], right: Sequence[float], count: int
) -> NDArray[np.float64]:
    """Minimise cost z with z >= 0 and sum of c_i z_i <= right for every row of (i, c_i); return the first `count`."""
    line, column, value = zip(*[(k, i, c) for k, terms in enumerate(left) for i, c in terms], strict=True)
    matrix: Any = coo_array((value, (line, column)), shape=(len(left), len(cost)))  # the stubs know only dense ones
    found = linprog(cost, A_ub=matrix.tocsr(), b_ub=np.asarray(right), bounds=(0, None), method="highs-ds")
    return np.asarray(found.x, dtype=np.float64)[:count]


def _net(row: list[int], arrows: Sequence[Piece], sizes: list[tuple[float, float]], spacing: Spacing) -> _Net:
    """Give every line a point in each row that it crosses."""
    n, row, sizes = len(row), list(row), list(sizes)
    shared = sum(row[b] - row[a] - 1 for a, b in arrows) > MOST_POINTS
    points: dict[tuple[int, int, int], int] = {}
    chains: dict[Piece, tuple[int, ...]] = {}
    for a, b in arrows:
        keys = [(a, -1 if shared else b, k) for k in range(row[a] + 1, row[b])]
        for key in keys:
            if key not in points:
                points[key] = len(row)
                row.append(key[2])
                sizes.append((spacing.line, 0.0))
        chains[a, b] = (a, *(points[key] for key in keys), b)
    net = _Net(row, sizes, chains, n, [[] for _ in row], [[] for _ in row])
    for u, v in sorted({piece for chain in chains.values() for piece in pairwise(chain)}):
        net.below[u].append(v)
        net.above[v].append(u)
    return net


# --- 2. order ---


def _ordered(net: _Net) -> list[list[int]]:
    """Return the rows in an order with few crossings, and short pieces among equals."""
    pieces = sum(map(len, net.below))
    rounds = min(EFFORT // pieces, 24)
    starts = [_walked(net, downwards, deep) for downwards in (True, False) for deep in (True, False)]
    found = [_improved(net, start, rounds) for start in (starts if pieces < 300 else starts[::3])]
    return min(found, key=lambda order: (_crossings(net, order), _spread(net, order)))


def _walked(net: _Net, downwards: bool, deep: bool) -> list[list[int]]:
    """Return the rows in the order in which a walk meets their nodes."""
    order: list[list[int]] = [[] for _ in range(max(net.row) + 1)]
    seen: set[int] = set()
    first = sorted(range(len(net.row)), key=lambda v: (net.row[v] if downwards else -net.row[v], v))
    for start in first:
        waiting = deque([start])
        while waiting:
            v = waiting.pop() if deep else waiting.popleft()
            if v not in seen:
                seen.add(v)
                order[net.row[v]].append(v)
                around = net.below[v] + net.above[v] if downwards else net.above[v] + net.below[v]
                waiting += reversed(around) if deep else around
    return order


def _improved(net: _Net, order: list[list[int]], rounds: int) -> list[list[int]]:
    """Return the best order that sweeps down and up came across."""
    best, least, stale = order, _crossings(net, order), 0
    for k in range(rounds):
        if not least or stale == 6:
            break
        order = [list(row) for row in order]
        _sweep(net, order, downwards=k % 2 == 0, turn=k % 4 > 1)
        _swap(net, order)
        crossings = _crossings(net, order)
        stale = 0 if crossings < least else stale + 1
        if crossings < least:
            best, least = order, crossings
    return best


def _positions(net: _Net, order: Sequence[Sequence[int]]) -> list[int]:
    at = [0] * len(net.row)
    for row in order:
        for i, v in enumerate(row):
            at[v] = i
    return at


def _sweep(net: _Net, order: list[list[int]], downwards: bool, turn: bool) -> None:
    """Sort row after row by the medians of the neighbours in the row before; equals change places if `turn`."""
    at = _positions(net, order)
    near = net.above if downwards else net.below
    for row in order[1:] if downwards else order[-2::-1]:
        joined = [v for v in (reversed(row) if turn else row) if near[v]]
        centre = {v: _centre([at[u] for u in near[v]]) for v in joined}
        ranked = iter(sorted(joined, key=centre.__getitem__))
        row[:] = [next(ranked) if near[v] else v for v in row]  # what has no neighbour there stays
        for i, v in enumerate(row):
            at[v] = i


def _centre(positions: list[int]) -> tuple[float, float]:
    """Return the median, and the mean to part equals."""
    return median(positions), sum(positions) / len(positions)


def _swap(net: _Net, order: list[list[int]], passes: int = 4) -> None:
    """Swap two that stand side by side as long as that saves crossings."""
    at = _positions(net, order)
    for _ in range(passes):
        saved = False
        for row in order:
            for i in range(len(row) - 1):
                v, w = row[i], row[i + 1]
                if _saves(net, at, v, w):
                    row[i], row[i + 1] = w, v
                    at[v], at[w] = i + 1, i
                    saved = True
        if not saved:
            return


def _saves(net: _Net, at: Sequence[int], v: int, w: int) -> bool:
    """Tell whether pieces at v and at w, with v left of w, cross each other less when v and w change places."""
    saved = 0
    for near in (net.above, net.below):
        for a in near[v]:
            for b in near[w]:
                saved += (at[a] > at[b]) - (at[a] < at[b])
    return saved > 0


def _crossings(net: _Net, order: Sequence[Sequence[int]]) -> int:
    """Count all crossings: pairs of pieces whose ends stand in different orders."""
    at = _positions(net, order)
    total = 0
    for row in order[:-1]:
        passed: list[int] = []
        for u in row:
            ends = sorted(at[v] for v in net.below[u])
            total += sum(len(passed) - bisect_right(passed, end) for end in ends)
            for end in ends:
                insort(passed, end)
    return total


def _spread(net: _Net, order: Sequence[Sequence[int]]) -> int:
    at = _positions(net, order)
    return sum(abs(at[u] - at[v]) for u, v in net.pieces)


# --- 3. places ---


def _places(net: _Net, order: Sequence[Sequence[int]], spacing: Spacing) -> list[float]:
    """Return the x of every node and point."""
    apart = {(u, v): _distance(net, u, v, spacing) for row in order for u, v in pairwise(row)}
    if len(net.pieces) > MOST_PLACED:
        return _centred(net, order, apart)
    terms: list[tuple[float, list[tuple[int, float]]]] = []
    for u, v in net.pieces:
        points = (u >= net.n) + (v >= net.n)
        terms.append(((1.0, 2.0, 8.0)[points], [(u, 1.0), (v, -1.0)]))
    for v in range(net.n):
        for near in (net.above[v], net.below[v]):
            if len(near) > 1:
                terms.append((0.5, [(v, 1.0), *((u, -1.0 / len(near)) for u in near)]))
    m = len(net.row)
    left = [[(u, 1.0), (v, -1.0)] for u, v in apart]
    right = [-distance for distance in apart.values()]
    for k, (_, sides) in enumerate(terms, m):  # z_k >= |sum of the sides|
        left += [[*sides, (k, -1.0)], [*((i, -c) for i, c in sides), (k, -1.0)]]
        right += [0.0, 0.0]
    whole = m + len(terms)
    left += [[(row[-1], 1.0), (whole, -1.0)] for row in order]
    right += [0.0] * len(order)
    cost = np.array([0.0] * m + [weight for weight, _ in terms] + [NARROW])
    x = _solved(cost, left, right, m)
    for row in order:  # the solver keeps distances only to within its tolerance
        for u, v in pairwise(row):
            x[v] = max(x[v], x[u] + apart[u, v])
    return [float(value) for value in x]


def _distance(net: _Net, u: int, v: int, spacing: Spacing) -> float:
    """Return the least distance between the middles of two that stand side by side."""
    between = spacing.beside * (1.0, 0.6, 0.25)[(u >= net.n) + (v >= net.n)]
    return (net.size[u][0] + net.size[v][0]) / 2 + between


def _centred(net: _Net, order: Sequence[Sequence[int]], apart: Mapping[Piece, float]) -> list[float]:
    """Return places in rows that are packed and centred: for pictures too full for anything else."""
    x = [0.0] * len(net.row)
    for row in order:
        for u, v in pairwise(row):
            x[v] = x[u] + apart[u, v]
        middle = (x[row[0]] + x[row[-1]]) / 2
        for v in row:
            x[v] -= middle
    return x


def _heights(
    net: _Net, order: Sequence[Sequence[int]], x: Sequence[float], spacing: Spacing
) -> tuple[list[float], list[float]]:
    """Return the top and the bottom of every row; the flatter the lines below a row, the more room they get."""
    tops, bottoms = [], []
    y = 0.0
    for row in order:
        tops.append(y)
        bottoms.append(y + max(net.size[v][1] for v in row))
        widest = max((abs(x[u] - x[v]) for u in row for v in net.below[u]), default=0.0)
        y = bottoms[-1] + spacing.below * min(max(1.0, 0.75 + widest / (8 * spacing.below)), 2.0)
    return tops, bottoms


# --- 4. curves ---


@dataclass(frozen=True)
class _Station:
    """Where a line crosses a row, straight: from `enter` to `leave`; the slope dx/dy, or None where it is free."""

    enter: Point
    leave: Point
    slope: float | None


def _lines(
    net: _Net,
    x: Sequence[float],
    rects: Sequence[Rect],
    edges: tuple[Sequence[float], Sequence[float]],
    spacing: Spacing,
) -> dict[Piece, tuple[Curve, ...]]:
    """Return the curves of every arrow."""
    upper, lower = _ports(net, x, net.above, spacing), _ports(net, x, net.below, spacing)
    tops, bottoms = edges
    lines = {}
    for arrow, chain in net.chains.items():
        first, last = rects[chain[0]], rects[chain[-1]]
        begin, end = lower[chain[0], chain[1]], upper[chain[-1], chain[-2]]
        floor, ceiling = bottoms[net.row[chain[0]]], tops[net.row[chain[-1]]]
        xs = [begin, *(x[v] for v in chain[1:-1]), end]
        # A box that is lower than its row is left straight down, and reached straight down.
        stations = [_Station((begin, first.bottom), (begin, floor), None if floor - first.bottom < 1e-6 else 0.0)]
        for k, v in enumerate(chain[1:-1], 1):
            top, bottom = tops[net.row[v]], bottoms[net.row[v]]
            slope = _slope(xs[k - 1 : k + 2], (tops[net.row[v] + 1] - bottoms[net.row[v] - 1]) / 2)
            reach = spacing.line / 2 + spacing.beside * 0.2
            half = (bottom - top) / 2
            slope = _within(slope, reach / max(half, 1.0))
            stations.append(_Station((xs[k] - slope * half, top), (xs[k] + slope * half, bottom), slope))
        stations.append(_Station((end, ceiling), (end, last.top), None if last.top - ceiling < 1e-6 else 0.0))
        lines[arrow] = _through(stations)
    return lines


def _ports(
    net: _Net, x: Sequence[float], near: Sequence[Sequence[int]], spacing: Spacing
) -> dict[tuple[int, int], float]:
    """Return the x at which the piece to a neighbour meets the box of every node, in the order of the neighbours."""
    ports = {}
    for v in range(net.n):
        others = sorted(near[v], key=lambda u: (x[u], u))
        step = min(spacing.port, 0.7 * net.size[v][0] / max(len(others) - 1, 1))
        for i, u in enumerate(others):
            ports[v, u] = x[v] + (i - (len(others) - 1) / 2) * step
    return ports


def _slope(xs: Sequence[float], rise: float) -> float:
    """Return the slope at the middle of three: the steeper of both sides, and straight down at a turn."""
    before, after = xs[1] - xs[0], xs[2] - xs[1]
    if before * after <= 0.0:
        return 0.0
    return min(before, after, key=abs) / rise


def _through(stations: Sequence[_Station]) -> tuple[Curve, ...]:
    """Return curves through all stations: straight across rows, bent between them."""
    curves: list[Curve] = []
    for here, there in pairwise(stations):
        curves += _straight(here)
        curves.append(_bent(here, there))
    return (*curves, *_straight(stations[-1]))


def _straight(station: _Station) -> list[Curve]:
    (x0, y0), (x1, y1) = station.enter, station.leave
    if y1 - y0 < 1e-6:
        return []
    third = ((x1 - x0) / 3, (y1 - y0) / 3)
    return [(station.enter, (x0 + third[0], y0 + third[1]), (x1 - third[0], y1 - third[1]), station.leave)]


def _bent(here: _Station, there: _Station) -> Curve:
    """Return the curve between two rows; its points of pull lie between them, and so does all of it."""
    (x0, y0), (x1, y1) = here.leave, there.enter
    direct = _within((x1 - x0) / (y1 - y0), FLATTEST)
    (first, down), (last, up) = ((direct, LOOSE) if end.slope is None else (end.slope, FIRM) for end in (here, there))
    down, up = (pull * (y1 - y0) for pull in (down, up))
    return here.leave, (x0 + first * down, y0 + down), (x1 - last * up, y1 - up), there.enter


def _within(value: float, limit: float) -> float:
    return min(max(value, -limit), limit)
