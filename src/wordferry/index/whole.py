"""What an index does with all of its documents at once: near-duplicates, the neighbour graph, a map."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wordferry.base.checks import real_number
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import ShowProgress, progress_for
from wordferry.compare.distances import find_distance
from wordferry.compare.problem import Distance
from wordferry.compare.search import Searcher, check_k
from wordferry.errors import InputError, NotFound
from wordferry.index import searching
from wordferry.index.duplicates import Duplicates, Pair, checksum, read_review
from wordferry.index.helpers import close_pairs, neighbour_graph, pairs_between
from wordferry.index.model import Document, entries
from wordferry.index.snapshot import Snapshot
from wordferry.index.weighed import WeighedEngine
from wordferry.index.weighed_state import Weighing
from wordferry.texts.bow import bags
from wordferry.texts.documents import Record
from wordferry.texts.records import words_of as tokens_of

if TYPE_CHECKING:
    import sqlite3
    from contextlib import AbstractContextManager

    from wordferry.index.catalogue import Catalogue
    from wordferry.index.config import Config
    from wordferry.index.engine import Engine
    from wordferry.maps.atlas import Map
    from wordferry.texts.tokenizers import Tokenizer
    from wordferry.words.embeddings import Embeddings


class WholeCollection:
    """The part of :class:`Index` that looks at every document; it has no state of its own."""

    path: Path
    config: Config
    embeddings: Embeddings
    tokenizer: Tokenizer
    _catalogue: Catalogue
    _engine: Engine
    weighed: WeighedEngine

    if TYPE_CHECKING:

        def view(self) -> AbstractContextManager[tuple[sqlite3.Connection, Snapshot]]: ...
        def get(self, id: str) -> Document: ...
        def delete(self, ids: Iterable[str | int] | str | int, *, missing_ok: bool = False) -> int: ...
        def __iter__(self) -> Iterator[Document]: ...

    def duplicates(
        self,
        threshold: float,
        *,
        distance: str | None = None,
        weights: str | None = None,
        unknown: str | None = None,
        threads: int | None = None,
        progress: ShowProgress = None,
    ) -> Duplicates:
        """All pairs of documents at a distance of at most ``threshold``, nearest first; the matrix is never held.

        The result also has the ``groups`` that the pairs form, the ``reason`` of a pair (the words that differ), exact
        ``copies`` apart from ``near`` ones, and ``to_csv`` for review before :meth:`prune`. Words weigh, and those
        without a vector count, as in :meth:`similar`.
        """
        record = find_distance(distance or self.config.distance)
        limit = real_number(threshold, "threshold", what="a distance")
        weighing = self._weighing(weights, unknown)
        with self.view() as (connection, snapshot):
            ids = searching.ids_of(connection, snapshot, self._catalogue.file)
            if len(ids) < 2:
                return Duplicates(threshold=limit)
            searcher = self._all_documents(connection, snapshot, record, weighing)
            tell = progress_for(progress, "comparing")
            blocks = close_pairs(searcher, limit, threads=threads, progress=tell)
            found = [
                (ids[i], ids[j], float(d))
                for block in blocks
                for i, j, d in zip(*(column.tolist() for column in block), strict=True)
            ]
        texts = {id: _text(self, id) for id in dict.fromkeys(id for a, b, _ in found for id in (a, b))}
        pairs = [Pair(a, b, d, texts[a] == texts[b]) for a, b, d in sorted(found, key=lambda pair: pair[2])]
        order = {id: place for place, id in enumerate(ids)}
        return Duplicates(pairs, threshold=limit, order=order, words=self._words_of, text=texts.__getitem__)

    def leakage(
        self,
        documents: Iterable[Any],
        threshold: float,
        *,
        distance: str | None = None,
        weights: str | None = None,
        unknown: str | None = None,
        threads: int | None = None,
        progress: ShowProgress = None,
    ) -> Duplicates:
        """Pairs of a document of this index and one of ``documents``, at most so far apart: test data in training data.

        ``documents`` are what :meth:`add` takes; ``first`` of a pair is an id of the index, ``second`` one of theirs.
        Words weigh as in :meth:`duplicates`, by their frequencies in the index.
        """
        record = find_distance(distance or self.config.distance)
        limit = real_number(threshold, "threshold", what="a distance")
        given = list(entries(documents))
        names = [one.id or f"document {number}" for number, one in enumerate(given)]
        words = [one.words for one in given]
        weighing = self._weighing(weights, unknown)
        theirs: Any = [tokens_of(text, self.tokenizer) for text in words]
        if weighing.plain:
            theirs = bags(theirs, self.embeddings.vocabulary, on_empty="keep").matrix
        with self.view() as (connection, snapshot):
            ids = searching.ids_of(connection, snapshot, self._catalogue.file)
            searcher = self._all_documents(connection, snapshot, record, weighing)
            tell = progress_for(progress, "comparing")
            pairs_found = pairs_between(searcher, theirs, limit, threads=threads, progress=tell)
            found = list(pairs_found) if ids and given else []
        texts = {names[j]: _written(words[j]) for _, j, _ in found}
        mine = {ids[i]: _text(self, ids[i]) for i, _, _ in found}
        pairs = [Pair(ids[i], names[j], d, mine[ids[i]] == texts[names[j]]) for i, j, d in found]
        tokens = {names[j]: words[j] for _, j, _ in found}

        def words_of(id: str) -> list[str]:
            if id not in tokens:
                return self._words_of(id)
            return tokens_of(tokens[id], self.tokenizer)

        pairs.sort(key=lambda pair: (pair.distance, pair.first, pair.second))
        return Duplicates(pairs, threshold=limit, words=words_of, text=lambda id: texts.get(id) or mine[id])

    def prune(self, review: str | os.PathLike[str], *, dry_run: bool = False) -> list[str]:
        """Delete what a reviewed list marks with ``delete``; the ids that go, or would go with ``dry_run``.

        The list is one of :meth:`Duplicates.to_csv`, looked at and perhaps edited. A document that has changed or gone
        since then stops the call before anything is deleted.
        """
        lines = read_review(review)
        for line in lines:
            try:
                text = _text(self, line.id)
            except NotFound:
                raise NotFound(f"{review}, line {line.line}: {line.id!r} is no longer in {self.path}.") from None
            if checksum(text) != line.checksum:
                raise InputError(f"{review}, line {line.line}: {line.id!r} has changed since the review. Review again.")
        going = [line.id for line in lines if line.action == "delete"]
        if going and not dry_run:
            self.delete(going)
        return going

    def _words_of(self, id: str) -> list[str]:
        return tokens_of(self.get(id).text, self.tokenizer)

    def knn_graph(
        self,
        k: int,
        *,
        distance: str | None = None,
        weights: str | None = None,
        unknown: str | None = None,
        threads: int | None = None,
        progress: ShowProgress = None,
    ) -> sp.csr_array:
        """The k nearest other documents of each document, as a CSR matrix of distances; rows as :meth:`ids` says.

        Made for scikit-learn (``metric="precomputed"``), UMAP and HDBSCAN. Zeros between equal documents are stored.
        Words weigh, and those without a vector count, as in :meth:`similar`.
        """
        record = find_distance(distance or self.config.distance)
        k, weighing = check_k(k), self._weighing(weights, unknown)
        with self.view() as (connection, snapshot):
            if not snapshot.documents:
                return sp.csr_array((0, 0), dtype="float32")
            searcher = self._all_documents(connection, snapshot, record, weighing)
            return neighbour_graph(searcher, k, threads=threads, progress=progress_for(progress, "comparing"))

    def map(
        self,
        *,
        neighbours: int = 15,
        seed: int = 0,
        threads: int | None = None,
        progress: ShowProgress = None,
    ) -> Map:
        """The collection as a map: a place for each document, clusters with names; ``.to_html(path)`` is a page.

        ``neighbours`` is how many nearest documents of each the layout keeps together. The same documents, ``seed``
        and number of threads give the same map.
        """
        from wordferry.maps.atlas import make_map

        records = [Record(one.text, one.id, one.label, metadata=one.metadata) for one in self]
        return make_map(
            records,
            embeddings=self.embeddings,
            tokenizer=self.tokenizer,
            r=self.config.r,
            neighbours=neighbours,
            seed=seed,
            threads=threads,
            progress=progress,
        )

    def _weighing(self, weights: str | None, unknown: str | None) -> Weighing:
        """What a call says, or else the index's own choice."""
        return Weighing(weights or self.config.weights, unknown or self.config.unknown)

    def _all_documents(
        self, connection: sqlite3.Connection, snapshot: Snapshot, record: Distance, weighing: Weighing
    ) -> Searcher:
        if weighing.plain:
            return self._engine.live_searcher(snapshot, record)
        return self.weighed.searcher(connection, snapshot, record, weighing)


def _text(index: WholeCollection, id: str) -> str:
    return _written(index.get(id).text)


def _written(text: str | Sequence[str]) -> str:
    return text if isinstance(text, str) else " ".join(text)
