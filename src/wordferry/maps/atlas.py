"""A collection laid out as a map, and the ways out of it: a page, a table."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.arrays import Float32Array, Int64Array, Neighbors
from wordferry.base.checks import whole_number
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import Report, ShowProgress, optional_import, progress_for, thread_count
from wordferry.compare.calls import top_k
from wordferry.errors import InputError
from wordferry.maps.clusters import Level, find_levels
from wordferry.maps.layout import coordinates
from wordferry.texts.bow import TfIdf, bags, normalized
from wordferry.texts.datasets import default_embeddings
from wordferry.texts.documents import Record
from wordferry.texts.tokenizers import Tokenizer
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import DEFAULT_R, RelatedWords
from wordferry.words.vocabulary import Vocabulary

DISTANCE, OVERLAP = "rel-rwmd", "omr"
"""What documents are placed by, and what the page takes apart when it shows why two are near."""
DEFAULT_NEIGHBOURS = 15


@dataclass(frozen=True)
class Map:
    """Documents with a place each, their nearest others, and clusters with names."""

    records: tuple[Record, ...]
    """The documents that have a place, in the order they were given."""
    points: Float32Array
    """One (x, y) per document, mostly within -1 .. 1."""
    neighbors: Neighbors
    levels: tuple[Level, ...]
    """Clusters, coarse to fine."""
    vocabulary: Vocabulary
    masses: sp.csr_array
    """The bag of each document: inverse-document-frequency weights that sum to 1, over ``vocabulary``."""
    costs: sp.csr_array
    """What moving mass between related words costs."""
    c_max: float
    """What it costs between any others."""
    unplaced: tuple[Record, ...] = ()
    """Documents without a word that has a vector: they are on the page's lists, but nowhere on the map."""

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        clusters = "/".join(str(len(level.names)) for level in self.levels) or "no"
        return f"Map({len(self)} documents, {clusters} clusters)"

    def to_html(self, path: str | os.PathLike[str] | None = None, *, title: str = "Map") -> str:
        """The map as one page that asks nothing of the network; written to ``path`` if given."""
        from wordferry.maps.page import page

        text = page(self, title)
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def to_arrow(self) -> Any:
        """One row per document as Embedding Atlas reads it: id, text, label, x, y, neighbors, cluster, metadata."""
        arrow = optional_import("pyarrow", "parquet")
        ids = [identifier(record, number) for number, record in enumerate(self.records)]
        near = [
            {"ids": [ids[i] for i in row[row >= 0]], "distances": distances[row >= 0].tolist()}
            for row, distances in self.neighbors
        ]
        columns: dict[str, Any] = {
            "id": ids,
            "text": [text_of(record) for record in self.records],
            "label": [record.label for record in self.records],
            "x": self.points[:, 0],
            "y": self.points[:, 1],
            "neighbors": near,
        }
        for depth, level in enumerate(self.levels):
            names = [*level.names, None]
            columns[f"cluster_{depth + 1}"] = [names[number] for number in level.cluster]
        for key in dict.fromkeys(key for record in self.records for key in record.metadata):
            if key not in columns:
                columns[key] = _column([record.metadata.get(key) for record in self.records])
        return arrow.table(columns)

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """:meth:`to_arrow` as a Parquet file, for Embedding Atlas: ``embedding-atlas FILE --x x --y y``."""
        table = self.to_arrow()
        optional_import("pyarrow.parquet", "parquet").write_table(table, path)


def make_map(
    documents: Iterable[Any],
    *,
    embeddings: Embeddings | None = None,
    tokenizer: Tokenizer | None = None,
    r: int = DEFAULT_R,
    neighbours: int = DEFAULT_NEIGHBOURS,
    seed: int = 0,
    threads: int | None = None,
    progress: ShowProgress = None,
) -> Map:
    """Lay a collection out as a map.

    Parameters
    ----------
    documents : texts, token lists, or :class:`~wordferry.texts.documents.Record` objects with id, label and metadata.
    embeddings : word vectors; None means the default ones.
    tokenizer : splits texts; None is the default tokenizer.
    r : how many related words a word has.
    neighbours : how many nearest documents of each the layout keeps together.
    seed : the same documents, seed and threads give the same map.
    threads, progress : see :mod:`wordferry.base.runtime`.
    """
    records = tuple(one if isinstance(one, Record) else Record(one) for one in documents)
    if not records:
        raise InputError("There is nothing to map: the collection is empty.")
    neighbours = whole_number(neighbours, "neighbours")
    workers = thread_count(threads)
    vectors = embeddings or default_embeddings()
    report = Report(progress_for(progress, "drawing the map"), 1000)
    placed, counts, vectors = _counted(records, vectors, tokenizer)
    report(0.02)
    related = RelatedWords.build(vectors, r, threads=workers)
    report(0.05)
    weights = TfIdf.fit(counts).apply(counts)
    found = top_k(
        weights,
        weights,
        min(neighbours + 1, len(placed)),
        DISTANCE,
        embeddings=vectors,
        related=related,
        overlap=OVERLAP,
        threads=workers,
        progress=report.part(0.05, 0.45),
    )
    near = found.without_self(0)
    points = coordinates(near, seed=seed, threads=workers, progress=report.part(0.45, 0.95))
    levels = find_levels(points, counts, vectors.vocabulary)
    report(1.0)
    costs, c_max = _costs(related)
    kept = tuple(records[number] for number in placed)
    left = set(range(len(records))) - set(placed.tolist())
    others = tuple(records[number] for number in sorted(left))
    return Map(kept, points, near, levels, vectors.vocabulary, normalized(weights), costs, c_max, others)


def _counted(
    records: tuple[Record, ...], embeddings: Embeddings, tokenizer: Tokenizer | None
) -> tuple[Int64Array, sp.csr_array, Embeddings]:
    """Counts over the words that occur, those words' vectors, and which documents have any of them."""
    found = bags((record.text for record in records), embeddings.vocabulary, tokenizer=tokenizer, on_empty="drop")
    if not len(found.rows):
        raise InputError("No document has a word with a vector, so nothing can be placed. Load larger embeddings.")
    words = np.unique(found.matrix.indices).astype(np.int64)
    compact = np.full(len(embeddings), -1, dtype=np.int32)
    compact[words] = np.arange(len(words), dtype=np.int32)
    matrix = found.matrix
    counts = sp.csr_array((matrix.data, compact[matrix.indices], matrix.indptr), shape=(matrix.shape[0], len(words)))
    return found.rows, counts, embeddings.restrict(words)


def _costs(related: RelatedWords) -> tuple[sp.csr_array, float]:
    """Costs of related words, none above c_max; where all words are related c_max is the largest cost."""
    graph = related.graph
    c_max = float(related.c_max)
    if np.isnan(c_max):
        c_max = float(graph.data.max(initial=0.0))
    costs = np.minimum(graph.data, np.float32(c_max)).astype(np.float32)
    return sp.csr_array((costs, graph.indices, graph.indptr), shape=graph.shape), c_max


def identifier(record: Record, number: int) -> str:
    return f"doc-{number + 1}" if record.id is None else str(record.id)


def text_of(record: Record) -> str:
    return record.text if isinstance(record.text, str) else " ".join(record.text)


def _column(values: list[Any]) -> list[Any]:
    """Metadata of one key: as it is when all are of one kind, else as text."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1 or kinds <= {int, float}:
        return values
    return [None if value is None else str(value) for value in values]
