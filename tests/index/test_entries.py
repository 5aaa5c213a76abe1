"""Documents on their way into an index: what is written of them, and what an error says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from wordferry import Index
from wordferry.errors import InputError
from wordferry.index.write.entries import entries
from wordferry.texts.documents import read_documents


def test_metadata_is_written_as_json() -> None:
    row = {"id": "a", "text": "Some text.", "label": "x", "year": 1999, "open": True, "topic": "law"}
    (entry,) = entries([row])
    assert entry.metadata == '{"year": 1999, "open": true, "topic": "law"}' == json.dumps(entry.values)


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
