"""How scores see a table: scales that forget what they claim to, and categories that are the same or different."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerncause import Dataset, LearnedKernelScore, OptionError
from kerncause.data.views import SCALINGS
from kerncause.linalg import squared_distances


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    colour = rng.choice(["red", "green", "blue", "grey"], size=n)
    worth = pd.Series(colour).map({"red": 0.0, "green": 2.0, "blue": -1.0, "grey": 1.0}).to_numpy()
    return pd.DataFrame({"colour": colour, "flag": rng.random(n) < 0.4, "x": worth + 0.3 * rng.normal(size=n)})


@pytest.mark.parametrize("scaling", list(SCALINGS))
def test_every_scale_is_standardised(scaling):
    frame = pd.DataFrame({"a": np.random.default_rng(1).standard_t(2, size=200), "b": np.linspace(0, 1, 200) ** 3})
    seen = Dataset.from_frame(frame).seen(scaling)
    np.testing.assert_allclose(seen.values.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(seen.values.std(axis=0), 1)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(-50, 50), min_size=25, max_size=60), st.sampled_from([np.exp, np.cbrt, lambda v: 3 * v - 7])
)
def test_ranks_do_not_see_an_increasing_function(numbers, function):
    column = np.array(numbers) / 10 + np.arange(len(numbers)) * 1e-3
    tables = [Dataset.from_frame(pd.DataFrame({"a": v, "b": np.sin(column)})) for v in (column, function(column))]
    seen = [data.seen("rank").points("a").values[np.argsort(data.row_order)] for data in tables]
    np.testing.assert_allclose(*seen, atol=1e-12)


def test_the_score_of_ranks_is_the_same_for_any_increasing_function():
    rng = np.random.default_rng(2)
    a = rng.normal(size=80)
    frame = pd.DataFrame({"a": a, "b": a**2 + 0.2 * rng.normal(size=80)})
    values = [
        LearnedKernelScore(Dataset.from_frame(f), scaling="rank").local_score("b", ["a"])
        for f in (frame, frame.assign(a=np.exp(frame["a"]), b=frame["b"] ** 3))
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-6)


def test_categories_that_differ_are_equally_far_apart_and_two_are_where_their_codes_are():
    data = Dataset.from_frame(table())
    seen = data.seen(categories="delta")
    distances = squared_distances(seen.points("colour").distinct)[np.triu_indices(4, 1)]
    assert np.ptp(distances) < 1e-12
    assert np.mean(squared_distances(seen.points("colour").values)) == pytest.approx(2.0)
    np.testing.assert_array_equal(seen.points("flag").values, data.points("flag").values)
    np.testing.assert_array_equal(seen.points("x").values, data.points("x").values)


def test_names_of_categories_say_nothing():
    frame = table(120)
    renamed = frame.assign(
        colour=frame["colour"].map({"red": "4", "green": "b", "blue": "z", "grey": "a"}).astype("category")
    )
    for kernel in ("gaussian", "auto"):
        values = [
            LearnedKernelScore(Dataset.from_frame(f), categories="delta", kernel=kernel).local_score(
                "x", ["colour", "flag"]
            )
            for f in (frame, renamed)
        ]
        assert values[0] == pytest.approx(values[1], abs=0.02)


def test_codes_hide_what_categories_are_worth():
    data = Dataset.from_frame(table(200))
    as_codes, as_delta = (LearnedKernelScore(data, categories=c) for c in ("codes", "delta"))
    gain = [s.local_score("colour", ["x"]) - s.local_score("colour") for s in (as_codes, as_delta)]
    assert gain[1] > gain[0] > 0


def test_a_response_of_categories_has_a_fixed_kernel_and_needs_no_jacobian():
    data = Dataset.from_frame(table(150))
    fit = LearnedKernelScore(data, categories="delta").fit("colour", ["x"])
    assert fit.response_bandwidth == pytest.approx(
        2 * np.sqrt(squared_distances(data.seen(categories="delta").points("colour").distinct)[0, 1])
    )
    engines = [
        LearnedKernelScore(data, categories="delta", engine=e).evaluate("colour", ["x"], fit)[0]
        for e in ("dense", "compressed")
    ]
    assert engines[0] == pytest.approx(engines[1], abs=1e-8)


def test_parts_of_a_table_are_seen_on_the_scale_of_the_whole():
    frame = table(80)
    frame.loc[:9, "x"] = np.nan
    data = Dataset.from_frame(frame, missing="testwise").seen("rank", "delta")
    part = data.complete_for({"x"})
    assert part.view == data.view
    there = np.isin(data.row_order, part.row_order)
    np.testing.assert_array_equal(part.points("x").values, data.points("x").values[there])
    np.testing.assert_array_equal(part.points("colour").values, data.points("colour").values[there])
    score = LearnedKernelScore(Dataset.from_frame(frame, missing="testwise"), scaling="rank", categories="delta")
    assert score.restricted_to({"x"}).data.view == ("rank", "delta", "rank", "whole")


def test_counted_rows_are_seen_like_repeated_ones():
    frame = pd.concat([table(30)] * 4, ignore_index=True)
    data = Dataset.from_frame(frame)
    compact = data.compact
    assert compact.weights is not None
    for name in ("x", "colour"):
        np.testing.assert_allclose(
            np.sort(compact.seen("rank", "delta").repeated().points(name).values, axis=0),
            np.sort(data.seen("rank", "delta").points(name).values, axis=0),
        )


def test_unknown_views_are_refused():
    data = Dataset.from_frame(table())
    with pytest.raises(OptionError, match="scaling cannot be 'log'"):
        data.seen("log")
    with pytest.raises(OptionError, match="categories cannot be"):
        LearnedKernelScore(data, categories="hot")
    with pytest.raises(OptionError, match="seen in another way"):
        data.seen("rank").seen("power")
