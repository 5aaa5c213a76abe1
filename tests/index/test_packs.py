"""Texts that lie in packs: stored, found, deleted, packed again, and noticed when they are damaged."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.index.collection import documents
from wordferry.errors import FormatError
from wordferry.index import Index
from wordferry.index.storage.catalogue import DOCUMENT_COLUMNS, SCHEMA, Database, checksum
from wordferry.index.storage.texts import DOCUMENTS, FEWEST, Packer, Unpacker, compressor, trained

Make = Callable[..., Index]
labels = st.one_of(st.none(), st.just(""), st.text(st.characters(exclude_categories=["Cs"]), max_size=4))
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=2000)


def catalogue() -> Database:
    connection = sqlite3.connect(":memory:", factory=Database)
    for statement in SCHEMA.strip().split(";\n"):
        connection.execute(statement)
    return connection


@given(st.lists(st.tuples(texts, labels, st.integers(1, 5)), min_size=1, max_size=8), st.booleans())
def test_every_text_comes_back(rows: list[Any], backwards: bool) -> None:
    connection = catalogue()
    number, made, kept = 0, [], []
    for text, label, gap in rows * 12:
        number += gap
        row = (number, f"d{number}", text, 0, label, '{"a": 1}', 3, 2)
        made.append((number, text, label, '{"a": 1}'))
        kept.append((*row, checksum(*row)))
    Packer(connection).put(made)
    unpacker = Unpacker(connection)
    for row in reversed(kept) if backwards else kept:
        assert unpacker.checked((*row[:2], None, row[3], None, None, *row[6:])) == row
    connection.close()


def packs_of(index: Index) -> list[tuple[int, int]]:
    with index.backend.state() as (connection, _):
        return list(connection.execute("SELECT first, last FROM packs ORDER BY first"))


def loose_of(index: Index) -> int:
    with index.backend.state() as (connection, _):
        return int(connection.execute("SELECT count(*) FROM documents WHERE text IS NOT NULL").fetchone()[0])


def test_many_documents_are_packed_and_few_are_not(make: Make) -> None:
    docs = documents(DOCUMENTS + FEWEST + 5)
    index = make()
    index.add(docs[:5])
    index.add(docs[5:])
    assert loose_of(index) == 5
    assert packs_of(index) == [(6, DOCUMENTS + 5), (DOCUMENTS + 6, DOCUMENTS + FEWEST + 5)]
    assert [doc.text for doc in index] == [doc["text"] for doc in docs]
    assert index.get(docs[70]["id"]).metadata == docs[70]["metadata"]
    assert [doc.id for doc in index.page(4, docs[80]["id"])] == [doc["id"] for doc in docs[81:85]]
    index.verify()


def test_compaction_drops_deleted_texts_and_packs_loose_ones(make: Make) -> None:
    docs = documents(3 * FEWEST)
    index = make()
    for start in range(0, FEWEST, 16):
        index.add(docs[start : start + 16])
    index.add(docs[FEWEST:])
    gone = [doc["id"] for doc in docs[FEWEST : FEWEST + 9]]
    index.delete(gone)
    index.compact()
    assert loose_of(index) == 0
    with index.backend.state() as (connection, _):
        unpacker = Unpacker(connection)
        held = []
        for first, _ in packs_of(index):
            unpacker.open(first)
            held += [number for number, *_ in unpacker.texts()]
    assert held == [*range(1, FEWEST + 1), *range(FEWEST + 10, 3 * FEWEST + 1)]
    assert [doc.text for doc in index] == [doc["text"] for doc in docs if doc["id"] not in gone]
    index.verify()
    index.compact(rebuild=True)
    index.verify()


def test_a_document_is_replaced_whether_packed_or_not(make: Make) -> None:
    docs = documents(FEWEST)
    index = make()
    index.add(docs)
    index.upsert([{**docs[3], "text": "w01 w02"}])
    index.upsert([{**doc, "text": "w03"} for doc in docs])
    assert {doc.text for doc in index} == {"w03"}
    index.compact()
    assert packs_of(index) == [(FEWEST + 2, 2 * FEWEST + 1)]
    index.verify()


def test_damage_to_a_pack_is_noticed(make: Make) -> None:
    index = make()
    docs = documents(FEWEST)
    index.add(docs)
    path = index.path
    index.close()
    file = path / "catalogue.sqlite"
    with sqlite3.connect(file) as connection:
        (data,) = connection.execute("SELECT data FROM packs").fetchone()
    noticed = 0
    for place in range(0, len(data), max(1, len(data) // 40)):
        broken = bytearray(data)
        broken[place] ^= 0x41
        with sqlite3.connect(file) as connection:
            connection.execute("UPDATE packs SET data = ?", (bytes(broken),))
        with Index.open(path) as again:
            try:
                assert [doc.text for doc in again] == [doc["text"] for doc in docs]
            except FormatError:
                noticed += 1
    assert noticed >= 40
    with sqlite3.connect(file) as connection:
        connection.execute("DELETE FROM packs")
    with Index.open(path) as again, pytest.raises(FormatError, match="does not match"):
        again.get(docs[0]["id"])


def long_documents(count: int) -> list[dict[str, Any]]:
    """Documents with more text than their few different words, enough of it for a dictionary."""
    return [
        {**doc, "text": " ".join([doc["text"], *(f"w{(n * k) % 97:02d}" for k in range(60))])}
        for n, doc in enumerate(documents(count))
    ]


def dictionaries_of(path: Path) -> list[tuple[int, int]]:
    with closing(sqlite3.connect(path / "catalogue.sqlite")) as connection:
        return list(connection.execute("SELECT number, last FROM dictionaries ORDER BY number"))


def test_a_dictionary_is_made_when_there_is_text_and_again_when_there_is_much_more(make: Make) -> None:
    docs = long_documents(10 * 128)
    index = make()
    index.add(docs[:128])
    assert dictionaries_of(index.path) == [(1, 128)]
    index.add(docs[128:900])
    assert dictionaries_of(index.path) == [(1, 128)]
    index.add(docs[900:1100])
    index.add(docs[1100:])
    assert dictionaries_of(index.path) == [(1, 128), (2, 1280)]
    assert [doc.text for doc in index] == [doc["text"] for doc in docs]
    index.verify()
    index.delete([doc["id"] for doc in docs[::3]])
    index.compact()
    index.verify()
    assert [doc.text for doc in index] == [doc["text"] for n, doc in enumerate(docs) if n % 3]


def test_a_dictionary_makes_texts_smaller() -> None:
    texts = [doc["text"].encode() for doc in long_documents(256)]
    made = trained(texts[:128], b"\xff")
    assert 0 < len(made) <= sum(map(len, texts[:128])) / 16
    pieces = [b" ".join(texts[n : n + 4]) for n in range(128, 256, 4)]
    sizes = []
    for dictionary in (made, b""):
        base = compressor(dictionary)
        stored = [one.compress(piece) + one.flush() for piece in pieces for one in [base.copy()]]
        again = [zlib.decompressobj(-zlib.MAX_WBITS, zdict=dictionary).decompress(one) for one in stored]
        assert again == pieces
        sizes.append(sum(map(len, stored)))
    assert sizes[0] < 0.9 * sizes[1]


def test_texts_without_blanks_make_a_dictionary_too() -> None:
    texts = ["".join(chr(0x4E00 + (n * k) % 500) for k in range(200)).encode() for n in range(64)]
    made = trained(texts, b"")
    assert len(made) > 1000
    assert trained(texts[:2], b"") == b""


def test_damage_to_a_dictionary_is_noticed(make: Make) -> None:
    index = make()
    docs = long_documents(128)
    index.add(docs)
    path = index.path
    index.close()
    file = path / "catalogue.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        (data,) = connection.execute("SELECT data FROM dictionaries").fetchone()
    for place in range(0, len(data), max(1, len(data) // 20)):
        broken = bytearray(data)
        broken[place] ^= 0x41
        with closing(sqlite3.connect(file)) as connection, connection:
            connection.execute("UPDATE dictionaries SET data = ?", (bytes(broken),))
        with Index.open(path) as again:
            with pytest.raises(FormatError, match="does not match"):
                again.get(docs[5]["id"])
            with pytest.raises(FormatError, match="dictionary 1"):
                again.verify()
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("DELETE FROM dictionaries")
    with Index.open(path) as again, pytest.raises(FormatError, match="does not match"):
        again.get(docs[0]["id"])


def test_columns_of_the_test_are_those_of_the_table() -> None:
    with catalogue() as connection:
        names = [row[1] for row in connection.execute("PRAGMA table_info(documents)")]
    assert ", ".join(names) == DOCUMENT_COLUMNS
