"""The worked example with DoWhy, and the graphs that DoWhy makes of ours."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from kerncause import DAG
from kerncause.graphs import FORMATS, write_graph

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "effect_with_dowhy.py"

# What DoWhy 0.14 says about its own code, under pandas 3 and on being compiled.
pytestmark = [
    pytest.mark.filterwarnings("ignore:The copy keyword is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:.*invalid escape sequence"),
]


@pytest.fixture(scope="module")
def example():
    return runpy.run_path(str(EXAMPLE))


def test_the_example_finds_the_effect(tmp_path):
    done = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr
    assert "age → exercise" in done.stdout
    truth, slope, found = (float(number) for number in re.findall(r": +(-?\d+\.\d\d)$", done.stdout, re.MULTILINE))
    assert abs(found - truth) < 0.4
    assert abs(slope - truth) > 3
    assert not any(tmp_path.iterdir())
    page = (EXAMPLE.parent.parent / "docs" / "graphs.md").read_text()
    assert f"the slope alone says {-slope:.2f}, and\nDoWhy with the learned graph {-found:.2f}." in page


def test_the_graph_says_what_is_adjusted_for(example):
    table = example["people"](rows=300, seed=3)
    ones = np.ones(len(table))

    def slope(*columns):
        return np.linalg.lstsq(np.column_stack([*(table[c] for c in columns), ones]), table["pressure"])[0][0]

    # Salt is left alone: another cause of the outcome is to DoWhy one that the effect may depend on.
    free = DAG(list(table), [("exercise", "pressure")])
    confounded = DAG(list(table), [("age", "exercise"), ("age", "pressure"), *free.edges])
    effects = [example["effect"](table, graph, "exercise", "pressure") for graph in (confounded, free)]
    assert effects == pytest.approx([slope("exercise", "age"), slope("exercise")])


def test_dowhy_reads_the_graph_that_was_written(tmp_path, example):
    table = example["people"](rows=20)
    table.columns = ["âge", 'salt "g"', "变量", "blood pressure"]
    graph = DAG(list(table), [("âge", "变量"), ("âge", "blood pressure"), ('salt "g"', "blood pressure")])
    path = write_graph(graph, tmp_path / "graph.gml")
    for given in (str(path), FORMATS["gml"].write(graph), nx.read_gml(path)):
        model = example["CausalModel"](data=table, treatment="变量", outcome="blood pressure", graph=given)
        taken = model._graph._graph
        assert list(taken.nodes) == list(graph.nodes)
        assert set(taken.edges) == set(graph.edges)
