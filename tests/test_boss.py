from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerncause import DAG, OptionError, boss, exact
from kerncause.scores import Ledger
from oracles import bic_score, random_dag, random_weights, separation_oracle
from test_ges import RandomScore, Rounded


def total(score, dag):
    return sum(score.local_score(v, dag.parents(v)) for v in dag.nodes)


def gaussian_table(rng, dag, n):
    B = random_weights(rng, dag)
    return rng.normal(size=(n, len(B))) @ np.linalg.inv(np.eye(len(B)) - B)


def test_a_perfect_score_gives_the_true_class_on_100_dags():
    rng = np.random.default_rng(61)
    for _ in range(100):
        dag = random_dag(rng, int(rng.integers(1, 8)), rng.uniform(0.1, 0.8))
        score = separation_oracle(rng, dag)
        outcome = boss(score, restarts=0)
        assert outcome.graph == dag.to_cpdag() == outcome.dag.to_cpdag()
        assert all(preferred.nats < 1e-4 for preferred in outcome.preferences.values())


def test_a_seed_says_it_all():
    stories = set()
    for seed in range(6):
        one, two = (boss(RandomScore(5, 3), seed=seed, restarts=3) for _ in range(2))
        assert one == two
        stories.add(one.trace)
    assert len(stories) > 1


def test_the_first_order_does_not_depend_on_the_seed():
    assert len({boss(RandomScore(5, 4), seed=seed, restarts=0).trace for seed in range(5)}) == 1


def test_restarts_never_lower_the_total():
    better = 0
    for seed in range(25):
        score = RandomScore(5, seed)
        totals = [total(score, boss(score, restarts=k).dag) for k in (0, 1, 4)]
        assert all(after > before - 1e-6 for before, after in pairwise(totals))
        better += totals[-1] > totals[0] + 1e-6
    assert better


@given(st.integers(1, 6), st.integers(0, 10**6), st.integers(0, 1), st.none() | st.integers(0, 3))
@settings(max_examples=80)
def test_ends_within_the_limit_on_any_score(size, seed, restarts, max_parents):
    score = RandomScore(size, seed)
    outcome = boss(score, restarts=restarts, max_parents=max_parents)
    assert len(score.asked) == len(set(score.asked)), "a local score was computed twice"
    assert DAG(outcome.dag.nodes, outcome.dag.edges).to_cpdag() == outcome.graph
    if max_parents is not None:
        assert max(len(outcome.dag.parents(v)) for v in outcome.dag.nodes) <= max_parents
        assert max(len(parents) for _, parents in score.asked) <= max_parents


def without_a_parent(dag):
    for a, b in dag.edges:
        yield DAG(dag.nodes, [edge for edge in dag.edges if edge != (a, b)])


def test_no_parent_is_left_that_only_costs():
    for seed in range(40):
        score = RandomScore(5, seed)
        dag = boss(score).dag
        assert all(total(score, fewer) < total(score, dag) + 1e-6 for fewer in without_a_parent(dag))


def test_every_move_is_told():
    seen = []
    ledger = Ledger(RandomScore(6, 5))
    outcome = boss(ledger, watch=seen.append)
    assert [step.number for step in outcome.trace] == list(range(1, len(outcome.trace) + 1))
    assert len(outcome.trace) > 5
    for step in outcome.trace:
        assert (step.phase, step.operator) == ("order", "move")
        assert step.gain > 0
        assert step.target not in step.given
        assert step.source == (step.given[-1] if step.given else "")
    assert outcome.trace[-1].scores <= ledger.computed
    assert {progress.phase for progress in seen} == {"order"}
    assert (seen[0].step, seen[-1].step) == (0, len(outcome.trace))


def test_moves_gain_what_they_say():
    """On one climb from the canonical order, the gains lead from its total to that of the last order."""

    class OneParent(RandomScore):
        """At most one parent gains anything, so that the best set for an order is easily found."""

        def local_score(self, target, parents):
            return super().local_score(target, parents) if len(parents) < 2 else -100.0

    def total_of_order(score, order):
        options = [[(), *((p,) for p in order[:place])] for place in range(len(order))]
        return sum(max(score.local_score(v, p) for p in sets) for v, sets in zip(order, options, strict=True))

    for seed in range(20):
        score = OneParent(5, seed)
        order, gained = list(score.variables), 0.0
        first = total_of_order(score, order)
        for step in boss(score, restarts=0).trace:
            order.remove(step.target)
            order.insert(len(step.given), step.target)
            assert tuple(order[: len(step.given)]) == step.given
            gained += step.gain
            assert total_of_order(score, order) == pytest.approx(first + gained)


def test_provisional_values_decide_nothing_they_could_decide_wrongly():
    spared = 0
    for seed in range(15):
        rng = np.random.default_rng([seed, 63])
        dag = random_dag(rng, 6, 0.4)
        exact = bic_score(dag.nodes, gaussian_table(rng, dag, 60))
        rounded = Rounded(exact)
        ledger = Ledger(rounded)
        found, wanted = boss(ledger, restarts=1), boss(exact, restarts=1)
        assert (found.graph, found.dag) == (wanted.graph, wanted.dag)
        assert [(s.target, s.given) for s in found.trace] == [(s.target, s.given) for s in wanted.trace]
        spared += ledger.computed - len(set(rounded.settled_queries))
        assert len(set(rounded.settled_queries)) == len(rounded.settled_queries), "settled twice"
    assert spared > 100, "provisional values were never enough"


def test_provisional_values_of_a_score_without_structure():
    for seed in range(15):
        found, wanted = boss(Rounded(RandomScore(4, seed))), boss(RandomScore(4, seed))
        assert (found.graph, found.dag) == (wanted.graph, wanted.dag)


def test_a_tie_moves_nothing():
    class Flat:
        variables = ("a", "b", "c")

        def local_score(self, target, parents):
            return 0.0

    outcome = boss(Flat())
    assert not outcome.trace
    assert not outcome.dag.edges


def test_a_score_says_how_small_a_gain_is_none():
    class Coarse(RandomScore):
        resolution = 100.0

    assert not boss(Coarse(4, 0)).dag.edges
    assert boss(RandomScore(4, 0)).dag.edges


@pytest.mark.parametrize("restarts", [-1, 1.5, "2", None, True])
def test_odd_restarts_are_refused(restarts):
    with pytest.raises(OptionError, match=r"restarts \(--restarts\) cannot be"):
        boss(RandomScore(3, 0), restarts=restarts)


def test_a_negative_limit_is_refused():
    with pytest.raises(OptionError, match="max_parents"):
        boss(RandomScore(3, 0), max_parents=-1)


class Together:
    """One variable that two others explain only together."""

    variables = ("a", "b", "c", "y")

    def local_score(self, target, parents):
        return (10.0 if target == "y" and {"a", "b"} <= set(parents) else 0.0) - len(parents)


def test_looking_ahead_finds_causes_that_show_only_together():
    assert not boss(Together()).dag.edges
    for lookahead in (2, 3):
        outcome = boss(Together(), lookahead=lookahead, restarts=0)
        assert set(outcome.dag.edges) == {("a", "y"), ("b", "y")}
    assert not boss(Together(), lookahead=2, max_parents=1).dag.edges


class AllTogether:
    """One variable that four others explain only together."""

    variables = ("a", "b", "c", "d", "e", "y")

    def local_score(self, target, parents):
        return (10.0 if target == "y" and {"a", "b", "c", "d"} <= set(parents) else 0.0) - len(parents)


def test_both_ways_find_any_number_of_causes_that_show_only_together():
    wanted = {(cause, "y") for cause in "abcd"}
    assert not boss(AllTogether(), lookahead=3).dag.edges
    assert set(boss(AllTogether(), both_ways=True, restarts=0).dag.edges) == wanted
    assert not boss(AllTogether(), both_ways=True, max_parents=3).dag.edges


def test_both_ways_come_nearer_to_the_optimum():
    short = {False: [], True: []}
    for seed in range(20):
        score = RandomScore(5, seed)

        def total(found, score=score):
            return sum(score.local_score(name, found.dag.parents(name)) for name in score.variables)

        best = total(exact(score))
        for both_ways, missed in short.items():
            missed.append(best - total(boss(score, restarts=0, both_ways=both_ways)))
    assert min(short[True]) >= -1e-9
    assert sum(short[True]) < 0.5 * sum(short[False])


def test_both_ways_change_nothing_for_a_perfect_score():
    rng = np.random.default_rng(63)
    for _ in range(20):
        dag = random_dag(rng, int(rng.integers(1, 7)), rng.uniform(0.1, 0.8))
        assert boss(separation_oracle(rng, dag), restarts=0, both_ways=True).graph == dag.to_cpdag()


def test_looking_ahead_changes_nothing_for_a_perfect_score():
    rng = np.random.default_rng(62)
    for _ in range(20):
        dag = random_dag(rng, int(rng.integers(1, 7)), rng.uniform(0.1, 0.8))
        assert boss(separation_oracle(rng, dag), restarts=0, lookahead=2).graph == dag.to_cpdag()


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 6), st.integers(0, 99), st.integers(1, 3))
def test_looking_ahead_ends_within_the_limit_on_any_score(size, seed, max_parents):
    dag = boss(RandomScore(size, seed), restarts=0, lookahead=3, max_parents=max_parents).dag
    assert all(len(dag.parents(node)) <= max_parents for node in dag.nodes)


def test_both_ways_is_yes_or_no():
    with pytest.raises(OptionError, match=r"both_ways \(--both-ways\) cannot be"):
        boss(RandomScore(3, 0), both_ways="false")


@pytest.mark.parametrize("lookahead", [0, 4, 1.5, "2", None, True])
def test_odd_lookaheads_are_refused(lookahead):
    with pytest.raises(OptionError, match=r"lookahead \(--lookahead\) cannot be"):
        boss(RandomScore(3, 0), lookahead=lookahead)
