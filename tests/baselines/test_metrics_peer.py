"""Metrics and conversions against causal-learn, which has its own."""

from itertools import combinations

import numpy as np
import pytest
from causallearn.graph.AdjacencyConfusion import AdjacencyConfusion
from causallearn.graph.ArrowConfusion import ArrowConfusion
from causallearn.graph.Edge import Edge
from causallearn.graph.Endpoint import Endpoint
from causallearn.graph.GeneralGraph import GeneralGraph
from causallearn.graph.GraphNode import GraphNode
from causallearn.graph.SHD import SHD
from causallearn.search.ConstraintBased.PC import pc
from causallearn.utils.DAG2CPDAG import dag2cpdag
from causallearn.utils.GraphUtils import GraphUtils
from causallearn.utils.TXT2GeneralGraph import txt2generalgraph
from hypothesis import given
from hypothesis import strategies as st

from kerncause import CPDAG, DAG, PDAG, GraphError
from kerncause.graphs import from_causal_learn, read_graph, to_causal_learn, write_graph
from kerncause.metrics import arrow_accuracy, shd, skeleton_accuracy
from oracles import random_dag


@st.composite
def pdags(draw, most=6):
    size = draw(st.integers(1, most))
    names = [f"X{i}" for i in range(size)]
    directed, undirected = [], []
    for a, b in combinations(names, 2):
        choice = draw(st.integers(0, 3))
        directed += [(a, b)] * (choice == 1) + [(b, a)] * (choice == 2)
        undirected += [(a, b)] * (choice == 3)
    return PDAG(names, directed, undirected)


def random_pairs(number, size):
    rng = np.random.default_rng(3)
    for _ in range(number):
        yield random_dag(rng, size, 0.5), random_dag(rng, size, 0.5)


@given(pdags())
def test_there_and_back(graph):
    general = to_causal_learn(graph)
    assert [node.get_name() for node in general.get_nodes()] == list(graph.nodes)
    back = from_causal_learn(general)
    assert back == graph
    assert back.nodes == graph.nodes


def test_a_graph_becomes_what_causal_learn_would_build():
    dag = DAG("abc", [("a", "b"), ("c", "b")])
    nodes = [GraphNode(name) for name in "abc"]
    built = GeneralGraph(nodes)
    built.add_directed_edge(nodes[0], nodes[1])
    built.add_directed_edge(nodes[2], nodes[1])
    assert to_causal_learn(dag) == built
    assert (to_causal_learn(dag).dpath == built.dpath).all()
    assert to_causal_learn(dag).is_parent_of(*[to_causal_learn(dag).get_node(name) for name in "ab"])


def test_completed_graphs_are_the_same():
    for dag, _ in random_pairs(30, 6):
        assert from_causal_learn(dag2cpdag(to_causal_learn(dag))) == dag.to_cpdag()


def test_hamming_distances_are_the_same():
    for truth, found in random_pairs(30, 6):
        theirs = SHD(to_causal_learn(truth.to_cpdag()), to_causal_learn(found.to_cpdag())).get_shd()
        assert shd(truth, found) == theirs


def test_accuracies_are_the_same():
    compared = 0
    for truth, found in random_pairs(40, 6):
        graphs = to_causal_learn(truth), to_causal_learn(found.to_cpdag())
        adjacency, arrows = AdjacencyConfusion(*graphs), ArrowConfusion(*graphs)
        ours = skeleton_accuracy(truth, found)
        assert ours.precision == pytest.approx(adjacency.get_adj_precision())
        assert ours.recall == pytest.approx(adjacency.get_adj_recall())
        if found.to_cpdag().directed_edges:
            compared += 1
            ours = arrow_accuracy(truth, found.to_cpdag())
            assert ours.precision == pytest.approx(arrows.get_arrows_precision())
            assert ours.recall == pytest.approx(arrows.get_arrows_recall())
    assert compared > 10


def test_what_pc_returns_is_read():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 500))
    result = pc(np.column_stack([x, y, x + y + 0.3 * rng.normal(size=500)]), show_progress=False)
    assert from_causal_learn(result) == DAG(["X1", "X2", "X3"], [("X1", "X3"), ("X2", "X3")])


def test_edges_of_partial_ancestral_graphs_are_refused():
    nodes = [GraphNode(name) for name in "ab"]
    for ends in (
        (Endpoint.CIRCLE, Endpoint.ARROW),
        (Endpoint.ARROW, Endpoint.ARROW),
        (Endpoint.CIRCLE, Endpoint.CIRCLE),
    ):
        general = GeneralGraph(nodes)
        general.add_edge(Edge(*nodes, *ends))
        with pytest.raises(GraphError, match="the edge between 'a' and 'b' has the marks"):
            from_causal_learn(general)


def test_its_text_files_are_read_and_ours_by_it(tmp_path):
    graph = PDAG(["X1", "X2", "X3", "X4"], [("X1", "X2"), ("X3", "X2")], [("X3", "X4")])
    (tmp_path / "theirs.txt").write_text(str(to_causal_learn(graph)))
    assert read_graph(tmp_path / "theirs.txt") == graph
    write_graph(graph, tmp_path / "ours.txt")
    assert from_causal_learn(txt2generalgraph(str(tmp_path / "ours.txt"))) == graph


def test_its_drawings_are_read_by_the_numbers_of_their_nodes(tmp_path):
    graph = CPDAG(["0", "1", "2", "3"], [("0", "2"), ("1", "2"), ("2", "3")])
    drawn = GraphUtils.to_pydot(to_causal_learn(graph)).to_string()
    (tmp_path / "theirs.dot").write_text(drawn)
    assert read_graph(tmp_path / "theirs.dot") == graph
