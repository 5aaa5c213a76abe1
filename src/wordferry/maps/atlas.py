"""A collection laid out as a map, and the ways out of it: a page, a table."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import numpy as np

from wordferry.base.arrays import Float32Array, Int64Array, Neighbors
from wordferry.base.checks import whole_number
from wordferry.base.frames import Rows, Tabular
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import Report, ShowProgress, optional_import, progress_for, thread_count
from wordferry.compare.calls import top_k
from wordferry.errors import InputError
from wordferry.maps.clusters import Level, characteristic_words, find_levels, representatives
from wordferry.maps.layout import coordinates
from wordferry.texts.bow import TfIdf, bags, normalized
from wordferry.texts.datasets import default_embeddings
from wordferry.texts.records import Fields, Record, document_text
from wordferry.texts.tables import as_documents, is_table, table_records
from wordferry.texts.tokenizers import Tokenizer
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import DEFAULT_R, RelatedWords
from wordferry.words.vocabulary import Vocabulary

DISTANCE, OVERLAP = "rel-rwmd", "omr"
"""What documents are placed by, and what the page takes apart when it shows why two are near."""
DEFAULT_NEIGHBOURS = 15


@dataclass(frozen=True, eq=False)
class Map(Tabular):
    """Documents with a place each, their nearest others, and clusters with names.

    As a table (:meth:`to_pandas`, :meth:`to_polars`, :meth:`to_arrow`) it has one row per document.
    """

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

    def topics(self, min_size: int = 1, *, level: int = -1, words: int = 10) -> Rows:
        """The clusters of a level (-1 is the finest) as a table, the largest first.

        Each row has the number of the ``cluster``, its ``size``, the ``words`` that tell it from the rest, and the ids
        of the documents that represent it, because most of the others have them among their nearest. The last row,
        without words, counts the documents in none of the clusters listed. Those below ``min_size`` are left out.
        """
        min_size, words = whole_number(min_size, "min_size"), whole_number(words, "words")
        rows = Rows()
        listed = 0
        if self.levels:
            cluster = self.levels[level].cluster
            sizes = np.bincount(cluster[cluster >= 0], minlength=len(self.levels[level].names))
            names = characteristic_words(cluster, self.masses, self.vocabulary, words)
            best = representatives(cluster, self.neighbors.indices)
            for number in np.lexsort((np.arange(len(sizes)), -sizes)).tolist():
                if sizes[number] >= min_size:
                    ids = [identifier(self.records[i], i) for i in best[number]]
                    said = names[number].replace(" · ", ", ")
                    rows.append({"cluster": number, "size": int(sizes[number]), "words": said, "documents": ids})
                    listed += int(sizes[number])
        rest = len(self) + len(self.unplaced) - listed
        if rest:
            rows.append({"cluster": None, "size": rest, "words": None, "documents": []})
        return rows

    def _repr_html_(self) -> str:
        """A small picture of the map, as notebooks show it; :meth:`to_html` makes the whole page."""
        from wordferry.maps.page import picture

        return picture(self)

    def to_columns(self) -> dict[str, Any]:
        """One row per document: id, text, label, x, y, neighbors, the cluster at each level, and metadata.

        A document that belongs to no cluster has None there. Embedding Atlas reads these columns.
        """
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
        return columns

    def to_parquet(self, path: str | os.PathLike[str]) -> None:
        """:meth:`to_arrow` as a Parquet file, for Embedding Atlas: ``embedding-atlas FILE --x x --y y``."""
        table = self.to_arrow()
        optional_import("pyarrow.parquet", "parquet").write_table(table, path)


class MapOptions(TypedDict, total=False):
    """What :meth:`Index.map <wordferry.Index.map>` can be told, for type checkers."""

    neighbours: int
    seed: int
    threads: int | None
    progress: ShowProgress


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
    documents : texts, token lists, mappings or :class:`~wordferry.texts.documents.Record` objects with id, label and
        metadata, or a table with a column ``text``.
    embeddings : word vectors; None means the default ones.
    tokenizer : splits texts; None is the default tokenizer.
    r : how many related words a word has.
    neighbours : how many nearest documents of each the layout keeps together.
    seed : the same documents, seed and threads give the same map.
    threads, progress : see :mod:`wordferry.base.runtime`.
    """
    rows = table_records(documents) if is_table(documents) else as_documents(documents)
    records = tuple(_record(one, number) for number, one in enumerate(rows))
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
    levels = find_levels(points, near, counts, vectors.vocabulary)
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


def _record(document: Any, number: int) -> Record:
    if isinstance(document, Record):
        return document
    if isinstance(document, Mapping):
        return Fields().record(document, f"Document {number}")
    return Record(document_text(document, f"Document {number}"))


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
