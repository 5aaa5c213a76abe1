"""Word search over an index: stems and documents of its parts, counts of all shards, from a query to its ranking."""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from wordferry.base import storage
from wordferry.base.arrays import Int32Array, Int64Array, distinct
from wordferry.base.runtime import check_cancelled, progress_for
from wordferry.errors import FormatError
from wordferry.find.ranking import DocumentsPart, FormPlace, Ranker, Ranking, Statistics
from wordferry.find.settings import Settings
from wordferry.find.stems import UInt64Array
from wordferry.index.search.requests import Ask
from wordferry.index.storage.catalogue import Database
from wordferry.index.storage.segments import SegmentRows, with_remedy
from wordferry.index.storage.snapshot import OpenState, reading_parts
from wordferry.index.storage.stems import SegmentStems, StemNumbers, WordKeys
from wordferry.index.storage.terms import find_terms, find_words

if TYPE_CHECKING:
    from wordferry.find.explaining import ScoreExplanation

KIND = "collection statistics"
_KEPT = 2
_KEPT_WORDS = 1 << 16


@dataclass(frozen=True, eq=False)
class CollectionStatistics(Statistics):
    """Counts that weights and scores are made of, summed up over all shards of a collection.

    All shards number their words alike, so that counts can be added.
    """

    known_tokens: int
    """Tokens that have a vector."""
    frequencies: Int64Array
    """Document frequency of each word, by its number."""
    stem_keys: UInt64Array
    """The keys of the stems, ascending."""
    fields: frozenset[str] = frozenset()
    """Every field of the documents' metadata."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write them as a folder with checksums."""
        arrays: dict[str, Any] = {name: getattr(self, name) for name in ("frequencies", "df", "stem_keys")}
        config = {"documents": self.documents, "tokens": self.tokens, "known_tokens": self.known_tokens}
        storage.write_folder(path, KIND, config | {"fields": sorted(self.fields)}, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> CollectionStatistics:
        """Read them from such a folder."""
        folder = storage.read_folder(path, KIND)
        values: dict[str, Any] = {name: np.array(array) for name, array in folder.arrays.items()} | folder.config
        return cls(**values | {"fields": frozenset(values["fields"])})


class StoredForms:
    """The words of one state of an index and their stems; what a query needs is read when it is looked up."""

    def __init__(
        self,
        keys: WordKeys,
        numbers: StemNumbers,
        words: tuple[Int32Array, Int64Array],
        stems: Sequence[SegmentStems],
    ) -> None:
        """``words`` are the stem of each word, and the stop words."""
        self.group_of, self.stop = words
        self._keys, self._numbers, self._stems = keys, numbers, tuple(stems)
        self._words: dict[int, Int32Array] = {}
        """The words of the stems that were looked up."""
        self.places: dict[str, FormPlace | None] = {}
        """The words of queries that were looked up; None where no document has any form of one."""
        self._names: dict[int, str] = {}

    @property
    def stem_keys(self) -> UInt64Array:
        """The key of each stem, by its number."""
        return self._numbers.keys

    def words_of(self, group: int) -> Int32Array:
        """The words of a stem that was looked up, ascending."""
        return self._words[group]

    def look_up(self, connection: Database, words: Iterable[str]) -> None:
        """Read what is needed to know the forms of some words of queries."""
        new = [word for word in dict.fromkeys(words) if word not in self.places]
        if not new:
            return
        numbers = {word: number for number, word in find_terms(connection, "word", new)}
        keys = self._keys.of_words(new).tolist()
        for word, key in zip(new, keys, strict=True):
            group, number = self._numbers.find(key), numbers.get(word, -1)
            if group >= 0 and group not in self._words:
                own = [stems.words_of(key) for stems in self._stems]
                self._words[group] = distinct(np.concatenate([np.zeros(0, dtype=np.int32), *own]))
            known = 0 <= number < len(self.group_of) and self.group_of[number] >= 0
            self.places[word] = None if group < 0 else FormPlace(group, number if known else -1)

    def spell(self, connection: Database, groups: Iterable[int]) -> None:
        """Read the words of some stems, for explanations."""
        missing = [n for group in groups for n in self.words_of(group).tolist() if n not in self._names]
        self._names |= find_terms(connection, "number", missing)

    def place(self, word: str) -> FormPlace | None:
        """The stem and the number of a word that was looked up; None when no document has any form of it."""
        return self.places.get(word)

    def word(self, number: int) -> str:
        """A word by its number, if the words of its stem were read; one that was forgotten since has no spelling."""
        return self._names.get(number, "?")


class WordSearcher:
    """The words and documents of an index's parts, mapped when they are first needed and kept while they are there."""

    def __init__(self, language: str, file: Path, together: CollectionStatistics | None = None) -> None:
        self._together = together
        self._file = file
        self._mutex = Lock()
        self._keys = WordKeys(language)
        self._numbers = StemNumbers(None if together is None else together.stem_keys)
        self._group_of = np.zeros(0, dtype=np.int32)
        self._parts: dict[Any, tuple[SegmentStems, DocumentsPart]] = {}
        self._recent: OrderedDict[int, tuple[Ranker, StoredForms]] = OrderedDict()

    def ranker(self, state: OpenState, asked: Iterable[Sequence[str]] = ()) -> tuple[Ranker, StoredForms]:
        """What ranks the documents of a snapshot, ready for questions in the words of ``asked``."""
        with self._mutex:
            generation = state.snapshot.generation
            found = self._recent.get(generation)
            if found is None or len(found[1].places) > _KEPT_WORDS:  # whoever searches with the full one keeps it
                found = self._recent[generation] = self._made(state)
                while len(self._recent) > _KEPT:
                    self._recent.pop(min(self._recent))
            found[1].look_up(state.connection, (word for tokens in asked for word in tokens))
        return found

    def _made(self, state: OpenState) -> tuple[Ranker, StoredForms]:
        snapshot = state.snapshot
        more = np.full(max(snapshot.terms.size - len(self._group_of), 0), -1, dtype=np.int32)
        self._group_of = np.concatenate([self._group_of, more])  # those who have the earlier one keep it as it is
        parts = {part.key: self._parts.get(part.key) or self._part(part.rows, state) for part in snapshot.parts}
        self._parts = parts
        stems, documents = [one for one, _ in parts.values()], [one for _, one in parts.values()]
        forms = StoredForms(self._keys, self._numbers, (self._group_of, snapshot.terms.stop), stems)
        return Ranker(documents, forms, len(self._numbers), snapshot.alive, self._together), forms

    def _part(self, rows: SegmentRows, state: OpenState) -> tuple[SegmentStems, DocumentsPart]:
        try:
            stems = rows.stems
            if stems is None or stems.edition != self._keys.edition:
                for other in (part.rows.stems for part in state.snapshot.parts):
                    if other is not None and other.edition == self._keys.edition:
                        other.check(len(self._group_of))
                        self._keys.learn(other)  # so that only words that no segment has need to be stemmed
                stems = self._keys.stems(rows, partial(find_words, state.connection))
            stems.check(len(self._group_of))
            groups = self._numbers.take(np.asarray(stems.keys))
            self._group_of[stems.words] = np.repeat(groups, np.diff(stems.starts))
            return stems, DocumentsPart(rows.bags.rows, rows.lengths, rows.worded, groups, stems.df, rows.bags.codes)
        except FormatError:  # of the catalogue
            raise
        except (IndexError, ValueError) as error:  # of a segment too large to be compared with its checksums
            message = f"A segment of {self._file.parent} is damaged: {error}."
            raise with_remedy(FormatError(message)) from None

    def rank(
        self, state: OpenState, asked: Sequence[Sequence[str]], ask: Ask, settings: Settings
    ) -> tuple[list[Ranking], dict[str, int]]:
        """The ranking of every query, given as tokens, and how much was looked at."""
        allowed = state.snapshot.allowed(ask.condition)
        ranker, _ = self.ranker(state, asked)
        rankings = []
        tell = None if ask.progress is None else progress_for(ask.progress, "searching")
        for number, tokens in enumerate(asked, start=1):
            check_cancelled()
            vector = None if ask.vectors is None else ask.vectors[number - 1]
            with reading_parts(*state.snapshot.parts):
                rankings.append(ranker.search(tokens, ask.k, settings, allowed=allowed, vector=vector))
            if tell is not None:
                tell(number, len(asked))
        counts = {
            "pairs": len(rankings) * state.snapshot.count(allowed),
            "postings": sum(one.visited for one in rankings),
            "evaluated": sum(one.evaluated for one in rankings),
        }
        return rankings, counts

    def explain(
        self, state: OpenState, ranking: Ranking, place: int, names: Sequence[str] | None = None
    ) -> ScoreExplanation:
        """What a score is made of; the ids of neighbours are ``names``, or those that the segments have."""
        from wordferry.find.explaining import explain_score, neighbours_of

        if names is None:
            rows, parts = ranking.neighbours[place, neighbours_of(ranking, place)].tolist(), state.snapshot.parts
            near = [(next(one for one in parts if row < one.span.stop), row) for row in rows]
            names = [part.rows.columns.own_id(row - part.start) for part, row in near]
        ranker, forms = self.ranker(state, [[word.word for word in ranking.query]])
        with self._mutex:
            forms.spell(state.connection, [word.group for word in ranking.query])
        return explain_score(ranker, ranking, place, names)
