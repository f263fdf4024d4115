"""causal-learn's BOSS, on the same tables as ours."""

import random

import numpy as np
from causallearn.search.PermutationBased.BOSS import boss as their_boss

from kerncause import boss
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
