"""What the service asks of an index: plain values in, JSON-ready values out. Runs in threads, knows no HTTP."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from wordferry.base.cancel import check_cancelled
from wordferry.base.runtime import usable_cores
from wordferry.compare.calls import explain, pair
from wordferry.compare.distances import DISTANCES
from wordferry.errors import EmptyDocumentError, NotFound
from wordferry.texts.tokenizers import Tokenizer
from wordferry.web.models import EXPLAINED, PAIRED
from wordferry.web.work import Work, conditions, most_words, of_search
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords


@dataclass(frozen=True)
class Prepared:
    """A text in words."""

    words: list[str]
    """Those that have a vector, in order."""
    unknown: list[str]
    """Those that have none, each once."""
    tokens: int
    different: int


@dataclass(frozen=True)
class Side:
    """A text or stored document that is to be explained."""

    id: str | None
    text: str | Sequence[str]
    tokens: list[str]
    different: int


Query = tuple[str | Prepared, int]
"""A text and its k."""
Answer = dict[str, Any] | Exception
"""The result of one query, or why it has none."""
Lane = tuple[str, bytes | None]
"""Searches that can share one call: the distance's name, and the filter as JSON."""

_MOST_UNKNOWN = 10
_TOKEN = re.compile(r"[^ ]+")
_PIECE = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")


class Engine:
    """An opened index behind the service."""

    def __init__(self, index: Any) -> None:
        self._index = index
        self._options = {"embeddings": index.embeddings, "tokenizer": index.tokenizer}
        self._vectors: tuple[RelatedWords, Embeddings] | None = None
        """The vectors of the graph's words, kept for words outside it."""

    def name(self, distance: str | None) -> str:
        """The distance to use: the one asked for, else the index's own."""
        return distance or str(self._index.config.distance)

    def lane(self, distance: str | None, filter: dict[str, Any] | None) -> Lane:
        """Which searches this one can be joined with."""
        return self.name(distance), orjson.dumps(filter, option=orjson.OPT_SORT_KEYS) if filter else None

    def prepare(self, text: str) -> Prepared:
        """A text's words; each different one is looked up once."""
        tokens = self._index.tokenizer(text)
        find = self._index.embeddings.vocabulary.finder
        known = {token: find(token, -1) >= 0 for token in dict.fromkeys(tokens)}
        unknown = [token for token, found in known.items() if not found]
        return Prepared([token for token in tokens if known[token]], unknown, len(tokens), len(known) - len(unknown))

    def prepare_all(self, texts: Sequence[str]) -> list[Prepared]:
        """The words of several texts, which may be long."""
        prepared = []
        for text in texts:
            check_cancelled()
            prepared.append(self.prepare(text))
        return prepared

    def most_work(
        self, texts: Sequence[str], distance: str | None, filter: dict[str, Any] | None, documents: int
    ) -> Work:
        """The most that a search can be, judged by the length of its texts."""
        return of_search(self.name(distance), [*map(most_words, texts)], documents, conditions(filter))

    def work(
        self, texts: Sequence[Prepared], distance: str | None, filter: dict[str, Any] | None, documents: int
    ) -> Work:
        """What a search is."""
        return of_search(self.name(distance), [text.different for text in texts], documents, conditions(filter))

    def search(self, lane: Lane, queries: Sequence[Query], threads: int | None = None) -> list[Answer]:
        """Answer queries of one lane by one call; a text without known words gets its error, the others their hits."""
        name, packed = lane
        prepared = [self.prepare(text) if isinstance(text, str) else text for text, _ in queries]
        asked = [text.words for text in prepared if text.words]
        most = max(k for _, k in queries)
        filter = orjson.loads(packed) if packed else None
        found = iter(self._index.search(asked, k=most, distance=name, filter=filter, threads=threads) if asked else ())
        answers: list[Answer] = []
        for (_, k), text in zip(queries, prepared, strict=True):
            if not text.words:
                answers.append(_no_known_word(text.tokens))
                continue
            answers.append(
                {
                    "hits": [_document(hit) | {"distance": float(hit.distance)} for hit in next(found)[:k]],
                    "known_words": len(text.words),
                    "unknown_words": text.unknown[:_MOST_UNKNOWN],
                }
            )
        return answers

    def search_in_turn(self, lane: Lane, queries: Sequence[Query]) -> list[Answer]:
        """Answer heavy queries one after the other, so that they hold the memory of one; a core is left to others."""
        answers: list[Answer] = []
        for query in queries:
            check_cancelled()
            answers += self.search(lane, [query], max(1, usable_cores() - 1))
        return answers

    def distance_names(self, names: Sequence[str] | None) -> list[str]:
        """The distances by which two texts are compared: those asked for, else the index's own where it has one."""
        own = self.name(None)
        return list(dict.fromkeys(names or [own if own in PAIRED else "rel-rwmd"]))

    def distances(self, a: Prepared, b: Prepared, names: Sequence[str]) -> dict[str, float]:
        """The distance of two texts by each name; related words are those of the index."""
        for side, text in (("a", a), ("b", b)):
            if not text.words:
                raise _no_known_word(text.tokens, side)
        values = {}
        for name in names:
            check_cancelled()
            values[name] = pair(a.words, b.words, name, **self._for(name))
        return values

    def explained_name(self, distance: str | None) -> str:
        """The distance by which two texts are explained."""
        own = self.name(distance)
        return own if own in EXPLAINED else "rel-rwmd"

    def sides(self, a: dict[str, str], b: dict[str, str]) -> tuple[Side, Side]:
        """Two texts or stored documents with their words; NotFound where there is none."""
        return self._side("a", a), self._side("b", b)

    def _side(self, name: str, given: dict[str, str]) -> Side:
        text: str | Sequence[str] = given["text"] if "text" in given else self._index.get(given["id"]).text
        known = self._index.embeddings.vocabulary.finder
        tokens = self._index.tokenizer(text) if isinstance(text, str) else list(text)
        different = sum(known(token, -1) >= 0 for token in set(tokens))
        if not different:
            raise _no_known_word(len(tokens), name)
        return Side(given.get("id"), text, tokens, different)

    def explain(self, a: Side, b: Side, name: str) -> dict[str, Any]:
        """The flows between two texts or stored documents."""
        result = explain(a.tokens, b.tokens, name, **self._for(name))
        return {
            "distance": name,
            "value": float(result.distance),
            "direction": result.side,
            "c_max": _finite(result.c_max),
            "a": {"id": a.id, "masses": result.a, "segments": self._segments(a.text, result.a)},
            "b": {"id": b.id, "masses": result.b, "segments": self._segments(b.text, result.b)},
            "flows": [_flow(row, turned=result.side == "right") for row in result.rows],
        }

    def related(self, word: str) -> dict[str, Any]:
        """The words of the collection that are related to a word."""
        graph = self._related_words()
        if graph is None:
            raise NotFound("The index is empty, so it has no related words.")
        found = word if word in self._index.embeddings else word.lower()
        pairs = graph.neighbours(found) if found in graph.vocabulary else self._outside(found, graph)
        neighbours = [{"word": other, "distance": distance} for other, distance in pairs]
        return {"word": found, "r": graph.r, "c_max": _finite(graph.c_max), "neighbours": neighbours}

    def _outside(self, word: str, graph: RelatedWords) -> list[tuple[str, float]]:
        """The related words of a word that has a vector but is in no document; NotFound without a vector."""
        vector = self._index.embeddings.vector(word)
        if self._vectors is None or self._vectors[0] is not graph:
            self._vectors = graph, self._index.embeddings.restrict(graph.vocabulary)
        row = graph.rows_for(vector[None, :], self._vectors[1])
        order = sorted(zip(row.data.tolist(), row.indices.tolist(), strict=True))
        return [(graph.vocabulary[place], distance) for distance, place in order]

    def page(self, limit: int, after: str | None) -> dict[str, Any]:
        """Some documents in the order in which they were added, from the one after ``after`` on."""
        found = self._index.page(limit + 1, after)
        more = found[limit - 1].id if len(found) > limit else None
        return {"documents": [_document(one) for one in found[:limit]], "next": more}

    def get(self, id: str) -> dict[str, Any]:
        """One document."""
        return _document(self._index.get(id))

    def add(self, documents: list[dict[str, Any]], replace: bool) -> list[str]:
        """Store documents, all or none."""
        store = self._index.upsert if replace else self._index.add
        ids: list[str] = store(documents)
        return ids

    def delete(self, id: str) -> None:
        """Delete one document."""
        self._index.delete([id])

    def stats(self) -> dict[str, Any]:
        """What is stored."""
        graph = self._related_words()
        return self._names() | {
            "documents": len(self._index),
            "words": 0 if graph is None else len(graph.vocabulary),
            "c_max": None if graph is None else _finite(graph.c_max),
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

    def _for(self, name: str) -> dict[str, Any]:
        """The options of a comparison by a distance, such that a search gives the same values."""
        record = DISTANCES[name]
        related = self._related_words() if record.needs_related else None
        return self._options | {"related": related, "overlap": self._index.engine.overlap(record)}

    def _segments(self, document: str | Sequence[str], masses: dict[str, float]) -> list[dict[str, Any]]:
        """A text in pieces, each with the known words in it."""
        split = self._index.tokenizer if isinstance(document, str) else lambda piece: [piece]
        pieces = _pieces(document, split)
        return [{"text": text, "words": [word for word in words if word in masses]} for text, words in pieces]


def _document(document: Any) -> dict[str, Any]:
    return {
        "id": document.id,
        "text": _plain(document.text),
        "label": document.label,
        "metadata": dict(document.metadata),
    }


def _pieces(document: str | Sequence[str], split: Tokenizer) -> Iterator[tuple[str, list[str]]]:
    """The pieces of a text: what may be words, each with the tokens it gives, and what lies between them."""
    text = _plain(document)
    pattern = _PIECE if isinstance(document, str) else _TOKEN
    end = 0
    for match in pattern.finditer(text):
        if match.start() > end:
            yield text[end : match.start()], []
        yield match[0], split(match[0])
        end = match.end()
    if end < len(text):
        yield text[end:], []


def _flow(row: Any, *, turned: bool) -> dict[str, Any]:
    """A row of an explanation; what moves from the second text to the first is shown from the first's side too."""
    source, target = (row.target, row.source) if turned else (row.source, row.target)
    numbers = {"mass": float(row.mass), "distance": float(row.distance), "cost": float(row.cost)}
    return {"source": source, "target": target, **numbers, "kind": row.kind}


def _plain(text: str | Sequence[str]) -> str:
    """A document that was given as tokens is shown as them, with spaces between."""
    return text if isinstance(text, str) else " ".join(text)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _no_known_word(tokens: int, side: str = "") -> EmptyDocumentError:
    what = f"0 of {tokens} words have a vector" if tokens else "it has no words"
    place, remedy = (f"{side}: ", "Compare other texts.") if side else ("", "Search with other words.")
    return EmptyDocumentError(f"{place}The text has no known word ({what}). {remedy}")
