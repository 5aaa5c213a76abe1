"""Finding by words in an index: from a query to hits with scores."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from wordferry.base.arrays import Int64Array, distinct
from wordferry.base.cancel import check_cancelled
from wordferry.base.runtime import ShowProgress, no_progress, progress_for
from wordferry.compare.search import check_k
from wordferry.errors import FormatError
from wordferry.find.explaining import ScoreExplanation, explain_score, neighbour_rows
from wordferry.find.ranking import Collection, Ranking
from wordferry.find.settings import Settings
from wordferry.index.config import Config
from wordferry.index.filters import Condition, compile_filter
from wordferry.index.model import Hit, Hits
from wordferry.index.others import EMPTY, read_others
from wordferry.index.passages import Passage, best_passages
from wordferry.index.searching import document, found_documents
from wordferry.index.segments import Rows, with_remedy
from wordferry.index.snapshot import Snapshot
from wordferry.index.stems import StemNumbers, WordKeys
from wordferry.index.stored_words import OtherTexts, StoredDocuments, StoredForms, StoredPart
from wordferry.index.totals import Totals
from wordferry.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from wordferry.index.index import Index

_KEPT = 2
LARGE = 1 << 18
"""An index of more documents than this is searched part by part at first, so that it is never mapped as a whole."""
FEW_OTHERS = 1 << 12
"""Up to so many words without vectors are read and compared with their checksum whenever an index is searched."""


class WordEngine:
    """The words and documents of an index's parts, mapped when they are first needed and kept while they are there."""

    def __init__(self, vocabulary: Vocabulary, language: str, file: Path, totals: Totals | None = None) -> None:
        self._together = None if totals is None else totals.statistics
        self._file = file
        self._mutex = Lock()
        self._keys = WordKeys(vocabulary, language, file)
        self._numbers = StemNumbers(None if totals is None else totals.stem_keys)
        self._group_of = np.full(len(vocabulary), -1, dtype=np.int32)
        self._texts = OtherTexts(file)
        self._read: dict[str, Any] = EMPTY
        """The state whose words without vectors were all read."""
        self._parts: dict[Any, StoredPart] = {}
        self._recent: OrderedDict[int, tuple[Collection, StoredForms]] = OrderedDict()

    def collection(
        self, connection: sqlite3.Connection, snapshot: Snapshot, asked: Iterable[Sequence[str]] = ()
    ) -> Collection:
        """The documents of a snapshot, ready for questions in the words of ``asked``."""
        with self._mutex:
            found = self._recent.get(snapshot.generation)
            if found is None:
                found = self._recent[snapshot.generation] = self._made(connection, snapshot)
                while len(self._recent) > _KEPT:
                    self._recent.pop(min(self._recent))
            found[1].look_up(connection, (word for tokens in asked for word in tokens))
        return found[0]

    def _made(self, connection: sqlite3.Connection, snapshot: Snapshot) -> tuple[Collection, StoredForms]:
        others = int(snapshot.state["others"])
        if others <= FEW_OTHERS:
            self._texts.put(read_others(connection, snapshot.state, self._file, self._read))
            self._read = snapshot.state
        more = np.full(max(len(self._keys.vocabulary) + others - len(self._group_of), 0), -1, dtype=np.int32)
        self._group_of = np.concatenate([self._group_of, more])  # those who have the earlier one keep it as it is
        parts = {part.key: self._parts.get(part.key) for part in snapshot.parts}
        for part in snapshot.parts:
            parts[part.key] = parts[part.key] or self._part(part.rows, connection, snapshot)
        self._parts = {key: part for key, part in parts.items() if part is not None}
        own = list(self._parts.values())
        forms = StoredForms(self._keys, self._numbers, self._group_of, own, self._texts)
        first = len(snapshot.numbers) > LARGE and snapshot.first_search()
        documents = StoredDocuments(own, forms, self._file, first=first)
        return Collection(forms, documents, snapshot.alive, self._together), forms

    def _part(self, rows: Rows, connection: sqlite3.Connection, snapshot: Snapshot) -> StoredPart:
        try:
            stems = rows.stems
            if stems is None or stems.edition != self._keys.edition:
                self._learn(snapshot)
                stems = self._keys.stems(rows, connection)
            stems.check(len(self._group_of))
            numbers = self._numbers.take(np.asarray(stems.keys))
            self._group_of[stems.words] = np.repeat(numbers, np.diff(stems.starts))
            return StoredPart.of(rows, stems, numbers)
        except (IndexError, ValueError) as error:  # of a segment too large to be compared with its checksums
            raise with_remedy(FormatError(f"A segment of {self._file.parent} is damaged: {error}.")) from None

    def _learn(self, snapshot: Snapshot) -> None:
        """Know the stems that segments have, so that only words that are in none of them need to be stemmed."""
        for part in snapshot.parts:
            stems = part.rows.stems
            if stems is not None and stems.edition == self._keys.edition:
                stems.check(len(self._group_of))
                self._keys.learn(stems)


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
    collection = index.words.collection(connection, snapshot, asked)
    rankings = []
    tell = progress_for(progress, "searching") or no_progress
    for number, tokens in enumerate(asked, start=1):
        check_cancelled()
        rankings.append(collection.search(tokens, question.k, question.settings, allowed=allowed))
        tell(number, len(asked))
    rows = found_documents(index, connection, snapshot, _all(one.rows for one in rankings))
    counts = {
        "pairs": len(rankings) * snapshot.count(allowed),
        "postings": sum(one.visited for one in rankings),
        "evaluated": sum(one.evaluated for one in rankings),
    }
    return [
        _hits(
            partial(_explained, collection, snapshot, ranking),
            ranking,
            rows,
            question.explain,
            partial(best_passages, index, snapshot, tokens),
            counts,
        )
        for ranking, tokens in zip(rankings, asked, strict=True)
    ]


def _all(arrays: Any) -> Int64Array:
    return distinct(np.concatenate([np.zeros(0, np.int64), *arrays]))


def _explained(collection: Collection, snapshot: Snapshot, ranking: Ranking, place: int) -> ScoreExplanation:
    """What a score is made of; the ids of neighbours are taken from the segments, only when somebody asks."""
    names = []
    for row in neighbour_rows(ranking, place):
        part = next(part for part in snapshot.parts if row < part.span.stop)
        names.append(part.rows.columns.own_id(row - part.start))
    return explain_score(collection, ranking, place, names)


def _hits(
    explained: Callable[[int], ScoreExplanation],
    ranking: Ranking,
    rows: dict[int, tuple[Any, ...]],
    explain: bool,
    passages: Callable[..., list[Passage]],
    counts: Mapping[str, int],
) -> Hits:
    hits = []
    for place, (row, score) in enumerate(zip(ranking.rows.tolist(), ranking.scores.tolist(), strict=True)):
        found = document(rows[row])
        why = partial(explained, place)
        reason = why() if explain else None
        where = partial(passages, found.text)
        own = (found.id, found.text, found.metadata, found.label)
        hits.append(Hit(*own, score=score, explanation=reason, why=why, where=where))
    return Hits(hits, method="words", counts=counts)
