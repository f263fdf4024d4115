"""Local scores that outlive the process."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import kerncause
from kerncause import KerncauseError, OptionError, discover, make_score
from kerncause.cli import app
from kerncause.data import Dataset
from kerncause.scores import Ledger, LocalFit, ScoreCache, answer
from kerncause.scores import cache as module
from kerncause.scores.cache import _read, _written
from kerncause.scores.ledger import Query

runner = CliRunner()
LONG = pytest.mark.long


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=n)
    b = np.tanh(2 * a) + 0.4 * rng.normal(size=n)
    c = a * b + 0.4 * rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": b + rng.normal(size=n)})


class Counted:
    """A batch that computes here and remembers what it was asked for."""

    def __init__(self, score):
        self.score, self.asked = score, []

    def __call__(self, queries):
        for query in queries:
            self.asked.append(query)
            yield query, answer(self.score, query)


def whole(fit):
    """All of a fit, also what `==` leaves out."""
    return (fit, fit.curvature, None if fit.provisional is None else whole(fit.provisional))


def test_a_second_search_computes_nothing_and_finds_the_same(tmp_path):
    plain = discover(table(), "learned", workers=1)
    first = discover(table(), "learned", workers=1, cache=tmp_path / "scores.sqlite")
    score = make_score("learned", Dataset.from_frame(table()))
    with ScoreCache.opened(tmp_path / "scores.sqlite") as cache:
        inner = Counted(score)
        outcome = kerncause.ges(Ledger(score, cache.shelf(score).batch(inner)))
        assert not inner.asked
    second = discover(table(), "learned", workers=1, cache=tmp_path / "scores.sqlite")
    for found in (first, second):
        assert found.edge_list == plain.edge_list
        assert found.trace == plain.trace
        assert {name: whole(fit) for name, fit in found.fits.items()} == {n: whole(f) for n, f in plain.fits.items()}
    assert outcome.trace == plain.trace


@pytest.mark.parametrize("score", ["learned", "marginal", "cv", "bic"])
@pytest.mark.parametrize("gaps", [False, True])
def test_every_score_comes_back_bit_by_bit(score, gaps, tmp_path):
    frame = table(40)
    if gaps:
        frame.loc[::7, "b"] = np.nan
    data = Dataset.from_frame(frame, missing="testwise")
    subject = make_score(score, data)
    queries = [
        Query("c", parents, scope)
        for parents in (frozenset(), frozenset({"a"}), frozenset({"a", "b"}))
        for scope in ([frozenset(), frozenset({"b"})] if gaps else [frozenset()])
    ]
    with ScoreCache.opened(tmp_path / "s") as cache:
        fresh = dict(cache.shelf(subject).batch(Counted(subject))(queries))
        settle = [replace(q, provisional=f) for q, f in fresh.items() if not f.is_settled]
        settled = dict(cache.shelf(subject).batch(Counted(subject))(settle))
    with ScoreCache.opened(tmp_path / "s") as cache:
        inner = Counted(subject)
        shelf = cache.shelf(make_score(score, data))
        again = dict(shelf.batch(inner)(queries))
        settled_again = dict(shelf.batch(inner)(settle))
        assert not inner.asked
        assert shelf.hits == len(queries) + len(settle)
    assert {q: whole(f) for q, f in again.items()} == {q: whole(f) for q, f in fresh.items()}
    assert {q: whole(f) for q, f in settled_again.items()} == {q: whole(f) for q, f in settled.items()}


numbers = st.floats(allow_nan=False)


@given(
    st.builds(
        LocalFit,
        value=numbers,
        bandwidths=st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), numbers),
        noise=st.none() | numbers,
        error_bound=numbers,
        at_bounds=st.lists(st.text(), max_size=3).map(tuple),
        curvature=st.none() | st.lists(st.lists(numbers, max_size=3).map(tuple), max_size=3).map(tuple),
        is_settled=st.booleans(),
    )
)
def test_a_fit_can_be_written_and_read(fit):
    assert whole(_read(_written(fit), Query("x", frozenset()))) == whole(fit)


@pytest.mark.parametrize("other", ["data", "options", "version", "score"])
def test_a_score_is_found_only_where_nothing_differs(other, tmp_path, monkeypatch):
    path = tmp_path / "s"
    discover(table(), workers=1, cache=path)
    options = {"score": "marginal"} if other == "score" else {}
    if other == "options":
        options["score_options"] = {"tolerance": 0.02}
    if other == "version":
        monkeypatch.setattr(module, "SCORE_VERSION", 99)
    discover(table(seed=1 if other == "data" else 0), workers=1, cache=path, **options)
    with ScoreCache.opened(path) as cache:
        assert len(cache.holdings()) == 2


def test_other_names_and_orders_of_rows_are_no_other_table(tmp_path):
    discover(table(), workers=1, cache=tmp_path / "s")
    discover(table()[["d", "b", "a", "c"]].sample(frac=1, random_state=1), workers=1, cache=tmp_path / "s")
    with ScoreCache.opened(tmp_path / "s") as cache:
        assert len(cache.holdings()) == 1


def sqlite_of_others(path):
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE precious (a)")
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda path: path.write_text("my thesis\n" * 100), "is no file of scores"),
        (lambda path: path.write_bytes(b"SQLite format 3\0" + bytes(2000)), r"damaged|no file of scores"),
        (sqlite_of_others, "is no file of scores"),
        (lambda path: path.mkdir(), "is a directory"),
    ],
)
def test_a_file_of_others_is_refused_and_left_alone(make, says, tmp_path):
    make(tmp_path / "s")
    before = None if (tmp_path / "s").is_dir() else (tmp_path / "s").read_bytes()
    with pytest.raises(KerncauseError, match=says):
        discover(table(), workers=1, cache=tmp_path / "s")
    assert before is None or (tmp_path / "s").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["s"]


def test_a_flipped_bit_is_not_believed(tmp_path):
    discover(table(), workers=1, cache=tmp_path / "s")
    connection = sqlite3.connect(tmp_path / "s")
    connection.execute("UPDATE fits SET value = replace(value, '1', '2')")
    connection.commit()
    connection.close()
    with pytest.raises(KerncauseError, match="are damaged"):
        discover(table(), workers=1, cache=tmp_path / "s")


def test_a_torn_file_is_refused(tmp_path):
    discover(table(), workers=1, cache=tmp_path / "s")
    content = (tmp_path / "s").read_bytes()
    middle = len(content) // 2
    (tmp_path / "s").write_bytes(content[:middle] + os.urandom(len(content) - middle))
    with pytest.raises(KerncauseError, match=r"damaged|cannot use"):
        discover(table(), workers=1, cache=tmp_path / "s")


def put_many(shelf, fit):
    for k in range(100):
        shelf.put(Query("a", frozenset({str(k)})), fit)


def test_a_full_disk_is_told_and_nothing_is_lost(tmp_path):
    subject = make_score("bic", Dataset.from_frame(table()))
    fit = LocalFit(1.5, at_bounds=("x" * 2000,))
    with ScoreCache.opened(tmp_path / "s") as cache:
        shelf = cache.shelf(subject)
        shelf.put(Query("a", frozenset()), fit)
        cache.rows("PRAGMA max_page_count = 12")
        with pytest.raises(KerncauseError, match=r"'.*s' \(database or disk is full\).*what is in it is kept"):
            put_many(shelf, fit)
    with ScoreCache.opened(tmp_path / "s") as cache:
        shelf = cache.shelf(subject)
        assert shelf.get(Query("a", frozenset())) == fit
        assert 1 < cache.holdings()[0].fits < 100
        assert cache.rows("PRAGMA integrity_check") == [("ok",)]
        shelf.put(Query("b", frozenset()), fit)


def test_what_cannot_be_cached_is_refused(tmp_path):
    class Own:
        variables = ("a", "b", "c", "d")

        def local_score(self, target, parents):
            return 0.0

    with pytest.raises(OptionError, match="Own cannot be cached"):
        discover(table(), Own(), workers=1, cache=tmp_path / "s")
    with pytest.raises(OptionError, match="keeps local scores"):
        discover(table(), search="pc", test="fisher-z", workers=1, cache=tmp_path / "t")
    assert not (tmp_path / "t").exists()


SEARCH = """
    import json, os, sys
    import kerncause
    from kerncause.scores.cache import Shelf

    put, log = Shelf.put, os.open(sys.argv[3], os.O_CREAT | os.O_APPEND | os.O_WRONLY)

    def noted(self, query, fit):
        put(self, query, fit)
        os.write(log, (json.dumps(self._key(query)) + "\\n").encode())

    Shelf.put = noted
    result = kerncause.discover(sys.argv[1], search=sys.argv[4], workers=int(sys.argv[5]), cache=sys.argv[2])
    print(json.dumps([[e.source, e.target, e.directed, e.gain] for e in result.edge_list]))
"""


def searching(tmp_path, search="ges", workers=1, cache="s", log="log"):
    script = tmp_path / "search.py"
    script.write_text(textwrap.dedent(SEARCH))
    words = [sys.executable, script, tmp_path / "t.csv", tmp_path / cache, tmp_path / log, search, str(workers)]
    return subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize(
    ("search", "times"), [("ges", 2), pytest.param("ges", 10, marks=LONG), pytest.param("boss", 10, marks=LONG)]
)
def test_killed_at_any_moment_it_goes_on_and_ends_the_same(search, times, tmp_path):
    table(120).to_csv(tmp_path / "t.csv", index=False)
    begun = time.perf_counter()
    unbroken = json.loads(searching(tmp_path, search, cache="whole", log="whole.log").communicate()[0])
    lasted = time.perf_counter() - begun
    chance = random.Random(search)
    for _ in range(times):
        run = searching(tmp_path, search)
        try:
            run.wait(timeout=chance.uniform(0.1, 0.9) * lasted)
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGKILL)
        run.communicate()
    out, problem = searching(tmp_path, search).communicate()
    assert json.loads(out) == unbroken, problem
    computed = (tmp_path / "log").read_text().splitlines()
    assert len(set(computed)) == len(computed), "a score that was committed was computed again"
    assert sorted(computed) == sorted((tmp_path / "whole.log").read_text().splitlines())


def test_two_processes_share_a_file(tmp_path):
    table(80).to_csv(tmp_path / "t.csv", index=False)
    runs = [searching(tmp_path, search, log=f"{search}.log") for search in ("ges", "boss")]
    ended = [run.communicate() for run in runs]
    assert all(run.returncode == 0 for run in runs), ended
    keys = {line for name in ("ges.log", "boss.log") for line in (tmp_path / name).read_text().splitlines()}
    with ScoreCache.opened(tmp_path / "s") as cache:
        assert cache.rows("PRAGMA integrity_check") == [("ok",)]
        assert cache.rows("SELECT COUNT(*) FROM fits") == [(len(keys),)]


def test_workers_fill_the_same_file(tmp_path):
    table(80).to_csv(tmp_path / "t.csv", index=False)
    alone = searching(tmp_path, workers=1, cache="one", log="one.log").communicate()
    both = searching(tmp_path, workers=2, cache="two", log="two.log").communicate()
    assert json.loads(alone[0]) == json.loads(both[0])
    assert sorted((tmp_path / "one.log").read_text().splitlines()) == sorted(
        (tmp_path / "two.log").read_text().splitlines()
    )


def test_a_directory_keeps_the_scores_of_a_run(tmp_path):
    frame = table()
    plain = discover(frame, workers=1)
    discover(frame, workers=1, directory=tmp_path / "run")
    with ScoreCache.opened(tmp_path / "run" / "scores.sqlite") as cache:
        [holding] = cache.holdings()
    again = discover(frame, workers=1, directory=tmp_path / "run", resume=True)
    assert again.edge_list == plain.edge_list
    with ScoreCache.opened(tmp_path / "run" / "scores.sqlite") as cache:
        assert cache.holdings()[0].fits == holding.fits
    elsewhere = tmp_path / "own.sqlite"
    discover(frame, workers=1, directory=tmp_path / "other", cache=elsewhere)
    assert elsewhere.exists()
    assert not (tmp_path / "other").exists()


def run(*words):
    return runner.invoke(app, [str(word) for word in words])


def test_the_commands(tmp_path):
    table().to_csv(tmp_path / "t.csv", index=False)
    ran = run("discover", tmp_path / "t.csv", "--cache", tmp_path / "s", "--workers", 1, "-q")
    assert ran.exit_code == 0, ran.output
    said = run("cache", "info", tmp_path / "s").output
    assert "LearnedKernelScore" in said
    assert kerncause.read_table(tmp_path / "t.csv").hash[:12] in said
    assert "0 scores removed" in run("cache", "prune", tmp_path / "s", "--unused", "1d").output
    time.sleep(0.01)
    assert "0 scores removed" not in run("cache", "prune", tmp_path / "s", "--unused", "0m").output
    assert run("cache", "info", tmp_path / "s").output.startswith("0 scores")
    for words in (["prune", tmp_path / "s", "--unused", "soon"], ["info", tmp_path / "none"]):
        ran = run("cache", *words)
        assert ran.exit_code != 0
        assert len(ran.output.strip().splitlines()) <= 3
    assert not (tmp_path / "none").exists()


def test_pruning_under_a_run_that_goes_on_misleads_nobody(tmp_path):
    one, other = (make_score("bic", Dataset.from_frame(table(seed=seed))) for seed in (0, 1))
    query = Query("c", frozenset({"a"}))
    with ScoreCache.opened(tmp_path / "s") as cache:
        shelf = cache.shelf(one)
        time.sleep(0.01)
        cache.prune(timedelta(0))
        shelf.put(query, LocalFit(1.0))
        assert cache.shelf(other).get(query) is None
        assert cache.prune() == 1


def test_other_versions_are_pruned(tmp_path, monkeypatch):
    discover(table(), workers=1, cache=tmp_path / "s")
    monkeypatch.setattr(module, "SCORE_VERSION", 99)
    with ScoreCache.opened(tmp_path / "s") as cache:
        assert cache.prune() > 0
        assert not cache.holdings()


def test_scores_of_long_ago_can_be_asked_for(tmp_path):
    """Longer ago than there are dates: nothing is as old as that."""
    discover(table(), score="bic", workers=1, cache=tmp_path / "s")
    done = runner.invoke(app, ["cache", "prune", str(tmp_path / "s"), "--unused", "999999w"])
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("0 scores removed")


def test_a_file_with_words_that_cannot_be_read_is_called_damaged(tmp_path):
    discover(table(), score="bic", workers=1, cache=tmp_path / "s")
    with sqlite3.connect(tmp_path / "s") as connection:
        connection.execute("UPDATE subjects SET used = 'yesterday'")
    connection.close()
    done = runner.invoke(app, ["cache", "info", str(tmp_path / "s")])
    assert done.exit_code == 1
    assert "are damaged" in " ".join(done.stderr.split())


def test_what_is_no_place_for_a_file_is_said_as_it_is():
    done = runner.invoke(app, ["cache", "info", "/dev/null"])
    assert done.exit_code == 1
    assert "rollback" not in done.stderr


@pytest.mark.parametrize("may_write", [True, False])
def test_looking_at_a_file_writes_nothing(may_write, tmp_path, monkeypatch):
    place = tmp_path / "a place"
    discover(table(), score="bic", workers=1, cache=place / "s?#%.sqlite")
    (place / "empty").touch()
    for path in (*place.iterdir(), place):
        path.chmod(0o555 if path.is_dir() else 0o444)
    monkeypatch.setattr(module, "_may_write", lambda _: may_write)
    try:
        seen = runner.invoke(app, ["cache", "info", str(place / "s?#%.sqlite")])
        refused = runner.invoke(app, ["cache", "info", str(place / "empty")])
    finally:
        place.chmod(0o755)
    assert seen.exit_code == 0, seen.output
    assert "BICScore" in seen.stdout
    assert refused.exit_code == 1
    assert "is no file of scores" in " ".join(refused.stderr.split())
    assert (place / "empty").stat().st_size == 0


def test_what_lies_beside_a_file_is_part_of_its_size(tmp_path):
    with ScoreCache.opened(tmp_path / "s") as cache:
        cache.shelf(make_score("bic", Dataset.from_frame(table())))
        beside = tmp_path / "s-wal"
        assert beside.stat().st_size > 0
        assert cache.size == (tmp_path / "s").stat().st_size + beside.stat().st_size
