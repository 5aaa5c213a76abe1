"""What the service asks of an index: plain values in, JSON-ready values out. Runs in threads, knows no HTTP."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import orjson

from wordferry.bow import empty_document_error
from wordferry.errors import InputError, NotFound
from wordferry.measures import DISTANCES

Query = tuple[str, int]
"""A text and its k."""
Lane = tuple[str, bytes | None]
"""Searches that can share one call: the distance's name, and the filter as JSON."""

EXPLAINED = tuple(d.name for d in DISTANCES.values() if d.overlaps)
"""Distances made of flows between words."""
PAIRED = tuple(d.name for d in DISTANCES.values() if not d.tfidf)
"""Distances of two texts alone; tf-idf needs a collection."""
_MOST_UNKNOWN = 10
_PIECE = re.compile(r"\S+")


class Engine:
    """An opened index behind the service."""

    def __init__(self, index: Any) -> None:
        self._index = index

    def name(self, distance: str | None) -> str:
        """The distance to use: the one asked for, else the index's own."""
        return distance or str(self._index.distance)

    def lane(self, distance: str | None, filter: dict[str, Any] | None) -> Lane:
        """Which searches this one can be joined with."""
        return self.name(distance), orjson.dumps(filter, option=orjson.OPT_SORT_KEYS) if filter else None

    def search(self, lane: Lane, queries: Sequence[Query]) -> list[dict[str, Any] | Exception]:
        """Answer queries of one lane by one call; a text without known words gets its error, the others their hits."""
        name, packed = lane
        vocabulary = self._index.embeddings.vocabulary
        tokens = [self._index.tokenizer(text) for text, _ in queries]
        known = [[token for token in some if token in vocabulary] for some in tokens]
        asked = [words for words in known if words]
        most = max(k for _, k in queries)
        filter = orjson.loads(packed) if packed else None
        found = iter(self._index.search(asked, k=most, distance=name, filter=filter) if asked else ())
        answers: list[dict[str, Any] | Exception] = []
        for (_, k), some, words in zip(queries, tokens, known, strict=True):
            if not words:
                answers.append(_no_known_word(some))
                continue
            unknown = list(dict.fromkeys(token for token in some if token not in vocabulary))
            answers.append(
                {
                    "hits": [_document(hit) | {"distance": float(hit.distance)} for hit in next(found)[:k]],
                    "known_words": len(words),
                    "unknown_words": unknown[:_MOST_UNKNOWN],
                }
            )
        return answers
