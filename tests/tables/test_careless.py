"""Input that people have: missing texts, several text columns, frames everywhere, other encodings, broken files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import wordferry
from wordferry import pairwise, read_documents
from wordferry.base.frames import TableRow, TableRows
from wordferry.errors import EmptyDocumentError, FormatError, InputError
from wordferry.find.memory import WordSearch
from wordferry.texts.bow import bags
from wordferry.texts.records import Record
from wordferry.words.vocabulary import Vocabulary

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

TEXTS = ["a cat sleeps", "two dogs barked", "shares fell"]
MISSING = (None, float("nan"), pandas.NA, pandas.NaT, "")
FORMS = {
    "pandas": pandas.DataFrame({"id": ["x", "y", "z"], "text": TEXTS}),
    "polars": polars.DataFrame({"id": ["x", "y", "z"], "text": TEXTS}),
    "arrow": pyarrow.table({"id": ["x", "y", "z"], "text": TEXTS}),
    "columns": {"text": TEXTS},
    "column": pandas.Series(TEXTS),
    "one column": np.array(TEXTS, dtype=object)[:, None],
    "records": [Record(text, id=str(n)) for n, text in enumerate(TEXTS)],
    "mappings": [{"id": "x", "text": TEXTS[0]}, {"text": TEXTS[1]}, {"tokens": ["shares", "fell"]}],
}


@pytest.mark.parametrize("form", FORMS)
def test_word_search_takes_what_an_index_takes(form):
    search = WordSearch(FORMS[form])
    assert [row for row, _ in search.search("dogs")] == [1]
    assert len(search) == 3


@pytest.mark.parametrize("form", FORMS)
def test_so_do_the_functions(form):
    assert pairwise(FORMS[form], ["dogs barked"], "rwmd").argmin() == 1


@pytest.mark.parametrize("missing", MISSING)
def test_a_missing_text_is_an_empty_document(missing):
    words = Vocabulary(["cat", "sleeps"])
    for documents in (["cat", missing], pandas.DataFrame({"text": ["cat", missing]})):
        with pytest.raises(EmptyDocumentError, match="Document 1"):
            bags(documents, words)
        found = bags(documents, words, on_empty="drop")
        assert (found.documents, found.dropped.tolist(), found.matrix.shape[0]) == (2, [1], 1)
        assert bags(documents, words, on_empty="keep").matrix.shape[0] == 2
    assert len(WordSearch(["cat", missing])) == 2


def test_missing_texts_are_alike_in_every_source(tmp_path):
    (tmp_path / "a.csv").write_text("id,text\n1,cat\n2,\n")
    (tmp_path / "a.tsv").write_text("id\ttext\n1\tcat\n2\t\n")
    (tmp_path / "a.jsonl").write_text('{"id": "1", "text": "cat"}\n{"id": "2", "text": null}\n')
    parquet.write_table(pyarrow.table({"id": ["1", "2"], "text": ["cat", None]}), tmp_path / "a.parquet")
    tables = [pandas.DataFrame({"id": ["1", "2"], "text": ["cat", missing]}) for missing in MISSING]
    for source in [*sorted(tmp_path.iterdir()), *tables, polars.DataFrame({"id": ["1", "2"], "text": ["cat", None]})]:
        assert [(one.id, one.text) for one in read_documents(source)] == [("1", "cat"), ("2", "")]


def test_several_fields_are_one_text(tmp_path):
    (tmp_path / "a.csv").write_text("id,title,body,year\n1,Cats,They sleep,1999\n2,,No head,2000\n3,Head,,\n")
    first, second, third = read_documents(tmp_path / "a.csv", text=["title", "body"])
    assert (first.text, first.metadata) == ("Cats\n\nThey sleep", {"title": "Cats", "year": 1999})
    assert (second.text, second.metadata["title"]) == ("No head", "")
    assert third.text == "Head"
    with pytest.raises(FormatError, match=r"line 2: expected a field 'head'"):
        list(read_documents(tmp_path / "a.csv", text=["head", "body"]))
    with pytest.raises(InputError, match="different ones"):
        read_documents(tmp_path / "a.csv", text=["body", "body"])
    with pytest.raises(InputError, match="'body' holds the text"):
        read_documents(tmp_path / "a.csv", text=["title", "body"], skip="body")
    tokens = [{"title": ["a", "b"], "body": ["c"]}]
    assert next(read_documents(pandas.DataFrame(tokens), text=["title", "body"])).text == ("a", "b", "c")


def test_a_title_may_stand_in_any_field():
    table = {"text": ["They sleep"], "headline": ["Cats"], "year": [1999]}
    assert next(read_documents(table)).metadata == {"headline": "Cats", "year": 1999}
    assert next(read_documents(table, title="headline")).metadata == {"title": "Cats", "year": 1999}
    with pytest.raises(FormatError, match="field 'head' with the title"):
        next(read_documents(table, title="head"))


def test_records_say_where_they_are_from(tmp_path):
    (tmp_path / "a.csv").write_text('id,text\n1,"two\nlines"\n2,one\n')
    assert [one.where for one in read_documents(tmp_path / "a.csv")] == [
        f"{tmp_path / 'a.csv'}, line 3",
        f"{tmp_path / 'a.csv'}, line 4",
    ]
    assert [one.where for one in read_documents({"text": ["a", "b"]})] == ["The table, row 0", "The table, row 1"]


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-8-sig", "UTF8"])
def test_other_encodings(tmp_path, encoding):
    (tmp_path / "a.csv").write_bytes("id,text\r\n1,café über\r\n2,naïve\r\n".encode(encoding))
    found = list(read_documents(tmp_path / "a.csv", encoding=encoding))
    assert [(one.id, one.text) for one in found] == [("1", "café über"), ("2", "naïve")]
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_bytes("café\n".encode(encoding))
    assert next(read_documents(tmp_path / "folder", encoding=encoding)).text == "café\n"


def test_encodings_that_are_none(tmp_path):
    (tmp_path / "a.txt").write_bytes("café\n".encode("latin-1"))
    with pytest.raises(FormatError, match="encoding='latin-1'"):
        list(read_documents(tmp_path / "a.txt"))
    with pytest.raises(FormatError, match="is no ascii text after line 0"):
        list(read_documents(tmp_path / "a.txt", encoding="ascii"))
    with pytest.raises(InputError, match="There is no encoding 'latin-99'"):
        list(read_documents(tmp_path / "a.txt", encoding="latin-99"))


@pytest.mark.parametrize(
    ("documents", "said"),
    [
        ([b"a cat"], r"Document 0 must be a text .*decode\('utf-8'\)"),
        ([["cat", b"dog"]], r"Document 0: tokens must be str, got bytes .* decode"),
        (np.array([b"a cat"]), "decode"),
        ([[(0, 1), (4, 2)]], r"gensim's doc2bow .*dictionary\[i\]"),
        ([{"body": "a cat"}], "expected a field 'text'"),
        (np.array([["a cat", "a dog"]], dtype=object), r"shape \(1, 2\), .* one-dimensional"),
    ],
)
def test_what_is_no_text_is_refused_with_what_to_do(documents, said):
    with wordferry.Index.create() as index:
        for call in (WordSearch, lambda some: pairwise(some, ["cat"], "rwmd"), index.add, index.upsert):
            if isinstance(documents[0], dict) and call in (index.add, index.upsert):
                said = "must have a 'text'"
            with pytest.raises(InputError, match=said):
                call(documents)


def test_queries_that_are_no_texts():
    with wordferry.Index.create() as index:
        index.add(TEXTS)
        found = index.search(pandas.Series(["dogs", None, float("nan"), pandas.NA, "shares"]))
        assert [len(hits) for hits in found] == [1, 0, 0, 0, 1]
        for query in (b"dogs", [b"dogs"]):
            with pytest.raises(InputError, match=r"decode\('utf-8'\)"):
                index.search(query)


def test_an_estimator_asks_for_a_column_of_texts():
    frame = pandas.DataFrame({"head": ["a cat", "a dog"], "body": ["sleeps", "barks"]})
    with pytest.raises(InputError, match=r"none of them is called 'text'.*X\['head'\]"):
        wordferry.neighbors.WordMoverClassifier(1).fit(frame, ["a", "b"])
    model = wordferry.neighbors.WordMoverClassifier(1).fit(frame["body"], ["a", "b"])
    assert model.predict(frame[["body"]]).tolist() == ["a", "b"]


@pytest.mark.parametrize("documents", ["a text", b"a text", 7, None])
def test_a_single_document_is_no_list(documents):
    with pytest.raises(InputError, match="Put it in a list"):
        WordSearch(documents)


def test_texts_that_are_no_utf8(tmp_path):
    column = pyarrow.array([b"fine", b"caf\xe9", b"more"], pyarrow.binary()).view(pyarrow.utf8())
    table = pyarrow.table({"id": pyarrow.array(["a", "b", "c"]), "text": column})
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(FormatError, match=r"a\.parquet, row 2: a text is not UTF-8"):
        list(read_documents(tmp_path / "a.parquet"))
    with pytest.raises(FormatError, match=r"The table, row 1: a text is not UTF-8"):
        list(read_documents(table))


def test_vectors_cut_in_their_last_number_are_spoken_of(tmp_path):
    whole = "cat 0.25 0.5\ndog 0.125 0.75\n"
    for text, header in ((whole, ""), (whole, "2 2\n")):
        (tmp_path / "whole.txt").write_text(header + text)
        (tmp_path / "cut.txt").write_text(header + text[:-2])
        assert len(wordferry.load_embeddings(tmp_path / "whole.txt")) == 2
        with pytest.warns(UserWarning, match=r"cut\.txt, line \d: .* may be cut off"):
            wordferry.load_embeddings(tmp_path / "cut.txt")
        assert len(wordferry.load_embeddings(tmp_path / "cut.txt", limit=1)) == 1


@dataclass(frozen=True, eq=False)
class Found(TableRow):
    """A row as results have them: fields of its own, and metadata that not all share."""

    id: str
    distance: float
    metadata: dict[str, object]

    def to_row(self):
        return {"id": self.id, "distance": self.distance, **self.metadata}


def test_table_rows_are_taken_by_the_libraries():
    rows = TableRows([Found("a", 0.25, {"year": 1999}), Found("b", 0.5, {})])
    assert (len(rows), rows[1].id, [row.id for row in reversed(rows)], rows[:1]) == (2, "b", ["b", "a"], [rows[0]])
    assert rows == TableRows(list(rows))
    assert rows[0] in rows
    assert rows != TableRows()
    columns = {"id": ["a", "b"], "distance": [0.25, 0.5], "year": [1999, None]}
    assert rows.to_columns() == columns
    assert polars.DataFrame(rows).to_dict(as_series=False) == columns
    assert pyarrow.table(rows).to_pydict() == columns
    frame = pandas.DataFrame(rows)
    assert set(frame.columns) == set(columns)
    assert frame["id"].tolist() == ["a", "b"]
    assert frame["distance"].tolist() == [0.25, 0.5]
    assert dict(rows[0]) == {"id": "a", "distance": 0.25, "year": 1999}


def test_hits_are_tables_of_every_library(tmp_path: Path) -> None:
    pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    with wordferry.Index.create(tmp_path / "index") as index:
        index.add([{"text": "bread and butter", "year": 1999, "id": "a"}, {"text": "fresh bread", "id": "b"}])
        for hits in (index.search("bread"), index.similar("bread and butter")):
            value = "score" if hits.method == "words" else "distance"
            for table in (pd.DataFrame(hits), pl.DataFrame(hits), pa.table(hits).to_pandas()):
                assert {"id", value, "label", "text", "year"} <= set(table.columns)
                assert list(table["id"]) == [hit.id for hit in hits]
                assert list(table[value]) == [getattr(hit, value) for hit in hits]
            assert hits == list(hits)
            assert hits[:1] == [hits[0]]


def test_a_call_says_what_becomes_of_texts_without_words(tmp_path: Path) -> None:
    with wordferry.Index.create(tmp_path / "index") as index:
        with pytest.raises(wordferry.errors.EmptyDocumentError, match="on_empty='drop'"):
            index.add(["some bread", None])
        assert len(index) == 0
        assert index.add([{"id": "a", "text": "some bread"}, {"id": "b", "text": None}], on_empty="drop") == ["a"]
        assert index.upsert([{"id": "c", "text": "?!"}], on_empty="keep") == ["c"]
        assert index.upsert([{"id": "a", "text": ""}], on_empty="drop") == []  # it replaced the text, and has no words
        assert [document.id for document in index] == ["c"]
        with pytest.raises(wordferry.errors.InputError, match="on_empty"):
            index.add(["bread"], on_empty="leave")


def test_several_columns_are_one_text_and_one_is_its_title() -> None:
    with wordferry.Index.create() as index:  # in a folder that goes with it
        folder = index.path
        rows = {"head": ["Bread prices rise"], "body": ["Flour costs more than last year."], "id": ["a"]}
        index.add(rows, text=["head", "body"], title="head")
        assert index.search("flour")[0].metadata["title"] == "Bread prices rise"
        assert index.search("bread")[0].id == "a"
        assert folder.is_dir()
    assert not folder.exists()
    assert not folder.parent.exists()


def test_words_to_leave_out_are_chosen_when_an_index_is_made() -> None:
    with wordferry.Index.create(stop=None) as index:
        index.add(["the who played in London", "a day in London"])
        assert [hit.id for hit in index.search("the who")] == ["doc-1"]
    with wordferry.Index.create(stop=["london"]) as index:
        index.add(["the who played in London", "a day in London"])
        assert [hit.id for hit in index.search("London played")] == ["doc-1"]
        assert index.similar("London in May", k=2)[0].distance > 0.1  # it does not count where texts are compared
    with pytest.raises(InputError, match=r"stop= belongs to .* leave one out"):
        wordferry.Index.create(stop=None, tokenizer=wordferry.texts.tokenizers.make_tokenizer("fr"))
