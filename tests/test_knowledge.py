from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kerncause import CPDAG, DAG, Dataset, LearnedKernelScore, OptionError
from kerncause.graphs import PDAG, Adjacency, completed, extensions
from kerncause.independence import SeparationOracle
from kerncause.knowledge import Knowledge, Limits, read_knowledge
from kerncause.search import boss, exact, ges, pc
from oracles import random_dag, separation_oracle
from test_ges import CLASSES, FOUR, RandomScore
from test_pc import Judged, RandomTest


def some(rng, items, most):
    return [items[k] for k in rng.permutation(len(items))[: rng.integers(0, most + 1)]]


def true_knowledge(rng, dag):
    """Some of what is true of a DAG; all knowledge without a contradiction is true of one."""
    others = [pair for pair in permutations(dag.nodes, 2) if pair not in dag.edges]
    cuts = sorted(rng.integers(0, len(dag.nodes) + 1, size=2))
    tiers = np.split(np.array(dag.topological_order), cuts) if rng.random() < 0.4 else []
    return Knowledge(
        tiers=[some(rng, tier.tolist(), len(tier)) for tier in tiers],
        required=some(rng, dag.edges, 2),
        forbidden=some(rng, others, 4),
        roots=some(rng, [v for v in dag.nodes if not dag.parents(v)], 1),
        leaves=some(rng, [v for v in dag.nodes if not dag.children(v)], 1),
    )


def random_knowledge(rng, variables):
    dag = random_dag(rng, len(variables), rng.uniform(0.1, 0.8))
    return true_knowledge(rng, DAG.of(variables, dag.adjacency))


def random_cases(seed, number, smallest=2, largest=7):
    rng = np.random.default_rng(seed)
    for _ in range(number):
        dag = random_dag(rng, int(rng.integers(smallest, largest + 1)), rng.uniform(0.1, 0.8))
        yield rng, dag, true_knowledge(rng, dag)


def may_be(knowledge, cause, effect):
    """What each part says, in the words of its description."""
    tier_of = {name: k for k, tier in enumerate(knowledge.tiers) for name in tier}
    return not (
        (cause, effect) in knowledge.forbidden
        or (effect, cause) in knowledge.required
        or tier_of.get(cause, -1) > tier_of.get(effect, np.inf)
        or effect in knowledge.roots
        or cause in knowledge.leaves
    )


def obeys(knowledge, dag):
    return all(may_be(knowledge, a, b) for a, b in dag.edges) and set(knowledge.required) <= set(dag.edges)


CONTRADICTIONS = {
    "a circle of required edges": (
        {"required": [("d", "a"), ("a", "b"), ("b", "c"), ("c", "a")]},
        r"go round in a circle, 'a' → 'b' → 'c' → 'a'",
    ),
    "required both ways": (
        {"required": [("a", "b"), ("b", "a")]},
        r"'a' → 'b' is required, but the other way round is",
    ),
    "required and forbidden": (
        {"required": [("a", "b")], "forbidden": [("a", "b")]},
        r"'a' → 'b' is required, but it is forbidden",
    ),
    "required against the tiers": (
        {"required": [("c", "a")], "tiers": [["a"], ["b"], ["c"]]},
        r"'c' → 'a' is required, but 'c' is in tier 3, 'a' in tier 1",
    ),
    "a root with a required cause": (
        {"required": [("a", "b")], "roots": ["b"]},
        r"'a' → 'b' is required, but 'b' is a root",
    ),
    "a leaf with a required effect": (
        {"required": [("a", "b")], "leaves": ["a"]},
        r"'a' → 'b' is required, but 'a' is a leaf",
    ),
    "in two tiers": ({"tiers": [["a", "b"], ["c", "a"]]}, r"'a' is in two tiers"),
    "twice in one tier": ({"tiers": [["b"], ["a", "a"]]}, r"tier 2 has 'a' twice"),
    "a root twice": ({"roots": ["a", "b", "a"]}, r"roots has 'a' twice"),
    "an edge to itself": ({"required": [("a", "a")]}, r"required has an edge from 'a' to itself"),
    "forbidden to itself": ({"forbidden": [("a", "a")]}, r"forbidden has an edge from 'a' to itself"),
    "roots as a word": ({"roots": "ab"}, r"roots is 'ab': give a list of names"),
    "leaves as a number": ({"leaves": 3}, r"leaves is '3': give a list of names"),
    "a tier as a word": ({"tiers": ["ab"]}, r"tier 1 is 'ab': give a list of names"),
    "a number in a tier": ({"tiers": [["a", 2]]}, r"tier 1 is .* give a list of names"),
    "a pair as a word": ({"required": ["ab"]}, r"required has 'ab': give pairs"),
    "three in a pair": ({"forbidden": [("a", "b", "c")]}, r"forbidden has .*: give pairs"),
    "a number in a pair": ({"forbidden": [("a", 1)]}, r"forbidden has .*: give pairs"),
    "pairs as a word": ({"required": "ab"}, r"required is 'ab': give a list of pairs"),
    "pairs as a number": ({"forbidden": 1}, r"forbidden is '1': give a list of pairs"),
    "an unknown part": ({"require": []}, r"no part 'require': the parts are tiers, required, forbidden, roots, leaves"),
}


@pytest.mark.parametrize(("parts", "words"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_what_cannot_be_is_refused_by_name(parts, words):
    with pytest.raises(OptionError, match=words):
        Knowledge.of(parts)


def test_tiers_that_are_no_list_are_refused():
    with pytest.raises(OptionError, match="tiers"):
        Knowledge.of({"tiers": 5})


def test_a_table_is_no_list_of_names():
    with pytest.raises(OptionError, match="roots"):
        Knowledge.of({"roots": {"a": "b"}})


def test_knowledge_is_given_as_such_or_in_parts_or_not_at_all():
    knowledge = Knowledge(tiers=[["a"], ["b", "c"]], required=[("a", "b")], leaves=["c"])
    assert Knowledge.of(knowledge) is knowledge
    assert Knowledge.of(knowledge.as_json()) == knowledge
    assert Knowledge.of(None) == Knowledge()
    assert (bool(knowledge), bool(Knowledge())) == (True, False)
    assert Knowledge().as_json() == {}
    with pytest.raises(OptionError, match="knowledge is a list"):
        Knowledge.of([("a", "b")])


def test_two_are_merged():
    one = Knowledge(tiers=[["a"], ["b"]], required=[("a", "b")], roots=["a"])
    two = Knowledge(required=[("b", "c"), ("a", "b")], forbidden=[("a", "c")], leaves=["c"])
    both = Knowledge([["a"], ["b"]], [("a", "b"), ("b", "c")], [("a", "c")], ["a"], ["c"])
    assert one | two == both
    assert {part: sorted(items) for part, items in (two | one).as_json().items()} == {
        part: sorted(items) for part, items in both.as_json().items()
    }
    assert one | Knowledge() == Knowledge() | one == one


def test_what_both_know_is_known_once():
    known = Knowledge(required=[("a", "b")], forbidden=[("c", "a")], roots=["a"], leaves=["b"])
    assert known | known == known


def test_two_that_contradict_each_other_are_not_merged():
    with pytest.raises(OptionError, match="'a' → 'b' is required, but it is forbidden"):
        Knowledge(required=[("a", "b")]) | Knowledge(forbidden=[("a", "b")])
    with pytest.raises(OptionError, match="tiers are given twice"):
        Knowledge(tiers=[["a"]]) | Knowledge(tiers=[["b"]])


FILE = """
tiers = [["age", "sex"], ["smoking"], ["cancer"]]
required = [["smoking", "cancer"]]
forbidden = [["age", "sex"]]
roots = ["sex"]
leaves = ["cancer"]
"""


def test_a_file_is_read(tmp_path):
    path = tmp_path / "known.toml"
    path.write_text("\ufeff" + FILE, encoding="utf-8")
    assert read_knowledge(path) == read_knowledge(str(path))
    assert read_knowledge(path) == Knowledge(
        [["age", "sex"], ["smoking"], ["cancer"]], [("smoking", "cancer")], [("age", "sex")], ["sex"], ["cancer"]
    )
    path.write_text("")
    assert read_knowledge(path) == Knowledge()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"tiers = =", "known.toml' is not TOML: .*line 1"),
        (b'roots = ["\xff"]', "cannot read the knowledge file '.*known.toml': it is no text in UTF-8"),
        (b'tier = [["a"]]', "known.toml': knowledge has no part 'tier'"),
        (b'required = [["a", "b"]]\nroots = ["b"]', "known.toml': 'a' → 'b' is required, but 'b' is a root"),
        (None, "cannot read the knowledge file '.*known.toml': No such file"),
    ],
    ids=["no toml", "no text", "no part", "contradiction", "no file"],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path, monkeypatch, content, words):
    monkeypatch.chdir(tmp_path)
    if content is not None:
        (tmp_path / "known.toml").write_bytes(content)
    with pytest.raises(OptionError, match=words):
        read_knowledge("known.toml")


@pytest.mark.parametrize(
    "parts",
    [
        {"tiers": [["a"], ["x"]]},
        {"required": [("a", "x")]},
        {"forbidden": [("x", "a")]},
        {"roots": ["x"]},
        {"leaves": ["x"]},
    ],
    ids=lambda parts: next(iter(parts)),
)
@pytest.mark.parametrize("search", [ges, boss, exact])
def test_variables_that_are_none_are_refused_by_every_search(parts, search):
    score = separation_oracle(np.random.default_rng(0), DAG("abc"))
    with pytest.raises(OptionError, match="knowledge speaks of 'x', which is no variable: the table has 'a', 'b' and"):
        search(score, knowledge=Knowledge(**parts))
    assert not score.asked
    with pytest.raises(OptionError, match="knowledge speaks of 'x'"):
        pc(SeparationOracle(DAG("abc")), knowledge=Knowledge(**parts))


@given(st.integers(1, 7), st.integers(0, 10**6))
@settings(max_examples=150)
def test_the_masks_say_what_the_parts_say(size, seed):
    names = tuple(f"v{i}" for i in range(size))
    rng = np.random.default_rng(seed)
    knowledge = random_knowledge(rng, names)
    order = tuple(str(name) for name in rng.permutation(names))
    limits = knowledge.limits(order)
    for (i, a), (j, b) in permutations(enumerate(order), 2):
        assert (knowledge.refuses(a, b) is None) == may_be(knowledge, a, b)
        assert limits.allowed[j] >> i & 1 == may_be(knowledge, a, b)
        assert limits.required[j] >> i & 1 == ((a, b) in knowledge.required)
    assert not any(limits.allowed[i] >> i & 1 or limits.required[i] >> i & 1 for i in range(size))
    least = DAG.of(order, limits.least())
    assert set(least.edges) == set(knowledge.required)
    assert limits.obeyed_by(least.adjacency)
    if not knowledge:
        assert limits.say_nothing
        assert limits == Limits.none(size)


def test_the_reasons_are_told():
    knowledge = Knowledge(
        tiers=[["a"], ["b"]], required=[("b", "c")], forbidden=[("a", "c")], roots=["d"], leaves=["e"]
    )
    edges = ["ac", "cb", "ba", "ad", "ea", "ab", "bc"]
    assert [knowledge.refuses(*edge) for edge in edges] == [
        "it is forbidden",
        "the other way round is required",
        "'b' is in tier 2, 'a' in tier 1",
        "'d' is a root",
        "'e' is a leaf",
        None,
        None,
    ]


def union(dags):
    """Each edge of the DAGs, both ways round if it goes one way in one and the other way in another."""
    return Adjacency.of(dags[0].size).changed(add=[arc for dag in dags for arc in dag.arcs()])


def test_a_class_is_directed_as_its_obeying_members_are():
    """Brute force over all classes of four nodes: the closed graph stands for exactly the members that obey."""
    names = tuple(f"v{i}" for i in range(4))
    rng = np.random.default_rng(41)
    kinds = set()
    for _ in range(40):
        knowledge = random_knowledge(rng, names)
        limits = knowledge.limits(names)
        lawful = {dag for dag in FOUR if obeys(knowledge, DAG.of(names, dag))}
        assert lawful == {dag for dag in FOUR if limits.obeyed_by(dag)}
        for graph, members in CLASSES.items():
            obeying = [dag for dag in members if dag in lawful]
            closed = limits.directed(graph)
            if not obeying:
                assert closed is None
                continue
            assert closed == union(obeying)
            assert set(extensions(closed)) == set(obeying)
            kinds.add((closed == graph, len(obeying) > 1))
    assert len(kinds) == 4


def test_nothing_known_directs_nothing():
    assert all(Limits.none(4).directed(graph) == graph for graph in CLASSES)


def test_what_a_graph_breaks_is_said_edge_by_edge():
    knowledge = Knowledge(tiers=[["a"], ["c"]], required=[("a", "b"), ("d", "c")], forbidden=[("b", "d")])
    assert knowledge.broken_by(PDAG("abcd", [("c", "a"), ("b", "d")], [("a", "b")])) == [
        "'b' → 'd' is there, though it is forbidden",
        "'c' → 'a' is there, though 'c' is in tier 2, 'a' in tier 1",
        "'b' → 'a' is there, though the other way round is required",
        "'a' → 'b' is required and not there",
        "'d' → 'c' is required and not there",
    ]
    assert knowledge.broken_by(PDAG("abcd", [("a", "b"), ("d", "c")], [("b", "c")])) == []
    assert Knowledge().broken_by(PDAG("ab", [], [("a", "b")])) == []


def test_a_graph_is_broken_if_some_member_does_not_obey():
    names = tuple(f"v{i}" for i in range(4))
    rng = np.random.default_rng(42)
    for _ in range(10):
        knowledge = random_knowledge(rng, names)
        for graph, members in CLASSES.items():
            assert bool(knowledge.broken_by(PDAG.of(names, graph))) == (
                not all(obeys(knowledge, DAG.of(names, dag)) for dag in members)
            )


def assert_lawful(outcome, knowledge, max_parents=None):
    graph, dag = outcome.graph, outcome.dag
    assert knowledge.broken_by(graph) == []
    assert obeys(knowledge, DAG(dag.nodes, dag.edges))
    assert set(graph.directed_edges) <= set(dag.edges)
    assert (graph.skeleton, graph.v_structures) == (dag.skeleton, dag.v_structures)
    assert knowledge.limits(dag.nodes).directed(completed(dag.adjacency)) == graph.adjacency
    assert isinstance(graph, CPDAG) or knowledge
    if max_parents is not None:
        assert max(len(dag.parents(v)) for v in dag.nodes) <= max_parents


@given(
    st.sampled_from(["ges", "turning", "boss", "exact"]),
    st.integers(2, 6),
    st.integers(0, 10**6),
    st.none() | st.integers(0, 2),
)
@settings(max_examples=200)
def test_every_search_ends_and_obeys_on_any_score(name, size, seed, more_parents):
    score = RandomScore(size, seed)
    knowledge = random_knowledge(np.random.default_rng(seed), score.variables)
    needed = max(len([pair for pair in knowledge.required if pair[1] == v]) for v in score.variables)
    max_parents = None if more_parents is None else needed + more_parents
    options = {"max_parents": max_parents, "knowledge": knowledge}
    if name == "boss":
        outcome = boss(score, restarts=0, **options)
    elif name == "exact":
        outcome = exact(score, **options)
    else:
        outcome = ges(score, turning=name == "turning", **options)
    assert_lawful(outcome, knowledge, max_parents)
    assert len(score.asked) == len(set(score.asked)), "a local score was computed twice"
    open_ = {frozenset(pair) for pair in outcome.graph.undirected_edges}
    assert {frozenset(pair) for pair in outcome.preferences} == open_
    assert set(outcome.preferences) <= set(outcome.dag.edges)


@pytest.mark.parametrize("search", [ges, boss, exact])
def test_more_required_parents_than_allowed_are_refused(search):
    knowledge = Knowledge(required=[("v0", "v2"), ("v1", "v2")])
    with pytest.raises(OptionError, match=r"max_parents .* is 1, but knowledge requires 2 parents"):
        search(RandomScore(3, 0), max_parents=1, knowledge=knowledge)


@given(st.integers(2, 7), st.integers(0, 10**6), st.none() | st.integers(0, 3), st.booleans())
@settings(max_examples=300)
def test_pc_obeys_on_any_test(size, seed, max_given, ties):
    rng = np.random.default_rng(seed)
    test = RandomTest([f"v{i}" for i in range(size)], seed, ties)
    knowledge = random_knowledge(rng, test.variables)
    outcome = pc(test, alpha=rng.uniform(0.05, 0.95), max_given=max_given, knowledge=knowledge)
    assert_lawful(outcome, knowledge)
    assert not {frozenset(pair) for pair in knowledge.required} & {pair for pair, _ in test.asked}
    removed = {frozenset((s.source, s.target)) for s in outcome.trace if s.operator == "remove"}
    never = {frozenset((a, b)) for a, b in combinations(test.variables, 2) if is_parted(knowledge, a, b)}
    assert outcome.graph.skeleton == {frozenset(p) for p in combinations(test.variables, 2)} - removed - never


def is_parted(knowledge, a, b):
    return not may_be(knowledge, a, b) and not may_be(knowledge, b, a)


def test_arrows_in_a_circle_lose_the_weakest():
    test = Judged("abc", {(frozenset(pair), frozenset()): p for pair, p in (("ab", 0.01), ("bc", 0.04), ("ac", 0.02))})
    knowledge = Knowledge(forbidden=[("b", "a"), ("c", "b"), ("a", "c")])
    outcome = pc(test, knowledge=knowledge)
    assert set(outcome.graph.directed_edges) == {("a", "b"), ("c", "a")}
    assert [(s.operator, s.source, s.target) for s in outcome.trace] == [("remove", "b", "c")]


def test_a_collider_that_tests_deny_is_one_if_it_is_known():
    test = Judged("abc", {(frozenset("ac"), frozenset("b")): 0.5})
    outcome = pc(test, knowledge=Knowledge(forbidden=[("b", "a"), ("b", "c")]))
    assert outcome.graph == DAG("abc", [("a", "b"), ("c", "b")])
    assert outcome.trace[-1].operator == "force"


def test_a_collider_that_tests_see_is_none_if_an_arrow_is_known_against_it():
    test = Judged("abc", {(frozenset("ac"), frozenset()): 0.5})
    outcome = pc(test, knowledge=Knowledge(required=[("b", "a")]))
    assert outcome.graph == PDAG("abc", [("b", "a")], [("b", "c")])
    assert outcome.trace[-1].operator == "drop"


def assert_true(outcome, dag, knowledge):
    limits = knowledge.limits(dag.nodes)
    assert outcome.graph.adjacency == limits.directed(completed(dag.adjacency))
    assert_lawful(outcome, knowledge)


def test_true_knowledge_and_a_perfect_score_give_the_true_class():
    for rng, dag, knowledge in random_cases(43, 100):
        score = separation_oracle(rng, dag)
        assert_true(boss(score, restarts=0, knowledge=knowledge), dag, knowledge)
        assert_true(exact(score, knowledge=knowledge), dag, knowledge)


def test_true_knowledge_rarely_leads_greedy_search_astray():
    """It can: a class on the way may have no DAG that obeys, and then the way is closed."""
    right = 0
    for rng, dag, knowledge in random_cases(44, 100):
        truth = knowledge.limits(dag.nodes).directed(completed(dag.adjacency))
        right += ges(separation_oracle(rng, dag), knowledge=knowledge).graph.adjacency == truth
    assert right >= 90


def test_true_knowledge_and_a_perfect_test_give_the_true_class():
    cases = [
        (dag, knowledge)
        for _, dag, knowledge in random_cases(45, 300)
        if not any(is_parted(knowledge, a, b) for a, b in combinations(dag.nodes, 2))
    ]
    assert len(cases) > 100
    for dag, knowledge in cases:
        assert_true(pc(SeparationOracle(dag), knowledge=knowledge), dag, knowledge)


def test_a_perfect_test_finds_the_colliders_of_pairs_that_knowledge_parts():
    for _, dag, knowledge in random_cases(46, 200):
        assert_true(pc(SeparationOracle(dag), knowledge=knowledge), dag, knowledge)


def test_knowledge_directs_what_the_data_leave_open():
    dag = DAG("abcd", [("a", "b"), ("b", "c"), ("c", "d")])
    score = separation_oracle(np.random.default_rng(0), dag)
    for knowledge in (Knowledge(roots=["a"]), Knowledge(tiers=[["b"], ["c"]], required=[("a", "b")])):
        for outcome in (
            ges(score, knowledge=knowledge),
            boss(score, knowledge=knowledge),
            exact(score, knowledge=knowledge),
            pc(SeparationOracle(dag), knowledge=knowledge),
        ):
            assert outcome.graph == outcome.dag == dag
            assert not outcome.preferences


def test_ges_does_not_judge_an_edge_by_the_way_that_is_forbidden():
    """Y = sin(4x) + e gains much as x -> y and loses as y -> x, the only way it may go: it never gets an edge."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    frame = pd.DataFrame({"x": x, "y": np.sin(4 * x) + 0.3 * rng.normal(size=300)})
    asked = []

    class Asked(LearnedKernelScore):
        def fit(self, target, parents=(), begin=None, *, settle=True):
            asked.append((target, frozenset(parents)))
            return super().fit(target, parents, begin, settle=settle)

    score = Asked(Dataset.from_frame(frame))
    outcome = ges(score, knowledge=Knowledge(forbidden=[("x", "y")]))
    assert outcome.trace == ()
    assert ("y", frozenset({"x"})) not in asked
    asked.clear()
    ges(score, knowledge=Knowledge(forbidden=[("x", "y"), ("y", "x")]))
    assert {parents for _, parents in asked} <= {frozenset()}
