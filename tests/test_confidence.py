import json
import multiprocessing
import pickle
import re
import time
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from kerncause import DataError, Dataset, LearnedKernelScore, OptionError, discover, make_score
from kerncause.cli import app
from kerncause.confidence import Confidence, Frequency, Replicate
from kerncause.journal import writing
from kerncause.plan import Plan
from kerncause.repeat import FILE, Repeating
from kerncause.scores import Ledger
from kerncause.scores.warm import WarmScore, Whole
from oracles import random_dag

runner = CliRunner()


def run(*words):
    return runner.invoke(app, [str(word) for word in words])


def chain_frame(n=80, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = np.sin(2 * a) + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": b + rng.normal(size=n)})


def mixed_frame(n=200, seed=2):
    frame = chain_frame(n, seed)
    rng = np.random.default_rng(100 + seed)
    frame["level"] = np.digitize(frame["c"] + 0.3 * rng.normal(size=n), [-0.5, 0.5])
    frame["flag"] = rng.random(n) < 0.4
    return frame


def replicates_of(dags):
    return [
        Replicate(k, dag.to_cpdag().directed_edges, dag.to_cpdag().undirected_edges, dag.edges)
        for k, dag in enumerate(dags)
    ]


NODES = ("v0", "v1", "v2", "v3")


@st.composite
def random_replicates(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return replicates_of(random_dag(rng, 4, rng.uniform(0.2, 0.9)) for _ in range(draw(st.integers(1, 12))))


def test_a_hand_counted_confidence():
    found = Confidence.of(
        ["a", "b", "c"],
        [
            Replicate(0, (("a", "b"), ("c", "b")), (), (("a", "b"), ("c", "b"))),
            Replicate(1, (), (("a", "b"), ("b", "c")), (("b", "a"), ("b", "c"))),
            Replicate(2, (("b", "c"),), (("b", "a"),), (("b", "a"), ("b", "c"))),
            Replicate(3, (), (("b", "c"),), (("b", "c"),)),
        ],
        "half",
    )
    assert found.replicates == 4
    assert found.how == "half"
    assert found.frequencies == (
        Frequency("b", "c", joined=1.0, forward=0.25, backward=0.25, undecided=0.5, best=0.75),
        Frequency("b", "a", joined=0.75, forward=0.0, backward=0.25, undecided=0.5, best=0.5),
    )
    assert found.joined("c", "b") == found.joined("b", "c") == 1.0
    assert found.joined("a", "c") == 0.0
    assert found.points("b", "c") == 0.75
    assert found.points("c", "b") == 0.25
    assert found.points("b", "a") == pytest.approx(2 / 3)
    assert found.points("a", "c") == 0.0
    assert found.pairs["joined"].tolist() == [1.0, 0.75]


@given(random_replicates())
def test_frequencies_are_counts(replicates):
    found = Confidence.of(NODES, replicates, "half")
    assert found.replicates == len(replicates)
    by_pair = {frozenset((f.source, f.target)): f for f in found.frequencies}
    assert len(by_pair) == len(found.frequencies)
    for pair in map(frozenset, combinations(NODES, 2)):
        counts = dict.fromkeys(("joined", "forward", "backward", "undecided", "best"), 0)
        frequency = by_pair.get(pair)
        for replicate in replicates:
            lines = {frozenset(ends) for ends in replicate.undirected}
            arrows = {frozenset(ends) for ends in replicate.directed}
            counts["joined"] += pair in lines | arrows
            counts["undecided"] += pair in lines
            if frequency is not None:
                ends = frequency.source, frequency.target
                counts["forward"] += ends in replicate.directed
                counts["backward"] += ends[::-1] in replicate.directed
                counts["best"] += ends in replicate.dag
        assert (frequency is None) == (counts["joined"] == 0)
        if frequency is not None:
            for name, count in counts.items():
                assert getattr(frequency, name) == pytest.approx(count / len(replicates)), name
            assert frequency.best >= frequency.joined / 2 - 1e-9
            assert sum(found.points(*ends) for ends in (tuple(pair), tuple(pair)[::-1])) == pytest.approx(1.0)
    joined = [f.joined for f in found.frequencies]
    assert joined == sorted(joined, reverse=True)


@given(random_replicates(), st.sampled_from(["half", "bootstrap"]))
def test_confidence_comes_back_from_json(replicates, how):
    found = Confidence.of(NODES, replicates, how)
    assert Confidence.from_json(NODES, json.loads(json.dumps(found.as_json()))) == found
    assert [Replicate.from_json(json.loads(json.dumps(r.as_json()))) for r in replicates] == replicates


def of_counts(forth, back, rest):
    """Confidence in a pair that so many replicates join, each way round, and so many do not."""
    ways = [(("a", "b"),)] * forth + [(("b", "a"),)] * back + [()] * rest
    return Confidence.of("abc", [Replicate(k, way, (), way) for k, way in enumerate(ways)], "half")


@pytest.mark.parametrize("replicates", [10, 20, 30])
def test_stable_pairs_are_joined_in_that_share_of_the_replicates(replicates):
    for joined in range(replicates + 1):
        for forth in range(joined + 1):
            found = of_counts(forth, joined - forth, replicates - joined)
            for threshold in (0.6, 0.75, 0.8, 0.9, 1.0):
                is_enough = joined >= Fraction(str(threshold)) * replicates
                pairs, _ = found.stable(threshold)
                assert (frozenset("ab") in pairs) == is_enough, (forth, joined, threshold)


@given(random_replicates(), st.floats(0.51, 1.0))
def test_the_bound_on_wrong_pairs_is_that_of_stability_selection(replicates, threshold):
    found = Confidence.of(NODES, replicates, "half")
    _, bound = found.stable(threshold)
    q = np.mean([len(replicate.dag) for replicate in replicates])
    assert bound == pytest.approx(q**2 / ((2 * threshold - 1) * 6))


@pytest.mark.parametrize("threshold", [0.5, 0.2, 1.1, -1.0, float("nan")])
def test_shares_that_bound_nothing_are_refused(threshold):
    with pytest.raises(OptionError, match=r"threshold cannot be .*: give a share above 0.5 and at most 1"):
        of_counts(3, 1, 0).stable(threshold)


def acyclic(graph):
    left = set(graph.nodes)
    while roots := {name for name in left if not graph.parents(name) & left}:
        left -= roots
    return not left


@given(random_replicates(), st.sampled_from([0.1, 0.3, 0.5, 0.7]))
def test_a_consensus_has_the_frequent_pairs_and_no_cycle(replicates, threshold):
    found = Confidence.of(NODES, replicates, "half")
    graph = found.consensus(threshold)
    assert graph.nodes == NODES
    assert graph.skeleton == {frozenset((f.source, f.target)) for f in found.frequencies if f.joined > threshold}
    assert acyclic(graph)
    for a, b in graph.directed_edges:
        assert sum((a, b) in r.directed for r in replicates) > threshold * len(replicates) - 1e-9


@given(st.lists(st.permutations(NODES), min_size=1, max_size=9))
def test_a_consensus_of_orders_that_contradict_each_other_has_no_cycle(orders):
    ways = [tuple(combinations(order, 2)) for order in orders]
    found = Confidence.of(NODES, [Replicate(k, way, (), way) for k, way in enumerate(ways)], "half")
    graph = found.consensus()
    assert acyclic(graph)
    assert len(graph.skeleton) == 6


def test_the_weakest_arrow_of_a_cycle_is_left_open():
    orders = ["abc", "abc", "abc", "bca", "bca", "cab", "cab"]
    ways = [tuple(combinations(order, 2)) for order in orders]
    found = Confidence.of("abc", [Replicate(k, way, (), way) for k, way in enumerate(ways)], "half")
    graph = found.consensus()
    assert set(graph.directed_edges) == {("a", "b"), ("b", "c")}
    assert graph.undirected_edges == (("a", "c"),)
    assert found.consensus(0.9).directed_edges == ()


@pytest.mark.parametrize("n", [60, 61])
def test_halves_are_distinct_rows_and_bootstrap_samples_are_not(n):
    data = Dataset.from_frame(chain_frame(n))
    half = data.sampled(np.random.default_rng(0))
    again = data.sampled(np.random.default_rng(0), with_replacement=True)
    assert half.n_rows == (n + 1) // 2 == len(set(half.row_order.tolist()))
    assert again.n_rows == n
    assert 0.5 * n < len(set(again.row_order.tolist())) < 0.8 * n
    place = np.argsort(data.row_order)
    for sample in (half, again):
        np.testing.assert_array_equal(sample.values, data.values[place[sample.row_order]])
        assert sample.canonical == data.canonical


def work_on(frame, how="half", seed=0, **asked):
    """What is repeated, with the scores of the whole table still to be computed."""
    data, plan = Dataset.from_frame(frame), Plan.of(**asked)
    ledger = Ledger(make_score(plan.score, data, **plan.options)) if plan.by == "score" else None
    return Repeating.of(data, plan, seed, how, ledger)


@pytest.mark.parametrize("how", ["half", "bootstrap"])
def test_a_replicate_learns_from_rows_that_its_number_decides(monkeypatch, how):
    seen = []

    def graphs(learning):
        seen.append(learning.table.row_order.tolist())
        raise InterruptedError

    monkeypatch.setattr("kerncause.learn.Learning.graphs", graphs)
    draws = [(0, 0), (0, 1), (1, 0), (0, 0)]
    for seed, number in draws:
        with pytest.raises(InterruptedError):
            work_on(chain_frame(61), how, seed, score="bic").replicate(number)
    assert seen[0] == seen[3]
    assert seen[0] != seen[1]
    assert seen[0] != seen[2]
    assert {len(rows) for rows in seen} == {31 if how == "half" else 61}
    assert all((len(set(rows)) == len(rows)) == (how == "half") for rows in seen)


def test_a_replicate_does_not_depend_on_the_others():
    alone, after = work_on(chain_frame(60)), work_on(chain_frame(60))
    others = [after.replicate(number) for number in range(3)]
    assert len(set(others)) == 3
    assert after.replicate(5) == alone.replicate(5)
    assert alone.replicate(0) == others[0]


def test_warm_scores_are_near_those_of_a_cold_start():
    """They stay in the basin of the whole table, so a few differ; what they say is always the score where they are."""
    data = Dataset.from_frame(mixed_frame())
    score = LearnedKernelScore(data)
    half = data.sampled(np.random.default_rng(2))
    cold, warm = LearnedKernelScore(half), WarmScore(LearnedKernelScore(half), Whole(score, Ledger(score)))
    exact = LearnedKernelScore(half, engine="dense")
    gaps = []
    for target in ("b", "level", "flag"):
        others = [name for name in data.names if name != target]
        for parents in ((), *combinations(others, 1), *combinations(others, 2)):
            fit = warm.fit(target, parents)
            assert fit.value == pytest.approx(exact.evaluate(target, parents, fit)[0], abs=0.05)
            gaps.append(fit.value - cold.local_score(target, parents))
    assert np.mean(np.abs(gaps) < 0.2) >= 0.9
    assert np.mean(np.array(gaps) > 0.1) <= 0.1
    assert min(gaps) > -3
    assert warm.variables == cold.variables
    assert warm.resolution == cold.resolution


def test_a_warm_fit_is_the_same_whatever_was_asked_before():
    data = Dataset.from_frame(mixed_frame(100))
    half = LearnedKernelScore(data.sampled(np.random.default_rng(0)))
    score = LearnedKernelScore(data)
    fresh, used = (WarmScore(half, Whole(score, Ledger(score))) for _ in range(2))
    for parents in (["a"], ["c"], [], ["c", "level"]):
        used.fit("b", parents)
    assert used.fit("b", ["a", "c"]) == fresh.fit("b", ["a", "c"])
    settled = Ledger(score)
    settled.fit("b", ["a", "c"])
    assert WarmScore(half, Whole(score, settled)).fit("b", ["a", "c"]) == fresh.fit("b", ["a", "c"])


def test_levels_may_be_missing_from_a_half():
    """A response of three levels is left with two, whose kernel has nothing to learn."""
    frame = chain_frame(60)[["a", "b"]]
    frame["k"] = (frame["a"] > 0).astype(int)
    frame.loc[0, "k"] = 2
    for how in ("half", "bootstrap"):
        found = discover(frame, confidence=4, confidence_rows=how, workers=1).confidence
        assert found.joined("a", "k") == 1.0


def test_a_variable_may_be_constant_on_a_half():
    frame = chain_frame(60)[["a", "b"]]
    frame["rare"] = np.arange(60) == 3
    for how in ({}, {"score": "bic"}, {"search": "pc", "test": "fisher-z"}, {"search": "pc", "test": "kci"}):
        assert discover(frame, confidence=4, workers=1, **how).confidence.joined("a", "rare") <= 0.5


COUNT = 6


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A result with confidence, and the directory of its journal."""
    place = tmp_path_factory.mktemp("learned")
    return discover(chain_frame(), confidence=COUNT, workers=1, directory=place), place


def lines_of(directory):
    return (directory / FILE).read_text().splitlines()


def test_edges_say_how_often_they_were_found(learned):
    result, _ = learned
    sure = result.confidence
    assert sure.replicates == COUNT
    assert sure.nodes == ("a", "b", "c")
    assert sure.joined("a", "b") == 1.0
    assert result.edges.columns.tolist()[-2:] == ["joined", "pointed"]
    for row in result.edges.to_dict("records"):
        assert row["joined"] == sure.joined(row["source"], row["target"])
        assert row["pointed"] == sure.points(row["source"], row["target"])
    assert "joined" not in discover(chain_frame(), score="bic", workers=1).edges


def test_the_journal_holds_what_was_counted(learned):
    result, place = learned
    head, *records = map(json.loads, lines_of(place))
    assert head["confidence"] == "half"
    assert [record["number"] for record in records] == list(range(COUNT))
    assert Confidence.of("abc", [*map(Replicate.from_json, records)], "half") == result.confidence


def test_two_workers_count_what_one_counts(learned):
    result, _ = learned
    twice = discover(chain_frame(), confidence=COUNT, workers=2)
    assert twice.confidence == result.confidence
    assert twice.edge_list == result.edge_list


def test_fewer_replicates_are_the_first_of_more(learned, tmp_path):
    _, place = learned
    discover(chain_frame(), confidence=2, workers=1, directory=tmp_path)
    assert lines_of(tmp_path) == lines_of(place)[:3]


def test_other_seeds_and_rows_give_other_replicates(learned, tmp_path):
    _, place = learned
    discover(chain_frame(), confidence=COUNT, workers=1, seed=1, directory=tmp_path / "seed")
    assert lines_of(tmp_path / "seed")[1:] != lines_of(place)[1:]


@pytest.fixture
def computed(monkeypatch):
    """The numbers of the replicates that are computed."""
    numbers = []
    replicate = Repeating.replicate

    def noted(work, number):
        numbers.append(number)
        return replicate(work, number)

    monkeypatch.setattr(Repeating, "replicate", noted)
    return numbers


@pytest.mark.parametrize(
    ("keep", "missing"),
    [
        (lambda text: "".join(text.splitlines(keepends=True)[:3]), [2, 3, 4, 5]),
        (lambda text: text[:-10], [5]),
        (lambda text: text[:-1], [5]),
        (lambda text: text, []),
        (lambda text: text.splitlines(keepends=True)[0], [0, 1, 2, 3, 4, 5]),
        (lambda text: text[:20], [0, 1, 2, 3, 4, 5]),
        (lambda text: "", [0, 1, 2, 3, 4, 5]),
        (lambda text: "".join(np.array(text.splitlines(keepends=True))[[0, 6, 3, 1]]), [1, 3, 4]),
    ],
    ids=["lines", "cut", "newline", "whole", "head", "cut head", "empty", "other order"],
)
def test_a_stopped_run_goes_on_with_what_is_missing(learned, tmp_path, computed, keep, missing):
    result, place = learned
    (tmp_path / FILE).write_text(keep((place / FILE).read_text()))
    again = discover(chain_frame(), confidence=COUNT, workers=1, directory=tmp_path, resume=True)
    assert computed == missing
    assert again.confidence == result.confidence
    assert sorted(lines_of(tmp_path)) == sorted(lines_of(place))


def test_more_replicates_can_be_asked_for_later(learned, tmp_path, computed):
    _, place = learned
    (tmp_path / FILE).write_text((place / FILE).read_text())
    more = discover(chain_frame(), confidence=COUNT + 2, workers=1, directory=tmp_path, resume=True)
    assert computed == [COUNT, COUNT + 1]
    assert more.confidence.replicates == COUNT + 2
    fewer = discover(chain_frame(), confidence=2, workers=1, directory=tmp_path, resume=True)
    assert computed == [COUNT, COUNT + 1]
    assert fewer.confidence.replicates == 2


OTHERS = {
    "data": {"frame": chain_frame(80, seed=9)},
    "seed": {"seed": 1},
    "rows": {"confidence_rows": "bootstrap"},
    "search": {"search": "boss"},
    "search options": {"max_parents": 1},
    "score": {"score": "gp"},
    "score options": {"score_options": {"starts": 1}},
    "preset": {"preset": "paper"},
    "knowledge": {"knowledge": {"forbidden": [["a", "b"]]}},
    "way": {"search": "pc"},
}


@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS)
def test_replicates_of_something_else_are_not_counted(learned, tmp_path, other):
    _, place = learned
    text = (place / FILE).read_text()
    (tmp_path / FILE).write_text(text)
    seen = []
    asked = {"frame": chain_frame(), "confidence": COUNT, "workers": 1, **other}
    with pytest.raises(DataError, match="choose another --out"):
        discover(asked.pop("frame"), directory=tmp_path, resume=True, watch=seen.append, **asked)
    assert not seen, "before any score is computed"
    assert (tmp_path / FILE).read_text() == text


@pytest.mark.parametrize(
    "made",
    [
        lambda data, is_other: {"score": make_score("bic", data, penalty=9.0 if is_other else 1.0)},
        lambda data, is_other: {"search": "pc", "test_options": {"ridge": 0.1 if is_other else 0.001}},
        lambda data, is_other: {"search": "pc", "alpha": 0.2 if is_other else 0.05},
    ],
    ids=["score object", "test options", "alpha"],
)
def test_settings_of_objects_and_tests_are_told_apart(tmp_path, made):
    data = Dataset.from_frame(chain_frame(60))
    discover(data, confidence=1, workers=1, directory=tmp_path, **made(data, False))
    with pytest.raises(DataError, match="choose another --out"):
        discover(data, confidence=2, workers=1, directory=tmp_path, resume=True, **made(data, True))


def test_the_order_of_rows_and_the_workers_are_no_other_setting(learned, tmp_path, computed):
    result, place = learned
    (tmp_path / FILE).write_text((place / FILE).read_text())
    shuffled = chain_frame().sample(frac=1, random_state=0)
    again = discover(shuffled, confidence=COUNT, workers=2, directory=tmp_path, resume=True)
    assert again.confidence == result.confidence
    assert not computed


def test_a_journal_is_not_overwritten_unasked(learned, tmp_path):
    _, place = learned
    text = (place / FILE).read_text()
    (tmp_path / FILE).write_text(text)
    seen = []
    with pytest.raises(OptionError, match="has 6 rows already: add --resume"):
        discover(chain_frame(), confidence=COUNT, workers=1, directory=tmp_path, watch=seen.append)
    for foreign in ("my notes\nmore\n", text.replace("number", '"', 1)):
        (tmp_path / FILE).write_text(foreign)
        with pytest.raises(DataError, match="is no file of rows"):
            discover(chain_frame(), confidence=COUNT, workers=1, directory=tmp_path, resume=True, watch=seen.append)
        assert (tmp_path / FILE).read_text() == foreign
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="cannot write"):
        discover(chain_frame(), confidence=COUNT, workers=1, directory=tmp_path / "file", watch=seen.append)
    assert not seen


def held(path, is_held, is_over):
    with writing(path, {"of": "it"}, resume=True) as journal:
        journal.add({"number": 1})
        is_held.set()
        is_over.wait(30)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_two_runs_do_not_write_one_journal(tmp_path):
    context = multiprocessing.get_context("fork")
    is_held, is_over = context.Event(), context.Event()
    process = context.Process(target=held, args=(tmp_path / FILE, is_held, is_over))
    process.start()
    try:
        assert is_held.wait(30)
        with pytest.raises(OptionError, match="another run is writing"), writing(tmp_path / FILE, {"of": "it"}, True):
            pass
    finally:
        is_over.set()
        process.join(30)
    with writing(tmp_path / FILE, {"of": "it"}, True) as journal:
        assert journal.records == [{"number": 1}]


@pytest.mark.parametrize("count", [0, -1, True, 2.0, "3"])
def test_counts_that_are_none_are_refused(count):
    with pytest.raises(OptionError, match=r"confidence \(--confidence\) cannot be"):
        discover(chain_frame(), confidence=count, workers=1)


def test_rows_that_there_are_not_are_refused():
    with pytest.raises(OptionError, match=r"confidence_rows .* cannot be 'thirds': choose half or bootstrap"):
        discover(chain_frame(), confidence=3, confidence_rows="thirds", workers=1)
    with pytest.raises(OptionError, match="needs the directory"):
        discover(chain_frame(), workers=1, resume=True)


def test_a_score_that_cannot_be_made_again_is_refused_at_the_door(tmp_path):
    class Favourite:
        variables = ("a", "b", "c")

        def local_score(self, target, parents):
            pytest.fail("it was asked for a score")

    with pytest.raises(OptionError, match="confidence needs a score that can be made for other rows"):
        discover(chain_frame(), score=Favourite(), confidence=3, workers=1, directory=tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["bic", "learned"])
def test_a_score_object_is_repeated_with_its_settings(name):
    data = Dataset.from_frame(chain_frame(60))
    options = {"penalty": 3.0} if name == "bic" else {"starts": 1}
    by_name, by_object = (
        discover(data, score=score, confidence=3, workers=1, **more).confidence
        for score, more in ((name, {"score_options": options}), (make_score(name, data, **options), {}))
    )
    assert by_name == by_object


def test_tests_and_plain_scores_are_repeated_too():
    frame = chain_frame(100)
    frame["d"] = frame["c"] + np.random.default_rng(5).normal(size=100)
    by_test = discover(frame, search="pc", test="fisher-z", confidence=20, workers=1)
    by_score = discover(frame, score="bic", confidence=20, workers=1)
    for result in (by_test, by_score):
        sure = result.confidence
        assert sure.replicates == 20
        assert sure.joined("c", "d") > 0.9
        assert sure.joined("a", "d") < 0.5
        assert result.edges.columns.tolist()[-2:] == ["joined", "pointed"]
        assert frozenset("cd") in sure.stable(0.9)[0]
        assert frozenset("cd") in sure.consensus().skeleton


def test_knowledge_holds_in_every_replicate():
    forbidden = {"forbidden": [["a", "b"], ["b", "a"]], "required": [["b", "c"]]}
    sure = discover(chain_frame(60), score="bic", confidence=5, workers=1, knowledge=forbidden).confidence
    assert sure.joined("a", "b") == 0.0
    assert sure.joined("b", "c") == 1.0
    assert sure.points("b", "c") == 1.0


def test_a_watcher_hears_of_the_halves():
    seen = []
    discover(chain_frame(60), score="bic", confidence=3, workers=1, watch=seen.append)
    assert [status.step for status in seen if status.phase == "halves"] == [0, 1, 2, 3]


def test_work_can_be_sent_to_processes_that_are_not_forked():
    work = work_on(chain_frame(60))
    assert pickle.loads(pickle.dumps(work)).replicate(0) == work.replicate(0)


@pytest.mark.filterwarnings("ignore::kerncause.DataWarning")
def test_gaps_are_repeated_too():
    frame = chain_frame(80)
    frame["a"] = frame["a"].mask(np.random.default_rng(0).random(80) < 0.2)
    sure = discover(frame, missing="testwise", confidence=3, workers=1).confidence
    assert sure.joined("a", "b") == 1.0


@pytest.fixture
def file(tmp_path):
    chain_frame(60).to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def test_the_shell_prints_how_often_edges_were_found(file, tmp_path):
    out = tmp_path / "out"
    words = ["discover", file, "--confidence", 4, "--workers", 1, "--score", "bic"]
    done = run(*words, "--out", out)
    assert done.exit_code == 0, done.output
    assert re.search(r"edge .*joined\s+pointed", done.output)
    assert re.search(r"[bc] [—→] [bc] .*\s\d+%\s+\d+%", done.output)
    assert len(lines_of(out)) == 5
    assert json.loads((out / "graph.json").read_text())["confidence"]["replicates"] == 4
    refused = run(*words, "--out", out)
    assert refused.exit_code == 1
    assert "add --resume" in refused.output
    again = run(*words, "--out", out, "--resume")
    assert again.exit_code == 0, again.output
    assert len(lines_of(out)) == 5
    assert "joined" not in run("discover", file, "--workers", 1, "--score", "bic").output


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--confidence", "0"], "confidence (--confidence) cannot be 0"),
        (["--confidence", "3", "--confidence-rows", "thirds"], "cannot be 'thirds': choose half or bootstrap"),
        (["--resume"], "needs the directory (--out)"),
    ],
)
def test_the_shell_refuses_in_a_sentence(file, words, message):
    done = run("discover", file, "--score", "bic", "--workers", 1, *words)
    assert done.exit_code == 1
    assert message in done.output
    assert "Traceback" not in done.output


def records_in(directory):
    path = directory / FILE
    return path.read_bytes().count(b"\n") - 1 if path.exists() else 0


def killed_after(wanted, out, *words, pause=0.0):
    """Run a command in a process of its own, and kill it when so many replicates are written down."""
    process = multiprocessing.get_context("fork").Process(target=run, args=(*words, "--out", out, "--resume"))
    process.start()
    while process.is_alive() and records_in(out) < wanted:
        time.sleep(0.002)
    time.sleep(pause)
    process.kill()
    process.join()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_killed_run_loses_nothing(file, tmp_path):
    words = ["discover", file, "--confidence", 30, "--workers", 2, "--max-parents", 2]
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    done = run(*words, "--out", whole)
    assert done.exit_code == 0, done.output
    rng = np.random.default_rng(0)
    killed_after(1, broken, *words)
    assert 0 < records_in(broken) < 30
    assert not (broken / "graph.json").exists()
    for more in rng.integers(2, 6, size=2):
        killed_after(records_in(broken) + more, broken, *words, pause=rng.uniform(0, 0.03))
    done = run(*words, "--out", broken, "--resume")
    assert done.exit_code == 0, done.output
    assert set(lines_of(broken)) == set(lines_of(whole))
    assert len(lines_of(broken)) == 31
    written = [json.loads((place / "graph.json").read_text())["confidence"] for place in (whole, broken)]
    assert written[0] == written[1]


def test_a_file_without_rows_is_no_obstacle(tmp_path):
    """A run that ended before its first half leaves a head; another, with other settings, begins anew."""
    data = chain_frame(60)
    with pytest.raises(DataError):
        discover(data, score="bdeu", confidence=2, directory=tmp_path, workers=1)
    found = discover(data, score="bic", confidence=2, directory=tmp_path, workers=1)
    assert found.confidence.replicates == 2
    head, *rows = (tmp_path / "confidence.jsonl").read_text().splitlines()
    assert len(rows) == 2
    assert "settings" in head
