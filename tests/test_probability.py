"""Discrete responses by their probability: rows left out one by one, the calibration, the entropy as a limit."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize

from kerncause import Dataset, LearnedKernelScore, OptionError, discover
from kerncause.data import Points
from kerncause.kernels import DIRECTION, ELLIPSOID, entropy, least_noise
from kerncause.regression import Nearness, Parameters, Problem, left_out, nearness
from kerncause.scores.probability import RIDGE, _curvature, _loss, probability_of

SACHS = Path(__file__).parent.parent / "examples" / "sachs.csv"
OPTIONS = {"noise_floor": "entropy", "response_scaling": "rank", "discrete": "probability"}


def table(n=60, seed=0, levels=3, is_coarse=False):
    """A response of few values that follows a, not b."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    if is_coarse:
        a, b = a.round(), b.round()
    x = np.clip(np.floor(levels / 2 + a + 0.4 * rng.normal(size=n)), 0, levels - 1)
    return pd.DataFrame({"x": x, "a": a, "b": b})


def points_of(frame, name):
    return Points.of(frame[[name]].to_numpy())


def by_hand(frame, parents, at, shape):
    """-a/2 |phi_l - mu|^2 of every row, and the shares of values, by fitting the regression again without it."""
    x, n = frame["x"].to_numpy(), len(frame)
    levels = np.unique(x)
    indicators = (x[:, None] == levels).astype(float)
    phi = np.exp(-((levels[:, None] - x[None]) ** 2) / (2 * at.response_bandwidth**2))  # (v, n)
    P = frame[parents].to_numpy()
    z = P @ at.parents[:, None] if shape is DIRECTION else P / at.parents
    K = np.exp(-((z[:, None] - z[None]) ** 2).sum(axis=2) / 2)
    near, shares, counted = np.empty((3, n, len(levels)))
    squared = np.empty(n)
    for i in range(n):
        rest = np.arange(n) != i
        K_t = K[np.ix_(rest, rest)] + at.noise**2 * np.eye(n - 1)
        weights = np.linalg.solve(K_t, K[rest, i])
        of_mean = K[i, i] - weights @ K[rest, i]
        mean = weights @ (indicators @ phi)[rest]
        squared[i] = ((indicators[i] @ phi - mean) ** 2).mean() / (of_mean + at.noise**2)
        near[i] = -((phi - mean) ** 2).mean(axis=1) / (2 * (of_mean + at.noise**2))
        occur = np.clip(weights @ indicators[rest], 0, None) * at.noise**2 / of_mean + indicators.mean(axis=0)
        shares[i] = occur / occur.sum()
        same = rest & (P[i] == P).all(axis=1)
        counted[i] = (indicators[same].sum(axis=0) + indicators.mean(axis=0)) / (same.sum() + 1)
    return near, shares, counted, near * steadiness_by_hand(z, squared)[:, None]


def log_probability(rows):
    return probability_of(rows).log


def steadiness_by_hand(z, squared):
    """The mean error of all over that of the rows about a row and of one more, whole places at once."""
    if z.shape[1] == 0:
        return np.ones(len(z))
    count = round(0.5 * len(z) ** 0.8)
    w = np.empty(len(z))
    for i in range(len(z)):
        about = []
        distances = np.linalg.norm(z - z[i], axis=1)
        for distance in np.unique(distances.round(12)):
            if len(about) >= count:
                break
            about += [j for j in np.flatnonzero(np.abs(distances - distance) < 1e-9) if j != i]
        w[i] = squared.mean() / np.mean([squared.mean(), *squared[about]])
    return w


def evidence_of(rows):
    local = rows.near if rows.local is None else rows.local
    return np.stack([np.log(rows.counted), np.log(rows.shares), rows.near, local])


@pytest.mark.parametrize("written_out", [1000, 0])
@pytest.mark.parametrize("is_coarse", [True, False])
@pytest.mark.parametrize(
    ("parents", "shape", "values"),
    [
        ([], ELLIPSOID, []),
        (["a"], ELLIPSOID, [0.8]),
        (["a", "b"], ELLIPSOID, [0.9, 2.0]),
        (["a", "b"], DIRECTION, [1.2, -0.3]),
    ],
)
def test_rows_left_out_are_predicted_as_by_a_fit_without_them(
    monkeypatch, written_out, is_coarse, parents, shape, values
):
    monkeypatch.setattr(left_out, "WRITTEN_OUT", written_out)
    monkeypatch.setattr(left_out, "EXACT_ROWS", written_out)
    frame = table(is_coarse=is_coarse)
    at = Parameters(1.3, np.array(values), 0.2)
    problem = Problem(points_of(frame, "x"), tuple(points_of(frame, p) for p in parents), shape=shape)
    found = nearness(problem, at, [True] * len(parents), local_noise=True)
    assert (found.local is None) == (not parents)
    codes = problem.response.codes
    rows = Nearness(np.ones(len(codes)), codes, *by_hand(frame, parents, at, shape))
    # Rows that are alike stand together: compare what each row adds to the likelihood of any calibration.
    for b, tau in (
        ([0, 0, 0], [0, 0, 1, 0]),
        ([0.3, -0.2, 1], [0.2, 0.4, 0.3, 0.1]),
        ([0, 0, 0], [0, 1, 0, 0]),
        ([0, 0, 0], [1, 0, 0, 0]),
        ([0, 0, 0], [0, 0, 0, 1]),
    ):
        one = _loss(np.array([*b, *tau]), rows, evidence_of(rows))[0]
        other = _loss(np.array([*b, *tau]), found, evidence_of(found))[0]
        assert other == pytest.approx(one, abs=1e-6 if written_out else 0.02)
    assert found.counts.sum() == len(frame)


def test_rows_that_are_counted_are_rows():
    frame = table(is_coarse=True)
    counts = np.random.default_rng(1).integers(1, 4, size=len(frame))
    repeated = frame.loc[np.repeat(frame.index, counts)]
    at = Parameters(1.3, np.array([0.8]), 0.2)
    long = Problem(points_of(repeated, "x"), (points_of(repeated, "a"),))
    short = Problem(
        Points.of(frame[["x"]].to_numpy(), counts),
        (Points.of(frame[["a"]].to_numpy(), counts),),
    )
    assert log_probability(nearness(short, at, [True])) == pytest.approx(
        log_probability(nearness(long, at, [True])), abs=1e-6
    )


def test_rows_that_are_counted_are_rows_of_their_neighbourhood():
    frame = table(100)
    counts = np.random.default_rng(1).integers(1, 3, size=len(frame))
    at = Parameters(1.3, np.array([0.8]), 0.2)
    repeated = frame.loc[np.repeat(frame.index, counts)]
    long = nearness(Problem(points_of(repeated, "x"), (points_of(repeated, "a"),)), at, [False], local_noise=True)
    pair = (Points.of(frame[[name]].to_numpy(), counts) for name in "xa")
    short = nearness(Problem(next(pair), tuple(pair)), at, [False], local_noise=True)
    assert long.local is not None
    np.testing.assert_allclose(np.sort(short.local, axis=0), np.sort(long.local, axis=0), rtol=1e-8, atol=1e-10)


def uneven(spread, n=300, seed=2):
    """A number that follows a, with noise that is the same everywhere or grows with a."""
    rng = np.random.default_rng(seed)
    a, e = rng.normal(size=(2, n))
    return Dataset.from_frame(pd.DataFrame({"x": a + 0.5 * np.exp(spread * a) * e, "a": a}))


def test_noise_that_depends_on_the_parents_is_not_charged_to_them():
    options = {**OPTIONS, "response_scaling": "levels"}

    def gained(data):
        even, local = (LearnedKernelScore(data, noise=noise, **options) for noise in ("even", "local"))
        return local.local_score("x", ["a"]) - even.local_score("x", ["a"])

    assert -0.1 <= gained(uneven(0.0)) < 3.0
    assert gained(uneven(1.0)) > 15.0


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_a_noise_of_its_own_is_taken_where_it_gains_more_than_its_price(spread):
    data = uneven(spread)
    options = {**OPTIONS, "response_scaling": "levels"}
    even, free = (LearnedKernelScore(data, noise=noise, **options).fit("x", ["a"]) for noise in ("even", "local"))
    at_a_price = LearnedKernelScore(data, noise="local", evidence="bic", **options).fit("x", ["a"])
    parameter = 0.5 * math.log(data.n_rows)
    gain = max(free.value - even.value - parameter, 0.0)
    assert (gain > 0) == (spread > 0)
    assert at_a_price.value == pytest.approx(even.value + gain - parameter, abs=1e-4)
    assert at_a_price.complexity == pytest.approx(parameter * (2 if gain else 1))


def test_rows_that_are_never_off_are_all_as_steady():
    at, zeros = np.arange(50.0)[:, None], np.zeros(50)
    once = np.ones((50, 1))
    count = left_out.neighbours(50)
    steadiness = left_out._steadiness(at, once, np.arange(50), zeros, np.zeros(50, dtype=np.int64))
    np.testing.assert_allclose(steadiness, count + 1.0, rtol=0.1)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 3), st.integers(1, 40), st.integers(1, 60), st.booleans(), st.integers(1, 3), st.integers(0, 2**31)
)
def test_sums_about_a_place_are_of_all_that_are_as_near(dimensions, u, wanted, is_grid, most, seed):
    rng = np.random.default_rng(seed)
    drawn = rng.integers(-3, 4, size=(u, dimensions)).astype(float) if is_grid else rng.normal(size=(u, dimensions))
    at = np.unique(drawn, axis=0) * 0.7
    counts, errors = rng.integers(1, most + 1, size=len(at)).astype(float), rng.exponential(size=len(at))
    rows, summed = left_out._sums_about(at, counts, errors, wanted)
    for i, here in enumerate(at):
        distances = np.linalg.norm(at - here, axis=1).round(9)
        reach = next(d for d in np.unique(distances) if counts[distances <= d].sum() >= min(wanted, counts.sum()))
        assert rows[i] == counts[distances <= reach].sum()
        assert summed[i] == pytest.approx(errors[distances <= reach].sum())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"noise": "odd"}, "noise cannot be 'odd': choose even or local"),
        ({"noise": "local", "response_scaling": "rank"}, "noise=local is about the probability of levels"),
    ],
)
def test_noise_that_cannot_be(options, said):
    with pytest.raises(OptionError, match=said):
        LearnedKernelScore(Dataset.from_frame(table()), **{**OPTIONS, **options})


def test_some_of_many_rows_stand_for_all(monkeypatch):
    frame = table(600)
    at = Parameters(1.3, np.array([0.8]), 0.2)
    problem = Problem(points_of(frame, "x"), (points_of(frame, "a"),))
    every = log_probability(nearness(problem, at, [False]))
    monkeypatch.setattr(left_out, "MOST_ROWS", 300)
    some = nearness(problem, at, [False])
    assert some.counts.sum() == pytest.approx(600)
    assert log_probability(some) == pytest.approx(every, rel=0.2)


def test_a_value_that_is_left_out_with_others_is_no_matter(monkeypatch):
    frame = table(50).assign(x=0.0)
    frame.loc[::2, "x"] = 1.0
    frame.loc[1, "x"] = 2.0  # not among every seventh
    monkeypatch.setattr(left_out, "MOST_ROWS", 8)
    problem = Problem(points_of(frame, "x"), (points_of(frame, "a"),))
    value = log_probability(nearness(problem, Parameters(1.3, np.array([0.8]), 0.2), [False]))
    assert math.isfinite(value)
    assert value < 0


def test_many_values_are_as_good_as_continuous():
    frame = pd.DataFrame({"x": np.arange(120) % 60, "a": np.random.default_rng(0).normal(size=120)})
    data = Dataset.from_frame(frame, kinds={"x": "ordinal"})
    assert not LearnedKernelScore(data, **OPTIONS).fit("x", ["a"]).is_probability
    assert LearnedKernelScore(Dataset.from_frame(table()), **OPTIONS).fit("x", ["a"]).is_probability


def test_the_calibration_has_the_right_slope_and_is_the_maximum():
    rng = np.random.default_rng(3)
    shares, counted = rng.dirichlet(np.ones(4), size=(2, 30))
    counts, values = rng.integers(1, 5, size=30).astype(float), rng.integers(0, 4, size=30)
    rows = Nearness(counts, values, rng.normal(size=(30, 4)), shares, counted, rng.normal(size=(30, 4)))
    evidence = evidence_of(rows)
    at = np.concatenate([rng.normal(size=4), [0.7, 0.2, 0.4, 0.3]])
    for price in (0.0, 2.5):
        slope = approx_fprime(at, lambda p, price=price: _loss(p, rows, evidence, price)[0], 1e-7)
        np.testing.assert_allclose(_loss(at, rows, evidence, price)[1], slope, rtol=1e-4, atol=1e-4)
    bends = [approx_fprime(at, lambda p, i=i: _loss(p, rows, evidence)[1][i], 1e-7) for i in range(len(at))]
    np.testing.assert_allclose(_curvature(at, rows, evidence), bends, rtol=1e-4, atol=1e-4 + RIDGE)
    best = min(
        minimize(lambda p: _loss(p, rows, evidence)[0], start, bounds=[(None, None)] * 4 + [(0, None)] * 4).fun
        for start in rng.normal(size=(4, 8)) ** 2
    )
    assert log_probability(rows) == pytest.approx(-best, abs=1e-3)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 12), st.integers(3, 60), st.floats(0.01, 300.0))
def test_newton_finds_the_maximum_that_another_optimiser_finds(seed, v, r, size):
    # Evidence from next to nothing to what all but decides, temperatures that end at 0 and values that never occur.
    rng = np.random.default_rng(seed)
    shares, counted = rng.dirichlet(np.full(v, rng.choice([0.05, 1.0])), size=(2, r)) + 1e-12
    counts, values = rng.integers(1, 50, size=r).astype(float), rng.integers(0, v, size=r)
    near = rng.normal(size=(r, v)) * size
    near[np.arange(r), values] += size * rng.integers(-1, 3)
    near -= near.max(axis=1, keepdims=True)
    rows = Nearness(counts, values, near, shares, counted, near * rng.lognormal(size=(r, 1)))
    evidence, bounds = evidence_of(rows), [(None, None)] * v + [(0, None)] * 4
    other = minimize(
        _loss,
        np.r_[np.zeros(v), 0, 1, 0, 0],
        (rows, evidence),
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 2000, "maxfun": 5000, "ftol": 1e-14},
    )
    found = -log_probability(rows)
    assert found <= other.fun + 1e-3
    assert found >= min(other.fun, counts.sum() * entropy(points_of_counts(values, counts))) - 0.05 * counts.sum() / r


def points_of_counts(values, counts):
    return Points.of(np.repeat(values, counts.astype(int)).astype(float)[:, None])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(0, 3), min_size=6, max_size=30).filter(lambda x: len(set(x)) > 1),
    st.integers(0, 2**31),
    st.floats(0.05, 5.0),
    st.floats(0.01, 2.0),
)
def test_no_parents_are_worth_more_than_the_entropy(x, seed, bandwidth, noise):
    a = np.random.default_rng(seed).normal(size=len(x))
    response = Points.of(np.array(x, dtype=float)[:, None])
    at = Parameters(1.0, np.array([bandwidth]), noise)
    value = log_probability(nearness(Problem(response, (Points.of(a[:, None]),)), at, [False]))
    alone = log_probability(nearness(Problem(response, ()), Parameters(1.0, np.empty(0), noise), []))
    assert alone == pytest.approx(-len(x) * entropy(response), abs=1e-4)
    assert alone - 1e-6 <= value <= 0.0


def test_the_entropy_is_that_of_the_shares():
    assert entropy(Points.of(np.array([[0.0], [0.0], [1.0], [1.0]]))) == pytest.approx(math.log(2))
    assert entropy(Points.of(np.arange(50.0)[:, None])) == pytest.approx(math.log(50))
    assert entropy(Points.of(np.zeros((5, 1)))) == 0.0


@pytest.mark.parametrize("levels", [2, 3, 5])
def test_the_least_noise_is_that_of_no_parents_less_the_entropy(levels):
    data = Dataset.from_frame(table(200, levels=levels))
    fit = LearnedKernelScore(data).fit("x")
    points = data.points("x")
    fixed = fit.response_bandwidth if levels == 2 else None
    assert least_noise(points, fixed) == pytest.approx(fit.noise * math.exp(-entropy(points)), rel=0.02)


def test_values_that_never_repeat_keep_next_to_no_noise():
    rng = np.random.default_rng(0)
    assert least_noise(Points.of(rng.normal(size=(400, 1)))) < 0.001
    assert least_noise(Points.of(np.zeros((5, 1)))) == 0.0


def interpolated(n=200, seed=5):
    """Few rows differ from the rest, by chance; four variables have nothing to do with it."""
    rng = np.random.default_rng(seed)
    x = (rng.random(n) < 0.15).astype(float) * rng.integers(1, 4, size=n)
    return pd.DataFrame({"x": x, **{f"p{k}": rng.normal(size=n) for k in range(4)}})


@pytest.mark.parametrize("parents", [["a", "b"], ["a"], []])
def test_counts_are_overrated_by_what_rows_left_out_gain_over_rows_in_turn(parents):
    frame = table(90, is_coarse=True)
    problem = Problem(points_of(frame, "x"), tuple(points_of(frame, name) for name in parents))
    found = nearness(problem, Parameters(1.3, np.ones(len(parents)), 0.2), [True] * len(parents))
    everywhere = frame["x"].value_counts(normalize=True)

    def above(groups):
        """Log probability of rows left out of their group, less that of rows predicted from those before them."""
        left_out = in_turn = 0.0
        for _, x in frame["x"].groupby(groups):
            for i in range(len(x)):
                prior = everywhere[x.iloc[i]]
                left_out += math.log(((x == x.iloc[i]).sum() - 1 + prior) / len(x))
                in_turn += math.log(((x.iloc[:i] == x.iloc[i]).sum() + prior) / (i + 1))
        return left_out - in_turn

    one = np.zeros(len(frame))
    groups = [frame[name] for name in parents] or one
    assert found.overrated == pytest.approx(above(groups) - above(one), abs=1e-9)
    assert (found.overrated > 1.0) == bool(parents)


def test_only_discrete_parents_are_counted():
    frame = table(90)
    problem = Problem(points_of(frame, "x"), (points_of(frame, "a"),))
    at = Parameters(1.3, np.ones(1), 0.2)
    assert nearness(problem, at, [False]).overrated == 0.0
    assert nearness(problem, at, [True]).overrated == pytest.approx(0.0)  # nothing is counted twice


@pytest.mark.parametrize("price", [0.0, 2.0, 8.0, 1000.0])
def test_counting_is_charged_for_by_the_part_it_has(price):
    frame = table(200, is_coarse=True)
    problem = Problem(points_of(frame, "x"), (points_of(frame, "a"),))
    rows = nearness(problem, Parameters(1.3, np.array([1000.0]), 0.9), [True])
    evidence = np.stack([np.log(rows.counted), np.log(rows.shares), rows.near])
    parts = np.linspace(0.0, 2.0, 201)
    bounds = [(None, None)] * 3 + [(0, None)] * 2

    def least(part):
        """The loss with that part of counting, whatever it costs."""
        return minimize(lambda p: _loss(np.insert(p, 3, part), rows, evidence)[0], [0, 0, 0, 1, 0], bounds=bounds).fun

    slowly = np.array([least(part) for part in parts]) + price * parts
    found = probability_of(rows, of_counting=price)
    assert found.log == pytest.approx(-slowly.min(), abs=0.01)
    assert found.price == pytest.approx(price * parts[slowly.argmin()], abs=0.05 * max(price, 1.0))
    assert (found.price > 0.1) == (price in (2.0, 8.0))


def test_counts_that_differ_by_chance_are_no_evidence():
    # Given its two parents, Jnk is independent of Erk, but not by far: chi-squared, p = 0.001.
    data = Dataset.from_frame(pd.read_csv(SACHS))
    both, three = ["PKA", "PKC"], ["PKA", "PKC", "Erk"]

    def gained(**options):
        score = LearnedKernelScore(data, kernel="auto", **OPTIONS, **options)
        return score.local_score("Jnk", three) - score.local_score("Jnk", both)

    assert gained() > 4.0
    assert gained(evidence="bic") < -4.0


def test_what_cannot_be_known_gains_nothing():
    data = Dataset.from_frame(interpolated(), kinds={"x": "ordinal"})
    names = ["p0", "p1", "p2", "p3"]
    score = LearnedKernelScore(data, kernel="auto", evidence="bic", **OPTIONS)
    assert score.local_score("x", names) < score.local_score("x")
    assert score.fit("x", names).noise >= least_noise(data.points("x")) * 0.999


def test_copies_of_rows_say_nothing_of_others():
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"x": rng.integers(0, 4, size=60), "a": rng.normal(size=60), "c": rng.integers(0, 3, size=60)})
    twice = pd.concat([frame, frame[:12]])
    for parents in (["a"], ["a", "c"]):
        score = LearnedKernelScore(Dataset.from_frame(twice), evidence="bic", **OPTIONS)
        assert score.local_score("x", parents) < score.local_score("x")


def test_rows_alike_in_discrete_parents_count_beside_continuous_ones():
    frame = table(80, is_coarse=True).assign(z=np.random.default_rng(1).normal(size=80))
    at = Parameters(1.3, np.array([0.8, 1.0]), 0.2)
    x, a, z = (points_of(frame, name) for name in "xaz")
    both = nearness(Problem(x, (a, z)), at, [True, False])
    alone = nearness(Problem(x, (a,)), Parameters(1.3, np.array([0.8]), 0.2), [True])
    shown = {tuple(row) for row in np.round(both.counted, 9)}
    assert shown == {tuple(row) for row in np.round(alone.counted, 9)}


def test_what_pivots_lack_is_said(monkeypatch):
    monkeypatch.setattr(left_out, "WRITTEN_OUT", 0)
    monkeypatch.setattr(left_out, "EXACT_ROWS", 0)
    monkeypatch.setattr(left_out, "MOST_PIVOTS", 5)
    frame = table(200)
    data = Dataset.from_frame(frame, kinds={"x": "ordinal"})
    fit = LearnedKernelScore(data, parent_bounds=(0.05, 0.06), **OPTIONS).fit("x", ["a"])
    assert not fit.certified
    assert fit.error_bound > 0.1


def test_a_part_of_the_rows_is_judged_as_the_whole():
    frame = pd.DataFrame({"x": np.arange(120) % 60, "a": np.random.default_rng(0).normal(size=120)})
    data = Dataset.from_frame(frame, kinds={"x": "ordinal"})
    half = LearnedKernelScore(data.sampled(np.random.default_rng(1)), **OPTIONS)
    assert not half.fit("x", ["a"]).is_probability


def test_a_true_parent_gains_and_no_more_than_the_entropy():
    frame = table(150, levels=4)
    data = Dataset.from_frame(frame, kinds={"x": "ordinal"})
    score = LearnedKernelScore(data, **OPTIONS)
    alone = score.local_score("x")
    assert alone == pytest.approx(-len(frame) * entropy(data.points("x")), abs=1e-3)
    assert 20 < score.local_score("x", ["a"]) - alone <= -alone


def test_directions_between_discrete_variables_are_worth_the_same():
    # P(x) P(y | x) = P(y) P(x | y): with many rows of few values, neither way may be preferred by much.
    rng = np.random.default_rng(2)
    x = rng.choice(3, size=2000, p=[0.7, 0.2, 0.1])
    y = np.where(rng.random(2000) < 0.6, (x * 2 + 1) % 4, rng.choice(4, size=2000, p=[0.1, 0.2, 0.3, 0.4]))
    data = Dataset.from_frame(pd.DataFrame({"x": x, "y": y}), kinds={"x": "ordinal", "y": "ordinal"})
    score, plain = LearnedKernelScore(data, **OPTIONS), LearnedKernelScore(data)
    gains = [[s.local_score(a, [b]) - s.local_score(a) for a, b in ("xy", "yx")] for s in (score, plain)]
    assert abs(gains[0][0] - gains[0][1]) < 5
    assert abs(gains[1][0] - gains[1][1]) > 50  # the density does
    table = pd.crosstab(x, y).to_numpy() / 2000
    information = 2000 * np.sum(table * np.log(table / np.outer(table.sum(axis=1), table.sum(axis=0))))
    assert gains[0][0] == pytest.approx(information, rel=0.05)


def test_continuous_responses_are_as_before():
    data = Dataset.from_frame(table(80))
    plain = LearnedKernelScore(data, response_scaling="rank").fit("a", ["b"])
    other = LearnedKernelScore(data, **OPTIONS).fit("a", ["b"])
    assert other.value == pytest.approx(plain.value, abs=0.05)


@pytest.mark.parametrize("option", ["noise_floor", "discrete", "response_scaling"])
def test_unknown_choices_are_refused(option):
    with pytest.raises(OptionError, match=option):
        LearnedKernelScore(Dataset.from_frame(table()), **{option: "cubic"})


def test_only_responses_are_on_a_scale_of_their_own():
    frame = table(100)
    bent = frame.assign(a=np.exp(frame["a"]))
    one, two = (LearnedKernelScore(Dataset.from_frame(f), response_scaling="rank") for f in (frame, bent))
    # As a response any increasing function of a is the same; as a parent it is not.
    assert one.local_score("a", ["b"]) == pytest.approx(two.local_score("a", ["b"]), abs=1e-4)
    assert abs(one.local_score("b", ["a"]) - two.local_score("b", ["a"])) > 1e-3
    data = Dataset.from_frame(frame)
    assert np.array_equal(one.data.points("a").values, data.points("a").values)
    assert np.array_equal(one.data.response("a").values, data.seen("rank").points("a").values)
    half = one.data.thinned(30)
    assert half.response("a").values.shape == (30, 1)


def test_gaps_and_halves_keep_the_scale():
    frame = table(80)
    frame.loc[::7, "b"] = np.nan
    data = Dataset.from_frame(frame, missing="testwise")
    score = LearnedKernelScore(data, **OPTIONS)
    part = score.restricted_to({"a", "b"})
    assert np.isin(part.data.response("a").values, score.data.response("a").values).all()
    assert score.local_score("a", ["b"]) == pytest.approx(part.local_score("a", ["b"]), abs=0.02)


def test_halves_know_the_categories_of_the_whole():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"t": ["rare", *rng.choice(["a", "b", "c"], size=79)], "y": rng.normal(size=80)})
    frame["z"] = frame["y"] + (frame["t"] == "a") + 0.1 * rng.normal(size=80)
    found = discover(frame, preset="adaptive", search="exact", confidence=4, workers=1)
    assert found.confidence is not None
    assert found.confidence.replicates == 4


def test_the_share_explained_is_that_of_the_response_as_it_is_seen():
    rng = np.random.default_rng(5)
    x = rng.normal(size=150)
    frame = pd.DataFrame({"x": x, "y": x + 0.3 * rng.normal(size=150)})
    shares = []
    for table_seen in (frame, frame.assign(y=np.exp(2.5 * frame["y"]))):
        found = discover(table_seen, preset="adaptive", workers=1)
        shares.append(found.explain("x", "y").explained)
    assert shares[0] == pytest.approx(shares[1], abs=1e-3)


def test_a_response_of_one_value_after_scaling_is_nothing_to_explain():
    rng = np.random.default_rng(6)
    y = rng.normal(size=100)
    y[:10] = [50, 60, 70, 80, 90, 100, 110, 120, 130, 140]
    frame = pd.DataFrame({"y": y, "a": rng.normal(size=100)})
    frame.loc[10:, "a"] = np.nan
    data = Dataset.from_frame(frame, missing="testwise")
    assert LearnedKernelScore(data, response_scaling="robust").fit("y", ["a"]).value == 0.0


def test_the_preset_is_of_one_score():
    with pytest.raises(OptionError, match="preset adaptive means score learned, not gp"):
        discover(table(), preset="adaptive", score="gp")


def test_newton_goes_on_where_bounds_leave_little_of_a_step():
    for seed in range(30):
        rng = np.random.default_rng(seed)
        v, r = 4, 40
        shares, counted = rng.dirichlet(np.full(v, 0.02), size=(2, r)) + 1e-30
        values = rng.integers(0, v, size=r)
        rows = Nearness(
            rng.integers(1, 1000, size=r).astype(float), values, 1e3 * rng.normal(size=(r, v)), shares, counted
        )
        rows.near[:] -= rows.near.max(axis=1, keepdims=True)
        evidence, bounds = evidence_of(rows), [(None, None)] * v + [(0, None)] * 4
        start, options = np.r_[np.zeros(v), 0, 1, 0, 0], {"maxiter": 5000, "maxfun": 20000, "ftol": 1e-15}
        other = minimize(_loss, start, (rows, evidence), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        assert -log_probability(rows) <= other.fun * (1 + 1e-6) + 0.05
