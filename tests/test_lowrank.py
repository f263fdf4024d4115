"""The low-rank engine against the dense one: value, gradient, certificate, and what it must never do."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from kerncause import Dataset, LearnedKernelScore, OptionError
from kerncause.kernels import DIRECTION
from kerncause.linalg import pivoted_cholesky, pivots_of_matrix
from kerncause.regression import Parameters, Problem, choose_engine, make_engine
from kerncause.regression.broad import BroadEngine
from kerncause.regression.dense import DenseEngine
from kerncause.regression.lowrank import LowRankEngine
from kerncause.regression.semidense import SemidenseEngine
from kerncause.regression.sides import inputs_of
from kerncause.scores import Comparison, Ledger


def table(seed, kind="smooth", n=None, k=None):
    """Tables of several hard sorts, with the response first."""
    rng = np.random.default_rng([seed, 77])
    n = n or int(rng.integers(30, 120))
    k = int(rng.integers(0, 4)) if k is None else k
    a = rng.normal(size=(n, k + 1))
    if kind == "heavy tails":
        a = rng.standard_t(1.2, size=(n, k + 1))
    elif kind == "discrete":
        a = np.round(2 * a) / 2
    elif kind == "collinear" and k > 1:
        a[:, 1] = a[:, 0] + 1e-3 * rng.normal(size=n)
    y = np.sin(2 * a.sum(axis=1)) + rng.choice([0.01, 0.3, 1.0]) * rng.normal(size=n)
    if kind == "duplicated":
        half = n // 2
        a[half : 2 * half], y[half : 2 * half] = a[:half], y[:half]
    columns = np.column_stack([y, a])
    return Dataset.from_array(columns, kinds={f"x{j + 1}": "continuous" for j in range(columns.shape[1])}), k


def problem_of(data, k):
    return Problem(data.points("x1"), tuple(data.points(f"x{j + 2}") for j in range(k)))


def parameters(rng, k, least_noise=0.01):
    noise = np.exp(rng.uniform(np.log(least_noise), np.log(2)))
    return Parameters(np.exp(rng.uniform(-1, 1.5)), np.exp(rng.uniform(-1.5, 2.3, size=k)), noise)


def engine_with(problem, at, m, r):
    response, parents = inputs_of(problem)
    rows = parents.pivots(at.parents, 1e-12, m).rows
    of_x = response.pivots(np.array([at.response_bandwidth]), 1e-12, r).rows
    return LowRankEngine(problem, 0.01, response, parents, of_x, rows)


def semidense_with(problem, at, r):
    response, parents = inputs_of(problem, np.arange(problem.n))
    return SemidenseEngine(
        problem, 0.01, response, parents, response.pivots(np.array([at.response_bandwidth]), 1e-12, r).rows
    )


def broad_with(problem, at, m):
    _, parents = inputs_of(problem, np.arange(problem.n))
    rows = parents.pivots(at.parents, 1e-12, m).rows
    return BroadEngine(problem, 0.01, problem.model.grouped(problem.response), parents, rows)


KINDS = ["smooth", "heavy tails", "discrete", "collinear", "duplicated"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_true_error_is_below_the_bound(kind):
    """Ranks far too small as well as large enough, noise down to 0.01: 80 cases of each sort."""
    informative = 0
    for seed in range(80):
        rng = np.random.default_rng([seed, 5])
        data, k = table(seed, kind)
        problem, at = problem_of(data, k), parameters(rng, k)
        m, r = int(rng.integers(1, 30)), int(rng.integers(3, 25))
        value, bound = engine_with(problem, at, m + max(1, m // 2), r)._bounded(at, m)
        exact = DenseEngine(problem).evaluate(at).value
        rounding = 1e-9 * abs(exact)
        assert abs(value - exact) <= bound + rounding
        informative += 1e-6 < bound / problem.n < 1.0
    assert informative > 10, "bounds were never put to the test"


@pytest.mark.parametrize("kind", KINDS)
def test_the_true_error_of_a_projected_response_is_below_its_bound(kind):
    informative = 0
    for seed in range(40):
        rng = np.random.default_rng([seed, 6])
        data, k = table(seed, kind)
        problem, at = problem_of(data, k), parameters(rng, k)
        engine = semidense_with(problem, at, int(rng.integers(2, 14)))
        value, bound = engine._bounded(at, engine._factored(at)[1])
        exact = DenseEngine(problem).evaluate(at).value
        assert abs(value - exact) <= bound + 1e-9 * abs(exact)
        informative += 1e-6 < bound / problem.n < 1.0
    assert informative > 5, "bounds were never put to the test"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("k", [0, 1, 3])
def test_the_gradient_is_the_central_difference(kind, k):
    data, _ = table(3, kind, n=70, k=k)
    problem = problem_of(data, k)
    at = Parameters(1.3, np.linspace(0.8, 2.0, k), 0.4)
    for engine in (engine_with(problem, at, 12, 8), semidense_with(problem, at, 8), broad_with(problem, at, 12)):
        assert_gradient(engine, at)


def assert_gradient(engine, at):
    found = engine.evaluate(at)
    theta = np.log([at.response_bandwidth, *at.parents, at.noise])

    def value(log_parameters):
        s = np.exp(log_parameters)
        return engine.evaluate(Parameters(s[0], s[1:-1], s[-1])).value

    h = 1e-5
    numeric = [(value(theta + h * e) - value(theta - h * e)) / (2 * h) for e in np.eye(len(theta))]
    analytic = [found.response_bandwidth, *found.parents, found.noise]
    np.testing.assert_allclose(analytic, numeric, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_with_enough_pivots_it_is_the_dense_engine(kind):
    for seed in range(6):
        data, k = table(seed, kind, n=60)
        problem, at = problem_of(data, k), parameters(np.random.default_rng(seed), k, least_noise=0.1)
        exact = DenseEngine(problem).evaluate(at).value
        assert engine_with(problem, at, 60, 60)._bounded(at, 40)[0] == pytest.approx(exact, rel=1e-6)
        assert semidense_with(problem, at, 60).evaluate(at).value == pytest.approx(exact, rel=1e-6)
        assert broad_with(problem, at, 60).evaluate(at).value == pytest.approx(exact, rel=1e-6)


def vectors(n=300, seed=0):
    """A vector of five columns that follows one direction of three variables."""
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(n, 3))
    x = np.sin(a.sum(axis=1))[:, None] + 0.5 * rng.normal(size=(n, 5))
    frame = pd.DataFrame(np.hstack([x, a]), columns=[f"x{j}" for j in range(5)] + ["a", "b", "c"])
    return Dataset.from_frame(frame, groups={"x": [f"x{j}" for j in range(5)]})


def test_vectors_that_follow_a_direction_are_projected_on_one_side_alone():
    data = vectors()
    fits = {
        engine: LearnedKernelScore(data, engine, kernel="direction").fit("x", ["a", "b", "c"])
        for engine in ("auto", "dense")
    }
    assert fits["auto"].engine == "broad"
    assert fits["auto"].rank < 50
    assert fits["auto"].value == pytest.approx(fits["dense"].value, abs=0.1)
    assert fits["auto"].certified
    problem = Problem(data.points("x"), tuple(map(data.points, "abc")), shape=DIRECTION)
    at = Parameters(2.0, np.array([0.6, 0.5, 0.7]), 0.3)
    engine = make_engine(problem, "lowrank", at, 0.01)
    assert isinstance(engine, BroadEngine)
    found, exact = engine.evaluate(at), DenseEngine(problem).evaluate(at)
    assert found.value / 300 == pytest.approx(exact.value / 300, abs=0.01)
    np.testing.assert_allclose(found.parents, exact.parents, rtol=1e-2, atol=1.0)
    assert engine.certified(at)[0] == pytest.approx(exact.value)
    assert engine.adapted(at) is engine
    # Where the pivots no longer do, others are taken, or an exact engine.
    wild = Parameters(2.0, np.array([9.0, 7.0, -8.0]), 0.3)
    assert engine.evaluate(wild).excess > 0
    assert engine.adapted(wild) is not engine


def test_rows_are_worked_through_in_pieces_and_features_computed_again(monkeypatch):
    """What is too long for one piece, or too much to keep, gives the same numbers."""
    data, k = table(1, n=700, k=2)
    problem, at = problem_of(data, k), parameters(np.random.default_rng(0), k, least_noise=0.2)
    engine = engine_with(problem, at, 25, 10)
    whole, bounded = engine.evaluate(at), engine._bounded(at, 15)
    for kept in (2**29, 0):
        monkeypatch.setattr("kerncause.regression.factors.CHUNK_ROWS", 64)
        monkeypatch.setattr("kerncause.regression.lowrank.MOST_FEATURE_BYTES", kept)
        pieces = engine.evaluate(at)
        assert pieces.value == pytest.approx(whole.value, rel=1e-12)
        assert pieces.noise == pytest.approx(whole.noise, rel=1e-8)
        assert pieces.response_bandwidth == pytest.approx(whole.response_bandwidth, rel=1e-8)
        np.testing.assert_allclose(pieces.parents, whole.parents, rtol=1e-8)
        np.testing.assert_allclose(engine._bounded(at, 15), bounded, rtol=1e-6)


def test_pivots_looked_for_among_some_rows_capture_all(monkeypatch):
    """Outliers that are not among the rows looked at first are found by what they lack."""
    monkeypatch.setattr("kerncause.regression.factors.SELECT_ROWS", 100)
    monkeypatch.setattr("kerncause.regression.factors.WORST_ROWS", 20)
    data, k = table(5, "heavy tails", n=900, k=2)
    _, parents = inputs_of(problem_of(data, k))
    bandwidths = np.array([0.7, 1.2])
    pivots = parents.pivots(bandwidths, 0.1, 600).rows
    assert len(pivots) < 600
    assert 900 - parents.basis(bandwidths, pivots).captured().sum() <= 0.1


def mixed(n=300, seed=4):
    rng = np.random.default_rng(seed)
    a, level = rng.normal(size=n), rng.integers(0, 3, n)
    y = np.where(level == 1, np.sin(2 * a), -a) + 0.3 * rng.normal(size=n)
    frame = pd.DataFrame({"a": a, "level": level, "y": y, "p": a + rng.normal(size=n), "q": rng.normal(size=n)})
    return Dataset.from_frame(frame, groups={"v": ["p", "q"]})


@pytest.mark.parametrize(
    ("target", "parents"), [("y", ["a", "level"]), ("v", ["level"]), ("level", ["y"]), ("y", ["v"]), ("a", [])]
)
def test_fits_lie_within_their_bound_of_the_dense_value(target, parents):
    data = mixed()
    fit = LearnedKernelScore(data, engine="lowrank").fit(target, parents)
    exact, _ = LearnedKernelScore(data, engine="dense").evaluate(target, parents, fit)
    assert abs(fit.value - exact) <= fit.error_bound + 1e-7
    assert fit.certified
    assert fit.error_bound <= 0.01
    best = LearnedKernelScore(data, engine="dense").fit(target, parents)
    assert fit.value == pytest.approx(best.value, abs=0.02)


def test_a_smaller_tolerance_is_met():
    data = mixed()
    for tolerance in (1.0, 1e-2, 1e-4):
        fit = LearnedKernelScore(data, engine="lowrank", tolerance=tolerance).fit("y", ["a"])
        assert fit.engine == "lowrank"
        assert 2 < fit.rank < 100
        assert fit.error_bound <= tolerance
    for tolerance in (0, -1, float("nan")):
        with pytest.raises(OptionError, match="tolerance"):
            LearnedKernelScore(data, tolerance=tolerance)


def test_where_pivots_would_be_a_third_of_the_rows_an_exact_engine_takes_over():
    rng = np.random.default_rng(0)
    data = Dataset.from_array(rng.normal(size=(60, 5)))
    score = LearnedKernelScore(data, engine="lowrank", parent_bounds=(0.1, 0.5))
    fit = score.fit("x1", ["x2", "x3", "x4", "x5"])
    assert fit.engine == "semidense"
    assert fit.rank is None
    assert fit.error_bound <= 1e-3
    exact, _ = LearnedKernelScore(data, engine="dense").evaluate("x1", ["x2", "x3", "x4", "x5"], fit)
    assert abs(fit.value - exact) <= fit.error_bound + 1e-9


def test_a_response_that_needs_every_row_as_a_pivot_is_left_to_the_dense_engine():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 6)), columns=list("abcdef"))
    data = Dataset.from_frame(frame, groups={"v": list("abcde")})
    at = Parameters(0.3, np.array([1.0]), 0.1)
    problem = Problem(data.points("v"), (data.points("f"),))
    assert SemidenseEngine.of(problem, at, 0.01).name == "dense"


def test_no_square_array_is_ever_made():
    n = 6000
    rng = np.random.default_rng(1)
    a = rng.normal(size=(n, 2))
    data = Dataset.from_array(np.column_stack([np.sin(a.sum(axis=1)) + 0.3 * rng.normal(size=n), a]))
    problem, at = problem_of(data, 1), Parameters(1.2, np.array([2.0]), 0.3)
    tracemalloc.start()
    engine = LowRankEngine.of(problem, at, 0.01)
    engine.evaluate(at)
    engine.certified(at)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert engine.name == "lowrank"
    assert peak < 8 * n * n / 4


def kernel_of(K):
    return lambda left, right: K[:, right] if left is None else K[np.ix_(left, right)]


def test_pivots_chosen_in_blocks_are_nearly_as_few(monkeypatch):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(600, 3))
    K = np.exp(-0.5 * ((x[:, None] - x[None]) ** 2).sum(-1))
    weights = rng.integers(1, 4, 600).astype(float)
    blocks = pivoted_cholesky(np.ones(600), kernel_of(K), 1e-3, 500, weights)
    monkeypatch.setattr("kerncause.linalg.LARGEST_BLOCK", 1)
    singles = pivoted_cholesky(np.ones(600), kernel_of(K), 1e-3, 500, weights)
    root = np.sqrt(weights)
    written_out, V = pivots_of_matrix(K * root * root[:, None], 1e-3, 500)
    assert written_out.rows.tolist() == singles.rows.tolist()
    np.testing.assert_allclose(written_out.traces, singles.traces, rtol=1e-6, atol=1e-9)
    assert np.trace(K * root * root[:, None] - V @ V.T) == pytest.approx(singles.traces[-1], abs=1e-9)
    assert len(singles.rows) > 100
    assert len(blocks.rows) <= 1.1 * len(singles.rows)
    assert len(set(blocks.rows.tolist())) == len(blocks.rows)
    for found in (blocks, singles):
        left = K - K[:, found.rows] @ np.linalg.solve(K[np.ix_(found.rows, found.rows)], K[found.rows])
        assert found.traces[-1] == pytest.approx(weights @ np.diag(left), abs=1e-6)
        assert found.traces[-1] <= 1e-3 < found.traces[-2]


def test_a_matrix_gives_at_least_one_pivot_and_no_more_than_allowed():
    K = np.exp(-0.5 * np.subtract.outer(np.arange(30.0), np.arange(30.0)) ** 2)
    assert len(pivots_of_matrix(K.copy(), 1e9, 10)[0].rows) == 1
    few, V = pivots_of_matrix(K.copy(), 0.0, 7)
    assert len(few.rows) == 7
    assert V.shape == (30, 7)
    assert len(pivots_of_matrix(np.ones((30, 30)), 0.0, 10)[0].rows) == 1  # the rest is rounding


def test_pivots_bring_the_trace_down():
    rng = np.random.default_rng(2)
    x = rng.normal(size=200)
    K = np.exp(-0.5 * np.subtract.outer(x, x) ** 2)
    weights = rng.integers(1, 4, 200).astype(float)
    pivots = pivoted_cholesky(np.ones(200), kernel_of(K), 1e-6, 50, weights)
    for j in (1, 3, len(pivots.rows)):
        rows = pivots.rows[:j]
        left = K - K[:, rows] @ np.linalg.solve(K[np.ix_(rows, rows)], K[rows])
        assert pivots.traces[j] == pytest.approx(weights @ np.diag(left), abs=1e-7)
    assert pivots.traces[-1] <= 1e-6
    assert pivots.traces[pivots.needed(1e-2)] <= 1e-2 < pivots.traces[pivots.needed(1e-2) - 1]


def test_the_order_in_which_sets_are_visited_changes_nothing():
    data = mixed(120)
    sets = [frozenset(), *map(frozenset, (["a"], ["level"], ["v"], ["a", "level"], ["a", "v"], ["a", "level", "v"]))]
    values = []
    for order in (sets, sets[::-1], [sets[5], sets[0], sets[6], sets[2]]):
        ledger = Ledger(LearnedKernelScore(data))
        for parents in order:
            ledger.prepare([Comparison("y", parents, parents)])
        values.append({parents: ledger.fit("y", parents) for parents in sets})
    assert values[0] == values[1] == values[2]
    alone = LearnedKernelScore(data)
    assert all(alone.fit("y", parents) == fit for parents, fit in values[0].items())


def test_rows_repeated_many_times_are_left_to_an_exact_engine():
    """Above 5,000 rows, but with few different ones: pivots would be short of them, and few rows do not repeat."""
    b = np.random.default_rng(0).normal(size=(120, 4))
    b[:, 0] = np.sin(4 * b[:, 1]) + np.cos(3 * b[:, 2]) + 0.3 * b[:, 0]
    data = Dataset.from_array(np.repeat(b, 45, axis=0))
    assert data.n_rows > 5000
    exact = LearnedKernelScore(data, engine="compressed")
    for engine in ("auto", "lowrank"):
        score = LearnedKernelScore(data, engine=engine)
        at = {"response_bandwidth": 1.0, "bandwidths": {"x2": 0.4, "x3": 0.4}, "noise": 0.1}
        assert score.evaluate("x1", ["x2", "x3"], at)[0] == pytest.approx(
            exact.evaluate("x1", ["x2", "x3"], at)[0], abs=0.02
        )
        assert score.fit("x1", ["x2"]).value >= exact.fit("x1", ["x2"]).value - 0.05


def test_a_kernel_that_is_almost_constant_keeps_one_pivot():
    data = Dataset.from_array(np.random.default_rng(0).normal(size=(90, 2)))
    at = {"response_bandwidth": 1.0, "bandwidths": {"x2": 1.0}, "noise": 1000.0}
    exact, _ = LearnedKernelScore(data, engine="dense").evaluate("x1", ["x2"], at)
    for engine in ("lowrank", "semidense"):
        assert LearnedKernelScore(data, engine=engine).evaluate("x1", ["x2"], at)[0] == pytest.approx(exact, abs=0.01)
    with pytest.raises(OptionError, match="tolerance"):
        LearnedKernelScore(data, tolerance=np.inf)


def test_auto_takes_no_engine_that_memory_cannot_hold():
    table = np.random.default_rng(0).integers(0, 6, size=(50_000, 6)).astype(float)
    data = Dataset.from_array(table)
    problem = Problem(data.points("x1"), tuple(data.points(f"x{j}") for j in range(2, 7)))
    at = Parameters(1.0, np.ones(5), 0.3)
    assert choose_engine(problem, "auto", at, 0.01) == "lowrank"
