from itertools import permutations

import numpy as np
import pytest

from kerncause import CPDAG
from kerncause.graphs import PDAG, Adjacency, bits, completed, extensions
from kerncause.knowledge import Limits
from kerncause.scores import Ledger
from kerncause.search.members import best_member, outcome_of
from oracles import bic_score, random_dag, random_weights
from test_ges import CLASSES, RandomScore
from test_knowledge import random_knowledge


def total(score, dag):
    name = score.variables
    return sum(score.local_score(name[j], [name[i] for i in bits(dag.parents(j))]) for j in range(dag.size))


def closed_classes():
    """All classes of four nodes and some of five, as they are and closed under random limits, with their members."""
    rng = np.random.default_rng(51)
    for size, classes in ((4, list(CLASSES)), (5, [completed(random_dag(rng, 5, 0.6).adjacency) for _ in range(60)])):
        names = RandomScore(size, 0).variables
        for graph in classes:
            yield graph, list(extensions(graph))
            closed = random_knowledge(rng, names).limits(names).directed(graph)
            if closed not in (None, graph):
                yield closed, list(extensions(closed))


CLOSED = [(graph, dags) for graph, dags in closed_classes() if len(dags) > 1]
SCORES = {size: [RandomScore(size, seed) for seed in range(3)] for size in (4, 5)}


def test_the_best_member_and_what_turning_each_edge_costs():
    for graph, dags in CLOSED:
        for score in SCORES[graph.size]:
            best = best_member(Ledger(score), graph)
            totals = {dag: total(score, dag) for dag in dags}
            assert best.dag == max(totals, key=totals.__getitem__)
            assert {tuple(sorted(arc)) for arc in best.preferences} == set(graph.links())
            for (i, j), turn in best.preferences.items():
                assert best.dag.children(i) >> j & 1
                against = max((d for d in dags if d.children(j) >> i & 1), key=totals.__getitem__)
                assert turn.nats == pytest.approx(totals[best.dag] - totals[against], abs=1e-9)
                assert set(turn.turned) == set(best.dag.arcs()) - set(against.arcs())
                assert (i, j) in turn.turned


@pytest.mark.parametrize("most_listed", [0, 1])
def test_climbing_gives_a_member_that_is_mostly_the_best(most_listed):
    found, right = 0, 0
    for graph, dags in CLOSED:
        for score in SCORES[graph.size]:
            best = best_member(Ledger(score), graph, most_listed=most_listed)
            assert best.dag in dags
            assert {tuple(sorted(arc)) for arc in best.preferences} == set(graph.links())
            gap = max(total(score, dag) for dag in dags) - total(score, best.dag)
            assert gap > -1e-9
            found, right = found + 1, right + (gap < 1e-9)
    assert right > 0.8 * found


def test_the_climbed_dag_has_the_preferred_directions():
    for graph, _ in CLOSED:
        for score in SCORES[graph.size]:
            best = best_member(Ledger(score), graph, most_listed=0)
            for (i, j), turn in best.preferences.items():
                assert best.dag.children(i) >> j & 1
                assert turn.nats >= 0


def test_a_climb_from_a_known_dag_is_no_worse():
    for graph, dags in CLOSED:
        score = SCORES[graph.size][0]
        for known in dags[:3]:
            best = best_member(Ledger(score), graph, known, most_listed=0)
            assert total(score, best.dag) >= total(score, known) - 1e-9


def test_climbing_is_exact_on_two_nodes_joined():
    for seed in range(50):
        graph = Adjacency.of(2, undirected=[(0, 1)])
        ledger = Ledger(RandomScore(2, seed))
        assert best_member(ledger, graph, most_listed=0) == best_member(ledger, graph)


def complete(size, nodes):
    return Adjacency.of(size, undirected=[(i, j) for i in nodes for j in nodes if i < j])


def test_components_are_solved_apart():
    """Two complete graphs of four, 24 DAGs each: all 576 together would be too many to list."""
    one, two = complete(8, range(4)), complete(8, range(4, 8))
    both = one.changed(add=[*two.arcs(), *((i, j) for link in two.links() for i, j in (link, link[::-1]))])
    for seed in range(3):
        score = RandomScore(8, seed)
        ledger = Ledger(score)
        best = best_member(ledger, both, most_listed=24)
        parts = [best_member(Ledger(score), part) for part in (one, two)]
        assert best.preferences == parts[0].preferences | parts[1].preferences
        assert set(best.dag.arcs()) == {arc for part in parts for arc in part.dag.arcs()}
        assert total(score, best.dag) == pytest.approx(
            sum(max(total_of_order(score, order) for order in permutations(nodes)) for nodes in (range(4), range(4, 8)))
        )
        assert ledger.computed == 2 * 4 * 2**3


def total_of_order(score, order):
    names = [score.variables[i] for i in order]
    return sum(score.local_score(name, names[:place]) for place, name in enumerate(names))


def test_what_comes_from_outside_a_component_counts():
    """a -> c and b -> c fix nothing between d and e, but c is a parent of both."""
    graph = Adjacency.of(5, [(0, 2), (1, 2), (2, 3), (2, 4)], [(3, 4)])
    assert completed(next(extensions(graph))) == graph
    for seed in range(20):
        score = RandomScore(5, seed)
        forth, back = (total(score, graph.changed(remove=[arc])) for arc in ((4, 3), (3, 4)))
        best = best_member(Ledger(score), graph)
        [(arc, turn)] = best.preferences.items()
        assert arc == ((3, 4) if forth > back else (4, 3))
        assert turn.nats == pytest.approx(abs(forth - back))
        assert turn.turned == (arc,)
        assert best.dag.children(3) >> 4 & 1 == (forth > back)


def test_a_score_equivalent_score_prefers_nothing():
    rng = np.random.default_rng(52)
    seen = 0
    for _ in range(30):
        dag = random_dag(rng, 6, 0.4)
        data = rng.normal(size=(100, 6)) @ np.linalg.inv(np.eye(6) - random_weights(rng, dag))
        ledger = Ledger(bic_score(dag.nodes, data))
        for most_listed in (0, 500):
            best = best_member(ledger, completed(dag.adjacency), most_listed=most_listed)
            assert completed(best.dag) == completed(dag.adjacency)
            assert all(turn.nats < 1e-6 for turn in best.preferences.values())
            seen += len(best.preferences)
    assert seen > 60


def test_a_directed_graph_is_its_own_best_member():
    ledger = Ledger(RandomScore(4, 0))
    collider = Adjacency.of(4, [(0, 1), (2, 1), (1, 3)])
    best = best_member(ledger, collider)
    assert (best.dag, best.preferences) == (collider, {})
    assert ledger.computed == 0


def test_an_outcome_has_the_names_and_says_what_kind_its_graph_is():
    score = RandomScore(3, 1)
    chain = Adjacency.of(3, undirected=[(0, 1), (1, 2)])
    outcome = outcome_of(Ledger(score), chain, Limits.none(3), ())
    best = best_member(Ledger(score), chain)
    assert type(outcome.graph) is CPDAG
    assert outcome.dag.adjacency == best.dag
    name = score.variables
    assert {ends: preferred.nats for ends, preferred in outcome.preferences.items()} == {
        (name[i], name[j]): turn.nats for (i, j), turn in best.preferences.items()
    }
    assert all(ends in preferred.turned for ends, preferred in outcome.preferences.items())
    known = outcome_of(Ledger(score), chain, Limits((0, 0b101, 0b011), (0, 0, 0)), ())
    assert type(known.graph) is PDAG
    assert known.graph.directed_edges == (("v0", "v1"), ("v1", "v2"))
    assert known.preferences == {}
