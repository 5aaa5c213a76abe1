"""What the service asks of an index: plain values in, JSON or its values out. Runs in threads, knows no HTTP."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import orjson

from wordferry.base.runtime import check_cancelled, usable_cores
from wordferry.compare.distances import find_distance
from wordferry.compare.measure import Measure
from wordferry.errors import InputError, NotFound, ReplacedError
from wordferry.index import Hits, Index
from wordferry.index.config import RECOMMENDED
from wordferry.index.duplicates import written
from wordferry.texts.reasons import WORD, no_known_word, no_word
from wordferry.texts.sentences import passages
from wordferry.texts.stop_marks import all_words
from wordferry.texts.tokenizers import words_of
from wordferry.web.guard import too_large
from wordferry.web.models import EXPLAINED, PAIRED
from wordferry.web.settings import Limits
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

Text = str | Sequence[str]
"""A text, or the tokens that a document was given as."""
_WORD, _TOKEN = re.compile(f"({WORD.pattern})"), re.compile(r"([^ ]+)")
_SIDES = {"a": "The first text", "b": "The second text"}
_MOST_UNKNOWN = 10
_MOST_VALUES = 50
_PAGE = 128
"""Documents that are read at once for a page of them."""


@dataclass(frozen=True)
class SearchQuery:
    """A text, and which of its hits are wanted."""

    text: Text
    k: int
    offset: int = 0
    without: str | None = None
    """A document that is not a hit: the one that others are to be like."""
    explain: bool = False
    vector: Sequence[float] | None = None
    """Its vector, where the caller brings one or it is that of a stored document."""
    words: int | None = None
    """How many different words it has, once they were counted."""
    how: Mapping[str, Any] = field(default_factory=dict)
    """Options of :meth:`Index.similar`; none of them: by words."""
    filter: Mapping[str, Any] | None = None

    @property
    def lane(self) -> Hashable:
        """What the queries of one call have in common."""
        return tuple(self.how.items()), dumped(self.filter), 0 if self.vector is None else len(self.vector)

    @property
    def needed(self) -> int:
        """How many hits show these, and whether there are more."""
        return self.offset + self.k + 1 + (self.without is not None)

    @property
    def most_words(self) -> int:
        """The different words it has, or the most that a text of its length can have: a letter and a blank each."""
        most = len(self.text) // 2 + 1 if isinstance(self.text, str) else len(self.text)
        return most if self.words is None else self.words


@dataclass(frozen=True)
class Compared:
    """A text or stored document that is to be compared."""

    id: str | None
    text: Text
    tokens: list[str]
    spans: tuple[tuple[int, int], ...] = ()
    """The passages that are compared, as places in the text; none means all of it."""


@dataclass(frozen=True)
class ComparedPair:
    """Two texts or stored documents that are to be explained, and how."""

    a: Compared
    b: Compared
    distance: str
    how: dict[str, Any]
    """The weights, and what becomes of words without a vector, where the request says it."""
    passages: int | None
    alone: bool
    """Whether neither is a document: then there are no frequencies to weigh by."""


class ServedIndex:
    """An opened index behind the service."""

    def __init__(self, index: Index, limits: Limits) -> None:
        self.index, self._limits = index, limits
        # Who asks over HTTP has texts only: without an encoder they are searched by words.
        without = index.backend.dimension and index.backend.encoder() is None
        self._constants: dict[str, Any] = {"meaning": 0} if without else {}
        self._vectors: tuple[RelatedWords, Embeddings] | None = None
        """The vectors of the graph's words, kept for words outside it."""

    def reopened(self) -> ServedIndex:
        """An engine over the index that lies at this one's place now."""
        return ServedIndex(Index.open(self.index.path, encoder=self.index.given_encoder), self._limits)

    def close(self) -> None:
        """Close the index; one that was replaced has nothing more to store."""
        with suppress(ReplacedError):
            self.index.close()

    def tokens(self, text: Text) -> list[str]:
        """A text's words, with a vector or without."""
        check_cancelled()
        return words_of(text, self.index.tokenizer)

    def check_vectors(self, field: str, vectors: Sequence[Sequence[float]] | None) -> None:
        """Refuse vectors that documents cannot be compared with, or none where nothing makes them of a text."""
        dimension = self.index.backend.dimension
        if not dimension:
            raise InputError(f"{field}: The documents of this index have no vectors: it was made without an encoder.")
        if vectors is None and self._constants:
            raise InputError(f"{field}: This service has no encoder. Send the text's vector, of {dimension} numbers.")
        wrong = [len(vector) for vector in vectors or () if len(vector) != dimension]
        if wrong:
            raise InputError(f"{field}: The documents' vectors have {dimension} dimensions, this one has {wrong[0]}.")

    def vector(self, id: str) -> Any:
        """The vector of a stored document."""
        found = self.index.backend.vector(id)
        if found is None:
            raise NotFound(f"There is no document {id!r}.")
        return found

    def text(self, id: str) -> Text:
        """The text of a document, or its tokens."""
        with said_of(id):
            return self.index.get(id).text

    # -- finding ------------------------------------------------------------------------------------------------------

    def counted(self, queries: Sequence[SearchQuery]) -> list[int]:
        """How many different words each query has."""
        return [len(set(self.tokens(query.text))) for query in queries]

    def search(self, queries: Sequence[SearchQuery], threads: int | None = None) -> list[bytes | Exception]:
        """The results of queries of one lane as JSON, by one call; a text that has none gets its error."""
        texts, first = [query.text for query in queries], queries[0]
        most = max(query.needed for query in queries)
        brought: dict[str, Any] = {} if first.vector is None else {"vector": [query.vector for query in queries]}
        try:
            if first.how:
                found = self.index.similar(texts, most, filter=first.filter, threads=threads, **brought, **first.how)
            else:
                found = self.index.search(texts, most, filter=first.filter, **(brought or self._constants))
        except InputError as error:
            if len(queries) == 1:
                return [error]
            return [result for one in queries for result in self.search([one], threads)]
        return [self._result(query, hits) for query, hits in zip(queries, found, strict=True)]

    def search_in_turn(self, queries: Sequence[SearchQuery]) -> list[bytes | Exception]:
        """Answer heavy queries one after the other, so that they hold the memory of one; a core is left to others."""
        results: list[bytes | Exception] = []
        for query in queries:
            check_cancelled()
            results += self.search([query], max(1, usable_cores() - 1))
            if sum(len(one) for one in results if isinstance(one, bytes)) > self._limits.answer_bytes:
                raise too_large(self._limits)
        return results

    def _result(self, query: SearchQuery, found: Hits) -> bytes | Exception:
        """The hits that a query wants, of those found by words, by a distance or by meaning."""
        facts: dict[str, Any] = {}
        if not query.how and not found and not all_words(query.text, self.index.tokenizer):
            return no_word(query.text, "The query")
        if found.error is not None:
            return found.error
        if "distance" in query.how:
            tokens = self.tokens(query.text)
            unknown = [word for word in tokens if word not in self.index.backend.embeddings]
            facts["known_words"] = len(tokens) - len(unknown)
            facts["unknown_words"] = list(dict.fromkeys(unknown))[:_MOST_UNKNOWN]
        hits = [hit for hit in found[: query.needed] if hit.id != query.without]
        shown = hits[query.offset : query.offset + query.k]
        if sum(len(hit.text) for hit in shown) > self._limits.answer_bytes:
            return too_large(self._limits)
        if found.missing:
            facts["missing"] = list(found.missing)
        told = [_hit(hit, query.explain) for hit in shown]
        return dumped({"hits": told, "more": len(hits) > query.offset + query.k, **facts})

    # -- comparing two texts ------------------------------------------------------------------------------------------

    def chosen_distances(self, wanted: Sequence[str] | None) -> list[str]:
        """The distances by which two texts are compared: those asked for, else the index's own where it has one."""
        own = self.index.config.distance
        return list(dict.fromkeys(wanted or [own if own in PAIRED else RECOMMENDED]))

    def words_of_pair(self, a: str, b: str) -> list[list[str]]:
        """The words of two texts."""
        return [self._compared(name, {"text": text}, every=True).tokens for name, text in (("a", a), ("b", b))]

    def distances(
        self, words: Sequence[list[str]], names: Sequence[str], related: RelatedWords | None
    ) -> dict[str, Any]:
        """The distance of two texts by each name, as Python and the command line give it."""
        values, (a, b) = {}, words
        for name in names:
            check_cancelled()
            values[name] = self._measure(name, related).pair(a, b)
        return {"values": values}

    def pair(self, request: Any, how: dict[str, str]) -> ComparedPair:
        """The two texts or stored documents of a request, with their words; NotFound where there is none."""
        own = request.distance or self.index.config.distance
        given = {"a": request.a.model_dump(), "b": request.b.model_dump()}
        alone = all("text" in one for one in given.values())
        if alone and how:
            raise InputError("weights: Two texts have no frequencies of words; weigh a text and a stored document.")
        every = alone or how.get("unknown", self.index.config.unknown) != "drop"
        a, b = (self._compared(name, one, every) for name, one in given.items())
        return ComparedPair(a, b, own if own in EXPLAINED else RECOMMENDED, how, request.passages, alone)

    def _compared(self, name: str, given: dict[str, str], every: bool) -> Compared:
        text: Text = given["text"] if "text" in given else self.text(given["id"])
        tokens = self.tokens(text)
        what = f"{name}: {_SIDES[name]}" if "text" in given else f"{name}: The document {given['id']!r}"
        if not tokens:
            raise no_word(text, what)
        if not every and not any(word in self.index.embeddings for word in tokens):
            raise no_known_word(tokens, what)
        return Compared(given.get("id"), text, tokens)

    def explain(self, pair: ComparedPair, related: RelatedWords | None) -> dict[str, Any]:
        """The flows between two texts or stored documents, or their passages.

        A stored document is explained as :meth:`Index.similar` compares it. Two texts alone are compared through
        ``related``, the related words of the whole vocabulary.
        """
        a, b = pair.a, pair.b if pair.passages is None else self._best(pair, pair.passages)
        if pair.alone:
            result = self._measure(pair.distance, related).explain(a.tokens, b.tokens)
        else:
            result = self.index.explain(tuple(a.tokens), tuple(b.tokens), distance=pair.distance, **pair.how)
        return {
            "distance": pair.distance,
            "value": float(result.distance),
            "direction": result.side,
            "c_max": result.c_max,
            "a": {"id": a.id, "masses": result.a, "segments": self._segments(a, result.a)},
            "b": {"id": b.id, "masses": result.b, "segments": self._segments(b, result.b)},
            "passages": [list(span) for span in b.spans] or None,
            "flows": [_flow(row, turned=result.side == "right") for row in result.rows],
        }

    def _measure(self, name: str, related: RelatedWords | None) -> Measure:
        """How two texts alone are compared: words without a vector count."""
        record, own = find_distance(name), self.index.config.overlap
        graph = related if record.needs_related else None
        overlap = own if own in record.overlaps else None
        return Measure(record, overlap, embeddings=self.index.embeddings, related=graph)

    def _best(self, pair: ComparedPair, count: int) -> Compared:
        """The passages of the second text whose words are nearest to those of the first, in the order of the text."""
        b = pair.b
        if not isinstance(b.text, str):
            return b
        found = list(passages(b.text, self.tokens))
        if len(found) <= count:
            return b
        nearest = Measure("rwmd", side="left", embeddings=self.index.embeddings, on_empty="keep")
        near = nearest.pairwise([pair.a.tokens], [words for _, words in found])[0]
        best = [found[place] for place in sorted(np.argsort(near, kind="stable")[:count].tolist())]
        joined = [word for _, words in best for word in words]
        return replace(b, tokens=joined, spans=tuple(span for span, _ in best)) if joined else b

    def _segments(self, side: Compared, masses: dict[str, float]) -> list[dict[str, Any]]:
        """A text in pieces, each with the known words in it; outside its passages it has none."""
        text = isinstance(side.text, str)
        split = self.index.tokenizer if text else lambda piece: [piece]
        segments, start = [], 0
        for number, piece in enumerate((_WORD if text else _TOKEN).split(written(side.text))):  # a word
            check_cancelled()
            inside = not side.spans or any(low <= start < high for low, high in side.spans)
            words = split(piece) if inside and number % 2 else []
            if piece:
                kept = [word for word in words if word in masses]
                segments.append({"text": piece, "words": kept, "compared": inside})
            start += len(piece)
        return segments

    # -- words and documents ------------------------------------------------------------------------------------------

    def related(self, word: str) -> dict[str, Any]:
        """The words of the collection that are related to a word."""
        graph = self.index.related
        if graph is None:
            raise NotFound("The index is empty, so it has no related words.")
        found = word if word in self.index.embeddings else word.lower()
        pairs = graph.neighbors(found) if found in graph.vocabulary else self._outside(found, graph)
        neighbours = [{"word": other, "distance": distance} for other, distance in pairs]
        return {"word": found, "r": graph.r, "c_max": graph.c_max, "neighbours": neighbours}

    def _outside(self, word: str, graph: RelatedWords) -> list[tuple[str, float]]:
        """The related words of a word that has a vector but is in no document; NotFound without a vector."""
        vector = self.index.embeddings.vector(word)
        if self._vectors is None or self._vectors[0] is not graph:
            self._vectors = graph, self.index.embeddings.restrict(graph.vocabulary)
        row = graph.rows_for(vector[None, :], self._vectors[1])
        order = sorted(zip(row.data.tolist(), row.indices.tolist(), strict=True))
        return [(graph.vocabulary[place], distance) for distance, place in order]

    def fields(self) -> dict[str, Any]:
        """What documents can be filtered by."""
        found = []
        for one in self.index.fields(_MOST_VALUES):
            values = [{"value": value, "documents": count} for value, count in one.values]
            found.append(one._asdict() | {"values": values})
        return {"fields": found}

    def page(self, limit: int, after: str | None) -> dict[str, Any]:
        """Some documents in the order in which they were added, from the one after ``after`` on.

        There are fewer than ``limit`` where those would make the answer too large; one there is always.
        """
        shown: list[dict[str, Any]] = []
        room = self._limits.answer_bytes // 2
        with said_of(after):
            while some := self.index.page(min(limit + 1, _PAGE), after):
                for one in some:
                    room -= len(one.text) + len(str(one.metadata))
                    if len(shown) == limit or (shown and room < 0):
                        return {"documents": shown, "next": after}
                    shown.append(document(one))
                    after = one.id
        return {"documents": shown, "next": None}

    def get(self, id: str) -> dict[str, Any]:
        """One document."""
        with said_of(id):
            return document(self.index.get(id))

    def add(self, documents: list[dict[str, Any]], replaces: bool) -> dict[str, Any]:
        """Store documents, all or none."""
        if self._constants:
            raise InputError(
                "documents: Those of this index have vectors, and this service has no encoder to make more. Nothing "
                "was added. Start it with --encoder, or add documents where their vectors are."
            )
        store = self.index.upsert if replaces else self.index.add
        try:
            return {"ids": store(documents)}
        except InputError as error:
            raise self._refusal(documents, replaces) or error from None

    def _refusal(self, documents: list[dict[str, Any]], replaces: bool) -> InputError | None:
        """Why documents were refused, in the words of the request; None where the index says it best."""
        seen: set[str] = set()
        for number, one in enumerate(documents):
            place, id = f"documents.{number}", one.get("id")
            if not all_words(one["text"], self.index.tokenizer) and self.index.config.on_empty == "error":
                reason = no_word(one["text"], f"{place}.text: The text")
                return InputError(f"{reason} Nothing was added.")
            if id is not None and (id in seen or (not replaces and id in self.index)):
                what = "comes twice in this request" if id in seen else "is stored already"
                remedy = "" if id in seen else ' Send "replace": true to replace what is stored.'
                return InputError(f"{place}.id: {id!r} {what}. Nothing was added.{remedy}")
            seen.add(id or "")
        return None

    def delete(self, id: str) -> dict[str, Any]:
        """Delete one document."""
        with said_of(id):
            self.index.delete([id])
        return {"deleted": id}

    def stats(self) -> Any:
        """What is stored."""
        graph = self.index.related
        words, c_max = (0, None) if graph is None else (len(graph.vocabulary), graph.c_max)
        return self.facts(len(self.index), words, c_max)

    def facts(self, documents: int | None = None, words: int | None = None, c_max: float | None = None) -> Any:
        """What is said of the index; by default, before anything was counted."""
        names = {"distance": self.index.config.distance, "distances": list(PAIRED), "explained": list(EXPLAINED)}
        return {**names, "r": self.index.config.r, "documents": documents, "words": words, "c_max": c_max}

    def state(self) -> tuple[Any, tuple[Any, ...], int]:
        """The index, what tells its state from others, and its documents."""
        return self.index, (self.index.identity, self.index.generation), len(self.index)


def _hit(hit: Any, explain: bool) -> dict[str, Any]:
    """A hit: the document, how good or how near it is, and what a score is made of."""
    if hit.score is None:
        return document(hit) | {"distance": hit.distance}
    told = document(hit) | {"score": hit.score}
    if explain:
        check_cancelled()
        told["explanation"] = hit.explain().to_json()
    return told


def _flow(row: Any, *, turned: bool) -> dict[str, Any]:
    """A row of an explanation; what moves from the second text to the first is shown from the first's side too."""
    source, target = (row.target, row.source) if turned else (row.source, row.target)
    numbers = {"mass": float(row.mass), "distance": float(row.distance), "cost": float(row.cost)}
    return {"source": source, "target": target, **numbers, "kind": row.kind}


def document(one: Any) -> dict[str, Any]:
    """A document as answers show it."""
    return {"id": one.id, "text": written(one.text), "label": one.label, "metadata": dict(one.metadata)}


@contextmanager
def said_of(id: str | None) -> Iterator[None]:
    """Say that a document is missing without telling where the index lies on this machine."""
    try:
        yield
    except NotFound:
        raise NotFound(f"There is no document {id!r}.") from None


def dumped(value: Any) -> bytes:
    """A value as JSON, in which an infinite number is null."""
    return bytes(orjson.dumps(value))
