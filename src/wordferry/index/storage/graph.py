"""The related words of an index: kept on disk, extended exactly when documents bring new words.

The words of an index are numbered in the order in which they came, so the graph of any earlier moment covers a prefix
of those that have a vector and is extended to the present one. What is on disk may therefore be behind the
catalogue, never wrong: it names the numbering (``epoch``) and how many words it covers. Compaction may
start a new numbering.
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from wordferry.base.arrays import Int64Array
from wordferry.base.checks import whole_number
from wordferry.base.runtime import Progress, logger
from wordferry.base.storage import MissingFile
from wordferry.errors import FormatError, InputError, VocabularyMismatch
from wordferry.index.storage.segments import GRAPH, read_listed, write_listed
from wordferry.index.storage.terms import IndexVectors
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.build import Work
from wordferry.words.related.graph import DEFAULT_R, RelatedWords
from wordferry.words.vocabulary import Vocabulary

if TYPE_CHECKING:
    from wordferry.index.config import Config
    from wordferry.index.storage.snapshot import Snapshot

_KEPT = 4
_MEMORY = 256 << 20
"""Bytes that extending a graph may hold."""
Record = dict[str, Any]
"""What the catalogue says of a stored graph: name, epoch, words, manifest (its sha256)."""


class Graphs:
    """Related words for prefixes of the index's words, built, extended, loaded or remembered.

    ``vouched`` is the fingerprint of the embeddings where their bytes were held to it when they were opened.
    """

    def __init__(self, folder: Path, vectors: IndexVectors, config: Config, vouched: str | None) -> None:
        self._vouched = vouched
        self._folder = folder / GRAPH
        self._vectors = vectors
        """Those of the newest state that was read, which have the words of all earlier ones."""
        self._config = config
        self._mutex = Lock()
        self.searched = False
        """Whether they were asked for by a search, so that they are worth having ready for the next one."""
        self._known: dict[tuple[int, int], RelatedWords] = {}

    def get(self, snapshot: Snapshot, progress: Progress | None = None) -> RelatedWords:
        """The related words of exactly the words of a state that have vectors, in the index's order."""
        with self._mutex:
            key = (snapshot.epoch, len(snapshot.terms))
            found = self._known.pop(key, None)
            if found is None:
                found = self._make(snapshot, progress)
            self._known[key] = found  # the last: those that were asked for longest ago go first
            while len(self._known) > _KEPT:
                del self._known[next(iter(self._known))]
            return found

    def lacking(self, words: int, epoch: int) -> int:
        """How many words the next search would have to join to what is in memory; 0 where nobody searches."""
        with self._mutex:
            sizes = [size for known, size in self._known if known == epoch]
        return max(0, words - max(sizes)) if sizes and self.searched else 0

    def _make(self, snapshot: Snapshot, progress: Progress | None) -> RelatedWords:
        words, vectors, start = snapshot.terms.rows, self._vectors.embeddings, self._nearest_start(snapshot)
        if start is None:
            return RelatedWords.build(vectors.restrict(words), self._config.r, progress=progress)
        if len(start.vocabulary) == len(words):
            return start
        # What there is was held to these vectors when it was loaded or built, and words are only ever added.
        work = Work.checked(_MEMORY, None, progress)
        new = words[len(start.vocabulary) :].tolist()
        vocabulary = Vocabulary.trusted(start.vocabulary[:] + tuple(vectors.vocabulary[word] for word in new))
        return start.extended_among(
            vectors.matrix, words, vocabulary, work, lambda: vectors.restrict(words).fingerprint
        )

    def _nearest_start(self, snapshot: Snapshot) -> RelatedWords | None:
        """The graph that covers the most of the words already: in memory, on disk, or the one given at creation."""
        words, epoch, stored = snapshot.terms.rows, snapshot.epoch, snapshot.graph
        best = max((size for known, size in self._known if known == epoch and size <= len(words)), default=0)
        on_disk = stored if stored and best < stored["words"] <= len(words) else None
        for record in (on_disk, self._config.base if not best else None):
            if record is not None and record["words"] > 0:
                try:
                    return self.load(record, words[: record["words"]])
                except MissingFile as error:
                    logger.warning("%s The related words are built again.", str(error))
        return self._known[epoch, best] if best else None

    def load(self, record: Record, words: Int64Array, *, compare: bool = False) -> RelatedWords:
        """A stored graph, after comparing every byte with its checksum and its vectors with the embeddings.

        Vectors that are known to be those that the graph was saved with are compared only with ``compare``.
        """
        place = self._folder / record["name"]
        related = read_listed(place, record["manifest"], lambda: RelatedWords.load(place, verify=True))
        known = self._vouched is not None and record.get("vectors") == self._vouched
        if (compare or not known) and related.fingerprint != self._vectors.embeddings.restrict(words).fingerprint:
            raise FormatError(
                f"{place} was built from other vectors than the embeddings of the index hold now: either the vectors "
                "were changed or they are damaged. wordferry index verify tells which."
            )
        return related

    def save(self, related: RelatedWords, epoch: int) -> Record:
        """Put a graph on the disk; it counts for nothing until the catalogue names it."""
        name, digest = write_listed(self._folder, f"{epoch:04d}-{len(related.vocabulary):08d}", related.save)
        record = {"name": name, "epoch": epoch, "words": len(related.vocabulary), "manifest": digest}
        return record if self._vouched is None else {**record, "vectors": self._vouched}


def check_related(related: Any, embeddings: Embeddings) -> tuple[int, RelatedWords | None]:
    """r, and the graph to start from, of what a caller passes: None, a number, or related words."""
    if related is None:
        return DEFAULT_R, None
    if hasattr(related, "__index__"):
        return whole_number(related, "related", of="related words"), None
    if not isinstance(related, RelatedWords):
        raise InputError(f"related must be a RelatedWords, a number r, or None; got {type(related).__name__}.")
    if related.fingerprint != embeddings.fingerprint:
        ids = embeddings.vocabulary.ids(related.vocabulary)
        if (ids < 0).any() or embeddings.restrict(ids).fingerprint != related.fingerprint:
            raise VocabularyMismatch(
                "related= was built from other vectors than embeddings=. Build it again: "
                "RelatedWords.build(embeddings)."
            )
    return related.r, related
