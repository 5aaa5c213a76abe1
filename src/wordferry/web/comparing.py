"""Two texts compared and explained: plain values in, JSON-ready values out. Runs in threads, knows no HTTP."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from wordferry.base.cancel import check_cancelled
from wordferry.compare.calls import distance as distance_of
from wordferry.compare.calls import explain, pairwise
from wordferry.compare.distances import DISTANCES
from wordferry.errors import InputError, NotFound
from wordferry.texts.reasons import WORD, no_word
from wordferry.texts.tokenizers import Tokenizer
from wordferry.web.models import EXPLAINED, PAIRED
from wordferry.web.texts import Prepared, Reader
from wordferry.words.related.graph import RelatedWords

_TOKEN = re.compile(r"[^ ]+")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*[\"'”’)\]]*\s*|[.!?\n]+\s*")
_LEAST_WORDS = 4
"""Known words of a passage; a shorter sentence is joined with the next."""
_SIDES = {"a": "The first text", "b": "The second text"}
Span = tuple[int, int]


@dataclass(frozen=True)
class Side:
    """A text or stored document that is to be explained."""

    id: str | None
    text: str | Sequence[str]
    prepared: Prepared
    spans: tuple[Span, ...] = ()
    """The passages that are compared, as places in the text; none means all of it."""


class Weighed(NamedTuple):
    """What words weigh among documents like a text; None is the index's own choice."""

    weights: str | None = None
    unknown: str | None = None

    @property
    def given(self) -> dict[str, str]:
        """Those that are asked for."""
        return {name: value for name, value in self._asdict().items() if value is not None}


COUNTED = Weighed("counts", "drop")
"""As a search by a distance compares."""


class Comparing:
    """Compares texts as an index compares its documents."""

    def __init__(self, index: Any, reader: Reader, related: Callable[[], RelatedWords | None]) -> None:
        self._index, self._reader, self._related = index, reader, related
        self._own = str(index.config.distance)

    def weighed(self, asked: Weighed) -> Weighed:
        """What is asked for, else the index's own choice."""
        own = self._index.config
        return Weighed(asked.weights or own.weights, asked.unknown or own.unknown)

    def keeps(self, asked: Weighed) -> bool:
        """Whether words without a vector count in documents like a text."""
        return self.weighed(asked).unknown != "drop"

    def names(self, wanted: Sequence[str] | None) -> list[str]:
        """The distances by which two texts are compared: those asked for, else the index's own where it has one."""
        return list(dict.fromkeys(wanted or [self._own if self._own in PAIRED else "rel-rwmd"]))

    def distances(self, a: Prepared, b: Prepared, names: Sequence[str]) -> dict[str, float]:
        """The distance of two texts by each name, as Python and the command line give it."""
        for side, text in (("a", a), ("b", b)):
            if not text.tokens:
                raise no_word(text.text, f"{side}: {_SIDES[side]}")
        values = {}
        for name in names:
            check_cancelled()
            values[name] = distance_of(a.tokens, b.tokens, name, **self._options(name, alone=True))
        return values

    def explained_name(self, distance: str | None) -> str:
        """The distance by which two texts are explained."""
        own = distance or self._own
        return own if own in EXPLAINED else "rel-rwmd"

    def sides(
        self, a: dict[str, str], b: dict[str, str], passages: int | None, name: str, weighed: Weighed
    ) -> tuple[Side, Side]:
        """Two texts or stored documents with their words; NotFound where there is none."""
        alone = "text" in a and "text" in b
        if alone and weighed not in (Weighed(), COUNTED):
            raise InputError("weights: Two texts have no frequencies of words; weigh a text and a stored document.")
        every = alone or self.keeps(weighed)
        first, second = self._side("a", a, every), self._side("b", b, every)
        return first, second if passages is None else self._best(first, second, passages, name, every)

    def _side(self, name: str, given: dict[str, str], every: bool) -> Side:
        with said_of(given.get("id")):
            text: str | Sequence[str] = given["text"] if "text" in given else self._index.get(given["id"]).text
        prepared = self._reader.prepare(text)
        if not (prepared.tokens if every else prepared.words):
            what = _SIDES[name] if "text" in given else f"The document {given['id']!r}"
            raise prepared.no_known_word(f"{name}: {what}")
        return Side(given.get("id"), text, prepared)

    def _best(self, a: Side, b: Side, count: int, name: str, every: bool) -> Side:
        """The passages of the second text whose words are nearest to those of the first, in the order of the text."""
        if not isinstance(b.text, str):
            return b
        spans = self._passages(b.text, b.prepared)
        found = [(span, self._reader.prepare(b.text[slice(*span)], b.prepared)) for span in spans]
        if len(found) <= count:
            return b
        relaxed = "rel-rwmd" if DISTANCES[name].needs_related else "rwmd"
        options = self._options(relaxed) | {"overlap": "omr", "unknown": "match" if every else "drop"}
        words = [one.tokens for _, one in found]
        asked = [a.prepared.tokens]
        near = pairwise(asked, words, relaxed, side="left", on_empty="keep", **options)[0]
        best = sorted(np.argsort(near, kind="stable")[:count].tolist())
        joined = [word for place in best for word in found[place][1].tokens]
        if not joined:
            return b
        return Side(b.id, b.text, self._reader.prepare(joined, b.prepared), tuple(found[place][0] for place in best))

    def _passages(self, text: str, whole: Prepared) -> Iterator[Span]:
        """Sentences, short ones joined with what follows."""
        start = 0
        for match in _SENTENCE.finditer(text):
            check_cancelled()
            if len(self._reader.prepare(text[start : match.end()], whole).words) >= _LEAST_WORDS:
                yield start, match.end()
                start = match.end()
        if start < len(text):
            yield start, len(text)

    def explain(self, a: Side, b: Side, name: str, weighed: Weighed) -> dict[str, Any]:
        """The flows between two texts or stored documents, or their passages.

        A stored document is explained as :meth:`Index.similar` compares it with these weights.
        """
        alone = a.id is None and b.id is None
        tokens = a.prepared.tokens, b.prepared.tokens
        if alone or self.weighed(weighed) == COUNTED:
            result = explain(*tokens, name, **self._options(name, alone=alone))
        else:
            with self._index.view() as (connection, snapshot):
                explained = self._index.weighed.explained
                result = explained(connection, snapshot, tokens, DISTANCES[name], **weighed.given)
        return {
            "distance": name,
            "value": float(result.distance),
            "direction": result.side,
            "c_max": finite(result.c_max),
            "a": {"id": a.id, "masses": result.a, "segments": self._segments(a, result.a)},
            "b": {"id": b.id, "masses": result.b, "segments": self._segments(b, result.b)},
            "passages": [list(span) for span in b.spans] or None,
            "flows": [_flow(row, turned=result.side == "right") for row in result.rows],
        }

    def _options(self, name: str, *, alone: bool = False) -> dict[str, Any]:
        """The options of a comparison by a distance, such that a search gives the same values.

        Two texts that are both none of the index's (``alone``) are compared through the related words of the whole
        vocabulary, and words without a vector count, as everywhere. An index compares words that have one.
        """
        record = DISTANCES[name]
        related = self._related() if record.needs_related and not alone else None
        own = {"embeddings": self._index.embeddings, "unknown": "match" if alone else "drop"}
        return own | {"related": related, "overlap": self._index.engine.overlap(record)}

    def _segments(self, side: Side, masses: dict[str, float]) -> list[dict[str, Any]]:
        """A text in pieces, each with the known words in it; outside its passages it has none."""
        split = self._index.tokenizer if isinstance(side.text, str) else lambda piece: [piece]
        segments = []
        for start, text, words in _pieces(side.text, split):
            inside = not side.spans or any(low <= start < high for low, high in side.spans)
            kept = [word for word in words if word in masses] if inside else []
            segments.append({"text": text, "words": kept, "compared": inside})
        return segments


def _pieces(document: str | Sequence[str], split: Tokenizer) -> Iterator[tuple[int, str, list[str]]]:
    """The pieces of a text and their places: what may be words, with the tokens it gives, and what lies between."""
    text = plain(document)
    pattern = WORD if isinstance(document, str) else _TOKEN
    end = 0
    for match in pattern.finditer(text):
        if match.start() > end:
            yield end, text[end : match.start()], []
        yield match.start(), match[0], split(match[0])
        end = match.end()
    if end < len(text):
        yield end, text[end:], []


def _flow(row: Any, *, turned: bool) -> dict[str, Any]:
    """A row of an explanation; what moves from the second text to the first is shown from the first's side too."""
    source, target = (row.target, row.source) if turned else (row.source, row.target)
    numbers = {"mass": float(row.mass), "distance": float(row.distance), "cost": float(row.cost)}
    return {"source": source, "target": target, **numbers, "kind": row.kind}


@contextmanager
def said_of(id: str | None) -> Iterator[None]:
    """Say that a document is missing without telling where the index lies on this machine."""
    try:
        yield
    except NotFound:
        raise NotFound(f"There is no document {id!r}.") from None


def plain(text: str | Sequence[str]) -> str:
    """A document that was given as tokens is shown as them, with spaces between."""
    return text if isinstance(text, str) else " ".join(text)


def finite(value: float) -> float | None:
    """A number as JSON knows it."""
    return value if math.isfinite(value) else None
