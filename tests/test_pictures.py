"""Pictures of graphs: where things go, what they mean, and the files they become."""

import io
import itertools
import math
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.image import imread
from typer.testing import CliRunner

from kerncause import DAG, PDAG, discover
from kerncause.cli import app
from kerncause.confidence import Confidence, Frequency
from kerncause.errors import GraphError, KerncauseError, OptionError
from kerncause.report import layout as layout_module
from kerncause.report import raster
from kerncause.report.drawing import INKS, Box, Drawing, Label, Path, Rect, sampled
from kerncause.report.figure import Shown, ShownEdge, drawn, save_picture
from kerncause.report.layout import layered
from kerncause.report.raster import as_picture
from kerncause.report.svg import as_svg
from kerncause.result import Edge
from kerncause.text import printable

runner = CliRunner()
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    "<script>alert(1)</script>",
    "a\"b'c&d</title>",
    "two\nlines\tand\x00nul",
    "half \ud800 of a sign",
    "$x^2$ and $\\undefined$",
    "long " * 2000,
    "年齢😀e\u0301",
    "\u202eturned",
    "",
]


def run(*words):
    return runner.invoke(app, [str(word) for word in words])


def boxed(nodes, width=50.0, height=32.0):
    return dict.fromkeys(nodes, (width, height))


def of(drawing, kind):
    return [shape for shape in drawing.shapes if isinstance(shape, kind)]


# --- the layout ---


@st.composite
def graphs(draw):
    n = draw(st.integers(0, 12))
    nodes = [f"v{i}" for i in range(n)]
    order = draw(st.permutations(nodes))
    density = draw(st.sampled_from([0.1, 0.3, 0.7]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    arrows = [pair for pair in itertools.combinations(order, 2) if rng.random() < density]
    sizes = {name: (float(rng.uniform(5, 200)), float(rng.uniform(5, 80))) for name in nodes}
    if draw(st.booleans()):
        sizes = {name: (width, 32.0) for name, (width, _) in sizes.items()}
    return nodes, arrows, sizes


# Lines with points of their own, lines that share them, and rows that are only centred.
REGIMES = [(800, 1600), (0, 1600), (0, 0)]


@pytest.mark.parametrize(("points", "placed"), REGIMES)
def test_a_layout_keeps_its_promises(points, placed):
    @settings(max_examples=60)
    @given(graphs())
    def check(graph):
        nodes, arrows, sizes = graph
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(layout_module, "MOST_POINTS", points)
            patch.setattr(layout_module, "MOST_PLACED", placed)
            found = layered(nodes, arrows, sizes)
            again = layered(nodes[::-1], arrows[::-1], sizes)
        assert found == again
        assert set(found.boxes) == set(nodes)
        assert set(found.lines) == set(arrows)
        assert_boxes_stand_apart(found, sizes)
        for pair in arrows:
            assert_line_is_sound(found, pair)

    check()


def assert_boxes_stand_apart(found, sizes):
    for name, box in found.boxes.items():
        assert (box.width, box.height) == sizes[name]
        assert box.left >= -1e-6
        assert box.right <= found.width + 1e-6
        assert box.top >= -1e-6
        assert box.bottom <= found.height + 1e-6
    for a, b in itertools.combinations(found.boxes.values(), 2):
        assert a.right < b.left or b.right < a.left or a.bottom < b.top or b.bottom < a.top


def assert_line_is_sound(found, pair):
    source, target = (found.boxes[name] for name in pair)
    curves = found.lines[pair]
    assert found.rows[pair[1]] > found.rows[pair[0]]
    assert target.top > source.bottom
    (x0, y0), (x1, y1) = curves[0][0], curves[-1][3]
    assert y0 == pytest.approx(source.bottom)
    assert y1 == pytest.approx(target.top)
    assert source.left <= x0 <= source.right
    assert target.left <= x1 <= target.right
    assert all(a[3] == pytest.approx(b[0]) for a, b in itertools.pairwise(curves))
    points = np.array(sampled(curves, 30))
    assert np.isfinite(points).all()
    assert points.min() >= -1e-6
    assert points[:, 0].max() <= found.width + 1e-6
    assert np.all(np.diff(points[:, 1]) >= -1e-9)  # never upwards
    for name, box in found.boxes.items():
        x, y = points.T
        slack = 1e-6 if name in pair else -1.0  # ends touch their boxes, others keep a distance
        inside = (x > box.left + slack) & (x < box.right - slack) & (y > box.top + slack) & (y < box.bottom - slack)
        assert not inside.any(), f"{pair} runs through {name}"


def shortest_length(nodes, arrows):
    """The least total length of arrows, by trying all rows."""
    place = {name: i for i, name in enumerate(nodes)}
    pairs = [(place[a], place[b]) for a, b in arrows]
    lengths = (
        sum(rows[b] - rows[a] for a, b in pairs)
        for rows in itertools.product(range(len(nodes)), repeat=len(nodes))
        if all(rows[b] > rows[a] for a, b in pairs)
    )
    return min(lengths)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40)
def test_arrows_are_as_short_as_they_can_be(seed):
    rng = np.random.default_rng(seed)
    nodes = [f"v{i}" for i in rng.permutation(5)]
    arrows = [pair for pair in itertools.combinations(nodes, 2) if rng.random() < 0.5]
    rows = layered(nodes, arrows, boxed(nodes)).rows
    assert sum(rows[b] - rows[a] for a, b in arrows) == shortest_length(nodes, arrows)


def test_a_cause_of_one_effect_sits_right_above_it():
    arrows = [("a", "b"), ("b", "c"), ("c", "d"), ("late", "d"), ("later", "c")]
    nodes = ["a", "b", "c", "d", "late", "later"]
    rows = layered(nodes, arrows, boxed(nodes)).rows
    assert rows["late"] == rows["d"] - 1
    assert rows["later"] == rows["c"] - 1


def test_crossings_are_counted_and_avoided():
    rng = np.random.default_rng(0)
    nodes = [f"v{i:02}" for i in range(16)]
    arrows = [(a, b) for a, b in itertools.combinations(nodes, 2) if rng.random() < 0.2]
    number = {name: i for i, name in enumerate(nodes)}
    pairs = [(number[a], number[b]) for a, b in arrows]
    net = layout_module._net(layout_module._rows(16, pairs), pairs, [(50, 32)] * 16, layout_module.Spacing())
    start = layout_module._walked(net, downwards=True, deep=False)

    def by_definition(order):
        at = layout_module._positions(net, order)
        return sum(
            (at[a] - at[c]) * (at[b] - at[d]) < 0
            for (a, b), (c, d) in itertools.combinations(net.pieces, 2)
            if net.row[a] == net.row[c]
        )

    best = layout_module._ordered(net)
    assert layout_module._crossings(net, start) == by_definition(start)
    assert layout_module._crossings(net, best) == by_definition(best)
    assert by_definition(best) < by_definition(start)


def test_a_tree_has_no_crossings():
    nodes = [f"v{i}" for i in np.random.default_rng(1).permutation(31)]
    arrows = [(nodes[(i - 1) // 2], nodes[i]) for i in range(1, 31)]
    found = layered(nodes, arrows, boxed(nodes))
    for (a, b), (c, d) in itertools.combinations(arrows, 2):
        if found.rows[a] == found.rows[c] and a != c:
            left = found.boxes[a].x < found.boxes[c].x
            assert (found.boxes[b].x < found.boxes[d].x) == left


def test_long_lines_are_straight():
    nodes = [f"v{i}" for i in range(6)]
    arrows = [*itertools.pairwise(nodes), ("v0", "v5")]
    found = layered(nodes, arrows, boxed(nodes))
    between = [x for x, y in sampled(found.lines["v0", "v5"]) if found.boxes["v1"].top < y < found.boxes["v4"].bottom]
    assert max(between) - min(between) < 1e-6


def test_parts_stand_side_by_side_and_single_nodes_below():
    nodes = ["a", "b", "c", "d", *(f"single{i}" for i in range(30))]
    found = layered(nodes, [("a", "b"), ("c", "d")], boxed(nodes))
    assert found.boxes["a"].top == found.boxes["c"].top
    singles = [found.boxes[name] for name in nodes[4:]]
    assert min(box.top for box in singles) > found.boxes["b"].bottom
    assert 1 < len({box.top for box in singles}) < 15


def test_two_hundred_nodes_and_dense_graphs_can_be_laid_out():
    rng = np.random.default_rng(2)
    nodes = [f"v{i:03}" for i in range(200)]
    arrows = [(a, b) for a, b in itertools.combinations(nodes, 2) if rng.random() < 0.02]
    found = layered(nodes, arrows, boxed(nodes))
    assert_boxes_stand_apart(found, boxed(nodes))
    for pair in arrows[::10]:
        assert_line_is_sound(found, pair)
    every = list(itertools.combinations(nodes[:25], 2))
    full = layered(nodes[:25], every, boxed(nodes[:25]))
    for pair in every[::10]:
        assert_line_is_sound(full, pair)


def test_a_cycle_cannot_be_laid_out():
    with pytest.raises(GraphError, match="cycle"):
        layered("ab", [("a", "b"), ("b", "a")], boxed("ab"))


# --- what is shown ---


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 150))
    c = a + b + 0.3 * rng.normal(size=150)
    x, y = c + 0.3 * rng.normal(size=(2, 150))
    return pd.DataFrame({"a": a, "b": b, "c": c, "x": x, "y": y, "z": rng.normal(size=150)})


@pytest.fixture(scope="module")
def result(table):
    """Learned: a -> c <- b, c -> v; then one more edge of every kind."""
    learned = discover(table, score="bic", groups={"v": ["x", "y"]}, workers=1)
    assert set(learned.dag.edges) == {("a", "c"), ("b", "c"), ("c", "v")}
    nodes = ("a", "b", "c", "v", "z")
    edges = (
        Edge("a", "c", True, gain=1000.0),
        Edge("b", "c", False, gain=10.0, preference=3.0),
        Edge("c", "v", False, gain=0.5, preference=0.0),
    )
    shares = [Frequency("a", "c", 0.5, 0.5, 0, 0, 0.5), Frequency("b", "c", 0.8, 0.8, 0, 0, 0.8)]
    shares.append(Frequency("c", "v", 1.0, 1.0, 0, 0, 1.0))
    return replace(learned, edge_list=edges, confidence=Confidence(nodes, 10, "half", tuple(shares)))


def test_edges_are_told_apart_by_shape_and_colour(result):
    arrow, preferred, line = of(drawn(result), Path)[:3]
    assert [path.role for path in (arrow, preferred, line)] == ["arrow", "preferred", "line"]
    assert len(arrow.head) == len(preferred.head) == 3
    assert line.head == ()
    assert INKS["arrow"].fill[0] == INKS["arrow"].line[0]
    assert INKS["preferred"].fill[0] == INKS["paper"].fill[0] != INKS["preferred"].line[0]
    assert preferred.dash
    assert not line.dash
    assert (arrow.uncertain, preferred.uncertain, line.uncertain) == (True, False, False)
    assert arrow.dash[0] < 1 < preferred.dash[0]
    assert arrow.width > preferred.width > line.width
    assert len({INKS[role].line[0] for role in ("arrow", "preferred", "line")}) == 3


def test_tooltips_tell_what_is_known(result):
    arrow, preferred, _ = of(drawn(result), Path)[:3]
    assert arrow.title.split("\n") == ["a → c", "direction decided", "gain 1000.0 nats", "in 50% of the repetitions"]
    assert "better this way by 3.0 nats" in preferred.title


def test_boxes_hold_names_and_vectors_have_a_double_border(result):
    drawing = drawn(result)
    assert {box.text: box.role for box in of(drawing, Box)} == {
        **dict.fromkeys("abcz", "node"),
        "v": "vector",
    }
    texts = as_svg(drawing)
    assert texts.count('class="k-vector"') == 2
    assert texts.count('class="k-node"') == 4


def test_labels_are_gains_and_can_be_left_out(result):
    words = [label.text for label in of(drawn(result), Label)]
    assert words[:3] == ["1000.0", "10.0", "0.5"]
    assert words[3:] == [
        "direction decided",
        "can go either way, better this way",
        "can go either way",
        "uncertain: in under 75% of the repetitions",
        "numbers: gain in nats",
    ]
    assert [label.text for label in of(drawn(result, labels=False), Label)] == words[3:-1]


def test_labels_of_searches_by_tests_are_p_values(table):
    by_test = discover(table, search="pc", test="fisher-z", workers=1)
    words = {label.text for label in of(drawn(by_test), Label)}
    assert {by_test.way.label(edge.p_value) for edge in by_test.edge_list} <= words


def test_labels_keep_off_boxes_and_off_each_other():
    rng = np.random.default_rng(3)
    nodes = tuple(f"v{i}" for i in range(14))
    pairs = [pair for pair in itertools.combinations(nodes, 2) if rng.random() < 0.2]
    drawing = drawn(Shown(nodes, tuple(ShownEdge(a, b, "arrow", label="123.4") for a, b in pairs)))
    labels = [label.place for label in of(drawing, Label) if label.text == "123.4"]
    assert len(labels) == len(pairs) > 10
    places = labels + [box.place for box in of(drawing, Box)]
    for a, b in itertools.combinations(places, 2):
        assert a.right <= b.left or b.right <= a.left or a.bottom <= b.top or b.bottom <= a.top
    for place in places:
        assert place.left >= 0
        assert place.right <= drawing.width


def test_heads_touch_the_effect_whichever_way_an_edge_is_drawn():
    cycle = PDAG("abc", [("a", "b"), ("b", "c"), ("c", "a")])
    drawing = drawn(cycle)
    boxes = {box.text: box.place for box in of(drawing, Box)}
    upwards = 0
    for path in of(drawing, Path):
        cause, effect = path.title.split("\n")[0].split(" → ")
        (x, y), *_ = path.head
        place = boxes[effect]
        assert place.left <= x <= place.right
        assert min(abs(y - place.top), abs(y - place.bottom)) < 1e-6
        upwards += place.y < boxes[cause].y
        assert math.dist(path.curves[-1][3], path.head[0]) < 20
    assert upwards == 1


def test_undirected_edges_follow_an_order_without_new_colliders():
    chain = DAG("abcd", [("b", "a"), ("b", "c"), ("c", "d")]).to_cpdag()
    assert not chain.directed_edges
    shown = Shown.of(chain)
    order = DAG(chain.nodes, [(edge.source, edge.target) for edge in shown.edges])
    assert order.to_cpdag() == chain
    assert {path.role for path in of(drawn(chain), Path)} == {"line"}


def test_plain_arrows_need_no_legend():
    assert of(drawn(DAG("ab", [("a", "b")])), Label) == []
    mixed = PDAG("abc", [("a", "b")], [("b", "c")])
    assert [label.text for label in of(drawn(mixed), Label)] == ["direction decided", "can go either way"]


@pytest.mark.parametrize("nodes", [[], ["a"], ["a", "b"]])
def test_graphs_without_edges_have_pictures(nodes):
    drawing = drawn(DAG(nodes))
    assert len(of(drawing, Box)) == len(nodes)
    assert ET.fromstring(as_svg(drawing)).tag == f"{SVG}svg"
    assert as_picture(drawing, "png").startswith(b"\x89PNG")


# --- files ---


def test_svg_says_what_it_is_and_asks_for_nothing(result):
    text = as_svg(drawn(result))
    root = ET.fromstring(text)
    assert root.get("role") == "img"
    assert root.get("aria-label") == "Causal graph of 5 variables with 3 edges, 1 of them with a direction"
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == {
        *("svg", "style", "rect", "g", "title", "path", "polygon", "text")
    }
    assert "url(" not in text
    assert "href" not in text
    assert "prefers-color-scheme" in text
    assert "<style" not in as_svg(drawn(result), adaptive=False)


def test_every_colour_of_the_light_picture_has_a_dark_rule(result):
    text = as_svg(drawn(result))
    classes = {element.get("class") for element in ET.fromstring(text).iter()} - {None, "kerncause"}
    assert classes >= {"k-paper", "k-node", "k-vector", "k-arrow", "k-preferred", "k-line", "k-name", "k-words"}
    style = ET.fromstring(text).find(f"{SVG}style").text
    assert all(f".kerncause .{name}{{" in style for name in classes)


def test_hostile_names_are_words_and_nothing_else():
    graph = DAG(HOSTILE, list(itertools.pairwise(HOSTILE)))
    root = ET.fromstring(as_svg(drawn(graph)).encode("utf-8"))
    shown = [element.text or "" for element in root.iter(f"{SVG}text")]
    assert shown == [printable(name, 24) for name in HOSTILE]
    told = [group.find(f"{SVG}title") for group in root.iter(f"{SVG}g") if group.find(f"{SVG}rect") is not None]
    whole = [printable(name, 100_000) for name in HOSTILE]
    assert ["" if title is None else title.text for title in told] == whole
    assert not list(root.iter(f"{SVG}script"))
    for kind in ("png", "pdf"):
        assert len(as_picture(drawn(graph), kind)) > 1000


@given(st.text(st.characters(codec=None), max_size=20))
@settings(max_examples=200)
def test_any_text_makes_sound_xml(text):
    drawing = Drawing(10, 10, (Box(Rect(5, 5, 5, 5), text, text), Label(Rect(5, 5, 5, 5), text)), text)
    root = ET.fromstring(as_svg(drawing).encode("utf-8"))
    assert len(list(root.iter())) == len(list(ET.fromstring(as_svg(replace(drawing, summary="")).encode()).iter()))
    if text.isprintable():
        assert root.get("aria-label") == text


def pixels(drawing):
    return imread(io.BytesIO(as_picture(drawing, "png")))[..., :3]


def near_colour(image, x, y, colour):
    wanted = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    column, row = round(2 * x), round(2 * y)
    patch = image[row - 2 : row + 3, column - 2 : column + 3].reshape(-1, 3)
    return np.abs(patch - wanted).max(axis=1).min() < 0.05


def test_png_shows_the_same_shapes_in_the_same_places():
    graph = PDAG("abcd", [("a", "b")], [("c", "d")])
    drawing = drawn(graph)
    image = pixels(drawing)
    assert image.shape[:2] == pytest.approx((2 * drawing.height, 2 * drawing.width), abs=1)
    assert near_colour(image, 3, 3, INKS["paper"].fill[0])
    for box in of(drawing, Box):
        assert near_colour(image, box.place.left + 8, box.place.top + 8, INKS["node"].fill[0])
        assert near_colour(image, box.place.x, box.place.top, INKS["node"].line[0]) or box.text in "bd"
    for path in of(drawing, Path):
        middle = sampled(path.curves, 2)[1]
        assert near_colour(image, *middle, INKS[path.role].line[0])


def test_files_do_not_depend_on_settings_or_the_clock(result, monkeypatch):
    import matplotlib

    drawing = drawn(result)
    first = [as_picture(drawing, kind) for kind in ("png", "pdf")]
    monkeypatch.setitem(matplotlib.rcParams, "savefig.bbox", "tight")
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 40.0)
    assert [as_picture(drawing, kind) for kind in ("png", "pdf")] == first
    assert matplotlib.rcParams["font.size"] == 40.0
    assert first[1].startswith(b"%PDF")
    assert b"Date" not in first[1]


def test_huge_pictures_are_made_coarser(monkeypatch):
    drawing = Drawing(400, 300, (), "")
    assert imread(io.BytesIO(as_picture(drawing, "png"))).shape[:2] == (600, 800)
    monkeypatch.setattr(raster, "MOST_PIXELS", 400 * 300)
    assert imread(io.BytesIO(as_picture(drawing, "png"))).shape[:2] == (300, 400)
    monkeypatch.setattr(raster, "LONGEST_SIDE", 200)
    assert imread(io.BytesIO(as_picture(drawing, "png"))).shape[:2] == (150, 200)


def test_no_window_is_asked_for(tmp_path):
    code = (
        "import sys; from kerncause import DAG; from kerncause.report.figure import save_picture; "
        "before = 'matplotlib' in sys.modules; save_picture(DAG('ab', [('a', 'b')]), sys.argv[1]); "
        "print(before, 'matplotlib.pyplot' in sys.modules)"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "p.png")]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout.split() == ["False", "False"]


@pytest.mark.parametrize(("suffix", "start"), [(".svg", b"<svg"), (".PNG", b"\x89PNG"), (".pdf", b"%PDF")])
def test_pictures_are_saved_by_their_suffix(result, tmp_path, suffix, start):
    path = tmp_path / f"picture{suffix}"
    path.write_text("old")
    assert save_picture(result, path) == path
    assert path.read_bytes().startswith(start)
    assert list(tmp_path.iterdir()) == [path]


def test_a_picture_that_cannot_be_written_changes_nothing(result, tmp_path, monkeypatch):
    with pytest.raises(OptionError, match=r"'.*picture\.gif'.*\.svg, \.png or \.pdf"):
        save_picture(result, tmp_path / "picture.gif")
    with pytest.raises(KerncauseError, match="cannot write"):
        save_picture(result, tmp_path / "nowhere" / "picture.svg")
    path = tmp_path / "picture.png"
    path.write_text("old")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(OptionError, match=r"matplotlib, which is not installed: pip install 'kerncause\[plots\]'"):
        save_picture(result, path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
    save_picture(result, tmp_path / "picture.svg")


# --- results on disk, and the command ---


def test_a_saved_result_is_shown_without_its_table(result, tmp_path):
    result.save(tmp_path)
    assert Shown.read(tmp_path) == Shown.of(result)
    assert Shown.read(tmp_path / "graph.json") == Shown.of(result)


@pytest.mark.parametrize("options", [{"search": "pc", "test": "fisher-z"}, {"score": "bic"}])
def test_results_of_every_way_are_shown_alike(table, tmp_path, options):
    found = discover(table, workers=1, **options)
    found.save(tmp_path)
    assert Shown.read(tmp_path) == Shown.of(found)
    assert any(edge.label for edge in Shown.of(found).edges)


def test_damaged_results_are_refused(result, tmp_path):
    result.save(tmp_path)
    text = (tmp_path / "graph.json").read_text()
    (tmp_path / "graph.json").write_text(text.replace('"gain"', '"grain"'))
    with pytest.raises(OptionError, match="not a result of this version"):
        Shown.read(tmp_path)
    (tmp_path / "graph.json").write_text(text[: len(text) // 2])
    with pytest.raises(GraphError, match="cannot be read as json"):
        Shown.read(tmp_path)


def test_plot_draws_results_and_graph_files(result, tmp_path):
    result.save(tmp_path / "result")
    assert run("plot", tmp_path / "result", tmp_path / "a.svg").exit_code == 0
    assert "1000.0</text>" in (tmp_path / "a.svg").read_text()
    assert run("plot", tmp_path / "result", tmp_path / "b.svg", "--no-labels").exit_code == 0
    assert "1000.0</text>" not in (tmp_path / "b.svg").read_text()
    assert run("convert", tmp_path / "result", tmp_path / "graph.csv").exit_code == 0
    assert run("plot", tmp_path / "graph.csv", tmp_path / "c.png").exit_code == 0
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    assert run("simulate", "--out", tmp_path / "drawn", "--variables", 4, "--rows", 20, "--quiet").exit_code == 0
    assert run("plot", tmp_path / "drawn", tmp_path / "d.pdf").exit_code == 0


def test_plot_explains_itself_in_one_sentence(result, tmp_path, monkeypatch):
    result.save(tmp_path / "result")
    (tmp_path / "empty").mkdir()
    for source, out, words in (
        (tmp_path / "nothing", "p.svg", "there is no result or graph"),
        (tmp_path / "empty", "p.svg", "there is no result in"),
        (tmp_path / "result", "p.jpeg", ".svg, .png or .pdf"),
        (tmp_path / "result", "p", ".svg, .png or .pdf"),
        (tmp_path / "result" / "trace.jsonl", "p.svg", "does not tell its format"),
    ):
        done = run("plot", source, tmp_path / out)
        assert done.exit_code == 1
        assert words in done.output.replace("\n", " ")
        assert not (tmp_path / out).exists()
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    done = run("plot", tmp_path / "result", tmp_path / "p.pdf")
    assert done.exit_code == 1
    assert "kerncause[plots]" in done.output
