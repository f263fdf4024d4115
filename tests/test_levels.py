"""Responses by levels: cells of nearly equal numbers of rows, and the probability of the cell that a row is in."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerncause import Dataset, LearnedKernelScore, OptionError
from kerncause.data.views import MOST_HALVINGS, ROWS_OF_CELL, halvings, levelled

OPTIONS = {"response_scaling": "levels", "discrete": "probability", "noise_floor": "entropy", "evidence": "bic"}


def cells_of(columns):
    """The number of the cell of each row."""
    return np.unique(levelled(columns), axis=0, return_inverse=True)[1].ravel()


def draw(n=200, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": np.sin(2 * a) + 0.3 * rng.normal(size=n), "c": rng.normal(size=n)})


# Cells


@pytest.mark.parametrize(("n", "cells"), [(20, 2), (95, 4), (96, 8), (200, 16), (383, 16), (384, 32), (100_000, 32)])
def test_there_are_more_cells_where_there_are_more_rows(n, cells):
    assert 2 ** halvings(n) == cells
    assert 2 <= cells <= 2**MOST_HALVINGS


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_cells_of_different_values_are_equally_full(columns):
    values = np.random.default_rng(columns).normal(size=(200, columns))
    counts = np.bincount(cells_of(values))
    assert len(counts) == 16
    assert set(counts) == {12, 13}
    assert counts.min() >= ROWS_OF_CELL


def test_the_cells_of_a_number_are_its_quantiles():
    values = np.random.default_rng(3).exponential(size=(192, 1))
    cells = cells_of(values)
    order = np.argsort(values[:, 0])
    np.testing.assert_array_equal(cells[order], np.repeat(np.arange(16), 12))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-2, 2)), min_size=30, max_size=120), st.randoms())
def test_equal_rows_are_in_one_cell_whatever_the_order_of_rows(rows, chance):
    values = np.array(rows, dtype=float)
    if values.std(axis=0).min() == 0.0:
        return
    middles = levelled(values)
    for row in np.unique(values, axis=0):
        assert len(np.unique(middles[(values == row).all(axis=1)], axis=0)) == 1
    shuffled = chance.sample(range(len(values)), len(values))
    np.testing.assert_allclose(levelled(values[shuffled]), middles[shuffled], atol=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([np.exp, np.cbrt, lambda v: 3 * v - 7]))
def test_an_increasing_function_of_columns_changes_nothing(seed, function):
    values = np.random.default_rng(seed).normal(size=(60, 2))
    np.testing.assert_allclose(levelled(function(values)), levelled(values), atol=1e-12)


def test_rows_with_gaps_belong_to_no_cell():
    values = np.random.default_rng(5).normal(size=(80, 2))
    with_gaps = np.vstack([values, [[np.nan, 1.0], [0.0, np.nan]]])
    middles = levelled(with_gaps)
    assert np.isnan(middles[-2:]).all()
    np.testing.assert_allclose(middles[:-2], levelled(values))


def test_rows_that_are_counted_are_in_the_same_cells():
    rng = np.random.default_rng(6)
    data = Dataset.from_frame(
        pd.DataFrame(rng.integers(0, 4, size=(400, 2)) / 3.1, columns=["a", "b"]),
        kinds={"a": "continuous", "b": "continuous"},
    )
    assert data.compact.weights is not None
    plain, counted = (one.seen(response_scaling="levels") for one in (data, data.compact))
    np.testing.assert_allclose(counted.repeated().response("a").values, plain.response("a").values)


# The score


@pytest.mark.parametrize("parents", [[], ["a"], ["a", "c"]])
def test_it_is_the_score_of_a_discrete_variable_with_those_levels(parents):
    frame = draw()
    numbers = LearnedKernelScore(Dataset.from_frame(frame), **OPTIONS)
    written = frame.assign(b=levelled(frame[["b"]].to_numpy())[:, 0])
    discrete = LearnedKernelScore(Dataset.from_frame(written, kinds={"b": "ordinal"}), **OPTIONS)
    assert numbers.local_score("b", parents) == pytest.approx(discrete.local_score("b", parents), abs=0.05)


def test_without_parents_it_is_the_entropy_and_no_parents_are_worth_more():
    score = LearnedKernelScore(Dataset.from_frame(draw(192)), **{**OPTIONS, "evidence": "none"})
    alone = score.fit("b", [])
    assert alone.is_probability
    assert alone.value == pytest.approx(-192 * np.log(16))
    assert alone.value < score.fit("b", ["a"]).value < 0.0


def test_a_parent_that_says_nothing_gains_nothing_and_a_cause_does():
    score = LearnedKernelScore(Dataset.from_frame(draw()), **OPTIONS)
    assert score.local_score("b", ["c"]) < score.local_score("b")
    assert score.local_score("b", ["a"]) > score.local_score("b") + 20.0


def test_a_number_and_a_discrete_variable_explain_each_other_alike():
    """By ranks the gains differ by 100 nats, and every edge between the two kinds points at the discrete variable."""
    rng = np.random.default_rng(8)
    level = rng.integers(0, 5, size=400)
    frame = pd.DataFrame(
        {
            "level": level,
            "x": np.array([0, 4, 1, 6, 2])[level] + np.array([1, 3, 5, 2, 8])[level] * 0.2 * rng.normal(size=400),
        }
    )
    gaps = {}
    for scale in ("rank", "levels"):
        score = LearnedKernelScore(Dataset.from_frame(frame), **{**OPTIONS, "response_scaling": scale})
        to_number, to_level = (
            score.local_score(y, [x]) - score.local_score(y) for y, x in (("x", "level"), ("level", "x"))
        )
        gaps[scale] = abs(to_number - to_level)
    assert gaps["levels"] < 0.35 * gaps["rank"]


def test_vectors_have_levels_too():
    rng = np.random.default_rng(9)
    a = rng.normal(size=(200, 2))
    frame = pd.DataFrame(
        {"u.1": a[:, 0], "u.2": a[:, 1], "v.1": a[:, 0] ** 2 + 0.2 * rng.normal(size=200), "v.2": rng.normal(size=200)}
    )
    data = Dataset.from_frame(frame, groups={"u": ["u.1", "u.2"], "v": ["v.1", "v.2"]})
    score = LearnedKernelScore(data, **OPTIONS)
    assert score.fit("v", ["u"]).is_probability
    assert len(score.data.response("v").distinct) == 16
    assert score.local_score("v", ["u"]) > score.local_score("v") + 5.0


def test_levels_need_probabilities_and_are_no_scale_of_causes():
    data = Dataset.from_frame(draw(40))
    with pytest.raises(OptionError, match="say discrete=probability"):
        LearnedKernelScore(data, response_scaling="levels")
    with pytest.raises(OptionError, match="scaling cannot be 'levels': the choices are standard"):
        LearnedKernelScore(data, scaling="levels", discrete="probability")
