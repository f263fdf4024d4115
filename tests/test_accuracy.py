"""The protocol for variants: development data, a test set apart from it, and the rule that keeps a variant."""

import hashlib
import inspect
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from kerncause import DataError, OptionError, networks
from kerncause.cli import app
from kerncause.experiments import (
    EXPERIMENTS,
    SCALES,
    Cell,
    Row,
    compared,
    comparison_table,
    frame_of,
    judged,
    results_of,
    run,
)
from kerncause.experiments.comparison import MOST_LOST
from kerncause.experiments.draw import STYLES, looks, styles_of
from kerncause.experiments.specs import accuracy, more_variables, searches, single_changes
from kerncause.experiments.store import appending, results_path
from kerncause.plan import Plan
from kerncause.presets import PRESETS
from kerncause.scores import find_score
from kerncause.simulate import KINDS, PAPER_KINDS

DEVELOPMENT, TEST = EXPERIMENTS["accuracy-development"], EXPERIMENTS["accuracy-test"]
# What each variant means. A name keeps its meaning: if the defaults of kerncause change, write out in VARIANTS what
# they were (`default`, `boss`, ...), and give what is new a name of its own.
MEANING = {
    "paper": "320fd74e73eb",
    "default": "445b696a9529",
    "boss": "75133261fe1a",
    "exact": "f9df917fde71",
    "marginal": "dae877e31a84",
    "cv": "ef0d66fadbc3",
    "pc-kci": "045a1e30c418",
    "bic": "64d590691281",
    "bic-boss": "f40606b98396",
    "adaptive": "a2c0c4bfade1",
    "adaptive-boss": "8937e3fd632d",
    "adaptive-exact": "df9bd14eebee",
    "adaptive-sized": "0d49bf9069c7",
    "adaptive-levels": "100ebe7a1ac8",
    "adaptive-kinds": "91c42c920112",
    "adaptive-optimum": "746a8a49ce03",
}
# Options that scores and searches got later, with the values that leave everything as it was.
ADDED = {
    "kernel": "gaussian",
    "response_kernel": "gaussian",
    "evidence": "none",
    "expected_degree": None,
    "scaling": "standard",
    "categories": "codes",
    "response_scaling": None,
    "noise_floor": "none",
    "discrete": "density",
    "noise": "even",
    "vectors": "whole",
    "lookahead": 1,
    "both_ways": False,
}


def command(*words):
    return CliRunner().invoke(app, list(map(str, words)))


def meaning(variant):
    """A digest of everything that is asked for, defaults of score and search included."""
    plan = Plan.of(**settings_of(variant))
    defaults = {}
    if isinstance(plan.score, str):
        parameters = inspect.signature(find_score(plan.score)).parameters.values()
        defaults = {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}
        defaults = {name: value for name, value in defaults.items() if (name, value) not in ADDED.items()}
    of_search = {name: value for name, value in plan.search_options.items() if (name, value) not in ADDED.items()}
    asked = [plan.score, plan.test, plan.search, defaults | dict(plan.options), of_search]
    if plan.sizes:
        asked += [[size.most, size.search, dict(size.options)] for size in plan.sizes]
        asked += [[row.kind, dict(row.score)] for row in PRESETS[plan.preset].of_kinds]
    return hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()[:12]


def settings_of(variant):
    options = dict(accuracy.VARIANTS[variant])
    of_search = {
        name: options.pop(name)
        for name in ("turning", "careful", "alpha", "max_parents", "lookahead", "prune")
        if name in options
    }
    return {**options, "search_options": of_search}


def realisations(experiment, scale):
    """The realisations that an experiment draws, whatever the seeds of its cells are called."""
    first = {
        "searches": searches.FIRST_REALISATION,
        "searches-adaptive": searches.FIRST_REALISATION,
        "single-changes": single_changes.FIRST_REALISATION,
        "more-variables": more_variables.FIRST_REALISATION,
    }
    return {first.get(experiment.name, 0) + cell.seed for cell in experiment.cells(scale)}


# Which data


def test_no_realisation_is_shared_with_another_experiment():
    seeds = {name: set().union(*(realisations(e, s) for s in SCALES)) for name, e in EXPERIMENTS.items()}
    ours = {name: seeds.pop(name) for name in ("accuracy-development", "accuracy-test")}
    others = set().union(*seeds.values())
    assert {seed for seed in others if seed >= 1900} == {
        *range(3000, 3010),
        single_changes.SMOKE,
        *range(4000, 4005),
        more_variables.SMOKE,
    }
    for mine in ours.values():
        assert not mine & others
    assert ours["accuracy-development"] & ours["accuracy-test"] == {accuracy.SMOKE}
    assert realisations(DEVELOPMENT, "full") == set(range(2000, 2005))
    assert realisations(TEST, "full") == set(range(7000, 7020))
    assert realisations(TEST, "smoke") == realisations(DEVELOPMENT, "smoke") == {accuracy.SMOKE}


def test_both_have_the_same_settings_and_variants():
    for scale in SCALES:
        one, other = ({(c.setting, c.method) for c in e.cells(scale)} for e in (DEVELOPMENT, TEST))
        assert one == other


def test_the_settings_are_those_of_the_protocol():
    there = {(c["kind"], c["density"], c["rows"]) for c in DEVELOPMENT.cells("full") if c.method == "paper"}
    assert {k for k, _, _ in there} == {*KINDS, "isolated", "sachs", "child"}
    for kind in PAPER_KINDS:
        expected = {(d, n) for d in (0.2, 0.4, 0.6, 0.8) for n in (100, 200, 500, 1000)}
        assert {(d, n) for k, d, n in there if k == kind} == expected
    for kind in {*KINDS, "isolated"} - {*PAPER_KINDS}:
        assert {(d, n) for k, d, n in there if k == kind} == {(d, n) for d in (0.2, 0.5) for n in (200, 500)}
    for name in ("sachs", "child"):
        dag = networks.load(name).dag
        density = round(len(dag.edges) / (len(dag.nodes) * (len(dag.nodes) - 1) / 2), 2)
        assert {(d, n) for k, d, n in there if k == name} == {(density, n) for n in (200, 500, 1000, 2000)}


def test_variants_are_left_out_where_they_cannot_run():
    methods = {}
    for cell in DEVELOPMENT.cells("full"):
        methods.setdefault(cell["kind"], set()).add(cell.method)
    every = set(accuracy.EVERY)
    assert every == {*accuracy.VARIANTS, "causal-learn-bic-boss"}
    assert methods.pop("child") == every - {"exact", "adaptive-exact", "adaptive-sized"}
    assert methods.pop("nominal") == every - {"bic", "bic-boss", "causal-learn-bic-boss"}
    assert methods.pop("multidimensional") == every - {"causal-learn-bic-boss"}
    assert all(found == every for found in methods.values())


def test_tables_are_of_their_kind():
    for kind in (*KINDS, "isolated", "sachs"):
        cell = Cell.of("paper", accuracy.SMOKE, kind=kind, density=0.5, rows=40)
        data, truth = accuracy.table_of(cell)
        assert data.n_rows == 40
        kinds = {variable.kind.value for variable in data.variables}
        assert (kind == "nominal") == ("categorical" in kinds)
        assert (kind == "multidimensional") == ("vector" in kinds)
        if kind == "isolated":
            assert len({node for edge in truth.edges for node in edge}) <= 4
            assert (len(truth.nodes), len(truth.edges)) == (8, 3)
        elif kind in KINDS:
            assert len(truth.edges) == 14
        other = accuracy.table_of(replace(cell, seed=accuracy.SMOKE + 1))[0]
        assert other.hash != data.hash


def test_the_protocol_says_what_is_done():
    page = " ".join((Path(__file__).parent.parent / "experiments" / "protocol.md").read_text(encoding="utf-8").split())
    for said in (
        "| realisations | 2000 to 2004 | 7000 to 7019 |",
        "| for each setting | 5 | 20 |",
        "Realisation k is drawn with seed 640000 + k",
        "`searches` and `searches-adaptive` use 1000 to 1012",
        "`single-changes` 3000 to 3009",
        "`more-variables` 4000 to 4004",
        "(`--scale smoke`) 1900;",
        f"below −{MOST_LOST:g} by more than its standard error",
        "nominal, heteroscedastic, heavy-tailed, linear, additive;",
    ):
        assert said in page


# Variants


def test_single_changes_change_one_thing_where_it_matters():
    every = single_changes.EXPERIMENT.cells("full")
    kinds = {}
    for cell in every:
        kinds.setdefault(cell.method, set()).add(cell["kind"])
    assert set(kinds) == set(single_changes.CHANGES)
    assert kinds["unchanged"] == kinds["scaling rank"] == {*KINDS, "isolated", "sachs"}
    assert kinds["kernel columns"] == {"multidimensional"}
    assert kinds["categories delta"] == {"nominal"}
    assert {len(change) for change in single_changes.CHANGES.values()} == {0, 1, 2, 3, 4}
    for change, options in single_changes.CHANGES.items():
        Plan.of(score="learned", search="ges", score_options=options)
        assert change == single_changes.REFERENCE or any(word in options for word in change.split())


@pytest.mark.parametrize("variant", accuracy.VARIANTS)
def test_a_variant_means_what_it_meant(variant):
    assert meaning(variant) == MEANING[variant]


def test_the_optimum_of_sachs_has_few_parents():
    def options(method, kind):
        return accuracy.options_of(Cell.of(method, 0, kind=kind, density=0.2, rows=40))

    assert options("exact", "sachs") == {"search": "exact", "max_parents": 4}
    assert options("exact", "mixed") == {"search": "exact"}
    assert options("boss", "sachs") == {"search": "boss"}


def test_levels_take_the_search_that_suits_a_network():
    def taken(kind):
        options = accuracy.options_of(Cell.of("adaptive-levels", 0, kind=kind, density=0.2, rows=40))
        assert options.pop("score_options")["noise_floor"] == "entropy"
        return options

    assert taken("sachs") == {"score": "learned", "search": "boss", "lookahead": 2}
    assert taken("child") == {"score": "learned", "search": "ges"}
    assert taken("mixed") == {"score": "learned", "search": "exact", "prune": 3.0, "lookahead": 3}
    assert accuracy._can_take("adaptive-levels", "child")


@pytest.mark.parametrize("variant", ["paper", "default", "marginal", "cv", "pc-kci", "bic-boss"])
def test_what_is_measured(variant):
    kind = "linear" if variant == "bic-boss" else "nominal"
    found = accuracy.measure(Cell.of(variant, accuracy.SMOKE, kind=kind, density=0.2, rows=25))
    asked = {"skeleton_f1", "class_arrows_f1", "best_dag_arrows_f1", "shd_normalised", "search_seconds", "scores"}
    assert asked <= set(found)
    assert found["search_seconds"] > 0
    assert found["scores"] > 0
    assert ("total_of_truth" in found) == (variant != "pc-kci")


def test_smoke_runs_end_to_end(tmp_path):
    words = ("experiment", "run", "accuracy-test", "--scale", "smoke", "--out", tmp_path, "--workers", 1)
    done = command(*words, "--only", "method=bic")
    assert done.exit_code == 0, done.output
    assert "1 row" in done.output
    again = run("accuracy-test", "smoke", tmp_path, resume=True, only={"method": ["bic"]})
    assert [row.cell.method for row in again] == ["bic"]
    missing = command("experiment", "table", "accuracy-test", "--scale", "smoke", "--out", tmp_path)
    assert missing.exit_code == 1
    assert "no results of 'paper' to compare with" in missing.output
    before = results_path(TEST, tmp_path).read_text()
    done = command(*words, "--only", "method=paper,bic", "--resume")  # the other's row is not measured again
    assert done.exit_code == 0, done.output
    assert results_path(TEST, tmp_path).read_text().startswith(before)
    assert "3 rows" in done.output
    assert "failed" not in done.output
    assert (tmp_path / "accuracy-test.png").read_bytes().startswith(b"\x89PNG")
    shown = command("experiment", "table", "accuracy-test", "--scale", "smoke", "--out", tmp_path)
    assert shown.exit_code == 0, shown.output
    assert "| nominal | paper |" in shown.output
    unknown = command(*words, "--only", "method=papre", "--resume")
    assert unknown.exit_code == 1
    assert "has no method=papre (--only)" in unknown.output


# The comparison, on rows that are made up


def row(method, seed, value, kind="mixed", density=0.2, rows=200, **values):
    return Row(
        Cell.of(method, seed, kind=kind, density=density, rows=rows),
        {"skeleton_f1": value, "search_seconds": 2.0, **values},
        9.0,
    )


def test_differences_are_paired():
    rows = [
        row("paper", 2000, 0.5),
        row("new", 2000, 0.6),
        row("paper", 2001, 0.1),
        row("new", 2001, 0.4),
        row("new", 2002, 1.0),  # without its like: counts in the mean alone
        row("paper", 2000, 0.3, kind="discrete"),
        row("new", 2000, 0.2, kind="discrete"),
    ]
    found = {(one.where, one.method): one for one in compared(frame_of(rows))}
    mixed = found[("mixed",), "new"]
    assert mixed.number.mean == pytest.approx(2.0 / 3)
    assert mixed.difference.mean == pytest.approx(0.2)
    assert mixed.difference.error == pytest.approx(0.1)  # of 0.1 and 0.3
    assert (mixed.difference.count, mixed.tables, mixed.seconds) == (2, 3, 2.0)
    assert found[("mixed",), "paper"].difference.mean == 0.0
    # Realisation 2000 has one graph for both kinds: their mean difference, 0, is one number, and 0.3 the other.
    whole = found[(), "new"]
    assert (whole.difference.mean, whole.difference.count) == (pytest.approx(0.15), 2)
    assert whole.difference.error == pytest.approx(0.15)


def test_tables_of_one_graph_are_one_unit():
    rng = np.random.default_rng(0)
    rows = [
        row(method, seed, float(rng.random()), density=density, rows=n)
        for method in ("paper", "new")
        for seed in range(2000, 2004)
        for density in (0.2, 0.4)
        for n in (100, 200, 500)
    ]
    frame = frame_of(rows)
    (one,) = (c for c in compared(frame, by=()) if c.method == "new")
    wide = frame.pivot_table(index=["density", "seed", "rows"], columns="method", values="skeleton_f1")
    by_graph = (wide["new"] - wide["paper"]).groupby(["density", "seed"]).mean()
    assert one.difference.count == 8
    assert one.difference.mean == pytest.approx(by_graph.mean())
    assert one.difference.error == pytest.approx(by_graph.sem())


def test_the_table_can_be_read():
    rows = [row("paper", 2000, 0.5), row("new", 2000, 0.6), row("paper", 2001, 0.1), row("new", 2001, 0.4)]
    assert comparison_table(compared(frame_of(rows))).splitlines() == [
        "| tables of | variant | mean | minus paper | tables | seconds each |",
        "|---|---|---|---|---|---|",
        "| mixed | paper | 0.300 ± 0.200 |  | 2 | 2.0 |",
        "| mixed | new | 0.500 ± 0.100 | +0.200 ± 0.100 | 2 | 2.0 |",
        "| all | paper | 0.300 ± 0.200 |  | 2 | 2.0 |",
        "| all | new | 0.500 ± 0.100 | +0.200 ± 0.100 | 2 | 2.0 |",
    ]
    one = comparison_table(compared(frame_of(rows[:2]), by=()))
    assert "| all | new | 0.600 | +0.100 | 1 | 2.0 |" in one


def test_what_cannot_be_compared():
    frame = frame_of([row("new", 2000, 0.5)])
    with pytest.raises(OptionError, match="there is no 'elegance' in the results"):
        compared(frame, "elegance")
    with pytest.raises(OptionError, match="there is no 'colour' in the results"):
        compared(frame, by=["colour"])
    with pytest.raises(DataError, match="no results of 'paper'"):
        compared(frame)


def test_other_experiments_have_tables_too(tmp_path):
    experiment = EXPERIMENTS["fig4-real"]
    with appending(experiment, tmp_path, resume=False) as file:
        for network, gain in (("sachs", 0.1), ("child", 0.3)):
            for rows in (200, 500):
                for method, value in (("learned", 0.5), ("gp", 0.5 + gain)):
                    cell = Cell.of(method, 0, network=network, rows=rows)
                    file.add(Row(cell, {"shd_normalised": value}, 3.0))
    words = ("--against", "learned", "--figure", "shd_normalised", "--out", tmp_path)
    shown = command("experiment", "table", "fig4-real", *words, "--by", "network")
    assert shown.exit_code == 0, shown.output
    assert "| sachs | gp | 0.600 | +0.100 | 2 | 3.0 |" in shown.output
    assert "| all | gp | 0.700 ± 0.100 | +0.200 ± 0.100 | 4 | 3.0 |" in shown.output
    assert len(results_of("fig4-real", "small", tmp_path)) == 8
    with pytest.raises(DataError, match="no results of fig1 at scale small"):
        results_of("fig1", "small", tmp_path)


# The rule


def many(gains, seeds=range(2000, 2005)):
    """Rows of paper and new; `gains` gives by kind and rows what the variant is above, give or take a hundredth."""
    rng = np.random.default_rng(1)
    rows = []
    for (kind, n), gain in gains.items():
        for density in (0.2, 0.4, 0.6, 0.8):
            for seed in seeds:
                base = float(rng.uniform(0.4, 0.6))
                jitter = 0.01 * float(rng.standard_normal())
                rows.append(row("paper", seed, base, kind, density, n))
                rows.append(row("new", seed, base + gain + jitter, kind, density, n))
    return frame_of(rows)


def test_a_clear_gain_without_a_loss_is_kept():
    verdict = judged(many({("continuous", 200): 0.05, ("mixed", 200): 0.0, ("linear", 200): -0.01}), "new")
    assert verdict.kept
    assert verdict.gain.mean == pytest.approx(0.025, abs=0.005)  # linear is no kind of the paper
    assert verdict.gain.count == 20


def test_a_loss_anywhere_drops_it():
    verdict = judged(many({("continuous", 200): 0.2, ("linear", 200): 0.0, ("linear", 500): -0.04}), "new")
    assert not verdict.kept
    assert verdict.gain.sign == 1
    ((kind, rows, number),) = verdict.losses
    assert (kind, rows) == ("linear", "500")
    assert number.mean == pytest.approx(-0.04, abs=0.01)


@pytest.mark.parametrize("gain", [0.0, -0.015])
def test_no_clear_gain_drops_it(gain):
    verdict = judged(many({("continuous", 200): gain, ("linear", 200): 0.5}), "new")
    assert not verdict.losses
    assert not verdict.kept


def test_test_rows_judge_nothing():
    good = many({("continuous", 200): 0.2})
    assert judged(good, "new").kept
    for seeds in (range(7000, 7020), range(4999, 5001), (accuracy.SMOKE,)):
        other = pd.concat([good, many({("mixed", 200): 0.2}, seeds)])
        with pytest.raises(OptionError, match="accuracy-development alone"):
            judged(other, "new")
    with pytest.raises(DataError, match="no results of 'other'"):
        judged(good, "other")


# The figure


def test_variants_without_a_style_are_drawn_all_the_same():
    styles = styles_of(["a", "b", "paper"])
    assert list(styles) == ["paper", "a", "b"]
    assert styles["paper"] == STYLES["paper"]
    assert len({style[:2] for style in styles.values()}) == 3
    assert set(accuracy.EVERY) <= set(STYLES)
    looked = [STYLES[variant][:2] for variant in accuracy.EVERY]
    assert len(set(looked)) == len(looked)


@pytest.mark.parametrize("scale", SCALES)
def test_every_setting_has_its_place_in_the_figure(scale):
    cells = DEVELOPMENT.cells(scale)
    rows = [row(c.method, c.seed, 0.5, c["kind"], c["density"], c["rows"]) for c in cells]
    with looks():
        figure = DEVELOPMENT.draw(frame_of(rows))
    titles = {axis.get_title() for axis in figure.axes if axis.get_visible()}
    simulated = {(c["kind"], c["rows"]) for c in cells if c["kind"] not in accuracy.NETWORKS}
    expected = {f"{kind}, n = {n}" for kind, n in simulated}
    assert titles == expected | {c["kind"].upper() for c in cells if c["kind"] in accuracy.NETWORKS}
