"""Vectors whose columns are explained one after the other: the chain rule, and everything that a fit goes through."""

import json

import numpy as np
import pandas as pd
import pytest

import kerncause
from kerncause import Dataset, LearnedKernelScore, OptionError, discover
from kerncause.data import EARLIER
from kerncause.scores import Ledger
from kerncause.scores.base import LocalFit
from kerncause.scores.cache import _written
from kerncause.scores.warm import WarmScore, Whole

LEVELS = {"response_scaling": "levels", "discrete": "probability", "noise_floor": "entropy", "kernel": "auto"}
PLAIN = {"kernel": "direction"}


def warm(rows=150, seed=3):
    """Two causes, and two thermometers that each know both, in another way."""
    rng = np.random.default_rng(seed)
    load, hall, other = rng.normal(size=(3, rows))
    warmth = np.column_stack([0.7 * load + 0.6 * hall, 0.4 * load**2 + 0.8 * hall])
    warmth += 0.35 * rng.normal(size=(rows, 2))
    return pd.DataFrame({"load": load, "hall": hall, "in": warmth[:, 0], "out": warmth[:, 1], "other": other})


def grouped(frame, columns=("in", "out"), **options):
    return Dataset.from_frame(frame, groups={"warmth": list(columns)}, **options)


def in_turn(data, **options):
    return LearnedKernelScore(data, vectors="in-turn", **options)


@pytest.mark.parametrize("options", [PLAIN, LEVELS, {**LEVELS, "noise": "local"}, {**LEVELS, "evidence": "bic"}])
@pytest.mark.parametrize("parents", [[], ["load"], ["load", "hall"]])
def test_it_is_the_sum_over_columns_each_given_those_before(options, parents):
    frame = warm()
    data = grouped(frame)
    columns = [(*frame.columns,).index(name) for name in ("in", "out")]
    first, second = ("in", "out") if data.columns_of("warmth")[0] == min(columns) else ("out", "in")
    tolerance = {"tolerance": 0.001}
    alone = LearnedKernelScore(Dataset.from_frame(frame), **options, **tolerance)
    one, two = alone.fit(first, parents), alone.fit(second, [*parents, first])
    none = alone.fit(second, [first])
    assert two.value + two.complexity > none.value + none.complexity or not parents
    fit = in_turn(data, **options, **tolerance).fit("warmth", parents)
    # Being one of many is charged for once: one of three others here, one of four, or two of them, in the plain table.
    value, of_many = one.value + two.value, 0.0
    if "evidence" in options:
        d = 0.5 * np.log(len(frame))
        of_many = (one.complexity - len(parents) * d) + (two.complexity - (len(parents) + 1) * d)
        of_many -= np.log([1, 3, 3][len(parents)])
        of_many -= np.log(2) * bool(parents)  # the second column might have had no parents
    assert fit.value == pytest.approx(value + of_many, abs=0.02)
    assert len(fit.turns) == 2
    assert set(fit.bandwidths) == set(parents)
    assert fit.is_settled
    assert fit.certified


@pytest.mark.parametrize("evidence", ["none", "bic"])
def test_a_column_that_tells_nothing_more_has_no_parents(evidence):
    rng = np.random.default_rng(4)
    a, b, c = rng.normal(size=(3, 120))
    signal = np.sin(2 * (a + b + c)) + 0.1 * rng.normal(size=120)
    frame = pd.DataFrame({"a": a, "b": b, "c": c, "in": signal, "out": signal + 1e-3 * rng.normal(size=120)})
    score = in_turn(grouped(frame), evidence=evidence, **LEVELS)
    fit = score.fit("warmth", ["a", "b", "c"])
    assert set(fit.bandwidths) == {"a", "b", "c"}
    if evidence == "bic":
        assert set(fit.turns[1].bandwidths) == {EARLIER}
        due = fit.value - sum(turn.value for turn in fit.turns)
        assert due == pytest.approx(-np.log(2))
    again = score.settled("warmth", ["a", "b", "c"], score.fit("warmth", ["a", "b", "c"], settle=False))
    assert again.value == pytest.approx(fit.value, abs=1e-9)


def test_columns_in_turn_tell_what_is_a_cause_of_both():
    data = grouped(warm())
    found = discover(
        data,
        score="learned",
        search="exact",
        workers=1,
        score_options={**LEVELS, "evidence": "bic", "vectors": "in-turn"},
    )
    assert set(found.graph.directed_edges) == {("load", "warmth"), ("hall", "warmth")}
    assert not found.graph.undirected_edges


def test_the_adaptive_preset_takes_columns_in_turn():
    found = discover(warm(), groups={"warmth": ["in", "out"]}, preset="adaptive", workers=1)
    assert set(found.graph.directed_edges) == {("load", "warmth"), ("hall", "warmth")}
    assert found.fits["warmth"].turns
    assert found.settings["score_options"]["noise"] == "even"


def test_the_order_of_columns_and_rows_changes_nothing():
    frame = warm(90)
    there = in_turn(grouped(frame), **LEVELS).fit("warmth", ["load", "hall"])
    turned = in_turn(grouped(frame.iloc[::-1, ::-1], ("out", "in")), **LEVELS).fit("warmth", ["hall", "load"])
    assert turned.value == there.value


def test_a_number_is_what_it_was():
    data = grouped(warm(90))
    for options in (PLAIN, LEVELS):
        whole, turns = LearnedKernelScore(data, **options), in_turn(data, **options)
        assert turns.fit("load", ["warmth", "hall"]).value == whole.fit("load", ["warmth", "hall"]).value
        assert not turns.fit("load", ["warmth"]).turns


@pytest.mark.parametrize("rows", [120, 600])
def test_a_provisional_fit_is_settled_column_by_column(rows):
    score = in_turn(grouped(warm(rows)), **PLAIN)
    ledger = Ledger.of(score)
    parents = frozenset({"load", "hall"})
    rough = ledger.rough_fit("warmth", parents)
    final = ledger.fit("warmth", parents)
    assert final.is_settled
    assert final.value == pytest.approx(score.fit("warmth", parents).value, abs=1e-9)
    assert abs(final.value - rough.value) <= rough.error_bound + 1e-9
    assert final.before_settling == rough
    assert score.settled("warmth", parents, final) == final


def test_a_fit_comes_back_from_text():
    fit = in_turn(grouped(warm(80)), **LEVELS).fit("warmth", ["load", "hall"])
    again = LocalFit.from_json(json.loads(_written(fit)))
    assert again == fit
    assert again.turns[1].bandwidths == fit.turns[1].bandwidths
    assert EARLIER in again.turns[1].bandwidths


def test_half_of_the_rows_begins_where_all_ended():
    data = grouped(warm(300))
    whole = in_turn(data, **PLAIN)
    half = in_turn(data.seen(vectors="in-turn").sampled(np.random.default_rng(0)), **PLAIN)
    fit = WarmScore(half, Whole(whole, Ledger.of(whole))).fit("warmth", ["load", "hall"])
    assert len(fit.turns) == 2
    assert fit.rows == 150
    assert fit.value == pytest.approx(half.fit("warmth", ["load", "hall"]).value, abs=0.3)


def test_rows_that_lack_one_column_lack_the_vector():
    frame = warm(120)
    frame.loc[:9, "in"] = np.nan
    frame.loc[5:14, "out"] = np.nan
    frame.loc[100:109, "load"] = np.nan
    fit = in_turn(grouped(frame, missing="testwise"), **PLAIN).fit("warmth", ["load"])
    assert {fit.rows, *(turn.rows for turn in fit.turns)} == {95}


def test_columns_with_and_without_parents_are_compared_on_the_same_rows():
    """One column has nothing to do with the parent, which half of the rows lack."""
    rng = np.random.default_rng(0)
    u = rng.normal(size=160)
    frame = pd.DataFrame({"u": u, "a": np.sin(u), "b": u, "c": 0.0}) + 0.2 * rng.normal(size=(160, 4))
    frame.loc[:79, "u"] = np.nan
    data = Dataset.from_frame(frame, groups={"v": ["a", "b", "c"]}, missing="testwise")
    score = in_turn(data, evidence="bic", **LEVELS)
    fit, on_these = score.fit("v", ["u"]), score.restricted_to({"v", "u"}).fit("v", ["u"])
    assert {turn.rows for turn in fit.turns} == {80}
    assert fit == on_these
    assert score.settled("v", ["u"], fit.before_settling) == fit
    assert score.fit("v", []).rows == 160


def test_what_a_column_is_worth_without_parents_is_computed_once(monkeypatch):
    asked = []
    fit = LearnedKernelScore.fit

    def counted(score, target, parents=(), *more, **options):
        asked.append(tuple(parents))
        return fit(score, target, parents, *more, **options)

    monkeypatch.setattr(LearnedKernelScore, "fit", counted)
    ledger = Ledger.of(in_turn(grouped(warm(60)), **PLAIN))
    for parents in ([], ["load"], ["hall"], ["load", "hall"]):
        ledger.fit("warmth", parents)
    assert asked.count((EARLIER,)) == 1


def test_gaussians_are_not_fitted_to_several_parents_of_many_dimensions():
    """A vector has as many as columns; a category is one, however many values it has."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 5)), columns=list("abcxy"))
    frame["k"] = rng.choice(list("pqrst"), 60)
    data = Dataset.from_frame(frame, groups={"v": ["a", "b", "c"]})
    score = LearnedKernelScore(data, kernel="auto", categories="delta")
    for parents, is_tried in ((["v"], True), (["v", "y"], False), (["k", "y"], True)):
        fit = score.fit("x", parents)
        assert ("gaussian" in {fit.kernel, *([fit.rival.kernel] if fit.rival else [])}) == is_tried


def test_a_column_with_one_value_has_nothing_to_explain_and_its_parents_are_paid_for_all_the_same():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, 4)), columns=["c", "d", "e", "f"])
    frame["a"], frame["b"] = 1.0, frame["c"] + 0.3 * rng.normal(size=60)
    frame.loc[40:, "a"] = rng.normal(size=20)
    frame.loc[40:, "c"] = np.nan
    data = Dataset.from_frame(frame, groups={"v": ["a", "b"]}, missing="testwise")
    score = in_turn(data, evidence="bic", **LEVELS).restricted_to({"v", "c"})
    alone, given = score.fit("v"), score.fit("v", ["c"])
    assert sorted(turn.evaluations > 0 for turn in given.turns) == [False, True]
    assert given.is_probability
    assert given.complexity - alone.complexity == pytest.approx(0.5 * np.log(40) + np.log(4) + np.log(2))
    assert score.settled("v", ["c"], score.fit("v", ["c"], settle=False)).value == pytest.approx(given.value)


def test_what_is_said_of_turns_is_said_of_the_vector():
    def turn(**told):
        return LocalFit(-1.0, {"p": 1.0, EARLIER: 2.0}, **told)

    rival = LocalFit(-2.0)
    both = LocalFit.of_turns([turn(at_bounds=("p", "noise")), turn(at_bounds=(EARLIER, "response"))], ["p"])
    assert both.at_bounds == ("p", "noise", "response")
    assert not LocalFit.of_turns([turn(), turn(starts_disagree=True, rival=rival)], ["p"]).starts_disagree
    assert LocalFit.of_turns([turn(), turn(starts_disagree=True)], ["p"]).starts_disagree


def test_a_result_with_turns_is_shown_saved_and_read_back(tmp_path):
    frame = warm(80)
    options = {**LEVELS, "evidence": "bic", "vectors": "in-turn"}
    found = discover(
        frame, groups={"warmth": ["in", "out"]}, score="learned", score_options=options, confidence=2, workers=1
    )
    assert "warmth" in repr(found.explain("load", "warmth"))
    found.save(tmp_path / "result")
    found.report(tmp_path / "report.html")
    again = kerncause.load_result(tmp_path / "result", frame)
    assert again.graph == found.graph
    assert again.fits["warmth"].turns
    assert again.fits["warmth"] == found.fits["warmth"]
    assert "\0" not in (tmp_path / "report.html").read_text()


def test_what_there_is_no_single_model_for_is_refused():
    score = in_turn(grouped(warm(60)), **PLAIN)
    fit = score.fit("warmth", ["load"])
    for ask in (lambda: score.residuals("warmth", ["load"]), lambda: score.evaluate("warmth", ["load"], fit)):
        with pytest.raises(OptionError, match="the columns of 'warmth' are explained one after the other"):
            ask()
    with pytest.raises(OptionError, match="vectors cannot be 'odd': choose whole or in-turn"):
        LearnedKernelScore(grouped(warm(60)), vectors="odd")


def test_nothing_to_explain_is_nothing():
    fits = [LocalFit(-2.0, error_bound=0.1), LocalFit(-3.0, certified=False, error_bound=0.2)]
    both = LocalFit.of_turns(fits, ["a"])
    assert (both.value, both.certified, both.bandwidths) == (-5.0, False, {})
    assert both.error_bound == pytest.approx(0.3)
