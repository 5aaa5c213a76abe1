"""The short way through the checks of a document gives what the long one gives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wordferry import Index
from wordferry.errors import InputError
from wordferry.index.write.entries import _entry, _plain_entry, entries
from wordferry.texts.documents import read_documents
from wordferry.texts.records import Record

texts = st.text(st.sampled_from('ab \\"\n\0\u00e9\ud800'), max_size=5)
values = st.one_of(
    *(texts, st.none(), st.booleans(), st.integers(-(2**65), 2**65), st.floats()),
    *(st.lists(st.one_of(texts, st.integers(0, 9)), max_size=2), st.just("\0list\0[1]"), st.just({"a": 1})),
)
keys = st.one_of(
    st.sampled_from(["id", "text", "tokens", "label", "metadata", "year", "a.b", "a b", 'a"', "x" * 300]), texts
)
documents = st.one_of(
    texts,
    st.dictionaries(keys, values, max_size=5),
    st.fixed_dictionaries({"id": texts, "text": texts}, optional={"label": values, "year": values, "half": values}),
    st.builds(
        Record,
        texts,
        st.one_of(st.none(), texts),
        st.one_of(st.none(), texts),
        st.one_of(st.none(), texts),
        st.dictionaries(st.sampled_from(["year", "b"]), values, max_size=2),
    ),
)


@given(documents)
def test_both_ways_agree(document: Any) -> None:
    short = _plain_entry(document)
    try:
        long = _entry(document, "Document 0")
    except InputError:
        assert short is None
        return
    if short is not None:
        assert short == long
        assert short.values is not getattr(document, "metadata", None)


def test_most_documents_go_the_short_way() -> None:
    row = {"id": "a", "text": "Some text.", "label": "x", "year": 1999, "open": True, "topic": "law"}
    assert _plain_entry(row) is not None
    assert _plain_entry(Record("Some text.", "a", "x", metadata={"year": 1999})) is not None
    assert [entry.metadata for entry in entries([row])] == ['{"year": 1999, "open": true, "topic": "law"}']


def test_a_duplicate_id_names_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "texts.jsonl"
    rows = [{"id": f"d{i}", "text": "a cat"} for i in range(1100)]
    rows[7] = rows[5]
    with Index.create(tmp_path / "index") as index:

        def refused(*lines: int) -> str:
            file.write_text("".join(json.dumps(row) + "\n" for row in rows))
            with pytest.raises(InputError, match="'d5' appears twice") as caught:
                index.add(read_documents(file))
            assert all(f"{file}, line {line}" in str(caught.value) for line in lines)
            return str(caught.value)

        assert " and " in refused(6, 8)
        rows[7], rows[1090] = {"id": "d7", "text": "a dog"}, rows[5]
        refused(1091)
        index.add([{"id": "d9", "text": "a cat"}])
        rows[1090] = {"id": "last", "text": "a dog"}
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        with pytest.raises(InputError, match=r"line 10: .* has a document 'd9' already"):
            index.add(read_documents(file))


def test_a_repeated_id_names_its_places_in_the_list() -> None:
    documents = [{"id": "a", "text": "a cat"}, "no id", {"id": "b", "text": "a dog"}, {"id": "a", "text": "é"}]
    with Index.create() as index:
        for change in (index.add, index.upsert):
            with pytest.raises(
                InputError, match=r"'a' appears twice among these documents \(document 0 and document 3\)"
            ):
                change(documents)
        many = [{"id": str(number % 5001), "text": "a cat"} for number in range(5002)]
        with pytest.raises(InputError, match=r"'0' appears twice .*document 5001\)"):
            index.add(many)
        assert len(index) == 0


def test_metadata_of_its_own_stands_beside_named_fields() -> None:
    documents = [
        {"id": "a", "text": "a cat", "v": [1.0, 0.0], "metadata": {"year": 1999, "id": "x"}, "long": True},
        {"id": "b", "text": "a dog", "v": [0.0, 1.0], "metadata": None},
    ]
    with Index.create() as index:
        index.add(documents, vectors="v")
        assert index.get("a").metadata == {"year": 1999, "id": "x", "long": True}
        assert index.get("b").metadata == {}
        assert [hit.id for hit in index.search("cat", filter={"year": 1999}, vector=[1.0, 0.0])] == ["a"]
        with pytest.raises(InputError, match="'year' stands both beside the text and in its metadata"):
            index.add([{**documents[0], "id": "c", "year": 2000}], vectors="v")
        index.add([{"name": "d", "text": "a cow", "v": [1.0, 1.0], "metadata": {"year": 1}}], vectors="v", id="name")
        assert index.get("d").metadata == {"year": 1}
