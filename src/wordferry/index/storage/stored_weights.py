"""What words and documents weigh by idf, kept on disk, so that no search has to read all documents for it.

The folder is written after a change of a large index, and again when the collection has grown by a hundredth. It holds
what words weighed then, in how many documents of the large segments each stands, and what the documents of those
segments weigh. Later states follow from it: most words weigh nearly the same, and the posting lists of the few others
say which documents have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from wordferry.base import storage
from wordferry.base.arrays import Float32Array, Float64Array, Int32Array
from wordferry.index.storage.segments import Segment, SegmentRows, read_listed, write_listed
from wordferry.index.storage.terms import TermVectors
from wordferry.kernels.lists import Touched

WEIGHTS = "weights"
SCHEME = "idf"
"""The weights that are stored: those of a new index."""
LEAST = 1 << 16
"""Documents of an index from which on its weights are stored: fewer are weighed at once."""
LARGE = 1 << 14
"""Documents of a segment that is covered: smaller ones are soon merged into others."""
_DRIFT = 0.01
"""By how much the number of documents changes until weights are stored anew."""
LOST = 1e-3
"""A share that any word may have lost of its weight unnoticed: bounds are lower by as much."""
_MOST_CHANGED = 1 << 16
"""With more words than this that have lost more, documents are weighed again."""
Record = dict[str, Any]
"""What the catalogue says of stored weights: name, manifest (its sha256), segments, documents."""


class StoredWeights(NamedTuple):
    """The weights of one state, mapped."""

    config: dict[str, Any]
    """The numbers of the state: documents, words, next_number, epoch; unseen; whether words without a vector count."""
    weights: Float64Array
    """The weight of each word by its number."""
    frequencies: Int32Array
    """Document frequency of each word in the covered segments, deleted documents included."""
    vectors: TermVectors
    """The words that had a vector."""
    documents: dict[str, tuple[Float32Array, Float32Array]]
    """The sums and the Euclidean lengths of the documents of each covered segment, by its name."""

    @classmethod
    def read(cls, folder: Path, record: Record, *, verify: bool = False) -> StoredWeights | None:
        """Map what a record names; None where a writer has just removed it."""
        place = folder / WEIGHTS / record["name"]
        try:
            read = partial(storage.read_folder, place, "weights", verify=verify)
            found = read_listed(place, record["manifest"], read)
        except storage.MissingFile:
            return None
        config, arrays = found.config, found.arrays
        numbers, rows = (arrays[name].astype(np.int64) for name in ("vector_words", "vector_rows"))
        vectors = TermVectors(config["words"], numbers, rows)
        documents = {name: (arrays[f"sums_{i}"], arrays[f"norms_{i}"]) for i, name in enumerate(record["segments"])}
        return cls(config, arrays["weights"], arrays["frequencies"], vectors, documents)

    def is_of(self, state: dict[str, Any]) -> bool:
        """Whether a state has the documents and words of the one that weights were stored for."""
        return all(self.config[name] == state[name] for name in ("documents", "words", "next_number"))

    def is_by(self, scheme: str, keeps: bool) -> bool:
        """Whether they are of a scheme, and count words without a vector alike."""
        return scheme == SCHEME and self.config["keeps"] == keeps

    def lost(self, weights: Float64Array) -> tuple[float, Touched] | None:
        """How much less words weigh now: the least share that one has kept, and the words that have lost more than
        ``LOST``, whose gain is what they have lost beyond that. None where too many have lost too much."""
        now = weights[: len(self.weights)]
        loss = self.weights * (1 - LOST) - now
        numbers = np.flatnonzero(loss > 0)
        least = float((now[numbers] / self.weights[numbers]).min(initial=1 - LOST))
        if len(numbers) > _MOST_CHANGED or not least > 0:
            return None
        rounded = np.nextafter(loss[numbers].astype(np.float32), np.float32(np.inf))
        nothing = np.zeros_like(rounded)
        return least, Touched(numbers.astype(np.int32), nothing, rounded, nothing)


def large(segments: Sequence[Segment]) -> list[str]:
    """The names of the segments whose documents' weights are worth storing."""
    return [segment.name for segment in segments if segment.documents >= LARGE]


def is_due(record: Record | None, segments: Sequence[Segment], documents: int) -> bool:
    """Whether the weights of a state are to be stored."""
    if documents < LEAST:
        return False
    if record is None or record["segments"] != large(segments):
        return True
    return bool(abs(documents - record["documents"]) > _DRIFT * documents)


def save(folder: Path, stored: StoredWeights) -> Record:
    """Put weights on the disk; they count for nothing until the catalogue names them."""
    numbers, rows = (values.astype(np.int32) for values in (stored.vectors.numbers, stored.vectors.rows))
    arrays: dict[str, Any] = {"weights": stored.weights, "frequencies": stored.frequencies}
    arrays |= {"vector_words": numbers, "vector_rows": rows}
    for i, (sums, norms) in enumerate(stored.documents.values()):
        arrays |= {f"sums_{i}": sums, f"norms_{i}": norms}
    save = partial(storage.write_folder, kind="weights", config=stored.config, arrays=arrays)
    documents = stored.config["documents"]
    name, digest = write_listed(folder / WEIGHTS, f"{documents:010d}", save)
    return {"name": name, "manifest": digest, "segments": list(stored.documents), "documents": documents}


def add_frequencies(rows: SegmentRows, frequencies: Int32Array) -> None:
    """Add the document frequency of each word of some documents, deleted ones included."""
    if rows.stems is None:
        np.add.at(frequencies, rows.bags.words, 1)
    else:
        frequencies[rows.stems.words] += rows.stems.word_df
