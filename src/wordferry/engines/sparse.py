"""Related relaxed distances as inner products of sparse vectors, for engines that search those.

With ``overlap="keep"`` moving x's words onto y's costs ``c_max - <x, E(y)>``: x holds the masses of one document, and
the expansion ``E(y)`` holds for every word how much less than c_max the nearest word of y costs it. The other side is
the same with the parts exchanged. A document's vector holds its expansion in the first half and its masses in the
second, a query's the other way round, so that one inner product is ``2 c_max - left - right``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.base.arrays import Csr, entries_of
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import ShowProgress, no_progress, optional_import, progress_for
from wordferry.base.storage import write_whole
from wordferry.compare.measure import Measure
from wordferry.compare.search import Searcher
from wordferry.errors import InputError
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

FORMATS = ("parquet", "jsonl", "qdrant", "milvus", "opensearch", "pgvector")
_BLOCK = 2048


@dataclass(frozen=True)
class Sparse:
    """Documents that are exported, and what turns queries into vectors for them."""

    searcher: Searcher
    error: float
    """What leaving out small entries may add to a distance, at most, on each side."""

    @classmethod
    def of(
        cls,
        documents: Any,
        *,
        embeddings: Embeddings | None = None,
        related: RelatedWords | None = None,
        error: float = 0.0,
        **options: Any,
    ) -> Sparse:
        """Prepare documents (texts, token lists or a matrix); ``options`` are those of :class:`wordferry.Measure`."""
        if isinstance(error, bool) or not isinstance(error, int | float) or not 0 <= error < 2:
            raise InputError(f"error must be a number from 0 to 2, got {error!r}.")
        measure = Measure(
            "rel-rwmd", overlap="keep", embeddings=embeddings, related=related, on_empty="keep", **options
        )
        return cls(Searcher.of(measure, documents), float(error))

    @property
    def c_max(self) -> float:
        """What the distance of two documents without anything in common is on each side."""
        return float(self.searcher.problem([[]]).frame.c_max)

    @property
    def dimensions(self) -> int:
        """Twice the number of words in play."""
        return 2 * self.searcher.bags.masses.shape[1]

    def documents(self, progress: ShowProgress = None) -> Iterator[sp.csr_array]:
        """The vectors of the documents, some rows at a time: expansion, then masses."""
        problem = self.searcher.problem([[]])
        bags, tell = self.searcher.bags, progress_for(progress, "documents") or no_progress
        for start in range(0, len(bags), _BLOCK):
            part = bags.slice(start, min(start + _BLOCK, len(bags))).masses
            expanded = expand(part, problem.frame.graph, problem.frame.c_max, self.error)
            yield sp.csr_array(sp.hstack([expanded, _matrix(part)]))
            tell(min(start + _BLOCK, len(bags)), len(bags))

    def queries(self, queries: Any) -> sp.csr_array:
        """The vectors of queries: masses, then expansion; words that no document has are left out."""
        problem = self.searcher.problem(queries)
        words = self.searcher.bags.masses.shape[1]
        expanded = expand(problem.x.masses, problem.frame.graph, problem.frame.c_max, self.error)
        return sp.csr_array(sp.hstack([_matrix(problem.x.masses)[:, :words], expanded[:, :words]]))

    def write(
        self,
        folder: Path,
        ids: list[str],
        kind: str,
        queries: Iterable[str] | None = None,
        progress: ShowProgress = None,
    ) -> dict[str, Any]:
        """Write the documents, the words of the dimensions and some queries into a folder; how much there is of each.

        Vectors are in the form of an engine (``kind``, one of :data:`FORMATS`), queries are numbered, and empty ones
        are left out.
        """
        ending = "parquet" if kind == "parquet" else "jsonl"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"documents.{ending}"
        facts = write_vectors(file, self.documents(progress), ids, kind, self.dimensions)
        write_words(folder / "words.txt", self)
        found = {"documents": facts["vectors"], "entries": facts["entries"], "dimensions": self.dimensions}
        if queries is not None:
            texts = [text for text in queries if text.strip()]
            names = [f"query-{number}" for number in range(1, len(texts) + 1)]
            file = folder / f"queries.{ending}"
            found["queries"] = write_vectors(file, [self.queries(texts)], names, kind, self.dimensions)["vectors"]
        return found | {"c_max": round(self.c_max, 6)}


def _matrix(bags: Csr) -> sp.csr_array:
    return sp.csr_array((bags.data, bags.indices, bags.indptr), shape=bags.shape)


def expand(bags: Csr, graph: Csr | None, c_max: float, error: float = 0.0) -> sp.csr_array:
    """For each document and word how much less than c_max the document's nearest word costs it.

    Entries of at most ``error`` are left out: as masses sum to 1, no distance changes by more than that.
    """
    if graph is None:
        raise InputError("Sparse vectors need related words, and there are none.")
    places = np.repeat(np.arange(bags.shape[0]), np.diff(bags.indptr))
    ends, edges = entries_of(graph.indptr, bags.indices)
    rows = np.concatenate([places, np.repeat(places, np.diff(ends))])
    words = np.concatenate([bags.indices, graph.indices[edges]])
    gains = np.concatenate([np.full(len(places), c_max), c_max - graph.data[edges].astype(np.float64)])
    order = np.lexsort((-gains, words, rows))
    rows, words, gains = rows[order], words[order], gains[order]
    first = np.ones(len(rows), dtype=bool)
    first[1:] = (rows[1:] != rows[:-1]) | (words[1:] != words[:-1])
    kept = first & (gains > error)
    shape = (bags.shape[0], graph.shape[0])
    return sp.csr_array((gains[kept].astype(np.float32), (rows[kept], words[kept])), shape=shape)


def lines_of(
    vectors: Iterable[sp.csr_array], ids: Iterable[str], kind: str, dimensions: int
) -> Iterator[dict[str, Any]]:
    """Vectors as objects in the shape that an engine takes."""
    names = iter(ids)
    number = 0
    for block in vectors:
        for row in range(block.shape[0]):
            span = slice(block.indptr[row], block.indptr[row + 1])
            entries = list(zip(block.indices[span].tolist(), block.data[span].astype(float).tolist(), strict=True))
            yield _line(kind, (number, next(names)), entries, dimensions)
            number += 1


def _line(kind: str, name: tuple[int, str], entries: list[tuple[int, float]], dimensions: int) -> dict[str, Any]:
    """One vector, with its number and id, as an engine takes it."""
    number, id = name
    places, values = [place for place, _ in entries], [value for _, value in entries]
    match kind:
        case "qdrant":
            return {"id": number, "vector": {"words": {"indices": places, "values": values}}, "payload": {"id": id}}
        case "milvus":
            return {"id": id, "vector": {str(place): value for place, value in entries}}
        case "opensearch":
            return {"_id": id, "vector": {f"w{place}": value for place, value in entries}}
        case "pgvector":
            text = ",".join(f"{place + 1}:{value:g}" for place, value in entries)
            return {"id": id, "vector": f"{{{text}}}/{dimensions}"}
    return {"id": id, "indices": places, "values": values}


def write_vectors(
    file: Path, vectors: Iterable[sp.csr_array], ids: list[str], kind: str, dimensions: int
) -> dict[str, Any]:
    """Write vectors as JSON lines or Parquet, whole or not at all; how many vectors and entries there are."""
    if kind not in FORMATS:
        raise InputError(f"The format must be one of {', '.join(FORMATS)}; got {kind!r}.")
    entries = 0

    def counted() -> Iterator[sp.csr_array]:
        nonlocal entries
        for block in vectors:
            entries += block.nnz
            yield block

    temporary = file.with_name(f".{file.name}.part")
    if kind == "parquet":
        _write_parquet(temporary, counted(), ids)
    else:
        with temporary.open("w", encoding="utf-8") as stream:
            for line in lines_of(counted(), ids, kind, dimensions):
                if kind == "opensearch":
                    stream.write(json.dumps({"index": {"_id": line.pop("_id")}}) + "\n")
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")
    temporary.replace(file)
    return {"vectors": len(ids), "entries": entries}


def _write_parquet(file: Path, vectors: Iterable[sp.csr_array], ids: list[str]) -> None:
    arrow = optional_import("pyarrow", "parquet")
    parquet = optional_import("pyarrow.parquet", "parquet")
    schema = arrow.schema(
        [("id", arrow.string()), ("indices", arrow.list_(arrow.int32())), ("values", arrow.list_(arrow.float32()))]
    )
    start = 0
    with parquet.ParquetWriter(file, schema) as writer:
        for block in vectors:
            stop = start + block.shape[0]
            indptr = arrow.array(block.indptr.astype(np.int32))
            columns = [
                arrow.array(ids[start:stop]),
                arrow.ListArray.from_arrays(indptr, arrow.array(block.indices.astype(np.int32))),
                arrow.ListArray.from_arrays(indptr, arrow.array(block.data.astype(np.float32))),
            ]
            writer.write_table(arrow.Table.from_arrays(columns, schema=schema))
            start = stop


def write_words(file: Path, sparse: Sparse) -> None:
    """The word of each dimension, one per line; the second half of the dimensions has the same words again."""
    frame = sparse.searcher.problem([[]]).frame
    words = frame.names()[: sparse.dimensions // 2]
    write_whole(file, ("\n".join(words) + "\n").encode())
