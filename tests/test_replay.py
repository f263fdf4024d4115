"""The trace of a search, seen again step by step."""

import numpy as np
import pytest

from kerncause import Knowledge, boss, ges
from kerncause.graphs import PDAG, Adjacency
from kerncause.independence import SeparationOracle
from kerncause.search import pc, replayed
from kerncause.search.base import changes
from oracles import random_dag, separation_oracle

SEEDS = range(12)


def skeleton(joins):
    return {frozenset((a, b)) for a, _, b in joins}


def told(graph):
    arrows = {(a, "->", b) for a, b in graph.directed_edges}
    return arrows, {frozenset(pair) for pair in graph.undirected_edges}


def as_graph(nodes, joins):
    return PDAG(
        nodes, [(a, b) for a, sign, b in joins if sign == "->"], [(a, b) for a, sign, b in joins if sign == "-"]
    )


def drawn(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, 6, 0.4)
    return dag, separation_oracle(rng, dag)


@pytest.mark.parametrize("seed", SEEDS)
def test_ges_ends_in_the_last_frame(seed):
    _, score = drawn(seed)
    outcome = ges(score, turning=True)
    frames = list(replayed(outcome.trace))
    assert [len(frame) for frame in frames] == [step.edges for step in outcome.trace]
    if frames:
        assert told(as_graph(outcome.graph.nodes, frames[-1])) == told(outcome.graph)
        assert outcome.trace[-1].total == pytest.approx(sum(step.gain for step in outcome.trace))


@pytest.mark.parametrize("seed", SEEDS)
def test_the_total_is_that_of_the_graph(seed):
    """For a score that is the same for all DAGs of a class; also where edges are there from the beginning."""
    dag, score = drawn(seed)
    names = score.variables
    outcome = ges(score, knowledge=Knowledge(required=list(dag.edges)[:1]))
    worth = sum(score.local_score(n, outcome.dag.parents(n)) - score.local_score(n, ()) for n in names)
    if outcome.trace:
        assert outcome.trace[-1].total == pytest.approx(worth)


@pytest.mark.parametrize("seed", SEEDS)
def test_boss_shows_the_graph_of_each_order(seed):
    _, score = drawn(seed)
    outcome = boss(score, restarts=0)
    frames = list(replayed(outcome.trace))
    assert [len(frame) for frame in frames] == [step.edges for step in outcome.trace]
    for step, frame in zip(outcome.trace, frames, strict=True):
        parents = {name: {a for a, _, b in frame if b == name} for name in score.variables}
        empty = sum(score.local_score(name, ()) for name in score.variables)
        whole = sum(score.local_score(name, parents[name]) for name in score.variables)
        assert step.total == pytest.approx(whole - empty)
        assert all(sign == "->" for _, sign, _ in frame)


def test_pc_shows_what_is_left():
    dag, _ = drawn(3)
    outcome = pc(SeparationOracle(dag))
    frames = list(replayed(outcome.trace))
    assert len(frames) > 3
    assert [len(frame) for frame in frames] == [step.edges for step in outcome.trace]
    joined = {frozenset(pair) for pair in (*outcome.graph.directed_edges, *outcome.graph.undirected_edges)}
    assert skeleton(frames[-1]) == joined
    arrows = {(a, b) for a, sign, b in frames[-1] if sign == "->"}
    colliders = {(s.source, s.target) for s in outcome.trace if s.operator in ("collider", "force")}
    assert colliders
    assert colliders <= arrows <= set(outcome.graph.directed_edges)
    assert all(step.total is None for step in outcome.trace)


def test_only_what_differs_is_a_change():
    before = Adjacency.of(4, directed=[(0, 1), (1, 2)], undirected=[(2, 3)])
    after = Adjacency.of(4, directed=[(1, 0), (1, 2)], undirected=[(0, 3)])
    assert changes("abcd", before, after) == (("b", "->", "a"), ("a", "-", "d"), ("c", "", "d"))
    assert changes("abcd", after, after) == ()
