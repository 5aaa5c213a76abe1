"""Finding by words in an index: the lists of its parts, and from a query to hits with scores."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from wordferry.base.arrays import BoolArray, Float64Array, Int32Array, Int64Array
from wordferry.base.cancel import check_cancelled
from wordferry.base.runtime import ShowProgress, no_progress, progress_for
from wordferry.compare.search import check_k
from wordferry.errors import FormatError
from wordferry.find.explaining import ScoreExplanation, explain_score, neighbour_rows
from wordferry.find.forms import Forms
from wordferry.find.lists import Counted
from wordferry.find.ranking import Collection, Ranking
from wordferry.find.settings import Settings
from wordferry.index.config import Config
from wordferry.index.filters import Condition, compile_filter
from wordferry.index.model import Hit, Hits
from wordferry.index.others import EMPTY, Counts, read_others
from wordferry.index.passages import Passage, best_passages
from wordferry.index.searching import document, found_documents, found_ids
from wordferry.index.segments import Bags, Rows, with_remedy
from wordferry.index.snapshot import Snapshot
from wordferry.index.totals import Totals
from wordferry.kernels import related_lists
from wordferry.kernels.native_lists import QueryWords, Saturation
from wordferry.kernels.related_lists import QueryForms
from wordferry.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from wordferry.index.index import Index

_KEPT = 2


@dataclass(frozen=True, eq=False)
class _Documents:
    """The documents of a part under the numbers of the forms; read from their files when they are asked for."""

    bags: Bags
    known: Int32Array
    others: Int32Array

    def select(self, rows: Int64Array) -> Counted:
        """Some rows, in the order given."""
        known = Counts(self.bags.indptr, self.bags.words, self.bags.counts)
        return self._numbered(known.select(rows), self.bags.others.select(rows))

    def _numbered(self, known: Counts, others: Counts) -> Counted:
        """Both kinds of words of each row, one after the other."""
        sizes = [np.diff(some.indptr) for some in (known, others)]
        indptr = np.concatenate(([0], np.cumsum(sizes[0] + sizes[1]))).astype(np.int64)
        words, counts = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], np.int32)
        start = indptr[:-1]
        for some, size, number in zip((known, others), sizes, (self.known, self.others), strict=True):
            places = np.repeat(start - some.indptr[:-1], size) + np.arange(len(some.words))
            words[places], counts[places] = number[some.words], some.counts
            start = start + size
        return Counted(indptr, words, counts)


@dataclass(frozen=True, eq=False)
class _Stems:
    """Which words belong to which stem, by the numbers that the index's lists have them under."""

    known: Int32Array
    """The stem of each word with a vector, or -1."""
    others: Int32Array
    """That of each word without."""
    starts: Int64Array
    """Where the words of each stem begin in the arrays below."""
    words: Int32Array
    is_other: npt.NDArray[np.uint8]
    forms: Int32Array

    @classmethod
    def of(cls, forms: Forms, known: Int32Array, others: Int32Array) -> _Stems:
        """From the number of each word among the forms (-1 for words that no document has)."""
        group_of, form_of = forms.arrays
        ids = [np.flatnonzero(numbers >= 0) for numbers in (known, others)]
        numbers = np.concatenate([known[ids[0]], others[ids[1]]])
        groups = group_of[numbers]
        order = np.argsort(groups, kind="stable")
        return cls(
            np.where(known >= 0, group_of[known], -1).astype(np.int32),
            np.where(others >= 0, group_of[others], -1).astype(np.int32),
            np.searchsorted(groups[order], np.arange(forms.groups + 1)),
            np.concatenate(ids)[order].astype(np.int32),
            np.repeat(np.array([0, 1], np.uint8), [len(some) for some in ids])[order],
            form_of[numbers][order].astype(np.int32),
        )

    def expand(self, query: QueryWords) -> QueryForms:
        """The words behind the stems of a query."""
        spans = [np.arange(self.starts[group], self.starts[group + 1]) for group in query.groups.tolist()]
        places = np.concatenate([np.zeros(0, np.int64), *spans])
        slots = np.repeat(np.arange(len(spans)), [len(span) for span in spans]).astype(np.int32)
        exact = self.forms[places] == query.forms[slots]
        words, other = self.words[places], self.is_other[places]
        return QueryForms(slots, words, other, exact.astype(np.uint8), query.factors)


class StoredLists:
    """A part of an index as word search takes it: its lists are where they are stored, and nothing is made of them."""

    def __init__(self, rows: Rows, stems: _Stems, groups: int, source: _Documents) -> None:
        self.lengths = _lengths(rows)
        self._lists = related_lists.WordLists(rows.lists, rows.other_lists, self.lengths)
        self._stems, self.source, self.groups = stems, source, groups
        self.df = self._lists.stem_frequencies(stems.known, stems.others, groups)

    def __len__(self) -> int:
        return len(self.lengths)

    def best(
        self, query: QueryWords, saturation: Saturation, k: int, allowed: BoolArray | None = None
    ) -> tuple[Int64Array, Float64Array]:
        """The best k rows with a score above 0, by (score falling, row rising)."""
        return self._lists.best(self._stems.expand(query), saturation, k, allowed)


def _lengths(rows: Rows) -> Int32Array:
    """Tokens of each document, with a vector or without."""
    others = rows.bags.others
    sums = np.concatenate(([0], np.cumsum(others.counts, dtype=np.int64)))
    return rows.totals.astype(np.int32) + np.diff(sums[others.indptr]).astype(np.int32)


class WordEngine:
    """The lists of an index's parts, made when they are first needed and kept while the parts are there."""

    def __init__(self, vocabulary: Vocabulary, language: str, file: Path, totals: Totals | None = None) -> None:
        self._vocabulary = vocabulary
        self._together = None if totals is None else totals.statistics
        self._file = file
        self._mutex = Lock()
        self._forms = Forms(language)
        self._known = np.full(len(vocabulary), -1, dtype=np.int32)
        self._others = np.zeros(0, dtype=np.int32)
        self._read: dict[str, Any] = EMPTY
        """The state whose words without vectors have a number."""
        self._lists: dict[Any, StoredLists] = {}
        self._stems: _Stems | None = None
        self._recent: OrderedDict[int, Collection] = OrderedDict()

    def collection(self, connection: sqlite3.Connection, snapshot: Snapshot) -> Collection:
        """The documents of a snapshot, ready for questions."""
        with self._mutex:
            found = self._recent.get(snapshot.generation)
            if found is None:
                self._number(connection, snapshot)
                self._lists = {part.key: self._lists.get(part.key) or self._made(part.rows) for part in snapshot.parts}
                found = Collection(self._forms, list(self._lists.values()), snapshot.alive, self._together)
                self._recent[snapshot.generation] = found
                while len(self._recent) > _KEPT:
                    self._recent.pop(min(self._recent))
            return found

    def _number(self, connection: sqlite3.Connection, snapshot: Snapshot) -> None:
        """Give every word of the snapshot a number, with a vector or without."""
        new = snapshot.words[self._known[snapshot.words] < 0]
        if len(new):
            known = self._known.copy()  # parts that are there keep the one they have
            known[new] = self._forms.numbers([self._vocabulary[i] for i in new.tolist()])
            self._known, self._stems = known, None
        count = int(snapshot.state["others"])
        if count > len(self._others):
            rows = read_others(connection, snapshot.state, self._file, self._read)
            others = np.full(count, -1, dtype=np.int32)
            others[: len(self._others)] = self._others
            others[[row[0] for row in rows]] = self._forms.numbers([row[1] for row in rows])
            self._others, self._read, self._stems = others, snapshot.state, None

    def _made(self, rows: Rows) -> StoredLists:
        if self._stems is None:
            self._stems = _Stems.of(self._forms, self._known, self._others)
        try:
            return StoredLists(rows, self._stems, self._forms.groups, _Documents(rows.bags, self._known, self._others))
        except (IndexError, ValueError) as error:  # of a segment too large to be compared with its checksums
            raise with_remedy(FormatError(f"A segment of {self._file.parent} is damaged: {error}.")) from None


@dataclass(frozen=True)
class Question:
    """The checked options of a search by words."""

    k: int
    settings: Settings
    condition: Condition | None
    explain: bool

    @classmethod
    def check(
        cls, config: Config, k: int, filter: Mapping[str, Any] | None, explain: bool, constants: Mapping[str, Any]
    ) -> Question:
        """The index's own settings, but for what the call says."""
        settings = Settings().changed(**config.settings).changed(**constants)
        return cls(check_k(k), settings, compile_filter(filter), explain)


def run(
    index: Index,
    connection: sqlite3.Connection,
    snapshot: Snapshot,
    question: Question,
    asked: Sequence[Sequence[str]],
    progress: ShowProgress,
) -> list[Hits]:
    """The hits of every query, given as tokens."""
    allowed = snapshot.allowed(question.condition)
    collection = index.words.collection(connection, snapshot)
    rankings = []
    tell = progress_for(progress, "searching") or no_progress
    for number, tokens in enumerate(asked, start=1):
        check_cancelled()
        rankings.append(collection.search(tokens, question.k, question.settings, allowed=allowed))
        tell(number, len(asked))
    rows = found_documents(index, connection, snapshot, _all(one.rows for one in rankings))
    near = _all(one.neighbours.ravel() for one in rankings)
    ids = found_ids(index, connection, snapshot, near[near >= 0])
    return [
        _hits(collection, ranking, rows, ids, question.explain, partial(best_passages, index, snapshot, tokens))
        for ranking, tokens in zip(rankings, asked, strict=True)
    ]


def _all(arrays: Any) -> Int64Array:
    return np.unique(np.concatenate([np.zeros(0, np.int64), *arrays]))


def _hits(
    collection: Collection,
    ranking: Ranking,
    rows: dict[int, tuple[Any, ...]],
    ids: dict[int, str],
    explain: bool,
    passages: Callable[..., list[Passage]],
) -> Hits:
    hits = []
    for place, (row, score) in enumerate(zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True)):
        found = document(rows[row])
        names = [ids[one] for one in neighbour_rows(ranking, place)]
        why = partial(explain_score, collection, ranking, place, names)
        reason: ScoreExplanation | None = why() if explain else None
        where = partial(passages, found.text)
        own = (found.id, found.text, found.metadata, found.label)
        hits.append(Hit(*own, score=score, explanation=reason, why=why, where=where))
    return Hits(hits, method="words")
