import datetime

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kerncause import DataError, Dataset, Kind, OptionError, networks, read_table
from oracles import standardised

N = 60


def base(**more):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"u": rng.normal(size=N), **more})


def kind_of(column, **options):
    data = Dataset.from_frame(base(x=column), **options)
    return data.variable("x")


@pytest.mark.parametrize(
    ("column", "kind", "levels"),
    [
        (np.linspace(0, 1, N), Kind.CONTINUOUS, None),
        (np.arange(N) % 4, Kind.ORDINAL, ("0", "1", "2", "3")),
        ((np.arange(N) % 4).astype(float), Kind.ORDINAL, ("0", "1", "2", "3")),
        (np.arange(N) * 3, Kind.CONTINUOUS, None),
        (np.arange(N) % 30, Kind.CONTINUOUS, None),
        (np.arange(N) % 2 == 0, Kind.CATEGORICAL, ("False", "True")),
        (pd.Series([True, False, None] * 20, dtype=object)[:N].fillna(True), Kind.CATEGORICAL, ("False", "True")),
        (
            pd.Categorical(["lo", "hi", "mid"] * 20, ["lo", "mid", "hi"], ordered=True),
            Kind.ORDINAL,
            ("lo", "mid", "hi"),
        ),
        (pd.Categorical(["b", "a"] * 30), Kind.CATEGORICAL, ("a", "b")),
        (["b", "a", "c"] * 20, Kind.CATEGORICAL, ("a", "b", "c")),
        ([str(i % 5) for i in range(N)], Kind.ORDINAL, ("0", "1", "2", "3", "4")),
        ([f"{i / 7:.3f}" for i in range(N)], Kind.CONTINUOUS, None),
        (pd.date_range("2024-01-01", periods=N), Kind.CONTINUOUS, None),
        ([f"2024-01-{1 + i % 28:02d}" for i in range(N)], Kind.CONTINUOUS, None),
        ([datetime.date(2024, 1, 1 + i % 28) for i in range(N)], Kind.CONTINUOUS, None),
        ([f"2024-01-01T{i % 24:02d}:30:00Z" for i in range(N)], Kind.CONTINUOUS, None),
        (pd.to_timedelta(np.arange(N), unit="h"), Kind.CONTINUOUS, None),
        (["None", "NA", "null"] * 20, Kind.CATEGORICAL, ("NA", "None", "null")),
        (pd.array([1, 2, 3] * 20, dtype="Int64"), Kind.ORDINAL, ("1", "2", "3")),
    ],
)
def test_kinds_are_inferred_by_the_written_rule(column, kind, levels):
    variable = kind_of(column)
    assert variable.kind is kind
    assert variable.levels == levels
    assert variable.reason


def test_dates_are_days():
    dates = pd.date_range("2024-01-01", periods=N, freq="12h")
    for column in (dates, dates.strftime("%Y-%m-%dT%H:%M"), dates.tz_localize("Europe/Paris")):
        data = Dataset.from_frame(base(x=column))
        order = np.argsort(data.row_order)
        np.testing.assert_allclose(np.diff(data.codes[order, 1]), 0.5)


def test_a_kind_can_be_given():
    assert kind_of(np.arange(N) % 3, kinds={"x": "continuous"}).kind is Kind.CONTINUOUS
    assert kind_of(np.arange(N), kinds={"x": "continuous"}).kind is Kind.CONTINUOUS
    assert kind_of(np.arange(N) % 3, kinds={"x": "categorical"}).levels == ("0", "1", "2")
    assert kind_of(np.arange(N) % 30, kinds={"x": "ordinal"}).kind is Kind.ORDINAL
    assert kind_of(["1", "2", "3+"] * 20, kinds={"x": "categorical"}).levels == ("1", "2", "3+")


def test_levels_give_the_order():
    data = Dataset.from_frame(base(x=["low", "high", "avg"] * 20), levels={"x": ["low", "avg", "high", "huge"]})
    assert data.variable("x").kind is Kind.ORDINAL
    assert data.variable("x").levels == ("low", "avg", "high", "huge")
    by_row = data.codes[np.argsort(data.row_order), 1]
    assert by_row[:3].tolist() == [1, 3, 2]
    numbers = Dataset.from_frame(base(x=[10, 20, 5] * 20), levels={"x": [5, 20, 10]})
    assert numbers.codes[np.argsort(numbers.row_order), 1][:3].tolist() == [3, 2, 1]


def test_groups_make_vectors():
    frame = base(a=np.arange(N) ** 2 % 7 / 3, b=np.arange(N) % 5, c=np.sin(np.arange(N)))
    data = Dataset.from_frame(frame, groups={"pos": ["c", "a"]})
    assert data.names == ("u", "pos", "b")
    assert data.variable("pos").kind is Kind.VECTOR
    assert data.variable("pos").columns == ("c", "a")
    assert data.points("pos").values.shape == (N, 2)
    np.testing.assert_allclose(data.points("pos").values.var(axis=0), 1)


def test_columns_are_standardised_with_ddof_0():
    frame = base(x=np.arange(N) % 7)
    data = Dataset.from_frame(frame)
    by_row = data.values[np.argsort(data.row_order)]
    np.testing.assert_allclose(by_row, standardised(frame.to_numpy(dtype=float)), atol=1e-12)


def test_dates_of_any_year():
    far = ["9999-12-31", "1066-10-14", "0001-01-01"] * 20
    by_row = Dataset.from_frame(base(x=far))
    assert by_row.codes[np.argsort(by_row.row_order), 1][:3].tolist() == [
        (datetime.date.fromisoformat(day) - datetime.date(1970, 1, 1)).days for day in far[:3]
    ]
    dates = [datetime.date(1, 1, 1), datetime.date(2024, 5, 1), datetime.date(9999, 1, 1)] * 20
    assert kind_of(dates).kind is Kind.CONTINUOUS


def test_huge_and_tiny_values_are_scaled():
    for scale in (1e300, 1e-300, 1e-161):
        data = Dataset.from_frame(base(x=np.sin(np.arange(N)) * scale))
        np.testing.assert_allclose(data.points("x").values.var(), 1)


REFUSED = [
    ({"x": [5.0] * N}, {}, DataError, "'x' has the same value in every row"),
    ({"x": [None] * N}, {}, DataError, "'x' has no value at all"),
    ({"x": ["2024-02-30", "2024-02-28"] * 30}, {}, DataError, "'x' holds dates, but '2024-02-30' is none"),
    ({"x": ["0000-00-00", "2024-02-28"] * 30}, {}, DataError, "'0000-00-00' is none"),
    ({"x": [f"{i % 7},25" for i in range(N)]}, {}, DataError, "'x' holds what look like numbers, such as '0,25'"),
    ({"x": [f"{i % 7}%" for i in range(N)]}, {}, DataError, "'x' holds what look like numbers, such as '0%'"),
    ({"x": [0.1 + 0.2, 0.3] * 30}, {}, DataError, "'x' has values that differ only in their last digits"),
    ({"x": [None] + [f"p{i}" for i in range(N - 1)]}, {}, DataError, "'x' is text with a different value in each"),
    ({"x": np.arange(N) % 3}, {"drop": "x"}, OptionError, "drop is the text 'x'"),
    ({"x": np.arange(N) % 3}, {"na_values": "NA"}, OptionError, "na_values has the text 'NA'"),
    ({"x": np.arange(N) % 3}, {"groups": {"g": "ux"}}, OptionError, "groups has the text 'ux' for 'g'"),
    ({"x": [np.inf] + [1.5] * (N - 1)}, {}, DataError, "'x' has 1 infinite value"),
    ({"x": [np.inf, 1] * (N // 2)}, {"kinds": {"x": "ordinal"}}, DataError, "'x' has 30 infinite values"),
    ({"x": [np.nan, 1.5] * (N // 2)}, {}, DataError, "30 rows of 60 have missing values, in 'x'"),
    ({"x": ["1", "2", "unknown"] * 20}, {}, DataError, "'x' mixes numbers .* 'unknown'"),
    ({"x": [1, 2, "unknown"] * 20}, {}, DataError, "'x' mixes numbers"),
    ({"x": [f"person {i}" for i in range(N)]}, {}, DataError, "'x' is text with a different value in each"),
    ({"x": np.arange(N) + 7}, {}, DataError, "'x' looks like an identifier .* 7 to 66"),
    ({"x": [[1], [2]] * 30}, {}, DataError, "'x' holds values of type 'list'"),
    ({"x": np.arange(N) * 1j}, {}, DataError, "'x' holds complex numbers"),
    ({"x": ["a", "b"] * 30}, {"kinds": {"x": "continuous"}}, DataError, "'x' holds text such as 'a'"),
    ({"x": ["a", "b"] * 30}, {"kinds": {"x": "ordinal"}}, DataError, "'x' is text, whose order is not known"),
    ({"x": ["a", "b"] * 30}, {"levels": {"x": ["a", "c"]}}, DataError, "'x' has 'b', not among its levels"),
    ({"x": ["a", "b"] * 30}, {"levels": {"x": ["a", "a"]}}, DataError, "'x' name one value twice"),
    ({"x": np.arange(N) % 3}, {"kinds": {"x": "number"}}, OptionError, "'x' cannot be of kind 'number'"),
    ({"x": np.arange(N) % 3}, {"kinds": {"y": "ordinal"}}, OptionError, "kinds .--kind. speaks of a column 'y'"),
    ({"x": np.arange(N) % 3}, {"drop": ["y"]}, OptionError, "drop .--drop. speaks of a column 'y'"),
    ({"x": np.arange(N) % 3}, {"missing": "ignore"}, OptionError, "missing .--missing. cannot be 'ignore'"),
    ({"x": np.arange(N) % 3}, {"groups": {"g": ["x", "x"]}}, OptionError, "names column 'x' twice"),
    ({"x": np.arange(N) % 3}, {"groups": {"g": []}}, OptionError, "'g' has no columns"),
    ({"x": np.arange(N) % 3}, {"groups": {"u": ["x"]}}, OptionError, "'u' has the name of a column outside it"),
    ({"x": ["a", "b", "c"] * 20, "y": np.arange(N) % 3}, {"groups": {"g": ["x", "y"]}}, DataError, "'x' of group 'g'"),
    ({}, {}, DataError, "only the variable"),
    ({"x": np.arange(N) % 3}, {"groups": {"g": ["x", "u"]}}, DataError, "only the variable"),
]


@pytest.mark.parametrize(("columns", "options", "error", "message"), REFUSED)
def test_what_cannot_be_used_is_refused_by_name(columns, options, error, message):
    with pytest.raises(error, match=message):
        Dataset.from_frame(base(**columns), **options)


def test_overlapping_groups_are_refused():
    frame = base(a=np.arange(N) % 3, b=np.arange(N) % 5, c=np.arange(N) % 7)
    with pytest.raises(OptionError, match="'b' is in group 'g' and in group 'h'"):
        Dataset.from_frame(frame, groups={"g": ["a", "b"], "h": ["b", "c"]})


def test_shapes_that_cannot_be_tables():
    with pytest.raises(DataError, match="no rows"):
        Dataset.from_frame(pd.DataFrame({"a": [], "b": []}))
    with pytest.raises(DataError, match="one row"):
        Dataset.from_frame(pd.DataFrame({"a": [1], "b": [2]}))
    with pytest.raises(DataError, match="'a' stands for several columns"):
        Dataset.from_frame(pd.DataFrame([[1, 2], [3, 4]], columns=["a", "a"]))
    with pytest.raises(DataError, match="1 dimension"):
        Dataset.from_array([1.0, 2.0])
    with pytest.raises(OptionError, match="3 names for 2 columns"):
        Dataset.from_array([[1.0, 2.0], [2.0, 1.0]], ["a", "b", "c"])


def test_more_columns_than_rows_is_said():
    data = Dataset.from_array(np.random.default_rng(0).normal(size=(5, 9)))
    assert any("more variables (9) than rows (5)" in notice for notice in data.notices)


def test_missing_values_can_be_dropped_or_kept():
    frame = base(x=[np.nan, 1.5, 2.5, 3.25] * 15, y=[np.nan, np.nan] + [0.5, 0.25] * 29)
    dropped = Dataset.from_frame(frame, missing="drop")
    assert dropped.n_rows == 60 - 16
    assert any("16 rows of 60" in notice and "44 rows left" in notice for notice in dropped.notices)
    kept = Dataset.from_frame(frame, missing="testwise")
    assert kept.n_rows == 60
    assert kept.incomplete == {"x", "y"}
    assert kept.complete_for({"u"}) is kept
    assert kept.complete_for({"u", "x"}).n_rows == 45
    assert kept.complete_for({"x", "y"}).n_rows == 44
    assert kept.complete_for({"x", "y"}).complete_for({"x"}).n_rows == 44
    np.testing.assert_allclose(np.nanmean(kept.values, axis=0), 0, atol=1e-12)
    with pytest.raises(DataError, match="'x' has the same value in every row in the rows without missing"):
        Dataset.from_frame(base(x=[1.5] * 30 + [2.5] * 30, y=[0.1, 0.2] * 15 + [np.nan] * 30), missing="drop")


def test_words_mean_missing_only_when_named():
    words = ["?", "a", "NA", "a", "b", "NA"] * 10
    assert kind_of(words).missing == 0
    assert kind_of(words, na_values=["?"], missing="drop").missing == 10
    assert kind_of(words, na_values={"x": ["?", "NA"]}, missing="drop").missing == 30
    coded = base(x=[1.5, -999, 2.5, 3.5] * 15)
    for mark in ("-999", -999, -999.0):
        assert Dataset.from_frame(coded, na_values=[mark], missing="drop").n_rows == 45
    numbers = ["1.5", "NA", "2.5", "nan"] * 15
    with pytest.raises(DataError, match="--na"):
        kind_of(numbers, missing="drop")
    assert kind_of(numbers, na_values=["NA"], missing="drop").missing == 30


def test_the_dataset_cannot_be_changed():
    data = Dataset.from_frame(base(x=np.arange(N) % 3))
    with pytest.raises(ValueError, match="read-only"):
        data.values[0, 0] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        data.points("x").values[0, 0] = 1.0
    with pytest.raises(AttributeError):
        data.variables = ()


def test_the_hash_follows_the_content():
    frame = base(x=np.arange(N) % 3, y=np.cos(np.arange(N)))
    same = Dataset.from_frame(frame)
    assert len(same.hash) == 64
    assert same.hash == Dataset.from_frame(frame.sample(frac=1, random_state=1)).hash
    assert same.hash == Dataset.from_frame(frame[["y", "u", "x"]]).hash
    assert same.hash != Dataset.from_frame(frame.rename(columns={"x": "z"})).hash
    assert same.hash != Dataset.from_frame(frame, kinds={"x": "categorical"}).hash
    changed = frame.copy()
    changed.loc[3, "y"] += 1e-9
    assert same.hash != Dataset.from_frame(changed).hash


tables = st.integers(2, 12).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 2), min_size=n, max_size=n), min_size=2, max_size=5)
)


@given(tables, st.randoms())
def test_the_canonical_form_ignores_order_and_names(columns, random):
    table = np.array(columns, dtype=float).T
    table[0], table[1] = 0, 1  # no column is constant
    names = [f"c{j}" for j in range(table.shape[1])]
    rows, places = list(range(len(table))), list(range(table.shape[1]))
    random.shuffle(rows)
    random.shuffle(places)
    one = Dataset.from_array(table, names)
    renamed = {name: f"z{99 - int(name[1:])}" for name in names}
    other = Dataset.from_array(table[rows][:, places], [renamed[names[j]] for j in places])
    # Columns that are copies of each other may swap names, so compare what they hold.
    for a, b in zip(one.canonical, other.canonical, strict=True):
        np.testing.assert_array_equal(np.sort(one.points(a).values, axis=0), np.sort(other.points(b).values, axis=0))
    if len(np.unique(table, axis=1).T) == table.shape[1]:
        stacked = [np.hstack([d.points(name).values for name in d.canonical]) for d in (one, other)]
        gram = [s @ s.T for s in stacked]
        np.testing.assert_array_equal(
            np.sort(np.linalg.eigvalsh(gram[0])).round(9), np.sort(np.linalg.eigvalsh(gram[1])).round(9)
        )


def test_permuted_tables_are_the_same_to_the_last_bit():
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("abcd")).assign(e=rng.integers(0, 3, 200))
    other = frame.sample(frac=1, random_state=0)[["d", "e", "a", "c", "b"]].rename(columns={"a": "zz"})
    one, two = Dataset.from_frame(frame), Dataset.from_frame(other)
    assert [{"a": "zz"}.get(name, name) for name in one.canonical] == list(two.canonical)
    for a, b in zip(one.canonical, two.canonical, strict=True):
        np.testing.assert_array_equal(one.points(a).values, two.points(b).values)


def test_columns_with_the_same_values_are_told_apart_by_their_rows():
    rng = np.random.default_rng(5)
    ranks = np.column_stack([rng.permutation(50) for _ in range(4)]).astype(float) * 2
    names = ["a", "b", "c", "d"]
    one = Dataset.from_array(ranks, names)
    two = Dataset.from_array(ranks[:, ::-1], names[::-1])
    assert one.canonical == two.canonical
    assert len(set(one.canonical)) == 4


def write(tmp_path, text, name="t.csv"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_files_are_read_as_they_stand(tmp_path):
    rows = "\n".join(f"{i / 7},{'None' if i % 2 else 'NA'},{i % 3}" for i in range(30))
    data = read_table(write(tmp_path, f"x,word,k\n{rows}\n"))
    assert data.variable("word").levels == ("NA", "None")
    assert data.variable("k").kind is Kind.ORDINAL
    tabs = read_table(write(tmp_path, f"x,word,k\n{rows}\n".replace(",", "\t"), "t.tsv"))
    semicolons = read_table(write(tmp_path, "\ufeff" + f"x,word,k\n{rows}\n".replace(",", ";"), "s.csv"))
    named = read_table(write(tmp_path, f"x,word,k\n{rows}\n".replace(",", "~"), "w.csv"), separator="~")
    assert data.hash == tabs.hash == semicolons.hash == named.hash


def test_quoted_cells_and_windows_line_ends(tmp_path):
    rows = "\r\n".join(f'"{i / 7}","a, {i % 2}"' for i in range(9))
    data = read_table(write(tmp_path, f'"x","the, word"\r\n{rows}\r\n'))
    assert data.names == ("x", "the, word")
    assert data.variable("the, word").levels == ("a, 0", "a, 1")


def test_parquet_keeps_types(tmp_path):
    frame = networks.load("child").sample(100, seed=1, labels=True)
    frame = frame.loc[:, frame.nunique() > 1]
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").hash == Dataset.from_frame(frame).hash


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b\n", "no rows"),
        ("a,b\n1,2\n", "one row"),
        ("a\n1\n2\n3\n", "only the variable 'a'.*separator"),
        ("a,b,a\n1,2,3\n4,5,6\n", "'a' stands for several columns"),
        ("1.5,2\n3,4\n5,6\n", "holds numbers"),
        ("a,b\n1,2\n3,4,5\n", "is not a table of 2 columns"),
        ("a,b\n1,2,3\n3,4,5\n", "is not a table of 2 columns"),
        ("a,b\n1,\n2,\n", "'b' has no value at all"),
        ("a,b\n1,x\n2,\n3,y\n2,x\n", "1 row of 4 has missing values, in 'b'"),
        ("a,b\n1,inf\n2,3\n3,4\n", "'b' has 1 infinite value"),
    ],
)
def test_files_that_are_no_tables(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_table(write(tmp_path, text))


def test_paths_that_are_no_files(tmp_path):
    with pytest.raises(DataError, match="there is no file"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="is a directory"):
        read_table(tmp_path)
    (tmp_path / "binary.csv").write_bytes(bytes(range(128, 256)))
    with pytest.raises(DataError, match="not UTF-8"):
        read_table(tmp_path / "binary.csv")
    (tmp_path / "bad.parquet").write_bytes(b"PAR?")
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        read_table(tmp_path / "bad.parquet")
    with pytest.raises(DataError, match="cannot be read"):
        read_table(tmp_path / ("long" * 100))
    (tmp_path / "bad.csv.gz").write_bytes(b"not gzip")
    with pytest.raises(DataError, match="cannot be read"):
        read_table(tmp_path / "bad.csv.gz")


def test_names_with_separators_in_quotes(tmp_path):
    rows = "\n".join(f"{i / 7};{i % 3};{i * i % 5}" for i in range(30))
    assert read_table(write(tmp_path, f'"a,b";"c,d";e\n{rows}\n')).names == ("a,b", "c,d", "e")
    commas = "\n".join(f"{i // 7},{i % 7};{i % 3}" for i in range(1, 30))
    assert read_table(write(tmp_path, f"a;b\n{commas}\n"), decimal=",").variable("a").kind is Kind.CONTINUOUS
    with pytest.raises(DataError, match="--decimal"):
        read_table(write(tmp_path, f"a;b\n{commas}\n"))
    with pytest.raises(DataError, match="--sep"):
        read_table(write(tmp_path, "a b c\n" + "\n".join(f"{i} {i * 2} {i * 3}" for i in range(9))))
    with pytest.raises(DataError, match="is a quote left open"):
        read_table(write(tmp_path, 'a,"b\n' + "1,2\n" * 60_000))


def test_spaces_around_cells_do_not_count(tmp_path):
    rows = "\n".join(f"{i / 7}, {'u' if i % 2 else 'v'} , {' ' if i == 3 else i % 5}" for i in range(30))
    data = read_table(write(tmp_path, f"a, b, c\n{rows}\n"), missing="drop")
    assert data.variable("b").levels == ("u", "v")
    assert data.variable("c").kind is Kind.ORDINAL
    assert data.n_rows == 29


def test_a_column_without_a_name_gets_one(tmp_path):
    frame = base(x=np.arange(N) % 3)
    frame.to_csv(tmp_path / "with_index.csv")
    with pytest.raises(DataError, match="'column 1' looks like an identifier"):
        read_table(tmp_path / "with_index.csv")
    assert read_table(tmp_path / "with_index.csv", drop=["column 1"]).names == ("u", "x")


def test_describe_shows_the_inference():
    shown = Dataset.from_frame(base(x=["b", "a"] * 30)).describe()
    assert shown["variable"].tolist() == ["u", "x"]
    assert shown["kind"].tolist() == ["continuous", "categorical"]
    assert "text, 2 values" in shown["why"].tolist()
