"""Tasks that ask: a batch of queries against one shard each, and the merging of what all shards have found.

The answer is that of the undivided index, whoever did the tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from wordferry.compare.measure import Measure
from wordferry.encoders.given import query_vectors
from wordferry.engines.sources import SourceFields, SourcePart, read_part
from wordferry.engines.tasks import json_array, json_values, load, parquet_bytes, saved
from wordferry.errors import EmptyDocumentError, FormatError
from wordferry.find.ranking import Candidates, QueryWord
from wordferry.find.settings import Settings
from wordferry.index import Index
from wordferry.index.duplicates import Duplicates, Pair, PairWords
from wordferry.index.local import LocalIndex
from wordferry.index.results import Document
from wordferry.index.search.filters import compile_filter
from wordferry.index.search.requests import Ask
from wordferry.judge.voting import decide
from wordferry.kernels.meaning import CosineSums
from wordferry.shards.merging import best_rows, joined, nearest, ranking_of
from wordferry.shards.shard import Best, Common, NamedMeasure, Near, Shard, StemBags, near_documents
from wordferry.texts.bow import looked_up
from wordferry.texts.stop_marks import query_words
from wordferry.texts.tokenizers import words_of

_TOGETHER = 256
"""Queries that are asked at once: hits with their texts are held for these only."""
_FIRST_K = 16
"""Documents that a query for near-duplicates asks for at first; four times as many while all of them are near."""


@dataclass(frozen=True)
class Target:
    """The index that is asked: its folder, which state of it, and the number of the first document of each shard."""

    address: str
    identity: str
    firsts: tuple[int, ...]
    documents: int
    sharded: bool = True

    @classmethod
    def of(cls, address: str, *, sharded: bool) -> Target:
        """A folder of shards, or an undivided index, as it is now."""
        if sharded:
            manifest = Common(address).manifest
            firsts = tuple(record.first for record in manifest.shards)
            return cls(address, manifest.identity, firsts, manifest.documents)
        local = LocalIndex(address)
        with closing(local), local.state() as (_, snapshot):
            return cls(address, f"{local.identity} {snapshot.generation}", (0,), snapshot.documents, False)

    def sizes(self) -> list[int]:
        """The number of documents of each shard."""
        return [stop - first for first, stop in pairwise([*self.firsts, self.documents])]


@dataclass(frozen=True)
class AskInputs:
    """Shared data of the tasks that ask."""

    target: Target
    k: int = 10
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of :meth:`wordferry.Index.similar` (distance, weights, unknown, filter), or filter and constants of a search."""
    rerank: str | None = None
    candidates: int | None = None
    threshold: float = 0.0
    voting: str = "gap"
    fields: SourceFields = field(default_factory=SourceFields)
    device: str = "cpu"
    """Where workers compare, whatever their own environment says."""


# -- on a worker ----------------------------------------------------------------------------------------------------

_opened: dict[tuple[str, int], Index] = {}
"""The shards that this process has opened last: the one that is asked, and the one that queries are read from."""


def _index(target: Target, number: int) -> Index:
    key = (target.identity, number)
    found = _opened.pop(key, None)
    if found is None:
        if Target.of(target.address, sharded=target.sharded).identity != target.identity:
            raise FormatError(f"{target.address} has changed since the job was planned. Start the job again elsewhere.")
        found = Shard(Common(target.address), number).index if target.sharded else Index.open(target.address)
        while len(_opened) > 1:
            _opened.pop(next(iter(_opened))).close()
    _opened[key] = found
    return found


def distance_of(shared: AskInputs) -> str:
    """The name of the distance that is asked: the job's own, or that of the index."""
    named = shared.options.get("distance")
    return (Measure(named) if named else _index(shared.target, 0).measure()).distance.name


def check_queries(arguments: Mapping[str, Any], folder: Path, shared: SourceFields) -> tuple[bytes, dict[str, Any]]:
    """Read the queries of a part, so that a broken row is named before any work is done."""
    part = SourcePart(**arguments["part"])
    return saved(rows=np.array(sum(1 for _ in read_part(part, shared)))), {}


def _queries(batch: Mapping[str, Any], shared: AskInputs) -> Iterator[tuple[str, str | None, Any]]:
    """Id, label and text of the queries of a batch: rows of a file, or documents of a shard."""
    if "part" in batch:
        for row in read_part(SourcePart(**batch["part"]), shared.fields):
            yield row.id, row.label, row.text
    else:
        index = _index(shared.target, batch["shard"])
        for one in index.page(batch["stop"] - batch["start"], offset=batch["start"]):
            yield one.id, one.label, one.text


# -- by distance ----------------------------------------------------------------------------------------------------


class _Asker:
    """Asks one shard for documents near to some texts; a text without a word that counts has none."""

    def __init__(self, shared: AskInputs, shard: int) -> None:
        self.index = _index(shared.target, shard)
        asked = shared.options.get
        self._how = NamedMeasure(asked("distance"), asked("weights"), asked("unknown"), shared.rerank)
        self._ask = Ask(1, compile_filter(asked("filter")), threads=1, device=shared.device)
        self._drops = (shared.options.get("unknown") or self.index.config.unknown) == "drop"

    def near(self, texts: Sequence[Any], k: int) -> list[list[Near]]:
        """The k nearest documents of each text."""
        found: list[list[Near]] = [[] for _ in texts]
        asked = []
        for number, text in enumerate(texts):
            words = looked_up(words_of(text, self.index.tokenizer), self.index.embeddings.vocabulary)
            if words and (words.bag or not self._drops):
                asked.append((number, words))
        ask = replace(self._ask, k=k)
        for start in range(0, len(asked), _TOGETHER):
            some = asked[start : start + _TOGETHER]
            answers, _ = near_documents(self.index, [words for _, words in some], self._how, ask)
            for (number, _), answer in zip(some, answers, strict=True):
                found[number] = [one for one in answer if np.isfinite(one.distance)]
        return found

    def within(self, texts: Sequence[Any], radius: float) -> list[list[Near]]:
        """All documents at a distance of at most ``radius`` of each text."""
        found: list[list[Near]] = [[] for _ in texts]
        left, k, most = list(range(len(texts))), _FIRST_K, len(self.index)
        while left:
            answers = self.near([texts[number] for number in left], k)
            for number, answer in zip(left, answers, strict=True):
                found[number] = [one for one in answer if one.distance <= radius]
            left = [number for number in left if len(found[number]) == k < most]
            k = min(4 * k, most)
        return found


def near(arguments: Mapping[str, Any], folder: Path, shared: AskInputs) -> tuple[bytes, dict[str, Any]]:
    """The documents of a shard nearest to the queries of a batch; a document is not near itself."""
    batch, shard = arguments["batch"], arguments["shard"]
    ids, labels, texts = zip(*_queries(batch, shared), strict=True)
    own = batch.get("shard") == shard
    k = shared.candidates or shared.k
    found = _Asker(shared, shard).near(texts, k + own)
    rows = [
        [(one.document.id, one.document.label, one.distance, one.second, one.place) for one in some] for some in found
    ]
    if own:
        rows = [[one for one in some if one[0] != id][:k] for id, some in zip(ids, rows, strict=True)]
    return saved(ids=json_array(ids), labels=json_array(labels), near=json_array(rows)), {"queries": len(ids)}


def _merged(arguments: Mapping[str, Any], folder: Path, shared: AskInputs) -> tuple[Any, list[list[Near]]]:
    """The file of one shard, which names the queries, and the nearest documents of all shards."""
    files = [load(folder, name) for name in arguments["near"]]
    found = []
    for query in zip(*(json_values(data, "near") for data in files), strict=True):
        every = [[Near(Document(id, "", {}, label), *values) for id, label, *values in some] for some in query]
        found.append(nearest(every, shared.k, shared.candidates))
    return files[0], found


def merge(arguments: Mapping[str, Any], folder: Path, shared: AskInputs) -> tuple[bytes, dict[str, Any]]:
    """One part of the answer: each query with the documents nearest to it."""
    data, found = _merged(arguments, folder, shared)
    near = [[one.document.id for one in some] for some in found]
    distances = [[one.distance if one.second is None else one.second for one in some] for some in found]
    return parquet_bytes({"id": json_values(data, "ids"), "neighbors": near, "distances": distances}), {}


def votes(arguments: Mapping[str, Any], folder: Path, shared: AskInputs) -> tuple[bytes, dict[str, Any]]:
    """One part of the answer: each query with the label that its nearest training documents vote for."""
    data, found = _merged(arguments, folder, shared)
    near = [[one.document for one in some] for some in found]
    unlabelled = next((one.id for some in near for one in some if one.label is None), None)
    if unlabelled is not None:
        raise FormatError(f"The document {unlabelled!r} has no label, and a training document needs one.")
    names = sorted({str(one.label) for some in near for one in some})
    numbers = {name: number for number, name in enumerate(names)}
    classes, distances = np.full((len(near), shared.k), -1, dtype=np.int64), np.full((len(near), shared.k), np.inf)
    for row, some in enumerate(found):
        classes[row, : len(some)] = [numbers[str(one.document.label)] for one in some]
        distances[row, : len(some)] = [one.distance for one in some]
    winners = decide(classes, distances, len(names), shared.k, shared.voting)
    predicted = [[*names, None][winner] for winner in winners.winner]
    shares = [float(row.max(initial=0.0)) for row in winners.shares]
    ids, known = json_values(data, "ids"), json_values(data, "labels")
    right = sum(a == b for a, b in zip(predicted, known, strict=True) if b is not None)
    facts = {"labelled": sum(one is not None for one in known), "right": right}
    return parquet_bytes({"id": ids, "predicted": predicted, "share": shares, "label": known}), facts


def close(arguments: Mapping[str, Any], folder: Path, shared: AskInputs) -> tuple[bytes, dict[str, Any]]:
    """All pairs of a document of a batch and a later one of a shard at a distance of at most the threshold."""
    batch, shard = arguments["batch"], arguments["shard"]
    ids, _, texts = zip(*_queries(batch, shared), strict=True)
    asker, firsts = _Asker(shared, shard), shared.target.firsts
    row_of = {id: row for row, id in enumerate(asker.index.ids(), firsts[shard])}
    start = firsts[batch["shard"]] + batch["start"]
    words = PairWords(asker.index.tokenizer)
    pairs = []
    for number, some in enumerate(asker.within(texts, shared.threshold)):
        for one in some:
            if row_of[one.document.id] <= start + number:
                continue
            pair = words.judged(Pair(ids[number], one.document.id, one.distance), texts[number], one.document.text)
            if pair.distance <= shared.threshold:
                pairs.append((start + number, row_of[pair.second], *vars(pair).values()))
    return saved(pairs=json_array(sorted(pairs))), {"pairs": len(pairs)}


def close_pairs(folder: Path, names: Sequence[str]) -> list[tuple[int, int, Pair]]:
    """The pairs that some tasks have found, with the rows of their documents, in the order of these."""
    found = sorted(tuple(pair) for name in names for pair in json_values(load(folder, name), "pairs"))
    return [(first, second, Pair(*values)) for first, second, *values in found]


def pairs(arguments: Mapping[str, Any], folder: Path, shared: AskInputs) -> tuple[bytes, dict[str, Any]]:
    """One part of the answer: near-duplicate pairs by id, in the order of their first documents."""
    found = Duplicates(pair for _, _, pair in close_pairs(folder, arguments["close"]))
    return parquet_bytes(found.to_columns()), {"pairs": len(found)}


# -- by words -------------------------------------------------------------------------------------------------------


def _shard(shared: AskInputs, number: int) -> Shard:
    found = _index(shared.target, number).backend
    assert isinstance(found, Shard)  # word search is asked of shards only
    return found


def best(arguments: Mapping[str, Any], folder: Path, shared: AskInputs) -> tuple[bytes, dict[str, Any]]:
    """What the queries of a batch find in a shard by the documents' own words."""
    shard, part = _shard(shared, arguments["shard"]), SourcePart(**arguments["batch"]["part"])
    ids, texts, tokens = [], [], []
    for number, row in enumerate(read_part(part, shared.fields)):
        ids.append(row.id)
        texts.append(row.text)
        tokens.append(query_words(row.text, shard.tokenizer))
        if not tokens[-1]:
            raise EmptyDocumentError(f"{part.path}, row {part.start + number + 1}: the query has no words.")
    constants = {name: value for name, value in shared.options.items() if name != "filter"}
    settings = Settings().changed(**shard.config.settings).changed(**constants)
    vectors = query_vectors(texts, None, shard.dimension, settings.meaning, shard.encoder)
    if vectors is not None:
        settings = settings.weighing(shard.config.encoder)
    ask = Ask(shared.k, compile_filter(shared.options["filter"]), vectors=vectors)
    found, _ = shard.best(tokens, ask, settings)
    names = ("rows", "words", "cosines") if vectors else ("rows", "words")
    arrays = {name: np.concatenate([getattr(one.found, name) for one in found]) for name in names}
    data = saved(
        ids=json_array(ids),
        indptr=np.cumsum([0, *(len(one.found.rows) for one in found)]),
        **arrays,
        sums=json_array([one.found.sums for one in found]),
        settings=json_array(found[0].settings.to_json()),
        query=json_array([[list(vars(word).values()) for word in one.query] for one in found]),
    )
    return data, {"queries": len(tokens)}


def _bests(files: Sequence[Any]) -> list[list[Best]]:
    """What each query has found in each shard."""
    settings = Settings(**json_values(files[0], "settings"))
    query = [tuple(QueryWord(*word) for word in words) for words in json_values(files[0], "query")]
    found = list(zip(*(_founds(data) for data in files), strict=True))
    return [[Best(one, query[q], (), settings) for one in some] for q, some in enumerate(found)]


def _founds(data: Any) -> Iterator[Candidates]:
    """What each query has found in one shard."""
    arrays = {name: data[name] for name in ("rows", "words", "cosines") if name in data}
    for span, sums in zip(pairwise(data["indptr"].tolist()), json_values(data, "sums"), strict=True):
        own = {name: values[slice(*span)] for name, values in arrays.items()}
        yield Candidates(**own, sums=None if sums is None else CosineSums(*sums))


def stems(arguments: Mapping[str, Any], folder: Path, shared: AskInputs) -> tuple[bytes, dict[str, Any]]:
    """The documents of a shard that are among the best of some query: their ids and bags of stems."""
    shard = _shard(shared, arguments["shard"])
    every = _bests([load(folder, name) for name in arguments["best"]])
    rows = np.unique(np.concatenate([best_rows(found, shared.k).rows for found in every]))
    own = rows[(rows >= shard.record.first) & (rows < shard.record.first + shard.record.documents)]
    groups = np.array(len(shard.common.statistics.stems))
    return saved(rows=own, ids=json_array(shard.ids_at(own)), groups=groups, **vars(shard.stems(own))), {}


def rank(arguments: Mapping[str, Any], folder: Path, shared: AskInputs) -> tuple[bytes, dict[str, Any]]:
    """One part of the answer: each query with the documents that its words find best."""
    files = [load(folder, name) for name in arguments["stems"]]
    rows = np.concatenate([data["rows"] for data in files])
    names = [one for data in files for one in json_values(data, "ids")]
    bags = [StemBags(data["indptr"], data["stems"], data["counts"], data["idf"]) for data in files]
    every = joined(bags, np.arange(len(rows)))
    bests = [load(folder, name) for name in arguments["best"]]
    ids, scores = [], []
    for found in _bests(bests):
        ranking = ranking_of(
            found, shared.k, int(files[0]["groups"]), lambda some: joined([every], np.searchsorted(rows, some))
        )
        ids.append([names[place] for place in np.searchsorted(rows, ranking.rows).tolist()])
        scores.append(ranking.scores.tolist())
    return parquet_bytes({"id": json_values(bests[0], "ids"), "neighbors": ids, "scores": scores}), {}
