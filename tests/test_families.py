"""Kernels of the parents, and evidence: against literal formulas, differences, and what must not matter."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from kerncause import Dataset, LearnedKernelScore, OptionError, discover
from kerncause.data import Points
from kerncause.explain.model import FittedModel
from kerncause.kernels import COLUMNS, DIRECTION
from kerncause.regression import ENGINES, Parameters, Problem
from kerncause.scores import Ledger, make_score
from kerncause.scores.base import LocalFit
from kerncause.scores.cache import _written
from kerncause.scores.evidence import Evidence, overdispersion
from kerncause.scores.family import FAMILIES, Sides, promising_directions
from kerncause.scores.optimise import Rounder, ascend


def single_index(n=150, seed=0, parents=3, signs=(1, 1, 1), swing=3.0, noise=0.2):
    """One variable that swings with a weighted sum of others, which no single one of them shows."""
    rng = np.random.default_rng(seed)
    P = rng.normal(size=(n, parents))
    x = np.cos(swing * P @ np.array(signs[:parents]) / math.sqrt(parents)) + noise * rng.normal(size=n)
    return pd.DataFrame({"x": x, **{f"p{k}": P[:, k] for k in range(parents)}})


def mixed_frame(n=80, seed=1):
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 4, size=n), rng.integers(0, 3, size=n)
    v = rng.normal(size=(n, 2))
    x = np.sin(a - b + v.sum(axis=1)) + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "a": a, "b": b, "v_1": v[:, 0], "v_2": v[:, 1]})


def literal(x, coordinates, s_x, s_e):
    """L by its definition."""
    n = len(x)
    K_X = np.exp(-((x[:, None] - x[None]) ** 2) / (2 * s_x**2))
    K_t = np.exp(-((coordinates[:, None] - coordinates[None]) ** 2).sum(axis=2) / 2) + s_e**2 * np.eye(n)
    _, log_determinant = np.linalg.slogdet(K_t)
    quadratic = np.trace(K_X @ np.linalg.solve(K_t, K_X))
    return -0.5 * quadratic - 0.5 * n * log_determinant - 0.5 * n * n * math.log(2 * math.pi)


@pytest.mark.parametrize("engine", list(ENGINES))
@pytest.mark.parametrize("is_discrete", [False, True])
@pytest.mark.parametrize("shape", [DIRECTION, COLUMNS])
def test_every_engine_has_the_likelihood_of_weights_and_its_slopes(engine, is_discrete, shape):
    frame = mixed_frame()
    data = Dataset.from_frame(frame.round() if is_discrete else frame, groups={"v": ["v_1", "v_2"]})
    parents = tuple(data.points(name) for name in ("a", "b", "v"))
    problem = Problem(data.points("x"), parents, shape=shape)
    points = np.hstack([p.values for p in parents])
    w = np.array([0.7, -0.4, 0.3, 0.5])
    coordinates = (points @ w)[:, None] if shape is DIRECTION else points * w
    at = Parameters(1.1, w, 0.35)
    made = ENGINES[engine].of(problem, at, 1e-6)
    assert made.evaluate(at).value == pytest.approx(
        literal(data.points("x").values[:, 0], coordinates, 1.1, 0.35), rel=1e-6
    )
    slopes = made.evaluate(at).parents
    for k in range(4):
        h = 1e-5 * np.eye(4)[k]
        up, down = (made.evaluate(Parameters(1.1, w + step, 0.35)).value for step in (h, -h))
        assert slopes[k] == pytest.approx((up - down) / 2e-5, rel=1e-4, abs=1e-4 * np.abs(slopes).max())


def test_a_direction_finds_what_no_parent_shows_alone():
    data = Dataset.from_frame(single_index())
    bandwidths, along = (LearnedKernelScore(data, kernel=kernel) for kernel in ("gaussian", "direction"))
    parents = ["p0", "p1", "p2"]
    assert along.fit("x", parents).value > bandwidths.fit("x", parents).value + 30
    found = np.array([along.fit("x", parents).weights[name][0] for name in parents])
    assert np.all(np.abs(found / found.mean() - 1) < 0.15)


def test_auto_is_the_better_of_both_and_remembers_the_other():
    data = Dataset.from_frame(single_index())
    by = {k: LearnedKernelScore(data, kernel=k).fit("x", ["p0", "p1"]) for k in ("gaussian", "direction", "auto")}
    assert by["auto"].value == pytest.approx(max(by["gaussian"].value, by["direction"].value), abs=0.01)
    assert {by["auto"].kernel, by["auto"].rival.kernel} == {"gaussian", "direction"}
    assert LearnedKernelScore(data, kernel="auto").fit("x", ["p0"]).rival is None, (
        "one column has no direction to choose"
    )


def test_signs_and_the_order_of_columns_do_not_matter():
    frame = single_index(signs=(1, -1, 1))
    turned = frame.assign(p1=-frame["p1"])[["p2", "p1", "x", "p0"]]
    values = [
        LearnedKernelScore(Dataset.from_frame(f), kernel="direction").local_score("x", ["p0", "p1", "p2"])
        for f in (frame, turned)
    ]
    assert values[0] == pytest.approx(values[1], abs=0.02)


def test_what_was_fitted_before_does_not_matter():
    data = Dataset.from_frame(single_index())
    parents = ["p0", "p1", "p2"]
    alone = LearnedKernelScore(data, kernel="auto").fit("x", parents)
    ledger = Ledger(LearnedKernelScore(data, kernel="auto"))
    ledger.fit("x", ["p1", "p2"])
    assert ledger.fit("x", parents).value == alone.value


def test_promising_directions_come_first():
    frame = single_index(n=300, signs=(1, -1, 1))
    data = Dataset.from_frame(frame)
    best = promising_directions(data.points("x"), [data.points(f"p{k}") for k in range(3)])[0]
    assert np.all(np.abs(best / best[0] - np.array([1, -1, 1])) < 0.2)


def test_vectors_and_many_columns_have_directions():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.normal(size=(60, 10)), columns=[f"v_{k}" for k in range(9)] + ["x"])
    data = Dataset.from_frame(frame, groups={"v": [f"v_{k}" for k in range(9)]})
    fit = LearnedKernelScore(data, kernel="direction").fit("x", ["v"])
    assert len(fit.weights["v"]) == 9
    assert fit.bandwidths["v"] == pytest.approx(1 / np.linalg.norm(fit.weights["v"]))


def test_a_fit_with_a_rival_comes_back_from_a_file_as_it_was():
    import json

    fit = LearnedKernelScore(Dataset.from_frame(single_index()), kernel="auto").fit("x", ["p0", "p1"])
    again = LocalFit.from_json(json.loads(_written(fit)))
    assert (again, again.rival) == (fit, fit.rival)


def test_parameters_of_a_direction_can_be_evaluated_and_have_slopes():
    data = Dataset.from_frame(single_index())
    score = LearnedKernelScore(data, kernel="direction", engine="dense")
    fit = score.fit("x", ["p0", "p1"])
    value, slopes = score.evaluate("x", ["p0", "p1"], fit)
    assert value == pytest.approx(fit.value)
    assert slopes.bandwidths == {}
    assert max(abs(part[0]) for part in slopes.weights.values()) < 1
    moved = {"response_bandwidth": fit.response_bandwidth, "noise": fit.noise}
    for sign in (1, -1):
        weights = {"p0": (fit.weights["p0"][0] + sign * 0.1,), "p1": fit.weights["p1"]}
        assert score.evaluate("x", ["p0", "p1"], {**moved, "weights": weights})[0] < value
    with pytest.raises(OptionError, match="weights are given for"):
        score.evaluate("x", ["p0", "p1"], {**moved, "weights": {"p0": (1.0,)}})
    with pytest.raises(OptionError, match="not 1 numbers"):
        score.evaluate("x", ["p0", "p1"], {**moved, "weights": {"p0": (1.0, 2.0), "p1": (1.0,)}})


def test_the_curve_of_a_direction_is_the_literal_average():
    data = Dataset.from_frame(single_index())
    fit = LearnedKernelScore(data, kernel="direction").fit("x", ["p0", "p1", "p2"])
    model = FittedModel.of(data, "x", fit)
    w, P = (
        np.array([fit.weights[f"p{k}"][0] for k in range(3)]),
        np.hstack([model.data.points(f"p{k}").values for k in range(3)]),
    )
    at = np.array([[-0.5], [0.8]])
    expected = []
    for place in at:
        moved = P.copy()
        moved[:, 0] = place[0]
        gaps = (moved @ w)[:, None] - (P @ w)[None]
        expected.append(np.exp(-(gaps**2) / 2).mean(axis=0))
    np.testing.assert_allclose(model._averaged("p0", at), expected, rtol=1e-10)
    assert model.share_explained() > 0.5


def one_column_counts(n=150, seed=4):
    """A response that follows one of three columns of a vector, and a number."""
    rng = np.random.default_rng(seed)
    v, p = rng.normal(size=(n, 3)), rng.normal(size=n)
    x = np.sin(2 * v[:, 1]) * np.tanh(2 * p) + 0.1 * rng.normal(size=n)
    frame = pd.DataFrame({"x": x, "p": p, **{f"v{k}": v[:, k] for k in range(3)}})
    return Dataset.from_frame(frame, groups={"v": ["v0", "v1", "v2"]})


def test_columns_switch_off_those_of_a_vector_that_do_not_count():
    data = one_column_counts()
    columns, gaussian = (LearnedKernelScore(data, kernel=kernel) for kernel in ("columns", "gaussian"))
    fit = columns.fit("x", ["v", "p"])
    assert fit.kernel == "columns"
    assert fit.value > gaussian.fit("x", ["v", "p"]).value + 20
    *others, counts = sorted(np.abs(fit.weights["v"]))
    assert max(others) < 0.2 * counts
    assert columns.evaluate("x", ["v", "p"], fit)[0] == pytest.approx(fit.value, abs=0.02)
    assert fit.bandwidths["p"] == pytest.approx(1 / abs(fit.weights["p"][0]))


def test_columns_of_one_column_each_are_bandwidths_without_a_bound():
    data = Dataset.from_frame(single_index(swing=1.0))
    columns, gaussian = (LearnedKernelScore(data, kernel=kernel) for kernel in ("columns", "gaussian"))
    with_bounds, without = gaussian.fit("x", ["p0", "p1"]), columns.fit("x", ["p0", "p1"])
    assert without.value > with_bounds.value - 0.02
    told = {"response_bandwidth": with_bounds.response_bandwidth, "noise": with_bounds.noise}
    weights = {name: (1 / width,) for name, width in with_bounds.bandwidths.items()}
    assert columns.evaluate("x", ["p0", "p1"], {**told, "weights": weights})[0] == pytest.approx(
        with_bounds.value, abs=0.02
    )


def test_the_curve_of_columns_is_the_literal_average():
    data = one_column_counts()
    fit = LearnedKernelScore(data, kernel="columns").fit("x", ["v", "p"])
    model = FittedModel.of(data, "x", fit)
    columns = {name: model.data.points(name).values * np.array(fit.weights[name]) for name in ("v", "p")}
    of_v = ((columns["v"][:, None] - columns["v"][None]) ** 2).sum(axis=2)
    at = np.array([[-0.5], [0.8]])
    expected = [
        np.exp(-((place[0] * fit.weights["p"][0] - columns["p"][:, 0]) ** 2 + of_v) / 2).mean(axis=0) for place in at
    ]
    np.testing.assert_allclose(model._averaged("p", at), expected, rtol=1e-10)


def test_unknown_kernels_and_shared_directions_are_refused():
    data = Dataset.from_frame(single_index())
    with pytest.raises(OptionError, match="the choices are auto, direction, columns, gaussian"):
        LearnedKernelScore(data, kernel="cubic")
    with pytest.raises(OptionError, match="shared"):
        LearnedKernelScore(data, kernel="auto", bandwidths="shared")


def test_evidence_takes_off_what_it_says():
    frame = single_index()
    data = Dataset.from_frame(frame)
    for kernel in ("gaussian", "direction"):
        plain = make_score("learned", data, kernel=kernel).fit("x", ["p0", "p1"])
        judged = make_score("learned", data, kernel=kernel, evidence="bic").fit("x", ["p0", "p1"])
        cost = max(overdispersion(data.points("x")), 1.0) * (math.log(len(frame)) + math.log(3))
        assert judged.complexity == pytest.approx(cost)
        assert judged.value == pytest.approx(plain.value - cost)
    assert make_score("learned", data, evidence="bic").fit("x").complexity == 0.0


def test_an_expected_degree_is_a_probability_of_edges():
    evidence = Evidence("bic", expected_degree=2.0)
    # 10 possible parents: each is one with probability 2 / 10 / 2
    assert evidence.cost(50, 1, 1, 10) == pytest.approx(0.5 * math.log(50) + math.log(0.9 / 0.1))
    assert Evidence("bic", 50.0).cost(50, 1, 1, 10) == pytest.approx(0.5 * math.log(50))
    assert evidence.cost(50, 0, 0, 10) == 0.0
    assert evidence.cost(50, 1, 1, 10, 3.0) == pytest.approx(3 * evidence.cost(50, 1, 1, 10))


@pytest.mark.parametrize("degree", [0, -1, math.inf, True, "two"])
def test_senseless_degrees_are_refused(degree):
    with pytest.raises(OptionError, match="expected_degree"):
        Evidence("bic", degree)


def test_a_degree_without_evidence_is_refused():
    with pytest.raises(OptionError, match="needs evidence"):
        Evidence("none", 2.0)
    with pytest.raises(OptionError, match="evidence cannot be"):
        Evidence("aic")


def test_a_search_with_both_kernels_finds_a_sum_that_swings():
    result = discover(
        single_index(n=200, noise=0.1), score_options={"kernel": "auto", "evidence": "bic"}, search="exact", workers=1
    )
    assert set(result.dag.parents("x")) == {"p0", "p1", "p2"}


def test_rare_values_are_overdispersed_by_their_kurtosis():
    for rare in (2, 10, 50):
        flags = np.arange(200) < rare
        z = (flags - flags.mean()) / flags.std()
        points = Points.of(z[:, None])
        assert overdispersion(points) == pytest.approx((np.mean(z**4) - 1) / 2)


def test_overdispersion_is_that_of_the_written_out_features():
    x = np.random.default_rng(0).standard_t(3, size=80)
    x = (x - x.mean()) / x.std()
    distances = np.abs(x[:, None] - x[None])
    s = 2 * np.median(distances[np.triu_indices(80, 1)]) / math.sqrt(2)
    K = np.exp(-(distances**2) / (2 * s**2))
    e = ((K - K.mean(axis=0)) ** 2).mean(axis=1)
    assert overdispersion(Points.of(x[:, None])) == pytest.approx(e.var() / (2 * e.mean() ** 2))
    repeated = Points.of(np.repeat(x, 3)[:, None])
    assert overdispersion(repeated) == pytest.approx(overdispersion(Points.of(x[:, None])), rel=0.05)
    assert 0 < overdispersion(Points.of(np.random.default_rng(1).normal(size=(3000, 1)))) < 1


def several_causes(of, n=100, seed=1):
    """A response that several causes make together, along one sum or not."""
    rng = np.random.default_rng(seed)
    a, b, c = rng.normal(size=(3, n))
    made = {
        "sum": np.cos(2 * (a - b + c)),
        "product": np.sin(2 * a) * np.sin(2 * b),
        "parts": np.sin(3 * a) + np.cos(2 * b) + c**2 / 2,
        "tight": np.sin(3 * a) * np.sign(b),
    }[of]
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": a + rng.normal(size=n), "y": made + 0.2 * rng.normal(size=n)})


@pytest.mark.parametrize("of", ["sum", "product", "parts", "tight"])
def test_starts_left_out_are_hardly_missed(monkeypatch, of):
    score = LearnedKernelScore(Dataset.from_frame(several_causes(of)), kernel="auto", response_scaling="rank")
    sets = [set(some) for size in (2, 3, 4) for some in combinations("abcd", size)]

    def tried():
        fits = [score.fit("y", some, settle=False) for some in sets]
        families = [fit for best in fits for fit in (best, best.rival) if fit is not None]
        return {(fit.kernel, *sorted(fit.bandwidths)): fit for fit in families}

    choosy = tried()
    monkeypatch.setattr(FAMILIES["direction"], "hopeless", np.inf)
    every = tried()
    assert {kernel for kernel, *_ in every} == {"gaussian", "direction"}
    missed = {key: fit.value - choosy[key].value for key, fit in every.items()}
    assert np.mean([value < 0.1 for value in missed.values()]) >= 0.9
    assert max(missed.values()) < 5.0
    assert all(value == 0.0 for (kernel, *_), value in missed.items() if kernel == "gaussian")
    spent = [sum(fit.evaluations for fit in fits.values()) for fits in (choosy, every)]
    assert spent[0] < spent[1] or of == "product"  # of which no start is left out


def test_the_dense_engine_follows_every_start(monkeypatch):
    data = Dataset.from_frame(several_causes("product", n=60))
    score = LearnedKernelScore(data, kernel="auto", response_scaling="rank", engine="dense")
    value = score.fit("y", ["a", "b"]).value
    monkeypatch.setattr(FAMILIES["direction"], "hopeless", np.inf)
    assert score.fit("y", ["a", "b"]).value == value


def test_a_start_is_elsewhere_if_its_sum_or_its_scale_is_another():
    rng = np.random.default_rng(0)
    response, *parents = (Points.of(rng.normal(size=(100, 1))) for _ in range(3))
    sides = Sides(response, tuple(parents), 1.0)
    family = FAMILIES["direction"]
    top = np.array([1.0, 0.5])
    assert not family.is_elsewhere(sides, np.array([-1.1, -0.55]), top)
    assert family.is_elsewhere(sides, np.array([1.0, -0.5]), top)
    assert family.is_elsewhere(sides, 3.0 * top, top)
    assert family.is_elsewhere(sides, top / 3.0, top)


def alike(n=150, seed=5):
    """A vector whose columns hardly differ, another one, and a number that bends with a sum of both."""
    rng = np.random.default_rng(seed)
    u, v = rng.normal(size=(2, n))
    one, other = (z[:, None] + 0.1 * rng.normal(size=(n, 4)) for z in (u, v))
    x = np.sin(1.5 * (one.mean(axis=1) - other[:, 0])) + 0.2 * rng.normal(size=n)
    columns = {f"{name}_{k}": column for name, z in (("u", one), ("v", other)) for k, column in enumerate(z.T)}
    groups = {name: [f"{name}_{k}" for k in range(4)] for name in ("u", "v")}
    return Dataset.from_frame(pd.DataFrame({"x": x, **columns}), groups=groups)


def task_of(data, parents, kernel="direction", **options):
    score = LearnedKernelScore(data, kernel=kernel, **options)
    names, rows = score._rows_for("x", parents)
    return score._subject("x", names, rows, kernel).task


def test_round_coordinates_have_the_same_loss_and_its_slopes():
    task = task_of(alike(), ["u", "v"])
    layout = task.layout
    assert layout.metric.shape == (8, 8)
    rounder = Rounder(layout.metric, layout.log_limits)
    loss = rounder.loss(task.objective.scaled_loss)
    theta = task.layout.start(task.heuristic, 1.0)
    z = rounder.of(theta)
    np.testing.assert_allclose(rounder.back(z), theta, atol=1e-12)
    value, gradient = loss(z)
    assert value == pytest.approx(task.objective.scaled_loss(theta)[0], abs=1e-9)
    for k, step in enumerate(1e-5 * np.eye(len(z))):
        assert gradient[k] == pytest.approx((loss(z + step)[0] - loss(z - step)[0]) / 2e-5, rel=1e-3, abs=1e-6)


def test_beyond_the_bounds_of_weights_the_loss_is_flat_in_round_coordinates():
    """Some weights lie far beyond theirs: the loss is that at the bounds, and its gradient knows nothing of them."""
    task = task_of(alike(), ["u", "v"])
    layout = task.layout
    rounder = Rounder(layout.metric, layout.log_limits)
    loss = rounder.loss(task.objective.scaled_loss)
    theta = task.layout.start(task.heuristic, 1.0)
    theta[1:3] = 2 * layout.log_limits[1][1:3]
    inside = np.clip(theta, *layout.log_limits)
    assert not np.array_equal(theta, inside)
    z = rounder.of(theta)
    value, gradient = loss(z)
    assert value == pytest.approx(task.objective.scaled_loss(inside)[0], abs=1e-9)
    for k, step in enumerate(1e-5 * np.eye(len(z))):
        assert gradient[k] == pytest.approx((loss(z + step)[0] - loss(z - step)[0]) / 2e-5, rel=1e-3, abs=1e-6)


def test_round_coordinates_lead_to_the_same_top_in_fewer_steps():
    task = task_of(alike(), ["u", "v"])
    by_weights = replace(task.objective, layout=replace(task.layout, metric=None))
    assert task.layout.metric is not None
    rounded, plain = [], []
    for start in task.cold(2):
        theta = task.layout.start(start.place, 1.0)
        rounded.append(ascend(task.objective, theta))
        plain.append(ascend(by_weights, theta))
    assert max(end.value for end in rounded) == pytest.approx(max(end.value for end in plain), abs=0.05)
    assert sum(end.evaluations for end in rounded) < 0.8 * sum(end.evaluations for end in plain)


def test_weights_keep_to_their_bounds_in_round_coordinates():
    """A shortest bandwidth of 2 holds weights at 1/2: as high a top as with the weights for coordinates."""
    task = task_of(alike(), ["u", "v"], parent_bounds=(2.0, 10.0))
    theta = task.layout.start(task.cold(1)[0].place, 1.0)
    rounded = ascend(task.objective, theta)
    plain = ascend(replace(task.objective, layout=replace(task.layout, metric=None)), theta)
    weights = task.layout.unpacked(rounded.theta).parents
    assert np.abs(weights).max() == 0.5
    assert rounded.value >= plain.value - 0.05


def test_columns_of_their_own_keep_their_coordinates():
    assert task_of(Dataset.from_frame(single_index()), ["p0", "p1", "p2"]).layout.metric is None
