"""Kernels of other profiles: their slopes, every engine against the literal formula, and their Jacobian terms."""

import math

import numpy as np
import pandas as pd
import pytest

from kerncause import Dataset, LearnedKernelScore, OptionError
from kerncause.data import Points
from kerncause.explain.model import FittedModel
from kerncause.kernels import PROFILES, Ellipsoid, JacobianTerm, PairwiseJacobian
from kerncause.kernels.jacobian import MOST_DISTANCES
from kerncause.kernels.profile import LONGER
from kerncause.regression import ENGINES, KernelResponse, Parameters, Problem

NAMES = list(PROFILES)
LITERAL = {
    "gaussian": lambda r: np.exp(-(r**2) / 2),
    "matern32": lambda r: (1 + math.sqrt(3) * r) * np.exp(-math.sqrt(3) * r),
    "matern52": lambda r: (1 + math.sqrt(5) * r + 5 * r**2 / 3) * np.exp(-math.sqrt(5) * r),
    "rational-quadratic": lambda r: 1 / (1 + r**2 / 2),
    "linear-gaussian": lambda r: (np.exp(-(r**2) / 2) + np.exp(-(r**2) / 200)) / 2,
}


def frame(n=70, seed=0, is_discrete=False):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    x = np.abs(a) + 0.5 * b + 0.3 * rng.normal(size=n)
    table = pd.DataFrame({"x": x, "a": a, "b": b})
    return table.round() if is_discrete else table


@pytest.mark.parametrize("name", NAMES)
def test_values_and_slopes_are_what_they_say(name):
    t = np.linspace(1e-3, 30, 200)
    profile, h = PROFILES[name], 1e-6
    value, slope = profile.both(t.copy())
    np.testing.assert_allclose(value, LITERAL[name](np.sqrt(t)))
    np.testing.assert_allclose(profile.value(t.copy()), value)
    difference = (profile.value(t + h) - profile.value(t - h)) / (2 * h)
    np.testing.assert_allclose(slope, -2 * difference, rtol=1e-5, atol=1e-9)
    logs, by_log = profile.log_slope(t.copy())
    np.testing.assert_allclose(logs, np.log(slope), rtol=1e-9, atol=1e-12)
    step = np.exp(1e-6)
    moved = (profile.log_slope(t * step)[0] - profile.log_slope(t / step)[0]) / 2e-6
    np.testing.assert_allclose(by_log, moved, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("engine", list(ENGINES))
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_discrete", [False, True])
def test_every_engine_has_the_likelihood_of_every_profile_and_its_slopes(engine, name, is_discrete):
    data = Dataset.from_frame(frame(is_discrete=is_discrete), kinds=dict.fromkeys("xab", "continuous"))
    profile, (x, a, b) = PROFILES[name], (data.points(v).values[:, 0] for v in "xab")
    parents = (data.points("a"), data.points("b"))
    problem = Problem(data.points("x"), parents, KernelResponse(profile), shape=Ellipsoid(profile))
    theta = np.log([1.2, 0.9, 1.7, 0.4])

    def parameters(logs):
        s = np.exp(logs)
        return Parameters(s[0], s[1:3], s[3])

    made = ENGINES[engine].of(problem, parameters(theta), 1e-7)
    n = len(x)
    K_X = LITERAL[name](np.abs(x[:, None] - x[None]) / 1.2)
    r = np.sqrt(((a[:, None] - a[None]) / 0.9) ** 2 + ((b[:, None] - b[None]) / 1.7) ** 2)
    K_t = LITERAL[name](r) + 0.16 * np.eye(n)
    quadratic = np.trace(K_X @ np.linalg.solve(K_t, K_X))
    literal = -0.5 * quadratic - 0.5 * n * np.linalg.slogdet(K_t)[1] - 0.5 * n * n * math.log(2 * math.pi)
    found = made.evaluate(parameters(theta))
    assert found.value == pytest.approx(literal, rel=1e-6)
    slopes = [found.response_bandwidth, *found.parents, found.noise]
    for k in range(4):
        h = 1e-5 * np.eye(4)[k]
        up, down = (made.evaluate(parameters(theta + step)).value for step in (h, -h))
        assert slopes[k] == pytest.approx((up - down) / 2e-5, rel=1e-3, abs=1e-4 * np.abs(slopes).max())


def literal_jacobian(x, name, s):
    """The sum over pairs at a distance of log|dk/dd|, by differences of k itself, without the sum of log d."""
    d = np.abs(x[:, None] - x[None])
    d = d[d > 0]
    h = 1e-6
    slopes = np.abs(LITERAL[name]((d + h) / s) - LITERAL[name]((d - h) / s)) / (2 * h)
    return np.sum(np.log(slopes) - np.log(d))


@pytest.mark.parametrize("name", NAMES)
def test_the_jacobian_term_is_the_literal_sum(name):
    x = np.random.default_rng(1).normal(size=40)
    points = Points.of(x[:, None])
    for s in (0.5, 1.3, 4.0):
        term = PairwiseJacobian.of(points, PROFILES[name], tie_weight=False)
        assert term.value(s) == pytest.approx(literal_jacobian(x, name, s), rel=1e-4)
        h = 1e-6
        difference = (term.value(s * math.exp(h)) - term.value(s * math.exp(-h))) / (2 * h)
        assert term.gradient(s) == pytest.approx(difference, rel=1e-5)


@pytest.mark.parametrize("tie_weight", [False, True])
def test_the_gaussian_term_is_a_special_case(tie_weight):
    for x in (np.random.default_rng(2).normal(size=50), np.random.default_rng(3).integers(0, 4, size=50) * 1.0):
        points = Points.of(x[:, None])
        closed = JacobianTerm.of(points, tie_weight)
        summed = PairwiseJacobian.of(points, PROFILES["gaussian"], tie_weight)
        assert summed.value(1.1) == pytest.approx(closed.value(1.1))
        assert summed.gradient(1.1) == pytest.approx(closed.gradient(1.1))


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("draw", ["normal", "cauchy", "rounded"])
def test_many_distances_are_counted_on_a_grid(name, draw):
    rng = np.random.default_rng(4)
    n = 2 * MOST_DISTANCES
    x = {"normal": rng.normal(size=n), "cauchy": rng.standard_cauchy(n), "rounded": rng.normal(size=n).round(3)}[draw]
    x = (x - x.mean()) / x.std()
    points = Points.of(x[:, None])
    d = np.abs(x[:, None] - x[None])
    d = d[d > 0]
    for s in (0.3, 1.0, 3.0):
        logs, slopes = PROFILES[name].log_slope((d / s) ** 2)
        term = PairwiseJacobian.of(points, PROFILES[name], tie_weight=False)
        # Of what J adds a pair, which decides where the bandwidth ends.
        assert term.value(s) / len(d) == pytest.approx(logs.mean() - 2 * math.log(s), abs=2e-3)
        assert term.gradient(s) / len(d) == pytest.approx(-2 * slopes.mean() - 2, abs=2e-3)


@pytest.mark.parametrize("name", NAMES[1:])
def test_scores_with_other_kernels_find_a_parent_and_explain_it(name):
    data = Dataset.from_frame(frame(150))
    score = LearnedKernelScore(data, kernel=name, response_kernel=name)
    fit = score.fit("x", ["a"])
    assert fit.kernel == name
    assert fit.value > score.local_score("x") + 15
    assert score.evaluate("x", ["a"], fit)[0] == pytest.approx(fit.value, abs=0.02)
    dense = LearnedKernelScore(data, kernel=name, response_kernel=name, engine="dense")
    assert dense.fit("x", ["a"]).value == pytest.approx(fit.value, abs=0.05)
    model = FittedModel.of(data, "x", LearnedKernelScore(data, kernel=name).fit("x", ["a", "b"]))
    assert 0.2 < model.share_explained() < 1
    P = [model.data.points(v).values[:, 0] / model.fit.bandwidths[v] for v in "ab"]
    moved = (0.7 / model.fit.bandwidths["a"] - P[0][None]) ** 2 + (P[1][:, None] - P[1][None]) ** 2
    np.testing.assert_allclose(model._averaged("a", np.array([[0.7]]))[0], LITERAL[name](np.sqrt(moved)).mean(axis=0))


def test_unknown_response_kernels_are_refused():
    with pytest.raises(OptionError, match="there is no response_kernel 'cubic'"):
        LearnedKernelScore(Dataset.from_frame(frame()), response_kernel="cubic")


def test_the_long_part_of_linear_plus_gaussian_has_straight_lines():
    p = np.linspace(-3, 3, 61)
    long = np.exp(-((p[:, None] - p) ** 2) / (2 * LONGER**2))
    values, vectors = np.linalg.eigh(long)
    # Next to a constant the kernel has a straight line, and little beside: a hundredth of the line's variance.
    line = vectors[:, -2]
    assert abs(np.corrcoef(line, p)[0, 1]) > 0.999
    assert values[-3] < 0.03 * values[-2]


def test_linear_plus_gaussian_takes_a_line_with_a_wave():
    rng = np.random.default_rng(4)
    a = rng.normal(size=150)
    table = pd.DataFrame({"x": 2 * a + 0.7 * np.sin(6 * a) + 0.2 * rng.normal(size=150), "a": a})
    data = Dataset.from_frame(table)
    both, one = (LearnedKernelScore(data, kernel=kernel) for kernel in ("linear-gaussian", "gaussian"))
    assert both.local_score("x", ["a"]) > one.local_score("x", ["a"]) + 1.0
