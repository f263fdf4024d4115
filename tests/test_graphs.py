from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerncause import CPDAG, DAG, PDAG, GraphError
from kerncause.graphs import Adjacency, completed, consistent_extension, extend, meek_closure
from kerncause.graphs.equivalence import v_structures
from oracles import all_dags, random_dag

FOUR = all_dags(4)


def pattern(graph):
    """What decides the class: the skeleton and the v-structures."""
    skeleton = frozenset(frozenset(edge) for edge in graph.arcs())
    return skeleton, frozenset(v_structures(graph))


@st.composite
def dags(draw, most=8):
    size = draw(st.integers(1, most))
    names = [f"n{i}" for i in range(size)]
    order = draw(st.permutations(names))
    pairs = list(combinations(order, 2))
    kept = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return DAG(names, [pair for pair, keep in zip(pairs, kept, strict=True) if keep])


def test_there_are_as_many_dags_and_classes_as_known():
    # Robinson's numbers of labelled DAGs; numbers of classes from Gillispie and Perlman (2001).
    assert len(all_dags(3)) == 25
    assert len({completed(dag) for dag in all_dags(3)}) == 11
    assert len(FOUR) == 543
    assert len({completed(dag) for dag in FOUR}) == 185


def test_the_completed_graph_is_what_all_members_share():
    classes = {}
    for dag in FOUR:
        classes.setdefault(pattern(dag), []).append(dag)
    assert len(classes) == 185
    for members in classes.values():
        shared = set.intersection(*(set(dag.arcs()) for dag in members))
        for dag in members:
            graph = completed(dag)
            assert set(graph.arcs()) == shared
            assert {frozenset(e) for e in [*graph.arcs(), *graph.links()]} == {frozenset(e) for e in dag.arcs()}


@given(dags())
def test_a_class_extends_to_one_of_its_members(dag):
    cpdag = dag.to_cpdag()
    member = cpdag.to_dag()
    assert member.to_cpdag() == cpdag
    assert member.skeleton == dag.skeleton
    assert member.v_structures == dag.v_structures


@given(dags())
def test_networkx_and_back(dag):
    assert DAG.from_networkx(dag.to_networkx()) == dag
    cpdag = dag.to_cpdag()
    assert CPDAG.from_networkx(cpdag.to_networkx()) == cpdag


@given(dags(), st.randoms())
def test_listing_nodes_otherwise_changes_nothing(dag, random):
    nodes = list(dag.nodes)
    random.shuffle(nodes)
    assert dag.reordered(nodes) == dag
    assert hash(dag.reordered(nodes)) == hash(dag)
    assert dag.reordered(nodes).to_cpdag() == dag.to_cpdag()


@given(dags(most=6), st.data())
def test_d_separation_is_that_of_the_moral_graph(dag, data):
    if len(dag.nodes) < 2:
        return
    x, y = data.draw(st.permutations(dag.nodes))[:2]
    given_ = data.draw(st.sets(st.sampled_from(dag.nodes))) - {x, y}
    digraph = dag.to_networkx()
    kept = set().union(*(nx.ancestors(digraph, v) | {v} for v in {x, y, *given_}))
    moral = nx.moral_graph(digraph.subgraph(kept))
    moral.remove_nodes_from(given_)
    assert dag.d_separated(x, y, given_) == (not nx.has_path(moral, x, y))


@pytest.mark.parametrize(
    ("directed", "undirected", "forced"),
    [
        ([(0, 1)], [(1, 2)], {(1, 2)}),
        ([(0, 1), (1, 2)], [(0, 2)], {(0, 2)}),
        ([(1, 3), (2, 3)], [(0, 1), (0, 2), (0, 3)], {(0, 3)}),
        ([(1, 2), (2, 3)], [(0, 1), (0, 2), (0, 3)], {(0, 3)}),
    ],
    ids=["rule 1", "rule 2", "rule 3", "rule 4"],
)
def test_each_rule_of_meek(directed, undirected, forced):
    closed = meek_closure(Adjacency.of(4, directed, undirected))
    assert set(closed.arcs()) - set(directed) == forced


def test_meek_closure_is_right_under_knowledge():
    """Orient some edges of a class by hand: what the rules add is what all remaining members share."""
    rng = np.random.default_rng(0)
    classes = {}
    for dag in FOUR:
        classes.setdefault(completed(dag), []).append(dag)
    for position in rng.choice(len(FOUR), 300):
        member = FOUR[position]
        graph = completed(member)
        known = [arc for arc in member.arcs() if rng.random() < 0.4]
        partly = graph.changed(remove=[(b, a) for a, b in known])
        consistent = [d for d in classes[graph] if set(known) <= set(d.arcs())]
        shared = set.intersection(*(set(d.arcs()) for d in consistent))
        assert set(meek_closure(partly).arcs()) == shared


def test_no_extension_is_said_so():
    square = Adjacency.of(4, undirected=[(0, 1), (1, 2), (2, 3), (3, 0)])
    assert consistent_extension(square) is None
    with pytest.raises(GraphError, match="no DAG"):
        extend(PDAG("abcd", undirected=[("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]))
    with pytest.raises(GraphError, match="not a completed graph"):
        CPDAG("ab", directed=[("a", "b")])


def test_what_is_no_graph_is_refused():
    with pytest.raises(GraphError, match="cycle"):
        DAG("abc", [("a", "b"), ("b", "c"), ("c", "a")])
    with pytest.raises(GraphError, match="'z'"):
        DAG("ab", [("a", "z")])
    with pytest.raises(GraphError, match="to itself"):
        DAG("ab", [("a", "a")])
    with pytest.raises(GraphError, match="point at each other"):
        DAG("ab", [("a", "b"), ("b", "a")])
    with pytest.raises(GraphError, match="names must be different"):
        DAG(["a", "a"])
    with pytest.raises(GraphError, match="there is no node 'q'"):
        DAG("ab").parents("q")
    with pytest.raises(GraphError, match="must all be different"):
        DAG("ab").d_separated("a", "a")


def test_graphs_cannot_be_changed():
    dag = DAG("ab", [("a", "b")])
    with pytest.raises(AttributeError):
        dag.nodes = ("x", "y")


def test_neighbourhoods_by_name():
    dag = DAG("abcd", [("a", "c"), ("b", "c"), ("c", "d")])
    assert dag.parents("c") == {"a", "b"}
    assert dag.children("c") == {"d"}
    assert dag.topological_order == ("a", "b", "c", "d")
    cpdag = DAG("abc", [("a", "b"), ("b", "c")]).to_cpdag()
    assert cpdag.neighbours("b") == {"a", "c"} == cpdag.adjacent("b")
    assert cpdag.parents("b") == frozenset()


def test_random_dags_have_the_density_asked_for():
    rng = np.random.default_rng(1)
    edges = [len(random_dag(rng, 8, 0.5).edges) for _ in range(200)]
    assert 13 < np.mean(edges) < 15
