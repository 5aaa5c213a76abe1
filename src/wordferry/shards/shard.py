"""One shard, opened: questions and answers are plain values, so that it may stand in another process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from wordferry.base import storage
from wordferry.base.arrays import Float64Array, Int32Array, Int64Array
from wordferry.compare.distances import find_distance
from wordferry.engines.location import Location
from wordferry.errors import FormatError, NotFound, VocabularyMismatch, WordferryError
from wordferry.find.explaining import ScoreExplanation, explain_score
from wordferry.find.ranking import QueryWord, Ranking
from wordferry.find.settings import Settings
from wordferry.index import Index
from wordferry.index.fields import Field
from wordferry.index.finding import Question
from wordferry.index.model import Document
from wordferry.index.searching import document as as_document
from wordferry.index.searching import found_documents, found_ids
from wordferry.index.totals import Totals
from wordferry.shards.manifest import EMBEDDINGS, RELATED, SHARDS, TOTALS, Manifest, ShardRecord, file_digests
from wordferry.shards.nearby import on_this_machine
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords


@dataclass(frozen=True, eq=False)
class Best:
    """What the words of one query find in a shard: rows of the whole collection, best first, with their scores."""

    rows: Int64Array
    own: Float64Array
    query: tuple[QueryWord, ...]
    missing: tuple[str, ...]
    settings: Settings


@dataclass(frozen=True, eq=False)
class StemBags:
    """The bags of some documents by stem, with what each stem weighs."""

    indptr: Int64Array
    stems: Int32Array
    counts: Int32Array
    idf: Float64Array


@dataclass(frozen=True)
class Near:
    """A document that a distance found."""

    document: Document
    distance: float
    second: float | None = None
    """Its distance by the one that orders the candidates, and its place among them."""
    place: int = 0
    explanation: Any = None


@dataclass(frozen=True)
class Comparison:
    """The options of a search by a distance, checked by the index itself."""

    k: int
    similar: bool
    """Whether words weigh what the index says, or are counted."""
    options: Mapping[str, Any]
    rerank: str | None = None
    explain: bool = False
    without: str | None = None


class Common:
    """What all shards of a folder share: vectors, related words, totals."""

    def __init__(self, address: str) -> None:
        self.place = Location(address)
        self.manifest = Manifest.read(self.place)

    def _folder(self, name: str) -> Any:
        """A shared folder on this machine, held to the manifest."""
        digest = self.manifest.common[name]
        folder = on_this_machine(self.place, name, self.manifest.vectors if name == EMBEDDINGS else digest)
        try:
            right = storage.file_digest(folder / storage.MANIFEST) == digest
        except FileNotFoundError:
            raise FormatError(f"{self.place.address} is damaged: the folder {name} is missing.") from None
        if not right:
            raise VocabularyMismatch(f"{folder} is not the one that the shards were built with.")
        return folder

    @cached_property
    def embeddings(self) -> Embeddings:
        """The word vectors, mapped."""
        return Embeddings.load(self._folder(EMBEDDINGS))

    @cached_property
    def totals(self) -> Totals:
        """What was counted over all shards."""
        return Totals.load(self._folder(TOTALS))

    @cached_property
    def related(self) -> RelatedWords | None:
        """The related words of all documents' words; None when no document has a word with a vector."""
        return RelatedWords.load(self._folder(RELATED)) if RELATED in self.manifest.common else None


class Shard:
    """An opened shard of a folder."""

    def __init__(self, common: Common, number: int) -> None:
        self.common, self.number = common, number
        self.record: ShardRecord = common.manifest.shards[number]
        self.folder = on_this_machine(common.place, f"{SHARDS}/{self.record.name}")
        try:
            self.index = Index.open(self.folder, embeddings=common.embeddings, totals=common.totals)
        except VocabularyMismatch as error:
            raise VocabularyMismatch(f"Shard {self.record.name}: {error}") from None
        except (WordferryError, OSError) as error:
            raise FormatError(f"Shard {self.record.name} cannot be opened: {error}") from None
        try:
            self._check()
        except BaseException:
            self.index.close()
            raise

    def _check(self) -> None:
        """Whether it is the shard that the manifest means, with the words of all the others."""
        manifest, record = self.common.manifest, self.record
        with self.index.view() as (_, snapshot):
            state, generation = snapshot.state, snapshot.generation
        for what, count in (("words", manifest.words), ("others", manifest.others)):
            checksum = getattr(manifest, f"{what}_checksum")
            if (state[what], state[f"{what}_checksum"]) != (count, checksum):
                kind = "words" if what == "words" else "words without vectors"
                raise VocabularyMismatch(
                    f"Shard {record.name} has another vocabulary than the other shards: its {state[what]} {kind} are "
                    f"not the {count} of {self.common.place.address}. Build the shards again together."
                )
        if self.index.identity != record.identity:
            raise FormatError(
                f"Shard {record.name} is another index than the one that was built: its identity differs."
            )
        if generation != record.generation:
            raise FormatError(f"Shard {record.name} was changed after it was built. Build the shards again together.")

    # -- by words ---------------------------------------------------------------------------------------------------

    def best(
        self, asked: Sequence[Sequence[str]], k: int, filter: Mapping[str, Any] | None, constants: Mapping[str, Any]
    ) -> list[Best]:
        """What each query, given as tokens, finds by the documents' own words: as many as the best k may come from."""
        question = Question.check(self.index.config, k, filter, False, constants)
        settings, found = question.settings, []
        with self.index.view() as (connection, snapshot):
            allowed = snapshot.allowed(question.condition)
            collection = self.index.words.collection(connection, snapshot, asked)
            for tokens in asked:
                query, missing = collection.query(tokens)
                rows, own, *_ = collection.best(query, settings.wanted(k), settings, allowed)
                found.append(Best(rows + self.record.first, own, query, missing, settings))
        return found

    def stems(self, rows: Int64Array) -> StemBags:
        """The bags of some rows of the collection that are in this shard, in the order given."""
        with self.index.view() as (connection, snapshot):
            collection = self.index.words.collection(connection, snapshot)
            indptr, words, counts = collection.bags(rows - self.record.first)
            stems = collection.group_of[words]
            return StemBags(indptr, stems, counts, collection.idf[stems])

    def explain_score(self, ranking: Ranking, names: Sequence[str]) -> ScoreExplanation:
        """What the one score of a ranking is made of; its document is in this shard."""
        with self.index.view() as (connection, snapshot):
            words = [word.word for word in ranking.query]
            collection = self.index.words.collection(connection, snapshot, [words])
            return explain_score(collection, _moved(ranking, -self.record.first), 0, names)

    # -- by distance ------------------------------------------------------------------------------------------------

    def near(self, asked: Sequence[Sequence[str]], how: Comparison) -> list[list[Near]]:
        """The nearest documents to each query, given as tokens."""
        return near_documents(self.index, asked, how)

    def explained(
        self,
        texts: tuple[list[str], list[str]],
        distance: str,
        weights: str | None = None,
        unknown: str | None = None,
    ) -> Any:
        """Why two texts, given as tokens, are as far apart as the index says, with its own weights or others."""
        given, record = {"weights": weights, "unknown": unknown}, find_distance(distance)
        with self.index.view() as (connection, snapshot):
            return self.index.weighed.explained(connection, snapshot, texts, record, **given)

    # -- documents --------------------------------------------------------------------------------------------------

    def documents(self, rows: Int64Array) -> list[Document]:
        """Documents by their rows in the collection."""
        own = rows - self.record.first
        with self.index.view() as (connection, snapshot):
            found = found_documents(self.index, connection, snapshot, own)
        return [as_document(found[row]) for row in own.tolist()]

    def ids(self, rows: Int64Array) -> list[str]:
        """The ids of documents by their rows in the collection."""
        own = rows - self.record.first
        with self.index.view() as (connection, snapshot):
            found = found_ids(self.index, connection, snapshot, own)
        return [found[row] for row in own.tolist()]

    def find(self, id: str) -> Document | None:
        """A document by its id; None when it is not in this shard."""
        try:
            return self.index.get(id)
        except NotFound:
            return None

    def page(self, limit: int, after: str | None) -> list[Document]:
        """Some documents in their order."""
        return self.index.page(limit, after)

    def fields(self, most: int) -> list[Field]:
        """What documents can be filtered by."""
        return self.index.fields(most)

    def facts(self) -> dict[str, Any]:
        """Which shard this is, and of which build."""
        return {"shard": self.record.name, "documents": len(self.index), "build": self.common.manifest.identity}

    def verify(self) -> None:
        """Compare every file with its checksum, and all parts of the index with each other."""
        if file_digests(self.folder) != dict(self.record.files):
            raise FormatError(f"Shard {self.record.name}: its files do not match their checksums.")
        self.index.verify()

    def close(self) -> None:
        """Close its files."""
        self.index.close()


def near_documents(index: Index, asked: Sequence[Sequence[str]], how: Comparison) -> list[list[Near]]:
    """The documents of an index nearest to each query, given as tokens."""
    find = index.similar if how.similar else index.search
    if how.without is not None:
        hits = [index.similar(id=how.without, k=how.k, explain=how.explain, **how.options)]
    else:
        hits = find(list(asked), how.k, explain=how.explain, **how.options)
    if how.rerank is None:
        return [[_near(hit) for hit in some] for some in hits]
    return [_ordered(index, tokens, some, how) for tokens, some in zip(asked, hits, strict=True)]


def _ordered(index: Index, tokens: Sequence[str], candidates: Sequence[Any], how: Comparison) -> list[Near]:
    """The candidates of one query with their second distance."""
    if not candidates:
        return []
    options: dict[str, Any] = {**how.options, "rerank": how.rerank, "candidates": how.k, "explain": how.explain}
    if how.without is not None:
        again = index.similar(id=how.without, k=how.k, **options)
    else:
        (again,) = (index.similar if how.similar else index.search)([list(tokens)], how.k, **options)
    places = {hit.id: (place, hit) for place, hit in enumerate(again)}
    found = []
    for hit in candidates:
        place, second = places[hit.id]
        found.append(Near(_near(hit).document, hit.distance, second.distance, place, second.explanation))
    return found


def _near(hit: Any) -> Near:
    document = Document(hit.id, hit.text, dict(hit.metadata), hit.label)
    return Near(document, hit.distance, explanation=hit.explanation)


def _moved(ranking: Ranking, by: int) -> Ranking:
    """A ranking with ``by`` added to the rows of its documents; neighbours keep their numbers."""
    return Ranking(**{**vars(ranking), "rows": np.asarray(ranking.rows) + by})
