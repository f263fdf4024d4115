"""Things that know the answer: slow formulas, population scores, brute force over small graphs."""

from collections.abc import Collection
from itertools import combinations, product

import numpy as np

from kerncause.errors import GraphError
from kerncause.graphs import DAG, Adjacency
from kerncause.graphs.equivalence import topological_order


def standardised(columns):
    columns = np.asarray(columns, dtype=float).reshape(len(columns), -1)
    return (columns - columns.mean(0)) / columns.std(0)


def dense_score(x, parents, s_x, s_k, s_e, tie_weight=True):
    """S/n of DESIGN's formula, written out; x and each parent are (n, l) and already standardised."""
    n = len(x)
    D_x = ((x[:, None] - x[None]) ** 2).sum(-1)
    K_X = np.exp(-D_x / (2 * s_x**2))
    exponents = [((p[:, None] - p[None]) ** 2).sum(-1) / s**2 for p, s in zip(parents, s_k, strict=True)]
    K_PA = np.exp(-0.5 * sum(exponents, np.zeros((n, n))))
    K_t = K_PA + s_e**2 * np.eye(n)
    apart = D_x > 0
    log_slopes = np.log(np.sqrt(D_x[apart]) / s_x**2) - D_x[apart] / (2 * s_x**2)
    J = log_slopes.sum() - 0.5 * np.log(D_x[apart]).sum()
    w = n**2 / apart.sum() if tie_weight else 1.0
    fit = np.trace(K_X @ np.linalg.solve(K_t, K_X))
    return (-0.5 * fit - n / 2 * np.linalg.slogdet(K_t)[1] - n**2 / 2 * np.log(2 * np.pi) + w * J) / n


def random_dag(rng: np.random.Generator, size: int, density: float) -> DAG:
    order = [f"v{i}" for i in rng.permutation(size)]
    edges = [(a, b) for a, b in combinations(order, 2) if rng.random() < density]
    return DAG(sorted(order), edges)


def random_weights(rng: np.random.Generator, dag: DAG) -> np.ndarray:
    """A matrix B with B[i, j] the effect of node i on node j."""
    B = np.zeros((len(dag.nodes), len(dag.nodes)))
    for a, b in dag.edges:
        B[dag.nodes.index(a), dag.nodes.index(b)] = rng.uniform(0.6, 1.4) * rng.choice([-1, 1])
    return B


class GaussianScore:
    """Linear-Gaussian score of a covariance: -m/2 log(residual variance) - penalty per parent."""

    def __init__(self, names, covariance, m: float, penalty: float) -> None:
        self.variables = tuple(names)
        self._index = {name: i for i, name in enumerate(names)}
        self._covariance, self._m, self._penalty = covariance, m, penalty
        self.asked: list[tuple[str, frozenset[str]]] = []

    def local_score(self, target: str, parents: Collection[str]) -> float:
        self.asked.append((target, frozenset(parents)))
        j, p = self._index[target], [self._index[name] for name in sorted(parents)]
        S = self._covariance
        variance = S[j, j] - S[j, p] @ np.linalg.solve(S[np.ix_(p, p)], S[p, j]) if p else S[j, j]
        return -0.5 * self._m * np.log(variance) - self._penalty * len(p)


def separation_oracle(rng: np.random.Generator, dag: DAG) -> GaussianScore:
    """The score of an infinite sample: a parent gains if and only if it is d-connected given the others."""
    B = random_weights(rng, dag)
    A = np.linalg.inv(np.eye(len(B)) - B)
    return GaussianScore(dag.nodes, A.T @ A, m=1e6, penalty=1e-3)


def bic_score(names, data) -> GaussianScore:
    n = len(data)
    return GaussianScore(names, np.cov(data.T, ddof=0), m=n, penalty=0.5 * np.log(n))


def all_dags(size: int) -> list[Adjacency]:
    pairs = list(combinations(range(size), 2))
    dags = []
    for choice in product((0, 1, 2), repeat=len(pairs)):
        arcs = [(i, j) if c == 1 else (j, i) for (i, j), c in zip(pairs, choice, strict=False) if c]
        graph = Adjacency.of(size, arcs)
        try:
            topological_order(graph)
        except GraphError:
            continue
        dags.append(graph)
    return dags
