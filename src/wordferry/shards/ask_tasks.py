"""Tasks that ask: the queries of one batch, answered by an index or by all shards of one together."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.engines.sources import SourceFields, SourcePart, read_part
from wordferry.engines.tasks import json_array, parquet_bytes, saved
from wordferry.errors import EmptyDocumentError, FormatError
from wordferry.index import Index
from wordferry.index.duplicates import Pair, PairWords
from wordferry.judge.voting import decide
from wordferry.shards.routing import InProcess
from wordferry.shards.shard import Common
from wordferry.shards.sharded import open_shards
from wordferry.texts.stop_marks import query_words

_HELD = 20_480
"""Hits that are held at once with their texts: as many queries are asked together as have these."""
_FIRST_K = 16
"""Documents that a query for near-duplicates asks for at first; four times as many while all of them are near."""


@dataclass(frozen=True)
class Target:
    """The index that is asked, in one of its states."""

    address: str
    state: str
    documents: int
    shards: int | None
    """None for an undivided index."""

    @classmethod
    def of(cls, address: str, *, sharded: bool) -> Target:
        """A folder of shards, or an undivided index, as it is now."""
        if sharded:
            manifest = Common(address).manifest
            return cls(address, manifest.identity, manifest.documents, len(manifest.shards))
        with Index.open(address) as index:
            return cls(address, f"{index.identity} {index.generation}", len(index), None)


@dataclass(frozen=True)
class AskInputs:
    """Shared data of the tasks that ask."""

    target: Target
    fields: SourceFields
    device: str
    """Where workers compare, whatever their own environment says."""
    k: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of :meth:`wordferry.Index.similar`, or of :meth:`wordferry.Index.search`."""
    threshold: float = 0.0
    voting: str = "gap"


def own_distance(target: Target) -> str:
    """The name of the distance of an index or of shards."""
    if target.shards is not None:
        return Common(target.address).config.distance
    with Index.open(target.address) as index:
        return index.config.distance


_opened: dict[Target, Index] = {}
"""The index that this process has asked last."""


def close_opened() -> None:
    """Let go of the index that this process has asked last."""
    while _opened:
        _opened.popitem()[1].close()


def _index(shared: AskInputs) -> Index:
    """The index that is asked; its shards one after the other, because a task has one core."""
    os.environ["WORDFERRY_DEVICE"] = shared.device
    target = shared.target
    if target not in _opened:
        close_opened()
        sharded = target.shards is not None
        if Target.of(target.address, sharded=sharded) != target:
            raise FormatError(f"{target.address} has changed since the job was planned. Start the job again elsewhere.")
        _opened[target] = Index(open_shards(target.address, threads=1)) if sharded else Index.open(target.address)
    return _opened[target]


def check_queries(arguments: Mapping[str, Any], folder: Path, shared: SourceFields) -> tuple[bytes, dict[str, Any]]:
    """Read the queries of a part, so that a broken row is named before any work is done."""
    part = SourcePart(**arguments["part"])
    return saved(rows=np.array(sum(1 for _ in read_part(part, shared)))), {}


def _queries(batch: Mapping[str, Any], shared: AskInputs) -> list[Any]:
    """The queries of a batch, with id, label and text: rows of a file, or documents of the index."""
    if "part" in batch:
        return list(read_part(SourcePart(**batch["part"]), shared.fields))
    return _index(shared).page(batch["stop"] - batch["start"], offset=batch["start"])


# -- by distance ----------------------------------------------------------------------------------------------------


def _similar(index: Index, texts: Sequence[Any], k: int, options: Mapping[str, Any]) -> Iterator[list[Any]]:
    """The k documents nearest to each text; a text without a word that counts has none."""
    some = _in_steps(partial(index.similar, k=k, threads=1, **options), texts, options.get("candidates") or k)
    return ([hit for hit in hits if np.isfinite(hit.distance)] for hits in some)


def _in_steps(ask: Callable[..., Any], texts: Sequence[Any], held: int) -> Iterator[Any]:
    """The hits of each text, each of which holds some documents: as many are asked together as there is room for."""
    step = max(1, _HELD // held)
    for start in range(0, len(texts), step):
        yield from ask(texts[start : start + step])


def _table(found: Iterable[tuple[Any, Sequence[Any]]], value: str) -> tuple[bytes, dict[str, Any]]:
    """One part of an answer: the id of each query with those of its hits, and their distances or scores."""
    rows = [(query.id, [hit.id for hit in hits], [getattr(hit, value) for hit in hits]) for query, hits in found]
    return parquet_bytes(dict(zip(("id", "neighbors", f"{value}s"), zip(*rows, strict=True), strict=True))), {}


def _nearest(batch: Mapping[str, Any], shared: AskInputs) -> Iterator[tuple[Any, list[Any]]]:
    """Each query of a batch with the documents nearest to it; a document is not near itself."""
    queries = _queries(batch, shared)
    own = "part" not in batch
    found = _similar(_index(shared), [one.text for one in queries], shared.k + own, shared.options)
    for query, hits in zip(queries, found, strict=True):
        yield query, [hit for hit in hits if not own or hit.id != query.id][: shared.k]


def near(batch: Mapping[str, Any], folder: Path, shared: AskInputs) -> tuple[bytes, dict[str, Any]]:
    """One part of the answer: each query with the documents nearest to it."""
    return _table(_nearest(batch, shared), "distance")


def votes(batch: Mapping[str, Any], folder: Path, shared: AskInputs) -> tuple[bytes, dict[str, Any]]:
    """One part of the answer: each query with the label that its nearest training documents vote for."""
    found = list(_nearest(batch, shared))
    for hit in (hit for _, hits in found for hit in hits):
        if hit.label is None:
            raise FormatError(f"The document {hit.id!r} has no label, and a training document needs one.")
    names = sorted({str(hit.label) for _, hits in found for hit in hits})
    numbers = {name: number for number, name in enumerate(names)}
    classes, values = np.full((len(found), shared.k), -1, dtype=np.int64), np.full((len(found), shared.k), np.inf)
    for row, (_, hits) in enumerate(found):
        classes[row, : len(hits)] = [numbers[str(hit.label)] for hit in hits]
        values[row, : len(hits)] = [hit.distance for hit in hits]
    voted = decide(classes, values, len(names), shared.k, shared.voting)
    ids, known = [query.id for query, _ in found], [query.label for query, _ in found]
    predicted = [[*names, None][winner] for winner in voted.winner]
    shares = [float(row.max(initial=0.0)) for row in voted.shares]
    right = sum(a == b for a, b in zip(predicted, known, strict=True) if b is not None)
    facts = {"labelled": sum(one is not None for one in known), "right": right}
    return parquet_bytes({"id": ids, "predicted": predicted, "share": shares, "label": known}), facts


def close(batch: Mapping[str, Any], folder: Path, shared: AskInputs) -> tuple[bytes, dict[str, Any]]:
    """All pairs of a document of a batch and a later one at most the threshold apart, with the rows of both."""
    index, queries, start = _index(shared), _queries(batch, shared), batch["start"]
    texts, words = [one.text for one in queries], PairWords(index.tokenizer)
    pairs = []
    for first, part in _parts(index):
        if first + len(part) <= start:  # its documents come before those of the batch
            continue
        row_of = {id: row for row, id in enumerate(part.ids(), first)}
        for row, (one, hits) in enumerate(zip(queries, _within(part, texts, shared), strict=True), start):
            for hit in hits:
                if row_of[hit.id] > row:
                    pair = words.judged(Pair(one.id, hit.id, hit.distance), one.text, hit.text)
                    if pair.distance <= shared.threshold:
                        pairs.append((row, row_of[hit.id], *vars(pair).values()))
    return saved(pairs=json_array(sorted(pairs))), {}


def _parts(index: Index) -> list[tuple[int, Index]]:
    """Every shard as an index, or the undivided one, with the row of its first document."""
    router = getattr(index.backend, "router", None)
    return [(one.record.first, one.index) for one in router.shards] if isinstance(router, InProcess) else [(0, index)]


def _within(index: Index, texts: Sequence[Any], shared: AskInputs) -> list[list[Any]]:
    """All documents at most the threshold away from each text."""
    found: list[list[Any]] = [[] for _ in texts]
    left, k, most = list(range(len(texts))), _FIRST_K, len(index)
    while left:
        answers = _similar(index, [texts[number] for number in left], k, shared.options)
        for number, hits in zip(left, answers, strict=True):
            found[number] = [hit for hit in hits if hit.distance <= shared.threshold]
        left = [number for number in left if len(found[number]) == k < most]
        k = min(4 * k, most)
    return found


# -- by words -------------------------------------------------------------------------------------------------------


def best(batch: Mapping[str, Any], folder: Path, shared: AskInputs) -> tuple[bytes, dict[str, Any]]:
    """One part of the answer: each query with the documents that its words find best."""
    index, part, queries = _index(shared), SourcePart(**batch["part"]), _queries(batch, shared)
    for row, query in enumerate(queries, part.start + 1):
        if not query_words(query.text, index.tokenizer):
            raise EmptyDocumentError(f"{part.path}, row {row}: the query has no words.")
    ask = partial(index.search, k=shared.k, **shared.options)
    found = _in_steps(ask, [one.text for one in queries], shared.k)
    return _table(zip(queries, found, strict=True), "score")
