"""Tables of other libraries as documents: read by column, or refused by name, and never by their column names."""

from __future__ import annotations

import datetime
import decimal
import uuid

import numpy as np
import pytest
import scipy.sparse as sp

import wordferry
from wordferry import encode, pairwise, read_documents, top_k
from wordferry.base.frames import plain_value
from wordferry.errors import EmptyDocumentError, FormatError, InputError
from wordferry.index import Index
from wordferry.neighbors import WordMoverClassifier, WordMoverNeighbors
from wordferry.texts.tables import is_table

arrow = pytest.importorskip("pyarrow")
pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")

TEXTS = ["the president greets the press", "a band gave a concert", "shares fell at the stock exchange"]
COLUMNS = {"key": ["a", "b", "c"], "body": TEXTS, "year": [2001, 2002, 2003], "topic": ["news", "music", None]}


def _tables():
    frame = pandas.DataFrame(COLUMNS)
    return {
        "dict": COLUMNS,
        "pandas": frame,
        "pandas with another index": frame.set_index(pandas.Index([7, 8, 9])),
        "polars": polars.DataFrame(COLUMNS),
        "arrow": arrow.table(COLUMNS),
        "record batch": arrow.RecordBatch.from_pydict(COLUMNS),
        "reader": arrow.table(COLUMNS).to_reader(),
        "interface": _Interface(),
        "dict of columns": {key: np.array(values, dtype=object) for key, values in COLUMNS.items()},
    }


class _Interface:
    """A table of a library that is unknown here, but speaks Arrow."""

    columns = tuple(COLUMNS)

    def __arrow_c_stream__(self, requested_schema=None):
        return arrow.table(COLUMNS).__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("name", list(_tables()))
def test_an_index_takes_tables(tmp_path, name):
    table = _tables()[name]
    assert is_table(table)
    with Index.create(tmp_path / "index") as index:
        assert index.add(table, text="body", id="key") == ["a", "b", "c"]
        assert [index.get(i).text for i in "abc"] == TEXTS
        assert index.get("b").metadata == {"year": 2002, "topic": "music"}
        assert [hit.id for hit in index.similar("a band", k=2, filter={"year": {"gte": 2002}})] == ["b", "c"]
        again = _tables()[name]
        assert index.upsert(again, text="body", id="key", skip=["topic"]) == ["a", "b", "c"]
        assert index.get("b").metadata == {"year": 2002}


@pytest.mark.parametrize("name", list(_tables()))
def test_read_documents_takes_tables(name):
    records = list(read_documents(_tables()[name], text="body", id="key", label="topic", skip=["year"]))
    assert [record.text for record in records] == TEXTS
    assert [record.id for record in records] == ["a", "b", "c"]
    assert [record.label for record in records] == ["news", "music", None]
    assert all(record.metadata == {} for record in records)


def test_hugging_face_datasets(tmp_path):
    datasets = pytest.importorskip("datasets")
    dataset = datasets.Dataset.from_dict(COLUMNS)
    with Index.create(tmp_path / "index") as index:
        assert index.add(dataset, text="body", id="key") == ["a", "b", "c"]
        assert index.upsert(dataset.to_iterable_dataset(), text="body", id="key") == ["a", "b", "c"]
        assert index.upsert(dataset.with_format("numpy"), text="body", id="key") == ["a", "b", "c"]
        assert index.get("c").metadata == {"year": 2003, "topic": None}
        with pytest.raises(InputError, match=r"dict of tables \('train', 'test'\)"):
            index.add(datasets.DatasetDict({"train": dataset, "test": dataset}))
    assert encode(dataset.rename_column("body", "text")).shape[0] == 3


@pytest.mark.parametrize("name", list(_tables()))
def test_a_table_without_the_column_is_refused_by_name(tmp_path, name):
    with Index.create(tmp_path / "index") as index:
        with pytest.raises(FormatError, match=r"'text'.*found 'key', 'body', 'year', 'topic'"):
            index.add(_tables()[name])
        with pytest.raises(FormatError, match="'nothing'"):
            index.add(_tables()[name], text="body", id="nothing")
        assert len(index) == 0


def _calls(X, embeddings=None):
    return [
        lambda: pairwise(X, TEXTS),
        lambda: pairwise(TEXTS, X),
        lambda: top_k(X, TEXTS, 1),
        lambda: top_k(TEXTS, X, 1),
        lambda: encode(X),
        lambda: wordferry.Searcher(X),
        lambda: wordferry.paired(X, TEXTS),
    ]


@pytest.mark.parametrize("name", [name for name in _tables() if name != "reader"])
def test_calls_without_metadata_take_the_column_text_or_say_which_there_are(name):
    for call in _calls(_tables()[name]):
        with pytest.raises(InputError, match="'key', 'body', 'year', 'topic'"):
            call()
    renamed = {"text": TEXTS, "year": [1, 2, 3]}
    tables = [pandas.DataFrame(renamed), polars.DataFrame(renamed), arrow.table(renamed), renamed]
    expected = pairwise(TEXTS, TEXTS)
    for table in [*tables, pandas.DataFrame({"body": TEXTS}), {"body": TEXTS}]:
        np.testing.assert_array_equal(pairwise(table, table), expected)
        np.testing.assert_array_equal(pairwise(table), expected)
        for call in _calls(table):
            call()


def test_columns_are_lists_of_texts(tmp_path):
    expected = pairwise(TEXTS, TEXTS)
    columns = [pandas.Series(TEXTS), polars.Series(TEXTS), arrow.array(TEXTS), arrow.chunked_array([TEXTS])]
    with Index.create(tmp_path / "index") as index:
        index.add(TEXTS)
        for column in columns:
            np.testing.assert_array_equal(pairwise(column, column), expected)
            assert len(index.search(column, k=1)) == 3
            assert len(index.add(column)) == 3


def test_tables_of_numbers_are_no_texts():
    table = pandas.DataFrame({"text": [1, 2], "other": [3, 4]})
    for call in _calls(table):
        with pytest.raises(InputError, match="holds int"):
            call()


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame])
def test_estimators_take_tables(make):
    texts = TEXTS * 2
    labels = np.array(["news", "music", "money"] * 2)
    expected = WordMoverClassifier(n_neighbors=1, r=4).fit(texts, labels).predict(TEXTS)
    for columns in ({"text": texts, "year": range(6)}, {"body": texts}):
        fitted = WordMoverClassifier(n_neighbors=1, r=4).fit(make(columns), labels)
        few = {name: list(values)[:3] for name, values in columns.items()}
        assert fitted.predict(make(few)).tolist() == expected.tolist()
    assert WordMoverNeighbors(n_neighbors=1, r=4).fit(make({"text": texts})).n_samples_fit_ == 6


def test_lazy_tables_and_single_documents_are_refused_with_what_to_do(tmp_path):
    with Index.create(tmp_path / "index") as index:
        with pytest.raises(InputError, match=r"\.collect\(\)"):
            index.add(polars.DataFrame(COLUMNS).lazy(), text="body")
        with pytest.raises(InputError, match="Put it in a list"):
            index.add({"text": "one document", "id": "a"})
        with pytest.raises(InputError, match="differ in length"):
            index.add({"text": ["a", "b"], "id": ["a"]})
        with pytest.raises(InputError, match="two columns of the same name"):
            index.add(pandas.DataFrame([["a", "b"]], columns=["text", "text"]))
        for missing in (None, float("nan"), pandas.NA):
            with pytest.raises(EmptyDocumentError, match="Document 1 has no words"):
                index.add(pandas.DataFrame({"text": ["a cat", missing]}))
        with pytest.raises(InputError, match="cannot be skipped"):
            index.add({"text": ["a"]}, skip=["text"])
        assert len(index) == 0


def test_fields_of_mappings_can_be_named(tmp_path):
    rows = [{"body": "a cat sleeps", "key": 7, "class": "pets", "year": 2001}]
    with Index.create(tmp_path / "index") as index:
        assert index.add(rows, text="body", id="key", label="class") == ["7"]
        assert (index.get(7).label, index.get(7).metadata) == ("pets", {"year": 2001})


def test_values_become_plain(tmp_path):
    when = datetime.datetime(2024, 5, 1, 12, 30, tzinfo=datetime.UTC)
    pairs = [
        (np.int32(3), 3),
        (np.float32(0.5), 0.5),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (float("nan"), None),
        (np.float64("nan"), None),
        (pandas.NaT, None),
        (pandas.NA, None),
        (np.datetime64("NaT"), None),
        (when, "2024-05-01T12:30:00+00:00"),
        (datetime.date(2024, 5, 1), "2024-05-01"),
        (datetime.time(12, 30), "12:30:00"),
        (pandas.Timestamp("2024-05-01"), "2024-05-01T00:00:00"),
        (np.datetime64("2024-05-01"), "2024-05-01"),
        (np.datetime64("2024-05-01T12:30:00", "ns"), "2024-05-01T12:30:00.000000000"),
        (datetime.timedelta(minutes=1), 60.0),
        (decimal.Decimal("2.50"), 2.5),
        (decimal.Decimal("3"), 3),
        (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (("a", np.int64(1)), ["a", 1]),
        ({"b", "a"}, ["a", "b"]),
        (np.array([1.5, np.nan]), [1.5, None]),
        (None, None),
        (True, True),
    ]
    for given, expected in pairs:
        found = plain_value(given)
        assert found == expected, given
        assert type(found) is type(expected), given
    with Index.create(tmp_path / "index") as index:
        frame = pandas.DataFrame({"text": TEXTS[:2], "when": [when, None], "n": [1, None], "flag": [True, False]})
        index.add(frame)
        first, second = (index.get(i).metadata for i in index.ids())
        assert first == {"when": when.isoformat(), "n": 1, "flag": True}
        assert second == {"when": None, "n": None, "flag": False}


def test_matrices_are_still_matrices():
    X = sp.csr_array(np.eye(3))
    assert not is_table(X)
    assert not is_table(np.eye(3))
    assert not is_table(TEXTS)
    assert not is_table("text")
    assert not is_table(pandas.Series(TEXTS))
    assert not is_table(polars.Series(TEXTS))
