"""A search from the query to the hits, inside one state of the index."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wordferry.base.arrays import BoolArray, Int64Array, Neighbors
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import ShowProgress, progress_for
from wordferry.compare.calls import explain, pairwise
from wordferry.compare.distances import find_distance
from wordferry.compare.problem import Distance
from wordferry.compare.search import check_k
from wordferry.errors import InputError
from wordferry.index.asked import Asked
from wordferry.index.catalogue import DOCUMENT_COLUMNS, all_ids, damaged
from wordferry.index.config import Config
from wordferry.index.filters import Condition, compile_filter
from wordferry.index.model import Document, Hit, Hits, shown, stored_text
from wordferry.index.packs import Unpacker
from wordferry.index.passages import Passage, best_passages
from wordferry.index.snapshot import Snapshot, matrix_of
from wordferry.texts.bow import LookedUp, looked_up, unknown_word_error
from wordferry.texts.reasons import no_known_word, no_word
from wordferry.texts.records import words_of
from wordferry.texts.tables import as_documents

if TYPE_CHECKING:
    from wordferry.index.index import Index
    from wordferry.index.listing import Listing

_VARIABLES = 500
_metadata = json.JSONDecoder().raw_decode
"""What was written as JSON, and compared with its checksum, without looking for blanks around it."""
_LEAST_CANDIDATES = 100


@dataclass(frozen=True)
class Plan:
    """The checked options of a search."""

    k: int
    record: Distance
    condition: Condition | None
    explain: bool
    rerank: Distance | None
    candidates: int
    without: str | None = None
    """The id of a document that is not to be found: the one that is asked about."""

    @classmethod
    def check(
        cls,
        config: Config,
        k: int,
        distance: str | None,
        filter: Mapping[str, Any] | None,
        explain: bool,
        rerank: str | None,
        candidates: int | None,
        without: str | None = None,
    ) -> Plan:
        """Names to records, and a message for what makes no sense."""
        k = check_k(k)
        record = find_distance(distance or config.distance)
        second = None if rerank is None else find_distance(rerank)
        if candidates is not None:
            if second is None:
                raise InputError("candidates= is the size of the first stage of a search with rerank=; pass both.")
            if check_k(candidates) < k:
                raise InputError(f"candidates must be at least k ({k}), got {candidates}.")
        if second is not None and second.tfidf:
            raise InputError(f"rerank={second.name!r} has no meaning: its weights belong to a whole collection.")
        first = candidates or max(10 * k, _LEAST_CANDIDATES)
        return cls(k, record, compile_filter(filter), explain, second, first, without)


def queries(query: Any) -> tuple[Sequence[Any], bool]:
    """The queries of a call, and whether it was a single one: a text, or a tuple of tokens."""
    if isinstance(query, str):
        return [query], True
    query = as_documents(query, "query")
    if not isinstance(query, Sequence) and (hasattr(query, "to_list") or hasattr(query, "tolist")):
        query = list(query)  # a column of a table, or an array
    if isinstance(query, tuple) and query and all(isinstance(token, str) for token in query):
        return [query], True
    if isinstance(query, Sequence) and not isinstance(query, bytes):
        return query, False
    raise InputError(
        f"A query is a text, a tuple of tokens, or a list of texts or of token lists; got {type(query).__name__}."
    )


def run(
    index: Index,
    connection: sqlite3.Connection,
    snapshot: Snapshot,
    plan: Plan,
    asked: Sequence[Any],
    bags: Asked,
    threads: int | None,
    progress: ShowProgress,
) -> list[Hits]:
    """The hits of every query."""
    mask = without(connection, snapshot, snapshot.allowed(plan.condition), plan.without)
    method = plan.record.name
    if plan.rerank is not None:
        method = f"{plan.candidates} candidates by {plan.record.name}, ordered by {plan.rerank.name}: not exact"
    exact = plan.rerank is None
    if not len(snapshot.numbers) or not len(bags) or not snapshot.count(mask):
        return [Hits(method=method, exact=exact) for _ in asked]
    k = plan.k if plan.rerank is None else plan.candidates
    tell = progress_for(progress, "searching")
    near = index.engine.top_k(snapshot, bags, k, plan.record, mask=mask, threads=threads, progress=tell)
    if plan.rerank is not None:
        near = _reranked(index, snapshot, plan, bags.matrix, near, threads)
    found = list(zip(near.indices.tolist(), near.distances.tolist(), strict=True))
    places = {place for row, _ in found for place in row if place >= 0}
    rows = found_documents(index, connection, snapshot, np.array(sorted(places), dtype=np.int64))
    return [
        Hits(
            (_hit(index, snapshot, plan, asked[number], rows[i], d) for i, d in zip(*row, strict=True) if i >= 0),
            method=method,
            exact=exact,
            counts=near.counts,
        )
        for number, row in enumerate(found)
    ]


def without(
    connection: sqlite3.Connection, snapshot: Snapshot, mask: BoolArray | None, identifier: str | None
) -> BoolArray | None:
    """The mask, less the row of a document."""
    if identifier is None:
        return mask
    found = connection.execute("SELECT number FROM documents WHERE id = ?", (identifier,)).fetchone()
    mask = np.ones(len(snapshot.numbers), dtype=bool) if mask is None else mask.copy()
    row = None if found is None else snapshot.numbers.row(found[0])
    if row is not None:
        mask[row] = False
    return mask


def found_documents(
    index: Listing, connection: sqlite3.Connection, snapshot: Snapshot, places: Int64Array
) -> dict[int, tuple[Any, ...]]:
    """The rows of the catalogue of some rows of the snapshot, by them."""
    found = _selected(index, connection, snapshot.numbers.of(places.tolist()), DOCUMENT_COLUMNS)
    file = index.path / "catalogue.sqlite"
    whole = Unpacker(connection, file)
    return {place: whole.checked(row) for place, row in zip(places.tolist(), found, strict=True)}


def found_ids(index: Index, connection: sqlite3.Connection, snapshot: Snapshot, places: Int64Array) -> dict[int, str]:
    """The ids of some rows of the snapshot, by them."""
    found = _selected(index, connection, snapshot.numbers.of(places.tolist()), "number, id")
    return {place: row[1] for place, row in zip(places.tolist(), found, strict=True)}


def _selected(
    index: Listing, connection: sqlite3.Connection, numbers: list[int], columns: str
) -> Iterator[tuple[Any, ...]]:
    """Columns of the documents with these numbers, in their order; the first column is the number."""
    found: dict[int, tuple[Any, ...]] = {}
    for start in range(0, len(numbers), _VARIABLES):
        some = numbers[start : start + _VARIABLES]
        marks = ",".join("?" * len(some))
        rows = connection.execute(f"SELECT {columns} FROM documents WHERE number IN ({marks})", some)
        found |= {row[0]: row for row in rows}
    for number in numbers:
        if number not in found:
            file = index.path / "catalogue.sqlite"
            raise damaged(file, f"the document with number {number} (it is missing)")
        yield found[number]


def document(row: tuple[Any, ...]) -> Document:
    """A row of the catalogue as a document."""
    return Document(row[1], stored_text(row[2], row[3]), _metadata(row[5])[0], row[4])


def _hit(index: Index, snapshot: Snapshot, plan: Plan, asked: Any, row: tuple[Any, ...], distance: float) -> Hit:
    text = stored_text(row[2], row[3])
    why = partial(_explained, index, snapshot, plan, asked, text, distance)
    where = partial(_passages, index, snapshot, asked, text)
    reason = why() if plan.explain else None
    return Hit(row[1], text, _metadata(row[5])[0], row[4], distance, explanation=reason, why=why, where=where)


def _passages(index: Index, snapshot: Snapshot, asked: Any, text: str | Sequence[str], *which: Any) -> list[Passage]:
    """The best passages of a hit; the query is split only when somebody asks for them."""
    return best_passages(index, snapshot, tokens_of(index, asked), text, *which)


def _reranked(
    index: Index, snapshot: Snapshot, plan: Plan, matrix: sp.csr_array, near: Neighbors, threads: int | None
) -> Neighbors:
    """The candidates in the order of the second distance."""
    record = plan.rerank
    assert record is not None
    indices = np.full((len(near), plan.k), -1, dtype=np.int64)
    distances = np.full((len(near), plan.k), np.inf, dtype=np.float32)
    for q, row in enumerate(near.indices):
        places = np.sort(row[row >= 0])
        values = pairwise(
            matrix[q : q + 1],
            matrix_of(snapshot.bags_of(places), matrix.shape[1]),
            record,
            embeddings=index.embeddings,
            related=index.engine.related(snapshot, record),
            overlap=index.engine.overlap(record),
            on_empty="keep",
            threads=threads,
        )[0]
        order = np.argsort(values, kind="stable")[: plan.k]
        indices[q, : len(order)] = places[order]
        distances[q, : len(order)] = values[order]
    return Neighbors(indices, distances)


def _explained(
    index: Index, snapshot: Snapshot, plan: Plan, asked: Any, text: str | Sequence[str], distance: float
) -> Any:
    """Which word moved where; a document without known words has no explanation."""
    if math.isinf(distance):
        return None
    record = plan.rerank or plan.record
    options: dict[str, Any] = {
        "unknown": "drop",  # as the index stores its documents
        "embeddings": index.embeddings,
        "related": index.engine.related(snapshot, record),
        "overlap": index.engine.overlap(record),
    }
    if record.tfidf:
        options["idf"] = index.engine.idf(snapshot)
    return explain(tokens_of(index, asked), tokens_of(index, text), record, **options)


def query_tokens(index: Index, query: Any, number: int) -> list[str]:
    """The words of one of several queries, or an error that names it."""
    if isinstance(query, str):
        return words_of(query, index.tokenizer)
    if isinstance(query, Sequence) and all(isinstance(token, str) for token in query):
        return query if isinstance(query, LookedUp) else list(query)
    raise InputError(f"Query {number} must be a text or a list of tokens, got {shown(query)}.")


def compared_tokens(index: Index, asked: Sequence[Any], plan: Plan, unknown: str) -> list[LookedUp]:
    """The words of queries that are to be compared, each looked up once; one without words is refused, and why.

    ``unknown`` says whether a word without a vector counts ("match"), does not ("drop"), or is refused ("error").
    """
    found = []
    for number, query in enumerate(asked):
        words = looked_up(query_tokens(index, query, number), index.embeddings.vocabulary)
        what = "The query" if len(asked) == 1 else f"Query {number}"
        what = what if plan.without is None else f"The document {plan.without!r}"
        if not words or (unknown == "drop" and not words.bag):
            raise no_known_word(words, what) if words else no_word(query, what)
        if unknown == "error" and words.others:
            raise unknown_word_error(what, next(iter(words.others)))
        found.append(words)
    return found


def tokens_of(index: Index, text: str | Sequence[str]) -> list[str]:
    """The words of a text; tokens are taken as they are."""
    return words_of(text, index.tokenizer)


def ids_of(connection: sqlite3.Connection, snapshot: Snapshot, file: Path) -> list[str]:
    """The ids of the living documents of a snapshot, by row."""
    ids = all_ids(connection, file)
    if len(ids) != snapshot.documents:
        raise damaged(file, "the list of ids")
    return ids
