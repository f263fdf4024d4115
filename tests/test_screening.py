"""The quick look at every pair, and the searches that try only what it finds."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import kerncause
from kerncause import Dataset, OptionError, boss, ges
from kerncause.cli import app
from kerncause.graphs import completed
from kerncause.knowledge import Knowledge
from kerncause.screening import LEAST_STRENGTH, Screening, features_of, how_many
from kerncause.search.operators import Insertions, insertions
from oracles import all_dags, random_dag, separation_oracle


def strength(x, y, **how):
    """The strength of the pair (x, y) of a table with just these two."""
    data = Dataset.from_frame(pd.DataFrame({**columns("x", x), **columns("y", y)}), **how)
    return Screening(data, ["x", "y"], 1)._strengths[0, 1]


def columns(name, values):
    return {f"{name}{k}": c for k, c in enumerate(values.T)} if values.ndim > 1 else {name: values}


def every(size):
    return tuple((1 << size) - 1 & ~(1 << i) for i in range(size))


def test_strength_is_what_the_formula_says():
    """The slow twin: cosines of ranks written out, orthonormal by hand, summed one by one."""
    rng = np.random.default_rng(5)
    n = 60
    x = rng.standard_normal(n)
    y = x**2 + rng.standard_normal(n)

    def functions(values):
        places = (np.argsort(np.argsort(values)) + 0.5) / n
        found = []
        for speed in range(1, 9):
            f = np.cos(np.pi * speed * places)
            f = f - f.mean()
            for other in found:
                f = f - other * (f @ other) / n
            found.append(f / np.sqrt(f @ f / n))
        return found

    best = -np.inf
    for a in (1, 2, 4, 8):
        for b in (1, 2, 4, 8):
            total = sum((f @ g) ** 2 / n for f in functions(x)[:a] for g in functions(y)[:b])
            k = a * b
            best = max(best, ((total / k) ** (1 / 3) - (1 - 2 / (9 * k))) / np.sqrt(2 / (9 * k)))
    assert strength(x, y) == pytest.approx(best, rel=1e-9)


@pytest.mark.parametrize("kind", ["numbers", "levels", "ordinal", "vector", "heavy tails"])
def test_independent_pairs_are_chance(kind):
    """At most one pair in twelve is taken for more, whatever its kind."""
    rng = np.random.default_rng(11)
    n, p = 300, 12
    draw = {
        "numbers": lambda: rng.standard_normal(n),
        "levels": lambda: np.array([*"abcdef"])[rng.integers(6, size=n)],
        "ordinal": lambda: rng.integers(5, size=n),
        "vector": lambda: rng.standard_normal((n, 3)),
        "heavy tails": lambda: rng.standard_cauchy(n),
    }[kind]
    parts = {f"v{i}_": draw() for i in range(p)}
    frame = pd.DataFrame({k: c for name, values in parts.items() for k, c in columns(name, values).items()})
    groups = {name: [f"{name}{k}" for k in range(3)] for name in parts} if kind == "vector" else {}
    data = Dataset.from_frame(frame, groups=groups)
    strengths = Screening(data, data.names, 3)._strengths[np.triu_indices(p, 1)]
    assert (strengths > LEAST_STRENGTH).mean() < 1 / 12


SHAPES = {
    "a line": lambda x, e: x + 2 * e,
    "a parabola": lambda x, e: x**2 + e,
    "a wave": lambda x, e: np.sin(4 * x) + 0.5 * e,
    "noise that grows": lambda x, e: np.exp(x) * e,
    "a step": lambda x, e: (x > 1) + 0.3 * e,
}


@pytest.mark.parametrize("shape", SHAPES)
def test_dependence_of_many_shapes_shows(shape):
    rng = np.random.default_rng(3)
    x, e = rng.standard_normal((2, 500))
    assert strength(x, SHAPES[shape](x, e)) > 5


def test_dependence_on_levels_and_on_vectors_shows():
    rng = np.random.default_rng(4)
    level = rng.integers(4, size=500)
    shift = np.array([0.0, 1.0, 0.0, 1.0])[level]  # no order of the levels makes this smooth
    assert strength(np.array([*"abcd"])[level], shift + rng.standard_normal(500)) > 5
    v = rng.standard_normal((500, 3))
    length = np.linalg.norm(v, axis=1) + 0.3 * rng.standard_normal(500)
    assert strength(v, length, groups={"x": ["x0", "x1", "x2"]}) > 5


def test_monotone_maps_and_the_order_of_rows_change_nothing():
    rng = np.random.default_rng(6)
    x = rng.standard_normal(200)
    y = x + rng.standard_normal(200)
    shuffle = rng.permutation(200)
    assert strength(np.exp(x)[shuffle], (y**3)[shuffle]) == pytest.approx(strength(x, y), rel=1e-9)


def test_pairs_are_compared_on_the_rows_that_have_both():
    rng = np.random.default_rng(7)
    x = rng.standard_normal(400)
    y = x + rng.standard_normal(400)
    gaps = rng.random(400) < 0.3
    with_gaps = strength(np.where(gaps, np.nan, x), y, missing="testwise")
    assert 0.6 * strength(x, y) < with_gaps < 1.1 * strength(x, y)


def test_a_column_without_a_value_in_sight_has_no_features():
    frame = pd.DataFrame({"x": [1.0, 2.0, np.nan, np.nan, np.nan], "y": [3.0, 1.0, 2.0, 5.0, 4.0]})
    data = Dataset.from_frame(frame, missing="testwise")
    rows = data._rows(np.flatnonzero(np.isnan(data.values[:, data.columns_of("x")[0]])))
    assert features_of(rows, "x").values.shape == (3, 0)
    assert Screening(rows, ["x", "y"], 1)._strengths[0, 1] == 0.0


def test_candidates_are_the_strongest_of_those_allowed():
    rng = np.random.default_rng(8)
    y, e1, e2, e3, lone = rng.standard_normal((5, 500))
    table = {"y": y, "near": y + 0.3 * e1, "far": y + e2, "farther": y + 1.5 * e3, "lone": lone}
    data = Dataset.from_frame(pd.DataFrame(table))
    names = list(table)
    screening = Screening(data, names, 1)
    first = screening.first(every(5))
    assert first[0] == 0b01110  # near is its own choice; the others choose near or y themselves
    assert first[4] == 0
    without = tuple(mask & ~0b11 if i < 2 else mask for i, mask in enumerate(every(5)))
    assert not screening.first(without)[0] >> 1 & 1
    assert screening.first(without)[0] >> 2 & 1


def test_a_second_look_finds_what_stands_behind_stronger_ones_or_works_only_with_another():
    rng = np.random.default_rng(9)
    n = 600
    strong, weak, gate, other = rng.standard_normal((4, n))
    copies = {f"copy{k}": strong + 0.1 * rng.standard_normal(n) for k in range(3)}
    table = {
        "y": 3 * strong + 0.5 * weak + 0.5 * rng.standard_normal(n),
        "strong": strong,
        "weak": weak,
        **copies,
        "gate": gate,
        "other": other,
        "z": gate * np.sign(other) + 0.3 * rng.standard_normal(n),
    }
    names = list(table)
    place = {name: i for i, name in enumerate(names)}
    screening = Screening(Dataset.from_frame(pd.DataFrame(table)), names, 2)
    first = screening.first(every(len(names)))
    joined = [0] * len(names)
    for a, b in (("y", "strong"), ("z", "gate")):
        joined[place[a]] |= 1 << place[b]
        joined[place[b]] |= 1 << place[a]
    then = screening.further(every(len(names)), tuple(joined), first)
    assert all(known & ~found == 0 for known, found in zip(first, then, strict=True))
    for a, b in (("y", "weak"), ("z", "other")):
        assert then[place[a]] >> place[b] & 1
        assert then[place[b]] >> place[a] & 1
    assert not first[place["z"]] >> place["other"] & 1


@given(st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_insertions_kept_from_graph_to_graph_are_those_of_each_graph(random):
    """Any way through the classes of four nodes, with any limit: kept or worked out anew, they are the same."""
    kept, most = Insertions(), random.choice([1, 2, 99])
    for graph in random.choices(CLASSES, k=6):
        assert sorted(kept(graph, most)) == sorted(insertions(graph, most))


CLASSES = sorted({completed(dag) for dag in all_dags(4)}, key=lambda graph: graph.out)


class Listed:
    """A shortlist that is given; the second look has something new once."""

    def __init__(self, first, then=None):
        self._first, self._then = first, then or first

    def first(self, allowed):
        return self._first

    def further(self, allowed, joined, known):
        return tuple(a | b for a, b in zip(known, self._then, strict=True))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("search", [ges, boss])
def test_with_the_true_pairs_among_those_listed_the_truth_is_found(search, seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, 7, 0.35)
    score = separation_oracle(rng, dag)
    index = {name: i for i, name in enumerate(score.variables)}
    pairs = [0] * 7
    for a, b in dag.edges:
        pairs[index[a]] |= 1 << index[b]
        pairs[index[b]] |= 1 << index[a]
    true = dag.to_cpdag()
    assert search(score, shortlist=Listed(tuple(pairs))).graph == true.reordered(score.variables)
    # What comes only with the second look is found as well.
    some = tuple(mask & 0b1010101 if i % 2 == 0 else 0 for i, mask in enumerate(pairs))
    assert search(score, shortlist=Listed(some, tuple(pairs))).graph == true.reordered(score.variables)


@pytest.mark.parametrize("search", [ges, boss])
def test_no_other_pair_is_tried(search):
    rng = np.random.default_rng(1)
    dag = random_dag(rng, 6, 0.8)
    asked = set()

    class Watched:
        variables = separation_oracle(rng, dag).variables
        _score = separation_oracle(rng, dag)

        def local_score(self, target, parents):
            asked.update((parent, target) for parent in parents)
            return self._score.local_score(target, parents)

    halves = (0b000010, 0b000101, 0b000010, 0b010000, 0b101000, 0b010000)  # v0 to v2 and v3 to v5, in a row each
    search(Watched(), shortlist=Listed(halves))
    name = Watched.variables
    assert asked
    assert {(a, b) for a, b in asked if name.index(a) // 3 != name.index(b) // 3} == set()


def sparse(p=36, n=300, seed=2):
    """A linear table with one cause each."""
    rng = np.random.default_rng(seed)
    columns = {"v0": rng.standard_normal(n)}
    for i in range(1, p):
        columns[f"v{i}"] = 0.9 * columns[cause(i)] + 0.6 * rng.standard_normal(n)
    return pd.DataFrame(columns)


def cause(i):
    return f"v{max(0, i - 1 - i % 4)}"


@pytest.mark.parametrize("search", ["ges", "boss"])
def test_many_variables_are_screened_and_no_edge_is_lost(search):
    frame = sparse()
    how = {"score": "bic", "search": search, "workers": 1, **({"restarts": 0} if search == "boss" else {})}
    screened = kerncause.discover(frame, **how)
    exhaustive = kerncause.discover(frame, candidates="all", **how)
    assert screened.settings["search_options"]["candidates"] == 10
    assert exhaustive.settings["search_options"]["candidates"] == "all"
    edges = {frozenset(pair) for pair in screened.dag.edges}
    assert edges >= {frozenset((cause(i), f"v{i}")) for i in range(1, 36)}
    # BIC has a few edges too many; those that screening leaves out are among them.
    assert len(edges) <= len(exhaustive.dag.edges)
    assert screened.scores_computed < exhaustive.scores_computed / 2


def test_few_variables_are_not_screened():
    result = kerncause.discover(sparse(8), score="bic", workers=1)
    assert result.settings["search_options"]["candidates"] is None


def test_what_is_required_is_there_though_no_candidate():
    frame = sparse(8).assign(lone=np.random.default_rng(0).standard_normal(300))
    known = Knowledge(required=[("lone", "v0")], forbidden=[("v1", "v0"), ("v0", "v1")])
    for search in ("ges", "boss"):
        found = kerncause.discover(frame, score="bic", search=search, candidates=2, knowledge=known, workers=1)
        assert "lone" in found.dag.parents("v0")
        assert "v1" not in found.dag.parents("v0") | found.dag.children("v0")


def test_the_paper_tries_every_pair():
    found = kerncause.discover(sparse(32, 100), score="bic", workers=1, candidates=5, search="ges")
    assert found.settings["search_options"]["candidates"] == 5
    with pytest.raises(OptionError, match=r"preset paper means candidates=all, not 5"):
        kerncause.discover(sparse(4), preset="paper", candidates=5)


@pytest.mark.parametrize("bad", [0, -1, 2.5, True, "some"])
def test_odd_numbers_of_candidates_are_refused(bad):
    with pytest.raises(OptionError, match=r"candidates \(--candidates\) cannot be"):
        kerncause.discover(sparse(4), score="bic", candidates=bad)


def test_how_many():
    assert how_many(None, 30) is None
    assert how_many(None, 31) == 10
    assert how_many("all", 200) is None
    assert how_many(4, 8) == 4


def test_candidates_on_the_command_line(tmp_path):
    path = tmp_path / "data.csv"
    sparse(6, 80).to_csv(path, index=False)
    command = ["discover", str(path), "--score", "bic", "--workers", "1", "--out", str(tmp_path / "r"), "--no-report"]
    assert CliRunner().invoke(app, [*command, "--candidates", "2"]).exit_code == 0
    saved = json.loads((tmp_path / "r" / "graph.json").read_text())
    assert saved["settings"]["search_options"]["candidates"] == 2
    for bad in ("0", "few", "1.5"):
        refused = CliRunner().invoke(app, [*command, "--candidates", bad])
        assert refused.exit_code == 1
        assert "--candidates" in refused.stderr
    sparse(32, 60).to_csv(path, index=False)
    told = CliRunner().invoke(app, command)
    assert "tried with the 10 others" in told.stdout
    assert "tried with" not in CliRunner().invoke(app, [*command, "--candidates", "3"]).stdout
    refused = CliRunner().invoke(app, [*command, "--search", "exact", "--candidates", "2"])
    assert refused.exit_code == 1
    assert "search exact does not use candidates (--candidates)" in refused.stderr
