import zlib
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerncause import CPDAG, DAG, ComputationError, Dataset, OptionError
from kerncause.graphs import Adjacency, completed
from kerncause.graphs.equivalence import v_structures
from kerncause.independence import KCI, ChiSquared, FisherZ, SeparationOracle, TestResult, make_test
from kerncause.search.pc import pc
from oracles import all_dags, random_dag, random_weights


def test_a_perfect_test_gives_the_true_class_on_300_dags():
    rng = np.random.default_rng(21)
    for _ in range(300):
        dag = random_dag(rng, int(rng.integers(3, 11)), rng.uniform(0.1, 0.6))
        outcome = pc(SeparationOracle(dag))
        assert outcome.graph == dag.to_cpdag()
        assert all(step.operator in ("remove", "collider") for step in outcome.trace)


def test_a_perfect_test_gives_all_classes_of_four_nodes():
    for graph in all_dags(4):
        dag = DAG.of("abcd", graph)
        assert pc(SeparationOracle(dag)).graph == dag.to_cpdag()


@given(st.integers(3, 7), st.integers(0, 10**6), st.randoms())
@settings(max_examples=40)
def test_listing_and_naming_nodes_otherwise_changes_nothing(size, seed, random):
    dag = random_dag(np.random.default_rng(seed), size, 0.45)
    names = [f"n{i}" for i in range(size)]
    random.shuffle(names)
    other = dict(zip(dag.nodes, names, strict=True))
    order = list(names)
    random.shuffle(order)
    moved = DAG(order, [(other[a], other[b]) for a, b in dag.edges])
    assert pc(SeparationOracle(moved)).graph == moved.to_cpdag()


class RandomTest:
    """p-values without any structure behind them: no graph fits them."""

    def __init__(self, variables, seed, ties=False):
        self.variables = tuple(variables)
        self._seed, self._ties = seed, ties
        self.asked = []

    def test(self, x, y, given=()):
        self.asked.append((frozenset((x, y)), frozenset(given)))
        words = repr((self._seed, sorted((x, y)), sorted(given)))
        p = zlib.crc32(words.encode()) / 2**32
        return TestResult(round(p, 1) if self._ties else p, 0.0, "random", 0)


def is_complete(graph):
    """Building a CPDAG from edges refuses what is not the class of some DAG."""
    return CPDAG(graph.nodes, graph.directed_edges, graph.undirected_edges) == graph


@given(st.integers(2, 9), st.integers(0, 10**6), st.floats(0.05, 0.95), st.none() | st.integers(0, 3), st.booleans())
@settings(max_examples=300)
def test_any_test_gives_a_class(size, seed, alpha, max_given, ties):
    test = RandomTest([f"v{i}" for i in range(size)], seed, ties)
    outcome = pc(test, alpha=alpha, max_given=max_given)
    assert is_complete(outcome.graph)
    assert len(test.asked) == len(set(test.asked)), "a test was made twice"
    removed = [step for step in outcome.trace if step.operator == "remove"]
    pairs = {frozenset(pair) for pair in combinations(test.variables, 2)}
    assert outcome.graph.skeleton == pairs - {frozenset((s.source, s.target)) for s in removed}
    assert all(step.gain > alpha and len(step.given) <= (9 if max_given is None else max_given) for step in removed)


@given(st.integers(3, 8), st.integers(0, 10**6), st.floats(0.2, 0.9), st.randoms())
@settings(max_examples=150)
def test_the_order_of_variables_does_not_matter_even_to_nonsense(size, seed, alpha, random):
    names = [f"v{i}" for i in range(size)]
    first = pc(RandomTest(names, seed), alpha=alpha)
    random.shuffle(names)
    second = pc(RandomTest(names, seed), alpha=alpha)
    assert second.graph == first.graph

    def story(outcome):
        return {
            (s.operator, frozenset((s.source, s.target)) if s.operator == "remove" else s.target, s.gain)
            for s in outcome.trace
        }

    assert story(second) == story(first)


def obvious_skeleton(test, alpha):
    """The stable skeleton phase as it is told, one test at a time."""
    joined = {v: set(test.variables) - {v} for v in test.variables}
    separated = {}
    for level in range(len(test.variables) - 1):
        before = {v: set(others) for v, others in joined.items()}
        for x, y in combinations(test.variables, 2):
            if y not in before[x]:
                continue
            for z in {frozenset(s) for a, b in ((x, y), (y, x)) for s in combinations(sorted(before[a] - {b}), level)}:
                p = test.test(x, y, z).p_value
                if p > alpha:
                    joined[x].discard(y)
                    joined[y].discard(x)
                    best = separated.get(frozenset((x, y)), (-1.0, None))
                    separated[frozenset((x, y))] = max(best, (p, z), key=lambda b: b[0])
    return joined, separated


@given(st.integers(3, 7), st.integers(0, 10**6), st.floats(0.3, 0.9))
@settings(max_examples=60)
def test_the_skeleton_is_the_stable_one_and_the_largest_p_value_separates(size, seed, alpha):
    test = RandomTest([f"v{i}" for i in range(size)], seed)
    joined, separated = obvious_skeleton(test, alpha)
    outcome = pc(test, alpha=alpha)
    assert outcome.graph.skeleton == {frozenset((v, w)) for v, others in joined.items() for w in others}
    found = {
        frozenset((s.source, s.target)): (s.gain, frozenset(s.given)) for s in outcome.trace if s.operator == "remove"
    }
    assert found == separated


SHAPES = {}
for _graph in all_dags(4):
    _skeleton = frozenset(frozenset(arc) for arc in _graph.arcs())
    SHAPES.setdefault(_skeleton, {})[frozenset(v_structures(_graph))] = completed(_graph)


@given(st.integers(0, 10**6), st.floats(0.3, 0.9))
@settings(max_examples=200)
def test_colliders_that_some_dag_has_are_kept_exactly(seed, alpha):
    """If a DAG has the skeleton and exactly the colliders that were judged so, its class is the answer."""
    test = RandomTest("abcd", seed)
    _, separated = obvious_skeleton(test, alpha)
    outcome = pc(test, alpha=alpha)
    index = {name: i for i, name in enumerate("abcd")}
    skeleton = frozenset(frozenset(index[v] for v in pair) for pair in outcome.graph.skeleton)
    judged = frozenset(
        (index[a], index[b], index[c])
        for pair, (_, z) in separated.items()
        for a, c in [sorted(pair)]
        for b in "abcd"
        if {frozenset((a, b)), frozenset((b, c))} <= outcome.graph.skeleton and b not in z
    )
    classes = SHAPES[skeleton]
    if judged in classes:
        assert outcome.graph.adjacency == classes[judged]
    else:
        assert any(step.operator in ("drop", "force") for step in outcome.trace)


class Judged:
    """A test with given p-values; pairs that are not named are dependent."""

    def __init__(self, variables, p_values):
        self.variables = tuple(variables)
        self._p_values = p_values

    def test(self, x, y, given=()):
        p = self._p_values.get((frozenset((x, y)), frozenset(given)), 0.0)
        return TestResult(p, 0.0, "judged", 0)


def orientation(outcome):
    return {(s.operator, s.source, s.target, *s.given) for s in outcome.trace if s.phase == "orientation"}


@pytest.mark.parametrize("heavier", ["ac", "bd"])
def test_of_two_colliders_that_oppose_each_other_the_heavier_stays(heavier):
    # a - b - c - d: a -> b <- c says c -> b, and b -> c <- d says b -> c.
    p = {"ac": 0.3, "bd": 0.3, heavier: 0.8}
    test = Judged(
        "abcd",
        {(frozenset("ac"), frozenset()): p["ac"], (frozenset("bd"), frozenset()): p["bd"]}
        | {(frozenset("ad"), frozenset()): 0.5},
    )
    outcome = pc(test)
    middle, lost = ("b", "c") if heavier == "ac" else ("c", "b")
    assert outcome.graph.v_structures == {(frozenset(heavier), middle)}
    assert ("collider", heavier[0], middle, heavier[1]) in orientation(outcome)
    assert {(o, t) for o, _, t, _ in orientation(outcome)} == {("collider", middle), ("drop", lost)}


def square(lightest):
    """a - b - c - d - a in which no node is judged a collider: no DAG has that."""
    p = {"ac": 0.6, "bd": 0.6, lightest: 0.2}
    return Judged("abcd", {(frozenset("ac"), frozenset("bd")): p["ac"], (frozenset("bd"), frozenset("ac")): p["bd"]})


@pytest.mark.parametrize("lightest", ["ac", "bd"])
def test_a_ring_without_colliders_gets_the_lightest(lightest):
    outcome = pc(square(lightest))
    assert len(outcome.graph.skeleton) == 4
    (ends, _), *more = outcome.graph.v_structures
    assert (ends, more) == (frozenset(lightest), [])
    assert [step.operator for step in outcome.trace if step.phase == "orientation"] == ["force"]


def linear_table(rng, dag, n):
    B = random_weights(rng, dag)
    return pd.DataFrame(rng.normal(size=(n, len(B))) @ np.linalg.inv(np.eye(len(B)) - B), columns=dag.nodes)


def test_linear_gaussian_tables():
    rng = np.random.default_rng(22)
    right = 0
    for _ in range(20):
        dag = random_dag(rng, 5, 0.4)
        right += pc(FisherZ(Dataset.from_frame(linear_table(rng, dag, 3000))), alpha=0.01).graph == dag.to_cpdag()
    assert right >= 15


def test_rows_columns_and_names_of_a_table_do_not_matter():
    rng = np.random.default_rng(23)
    for _ in range(10):
        dag = random_dag(rng, 6, 0.5)
        table = linear_table(rng, dag, 100)
        names = dict(zip(table.columns, rng.permutation([f"w{i}" for i in range(6)]), strict=True))
        moved = table.rename(columns=names).iloc[rng.permutation(100), rng.permutation(6)]
        first, second = (pc(FisherZ(Dataset.from_frame(t)), alpha=0.2).graph for t in (table, moved))
        renamed = CPDAG(
            [names[v] for v in first.nodes],
            [(names[a], names[b]) for a, b in first.directed_edges],
            [(names[a], names[b]) for a, b in first.undirected_edges],
        )
        assert second == renamed


def test_kci_finds_a_nonlinear_collider_that_fisher_z_cannot_see():
    rng = np.random.default_rng(24)
    a, c = rng.normal(size=(2, 300))
    b = np.cos(2 * a) + np.abs(c) + 0.3 * rng.normal(size=300)
    data = Dataset.from_frame(pd.DataFrame({"a": a, "b": b, "c": c, "d": b**2 + rng.normal(size=300)}))
    truth = DAG("abcd", [("a", "b"), ("c", "b"), ("b", "d")]).to_cpdag()
    assert pc(KCI(data)).graph == truth
    assert pc(FisherZ(data)).graph != truth


def test_discrete_tables():
    rng = np.random.default_rng(25)
    a, c = rng.integers(0, 3, size=(2, 4000))
    b = np.where(rng.random(4000) < 0.7, np.maximum(a, c), rng.integers(0, 3, size=4000))
    data = Dataset.from_frame(pd.DataFrame({"a": a, "b": b, "c": c, "d": (b + (rng.random(4000) < 0.3)) % 3}))
    assert pc(ChiSquared(data)).graph == DAG("abcd", [("a", "b"), ("c", "b"), ("b", "d")]).to_cpdag()


def test_a_batch_answers_instead():
    dag = random_dag(np.random.default_rng(26), 6, 0.4)
    oracle, batches = SeparationOracle(dag), []

    def batch(queries):
        batches.append(list(queries))
        return [oracle.test(*query) for query in queries]

    outcome = pc(oracle, batch=batch)
    assert outcome == pc(oracle)
    assert [{len(query.given) for query in queries} for queries in batches if queries] == [
        {level} for level in range(len([b for b in batches if b]))
    ]
    assert outcome.trace[-1].scores == sum(map(len, batches))


def test_no_more_is_given_than_allowed():
    dag = DAG("abcd", [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
    assert pc(SeparationOracle(dag)).graph == dag.to_cpdag()
    limited = pc(SeparationOracle(dag), max_given=1)
    assert max(len(step.given) for step in limited.trace if step.phase == "skeleton") <= 1
    assert frozenset("ad") in limited.graph.skeleton
    assert pc(SeparationOracle(dag), max_given=0).graph.skeleton == {frozenset(p) for p in combinations("abcd", 2)}


def test_the_watcher_is_told_and_steps_are_counted():
    told = []
    outcome = pc(SeparationOracle(DAG("abc", [("a", "b"), ("c", "b")])), watch=told.append)
    assert [progress.phase for progress in told] == ["skeleton", "skeleton", "skeleton", "orientation"][-len(told) :]
    assert (told[0].edges, told[-1].edges) == (3, 2)
    assert [(s.number, s.phase, s.operator, s.source, s.target, s.given, s.gain, s.edges) for s in outcome.trace] == [
        (1, "skeleton", "remove", "a", "c", (), 1.0, 2),
        (2, "orientation", "collider", "a", "b", ("c",), 1.0, 2),
    ]


@pytest.mark.parametrize("alpha", [0.0, 1.0, -0.1, 5, float("nan"), "0.05", True])
def test_alpha_is_a_probability(alpha):
    with pytest.raises(OptionError, match=r"alpha \(--alpha\)"):
        pc(SeparationOracle(DAG("ab")), alpha=alpha)


def test_odd_limits_and_odd_tests_are_refused():
    with pytest.raises(OptionError, match=r"max_given \(--max-given\) cannot be -1"):
        pc(SeparationOracle(DAG("ab")), max_given=-1)
    with pytest.raises(ComputationError, match="the p-value of 'a' and 'b' is nan"):
        pc(Judged("ab", {(frozenset("ab"), frozenset()): float("nan")}))


def test_one_variable_and_none_are_graphs_too():
    assert pc(Judged("a", {})).graph == CPDAG("a")
    assert pc(Judged("ab", {})).graph.adjacency == Adjacency.of(2, undirected=[(0, 1)])


@pytest.mark.parametrize("name", ["kci", "fisher-z", "chi-squared"])
def test_tables_with_gaps(name):
    rng = np.random.default_rng(27)
    a = rng.integers(0, 3, size=400)
    b = (a + (rng.random(400) < 0.2)) % 3
    frame = pd.DataFrame({"a": a, "b": b, "c": (b + (rng.random(400) < 0.2)) % 3}).astype(float)
    frame.loc[rng.choice(400, 60, replace=False), "a"] = np.nan
    frame.loc[rng.choice(400, 60, replace=False), "c"] = np.nan
    data = Dataset.from_frame(frame, missing="testwise")
    graph = pc(make_test(name, data)).graph
    assert graph.skeleton >= {frozenset("ab"), frozenset("bc")}
