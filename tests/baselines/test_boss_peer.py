"""causal-learn's BOSS, on the same tables as ours."""

import random

import numpy as np
import pandas as pd
from causallearn.search.PermutationBased.BOSS import boss as their_boss

from kerncause import Dataset, boss
from kerncause.experiments import Cell
from kerncause.experiments.others import boss_of_causal_learn
from kerncause.experiments.specs import accuracy
from kerncause.graphs import class_of, from_causal_learn
from oracles import bic_score, random_dag, random_weights


def total(score, dag):
    return sum(score.local_score(v, dag.parents(v)) for v in dag.nodes)


def test_agrees_with_causal_learn_on_gaussian_data():
    """Its `lambda_value` of one half is our penalty, half a log n for each parent; it has no restarts."""
    rng = np.random.default_rng(62)
    random.seed(62)
    same = 0
    for _ in range(30):
        dag = random_dag(rng, int(rng.integers(3, 9)), 0.4)
        B = random_weights(rng, dag)
        data = rng.normal(size=(300, len(B))) @ np.linalg.inv(np.eye(len(B)) - B)
        theirs = from_causal_learn(
            their_boss(data, "local_score_BIC_from_cov", {"lambda_value": 0.5}, verbose=False, node_names=dag.nodes)
        )
        score = bic_score(dag.nodes, data)
        ours = boss(score)
        same += ours.graph == theirs
        assert ours.graph == theirs or total(score, ours.dag) > total(score, class_of(theirs).to_dag()) + 1e-6
    assert same >= 20


def test_it_is_a_variant_of_the_comparison():
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 400))
    frame = pd.DataFrame({"a": a, "sum": a + b + 0.3 * rng.normal(size=400), "b": b, "alone": rng.normal(size=400)})
    found = boss_of_causal_learn(Dataset.from_frame(frame), 1)
    assert set(found.directed_edges) == {("a", "sum"), ("b", "sum")}
    assert not found.undirected_edges
    measured = accuracy.measure(Cell.of("causal-learn-bic-boss", accuracy.SMOKE, kind="linear", density=0.2, rows=60))
    ours = accuracy.measure(Cell.of("bic-boss", accuracy.SMOKE, kind="linear", density=0.2, rows=60))
    assert measured["search_seconds"] > 0
    assert abs(measured["skeleton_f1"] - ours["skeleton_f1"]) < 0.3
