import json
from importlib import resources
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerncause import DataError, Dataset, Direction, Kind, LearnedKernelScore, OptionError, direction, discover
from kerncause.directions import Calibration, calibrations, footing_of, probability
from kerncause.experiments.methods import BY_RANKS
from kerncause.presets import PRESETS

CONTINUOUS = (Kind.CONTINUOUS, Kind.CONTINUOUS)


def wiggly_pair(seed, n=100):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, np.sin(2 * x) + 0.3 * rng.normal(size=n)


def linear_pair(seed, n=200):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    return x, x + rng.normal(size=n)


@st.composite
def curves(draw):
    """Any curve of the kind that is shipped: knots from 0, values from one half, growing."""
    steps = draw(st.lists(st.floats(0.01, 0.5), min_size=1, max_size=6))
    rises = draw(st.lists(st.floats(0, 1), min_size=len(steps), max_size=len(steps)))
    most = draw(st.floats(0.5, 0.99))
    heights = np.cumsum([0.0, *rises])
    right = 0.5 + (most - 0.5) * heights / max(heights[-1], 1e-9)
    return Calibration(
        tuple(np.cumsum([0.0, *steps])),
        tuple(right.tolist()),
        draw(st.floats(0.1, 50)),
        draw(st.floats(0.5, 5)),
        draw(st.floats(1, 20)),
    )


nats = st.floats(0, 1e4)
widths = st.floats(0.1, 10)


@given(curves(), nats, st.floats(0.001, 1e4), widths)
def test_a_calibrated_probability_is_from_one_half_to_below_one(curve, preference, gain, width):
    assert 0.5 <= curve(preference, gain, width) <= max(curve.right) < 1


@given(curves(), nats, nats, st.floats(0.001, 1e4), widths)
def test_a_calibrated_probability_grows_with_the_preference(curve, one, other, gain, width):
    less, more = sorted((one, other))
    assert curve(less, gain, width) <= curve(more, gain, width) + 1e-12


@given(curves(), nats, st.floats(0.001, 1e4), widths, widths)
def test_a_calibrated_probability_falls_with_the_bandwidth(curve, preference, gain, one, other):
    bent, straight = sorted((one, other))
    assert curve(preference, gain, straight) <= curve(preference, gain, bent) + 1e-12


@given(curves(), nats, st.floats(-1e4, 0))
def test_no_preference_and_no_gain_say_nothing(curve, preference, loss):
    assert curve(preference, loss, 1.0) == 0.5
    assert curve(0.0, 1.0, 1.0) == 0.5
    assert curve(0.0, -loss, 1.0) == 0.5


def test_a_calibration_is_its_formula():
    curve = Calibration((0.0, 0.5, 1.0), (0.5, 0.6, 0.9), 4.0, 2.0, 3.0)
    bent = 1 / (1 + 0.1**3)
    assert curve(3.0, 4.0, 0.2) == pytest.approx(0.5 + 0.25 * (1 - np.exp(-0.75)) * bent)
    assert curve(1000.0, 1000.0, 0.2) == pytest.approx(0.5 + 0.4 * bent)
    assert curve(5000.0, 1000.0, 0.2) == pytest.approx(0.5 + 0.4 * bent), "flat beyond the last knot"
    assert curve(1000.0, 1000.0, 2.0) == pytest.approx(0.7)
    written = {"shares": [0.0, 0.5, 1.0], "right": [0.5, 0.6, 0.9], "nats": 4, "width": 2, "steepness": 3}
    assert Calibration.from_json(written) == curve


@pytest.mark.parametrize("footing", ["values", "ranks", "levels", "even levels"])
def test_the_shipped_curves_grow_from_one_half(footing):
    file = resources.files("kerncause.directions") / "calibration.json"
    shipped = Calibration.from_json(json.loads(file.read_text(encoding="utf-8"))[footing])
    assert calibrations()[footing] == shipped
    assert shipped.shares[0] == 0.0
    assert shipped.right[0] == 0.5
    assert len(shipped.shares) == len(shipped.right) >= 2
    assert all(a < b for a, b in pairwise(shipped.shares))
    assert all(a <= b for a, b in pairwise(shipped.right))
    assert 0.5 < shipped.right[-1] < 1.0
    assert shipped.nats > 0
    assert shipped(1e6, 1e6, 0.5) > 0.9
    assert shipped(1e6, 1e6, 5.0) < 0.7, "linear pairs have such bandwidths"


@given(st.floats(-1e3, 1e3), st.floats(-10, 1e3), st.sampled_from(["values", "ranks"]))
def test_probabilities_of_the_two_directions_sum_to_one(preference, gain, footing):
    forth, back = (probability(sign * preference, gain, 0.5, CONTINUOUS, footing) for sign in (1, -1))
    assert forth + back == pytest.approx(1.0)
    assert (forth >= 0.5) == (preference >= 0) or forth == pytest.approx(0.5)


@pytest.mark.parametrize("one", list(Kind))
@pytest.mark.parametrize("other", list(Kind))
def test_only_continuous_pairs_are_calibrated(one, other):
    assert probability(80.0, 100.0, None, (one, other), "values") == 0.5
    assert probability(80.0, 100.0, 0.5, (one, other), None) == 0.5
    for footing in calibrations():
        known = probability(80.0, 100.0, 0.5, (one, other), footing) > 0.5
        assert known == ((one, other) == CONTINUOUS)
        assert known == (probability(-80.0, 100.0, 0.5, (one, other), footing) < 0.5)


def test_each_footing_has_its_own_curve():
    x, y = wiggly_pair(0)
    data = Dataset.from_frame(pd.DataFrame({"x": x, "y": y}))
    footings = {
        "values": [{}, {"response_scaling": "standard"}, {"evidence": "bic", "kernel": "auto"}],
        "ranks": [{"response_scaling": "rank"}, BY_RANKS],
        "levels": [PRESETS["adaptive"].score],
        "even levels": [{**PRESETS["adaptive"].score, **row.score} for row in PRESETS["adaptive"].of_kinds],
        None: [{"scaling": "rank"}, {"response_scaling": "robust"}, {"response_kernel": "matern32"}],
    }
    for footing, made in footings.items():
        assert all(footing_of(LearnedKernelScore(data, **options)) == footing for options in made)
    by_ranks = direction(x, y, score_options=BY_RANKS)
    assert by_ranks.cause == "x"
    share = by_ranks.preference, by_ranks.gain, by_ranks.bandwidth
    assert by_ranks.probability == calibrations()["ranks"](*share) != calibrations()["values"](*share)


def test_both_orders_of_a_pair_agree():
    x, y = wiggly_pair(0)
    a, b = pd.Series(x, name="dose"), pd.Series(y, name="answer")
    forth, back = direction(a, b), direction(b, a)
    assert isinstance(forth, Direction)
    assert forth == back
    assert (forth.cause, forth.effect) == ("dose", "answer")
    assert forth.preference == forth.gain - forth.gain_reversed > 0


@pytest.mark.parametrize("shape", [wiggly_pair, linear_pair])
def test_gains_are_differences_of_local_scores(shape):
    x, y = shape(1)
    found = direction(x, y)
    score = LearnedKernelScore(Dataset.from_frame(pd.DataFrame({"x": x, "y": y})))
    gains = {b: score.local_score(b, [a]) - score.local_score(b, []) for a, b in ("xy", "yx")}
    assert found.gain == pytest.approx(gains[found.effect], abs=0.02)
    assert found.gain_reversed == pytest.approx(gains[found.cause], abs=0.02)
    assert found.probability == probability(found.preference, found.gain, found.bandwidth, CONTINUOUS, "values")


def test_the_index_of_a_series_is_ignored():
    x, y = wiggly_pair(2)
    plain = direction(x, y)
    assert direction(pd.Series(x, index=range(100, 0, -1)), pd.Series(y, index=range(500, 600))) == plain
    assert direction(x[:, None].tolist(), y.tolist()) == plain


def test_vectors_have_a_direction_but_no_probability():
    x, y = wiggly_pair(3)
    vector = np.column_stack([x, np.random.default_rng(0).normal(size=100)])
    found = direction(vector, y)
    assert {found.cause, found.effect} == {"x", "y"}
    assert found.gain > 10
    assert found.probability == 0.5
    assert not found.is_claimed
    assert "says nothing" in str(found)


def test_kinds_reach_the_table():
    x, y = np.random.default_rng(0).integers(0, 4, 80), np.random.default_rng(1).normal(size=80)
    assert direction(x, y + x).probability == 0.5
    assert direction(x, x + 0.2 * y, kinds={"x": "continuous"}).probability != 0.5
    y[3] = np.nan
    with pytest.raises(DataError, match="missing values"):
        direction(x, y)
    assert direction(x, y, missing="drop").preference >= 0


def test_what_is_no_pair_is_refused():
    x, y = wiggly_pair(4)
    with pytest.raises(DataError, match="x has 99 rows and y has 100"):
        direction(x[1:], y)
    with pytest.raises(OptionError, match="both variables are called 'y'"):
        direction(pd.Series(x, name="y"), y)
    with pytest.raises(DataError, match="y has 3 dimensions"):
        direction(x, np.zeros((100, 2, 2)))
    with pytest.raises(DataError, match="x has 0 dimensions"):
        direction(1.0, y)
    with pytest.raises(OptionError, match="there is no score 'best'"):
        direction(x, y, score="best")


def test_names_with_control_characters_are_shown_escaped():
    x, y = wiggly_pair(5)
    found = direction(pd.Series(x, name="a\x1b[31m"), pd.Series(y, name="b\n"))
    assert found.cause == "a\x1b[31m"
    assert str(found).isprintable()


def test_a_sine_is_seen_from_its_cause():
    found = [direction(*wiggly_pair(seed)) for seed in range(10)]
    assert sum(one.cause == "x" for one in found) >= 8
    assert all(one.preference / one.gain > 0.3 for one in found if one.cause == "x")


def test_independent_noise_has_no_direction():
    rng = np.random.default_rng(11)
    found = direction(rng.normal(size=100), rng.normal(size=100))
    assert found.gain <= 0
    assert found.probability == 0.5
    assert str(found) == f"no dependence between {found.cause} and {found.effect} was found"


def test_nothing_is_claimed_where_nothing_can_be_known():
    """A linear-Gaussian pair has no direction; a variable and its discretised copy differ by hundreds of nats."""
    for seed in range(10):
        x, y = linear_pair(seed)
        linear, copy = direction(x, y), direction(x, np.digitize(x, [-1, 0, 1]))
        assert linear.gain > 10
        assert not linear.is_claimed
        assert copy.preference > 20
        assert not copy.is_claimed
        assert copy.probability == 0.5


def edge_frame(n=100):
    """x - y can go either way; t and u point at v."""
    x, y = wiggly_pair(7, n)
    rng = np.random.default_rng(8)
    t, u = rng.normal(size=(2, n))
    v = t * u + 0.2 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": y, "t": t, "u": u, "v": v})


def test_undirected_edges_have_a_preference_and_a_probability():
    result = discover(edge_frame(), "learned", workers=1, max_parents=2)
    score = LearnedKernelScore(result.data)
    edges = {frozenset((e.source, e.target)): e for e in result.edge_list}
    loose = edges[frozenset("xy")]
    assert not loose.directed
    a, b = loose.source, loose.target
    forth = score.local_score(a, []) + score.local_score(b, [a])
    back = score.local_score(b, []) + score.local_score(a, [b])
    assert loose.preference == pytest.approx(forth - back, abs=0.05)
    assert loose.probability == probability(loose.preference, loose.gain, loose.bandwidth, CONTINUOUS, "values")
    assert edges[frozenset("tv")].directed
    for edge in result.edge_list:
        assert (edge.preference is None) == (edge.probability is None) == edge.directed


def test_edges_run_as_the_score_prefers():
    places = set()
    for seed in range(5):
        result = discover(np.column_stack(wiggly_pair(seed, 60)), workers=1)
        (edge,) = result.edge_list
        assert (edge.source, edge.target) == ("x1", "x2")
        assert edge.preference > 10
        places.add(result.data.canonical.index("x1"))
    assert places == {0, 1}, "whichever of the two the search looks at first"


@pytest.mark.parametrize("score", ["gp", "bic", "marginal"])
def test_scores_that_were_not_calibrated_have_no_probability(score):
    result = discover(edge_frame(80)[["x", "y"]], score=score, workers=1)
    preferences = [edge.preference for edge in result.edge_list]
    assert all(edge.probability is None for edge in result.edge_list)
    assert score == "bic" or (preferences and None not in preferences)


def test_an_edge_that_others_must_follow_is_judged_by_all_of_them():
    """Turning b - c turns a - b as well, which is strong and linear: what both prefer is little of what both gain."""
    for seed in range(2):
        rng = np.random.default_rng(seed)
        c = rng.uniform(-1, 1, size=300)
        b = 0.45 * c + rng.uniform(-1, 1, size=300)
        a = b + 0.4 * rng.uniform(-1, 1, size=300)
        result = discover(np.column_stack([a, b, c]), workers=1)
        assert all(edge.probability is None or edge.probability < 0.7 for edge in result.edge_list)


def test_a_score_that_was_not_calibrated_claims_nothing():
    x, y = wiggly_pair(0)
    assert direction(x, y, score="gp").probability == 0.5


def test_levels_have_a_curve_for_each_noise():
    rng = np.random.default_rng(3)
    data = Dataset.from_frame(pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"]))
    options = {"response_scaling": "levels", "discrete": "probability"}
    assert footing_of(LearnedKernelScore(data, **options, noise="local")) == "levels"
    assert footing_of(LearnedKernelScore(data, **options)) == "even levels"
