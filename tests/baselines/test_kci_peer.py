"""causal-learn's tests and its PC, on the same tables as ours."""

import warnings
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from causallearn.search.ConstraintBased.PC import pc as their_pc
from causallearn.utils.cit import CIT

from kerncause import Dataset
from kerncause.independence import KCI, ChiSquared, FisherZ
from kerncause.search.pc import pc
from oracles import random_dag, random_weights

NAMES = ["a", "b", "c", "d"]


def continuous_table(rng, n=150):
    z, w = rng.normal(size=(2, n))
    x = np.sin(z) + 0.5 * rng.normal(size=n)
    return pd.DataFrame(
        {"a": x, "b": z**2 + rng.choice([0.0, 0.5]) * x + rng.normal(size=n), "c": z, "d": w}, columns=NAMES
    )


def theirs(data, frame, method, x, y, given, **options):
    """causal-learn's p-value; of the two tested variables it extends the one with the lower column."""
    first, second = data.in_canonical_order([x, y])
    order = [first, second, *given]
    columns = frame[order].to_numpy(dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(CIT(columns, method, **options)(0, 1, list(range(2, len(order)))))


@pytest.mark.parametrize("given", [[], ["c"], ["c", "d"]])
def test_kci_agrees_at_the_same_widths(given):
    """One width for all kernels, z/2 in the extension. Theirs standardises with n - 1 and drops eigenvalues."""
    rng = np.random.default_rng(31)
    for _ in range(15):
        frame = continuous_table(rng)
        data = Dataset.from_frame(frame)
        ours = KCI(data, bandwidth=1.3, extension=0.5).test("a", "b", given).p_value
        width = 1.3 * np.sqrt((len(frame) - 1) / len(frame))
        widths = {"kwidthx": width, "kwidthy": width} | ({"kwidthz": width} if given else {})
        other = theirs(data, frame, "kci", "a", "b", given, est_width="manual", **widths)
        assert ours == pytest.approx(other, abs=2e-3)


@pytest.mark.parametrize("given", [[], ["c"], ["c", "d"]])
def test_kci_agrees_by_the_authors_rule(given):
    rng = np.random.default_rng(32)
    for _ in range(15):
        frame = continuous_table(rng)
        data = Dataset.from_frame(frame)
        ours = KCI(data, bandwidth="empirical", extension=0.5).test("a", "b", given).p_value
        # Theirs takes the rule's width before it standardises: the same here, where it does not look at the values.
        other = theirs(data, frame, "kci", "a", "b", given, est_width="empirical")
        assert ours == pytest.approx(other, abs=1e-2)


def test_fisher_z_agrees():
    rng = np.random.default_rng(33)
    for _ in range(20):
        frame = continuous_table(rng)
        data = Dataset.from_frame(frame)
        for x, y in combinations(NAMES, 2):
            rest = [name for name in NAMES if name not in (x, y)]
            for given in ([], rest[:1], rest):
                other = theirs(data, frame, "fisherz", x, y, given)
                assert FisherZ(data).test(x, y, given).p_value == pytest.approx(other, abs=1e-10)


@pytest.mark.parametrize(("statistic", "method"), [("pearson", "chisq"), ("g", "gsq")])
def test_chi_squared_agrees(statistic, method):
    rng = np.random.default_rng(34)
    for n in (40, 400):
        for _ in range(10):
            table = rng.integers(0, 3, size=(n, 4))
            table[:, 1] = np.where(rng.random(n) < 0.4, table[:, 0], table[:, 1])
            frame = pd.DataFrame(table, columns=NAMES)
            data = Dataset.from_frame(frame)
            for given in ([], ["c"], ["c", "d"]):
                other = theirs(data, frame, method, "a", "b", given)
                ours = ChiSquared(data, statistic).test("a", "b", given).p_value
                assert ours == pytest.approx(other, abs=1e-9)


def their_graph(frame, alpha):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = their_pc(frame.to_numpy(), alpha, "fisherz", stable=True, show_progress=False)
    ends = found.G.graph  # ends[j, i] = 1 and ends[i, j] = -1 is i -> j; both -1 is i - j
    name = list(frame.columns)
    joined = {frozenset((name[i], name[j])) for i, j in combinations(range(len(name)), 2) if ends[i, j] != 0}
    arrows = {
        (name[i], name[j]) for i in range(len(name)) for j in range(len(name)) if (ends[j, i], ends[i, j]) == (1, -1)
    }
    return joined, arrows


def test_pc_finds_the_same_skeletons():
    """Both are stable, so 50 of 50 skeletons are equal; arrows may differ where judgements contradict each other."""
    rng = np.random.default_rng(35)
    same_skeletons = same_arrows = 0
    for _ in range(50):
        dag = random_dag(rng, int(rng.integers(4, 9)), rng.uniform(0.2, 0.6))
        B = random_weights(rng, dag)
        data = rng.normal(size=(300, len(B))) @ np.linalg.inv(np.eye(len(B)) - B)
        frame = pd.DataFrame(data, columns=dag.nodes)
        joined, arrows = their_graph(frame, 0.05)
        ours = pc(FisherZ(Dataset.from_frame(frame)), alpha=0.05).graph
        same_skeletons += ours.skeleton == joined
        same_arrows += set(ours.directed_edges) == arrows
    assert same_skeletons == 50
    assert same_arrows >= 25
