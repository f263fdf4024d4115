import json
import os
import re
import string
import sys
import tempfile
import unicodedata
from itertools import combinations, pairwise
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from typer.testing import CliRunner

import kerncause
from kerncause import CPDAG, DAG, PDAG, GraphError, KerncauseError, OptionError
from kerncause.cli import app
from kerncause.graphs import (
    FORMATS,
    from_causal_learn,
    from_networkx,
    narrowest,
    read_graph,
    to_causal_learn,
    to_networkx,
    write_graph,
)

NASTY = ['"', "\\", 'a"b', "a\\", "\\n", "a\nb", "a\r\nb", "\r", "a,b", "a;b", " a ", "", "None", "1", "->", "a --> b"]
NASTY += [
    "subgraph",
    "node",
    "é",
    "变量",
    "\u2028",
    "\x85",
    "\ufeff",
    "<b>",
    "&amp;",
    "]]>",
    "//",
    "/*",
    "#",
    "\t",
    "x dd",
]
NASTY += [
    "\x00",
    "\x1b[31m",
    "Graph Edges:",
    "a [b]",
    "[x]",
    "o->",
    "1. a",
    "=1+1",
    "'",
    "\u202e",
    "\ufffe",
    "a b",
    "{}",
]
names = st.one_of(st.sampled_from(NASTY), st.text(max_size=6), st.text(string.ascii_letters, min_size=1, max_size=4))


@st.composite
def graphs(draw, names=names, most=5):
    """Any edges at all between any names."""
    nodes = draw(st.lists(names, unique=True, max_size=most))
    directed, undirected = [], []
    for a, b in combinations(nodes, 2):
        choice = draw(st.integers(0, 3))
        directed += [(a, b)] * (choice == 1) + [(b, a)] * (choice == 2)
        undirected += [(a, b)] * (choice == 3)
    return PDAG(nodes, directed, undirected)


def carried_by_tetrad(name):
    """Plain words, with single signs between: told apart from the format's own signs by other means than its own."""
    words = re.split(r"\s", name)
    signs = {a + "-" + b for a in "-<o" for b in "->o"}
    return (
        name == name.strip()
        and name not in {"", "Graph Nodes:", "Graph Edges:"}
        and not set(";,\n\r") & set(name)
        and not signs & set(words)
        and not any(word.startswith("[") for word in words[1:])
        and not (len(words) > 1 and words[-1] in {"dd", "nl", "pd", "pl"})
    )


def is_xml(character):
    code = ord(character)
    return code in {9, 10, 13} or (code >= 32 and not 0xD800 <= code <= 0xDFFF and code not in {0xFFFE, 0xFFFF})


def carried_by_dagitty(name):
    controls = {chr(code) for code in (*range(32), 127)}
    return name not in {"", "graph", "node"} and not controls & set(name) and name[-1] != "\\"


R_WORDS = {"if", "else", "repeat", "while", "function", "for", "next", "break", "in", "TRUE", "FALSE", "NULL", "Inf"}
R_WORDS |= {"NaN", "NA", "NA_integer_", "NA_real_", "NA_character_", "NA_complex_"}


def carried_by_lavaan(name):
    """A name of R's that begins with a letter, or with dots and a letter."""
    kinds = [unicodedata.category(c)[0] if c not in string.digits + "._" else c for c in name]
    start = "".join(kinds).lstrip(".")
    return (
        start[:1] == "L"
        and all(kind in {"L", ".", "_", *string.digits} for kind in kinds)
        and name not in R_WORDS | {"intercept", "efa"}
    )


def is_dag(graph):
    return not graph.undirected_edges and nx.is_directed_acyclic_graph(nx.DiGraph(graph.directed_edges))


def directed(graph):
    """The same skeleton, directed by the order of the nodes."""
    return DAG(graph.nodes, [pair for pair in combinations(graph.nodes, 2) if frozenset(pair) in graph.skeleton])


CARRIES = {
    "json": lambda graph: True,
    "dot": lambda graph: not any("\0" in name for name in graph.nodes),
    "graphml": lambda graph: all(is_xml(c) for name in graph.nodes for c in name),
    "csv": lambda graph: bool(graph.nodes),
    "tetrad": lambda graph: all(carried_by_tetrad(name) for name in graph.nodes),
    "dagitty": lambda graph: all(carried_by_dagitty(name) for name in graph.nodes),
    "lavaan": lambda graph: is_dag(graph) and bool(graph.nodes) and all(map(carried_by_lavaan, graph.nodes)),
    "gml": lambda graph: is_dag(graph) and not {"[]", "()"} & {*graph.nodes},
}
LOSES_THE_ORDER = {"lavaan"}


def test_every_format_is_tested():
    assert CARRIES.keys() == FORMATS.keys()


@pytest.mark.parametrize("kind", FORMATS)
@given(st.one_of(graphs(), graphs().map(directed)))
@example(PDAG([]))
@example(PDAG(["a"]))
@example(PDAG(NASTY[:12], [(NASTY[0], NASTY[1])], [(NASTY[4], NASTY[5])]))
@example(PDAG(NASTY[12:], pairwise(NASTY[12:])))
@example(PDAG("abc", ["ab", "bc", "ca"]))
def test_files_there_and_back(kind, graph):
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / f"graph{FORMATS[kind].suffixes[0]}"
        if not CARRIES[kind](graph):
            with pytest.raises(GraphError, match=r"cannot carry"):
                write_graph(graph, path)
            assert not any(Path(place).iterdir())
            return
        assert write_graph(graph, path) == path
        assert list(Path(place).iterdir()) == [path]
        back = read_graph(path)
    assert back == graph
    assert back.nodes == graph.nodes or kind in LOSES_THE_ORDER
    assert type(back) is type(narrowest(graph))


@pytest.mark.parametrize("kind", FORMATS)
@given(graphs(names=st.text(string.ascii_letters + "_é变.1", min_size=1, max_size=5)))
def test_plain_names_are_carried_by_all(kind, graph):
    if FORMATS[kind].needs_dag:
        graph = directed(graph)
    if graph.nodes and all(carried_by_tetrad(name) and carried_by_lavaan(name) for name in graph.nodes):
        assert FORMATS[kind].read(FORMATS[kind].write(graph)) == graph


PIECES = {
    "json": '{"nodes": ["a", "b"] , "directed": "undirected": "edges": [["a", "b"]] {"source": "a", "target": 1 } ]',
    "dot": 'digraph { graph } a -> -- [ ] = ; " /* */ // < > 1 , dir = none back strict edge node subgraph -1.5 \\ # é',
    "graphml": "<graphml> <graph_edgedefault='directed'> <node_id='a'/> <edge_source='a'_target='b'/> </graph>"
    " </graphml>",
    "csv": 'a b , 0 1 \n "a" " 0.5 -1 nan , 0,1 \r',
    "tetrad": "Graph_Nodes:\n Graph_Edges:\n a;b \n 1._a_-->_b\n o-> <-> --- --> 2. : [x] dd",
    "dagitty": 'dag{ pdag{ } { a b -> <- -- <-> @-> = ; , [ ] exposure pos=" " \\ \\" graph node -1 é',
    "lavaan": "y ~ ~~ =~ a b + * 1 0.5 # ! ; := == < : \n | c1* start(1)* x NA .x é",
    "gml": 'graph_[ graph [ ] directed_1 node_[ id_0 label_ "a" 0 ] edge_[ source_0 target_1 ] " # é multigraph_1 INF',
}


def pieces(kind):
    words = [word.replace("_", " ") for word in PIECES[kind].split(" ")]
    return st.lists(st.sampled_from([*words, " ", "\n", "\0", "\ud800"]), max_size=12).map("".join)


def refusal(kind, text):
    """Return what is said against a text, or nothing if it is a graph."""
    try:
        assert isinstance(FORMATS[kind].read(text), PDAG)
    except GraphError as problem:
        return str(problem)
    return None


@pytest.mark.parametrize("kind", FORMATS)
@given(st.data())
def test_any_text_is_a_graph_or_refused_in_a_sentence(kind, data):
    complaint = refusal(kind, data.draw(st.one_of(st.text(), pieces(kind))))
    assert complaint is None or (len(complaint) > 10 and "\n" not in complaint)


@pytest.mark.parametrize("kind", FORMATS)
@given(graphs(names=st.text("ab", min_size=1, max_size=2)), st.data())
def test_a_damaged_file_is_a_graph_or_refused_in_a_sentence(kind, graph, data):
    if not graph.nodes:
        return
    text = FORMATS[kind].write(directed(graph) if FORMATS[kind].needs_dag else graph)
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.integers(0, 5))
    complaint = refusal(
        kind, text[:start] + data.draw(st.text('ab01,;"->{}[]<\n', max_size=3)) + text[start + length :]
    )
    assert complaint is None or "\n" not in complaint


# JSON.


def test_json_as_it_is_written():
    text = FORMATS["json"].write(PDAG("abc", [("a", "b")], [("b", "c")]))
    assert json.loads(text) == {"nodes": ["a", "b", "c"], "directed": [["a", "b"]], "undirected": [["b", "c"]]}


def test_the_files_of_a_result_are_read(tmp_path):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 60))
    table = pd.DataFrame(
        {"x": x, 'y "quoted", \\n': y, "z": x + y + 0.1 * rng.normal(size=60), "w": rng.normal(size=60)}
    )
    result = kerncause.discover(table, workers=1)
    assert result.edge_list
    result.save(tmp_path)
    for name in ("graph.json", "graph.dot"):
        graph = read_graph(tmp_path / name)
        assert graph == result.graph
        assert graph.nodes == result.graph.nodes


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "line 1: this is not JSON"),
        ('{"nodes": ["a"],\n "directed": [}', "line 2: this is not JSON"),
        ("[]", "there are no nodes"),
        ('{"nodes": "a", "edges": []}', '"nodes" is not a list'),
        ('{"nodes": [1], "edges": []}', "'1' is not text: put names in quotes"),
        ('{"nodes": ["a"]}', "the edges are to be given once"),
        ('{"nodes": ["a"], "edges": [], "directed": []}', "the edges are to be given once"),
        ('{"nodes": ["a"], "directed": [["a"]]}', "is not a pair of names"),
        ('{"nodes": ["a"], "directed": [["a", "b"]]}', "an edge ends at 'b', which is not among the nodes"),
        ('{"nodes": ["a"], "directed": [["a", "a"]]}', "'a' has an edge to itself"),
        ('{"nodes": ["a", "a"], "directed": []}', "'a' stands twice"),
        ('{"nodes": ["a", "b"], "directed": [["a", "b"], ["b", "a"]]}', "'b' and 'a' is given a second time"),
        ('{"nodes": ["a", "b"], "edges": [{"source": "a", "target": "b"}]}', 'whether it is "directed"'),
        ('{"nodes": ["a", "b"], "edges": [{"source": "a", "target": "b", "directed": "no"}]}', "true or false"),
        ("[" * 100_000, "nested too deeply"),
        ('{"nodes": [' + "1" * 5000 + "]}", "numbers too long"),
    ],
)
def test_bad_json_is_refused(text, complaint):
    with pytest.raises(GraphError, match=re.escape(complaint)):
        FORMATS["json"].read(text)


def test_either_list_of_edges_may_be_left_out():
    assert FORMATS["json"].read('{"nodes": ["a", "b"], "undirected": [["a", "b"]]}') == CPDAG("ab", undirected=["ab"])
    assert FORMATS["json"].read('{"nodes": ["a", "b"], "directed": [["a", "b"]], "by": "hand"}') == DAG("ab", ["ab"])


# DOT.


def dot(text):
    return FORMATS["dot"].read(text)


def test_dot_as_it_is_written():
    text = FORMATS["dot"].write(PDAG(["a", 'b "c"'], undirected=[("a", 'b "c"')]))
    assert text == 'digraph kerncause {\n  "a";\n  "b \\"c\\"";\n  "a" -> "b \\"c\\"" [dir=none];\n}\n'
    assert '"a\\\\\\nb\\r"' in FORMATS["dot"].write(PDAG(["a\\\nb\r"]))


@pytest.mark.parametrize(
    ("text", "graph"),
    [
        ('digraph {a -> b; "c d" -> e [color=red]}', PDAG(["a", "b", "c d", "e"], [("a", "b"), ("c d", "e")])),
        ("graph {a -- b}", PDAG("ab", undirected=["ab"])),
        ("digraph G { a -> b -> c; }", PDAG("abc", ["ab", "bc"])),
        ("digraph {a -> b [dir=none] b -> c [dir=both]}", PDAG("abc", undirected=["ab", "bc"])),
        ("digraph {a -> b [dir=back]}", PDAG("ab", ["ba"])),
        ("graph {a -- b [dir=forward]}", PDAG("ab", ["ab"])),
        ("digraph {edge [dir=none]; a -> b; edge [dir=forward] b -> c}", PDAG("abc", ["bc"], ["ab"])),
        ("digraph {a -> b [arrowhead=none]}", PDAG("ab", undirected=["ab"])),
        ("digraph {a -> b [dir=both, arrowtail=none, arrowhead=normal]}", PDAG("ab", ["ab"])),
        ("digraph {a -> b; b -> a}", PDAG("ab", undirected=["ab"])),
        ('STRICT DiGraph "my graph" {\n// one\n# two\n/* three\n*/ a->b// four\n}\n', PDAG("ab", ["ab"])),
        ('digraph {rankdir=LR; node [shape=box, style="a,b"]; a [label="x -> y"][color=1]; b}', PDAG("ab")),
        ("digraph {1 -> -2.5 -> .5}", PDAG(["1", "-2.5", ".5"], [("1", "-2.5"), ("-2.5", ".5")])),
        ("digraph {été -> 变量_1}", PDAG(["été", "变量_1"], [("été", "变量_1")])),
        ('digraph {"a\\nb" -> "c\\\\d\\l"}', PDAG(["a\nb", "c\\d\\l"], [("a\nb", "c\\d\\l")])),
        ('digraph {"node" -> "->"}', PDAG(["node", "->"], [("node", "->")])),
        ("graph{a--b--c a--c}", PDAG("abc", undirected=["ab", "bc", "ac"])),
        ("digraph {}", PDAG("")),
    ],
)
def test_dot_files_of_others(text, graph):
    assert dot(text) == graph


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "line 1: a graph begins with graph { or digraph {"),
        ("a -> b", "line 1: a graph begins with"),
        ("digraph\n a -> b", "line 2: there is no { after digraph"),
        ("digraph {\n a -> b\n", "line 3: the file ends inside the graph"),
        ("digraph {\n a -- b }", "line 2: the edges of a digraph are written ->, not --"),
        ("graph {\n a -> b }", "line 2: the edges of a graph are written --, not ->"),
        ("digraph {\n a -> {b c} }", "line 2: subgraphs are not read"),
        ("digraph {\n\n subgraph x { a } }", "line 3: subgraphs are not read"),
        ("digraph { { a } }", "line 1: subgraphs are not read"),
        ("digraph {\n a:n -> b }", "line 2: ':n -> b }' cannot be read"),
        ("digraph {\n <b>a</b> -> b }", "line 2: '<b>a</b> -> b }' cannot be read"),
        ('digraph {\n/* two\nlines */ "a -> b }', "line 3: '\"a -> b }' cannot be read"),
        ("digraph { a -> b [color] }", "line 1: the attribute 'color' has no value"),
        ("digraph { a -> b [dir=up] }", "line 1: dir='up' is no direction: the choices are forward"),
        ("digraph { a -> ; }", "line 1: a name is wanted where ';' stands"),
        ("digraph {a -> b\n a -> b}", "line 2: the edge between 'a' and 'b' is given a second time"),
        ("digraph {a -> b\n b -> a [dir=none]}", "line 2: the edge between 'b' and 'a' is given a second time"),
        ("digraph {\na -> a}", "line 2: node 'a' has an edge to itself"),
        ("digraph {} digraph {}", "something follows the graph"),
        ("digraph {a -> b [dir=both arrowtail=odot arrowhead=normal]}", "has circles or two arrowheads"),
        ("digraph {a -> b [dir=both arrowtail=normal arrowhead=normal]}", "has circles or two arrowheads"),
    ],
)
def test_bad_dot_is_refused(text, complaint):
    with pytest.raises(GraphError, match=re.escape(complaint)):
        dot(text)


# GraphML.


def test_graphml_is_that_of_networkx(tmp_path):
    graph = PDAG(["a", "b c", "<d>"], [("a", "b c")], [("b c", "<d>")])
    nx.write_graphml(to_networkx(graph), tmp_path / "theirs.graphml")
    assert read_graph(tmp_path / "theirs.graphml") == graph
    write_graph(graph, tmp_path / "ours.graphml")
    back = nx.read_graphml(tmp_path / "ours.graphml")
    assert dict(back.edges) == {("a", "b c"): {"directed": True}, ("b c", "<d>"): {"directed": False}}


GRAPHML = """<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
 <key id="d0" for="edge" attr.name="directed" attr.type="{kind}">{default}</key>
 <graph edgedefault="{way}"><node id="a"/><node id="b"/><node id="c"/>
  <edge id="e0" source="a" target="b"/>
  <edge source="b" target="c"><data key="d0">{mark}</data></edge>
 </graph>
</graphml>
"""


@pytest.mark.parametrize(
    ("settings", "graph"),
    [
        (("boolean", "", "directed", "false"), PDAG("abc", ["ab"], ["bc"])),
        (("string", "", "directed", "False"), PDAG("abc", ["ab"], ["bc"])),
        (("int", "", "directed", "0"), PDAG("abc", ["ab"], ["bc"])),
        (("boolean", "", "directed", "true"), PDAG("abc", ["ab", "bc"])),
        (("boolean", "<default>false</default>", "directed", "true"), PDAG("abc", ["bc"], ["ab"])),
        (("boolean", "", "undirected", "true"), PDAG("abc", undirected=["ab", "bc"])),
    ],
)
def test_graphml_files_of_others(settings, graph):
    text = GRAPHML.format(**dict(zip(("kind", "default", "way", "mark"), settings, strict=True)))
    assert FORMATS["graphml"].read(text) == graph


PLAIN = GRAPHML.format(kind="boolean", default="", way="directed", mark="false")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "line 1: this is not XML"),
        (PLAIN.replace("<node id=", "<node id"), "line 4: this is not XML"),
        (PLAIN.replace('<node id="a"/>', "<node/>"), "some node has no id"),
        (PLAIN.replace('source="b" ', ""), "some edge has no source"),
        (PLAIN.replace('<node id="a"/>', '<node id="a"><graph edgedefault="directed"/></node>'), "there are 2 graphs"),
        ("<graphml/>", "there are 0 graphs"),
        (PLAIN.replace("<data", '<data extra="1"').replace('key="d0">f', 'key="d9">f'), "no key d9"),
        (PLAIN.replace(">false<", ">perhaps<"), "networkx says"),
        (PLAIN.replace('id="e0"', 'directed="false"'), "directed=false edge found in directed graph"),
        (PLAIN.replace('source="b" target="c"', 'source="a" target="b"'), "an edge is given a second time"),
        (PLAIN.replace("<graphml", '<!DOCTYPE graphml [<!ENTITY x "y">]><graphml'), "defines entities"),
    ],
)
def test_bad_graphml_is_refused(text, complaint):
    with pytest.raises(GraphError, match=re.escape(complaint)):
        FORMATS["graphml"].read(text)


# CSV.


def matrix(text):
    return FORMATS["csv"].read(text)


def test_csv_as_it_is_written():
    assert FORMATS["csv"].write(PDAG("abc", ["ab"], ["bc"])) == '"a","b","c"\n0,1,0\n0,0,1\n0,1,0\n'


@pytest.mark.parametrize(
    "text",
    [
        "a,b,c\n0,1,0\n0,0,1\n0,1,0\n",
        "\ufeffa, b, c\r\n0, 1, 0\r\n0, 0, 1\r\n0, 1, 0\r\n\r\n",
        ",a,b,c\na,0,1,0\nb,0,0,1\nc,0,1,0\n",
        "node,a,b,c\nc,0,1,0\na,0,1,0\nb,0,0,1\n",
        '"a","b","c"\n"a",0,1,0\n"b",0,0,1\n"c",0,1,0\n',
        "a,b,c\n0.0,1.0,0.0\n0,0,1.000\n0,1,0",
    ],
    ids=["plain", "spaces", "pandas", "row order", "R", "floats"],
)
def test_matrices_of_others(text, tmp_path):
    (tmp_path / "graph.csv").write_bytes(text.encode())
    graph = read_graph(tmp_path / "graph.csv")
    assert graph == PDAG("abc", ["ab"], ["bc"])
    assert graph.nodes == ("a", "b", "c")


def test_nodes_may_be_called_zero_and_one():
    graph = DAG(["0", "1"], [("0", "1")])
    assert matrix(",0,1\n0,0,1\n1,0,0\n") == graph == matrix("0,1\n0,1\n0,0\n")


def test_matrices_of_pandas(tmp_path):
    graph = PDAG(["x", "y,1", "z\n"], [("x", "y,1")], [("y,1", "z\n")])
    frame = nx.to_pandas_adjacency(to_networkx(graph), dtype=int)
    frame.to_csv(tmp_path / "with.csv")
    frame.to_csv(tmp_path / "without.csv", index=False)
    assert read_graph(tmp_path / "with.csv") == graph == read_graph(tmp_path / "without.csv")
    write_graph(graph, tmp_path / "ours.csv")
    assert pd.read_csv(tmp_path / "ours.csv").to_numpy().tolist() == frame.to_numpy().tolist()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "it is empty"),
        ("a\n", "there are 1 name and 0 rows"),
        ("a,b\n0,1\n", "there are 2 names and 1 row"),
        ("a;b\n0;1\n0;0\n", "there are 1 name and 2 rows: give one row of zeros and ones, separated by commas"),
        ("a,b\n0,1\n0\n", "line 3: there are 1 cell for 2 names"),
        ("a,b\n0,0.7\n0,0\n", "line 2: '0.7' stands in column 'b': give 1 for an edge"),
        ("a,b\n0,-1\n1,0\n", "line 2: '-1' stands in column 'b'"),
        ("a,b\n0,\n0,0\n", "line 2: '' stands in column 'b'"),
        ("a,b\n0,nan\n0,0\n", "line 2: 'nan' stands in column 'b'"),
        ("a,b\n1,0\n0,0\n", "line 2: node 'a' has an edge to itself"),
        ("a,a\n0,0\n0,0\n", "'a' stands twice"),
        (",a,b\na,0,1\nc,0,0\n", "the first column has 'c', which the line of names has not"),
        (",a,b\na,0,1\na,0,0\n", "the first column names a row twice"),
        ('a,"b\n0,1\n0,0\n', "this is not CSV"),
    ],
)
def test_bad_matrices_are_refused(text, complaint):
    with pytest.raises(GraphError, match=re.escape(complaint)):
        matrix(text)


# Tetrad.


def tetrad(text):
    return FORMATS["tetrad"].read(text)


def test_tetrad_as_it_is_written():
    text = FORMATS["tetrad"].write(PDAG(["X 1", "Y", "Z"], [("X 1", "Y")], [("Y", "Z")]))
    assert text == "Graph Nodes:\nX 1;Y;Z\n\nGraph Edges:\n1. X 1 --> Y\n2. Y --- Z\n"


@pytest.mark.parametrize(
    ("text", "graph"),
    [
        ("Graph Nodes:\nX1;X2;X3\n\nGraph Edges:\n1. X1 --> X2\n2. X3 --- X2\n", (["X1 X2"], ["X3 X2"])),
        ("Graph Nodes:\r\nX1,X2,X3\r\n\r\nGraph Edges:\r\n1. X2 <-- X1\r\n", (["X1 X2"], [])),
        (
            "A comment\n\nGraph Nodes:\nX1; X2;\nX3;\n\nGraph Edges:\n1. X1 --> X2 dd nl\n"
            "2. X2 --> X3 [X2 --> X3]:0.9;\n\nGraph Attributes:\nBIC: -12.5\n\n"
            "Ambiguous triples (those that are unclear):\n<X1, X2, X3>\n",
            (["X1 X2", "X2 X3"], []),
        ),
        ("Graph Nodes:\nX1;X2;X3\nGraph Edges:\n", ([], [])),
    ],
)
def test_tetrad_files_of_others(text, graph):
    directed, undirected = ([tuple(pair.split()) for pair in pairs] for pairs in graph)
    assert tetrad(text) == PDAG(["X1", "X2", "X3"], directed, undirected)


AMBIGUOUS = ["", " a", "a;b", "a,b", "a\nb", "a\r", "-->", "o->", "a --> b", "a [b]", "x dd", "Graph Edges:"]


@pytest.mark.parametrize("name", AMBIGUOUS)
def test_names_that_tetrad_could_not_tell_apart_are_refused(name):
    with pytest.raises(GraphError, match="a Tetrad file cannot carry the name"):
        FORMATS["tetrad"].write(DAG([name, "b"], [(name, "b")]))


@pytest.mark.parametrize("name", ["a[b]", "[x]", "1. a", "a -> b", "a-->b", "dd", "Graph Edges", "a: b:", "é  è"])
def test_names_with_spaces_and_signs_are_carried_by_tetrad(name):
    for edge in ((name, "c"), ("c", name)):
        graph = DAG(["c", name], [edge])
        assert tetrad(FORMATS["tetrad"].write(graph)) == graph


HEAD = "Graph Nodes:\na;b\n\nGraph Edges:\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "there is no line 'Graph Nodes:'"),
        ("Graph Nodes:\na;b\n", "there is no line 'Graph Edges:'"),
        (HEAD + "1. a o-> b\n", "line 5: the edge o-> between 'a' and 'b' cannot be taken"),
        (HEAD + "1. a <-> b\n", "line 5: the edge <-> between 'a' and 'b' cannot be taken"),
        (HEAD + "1. a o-o b\n", "no circles and no two arrowheads"),
        (HEAD + "\na -> b\n", "line 6: 'a -> b' is no edge: write it as 1. X --> Y"),
        (HEAD + "1. a --> c\n", "line 5: an edge ends at 'c', which is not among the nodes"),
        (HEAD + "1. a --> b\n2. b --> a\n", "line 6: the edge between 'b' and 'a' is given a second time"),
        (HEAD + "1. a --> a\n", "line 5: node 'a' has an edge to itself"),
        ("Graph Nodes:\na;a\nGraph Edges:\n", "'a' stands twice"),
    ],
)
def test_bad_tetrad_is_refused(text, complaint):
    with pytest.raises(GraphError, match=re.escape(complaint)):
        tetrad(text)


# DAGitty.


def dagitty(text):
    return FORMATS["dagitty"].read(text)


def test_dagitty_as_it_is_written():
    graph = DAG(["x.1", "my outcome", "é", 'a "b" \\c'], [("x.1", "my outcome"), ("é", "my outcome")])
    assert (
        FORMATS["dagitty"].write(graph)
        == """dag {
x.1
"my outcome"
"é"
"a \\"b\\" \\c"
x.1 -> "my outcome"
"é" -> "my outcome"
}
"""
    )
    assert FORMATS["dagitty"].write(PDAG("abc", ["ab"], ["bc"])) == "pdag {\na\nb\nc\na -> b\nb -- c\n}\n"


@pytest.mark.parametrize(
    ("text", "graph"),
    [
        ("dag { x -> y }", PDAG("xy", ["xy"])),
        ("dag{x->y<-z}", PDAG("xyz", ["xy", "zy"])),
        ("pdag {x -- y -> z; z <- w}", PDAG("xyzw", ["yz", "wz"], ["xy"])),
        ('dag {\nbb="0,0,1,1"\nX [exposure,pos="-1,0.5"]\nY [outcome]\nX -> Y [beta=-.5]\n}', PDAG("XY", ["XY"])),
        ('DAG "my model" {\r\n"a b" [latent] ; -1 -> "a b";;\r\n}\r\n', PDAG(["a b", "-1"], [("-1", "a b")])),
        ("dag { {x m} -> y <- { z; w } }", PDAG("xmyzw", ["xy", "my", "zy", "wy"])),
        ("digraph { graph [bb=1] node [x] a -> b }", PDAG("ab", ["ab"])),
        ("graph { a -- b }", PDAG("ab", undirected=["ab"])),
        ('dag {"a\\b" -> "c\\"d"}', PDAG(["a\\b", 'c"d'], [("a\\b", 'c"d')])),
        ("dag { 1 -> x.2_3 \n 变 }", PDAG(["1", "x.2_3", "变"], [("1", "x.2_3")])),
        ("dag {}", PDAG("")),
    ],
)
def test_dagitty_models_of_others(text, graph):
    assert dagitty(text) == graph
    assert dagitty(text).nodes == graph.nodes


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "line 1: a model begins with dag { or pdag {"),
        ("x -> y", "line 1: a model begins with"),
        ("\npag { x @-> y }", "line 2: a pag has edges that are not read: give a dag or a pdag"),
        ("dag\n x -> y", "line 2: there is no { after dag"),
        ("dag {\n x -> y\n", "line 3: the file ends inside the graph"),
        ("dag {\n x <-> y }", "line 2: the edge <-> between 'x' and 'y' cannot be taken: only -> and -- can"),
        ("pdag {\n\n x @-> y }", "line 3: the edge @-> between 'x' and 'y' cannot be taken"),
        ("dag {\n x -- y }", "line 2: the edge between 'x' and 'y' has no direction: begin the model with pdag {"),
        ("dag { x -> y -> z -> x }", "its arrows go round in a circle"),
        ("dag { x -> y\n y -> x }", "line 2: the edge between 'y' and 'x' is given a second time"),
        ("dag { x -> x }", "line 1: node 'x' has an edge to itself"),
        ("dag { x ->\n ; }", "line 2: a name is wanted where ';' stands"),
        ("dag { x -> { }", "line 1: a name is wanted where '}' stands"),
        ('dag {\n "a\\" }', "line 2: '\"a\\\" }' cannot be read: put names in quotes, and close every quote"),
        ('dag {\n "a\nb" }', "line 2: '\"a\\nb\" }' cannot be read"),
        ("dag {\n // no\n }", "line 2: '// no\\n }' cannot be read"),
        ("dag { x } y", "line 1: something follows the graph"),
    ],
)
def test_bad_dagitty_is_refused(text, complaint):
    with pytest.raises(GraphError, match=re.escape(complaint)):
        dagitty(text)


@pytest.mark.parametrize("name", ["", "graph", "node", "a\\", "a\nb", "\t", "\x7f"])
def test_names_that_dagitty_could_not_tell_are_refused(name):
    with pytest.raises(GraphError, match=r"DAGitty cannot carry the name .*: rename the node"):
        FORMATS["dagitty"].write(DAG([name]))


# lavaan.


def lavaan(text):
    return FORMATS["lavaan"].read(text)


def test_lavaan_as_it_is_written():
    graph = DAG(["y", "a", "b.1", "alone", "变_2"], [("b.1", "y"), ("a", "y"), ("a", "变_2")])
    assert FORMATS["lavaan"].write(graph) == "y ~ a + b.1\nalone ~~ alone\n变_2 ~ a\n"


@pytest.mark.parametrize(
    ("text", "graph"),
    [
        ("y ~ a + b", PDAG("yab", ["ay", "by"])),
        ("\n# my model\ny~a+b ! comment ~ c\nx ~~ x; a ~ x\r\n", PDAG("yabx", ["ay", "by", "xa"])),
        ("y ~ a +\n   b\n   + c\n", PDAG("yabc", ["ay", "by", "cy"])),
        ("y ~\n a", PDAG("ya", ["ay"])),
        ("y + z ~ a", PDAG("yza", ["ay", "az"])),
        ("y ~ 1 + c1*a + 1\nz ~ 1", PDAG("yaz", ["ay"])),
    ],
)
def test_lavaan_models_of_others(text, graph):
    assert lavaan(text) == graph
    assert lavaan(text).nodes == graph.nodes


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "it is empty: write a regression"),
        ("# nothing\n", "it is empty"),
        ("f =~ x1 + x2", "line 1: 'f =~ x1 + x2' is no regression: write each as y ~ a + b"),
        ("y ~ a\n\na ~~ b", "line 3: 'a ~~ b' is a covariance: only directed edges can be taken"),
        ("a + b ~~ a + b", "line 1: 'a + b ~~ a + b' is a covariance"),
        ("y ~ a\nind := c1*c2", "line 2: 'ind := c1*c2' is no regression"),
        ("y ~ a:b", "line 1: 'y ~ a:b' is no regression"),
        ("y ~ a\nb", "line 2: 'b' is no regression"),
        ("y ~ 0.5*a", "line 1: '0.5*a' is no variable: give names alone, without fixed or starting values"),
        ("y ~ start(1)*a", "line 1: 'start(1)*a' is no variable"),
        ("y ~ a b", "line 1: 'a b' is no variable"),
        ("y ~ a +", "line 1: '' is no variable"),
        ("1 ~ a", "line 1: '1' is no variable"),
        ("y ~ NA", "line 1: 'NA' is no variable"),
        ("y ~ a\ny ~ b + a", "line 2: the edge between 'a' and 'y' is given a second time"),
        ("y ~ y", "line 1: node 'y' has an edge to itself"),
    ],
)
def test_bad_lavaan_is_refused(text, complaint):
    with pytest.raises(GraphError, match=re.escape(complaint)):
        lavaan(text)


NOT_OF_R = ["", "a b", "1a", "_a", ".", ".1", "a-b", "a~b", "y ~ x", "x\nz ~ y", "x # y", "x; z ~ y", "a+b", "2*a"]
NOT_OF_R += ["a:b", "TRUE", "if", "NA", "NA_real_", "intercept", "efa", "x²", "😀", "<b>", "a\x00", "e\u0301"]


@pytest.mark.parametrize("name", NOT_OF_R)
def test_names_that_lavaan_would_misread_are_refused(name):
    with pytest.raises(GraphError, match=r"lavaan cannot carry the name .*: rename the variable, in the table as well"):
        FORMATS["lavaan"].write(DAG([name, "b"], [(name, "b")]))


# GML.


def gml(text):
    return FORMATS["gml"].read(text)


GML = """graph [
  directed 1
  node [
    id 0
    label "a"
  ]
  node [
    id 1
    label "b &#34;&#233;&#34;"
  ]
  edge [
    source 0
    target 1
  ]
]
"""


def test_gml_as_it_is_written():
    assert FORMATS["gml"].write(DAG(["a", 'b "é"'], [("a", 'b "é"')])) == GML


def test_gml_is_that_of_networkx(tmp_path):
    graph = DAG(["b", "a", "变 \n&amp;"], [("b", "a"), ("变 \n&amp;", "a")])
    write_graph(graph, tmp_path / "ours.gml")
    back = nx.read_gml(tmp_path / "ours.gml")
    assert back.is_directed()
    assert list(back.nodes) == list(graph.nodes)
    assert set(back.edges) == set(graph.edges)
    nx.write_gml(nx.DiGraph(graph.edges), tmp_path / "theirs.gml")
    assert read_graph(tmp_path / "theirs.gml") == graph


@pytest.mark.parametrize(
    ("text", "graph"),
    [
        (GML, PDAG(["a", 'b "é"'], [("a", 'b "é"')])),
        ('Creator "x"\ngraph [directed 1 node [id 5 label "é"] node [id 7 label 1] edge [source 7 target 5]]', "1é"),
        ('graph [node [id 0 label "a"] node [id 1 label "b"] edge [source 0 target 1]]', PDAG("ab", undirected=["ab"])),
        ("graph [ directed 1 ]", PDAG("")),
    ],
)
def test_gml_files_of_others(text, graph):
    assert gml(text) == (DAG(graph, [graph]) if isinstance(graph, str) else graph)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "networkx says 'input contains no graph': give one graph [ ] whose nodes have an id and a label"),
        (GML.replace('    label "a"\n', ""), "networkx says 'node #0 has no 'label' attribute'"),
        ("\n\n" + GML.replace("id 1", "7 1"), "line 10: networkx says 'expected ']', found 7'"),
        (GML.replace("target 1", "target ?"), "line 13: networkx says 'cannot tokenize ?'"),
        (GML.replace("target 1", "target 7"), "networkx says 'edge #0 has undefined target 7'"),
        (GML.replace("target 1", "target 0"), "node 'a' has an edge to itself"),
        (GML.replace("id 1", "id 0"), "networkx says 'node id 0 is duplicated'"),
        (GML.replace("b &#34;&#233;&#34;", "a"), "networkx says 'node label 'a' is duplicated'"),
        (GML.replace("directed 1", "directed 1 multigraph 1"), "give a networkx Graph or DiGraph"),
        (GML + GML, "networkx says 'input contains more than one graph'"),
        ("graph [ node [ id " * 5000, "networkx says"),
    ],
)
def test_bad_gml_is_refused(text, complaint):
    with pytest.raises(GraphError, match=re.escape(complaint)):
        gml(text)


# Formats that hold DAGs alone.

DAGS_ALONE = [kind for kind, rules in FORMATS.items() if rules.needs_dag]


def test_which_formats_need_a_dag():
    assert DAGS_ALONE == ["lavaan", "gml"]


@pytest.mark.parametrize("kind", DAGS_ALONE)
def test_what_is_no_dag_is_refused_with_the_cure(kind, tmp_path):
    path = tmp_path / f"graph{FORMATS[kind].suffixes[0]}"
    with pytest.raises(
        GraphError, match=r"edge between 'b' and 'c', which has no direction: write a DAG, .*result\.dag"
    ):
        write_graph(PDAG("abc", ["ab"], ["bc"]), path)
    with pytest.raises(GraphError, match="whose arrows go round in a circle: write a DAG"):
        write_graph(PDAG("abc", ["ab", "bc", "ca"]), path)
    assert not path.exists()
    # A graph that happens to be a DAG is one, whatever its type.
    write_graph(PDAG("abc", ["ab", "cb"]), path)
    assert read_graph(path) == DAG("abc", ["ab", "cb"])


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture(scope="module")
def learned():
    """A chain, whose class has no arrow at all."""
    rng = np.random.default_rng(1)
    a = rng.normal(size=80)
    b = a + 0.5 * rng.normal(size=80)
    return kerncause.discover(pd.DataFrame({"a": a, "b": b, "c": b + 0.5 * rng.normal(size=80)}), workers=1)


@pytest.mark.parametrize("kind", DAGS_ALONE)
def test_a_result_is_converted_by_its_best_dag(kind, learned, tmp_path):
    assert learned.graph.undirected_edges
    learned.save(tmp_path / "result")
    for name, source in (("one", "result"), ("two", "result/graph.json")):
        path = tmp_path / f"{name}{FORMATS[kind].suffixes[0]}"
        done = run("convert", tmp_path / source, path)
        assert done.exit_code == 0, done.output
        assert read_graph(path) == learned.dag
        assert path.read_text() == FORMATS[kind].write(learned.dag)
    write_graph(learned.dag, tmp_path / "python", format=kind)
    assert (tmp_path / "python").read_text() == path.read_text()
    done = run("convert", tmp_path / "result", tmp_path / "class.dagitty")
    assert done.exit_code == 0, done.output
    assert read_graph(tmp_path / "class.dagitty") == learned.graph


@pytest.mark.parametrize("suffix", [".json", ".csv"])
def test_a_file_without_a_best_dag_is_refused(suffix, tmp_path):
    write_graph(PDAG("ab", undirected=["ab"]), tmp_path / f"graph{suffix}")
    done = run("convert", tmp_path / f"graph{suffix}", tmp_path / "graph.lavaan")
    assert done.exit_code == 1
    assert "which has no direction: write a DAG" in " ".join(done.output.split())
    assert not (tmp_path / "graph.lavaan").exists()


def test_a_damaged_best_dag_is_refused(tmp_path):
    written = {"nodes": ["a", "b"], "edges": [{"source": "a", "target": "b", "directed": False}], "dag": [["a", "x"]]}
    (tmp_path / "graph.json").write_text(json.dumps(written))
    done = run("convert", tmp_path, tmp_path / "graph.gml")
    assert done.exit_code == 1
    assert "an edge ends at 'x', which is not among the nodes" in " ".join(done.output.split())
    (tmp_path / "graph.json").write_text(json.dumps({**written, "dag": "ab"}))
    done = run("convert", tmp_path, tmp_path / "graph.gml")
    assert done.exit_code == 1
    assert '"directed" is not a list' in " ".join(done.output.split())
    assert not (tmp_path / "graph.gml").exists()


# Files in general.


def test_a_bad_file_is_named_with_its_line(tmp_path):
    path = tmp_path / "my graph.dot"
    path.write_text("digraph {\n a -> {b c}\n}\n")
    with pytest.raises(GraphError, match=r"my graph.dot' cannot be read as dot: line 2: subgraphs are not read"):
        read_graph(path)
    with pytest.raises(GraphError, match="there is no such file: check the path"):
        read_graph(tmp_path / "nowhere.json")
    with pytest.raises(GraphError, match="it is a directory"):
        read_graph(tmp_path, format="json")
    (tmp_path / "latin.json").write_bytes(b'{"nodes": ["\xe9"], "edges": []}')
    with pytest.raises(GraphError, match="it is not UTF-8 text"):
        read_graph(tmp_path / "latin.json")


def test_the_suffix_or_the_option_names_the_format(tmp_path):
    graph = DAG("ab", ["ab"])
    for kind, rules in FORMATS.items():
        for suffix in rules.suffixes:
            write_graph(graph, tmp_path / f"graph{suffix.upper()}")
            assert (tmp_path / f"graph{suffix.upper()}").read_text() == rules.write(graph)
        write_graph(graph, tmp_path / "graph.any", format=kind)
        assert read_graph(tmp_path / "graph.any", format=kind) == graph
    with pytest.raises(OptionError, match=r"does not tell its format: give it one of the suffixes \.json, \.dot"):
        read_graph(tmp_path / "graph.any")
    with pytest.raises(OptionError, match="does not tell its format"):
        write_graph(graph, tmp_path / "graph")
    with pytest.raises(OptionError, match=r"no graph format 'bif': the choices are json, dot, graphml, csv, tetrad"):
        write_graph(graph, tmp_path / "graph.json", format="bif")


def test_what_is_refused_leaves_the_old_file(tmp_path):
    path = tmp_path / "graph.txt"
    write_graph(DAG("ab", ["ab"]), path)
    before = path.read_bytes()
    with pytest.raises(GraphError, match="'a;b'"):
        write_graph(DAG(["a;b"]), path)
    with pytest.raises(GraphError, match="half a character"):
        write_graph(DAG(["\ud800"]), tmp_path / "graph.txt", format="json")
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_places_that_cannot_be_written_are_said_so(tmp_path):
    graph = DAG("ab")
    (tmp_path / "taken.json").mkdir()
    with pytest.raises(OptionError, match="is a directory: give the name of a file"):
        write_graph(graph, tmp_path / "taken.json")
    with pytest.raises(KerncauseError, match=r"cannot write .*No such file or directory; choose another place"):
        write_graph(graph, tmp_path / "no" / "where.json")
    (tmp_path / "ring.json").symlink_to(tmp_path / "ring.json")
    with pytest.raises(KerncauseError, match="cannot write"):
        write_graph(graph, tmp_path / "ring.json")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["ring.json", "taken.json"]


def test_a_link_is_followed_and_stays(tmp_path):
    (tmp_path / "real.json").write_text("old")
    (tmp_path / "link.json").symlink_to("real.json")
    write_graph(DAG("ab"), tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert read_graph(tmp_path / "real.json") == DAG("ab")


# Objects of other programs.


@given(graphs())
def test_networkx_there_and_back(graph):
    back = from_networkx(to_networkx(graph))
    assert back == graph
    assert back.nodes == graph.nodes
    assert type(back) is type(narrowest(graph))


def test_networkx_graphs_of_others():
    assert from_networkx(nx.DiGraph([(1, 2), (2, 3)])) == DAG("123", ["12", "23"])
    assert from_networkx(nx.DiGraph([("a", "b"), ("b", "a"), ("b", "c")])) == PDAG("abc", ["bc"], ["ab"])
    assert from_networkx(nx.path_graph(["a", "b", "c"])) == CPDAG("abc", undirected=["ab", "bc"])
    marked = nx.DiGraph()
    marked.add_edge("a", "b", directed=False)
    assert from_networkx(marked) == CPDAG("ab", undirected=["ab"])
    with pytest.raises(GraphError, match="give a networkx Graph or DiGraph"):
        from_networkx(nx.MultiDiGraph([("a", "b")]))
    with pytest.raises(GraphError, match="give a networkx Graph or DiGraph"):
        from_networkx({"a": ["b"]})
    with pytest.raises(GraphError, match="'1' stands twice"):
        from_networkx(nx.DiGraph([(1, "1")]))
    with pytest.raises(GraphError, match="to itself"):
        from_networkx(nx.DiGraph([("a", "a")]))


class General:
    """What kerncause looks at in causal-learn's GeneralGraph."""

    def __init__(self, names, marks):
        self._nodes = [Node(name) for name in names]
        self.graph = np.array(marks)

    def get_nodes(self):
        return self._nodes


class Node:
    def __init__(self, name):
        self._name = name

    def get_name(self):
        return self._name


def test_the_marks_of_causal_learn():
    # M[i, j] is the mark at i: a -> b has a tail at a and a head at b.
    marks = [[0, -1, 0, 0], [1, 0, 0, 1], [0, 0, 0, -1], [0, -1, -1, 0]]
    assert from_causal_learn(General("abcd", marks)) == PDAG("abcd", ["ab", "db"], ["cd"])
    for ends in ((1, 1), (2, 1), (2, 2), (4, 4), (-1, 0)):
        with pytest.raises(GraphError, match=f"has the marks {ends[0]} and {ends[1]}: only --> and ---"):
            from_causal_learn(General("ab", [[0, ends[0]], [ends[1], 0]]))
    with pytest.raises(GraphError, match=r"has shape \(1, 1\), but there are 2 nodes"):
        from_causal_learn(General("ab", [[0]]))
    with pytest.raises(GraphError, match="give a causal-learn GeneralGraph"):
        from_causal_learn({"G": 1})


def test_without_causal_learn_it_is_said_what_to_install(monkeypatch):
    for name in [module for module in sys.modules if module.split(".")[0] == "causallearn"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "causallearn", None)
    with pytest.raises(OptionError, match=r"pip install 'kerncause\[baselines\]'"):
        to_causal_learn(DAG("ab"))


def test_graphml_with_an_edge_to_no_node_is_refused(tmp_path):
    path = tmp_path / "graph.graphml"
    path.write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><graph edgedefault="directed">'
        '<node id="a"/><edge source="a" target="b"/></graph></graphml>'
    )
    with pytest.raises(GraphError, match="an edge leads to 'b', which is no node"):
        read_graph(path)
    path.write_text("<x/>")
    with pytest.raises(GraphError, match="there are 0 graphs in it: give one"):
        read_graph(path)


def test_what_is_no_ordinary_file_is_left_alone(tmp_path):
    path = tmp_path / "pipe.dot"
    os.mkfifo(path)
    with pytest.raises(OptionError, match="is no ordinary file"):
        write_graph(DAG("ab", [("a", "b")]), path)
    assert path.is_fifo()
