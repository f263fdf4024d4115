from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from kerncause import DataError, Dataset, OptionError
from kerncause.graphs import DAG
from kerncause.independence import (
    KCI,
    TESTS,
    ChiSquared,
    FisherZ,
    IndependenceTest,
    SeparationOracle,
    TestResult,
    make_test,
)
from kerncause.independence.kci import square_sum
from kerncause.independence.projected import pivoted, written_out
from kerncause.independence.weighted_chi_squared import weighted_chi_squared_survival
from kerncause.kernels import median_heuristic
from kerncause.regression.factors import Inputs
from oracles import all_dags, random_dag

# ---- KCI: the formulas of Zhang et al. (2011), written out with n x n matrices ----


def dense_kernel(variables, bandwidths):
    exponents = [((v[:, None] - v[None]) ** 2).sum(-1) / (2 * s**2) for v, s in zip(variables, bandwidths, strict=True)]
    K = np.exp(-sum(exponents))
    H = np.eye(len(K)) - 1 / len(K)
    return H @ K @ H


def dense_kci(x, y, z, s_x, s_y, s_z, ridge=1e-3):
    """T, the mean and variance of its null, and the weights of its chi-squares; x, y and each of z are (n, l)."""
    n = len(x)
    K_Y = dense_kernel([y], [s_y])
    if not z:
        K_X = dense_kernel([x], [s_x])
        weights = np.outer(np.linalg.eigvalsh(K_X), np.linalg.eigvalsh(K_Y)).ravel() / n**2
        mean = np.trace(K_X) * np.trace(K_Y) / n**2
        variance = 2 * np.trace(K_X @ K_X) * np.trace(K_Y @ K_Y) / n**4
        return np.trace(K_X @ K_Y) / n, mean, variance, weights
    R = ridge * np.linalg.inv(dense_kernel(z, s_z) + ridge * np.eye(n))
    K_XZ, K_YZ = R @ dense_kernel([x, *z], [s_x, *s_z]) @ R, R @ K_Y @ R
    # The paper's w: one column for each pair of scaled eigenvectors.
    features = []
    for K in (K_XZ, K_YZ):
        values, vectors = np.linalg.eigh((K + K.T) / 2)
        features.append(vectors[:, values > 0] * np.sqrt(values[values > 0]))
    w = np.einsum("ti,tj->tij", *features).reshape(n, -1)
    ww = w @ w.T
    return np.trace(K_XZ @ K_YZ) / n, np.trace(ww) / n, 2 * np.trace(ww @ ww) / n**2, np.linalg.eigvalsh(ww) / n


def twin(data, x, y, given_=(), null="gamma"):
    """Statistic and p-value of the dense formulas on the rows complete for the variables."""
    first, second = data.in_canonical_order([x, y])
    rows = data.complete_for([x, y, *given_])
    points = [rows.points(name) for name in (first, second, *data.in_canonical_order(given_))]
    s = [median_heuristic(p) for p in points]
    v = [p.values for p in points]
    T, mean, variance, weights = dense_kci(v[0], v[1], v[2:], s[0], s[1], s[2:])
    if null == "gamma":
        return T, stats.gamma.sf(T, mean**2 / variance, scale=variance / mean)
    return T, weighted_chi_squared_survival(weights[weights > 1e-13 * weights.max()], T)


def mixed_table(seed, n=70, gaps=False):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "a": a,
            "b": np.sin(2 * a) + 0.5 * rng.normal(size=n),
            "level": rng.integers(0, 4, size=n) + (a > 0),
            "colour": np.array(["red", "green", "blue"])[rng.integers(0, 3, size=n)],
            "p": a + rng.normal(size=n),
            "q": rng.normal(size=n),
            "flag": (a + rng.normal(size=n) > 0),
        }
    )
    if gaps:
        table.loc[rng.choice(n, 12, replace=False), "b"] = np.nan
        table.loc[rng.choice(n, 12, replace=False), "q"] = np.nan
    return Dataset.from_frame(table, groups={"pq": ["p", "q"]}, missing="testwise")


QUESTIONS = [
    ("a", "b", ()),
    ("a", "pq", ()),
    ("level", "flag", ()),
    ("a", "b", ("level",)),
    ("b", "pq", ("a",)),
    ("level", "flag", ("colour",)),
    ("a", "b", ("level", "pq")),
    ("pq", "colour", ("a", "flag")),
]


@pytest.mark.parametrize("null", ["gamma", "spectral"])
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(("x", "y", "z"), QUESTIONS)
def test_kci_is_the_formula(x, y, z, gaps, null):
    data = mixed_table(3, gaps=gaps)
    found = KCI(data, null, tolerance=1e-10).test(x, y, z)
    statistic, p_value = twin(data, x, y, z, null)
    assert found.statistic == pytest.approx(statistic, rel=1e-6)
    assert found.p_value == pytest.approx(p_value, abs=1e-6)
    assert found.rows == data.complete_for([x, y, *z]).n_rows
    assert found.missed < 1e-6


def test_kci_counts_equal_rows():
    """A discrete table, whose rows are kept once each with their number, gives what all its rows give."""
    rng = np.random.default_rng(5)
    z = rng.integers(0, 3, size=400)
    frame = pd.DataFrame({"x": z + rng.integers(0, 2, size=400), "y": z % 2 + rng.integers(0, 2, size=400), "z": z})
    data = Dataset.from_frame(frame)
    assert data.compact.weights is not None
    for given_ in ((), ("z",)):
        for null in ("gamma", "spectral"):
            found = KCI(data, null, tolerance=1e-10).test("x", "y", given_)
            statistic, p_value = twin(data, "x", "y", given_, null)
            assert found.statistic == pytest.approx(statistic, rel=1e-6)
            assert found.p_value == pytest.approx(p_value, abs=1e-6)


def test_the_default_tolerance_hardly_changes_a_p_value():
    rng = np.random.default_rng(6)
    for _ in range(12):
        z = rng.normal(size=(250, 2))
        frame = {"x": np.tanh(z[:, 0]) + rng.normal(size=250), "y": z[:, 0] * z[:, 1] + rng.normal(size=250)}
        data = Dataset.from_frame(pd.DataFrame({**frame, "z": z[:, 0], "w": z[:, 1]}))
        for given_ in ((), ("z",), ("z", "w")):
            rough, fine = (KCI(data, **options).test("x", "y", given_) for options in ({}, {"tolerance": 1e-11}))
            assert rough.p_value == pytest.approx(fine.p_value, abs=1e-3)
            assert rough.missed <= 5e-4 * 1.01


def test_little_noise_is_not_lost_in_the_projection():
    """Where z explains y almost wholly, the kernel must be projected more finely than its whole trace would ask."""
    rng = np.random.default_rng(7)
    z, common = rng.normal(size=(2, 300))
    frame = pd.DataFrame({"x": z + 0.01 * common, "y": z**2 + 0.01 * common, "z": z})
    data = Dataset.from_frame(frame)
    found = KCI(data).test("x", "y", ["z"])
    statistic, p_value = twin(data, "x", "y", ["z"])
    assert found.statistic == pytest.approx(statistic, rel=1e-2)
    assert found.p_value == pytest.approx(p_value, abs=1e-3)


@pytest.mark.parametrize("project", [pivoted, written_out])
def test_both_projections_leave_out_what_is_allowed(project):
    rng = np.random.default_rng(14)
    points, root = rng.normal(size=(80, 3)), np.sqrt(rng.integers(1, 9, size=80))
    inputs, bandwidths = Inputs(points, np.array([0, 0, 1]), root), np.array([1.5, 2.0])
    scaled = points / [1.5, 1.5, 2.0]
    K = np.exp(-0.5 * ((scaled[:, None] - scaled[None]) ** 2).sum(-1)) * np.outer(root, root)
    for allowed in (1.0, 1e-2, 1e-9):
        V = project(inputs, bandwidths, allowed, 80)
        left = K - V @ V.T
        assert -1e-9 < np.trace(left) <= allowed + 1e-9
        assert np.linalg.eigvalsh(left).min() > -1e-9
    assert np.allclose(V @ V.T, K, atol=1e-8)
    assert project(inputs, bandwidths, 1e-9, 7).shape == (80, 7)


@pytest.mark.parametrize(("a", "b"), [(3, 2), (9, 30), (1, 1)])
def test_both_ways_to_the_sum_of_squares(a, b):
    rng = np.random.default_rng(8)
    A, B = rng.normal(size=(700, a)), rng.normal(size=(700, b))
    assert square_sum(A, B) == pytest.approx(np.sum(((A @ A.T) * (B @ B.T)) ** 2), rel=1e-10)


def nonlinear_chain(rng, n, dependent):
    z = rng.normal(size=n)
    noise = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": np.cos(1.5 * z) + 0.4 * noise,
            "y": z**2 / 2 + 0.4 * (np.abs(noise) if dependent else rng.normal(size=n)),
            "z": z,
        }
    )


@pytest.mark.parametrize("null", ["gamma", "spectral"])
def test_kci_keeps_its_level_and_has_power(null):
    rng = np.random.default_rng(9)
    tables = [[nonlinear_chain(rng, 120, dependent) for _ in range(100)] for dependent in (False, True)]
    level, power = (
        np.mean([KCI(Dataset.from_frame(t), null).test("x", "y", ["z"]).p_value < 0.05 for t in group])
        for group in tables
    )
    assert 0.0 < level < 0.11
    assert power > 0.6
    marginal = [KCI(Dataset.from_frame(t), null).test("x", "y").p_value < 0.05 for t in tables[0][:30]]
    assert np.mean(marginal) > 0.9  # dependent through z


def test_kci_without_given_variables_is_uniform_under_independence():
    rng = np.random.default_rng(10)
    p = [
        KCI(Dataset.from_frame(pd.DataFrame({"x": rng.normal(size=100), "y": rng.exponential(size=100)})), "spectral")
        .test("x", "y")
        .p_value
        for _ in range(200)
    ]
    assert stats.kstest(p, "uniform").pvalue > 0.01


def test_bandwidths_by_rule_by_number_and_by_name():
    data = mixed_table(11)
    heuristic = {name: median_heuristic(data.points(name)) for name in data.names}
    by_name = KCI(data, bandwidth=heuristic).test("a", "b", ["pq"])
    assert by_name == KCI(data).test("a", "b", ["pq"])
    same = KCI(data, bandwidth=0.9).test("a", "b", ["pq"])
    assert same == KCI(data, bandwidth=dict.fromkeys(data.names, 0.9)).test("a", "b", ["pq"])
    assert same.p_value != by_name.p_value
    # The authors' rule at fewer than 200 rows: 0.8 without given variables, 1.2 sqrt(columns of Z) with.
    empirical = KCI(data, bandwidth="empirical")
    assert empirical.test("a", "b").p_value == KCI(data, bandwidth=0.8).test("a", "b").p_value
    with_vector = KCI(data, bandwidth=1.2 * np.sqrt(2)).test("a", "b", ["pq"])
    assert empirical.test("a", "b", ["pq"]).p_value == with_vector.p_value


def test_half_of_z_in_the_extension_is_twice_its_bandwidth_there():
    data = mixed_table(12)
    x, y = data.in_canonical_order(["a", "b"])
    found = KCI(data, bandwidth=1.0, extension=0.5, tolerance=1e-10).test("a", "b", ["level"])
    v = [data.points(name).values for name in (x, y, "level")]
    R = 1e-3 * np.linalg.inv(dense_kernel([v[2]], [1.0]) + 1e-3 * np.eye(len(v[0])))
    K_XZ = R @ dense_kernel([v[0], v[2]], [1.0, 2.0]) @ R
    T = np.trace(K_XZ @ R @ dense_kernel([v[1]], [1.0]) @ R) / len(v[0])
    assert found.statistic == pytest.approx(T, rel=1e-6)


# ---- the distribution of a weighted sum of chi-squares ----


@pytest.mark.parametrize("count", [1, 2, 3, 7, 60, 2000])
@pytest.mark.parametrize("quantile", [1e-6, 0.01, 0.3, 0.5, 0.95, 1 - 1e-6, 1 - 1e-13])
def test_equal_weights_are_a_chi_squared_distribution(count, quantile):
    q = stats.chi2.ppf(quantile, count)
    found = weighted_chi_squared_survival(np.full(count, 0.37), 0.37 * q)
    assert found == pytest.approx(stats.chi2.sf(q, count), rel=1e-8)


def test_pairs_of_weights_have_a_closed_form():
    """w_1 chi2_2 + w_2 chi2_2 + ... is a sum of exponentials of means 2 w_i."""
    w = np.array([3.0, 1.7, 0.8, 0.05])
    for q in (0.01, 1.0, 10.0, 40.0, 200.0):
        terms = [np.prod([wi / (wi - wj) for wj in w if wj != wi]) * np.exp(-q / (2 * wi)) for wi in w]
        assert weighted_chi_squared_survival(np.repeat(w, 2), q) == pytest.approx(sum(terms), rel=1e-8)


def imhof(w, q):
    """Imhof's integral (1961) by an adaptive rule."""

    def integrand(u):
        return np.sin(0.5 * np.arctan(w * u).sum() - 0.5 * q * u) / (u * np.prod((1 + (w * u) ** 2) ** 0.25))

    return 0.5 + integrate.quad(integrand, 0, 200, limit=2000)[0] / np.pi


@given(st.lists(st.floats(0.1, 3.0), min_size=8, max_size=12), st.floats(0.3, 3.0))
@settings(max_examples=40)
def test_any_weights_agree_with_imhof(weights, ratio):
    w = np.array(weights)
    q = ratio * w.sum()
    assert weighted_chi_squared_survival(w, q) == pytest.approx(imhof(w, q), abs=1e-6)


def test_the_distribution_at_its_ends():
    assert weighted_chi_squared_survival(np.array([1.0, 2.0]), 0.0) == 1.0
    assert weighted_chi_squared_survival(np.array([1.0, 2.0]), 1e-12) == pytest.approx(1.0)
    assert weighted_chi_squared_survival(np.array([1.0]), 5000.0) == 0.0
    assert weighted_chi_squared_survival(np.array([0.0]), 1.0) == 0.0
    uneven = 10.0 ** -np.arange(12.0)
    simulated = uneven @ np.random.default_rng(0).chisquare(1, (12, 400_000))
    found = weighted_chi_squared_survival(uneven, 2.0)
    assert found == pytest.approx(np.mean(simulated > 2.0), abs=0.003)


# ---- Fisher's z ----


def gaussian_table(seed, n=150):
    rng = np.random.default_rng(seed)
    z, w = rng.normal(size=(2, n))
    x = z + rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": 0.2 * x + z - w + rng.normal(size=n), "z": z, "w": w})


def test_fisher_z_is_the_interval_of_pearsonr():
    """The confidence interval of scipy uses Fisher's z: at confidence 1 - p it ends at zero."""
    for seed in range(20):
        frame = gaussian_table(seed)
        p = FisherZ(Dataset.from_frame(frame)).test("x", "w").p_value
        exact = stats.pearsonr(frame["x"], frame["w"])
        interval = exact.confidence_interval(1 - p)
        assert min(abs(interval.low), abs(interval.high)) < 1e-10
        assert p == pytest.approx(exact.pvalue, abs=0.01)


def test_fisher_z_given_others_is_that_of_the_residuals():
    for seed in range(10):
        frame = gaussian_table(seed)
        design = np.column_stack([np.ones(len(frame)), frame["z"], frame["w"]])
        left = [frame[c] - design @ np.linalg.lstsq(design, frame[c], rcond=None)[0] for c in ("x", "y")]
        r = np.corrcoef(left)[0, 1]
        found = FisherZ(Dataset.from_frame(frame)).test("x", "y", ["z", "w"])
        assert abs(found.statistic) == pytest.approx(np.sqrt(len(frame) - 2 - 3) * abs(np.arctanh(r)), rel=1e-9)
        assert found.p_value == pytest.approx(2 * stats.norm.sf(abs(found.statistic)), rel=1e-9)


def test_fisher_z_with_given_variables_that_repeat_each_other():
    frame = gaussian_table(1)
    frame["copy"] = 3.0 * frame["z"] - 1.0
    frame["sum"] = frame["z"] + frame["w"]
    test = FisherZ(Dataset.from_frame(frame))
    plain = test.test("x", "y", ["z", "w"])
    again = test.test("x", "y", ["z", "copy", "w", "sum"])
    assert again.p_value == pytest.approx(plain.p_value, rel=1e-6)
    # What the given variables determine cannot depend on anything else.
    assert test.test("x", "copy", ["z"]).p_value == 1.0
    assert test.test("sum", "y", ["z", "w"]).p_value == 1.0
    assert test.test("z", "copy").p_value == 0.0


def test_fisher_z_says_nothing_on_too_few_rows():
    frame = gaussian_table(2, n=5)
    assert FisherZ(Dataset.from_frame(frame)).test("x", "y", ["z", "w"]).p_value == 1.0


def test_fisher_z_counts_equal_rows():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.integers(0, 3, size=(500, 3)), columns=["x", "y", "z"])
    data = Dataset.from_frame(frame)
    assert data.compact.weights is not None
    r = np.linalg.inv(np.corrcoef(frame.T))
    partial = -r[0, 1] / np.sqrt(r[0, 0] * r[1, 1])
    expected = 2 * stats.norm.sf(np.sqrt(500 - 1 - 3) * abs(np.arctanh(partial)))
    assert FisherZ(data).test("x", "y", ["z"]).p_value == pytest.approx(expected, rel=1e-9)


def test_fisher_z_refuses_what_is_no_number():
    with pytest.raises(DataError, match=r"'colour' is categorical with 3 levels.*use the test kci, drop"):
        FisherZ(Dataset.from_frame(pd.DataFrame({"colour": ["r", "g", "b", "r"], "x": [1.0, 2.5, 3.5, 0.1]})))
    vector = Dataset.from_frame(gaussian_table(0), groups={"pair": ["z", "w"]})
    with pytest.raises(DataError, match=r"'pair' is a vector.*kci"):
        FisherZ(vector)
    binary = Dataset.from_frame(pd.DataFrame({"b": ["no", "yes", "no", "yes"] * 5, "x": np.arange(20) % 7 * 1.1}))
    assert 0 < FisherZ(binary).test("b", "x").p_value <= 1


# ---- chi-squared ----


def discrete_table(seed, n=300):
    rng = np.random.default_rng(seed)
    z, w = rng.integers(0, 3, size=n), rng.integers(0, 4, size=n)
    x = (z + rng.integers(0, 2, size=n)) % 3
    return pd.DataFrame({"x": x, "y": (x * (w > 2) + rng.integers(0, 4, size=n)) % 4, "z": z, "w": w})


def by_stratum(frame, x, y, z, kind):
    """Add up scipy's test over the strata, with rows and columns that are empty there left out."""
    total, degrees = 0.0, 0
    for _, stratum in frame.groupby(z) if z else [((), frame)]:
        table = pd.crosstab(stratum[x], stratum[y]).to_numpy()
        found = stats.chi2_contingency(table, correction=False, lambda_=kind)
        total, degrees = total + found.statistic, degrees + found.dof
    return total, degrees


@pytest.mark.parametrize(("statistic", "kind"), [("pearson", "pearson"), ("g", "log-likelihood")])
@pytest.mark.parametrize("z", [[], ["z"], ["z", "w"]])
def test_chi_squared_is_that_of_scipy_in_every_stratum(statistic, kind, z):
    for seed in range(8):
        frame = discrete_table(seed, n=60 if seed % 2 else 300)
        found = ChiSquared(Dataset.from_frame(frame), statistic).test("x", "y", z)
        total, degrees = by_stratum(frame, "x", "y", z, kind)
        assert found.statistic == pytest.approx(total, rel=1e-9)
        assert found.degrees_of_freedom == degrees
        assert found.p_value == pytest.approx(stats.chi2.sf(total, degrees), rel=1e-9)


def test_chi_squared_without_a_degree_of_freedom_says_nothing():
    frame = pd.DataFrame({"x": [0, 0, 1, 1], "y": [0, 1, 0, 1], "z": [0, 1, 2, 3]})
    found = ChiSquared(Dataset.from_frame(frame, kinds={"z": "ordinal"})).test("x", "y", ["z"])
    assert (found.p_value, found.degrees_of_freedom) == (1.0, 0)


def test_chi_squared_uses_the_rows_without_gaps():
    frame = discrete_table(3).astype(float)
    frame.loc[:40, "x"] = np.nan
    frame.loc[200:220, "z"] = np.nan
    data = Dataset.from_frame(frame, missing="testwise")
    found = ChiSquared(data).test("x", "y", ["z"])
    total, degrees = by_stratum(frame.dropna(subset=["x", "y", "z"]), "x", "y", ["z"], "pearson")
    assert (found.statistic, found.degrees_of_freedom) == (pytest.approx(total), degrees)
    assert found.rows == len(frame.dropna(subset=["x", "y", "z"]))


def test_chi_squared_refuses_what_is_not_discrete():
    frame = pd.DataFrame({"x": np.linspace(0, 1, 40), "y": np.arange(40) % 3})
    with pytest.raises(DataError, match=r"'x' is continuous.*kci or fisher-z"):
        ChiSquared(Dataset.from_frame(frame))
    data = Dataset.from_frame(discrete_table(0), groups={"pair": ["z", "w"]})
    with pytest.raises(DataError, match=r"'pair' is a vector.*test kci"):
        ChiSquared(data)
    with pytest.raises(OptionError, match="statistic cannot be 'x'"):
        ChiSquared(Dataset.from_frame(discrete_table(0)), "x")


# ---- what all tests share ----


@pytest.mark.parametrize("name", TESTS)
@given(seed=st.integers(0, 10**6), data=st.data())
@settings(max_examples=15)
def test_neither_order_nor_names_matter(name, seed, data):
    frame = discrete_table(seed, n=50)
    if name != "chi-squared":
        frame = frame + np.random.default_rng(seed).normal(size=frame.shape)
    z = data.draw(st.sampled_from([[], ["z"], ["z", "w"]]))
    found = make_test(name, Dataset.from_frame(frame)).test("x", "y", z)
    assert make_test(name, Dataset.from_frame(frame)).test("y", "x", z[::-1]) == found
    rows = data.draw(st.permutations(range(len(frame))))
    columns = data.draw(st.permutations(list(frame.columns)))
    names = dict(zip(frame.columns, data.draw(st.permutations(["p", "q", "r", "s"])), strict=True))
    moved = frame.iloc[list(rows)][list(columns)].rename(columns=names)
    again = make_test(name, Dataset.from_frame(moved)).test(names["x"], names["y"], [names[c] for c in z])
    assert again == found


@pytest.mark.parametrize("name", TESTS)
def test_each_test_is_one(name):
    data = Dataset.from_frame(discrete_table(0))
    test = make_test(name, data)
    assert isinstance(test, IndependenceTest)
    assert test.variables == data.canonical
    result = test.test("x", "z")
    assert isinstance(result, TestResult)
    assert (result.name, result.rows) == (name, 300)
    assert result.p_value < 1e-3
    assert 0.001 < test.test("z", "w").p_value <= 1.0
    with pytest.raises(OptionError, match="there is no variable 'nobody'"):
        test.test("x", "nobody")
    with pytest.raises(OptionError, match="there is no variable 'nobody'"):
        test.test("x", "y", ["nobody"])
    with pytest.raises(OptionError, match="'x' cannot be tested against itself"):
        test.test("x", "x")
    with pytest.raises(OptionError, match="'y' is tested and cannot also be given"):
        test.test("x", "y", ["y"])
    with pytest.raises(OptionError, match="given is the text 'z'"):
        test.test("x", "y", "z")
    with pytest.raises(OptionError, match=f"the test {name} has no option.*colour"):
        make_test(name, data, colour="red")
    with pytest.raises(OptionError, match="make a Dataset of it"):
        make_test(name, discrete_table(0))


@pytest.mark.parametrize("name", TESTS)
def test_gaps_may_leave_nothing_to_test(name):
    frame = pd.DataFrame({"x": [0, 1, 0, 1, None, None], "y": [None, None, None, 1, 2, 1], "z": [0, 1, 2, 0, 1, 2]})
    data = Dataset.from_frame(frame, missing="testwise", kinds=dict.fromkeys("xyz", "ordinal"))
    result = make_test(name, data).test("x", "y", ["z"])
    assert (result.p_value, result.rows) == (1.0, 1)


def test_an_unknown_test_and_odd_options_are_refused():
    data = mixed_table(0)
    with pytest.raises(OptionError, match="there is no test 'magic': the choices are kci, fisher-z, chi-squared"):
        make_test("magic", data)
    with pytest.raises(OptionError, match="null cannot be 'normal'"):
        KCI(data, "normal")
    with pytest.raises(OptionError, match="bandwidth cannot be 'wide'"):
        KCI(data, bandwidth="wide")
    with pytest.raises(OptionError, match="bandwidth cannot be '-1'"):
        KCI(data, bandwidth=-1)
    with pytest.raises(OptionError, match="the bandwidth of 'b' cannot be 'None'"):
        KCI(data, bandwidth={"a": 1.0})
    with pytest.raises(OptionError, match="there is no variable 'nobody'"):
        KCI(data, bandwidth={"nobody": 1.0})
    for option in ("extension", "ridge", "tolerance"):
        with pytest.raises(OptionError, match=f"{option} cannot be 0"):
            KCI(data, **{option: 0})


# ---- the oracle ----


def test_the_oracle_knows_d_separation():
    rng = np.random.default_rng(1)
    graphs = [DAG.of("abcd", all_dags(4)[i]) for i in rng.choice(543, 60, replace=False)]
    for dag in [*graphs, *(random_dag(rng, 7, 0.4) for _ in range(6))]:
        oracle = SeparationOracle(dag)
        for x, y in combinations(dag.nodes, 2):
            rest = [v for v in dag.nodes if v not in (x, y)]
            for size in range(len(rest) + 1):
                for z in combinations(rest, size):
                    assert (oracle.test(x, y, z).p_value == 1.0) == dag.d_separated(x, y, z)


def test_the_oracle_is_a_test_and_refuses_strangers():
    oracle = SeparationOracle(DAG("abc", [("a", "b"), ("c", "b")]))
    assert isinstance(oracle, IndependenceTest)
    assert oracle.variables == ("a", "b", "c")
    with pytest.raises(OptionError, match="there is no node 'z'"):
        oracle.test("a", "z")
    with pytest.raises(OptionError, match="must all be different"):
        oracle.test("a", "b", ["a"])
