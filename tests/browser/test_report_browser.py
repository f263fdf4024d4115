"""The report in a real browser: what a reader sees, clicks, types and prints.

Three questions and the clicks that answer them, from the moment the page is open:

    Which edge is the strongest, and why?     "Strongest edge"       1 click
    Which edge is the least certain, and why? "Least certain edge"   1 click
    What could be wrong with all this?        "Before you believe it" 1 click

Every test also fails if the page wrote to the console, raised an error, opened a dialog or fetched anything (see
`opened`).
"""

import json
import re
import shlex

import networkx as nx
import pytest

from conftest import BAD_NAMES
from kerncause.search import replayed
from kerncause.text import printable

EVERY = ("sachs", "learned", "vector", "tested", "empty", "twenty", "hundred", "bad")
PHONE, DESK = 390, 1280


def facts(page):
    return page.evaluate("kerncause.facts")


def details(page):
    return page.locator("#details").inner_text()


def drawn(page):
    """Return the edges on the canvas as (source, target, classes)."""
    return page.evaluate(
        "kerncause.cy.edges().map((e) => [e.data('source'), e.data('target'), e.classes().filter((c) => c !== 'bent')])"
    )


def names_of(page):
    return {node["id"]: node["name"] for node in facts(page)["nodes"]}


def pairs(page):
    return {frozenset((a, b)) for a, b, _ in drawn(page)}


def on_canvas(page, call):
    """Return where on the screen a place of the graph is, by a call of `checks`."""
    page.locator("#graph").scroll_into_view_if_needed()
    return page.evaluate(f"checks.{call}")


def click_node(page, label):
    page.mouse.click(*on_canvas(page, f"nodeAt({json.dumps(label)})"))


def click_beside(page):
    page.mouse.click(*on_canvas(page, "onScreen({ x: 4, y: 4 })"))


def until(page, expression):
    """Wait until an expression holds; the page's policy forbids Playwright's own way, which is eval."""
    for _ in range(100):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never came true: {expression}")


def told_pairs(page, part):
    """Return a list of terms and what stands beside them."""
    return dict(zip(*(page.locator(f"{part} {tag}").all_inner_texts() for tag in ("dt", "dd")), strict=True))


def by_label(page, edge):
    nodes = {node["id"]: node["label"] for node in facts(page)["nodes"]}
    return nodes[edge["source"]], nodes[edge["target"]]


# ---------------------------------------------------------------- one file that opens anywhere


@pytest.mark.parametrize("name", EVERY)
def test_it_opens_without_a_word_from_the_console(opened, made, name):
    page = opened(name)
    result = made(name).result
    assert len(facts(page)["edges"]) == len(result.edge_list)
    assert page.locator("#details tbody tr").count() == len(result.edge_list)
    assert len(drawn(page)) == len(result.edge_list)
    assert page.evaluate("kerncause.cy.nodes().length") == len(result.graph.nodes)


def test_twenty_variables_take_less_than_two_megabytes(made):
    assert made("twenty").path.stat().st_size < 2_000_000


def test_a_hundred_variables_open_quickly(opened):
    page = opened("hundred")
    ready = page.evaluate("performance.now()")
    assert page.evaluate("kerncause.cy.nodes().length") == 100
    assert ready < 5_000


def test_without_scripts_the_picture_is_there(opened):
    page = opened("sachs", java_script_enabled=False)
    assert page.locator("#static svg").is_visible()
    assert page.locator("#static").inner_text().split().count("Akt") == 1
    assert not page.locator("#graph").is_visible()
    assert "needs JavaScript" in page.locator("body").inner_text()


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("name", EVERY)
def test_no_words_are_cut(opened, name, width):
    page = opened(name, width)
    assert page.evaluate("checks.cut()") == []
    assert page.evaluate("checks.unfitting()") == []
    if facts(page)["edges"]:
        page.click("[data-finding='Strongest edge']")
        assert page.evaluate("checks.cut()") == []
    for k in range(min(len(facts(page)["nodes"]), 12)):
        page.locator("#data tbody button").nth(k).click()
        assert page.evaluate("checks.cut()") == []


def test_the_check_for_cut_words_finds_them(opened):
    page = opened("empty", PHONE)
    page.evaluate("document.querySelector('h1').style.cssText = 'white-space: nowrap; width: 50px; overflow: hidden'")
    assert page.evaluate("checks.cut()")


# ---------------------------------------------------------------- words that are only words


def test_names_and_labels_are_shown_as_text(opened, made):
    page = opened("bad")
    shown = facts(page)
    assert page.evaluate("window.pwned") is None
    assert page.locator("img, iframe, object, embed, link").count() == 0
    assert page.locator("script").count() == 4
    assert page.evaluate("checks.handlers().length") == 0
    assert page.evaluate("kerncause.cy.nodes().map((n) => n.data('label'))") == [
        printable(name, 24) for name in made("bad").result.graph.nodes
    ]
    for k, node in enumerate(shown["nodes"]):
        page.locator("#data tbody button").nth(k).click()
        assert page.locator("#details h2").text_content() == node["name"]
    for k in range(len(shown["edges"])):
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("Escape")
        page.locator("#details tbody button").nth(k).click()
    page.click("[data-view=truth]")
    page.locator("#step").focus()
    page.keyboard.press("Home")
    for _ in shown["steps"]:
        page.keyboard.press("ArrowRight")
    assert page.evaluate("window.pwned") is None
    assert page.locator("h1").inner_text().endswith("<img src=x onerror='window.pwned=1'>.csv")
    assert page.title() == page.locator("h1").inner_text()


def test_labels_are_text_in_the_pictures(opened, made):
    page = opened("bad")
    for name, known in (("labels <b>", BAD_NAMES[:6]), ("labels &amp;", BAD_NAMES[6:])):
        position = [*made("bad").result.graph.nodes].index(name)
        page.locator("#data tbody button").nth(position).click()
        words = page.locator("#details .picture text").all_text_contents()
        starts = [word.removesuffix("…") for word in words]
        assert all(any(printable(label, 40).startswith(word) for word in starts if len(word) > 3) for label in known)
    assert page.evaluate("window.pwned") is None


# ---------------------------------------------------------------- edges


@pytest.mark.parametrize(
    ("name", "unit"), [("sachs", "nats"), ("learned", "nats"), ("vector", "nats"), ("tested", "p ")]
)
def test_an_edge_of_the_list_says_why_it_is_there(opened, made, name, unit):
    page = opened(name)
    result = made(name).result
    for k, edge in enumerate(result.strongest_first()):
        page.locator("#details tbody button").nth(k).click()
        told = details(page)
        assert edge.source in told
        assert edge.target in told
        assert f"{result.way.label(getattr(edge, result.way.figures[0]))}" in told
        assert unit in told
        assert page.locator("#details svg.picture").is_visible()
        assert page.locator("#details svg.picture :is(path, rect)").count() > 0
        if result.by == "score":
            why = next(w for w in result.explanations if (w.source, w.target) == (edge.source, edge.target))
            assert ("Turned round" in told) == (why.reversed_gain is not None)
            for sentence in why.sentences():
                assert sentence in told
            assert why.runner_ups
            assert "instead, its score is" in told
        if edge.bandwidth is not None:
            assert "standard deviations" in told
        page.get_by_role("button", name="← All edges").click()


def test_the_edges_on_the_canvas_open(opened):
    page = opened("sachs")
    known = {edge["id"]: edge for edge in facts(page)["edges"]}
    for wanted in known:
        page.evaluate(f"checks.near('{wanted}')")
        page.mouse.click(*on_canvas(page, f"middleOf('{wanted}')"))
        assert page.evaluate("kerncause.state.selected") == wanted
        source, target = by_label(page, known[wanted])
        assert re.search(f"{source} . {target}", page.locator("#details h2").inner_text())
        assert page.evaluate("kerncause.cy.edges('.chosen').map((e) => e.data('edge'))") == [wanted]
    click_beside(page)


def test_a_click_beside_the_graph_goes_back_to_the_list(opened):
    page = opened("sachs")
    page.click("[data-finding='Strongest edge']")
    click_beside(page)
    assert page.evaluate("kerncause.state.selected") is None
    assert page.locator("#details h2").inner_text() == "Edges, strongest first"


def test_kinds_of_edges_differ_in_shape_too(opened):
    page = opened("sachs")
    told = ("line-style", "line-dash-pattern", "target-arrow-shape", "target-arrow-fill")
    looks = {}
    for kinds, look in page.evaluate(
        "(told) => kerncause.cy.edges().map((e) => [e.classes(), told.map((name) => String(e.style(name)))])", told
    ):
        line, dashes, head, fill = look
        # Dashes are seen only in a dashed line, and how a head is filled only if there is one.
        seen = (line, dashes if line == "dashed" else "", head, fill if head != "none" else "")
        looks[" ".join(kind for kind in kinds if kind != "bent")] = seen
    assert {"arrow", "leaning", "line"} <= looks.keys() | {kind.split()[0] for kind in looks}
    assert "arrow uncertain" in looks
    assert len(set(looks.values())) == len(looks)
    assert page.locator("#legend svg").count() == 4


# ---------------------------------------------------------------- nodes


def test_a_node_shows_its_distribution_and_its_kin(opened, made):
    page = opened("sachs")
    result = made("sachs").result
    dag = nx.DiGraph(list(result.dag.edges))
    dag.add_nodes_from(result.dag.nodes)
    names = names_of(page)
    for name in result.graph.nodes:
        click_node(page, name)
        assert page.locator("#details h2").inner_text() == name
        assert page.locator("#details svg.picture .bar").count() == 1
        assert "ordinal: whole numbers, 3 values" in details(page)
        marked = {
            kind: {names[i] for i in page.evaluate(f"kerncause.cy.nodes('.{kind}').map((n) => n.id())")}
            for kind in ("above", "below", "chosen")
        }
        assert marked == {"above": nx.ancestors(dag, name), "below": nx.descendants(dag, name), "chosen": {name}}
        told = told_pairs(page, "#details")
        assert set(told["parents"].split(", ")) == (set(dag.predecessors(name)) or {"none"})
        assert set(told["children"].split(", ")) == (set(dag.successors(name)) or {"none"})


def test_a_node_says_how_much_its_parents_explain(opened, made):
    page = opened("learned")
    result = made("learned").result
    for name in result.graph.nodes:
        click_node(page, name)
        assert ("of its variance in kernel space, by its parents" in details(page)) == bool(result.dag.parents(name))
        assert result.data.variable(name).reason in details(page)


def test_a_vector_shows_its_columns(opened, made):
    page = opened("vector")
    variable = next(v for v in made("vector").result.data.variables if len(v.columns) > 2)
    click_node(page, variable.name)
    assert ", ".join(variable.columns) in details(page)
    assert page.locator("#details svg.picture .bar").count() == min(4, len(variable.columns))
    assert page.evaluate("kerncause.cy.nodes('.vector').length") == len(facts(page)["nodes"])


def test_a_node_can_be_dragged(opened):
    page = opened("sachs")
    before = page.evaluate("kerncause.cy.nodes()[0].position()")
    x, y = on_canvas(page, "onScreen(kerncause.cy.nodes()[0].renderedPosition())")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 30, y + 40, steps=4)
    page.mouse.up()
    after = page.evaluate("kerncause.cy.nodes()[0].position()")
    zoom = page.evaluate("kerncause.cy.zoom()")
    assert (after["x"] - before["x"]) * zoom == pytest.approx(30, abs=3)
    assert (after["y"] - before["y"]) * zoom == pytest.approx(40, abs=3)


@pytest.mark.parametrize("name", ["sachs", "tested", "twenty", "hundred"])
def test_causes_are_before_their_effects(opened, name):
    page = opened(name)
    ends = page.evaluate(
        "kerncause.facts.edges.map((e) => [e.source, e.target].map((id) => kerncause.cy.getElementById(id).position()))"
    )
    assert ends
    assert all(b["y"] > a["y"] for a, b in ends) or all(b["x"] > a["x"] for a, b in ends)


def test_boxes_do_not_overlap(opened):
    for name in ("sachs", "hundred", "bad", "empty"):
        boxes = opened(name).evaluate(
            "kerncause.cy.nodes().map((n) => [n.position().x, n.position().y, n.width(), n.height()])"
        )
        for k, (x, y, w, h) in enumerate(boxes):
            assert all(abs(x - a) >= (w + c) / 2 or abs(y - b) >= (h + d) / 2 for a, b, c, d in boxes[:k])


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("name", ["sachs", "learned", "twenty"])
def test_numbers_at_edges_stand_clear_of_each_other(opened, name, width):
    page = opened(name, width)
    boxes = page.evaluate("checks.numbers()")
    assert len(boxes) == len(facts(page)["edges"])
    clashes = [
        (one["text"], other["text"])
        for k, one in enumerate(boxes)
        for other in boxes[:k]
        if min(one["x2"], other["x2"]) - max(one["x1"], other["x1"]) > 1
        and min(one["y2"], other["y2"]) - max(one["y1"], other["y1"]) > 1
    ]
    assert clashes == []


# ---------------------------------------------------------------- views and filters


def test_the_best_dag_points_everywhere(opened, made):
    page = opened("sachs")
    names = names_of(page)
    page.click("[data-view=dag]")
    assert page.get_attribute("[data-view=dag]", "aria-pressed") == "true"
    assert {(names[a], names[b]) for a, b, _ in drawn(page)} == set(made("sachs").result.dag.edges)
    assert page.evaluate("kerncause.cy.edges().every((e) => e.style('target-arrow-shape') === 'triangle')")
    page.click("[data-view=class]")
    lines = {frozenset((names[a], names[b])) for a, b, kinds in drawn(page) if "arrow" not in kinds}
    assert lines == {frozenset(pair) for pair in made("sachs").result.graph.undirected_edges}


def same_class(dag):
    """Walk through every DAG with the same independences, by turning covered edges (Chickering, 1995)."""
    known, waiting = set(), [frozenset(dag.edges)]
    while waiting:
        edges = waiting.pop()
        if edges in known:
            continue
        known.add(edges)
        graph = nx.DiGraph(edges)
        for a, b in edges:
            if set(graph.predecessors(b)) == {a, *graph.predecessors(a)}:
                waiting.append(edges - {(a, b)} | {(b, a)})
    return known


def test_verdicts_agree_with_the_truth(opened, made):
    page = opened("sachs")
    result, truth = made("sachs").result, made("sachs").truth
    members = same_class(truth)
    found_arrows = set(result.graph.directed_edges)
    found_lines = {frozenset(pair) for pair in result.graph.undirected_edges}
    wanted = {}
    for a, b in truth.edges:
        can_turn = any((b, a) in member for member in members)
        if frozenset((a, b)) in found_lines:
            wanted[frozenset((a, b))] = "right" if can_turn else "open"
        else:
            wanted[frozenset((a, b))] = (
                "right" if (a, b) in found_arrows else "turned" if (b, a) in found_arrows else "missing"
            )
    for pair in [*map(frozenset, found_arrows), *found_lines]:
        wanted.setdefault(pair, "extra")
    page.click("[data-view=truth]")
    names = names_of(page)
    shown = {frozenset((names[a], names[b])): kinds for a, b, kinds in drawn(page)}
    assert shown.keys() == wanted.keys()
    assert all(wanted[pair] in kinds for pair, kinds in shown.items())
    joined = len(found_arrows) + len(found_lines)
    hits = sum(verdict not in ("missing", "extra") for verdict in wanted.values())
    figures = told_pairs(page, "#truth-figures")
    assert figures["skeleton precision"] == f"{hits / joined:.3f}"
    assert figures["skeleton recall"] == f"{hits / len(truth.edges):.3f}"


def test_without_a_truth_there_is_nothing_to_compare(opened):
    page = opened("tested")
    assert page.locator("#views button").all_inner_texts() == ["Class", "Best DAG"]


def test_the_slider_filters_by_gain(opened, made):
    page = opened("sachs")
    gains = sorted(edge.gain for edge in made("sachs").result.edge_list)
    page.locator("#least").focus()
    for least in sorted(set(gains))[1:]:
        page.keyboard.press("ArrowRight")
        left = sum(gain >= least for gain in gains)
        assert len(drawn(page)) == left
        assert page.locator("#details tbody tr").count() == left
        assert f"{left} of {len(gains)} edges" in page.locator("#filter output").inner_text()
    page.keyboard.press("Home")
    assert len(drawn(page)) == len(gains)


def test_the_slider_filters_by_confidence(opened, made):
    page = opened("sachs")
    result = made("sachs").result
    shares = sorted(result.confidence.joined(e.source, e.target) for e in result.edge_list)
    page.select_option("#by", "joined")
    page.locator("#least").focus()
    for least in sorted(set(shares))[1:]:
        page.keyboard.press("ArrowRight")
        left = sum(share >= least for share in shares)
        assert len(drawn(page)) == left
        assert f"{least:.0%}".replace("%", " %") in page.locator("#filter output").inner_text()
    page.select_option("#by", "strength")
    assert len(drawn(page)) == len(shares)


def test_the_slider_filters_p_values(opened, made):
    page = opened("tested")
    values = sorted((edge.p_value for edge in made("tested").result.edge_list), reverse=True)
    page.locator("#least").focus()
    page.keyboard.press("End")
    assert len(drawn(page)) == values.count(values[-1])
    assert "p-value of at most" in page.locator("#filter output").inner_text()


def test_the_filter_holds_in_every_view(opened):
    page = opened("sachs")
    page.locator("#least").focus()
    page.keyboard.press("End")
    strongest = facts(page)["edges"][0]
    kept = frozenset((strongest["source"], strongest["target"]))
    for view in ("dag", "class"):
        page.click(f"[data-view={view}]")
        assert pairs(page) == {kept}
    page.click("[data-view=truth]")
    found = {frozenset((a, b)) for a, b, kinds in drawn(page) if "missing" not in kinds}
    assert found == {kept}


def test_filtering_ends_the_replay(opened):
    page = opened("sachs")
    page.locator("#step").focus()
    page.keyboard.press("Home")
    page.locator("#least").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#step-words").inner_text() == "the result"
    assert page.locator("#step").input_value() == page.get_attribute("#step", "max")
    assert "so far" not in page.locator("#legend").inner_text()


# ---------------------------------------------------------------- finding


@pytest.mark.parametrize(("typed", "found"), [("Akt", "Akt"), ("akt", "Akt"), ("lcg", "Plcg")])
def test_a_variable_is_found_by_its_name(opened, typed, found):
    page = opened("sachs")
    page.fill("#find", typed)
    page.keyboard.press("Enter")
    assert page.locator("#details h2").inner_text() == found
    assert page.evaluate("kerncause.cy.nodes('.chosen').map((n) => n.data('label'))") == [found]


def test_an_unknown_name_is_said_to_be_unknown(opened):
    page = opened("sachs")
    page.fill("#find", "nobody")
    page.keyboard.press("Enter")
    assert page.evaluate("document.getElementById('find').validationMessage") == "There is no variable of that name."
    assert page.evaluate("kerncause.state.selected") is None
    page.fill("#find", "Raf")
    page.keyboard.press("Enter")
    assert page.evaluate("document.getElementById('find').validationMessage") == ""
    assert page.locator("#details h2").inner_text() == "Raf"


def test_what_is_found_among_a_hundred_can_be_read(opened):
    page = opened("hundred")
    page.fill("#find", "measurement 77")
    page.keyboard.press("Enter")
    until(page, "kerncause.cy.zoom() * 13 >= 9")
    inside = page.evaluate(
        """() => { const b = kerncause.cy.nodes(".chosen").renderedBoundingBox(); const cy = kerncause.cy;
        return b.x1 >= 0 && b.y1 >= 0 && b.x2 <= cy.width() && b.y2 <= cy.height(); }"""
    )
    assert inside


# ---------------------------------------------------------------- the search as it went


@pytest.mark.parametrize("name", ["sachs", "tested", "learned"])
def test_the_replay_shows_the_edges_of_every_step(opened, made, name):
    page = opened(name)
    result = made(name).result
    names = names_of(page)
    page.locator("#step").focus()
    page.keyboard.press("Home")
    begins_joined = result.by == "test"  # with all pairs joined, so the first step is the first to be shown
    if not begins_joined:
        assert drawn(page) == []
        assert page.locator("#step-words").inner_text() == "before the first step"
    for number, frame in enumerate(replayed(result.trace), 1):
        if number > 1 or not begins_joined:
            page.keyboard.press("ArrowRight")
        shown = drawn(page)
        arrows = {(names[a], names[b]) for a, b, kinds in shown if "arrow" in kinds}
        lines = {frozenset((names[a], names[b])) for a, b, kinds in shown if "line" in kinds}
        assert arrows == {(a, b) for a, sign, b in frame if sign == "->"}
        assert lines == {frozenset((a, b)) for a, sign, b in frame if sign == "-"}
        assert f"step {number} of {len(result.trace)}" in page.locator("#step-words").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.locator("#step-words").inner_text() == "the result"
    assert {frozenset((names[a], names[b])) for a, b, _ in drawn(page)} == {
        frozenset((edge.source, edge.target)) for edge in result.edge_list
    }


def test_the_chart_leads_to_its_steps(opened, made):
    page = opened("sachs")
    count = len(made("sachs").result.trace)
    box = page.locator("svg.chart").bounding_box()
    for share, step in [(0.002, 0), (0.06, 0), (0.06 + 0.93 * 4 / count, 4), (0.998, count)]:
        page.locator("svg.chart").click(position={"x": box["width"] * share, "y": 60})
        assert page.evaluate("kerncause.state.step") == step
    assert f"from 0 to {facts(page)['steps'][-1]['total']:.0f} nats" in page.locator("#search").inner_text()


def test_the_replay_plays_to_its_end(opened):
    page = opened("sachs")
    page.clock.install()
    page.click("#play")
    assert page.locator("#play").inner_text() == "Stop"
    page.clock.run_for(3_000)
    assert page.evaluate("kerncause.state.step") > 0
    page.click("#play")
    stopped = page.evaluate("kerncause.state.step")
    page.clock.run_for(3_000)
    assert page.evaluate("kerncause.state.step") == stopped
    page.click("#play")
    page.clock.run_for(30_000)
    assert page.evaluate("kerncause.state.step") is None
    assert page.locator("#play").inner_text() == "Replay the search"


def test_a_search_without_steps_says_so(opened):
    page = opened("empty")
    assert "tells no steps" in page.locator("#search").inner_text()
    assert not page.locator("#replay").is_visible()
    assert not page.locator("#filter").is_visible()
    assert "The search joined nothing" in details(page)


# ---------------------------------------------------------------- what it rests on


def test_everything_that_was_used_is_told(opened, made):
    page = opened("sachs")
    result = made("sachs").result
    told = page.locator("body").inner_text()
    words = shlex.split(page.locator("#command").inner_text())
    assert words == [
        "kerncause",
        "discover",
        result.data.origin.path,
        "--score",
        "bdeu",
        "--confidence",
        "10",
        "--out",
        "result",
    ]
    assert "score='bdeu', confidence=10" in page.locator("#python").inner_text()
    assert result.data.hash in told
    for version in facts(page)["versions"].values():
        assert version in page.locator("#versions").inner_text()
    assert page.locator("#nats").inner_text().startswith("A nat is a unit of log-likelihood.")
    for warning in facts(page)["warnings"]:
        assert warning in page.locator("#warnings").inner_text()
    assert page.locator("#data tbody tr").count() == len(result.graph.nodes)
    settings = page.locator("#again table").inner_text()
    assert "bdeu" in settings
    assert "ges" in settings


def test_the_strongest_and_the_least_certain_edge_are_one_click_away(opened, made):
    """Click paths: open the page, click "Strongest edge"; open the page, click "Least certain edge". One click each."""
    result = made("sachs").result
    strongest = max(result.edge_list, key=lambda edge: edge.gain)
    page = opened("sachs")
    page.click("[data-finding='Strongest edge']")
    assert f"{strongest.source} → {strongest.target} gains {strongest.gain:.1f} nats" in details(page)
    page = opened("sachs")
    page.click("[data-finding='Least certain edge']")
    shares = {(e.source, e.target): result.confidence.joined(e.source, e.target) for e in result.edge_list}
    chosen = next(e for e in facts(page)["edges"] if e["id"] == page.evaluate("kerncause.state.selected"))
    names = names_of(page)
    assert shares[names[chosen["source"]], names[chosen["target"]]] == min(shares.values())
    assert f"Of 10 halves of the rows, {min(shares.values()):.0%} join the two" in details(page)
    assert "uncertain" in details(page)


# ---------------------------------------------------------------- by keyboard


def test_the_keyboard_reaches_and_opens_an_edge(opened):
    page = opened("sachs")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('tr[data-edge]') !== null"):
            break
    edge = page.evaluate("document.activeElement.closest('tr[data-edge]').dataset.edge")
    page.keyboard.press("Tab")
    assert edge == "e0"
    page.keyboard.press("Enter")
    assert page.evaluate("kerncause.state.selected") == "e1"
    assert page.evaluate("document.activeElement.closest('#details') !== null")
    assert "Why" in details(page)
    page.keyboard.press("Escape")
    assert page.evaluate("kerncause.state.selected") is None
    assert page.locator("#details h2").inner_text() == "Edges, strongest first"
    assert page.evaluate("document.activeElement.closest('tr[data-edge]')?.dataset.edge") == "e1"


def test_the_graph_moves_by_keys(opened):
    page = opened("sachs")
    page.locator("#graph").focus()
    start = page.evaluate("({ ...kerncause.cy.pan(), zoom: kerncause.cy.zoom() })")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    moved = page.evaluate("kerncause.cy.pan()")
    assert moved["x"] < start["x"]
    assert moved["y"] < start["y"]
    page.keyboard.press("+")
    assert page.evaluate("kerncause.cy.zoom()") > start["zoom"]
    page.keyboard.press("-")
    page.keyboard.press("-")
    assert page.evaluate("kerncause.cy.zoom()") < start["zoom"]
    page.keyboard.press("0")
    assert page.evaluate("kerncause.cy.zoom()") == pytest.approx(start["zoom"])
    assert page.evaluate("kerncause.cy.pan().x") == pytest.approx(start["x"])


def test_focus_can_be_seen(opened):
    page = opened("sachs")
    for _ in range(25):
        page.keyboard.press("Tab")
        look = "getComputedStyle(document.activeElement)"
        style = [page.evaluate(f"{look}.outlineStyle"), page.evaluate(f"{look}.outlineWidth")]
        assert style == ["solid", "3px"]


def test_every_control_has_a_name(opened):
    page = opened("sachs")
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, input, select, [role=application]")].filter((e) =>
        !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length)).map((e) => e.outerHTML)"""
    )
    assert nameless == []


def test_a_smaller_window_keeps_the_place(opened):
    page = opened("sachs", PHONE, 844)
    page.evaluate("void kerncause.cy.zoom(2)")
    page.set_viewport_size({"width": PHONE, "height": 760})
    page.wait_for_timeout(100)
    assert page.evaluate("kerncause.cy.zoom()") == 2
    page.set_viewport_size({"width": 700, "height": 760})
    until(page, "kerncause.cy.zoom() !== 2")


# ---------------------------------------------------------------- dark, printed, small


@pytest.mark.parametrize("how", ["light", "dark", "button"])
@pytest.mark.parametrize("name", ["sachs", "learned"])
def test_words_and_edges_stand_out(opened, name, how):
    page = opened(name, color_scheme="dark" if how == "dark" else "light")
    if how == "button":
        page.click("#theme")
    dark = how != "light"
    assert page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == ("dark" if dark else "light")
    lightness = sum(map(int, re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))[:3]))
    assert (lightness < 150) == dark
    for view in page.evaluate("[...document.querySelectorAll('[data-view]')].map((b) => b.dataset.view)"):
        page.click(f"[data-view={view}]")
        assert page.evaluate("checks.faintGraph()") == []
        assert page.evaluate("checks.faintWords()") == []
    page.locator("#step").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("checks.faintGraph()") == []
    page.click("[data-finding='Least certain edge']")
    assert page.evaluate("checks.faintWords()") == []
    page.click("[data-view=class]")
    click_node(page, facts(page)["nodes"][0]["label"])
    assert page.evaluate("checks.faintWords()") == []
    page.evaluate("void kerncause.cy.elements().removeClass('faded')")
    assert page.evaluate("checks.faintGraph()") == []


def test_the_button_goes_back_to_light(opened):
    page = opened("empty", color_scheme="dark")
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    page.click("#theme")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_paper_the_picture_stands_for_the_graph(opened, made, scheme):
    page = opened("sachs", 794, color_scheme=scheme)
    page.emulate_media(media="print")
    assert page.locator("#static svg").is_visible()
    words = page.locator("#static svg text").all_text_contents()
    assert set(made("sachs").result.graph.nodes) <= set(words)
    for control in ("#graph", "#views", "#filter", "#replay", "#theme", "#findings"):
        assert not page.locator(control).is_visible()
    assert page.locator("#details tbody tr").count() == len(made("sachs").result.edge_list)
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.evaluate("checks.faintWords()") == []
    assert page.evaluate("checks.cut()") == []


def test_a_chosen_variable_is_printed_with_its_bars(opened):
    page = opened("sachs")
    click_node(page, "Akt")
    page.emulate_media(media="print")
    assert page.locator("#details svg.picture .bar").is_visible()
    assert not page.locator("#details nav").is_visible()


def test_a_finger_opens_an_edge_on_a_phone(opened):
    page = opened("sachs", PHONE, 844, has_touch=True, is_mobile=True, device_scale_factor=2)
    strongest = facts(page)["edges"][0]["id"]
    page.touchscreen.tap(*on_canvas(page, f"middleOf('{strongest}')"))
    until(page, "kerncause.state.selected !== null")
    assert page.evaluate("kerncause.state.selected") == strongest
    assert page.evaluate("document.getElementById('details').getBoundingClientRect().top") < 844


def test_names_can_be_read_on_a_phone(opened):
    page = opened("sachs", PHONE, 844)
    assert page.evaluate("kerncause.cy.zoom() * 13") >= 9
    box = page.evaluate("kerncause.cy.elements().renderedBoundingBox()")
    assert box["x1"] >= 0
    assert box["x2"] <= page.evaluate("kerncause.cy.width()")
