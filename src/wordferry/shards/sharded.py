"""An index in shards: what :class:`~wordferry.Index` asks when the documents are divided among several folders.

Distances, scores and the order of ties are those of the undivided index. Nothing can be added: shards are built again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from wordferry.base.arrays import Counts, Int64Array, summed
from wordferry.base.runtime import no_progress, progress_for, usable_cores
from wordferry.compare.measure import Measure
from wordferry.encoders.encoder import Encoder, checked, find_encoder, stored_encoder
from wordferry.errors import NotFound, StorageError, Unsupported
from wordferry.explanations.explain import Explanation
from wordferry.find.explaining import neighbours_of
from wordferry.find.ranking import Candidates, Ranking, Surroundings, have_all, ranked, stems_of
from wordferry.find.settings import Settings
from wordferry.index.config import Config
from wordferry.index.results import Document, Hit, Hits
from wordferry.index.search.filters import Condition
from wordferry.index.search.passages import best_passages
from wordferry.index.search.requests import Ask, method_of
from wordferry.index.storage.columns import Field
from wordferry.kernels.words import CosineSums, nearest_among
from wordferry.shards.shard import Common, Names, Near, Shard
from wordferry.texts.bow import LookedUp
from wordferry.texts.tokenizers import Tokenizer, tokenizer_from_config
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

_MOST_VALUES = 10_000


class ShardRouter(ABC):
    """Asks shards, wherever they are."""

    strict = True
    """Whether a shard that gives no answer is an error; otherwise it is named in the answer."""

    def __init__(self, common: Common) -> None:
        self.names = [record.name for record in common.manifest.shards]

    @abstractmethod
    def ask(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Ask some shards, each its own question: the answers by shard, in their order; one may be missing."""

    def every(self, method: str, *arguments: Any) -> tuple[dict[int, Any], tuple[str, ...]]:
        """Ask all shards one question: the answers by shard, and the names of shards that did not answer."""
        found = self.ask(method, dict.fromkeys(range(len(self.names)), arguments))
        missing = tuple(name for number, name in enumerate(self.names) if number not in found)
        if missing and (self.strict or not found):
            raise StorageError(f"No answer from the shards {', '.join(missing)}. Ask again in a moment.")
        return found, missing

    def some(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> list[Any]:
        """Ask some shards, each its own question; who gives no answer is asked once more."""
        found = self.ask(method, arguments)
        left = {number: given for number, given in arguments.items() if number not in found}
        found |= self.ask(method, left) if left else {}
        if len(found) < len(arguments):
            names = ", ".join(self.names[number] for number in arguments if number not in found)
            raise StorageError(f"No answer from the shards {names}, which have documents of this answer. Ask again.")
        return [found[number] for number in sorted(found)]

    def one(self, number: int, method: str, *arguments: Any) -> Any:
        """Ask one shard."""
        return self.some(method, {number: arguments})[0]

    def any(self, method: str, *arguments: Any) -> Any:
        """Ask the shards in turn until one answers."""
        for number in range(len(self.names)):
            for answer in self.ask(method, {number: arguments}).values():
                return answer
        raise StorageError("No shard answers. Ask again in a moment.")

    @abstractmethod
    def close(self) -> None:
        """Let go of the shards."""


class InProcess(ShardRouter):
    """All shards opened in this process, asked by a few threads."""

    def __init__(self, common: Common, threads: int | None = None) -> None:
        super().__init__(common)
        self.shards: list[Shard] = []
        self._pool = ThreadPoolExecutor(min(len(self.names), threads or usable_cores()), "wordferry-shard")
        try:
            for number in range(len(self.names)):
                self.shards.append(Shard(common, number))
        except BaseException:
            self.close()
            raise

    def ask(self, method: str, arguments: Mapping[int, tuple[Any, ...]]) -> dict[int, Any]:
        """Ask some shards; here all answer."""
        waiting = {n: self._pool.submit(getattr(self.shards[n], method), *arguments[n]) for n in sorted(arguments)}
        return {number: one.result() for number, one in waiting.items()}

    def close(self) -> None:
        """Close all shards."""
        self._pool.shutdown()
        for shard in self.shards:
            shard.close()


def open_shards(address: str, encoder: Any = None, threads: int | None = None) -> ShardBackend:
    """All shards of a folder, or of a bucket, opened in this process and asked by at most ``threads`` threads."""
    common = Common(address)
    return ShardBackend(common, InProcess(common, threads), encoder)


class ShardBackend:
    """All shards of a folder as one index for reading."""

    closed = False
    generation = 0
    """Shards do not change."""

    def __init__(self, common: Common, router: ShardRouter, encoder: Any = None) -> None:
        self.common, self.router = common, router
        self.path = Path(common.place.address)
        self.identity = common.manifest.identity
        """A name for exactly these shards."""
        self.embeddings: Embeddings = common.embeddings
        facts = router.any("facts")
        self.config: Config = facts["config"]
        self.dimension: int = facts["dimension"]
        """Of the documents' vectors; 0 where they have none."""
        self.tokenizer: Tokenizer = tokenizer_from_config(self.config.tokenizer, self.embeddings.vocabulary)
        self._firsts = np.array([record.first for record in common.manifest.shards], dtype=np.int64)
        self._encoder: Encoder | None = None
        if encoder is not None:
            self._encoder = checked(find_encoder(encoder), self.config.encoder, self.dimension, str(self.path))

    @property
    def related(self) -> RelatedWords | None:
        """The related words of all documents' words; None where none has a vector."""
        return self.common.related

    def encoder(self) -> Encoder | None:
        """What makes vectors of texts; None where vectors were brought."""
        if self._encoder is None and self.config.encoder is not None:
            self._encoder = stored_encoder(self.config.encoder, str(self.path))
        return self._encoder

    def __len__(self) -> int:
        return self.common.manifest.documents

    # -- by words ---------------------------------------------------------------------------------------------------

    def search(self, asked: Sequence[Sequence[str]], ask: Ask, settings: Settings) -> list[Hits]:
        """The hits of every query by words, given as tokens."""
        tokens = [list(some) for some in asked]
        found, missing = self.router.every("best", tokens, replace(ask, progress=None), settings)
        counts = summed([counts for _, counts in found.values()])
        method = "words" if ask.vectors is None else "words and meaning"
        tell = progress_for(ask.progress, "searching") or no_progress
        hits = []
        for number, some in enumerate(tokens):
            ranking = self._ranked([answers[number] for answers, _ in found.values()], ask.k)
            documents = zip(self._documents_at(ranking.rows), ranking.scores.tolist(), strict=True)
            own = []
            for place, (one, score) in enumerate(documents):
                why = partial(self._why, ranking, place)
                told = why() if ask.explain else None
                own.append(self._hit(one, some, score=score, explanation=told, why=why))
            hits.append(Hits(own, method=method, counts=counts, missing=missing))
            tell(number + 1, len(tokens))
        return hits

    def _ranked(self, found: Sequence[Any], k: int) -> Ranking:
        """The ranking of one query by what each shard found; only bags of rows that may be lifted are fetched."""
        query, _, settings = how = found[0][1]
        groups = len(self.common.statistics.df)

        def near(rows: Int64Array, m: int) -> Surroundings:
            order, parts = self._asked(rows, "stems")
            bags, idf = Counts.join([own for own, _ in parts]).select(order), np.zeros(groups)
            for own, weights in parts:  # a shard knows the weights of its own stems
                idf[own.words] = weights
            found_near = nearest_among(*bags, idf[bags.words], groups, m)
            return Surroundings(*found_near, have_all(bags.indptr, bags.words, stems_of(query)))

        return ranked(_best_rows([one for one, _ in found], settings, k), near, k, how)

    def _hit(self, one: Document, tokens: Sequence[str], **found: Any) -> Hit:
        where = partial(best_passages, (self.tokenizer, self.embeddings, self.common.related), tokens, one.text)
        return Hit(one.id, one.text, one.metadata, one.label, where=where, **found)

    def _why(self, ranking: Ranking, place: int) -> Any:
        """What one score is made of, asked of the shard that has the document."""
        one = _single(ranking, place)
        names = [near.id for near in self._documents_at(one.neighbours[0, neighbours_of(one, 0)])]
        owner = int(np.searchsorted(self._firsts, ranking.rows[place], side="right")) - 1
        return self.router.one(owner, "explain_score", one, names)

    def _documents_at(self, rows: Int64Array) -> list[Document]:
        """Documents by their rows, in the order given."""
        order, parts = self._asked(rows, "documents_at")
        every = [one for part in parts for one in part]
        return [every[place] for place in order.tolist()]

    def _asked(self, rows: Int64Array, method: str) -> tuple[Int64Array, list[Any]]:
        """The answers of the shards that hold some rows, and where each row is in them one after the other."""
        owners = np.searchsorted(self._firsts, rows, side="right") - 1
        groups = np.unique(owners).tolist()
        parts = self.router.some(method, {number: (rows[owners == number],) for number in groups})
        order = np.argsort(np.argsort(owners, kind="stable"), kind="stable")
        return order, parts

    # -- by distance ------------------------------------------------------------------------------------------------

    def similar(self, asked: Sequence[LookedUp], measure: Measure, ask: Ask) -> list[Hits]:
        """The hits of every query by a distance; a shard that holds the document asked about leaves it out."""
        stages = [names_of(one) for one in (measure, ask.rerank) if one is not None]
        return self._near(asked, stages, ask, method=method_of(measure, ask), exact=ask.rerank is None)

    def by_meaning(self, asked: Sequence[Sequence[str]], ask: Ask) -> list[Hits]:
        """The documents whose vectors are nearest to each of ``ask.vectors``; the queries are given as tokens too."""
        return self._near(asked, [], ask, method="meaning")

    def _near(self, asked: Sequence[Sequence[str]], stages: list[Names], ask: Ask, **about: Any) -> list[Hits]:
        """The hits of every query by distances, one after the other, or without any by meaning."""
        tokens = [list(some) for some in asked]  # nothing that was looked up goes with them
        first = ask.k if ask.rerank is None else ask.candidates
        found, missing = self.router.every("near", tokens, stages, replace(ask, k=first, rerank=None, progress=None))
        about |= {"counts": summed([counts for _, counts in found.values()]), "missing": missing}
        tell = progress_for(ask.progress, "searching") or no_progress
        hits = []
        for number, some in enumerate(asked):
            near = _nearest([answers[number] for answers, _ in found.values()], first)[: ask.k]
            hits.append(Hits((self._near_hit(one, some, stages[-1:]) for one in near), **about))
            tell(number + 1, len(tokens))
        return hits

    def _near_hit(self, near: Hit, tokens: Any, last: Sequence[Names]) -> Hit:
        """A hit of a shard, explained by the distance and the weights that found it, if any did."""
        why = partial(self._explained, near, tokens, *last) if last and np.isfinite(near.distance or 0.0) else None
        told: Any = near.explanation
        told = None if told is None else told.with_texts(tokens.text, near.text, self.tokenizer)
        return self._hit(near, tokens, distance=near.distance, explanation=told, why=why)

    def _explained(self, document: Document, tokens: LookedUp, how: Names) -> Explanation:
        told: Explanation = self.router.any("explain_texts", (list(tokens), document.text), how)
        return told.with_texts(tokens.text, document.text, self.tokenizer)

    def vector(self, id: str) -> Any:
        """The vector of a document; None when there is no such document."""
        found, _ = self.router.every("vector", id)
        return next((one for one in found.values() if one is not None), None)

    def explain(self, texts: tuple[Sequence[str], Sequence[str]], measure: Measure) -> Explanation:
        """Why two texts, given as tokens, are as far apart as they are with the weights of the index."""
        told: Explanation = self.router.any("explain_texts", tuple(list(some) for some in texts), names_of(measure))
        return told

    # -- documents --------------------------------------------------------------------------------------------------

    def find(self, id: str) -> Document | None:
        """One document by its id; None when there is none."""
        found, missing = self.router.every("find", id)
        document = next((one for one in found.values() if one is not None), None)
        if document is None and missing:
            silent = ", ".join(missing)
            raise NotFound(f"{self.path} has no document {id!r}, but of the shards {silent} there is no answer.")
        return document

    def ids(self) -> list[str]:
        """The ids of all documents, in their order."""
        found, _ = self.router.every("ids")
        return [id for ids in found.values() for id in ids]

    def count(self, condition: Condition | None) -> int:
        """How many documents pass a filter."""
        found, _ = self.router.every("count", condition)
        return sum(found.values())

    def page(self, span: tuple[int, int], after: str | None, condition: Condition | None) -> list[Document]:
        """Documents in their order: how many at most and how many to pass over first, behind the one with an id."""
        limit, offset = span
        start = 0
        if after is not None:
            found, _ = self.router.every("find", after)
            start = next((number for number, one in found.items() if one is not None), -1)
            if start < 0:
                raise NotFound(f"{self.path} has no document {after!r} to go on after.")
        documents: list[Document] = []
        for number in range(start, len(self._firsts)):
            own = (limit - len(documents), offset)
            some, behind = self.router.one(number, "page_counted", own, after if number == start else None, condition)
            documents += some
            offset = max(0, offset - behind)
            if len(documents) >= limit:
                break
        return documents

    def documents(self, condition: Condition | None) -> Iterator[Document]:
        """All documents that pass a filter, in their order."""
        after = None
        while some := self.page((1000, 0), after, condition):
            yield from some
            after = some[-1].id

    def fields(self, most: int) -> list[Field]:
        """What documents can be filtered by: each field of their metadata with the ``most`` frequent values."""
        every: dict[str, list[Field]] = {}
        found, _ = self.router.every("fields", _MOST_VALUES)
        for fields in found.values():
            for field in fields:
                every.setdefault(field.name, []).append(field)
        joined = [_joined_field(name, some, most) for name, some in every.items()]
        return sorted(joined, key=lambda one: (-one.documents, one.name))

    def verify(self) -> Any:
        """Compare every file with its checksum; FormatError names the shard that is damaged."""
        every = self._of_each("verify")
        return replace(every[0], **_added(every, ("documents", "segments", "pairs", "bytes")))

    def stats(self) -> Any:
        """Sizes and counts, added up over the shards; all of them have the words of the whole collection."""
        every = self._of_each("stats")
        names = [name for name in vars(every[0]) if name == "bytes" or name.startswith("bytes_")]
        total = _added(every, ("documents", "pairs", "tokens", "segments", "buffered", "deleted", *names))
        total["bytes_per_pair"] = total["bytes"] / total["pairs"] if total["pairs"] else 0.0
        known = sum(one.coverage * one.tokens for one in every)
        total["coverage"] = known / total["tokens"] if total["tokens"] else 1.0
        return replace(every[0], **total)

    def _of_each(self, method: str) -> list[Any]:
        return [self.router.one(number, method) for number in range(len(self._firsts))]

    # -- what shards do not do --------------------------------------------------------------------------------------

    def _refuse(self, *arguments: Any, **options: Any) -> NoReturn:
        raise Unsupported(f"{self.path} is an index in shards, which can be searched and not changed. Build it again.")

    writing = store = compact = revector = _refuse

    def close(self) -> None:
        """Close all shards."""
        self.closed = True
        self.router.close()


def names_of(measure: Measure) -> Names:
    """A measure as every shard can be told of it."""
    return measure.distance.name, measure.weights, measure.unknown


def _best_rows(found: Sequence[Candidates], settings: Settings, k: int) -> Candidates:
    """The rows of all shards that the best k may come from: the best by words and those by meaning."""
    rows, words = (np.concatenate([getattr(one, name) for one in found]) for name in ("rows", "words"))
    cosines = [one.cosines for one in found if one.cosines is not None]
    if not cosines:
        return Candidates(rows, words).kept(settings.wanted(k))
    total = CosineSums(*(sum(some) for some in zip(*(one.sums for one in found if one.sums is not None), strict=True)))
    return Candidates(rows, words, np.concatenate(cosines), total).kept(settings.wanted(k, by_meaning=True))


def _nearest(found: Sequence[Sequence[Near]], candidates: int) -> list[Hit]:
    """The hits of all shards in their order, of as many candidates as there are by the distance that finds those.

    Shards hold the documents in their order, so a tie goes to the earlier shard, and in it to the earlier place.
    """
    every = [(shard, one) for shard, some in enumerate(found) for one in some]
    best = sorted(every, key=lambda own: own[1].first)[:candidates]  # sorting leaves ties as they are
    return [one.hit for _, one in sorted(best, key=lambda own: (own[1].hit.distance, own[0], own[1].place))]


def _added(every: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Some numbers of all shards, each added up."""
    return {name: sum(getattr(one, name) for one in every) for name in names}


def _single(ranking: Ranking, place: int) -> Ranking:
    """A ranking of one row only."""
    arrays = ("rows", "scores", "own", "lifted", "neighbours", "shares", "neighbour_scores")
    one = slice(place, place + 1)
    meaning = None if ranking.meaning is None else ranking.meaning.select(one)
    return replace(ranking, **{name: getattr(ranking, name)[one] for name in arrays}, meaning=meaning)


def _joined_field(name: str, fields: Sequence[Field], most: int) -> Field:
    counts: Counter[tuple[str, Any]] = Counter()
    for field in fields:
        for value, count in field.values:
            counts[type(value).__name__, value] += count
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0][0], str(item[0][1])))
    least = min((field.least for field in fields if field.least is not None), default=None)
    largest = max((field.most for field in fields if field.most is not None), default=None)
    whole = all(field.values for field in fields)
    values = tuple((value, count) for (_, value), count in ordered[:most]) if whole else ()
    return Field(name, sum(field.documents for field in fields), values, least, largest)
