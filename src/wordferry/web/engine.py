"""What the service asks of an index: plain values in, JSON-ready values out. Runs in threads, knows no HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson

from wordferry.base.cancel import check_cancelled
from wordferry.base.runtime import usable_cores
from wordferry.errors import InputError, NotFound, ReplacedError
from wordferry.texts.reasons import no_word
from wordferry.web.comparing import Comparing, Weighed, finite, plain, said_of
from wordferry.web.models import EXPLAINED, PAIRED
from wordferry.web.settings import Limits
from wordferry.web.texts import Prepared, Reader
from wordferry.web.work import Work, conditions, most_words, of_search
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

_MOST_UNKNOWN = 10
_MOST_VALUES = 50


@dataclass(frozen=True)
class Query:
    """A text, and which of its hits are wanted."""

    text: str | Prepared
    k: int
    offset: int = 0
    without: str | None = None
    """A document that is not a hit: the one that others are to be like."""
    explain: bool = False

    @property
    def needed(self) -> int:
        """How many hits show these, and whether there are more."""
        return self.offset + self.k + 1 + (self.without is not None)


Answer = dict[str, Any] | Exception
"""The result of one query, or why it has none."""
Lane = tuple[str | None, bytes | None, Weighed | None]
"""Searches that can share one call: the distance's name (None: by words), the filter as JSON, and of documents like a
text what words weigh; None where they are counted (a search by a distance)."""


class Engine:
    """An opened index behind the service."""

    def __init__(self, index: Any, limits: Limits) -> None:
        self._index, self._limits = index, limits
        self.reader = Reader(index)
        self.comparing = Comparing(index, self.reader, self._related_words)
        self._vectors: tuple[RelatedWords, Embeddings] | None = None
        """The vectors of the graph's words, kept for words outside it."""

    def reopened(self) -> Engine:
        """An engine over the index that lies at this one's place now."""
        return Engine(type(self._index).open(self._index.path), self._limits)

    def close(self) -> None:
        """Close the index; one that was replaced has nothing more to store."""
        with suppress(ReplacedError):
            self._index.close()

    def name(self, distance: str | None) -> str:
        """The distance to use: the one asked for, else the index's own."""
        return distance or str(self._index.config.distance)

    def lane(self, distance: str | None, filter: dict[str, Any] | None, similar: Weighed | None = None) -> Lane:
        """Which searches this one can be joined with."""
        return distance, orjson.dumps(filter, option=orjson.OPT_SORT_KEYS) if filter else None, similar

    def most_work(self, queries: Sequence[Query], lane: Lane, documents: int, vocabulary: int) -> Work:
        """The most that a search can be, judged by the length of its texts; exact for texts in words."""
        name, packed, similar = lane
        words = [
            most_words(q.text) if isinstance(q.text, str) else q.text.different + bool(similar) * len(q.text.unknown)
            for q in queries
        ]
        return of_search(name, words, documents, vocabulary, conditions(orjson.loads(packed) if packed else None))

    def prepare(self, queries: Sequence[Query]) -> list[Query]:
        """The same queries in words."""
        texts = self.reader.prepare_all([query.text for query in queries if isinstance(query.text, str)])
        ready = iter(texts)
        return [replace(query, text=next(ready)) if isinstance(query.text, str) else query for query in queries]

    def like(self, id: str, k: int, offset: int, similar: Weighed) -> Query:
        """The query for documents like a stored one."""
        with said_of(id):
            prepared = self.reader.prepare(self._index.get(id).text)
        if not self._compared(prepared, similar):
            raise prepared.no_known_word(f"The document {id!r}")
        return Query(prepared, k, offset, id)

    def search(self, lane: Lane, queries: Sequence[Query], threads: int | None = None) -> list[Answer]:
        """Answer queries of one lane by one call; a text without words gets its error, the others their hits."""
        name, packed, similar = lane
        filter = orjson.loads(packed) if packed else None
        most = max(query.needed for query in queries)
        if name is None:
            return self._by_words(queries, most, filter)
        prepared = [q.text if isinstance(q.text, Prepared) else self.reader.prepare(q.text) for q in queries]
        asked = [words for words in (self._compared(text, similar) for text in prepared) if words]
        find = partial(self._index.similar, **similar.given) if similar else self._index.search
        found = iter(find(asked, most, distance=name, filter=filter, threads=threads) if asked else ())
        answers: list[Answer] = []
        for query, text in zip(queries, prepared, strict=True):
            if not self._compared(text, similar):
                answers.append(text.no_known_word("The query"))
                continue
            facts = {"known_words": len(text.words), "unknown_words": text.unknown[:_MOST_UNKNOWN]}
            answers.append(self._answer(query, next(found), facts))
        return answers

    def _compared(self, text: Prepared, similar: Weighed | None) -> list[str]:
        """The words of a text that are compared: those with a vector, or all where the others are kept."""
        return text.tokens if similar and self.comparing.keeps(similar) else text.words

    def _by_words(self, queries: Sequence[Query], most: int, filter: dict[str, Any] | None) -> list[Answer]:
        texts = [query.text for query in queries]
        tokens = [text.tokens if isinstance(text, Prepared) else self.reader.tokens(text) for text in texts]
        found = iter(self._index.search([some for some in tokens if some], most, filter=filter) if any(tokens) else ())
        return [
            self._answer(query, next(found), {})
            if some
            else no_word(query.text.text if isinstance(query.text, Prepared) else query.text, "The query")
            for query, some in zip(queries, tokens, strict=True)
        ]

    def _answer(self, query: Query, found: Sequence[Any], facts: dict[str, Any]) -> Answer:
        """The hits that a query wants, of those found."""
        hits = [hit for hit in found[: query.needed] if hit.id != query.without]
        shown = hits[query.offset : query.offset + query.k]
        size = sum(len(hit.text) for hit in shown)
        if size > self._limits.answer_length:
            return InputError(
                f"k: the {len(shown)} documents found have {size} characters; an answer may have "
                f"{self._limits.answer_length} at most. Ask for fewer hits, and for the next ones with offset."
            )
        return {
            "hits": [_document(hit) | _value(hit, query.explain) for hit in shown],
            "more": len(hits) > query.offset + query.k,
            **facts,
            **({"missing": list(missing)} if (missing := getattr(found, "missing", ())) else {}),
        }

    def search_in_turn(self, lane: Lane, queries: Sequence[Query]) -> list[Answer]:
        """Answer heavy queries one after the other, so that they hold the memory of one; a core is left to others."""
        answers: list[Answer] = []
        for query in queries:
            check_cancelled()
            answers += self.search(lane, [query], max(1, usable_cores() - 1))
        return answers

    def related(self, word: str) -> dict[str, Any]:
        """The words of the collection that are related to a word."""
        graph = self._related_words()
        if graph is None:
            raise NotFound("The index is empty, so it has no related words.")
        found = word if word in self._index.embeddings else word.lower()
        pairs = graph.neighbours(found) if found in graph.vocabulary else self._outside(found, graph)
        neighbours = [{"word": other, "distance": distance} for other, distance in pairs]
        return {"word": found, "r": graph.r, "c_max": finite(graph.c_max), "neighbours": neighbours}

    def _outside(self, word: str, graph: RelatedWords) -> list[tuple[str, float]]:
        """The related words of a word that has a vector but is in no document; NotFound without a vector."""
        vector = self._index.embeddings.vector(word)
        if self._vectors is None or self._vectors[0] is not graph:
            self._vectors = graph, self._index.embeddings.restrict(graph.vocabulary)
        row = graph.rows_for(vector[None, :], self._vectors[1])
        order = sorted(zip(row.data.tolist(), row.indices.tolist(), strict=True))
        return [(graph.vocabulary[place], distance) for distance, place in order]

    def state(self) -> tuple[Any, tuple[Any, ...], int]:
        """The index, what tells its present state from others, and how many documents that has."""
        with self._index.view() as (_, snapshot):
            return self._index, (self._index.identity, snapshot.generation), int(snapshot.documents)

    def fields(self) -> dict[str, Any]:
        """What documents can be filtered by."""
        return {
            "fields": [
                {
                    "name": field.name,
                    "documents": field.documents,
                    "values": [{"value": value, "documents": count} for value, count in field.values],
                    "least": field.least,
                    "most": field.most,
                }
                for field in self._index.fields(_MOST_VALUES)
            ]
        }

    def page(self, limit: int, after: str | None) -> dict[str, Any]:
        """Some documents in the order in which they were added, from the one after ``after`` on."""
        with said_of(after):
            found = self._index.page(limit + 1, after)
        more = found[limit - 1].id if len(found) > limit else None
        return {"documents": [_document(one) for one in found[:limit]], "next": more}

    def get(self, id: str) -> dict[str, Any]:
        """One document."""
        with said_of(id):
            return _document(self._index.get(id))

    def add(self, documents: list[dict[str, Any]], replace: bool) -> list[str]:
        """Store documents, all or none."""
        store = self._index.upsert if replace else self._index.add
        try:
            ids: list[str] = store(documents)
        except InputError as error:
            raise self._refusal(documents, replace) or error from None
        return ids

    def _refusal(self, documents: list[dict[str, Any]], replace: bool) -> InputError | None:
        """Why documents were refused, in the words of the request; None where the index says it best."""
        seen: set[str] = set()
        for number, document in enumerate(documents):
            place, id = f"documents.{number}", document.get("id")
            if not self.reader.tokens(document["text"]) and self._index.config.on_empty == "error":
                reason = no_word(document["text"], f"{place}.text: The text")
                return InputError(f"{reason} Nothing was added.")
            if id is not None and (id in seen or (not replace and id in self._index)):
                what = "comes twice in this request" if id in seen else "is stored already"
                remedy = "" if id in seen else ' Send "replace": true to replace what is stored.'
                return InputError(f"{place}.id: {id!r} {what}. Nothing was added.{remedy}")
            seen.add(id or "")
        return None

    def delete(self, id: str) -> None:
        """Delete one document."""
        with said_of(id):
            self._index.delete([id])

    def stats(self) -> dict[str, Any]:
        """What is stored."""
        graph = self._related_words()
        return self._names() | {
            "documents": len(self._index),
            "words": 0 if graph is None else len(graph.vocabulary),
            "c_max": None if graph is None else finite(graph.c_max),
        }

    def unknown_facts(self) -> dict[str, Any]:
        """The same before anything was counted."""
        return self._names() | {"documents": None, "words": None, "c_max": None}

    def _names(self) -> dict[str, Any]:
        return {
            "distance": self.name(None),
            "distances": list(PAIRED),
            "explained": list(EXPLAINED),
            "r": self._index.config.r,
        }

    def _related_words(self) -> RelatedWords | None:
        with self._index.view() as (_, snapshot):
            related: RelatedWords | None = self._index.engine.graph(snapshot)
        return related


def _value(hit: Any, explain: bool) -> dict[str, Any]:
    """How good or how near a hit is, and what a score is made of."""
    if hit.score is None:
        return {"distance": finite(float(hit.distance))}
    return {"score": hit.score} | ({"explanation": hit.explain().to_json()} if explain else {})


def _document(document: Any) -> dict[str, Any]:
    return {
        "id": document.id,
        "text": plain(document.text),
        "label": document.label,
        "metadata": dict(document.metadata),
    }
