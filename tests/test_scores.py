"""Every score beside `learned`: its formula written out, its gradient, its engines, and what all scores promise."""

import numpy as np
import pandas as pd
import pytest
from ges.scores.gauss_obs_l0_pen import GaussObsL0Pen
from scipy.special import gammaln

from kerncause import DAG, DataError, Dataset, OptionError, discover, ges, make_score, networks
from kerncause.kernels import median_heuristic
from kerncause.scores import SCORES, LocalScore
from kerncause.scores.cross_validated import _folds
from oracles import all_dags, standardised

GROUPS = {"vec": ["p", "q"]}
KERNEL_SCORES = ["marginal", "marginal-huang", "gp"]
CASES = [
    ("a", []),
    ("b", ["a"]),
    ("level", ["a", "b"]),
    ("vec", ["a", "flag"]),
    ("b", ["vec", "level", "a"]),
    ("level", ["flag"]),
]


def mixed_frame(n=70, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = np.sin(2 * a) + 0.3 * rng.normal(size=n)
    level = np.digitize(a + 0.5 * rng.normal(size=n), [-1, 0, 1])
    flag = (b + 0.5 * rng.normal(size=n)) > 0
    return pd.DataFrame({"a": a, "b": b, "level": level, "flag": flag, "p": a + rng.normal(size=n), "q": b * a})


def mixed(n=70, seed=0):
    return Dataset.from_frame(mixed_frame(n, seed), groups=GROUPS)


def columns(frame, name):
    return standardised(frame[GROUPS.get(name, [name])].to_numpy(dtype=float))


def squared(x):
    return ((x[:, None] - x[None]) ** 2).sum(-1)


def product_kernel(parents, s_k, n):
    return np.exp(-0.5 * sum((squared(p) / s**2 for p, s in zip(parents, s_k, strict=True)), np.zeros((n, n))))


def centred(K):
    H = np.eye(len(K)) - 1.0 / len(K)
    return H @ K @ H


def written_out(name, x, parents, s_x, s_k, s_e, amplitude):
    """The formula of one score, nothing saved; x and parents standardised."""
    n = len(x)
    K_t = amplitude**2 * (product_kernel(parents, s_k, n) + s_e**2 * np.eye(n))
    K_X = np.exp(-squared(x) / (2 * s_x**2))
    Y = {"marginal": K_X, "marginal-huang": centred(K_X), "gp": x}[name]
    q = Y.shape[1]
    fit = np.trace(Y.T @ np.linalg.solve(K_t, Y))
    return (-0.5 * fit - q / 2 * np.linalg.slogdet(K_t)[1] - n * q / 2 * np.log(2 * np.pi)) / q


def drawn_parameters(name, rng, data, target, parents):
    s_k = dict(zip(parents, rng.uniform(0.5, 4, size=len(parents)), strict=True))
    at = {"bandwidths": s_k, "noise": rng.uniform(0.2, 1)}
    s_x = median_heuristic(data.points(target))
    if name == "marginal":
        at["response_bandwidth"] = s_x
    if name == "marginal-huang":
        at["amplitude"] = rng.uniform(0.1, 2)
    return at, s_x


@pytest.mark.parametrize("engine", ["dense", "compressed", "semidense", "broad", "line", "lowrank"])
@pytest.mark.parametrize("name", KERNEL_SCORES)
@pytest.mark.parametrize(("target", "parents"), CASES)
def test_kernel_scores_are_their_formulas(name, engine, target, parents):
    frame, data = mixed_frame(), mixed()
    score = make_score(name, data, engine=engine, tolerance=1e-6)
    rng = np.random.default_rng(3)
    for _ in range(2):
        at, s_x = drawn_parameters(name, rng, data, target, parents)
        value, _ = score.evaluate(target, parents, at)
        x, pa = columns(frame, target), [columns(frame, p) for p in parents]
        wanted = written_out(name, x, pa, s_x, list(at["bandwidths"].values()), at["noise"], at.get("amplitude", 1.0))
        assert value == pytest.approx(wanted, rel=1e-8, abs=2e-6)


@pytest.mark.parametrize("engine", ["dense", "compressed", "semidense", "broad", "line", "lowrank"])
@pytest.mark.parametrize("name", KERNEL_SCORES)
@pytest.mark.parametrize(("target", "parents"), CASES)
def test_kernel_gradients_are_central_differences(name, engine, target, parents):
    data = mixed()
    score = make_score(name, data, engine=engine, tolerance=1e-7)
    at, _ = drawn_parameters(name, np.random.default_rng(4), data, target, parents)
    _, gradient = score.evaluate(target, parents, at)
    h = 1e-5

    def moved(which, key=None):
        def value(step):
            there = {**at, "bandwidths": dict(at["bandwidths"])}
            inner = there if key is None else there["bandwidths"]
            inner[key or which] = inner[key or which] * np.exp(step)
            return score.evaluate(target, parents, there)[0]

        return (value(h) - value(-h)) / (2 * h)

    np.testing.assert_allclose(gradient.noise, moved("noise"), rtol=1e-5, atol=1e-4)
    for parent in parents:
        np.testing.assert_allclose(gradient.bandwidths[parent], moved("bandwidths", parent), rtol=1e-5, atol=1e-4)
    if name == "marginal-huang":
        np.testing.assert_allclose(gradient.amplitude, moved("amplitude"), rtol=1e-5, atol=1e-4)
    if name == "gp":
        assert gradient.response_bandwidth is None
        assert gradient.amplitude is None


@pytest.mark.parametrize("name", KERNEL_SCORES)
def test_shortcuts_reach_what_the_dense_engine_reaches(name):
    rng = np.random.default_rng(8)
    a, b, c = rng.normal(size=(3, 300))
    y = np.sin(2 * a) + 0.5 * b + 0.3 * rng.normal(size=300)
    data = Dataset.from_frame(pd.DataFrame({"y": y, "a": a, "b": b, "c": c}))
    slow, fast = make_score(name, data, engine="dense"), make_score(name, data)
    for parents in ([], ["a"], ["a", "b"], ["a", "b", "c"]):
        exact, quick = slow.fit("y", parents), fast.fit("y", parents)
        assert quick.value == pytest.approx(exact.value, abs=0.05)
        assert quick.certified
        assert slow.evaluate("y", parents, quick)[0] == pytest.approx(quick.value, abs=quick.error_bound + 1e-6)


def test_a_learned_amplitude_is_the_best_one():
    data = mixed()
    fit = make_score("marginal-huang", data).fit("b", ["a"])
    score = make_score("marginal-huang", data, engine="dense")
    best = score.evaluate("b", ["a"], fit)[0]
    for factor in (0.9, 1.1):
        at = {"bandwidths": fit.bandwidths, "noise": fit.noise, "amplitude": fit.amplitude * factor}
        assert score.evaluate("b", ["a"], at)[0] < best
    x, pa = columns(mixed_frame(), "b"), columns(mixed_frame(), "a")
    C = centred(np.exp(-squared(x) / (2 * fit.response_bandwidth**2)))
    K_t = product_kernel([pa], fit.bandwidths.values(), len(x)) + fit.noise**2 * np.eye(len(x))
    assert fit.amplitude**2 == pytest.approx(np.trace(C @ np.linalg.solve(K_t, C)) / len(x) ** 2, rel=1e-3)


def test_residuals_of_gp_are_in_the_order_of_the_table():
    frame, data = mixed_frame(), mixed()
    score = make_score("gp", data)
    fit = score.fit("b", ["a"])
    x, pa = columns(frame, "b"), columns(frame, "a")
    K = product_kernel([pa], fit.bandwidths.values(), len(x))
    wanted = x - K @ np.linalg.solve(K + fit.noise**2 * np.eye(len(x)), x)
    np.testing.assert_allclose(score.residuals("b", ["a"], fit), wanted, atol=1e-8)


# ---- cv


def cv_written_out(x, parents, s_x, s_k, order, folds=10, ridge=0.01, floor=0.01):
    """Huang et al. 2018 with kernel matrices: the residual features never appear."""
    n = len(x)
    K_X = centred(np.exp(-squared(x) / (2 * s_x**2)))[np.ix_(order, order)]
    K_Z = centred(product_kernel(parents, s_k, n))[np.ix_(order, order)] if parents else np.zeros((n, n))
    fold, total = _folds(n, folds), 0.0
    for k in range(folds):
        te, tr = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
        n0, n1 = len(te), len(tr)
        A = np.linalg.inv(K_Z[np.ix_(tr, tr)] + n1 * ridge * np.eye(n1))
        # Residuals on the training rows are n1 ridge A Phi, on test rows Phi_0 - P Phi with P = K_Z01 A.
        R, P = n1 * ridge * A, K_Z[np.ix_(te, tr)] @ A
        Kx11, Kx01, Kx00 = K_X[np.ix_(tr, tr)], K_X[np.ix_(te, tr)], K_X[np.ix_(te, te)]
        E01 = (Kx01 - P @ Kx11) @ R.T
        E00 = Kx00 - P @ Kx01.T - Kx01 @ P.T + P @ Kx11 @ P.T
        inner = np.eye(n1) + R @ Kx11 @ R.T / (n1 * floor)
        distance = np.trace(E00 - E01 @ np.linalg.solve(inner, E01.T) / (n1 * floor)) / floor
        total -= 0.5 * (n0**2 * np.log(2 * np.pi) + n0 * np.linalg.slogdet(inner)[1] + distance)
    return total / folds


@pytest.mark.parametrize("engine", ["dense", "lowrank"])
@pytest.mark.parametrize(("target", "parents"), CASES)
def test_cv_is_its_formula(engine, target, parents):
    frame, data = mixed_frame(), mixed()
    fit = make_score("cv", data, engine=engine, tolerance=1e-4).fit(target, parents)
    x, pa = columns(frame, target), [columns(frame, p) for p in parents]
    s_k = [fit.bandwidths[p] for p in parents]
    wanted = cv_written_out(x, pa, fit.response_bandwidth, s_k, data.row_order)
    assert fit.value == pytest.approx(wanted, abs=1e-6 if engine == "dense" else 1e-4)


def test_the_folds_of_cv_are_even_and_never_change():
    for n in (10, 37, 1000):
        sizes = np.bincount(_folds(n, 10))
        assert sizes.max() - sizes.min() <= 1
    assert _folds(12, 3).tolist() == PINNED_FOLDS


PINNED_FOLDS = [0, 0, 0, 2, 1, 1, 2, 2, 0, 1, 2, 1]


def test_the_error_of_cv_is_within_what_it_says():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 400))
    data = Dataset.from_frame(pd.DataFrame({"y": np.sin(3 * a) * b + 0.1 * rng.normal(size=400), "a": a, "b": b}))
    for parents in ([], ["a"], ["a", "b"]):
        exact = make_score("cv", data, engine="dense").fit("y", parents)
        quick = make_score("cv", data, engine="lowrank").fit("y", parents)
        assert abs(quick.value - exact.value) <= quick.error_bound + 1e-6
        assert quick.certified


# ---- bic and bdeu


def test_bic_agrees_with_another_program():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4))
    names = ["a", "b", "c", "d"]
    ours = make_score("bic", Dataset.from_frame(pd.DataFrame(x, columns=names)))
    theirs = GaussObsL0Pen(standardised(x))
    gains = {}
    for target in range(4):
        for parents in ([], [1], [0, 2], [1, 2, 3]):
            if target in parents:
                continue
            gains[target, tuple(parents)] = (
                ours.local_score(names[target], [names[p] for p in parents]) - ours.local_score(names[target], []),
                theirs.local_score(target, set(parents)) - theirs.local_score(target, set()),
            )
    for own, other in gains.values():
        assert own == pytest.approx(other, rel=1e-9, abs=1e-9)


def test_bic_takes_vectors_and_collinear_parents():
    rng = np.random.default_rng(3)
    a = rng.normal(size=100)
    frame = pd.DataFrame({"a": a, "twice": 2 * a, "p": a + rng.normal(size=100), "q": rng.normal(size=100)})
    score = make_score("bic", Dataset.from_frame(frame, groups=GROUPS))
    assert score.local_score("vec", ["a", "twice"]) == pytest.approx(score.local_score("vec", ["a"]))
    E = standardised(frame[["p", "q"]])
    E = E - standardised(a) @ np.linalg.lstsq(standardised(a), E, rcond=None)[0]
    likelihood = -50 * (2 * np.log(2 * np.pi) + np.linalg.slogdet(E.T @ E / 100)[1] + 2)
    assert score.local_score("vec", ["a"]) == pytest.approx(likelihood - (2 * 2 + 3) / 2 * np.log(100))


def test_bdeu_is_its_formula():
    frame = networks.load("sachs").sample(300, seed=4)[["PKA", "Raf", "Mek"]]
    score = make_score("bdeu", Dataset.from_frame(frame), sample_size=2.0)
    total, r, q = 0.0, frame["Mek"].nunique(), frame["PKA"].nunique() * frame["Raf"].nunique()
    for _, rows in frame.groupby(["PKA", "Raf"]):
        total += gammaln(2 / q) - gammaln(2 / q + len(rows))
        total += sum(gammaln(2 / (q * r) + count) - gammaln(2 / (q * r)) for count in rows["Mek"].value_counts())
    assert score.local_score("Mek", ["PKA", "Raf"]) == pytest.approx(total)


@pytest.mark.parametrize("name", ["bic", "bdeu"])
def test_all_members_of_a_class_score_the_same(name):
    frame = networks.load("sachs").sample(150, seed=5)[["PKA", "Raf", "Mek", "Erk"]]
    score = make_score(name, Dataset.from_frame(frame))
    by_class = {}
    for adjacency in all_dags(4):
        dag = DAG.of(frame.columns, adjacency)
        total = sum(score.local_score(node, dag.parents(node)) for node in dag.nodes)
        by_class.setdefault(dag.to_cpdag(), []).append(total)
    assert len(by_class) == 185
    assert all(max(totals) - min(totals) < 1e-8 for totals in by_class.values())


# ---- what every score promises


def table_for(name, n=60, seed=1):
    frame = networks.load("sachs").sample(n, seed=seed)[["PKA", "Raf", "Mek", "Erk"]]
    if name == "bdeu":
        return frame
    rng = np.random.default_rng(seed)
    return frame.assign(x=frame["PKA"] + rng.normal(size=n), y=lambda f: np.sin(f["x"]) + 0.2 * rng.normal(size=n))


@pytest.fixture(params=list(SCORES))
def name(request):
    return request.param


def test_every_score_is_a_local_score_that_a_search_can_use(name):
    data = Dataset.from_frame(table_for(name))
    score = make_score(name, data)
    assert isinstance(score, LocalScore)
    result = discover(data, score=name, workers=1)
    assert result.settings["score"] == name
    assert result.graph == ges(score).graph.reordered(result.graph.nodes)


def test_no_score_depends_on_the_order_of_rows_and_columns_or_on_names(name):
    frame = table_for(name)
    other = frame.sample(frac=1.0, random_state=3)[list(frame.columns)[::-1]].rename(columns=lambda c: f"{c}!")
    target, parents = frame.columns[-1], [frame.columns[0], frame.columns[1]]
    one = make_score(name, Dataset.from_frame(frame)).local_score(target, parents)
    two = make_score(name, Dataset.from_frame(other)).local_score(f"{target}!", [f"{p}!" for p in parents])
    assert one == pytest.approx(two, rel=1e-12)


def test_every_score_uses_the_rows_that_are_complete(name):
    frame = table_for(name).astype(float)
    gappy = frame.copy()
    gappy.iloc[:9, 1] = np.nan
    kinds = dict.fromkeys(["PKA", "Raf", "Mek", "Erk"], "ordinal")
    data = Dataset.from_frame(gappy, missing="testwise", kinds=kinds)
    score = make_score(name, data)
    fit = score.fit("Mek", ["Raf"])
    assert fit.rows == len(frame) - 9
    assert score.fit("Mek", []).rows == len(frame)
    assert score.restricted_to({"Raf"}).fit("Mek", []).rows == len(frame) - 9
    assert score.restricted_to({"Raf"}).local_score("Mek", ["Raf"]) == pytest.approx(fit.value, abs=1e-6)


def test_counted_rows_score_as_repeated_ones(name):
    frame = pd.concat([table_for("bdeu", 40)] * 3, ignore_index=True)
    data = Dataset.from_frame(frame)
    assert data.compact.weights is not None
    score = make_score(name, data)
    whole = score.local_score("Mek", ["Raf", "PKA"])
    repeated = Dataset.from_frame(frame)
    repeated.__dict__["compact"] = repeated
    assert make_score(name, repeated).local_score("Mek", ["Raf", "PKA"]) == pytest.approx(whole, abs=0.02)


@pytest.mark.parametrize("score", ["learned", "marginal", "cv"])
def test_a_true_parent_is_preferred_to_an_independent_one(score):
    added = 0
    for seed in range(20):
        rng = np.random.default_rng(1000 + seed)
        x, z = rng.normal(size=(2, 100))
        frame = pd.DataFrame({"x": x, "y": np.sin(2 * x) + 0.3 * rng.normal(size=100), "z": z})
        local = make_score(score, Dataset.from_frame(frame)).local_score
        assert local("y", ["x"]) > max(local("y", ["z"]), local("y", []))
        added += local("y", ["x", "z"]) > local("y", ["x"])
    assert added <= 2


# ---- refusals


def test_a_score_refuses_what_it_cannot_take_and_names_one_that_can():
    continuous = Dataset.from_frame(table_for("learned"))
    with pytest.raises(DataError, match="bdeu cannot take 'x', which is continuous: choose --score learned"):
        make_score("bdeu", continuous)
    words = pd.DataFrame({"town": ["a", "b", "c"] * 10, "x": np.arange(30.0) ** 2})
    with pytest.raises(DataError, match=r"bic cannot take 'town'.*--score learned"):
        make_score("bic", Dataset.from_frame(words))


@pytest.mark.parametrize(
    ("name", "options", "sentence"),
    [
        ("cv", {"folds": 1}, "folds cannot be 1"),
        ("cv", {"ridge": 0.0}, "ridge cannot be 0.0"),
        ("cv", {"engine": "compressed"}, "cv has no engine 'compressed'"),
        ("bic", {"penalty": -1.0}, "penalty cannot be -1.0"),
        ("bic", {"engine": "dense"}, "the score bic has no option"),
        ("bdeu", {"sample_size": 0.0}, "sample_size cannot be 0.0"),
        ("marginal", {"response_bounds": (1.0, 2.0)}, "the score marginal has no option"),
        ("gp", {"noise_bounds": (2.0, 1.0)}, "noise_bounds cannot be"),
    ],
)
def test_options_that_make_no_sense_are_refused(name, options, sentence):
    data = Dataset.from_frame(table_for("bdeu"))
    with pytest.raises(OptionError, match=sentence):
        make_score(name, data, **options)


def test_cv_says_when_gaps_leave_too_few_rows():
    frame = pd.DataFrame({"a": [1.5, 2.5, *[np.nan] * 20], "b": np.arange(22) ** 1.5})
    score = make_score("cv", Dataset.from_frame(frame, missing="testwise"))
    with pytest.raises(DataError, match="cv cannot split the 2 rows complete for 'b'"):
        score.fit("b", ["a"])
