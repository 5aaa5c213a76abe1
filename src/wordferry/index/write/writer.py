"""Changing an index: every call is one transaction, published after its segments are safely on the disk."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from wordferry.base.arrays import Int64Array
from wordferry.base.runtime import Progress
from wordferry.encoders.codes import Codes
from wordferry.encoders.encoder import Encoder, text_of
from wordferry.encoders.given import rows_of
from wordferry.errors import FormatError, InputError, NotFound
from wordferry.index.config import Config
from wordferry.index.storage.catalogue import DOCUMENT_COLUMNS, Catalogue, Database, checksum, id_sum, number_of
from wordferry.index.storage.columns import document_fields
from wordferry.index.storage.segments import Bags, Segment
from wordferry.index.storage.snapshot import read_buffer
from wordferry.index.storage.stems import WordKeys
from wordferry.index.storage.terms import NO_VECTOR, IndexVectors, MadeVectors, NewVectors, TermDictionary, TermVectors
from wordferry.index.storage.texts import FEWEST, Unpacker, repack, stored_text
from wordferry.index.write.counting import Counting
from wordferry.index.write.entries import Entry, appears_twice, refuse_empty, refuse_twice
from wordferry.index.write.segment_writer import Transaction, live_rows
from wordferry.texts.bow import check_on_empty
from wordferry.texts.coverage import Coverage
from wordferry.texts.stop_marks import is_marked
from wordferry.texts.tokenizers import tokenizer_from_config, words_of
from wordferry.words.embeddings import Embeddings
from wordferry.words.growing import GrowingVocabulary
from wordferry.words.loaders.demand import VectorSource

CHUNK = 1024


class Writer:
    """The one who holds the lock: adds, deletes and compacts."""

    def __init__(
        self, catalogue: Catalogue, config: Config, vectors: IndexVectors, encoder: Callable[[], Encoder | None]
    ) -> None:
        self._catalogue = catalogue
        self._encoder = encoder
        """Loads the encoder when a text is to be encoded."""
        self._config = config
        self._vectors = vectors
        self._tokenizer = tokenizer_from_config(config.tokenizer, vectors.embeddings.vocabulary)
        self.vector_progress: Progress | None = None
        """Is told of the vectors of new words while they are made."""
        self.coverage = Coverage()
        """Is told of the words of documents."""
        self._threads = 1
        self._counting: dict[int, Counting] = {}
        """What counts words, by the generation whose words it knows."""
        self._keys = WordKeys(config.language)

    def add(
        self,
        entries: Iterable[Entry],
        *,
        replace: bool,
        on_empty: str | None,
        report: Callable[[int], object],
        threads: int,
    ) -> list[str]:
        """Store documents, all of them or none; their ids."""
        ids: list[str] = []
        on_empty = on_empty or self._config.on_empty
        check_on_empty(on_empty)
        self._threads, source, done = threads, iter(entries), 0
        with self._changing() as change:
            while chunk := list(islice(source, CHUNK)):
                ids += self._insert(change, chunk, on_empty, replace=replace)
                done += len(chunk)
                report(done)
            change.publish()
        return ids

    def fill(
        self, entries: Iterable[Entry], *, resume: bool, step: int, report: Callable[[int], object], threads: int
    ) -> int:
        """Store documents in steps of one transaction each; how many there are now of this and earlier calls."""
        source = iter(entries)
        with self._catalogue.reading() as connection:
            filled = Filled(**(connection.meta(META) or {}))
        if filled.documents and not filled.done and not resume:
            raise InputError(
                f"{self._catalogue.folder} was being filled and holds the first {filled.documents} documents of a "
                "collection. Go on with resume=True, or make a new index."
            )
        filled = filled if resume else Filled()
        filled.skip(source, report)
        self._threads = threads
        while not filled.done:
            left, found = step, filled
            try:
                with self._changing() as change:
                    while left and (chunk := list(islice(source, min(CHUNK, left)))):
                        found = found.after(chunk, len(self._insert(change, chunk, self._config.on_empty)))
                        left -= len(chunk)
                        report(found.documents)
                    change.publish()
                    found = replace(found, done=left > 0)
                    change.connection.set_meta(META, asdict(found))
            except InputError as error:
                if not filled.stored:
                    raise
                text = str(error).replace(" Nothing was added.", "")
                raise type(error)(
                    f"{text} The {filled.stored} documents of earlier steps are stored; go on after them with "
                    "resume=True."
                ) from error
            filled = found
        return filled.stored

    def number_words(self, words: Iterable[str]) -> None:
        """Number words before documents bring them, so that all shards of a collection do it alike."""
        with self._changing() as change:
            terms, every = change.terms, list(words)
            terms.look_up(every)
            for word in every:
                vector = terms.vocabulary.get(word)
                if vector >= 0:
                    terms.numbers_of_vectors(np.array([vector]))
                else:
                    terms.number(word)

    def delete(self, ids: list[str], *, missing_ok: bool) -> int:
        """Delete documents, all of them or none; how many there were."""
        count = 0
        with self._changing() as change:
            for identifier in dict.fromkeys(ids):
                if self._remove(change, identifier):
                    count += 1
                elif not missing_ok:
                    raise NotFound(f"{self._catalogue.folder} has no document {identifier!r}. Nothing was deleted.")
        return count

    def compact(self, *, rebuild: bool) -> None:
        """Write all live documents into as few segments as possible, and drop words that none of them has."""
        with self._changing() as change:
            bags = self._count_all(change) if rebuild else self._live(change.connection)
            used: list[Int64Array] = [np.zeros(0, dtype=np.int64)]

            def parts() -> Iterator[Bags]:
                for some in bags:
                    used.append(np.unique(some.words).astype(np.int64))
                    yield some

            change.replace_all(parts())
            state, terms = change.state, change.terms
            terms.store(state)
            keep = np.zeros(terms.next, dtype=bool)
            keep[np.concatenate(used)] = True
            if self._config.base is not None:  # the words of a graph given at creation stay
                keep[: self._config.base["words"]] = True
            if terms.keep(state, keep) or rebuild:
                state["epoch"] += 1
                change.connection.execute("DELETE FROM meta WHERE key = 'graph'")
            repack(change.connection)
        self._counting = {}
        self._catalogue.vacuum()

    def revector(self, embeddings: Embeddings, config: Config, source: VectorSource | None) -> None:
        """Give the words of the index other vectors; the documents are not split again."""
        with self._changing() as change:
            connection, state = change.connection, change.state
            vocabulary, state["made"] = embeddings.vocabulary, 0
            connection.execute("DELETE FROM vectors")
            if source is not None:
                made = NewVectors(lambda: source, GrowingVocabulary(), self.vector_progress)
                words = connection.execute("SELECT word FROM words ORDER BY number")
                made.make(word for (word,) in words if not is_marked(word))
                made.store(connection, state)
                vocabulary = made.vocabulary
            terms = TermVectors.assign(connection, state["words"], vocabulary)
            order = np.where(terms.row_of < 0, NO_VECTOR + np.arange(terms.size), terms.row_of)
            change.replace_all(some.ordered(order) for some in self._live(connection))
            state |= terms.facts | {"epoch": state["epoch"] + 1, "fingerprint": config.fingerprint}
            connection.execute("DELETE FROM meta WHERE key = 'graph'")
            connection.set_meta("config", asdict(config))
        self._counting = {}

    @contextmanager
    def _changing(self) -> Iterator[Transaction]:
        """A change, which is on the disk at the end, or nothing of it."""
        facts = {"vocabulary": self._config.vocabulary, "identity": self._catalogue.identity}
        change: Transaction | None = None
        try:
            with self._catalogue.writing() as connection:
                state: dict[str, Any] = connection.meta("state")
                known, self._counting = self._counting, {}
                counting = known.get(state["generation"]) or self._know_words(connection, state)
                change = Transaction(connection, state, counting, facts, self._keys)
                if counting.vectors is not None:
                    counting.vectors.progress = self.vector_progress
                yield change
                counting.terms.store(state)
                if counting.vectors is not None:
                    counting.vectors.store(connection, state)
                state["generation"] += 1
                connection.set_meta("state", state)
        except BaseException:
            if change is not None:
                change.end(committed=False)
            raise
        self._counting = {state["generation"]: counting}
        change.end(committed=True)

    def _know_words(self, connection: Database, state: dict[str, Any]) -> Counting:
        """What counts words, and knows those of a state."""
        vocabulary, made, vectors = self._vectors.read(connection, state).vocabulary, None, self._vectors
        if isinstance(vectors, MadeVectors):
            vocabulary = GrowingVocabulary(vectors.embeddings.stored.vocabulary)
            made = NewVectors(lambda: vectors.source, vocabulary)
        return Counting(TermDictionary(connection, state, vocabulary), self._tokenizer, made)

    def _insert(self, change: Transaction, chunk: list[Entry], on_empty: str, *, replace: bool = False) -> list[str]:
        """Documents of a chunk into the catalogue and to the segments; the ids stored."""
        refuse_twice(chunk)
        found, state = change.counting.count([entry.words for entry in chunk], self._threads), change.state
        self.coverage.count(int(found.tokens.sum()), int(found.known.sum()), change.terms.new_words())
        unknown = found.tokens > found.known
        if self._config.unknown == "error" and unknown.any():
            self._refuse_unknown(change, chunk[int(np.flatnonzero(unknown)[0])])
        empty = np.flatnonzero(found.empty)
        if len(empty) and on_empty == "error":
            refuse_empty(chunk[empty[0]])
        left_out = empty if on_empty == "drop" else empty[:0]
        for entry in (chunk[place] for place in left_out.tolist() if replace):
            if entry.id is not None:  # it takes the document that it replaces with it
                self._remove(change, entry.id)
        places = np.delete(np.arange(len(chunk)), left_out)
        kept = [chunk[place] for place in places.tolist()]
        first = state["next_number"]
        ids = self._claim(change, kept, replace=replace)
        self._store_texts(change, kept, ids, found.tokens[places], found.known[places])
        state["next_number"] += len(kept)
        state["documents"] += len(kept)
        state["number_sum"] += sum(range(first, first + len(kept)))
        state["id_sum"] += id_sum(ids)
        codes = self._codes(kept, state)
        bags = Bags(*found.bags.select(places), np.arange(first, first + len(kept), dtype=np.int64), codes)
        fields = (document_fields(i, entry.label, entry.values) for i, entry in zip(ids, kept, strict=True))
        change.take(bags, fields)
        return ids

    def _codes(self, kept: list[Entry], state: dict[str, Any]) -> Codes | None:
        """The vectors of new documents: those that the caller brings, or those that the encoder makes."""
        dimension = state.get("dimension", 0)
        given = [entry.vector for entry in kept if entry.vector is not None]
        if given:
            if not dimension and state["documents"] > len(kept):
                raise InputError(
                    f"{self._catalogue.folder} has documents without vectors, so no others can have one. Nothing was "
                    "added. Make a new index."
                )
            state["dimension"] = dimension = dimension or len(given[0])
            zeros = np.zeros(dimension, dtype=np.float32)
            rows = [zeros if entry.vector is None else entry.vector for entry in kept]
            return Codes.of(rows_of(rows, len(kept), dimension))
        if not dimension:
            return None
        encoder = self._encoder()
        if encoder is None and kept:
            raise InputError(
                f"The documents of {self._catalogue.folder} have vectors, and there is no encoder. Nothing was added. "
                "Bring the vectors of these too (vectors=), or open the index with encoder=."
            )
        texts = [text_of(entry.words) for entry in kept]
        return Codes.of(np.zeros((0, dimension), np.float32) if encoder is None else encoder.encode(texts))

    def _store_texts(self, change: Transaction, kept: list[Entry], ids: list[str], *facts: Any) -> None:
        """The rows of documents, with their texts where these are few; many are put into packs."""
        first, rows = change.state["next_number"], []
        for number, (identifier, entry, *counts) in enumerate(zip(ids, kept, *facts, strict=True), start=first):
            row = (number, identifier, entry.text, entry.tokenized, entry.label, entry.metadata, *map(int, counts))
            own = row if len(kept) < FEWEST else (*row[:2], None, row[3], None, None, *row[6:])
            rows.append((*own, checksum(*row)))
        change.connection.executemany("INSERT INTO documents VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
        if len(kept) >= FEWEST:
            change.packer.put([(first + place, e.text, e.label, e.metadata) for place, e in enumerate(kept)])

    def _refuse_unknown(self, change: Transaction, entry: Entry) -> None:
        find = change.terms.vocabulary.finder
        word = next(word for word in words_of(entry.words, self._tokenizer) if find(word, -1) < 0)
        raise InputError(
            f"{entry.called} holds the word {word!r}, which has no vector, and this index was created with "
            "unknown='error'. Nothing was added."
        )

    def _claim(self, change: Transaction, chunk: list[Entry], *, replace: bool) -> list[str]:
        """The ids of new documents, given or made; documents that are to be replaced are removed."""
        connection = change.connection
        given = {entry.id: entry for entry in chunk if entry.id is not None}
        known = dict(connection.select_in("SELECT id, number FROM documents WHERE id", list(given)))
        for identifier, entry in given.items():
            if identifier not in known:
                continue
            if known[identifier] >= change.first:
                raise appears_twice(identifier, [entry])
            if not replace:
                where = "" if entry.where is None else f"{entry.where}: "
                raise InputError(
                    f"{where}{self._catalogue.folder} has a document {identifier!r} already. Nothing was added. "
                    "Use upsert to replace documents that exist."
                )
            self._remove(change, identifier)
        taken, ids = set(given), []
        for number, entry in enumerate(chunk, start=change.state["next_number"]):
            made = entry.id or f"doc-{number}"
            while entry.id is None and (made in taken or number_of(connection, made) is not None):
                made += "-new"
            taken.add(made)
            ids.append(made)
        return ids

    def _remove(self, change: Transaction, identifier: str) -> bool:
        """Delete a document; whether there is one."""
        connection, state = change.connection, change.state
        number = number_of(connection, identifier)
        if number is None:
            return False
        connection.execute("DELETE FROM documents WHERE number = ?", (number,))
        if connection.execute("DELETE FROM buffer WHERE number = ?", (number,)).rowcount == 0:
            connection.execute("INSERT INTO tombstones VALUES(?)", (number,))
        state["documents"] -= 1
        state["number_sum"] -= number
        state["id_sum"] -= id_sum([identifier])
        return True

    def _live(self, connection: Database) -> Iterator[Bags]:
        for segment in Segment.listed(connection):
            yield live_rows(connection, segment)
        yield read_buffer(connection)

    def _count_all(self, change: Transaction) -> Iterator[Bags]:
        """The bags of all documents, made again from their texts; vectors are those that are stored, or made again."""
        connection = change.connection
        again = self._coded_again(connection) if change.state.get("dimension") else None
        cursor = connection.execute(f"SELECT {DOCUMENT_COLUMNS} FROM documents ORDER BY number")
        whole = Unpacker(connection)
        while rows := [whole.checked(row) for row in cursor.fetchmany(CHUNK)]:
            texts = [stored_text(row[2], row[3]) for row in rows]
            found = change.counting.count(texts, self._threads)
            numbers = np.array([row[0] for row in rows], dtype=np.int64)
            codes = None if again is None else again(numbers, list(map(text_of, texts)))
            yield Bags(*found.bags, numbers, codes)

    def _coded_again(self, connection: Database) -> Callable[[Int64Array, list[str]], Codes]:
        """From the numbers and texts of documents to their vectors."""
        try:
            parts = [part for part in self._live(connection) if part.codes is not None]
        except FormatError as error:
            encoder = self._encoder()
            if encoder is None:
                raise FormatError(
                    f"{error} The vectors that were brought with the documents are lost with it: add the documents "
                    "with their vectors to a new index."
                ) from error
            return lambda _, texts: Codes.of(encoder.encode(texts))
        every = np.concatenate([np.zeros(0, dtype=np.int64), *(part.numbers for part in parts)])
        starts = np.cumsum([0, *map(len, parts)])

        def stored(numbers: Int64Array, _: list[str]) -> Codes:
            rows = np.searchsorted(every, numbers)
            owner = np.searchsorted(starts, rows, side="right") - 1
            own = [(part.codes, rows[owner == p] - starts[p]) for p, part in enumerate(parts)]
            return Codes.join([codes.select(some) for codes, some in own if codes is not None])

        return stored


META = "filled"
_END = "\x00\n"


@dataclass(frozen=True)
class Filled:
    """How far a collection was read."""

    documents: int = 0
    """Documents that were looked at."""
    stored: int = 0
    """Those of them that were stored: not dropped for having no words."""
    checksum: int = 0
    done: bool = False

    def after(self, chunk: list[Entry], stored: int) -> Filled:
        """After some more documents."""
        text = "".join([f"{entry.id}{_END}{entry.text}{_END}" for entry in chunk])
        checksum = zlib.crc32(text.encode("utf-8"), self.checksum)
        return Filled(self.documents + len(chunk), self.stored + stored, checksum)

    def skip(self, source: Iterator[Entry], report: Callable[[int], object]) -> None:
        """Pass over the documents that an earlier call has stored; they must be the same."""
        seen = Filled()
        while seen.documents < self.documents:
            some = list(islice(source, min(CHUNK, self.documents - seen.documents)))
            if not some:
                raise InputError(
                    f"The call that was stopped had stored {self.documents} documents, and these are {seen.documents} "
                    "in all. Pass the same documents again, or make a new index."
                )
            seen = seen.after(some, 0)
            report(seen.documents)
        if seen.checksum != self.checksum:
            raise InputError(
                f"The first {self.documents} documents are not those that were stored before the call was stopped. "
                "Pass the same documents in the same order, or make a new index."
            )
