"""The index: a collection on disk that is built once, searched for ever, added to and deleted from."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from wordferry.base.checks import real_number, whole_number
from wordferry.base.frames import Rows
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import ShowProgress, no_progress, progress_for, thread_count
from wordferry.compare.distances import RECOMMENDED, find_distance
from wordferry.compare.measure import Measure
from wordferry.compare.nearest import check_k
from wordferry.encoders.encoder import find_encoder
from wordferry.encoders.given import query_vectors
from wordferry.errors import InputError, NotFound
from wordferry.find.settings import Settings
from wordferry.index import all_pairs
from wordferry.index.backend import Backend, open_backend
from wordferry.index.config import Config, Keep
from wordferry.index.duplicates import Duplicates, checked_threshold, read_review
from wordferry.index.results import Document, Hits
from wordferry.index.search.context import InContext
from wordferry.index.search.fields import Field
from wordferry.index.search.filters import compile_filter
from wordferry.index.search.requests import Ask, HowOptions, SearchOptions, SimilarOptions
from wordferry.index.search.similar import answerable, compared_tokens, method_of, queries_of, query_tokens
from wordferry.index.storage.stats import Stats
from wordferry.index.storage.verify import Verification
from wordferry.index.write import segment_writer
from wordferry.index.write.create import create_folder
from wordferry.index.write.entries import Entry, checked_id, entries, with_vectors
from wordferry.index.write.export import export_documents
from wordferry.texts.bow import LookedUp, OnEmpty, check_on_empty
from wordferry.texts.coverage import Coverage
from wordferry.texts.records import Fields, Record
from wordferry.texts.stop_marks import query_words
from wordferry.texts.tokenizers import Tokenizer
from wordferry.texts.weights import check_scheme
from wordferry.words.embeddings import Embeddings
from wordferry.words.loaders.demand import VectorSource
from wordferry.words.related.graph import RelatedWords

if TYPE_CHECKING:
    from wordferry.explanations.explain import Explanation
    from wordferry.explanations.marked import SentenceExplanation
    from wordferry.maps.atlas import Map, MapOptions


_KEPT_MEASURES = 64
_ENCODED_STEP = 16_384
Query = str | tuple[str, ...]
"""One query: a text, or its tokens."""


class Index:
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

    def __init__(self, backend: Backend) -> None:
        self._warned = False
        """Whether it was said that few words have a vector."""
        self._temporary: TemporaryDirectory[str] | None = None
        """The folder that goes when this index is closed."""
        self.given_encoder: Any = None
        """The encoder that it was opened with, for whoever opens it again."""
        self._answer_from(backend)

    def _answer_from(self, backend: Backend) -> None:
        self.backend = backend
        """What answers: a folder of this machine, or shards, wherever they are."""
        self.path: Path = backend.path
        self.config: Config = backend.config
        """What was chosen when the index was made."""
        self.tokenizer: Tokenizer = backend.tokenizer
        """What splits documents and queries."""
        self.identity: str = backend.identity
        """A name that no other index has."""
        self._settings = Settings().changed(**self.config.settings)
        self._measures: dict[tuple[str | None, ...], Measure] = {}

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        embeddings: Any = None,
        related: Any = None,
        distance: str = RECOMMENDED,
        overlap: str | None = None,
        weights: str = "idf",
        unknown: str = "match",
        language: str | None = None,
        tokenizer: Tokenizer | str | None = None,
        stop: Iterable[str] | str | None = "",
        on_empty: OnEmpty = "error",
        keep: Keep | None = None,
        overwrite: bool = False,
        settings: Mapping[str, Any] | None = None,
        encoder: Any = None,
    ) -> Index:
        """Make an empty index in a new folder, or in a temporary one that goes when the index is closed.

        Parameters
        ----------
        path : the folder; it must not exist, or be an index that ``overwrite=True`` allows to be replaced. None is a
            temporary one.
        embeddings : word vectors, their path, or None for the default ones. Or what makes a vector of any word:
            "multilingual", "wordllama", a model2vec model or its folder, a FastText model of gensim. The index then
            makes a vector when a word first comes and keeps it; those of words that only queries have are in memory.
            Who opens it without the model finds by the words that it has, and cannot add others.
        related : r, the number of related words; or related words to start from, which may cover more than the
            documents' words; None is r = 16 over the documents' words.
        distance, overlap : what :meth:`similar` and :meth:`duplicates` use unless told otherwise: by default what it
            costs to move the words of one text onto those of the other, and twice what they do not share.
        weights, unknown : what words count for when :meth:`similar` compares ("idf": the more, the fewer documents have
            them; "counts", "log-idf", "bm25", "norm", "norm-idf"), and whether those without a vector do ("match": onto
            themselves, "drop": not at all, "error": a document or query with such a word is refused).
        language : the language of the documents: its stop words, word boundaries and stems. None is English, or that of
            the tokenizer; "none" is for words without stems.
        tokenizer : one of ``wordferry.texts.tokenizers.make_tokenizer`` or a registered name, in the place of the
            language's; it is stored, and used for documents and for queries.
        stop : words that weigh nothing when texts are compared, and count in a search only where it asks for them: None
            for none, a language, or your own. Not given: those of the language.
        on_empty : documents without any word: "error", "drop" (not stored), "keep" (stored, never found).
        keep : "copy" puts the vectors into the folder, "path" remembers where they are (pass a path then), "package"
            takes those that come with wordferry, by name and checksum. None: "package" for these, else "copy".
        overwrite : whether an index at ``path`` is replaced.
        settings : constants of :meth:`search` that are to differ from those of :class:`wordferry.find.Settings`.
        encoder : makes :meth:`search` one by words and meaning: "wordllama", "model2vec:PATH",
            "sentence-transformers:PATH" (nothing is downloaded), or a function from a list of texts to an array with a
            vector for each, which :meth:`open` must be given again. Vectors that you bring yourself need none: see
            :meth:`add`.

        Returns
        -------
        The opened index.
        """
        temporary = None
        if path is None:
            temporary = TemporaryDirectory(prefix="wordferry-", ignore_cleanup_errors=True)
            path = Path(temporary.name) / "index"
        made = VectorSource.of(embeddings)
        how = None if encoder is None else find_encoder(encoder)
        create_folder(
            Path(path),
            measure={"distance": distance, "overlap": overlap, "weights": weights, "unknown": unknown},
            vectors={"embeddings": made or embeddings, "related": related, "keep": keep, "encoder": how},
            words={"tokenizer": tokenizer, "language": language, "stop": stop},
            on_empty=on_empty,
            overwrite=overwrite,
            settings=settings,
        )
        index = cls(open_backend(path, made, how))
        index._temporary, index.given_encoder = temporary, encoder
        return index

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, embeddings: Any = None, encoder: Any = None) -> Index:
        """Open an index, or a folder of shards, for reading; the first change takes the writer's lock.

        ``embeddings`` is needed only when ``keep="path"`` was chosen and they have moved, or for a model that the index
        makes its vectors with and that is an object of your program; ``encoder`` only when it is a function of your
        own, or its model has moved. Another one than the index was made with is refused.
        """
        index = cls(open_backend(path, embeddings, encoder))
        index.given_encoder = encoder
        return index

    # -- what it is -------------------------------------------------------------------------------------------------

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
        return iter(self.backend)

    def __contains__(self, id: object) -> bool:
        try:
            return self.backend.find(checked_id(id, "in")) is not None
        except InputError:
            return False

    def __repr__(self) -> str:
        documents = "closed" if self.backend.closed else f"{len(self)} documents"
        return f"Index({str(self.path)!r}, {documents}, {self.config.distance})"

    # -- searching --------------------------------------------------------------------------------------------------

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
        settings = self._settings
        if candidates is not None or constants:
            settings = settings.changed(candidates=candidates, **constants)
        condition = None if filter is None else compile_filter(filter)
        k = k if type(k) is int and k > 0 else check_k(k)
        order: InContext | None = None
        if rerank is not None:
            order = InContext.check(rerank, self.backend.encoder(), self.tokenizer, k, explain)
        first, told = (k, explain) if order is None else (order.candidates, False)
        ask = Ask(first, condition, told, progress=progress)
        queries, single = queries_of(query)
        tokens = [query_tokens(one, number, self.tokenizer, query_words) for number, one in enumerate(queries)]
        vectors = query_vectors(queries, vector, self.backend.dimension, settings.meaning, self.backend.encoder)
        if vectors is not None:
            ask, settings = replace(ask, vectors=vectors), settings.weighing(self.config.encoder)
        found = self.backend.search(tokens, ask, settings)
        if order is not None:
            found = [order.order(one, hits) for one, hits in zip(queries, found, strict=True)]
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
        if by != "words" or vector is not None:
            given = {"distance": distance, "weights": weights, "unknown": unknown, "rerank": rerank, "explain": explain}
            return self._by_meaning(query, id, by, vector, (k, filter, given))
        measure = self.measure(distance, weights, unknown)
        second = None if rerank is None else self.measure(rerank, weights, unknown)
        rest: dict[str, Any] = {"explain": explain, "threads": threads, "progress": progress}
        name = None if id is None else checked_id(id, "similar")
        if name is not None:
            query = self.get(name).text
            query = query if isinstance(query, str) else tuple(query)
        ask = Ask.check(k, filter, second, candidates, without=name, **rest)
        queries, single = ([query], True) if name is not None else queries_of(query)
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

    def _by_meaning(
        self, query: Any, id: str | int | None, by: str, vector: Any, asked: tuple[Any, ...]
    ) -> Hits | list[Hits]:
        """What :meth:`similar` gives by meaning."""
        k, filter, given = asked
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
        name = None if id is None else checked_id(id, "similar")
        if name is not None:
            text = self.get(name).text
            query, vector = text if isinstance(text, str) else tuple(text), self.backend.vector(name)
        queries, single = ([query], True) if name is not None else queries_of(query)
        tokens = [query_tokens(one, number, self.tokenizer) for number, one in enumerate(queries)]
        vectors = query_vectors(queries, vector, self.backend.dimension, 1.0, self.backend.encoder)
        ask = replace(Ask.check(k, filter, None, None, without=name), vectors=vectors)
        found = self.backend.by_meaning(tokens, ask)
        return found[0] if single else found

    def measure(self, distance: str | None = None, weights: str | None = None, unknown: str | None = None) -> Measure:
        """How this index compares, with what a call says in the place of its own choice."""
        key = (distance, weights, unknown)
        found = self._measures.get(key)
        if found is None:
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

    # -- documents --------------------------------------------------------------------------------------------------

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

    # -- changing ---------------------------------------------------------------------------------------------------

    def add(
        self,
        documents: Any,
        *,
        text: str | Iterable[str] = "text",
        id: str = "id",
        label: str = "label",
        title: str = "title",
        skip: Iterable[str] = (),
        on_empty: OnEmpty | None = None,
        vectors: Any = None,
        threads: int | None = None,
        progress: ShowProgress = None,
        graph_progress: ShowProgress = None,
    ) -> list[str]:
        """Add documents, all or none; their ids, given or generated.

        Parameters
        ----------
        documents : texts, lists of tokens, :class:`~wordferry.texts.documents.Record` objects, or mappings with
            ``text`` (or ``tokens``) and optionally ``id``, ``label`` and ``metadata``; other keys of a mapping are
            metadata too. Or a table: a DataFrame of any library, an Arrow table, a Hugging Face dataset, a dict of
            columns. An id that exists is an error.
        text, id, label, title, skip : the columns (or keys) that hold these, and those to leave out; the rest is
            metadata. Of several columns for the text, each follows the one before it.
        on_empty : documents without any word, None and NaN among them: "error", "drop" (left out, and with
            :meth:`upsert` what they replace is deleted) or "keep"; None is the index's own choice.
        vectors : a vector for each document, in their order, or the name of the column (or key) that holds it. The
            first documents of an index decide whether all have one; an index with an encoder makes what is not brought.
        threads : on how many threads texts are split; the index is the same whatever their number.
        progress : is told of documents; True shows a bar, for the related words too.
        graph_progress : is told of the related words, which are extended when many new words have come, and of vectors
            while they are made.

        A :class:`~wordferry.texts.coverage.CoverageWarning` says once where fewer than half of the words have a vector,
        or where texts without spaces became one word each.
        """
        given = _entries(documents, Fields.of(text, id, label, skip=skip, title=title), vectors)
        how: dict[str, Any] = {"replace": False, "on_empty": on_empty, "threads": thread_count(threads)}
        return self._store(documents, given, how, (progress, graph_progress))

    def upsert(
        self,
        documents: Any,
        *,
        text: str | Iterable[str] = "text",
        id: str = "id",
        label: str = "label",
        title: str = "title",
        skip: Iterable[str] = (),
        on_empty: OnEmpty | None = None,
        vectors: Any = None,
        threads: int | None = None,
        progress: ShowProgress = None,
        graph_progress: ShowProgress = None,
    ) -> list[str]:
        """Add documents, all or none; one whose id exists replaces that document. Everything is as in :meth:`add`."""
        given = _entries(documents, Fields.of(text, id, label, skip=skip, title=title), vectors)
        how: dict[str, Any] = {"replace": True, "on_empty": on_empty, "threads": thread_count(threads)}
        return self._store(documents, given, how, (progress, graph_progress))

    def _store(
        self,
        documents: Any,
        given: Iterator[Entry],
        how: dict[str, Any],
        progress: tuple[ShowProgress, ShowProgress],
    ) -> list[str]:
        if how["on_empty"] is not None:
            check_on_empty(how["on_empty"])
        report = _reporter(documents, progress[0])
        ids: list[str] = self._stored(
            lambda writer: writer.add(given, report=report, **how), _graph_progress(*progress), 6
        )
        return ids

    def _stored(self, action: Callable[[Any], Any], graph_progress: ShowProgress, stacklevel: int) -> Any:
        """Run a change that brings documents, and say once where few of their words have a vector."""
        coverage = Coverage()

        def counted(writer: Any) -> Any:
            writer.coverage = coverage
            return action(writer)

        found = self.backend.store(counted, graph_progress)
        if not self._warned:
            self._warned = coverage.warn(stacklevel=stacklevel)
        return found

    def fill(
        self,
        documents: Any,
        *,
        text: str | Iterable[str] = "text",
        id: str = "id",
        label: str = "label",
        title: str = "title",
        skip: Iterable[str] = (),
        vectors: Any = None,
        resume: bool = False,
        step: int | None = None,
        threads: int | None = None,
        progress: ShowProgress = None,
        graph_progress: ShowProgress = None,
    ) -> int:
        """Add a large collection in steps, each on the disk before the next begins; how many documents it has.

        Other than with :meth:`add`, what was stored stays when the call fails or is stopped.

        Parameters
        ----------
        documents, text, id, label, title, skip, vectors, threads, progress, graph_progress : as in :meth:`add`.
        resume : go on after what an earlier call has stored: pass the same documents again, which is checked; those
            that are stored are passed over. The index is then the same as if nothing had happened.
        step : the number of documents of a step (262,144, or 16,384 where they are encoded): fewer need less memory,
            and less is done again after a stop.
        """
        usual = segment_writer.SEGMENT if self.config.encoder is None or vectors is not None else _ENCODED_STEP
        step = whole_number(usual if step is None else step, "step")
        report, count = _reporter(documents, progress), thread_count(threads)
        given = _entries(documents, Fields.of(text, id, label, skip=skip, title=title), vectors)
        stored: int = self._stored(
            lambda writer: writer.fill(given, resume=resume, step=step, report=report, threads=count),
            _graph_progress(progress, graph_progress),
            5,
        )
        return stored

    def delete(self, ids: Iterable[str | int] | str | int, *, missing_ok: bool = False) -> int:
        """Delete documents by id, all or none; how many were deleted. An unknown id is NotFound unless allowed."""
        wanted = [checked_id(id, "delete") for id in ([ids] if isinstance(ids, str | int) else ids)]
        with self.backend.writing() as writer:
            return writer.delete(wanted, missing_ok=missing_ok)

    def compact(self, *, rebuild: bool = False) -> None:
        """Write the live documents into as few files as possible, and forget words that none of them has.

        ``rebuild=True`` makes bags of words and related words again from the texts, e.g. after damage to their files.
        """
        self.backend.compact(rebuild=rebuild)

    def revector(self, embeddings: Any = None, *, keep: Keep | None = None) -> None:
        """Compare by other word vectors from now on; the texts are not split again.

        The related words are found anew. Who has the index open elsewhere must open it again.

        Parameters
        ----------
        embeddings : word vectors, their path, or None for the default ones.
        keep : as in :meth:`create`.
        """
        self.backend.revector(embeddings, keep)
        self._answer_from(self.backend)

    # -- all documents together -------------------------------------------------------------------------------------

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
        measure = self.measure(distance, weights, unknown)
        limit = checked_threshold(threshold, measure.distance.name)
        how = (threads, progress_for(progress, "comparing"))
        return all_pairs.duplicates(self.backend, limit, measure, how, self._meaning(meaning))

    def _meaning(self, given: float | None) -> float | None:
        """The largest distance in meaning, checked; None where only words count."""
        if given is None:
            return None
        if not self.backend.dimension:
            raise InputError(f"{self.path} has no vectors of documents, which meaning= compares.")
        return real_number(given, "meaning", 0, 2, what="a distance")

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
        measure, given = self.measure(distance, weights, unknown), list(_entries(documents, Fields(), vectors))
        limit = checked_threshold(threshold, measure.distance.name)
        how = (threads, progress_for(progress, "comparing"))
        return all_pairs.leakage(self.backend, given, limit, measure, how, self._meaning(meaning))

    def prune(self, review: str | os.PathLike[str], *, dry_run: bool = False) -> list[str]:
        """Delete what a reviewed list marks with ``delete``; the ids that go, or would go with ``dry_run``.

        The list is one of :meth:`Duplicates.to_csv`, looked at and perhaps edited. A document that has changed or gone
        since then stops the call before anything is deleted.
        """
        lines = read_review(review)
        going = [line.id for line in lines if line.action == "delete"]

        def check(find: Callable[[str], Document | None]) -> None:
            for line in lines:
                line.check(find(line.id), review, self.path)

        if dry_run or not going:
            check(self.backend.find)
        else:
            with self.backend.writing() as writer:
                writer.delete(going, missing_ok=False, check=check)
        return going

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
        measure, k = self.measure(distance, weights, unknown), check_k(k)
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

    # -- the end ----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Put what is only in memory on the disk, give the lock back, and close the files."""
        self.backend.close()
        if self._temporary is not None:
            self._temporary.cleanup()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _entries(documents: Any, fields: Fields, vectors: Any) -> Iterator[Entry]:
    """Documents, checked as they come, with the vectors that a caller brings."""
    if isinstance(vectors, str):
        return entries(documents, replace(fields, vector=vectors))
    return entries(documents, fields) if vectors is None else with_vectors(entries(documents, fields), vectors)


def _reporter(documents: Any, progress: ShowProgress) -> Callable[[int], object]:
    """Tells a progress how many documents of how many are done, as far as that is known."""
    tell = progress_for(progress, "adding documents") or no_progress
    total = len(documents) if isinstance(documents, Sized) else 0
    return lambda done: tell(done, max(total, done))


def _graph_progress(progress: ShowProgress, graph_progress: ShowProgress) -> ShowProgress:
    return True if progress is True and graph_progress is None else graph_progress
