import json
import pickle
import re
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import kerncause
from kerncause import DAG, DataError, Dataset, LearnedKernelScore, OptionError, discover, load_result, make_score
from kerncause.cli import app
from kerncause.explain import FittedModel, explained
from kerncause.kernels import median_heuristic
from kerncause.scores import Ledger
from oracles import standardised

GROUPS = {"vec": ["p", "q"]}
runner = CliRunner()


def run(*words):
    return runner.invoke(app, [str(word) for word in words])


def frame_of_kinds(n=60, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    dose = np.array([0, 5, 10])[np.digitize(x + 0.5 * rng.normal(size=n), [-0.5, 0.5])]
    y = np.sin(2 * x) + 0.1 * dose + 0.3 * rng.normal(size=n)
    colour = np.array(["blue", "green", "red"])[np.digitize(y + 0.3 * rng.normal(size=n), [-0.3, 0.8])]
    size = np.array(["low", "avg", "high"])[dose // 5]
    return pd.DataFrame(
        {
            **{"x": x, "dose": dose, "y": y, "colour": colour, "size": size, "flag": y > 0.3},
            **{"p": x + rng.normal(size=n), "q": rng.normal(size=n), "noise": rng.normal(size=n)},
        }
    )


def dataset_of_kinds(n=60, seed=0):
    levels = {"size": ["low", "avg", "high"]}
    return Dataset.from_frame(frame_of_kinds(n, seed), groups=GROUPS, levels=levels)


def model_of(data, target, parents, score="learned"):
    return FittedModel.of(data, target, make_score(score, data).fit(target, parents))


def kernel(columns, width):
    return np.exp(-((columns[:, None] - columns[None]) ** 2).sum(-1) / (2 * width**2))


def share_by_leaving_out(data, fit, target, parents):
    """The prediction of every row from the others alone, at the parameters of the fit."""
    codes = {name: standardised(data.codes[:, list(data.columns_of(name))]) for name in (target, *parents)}
    n = data.n_rows
    K = np.ones((n, n))
    for name in parents:
        K = K * kernel(codes[name], fit.bandwidths[name])
    width = fit.response_bandwidth or median_heuristic(data.points(target))
    Y = kernel(codes[target], width)
    centred = Y - Y.mean(axis=0)
    missed, spread = 0.0, 0.0
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        noisy = K[np.ix_(rest, rest)] + fit.noise**2 * np.eye(n - 1)
        missed += np.sum((centred[i] - K[i, rest] @ np.linalg.solve(noisy, centred[rest])) ** 2)
        spread += np.sum((Y[i] - Y[rest].mean(axis=0)) ** 2)
    return 1 - missed / spread


@pytest.mark.parametrize(
    ("target", "parents", "score"),
    [
        ("y", ["x"], "learned"),
        ("y", ["x", "dose", "flag"], "learned"),
        ("y", [], "learned"),
        ("colour", ["y", "vec"], "learned"),
        ("vec", ["x"], "learned"),
        ("y", ["x", "noise"], "gp"),
        ("y", ["x"], "marginal-huang"),
    ],
)
def test_the_share_explained_is_that_of_rows_really_left_out(target, parents, score):
    data = dataset_of_kinds()
    model = model_of(data, target, parents, score)
    expected = share_by_leaving_out(data, model.fit, target, parents)
    assert model.share_explained() == pytest.approx(expected, abs=1e-7)


def test_strong_parents_explain_much_and_unrelated_ones_nothing():
    rng = np.random.default_rng(1)
    x = rng.normal(size=120)
    frame = pd.DataFrame({"x": x, "y": np.sin(2 * x) + 0.1 * rng.normal(size=120), "z": rng.normal(size=120)})
    data = Dataset.from_frame(frame)
    assert model_of(data, "y", ["x"]).share_explained() > 0.8
    assert abs(model_of(data, "y", ["z"]).share_explained()) < 0.05
    assert abs(model_of(data, "y", []).share_explained()) < 0.01


def test_a_long_table_is_looked_at_on_some_rows(monkeypatch):
    data = Dataset.from_frame(frame_of_kinds(150)[["x", "y"]])
    whole = model_of(data, "y", ["x"])
    monkeypatch.setattr("kerncause.explain.model.MOST_ROWS", 75)
    part = FittedModel.of(data, "y", whole.fit)
    assert part.data.n_rows == 75
    assert part.share_explained() == pytest.approx(whole.share_explained(), abs=0.1)
    np.testing.assert_allclose(part.curve("x").mean, whole.curve("x").mean, atol=0.5)


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1000.0, 5.0), (-0.01, -300.0)])
def test_curves_follow_the_function_in_the_units_of_the_table(scale, shift):
    rng = np.random.default_rng(2)
    x = rng.normal(size=200)
    y = np.sin(2 * x) + 0.2 * rng.normal(size=200)
    data = Dataset.from_frame(pd.DataFrame({"x": scale * x + shift, "y": -3 * y + 40}))
    curve = model_of(data, "y", ["x"]).curve("x")
    at = (curve.at - shift) / scale
    inner = np.abs(at) < 1.8
    assert inner.sum() >= 20
    assert np.abs((curve.mean[inner] - 40) / -3 - np.sin(2 * at[inner])).max() < 0.2
    assert 0.1 < np.median(curve.spread) / 3 < 0.35
    assert np.abs(at).max() <= np.abs(x).max()
    assert curve.labels == tuple(f"{value:.6g}" for value in curve.at)
    assert curve.levels is None


def test_categorical_effects_have_probabilities_of_their_levels():
    frame = frame_of_kinds(120)
    data = Dataset.from_frame(frame[["y", "colour", "flag"]])
    curve = model_of(data, "colour", ["y"]).curve("y")
    assert curve.levels == ("blue", "green", "red")
    assert curve.mean.shape == (len(curve.at), 3)
    np.testing.assert_allclose(curve.mean.sum(axis=1), 1.0)
    assert curve.mean.min() >= 0.0
    assert curve.spread is None
    assert curve.mean[0].argmax() == 0, "the smallest y are blue"
    assert curve.mean[-1].argmax() == 2, "the largest y are red"
    flag = model_of(data, "flag", ["colour"]).curve("colour")
    assert flag.levels == ("False", "True")
    assert flag.labels == ("blue", "green", "red")
    shares = frame.groupby("colour")["flag"].mean()
    np.testing.assert_allclose(flag.mean[:, 1], shares, atol=0.1)


@pytest.mark.parametrize(
    ("cause", "labels", "at"),
    [("dose", ("0", "5", "10"), [0, 5, 10]), ("size", ("low", "avg", "high"), [1, 2, 3])],
)
def test_ordinal_causes_are_looked_at_on_their_levels(cause, labels, at):
    curve = model_of(dataset_of_kinds(100), "y", [cause]).curve(cause)
    assert curve.labels == labels
    assert curve.at.tolist() == at
    means = frame_of_kinds(100).groupby("dose")["y"].mean().to_numpy()
    np.testing.assert_allclose(curve.mean, means, atol=0.15)


def test_an_ordinal_effect_is_on_the_scale_of_its_codes():
    curve = model_of(dataset_of_kinds(100), "dose", ["x"]).curve("x")
    assert curve.levels is None
    assert curve.mean[0] < 2
    assert curve.mean[-1] > 8


def test_vectors_have_no_curve():
    data = dataset_of_kinds()
    assert model_of(data, "y", ["vec", "x"]).curve("vec") is None
    assert model_of(data, "y", ["vec", "x"]).curve("x") is not None
    assert model_of(data, "vec", ["x"]).curve("x") is None


@pytest.mark.parametrize(("cause", "others"), [("x", ["dose"]), ("x", ["dose", "vec"]), ("dose", ["x"]), ("x", [])])
def test_a_curve_is_the_average_prediction_over_the_rows(cause, others):
    data = dataset_of_kinds(50)
    model = model_of(data, "y", [cause, *others])
    curve, fit, n = model.curve(cause), model.fit, data.n_rows
    columns = {name: data.points(name).values for name in (cause, *others)}
    K = np.prod([kernel(columns[name], fit.bandwidths[name]) for name in columns], axis=0)
    own = data.codes[:, data.columns_of(cause)[0]]
    y = data.codes[:, data.columns_of("y")[0]]
    weights = np.linalg.solve(K + fit.noise**2 * np.eye(n), np.column_stack([y - y.mean(), y**2 - np.mean(y**2)]))
    for place, mean, spread in zip(curve.at, curve.mean, curve.spread, strict=True):
        z = (place - own.mean()) / own.std()
        predicted = np.zeros(2)
        for i in range(n):
            k = np.exp(-((columns[cause][:, 0] - z) ** 2) / (2 * fit.bandwidths[cause] ** 2))
            for name in others:
                gaps = ((columns[name] - columns[name][i]) ** 2).sum(axis=1)
                k = k * np.exp(-gaps / (2 * fit.bandwidths[name] ** 2))
            predicted += (k @ weights + [y.mean(), np.mean(y**2)]) / n
        assert mean == pytest.approx(predicted[0], abs=1e-8)
        assert spread**2 == pytest.approx(max(predicted[1] - predicted[0] ** 2, 0.0), abs=1e-7)


ARROWS = [("x", "dose"), ("x", "y"), ("dose", "y"), ("y", "colour")]


@pytest.fixture(scope="module")
def table():
    return Dataset.from_frame(frame_of_kinds(80)[["x", "dose", "y", "colour", "noise"]])


@pytest.fixture(scope="module")
def ledger(table):
    return Ledger(LearnedKernelScore(table))


@pytest.fixture(scope="module")
def why(ledger, table):
    dag = DAG(table.names, ARROWS)
    return lambda source, target: explained(ledger, table, dag, source, target)


def total(score, dag):
    return sum(score.local_score(name, dag.parents(name)) for name in dag.nodes)


def test_gains_are_what_removing_the_parent_costs(why, table):
    score = LearnedKernelScore(table)
    found = why("x", "y")
    assert found.is_edge
    assert found.gain == pytest.approx(score.local_score("y", ["x", "dose"]) - score.local_score("y", ["dose"]))
    assert found.bandwidth == score.fit("y", ["x", "dose"]).bandwidths["x"]
    assert found.fit.value == pytest.approx(score.local_score("y", ["x", "dose"]))
    assert found.explained == model_of(table, "y", ["x", "dose"]).share_explained()
    assert found.explained_without == model_of(table, "y", ["dose"]).share_explained()
    np.testing.assert_array_equal(found.curve.mean, model_of(table, "y", ["x", "dose"]).curve("x").mean)


@pytest.mark.parametrize("arrow", [("dose", "y"), ("y", "colour"), ("x", "dose")])
def test_turning_an_edge_round_changes_the_total(why, table, arrow):
    score, there = LearnedKernelScore(table), DAG(table.names, ARROWS)
    turned = [pair for pair in ARROWS if pair != arrow] + [arrow[::-1]]
    found = why(*arrow)
    assert found.cycle == ()
    assert found.reversed_gain == pytest.approx(total(score, DAG(table.names, turned)) - total(score, there))
    others = there.parents(arrow[0])
    assert found.bandwidth_reversed == score.fit(arrow[0], others | {arrow[1]}).bandwidths[arrow[1]]


def test_a_path_in_the_way_is_told(why):
    found = why("x", "y")
    assert found.cycle == ("x", "dose", "y")
    assert found.reversed_gain is None
    assert found.bandwidth_reversed is None
    assert "It cannot be turned round by itself: x → dose → y is there." in found.sentences()


def test_the_shortest_path_in_the_way_is_told(table, ledger):
    arrows = [("x", "dose"), ("dose", "noise"), ("noise", "y"), ("x", "colour"), ("colour", "y"), ("x", "y")]
    assert explained(ledger, table, DAG(table.names, arrows), "x", "y").cycle == ("x", "colour", "y")


def test_an_edge_is_explained_as_it_is(why):
    asked, there = why("colour", "y"), why("y", "colour")
    assert (asked.source, asked.target) == ("y", "colour")
    assert asked.sentences() == there.sentences()


def test_an_edge_that_is_not_there(why, table):
    score = LearnedKernelScore(table)
    found = why("noise", "y")
    assert not found.is_edge
    gain = score.local_score("y", ["x", "dose", "noise"]) - score.local_score("y", ["x", "dose"])
    assert found.gain == pytest.approx(gain)
    assert found.gain < 0
    assert found.reversed_gain is None
    assert found.cycle == ()
    assert found.runner_ups == ()
    assert "There is no edge noise → y" in found.sentences()[0]
    assert f"noise would change its score by {gain:+.1f} nats" in found.sentences()[0]


def test_an_edge_that_would_close_a_circle_says_so():
    rng = np.random.default_rng(0)
    x = rng.normal(size=80)
    y = np.sin(2 * x) + 0.3 * rng.normal(size=80)
    data = Dataset.from_frame(pd.DataFrame({"x": x, "y": y, "z": y**2 + 0.3 * rng.normal(size=80)}))
    dag = DAG(data.names, [("x", "y"), ("y", "z")])
    found = explained(Ledger(LearnedKernelScore(data)), data, dag, "z", "x")
    assert found.cycle == ("x", "y", "z")
    assert "It would close a circle: x → y → z is there." in found.sentences()


def test_runner_ups_obey_what_the_search_had_to_obey():
    frame = frame_of_kinds(80)[["x", "dose", "y"]].assign(noise=np.random.default_rng(1).normal(size=80))
    known = {"forbidden": [["noise", "y"]], "tiers": [["x", "dose"], ["y", "noise"]]}
    result = discover(frame, workers=1, max_parents=2, knowledge=known)
    others = [set(other.parents) for other in result.explain("x", "y").runner_ups]
    assert others
    assert all("noise" not in parents and len(parents) <= 2 for parents in others)
    free = discover(frame, workers=1, max_parents=3, knowledge={"tiers": known["tiers"]})
    assert any("noise" in other.parents for other in free.explain("x", "y").runner_ups)


def test_runner_ups_are_the_best_other_parent_sets(why, table):
    score, dag = LearnedKernelScore(table), DAG(table.names, ARROWS)
    own = dag.parents("y")
    allowed = {"x", "dose", "noise"}  # colour is an effect of y
    sets = [own - {name} for name in own] + [own | {name} for name in allowed - own]
    sets += [(own - {"x"}) | {name} for name in allowed - own]
    behind = {s: score.local_score("y", own) - score.local_score("y", s) for s in map(frozenset, sets)}
    expected = sorted(behind.values())[:3]
    found = why("x", "y").runner_ups
    assert len(found) == 3
    assert [other.behind for other in found] == pytest.approx(expected)
    assert all(a.behind <= b.behind for a, b in pairwise(found))
    for other in found:
        assert other.behind == pytest.approx(behind[frozenset(other.parents)])
        DAG(table.names, [pair for pair in ARROWS if pair[1] != "y"] + [(name, "y") for name in other.parents])


def test_runner_ups_never_close_a_cycle(why, table):
    for arrow in ARROWS:
        source, target = arrow
        for other in why(source, target).runner_ups:
            rest = [pair for pair in ARROWS if pair[1] != target]
            DAG(table.names, rest + [(name, target) for name in other.parents])
            assert set(other.parents) != DAG(table.names, ARROWS).parents(target)


def test_sentences_say_what_was_found(why):
    found = why("x", "y")
    text = str(found)
    assert f"x → y gains {found.gain:.1f} nats" in text
    assert f"{found.explained:.0%} of the variance of y" in text
    assert f"without x {found.explained_without:.0%}" in text
    assert f"The bandwidth of x is {found.bandwidth:.2f} standard deviations: short, so the effect bends." in text
    best = found.runner_ups[0]
    assert f"its score is {best.behind:.1f} nats lower" in text
    better = replace(found, runner_ups=(replace(best, behind=-2.0),))
    assert "its score is 2.0 nats higher" in str(better)
    assert "standard deviations." in str(replace(found, bandwidth=3.0))
    assert "starts" in str(replace(found, starts_disagree=True))
    assert "starts" not in str(replace(found, starts_disagree=False))
    assert "near-linear" in str(replace(found, bandwidth=9.0))
    turned = why("y", "colour")
    verb = "lose" if turned.reversed_gain < 0 else "gain"
    assert f"Turned round by itself, colour → y, the graph would {verb} {abs(turned.reversed_gain):.1f} nats." in str(
        turned
    )


def test_names_with_control_characters_are_escaped():
    frame = frame_of_kinds(60)[["x", "y", "dose"]].set_axis(["a\x1b[31m", "b\nnewline", "c\u2028"], axis=1)
    data = Dataset.from_frame(frame)
    a, b, c = data.names
    dag = DAG(data.names, [(a, c), (a, b), (c, b)])
    ledger = Ledger(LearnedKernelScore(data))
    for source, target in [(a, b), (c, b), (a, c)]:
        sentences = explained(ledger, data, dag, source, target).sentences()
        assert all(sentence.isprintable() for sentence in sentences)
    assert any("c\\u2028" in sentence for sentence in sentences)


def test_a_score_without_kernels_has_no_bandwidth_and_no_curve():
    result = discover(frame_of_kinds(100)[["x", "p", "y"]], score="bic", workers=1)
    score = make_score("bic", result.data)
    (edge,) = [e for e in result.edge_list if {e.source, e.target} == {"x", "p"}]
    found = result.explain("x", "p")
    parents = result.dag.parents(edge.target)
    with_it, without = (score.local_score(edge.target, names) for names in (parents, parents - {edge.source}))
    assert found.gain == pytest.approx(with_it - without)
    assert (found.bandwidth, found.bandwidth_reversed, found.curve) == (None, None, None)
    assert (found.explained, found.explained_without) == (None, None)
    assert "bandwidth" not in str(found)


def test_any_score_object_can_be_asked():
    class Favourite:
        variables = ("x", "y", "noise")

        def local_score(self, target, parents):
            return float({"x", "y"} <= {target, *parents}) - 0.1 * len(parents)

    found = discover(frame_of_kinds()[["x", "y", "noise"]], score=Favourite(), workers=1).explain("x", "y")
    assert found.gain == pytest.approx(0.9)
    assert found.reversed_gain == pytest.approx(0.0)


@pytest.mark.filterwarnings("ignore::kerncause.DataWarning")
def test_gains_with_gaps_are_on_the_rows_that_both_have():
    frame = frame_of_kinds(90)[["x", "y", "dose"]]
    frame["x"] = frame["x"].mask(np.random.default_rng(0).random(90) < 0.3)
    data = Dataset.from_frame(frame, missing="testwise")
    score = LearnedKernelScore(data)
    found = explained(Ledger(score), data, DAG(data.names, [("x", "y")]), "x", "y")
    both = score.restricted_to({"x", "y"})
    assert found.gain == pytest.approx(both.local_score("y", ["x"]) - both.local_score("y", []))
    assert found.fit.rows == int(frame["x"].notna().sum())
    assert found.explained > found.explained_without


def test_unknown_names_are_refused(why):
    with pytest.raises(OptionError, match=r"there is no variable 'q': the table has"):
        why("x", "q")
    with pytest.raises(OptionError, match="'x' cannot cause itself"):
        why("x", "x")


@pytest.fixture(scope="module")
def by_test():
    return discover(frame_of_kinds(80)[["x", "y", "p"]], search="pc", test="fisher-z", workers=1)


def test_what_rests_on_no_score_cannot_be_explained(by_test):
    with pytest.raises(OptionError, match="rests on a test, which has nothing to explain an edge by"):
        by_test.explain("x", "y")
    with pytest.raises(OptionError, match="rests on a method"):
        replace(by_test, by="method").explain("x", "y")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A result learned from a file with options of every sort, and where it was saved."""
    place = tmp_path_factory.mktemp("saved")
    frame = frame_of_kinds(80)[["x", "dose", "y", "size", "p", "q"]]
    frame["dose"] = frame["dose"].astype(str)
    frame.loc[3, "dose"] = "?"
    frame.to_csv(place / "table.csv", index=False, sep=";", decimal=",")
    data = kerncause.read_table(
        place / "table.csv",
        **{"separator": ";", "decimal": ",", "groups": GROUPS, "levels": {"size": ["low", "avg", "high"]}},
        **{"missing": "drop", "na_values": {"dose": ["?"]}},
    )
    options = {"max_parents": 2, "score_options": {"noise_bounds": (0.01, 5.0)}, "confidence": 3}
    knowledge = {"forbidden": [["y", "x"]]}
    with pytest.warns(kerncause.DataWarning):
        result = discover(data, workers=1, knowledge=knowledge, **options)
    return result, result.save(place / "out")


def assert_same(loaded, result):
    assert loaded.graph == result.graph
    assert loaded.graph.nodes == result.graph.nodes
    assert loaded.dag == result.dag
    assert loaded.edge_list == result.edge_list
    pd.testing.assert_frame_equal(loaded.edges, result.edges)
    assert loaded.fits == result.fits
    written, meant = (json.loads(json.dumps(dict(r.settings))) for r in (loaded, result))
    assert written == meant
    assert loaded.trace == result.trace
    assert loaded.confidence == result.confidence
    assert loaded.data.hash == result.data.hash
    assert (loaded.by, loaded.score, loaded.seconds) == (result.by, result.score, result.seconds)
    assert loaded.scores_computed == result.scores_computed
    assert loaded.to_dot() == result.to_dot()


def test_a_result_comes_back_from_its_files(saved):
    result, where = saved
    loaded = load_result(where)
    assert result.edge_list
    assert result.confidence is not None
    assert_same(loaded, result)


def test_a_loaded_result_can_still_be_asked(saved):
    result, where = saved
    edge = result.strongest_first()[0]
    before, after = (r.explain(edge.source, edge.target) for r in (result, load_result(str(where))))
    assert after.sentences() == before.sentences()
    assert after.gain == pytest.approx(edge.gain)
    assert after.runner_ups == before.runner_ups


def test_a_result_can_be_pickled(saved):
    result, _ = saved
    again = pickle.loads(pickle.dumps(result))
    assert_same(again, result)
    assert again.explain("x", "dose").gain == result.explain("x", "dose").gain


def test_a_loaded_result_can_be_saved_again(saved, tmp_path):
    _, where = saved
    loaded = load_result(where)
    assert_same(load_result(loaded.save(tmp_path / "again"), loaded.data), loaded)


def test_results_of_other_ways_come_back_too(by_test, tmp_path):
    where = by_test.save(tmp_path / "out")
    loaded = load_result(where, by_test.data)
    assert_same(loaded, by_test)
    with pytest.raises(OptionError, match="rests on a test"):
        loaded.explain("x", "y")
    frame = frame_of_kinds(80)[["x", "y", "p"]]
    bic = discover(frame, score="bic", score_options={"penalty": 2.0}, workers=1)
    loaded = load_result(bic.save(tmp_path / "bic"), Dataset.from_frame(frame.sample(frac=1, random_state=0)))
    assert_same(loaded, bic)
    assert loaded.explain("x", "p").gain == pytest.approx(bic.explain("x", "p").gain)


def test_a_result_by_a_score_object_comes_back_but_cannot_be_explained(tmp_path):
    data = Dataset.from_frame(frame_of_kinds(80)[["x", "y", "p"]])
    result = discover(data, score=make_score("bic", data), workers=1)
    loaded = load_result(result.save(tmp_path), data)
    assert_same(loaded, result)
    with pytest.raises(OptionError, match="a score without a name"):
        loaded.explain("x", "p")


def sentence_of(function, *words):
    """The one sentence with which something is refused."""
    with pytest.raises((OptionError, DataError)) as told:
        function(*words)
    message = str(told.value)
    assert "Error(" not in message, "a sentence inside another"
    assert "\n" not in message
    return message


def test_a_moved_table_is_told_where_it_is(saved, tmp_path):
    result, where = saved
    original = where.parent / "table.csv"
    moved = tmp_path / "elsewhere.csv"
    moved.write_bytes(original.read_bytes())
    away = original.rename(original.with_suffix(".away"))
    try:
        message = sentence_of(load_result, where)
        assert "there is no file" in message
        assert "--data" in message
        assert_same(load_result(where, moved), result)
        assert_same(load_result(where, result.data), result)
    finally:
        away.rename(original)


def test_a_changed_table_is_refused(saved, tmp_path):
    _, where = saved
    text = (where.parent / "table.csv").read_text()
    (tmp_path / "changed.csv").write_text(re.sub(r"\d;", "7;", text, count=1))
    message = sentence_of(load_result, where, tmp_path / "changed.csv")
    assert message.startswith("the table has changed since the result")
    header, *rows = text.splitlines()
    (tmp_path / "shuffled.csv").write_text("\n".join([header, *rows[::-1]]) + "\n")
    load_result(where, tmp_path / "shuffled.csv")


def test_a_table_that_was_no_file_must_be_given(by_test, tmp_path):
    message = sentence_of(load_result, by_test.save(tmp_path))
    assert message.startswith("the result in ")
    assert "was not learned from a file: give the table" in message


def test_a_directory_without_a_result_is_refused(tmp_path):
    assert "there is no result in" in sentence_of(load_result, tmp_path / "none")
    assert "there is no result in" in sentence_of(load_result, tmp_path)


DAMAGES = {
    "cut": lambda text: text[: len(text) // 2],
    "empty": lambda text: "",
    "a list": lambda text: "[]",
    "a number": lambda text: "3",
    "without anything": lambda text: "{}",
    "without edges": lambda text: text.replace('"edges"', '"hedges"'),
    "without settings": lambda text: text.replace('"settings"', '"sittings"'),
    "without a way": lambda text: text.replace('"score": "learned"', '"scare": "learned"'),
    "with a score that is none": lambda text: text.replace('"score": "learned"', '"score": 3'),
    "with an unknown figure": lambda text: text.replace('"gain"', '"gainn"'),
    "with an unknown node": lambda text: text.replace('"source": "x"', '"source": "unheard"'),
    "without replicates": lambda text: text.replace('"replicates"', '"replicants"'),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_files_are_refused(saved, tmp_path, damage):
    result, where = saved
    result.save(tmp_path)
    text = (where / "graph.json").read_text()
    assert damage(text) != text
    (tmp_path / "graph.json").write_text(damage(text))
    with pytest.raises(OptionError, match=r"learn it again|nothing to explain") as told:
        load_result(tmp_path).explain("x", "y")
    assert "\n" not in str(told.value)


def test_a_damaged_trace_is_refused(saved, tmp_path):
    result, _ = saved
    result.save(tmp_path)
    trace = (tmp_path / "trace.jsonl").read_text()
    for damaged in (trace[:-20], trace.replace('"given"', '"taken"'), trace + "[]\n"):
        (tmp_path / "trace.jsonl").write_text(damaged)
        assert "damaged" in sentence_of(load_result, tmp_path)
    (tmp_path / "graph.json").write_bytes(b"\xff\xfe")
    assert "no text" in sentence_of(load_result, tmp_path)


def test_names_with_line_separators_come_back(tmp_path):
    frame = frame_of_kinds(60)[["x", "p", "y"]].set_axis(["a\u2028b", "c\x85d", "e\nf"], axis=1)
    result = discover(frame, score="bic", workers=1)
    assert result.trace
    assert_same(load_result(result.save(tmp_path), result.data), result)


def test_explain_from_the_shell(saved, tmp_path):
    result, where = saved
    edge = result.strongest_first()[0]
    done = run("explain", where, edge.source, edge.target)
    assert done.exit_code == 0, done.output
    found = result.explain(edge.source, edge.target)
    for sentence in found.sentences():
        assert sentence in done.output
    assert "on average" in done.output
    assert "not Bayes factors" in done.output
    moved = tmp_path / "moved.csv"
    moved.write_bytes((where.parent / "table.csv").read_bytes())
    assert run("explain", where, edge.source, edge.target, "--data", moved).output == done.output


def test_explain_from_the_shell_refuses_in_a_sentence(saved, tmp_path):
    _, where = saved
    for words, message in [
        ((where, "x", "q"), "there is no variable 'q'"),
        ((where, "x", "x"), "cannot cause itself"),
        ((tmp_path, "x", "y"), "there is no result in"),
        ((where, "x", "y", "--data", tmp_path / "none.csv"), "there is no file"),
    ]:
        done = run("explain", *words)
        assert done.exit_code == 1
        assert message in done.output.replace("\n", " ")
        assert "Traceback" not in done.output


def test_names_are_text_in_the_shell(tmp_path):
    frame = frame_of_kinds(60)[["x", "colour"]].set_axis(["[red]x[/red]\x1b[31m", "effect"], axis=1)
    frame["effect"] = frame["effect"].replace({"red": "[bold]r"})
    frame.to_csv(tmp_path / "t.csv", index=False)
    done = run("discover", tmp_path / "t.csv", "--workers", 1, "--out", tmp_path / "out", "--quiet")
    assert done.exit_code == 0, done.output
    done = run("explain", tmp_path / "out", frame.columns[0], "effect")
    assert done.exit_code == 0, done.output
    assert "[red]x[/red]\\x1b" in done.output
    assert "\x1b" not in done.output
