"""Sizes and counts of an index."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.frames import Facts
from wordferry.index.config import Config
from wordferry.index.storage.catalogue import FILE, FORMAT
from wordferry.index.storage.segments import FOLDER as SEGMENTS
from wordferry.index.storage.segments import GRAPH
from wordferry.index.storage.snapshot import Snapshot
from wordferry.index.storage.verify import files_bytes, folder_bytes
from wordferry.kernels.lists import COUNTS


@dataclass(frozen=True)
class Stats(Facts):
    """What :meth:`Index.stats` tells."""

    documents: int
    words: int
    """Words with a vector: those that the graph of related words covers, or will when it is next needed."""
    pairs: int
    """Distinct (word, document) pairs of the documents that are not deleted."""
    tokens: int
    coverage: float
    """The share of all tokens that have a vector."""
    distance: str
    weights: str
    unknown: str
    language: str
    r: int
    graph_words: int
    """Words that the graph on the disk covers."""
    segments: int
    buffered: int
    deleted: int
    """Rows of segments whose documents are deleted, until the next compaction."""
    format: int
    bytes: int
    bytes_catalogue: int
    bytes_segments: int
    bytes_graph: int
    bytes_embeddings: int
    bytes_per_pair: float

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def collect(folder: Path, config: Config, connection: sqlite3.Connection, snapshot: Snapshot) -> Stats:
    """Count one state of an index."""
    tokens, known = token_counts(snapshot)
    pairs = snapshot.pairs
    total = folder_bytes(folder)
    graph = snapshot.graph
    return Stats(
        documents=snapshot.documents,
        words=len(snapshot.terms),
        pairs=pairs,
        tokens=int(tokens),
        coverage=known / tokens if tokens else 1.0,
        distance=config.distance,
        weights=config.weights,
        unknown=config.unknown,
        language=config.language,
        r=config.r,
        graph_words=graph["words"] if graph and graph["epoch"] == snapshot.epoch else 0,
        segments=len(snapshot.segments),
        buffered=connection.execute("SELECT count(*) FROM buffer").fetchone()[0],
        deleted=connection.execute("SELECT count(*) FROM tombstones").fetchone()[0],
        format=FORMAT,
        bytes=total,
        bytes_catalogue=files_bytes(folder.glob(f"{FILE}*")),
        bytes_segments=folder_bytes(folder / SEGMENTS),
        bytes_graph=folder_bytes(folder / GRAPH),
        bytes_embeddings=folder_bytes(folder / config.copied),
        bytes_per_pair=total / pairs if pairs else 0.0,
    )


def token_counts(snapshot: Snapshot) -> tuple[float, float]:
    """The tokens of the living documents, and how many of them have a vector."""
    counted, tokens, known = (snapshot.terms.row_of >= 0).astype(np.float64), 0.0, 0.0
    for part in snapshot.parts:
        alive = slice(None) if snapshot.alive is None else snapshot.alive[part.span]
        tokens += float(part.rows.lengths[alive].sum(dtype=np.float64))
        known += float(part.rows.stored.sums(counted, False, COUNTS, 1)[alive].sum())
    return tokens, known
