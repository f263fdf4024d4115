import json
import re
import warnings

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import kerncause
from kerncause import (
    ComputationError,
    Dataset,
    DataWarning,
    LearnedKernelScore,
    OptionError,
    discover,
    networks,
    presets,
)
from kerncause.metrics import skeleton_accuracy
from kerncause.plan import Plan
from kerncause.presets import DISCRETE, NUMBERS, PRESETS, VECTORS, Extent, Recommendation
from kerncause.scores import Comparison, Ledger
from kerncause.search import find_search


def mixed_frame(n=150, seed=1):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = np.tanh(2 * a) + 0.4 * rng.normal(size=n)
    level = np.digitize(b + 0.3 * rng.normal(size=n), [-0.8, 0, 0.8])
    flag = rng.random(n) < 0.4
    x = a * np.where(flag, 1, -1) + 0.4 * rng.normal(size=n)
    y = x + rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "level": level, "flag": flag, "x": x, "y": y})


@pytest.fixture(scope="module")
def mixed():
    return discover(mixed_frame(), "learned", groups={"xy": ["x", "y"]}, workers=1)


@pytest.fixture(scope="module")
def sachs():
    return discover(networks.load("sachs").sample(500, seed=9), workers=1)


def edges_of(result, names=None):
    """Edges with their exact gains, under other names."""
    names = names or {}
    return {
        (frozenset(named) if not e.directed else named, e.gain, e.bandwidth)
        for e in result.edge_list
        for named in [(names.get(e.source, e.source), names.get(e.target, e.target))]
    }


def test_a_result_has_what_was_promised(mixed):
    figures = ["gain", "bandwidth", "preference", "probability"]
    assert mixed.edges.columns.tolist() == ["source", "target", "directed", *figures]
    assert len(mixed.edges) == len(mixed.graph.skeleton)
    assert set(mixed.graph.nodes) == {"a", "b", "level", "flag", "xy"}
    assert mixed.dag.to_cpdag() == mixed.graph
    assert mixed.score == pytest.approx(sum(fit.value for fit in mixed.fits.values()))
    assert mixed.trace[-1].edges == len(mixed.edges)
    assert "variables" in repr(mixed)
    assert frozenset({"a", "b"}) in mixed.graph.skeleton


def test_gains_are_what_the_score_loses_without_the_edge(mixed):
    score = LearnedKernelScore(mixed.data)
    for parent, child in mixed.dag.edges:
        parents = mixed.dag.parents(child)
        loss = score.local_score(child, parents) - score.local_score(child, parents - {parent})
        row = next(e for e in mixed.edge_list if {e.source, e.target} == {parent, child})
        assert row.gain == pytest.approx(loss)
        assert row.bandwidth == score.fit(child, parents).bandwidths[parent]


def test_networkx_carries_the_gains(mixed):
    graph = mixed.to_networkx()
    assert isinstance(graph, nx.DiGraph)
    for edge in mixed.edge_list:
        assert graph.edges[edge.source, edge.target]["gain"] == edge.gain
        assert graph.has_edge(edge.target, edge.source) == (not edge.directed)


def test_order_and_names_change_nothing_mixed(mixed):
    frame = mixed_frame()
    shuffled = frame.sample(frac=1, random_state=3)[["y", "level", "x", "b", "flag", "a"]]
    names = {"a": "zebra", "b": "yak", "level": "b", "flag": "a"}
    other = discover(shuffled.rename(columns=names), "learned", groups={"xy": ["y", "x"]}, workers=1)
    assert edges_of(other) == edges_of(mixed, names)
    assert [s.gain for s in other.trace] == [s.gain for s in mixed.trace]
    assert other.score == pytest.approx(mixed.score, rel=1e-12)


def test_order_and_names_change_nothing_discrete(sachs):
    frame = networks.load("sachs").sample(500, seed=9)
    rng = np.random.default_rng(0)
    columns = list(rng.permutation(frame.columns))
    names = dict(zip(frame.columns, rng.permutation(frame.columns), strict=True))
    other = discover(frame.sample(frac=1, random_state=1)[columns].rename(columns=names), workers=1)
    assert edges_of(other) == edges_of(sachs, names)
    assert [s.gain for s in other.trace] == [s.gain for s in sachs.trace]


def test_two_workers_give_what_one_gives(sachs, mixed):
    twice = discover(networks.load("sachs").sample(500, seed=9), workers=2)
    assert edges_of(twice) == edges_of(sachs)
    assert twice.trace == sachs.trace
    assert twice.scores_computed == sachs.scores_computed
    assert edges_of(discover(mixed_frame(), "learned", groups={"xy": ["x", "y"]}, workers=2)) == edges_of(mixed)


def test_sachs_and_child_are_found():
    """On seeds of its own; the full-size figure is a line of the benchmark."""
    for name, least in (("sachs", 0.85), ("child", 0.85)):
        network = networks.load(name)
        sample = network.sample(1000, seed=77)
        found = discover(sample.loc[:, sample.nunique() > 1])
        assert skeleton_accuracy(network.dag, found.graph).f1 >= least


def test_max_parents_is_honoured(sachs):
    limited = discover(networks.load("sachs").sample(500, seed=9), max_parents=1)
    assert max(len(limited.dag.parents(v)) for v in limited.graph.nodes) <= 1
    assert max(len(sachs.dag.parents(v)) for v in sachs.graph.nodes) > 1
    assert limited.settings["search_options"]["max_parents"] == 1


def test_the_adaptive_preset_finds_causes_that_show_only_together():
    rng = np.random.default_rng(3)
    a, b, c = rng.normal(size=(3, 150))
    swing = np.cos(2 * (a + b)) + 0.1 * rng.normal(size=150)
    level = np.digitize(c + 0.3 * rng.normal(size=150), [-0.5, 1.0])
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "swing": np.exp(3 * swing), "level": level})
    found = discover(frame, preset="adaptive", workers=1)
    assert found.settings["search"] == "exact"
    assert "5 variables" in found.settings["search_because"]
    assert "preset adaptive, search exact, because of 5 variables" in repr(found)
    assert set(found.dag.edges) == {("a", "swing"), ("b", "swing"), ("c", "level")}
    assert found.settings["preset"] == "adaptive"
    with pytest.raises(OptionError, match="preset adaptive means evidence=bic"):
        discover(frame, preset="adaptive", score_options={"evidence": "none"})


def test_the_adaptive_preset_takes_the_search_that_suits_the_number_of_variables():
    def planned(count, **options):
        return Plan.of(preset="adaptive", **options).for_table(Extent(count, 100))

    assert [planned(count).search for count in (2, 8, 9, 12, 13, 200)] == ["exact"] * 2 + ["boss"] * 2 + ["ges"] * 2
    assert planned(11).search_options["lookahead"] == 2
    assert planned(11, search_options={"lookahead": 1}).search_options["lookahead"] == 1
    assert planned(8).search_options == {"max_parents": None, "prune": None, "lookahead": 1}
    assert planned(8, search_options={"max_parents": 2}).search_options["max_parents"] == 2
    assert planned(200).search_options["candidates"] == 10
    assert "8 variables" in planned(8).why
    assert planned(8, search="ges").search == "ges"
    assert planned(8, search="ges").why is None
    assert [planned(count, search="boss").search_options["lookahead"] for count in (8, 11, 13)] == [1, 2, 1]
    assert planned(11, search="boss", search_options={"lookahead": 1}).search_options["lookahead"] == 1
    assert planned(8, search="exact").search_options == {"max_parents": None, "prune": None, "lookahead": 1}
    with pytest.raises(
        OptionError, match=r"search exact is taken .* not use restarts .* --preset adaptive --search boss$"
    ):
        planned(4, search_options={"restarts": 3})
    with pytest.raises(OptionError, match=r"preset adaptive does not use alpha \(--alpha\)"):
        planned(4, search_options={"alpha": 0.1})


def small_tables_are_adaptive(monkeypatch):
    rows = (Recommendation(30, 1000, "adaptive", "it does best"), Recommendation(None, None, None, "all else is slow"))
    monkeypatch.setattr(presets, "RECOMMENDED", rows)


def test_what_nobody_asked_for_follows_from_the_size_of_the_table(monkeypatch):
    small_tables_are_adaptive(monkeypatch)
    small, many, long = (Plan.of().for_table(Extent(*size)) for size in ((8, 1000), (31, 1000), (8, 1001)))
    assert (small.preset, small.search, small.search_options["lookahead"]) == ("adaptive", "exact", 1)
    assert small.options == PRESETS["adaptive"].score
    assert small.why.startswith("8 variables and 1,000 rows: it does best; every parent set")
    for other in (many, long):
        assert (other.preset, other.score, other.search, other.options) == (None, "learned", "ges", {})
        assert other.why.endswith("all else is slow")
    assert Plan.of().for_table(Extent(12, 100)).search == "boss"
    assert (Plan.of().for_table(Extent(20, 100)).preset, Plan.of().for_table(Extent(20, 100)).search) == (
        "adaptive",
        "ges",
    )


@pytest.mark.parametrize(
    "named",
    [
        {"score": "learned"},
        {"search": "ges"},
        {"preset": "paper"},
        {"score": "learned", "score_options": {"kernel": "matern32"}},
        {"search": "ges", "search_options": {"turning": True}},
    ],
)
def test_what_was_asked_for_is_what_it_was(named, monkeypatch):
    before = Plan.of(**named).for_table(Extent(8, 100))
    small_tables_are_adaptive(monkeypatch)
    after = Plan.of(**named).for_table(Extent(8, 100))
    assert (after.score, after.search, after.preset, after.options, after.search_options, after.why) == (
        before.score,
        before.search,
        before.preset,
        before.options,
        before.search_options,
        None,
    )


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ({"score_options": {"kernel": "matern32"}}, "kernel (--set), which the preset adaptive settles by itself"),
        ({"score_options": {"bandwidths": "shared", "engine": "dense"}}, "bandwidths (--set), which the preset"),
        ({"search_options": {"turning": True}}, "turning (--turning), which search exact of the preset adaptive does"),
        ({"search_options": {"candidates": 3, "max_parents": 2}}, "candidates (--candidates), which search exact"),
    ],
)
def test_options_that_what_suits_the_table_does_not_take_bring_the_default_and_it_says_so(asked, why, monkeypatch):
    small_tables_are_adaptive(monkeypatch)
    plan = Plan.of(**asked).for_table(Extent(8, 100))
    assert (plan.preset, plan.score, plan.search) == (None, "learned", "ges")
    assert plan.is_recommended
    assert plan.why.startswith(why)
    assert plan.options.items() >= asked.get("score_options", {}).items()
    assert plan.search_options.items() >= asked.get("search_options", {}).items()
    assert plan.search_options.keys() == find_search("ges").options.keys()


def test_options_of_the_search_that_suits_the_table_leave_open_what_is_taken(monkeypatch):
    """What other tables get does not matter, only what this one would."""
    small_tables_are_adaptive(monkeypatch)
    for size, asked, search in (
        (8, {"prune": 3.0, "lookahead": 2}, "exact"),
        (12, {"restarts": 5}, "boss"),
        (12, {"candidates": 4}, "boss"),
        (20, {"turning": True}, "ges"),
    ):
        plan = Plan.of(search_options=asked).for_table(Extent(size, 100))
        assert (plan.preset, plan.search) == ("adaptive", search)
        assert plan.search_options.items() >= asked.items()
    with pytest.raises(OptionError, match=r"^restarts \(--restarts\) is for --search boss: name it as well"):
        Plan.of(search_options={"restarts": 5}).for_table(Extent(8, 100))
    with pytest.raises(OptionError, match=r"^lookahead .* is for --search boss or exact: name it"):
        Plan.of(search_options={"lookahead": 2}).for_table(Extent(40, 100))
    with pytest.raises(OptionError, match=r"^no search uses .* together: leave out one of them"):
        Plan.of(search_options={"prune": 1.0, "turning": True})
    with pytest.raises(OptionError, match=r"^restarts .* is for --search boss: name it"):
        Plan.of(score="learned", search_options={"restarts": 5, "max_parents": 2})


def test_how_it_is_computed_leaves_open_what_is_taken(monkeypatch):
    small_tables_are_adaptive(monkeypatch)
    plan = Plan.of(score_options={"engine": "lowrank"}).for_table(Extent(8, 100))
    assert plan.options == {**PRESETS["adaptive"].score, "engine": "lowrank"}
    assert Plan.of(score_options={"tolerance": 0.01}).for_table(Extent(8, 100)).options["tolerance"] == 0.01
    assert Plan.of(preset="adaptive", score_options={"tolerance": 0.01}).options["tolerance"] == 0.01
    with pytest.raises(OptionError, match="preset paper means starts=1, not 2"):
        Plan.of(preset="paper", score_options={"starts": 2})
    assert Plan.of(search_options={"max_parents": 2}).for_table(Extent(8, 100)).search_options["max_parents"] == 2
    degree = Plan.of(score_options={"expected_degree": 2.0}).for_table(Extent(8, 100))
    assert (degree.preset, degree.options["expected_degree"]) == ("adaptive", 2.0)
    with pytest.raises(OptionError, match=r"^alpha \(--alpha\) is for --search pc"):
        Plan.of(search_options={"alpha": 0.1})


def test_every_table_has_something_recommended():
    for size in ((2, 5), (8, 500), (100, 100), (5, 10**7)):
        for kinds in ({NUMBERS}, {DISCRETE}, {NUMBERS, DISCRETE, VECTORS}):
            assert presets.recommended(Extent(*size, frozenset(kinds))).preset in (None, *PRESETS)


@pytest.mark.parametrize(
    ("kinds", "size", "preset", "search"),
    [
        ({NUMBERS}, (8, 2000), "adaptive", "exact"),
        ({NUMBERS}, (9, 100), None, "ges"),
        ({NUMBERS}, (8, 2001), None, "ges"),
        ({NUMBERS, DISCRETE}, (8, 100), "adaptive", "exact"),
        ({NUMBERS, DISCRETE}, (9, 100), None, "ges"),
        ({NUMBERS, VECTORS}, (8, 500), "adaptive", "exact"),
        ({VECTORS}, (9, 100), None, "ges"),
        ({VECTORS}, (8, 501), None, "ges"),
        ({VECTORS, DISCRETE}, (8, 100), None, "ges"),
        ({DISCRETE}, (11, 2000), "adaptive", "boss"),
        ({DISCRETE}, (20, 2000), "adaptive", "ges"),
        ({DISCRETE}, (21, 100), None, "ges"),
    ],
)
def test_what_was_measured_to_do_best_is_taken_where_it_was_measured(kinds, size, preset, search):
    extent = Extent(*size, frozenset(kinds))
    plan = Plan.of().for_table(extent)
    assert (plan.score, plan.preset, plan.search) == ("learned", preset, search)
    said = "--preset adaptive is right more often on smaller" if preset is None else "it was right most often"
    assert plan.why.startswith(f"{extent}: {said}")


def test_a_table_gets_what_suits_it_and_the_result_says_so():
    found = discover(mixed_frame(60), workers=1)
    assert found.settings["preset"] == "adaptive"
    assert found.settings["search_because"].startswith(str(Extent.of(found.data)))
    assert "preset adaptive, search exact, because of" in repr(found)
    assert "because" not in repr(discover(mixed_frame(60), score="learned", workers=1))


@pytest.mark.parametrize(
    ("kinds", "meant"),
    [
        ({NUMBERS}, ("levels", "local")),
        ({NUMBERS, DISCRETE}, ("levels", "even")),
        ({DISCRETE}, ("levels", "even")),
        ({NUMBERS, VECTORS}, ("levels", "even")),
        ({VECTORS, DISCRETE}, ("levels", "even")),
    ],
)
def test_what_the_adaptive_preset_means_follows_from_the_kinds(kinds, meant):
    plan = Plan.of(preset="adaptive").for_table(Extent(6, 100, frozenset(kinds)))
    assert (plan.options["response_scaling"], plan.options["noise"]) == meant
    assert plan.for_table(Extent(6, 100, frozenset(kinds))).options == plan.options
    rest = {name: value for name, value in plan.options.items() if name not in ("response_scaling", "noise")}
    assert rest.items() <= PRESETS["adaptive"].score.items()


def test_what_a_preset_means_for_another_table_is_refused():
    asked = Plan.of(preset="adaptive", score_options={"noise": "even"})
    assert asked.for_table(Extent(6, 100, frozenset({NUMBERS, DISCRETE}))).options["noise"] == "even"
    with pytest.raises(OptionError, match="means noise=local for 6 variables and 100 rows, not even"):
        asked.for_table(Extent(6, 100))
    with pytest.raises(OptionError, match="preset adaptive means response_scaling=levels, not power"):
        Plan.of(preset="adaptive", score_options={"response_scaling": "power"})


def test_the_extent_of_a_table():
    frame = mixed_frame(30)
    assert Extent.of(Dataset.from_frame(frame)) == Extent(len(frame.columns), 30, frozenset({NUMBERS, DISCRETE}))
    discrete = networks.load("sachs").sample(40, seed=1)
    assert Extent.of(Dataset.from_frame(discrete)) == Extent(11, 40, frozenset({DISCRETE}))
    assert str(Extent(11, 2000, frozenset({DISCRETE}))) == "11 discrete variables and 2,000 rows"


def test_the_paper_preset():
    frame = networks.load("sachs").sample(300, seed=2)
    paper = discover(frame, preset="paper")
    assert paper.settings["score_options"]["bandwidths"] == "shared"
    assert paper.settings["score_options"]["starts"] == 1
    for name, fit in paper.fits.items():
        assert len(set(fit.bandwidths.values())) <= 1, name
    with pytest.raises(OptionError, match="preset paper means bandwidths=shared"):
        discover(frame, preset="paper", score_options={"bandwidths": "per-parent"})
    with pytest.raises(OptionError, match="preset paper means max_parents=None"):
        discover(frame, preset="paper", max_parents=0)
    with pytest.raises(OptionError, match="there is no preset 'nature'"):
        discover(frame, preset="nature")


def test_unknown_choices_are_refused():
    frame = mixed_frame(30)
    with pytest.raises(OptionError, match="there is no score 'best'"):
        discover(frame, score="best")
    with pytest.raises(OptionError, match="there is no search 'all'"):
        discover(frame, search="all")
    with pytest.raises(OptionError, match=r"workers .* cannot be 0"):
        discover(frame, workers=0)
    with pytest.raises(OptionError, match="has no option"):
        discover(frame, score_options={"speed": 11})
    with pytest.raises(OptionError, match="kinds cannot be given with a Dataset"):
        discover(Dataset.from_frame(frame), kinds={"a": "continuous"})
    with pytest.raises(OptionError, match="missing cannot be given with a Dataset"):
        discover(Dataset.from_frame(frame), missing="drop")
    with pytest.raises(OptionError, match="workers"):
        discover(frame, workers="2")
    with pytest.raises(OptionError, match="another table"):
        discover(frame, score=LearnedKernelScore(Dataset.from_frame(mixed_frame(40))))
    with pytest.raises(OptionError, match="the table has"):
        discover(frame, score=LearnedKernelScore(Dataset.from_frame(frame[["a", "b"]])))
    with pytest.raises(OptionError, match="no local_score"):
        discover(frame, score=object())


def test_a_score_that_is_no_number_is_an_error():
    class Nothing:
        variables = ("x1", "x2")

        def local_score(self, target, parents):
            return float("nan")

    with pytest.raises(ComputationError, match="is not a number"):
        discover(mixed_frame(30)[["a", "b"]].to_numpy(), score=Nothing(), workers=1)


def test_any_score_object_will_do():
    class Favourite:
        variables = ("a", "b", "level", "flag", "x", "y")

        def local_score(self, target, parents):
            return float({"a", "b"} <= {target, *parents}) - 0.1 * len(parents)

    result = discover(mixed_frame(30), score=Favourite(), workers=1)
    assert result.graph.skeleton == {frozenset({"a", "b"})}
    assert result.edges["gain"].tolist() == [0.9]
    assert result.edges["bandwidth"].isna().all()
    assert result.settings["score"] == "Favourite"


def test_arrays_paths_and_datasets_are_tables_too(tmp_path, mixed):
    frame = mixed_frame(60)[["a", "b"]]
    frame.to_csv(tmp_path / "t.csv", index=False)
    results = [
        discover(data, workers=1)
        for data in (frame, frame.to_numpy(), tmp_path / "t.csv", str(tmp_path / "t.csv"), Dataset.from_frame(frame))
    ]
    assert len({r.score for r in results}) == 1
    assert results[1].graph.nodes == ("x1", "x2")


def test_what_should_be_known_is_warned_of():
    frame = mixed_frame(60)
    frame.loc[3, "a"] = np.nan
    with pytest.warns(DataWarning, match="they were dropped, 59 rows left"):
        discover(frame[["a", "b"]], missing="drop", workers=1)


def test_testwise_compares_on_the_same_rows():
    frame = mixed_frame(120)[["a", "b", "level"]]
    rng = np.random.default_rng(0)
    frame["a"] = frame["a"].mask(rng.random(120) < 0.2)
    frame["level"] = frame["level"].mask(rng.random(120) < 0.2)
    data = Dataset.from_frame(frame, missing="testwise")
    ledger = Ledger(LearnedKernelScore(data, engine="dense"))
    gain = ledger.gain(Comparison("b", frozenset({"a"}), frozenset({"a", "level"})))
    # The same by hand: rows complete for all three, columns scaled on all their values.
    scaled = (frame - frame.mean()) / frame.std(ddof=0)
    complete = Dataset.from_frame(scaled.dropna(), kinds=dict.fromkeys(frame, "continuous"))
    object.__setattr__(complete, "values", complete.codes)  # keep the scale
    by_hand = LearnedKernelScore(complete, engine="dense")
    expected = by_hand.local_score("b", ["a", "level"]) - by_hand.local_score("b", ["a"])
    assert gain == pytest.approx(expected, abs=1e-5)
    alone = ledger.fit("b", ["a"])
    assert alone.rows == int(frame["a"].notna().sum())
    with pytest.warns(DataWarning, match="each score uses the rows complete for it"):
        result = discover(frame, missing="testwise", workers=1)
    assert frozenset({"a", "b"}) in result.graph.skeleton
    with pytest.warns(DataWarning):
        assert edges_of(discover(frame, missing="testwise", workers=2)) == edges_of(result)


def test_a_parent_that_is_constant_on_the_shared_rows():
    """An ordinary skip pattern: income is asked only of those who are employed."""
    rng = np.random.default_rng(0)
    employed = rng.random(80) < 0.6
    frame = pd.DataFrame({"employed": employed, "age": rng.normal(size=80)})
    frame["income"] = np.where(employed, frame["age"] + rng.normal(size=80), np.nan)
    with pytest.warns(DataWarning):
        result = discover(frame, missing="testwise", workers=1)
    assert frozenset({"age", "income"}) in result.graph.skeleton
    assert frozenset({"employed", "income"}) not in result.graph.skeleton
    score = LearnedKernelScore(result.data)
    with pytest.raises(kerncause.DataError, match="'employed' has fewer than two values"):
        score.residuals("employed", ["income"])


def test_wiggly_effects_keep_their_edge():
    z, e = np.random.default_rng(0).normal(size=150), np.random.default_rng(99).normal(size=150)
    result = discover(pd.DataFrame({"z": z, "y": np.sin(4 * z) + 0.3 * e}), workers=1)
    assert result.graph.skeleton == {frozenset({"y", "z"})}


def test_gaps_that_leave_nothing_give_no_edge():
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.0, np.nan, np.nan, np.nan], "b": [np.nan] * 3 + [0.5, 1.5, 1.0]})
    frame["c"] = [0.1, 0.5, 0.2, 0.7, 0.9, 0.4]
    with pytest.warns(DataWarning) as said:
        result = discover(frame, missing="testwise", workers=1)
    assert any("in only 0 rows" in str(warning.message) for warning in said)
    assert frozenset({"a", "b"}) not in result.graph.skeleton


def test_the_files(tmp_path, mixed):
    where = mixed.save(tmp_path / "new" / "place")
    assert sorted(p.name for p in where.iterdir()) == ["graph.dot", "graph.json", "report.html", "trace.jsonl"]
    graph = json.loads((where / "graph.json").read_text())
    assert graph["nodes"] == list(mixed.graph.nodes)
    assert set(graph["edges"][0]) >= {"source", "target", "directed", "gain"}
    assert graph["data"]["rows"] == 150
    assert graph["data"]["hash"] == mixed.data.hash
    assert graph["settings"]["search"] == "ges"
    assert graph["settings"]["table"]["groups"] == {"xy": ["x", "y"]}
    trace = [json.loads(line) for line in (where / "trace.jsonl").read_text().splitlines()]
    assert [step["gain"] for step in trace] == [step.gain for step in mixed.trace]
    again = mixed.save(where)
    assert sorted(p.name for p in again.iterdir()) == ["graph.dot", "graph.json", "report.html", "trace.jsonl"]


def test_names_cannot_break_the_files(tmp_path):
    frame = mixed_frame(80)[["a", "b"]]
    frame.columns = ['a"]; evil [label="\\', "b\n<script>\x1b[31m[bold]"]
    result = discover(frame, workers=1)
    result.save(tmp_path)
    dot = (tmp_path / "graph.dot").read_text()
    assert '"a\\"]; evil [label=\\"\\\\"' in dot
    assert "\x1b" not in repr(result)
    assert json.loads((tmp_path / "graph.json").read_text())["nodes"] == list(frame.columns)
    strings = re.sub(r'"(?:[^"\\]|\\.)*"', "NAME", dot)
    assert "evil" not in strings


def test_a_place_that_cannot_be_written(tmp_path, mixed):
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="is a file"):
        mixed.save(tmp_path / "file")
    with pytest.raises(kerncause.KerncauseError, match="cannot write results"):
        mixed.save("/proc/nowhere/result")
    with pytest.raises(kerncause.KerncauseError, match="cannot write results"):
        mixed.save(tmp_path / ("long" * 100))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file"]
    (tmp_path / "half" / "trace.jsonl").mkdir(parents=True)
    with pytest.raises(OptionError, match="is a directory"):
        mixed.save(tmp_path / "half")
    assert [p.name for p in (tmp_path / "half").iterdir()] == ["trace.jsonl"]
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    with pytest.raises(OptionError, match="leads nowhere"):
        mixed.save(tmp_path / "link")


def test_a_failure_while_writing_leaves_the_old_result(tmp_path, mixed, monkeypatch):
    mixed.save(tmp_path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}

    def full(self, *args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(kerncause.KerncauseError, match="No space left"):
        mixed.save(tmp_path)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_a_watcher_sees_the_search_go_on():
    seen = []
    discover(mixed_frame(60)[["a", "b", "level"]], "learned", workers=1, watch=seen.append)
    assert [s.scores for s in seen] == sorted(s.scores for s in seen)
    assert seen[-1].scores > 5
    assert {s.phase for s in seen} == {"forward", "backward"}


def test_categories_are_said_to_be_numbers_only_where_they_are(tmp_path):
    frame = mixed_frame(40).assign(colour=["red", "green", "blue", "grey"] * 10)
    data = Dataset.from_frame(frame[["a", "b", "colour"]])
    said = "'colour' is categorical with three or more values, coded as numbers"
    with pytest.warns(DataWarning, match=said):
        result = discover(data, score="learned", workers=1)
    result.save(tmp_path / "coded")
    assert "three or more values" in (tmp_path / "coded" / "report.html").read_text(encoding="utf-8")
    score = LearnedKernelScore(data, categories="delta")
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataWarning)
        for number, options in enumerate([{"preset": "adaptive"}, {"score": score}]):
            result = discover(data, workers=1, **options)
            result.save(tmp_path / str(number))
            assert "three or more values" not in (tmp_path / str(number) / "report.html").read_text(encoding="utf-8")
