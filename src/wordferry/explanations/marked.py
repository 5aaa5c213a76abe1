"""The texts of an explanation with their words marked, and its moves from sentence to sentence."""

from __future__ import annotations

import math
import sys
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from wordferry.base.cancel import check_cancelled
from wordferry.base.frames import Tabular, columns_of
from wordferry.explanations.rows import Row
from wordferry.texts.records import document_text
from wordferry.texts.sentences import sentences
from wordferry.texts.tokenizers import Span, as_tokenizer

if TYPE_CHECKING:
    from wordferry.explanations.explain import Explanation

Masses = dict[int, float]
"""What is left of a word's mass in each of the sentences that have it."""
Place = tuple[int, int]
"""The numbers of a sentence of the first text and one of the second."""
_NOWHERE = sys.maxsize
"""In the place of a sentence's number, for a word that stands in none; behind all others."""
_MOST_WAYS = 64
"""A word of every sentence says nothing about which two belong together."""
_SHOWN_WORDS = 6
_NOTHING = 1e-12


@dataclass(frozen=True)
class MarkedText:
    """A text, and where its words stand in it."""

    text: str
    spans: tuple[Span, ...]

    @classmethod
    def of(cls, document: Any, tokenizer: Any = None) -> MarkedText:
        """A document as it was compared; without the places of words if its tokenizer does not tell them."""
        given = document_text(document, "The text")
        if isinstance(given, str):
            made = as_tokenizer(tokenizer)
            spans = made.spans(given) if hasattr(made, "spans") else []
            return cls(given, tuple(spans))
        spans, at = [], 0
        for token in given:
            spans.append(Span(token, at, at + len(token)))
            at += len(token) + 1
        return cls(" ".join(given), tuple(spans))


@dataclass(frozen=True)
class SplitText:
    """The sentences of a text, and how often each of them has each word."""

    sentences: dict[int, str]
    counts: dict[str, dict[int, int]]

    @classmethod
    def of(cls, document: Any, tokenizer: Any = None) -> SplitText:
        """A document as it was compared; tokens are one sentence."""
        given = document_text(document, "The text")
        if isinstance(given, str):
            split = as_tokenizer(tokenizer)
            texts = [given[start:end].strip() for start, end in sentences(given)]
            words: Iterable[Sequence[str]] = map(split, texts)
        else:
            texts, words = [" ".join(given)], [given]
        counts: dict[str, dict[int, int]] = {}
        for number, tokens in enumerate(words):
            for word in tokens:
                there = counts.setdefault(word, {})
                there[number] = there.get(number, 0) + 1
        return cls(dict(enumerate(texts)), counts)

    def masses(self, bag: dict[str, float]) -> dict[str, Masses]:
        """For each word of the bag its mass by sentence, in equal parts for each time that it stands there."""
        found: dict[str, Masses] = {}
        for word, mass in bag.items():
            there = self.counts.get(word)
            if there is None:
                found[word] = {_NOWHERE: mass}
            elif len(there) == 1:
                found[word] = dict.fromkeys(there, mass)
            else:
                total = sum(there.values())
                found[word] = {number: mass * count / total for number, count in there.items()}
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

    def to_text(self, *, limit: int | None = None, width: int | None = None) -> str:
        """The pairs as plain text, the words of each below it; in lines of at most ``width`` columns if given."""
        lines = [f"{self.explanation.name} = {self.distance:.6f}"]
        for pair in self.pairs[:limit]:
            words = f"mass {pair.mass:.4f}, cost {pair.cost:.4f} ({pair.share:.1%}): {pair.to_dict()['words']}"
            for indent, text in (("", pair.a or "-"), ("  → ", pair.b or "-"), ("    ", words)):
                lines += (
                    [indent + text]
                    if width is None
                    else textwrap.wrap(text, max(width, 20), initial_indent=indent, subsequent_indent=" " * len(indent))
                )
        if limit is not None and len(self.pairs) > limit:
            lines.append(f"... {len(self.pairs) - limit} more pairs")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"SentenceExplanation({self.explanation.name} = {self.distance:.6f}, {len(self.pairs)} pairs)"


def by_sentence(explanation: Explanation, texts: tuple[Any, Any, Any]) -> SentenceExplanation:
    """Give each move of words the sentences that the words stand in."""
    *documents, tokenizer = texts
    first, second = (SplitText.of(document, tokenizer) for document in documents)
    moves = _moves(explanation, first.masses(explanation.a), second.masses(explanation.b))
    affinity = _affinity(moves)
    found: dict[Place, list[Row]] = {}
    for number, (row, left, right) in enumerate(moves):
        if number % 256 == 0:
            check_cancelled()
        if len(left) == 1 == len(right):
            found.setdefault((next(iter(left)), next(iter(right))), []).append(row)
            continue
        for place, mass in _placed(row.mass, left, right, affinity):
            found.setdefault(place, []).append(row if mass == row.mass else row.part(mass))
    pairs = []
    for (a, b), rows in found.items():
        pair = _pair(first.sentences.get(a), second.sentences.get(b), rows)
        pairs.append((a, -pair.mass, b, pair))
    pairs.sort()  # by the sentence of the first text; no two have the same places
    return SentenceExplanation(explanation, tuple(one[3] for one in pairs))


def _pair(a: str | None, b: str | None, rows: list[Row]) -> SentencePair:
    if len(rows) == 1:
        (row,) = rows
        return SentencePair(a, b, row.mass, row.cost, row.share, (row,))
    mass, cost, share = (math.fsum(map(attrgetter(name), rows)) for name in ("mass", "cost", "share"))
    return SentencePair(a, b, mass, cost, share, tuple(sorted(rows, key=lambda row: -row.cost)))


def _moves(
    explanation: Explanation, first: dict[str, Masses], second: dict[str, Masses]
) -> list[tuple[Row, Masses, Masses]]:
    """Every move, the shortest first, with what is left of both words by sentence.

    The side that a relaxed distance moves onto has no mass of its own: it may take any amount, or from many sentences
    an equal part into each.
    """
    left, right = (first, second) if explanation.side != "right" else (second, first)
    found = []
    for row in sorted(explanation.rows, key=attrgetter("distance")):
        source = left.get(row.source or "") or {_NOWHERE: row.mass}
        target = right.get(row.target or "") or {_NOWHERE: row.mass}
        if explanation.side != "both" and len(target) > 1:
            many = len(source) * len(target) > _MOST_WAYS
            target = dict.fromkeys(target, row.mass / len(target) if many else row.mass)
        found.append((row, target, source) if explanation.side == "right" else (row, source, target))
    return found


def _affinity(moves: Sequence[tuple[Row, Masses, Masses]]) -> dict[Place, float]:
    """How much two sentences have to do with each other: closeness times mass, over all moves that could join them."""
    farthest = (moves[-1][0].distance if moves else 1.0) or 1.0
    found: dict[Place, float] = defaultdict(float)
    for row, left, right in moves:
        ways = len(left) * len(right)
        if ways > _MOST_WAYS:
            continue
        weight = row.mass * (1.0 - row.distance / farthest) / ways
        for a in left:
            for b in right:
                found[a, b] += weight
    return found


def _placed(mass: float, left: Masses, right: Masses, affinity: Mapping[Place, float]) -> Iterator[tuple[Place, float]]:
    """Share out the mass of a move, to the sentences first that have most to do with each other.

    A word of many sentences goes from the first to the first, the next to the next, and so on.
    """
    if len(left) * len(right) > _MOST_WAYS:
        yield from _in_order(mass, left, right)
        return
    ways = sorted((-affinity.get((a, b), 0.0), a, b) for a in left for b in right)
    rest = mass
    for number, (_, a, b) in enumerate(ways, start=1):
        taken = rest if number == len(ways) else min(rest, left[a], right[b])
        if taken <= _NOTHING * mass and rest > taken:
            continue
        left[a] -= taken
        right[b] -= taken
        rest -= taken
        yield (a, b), taken
        if rest <= _NOTHING * mass:
            return


def _in_order(mass: float, left: Masses, right: Masses) -> Iterator[tuple[Place, float]]:
    rest, sources, targets = mass, list(left), list(right)
    while rest > _NOTHING * mass:
        a, b = sources[0], targets[0]
        last = len(sources) == 1 == len(targets)
        taken = rest if last else max(0.0, min(rest, left[a], right[b]))
        left[a] -= taken
        right[b] -= taken
        rest -= taken
        if taken > 0.0:
            yield (a, b), taken
        if len(targets) > 1 and (right[b] <= left[a] or len(sources) == 1):
            del targets[0]
        elif len(sources) > 1:
            del sources[0]
