"""The words and the documents of an index as word search takes them: from where they are stored."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from wordferry.base.arrays import BoolArray, Float64Array, Int32Array, Int64Array, distinct
from wordferry.errors import FormatError
from wordferry.find.forms import Place
from wordferry.find.lists import Around, Counted, Scored, around, stems_among
from wordferry.find.stems import UInt64Array
from wordferry.index.catalogue import damaged
from wordferry.index.others import Counts, words_numbered
from wordferry.index.segments import Rows, with_remedy
from wordferry.index.stems import StemNumbers, Stems, WordKeys
from wordferry.kernels import stored_words
from wordferry.kernels.native_lists import QueryWords, Saturation
from wordferry.kernels.stored_words import QueryForms, StemsOfWords, WordPart

_KEPT = 1 << 16


@dataclass(frozen=True, eq=False)
class StoredPart:
    """A part of an index: its lists and bags, and its stems with the numbers that they have while the index is open."""

    rows: Rows
    lists: WordPart
    stems: Stems
    numbers: Int32Array

    @classmethod
    def of(cls, rows: Rows, stems: Stems, numbers: Int32Array) -> StoredPart:
        """ValueError when something leads outside, which only damage does."""
        bags = rows.bags
        own = ((bags.indptr, bags.words, bags.counts), (bags.others.indptr, bags.others.words, bags.others.counts))
        return cls(rows, WordPart((rows.lists, rows.other_lists), own, rows.totals), stems, numbers)


class OtherTexts:
    """The words without a vector that were asked for, by their numbers and back."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.words: dict[int, str] = {}
        self.numbers: dict[str, int] = {}

    def put(self, rows: Iterable[tuple[int, str]]) -> None:
        """Remember rows of the table of the catalogue."""
        for number, word in rows:
            self.words[number] = word
            self.numbers[word] = number


class StoredForms:
    """The words of one state of an index: those with a vector by their ids, the others behind them."""

    def __init__(
        self,
        keys: WordKeys,
        numbers: StemNumbers,
        group_of: Int32Array,
        parts: Sequence[StoredPart],
        texts: OtherTexts,
    ) -> None:
        self.group_of = group_of
        self.size = len(keys.vocabulary)
        self._keys, self._numbers, self._parts, self._texts = keys, numbers, tuple(parts), texts
        self._words: dict[int, Int32Array] = {}
        self._places: dict[str, Place | None] = {}

    @property
    def stem_keys(self) -> UInt64Array:
        """The key of each stem, by its number."""
        return self._numbers.keys

    def words_of(self, group: int) -> Int32Array:
        """The words of a stem, rising."""
        found = self._words.get(group)
        if found is None:
            key = int(self._numbers.keys[group])
            own = [part.stems.words_of(key) for part in self._parts]
            found = distinct(np.concatenate([np.zeros(0, dtype=np.int32), *own]))
            self._words[group] = found
        return found

    def look_up(self, connection: sqlite3.Connection, words: Iterable[str]) -> None:
        """Read what is needed to know the forms of some words of queries."""
        if len(self._places) > _KEPT:
            self._places, self._words = {}, {}
        new = [word for word in dict.fromkeys(words) if word not in self._places]
        groups = self._groups(new)
        wanted = {int(n) - self.size: g for g in set(groups) if g >= 0 for n in self.words_of(g) if n >= self.size}
        missing = [number for number in wanted if number not in self._texts.words]
        if missing:
            texts = words_numbered(connection, missing, self._texts.file)
            right = self._numbers.keys[[wanted[number] for number in missing]]
            if not np.array_equal(self._keys.of_words(texts), right):
                raise damaged(self._texts.file, "the list of words without vectors")
            self._texts.put(zip(missing, texts, strict=True))
        for word, group in zip(new, groups, strict=True):
            self._places[word] = self._place(word, group)

    def _groups(self, words: Sequence[str]) -> list[int]:
        """The stem of each word, -1 when no document has any form of it."""
        vocabulary = self._keys.vocabulary
        groups = [int(self.group_of[vocabulary.id(word)]) if word in vocabulary else -1 for word in words]
        strange = [place for place, group in enumerate(groups) if group < 0]
        if strange:
            keys = self._keys.of_words([words[place] for place in strange])
            for place, key in zip(strange, keys.tolist(), strict=True):
                groups[place] = self._numbers.find(key)
        return groups

    def _place(self, word: str, group: int) -> Place | None:
        if group < 0:
            return None
        vocabulary = self._keys.vocabulary
        other = self._texts.numbers.get(word, -1)
        number = vocabulary.id(word) if word in vocabulary else -1 if other < 0 else self.size + other
        has = 0 <= number < len(self.group_of) and self.group_of[number] >= 0
        return Place(group, number if has else -1)

    def place(self, word: str) -> Place | None:
        """The stem and the form of a word that was looked up; None when no document has any form of it."""
        try:
            return self._places[word]
        except KeyError:  # looked up, but so much was asked since that it was forgotten
            return self._place(word, self._groups([word])[0])

    def word(self, number: int) -> str:
        """A word by its number, if its stem is one of a word that was looked up."""
        return self._keys.vocabulary[number] if number < self.size else self._texts.words[number - self.size]

    def expand(self, query: QueryWords) -> QueryForms:
        """The words behind the stems of a query."""
        words = [self.words_of(group) for group in query.groups.tolist()]
        slots = np.repeat(np.arange(len(words), dtype=np.int32), [len(some) for some in words])
        found = np.concatenate([np.zeros(0, dtype=np.int32), *words])
        is_other = found >= self.size
        own = (found - self.size * is_other).astype(np.int32)
        exact = found == query.forms[slots]
        return QueryForms(slots, own, is_other.astype(np.uint8), exact.astype(np.uint8), query.factors)


class StoredDocuments:
    """The documents of one state of an index, in one or more parts.

    ``first``: nothing of a large index is mapped yet. Its first search then goes through the parts one by one and lets
    each of them go, so that a process that searches once never maps the whole; the next query maps it.
    """

    def __init__(self, parts: Sequence[StoredPart], forms: StoredForms, file: Path, *, first: bool = False) -> None:
        self.parts = tuple(parts)
        self._first = {"best", "around"} if first else set()
        self._lists = [part.lists for part in parts]
        self._forms = forms
        self._file = file
        self._starts = np.concatenate(([0], np.cumsum([len(part.lists) for part in parts]))).astype(np.int64)

    def __len__(self) -> int:
        return int(self._starts[-1])

    def df(self, alive: BoolArray | None) -> Int64Array:
        """In how many documents, or living documents, each stem stands."""
        total = np.zeros(len(self._forms.stem_keys), dtype=np.int64)
        for part in self.parts:
            total[part.numbers] += part.stems.df
        if alive is not None:
            total -= stems_among(self.bags(np.flatnonzero(~alive)), self._forms.group_of, len(total))
        return total

    def tokens(self, alive: BoolArray | None) -> int:
        """The tokens of all documents, or of the living ones."""
        return sum(part.lists.tokens(None if alive is None else alive[span]) for part, span in self._spans())

    def _spans(self) -> Iterator[tuple[StoredPart, slice]]:
        """The parts, and which rows are theirs."""
        for part, start in zip(self.parts, self._starts[:-1].tolist(), strict=True):
            yield part, slice(start, start + len(part.lists))

    def _is_first(self, what: str) -> bool:
        found = what in self._first
        self._first.discard(what)
        return found

    def best(self, query: QueryWords, saturation: Saturation, k: int, allowed: BoolArray | None) -> Scored:
        """The best k rows with a score above 0, by (score falling, row rising)."""
        forms = self._forms.expand(query)
        if not self._is_first("best"):
            return self._best(self._lists, forms, saturation, k, allowed)
        found = []
        for part, span in self._spans():
            mask = None if allowed is None else allowed[span]
            own = self._best([part.lists], forms, saturation, k, mask)
            found.append(own._replace(rows=own.rows + span.start))
            part.rows.let_go()
        rows, scores = np.concatenate([one.rows for one in found]), np.concatenate([one.scores for one in found])
        order = np.lexsort((rows, -scores))[:k]
        counts = (sum(one.visited for one in found), sum(one.evaluated for one in found))
        return Scored(rows[order], scores[order], *counts)

    def _best(
        self, lists: Sequence[WordPart], forms: QueryForms, saturation: Saturation, k: int, allowed: BoolArray | None
    ) -> Scored:
        try:
            return Scored(*stored_words.best(lists, forms, saturation, k, allowed))
        except ValueError as error:
            raise self.damaged(error) from None

    def around(self, rows: Int64Array, m: int, idf: Float64Array, wanted: Int32Array) -> Around:
        """The m nearest of some rows to each of them, and which of them have all wanted stems."""
        if self._is_first("around"):
            return around(self.bags(rows, let_go=True), self._forms.group_of, m, idf, wanted)
        stems = StemsOfWords(self._forms.group_of, self._forms.size, idf)
        try:
            return Around(*stored_words.near(self._lists, stems, rows, wanted, m))
        except ValueError as error:
            raise self.damaged(error) from None

    def damaged(self, error: Exception) -> FormatError:
        """The error for a segment too large to be compared with its checksums."""
        return with_remedy(FormatError(f"A segment of {self._file.parent} is damaged: {error}."))

    def bags(self, rows: Int64Array, *, let_go: bool = False) -> Counted:
        """The bags of some rows of any parts, in the order given."""
        number = np.searchsorted(self._starts, rows, side="right") - 1
        found = []
        for place, part in enumerate(self.parts):
            bags = part.rows.bags
            own = rows[number == place] - self._starts[place]
            known = Counts(bags.indptr, bags.words, bags.counts).select(own)
            found.append(_together(known, bags.others.select(own), self._forms.size))
            if let_go:
                part.rows.let_go()
        sizes = np.concatenate([np.zeros(0, np.int64), *(np.diff(some.indptr) for some in found)])
        joined = Counted(
            np.concatenate(([0], np.cumsum(sizes))).astype(np.int64),
            np.concatenate([np.zeros(0, np.int32), *(some.words for some in found)]),
            np.concatenate([np.zeros(0, np.int32), *(some.counts for some in found)]),
        )
        return joined.select(np.argsort(np.argsort(number, kind="stable"), kind="stable"))


def _together(known: Counts, others: Counts, size: int) -> Counted:
    """Both kinds of words of each row, one after the other."""
    sizes = [np.diff(some.indptr) for some in (known, others)]
    indptr = np.concatenate(([0], np.cumsum(sizes[0] + sizes[1]))).astype(np.int64)
    words, counts = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.int32)
    start = indptr[:-1]
    for some, own, behind in zip((known, others), sizes, (0, size), strict=True):
        places = np.repeat(start - some.indptr[:-1], own) + np.arange(len(some.words))
        words[places], counts[places] = some.words.astype(np.int32) + behind, some.counts
        start = start + own
    return Counted(indptr, words, counts)
