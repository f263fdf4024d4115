"""The line engine: kernels along one coordinate on evenly spaced points, against everything written out."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerncause import Dataset, LearnedKernelScore
from kerncause.data import Points
from kerncause.kernels import DIRECTION, ELLIPSOID
from kerncause.regression import Parameters, Problem, choose_engine, make_engine, values_at
from kerncause.regression.dense import DenseEngine
from kerncause.regression.line import GRIDS, LineEngine
from kerncause.regression.lowrank import LowRankEngine


def problem_of(n=80, columns=3, seed=0, shape=DIRECTION, weights=None):
    rng = np.random.default_rng(seed)
    P = rng.normal(size=(n, columns))
    x = np.sin(P.sum(axis=1)) + 0.3 * rng.normal(size=n)
    parents = tuple(Points.of(P[:, [j]], weights) for j in range(columns))
    return Problem(Points.of(x[:, None], weights), parents, shape=shape)


def about(value):
    """An ascent may err by a few times its tolerance; far from any fit values are huge, and so are errors."""
    return pytest.approx(value, abs=0.1, rel=1e-3)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**31),
    st.integers(40, 150),
    st.integers(1, 4),
    st.floats(0.3, 3.0),
    st.floats(0.02, 1.0),
    st.floats(0.0, 1.2),
)
def test_the_likelihood_is_that_of_the_kernels_written_out(seed, n, columns, s_x, noise, size):
    problem = problem_of(n, columns, seed)
    at = Parameters(s_x, size * np.random.default_rng(seed).normal(size=columns), noise)
    made = LineEngine.of(problem, at, 0.01)
    exact = DenseEngine(problem).evaluate(at)
    assert made.evaluate(at).value / n == about(exact.value / n)
    if isinstance(made, LineEngine):
        assert made.evaluate(at).excess == 0.0
        assert made.adapted(at) is made


@pytest.mark.parametrize("shape", [DIRECTION, ELLIPSOID])
@pytest.mark.parametrize("counted", [False, True])
def test_gradients_are_central_differences(shape, counted):
    weights = np.random.default_rng(1).integers(1, 4, size=80) if counted else None
    columns = 1 if shape is ELLIPSOID else 3
    problem = problem_of(columns=columns, shape=shape, weights=weights)
    at = np.array([1.2, *([0.7, -0.4, 0.9][:columns]), 0.3])
    # Of a direction the weights themselves are moved, of everything else the logarithm.
    is_log = np.array([True, *[shape is ELLIPSOID] * columns, True])
    engine = LineEngine.of(problem, Parameters(at[0], at[1:-1], at[-1]), 1e-4)
    assert isinstance(engine, LineEngine)

    def value(theta):
        return engine.evaluate(Parameters(theta[0], theta[1:-1], theta[-1])).value

    found = engine.evaluate(Parameters(at[0], at[1:-1], at[-1]))
    for i, slope in enumerate([found.response_bandwidth, *found.parents, found.noise]):
        h = 1e-5 * np.eye(len(at))[i]
        up, down = (np.where(is_log, at * np.exp(step), at + step) for step in (h, -h))
        assert slope == pytest.approx((value(up) - value(down)) / 2e-5, rel=1e-4, abs=1e-2)


def test_counted_rows_are_rows():
    counts = np.random.default_rng(1).integers(1, 4, size=80)
    counted = problem_of(weights=counts)
    at = Parameters(1.1, np.array([0.5, 0.4, -0.3]), 0.3)
    one, other = (LineEngine.of(problem, at, 1e-4).evaluate(at).value for problem in (counted, counted.repeated()))
    assert one == pytest.approx(other, rel=1e-6)


def test_places_are_compared_by_the_same_numbers():
    problem = problem_of()
    places = [
        Parameters(s_x, scale * np.array([0.5, 0.4, -0.3]), noise)
        for s_x in (0.8, 1.5)
        for scale in (1.0, 0.3)
        for noise in (0.1, 0.4)
    ]
    engine = LineEngine.of(problem, places[0], 0.01)
    assert isinstance(engine, LineEngine)
    assert values_at(engine, places) == pytest.approx([engine.evaluate(place).value for place in places], rel=1e-12)
    dense = DenseEngine(problem)
    assert values_at(dense, places[:2]) == [dense.evaluate(place).value for place in places[:2]]


def test_finer_grids_are_taken_where_the_noise_is_small():
    problem = problem_of(200)
    w = np.array([0.5, 0.4, -0.3])
    loud, quiet = Parameters(1.0, w, 0.5), Parameters(1.0, w, 0.01)
    engine = LineEngine.of(problem, loud, 0.01)
    assert engine.evaluate(quiet).excess > 0.0
    finer = engine.adapted(quiet)
    assert GRIDS.index(finer.response_grid) > GRIDS.index(engine.response_grid)
    assert GRIDS.index(finer.parent_grid) > GRIDS.index(engine.parent_grid)
    exact = DenseEngine(problem).evaluate(quiet).value
    assert finer.evaluate(quiet).value / 200 == about(exact / 200)


def test_where_there_is_no_line_or_a_long_one_the_low_rank_engine_takes_over(monkeypatch):
    at = Parameters(1.0, np.array([0.5, 0.4, -0.3]), 0.3)
    assert isinstance(LineEngine.of(problem_of(200), at, 0.01), LineEngine)
    flat = Parameters(1.0, np.full(3, 5.0), 0.3)
    assert isinstance(LineEngine.of(problem_of(200, shape=ELLIPSOID), flat, 0.01), LowRankEngine)
    far = Parameters(1.0, 20.0 * at.parents, 0.3)
    line = LineEngine.of(problem_of(200), at, 0.01)
    assert not isinstance(line.adapted(far), LineEngine)
    pair = Points.of(np.random.default_rng(0).normal(size=(200, 2)))
    vector = Problem(pair, problem_of(200).parents, shape=DIRECTION)
    assert not isinstance(LineEngine.of(vector, at, 0.01), LineEngine)
    monkeypatch.setattr("kerncause.regression.line.MOST_ROWS", 100)
    assert isinstance(LineEngine.of(problem_of(200), at, 0.01), LowRankEngine)
    assert choose_engine(problem_of(200), "auto", at, 0.01) != "line"


def test_auto_takes_it_for_directions_and_reports_the_exact_value():
    problem = problem_of(300)
    at = Parameters(1.0, np.array([0.5, 0.4, -0.3]), 0.3)
    assert choose_engine(problem, "auto", at, 0.01) == "line"
    engine = make_engine(problem, "line", at, 0.01)
    value, bound = engine.certified(at)
    assert abs(value - DenseEngine(problem).evaluate(at).value) <= bound + 1e-6
    np.testing.assert_allclose(engine.residuals(at), DenseEngine(problem).residuals(at), atol=1e-6)


def test_fits_are_those_of_the_dense_engine():
    rng = np.random.default_rng(3)
    P = rng.normal(size=(120, 2))
    frame = pd.DataFrame({"x": np.tanh(P.sum(axis=1)) + 0.3 * rng.normal(size=120), "a": P[:, 0], "b": P[:, 1]})
    data = Dataset.from_frame(frame)
    for kernel, parents in (("direction", ["a", "b"]), ("gaussian", ["a"])):
        line, dense = (LearnedKernelScore(data, engine=engine, kernel=kernel) for engine in ("line", "dense"))
        assert line.fit("x", parents).engine == "line"
        assert line.local_score("x", parents) == pytest.approx(dense.local_score("x", parents), abs=0.03)


@pytest.mark.parametrize("far", [1e3, 1e6, 1e12])
def test_an_outlier_does_not_make_a_line_of_its_length(far):
    rng = np.random.default_rng(0)
    a = rng.normal(size=150)
    frame = pd.DataFrame({"x": a + 0.3 * rng.normal(size=150), "a": a})
    frame.loc[0, "x"] = far
    data = Dataset.from_frame(frame)
    for engine in ("auto", "line"):
        fit = LearnedKernelScore(data, engine=engine).fit("x", ["a"])
        assert fit.value == pytest.approx(LearnedKernelScore(data, engine="lowrank").local_score("x", ["a"]), abs=0.1)
        reversed_fit = LearnedKernelScore(data, engine=engine).fit("a", ["x"])
        assert np.isfinite(reversed_fit.value)
    problem = Problem(data.points("x"), (data.points("a"),))
    near, short = Parameters(5.0, np.array([0.5]), 0.3), Parameters(1e-6, np.array([0.5]), 0.3)
    assert not isinstance(LineEngine.of(problem, short, 0.01), LineEngine)
    engine = LineEngine.of(problem, near, 0.01)
    if isinstance(engine, LineEngine):
        assert not isinstance(engine.adapted(short), LineEngine)
        assert engine.evaluate(short).value == pytest.approx(DenseEngine(problem).evaluate(short).value, rel=1e-3)
        assert values_at(engine, [short])[0] == engine.evaluate(short).value
