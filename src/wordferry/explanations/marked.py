"""The texts of an explanation with their words marked, and its moves from sentence to sentence."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Any

import numpy as np

from wordferry.base.arrays import Float64Array, Int64Array, run_bounds
from wordferry.base.frames import Tabular, columns_of
from wordferry.base.runtime import check_cancelled
from wordferry.explanations.rows import MadeWhenRead, Row, Rows
from wordferry.kernels.passes import Ways, share_out
from wordferry.texts.records import document_text
from wordferry.texts.sentences import sentences
from wordferry.texts.tokenizers import Span, WordTokenizer, as_tokenizer

if TYPE_CHECKING:
    from wordferry.explanations.explain import Explanation

_MOST_WAYS = 64
"""A word of every sentence says nothing about which two belong together."""
_MOST_CELLS = 1 << 18
"""Pairs of sentences for which there is a table; of more, those that share a move are looked up."""
_SHOWN_WORDS = 6
_NOTHING = 1e-12
_MARK = "0z0"
"""A word that no text has, or its sentences are split one by one; it is short, because every letter takes time."""


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
    """The sentences of a text, its words in their order, and the number of each word's sentence."""

    sentences: list[str]
    words: list[str]
    numbers: Int64Array

    @classmethod
    def of(cls, document: Any, tokenizer: Any = None) -> SplitText:
        """A document as it was compared; tokens are one sentence."""
        given = document_text(document, "The text")
        if not isinstance(given, str):
            return cls([" ".join(given)], list(given), np.zeros(len(given), dtype=np.int64))
        split = as_tokenizer(tokenizer)
        texts = [given[start:end].strip() for start, end in sentences(given)]
        words, sizes = _words_of_each(texts, split)
        return cls(texts, words, np.repeat(np.arange(len(texts)), sizes))


def _words_of_each(texts: Sequence[str], split: Callable[[str], list[str]]) -> tuple[list[str], list[int]]:
    """The words of all sentences, and how many there are in each.

    The package's tokenizer splits all sentences in one call, with a mark between two.
    """
    every = f" {_MARK} ".join(texts)
    if (
        not isinstance(split, WordTokenizer)
        or split.min_length > len(_MARK)
        or _MARK in split.stop
        or every.lower().count(_MARK) >= max(len(texts), 1)
    ):
        found = list(map(split, texts))
        return [word for words in found for word in words], list(map(len, found))
    words, sizes, start = [*split(every), _MARK], [], 0
    for _ in texts:
        end = words.index(_MARK, start)
        sizes.append(end - start)
        start = end + 1
    return [word for word in words if word != _MARK], sizes


@dataclass(frozen=True, eq=False)
class Placed:
    """The words of one text by sentence: those of word w are the entries from ``starts[w]`` to ``starts[w + 1]``."""

    starts: Int64Array
    sentences: Int64Array
    masses: Float64Array
    """A word's mass in each sentence, in equal parts for each time that it stands there."""

    @classmethod
    def of(cls, text: SplitText, number: Mapping[str, int], bag: Mapping[str, float]) -> Placed:
        """The words of a text by their ``number``, and last of all none; what stands in no sentence is behind the last
        one."""
        words, own_words = (np.fromiter(map(number.get, some, repeat(-1)), np.int64) for some in (text.words, bag))
        width = len(text.sentences) + 1
        keys = words * width + text.numbers
        keys = np.sort(keys[words >= 0])
        bounds = run_bounds(keys)
        keys, counts = keys[bounds[:-1]], bounds[1:] - bounds[:-1]
        sizes = np.bincount(keys // width, minlength=len(number) + 1)
        absent = np.flatnonzero(sizes == 0)
        keys, counts = np.append(keys, absent * width + width - 1), np.append(counts, np.ones(len(absent), np.int64))
        order = np.argsort(keys, kind="stable")  # fast for two parts in order
        keys, counts = keys[order], counts[order].astype(np.float64)
        sizes[absent] = 1
        starts = np.append(0, np.cumsum(sizes))
        own = np.zeros(len(number) + 1)
        own[own_words] = np.fromiter(bag.values(), np.float64)
        own[-1] = 0.0
        shares = counts / np.repeat(np.add.reduceat(counts, starts[:-1]), sizes)
        return cls(starts, keys % width, shares * np.repeat(own, sizes))

    def spans(self, words: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Where the entries of words begin, and how many there are; -1 is none of the words."""
        places = np.where(words < 0, len(self.starts) - 2, words)
        return self.starts[places], self.starts[places + 1] - self.starts[places]


@dataclass(frozen=True)
class SentencePair:
    """What moved from a sentence of the first text to one of the second; None where a word goes to no other."""

    a: str | None
    b: str | None
    mass: float
    cost: float
    share: float
    """Of the whole distance."""
    _every: Sequence[Row] = field(repr=False, compare=False)
    _own: slice = field(repr=False, compare=False)

    @property
    def rows(self) -> Sequence[Row]:
        """The words that moved, the most expensive first; their costs sum to ``cost``."""
        return self._every[self._own]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, with the words that carry most."""
        words = [
            row.source if row.source == row.target else f"{row.source or '-'} → {row.target or '-'}"
            for row in sorted(self.rows, key=lambda row: -row.mass)[:_SHOWN_WORDS]
        ]
        cells = {"mass": self.mass, "cost": self.cost, "share": self.share}
        return {"a": self.a, "b": self.b, **cells, "words": ", ".join(map(str, words))}


class Pairs(MadeWhenRead[SentencePair]):
    """Pairs of sentences: what is summed over rows that follow each other in ``every``, from each of ``starts`` on."""

    def __init__(self, texts: tuple[SplitText, SplitText], every: Rows, key: Int64Array) -> None:
        self.texts, self.every = texts, every
        self.width = len(texts[1].sentences) + 1
        bounds = run_bounds(key)
        self.starts, self.ends = bounds[:-1], bounds[1:]
        columns = (every.taken.masses, every.costs, every.shares)
        self.sums = [np.add.reduceat(some, self.starts) if len(key) else some for some in columns]
        self.left, self.right = np.divmod(key[self.starts], self.width)

    def __len__(self) -> int:
        return len(self.starts)

    def _objects(self) -> tuple[SentencePair, ...]:
        nearest = np.lexsort((self.right, -self.sums[0], self.left))
        spans = map(slice, self.starts[nearest].tolist(), self.ends[nearest].tolist())
        texts_of = ([*text.sentences, None].__getitem__ for text in self.texts)  # the last is that of words in none
        numbers = self.left, self.right
        ends_of = (map(find, some[nearest].tolist()) for find, some in zip(texts_of, numbers, strict=True))
        values = (some[nearest].tolist() for some in self.sums)
        return tuple(map(SentencePair, *ends_of, *values, repeat(self.every), spans))


@dataclass(frozen=True, repr=False)
class SentenceExplanation(Tabular):
    """A distance taken apart by sentences: which clause went to which, and then its words.

    The costs of the pairs sum to the distance. A word that stands in several sentences is taken from that which has
    most in common with the sentence it goes to.
    """

    explanation: Explanation
    pairs: Sequence[SentencePair]
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


def by_sentence(explanation: Explanation, texts: tuple[SplitText, SplitText]) -> SentenceExplanation:
    """Give each move of words the sentences that the words stand in."""
    check_cancelled()
    rows = Rows.of(explanation.rows)
    taken, nearest = rows.taken, np.argsort(rows.taken.distances, kind="stable")
    number = dict(zip(rows.names, range(len(rows.names)), strict=True))
    first, second = (
        Placed.of(text, number, bag) for text, bag in zip(texts, (explanation.a, explanation.b), strict=True)
    )
    ends = (taken.sources[nearest], taken.targets[nearest])[:: -1 if explanation.side == "right" else 1]
    # The side that a relaxed distance moves onto has no mass of its own: it may take any amount.
    onto = {"left": 1, "right": 0}.get(explanation.side)
    moves = taken.masses[nearest], taken.distances[nearest]
    row, one, other, mass = _shared_out(moves, (first, second), ends, onto)
    row = nearest[row]
    key = first.sentences[one] * (len(texts[1].sentences) + 1) + second.sentences[other]
    order = np.lexsort((-rows.costs[row] * rows.parts(row, mass), key))
    return SentenceExplanation(explanation, Pairs(texts, rows.select(row[order], mass[order]), key[order]))


Shared = tuple[Int64Array, Int64Array, Int64Array, Float64Array]
"""Parts of moves: the row, the entry of a word of each text, and the mass."""


def _shared_out(
    moves: tuple[Float64Array, Float64Array],
    texts: tuple[Placed, Placed],
    ends: Sequence[Int64Array],
    onto: int | None,
) -> Shared:
    """Share out the mass of every move, the shortest first, to sentences that have most to do with each other.

    ``moves`` are their masses and distances, the distances ascending.
    How much two sentences have to do with each other is closeness times mass, over all moves that could join them.
    """
    masses, distances = moves
    (low, size), (other_low, other_size) = (placed.spans(words) for placed, words in zip(texts, ends, strict=True))
    ways = size * other_size
    few = np.flatnonzero(ways <= _MOST_WAYS)
    row = np.repeat(few, ways[few])
    step = np.arange(len(row)) - np.repeat(np.cumsum(ways[few]) - ways[few], ways[few])
    one, other = low[row] + step // other_size[row], other_low[row] + step % other_size[row]
    farthest = float(distances[-1]) if len(distances) else 1.0
    weights = masses * (1.0 - distances / (farthest or 1.0)) / ways
    places = texts[0].sentences[one] * (int(texts[1].sentences.max(initial=0)) + 1) + texts[1].sentences[other]
    if places.max(initial=0) > _MOST_CELLS:
        _, places = np.unique(places, return_inverse=True)
    affinity = np.bincount(places, weights[row], minlength=1)[places]
    single = ways[row] == 1
    parts = [(row[single], one[single], other[single], masses[row[single]])]
    several = np.flatnonzero(~single)
    left = texts[0].masses.copy(), texts[1].masses.copy()
    if onto is not None:
        left[onto][:] = math.inf
    starts = run_bounds(row[several])
    found = Ways(starts, one[several], other[several], affinity[several])
    kept, mass = share_out(found, masses[row[several[starts[:-1]]]], left)
    some = several[kept]
    parts.append((row[some], one[some], other[some], mass))
    for number in np.flatnonzero(ways > _MOST_WAYS).tolist():
        check_cancelled()
        whole = float(masses[number])
        spans = [range(a[number], a[number] + b[number]) for a, b in ((low, size), (other_low, other_size))]
        if onto is not None:  # an equal part into each
            into = spans[onto]
            left[onto][into.start : into.stop] = whole / len(into)
        parts.append(_in_order(number, whole, spans, left))
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))  # type: ignore[return-value]


def _in_order(row: int, mass: float, spans: Sequence[range], left: Sequence[Float64Array]) -> Shared:
    """A word of many sentences goes from the first to the first, the next to the next, and so on."""
    upto = [np.cumsum(some[span.start : span.stop])[:-1] for some, span in zip(left, spans, strict=True)]
    bounds = np.sort(np.concatenate([[0.0, mass], *upto]).clip(0.0, mass))
    masses = np.diff(bounds)
    some = np.flatnonzero(masses > _NOTHING * mass)
    masses, begins = masses[some], bounds[some]
    ends = [span.start + np.searchsorted(ends, begins, "right") for ends, span in zip(upto, spans, strict=True)]
    for rest, places in zip(left, ends, strict=True):
        np.subtract.at(rest, places, masses)
    return np.full(len(some), row), ends[0], ends[1], masses
