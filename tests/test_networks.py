import itertools

import numpy as np
import pandas as pd
import pytest

from kerncause import Dataset, Kind, OptionError, networks, read_table


@pytest.mark.parametrize(("name", "nodes", "edges"), [("sachs", 11, 17), ("child", 20, 25)])
def test_the_networks_have_their_known_size(name, nodes, edges):
    network = networks.load(name)
    assert len(network.dag.nodes) == nodes
    assert len(network.dag.edges) == edges
    for v in network.variables:
        assert v.table.shape[1] == len(v.states)
        np.testing.assert_allclose(v.table.sum(axis=1), 1, atol=1e-4)
    assert "bnlearn" in network.source


def test_known_facts_of_the_tables():
    sachs, child = networks.load("sachs"), networks.load("child")
    assert sachs.variables[0].states == ("LOW", "AVG", "HIGH")
    assert sachs.dag.parents("Akt") == {"Erk", "PKA"}
    assert child.dag.parents("Disease") == {"BirthAsphyxia"}
    assert "None" in child.levels["DuctFlow"]
    erk_first = next(v for v in sachs.variables if v.name == "Akt")
    assert erk_first.parents == ("Erk", "PKA")
    # P(Akt | Erk=HIGH, PKA=LOW): the last parent runs fastest.
    np.testing.assert_allclose(erk_first.table[2 * 3 + 0], [7.682262e-05, 0.1183068, 0.8816163])


@pytest.mark.parametrize("name", networks.NAMES)
def test_samples_follow_the_tables(name):
    """Every conditional frequency lies within five standard errors of its probability."""
    network = networks.load(name)
    n = 200_000
    sample = network.sample(n, seed=3)
    sizes = {v.name: len(v.states) for v in network.variables}
    for v in network.variables:
        for row, states in enumerate(itertools.product(*(range(sizes[p]) for p in v.parents))):
            rows = np.ones(n, dtype=bool)
            for parent, state in zip(v.parents, states, strict=True):
                rows &= (sample[parent] == state + 1).to_numpy()
            if rows.sum() < 50:
                continue
            p = v.table[row] / v.table[row].sum()
            seen = np.bincount(sample[v.name][rows] - 1, minlength=len(p)) / rows.sum()
            assert np.all(np.abs(seen - p) <= 5 * np.sqrt(p * (1 - p) / rows.sum()) + 5 / rows.sum())


def test_samples_are_ordinal_coded_in_the_order_of_the_states():
    network = networks.load("child")
    sample = network.sample(500, seed=1, labels=True)
    data = Dataset.from_frame(sample.loc[:, sample.nunique() > 1])
    assert all(v.kind is Kind.ORDINAL for v in data.variables)
    codes = network.sample(500, seed=1)
    by_row = pd.DataFrame(data.codes[np.argsort(data.row_order)], columns=list(data.names))
    pd.testing.assert_frame_equal(by_row, codes[list(data.names)].astype(float))
    from_codes = Dataset.from_frame(codes[list(data.names)])
    assert all(v.kind is Kind.ORDINAL for v in from_codes.variables)
    assert from_codes.canonical == data.canonical
    assert codes.to_numpy().min() == 1
    assert sample.equals(network.sample(500, seed=1, labels=True))
    assert not sample.equals(network.sample(500, seed=2, labels=True))


def test_the_state_called_none_survives_a_csv(tmp_path):
    network = networks.load("child")
    sample = network.sample(400, seed=4, labels=True)
    sample = sample.loc[:, sample.nunique() > 1]
    sample.to_csv(tmp_path / "child.csv", index=False)
    levels = {name: states for name, states in network.levels.items() if name in sample}
    data = read_table(tmp_path / "child.csv", levels=levels)
    assert "None" in data.variable("DuctFlow").levels
    assert data.hash == Dataset.from_frame(sample).hash
    plain = read_table(tmp_path / "child.csv")
    assert "None" in plain.variable("CardiacMixing").levels


def test_the_bundled_sample_is_the_samplers():
    from pathlib import Path

    bundled = pd.read_csv(Path(__file__).parent.parent / "examples" / "sachs.csv")
    pd.testing.assert_frame_equal(bundled, networks.load("sachs").sample(2000, seed=2024))


def test_unknown_names_and_sizes_are_refused():
    with pytest.raises(OptionError, match="there is no network 'asia'"):
        networks.load("asia")
    with pytest.raises(OptionError, match="at least one"):
        networks.load("sachs").sample(0)
