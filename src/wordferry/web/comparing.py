"""Two texts compared and explained: plain values in, values of JSON out. Runs in threads, knows no HTTP."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from wordferry.base.runtime import check_cancelled
from wordferry.compare.distances import find_distance
from wordferry.compare.measure import Measure
from wordferry.errors import InputError
from wordferry.index.config import RECOMMENDED
from wordferry.texts.reasons import WORD, no_known_word, no_word
from wordferry.texts.sentences import passages
from wordferry.web.engine import ServedIndex, Text, plain
from wordferry.web.models import EXPLAINED, PAIRED
from wordferry.words.related.graph import RelatedWords

_WORD, _TOKEN = re.compile(f"({WORD.pattern})"), re.compile(r"([^ ]+)")
_SIDES = {"a": "The first text", "b": "The second text"}
Span = tuple[int, int]


@dataclass(frozen=True)
class Compared:
    """A text or stored document that is to be compared."""

    id: str | None
    text: Text
    tokens: list[str]
    spans: tuple[Span, ...] = ()
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

    @property
    def alone(self) -> bool:
        """Whether neither is a document: then there are no frequencies to weigh by."""
        return self.a.id is None and self.b.id is None


class TextPairs:
    """Compares texts as an index compares its documents."""

    def __init__(self, engine: ServedIndex) -> None:
        self._engine, self._index = engine, engine.index

    def names(self, wanted: Sequence[str] | None) -> list[str]:
        """The distances by which two texts are compared: those asked for, else the index's own where it has one."""
        own = self._index.config.distance
        return list(dict.fromkeys(wanted or [own if own in PAIRED else RECOMMENDED]))

    def texts(self, a: str, b: str) -> list[list[str]]:
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
        own = request.distance or self._index.config.distance
        given = {"a": request.a.model_dump(), "b": request.b.model_dump()}
        alone = not any("id" in one for one in given.values())
        if alone and how:
            raise InputError("weights: Two texts have no frequencies of words; weigh a text and a stored document.")
        every = alone or how.get("unknown", self._index.config.unknown) != "drop"
        a, b = (self._compared(name, one, every) for name, one in given.items())
        return ComparedPair(a, b, own if own in EXPLAINED else RECOMMENDED, how, request.passages)

    def _compared(self, name: str, given: dict[str, str], every: bool) -> Compared:
        text: Text = given["text"] if "text" in given else self._engine.text(given["id"])
        tokens = self._engine.tokens(text)
        what = f"{name}: {_SIDES[name]}" if "text" in given else f"{name}: The document {given['id']!r}"
        if not tokens:
            raise no_word(text, what)
        if not every and not any(word in self._index.embeddings for word in tokens):
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
            result = self._index.explain(tuple(a.tokens), tuple(b.tokens), distance=pair.distance, **pair.how)
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
        record, own = find_distance(name), self._index.config.overlap
        graph = related if record.needs_related else None
        overlap = own if own in record.overlaps else None
        return Measure(record, overlap, embeddings=self._index.embeddings, related=graph)

    def _best(self, pair: ComparedPair, count: int) -> Compared:
        """The passages of the second text whose words are nearest to those of the first, in the order of the text."""
        b = pair.b
        if not isinstance(b.text, str):
            return b
        found = list(passages(b.text, self._engine.tokens))
        if len(found) <= count:
            return b
        nearest = Measure("rwmd", side="left", embeddings=self._index.embeddings, on_empty="keep")
        near = nearest.pairwise([pair.a.tokens], [words for _, words in found])[0]
        best = [found[place] for place in sorted(np.argsort(near, kind="stable")[:count].tolist())]
        joined = [word for _, words in best for word in words]
        return replace(b, tokens=joined, spans=tuple(span for span, _ in best)) if joined else b

    def _segments(self, side: Compared, masses: dict[str, float]) -> list[dict[str, Any]]:
        """A text in pieces, each with the known words in it; outside its passages it has none."""
        text = isinstance(side.text, str)
        split = self._index.tokenizer if text else lambda piece: [piece]
        segments, start = [], 0
        for number, piece in enumerate((_WORD if text else _TOKEN).split(plain(side.text))):  # every second may be one
            check_cancelled()
            inside = not side.spans or any(low <= start < high for low, high in side.spans)
            words = split(piece) if inside and number % 2 else []
            if piece:
                kept = [word for word in words if word in masses]
                segments.append({"text": piece, "words": kept, "compared": inside})
            start += len(piece)
        return segments


def _flow(row: Any, *, turned: bool) -> dict[str, Any]:
    """A row of an explanation; what moves from the second text to the first is shown from the first's side too."""
    source, target = (row.target, row.source) if turned else (row.source, row.target)
    numbers = {"mass": float(row.mass), "distance": float(row.distance), "cost": float(row.cost)}
    return {"source": source, "target": target, **numbers, "kind": row.kind}
