from itertools import combinations, pairwise, permutations, product

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerncause import CPDAG, DAG, PDAG, GraphError, OptionError, networks
from kerncause.graphs import Effects, class_of, completed, d_connected, extensions, mask_of, members, narrowest
from kerncause.graphs.equivalence import v_structures
from kerncause.metrics import (
    Accuracy,
    arrow_accuracy,
    compare,
    shd,
    shd_normalised,
    shd_okcd,
    sid,
    sid_bounds,
    skeleton_accuracy,
)
from oracles import all_dags, random_dag, random_weights

NAMES = "abcdef"
FOUR = all_dags(4)


@st.composite
def dags(draw, least=1, most=6):
    size = draw(st.integers(least, most))
    order = draw(st.permutations(NAMES[:size]))
    return DAG(NAMES[:size], [pair for pair in combinations(order, 2) if draw(st.booleans())])


@st.composite
def pdags(draw, size):
    """Any edges at all: none, one way, the other way, undirected."""
    directed, undirected = [], []
    for a, b in combinations(NAMES[:size], 2):
        choice = draw(st.integers(0, 3))
        directed += [(a, b)] * (choice == 1) + [(b, a)] * (choice == 2)
        undirected += [(a, b)] * (choice == 3)
    return PDAG(NAMES[:size], directed, undirected)


def same_size(number, least=1, most=5):
    return st.integers(least, most).flatmap(lambda size: st.tuples(*[dags(size, size)] * number))


def same_size_pdags(number):
    return st.integers(1, 5).flatmap(lambda size: st.tuples(*[pdags(size)] * number))


def renamed(graph, names):
    new = dict(zip(graph.nodes, names, strict=True))
    return type(graph)(
        sorted(names),
        [(new[a], new[b]) for a, b in graph.directed_edges],
        [(new[a], new[b]) for a, b in graph.undirected_edges],
    )


# What a graph stands for.


def pattern(graph):
    skeleton = frozenset(frozenset(edge) for edge in [*graph.arcs(), *graph.links()])
    return skeleton, frozenset(v_structures(graph))


def test_the_members_of_every_class_of_four_nodes_are_listed_once():
    classes = {}
    for dag in FOUR:
        classes.setdefault(completed(dag), set()).add(dag)
    assert len(classes) == 185
    for graph, expected in classes.items():
        listed = list(extensions(graph))
        assert len(listed) == len(expected)
        assert set(listed) == expected


@given(pdags(4))
def test_the_members_of_any_graph_are_the_dags_with_its_skeleton_colliders_and_arrows(graph):
    adjacency = graph.adjacency
    expected = {dag for dag in FOUR if pattern(dag) == pattern(adjacency) and set(adjacency.arcs()) <= set(dag.arcs())}
    listed = list(extensions(adjacency))
    assert len(listed) == len(set(listed))
    assert set(listed) == expected
    assert {dag.adjacency for dag in members(graph)} == expected


def test_a_complete_graph_has_as_many_members_as_there_are_orders():
    complete = CPDAG("abcdef", undirected=combinations("abcdef", 2))
    assert len(members(complete)) == 720
    assert len(members(complete, limit=720)) == 720
    with pytest.raises(GraphError, match="more than 719 DAGs: raise the limit"):
        members(complete, limit=719)
    with pytest.raises(OptionError, match="limit cannot be 0"):
        members(complete, limit=0)


def test_a_graph_without_extension_has_no_members():
    square = PDAG("abcd", undirected=[("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")])
    ring = PDAG("abc", [("a", "b"), ("b", "c"), ("c", "a")])
    for graph in (square, ring):
        assert members(graph) == ()
        assert class_of(graph) is graph


def test_the_narrowest_kind_follows_from_the_edges():
    chain = [("a", "b"), ("b", "c")]
    assert type(narrowest(PDAG("abc", chain))) is DAG
    assert type(narrowest(CPDAG("abc", [("a", "b"), ("c", "b")]))) is DAG
    assert type(narrowest(PDAG("abc", undirected=chain))) is CPDAG
    assert type(narrowest(PDAG("abc", [("a", "b")], [("b", "c")]))) is PDAG
    assert type(narrowest(PDAG("abc", [*chain, ("c", "a")]))) is PDAG
    assert type(narrowest(PDAG(""))) is DAG


@given(pdags(4))
def test_the_class_of_a_graph_is_that_of_its_members(graph):
    for dag in members(graph):
        assert dag.to_cpdag() == class_of(graph)


# Adjustment.


@given(dags(2), st.data())
def test_d_connection_is_that_of_networkx(dag, data):
    start = data.draw(st.integers(0, len(dag.nodes) - 1))
    inside = data.draw(st.sets(st.integers(0, len(dag.nodes) - 1).filter(lambda i: i != start)))
    reached = d_connected(dag.adjacency, start, mask_of(inside))
    for j in set(range(len(dag.nodes))) - inside - {start}:
        names = [dag.nodes[i] for i in inside]
        assert bool(reached >> j & 1) == (not dag.d_separated(dag.nodes[start], dag.nodes[j], names))
    assert not reached & mask_of(inside | {start})


def slow_wrong(graph, i, j, parents):
    """Peters and Buehlmann's definition, path by path; graph is a networkx DiGraph, the truth."""
    if j in parents:
        return j in nx.descendants(graph, i)
    forbidden, is_open = set(), False
    for path in nx.all_simple_paths(graph.to_undirected(), i, j):
        if all(graph.has_edge(a, b) for a, b in pairwise(path)):
            for node in path[1:]:
                forbidden |= {node} | nx.descendants(graph, node)
        else:
            is_open |= not is_blocked(graph, path, parents)
    return bool(forbidden & parents) or is_open


def is_blocked(graph, path, given_):
    for before, node, after in zip(path, path[1:], path[2:], strict=False):
        collider = graph.has_edge(before, node) and graph.has_edge(after, node)
        if collider and not ({node} | nx.descendants(graph, node)) & given_:
            return True
        if not collider and node in given_:
            return True
    return False


def slow_sid(truth, found):
    graph = truth.to_networkx()
    return sum(slow_wrong(graph, i, j, found.parents(i)) for i, j in permutations(truth.nodes, 2))


def linear_sid(rng, truth, found):
    """The same by numbers: the effects in a linear Gaussian model with random weights, against regressions."""
    B = random_weights(rng, truth)
    A = np.linalg.inv(np.eye(len(B)) - B)
    cov = A.T @ A
    wrong = 0
    for i, j in permutations(range(len(B)), 2):
        after = B.copy()
        after[:, i] = 0.0
        effects = np.linalg.inv(np.eye(len(B)) - after)
        noise = np.eye(len(B))
        noise[i, i] = 0.0
        slope, variance = effects[i, j], (effects.T @ noise @ effects)[j, j]
        Z = sorted(found.nodes.index(name) for name in found.parents(found.nodes[i]))
        if j in Z:
            stated = 0.0, cov[j, j]
        else:
            on = [i, *Z]
            weights = np.linalg.solve(cov[np.ix_(on, on)], cov[on, j])
            left = cov[j, j] - weights @ cov[on, j]
            stated = weights[0], left + weights[1:] @ cov[np.ix_(Z, Z)] @ weights[1:]
        wrong += not np.allclose((slope, variance), stated, rtol=1e-7, atol=1e-9)
    return wrong


def test_the_sid_of_every_two_dags_of_three_nodes_is_that_of_the_definition_and_of_a_linear_model():
    rng = np.random.default_rng(0)
    three = [DAG.of("abc", dag) for dag in all_dags(3)]
    for truth, found in product(three, three):
        expected = slow_sid(truth, found)
        assert sid(truth, found) == expected
        assert linear_sid(rng, truth, found) == expected


@given(same_size(2, most=6))
def test_the_sid_is_that_of_the_definition(graphs):
    truth, found = graphs
    assert sid(truth, found) == slow_sid(truth, found)


def test_the_sid_is_that_of_a_linear_model():
    rng = np.random.default_rng(1)
    for _ in range(100):
        truth, found = random_dag(rng, 5, 0.5), random_dag(rng, 5, 0.5)
        assert sid(truth, found) == linear_sid(rng, truth, found)


def test_the_sid_of_the_example_of_its_paper():
    # Peters and Buehlmann (2015), figure 1: one edge more costs nothing, one turned edge costs 8.
    ys = ["y1", "y2", "y3"]
    common = [(x, y) for x in ("x1", "x2") for y in ys]
    truth = DAG(["x1", "x2", *ys], [("x1", "x2"), *common])
    more = DAG(truth.nodes, [*truth.edges, ("y1", "y2")])
    turned = DAG(truth.nodes, [("x2", "x1"), *common])
    assert sid(truth, more) == 0
    assert sid(truth, turned) == 8


def test_the_sid_of_the_empty_graph_counts_the_open_backdoors():
    # In a -> b -> c without adjustment: (b, a), (c, a) and (c, b) look like effects; (b, c) is right.
    assert sid(DAG("abc", [("a", "b"), ("b", "c")]), DAG("abc")) == 3
    # A common cause of two: (b, a), (c, a), (b, c), (c, b).
    assert sid(DAG("abc", [("a", "b"), ("a", "c")]), DAG("abc")) == 4
    # A collider: only (c, a) and (c, b).
    assert sid(DAG("abc", [("a", "c"), ("b", "c")]), DAG("abc")) == 2
    # An empty truth has no effects, and adjusting for what is independent finds none.
    assert sid(DAG("ab"), DAG("ab", [("a", "b")])) == 0
    # A turned edge: (a, b) is called no effect, (b, a) an effect.
    assert sid(DAG("ab", [("a", "b")]), DAG("ab", [("b", "a")])) == 2


@given(same_size(2))
def test_the_sid_is_zero_for_the_truth_and_for_any_graph_that_holds_it(graphs):
    truth, other = graphs
    assert sid(truth, truth) == 0
    more = [(a, b) for a, b in combinations(truth.topological_order, 2)]
    assert sid(truth, DAG(truth.nodes, more)) == 0
    p = len(truth.nodes)
    assert 0 <= sid(truth, other) <= p * (p - 1)


@given(same_size(2, most=4))
def test_the_bounds_of_the_sid_are_those_over_the_members(graphs):
    truth, found = graphs
    distances = [slow_sid(truth, member) for member in members(found.to_cpdag())]
    assert sid_bounds(truth, found.to_cpdag()) == (min(distances), max(distances))
    assert sid_bounds(truth, found) == (sid(truth, found),) * 2


@given(st.integers(1, 4).flatmap(lambda size: st.tuples(dags(size, size), pdags(size))))
def test_the_bounds_of_the_sid_of_any_graph_are_those_over_its_members(graphs):
    truth, found = graphs
    distances = [sid(truth, member) for member in members(found)]
    assert sid_bounds(truth, found) == ((min(distances), max(distances)) if distances else None)


@settings(max_examples=30)
@given(dags(6, 6), dags(6, 6))
def test_components_are_bounded_apart(truth, found):
    distances = [sid(truth, member) for member in members(found.to_cpdag())]
    assert sid_bounds(truth, found.to_cpdag()) == (min(distances), max(distances))


def test_bounds_are_left_out_where_a_component_can_be_directed_in_too_many_ways():
    pairs = [(f"a{i}", f"b{i}") for i in range(40)]
    names = [name for pair in pairs for name in pair]
    truth = DAG(names, pairs)
    # 2^40 members, but each of the 40 components has two: an edge that is turned costs 2.
    assert sid_bounds(truth, truth.to_cpdag()) == (0, 80)
    assert sid_bounds(truth, truth.to_cpdag(), limit=2) == (0, 80)
    assert sid_bounds(truth, truth.to_cpdag(), limit=1) is None
    complete = DAG("abcdefgh", combinations("abcdefgh", 2))
    outcome = compare(complete, complete.to_cpdag())
    assert outcome.sid_lower is None
    assert outcome.sid_upper is None
    assert outcome.shd == 0


def test_effects_know_who_is_above_and_below():
    effects = Effects.of(DAG("abcd", [("a", "b"), ("b", "c")]).adjacency)
    assert effects.above == (0b0001, 0b0011, 0b0111, 0b1000)
    assert effects.below == (0b0111, 0b0110, 0b0100, 0b1000)


# Accuracy and Hamming distances.


def test_a_comparison_by_hand():
    truth = DAG("abcd", [("a", "c"), ("b", "c"), ("c", "d")])
    found = CPDAG("abcd", undirected=[("a", "c"), ("c", "d")])
    outcome = compare(truth, found)
    assert outcome.skeleton == Accuracy(1.0, 2 / 3, 0.8)
    # The class of the truth has all three arrows, the found one none.
    assert outcome.class_arrows == Accuracy(1.0, 0.0, 0.0) == outcome.dag_arrows
    # a - c, c - d lack their heads, b - c is missing.
    assert outcome.shd == 3
    assert outcome.shd_normalised == 3 / 6
    # a -> c against a - c: 1; c -> d against c - d: 1; b -> c against nothing: 1.
    assert outcome.shd_okcd == 3 / 12
    # a -> c -> d gets (c, b) wrong. Of a <- c -> d, three effects of a and (c, a), (c, b) are; of a <- c <- d, those of
    # a, c and d, three each.
    assert (outcome.sid_lower, outcome.sid_upper) == (1, 9)
    assert sorted(sid(truth, member) for member in members(found)) == [1, 5, 9]


def test_arrows_against_the_true_dag_and_of_the_classes():
    truth = DAG("abc", [("a", "b"), ("b", "c")])
    backwards = DAG("abc", [("c", "b"), ("b", "a")])
    outcome = compare(truth, backwards)
    assert outcome.dag_arrows == Accuracy(0.0, 0.0, 0.0)
    assert outcome.class_arrows == Accuracy(1.0, 1.0, 1.0)
    assert outcome.shd == 0
    assert outcome.shd_okcd == 0
    assert outcome.sid_lower == outcome.sid_upper == 6
    assert compare(truth.to_cpdag(), backwards).dag_arrows is None
    assert compare(truth.to_cpdag(), backwards).sid_upper is None


COLLIDER = PDAG("abc", [("a", "b"), ("c", "b")])


@pytest.mark.parametrize(
    ("truth", "found", "pairs", "differences"),
    [
        # The class of a -> b is a - b: one head too few, one arrow too few.
        (COLLIDER, PDAG("abc", [("a", "b")]), 2, 2),
        (COLLIDER, PDAG("abc"), 2, 2),
        (PDAG("abc", undirected=[("a", "b")]), PDAG("abc"), 1, 2),
        # c -> b is turned, a -> b is gone, a -> c is new.
        (COLLIDER, PDAG("abc", [("a", "c"), ("b", "c")]), 3, 4),
    ],
    ids=["head", "arrow", "line", "turned"],
)
def test_what_the_two_hamming_distances_charge(truth, found, pairs, differences):
    assert shd(truth, found) == pairs
    assert shd_normalised(truth, found) == pytest.approx(pairs / 3)
    assert shd_okcd(truth, found) == pytest.approx(differences / 6)


def test_empty_and_tiny_graphs():
    nothing = compare(DAG("abc"), DAG("abc"))
    assert nothing.skeleton == nothing.class_arrows == nothing.dag_arrows == Accuracy(1.0, 1.0, 1.0)
    assert (nothing.shd, nothing.shd_okcd, nothing.sid_lower) == (0, 0.0, 0)
    for nodes in ("", "a"):
        single = compare(DAG(nodes), DAG(nodes))
        assert (single.shd, single.shd_normalised, single.shd_okcd, single.sid_upper) == (0, 0.0, 0.0, 0)
    missed = compare(DAG("ab", [("a", "b")]), DAG("ab"))
    assert missed.skeleton == Accuracy(1.0, 0.0, 0.0)
    assert compare(DAG("ab"), DAG("ab", [("a", "b")])).skeleton == Accuracy(0.0, 1.0, 0.0)


def test_a_graph_that_no_dag_extends_is_compared_as_it_stands():
    ring = PDAG("abc", [("a", "b"), ("b", "c"), ("c", "a")])
    truth = DAG("abc", [("a", "b"), ("b", "c")])
    outcome = compare(truth, ring)
    assert outcome.shd == 3
    assert outcome.dag_arrows == Accuracy(2 / 3, 1.0, 0.8)
    assert outcome.sid_lower is None
    with pytest.raises(GraphError, match=r"the found graph is no DAG.*sid_bounds"):
        sid(truth, ring)
    with pytest.raises(GraphError, match="the truth is no DAG"):
        sid(truth.to_cpdag(), truth)
    with pytest.raises(GraphError, match="the truth is no DAG"):
        sid_bounds(ring, truth)


@pytest.mark.parametrize("measure", [compare, skeleton_accuracy, arrow_accuracy, shd, shd_okcd, sid, sid_bounds])
def test_different_nodes_are_told_by_side(measure):
    with pytest.raises(
        GraphError, match=r"only the truth has 'b'; only the found graph has 'c' and 'd\\n'.*same names"
    ):
        measure(DAG("ab"), DAG(["a", "c", "d\n"]))
    with pytest.raises(GraphError) as caught:
        measure(DAG("ab"), DAG("a"))
    assert "only the truth has 'b'" in str(caught.value)
    assert "only the found" not in str(caught.value)


@given(same_size_pdags(3))
def test_hamming_distances_are_distances(graphs):
    a, b, c = graphs
    for distance in (shd, shd_okcd):
        assert distance(a, a) == 0
        assert distance(a, b) == distance(b, a)
        assert distance(a, c) <= distance(a, b) + distance(b, c) + 1e-12
    assert (shd(a, b) == 0) == (class_of(a) == class_of(b)) == (shd_okcd(a, b) == 0)
    assert 0 <= shd_normalised(a, b) <= 1
    assert 0 <= shd_okcd(a, b) <= 1


@given(same_size_pdags(2))
def test_accuracies_swap_with_the_graphs(graphs):
    a, b = graphs
    for accuracy in (skeleton_accuracy, arrow_accuracy):
        there, back = accuracy(a, b), accuracy(b, a)
        assert (there.precision, there.recall, there.f1) == (back.recall, back.precision, back.f1)
        assert min(there.precision, there.recall) - 1e-12 <= there.f1 or there.f1 == 0.0
    assert skeleton_accuracy(a, a) == Accuracy(1.0, 1.0, 1.0)


@given(same_size_pdags(2), st.randoms())
def test_nothing_depends_on_names_or_their_order(graphs, random):
    truth, found = graphs
    names = list(NAMES[: len(truth.nodes)])
    random.shuffle(names)
    order = random.sample(truth.nodes, len(truth.nodes))
    outcome = compare(truth, found)
    assert compare(renamed(truth, names), renamed(found, names)) == outcome
    assert compare(truth, found.reordered(order)) == outcome
    for distance in (shd, shd_okcd):
        assert distance(truth, found.reordered(order)) == distance(truth, found)


@given(dags())
def test_the_type_of_a_graph_does_not_count(dag):
    assert compare(PDAG.of(dag.nodes, dag.adjacency), dag) == compare(dag, dag)
    cpdag = dag.to_cpdag()
    assert compare(dag, PDAG.of(cpdag.nodes, cpdag.adjacency)) == compare(dag, cpdag)


def test_the_bundled_networks_compare_with_their_classes():
    for name in ("sachs", "child"):
        dag = networks.load(name).dag
        outcome = compare(dag, dag.to_cpdag())
        assert outcome.shd == 0
        assert outcome.skeleton.f1 == outcome.class_arrows.f1 == 1.0
        assert outcome.dag_arrows.precision == 1.0
        assert outcome.dag_arrows.recall < 1.0
        assert outcome.sid_lower == 0 < outcome.sid_upper
