"""What can be asked of an index without changing it: searches, comparisons, documents, all pairs."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, Unpack, overload

from wordferry.base.checks import whole_number
from wordferry.base.runtime import ShowProgress, no_progress, progress_for
from wordferry.encoders.given import query_vectors
from wordferry.errors import InputError, NotFound
from wordferry.find.settings import Settings
from wordferry.index.config import Config
from wordferry.index.results import Document, Hits
from wordferry.index.search.filters import compile_filter
from wordferry.index.search.requests import (
    LEAST_CANDIDATES,
    Ask,
    HowOptions,
    SearchOptions,
    SimilarOptions,
    answerable,
    compared_tokens,
    method_of,
    queries_of,
    query_tokens,
)
from wordferry.index.storage.columns import Field
from wordferry.index.write.entries import checked_id, entries
from wordferry.texts.bow import LookedUp
from wordferry.texts.records import Fields, Record
from wordferry.texts.stop_marks import query_words, stop_of
from wordferry.texts.tokenizers import Tokenizer

if TYPE_CHECKING:
    from wordferry.base.frames import Rows
    from wordferry.base.lazy import sparse as sp
    from wordferry.compare.measure import Measure
    from wordferry.explanations.explain import Explanation
    from wordferry.explanations.marked import SentenceExplanation
    from wordferry.index.duplicates import Duplicates
    from wordferry.index.local import LocalIndex
    from wordferry.index.storage.verify import Stats, Verification
    from wordferry.maps.atlas import Map, MapOptions
    from wordferry.shards.sharded import ShardBackend
    from wordferry.words.embeddings import Embeddings
    from wordferry.words.related.graph import RelatedWords

    Backend: TypeAlias = "LocalIndex | ShardBackend"

_KEPT_MEASURES = 64
Query = str | tuple[str, ...]
"""One query: a text, or its tokens."""


class IndexReader:
    """An index as far as it is only read. What answers is a folder of this machine, or shards, wherever they are."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.path: Path = backend.path
        self.config: Config = backend.config
        """What was chosen when the index was made."""
        self.tokenizer: Tokenizer = backend.tokenizer
        """What splits documents and queries."""
        self.identity: str = backend.identity
        """A name that no other index has."""
        self._settings = Settings().changed(**self.config.settings)
        self._measures: dict[tuple[str | None, ...], Measure] = {}

    # -- what it is ------------------------------------------------------------------------------------------------

    @property
    def embeddings(self) -> Embeddings:
        """The word vectors: those that the index was made with, or those that it has made so far."""
        return self.backend.embeddings.stored

    @property
    def generation(self) -> int:
        """The number of the present state: it grows with every change."""
        return self.backend.generation

    @property
    def related(self) -> RelatedWords | None:
        """The related words of the documents' words; None where no document has a word with a vector."""
        return self.backend.related

    def __len__(self) -> int:
        return len(self.backend)

    def __iter__(self) -> Iterator[Document]:
        """All documents of one state, in the order in which they were added."""
        return self.documents()

    def __contains__(self, id: object) -> bool:
        try:
            return self.backend.find(checked_id(id, "in")) is not None
        except InputError:
            return False

    def __repr__(self) -> str:
        documents = "closed" if self.backend.closed else f"{len(self)} documents"
        return f"Index({str(self.path)!r}, {documents}, {self.config.distance})"

    # -- searching -------------------------------------------------------------------------------------------------

    @overload
    def search(self, query: Query, k: int = 10, **options: Unpack[SearchOptions]) -> Hits: ...
    @overload
    def search(self, query: Any, k: int = 10, **options: Unpack[SearchOptions]) -> list[Hits]: ...
    def search(
        self,
        query: Any,
        k: int = 10,
        *,
        filter: Mapping[str, Any] | None = None,
        explain: bool = False,
        rerank: str | None = None,
        candidates: int | None = None,
        vector: Any = None,
        progress: ShowProgress = None,
        **constants: Any,
    ) -> Hits | list[Hits]:
        """The k documents that the words of a query find best, or of each of several queries; each has a score.

        Every word counts, with a vector or without; other forms of a word count less. Stop words count where the query
        has no other word ("the who"), or has them in capitals ("IT support"). The score is exact over the whole
        collection. With an encoder, or vectors that were brought, meaning counts too: documents that share no word with
        the query are found by it.

        Parameters
        ----------
        query : a text (or a tuple of tokens) gives :class:`Hits`; a list of texts or token lists gives a list of them.
        k : the number of hits.
        filter : conditions on metadata, e.g. ``{"topic": "sport", "year": {"gte": 2001}}``, applied before the
            best are chosen. Operators: eq, ne, in, gt, gte, lt, lte, exists.
        explain : attach to every hit what its score is made of; ``hit.explain()`` does so later.
        rerank : "clouds" puts the 10 k best, at least 100, into the order of their words' vectors in context, each word
            of the query with the nearest one of the document; hits then have a distance, and are explained by it. The
            index must have been made with ``encoder="sentence-transformers:PATH"``.
        candidates, constants : of :class:`wordferry.find.Settings`, for this call: ``lift=0`` is for finding one text
            that you know, ``meaning=0`` for words alone.
        vector : the vector of the query, or a row for each of several, in the place of what the encoder makes of them.
        progress : True for a bar, or a callable that is told how many queries of how many are done.

        Returns
        -------
        Hits, best first, or a list of them.
        """
        if "distance" in constants:
            raise InputError("search finds by words. To compare texts by a distance, ask similar(text, distance=...).")
        settings = self._settings.changed(candidates=candidates, **constants)
        k, model = k if type(k) is int and k > 0 else whole_number(k, "k"), None
        if rerank is not None:
            from wordferry.index.search.context import check_context, in_context

            model = check_context(rerank, self.backend.encoder())
        first, told = (k, explain) if model is None else (max(10 * k, LEAST_CANDIDATES), False)
        ask = Ask(first, None if filter is None else compile_filter(filter), told, progress=progress)
        queries, single = queries_of(query)
        tokens = [query_tokens(one, number, self.tokenizer, query_words) for number, one in enumerate(queries)]
        vectors = query_vectors(queries, vector, self.backend.dimension, settings.meaning, self.backend.encoder)
        if vectors is not None:
            ask, settings = replace(ask, vectors=vectors), settings.weighing(self.config.encoder)
        found = self.backend.search(tokens, ask, settings)
        if model is not None:
            means = model, stop_of(self.tokenizer)
            found = [in_context(one, hits, means, k, explain) for one, hits in zip(queries, found, strict=True)]
        return found[0] if single else found

    @overload
    def similar(self, query: Query | None = None, k: int = 10, **options: Unpack[SimilarOptions]) -> Hits: ...
    @overload
    def similar(self, query: Any, k: int = 10, **options: Unpack[SimilarOptions]) -> list[Hits]: ...
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
        by: str = "words",
        vector: Any = None,
        threads: int | None = None,
        progress: ShowProgress = None,
    ) -> Hits | list[Hits]:
        """The k documents nearest to a text, or to a document of the index; each has a distance.

        Parameters
        ----------
        query : a text, or a tuple of tokens; a list of texts or token lists gives a list of :class:`Hits`, in which one
            without words has no hits, and its ``error`` says why.
        k : the number of hits.
        id : the id of a document to ask about in the place of a text; it is not among the hits.
        distance : a name of ``wordferry.DISTANCES``; None is the index's own. Every distance is exact.
        weights, unknown : as in :meth:`create`; None is the index's own choice. Frequencies are those of the living
            documents, so they follow the collection.
        filter : as in :meth:`search`.
        explain : attach to every hit which word moved where; ``hit.explain()`` does so later.
        rerank : a second distance, e.g. "wmd", that orders the ``candidates`` (default 10 k, at least 100) nearest by
            ``distance``. Faster than searching by the second distance, and *not exact*: a document that the first
            one does not rank among the candidates is missed. ``Hits.exact`` is False.
        candidates : how many documents the second distance orders.
        by : "words" compares bags of words by a distance; "meaning" compares the vectors of an encoder, or those that
            were brought, by 1 - cosine: it hears the order of words and what "not" belongs to, which bags lose.
        vector : with ``by="meaning"``, the vector of the query, or a row for each of several.
        threads : the number of threads; None is all that ``WORDFERRY_THREADS`` allows.
        progress : True for a bar, or a callable that is told how many queries of how many are done.

        Returns
        -------
        Hits, nearest first, or a list of them.
        """
        if (query is None) == (id is None):
            raise InputError("similar takes either a query (a text or tokens) or id=.")
        name = None if id is None else checked_id(id, "similar")
        queries, single = queries_of(query) if name is None else ([self.get(name).text], True)
        if by != "words" or vector is not None:
            given = {"distance": distance, "weights": weights, "unknown": unknown, "rerank": rerank, "explain": explain}
            hits = self._by_meaning(queries, by, vector, (k, filter, name, given))
            return hits[0] if single else hits
        measure = self.measure(distance, weights, unknown)
        second = None if rerank is None else self.measure(rerank, weights, unknown)
        rest: dict[str, Any] = {"explain": explain, "threads": threads, "progress": progress}
        ask = Ask.check(k, filter, second, candidates, without=name, **rest)
        tokens = compared_tokens(queries, self.tokenizer, self.backend.embeddings.vocabulary, measure, name)
        if single:
            return self.backend.similar(answerable(tokens), measure, ask)[0]
        full = [one for one in tokens if isinstance(one, LookedUp)]
        found = iter(self.backend.similar(full, measure, ask) if full else ())
        method = method_of(measure, ask)
        return [
            next(found) if isinstance(one, LookedUp) else Hits(method=method, exact=second is None, error=one)
            for one in tokens
        ]

    def _by_meaning(self, queries: Sequence[Any], by: str, vector: Any, asked: tuple[Any, ...]) -> list[Hits]:
        """What :meth:`similar` gives for each query by meaning."""
        k, filter, name, given = asked
        if by != "meaning":
            why = "vector= is for by='meaning'" if by == "words" else f"by must be 'words' or 'meaning', got {by!r}"
            raise InputError(f"{why}.")
        if unfit := [name for name, value in given.items() if value]:
            raise InputError(
                f"{unfit[0]}= is for by='words': the cosine of two vectors has no such choice, and no parts. "
                "hit.passages() shows which words are near."
            )
        if not self.backend.dimension:
            raise InputError(f"{self.path} has no vectors of documents: make it with encoder=, or add(..., vectors=).")
        vector = vector if name is None else self.backend.vector(name)
        tokens = [query_tokens(one, number, self.tokenizer) for number, one in enumerate(queries)]
        vectors = query_vectors(queries, vector, self.backend.dimension, 1.0, self.backend.encoder)
        ask = replace(Ask.check(k, filter, None, None, without=name), vectors=vectors)
        return self.backend.by_meaning(tokens, ask)

    def measure(self, distance: str | None = None, weights: str | None = None, unknown: str | None = None) -> Measure:
        """How this index compares, with what a call says in the place of its own choice."""
        key = (distance, weights, unknown)
        found = self._measures.get(key)
        if found is None:
            from wordferry.compare.distances import find_distance
            from wordferry.compare.measure import Measure
            from wordferry.texts.weights import check_scheme

            record = find_distance(distance or self.config.distance)
            found = Measure(
                record,
                self.config.overlap if self.config.overlap in record.overlaps else None,
                weights=check_scheme(weights or record.own_weights or self.config.weights),
                unknown=unknown or self.config.unknown,  # type: ignore[arg-type]  # which Measure checks
                embeddings=self.embeddings,
            )
            if len(self._measures) < _KEPT_MEASURES:
                self._measures[key] = found
        return found

    @overload
    def explain(self, a: Any, b: Any, *, by: Literal["word"] = "word", **how: Unpack[HowOptions]) -> Explanation: ...
    @overload
    def explain(self, a: Any, b: Any, *, by: Literal["sentence"], **how: Unpack[HowOptions]) -> SentenceExplanation: ...
    def explain(
        self,
        a: Any,
        b: Any,
        *,
        by: Literal["word", "sentence"] = "word",
        distance: str | None = None,
        weights: str | None = None,
        unknown: str | None = None,
    ) -> Explanation | SentenceExplanation:
        """Why two texts are as far apart as this index says: which word moved where, and what it cost.

        Words weigh by their frequencies in the index. Neither text need be a document.

        Parameters
        ----------
        a, b : texts, or tuples of tokens.
        by : "word", or "sentence" for which sentence of a went to which of b, and with which words.
        distance, weights, unknown : as in :meth:`similar`.
        """
        measure = self.measure(distance, weights, unknown)
        vocabulary = self.backend.embeddings.vocabulary
        one, other = answerable(compared_tokens([a, b], self.tokenizer, vocabulary, measure))
        return self.backend.explain((one, other), measure).with_texts(a, b, self.tokenizer).told_by(by)

    # -- documents -------------------------------------------------------------------------------------------------

    def ids(self) -> list[str]:
        """The ids of all documents, in the order in which they were added."""
        return self.backend.ids()

    def get(self, id: str | int) -> Document:
        """One document by its id; NotFound when there is none."""
        name = checked_id(id, "get")
        found = self.backend.find(name)
        if found is None:
            raise NotFound(f"{self.path} has no document {name!r}.")
        return found

    def count(self, filter: Mapping[str, Any] | None = None) -> int:
        """How many documents pass a filter, as in :meth:`search`."""
        return self.backend.count(compile_filter(filter))

    def page(
        self,
        limit: int = 100,
        after: str | int | None = None,
        *,
        offset: int = 0,
        filter: Mapping[str, Any] | None = None,
    ) -> list[Document]:
        """Some documents in the order in which they were added.

        Parameters
        ----------
        limit : how many at most.
        after : an id; the documents that were added after it.
        offset : how many to pass over first. ``after`` is the faster way through a large collection.
        filter : conditions on metadata, as in :meth:`search`.
        """
        limit = min(whole_number(limit, "limit", least=1), sys.maxsize)
        offset = min(whole_number(offset, "offset", least=0), sys.maxsize)
        name = None if after is None else checked_id(after, "page")
        return self.backend.page((limit, offset), name, compile_filter(filter))

    def documents(self, filter: Mapping[str, Any] | None = None) -> Iterator[Document]:
        """All documents of one state that pass a filter, in the order in which they were added."""
        return self.backend.documents(compile_filter(filter))

    def export(
        self,
        path: str | os.PathLike[str] | None,
        *,
        format: str | None = None,
        filter: Mapping[str, Any] | None = None,
        text: str = "text",
        id: str = "id",
        label: str = "label",
        vectors: str | None = None,
        progress: ShowProgress = None,
    ) -> int:
        """Write documents into a file that :meth:`add` and ``wordferry index create`` read; how many there were.

        JSON lines and JSON bring back the same documents. In Parquet and CSV a field that a document does not have
        comes back as None, and CSV has no kinds of values: numbers come back as numbers, everything else as text.

        Parameters
        ----------
        path : the file; None for the standard output.
        format : "jsonl", "json", "csv" or "parquet"; None goes by the file's name.
        filter : conditions on metadata, as in :meth:`search`.
        text, id, label : the names of the fields for these. Where the metadata has such a field too, it must have
            another name here, and the same when the file is read.
        vectors : the name of a field for the documents' vectors, which are left out otherwise; not for CSV.
        progress : True for a bar, or a callable that is told how many documents of how many are written.
        """
        from wordferry.index.write.export import export_documents

        if vectors is not None and not self.backend.dimension:
            raise InputError(f"{self.path} has no vectors of documents to write.")
        own = Fields.of(text, id, label, split=None, vector=vectors)
        show = progress_for(progress, "writing documents") or no_progress
        documents = ((one, self.backend.vector(one.id) if vectors else None) for one in self.documents(filter))
        return export_documents(documents, self.count(filter), own, (path, format), show)

    def fields(self, most: int = 20) -> list[Field]:
        """What documents can be filtered by: each field of their metadata with the ``most`` frequent values."""
        return self.backend.fields(most)

    def stats(self) -> Stats:
        """Sizes and counts of the index."""
        return self.backend.stats()

    def verify(self) -> Verification:
        """Compare every byte that matters with its checksum, and all parts with each other; FormatError if not."""
        return self.backend.verify()

    # -- all documents together ------------------------------------------------------------------------------------

    def duplicates(
        self,
        threshold: float | None = None,
        *,
        meaning: float | None = None,
        distance: str | None = None,
        weights: str | None = None,
        unknown: str | None = None,
        threads: int | None = None,
        progress: ShowProgress = None,
    ) -> Duplicates:
        """All pairs of documents at a distance of at most ``threshold``, nearest first; the matrix is never held.

        Texts that differ in any word, a stop word or not, are at least 0.001 apart. The result also has the ``groups``
        that the pairs form, the ``reason`` of a pair (the words that differ), exact ``copies`` apart from ``near``
        ones, and ``to_csv`` for review before :meth:`prune`. A pair that differs in a negation and hardly anything else
        is listed as ``opposite`` and joins no group.

        Parameters
        ----------
        threshold : the largest distance of a pair. None is that of near-copies by the default distance
            (``wordferry.index.duplicates.THRESHOLD``), for which 99 of 100 pairs are copies.
        meaning : with an encoder, or vectors that were brought, the largest distance of a pair in meaning as well,
            which is 1 - cosine: texts of the same words that say something else are then no duplicates.
        distance, weights, unknown, threads, progress : as in :meth:`similar`.
        """
        from wordferry.index import all_pairs

        measure, how = self.measure(distance, weights, unknown), (threads, progress_for(progress, "comparing"))
        return all_pairs.duplicates(self.backend, (threshold, meaning), measure, how)

    def leakage(
        self,
        documents: Iterable[Any],
        threshold: float | None = None,
        *,
        meaning: float | None = None,
        vectors: Any = None,
        distance: str | None = None,
        weights: str | None = None,
        unknown: str | None = None,
        threads: int | None = None,
        progress: ShowProgress = None,
    ) -> Duplicates:
        """Pairs of a document of this index and one of ``documents``, at most ``threshold`` apart.

        That is test data in training data. ``first`` of a pair is an id of the index, ``second`` one of theirs. Words
        weigh by their frequencies in the index.

        Parameters
        ----------
        documents : what :meth:`add` takes.
        vectors : the documents' vectors for ``meaning``, as in :meth:`add`; otherwise the index's encoder makes them.
        threshold, meaning, distance, weights, unknown, threads, progress : as in :meth:`duplicates`.
        """
        from wordferry.index import all_pairs

        measure, how = self.measure(distance, weights, unknown), (threads, progress_for(progress, "comparing"))
        given = list(entries(documents, Fields(), vectors))
        return all_pairs.leakage(self.backend, given, (threshold, meaning), measure, how)

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

        Made for scikit-learn (``metric="precomputed"``), UMAP and HDBSCAN. Zeros between equal documents are stored; a
        document without words is infinitely far from others, which is not. Parameters are those of :meth:`similar`.
        """
        from wordferry.index import all_pairs

        measure, k = self.measure(distance, weights, unknown), whole_number(k, "k")
        return all_pairs.knn_graph(self.backend, k, measure, threads, progress_for(progress, "comparing"))

    def map(
        self,
        *,
        neighbours: int = 15,
        seed: int = 0,
        threads: int | None = None,
        progress: ShowProgress = None,
    ) -> Map:
        """The collection as a map: a place for each document, clusters with names; ``.to_html(path)`` is a page.

        Parameters
        ----------
        neighbours : how many nearest documents of each the layout keeps together.
        seed : the same documents, seed and number of threads give the same map.
        threads, progress : as in :meth:`similar`.
        """
        from wordferry.maps.atlas import make_map

        records = [Record(one.text, one.id, one.label, metadata=one.metadata) for one in self]
        own: dict[str, Any] = {"embeddings": self.embeddings, "tokenizer": self.tokenizer, "r": self.config.r}
        return make_map(records, **own, neighbours=neighbours, seed=seed, threads=threads, progress=progress)

    def topics(self, min_size: int = 1, *, level: int = -1, words: int = 10, **options: Unpack[MapOptions]) -> Rows:
        """The clusters of a map as a table: size, words, and the ids of representative documents, the largest first.

        The last row, without words, counts the documents in none of the clusters listed.

        Parameters
        ----------
        min_size : clusters of fewer documents are left out.
        level : how fine: 0 is the coarsest level of clusters, -1 the finest.
        words : how many words tell a cluster from the rest.
        options : those of :meth:`map`, which makes the clusters; several tables of one map are ``map().topics()``.
        """
        return self.map(**options).topics(min_size, level=level, words=words)
