"""The index: a collection on disk that is built once, searched for ever, added to and deleted from."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any

from wordferry.base.runtime import ShowProgress, logger
from wordferry.errors import FormatError, InputError, LockedError, NotFound, StorageError
from wordferry.index import create, finding, searching, upgrade
from wordferry.index.asked import Asked
from wordferry.index.catalogue import (
    DOCUMENT_COLUMNS,
    Catalogue,
    all_ids,
    damaged,
    get_meta,
)
from wordferry.index.changing import Changing
from wordferry.index.config import Keep, check_fingerprint, open_embeddings, read_config, read_embeddings
from wordferry.index.engine import Engine
from wordferry.index.fields import Field, fields_of
from wordferry.index.finding import WordEngine
from wordferry.index.graph import Graphs
from wordferry.index.listing import Listing
from wordferry.index.lock import WriterLock, refuse_network
from wordferry.index.model import Document, Hits, checked_id
from wordferry.index.packs import Unpacker, all_documents
from wordferry.index.segments import MissingFolder, with_remedy
from wordferry.index.snapshot import Snapshot, Snapshots
from wordferry.index.stats import Stats, collect
from wordferry.index.totals import Totals
from wordferry.index.verify import Checker, Verification
from wordferry.index.weighed import WeighedEngine
from wordferry.index.weighed_state import Weighing
from wordferry.index.weighing import run as weighing_run
from wordferry.index.whole import WholeCollection
from wordferry.index.writer import Writer
from wordferry.texts.bow import OnEmpty
from wordferry.texts.tokenizers import Tokenizer

_ATTEMPTS = 8


class Index(WholeCollection, Listing, Changing):
    """A collection of documents on disk, opened with :meth:`create` or :meth:`open`.

    Any number of readers may have it open while one writer works; a search sees one state of the index. A call that
    changes it is done when it returns: its documents are on the disk, and nothing of a call that fails is. The first
    such call takes the writer's lock and keeps it until :meth:`close`. All methods may be called from several threads.

    >>> import tempfile, wordferry
    >>> emb = wordferry.Embeddings(["cat", "dog", "car"], [[1.0, 0.1], [0.9, 0.3], [0.0, 1.0]])
    >>> with tempfile.TemporaryDirectory() as folder, Index.create(f"{folder}/pets", embeddings=emb) as index:
    ...     ids = index.add([{"id": "a", "text": "the cat"}, {"id": "b", "text": "a car"}])
    ...     [hit.id for hit in index.search("cats", k=1)], [hit.id for hit in index.similar("dog", k=1)]
    (['a'], ['a'])
    """

    def __init__(self, path: str | os.PathLike[str], *, embeddings: Any = None, totals: Totals | None = None) -> None:
        self.path = Path(path)
        refuse_network(self.path)
        self._catalogue = Catalogue(self.path)
        try:
            with self._catalogue.reading() as connection:
                self.config = read_config(connection, self._catalogue.file)
            if embeddings is None:
                self.embeddings = open_embeddings(self.path, self.config)
            else:
                self.embeddings = read_embeddings(embeddings)
                check_fingerprint(self.embeddings, self.config)
        except FormatError:  # what looks like damage may be the files of another index
            with closing(self._catalogue):
                self._catalogue.check_use()
            raise
        except BaseException:
            self._catalogue.close()
            raise
        self.tokenizer = self.config.make_tokenizer(self.embeddings.vocabulary)
        vouched = self.config.fingerprint if embeddings is None and self.config.keep == "package" else None
        self._graphs = Graphs(self.path, self.embeddings, self.config.r, self.config.base, vouched)
        self._engine = Engine(self.embeddings, self._graphs, self.config.overlap, totals)
        own = Weighing(self.config.weights, self.config.unknown)
        self.weighed = WeighedEngine(self.embeddings, self._engine, self._catalogue.file, own, totals)
        self.words = WordEngine(self.embeddings.vocabulary, self.config.language, self._catalogue.file, totals)
        self._snapshots = Snapshots(self.path, frozenset() if totals is None else totals.fields)
        self._lock = WriterLock(self.path)
        self._writer = Writer(self._catalogue, self.config, self.embeddings)
        self._mutex = RLock()

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        embeddings: Any = None,
        related: Any = None,
        distance: str = "rel-rwmd",
        overlap: str | None = None,
        tokenizer: Tokenizer | str | None = None,
        on_empty: OnEmpty = "error",
        keep: Keep | None = None,
        overwrite: bool = False,
        language: str | None = None,
        settings: Mapping[str, Any] | None = None,
        weights: str = "idf",
        unknown: str = "match",
    ) -> Index:
        """Make an empty index in a new folder.

        Parameters
        ----------
        path : the folder; it must not exist, or be an index that ``overwrite=True`` allows to be replaced.
        embeddings : word vectors, their path, or None for the default ones.
        related : r, the number of related words; or related words to start from, which may cover more than the
            documents' words; None is r = 16 over the documents' words.
        distance, overlap : what :meth:`similar` uses unless told otherwise.
        language : the language of the documents: its stop words, word boundaries and stems. None is English, or that of
            the tokenizer; "none" is for words without stems.
        tokenizer : one of ``wordferry.texts.tokenizers.make_tokenizer`` or a registered name, in the place of the
            language's; it is stored, and used for documents and for queries.
        on_empty : documents without any word: "error", "drop" (not stored), "keep" (stored, never found).
        keep : "copy" puts the vectors into the folder, "path" remembers where they are (pass a path then), "package"
            takes those that come with wordferry, by name and checksum. None: "package" for these, else "copy".
        weights, unknown : what words count for when :meth:`similar` compares ("idf": the more, the fewer documents have
            them; "counts", "log-idf", "bm25", "norm"), and whether those without a vector do ("match": onto themselves,
            "drop": not at all, "error": a document or query with such a word is refused).
        settings : constants of :meth:`search` that are to differ from those of :class:`wordferry.find.Settings`.
        """
        create.create_folder(
            Path(path),
            given=embeddings,
            related=related,
            distance=distance,
            overlap=overlap,
            tokenizer=tokenizer,
            on_empty=on_empty,
            keep=keep,
            overwrite=overwrite,
            language=language,
            settings=settings,
            weighing=Weighing(weights, unknown),
        )
        return cls(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, embeddings: Any = None, totals: Totals | None = None) -> Index:
        """Open an index. ``embeddings`` is needed only when ``keep="path"`` was chosen and they have moved; ``totals``
        are what was counted over a whole collection that the index is one shard of."""
        return cls(path, embeddings=embeddings, totals=totals)

    @staticmethod
    def upgrade(path: str | os.PathLike[str]) -> bool:
        """Bring an index of an earlier format up to date, in its place; False when there is nothing to do."""
        return upgrade.upgrade(path)

    # -- reading ----------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        with self._catalogue.reading() as connection:
            return int(get_meta(connection, "state", self._catalogue.file)["documents"])

    def __iter__(self) -> Iterator[Document]:
        """All documents of one state, in the order in which they were added."""
        with self._catalogue.reading() as connection:
            for row in all_documents(connection, self._catalogue.file):
                yield searching.document(row)

    def __contains__(self, id: object) -> bool:
        with self.view() as (connection, snapshot):
            return self._names_document(connection, snapshot, id)

    @property
    def identity(self) -> str | None:
        """A name that no other index has; None in an index made before there were any."""
        return self._catalogue.identity

    def __repr__(self) -> str:
        documents = "closed" if self._catalogue.closed else f"{len(self)} documents"
        return f"Index({str(self.path)!r}, {documents}, {self.config.distance})"

    def ids(self) -> list[str]:
        """The ids of all documents, in the order in which they were added."""
        with self._catalogue.reading() as connection:
            return all_ids(connection, self._catalogue.file)

    def get(self, id: str | int) -> Document:
        """One document by its id; NotFound when there is none."""
        id = checked_id(id, "get")
        with self.view() as (connection, snapshot):
            return self._document(connection, snapshot, id)

    def _document(self, connection: sqlite3.Connection, snapshot: Snapshot, id: str) -> Document:
        row = self._row(connection, snapshot, DOCUMENT_COLUMNS, id)
        if row is None:
            raise NotFound(f"{self.path} has no document {id!r}.")
        return searching.document(Unpacker(connection, self._catalogue.file).checked(row))

    def _row(self, connection: sqlite3.Connection, snapshot: Snapshot, columns: str, id: str) -> Any:
        """Some columns of the document with an id, or None when the segments know no living one either."""
        row = connection.execute(f"SELECT {columns} FROM documents WHERE id = ?", (id,)).fetchone()
        if row is None and snapshot.has_living(id):
            raise damaged(self._catalogue.file, f"the entry of document {id!r} (it cannot be found)")
        return row

    def search(
        self,
        query: Any,
        k: int = 10,
        *,
        distance: str | None = None,
        filter: Mapping[str, Any] | None = None,
        explain: bool = False,
        rerank: str | None = None,
        candidates: int | None = None,
        threads: int | None = None,
        progress: ShowProgress = None,
        **constants: Any,
    ) -> Any:
        """The k documents that the words of a query find best, or of each of several queries; each has a score.

        Every word counts, with a vector or without; other forms of a word count less. The score is exact over the
        whole collection. With ``distance`` or ``rerank`` texts are compared instead, as by :meth:`similar` with
        ``weights="counts", unknown="drop"``, whatever the index's own choice.

        Parameters
        ----------
        query : a text (or a tuple of tokens) gives :class:`Hits`; a list of texts or token lists gives a list of them.
        filter : conditions on metadata, e.g. ``{"topic": "sport", "year": {"gte": 2001}}``, applied before the
            best are chosen. Operators: eq, ne, in, gt, gte, lt, lte, exists.
        explain : attach to every hit what its score is made of; ``hit.explain()`` does so later.
        candidates, constants : of :class:`wordferry.find.Settings`, for this call: ``lift=0`` is for finding one text
            that you know.
        """
        if distance is not None or rerank is not None:
            if constants:
                raise InputError(f"{min(constants)}= is a constant of word search; it has no meaning for a distance.")
            plan = searching.Plan.check(self.config, k, distance, filter, explain, rerank, candidates)
            with self.view() as (connection, snapshot):
                return self._compared(connection, snapshot, query, plan, threads, progress)
        question = finding.Question.check(self.config, k, filter, explain, {"candidates": candidates, **constants})
        queries, single = searching.queries(query)
        tokens = [searching.query_tokens(self, one, number) for number, one in enumerate(queries)]
        with self.view() as (connection, snapshot):
            found = finding.run(self, connection, snapshot, question, tokens, progress)
        return found[0] if single else found

    def similar(
        self,
        query: Any = None,
        k: int = 10,
        *,
        id: str | int | None = None,
        distance: str | None = None,
        weights: str | None = None,
        unknown: str | None = None,
        filter: Mapping[str, Any] | None = None,
        explain: bool = False,
        rerank: str | None = None,
        candidates: int | None = None,
        threads: int | None = None,
        progress: ShowProgress = None,
    ) -> Any:
        """The k documents nearest to a text, or to a document of the index; each has a distance.

        Parameters
        ----------
        query : a text, a tuple of tokens, or the id of a document, which is then not among the hits; a list of texts
            or token lists gives a list of :class:`Hits`.
        id : a document by its id, where a text might be meant as well.
        distance : a name of ``wordferry.DISTANCES``; None is the index's own. Every distance is exact.
        weights, unknown : as in :meth:`create`; None is the index's own choice. Frequencies are those of the living
            documents, so they follow the collection. "idf", "norm" and "counts" compare through the stored lists by
            every distance but wcd; other weights prepare all documents in memory at first.
        filter : as in :meth:`search`.
        explain : attach to every hit which word moved where; ``hit.explain()`` does so later.
        rerank : a second distance, e.g. "wmd", that orders the ``candidates`` (default 10 k, at least 100) nearest by
            ``distance``. Faster than searching by the second distance, and *not exact*: a document that the first
            one does not rank among the candidates is missed. ``Hits.exact`` is False.
        """
        if (query is None) == (id is None):
            raise InputError("similar takes either a query (a text, tokens or an id) or id=.")
        plan = searching.Plan.check(self.config, k, distance, filter, explain, rerank, candidates)
        weighing = self._weighing(weights, unknown)
        id = None if id is None else checked_id(id, "similar")
        with self.view() as (connection, snapshot):
            if id is None and isinstance(query, str) and self._names_document(connection, snapshot, query):
                id = query
            if id is not None:
                found = self._document(connection, snapshot, id)
                query, plan = found.text, replace(plan, without=found.id)
            if weighing.plain:
                return self._compared(connection, snapshot, query, plan, threads, progress)
            queries, single = searching.queries(query)
            tokens = searching.compared_tokens(self, queries, plan, weighing.unknown)
            hits = weighing_run(self, connection, snapshot, plan, weighing, tokens, threads, progress)
        return hits[0] if single else hits

    def _names_document(self, connection: sqlite3.Connection, snapshot: Snapshot, value: object) -> bool:
        """Whether something is the id of a document."""
        if isinstance(value, str) and len(value) > snapshot.longest_id:
            return False  # as most queries
        try:
            return self._row(connection, snapshot, "number", checked_id(value, "in")) is not None
        except InputError:
            return False

    def _compared(
        self,
        connection: sqlite3.Connection,
        snapshot: Snapshot,
        query: Any,
        plan: searching.Plan,
        threads: int | None,
        progress: ShowProgress,
    ) -> Hits | list[Hits]:
        """The nearest documents by a distance."""
        queries, single = searching.queries(query)
        bags = Asked.of(searching.compared_tokens(self, queries, plan, "drop"))
        found = searching.run(self, connection, snapshot, plan, queries, bags, threads, progress)
        return found[0] if single else found

    @contextmanager
    def view(self) -> Iterator[tuple[sqlite3.Connection, Snapshot]]:
        """One state of the index: a read transaction and the arrays that belong to it."""
        missing, seen = "", -1
        for _ in range(_ATTEMPTS):
            with ExitStack() as stack:
                connection = stack.enter_context(self._catalogue.reading())
                try:
                    snapshot = self._snapshots.get(connection)
                except MissingFolder as error:  # compacted away after this transaction began, or lost
                    generation = get_meta(connection, "state", self._catalogue.file)["generation"]
                    lost, seen, missing = generation == seen, generation, str(error)
                else:
                    yield connection, snapshot
                    return
            if lost:
                self._recover(missing)
        raise with_remedy(FormatError(missing))

    def _recover(self, missing: str) -> None:
        """Make lost segments again from the texts, if nobody else is writing."""
        try:
            held = self._lock.held
            logger.warning("%s The segments are made again from the texts.", missing)
            self.compact(rebuild=True)
            if not held:
                self._lock.release()
        except (LockedError, StorageError) as error:
            raise with_remedy(FormatError(f"{missing} ({error})")) from error

    @property
    def engine(self) -> Engine:
        """What searches snapshots."""
        return self._engine

    # -- the rest ---------------------------------------------------------------------------------------------------

    def stats(self) -> Stats:
        """Sizes and counts of the index."""
        with self.view() as (connection, snapshot):
            return collect(self, connection, snapshot)

    def fields(self, most: int = 20) -> list[Field]:
        """What documents can be filtered by: each field of their metadata with the ``most`` frequent values."""
        with self.view() as (_, snapshot):
            alive = snapshot.alive
            parts = [(part.rows.columns, None if alive is None else alive[part.span]) for part in snapshot.parts]
            return fields_of(parts, most)

    def verify(self) -> Verification:
        """Compare every byte that matters with its checksum, and all parts with each other; FormatError if not."""
        return Checker(self._catalogue, self.config, self.embeddings, self._graphs).run()

    def close(self) -> None:
        """Put what is only in memory on the disk, give the lock back, and close the files."""
        with self._mutex:
            try:
                if self._lock.held and not self._catalogue.closed:
                    self._keep_graph()
            finally:
                self._catalogue.close()
                self._lock.release()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
