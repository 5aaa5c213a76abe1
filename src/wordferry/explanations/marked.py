"""The texts of an explanation with their words marked, and its moves from sentence to sentence."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from wordferry.base.cancel import check_cancelled
from wordferry.base.frames import Tabular, columns_of
from wordferry.errors import InputError
from wordferry.explanations.rows import Row
from wordferry.texts.records import document_text
from wordferry.texts.sentences import sentences
from wordferry.texts.tokenizers import Span, as_tokenizer

if TYPE_CHECKING:
    from wordferry.explanations.explain import Explanation

Masses = dict[int | None, float]
"""What is left of a word's mass in each of the sentences that have it."""
_SHOWN_WORDS = 6
_NOTHING = 1e-12


@dataclass(frozen=True)
class MarkedText:
    """A text, where its words stand in it, and where its sentences begin."""

    text: str
    spans: tuple[Span, ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, document: Any, tokenizer: Any = None) -> MarkedText:
        """A document as it was compared; without the places of words if its tokenizer does not tell them."""
        given = document_text(document, "The text")
        if isinstance(given, str):
            made = as_tokenizer(tokenizer)
            spans = made.spans(given) if hasattr(made, "spans") else []
            return cls(given, tuple(spans), tuple(start for start, _ in sentences(given)))
        spans, at = [], 0
        for token in given:
            spans.append(Span(token, at, at + len(token)))
            at += len(token) + 1
        return cls(" ".join(given), tuple(spans), (0,))

    def sentence(self, number: int) -> str:
        """The text of a sentence."""
        end = self.starts[number + 1] if number + 1 < len(self.starts) else len(self.text)
        return self.text[self.starts[number] : end].strip()

    def masses(self, bag: dict[str, float]) -> dict[str, Masses]:
        """For each word of the bag its mass by sentence, in equal parts for each time that it stands there."""
        counts: dict[str, Counter[int]] = defaultdict(Counter)
        for span in self.spans:
            counts[span.word][bisect_right(self.starts, span.start) - 1] += 1
        found: dict[str, Masses] = {}
        for word, mass in bag.items():
            there = counts.get(word)
            total = there.total() if there else 1
            found[word] = {n: mass * count / total for n, count in there.items()} if there else {None: mass}
        return found


@dataclass(frozen=True)
class SentencePair:
    """What moved from a sentence of the first text to one of the second; None where a word goes to no other."""

    a: str | None
    b: str | None
    mass: float
    cost: float
    share: float
    """Of the whole distance."""
    rows: tuple[Row, ...] = field(repr=False)
    """The words that moved, the most expensive first; their costs sum to ``cost``."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the words that carry most."""
        words = [
            row.source if row.source == row.target else f"{row.source or '-'} → {row.target or '-'}"
            for row in sorted(self.rows, key=lambda row: -row.mass)[:_SHOWN_WORDS]
        ]
        cells = {"mass": self.mass, "cost": self.cost, "share": self.share}
        return {"a": self.a, "b": self.b, **cells, "words": ", ".join(map(str, words))}


@dataclass(frozen=True, repr=False)
class SentenceExplanation(Tabular):
    """A distance taken apart by sentences: which clause went to which, and then its words.

    The costs of the pairs sum to the distance. A word that stands in several sentences is taken from that which has
    most in common with the sentence it goes to.
    """

    explanation: Explanation
    pairs: tuple[SentencePair, ...]
    """In the order of the first text's sentences; of one sentence, the pair that carries most first."""

    @property
    def distance(self) -> float:
        """The distance of the two texts."""
        return self.explanation.distance

    def to_rows(self) -> list[dict[str, Any]]:
        """One plain dict per pair of sentences: a, b, mass, cost, share, and the words that carry most."""
        return [pair.to_dict() for pair in self.pairs]

    def to_columns(self) -> dict[str, Any]:
        """The rows as columns."""
        return columns_of(self.to_rows(), ("a", "b", "mass", "cost", "share", "words"))

    def to_text(self, *, limit: int | None = None) -> str:
        """The pairs as plain text, the words of each below it."""
        lines = [f"{self.explanation.name} = {self.distance:.6f}"]
        for pair in self.pairs[:limit]:
            lines += [f"{pair.a or '-'}", f"  → {pair.b or '-'}"]
            lines.append(
                f"    mass {pair.mass:.4f}, cost {pair.cost:.4f} ({pair.share:.1%}): {pair.to_dict()['words']}"
            )
        if limit is not None and len(self.pairs) > limit:
            lines.append(f"... {len(self.pairs) - limit} more pairs")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"SentenceExplanation({self.explanation.name} = {self.distance:.6f}, {len(self.pairs)} pairs)"


def by_sentence(explanation: Explanation, marked: tuple[MarkedText, MarkedText]) -> SentenceExplanation:
    """Give each move of words the sentences that the words stand in."""
    if not all(one.spans for one in marked):
        raise InputError(
            "Sentences can be explained where the tokenizer has a method spans that tells where words stand; this one "
            "has none."
        )
    first, second = (one.masses(bag) for one, bag in zip(marked, (explanation.a, explanation.b), strict=True))
    affinity = _affinity(explanation, first, second)
    found: dict[tuple[int | None, int | None], list[Row]] = defaultdict(list)
    for number, row in enumerate(sorted(explanation.rows, key=lambda row: row.distance)):
        if number % 256 == 0:
            check_cancelled()
        left, right = _ends(row, explanation, first, second)
        for (a, b), mass in _placed(row.mass, left, right, affinity):
            found[a, b].append(row if mass == row.mass else row.part(mass))
    pairs = [_pair(places, rows, marked) for places, rows in found.items()]
    order = sorted(zip(found, pairs, strict=True), key=lambda one: (_last(one[0][0]), -one[1].mass, _last(one[0][1])))
    return SentenceExplanation(explanation, tuple(pair for _, pair in order))


def _last(place: int | None) -> float:
    return math.inf if place is None else place


def _pair(places: tuple[int | None, int | None], rows: list[Row], marked: Sequence[MarkedText]) -> SentencePair:
    a, b = (None if n is None else text.sentence(n) for n, text in zip(places, marked, strict=True))
    mass, cost, share = (math.fsum(map(attrgetter(name), rows)) for name in ("mass", "cost", "share"))
    return SentencePair(a, b, mass, cost, share, tuple(sorted(rows, key=lambda row: -row.cost)))


def _ends(
    row: Row, explanation: Explanation, first: dict[str, Masses], second: dict[str, Masses]
) -> tuple[Masses, Masses]:
    """What is left of both words by sentence. The side that is moved onto may take any amount."""
    left, right = (first, second) if explanation.side != "right" else (second, first)
    ends = [left.get(row.source or "", {None: row.mass}), right.get(row.target or "", {None: row.mass})]
    if explanation.side != "both":  # a relaxed distance: what is moved onto has no mass of its own
        ends[1] = dict.fromkeys(ends[1], row.mass)
    return (ends[1], ends[0]) if explanation.side == "right" else (ends[0], ends[1])


def _affinity(
    explanation: Explanation, first: dict[str, Masses], second: dict[str, Masses]
) -> dict[tuple[int | None, int | None], float]:
    """How much two sentences have to do with each other: closeness times mass, over all moves that could join them."""
    farthest = max((row.distance for row in explanation.rows), default=1.0) or 1.0
    found: dict[tuple[int | None, int | None], float] = defaultdict(float)
    for row in explanation.rows:
        left, right = _ends(row, explanation, first, second)
        if len(left) * len(right) > 1024:  # a word of every sentence says nothing about which two belong together
            continue
        weight = row.mass * (1.0 - row.distance / farthest) / (len(left) * len(right))
        for a in left:
            for b in right:
                found[a, b] += weight
    return found


def _placed(
    mass: float, left: Masses, right: Masses, affinity: dict[tuple[int | None, int | None], float]
) -> Iterable[tuple[tuple[int | None, int | None], float]]:
    """Share out the mass of a move, to the sentences first that have most to do with each other."""
    if len(left) == 1 and len(right) == 1:
        yield (next(iter(left)), next(iter(right))), mass
        return
    ways = sorted(((a, b) for a in left for b in right), key=lambda way: (-affinity[way], _last(way[0]), _last(way[1])))
    rest = mass
    for number, (a, b) in enumerate(ways):
        taken = rest if number + 1 == len(ways) else min(rest, left[a], right[b])
        if taken <= _NOTHING * mass and rest > taken:
            continue
        left[a] -= taken
        right[b] -= taken
        rest -= taken
        yield (a, b), taken
        if rest <= _NOTHING * mass:
            return
