"""Changing an index: every call is one transaction, published after its segments are safely on the disk."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from wordferry.base.arrays import BoolArray, Int32Array, Int64Array
from wordferry.errors import InputError, NotFound
from wordferry.index.catalogue import (
    DOCUMENT_COLUMNS,
    FORMAT,
    Catalogue,
    count_ids,
    document_checksum,
    get_meta,
    id_sum,
    make_tables,
    number_of,
    set_meta,
)
from wordferry.index.columns import document_fields
from wordferry.index.config import Config
from wordferry.index.counting import Counting
from wordferry.index.filling import META, Filled, skip, stored_before, unfinished
from wordferry.index.model import Entry, stored_text
from wordferry.index.others import EMPTY, Encoded, OtherWords
from wordferry.index.packs import FEWEST, Packer, Unpacker, repack
from wordferry.index.publish import Publisher, live_rows
from wordferry.index.refusals import appears_twice, refuse_empty, refuse_twice
from wordferry.index.segments import Bags, Segment
from wordferry.index.snapshot import read_buffer, words_checksum
from wordferry.index.stems import WordKeys
from wordferry.texts.records import words_of
from wordferry.words.embeddings import Embeddings

CHUNK = 1024
State = dict[str, Any]
Connection = sqlite3.Connection


@dataclass
class _Call:
    """One call that adds documents."""

    first: int
    """The number of its first document."""
    replace: bool
    packer: Packer
    done: int = 0
    """How many of its documents have been looked at."""


class Writer:
    """The one who holds the lock: adds, deletes and compacts."""

    def __init__(self, catalogue: Catalogue, config: Config, embeddings: Embeddings) -> None:
        self._catalogue = catalogue
        self._config = config
        self._embeddings = embeddings
        self._tokenizer = config.make_tokenizer(embeddings.vocabulary)
        self._threads = 1
        self._have: tuple[int, BoolArray, Counting] | None = None
        self._keys = WordKeys(embeddings.vocabulary, config.language, catalogue.file)

    def add(
        self, entries: Iterable[Entry], *, replace: bool, report: Callable[[int], object], threads: int
    ) -> list[str]:
        """Store documents, all of them or none; their ids."""
        ids: list[str] = []

        def action(connection: Connection, state: State, publisher: Publisher) -> None:
            source = iter(entries)
            with Packer(connection, self._catalogue.file, threads) as packer:
                call = _Call(state["next_number"], replace, packer)
                while chunk := list(islice(source, CHUNK)):
                    ids.extend(self._insert(connection, state, chunk, call, publisher))
                    call.done += len(chunk)
                    report(call.done)
            publisher.publish(connection)

        self._threads = threads
        self._transact(action)
        return ids

    def fill(
        self, entries: Iterable[Entry], *, resume: bool, step: int, report: Callable[[int], object], threads: int
    ) -> int:
        """Store documents in steps of one transaction each; how many there are now of this and earlier calls."""
        source = iter(entries)
        with self._catalogue.reading() as connection:
            filled = Filled.read(connection, self._catalogue.file)
        if filled.documents and not filled.done and not resume:
            raise unfinished(self._catalogue.folder, filled)
        filled = filled if resume else Filled()
        skip(source, filled, CHUNK, report)
        self._threads = threads
        while not filled.done:
            before = filled
            try:
                self._transact(lambda *on: self._fill(source, before, step, report, *on))  # noqa: B023 - called at once
            except InputError as error:
                raise stored_before(error, before.stored) from error
            with self._catalogue.reading() as connection:
                filled = Filled.read(connection, self._catalogue.file)
        return filled.stored

    def _fill(
        self,
        source: Iterator[Entry],
        filled: Filled,
        step: int,
        report: Callable[[int], object],
        connection: Connection,
        state: State,
        publisher: Publisher,
    ) -> None:
        """One step."""
        left = step
        with Packer(connection, self._catalogue.file, self._threads) as packer:
            call = _Call(state["next_number"], False, packer, filled.documents)
            while left and (chunk := list(islice(source, min(CHUNK, left)))):
                ids = self._insert(connection, state, chunk, call, publisher)
                filled = filled.after(chunk, len(ids))
                call.done += len(chunk)
                left -= len(chunk)
                report(filled.documents)
        publisher.publish(connection)
        set_meta(connection, META, filled.to_json(done=left > 0))

    def number_others(self, words: Iterable[str]) -> None:
        """Number words without vectors that no document has yet, in the order in which they come."""

        def action(connection: Connection, state: State, _: Publisher) -> None:
            for word in words:
                self._others.number(word)
            self._others.store(connection, state)

        self._transact(action)
        self._have = None

    def delete(self, ids: list[str], *, missing_ok: bool) -> int:
        """Delete documents, all of them or none; how many there were."""
        count = 0

        def action(connection: Connection, state: State, _: Publisher) -> None:
            nonlocal count
            for identifier in dict.fromkeys(ids):
                if self._remove(connection, state, identifier):
                    count += 1
                elif not missing_ok:
                    raise NotFound(f"{self._catalogue.folder} has no document {identifier!r}. Nothing was deleted.")

        self._transact(action)
        return count

    def compact(self, *, rebuild: bool) -> None:
        """Write all live documents into as few segments as possible, and drop words that none of them has."""

        def action(connection: Connection, state: State, publisher: Publisher) -> None:
            bags = self._encode_all(connection) if rebuild else self._live(connection)
            self._write_anew(connection, state, publisher, bags, renumber=rebuild)
            repack(connection, self._catalogue.file)

        self._transact(action)
        self._have = None
        self._catalogue.vacuum()

    def upgrade(self) -> None:
        """Write an index of an earlier format in the present one."""

        def action(connection: Connection, state: State, publisher: Publisher) -> None:
            self._write_anew(connection, state, publisher, self._encode_all(connection), renumber=False)
            repack(connection, self._catalogue.file)
            state["id_sum"] = id_sum(row[0] for row in connection.execute("SELECT id FROM documents"))
            if self._catalogue.identity is None:
                set_meta(connection, "identity", secrets.token_hex(16))
            connection.execute(f"PRAGMA user_version={FORMAT}")

        self._transact(action, prepare=_prepare)
        self._have = None

    def _write_anew(
        self, connection: Connection, state: State, publisher: Publisher, bags: Iterable[Bags], *, renumber: bool
    ) -> None:
        used = np.zeros(len(self._embeddings), dtype=bool)
        others: set[int] = set()

        def parts() -> Iterator[Bags]:
            for some in bags:
                self._note_words(connection, state, some.words)
                used[some.words] = True
                others.update(np.unique(some.others.words).tolist())
                self._others.store(connection, state)  # the publisher asks for the stems of all words
                yield some

        publisher.replace_all(connection, parts())
        self._others.keep(connection, state, others)
        self._shrink_words(connection, state, used, renumber=renumber)

    def _transact(
        self,
        action: Callable[[Connection, State, Publisher], None],
        prepare: Callable[[Connection, State], None] | None = None,
    ) -> None:
        facts = {"vocabulary": self._config.vocabulary, "identity": self._catalogue.identity}
        publisher = Publisher(self._catalogue.folder, facts, self._embeddings.matrix, self._keys)
        try:
            with self._catalogue.writing() as connection:
                state: State = get_meta(connection, "state", self._catalogue.file)
                if prepare is not None:
                    prepare(connection, state)
                self._load_words(connection, state)
                action(connection, state, publisher)
                state["generation"] += 1
                set_meta(connection, "state", state)
        except BaseException:
            self._have = None
            self._keys.forget_others()  # the numbers of new ones may be given to other words now
            publisher.undo()
            raise
        if self._have is not None:
            self._have = state["generation"], *self._have[1:]
        publisher.remove_replaced()

    def _load_words(self, connection: Connection, state: State) -> None:
        if self._have is None or self._have[0] != state["generation"]:
            have = np.zeros(len(self._embeddings), dtype=bool)
            have[[row[0] for row in connection.execute("SELECT id FROM words")]] = True
            others = OtherWords(connection, state, self._catalogue.file)
            counting = Counting(self._embeddings.vocabulary, self._tokenizer, others)
            self._have = state["generation"], have, counting

    @property
    def _others(self) -> OtherWords:
        assert self._have is not None
        return self._have[2].others

    def _insert(
        self, connection: Connection, state: State, chunk: list[Entry], call: _Call, publisher: Publisher
    ) -> list[str]:
        """Documents and words of a chunk into the catalogue and to the publisher; the ids stored."""
        refuse_twice(chunk)
        found = self._encode([entry.words for entry in chunk])
        if self._config.unknown == "error" and len(found.others.words):
            self._refuse_unknown(chunk, call.done, int(np.flatnonzero(np.diff(found.others.indptr))[0]))
        places = self._kept(chunk, found.tokens == 0, call.done)
        kept = [chunk[place] for place in places.tolist()]
        first = state["next_number"]
        ids = self._claim(connection, state, kept, call, first)
        rows = []
        tokens, known = found.tokens[places].tolist(), found.known_tokens[places].tolist()
        for number, (identifier, entry) in enumerate(zip(ids, kept, strict=True)):
            facts = (tokens[number], known[number])
            row = (first + number, identifier, entry.text, int(entry.tokenized), entry.label, entry.metadata, *facts)
            own = row if len(kept) < FEWEST else (first + number, identifier, None, row[3], None, None, *facts)
            rows.append((*own, document_checksum(row)))
        try:
            connection.executemany("INSERT INTO documents VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        except sqlite3.IntegrityError:
            self._refuse_existing(connection, ids, first, call)
            raise
        if len(kept) >= FEWEST:
            call.packer.put([(first + place, e.text, e.label, e.metadata) for place, e in enumerate(kept)])
        state["next_number"] += len(rows)
        state["documents"] += len(rows)
        state["number_sum"] += sum(range(first, first + len(rows)))
        count_ids(state, ids, 1)
        numbers = np.arange(first, first + len(rows), dtype=np.int64)
        bags = Bags(*found.known.select(places), numbers, found.others.select(places))
        self._note_words(connection, state, bags.words)
        self._others.store(connection, state)
        fields = (document_fields(i, entry.label, entry.values) for i, entry in zip(ids, kept, strict=True))
        if publisher.is_full(len(bags)):
            call.packer.flush()  # the publisher may read what earlier chunks have stored
        publisher.take(connection, bags, fields)
        return ids

    def _kept(self, chunk: list[Entry], empty: BoolArray, offset: int) -> Int64Array:
        """Which documents of a chunk are stored: all, or those that have words."""
        if empty.any() and self._config.on_empty == "error":
            refuse_empty(chunk, offset, int(np.flatnonzero(empty)[0]))
        return np.flatnonzero(~empty) if self._config.on_empty == "drop" else np.arange(len(chunk))

    def _refuse_unknown(self, chunk: list[Entry], offset: int, place: int) -> None:
        entry, find = chunk[place], self._embeddings.vocabulary.finder
        words = words_of(entry.words, self._tokenizer)
        name = "" if entry.id is None else f" (id {entry.id!r})"
        word = next(word for word in words if find(word, -1) < 0)
        raise InputError(
            f"Document {offset + place}{name} holds the word {word!r}, which has no vector, and this index was created "
            "with unknown='error'. Nothing was added."
        )

    def _claim(self, connection: Connection, state: State, chunk: list[Entry], call: _Call, first: int) -> list[str]:
        """The ids of new documents, given or made; documents that are to be replaced are removed."""
        given = [entry.id for entry in chunk if entry.id is not None]
        taken = set(given)
        if call.replace:
            for identifier in given:
                if (number_of(connection, identifier) or 0) >= call.first:
                    raise appears_twice(identifier)
                self._remove(connection, state, identifier)
        ids = []
        for number, entry in enumerate(chunk, start=first):
            made = entry.id or f"doc-{number}"
            while entry.id is None and (made in taken or number_of(connection, made) is not None):
                made += "-new"
            taken.add(made)
            ids.append(made)
        return ids

    def _refuse_existing(self, connection: Connection, ids: list[str], first: int, call: _Call) -> None:
        """Say which id of a chunk is there already: from before, or from this call."""
        for identifier in ids:
            number = number_of(connection, identifier)
            if number is None or number >= first:
                continue
            if number >= call.first:
                raise appears_twice(identifier)
            raise InputError(
                f"{self._catalogue.folder} has a document {identifier!r} already. Nothing was added. Use upsert to "
                "replace documents that exist."
            )

    def _remove(self, connection: Connection, state: State, identifier: str) -> bool:
        number = number_of(connection, identifier)
        if number is None:
            return False
        connection.execute("DELETE FROM documents WHERE number = ?", (number,))
        if connection.execute("DELETE FROM buffer WHERE number = ?", (number,)).rowcount == 0:
            connection.execute("INSERT INTO tombstones VALUES(?)", (number,))
        state["documents"] -= 1
        state["number_sum"] -= number
        count_ids(state, (identifier,), -1)
        return True

    def _encode(self, documents: Sequence[str | Sequence[str]]) -> Encoded:
        assert self._have is not None
        return self._have[2].encode(documents, self._threads)

    def _note_words(self, connection: Connection, state: State, words: Int32Array) -> None:
        """Number words that no document had before, in the order in which they come."""
        assert self._have is not None
        have = self._have[1]
        new = list(dict.fromkeys(words[~have[words]].tolist()))
        if not new:
            return
        connection.executemany("INSERT INTO words VALUES(?, ?, ?)", self._word_rows(new, state["words"]))
        state["words"] += len(new)
        state["words_checksum"] = words_checksum(new, state["words_checksum"])
        have[new] = True

    def _word_rows(self, ids: list[int], start: int) -> Iterator[tuple[int, int, str]]:
        vocabulary = self._embeddings.vocabulary
        return ((number, i, vocabulary[i]) for number, i in enumerate(ids, start=start))

    def _shrink_words(self, connection: Connection, state: State, keep: BoolArray, *, renumber: bool) -> None:
        """Forget words that no document has; the words of a graph given at creation stay."""
        current: Int64Array = np.array(
            [row[0] for row in connection.execute("SELECT id FROM words ORDER BY number")], dtype=np.int64
        )
        if self._config.base is not None:
            keep[current[: self._config.base["words"]]] = True
        kept = current[keep[current]]
        if len(kept) == len(current) and not renumber:
            return
        connection.execute("DELETE FROM words")
        connection.executemany("INSERT INTO words VALUES(?, ?, ?)", self._word_rows(kept.tolist(), 0))
        state |= {"epoch": state["epoch"] + 1, "words": len(kept), "words_checksum": words_checksum(kept)}
        connection.execute("DELETE FROM meta WHERE key = 'graph'")

    def _live(self, connection: Connection) -> Iterator[Bags]:
        file, folder = self._catalogue.file, self._catalogue.folder
        rows = connection.execute("SELECT * FROM segments ORDER BY first").fetchall()
        for row in rows:
            yield live_rows(connection, Segment.from_row(row, file), folder)
        yield read_buffer(connection, file)

    def _encode_all(self, connection: Connection) -> Iterator[Bags]:
        """The bags of all documents, made again from their texts."""
        cursor = connection.execute(f"SELECT {DOCUMENT_COLUMNS} FROM documents ORDER BY number")
        whole = Unpacker(connection, self._catalogue.file)
        while rows := [whole.checked(row) for row in cursor.fetchmany(CHUNK)]:
            texts = [stored_text(row[2], row[3]) for row in rows]
            found = self._encode(texts)
            numbers = np.array([row[0] for row in rows], dtype=np.int64)
            yield Bags(*found.known, numbers, found.others)


def _prepare(connection: Connection, state: State) -> None:
    """What format 1 did not have; its documents are all read again."""
    make_tables(connection)
    state |= EMPTY
