"""All documents of an index against all: near-duplicates, leakage and the k-nearest-neighbour graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from wordferry.base.arrays import Float32Array, Int64Array, Neighbors
from wordferry.base.checks import real_number
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import Progress, thread_count
from wordferry.compare.joining import close_pairs
from wordferry.compare.measure import Measure
from wordferry.compare.nearest import nearest, within
from wordferry.encoders.codes import Codes
from wordferry.encoders.encoder import text_of
from wordferry.encoders.given import rows_of
from wordferry.errors import InputError, Unsupported
from wordferry.index.duplicates import Duplicates, checked_threshold
from wordferry.index.local import LocalIndex
from wordferry.index.search import memory, similar
from wordferry.index.search.views import Request, View
from wordferry.index.write.entries import Entry
from wordferry.texts.tokenizers import words_of

_MANY = 1 << 17
"""From this many documents on the graph is made through the lists: comparing all with all costs more."""
_BATCH = 1024


def _local(backend: Any) -> LocalIndex:
    if not isinstance(backend, LocalIndex):
        raise Unsupported(f"{backend.path} is in shards: wordferry cluster compares all of their documents.")
    return backend


def _limits(backend: Any, given: tuple[float | None, float | None], measure: Measure) -> tuple[float, float | None]:
    """The largest distance of a pair, and that in meaning, None where only words count; both checked."""
    threshold, meaning = given
    limit = checked_threshold(threshold, measure.distance.name)
    if meaning is None:
        return limit, None
    if not backend.dimension:
        raise InputError(f"{backend.path} has no vectors of documents, which meaning= compares.")
    return limit, real_number(meaning, "meaning", 0, 2, what="a distance")


def duplicates(
    backend: Any,
    limits: tuple[float | None, float | None],
    measure: Measure,
    how: tuple[int | None, Progress | None],
) -> Duplicates:
    """All pairs of documents at most as far apart as ``limits`` say: by the measure, and by 1 - cosine of vectors.

    Pairs and texts are of one state; ``how`` are threads and progress.
    """
    (threshold, meaning), (threads, progress) = _limits(backend, limits, measure), how
    index = _local(backend)
    with index.state() as state:
        snapshot = state.snapshot
        if snapshot.documents < 2:
            return Duplicates(threshold=threshold)
        view, live = index.views.get(snapshot, measure), snapshot.rows(snapshot.alive)
        whole = memory.whole(view, measure.distance, measure.overlap).problem(None, threads)
        blocks = list(close_pairs(whole.running(progress=progress), threshold))
        i, j, near = (np.concatenate([[], *(block[column] for block in blocks)]) for column in range(3))
        i, j = live[i.astype(np.int64)], live[j.astype(np.int64)]
        if meaning is not None:
            rows = np.unique(np.concatenate([i, j]))
            cosines = snapshot.codes_of(rows).between(np.searchsorted(rows, i), np.searchsorted(rows, j))
            kept = 1.0 - cosines <= meaning
            i, j, near = i[kept], j[kept], near[kept]
        found = state.read([*i.tolist(), *j.tolist()])
    texts = {one.id: one.text for one in found.values()}
    pairs = sorted(zip(i.tolist(), j.tolist(), near.tolist(), strict=True))
    named = [(found[first].id, found[second].id, distance) for first, second, distance in pairs]
    order = {found[row].id: row for row in sorted(found)}
    return Duplicates.judged(named, (texts, texts), index.tokenizer, threshold, order)


def leakage(
    backend: Any,
    given: Sequence[Entry],
    limits: tuple[float | None, float | None],
    measure: Measure,
    how: tuple[int | None, Progress | None],
) -> Duplicates:
    """Pairs of a document of the index and one of those given; the rest is as in :func:`duplicates`."""
    (threshold, meaning), (threads, progress) = _limits(backend, limits, measure), how
    index = _local(backend)
    names = [one.id or f"document {number}" for number, one in enumerate(given)]
    tokens = [words_of(one.words, index.tokenizer) for one in given]
    found: list[tuple[int, int, float]] = []
    with index.state() as state:
        connection, snapshot = state
        if snapshot.documents and given:
            view, live = index.views.get(snapshot, measure), snapshot.rows(snapshot.alive)
            theirs = [view.words(connection, some) for some in tokens]
            problem = memory.whole(view, measure.distance, measure.overlap).problem(theirs, threads)
            for j, i, near in within(problem.running(progress=progress), threshold):
                found += zip(live[i].tolist(), j.tolist(), near.tolist(), strict=True)
        rows = np.unique([i for i, _, _ in found]).astype(np.int64)
        if meaning is not None and found:
            codes = Codes.join([snapshot.codes_of(rows), Codes.of(_vectors(index, given))])
            places = np.searchsorted(rows, [i for i, _, _ in found]), len(rows) + np.array([j for _, j, _ in found])
            kept = 1.0 - codes.between(*places) <= meaning
            found = [one for one, wanted in zip(found, kept.tolist(), strict=True) if wanted]
        own = state.read(rows.tolist())
    texts = {one.id: one.text for one in own.values()}, dict(zip(names, (one.words for one in given), strict=True))
    named = sorted((own[row].id, names[j], distance) for row, j, distance in found)
    return Duplicates.judged(named, texts, index.tokenizer, threshold)


def _vectors(index: LocalIndex, given: Sequence[Entry]) -> Float32Array:
    """The vectors of documents: those they have, or what the index's encoder makes of their texts."""
    if all(one.vector is not None for one in given):
        return rows_of([one.vector for one in given], len(given), index.dimension)
    encoder = index.encoder()
    if encoder is None:
        raise InputError(
            f"meaning= compares vectors, and {index.path} has no encoder to make those of the documents given. Bring "
            "them (vectors=), or open the index with an encoder=."
        )
    return encoder.encode([text_of(one.words) for one in given])


def knn_graph(backend: Any, k: int, measure: Measure, threads: int | None, progress: Progress | None) -> sp.csr_array:
    """The k nearest others of each document, as a CSR matrix of distances (zeros between equal ones are stored).

    A document without words is infinitely far from others, which is not stored.
    """
    index = _local(backend)
    with index.state() as (_, snapshot):
        total = snapshot.documents
        if not total:
            return sp.csr_array((0, 0), dtype="float32")
        view, live = index.views.get(snapshot, measure), snapshot.rows(snapshot.alive)
        k = min(k, total - 1)
        indices, distances = np.empty((total, k), dtype=np.int64), np.empty((total, k), dtype=np.float32)
        whole = None
        if total < _MANY:
            whole = memory.whole(view, measure.distance, measure.overlap).problem(None, threads)
        for start in range(0, total if k > 0 else 0, _BATCH):
            span = slice(start, min(total, start + _BATCH))
            if whole is not None:
                near = nearest(whole.part(span, slice(0, total)), k + 1).without_self(start)
            else:
                near = _through_lists(view, live, span, (measure, k + 1, threads))
            indices[span], distances[span] = near.indices, near.distances
            if progress is not None:
                progress(span.stop, total)
    reached = np.isfinite(distances)
    indptr = np.append(0, np.cumsum(reached.sum(axis=1, dtype=np.int64)))
    return sp.csr_array((distances[reached], indices[reached], indptr), shape=(total, total))


def _through_lists(view: View, live: Int64Array, span: slice, how: tuple[Measure, int, int | None]) -> Neighbors:
    """The nearest others of some living documents, as places among the living ones, by asking as a search does."""
    measure, k, threads = how
    queries = memory.queries_of_rows(view, live[span])
    request = Request(measure.distance, measure.overlap, k, view.snapshot.alive, thread_count(threads))
    near = similar.nearest(view, queries, request)
    places = np.where(near.indices >= 0, np.searchsorted(live, near.indices), -1)
    return replace(near, indices=places).without_self(span.start)
