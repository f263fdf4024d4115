from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerncause import DAG, OptionError, boss, ges
from kerncause.graphs import bits
from kerncause.knowledge import Knowledge
from kerncause.scores import Ledger
from kerncause.search import exact
from oracles import all_dags, bic_score, random_dag, random_weights, separation_oracle
from test_ges import RandomScore, Rounded
from test_knowledge import random_knowledge


def total(score, dag):
    return sum(score.local_score(v, dag.parents(v)) for v in dag.nodes)


@cache
def every_dag(size):
    """All DAGs, and their parent sets, (number of DAGs, size)."""
    dags = all_dags(size)
    return dags, np.array([[dag.parents(j) for j in range(size)] for dag in dags])


def brute_force(score, knowledge=None, max_parents=None):
    """The best of all DAGs that are allowed, and its total."""
    size, name = len(score.variables), score.variables
    limits = Knowledge.of(knowledge).limits(name)
    table = np.full((size, 1 << size), -np.inf)
    for j in range(size):
        for parents in range(1 << size):
            within = max_parents is None or parents.bit_count() <= max_parents
            if not parents >> j & 1 and limits.permit(j, parents) and within:
                table[j, parents] = score.local_score(name[j], [name[i] for i in bits(parents)])
    dags, sets = every_dag(size)
    totals = table[np.arange(size), sets].sum(axis=1)
    return DAG.of(name, dags[totals.argmax()]), totals.max()


@given(st.integers(1, 4), st.integers(0, 10**6), st.booleans(), st.none() | st.integers(0, 2))
@settings(max_examples=150)
def test_the_best_of_all_dags(size, seed, knows, more_parents):
    score = RandomScore(size, seed)
    knowledge = random_knowledge(np.random.default_rng(seed), score.variables) if knows else Knowledge()
    needed = max(len([pair for pair in knowledge.required if pair[1] == v]) for v in score.variables)
    max_parents = None if more_parents is None else needed + more_parents
    best, value = brute_force(score, knowledge, max_parents)
    score.asked.clear()
    outcome = exact(score, knowledge=knowledge, max_parents=max_parents)
    assert len(score.asked) == len(set(score.asked)), "a local score was computed twice"
    assert outcome.dag == best
    assert outcome.graph == best.to_cpdag() or knowledge
    assert total(score, outcome.dag) == pytest.approx(value)


@pytest.mark.parametrize("seed", range(4))
def test_the_best_of_all_29281_dags_of_five_nodes(seed):
    score = RandomScore(5, seed)
    knowledge = random_knowledge(np.random.default_rng(seed), score.variables)
    assert exact(score).dag == brute_force(score)[0]
    assert exact(score, knowledge=knowledge).dag == brute_force(score, knowledge)[0]
    assert exact(score, max_parents=2).dag == brute_force(score, max_parents=2)[0]


def test_no_other_search_finds_better():
    below = 0
    for seed in range(30):
        score = RandomScore(5, seed)
        highest = total(score, exact(score).dag)
        for search in (ges, boss):
            other = total(score, search(score).dag)
            assert other <= highest + 1e-6
            below += other < highest - 1e-6
    assert below > 5


def test_a_perfect_score_gives_the_true_class_on_100_dags():
    rng = np.random.default_rng(71)
    for _ in range(100):
        dag = random_dag(rng, int(rng.integers(1, 8)), rng.uniform(0.1, 0.8))
        assert exact(separation_oracle(rng, dag)).graph == dag.to_cpdag()


class Favourite:
    """Knows the best parents of every variable, and counts how many are wrong; of that DAG no other is as good."""

    def __init__(self, dag):
        self.variables = dag.nodes
        self._dag = dag

    def local_score(self, target, parents):
        return -float(len(self._dag.parents(target) ^ parents))


def test_twelve_variables_are_no_trouble():
    dag = random_dag(np.random.default_rng(72), 12, 0.3)
    assert exact(Favourite(dag)).dag == dag


def test_the_best_dag_is_kept_when_its_class_is_large():
    order = ["v3", "v0", "v5", "v1", "v4", "v2"]

    class Ordered:
        """All pairs gain, most in one order, which no single reversal leads to from the opposite one."""

        variables = tuple(sorted(order))

        def local_score(self, target, parents):
            right = set(order[: order.index(target)]) == parents
            return len(parents) + 5.0 * right

    dag = exact(Ordered()).dag
    assert total(Ordered(), dag) == 15 + 5 * 6


def gaussian_score(rng, size, n):
    dag = random_dag(rng, size, 0.4)
    data = rng.normal(size=(n, size)) @ np.linalg.inv(np.eye(size) - random_weights(rng, dag))
    return bic_score(dag.nodes, data)


def test_provisional_values_give_the_same_optimum():
    spared = 0
    for seed in range(15):
        rng = np.random.default_rng([seed, 73])
        for score in (RandomScore(4, seed), gaussian_score(rng, 5, 60)):
            rounded = Rounded(score)
            ledger = Ledger(rounded)
            found, wanted = exact(ledger), exact(score)
            assert total(score, found.dag) == pytest.approx(total(score, wanted.dag), abs=1e-6)
            assert found.graph == wanted.graph
            assert len(set(rounded.settled_queries)) == len(rounded.settled_queries), "settled twice"
            spared += ledger.computed - len(rounded.settled_queries)
    assert spared > 300, "provisional values were never enough"


def test_pruning_scores_less_and_nearly_always_finds_the_optimum():
    rng = np.random.default_rng(74)
    right, asked = 0, {None: 0, 0.0: 0, 3.0: 0}
    for _ in range(30):
        score = gaussian_score(rng, 6, 200)
        totals = {}
        for prune in asked:
            score.asked.clear()
            dag = exact(score, prune=prune).dag
            asked[prune] += len(set(score.asked))
            totals[prune] = total(score, dag)
        assert totals[0.0] <= totals[3.0] + 1e-6 <= totals[None] + 2e-6
        right += totals[0.0] > totals[None] - 1e-6
    assert right >= 28
    assert asked[0.0] < asked[3.0] < asked[None] == 30 * 6 * 2**5
    assert asked[0.0] < 0.8 * asked[None]


def test_pruning_looks_at_what_a_smaller_set_lost():
    """b alone costs 2, c alone 5, both together gain 9: that is seen if a loss of 2 is borne."""

    class Pair:
        variables = ("a", "b", "c")

        def local_score(self, target, parents):
            worth = {"b": -2.0, "c": -5.0, "bc": 9.0}
            return worth.get("".join(sorted(parents)), 0.0) if target == "a" else -1.0 * len(parents)

    both = {("b", "a"), ("c", "a")}
    assert set(exact(Pair()).dag.edges) == both
    assert set(exact(Pair(), prune=2.0).dag.edges) == both
    assert set(exact(Pair(), prune=1.9).dag.edges) == set()
    assert set(exact(Pair(), prune=0.0, lookahead=2).dag.edges) == both
    required = Knowledge(required=[("c", "a")])
    assert set(exact(Pair(), prune=0.0, knowledge=required).dag.edges) == both


@pytest.mark.parametrize("lookahead", [1, 2, 3])
def test_sets_up_to_the_lookahead_are_never_left_out(lookahead):
    class Lossy:
        variables = tuple("abcde")

        def __init__(self):
            self.asked = set()

        def local_score(self, target, parents):
            self.asked.add((target, frozenset(parents)))
            return -10.0 * len(parents)

    score = Lossy()
    exact(score, prune=0.0, lookahead=lookahead)
    assert score.asked == {
        (target, frozenset(parents))
        for target in score.variables
        for count in range(lookahead + 1)
        for parents in combinations(sorted(set(score.variables) - {target}), count)
    }


@pytest.mark.parametrize("lookahead", [0, 4, True, "2", 2.0])
def test_odd_lookaheads_are_refused(lookahead):
    with pytest.raises(OptionError, match=r"lookahead \(--lookahead\) cannot be"):
        exact(RandomScore(3, 0), prune=1.0, lookahead=lookahead)


def test_a_lookahead_without_pruning_is_refused():
    with pytest.raises(OptionError, match="give --prune as well"):
        exact(RandomScore(3, 0), lookahead=2)


def test_ties_go_to_fewer_parents():
    class Flat:
        variables = ("a", "b", "c")

        def local_score(self, target, parents):
            return 0.0

    assert not exact(Flat()).dag.edges


@pytest.mark.parametrize("seed", range(20))
def test_edges_gain_more_than_the_resolution_but_those_that_are_required(seed):
    class Coarse(RandomScore):
        resolution = 0.4

    class Less(RandomScore):
        def local_score(self, target, parents):
            return super().local_score(target, parents) - 0.4 * len(set(parents) - required.get(target, set()))

    name = RandomScore(4, seed).variables
    required = {name[1]: {name[0]}} if seed % 2 else {}
    knowledge = Knowledge.of({"required": [[name[0], name[1]]]} if required else None)
    found = exact(Coarse(4, seed), knowledge=knowledge).dag
    less = Less(4, seed)
    assert total(less, found) == pytest.approx(brute_force(less, knowledge)[1])


def test_the_watcher_is_told_of_every_size():
    told = []
    exact(RandomScore(4, 0), max_parents=2, watch=told.append)
    assert [progress.phase for progress in told] == ["sets of 0", "sets of 1", "sets of 2", "best graph"]


def test_too_many_variables_are_refused_before_any_work():
    score = RandomScore(21, 0)
    with pytest.raises(OptionError, match=r"^search exact cannot take 21 variables: [^.]*20 at most.* boss$"):
        exact(score)
    assert not score.asked


@pytest.mark.parametrize("prune", [-1.0, float("nan"), float("inf")])
def test_odd_pruning_is_refused(prune):
    with pytest.raises(OptionError, match=r"prune \(--prune\) cannot be"):
        exact(RandomScore(3, 0), prune=prune)


def test_a_negative_limit_is_refused():
    with pytest.raises(OptionError, match="max_parents"):
        exact(RandomScore(3, 0), max_parents=-1)


def test_a_whole_number_may_be_a_float():
    assert exact(RandomScore(5, 0), max_parents=2.0) == exact(RandomScore(5, 0), max_parents=2)
