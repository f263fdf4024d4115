"""The report: what it tells, that it is one safe file, and that it says how to get the result again."""

import base64
import hashlib
import json
import re
import shlex
from dataclasses import replace
from itertools import chain, product, repeat
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import kerncause
from kerncause import DAG, OptionError, discover, load_result, networks
from kerncause.cli import app
from kerncause.data import Dataset
from kerncause.report import facts, report_of
from kerncause.report.again import command, python
from kerncause.report.pictures import _round_numbers, edge_picture, node_picture
from kerncause.search import replayed

ROOT = Path(__file__).parent.parent
VENDOR = ROOT / "src" / "kerncause" / "report" / "vendor"
EVIL = ["</script><script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "a 'quoted' & b", "tea ☕\nand\ttabs"]
runner = CliRunner()
pytestmark = pytest.mark.filterwarnings("ignore::kerncause.DataWarning")


def run(*words):
    return runner.invoke(app, [str(word) for word in words])


def table(n=90, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    y = np.tanh(2 * x) + 0.4 * rng.normal(size=n)
    dose = np.array(["low", "mid", "top"])[np.digitize(y, [-0.5, 0.5])]
    colour = np.array(["red", "green", "blue"])[np.digitize(x + rng.normal(size=n), [-0.4, 0.4])]
    return pd.DataFrame({"x": x, "y": y, "dose": dose, "colour": colour, "p": x + rng.normal(size=n), "q": y})


@pytest.fixture(scope="module")
def result():
    options = {"groups": {"pq": ["p", "q"]}, "levels": {"dose": ["low", "mid", "top"]}, "confidence": 4}
    return discover(table(), "learned", workers=1, **options)


@pytest.fixture(scope="module")
def told(result):
    return facts(result)


def inside(page):
    """The facts that a page carries."""
    return json.loads(re.search(r'id="facts">(.*?)</script>', page, re.S)[1])


def test_the_facts_are_those_of_the_result(result, told):
    names = {node["id"]: name for node, name in zip(told["nodes"], result.graph.nodes, strict=True)}
    for shown, edge in zip(told["edges"], result.strongest_first(), strict=True):
        assert (names[shown["source"]], names[shown["target"]]) == (edge.source, edge.target)
        assert shown["figure"] == edge.gain
        assert shown["joined"] == result.confidence.joined(edge.source, edge.target)
        assert (shown["kind"] == "arrow") == edge.directed
        assert (shown["kind"] == "leaning") == edge.leans
        why = result.explain(edge.source, edge.target)
        assert shown["reversed"] == pytest.approx(why.reversed_gain, abs=1e-6)
        assert any(f"{edge.gain:.1f} nats" in sentence for sentence in shown["why"])
        assert any("halves of the rows" in sentence for sentence in shown["why"])
    for node, name in zip(told["nodes"], result.graph.nodes, strict=True):
        assert {names[i] for i in node["parents"]} == result.dag.parents(name)
        assert {names[i] for i in node["children"]} == result.dag.children(name)
        assert (node["kind"], node["reason"]) == (result.data.variable(name).kind, result.data.variable(name).reason)
        assert (node["explained"] is None) == (not node["parents"])
    assert told["versions"]["kerncause"] == kerncause.__version__
    assert "not a Bayes factor" in told["nats"]


def test_the_steps_lead_to_the_graph(result, told):
    names = {node["id"]: name for node, name in zip(told["nodes"], result.graph.nodes, strict=True)}
    now = {}
    for step in told["steps"]:
        now |= {frozenset((a, b)): (names[a], sign, names[b]) for a, sign, b in step["changes"]}
    *_, last = replayed(result.trace)
    assert {join for join in now.values() if join[1]} == last
    assert [step["total"] for step in told["steps"]] == [step.total for step in result.trace]


def test_runner_ups_are_among_the_sets_that_the_search_scored():
    found = discover(table(seed=3), workers=1)
    before = found.ledger.computed
    for why in found.explanations:
        scored = [found.ledger.fit(why.target, other.parents) for other in why.runner_ups]
        for other, fit in zip(why.runner_ups, scored, strict=True):
            own = found.fits[why.target].value
            assert other.behind == pytest.approx(own - fit.value, abs=1e-9)
    turned = sum(why.reversed_gain is not None for why in found.explanations)
    assert found.ledger.computed - before <= turned, "only turning an edge round may need a new score"
    assert any(why.runner_ups for why in found.explanations)


def test_a_result_that_was_read_back_gives_the_same_report(tmp_path):
    table().to_csv(tmp_path / "table.csv", index=False)
    result = discover(tmp_path / "table.csv", workers=1)
    result.save(tmp_path / "out")
    written = (tmp_path / "out" / "report.html").read_text(encoding="utf-8")
    loaded = load_result(tmp_path / "out")
    assert [why.sentences() for why in loaded.explanations] == [why.sentences() for why in result.explanations]
    assert report_of(loaded) == written
    assert run("report", tmp_path / "out", "--to", tmp_path / "again.html").exit_code == 0
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == written


def test_the_report_can_be_left_out(tmp_path):
    table(40)[["x", "y"]].to_csv(tmp_path / "table.csv", index=False)
    ran = run("discover", tmp_path / "table.csv", "--out", tmp_path / "out", "--no-report", "--workers", 1)
    assert ran.exit_code == 0, ran.output
    assert not (tmp_path / "out" / "report.html").exists()
    assert "Open the report" not in ran.output
    assert "report.html" in run("report", tmp_path / "out").output.replace("\n", "")
    assert (tmp_path / "out" / "report.html").exists()


def scripts_of(page):
    return re.findall(r"<script>(.*?)</script>", page, re.S)


def test_the_page_is_one_file_that_fetches_nothing(result):
    page = report_of(result)
    hashes = {base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in scripts_of(page)}
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    assert set(re.findall(r"'sha256-([^']*)'", policy)) == hashes
    assert "default-src 'none'" in policy
    own = page
    for script in scripts_of(page):
        own = own.replace(script, "")
    assert not re.search(r"<link|<iframe|<base|@import|url\(|\ssrc=|https?://(?!www\.w3\.org)", own)
    assert "sourceMappingURL" not in page
    assert not re.search(r"@(policy|title|style|picture|facts|scripts)@", page)


def test_twenty_variables_stay_under_two_megabytes():
    found = discover(networks.load("child").sample(300, seed=1), score="bdeu", workers=1)
    assert len(found.graph.nodes) == 20
    assert len(report_of(found).encode()) < 2_000_000


def test_what_looks_like_html_stays_text(tmp_path):
    frame = table(60)[["x", "y", "dose", "colour"]].rename(
        columns=dict(zip(["x", "y", "dose", "colour"], EVIL, strict=True))
    )
    frame[EVIL[2]] = frame[EVIL[2]].map({"low": EVIL[0], "mid": EVIL[1], "top": "x" * 10_000})
    frame["n" * 10_000] = np.arange(60.0) ** 0.5
    found = discover(frame, workers=1)
    page = found.report(tmp_path / "evil.html").read_text(encoding="utf-8")
    block = re.search(r'id="facts">(.*?)</script>', page, re.S)[1]
    assert not set("<>&") & set(block)
    assert "<script>alert" not in page
    assert "<img" not in page
    assert len(page) < 1_000_000
    carried = inside(page)
    assert [node["name"] for node in carried["nodes"]][:2] == EVIL[:2]
    assert "\n" not in carried["nodes"][3]["name"]
    for part in (*carried["nodes"], *carried["edges"]):
        ElementTree.fromstring(part["picture"])
        assert "<script" not in part["picture"]


@pytest.mark.parametrize("name", ["null \x00 byte", "\u202eright to left"])
def test_odd_characters_can_be_written(name, tmp_path):
    frame = table(40)[["x", "y"]].rename(columns={"x": name})
    found = discover(frame, workers=1)
    page = found.report(tmp_path / "odd.html").read_text(encoding="utf-8")
    assert len(inside(page)["nodes"]) == 2


def test_the_libraries_are_the_ones_that_were_fetched():
    written = json.loads((VENDOR / "versions.json").read_text())
    assert {entry["file"] for entry in written} == {p.name for p in VENDOR.iterdir()} - {"versions.json"}
    for entry in written:
        assert hashlib.sha256((VENDOR / entry["file"]).read_bytes()).hexdigest() == entry["sha256"]
    source = (ROOT / "tools" / "vendor.py").read_text()
    assert all(f'"{entry["package"]}"' in source for entry in written)
    assert sum("LICENSE" in entry["file"] for entry in written) == 2


def test_the_truth_is_compared_pair_by_pair():
    nodes = ["x", "y", "dose", "colour"]
    found = discover(table(seed=5)[nodes], workers=1)
    truth = DAG(nodes, [("x", "y"), ("y", "dose"), ("dose", "colour")])
    told = facts(found, truth)["truth"]
    names = {f"n{k}": name for k, name in enumerate(found.graph.nodes)}
    verdicts = {frozenset((names[e["source"]], names[e["target"]])): e["verdict"] for e in told["edges"]}
    skeleton, true = found.graph.skeleton, truth.skeleton
    assert set(verdicts) == skeleton | true
    for pair, verdict in verdicts.items():
        assert (verdict == "missing") == (pair not in skeleton)
        assert (verdict == "extra") == (pair not in true)
    wrong = [verdict for verdict in verdicts.values() if verdict != "right"]
    assert told["said"][0] == f"{len(verdicts) - len(wrong)} of {len(verdicts)} pairs are right."
    assert len(told["said"]) == 1 + len(wrong)
    assert told["figures"]["skeleton F1"] == f"{kerncause.metrics.compare(truth, found.graph).skeleton.f1:.3f}"


@pytest.mark.parametrize(
    ("found", "true", "true_class", "verdict"),
    [
        (("a", "->", "b"), ("a", "->", "b"), ("a", "->", "b"), "right"),
        (("a", "->", "b"), ("a", "->", "b"), ("a", "-", "b"), "right"),
        (("b", "->", "a"), ("a", "->", "b"), ("a", "-", "b"), "turned"),
        (("a", "-", "b"), ("a", "->", "b"), ("a", "-", "b"), "right"),
        (("a", "-", "b"), ("a", "->", "b"), ("a", "->", "b"), "open"),
        (("a", "->", "b"), ("a", "-", "b"), ("a", "-", "b"), "right"),
        (None, ("a", "->", "b"), ("a", "->", "b"), "missing"),
        (("a", "->", "b"), None, None, "extra"),
    ],
)
def test_verdicts(found, true, true_class, verdict):
    from kerncause.report.facts import _verdict

    assert _verdict(found, true, true_class) == verdict


def test_a_truth_over_other_variables_is_refused(tmp_path):
    table(40)[["x", "y"]].to_csv(tmp_path / "table.csv", index=False)
    discover(tmp_path / "table.csv", workers=1).save(tmp_path / "out", report=False)
    (tmp_path / "truth.json").write_text('{"nodes": ["x", "z"], "directed": [["x", "z"]], "undirected": []}')
    ran = run("report", tmp_path / "out", "--truth", tmp_path / "truth.json")
    assert ran.exit_code != 0
    assert "z" in ran.output
    assert not (tmp_path / "out" / "report.html").exists()


AGAIN = [
    [],
    ["--search", "boss", "--restarts", "1", "--seed", "3"],
    ["--search", "exact", "--prune", "3"],
    ["--search", "pc", "--test", "kci", "--alpha", "0.2"],
    ["--preset", "paper"],
    ["--preset", "adaptive"],
    ["--preset", "adaptive", "--search", "ges", "--candidates", "1"],
    ["--score", "marginal", "--max-parents", "1", "--turning"],
    ["--score", "cv", "--set", "folds=5"],
    ["--set", "starts=3", "--engine", "dense"],
    ["--tier", "x", "--tier", 'y,"a, b"', "--forbid", "x>y", "--require", '"a, b">"c > d"'],
    ["--confidence", "2", "--confidence-rows", "bootstrap"],
    ["--kind", "x=ordinal", "--drop", "y"],
    ["--na", "y=0", "--na", "c > d=red"],
]


@pytest.mark.parametrize("words", AGAIN, ids=lambda words: " ".join(words) or "nothing")
def test_the_command_gives_the_result_again(words, tmp_path):
    frame = table(50).rename(columns={"dose": "a, b", "colour": "c > d"})[["x", "y", "a, b", "c > d", "p"]]
    frame["x"] = frame["x"].round(1)
    frame.loc[4, "a, b"] = "?"
    frame.to_csv(tmp_path / "my table.csv", index=False, sep=";")
    read = ["--sep", ";", "--levels", "a, b=low,mid,top", "--na", "a, b=?", "--missing", "drop", "--group", "g=p"]
    ran = run("discover", tmp_path / "my table.csv", *read, *words, "--out", tmp_path / "one", "--workers", 1)
    assert ran.exit_code == 0, ran.output
    first = load_result(tmp_path / "one")
    again = shlex.split(command(first))
    assert again[0] == "kerncause"
    ran = run(*again[1:], "--out", tmp_path / "two", "--workers", 1)
    assert ran.exit_code == 0, ran.output
    one, two = (json.loads((tmp_path / place / "graph.json").read_text()) for place in ("one", "two"))
    for written in (one, two):
        written.pop("seconds")
        written["settings"].pop("search_because", None)  # the command names what the table's size decided
    assert one == two
    third = eval(python(first), {"kerncause": kerncause})
    assert third.graph == first.graph
    assert [edge.gain for edge in third.edge_list] == [edge.gain for edge in first.edge_list]


def test_what_only_python_can_be_told_is_told_in_python(tmp_path):
    table(40)[["x", "y", "p"]].to_csv(tmp_path / "t.csv", index=False)
    options = {"score_options": {"noise_bounds": (0.01, 5.0)}, "knowledge": {"roots": ["x"]}}
    found = discover(tmp_path / "t.csv", workers=1, **options)
    assert command(found) is None
    assert eval(python(found), {"kerncause": kerncause}).score == found.score
    of_frame = discover(table(40)[["x", "y"]], workers=1)
    assert command(of_frame) is None
    named = {True: "score='learned'", False: "preset='adaptive'"}[of_frame.settings["preset"] is None]
    assert python(of_frame) == f"kerncause.discover(table, {named})"


KINDS = ["x", "dose", "colour", "pq"]


@pytest.mark.parametrize(("a", "b"), [pair for pair in product(KINDS, KINDS) if pair[0] != pair[1]])
def test_every_pair_of_kinds_has_a_picture(a, b, result):
    drawn = ElementTree.fromstring(edge_picture(result.data, a, b, None))
    numbers = {"x", "pq"}
    kinds = [e.get("class") or "" for e in drawn.iter()]
    if {a, b} <= numbers:
        assert "points" in kinds
    elif {a, b} & numbers:
        assert kinds.count("box") == 3
    else:
        assert sum(kind.startswith("part") for kind in kinds) == 3 * 3 + 3


def test_a_mosaic_shows_the_shares():
    frame = pd.DataFrame(
        {"a": ["u"] * 30 + ["v"] * 10, "b": (["k"] * 15 + ["l"] * 15) + ["k"] * 10, "c": np.arange(40.0) ** 0.5}
    )
    drawn = edge_picture(Dataset.from_frame(frame), "a", "b", None)
    assert {"u: 50% k", "u: 50% l", "v: 100% k", "v: 0% l"} == set(re.findall(r"<title>(.*?)</title>", drawn))


def test_a_caption_speaks_of_what_is_drawn(told):
    for edge in told["edges"]:
        has_model = 'class="curve"' in edge["picture"] or 'class="mean"' in edge["picture"]
        assert bool(edge["caption"]) == has_model
    assert any(edge["caption"] for edge in told["edges"])


def test_a_curve_is_drawn_where_the_model_has_one(result):
    why = next(why for why in result.explanations if why.curve is not None and why.curve.spread is not None)
    drawn = edge_picture(result.data, why.source, why.target, why.curve)
    assert 'class="curve"' in drawn or 'class="mean"' in drawn


@pytest.mark.parametrize("name", ["x", "dose", "colour", "pq"])
def test_every_kind_has_a_distribution(name, result):
    drawn = ElementTree.fromstring(node_picture(result.data, name))
    assert "bar" in [e.get("class") for e in drawn.iter()]
    for e in drawn.iter():
        assert not re.search(r"nan|inf", " ".join(e.attrib.values()))


def test_words_with_an_order_are_no_numbers():
    words = [f"w{k}" for k in range(12)]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": [words[k] for k in rng.integers(0, 12, 200)], "count": rng.integers(0, 12, 200)})
    data = Dataset.from_frame(frame, levels={"size": words}, kinds={"count": "ordinal"})
    assert ">w3<" in node_picture(data, "size") or ">+5<" in node_picture(data, "size")
    assert ">+5<" not in node_picture(data, "count")


def test_many_levels_are_gathered():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"city": [f"c{k}" for k in rng.integers(0, 30, 400)], "y": rng.normal(size=400)})
    data = Dataset.from_frame(frame, kinds={"city": "categorical"})
    assert ">+23<" in node_picture(data, "city")
    assert edge_picture(data, "city", "y", None).count('class="box"') == 8


def test_the_warnings_say_what_is_shaky(result, told):
    shaky = [e for e in result.edge_list if result.confidence.joined(e.source, e.target) < 0.75]
    assert any("Fewer than 75%" in words for words in told["warnings"]) == bool(shaky)
    plain = discover(table(40)[["x", "y"]], workers=1)
    assert any("--confidence 100" in words for words in facts(plain)["warnings"])


@pytest.mark.parametrize("numbers", [[1.7e308, -1.7e308], [1.7e9, 1.7e9 + 60]])
def test_odd_ranges_can_be_shown(numbers):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"wide": rng.choice(numbers, 60), "y": rng.normal(size=60)})
    frame["wide"] = frame["wide"] * np.where(rng.random(60) < 0.5, 1.0, 0.999)
    data = Dataset.from_frame(frame, kinds={"wide": "continuous"})
    for drawn in (node_picture(data, "wide"), edge_picture(data, "wide", "y", None)):
        ticks = re.findall(r'class="tick"[^>]*>([^<]*)<', drawn)
        assert ticks
        assert not re.search(r"nan|inf", drawn)
    labels = [words for _, words in _round_numbers(1.7e9, 1.7e9 + 5e6)]
    assert len(set(labels)) == len(labels) > 2


def test_directions_from_knowledge_are_not_said_to_come_from_the_data():
    frame = table(80)[["x", "y"]]
    told = facts(discover(frame, workers=1, knowledge={"tiers": [["x"], ["y"]]}))
    [edge] = told["edges"]
    assert edge["kind"] == "arrow"
    assert any("follows from what was known beforehand" in sentence for sentence in edge["why"])
    assert not any("explains the data as well" in sentence for sentence in edge["why"])


def test_repetitions_that_were_not_done_are_told():
    frame = table(60)[["x", "y"]]
    whole = discover(frame, score="bic", workers=1)
    answers = chain([False] * (whole.scores_computed + 3), repeat(True))
    found = discover(frame, score="bic", workers=1, confidence=50, stop=lambda: next(answers))
    told = facts(found)
    assert any(f"{found.confidence.replicates} of the 50 repetitions" in words for words in told["warnings"])
    assert "confidence=50" in told["python"]
    early = discover(frame, score="bic", workers=1, confidence=50, stop=lambda: True)
    assert early.confidence is None
    assert any("0 of the 50 repetitions" in words for words in facts(early)["warnings"])
    assert facts(early)["finished"] is False


def test_what_a_nat_means_depends_on_the_score():
    told = facts(discover(table(60)[["x", "y"]], score="bic", workers=1))
    assert "approximate logarithms of Bayes factors" in told["nats"]


def test_an_edge_without_evidence_is_not_the_strongest():
    frame = table(90, seed=2)[["x", "y", "p"]]
    found = discover(frame, search="pc", test="fisher-z", workers=1, knowledge={"required": [["p", "y"]]})
    last = facts(found)["edges"][-1]
    assert last["figure"] is None
    assert any("required beforehand" in sentence for sentence in last["why"])


def test_a_notebook_shows_the_graph(result):
    shown = result._repr_html_()
    assert ElementTree.fromstring(shown[shown.index("<svg") : shown.rindex("</svg>") + 6]) is not None


def test_other_ways_of_discovery_have_a_report():
    frame = table(60)
    for options in ({"search": "pc", "test": "fisher-z"}, {"score": "bic"}):
        found = discover(frame[["x", "y", "p", "q"]], workers=1, **options)
        shown = inside(report_of(found))
        assert len(shown["edges"]) == len(found.edge_list)
        assert all(edge["why"] for edge in shown["edges"])


def test_a_directory_is_no_place_for_a_report(result, tmp_path):
    with pytest.raises(OptionError, match="is a directory"):
        result.report(tmp_path)


def test_what_a_preset_took_in_another_version_is_told_in_full(tmp_path):
    table(40)[["x", "y", "p"]].to_csv(tmp_path / "t.csv", index=False)
    found = discover(tmp_path / "t.csv", preset="adaptive", workers=1)
    assert "--search" not in command(found)
    pruned = replace(
        found, settings={**found.settings, "search_options": {"max_parents": None, "prune": 3.0, "lookahead": 3}}
    )
    assert "--preset adaptive --prune 3.0 --lookahead 3" in command(pruned)
    assert "prune=3.0, lookahead=3" in python(pruned)
    other = replace(found, settings={**found.settings, "search": "boss"})
    assert "--preset adaptive" in command(other)
    assert "--search boss" in command(other)
    assert "search='boss'" in python(other)
    for one in (pruned, other):
        assert "None" not in command(one)


def test_the_page_says_which_preset_and_what_its_nats_are():
    told = facts(discover(table(60), preset="adaptive", workers=1))
    assert "found by exact with the score learned and the preset adaptive in" in told["summary"]
    assert told["nats"].startswith("A nat is a unit of log-probability.")
    plain = facts(discover(table(60), score="learned", max_parents=1, workers=1))
    assert "preset" not in plain["summary"]
    assert "composite likelihood" in plain["nats"]


@pytest.mark.parametrize("lookahead", [1, 2])
def test_a_search_of_a_preset_that_was_named_comes_again_as_it_was(tmp_path, lookahead):
    """BOSS has a lookahead of 2 in the preset for nine variables, whether it is named or not."""
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.integers(0, 2, (30, 9)), columns=list("abcdefghi")).to_csv(tmp_path / "t.csv", index=False)
    found = discover(tmp_path / "t.csv", preset="adaptive", search="boss", lookahead=lookahead, restarts=0, workers=1)
    assert ("--lookahead 1" in command(found)) == (lookahead == 1)
    assert ("lookahead=1" in python(found)) == (lookahead == 1)
